//! `[handover]`, `[link_failure]` and `[random_access]`: when UEs change cells, and what happens when a link fails.

use std::time::Duration;

use radio::{HandoverConfig, LinkFailureConfig, RandomAccessConfig};
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
        ..default
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
