#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(any(feature = "ngap", feature = "f1ap", feature = "e1ap", feature = "s1ap", feature = "xnap"))]
mod common;
#[cfg(feature = "e1ap")]
pub mod e1ap;
#[cfg(feature = "f1ap")]
pub mod f1ap;
#[cfg(feature = "lte-rrc")]
pub mod lte_rrc;
#[cfg(feature = "ngap")]
pub mod ngap;
#[cfg(feature = "nr-rrc")]
pub mod nr_rrc;
mod numeric_ie;
mod pdu;
#[cfg(any(feature = "lte-rrc", feature = "nr-rrc"))]
mod rrc_bits;
#[cfg(any(feature = "lte-rrc", feature = "nr-rrc"))]
mod rrc_measurements;
#[cfg(feature = "s1ap")]
pub mod s1ap;
#[cfg(feature = "x2ap")]
pub mod x2ap;
#[cfg(feature = "xnap")]
pub mod xnap;

#[cfg(any(feature = "ngap", feature = "s1ap"))]
pub use common::PagingDrx;
#[cfg(any(feature = "ngap", feature = "e1ap"))]
pub use common::ServedPlmn;
pub use numeric_ie::{NumericIe, NumericType};
pub use pdu::{Criticality, MessageKind, Pdu, PduView, Protocol, ProtocolIe};

#[cfg(test)]
mod test_vectors {
    //! The vectors of `vectors/interfaces`, made by an independent encoder (pycrate 0.8.1).

    pub fn folder() -> std::path::PathBuf {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../vectors/interfaces")
    }

    pub fn unhex(digits: &str) -> Vec<u8> {
        let octet = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.trim().as_bytes().chunks(2).map(octet).collect()
    }

    pub fn octets(name: &str) -> Vec<u8> {
        unhex(&std::fs::read_to_string(folder().join(format!("{name}.hex"))).unwrap())
    }
}
