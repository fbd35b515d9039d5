//! Controls, subscriptions and their indications with named fields, through the encoding.

use e2sm::Error;
use e2sm::common::{
    AmfUeNgapId, Cgi, EutraCgi, GnbCuUeF1apId, NrCgi, PartialUeId, PlmnIdentity, RicStyleType, RrcClassNr,
    RrcMessageId, RrcType, SNssai, Sd, Sst, UeId, UeIdGnbDu,
};
use e2sm::rc::dictionary::{self, HANDOVER_PREPARATION};
use e2sm::rc::*;
use per::{Bits, List, Octets};

const NETWORK: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);

fn ue() -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(7), ran_ueid: None, cell_rnti: None })
}

fn nr_cell() -> Cgi {
    Cgi::NrCgi(NrCgi { plmn_identity: NETWORK, nr_cell_identity: Bits::new(0x1234_5678, 36) })
}

fn quota() -> SlicePrbQuota {
    let mut quota = SlicePrbQuota::of_slice(NETWORK, SNssai { sst: Sst([1]), sd: Some(Sd([0, 0, 3])) }, 30, 50);
    let other = RrmPolicyMember { plmn_identity: NETWORK, slice: SNssai { sst: Sst([2]), sd: None } };
    quota.policies[0].members.push(other);
    quota.policies[0].dedicated_percent = Some(10);
    quota.policies.push(RrmPolicyRatio {
        members: vec![other],
        min_percent: None,
        max_percent: Some(20),
        dedicated_percent: None,
    });
    quota
}

fn mapping() -> QosFlowMapping {
    QosFlowMapping {
        drb_id: 4,
        flows: vec![
            MappedFlow { qfi: 5, direction: Some(FlowDirection::Downlink) },
            MappedFlow { qfi: 63, direction: None },
        ],
    }
}

fn bearer() -> DrbQos {
    let rates = |max_bps| FlowRates { max_bps, guaranteed_bps: 1_000_000, max_loss_per_mille: None };
    DrbQos {
        drb_id: 32,
        five_qi: Some(255),
        packet_delay_budget: Some(1023),
        packet_error_rate: Some(PacketErrorRate { scalar: 1, exponent: 6 }),
        allocation_and_retention: Some(AllocationAndRetention {
            priority_level: 15,
            may_preempt: true,
            is_preemptable: false,
        }),
        priority_level: Some(127),
        guaranteed: Some(GuaranteedRates {
            downlink: FlowRates { max_loss_per_mille: Some(1000), ..rates(4_000_000_000_000) },
            uplink: rates(2_000_000),
        }),
        other: vec![element(22, RanParameterValue::ValueBoolean(true))],
    }
}

fn actions() -> Vec<ControlAction> {
    let eutra = EutraCgi { plmn_identity: NETWORK, eutra_cell_identity: Bits::new(0x0ABC_DEF0, 28) };
    let drx = Drx { long_cycle: 11, short_cycle: Some(15), short_cycle_timer: Some(2) };
    let release = OtherAction { id: ActionId::new(4, 4), parameters: Vec::new() };
    vec![
        ControlAction::SlicePrbQuota(quota()),
        ControlAction::Handover(Handover::to(nr_cell())),
        ControlAction::Handover(Handover::to(Cgi::EutraCgi(eutra))),
        ControlAction::Drx(drx),
        ControlAction::QosFlowMapping(mapping()),
        ControlAction::DrbQos(DrbQos::priority(1, 20)),
        ControlAction::DrbQos(bearer()),
        ControlAction::Other(release),
    ]
}

fn over_the_wire(control: &Control, revision: Revision) {
    let (header, message) = control.encode(revision).unwrap();
    assert_eq!(Control::decode(&header, &message, revision).unwrap(), *control, "{revision}");
}

#[test]
fn controls_round_trip_in_every_revision() {
    for revision in Revision::ALL {
        for action in actions() {
            over_the_wire(&Control::of_ue(ue(), action.clone()), revision);
            over_the_wire(&Control::of_ue(ue(), action).deciding(Decision::Reject), revision);
        }
        for target in [ControlTarget::Ue(ue()), ControlTarget::NoUe] {
            let actions = ControlActions::Several(actions());
            over_the_wire(&Control { target, decision: Some(Decision::Accept), actions }, revision);
        }
    }
}

