//! Faulty PDUs and unknown IEs, and how they are handled (E2AP v03.01 10).

mod common;

use common::encoded;
use e2ap::*;
use per::{ErrorKind, Gather, Octets};

use Criticality::{Ignore, Notify, Reject};
use Version::{V1_01, V2_03, V3_01};

type Ie<'a> = (u16, Criticality, &'a [u8]);

/// Octets after their length.
fn sized(octets: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    per::encode(&Octets::from(octets), 0, &mut out).unwrap();
    out
}

/// A PDU of `kind` (0 to 2) in octets. `extended`: the octets after the IEs; the extension bit is set.
fn pdu_extended(kind: u8, code: u8, criticality: Criticality, ies: &[Ie<'_>], extended: Option<&[u8]>) -> Vec<u8> {
    let mut message = vec![if extended.is_some() { 0x80 } else { 0 }];
    message.extend((ies.len() as u16).to_be_bytes());
    for (id, criticality, value) in ies {
        message.extend(id.to_be_bytes());
        message.push((*criticality as u8) << 6);
        message.extend(sized(value));
    }
    message.extend(extended.unwrap_or_default());
    let mut out = vec![kind << 5, code, (criticality as u8) << 6];
    out.extend(sized(&message));
    out
}

fn pdu(kind: u8, code: u8, ies: &[Ie<'_>]) -> Vec<u8> {
    pdu_extended(kind, code, Reject, ies, None)
}

/// The two IEs of a RESET REQUEST.
const RESET: u8 = 3;
const TRANSACTION: Ie<'_> = (49, Reject, &[0, 7]);
const CAUSE: Ie<'_> = (1, Ignore, &[0x54]);
/// The same cause in v1.
const CAUSE_V1: Ie<'_> = (1, Ignore, &[0x44]);

fn reset() -> Pdu<'static> {
    ResetRequest { transaction_id: Some(TransactionId(7)), cause: Some(Cause::Misc(CauseMisc::OmIntervention)) }.into()
}

#[track_caller]
fn error(octets: &[u8], version: Version) -> Error {
    decode(octets, version, &Gather::new()).unwrap_err()
}

/// The one IE that the diagnostics of `error` name.
#[track_caller]
fn blamed(error: &Error) -> CriticalityDiagnosticsIe {
    let diagnostics = error.diagnostics().unwrap();
    let [ie] = diagnostics.ies.as_deref().unwrap() else { panic!("{diagnostics:?}") };
    *ie
}

#[test]
fn unknown_ie_that_may_be_ignored_is_kept() {
    let octets = pdu(0, RESET, &[(777, Notify, &[1, 2]), TRANSACTION, (65535, Ignore, &[]), CAUSE]);
    let gather = Gather::new();
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    assert_eq!(decoded.pdu, reset());
    assert_eq!(
        decoded.unknown,
        [
            UnknownIe { id: ProtocolIeId(777), criticality: Notify, value: &[1, 2] },
            UnknownIe { id: ProtocolIeId(65535), criticality: Ignore, value: &[] },
        ]
    );
    let mut again = Vec::new();
    decoded.encode(V2_03, &mut again).unwrap();
    assert_eq!(again, pdu(0, RESET, &[TRANSACTION, CAUSE]), "what is not understood is not passed on");
}

#[test]
fn unknown_ie_with_criticality_reject_rejects_message() {
    let octets = pdu(0, RESET, &[TRANSACTION, (777, Reject, &[1]), CAUSE]);
    let error = error(&octets, V2_03);
    assert_eq!(error.message(), Some((Kind::Initiating, ProcedureCode::RESET)));
    assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject));
    assert_eq!(
        error.diagnostics(),
        Some(CriticalityDiagnostics {
            procedure_code: Some(ProcedureCode::RESET),
            triggering_message: Some(TriggeringMessage::InitiatingMessage),
            procedure_criticality: None,
            ric_request_id: None,
            ies: Some(
                vec![CriticalityDiagnosticsIe {
                    criticality: Reject,
                    ie_id: ProtocolIeId(777),
                    type_of_error: TypeOfError::NotUnderstood,
                }]
                .into()
            ),
        })
    );
    // 4 octets of header, 3 of container, 6 of the IE before
    assert_eq!(error.bit(), Some(13 * 8));
    assert_eq!(
        error.to_string(),
        "IE 777 in the initiating message of Reset (3) at bit 104 is unknown, with criticality reject"
    );
}

