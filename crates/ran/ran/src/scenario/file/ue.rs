//! `[[ue]]`: a UE, or several of one kind.

use std::time::Duration;

use radio::{MAX_CARRIERS, Random, Subscription, Time};

use super::channel::{Channels, TimedChannel, channels};
use super::flow::{self, FLOW, SECONDS, seconds};
use super::places::Places;
use super::{MAX_FLOWS, ScenarioFolders};
use crate::node::{MCC, MNC};
use crate::scenario::{MAX_UES, UeScenario};
use settings::{Error, Table, TableKeys};

pub const UE: TableKeys = TableKeys {
    name: "[[ue]]",
    keys: &[
        "name",
        "count",
        "per_cell",
        "cell",
        "plmn",
        "sst",
        "sd",
        "five_qi",
        "max_carriers",
        "mcs",
        "sinr_db",
        "uplink_sinr_db",
        "trace",
        "trace_end",
        "x_m",
        "y_m",
        "height_m",
        "indoor_percent",
        "building",
        "motion",
        "speed_m_per_s",
        "max_speed_m_per_s",
        "heading_deg",
        "pause_s",
        "route",
        "route_end",
        "trajectory",
        "trajectory_end",
        "arrives_s",
        "leaves_s",
        "stagger_s",
        "arrivals_per_min",
        "mean_stay_s",
        "flow",
    ],
};

/// The random stream of the first table. Those of the UEs begin at 0.
const FIRST_TABLE_STREAM: u64 = 1 << 62;

/// Reads the UEs of the `number`th table, at most `room`.
pub fn ues(
    table: &Table<'_>,
    folders: &ScenarioFolders<'_>,
    (seed, number): (u64, usize),
    places: &Places<'_>,
    room: usize,
) -> Result<Vec<UeScenario>, Error> {
    let cells = places.cells();
    let subscription = subscription(table)?;
    let max_carriers = table.integer("max_carriers", 1..=i64::from(MAX_CARRIERS))?.unwrap_or(1);
    let tables = table.tables("flow", &FLOW, MAX_FLOWS)?;
    let flows =
        tables.iter().enumerate().map(|(at, table)| flow::flow(table, at)).collect::<Result<Vec<_>, Error>>()?;
    let mut random = Random::new(seed, FIRST_TABLE_STREAM + number as u64);
    let (times, channels) = match channels(table, folders)? {
        Channels::Same(channel) => {
            let count = count(table, cells, room)?;
            (arrivals_and_departures(table, &mut random, count)?, vec![channel; count])
        }
        Channels::Tracks(tracks) if tracks.len() > room => {
            return Err(table.invalid("trajectory", format!("too many UEs: {room} of {MAX_UES} are left")));
        }
        Channels::Tracks(tracks) => {
            tracks.into_iter().map(|TimedChannel { arrives, leaves, channel }| ((arrives, leaves), channel)).unzip()
        }
    };
    let mut choice = places.choice(table, channels.first(), (seed, number))?;
    let ue = |(at, ((arrives, leaves), channel))| {
        let flows = flows.iter().map(|flow| flow.for_ue(arrives, &mut random)).collect();
        let (cell, channel) = choice.next(at, channel);
        UeScenario { cell, subscription, max_carriers, channel, flows, arrives, leaves }
    };
    Ok(times.into_iter().zip(channels).enumerate().map(ue).collect())
}

/// The number of UEs.
fn count(table: &Table<'_>, cells: usize, room: usize) -> Result<usize, Error> {
    let per_cell: Option<usize> = table.integer("per_cell", 1..=4096)?;
    if per_cell.is_some() && table.contains("count") {
        return Err(table.invalid("per_cell", "excludes `count`: UEs in all cells, or in total"));
    }
    let (key, count) = match per_cell {
        Some(per_cell) => ("per_cell", per_cell * cells),
        None => ("count", table.integer("count", 1..=MAX_UES as i64)?.unwrap_or(1)),
    };
    if count > room {
        return Err(table.invalid(key, format!("too many UEs: {room} of {MAX_UES} are left")));
    }
    Ok(count)
}

