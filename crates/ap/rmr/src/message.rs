//! Messages: a transport header, the header of version 3, trace data, data of calls, and the payload.
//!
//! ```text
//! transport (50)   length (4, little-endian), length (4, big-endian), '$', zeros; each length is that of the whole message
//! header (280)     type, payload length, version; transaction id (32), sender id (32), source (64), meid (32), time (4 + 16);
//!                  flags, lengths of header, trace data, data 1 and data 2, subscription id; source address (64)
//! trace data, data 1, data 2, payload
//! ```
//!
//! Integers of the header are big-endian, except the flags, which are in the order of the sender. The first octet of data 1 is
//! the id of the call that a message belongs to. A sender of version 2 has no source address.

use core::fmt;

use crate::{MessageType, NO_SUBSCRIPTION};

/// Octets of the transport header.
pub const TRANSPORT_OCTETS: usize = 50;
/// Octets of the header of version 3.
pub const HEADER_OCTETS: usize = 280;
/// Octets of the header of version 2, which ends before the source address.
const V2_HEADER_OCTETS: usize = 216;
/// Octets that [`Header::write`] writes without trace data.
pub const OVERHEAD_OCTETS: usize = TRANSPORT_OCTETS + HEADER_OCTETS + CALL_DATA_OCTETS;
/// Octets of a transaction id.
pub const TRANSACTION_OCTETS: usize = 32;
/// Octets of the field for a managed entity id, and the end of its text.
pub const MEID_OCTETS: usize = 32;
/// Octets of the fields for a source, and the end of its text.
pub const SOURCE_OCTETS: usize = 64;
/// Octets of data 1, which programs of the original library expect.
const CALL_DATA_OCTETS: usize = 4;
/// The flag of a message that was sent by a call, whose sender waits for the answer. Little-endian.
pub const CALL_FLAG: u32 = 0x04;

const VERSION: u32 = 3;
/// The octet that says that the big-endian length is present.
const MARKER: u8 = b'$';

/// Places in the header.
mod at {
    use core::ops::Range;

    pub const KIND: usize = 0;
    pub const PAYLOAD: usize = 4;
    pub const VERSION: usize = 8;
    pub const TRANSACTION: Range<usize> = 12..44;
    pub const SOURCE: Range<usize> = 76..140;
    pub const MEID: Range<usize> = 140..172;
    pub const FLAGS: usize = 192;
    pub const HEADER_LENGTH: usize = 196;
    pub const TRACE_LENGTH: usize = 200;
    pub const DATA_LENGTH: usize = 204;
    pub const DATA_2_LENGTH: usize = 208;
    pub const SUBSCRIPTION: usize = 212;
    pub const ADDRESS: Range<usize> = 216..280;
}

/// Why octets are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// The header is incomplete.
    Truncated {
        /// Octets of the message.
        octets: usize,
    },
    /// The version is none that has these fields.
    Version(u32),
    /// A stated length is not possible.
    Length {
        /// The field.
        field: &'static str,
        /// Its value.
        octets: u32,
        /// Octets that are present.
        limit_octets: usize,
    },
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageError::Truncated { octets } => {
                write!(f, "it has {octets} octets, fewer than the headers of an RMR message")
            }
            MessageError::Version(version) => {
                write!(f, "its RMR message version is {version}; versions 2 and 3 are supported")
            }
            MessageError::Length { field, octets, limit_octets } => {
                write!(f, "its {field} is {octets} octets, of which {limit_octets} are present")
            }
        }
    }
}

impl core::error::Error for MessageError {}

/// A received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is.
    pub kind: MessageType,
    /// The subscription that it belongs to, or [`NO_SUBSCRIPTION`].
    pub subscription_id: i32,
    /// The transaction id, 32 octets.
    pub transaction: &'a [u8],
    /// The flags, in little-endian order.
    pub flags: u32,
    /// Trace data.
    pub trace: &'a [u8],
    /// Data 1: its first octet is the id of a call, or 0.
    pub data: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
    source: &'a [u8],
    source_address: &'a [u8],
    meid: &'a [u8],
}

/// The text of a field that ends with a zero octet; empty if it is not UTF-8.
fn text(field: &[u8]) -> &str {
    let end = field.iter().position(|octet| *octet == 0).unwrap_or(field.len());
    core::str::from_utf8(&field[..end]).unwrap_or("")
}

/// Reads a big-endian integer of the header.
fn integer(header: &[u8], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |octets| u32::from_be_bytes(*octets))
}

