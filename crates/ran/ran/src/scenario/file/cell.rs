//! `[[cell]]`: a base station with one cell, or several equal ones in a row.

use std::time::Duration;

use radio::phy::{Carrier, Duplex, Layout, McsTable, Position, TddPattern};
use radio::rlc::Mode;
use radio::{CellConfig, DrxConfig, MAX_UES_PER_CELL, OuterLoop, ShortCycle};

use super::{ScenarioFolders, power, site, slices, traffic_control};
use crate::scenario::{CellScenario, MAX_CELLS};
use settings::{Error, Table, TableKeys};

pub const CELL: TableKeys = TableKeys {
    name: "[[cell]]",
    keys: &[
        "base_station",
        "count",
        "apart_m",
        "x_m",
        "y_m",
        "sectors",
        "azimuth_deg",
        "tilt_deg",
        "electrical_tilt_deg",
        "vertical_elements",
        "antenna_gain_dbi",
        "power_dbm",
        "height_m",
        "propagation",
        "line_of_sight",
        "fading",
        "delay_spread_ns",
        "rat",
        "bandwidth_mhz",
        "scs_khz",
        "frequency_mhz",
        "duplex",
        "tdd",
        "lte_tdd",
        "downlink_layers",
        "uplink_layers",
        "downlink_mcs_table",
        "uplink_mcs_table",
        "control_symbols",
        "uplink_control_prbs",
        "additional_dmrs",
        "overhead",
        "split",
        "cu",
        "locked",
        "sr_period_slots",
        "grant_slots",
        "max_ues",
        "cqi_period_ms",
        "cqi_delay_ms",
        "srs_period_ms",
        "p0_dbm",
        "alpha",
        "drx",
        "power",
        "harq",
        "outer_loop",
        "rlc",
        "traffic_control",
        "slice_scheduler",
        "slice",
    ],
};
pub const HARQ: TableKeys =
    TableKeys { name: "[cell.harq]", keys: &["processes", "transmissions", "decoding_slots", "round_trip_slots"] };
pub const OUTER_LOOP: TableKeys =
    TableKeys { name: "[cell.outer_loop]", keys: &["enabled", "target_bler_percent", "nack_step_db", "most_db"] };
pub const DRX: TableKeys = TableKeys {
    name: "[cell.drx]",
    keys: &[
        "long_cycle_ms",
        "start_offset_ms",
        "short_cycle_ms",
        "short_cycle_timer",
        "on_duration_ms",
        "inactivity_ms",
        "retransmission_slots",
    ],
};
pub const RLC: TableKeys =
    TableKeys { name: "[cell.rlc]", keys: &["mode", "buffer_octets", "reordering_ms", "status_ms", "discard_ms"] };
pub const TDD: TableKeys = TableKeys {
    name: "[cell.tdd]",
    keys: &["period_us", "downlink_slots", "downlink_symbols", "uplink_symbols", "uplink_slots"],
};
pub const LTE_TDD: TableKeys = TableKeys { name: "[cell.lte_tdd]", keys: &["configuration", "special_subframe"] };

/// The short cycles after the inactivity timer, when a file states their length only.
const DEFAULT_SHORT_CYCLES: u8 = 1;

