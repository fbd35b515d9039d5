//! An emulated RAN: cells, UEs and traffic behind ordinary E2 agents.
//!
//! A [`Scenario`] says what there is: base stations of NR or LTE with one cell each, whole or split into CU-CP, CU-UP and
//! DU; UEs, their channels and what they send and receive. What the model of [`radio`] does with it slot by slot is what the
//! RAN functions tell: E2SM-KPM, E2SM-RC, E2SM-CCC, E2SM-NI, FlexRIC's models (statistics of MAC, RLC, PDCP and GTP; slices;
//! traffic control), RRC notifications, the association of UEs with controllers, and the ping. And it obeys them: a slice
//! gets its share, a queue its packets.
//!
//! E2SM-RC is obeyed: handovers move UEs between the nodes' cells, quotas bound slices, DRX and bearers change how a UE
//! is served, and KPM shows it. E2SM-NI taps NG and Xn, of an eNB S1 and X2: UEs that come to rest and wake are told to
//! the core, UEs that are handed over to the node that they came from. Nodes begin handovers by themselves where the
//! configuration says so, and let them wait for a RIC that wants a say.
//!
//! In live mode ([`LiveConfig`]) UEs are network namespaces: real programs send and receive through the same cells.
//!
//! ```no_run
//! use ran::{Ran, RanConfig, Scenario};
//!
//! let rics = vec!["tcp://127.0.0.1:36421".parse()?];
//! let mut ran = Ran::new(RanConfig { rics, scenario: Scenario::crowd(3, 32, 1), ..RanConfig::default() })?;
//! ran.run()?; // until its `StopHandle` says so
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod association;
#[cfg(test)]
mod attack;
mod band;
mod config;
mod configuration;
mod counters;
mod interfaces;
mod live;
mod mobility;
mod node;
mod part;
mod rc;
pub mod scenario;
mod slices;
mod stats;
#[cfg(test)]
mod testing;
mod traffic_control;
mod world;

use std::cell::{Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, NodeHandle, RanFunction};
use ferric::e2::Time;
use ferric::{StopHandle, link};
use ran_functions::association::AssociationFunction;
use ran_functions::ccc::{CccConfig, CccFunction};
use ran_functions::hw::HwFunction;
use ran_functions::kpm::{KpmConfig, KpmFunction};
use ran_functions::ni::{NiConfig, NiFunction};
use ran_functions::rc::{RcConfig, RcFunction};

pub use config::{Error, RanConfig};
use live::Live;
pub use live::{LiveConfig, LiveCounts};
pub use netns::{Core, Namespace, Namespaces};
use node::Node;
use part::Part;
use radio::Network;
pub use scenario::{Scenario, ScenarioError};
pub use world::Steps;
use world::World;

/// How often the model goes on by itself, where it does.
const TICK: Duration = Duration::from_millis(5);
/// A node that somebody has looked at goes on for so long by itself: what is to be computed for the next look is then not
/// computed all at once, while a report waits for it.
const WATCHED: Duration = Duration::from_secs(2);

/// All nodes, on one thread: make it there.
pub struct Ran {
    agents: AgentLoop,
    world: Rc<RefCell<World>>,
    nodes: Vec<(NodeHandle, Rc<RefCell<Node>>)>,
    is_always_on: bool,
    looked_at: Time,
    live: Option<Live>,
}

impl Ran {
    /// Makes the nodes. They connect in the first turn.
    ///
    /// # Errors
    /// A configuration outside its bounds; where the system refuses an epoll, or the interfaces of live mode.
    pub fn new(mut config: RanConfig) -> Result<Self, Error> {
        config.check()?;
        // who sends packets does not wait for somebody to look
        config.scenario.is_always_on |= config.live.is_some();
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
        let world = World::new(&config.scenario)?;
        if let Some(steps) = &config.steps {
            world.borrow_mut().step_by(steps.clone());
        }
        let mut nodes = Vec::new();
        for number in 0..config.scenario.cells.len() as u16 {
            // bounded by the scenario
            for part in Part::of(&config.scenario.cells[usize::from(number)]) {
                let node = Rc::new(RefCell::new(Node::new(&config, number, *part, Rc::clone(&world))));
                let id = node.borrow().id();
                let components = node.borrow().components();
                let node_config = NodeConfig { components, ..NodeConfig::new(id) };
                let handle = agents.add_node(node_config, functions_of(&node, &config));
                for ric in &config.rics {
                    agents.add_controller(handle, ric.clone());
                }
                nodes.push((handle, node));
            }
        }
        let live = config.live.as_ref().map(|live| Live::open(live, &config.scenario, &world.borrow())).transpose()?;
        let is_always_on = config.scenario.is_always_on;
        Ok(Ran { agents, world, nodes, is_always_on, looked_at: Time::default(), live })
    }

