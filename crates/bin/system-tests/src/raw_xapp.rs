//! An xApp that sends octets of its own to a RAN function.

use std::time::Instant;

use ferric::e2::{Action, ControlOutcome, NodeId, RequestEvent, SubscribeError, SubscriptionSpec};
use ferric::e2ap::{Cause, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType};
use ferric::xapp::{Xapp, XappConfig, XappEvent};
use per::Gather;

use crate::{PATIENCE, TestRic};

/// An xApp of a RIC with one node.
pub struct RawXapp {
    xapp: Xapp,
    node: NodeId,
    function: RanFunctionId,
    /// The object identifier of the function.
    pub oid: String,
    /// The revision of the function.
    pub revision: RanFunctionRevision,
    /// The definition of the function.
    pub definition: Vec<u8>,
}

impl RawXapp {
    /// Connects to the only function of the only node with one of these object identifiers.
    ///
    /// # Panics
    /// If there is another number of them.
    #[must_use]
    pub fn connect(ric: &TestRic, oids: &[&str]) -> RawXapp {
        let xapp = Xapp::connect(&ric.xapp, "raw", XappConfig::default()).unwrap();
        let node = xapp.nodes().next().expect("a node");
        let found: Vec<_> = node.functions.iter().filter(|function| oids.contains(&&*function.oid)).collect();
        let [function] = found[..] else { panic!("{} functions with one of {oids:?}", found.len()) };
        let (id, revision, oid) = (function.id, function.revision, function.oid.to_string());
        let (node, definition) = (node.id, function.definition.to_vec());
        RawXapp { xapp, node, function: id, oid, revision, definition }
    }

    /// Waits until `read` finds something.
    fn await_event<T>(&mut self, what: &str, mut read: impl FnMut(&XappEvent<'_>) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut found = None;
        while found.is_none() {
            assert!(Instant::now() < deadline, "no {what}");
            let poll = self.xapp.poll(Some(PATIENCE), |event, _| {
                if found.is_none() {
                    found = read(&event);
                }
            });
            poll.unwrap();
        }
        found.unwrap()
    }

    /// Sends a control, and returns its answer.
    pub fn control(&mut self, header: &[u8], message: &[u8]) -> ControlOutcome {
        let asked = self.xapp.commands().control(self.node, self.function, header, message);
        self.await_event("answer to the control", |event| match event {
            XappEvent::Request(RequestEvent::Controlled { ticket, outcome }) if *ticket == asked => {
                Some(outcome.clone())
            }
            _ => None,
        })
    }

    /// Subscribes to reports.
    ///
    /// # Errors
    /// The cause of a refusal.
    pub fn subscribe(&mut self, event_trigger: Vec<u8>, definition: Vec<u8>) -> Result<(), Cause> {
        let (id, kind) = (RicActionId(1), RicActionType::Report);
        let actions = vec![Action { id, kind, definition: Some(definition), subsequent: None }];
        let spec = SubscriptionSpec { event_trigger, actions };
        let asked = self.xapp.commands().subscribe(self.node, self.function, spec);
        self.await_event("answer to the subscription", |event| match event {
            XappEvent::Request(RequestEvent::Subscribed { ticket, .. }) if *ticket == asked => Some(Ok(())),
            XappEvent::Request(RequestEvent::SubscriptionFailed { ticket, error }) if *ticket == asked => match error {
                SubscribeError::Refused { cause, .. } => Some(Err(*cause)),
                other => panic!("{other}"),
            },
            _ => None,
        })
    }

    /// Waits for a report, and returns its message.
    pub fn next_report(&mut self) -> Vec<u8> {
        self.await_event("report", |event| match event {
            XappEvent::Indication(indication) => {
                let gather = Gather::new();
                Some(indication.decode(&gather).unwrap().message.to_cow().into_owned())
            }
            _ => None,
        })
    }
}
