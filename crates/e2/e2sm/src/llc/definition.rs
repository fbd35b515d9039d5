//! The RAN function definition.

use per::{List, Per};

use super::message;
use super::{RicControlActionId, RicControlActionName};
use crate::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};

/// E2SM-LLC-RANFunctionDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// Name, OID and description.
    pub ran_function_name: RanFunctionName<'a>,
    /// The event triggers.
    pub ran_function_definition_event_trigger: Option<RanFunctionDefinitionEventTrigger<'a>>,
    /// The reports.
    pub ran_function_definition_report: Option<RanFunctionDefinitionReport<'a>>,
    /// The controls.
    pub ran_function_definition_control: Option<RanFunctionDefinitionControl<'a>>,
}

message!(RanFunctionDefinition, lists);

/// RANFunctionDefinition-EventTrigger-LLC.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionEventTrigger<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub ric_event_trigger_style_list: List<'a, RanFunctionDefinitionEventTriggerStyleItem<'a>>,
}

/// RANFunctionDefinition-EventTrigger-Style-Item-LLC.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionEventTriggerStyleItem<'a> {
    /// The number of the style.
    pub ric_event_trigger_style_type: RicStyleType,
    /// The name of the style.
    pub ric_event_trigger_style_name: RicStyleName<'a>,
    /// The format of the event trigger.
    pub ric_event_trigger_format_type: RicFormatType,
}

/// RANFunctionDefinition-Report-LLC.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionReport<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub ric_report_style_list: List<'a, RanFunctionDefinitionReportItem<'a>>,
}

/// RANFunctionDefinition-Report-Item-LLC.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionReportItem<'a> {
    /// The number of the style.
    pub ric_report_style_type: RicStyleType,
    /// The name of the style.
    pub ric_report_style_name: RicStyleName<'a>,
    /// The event trigger style that it takes.
    pub ric_supported_event_trigger_style_type: RicStyleType,
    /// The format of the action definition.
    pub ric_report_action_format_type: RicFormatType,
    /// The format of indication headers.
    pub ric_indication_header_format_type: RicFormatType,
    /// The format of indication messages.
    pub ric_indication_message_format_type: RicFormatType,
}

/// RANFunctionDefinition-Control-LLC.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionControl<'a> {
    /// The styles.
    #[per(size = 1..=63)]
    pub ric_control_style_list: List<'a, RanFunctionDefinitionControlItem<'a>>,
}

/// RANFunctionDefinition-Control-Item-LLC.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionControlItem<'a> {
    /// The number of the style.
    pub ric_control_style_type: RicStyleType,
    /// The name of the style.
    pub ric_control_style_name: RicStyleName<'a>,
    /// The actions.
    #[per(size = 1..=65535)]
    pub ric_control_action_list: Option<List<'a, RanFunctionDefinitionControlActionItem<'a>>>,
    /// The format of control headers.
    pub ric_control_header_format_type: RicFormatType,
    /// The format of control messages.
    pub ric_control_message_format_type: RicFormatType,
    /// The format of call process ids.
    pub ric_call_process_id_format_type: Option<RicFormatType>,
    /// The format of control outcomes.
    pub ric_control_outcome_format_type: RicFormatType,
}

/// RANFunctionDefinition-Control-Action-Item-LLC.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinitionControlActionItem<'a> {
    /// The number of the action.
    pub ric_control_action_id: RicControlActionId,
    /// The name of the action.
    pub ric_control_action_name: RicControlActionName<'a>,
}
