//! What every received message must fulfil, and texts for those that do not.

use e2ap::{Cause, ErrorIndication, Pdu, ProtocolIeId, RicRequestId, TransactionId, Version};
use per::Gather;

use crate::Step;
use crate::check::fail;

/// Decodes a message as a strict receiver: no mandatory IE is missing, the IEs are in order (10.3.5, 10.3.6), and an Error
/// Indication says something (8.3.3.2).
///
/// # Errors
/// What is wrong with it, as text.
pub(crate) fn decode(octets: &[u8], version: Version) -> Result<Pdu<'static>, String> {
    let gather = Gather::new();
    let decoded = match e2ap::decode(octets, version, &gather) {
        Ok(decoded) => decoded,
        Err(error) => return Err(format!("a message of the peer cannot be decoded as E2AP {version}: {error}")),
    };
    let name = decoded.pdu.name();
    if let Some(ie) = decoded.missing().next() {
        return Err(format!("{name} lacks the mandatory IE {}", ie.0));
    }
    if let Some(error) = decoded.out_of_order() {
        return Err(format!("{name}: {error}"));
    }
    if let Pdu::ErrorIndication(indication) = &decoded.pdu
        && indication.cause.is_none()
        && indication.criticality_diagnostics.is_none()
    {
        return Err("an ErrorIndication has neither a cause nor criticality diagnostics".to_owned());
    }
    Ok(decoded.pdu.into_owned())
}

/// Describes an Error Indication.
pub(crate) fn describe(indication: &ErrorIndication<'_>) -> String {
    let mut text = "ErrorIndication".to_owned();
    if let Some(cause) = indication.cause {
        text += &format!(", cause {cause}");
    }
    if let Some(code) = indication.criticality_diagnostics.as_ref().and_then(|diagnostics| diagnostics.procedure_code) {
        text += &format!(", about {code:?}");
    }
    text
}

/// Checks that an answer repeats the transaction id of its request (9.2.33).
pub(crate) fn same_transaction(name: &str, sent: Option<TransactionId>, received: Option<TransactionId>) -> Step {
    match (sent, received) {
        (sent, received) if sent == received => Ok(()),
        (Some(sent), Some(received)) => {
            fail(format!("{name} has the transaction id {}, its request {}", received.0, sent.0))
        }
        _ => fail(format!("{name} has a transaction id where its request has none, or the reverse")),
    }
}

/// Checks that an answer repeats the ids of its request (9.2.7, 9.2.8).
pub(crate) fn same_request(name: &str, sent: (RicRequestId, u16), received: (RicRequestId, u16)) -> Step {
    if sent == received {
        return Ok(());
    }
    let text = |(id, function): (RicRequestId, u16)| format!("{}/{} of function {function}", id.requestor, id.instance);
    fail(format!("{name} has the request id {}, its request {}", text(received), text(sent)))
}

/// Checks that each id of `named` is among `known`, once.
pub(crate) fn each_once<T: PartialEq + std::fmt::Debug>(what: &str, known: &[T], named: &[T]) -> Step {
    for (at, id) in named.iter().enumerate() {
        if named[..at].contains(id) {
            return fail(format!("{what} {id:?} is listed twice"));
        }
        if !known.contains(id) {
            return fail(format!("{what} {id:?} was not part of the request"));
        }
    }
    match known.iter().find(|id| !named.contains(id)) {
        Some(id) => fail(format!("{what} {id:?} is in none of the lists of the answer")),
        None => Ok(()),
    }
}

/// Checks that the cause is one of a protocol error of that name.
pub(crate) fn protocol_cause(name: &str, wanted: &[e2ap::CauseProtocol], cause: Option<Cause>) -> Step {
    match cause {
        Some(Cause::Protocol(cause)) if wanted.contains(&cause) => Ok(()),
        Some(cause) => fail(format!("{name} has the cause {cause}, not protocol: {wanted:?}")),
        None => fail(format!("{name} has no cause, where protocol: {wanted:?} belongs")),
    }
}

/// Returns whether diagnostics name an IE.
pub(crate) fn names_ie(diagnostics: Option<&e2ap::CriticalityDiagnostics<'_>>, id: u16) -> bool {
    let ies = diagnostics.and_then(|diagnostics| diagnostics.ies.as_ref());
    ies.is_some_and(|ies| ies.iter().any(|ie| ie.ie_id == ProtocolIeId(id)))
}
