//! The container of messages that NGAP, XnAP, F1AP, E1AP, S1AP and X2AP share.
//!
//! A PDU is a CHOICE of three kinds of message, each with a procedure code, a criticality and an open type that contains a list
//! of IEs; an IE has an id, a criticality and an open type (TS 38.413 9.4.3 and the same clauses of the other protocols). Only
//! F1AP's CHOICE has a fourth alternative in place of an extension marker (TS 38.473 9.4.3).

use per::{List, Octets, Per};

/// An application protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// NGAP (TS 38.413), between NG-RAN and the 5G core.
    Ngap,
    /// XnAP (TS 38.423), between nodes of NG-RAN.
    Xnap,
    /// F1AP (TS 38.473), between gNB-CU and gNB-DU.
    F1ap,
    /// E1AP (TS 37.483), between gNB-CU-CP and gNB-CU-UP.
    E1ap,
    /// S1AP (TS 36.413), between E-UTRAN and the EPC.
    S1ap,
    /// X2AP (TS 36.423), between eNBs, and between eNB and en-gNB.
    X2ap,
}

/// The kind of a message within its procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageKind {
    /// The message that starts the procedure.
    InitiatingMessage,
    /// The response that reports success.
    SuccessfulOutcome,
    /// The response that reports failure.
    UnsuccessfulOutcome,
}

/// Criticality: what a receiver does that does not understand a procedure or an IE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub enum Criticality {
    /// It rejects the message.
    Reject,
    /// It ignores the part.
    Ignore,
    /// It ignores the part and notifies the sender.
    Notify,
}

/// A PDU, for encoding, and for decoding as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Pdu<'a> {
    /// The kind of message.
    pub kind: MessageKind,
    /// The procedure.
    pub procedure_code: u8,
    /// The procedure's criticality.
    pub criticality: Criticality,
    /// The message: [`ProtocolIes`](ProtocolIe), encoded.
    message: Octets<'a>,
}

/// A protocol IE with its encoded value.
#[derive(Clone, Debug, PartialEq, Per)]
pub struct ProtocolIe<'a> {
    /// The IE's id.
    pub id: u16,
    /// The IE's criticality.
    pub criticality: Criticality,
    /// The encoded value.
    pub value: Octets<'a>,
}

/// The IEs of a message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ProtocolIes<'a> {
    #[per(size = 0..=65535)]
    protocol_ies: List<'a, ProtocolIe<'a>>,
}

/// InitiatingMessage, SuccessfulOutcome and UnsuccessfulOutcome, which have one form. An open type is encoded as octets are.
#[derive(Clone, Debug, PartialEq, Per)]
struct Message<'a> {
    procedure_code: u8,
    criticality: Criticality,
    value: Octets<'a>,
}

