//! E42: a RIC's side of FlexRIC's xApp protocol, so that FlexRIC's xApps run against this RIC.
//!
//! What its xApps rely on, as found in their public sources:
//!
//! - They learn of nodes when they begin, and of no others later. They read a node's id, components and functions by
//!   place, and end themselves over what they do not know: so they are told only of gNBs and of eNBs with a macro id,
//!   with functions that have an OID and, from v2 on, with components.
//! - They name subscriptions and controls themselves, each session counting from 1; answers and indications must have
//!   those names. They await each answer for some seconds, and end themselves where it is a failure, or none.
//! - A setup is repeated after 3 s without an answer.
//!
//! A subscription that ends by the node's will is not told: there is no message that they understand. One whose node
//! comes back stands again by itself.

mod answers;
mod host;
mod nodes;
mod requests;

pub use host::E42Host;