#[test]
fn ie_of_another_version_is_unknown() {
    let error = error(&pdu(0, RESET, &[TRANSACTION, CAUSE]), V1_01);
    assert!(matches!(error, Error::Ie { ie: ProtocolIeId(49), name: "", fault: IeFault::Unknown { .. }, .. }));
    // with criticality ignore it is kept
    let octets = pdu(0, RESET, &[(49, Ignore, &[0, 7]), CAUSE_V1]);
    let gather = Gather::new();
    let decoded = decode(&octets, V1_01, &gather).unwrap();
    assert_eq!(decoded.unknown.len(), 1);
    assert!(matches!(decoded.pdu, Pdu::ResetRequest(ResetRequest { transaction_id: None, .. })));
}

#[test]
fn unknown_procedure_is_reported_with_criticality() {
    let causes = [
        (Reject, CauseProtocol::AbstractSyntaxErrorReject),
        (Ignore, CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify),
        (Notify, CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify),
    ];
    for (criticality, cause) in causes {
        let error = error(&pdu_extended(0, 200, criticality, &[], None), V3_01);
        let procedure_code = ProcedureCode(200);
        assert_eq!(error, Error::UnknownProcedure { kind: Kind::Initiating, procedure_code, criticality });
        assert_eq!(error.cause(), Cause::Protocol(cause));
        let diagnostics = error.diagnostics().unwrap();
        assert_eq!(diagnostics.procedure_code, Some(procedure_code));
        assert_eq!(diagnostics.procedure_criticality, Some(criticality));
        assert_eq!(diagnostics.ies, None);
        assert_eq!(error.bit(), Some(8));
        assert_eq!(error.to_string(), "initiating message of procedure 200 is not in this version");
    }
    // a procedure without this message
    let error = error(&pdu(1, ProcedureCode::RIC_INDICATION.0, &[]), V3_01);
    assert_eq!(error.to_string(), "successful outcome of RIC Indication (5) is not in this version");
    assert_eq!(error.diagnostics().unwrap().triggering_message, Some(TriggeringMessage::SuccessfulOutcome));
}

#[test]
fn octets_without_pdu_header_have_no_diagnostics() {
    let good = pdu(0, RESET, &[TRANSACTION, CAUSE]);
    let with = |at: usize, octet: u8| {
        let mut octets = good.clone();
        octets[at] = octet;
        octets
    };
    let longer = [&good[..], &[0]].concat();
    let cases = [
        (&good[..0], ErrorKind::Truncated, 0),
        (&good[..good.len() - 1], ErrorKind::Truncated, 32),
        (&with(0, 0x80), ErrorKind::UnknownExtension, 1),
        (&with(0, 0x60), ErrorKind::UnknownIndex, 3),
        (&with(2, 0xC0), ErrorKind::OutOfRange, 16),
        (&longer, ErrorKind::TrailingOctets, good.len() * 8),
    ];
    for (octets, kind, bit) in cases {
        let error = error(octets, V2_03);
        let Error::Header(source) = error else { panic!("{error}") };
        assert_eq!(source.kind, kind, "{octets:02x?}");
        assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::TransferSyntaxError));
        assert_eq!((error.message(), error.diagnostics()), (None, None));
        assert_eq!(error.bit(), Some(bit), "{error}");
        assert!(error.to_string().starts_with("not an E2AP PDU: "));
    }
}