/// Reads the cells of a table, at the sites of a layout or in a row, or at the place of a base station that is among the cells
/// `before`.
pub fn cells(
    table: &Table<'_>,
    folders: &ScenarioFolders<'_>,
    layout: Option<Layout>,
    before: &[CellScenario],
) -> Result<Vec<CellScenario>, Error> {
    let base_station = base_station(table, layout, before)?;
    let carrier = carrier(table)?;
    let grid = carrier.check().map_err(|error| table.invalid_table(error))?;
    let mut radio = CellConfig { carrier, ..CellConfig::default() };
    if let Some(slots) = table.integer("sr_period_slots", 1..=640)? {
        radio.request_period_slots = slots;
    }
    if let Some(slots) = table.integer("grant_slots", 1..=32)? {
        radio.grant_slots = slots;
    }
    radio.max_ues = table.integer("max_ues", 1..=MAX_UES_PER_CELL as i64)?;
    channel_state(table, &mut radio)?;
    if let Some(table) = table.table("drx", &DRX)? {
        radio.drx = Some(drx(&table)?);
    }
    if let Some(table) = table.table("harq", &HARQ)? {
        let harq = &mut radio.harq;
        harq.processes = table.integer("processes", 1..=32)?.unwrap_or(harq.processes);
        harq.transmissions = table.integer("transmissions", 1..=8)?.unwrap_or(harq.transmissions);
        harq.decoding_slots = table.integer("decoding_slots", 1..=16)?.unwrap_or(harq.decoding_slots);
        harq.round_trip_slots = table.integer("round_trip_slots", 1..=32)?.unwrap_or(harq.round_trip_slots);
    }
    if let Some(table) = table.table("outer_loop", &OUTER_LOOP)? {
        radio.outer_loop = outer_loop(&table)?;
    }
    if let Some(table) = table.table("rlc", &RLC)? {
        rlc(&table, &mut radio.rlc)?;
    }
    if let Some(table) = table.table("traffic_control", &traffic_control::TRAFFIC_CONTROL)? {
        radio.tc = traffic_control::configuration(&table, folders)?;
    }
    let is_split = table.boolean("split")?.unwrap_or(false);
    if is_split && grid.carrier().rat == radio::phy::Rat::Lte {
        return Err(table.invalid("split", "only NR cells can be split"));
    }
    let cu = table.text("cu", "a name")?;
    if cu.is_some() && !is_split {
        return Err(table.invalid("cu", "only cells with `split = true` have a CU"));
    }
    if cu.is_some() && base_station.is_some() {
        return Err(table.invalid("cu", "carriers of several DUs cannot be aggregated: omit `base_station`, or `cu`"));
    }
    let cell = CellScenario {
        base_station: base_station.as_ref().map(|(name, _)| (*name).to_owned()),
        radio,
        is_split,
        cu: cu.map(str::to_owned),
        is_locked: table.boolean("locked")?.unwrap_or(false),
        slicing: slices::slicing(table, &grid)?,
        ..CellScenario::default()
    };
    let sectors = site::sectors(table, layout)?;
    let mut cell = cell;
    // all sectors have the same power
    let power_dbm = sectors.first().map_or(0.0, |site| site.power_dbm);
    cell.radio.power = power::model(table, cell.radio.carrier.duplex == Duplex::Fdd, power_dbm)?;
    let mut positions = site::positions(table, layout, MAX_CELLS)?;
    if let Some((_, Some(place))) = base_station
        && !table.contains("x_m")
        && !table.contains("y_m")
    {
        positions = vec![place];
    }
    let cells = positions.iter().flat_map(|position| {
        let cell = &cell;
        sectors.iter().map(move |site| CellScenario { position: *position, site: site.clone(), ..cell.clone() })
    });
    // no more than the caller refuses
    Ok(cells.take(MAX_CELLS + 1).collect())
}

/// Reads the name of the base station, and its place if one of its cells is known.
fn base_station<'t>(
    table: &Table<'t>,
    layout: Option<Layout>,
    before: &[CellScenario],
) -> Result<Option<(&'t str, Option<Position>)>, Error> {
    let Some(name) = table.text("base_station", "a name")? else { return Ok(None) };
    if layout.is_some() {
        return Err(
            table.invalid("base_station", "the cells of a preset of `deployment` have base stations of their own")
        );
    }
    if table.contains("count") {
        return Err(table.invalid("count", "a base station is at one place: omit `count`, or `base_station`"));
    }
    let others = before.iter().filter(|cell| cell.base_station.as_deref() == Some(name));
    Ok(Some((name, others.map(|cell| cell.position).next())))
}

