//! E2 Setup from the node's side (E2AP v03.01 8.3.1): attempts, pauses, and the loss of the RIC.
//!
//! ```text
//! Connecting --open--> AwaitSetup --response--> Up
//!     ^                  |   ^  |                |
//!     |          failure |   |  | time-out       | close
//!     |                  v   |  v                |
//!     |               Retry -+  close            |
//!     +---- pause over ---- Waiting <------------+
//! ```

use e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceNg,
    E2NodeComponentInterfaceType, E2SetupFailure, E2SetupRequest, E2SetupResponse, ErrorIndication, ProcedureCode,
    RanFunctionItem, TransactionId, Version,
};
use per::{Octets, PrintableString};

use core::time::Duration;

use super::{Agent, AgentEvent, COMPLAINTS};
use crate::{CloseReason, Notice, Time};

#[derive(Debug)]
pub(super) enum State {
    /// The caller is asked to connect.
    Connecting,
    /// The setup is sent.
    AwaitSetup { transaction: Option<TransactionId>, deadline: Time },
    /// The setup was refused; it is tried again on the same association.
    Retry { at: Time },
    /// The RIC has taken it.
    Up,
    /// There is no association.
    Waiting { until: Time },
}

impl Agent {
    /// The association is there: the setup begins.
    pub fn handle_open(&mut self, now: Time) {
        self.complaints_left = COMPLAINTS;
        self.send_setup(now);
    }

    /// The association is gone, or there is none to be had: tried again after a pause.
    pub fn handle_close(&mut self, now: Time, reason: CloseReason) {
        let retry_at = now + self.pause;
        self.pause = self.pause.saturating_mul(2).min(self.config.retry_last);
        self.state = State::Waiting { until: retry_at };
        self.forget_requests();
        self.events.push_back(AgentEvent::Down { reason, retry_at });
    }

    /// When to call [`Agent::handle_timeout`] at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        match self.state {
            State::AwaitSetup { deadline, .. } => Some(deadline),
            State::Retry { at } => Some(at),
            State::Waiting { until } => Some(until),
            State::Connecting | State::Up => None,
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        match self.state {
            State::AwaitSetup { deadline, .. } if deadline <= now => {
                let notice = Notice::TimedOut { procedure_code: ProcedureCode::E2_SETUP, request_id: None };
                self.events.push_back(AgentEvent::Notice(notice));
                self.handle_close(now, CloseReason::SetupTimeout);
                self.close = Some(CloseReason::SetupTimeout);
            }
            State::Retry { at } if at <= now => self.send_setup(now),
            State::Waiting { until } if until <= now => {
                self.state = State::Connecting;
                self.events.push_back(AgentEvent::Connect);
            }
            _ => {}
        }
    }

    fn send_setup(&mut self, now: Time) {
        let transaction = self.next_transaction();
        let version = self.config.version;
        let functions = self.config.functions.iter().map(|function| RanFunctionItem {
            id: function.id,
            definition: function.definition.as_slice().into(),
            revision: function.revision,
            // v01.00 has no place for it
            oid: PrintableString::try_from(function.oid.as_str()).ok().filter(|_| version > Version::V1_00),
        });
        let request = E2SetupRequest {
            transaction_id: transaction,
            global_e2_node_id: self.config.node_id,
            ran_functions_added: Some(functions.collect()),
            component_config_update_v1: None,
            component_config_addition: (version >= Version::V2_03).then(|| match self.config.components.as_slice() {
                [] => vec![no_interfaces()].into(),
                components => components.to_vec().into(),
            }),
        };
        self.outbox.push(super::ASSOC, version, &request.into());
        self.state = State::AwaitSetup { transaction, deadline: now + self.config.setup_timeout };
    }

    pub(super) fn setup_response(&mut self, now: Time, response: &E2SetupResponse<'_>) {
        if !self.awaits(response.transaction_id) {
            return self.complain(Notice::NotInState { message: "E2SetupResponse" }, None);
        }
        let _ = now;
        self.state = State::Up;
        self.pause = self.config.retry_first;
        let accepted = response.ran_functions_accepted.iter().flat_map(|i| i.iter()).map(|i| i.id).collect();
        for item in response.ran_functions_rejected.iter().flat_map(|i| i.iter()) {
            let notice = Notice::FunctionRejected { ran_function_id: item.id, cause: item.cause };
            self.events.push_back(AgentEvent::Notice(notice));
        }
        self.events.push_back(AgentEvent::Up { ric_id: response.global_ric_id, accepted });
    }

    pub(super) fn setup_failure(&mut self, now: Time, failure: &E2SetupFailure<'_>) {
        if !self.awaits(failure.transaction_id) {
            return self.complain(Notice::NotInState { message: "E2SetupFailure" }, None);
        }
        self.events.push_back(AgentEvent::Notice(Notice::SetupRefused { cause: failure.cause }));
        // E2AP v03.01 8.3.1.3: not before the RIC's time to wait, where it names one.
        let pause = match failure.time_to_wait {
            Some(wait) => Duration::from_secs(wait.seconds().into()),
            None => {
                let pause = self.pause;
                self.pause = pause.saturating_mul(2).min(self.config.retry_last);
                pause
            }
        };
        self.state = State::Retry { at: now + pause };
    }

    /// Whether an answer is the one to the setup that is under way.
    fn awaits(&self, answer: Option<TransactionId>) -> bool {
        matches!(self.state, State::AwaitSetup { transaction, .. } if transaction == answer)
    }

    pub(super) fn error_indication(&mut self, now: Time, indication: &ErrorIndication<'_>) {
        let diagnostics = indication.criticality_diagnostics.as_ref();
        let procedure_code = diagnostics.and_then(|d| d.procedure_code);
        let (cause, request_id) = (indication.cause, indication.request_id);
        self.complain(Notice::ErrorIndication { cause, procedure_code, request_id }, None);
        // A RIC that cannot read the setup may say so this way: no use in waiting for its answer.
        if let State::AwaitSetup { .. } = self.state {
            let pause = self.pause;
            self.pause = pause.saturating_mul(2).min(self.config.retry_last);
            self.state = State::Retry { at: now + pause };
        }
    }
}

/// From v2 on a setup names one component at least: a node without interfaces names an empty NG.
fn no_interfaces() -> E2NodeComponentConfigAdditionItem<'static> {
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::Ng,
        id: E2NodeComponentId::Ng(E2NodeComponentInterfaceNg { amf_name: PrintableString::literal("none") }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    }
}
