//! The sessions of E42 xApps.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use e2ap::e42::{self, E42Pdu, E42SetupResponse, E42Version, XappId};
use e2ap::{Pdu, RanFunctionId, RicRequestId, RicSubscriptionDeleteFailure};
use per::Gather;

use super::nodes;
use crate::outbox::Outbox;
use crate::{
    AssocId, CloseReason, Consumer, ConsumerIdentity, Controller, Notice, Selection, SubscriptionId, Ticket, Time,
    XappRights,
};

/// Consumer ids from here on belong to this host.
const FIRST_CONSUMER: u32 = 1 << 31;

/// The sessions of FlexRIC's xApps: translates their messages to commands of a [`Controller`], and its events to answers.
///
/// The RIC assigns each session a number, which every message must contain. The xApp chooses the request ids; towards nodes
/// the controller's own ids are used, and [`E42Host::relay_indication`] restores the xApp's.
#[derive(Debug)]
pub struct E42Host {
    pub(super) version: E42Version,
    /// The RAN functions that the setup response lists.
    functions: Selection<RanFunctionId>,
    /// The longest PDU that the xApps' links carry.
    pub(super) max_pdu_octets: usize,
    pub(super) sessions: HashMap<AssocId, Session>,
    pub(super) by_consumer: BTreeMap<Consumer, AssocId>,
    pub(super) xapp_ids: BTreeSet<XappId>,
    pub(super) next_xapp: u16,
    pub(super) next_consumer: u32,
    pub(super) outbox: Outbox,
    pub(super) closes: VecDeque<(AssocId, CloseReason)>,
    pub(super) notices: VecDeque<(AssocId, Notice)>,
    pub(super) scratch: Vec<u8>,
}

/// An association; a session once it has set up. The controller's quota of its consumer bounds its size.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The xApp's number and its consumer id.
    pub(super) open: Option<(XappId, Consumer)>,
    pub(super) subscriptions: HashMap<RicRequestId, Held>,
    pub(super) by_subscription: HashMap<SubscriptionId, RicRequestId>,
    pub(super) tickets: HashMap<Ticket, (RicRequestId, RanFunctionId)>,
    pub(super) next_ticket: u32,
    /// Its rights; without them it may do everything.
    pub(super) rights: Option<Arc<XappRights>>,
    /// The name in its certificate, if it has one.
    pub(super) certificate: Option<Box<str>>,
    /// The number of invalid or unauthorized requests; a notice reports each power of two.
    pub(super) misuses: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) function: RanFunctionId,
    /// The subscription, once it is active.
    pub(super) subscription: Option<SubscriptionId>,
}

impl Session {
    pub(super) fn ticket(&mut self, request_id: RicRequestId, function: RanFunctionId) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        let ticket = Ticket(self.next_ticket);
        self.tickets.insert(ticket, (request_id, function));
        ticket
    }
}

