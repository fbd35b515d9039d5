//! Controls: decoding, checking, execution by the base station, and outcome.

use e2sm::Wire;
use e2sm::common::RicStyleType;
use e2sm::rc::{
    ActionId, CallProcessId, Control, ControlAction, ControlActions, ControlOutcome, ControlOutcomeFormat1,
    ControlOutcomeFormat2, ControlOutcomeFormat2OutcomeItem, ControlOutcomeFormat2StyleItem, ControlOutcomeFormat3,
    ControlOutcomeFormats, ControlTarget, Decision, EntityFilter, FilteredAction, RanParameterElementItem,
    RanParameterId, RanParameterTesting, RanParameterValue, Revision,
};
use ferric::agent::{ControlFailure, ControllerId, FunctionContext, Ue};
use ferric::e2::{ControlRequest, Time};
use ferric::e2ap::{Cause, CauseRicRequest};
use per::{List, PrintableString};
use tracing::{info, warn};

use super::definition::{OUTCOME_WITH_STRUCTURES, outcome_format};
use super::events::element;
use super::{Origin, RcConfig, RcSource, Refusal, State, Verdict, conditions, offer, ues};

/// The RAN parameter of a control outcome that contains the reason for a refusal as text. The ID is ferric's own, outside
/// the range of the specification. If a parameter of the control is at fault, the outcome has the text under the ID of that
/// parameter.
pub const REFUSAL_REASON: RanParameterId = RanParameterId(4_000_000_000);

/// The maximum number of tests in all filters of a control, since each is evaluated for each UE.
const MAX_FILTER_TESTS: usize = 256;

type Outcome = Vec<RanParameterElementItem<'static>>;

fn refuse<T>(cause: CauseRicRequest, reason: impl Into<std::borrow::Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(Cause::RicRequest(cause), reason))
}

/// The refusal of a control that cannot be decoded.
fn undecodable(error: &e2sm::Error) -> Refusal {
    let parameter = match error {
        e2sm::Error::Parameter(error) => Some(error.id),
        _ => None,
    };
    let cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
    Refusal { cause, parameter, reason: error.to_string().into() }
}

/// A control that has been checked.
enum Plan {
    /// Actions to execute in this order.
    Execute(Vec<Step>),
    /// Parameters to return.
    Return(Outcome),
}

/// An action and the UEs that it applies to.
struct Step {
    action: ControlAction,
    targets: Vec<Option<Ue>>,
}

impl State {
    /// Decodes and executes a control.
    pub(super) fn execute<S: RcSource>(
        &mut self,
        source: &mut S,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let RcConfig { revision, wire, .. } = self.config;
        let encode = |formats| encode(revision, wire, formats);
        let fail = |refusal: &Refusal, formats| {
            info!(controller = controller.0, cause = %refusal.cause, reason = %refusal.reason, "control refused");
            ControlFailure { cause: refusal.cause, outcome: encode(formats) }
        };
        let (views, header, message) = (context.views(), &request.header, &request.message);
        if let Err(refusal) = offer::check(source, &self.config, views, controller, header, message) {
            return Err(fail(&refusal, single(None, reason_outcome(&refusal))));
        }
        let control = match Control::decode_in(&request.header, &request.message, revision, wire) {
            Ok(control) => control,
            Err(error) => {
                let refusal = undecodable(&error);
                return Err(fail(&refusal, single(None, reason_outcome(&refusal))));
            }
        };
        let style = style_of(&control.actions);
        if let Some(call_process_id) = &request.call_process_id {
            let answered = self.answer_insert(source, now, controller, call_process_id, &control, context);
            return match answered {
                Ok(()) => Ok(success(revision, style, Vec::new()).and_then(|formats| encode(Some(formats)))),
                Err(refusal) => Err(fail(&refusal, single(style, reason_outcome(&refusal)))),
            };
        }
        let is_multiple = matches!(control.actions, ControlActions::Several(_));
        if is_multiple && !self.config.offer.multiple_actions {
            let reason = "control style 255, several actions, is not offered";
            let refusal = Refusal::new(Cause::RicRequest(CauseRicRequest::ActionNotSupported), reason);
            return Err(fail(&refusal, single(None, reason_outcome(&refusal))));
        }
        let steps = match plan(source, controller, &control, context) {
            Ok(Plan::Execute(steps)) => steps,
            Ok(Plan::Return(outcome)) => {
                return Ok(success(revision, style, outcome).and_then(|formats| encode(Some(formats))));
            }
            Err(refusal) => return Err(fail(&refusal, single(style, reason_outcome(&refusal)))),
        };
        let mut outcomes = Vec::new();
        for Step { action, targets } in &steps {
            match execute_action(source, now, controller, action, targets) {
                Ok(outcome) => outcomes.push((action.id(), outcome)),
                Err(refusal) if is_multiple => {
                    outcomes.push((action.id(), reason_outcome(&refusal)));
                    return Err(fail(&refusal, multiple(outcomes)));
                }
                Err(refusal) => {
                    let refusal = with_progress(refusal, outcomes.len());
                    return Err(fail(&refusal, single(style, reason_outcome(&refusal))));
                }
            }
        }
        let formats = if is_multiple {
            multiple(outcomes)
        } else {
            success(revision, style, outcomes.into_iter().flat_map(|(_, outcome)| outcome).collect())
        };
        Ok(formats.and_then(|formats| encode(Some(formats))))
    }

