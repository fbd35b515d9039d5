//! Malformed octets: what the RIC must refuse, and that it serves others afterwards.

use e2ap::{CauseProtocol, Pdu};

use super::NodeSide;
use crate::both::Side;
use crate::both::criticality::taken_apart;
use crate::both::hostile::{many_unknown_ies, undecodable};
use crate::check::fail;
use crate::dialogue::encode;
use crate::wire::RawMessage;
use crate::{Check, Step, expect};

/// Global E2 Node ID.
const NODE_ID: u16 = 3;

pub(super) fn checks<'a>() -> Vec<Check<NodeSide<'a>>> {
    let mut checks = undecodable([
        "octets that are no E2AP message are refused, and other nodes served",
        "half a message is refused, and other nodes served",
        "an IE that is longer than its message is refused, and other nodes served",
    ]);
    checks.extend([
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
        many_unknown_ies(),
    ]);
    checks
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
    dialogue.send_octets(&alter(taken_apart(&octets)?).encode());
    dialogue.receive("E2SetupFailure or ErrorIndication", |pdu| match pdu {
        Pdu::E2SetupFailure(failure) => Some(expect::protocol_cause("E2SetupFailure", wanted, failure.cause)),
        Pdu::ErrorIndication(indication) => Some(expect::protocol_cause("ErrorIndication", wanted, indication.cause)),
        Pdu::E2SetupResponse(_) => Some(fail("the RIC accepted the setup")),
        _ => None,
    })?;
    dialogue.close();
    side.survives(None)
}
