//! Ready RAN functions for an E2 agent: a base station implements one small trait for each service model that it supports.
//!
//! | service model | RAN function | the base station implements |
//! |---|---|---|
//! | E2SM-KPM | [`KpmFunction`](kpm::KpmFunction) | [`KpmSource`](kpm::KpmSource) |
//! | E2SM-NI | [`NiFunction`](ni::NiFunction) | [`NiSource`](ni::NiSource) |
//! | E2SM-CCC | [`CccFunction`](ccc::CccFunction) | [`CccSource`](ccc::CccSource) |
//! | E2SM-RC | [`RcFunction`](rc::RcFunction) | [`RcSource`](rc::RcSource) |
//! | MAC, RLC, PDCP and GTP statistics | [`StatisticsFunction`](statistics::StatisticsFunction) | [`StatisticsSource`](statistics::StatisticsSource) |
//! | SLICE control | [`SliceFunction`](slice::SliceFunction) | [`SliceSource`](slice::SliceSource) |
//! | TC (traffic control) | [`TcFunction`](tc::TcFunction) | [`TcSource`](tc::TcSource) |
//! | RRC notifications | [`RrcFunction`](rrc::RrcFunction) | [`RrcSource`](rrc::RrcSource) |
//! | UE-to-controller association | [`AssociationFunction`](association::AssociationFunction) | [`UeDirectory`](association::UeDirectory) |
//! | hello world | [`HwFunction`](hw::HwFunction) | nothing |
//!
//! A function serves all controllers of its node. Reports contain, and controls affect, the UEs that the controller may see
//! ([`Views`](ferric::agent::Views)).
//!
//! Each function has a Cargo feature, named as its module (`mac`, `rlc`, `pdcp` and `gtp` for the statistics); none is
//! enabled by default, `all` enables every function.
//!
//! A base station that reports the octets its MAC has sent:
//!
//! ```no_run
//! use std::cell::RefCell;
//! use std::rc::Rc;
//!
//! use e2sm::mac::UeStats;
//! use ferric::agent::{AgentLoop, RanFunction, Ue};
//! use ferric::e2ap::{GlobalE2NodeId, GnbId, PlmnIdentity};
//! use ran_functions::PeriodicConfig;
//! use ran_functions::statistics::{MacFunction, StatisticsSource};
//!
//! /// Octets sent to each UE, by its C-RNTI.
//! struct Mac(Vec<(u16, u64)>);
//!
//! impl StatisticsSource<UeStats> for Mac {
//!     fn ues(&self, out: &mut Vec<Ue>) {
//!         out.extend(self.0.iter().map(|(rnti, _)| Ue((*rnti).into())));
//!     }
//!
//!     fn records(&self, ue: Ue, out: &mut Vec<UeStats>) {
//!         let sent = self.0.iter().filter(|(rnti, _)| u64::from(*rnti) == ue.0);
//!         out.extend(sent.map(|(rnti, octets)| UeStats {
//!             rnti: (*rnti).into(),
//!             dl_aggr_sdu_octets: *octets,
//!             ..UeStats::default()
//!         }));
//!     }
//! }
//!
//! let mac = Rc::new(RefCell::new(Mac(vec![(0x4601, 0)]))); // the base station updates its counters
//! let functions: Vec<Box<dyn RanFunction>> = vec![Box::new(MacFunction::new(mac.clone(), PeriodicConfig::default()))];
//! let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 28));
//! let mut agents = AgentLoop::new(Default::default())?;
//! agents.add(node, "tcp://127.0.0.1:36421".parse()?, functions);
//! agents.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The documentation of each trait states what its methods return, with units. A custom RAN function is an implementation
//! of [`ferric::agent::RanFunction`].

#![forbid(unsafe_code)]

#[cfg(feature = "association")]
pub mod association;
#[cfg(feature = "ccc")]
pub mod ccc;
#[cfg(feature = "hw")]
pub mod hw;
#[cfg(feature = "kpm")]
pub mod kpm;
#[cfg(feature = "ni")]
pub mod ni;
#[cfg(feature = "periodic")]
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod periodic;
#[cfg(feature = "rc")]
pub mod rc;
#[cfg(feature = "rrc")]
pub mod rrc;
#[cfg(feature = "slice")]
pub mod slice;
#[cfg(feature = "statistics")]
pub mod statistics;
#[cfg(feature = "tc")]
pub mod tc;

// Shared by several functions: a build with few features does not use all of it.
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod admission;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod cause;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod pending;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod schedule;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod wall_clock;

#[cfg(test)]
mod testing;

#[cfg(feature = "periodic")]
pub use periodic::PeriodicConfig;
