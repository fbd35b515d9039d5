//! The RAN function definition: the reports, inserts, controls, policies and queries of a node (RC 9.2.2).

use per::{List, Per};

use super::{
    Flag, OfferedRanParameter, RanParameterDefinition, RanParameterDefinitionItem, RanParameterId, RanParameterName,
    RicCallProcessBreakpointId, RicCallProcessBreakpointName, RicCallProcessTypeId, RicCallProcessTypeName,
    RicControlActionId, RicControlActionName, RicInsertIndicationId, RicInsertIndicationName,
};
use crate::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};

/// E2SM-RC-RANFunctionDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// Name, OID and description.
    pub ran_function_name: RanFunctionName<'a>,
    /// Event triggers.
    pub event_trigger: Option<RanFunctionDefinitionEventTrigger<'a>>,
    /// Reports.
    pub report: Option<RanFunctionDefinitionReport<'a>>,
    /// Inserts.
    pub insert: Option<RanFunctionDefinitionInsert<'a>>,
    /// Controls.
    pub control: Option<RanFunctionDefinitionControl<'a>>,
    /// Policies.
    pub policy: Option<RanFunctionDefinitionPolicy<'a>>,
    /// Queries (v03.00).
    #[per(addition, since = 2)]
    pub query: Option<RanFunctionDefinitionQuery<'a>>,
}

crate::message::message!(RanFunctionDefinition, lists);

/// RANFunctionDefinition-EventTrigger.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionEventTrigger<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub event_trigger_style_list: List<'a, EventTriggerStyleItem<'a>>,
    /// The layer 2 variables that can be tested.
    #[per(size = 1..=65535)]
    pub l2_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
    /// The procedures.
    #[per(size = 1..=65535)]
    pub call_process_types_list: Option<List<'a, EventTriggerCallProcessItem<'a>>>,
    /// The parameters that select UEs.
    #[per(size = 1..=65535)]
    pub ue_identification_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
    /// The parameters that select cells.
    #[per(size = 1..=65535)]
    pub cell_identification_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
}

/// RANFunctionDefinition-EventTrigger-Style-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerStyleItem<'a> {
    /// The number of the style.
    pub ric_event_trigger_style_type: RicStyleType,
    /// The name of the style.
    pub ric_event_trigger_style_name: RicStyleName<'a>,
    /// The format of the event trigger.
    pub ric_event_trigger_format_type: RicFormatType,
}

/// RANFunctionDefinition-EventTrigger-CallProcess-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerCallProcessItem<'a> {
    /// The procedure.
    pub call_process_type_id: RicCallProcessTypeId,
    /// The name.
    pub call_process_type_name: RicCallProcessTypeName<'a>,
    /// The breakpoints.
    #[per(size = 1..=65535)]
    pub call_process_breakpoints_list: List<'a, EventTriggerBreakpointItem<'a>>,
}

/// RANFunctionDefinition-EventTrigger-Breakpoint-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerBreakpointItem<'a> {
    /// The breakpoint.
    pub call_process_breakpoint_id: RicCallProcessBreakpointId,
    /// The name.
    pub call_process_breakpoint_name: RicCallProcessBreakpointName<'a>,
    /// The parameters that can be tested there.
    #[per(size = 1..=65535)]
    pub call_process_breakpoint_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
}

/// RANFunctionDefinition-Report.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionReport<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub report_style_list: List<'a, ReportStyleItem<'a>>,
}

/// RANFunctionDefinition-Report-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ReportStyleItem<'a> {
    /// The number of the style.
    pub ric_report_style_type: RicStyleType,
    /// The name of the style.
    pub ric_report_style_name: RicStyleName<'a>,
    /// The matching event trigger style.
    pub ric_supported_event_trigger_style_type: RicStyleType,
    /// The format of the action definition.
    pub ric_report_action_format_type: RicFormatType,
    /// The format of indication headers.
    pub ric_indication_header_format_type: RicFormatType,
    /// The format of indication messages.
    pub ric_indication_message_format_type: RicFormatType,
    /// The parameters that can be reported.
    #[per(size = 1..=65535)]
    pub report_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
}

/// RANFunctionDefinition-Insert.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionInsert<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub insert_style_list: List<'a, InsertStyleItem<'a>>,
}

/// RANFunctionDefinition-Insert-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct InsertStyleItem<'a> {
    /// The number of the style.
    pub ric_insert_style_type: RicStyleType,
    /// The name of the style.
    pub ric_insert_style_name: RicStyleName<'a>,
    /// The matching event trigger style.
    pub ric_supported_event_trigger_style_type: RicStyleType,
    /// The format of the action definition.
    pub ric_action_definition_format_type: RicFormatType,
    /// The indications.
    #[per(size = 1..=65535)]
    pub insert_indication_list: Option<List<'a, InsertIndicationItem<'a>>>,
    /// The format of indication headers.
    pub ric_indication_header_format_type: RicFormatType,
    /// The format of indication messages.
    pub ric_indication_message_format_type: RicFormatType,
    /// The format of call process IDs.
    pub ric_call_process_id_format_type: RicFormatType,
}

