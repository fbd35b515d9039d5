//! A model of a radio access network's user plane, slot by slot: what a base station does with packets between the core and
//! its UEs.
//!
//! The downlink goes SDAP, traffic control, PDCP, RLC, MAC (FlexRIC paper, Fig. 10); the uplink needs a scheduling request
//! and a grant first. All chance comes from the seed: on one kind of machine, the same seed gives the same values.
//!
//! Nothing in here knows of E2, clocks or sockets.
//!
//! A cell (NR, 40 MHz, TDD) with a UE, to which more is sent than the cell carries:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use std::num::NonZeroUsize;
//! use std::time::Duration;
//!
//! use radio::phy::{Channel, Fixed};
//! use radio::traffic::{Flow, FlowSpecification, Kind};
//! use radio::{CellConfig, FiveTuple, HandoverConfig, Network, Random, Subscription, Time, Ue};
//!
//! let mut network = Network::new([CellConfig::default()], HandoverConfig::default(), NonZeroUsize::MIN)?;
//!
//! let (seed, number, address) = (1, 0, Ipv4Addr::new(10, 45, 0, 2));
//! let channel = Channel::Fixed(Fixed::sinr(20.0, 15.0)); // down and up, in dB
//! let config = network.cell(0).config();
//! let mut ue = Ue::new(number, Subscription::default(), address, channel, Random::new(seed, number), config);
//! let kind = Kind::ConstantBitRate { rate_bps: 200_000_000, packet_octets: 1400 };
//! let tuple = FiveTuple {
//!     source: Ipv4Addr::new(10, 0, 0, 1),
//!     destination: address,
//!     source_port: 5000,
//!     destination_port: 50000,
//!     protocol: FiveTuple::UDP,
//! };
//! ue.add_flow(|id, random| Flow::new(id, FlowSpecification::new(kind), tuple, random));
//! network.add(0, ue, Time::START, None)?;
//!
//! network.advance(Time::START + Duration::from_secs(1));
//! let (_, ue) = network.cell(0).ues().next().expect("it has come");
//! let received = &ue.flows()[0].counts().downlink;
//! let mbps = received.received_octets as f64 * 8.0 / 1e6;
//! assert!((20.0..150.0).contains(&mbps), "{mbps} Mbit/s");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a UE hears ([`phy::Channel`]), how the MAC divides slots ([`Slicing`], [`mac`]), what a bearer's packets pass before RLC
//! ([`tc`]) and what is sent ([`traffic::Kind`]) are chosen one by one; all of it can be changed while the network runs.

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
