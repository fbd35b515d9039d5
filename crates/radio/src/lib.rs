//! A model of a radio access network's user plane, slot by slot: what a base station does with packets between the core and
//! its UEs.
//!
//! The downlink goes SDAP, traffic control, PDCP, RLC, MAC (FlexRIC paper, Fig. 10); the uplink needs a scheduling request
//! and a grant first. All chance comes from the seed: on one kind of machine, the same seed gives the same values.
//!
//! Nothing in here knows of E2, clocks, sockets or threads.

#![forbid(unsafe_code)]

mod packet;
pub mod phy;
mod random;
pub mod tc;
mod time;
pub mod traffic;

pub use packet::{Acknowledgement, Block, Content, Ecn, FiveTuple, FlowId, Packet, Segment};
pub use random::Random;
pub use time::Time;
