//! The keys of `[[ue]]` for its radio channel.

use radio::Time;
use radio::phy::{Motion, Position, Trace, TraceEnd, UeRadio};

use super::{ScenarioFolders, trajectory};
use crate::scenario::ChannelScenario;
use settings::{Error, Table};

/// The largest trace file, and the largest file of trajectories.
pub const MAX_TRACE_OCTETS: u64 = 64 << 20;

/// The keys of each kind of channel.
const CHANNELS: [(&str, &[&str]); 4] = [
    ("mcs", &["mcs"]),
    ("sinr_db", &["sinr_db", "uplink_sinr_db"]),
    ("trace", &["trace", "trace_end"]),
    (
        "motion",
        &[
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
        ],
    ),
];

/// The channels of a table's UEs.
pub enum Channels {
    /// Each UE has the same.
    Same(ChannelScenario),
    /// One UE for each.
    Tracks(Vec<TimedChannel>),
}

/// The channel of a UE, and when the UE is there.
pub struct TimedChannel {
    pub arrives: Time,
    pub leaves: Option<Time>,
    pub channel: ChannelScenario,
}

/// Reads the channels of a table's UEs.
pub fn channels(table: &Table<'_>, folders: &ScenarioFolders<'_>) -> Result<Channels, Error> {
    let kind_of = |key| CHANNELS.iter().find(|(_, keys)| keys.contains(&key)).map(|(kind, _)| *kind);
    let mut kinds = table.present_keys().filter_map(|key| Some((key, kind_of(key)?)));
    let first = kinds.next();
    if let Some((kind, (key, other))) =
        first.and_then(|(_, kind)| Some((kind, kinds.find(|(_, other)| *other != kind)?)))
    {
        return Err(table.invalid(key, format!("a UE has one channel: `{kind}` and `{other}` exclude each other")));
    }
    match first.map(|(_, kind)| kind) {
        Some("mcs") => Ok(Channels::Same(ChannelScenario::Mcs(table.integer("mcs", 0..=28)?.unwrap_or(0)))),
        Some("sinr_db") => {
            let db = -30.0..=60.0;
            let dl_db = table.number("sinr_db", db.clone())?;
            let dl_db = dl_db.ok_or_else(|| table.missing("sinr_db", "`uplink_sinr_db` requires it"))?;
            let ul_db = table.number("uplink_sinr_db", db)?.unwrap_or(dl_db);
            Ok(Channels::Same(ChannelScenario::Sinr(dl_db, ul_db)))
        }
        Some("trace") => Ok(Channels::Same(ChannelScenario::Trace(trace(table, folders)?))),
        _ => geometry(table, folders),
    }
}

fn trace(table: &Table<'_>, folders: &ScenarioFolders<'_>) -> Result<Trace, Error> {
    let end = table.choice("trace_end", &[("loop", TraceEnd::Loop), ("hold", TraceEnd::Hold)])?.unwrap_or_default();
    let name = table.text("trace", "the name of a trace file")?;
    let name = name.ok_or_else(|| table.missing("trace", "`trace_end` requires it"))?;
    let path = folders.traces.join(name);
    let refuse = |why: &dyn std::fmt::Display| table.invalid("trace", format!("{}: {why}", path.display()));
    let text = settings::read(&path, MAX_TRACE_OCTETS).map_err(|error| refuse(&error))?;
    Trace::parse(&text, end).map_err(|error| refuse(&error))
}

/// The words of `motion`, with the motions that have further keys.
const MOTIONS: [(&str, u8); 4] = [("still", 0), ("straight", 1), ("random-waypoint", 2), ("route", 3)];
/// The keys of some motions only. Only a UE with a trajectory has none.
const MOTION_KEYS: [(&str, &[u8]); 6] = [
    ("speed_m_per_s", &[1, 2, 3]),
    ("max_speed_m_per_s", &[2]),
    ("heading_deg", &[1]),
    ("pause_s", &[2, 3]),
    ("route", &[3]),
    ("route_end", &[3]),
];
/// The keys that a table with a trajectory has not: the file says when UEs come and where they go.
pub const NOT_WITH_TRAJECTORY: [&str; 8] =
    ["count", "per_cell", "motion", "leaves_s", "stagger_s", "arrivals_per_min", "mean_stay_s", "indoor_percent"];

fn geometry(table: &Table<'_>, folders: &ScenarioFolders<'_>) -> Result<Channels, Error> {
    let far = -1e6..=1e6;
    let position = match (table.number("x_m", far.clone())?, table.number("y_m", far)?) {
        (None, None) => None,
        (x_m, y_m) => Some(Position { x_m: x_m.unwrap_or(0.0), y_m: y_m.unwrap_or(0.0) }),
    };
    let default = UeRadio::default();
    let radio = UeRadio { height_m: table.number("height_m", 1.0..=22.5)?.unwrap_or(default.height_m), ..default };
    let motion = table.choice("motion", &MOTIONS)?.unwrap_or(0);
    for (key, motions) in MOTION_KEYS {
        if table.contains(key) && !motions.contains(&motion) {
            let required =
                MOTIONS.iter().filter(|(_, motion)| motions.contains(motion)).map(|(word, _)| format!("\"{word}\""));
            let required = required.collect::<Vec<_>>().join(" or ");
            return Err(table.invalid(key, format!("requires the motion {required}")));
        }
    }
    if table.contains("trajectory") || table.contains("trajectory_end") {
        return trajectory::tracks(table, folders, position.unwrap_or_default(), &radio).map(Channels::Tracks);
    }
    let speeds = 0.1..=200.0;
    let speed = table.number("speed_m_per_s", speeds.clone())?.unwrap_or(1.5);
    let max_speed_m_per_s = table.number("max_speed_m_per_s", speeds)?;
    let heading_deg = table.number("heading_deg", -360.0..=360.0)?;
    let pause_s = table.number("pause_s", 0.0..=1e6)?.unwrap_or(0.0);
    let motion = match motion {
        0 => Motion::Still,
        1 => Motion::Straight { speed_m_per_s: speed, heading_deg: heading_deg.unwrap_or(90.0) },
        2 => Motion::RandomWaypoint {
            min_speed_m_per_s: speed,
            max_speed_m_per_s: max_speed_m_per_s.unwrap_or(speed),
            pause_s,
        },
        _ => {
            if let Some(key) = ["x_m", "y_m"].into_iter().find(|key| table.contains(key)) {
                return Err(table.invalid(key, "a UE with a route begins at its first way point"));
            }
            let track = trajectory::route(table, speed, pause_s)?;
            return Ok(Channels::Same(ChannelScenario::Track { track, radio }));
        }
    };
    Ok(Channels::Same(ChannelScenario::Geometry { position, motion, radio }))
}
