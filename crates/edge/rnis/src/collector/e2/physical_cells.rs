//! The cells by the physical identities by which UEs report them: those of NR and those of E-UTRA.

use std::collections::{BTreeSet, HashMap};

use ids::Cgi;

use crate::identity::Cell;

/// The most cells of a physical identity that are kept.
const MAX_CELLS: usize = 64;

/// The cells by physical identity.
#[derive(Debug, Default)]
pub(super) struct PhysicalCells {
    nr: HashMap<u16, BTreeSet<Cell>>,
    eutra: HashMap<u16, BTreeSet<Cell>>,
}

impl PhysicalCells {
    /// Records the physical identity of a cell, instead of its former one.
    pub fn learn(&mut self, pci: u16, cell: Cell) {
        let by_pci = if matches!(cell.0, Cgi::NrCgi(_)) { &mut self.nr } else { &mut self.eutra };
        if by_pci.get(&pci).is_some_and(|cells| cells.contains(&cell)) {
            return;
        }
        for cells in by_pci.values_mut() {
            cells.remove(&cell);
        }
        let cells = by_pci.entry(pci).or_default();
        if cells.len() < MAX_CELLS {
            cells.insert(cell);
        }
    }

    /// The NR cell of a physical identity; `None` if it is unknown, or if several have it: a report does not say which one it means.
    pub fn find(&self, pci: u16) -> Option<Cell> {
        only(&self.nr, pci)
    }

    /// The E-UTRA cell of a physical identity.
    pub fn find_eutra(&self, pci: u16) -> Option<Cell> {
        only(&self.eutra, pci)
    }
}

fn only(by_pci: &HashMap<u16, BTreeSet<Cell>>, pci: u16) -> Option<Cell> {
    let cells = by_pci.get(&pci)?;
    cells.first().filter(|_| cells.len() == 1).copied()
}

#[cfg(test)]
mod tests {
    use ids::PlmnIdentity;

    use super::*;

    #[test]
    fn ambiguous_and_former_identities_are_no_cell() {
        let cell = |number| Cell::nr(PlmnIdentity::from_codes(1, 1, 2), number);
        let mut cells = PhysicalCells::default();
        cells.learn(7, cell(1));
        assert_eq!([cells.find(7), cells.find(8)], [Some(cell(1)), None]);
        cells.learn(7, cell(2));
        assert_eq!(cells.find(7), None, "two cells");
        cells.learn(8, cell(1));
        assert_eq!([cells.find(7), cells.find(8)], [Some(cell(2)), Some(cell(1))]);
        let of_eutra = Cell::eutra(PlmnIdentity::from_codes(1, 1, 2), 1);
        cells.learn(7, of_eutra);
        assert_eq!([cells.find(7), cells.find_eutra(7)], [Some(cell(2)), Some(of_eutra)], "two technologies");
    }
}
