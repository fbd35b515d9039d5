//! Where the cells and UEs of the model are: what no service model reports.

use std::net::Ipv4Addr;

use radio::phy::Position;
use radio::{Network, UeState};

use e2sm::common::Cgi;

/// The positions of cells and UEs at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Positions {
    /// The cells, each by its identity: nine hexadecimal digits, as in references of UEs.
    pub cells: Vec<(String, Position)>,
    /// The UEs that have a cell, each by its address.
    pub ues: Vec<(Ipv4Addr, Position)>,
}

impl Positions {
    /// Reads them, with the identities of the cells. It is empty where channels do not depend on positions.
    pub(crate) fn of(network: &Network, cells: &[Cgi]) -> Self {
        let mut positions = Positions::default();
        for (ue, state) in network.ue_states() {
            let Some(geometry) = ue.channel().geometry() else { continue };
            if positions.cells.is_empty() {
                let sites = cells.iter().zip(geometry.sites());
                positions.cells = sites.map(|(cell, site)| (name_of(cell), site.position)).collect();
            }
            if matches!(state, UeState::Connected { .. } | UeState::InTransit { .. }) {
                positions.ues.push((ue.address(), geometry.position()));
            }
        }
        positions
    }
}

/// The identity of a cell in nine hexadecimal digits.
fn name_of(cell: &Cgi) -> String {
    let identity = match cell {
        Cgi::NrCgi(cell) => cell.nr_cell_identity.value,
        Cgi::EutraCgi(cell) => cell.eutra_cell_identity.value,
    };
    format!("{identity:09x}")
}
