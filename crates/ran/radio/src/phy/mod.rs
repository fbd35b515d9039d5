//! The physical layer: carriers, transport block sizes, link adaptation, HARQ combining and channels.
//!
//! A [`Carrier`] is configuration; validated, it becomes a [`Grid`] of PRBs, slots and symbols. [`TransportBlocks`] contains the
//! size of each allocation, [`Adaptation`] the MCS and block error rate of a SINR, [`Reception`] the effect of HARQ
//! retransmissions, and [`Channel`] the SINR of a UE.

mod adaptation;
mod antenna;
mod bandwidth;
mod blocks;
mod carrier;
mod channel;
mod deployment;
mod duplex;
mod fading;
mod field;
mod geometry;
mod layout;
mod lte_sizes;
mod mcs;
mod motion;
mod nr_sizes;
mod path_loss;
mod site;
#[cfg(test)]
mod tests;
mod trace;

pub use adaptation::{Adaptation, Link, Reception};
pub use antenna::{Antenna, SectorAntenna};
pub use blocks::TransportBlocks;
pub use carrier::{Carrier, CarrierError, Grid, Rat};
pub use channel::{Channel, Fixed};
pub use deployment::Deployment;
pub use duplex::{Duplex, TddPattern};
pub use fading::Fading;
pub use geometry::Geometry;
pub use ids::Direction;
pub use layout::Layout;
pub use mcs::{Cqi, McsTable, Modulation};
pub use motion::{Area, MobileUe, Motion, Position};
pub use path_loss::{DeploymentScenario, LineOfSight, Propagation};
pub use site::{GeometryError, Site, UeRadio};
pub use trace::{Trace, TraceEnd, TraceError};
