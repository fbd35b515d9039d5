//! A RIC's side of the RIC-xApp protocol.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use crate::outbox::Outbox;
use crate::xapp::protocol::{PROTOCOL_VERSION, ProtocolError, RicMessage, XappMessage};
use crate::xapp::wire::MAX_REVISION;
use crate::{
    AssocId, CloseReason, Consumer, ControlOutcome, Controller, Event, Misuse, ModifyOutcome, NodeId, Notice,
    QueryOutcome, RefusalCode, RequestEvent, SubscribeError, Time, XappRights,
};

/// The sessions of all xApps: turns what they say into commands of a [`Controller`], and its news into what they are
/// told. Their indications do not come through here: the event loop puts each node's PDU into an
/// [`Envelope`](super::Envelope) itself.
#[derive(Debug)]
pub struct XappHost {
    pub(super) sessions: HashMap<AssocId, Session>,
    pub(super) by_consumer: BTreeMap<Consumer, AssocId>,
    /// Nodes whose coming was told to all, and whose going was not: an xApp that says hello in between hears of each once.
    pub(super) told: BTreeSet<NodeId>,
    /// Sessions that [`XappHost::poll_news`] has something for, oldest first.
    pub(super) behind: VecDeque<AssocId>,
    pub(super) hints: Vec<FunctionHint>,
    /// Of sessions of which something is known; the others may do everything.
    pub(super) rights: HashMap<AssocId, Arc<XappRights>>,
    pub(super) next_consumer: u32,
    pub(super) outbox: Outbox,
    pub(super) closes: VecDeque<(AssocId, CloseReason)>,
    pub(super) notices: VecDeque<(AssocId, Notice)>,
    pub(super) scratch: Vec<u8>,
}

/// Which revision of its service model a node's function speaks, where somebody knows it better than the node tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionHint {
    /// The node, as its [`e2ap::GlobalE2NodeId`] is written.
    pub node: String,
    /// Object identifiers under which nodes register the service model.
    pub oids: Vec<&'static str>,
    /// The revision, as the service model calls it: 16 octets at most.
    pub revision: String,
}

#[derive(Debug)]
pub(super) enum Session {
    /// No hello yet.
    Greeting,
    Open {
        consumer: Consumer,
        /// Commands that made no sense, or that it had no right to: told to the log at powers of two.
        misuses: u64,
        /// Nodes that it is still to be told of. One that goes before is never mentioned.
        untold: BTreeSet<NodeId>,
        /// Nodes that changed since it was told of them, or was not.
        changed: BTreeSet<NodeId>,
        /// Nodes that it is not told of, for it may do nothing with them.
        hidden: BTreeSet<NodeId>,
        /// Whether it is among those behind.
        behind: bool,
    },
}

/// Consumers below this are the caller's own: iApps.
const FIRST_XAPP: u32 = 1 << 16;

impl Default for XappHost {
    fn default() -> Self {
        XappHost::new()
    }
}

