//! Malformed octets: what the RIC must refuse, and that it serves others afterwards.

use e2ap::{CauseProtocol, Criticality, Pdu, ResetRequest};

use super::{NodeDialogue, NodeSide};
use crate::association::Incoming;
use crate::check::{fail, inconclusive};
use crate::dialogue::encode;
use crate::wire::RawMessage;
use crate::{Check, Step, expect};

/// Global E2 Node ID.
const NODE_ID: u16 = 3;

pub(super) fn checks<'a>() -> Vec<Check<NodeSide<'a>>> {
    vec![
        Check::new(
            "garbage",
            "10.2",
            "octets that are no E2AP message are refused, and other nodes served",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                dialogue.send_octets(&[0xff; 64]);
                refused(&mut dialogue, &[CauseProtocol::TransferSyntaxError])?;
                survives(side)
            },
        )
        .hostile(),
        Check::new(
            "truncated",
            "10.2",
            "half a message is refused, and other nodes served",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let octets = reset(side)?;
                dialogue.send_octets(&octets[..octets.len() / 2]);
                refused(&mut dialogue, &[CauseProtocol::TransferSyntaxError])?;
                survives(side)
            },
        )
        .hostile(),
        Check::new(
            "length-beyond-end",
            "10.2",
            "an IE that is longer than its message is refused, and other nodes served",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
                let mut octets = reset(side)?;
                // the length of the first IE, after the header (5 octets), the number of IEs, its id and criticality
                if let Some(length) = octets.get_mut(10) {
                    *length = 0x7f;
                }
                dialogue.send_octets(&octets);
                refused(&mut dialogue, &[CauseProtocol::TransferSyntaxError])?;
                survives(side)
            },
        )
        .hostile(),
        Check::new(
            "missing-ie",
            "10.3.5",
            "a setup without the mandatory Global E2 Node ID is refused",
            |side: &mut NodeSide<'_>| {
                setup_refused(side, |message| message.without(NODE_ID), &[CauseProtocol::AbstractSyntaxErrorReject])
            },
        )
        .hostile(),
        Check::new(
            "repeated-ie",
            "10.3.6",
            "a setup with the Global E2 Node ID twice is refused",
            |side: &mut NodeSide<'_>| {
                let wanted = [CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage];
                setup_refused(side, |message| message.with_repeated(NODE_ID), &wanted)
            },
        )
        .hostile(),
        Check::new(
            "invalid-value",
            "10.2, 10.3.4.2",
            "a setup whose Global E2 Node ID cannot be decoded is refused",
            |side: &mut NodeSide<'_>| {
                let wanted = [CauseProtocol::TransferSyntaxError, CauseProtocol::AbstractSyntaxErrorReject];
                setup_refused(side, |message| message.with_value(NODE_ID, &[0x1f, 0xff]), &wanted)
            },
        )
        .hostile(),
        Check::new(
            "many-unknown-ies",
            "10.3.4.2",
            "a thousand unknown IEs with criticality ignore in a Reset Request change nothing",
            |side: &mut NodeSide<'_>| {
                let mut dialogue = side.set_up()?;
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
                dialogue.close();
                survives(side)
            },
        )
        .hostile(),
    ]
}

fn reset(side: &mut NodeSide<'_>) -> Step<Vec<u8>> {
    let transaction_id = side.transaction();
    let cause = Some(e2ap::Cause::Misc(e2ap::CauseMisc::OmIntervention));
    encode(&ResetRequest { transaction_id, cause }.into(), side.version)
}

/// Checks the reaction to octets that cannot be decoded: an Error Indication with one of these causes, the end of the association, or
/// nothing, but no answer as to a valid message.
fn refused(dialogue: &mut NodeDialogue, wanted: &[CauseProtocol]) -> Step {
    loop {
        let octets = match dialogue.next_octets(dialogue.timeouts.answer) {
            Incoming::Pdu(octets) => octets,
            Incoming::Nothing | Incoming::End(_) => return Ok(()),
        };
        match expect::decode(&octets, dialogue.version) {
            Ok(Pdu::ErrorIndication(indication)) => {
                return expect::protocol_cause("ErrorIndication", wanted, indication.cause);
            }
            Ok(pdu @ (Pdu::ResetResponse(_) | Pdu::E2SetupResponse(_))) => {
                return fail(format!("the RIC answered by {}", pdu.name()));
            }
            // what the RIC does by itself
            Ok(pdu) => dialogue.respond(&pdu)?,
            Err(reason) => return fail(reason),
        }
    }
}

/// Sends an altered setup and checks that it is refused, and that a valid one is accepted afterwards.
fn setup_refused(
    side: &mut NodeSide<'_>,
    alter: impl FnOnce(RawMessage) -> RawMessage,
    wanted: &[CauseProtocol],
) -> Step {
    let mut dialogue = side.connect()?;
    let request = side.setup_request();
    let octets = encode(&request.into(), side.version)?;
    let Some(message) = RawMessage::parse(&octets) else {
        return inconclusive("the setup request of this end cannot be taken apart");
    };
    dialogue.send_octets(&alter(message).encode());
    dialogue.receive("E2SetupFailure or ErrorIndication", |pdu| match pdu {
        Pdu::E2SetupFailure(failure) => Some(expect::protocol_cause("E2SetupFailure", wanted, failure.cause)),
        Pdu::ErrorIndication(indication) => Some(expect::protocol_cause("ErrorIndication", wanted, indication.cause)),
        Pdu::E2SetupResponse(_) => Some(fail("the RIC accepted the setup")),
        _ => None,
    })?;
    dialogue.close();
    survives(side)
}

/// Checks that another association is served.
fn survives(side: &mut NodeSide<'_>) -> Step {
    let mut dialogue = match side.set_up() {
        Ok(dialogue) => dialogue,
        Err(crate::Stop::Fail(reason) | crate::Stop::Inconclusive(reason)) => {
            return fail(format!("afterwards the RIC serves no other association: {reason}"));
        }
    };
    side.fence(&mut dialogue)?;
    dialogue.close();
    Ok(())
}
