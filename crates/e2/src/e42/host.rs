//! The sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use e2ap::e42::{
    self, E42ControlRequest, E42Pdu, E42SetupResponse, E42SubscriptionDeleteRequest, E42SubscriptionRequest,
    E42Version, XappId,
};
use e2ap::{
    Cause, CauseMisc, CauseProtocol, CauseRicRequest, Codec, GlobalE2NodeId, Pdu, RanFunctionId, RicActionAdmitted,
    RicActionId, RicActionNotAdmitted, RicActionToBeSetup, RicControlAckRequest, RicControlAcknowledge,
    RicControlFailure, RicControlStatus, RicRequestId, RicSubscriptionDeleteFailure, RicSubscriptionDeleteResponse,
    RicSubscriptionFailure, RicSubscriptionResponse, Version,
};
use per::{Gather, Octets};

use super::nodes;
use crate::outbox::Outbox;
use crate::rights::{Lacking, not_allowed};
use crate::{
    Action, AssocId, CloseReason, Consumer, ControlOutcome, Controller, Event, Indication, Misuse, Node, NodeId,
    Notice, SubscribeError, SubscriptionEnd, SubscriptionId, SubscriptionOrder, SubscriptionSpec, Ticket, Time,
    XappRights,
};

/// Consumers from here on are sessions of this host.
const FIRST_CONSUMER: u32 = 1 << 31;

/// The sessions of FlexRIC's xApps: turns what they say into commands of a [`Controller`], and its news into answers.
///
/// Each session has a number, which the RIC gives and every message must have. Requests are named by the xApp; towards
/// nodes they have the controller's own ids, and [`E42Host::write_indication`] puts the xApp's back.
#[derive(Debug)]
pub struct E42Host {
    version: E42Version,
    /// The longest PDU that the xApps' links carry.
    max_pdu_octets: usize,
    sessions: HashMap<AssocId, Session>,
    by_consumer: BTreeMap<Consumer, AssocId>,
    xapp_ids: BTreeSet<XappId>,
    next_xapp: u16,
    next_consumer: u32,
    outbox: Outbox,
    closes: VecDeque<(AssocId, CloseReason)>,
    notices: VecDeque<(AssocId, Notice)>,
    scratch: Vec<u8>,
}

/// An association; a session once it has set up. What is in it is bounded by the controller's quota of its consumer.
#[derive(Debug, Default)]
struct Session {
    /// The xApp's number and who it is to the controller.
    open: Option<(XappId, Consumer)>,
    subscriptions: HashMap<RicRequestId, Held>,
    by_subscription: HashMap<SubscriptionId, RicRequestId>,
    tickets: HashMap<Ticket, (RicRequestId, RanFunctionId)>,
    next_ticket: u32,
    /// What it may do; everything where nothing was said.
    rights: Option<Arc<XappRights>>,
    /// Requests that made no sense, or that it had no right to: told to the log at powers of two.
    misuses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    function: RanFunctionId,
    /// Once it stands.
    subscription: Option<SubscriptionId>,
}

impl Session {
    fn ticket(&mut self, request_id: RicRequestId, function: RanFunctionId) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        let ticket = Ticket(self.next_ticket);
        self.tickets.insert(ticket, (request_id, function));
        ticket
    }
}

