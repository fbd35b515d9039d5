//! Malformed octets: what the node must refuse, and that it goes on.

use e2ap::{CauseProtocol, Criticality, Pdu, ResetRequest, RicSubscriptionDeleteRequest};

use super::{RicDialogue, RicSide, UNKNOWN_FUNCTION};
use crate::association::Incoming;
use crate::check::{fail, inconclusive};
use crate::dialogue::encode;
use crate::wire::RawMessage;
use crate::{Check, Step, expect};

/// RIC Request ID, RAN Function ID.
const REQUEST_ID: u16 = 29;
const FUNCTION_ID: u16 = 5;

pub(super) fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    vec![
        Check::new(
            "garbage",
            "10.2",
            "octets that are no E2AP message are refused, and the node goes on",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.dialogue()?;
                dialogue.send_octets(&[0xff; 64]);
                refused(side, dialogue, &[CauseProtocol::TransferSyntaxError])
            },
        )
        .hostile(),
        Check::new("truncated", "10.2", "half a message is refused, and the node goes on", |side: &mut RicSide<'_>| {
            let mut dialogue = side.dialogue()?;
            let octets = reset(side)?;
            dialogue.send_octets(&octets[..octets.len() / 2]);
            refused(side, dialogue, &[CauseProtocol::TransferSyntaxError])
        })
        .hostile(),
        Check::new(
            "length-beyond-end",
            "10.2",
            "an IE that is longer than its message is refused, and the node goes on",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.dialogue()?;
                let mut octets = reset(side)?;
                // the length of the first IE, after the header (5 octets), the number of IEs, its id and criticality
                if let Some(length) = octets.get_mut(10) {
                    *length = 0x7f;
                }
                dialogue.send_octets(&octets);
                refused(side, dialogue, &[CauseProtocol::TransferSyntaxError])
            },
        )
        .hostile(),
        Check::new(
            "missing-ie",
            "10.3.5",
            "a request without its mandatory RAN Function ID is refused",
            |side: &mut RicSide<'_>| {
                let wanted = [CauseProtocol::AbstractSyntaxErrorReject];
                deletion_refused(side, |message| message.without(FUNCTION_ID), &wanted)
            },
        )
        .hostile(),
        Check::new(
            "repeated-ie",
            "10.3.6",
            "a request with the RIC Request ID twice is refused",
            |side: &mut RicSide<'_>| {
                let wanted = [CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage];
                deletion_refused(side, |message| message.with_repeated(REQUEST_ID), &wanted)
            },
        )
        .hostile(),
        Check::new(
            "invalid-value",
            "10.2, 10.3.4.2",
            "a request whose RAN Function ID is out of range is refused",
            |side: &mut RicSide<'_>| {
                let wanted = [CauseProtocol::TransferSyntaxError, CauseProtocol::AbstractSyntaxErrorReject];
                deletion_refused(side, |message| message.with_value(FUNCTION_ID, &[0xff, 0xff]), &wanted)
            },
        )
        .hostile(),
        Check::new(
            "many-unknown-ies",
            "10.3.4.2",
            "a thousand unknown IEs with criticality ignore in a Reset Request change nothing",
            |side: &mut RicSide<'_>| {
                let mut dialogue = side.dialogue()?;
                let octets = reset(side)?;
                let Some(mut message) = RawMessage::parse(&octets) else {
                    return inconclusive("the message of this end cannot be taken apart");
                };
                for _ in 0..1000 {
                    message = message.with_unknown(Criticality::Ignore);
                }
                dialogue.send_octets(&message.encode());
                dialogue.receive("ResetResponse", |pdu| match pdu {
                    Pdu::ResetResponse(_) => Some(Ok(())),
                    _ => None,
                })?;
                side.fence(&mut dialogue)?;
                side.keep(dialogue);
                Ok(())
            },
        )
        .hostile(),
    ]
}

fn reset(side: &mut RicSide<'_>) -> Step<Vec<u8>> {
    let transaction_id = side.transaction();
    let cause = Some(e2ap::Cause::Misc(e2ap::CauseMisc::OmIntervention));
    encode(&ResetRequest { transaction_id, cause }.into(), side.version)
}

/// Checks the reaction to octets that cannot be decoded: an Error Indication with one of these causes, the end of the association, or
/// nothing; then that the node serves this association or another one.
fn refused(side: &mut RicSide<'_>, mut dialogue: RicDialogue, wanted: &[CauseProtocol]) -> Step {
    let within = dialogue.timeouts.answer;
    let has_ended = loop {
        let octets = match dialogue.next_octets(within) {
            Incoming::Pdu(octets) => octets,
            Incoming::Nothing => break false,
            Incoming::End(_) => break true,
        };
        match expect::decode(&octets, dialogue.version) {
            Ok(Pdu::ErrorIndication(indication)) => {
                expect::protocol_cause("ErrorIndication", wanted, indication.cause)?;
                break false;
            }
            Ok(Pdu::ResetResponse(_)) => return fail("the node answered by ResetResponse"),
            // what the node does by itself
            Ok(pdu) => dialogue.respond(&pdu)?,
            Err(reason) => return fail(reason),
        }
    };
    if has_ended {
        drop(dialogue);
        dialogue = match side.new_dialogue() {
            Ok(dialogue) => dialogue,
            Err(_) => return fail("the node ended the association and did not come back"),
        };
    }
    side.fence(&mut dialogue)?;
    side.keep(dialogue);
    Ok(())
}

/// Sends an altered request and checks that it is refused.
fn deletion_refused(
    side: &mut RicSide<'_>,
    alter: impl FnOnce(RawMessage) -> RawMessage,
    wanted: &[CauseProtocol],
) -> Step {
    let mut dialogue = side.dialogue()?;
    let request_id = side.request_id();
    let request = RicSubscriptionDeleteRequest { request_id, ran_function_id: UNKNOWN_FUNCTION };
    let octets = encode(&request.into(), side.version)?;
    let Some(message) = RawMessage::parse(&octets) else {
        return inconclusive("the request of this end cannot be taken apart");
    };
    dialogue.send_octets(&alter(message).encode());
    dialogue.receive("RicSubscriptionDeleteFailure or ErrorIndication", |pdu| match pdu {
        Pdu::RicSubscriptionDeleteFailure(failure) => {
            Some(expect::protocol_cause("RicSubscriptionDeleteFailure", wanted, failure.cause))
        }
        Pdu::ErrorIndication(indication) => Some(expect::protocol_cause("ErrorIndication", wanted, indication.cause)),
        Pdu::RicSubscriptionDeleteResponse(_) => Some(fail("the node deleted something")),
        _ => None,
    })?;
    side.fence(&mut dialogue)?;
    side.keep(dialogue);
    Ok(())
}
