//! What a base station embeds: RAN functions, and the loop that connects them to near-RT RICs.
//!
//! ```no_run
//! use ferric::agent::{AgentLoop, RanFunction};
//! # fn functions() -> Vec<Box<dyn RanFunction>> { Vec::new() }
//!
//! let node = ferric::e2ap::GlobalE2NodeId::gnb(
//!     ferric::e2ap::PlmnIdentity::from_codes(1, 1, 2),
//!     ferric::e2ap::GnbId::new(0xe00, 22),
//! );
//! let mut agents = AgentLoop::new(Default::default())?;
//! agents.add(node, "tcp://127.0.0.1:36421".parse()?, functions());
//! agents.run()?; // on a thread of its own; or `poll(Some(Duration::ZERO))` from the host's own loop
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Several controllers
//!
//! A node may have any number of controllers, added and removed while it runs ([`AgentLoop::add_controller`],
//! [`AgentLoop::remove_controller`]). Its functions are the same for all of them, and are told which one asks. The first
//! one sees every UE; any other sees those that it was shown ([`Views`]).
//!
//! # Several associations
//!
//! A controller may ask for other associations with it, at addresses of its choice (E2 Connection AssociationUpdate). They are opened
//! by the same kind of link as the first (TCP, TLS or SCTP), and join the node without a setup of their own, from v2 on. What
//! the node says goes over the first; where that is lost, the next takes its place, and nothing is lost but what was on its way.
//!
//! # The contract for the host
//!
//! Nothing here blocks but waiting, and that only as long as the caller allows. Memory is bounded: a RIC that reads
//! slowly or is gone loses the oldest reports, counted. The loss of the RIC is lived through: functions are told that
//! their subscriptions are gone, and the agent comes back, after 1 s first and 30 s at last. Only a host *name* in an
//! address may block, while it is looked up: give an IP address where the loop runs on a thread that must not.

mod associations;
mod function;
mod node;
mod poll;
mod schedule;
mod views;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use e2::{Agent, AgentConfig, AgentMisuse, AssocId, CloseReason, Time};
use e2ap::{E2NodeComponentConfigAdditionItem, GlobalE2NodeId, GlobalRicId, RanFunctionId, Version};
use link::{Address, Events, Poll, Scratch};
use tracing::info;

use crate::event_loop::Clock;
use crate::peers::Peers;
use crate::{Endpoint, Error, StopHandle};
use node::{ConnectionTable, ControllerConnection, Node};
use schedule::{DeadlineOwner, Schedule};

pub use function::{
    Admission, ChangeAnswer, ControlFailure, FunctionContext, FunctionTransport, RanFunction, RequestKey,
};
pub use node::NodeConfig;
pub use views::{ControllerId, MAX_EXPOSED_UES, TooManyUes, Ue, Views};

/// How agents behave.
#[derive(Clone, Debug)]
pub struct AgentLoopConfig {
    /// The version of E2AP that nodes speak which name none of their own. Default: v02.03.
    pub version: Version,
    /// The first pause after a failure. Default: 1 s.
    pub retry_first: Duration,
    /// The longest pause. Default: 30 s.
    pub retry_last: Duration,
    /// A link must stand within this, and a controller answer the setup within as long again. Default: 5 s.
    pub setup_timeout: Duration,
    /// The links' bounds. `sctp_ppid` follows the node's type instead: [`link::Ppid::E2_DU`] of a DU,
    /// [`link::Ppid::E2_UP`] of a CU-UP, [`link::Ppid::E2_CP`] of all others.
    pub link: link::Config,
}

impl Default for AgentLoopConfig {
    fn default() -> Self {
        AgentLoopConfig {
            version: Version::V2_03,
            retry_first: Duration::from_secs(1),
            retry_last: Duration::from_secs(30),
            setup_timeout: Duration::from_secs(5),
            link: link::Config::default(),
        }
    }
}

/// Names a node within its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeHandle(usize);

/// A controller as its loop knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerStatus {
    /// Its name.
    pub id: ControllerId,
    /// Where it is.
    pub address: Address,
    /// Who it is, if it has taken the setup and is there.
    pub ric_id: Option<GlobalRicId>,
    /// Where the other associations lead that the node has with it, by its wish (E2 Connection AssociationUpdate).
    pub additional: Vec<Address>,
}