    /// Resumes a suspended procedure with the answer of the controller.
    fn answer_insert<S: RcSource>(
        &mut self,
        source: &mut S,
        now: Time,
        controller: ControllerId,
        call_process_id: &[u8],
        control: &Control,
        context: &mut FunctionContext<'_>,
    ) -> Result<(), Refusal> {
        let number = CallProcessId::decode_in(call_process_id, self.config.revision, self.config.wire)
            .ok()
            .map(CallProcessId::number);
        let insert = number.and_then(|number| Some((number, self.pending.get(number)?)));
        let Some((number, insert)) = insert.filter(|(_, insert)| insert.key.controller == controller) else {
            return refuse(
                CauseRicRequest::RicCallProcessIdInvalid,
                "no procedure with this call process ID is suspended",
            );
        };
        let action = match &control.actions {
            ControlActions::One(action) => action,
            // the answer to insert style 255, which requests a single action
            ControlActions::Several(actions) if actions.len() == 1 => &actions[0],
            _ => return refuse(CauseRicRequest::ControlMessageInvalid, "an insert must be answered with one action"),
        };
        if action.id() != insert.action {
            let reason = format!("the suspended procedure requests {}, not {}", insert.action, action.id());
            return refuse(CauseRicRequest::ControlMessageInvalid, reason);
        }
        if let ControlTarget::Ue(ue_id) = &control.target
            && !insert.suspended.ue_id.is_same_ue(ue_id)
        {
            return refuse(CauseRicRequest::ControlMessageInvalid, "the suspended procedure belongs to another UE");
        }
        let is_empty = matches!(action, ControlAction::Other(other) if other.parameters.is_empty());
        let verdict = match control.decision {
            Some(Decision::Reject) => Verdict::Cancel,
            Some(Decision::Accept) | None if is_empty => Verdict::Continue,
            Some(Decision::Accept) | None => Verdict::Replace(action),
        };
        if let Some(insert) = self.pending.remove(number) {
            self.resume(source, now, &insert.suspended, verdict, context);
        }
        Ok(())
    }
}

/// Checks a control.
fn plan<S: RcSource>(
    source: &S,
    controller: ControllerId,
    control: &Control,
    context: &FunctionContext<'_>,
) -> Result<Plan, Refusal> {
    let step = |action: &ControlAction| {
        let targets = find_targets(source, controller, &control.target, action.id(), action.is_about_ue(), context)?;
        Ok(Step { action: action.clone(), targets })
    };
    match &control.actions {
        ControlActions::One(action) => Ok(Plan::Execute(vec![step(action)?])),
        ControlActions::Several(actions) => actions.iter().map(step).collect::<Result<_, _>>().map(Plan::Execute),
        ControlActions::Filtered(filtered) => plan_filtered(source, controller, control, filtered, context),
        ControlActions::Query(id, parameters) => read_parameters(source, controller, control, *id, parameters, context),
    }
}

