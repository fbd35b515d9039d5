//! `[[at]]`: what changes at a time. Flows that start and stop are a matter of the flows; the rest is the timeline's.

use std::ops::Range;

use radio::Time;

use super::flow::{SECONDS, seconds};
use crate::scenario::{Change, TimelineEntry, UeScenario};
use settings::{Error, Table, TableKeys};

pub const AT: TableKeys = TableKeys { name: "[[at]]", keys: &["time_s", "do", "cell", "ue", "flow", "to"] };

/// UEs that a table has made, by the name that it gave them.
pub struct Group<'t> {
    pub name: Option<&'t str>,
    pub ues: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Lock(bool),
    Flow { starts: bool },
    HandOver,
}

const DEEDS: [(&str, Deed); 5] = [
    ("lock", Deed::Lock(true)),
    ("unlock", Deed::Lock(false)),
    ("start-flow", Deed::Flow { starts: true }),
    ("stop-flow", Deed::Flow { starts: false }),
    ("hand-over", Deed::HandOver),
];

/// What a table has happen: the timeline grows, or a flow starts or stops.
pub fn entry(
    section: &Table<'_>,
    cells: usize,
    groups: &[&Group<'_>],
    ues: &mut [UeScenario],
    timeline: &mut Vec<TimelineEntry>,
) -> Result<(), Error> {
    let at = section.number("time_s", SECONDS)?.map(seconds);
    let at = at.ok_or_else(|| section.missing("time_s", "seconds of the model"))?;
    let deed = section.choice("do", &DEEDS)?;
    let words = || DEEDS.map(|(word, _)| word).join(", ");
    let deed = deed.ok_or_else(|| section.missing("do", format!("it is one of {}", words())))?;
    let of: &[&str] = match deed {
        Deed::Lock(_) => &["cell"],
        Deed::Flow { .. } => &["ue", "flow"],
        Deed::HandOver => &["ue", "to"],
    };
    if let Some(key) = section.present_keys().find(|key| !["time_s", "do"].contains(key) && !of.contains(key)) {
        return Err(section.invalid(key, format!("it is not asked for here: there are {}", of.join(" and "))));
    }
    let cell = |key| -> Result<usize, Error> {
        let cell = section.integer(key, 0..=cells as i64 - 1)?;
        cell.ok_or_else(|| section.missing(key, format!("a cell, counted from 0: there are {cells}")))
    };
    let group = || -> Result<Range<usize>, Error> {
        let names = || match groups.iter().filter_map(|group| group.name).collect::<Vec<_>>() {
            none if none.is_empty() => "none has a name".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        let name = section.text("ue", "the name of a [[ue]]")?;
        let name = name.ok_or_else(|| section.missing("ue", format!("the name of a [[ue]]: {}", names())))?;
        let group = groups.iter().find(|group| group.name == Some(name));
        let why = || format!("no [[ue]] has the name \"{name}\": {}", names());
        Ok(group.ok_or_else(|| section.invalid("ue", why()))?.ues.clone())
    };
    match deed {
        Deed::Lock(is_locked) => {
            timeline.push(TimelineEntry { at, change: Change::Locked { cell: cell("cell")?, is_locked } });
        }
        Deed::HandOver => {
            let to = cell("to")?;
            let ues = group()?;
            timeline.extend(ues.map(|ue| TimelineEntry { at, change: Change::HandOver { ue: ue as u64, to } }));
        }
        Deed::Flow { starts } => {
            let ues = &mut ues[group()?];
            let count = ues.first().map_or(0, |ue| ue.flows.len());
            let flow: usize = section
                .integer("flow", 0..=count as i64 - 1)?
                .ok_or_else(|| section.missing("flow", format!("a flow of the UE, counted from 0: it has {count}")))?;
            for ue in ues {
                turn(section, ue, flow, at, starts)?;
            }
        }
    }
    Ok(())
}

/// A flow starts or stops then.
fn turn(section: &Table<'_>, ue: &mut UeScenario, flow: usize, at: Time, starts: bool) -> Result<(), Error> {
    let specification = &mut ue.flows[flow].specification;
    let at = at.max(ue.arrives);
    if starts {
        specification.start = at;
    } else if specification.stop == Time::NEVER {
        specification.stop = at;
    } else {
        return Err(section.invalid("flow", "it stops already: a flow stops once"));
    }
    specification.check().map_err(|error| section.invalid_table(error))
}
