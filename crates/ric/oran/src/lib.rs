//! The host for xApps written for the O-RAN reference platform (FlexRIC paper, 6.3).
//!
//! Each service is a module of its own and usable alone. None of them knows a service model.
//!
//! | module | service |
//! |---|---|
//! | [`messaging`] | xApps over RMR: route tables, indications, controls, subscriptions, health checks |
//! | [`subscription`] | the subscription manager's REST interface; it needs messaging |
//! | [`e2_manager`] | the E2 manager's REST interface: the lists of nodes |
//! | `a1` (feature `a1`) | A1: policies of a non-RT RIC for xApps, and its enrichment information |
//! | `manager` (feature `manager`) | xApp management: registration, descriptors, processes, and the app manager's REST interface |
//! | `rnib` (feature `rnib`) | the nodes of the RIC in the shared data layer |
//! | [`group`] | what several RICs that share nodes have in common |
//! | [`ran_name()`] | the names of nodes in the platform |

#![forbid(unsafe_code)]

#[cfg(feature = "a1")]
pub mod a1;
pub mod e2_manager;
pub mod group;
#[cfg(any(feature = "a1", feature = "manager"))]
mod json_schema;
#[cfg(feature = "manager")]
pub mod manager;
pub mod messaging;
mod names;
#[cfg(feature = "rnib")]
pub mod rnib;
pub mod subscription;

pub use names::ran_name;
