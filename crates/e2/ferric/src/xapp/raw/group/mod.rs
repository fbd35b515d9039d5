//! Sessions with several RICs that share E2 nodes, as one.
//!
//! Each node is used at one RIC at a time: at the one that it has set up at last, as far as the RICs have said. Nodes, subscriptions,
//! tickets and questions have numbers of the group, which [`commands`] and [`translate`] map to those of the sessions.

mod commands;
mod learned;
mod translate;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use e2::xapp::NodeInfo;
use e2::{NodeId, RefusalCode, RequestEvent, SubscriptionId, Ticket};
use e2ap::GlobalE2NodeId;
use link::{Address, Events, Interest, Poll};

use super::exchange::SessionEvent;
use super::reconnect::{after, is_recoverable};
use super::session_state::SessionState;
use super::{Commands, Xapp, XappConfig, XappEvent};
use crate::event_loop::STOP_TOKEN;
use crate::{Error, StopHandle};

pub(super) use commands::GroupCommands;
use learned::NamedRics;
use translate::Translator;

/// The most RICs of a group.
pub const MAX_RICS: usize = 64;
/// The time between two attempts to connect while there is no RIC yet.
const RETRY: Duration = Duration::from_millis(200);
/// How long `connect` waits for the other RICs once one has answered.
const FURTHER_RICS: Duration = Duration::from_secs(1);
/// A node that is known by two RICs for that long is reported.
const MAX_HANDOVER: Duration = Duration::from_secs(30);
/// A node that a RIC has taken so often from another one within that time stays where it is.
const MAX_MOVES: usize = 3;
/// The list of nodes that follows the welcome ends at the first pause of that length.
const LIST_PAUSE: Duration = Duration::from_millis(200);
/// The nodes whose last RIC is remembered, to recognise a move.
const MAX_NODES: usize = 65_536;

/// A session with several RICs that share E2 nodes (`docs/several-rics.md`). It has the events and commands of an
/// [`Xapp`], and these differences:
///
/// - A node is used at one RIC at a time, that of its last `NodeUp`; one in the list after the welcome takes no node from
///   another RIC. When it appears at another one, it is lost at the first, at most 3 times within 30 s; after its `NodeUp`
///   there [`XappEvent::NodeMoved`] follows. It has another [`NodeId`] then, and the same global id.
/// - A subscription ends with the connection of its node to its RIC, and is not resumed, whatever its order says: subscribe at each
///   `NodeUp`. Nothing of a subscription that has ended is reported.
/// - [`XappEvent::Disconnected`] says that no RIC is left, [`XappEvent::Reconnected`] that there is one again. Others come and go with
///   their nodes. Each is tried again after [`XappConfig::reconnect`]; one that refuses the session, after its longest delay.
/// - Messages of services go to one of the RICs, offers to be an arbiter to all.
/// - RICs that those of the group name are used as well ([`XappConfig::learns_rics`]): over the same kind of link as the one that names
///   them, and as long as one names them or they have a session. Those that were given always stay.
pub struct XappGroup {
    poll: Poll,
    events: Events,
    stop: StopHandle,
    members: Vec<Member>,
    state: GroupState,
    name: String,
    config: XappConfig,
    /// Nodes that came before the first `poll`.
    unreported_nodes: Vec<NodeId>,
}

/// A RIC of a group.
struct Member {
    address: Arc<str>,
    /// Taken while its events are handled.
    xapp: Option<Box<Xapp>>,
    is_open: bool,
    /// Why there is no session, since it was open.
    failure: Option<Error>,
    /// The reports that it has dropped in this session.
    dropped: u64,
    /// Until when a `NodeUp` belongs to the list of nodes after the welcome.
    listing: Option<Instant>,
    /// The number of the session.
    session: u16,
    /// Whether it was named by another one.
    is_learned: bool,
    /// Whether it was asked for the others, and has not answered.
    is_asked: bool,
    /// The RICs that it has named at last, in this session or one before.
    named: NamedRics,
}