impl<'a> Message<'a> {
    /// Reads a whole message, transport header included.
    ///
    /// # Errors
    /// If a header or what a length states is not there.
    pub fn read(octets: &'a [u8]) -> Result<Self, MessageError> {
        let truncated = MessageError::Truncated { octets: octets.len() };
        let message = octets.get(TRANSPORT_OCTETS..).ok_or(truncated)?;
        if message.len() < V2_HEADER_OCTETS {
            return Err(truncated);
        }
        let version = integer(message, at::VERSION);
        let least = match version {
            2 => V2_HEADER_OCTETS,
            3 => HEADER_OCTETS,
            _ => return Err(MessageError::Version(version)),
        };
        let mut rest = message;
        let mut part = |at, field, least: usize| {
            let stated = integer(message, at);
            let octets = usize::try_from(stated).ok().filter(|octets| *octets >= least);
            let split = octets.and_then(|octets| rest.split_at_checked(octets));
            let error = MessageError::Length { field, octets: stated, limit_octets: rest.len() };
            let (part, behind) = split.ok_or(error)?;
            rest = behind;
            Ok(part)
        };
        let header: &'a [u8] = part(at::HEADER_LENGTH, "header length", least)?;
        let trace = part(at::TRACE_LENGTH, "trace data length", 0)?;
        let data = part(at::DATA_LENGTH, "data length", 0)?;
        part(at::DATA_2_LENGTH, "second data length", 0)?;
        let payload = part(at::PAYLOAD, "payload length", 0)?;
        Ok(Message {
            kind: MessageType(integer(header, at::KIND).cast_signed()),
            subscription_id: integer(header, at::SUBSCRIPTION).cast_signed(),
            transaction: &header[at::TRANSACTION],
            flags: integer(header, at::FLAGS).swap_bytes(),
            trace,
            data,
            payload,
            source: &header[at::SOURCE],
            source_address: if version == 2 { &[] } else { &header[at::ADDRESS] },
            meid: &header[at::MEID],
        })
    }

    /// The name and port of the sender, as it states them: `HOST:PORT`.
    #[must_use]
    pub fn source(&self) -> &'a str {
        text(self.source)
    }

    /// The address and port of the sender, as it states them; empty in version 2.
    #[must_use]
    pub fn source_address(&self) -> &'a str {
        text(self.source_address)
    }

    /// The managed entity that the message concerns: the RAN name of a node. Empty if there is none.
    #[must_use]
    pub fn meid(&self) -> &'a str {
        text(self.meid)
    }

    /// The header of an answer: it belongs to the same transaction, call, subscription and managed entity.
    #[must_use]
    pub fn answer(&self, kind: MessageType, source: &'a str) -> Header<'a> {
        Header {
            kind,
            subscription_id: self.subscription_id,
            transaction: self.transaction,
            meid: self.meid(),
            source,
            source_address: source,
            flags: self.flags & !CALL_FLAG,
            trace: self.trace,
            data: self.data,
        }
    }
}

/// What precedes a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// What the message is.
    pub kind: MessageType,
    /// The subscription that it belongs to, or [`NO_SUBSCRIPTION`].
    pub subscription_id: i32,
    /// The transaction id; octets beyond 32 are left out.
    pub transaction: &'a [u8],
    /// The managed entity; octets beyond 31 are left out.
    pub meid: &'a str,
    /// `HOST:PORT` of the sender; octets beyond 63 are left out.
    pub source: &'a str,
    /// The same with an address; octets beyond 63 are left out.
    pub source_address: &'a str,
    /// The flags, in little-endian order.
    pub flags: u32,
    /// Trace data.
    pub trace: &'a [u8],
    /// Data 1; four zero octets if it is empty.
    pub data: &'a [u8],
}

impl Default for Header<'_> {
    fn default() -> Self {
        Header {
            kind: MessageType::UNSET,
            subscription_id: NO_SUBSCRIPTION,
            transaction: &[],
            meid: "",
            source: "",
            source_address: "",
            flags: 0,
            trace: &[],
            data: &[],
        }
    }
}

/// Copies what fits into a field that must end with a zero octet.
fn fill(field: &mut [u8], text: &str) {
    let room = field.len() - 1;
    for (octet, of_text) in field[..room].iter_mut().zip(text.as_bytes()) {
        *octet = *of_text;
    }
}

