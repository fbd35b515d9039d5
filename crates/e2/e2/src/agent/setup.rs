//! Sets the node up: attempts, pauses, and the loss of the RIC.
//!
//! Procedure: E2 Setup. Clause: E2AP v03.01 8.3.1. Role: node. Since: v01.00. Scenarios: agent_setup*
//!
//! ```text
//! Connecting --open--> AwaitSetup --response--> Up
//!     ^                  |   ^  |                |
//!     |          failure |   |  | time-out       | close
//!     |                  v   |  v                |
//!     |               Retry -+  close            |
//!     +---- pause over ---- Waiting <------------+
//! ```
//!
//! [`removal`](super::removal) shows the state after a removal.

use core::time::Duration;

use e2ap::{
    Cause, CauseMisc, E2NodeComponentConfigurationAck, E2SetupFailure, E2SetupResponse, ProcedureCode, TransactionId,
    UpdateOutcome,
};
use per::IntoOwned;

use super::service_update::revisions;
use super::{Agent, AgentEvent, setup_order};
use crate::budget::Budget;
use crate::change::all;
use crate::protocol_error::or_unspecified;
use crate::{CloseReason, Notice, Time};

#[derive(Debug)]
pub(super) enum State {
    /// A connection was requested from the caller.
    Connecting,
    /// The setup request was sent.
    AwaitSetup { transaction: Option<TransactionId>, deadline: Time },
    /// The setup was refused and is repeated on the same association.
    Retry { at: Time },
    /// The setup succeeded.
    Up,
    /// There is no association.
    Waiting { until: Time },
    /// The node was removed and reconnects at the caller's request.
    Removed,
}

/// Returns the causes of the rejected components.
pub(super) fn rejected(acks: impl Iterator<Item = E2NodeComponentConfigurationAck>) -> Vec<Cause> {
    acks.filter(|ack| ack.outcome == UpdateOutcome::Failure)
        .map(|ack| ack.failure_cause.unwrap_or(Cause::Misc(CauseMisc::Unspecified)))
        .collect()
}

impl Agent {
    // Clause 8.3.1.1/1 node: E2 Setup is the first procedure of an association. Does: a further association of a node
    //   begins otherwise, see 8.3.6.2/8. Tests: agent_setup, conform:setup.
    // Clause 8.3.1.1/2 node: The E2 node starts the procedure. Tests: agent_setup, agent_unsupported_procedures.
    /// Reports a new association. The agent sends the setup request.
    pub fn handle_open(&mut self, now: Time) {
        self.answers = Budget::new(now);
        self.disorder_reported = false;
        self.remarks = Budget::new(now);
        self.forget_procedures();
        self.forget_requests(); // none, unless the caller did not report the loss
        self.send_setup(now);
    }

    /// Reports that the association ended or could not be set up. The agent requests another one after a pause.
    pub fn handle_close(&mut self, now: Time, reason: CloseReason) {
        if let State::Waiting { .. } | State::Removed = self.state {
            return; // reported already
        }
        let (pause, last) = (self.pause, self.config.retry_last);
        let retry_at = self.addresses.next(now, || {
            self.pause = pause.saturating_mul(2).min(last);
            pause
        });
        self.state = State::Waiting { until: retry_at };
        self.forget_procedures();
        self.outbox.clear();
        self.forget_requests();
        self.events.push_back(AgentEvent::Down { reason, retry_at });
    }

