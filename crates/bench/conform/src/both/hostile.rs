//! Malformed octets that both roles may be sent.

use e2ap::{CauseProtocol, Criticality, Pdu};

use super::criticality::taken_apart;
use super::{Side, reset_octets};
use crate::association::Incoming;
use crate::check::fail;
use crate::dialogue::Dialogue;
use crate::{Check, Step, expect};

/// Octets that cannot be decoded. The titles are those of no message, of half a message, and of an IE beyond the end of its message.
pub(crate) fn undecodable<S: Side>([garbage, truncated, beyond_end]: [&'static str; 3]) -> Vec<Check<S>> {
    vec![
        Check::new("garbage", "10.2", garbage, |side: &mut S| {
            let mut dialogue = side.begin()?;
            dialogue.send_octets(&[0xff; 64]);
            refused(side, dialogue)
        })
        .hostile(),
        Check::new("truncated", "10.2", truncated, |side: &mut S| {
            let mut dialogue = side.begin()?;
            let (octets, _) = reset_octets(side)?;
            dialogue.send_octets(&octets[..octets.len() / 2]);
            refused(side, dialogue)
        })
        .hostile(),
        Check::new("length-beyond-end", "10.2", beyond_end, |side: &mut S| {
            let mut dialogue = side.begin()?;
            let (mut octets, _) = reset_octets(side)?;
            // the length of the first IE, after the header (5 octets), the number of IEs, its id and criticality
            if let Some(length) = octets.get_mut(10) {
                *length = 0x7f;
            }
            dialogue.send_octets(&octets);
            refused(side, dialogue)
        })
        .hostile(),
    ]
}

pub(crate) fn many_unknown_ies<S: Side>() -> Check<S> {
    Check::new(
        "many-unknown-ies",
        "10.3.4.2",
        "a thousand unknown IEs with criticality ignore in a Reset Request change nothing",
        |side: &mut S| {
            side.check(|side, dialogue| {
                let (octets, _) = reset_octets(side)?;
                let mut message = taken_apart(&octets)?;
                for _ in 0..1000 {
                    message = message.with_unknown(Criticality::Ignore);
                }
                dialogue.send_octets(&message.encode());
                dialogue.receive("ResetResponse", |pdu| match pdu {
                    Pdu::ResetResponse(_) => Some(Ok(())),
                    _ => None,
                })
            })?;
            side.survives(None)
        },
    )
    .hostile()
}

/// Checks the reaction to octets that cannot be decoded: an Error Indication with the cause transfer syntax error, the end of the
/// association, or nothing, but no answer as to a valid message; then that the peer still serves this end.
fn refused<S: Side>(side: &mut S, mut dialogue: Dialogue<S::Responder>) -> Step {
    let within = dialogue.timeouts.answer;
    let has_ended = loop {
        let octets = match dialogue.next_octets(within) {
            Incoming::Pdu(octets) => octets,
            Incoming::Nothing => break false,
            Incoming::End(_) => break true,
        };
        match expect::decode(&octets, dialogue.version) {
            Ok(Pdu::ErrorIndication(indication)) => {
                let wanted = [CauseProtocol::TransferSyntaxError];
                expect::protocol_cause("ErrorIndication", &wanted, indication.cause)?;
                break false;
            }
            Ok(pdu @ (Pdu::ResetResponse(_) | Pdu::E2SetupResponse(_))) => {
                return fail(format!("the {} answered by {}", S::PEER, pdu.name()));
            }
            // what the peer does by itself
            Ok(pdu) => dialogue.respond(&pdu)?,
            Err(reason) => return fail(reason),
        }
    };
    side.survives((!has_ended).then_some(dialogue))
}