/// Checks a control whose action differs for the UEs that pass a filter.
fn plan_filtered<S: RcSource>(
    source: &S,
    controller: ControllerId,
    control: &Control,
    filtered: &FilteredAction,
    context: &FunctionContext<'_>,
) -> Result<Plan, Refusal> {
    let invalid = CauseRicRequest::ControlMessageInvalid;
    let targets = find_targets(source, controller, &control.target, filtered.id, true, context)?;
    let can_evaluate =
        |filter: &EntityFilter<'_>| conditions::can_evaluate(source, &filter.entity_filter_definition, |_| true);
    let tests: usize = filtered.filters.iter().map(|filter| filter.entity_filter_definition.0.len()).sum();
    if tests > MAX_FILTER_TESTS {
        return refuse(
            CauseRicRequest::FunctionResourceLimit,
            format!("filters have more than {MAX_FILTER_TESTS} tests"),
        );
    }
    if let Some(filter) = filtered.filters.iter().find(|filter| !can_evaluate(filter)) {
        return refuse(invalid, format!("filter {} tests an unsupported parameter", filter.entity_filter_id.0));
    }
    let step = |ue: Option<Ue>| {
        let holds = |testing: &RanParameterTesting<'_>| ue.is_some_and(|ue| conditions::hold(source, ue, testing));
        let action = filtered.action(holds).map_err(|error| undecodable(&error))?;
        if !action.is_about_ue() {
            return refuse(invalid, format!("{} does not apply to UEs, so filters are not possible", action.id()));
        }
        Ok(Step { action, targets: vec![ue] })
    };
    targets.into_iter().map(step).collect::<Result<_, _>>().map(Plan::Execute)
}

/// The current values of parameters of one UE.
fn read_parameters<S: RcSource>(
    source: &S,
    controller: ControllerId,
    control: &Control,
    id: ActionId,
    parameters: &[RanParameterId],
    context: &FunctionContext<'_>,
) -> Result<Plan, Refusal> {
    let targets = find_targets(source, controller, &control.target, id, true, context)?;
    let [Some(ue)] = targets[..] else {
        return refuse(CauseRicRequest::ControlMessageInvalid, "parameters can be requested of one UE at a time");
    };
    let item = |id: &RanParameterId| match source.ue_parameter(ue, *id) {
        Some(value) => Ok(RanParameterElementItem { ran_parameter_id: *id, value }),
        None => Err(Refusal {
            parameter: Some(*id),
            ..Refusal::new(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid), "the parameter is not supported")
        }),
    };
    parameters.iter().map(item).collect::<Result<_, _>>().map(Plan::Return)
}

/// The UEs that an action applies to, of those that the controller may see; a single `None` if it does not apply to UEs.
fn find_targets<S: RcSource>(
    source: &S,
    controller: ControllerId,
    target: &ControlTarget,
    action: ActionId,
    is_about_ue: bool,
    context: &FunctionContext<'_>,
) -> Result<Vec<Option<Ue>>, Refusal> {
    if !source.control_actions().contains(&action) {
        return refuse(CauseRicRequest::ActionNotSupported, format!("{action} is not offered"));
    }
    if !is_about_ue {
        return Ok(vec![None]);
    }
    let visible = ues::visible(source, context.views(), controller);
    let targets: Vec<Ue> = match target {
        ControlTarget::Ue(ue_id) => ues::find(source, &visible, ue_id).into_iter().collect(),
        ControlTarget::Partial(ue_id) => visible.into_iter().filter(|ue| ue_id.matches(&source.ue_id(*ue))).collect(),
        ControlTarget::Group(_, group) if !conditions::can_group(source, group) => {
            return refuse(CauseRicRequest::ControlMessageInvalid, "the group is defined by an unsupported parameter");
        }
        ControlTarget::Group(_, group) => {
            visible.into_iter().filter(|ue| conditions::is_in_group(source, *ue, group)).collect()
        }
        ControlTarget::NoUe => {
            return refuse(CauseRicRequest::ControlMessageInvalid, format!("{action} requires a UE"));
        }
    };
    match (targets.len(), target) {
        (0, _) => refuse(CauseRicRequest::ControlFailedToExecute, "there is no such UE"),
        (2.., ControlTarget::Partial(_)) => {
            refuse(CauseRicRequest::ControlMessageInvalid, "the partial UE ID matches several UEs")
        }
        _ => Ok(targets.into_iter().map(Some).collect()),
    }
}

