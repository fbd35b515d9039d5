//! The answers of nodes as text.

use e2sm::Arena;
use e2sm::rc::{
    ControlOutcome, ControlOutcomeFormats, Detection, RanParameterElementFalse, RanParameterElementItem,
    RanParameterId, RanParameterItem, RanParameterValue, RanParameterValueType,
};
use ferric::e2;

/// The answer of a node as text.
pub(super) fn describe(result: &e2::ControlOutcome, detection: Detection) -> String {
    match result {
        e2::ControlOutcome::Acknowledged(outcome) => format!("done{}", describe_outcome(outcome.as_deref(), detection)),
        e2::ControlOutcome::Failed { cause, outcome } => {
            format!("refused: {cause}{}", describe_outcome(outcome.as_deref(), detection))
        }
        e2::ControlOutcome::Sent => "sent".to_owned(),
        e2::ControlOutcome::TimedOut => "no answer".to_owned(),
        e2::ControlOutcome::NodeLost => "node lost".to_owned(),
        e2::ControlOutcome::Misuse(code) => format!("refused by the RIC: {code}"),
        other => other.to_string(),
    }
}

/// The control outcome as text.
fn describe_outcome(outcome: Option<&[u8]>, detection: Detection) -> String {
    let Some(outcome) = outcome.filter(|outcome| !outcome.is_empty()) else { return String::new() };
    let arena = Arena::new();
    let Ok(outcome) = ControlOutcome::decode_in(outcome, detection.revision, detection.wire, &arena) else {
        return ", undecodable outcome".to_owned();
    };
    let describe = |id: RanParameterId, value: &RanParameterValue<'_>| match value {
        RanParameterValue::ValuePrintableString(text) => format!(", {text}"),
        RanParameterValue::ValueInt(number) => format!(", parameter {} is {number}", id.0),
        value => format!(", parameter {} is {value:?}", id.0),
    };
    let element = |item: &RanParameterElementItem<'_>| describe(item.ran_parameter_id, &item.value);
    let parameter = |item: &RanParameterItem<'_>| match &item.value_type {
        RanParameterValueType::ElementFalse(RanParameterElementFalse { value: Some(value) }) => {
            describe(item.ran_parameter_id, value)
        }
        value => format!(", parameter {} is {value:?}", item.ran_parameter_id.0),
    };
    match &outcome.formats {
        ControlOutcomeFormats::Format1(format) => format.ran_p_list.iter().map(element).collect(),
        ControlOutcomeFormats::Format3(format) => format.ran_p_list.iter().map(parameter).collect(),
        other => format!(", {other:?}"),
    }
}
