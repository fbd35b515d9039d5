//! The RAN function definition: the interfaces, and the styles of each.

use per::{List, Per};

use super::{NiType, RanParameterDefItem};
use crate::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use crate::message::message_of_one_format as message;

/// E2SM-NI-RANfunction-Description.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// Name, OID and description.
    pub ran_function_name: RanFunctionName<'a>,
    /// The interfaces.
    #[per(size = 1..=63)]
    pub ni_type_list: Option<List<'a, RanFunctionItem<'a>>>,
}

message!(RanFunctionDefinition, lists);

/// E2SM-NI-RANfunction-Item: the styles of a kind of interface.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionItem<'a> {
    /// The kind.
    pub interface_type: NiType,
    /// The event trigger styles.
    #[per(size = 1..=63)]
    pub ric_event_trigger_style_list: Option<List<'a, RicEventTriggerStyleList<'a>>>,
    /// The report styles.
    #[per(size = 1..=63)]
    pub ric_report_style_list: Option<List<'a, RicReportStyleList<'a>>>,
    /// The insert styles.
    #[per(size = 1..=63)]
    pub ric_insert_style_list: Option<List<'a, RicInsertStyleList<'a>>>,
    /// The control styles.
    #[per(size = 1..=63)]
    pub ric_control_style_list: Option<List<'a, RicControlStyleList<'a>>>,
    /// The policy styles.
    #[per(size = 1..=63)]
    pub ric_policy_style_list: Option<List<'a, RicPolicyStyleList<'a>>>,
}

/// RIC-EventTriggerStyle-List: an event trigger style.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicEventTriggerStyleList<'a> {
    /// The number of the style.
    pub ric_event_trigger_style_type: RicStyleType,
    /// The name of the style.
    pub ric_event_trigger_style_name: RicStyleName<'a>,
    /// The format of the event trigger definition.
    pub ric_event_trigger_format_type: RicFormatType,
}

/// RIC-ReportStyle-List: a report style.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicReportStyleList<'a> {
    /// The number of the style.
    pub ric_report_style_type: RicStyleType,
    /// The name of the style.
    pub ric_report_style_name: RicStyleName<'a>,
    /// The format of the action definition.
    pub ric_report_action_format_type: RicFormatType,
    /// The parameters.
    #[per(size = 1..=65535)]
    pub ric_report_ran_parameter_def_list: List<'a, RanParameterDefItem<'a>>,
    /// The format of indication headers.
    pub ric_indication_header_format_type: RicFormatType,
    /// The format of indication messages.
    pub ric_indication_message_format_type: RicFormatType,
}

/// RIC-InsertStyle-List: an insert style.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicInsertStyleList<'a> {
    /// The number of the style.
    pub ric_insert_style_type: RicStyleType,
    /// The name of the style.
    pub ric_insert_style_name: RicStyleName<'a>,
    /// The format of the action definition.
    pub ric_insert_action_format_type: RicFormatType,
    /// The parameters.
    #[per(size = 1..=65535)]
    pub ric_insert_ran_parameter_def_list: List<'a, RanParameterDefItem<'a>>,
    /// The format of indication headers.
    pub ric_indication_header_format_type: RicFormatType,
    /// The format of indication messages.
    pub ric_indication_message_format_type: RicFormatType,
    /// The format of call process ids.
    pub ric_call_process_id_format_type: RicFormatType,
}

/// RIC-ControlStyle-List: a control style.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicControlStyleList<'a> {
    /// The number of the style.
    pub ric_control_style_type: RicStyleType,
    /// The name of the style.
    pub ric_control_style_name: RicStyleName<'a>,
    /// Left open by the specification.
    pub ric_control_format_type: RicFormatType,
    /// The format of control headers.
    pub ric_control_header_format_type: RicFormatType,
    /// The format of control messages.
    pub ric_control_message_format_type: RicFormatType,
    /// The format of call process ids.
    pub ric_call_process_id_format_type: RicFormatType,
    /// The format of control outcomes.
    pub ric_control_outcome_format_type: RicFormatType,
    /// The parameters of outcomes.
    #[per(size = 1..=65535)]
    pub ric_control_outcome_ran_para_def_list: List<'a, RanParameterDefItem<'a>>,
}

/// RIC-PolicyStyle-List: a policy style.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RicPolicyStyleList<'a> {
    /// The number of the style.
    pub ric_policy_style_type: RicStyleType,
    /// The name of the style.
    pub ric_policy_style_name: RicStyleName<'a>,
    /// The format of the action definition.
    pub ric_policy_action_format_type: RicFormatType,
    /// The parameters.
    #[per(size = 1..=65535)]
    pub ric_policy_ran_parameter_def_list: List<'a, RanParameterDefItem<'a>>,
}
