//! Decisions: on handovers that nodes begin (E2SM-RC inserts), and rules by which nodes decide themselves (policies).

use std::fmt;
use std::sync::Arc;

use e2::topology::UeReference;
use e2::{Action, NodeId, SubscriptionSpec};
use e2ap::{RicActionId, RicActionType};
use e2sm::common::UeId;
use e2sm::rc::{self, Control, ControlAction, Decision, Handover, HandoverOutcome, HandoverRule, Plan, RuleFault};

use super::control::{self, Answer, Encoded, OutcomeModel};
use super::core::{Planned, Purpose, Reader, StreamId};
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::names::CellId;
use super::node::{NodeEntry, RcFunction};
use super::resolve::{IntoName, name};
use super::ric::{Handle, Ric};
use super::session::{Reply, Session};

/// The style of mobility: of inserts, of controls and of policies (RC 7.5.4, 7.6.4, 7.7.4).
const MOBILITY: i64 = 3;

/// A handover that a node has begun, and that waits for a decision. Without one the node decides itself when its time is over.
pub struct HandoverRequest {
    /// The node.
    pub node: Arc<str>,
    /// The UE.
    pub ue: UeReference,
    /// The target cell that the node has chosen.
    pub target: CellId,
    process: Process,
}

/// What the answer to a request needs.
#[derive(Clone)]
pub(super) struct Process {
    pub node: NodeId,
    pub ue_id: UeId<'static>,
    pub id: Vec<u8>,
    pub handle: Handle,
}

impl HandoverRequest {
    pub(super) fn new(node: Arc<str>, ue: UeReference, target: CellId, process: Process) -> Self {
        HandoverRequest { node, ue, target, process }
    }

    /// Lets the handover continue.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is too late, and as other controls.
    pub fn accept(self) -> Result<Answer, Error> {
        let Process { ue_id, .. } = &self.process;
        let control = Control::answer(ue_id.clone(), ControlAction::HANDOVER, Decision::Accept);
        self.answer(control)
    }

    /// Lets the handover continue, to another cell.
    ///
    /// # Errors
    /// As [`HandoverRequest::accept`]; [`Error::Invalid`].
    pub fn accept_to(self, cell: impl IntoName<CellId>) -> Result<Answer, Error> {
        let cell = name(cell)?.at(&self.process.handle.node_id(self.process.node)?);
        let action = ControlAction::Handover(Handover::to(cell));
        let control = Control::of_ue(self.process.ue_id.clone(), action).deciding(Decision::Accept);
        self.answer(control)
    }

    /// Ends the handover.
    ///
    /// # Errors
    /// As [`HandoverRequest::accept`].
    pub fn deny(self) -> Result<Answer, Error> {
        let Process { ue_id, .. } = &self.process;
        let control = Control::answer(ue_id.clone(), ControlAction::HANDOVER, Decision::Reject);
        self.answer(control)
    }

    fn answer(self, control: Control) -> Result<Answer, Error> {
        let Process { node, id, handle, .. } = self.process;
        let answers = handle.session.ask(
            || format!("decision on the handover of {}", self.ue),
            handle.deadline,
            move |core, commands, reply: Reply<Vec<Answer>>| {
                let encoded = match core.node(node) {
                    Some(node) => encode_answer(node, &control),
                    None => Err(Error::NodeLost { node: self.node.to_string() }),
                };
                match encoded {
                    Ok(encoded) => control::answer(core, commands, node, &id, encoded, reply),
                    Err(error) => reply.send(Err(error)),
                }
            },
        )?;
        answers.into_iter().next().ok_or(Error::Closed)
    }
}

impl fmt::Debug for HandoverRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HandoverRequest { node, ue, target, .. } = self;
        write!(f, "HandoverRequest({ue} of {node} to {target})")
    }
}

/// Encodes an answer. The definition describes controls, of which an answer is a part.
fn encode_answer(node: &NodeEntry, control: &Control) -> Result<Encoded, Error> {
    let Some(RcFunction { id, detection, .. }) = &node.rc else { return Err(node.lacks("E2SM-RC")) };
    let (header, message) = control
        .encode_in(detection.revision, detection.wire)
        .map_err(|error| Error::invalid("decision", "handover", error.to_string()))?;
    let outcome = OutcomeModel::Rc(*detection, ControlAction::HANDOVER);
    Ok(Encoded { function: *id, header, message, outcome })
}

/// The subscription to a plan of E2SM-RC.
pub(super) fn planned(
    node: &NodeEntry,
    plan: &Plan,
    kind: RicActionType,
    reader: Reader,
) -> Result<Vec<Planned>, Error> {
    let Some(RcFunction { id, detection, .. }) = &node.rc else { return Err(node.lacks("E2SM-RC")) };
    let (event_trigger, definition) = plan
        .encode_in(detection.revision, detection.wire)
        .map_err(|error| node.lacks(format!("this subscription of E2SM-RC: {error}")))?;
    let actions = vec![Action { id: RicActionId(1), kind, definition: Some(definition), subsequent: None }];
    Ok(vec![Planned {
        function: *id,
        spec: SubscriptionSpec { event_trigger, actions },
        begins_with_state: false,
        reader,
    }])
}

/// The subscription to a node's requests for decisions on handovers.
pub(super) fn plan_handovers(node: &NodeEntry) -> Result<Vec<Planned>, Error> {
    let styles = node.rc.iter().flat_map(|rc| rc.definition.insert.iter().flat_map(|insert| &insert.insert_style_list));
    if !styles.into_iter().any(|style| style.ric_insert_style_type.0 == MOBILITY) {
        return Err(node.lacks("requests for decisions on handovers (E2SM-RC insert style 3)"));
    }
    let detection = node.rc.as_ref().map(|rc| rc.detection);
    planned(node, &Plan::insert_handover(None), RicActionType::Insert, Reader::Handovers(detection))
}

