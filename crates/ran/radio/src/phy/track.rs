//! Tracks: positions over time, from way points or from files.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::Position;

/// The most samples of a file.
const MOST_SAMPLES: usize = 1_000_000;
/// The longest id of a UE in a file, in octets.
const MOST_ID_OCTETS: usize = 256;

/// What a UE does at the end of its track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrackEnd {
    /// It stays there.
    #[default]
    Stop,
    /// It moves on to the first point, and follows the track again; a track from a file jumps there.
    Loop,
}

/// A way point of a route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WayPoint {
    /// Where it is.
    pub position: Position,
    /// The speed on the way to it, above 0.
    pub speed_m_per_s: f64,
    /// How long the UE stays there.
    pub pause_s: f64,
}

/// Positions over time, with straight lines in between. Clones share them.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Seconds from the start of the track, in ascending order, and positions: at least one. The first is at 0.
    samples: Arc<[(f64, Position)]>,
    end: TrackEnd,
}

impl Track {
    /// A route along way points, from the first one on. `None` without way points.
    #[must_use]
    pub fn of_route(points: &[WayPoint], end: TrackEnd) -> Option<Self> {
        let first = points.first()?;
        let mut samples = vec![(0.0, first.position)];
        let mut at_s = 0.0;
        let stay = |samples: &mut Vec<(f64, Position)>, at_s: &mut f64, point: &WayPoint| {
            if point.pause_s > 0.0 {
                *at_s += point.pause_s;
                samples.push((*at_s, point.position));
            }
        };
        stay(&mut samples, &mut at_s, first);
        let rest = points[1..].iter().chain((end == TrackEnd::Loop).then_some(first));
        let mut last = first.position;
        for (number, point) in rest.enumerate() {
            let way_m = last.distance_m(point.position);
            last = point.position;
            if way_m > 0.0 {
                at_s += way_m / point.speed_m_per_s;
                samples.push((at_s, point.position));
            }
            // the pause at the first point is at the beginning of the next round
            if number + 1 < points.len() {
                stay(&mut samples, &mut at_s, point);
            }
        }
        Some(Track { samples: samples.into(), end })
    }

    /// The first position.
    #[must_use]
    pub fn start(&self) -> Position {
        self.samples[0].1
    }

    /// The length in time.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.samples[self.samples.len() - 1].0
    }

    /// All positions between which the track has straight lines.
    pub fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.samples.iter().map(|(_, position)| *position)
    }

    /// The position and the speed at a time from the start on.
    pub(super) fn at(&self, seconds: f64) -> (Position, f64) {
        let length_s = self.seconds();
        let at_s = match self.end {
            TrackEnd::Loop if length_s > 0.0 => seconds.rem_euclid(length_s),
            _ => seconds,
        };
        let next = self.samples.partition_point(|(time, _)| *time <= at_s);
        let (from_s, from) = self.samples[next.saturating_sub(1)];
        let Some(&(to_s, to)) = self.samples.get(next) else { return (from, 0.0) };
        let part = ((at_s - from_s) / (to_s - from_s)).clamp(0.0, 1.0);
        let position =
            Position { x_m: from.x_m + (to.x_m - from.x_m) * part, y_m: from.y_m + (to.y_m - from.y_m) * part };
        (position, from.distance_m(to) / (to_s - from_s))
    }

    /// Whether the position ever changes.
    pub(super) fn moves(&self) -> bool {
        self.positions().any(|position| position != self.start())
    }
}

/// The tracks of several UEs, which a file describes sample by sample.
#[derive(Debug, Default)]
pub struct Tracks {
    /// By UE, in the order of the first samples.
    ues: Vec<TimedTrack>,
    numbers: HashMap<String, usize>,
    samples: usize,
}

/// The samples of a UE, and when the first is.
#[derive(Debug)]
struct TimedTrack {
    from_s: f64,
    samples: Vec<(f64, Position)>,
}

/// An error in a file of tracks. Lines count from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum TrackError {
    /// No sample.
    Empty,
    /// More than a million samples.
    TooLong {
        /// The line of the first excess sample.
        line: usize,
    },
    /// A line of CSV has another number of columns.
    Columns {
        /// The line.
        line: usize,
        /// Its number of columns.
        found: usize,
    },
    /// A value is absent, or not a number.
    NotANumber {
        /// The line.
        line: usize,
        /// The column or attribute.
        field: &'static str,
    },
    /// A value is out of range.
    OutOfRange {
        /// The line.
        line: usize,
        /// The column or attribute.
        field: &'static str,
        /// The value.
        value: f64,
        /// The valid values.
        allowed: &'static str,
    },
    /// The id of a UE is empty or too long.
    Id {
        /// The line.
        line: usize,
    },
    /// The time of a UE's sample is not later than that of its sample before.
    NotLater {
        /// The line.
        line: usize,
        /// The UE.
        ue: String,
    },
}

