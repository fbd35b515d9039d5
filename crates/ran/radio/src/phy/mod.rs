//! The physical layer: carriers, transport block sizes, link adaptation, HARQ combining and channels.
//!
//! A [`Carrier`] is configuration; validated, it becomes a [`Grid`] of PRBs, slots and symbols. [`TransportBlocks`] contains the
//! size of each allocation, [`Adaptation`] the MCS and block error rate of a SINR, [`Reception`] the effect of HARQ
//! retransmissions, and [`Channel`] the SINR of a UE.

mod adaptation;
mod antenna;
mod bandwidth;
mod blocks;
mod building;
mod carrier;
mod channel;
mod decibel;
mod deployment;
mod duplex;
mod fading;
mod field;
mod geometry;
mod interference;
mod layout;
mod lte_sizes;
mod mcs;
mod motion;
mod multipath;
mod nr_sizes;
mod path_loss;
mod power_control;
mod rank;
mod report;
mod site;
mod subband;
#[cfg(test)]
mod tests;
mod trace;
mod track;

pub(crate) use adaptation::power_loss_db;
pub use adaptation::{Adaptation, Link, Reception};
pub use antenna::{Antenna, SectorAntenna};
pub use blocks::TransportBlocks;
pub use building::{Building, Indoors};
pub use carrier::{Carrier, CarrierError, Grid, Rat};
pub use channel::{Channel, Fixed, Surroundings};
pub(crate) use decibel::{decibels, linear};
pub use deployment::Deployment;
pub use duplex::{Duplex, TddPattern};
pub use fading::Fading;
pub use geometry::Geometry;
pub(crate) use geometry::SecondaryPath;
pub use ids::{Direction, McsTable, Modulation};
pub(crate) use interference::Spectrum;
pub use interference::{Interference, always_on_share, always_on_symbol_share};
pub use layout::Layout;
pub use mcs::Cqi;
pub use motion::{Area, MobileUe, Motion, Position};
pub use multipath::{DelayProfile, Multipath};
pub use path_loss::{DeploymentScenario, LineOfSight, Propagation};
pub use power_control::PowerControl;
pub(crate) use report::ChannelReport;
pub use site::{GeometryError, Site, UeRadio};
pub use subband::SubbandCqis;
pub use trace::{Trace, TraceEnd, TraceError};
pub use track::{Track, TrackEnd, TrackError, Tracks, WayPoint};
