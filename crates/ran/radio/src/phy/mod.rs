//! The physical layer: what a carrier's slots are, what their resource blocks carry, and how well that arrives.
//!
//! A [`Carrier`] is configuration. Checked, it becomes a [`Grid`]: PRBs, slots and which of their symbols go which way.
//! [`TransportBlocks`] says what an allocation carries, [`Adaptation`] what MCS a SINR allows and how often its blocks are
//! lost, [`Reception`] what HARQ makes of repeated transmissions, and [`Channel`] what SINR a UE has.

mod adaptation;
mod bandwidth;
mod blocks;
mod carrier;
mod channel;
mod duplex;
mod fading;
mod geometry;
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
pub use blocks::TransportBlocks;
pub use carrier::{Carrier, CarrierError, Grid, Rat};
pub use channel::{Channel, Fixed};
pub use duplex::{Duplex, TddPattern};
pub use fading::Fading;
pub use geometry::Geometry;
pub use ids::Direction;
pub use mcs::{Cqi, McsTable, Modulation};
pub use motion::{Area, Motion, Mover, Position};
pub use path_loss::{Propagation, Surroundings};
pub use site::{GeometryError, Site, Terminal};
pub use trace::{Trace, TraceEnd, TraceError};
