//! The answers of nodes as text.

use e2sm::Arena;
use e2sm::rc::{ControlOutcome, ControlOutcomeFormats, Detection, RanParameterElementItem, RanParameterValue};
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
    let item = |item: &RanParameterElementItem<'_>| match &item.value {
        RanParameterValue::ValuePrintableString(text) => format!(", {text}"),
        value => format!(", parameter {} is {value:?}", item.ran_parameter_id.0),
    };
    match &outcome.formats {
        ControlOutcomeFormats::Format1(format) => format.ran_p_list.iter().map(item).collect(),
        other => format!(", {other:?}"),
    }
}
