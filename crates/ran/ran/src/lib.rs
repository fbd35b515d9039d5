//! An emulated RAN: cells, UEs and traffic behind ordinary E2 agents.
//!
//! A [`Scenario`] describes base stations of NR or LTE with one cell each, whole or split into CU-CP, CU-UP and DUs, their
//! UEs, the UEs' channels and their traffic. The model of [`radio`] simulates it slot by slot, and the RAN functions of each
//! node report its state and change it:
//!
//! - E2SM-KPM: measurements of the cell and of UEs.
//! - E2SM-RC: handovers, slice-level PRB quotas, DRX, QoS of bearers; reports of RRC states and messages.
//! - E2SM-CCC: names, cell state, RRM policies.
//! - E2SM-LLC: buffers, HARQ feedback, channel state and sounding reference signals by slot; the downlink scheduling of slots, which
//!   the cells of gNBs obey.
//! - E2SM-NI: the messages on NG and Xn of a gNB, or S1 and X2 of an eNB.
//! - FlexRIC's models: statistics of MAC, RLC, PDCP and GTP; slices; traffic control; the ping.
//! - RRC notifications, and the association of UEs with controllers.
//!
//! Nodes begin handovers by themselves where the configuration requests it, and let a controller decide about them.
//!
//! In live mode ([`LiveConfig`]) UEs are network namespaces, and real programs use the same cells. In steps the model waits for
//! its controllers: [`Ran::step`] over E2, [`Stepped`] without.
//!
//! ```no_run
//! use ran::{Ran, RanConfig, Scenario};
//!
//! let rics = vec!["tcp://127.0.0.1:36421".parse()?];
//! let mut ran = Ran::new(RanConfig { rics, scenario: Scenario::with_mixed_traffic(3, 32, 1), ..RanConfig::default() })?;
//! ran.run()?; // until `StopHandle::stop` is called
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! None is enabled by default; E2SM-KPM is always present.
//!
//! | feature | adds |
//! |---|---|
//! | `control` | E2SM-RC, E2SM-CCC, E2SM-NI, slices, RRC notifications, associations |
//! | `statistics` | FlexRIC's statistics of MAC, RLC, PDCP and GTP |
//! | `tc` | FlexRIC's traffic control |
//! | `llc` | E2SM-LLC |
//! | `hw` | the ping |
//! | `scenario` | scenario files, with traffic control plug-ins; includes `control` |
//! | `live` | live mode (Linux) |
//! | `tls` | `tls://` addresses |
//! | `all` | all of these |

#![forbid(unsafe_code)]

mod band;
mod clocked;
mod config;
#[cfg(feature = "control")]
mod control;
mod counters;
mod cu;
mod e2_node;
mod functions;
mod gnb_cells;
#[cfg(all(test, feature = "all"))]
mod hostile_controls;
mod interfaces;
#[cfg(feature = "live")]
mod live;
#[cfg(feature = "llc")]
mod llc;
mod measured;
mod mobility;
mod node;
mod node_type;
mod pace;
mod positions;
mod priority;
mod profile;
pub mod scenario;
mod simulation;
#[cfg(feature = "statistics")]
mod statistics;
mod stepped;
#[cfg(test)]
mod testing;
mod traffic_control;

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;
use std::time::Duration;

use ferric::agent::{AgentLoop, AgentLoopConfig, AgentWaker, NodeConfig, NodeHandle, RanFunction};
use ferric::e2::Time;
use ferric::{StopHandle, link};
use tracing::warn;

pub use config::{Error, RanConfig};
use e2_node::E2Node;
#[cfg(feature = "live")]
use live::Live;
#[cfg(feature = "live")]
pub use live::{LiveConfig, LiveCounts};
pub use measured::Measured;
#[cfg(feature = "live")]
pub use netns::{Core, Namespace, Namespaces};
pub use node_type::NodeType;
use pace::Pace;
pub use positions::Positions;
#[cfg(feature = "control")]
pub use profile::{CccProfile, RcProfile};
pub use profile::{KpmProfile, NodeProfile, Profile};
use radio::Network;
pub use scenario::{Scenario, ScenarioError};
use simulation::RanSimulation;
pub use simulation::{PaceCounts, Steps};
use stepped::StepClock;
pub use stepped::Stepped;

