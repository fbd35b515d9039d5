//! E42: the RIC's side of FlexRIC's xApp protocol, so that FlexRIC's xApps run against this RIC.
//!
//! The xApps depend on the following, according to their public sources:
//!
//! - They receive the nodes in the setup response and none later. They read ids, components and functions by position and
//!   abort on unknown values. The response therefore contains only gNBs and eNBs with a macro id, with functions that
//!   FlexRIC knows ([`E42Host::known_functions`]) and that have an OID and, since v2, with components.
//! - They choose the ids of subscriptions and controls, each session counting from 1; answers and indications must contain
//!   those ids. They wait some seconds for each answer and abort after a failure or a timeout.
//! - They repeat a setup after 3 s without an answer.
//!
//! The end of a subscription by the node is not reported, since the protocol has no message for it. A subscription whose node
//! sets up again is restored.

mod answers;
mod host;
mod nodes;
mod requests;

pub use host::E42Host;
