//! The parts of the simulation's world: a node and its owner, the links, an xApp, and what an app knows.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use e2::{
    Agent, AgentConfig, AssocId, ConnectionUpdate, Function, NodeId, SubscriptionChange, SubscriptionId, Ticket, Time,
    XappClient,
};
use e2ap::{RanFunctionId, RanFunctionRevision, RicActionId, RicActionType, RicRequestId, Version};

use super::short::gnb;

/// Reports that an xApp's link keeps for it; the oldest go first.
const REPORTS_KEPT: usize = 6;
/// What else an xApp's link keeps for it; one that reads less is closed.
const TOLD_KEPT: usize = 24;
/// Above this, it is not told of further nodes until it has read.
const TOLD_BEFORE_NEWS: usize = 8;

/// A host's clock: it may be off.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    skew_nanos: i64,
}

impl Clock {
    /// What it shows at that moment.
    pub fn at(self, moment: Time) -> Time {
        Time::from_nanos(moment.as_nanos().saturating_add_signed(self.skew_nanos))
    }

    /// The moment at which it shows that.
    pub fn moment(self, shown: Time) -> Time {
        Time::from_nanos(shown.as_nanos().saturating_add_signed(-self.skew_nanos))
    }

    pub fn jump(&mut self, forward: bool, span: Duration) {
        let nanos = i64::try_from(span.as_nanos()).expect("a short span");
        self.skew_nanos += if forward { nanos } else { -nanos };
    }
}

/// One direction of a link, in order.
#[derive(Default)]
pub struct Lane {
    pub pdus: VecDeque<Vec<u8>>,
    /// Nothing arrives before.
    pub held_until: Time,
}

impl Lane {
    pub fn is_ready(&self, now: Time) -> bool {
        !self.pdus.is_empty() && self.held_until <= now
    }

    pub fn hold(&mut self, until: Time) {
        self.held_until = self.held_until.max(until);
    }
}

/// A link between an agent and the controller, as long as both ends hold it.
pub struct Wire {
    pub assoc: AssocId,
    pub up: Lane,
    pub down: Lane,
    pub agent_holds: bool,
    pub ric_holds: bool,
    /// When keep-alives find at the latest that there is nobody at the other end.
    pub noticed_at: Option<Time>,
}

impl Wire {
    pub fn new(assoc: AssocId) -> Self {
        let (up, down) = (Lane::default(), Lane::default());
        Wire { assoc, up, down, agent_holds: true, ric_holds: true, noticed_at: None }
    }

    pub fn lane(&mut self, up: bool) -> &mut Lane {
        if up { &mut self.up } else { &mut self.down }
    }
}

/// What an xApp has said and the RIC has not heard yet.
pub struct Said {
    pub pdu: Vec<u8>,
    pub what: What,
}

pub enum What {
    Hello,
    /// Something that is answered.
    Command(Ticket),
    /// A change, which is answered.
    Change(Ticket),
    Leave,
}

/// What the RIC's link has for an xApp.
enum Waiting {
    Told,
    /// A report: of what, and its number.
    Report(SubscriptionId, u64),
}

pub struct Xapp {
    pub assoc: AssocId,
    pub client: XappClient,
    pub knows: Knowledge,
    /// The RIC has heard its hello.
    pub greeted: bool,
    pub said: VecDeque<Said>,
    /// It reads nothing before.
    pub reads_at: Time,
    waiting: VecDeque<Waiting>,
    reports: usize,
}

impl Xapp {
    pub fn new(assoc: AssocId) -> Self {
        Xapp {
            assoc,
            client: XappClient::new(),
            knows: Knowledge::default(),
            greeted: false,
            said: VecDeque::new(),
            reads_at: Time::default(),
            waiting: VecDeque::new(),
            reports: 0,
        }
    }

    /// Its link has something for it that is never dropped. Whether there is room for it.
    pub fn tell(&mut self) -> bool {
        self.waiting.push_back(Waiting::Told);
        self.waiting.len() - self.reports <= TOLD_KEPT
    }

