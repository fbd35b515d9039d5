//! Telling a peer what was wrong with what it sent (E2AP v03.01 8.3.2, 10).

use core::time::Duration;

use e2ap::{
    Cause, CauseProtocol, CauseRicRequest, Criticality, CriticalityDiagnostics, E2SetupFailure, ErrorIndication, Kind,
    Pdu, ProcedureCode, RicIndication, peek,
};

use super::{Controller, Event, NodeId};
use crate::{AssocId, CloseReason, Notice, Time};

/// Error indications that an association may cause at once, and how often one more.
const BURST: u32 = 16;
const REFILL: Duration = Duration::from_millis(100);
/// Bad PDUs in a row, without a good one between, after which an association that has not set up is closed.
const PATIENCE: u32 = 4;

/// Bounds what a peer that sends nonsense makes us send and log.
#[derive(Debug)]
pub(super) struct ErrorBudget {
    left: u32,
    since: Time,
    withheld: u64,
    before_setup: u32,
}

impl ErrorBudget {
    pub fn new(now: Time) -> Self {
        ErrorBudget { left: BURST, since: now, withheld: 0, before_setup: 0 }
    }

    fn take(&mut self, now: Time) -> bool {
        while self.left < BURST && now - self.since >= REFILL {
            self.left += 1;
            self.since = self.since + REFILL;
        }
        if self.left == BURST {
            self.since = now;
        }
        if self.left == 0 {
            self.withheld += 1;
            return false;
        }
        self.left -= 1;
        true
    }
}