/// RANFunctionDefinition-Insert-Indication-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct InsertIndicationItem<'a> {
    /// The indication.
    pub ric_insert_indication_id: RicInsertIndicationId,
    /// The name.
    pub ric_insert_indication_name: RicInsertIndicationName<'a>,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub insert_indication_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
}

/// RANFunctionDefinition-Control.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionControl<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub control_style_list: List<'a, ControlStyleItem<'a>>,
}

/// RANFunctionDefinition-Control-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlStyleItem<'a> {
    /// The number of the style.
    pub ric_control_style_type: RicStyleType,
    /// The name of the style.
    pub ric_control_style_name: RicStyleName<'a>,
    /// The actions.
    #[per(size = 1..=65535)]
    pub control_action_list: Option<List<'a, ControlActionItem<'a>>>,
    /// The format of control headers.
    pub ric_control_header_format_type: RicFormatType,
    /// The format of control messages.
    pub ric_control_message_format_type: RicFormatType,
    /// The format of call process IDs.
    pub ric_call_process_id_format_type: Option<RicFormatType>,
    /// The format of control outcomes.
    pub ric_control_outcome_format_type: RicFormatType,
    /// The parameters of outcomes.
    #[per(size = 1..=255)]
    pub control_outcome_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
    /// Additional supported formats (v05.00).
    #[per(addition, since = 3, size = 0..=63)]
    pub list_of_additional_supported_formats: Option<List<'a, AdditionalSupportedFormat>>,
}

/// RANFunctionDefinition-Control-Action-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlActionItem<'a> {
    /// The action.
    pub ric_control_action_id: RicControlActionId,
    /// The name.
    pub ric_control_action_name: RicControlActionName<'a>,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub control_action_parameters_list: Option<List<'a, ControlActionParameterItem<'a>>>,
    /// Whether it supports groups of UEs (v03.00).
    #[per(addition, since = 2)]
    pub ue_group_control_action_supported: Option<Flag>,
}

/// ControlAction-RANParameter-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlActionParameterItem<'a> {
    /// The parameter.
    pub ran_parameter_id: RanParameterId,
    /// The name.
    pub ran_parameter_name: RanParameterName<'a>,
    /// The parameters inside of it.
    #[per(addition)]
    pub ran_parameter_definition: Option<RanParameterDefinition<'a>>,
    /// The formats for groups of UEs (v03.00 only).
    #[per(addition, since = 2, until = 2, size = 0..=63)]
    pub list_of_additional_supported_formats_ue_group_control: Option<List<'a, AdditionalSupportedFormat>>,
}

/// AdditionalSupportedFormat (v05.00), in v03.00 AdditionalSupportedFormat-UEGroupControl: a combination of formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct AdditionalSupportedFormat {
    /// The format of the control header.
    pub ric_control_header_format_type: RicFormatType,
    /// The format of the control message.
    pub ric_control_message_format_type: RicFormatType,
    /// The format of the control outcome (v05.00).
    #[per(addition, since = 3)]
    pub ric_control_outcome_format_type: Option<RicFormatType>,
    /// The action (v05.00).
    #[per(addition, since = 3)]
    pub ric_control_action_id: Option<RicControlActionId>,
}

/// RANFunctionDefinition-Policy.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionPolicy<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub policy_style_list: List<'a, PolicyStyleItem<'a>>,
}

/// RANFunctionDefinition-Policy-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct PolicyStyleItem<'a> {
    /// The number of the style.
    pub ric_policy_style_type: RicStyleType,
    /// The name of the style.
    pub ric_policy_style_name: RicStyleName<'a>,
    /// The matching event trigger style.
    pub ric_supported_event_trigger_style_type: RicStyleType,
    /// The actions.
    #[per(size = 1..=65535)]
    pub policy_action_list: Option<List<'a, PolicyActionItem<'a>>>,
}

/// RANFunctionDefinition-Policy-Action-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct PolicyActionItem<'a> {
    /// The action.
    pub ric_policy_action_id: RicControlActionId,
    /// The name.
    pub ric_policy_action_name: RicControlActionName<'a>,
    /// The format of the action definition.
    pub ric_action_definition_format_type: RicFormatType,
    /// Its parameters.
    #[per(size = 1..=65535)]
    pub policy_action_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
    /// The parameters that can be tested.
    #[per(size = 1..=65535)]
    pub policy_condition_parameters_list: Option<List<'a, OfferedRanParameter<'a>>>,
}

/// RANFunctionDefinition-Query (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionQuery<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub query_style_list: List<'a, QueryStyleItem<'a>>,
}

/// RANFunctionDefinition-Query-Item (v03.00).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueryStyleItem<'a> {
    /// The number of the style.
    pub ric_query_style_type: RicStyleType,
    /// The name of the style.
    pub ric_query_style_name: RicStyleName<'a>,
    /// The format of query headers.
    pub ric_query_header_format_type: RicFormatType,
    /// The format of query definitions.
    pub ric_query_definition_format_type: RicFormatType,
    /// The format of query outcomes.
    pub ric_query_outcome_format_type: RicFormatType,
    /// The parameters that can be queried.
    #[per(size = 1..=65535)]
    pub query_parameters_list: Option<List<'a, RanParameterDefinitionItem<'a>>>,
}
