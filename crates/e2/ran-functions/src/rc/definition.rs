//! The RAN function definition, which describes what the base station supports.

use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::rc::dictionary::{
    self, CONTROL_STYLES, EVENT_TRIGGER_STYLES, INSERT_STYLES, MULTIPLE_ACTIONS, QUERY_STYLES, REPORT_STYLES, Style,
};
use e2sm::rc::{
    ActionId, AdditionalSupportedFormat, ControlActionItem, ControlActionParameterItem, ControlStyleItem,
    EventTriggerBreakpointItem, EventTriggerCallProcessItem, EventTriggerStyleItem, Flag, InsertIndicationItem,
    InsertStyleItem, KnownParameter, OID, OfferedRanParameter, PolicyActionItem, PolicyStyleItem, QueryStyleItem,
    RanFunctionDefinition, RanFunctionDefinitionControl, RanFunctionDefinitionEventTrigger,
    RanFunctionDefinitionInsert, RanFunctionDefinitionPolicy, RanFunctionDefinitionQuery, RanFunctionDefinitionReport,
    RanParameterDefinitionItem, RanParameterId, RanParameterName, ReportStyleItem, Revision,
    RicCallProcessBreakpointId, RicCallProcessBreakpointName, RicCallProcessTypeId, RicCallProcessTypeName,
    RicControlActionName, RicInsertIndicationId, RicInsertIndicationName, Shape,
};
use ferric::e2::Function;
use ferric::e2ap::RanFunctionRevision;
use per::{List, PrintableString};

use super::control::REFUSAL_REASON;
use super::{EventKind, RcConfig, RcSource};

/// The RAN function item of E2 Setup.
///
/// # Panics
/// If the definition cannot be encoded: a name has an invalid length, or the encoding is not compiled in.
pub(super) fn function<S: RcSource>(source: &S, config: &RcConfig) -> Function {
    let mut bytes = Vec::new();
    if let Err(error) = definition(source, config).encode_in(config.revision, config.wire, &mut bytes) {
        panic!("cannot encode the RAN function definition: {error}");
    }
    // common practice: the function revision follows that of the specification, see `e2sm::rc::Detection`
    let revision = match config.revision {
        Revision::V1_03 => 1,
        Revision::V3_00 => 3,
        Revision::V5_00 => 5,
    };
    Function {
        id: config.function_id,
        revision: RanFunctionRevision(config.announcement.revision(revision)),
        oid: config.announcement.oid(config.wire.oid(OID)),
        definition: bytes,
    }
}

fn text(text: &str) -> PrintableString<'_> {
    PrintableString::literal(text)
}

fn style_name(styles: &[Style], number: i64) -> RicStyleName<'static> {
    let known = styles.iter().find(|style| style.number == number);
    RicStyleName(text(known.map_or("Vendor specific", |style| style.name)))
}

/// A list, or `None` if it is empty.
fn non_empty<'a, T>(items: Vec<T>) -> Option<List<'a, T>> {
    (!items.is_empty()).then(|| List::from(items))
}

fn parameter_item((id, name): (RanParameterId, &str)) -> OfferedRanParameter<'_> {
    OfferedRanParameter {
        ran_parameter_id: id,
        ran_parameter_name: RanParameterName(text(name)),
        ran_parameter_definition: None,
    }
}

/// The distinct styles of actions, in ascending order.
fn styles_of(actions: &[ActionId]) -> Vec<RicStyleType> {
    let mut styles: Vec<_> = actions.iter().map(|id| id.style).collect();
    styles.sort_unstable();
    styles.dedup();
    styles
}

/// The supported report styles.
pub(super) fn report_styles<S: RcSource>(source: &S, config: &RcConfig) -> Vec<i64> {
    let has = |kind| source.event_kinds().contains(&kind);
    let styles = [
        (1, has(EventKind::NiMessages) || has(EventKind::RrcMessages)),
        (2, !source.breakpoints().is_empty()),
        (3, has(EventKind::NodeChanges)),
        (4, has(EventKind::RrcStates) || !source.ue_parameters().is_empty()),
        (5, config.revision == Revision::V1_03 && config.offer.on_demand_reports),
    ];
    styles.into_iter().filter(|(_, is_supported)| *is_supported).map(|(style, _)| style).collect()
}

