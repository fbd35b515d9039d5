//! What a base station embeds: RAN functions, and the loop that connects them to a near-RT RIC.
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
//! agents.run()?; // on a thread of its own; or `turn(Some(Duration::ZERO))` from the host's own loop
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The contract for the host
//!
//! Nothing here blocks but waiting, and that only as long as the caller allows. Memory is bounded: a RIC that reads
//! slowly or is gone loses the oldest reports, counted. The loss of the RIC is lived through: functions are told that
//! their subscriptions are gone, and the agent comes back, after 1 s first and 30 s at last. Only a host *name* in an
//! address may block, while it is looked up: give an IP address where the loop runs on a thread that must not.

mod function;

use std::time::Duration;

use e2::{Agent, AgentConfig, AgentEvent, AssocId, CloseReason, Time};
use e2ap::{GlobalE2NodeId, RanFunctionId, Version};
use link::{Address, Events, Link, Poll, Ppid, Scratch};
use tracing::{debug, info, warn};

use crate::clock::{self, Clock};
use crate::peers::{self, Peers};
use crate::stop::STOP_TOKEN;
use crate::{Error, Stop};

pub use function::{Admission, ControlFailure, RanFunction, Reports};

/// How agents behave.
#[derive(Clone, Debug)]
pub struct AgentLoopConfig {
    /// The version of E2AP that they speak. Default: v02.03.
    pub version: Version,
    /// The first pause after a failure. Default: 1 s.
    pub retry_first: Duration,
    /// The longest pause. Default: 30 s.
    pub retry_last: Duration,
    /// The links' bounds. `sctp_ppid` follows the node's type instead: [`Ppid::E2_DU`] of a DU, [`Ppid::E2_UP`]
    /// of a CU-UP, [`Ppid::E2_CP`] of all others.
    pub link: link::Config,
}

impl Default for AgentLoopConfig {
    fn default() -> Self {
        AgentLoopConfig {
            version: Version::V2_03,
            retry_first: Duration::from_secs(1),
            retry_last: Duration::from_secs(30),
            link: link::Config::default(),
        }
    }
}

const KIND_AGENT: u64 = 1;
/// Octets read from one link before the others have their turn.
const BUDGET_OCTETS: usize = 64 * 1024;

/// One agent: its machine, its functions and where its RIC is.
struct Member {
    machine: Agent,
    functions: Vec<Box<dyn RanFunction>>,
    address: Address,
    assoc: Option<AssocId>,
}

/// One or more agents on one thread.
pub struct AgentLoop {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    clock: Clock,
    stop: Stop,
    config: AgentLoopConfig,
    peers: Peers,
    members: Vec<Member>,
    /// Which member an association is of, by the association's place.
    owners: Vec<usize>,
    out: Vec<u8>,
    /// Of links that are gone.
    dropped_reports: u64,
}

impl AgentLoop {
    /// A loop without agents.
    ///
    /// # Errors
    /// Where the system refuses an epoll.
    pub fn new(config: AgentLoopConfig) -> Result<Self, Error> {
        let poll = Poll::new().map_err(Error::epoll)?;
        let stop = Stop::new(&poll).map_err(Error::epoll)?;
        Ok(AgentLoop {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            clock: Clock::new(),
            stop,
            peers: Peers::new(KIND_AGENT, &config.link),
            config,
            members: Vec::new(),
            dropped_reports: 0,
            owners: Vec::new(),
            out: Vec::new(),
        })
    }

    /// Adds the agent of a node towards the RIC at `address`. It connects in the next turn.
    ///
    /// # Panics
    /// Where [`AgentConfig::check`] finds something wrong: two functions with one id, or an OID that is none.
    pub fn add(&mut self, node: GlobalE2NodeId, address: Address, functions: Vec<Box<dyn RanFunction>>) {
        let mut config = AgentConfig::new(node, functions.iter().map(|f| f.definition()).collect());
        config.version = self.config.version;
        config.retry_first = self.config.retry_first;
        config.retry_last = self.config.retry_last;
        self.members.push(Member { machine: Agent::new(config), functions, address, assoc: None });
    }

