//! `[carrier_aggregation]`: when UEs have secondary cells.

use std::time::Duration;

use radio::CarrierAggregationConfig;
use settings::{Error, Table, TableKeys};

pub const CARRIER_AGGREGATION: TableKeys = TableKeys {
    name: "[carrier_aggregation]",
    keys: &[
        "addition_dbm",
        "release_dbm",
        "hysteresis_db",
        "time_to_trigger_ms",
        "activation_octets",
        "activation_ms",
        "deactivation_timer_ms",
    ],
};

/// Reads `[carrier_aggregation]`.
pub fn carrier_aggregation(table: &Table<'_>) -> Result<CarrierAggregationConfig, Error> {
    let default = CarrierAggregationConfig::default();
    let dbm = |key| table.number(key, -156.0..=-31.0);
    let ms = |key, least, most| -> Result<Option<Duration>, Error> {
        Ok(table.number(key, least..=most)?.map(|ms| Duration::from_secs_f64(ms / 1e3)))
    };
    let addition_dbm = dbm("addition_dbm")?.unwrap_or(default.addition_dbm);
    let release_dbm = dbm("release_dbm")?.unwrap_or(default.release_dbm);
    if release_dbm > addition_dbm {
        return Err(table.invalid(
            "release_dbm",
            format!("{release_dbm} is above `addition_dbm`, {addition_dbm}: cells would be added and released in turn"),
        ));
    }
    let activation_octets = table.integer("activation_octets", 0..=1_000_000_000)?;
    // sCellDeactivationTimer of TS 38.331 is 20 to 1280 ms; 0: no timer
    let deactivation_timer = match table.number("deactivation_timer_ms", 0.0..=1280.0)? {
        None => default.deactivation_timer,
        Some(0.0) => None,
        Some(ms) if ms < 20.0 => {
            return Err(table.invalid("deactivation_timer_ms", format!("{ms} is neither 0, no timer, nor 20 to 1280")));
        }
        Some(ms) => Some(Duration::from_secs_f64(ms / 1e3)),
    };
    Ok(CarrierAggregationConfig {
        addition_dbm,
        release_dbm,
        hysteresis_db: table.number("hysteresis_db", 0.0..=15.0)?.unwrap_or(default.hysteresis_db),
        time_to_trigger: ms("time_to_trigger_ms", 0.0, 60_000.0)?.unwrap_or(default.time_to_trigger),
        activation_octets: activation_octets.unwrap_or(default.activation_octets),
        activation_delay: ms("activation_ms", 0.0, 1000.0)?.unwrap_or(default.activation_delay),
        deactivation_timer,
    })
}