/// The times of arrival and departure of each UE.
fn arrivals_and_departures(
    table: &Table<'_>,
    random: &mut Random,
    count: usize,
) -> Result<Vec<(Time, Option<Time>)>, Error> {
    let arrives_s = table.number("arrives_s", SECONDS)?.unwrap_or(0.0);
    let leaves_s = table.number("leaves_s", SECONDS)?;
    let stagger_s = table.number("stagger_s", 0.0..=1e6)?;
    let per_min = table.number("arrivals_per_min", 0.001..=1e6)?;
    let mean_stay_s = table.number("mean_stay_s", 0.01..=1e6)?;
    if per_min.is_some() && stagger_s.is_some() {
        return Err(
            table.invalid("stagger_s", "excludes `arrivals_per_min`: UEs arrive at even intervals or at random")
        );
    }
    if mean_stay_s.is_some() && leaves_s.is_some() {
        return Err(
            table.invalid("leaves_s", "excludes `mean_stay_s`: UEs leave at a fixed time or after a random stay")
        );
    }
    let mut at_s = arrives_s;
    let each = (0..count).map(|number| {
        if let Some(per_min) = per_min {
            at_s += random.exponential(60.0 / per_min);
        } else if number > 0 {
            at_s += stagger_s.unwrap_or(0.0);
        }
        let stay = mean_stay_s.map(|mean| Duration::from_secs_f64(random.exponential(mean)));
        let arrives = seconds(at_s);
        (arrives, stay.map(|stay| arrives + stay).or(leaves_s.map(seconds)))
    });
    let each: Vec<(Time, Option<Time>)> = each.collect();
    if each.iter().any(|(arrives, leaves)| leaves.is_some_and(|leaves| leaves < *arrives)) {
        return Err(table.invalid("leaves_s", "a UE would leave before it arrives"));
    }
    Ok(each)
}

fn subscription(table: &Table<'_>) -> Result<Subscription, Error> {
    let (mcc, mnc, has_long_mnc) = plmn(table)?.unwrap_or((MCC, MNC, false));
    Ok(Subscription {
        mcc,
        mnc,
        has_long_mnc,
        sst: table.integer("sst", 0..=255)?.unwrap_or(1),
        sd: slice_differentiator(table)?,
        five_qi: table.integer("five_qi", 1..=255)?.unwrap_or(9),
    })
}

/// Reads a PLMN: five or six digits.
pub fn plmn(table: &Table<'_>) -> Result<Option<(u16, u16, bool)>, Error> {
    let Some(text) = table.text("plmn", "five or six digits")? else { return Ok(None) };
    let are_digits = matches!(text.len(), 5 | 6) && text.bytes().all(|octet| octet.is_ascii_digit());
    let number = |part: Option<&str>| part.and_then(|part| part.parse().ok());
    match (number(text.get(..3)), number(text.get(3..))) {
        (Some(mcc), Some(mnc)) if are_digits => Ok(Some((mcc, mnc, text.len() == 6))),
        _ => Err(table.invalid("plmn", format!("\"{text}\" is not five or six digits"))),
    }
}

/// Reads a slice differentiator: six hexadecimal digits.
pub fn slice_differentiator(table: &Table<'_>) -> Result<Option<[u8; 3]>, Error> {
    let Some(text) = table.text("sd", "six hexadecimal digits")? else { return Ok(None) };
    let are_digits = text.len() == 6 && text.bytes().all(|octet| octet.is_ascii_hexdigit());
    match u32::from_str_radix(text, 16) {
        Ok(number) if are_digits => {
            let [_, a, b, c] = number.to_be_bytes();
            Ok(Some([a, b, c]))
        }
        _ => Err(table.invalid("sd", format!("\"{text}\" is not six hexadecimal digits"))),
    }
}