    /// What ends [`AgentLoop::run`].
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// How many agents have been taken by their RIC.
    #[must_use]
    pub fn up(&self) -> usize {
        self.members.iter().filter(|m| m.machine.is_up()).count()
    }

    /// Reports that were dropped until now since a RIC read too slowly.
    #[must_use]
    pub fn dropped_reports(&self) -> u64 {
        let links = self.members.iter().filter_map(|m| self.peers.get(m.assoc?));
        self.dropped_reports + links.map(|peer| peer.link.dropped_reports()).sum::<u64>()
    }

    /// Nanoseconds since the loop was made, as functions are told the time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Works until [`Stop::stop`] is called.
    ///
    /// # Errors
    /// Where the system refuses to wait for events. What a RIC does never ends the loop.
    pub fn run(&mut self) -> Result<(), Error> {
        while !self.stop.is_stopped() {
            self.turn(None)?;
        }
        Ok(())
    }

    /// Waits at most `patience` (`None`: until something happens), then does what there is to do. With
    /// `Some(Duration::ZERO)` it never waits.
    ///
    /// # Errors
    /// As [`AgentLoop::run`].
    pub fn turn(&mut self, patience: Option<Duration>) -> Result<(), Error> {
        // first, since it may set deadlines: a connection may fail at once
        self.settle(self.clock.now());
        let deadline = self.members.iter().filter_map(Member::deadline).min();
        let timeout = clock::wait(self.clock.now(), deadline, patience);
        self.poll.wait(&mut self.events, timeout.map(clock::most_of)).map_err(Error::epoll)?;
        if self.events.get(0).is_none() && timeout.is_some_and(|timeout| clock::most_of(timeout) < timeout) {
            let timeout = clock::wait(self.clock.now(), deadline, patience.map(|patience| patience / 100));
            self.poll.wait(&mut self.events, timeout).map_err(Error::epoll)?;
        }
        let now = self.clock.now();
        let mut at = 0;
        while let Some(event) = self.events.get(at) {
            at += 1;
            if event.token == STOP_TOKEN {
                return Ok(());
            }
            let assoc = AssocId(event.token);
            // in this order: what a RIC says at once is heard by an agent that knows that it is connected
            if event.writable {
                self.writable(now, assoc);
            }
            if event.readable {
                self.receive(now, assoc);
            }
        }
        for member in &mut self.members {
            member.machine.handle_timeout(now);
        }
        self.report(now);
        self.settle(now);
        Ok(())
    }

    fn owner(&self, assoc: AssocId) -> Option<usize> {
        let owner = *self.owners.get(peers::place(assoc.0))?;
        (self.members.get(owner)?.assoc == Some(assoc)).then_some(owner)
    }

