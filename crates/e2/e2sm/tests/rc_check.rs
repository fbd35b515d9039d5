//! Controls against the RAN function definitions of nodes. Definitions and messages are in `vectors/rc`.

use std::path::Path;

use e2sm::common::{
    AmfUeNgapId, Cgi, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, NrCgi,
    PlmnIdentity, RanFunctionName, RicFormatType, RicStyleName, RicStyleType, SNssai, Sd, Sst, UeId, UeIdGnb,
    UeIdGnbDu,
};
use e2sm::rc::*;
use e2sm::{Arena, Error, Wire};
use per::{Bits, List, PrintableString, Single};

const REVISION: Revision = Revision::V1_03;

fn vector(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../vectors/rc/v01.03-{name}.hex"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let digits = text.trim().as_bytes();
    digits.chunks(2).map(|two| u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

fn du_ue(id: u32) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid: None, cell_rnti: None })
}

fn quota() -> SlicePrbQuota {
    let slice = SNssai { sst: Sst([1]), sd: Some(Sd([0, 0, 1])) };
    let mut quota = SlicePrbQuota::of_slice(PlmnIdentity::from_codes(1, 1, 2), slice, 10, 30);
    quota.policies[0].dedicated_percent = Some(5);
    quota
}

#[test]
fn quota_is_written_with_each_group_and_member() {
    let control = Control::of_ue(du_ue(4), ControlAction::SlicePrbQuota(quota()));
    let (header, message) = control.encode(REVISION).unwrap();
    assert_eq!(header, vector("control_header-quota"));
    assert_eq!(message, vector("control_message-quota"));
}

fn definition(name: &str) -> RanFunctionDefinition<'static> {
    RanFunctionDefinition::decode_owned(&vector(&format!("definition-{name}")), REVISION).unwrap()
}

fn encode_for(definition: &RanFunctionDefinition<'_>, action: ControlAction) -> Result<NodeControl, ControlMismatch> {
    match Control::of_ue(du_ue(4), action).encode_for(definition, REVISION, Wire::Per) {
        Ok(control) => Ok(control),
        Err(Error::Mismatch(mismatch)) => Err(mismatch),
        Err(error) => panic!("{error}"),
    }
}

/// Compares octets with a definition.
fn check(
    definition: &RanFunctionDefinition<'_>,
    header: &[u8],
    message: &[u8],
) -> Result<ControlCheck, ControlMismatch> {
    let arena = Arena::new();
    let header = ControlHeader::decode(header, REVISION, &arena).unwrap();
    let message = ControlMessage::decode(message, REVISION, &arena).unwrap();
    check_control(definition, &header, &message)
}

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// The quota of [`quota`] without groups and members.
const BARE_QUOTA: &str = "000001000060000040000300024400000004600000400001 00062a000300f110000744000100082a00010100092a0003\
    000001000a2880010a000b2880011e000c28800105";

fn text(mismatch: Result<impl core::fmt::Debug, ControlMismatch>) -> String {
    mismatch.unwrap_err().to_string()
}

#[test]
fn quota_fits_a_node_that_lists_all_parameters_beside_each_other() {
    let control = encode_for(&definition("flat-quota"), ControlAction::SlicePrbQuota(quota())).unwrap();
    assert_eq!((control.header, control.message), (vector("control_header-quota"), vector("control_message-quota")));
    assert_eq!(control.check, ControlCheck::Described);
}

#[test]
fn quota_without_groups_is_not_sent_to_a_node_that_lists_them() {
    let (node, header, bare) = (definition("flat-quota"), vector("control_header-quota"), octets(BARE_QUOTA));
    assert_eq!(
        text(check(&node, &header, &bare)),
        "the node lists RAN parameter 2 (RRM Policy Ratio Group) in 1, which the control lacks"
    );
    // the control itself is well formed
    let ControlActions::One(action) = Control::decode(&header, &bare, REVISION).unwrap().actions else { panic!() };
    assert_eq!(action, ControlAction::SlicePrbQuota(quota()));
}

