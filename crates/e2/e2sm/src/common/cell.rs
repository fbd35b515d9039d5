//! Cells, beams, and the UE's name in a cell.

use per::{Bits, Per};

use super::PlmnIdentity;

/// A cell's global identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Cgi {
    /// A cell of NR.
    NrCgi(NrCgi),
    /// A cell of E-UTRA.
    EutraCgi(EutraCgi),
}

/// NR-CGI (TS 38.413).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NrCgi {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The gNB's identity and the cell's within it.
    #[per(size = 36..=36)]
    pub nr_cell_identity: Bits,
}

/// EUTRA-CGI (TS 38.413).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EutraCgi {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The eNB's identity and the cell's within it.
    #[per(size = 28..=28)]
    pub eutra_cell_identity: Bits,
}

/// Beam-ID (E2SM v05.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum BeamId {
    /// The index of an SSB beam of NR, 0 to 63.
    #[per(range = 0..=63)]
    NrBeamId(u8),
}

/// A C-RNTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=65535)]
pub struct RntiValue(pub u16);

/// A UE by its C-RNTI and cell (E2SM v05.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CellRnti {
    /// The name within the cell.
    pub c_rnti: RntiValue,
    /// The cell.
    pub cell_global_id: Cgi,
}
