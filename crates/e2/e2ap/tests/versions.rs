//! Differences between the versions: roots of sequences, removed values, and IEs that were added, removed or moved.
//!
//! Each test checks the octets, and that encoding a value that a version does not have fails without a change of the buffer.

mod common;

use std::time::{Duration, SystemTime};

use common::encoded;
use e2ap::message::Message;
use e2ap::*;
use per::{Bits, ErrorKind, Gather, Octets, PrintableString};

use Version::{V1_00, V1_01, V2_03, V3_01};

const REQUEST: RicRequestId = RicRequestId { requestor: 1, instance: 2 };
const FUNCTION: RanFunctionId = RanFunctionId(3);
const TRANSACTION: Option<TransactionId> = Some(TransactionId(7));
const PLMN: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
const GNB: GnbId = GnbId::new(0xE00, 22);

/// Checks that `message` is not encoded in `version`, with the error `kind` in component `at` and an unchanged buffer.
#[track_caller]
fn refused<'a, M: Message<'a>>(message: &M, version: Version, kind: ErrorKind, at: &str) {
    let mut out = vec![0xAA, 0x55];
    let error = e2ap::encode(message, version, &mut out).unwrap_err();
    assert_eq!((error.kind, error.at), (kind, at), "v{version}");
    assert_eq!(out, [0xAA, 0x55], "v{version}");
}

/// Checks that `message` round-trips in each of `versions`.
#[track_caller]
fn carried<'a, M: Message<'a> + Clone + Into<Pdu<'a>>>(message: &M, versions: &[Version]) {
    for &version in versions {
        let octets = encoded(message, version);
        let gather = Gather::new();
        let decoded = decode(&octets, version, &gather).unwrap_or_else(|error| panic!("v{version}: {error}"));
        assert_eq!(decoded.pdu, message.clone().into(), "v{version}");
    }
}

fn reset(cause: Cause, transaction_id: Option<TransactionId>) -> ResetRequest {
    ResetRequest { transaction_id, cause: Some(cause) }
}

fn function(oid: Option<&'static str>) -> RanFunctionItem<'static> {
    RanFunctionItem {
        id: FUNCTION,
        definition: Octets::from(b"d"),
        revision: RanFunctionRevision(0),
        oid: oid.map(PrintableString::literal),
    }
}

fn setup<'a>(node: GlobalE2NodeId, functions: Vec<RanFunctionItem<'a>>) -> E2SetupRequest<'a> {
    E2SetupRequest {
        transaction_id: None,
        global_e2_node_id: node,
        ran_functions_added: Some(functions.into()),
        component_config_update_v1: None,
        component_config_addition: None,
    }
}

/// A setup request of v2 and v3.
fn setup_v2<'a>(node: GlobalE2NodeId, functions: Vec<RanFunctionItem<'a>>) -> E2SetupRequest<'a> {
    let f1 = E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(3) };
    let component = E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::F1,
        id: E2NodeComponentId::F1(f1),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::default(),
            response_part: Octets::default(),
        },
    };
    E2SetupRequest {
        transaction_id: TRANSACTION,
        component_config_addition: Some(vec![component].into()),
        ..setup(node, functions)
    }
}

#[test]
fn transaction_ids_exist_from_v2_on() {
    let cause = Cause::Misc(CauseMisc::Unspecified);
    for version in [V1_00, V1_01] {
        refused(&reset(cause, TRANSACTION), version, ErrorKind::NotInRevision, "transaction_id");
        assert_eq!(encoded(&reset(cause, None), version), [0, 3, 0, 8, 0, 0, 1, 0, 1, 0x40, 1, 0x46]);
    }
    for version in [V2_03, V3_01] {
        refused(&reset(cause, None), version, ErrorKind::Missing, "transaction_id");
        carried(&reset(cause, TRANSACTION), &[version]);
        carried(&reset(cause, Some(TransactionId(256))), &[version]);
    }
    let error = decode_error(&encoded(&reset(cause, None), V1_01), V2_03);
    assert!(matches!(error, Error::Ie { name: "transaction_id", fault: IeFault::Missing, .. }));
}

