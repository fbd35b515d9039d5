//! Channels that were recorded, or made by another program.

use std::fmt;
use std::sync::Arc;

use crate::Time;

/// The most samples of a trace: what is longer is refused. A day at 11 a second.
const MOST_SAMPLES: usize = 1_000_000;

/// What the power is where a trace does not tell it.
const DEFAULT_RSRP_DBM: f64 = -90.0;

/// What comes after a trace's last sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TraceEnd {
    /// The first again. The last one lasts as long as the one before it.
    #[default]
    Loop,
    /// The last goes on.
    Hold,
}

/// A SINR, and a power, from a moment on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    nanos: u64,
    sinr_db: f64,
    rsrp_dbm: f64,
}

/// A channel as it was recorded, its times counted from when the model began. Both directions have the same SINR. Clones
/// share the samples.
#[derive(Clone, Debug)]
pub struct Trace {
    /// At least one, each later than the one before.
    samples: Arc<[Sample]>,
    end: TraceEnd,
    current: Sample,
    /// Until when that is so.
    until: Time,
}

/// What is wrong with a trace. The number of the line is counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceError {
    /// It has no sample.
    Empty,
    /// It has more than a million.
    TooLong {
        /// The first that is too many.
        line: usize,
    },
    /// A line has too few or too many columns, or not as many as the first has.
    Columns {
        /// Which.
        line: usize,
        /// How many it has.
        found: usize,
    },
    /// Something is no number.
    NotANumber {
        /// Where.
        line: usize,
        /// In which column.
        column: &'static str,
    },
    /// A number is none that the column can have.
    OutOfRange {
        /// Where.
        line: usize,
        /// In which column.
        column: &'static str,
        /// It.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// A line's time is not after the one before.
    NotLater {
        /// Which.
        line: usize,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Empty => f.write_str("no samples: lines of time_ms, sinr_db and perhaps rsrp_dbm are expected"),
            TraceError::TooLong { line } => write!(f, "line {line}: more than {MOST_SAMPLES} samples"),
            TraceError::Columns { line, found } => {
                write!(
                    f,
                    "line {line}: {found} columns; each line has time_ms, sinr_db and, in all lines or none, rsrp_dbm"
                )
            }
            TraceError::NotANumber { line, column } => write!(f, "line {line}: {column} is not a number"),
            TraceError::OutOfRange { line, column, value, allowed } => {
                write!(f, "line {line}: {column} is {value}: it may be {allowed}")
            }
            TraceError::NotLater { line } => write!(f, "line {line}: time_ms is not later than on the line before"),
        }
    }
}

impl std::error::Error for TraceError {}

/// The columns, what they may be, and that in words.
const COLUMNS: [(&str, f64, f64, &str); 3] = [
    ("time_ms", 0.0, 1e9, "0 to 1e9"),
    ("sinr_db", -100.0, 100.0, "-100 to 100"),
    ("rsrp_dbm", -200.0, 50.0, "-200 to 50"),
];