/// What the numbers of a group stand for.
#[derive(Default)]
struct GroupState {
    /// The nodes that are up, where they are used.
    nodes: BTreeMap<NodeId, Route>,
    /// What RICs have said of nodes.
    known: BTreeMap<GlobalE2NodeId, KnownNode>,
    subscriptions: HashMap<SubscriptionId, (usize, SubscriptionId)>,
    /// The subscriptions by the numbers of the sessions, with their nodes.
    own_subscriptions: HashMap<(usize, SubscriptionId), (SubscriptionId, NodeId)>,
    requests: HashMap<(usize, Ticket), PendingRequest>,
    /// The tickets of controls that are verified.
    verified: HashMap<(usize, Ticket), Ticket>,
    next_node: u32,
    next_subscription: u32,
    next_ticket: u32,
    offer: Option<ArbiterOffer>,
    /// The RICs and numbers of questions whose decisions are not answered.
    decisions: HashSet<(usize, u64)>,
    /// The RIC whose services are used.
    home: Option<usize>,
    /// Whether RICs are asked for others.
    learns_rics: bool,
    /// When what they have named is followed, since that or who has a session has changed; and when it was last.
    follow_lists_at: Option<Instant>,
    lists_followed: Option<Instant>,
    /// The results of commands that no RIC can have.
    undeliverable: Vec<RequestEvent>,
    /// When nodes that are known by two RICs are looked for.
    next_check: Option<Instant>,
    /// The reports that sessions before had dropped.
    dropped_before: u64,
    /// The setups that did not move their node, since it had moved too often, and when that was logged last.
    holds: u64,
    holds_logged: Option<Instant>,
}

/// A node where it is used.
struct Route {
    member: usize,
    own: NodeId,
    info: Arc<NodeInfo>,
    subscriptions: BTreeSet<SubscriptionId>,
    /// Its subscriptions without an answer, by the tickets of the session.
    requests: BTreeSet<Ticket>,
}

/// What RICs have said of a node.
#[derive(Default)]
struct KnownNode {
    used: Option<NodeId>,
    /// The RIC at which it was used last.
    last: Option<usize>,
    /// The RICs that have it too, with its numbers there: one it has left, or of another group.
    others: Vec<(usize, NodeInfo)>,
    /// Since when there are others, until that is reported.
    since: Option<Instant>,
    /// When RICs have taken it from others, within the time that counts.
    moves: Vec<Instant>,
}

impl KnownNode {
    /// Whether it has not moved too often of late.
    fn may_move(&mut self, now: Instant) -> bool {
        self.moves.retain(|at| now.saturating_duration_since(*at) < MAX_HANDOVER);
        self.moves.len() < MAX_MOVES
    }

    fn add_other(&mut self, member: usize, info: NodeInfo, now: Instant) {
        self.others.push((member, info));
        self.since.get_or_insert(now);
    }
}

/// A request without an answer.
struct PendingRequest {
    ticket: Ticket,
    kind: RequestKind,
}

enum RequestKind {
    Subscribe(NodeId),
    Modify(SubscriptionId),
    Control,
    Query,
}

/// The offer to be an arbiter.
struct ArbiterOffer {
    unanswered: BTreeSet<usize>,
    admitted: BTreeSet<usize>,
    refusal: Option<RefusalCode>,
}

/// What the number of a question stands for: RICs number theirs from 0 on in each session.
struct QuestionNumber {
    member: usize,
    session: u16,
    own: u64,
}

impl QuestionNumber {
    const MAX_OWN: u64 = (u64::MAX / MAX_RICS as u64) >> u16::BITS;

    fn read(number: u64) -> Self {
        let rest = number / MAX_RICS as u64;
        let member = (number % MAX_RICS as u64) as usize;
        QuestionNumber { member, session: rest as u16, own: rest >> u16::BITS }
    }

    /// `None` beyond the numbers that RICs reach.
    fn number(&self) -> Option<u64> {
        let own = Some(self.own).filter(|own| *own <= Self::MAX_OWN)?;
        Some(((own << u16::BITS) | u64::from(self.session)) * MAX_RICS as u64 + self.member as u64)
    }
}

/// The answer to a decision on a question that is lost with its RIC.
fn unknown_question(question: u64) -> RequestEvent {
    RequestEvent::Decided { question, refusal: Some(RefusalCode::UnknownQuestion) }
}

impl Member {
    fn new(xapp: Box<Xapp>, is_learned: bool) -> Self {
        Member {
            address: xapp.address().to_string().into(),
            xapp: Some(xapp),
            is_open: false,
            failure: None,
            dropped: 0,
            listing: None,
            session: 0,
            is_learned,
            is_asked: false,
            named: NamedRics::default(),
        }
    }

    fn deadline(&self, config: &XappConfig) -> Option<Instant> {
        // one that was lost is not tried again
        if self.failure.is_some() && config.reconnect.is_none() {
            return None;
        }
        self.xapp.as_ref()?.deadline()
    }

    /// Whether a `NodeUp` belongs to the list after the welcome.
    fn is_listed(&mut self, now: Instant) -> bool {
        self.listing = self.listing.filter(|until| now < *until).map(|_| now + LIST_PAUSE);
        self.listing.is_some()
    }

    fn has_unsent(&self) -> bool {
        self.xapp.as_ref().is_some_and(|xapp| xapp.has_unsent())
    }

    /// Whether it cannot get better by itself.
    fn is_refused(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| !is_recoverable(failure))
    }
}