#[test]
fn targets_of_later_revisions_round_trip() {
    let partial = PartialUeId { amf_ue_ngap_id: Some(AmfUeNgapId(9)), ..PartialUeId::default() };
    let definition = UeGroupDefinition {
        identifier_list: List::from(vec![UeGroupDefinitionIdentifierItem {
            ran_parameter_id: RanParameterId(1),
            value_type: RanParameterValueType::ElementTrue(RanParameterElementTrue {
                value: RanParameterValue::ValueInt(1),
            }),
            logical_or: None,
        }]),
    };
    let one = || ControlActions::One(ControlAction::Drx(Drx::long(40)));
    let group = Control { target: ControlTarget::Group(UeGroupId(3), definition), decision: None, actions: one() };
    let named = Control { target: ControlTarget::Partial(partial), decision: None, actions: one() };
    over_the_wire(&group, Revision::V3_00);
    over_the_wire(&group, Revision::V5_00);
    over_the_wire(&named, Revision::V5_00);
    assert!(matches!(group.encode(Revision::V1_03), Err(Error::Codec(_))));
    assert!(matches!(named.encode(Revision::V3_00), Err(Error::Codec(_))));
    // a group has no decision, and a single action has a target
    assert_eq!(group.deciding(Decision::Accept).encode(Revision::V3_00), Err(Error::FormatsDoNotFit));
    let no_ue = Control { target: ControlTarget::NoUe, decision: None, actions: one() };
    assert_eq!(no_ue.encode(Revision::V5_00), Err(Error::FormatsDoNotFit));
}

#[test]
fn formats_of_later_revisions_round_trip() {
    let id = ControlAction::DRX;
    let low = RanParameterTesting(List::from(vec![RanParameterTestingItem {
        ran_parameter_id: RanParameterId(1),
        ran_parameter_type: RanParameterTestingType::ElementTrue(RanParameterTestingElementTrue { value: number(1) }),
    }]));
    let filter = EntityFilter {
        entity_filter_id: EntityFilterId(1),
        entity_filter_definition: low,
        entity_specific_control_ran_p_list: List::from(vec![element(1, number(3))]),
    };
    let filtered =
        FilteredAction { id, filters: vec![filter], for_all: vec![element(1, number(9)), element(2, number(4))] };
    let drx = |long_cycle| ControlAction::Drx(Drx { long_cycle, short_cycle: Some(4), short_cycle_timer: None });
    assert_eq!(filtered.action(|_| true), Ok(drx(3)), "parameters of the filter take precedence");
    assert_eq!(filtered.action(|_| false), Ok(drx(9)));
    let nothing = FilteredAction { for_all: Vec::new(), ..filtered.clone() };
    assert!(matches!(nothing.action(|_| false), Err(Error::Parameter(_))));
    let of = |actions| Control { target: ControlTarget::Ue(ue()), decision: None, actions };
    for control in [of(ControlActions::Filtered(filtered)), of(ControlActions::Filtered(nothing))] {
        over_the_wire(&control, Revision::V3_00);
        over_the_wire(&control, Revision::V5_00);
        assert!(matches!(control.encode(Revision::V1_03), Err(Error::Codec(_))));
    }
    let query = of(ControlActions::Query(id, vec![RanParameterId(7), RanParameterId(9)]));
    over_the_wire(&query, Revision::V5_00);
    assert!(matches!(query.encode(Revision::V3_00), Err(Error::Codec(_))));

    // an empty message after a header
    let (header, _) = Control::answer(ue(), id, Decision::Accept).encode(Revision::V5_00).unwrap();
    let mut message = Vec::new();
    ControlMessage { formats: ControlMessageFormats::Format5 }.encode(Revision::V5_00, &mut message).unwrap();
    let answer = Control::decode(&header, &message, Revision::V5_00).unwrap();
    assert_eq!(answer, Control::answer(ue(), id, Decision::Accept));
    let (header, _) = of(ControlActions::One(drx(1))).encode(Revision::V5_00).unwrap();
    assert!(matches!(Control::decode(&header, &message, Revision::V5_00), Err(Error::Parameter(_))));
}

/// Definitions match the tables: IDs are unique and ascending.
#[test]
fn parameter_tables_are_consistent() {
    fn numbers(parameters: &[KnownParameter], all: &mut Vec<u32>) {
        for parameter in parameters {
            all.push(parameter.id.0);
            match parameter.shape {
                Shape::Structure(parts) => numbers(parts, all),
                Shape::List(item) => numbers(std::slice::from_ref(item), all),
                _ => assert_eq!(parameter.definition(), None, "{}", parameter.name),
            }
        }
    }
    for (action, count) in [((1, 1), 22), ((1, 2), 5), ((2, 1), 3), ((2, 6), 12), ((3, 1), 21)] {
        let mut all = Vec::new();
        let parameters = dictionary::control_parameters(action.0, action.1);
        numbers(parameters, &mut all);
        assert!(all.windows(2).all(|two| two[0] < two[1]), "{all:?}");
        assert_eq!(all.len(), count, "{action:?}");
        for parameter in parameters {
            let mut bytes = Vec::new();
            if let Some(definition) = parameter.definition() {
                per::encode(&definition, Revision::V1_03.wire(), &mut bytes).unwrap();
            }
        }
    }
    assert!(dictionary::control_parameters(4, 2).is_empty());
}

