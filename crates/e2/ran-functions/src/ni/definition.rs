//! The RAN function definition.

use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::ni::{
    NiType, OID, RanFunctionDefinition, RanFunctionItem, RanParameterDefItem, RanParameterId, RanParameterName,
    RanParameterType, RicControlStyleList, RicEventTriggerStyleList, RicInsertStyleList, RicPolicyStyleList,
    RicReportStyleList, SHORT_NAME,
};
use ferric::e2::Function;
use ferric::e2ap::RanFunctionRevision;
use per::{List, PrintableString};

use super::{Interface, NiConfig};

/// The only style of each service.
pub(super) const STYLE: i64 = 1;
/// Reports and inserts: every n-th matching message is selected, beginning with the first.
pub(super) const EVERY_NTH: RanParameterId = RanParameterId(1);
/// Policies: the decision about matching messages.
pub(super) const DECISION: RanParameterId = RanParameterId(1);
/// The values of [`DECISION`].
pub(super) const DECISION_PASS: i64 = 0;
pub(super) const DECISION_DROP: i64 = 1;
pub(super) const DECISION_REPLACE: i64 = 2;
/// Policies: the replacement of matching messages.
pub(super) const REPLACEMENT: RanParameterId = RanParameterId(2);
/// Control outcomes: whether the message was sent.
pub(super) const SENT: RanParameterId = RanParameterId(1);

/// Returns the RAN function for E2 Setup.
///
/// # Panics
/// The source has no interface.
pub(super) fn function(interfaces: &[Interface], config: &NiConfig) -> Function {
    let mut kinds: Vec<NiType> = interfaces.iter().map(|interface| interface.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(!kinds.is_empty(), "the source has no interface");
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal(SHORT_NAME),
            e2sm_oid: PrintableString::literal(OID),
            description: PrintableString::literal("Network interfaces"),
            instance: None,
        },
        ni_type_list: Some(kinds.into_iter().map(item).collect()),
    };
    let mut bytes = Vec::new();
    if let Err(error) = definition.encode(&mut bytes) {
        panic!("names and interface types are within their bounds: {error}");
    }
    Function { id: config.function_id, revision: RanFunctionRevision(1), oid: OID.to_owned(), definition: bytes }
}

fn item(interface_type: NiType) -> RanFunctionItem<'static> {
    let (style, format) = (RicStyleType(STYLE), RicFormatType(1));
    let name = |name| RicStyleName(PrintableString::literal(name));
    let every_nth = || List::from(vec![parameter(EVERY_NTH, "One message of so many", RanParameterType::Integer)]);
    RanFunctionItem {
        interface_type,
        ric_event_trigger_style_list: Some(List::from(vec![RicEventTriggerStyleList {
            ric_event_trigger_style_type: style,
            ric_event_trigger_style_name: name("Message event"),
            ric_event_trigger_format_type: format,
        }])),
        ric_report_style_list: Some(List::from(vec![RicReportStyleList {
            ric_report_style_type: style,
            ric_report_style_name: name("Complete message"),
            ric_report_action_format_type: format,
            ric_report_ran_parameter_def_list: every_nth(),
            ric_indication_header_format_type: format,
            ric_indication_message_format_type: format,
        }])),
        ric_insert_style_list: Some(List::from(vec![RicInsertStyleList {
            ric_insert_style_type: style,
            ric_insert_style_name: name("Complete message"),
            ric_insert_action_format_type: format,
            ric_insert_ran_parameter_def_list: every_nth(),
            ric_indication_header_format_type: format,
            ric_indication_message_format_type: format,
            ric_call_process_id_format_type: format,
        }])),
        ric_control_style_list: Some(List::from(vec![RicControlStyleList {
            ric_control_style_type: style,
            ric_control_style_name: name("Message injection"),
            ric_control_format_type: format,
            ric_control_header_format_type: format,
            ric_control_message_format_type: format,
            ric_call_process_id_format_type: format,
            ric_control_outcome_format_type: format,
            ric_control_outcome_ran_para_def_list: List::from(vec![parameter(
                SENT,
                "Message was sent",
                RanParameterType::Boolean,
            )]),
        }])),
        ric_policy_style_list: Some(List::from(vec![RicPolicyStyleList {
            ric_policy_style_type: style,
            ric_policy_style_name: name("Message decision"),
            ric_policy_action_format_type: format,
            ric_policy_ran_parameter_def_list: List::from(vec![
                parameter(DECISION, "Decision: 0 pass, 1 drop, 2 replace", RanParameterType::Enumerated),
                parameter(REPLACEMENT, "Replacement", RanParameterType::OctetString),
            ]),
        }])),
    }
}

fn parameter(
    ran_parameter_id: RanParameterId,
    name: &'static str,
    ran_parameter_type: RanParameterType,
) -> RanParameterDefItem<'static> {
    let ran_parameter_name = RanParameterName(PrintableString::literal(name));
    RanParameterDefItem { ran_parameter_id, ran_parameter_name, ran_parameter_type }
}