impl Header<'_> {
    /// Appends all octets of a message before its payload.
    ///
    /// # Panics
    /// If the message exceeds 4 GiB.
    pub fn write(&self, payload_octets: usize, out: &mut Vec<u8>) {
        let data: &[u8] = if self.data.is_empty() { &[0; CALL_DATA_OCTETS] } else { self.data };
        let behind = self.trace.len() + data.len();
        let start = out.len();
        out.resize(start + TRANSPORT_OCTETS + HEADER_OCTETS, 0);
        let header = &mut out[start + TRANSPORT_OCTETS..];
        let mut put = |at: usize, value: u32| header[at..at + 4].copy_from_slice(&value.to_be_bytes());
        put(at::KIND, self.kind.0.cast_unsigned());
        put(at::VERSION, VERSION);
        put(at::FLAGS, self.flags.swap_bytes());
        put(at::HEADER_LENGTH, HEADER_OCTETS as u32);
        put(at::TRACE_LENGTH, u32::try_from(self.trace.len()).expect("trace data below 4 GiB"));
        put(at::DATA_LENGTH, u32::try_from(data.len()).expect("data below 4 GiB"));
        put(at::SUBSCRIPTION, self.subscription_id.cast_unsigned());
        for (octet, of_transaction) in header[at::TRANSACTION].iter_mut().zip(self.transaction) {
            *octet = *of_transaction;
        }
        fill(&mut header[at::SOURCE], self.source);
        fill(&mut header[at::MEID], self.meid);
        fill(&mut header[at::ADDRESS], self.source_address);
        out.extend_from_slice(self.trace);
        out.extend_from_slice(data);
        debug_assert_eq!(out.len() - start, TRANSPORT_OCTETS + HEADER_OCTETS + behind);
        set_payload_octets(&mut out[start..], payload_octets);
    }
}

/// Changes the length of the payload in what [`Header::write`] has written: a header can be used for many messages.
///
/// # Panics
/// If `header` was not written so, or the message exceeds 4 GiB.
pub fn set_payload_octets(header: &mut [u8], payload_octets: usize) {
    let whole = u32::try_from(header.len() + payload_octets).expect("messages are below 4 GiB");
    header[..4].copy_from_slice(&whole.to_le_bytes());
    header[4..8].copy_from_slice(&whole.to_be_bytes());
    header[8] = MARKER;
    let at = TRANSPORT_OCTETS + at::PAYLOAD;
    header[at..at + 4].copy_from_slice(&(payload_octets as u32).to_be_bytes()); // less than `whole`
}

/// A field of a fixed length in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The transaction id, 32 octets.
    Transaction,
    /// The source, 64 octets with the end of the text.
    Source,
    /// The managed entity, 32 octets with the end of the text.
    Meid,
    /// The source address, 64 octets with the end of the text.
    SourceAddress,
}