/// The event loop of one or more E2 nodes, each with its controllers, on one thread.
///
/// `F` is the type of the nodes' RAN functions. With the default, `dyn RanFunction`, the loop stays on the thread that
/// created it, and functions may share state through `Rc`. A [`SendAgentLoop`] takes functions that are [`Send`] and may
/// itself be moved to another thread.
pub struct AgentLoop<F: RanFunction + ?Sized = dyn RanFunction> {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    clock: Clock,
    stop: StopHandle,
    config: AgentLoopConfig,
    peers: Peers,
    nodes: Vec<Node<F>>,
    connections: ConnectionTable,
    /// DeadlineOwner an association is, by the association's place.
    controllers_by_link: Vec<Option<ControllerId>>,
    schedule: Schedule,
    /// DeadlineOwner machine is to be asked what it wants.
    dirty: Vec<ControllerId>,
    /// DeadlineOwner time has come, in the turn that runs.
    due: Vec<DeadlineOwner>,
    out: Vec<u8>,
    /// Of links that are gone.
    dropped_reports: u64,
}

/// An [`AgentLoop`] that may be moved to another thread, since all its RAN functions may.
pub type SendAgentLoop = AgentLoop<dyn RanFunction + Send>;

impl AgentLoop {
    /// Creates a loop without nodes.
    ///
    /// # Errors
    /// When the system refuses an epoll instance.
    pub fn new(config: AgentLoopConfig) -> Result<Self, Error> {
        AgentLoop::create(config)
    }
}

impl SendAgentLoop {
    /// Creates a loop without nodes that may be moved to another thread.
    ///
    /// ```
    /// use ferric::agent::SendAgentLoop;
    ///
    /// let mut agents = SendAgentLoop::new_send(Default::default())?;
    /// let stop = agents.stop_handle();
    /// let thread = std::thread::spawn(move || agents.run());
    /// stop.stop();
    /// thread.join().expect("the agent does not panic")?;
    /// # Ok::<(), ferric::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the system refuses an epoll instance.
    pub fn new_send(config: AgentLoopConfig) -> Result<Self, Error> {
        AgentLoop::create(config)
    }
}

impl<F: RanFunction + ?Sized> AgentLoop<F> {
    fn create(config: AgentLoopConfig) -> Result<Self, Error> {
        let poll = Poll::new().map_err(Error::epoll)?;
        let stop = StopHandle::new(&poll).map_err(Error::epoll)?;
        Ok(AgentLoop {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            clock: Clock::new(),
            stop,
            peers: Peers::new(poll::KIND_AGENT, &config.link),
            config,
            nodes: Vec::new(),
            connections: ConnectionTable::default(),
            controllers_by_link: Vec::new(),
            schedule: Schedule::default(),
            dirty: Vec::new(),
            due: Vec::new(),
            out: Vec::new(),
            dropped_reports: 0,
        })
    }

    /// Adds a node with one controller, the RIC at `endpoint`. It connects in the next turn.
    ///
    /// # Panics
    /// As [`AgentLoop::add_controller`].
    pub fn add(
        &mut self,
        node: GlobalE2NodeId,
        endpoint: Endpoint,
        functions: Vec<Box<F>>,
    ) -> (NodeHandle, ControllerId) {
        let node = self.add_node(NodeConfig::new(node), functions);
        (node, self.add_controller(node, endpoint))
    }

    /// Adds a node, without controllers.
    pub fn add_node(&mut self, config: NodeConfig, functions: Vec<Box<F>>) -> NodeHandle {
        self.nodes.push(Node { config, functions, controllers: Vec::new(), views: Views::default(), due: None });
        NodeHandle(self.nodes.len() - 1)
    }

    /// Adds a controller to a node: the RIC at `endpoint`. The node connects to it in the next turn. The first one that is
    /// added sees every UE.
    ///
    /// # Panics
    /// Where [`AgentConfig::check`] finds something wrong: two functions with one id, or an OID that is none.
    pub fn add_controller(&mut self, node: NodeHandle, endpoint: Endpoint) -> ControllerId {
        let Endpoint { address, codec } = endpoint;
        let at = node.0;
        let node = &mut self.nodes[at];
        let mut config = AgentConfig::new(node.config.id, node.functions.iter().map(|f| f.definition()).collect());
        config.components.clone_from(&node.config.components);
        config.version = node.config.version.unwrap_or(self.config.version);
        config.codec = codec;
        config.retry_first = self.config.retry_first;
        config.retry_last = self.config.retry_last;
        config.setup_timeout = self.config.setup_timeout;
        let id = self.connections.add(ControllerConnection {
            node: at,
            machine: Agent::new(config),
            address,
            codec,
            assoc: None,
            first: None,
            additional: Vec::new(),
            update: None,
            ric_id: None,
            has_left: false,
            is_leaving: false,
            lost: None,
            dirty: false,
            due: None,
            connect_deadline: None,
        });
        if node.views.first().is_none() && node.controllers.is_empty() {
            node.views.set_first(id);
        }
        node.controllers.push(id);
        self.mark_dirty(id);
        id
    }