impl fmt::Display for TrackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrackError::Empty => f.write_str("no samples: lines of t,ue,x,y, or vehicles in time steps, are expected"),
            TrackError::TooLong { line } => write!(f, "line {line}: more than {MOST_SAMPLES} samples"),
            TrackError::Columns { line, found } => {
                write!(f, "line {line}: {found} columns; each line has t, ue, x and y")
            }
            TrackError::NotANumber { line, field } => write!(f, "line {line}: {field} is not a number"),
            TrackError::OutOfRange { line, field, value, allowed } => {
                write!(f, "line {line}: {field} is {value}: must be {allowed}")
            }
            TrackError::Id { line } => {
                write!(f, "line {line}: the id of the UE has not 1 to {MOST_ID_OCTETS} octets")
            }
            TrackError::NotLater { line, ue } => {
                write!(f, "line {line}: t is not later than in the sample of UE {ue} before")
            }
        }
    }
}

impl std::error::Error for TrackError {}

/// The bounds of times, and of positions.
const SECONDS: (f64, &str) = (1e9, "0 to 1e9");
const METRES: (f64, &str) = (1e6, "-1e6 to 1e6");

impl Tracks {
    /// Parses lines of `t,ue,x,y`: seconds, an id, and metres. A header line with these names, empty lines and lines that begin
    /// with `#` are skipped.
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn parse_csv(text: &str) -> Result<Self, TrackError> {
        let mut tracks = Tracks::default();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            let is_header = tracks.samples == 0 && text.split(',').map(str::trim).eq(["t", "ue", "x", "y"]);
            if text.is_empty() || text.starts_with('#') || is_header {
                continue;
            }
            let columns: Vec<&str> = text.split(',').map(str::trim).collect();
            let [t, ue, x, y] = columns[..] else {
                return Err(TrackError::Columns { line, found: columns.len() });
            };
            let number = |field, text: &str| parse(line, field, text);
            let at_s = Self::check_time(line, "t", number("t", t)?)?;
            tracks.push(line, at_s, ue, [("x", number("x", x)?), ("y", number("y", y)?)])?;
        }
        tracks.check()
    }

    /// Checks a time; `field` is its name in the file.
    ///
    /// # Errors
    /// A time out of range.
    pub fn check_time(line: usize, field: &'static str, seconds: f64) -> Result<f64, TrackError> {
        let (most, allowed) = SECONDS;
        match (0.0..=most).contains(&seconds) {
            true => Ok(seconds),
            false => Err(TrackError::OutOfRange { line, field, value: seconds, allowed }),
        }
    }

    /// Adds the sample of a line. The coordinates have their names in the file.
    ///
    /// # Errors
    /// A mistake of the line.
    pub fn push(
        &mut self,
        line: usize,
        at_s: f64,
        ue: &str,
        coordinates: [(&'static str, f64); 2],
    ) -> Result<(), TrackError> {
        let (most, allowed) = METRES;
        if let Some((field, value)) = coordinates.into_iter().find(|(_, value)| !(-most..=most).contains(value)) {
            return Err(TrackError::OutOfRange { line, field, value, allowed });
        }
        if !(1..=MOST_ID_OCTETS).contains(&ue.len()) {
            return Err(TrackError::Id { line });
        }
        if self.samples == MOST_SAMPLES {
            return Err(TrackError::TooLong { line });
        }
        self.samples += 1;
        let [(_, x_m), (_, y_m)] = coordinates;
        let position = Position { x_m, y_m };
        let Some(number) = self.numbers.get(ue) else {
            self.numbers.insert(ue.to_owned(), self.ues.len());
            self.ues.push(TimedTrack { from_s: at_s, samples: vec![(0.0, position)] });
            return Ok(());
        };
        let TimedTrack { from_s, samples } = &mut self.ues[*number];
        if samples.last().is_some_and(|(last_s, _)| at_s - *from_s <= *last_s) {
            return Err(TrackError::NotLater { line, ue: ue.escape_debug().to_string() });
        }
        samples.push((at_s - *from_s, position));
        Ok(())
    }

    /// Checks that there are samples.
    ///
    /// # Errors
    /// There are none.
    pub fn check(self) -> Result<Self, TrackError> {
        if self.ues.is_empty() { Err(TrackError::Empty) } else { Ok(self) }
    }

    /// The tracks in the order of their first samples, with the times of these in seconds. All positions are shifted by `origin`.
    pub fn into_tracks(self, origin: Position, end: TrackEnd) -> impl Iterator<Item = (f64, Track)> {
        self.ues.into_iter().map(move |ue| {
            let shifted =
                |(at_s, at): (f64, Position)| (at_s, Position { x_m: at.x_m + origin.x_m, y_m: at.y_m + origin.y_m });
            (ue.from_s, Track { samples: ue.samples.into_iter().map(shifted).collect(), end })
        })
    }
}

/// Parses a number; its name is that of the column or attribute.
fn parse(line: usize, field: &'static str, text: &str) -> Result<f64, TrackError> {
    text.parse().map_err(|_| TrackError::NotANumber { line, field })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x_m: f64, y_m: f64) -> Position {
        Position { x_m, y_m }
    }

    fn point(x_m: f64, y_m: f64, speed_m_per_s: f64, pause_s: f64) -> WayPoint {
        WayPoint { position: at(x_m, y_m), speed_m_per_s, pause_s }
    }

    #[test]
    fn route_is_followed_at_its_speeds_with_its_pauses() {
        let points = [point(0.0, 0.0, 5.0, 1.0), point(100.0, 0.0, 10.0, 2.0), point(100.0, 40.0, 20.0, 0.0)];
        let track = Track::of_route(&points, TrackEnd::Stop).unwrap();
        assert_eq!((track.start(), track.seconds(), track.moves()), (at(0.0, 0.0), 15.0, true));
        for (seconds, position, speed) in [
            (0.5, at(0.0, 0.0), 0.0),
            (6.0, at(50.0, 0.0), 10.0),
            (12.0, at(100.0, 0.0), 0.0),
            (14.0, at(100.0, 20.0), 20.0),
            (99.0, at(100.0, 40.0), 0.0),
        ] {
            assert_eq!(track.at(seconds), (position, speed), "{seconds}");
        }
        // back to the first point at the first point's speed, where the pause begins again
        let track = Track::of_route(&points, TrackEnd::Loop).unwrap();
        let back_s = 100.0_f64.hypot(40.0) / 5.0;
        assert!((track.seconds() - 15.0 - back_s).abs() < 1e-9);
        assert_eq!(track.at(track.seconds() + 0.5), (at(0.0, 0.0), 0.0));
        let (position, speed) = track.at(15.0 + back_s / 2.0);
        assert!(position.distance_m(at(50.0, 20.0)) < 1e-9 && (speed - 5.0).abs() < 1e-9);
        assert_eq!(Track::of_route(&[], TrackEnd::Loop), None);
        let still = Track::of_route(&points[..1], TrackEnd::Loop).unwrap();
        assert_eq!((still.at(1e6), still.moves()), ((at(0.0, 0.0), 0.0), false));
    }

    #[test]
    fn samples_are_interpolated() {
        let text = "t, ue, x, y\n# two cars\n\n2,a,0,0\n2.5,b,7,8\n4,a,20,10\r\n8,a,20,10\n";
        let tracks: Vec<_> = Tracks::parse_csv(text).unwrap().into_tracks(at(100.0, 200.0), TrackEnd::Stop).collect();
        let [(2.0, a), (2.5, b)] = &tracks[..] else { panic!("{tracks:?}") };
        assert_eq!(a.at(1.0), (at(110.0, 205.0), 20.0_f64.hypot(10.0) / 2.0));
        assert_eq!((a.at(3.0), a.seconds()), ((at(120.0, 210.0), 0.0), 6.0));
        assert_eq!((b.at(1.0), b.seconds(), b.moves()), ((at(107.0, 208.0), 0.0), 0.0, false));
        let looped = Tracks::parse_csv("0,a,0,0\n10,a,10,0\n").unwrap().into_tracks(at(0.0, 0.0), TrackEnd::Loop);
        assert_eq!(looped.last().unwrap().1.at(13.0), (at(3.0, 0.0), 1.0));
    }

    #[test]
    fn invalid_file_is_rejected_with_line() {
        let long_id = format!("0,{},1,1\n", "i".repeat(257));
        for (text, expected) in [
            ("", "no samples: lines of t,ue,x,y, or vehicles in time steps, are expected"),
            ("t,ue,x,y\n# none\n", "no samples: lines of t,ue,x,y, or vehicles in time steps, are expected"),
            ("0,a,1\n", "line 1: 3 columns; each line has t, ue, x and y"),
            ("0,a,1,2\n\n1,a,1,2,3\n", "line 3: 5 columns; each line has t, ue, x and y"),
            ("0,a,1,2\nt,ue,x,y\n", "line 2: t is not a number"),
            ("0,a,,2\n", "line 1: x is not a number"),
            ("0,a,1,north\n", "line 1: y is not a number"),
            ("-1,a,1,2\n", "line 1: t is -1: must be 0 to 1e9"),
            ("nan,a,1,2\n", "line 1: t is NaN: must be 0 to 1e9"),
            ("0,a,1,inf\n", "line 1: y is inf: must be -1e6 to 1e6"),
            ("0,a,-2e6,1\n", "line 1: x is -2000000: must be -1e6 to 1e6"),
            ("0,,1,2\n", "line 1: the id of the UE has not 1 to 256 octets"),
            (&long_id, "line 1: the id of the UE has not 1 to 256 octets"),
            ("0,a,1,2\n0,b,1,2\n0,a,1,2\n", "line 3: t is not later than in the sample of UE a before"),
        ] {
            assert_eq!(Tracks::parse_csv(text).unwrap_err().to_string(), expected, "{text}");
        }
        let long: String = (0..=MOST_SAMPLES).map(|line| format!("{line},a,0,0\n")).collect();
        assert_eq!(Tracks::parse_csv(&long).unwrap_err(), TrackError::TooLong { line: MOST_SAMPLES + 1 });
    }
}
