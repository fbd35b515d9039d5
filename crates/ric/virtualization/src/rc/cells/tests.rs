use e2sm::common::{
    Cgi, EutraArfcn, EutraCgi, EutraPci, EutraTac, FiveGsTac, NrArfcn, NrCgi, NrFrequencyInfo, NrPci, PlmnIdentity,
    ServingCellArfcn, ServingCellPci, True, UeId,
};
use e2sm::rc::{
    ActionId, Comparison, EntityFilter, EntityFilterId, EventTriggerCellIndividual, EventTriggerCellInfoItem,
    EventTriggerFormat1, EventTriggerFormat1Item, EventTriggerFormat2, EventTriggerFormat3, EventTriggerFormat3Item,
    EventTriggerFormat4, EventTriggerFormat4Item, EventTriggerFormat5, EventTriggerGroup, EventTriggerUeIndividual,
    EventTriggerUeInfoItem, FilteredAction, Flag, Handover, IndicationMessageFormat1, IndicationMessageFormat2,
    IndicationMessageFormat2Item, IndicationMessageFormat3, IndicationMessageFormat3Item, IndicationMessageFormat4,
    IndicationMessageFormat4ItemCell, IndicationMessageFormat4ItemUe, IndicationMessageFormat5,
    IndicationMessageFormat6, IndicationMessageFormat6IndicationItem, IndicationMessageFormat6StyleItem,
    MessageTypeChoice, MessageTypeRrc, NeighborCellEutra, NeighborCellNr, NrModeInfo, RanParameterElementFalse,
    RanParameterList, RanParameterStructure, RanParameterTestingCondition, RanParameterTestingElementFalse,
    RanParameterTestingElementTrue, RanParameterTestingStructure, RanParameterValueTypeList,
    RanParameterValueTypeStructure, RicCallProcessBreakpointId, RicCallProcessTypeId, RicEventTriggerCellId,
    RicEventTriggerConditionId, RicEventTriggerUeId, RicInsertIndicationId, TriggerTypeL2State, TriggerTypeUeContext,
};
use per::Bits;

use super::*;
use crate::testing::{A, B, station, ue_id};

/// Of a network that is neither the tenant's nor the base station's.
const OTHER: PlmnIdentity = PlmnIdentity::from_codes(9, 9, 3);

fn cell(plmn: PlmnIdentity) -> Cgi {
    Cgi::NrCgi(NrCgi::new(plmn, 7))
}

fn encoded(value: &impl per::Encode) -> Vec<u8> {
    let mut out = Vec::new();
    per::encode(value, 0, &mut out).unwrap();
    out
}

fn octets(value: &impl per::Encode) -> RanParameterValue<'static> {
    RanParameterValue::ValueOctS(Octets::from(encoded(value)))
}

fn element(id: u32, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
    let value_type = RanParameterValueType::ElementFalse(RanParameterElementFalse { value: Some(value) });
    RanParameterItem { ran_parameter_id: RanParameterId(id), value_type }
}

/// A handover with a secondary cell.
fn handover(plmn: PlmnIdentity) -> Handover {
    let structure = |items: Vec<_>| RanParameterStructure { parameters: Some(items.into()) };
    let secondary = element(21, octets(&NrCgi::new(plmn, 9)));
    let inner = RanParameterItem {
        ran_parameter_id: RanParameterId(20),
        value_type: RanParameterValueType::Structure(RanParameterValueTypeStructure {
            structure: structure(vec![secondary]),
        }),
    };
    let list = RanParameterList { list: vec![structure(vec![inner])].into() };
    let secondary_cells = RanParameterItem {
        ran_parameter_id: RanParameterId(19),
        value_type: RanParameterValueType::List(RanParameterValueTypeList { list }),
    };
    Handover { target: cell(plmn), other: vec![secondary_cells] }
}

/// The directions to the tenant and to the base station, with the PLMNs before and after.
fn directions() -> [(CellPlmn, PlmnIdentity, PlmnIdentity); 2] {
    let node = station();
    [(CellPlmn::to_tenant(&node, 1), A, B), (CellPlmn::to_station(&node, 1), B, A)]
}

