//! The model: a cell, its UEs, their channels and traffic, and the scheduler, in discrete steps.
//!
//! All chance comes from the seed: on one kind of machine, the same seed gives the same values.

mod cell;
mod channel;
mod link_table;
mod queue;
mod quota;
mod random;
mod scheduler;
#[cfg(test)]
mod tests;
mod traffic;
mod ue;
mod usage;

pub use cell::{Cell, Counters, Cqis, DOWNLINK_SHARE, PRBS, SLOTS_PER_S, UPLINK_SHARE};
pub use quota::{Quota, Quotas};
pub use ue::{DOWNLINK_LAYERS, Ue};
pub use usage::Usage;
