//! The latest state of a service of several processes: those that do not collect have that of those that do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::warn;

use super::Service;
use crate::faults::Faults;
use crate::identity::Cell;
use crate::shared_log::{Feed, SharedLog};
use crate::state::{CellMeasurements, State, UeState};

/// A process that begins to collect has this time to learn of cells and UEs; meanwhile others keep what they know.
const SETTLING: Duration = Duration::from_secs(5);
/// The most records of a second; the others follow in the next one.
const MAX_RECORDS: usize = 10_000;
/// How the keys of cells begin.
const CELL: &str = "cell/";
/// How the keys of UEs begin.
const UE: &str = "ue/";

/// How a process collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collecting {
    /// It is the only one: what it does not know is gone.
    Alone,
    /// Others do so too, of other base stations.
    WithOthers,
}

/// What is written to the log, and read from it.
#[derive(Debug, Default)]
pub struct StateFeed {
    inner: Mutex<Inner>,
    unreadable: Faults,
}

#[derive(Debug, Default)]
struct Inner {
    collecting: Option<(Collecting, Instant)>,
    /// What this process has written.
    written: Written,
    /// The keys of the log, of all processes.
    keys: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Written {
    cells: BTreeMap<Cell, CellMeasurements>,
    ues: BTreeMap<String, UeState>,
}

/// A record that is due.
enum Change {
    Cell(Cell, CellMeasurements),
    Ue(String, UeState),
    CellGone(Cell),
    UeGone(String),
    /// Of another process.
    Gone(String),
}

impl StateFeed {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins or ends to write. What other processes have collected is forgotten.
    pub fn set_collecting(&self, service: &Service, collecting: Option<Collecting>) {
        let mut inner = self.inner();
        inner.collecting = collecting.map(|collecting| (collecting, Instant::now()));
        inner.written = Written::default();
        drop(inner);
        service.update(|state| *state = State::default());
    }

    /// Takes a record.
    pub fn apply(&self, service: &Service, key: &str, value: Option<&str>) {
        let mut inner = self.inner();
        if value.is_some() {
            inner.keys.insert(key.to_owned());
        } else {
            inner.keys.remove(key);
        }
        if inner.collecting.is_some() {
            return;
        }
        drop(inner);
        let read = if let Some(name) = key.strip_prefix(UE) {
            parse(value).map(|ue| service.update(|state| replace(&mut state.ues, name.to_owned(), ue)))
        } else if let Some(cell) = key.strip_prefix(CELL).and_then(|cell| Cell::try_from(cell.to_owned()).ok()) {
            parse(value).map(|measurements| service.update(|state| replace(&mut state.cells, cell, measurements)))
        } else {
            Err("the key names neither a cell nor a UE".to_owned())
        };
        if let Err(reason) = read
            && let Some(records) = self.unreadable.count()
        {
            warn!(key, records, "records of the latest state cannot be read, left out: {reason}");
        }
    }

    /// Writes what has changed.
    pub fn publish(&self, service: &Service, log: &dyn SharedLog) {
        let mut inner = self.inner();
        let Some((collecting, _)) = inner.collecting.filter(|(_, since)| since.elapsed() >= SETTLING) else { return };
        let changes = service.read(|state| inner.changes(state, collecting));
        for change in changes {
            let (key, value) = change.record();
            if log.append(Feed::State, &key, value.as_deref(), 0).is_err() {
                // the broker is absent: it is tried again
                return;
            }
            inner.written.note(change);
        }
    }
}

impl Inner {
    fn changes(&self, state: &State, collecting: Collecting) -> Vec<Change> {
        let written = &self.written;
        let cells = state.cells.iter().filter(|(cell, now)| written.cells.get(cell) != Some(now));
        let ues = state.ues.iter().filter(|(name, now)| written.ues.get(*name) != Some(now));
        let cells_gone = written.cells.keys().filter(|cell| !state.cells.contains_key(cell));
        let ues_gone = written.ues.keys().filter(|name| !state.ues.contains_key(*name));
        let is_alone = collecting == Collecting::Alone;
        let is_gone = |key: &&String| match key.strip_prefix(UE) {
            Some(name) => !state.ues.contains_key(name) && !written.ues.contains_key(name),
            None => key
                .strip_prefix(CELL)
                .and_then(|cell| Cell::try_from(cell.to_owned()).ok())
                .is_none_or(|cell| !state.cells.contains_key(&cell) && !written.cells.contains_key(&cell)),
        };
        let of_others = self.keys.iter().filter(|_| is_alone).filter(is_gone);
        let changes = cells.map(|(cell, now)| Change::Cell(*cell, *now));
        let changes = changes.chain(cells_gone.map(|cell| Change::CellGone(*cell)));
        let changes = changes.chain(ues_gone.map(|name| Change::UeGone(name.clone())));
        let changes = changes.chain(of_others.map(|key| Change::Gone(key.clone())));
        let changes = changes.chain(ues.map(|(name, now)| Change::Ue(name.clone(), now.clone())));
        changes.take(MAX_RECORDS).collect()
    }
}

impl Change {
    fn record(&self) -> (String, Option<String>) {
        let cell_key = |cell: &Cell| format!("{CELL}{}", String::from(*cell));
        match self {
            Change::Cell(cell, now) => (cell_key(cell), Some(text(now))),
            Change::CellGone(cell) => (cell_key(cell), None),
            Change::Ue(name, now) => (format!("{UE}{name}"), Some(text(now))),
            Change::UeGone(name) => (format!("{UE}{name}"), None),
            Change::Gone(key) => (key.clone(), None),
        }
    }
}

impl Written {
    fn note(&mut self, change: Change) {
        match change {
            Change::Cell(cell, now) => {
                self.cells.insert(cell, now);
            }
            Change::CellGone(cell) => {
                self.cells.remove(&cell);
            }
            Change::Ue(name, now) => {
                self.ues.insert(name, now);
            }
            Change::UeGone(name) => {
                self.ues.remove(&name);
            }
            Change::Gone(_) => {}
        }
    }
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| panic!("the state is of numbers and texts: {error}"))
}

fn parse<T: DeserializeOwned>(value: Option<&str>) -> Result<Option<T>, String> {
    value.map(|text| serde_json::from_str(text).map_err(|error| error.to_string())).transpose()
}

fn replace<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => {
            map.insert(key, value);
        }
        None => {
            map.remove(&key);
        }
    }
}
