//! What the messages of a node's interfaces are made of: the messages that configure the node, and those that E2SM-NI copies.

pub mod setup;

use ids::{EnbId, FiveGsTac, GlobalEnbId, NrCgi, PlmnIdentity};
use per::Bits;

use crate::node::{GNB_ID_BITS, MCC, MNC, NR_CELL_BITS};
use crate::part::ENB_ID_BITS;

/// The tracking area of all cells.
pub const TAC: FiveGsTac = FiveGsTac([0, 0, 1]);

/// The network of all nodes.
pub fn plmn() -> PlmnIdentity {
    PlmnIdentity::from_codes(MCC, MNC, 2)
}

/// The eNB with that eNB ID.
pub fn enb_id(id: u32) -> GlobalEnbId {
    GlobalEnbId { plmn_identity: plmn(), enb_id: EnbId::MacroEnbId(Bits::new(id.into(), ENB_ID_BITS)) }
}

/// The only cell of a gNB.
pub fn nr_cgi(gnb: u32) -> NrCgi {
    NrCgi::new(plmn(), u64::from(gnb) << (NR_CELL_BITS - GNB_ID_BITS) | 1)
}

/// The octets of a message that the model built.
pub fn encoded(octets: Result<Vec<u8>, per::Error>) -> Vec<u8> {
    octets.unwrap_or_else(|error| panic!("the model's values are within the protocols' bounds: {error}"))
}
