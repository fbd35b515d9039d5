//! An emulated RAN: cells, UEs and traffic behind ordinary E2 agents.
//!
//! Each node is a gNB with one cell of 106 PRBs, and functions of E2SM-KPM, E2SM-RC, E2SM-CCC, E2SM-NI, FlexRIC's
//! models (statistics of MAC, RLC, PDCP and GTP; slices; traffic control), RRC notifications, the association of UEs
//! with controllers and the ping. What they tell comes from a model in which distance, shadowing and fading make the
//! SINR, that the CQI, that what a block carries; users read, watch and play; a proportionally fair scheduler shares
//! the blocks out; what does not fit waits. So load, CQI, PRB use, throughput and delay move together.
//!
//! The policies of E2SM-CCC are obeyed. Slices and traffic control that FlexRIC's models set are checked, kept and told; the
//! scheduler and the queues do not obey them yet.
//!
//! E2SM-RC is obeyed: handovers move UEs between the nodes' cells, quotas bound slices, DRX and bearers change how a UE
//! is served, and KPM shows it. E2SM-NI taps NG and Xn: UEs that come to rest and wake are told to the AMF, UEs that
//! are handed over to the node that they came from. Nodes begin handovers by themselves where the configuration says
//! so, and let them wait for a RIC that wants a say.
//!
//! ```no_run
//! use ran::{Ran, RanConfig};
//!
//! let rics = vec!["tcp://127.0.0.1:36421".parse()?];
//! let mut ran = Ran::new(RanConfig { rics, nodes: 3, ..RanConfig::default() })?;
//! ran.run()?; // until its `Stop` says so
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod association;
mod config;
mod configuration;
mod interfaces;
mod mobility;
mod model;
mod node;
mod rc;
mod stats;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, RanFunction};
use ferric::{Stop, link};
use functions::association::AssociationFunction;
use functions::ccc::{CccConfig, CccFunction};
use functions::hw::HwFunction;
use functions::kpm::{KpmConfig, KpmFunction};
use functions::ni::{NiConfig, NiFunction};
use functions::rc::{RcConfig, RcFunction};

pub use config::{Error, RanConfig};
use mobility::Air;
use node::Node;

/// All nodes, on one thread: make it there.
pub struct Ran {
    agents: AgentLoop,
}

impl Ran {
    /// Makes the nodes. They connect in the first turn.
    ///
    /// # Errors
    /// A configuration outside its bounds; where the system refuses an epoll.
    pub fn new(config: RanConfig) -> Result<Self, Error> {
        config.check()?;
        let mut agents = AgentLoop::new(AgentLoopConfig {
            version: config.e2ap_version,
            link: link::Config {
                outbox_octets: config.outbox_octets,
                tls: config.tls.clone(),
                tap: config.tap.clone(),
                ..link::Config::default()
            },
            ..AgentLoopConfig::default()
        })?;
        let air = Rc::new(RefCell::new(Air::new(config.nodes)));
        for number in 0..config.nodes {
            let node = Rc::new(RefCell::new(Node::new(&config, number, Rc::clone(&air))));
            let id = node.borrow().id();
            let kpm = KpmConfig { revision: config.kpm_revision, wire: config.wire, ..config.kpm.clone() };
            let rc = RcConfig { revision: config.rc_revision, wire: config.wire, ..config.rc.clone() };
            let mut functions: Vec<Box<dyn RanFunction>> = vec![
                Box::new(KpmFunction::new(Rc::clone(&node), kpm)),
                Box::new(CccFunction::new(Rc::clone(&node), CccConfig::default())),
                Box::new(NiFunction::new(Rc::clone(&node), NiConfig::default())),
                Box::new(RcFunction::new(Rc::clone(&node), rc)),
                Box::new(AssociationFunction::new(Rc::clone(&node))),
                Box::new(HwFunction::in_wire(config.wire)),
            ];
            functions.extend(stats::functions(&node, &config.periodic));
            let handle = agents.add_node(NodeConfig::new(id), functions);
            for ric in &config.rics {
                agents.add_controller(handle, ric.clone());
            }
        }
        Ok(Ran { agents })
    }

    /// What ends [`Ran::run`].
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.agents.stop()
    }

    /// How many agents have been taken by their RIC: nodes times RICs when all are.
    #[must_use]
    pub fn up(&self) -> usize {
        self.agents.up()
    }

    /// Works until [`Stop::stop`] is called.
    ///
    /// # Errors
    /// Where the system refuses to wait for events. What a RIC does never ends it.
    pub fn run(&mut self) -> Result<(), Error> {
        Ok(self.agents.run()?)
    }

    /// Waits at most `patience` (`None`: until something happens), then does what there is to do.
    ///
    /// # Errors
    /// As [`Ran::run`].
    pub fn turn(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        Ok(self.agents.turn(patience)?)
    }
}