fn definition<'s, S: RcSource>(source: &'s S, config: &'s RcConfig) -> RanFunctionDefinition<'s> {
    let reports = report_styles(source, config);
    let is_new = config.revision != Revision::V1_03;
    RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: text(config.announcement.short_name("ORAN-E2SM-RC")),
            e2sm_oid: text(config.announcement.definition_oid(OID)),
            description: text("RAN Control"),
            instance: None,
        },
        event_trigger: event_trigger(source, config, &reports),
        report: non_empty(reports.iter().map(|style| report_style(source, config, *style)).collect())
            .map(|report_style_list| RanFunctionDefinitionReport { report_style_list }),
        insert: non_empty(insert_styles(source, config))
            .map(|insert_style_list| RanFunctionDefinitionInsert { insert_style_list }),
        control: non_empty(control_styles(source, config))
            .map(|control_style_list| RanFunctionDefinitionControl { control_style_list }),
        policy: non_empty(policy_styles(source, config))
            .map(|policy_style_list| RanFunctionDefinitionPolicy { policy_style_list }),
        query: non_empty(if is_new && config.offer.queries { query_styles(source, config) } else { Vec::new() })
            .map(|query_style_list| RanFunctionDefinitionQuery { query_style_list }),
    }
}

/// The event trigger definition; each report style has the event trigger style with the same number.
fn event_trigger<'s, S: RcSource>(
    source: &'s S,
    config: &RcConfig,
    reports: &[i64],
) -> Option<RanFunctionDefinitionEventTrigger<'s>> {
    let styles = reports.iter().map(|style| EventTriggerStyleItem {
        ric_event_trigger_style_type: RicStyleType(*style),
        ric_event_trigger_style_name: style_name(&EVENT_TRIGGER_STYLES, *style),
        ric_event_trigger_format_type: RicFormatType(config.offer.counted(*style)),
    });
    let mut breakpoints: Vec<_> = source.breakpoints().iter().collect();
    breakpoints
        .sort_unstable_by_key(|supported| (supported.breakpoint.call_process_type, supported.breakpoint.breakpoint));
    let processes = breakpoints.chunk_by(|a, b| a.breakpoint.call_process_type == b.breakpoint.call_process_type);
    let processes = processes.map(|breakpoints| EventTriggerCallProcessItem {
        call_process_type_id: RicCallProcessTypeId(breakpoints[0].breakpoint.call_process_type),
        call_process_type_name: RicCallProcessTypeName(text(&breakpoints[0].call_process)),
        call_process_breakpoints_list: breakpoints
            .iter()
            .map(|supported| EventTriggerBreakpointItem {
                call_process_breakpoint_id: RicCallProcessBreakpointId(supported.breakpoint.breakpoint),
                call_process_breakpoint_name: RicCallProcessBreakpointName(text(&supported.name)),
                call_process_breakpoint_parameters_list: None,
            })
            .collect(),
    });
    let of_ues = source.ue_parameters().iter().map(|supported| parameter_item((supported.id, &supported.name)));
    let layer_2 = source.ue_parameters().iter().filter(|supported| supported.is_layer_2);
    let of_layer_2 = layer_2.map(|supported| parameter_item((supported.id, &supported.name)));
    Some(RanFunctionDefinitionEventTrigger {
        event_trigger_style_list: non_empty(styles.collect())?,
        l2_parameters_list: non_empty(of_layer_2.collect()),
        call_process_types_list: non_empty(processes.collect()),
        ue_identification_parameters_list: non_empty(of_ues.collect()),
        cell_identification_parameters_list: None,
    })
}

fn report_style<'s, S: RcSource>(source: &'s S, config: &RcConfig, style: i64) -> ReportStyleItem<'s> {
    let of_ues = if style == 4 { source.ue_parameters() } else { &[] };
    let parameters = config
        .offer
        .report_parameters(style)
        .into_iter()
        .chain(of_ues.iter().map(|supported| (supported.id, &*supported.name)));
    // RC 7.4.2 to 7.4.6
    let message_format = match style {
        1 | 2 => 1,
        3 => 3,
        4 => 2,
        _ => 4,
    };
    ReportStyleItem {
        ric_report_style_type: RicStyleType(style),
        ric_report_style_name: style_name(&REPORT_STYLES, style),
        ric_supported_event_trigger_style_type: RicStyleType(config.offer.counted(style)),
        ric_report_action_format_type: RicFormatType(config.offer.counted(1)),
        ric_indication_header_format_type: RicFormatType(config.offer.counted(1)),
        ric_indication_message_format_type: RicFormatType(config.offer.counted(message_format)),
        report_parameters_list: non_empty(parameters.map(parameter_item).collect()),
    }
}