/// NGAP-PDU, XnAP-PDU, E1AP-PDU, S1AP-PDU and X2AP-PDU.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
enum Choice<'a> {
    InitiatingMessage(Message<'a>),
    SuccessfulOutcome(Message<'a>),
    UnsuccessfulOutcome(Message<'a>),
}

/// F1AP-PDU.
#[derive(Clone, Debug, PartialEq, Per)]
enum F1Choice<'a> {
    InitiatingMessage(Message<'a>),
    SuccessfulOutcome(Message<'a>),
    UnsuccessfulOutcome(Message<'a>),
    /// `choice-extension`, of which no version defines a value.
    Extension(Extension),
}

/// A value that no version defines. It is never encoded, and its decoding fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
struct Extension(bool);

impl ProtocolIe<'static> {
    /// An IE with that value.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn new<T: per::Encode>(id: u16, criticality: Criticality, value: &T) -> Result<Self, per::Error> {
        let mut octets = Vec::new();
        per::encode(value, 0, &mut octets)?;
        Ok(ProtocolIe { id, criticality, value: octets.into() })
    }
}

impl<'a> Pdu<'a> {
    /// A message with these IEs.
    ///
    /// # Errors
    /// More than 65,535 IEs.
    pub fn new(
        kind: MessageKind,
        procedure_code: u8,
        criticality: Criticality,
        ies: Vec<ProtocolIe<'_>>,
    ) -> Result<Pdu<'static>, per::Error> {
        let mut message = Vec::new();
        per::encode(&ProtocolIes { protocol_ies: List::from(ies) }, 0, &mut message)?;
        Ok(Pdu { kind, procedure_code, criticality, message: message.into() })
    }

    /// Returns the octets of the PDU.
    ///
    /// # Errors
    /// None for a PDU of [`Pdu::new`] or [`Pdu::decode`].
    pub fn encode(self, protocol: Protocol) -> Result<Vec<u8>, per::Error> {
        let message =
            Message { procedure_code: self.procedure_code, criticality: self.criticality, value: self.message };
        let mut octets = Vec::new();
        match (protocol, self.kind) {
            (Protocol::F1ap, MessageKind::InitiatingMessage) => {
                per::encode(&F1Choice::InitiatingMessage(message), 0, &mut octets)
            }
            (Protocol::F1ap, MessageKind::SuccessfulOutcome) => {
                per::encode(&F1Choice::SuccessfulOutcome(message), 0, &mut octets)
            }
            (Protocol::F1ap, MessageKind::UnsuccessfulOutcome) => {
                per::encode(&F1Choice::UnsuccessfulOutcome(message), 0, &mut octets)
            }
            (_, MessageKind::InitiatingMessage) => per::encode(&Choice::InitiatingMessage(message), 0, &mut octets),
            (_, MessageKind::SuccessfulOutcome) => per::encode(&Choice::SuccessfulOutcome(message), 0, &mut octets),
            (_, MessageKind::UnsuccessfulOutcome) => per::encode(&Choice::UnsuccessfulOutcome(message), 0, &mut octets),
        }?;
        Ok(octets)
    }

    /// Decodes a PDU; nothing may follow it. The IEs of its message are not decoded.
    ///
    /// # Errors
    /// Octets that are not a PDU of the protocol.
    pub fn decode(protocol: Protocol, octets: &'a [u8]) -> Result<Self, per::Error> {
        let choice = match protocol {
            Protocol::F1ap => match per::decode(octets, 0)? {
                F1Choice::InitiatingMessage(message) => Choice::InitiatingMessage(message),
                F1Choice::SuccessfulOutcome(message) => Choice::SuccessfulOutcome(message),
                F1Choice::UnsuccessfulOutcome(message) => Choice::UnsuccessfulOutcome(message),
                F1Choice::Extension(_) => return Err(per::Error::new(per::ErrorKind::UnknownExtension, 0)),
            },
            _ => per::decode(octets, 0)?,
        };
        let (kind, message) = match choice {
            Choice::InitiatingMessage(message) => (MessageKind::InitiatingMessage, message),
            Choice::SuccessfulOutcome(message) => (MessageKind::SuccessfulOutcome, message),
            Choice::UnsuccessfulOutcome(message) => (MessageKind::UnsuccessfulOutcome, message),
        };
        let Message { procedure_code, criticality, value } = message;
        Ok(Pdu { kind, procedure_code, criticality, message: value })
    }
}

/// A borrowed PDU: its header is read, and single IEs are found in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PduView<'a> {
    /// The kind of message.
    pub kind: MessageKind,
    /// The procedure.
    pub procedure_code: u8,
    /// The contents of the open type; `None` if it is incomplete or fragmented.
    message: Option<&'a [u8]>,
}

impl<'a> PduView<'a> {
    /// Reads the header of a PDU; `None` if the octets are not a PDU of the protocol.
    #[must_use]
    pub fn read(protocol: Protocol, octets: &'a [u8]) -> Option<Self> {
        let [choice, procedure_code, _criticality, value @ ..] = octets else { return None };
        // the extension bit, if the protocol has one, and two bits of the choice; the others are padding
        let alternative = match protocol {
            Protocol::F1ap => choice.rotate_left(2),
            Protocol::Ngap | Protocol::Xnap | Protocol::E1ap | Protocol::S1ap | Protocol::X2ap => choice.rotate_left(3),
        };
        let kind = match alternative {
            0 => MessageKind::InitiatingMessage,
            1 => MessageKind::SuccessfulOutcome,
            2 => MessageKind::UnsuccessfulOutcome,
            _ => return None,
        };
        Some(PduView { kind, procedure_code: *procedure_code, message: open_type(value).map(|(message, _)| message) })
    }

    /// Finds the encoded value of an IE.
    #[must_use]
    pub fn ie(&self, id: u16) -> Option<&'a [u8]> {
        // the message's extension bit and padding, then the count of IEs
        let [_, high, low, rest @ ..] = self.message? else { return None };
        let mut rest = rest;
        for _ in 0..u16::from_be_bytes([*high, *low]) {
            let [high, low, _criticality, value @ ..] = rest else { return None };
            let (value, behind) = open_type(value)?;
            if u16::from_be_bytes([*high, *low]) == id {
                return Some(value);
            }
            rest = behind;
        }
        None
    }
}

