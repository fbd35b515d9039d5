//! The agent of a base station: RAN functions, and the event loop that connects them to near-RT RICs.
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
//! agents.run()?; // on a dedicated thread; or `poll` from the host's loop
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Several controllers
//!
//! A node may have any number of controllers, which are added and removed at run time ([`AgentLoop::add_controller`],
//! [`AgentLoop::remove_controller`]). All of them use the same RAN functions; each request names its controller. The
//! first controller sees every UE. Any other sees the UEs that were exposed to it ([`Views`]).
//!
//! A controller may itself consist of several RICs that share the nodes ([`AgentLoop::add_redundant_controller`]): the node has
//! one of them at a time.
//!
//! # Several associations
//!
//! A controller may request additional TNL associations at addresses of its choice (E2 Connection Update, from E2AP v2
//! on). They use the same kind of link as the first (TCP, TLS or SCTP) and join the node without another E2 Setup. The
//! node sends over the first association. When that is lost, the next takes its place, and only messages in transit
//! are lost.
//!
//! # The event loop of the host
//!
//! [`AgentLoop::run`] needs a thread. A base station that has an event loop waits for the agent's file descriptor
//! instead; see [`AgentLoop::next_deadline`].
//!
//! Nothing blocks but the wait in [`AgentLoop::poll`], for at most the given timeout. A host *name* in an address is looked up on
//! another thread (`link::Resolver`) at each attempt to connect.
//!
//! Memory is bounded: when a RIC reads slowly or is gone, its oldest reports are dropped and counted. When a RIC is
//! lost, its subscriptions end ([`RanFunction::unsubscribe`]) and the agent reconnects, after 1 s at first and after
//! at most 30 s.

mod associations;
mod config;
mod connect;
mod function;
mod node;
mod poll;
mod schedule;
mod subscription_times;
mod views;
mod wake;
mod wrapper;

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use e2::{Agent, AgentConfig, AgentConfigError, AgentMisuse, AssocId, CloseReason, Time};
use e2ap::{E2NodeComponentConfigAdditionItem, GlobalE2NodeId, GlobalRicId, RanFunctionId, RicActionId};
use link::{Address, Events, Poll, Scratch, Waker};
use tracing::info;

use crate::event_loop::Clock;
use crate::peers::Peers;
use crate::{Endpoint, Error, StopHandle, peers};
use function::ControllerLinks;
use node::{ConnectionTable, ControllerConnection, Node};
use schedule::{DeadlineOwner, Schedule};
use subscription_times::TimedSubscriptions;

pub use config::{AgentLoopConfig, NodeConfig};
pub use function::{
    Admission, ChangeAnswer, ControlFailure, FunctionContext, FunctionTransport, RanFunction, RequestKey,
};
pub use views::{ControllerId, MAX_EXPOSED_UES, TooManyUes, Ue, Views};
pub use wake::AgentWaker;
pub use wrapper::Wrapper;

/// The kinds of tokens: connections, the waker, and host names that are looked up.
const KIND_AGENT: u64 = 1;
const KIND_WAKE: u64 = 2;
const KIND_LOOKUP: u64 = 3;

/// Identifies a node within its event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeHandle(usize);