fn insert_styles<'s, S: RcSource>(source: &'s S, config: &RcConfig) -> Vec<InsertStyleItem<'s>> {
    let mut inserts: Vec<_> = source.breakpoints().iter().map(|supported| &supported.insert).collect();
    inserts.sort_unstable_by_key(|insert| (insert.style, insert.indication));
    let mut styles: Vec<_> = inserts
        .chunk_by(|a, b| a.style == b.style)
        .map(|inserts| {
            let items = inserts.iter().map(|insert| InsertIndicationItem {
                ric_insert_indication_id: RicInsertIndicationId(insert.indication),
                ric_insert_indication_name: RicInsertIndicationName(text(&insert.name)),
                insert_indication_parameters_list: non_empty(parameters_of(source, insert.action).map(known).collect()),
            });
            InsertStyleItem {
                ric_insert_style_type: RicStyleType(inserts[0].style),
                ric_insert_style_name: style_name(&INSERT_STYLES, inserts[0].style),
                ric_supported_event_trigger_style_type: RicStyleType(2),
                ric_action_definition_format_type: RicFormatType(config.offer.counted(3)),
                insert_indication_list: non_empty(items.collect()),
                ric_indication_header_format_type: RicFormatType(config.offer.counted(2)),
                ric_indication_message_format_type: RicFormatType(config.offer.counted(5)),
                ric_call_process_id_format_type: RicFormatType(config.offer.counted(1)),
            }
        })
        .collect();
    if !styles.is_empty() {
        styles.push(InsertStyleItem {
            ric_insert_style_type: RicStyleType(MULTIPLE_ACTIONS),
            ric_insert_style_name: style_name(&INSERT_STYLES, MULTIPLE_ACTIONS),
            ric_supported_event_trigger_style_type: RicStyleType(2),
            ric_action_definition_format_type: RicFormatType(config.offer.counted(4)),
            insert_indication_list: None,
            ric_indication_header_format_type: RicFormatType(config.offer.counted(3)),
            ric_indication_message_format_type: RicFormatType(config.offer.counted(6)),
            ric_call_process_id_format_type: RicFormatType(config.offer.counted(1)),
        });
    }
    styles
}

/// The top-level parameters of an action, without those that the base station refuses.
fn parameters_of<S: RcSource>(source: &S, id: ActionId) -> impl Iterator<Item = &'static KnownParameter> {
    let refused = source.refused_parameters(id);
    dictionary::control_parameters(id.style.0, id.action.0).iter().filter(move |known| !refused.contains(&known.id))
}

/// A parameter with its structure.
fn known(parameter: &KnownParameter) -> OfferedRanParameter<'static> {
    let ran_parameter_definition = parameter.definition();
    OfferedRanParameter { ran_parameter_definition, ..parameter_item((parameter.id, parameter.name)) }
}

fn action_name(id: ActionId) -> RicControlActionName<'static> {
    RicControlActionName(text(id.name().unwrap_or("Vendor specific")))
}

/// The outcome format that may contain structures and lists.
pub(super) const OUTCOME_WITH_STRUCTURES: RicFormatType = RicFormatType(3);

/// The control outcome format of a style.
pub(super) const fn outcome_format(style: RicStyleType) -> RicFormatType {
    match style.0 {
        MULTIPLE_ACTIONS => RicFormatType(2),
        // measurement reporting configuration
        9 => OUTCOME_WITH_STRUCTURES,
        _ => RicFormatType(1),
    }
}

/// The parameters of an action, with their nesting or side by side.
fn control_parameters<S: RcSource>(
    source: &S,
    id: ActionId,
    config: &RcConfig,
) -> Vec<ControlActionParameterItem<'static>> {
    let item = |parameter: &KnownParameter, ran_parameter_definition| ControlActionParameterItem {
        ran_parameter_id: parameter.id,
        ran_parameter_name: RanParameterName(text(parameter.name)),
        ran_parameter_definition,
        list_of_additional_supported_formats_ue_group_control: None,
    };
    let Some(listed) = config.offer.listed(id) else {
        return parameters_of(source, id).map(|parameter| item(parameter, parameter.definition())).collect();
    };
    let mut flat = Vec::new();
    parameters_of(source, id).for_each(|parameter| flatten(parameter, &mut flat));
    flat.iter().filter(|parameter| listed.contains(&parameter.id.0)).map(|parameter| item(parameter, None)).collect()
}

/// Appends a parameter and those within it.
fn flatten(parameter: &KnownParameter, all: &mut Vec<KnownParameter>) {
    all.push(*parameter);
    match parameter.shape {
        Shape::Structure(parts) => parts.iter().for_each(|part| flatten(part, all)),
        Shape::List(of) => flatten(of, all),
        _ => {}
    }
}