/// The period in which nodes advance without being read.
const TICK: Duration = Duration::from_millis(5);
/// The time for which a node advances by itself after a read: the next read then has little to compute while its report
/// waits.
const ADVANCE_AFTER_READ: Duration = Duration::from_secs(2);

/// The time after which a step that waits for a RIC is logged.
const SLOW_RIC: Duration = Duration::from_secs(5);

/// All nodes of a RAN, on one thread: it is created on the thread that runs it.
pub struct Ran {
    agents: AgentLoop,
    simulation: Rc<RefCell<RanSimulation>>,
    nodes: Vec<(NodeHandle, E2Node)>,
    is_always_on: bool,
    pace: Pace,
    /// Whether the model waits for a RIC.
    is_waiting: bool,
    last_tick: Time,
    stepping: Option<Stepping>,
    #[cfg(feature = "live")]
    live: Option<Live>,
}

/// The time of a RAN that advances in steps.
struct Stepping {
    clock: Rc<StepClock>,
    steps: Steps,
}

impl Ran {
    /// Creates the nodes. They connect in the first call of [`Ran::poll`].
    ///
    /// # Errors
    /// An invalid configuration; where the system refuses an epoll instance, or the interfaces of live mode.
    pub fn new(config: RanConfig) -> Result<Self, Error> {
        config.check()?;
        let config = config.with_parts();
        // packets of real programs do not wait for a read
        #[cfg(feature = "live")]
        let config = RanConfig {
            scenario: Scenario {
                is_always_on: config.scenario.is_always_on || config.live.is_some(),
                ..config.scenario
            },
            ..config
        };
        let mut agents = AgentLoop::new(AgentLoopConfig {
            version: config.e2ap_version,
            link: link::Config {
                outbox_octets: config.outbox_octets,
                #[cfg(feature = "tls")]
                tls: config.tls.clone(),
                tap: config.tap.clone(),
                ..link::Config::default()
            },
            ..AgentLoopConfig::default()
        })?;
        let simulation = RanSimulation::new(&config.scenario)?;
        let stepping = config.is_stepped.then(|| Stepping { clock: Rc::default(), steps: Steps::default() });
        if let Some(steps) = stepping.as_ref().map(|stepping| &stepping.steps).or(config.steps.as_ref()) {
            simulation.borrow_mut().set_steps(steps.clone());
        }
        let time_of_day = functions::clock(&config, stepping.as_ref().map(|stepping| &stepping.steps));
        let pace = config.pace();
        let mut nodes = Vec::new();
        // the service models of each type of node, for the log
        let mut models: Vec<(NodeType, String)> = Vec::new();
        for (number, node) in E2Node::all(&config, &simulation) {
            let node_type = node.node_type();
            let functions = node.functions(&config, &time_of_day);
            let models = match models.iter().find(|(of, _)| *of == node_type) {
                Some((_, models)) => models,
                None => {
                    models.push((node_type, functions::models(&functions)));
                    &models[models.len() - 1].1
                }
            };
            let has_ue = |cell: usize| node.has_cell(number, cell, &simulation.borrow());
            let ues = config.scenario.ues.iter().filter(|ue| has_ue(ue.cell)).count();
            let about = format!("{}; {models}", node.about(ues));
            let setup_order = config.profile.setup_order.to_vec();
            let components = node.components();
            let node_config = NodeConfig { components, setup_order, about, ..NodeConfig::new(node.id()) };
            let functions = match &stepping {
                Some(Stepping { clock, .. }) => clock.wrap(functions),
                None => functions,
            };
            let handle = agents.add_node(node_config, functions);
            for (at, ric) in config.rics.iter().enumerate() {
                let next = config.next_rics.iter().filter(|_| at == 0);
                agents.add_redundant_controller(handle, [ric].into_iter().chain(next).cloned().collect());
            }
            nodes.push((handle, node));
        }
        let mut ran = Ran {
            agents,
            nodes,
            is_always_on: config.scenario.is_always_on,
            pace,
            is_waiting: config.waits_for_ric,
            last_tick: Time::default(),
            stepping,
            #[cfg(feature = "live")]
            live: match &config.live {
                Some(live) => Some(Live::open(live, &config.scenario, &simulation.borrow())?),
                None => None,
            },
            simulation,
        };
        if ran.stepping.is_some() {
            ran.set_automatic_handover(true);
            ran.step(config.scenario.warm_up)?;
            ran.set_automatic_handover(false);
        }
        Ok(ran)
    }

