//! The E2 node's side of one association with a near-RT RIC.
//!
//! The machine keeps the RAN functions of the node and the active subscriptions; the caller implements the functions. A request
//! of the RIC becomes an [`AgentEvent`], which names the methods that answer it. The caller answers at once or later, or calls
//! [`Agent::decline`] for an event that it does not know. Each procedure has a file of its own; this file dispatches.

mod addresses;
mod config;
mod configuration_update;
mod connection_update;
mod control;
mod delete_required;
mod error_indication;
mod indication;
mod modification;
mod modification_required;
mod protocol_error;
mod query;
mod removal;
mod reset;
mod service_query;
mod service_update;
mod setup;
mod setup_order;
mod subscription;
mod subscription_delete;
mod types;
mod update;

use core::time::Duration;
use std::collections::{BTreeMap, HashMap, VecDeque};

use e2ap::{
    Cause, CauseProtocol, CauseRicRequest, CauseTransport, Codec, CriticalityDiagnostics, Decoded, ErrorIndication,
    GlobalE2NodeId, Kind, Pdu, ProcedureCode, RanFunctionId, RicActionId, RicRequestId, TransactionId, Version,
};
use per::Gather;

use crate::budget::Budget;
use crate::outbox::Outbox;
use crate::protocol_error::{about, in_version, not_supported, report as report_of};
use crate::{AssocId, CloseReason, Notice, Time};

pub use addresses::Target;
pub use config::{AgentConfig, AgentConfigError, Function};
pub use control::ControlRequest;
pub use modification::ModificationRequest;
pub use query::QueryRequest;
pub use subscription::SubscriptionRequest;
pub use types::{AgentEvent, AgentMisuse};

use addresses::Addresses;
use configuration_update::Components;
use connection_update::PendingConnection;
use control::Control;
use removal::PendingRemoval;
use reset::PendingReset;
use service_update::Revisions;
use setup::State;
use subscription::Subscription;
use update::{GivenUp, PendingUpdate};

/// The id of the only association in the outbox.
const ASSOC: AssocId = AssocId(0);

/// The E2 node's side of one association.
#[derive(Debug)]
pub struct Agent {
    config: AgentConfig,
    state: State,
    pause: Duration,
    addresses: Addresses,
    transaction: u8,
    subscriptions: BTreeMap<RicRequestId, Subscription>,
    controls: HashMap<RicRequestId, Control>,
    /// Octets stored of unanswered controls.
    control_octets: usize,
    queries: HashMap<RicRequestId, RanFunctionId>,
    reset: Option<PendingReset>,
    removal: Option<PendingRemoval>,
    functions: PendingUpdate<Revisions>,
    components: PendingUpdate<Components>,
    connection: Option<PendingConnection>,
    /// The changes required of the RIC, and the deadlines of its answers.
    required: BTreeMap<RicRequestId, Time>,
    outbox: Outbox,
    events: VecDeque<AgentEvent>,
    close: Option<CloseReason>,
    /// The budget of error answers.
    answers: Budget,
    /// Whether a message out of order was reported on this association.
    disorder_reported: bool,
    /// The budget of log lines about oddities that need no answer.
    remarks: Budget,
}

impl Agent {
    /// Creates an agent that requests a connection at once.
    ///
    /// # Panics
    /// If [`AgentConfig::check`] fails.
    #[must_use]
    pub fn new(config: AgentConfig) -> Self {
        if let Err(error) = config.check() {
            panic!("invalid agent configuration: {error}");
        }
        let mut outbox = Outbox::default();
        outbox.open(ASSOC, config.codec);
        Agent {
            pause: config.retry_first,
            addresses: Addresses::new(config.addresses),
            config,
            state: State::Connecting,
            transaction: 0,
            subscriptions: BTreeMap::new(),
            controls: HashMap::new(),
            control_octets: 0,
            queries: HashMap::new(),
            reset: None,
            removal: None,
            functions: PendingUpdate::new(),
            components: PendingUpdate::new(),
            connection: None,
            required: BTreeMap::new(),
            outbox,
            events: VecDeque::from([AgentEvent::Connect]),
            close: None,
            answers: Budget::new(Time::default()),
            disorder_reported: false,
            remarks: Budget::new(Time::default()),
        }
    }