    /// Removes a controller from its node: in order by E2 Removal where it has taken the setup and speaks v2 or later, so
    /// that it goes in one of the turns to come; at once else. Whether there was one, and it is not going already.
    ///
    /// If it was the one that sees every UE, none does until [`AgentLoop::set_first`] names another.
    pub fn remove_controller(&mut self, id: ControllerId) -> bool {
        let now = self.clock.now();
        let Some(connection) = self.connections.get_mut(id).filter(|connection| !connection.is_leaving) else {
            return false;
        };
        connection.is_leaving = true;
        connection.has_left = connection.machine.remove(now).is_err();
        if connection.has_left {
            self.forget_controller(now, id);
        } else {
            self.mark_dirty(id);
        }
        true
    }

    /// A controller that was left, or cannot be left in order, is gone.
    fn forget_controller(&mut self, now: Time, id: ControllerId) {
        let Some(ControllerConnection { node, assoc, is_leaving, .. }) = self.connections.get_mut(id) else { return };
        let (at, assoc) = (*node, *assoc);
        *is_leaving = false; // it is under way
        self.close(now, id, assoc, CloseReason::Local);
        self.drain_machine(now, id);
        let Some(mut connection) = self.connections.remove(id) else { return };
        self.schedule.set(DeadlineOwner::Controller(id), &mut connection.due, None);
        let node = &mut self.nodes[at];
        node.controllers.retain(|other| *other != id);
        node.views.remove(id);
        node.functions.iter_mut().for_each(|function| function.controller_removed(id));
        self.renew(at);
    }

    /// Connects again to a controller that has removed the node. Whether it had.
    pub fn reconnect(&mut self, id: ControllerId) -> bool {
        let connects = self.connections.get_mut(id).is_some_and(|connection| connection.machine.connect().is_ok());
        self.mark_dirty(id);
        connects
    }

    /// Adds a function to a node; its controllers are told by a RIC Service AssociationUpdate.
    ///
    /// # Errors
    /// Where there cannot be such a node: a function with its id is there, or it cannot be told.
    pub fn add_function(&mut self, node: NodeHandle, function: Box<F>) -> Result<(), AgentMisuse> {
        self.nodes[node.0].functions.push(function);
        self.update_functions(node).inspect_err(|_| drop(self.nodes[node.0].functions.pop()))
    }

    /// Takes a function out of a node; its subscriptions end, and the controllers are told by a RIC Service AssociationUpdate. `None`
    /// where there is none.
    pub fn remove_function(&mut self, node: NodeHandle, id: RanFunctionId) -> Option<Box<F>> {
        let functions = &mut self.nodes[node.0].functions;
        let at = functions.iter().position(|function| function.id() == id)?;
        let function = functions.remove(at);
        if self.update_functions(node).is_err() {
            // from v2 on a node has one function at least
            self.nodes[node.0].functions.insert(at, function);
            return None;
        }
        Some(function)
    }

    /// A function's definition changed, and with it its revision: the node's controllers are told by a RIC Service AssociationUpdate.
    ///
    /// # Errors
    /// Where a definition changed and its revision did not, or it cannot be told. The first thing that is wrong.
    pub fn update_functions(&mut self, node: NodeHandle) -> Result<(), AgentMisuse> {
        let now = self.clock.now();
        let definitions: Vec<_> = self.nodes[node.0].functions.iter().map(|function| function.definition()).collect();
        self.update(node, |machine| machine.update_functions(now, definitions.clone()))
    }

    /// The node's components changed: its controllers are told by an E2 Node Configuration AssociationUpdate.
    ///
    /// # Errors
    /// Where a controller's version has no such components, or they cannot be told. The first thing that is wrong.
    pub fn update_components(
        &mut self,
        node: NodeHandle,
        components: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    ) -> Result<(), AgentMisuse> {
        let now = self.clock.now();
        self.nodes[node.0].config.components.clone_from(&components);
        self.update(node, |machine| machine.update_components(now, components.clone()))
    }

    /// Tells all machines of a node something.
    fn update(
        &mut self,
        node: NodeHandle,
        mut tell: impl FnMut(&mut Agent) -> Result<(), AgentMisuse>,
    ) -> Result<(), AgentMisuse> {
        let mut result = Ok(());
        for at in 0..self.nodes[node.0].controllers.len() {
            let id = self.nodes[node.0].controllers[at];
            if let Some(connection) = self.connections.get_mut(id) {
                result = result.and(tell(&mut connection.machine));
            }
            self.mark_dirty(id);
        }
        self.renew(node.0);
        result
    }

    /// Makes one of a node's controllers the one that sees every UE. Whether it is one of them.
    pub fn set_first(&mut self, node: NodeHandle, id: ControllerId) -> bool {
        let node = &mut self.nodes[node.0];
        let known = node.controllers.contains(&id);
        if known {
            node.views.set_first(id);
        }
        known
    }