    fn receive(&mut self, now: Time, assoc: AssocId) {
        let Some(owner) = self.owner(assoc) else { return };
        let AgentLoop { peers, members, scratch, .. } = self;
        let (Some(peer), Some(member)) = (peers.get_mut(assoc), members.get_mut(owner)) else { return };
        let received =
            peer.link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| member.machine.handle_pdu(now, pdu));
        if let Err(error) = received {
            self.lose(now, assoc, &error);
        }
    }

    /// The link can be written; where it was connecting it may stand now.
    fn writable(&mut self, now: Time, assoc: AssocId) {
        let Some(owner) = self.owner(assoc) else { return };
        let Some(peer) = self.peers.get_mut(assoc) else { return };
        if peer.link.state() == link::State::Connecting {
            match peer.link.finish_connect() {
                Ok(link::State::Established) => self.members[owner].machine.handle_open(now),
                Ok(_) => return,
                Err(error) => return self.lose(now, assoc, &error),
            }
        }
        self.peers.touch(assoc);
    }

    fn connect(&mut self, now: Time, owner: usize) {
        let member = &mut self.members[owner];
        self.config.link.sctp_ppid = ppid_of(member.machine.node_id());
        let linked = Link::connect(&member.address, &self.config.link);
        let established = linked.as_ref().is_ok_and(|link| link.state() == link::State::Established);
        let assoc = linked
            .map_err(|e| e.to_string())
            .and_then(|link| self.peers.insert(&self.poll, link).map_err(|e| e.to_string()));
        match assoc {
            Ok(assoc) => {
                member.assoc = Some(assoc);
                let place = peers::place(assoc.0);
                if self.owners.len() <= place {
                    self.owners.resize(place + 1, usize::MAX);
                }
                self.owners[place] = owner;
                if established {
                    member.machine.handle_open(now);
                }
            }
            Err(error) => {
                warn!(node = %member.machine.node_id(), ric = %member.address, error, "cannot connect");
                member.machine.handle_close(now, CloseReason::Transport);
            }
        }
    }

    fn lose(&mut self, now: Time, assoc: AssocId, error: &link::Error) {
        let Some(owner) = self.owner(assoc) else { return };
        if let Some(link) = self.peers.remove(&self.poll, assoc) {
            self.dropped_reports += link.dropped_reports();
        }
        let member = &mut self.members[owner];
        member.assoc = None;
        warn!(node = %member.machine.node_id(), ric = %member.address, %error, "the RIC is lost");
        member.machine.handle_close(now, CloseReason::Transport);
    }

    /// Lets each function report that has something due.
    fn report(&mut self, now: Time) {
        for at in 0..self.members.len() {
            let Member { machine, functions, assoc: Some(assoc), .. } = &mut self.members[at] else { continue };
            for function in functions.iter_mut() {
                if function.next_report().is_some_and(|due| due <= now) {
                    let mut reports = Reports { machine, peers: &mut self.peers, assoc: *assoc, out: &mut self.out };
                    function.report(now, &mut reports);
                }
            }
        }
    }

    /// Does what the machines want until they want nothing more, then writes.
    fn settle(&mut self, now: Time) {
        let mut lost = Vec::new();
        for owner in 0..self.members.len() {
            while let Some(event) = self.members[owner].machine.poll_event() {
                self.handle(now, owner, event);
            }
            self.transmit(owner, &mut lost);
        }
        self.peers.flush(&self.poll, |assoc, error| lost.push((assoc, error)));
        for owner in 0..self.members.len() {
            if let Some(reason) = self.members[owner].machine.poll_close()
                && let Some(assoc) = self.members[owner].assoc.take()
                && let Some(link) = self.peers.remove(&self.poll, assoc)
            {
                info!(ric = %link.peer(), %reason, "closed");
                self.dropped_reports += link.dropped_reports();
                link.close();
            }
        }
        for (assoc, error) in lost {
            self.lose(now, assoc, &error);
        }
    }

    fn transmit(&mut self, owner: usize, lost: &mut Vec<(AssocId, link::Error)>) {
        let member = &mut self.members[owner];
        self.out.clear();
        while member.machine.poll_transmit(&mut self.out) {
            if let Some(assoc) = member.assoc
                && let Err(error) = self.peers.send(assoc, &[&self.out], link::Class::Keep)
            {
                lost.push((assoc, error));
            }
            self.out.clear();
        }
    }

    fn handle(&mut self, now: Time, owner: usize, event: AgentEvent) {
        let Member { machine, functions, assoc, .. } = &mut self.members[owner];
        let node = machine.node_id();
        match event {
            AgentEvent::Connect => self.connect(now, owner),
            AgentEvent::Up { ric_id, accepted } => {
                info!(%node, %ric_id, functions = accepted.len(), "the RIC has taken the setup");
            }
            AgentEvent::Down { reason, retry_at } => {
                debug!(%node, %reason, retry_in_ms = (retry_at - now).as_millis(), "down");
            }
            AgentEvent::Notice(notice) => warn!(%node, "{notice}"),
            AgentEvent::Subscribe(request) => {
                // the machine passes on only what is for a function that it offers
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let answered = match function.subscribe(now, &request) {
                    Ok(Admission { admitted, not_admitted }) => {
                        machine.admit(request.request_id, &admitted, &not_admitted)
                    }
                    Err(cause) => {
                        debug!(%node, function = request.ran_function_id.0, %cause, "subscription refused");
                        machine.refuse(request.request_id, cause)
                    }
                };
                if let Err(error) = answered {
                    warn!(%node, %error, "a RAN function answered a subscription in a way that makes no sense");
                    function.unsubscribe(request.request_id);
                    let cause = e2ap::Cause::RicRequest(e2ap::CauseRicRequest::Unspecified);
                    let _ = machine.refuse(request.request_id, cause); // it may be gone by now
                }
            }
            AgentEvent::Unsubscribe { request_id, ran_function_id } => {
                if let Some(function) = find(functions, ran_function_id) {
                    function.unsubscribe(request_id);
                }
            }
            AgentEvent::Control(request) => {
                let Some(function) = find(functions, request.ran_function_id) else { return };
                let Some(assoc) = *assoc else { return };
                let mut reports = Reports { machine, peers: &mut self.peers, assoc, out: &mut self.out };
                let result = function.control(now, &request, &mut reports);
                let answered = match result {
                    Ok(outcome) => machine.acknowledge(request.request_id, outcome.as_deref()),
                    Err(ControlFailure { cause, outcome }) => {
                        machine.fail(request.request_id, cause, outcome.as_deref())
                    }
                };
                if let Err(error) = answered {
                    debug!(%node, %error, "a control's answer came to nothing");
                }
            }
        }
    }
}

