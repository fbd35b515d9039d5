//! The messages of a node's interfaces: those that configure it, and those that E2SM-NI copies.

#[cfg_attr(not(feature = "control"), allow(dead_code))]
pub mod messages;
pub mod setup;

use e2sm::common::PlmnIdentity;

use crate::node::{MCC, MNC};

/// The network of all nodes.
pub fn plmn() -> PlmnIdentity {
    PlmnIdentity::from_codes(MCC, MNC, 2)
}