impl XappGroup {
    /// Connects to RICs; an address that comes twice is used once. Waits until one of them has answered, for as long as `timeout`, and
    /// then for the others, 1 s at most. Those that are absent are tried again from then on.
    ///
    /// # Errors
    /// When none answers in time, all refuse the session, or the system refuses a file descriptor.
    ///
    /// # Panics
    /// Without an address, and with more than [`MAX_RICS`].
    pub fn connect(
        addresses: &[Address],
        name: &str,
        config: XappConfig,
        timeout: Duration,
    ) -> Result<XappGroup, Error> {
        let begin = Instant::now();
        let mut group = XappGroup::unconnected(addresses, name, config)?;
        // until there is a session all are tried again
        group.config.reconnect.get_or_insert_default();
        let (mut opened, mut is_waiting) = (None, false);
        loop {
            group.poll_with(Some(RETRY), &mut |_, _| ())?;
            let now = Instant::now();
            let is_settled = group.members.iter().all(|member| member.is_open || member.failure.is_some());
            if group.members.iter().any(|member| member.is_open) {
                let since = *opened.get_or_insert(now);
                if is_settled || now >= since + FURTHER_RICS {
                    break;
                }
                continue;
            }
            let is_late = now.saturating_duration_since(begin) + RETRY >= timeout;
            if let Some(failure) =
                group.members.iter_mut().find_map(|member| member.failure.take_if(|_| is_settled && is_late))
            {
                return Err(failure);
            }
            if is_settled && !std::mem::replace(&mut is_waiting, true) {
                tracing::warn!(rics = %group.addresses(), "no RIC at these addresses yet: waiting for one; `ferric ric` starts one");
            }
            for member in group.members.iter_mut().filter(|member| !member.is_refused()) {
                if let Some(xapp) = &mut member.xapp {
                    xapp.retry(|at| at.min(now + RETRY));
                }
            }
        }
        for xapp in group.members.iter_mut().filter_map(|member| member.xapp.as_mut()) {
            xapp.pause = xapp.config.reconnect.unwrap_or_default().first;
            group.config.reconnect = xapp.config.reconnect;
        }
        group.unreported_nodes = group.state.nodes.keys().copied().collect();
        Ok(group)
    }

    fn unconnected(addresses: &[Address], name: &str, config: XappConfig) -> Result<XappGroup, Error> {
        let poll = Poll::new().map_err(Error::epoll)?;
        let stop = StopHandle::new(&poll).map_err(Error::epoll)?;
        let mut members: Vec<Member> = Vec::new();
        for address in addresses {
            let text: Arc<str> = address.to_string().into();
            if members.iter().any(|member| member.address == text) {
                tracing::warn!(ric = %text, "the address of the RIC is given twice: it is used once");
                continue;
            }
            let mut xapp = Box::new(Xapp::unconnected(address, name, config.clone())?);
            // the group knows what is not answered, and resumes nothing
            xapp.requests.state = SessionState::new(false);
            poll.add(&xapp.poll, members.len() as u64, Interest::READ).map_err(Error::epoll)?;
            members.push(Member::new(xapp, false));
        }
        assert!((1..=MAX_RICS).contains(&members.len()), "a group has 1 to {MAX_RICS} RICs, not {}", members.len());
        let state = GroupState { learns_rics: config.learns_rics, ..GroupState::default() };
        let (name, events, unreported_nodes) = (name.to_owned(), Events::new(), Vec::new());
        Ok(XappGroup { poll, events, stop, members, state, name, config, unreported_nodes })
    }

    /// Returns the addresses of the RICs, separated by spaces.
    #[must_use]
    pub fn addresses(&self) -> String {
        let members = self.members.iter().filter(|member| !member.is_vacant());
        members.map(|member| &*member.address).collect::<Vec<_>>().join(" ")
    }