    /// In live mode, where programs run: who takes them has the namespaces removed when they are dropped, and so may start
    /// programs there from other threads. Without that they go with the RAN.
    pub fn take_namespaces(&mut self) -> Option<Namespaces> {
        self.live.as_mut()?.take_namespaces()
    }

    /// What live mode did.
    #[must_use]
    pub fn live_counts(&self) -> Option<LiveCounts> {
        self.live.as_ref().map(Live::counts)
    }

    /// What ends [`Ran::run`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.agents.stop_handle()
    }

    /// How many agents have been taken by their RIC: nodes times RICs when all are. A split gNB is three nodes.
    #[must_use]
    pub fn up(&self) -> usize {
        self.agents.up()
    }

    /// The model, to look at.
    #[must_use]
    pub fn network(&self) -> Ref<'_, Network> {
        Ref::map(self.world.borrow(), |world| &world.model.network)
    }

    /// Works until [`StopHandle::stop`] is called.
    ///
    /// # Errors
    /// Where the system refuses to wait for events; in live mode, where a device is taken away. What a RIC does never ends
    /// it.
    pub fn run(&mut self) -> Result<(), Error> {
        let stop = self.agents.stop_handle();
        while !stop.is_stopped() {
            self.turn(None)?;
        }
        Ok(())
    }

    /// Waits at most `patience` (`None`: until something happens, or the model's time has gone on; in live mode for a slot),
    /// then does what there is to do.
    ///
    /// # Errors
    /// As [`Ran::run`].
    pub fn turn(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        if !self.is_always_on {
            return self.turn_watched(patience);
        }
        let due = match self.live {
            Some(_) => self.world.borrow().until_next_slot(self.agents.now()),
            None => TICK,
        };
        self.agents.poll(Some(patience.map_or(due, |patience| patience.min(due))))?;
        let now = self.agents.now();
        if let Some(live) = &mut self.live {
            live.step(now, &mut self.world.borrow_mut())?;
            if now - self.looked_at < TICK {
                return Ok(());
            }
        }
        self.looked_at = now;
        self.go_on(now, |_| true);
        Ok(())
    }

    /// A turn of a RAN whose time goes on where somebody looks.
    fn turn_watched(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        let is_watched =
            |now: Time, node: &Node| now - node.looked_at() < WATCHED && node.looked_at() > Time::default();
        let now = self.agents.now();
        let any = self.nodes.iter().any(|(_, node)| is_watched(now, &node.borrow()));
        let patience = if any { Some(patience.map_or(TICK, |patience| patience.min(TICK))) } else { patience };
        self.agents.poll(patience)?;
        let now = self.agents.now();
        if any && now - self.looked_at >= TICK {
            self.looked_at = now;
            self.go_on(now, |node| is_watched(now, node));
        }
        Ok(())
    }

    /// Has some nodes go on until now.
    fn go_on(&mut self, now: Time, is_meant: impl Fn(&Node) -> bool) {
        for (handle, node) in &self.nodes {
            if !is_meant(&node.borrow()) {
                continue;
            }
            let mut node = node.borrow_mut();
            node.go_on(now);
            let wakes = node.has_something_to_tell();
            // its functions look at the node
            drop(node);
            if wakes {
                self.agents.wake(*handle);
            }
        }
    }
}

/// The RAN functions of a node.
fn functions_of(node: &Rc<RefCell<Node>>, config: &RanConfig) -> Vec<Box<dyn RanFunction>> {
    let part = node.borrow().part;
    let kpm = KpmConfig { revision: config.kpm_revision, wire: config.wire, ..config.kpm.clone() };
    let rc = RcConfig { revision: config.rc_revision, wire: config.wire, ..config.rc.clone() };
    let mut functions: Vec<Box<dyn RanFunction>> = vec![Box::new(KpmFunction::new(Rc::clone(node), kpm))];
    // all structures that CCC configures are NR's (E2SM-CCC 8.8), and those here of a gNB's CU-CP and DU
    if matches!(part, Part::Gnb | Part::CuCp | Part::Du) {
        functions.push(Box::new(CccFunction::new(Rc::clone(node), CccConfig::default())));
    }
    if part.has_rrc() {
        functions.push(Box::new(NiFunction::new(Rc::clone(node), NiConfig::default())));
    }
    if part != Part::CuUp {
        functions.push(Box::new(RcFunction::new(Rc::clone(node), rc)));
    }
    if part.has_rrc() {
        functions.push(Box::new(AssociationFunction::new(Rc::clone(node))));
    }
    functions.push(Box::new(HwFunction::with_wire(config.wire)));
    functions.extend(stats::functions(node, &config.periodic));
    functions
}
