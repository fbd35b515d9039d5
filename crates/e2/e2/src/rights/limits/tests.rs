//! Rights on UEs and on the styles and actions of controls: what is within them, and what is not.

use std::time::Duration;

use e2ap::{Codec, GlobalE2NodeId, GnbId, RanFunctionRevision, RicActionId, RicActionType, Version};
use e2sm::common::{
    AmfUeNgapId, Cgi, EnbId, EnbUeX2apId, GlobalEnbId, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId,
    GnbCuUeF1apIdItem, Guami, NgRanNodeUeXnapId, NrCgi, RanFunctionName, RicStyleType, Sst, UeId, UeIdEnGnb, UeIdGnb,
};
use e2sm::kpm::{self, EveryUe, GranularityPeriod, MeasurementType, MeasurementTypeName};
use e2sm::rc::{self, Control, ControlAction, Drx, Handover, Plan};
use per::{Bits, PrintableString, Single};

use super::*;
use crate::topology::UeContext;
use crate::{
    AssocId, Components, ControllerPath, FunctionName, Lacking, NodeId, RanFunction, Selection, Time, XappRights,
};

const RC: RanFunctionId = RanFunctionId(3);
const KPM: RanFunctionId = RanFunctionId(2);
const MAC: RanFunctionId = RanFunctionId(142);
const PLMN: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
const OTHER_PLMN: PlmnIdentity = PlmnIdentity::from_codes(999, 99, 2);
const KPM_REVISION: kpm::Revision = kpm::Revision::V3_00;

fn name(oid: &'static str) -> RanFunctionName<'static> {
    RanFunctionName {
        short_name: PrintableString::literal("function"),
        e2sm_oid: PrintableString::try_from(oid).unwrap(),
        description: PrintableString::literal("of a test"),
        instance: None,
    }
}

fn function(id: RanFunctionId, oid: &str, definition: Vec<u8>) -> RanFunction {
    RanFunction { id, revision: RanFunctionRevision(0), oid: oid.into(), definition: definition.into() }
}

fn node() -> Node {
    let of_kpm = kpm::RanFunctionDefinition {
        ran_function_name: name(kpm::OID_V3),
        ric_event_trigger_style_list: None,
        ric_report_style_list: None,
    };
    let of_rc = rc::RanFunctionDefinition {
        ran_function_name: name(rc::OID),
        event_trigger: None,
        report: None,
        insert: None,
        control: None,
        policy: None,
        query: None,
    };
    let (mut kpm, mut rc) = (Vec::new(), Vec::new());
    of_kpm.encode(KPM_REVISION, &mut kpm).unwrap();
    of_rc.encode(rc::Revision::V1_03, &mut rc).unwrap();
    Node {
        id: NodeId(1),
        global_id: GlobalE2NodeId::gnb(PLMN, GnbId::new(0xe00, 28)),
        assoc: AssocId(1),
        version: Version::V2_03,
        codec: Codec::Per,
        functions: vec![
            function(KPM, kpm::OID_V3, kpm),
            function(RC, rc::OID, rc),
            function(MAC, "1.3.6.1.4.1.53148.1.1.2.142", Vec::new()),
        ],
        components: Components::default(),
        controller_path: ControllerPath::default(),
    }
}

/// A UE ID with an identifier at the AMF, and those on F1.
fn ue_of(plmn: PlmnIdentity, amf: i64, f1ap: &[u32]) -> UeId<'static> {
    let guami = Guami {
        plmn_identity: plmn,
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    };
    let f1ap: Vec<_> = f1ap.iter().map(|id| GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(*id) }).collect();
    UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(amf),
        guami,
        gnb_cu_ue_f1ap_id_list: (!f1ap.is_empty()).then(|| f1ap.into()),
        gnb_cu_cp_ue_e1ap_id_list: None,
        ran_ueid: None,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }))
}

fn ue(amf: i64) -> UeId<'static> {
    ue_of(PLMN, amf, &[])
}

fn slice(text: &str) -> SNssai {
    text.parse().unwrap()
}