#[test]
fn duplicate_ie_is_falsely_constructed_message() {
    let error = error(&pdu(0, RESET, &[TRANSACTION, CAUSE, CAUSE]), V2_03);
    assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage));
    let blamed = blamed(&error);
    assert_eq!((blamed.ie_id, blamed.criticality), (ProtocolIeId(1), Ignore));
    assert_eq!(blamed.type_of_error, TypeOfError::NotUnderstood);
    assert_eq!(error.bit(), Some((7 + 6 + 5) * 8));
    assert_eq!(error.to_string(), "IE 1 (cause) in the initiating message of Reset (3) is repeated at bit 144");
}

#[test]
fn duplicate_ie_is_refused_in_any_order() {
    let wrong: Ie<'_> = (1, Ignore, &[0xFF]); // a cause that cannot be decoded, and may be ignored
    for ies in [
        &[TRANSACTION, CAUSE, TRANSACTION][..],
        &[CAUSE, TRANSACTION, CAUSE],
        &[CAUSE, TRANSACTION, TRANSACTION],
        &[CAUSE, CAUSE, TRANSACTION],
        &[TRANSACTION, wrong, CAUSE],
        &[TRANSACTION, CAUSE, wrong],
        &[wrong, TRANSACTION, CAUSE],
        &[CAUSE, TRANSACTION, wrong],
        &[wrong, TRANSACTION, wrong],
    ] {
        let error = error(&pdu(0, RESET, ies), V2_03);
        assert!(matches!(error, Error::Ie { fault: IeFault::Duplicate { .. }, .. }), "{ies:?}: {error}");
        assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage));
    }
    // what is missing is missing in any order
    assert!(matches!(error(&pdu(0, RESET, &[CAUSE]), V2_03), Error::Ie { fault: IeFault::Missing, .. }));
}

/// Takes octets and their length, which is below 16384, from the front.
fn take_sized<'a>(octets: &mut &'a [u8]) -> &'a [u8] {
    let (length, rest) = match **octets {
        [length @ 0..0x80, ref rest @ ..] => (usize::from(length), rest),
        [high, low, ref rest @ ..] => (usize::from(high & 0x3F) << 8 | usize::from(low), rest),
        _ => panic!("no length"),
    };
    let (value, rest) = rest.split_at(length);
    *octets = rest;
    value
}

/// The IEs of a message.
fn ies_of(pdu: &[u8]) -> Vec<Ie<'_>> {
    let mut message = take_sized(&mut &pdu[3..]);
    message = &message[3..];
    let mut ies = Vec::new();
    while let [high, low, criticality, rest @ ..] = message {
        assert_eq!(*criticality, 0, "reject");
        message = rest;
        ies.push((u16::from_be_bytes([*high, *low]), Reject, take_sized(&mut message)));
    }
    ies
}

/// The order of onosproject's ran-simulator.
#[test]
fn setup_request_in_another_order_is_decoded() {
    let ordered = common::vector("v02.03/e2_setup_request");
    let gather = Gather::new();
    let expected = decode(&ordered, V2_03, &gather).unwrap();
    let ies = ies_of(&ordered);
    assert_eq!(ies.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), [49, 3, 10, 50]);
    let of = |id: u16| ies.iter().find(|(other, ..)| *other == id).copied().unwrap();
    let shuffled = pdu(0, 1, &[of(3), of(10), of(49), of(50)]);
    let decoded = decode(&shuffled, V2_03, &gather).unwrap();
    assert_eq!(decoded.pdu, expected.pdu);
    assert!(matches!(decoded.out_of_order(), Some(Error::Ie { ie: ProtocolIeId(49), .. })));
    assert_eq!(Version::of_setup(&shuffled), Some(V2_03), "the version depends on the transaction id anywhere");
    assert!(decode(&pdu(0, 1, &[of(3), of(10), of(49), of(3), of(50)]), V2_03, &gather).is_err());
}

