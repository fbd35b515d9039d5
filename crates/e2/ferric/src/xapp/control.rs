//! Controls: sent to one node or several, and answered.

use std::sync::{Arc, Mutex};

use e2::{ControlOutcome, NodeId};
use e2ap::RanFunctionId;
use e2sm::rc::{
    self, Control, ControlMismatch, ControlOutcomeFormats, KnownParameter, RanParameterElementItem, RanParameterId,
    RanParameterValue, Shape,
};
use e2sm::{Arena, Wire, ccc, cpu, slice, tc};

use super::core::{Core, NODE_ANSWER};
use super::error::Error;
use super::node::{NodeEntry, RcFunction};
use super::raw::Commands;
use super::session::{Reply, lock};

/// The answer of a node that has executed a control.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The node.
    pub node: String,
    /// What it says, in the outcome of its service model.
    pub text: Option<String>,
}

/// A control, encoded for a node.
pub(super) struct Encoded {
    pub function: RanFunctionId,
    pub header: Vec<u8>,
    pub message: Vec<u8>,
    pub outcome: OutcomeModel,
}

/// How a node's control outcome is read.
#[derive(Clone, Copy)]
pub(super) enum OutcomeModel {
    Rc(rc::Detection, rc::ActionId),
    Slice(Wire),
    Tc(Wire),
    Cpu(Wire),
    Ccc,
}

/// A control without an answer.
pub(super) struct PendingControl {
    node: Arc<str>,
    outcome: OutcomeModel,
    group: Arc<Mutex<Group>>,
}

/// The answers to a control that several nodes get.
struct Group {
    left: usize,
    answers: Vec<Answer>,
    refusal: Option<Error>,
    reply: Option<Reply<Vec<Answer>>>,
}

/// Sends controls to nodes; replies when all have answered, with the first refusal if there is one.
pub(super) fn send(
    core: &mut Core,
    commands: &mut Commands<'_>,
    controls: Vec<(NodeId, Encoded)>,
    reply: Reply<Vec<Answer>>,
) {
    let group = Group::new(controls.len(), reply);
    for (node, Encoded { function, header, message, outcome }) in controls {
        let Some(name) = core.node(node).map(|node| Arc::clone(&node.name)) else { continue };
        let ticket = commands.control(node, function, &header, &message);
        core.controls.insert(ticket, PendingControl { node: name, outcome, group: Arc::clone(&group) });
    }
}

/// Sends the answer to an insert of a node.
pub(super) fn answer(
    core: &mut Core,
    commands: &mut Commands<'_>,
    node: NodeId,
    call_process_id: &[u8],
    encoded: Encoded,
    reply: Reply<Vec<Answer>>,
) {
    let Some(name) = core.node(node).map(|node| Arc::clone(&node.name)) else { return };
    let Encoded { function, header, message, outcome } = encoded;
    let ticket = commands.answer_insert(node, function, call_process_id, &header, &message);
    core.controls.insert(ticket, PendingControl { node: name, outcome, group: Group::new(1, reply) });
}

impl Group {
    fn new(left: usize, reply: Reply<Vec<Answer>>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Group { left, answers: Vec::new(), refusal: None, reply: Some(reply) }))
    }
}

impl PendingControl {
    pub fn finish(self, outcome: ControlOutcome) {
        let PendingControl { node, outcome: model, group } = self;
        let node = node.to_string();
        let result = match outcome {
            ControlOutcome::Acknowledged(outcome) => {
                let text = outcome.and_then(|outcome| model.read(&outcome)).and_then(|(_, text)| text);
                match (model, text) {
                    // an acknowledgement of E2SM-CCC lists what was not set
                    (OutcomeModel::Ccc, Some(what)) => Err(Error::Unverified { node, what }),
                    (_, text) => Ok(Answer { node, text }),
                }
            }
            ControlOutcome::Sent => Ok(Answer { node, text: None }),
            ControlOutcome::Failed { cause, outcome } => {
                let (parameter, text) = outcome.and_then(|outcome| model.read(&outcome)).unwrap_or_default();
                Err(Error::Refused { node, cause, parameter, text })
            }
            ControlOutcome::Misuse(code) => Err(Error::RefusedByRic { node, code }),
            ControlOutcome::TimedOut => {
                Err(Error::Timeout { what: format!("{node} has not answered a control"), after: NODE_ANSWER })
            }
            _ => Err(Error::NodeLost { node }),
        };
        let mut group = lock(&group);
        group.left -= 1;
        match result {
            Ok(answer) => group.answers.push(answer),
            Err(error) => drop(group.refusal.get_or_insert(error)),
        }
        if group.left == 0
            && let Some(reply) = group.reply.take()
        {
            let answers = std::mem::take(&mut group.answers);
            reply.send(group.refusal.take().map_or(Ok(answers), Err));
        }
    }
}