/// A RAN with UE 7 of slice 1-00000a and UE 8 of slice 2, both with an identifier on F1, and UE 9 of another network.
fn ran(node: &Node) -> RanDatabase {
    let mut ran = RanDatabase::new(16);
    ran.update_node(node.id, node.global_id, &node.components);
    let at = Time::default() + Duration::from_secs(1);
    for (ue_id, slices) in [
        (ue_of(PLMN, 7, &[70]), vec![slice("1-00000a")]),
        (ue_of(PLMN, 8, &[80]), vec![slice("2")]),
        (ue_of(OTHER_PLMN, 9, &[]), Vec::new()),
    ] {
        let known = ran.learn_ue_id(at, node.id, &ue_id).unwrap();
        ran.set_ue_context(known, &UeContext { s_nssais: slices, ..UeContext::default() });
    }
    ran
}

/// The rights to read and control all functions of all nodes, within limits.
fn rights(limits: GrantLimits) -> XappRights {
    let mut grant = Grant::new(Selection::All, Selection::All);
    grant.limits = GrantLimits { parameters: None, ..limits.clone() };
    let read = vec![grant.clone()];
    grant.limits = limits;
    XappRights { read, control: vec![grant] }
}

fn parameters(patterns: &[&str]) -> GrantLimits {
    let parameters = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
    GrantLimits { parameters: Some(parameters), ..GrantLimits::default() }
}

fn ues(references: &[&str]) -> GrantLimits {
    let ues = references.iter().map(|reference| reference.parse().unwrap()).collect();
    GrantLimits { ues: Some(ues), ..GrantLimits::default() }
}

fn slices(all: &[&str]) -> GrantLimits {
    GrantLimits { slices: Some(all.iter().map(|text| slice(text)).collect()), ..GrantLimits::default() }
}

fn plmns(all: &[PlmnIdentity]) -> GrantLimits {
    GrantLimits { plmns: Some(all.iter().copied().collect()), ..GrantLimits::default() }
}

fn handover(ue: UeId<'static>) -> Control {
    Control::of_ue(ue, ControlAction::Handover(Handover::to(Cgi::NrCgi(NrCgi::new(PLMN, 0x38001)))))
}

fn may_control(limits: &GrantLimits, control: &Control) -> Result<(), Lacking> {
    let (header, message) = control.encode(rc::Revision::V1_03).unwrap();
    let node = node();
    rights(limits.clone()).may_control(&ran(&node), &node, RC, &header, &message)
}

fn what(refused: Result<(), Lacking>) -> String {
    refused.unwrap_err().what.unwrap().into()
}

#[test]
fn styles_and_actions_of_controls_are_limited() {
    let drx = Control::of_ue(ue(7), ControlAction::Drx(Drx::long(320)));
    let steering = parameters(&["rc/3"]);
    assert_eq!(may_control(&steering, &handover(ue(7))), Ok(()));
    assert_eq!(may_control(&parameters(&["rc/3/1"]), &handover(ue(7))), Ok(()));
    assert_eq!(may_control(&parameters(&["rc/*/1"]), &drx), Ok(()), "DRX is action 1 of style 2");
    assert_eq!(what(may_control(&parameters(&["rc/3/2", "slice"]), &handover(ue(7)))), "rc/3/1 of ue amf:7");
    let beyond = what(may_control(&steering, &drx));
    assert!(beyond.starts_with("rc/2/1/") && beyond.ends_with(" of ue amf:7"), "{beyond}");
    // a control may set more than the numbers that its settings name
    assert!(may_control(&parameters(&["rc/2/1/1"]), &drx).is_err());
    assert!(may_control(&parameters(&[]), &handover(ue(7))).is_err());
}

#[test]
fn each_setting_is_within_one_of_the_grants() {
    let node = node();
    let mut rights = rights(parameters(&["rc/3"]));
    rights.control.push(Grant { limits: parameters(&["rc/2"]), ..Grant::new(Selection::All, Selection::All) });
    let of_other = FunctionName::Id(KPM);
    rights.control.push(Grant::new(Selection::All, [of_other].into_iter().collect()));
    let actions =
        [ControlAction::Handover(Handover::to(Cgi::NrCgi(NrCgi::new(PLMN, 1)))), ControlAction::Drx(Drx::long(320))];
    for action in actions {
        let (header, message) = Control::of_ue(ue(7), action).encode(rc::Revision::V1_03).unwrap();
        assert_eq!(rights.may_control(&ran(&node), &node, RC, &header, &message), Ok(()));
    }
}

