//! Partial decoding: the ids and payloads that routing needs.
//!
//! [`indication`] is the fast path: it reads the ids of an indication and finds its payload without allocation. The full
//! decoder accepts everything that it accepts, with the same values, in every version (all versions share the wire format
//! of this message). It leaves uncommon encodings to the full decoder: fragments (from 16384 octets on), IEs that are
//! unknown, repeated, missing or out of order, extensions, and octets behind a value. Like the full decoder it accepts any
//! defined criticality and ignores padding bits; unlike it, it does not keep criticalities that differ from the tables.
//!
//! [`outline`] finds the ids in a PDU that the full decoder rejects, so that the response can identify the request. It reads
//! as far as IEs can be delimited, and no further than the first fragment: E2AP puts the ids first.

use crate::{
    Criticality, Kind, ProcedureCode, RanFunctionId, RicActionId, RicIndicationSn, RicIndicationType, RicRequestId,
    TransactionId,
};

/// The result of [`indication`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indication<'a> {
    /// The subscription.
    pub request_id: RicRequestId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
    /// The action.
    pub action_id: RicActionId,
    /// The sequence number.
    pub sn: Option<RicIndicationSn>,
    /// Report or insert.
    pub kind: RicIndicationType,
    /// The service model's header.
    pub header: &'a [u8],
    /// The service model's message.
    pub message: &'a [u8],
    /// The call process that waits for a control.
    pub call_process_id: Option<&'a [u8]>,
}

/// A position in a PDU whose parts are all octet-aligned.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    // `always`: calls for each IE of an indication would double the time
    #[inline(always)]
    fn octet(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    #[inline(always)]
    fn pair(&mut self) -> Option<u16> {
        let (pair, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*pair))
    }

    /// Reads a value with its length, unless it is fragmented.
    #[inline(always)]
    fn sized(&mut self) -> Option<&'a [u8]> {
        let first = self.octet()?;
        let length = match first {
            0..0x80 => usize::from(first),
            0x80..0xC0 => usize::from(first & 0x3F) << 8 | usize::from(self.octet()?),
            _ => return None,
        };
        let (value, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(value)
    }
}

/// Finds the ids and the payload of an indication; for `None` use [`crate::decode`].
#[inline]
#[must_use]
pub fn indication(pdu: &[u8]) -> Option<Indication<'_>> {
    read::<false>(pdu)
}

/// As [`indication`], if the criticalities are those of the tables: then nothing of the PDU is missing in the result.
#[inline]
pub(crate) fn usual_indication(pdu: &[u8]) -> Option<Indication<'_>> {
    read::<true>(pdu)
}

/// With `USUAL`, requires the criticalities of the tables.
#[inline(always)]
fn read<const USUAL: bool>(pdu: &[u8]) -> Option<Indication<'_>> {
    let mut cursor = Cursor(pdu);
    // initiating message without extension, whatever the padding
    if cursor.octet()? >> 5 != 0 || cursor.octet()? != ProcedureCode::RIC_INDICATION.0 {
        return None;
    }
    let criticality = cursor.octet()? >> 6;
    if criticality > 2 || USUAL && criticality != Criticality::Ignore as u8 {
        return None;
    }
    let mut ies = Cursor(cursor.sized()?);
    if !cursor.0.is_empty() || ies.octet()? & 0x80 != 0 {
        return None;
    }
    let mut ies = Ies::<USUAL> { left: ies.pair()?, cursor: ies };
    let request_id = match ies.next(29)? {
        &[flags, r1, r0, i1, i0] if flags & 0x80 == 0 => {
            RicRequestId { requestor: u16::from_be_bytes([r1, r0]), instance: u16::from_be_bytes([i1, i0]) }
        }
        _ => return None,
    };
    let ran_function_id = match ies.next(5)? {
        &[f1, f0] if f1 < 16 => RanFunctionId(u16::from_be_bytes([f1, f0])),
        _ => return None,
    };
    let &[action_id] = ies.next(15)? else { return None };
    let sn = match ies.next(27) {
        None => None,
        Some(&[s1, s0]) => Some(RicIndicationSn(u16::from_be_bytes([s1, s0]))),
        Some(_) => return None,
    };
    let kind = match *ies.next(28)? {
        [bits] if bits & 0xC0 == 0 => RicIndicationType::Report,
        [bits] if bits & 0xC0 == 0x40 => RicIndicationType::Insert,
        _ => return None,
    };
    let header = octet_string(ies.next(25)?)?;
    let message = octet_string(ies.next(26)?)?;
    let call_process_id = match ies.next(20) {
        None => None,
        Some(value) => Some(octet_string(value)?),
    };
    if ies.left > 0 || !ies.cursor.0.is_empty() {
        return None;
    }
    let action_id = RicActionId(action_id);
    Some(Indication { request_id, ran_function_id, action_id, sn, kind, header, message, call_process_id })
}

/// A cursor over IEs. With `USUAL`, their criticality is reject, as in the table.
struct Ies<'a, const USUAL: bool> {
    cursor: Cursor<'a>,
    /// The number of remaining IEs.
    left: u16,
}

impl<'a, const USUAL: bool> Ies<'a, USUAL> {
    /// Reads the value of the next IE, if its id is `wanted`.
    #[inline(always)]
    fn next(&mut self, wanted: u16) -> Option<&'a [u8]> {
        let mut cursor = self.cursor;
        if self.left == 0 || cursor.pair()? != wanted {
            return None;
        }
        let criticality = cursor.octet()? >> 6;
        if criticality > 2 || USUAL && criticality != Criticality::Reject as u8 {
            return None;
        }
        let value = cursor.sized()?;
        self.cursor = cursor;
        self.left -= 1;
        Some(value)
    }
}