impl Controller {
    /// Answers by an error indication and a line in the log, unless the peer caused too many of them.
    fn complain(&mut self, now: Time, assoc: AssocId, notice: Notice, answer: Option<ErrorIndication<'_>>) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        if !state.errors.take(now) {
            let count = state.errors.withheld;
            if count.is_power_of_two() {
                self.notice(assoc, Notice::AnswersWithheld { count });
            }
            return;
        }
        let version = state.version;
        self.notice(assoc, notice);
        if let Some(mut indication) = answer {
            indication.cause = indication.cause.map(|cause| cause.in_version(version));
            if version < e2ap::Version::V2_03 {
                indication.transaction_id = None;
            }
            self.outbox.push(assoc, version, &indication.into());
        }
    }

    /// A PDU that cannot be read.
    pub(super) fn answer_malformed(&mut self, now: Time, assoc: AssocId, pdu: &[u8], error: e2ap::Error) {
        let outline = peek::outline(pdu);
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        if state.node.is_none() {
            state.errors.before_setup += 1;
            if state.errors.before_setup >= PATIENCE {
                self.notice(assoc, Notice::Malformed(error));
                self.close(now, assoc, CloseReason::Misbehaved);
                return;
            }
        }
        match error.message() {
            // E2AP v03.01 8.3.1.3: a setup that cannot be taken has a failure of its own.
            Some((Kind::Initiating, ProcedureCode::E2_SETUP)) => {
                let transaction_id = outline.and_then(|o| o.transaction_id);
                self.refuse_setup(now, assoc, transaction_id, error.cause(), None, error.diagnostics());
                self.notice(assoc, Notice::Malformed(error));
            }
            // An error indication is never answered by another one.
            Some((_, ProcedureCode::ERROR_INDICATION)) => self.complain(now, assoc, Notice::Malformed(error), None),
            _ => {
                let answer = ErrorIndication {
                    transaction_id: outline.and_then(|o| o.transaction_id),
                    request_id: outline.and_then(|o| o.request_id),
                    ran_function_id: outline.and_then(|o| o.ran_function_id),
                    cause: Some(error.cause()),
                    criticality_diagnostics: error.diagnostics(),
                };
                self.complain(now, assoc, Notice::Malformed(error), Some(answer));
            }
        }
    }

    /// A message that does not fit the state (E2AP v03.01 10.4).
    pub(super) fn not_in_state(&mut self, now: Time, assoc: AssocId, pdu: &Pdu<'_>) {
        let cause = CauseProtocol::MessageNotCompatibleWithReceiverState;
        let answer = about(pdu, Cause::Protocol(cause), None);
        self.complain(now, assoc, Notice::NotInState { message: pdu.name() }, Some(answer));
    }

    /// A procedure that is not supported: by its criticality (E2AP v03.01 10.3.4.1).
    pub(super) fn not_supported(&mut self, now: Time, assoc: AssocId, pdu: &Pdu<'_>) {
        let notice = Notice::NotSupported { message: pdu.name() };
        let criticality = match pdu {
            Pdu::RicServiceQuery(_) | Pdu::RicSubscriptionDeleteRequired(_) => Criticality::Ignore,
            _ => Criticality::Reject,
        };
        let answer = (criticality == Criticality::Reject)
            .then(|| about(pdu, Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject), Some(criticality)));
        self.complain(now, assoc, notice, answer);
    }

    /// A message about a request that this node does not have.
    pub(super) fn unknown_request(
        &mut self,
        now: Time,
        node: NodeId,
        request_id: e2ap::RicRequestId,
        message: &'static str,
    ) {
        let Some(assoc) = self.nodes.get(&node).map(|n| n.assoc) else { return };
        let answer = ErrorIndication {
            transaction_id: None,
            request_id: Some(request_id),
            ran_function_id: None,
            cause: Some(Cause::RicRequest(CauseRicRequest::RequestIdUnknown)),
            criticality_diagnostics: None,
        };
        self.complain(now, assoc, Notice::UnknownRequest { message, request_id }, Some(answer));
    }

    /// An indication of no subscription that stands.
    pub(super) fn stray_indication(&mut self, now: Time, assoc: AssocId, node: NodeId, indication: &RicIndication<'_>) {
        let Some(place) = self.requests.place(indication.request_id) else {
            return self.unknown_request(now, node, indication.request_id, "RicIndication");
        };
        // Under way when its subscription ended, or ahead of its response: nobody's fault, and nobody's.
        let late = self.requests.rests(place) || self.subscription_of(node, place);
        if !late {
            self.unknown_request(now, node, indication.request_id, "RicIndication");
        } else if let Some(state) = self.assocs.get_mut(&assoc) {
            state.errors.before_setup = 0;
        }
    }

    /// The peer says that something was wrong. What it was about fails.
    pub(super) fn error_indication(&mut self, now: Time, assoc: AssocId, indication: ErrorIndication<'_>) {
        let ErrorIndication { request_id, cause, criticality_diagnostics, .. } = indication;
        let procedure_code = criticality_diagnostics.as_ref().and_then(|d| d.procedure_code);
        let request_id = request_id.or(criticality_diagnostics.and_then(|d| d.ric_request_id));
        self.complain(now, assoc, Notice::ErrorIndication { cause, procedure_code, request_id }, None);
        let node = self.assocs.get(&assoc).and_then(|a| a.node);
        let place = request_id.and_then(|id| self.requests.place(id));
        if let (Some(node), Some(place)) = (node, place) {
            let cause = cause.unwrap_or(Cause::Protocol(CauseProtocol::Unspecified));
            self.request_failed(now, node, place, cause);
        }
    }

    pub(super) fn refuse_setup(
        &mut self,
        now: Time,
        assoc: AssocId,
        transaction_id: Option<e2ap::TransactionId>,
        cause: Cause,
        time_to_wait: Option<e2ap::TimeToWait>,
        criticality_diagnostics: Option<CriticalityDiagnostics<'static>>,
    ) {
        let Some(state) = self.assocs.get_mut(&assoc) else { return };
        let (version, allowed) = (state.version, state.errors.take(now));
        if !allowed {
            return;
        }
        let cause = cause.in_version(version);
        let transaction_id =
            (version >= e2ap::Version::V2_03).then(|| transaction_id.unwrap_or(e2ap::TransactionId(0)));
        let failure =
            E2SetupFailure { transaction_id, cause, time_to_wait, criticality_diagnostics, tnl_information: None };
        self.outbox.push(assoc, version, &failure.into());
        self.events.push_back(Event::Notice { assoc, notice: Notice::SetupRefused { cause } });
    }
}

/// An error indication about a message that was understood.
fn about(pdu: &Pdu<'_>, cause: Cause, criticality: Option<Criticality>) -> ErrorIndication<'static> {
    ErrorIndication {
        transaction_id: None,
        request_id: None,
        ran_function_id: None,
        cause: Some(cause),
        criticality_diagnostics: Some(CriticalityDiagnostics {
            procedure_code: Some(pdu.procedure_code()),
            triggering_message: Some(pdu.kind().triggering_message()),
            procedure_criticality: criticality,
            ..Default::default()
        }),
    }
}