#[test]
fn ues_of_controls_are_limited_by_any_of_their_identities() {
    assert_eq!(may_control(&ues(&["amf:7"]), &handover(ue(7))), Ok(()));
    assert_eq!(may_control(&ues(&["f1ap:70"]), &handover(ue(7))), Ok(()), "the RIC knows both names of the UE");
    assert_eq!(may_control(&ues(&["amf:7"]), &handover(ue_of(PLMN, 7, &[70]))), Ok(()));
    assert_eq!(what(may_control(&ues(&["amf:7"]), &handover(ue(8)))), "rc/3/1 of ue amf:8");
    // names of two UEs, and one that nobody has reported
    assert!(may_control(&ues(&["amf:7"]), &handover(ue_of(PLMN, 7, &[80]))).is_err());
    assert!(may_control(&ues(&["amf:7"]), &handover(ue_of(PLMN, 7, &[99]))).is_err());
    assert!(may_control(&ues(&["amf:7"]), &handover(ue_of(OTHER_PLMN, 7, &[70]))).is_err());
    // more names than are read
    let UeId::Gnb(id) = ue(5) else { panic!("a gNB's") };
    let e1ap = GnbCuCpUeE1apIdItem { gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(1) };
    let with_names = |count| {
        let names = Some(vec![e1ap; count].into());
        handover(UeId::Gnb(Single::from(UeIdGnb { gnb_cu_cp_ue_e1ap_id_list: names, ..(*id).clone() })))
    };
    assert_eq!(may_control(&ues(&["amf:5", "e1ap:1"]), &with_names(8)), Ok(()));
    let with_xnap = UeIdGnb { m_ng_ran_ue_xnap_id: Some(NgRanNodeUeXnapId(1)), ..(*id).clone() };
    assert!(may_control(&ues(&["amf:5"]), &handover(UeId::Gnb(Single::from(with_xnap)))).is_err());
    // the id on X2 is the one that an en-gNB goes by
    let by_x2 = |f1ap: Option<u32>| {
        handover(UeId::EnGnb(Single::from(UeIdEnGnb {
            m_enb_ue_x2ap_id: EnbUeX2apId(9),
            m_enb_ue_x2ap_id_extension: None,
            global_enb_id: GlobalEnbId { plmn_identity: PLMN, enb_id: EnbId::MacroEnbId(Bits::new(1, 20)) },
            gnb_cu_ue_f1ap_id: f1ap.map(GnbCuUeF1apId),
            gnb_cu_cp_ue_e1ap_id_list: None,
            ran_ueid: None,
            cell_rnti: None,
        })))
    };
    assert_eq!(may_control(&ues(&["x2ap:9"]), &by_x2(None)), Ok(()));
    assert!(may_control(&ues(&["f1ap:70"]), &by_x2(Some(70))).is_err());
    assert!(may_control(&ues(&["amf:5", "e1ap:1"]), &with_names(9)).is_err());
}

#[test]
fn ue_that_is_not_known_needs_a_right_to_each_of_its_names() {
    assert_eq!(may_control(&ues(&["amf:5"]), &handover(ue(5))), Ok(()));
    assert!(may_control(&ues(&["amf:5"]), &handover(ue_of(PLMN, 5, &[50]))).is_err());
    assert_eq!(may_control(&ues(&["amf:5", "f1ap:50"]), &handover(ue_of(PLMN, 5, &[50]))), Ok(()));
    let unknown = what(may_control(&slices(&["1"]), &handover(ue(5))));
    assert_eq!(unknown, "rc/3/1 of ue amf:5, which the RIC does not know");
    let both = GrantLimits { slices: slices(&["1"]).slices, ..ues(&["amf:5"]) };
    assert!(may_control(&both, &handover(ue(5))).is_err());
}

