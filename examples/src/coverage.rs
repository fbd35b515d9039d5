//! What UEs receive of cells, from copies of their measurement reports (E2SM-RC report style 1).

use std::collections::BTreeMap;
use std::sync::Arc;

use ap::nr_rrc::{self, CellResult, MeasurementReport};
use e2sm::ccc::RanConfigurationStructure;
use ferric::xapp::{CellConfiguration, CellId, Error, Feed, Ric, RrcMessage, UeReference};

/// The structure that has the physical identity of a cell, by which UEs report it.
const CELL: &str = "O-NRCellDU";
/// Calls of [`Coverage::update`] without a report after which a UE is forgotten.
const MAX_AGE: u32 = 10;

/// What a UE receives of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// The cell.
    pub cell: CellId,
    /// Its power.
    pub rsrp_dbm: f64,
    /// Its quality.
    pub sinr_db: f64,
}

/// The last report of a UE.
#[derive(Clone, Debug, PartialEq)]
pub struct UeReport {
    /// The node that it was sent to.
    pub node: Arc<str>,
    /// The serving cell.
    pub serving: Received,
    /// The other cells.
    pub neighbours: Vec<Received>,
}

/// The measurement reports of all UEs.
pub struct Coverage {
    messages: Feed<RrcMessage>,
    configuration: Feed<CellConfiguration>,
    /// The cells by their physical identities.
    cells: BTreeMap<u16, CellId>,
    ues: BTreeMap<UeReference, Heard>,
}

/// The last report of a UE, and for how many updates there was none.
struct Heard {
    node: Arc<str>,
    report: MeasurementReport,
    age: u32,
}

impl Coverage {
    /// Subscribes to the reports, and to the identities of cells.
    ///
    /// # Errors
    /// If no node offers them, or the session ends.
    pub fn new(ric: &Ric) -> Result<Self, Error> {
        let configuration = ric.configuration([CELL])?;
        let messages = ric.rrc_messages(["MeasurementReport"])?;
        Ok(Coverage { messages, configuration, cells: BTreeMap::new(), ues: BTreeMap::new() })
    }

    /// Reads what has come since the last call. A report that cannot be decoded is skipped.
    ///
    /// # Errors
    /// The error that has ended the session.
    pub fn update(&mut self) -> Result<(), Error> {
        while let Some(CellConfiguration { cell, structures, .. }) = self.configuration.try_next()? {
            for structure in structures {
                let RanConfigurationStructure::NrCellDu(du) = structure.values else { continue };
                self.cells.extend(du.nr_pci.map(|pci| (pci, cell)));
            }
        }
        self.ues.retain(|_, heard| {
            heard.age += 1;
            heard.age <= MAX_AGE
        });
        while let Some(message) = self.messages.try_next()? {
            match MeasurementReport::decode(&message.octets) {
                Ok(report) => drop(self.ues.insert(message.ue, Heard { node: message.node, report, age: 0 })),
                Err(error) => eprintln!("{}: measurement report of {} skipped: {error}", message.node, message.ue),
            }
        }
        Ok(())
    }

    /// The UEs whose serving cell is known, each with its last report.
    pub fn ues(&self) -> impl Iterator<Item = (&UeReference, UeReport)> {
        let received = |cell: &CellResult| {
            let (rsrp_dbm, sinr_db) = (nr_rrc::rsrp_dbm(cell.rsrp?), nr_rrc::sinr_db(cell.sinr?));
            Some(Received { cell: *self.cells.get(&cell.pci?)?, rsrp_dbm, sinr_db })
        };
        self.ues.iter().filter_map(move |(ue, heard)| {
            let serving = received(&heard.report.serving)?;
            let neighbours = heard.report.neighbours.iter().filter_map(received).collect();
            Some((ue, UeReport { node: Arc::clone(&heard.node), serving, neighbours }))
        })
    }
}
