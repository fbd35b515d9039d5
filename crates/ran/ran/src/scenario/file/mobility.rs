//! `[handover]`, `[link_failure]` and `[random_access]`: when UEs change cells, and what happens when a link fails.

use std::time::Duration;

use radio::{
    A5Thresholds, ConditionalConfig, EventCondition, HandoverConfig, LinkFailureConfig, MeasurementConfig,
    MeasurementEvent, RandomAccessConfig,
};
use settings::{Error, Table, TableKeys};

pub const HANDOVER: TableKeys = TableKeys {
    name: "[handover]",
    keys: &[
        "a3_offset_db",
        "hysteresis_db",
        "time_to_trigger_ms",
        "interruption_ms",
        "t304_ms",
        "min_rsrp_dbm",
        "shutdown_grace_s",
        "failure_window_s",
        "ping_pong_window_s",
        "conditional",
    ],
};
pub const CONDITIONAL: TableKeys = TableKeys {
    name: "[handover.conditional]",
    keys: &["preparation_margin_db", "a5_serving_dbm", "a5_neighbour_dbm"],
};
pub const MEASUREMENT: TableKeys =
    TableKeys { name: "[measurement]", keys: &["filter_coefficient", "report_interval_ms", "event"] };
pub const EVENT: TableKeys = TableKeys {
    name: "[[measurement.event]]",
    keys: &[
        "kind",
        "offset_db",
        "threshold_dbm",
        "serving_dbm",
        "neighbour_dbm",
        "hysteresis_db",
        "time_to_trigger_ms",
    ],
};
pub const LINK_FAILURE: TableKeys = TableKeys {
    name: "[link_failure]",
    keys: &["enabled", "out_of_sync_db", "in_sync_db", "n310", "n311", "t310_ms", "t311_ms", "t301_ms", "search_ms"],
};
pub const RANDOM_ACCESS: TableKeys = TableKeys {
    name: "[random_access]",
    keys: &[
        "contention_preambles",
        "dedicated_preambles",
        "target_dbm",
        "ramping_db",
        "needed_snr_db",
        "backoff_ms",
        "t300_ms",
    ],
};

/// The most events: their measurement identities and that of the periodic reports are 1 to 64.
const MAX_EVENTS: usize = 63;
/// The range of thresholds on RSRP.
const DBM: std::ops::RangeInclusive<f64> = -156.0..=-31.0;

/// Reads a duration in milliseconds.
fn ms(table: &Table<'_>, key: &'static str, range: std::ops::RangeInclusive<f64>) -> Result<Option<Duration>, Error> {
    Ok(table.number(key, range)?.map(|ms| Duration::from_secs_f64(ms / 1e3)))
}

/// Reads a duration in seconds.
fn s(table: &Table<'_>, key: &'static str) -> Result<Option<Duration>, Error> {
    Ok(table.number(key, 0.0..=3600.0)?.map(Duration::from_secs_f64))
}

/// Reads `[handover]`. Times are at least an epoch: handovers are performed between epochs.
pub fn handover(table: &Table<'_>) -> Result<HandoverConfig, Error> {
    let default = HandoverConfig::default();
    Ok(HandoverConfig {
        a3_offset_db: table.number("a3_offset_db", -30.0..=30.0)?,
        hysteresis_db: table.number("hysteresis_db", 0.0..=15.0)?.unwrap_or(default.hysteresis_db),
        time_to_trigger: ms(table, "time_to_trigger_ms", 10.0..=60_000.0)?.unwrap_or(default.time_to_trigger),
        interruption: ms(table, "interruption_ms", 10.0..=60_000.0)?.unwrap_or(default.interruption),
        t304: ms(table, "t304_ms", 50.0..=60_000.0)?.unwrap_or(default.t304),
        min_rsrp_dbm: table.number("min_rsrp_dbm", -156.0..=-31.0)?.unwrap_or(default.min_rsrp_dbm),
        shutdown_grace: s(table, "shutdown_grace_s")?.unwrap_or(default.shutdown_grace),
        failure_window: s(table, "failure_window_s")?.unwrap_or(default.failure_window),
        ping_pong_window: s(table, "ping_pong_window_s")?.unwrap_or(default.ping_pong_window),
        conditional: table.table("conditional", &CONDITIONAL)?.map(|table| conditional(&table)).transpose()?,
        ..default
    })
}

/// Reads `[handover.conditional]`.
fn conditional(table: &Table<'_>) -> Result<ConditionalConfig, Error> {
    let default = ConditionalConfig::default();
    let [serving_dbm, neighbour_dbm] = [table.number("a5_serving_dbm", DBM)?, table.number("a5_neighbour_dbm", DBM)?];
    let a5 = match (serving_dbm, neighbour_dbm) {
        (None, None) => None,
        (Some(serving_dbm), Some(neighbour_dbm)) => Some(A5Thresholds { serving_dbm, neighbour_dbm }),
        (Some(_), None) => return Err(table.missing("a5_neighbour_dbm", "event A5 has two thresholds")),
        (None, Some(_)) => return Err(table.missing("a5_serving_dbm", "event A5 has two thresholds")),
    };
    let margin_db = table.number("preparation_margin_db", 0.0..=30.0)?;
    Ok(ConditionalConfig { a5, preparation_margin_db: margin_db.unwrap_or(default.preparation_margin_db) })
}

