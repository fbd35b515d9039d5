//! Unknown procedures and IEs by their criticality (10.3.4).

use e2ap::{CauseProtocol, Criticality, ErrorIndication, Pdu, TransactionId};

use super::{Side, reset_octets};
use crate::check::{fail, inconclusive};
use crate::wire::{RawMessage, UNKNOWN_IE, UNKNOWN_PROCEDURE};
use crate::{Check, Step, expect};

pub(crate) fn checks<S: Side>() -> Vec<Check<S>> {
    vec![
        Check::new(
            "unknown-procedure-reject",
            "10.3.4.1",
            "an unknown procedure with criticality reject is answered by Error Indication",
            |side: &mut S| unknown_procedure(side, Criticality::Reject, CauseProtocol::AbstractSyntaxErrorReject),
        ),
        Check::new(
            "unknown-procedure-notify",
            "10.3.4.1",
            "an unknown procedure with criticality notify is answered by Error Indication",
            |side: &mut S| {
                unknown_procedure(side, Criticality::Notify, CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify)
            },
        ),
        Check::new(
            "unknown-procedure-ignore",
            "10.3.4.1",
            "an unknown procedure with criticality ignore is ignored",
            |side: &mut S| {
                side.check(|_, dialogue| {
                    dialogue.send_octets(&RawMessage::unknown_procedure(Criticality::Ignore).encode());
                    Ok(())
                })
            },
        ),
        Check::new(
            "unknown-ie-ignore",
            "10.3.4.2",
            "an unknown IE with criticality ignore in a Reset Request changes nothing",
            |side: &mut S| {
                side.check(|side, dialogue| {
                    let (octets, transaction_id) = altered_reset(side, Criticality::Ignore)?;
                    dialogue.send_octets(&octets);
                    dialogue.receive("ResetResponse", |pdu| match pdu {
                        Pdu::ResetResponse(response) if response.criticality_diagnostics.is_some() => {
                            Some(fail("the ResetResponse reports the IE"))
                        }
                        Pdu::ResetResponse(response) => {
                            Some(expect::same_transaction("ResetResponse", transaction_id, response.transaction_id))
                        }
                        _ => None,
                    })
                })
            },
        ),
        Check::new(
            "unknown-ie-notify",
            "10.3.4.2",
            "an unknown IE with criticality notify in a Reset Request is reported, and the reset is done",
            |side: &mut S| {
                let mut dialogue = side.begin()?;
                let (octets, transaction_id) = altered_reset(side, Criticality::Notify)?;
                dialogue.send_octets(&octets);
                dialogue
                    .forgive(|indication| expect::names_ie(indication.criticality_diagnostics.as_ref(), UNKNOWN_IE));
                let in_response = dialogue.receive("ResetResponse", |pdu| match pdu {
                    Pdu::ResetResponse(response) => {
                        let named = expect::names_ie(response.criticality_diagnostics.as_ref(), UNKNOWN_IE);
                        let same = expect::same_transaction("ResetResponse", transaction_id, response.transaction_id);
                        Some(same.map(|()| named))
                    }
                    _ => None,
                })?;
                // an Error Indication may follow the response
                side.fence(&mut dialogue)?;
                if !in_response && dialogue.forgiven == 0 {
                    return fail("neither the ResetResponse nor an ErrorIndication names the IE");
                }
                dialogue.forgive(|_| false);
                side.end(dialogue);
                Ok(())
            },
        ),
    ]
}

fn unknown_procedure<S: Side>(side: &mut S, criticality: Criticality, cause: CauseProtocol) -> Step {
    side.check(|_, dialogue| {
        dialogue.send_octets(&RawMessage::unknown_procedure(criticality).encode());
        dialogue.receive("ErrorIndication", |pdu| match pdu {
            Pdu::ErrorIndication(indication) => Some(expect_procedure(indication, cause)),
            _ => None,
        })
    })
}

/// Checks that an Error Indication is about the unknown procedure.
fn expect_procedure(indication: &ErrorIndication<'_>, cause: CauseProtocol) -> Step {
    let diagnostics = indication.criticality_diagnostics.as_ref();
    if let Some(code) = diagnostics.and_then(|diagnostics| diagnostics.procedure_code)
        && code.0 != UNKNOWN_PROCEDURE
    {
        return fail(format!("{}, where procedure {UNKNOWN_PROCEDURE} was sent", expect::describe(indication)));
    }
    expect::protocol_cause("ErrorIndication", &[cause], indication.cause)
}

fn altered_reset<S: Side>(side: &mut S, criticality: Criticality) -> Step<(Vec<u8>, Option<TransactionId>)> {
    let (octets, transaction_id) = reset_octets(side)?;
    Ok((altered(&octets, criticality)?, transaction_id))
}

/// Returns a message with an unknown IE.
pub(crate) fn altered(octets: &[u8], criticality: Criticality) -> Step<Vec<u8>> {
    Ok(taken_apart(octets)?.with_unknown(criticality).encode())
}

/// Returns the parts of a message of this end.
pub(crate) fn taken_apart(octets: &[u8]) -> Step<RawMessage> {
    match RawMessage::parse(octets) {
        Some(message) => Ok(message),
        None => inconclusive("a message of this end cannot be taken apart"),
    }
}