impl E42Host {
    /// Creates a host for xApps built with this version; `max_pdu_octets` is the PDU limit of their links.
    #[must_use]
    pub fn new(version: E42Version, max_pdu_octets: usize) -> Self {
        E42Host {
            version,
            functions: E42Host::known_functions(),
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

    /// The RAN functions that FlexRIC's xApps know: KPM (2), RC (3), and FlexRIC's own MAC, RLC, PDCP, slice, TC, NI and GTP
    /// (142 to 148). An xApp aborts when the setup response lists another one.
    #[must_use]
    pub fn known_functions() -> Selection<RanFunctionId> {
        [2, 3].into_iter().chain(142..=148).map(RanFunctionId).collect()
    }

    /// Sets the RAN functions that the setup response lists, for xApps that know others than
    /// [`E42Host::known_functions`].
    pub fn list_functions(&mut self, functions: Selection<RanFunctionId>) {
        self.functions = functions;
    }

    /// Returns the association of a consumer, if it is one of this host's.
    #[inline]
    #[must_use]
    pub fn assoc(&self, consumer: Consumer) -> Option<AssocId> {
        self.by_consumer.get(&consumer).copied()
    }

    /// Returns the number of an xApp that has set up.
    #[must_use]
    pub fn xapp_id(&self, consumer: Consumer) -> Option<XappId> {
        self.sessions.get(&self.assoc(consumer)?)?.open.map(|(xapp_id, _)| xapp_id)
    }

    /// The number of xApps that have set up.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.by_consumer.len()
    }

    /// Reports a new association of an xApp.
    pub fn handle_open(&mut self, assoc: AssocId) {
        self.sessions.insert(assoc, Session::default());
    }

    /// Sets the rights of an xApp. Without them it may do everything.
    pub fn set_rights(&mut self, assoc: AssocId, rights: Arc<XappRights>) {
        if let Some(session) = self.sessions.get_mut(&assoc) {
            session.rights = Some(rights);
        }
    }

    /// Sets the name in the certificate of an xApp, before its setup. Without one its name is `e42:` and its number.
    pub fn set_certificate(&mut self, assoc: AssocId, name: &str) {
        if let Some(session) = self.sessions.get_mut(&assoc) {
            session.certificate = Some(name.into());
        }
    }

    /// Reports that the association of an xApp has ended. All its requests end.
    pub fn handle_close(&mut self, now: Time, assoc: AssocId, controller: &mut Controller) {
        if let Some(Session { open: Some((xapp_id, consumer)), .. }) = self.sessions.remove(&assoc) {
            self.by_consumer.remove(&consumer);
            self.xapp_ids.remove(&xapp_id);
            controller.drop_consumer(now, consumer);
        }
    }

    /// Handles a message of an xApp.
    pub fn handle_pdu(&mut self, now: Time, assoc: AssocId, pdu: &[u8], controller: &mut Controller) {
        // refused, and not closed yet
        let Some(session) = self.sessions.get(&assoc) else { return };
        let open = session.open;
        let gather = Gather::new();
        let pdu = match e42::decode(pdu, self.version, &gather) {
            Ok(pdu) => pdu,
            Err(error) => {
                // E42 has no error answer
                self.notices.push_back((assoc, Notice::Unreadable(error)));
                return self.reject(now, assoc, "not an E42 message", controller);
            }
        };
        match (pdu, open) {
            (E42Pdu::SetupRequest(_), _) => self.setup(assoc, controller),
            (_, None) => self.reject(now, assoc, "the first message is not an E42 setup request", controller),
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
                self.reject(now, assoc, "a message that only a RIC may send", controller);
            }
        }
    }

    /// Answers a setup. A repeated one is answered like the first, since the xApp repeats it after a timeout.
    fn setup(&mut self, assoc: AssocId, controller: &mut Controller) {
        let Some(session) = self.sessions.get(&assoc) else { return };
        let (xapp_id, _) = match session.open {
            Some(open) => open,
            None => {
                let Some(open) = self.next_session() else {
                    self.sessions.remove(&assoc);
                    self.notices.push_back((assoc, Notice::XappMisuse { what: "all xApp ids are in use" }));
                    self.closes.push_back((assoc, CloseReason::Overflow));
                    return;
                };
                self.by_consumer.insert(open.1, assoc);
                self.xapp_ids.insert(open.0);
                if let Some(session) = self.sessions.get_mut(&assoc) {
                    session.open = Some(open);
                    let (certificate, rights) = (session.certificate.clone(), session.rights.clone());
                    let is_authenticated = certificate.is_some();
                    let name = certificate.unwrap_or_else(|| format!("e42:{}", open.0.0).into());
                    controller
                        .introduce(open.1, ConsumerIdentity { name, is_authenticated, rights, is_internal: false });
                }
                open
            }
        };
        let rights = self.sessions.get(&assoc).and_then(|session| session.rights.as_deref());
        let room_octets = self.max_pdu_octets / 2;
        let (nodes, omitted) = nodes::connected(controller.nodes(), rights, &self.functions, self.version, room_octets);
        if omitted > 0 {
            self.notices.push_back((assoc, Notice::NodesOmitted { count: omitted }));
        }
        let response = E42SetupResponse { xapp_id, nodes: nodes.into() };
        self.scratch.clear();
        match E42Pdu::SetupResponse(response).encode(self.version, &mut self.scratch) {
            Ok(()) => self.outbox.push_bytes([assoc], &self.scratch),
            // `connected` has encoded each node before and left out those that this version cannot carry
            Err(error) => panic!("nodes that E42 v{} cannot carry: {error}", self.version),
        }
    }

    fn next_session(&mut self) -> Option<(XappId, Consumer)> {
        // both loops terminate: there are fewer sessions than numbers
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

    fn reject(&mut self, now: Time, assoc: AssocId, what: &'static str, controller: &mut Controller) {
        self.notices.push_back((assoc, Notice::XappMisuse { what }));
        self.handle_close(now, assoc, controller);
        self.closes.push_back((assoc, CloseReason::Misbehaved));
    }

    pub(super) fn send(&mut self, assoc: AssocId, pdu: &Pdu<'_>) {
        self.outbox.push(assoc, self.version.e2ap(), pdu);
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
