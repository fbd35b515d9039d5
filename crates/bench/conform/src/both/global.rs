//! The global procedures (8.3) that both roles begin.

use e2ap::{Cause, CauseMisc, E2RemovalRequest, ErrorIndication, Pdu};

use super::{Side, reset};
use crate::check::inconclusive;
use crate::dialogue::Dialogue;
use crate::{Check, Step, expect};

/// A reset of this end is answered.
pub(crate) fn reset_check<S: Side>(title: &'static str) -> Check<S> {
    Check::new("reset", "8.3.2.2", title, |side: &mut S| side.check(|side, dialogue| reset(side, dialogue)))
}

pub(crate) fn error_indication_check<S: Side>() -> Check<S> {
    Check::new(
        "error-indication",
        "8.3.3, 10.3.4.2",
        "an Error Indication is not answered, and the association continues",
        |side: &mut S| {
            side.check(|_, dialogue| {
                dialogue.send(ErrorIndication {
                    transaction_id: None,
                    request_id: None,
                    ran_function_id: None,
                    cause: Some(Cause::Misc(CauseMisc::Unspecified)),
                    criticality_diagnostics: None,
                })
            })
        },
    )
}

/// Sends an E2 Removal Request and checks its response.
pub(crate) fn remove<S: Side>(side: &mut S, dialogue: &mut Dialogue<S::Responder>) -> Step {
    let transaction_id = side.transaction();
    dialogue.send(E2RemovalRequest { transaction_id })?;
    dialogue.receive("E2RemovalResponse", |pdu| match pdu {
        Pdu::E2RemovalResponse(response) => {
            Some(expect::same_transaction("E2RemovalResponse", transaction_id, response.transaction_id))
        }
        Pdu::E2RemovalFailure(failure) => {
            Some(inconclusive(format!("the {} refused the removal: {:?}", S::PEER, failure.cause)))
        }
        _ => None,
    })
}
