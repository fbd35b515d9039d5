//! O-NRCellRelation: the neighbours of a cell, with the offset that UEs add to their RSRP, and whether handovers are allowed.

use e2sm::ccc::{Cause, NrCellRelation, QOffsetRangeList, RanConfigurationStructure as Structure};
use e2sm::common::Cgi;
use ferric::agent::ControllerId;
use ran_functions::ccc::Refusal;
use tracing::info;

use super::refuse;
use crate::node::Node;

/// The offsets in dB that Q-OffsetRange has (TS 38.331 6.3.2).
const OFFSETS_DB: [i8; 31] = [
    -24, -22, -20, -18, -16, -14, -12, -10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20,
    22, 24,
];

impl Node {
    /// The relations of the cell to its neighbours of NR.
    pub(super) fn cell_relations(&self) -> Vec<Structure> {
        let simulation = self.simulation.borrow();
        let relation = |number: u16| {
            let nr_tci = nr_cell_identity(&self.mobility.cell_of(number))?;
            let (offset_db, is_allowed) = simulation.model.network.cell_relation(self.cell_number(), number.into());
            Some(Structure::NrCellRelation(NrCellRelation {
                nr_tci: Some(nr_tci),
                cell_individual_offset: Some(QOffsetRangeList {
                    rsrp_offset_ssb_db: Some(offset_db as i8),
                    ..QOffsetRangeList::default()
                }),
                is_ho_allowed: Some(is_allowed),
            }))
        };
        self.mobility.other_nodes().filter_map(relation).collect()
    }

    /// The neighbour with an NR Cell Identity.
    pub(super) fn neighbour_of(&self, nr_tci: Option<u64>) -> Option<u16> {
        self.mobility.other_nodes().find(|number| nr_cell_identity(&self.mobility.cell_of(*number)) == nr_tci)
    }

    /// Changes the relation to a neighbour.
    pub(super) fn set_cell_relation(
        &mut self,
        origin: ControllerId,
        neighbour: Option<u16>,
        wanted: &NrCellRelation,
    ) -> Result<(), Refusal> {
        let Some(neighbour) = neighbour else {
            return refuse(Cause::NotAvailable, &["nRTCI"], "the cell has no such neighbour in this RAN");
        };
        let cell = self.cell_number();
        let mut simulation = self.simulation.borrow_mut();
        let network = &mut simulation.model.network;
        let (mut offset_db, mut is_allowed) = network.cell_relation(cell, neighbour.into());
        if let Some(offsets) = &wanted.cell_individual_offset {
            if offsets.rsrq_offset_ssb_db.or(offsets.sinr_offset_ssb_db).is_some_and(|db| db != 0) {
                let why = "events are evaluated on RSRP: use rsrpOffsetSsb";
                return refuse(Cause::NotSupported, &["cellIndividualOffset"], why);
            }
            if let Some(db) = offsets.rsrp_offset_ssb_db {
                if !OFFSETS_DB.contains(&db) {
                    let why =
                        format!("{db} dB is not an offset of Q-OffsetRange: use -24, -22 to -6, -5 to 6, 8 to 24");
                    return refuse(Cause::SemanticError, &["cellIndividualOffset"], why);
                }
                offset_db = f64::from(db);
            }
        }
        is_allowed = wanted.is_ho_allowed.unwrap_or(is_allowed);
        network.set_cell_relation(cell, neighbour.into(), offset_db, is_allowed);
        info!(cell, neighbour, offset_db, is_allowed, "cell relation set by controller {}", origin.0);
        Ok(())
    }
}

/// The NR Cell Identity of a cell of NR.
fn nr_cell_identity(cell: &Cgi) -> Option<u64> {
    match cell {
        Cgi::NrCgi(nr) => Some(nr.nr_cell_identity.value),
        _ => None,
    }
}