#[test]
fn ues_of_controls_are_limited_by_slice_and_network() {
    assert_eq!(may_control(&slices(&["1-00000a"]), &handover(ue(7))), Ok(()));
    assert_eq!(may_control(&slices(&["1"]), &handover(ue(7))), Ok(()), "all of an SST");
    assert!(may_control(&slices(&["1-00000b", "2"]), &handover(ue(7))).is_err());
    assert_eq!(may_control(&slices(&["1-00000b", "2"]), &handover(ue(8))), Ok(()));
    let foreign = handover(ue_of(OTHER_PLMN, 9, &[]));
    assert_eq!(may_control(&plmns(&[PLMN]), &handover(ue(7))), Ok(()));
    assert!(may_control(&plmns(&[PLMN]), &foreign).is_err());
    assert_eq!(may_control(&plmns(&[OTHER_PLMN]), &foreign), Ok(()));
    let all_must_hold = GrantLimits { plmns: plmns(&[PLMN]).plmns, ..slices(&["2"]) };
    assert!(may_control(&all_must_hold, &handover(ue(7))).is_err());
    assert_eq!(may_control(&all_must_hold, &handover(ue(8))), Ok(()));
}

#[test]
fn control_of_a_cell_needs_a_right_to_all_ues() {
    let quota = Control::of_cell(ControlAction::SlicePrbQuota(rc::SlicePrbQuota {
        policies: vec![rc::RrmPolicyRatio {
            members: vec![rc::RrmPolicyMember { plmn_identity: PLMN, slice: SNssai { sst: Sst([1]), sd: None } }],
            min_percent: Some(10),
            max_percent: Some(20),
            dedicated_percent: Some(0),
        }],
    }));
    assert_eq!(may_control(&parameters(&["rc/2/6"]), &quota), Ok(()));
    assert!(what(may_control(&slices(&["1"]), &quota)).starts_with("rc/2/6/"));
}

#[test]
fn control_that_cannot_be_read_is_beyond_limits() {
    let node = node();
    let ran = ran(&node);
    let limited = rights(parameters(&["*"]));
    let (header, message) = handover(ue(7)).encode(rc::Revision::V1_03).unwrap();
    assert_eq!(limited.may_control(&ran, &node, RC, &header, &message), Ok(()));
    assert!(what(limited.may_control(&ran, &node, RC, &header, &[0xff])).contains("cannot be read"));
    assert!(what(limited.may_control(&ran, &node, RC, &[], &[])).contains("cannot be read"));
    let too_long = vec![0; 70_000];
    assert!(what(limited.may_control(&ran, &node, RC, &header, &too_long)).contains("70"));
    assert!(what(limited.may_control(&ran, &node, KPM, &header, &message)).contains("does not know"));
    let unlimited = rights(GrantLimits::default());
    assert_eq!(unlimited.may_control(&ran, &node, RC, &header, &[0xff]), Ok(()));
    // the command fails in the usual way
    assert_eq!(limited.may_control(&ran, &node, RanFunctionId(77), &header, &[0xff]), Ok(()));
}

fn measurements() -> kpm::ActionDefinitionFormat1<'static> {
    let throughput = kpm::MeasurementInfoItem {
        meas_type: MeasurementType::MeasName(MeasurementTypeName::try_from("DRB.UEThpDl").unwrap()),
        label_info_list: kpm::LabelInfoList::NO_LABEL,
        match_cond_report_list: None,
    };
    kpm::ActionDefinitionFormat1 {
        meas_info_list: vec![throughput].into(),
        granul_period: GranularityPeriod(1000),
        cell_global_id: None,
        dist_meas_bin_range_info: None,
    }
}

fn may_report(limits: &GrantLimits, style: i64, formats: kpm::ActionDefinitionFormats<'static>) -> Result<(), Lacking> {
    let definition = kpm::ActionDefinition { ric_style_type: RicStyleType(style), formats };
    let mut octets = Vec::new();
    definition.encode(KPM_REVISION, &mut octets).unwrap();
    let node = node();
    rights(limits.clone()).may_subscribe(
        &ran(&node),
        &node,
        KPM,
        &spec(Vec::new(), RicActionType::Report, Some(octets)),
    )
}