fn control_styles<S: RcSource>(source: &S, config: &RcConfig) -> Vec<ControlStyleItem<'static>> {
    let actions = source.control_actions();
    let is_new = config.revision != Revision::V1_03;
    let has_partial = config.revision == Revision::V5_00;
    let item = |style: RicStyleType, header: i64| {
        let of_style = actions.iter().filter(|id| id.style == style);
        let items = of_style.map(|id| ControlActionItem {
            ric_control_action_id: id.action,
            ric_control_action_name: action_name(*id),
            control_action_parameters_list: non_empty(control_parameters(source, *id, config)),
            ue_group_control_action_supported: (is_new && !source.ue_parameters().is_empty()).then_some(Flag::True),
        });
        // v05.00: a group of UEs, and a UE by a partial UE ID
        let additional = |header| AdditionalSupportedFormat {
            ric_control_header_format_type: RicFormatType(config.offer.counted(header)),
            ric_control_message_format_type: RicFormatType(config.offer.counted(1)),
            ric_control_outcome_format_type: None,
            ric_control_action_id: None,
        };
        let is_several = style.0 == MULTIPLE_ACTIONS;
        let mut inserts = source.breakpoints().iter().map(|supported| supported.insert.action.style);
        let has_inserts = inserts.any(|of_insert| is_several || of_insert == style);
        ControlStyleItem {
            ric_control_style_type: style,
            ric_control_style_name: style_name(&CONTROL_STYLES, style.0),
            control_action_list: non_empty(items.collect()),
            ric_control_header_format_type: RicFormatType(config.offer.counted(header)),
            ric_control_message_format_type: RicFormatType(config.offer.counted(header)),
            ric_call_process_id_format_type: has_inserts.then_some(RicFormatType(config.offer.counted(1))),
            ric_control_outcome_format_type: RicFormatType(config.offer.counted(outcome_format(style).0)),
            control_outcome_parameters_list: is_new
                .then(|| List::from(vec![parameter_item((REFUSAL_REASON, "Why not"))])),
            list_of_additional_supported_formats: (has_partial && header == 1)
                .then(|| List::from(vec![additional(3), additional(4)])),
        }
    };
    let mut styles: Vec<_> = styles_of(actions).into_iter().map(|style| item(style, 1)).collect();
    if !styles.is_empty() && config.offer.multiple_actions {
        styles.push(item(RicStyleType(MULTIPLE_ACTIONS), 2));
    }
    styles
}

fn policy_styles<'s, S: RcSource>(source: &'s S, config: &RcConfig) -> Vec<PolicyStyleItem<'s>> {
    if source.breakpoints().is_empty() {
        return Vec::new();
    }
    let conditions = || {
        non_empty(
            source.ue_parameters().iter().map(|supported| parameter_item((supported.id, &supported.name))).collect(),
        )
    };
    let item = |style: RicStyleType| {
        let actions = source.policy_actions().iter().filter(|id| id.style == style).map(|id| PolicyActionItem {
            ric_policy_action_id: id.action,
            ric_policy_action_name: action_name(*id),
            ric_action_definition_format_type: RicFormatType(config.offer.counted(2)),
            policy_action_parameters_list: non_empty(parameters_of(source, *id).map(known).collect()),
            policy_condition_parameters_list: conditions(),
        });
        PolicyStyleItem {
            ric_policy_style_type: style,
            ric_policy_style_name: style_name(&CONTROL_STYLES, style.0),
            ric_supported_event_trigger_style_type: RicStyleType(2),
            policy_action_list: non_empty(actions.collect()),
        }
    };
    styles_of(source.policy_actions()).into_iter().map(item).collect()
}

fn query_styles<'s, S: RcSource>(source: &'s S, config: &RcConfig) -> Vec<QueryStyleItem<'s>> {
    let item = |style: i64, parameters| QueryStyleItem {
        ric_query_style_type: RicStyleType(style),
        ric_query_style_name: style_name(&QUERY_STYLES, style),
        ric_query_header_format_type: RicFormatType(config.offer.counted(1)),
        ric_query_definition_format_type: RicFormatType(config.offer.counted(1)),
        ric_query_outcome_format_type: RicFormatType(style),
        query_parameters_list: non_empty(parameters),
    };
    let parameter = |id, name| RanParameterDefinitionItem {
        ran_parameter_id: id,
        ran_parameter_name: RanParameterName(text(name)),
        ran_parameter_definition: None,
    };
    let neighbours = parameter(dictionary::node_information::NEIGHBOUR_RELATION_TABLE, "Neighbour Relation Table");
    let of_ues: Vec<_> =
        source.ue_parameters().iter().map(|supported| parameter(supported.id, &supported.name)).collect();
    let mut styles = vec![item(1, vec![neighbours])];
    if !of_ues.is_empty() {
        styles.push(item(2, of_ues));
    }
    styles
}
