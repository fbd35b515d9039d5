//! `[cell.power]`: the power consumption of a cell.

use std::time::Duration;

use radio::{MAX_TRANSCEIVERS, PowerCategory, PowerModel, ReferenceSet, SleepDepth};
use settings::{Error, Table, TableKeys};

pub const POWER: TableKeys = TableKeys {
    name: "[cell.power]",
    keys: &[
        "category",
        "reference_set",
        "full_load_w",
        "trx",
        "sleep",
        "deep_sleep",
        "light_sleep",
        "micro_sleep",
        "active_dl",
        "active_ul",
        "deep_transition_ms",
        "deep_transition_energy",
        "light_transition_ms",
        "light_transition_energy",
        "load_independent",
        "low_load_efficiency",
        "max_power_dbm",
    ],
};

/// Reads the power model of a cell that transmits with `power_dbm`.
pub fn model(cell: &Table<'_>, is_fdd: bool, power_dbm: f64) -> Result<PowerModel, Error> {
    let default_set = if is_fdd { ReferenceSet::Two } else { ReferenceSet::One };
    let Some(table) = cell.table("power", &POWER)? else {
        return Ok(PowerModel::new(PowerCategory::One, default_set));
    };
    let number = |key, range| table.number(key, range);
    let category = match table.integer::<u8>("category", 1..=2)? {
        Some(2) => PowerCategory::Two,
        _ => PowerCategory::One,
    };
    let set = match table.integer::<u8>("reference_set", 1..=2)? {
        Some(1) => ReferenceSet::One,
        Some(_) => ReferenceSet::Two,
        None => default_set,
    };
    let mut model = PowerModel::new(category, set);
    let depths = [("deep", SleepDepth::Deep), ("light", SleepDepth::Light), ("micro", SleepDepth::Micro)];
    model.sleep = table.choice("sleep", &depths)?.unwrap_or_default();
    model.full_load_w = number("full_load_w", 0.001..=1e6)?.unwrap_or(model.full_load_w);
    model.transceivers = table.integer("trx", 1..=MAX_TRANSCEIVERS.into())?.unwrap_or(model.transceivers);
    let relative = 0.0..=1e4;
    for (key, value) in [
        ("deep_sleep", &mut model.deep.power),
        ("light_sleep", &mut model.light.power),
        ("micro_sleep", &mut model.micro),
        ("active_dl", &mut model.downlink),
        ("active_ul", &mut model.uplink),
    ] {
        *value = number(key, relative.clone())?.unwrap_or(*value);
    }
    for (time, energy, state) in [
        ("deep_transition_ms", "deep_transition_energy", &mut model.deep),
        ("light_transition_ms", "light_transition_energy", &mut model.light),
    ] {
        if let Some(ms) = number(time, 0.0..=60_000.0)? {
            state.transition = Duration::from_secs_f64(ms / 1e3);
        }
        state.transition_energy = number(energy, 0.0..=1e7)?.unwrap_or(state.transition_energy);
    }
    model.load_independent = number("load_independent", 0.0..=1.0)?.unwrap_or(model.load_independent);
    model.low_load_efficiency = number("low_load_efficiency", 0.1..=1.0)?.unwrap_or(model.low_load_efficiency);
    if let Some(max_dbm) = number("max_power_dbm", -50.0..=100.0)? {
        if max_dbm < power_dbm {
            let why = format!("{max_dbm} is below the transmit power of {power_dbm} dBm (`power_dbm`)");
            return Err(table.invalid("max_power_dbm", why));
        }
        model.power_share = 10.0_f64.powf((power_dbm - max_dbm) / 10.0);
    }
    // the order of the powers
    model.check().map_err(|error| match table.contains(error.field) {
        true => table.invalid(error.field, format!("{} is not {}", error.value, error.allowed)),
        false => table.invalid_table(error),
    })?;
    Ok(model)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::{Scenario, ScenarioFolders, TimelineChange};

    fn read(text: &str) -> Result<Scenario, String> {
        let folders = ScenarioFolders::with_traces(Path::new("nowhere"));
        Scenario::from_toml(text, &folders).map_err(|error| error.to_string())
    }

    fn power(text: &str) -> PowerModel {
        read(text).unwrap().cells[0].radio.power
    }

    #[test]
    fn defaults_follow_duplex_category_and_set() {
        assert_eq!(power("[[cell]]"), PowerModel::default());
        assert_eq!(power("[[cell]]\nrat = \"lte\""), PowerModel::new(PowerCategory::One, ReferenceSet::Two));
        let of = |keys: &str| power(&format!("[[cell]]\n[cell.power]\n{keys}"));
        assert_eq!(of("category = 2"), PowerModel::new(PowerCategory::Two, ReferenceSet::One));
        assert_eq!(of("reference_set = 2"), PowerModel::new(PowerCategory::One, ReferenceSet::Two));
    }

    #[test]
    fn keys_are_read() {
        let model = power(
            "[[cell]]\npower_dbm = 43\n[cell.power]\nfull_load_w = 900\ntrx = 8\nsleep = \"light\"\ndeep_sleep = 2\n\
             light_sleep = 3\nmicro_sleep = 4\nactive_dl = 60\nactive_ul = 7\ndeep_transition_ms = 80\n\
             deep_transition_energy = 90\nlight_transition_ms = 10.5\nlight_transition_energy = 11\nload_independent = 0.3\n\
             low_load_efficiency = 0.76\nmax_power_dbm = 46.0102999566",
        );
        assert!((model.power_share - 0.5).abs() < 1e-9, "{}", model.power_share);
        let state = |power, ms: f64, transition_energy| radio::SleepState {
            power,
            transition: Duration::from_secs_f64(ms / 1e3),
            transition_energy,
        };
        let expected = PowerModel {
            deep: state(2.0, 80.0, 90.0),
            light: state(3.0, 10.5, 11.0),
            micro: 4.0,
            downlink: 60.0,
            uplink: 7.0,
            load_independent: 0.3,
            low_load_efficiency: 0.76,
            power_share: model.power_share,
            full_load_w: 900.0,
            transceivers: 8,
            sleep: SleepDepth::Light,
        };
        assert_eq!(model, expected);
        let timeline = read(
            "[[cell]]\n[[at]]\ntime_s = 1\ndo = \"sleep\"\ncell = 0\n[[at]]\ntime_s = 2\ndo = \"wake\"\ncell = 0\n",
        );
        let changes: Vec<_> = timeline.unwrap().timeline.iter().map(|entry| entry.change).collect();
        let saving = |is_ordered| TimelineChange::EnergySaving { cell: 0, is_ordered };
        assert_eq!(changes, [saving(true), saving(false)]);
    }

    #[test]
    fn mistakes_are_located() {
        for (keys, expected) in [
            ("category = 3", "category"),
            ("reference_set = 3", "reference_set"),
            ("full_load_w = 0", "full_load_w"),
            ("trx = 0", "trx"),
            ("trx = 257", "trx"),
            ("sleep = \"heavy\"", "\"heavy\" is not one of \"deep\", \"light\", \"micro\""),
            ("deep_sleep = -1", "deep_sleep"),
            ("deep_transition_ms = 60001", "deep_transition_ms"),
            ("light_transition_energy = 1e8", "light_transition_energy"),
            ("load_independent = 1.5", "load_independent"),
            ("low_load_efficiency = 0", "low_load_efficiency"),
            ("max_power_dbm = 40", "40 is below the transmit power of 46 dBm (`power_dbm`)"),
            ("active_ul = 54", "54 is not from micro_sleep to 10000"),
            // the value of another key is out of order
            ("micro_sleep = 300", "active_dl is 280: must be from micro_sleep to 10000"),
            ("deep = 1", "unknown key `deep`"),
        ] {
            let error = read(&format!("[[cell]]\n[cell.power]\n{keys}")).unwrap_err();
            assert!(error.contains(expected), "{keys}: {error}");
        }
        let error = read("[[cell]]\n[[at]]\ntime_s = 1\ndo = \"sleep\"\nto = 0\n").unwrap_err();
        assert!(error.contains("use cell"), "{error}");
    }
}
