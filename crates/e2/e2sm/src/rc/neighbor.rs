//! Neighbours of a cell.

use per::{List, Per};

use crate::common::{
    EutraArfcn, EutraCgi, EutraPci, EutraTac, FiveGsTac, NrCgi, NrFrequencyInfo, NrPci, ServingCellArfcn,
    ServingCellPci,
};

/// NeighborRelation-Info: the neighbours of a cell.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct NeighborRelationInfo<'a> {
    /// The PCI of the cell.
    pub serving_cell_pci: ServingCellPci,
    /// The frequency of the cell.
    pub serving_cell_arfcn: ServingCellArfcn,
    /// Its neighbours.
    #[per(size = 1..=65535)]
    pub neighbor_cell_list: List<'a, NeighborCellItem<'a>>,
}

/// NeighborCell-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum NeighborCellItem<'a> {
    /// An NR cell.
    Nr(NeighborCellNr<'a>),
    /// An E-UTRA cell.
    Eutra(NeighborCellEutra),
}

/// NeighborCell-Item-Choice-NR.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct NeighborCellNr<'a> {
    /// The cell.
    pub nr_cgi: NrCgi,
    /// Its PCI.
    pub nr_pci: NrPci,
    /// Its tracking area.
    pub five_gs_tac: FiveGsTac,
    /// Its duplex mode.
    pub nr_mode_info: NrModeInfo,
    /// Its carrier.
    pub nr_freq_info: NrFrequencyInfo<'a>,
    /// Whether there is an interface to its node.
    pub x2_xn_established: Flag,
    /// Whether handovers to it have succeeded.
    pub ho_validated: Flag,
    /// The version of this entry; each change increments it.
    #[per(range = 1..=65535, extensible)]
    pub version: u16,
}

/// NeighborCell-Item-Choice-E-UTRA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NeighborCellEutra {
    /// The cell.
    pub eutra_cgi: EutraCgi,
    /// Its PCI.
    pub eutra_pci: EutraPci,
    /// Its frequency.
    pub eutra_arfcn: EutraArfcn,
    /// Its tracking area.
    pub eutra_tac: EutraTac,
    /// Whether there is an interface to its node.
    pub x2_xn_established: Flag,
    /// Whether handovers to it have succeeded.
    pub ho_validated: Flag,
    /// The version of this entry; each change increments it.
    #[per(range = 1..=65535, extensible)]
    pub version: u16,
}

/// A duplex mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NrModeInfo {
    /// FDD.
    Fdd,
    /// TDD.
    Tdd,
}

/// ENUMERATED {true, false, ...}.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Flag {
    /// True.
    True,
    /// False.
    False,
}