/// The subscription that installs a policy.
pub(super) fn plan_policy(node: &NodeEntry, plan: &Plan) -> Result<Vec<Planned>, Error> {
    let styles = node.rc.iter().flat_map(|rc| rc.definition.policy.iter().flat_map(|policy| &policy.policy_style_list));
    let style = plan.action.ric_style_type;
    if !styles.into_iter().any(|offered| offered.ric_policy_style_type == style) {
        return Err(node.lacks(format!("policies of style {} (E2SM-RC)", style.0)));
    }
    planned(node, plan, RicActionType::Policy, Reader::Nothing)
}

/// The subscription that installs rules on handovers.
pub(super) fn plan_handover_rules(node: &NodeEntry, rules: &[HandoverRule]) -> Result<Vec<Planned>, Error> {
    let Some(RcFunction { definition, .. }) = &node.rc else { return Err(node.lacks("E2SM-RC")) };
    let cell = |identity| CellId::new(identity).at(&node.global_id);
    match rc::handover_policy(rules, definition, cell) {
        Ok(plan) => planned(node, &plan, RicActionType::Policy, Reader::Nothing),
        Err(RuleFault::UnknownParameter { parameter, offered }) => Err(Error::NotOffered {
            node: Some(node.name.to_string()),
            what: format!("the parameter `{parameter}` as a condition of policies"),
            nearest: e2sm::kpm::nearest_names(&parameter, offered.iter().map(String::as_str)),
        }),
        Err(fault) => Err(node.lacks(fault.to_string())),
    }
}

/// Policies that nodes apply, until it is dropped.
pub struct Policy {
    id: StreamId,
    session: Arc<Session>,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        // without a session there is nothing to remove
        if self.session.shared.check().is_ok() {
            let id = self.id;
            self.session.shared.post(Box::new(move |core, commands| core.remove_stream(commands, id)));
        }
    }
}

impl Ric {
    /// Requests the decision on each handover that a node begins, also of nodes that come later (E2SM-RC 7.5.4).
    ///
    /// # Errors
    /// [`Error::NotOffered`], [`Error::Refused`]: if every node refuses.
    pub fn handover_requests(&self) -> Result<Feed<HandoverRequest>, Error> {
        let handle = self.handle().clone();
        let buffer = Arc::new(Buffer::new().map_err(|source| handle.system_error("eventfd", source))?);
        let to_core = Arc::clone(&buffer);
        let session = Arc::downgrade(&handle.session);
        let deadline = handle.deadline;
        let id = handle.session.ask(
            || "requests for decisions on handovers".into(),
            deadline,
            move |core, commands, reply| {
                core.follow_ues(commands);
                core.add_stream(commands, Purpose::Handovers { buffer: to_core, session, deadline }, None, reply);
            },
        )?;
        Ok(Feed::new(buffer, id, handle.session))
    }

    /// Installs rules at every node that offers policies of this style, also at nodes that come later, until the returned
    /// value is dropped. The plan is one of [`rc::Plan::policy`].
    ///
    /// # Errors
    /// [`Error::NotOffered`], [`Error::Refused`]: if every node refuses.
    pub fn policy(&self, plan: Plan) -> Result<Policy, Error> {
        let Handle { session, deadline, .. } = self.handle().clone();
        let id = session.ask(
            || "installation of a policy".into(),
            deadline,
            move |core, commands, reply| core.add_stream(commands, Purpose::Policy(Box::new(plan)), None, reply),
        )?;
        Ok(Policy { id, session })
    }

    /// Installs rules on handovers at every node that offers policies on them, also at nodes that come later, until the returned
    /// value is dropped: [`Ric::policy`] without a plan, and with the names of parameters that each node registers.
    ///
    /// # Errors
    /// [`Error::Invalid`] without a rule; [`Error::Unknown`] for a cell; [`Error::NotOffered`] with the parameters that nodes test,
    /// [`Error::Refused`]: if every node refuses.
    pub fn handover_policy(&self, rules: impl IntoIterator<Item = HandoverRule>) -> Result<Policy, Error> {
        let Handle { session, deadline, .. } = self.handle().clone();
        let rules: Vec<_> = rules.into_iter().collect();
        rc::check_rules(&rules).map_err(|fault| Error::invalid("rules", rules.len(), fault.to_string()))?;
        let targets = rules.iter().filter_map(|rule| match rule.outcome {
            HandoverOutcome::To(cell) => Some(CellId::new(cell)),
            _ => None,
        });
        let targets: Vec<_> = targets.collect();
        let id = session.ask(
            || "installation of a policy".into(),
            deadline,
            move |core, commands, reply| match targets.into_iter().try_for_each(|cell| core.check_cell(cell)) {
                Ok(()) => core.add_stream(commands, Purpose::HandoverRules(rules), None, reply),
                Err(error) => reply.send(Err(error)),
            },
        )?;
        Ok(Policy { id, session })
    }
}

/// Reads an indication: the UE and its target cell, if it is a request for a decision on a handover.
pub(super) fn read_request(
    detection: rc::Detection,
    header: &[u8],
    message: &[u8],
) -> Result<Option<(UeId<'static>, CellId)>, e2sm::Error> {
    let request = rc::HandoverRequest::decode_in(header, message, detection.revision, detection.wire)?;
    Ok(request.map(|request| (request.ue_id, CellId::of(&request.handover.target))))
}