#[test]
fn ratio_that_a_node_lists_may_not_be_missing() {
    type Remove = fn(&mut RrmPolicyRatio);
    let ratios: [(Remove, &str); 3] = [
        (|policy| policy.min_percent = None, "11 (Min PRB Policy Ratio)"),
        (|policy| policy.max_percent = None, "12 (Max PRB Policy Ratio)"),
        (|policy| policy.dedicated_percent = None, "13 (Dedicated PRB Policy Ratio)"),
    ];
    for (remove, name) in ratios {
        let mut quota = quota();
        remove(&mut quota.policies[0]);
        let outcome = encode_for(&definition("flat-quota"), ControlAction::SlicePrbQuota(quota));
        assert_eq!(text(outcome), format!("the node lists RAN parameter {name} in 2, which the control lacks"));
    }
    // the slice differentiator may be absent
    let mut quota = quota();
    quota.policies[0].members[0].slice.sd = None;
    encode_for(&definition("flat-quota"), ControlAction::SlicePrbQuota(quota)).unwrap();
}

#[test]
fn quota_has_the_numbers_of_the_node() {
    let node = definition("flat-quota-without-gap");
    let control = encode_for(&node, ControlAction::SlicePrbQuota(quota())).unwrap();
    assert_eq!(control.check, ControlCheck::Described);
    let read = Control::decode(&control.header, &control.message, REVISION).unwrap();
    assert_eq!(read, Control::of_ue(du_ue(4), ControlAction::SlicePrbQuota(quota())));
    assert_ne!(control.message, vector("control_message-quota"));
    let standard = check(&node, &control.header, &vector("control_message-quota"));
    assert!(matches!(standard, Err(ControlMismatch::Missing(_))), "{standard:?}");
    let other = check(&definition("flat-quota"), &control.header, &control.message);
    assert!(matches!(other, Err(ControlMismatch::Missing(_))), "{other:?}");
}

#[test]
fn control_goes_only_to_nodes_with_its_style_and_action() {
    let quota = || ControlAction::SlicePrbQuota(quota());
    let cases = [
        ("flat-handover", quota(), "the node does not offer control style 2"),
        ("flat-quota", ControlAction::Drx(Drx::long(40)), "does not offer control style 2 action 1 (DRX parameter"),
        ("flat-quota", ControlAction::DrbQos(DrbQos::priority(1, 2)), "the node does not offer control style 1"),
        ("list-without-item", ControlAction::DrbQos(DrbQos::priority(1, 2)), "does not offer control style 1 action 1"),
    ];
    for (node, action, why) in cases {
        let node = definition(node);
        assert!(check_action(&node, action.id()).unwrap_err().to_string().contains(why));
        let outcome = text(encode_for(&node, action));
        assert!(outcome.contains(why), "{outcome}");
    }
    let mut node = definition("flat-quota");
    assert_eq!(check_action(&node, ControlAction::SLICE_PRB_QUOTA), Ok(ControlCheck::Described));
    node.control = None;
    assert_eq!(encode_for(&node, quota()), Err(ControlMismatch::NoControls));
}

#[test]
fn handover_fits_a_node_that_lists_all_parameters_beside_each_other() {
    let plmn_identity = PlmnIdentity::from_codes(1, 1, 2);
    let amf_set_id = Bits::new(1, 10);
    let ue = UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(1),
        guami: Guami { plmn_identity, amf_region_id: Bits::new(2, 8), amf_set_id, amf_pointer: Bits::new(0, 6) },
        gnb_cu_ue_f1ap_id_list: Some(List::from(vec![GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(3) }])),
        gnb_cu_cp_ue_e1ap_id_list: Some(List::from(vec![GnbCuCpUeE1apIdItem {
            gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(5),
        }])),
        ran_ueid: None,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }));
    let cell = Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity: Bits::new(0x0019_B010, 36) });
    let control = Control::of_ue(ue, ControlAction::Handover(Handover::to(cell)));
    let node = definition("flat-handover");
    let sent = control.encode_for(&node, REVISION, Wire::Per).unwrap();
    assert_eq!((sent.header, sent.check), (vector("control_header-handover"), ControlCheck::Described));
    assert_eq!(sent.message, vector("control_message-handover"));
    // a parameter that the node does not list
    let sessions = || RanParameterItem {
        ran_parameter_id: RanParameterId(7),
        value_type: RanParameterValueType::ElementFalse(RanParameterElementFalse {
            value: Some(RanParameterValue::ValueInt(1)),
        }),
    };
    let with_sessions = ControlAction::Handover(Handover { target: cell, other: vec![sessions()] });
    assert_eq!(
        text(encode_for(&node, with_sessions)),
        "the control has RAN parameter 7 (List of PDU sessions for handover), which the node does not list there"
    );
}