    /// Whether the setup has succeeded.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Up)
    }

    /// The E2AP version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.config.version
    }

    /// The encoding.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.config.codec
    }

    /// The global id of the node.
    #[must_use]
    pub fn node_id(&self) -> GlobalE2NodeId {
        self.config.node_id
    }

    /// Where to connect to: the address that the last [`AgentEvent::Connect`] asks for.
    #[must_use]
    pub fn target(&self) -> Target<'_> {
        self.addresses.target()
    }

    /// Handles a PDU received from the RIC.
    pub fn handle_pdu(&mut self, now: Time, pdu: &[u8]) {
        if let State::Connecting | State::Waiting { .. } | State::Removed = self.state {
            return; // left over from an association that has ended
        }
        let gather = Gather::new();
        let decoded = match self.config.codec.decode(pdu, self.config.version, &gather) {
            Ok(decoded) => decoded,
            Err(error) => return self.answer_malformed(now, pdu, error),
        };
        if let Some(&error) = decoded.out_of_order() {
            if self.config.strict_ie_order {
                return self.answer_malformed(now, pdu, error);
            }
            if !std::mem::replace(&mut self.disorder_reported, true) {
                self.events.push_back(AgentEvent::Notice(Notice::OutOfOrder(error)));
            }
        }
        let report = match Notice::overlooked(&decoded) {
            Some(notice) => self.overlooked(now, pdu, &decoded, notice),
            None => None,
        };
        match decoded.pdu {
            Pdu::E2SetupResponse(m) if self.awaits(m.transaction_id) => self.setup_response(now, &m),
            Pdu::E2SetupFailure(m) if self.awaits(m.transaction_id) => self.setup_failure(now, &m),
            Pdu::ErrorIndication(m) => self.error_indication(now, &m),
            other if other.kind() == Kind::Initiating && self.is_up() => self.request(now, other, pdu, report),
            other if self.is_up() => self.answer(now, other, pdu),
            other => self.not_in_state(now, &other, pdu),
        }
    }

    // Clause 10.3.4.2/5 node: An ignored IE with criticality ignore and notify in a request is reported in the
    //   answer. Does: as in the RIC. Tests: agent_criticality_notify, conform:unknown-ie-notify.
    /// Reports IEs that were ignored in a message that is processed nevertheless: at once, or, if the procedure's answer can
    /// carry them, by returning the diagnostics (E2AP v03.01 10.3.4.2, 10.3.5).
    fn overlooked(
        &mut self,
        now: Time,
        pdu: &[u8],
        decoded: &Decoded<'_>,
        notice: Notice,
    ) -> Option<CriticalityDiagnostics<'static>> {
        let report = decoded.to_report();
        match (&decoded.pdu, report) {
            (Pdu::ResetRequest(_) | Pdu::E2RemovalRequest(_), Some(report)) if self.is_up() => {
                self.remark(now, notice);
                return Some(report);
            }
            (message, Some(diagnostics)) => {
                let answer = report_of(message, self.config.codec.outline(pdu), diagnostics);
                self.complain(now, notice, answer);
            }
            (_, None) => self.remark(now, notice),
        }
        None
    }

    /// Dispatches an initiating message of the RIC; `report` belongs into its answer.
    fn request(&mut self, now: Time, message: Pdu<'_>, pdu: &[u8], report: Option<CriticalityDiagnostics<'static>>) {
        match message {
            // sent before the RIC received the reset, and dropped by it (E2AP v03.01 8.3.2.2)
            Pdu::RicSubscriptionRequest(_)
            | Pdu::RicSubscriptionModificationRequest(_)
            | Pdu::RicControlRequest(_)
            | Pdu::RicQueryRequest(_)
                if self.reset.is_some() => {}
            Pdu::RicSubscriptionRequest(request) => self.subscription_request(&request),
            Pdu::RicSubscriptionDeleteRequest(request) => self.delete_request(&request),
            Pdu::RicSubscriptionModificationRequest(request) => self.modification_request(&request),
            Pdu::RicControlRequest(request) => self.control_request(&request),
            Pdu::RicQueryRequest(request) => self.query_request(&request),
            Pdu::ResetRequest(request) => self.reset_request(now, &request, report),
            Pdu::RicServiceQuery(query) => self.service_query(now, &query),
            Pdu::E2ConnectionUpdate(update) => self.connection_update(&update),
            Pdu::E2RemovalRequest(request) => self.removal_request(&request, report),
            other => {
                let (notice, answer) = not_supported(&other, self.config.codec.outline(pdu));
                self.complain(now, notice, answer);
            }
        }
    }

    /// Dispatches an answer to one of the node's procedures.
    fn answer(&mut self, now: Time, message: Pdu<'_>, pdu: &[u8]) {
        match message {
            Pdu::ResetResponse(m) if self.reset_answered(m.transaction_id) => {}
            Pdu::RicServiceUpdateAcknowledge(m) if self.functions.acknowledged(m.transaction_id) => {
                self.service_update_acknowledged(now, &m);
            }
            Pdu::RicServiceUpdateFailure(m) if self.functions.awaits(m.transaction_id) => {
                self.service_update_failed(now, &m);
            }
            Pdu::E2NodeConfigurationUpdateAcknowledge(m) if self.components.acknowledged(m.transaction_id) => {
                self.configuration_update_acknowledged(now, &m);
            }
            Pdu::E2NodeConfigurationUpdateFailure(m) if self.components.awaits(m.transaction_id) => {
                self.configuration_update_failed(now, &m);
            }
            Pdu::E2RemovalResponse(m) if self.awaits_removal(m.transaction_id) => self.removed(false),
            Pdu::E2RemovalFailure(m) if self.awaits_removal(m.transaction_id) => {
                self.removal_refused(now, m.cause);
            }
            Pdu::RicSubscriptionModificationConfirm(m) if self.awaits_required(m.request_id) => {
                self.modification_confirmed(&m);
            }
            Pdu::RicSubscriptionModificationRefuse(m) if self.awaits_required(m.request_id) => {
                self.modification_refused(m.request_id, Some(m.cause));
            }
            other => self.not_in_state(now, &other, pdu),
        }
    }

    // Clause 8.3.1.4/1 node: Another first message than an answer to the setup is a logical error. Does: Error
    //   Indication. Tests: agent_setup_unexpected_answers.
    // Clause 10.4/3 node: A logical error in an answer ends its procedure unsuccessfully and is handled locally.
    //   Does: the answer is dropped. A pending procedure ends at its time limit. Tests: agent_setup_unexpected_answers.
    // Clause 10.4/4 node: A logical error in a message of class 2 is answered by an Error Indication. Tests:
    //   agent_service_query_before_setup.
    /// Answers a request that is not compatible with the state; drops an answer (E2AP v03.01 10.4).
    fn not_in_state(&mut self, now: Time, message: &Pdu<'_>, pdu: &[u8]) {
        let outline = self.config.codec.outline(pdu);
        let is_request = message.kind() == Kind::Initiating;
        let answer =
            is_request.then(|| about(message, outline, CauseProtocol::MessageNotCompatibleWithReceiverState, None));
        self.complain(now, Notice::NotInState { message: message.name(), answered: is_request }, answer);
    }

    /// Refuses the request of an event on behalf of a caller that does not support it. Other events, and requests that have
    /// ended, are ignored.
    pub fn decline(&mut self, event: &AgentEvent) {
        let cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
        // a request that has ended needs no answer
        let _ = match event {
            AgentEvent::Subscribe(request) => self.refuse(request.request_id, cause),
            AgentEvent::Modify(request) => self.refuse_modification(request.request_id, cause),
            AgentEvent::Control(request) => self.fail(request.request_id, cause, None),
            AgentEvent::Query(request) => self.fail_query(request.request_id, cause),
            AgentEvent::ConnectionUpdate(_) => {
                let cause = Cause::Transport(CauseTransport::TransportResourceUnavailable);
                self.refuse_connection_update(cause, None)
            }
            _ => Ok(()),
        };
    }

    /// Appends the next PDU to send to `out`. Returns whether there was one.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool {
        self.outbox.pop(out).is_some()
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<AgentEvent> {
        self.events.pop_front()
    }

    /// Returns why the association must be closed, after the queued PDUs are sent. The agent has already dropped it.
    pub fn poll_close(&mut self) -> Option<CloseReason> {
        self.close.take()
    }

    fn send(&mut self, pdu: &Pdu<'_>) {
        self.outbox.push(ASSOC, self.config.version, pdu);
    }

    /// Reports a notice and sends an error indication, unless the budget is exhausted.
    fn complain(&mut self, now: Time, notice: Notice, answer: Option<ErrorIndication<'_>>) {
        if !self.answers.take(now) {
            if let Some(count) = self.answers.withheld() {
                self.events.push_back(AgentEvent::Notice(Notice::AnswersWithheld { count }));
            }
            return;
        }
        self.events.push_back(AgentEvent::Notice(notice));
        if let Some(answer) = answer {
            self.send(&in_version(answer, self.config.version).into());
        }
    }

    fn next_transaction(&mut self) -> Option<TransactionId> {
        self.transaction = self.transaction.wrapping_add(1);
        (self.config.version >= Version::V2_03).then_some(TransactionId(self.transaction.into()))
    }

    /// Drops all subscriptions, controls and queries, and reports the end of the subscriptions.
    fn forget_requests(&mut self) {
        self.controls.clear();
        self.control_octets = 0;
        self.queries.clear();
        self.required.clear();
        for (request_id, Subscription { ran_function_id, .. }) in std::mem::take(&mut self.subscriptions) {
            self.events.push_back(AgentEvent::Unsubscribe { request_id, ran_function_id });
        }
    }

    /// Drops the requests of removed functions, and reports the end of the subscriptions.
    fn forget_requests_of_gone_functions(&mut self) {
        let Agent { config, subscriptions, controls, control_octets, queries, required, events, .. } = self;
        let offers = |id: RanFunctionId| config.functions.iter().any(|function| function.id == id);
        controls.retain(|_, control| offers(control.ran_function_id));
        *control_octets = controls.values().map(Control::octets).sum();
        queries.retain(|_, function| offers(*function));
        subscriptions.retain(|request_id, Subscription { ran_function_id, .. }| {
            if offers(*ran_function_id) {
                return true;
            }
            required.remove(request_id);
            let (request_id, ran_function_id) = (*request_id, *ran_function_id);
            events.push_back(AgentEvent::Unsubscribe { request_id, ran_function_id });
            false
        });
    }

    /// Drops the pending procedures when the association ends or starts.
    fn forget_procedures(&mut self) {
        self.reset = None;
        self.removal = None;
        self.connection = None;
        self.required.clear();
        // the next setup reports everything
        self.functions = PendingUpdate::new();
        self.components = PendingUpdate::new();
    }

    fn give_up(&mut self, GivenUp { procedure_code, cause }: GivenUp) {
        self.events.push_back(AgentEvent::GivenUp { procedure_code, cause });
    }

    /// Reports a procedure that was not answered in time.
    fn timed_out(&mut self, now: Time, procedure_code: ProcedureCode, request_id: Option<RicRequestId>) {
        self.remark(now, Notice::TimedOut { procedure_code, request_id });
    }

    /// Reports an oddity for the log, unless the budget is exhausted.
    fn remark(&mut self, now: Time, notice: Notice) {
        if self.remarks.take(now) {
            self.events.push_back(AgentEvent::Notice(notice));
        }
    }
}

/// An action and the sequence number of its next indication.
#[derive(Clone, Copy, Debug)]
struct ActionState {
    id: RicActionId,
    sn: u16,
}