fn spec(event_trigger: Vec<u8>, kind: RicActionType, definition: Option<Vec<u8>>) -> SubscriptionSpec {
    let action = Action { id: RicActionId(1), kind, definition, subsequent: None };
    SubscriptionSpec { event_trigger, actions: vec![action] }
}

#[test]
fn reports_of_kpm_are_limited_to_ues() {
    use kpm::ActionDefinitionFormats::{Format1, Format2, Format5};
    let of_ue = |id| Format2(kpm::ActionDefinitionFormat2 { ue_id: ue(id), subscript_info: measurements() });
    let of_ues = |ids: [i64; 2]| {
        let matching_ueid_list = ids.map(|id| kpm::MatchingUeidPerSubItem { ue_id: ue(id) });
        let subscription_info = measurements();
        Format5(kpm::ActionDefinitionFormat5 {
            matching_ueid_list: Vec::from(matching_ueid_list).into(),
            subscription_info,
        })
    };
    assert_eq!(may_report(&ues(&["amf:7"]), 1, Format1(measurements())), Ok(()), "cells are no UEs");
    assert_eq!(may_report(&ues(&["amf:7"]), 2, of_ue(7)), Ok(()));
    assert_eq!(what(may_report(&ues(&["amf:7"]), 2, of_ue(8))), "reports of ue amf:8");
    assert_eq!(may_report(&ues(&["amf:7", "amf:8"]), 5, of_ues([7, 8])), Ok(()));
    assert_eq!(what(may_report(&ues(&["amf:7"]), 5, of_ues([7, 8]))), "reports of ue amf:8");
    assert_eq!(may_report(&slices(&["1", "2"]), 5, of_ues([7, 8])), Ok(()));
    // by one grant each
    let node = node();
    let mut both = rights(ues(&["amf:7"]));
    both.read.extend(rights(ues(&["amf:8"])).read);
    let definition = kpm::ActionDefinition { ric_style_type: RicStyleType(5), formats: of_ues([7, 8]) };
    let mut octets = Vec::new();
    definition.encode(KPM_REVISION, &mut octets).unwrap();
    let spec = spec(Vec::new(), RicActionType::Report, Some(octets));
    assert_eq!(both.may_subscribe(&ran(&node), &node, KPM, &spec), Ok(()));
}

#[test]
fn reports_of_the_ues_of_a_slice_need_a_right_to_the_slice() {
    let each = |conditions: &[(EveryUe, bool)]| {
        let condition = |(every, is_or): &(EveryUe, bool)| kpm::MatchingUeCondPerSubItem {
            test_cond_info: match every {
                EveryUe::InSlice(slice) => kpm::TestCondInfo {
                    test_type: kpm::TestCondType::SNssai(e2sm::common::True),
                    test_expr: Some(kpm::TestCondExpression::Equal),
                    test_value: Some(kpm::TestCondValue::ValueOctS(
                        slice
                            .sst
                            .0
                            .into_iter()
                            .chain(slice.sd.into_iter().flat_map(|sd| sd.0))
                            .collect::<Vec<_>>()
                            .into(),
                    )),
                },
                EveryUe::AnySignal => kpm::TestCondInfo {
                    test_type: kpm::TestCondType::UlRsrp(e2sm::common::True),
                    test_expr: Some(kpm::TestCondExpression::LessThan),
                    test_value: Some(kpm::TestCondValue::ValueInt(1000)),
                },
            },
            logical_or: is_or.then_some(e2sm::common::True),
        };
        kpm::ActionDefinitionFormats::Format4(kpm::ActionDefinitionFormat4 {
            matching_ue_cond_list: conditions.iter().map(condition).collect(),
            subscription_info: measurements(),
        })
    };
    let in_slice = |text: &str| EveryUe::InSlice(slice(text));
    let one = slices(&["1-00000a"]);
    assert_eq!(may_report(&one, 4, each(&[(in_slice("1-00000a"), false)])), Ok(()));
    assert_eq!(may_report(&one, 4, each(&[(in_slice("1-00000a"), false), (EveryUe::AnySignal, false)])), Ok(()));
    assert_eq!(what(may_report(&one, 4, each(&[(in_slice("2"), false)]))), "reports of the UEs of slice 2");
    assert!(may_report(&one, 4, each(&[(in_slice("1"), false)])).is_err(), "other slices have this SST");
    assert_eq!(what(may_report(&one, 4, each(&[(EveryUe::AnySignal, false)]))), "reports of all UEs");
    assert!(may_report(&one, 4, each(&[(in_slice("1-00000a"), true), (in_slice("2"), false)])).is_err(), "or slice 2");
    let of_network = GrantLimits { plmns: plmns(&[PLMN]).plmns, ..one };
    assert!(may_report(&of_network, 4, each(&[(in_slice("1-00000a"), false)])).is_err(), "of any network");
}