/// Executes an action on each target, until one is refused.
fn execute_action<S: RcSource>(
    source: &mut S,
    now: Time,
    controller: ControllerId,
    action: &ControlAction,
    targets: &[Option<Ue>],
) -> Result<Outcome, Refusal> {
    let mut outcome = Vec::new();
    for (done, ue) in targets.iter().enumerate() {
        let parameters = source.control(now, Origin::Control(controller), *ue, action);
        outcome.extend(parameters.map_err(|refusal| with_progress(refusal, done))?);
    }
    Ok(outcome)
}

/// The outcome with the reason of a refusal.
fn reason_outcome(refusal: &Refusal) -> Outcome {
    let reason: String = refusal.reason.chars().filter(char::is_ascii).collect();
    let Ok(reason) = PrintableString::try_from(reason) else { return Vec::new() };
    let value = RanParameterValue::ValuePrintableString(reason);
    vec![RanParameterElementItem { ran_parameter_id: refusal.parameter.unwrap_or(REFUSAL_REASON), value }]
}

/// The control style; `None` for multiple actions.
fn style_of(actions: &ControlActions) -> Option<RicStyleType> {
    match actions {
        ControlActions::One(action) => Some(action.id().style),
        ControlActions::Filtered(filtered) => Some(filtered.id.style),
        ControlActions::Query(id, _) => Some(id.style),
        ControlActions::Several(_) => None,
    }
}

/// The outcome of a single action, in the format of its style.
fn single(style: Option<RicStyleType>, outcome: Outcome) -> Option<ControlOutcomeFormats<'static>> {
    if style.is_some_and(|style| outcome_format(style) == OUTCOME_WITH_STRUCTURES) {
        let item = |item: RanParameterElementItem<'static>| element(item.ran_parameter_id, item.value);
        let ran_p_list = outcome.into_iter().map(item).collect();
        return Some(ControlOutcomeFormats::Format3(ControlOutcomeFormat3 { ran_p_list }));
    }
    Some(ControlOutcomeFormats::Format1(ControlOutcomeFormat1 { ran_p_list: List::from(outcome) }))
}

/// Adds the number of UEs for which the action was executed before it was refused.
fn with_progress(refusal: Refusal, executed: usize) -> Refusal {
    match executed {
        0 => refusal,
        _ => Refusal { reason: format!("{}; executed for {executed} UEs before", refusal.reason).into(), ..refusal },
    }
}

/// The outcome of multiple actions; `None` if no action has outcome parameters.
fn multiple(outcomes: Vec<(ActionId, Outcome)>) -> Option<ControlOutcomeFormats<'static>> {
    let outcomes: Vec<_> = outcomes.into_iter().filter(|(_, outcome)| !outcome.is_empty()).collect();
    let style = |style: RicStyleType, run: &[(ActionId, Outcome)]| ControlOutcomeFormat2StyleItem {
        indicated_control_style_type: style,
        control_outcome_list: run
            .iter()
            .map(|(id, outcome)| ControlOutcomeFormat2OutcomeItem {
                ric_control_action_id: id.action,
                ran_p_list: List::from(outcome.clone()),
            })
            .collect(),
    };
    let runs = outcomes.chunk_by(|a, b| a.0.style == b.0.style).map(|run| style(run[0].0.style, run));
    let control_style_list: List<'static, _> = runs.collect();
    let formats = ControlOutcomeFormats::Format2(ControlOutcomeFormat2 { control_style_list });
    (!outcomes.is_empty()).then_some(formats)
}

/// The outcome of a successful control: v01.03 omits an empty one.
fn success(
    revision: Revision,
    style: Option<RicStyleType>,
    outcome: Outcome,
) -> Option<ControlOutcomeFormats<'static>> {
    if outcome.is_empty() && revision == Revision::V1_03 { None } else { single(style, outcome) }
}

fn encode(revision: Revision, wire: Wire, formats: Option<ControlOutcomeFormats<'static>>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match (ControlOutcome { formats: formats? }).encode_in(revision, wire, &mut bytes) {
        Ok(()) => Some(bytes),
        Err(error) => {
            warn!(%error, "cannot encode a control outcome: a value of the source is out of range");
            None
        }
    }
}