fn decode_error(octets: &[u8], version: Version) -> Error {
    decode(octets, version, &Gather::new()).unwrap_err()
}

#[test]
fn ran_function_lists_may_be_empty_in_v1_only() {
    let node = GlobalE2NodeId::gnb(PLMN, GNB);
    carried(&setup(node, vec![]), &[V1_00, V1_01]);
    for version in [V2_03, V3_01] {
        refused(&setup_v2(node, vec![]), version, ErrorKind::BadLength, "ran_functions_added");
    }
    // from 0 to 256 the count takes two octets, from 1 to 256 it takes one
    let v1 = encoded(&setup(node, vec![]), V1_01);
    assert!(v1.ends_with(&[0, 10, 0, 2, 0, 0]));
    let error = decode_error(&v1, V2_03);
    assert!(matches!(error, Error::Ie { name: "ran_functions_added", fault: IeFault::Malformed(_), .. }), "{error}");
}

#[test]
fn oid_is_absent_then_an_addition_then_mandatory() {
    let node = GlobalE2NodeId::gnb(PLMN, GNB);
    let (with, without) = (function(Some("1.3")), function(None));
    refused(&setup(node, vec![with.clone()]), V1_00, ErrorKind::NotInRevision, "RanFunctionItemV1.oid");
    carried(&setup(node, vec![with.clone(), without.clone()]), &[V1_01]);
    carried(&setup(node, vec![without.clone()]), &[V1_00, V1_01]);
    carried(&setup_v2(node, vec![with.clone()]), &[V2_03, V3_01]);
    for version in [V2_03, V3_01] {
        refused(&setup_v2(node, vec![without.clone()]), version, ErrorKind::Missing, "RanFunctionItem.oid");
    }
    // v01.00 skips the unknown addition
    let octets = encoded(&setup(node, vec![with]), V1_01);
    let gather = Gather::new();
    assert_eq!(decode(&octets, V1_00, &gather).unwrap().pdu, setup(node, vec![without]).into());
}

#[test]
fn cause_indices_changed_with_v2() {
    let transport = Cause::Transport(CauseTransport::Unspecified);
    // extension bit, three bits of index, extension bit, one bit of cause: index 2 in v1, 3 from v2 on
    assert_eq!(encoded(&reset(transport, None), V1_01).last(), Some(&0x20));
    assert_eq!(encoded(&reset(transport, TRANSACTION), V2_03).last(), Some(&0x30));

    let node = Cause::E2Node(CauseE2Node::ComponentUnknown);
    for version in [V1_00, V1_01] {
        refused(&reset(node, None), version, ErrorKind::NotInRevision, "Cause");
    }
    carried(&reset(node, TRANSACTION), &[V2_03, V3_01]);

    use CauseRicRequest::{
        ControlTimerExpired, DuplicateRicRequestId, InvalidInformationRequest, RicSubscriptionEndTimeExpired,
        SystemNotReady, Unspecified,
    };
    for cause in [ControlTimerExpired, SystemNotReady] {
        refused(&reset(Cause::RicRequest(cause), None), V1_01, ErrorKind::NotInRevision, "CauseRicRequest");
        carried(&reset(Cause::RicRequest(cause), TRANSACTION), &[V2_03, V3_01]);
    }
    for cause in [RicSubscriptionEndTimeExpired, DuplicateRicRequestId, InvalidInformationRequest] {
        refused(&reset(Cause::RicRequest(cause), None), V1_00, ErrorKind::NotInRevision, "CauseRicRequest");
        refused(&reset(Cause::RicRequest(cause), TRANSACTION), V2_03, ErrorKind::NotInRevision, "CauseRicRequest");
        carried(&reset(Cause::RicRequest(cause), TRANSACTION), &[V3_01]);
    }
    carried(&reset(Cause::RicRequest(Unspecified), None), &[V1_00, V1_01]);
}

