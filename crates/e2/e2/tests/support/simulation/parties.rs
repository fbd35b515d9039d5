//! The parts of the simulation: nodes, links, xApps, and the expected state of apps.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use e2::{
    Agent, AgentConfig, AssocId, ConnectionUpdate, Function, NodeId, SubscriptionChange, SubscriptionId, Ticket, Time,
    XappClient,
};
use e2ap::{RanFunctionId, RanFunctionRevision, RicActionId, RicActionType, RicRequestId, Version};

use super::super::notation::gnb;

/// The maximum number of queued reports of an xApp; beyond it, the oldest are dropped.
const MAX_QUEUED_REPORTS: usize = 6;
/// The maximum number of other queued messages of an xApp; beyond it, the xApp is closed.
const MAX_QUEUED_MESSAGES: usize = 24;
/// The number of queued messages from which an xApp receives no node announcements.
const MAX_QUEUED_BEFORE_ANNOUNCEMENTS: usize = 8;

/// A host's clock with an offset.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    skew_nanos: i64,
}

impl Clock {
    /// Returns the time that the clock shows at `moment`.
    pub fn at(self, moment: Time) -> Time {
        Time::from_nanos(moment.as_nanos().saturating_add_signed(self.skew_nanos))
    }

    /// Returns the moment at which the clock shows `shown`.
    pub fn moment(self, shown: Time) -> Time {
        Time::from_nanos(shown.as_nanos().saturating_add_signed(-self.skew_nanos))
    }

    pub fn jump(&mut self, forward: bool, span: Duration) {
        let nanos = i64::try_from(span.as_nanos()).expect("the jump fits");
        self.skew_nanos += if forward { nanos } else { -nanos };
    }
}

/// One direction of a link, in order.
#[derive(Default)]
pub struct PduQueue {
    pub pdus: VecDeque<Vec<u8>>,
    /// No PDU arrives until this time.
    pub delayed_until: Time,
}

impl PduQueue {
    pub fn is_ready(&self, now: Time) -> bool {
        !self.pdus.is_empty() && self.delayed_until <= now
    }

    pub fn delay_until(&mut self, until: Time) {
        self.delayed_until = self.delayed_until.max(until);
    }
}

/// A link between an agent and the controller. Each end is open or closed.
pub struct Connection {
    pub assoc: AssocId,
    pub up: PduQueue,
    pub down: PduQueue,
    pub agent_open: bool,
    pub ric_open: bool,
    /// The time at which keep-alives detect that the other end is closed.
    pub noticed_at: Option<Time>,
}

impl Connection {
    pub fn new(assoc: AssocId) -> Self {
        let (up, down) = (PduQueue::default(), PduQueue::default());
        Connection { assoc, up, down, agent_open: true, ric_open: true, noticed_at: None }
    }

    pub fn queue(&mut self, up: bool) -> &mut PduQueue {
        if up { &mut self.up } else { &mut self.down }
    }
}

/// A message of an xApp that the RIC has not read yet.
pub struct SentMessage {
    pub pdu: Vec<u8>,
    pub kind: MessageKind,
}

pub enum MessageKind {
    Hello,
    /// A command, which is answered.
    Command(Ticket),
    /// A change, which is answered.
    Change(Ticket),
    Unsubscribe,
}

/// A message queued for an xApp.
enum Queued {
    Message,
    /// A report: its subscription and its number.
    Report(SubscriptionId, u64),
}

pub struct Xapp {
    pub assoc: AssocId,
    pub client: XappClient,
    pub state: AppState,
    /// Whether the RIC has read its Hello.
    pub greeted: bool,
    pub sent: VecDeque<SentMessage>,
    /// The xApp reads nothing until this time.
    pub reads_at: Time,
    queue: VecDeque<Queued>,
    reports: usize,
}

impl Xapp {
    pub fn new(assoc: AssocId) -> Self {
        Xapp {
            assoc,
            client: XappClient::new(),
            state: AppState::default(),
            greeted: false,
            sent: VecDeque::new(),
            reads_at: Time::default(),
            queue: VecDeque::new(),
            reports: 0,
        }
    }

    /// Queues a message that is never dropped. Returns whether the limit is kept.
    pub fn queue_message(&mut self) -> bool {
        self.queue.push_back(Queued::Message);
        self.queue.len() - self.reports <= MAX_QUEUED_MESSAGES
    }

    /// Queues a report. Returns whether an older one was dropped.
    pub fn report(&mut self, subscription: SubscriptionId, number: u64) -> bool {
        self.queue.push_back(Queued::Report(subscription, number));
        self.reports += 1;
        if self.reports <= MAX_QUEUED_REPORTS {
            return false;
        }
        let oldest = self.queue.iter().position(|w| matches!(w, Queued::Report(..)));
        self.queue.remove(oldest.expect("a report is queued"));
        self.reports -= 1;
        true
    }

    pub fn has_room_for_announcement(&self) -> bool {
        self.queue.len() - self.reports < MAX_QUEUED_BEFORE_ANNOUNCEMENTS
    }