    fn set_automatic_handover(&mut self, is_automatic: bool) {
        self.simulation.borrow_mut().model.network.set_automatic_handover(is_automatic);
    }

    /// Advances the model of a stepped RAN ([`RanConfig::is_stepped`]) and sends all reports that are due until then, each at its
    /// time of the model. Returns when they have been written to the links.
    ///
    /// Between steps the model stands while [`Ran::poll`] serves the RICs: a control has its effect from the time at which the
    /// model stands, and its answer is sent at once. So a controller that waits for the answers to its controls before it
    /// requests the next step meets the same model in each run.
    ///
    /// # Errors
    /// [`Error::NotStepped`]; otherwise as [`Ran::run`].
    pub fn step(&mut self, length: Duration) -> Result<(), Error> {
        let Some(Stepping { clock, steps }) = &self.stepping else { return Err(Error::NotStepped) };
        let (clock, steps) = (Rc::clone(clock), steps.clone());
        // controls that have arrived precede the step
        self.agents.poll(Some(Duration::ZERO))?;
        let until = clock.now() + length;
        while clock.now() < until {
            let part = stepped::end_of_part(clock.now()).min(until);
            let next = clock.next_report().map_or(part, |due| due.min(part));
            steps.allow_until(radio::Time::from_nanos(next.as_nanos()));
            clock.set(next);
            self.advance_nodes(next, |_| true);
            self.nodes.iter().for_each(|(handle, _)| self.agents.wake(*handle));
            self.agents.poll(Some(Duration::ZERO))?;
        }
        self.write_reports()
    }

    /// Waits until all reports have been written to the links.
    fn write_reports(&mut self) -> Result<(), Error> {
        let (begun, mut has_warned) = (self.agents.now(), false);
        while self.agents.queued_octets() > 0 && !self.agents.stop_handle().is_stopped() {
            self.agents.poll(Some(TICK))?;
            if !has_warned && self.agents.now() - begun > SLOW_RIC {
                has_warned = true;
                let octets = self.agents.queued_octets();
                warn!(
                    octets,
                    "a step waits for a RIC that does not read its reports; restart the RIC or subscribe to less"
                );
            }
        }
        Ok(())
    }

    /// The time of the model of a stepped RAN.
    #[must_use]
    pub fn model_time(&self) -> Option<radio::Time> {
        let clock = &self.stepping.as_ref()?.clock;
        Some(radio::Time::from_nanos(clock.now().as_nanos()))
    }

