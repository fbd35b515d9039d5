//! `[[at]]`: a change at a given time. Starts and stops of flows change the flows; other changes extend the timeline.

use std::ops::Range;

use radio::{AdministrativeState, Time};

use super::flow::{SECONDS, seconds};
use crate::scenario::{SessionChange, TimelineChange, TimelineEntry, UeScenario};
use settings::{Error, Table, TableKeys};

pub const AT: TableKeys = TableKeys { name: "[[at]]", keys: &["time_s", "do", "cell", "ue", "flow", "to", "five_qi"] };

/// The UEs of a table, by its name.
pub struct Group<'t> {
    pub name: Option<&'t str>,
    pub ues: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Administrative(AdministrativeState),
    EnergySaving { is_ordered: bool },
    Flow { starts: bool },
    HandOver,
    ModifySession,
    ReleaseSession,
}

const ACTIONS: [(&str, Action); 10] = [
    ("lock", Action::Administrative(AdministrativeState::Locked)),
    ("unlock", Action::Administrative(AdministrativeState::Unlocked)),
    ("shut-down", Action::Administrative(AdministrativeState::ShuttingDown)),
    ("sleep", Action::EnergySaving { is_ordered: true }),
    ("wake", Action::EnergySaving { is_ordered: false }),
    ("start-flow", Action::Flow { starts: true }),
    ("stop-flow", Action::Flow { starts: false }),
    ("hand-over", Action::HandOver),
    ("modify-session", Action::ModifySession),
    ("release-session", Action::ReleaseSession),
];

/// Reads a table: extends the timeline, or starts or stops a flow.
pub fn entry(
    table: &Table<'_>,
    cells: usize,
    groups: &[&Group<'_>],
    ues: &mut [UeScenario],
    timeline: &mut Vec<TimelineEntry>,
) -> Result<(), Error> {
    let at = table.number("time_s", SECONDS)?.map(seconds);
    let at = at.ok_or_else(|| table.missing("time_s", "seconds of model time"))?;
    let action = table.choice("do", &ACTIONS)?;
    let words = || ACTIONS.map(|(word, _)| word).join(", ");
    let action = action.ok_or_else(|| table.missing("do", format!("one of {}", words())))?;
    let keys: &[&str] = match action {
        Action::Administrative(_) | Action::EnergySaving { .. } => &["cell"],
        Action::Flow { .. } => &["ue", "flow"],
        Action::HandOver => &["ue", "to"],
        Action::ModifySession => &["ue", "five_qi"],
        Action::ReleaseSession => &["ue"],
    };
    if let Some(key) = table.present_keys().find(|key| !["time_s", "do"].contains(key) && !keys.contains(key)) {
        return Err(table.invalid(key, format!("not allowed here: use {}", keys.join(" and "))));
    }
    let cell = |key| -> Result<usize, Error> {
        let cell = table.integer(key, 0..=cells as i64 - 1)?;
        cell.ok_or_else(|| table.missing(key, format!("a cell, counted from 0, of {cells}")))
    };
    let group = || -> Result<Range<usize>, Error> {
        let names = || match groups.iter().filter_map(|group| group.name).collect::<Vec<_>>() {
            none if none.is_empty() => "no [[ue]] has a name".to_owned(),
            names => format!("known names are {}", names.join(", ")),
        };
        let name = table.text("ue", "the name of a [[ue]]")?;
        let name = name.ok_or_else(|| table.missing("ue", format!("the name of a [[ue]]: {}", names())))?;
        let group = groups.iter().find(|group| group.name == Some(name));
        let why = || format!("unknown name \"{name}\": {}", names());
        Ok(group.ok_or_else(|| table.invalid("ue", why()))?.ues.clone())
    };
    match action {
        Action::Administrative(state) => {
            let change = TimelineChange::Administrative { cell: cell("cell")?, state };
            timeline.push(TimelineEntry { at, change });
        }
        Action::EnergySaving { is_ordered } => {
            let change = TimelineChange::EnergySaving { cell: cell("cell")?, is_ordered };
            timeline.push(TimelineEntry { at, change });
        }
        Action::HandOver => {
            let to = cell("to")?;
            let ues = group()?;
            timeline.extend(ues.map(|ue| TimelineEntry { at, change: TimelineChange::HandOver { ue: ue as u64, to } }));
        }
        Action::ModifySession => {
            let five_qi: Option<u8> = table.integer("five_qi", 1..=9)?;
            let five_qi = five_qi.ok_or_else(|| table.missing("five_qi", "a 5QI from 1 to 9"))?;
            let change = SessionChange::FiveQi(five_qi);
            let session = |ue| TimelineEntry { at, change: TimelineChange::Session { ue: ue as u64, change } };
            timeline.extend(group()?.map(session));
        }
        Action::ReleaseSession => {
            let change = SessionChange::Release;
            let session = |ue| TimelineEntry { at, change: TimelineChange::Session { ue: ue as u64, change } };
            timeline.extend(group()?.map(session));
        }
        Action::Flow { starts } => {
            let ues = &mut ues[group()?];
            let count = ues.first().map_or(0, |ue| ue.flows.len());
            let flow: usize = table
                .integer("flow", 0..=count as i64 - 1)?
                .ok_or_else(|| table.missing("flow", format!("a flow of the UE, counted from 0, of {count}")))?;
            for ue in ues {
                set_flow_time(table, ue, flow, at, starts)?;
            }
        }
    }
    Ok(())
}

/// Starts or stops a flow at a time.
fn set_flow_time(table: &Table<'_>, ue: &mut UeScenario, flow: usize, at: Time, starts: bool) -> Result<(), Error> {
    let specification = &mut ue.flows[flow].specification;
    let at = at.max(ue.arrives);
    if starts {
        specification.start = at;
    } else if specification.stop == Time::NEVER {
        specification.stop = at;
    } else {
        return Err(table.invalid("flow", "stops at another time already: a flow stops once"));
    }
    specification.check().map_err(|error| table.invalid_table(error))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::{Scenario, ScenarioFolders};

    #[test]
    fn changes_of_sessions_are_read() {
        let read = |keys: &str| {
            let text = format!("[[cell]]\n[[ue]]\nname = \"u\"\ncount = 2\n[[at]]\ntime_s = 1\n{keys}");
            let folders = ScenarioFolders::with_traces(Path::new("nowhere"));
            let scenario = Scenario::from_toml(&text, &folders).map_err(|error| error.to_string())?;
            Ok::<_, String>(scenario.timeline.iter().map(|entry| entry.change).collect::<Vec<_>>())
        };
        let session = |ue, change| TimelineChange::Session { ue, change };
        let modified = [0, 1].map(|ue| session(ue, SessionChange::FiveQi(2)));
        assert_eq!(read("do = \"modify-session\"\nue = \"u\"\nfive_qi = 2").unwrap(), modified);
        let released = [0, 1].map(|ue| session(ue, SessionChange::Release));
        assert_eq!(read("do = \"release-session\"\nue = \"u\"").unwrap(), released);
        for (keys, expected) in [
            ("do = \"modify-session\"\nue = \"u\"", "five_qi"),
            ("do = \"modify-session\"\nue = \"u\"\nfive_qi = 10", "five_qi"),
            ("do = \"release-session\"\nue = \"u\"\nfive_qi = 1", "five_qi"),
        ] {
            let mistake = read(keys).unwrap_err();
            assert!(mistake.contains(expected), "{mistake}");
        }
    }
}
