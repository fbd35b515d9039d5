//! Malformed octets: what the node must refuse, and that it goes on.

use e2ap::{CauseProtocol, Pdu, RicSubscriptionDeleteRequest};

use super::{RicSide, UNKNOWN_FUNCTION};
use crate::both::Side;
use crate::both::criticality::taken_apart;
use crate::both::hostile::{many_unknown_ies, undecodable};
use crate::check::fail;
use crate::dialogue::encode;
use crate::wire::RawMessage;
use crate::{Check, Step, expect};

/// RIC Request ID, RAN Function ID.
const REQUEST_ID: u16 = 29;
const FUNCTION_ID: u16 = 5;

pub(super) fn checks<'a>() -> Vec<Check<RicSide<'a>>> {
    let mut checks = undecodable([
        "octets that are no E2AP message are refused, and the node goes on",
        "half a message is refused, and the node goes on",
        "an IE that is longer than its message is refused, and the node goes on",
    ]);
    checks.extend([
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
        many_unknown_ies(),
    ]);
    checks
}

/// Sends an altered request and checks that it is refused.
fn deletion_refused(
    side: &mut RicSide<'_>,
    alter: impl FnOnce(RawMessage) -> RawMessage,
    wanted: &[CauseProtocol],
) -> Step {
    let mut dialogue = side.begin()?;
    let request_id = side.request_id();
    let request = RicSubscriptionDeleteRequest { request_id, ran_function_id: UNKNOWN_FUNCTION };
    let octets = encode(&request.into(), side.version)?;
    dialogue.send_octets(&alter(taken_apart(&octets)?).encode());
    dialogue.receive("RicSubscriptionDeleteFailure or ErrorIndication", |pdu| match pdu {
        Pdu::RicSubscriptionDeleteFailure(failure) => {
            Some(expect::protocol_cause("RicSubscriptionDeleteFailure", wanted, failure.cause))
        }
        Pdu::ErrorIndication(indication) => Some(expect::protocol_cause("ErrorIndication", wanted, indication.cause)),
        Pdu::RicSubscriptionDeleteResponse(_) => Some(fail("the node deleted something")),
        _ => None,
    })?;
    side.fence(&mut dialogue)?;
    side.end(dialogue);
    Ok(())
}