impl E42Host {
    /// A host without sessions, for xApps that were built with this version; `max_pdu_octets` is what their links carry.
    #[must_use]
    pub fn new(version: E42Version, max_pdu_octets: usize) -> Self {
        E42Host {
            version,
            max_pdu_octets,
            sessions: HashMap::new(),
            by_consumer: BTreeMap::new(),
            xapp_ids: BTreeSet::new(),
            next_xapp: 1,
            next_consumer: FIRST_CONSUMER,
            outbox: Outbox::default(),
            closes: VecDeque::new(),
            notices: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// Whose association a consumer is, if it is one of this host's.
    #[inline]
    #[must_use]
    pub fn assoc(&self, consumer: Consumer) -> Option<AssocId> {
        self.by_consumer.get(&consumer).copied()
    }

    /// How many xApps have set up.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.by_consumer.len()
    }

    /// An xApp's association is there.
    pub fn handle_open(&mut self, assoc: AssocId) {
        self.sessions.insert(assoc, Session::default());
    }

    /// Says what an xApp may do. Without this it may do everything.
    pub fn set_rights(&mut self, assoc: AssocId, rights: Arc<XappRights>) {
        if let Some(session) = self.sessions.get_mut(&assoc) {
            session.rights = Some(rights);
        }
    }

    /// An xApp's association is gone: so is all that it asked for.
    pub fn handle_close(&mut self, now: Time, assoc: AssocId, controller: &mut Controller) {
        if let Some(Session { open: Some((xapp_id, consumer)), .. }) = self.sessions.remove(&assoc) {
            self.by_consumer.remove(&consumer);
            self.xapp_ids.remove(&xapp_id);
            controller.drop_consumer(now, consumer);
        }
    }

    /// An xApp says something.
    pub fn handle_pdu(&mut self, now: Time, assoc: AssocId, pdu: &[u8], controller: &mut Controller) {
        // turned away, and not gone yet
        let Some(session) = self.sessions.get(&assoc) else { return };
        let open = session.open;
        let gather = Gather::new();
        let pdu = match e42::decode(pdu, self.version, &gather) {
            Ok(pdu) => pdu,
            Err(error) => {
                // FlexRIC's xApps cannot be answered that they are not understood
                self.notices.push_back((assoc, Notice::Unreadable(error)));
                return self.turn_away(now, assoc, "not a message of E42", controller);
            }
        };
        match (pdu, open) {
            (E42Pdu::SetupRequest(_), _) => self.setup(assoc, controller),
            (_, None) => self.turn_away(now, assoc, "no E42 setup first", controller),
            (E42Pdu::SubscriptionRequest(request), Some(open)) => {
                if let Err(cause) = self.subscribe(now, assoc, open, &request, controller) {
                    self.refuse_subscription(assoc, request.request_id, request.ran_function_id, cause, Vec::new());
                }
            }
            (E42Pdu::SubscriptionDeleteRequest(request), Some(open)) => {
                if let Err(cause) = self.delete(now, assoc, open, request, controller) {
                    let (request_id, ran_function_id) = (request.request_id, request.ran_function_id);
                    let cause = Some(cause.in_version(self.version.e2ap()));
                    let failure = RicSubscriptionDeleteFailure {
                        request_id,
                        ran_function_id,
                        cause,
                        criticality_diagnostics: None,
                    };
                    self.send(assoc, &failure.into());
                }
            }
            (E42Pdu::ControlRequest(request), Some(open)) => {
                if let Err(cause) = self.control(now, assoc, open, &request, controller) {
                    self.fail_control(assoc, request.request_id, request.ran_function_id, cause, None);
                }
            }
            (E42Pdu::SetupResponse(_) | E42Pdu::E2ap(_), Some(_)) => {
                self.turn_away(now, assoc, "only a RIC says this", controller);
            }
        }
    }

    /// A repeated setup is answered as the first one: the xApp may have lost patience.
    fn setup(&mut self, assoc: AssocId, controller: &Controller) {
        let Some(session) = self.sessions.get(&assoc) else { return };
        let (xapp_id, _) = match session.open {
            Some(open) => open,
            None => {
                let Some(open) = self.next_session() else {
                    self.sessions.remove(&assoc);
                    self.notices.push_back((assoc, Notice::XappMisuse { what: "as many xApps as there are numbers" }));
                    self.closes.push_back((assoc, CloseReason::Overflow));
                    return;
                };
                self.by_consumer.insert(open.1, assoc);
                self.xapp_ids.insert(open.0);
                if let Some(session) = self.sessions.get_mut(&assoc) {
                    session.open = Some(open);
                }
                open
            }
        };
        let rights = self.sessions.get(&assoc).and_then(|session| session.rights.as_deref());
        let (nodes, untold) = nodes::connected(controller.nodes(), rights, self.version, self.max_pdu_octets / 2);
        if untold > 0 {
            self.notices.push_back((assoc, Notice::NodesUntold { count: untold }));
        }
        let response = E42SetupResponse { xapp_id, nodes: nodes.into() };
        self.scratch.clear();
        match E42Pdu::SetupResponse(response).encode(self.version, &mut self.scratch) {
            Ok(()) => self.outbox.push_bytes([assoc], &self.scratch),
            // what a node has told was decoded within its bounds, and `connected` leaves out what this version has no place for
            Err(error) => panic!("nodes that E42 v{} cannot carry: {error}", self.version),
        }
    }

    fn next_session(&mut self) -> Option<(XappId, Consumer)> {
        // both end, since there are fewer sessions than numbers
        if self.xapp_ids.len() > usize::from(u16::MAX) {
            return None;
        }
        let xapp_id = loop {
            let xapp_id = XappId(self.next_xapp);
            self.next_xapp = self.next_xapp.wrapping_add(1);
            if !self.xapp_ids.contains(&xapp_id) {
                break xapp_id;
            }
        };
        let consumer = loop {
            let consumer = Consumer(self.next_consumer);
            self.next_consumer = self.next_consumer.checked_add(1).unwrap_or(FIRST_CONSUMER);
            if !self.by_consumer.contains_key(&consumer) {
                break consumer;
            }
        };
        Some((xapp_id, consumer))
    }

    fn subscribe(
        &mut self,
        now: Time,
        assoc: AssocId,
        (xapp_id, consumer): (XappId, Consumer),
        request: &E42SubscriptionRequest<'_>,
        controller: &mut Controller,
    ) -> Result<(), Cause> {
        self.check_xapp(assoc, request.xapp_id == xapp_id)?;
        let node = find(controller, request.global_e2_node_id)?;
        let (id, function) = (request.request_id, request.ran_function_id);
        self.check_rights(assoc, controller, node, function, |rights, node| {
            rights.may_subscribe(node, function, request.details.actions.iter().map(|action| action.kind))
        })?;
        let Some(session) = self.sessions.get_mut(&assoc) else { return Ok(()) };
        if session.subscriptions.contains_key(&id) {
            return Err(Cause::RicRequest(CauseRicRequest::DuplicateRicRequestId));
        }
        let actions = request.details.actions.iter().map(|action| Action {
            id: action.id,
            kind: action.kind,
            definition: action.definition.as_ref().map(|definition| definition.to_cow().into_owned()),
            subsequent: action.subsequent_action,
        });
        let event_trigger = request.details.event_trigger_definition.to_cow().into_owned();
        let order = |action: &RicActionToBeSetup<'_>| {
            // a value beyond 255 (9.2 leaves the range open) is no place that nodes can be told
            let place = u8::try_from(action.execution_order?.0).unwrap_or(u8::MAX);
            Some((action.id, place))
        };
        let order = SubscriptionOrder {
            execution_order: request.details.actions.iter().filter_map(order).collect(),
            ..SubscriptionSpec { event_trigger, actions: actions.collect() }.into()
        };
        let ticket = session.ticket(id, function);
        match controller.subscribe(now, consumer, ticket, node, function, order) {
            Ok(()) => {
                session.subscriptions.insert(id, Held { function, subscription: None });
                Ok(())
            }
            Err(misuse) => {
                session.tickets.remove(&ticket);
                Err(cause_of(misuse))
            }
        }
    }