/// An OCTET STRING that fills its open type.
#[inline]
fn octet_string(value: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor(value);
    let octets = cursor.sized()?;
    cursor.0.is_empty().then_some(octets)
}

/// The result of [`outline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The kind of message.
    pub kind: Kind,
    /// The procedure, known or not.
    pub procedure_code: ProcedureCode,
    /// The procedure's criticality.
    pub criticality: Criticality,
    /// The transaction id, if found.
    pub transaction_id: Option<TransactionId>,
    /// The RIC request id, if found.
    pub request_id: Option<RicRequestId>,
    /// The RAN function id, if found.
    pub ran_function_id: Option<RanFunctionId>,
}

/// Finds the ids in any PDU with a readable header.
#[must_use]
pub fn outline(pdu: &[u8]) -> Option<Outline> {
    let mut cursor = Cursor(pdu);
    let kind = match cursor.octet()? >> 5 {
        0 => Kind::Initiating,
        1 => Kind::Successful,
        2 => Kind::Unsuccessful,
        _ => return None,
    };
    let procedure_code = ProcedureCode(cursor.octet()?);
    let criticality = match cursor.octet()? >> 6 {
        0 => Criticality::Reject,
        1 => Criticality::Ignore,
        2 => Criticality::Notify,
        _ => return None,
    };
    let mut outline =
        Outline { kind, procedure_code, criticality, transaction_id: None, request_id: None, ran_function_id: None };
    // An error ends the search; the ids found before it are the result.
    let _ = ids(cursor, &mut outline);
    Some(outline)
}

fn ids(cursor: Cursor<'_>, outline: &mut Outline) -> Option<()> {
    ies(cursor, |id, value| {
        match (id, value) {
            (49, &[flags, transaction]) if flags & 0x80 == 0 => {
                outline.transaction_id = Some(TransactionId(transaction.into()));
            }
            // beyond 255 (9.2.33 is extensible) any integer is allowed; those of 32 bits are supported
            (49, &[flags, count, ref number @ ..]) if flags & 0x80 != 0 && usize::from(count) == number.len() => {
                outline.transaction_id = extended(number).map(TransactionId);
            }
            (29, &[_, r1, r0, i1, i0, ..]) => {
                outline.request_id = Some(RicRequestId {
                    requestor: u16::from_be_bytes([r1, r0]),
                    instance: u16::from_be_bytes([i1, i0]),
                });
            }
            (5, &[f1, f0]) if f1 < 16 => outline.ran_function_id = Some(RanFunctionId(u16::from_be_bytes([f1, f0]))),
            _ => {}
        }
        Some(())
    })
}

/// Calls `each` with the id and value of each IE, as far as IEs can be delimited, until it returns `None`. The cursor is behind the
/// criticality of the procedure.
fn ies<'a>(mut cursor: Cursor<'a>, mut each: impl FnMut(u16, &'a [u8]) -> Option<()>) -> Option<()> {
    // the whole message, its first fragment, or the octets that are present
    let length = match cursor.octet()? {
        first @ 0..0x80 => usize::from(first),
        first @ 0x80..0xC0 => usize::from(first & 0x3F) << 8 | usize::from(cursor.octet()?),
        first => usize::from(first & 0x3F) * 16384,
    };
    let mut cursor = Cursor(&cursor.0[..length.min(cursor.0.len())]);
    cursor.octet()?;
    for _ in 0..cursor.pair()? {
        let id = cursor.pair()?;
        cursor.octet()?;
        each(id, cursor.sized()?)?;
    }
    Some(())
}

/// Returns the position of the value of the first IE `wanted`, if it has that many `octets` and no extension.
fn place(pdu: &[u8], wanted: u16, octets: usize) -> Option<usize> {
    let mut found = None;
    // an error ends the search
    let _ = ies(Cursor(pdu.get(3..)?), |id, value| {
        let fits = value.len() == octets && value.first().is_some_and(|flags| flags & 0x80 == 0);
        if id == wanted && fits {
            found = Some(value.as_ptr().addr() - pdu.as_ptr().addr());
        }
        if found.is_some() { None } else { Some(()) }
    });
    found
}

/// Finds the request id in a PDU without decoding the rest: returns the octets before its requestor and instance, and those after
/// them.
///
/// This is all that relaying between peers with separate request ids needs.
#[must_use]
pub fn around_request_id(pdu: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = place(pdu, 29, 5)? + 1;
    Some((pdu.get(..at)?, pdu.get(at + 4..)?))
}

/// Replaces the request id in a PDU without decoding the rest; returns whether it has one.
pub fn replace_request_id(pdu: &mut [u8], id: RicRequestId) -> bool {
    let Some((before, _)) = around_request_id(pdu) else { return false };
    let at = before.len();
    let Some(octets) = pdu.get_mut(at..at + 4) else { return false };
    octets[..2].copy_from_slice(&id.requestor.to_be_bytes());
    octets[2..].copy_from_slice(&id.instance.to_be_bytes());
    true
}

/// Replaces the transaction id in a PDU without decoding the rest; returns whether it has one and both ids are below 256.
pub fn replace_transaction_id(pdu: &mut [u8], id: TransactionId) -> bool {
    let Ok(id) = u8::try_from(id.0) else { return false };
    match place(pdu, 49, 2).and_then(|at| pdu.get_mut(at + 1)) {
        Some(octet) => {
            *octet = id;
            true
        }
        None => false,
    }
}

/// Returns a non-negative number in two's complement of at most 32 bits.
fn extended(number: &[u8]) -> Option<u32> {
    let (&first, _) = number.split_first()?;
    if first & 0x80 != 0 {
        return None;
    }
    number.iter().try_fold(0u32, |value, &octet| Some(value.checked_mul(256)? | u32::from(octet)))
}