#[test]
fn subscription_that_is_not_understood_needs_a_right_to_all_ues() {
    let node = node();
    let ran = ran(&node);
    let limited = rights(ues(&["amf:7"]));
    let garbage = spec(vec![1, 2, 3], RicActionType::Report, Some(vec![0xff; 9]));
    for (function, spec) in [
        (MAC, spec(vec![1], RicActionType::Report, None)),
        (KPM, garbage.clone()),
        (RC, garbage.clone()),
        (KPM, spec(vec![0], RicActionType::Report, None)),
    ] {
        assert_eq!(what(limited.may_subscribe(&ran, &node, function, &spec)), "reports of all UEs");
        assert_eq!(rights(parameters(&["rc"])).may_subscribe(&ran, &node, function, &spec), Ok(()), "to read all");
    }
    assert!(limited.may_query(&node, RC).unwrap_err().to_string().contains("a query"));
    assert_eq!(rights(parameters(&["rc"])).may_query(&node, RC), Ok(()));
}

#[test]
fn inserts_and_policies_are_limited_as_the_controls_that_they_stand_for() {
    let node = node();
    let ran = ran(&node);
    let may = |limits: &GrantLimits, kind, plan: &Plan| {
        let (trigger, action) = plan.encode(rc::Revision::V1_03).unwrap();
        rights(limits.clone()).may_subscribe(&ran, &node, RC, &spec(trigger, kind, Some(action)))
    };
    let of_seven = Plan::insert_handover(Some(ue(7)));
    assert_eq!(may(&parameters(&["rc/3/1"]), RicActionType::Insert, &of_seven), Ok(()));
    assert_eq!(what(may(&parameters(&["rc/2"]), RicActionType::Insert, &of_seven)), "rc/3/1 of ue amf:7");
    assert_eq!(may(&ues(&["amf:7"]), RicActionType::Insert, &of_seven), Ok(()));
    assert!(may(&ues(&["amf:8"]), RicActionType::Insert, &of_seven).is_err());
    assert_eq!(what(may(&ues(&["amf:7"]), RicActionType::Insert, &Plan::insert_handover(None))), "reports of all UEs");
    let action = ControlAction::Handover(Handover::to(Cgi::NrCgi(NrCgi::new(PLMN, 1))));
    let rule = rc::Rule { condition: None, action, decision: None };
    let policy = Plan::policy(rc::dictionary::HANDOVER_PREPARATION, 3, &[rule]);
    assert_eq!(may(&parameters(&["rc/3"]), RicActionType::Policy, &policy), Ok(()));
    assert_eq!(what(may(&parameters(&["rc/3/2"]), RicActionType::Policy, &policy)), "rc/3/1 of all UEs");
    assert!(may(&ues(&["amf:7"]), RicActionType::Policy, &policy).is_err());
    // a definition of another type of action is not understood
    assert!(may(&ues(&["amf:7"]), RicActionType::Report, &of_seven).is_err());
    assert!(
        may(&parameters(&["rc"]), RicActionType::Policy, &Plan::report_on_demand(&[rc::RanParameterId(1)])).is_err()
    );
    assert!(may(&parameters(&["rc"]), RicActionType::Policy, &of_seven).is_err());
    assert_eq!(
        what(may(&ues(&["amf:7"]), RicActionType::Report, &Plan::report_on_demand(&[rc::RanParameterId(1)]))),
        "reports of all UEs"
    );
}