#[test]
fn ie_out_of_order_is_decoded_and_reported() {
    let gather = Gather::new();
    let octets = pdu(0, RESET, &[CAUSE, TRANSACTION]);
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    assert_eq!(decoded.pdu, reset());
    let error = *decoded.out_of_order().unwrap();
    assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage));
    let blamed = blamed(&error);
    assert_eq!((blamed.ie_id, blamed.criticality), (ProtocolIeId(49), Reject));
    assert_eq!(blamed.type_of_error, TypeOfError::NotUnderstood);
    assert_eq!(error.bit(), Some((7 + 5) * 8));
    assert_eq!(
        error.to_string(),
        "IE 49 (transaction_id) in the initiating message of Reset (3) at bit 96 is out of order"
    );
    // it is encoded in order
    let mut octets = Vec::new();
    decoded.encode(V2_03, &mut octets).unwrap();
    assert_eq!(octets, pdu(0, RESET, &[TRANSACTION, CAUSE]));
    assert_eq!(decode(&octets, V2_03, &gather).unwrap().out_of_order(), None);
    // unknown IEs have no order
    let unknown: Ie<'_> = (777, Ignore, &[1]);
    for ies in [[unknown, TRANSACTION, CAUSE], [TRANSACTION, unknown, CAUSE], [TRANSACTION, CAUSE, unknown]] {
        let octets = pdu(0, RESET, &ies);
        assert_eq!(decode(&octets, V2_03, &Gather::new()).unwrap().pdu, reset());
    }
}

#[test]
fn missing_mandatory_ie_is_reported() {
    let error = error(&pdu(0, RESET, &[CAUSE]), V2_03);
    let blamed = blamed(&error);
    assert_eq!((blamed.ie_id, blamed.type_of_error), (ProtocolIeId(49), TypeOfError::Missing));
    assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject));
    assert_eq!(error.bit(), None);
    assert_eq!(error.to_string(), "IE 49 (transaction_id) in the initiating message of Reset (3) is missing");
    // missing in one version only
    assert!(decode(&pdu(0, RESET, &[CAUSE_V1]), V1_01, &Gather::new()).is_ok());
}

/// E2 SETUP FAILURE: its TimeToWait and diagnostics may be ignored.
fn setup_failure<'a>(more: &[Ie<'a>]) -> Vec<u8> {
    pdu(2, ProcedureCode::E2_SETUP.0, &[&[TRANSACTION, CAUSE], more].concat())
}

#[test]
fn malformed_ie_rejects_message_unless_ignorable() {
    // two octets, instead of an extension bit and three bits
    let octets = setup_failure(&[(31, Ignore, &[0x10, 0]), (2, Ignore, &[0])]);
    let gather = Gather::new();
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    let Pdu::E2SetupFailure(failure) = &decoded.pdu else { panic!("{:?}", decoded.pdu) };
    assert_eq!(failure.time_to_wait, None);
    assert_eq!(failure.criticality_diagnostics, Some(CriticalityDiagnostics::default()));
    let kept = UnknownIe { id: ProtocolIeId(31), criticality: Ignore, value: &[0x10, 0] };
    assert_eq!(decoded.unknown, [kept]);

    // the criticality of the tables applies, not that of the sender (10.3.2)
    let octets = setup_failure(&[(31, Reject, &[0x10, 0])]);
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    assert_eq!(decoded.unknown, [kept]);

    // mandatory, may be ignored
    let octets = pdu(0, RESET, &[TRANSACTION, (1, Ignore, &[0x54, 0])]);
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    assert!(matches!(decoded.pdu, Pdu::ResetRequest(ResetRequest { cause: None, .. })));
    assert_eq!(decoded.unknown, [UnknownIe { id: ProtocolIeId(1), criticality: Ignore, value: &[0x54, 0] }]);
    assert_eq!(decoded.missing().collect::<Vec<_>>(), [ProtocolIeId(1)]);

    // mandatory, must not be ignored
    let error = self::error(&pdu(0, RESET, &[(49, Reject, &[0, 7, 0]), CAUSE]), V2_03);
    let Error::Ie { fault: IeFault::Malformed(source), name: "transaction_id", .. } = error else { panic!("{error}") };
    assert_eq!(source.kind, ErrorKind::TrailingOctets);
    assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::TransferSyntaxError));
    assert_eq!(blamed(&error).type_of_error, TypeOfError::NotUnderstood);
    assert_eq!(error.bit(), Some(source.bit));

    // optional, must not be ignored: the list of RIC Service Query, which has at least one function
    let error = self::error(&pdu(0, ProcedureCode::RIC_SERVICE_QUERY.0, &[TRANSACTION, (9, Reject, &[])]), V2_03);
    assert!(matches!(error, Error::Ie { name: "ran_functions_accepted", fault: IeFault::Malformed(_), .. }));
    let text = error.to_string();
    assert!(
        text.contains("(ran_functions_accepted) in the initiating message of RIC Service Query (6) cannot be decoded")
    );
}