/// Checks that `change` changes the cells of a message in both directions, and none of another network.
fn check<T: PartialEq + std::fmt::Debug>(
    message: impl Fn(PlmnIdentity) -> T,
    change: impl Fn(CellPlmn, &mut T) -> bool,
) {
    for (plmn, before, after) in directions() {
        for (of, expected) in [(before, after), (OTHER, OTHER), (after, after)] {
            let mut changed = message(of);
            let is_changed = change(plmn, &mut changed);
            assert_eq!((is_changed, changed), (of == before, message(expected)));
        }
    }
}

fn test_of(plmn: PlmnIdentity) -> RanParameterTesting<'static> {
    let id = OF_UE[0];
    let compared = RanParameterTestingElementFalse {
        test_condition: RanParameterTestingCondition::Comparison(Comparison::Equal),
        value: Some(octets(&cell(plmn))),
        logical_or: None,
    };
    let item = |id, ran_parameter_type| RanParameterTestingItem { ran_parameter_id: id, ran_parameter_type };
    let key = RanParameterTestingElementTrue { value: octets(&cell(plmn)) };
    let inner = vec![item(id, RanParameterTestingType::ElementTrue(key))].into();
    let structure = RanParameterTestingStructure { structure: inner };
    RanParameterTesting(
        vec![
            item(id, RanParameterTestingType::ElementFalse(compared)),
            item(RanParameterId(1), RanParameterTestingType::Structure(structure)),
        ]
        .into(),
    )
}

fn ues(plmn: PlmnIdentity) -> EventTriggerUeInfo<'static> {
    let item = |number: u16, ue_type| EventTriggerUeInfoItem {
        event_trigger_ue_id: RicEventTriggerUeId(number),
        ue_type,
        logical_or: None,
    };
    let group = EventTriggerGroup { ran_parameter_testing: test_of(plmn) };
    let one = EventTriggerUeIndividual { ue_id: ue_id(1), ran_parameter_testing: Some(test_of(plmn)) };
    EventTriggerUeInfo {
        ue_info_list: vec![item(1, EventTriggerUeType::Group(group)), item(2, EventTriggerUeType::Individual(one))]
            .into(),
    }
}

fn cells_of(plmn: PlmnIdentity) -> EventTriggerCellInfo<'static> {
    let item = EventTriggerCellInfoItem {
        event_trigger_cell_id: RicEventTriggerCellId(1),
        cell_type: EventTriggerCellType::Individual(EventTriggerCellIndividual { cell_global_id: cell(plmn) }),
        logical_or: None,
    };
    EventTriggerCellInfo { cell_info_list: vec![item].into() }
}

