//! The RIC's side of the RIC-xApp protocol.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::outbox::Outbox;
use crate::xapp::protocol::{OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION, ProtocolError, RicMessage, XappMessage};
use crate::xapp::wire::{MAX_DOCUMENT, MAX_REVISION};
use crate::{
    AssocId, CloseReason, Consumer, ConsumerIdentity, ControlOutcome, Controller, Event, Misuse, ModifyOutcome, NodeId,
    Notice, QueryOutcome, RefusalCode, RequestEvent, SubscribeError, Time, XappRights,
};

/// The sessions of all xApps: translates their messages to commands of a [`Controller`], and its events to messages.
///
/// Indications bypass the host: the event loop puts each PDU of a node into an [`Envelope`](super::Envelope) itself.
#[derive(Debug)]
pub struct XappHost {
    pub(super) sessions: HashMap<AssocId, Session>,
    pub(super) by_consumer: BTreeMap<Consumer, AssocId>,
    /// The nodes that were announced to all sessions; a new session starts with these.
    pub(super) announced: BTreeSet<NodeId>,
    /// Sessions that [`XappHost::poll_announcement`] has a message for, oldest first.
    pub(super) behind: VecDeque<AssocId>,
    pub(super) hints: Vec<FunctionHint>,
    /// The rights of authenticated sessions; the others may do everything.
    pub(super) rights: HashMap<AssocId, Arc<XappRights>>,
    /// The names of the certificates of authenticated sessions.
    pub(super) certificates: HashMap<AssocId, Box<str>>,
    pub(super) next_consumer: u32,
    pub(super) outbox: Outbox,
    pub(super) closes: VecDeque<(AssocId, CloseReason)>,
    pub(super) notices: VecDeque<(AssocId, Notice)>,
    /// What is for services that are not E2.
    pub(super) services: VecDeque<ServiceEvent>,
    pub(super) scratch: Vec<u8>,
}

/// The service model revision of a node's function, configured because the node does not report it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionHint {
    /// The node, in the display form of its [`e2ap::GlobalE2NodeId`].
    pub node: String,
    /// The object identifiers of the service model.
    pub oids: Vec<Cow<'static, str>>,
    /// The name of the revision, at most 16 octets.
    pub revision: String,
}

/// What a service of the RIC that is not E2 gets of xApps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceEvent {
    /// A message.
    Message {
        /// The xApp. Its session may have ended since.
        xapp: Consumer,
        /// Its association.
        assoc: AssocId,
        /// Who it is.
        identity: ConsumerIdentity,
        /// Which message of which service.
        kind: u32,
        /// Its content.
        document: Vec<u8>,
    },
    /// The session of an xApp that has sent messages has ended.
    Ended {
        /// The xApp.
        xapp: Consumer,
        /// Its name: that of its certificate, else the one that it gave itself.
        name: Box<str>,
    },
}

#[derive(Debug)]
pub(super) enum Session {
    /// Awaits the hello.
    Greeting,
    Open {
        consumer: Consumer,
        /// The name for the log.
        name: String,
        /// The version of the protocol.
        version: u16,
        /// Whether it has sent messages to services.
        uses_services: bool,
        /// The number of invalid or unauthorized commands; a notice reports each power of two.
        misuses: u64,
        /// Nodes that were not announced to it yet. A node that is lost before is never announced.
        unannounced: BTreeSet<NodeId>,
        /// Nodes that changed since their announcement.
        changed: BTreeSet<NodeId>,
        /// Nodes that are not announced because it has no right to them.
        hidden: BTreeSet<NodeId>,
        /// Whether it is listed in `XappHost::behind`.
        behind: bool,
    },
}

/// Lower consumer ids belong to iApps.
const FIRST_XAPP: u32 = 1 << 16;

impl Default for XappHost {
    fn default() -> Self {
        XappHost::new()
    }
}