    /// A node's controllers, in the order of their adding.
    pub fn controllers(&self, node: NodeHandle) -> impl Iterator<Item = ControllerStatus> {
        self.nodes[node.0].controllers.iter().filter_map(|id| {
            let connection = self.connections.get(*id)?;
            let ric_id = connection.ric_id.filter(|_| connection.machine.is_up());
            let joined = connection.additional.iter().filter(|association| association.has_joined());
            let additional = joined.map(|association| association.address.clone()).collect();
            Some(ControllerStatus { id: *id, address: connection.address.clone(), ric_id, additional })
        })
    }

    /// Which UEs a node's controllers see.
    #[must_use]
    pub fn views(&self, node: NodeHandle) -> &Views {
        &self.nodes[node.0].views
    }

    /// The same, to be changed: by a host that knows owner a UE is, or that a UE has left.
    pub fn views_mut(&mut self, node: NodeHandle) -> &mut Views {
        &mut self.nodes[node.0].views
    }

    /// The host did something after which a function of the node may want to report at another time than it said.
    pub fn wake(&mut self, node: NodeHandle) {
        self.renew(node.0);
    }

    /// What ends [`AgentLoop::run`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// How many controllers have taken the setup, of all nodes together.
    #[must_use]
    pub fn up(&self) -> usize {
        self.connections.iter().filter(|m| m.machine.is_up()).count()
    }

    /// Reports that were dropped until now since a controller read too slowly.
    #[must_use]
    pub fn dropped_reports(&self) -> u64 {
        let links = self.connections.iter().filter_map(|m| self.peers.get(m.assoc?));
        self.dropped_reports + links.map(|peer| peer.link.dropped_reports()).sum::<u64>()
    }

    /// Nanoseconds since the loop was made, as functions are told the time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns the time of the next deadline: when [`AgentLoop::poll`] has something to do although no file descriptor is
    /// ready. `None` while only I/O can change anything; a time in the past when `poll` is to be called at once.
    ///
    /// An event loop of the host waits for the loop's file descriptor (it implements [`AsFd`]) until then, and calls
    /// `poll(Some(Duration::ZERO))`, which does not wait. The deadline changes with each call of a method that takes
    /// `&mut self`; ask again before each wait.
    ///
    /// ```no_run
    /// use std::os::fd::AsRawFd;
    /// use std::time::Duration;
    /// # fn poll_fd(fd: i32, timeout: Option<Duration>) -> std::io::Result<()> { Ok(()) }
    ///
    /// let mut agents = ferric::agent::AgentLoop::new(Default::default())?;
    /// loop {
    ///     let timeout = agents.next_deadline().map(|deadline| deadline - agents.now());
    ///     poll_fd(agents.as_raw_fd(), timeout)?; // poll(2) or epoll(7), together with the host's own descriptors
    ///     agents.poll(Some(Duration::ZERO))?;
    /// }
    /// # #[allow(unreachable_code)]
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        if self.dirty.is_empty() { self.schedule.next() } else { Some(Time::default()) }
    }

    /// Works until [`StopHandle::stop`] is called.
    ///
    /// # Errors
    /// When the system refuses to wait for events. Nothing that a RIC does ends the loop.
    pub fn run(&mut self) -> Result<(), Error> {
        while !self.stop.is_stopped() {
            self.poll(None)?;
        }
        Ok(())
    }

    /// Has a machine asked what it wants, before the turn ends.
    fn mark_dirty(&mut self, id: ControllerId) {
        if let Some(connection) = self.connections.get_mut(id)
            && !connection.dirty
        {
            connection.dirty = true;
            self.dirty.push(id);
        }
    }

    /// Asks a node's functions when they want to report.
    fn renew(&mut self, at: usize) {
        let due = self.nodes[at].next_report(&self.connections);
        self.schedule.set(DeadlineOwner::Node(at), &mut self.nodes[at].due, due);
    }

    /// Ends a controller's connection.
    fn close(&mut self, now: Time, id: ControllerId, assoc: Option<AssocId>, reason: CloseReason) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.assoc = None;
        connection.machine.handle_close(now, reason);
        self.drop_associations(id);
        if let Some(link) = assoc.and_then(|assoc| self.peers.remove(&self.poll, assoc)) {
            info!(ric = %link.peer(), %reason, "closed");
            self.dropped_reports += link.dropped_reports();
            link.close();
        }
        self.mark_dirty(id);
    }
}

/// The descriptor of the loop's epoll instance, which is readable whenever [`AgentLoop::poll`] has I/O to do. It is only to
/// be waited for: with poll(2), or in an epoll instance of the host.
impl<F: RanFunction + ?Sized> AsFd for AgentLoop<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }
}

impl<F: RanFunction + ?Sized> AsRawFd for AgentLoop<F> {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
