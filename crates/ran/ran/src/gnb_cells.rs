//! Which cells are of one gNB: those of a CU with several DUs.

use std::collections::HashMap;

use crate::scenario::Scenario;

/// A cell's place in its base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GnbCell {
    /// The first cell of the base station, whose number is that of the base station.
    pub first: u16,
    /// The number of the cell in the base station, from 1: the id of its DU, and the last bits of its identity.
    pub local: u16,
    /// The cells of the base station: the DUs of its CU.
    pub count: u16,
}

impl GnbCell {
    /// Whether its CU has several DUs.
    pub fn has_siblings(self) -> bool {
        self.count > 1
    }
}

/// The places of a scenario's cells, by number. A cell without a CU that it shares is alone in its base station.
pub fn gnb_cells(scenario: &Scenario) -> Vec<GnbCell> {
    let mut by_name: HashMap<&str, (u16, u16)> = HashMap::new();
    let mut places: Vec<GnbCell> = Vec::with_capacity(scenario.cells.len());
    // the numbers of cells have 16 bits: a scenario has at most 4096
    for (number, cell) in (0..).zip(&scenario.cells) {
        let (first, local) = match &cell.cu {
            None => (number, 1),
            Some(name) => {
                let (first, count) = by_name.entry(name).or_insert((number, 0));
                *count += 1;
                (*first, *count)
            }
        };
        places.push(GnbCell { first, local, count: 1 });
    }
    for (place, cell) in places.iter_mut().zip(&scenario.cells) {
        if let Some((_, count)) = cell.cu.as_deref().and_then(|name| by_name.get(name)) {
            place.count = *count;
        }
    }
    places
}