impl XappHost {
    /// Creates a host without sessions.
    #[must_use]
    pub fn new() -> Self {
        XappHost {
            sessions: HashMap::new(),
            by_consumer: BTreeMap::new(),
            announced: BTreeSet::new(),
            behind: VecDeque::new(),
            hints: Vec::new(),
            rights: HashMap::new(),
            certificates: HashMap::new(),
            next_consumer: FIRST_XAPP,
            outbox: Outbox::default(),
            closes: VecDeque::new(),
            notices: VecDeque::new(),
            services: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// Sets the service model revisions that xApps receive.
    ///
    /// # Panics
    /// If a revision has more than 16 octets, the limit of the protocol.
    pub fn set_hints(&mut self, hints: Vec<FunctionHint>) {
        assert!(hints.iter().all(|hint| hint.revision.len() <= MAX_REVISION), "a revision has at most 16 octets");
        self.hints = hints;
    }

    /// Returns the association of a consumer, if that is an xApp session.
    #[inline]
    #[must_use]
    pub fn assoc(&self, consumer: Consumer) -> Option<AssocId> {
        self.by_consumer.get(&consumer).copied()
    }

    /// Returns the name that an xApp gave itself, and its number among the sessions of this host, from 1.
    #[must_use]
    pub fn name(&self, consumer: Consumer) -> Option<(&str, u32)> {
        match self.sessions.get(&self.assoc(consumer)?) {
            Some(Session::Open { name, .. }) => Some((name, consumer.0 - FIRST_XAPP + 1)),
            _ => None,
        }
    }

    /// Returns the open sessions: consumers, with the names that the xApps gave themselves and their numbers.
    pub fn xapps(&self) -> impl Iterator<Item = (Consumer, &str, u32)> {
        let mut consumers: Vec<_> = self.by_consumer.keys().copied().collect();
        consumers.sort_unstable_by_key(|consumer| consumer.0);
        consumers.into_iter().filter_map(|consumer| {
            let (name, number) = self.name(consumer)?;
            Some((consumer, name, number))
        })
    }

    /// The number of open sessions.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.by_consumer.len()
    }

    /// Reports a new association of an xApp.
    pub fn handle_open(&mut self, assoc: AssocId) {
        self.sessions.insert(assoc, Session::Greeting);
    }

    /// Reports that the association of an xApp has ended. All its requests end.
    pub fn handle_close(&mut self, now: Time, assoc: AssocId, controller: &mut Controller) {
        self.rights.remove(&assoc);
        self.certificates.remove(&assoc);
        if let Some(Session::Open { consumer, uses_services, .. }) = self.sessions.remove(&assoc) {
            self.by_consumer.remove(&consumer);
            if uses_services {
                let name = controller.identity(consumer).map(|identity| identity.name.clone()).unwrap_or_default();
                self.services.push_back(ServiceEvent::Ended { xapp: consumer, name });
            }
            controller.drop_consumer(now, consumer);
        }
    }

    /// Handles a message of an xApp.
    pub fn handle_pdu(&mut self, now: Time, assoc: AssocId, pdu: &[u8], controller: &mut Controller) {
        let session = match self.sessions.get(&assoc) {
            None => return, // refused, and not closed yet
            Some(Session::Greeting) => None,
            Some(Session::Open { consumer, version, .. }) => Some((*consumer, *version)),
        };
        let message = match (XappMessage::decode(pdu), session) {
            (Ok(XappMessage::Hello { lowest, highest, name }), None) => {
                return self.hello(now, assoc, lowest..=highest, name, controller);
            }
            (Ok(message), Some((_, version))) if message.since() <= version => message,
            (Ok(_), Some(_)) => {
                let what = "a message that the version of its session does not have";
                return self.reject(now, assoc, RefusalCode::Protocol, what, controller);
            }
            (Ok(_), None) => {
                return self.reject(now, assoc, RefusalCode::Protocol, "the first message is not Hello", controller);
            }
            // from 0x80 on: messages of the RIC
            (Err(ProtocolError::UnknownMessage(0x80..)), Some(_)) => {
                return self.reject(
                    now,
                    assoc,
                    RefusalCode::Protocol,
                    "a message that only a RIC may send",
                    controller,
                );
            }
            (Err(_), _) => {
                return self.reject(now, assoc, RefusalCode::Protocol, "not a message of the protocol", controller);
            }
        };
        let Some((consumer, _)) = session else { return };
        if let Some((refusal, lacking)) = self.denial(assoc, &message, controller) {
            match &message {
                XappMessage::Control { node, function, .. } => {
                    controller.control_not_allowed(now, consumer, *node, *function, &lacking);
                }
                XappMessage::Subscribe { node, function, order, .. } => {
                    let actions = order.spec.actions.len();
                    controller.subscription_not_allowed(consumer, *node, *function, actions, &lacking);
                }
                _ => {}
            }
            return self.send(assoc, &refusal);
        }
        match message {
            XappMessage::Subscribe { ticket, node, function, order } => {
                if let Err(misuse) = controller.subscribe(now, consumer, ticket, node, function, order) {
                    self.refused(assoc, node, misuse, controller);
                    let error = SubscribeError::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::SubscriptionFailed { ticket, error });
                }
            }
            XappMessage::Unsubscribe { subscription } => {
                if let Err(misuse) = controller.unsubscribe(now, consumer, subscription) {
                    self.misused(assoc, "unsubscribe for an unknown subscription or one of another xApp");
                    self.send(assoc, &RicMessage::Refused(code(misuse)));
                }
            }
            XappMessage::Control { ticket, node, function, ack, call_process_id, header, message } => {
                let call = call_process_id.as_deref();
                let result = controller.control(now, consumer, ticket, node, function, &header, &message, call, ack);
                if let Err(misuse) = result {
                    self.refused(assoc, node, misuse, controller);
                    let outcome = ControlOutcome::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::Controlled { ticket, outcome });
                }
            }
            XappMessage::Modify { ticket, subscription, change } => {
                if let Err(misuse) = controller.modify(now, consumer, ticket, subscription, change) {
                    if let Some((node, ..)) = controller.subscription(subscription) {
                        self.refused(assoc, node, misuse, controller);
                    }
                    let outcome = ModifyOutcome::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::Modified { ticket, subscription, outcome });
                }
            }
            XappMessage::AnswerChange { subscription, refused } => {
                // usually too late: the RIC has agreed, or the subscription has ended
                if let Err(misuse) = controller.answer_change(now, consumer, subscription, &refused) {
                    self.misused(assoc, "answer to a change that was not required, or is answered already");
                    self.send(assoc, &RicMessage::Refused(code(misuse)));
                }
            }
            XappMessage::Query { ticket, node, function, header, definition } => {
                if let Err(misuse) = controller.query(now, consumer, ticket, node, function, &header, &definition) {
                    self.refused(assoc, node, misuse, controller);
                    let outcome = QueryOutcome::Misuse(code(misuse));
                    self.send_event(assoc, RequestEvent::Queried { ticket, outcome });
                }
            }
            XappMessage::SetArbiter { is_offered } => {
                let refusal = controller.set_arbiter(consumer, is_offered).err();
                if refusal.is_some() {
                    self.misused(assoc, "an offer to be an arbiter, which the rules on conflicts do not allow");
                }
                self.send_event(assoc, RequestEvent::ArbiterSet { refusal });
            }
            XappMessage::Decide { question, accepts } => {
                let refusal = controller.decide(now, consumer, question, accepts).err();
                if refusal.is_some() {
                    self.misused(assoc, "a decision that it was not asked for, or that is late");
                }
                self.send_event(assoc, RequestEvent::Decided { question, refusal });
            }
            XappMessage::Hello { .. } => {
                self.reject(now, assoc, RefusalCode::Protocol, "a second Hello", controller);
            }
            XappMessage::Service { kind, document } => match self.sessions.get_mut(&assoc) {
                Some(Session::Open { version: PROTOCOL_VERSION.., uses_services, .. }) => {
                    let Some(identity) = controller.identity(consumer).cloned() else { return };
                    *uses_services = true;
                    // the session may end before the event is taken
                    self.services.push_back(ServiceEvent::Message { xapp: consumer, assoc, identity, kind, document });
                }
                _ => {
                    let what = "a message that its version of the protocol does not have";
                    self.reject(now, assoc, RefusalCode::Protocol, what, controller);
                }
            },
        }
    }

    /// Returns the next event for services.
    pub fn poll_service(&mut self) -> Option<ServiceEvent> {
        self.services.pop_front()
    }

    /// Sends a message of a service to an xApp, at most 128 KiB. Returns whether there is such an xApp, and its version of the
    /// protocol has such messages.
    pub fn send_service(&mut self, xapp: Consumer, kind: u32, document: &[u8]) -> bool {
        let Some(assoc) = self.assoc(xapp) else { return false };
        if !matches!(self.sessions.get(&assoc), Some(Session::Open { version: PROTOCOL_VERSION.., .. }))
            || document.len() > MAX_DOCUMENT
        {
            return false;
        }
        self.send(assoc, &RicMessage::Service { kind, document });
        true
    }

    /// Refuses a message for a service that there is not.
    pub fn refuse_service(&mut self, xapp: Consumer) {
        if let Some(assoc) = self.assoc(xapp) {
            self.misused(assoc, "a message for a service that this RIC does not have");
            self.send(assoc, &RicMessage::Refused(RefusalCode::NoService));
        }
    }

    fn hello(
        &mut self,
        now: Time,
        assoc: AssocId,
        versions: RangeInclusive<u16>,
        name: String,
        controller: &mut Controller,
    ) {
        let version = PROTOCOL_VERSION.min(*versions.end());
        if version < OLDEST_PROTOCOL_VERSION || !versions.contains(&version) {
            return self.reject(now, assoc, RefusalCode::Version, "no common protocol version", controller);
        }
        let consumer = self.next_consumer();
        let certificate = self.certificates.get(&assoc);
        controller.introduce(
            consumer,
            ConsumerIdentity {
                name: certificate.cloned().unwrap_or_else(|| name.as_str().into()),
                is_authenticated: certificate.is_some(),
                rights: self.rights.get(&assoc).cloned(),
                is_internal: false,
            },
        );
        let unannounced = self.announced.clone();
        let (changed, hidden) = (BTreeSet::new(), BTreeSet::new());
        let open = Session::Open {
            consumer,
            name,
            version,
            uses_services: false,
            misuses: 0,
            unannounced,
            changed,
            hidden,
            behind: false,
        };
        self.sessions.insert(assoc, open);
        self.by_consumer.insert(consumer, assoc);
        self.send(assoc, &RicMessage::Welcome { version, ric_id: controller.ric_id() });
        self.handle_room(assoc);
    }

    fn next_consumer(&mut self) -> Consumer {
        // terminates: there are fewer sessions than numbers
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

    /// Reports for the log that requests wait for a slow node.
    fn refused(&mut self, assoc: AssocId, node: NodeId, misuse: Misuse, controller: &Controller) {
        let Some(Session::Open { misuses, .. }) = self.sessions.get_mut(&assoc) else { return };
        self.notices.extend(node_busy(controller, node, misuse, misuses).map(|notice| (assoc, notice)));
    }

    fn reject(
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

    /// Handles an event of the controller. Returns the event unless it concerned an xApp session only.
    pub fn handle_event(&mut self, event: Event, controller: &Controller) -> Option<Event> {
        let Event::Request { consumer, event: request } = event else {
            self.announce(&event, controller);
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

    /// Appends the next message to send to `out` and returns its association. The caller must not drop it.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> Option<AssocId> {
        self.outbox.pop(out)
    }

    /// Returns the next association to close, after its queued messages are sent. The host has already dropped it.
    pub fn poll_close(&mut self) -> Option<(AssocId, CloseReason)> {
        self.closes.pop_front()
    }

    /// Returns the next notice for the log.
    pub fn poll_notice(&mut self) -> Option<(AssocId, Notice)> {
        self.notices.pop_front()
    }
}

/// Counts a refusal because of a slow node among an xApp's `refusals`; returns a notice for each power of two.
pub(crate) fn node_busy(controller: &Controller, node: NodeId, misuse: Misuse, refusals: &mut u64) -> Option<Notice> {
    let node = controller.node(node).filter(|_| misuse == Misuse::NodeBusy)?;
    *refusals += 1;
    let octets = controller.unsent_octets(node.assoc);
    refusals.is_power_of_two().then_some(Notice::NodeBusy { node: node.global_id, octets, count: *refusals })
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
        Misuse::NotInVersion | Misuse::NoProcedure { .. } => RefusalCode::NotInVersion,
        Misuse::NodeBusy => RefusalCode::NodeBusy,
        Misuse::InProgress => RefusalCode::InProgress,
        Misuse::Shared => RefusalCode::Shared,
        Misuse::NotAllowed => RefusalCode::NotAllowed,
        // only `Controller::connection_update` returns these, and the host never calls it
        Misuse::TooEarly | Misuse::BadUpdate => unreachable!("no message of an xApp changes associations"),
    }
}