    fn delete(
        &mut self,
        now: Time,
        assoc: AssocId,
        (xapp_id, consumer): (XappId, Consumer),
        request: E42SubscriptionDeleteRequest,
        controller: &mut Controller,
    ) -> Result<(), Cause> {
        self.check_xapp(assoc, request.xapp_id == xapp_id)?;
        let unknown = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);
        let Some(session) = self.sessions.get(&assoc) else { return Ok(()) };
        let held = session.subscriptions.get(&request.request_id).ok_or(unknown)?;
        if held.function != request.ran_function_id {
            return Err(Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid));
        }
        // one that does not stand yet cannot be left: FlexRIC's xApps await its answer first
        let subscription = held.subscription.ok_or(unknown)?;
        controller.unsubscribe(now, consumer, subscription).map_err(cause_of)
    }

    fn control(
        &mut self,
        now: Time,
        assoc: AssocId,
        (xapp_id, consumer): (XappId, Consumer),
        request: &E42ControlRequest<'_>,
        controller: &mut Controller,
    ) -> Result<(), Cause> {
        self.check_xapp(assoc, request.xapp_id == xapp_id)?;
        let node = find(controller, request.global_e2_node_id)?;
        let function = request.ran_function_id;
        self.check_rights(assoc, controller, node, function, |rights, node| {
            if rights.may_control(node, function) { Ok(()) } else { Err(Lacking::Control) }
        })?;
        let Some(session) = self.sessions.get_mut(&assoc) else { return Ok(()) };
        let ticket = session.ticket(request.request_id, function);
        let (header, message) = (request.header.to_cow(), request.message.to_cow());
        let call = request.call_process_id.as_ref().map(Octets::to_cow);
        let ack = request.ack_request == Some(RicControlAckRequest::Ack);
        let asked = controller.control(now, consumer, ticket, node, function, &header, &message, call.as_deref(), ack);
        asked.map_err(|misuse| {
            session.tickets.remove(&ticket);
            cause_of(misuse)
        })
    }

    /// What an xApp has no right to is refused: by O&M, as a setup is.
    fn check_rights(
        &mut self,
        assoc: AssocId,
        controller: &Controller,
        node: NodeId,
        function: RanFunctionId,
        may: impl FnOnce(&XappRights, &Node) -> Result<(), Lacking>,
    ) -> Result<(), Cause> {
        let Some(session) = self.sessions.get_mut(&assoc) else { return Ok(()) };
        let (Some(rights), Some(node)) = (&session.rights, controller.node(node)) else { return Ok(()) };
        let Err(lacking) = may(rights, node) else { return Ok(()) };
        session.misuses += 1;
        if session.misuses.is_power_of_two() {
            self.notices.push_back((assoc, not_allowed(node, function, lacking, session.misuses)));
        }
        Err(Cause::Misc(CauseMisc::OmIntervention))
    }

    /// Nobody speaks for another: a message's xApp id is the session's own.
    fn check_xapp(&mut self, assoc: AssocId, is_own: bool) -> Result<(), Cause> {
        if is_own {
            return Ok(());
        }
        if let Some(session) = self.sessions.get_mut(&assoc) {
            session.misuses += 1;
            if session.misuses.is_power_of_two() {
                let what = "a request under another xApp's id";
                self.notices.push_back((assoc, Notice::XappMisuse { what }));
            }
        }
        Err(Cause::Protocol(CauseProtocol::SemanticError))
    }

    fn turn_away(&mut self, now: Time, assoc: AssocId, what: &'static str, controller: &mut Controller) {
        self.notices.push_back((assoc, Notice::XappMisuse { what }));
        self.handle_close(now, assoc, controller);
        self.closes.push_back((assoc, CloseReason::Misbehaved));
    }

    /// The controller has news: whom it concerns is told. Returns the news where it is not an E42 xApp's alone.
    pub fn handle_event(&mut self, event: Event) -> Option<Event> {
        let Some(assoc) = event.consumer().and_then(|consumer| self.assoc(consumer)) else { return Some(event) };
        let Some(session) = self.sessions.get_mut(&assoc) else { return Some(event) };
        match event {
            Event::Subscribed { ticket, subscription, admitted, not_admitted, .. } => {
                let (request_id, ran_function_id) = session.tickets.remove(&ticket)?;
                if let Some(held) = session.subscriptions.get_mut(&request_id) {
                    held.subscription = Some(subscription);
                }
                session.by_subscription.insert(subscription, request_id);
                // also where there are none: FlexRIC writes the empty list, and its xApps read by place
                let not_admitted = Some(self.not_admitted(not_admitted).into());
                let response = RicSubscriptionResponse {
                    request_id,
                    ran_function_id,
                    actions_admitted: admitted.into_iter().map(|id| RicActionAdmitted { id }).collect(),
                    actions_not_admitted: not_admitted,
                };
                self.send(assoc, &response.into());
            }
            Event::SubscriptionFailed { ticket, error, .. } => {
                let (request_id, function) = session.tickets.remove(&ticket)?;
                session.subscriptions.remove(&request_id);
                let (cause, actions) = match error {
                    SubscribeError::Refused { cause, actions } => (cause, actions),
                    SubscribeError::TimedOut | SubscribeError::NodeLost => {
                        (Cause::RicRequest(CauseRicRequest::SystemNotReady), Vec::new())
                    }
                };
                self.refuse_subscription(assoc, request_id, function, cause, actions);
            }
            Event::SubscriptionEnded { subscription, end, .. } => {
                let request_id = session.by_subscription.remove(&subscription)?;
                let held = session.subscriptions.remove(&request_id)?;
                if end == SubscriptionEnd::Deleted {
                    let ran_function_id = held.function;
                    self.send(assoc, &RicSubscriptionDeleteResponse { request_id, ran_function_id }.into());
                } else {
                    self.notices.push_back((assoc, Notice::EndUntold { request_id, end }));
                }
            }
            Event::Controlled { ticket, outcome, .. } => {
                let (request_id, ran_function_id) = session.tickets.remove(&ticket)?;
                match outcome {
                    ControlOutcome::Acknowledged(outcome) => {
                        let is_v1 = self.version.e2ap() < Version::V2_03;
                        let acknowledge = RicControlAcknowledge {
                            request_id,
                            ran_function_id,
                            call_process_id: None,
                            status: is_v1.then_some(RicControlStatus::Success),
                            outcome: outcome.as_deref().map(Octets::from),
                        };
                        self.send(assoc, &acknowledge.into());
                    }
                    ControlOutcome::Sent => {}
                    ControlOutcome::Failed { cause, outcome } => {
                        self.fail_control(assoc, request_id, ran_function_id, cause, outcome.as_deref());
                    }
                    ControlOutcome::TimedOut => {
                        let cause = Cause::RicRequest(CauseRicRequest::ControlTimerExpired);
                        self.fail_control(assoc, request_id, ran_function_id, cause, None);
                    }
                    ControlOutcome::NodeLost => {
                        let cause = Cause::RicRequest(CauseRicRequest::SystemNotReady);
                        self.fail_control(assoc, request_id, ran_function_id, cause, None);
                    }
                }
            }
            // E42 has no words for the others
            _ => {}
        }
        None
    }

    fn not_admitted(&self, actions: Vec<(RicActionId, Cause)>) -> Vec<RicActionNotAdmitted> {
        let version = self.version.e2ap();
        let item = |(id, cause): (RicActionId, Cause)| RicActionNotAdmitted { id, cause: cause.in_version(version) };
        actions.into_iter().map(item).collect()
    }

    fn refuse_subscription(
        &mut self,
        assoc: AssocId,
        request_id: RicRequestId,
        ran_function_id: RanFunctionId,
        cause: Cause,
        actions: Vec<(RicActionId, Cause)>,
    ) {
        let is_v1 = self.version.e2ap() < Version::V2_03;
        let cause = cause.in_version(self.version.e2ap());
        // v1 tells causes by the action only
        let actions = if actions.is_empty() { vec![(RicActionId(0), cause)] } else { actions };
        let failure = RicSubscriptionFailure {
            request_id,
            ran_function_id,
            actions_not_admitted: is_v1.then(|| self.not_admitted(actions).into()),
            cause: (!is_v1).then_some(cause),
            criticality_diagnostics: None,
        };
        self.send(assoc, &failure.into());
    }

    fn fail_control(
        &mut self,
        assoc: AssocId,
        request_id: RicRequestId,
        ran_function_id: RanFunctionId,
        cause: Cause,
        outcome: Option<&[u8]>,
    ) {
        let failure = RicControlFailure {
            request_id,
            ran_function_id,
            call_process_id: None,
            cause: Some(cause.in_version(self.version.e2ap())),
            outcome: outcome.map(Octets::from),
            criticality_diagnostics: None,
        };
        self.send(assoc, &failure.into());
    }

    /// Appends an indication for `consumer` to `out`, with the xApp's own name of the subscription, and tells where to.
    pub fn write_indication(
        &self,
        consumer: Consumer,
        indication: &Indication<'_>,
        out: &mut Vec<u8>,
    ) -> Option<AssocId> {
        let assoc = self.assoc(consumer)?;
        let request_id = *self.sessions.get(&assoc)?.by_subscription.get(&indication.subscription)?;
        if indication.codec == Codec::Per {
            let start = out.len();
            out.extend_from_slice(indication.pdu);
            if e2ap::peek::replace_request_id(&mut out[start..], request_id) {
                return Some(assoc);
            }
            out.truncate(start);
        }
        // in another encoding, or in an order that nobody else writes: it is read and written anew
        let gather = Gather::new();
        let message = e2ap::RicIndication { request_id, ..indication.decode(&gather).ok()? };
        Pdu::from(message).encode(self.version.e2ap(), out).ok()?;
        Some(assoc)
    }

    fn send(&mut self, assoc: AssocId, pdu: &Pdu<'_>) {
        self.outbox.push(assoc, self.version.e2ap(), pdu);
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

fn find(controller: &Controller, id: GlobalE2NodeId) -> Result<NodeId, Cause> {
    let node = controller.nodes().find(|node| node.global_id == id);
    node.map(|node| node.id).ok_or_else(|| cause_of(Misuse::UnknownNode))
}

/// What an xApp is told of a command that makes no sense.
fn cause_of(misuse: Misuse) -> Cause {
    match misuse {
        Misuse::UnknownNode => Cause::RicRequest(CauseRicRequest::SystemNotReady),
        Misuse::UnknownFunction => Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid),
        Misuse::UnknownSubscription => Cause::RicRequest(CauseRicRequest::RequestIdUnknown),
        Misuse::BadActions => Cause::RicRequest(CauseRicRequest::InconsistentActionSubsequentActionSequence),
        Misuse::TooManyRequests | Misuse::NoRequestId | Misuse::TooLarge => {
            Cause::RicRequest(CauseRicRequest::FunctionResourceLimit)
        }
        _ => Cause::RicRequest(CauseRicRequest::Unspecified),
    }
}