    /// Its link has a report for it. Whether an older one had to make room.
    pub fn report(&mut self, subscription: SubscriptionId, number: u64) -> bool {
        self.waiting.push_back(Waiting::Report(subscription, number));
        self.reports += 1;
        if self.reports <= REPORTS_KEPT {
            return false;
        }
        let oldest = self.waiting.iter().position(|w| matches!(w, Waiting::Report(..)));
        self.waiting.remove(oldest.expect("there are some"));
        self.reports -= 1;
        true
    }

    pub fn has_room_for_news(&self) -> bool {
        self.waiting.len() - self.reports < TOLD_BEFORE_NEWS
    }

    /// It reads all that there is for it. Whether there was anything.
    pub fn read(&mut self, now: Time) -> bool {
        if self.reads_at > now || self.waiting.is_empty() {
            return false;
        }
        for waiting in self.waiting.drain(..) {
            if let Waiting::Report(subscription, number) = waiting {
                self.knows.reports.push((subscription, number));
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
    /// The wire that the agent is on.
    pub wire: Option<usize>,
    /// No way leads to the RIC before.
    pub cut_off_until: Time,
    pub waiting_subscriptions: Vec<(RicRequestId, Vec<(RicActionId, RicActionType)>)>,
    pub waiting_controls: Vec<(RicRequestId, RanFunctionId)>,
    pub waiting_queries: Vec<(RicRequestId, RanFunctionId)>,
    pub waiting_changes: Vec<(RicRequestId, SubscriptionChange)>,
    pub waiting_connection: Option<ConnectionUpdate>,
    /// The subscriptions that stand, and their actions.
    pub active: BTreeMap<RicRequestId, BTreeMap<RicActionId, RicActionType>>,
    /// What it offers.
    pub functions: BTreeMap<u16, u16>,
    /// It left in order, and comes back when it is asked to.
    pub removed: bool,
}

/// What an app knows: what it asked for, and what it was told.
#[derive(Default)]
pub struct Knowledge {
    pub pending: BTreeSet<Ticket>,
    /// Changes that were asked for.
    pub changing: BTreeSet<Ticket>,
    pub active: BTreeSet<SubscriptionId>,
    /// Those of them that wait for their node.
    pub suspended: BTreeSet<SubscriptionId>,
    /// Those of them that may be given again to who asks for the same.
    pub came_back: BTreeSet<SubscriptionId>,
    pub nodes: BTreeSet<NodeId>,
    /// The numbers of what was reported to it, in order.
    pub reports: Vec<(SubscriptionId, u64)>,
}

impl Knowledge {
    pub fn answered(&mut self, ticket: Ticket) {
        assert!(self.pending.remove(&ticket), "{ticket:?} is answered once, and was asked for");
    }

    pub fn changed(&mut self, ticket: Ticket) {
        assert!(self.changing.remove(&ticket), "{ticket:?} is answered once, and was asked for");
    }

    pub fn subscribed(&mut self, ticket: Ticket, subscription: SubscriptionId) {
        self.answered(ticket);
        let again = self.came_back.remove(&subscription);
        assert!(
            self.active.insert(subscription) || again,
            "{subscription:?} is given once, and once when it came back"
        );
    }

    pub fn waits(&mut self, subscription: SubscriptionId) {
        assert!(self.active.contains(&subscription), "{subscription:?} stood");
        assert!(self.suspended.insert(subscription), "{subscription:?} is suspended once");
        self.came_back.insert(subscription);
    }

    /// A node is lost, perhaps before what waited for it stood again: who asks for that may be given it once more.
    pub fn lost(&mut self) {
        self.came_back.extend(&self.suspended);
    }

    pub fn stands(&mut self, subscription: SubscriptionId) {
        assert!(self.suspended.remove(&subscription), "{subscription:?} was suspended");
    }

    /// Whether it had waited for its node.
    pub fn ended(&mut self, subscription: SubscriptionId) -> bool {
        let waited = self.suspended.remove(&subscription);
        self.came_back.remove(&subscription);
        assert!(self.active.remove(&subscription), "{subscription:?} ends once, and stood");
        waited
    }

    /// Nothing is under way.
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
    /// What waited for an answer does so no more.
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
            wire: None,
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