/// Why a carrier of millimetre waves is refused.
const FR2: &str = "frequency range 2 is not modelled, which needs beams: use 410 to 7125 MHz and 15, 30 or 60 kHz";

fn carrier(table: &Table<'_>) -> Result<Carrier, Error> {
    let is_lte = table.choice("rat", &[("nr", false), ("lte", true)])?.unwrap_or(false);
    let mut carrier = if is_lte { Carrier::lte() } else { Carrier::default() };
    // Carrier::check has the exact bounds
    carrier.bandwidth_mhz = table.number("bandwidth_mhz", 1.0..=100.0)?.unwrap_or(carrier.bandwidth_mhz);
    let spacings = [(15, 0), (30, 1), (60, 2)];
    if let Some(khz) = table.integer::<u32>("scs_khz", 15..=960)? {
        if khz >= 120 {
            return Err(table.invalid("scs_khz", format!("{khz} is for frequency range 2; {FR2}")));
        }
        let numerology = spacings.iter().find(|(spacing, _)| *spacing == khz).map(|(_, numerology)| *numerology);
        let numerology = numerology.filter(|numerology| !is_lte || *numerology == 0);
        let allowed = if is_lte { "15 with LTE" } else { "15, 30 or 60" };
        carrier.numerology =
            numerology.ok_or_else(|| table.invalid("scs_khz", format!("{khz} is not one of {allowed}")))?;
    }
    carrier.frequency_mhz = table.number("frequency_mhz", 410.0..=71_000.0)?.unwrap_or(carrier.frequency_mhz);
    if carrier.frequency_mhz > 7125.0 {
        return Err(
            table.invalid("frequency_mhz", format!("{} is above frequency range 1; {FR2}", carrier.frequency_mhz))
        );
    }
    let layers = 1..=4;
    carrier.downlink_layers = table.integer("downlink_layers", layers.clone())?.unwrap_or(carrier.downlink_layers);
    carrier.uplink_layers = table.integer("uplink_layers", layers)?.unwrap_or(carrier.uplink_layers);
    let tables = [("64qam", McsTable::Qam64), ("256qam", McsTable::Qam256), ("64qam-low-se", McsTable::Qam64LowSe)];
    carrier.downlink_mcs = table.choice("downlink_mcs_table", &tables)?.unwrap_or(carrier.downlink_mcs);
    carrier.uplink_mcs = table.choice("uplink_mcs_table", &tables)?.unwrap_or(carrier.uplink_mcs);
    carrier.control_symbols = table.integer("control_symbols", 0..=3)?.unwrap_or(carrier.control_symbols);
    carrier.uplink_control_prbs = table.integer("uplink_control_prbs", 0..=272)?.unwrap_or(carrier.uplink_control_prbs);
    carrier.additional_dmrs = table.integer("additional_dmrs", 0..=3)?.unwrap_or(carrier.additional_dmrs);
    carrier.overhead = table.integer("overhead", 0..=18)?.unwrap_or(carrier.overhead);
    carrier.duplex = duplex(table, &carrier, is_lte)?;
    Ok(carrier)
}