impl Trace {
    /// Reads lines of `time_ms,sinr_db` or `time_ms,sinr_db,rsrp_dbm`. A first line with these names, empty lines and lines
    /// that begin with `#` are passed over. Before the first time, the channel is as the first sample says.
    pub fn parse(text: &str, end: TraceEnd) -> Result<Self, TraceError> {
        let mut samples: Vec<Sample> = Vec::new();
        let mut columns = None;
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') || columns.is_none() && text.starts_with(COLUMNS[0].0) {
                continue;
            }
            let found = text.split(',').count();
            if found != *columns.get_or_insert(found) || !(2..=3).contains(&found) {
                return Err(TraceError::Columns { line, found });
            }
            let mut values = [0.0, 0.0, DEFAULT_RSRP_DBM];
            for ((text, value), (column, least, most, allowed)) in text.split(',').zip(&mut values).zip(COLUMNS) {
                let number = text.trim().parse().map_err(|_| TraceError::NotANumber { line, column })?;
                if !(least..=most).contains(&number) {
                    return Err(TraceError::OutOfRange { line, column, value: number, allowed });
                }
                *value = number;
            }
            let [time_ms, sinr_db, rsrp_dbm] = values;
            let nanos = (time_ms * 1e6) as u64;
            if samples.last().is_some_and(|last| nanos <= last.nanos) {
                return Err(TraceError::NotLater { line });
            }
            if samples.len() == MOST_SAMPLES {
                return Err(TraceError::TooLong { line });
            }
            samples.push(Sample { nanos, sinr_db, rsrp_dbm });
        }
        let current = *samples.first().ok_or(TraceError::Empty)?;
        Ok(Trace { samples: samples.into(), end, current, until: Time::START })
    }

    /// Lets time pass.
    pub(super) fn update(&mut self, now: Time) {
        if now < self.until {
            return;
        }
        let (at, round) = self.at(now.as_nanos());
        // the one before the first that is later; before the first there is the first
        let next = self.samples.partition_point(|sample| sample.nanos <= at);
        self.current = self.samples[next.saturating_sub(1)];
        self.until = match (self.samples.get(next), self.period()) {
            (Some(sample), _) => Time::from_nanos(round + sample.nanos),
            (None, Some(period)) => Time::from_nanos(round + period),
            (None, None) => Time::NEVER,
        };
    }

    /// Where in the trace that is, and when this round through it began.
    fn at(&self, nanos: u64) -> (u64, u64) {
        let at = self.period().map_or(nanos, |period| nanos % period);
        (at, nanos - at)
    }

    /// How long a round is, where there is more than one.
    fn period(&self) -> Option<u64> {
        match (self.end, &*self.samples) {
            (TraceEnd::Loop, [.., before, last]) => Some(2 * last.nanos - before.nanos),
            _ => None,
        }
    }

    pub(super) fn sinr_db(&self) -> f64 {
        self.current.sinr_db
    }

    pub(super) fn rsrp_dbm(&self) -> f64 {
        self.current.rsrp_dbm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sinrs(mut trace: Trace, times_ms: &[u64]) -> Vec<f64> {
        let sinr = |time_ms: &u64| {
            trace.update(Time::from_millis(*time_ms));
            trace.sinr_db()
        };
        times_ms.iter().map(sinr).collect()
    }

    const TEXT: &str = "time_ms, sinr_db, rsrp_dbm\n# on foot\n\n10,1.5,-80\n20,2.5,-81.5\r\n40,3.5,-90\n";

    #[test]
    fn a_trace_is_followed() {
        let mut trace = Trace::parse(TEXT, TraceEnd::Hold).unwrap();
        assert_eq!((trace.sinr_db(), trace.rsrp_dbm()), (1.5, -80.0));
        trace.update(Time::from_millis(25));
        assert_eq!((trace.sinr_db(), trace.rsrp_dbm()), (2.5, -81.5));
        let times = [0, 9, 10, 19, 20, 39, 40, 10_000];
        let trace = Trace::parse(TEXT, TraceEnd::Hold).unwrap();
        assert_eq!(sinrs(trace, &times), [1.5, 1.5, 1.5, 1.5, 2.5, 2.5, 3.5, 3.5]);
        let trace = Trace::parse("0,7\n", TraceEnd::Loop).unwrap();
        assert_eq!((trace.rsrp_dbm(), sinrs(trace, &[0, 1, 1_000_000])), (DEFAULT_RSRP_DBM, vec![7.0; 3]));
    }

    #[test]
    fn it_begins_again_after_the_last_sample() {
        // the last lasts for 20 ms, as the one before: a round is 60 ms
        let trace = Trace::parse(TEXT, TraceEnd::Loop).unwrap();
        let times = [0, 20, 40, 59, 60, 79, 80, 100, 119, 120, 6_000_000 + 25, 6_000_000 + 45];
        let expected = [1.5, 2.5, 3.5, 3.5, 1.5, 1.5, 2.5, 3.5, 3.5, 1.5, 2.5, 3.5];
        assert_eq!(sinrs(trace.clone(), &times), expected);
        // and it is the same for who asks each millisecond
        let each: Vec<u64> = (0..240).collect();
        let followed = sinrs(trace.clone(), &each);
        for time_ms in each {
            assert_eq!(sinrs(trace.clone(), &[time_ms]), [followed[time_ms as usize]], "{time_ms} ms");
        }
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        let parse = |text: &str| Trace::parse(text, TraceEnd::Loop).map(|_| ()).unwrap_err();
        for (text, expected) in [
            ("", "no samples: lines of time_ms, sinr_db and perhaps rsrp_dbm are expected"),
            ("time_ms,sinr_db\n# nothing\n", "no samples: lines of time_ms, sinr_db and perhaps rsrp_dbm are expected"),
            ("0,1\n5\n", "line 2: 1 columns; each line has time_ms, sinr_db and, in all lines or none, rsrp_dbm"),
            ("7\n", "line 1: 1 columns; each line has time_ms, sinr_db and, in all lines or none, rsrp_dbm"),
            ("0,1,-80,4\n", "line 1: 4 columns; each line has time_ms, sinr_db and, in all lines or none, rsrp_dbm"),
            (
                "0,1\n10,1,-80\n",
                "line 2: 3 columns; each line has time_ms, sinr_db and, in all lines or none, rsrp_dbm",
            ),
            ("0,1\ntime_ms,sinr_db\n", "line 2: time_ms is not a number"),
            ("\n0,good\n", "line 2: sinr_db is not a number"),
            ("0,1,\n", "line 1: rsrp_dbm is not a number"),
            ("-1,1\n", "line 1: time_ms is -1: it may be 0 to 1e9"),
            ("0,nan\n", "line 1: sinr_db is NaN: it may be -100 to 100"),
            ("0,1,inf\n", "line 1: rsrp_dbm is inf: it may be -200 to 50"),
            ("0,1\n0,2\n", "line 2: time_ms is not later than on the line before"),
            ("5,1\n# back\n4,2\n", "line 3: time_ms is not later than on the line before"),
        ] {
            assert_eq!(parse(text).to_string(), expected, "{text}");
        }
        let long: String = (0..=MOST_SAMPLES).map(|line| format!("{line},1\n")).collect();
        assert_eq!(parse(&long), TraceError::TooLong { line: MOST_SAMPLES + 1 });
    }
}
