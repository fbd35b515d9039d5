//! A slot-by-slot model of the user plane of a radio access network: it carries packets between the core and the UEs as a
//! base station does.
//!
//! Downlink packets pass SDAP, traffic control, PDCP, RLC and MAC (FlexRIC paper, Fig. 10). In the uplink a UE needs a
//! scheduling request and a grant first. All random numbers derive from the seed: on one CPU architecture, the same seed
//! gives the same values.
//!
//! The crate uses no E2, no clock and no socket.
//!
//! A saturated cell (NR, 40 MHz, TDD) with one UE:
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
//! let (_, ue) = network.cell(0).ues().next().expect("the UE has arrived");
//! let received = &ue.flows()[0].counts().downlink;
//! let mbps = received.received_octets as f64 * 8.0 / 1e6;
//! assert!((20.0..150.0).contains(&mbps), "{mbps} Mbit/s");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The channel of each UE ([`phy::Channel`]), the slice and UE schedulers ([`Slicing`], [`mac`]), the traffic control of each
//! bearer ([`tc`]) and the traffic of each flow ([`traffic::Kind`]) are configured independently. All of them can be changed
//! while the network runs.

#![forbid(unsafe_code)]

mod cell;
mod fifo;
mod harq;
pub mod mac;
mod network;
mod packet;
pub mod phy;
mod power;
mod random;
pub mod rlc;
mod sojourn_window;
pub mod tc;
mod time;
pub mod traffic;
mod ue;

pub use cell::{
    AdministrativeState, Cell, CellConfig, DecidedGrant, DelegatedBearer, DelegationCounts, INDEX_REUSE_DELAY,
    MAX_DECISIONS, MAX_UES_PER_CELL, PowerState, PrbUsage, Shortfall, Slicing, UeCounts, UeEntry,
};
pub use harq::HarqConfig;
pub use network::{
    A5Thresholds, ArrivalCause, CancelCause, CarrierAggregationConfig, CellMeasurement, ConditionalConfig,
    DepartureCause, EPOCH, EventCondition, HANDOVER_MEASUREMENT, HandoverConfig, HandoverError, INTERFERENCE_INTERVAL,
    LinkFailureConfig, MAX_MEASUREMENT, MAX_REPORTED_CELLS, MeasurementConfig, MeasurementError, MeasurementEvent,
    MeasurementReport, MobilityCounts, Network, NetworkEvent, RandomAccessConfig, ReportTrigger, UeState,
};
pub use packet::{Acknowledgement, Content, Ecn, FiveTuple, FlowId, Packet, SackBlock, Segment};
pub use power::{MAX_TRANSCEIVERS, PowerCategory, PowerModel, PowerModelError, ReferenceSet, SleepDepth, SleepState};
pub use random::Random;
pub use time::Time;
pub use ue::{
    Bearer, ChannelStateConfig, DrxConfig, DrxError, HarqFeedback, INACTIVITY_MS, INACTIVITY_TIMER, LONG_CYCLES_MS,
    LinkCounts, MAX_CARRIERS, ON_DURATIONS_MS, OuterLoop, RETRANSMISSION_SLOTS, RadioLink, SHORT_CYCLES_MS,
    SecondaryCell, ShortCycle, Subscription, Ue,
};