impl XappHost {
    /// A host without sessions.
    #[must_use]
    pub fn new() -> Self {
        XappHost {
            sessions: HashMap::new(),
            by_consumer: BTreeMap::new(),
            told: BTreeSet::new(),
            behind: VecDeque::new(),
            hints: Vec::new(),
            rights: HashMap::new(),
            next_consumer: FIRST_XAPP,
            outbox: Outbox::default(),
            closes: VecDeque::new(),
            notices: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// What xApps are told of functions beyond what the nodes tell.
    ///
    /// # Panics
    /// Where a revision has more than 16 octets: xApps could not read it.
    pub fn set_hints(&mut self, hints: Vec<FunctionHint>) {
        assert!(hints.iter().all(|hint| hint.revision.len() <= MAX_REVISION), "a revision has at most 16 octets");
        self.hints = hints;
    }

    /// Whose association a consumer is, if it is an xApp's.
    #[inline]
    #[must_use]
    pub fn assoc(&self, consumer: Consumer) -> Option<AssocId> {
        self.by_consumer.get(&consumer).copied()
    }

    /// How many xApps have said hello.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.by_consumer.len()
    }

    /// An xApp's association is there.
    pub fn handle_open(&mut self, assoc: AssocId) {
        self.sessions.insert(assoc, Session::Greeting);
    }

    /// An xApp's association is gone: so is all that it asked for.
    pub fn handle_close(&mut self, now: Time, assoc: AssocId, controller: &mut Controller) {
        self.rights.remove(&assoc);
        if let Some(Session::Open { consumer, .. }) = self.sessions.remove(&assoc) {
            self.by_consumer.remove(&consumer);
            controller.drop_consumer(now, consumer);
        }
    }

    /// An xApp says something.
    pub fn handle_pdu(&mut self, now: Time, assoc: AssocId, pdu: &[u8], controller: &mut Controller) {
        let session = match self.sessions.get(&assoc) {
            None => return, // turned away, and not gone yet
            Some(Session::Greeting) => None,
            Some(Session::Open { consumer, .. }) => Some(*consumer),
        };
        let message = match (XappMessage::decode(pdu), session) {
            (Ok(XappMessage::Hello { lowest, highest, .. }), None) => {
                return self.hello(now, assoc, lowest, highest, controller);
            }
            (Ok(message), Some(_)) => message,
            (Ok(_), None) => return self.turn_away(now, assoc, RefusalCode::Protocol, "no hello first", controller),
            // from there on the RIC says it
            (Err(ProtocolError::UnknownMessage(0x80..)), Some(_)) => {
                return self.turn_away(now, assoc, RefusalCode::Protocol, "only a RIC says this", controller);
            }
            (Err(_), _) => {
                return self.turn_away(now, assoc, RefusalCode::Protocol, "not a message of the protocol", controller);
            }
        };
        let Some(consumer) = session else { return };
        if let Some(refusal) = self.denial(assoc, &message, controller) {
            return self.send(assoc, &refusal);
        }
        match message {
            XappMessage::Subscribe { ticket, node, function, order } => {
                if let Err(misuse) = controller.subscribe(now, consumer, ticket, node, function, order) {
                    let error = SubscribeError::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::SubscriptionFailed { ticket, error });
                }
            }
            XappMessage::Unsubscribe { subscription } => {
                if let Err(misuse) = controller.unsubscribe(now, consumer, subscription) {
                    self.misused(assoc, "an xApp may only leave a subscription of its own");
                    self.send(assoc, &RicMessage::Refused(code(misuse)));
                }
            }
            XappMessage::Control { ticket, node, function, ack, call_process_id, header, message } => {
                let call = call_process_id.as_deref();
                let result = controller.control(now, consumer, ticket, node, function, &header, &message, call, ack);
                if let Err(misuse) = result {
                    let outcome = ControlOutcome::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::Controlled { ticket, outcome });
                }
            }
            XappMessage::Modify { ticket, subscription, change } => {
                if let Err(misuse) = controller.modify(now, consumer, ticket, subscription, change) {
                    let outcome = ModifyOutcome::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::Modified { ticket, subscription, outcome });
                }
            }
            XappMessage::AnswerChange { subscription, refused } => {
                // too late, mostly: it is agreed to by now, or the subscription is gone
                if let Err(misuse) = controller.answer_change(now, consumer, subscription, &refused) {
                    self.misused(assoc, "an xApp answers a change that it was asked about, once and in time");
                    self.send(assoc, &RicMessage::Refused(code(misuse)));
                }
            }
            XappMessage::Query { ticket, node, function, header, definition } => {
                if let Err(misuse) = controller.query(now, consumer, ticket, node, function, &header, &definition) {
                    let outcome = QueryOutcome::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::Queried { ticket, outcome });
                }
            }
            XappMessage::Hello { .. } => {
                self.turn_away(now, assoc, RefusalCode::Protocol, "a second hello", controller);
            }
        }
    }

    fn hello(&mut self, now: Time, assoc: AssocId, lowest: u16, highest: u16, controller: &mut Controller) {
        if !(lowest..=highest).contains(&PROTOCOL_VERSION) {
            return self.turn_away(now, assoc, RefusalCode::Version, "no version in common", controller);
        }
        let consumer = self.next_consumer();
        let untold = self.told.clone();
        let (changed, hidden) = (BTreeSet::new(), BTreeSet::new());
        self.sessions.insert(assoc, Session::Open { consumer, misuses: 0, untold, changed, hidden, behind: false });
        self.by_consumer.insert(consumer, assoc);
        self.send(assoc, &RicMessage::Welcome { version: PROTOCOL_VERSION, ric_id: controller.ric_id() });
        self.handle_room(assoc);
    }

    fn next_consumer(&mut self) -> Consumer {
        // ends, since there are fewer sessions than numbers
        loop {
            let consumer = Consumer(self.next_consumer);
            self.next_consumer = self.next_consumer.checked_add(1).unwrap_or(FIRST_XAPP);
            if !self.by_consumer.contains_key(&consumer) {
                return consumer;
            }
        }
    }

    fn misused(&mut self, assoc: AssocId, what: &'static str) {
        if let Some(Session::Open { misuses, .. }) = self.sessions.get_mut(&assoc) {
            *misuses += 1;
            if misuses.is_power_of_two() {
                self.notices.push_back((assoc, Notice::XappMisuse { what }));
            }
        }
    }

    fn turn_away(
        &mut self,
        now: Time,
        assoc: AssocId,
        code: RefusalCode,
        what: &'static str,
        controller: &mut Controller,
    ) {
        self.notices.push_back((assoc, Notice::XappMisuse { what }));
        self.send(assoc, &RicMessage::Refused(code));
        self.handle_close(now, assoc, controller);
        self.closes.push_back((assoc, CloseReason::Misbehaved));
    }

    /// The controller has news: whom it concerns is told. Returns the news where it is not an xApp's alone.
    pub fn handle_event(&mut self, event: Event, controller: &Controller) -> Option<Event> {
        let Event::Request { consumer, event: request } = event else {
            self.tell_all(&event, controller);
            return Some(event);
        };
        let Some(assoc) = self.assoc(consumer) else { return Some(Event::Request { consumer, event: request }) };
        self.send(assoc, &RicMessage::Request(request));
        None
    }

    fn send_event(&mut self, assoc: AssocId, event: RequestEvent) {
        self.send(assoc, &RicMessage::Request(event));
    }

    pub(super) fn send(&mut self, assoc: AssocId, message: &RicMessage<'_>) {
        self.scratch.clear();
        message.encode(&mut self.scratch);
        self.outbox.push_bytes([assoc], &self.scratch);
    }

    /// Appends the next message to be sent to `out`, and tells where to. None of them may be dropped.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> Option<AssocId> {
        self.outbox.pop(out)
    }

    /// The next association to be closed once what is to be sent is sent. It is forgotten here already.
    pub fn poll_close(&mut self) -> Option<(AssocId, CloseReason)> {
        self.closes.pop_front()
    }

    /// The next line for the log.
    pub fn poll_notice(&mut self) -> Option<(AssocId, Notice)> {
        self.notices.pop_front()
    }
}

fn code(misuse: Misuse) -> RefusalCode {
    match misuse {
        Misuse::UnknownNode => RefusalCode::UnknownNode,
        Misuse::UnknownFunction => RefusalCode::UnknownFunction,
        Misuse::UnknownSubscription => RefusalCode::UnknownSubscription,
        Misuse::BadActions => RefusalCode::BadActions,
        Misuse::TooManyRequests => RefusalCode::TooManyRequests,
        Misuse::NoRequestId => RefusalCode::NoRequestId,
        Misuse::TooLarge => RefusalCode::TooLarge,
        Misuse::NotInVersion => RefusalCode::NotInVersion,
        Misuse::UnderWay => RefusalCode::UnderWay,
        Misuse::Shared => RefusalCode::Shared,
        // only `Controller::connection_update` finds these, and the host never calls it
        Misuse::TooEarly | Misuse::BadUpdate => unreachable!("no message of an xApp changes associations"),
    }
}