/// The state of a node's connection to a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerStatus {
    /// The identifier of the controller.
    pub id: ControllerId,
    /// The configured address.
    pub address: Address,
    /// The RIC's global id while the E2 Setup is in effect.
    pub ric_id: Option<GlobalRicId>,
    /// The addresses of additional associations, which the controller requested (E2 Connection Update).
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
    waker: Option<AgentWaker>,
    config: AgentLoopConfig,
    peers: Peers,
    nodes: Vec<Node<F>>,
    /// The places of removed nodes.
    free_nodes: Vec<usize>,
    connections: ConnectionTable,
    /// The controller of each association, by the index in its token.
    controllers_by_link: Vec<Option<ControllerId>>,
    schedule: Schedule,
    /// What wakes the loop when a host name is looked up.
    lookup_waker: Waker,
    /// Controllers whose host name is perhaps being looked up.
    looking_up: BTreeSet<ControllerId>,
    /// Machines with pending output or events.
    dirty: Vec<ControllerId>,
    /// Owners whose deadline has expired, in the current iteration.
    due: Vec<DeadlineOwner>,
    out: Vec<u8>,
    /// The sum over links that are closed.
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
        let lookup_waker = Waker::new(&poll, peers::token(KIND_LOOKUP, 0)).map_err(Error::epoll)?;
        Ok(AgentLoop {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            clock: Clock::new(),
            stop,
            waker: None,
            peers: Peers::new(KIND_AGENT, &config.link),
            config,
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            connections: ConnectionTable::default(),
            controllers_by_link: Vec::new(),
            schedule: Schedule::default(),
            lookup_waker,
            looking_up: BTreeSet::new(),
            dirty: Vec::new(),
            due: Vec::new(),
            out: Vec::new(),
            dropped_reports: 0,
        })
    }

    /// Adds a node with one controller, the RIC at `endpoint`. The next [`AgentLoop::poll`] connects.
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

    /// Adds a node without controllers.
    pub fn add_node(&mut self, config: NodeConfig, functions: Vec<Box<F>>) -> NodeHandle {
        let node = Node { config, functions, controllers: Vec::new(), views: Views::default(), due: None };
        if let Some(at) = self.free_nodes.pop() {
            self.nodes[at] = node;
            return NodeHandle(at);
        }
        self.nodes.push(node);
        NodeHandle(self.nodes.len() - 1)
    }

    /// Removes a node: closes its connections without an E2 Removal, and drops its functions. The handle is invalid afterwards; a
    /// node that is added later may get the same one.
    pub fn remove_node(&mut self, node: NodeHandle) {
        let now = self.clock.now();
        for id in self.nodes[node.0].controllers.clone() {
            self.forget_controller(now, id);
        }
        self.nodes[node.0].functions.clear();
        self.renew(node.0);
        self.free_nodes.push(node.0);
    }

    /// Adds the RIC at `endpoint` as a controller of a node. The next [`AgentLoop::poll`] connects. The first
    /// controller of a node sees every UE.
    ///
    /// # Panics
    /// When [`AgentConfig::check`] fails: two functions have one id, or an OID is malformed.
    pub fn add_controller(&mut self, node: NodeHandle, endpoint: Endpoint) -> ControllerId {
        self.add_redundant_controller(node, vec![endpoint])
    }

    /// Adds the RIC at `endpoint` as a controller of a node with functions that come from elsewhere, such as those of another node.
    ///
    /// # Errors
    /// When [`AgentConfig::check`] fails: two functions have one id, an OID is malformed, or the version cannot carry the functions.
    pub fn try_add_controller(
        &mut self,
        node: NodeHandle,
        endpoint: Endpoint,
    ) -> Result<ControllerId, AgentConfigError> {
        self.add_checked(node, vec![endpoint])
    }

    /// Adds a controller that consists of several RICs, one of which serves the node at a time. The node goes to the next
    /// endpoint at once when a RIC is lost, does not answer or refuses the setup, and to the address that a RIC names in its
    /// refusal (E2AP v03.01 8.3.1.3). After all endpoints have failed, it waits as with one.
    ///
    /// # Panics
    /// As [`AgentLoop::add_controller`]; when there is no endpoint, or they have different encodings.
    pub fn add_redundant_controller(&mut self, node: NodeHandle, endpoints: Vec<Endpoint>) -> ControllerId {
        match self.add_checked(node, endpoints) {
            Ok(id) => id,
            Err(error) => panic!("invalid agent configuration: {error}"),
        }
    }

    fn add_checked(&mut self, node: NodeHandle, endpoints: Vec<Endpoint>) -> Result<ControllerId, AgentConfigError> {
        let Some(codec) = endpoints.first().map(|endpoint| endpoint.codec) else {
            panic!("a controller has an address")
        };
        assert!(endpoints.iter().all(|endpoint| endpoint.codec == codec), "the encoding is the same");
        let addresses: Vec<_> = endpoints.into_iter().map(|endpoint| endpoint.address).collect();
        let at = node.0;
        let node = &mut self.nodes[at];
        let mut config = AgentConfig::new(node.config.id, node.functions.iter().map(|f| f.definition()).collect());
        config.components.clone_from(&node.config.components);
        config.controller_path.clone_from(&node.config.controller_path);
        config.setup_order.clone_from(&node.config.setup_order);
        config.version = node.config.version.unwrap_or(self.config.version);
        config.codec = codec;
        config.addresses = addresses.len();
        config.retry_first = self.config.retry_first;
        config.retry_last = self.config.retry_last;
        config.setup_timeout = self.config.setup_timeout;
        config.check()?;
        let id = self.connections.add(ControllerConnection {
            node: at,
            machine: Agent::new(config),
            address: addresses[0].clone(),
            addresses,
            codec,
            assoc: None,
            first: None,
            additional: Vec::new(),
            update: None,
            timed: TimedSubscriptions::default(),
            ric_id: None,
            up_since: None,
            early_closes: 0,
            has_left: false,
            is_leaving: false,
            lost: None,
            has_answers: false,
            dirty: false,
            due: None,
            lookup: None,
            connect_deadline: None,
        });
        if node.views.first().is_none() && node.controllers.is_empty() {
            node.views.set_first(id);
        }
        node.controllers.push(id);
        self.mark_dirty(id);
        Ok(id)
    }

    /// Removes a controller from its node. If the E2 Setup is in effect and the version is v2 or later, an E2 Removal
    /// precedes, and the controller is gone once it is answered; otherwise it is gone at once. Returns `false` for a
    /// controller that is unknown or already being removed.
    ///
    /// If it was the controller that sees every UE, none does until [`AgentLoop::set_first`] names another.
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

    /// Drops a controller after its E2 Removal, or without one when that is not possible.
    fn forget_controller(&mut self, now: Time, id: ControllerId) {
        let Some(ControllerConnection { node, assoc, is_leaving, .. }) = self.connections.get_mut(id) else { return };
        let (at, assoc) = (*node, *assoc);
        *is_leaving = false; // the removal is in progress
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

    /// Reconnects to a controller that has removed the node. Returns whether it had.
    pub fn reconnect(&mut self, id: ControllerId) -> bool {
        let connects = self.connections.get_mut(id).is_some_and(|connection| connection.machine.connect().is_ok());
        self.mark_dirty(id);
        connects
    }

    /// Adds a RAN function to a node and sends a RIC Service Update to its controllers.
    ///
    /// # Errors
    /// When the node already has a function with this id, or the update cannot be sent.
    pub fn add_function(&mut self, node: NodeHandle, function: Box<F>) -> Result<(), AgentMisuse> {
        self.nodes[node.0].functions.push(function);
        self.update_functions(node).inspect_err(|_| drop(self.nodes[node.0].functions.pop()))
    }

    /// Removes a RAN function from a node, which ends its subscriptions, and sends a RIC Service Update to the
    /// controllers. Returns `None` if the node has no such function, or cannot be without it.
    pub fn remove_function(&mut self, node: NodeHandle, id: RanFunctionId) -> Option<Box<F>> {
        let functions = &mut self.nodes[node.0].functions;
        let at = functions.iter().position(|function| function.id() == id)?;
        let function = functions.remove(at);
        if self.update_functions(node).is_err() {
            // from v2 on a node has at least one function
            self.nodes[node.0].functions.insert(at, function);
            return None;
        }
        Some(function)
    }

    /// Sends a RIC Service Update to a node's controllers after a function's definition, and with it its revision, has
    /// changed.
    ///
    /// # Errors
    /// The first error: a definition changed but not its revision, or the update cannot be sent.
    pub fn update_functions(&mut self, node: NodeHandle) -> Result<(), AgentMisuse> {
        let now = self.clock.now();
        let definitions: Vec<_> = self.nodes[node.0].functions.iter().map(|function| function.definition()).collect();
        self.update(node, |machine| machine.update_functions(now, definitions.clone()))
    }

    /// Replaces a node's components and sends an E2 Node Configuration Update to its controllers.
    ///
    /// # Errors
    /// The first error: the version of a controller has no such components, or the update cannot be sent.
    pub fn update_components(
        &mut self,
        node: NodeHandle,
        components: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    ) -> Result<(), AgentMisuse> {
        let now = self.clock.now();
        self.nodes[node.0].config.components.clone_from(&components);
        self.update(node, |machine| machine.update_components(now, components.clone()))
    }

    /// Applies a change to all machines of a node.
    fn update(
        &mut self,
        node: NodeHandle,
        mut apply: impl FnMut(&mut Agent) -> Result<(), AgentMisuse>,
    ) -> Result<(), AgentMisuse> {
        let mut result = Ok(());
        for at in 0..self.nodes[node.0].controllers.len() {
            let id = self.nodes[node.0].controllers[at];
            if let Some(connection) = self.connections.get_mut(id) {
                result = result.and(apply(&mut connection.machine));
            }
            self.mark_dirty(id);
        }
        self.renew(node.0);
        result
    }

    /// Makes a controller of a node the one that sees every UE. Returns whether the node has this controller.
    pub fn set_first(&mut self, node: NodeHandle, id: ControllerId) -> bool {
        let node = &mut self.nodes[node.0];
        let known = node.controllers.contains(&id);
        if known {
            node.views.set_first(id);
        }
        known
    }

    /// Returns the controllers of a node, in the order in which they were added.
    pub fn controllers(&self, node: NodeHandle) -> impl Iterator<Item = ControllerStatus> {
        self.nodes[node.0].controllers.iter().filter_map(|id| {
            let connection = self.connections.get(*id)?;
            let ric_id = connection.ric_id.filter(|_| connection.machine.is_up());
            let joined = connection.additional.iter().filter(|association| association.has_joined());
            let additional = joined.map(|association| association.address.clone()).collect();
            Some(ControllerStatus { id: *id, address: connection.address.clone(), ric_id, additional })
        })
    }

    /// Returns which UEs each controller of a node sees.
    #[must_use]
    pub fn views(&self, node: NodeHandle) -> &Views {
        &self.nodes[node.0].views
    }

    /// Returns the same for changes by the host: a UE belongs to a controller, or has left.
    pub fn views_mut(&mut self, node: NodeHandle) -> &mut Views {
        &mut self.nodes[node.0].views
    }

    /// Sends a report of a subscription at once, as [`FunctionContext::report`] does, without a call of the function: for a host that
    /// passes on what others report. The next [`AgentLoop::poll`] or [`AgentLoop::serve_due`] writes it.
    ///
    /// # Errors
    /// When the subscription does not exist.
    pub fn report(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        let AgentLoop { connections, peers, out, .. } = self;
        let mut links = ControllerLinks { connections, controllers: &[], peers, out, is_deferred: false };
        let sent = links.send(key, action, None, header, message);
        let needs_service = |connection: &ControllerConnection| connection.has_answers || connection.lost.is_some();
        if self.connections.get(key.controller).is_some_and(needs_service) {
            self.mark_dirty(key.controller);
        }
        sent
    }

    /// Asks the functions of a node again for their [`RanFunction::next_report`], after the host has changed it.
    pub fn wake(&mut self, node: NodeHandle) {
        self.renew(node.0);
    }

    /// Returns a handle with which any thread has the functions of all nodes asked again, as by [`AgentLoop::wake`]. All
    /// wakers of a loop are clones of one.
    ///
    /// # Errors
    /// When the system refuses an eventfd.
    pub fn waker(&mut self) -> Result<AgentWaker, Error> {
        if let Some(waker) = &self.waker {
            return Ok(waker.clone());
        }
        let waker = AgentWaker::new(&self.poll).map_err(Error::epoll)?;
        Ok(self.waker.insert(waker).clone())
    }

    /// Returns a handle that ends [`AgentLoop::run`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Returns the number of controllers, of all nodes together, with an E2 Setup in effect.
    #[must_use]
    pub fn connected_controllers(&self) -> usize {
        self.connections.iter().filter(|m| m.machine.is_up()).count()
    }

    /// Returns the number of reports that were dropped because a controller read too slowly.
    #[must_use]
    pub fn dropped_reports(&self) -> u64 {
        let links = self.connections.iter().filter_map(|m| self.peers.get(m.assoc?));
        self.dropped_reports + links.map(|peer| peer.link.dropped_reports()).sum::<u64>()
    }

    /// Returns the octets that wait to be written to controllers, or to be read by controllers in this process.
    #[must_use]
    pub fn queued_octets(&self) -> usize {
        let links = self.connections.iter().filter_map(|m| self.peers.get(m.assoc?));
        links.map(|peer| peer.link.queued_octets()).sum()
    }

    /// Returns the time of the loop's clock, which functions get as `now`: nanoseconds since the loop was created.
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

    /// Runs until [`StopHandle::stop`] is called.
    ///
    /// # Errors
    /// When the system refuses to wait for events. Nothing that a RIC does ends the loop.
    pub fn run(&mut self) -> Result<(), Error> {
        while !self.stop.is_stopped() {
            self.poll(None)?;
        }
        Ok(())
    }

    /// Schedules a machine for processing in this iteration.
    fn mark_dirty(&mut self, id: ControllerId) {
        if let Some(connection) = self.connections.get_mut(id)
            && !connection.dirty
        {
            connection.dirty = true;
            self.dirty.push(id);
        }
    }

    /// Updates a node's deadline from its functions.
    fn renew(&mut self, at: usize) {
        let due = self.nodes[at].next_report(&self.connections);
        self.schedule.set(DeadlineOwner::Node(at), &mut self.nodes[at].due, due);
    }

    /// Closes the connection to a controller.
    fn close(&mut self, now: Time, id: ControllerId, assoc: Option<AssocId>, reason: CloseReason) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.assoc = None;
        connection.lookup = None;
        connection.machine.handle_close(now, reason);
        self.drop_associations(id);
        if let Some(link) = assoc.and_then(|assoc| self.peers.remove(&self.poll, assoc)) {
            info!(ric = %link.peer(), %reason, "connection to the RIC closed");
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
