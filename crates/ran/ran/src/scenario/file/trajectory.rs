//! The keys of `[[ue]]` for routes and files of trajectories.

use std::path::Path;
use std::time::Duration;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use radio::phy::{Position, Track, TrackEnd, TrackError, Tracks, UeRadio, WayPoint};

use super::ScenarioFolders;
use super::channel::{MAX_TRACE_OCTETS, NOT_WITH_TRAJECTORY, TimedChannel};
use super::flow::{SECONDS, seconds};
use crate::scenario::ChannelScenario;
use settings::{Error, Table, TableKeys};

pub const ROUTE: TableKeys = TableKeys { name: "[[ue.route]]", keys: &["x_m", "y_m", "speed_m_per_s", "pause_s"] };

/// The most way points of a route.
const MAX_WAY_POINTS: usize = 10_000;

/// Reads the route of a table's UEs. Speed and pause are those of way points without their own.
pub fn route(table: &Table<'_>, speed_m_per_s: f64, pause_s: f64) -> Result<Track, Error> {
    let point = |table: &Table<'_>| {
        let coordinate = |key| -> Result<f64, Error> {
            let value = table.number(key, -1e6..=1e6)?;
            value.ok_or_else(|| table.missing(key, "a way point has x_m and y_m"))
        };
        Ok(WayPoint {
            position: Position { x_m: coordinate("x_m")?, y_m: coordinate("y_m")? },
            speed_m_per_s: table.number("speed_m_per_s", 0.1..=200.0)?.unwrap_or(speed_m_per_s),
            pause_s: table.number("pause_s", 0.0..=1e6)?.unwrap_or(pause_s),
        })
    };
    let tables = table.tables("route", &ROUTE, MAX_WAY_POINTS)?;
    let points = tables.iter().map(point).collect::<Result<Vec<_>, Error>>()?;
    let end = table.choice("route_end", &[("stop", TrackEnd::Stop), ("loop", TrackEnd::Loop)])?.unwrap_or_default();
    Track::of_route(&points, end).ok_or_else(|| table.missing("route", "the way points, each with x_m and y_m"))
}

/// Reads the file of a table's trajectories, moved by `origin`.
pub fn tracks(
    table: &Table<'_>,
    folders: &ScenarioFolders<'_>,
    origin: Position,
    radio: &UeRadio,
) -> Result<Vec<TimedChannel>, Error> {
    if let Some(key) = NOT_WITH_TRAJECTORY.into_iter().find(|key| table.contains(key)) {
        return Err(table.invalid(key, "excludes `trajectory`, whose file has the UEs, their times and their places"));
    }
    let name = table.text("trajectory", "the name of a file")?;
    let name = name.ok_or_else(|| table.missing("trajectory", "`trajectory_end` requires it"))?;
    // a UE leaves at the end of its trajectory, or follows it in another way
    let words = [("leave", None), ("stop", Some(TrackEnd::Stop)), ("loop", Some(TrackEnd::Loop))];
    let end = table.choice("trajectory_end", &words)?.unwrap_or(None);
    let from_s = table.number("arrives_s", SECONDS)?.unwrap_or(0.0);
    let path = folders.traces.join(name);
    let refuse = |why: &dyn std::fmt::Display| table.invalid("trajectory", format!("{}: {why}", path.display()));
    let text = settings::read(&path, MAX_TRACE_OCTETS).map_err(|error| refuse(&error))?;
    let is_xml = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"));
    let tracks = match is_xml {
        true => fcd(&text).map_err(|error| refuse(&error))?,
        false => Tracks::parse_csv(&text).map_err(|error| refuse(&error))?,
    };
    let timed = tracks.into_tracks(origin, end.unwrap_or_default()).map(|(at_s, track)| {
        let arrives = seconds((from_s + at_s).min(*SECONDS.end()));
        let leaves = end.is_none().then(|| arrives + Duration::from_secs_f64(track.seconds()).max(SHORTEST_STAY));
        TimedChannel { arrives, leaves, channel: ChannelScenario::Track { track, radio: radio.clone() } }
    });
    Ok(timed.collect())
}

/// How long a UE with a single sample stays: the usual step of a traffic simulation.
const SHORTEST_STAY: Duration = Duration::from_secs(1);

/// A mistake in a file of floating car data.
#[derive(Debug)]
enum FcdError {
    /// The text is not well-formed XML.
    Xml { line: usize, reason: String },
    /// Another document, or an element in the wrong place.
    Structure { line: usize, reason: &'static str },
    /// A sample.
    Sample(TrackError),
}

impl std::fmt::Display for FcdError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FcdError::Xml { line, reason } => write!(f, "line {line}: not well-formed XML: {reason}"),
            FcdError::Structure { line, reason } => write!(f, "line {line}: {reason}"),
            FcdError::Sample(error) => error.fmt(f),
        }
    }
}

/// Parses floating car data of SUMO (`--fcd-output`): `<timestep time>` with `<vehicle id x y>` and `<person id x y>`. Other elements
/// and attributes are skipped.
fn fcd(text: &str) -> Result<Tracks, FcdError> {
    let mut reader = Reader::from_str(text);
    let mut lines = Lines { text: text.as_bytes(), offset: 0, line: 1 };
    let (mut tracks, mut time_s, mut is_fcd) = (Tracks::default(), None, false);
    loop {
        let offset = reader.buffer_position();
        let event = reader
            .read_event()
            .map_err(|error| FcdError::Xml { line: lines.at(reader.error_position()), reason: error.to_string() })?;
        let line = lines.at(offset);
        match event {
            Event::Start(element) | Event::Empty(element) => match element.name().as_ref() {
                "fcd-export" => is_fcd = true,
                _ if !is_fcd => {
                    let reason = "not floating car data of SUMO: the first element must be <fcd-export>";
                    return Err(FcdError::Structure { line, reason });
                }
                "timestep" => {
                    let time = number(&element, line, "time")?;
                    time_s = Some(Tracks::check_time(line, "time", time).map_err(FcdError::Sample)?);
                }
                "vehicle" | "person" => {
                    let reason = "a vehicle or person outside of <timestep>";
                    let at_s = time_s.ok_or(FcdError::Structure { line, reason })?;
                    let id = attribute(&element, line, "id")?.unwrap_or_default();
                    let coordinates = [("x", number(&element, line, "x")?), ("y", number(&element, line, "y")?)];
                    tracks.push(line, at_s, &id, coordinates).map_err(FcdError::Sample)?;
                }
                _ => {}
            },
            Event::Eof => return tracks.check().map_err(FcdError::Sample),
            _ => {}
        }
    }
}