    pub(super) fn next_pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = pause.saturating_mul(2).min(self.config.retry_last);
        pause
    }

    /// Returns the time at which [`Agent::handle_timeout`] must be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        match self.state {
            State::AwaitSetup { deadline, .. } => Some(deadline),
            State::Retry { at } => Some(at),
            State::Waiting { until } => Some(until),
            State::Up => {
                let (reset, removal) = (self.reset.map(|reset| reset.by), self.removal.map(|removal| removal.by));
                let reported = [self.functions.deadline(), self.components.deadline()];
                let required = self.required.values().min().copied();
                [reset, removal, required].into_iter().chain(reported).flatten().min()
            }
            State::Connecting | State::Removed => None,
        }
    }

    /// Processes the deadlines that have passed.
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
            State::Up => self.procedures_due(now),
            _ => {}
        }
    }

    fn procedures_due(&mut self, now: Time) {
        self.modification_required_due(now);
        self.service_update_due(now);
        self.configuration_update_due(now);
        self.removal_due(now);
        self.reset_timeout(now);
    }

    fn send_setup(&mut self, now: Time) {
        let transaction = self.next_transaction();
        self.functions.begin(revisions(&self.config.functions));
        self.components.begin(self.config.all_components());
        let request = self.config.setup_request(transaction);
        let request = request.into();
        match setup_order::encode(&request, &self.config) {
            Some(octets) => self.outbox.push_bytes([super::ASSOC], &octets),
            None => {
                self.outbox.push(super::ASSOC, self.config.version, &request);
            }
        }
        self.state = State::AwaitSetup { transaction, deadline: now + self.config.setup_timeout };
    }

    pub(super) fn setup_response(&mut self, now: Time, response: &E2SetupResponse<'_>) {
        self.state = State::Up;
        self.pause = self.config.retry_first;
        self.addresses.succeeded();
        let accepted = response.ran_functions_accepted.iter().flat_map(|i| i.iter()).map(|i| i.id).collect();
        for item in response.ran_functions_rejected.iter().flat_map(|i| i.iter()) {
            let notice = Notice::FunctionRejected { ran_function_id: item.id, cause: item.cause };
            self.events.push_back(AgentEvent::Notice(notice));
        }
        let v1 = all(&response.component_config_update_ack_v1).map(|item| item.ack);
        for cause in rejected(v1.chain(all(&response.component_config_addition_ack).map(|item| item.ack))) {
            self.events.push_back(AgentEvent::Notice(Notice::ComponentRejected { cause }));
        }
        self.events.push_back(AgentEvent::Up { ric_id: response.global_ric_id, accepted });
        // changes during the setup
        self.report_functions(now);
        self.report_components(now);
    }

    // Clause 8.3.1.3/2 node: The node waits for the time to wait of the failure before it sets up again. Does: also
    //   on another association; other addresses of its controller are not concerned. Tests: agent_setup_refused,
    //   agent_time_to_wait_survives_reconnect, agent_setup_at_next_address, conform:setup-refused.
    pub(super) fn setup_failure(&mut self, now: Time, failure: &E2SetupFailure<'_>) {
        self.events.push_back(AgentEvent::Notice(Notice::SetupRefused { cause: or_unspecified(failure.cause) }));
        // E2AP v03.01 8.3.1.3: no setup, on any association, before the RIC's time to wait has passed
        if let Some(wait) = failure.time_to_wait {
            self.addresses.wait_until(now + Duration::from_secs(wait.seconds().into()));
        }
        let tnl = failure.tnl_information.as_ref().map(|tnl| tnl.clone().into_owned());
        if tnl.is_some_and(|tnl| self.addresses.direct(now, &tnl)) {
            self.leave(now);
        } else {
            self.setup_failed(now, failure.time_to_wait.map(|_| self.addresses.not_before()));
        }
    }

    /// Goes to the next address after a refusal, or repeats the setup if there is no other, at the given time or after a pause.
    pub(super) fn setup_failed(&mut self, now: Time, at: Option<Time>) {
        if self.addresses.has_others() {
            self.handle_close(now, CloseReason::Elsewhere);
            self.close = Some(CloseReason::Elsewhere);
        } else {
            self.state = State::Retry { at: at.unwrap_or_else(|| now + self.next_pause()) };
        }
    }

    /// Goes to the address that the RIC has named, at once.
    fn leave(&mut self, now: Time) {
        self.state = State::Waiting { until: now };
        self.forget_procedures();
        self.outbox.clear();
        self.events.push_back(AgentEvent::Down { reason: CloseReason::Elsewhere, retry_at: now });
        self.close = Some(CloseReason::Elsewhere);
    }

    /// Whether an answer belongs to the pending setup.
    pub(super) fn awaits(&self, answer: Option<TransactionId>) -> bool {
        matches!(self.state, State::AwaitSetup { transaction, .. } if transaction == answer)
    }
}
