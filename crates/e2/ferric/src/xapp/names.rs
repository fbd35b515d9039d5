//! How cells and network slices are written.

use std::fmt;
use std::str::FromStr;

use e2ap::GlobalE2NodeId;
use e2sm::common::{CellIdentity, Cgi, EutraCgi, NrCgi, SNssai, Sd, Sst};

use super::error::Error;

/// A cell by its NR or E-UTRA cell identity, written in hexadecimal digits: `003804001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(u64);

impl CellId {
    /// The cell with the 36 least significant bits.
    #[must_use]
    pub const fn new(identity: u64) -> Self {
        CellId(identity & 0xF_FFFF_FFFF)
    }

    /// The cell identity: 36 bits of an NR cell, 28 of an E-UTRA cell.
    #[must_use]
    pub const fn identity(self) -> u64 {
        self.0
    }

    /// The cell in its network.
    #[must_use]
    pub const fn of(cell: &Cgi) -> Self {
        match cell {
            Cgi::NrCgi(cell) => CellId(cell.nr_cell_identity.value),
            Cgi::EutraCgi(cell) => CellId(cell.eutra_cell_identity.value),
        }
    }

    /// The cell in the network and the radio access technology of a node.
    pub(super) fn at(self, node: &GlobalE2NodeId) -> Cgi {
        let plmn_identity = node.plmn_identity();
        match node {
            GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => Cgi::NrCgi(NrCgi::new(plmn_identity, self.0)),
            GlobalE2NodeId::NgEnb(_) | GlobalE2NodeId::Enb(_) => Cgi::EutraCgi(EutraCgi::new(plmn_identity, self.0)),
        }
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        CellIdentity(self.0).fmt(f)
    }
}

impl FromStr for CellId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().map(|CellIdentity(identity)| CellId(identity)).map_err(|_| {
            Error::invalid("cell", text, "a cell identity of 1 to 9 hexadecimal digits, such as 003804001")
        })
    }
}

/// A network slice (S-NSSAI), written as `1` or `1-00000a`: SST in decimal, SD in six hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NetworkSlice(pub SNssai);

impl NetworkSlice {
    /// The network slice with a slice/service type, and a slice differentiator of 24 bits.
    #[must_use]
    pub const fn new(sst: u8, sd: Option<u32>) -> Self {
        let sd = match sd {
            Some(sd) => {
                let [_, a, b, c] = sd.to_be_bytes();
                Some(Sd([a, b, c]))
            }
            None => None,
        };
        NetworkSlice(SNssai { sst: Sst([sst]), sd })
    }
}

impl fmt::Display for NetworkSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for NetworkSlice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().map(NetworkSlice).map_err(|_| {
            Error::invalid(
                "slice",
                text,
                "a network slice: SST, or SST-SD with an SD of six hexadecimal digits, such as 1 or 1-00000a",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_they_are_written() {
        let cell: CellId = "003804001".parse().unwrap();
        assert_eq!((cell.identity(), cell.to_string()), (0x380_4001, "003804001".to_owned()));
        assert_eq!("3804001".parse::<CellId>().unwrap(), cell);
        for wrong in ["", "g", "+1", "1234567890", "0x1"] {
            let error = wrong.parse::<CellId>().unwrap_err();
            assert_eq!((error.code(), error.parameter()), ("invalid", Some("cell")), "{wrong}");
        }
    }

    #[test]
    fn network_slices_are_read_as_they_are_written() {
        for (text, slice) in [("1", NetworkSlice::new(1, None)), ("255-00000a", NetworkSlice::new(255, Some(10)))] {
            assert_eq!((text.parse::<NetworkSlice>().unwrap(), slice.to_string()), (slice, text.to_owned()));
        }
        for wrong in ["", "256", "+1", "1-", "1-a", "1-00000g", "1-00000a-1"] {
            let error = wrong.parse::<NetworkSlice>().unwrap_err();
            assert_eq!((error.code(), error.parameter()), ("invalid", Some("slice")), "{wrong}");
        }
    }
}