/// Reads `[measurement]`.
pub fn measurement(table: &Table<'_>) -> Result<MeasurementConfig, Error> {
    let default = MeasurementConfig::default();
    Ok(MeasurementConfig {
        filter_coefficient: table.integer("filter_coefficient", 0..=19)?.unwrap_or(default.filter_coefficient),
        report_interval: ms(table, "report_interval_ms", 120.0..=1_800_000.0)?,
        events: table.tables("event", &EVENT, MAX_EVENTS)?.iter().map(event).collect::<Result<_, _>>()?,
    })
}

/// Reads `[[measurement.event]]`.
fn event(table: &Table<'_>) -> Result<MeasurementEvent, Error> {
    let kinds = ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2"].map(|kind| (kind, kind));
    let kind = table.choice("kind", &kinds)?.ok_or_else(|| table.missing("kind", "one of a1 to a5, b1, b2"))?;
    let needs: &[&str] = match kind {
        "a3" => &["offset_db"],
        "a5" | "b2" => &["serving_dbm", "neighbour_dbm"],
        "a6" => return Err(table.invalid("kind", "event A6 is not modelled: use a4")),
        _ => &["threshold_dbm"],
    };
    let own = ["kind", "hysteresis_db", "time_to_trigger_ms"];
    if let Some(key) = table.present_keys().find(|key| !own.contains(key) && !needs.contains(key)) {
        return Err(table.invalid(key, format!("not a parameter of this event: use {}", needs.join(" and "))));
    }
    let dbm = |key: &'static str| table.number(key, DBM)?.ok_or_else(|| table.missing(key, "a power in dBm"));
    let condition = match kind {
        "a1" => EventCondition::A1 { threshold_dbm: dbm("threshold_dbm")? },
        "a2" => EventCondition::A2 { threshold_dbm: dbm("threshold_dbm")? },
        "a3" => {
            let offset_db = table.number("offset_db", -30.0..=30.0)?;
            EventCondition::A3 { offset_db: offset_db.ok_or_else(|| table.missing("offset_db", "an offset in dB"))? }
        }
        "a4" => EventCondition::A4 { threshold_dbm: dbm("threshold_dbm")? },
        "a5" => EventCondition::A5 { serving_dbm: dbm("serving_dbm")?, neighbour_dbm: dbm("neighbour_dbm")? },
        "b1" => EventCondition::B1 { threshold_dbm: dbm("threshold_dbm")? },
        _ => EventCondition::B2 { serving_dbm: dbm("serving_dbm")?, neighbour_dbm: dbm("neighbour_dbm")? },
    };
    Ok(MeasurementEvent {
        condition,
        hysteresis_db: table.number("hysteresis_db", 0.0..=15.0)?.unwrap_or(0.0),
        time_to_trigger: ms(table, "time_to_trigger_ms", 0.0..=5120.0)?.unwrap_or(Duration::from_millis(160)),
    })
}

/// Reads `[link_failure]`.
pub fn link_failure(table: &Table<'_>) -> Result<LinkFailureConfig, Error> {
    let default = LinkFailureConfig::default();
    let link = LinkFailureConfig {
        is_enabled: table.boolean("enabled")?.unwrap_or(default.is_enabled),
        out_of_sync_db: table.number("out_of_sync_db", -30.0..=20.0)?.unwrap_or(default.out_of_sync_db),
        in_sync_db: table.number("in_sync_db", -30.0..=20.0)?.unwrap_or(default.in_sync_db),
        n310: table.integer("n310", 1..=20)?.unwrap_or(default.n310),
        n311: table.integer("n311", 1..=10)?.unwrap_or(default.n311),
        t310: ms(table, "t310_ms", 0.0..=6000.0)?.unwrap_or(default.t310),
        t311: ms(table, "t311_ms", 10.0..=30_000.0)?.unwrap_or(default.t311),
        t301: ms(table, "t301_ms", 10.0..=2000.0)?.unwrap_or(default.t301),
        search: ms(table, "search_ms", 0.0..=5000.0)?.unwrap_or(default.search),
    };
    if link.in_sync_db <= link.out_of_sync_db {
        return Err(table.invalid("in_sync_db", format!("must be above out_of_sync_db, {}", link.out_of_sync_db)));
    }
    Ok(link)
}

/// Reads `[random_access]`. A cell has 64 preambles (TS 38.211 6.3.3.1).
pub fn random_access(table: &Table<'_>) -> Result<RandomAccessConfig, Error> {
    let default = RandomAccessConfig::default();
    let access = RandomAccessConfig {
        contention_preambles: table.integer("contention_preambles", 1..=64)?.unwrap_or(default.contention_preambles),
        dedicated_preambles: table.integer("dedicated_preambles", 0..=63)?.unwrap_or(default.dedicated_preambles),
        target_dbm: table.number("target_dbm", -202.0..=-60.0)?.unwrap_or(default.target_dbm),
        ramping_db: table.number("ramping_db", 0.0..=6.0)?.unwrap_or(default.ramping_db),
        needed_snr_db: table.number("needed_snr_db", -30.0..=20.0)?.unwrap_or(default.needed_snr_db),
        backoff: ms(table, "backoff_ms", 0.0..=1920.0)?.unwrap_or(default.backoff),
        t300: ms(table, "t300_ms", 100.0..=2000.0)?.unwrap_or(default.t300),
    };
    let preambles = u16::from(access.contention_preambles) + u16::from(access.dedicated_preambles);
    if preambles > 64 {
        let why = format!("with contention_preambles the cell has {preambles} preambles: at most 64 are allowed");
        return Err(table.invalid("dedicated_preambles", why));
    }
    Ok(access)
}