#[test]
fn items_of_a_list_have_the_form_that_the_node_describes() {
    let flow = MappedFlow { qfi: 10, direction: Some(FlowDirection::Downlink) };
    let mapping = || ControlAction::QosFlowMapping(QosFlowMapping { drb_id: 5, flows: vec![flow] });
    let first_id = |control: &NodeControl| {
        let arena = Arena::new();
        let message = ControlMessage::decode(&control.message, REVISION, &arena).unwrap();
        let ControlMessageFormats::Format1(format) = &message.formats else { panic!() };
        let RanParameterValueType::List(list) = &format.ran_p_list[1].value_type else { panic!() };
        list.list.list[0].parameters.as_ref().unwrap()[0].ran_parameter_id.0
    };
    // FlexRIC lists the contents of an item without the item, and expects a control to do so
    let bare = encode_for(&definition("list-without-item"), mapping()).unwrap();
    assert_eq!((first_id(&bare), bare.check), (4, ControlCheck::Described));
    let nested = encode_for(&own_definition(), mapping()).unwrap();
    assert_eq!((first_id(&nested), nested.check), (3, ControlCheck::Described));
    let refused = check(&own_definition(), &bare.header, &bare.message);
    assert_eq!(text(refused), "the node lists RAN parameter 3 (QoS Flow Item) in 2, which the control lacks");
    let refused = check(&definition("list-without-item"), &nested.header, &nested.message);
    assert!(text(refused).contains("lists RAN parameter 4 (QoS Flow Identifier) in 2"));
}

/// A definition with nested parameters, as this project's RAN function writes it.
fn own_definition() -> RanFunctionDefinition<'static> {
    let ids = [(1, 1), (1, 2), (2, 1), (2, 6), (3, 1)];
    let action = |(style, action): (i64, u16)| ControlActionItem {
        ric_control_action_id: RicControlActionId(action),
        ric_control_action_name: RicControlActionName(PrintableString::literal("action")),
        control_action_parameters_list: Some(
            dictionary::control_parameters(style, action)
                .iter()
                .map(|known| ControlActionParameterItem {
                    ran_parameter_id: known.id,
                    ran_parameter_name: RanParameterName(PrintableString::literal(known.name)),
                    ran_parameter_definition: known.definition(),
                    list_of_additional_supported_formats_ue_group_control: None,
                })
                .collect(),
        ),
        ue_group_control_action_supported: None,
    };
    let style = |number: i64, format| ControlStyleItem {
        ric_control_style_type: RicStyleType(number),
        ric_control_style_name: RicStyleName(PrintableString::literal("style")),
        control_action_list: Some(ids.into_iter().filter(|(style, _)| *style == number).map(action).collect())
            .filter(|list: &List<'_, _>| !list.is_empty()),
        ric_control_header_format_type: RicFormatType(format),
        ric_control_message_format_type: RicFormatType(format),
        ric_call_process_id_format_type: None,
        ric_control_outcome_format_type: RicFormatType(1),
        control_outcome_parameters_list: None,
        list_of_additional_supported_formats: None,
    };
    RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-RC"),
            e2sm_oid: PrintableString::literal(OID),
            description: PrintableString::literal("RAN Control"),
            instance: None,
        },
        event_trigger: None,
        report: None,
        insert: None,
        control: Some(RanFunctionDefinitionControl {
            control_style_list: List::from(vec![style(1, 1), style(2, 1), style(3, 1), style(255, 2)]),
        }),
        policy: None,
        query: None,
    }
}

fn some_actions() -> Vec<ControlAction> {
    let cell = NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(1, 36) };
    vec![
        ControlAction::DrbQos(DrbQos { five_qi: Some(7), ..DrbQos::priority(1, 2) }),
        ControlAction::Drx(Drx::long(40)),
        ControlAction::SlicePrbQuota(quota()),
        ControlAction::Handover(Handover::to(Cgi::NrCgi(cell))),
    ]
}

#[test]
fn known_actions_fit_a_nested_definition() {
    for action in some_actions() {
        let control = encode_for(&own_definition(), action.clone()).unwrap();
        assert_eq!(control.check, ControlCheck::Described, "{action:?}");
        let read = Control::decode(&control.header, &control.message, REVISION).unwrap();
        assert_eq!(read.actions, ControlActions::One(action));
    }
    let several = |target| Control { target, decision: None, actions: ControlActions::Several(some_actions()) };
    let sent = several(ControlTarget::Ue(du_ue(1))).encode_for(&own_definition(), REVISION, Wire::Per).unwrap();
    assert_eq!(sent.check, ControlCheck::Described);
    let refused = several(ControlTarget::NoUe).encode_for(&own_definition(), REVISION, Wire::Per);
    assert_eq!(refused, Err(Error::Mismatch(ControlMismatch::NoUe(ControlAction::DRB_QOS))));
    // a decision may omit what the suspended procedure contains
    let answer = Control::answer(du_ue(1), ControlAction::HANDOVER, Decision::Accept);
    assert_eq!(answer.encode_for(&own_definition(), REVISION, Wire::Per).unwrap().check, ControlCheck::Described);
}

