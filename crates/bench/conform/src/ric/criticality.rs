//! Unknown procedures and IEs by their criticality (10.3.4).

use e2ap::{CauseProtocol, Criticality, Pdu, ResetRequest, RicSubscriptionDeleteRequest};

use super::{RicSide, UNKNOWN_FUNCTION};
use crate::check::fail;
use crate::criticality::{altered, expect_procedure};
use crate::dialogue::encode;
use crate::wire::{RawMessage, UNKNOWN_IE};
use crate::{Check, Step, expect};

pub(super) fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    vec![
        Check::new(
            "unknown-procedure-reject",
            "10.3.4.1",
            "an unknown procedure with criticality reject is answered by Error Indication",
            |side: &mut RicSide<'_>| {
                unknown_procedure(side, Criticality::Reject, CauseProtocol::AbstractSyntaxErrorReject)
            },
        ),
        Check::new(
            "unknown-procedure-notify",
            "10.3.4.1",
            "an unknown procedure with criticality notify is answered by Error Indication",
            |side: &mut RicSide<'_>| {
                unknown_procedure(side, Criticality::Notify, CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify)
            },
        ),
        Check::new(
            "unknown-procedure-ignore",
            "10.3.4.1",
            "an unknown procedure with criticality ignore is ignored",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.dialogue()?;
                dialogue.send_octets(&RawMessage::unknown_procedure(Criticality::Ignore).encode());
                side.fence(&mut dialogue)?;
                side.keep(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "unknown-ie-ignore",
            "10.3.4.2",
            "an unknown IE with criticality ignore in a Reset Request changes nothing",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.dialogue()?;
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
                })?;
                side.fence(&mut dialogue)?;
                side.keep(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "unknown-ie-notify",
            "10.3.4.2",
            "an unknown IE with criticality notify in a Reset Request is reported, and the reset is done",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.dialogue()?;
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
                side.keep(dialogue);
                Ok(())
            },
        ),
        Check::new(
            "unknown-ie-reject",
            "10.3.4.2",
            "an unknown IE with criticality reject in a RIC Subscription Delete Request leads to its failure",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.dialogue()?;
                let request_id = side.request_id();
                let request = RicSubscriptionDeleteRequest { request_id, ran_function_id: UNKNOWN_FUNCTION };
                let octets = altered(&encode(&request.into(), side.version)?, Criticality::Reject)?;
                dialogue.send_octets(&octets);
                dialogue.receive("RicSubscriptionDeleteFailure", |pdu| match pdu {
                    Pdu::RicSubscriptionDeleteFailure(failure) if failure.request_id == request_id => {
                        let wanted = [CauseProtocol::AbstractSyntaxErrorReject];
                        Some(expect::protocol_cause("RicSubscriptionDeleteFailure", &wanted, failure.cause))
                    }
                    Pdu::RicSubscriptionDeleteResponse(_) => Some(fail("the node deleted something")),
                    _ => None,
                })?;
                side.fence(&mut dialogue)?;
                side.keep(dialogue);
                Ok(())
            },
        ),
    ]
}

fn unknown_procedure(side: &mut RicSide<'_>, criticality: Criticality, cause: CauseProtocol) -> Step {
    let mut dialogue = side.dialogue()?;
    dialogue.send_octets(&RawMessage::unknown_procedure(criticality).encode());
    dialogue.receive("ErrorIndication", |pdu| match pdu {
        Pdu::ErrorIndication(indication) => Some(expect_procedure(indication, cause)),
        _ => None,
    })?;
    side.fence(&mut dialogue)?;
    side.keep(dialogue);
    Ok(())
}

fn altered_reset(side: &mut RicSide<'_>, criticality: Criticality) -> Step<(Vec<u8>, Option<e2ap::TransactionId>)> {
    let transaction_id = side.transaction();
    let cause = Some(e2ap::Cause::Misc(e2ap::CauseMisc::OmIntervention));
    let octets = encode(&ResetRequest { transaction_id, cause }.into(), side.version)?;
    Ok((altered(&octets, criticality)?, transaction_id))
}
