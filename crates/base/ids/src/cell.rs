//! Cells, tracking areas and beams, and the UE's identity in a cell.

use core::fmt;

use per::{Bits, Per};

use crate::PlmnIdentity;

/// Cell Global Identity, of either radio access technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum Cgi {
    /// A cell of NR.
    NrCgi(NrCgi),
    /// A cell of E-UTRA.
    EutraCgi(EutraCgi),
}

/// NR CGI (TS 38.413 9.3.1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct NrCgi {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The gNB ID and the cell's number within the gNB: 36 bits.
    #[per(size = 36..=36)]
    pub nr_cell_identity: Bits,
}

impl NrCgi {
    /// The cell with the 36 least significant bits of `nr_cell_identity`.
    #[must_use]
    pub const fn new(plmn_identity: PlmnIdentity, nr_cell_identity: u64) -> Self {
        NrCgi { plmn_identity, nr_cell_identity: Bits::new(nr_cell_identity & 0xF_FFFF_FFFF, 36) }
    }
}

/// As operators write it: `nr-00101-38001`.
impl fmt::Display for NrCgi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nr-{}-{:x}", self.plmn_identity, self.nr_cell_identity.value)
    }
}

/// E-UTRA CGI (TS 38.413 9.3.1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct EutraCgi {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The eNB ID and the cell's number within the eNB: 28 bits.
    #[per(size = 28..=28)]
    pub eutra_cell_identity: Bits,
}

/// NR PCI: a physical cell identity of NR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=1007)]
pub struct NrPci(pub u16);

/// E-UTRA PCI: a physical cell identity of E-UTRA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=503, extensible)]
pub struct EutraPci(pub u16);

/// 5GS TAC: a tracking area code of the 5G system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct FiveGsTac(pub [u8; 3]);

/// E-UTRA TAC: a tracking area code of the EPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct EutraTac(pub [u8; 2]);

/// Beam-ID (E2SM v05.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum BeamId {
    /// The index of an SSB beam of NR, 0 to 63.
    #[per(range = 0..=63)]
    NrBeamId(u8),
}

/// C-RNTI: a UE within its cell (TS 38.321).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=65535)]
pub struct RntiValue(pub u16);

/// A UE by its C-RNTI and cell (E2SM v05.00).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct CellRnti {
    /// The UE within the cell.
    pub c_rnti: RntiValue,
    /// The cell.
    pub cell_global_id: Cgi,
}
