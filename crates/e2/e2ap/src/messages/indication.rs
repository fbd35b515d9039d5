//! RIC Indication (E2AP v03.01 8.2.3): it carries the reports and inserts of a subscription.

use per::Octets;

use crate::message::messages;
use crate::{RanFunctionId, RicActionId, RicIndicationSn, RicIndicationType, RicRequestId, peek};

messages! {
    /// RIC INDICATION (E2AP v03.01 9.1.1.7).
    RicIndication<'a> = Initiating RIC_INDICATION, shortcut encode_report {
        /// The subscription.
        must request_id: RicRequestId = 29 Reject [M M M M],
        /// The RAN function.
        must ran_function_id: RanFunctionId = 5 Reject [M M M M],
        /// The action.
        must action_id: RicActionId = 15 Reject [M M M M],
        /// The sequence number.
        may sn: RicIndicationSn = 27 Reject [O O O O],
        /// Report or insert.
        must kind: RicIndicationType = 28 Reject [M M M M],
        /// The service model's header.
        must header: Octets<'a> = 25 Reject [M M M M],
        /// The service model's message.
        must message: Octets<'a> = 26 Reject [M M M M],
        /// The call process that waits for a control.
        may call_process_id: Octets<'a> = 20 Reject [O O O O],
    }
}

impl<'a> From<peek::Indication<'a>> for RicIndication<'a> {
    #[inline]
    fn from(indication: peek::Indication<'a>) -> Self {
        let peek::Indication { request_id, ran_function_id, action_id, sn, kind, header, message, call_process_id } =
            indication;
        RicIndication {
            request_id,
            ran_function_id,
            action_id,
            sn,
            kind,
            header: header.into(),
            message: message.into(),
            call_process_id: call_process_id.map(Octets::from),
        }
    }
}

/// Appends an indication of the form that agents send all the time: with a sequence number, without a call process, and below
/// 16384 octets, so that nothing is fragmented. Its octets have fixed positions up to the header of the service model.
fn encode_report(indication: &RicIndication<'_>, out: &mut Vec<u8>) -> bool {
    let (Some(sn), Some(header), Some(message)) =
        (indication.sn, indication.header.as_slice(), indication.message.as_slice())
    else {
        return false;
    };
    if indication.call_process_id.is_some() || indication.ran_function_id.0 > 4095 {
        return false;
    }
    let (header_ie, message_ie) = (sized(header.len()), sized(message.len()));
    // the extension bit and the number of IEs; five IEs of fixed size; the ids and criticalities of the other two
    let content = 3 + 31 + 3 + sized(header_ie) + 3 + sized(message_ie);
    if content >= 16_384 {
        return false;
    }
    let [r1, r0] = indication.request_id.requestor.to_be_bytes();
    let [i1, i0] = indication.request_id.instance.to_be_bytes();
    let [f1, f0] = indication.ran_function_id.0.to_be_bytes();
    let [s1, s0] = sn.0.to_be_bytes();
    let kind = (indication.kind as u8) << 6;
    out.reserve(5 + content);
    out.extend_from_slice(&[0x00, 0x05, 0x40]);
    append_length(out, content);
    out.extend_from_slice(&[
        0x00,
        0,
        7, // no extension, seven IEs
        0,
        29,
        0,
        5,
        0,
        r1,
        r0,
        i1,
        i0, // RIC Request ID
        0,
        5,
        0,
        2,
        f1,
        f0, // RAN Function ID
        0,
        15,
        0,
        1,
        indication.action_id.0, // RIC Action ID
        0,
        27,
        0,
        2,
        s1,
        s0, // RIC Indication SN
        0,
        28,
        0,
        1,
        kind, // RIC Indication Type
        0,
        25,
        0, // RIC Indication Header
    ]);
    append_length(out, header_ie);
    append_length(out, header.len());
    out.extend_from_slice(header);
    out.extend_from_slice(&[0, 26, 0]); // RIC Indication Message
    append_length(out, message_ie);
    append_length(out, message.len());
    out.extend_from_slice(message);
    true
}

/// The octets of a value with its length determinant (X.691 11.9.3.6, 11.9.3.7).
#[inline]
fn sized(length: usize) -> usize {
    length + if length < 128 { 1 } else { 2 }
}

/// Appends a length determinant below 16384 (X.691 11.9.3.6, 11.9.3.7).
#[inline]
fn append_length(out: &mut Vec<u8>, length: usize) {
    if length < 128 {
        out.push(length as u8);
    } else {
        out.extend_from_slice(&(0x8000 | length as u16).to_be_bytes());
    }
}
