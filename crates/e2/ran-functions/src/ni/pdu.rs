//! As much of an application protocol's PDU as triggers ask for.
//!
//! S1AP, X2AP, NGAP, XnAP, F1AP and E1AP wrap their messages alike (TS 38.413 9.4.3 and its likes): a choice of three kinds
//! of message, each of a procedure code, a criticality and an open type, in which stands a list of IEs, each of an id, a
//! criticality and an open type. Only F1AP's choice has no extension marker, but a fourth alternative (TS 38.473 9.4.3).

use e2sm::ni::{NiMessageTypeApproach1, NiType, TypeOfMessage};

/// A PDU, read as far as its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pdu<'a> {
    pub kind: NiMessageTypeApproach1,
    /// The message, without what wraps it; `None` where it came in fragments.
    message: Option<&'a [u8]>,
}

impl<'a> Pdu<'a> {
    /// `None` where these octets are no PDU of that interface.
    pub fn read(interface: NiType, octets: &'a [u8]) -> Option<Self> {
        let [choice, procedure_code, _criticality, value @ ..] = octets else { return None };
        // the extension bit if there is one, two bits of the choice, and none of the rest
        let alternative = match interface {
            NiType::F1 => choice.rotate_left(2),
            NiType::S1 | NiType::X2 | NiType::Ng | NiType::Xn | NiType::E1 => choice.rotate_left(3),
        };
        let type_of_message = match alternative {
            0 => TypeOfMessage::InitiatingMessage,
            1 => TypeOfMessage::SuccessfulOutcome,
            2 => TypeOfMessage::UnsuccessfulOutcome,
            _ => return None,
        };
        let kind = NiMessageTypeApproach1 { procedure_code: *procedure_code, type_of_message };
        Some(Pdu { kind, message: open_type(value).map(|(message, _)| message) })
    }

    /// The encoded value of an IE.
    pub fn ie(&self, wanted: u16) -> Option<&'a [u8]> {
        // the message's own extension bit, and how many IEs there are
        let [_, high, low, rest @ ..] = self.message? else { return None };
        let mut rest = rest;
        for _ in 0..u16::from_be_bytes([*high, *low]) {
            let [high, low, _criticality, value @ ..] = rest else { return None };
            let (value, behind) = open_type(value)?;
            if u16::from_be_bytes([*high, *low]) == wanted {
                return Some(value);
            }
            rest = behind;
        }
        None
    }
}

/// The contents of an open type, and what follows it (X.691 11.9.3.5 to 11.9.3.7); fragments are not put together.
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
    fn kinds_and_ies_are_found() {
        let read = |octets| Pdu::read(NiType::Ng, octets);
        let pdu = read(REPORT).unwrap();
        let kind = NiMessageTypeApproach1 { procedure_code: 37, type_of_message: TypeOfMessage::InitiatingMessage };
        assert_eq!(pdu.kind, kind);
        assert_eq!(pdu.ie(85), Some(&[0x00, 0x03][..]));
        assert_eq!(pdu.ie(92), Some(&[0x00][..]));
        assert_eq!(pdu.ie(121).map(<[u8]>::len), Some(15));
        assert_eq!(pdu.ie(86), None);
        for cut in 0..REPORT.len() {
            if let Some(pdu) = Pdu::read(NiType::Ng, &REPORT[..cut]) {
                assert_eq!(pdu.ie(121), None);
            }
        }
        let mut long = vec![0x20, 41, 0x00, 0x81, 0x00, 0x00, 0x00, 0x01, 0x00, 0x72, 0x40, 0x80, 0xF8];
        long.resize(5 + 256, 7);
        assert_eq!(Pdu::read(NiType::Ng, &long).unwrap().ie(0x72).map(<[u8]>::len), Some(0xF8));
        assert_eq!(read(&[0x00, 1, 0, 0xC1, 0]).unwrap().ie(0), None, "fragments");
        assert_eq!(read(&[0x60, 1, 0, 0]), None);
    }

    /// By an independent encoder (pycrate 0.8.1).
    #[test]
    fn outcomes_are_told_apart_in_each_protocol() {
        use TypeOfMessage::{InitiatingMessage, SuccessfulOutcome};

        for (interface, file, expected, code) in [
            (NiType::F1, "f1ap-f1-setup-request-tdd", InitiatingMessage, 1),
            (NiType::F1, "f1ap-f1-setup-response", SuccessfulOutcome, 1),
            (NiType::E1, "e1ap-setup-request", InitiatingMessage, 3),
            (NiType::E1, "e1ap-setup-response", SuccessfulOutcome, 3),
            (NiType::Ng, "ngap-ng-setup-response", SuccessfulOutcome, 21),
            (NiType::S1, "s1ap-s1-setup-response", SuccessfulOutcome, 17),
        ] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../vectors/interfaces/setup");
            let digits = std::fs::read_to_string(format!("{folder}/{file}.hex")).unwrap();
            let octets = super::super::tests::unhex(digits.trim());
            let kind = NiMessageTypeApproach1 { procedure_code: code, type_of_message: expected };
            assert_eq!(Pdu::read(interface, &octets).unwrap().kind, kind, "{file}");
        }
        let failure = [0x80, 1, 0, 0];
        assert_eq!(Pdu::read(NiType::F1, &failure).unwrap().kind.type_of_message, TypeOfMessage::UnsuccessfulOutcome);
        assert_eq!((Pdu::read(NiType::E1, &failure), Pdu::read(NiType::F1, &[0xC0, 1, 0, 0])), (None, None));
    }
}