#[test]
fn what_a_node_does_not_describe_is_said() {
    let handover = some_actions().remove(3);
    let cases = [
        ("without-contents", handover, "the node does not list the contents of RAN parameter 1"),
        ("without-contents", ControlAction::Drx(Drx::long(40)), "the parameters of control style 2 action 1"),
    ];
    for (node, action, what) in cases {
        let ControlCheck::NotDescribed(part) = encode_for(&definition(node), action).unwrap().check else { panic!() };
        assert!(part.to_string().contains(what), "{part}");
    }
    let release = OtherAction { id: ActionId::new(4, 4), parameters: Vec::new() };
    let sent = encode_for(&definition("without-actions"), ControlAction::Other(release)).unwrap();
    assert_eq!(sent.check, ControlCheck::NotDescribed(Undescribed::Actions(RicStyleType(4))));
}

#[test]
fn parameter_of_another_type_is_not_sent() {
    let element = |id| RanParameterItem {
        ran_parameter_id: RanParameterId(id),
        value_type: RanParameterValueType::ElementFalse(RanParameterElementFalse {
            value: Some(RanParameterValue::ValueInt(1)),
        }),
    };
    let id = ActionId::new(2, 6);
    let other = |parameters| ControlAction::Other(OtherAction { id, parameters });
    for node in [own_definition(), definition("flat-quota")] {
        assert_eq!(
            text(encode_for(&node, other(vec![element(1)]))),
            "the node lists RAN parameter 1 (RRM Policy Ratio List) as a list, and the control has another type"
        );
        assert_eq!(
            text(encode_for(&node, other(Vec::new()))),
            "the node lists RAN parameter 1 (RRM Policy Ratio List), which the control lacks"
        );
    }
}

#[test]
fn every_way_to_write_groups_and_members_is_read() {
    let header = vector("control_header-quota");
    let read = |name: &str| {
        let message = vector(name);
        assert_eq!(check(&definition("flat-quota"), &header, &message), Ok(ControlCheck::Described), "{name}");
        let ControlActions::One(ControlAction::SlicePrbQuota(quota)) =
            Control::decode(&header, &message, REVISION).unwrap().actions
        else {
            panic!("a quota")
        };
        quota.policies.iter().map(|policy| (policy.members.len(), policy.min_percent)).collect::<Vec<_>>()
    };
    assert_eq!(read("control_message-quota"), [(1, Some(10))]);
    assert_eq!(read("control_message-quota-two-members"), [(2, Some(10))]);
    assert_eq!(read("control_message-quota-two-lists"), [(1, Some(10)), (1, Some(14))]);
}

#[test]
fn names_from_a_definition_are_escaped_and_bounded() {
    let mut node = definition("without-contents");
    let mut styles = node.control.take().unwrap().control_style_list.to_vec();
    let name = PrintableString::try_from("x".repeat(150)).unwrap();
    let mut actions = styles[0].control_action_list.take().unwrap().to_vec();
    let mut parameters = actions[0].control_action_parameters_list.take().unwrap().to_vec();
    parameters[0].ran_parameter_id = RanParameterId(900);
    parameters[0].ran_parameter_name = RanParameterName(name);
    parameters[0].ran_parameter_definition =
        own_definition().control.unwrap().control_style_list[1].control_action_list.as_ref().unwrap()[1]
            .control_action_parameters_list
            .as_ref()
            .unwrap()[0]
            .ran_parameter_definition
            .clone();
    actions[0].control_action_parameters_list = Some(parameters.into());
    styles[0].control_action_list = Some(actions.into());
    node.control = Some(RanFunctionDefinitionControl { control_style_list: styles.into() });
    let item = RanParameterItem {
        ran_parameter_id: RanParameterId(900),
        value_type: RanParameterValueType::ElementTrue(RanParameterElementTrue {
            value: RanParameterValue::ValueInt(1),
        }),
    };
    let other = ControlAction::Other(OtherAction { id: ActionId::new(3, 1), parameters: vec![item] });
    let Err(ControlMismatch::NotA(parameter, "a list")) = encode_for(&node, other) else { panic!("another type") };
    assert_eq!(parameter.name.map(|name| name.len()), Some(64));
}
