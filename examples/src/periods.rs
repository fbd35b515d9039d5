//! Reports of cells, period by period.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferric::xapp::{CellId, Error, Event, Feed, KpmStream, Node, Noun, Record, Ric};

/// The measurements of each cell, of nodes that have one cell and list it in E2SM-CCC.
pub struct Periods {
    ric: Ric,
    events: Feed<Event>,
    records: KpmStream,
    /// The cell of each node.
    cells: BTreeMap<Arc<str>, CellId>,
    reported: BTreeMap<CellId, Record>,
}

impl Periods {
    /// Subscribes to measurements of all cells.
    ///
    /// # Errors
    /// If no node offers them, or the session ends.
    pub fn new(ric: &Ric, measurements: &[&str], period_ms: u32) -> Result<Self, Error> {
        let events = ric.events()?;
        let records = ric.kpm(measurements.iter().copied()).whole_node().every(period_ms)?;
        Ok(Periods { ric: ric.clone(), events, records, cells: BTreeMap::new(), reported: BTreeMap::new() })
    }

    /// The node of a cell.
    ///
    /// # Errors
    /// If no node with this cell is up.
    pub fn node(&self, cell: CellId) -> Result<Node, Error> {
        match self.cells.iter().find(|(_, known)| **known == cell) {
            Some((node, _)) => self.ric.node(node),
            None => Err(Error::Unknown { kind: Noun::Cell, name: cell.to_string(), nearest: Vec::new() }),
        }
    }

    /// Waits for the end of a period: every cell has reported, or one has reported again. `None` at the end of the session.
    ///
    /// # Errors
    /// The error that has ended the session.
    pub fn next_period(&mut self) -> Result<Option<BTreeMap<CellId, Record>>, Error> {
        while let Some(record) = self.records.next_record()? {
            self.follow_nodes()?;
            let Some(cell) = self.cells.get(&record.node).copied() else { continue };
            let next =
                if self.reported.contains_key(&cell) { std::mem::take(&mut self.reported) } else { BTreeMap::new() };
            self.reported.insert(cell, record);
            if !next.is_empty() {
                return Ok(Some(next));
            }
            if self.reported.len() == self.cells.len() {
                return Ok(Some(std::mem::take(&mut self.reported)));
            }
        }
        Ok(None)
    }

    fn follow_nodes(&mut self) -> Result<(), Error> {
        while let Some(event) = self.events.try_next()? {
            match event {
                Event::NodeUp(node) => {
                    let cell = self.ric.cells()?.into_iter().find(|cell| cell.node() == &*node);
                    self.cells.extend(cell.map(|cell| (node, cell.id())));
                }
                Event::NodeLost(node) => {
                    if let Some(cell) = self.cells.remove(&node) {
                        self.reported.remove(&cell);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