#[test]
fn every_cause_has_nearest_cause_in_every_version() {
    let finest = [
        Cause::E2Node(CauseE2Node::ComponentUnknown),
        Cause::RicRequest(CauseRicRequest::ControlTimerExpired),
        Cause::RicRequest(CauseRicRequest::ControlFailedToExecute),
        Cause::RicRequest(CauseRicRequest::SystemNotReady),
        Cause::RicRequest(CauseRicRequest::RicSubscriptionEndTimeExpired),
        Cause::RicRequest(CauseRicRequest::RicSubscriptionEndTimeInvalid),
        Cause::RicRequest(CauseRicRequest::DuplicateRicRequestId),
        Cause::RicRequest(CauseRicRequest::EventTriggerNotSupported),
        Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable),
        Cause::RicRequest(CauseRicRequest::InvalidInformationRequest),
        Cause::RicRequest(CauseRicRequest::RicCallProcessIdInvalid),
        Cause::RicService(CauseRicService::RicResourceLimit),
        Cause::Transport(CauseTransport::TransportResourceUnavailable),
        Cause::Protocol(CauseProtocol::SemanticError),
    ];
    for cause in finest {
        assert_eq!(cause.in_version(V3_01), cause);
        for version in Version::ALL {
            let transaction_id = if version < V2_03 { None } else { TRANSACTION };
            let near = cause.in_version(version);
            carried(&reset(near, transaction_id), &[version]);
            if e2ap::encode(&reset(cause, transaction_id), version, &mut Vec::new()).is_ok() {
                assert_eq!(near, cause, "v{version} can say it as it is");
            }
        }
    }
}

fn subscription(action: RicActionToBeSetup<'_>) -> RicSubscriptionRequest<'_> {
    RicSubscriptionRequest {
        request_id: REQUEST,
        ran_function_id: FUNCTION,
        details: RicSubscriptionDetails { event_trigger_definition: Octets::from(b"t"), actions: vec![action].into() },
        start_time: None,
        end_time: None,
    }
}

fn action(time_to_wait: RicTimeToWait) -> RicActionToBeSetup<'static> {
    RicActionToBeSetup {
        id: RicActionId(1),
        kind: RicActionType::Report,
        definition: None,
        subsequent_action: Some(RicSubsequentAction { kind: RicSubsequentActionType::Continue, time_to_wait }),
        execution_order: None,
    }
}

#[test]
fn zero_time_to_wait_was_removed_in_v2() {
    carried(&subscription(action(RicTimeToWait::Zero)), &[V1_00, V1_01]);
    for version in [V2_03, V3_01] {
        refused(&subscription(action(RicTimeToWait::Zero)), version, ErrorKind::NotInRevision, "RicTimeToWait");
    }
    carried(&subscription(action(RicTimeToWait::W1ms)), &Version::ALL);
    carried(&subscription(action(RicTimeToWait::W60s)), &Version::ALL);
    // 1 ms in v1 becomes 2 ms in v2
    let octets = encoded(&subscription(action(RicTimeToWait::W1ms)), V1_01);
    let gather = Gather::new();
    assert_eq!(decode(&octets, V2_03, &gather).unwrap().pdu, subscription(action(RicTimeToWait::W2ms)).into());
}

#[test]
fn subscription_times_and_execution_orders_exist_from_v3_on() {
    let mut request = subscription(action(RicTimeToWait::W5s));
    request.start_time = Some(RicSubscriptionTime([1, 2, 3, 4, 5, 6, 7, 8]));
    let mut ordered = action(RicTimeToWait::W5s);
    ordered.execution_order = Some(RicActionExecutionOrder(9));
    for version in [V1_00, V1_01, V2_03] {
        refused(&request, version, ErrorKind::NotInRevision, "start_time");
        let at = "RicActionToBeSetup.execution_order";
        refused(&subscription(ordered.clone()), version, ErrorKind::NotInRevision, at);
    }
    carried(&request, &[V3_01]);
    carried(&subscription(ordered.clone()), &[V3_01]);

    // an unknown addition is skipped, an unknown IE with criticality reject is not
    let gather = Gather::new();
    let octets = encoded(&subscription(ordered), V3_01);
    assert_eq!(decode(&octets, V2_03, &gather).unwrap().pdu, subscription(action(RicTimeToWait::W5s)).into());
    let error = decode_error(&encoded(&request, V3_01), V2_03);
    assert!(matches!(error, Error::Ie { ie: ProtocolIeId(62), fault: IeFault::Unknown { .. }, .. }), "{error}");
}

