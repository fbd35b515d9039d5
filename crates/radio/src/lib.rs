//! A model of a radio access network's user plane, slot by slot: what a base station does with packets between the core and
//! its UEs.
//!
//! The downlink goes SDAP, traffic control, PDCP, RLC, MAC (FlexRIC paper, Fig. 10); the uplink needs a scheduling request
//! and a grant first. All chance comes from the seed: on one kind of machine, the same seed gives the same values.
//!
//! Nothing in here knows of E2, clocks or sockets.

#![forbid(unsafe_code)]

mod cell;
mod harq;
pub mod mac;
mod network;
mod packet;
pub mod phy;
mod random;
mod recent;
pub mod rlc;
pub mod tc;
mod time;
pub mod traffic;
mod ue;

pub use cell::{Cell, CellConfig, MAX_PLACES, REST, Slicing, Stay, UeCounts, Usage};
pub use harq::HarqConfig;
pub use network::{EPOCH, HandoverConfig, Happening, Network, Stays};
pub use packet::{Acknowledgement, Block, Content, Ecn, FiveTuple, FlowId, Packet, Segment};
pub use random::Random;
pub use time::Time;
pub use ue::{Bearer, INACTIVITY, LinkCounts, OuterLoop, RadioLink, Subscription, Ue};