#[test]
fn header_and_message_of_different_controls_are_refused() {
    let revision = Revision::V3_00;
    let (one_header, one_message) = Control::of_ue(ue(), actions()[0].clone()).encode(revision).unwrap();
    let several = Control { target: ControlTarget::NoUe, decision: None, actions: ControlActions::Several(actions()) };
    let (header, message) = several.encode(revision).unwrap();
    assert_eq!(Control::decode(&one_header, &message, revision), Err(Error::FormatsDoNotFit));
    assert_eq!(Control::decode(&header, &one_message, revision), Err(Error::FormatsDoNotFit));
    assert!(matches!(Control::decode(&header, &[], revision), Err(Error::Codec(_))));
}

fn element(id: u32, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
    let element = RanParameterElementFalse { value: Some(value) };
    RanParameterItem { ran_parameter_id: RanParameterId(id), value_type: RanParameterValueType::ElementFalse(element) }
}

fn structure_of(items: Vec<RanParameterItem<'static>>) -> RanParameterStructure<'static> {
    RanParameterStructure { parameters: Some(List::from(items)) }
}

fn structure(id: u32, items: Vec<RanParameterItem<'static>>) -> RanParameterItem<'static> {
    let structure = RanParameterValueTypeStructure { structure: structure_of(items) };
    RanParameterItem { ran_parameter_id: RanParameterId(id), value_type: RanParameterValueType::Structure(structure) }
}

fn list(id: u32, items: Vec<RanParameterItem<'static>>) -> RanParameterItem<'static> {
    let list = RanParameterList { list: List::from(vec![structure_of(items)]) };
    RanParameterItem {
        ran_parameter_id: RanParameterId(id),
        value_type: RanParameterValueType::List(RanParameterValueTypeList { list }),
    }
}

fn octets(bytes: &'static [u8]) -> RanParameterValue<'static> {
    RanParameterValue::ValueOctS(Octets::from(bytes))
}

fn number(value: i64) -> RanParameterValue<'static> {
    RanParameterValue::ValueInt(value)
}

/// A quota with these parameter IDs: member list, member, PLMN, slice, SST, SD, min, max.
fn numbered(ids: [u32; 8], wrapped: bool) -> Vec<RanParameterItem<'static>> {
    let [members, member, network, slice, sst, sd, min, max] = ids;
    let slice = structure(slice, vec![element(sst, octets(&[1])), element(sd, octets(&[0, 0, 3]))]);
    let mut of_member = vec![element(network, octets(&[0x00, 0xF1, 0x10])), slice];
    if wrapped {
        of_member = vec![structure(member, of_member)];
    }
    let policy = structure(3, vec![list(members, of_member)]);
    let mut group = vec![policy, element(min, number(30)), element(max, number(50))];
    if wrapped {
        group = vec![structure(2, group)];
    }
    vec![list(1, group)]
}

/// xApps differ in the parameter IDs, and in whether list items have an additional structure.
#[test]
fn quotas_of_other_xapps_decode() {
    let mut expected = SlicePrbQuota::of_slice(NETWORK, SNssai { sst: Sst([1]), sd: Some(Sd([0, 0, 3])) }, 30, 50);
    expected.policies[0].dedicated_percent = None; // these xApps leave it out
    for (ids, of) in [([5, 6, 7, 8, 9, 10, 11, 12], "the specification"), ([4, 5, 6, 7, 8, 9, 10, 11], "FlexRIC")] {
        for wrapped in [false, true] {
            assert_eq!(SlicePrbQuota::from_parameters(&numbered(ids, wrapped)).unwrap(), expected, "{of} {wrapped}");
        }
    }
}

#[test]
fn errors_name_the_parameter() {
    let error = |items: &[RanParameterItem<'_>], id: ActionId| match ControlAction::from_parameters(id, items) {
        Err(Error::Parameter(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let quota_of = |min: i64, max: i64| {
        let mut items = numbered([5, 6, 7, 8, 9, 10, 11, 12], false);
        let RanParameterValueType::List(groups) = &items[0].value_type else { panic!("a list") };
        let mut group = groups.list.list[0].parameters.as_ref().unwrap().to_vec();
        group[1] = element(11, number(min));
        group[2] = element(12, number(max));
        items[0] = list(1, group);
        items
    };
    for (items, expected) in [
        (vec![], "RAN parameter 1 (RRM Policy Ratio List) is missing"),
        (vec![element(1, number(1))], "RAN parameter 1 (RRM Policy Ratio List) is not a list"),
        (vec![element(77, number(1)), list(1, vec![])], "RAN parameter 77 is not a parameter of this action"),
        (
            vec![list(1, vec![structure(3, vec![])])],
            "RAN parameter 5 (RRM Policy Member List) is missing, in RRM Policy",
        ),
        (quota_of(30, 101), "RAN parameter 12 (Max PRB Policy Ratio) is out of range, in RRM Policy Ratio Group"),
        (quota_of(51, 50), "RAN parameter 11 (Min PRB Policy Ratio) is out of range"),
    ] {
        assert_eq!(error(&items, ControlAction::SLICE_PRB_QUOTA), expected);
    }
    for (items, expected) in [
        (vec![element(2, number(1))], "RAN parameter 1 (Long DRX Cycle Length) is missing"),
        (vec![element(1, number(20))], "RAN parameter 1 (Long DRX Cycle Length) is out of range"),
        (vec![element(1, octets(&[1]))], "RAN parameter 1 (Long DRX Cycle Length) is not a whole number"),
        (vec![element(1, number(i64::MIN))], "RAN parameter 1 (Long DRX Cycle Length) is out of range"),
    ] {
        assert_eq!(error(&items, ControlAction::DRX), expected);
    }
    let target = |items| vec![structure(1, vec![structure(2, items)])];
    for (items, expected) in [
        (target(vec![]), "RAN parameter 3 (NR Cell) is missing"),
        (target(vec![structure(3, vec![])]), "RAN parameter 4 (NR CGI) is missing, in NR Cell"),
        (
            target(vec![structure(3, vec![element(4, octets(&[1, 2]))])]),
            "RAN parameter 4 (NR CGI) is out of range, in NR Cell",
        ),
    ] {
        assert_eq!(error(&items, ControlAction::HANDOVER), expected);
    }
    let session = structure(1, vec![structure(2, vec![structure(3, vec![element(4, octets(&[0; 9]))])])]);
    for (more, expected) in [
        (list(7, vec![]), "RAN parameter 9 (PDU session ID) is missing, in PDU session Item for handover"),
        (
            list(13, vec![element(15, number(33))]),
            "RAN parameter 15 (DRB ID) is out of range, in DRB item for handover",
        ),
        (element(19, number(1)), "RAN parameter 19 (List of Secondary cells to be setup) is not a list"),
        (session.clone(), "RAN parameter 1 (Target Primary Cell ID) occurs twice"),
        (element(99, number(1)), "RAN parameter 99 is not a parameter of this action"),
    ] {
        assert_eq!(error(&[session.clone(), more], ControlAction::HANDOVER), expected);
    }
    let drb = element(1, number(33));
    assert_eq!(error(&[drb], ControlAction::QOS_FLOW_MAPPING), "RAN parameter 1 (DRB ID) is out of range");
    let qos = |more| error(&[element(1, number(1)), more], ControlAction::DRB_QOS);
    for (more, expected) in [
        (structure(4, vec![element(5, number(1))]), "RAN parameter 6 (Exponent) is missing, in Packet Error Rate"),
        (element(11, number(0)), "RAN parameter 11 (Priority Level of Mapped QoS Flows) is out of range"),
        (element(22, octets(&[1])), "RAN parameter 22 (Reflective QoS Mapping) is not a truth value"),
        (element(4, number(1)), "RAN parameter 4 (Packet Error Rate) is not a structure"),
        (element(9, number(1)), "RAN parameter 9 is not a parameter of this action"),
    ] {
        assert_eq!(qos(more), expected);
    }
}

/// An NR CGI is the IE of TS 38.413 or its contents; other parameters of a handover are preserved.
#[test]
fn handovers_of_other_xapps_decode() {
    let plain = octets(&[0x00, 0xF1, 0x10, 0x01, 0x23, 0x45, 0x67, 0x80]);
    let cell = structure(3, vec![element(4, plain)]);
    let sessions = list(7, vec![element(9, number(1))]);
    for target in [structure(1, vec![structure(2, vec![cell.clone()])]), structure(1, vec![cell])] {
        let handover = Handover::from_parameters(&[target, sessions.clone()]).unwrap();
        assert_eq!(handover.target, nr_cell());
        assert_eq!(handover.other, std::slice::from_ref(&sessions));
    }
}

#[test]
fn drx_cycle_is_rounded_down() {
    for (asked, got) in [(0, 10), (10, 10), (319, 256), (320, 320), (65_535, 10_240)] {
        assert_eq!(Drx::long(asked).long_cycle_ms(), Some(got), "{asked}");
    }
    let drx = Drx { long_cycle: 20, short_cycle: Some(22), short_cycle_timer: None };
    assert_eq!((drx.long_cycle_ms(), drx.short_cycle_ms()), (None, Some(640)));
}

#[test]
fn plans_encode_in_every_revision() {
    let message = RrcMessageId { rrc_type: RrcType::Nr(RrcClassNr::UlDcch), message_id: 0 };
    let low = RanParameterTesting(List::from(vec![RanParameterTestingItem {
        ran_parameter_id: RanParameterId(1),
        ran_parameter_type: RanParameterTestingType::ElementFalse(RanParameterTestingElementFalse {
            test_condition: RanParameterTestingCondition::Comparison(Comparison::LessThan),
            value: Some(number(-110)),
            logical_or: None,
        }),
    }]));
    let rules = [
        Rule {
            condition: Some(low),
            action: ControlAction::Handover(Handover::to(nr_cell())),
            decision: Some(Decision::Accept),
        },
        Rule {
            condition: None,
            action: ControlAction::Other(OtherAction { id: ActionId::new(3, 1), parameters: Vec::new() }),
            decision: Some(Decision::Reject),
        },
    ];
    for revision in Revision::ALL {
        for (plan, style) in [
            (Plan::report_rrc_messages(&[message]), 1),
            (Plan::report_call_process(HANDOVER_PREPARATION, &[dictionary::call_process_outcome::CURRENT_UE_ID]), 2),
            (Plan::report_node_changes(&[E2NodeInfoChangeId(1)], &[RanParameterId(3)]), 3),
            (Plan::report_rrc_states(&[RrcState::Any]), 4),
            (Plan::insert_handover(Some(ue())), 3),
            (Plan::policy(HANDOVER_PREPARATION, 3, &rules), 3),
        ] {
            let (trigger, action) = plan.encode(revision).unwrap();
            assert_eq!(EventTrigger::decode_owned(&trigger, revision).unwrap(), plan.trigger);
            let read = ActionDefinition::decode_owned(&action, revision).unwrap();
            assert_eq!((read.ric_style_type, &read), (RicStyleType(style), &plan.action));
        }
        let on_demand = Plan::report_on_demand(&[RanParameterId(1)]).encode(revision);
        assert_eq!(on_demand.is_ok(), revision == Revision::V1_03);
        assert!(Plan::report_rrc_states(&[]).encode(revision).is_err(), "no states");
    }
}

#[test]
fn indications_of_plans_decode() {
    let revision = Revision::V3_00;
    let header = IndicationHeader {
        formats: IndicationHeaderFormats::Format2(IndicationHeaderFormat2 {
            ue_id: ue(),
            ric_insert_style_type: RicStyleType(3),
            ric_insert_indication_id: RicInsertIndicationId(1),
        }),
    };
    let handover = Handover::to(nr_cell());
    let requested_list = List::from(handover.to_parameters());
    let message =
        IndicationMessage { formats: IndicationMessageFormats::Format5(IndicationMessageFormat5 { requested_list }) };
    let (mut header_octets, mut message_octets) = (Vec::new(), Vec::new());
    header.encode(revision, &mut header_octets).unwrap();
    message.encode(revision, &mut message_octets).unwrap();
    let request = HandoverRequest::decode(&header_octets, &message_octets, revision).unwrap();
    assert_eq!(request, Some(HandoverRequest { ue_id: ue(), handover }));

    let report = |value| IndicationMessage {
        formats: IndicationMessageFormats::Format2(IndicationMessageFormat2 {
            ue_parameter_list: List::from(vec![IndicationMessageFormat2Item {
                ue_id: ue(),
                ran_p_list: List::from(vec![element(202, value)]),
            }]),
        }),
    };
    assert_eq!(rrc_states(&report(number(2))).unwrap(), [(ue(), RrcState::RrcIdle)]);
    assert!(matches!(rrc_states(&report(number(3))), Err(Error::Parameter(_))));
    assert_eq!(rrc_states(&message).unwrap(), []);
    let mut report_octets = Vec::new();
    report(number(0)).encode(revision, &mut report_octets).unwrap();
    assert_eq!(HandoverRequest::decode(&header_octets, &report_octets, revision).unwrap(), None);
}
