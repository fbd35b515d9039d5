//! Cells, tracking areas and beams, and the UE's identity in a cell.

use core::fmt;
use core::str::FromStr;

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

/// The NR or E-UTRA cell identity of a cell, of 36 or 28 bits, written in nine hexadecimal digits: `003804001`. It may be read with
/// fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellIdentity(pub u64);

/// Hexadecimal digits of an NR cell identity.
const CELL_DIGITS: usize = 9;

impl fmt::Display for CellIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0CELL_DIGITS$x}", self.0)
    }
}

impl FromStr for CellIdentity {
    type Err = InvalidCell;

    fn from_str(digits: &str) -> Result<Self, InvalidCell> {
        let is_cell =
            (1..=CELL_DIGITS).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_hexdigit());
        u64::from_str_radix(digits, 16).ok().filter(|_| is_cell).map(CellIdentity).ok_or(InvalidCell)
    }
}

/// How people and programs name a cell: by its identity alone, or with its radio access technology and its network.
///
/// ```
/// use ids::{CellIdentity, CellReference, PlmnIdentity};
///
/// let identity = CellIdentity(0x380_4001);
/// assert_eq!("003804001".parse(), Ok(CellReference { plmn: None, identity }));
/// let plmn = Some(PlmnIdentity::from_codes(1, 1, 2));
/// assert_eq!("nr-00101-3804001".parse(), Ok(CellReference { plmn, identity }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellReference {
    /// The network, if it is named.
    pub plmn: Option<PlmnIdentity>,
    /// The cell in it.
    pub identity: CellIdentity,
}

impl CellReference {
    /// Whether it names a cell of a network.
    #[must_use]
    pub fn is(&self, plmn: PlmnIdentity, identity: CellIdentity) -> bool {
        self.identity == identity && self.plmn.is_none_or(|of| of == plmn)
    }
}

impl FromStr for CellReference {
    type Err = InvalidCell;

    fn from_str(text: &str) -> Result<Self, InvalidCell> {
        let Some(in_network) = text.strip_prefix("nr-").or_else(|| text.strip_prefix("eutra-")) else {
            return Ok(CellReference { plmn: None, identity: text.parse()? });
        };
        let (plmn, identity) = in_network.split_once('-').ok_or(InvalidCell)?;
        Ok(CellReference { plmn: Some(plmn.parse().map_err(|_| InvalidCell)?), identity: identity.parse()? })
    }
}

/// A text that is no cell identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidCell;

impl fmt::Display for InvalidCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a cell identity: 1 to 9 hexadecimal digits, such as 003804001")
    }
}

impl core::error::Error for InvalidCell {}

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

impl EutraCgi {
    /// The cell with the 28 least significant bits of `eutra_cell_identity`.
    #[must_use]
    pub const fn new(plmn_identity: PlmnIdentity, eutra_cell_identity: u64) -> Self {
        EutraCgi { plmn_identity, eutra_cell_identity: Bits::new(eutra_cell_identity & 0xFFF_FFFF, 28) }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_identity_is_written_in_nine_digits_and_read_with_fewer() {
        for (identity, text) in [(0xF_FFFF_FFFF, "fffffffff"), (1, "000000001")] {
            let identity = CellIdentity(identity);
            assert_eq!((identity.to_string().as_str(), text.parse()), (text, Ok(identity)));
        }
        assert_eq!("3804001".parse(), Ok(CellIdentity(0x380_4001)));
    }

    #[test]
    fn reference_with_a_network_names_the_cell_of_that_network_only() {
        let names = |text: &str, mnc| {
            let cell: CellReference = text.parse().unwrap();
            cell.is(PlmnIdentity::from_codes(1, mnc, 2), CellIdentity(0x380_0001))
        };
        assert!(names("003800001", 1) && names("3800001", 2) && !names("003800002", 1));
        assert!(names("nr-00101-003800001", 1) && names("nr-00101-3800001", 1) && !names("nr-00101-3800001", 2));
    }

    #[test]
    fn other_texts_name_no_cell() {
        for wrong in ["", "g", "+1", "1234567890", "0x1", "nr-1", "nr-00101-", "nr-x-1", "lte-00101-1", "nr-00101-1-2"]
        {
            assert_eq!(wrong.parse::<CellReference>(), Err(InvalidCell), "{wrong}");
        }
    }
}
