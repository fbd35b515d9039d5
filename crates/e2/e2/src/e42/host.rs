//! The sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use e2ap::e42::{self, E42Pdu, E42SetupResponse, E42Version, XappId};
use e2ap::{Pdu, RanFunctionId, RicRequestId, RicSubscriptionDeleteFailure};
use per::Gather;

use super::nodes;
use crate::outbox::Outbox;
use crate::{AssocId, CloseReason, Consumer, Controller, Notice, SubscriptionId, Ticket, Time, XappRights};

/// Consumers from here on are sessions of this host.
const FIRST_CONSUMER: u32 = 1 << 31;

/// The sessions of FlexRIC's xApps: turns what they say into commands of a [`Controller`], and its news into answers.
///
/// Each session has a number, which the RIC gives and every message must have. Requests are named by the xApp; towards
/// nodes they have the controller's own ids, and [`E42Host::write_indication`] puts the xApp's back.
#[derive(Debug)]
pub struct E42Host {
    pub(super) version: E42Version,
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

/// An association; a session once it has set up. What is in it is bounded by the controller's quota of its consumer.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The xApp's number and who it is to the controller.
    pub(super) open: Option<(XappId, Consumer)>,
    pub(super) subscriptions: HashMap<RicRequestId, Held>,
    pub(super) by_subscription: HashMap<SubscriptionId, RicRequestId>,
    pub(super) tickets: HashMap<Ticket, (RicRequestId, RanFunctionId)>,
    pub(super) next_ticket: u32,
    /// What it may do; everything where nothing was said.
    pub(super) rights: Option<Arc<XappRights>>,
    /// Requests that made no sense, or that it had no right to: told to the log at powers of two.
    pub(super) misuses: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) function: RanFunctionId,
    /// Once it stands.
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
            // each of them was written before, by `connected`, which leaves out what this version has no place for
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

    fn turn_away(&mut self, now: Time, assoc: AssocId, what: &'static str, controller: &mut Controller) {
        self.notices.push_back((assoc, Notice::XappMisuse { what }));
        self.handle_close(now, assoc, controller);
        self.closes.push_back((assoc, CloseReason::Misbehaved));
    }

    pub(super) fn send(&mut self, assoc: AssocId, pdu: &Pdu<'_>) {
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
