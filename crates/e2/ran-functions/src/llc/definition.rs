//! The RAN function definition.

use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::llc::{
    OID, RanFunctionDefinition, RanFunctionDefinitionControl, RanFunctionDefinitionControlActionItem,
    RanFunctionDefinitionControlItem, RanFunctionDefinitionEventTrigger, RanFunctionDefinitionEventTriggerStyleItem,
    RanFunctionDefinitionReport, RanFunctionDefinitionReportItem, RicControlActionId, RicControlActionName, SHORT_NAME,
    STYLE_LOGICAL_CHANNELS, STYLE_SCHEDULING,
};
use ferric::e2::Function;
use ferric::e2ap::RanFunctionRevision;
use per::PrintableString;

use super::LlcConfig;

/// Event trigger and report style 1: lower layers information that arrives.
pub(super) const STYLE_COPY: i64 = 1;
/// Event trigger and report style 2: periodic measurements.
pub(super) const STYLE_PERIODIC: i64 = 2;
/// The only action of each control style.
pub(super) const ACTION: u32 = 1;

/// Returns the RAN function for E2 Setup.
pub(super) fn function(config: &LlcConfig) -> Function {
    let (style, format) = (RicStyleType, RicFormatType);
    let name = |name| RicStyleName(PrintableString::literal(name));
    let trigger = |number, text| RanFunctionDefinitionEventTriggerStyleItem {
        ric_event_trigger_style_type: style(number),
        ric_event_trigger_style_name: name(text),
        ric_event_trigger_format_type: format(number),
    };
    let report = |number, text| RanFunctionDefinitionReportItem {
        ric_report_style_type: style(number),
        ric_report_style_name: name(text),
        ric_supported_event_trigger_style_type: style(number),
        ric_report_action_format_type: format(number),
        ric_indication_header_format_type: format(1),
        ric_indication_message_format_type: format(number),
    };
    let control = |number, text, action| RanFunctionDefinitionControlItem {
        ric_control_style_type: style(number),
        ric_control_style_name: name(text),
        ric_control_action_list: Some(
            vec![RanFunctionDefinitionControlActionItem {
                ric_control_action_id: RicControlActionId(ACTION),
                ric_control_action_name: RicControlActionName(PrintableString::literal(action)),
            }]
            .into(),
        ),
        ric_control_header_format_type: format(1),
        ric_control_message_format_type: format(1),
        ric_call_process_id_format_type: None,
        ric_control_outcome_format_type: format(1),
    };
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal(SHORT_NAME),
            e2sm_oid: PrintableString::literal(OID),
            description: PrintableString::literal("Lower Layers Control"),
            instance: None,
        },
        ran_function_definition_event_trigger: Some(RanFunctionDefinitionEventTrigger {
            ric_event_trigger_style_list: vec![
                trigger(STYLE_COPY, "Lower Layers Information Event"),
                trigger(STYLE_PERIODIC, "Periodic"),
            ]
            .into(),
        }),
        ran_function_definition_report: Some(RanFunctionDefinitionReport {
            ric_report_style_list: vec![
                report(STYLE_COPY, "Lower Layers Information Copy"),
                report(STYLE_PERIODIC, "Lower Layers Measurements"),
            ]
            .into(),
        }),
        ran_function_definition_control: Some(RanFunctionDefinitionControl {
            ric_control_style_list: vec![
                control(
                    STYLE_LOGICAL_CHANNELS,
                    "Logical Channels Handling Control",
                    "DL Logical Channels Handling Control",
                ),
                control(STYLE_SCHEDULING, "Scheduling Parameters Control", "DL Scheduling Parameters Control"),
            ]
            .into(),
        }),
    };
    let mut bytes = Vec::new();
    if let Err(error) = definition.encode(&mut bytes) {
        panic!("a constant definition is within its bounds: {error}");
    }
    Function { id: config.function_id, revision: RanFunctionRevision(1), oid: OID.to_owned(), definition: bytes }
}
