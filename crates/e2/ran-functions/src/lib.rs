//! Ready RAN functions for an E2 agent: a base station implements one small trait for each service model that it supports.
//!
//! | service model | RAN function | the base station implements |
//! |---|---|---|
//! | E2SM-KPM | [`KpmFunction`](kpm::KpmFunction) | [`KpmSource`](kpm::KpmSource) |
//! | E2SM-LLC | [`LlcFunction`](llc::LlcFunction) | [`LlcSource`](llc::LlcSource) |
//! | E2SM-NI | [`NiFunction`](ni::NiFunction) | [`NiSource`](ni::NiSource) |
//! | E2SM-CCC | [`CccFunction`](ccc::CccFunction) | [`CccSource`](ccc::CccSource) |
//! | E2SM-RC | [`RcFunction`](rc::RcFunction) | [`RcSource`](rc::RcSource) |
//! | MAC, RLC, PDCP and GTP statistics | [`StatisticsFunction`](statistics::StatisticsFunction) | [`StatisticsSource`](statistics::StatisticsSource) |
//! | SLICE control | [`SliceFunction`](slice::SliceFunction) | [`SliceSource`](slice::SliceSource) |
//! | TC (traffic control) | [`TcFunction`](tc::TcFunction) | [`TcSource`](tc::TcSource) |
//! | RRC notifications | [`RrcFunction`](rrc::RrcFunction) | [`RrcSource`](rrc::RrcSource) |
//! | CPUs of the host | [`CpuFunction`](cpu::CpuFunction) | [`CpuSource`](cpu::CpuSource) |
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
//!
//! # Threads
//!
//! A function and its base station share the source by a handle ([`SharedSource`]). With `Rc<RefCell<S>>`, as above, both
//! belong to the thread of the agent. With `Arc<Mutex<S>>`, the base station updates the source on threads of its own, and the
//! function is `Send` if the source is (KPM: and its snapshot): it can be part of a
//! [`SendAgentLoop`](ferric::agent::SendAgentLoop), which runs on another thread.
//!
//! ```
//! # use e2sm::mac::UeStats;
//! # use ferric::agent::Ue;
//! # use ferric::e2ap::{GlobalE2NodeId, GnbId, PlmnIdentity};
//! # use ran_functions::statistics::StatisticsSource;
//! use std::sync::{Arc, Mutex};
//!
//! use ferric::agent::{RanFunction, SendAgentLoop};
//! use ran_functions::PeriodicConfig;
//! use ran_functions::statistics::MacFunction;
//! #
//! # struct Mac(Vec<(u16, u64)>);
//! #
//! # impl StatisticsSource<UeStats> for Mac {
//! #     fn ues(&self, _: &mut Vec<Ue>) {}
//! #     fn records(&self, _: Ue, _: &mut Vec<UeStats>) {}
//! # }
//!
//! let mac = Arc::new(Mutex::new(Mac(vec![(0x4601, 0)])));
//! let function = MacFunction::new(Arc::clone(&mac), PeriodicConfig::default());
//! let functions: Vec<Box<dyn RanFunction + Send>> = vec![Box::new(function)];
//! # let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
//! let mut agents = SendAgentLoop::new_send(Default::default())?;
//! agents.add(node, "tcp://127.0.0.1:36421".parse()?, functions);
//! let stop = agents.stop_handle();
//! let thread = std::thread::spawn(move || agents.run());
//! mac.lock().expect("no thread panics").0[0].1 += 1500;
//! # stop.stop();
//! # thread.join().expect("the agent does not panic")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A function holds the lock during a call of the agent, in which it also encodes its reports; the agent waits while the base
//! station holds it. For events of the base station (CCC, NI, RC, RRC), the base station releases the lock and then calls
//! [`AgentWaker::wake`](ferric::agent::AgentWaker::wake).

#![forbid(unsafe_code)]

#[cfg(feature = "association")]
pub mod association;
#[cfg(feature = "ccc")]
pub mod ccc;
#[cfg(feature = "cpu")]
pub mod cpu;
#[cfg(feature = "hw")]
pub mod hw;
#[cfg(feature = "kpm")]
pub mod kpm;
#[cfg(feature = "llc")]
pub mod llc;
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
mod announcement;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod cause;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod pending;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod schedule;
mod shared_source;
#[cfg_attr(not(feature = "all"), allow(dead_code))]
mod wall_clock;

#[cfg(test)]
mod testing;

pub use announcement::Announcement;
#[cfg(feature = "periodic")]
pub use periodic::PeriodicConfig;
pub use shared_source::SharedSource;