fn duplex(table: &Table<'_>, carrier: &Carrier, is_lte: bool) -> Result<Duplex, Error> {
    let is_fdd = table.choice("duplex", &[("fdd", true), ("tdd", false)])?;
    for (key, is_of_lte) in [("tdd", false), ("lte_tdd", true)] {
        if table.contains(key) && is_fdd == Some(true) {
            return Err(table.invalid(key, "an FDD cell has no TDD pattern"));
        }
        if table.contains(key) && is_of_lte != is_lte {
            return Err(table.invalid(key, "wrong technology: use `tdd` for NR, `lte_tdd` for LTE"));
        }
    }
    if let Some(table) = table.table("lte_tdd", &LTE_TDD)? {
        let configuration = table.integer("configuration", 0..=6)?.unwrap_or(1);
        return Ok(Duplex::LteTdd {
            configuration,
            special_subframe: table.integer("special_subframe", 0..=9)?.unwrap_or(7),
        });
    }
    match is_fdd {
        Some(true) => return Ok(Duplex::Fdd),
        Some(false) if is_lte => {
            return Err(table.missing("lte_tdd", "a TDD cell of LTE has a configuration of 0 to 6"));
        }
        None if is_lte => return Ok(Duplex::Fdd),
        _ => {}
    }
    if !table.contains("tdd") {
        return pattern_of_letters("DDDDDDDSUU", carrier.numerology).map_err(|why| table.invalid_table(why));
    }
    if table.is_text("tdd") {
        let text = table.text("tdd", "a TDD pattern")?.unwrap_or_default();
        return pattern_of_letters(text, carrier.numerology).map_err(|why| table.invalid("tdd", why));
    }
    let patterns = if table.is_array("tdd") {
        table.tables("tdd", &TDD, 2)?
    } else {
        table.table("tdd", &TDD)?.into_iter().collect()
    };
    let mut patterns = patterns.iter().map(pattern).collect::<Result<Vec<_>, _>>()?.into_iter();
    let first = patterns.next().ok_or_else(|| table.invalid("tdd", "expected one or two patterns"))?;
    Ok(Duplex::Tdd { pattern: first, second: patterns.next() })
}

fn pattern(table: &Table<'_>) -> Result<TddPattern, Error> {
    let slots = 0..=640;
    let period_us = table.integer("period_us", 500..=10_000)?;
    Ok(TddPattern {
        period_us: period_us.ok_or_else(|| table.missing("period_us", "the period of the pattern"))?,
        downlink_slots: table.integer("downlink_slots", slots.clone())?.unwrap_or(0),
        downlink_symbols: table.integer("downlink_symbols", 0..=13)?.unwrap_or(0),
        uplink_symbols: table.integer("uplink_symbols", 0..=13)?.unwrap_or(0),
        uplink_slots: table.integer("uplink_slots", slots)?.unwrap_or(0),
    })
}

/// Parses a pattern of letters, one for each slot: D is downlink, U uplink, and S between them has the symbols of the default
/// pattern for both. A second pattern may follow.
fn pattern_of_letters(text: &str, numerology: u8) -> Result<Duplex, String> {
    let slot_us = 1000 >> numerology;
    let mut patterns: Vec<TddPattern> = Vec::new();
    let mut last = 'U';
    for letter in text.chars() {
        if last == 'U' && letter != 'U' || patterns.is_empty() {
            patterns.push(TddPattern {
                period_us: 0,
                downlink_slots: 0,
                downlink_symbols: 0,
                uplink_symbols: 0,
                uplink_slots: 0,
            });
        }
        let Some(pattern) = patterns.last_mut() else { break };
        pattern.period_us += slot_us;
        match (letter, last) {
            ('D', 'D' | 'U') => pattern.downlink_slots += 1,
            ('S', 'D' | 'U') => {
                let TddPattern { downlink_symbols, uplink_symbols, .. } = TddPattern::default();
                (pattern.downlink_symbols, pattern.uplink_symbols) = (downlink_symbols, uplink_symbols);
            }
            ('U', _) => pattern.uplink_slots += 1,
            _ => {
                return Err(format!(
                    "\"{text}\" is not a pattern: use D, then at most one S, then U, and optionally a second pattern"
                ));
            }
        }
        last = letter;
    }
    let mut patterns = patterns.into_iter();
    match (patterns.next(), patterns.next(), patterns.next()) {
        (Some(pattern), second, None) => Ok(Duplex::Tdd { pattern, second }),
        _ => Err(format!(
            "\"{text}\" is not one or two patterns: use D, then at most one S, then U, one letter for each slot"
        )),
    }
}