    /// Returns the nodes that are up, each once.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeInfo> {
        self.state.nodes.values().map(|route| &*route.info)
    }

    /// Returns the address of the RIC at which a node is used.
    #[must_use]
    pub fn ric_of(&self, node: NodeId) -> Option<&str> {
        Some(&self.members[self.state.nodes.get(&node)?.member].address)
    }

    /// Returns a handle that makes [`XappGroup::poll`] return early; see [`StopHandle::is_stopped`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Returns the commands, for use outside of the handler. The next [`XappGroup::poll`] sends them.
    pub fn commands(&mut self) -> Commands<'_> {
        let XappGroup { state, members, .. } = self;
        Commands::of_group(GroupCommands { state, members, current: None })
    }

    /// Waits for messages for at most `timeout` (`None`: without limit), then passes all events to `handle`: those of each RIC in order.
    ///
    /// # Errors
    /// When all RICs refuse the session, or all are lost and [`XappConfig::reconnect`] is `None`: the session is over.
    pub fn poll(
        &mut self,
        timeout: Option<Duration>,
        mut handle: impl FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        self.follow_lists(&mut handle)?;
        let until_lists = self.state.follow_lists_at.map(|at| at.saturating_duration_since(Instant::now()));
        self.poll_with([timeout, until_lists].into_iter().flatten().min(), &mut handle)
    }

    fn poll_with(
        &mut self,
        timeout: Option<Duration>,
        handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let mut has_news = !self.state.undeliverable.is_empty() || self.members.iter().any(Member::has_unsent);
        for node in std::mem::take(&mut self.unreported_nodes) {
            if let Some(info) = self.state.nodes.get(&node).map(|route| Arc::clone(&route.info)) {
                has_news = true;
                handle(XappEvent::NodeUp(&info), &mut self.commands());
            }
        }
        let deadlines = self.members.iter().filter_map(|member| member.deadline(&self.config));
        let deadline = deadlines.chain(self.state.next_check).min();
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let left = [timeout, left, has_news.then_some(Duration::ZERO)].into_iter().flatten().min();
        self.poll.wait(&mut self.events, left).map_err(Error::epoll)?;
        let mut ready = [false; MAX_RICS];
        for event in self.events.iter().filter(|event| event.token != STOP_TOKEN) {
            ready[event.token as usize] = true;
        }
        let now = Instant::now();
        for (at, is_ready) in ready.into_iter().enumerate().take(self.members.len()) {
            let member = &self.members[at];
            if is_ready || member.has_unsent() || member.deadline(&self.config).is_some_and(|due| due <= now) {
                self.advance(at, handle)?;
            }
        }
        for event in std::mem::take(&mut self.state.undeliverable) {
            handle(XappEvent::Request(event), &mut self.commands());
        }
        if self.state.next_check.is_some_and(|at| at <= now) {
            self.report_shared_nodes(now);
        }
        Ok(())
    }

    /// Does what is due at a RIC.
    fn advance(&mut self, at: usize, handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>)) -> Result<(), Error> {
        let XappGroup { state, members, config, .. } = self;
        let Some(mut xapp) = members[at].xapp.take() else { return Ok(()) };
        let mut translate = |event: SessionEvent<'_>, commands: &mut Commands<'_>| {
            if let Some(own) = commands.queue() {
                Translator { state: &mut *state, members: &mut *members, at, own }.handle(event, handle);
            }
        };
        let failed = xapp.advance(&mut translate).err();
        if failed.is_some() {
            xapp.lose(&mut |event, commands| translate(SessionEvent::Event(event), commands));
        }
        if let Some(error) = failed {
            let member = &mut members[at];
            match (&member.failure, config.reconnect) {
                (Some(_), _) => tracing::debug!(ric = %member.address, %error, "no session with the RIC"),
                (None, None) => tracing::warn!(ric = %member.address, %error, "no session with the RIC"),
                (None, Some(_)) => {
                    tracing::warn!(ric = %member.address, %error, "no session with the RIC; it is tried again");
                }
            }
            if let Some(reconnect) = config.reconnect.filter(|_| !is_recoverable(&error)) {
                xapp.retry(|at| at.max(after(reconnect.last)));
            }
            member.failure = Some(error);
        }
        members[at].xapp = Some(xapp);
        let is_over = |member: &Member| {
            member.is_vacant() || member.is_refused() || member.failure.is_some() && config.reconnect.is_none()
        };
        if !members.iter().all(is_over) {
            return Ok(());
        }
        members[at].failure.take().map_or(Ok(()), Err)
    }

    /// Reports nodes that two RICs have for longer than a hand-over takes.
    fn report_shared_nodes(&mut self, now: Instant) {
        let GroupState { known, nodes, next_check, .. } = &mut self.state;
        *next_check = None;
        for (id, node) in known {
            let Some(since) = node.since else { continue };
            if now < since + MAX_HANDOVER {
                *next_check = Some(next_check.map_or(since + MAX_HANDOVER, |at| at.min(since + MAX_HANDOVER)));
                continue;
            }
            node.since = None;
            let used = node.used.and_then(|used| Some(nodes.get(&used)?.member));
            let other = node.others.iter().rfind(|(member, _)| Some(*member) != used);
            let other = other.map(|(member, _)| &*self.members[*member].address);
            let used = used.map(|used| &*self.members[used].address);
            if let (Some(other), Some(used)) = (other, used) {
                tracing::warn!(
                    node = %id,
                    "{used} and {other} both have this node: it is used at the former. Connect to RICs of two groups separately"
                );
            }
        }
    }
}

impl fmt::Debug for XappGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XappGroup").field("addresses", &self.addresses()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