#[test]
fn cells_of_each_format_of_event_triggers_are_changed() {
    let condition = RicEventTriggerConditionId(1);
    let message = move |plmn| EventTriggerFormat1Item {
        ric_event_trigger_condition_id: condition,
        message_type: MessageTypeChoice::Rrc(MessageTypeRrc {
            rrc_message: e2sm::common::RrcMessageId {
                rrc_type: e2sm::common::RrcType::Nr(e2sm::common::RrcClassNr::UlDcch),
                message_id: 0,
            },
        }),
        message_direction: None,
        associated_ue_info: Some(ues(plmn)),
        associated_ue_event: None,
        logical_or: None,
    };
    let of_change = move |plmn, trigger_type| EventTriggerFormat4Item {
        ric_event_trigger_condition_id: condition,
        trigger_type,
        associated_ue_info: Some(ues(plmn)),
        logical_or: None,
    };
    let format1 = |plmn| {
        EventTriggerFormats::Format1(EventTriggerFormat1 {
            message_list: vec![message(plmn)].into(),
            global_associated_ue_info: Some(ues(plmn)),
        })
    };
    let format2 = |plmn| {
        EventTriggerFormats::Format2(EventTriggerFormat2 {
            ric_call_process_type_id: RicCallProcessTypeId(3),
            ric_call_process_breakpoint_id: RicCallProcessBreakpointId(1),
            associated_e2_node_info: Some(test_of(plmn)),
            associated_ue_info: Some(ues(plmn)),
        })
    };
    let format3 = |plmn| {
        let item = EventTriggerFormat3Item {
            ric_event_trigger_condition_id: condition,
            e2_node_info_change_id: dictionary::node_change::CELL_CONFIGURATION,
            associated_cell_info: Some(cells_of(plmn)),
            logical_or: None,
        };
        EventTriggerFormats::Format3(EventTriggerFormat3 { e2_node_info_change_list: vec![item].into() })
    };
    let format4 = |plmn| {
        let l2 = TriggerTypeL2State { associated_l2_variables: test_of(plmn) };
        let context = TriggerTypeUeContext { associated_ue_ctxt_variables: test_of(plmn) };
        let changes = [TriggerTypeChoice::L2State(l2), TriggerTypeChoice::UeContext(context)];
        let list = changes.map(|change| of_change(plmn, change)).to_vec();
        EventTriggerFormats::Format4(EventTriggerFormat4 { ue_info_change_list: list.into() })
    };
    let format5 = |plmn| {
        EventTriggerFormats::Format5(EventTriggerFormat5 {
            on_demand: True,
            associated_ue_info: Some(ues(plmn)),
            associated_cell_info: Some(cells_of(plmn)),
        })
    };
    let formats: [&dyn Fn(PlmnIdentity) -> EventTriggerFormats<'static>; 5] =
        [&format1, &format2, &format3, &format4, &format5];
    for formats in formats {
        check(|plmn| EventTrigger { formats: formats(plmn) }, event_trigger);
    }
}

fn neighbours_of(plmn: PlmnIdentity) -> NeighborRelationInfo<'static> {
    let nr_arfcn = NrArfcn { nr_arfcn: 640_000 };
    let nr = NeighborCellNr {
        nr_cgi: NrCgi::new(plmn, 8),
        nr_pci: NrPci(1),
        five_gs_tac: FiveGsTac([0, 0, 1]),
        nr_mode_info: NrModeInfo::Tdd,
        nr_freq_info: NrFrequencyInfo { nr_arfcn, frequency_band_list: List::default(), frequency_shift_7p5khz: None },
        x2_xn_established: Flag::True,
        ho_validated: Flag::True,
        version: 1,
    };
    let eutra = NeighborCellEutra {
        eutra_cgi: EutraCgi { plmn_identity: plmn, eutra_cell_identity: Bits::new(7, 28) },
        eutra_pci: EutraPci(1),
        eutra_arfcn: EutraArfcn(1),
        eutra_tac: EutraTac([0, 1]),
        x2_xn_established: Flag::True,
        ho_validated: Flag::True,
        version: 1,
    };
    NeighborRelationInfo {
        serving_cell_pci: ServingCellPci::Nr(NrPci(2)),
        serving_cell_arfcn: ServingCellArfcn::Nr(nr_arfcn),
        neighbor_cell_list: vec![NeighborCellItem::Nr(nr), NeighborCellItem::Eutra(eutra)].into(),
    }
}

fn ue() -> UeId<'static> {
    ue_id(3)
}