impl OutcomeModel {
    /// The parameter at fault and the text of an outcome. One that cannot be read says nothing.
    fn read(self, outcome: &[u8]) -> Option<(Option<String>, Option<String>)> {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        if outcome.is_empty() {
            return None;
        }
        match self {
            OutcomeModel::Rc(detection, action) => {
                let arena = Arena::new();
                let outcome =
                    rc::ControlOutcome::decode_in(outcome, detection.revision, detection.wire, &arena).ok()?;
                let items: Vec<&RanParameterElementItem<'_>> = match &outcome.formats {
                    ControlOutcomeFormats::Format1(format) => format.ran_p_list.iter().collect(),
                    _ => return None,
                };
                items.iter().find_map(|item| match &item.value {
                    RanParameterValue::ValuePrintableString(reason) => {
                        Some((parameter_name(action, item.ran_parameter_id), text(reason)))
                    }
                    _ => None,
                })
            }
            OutcomeModel::Slice(wire) => {
                Some((None, text(&slice::ControlOutcome::decode_owned(outcome, wire).ok()?.diagnostic)))
            }
            OutcomeModel::Ccc => Some((None, ccc::first_not_set(outcome))),
            OutcomeModel::Cpu(wire) => {
                Some((None, text(&cpu::ControlOutcome::decode_owned(outcome, wire).ok()?.diagnostic)))
            }
            OutcomeModel::Tc(wire) => {
                Some((None, text(&tc::ControlOutcome::decode_owned(outcome, wire).ok()?.diagnostic)))
            }
        }
    }
}

/// The parameter of an action in the words of the specification; `None` if it is none of the action's.
fn parameter_name(action: rc::ActionId, id: RanParameterId) -> Option<String> {
    fn find(known: &KnownParameter, id: RanParameterId) -> Option<&'static str> {
        if known.id == id {
            return Some(known.name);
        }
        match known.shape {
            Shape::Structure(parts) => parts.iter().find_map(|part| find(part, id)),
            Shape::List(of) => find(of, id),
            _ => None,
        }
    }
    let known = rc::dictionary::control_parameters(action.style.0, action.action.0);
    let name = known.iter().find_map(|known| find(known, id))?;
    Some(format!("RAN parameter {} ({name})", id.0))
}

/// Encodes a control of E2SM-RC as a node describes it.
pub(super) fn encode_rc(node: &NodeEntry, control: &Control) -> Result<Encoded, Error> {
    let Some(RcFunction { id, detection, definition }) = &node.rc else { return Err(node.lacks("E2SM-RC")) };
    let action = match &control.actions {
        rc::ControlActions::One(action) => action.id(),
        _ => return Err(node.lacks("controls of several actions")),
    };
    let encoded = control.encode_for(definition, detection.revision, detection.wire);
    let encoded = encoded.map_err(|error| match error {
        e2sm::Error::Mismatch(
            mismatch @ (ControlMismatch::NoControls | ControlMismatch::NoStyle(_) | ControlMismatch::NoAction(_)),
        ) => node.lacks(format!("{action}: {mismatch}")),
        e2sm::Error::Mismatch(
            ControlMismatch::Missing(ref parameter)
            | ControlMismatch::NotListed(ref parameter)
            | ControlMismatch::NotA(ref parameter, _),
        ) => Error::invalid(parameter.to_string(), action, error.to_string()),
        error => Error::invalid("control", action, error.to_string()),
    })?;
    let outcome = OutcomeModel::Rc(*detection, action);
    Ok(Encoded { function: *id, header: encoded.header, message: encoded.message, outcome })
}

/// Whether a node offers an action of E2SM-RC.
pub(super) fn offers(node: &NodeEntry, action: rc::ActionId) -> bool {
    node.rc.as_ref().is_some_and(|rc| rc::check_action(&rc.definition, action).is_ok())
}

#[cfg(test)]
mod tests {
    use e2sm::rc::{ControlAction, ControlOutcome as Outcome, ControlOutcomeFormat1, Detection, Revision};
    use per::{List, PrintableString};

    use super::*;

    #[test]
    fn outcome_names_the_parameter_at_fault() {
        let read = |id: u32| {
            let value = RanParameterValue::ValuePrintableString(PrintableString::literal("too long"));
            let item = RanParameterElementItem { ran_parameter_id: RanParameterId(id), value };
            let format = ControlOutcomeFormat1 { ran_p_list: List::from(vec![item]) };
            let mut octets = Vec::new();
            let outcome = Outcome { formats: ControlOutcomeFormats::Format1(format) };
            outcome.encode(Revision::V1_03, &mut octets).unwrap();
            OutcomeModel::Rc(Detection::configured(Revision::V1_03), ControlAction::DRX).read(&octets)
        };
        let text = Some("too long".to_owned());
        assert_eq!(read(1), Some((Some("RAN parameter 1 (Long DRX Cycle Length)".to_owned()), text.clone())));
        // one that is none of the action's has the reason alone
        assert_eq!(read(4_000_000_000), Some((None, text)));
        assert_eq!(OutcomeModel::Slice(Wire::Plain).read(&[]), None);
    }
}
