//! The virtualization controller of the FlexRIC paper (6.2, table 5, appendix B): one RAN for several operators.
//!
//! It is an internal app of a RIC. Towards each tenant, every base station appears as an E2 node of the tenant's own network, so a
//! tenant's controller may be of any make, and may itself be a virtualization controller. The app is written with the agent library:
//!
//! | service model | a tenant |
//! |---|---|
//! | MAC, RLC, PDCP, GTP | receives the records of its own UEs |
//! | RRC | receives the events of its own UEs |
//! | TC | has queues and filters for the bearers of its own UEs |
//! | SLICE | has a cell of its own: slices 0 to 9, and shares of what its agreement grants; see [`slices`] |
//! | KPM | measures its own network and its own UEs; see [`kpm`] |
//! | RC | reads and controls its own UEs, decides on their procedures, and sets quotas of its own network slices; see [`rc`] |
//! | CCC | reads the configuration of cells, and sets RRM policies of its own network slices; see [`ccc`] |
//!
//! Other functions of a base station are not offered to tenants. The tenant of a UE follows from the PLMN that the UE has selected and
//! its S-NSSAIs, as the base station's RRC function reports them.
//!
//! Equal subscriptions of several tenants are one subscription towards the base station.

#![forbid(unsafe_code)]

mod alarm;
mod app;
mod base_station;
pub mod ccc;
mod cells;
mod controls;
mod function;
pub mod kpm;
mod networks;
mod node;
mod outgoing;
mod physical;
pub mod policies;
pub mod rc;
mod reconciler;
mod reports;
mod share;
mod sla;
pub mod slices;
mod tc;
#[cfg(test)]
mod testing;
pub mod topology;
mod ues;

pub use app::{SlaHandle, add_to};
pub use sla::{MAX_TENANTS, Sla, Tenant};
