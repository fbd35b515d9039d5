//! The parts of the simulation's world: a node and its owner, and what an app knows.

use std::collections::{BTreeMap, BTreeSet};

use e2::{Agent, AgentConfig, ConnectionUpdate, Function, NodeId, SubscriptionChange, SubscriptionId, Ticket};
use e2ap::{RanFunctionId, RanFunctionRevision, RicActionId, RicRequestId, Version};

use super::short::gnb;

pub struct Node {
    pub agent: Agent,
    pub version: Version,
    pub number: u32,
    /// The wire that the agent is on.
    pub wire: Option<usize>,
    pub waiting_subscriptions: Vec<(RicRequestId, Vec<RicActionId>)>,
    pub waiting_controls: Vec<(RicRequestId, RanFunctionId)>,
    pub waiting_queries: Vec<(RicRequestId, RanFunctionId)>,
    pub waiting_changes: Vec<(RicRequestId, SubscriptionChange)>,
    pub waiting_connection: Option<ConnectionUpdate>,
    pub active: BTreeMap<RicRequestId, RicActionId>,
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

    pub fn stands(&mut self, subscription: SubscriptionId) {
        assert!(self.suspended.remove(&subscription), "{subscription:?} was suspended");
    }

    pub fn ended(&mut self, subscription: SubscriptionId) {
        self.suspended.remove(&subscription);
        self.came_back.remove(&subscription);
        assert!(self.active.remove(&subscription), "{subscription:?} ends once, and stood");
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
            wire: None,
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