    /// Adds a RAN function to a base station, after those of the model, and announces it to its controllers by a RIC Service Update. It runs in the
    /// time of the event loop. Nodes count in the order of the scenario's cells.
    ///
    /// # Errors
    /// [`Error::Function`] if the node has a function with this id.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn add_function(&mut self, node: usize, function: Box<dyn RanFunction>) -> Result<(), Error> {
        self.agents.add_function(self.nodes[node].0, function).map_err(Error::Function)
    }

    /// A handle with which another thread ends the wait in [`Ran::poll`].
    ///
    /// # Errors
    /// When the system refuses an eventfd.
    pub fn waker(&mut self) -> Result<AgentWaker, Error> {
        Ok(self.agents.waker()?)
    }

    /// Takes the namespaces of live mode, to start programs in them from other threads. They are removed when the returned
    /// value is dropped, or with the RAN if they are not taken.
    #[cfg(feature = "live")]
    pub fn take_namespaces(&mut self) -> Option<Namespaces> {
        self.live.as_mut()?.take_namespaces()
    }

    /// The counters of live mode.
    #[cfg(feature = "live")]
    #[must_use]
    pub fn live_counts(&self) -> Option<LiveCounts> {
        self.live.as_ref().map(Live::counts)
    }

    /// How the model has followed the clock since its warm-up; nothing in a stepped RAN.
    #[must_use]
    pub fn pace_counts(&self) -> PaceCounts {
        self.simulation.borrow().pace_counts()
    }

    /// The handle that ends [`Ran::run`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.agents.stop_handle()
    }

    /// The number of E2 associations that are set up: nodes times RICs when all are. A split gNB is three nodes, one more for each further
    /// DU.
    #[must_use]
    pub fn up(&self) -> usize {
        self.agents.connected_controllers()
    }

    /// The model.
    #[must_use]
    pub fn network(&self) -> Ref<'_, Network> {
        Ref::map(self.simulation.borrow(), |simulation| &simulation.model.network)
    }

    /// The model, for a caller that exchanges packets with its UEs or loses what its base band delivers too late.
    pub fn network_mut(&mut self) -> RefMut<'_, Network> {
        RefMut::map(self.simulation.borrow_mut(), |simulation| &mut simulation.model.network)
    }

    /// Where the cells and UEs are.
    #[must_use]
    pub fn positions(&self) -> Positions {
        let simulation = self.simulation.borrow();
        Positions::of(&simulation.model.network, &simulation.cells)
    }

    /// Runs until [`StopHandle::stop`] is called.
    ///
    /// # Errors
    /// Where the system refuses to wait for events; in live mode, where a device is removed. No RIC causes an error.
    pub fn run(&mut self) -> Result<(), Error> {
        let stop = self.agents.stop_handle();
        while !stop.is_stopped() {
            self.poll(None)?;
        }
        Ok(())
    }

    /// Waits for events, at most for `timeout`, and processes them. `None` waits until an event occurs or the model's time
    /// advances, which in live mode is the next slot.
    ///
    /// # Errors
    /// As [`Ran::run`].
    pub fn poll(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        #[cfg(feature = "live")]
        if self.live.is_some() {
            return self.poll_live(timeout);
        }
        if self.stepping.is_some() {
            return Ok(self.agents.poll(timeout)?);
        }
        let agents_now = self.agents.now();
        let any = self.is_always_on || self.nodes.iter().any(|(_, node)| was_read(self.pace, agents_now, node));
        let timeout = if any { Some(timeout.map_or(TICK, |timeout| timeout.min(TICK))) } else { timeout };
        self.agents.poll(timeout)?;
        let now = self.agents.now();
        if self.is_waiting {
            self.is_waiting = self.up() == 0;
            return Ok(());
        }
        if self.is_always_on {
            self.advance_nodes(now, |_| true);
        } else if any && now - self.last_tick >= TICK {
            let pace = self.pace;
            self.advance_nodes(now, |node| was_read(pace, now, node));
        }
        Ok(())
    }

    /// [`Ran::poll`] in live mode, which advances slot by slot: packets do not wait for a read.
    #[cfg(feature = "live")]
    fn poll_live(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let due = self.simulation.borrow().until_next_slot(self.agents.now());
        self.agents.poll(Some(timeout.map_or(due, |timeout| timeout.min(due))))?;
        let now = self.agents.now();
        if let Some(live) = &mut self.live {
            live.step(now, &mut self.simulation.borrow_mut())?;
        }
        if now - self.last_tick >= TICK {
            self.advance_nodes(now, |_| true);
        }
        Ok(())
    }

    /// Advances the selected nodes to `now`, and wakes the agents of those that have reports.
    fn advance_nodes(&mut self, now: Time, is_selected: impl Fn(&E2Node) -> bool) {
        self.last_tick = now;
        let now = self.pace.model_time(now);
        for (handle, node) in &self.nodes {
            if !is_selected(node) {
                continue;
            }
            node.advance_unread(now);
            if node.has_pending_reports() {
                self.agents.wake(*handle);
            }
        }
    }
}

/// Whether a RAN function has read a node recently.
fn was_read(pace: Pace, now: Time, node: &E2Node) -> bool {
    node.last_read() > Time::default() && now - pace.loop_time(node.last_read()) < ADVANCE_AFTER_READ
}