#[test]
fn subscription_times_are_ordered_across_the_era() {
    let second = |seconds: u64| RicSubscriptionTime::at(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    assert_eq!(second(0), RicSubscriptionTime([0x83, 0xaa, 0x7e, 0x80, 0, 0, 0, 0]), "RFC 5905 figure 4");
    let half = RicSubscriptionTime::at(SystemTime::UNIX_EPOCH + Duration::from_millis(500));
    assert_eq!(half, RicSubscriptionTime([0x83, 0xaa, 0x7e, 0x80, 0x80, 0, 0, 0]));
    assert!(second(0).is_before(half) && !half.is_before(second(0)) && !half.is_before(half));
    // era 1 begins on 7 February 2036
    let (last, first) = (second(2_085_978_495), second(2_085_978_496));
    assert_eq!((last.0[0], first.0), (0xff, [0; 8]));
    assert!(last.is_before(first) && !first.is_before(last));
    assert_eq!(RicSubscriptionTime::at(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), second(0));
}

#[test]
fn control_status_and_nack_exist_in_v1_only() {
    let request = |ack_request| RicControlRequest {
        request_id: REQUEST,
        ran_function_id: FUNCTION,
        call_process_id: None,
        header: Octets::default(),
        message: Octets::default(),
        ack_request: Some(ack_request),
    };
    carried(&request(RicControlAckRequest::NAck), &[V1_00, V1_01]);
    carried(&request(RicControlAckRequest::Ack), &Version::ALL);
    for version in [V2_03, V3_01] {
        refused(&request(RicControlAckRequest::NAck), version, ErrorKind::NotInRevision, "RicControlAckRequest");
    }
    // the third value needs a second bit
    assert_eq!(encoded(&request(RicControlAckRequest::Ack), V1_01).last(), Some(&0x20));
    assert_eq!(encoded(&request(RicControlAckRequest::Ack), V2_03).last(), Some(&0x40));

    let acknowledge = |status| RicControlAcknowledge {
        request_id: REQUEST,
        ran_function_id: FUNCTION,
        call_process_id: None,
        status,
        outcome: None,
    };
    let done = Some(RicControlStatus::Success);
    carried(&acknowledge(done), &[V1_00, V1_01]);
    carried(&acknowledge(None), &[V2_03, V3_01]);
    for version in [V1_00, V1_01] {
        refused(&acknowledge(None), version, ErrorKind::Missing, "status");
    }
    for version in [V2_03, V3_01] {
        refused(&acknowledge(done), version, ErrorKind::NotInRevision, "status");
    }

    let failure = RicControlFailure {
        request_id: REQUEST,
        ran_function_id: FUNCTION,
        call_process_id: None,
        cause: Some(Cause::Misc(CauseMisc::Unspecified)),
        outcome: None,
        criticality_diagnostics: Some(CriticalityDiagnostics::default()),
    };
    carried(&failure, &[V2_03, V3_01]);
    for version in [V1_00, V1_01] {
        refused(&failure, version, ErrorKind::NotInRevision, "criticality_diagnostics");
    }
}

#[test]
fn failures_have_lists_in_v1_and_one_cause_from_v2_on() {
    let cause = Cause::Misc(CauseMisc::Unspecified);
    let refusal = RicActionNotAdmitted { id: RicActionId(1), cause };
    let v1 = RicSubscriptionFailure {
        request_id: REQUEST,
        ran_function_id: FUNCTION,
        actions_not_admitted: Some(vec![refusal].into()),
        cause: None,
        criticality_diagnostics: None,
    };
    let v2 = RicSubscriptionFailure { actions_not_admitted: None, cause: Some(cause), ..v1.clone() };
    carried(&v1, &[V1_00, V1_01]);
    carried(&v2, &[V2_03, V3_01]);
    for version in [V1_00, V1_01] {
        refused(&v2, version, ErrorKind::Missing, "actions_not_admitted");
    }
    for version in [V2_03, V3_01] {
        refused(&v1, version, ErrorKind::NotInRevision, "actions_not_admitted");
    }

    let update = RicServiceUpdateFailure {
        transaction_id: None,
        ran_functions_rejected: Some(vec![RanFunctionIdCauseItem { id: FUNCTION, cause }].into()),
        cause: None,
        time_to_wait: Some(TimeToWait::V60s),
        criticality_diagnostics: None,
    };
    carried(&update, &[V1_00, V1_01]);
    for version in [V2_03, V3_01] {
        let update = RicServiceUpdateFailure { transaction_id: TRANSACTION, ..update.clone() };
        refused(&update, version, ErrorKind::NotInRevision, "ran_functions_rejected");
        let update = RicServiceUpdateFailure { ran_functions_rejected: None, ..update };
        refused(&update, version, ErrorKind::Missing, "cause");
        carried(&RicServiceUpdateFailure { cause: Some(cause), ..update }, &[version]);
    }
}

#[test]
fn node_id_roots_grew_in_v2() {
    let gnb = |global_en_gnb_id| {
        GlobalE2NodeId::Gnb(GlobalE2NodeGnbId {
            global_gnb_id: GlobalGnbId { plmn_identity: PLMN, gnb_id: GNB },
            global_en_gnb_id,
            gnb_cu_up_id: Some(GnbCuUpId(5)),
            gnb_du_id: None,
        })
    };
    let v1 = encoded(&setup(gnb(None), vec![]), V1_01);
    let v2 = encoded(&setup_v2(gnb(None), vec![function(Some("1"))]), V2_03);
    // no extension; gNB of four, no extension; one presence bit per optional part: 10 in v1, 010 from v2 on; no extension
    let node = |octets: &[u8]| octets[octets.windows(3).position(|w| w[..2] == [0, 3]).unwrap() + 4];
    assert_eq!((node(&v1), node(&v2)), (0b0000_1000, 0b0000_0100));
    carried(&setup(gnb(None), vec![]), &[V1_00, V1_01]);
    carried(&setup_v2(gnb(None), vec![function(Some("1"))]), &[V2_03, V3_01]);

    let en_gnb = GlobalEnGnbId { plmn_identity: PLMN, en_gnb_id: EnGnbId::new(0x200, 22) };
    let enb = GlobalEnbId { plmn_identity: PLMN, enb_id: EnbId::ShortMacroEnbId(Bits::new(1, 18)) };
    let ng_enb = GlobalNgEnbId { plmn_identity: PLMN, ng_enb_id: NgEnbId::LongMacroNgEnbId(Bits::new(1, 21)) };
    let both = gnb(Some(en_gnb));
    let cu_up = GlobalE2NodeId::EnGnb(GlobalE2NodeEnGnbId {
        global_en_gnb_id: en_gnb,
        en_gnb_cu_up_id: Some(GnbCuUpId(1 << 35)),
        en_gnb_du_id: None,
    });
    let du = GlobalE2NodeId::NgEnb(GlobalE2NodeNgEnbId {
        global_ng_enb_id: ng_enb,
        global_enb_id: Some(enb),
        ng_enb_du_id: Some(NgEnbDuId(0)),
    });
    let unrefined = [
        (both, "GlobalE2NodeGnbId.global_en_gnb_id"),
        (cu_up, "GlobalE2NodeEnGnbId.en_gnb_cu_up_id"),
        (du, "GlobalE2NodeNgEnbId.global_enb_id"),
    ];
    for (node, at) in unrefined {
        carried(&setup_v2(node, vec![function(Some("1"))]), &[V2_03, V3_01]);
        for version in [V1_00, V1_01] {
            refused(&setup(node, vec![]), version, ErrorKind::NotInRevision, at);
        }
    }
    carried(&setup(GlobalE2NodeId::Enb(GlobalE2NodeEnbId { global_enb_id: enb }), vec![]), &[V1_00, V1_01]);
}

#[test]
fn components_have_another_type_in_v1_01() {
    let node = GlobalE2NodeId::gnb(PLMN, GNB);
    let gnb =
        E2NodeComponentConfigUpdateGnbV1 { ng_ap: Some(Octets::from(b"ng")), xn_ap: None, e1_ap: None, f1_ap: None };
    let component = E2NodeComponentConfigUpdateItemV1 {
        component_type: E2NodeComponentTypeV1::GnbDu,
        id: Some(E2NodeComponentIdV1::GnbDu(E2NodeComponentGnbDuIdV1 { gnb_du_id: GnbDuId(1) })),
        configuration: E2NodeComponentConfigUpdateV1::Gnb(gnb),
    };
    let request = E2SetupRequest { component_config_update_v1: Some(vec![component].into()), ..setup(node, vec![]) };
    carried(&request, &[V1_01]);
    refused(&request, V1_00, ErrorKind::NotInRevision, "component_config_update_v1");
    let request = E2SetupRequest {
        component_config_update_v1: request.component_config_update_v1,
        ..setup_v2(node, vec![function(Some("1"))])
    };
    refused(&request, V2_03, ErrorKind::NotInRevision, "component_config_update_v1");
    let request = E2SetupRequest { component_config_update_v1: None, component_config_addition: None, ..request };
    refused(&request, V3_01, ErrorKind::Missing, "component_config_addition");
}

#[test]
fn procedures_are_rejected_before_their_first_version() {
    let first = |code: u8| match code {
        1..=9 => V1_00,
        10 | 11 => V1_01,
        12 | 13 => V2_03,
        14..=16 => V3_01,
        _ => unreachable!(),
    };
    let mut seen = std::collections::BTreeSet::new();
    for (path, version, octets) in common::every_vector() {
        let gather = Gather::new();
        let pdu = decode(&octets, version, &gather).unwrap().pdu;
        let since = first(pdu.procedure_code().0);
        seen.insert((version, pdu.procedure_code().0));
        for old in Version::ALL.into_iter().filter(|old| *old < since) {
            let mut out = vec![1];
            let error = pdu.encode(old, &mut out).unwrap_err();
            assert_eq!((error.kind, error.at, &out[..]), (ErrorKind::NotInRevision, "E2AP-PDU", &[1][..]));
            let error = decode_error(&octets, old);
            assert!(matches!(error, Error::UnknownProcedure { .. }), "{}: {error}", path.display());
        }
    }
    for (version, procedures) in [(V1_00, 9), (V1_01, 11), (V2_03, 13), (V3_01, 16)] {
        assert_eq!(seen.iter().filter(|(of, _)| *of == version).count(), procedures);
    }
}

#[test]
fn version_is_inferred_from_setup_request() {
    let mut setups = 0;
    for (path, version, octets) in common::every_vector() {
        let decoded = Version::of_setup(&octets);
        if path.file_name().unwrap().to_str().unwrap().starts_with("e2_setup_request") {
            // v01.01 decodes requests of v01.00; v02.03 and v03.01 have the same request
            let expected = if version < V2_03 { V1_01 } else { V2_03 };
            assert_eq!(decoded, Some(expected), "{}", path.display());
            assert!(decode(&octets, expected, &Gather::new()).is_ok(), "{}", path.display());
            setups += 1;
        } else {
            assert_eq!(decoded, None, "{}", path.display());
        }
    }
    assert!(setups >= 20);

    // also with a TransactionID out of range, and with any octets after it
    let node = GlobalE2NodeId::gnb(PLMN, GNB);
    for id in [0, 255, 256, 65536, u32::MAX] {
        let request =
            E2SetupRequest { transaction_id: Some(TransactionId(id)), ..setup_v2(node, vec![function(Some("1"))]) };
        let octets = encoded(&request, V2_03);
        assert_eq!(Version::of_setup(&octets), Some(V2_03), "{id}");
        assert_eq!(peek::outline(&octets).unwrap().transaction_id, Some(TransactionId(id)));
    }
    assert_eq!(Version::of_setup(&[]), None);
    assert_eq!(Version::of_setup(&[0, 1]), None);
}

#[test]
fn version_names_are_parsed() {
    for version in Version::ALL {
        assert_eq!(version.name().parse(), Ok(version));
        assert_eq!(format!("v0{version}").parse(), Ok(version));
        assert_eq!(Version::ALL[usize::from(version.revision())], version);
    }
    assert_eq!("2.0".parse::<Version>(), Err(UnknownVersion));
    assert_eq!("".parse::<Version>(), Err(UnknownVersion));
}
