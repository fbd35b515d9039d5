//! The cells in messages of E2SM-RC.
//!
//! Cells are fields of event triggers and reports, and values of some RAN parameters: those in the tables here. Copies of messages and
//! contexts of cells and UEs, which are encodings of other protocols, stay as they are; so do policies and queries, which tenants do
//! not have, and the RAN function definition, which names no cells. The functions return whether something has changed.

use e2sm::common::RicStyleType;
use e2sm::rc::{
    ConditionalHandover, Control, ControlAction, ControlActions, EventTrigger, EventTriggerCellInfo,
    EventTriggerCellType, EventTriggerFormats, EventTriggerUeInfo, EventTriggerUeType, IndicationMessage,
    IndicationMessageFormats, NeighborCellItem, NeighborRelationInfo, RanParameterId, RanParameterItem,
    RanParameterTesting, RanParameterTestingItem, RanParameterTestingType, RanParameterValue, RanParameterValueType,
    TriggerTypeChoice, dictionary,
};
use per::{List, Octets};

use crate::cells::{CellPlmn, each};

/// The cell in a copy of a message and in the outcome of a procedure (RC 8.2.1, 8.2.2).
const OF_MESSAGE: &[RanParameterId] =
    &[dictionary::message_copy::CELL_GLOBAL_ID, dictionary::call_process_outcome::CELL_GLOBAL_ID];
/// The cell of a UE (RC 8.2.4).
const OF_UE: &[RanParameterId] = &[dictionary::ue_information::CELL_GLOBAL_ID];
/// The target cell by NR CGI and by E-UTRA CGI, and the secondary cells of a handover, requested or ordered (RC 8.3.4, 8.4.4).
const OF_HANDOVER: &[RanParameterId] = &[RanParameterId(4), RanParameterId(6), RanParameterId(21)];
/// The style of handovers, of controls and inserts.
const HANDOVER_STYLE: RicStyleType = ControlAction::HANDOVER.style;

/// The parameters of an action or insert that are cells.
fn of_style(style: RicStyleType) -> &'static [RanParameterId] {
    if style == HANDOVER_STYLE { OF_HANDOVER } else { &[] }
}

fn value(plmn: CellPlmn, value: &mut RanParameterValue<'_>) -> bool {
    let RanParameterValue::ValueOctS(octets) = value else { return false };
    let changed = plmn.octets(&octets.to_cow());
    let is_changed = changed.is_some();
    if let Some(changed) = changed {
        *value = RanParameterValue::ValueOctS(Octets::from(changed));
    }
    is_changed
}

/// The parameters with these ids, also in structures and lists.
fn item(plmn: CellPlmn, ids: &[RanParameterId], of: &mut RanParameterItem<'_>) -> bool {
    let is_cell = ids.contains(&of.ran_parameter_id);
    match &mut of.value_type {
        RanParameterValueType::ElementTrue(element) => is_cell && value(plmn, &mut element.value),
        RanParameterValueType::ElementFalse(element) => {
            is_cell && element.value.as_mut().is_some_and(|of| value(plmn, of))
        }
        RanParameterValueType::Structure(of) => {
            of.structure.parameters.as_mut().is_some_and(|all| items(plmn, ids, all))
        }
        RanParameterValueType::List(of) => {
            each(&mut of.list.list, |structure| structure.parameters.as_mut().is_some_and(|all| items(plmn, ids, all)))
        }
    }
}

fn items(plmn: CellPlmn, ids: &[RanParameterId], all: &mut List<'_, RanParameterItem<'_>>) -> bool {
    !ids.is_empty() && each(all, |of| item(plmn, ids, of))
}

/// The values that conditions compare the cell of a UE with.
fn testing(plmn: CellPlmn, of: &mut RanParameterTesting<'_>) -> bool {
    fn tests(plmn: CellPlmn, all: &mut List<'_, RanParameterTestingItem<'_>>) -> bool {
        each(all, |test| {
            let is_cell = OF_UE.contains(&test.ran_parameter_id);
            match &mut test.ran_parameter_type {
                RanParameterTestingType::ElementTrue(element) => is_cell && value(plmn, &mut element.value),
                RanParameterTestingType::ElementFalse(element) => {
                    is_cell && element.value.as_mut().is_some_and(|of| value(plmn, of))
                }
                RanParameterTestingType::Structure(of) => tests(plmn, &mut of.structure),
                RanParameterTestingType::List(of) => tests(plmn, &mut of.list),
            }
        })
    }
    tests(plmn, &mut of.0)
}