/// Report styles 1 to 5.
#[test]
fn cells_of_each_format_of_reports_are_changed() {
    let format1 = |plmn| {
        let parameters = vec![element(3, octets(&cell(A))), element(6, octets(&cell(plmn)))];
        IndicationMessageFormats::Format1(IndicationMessageFormat1 { reported_list: parameters.into() })
    };
    let format2 = |plmn| {
        let parameters = vec![element(102, RanParameterValue::ValueInt(1)), element(400, octets(&cell(plmn)))];
        let item = IndicationMessageFormat2Item { ue_id: ue(), ran_p_list: parameters.into() };
        IndicationMessageFormats::Format2(IndicationMessageFormat2 { ue_parameter_list: vec![item].into() })
    };
    let format3 = |plmn| {
        let item = IndicationMessageFormat3Item {
            cell_global_id: cell(plmn),
            cell_context_info: None,
            cell_deleted: Some(false),
            neighbor_relation_table: Some(neighbours_of(plmn)),
        };
        IndicationMessageFormats::Format3(IndicationMessageFormat3 { cell_info_list: vec![item].into() })
    };
    let format4 = |plmn| {
        let of_ue = IndicationMessageFormat4ItemUe { ue_id: ue(), ue_context_info: None, cell_global_id: cell(plmn) };
        let of_cell = IndicationMessageFormat4ItemCell {
            cell_global_id: cell(plmn),
            cell_context_info: None,
            neighbor_relation_table: Some(neighbours_of(plmn)),
        };
        IndicationMessageFormats::Format4(IndicationMessageFormat4 {
            ue_info_list: vec![of_ue].into(),
            cell_info_list: vec![of_cell].into(),
        })
    };
    let formats: [&dyn Fn(PlmnIdentity) -> IndicationMessageFormats<'static>; 4] =
        [&format1, &format2, &format3, &format4];
    for formats in formats {
        check(|plmn| IndicationMessage { formats: formats(plmn) }, |plmn, of| indication(plmn, None, of));
    }
}

#[test]
fn target_cells_of_requested_handovers_are_changed() {
    let (handovers, bearers) = (HANDOVER_STYLE, RicStyleType(1));
    let one = |plmn| {
        let requested_list = handover(plmn).to_parameters().into();
        IndicationMessage { formats: IndicationMessageFormats::Format5(IndicationMessageFormat5 { requested_list }) }
    };
    check(one, |plmn, of| indication(plmn, Some(handovers), of));
    // parameters of other styles have other meanings
    for (plmn, before, _) in directions() {
        let mut of_bearers = one(before);
        assert!(!indication(plmn, Some(bearers), &mut of_bearers));
        assert_eq!(of_bearers, one(before));
    }
    let several = |of_handovers, of_bearers| {
        let style = |style, plmn| IndicationMessageFormat6StyleItem {
            indicated_insert_style_type: style,
            insert_indication_list: vec![IndicationMessageFormat6IndicationItem {
                ric_insert_indication_id: RicInsertIndicationId(1),
                insert_indication_list: handover(plmn).to_parameters().into(),
            }]
            .into(),
        };
        let insert_style_list = vec![style(bearers, of_bearers), style(handovers, of_handovers)].into();
        IndicationMessage { formats: IndicationMessageFormats::Format6(IndicationMessageFormat6 { insert_style_list }) }
    };
    check(|plmn| several(plmn, A), |plmn, of| indication(plmn, None, of));
}

#[test]
fn cells_of_each_kind_of_control_are_changed() {
    let conditional =
        |plmn| ControlAction::ConditionalHandover(ConditionalHandover::Prepare { target: cell(plmn), condition: None });
    let one = |plmn| ControlActions::One(ControlAction::Handover(handover(plmn)));
    let prepared = |plmn| ControlActions::One(conditional(plmn));
    let several = |plmn| {
        let actions = vec![ControlAction::Handover(handover(plmn)), conditional(plmn)];
        ControlActions::Several(actions)
    };
    let filtered = |plmn| {
        let filter = EntityFilter {
            entity_filter_id: EntityFilterId(1),
            entity_filter_definition: test_of(plmn),
            entity_specific_control_ran_p_list: handover(plmn).to_parameters().into(),
        };
        let for_all = handover(plmn).to_parameters();
        ControlActions::Filtered(FilteredAction { id: ControlAction::HANDOVER, filters: vec![filter], for_all })
    };
    let other = |plmn| {
        // handover with another protocol
        let parameters = handover(plmn).to_parameters();
        ControlActions::One(e2sm::rc::OtherAction { id: ActionId::new(3, 3), parameters }.into())
    };
    let actions: [&dyn Fn(PlmnIdentity) -> ControlActions; 5] = [&one, &prepared, &several, &filtered, &other];
    for actions in actions {
        let control_of = |plmn| {
            let mut control = Control::of_ue(ue(), ControlAction::Handover(handover(A)));
            control.actions = actions(plmn);
            control
        };
        check(control_of, control);
    }
}
