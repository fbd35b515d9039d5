//! Answers to what cannot be read.

use e2ap::{
    CauseProtocol, CriticalityDiagnostics, Kind, Pdu, ProcedureCode, RanFunctionId, RicControlFailure, RicRequestId,
    RicSubscriptionDeleteFailure, RicSubscriptionFailure, Version, peek,
};

use super::{Agent, AgentEvent};
use crate::answer::malformed;
use crate::{Notice, Time};

impl Agent {
    /// A PDU that cannot be read: answered by the failure of its procedure where it has one that can be told (E2AP v03.01
    /// 10.3.4, 10.3.5), by an error indication else.
    pub(super) fn answer_malformed(&mut self, now: Time, pdu: &[u8], error: e2ap::Error) {
        match self.failure(pdu, &error) {
            Some(failure) if self.answers.take(now) => {
                self.events.push_back(AgentEvent::Notice(Notice::Malformed(error)));
                self.send(&failure);
            }
            // none left: this counts it
            _ => {
                let answer = malformed(pdu, &error);
                let notice = if answer.is_some() { Notice::Malformed } else { Notice::Unreadable };
                self.complain(now, notice(error), answer);
            }
        }
    }

    fn failure(&self, pdu: &[u8], error: &e2ap::Error) -> Option<Pdu<'static>> {
        // E2AP v03.01 10.2: what has no syntax at all has no procedure
        if error.cause() == e2ap::Cause::Protocol(CauseProtocol::TransferSyntaxError) || !self.is_up() {
            return None;
        }
        let Some((Kind::Initiating, code)) = error.message() else { return None };
        let outline = peek::outline(pdu)?;
        let (id, function) = (outline.request_id?, outline.ran_function_id?);
        failure(code, id, function, self.config.version, error)
    }
}

fn failure(
    code: ProcedureCode,
    request_id: RicRequestId,
    ran_function_id: RanFunctionId,
    version: Version,
    error: &e2ap::Error,
) -> Option<Pdu<'static>> {
    let cause = error.cause().in_version(version);
    let criticality_diagnostics: Option<CriticalityDiagnostics<'static>> = error.diagnostics();
    let v2 = version >= Version::V2_03;
    Some(match code {
        ProcedureCode::RIC_SUBSCRIPTION => RicSubscriptionFailure {
            request_id,
            ran_function_id,
            // v1 has a cause for each action only, and no action can be told
            actions_not_admitted: (!v2).then(|| Vec::new().into()),
            cause: v2.then_some(cause),
            criticality_diagnostics,
        }
        .into(),
        ProcedureCode::RIC_SUBSCRIPTION_DELETE => {
            RicSubscriptionDeleteFailure { request_id, ran_function_id, cause, criticality_diagnostics }.into()
        }
        ProcedureCode::RIC_CONTROL => RicControlFailure {
            request_id,
            ran_function_id,
            call_process_id: None,
            cause,
            outcome: None,
            // v1 has no place for them
            criticality_diagnostics: criticality_diagnostics.filter(|_| v2),
        }
        .into(),
        _ => return None,
    })
}