    /// Reads all queued messages. Returns whether there were any.
    pub fn read(&mut self, now: Time) -> bool {
        if self.reads_at > now || self.queue.is_empty() {
            return false;
        }
        for queued in self.queue.drain(..) {
            if let Queued::Report(subscription, number) = queued {
                self.state.reports.push((subscription, number));
            }
        }
        self.reports = 0;
        true
    }
}

pub struct Node {
    pub agent: Agent,
    pub version: Version,
    pub number: u32,
    pub clock: Clock,
    /// The agent's connection.
    pub connection: Option<usize>,
    /// The RIC is unreachable until this time.
    pub cut_off_until: Time,
    pub waiting_subscriptions: Vec<(RicRequestId, Vec<(RicActionId, RicActionType)>)>,
    pub waiting_controls: Vec<(RicRequestId, RanFunctionId)>,
    pub waiting_queries: Vec<(RicRequestId, RanFunctionId)>,
    pub waiting_changes: Vec<(RicRequestId, SubscriptionChange)>,
    pub waiting_connection: Option<ConnectionUpdate>,
    /// The active subscriptions and their actions.
    pub active: BTreeMap<RicRequestId, BTreeMap<RicActionId, RicActionType>>,
    /// The offered RAN functions with their revisions.
    pub functions: BTreeMap<u16, u16>,
    /// Whether the node was removed; [`super::Simulation::reconnect_removed`] reconnects it.
    pub removed: bool,
}

/// The state of an app: its pending commands, and what the RIC has reported.
#[derive(Default)]
pub struct AppState {
    pub pending: BTreeSet<Ticket>,
    /// The pending changes.
    pub changing: BTreeSet<Ticket>,
    pub active: BTreeSet<SubscriptionId>,
    /// The suspended ones of them.
    pub suspended: BTreeSet<SubscriptionId>,
    /// Those of them that an equal Subscribe may return again.
    pub reclaimable: BTreeSet<SubscriptionId>,
    pub nodes: BTreeSet<NodeId>,
    /// The numbers of the received reports, in order.
    pub reports: Vec<(SubscriptionId, u64)>,
}

impl AppState {
    pub fn answered(&mut self, ticket: Ticket) {
        assert!(self.pending.remove(&ticket), "{ticket:?} is pending and answered once");
    }

    pub fn changed(&mut self, ticket: Ticket) {
        assert!(self.changing.remove(&ticket), "{ticket:?} is pending and answered once");
    }

    pub fn subscribed(&mut self, ticket: Ticket, subscription: SubscriptionId) {
        self.answered(ticket);
        let again = self.reclaimable.remove(&subscription);
        assert!(
            self.active.insert(subscription) || again,
            "{subscription:?} is new, or was suspended and is returned once"
        );
    }

    pub fn suspended(&mut self, subscription: SubscriptionId) {
        assert!(self.active.contains(&subscription), "{subscription:?} was active");
        assert!(self.suspended.insert(subscription), "{subscription:?} is suspended once");
        self.reclaimable.insert(subscription);
    }

    /// A node is lost, perhaps again before the restoration: an equal Subscribe may return the suspended subscriptions once
    /// more.
    pub fn lost(&mut self) {
        self.reclaimable.extend(&self.suspended);
    }

    pub fn resumed(&mut self, subscription: SubscriptionId) {
        assert!(self.suspended.remove(&subscription), "{subscription:?} was suspended");
    }

    /// Ends a subscription. Returns whether it was suspended.
    pub fn ended(&mut self, subscription: SubscriptionId) -> bool {
        let was_suspended = self.suspended.remove(&subscription);
        self.reclaimable.remove(&subscription);
        assert!(self.active.remove(&subscription), "{subscription:?} was active and ends once");
        was_suspended
    }

    /// Whether nothing is pending.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.changing.is_empty() && self.suspended.is_empty()
    }
}

pub fn offering(functions: &BTreeMap<u16, u16>) -> Vec<Function> {
    let function = |(id, revision): (&u16, &u16)| Function {
        id: RanFunctionId(*id),
        revision: RanFunctionRevision(*revision),
        oid: "1.3.6.1".into(),
        definition: revision.to_be_bytes().to_vec(),
    };
    functions.iter().map(function).collect()
}

impl Node {
    /// Forgets the requests that wait for an answer.
    pub fn forget(&mut self, everything: bool) {
        self.waiting_controls.clear();
        self.waiting_queries.clear();
        if everything {
            self.waiting_connection = None;
        }
    }

    pub fn new(number: u32, version: Version) -> Self {
        let functions = BTreeMap::from([(2, 1), (3, 1)]);
        let mut config = AgentConfig::new(gnb(number), offering(&functions));
        config.version = version;
        Node {
            agent: Agent::new(config),
            version,
            number,
            clock: Clock::default(),
            connection: None,
            cut_off_until: Time::default(),
            waiting_subscriptions: Vec::new(),
            waiting_controls: Vec::new(),
            waiting_queries: Vec::new(),
            waiting_changes: Vec::new(),
            waiting_connection: None,
            active: BTreeMap::new(),
            functions,
            removed: false,
        }
    }
}