#[test]
fn values_behind_extension_marker_are_not_comprehended() {
    // an enumeration: TimeToWait's first addition
    let octets = setup_failure(&[(31, Ignore, &[0x80])]);
    let gather = Gather::new();
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    assert_eq!(decoded.unknown, [UnknownIe { id: ProtocolIeId(31), criticality: Ignore, value: &[0x80] }]);

    // a choice: Cause's first addition, an open type
    let octets = pdu(0, RESET, &[TRANSACTION, (1, Ignore, &[0x80, 1, 0])]);
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    assert_eq!(decoded.unknown, [UnknownIe { id: ProtocolIeId(1), criticality: Ignore, value: &[0x80, 1, 0] }]);
    // mandatory: the Cause of RIC Subscription Failure from v2 on
    let ids: [Ie<'_>; 2] = [(29, Reject, &[0, 0, 1, 0, 2]), (5, Reject, &[0, 3])];
    let octets = pdu(2, ProcedureCode::RIC_SUBSCRIPTION.0, &[&ids[..], &[(1, Reject, &[0x80, 1, 0])]].concat());
    let error = self::error(&octets, V2_03);
    let Error::Ie { fault: IeFault::Malformed(source), .. } = error else { panic!("{error}") };
    assert_eq!((source.kind, source.at), (ErrorKind::UnknownExtension, "Cause"));
    assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject));

    // with criticality reject: RIC Indication Type
    let header = [];
    let mut octets = encoded(&common::indication(&header, &header), V2_03);
    let kind = octets.windows(5).position(|w| w == [0, 28, 0, 1, 0]).unwrap();
    octets[kind + 4] = 0x80;
    let error = self::error(&octets, V2_03);
    assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject));

    // additions of a sequence are skipped: RIC Request ID with one
    let octets = pdu(0, 9, &[(29, Reject, &[0x80, 0, 1, 0, 2, 1, 1, 0]), (5, Reject, &[0, 3])]);
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    let request_id = RicRequestId { requestor: 1, instance: 2 };
    assert_eq!(decoded.pdu, RicSubscriptionDeleteRequest { request_id, ran_function_id: RanFunctionId(3) }.into());
}

#[test]
fn extension_additions_of_message_are_skipped() {
    // a bitmap of two bits, both set, and two open types
    let additions = [0b0000_0011, 0b1000_0000, 1, 0, 2, 5, 5];
    let octets = pdu_extended(0, RESET, Reject, &[TRANSACTION, CAUSE], Some(&additions));
    assert_eq!(decode(&octets, V2_03, &Gather::new()).unwrap().pdu, reset());
    let octets = pdu_extended(0, RESET, Reject, &[TRANSACTION, CAUSE], Some(&additions[..5]));
    let error = error(&octets, V2_03);
    assert!(matches!(error, Error::Container { source, .. } if source.kind == ErrorKind::Truncated), "{error}");
}