/// Returns the contents of an open type and the octets behind it (X.691 11.9.3.5 to 11.9.3.7); `None` for fragments.
fn open_type(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    match octets {
        [length @ 0..=0x7F, rest @ ..] => rest.split_at_checked(usize::from(*length)),
        [high @ 0x80..=0xBF, low, rest @ ..] => {
            rest.split_at_checked(usize::from(high & 0x3F) << 8 | usize::from(*low))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NGAP's RRC INACTIVE TRANSITION REPORT, by an independent encoder (pycrate 0.8.1).
    const REPORT: &[u8] = &[
        0x00, 0x25, 0x40, 0x2a, 0x00, 0x00, 0x04, 0x00, 0x0a, 0x00, 0x05, 0x60, 0x0e, 0x00, 0x00, 0x03, 0x00, 0x55,
        0x00, 0x02, 0x00, 0x03, 0x00, 0x5c, 0x40, 0x01, 0x00, 0x00, 0x79, 0x40, 0x0f, 0x40, 0x00, 0xf1, 0x10, 0x03,
        0x80, 0x00, 0x00, 0x10, 0x00, 0xf1, 0x10, 0x00, 0x00, 0x01,
    ];

    #[test]
    fn kind_and_ies_are_found() {
        let read = |octets| PduView::read(Protocol::Ngap, octets);
        let pdu = read(REPORT).unwrap();
        assert_eq!((pdu.kind, pdu.procedure_code), (MessageKind::InitiatingMessage, 37));
        assert_eq!(pdu.ie(85), Some(&[0x00, 0x03][..]));
        assert_eq!(pdu.ie(92), Some(&[0x00][..]));
        assert_eq!(pdu.ie(121).map(<[u8]>::len), Some(15));
        assert_eq!(pdu.ie(86), None);
        for length in 0..REPORT.len() {
            if let Some(pdu) = read(&REPORT[..length]) {
                assert_eq!(pdu.ie(121), None);
            }
        }
        let mut long = vec![0x20, 41, 0x00, 0x81, 0x00, 0x00, 0x00, 0x01, 0x00, 0x72, 0x40, 0x80, 0xF8];
        long.resize(5 + 256, 7);
        assert_eq!(read(&long).unwrap().ie(0x72).map(<[u8]>::len), Some(0xF8));
        assert_eq!(read(&[0x00, 1, 0, 0xC1, 0]).unwrap().ie(0), None, "fragments");
        assert_eq!(read(&[0x60, 1, 0, 0]), None);
    }

    #[test]
    fn pdu_survives_decoding_and_encoding() {
        let pdu = Pdu::decode(Protocol::Ngap, REPORT).unwrap();
        assert_eq!(
            (pdu.kind, pdu.procedure_code, pdu.criticality),
            (MessageKind::InitiatingMessage, 37, Criticality::Ignore)
        );
        assert_eq!(pdu.encode(Protocol::Ngap).unwrap(), REPORT);
        for kind in [MessageKind::InitiatingMessage, MessageKind::SuccessfulOutcome, MessageKind::UnsuccessfulOutcome] {
            for protocol in [Protocol::F1ap, Protocol::X2ap] {
                let ies = vec![ProtocolIe::new(7, Criticality::Notify, &9_u8).unwrap()];
                let octets = Pdu::new(kind, 3, Criticality::Reject, ies).unwrap().encode(protocol).unwrap();
                assert_eq!(Pdu::decode(protocol, &octets).unwrap().kind, kind);
                let view = PduView::read(protocol, &octets).unwrap();
                assert_eq!((view.kind, view.procedure_code, view.ie(7)), (kind, 3, Some(&[9][..])));
            }
        }
        for octets in [&REPORT[..20], &[REPORT, &[0]].concat(), b"hello", &[0xC0, 1, 0, 0]] {
            assert!(Pdu::decode(Protocol::Ngap, octets).is_err());
        }
        assert!(Pdu::decode(Protocol::F1ap, &[0xC0, 1, 0, 0]).is_err());
    }

    /// By an independent encoder (pycrate 0.8.1).
    #[test]
    fn kinds_are_distinguished_in_every_protocol() {
        use MessageKind::{InitiatingMessage, SuccessfulOutcome, UnsuccessfulOutcome};

        for (protocol, name, kind, procedure_code) in [
            (Protocol::F1ap, "f1ap-f1-setup-request-tdd", InitiatingMessage, 1),
            (Protocol::F1ap, "f1ap-f1-setup-response", SuccessfulOutcome, 1),
            (Protocol::E1ap, "e1ap-setup-request", InitiatingMessage, 3),
            (Protocol::E1ap, "e1ap-setup-response", SuccessfulOutcome, 3),
            (Protocol::Ngap, "ngap-ng-setup-response", SuccessfulOutcome, 21),
            (Protocol::S1ap, "s1ap-s1-setup-response", SuccessfulOutcome, 17),
        ] {
            let octets = crate::test_vectors::octets(&format!("setup/{name}"));
            let pdu = PduView::read(protocol, &octets).unwrap();
            assert_eq!((pdu.kind, pdu.procedure_code), (kind, procedure_code), "{name}");
        }
        let failure = [0x80, 1, 0, 0];
        assert_eq!(PduView::read(Protocol::F1ap, &failure).unwrap().kind, UnsuccessfulOutcome);
        assert_eq!(PduView::read(Protocol::E1ap, &failure), None);
        assert_eq!(PduView::read(Protocol::F1ap, &[0xC0, 1, 0, 0]), None);
    }
}