fn find(functions: &mut [Box<dyn RanFunction>], id: RanFunctionId) -> Option<&mut Box<dyn RanFunction>> {
    functions.iter_mut().find(|function| function.id() == id)
}

/// The SCTP payload protocol identifier by the node's type.
fn ppid_of(node: GlobalE2NodeId) -> Ppid {
    let (is_du, is_cu_up) = match node {
        GlobalE2NodeId::Gnb(id) => (id.gnb_du_id.is_some(), id.gnb_cu_up_id.is_some()),
        GlobalE2NodeId::EnGnb(id) => (id.en_gnb_du_id.is_some(), id.en_gnb_cu_up_id.is_some()),
        GlobalE2NodeId::NgEnb(id) => (id.ng_enb_du_id.is_some(), false),
        GlobalE2NodeId::Enb(_) => (false, false),
    };
    match (is_du, is_cu_up) {
        (true, _) => Ppid::E2_DU,
        (_, true) => Ppid::E2_UP,
        _ => Ppid::E2_CP,
    }
}

impl Member {
    fn deadline(&self) -> Option<Time> {
        let reports = self.functions.iter().filter_map(|f| f.next_report()).min().filter(|_| self.assoc.is_some());
        match (self.machine.poll_timeout(), reports) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use e2ap::{GnbCuUpId, GnbDuId, GnbId, PlmnIdentity};

    use super::*;

    #[test]
    fn the_payload_protocol_follows_the_node_type() {
        let whole = GlobalE2NodeId::gnb(PlmnIdentity([0x00, 0xf1, 0x10]), GnbId::new(7, 22));
        assert_eq!(ppid_of(whole), Ppid::E2_CP);
        let GlobalE2NodeId::Gnb(mut id) = whole else { panic!("a gNB") };
        id.gnb_cu_up_id = Some(GnbCuUpId(1));
        assert_eq!(ppid_of(GlobalE2NodeId::Gnb(id)), Ppid::E2_UP);
        id.gnb_cu_up_id = None;
        id.gnb_du_id = Some(GnbDuId(1));
        assert_eq!(ppid_of(GlobalE2NodeId::Gnb(id)), Ppid::E2_DU);
    }
}
