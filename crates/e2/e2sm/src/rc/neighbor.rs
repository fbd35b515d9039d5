//! Neighbours of a cell.

use per::{List, Per};

use crate::common::{
    EutraArfcn, EutraCgi, EutraPci, EutraTac, FiveGsTac, NrCgi, NrFrequencyInfo, NrPci, ServingCellArfcn,
    ServingCellPci,
};

/// NeighborRelation-Info: a cell's neighbours.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct NeighborRelationInfo<'a> {
    /// The cell's physical identity.
    pub serving_cell_pci: ServingCellPci,
    /// The cell's frequency.
    pub serving_cell_arfcn: ServingCellArfcn,
    /// Its neighbours.
    #[per(size = 1..=65535)]
    pub neighbor_cell_list: List<'a, NeighborCellItem<'a>>,
}

/// NeighborCell-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum NeighborCellItem<'a> {
    /// Of NR.
    Nr(NeighborCellNr<'a>),
    /// Of E-UTRA.
    Eutra(NeighborCellEutra),
}

/// NeighborCell-Item-Choice-NR.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct NeighborCellNr<'a> {
    /// The cell.
    pub nr_cgi: NrCgi,
    /// Its physical identity.
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
    /// Of this entry; each change makes it one more.
    #[per(range = 1..=65535, extensible)]
    pub version: u16,
}

/// NeighborCell-Item-Choice-E-UTRA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NeighborCellEutra {
    /// The cell.
    pub eutra_cgi: EutraCgi,
    /// Its physical identity.
    pub eutra_pci: EutraPci,
    /// Its frequency.
    pub eutra_arfcn: EutraArfcn,
    /// Its tracking area.
    pub eutra_tac: EutraTac,
    /// Whether there is an interface to its node.
    pub x2_xn_established: Flag,
    /// Whether handovers to it have succeeded.
    pub ho_validated: Flag,
    /// Of this entry; each change makes it one more.
    #[per(range = 1..=65535, extensible)]
    pub version: u16,
}

/// A duplex mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NrModeInfo {
    /// By frequency.
    Fdd,
    /// By time.
    Tdd,
}

/// ENUMERATED {true, false, ...}.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Flag {
    /// Yes.
    True,
    /// No.
    False,
}