/// An attribute of an element.
fn attribute(element: &BytesStart<'_>, line: usize, name: &'static str) -> Result<Option<String>, FcdError> {
    let fail = |reason: String| FcdError::Xml { line, reason };
    let found = element.try_get_attribute(name).map_err(|error| fail(error.to_string()))?;
    let text = found.map(|found| found.normalized_value(quick_xml::XmlVersion::Implicit1_0));
    Ok(text.transpose().map_err(|error| fail(error.to_string()))?.map(|text| text.into_owned()))
}

fn number(element: &BytesStart<'_>, line: usize, name: &'static str) -> Result<f64, FcdError> {
    let text = attribute(element, line, name)?.unwrap_or_default();
    text.trim().parse().map_err(|_| FcdError::Sample(TrackError::NotANumber { line, field: name }))
}

/// Counts lines up to ascending offsets.
struct Lines<'t> {
    text: &'t [u8],
    offset: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of an offset; white space before a tag belongs to the lines before.
    fn at(&mut self, offset: u64) -> usize {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.text.len());
        if let Some(passed) = self.text.get(self.offset..offset) {
            self.line += passed.iter().filter(|octet| **octet == b'\n').count();
            self.offset = offset;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FCD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- generated by SUMO -->
<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <timestep time="0.00">
        <vehicle id="a" x="5.10" y="-1.60" angle="90.00" type="car" speed="0.00" pos="5.10" lane="e_0" slope="0.00"/>
    </timestep>
    <timestep time="1.00">
        <vehicle id="a" x="7.10" y="-1.60" speed="2.00"/>
        <person id="p &amp; q" x="1" y="2"></person>
    </timestep>
    <timestep time="2.00"/>
</fcd-export>
"#;

    #[test]
    fn floating_car_data_is_read() {
        let tracks: Vec<_> = fcd(FCD).unwrap().into_tracks(Position::default(), TrackEnd::Stop).collect();
        let [(0.0, a), (1.0, p)] = &tracks[..] else { panic!("{tracks:?}") };
        assert_eq!((a.start(), a.seconds()), (Position { x_m: 5.1, y_m: -1.6 }, 1.0));
        assert_eq!(a.positions().last(), Some(Position { x_m: 7.1, y_m: -1.6 }));
        assert_eq!((p.start(), p.seconds()), (Position { x_m: 1.0, y_m: 2.0 }, 0.0));
    }

    #[test]
    fn invalid_floating_car_data_is_rejected_with_line() {
        let in_step = |line: &str| format!("<fcd-export>\n<timestep time=\"3\">\n{line}\n</timestep></fcd-export>");
        for (text, expected) in [
            (String::new(), "no samples"),
            ("<fcd-export>\n</fcd-export>".to_owned(), "no samples"),
            ("<routes>\n</routes>".to_owned(), "line 1: not floating car data of SUMO: the first element must be"),
            ("<fcd-export>\n<vehicle id=\"a\" x=\"1\" y=\"1\"/>".to_owned(), "line 2: a vehicle or person outside of"),
            ("<fcd-export>\n\n<timestep/>".to_owned(), "line 3: time is not a number"),
            ("<fcd-export>\n<timestep time=\"-1\">".to_owned(), "line 2: time is -1: must be 0 to 1e9"),
            (in_step("<vehicle id=\"a\" x=\"1\"/>"), "line 3: y is not a number"),
            (in_step("<vehicle id=\"a\" x=\"one\" y=\"1\"/>"), "line 3: x is not a number"),
            (in_step("<vehicle id=\"a\" x=\"1e7\" y=\"1\"/>"), "line 3: x is 10000000: must be -1e6 to 1e6"),
            (in_step("<vehicle x=\"1\" y=\"1\"/>"), "line 3: the id of the UE has not 1 to 256 octets"),
            (
                in_step("<vehicle id=\"a\" x=\"1\" y=\"1\"/>\n<vehicle id=\"a\" x=\"1\" y=\"1\"/>"),
                "line 4: t is not later",
            ),
            (in_step("<vehicle id=\"&lol;\" x=\"1\" y=\"1\"/>"), "line 3: not well-formed XML"),
            (in_step("<vehicle id=a x=\"1\" y=\"1\"/>"), "line 3: not well-formed XML"),
            ("<fcd-export>\n<timestep time=\"1\">\n</fcd-export>".to_owned(), "line 3: not well-formed XML"),
            ("<fcd-export>\n<!-- ".to_owned(), "line 2: not well-formed XML"),
        ] {
            let error = fcd(&text).map(|_| ()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}\n{error}");
        }
        // entities of a document type are not expanded
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]>\n<fcd-export><timestep time=\"0\">\
                    <vehicle id=\"&b;\" x=\"0\" y=\"0\"/></timestep></fcd-export>";
        assert!(fcd(bomb).map(|_| ()).unwrap_err().to_string().starts_with("line 2: not well-formed XML"));
    }
}