#[test]
fn deviating_criticalities_are_kept_without_effect() {
    let ies = [(49, Ignore, &[0, 7][..]), (1, Notify, &[0x54])];
    let octets = pdu_extended(0, RESET, Notify, &ies, None);
    let gather = Gather::new();
    let decoded = decode(&octets, V2_03, &gather).unwrap();
    assert_eq!(decoded.pdu, reset());
    let (mut as_read, mut as_usual) = (Vec::new(), Vec::new());
    decoded.encode(V2_03, &mut as_read).unwrap();
    decoded.pdu.encode(V2_03, &mut as_usual).unwrap();
    assert_eq!(as_read, octets);
    assert_eq!(as_usual, pdu(0, RESET, &[TRANSACTION, CAUSE]));
}

#[test]
fn malformed_container_is_reported() {
    // one IE fewer than announced, an invalid criticality, an octet after the last IE
    let good = pdu(0, RESET, &[TRANSACTION, CAUSE]);
    let (mut more, mut none, mut longer) = (good.clone(), good.clone(), good.clone());
    more[6] = 3;
    none[9] = 0xC0;
    longer[3] += 1;
    longer.push(0);
    let cases = [
        (more, ErrorKind::Truncated, good.len()),
        (none, ErrorKind::OutOfRange, 9),
        (longer, ErrorKind::TrailingOctets, good.len()),
    ];
    for (octets, kind, at) in cases {
        let error = error(&octets, V2_03);
        let Error::Container { source, .. } = error else { panic!("{error}") };
        assert_eq!((source.kind, error.bit()), (kind, Some(at * 8)));
        assert_eq!(error.cause(), Cause::Protocol(CauseProtocol::TransferSyntaxError));
        let diagnostics = error.diagnostics().unwrap();
        assert_eq!(diagnostics.procedure_code, Some(ProcedureCode::RESET));
        assert_eq!(diagnostics.ies, None);
        assert!(error.to_string().starts_with("cannot decode IEs of initiating message of Reset (3): "));
    }
}

#[test]
fn fault_in_fragment_has_position_in_message() {
    let payload = common::by_rule(20_000);
    let octets = encoded(&common::indication(&[], &payload), V2_03);
    let gather = Gather::new();
    assert!(decode(&octets, V2_03, &gather).is_ok());
    // the payload's open type and its OCTET STRING are fragmented too: break the string's first fragment header
    let payload_at = octets.windows(4).position(|w| w == [0xC1, 3, 10, 17]).unwrap();
    let mut broken = octets.clone();
    broken[payload_at] = 0xC9;
    let error = error(&broken, V2_03);
    let Error::Ie { name: "message", fault: IeFault::Malformed(source), .. } = error else { panic!("{error}") };
    assert_eq!(source.kind, ErrorKind::BadLength);
    // the position of the open type; the message begins after a header of three octets and the length of a fragment
    assert_eq!(error.bit(), Some((payload_at - 1 - 4) * 8));
    for cut in [5, 100, 16_384, 16_500, octets.len() - 1] {
        assert!(decode(&octets[..cut], V2_03, &Gather::new()).is_err());
    }
}

#[test]
fn diagnostics_can_be_encoded() {
    let octets = pdu(0, RESET, &[TRANSACTION, (777, Reject, &[1])]);
    let error = error(&octets, V2_03);
    let indication = ErrorIndication {
        transaction_id: peek::outline(&octets).unwrap().transaction_id,
        request_id: None,
        ran_function_id: None,
        cause: Some(error.cause()),
        criticality_diagnostics: error.diagnostics(),
    };
    let octets = encoded(&indication, V2_03);
    assert_eq!(decode(&octets, V2_03, &Gather::new()).unwrap().pdu, indication.into());
}