/// Returns the octets of a field in what [`Header::write`] has written.
///
/// # Panics
/// If `header` was not written so.
pub fn field_mut(header: &mut [u8], field: Field) -> &mut [u8] {
    let range = match field {
        Field::Transaction => at::TRANSACTION,
        Field::Source => at::SOURCE,
        Field::Meid => at::MEID,
        Field::SourceAddress => at::ADDRESS,
    };
    &mut header[TRANSPORT_OCTETS..][range]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(header: &Header<'_>, payload: &[u8]) -> Vec<u8> {
        let mut octets = Vec::new();
        header.write(payload.len(), &mut octets);
        octets.extend_from_slice(payload);
        octets
    }

    fn example() -> Header<'static> {
        Header {
            kind: MessageType::INDICATION,
            subscription_id: 7,
            transaction: b"0123456789abcdef0123456789abcdef",
            meid: "gnb_001_001_00000e00",
            source: "ric:4560",
            source_address: "10.0.0.1:4560",
            flags: CALL_FLAG,
            trace: b"trace",
            data: &[9, 0, 0, 0],
        }
    }

    #[test]
    fn fields_are_at_the_places_of_version_3() {
        let octets = written(&example(), b"payload");
        assert_eq!(octets.len(), 50 + 280 + 5 + 4 + 7);
        assert_eq!(octets[..9], [0x5A, 1, 0, 0, 0, 0, 1, 0x5A, b'$']);
        assert!(octets[9..50].iter().all(|octet| *octet == 0));
        let header = &octets[50..];
        assert_eq!(header[..12], [0, 0, 0x2F, 0x12, 0, 0, 0, 7, 0, 0, 0, 3]);
        assert_eq!(&header[12..44], b"0123456789abcdef0123456789abcdef");
        assert_eq!(&header[76..85], b"ric:4560\0");
        assert_eq!(&header[140..161], b"gnb_001_001_00000e00\0");
        assert_eq!(header[192..196], [4, 0, 0, 0], "flags in the order of the sender");
        assert_eq!(header[196..216], [0, 0, 1, 24, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(&header[216..230], b"10.0.0.1:4560\0");
        assert_eq!(&header[280..], b"trace\x09\0\0\0payload");
    }

    #[test]
    fn what_is_written_can_be_read() {
        let octets = written(&example(), b"payload");
        let message = Message::read(&octets).unwrap();
        assert_eq!((message.kind, message.subscription_id, message.flags), (MessageType::INDICATION, 7, CALL_FLAG));
        assert_eq!((message.source(), message.source_address()), ("ric:4560", "10.0.0.1:4560"));
        assert_eq!(
            (message.meid(), message.trace, message.data),
            ("gnb_001_001_00000e00", &b"trace"[..], &[9, 0, 0, 0][..])
        );
        assert_eq!(message.payload, b"payload");
        let answer = message.answer(MessageType::CONTROL_ACKNOWLEDGE, "me:1");
        let octets = written(&answer, b"");
        let answer = Message::read(&octets).unwrap();
        assert_eq!((answer.transaction, answer.data, answer.flags), (message.transaction, message.data, 0));
        assert_eq!((answer.meid(), answer.source(), answer.payload), (message.meid(), "me:1", &b""[..]));
    }

    #[test]
    fn texts_that_are_too_long_are_cut() {
        let long = "x".repeat(100);
        let header = Header { meid: &long, source: &long, source_address: &long, ..example() };
        let octets = written(&header, b"");
        let message = Message::read(&octets).unwrap();
        assert_eq!((message.meid().len(), message.source().len(), message.source_address().len()), (31, 63, 63));
    }

    #[test]
    fn header_serves_for_payloads_of_other_lengths() {
        let mut head = Vec::new();
        example().write(7, &mut head);
        set_payload_octets(&mut head, 300);
        let octets = [&head[..], &[1; 300]].concat();
        assert_eq!(Message::read(&octets).unwrap().payload, [1; 300]);
        assert_eq!(octets[..4], (octets.len() as u32).to_le_bytes());
    }

    #[test]
    fn fields_can_be_changed_in_place() {
        let mut octets = written(&example(), b"payload");
        field_mut(&mut octets, Field::Transaction).fill(7);
        for (field, text) in [(Field::Source, "a:1"), (Field::Meid, "b"), (Field::SourceAddress, "c:3")] {
            let octets = field_mut(&mut octets, field);
            octets.fill(0);
            fill(octets, text);
        }
        let message = Message::read(&octets).unwrap();
        assert_eq!(
            (message.transaction, message.source(), message.meid(), message.source_address()),
            (&[7; 32][..], "a:1", "b", "c:3")
        );
        assert_eq!((message.payload, message.trace), (&b"payload"[..], &b"trace"[..]));
    }

    #[test]
    fn message_of_version_2_has_no_source_address() {
        let mut octets = written(&example(), b"payload");
        octets.drain(50 + 216..50 + 280);
        octets[50 + 11] = 2;
        octets[50 + 196..50 + 200].copy_from_slice(&216_u32.to_be_bytes());
        let message = Message::read(&octets).unwrap();
        assert_eq!((message.source(), message.source_address(), message.payload), ("ric:4560", "", &b"payload"[..]));
    }

    #[test]
    fn lying_lengths_are_refused() {
        let octets = written(&example(), b"payload");
        for length in 0..octets.len() {
            assert!(Message::read(&octets[..length]).is_err(), "{length} octets");
        }
        for (at, field) in [
            (4, "payload length"),
            (196, "header length"),
            (200, "trace data length"),
            (204, "data length"),
            (208, "second data length"),
        ] {
            for value in [0x7FFF_FFFF_u32, u32::MAX, 1000] {
                let mut octets = octets.clone();
                octets[50 + at..50 + at + 4].copy_from_slice(&value.to_be_bytes());
                match Message::read(&octets) {
                    Err(MessageError::Length { field: of_error, octets, .. }) => {
                        assert_eq!((of_error, octets), (field, value));
                    }
                    other => panic!("{field} of {value}: {other:?}"),
                }
            }
        }
        for version in [0_u32, 1, 4, u32::MAX] {
            let mut octets = octets.clone();
            octets[58..62].copy_from_slice(&version.to_be_bytes());
            assert_eq!(Message::read(&octets), Err(MessageError::Version(version)));
        }
        let mut short = octets.clone();
        short[50 + 196..50 + 200].copy_from_slice(&216_u32.to_be_bytes());
        assert!(
            matches!(Message::read(&short), Err(MessageError::Length { field: "header length", .. })),
            "too short for version 3"
        );
    }

    #[test]
    fn texts_that_are_no_text_are_empty() {
        let mut octets = written(&example(), b"");
        octets[50 + 140] = 0xFF;
        assert_eq!(Message::read(&octets).unwrap().meid(), "");
        octets[50 + 140..50 + 172].fill(b'a');
        assert_eq!(Message::read(&octets).unwrap().meid(), "a".repeat(32), "without an end");
    }
}