/// Reads when the base station learns of channels, and with which power UEs answer.
fn channel_state(table: &Table<'_>, radio: &mut CellConfig) -> Result<(), Error> {
    let ms =
        |key, least, most| table.number(key, least..=most).map(|ms| ms.map(|ms| Duration::from_secs_f64(ms / 1e3)));
    let state = &mut radio.channel_state;
    state.cqi_period = ms("cqi_period_ms", 1.0, 320.0)?.unwrap_or(state.cqi_period);
    state.cqi_delay = ms("cqi_delay_ms", 0.0, 80.0)?.unwrap_or(state.cqi_delay);
    state.srs_period = ms("srs_period_ms", 1.0, 320.0)?.unwrap_or(state.srs_period);
    let control = &mut radio.power_control;
    control.p0_dbm = table.number("p0_dbm", -202.0..=24.0)?.unwrap_or(control.p0_dbm);
    control.alpha = table.number("alpha", 0.0..=1.0)?.unwrap_or(control.alpha);
    control.check().map_err(|error| table.invalid("alpha", error.to_string()))
}

fn outer_loop(table: &Table<'_>) -> Result<Option<OuterLoop>, Error> {
    let default = OuterLoop::default();
    let outer_loop = OuterLoop {
        target: table.number("target_bler_percent", 0.1..=90.0)?.map_or(default.target, |percent| percent / 100.0),
        nack_step_db: table.number("nack_step_db", 0.01..=10.0)?.unwrap_or(default.nack_step_db),
        max_offset_db: table.number("most_db", 0.0..=30.0)?.unwrap_or(default.max_offset_db),
    };
    Ok(table.boolean("enabled")?.unwrap_or(true).then_some(outer_loop))
}

fn drx(table: &Table<'_>) -> Result<DrxConfig, Error> {
    let default = DrxConfig::default();
    // DrxConfig::check has the values
    let ms = |key, most| table.integer::<u16>(key, 0..=most);
    let timer = table.integer::<u8>("short_cycle_timer", 1..=16)?;
    let short = match (ms("short_cycle_ms", 640)?, timer) {
        (Some(cycle_ms), cycles) => Some(ShortCycle { cycle_ms, cycles: cycles.unwrap_or(DEFAULT_SHORT_CYCLES) }),
        (None, Some(_)) => return Err(table.missing("short_cycle_ms", "short_cycle_timer counts short cycles")),
        (None, None) => None,
    };
    let drx = DrxConfig {
        long_cycle_ms: ms("long_cycle_ms", 10_240)?.unwrap_or(default.long_cycle_ms),
        start_offset_ms: ms("start_offset_ms", 10_239)?,
        short,
        on_duration_ms: ms("on_duration_ms", 1600)?.unwrap_or(default.on_duration_ms),
        inactivity_ms: ms("inactivity_ms", 2560)?.unwrap_or(default.inactivity_ms),
        retransmission_slots: ms("retransmission_slots", 320)?.unwrap_or(default.retransmission_slots),
    };
    drx.check().map_err(|error| table.invalid_table(error))?;
    Ok(drx)
}

fn rlc(table: &Table<'_>, rlc: &mut radio::rlc::RlcConfig) -> Result<(), Error> {
    let modes = [("am", Mode::Acknowledged), ("um", Mode::Unacknowledged)];
    rlc.mode = table.choice("mode", &modes)?.unwrap_or(rlc.mode);
    rlc.buffer_octets = table.integer("buffer_octets", 1_000..=1_000_000_000)?.unwrap_or(rlc.buffer_octets);
    let ms = |key, most| table.number(key, 0.0..=most).map(|ms| ms.map(|ms| Duration::from_secs_f64(ms / 1e3)));
    rlc.reordering = ms("reordering_ms", 3_000.0)?.unwrap_or(rlc.reordering);
    rlc.status = ms("status_ms", 3_000.0)?.unwrap_or(rlc.status);
    rlc.discard = ms("discard_ms", 10_000.0)?.or(rlc.discard);
    if rlc.discard.is_some_and(|discard| discard.is_zero()) {
        return Err(table.invalid("discard_ms", "must be above 0; omit it to discard nothing"));
    }
    Ok(())
}