/// The cells of an event trigger.
pub(super) fn event_trigger(plmn: CellPlmn, trigger: &mut EventTrigger<'_>) -> bool {
    let optional_ues = |ues: &mut Option<EventTriggerUeInfo<'_>>| {
        let ue = |ues: &mut EventTriggerUeInfo<'_>| {
            each(&mut ues.ue_info_list, |item| match &mut item.ue_type {
                EventTriggerUeType::Individual(ue) => {
                    ue.ran_parameter_testing.as_mut().is_some_and(|of| testing(plmn, of))
                }
                EventTriggerUeType::Group(group) => testing(plmn, &mut group.ran_parameter_testing),
            })
        };
        ues.as_mut().is_some_and(ue)
    };
    let optional_cells = |cells: &mut Option<EventTriggerCellInfo<'_>>| {
        let cell = |cells: &mut EventTriggerCellInfo<'_>| {
            each(&mut cells.cell_info_list, |item| match &mut item.cell_type {
                EventTriggerCellType::Individual(cell) => plmn.cell(&mut cell.cell_global_id),
                EventTriggerCellType::Group(group) => testing(plmn, &mut group.ran_parameter_testing),
            })
        };
        cells.as_mut().is_some_and(cell)
    };
    match &mut trigger.formats {
        EventTriggerFormats::Format1(format) => {
            each(&mut format.message_list, |item| optional_ues(&mut item.associated_ue_info))
                | optional_ues(&mut format.global_associated_ue_info)
        }
        EventTriggerFormats::Format2(format) => {
            format.associated_e2_node_info.as_mut().is_some_and(|of| testing(plmn, of))
                | optional_ues(&mut format.associated_ue_info)
        }
        EventTriggerFormats::Format3(format) => {
            each(&mut format.e2_node_info_change_list, |item| optional_cells(&mut item.associated_cell_info))
        }
        EventTriggerFormats::Format4(format) => each(&mut format.ue_info_change_list, |item| {
            let of_change = match &mut item.trigger_type {
                TriggerTypeChoice::L2State(of) => testing(plmn, &mut of.associated_l2_variables),
                TriggerTypeChoice::UeContext(of) => testing(plmn, &mut of.associated_ue_ctxt_variables),
                _ => false,
            };
            of_change | optional_ues(&mut item.associated_ue_info)
        }),
        EventTriggerFormats::Format5(format) => {
            optional_ues(&mut format.associated_ue_info) | optional_cells(&mut format.associated_cell_info)
        }
        EventTriggerFormats::Unused5 => false,
    }
}

/// A cell's neighbours; those of other networks have other PLMNs.
fn neighbours(plmn: CellPlmn, table: &mut Option<NeighborRelationInfo<'_>>) -> bool {
    table.as_mut().is_some_and(|table| {
        each(&mut table.neighbor_cell_list, |neighbour| match neighbour {
            NeighborCellItem::Nr(cell) => plmn.plmn(&mut cell.nr_cgi.plmn_identity),
            NeighborCellItem::Eutra(cell) => plmn.plmn(&mut cell.eutra_cgi.plmn_identity),
        })
    })
}

/// The cells of a report, or of an insert with one indication of a style.
pub(super) fn indication(
    plmn: CellPlmn,
    insert_style: Option<RicStyleType>,
    message: &mut IndicationMessage<'_>,
) -> bool {
    match &mut message.formats {
        IndicationMessageFormats::Format1(format) => items(plmn, OF_MESSAGE, &mut format.reported_list),
        IndicationMessageFormats::Format2(format) => {
            each(&mut format.ue_parameter_list, |ue| items(plmn, OF_UE, &mut ue.ran_p_list))
        }
        IndicationMessageFormats::Format3(format) => each(&mut format.cell_info_list, |cell| {
            plmn.cell(&mut cell.cell_global_id) | neighbours(plmn, &mut cell.neighbor_relation_table)
        }),
        IndicationMessageFormats::Format4(format) => {
            each(&mut format.ue_info_list, |ue| plmn.cell(&mut ue.cell_global_id))
                | each(&mut format.cell_info_list, |cell| {
                    plmn.cell(&mut cell.cell_global_id) | neighbours(plmn, &mut cell.neighbor_relation_table)
                })
        }
        IndicationMessageFormats::Format5(format) => {
            insert_style.is_some_and(|style| items(plmn, of_style(style), &mut format.requested_list))
        }
        IndicationMessageFormats::Format6(format) => each(&mut format.insert_style_list, |of| {
            let ids = of_style(of.indicated_insert_style_type);
            each(&mut of.insert_indication_list, |of| items(plmn, ids, &mut of.insert_indication_list))
        }),
        IndicationMessageFormats::Unused4 => false,
    }
}

/// The cells of a control: targets of handovers, secondary cells, and conditions on UEs.
pub(super) fn control(plmn: CellPlmn, control: &mut Control) -> bool {
    let of_action = |action: &mut ControlAction| match action {
        ControlAction::Handover(handover) => {
            let other = handover.other.iter_mut().fold(false, |any, of| item(plmn, OF_HANDOVER, of) | any);
            plmn.cell(&mut handover.target) | other
        }
        ControlAction::ConditionalHandover(ConditionalHandover::Prepare { target, .. }) => plmn.cell(target),
        ControlAction::Other(other) => {
            let ids = of_style(other.id.style);
            other.parameters.iter_mut().fold(false, |any, of| item(plmn, ids, of) | any)
        }
        _ => false,
    };
    match &mut control.actions {
        ControlActions::One(action) => of_action(action),
        ControlActions::Several(actions) => actions.iter_mut().fold(false, |any, action| of_action(action) | any),
        ControlActions::Filtered(filtered) => {
            let ids = of_style(filtered.id.style);
            let mut any = filtered.for_all.iter_mut().fold(false, |any, of| item(plmn, ids, of) | any);
            for filter in &mut filtered.filters {
                any |= testing(plmn, &mut filter.entity_filter_definition);
                any |= items(plmn, ids, &mut filter.entity_specific_control_ran_p_list);
            }
            any
        }
        ControlActions::Query(..) => false,
    }
}

#[cfg(test)]
mod tests;
