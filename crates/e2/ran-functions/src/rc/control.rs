//! Controls: read, checked, handed to the base station, and what came of them.

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
use tracing::{debug, warn};

use super::definition::{OUTCOME_WITH_STRUCTURES, outcome_format};
use super::events::element;
use super::{Origin, RcConfig, RcFunction, RcSource, Refusal, Verdict, conditions, ues};

/// The parameter of an outcome that says in words reason a control was not carried out: one of ours, far from those of
/// the specification. Where a parameter of the control is at fault, the words stand under that one's number.
pub const REFUSAL_REASON: RanParameterId = RanParameterId(4_000_000_000);

/// Tests of all filters of a control, each of which is made of each UE.
const MAX_FILTER_TESTS: usize = 256;

type Outcome = Vec<RanParameterElementItem<'static>>;

fn refuse<T>(cause: CauseRicRequest, reason: impl Into<std::borrow::Cow<'static, str>>) -> Result<T, Refusal> {
    Err(Refusal::new(Cause::RicRequest(cause), reason))
}

/// A control that cannot be read, or parts of it.
fn unreadable(error: &e2sm::Error) -> Refusal {
    let parameter = match error {
        e2sm::Error::Parameter(error) => Some(error.id),
        _ => None,
    };
    let cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
    Refusal { cause, parameter, reason: error.to_string().into() }
}

/// What comes of a control that was checked.
enum Planned {
    /// Something is to be done, in that order.
    Steps(Vec<Step>),
    /// Something is to be told.
    Told(Outcome),
}

/// An action, and to whom it is done.
struct Step {
    action: ControlAction,
    targets: Vec<Option<Ue>>,
}

impl<S: RcSource> RcFunction<S> {
    /// Reads a control and carries it out.
    pub(super) fn carry_out(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let RcConfig { revision, wire, .. } = self.config;
        let encode = |formats| encode(revision, wire, formats);
        let fail = |refusal: &Refusal, formats| {
            debug!(controller = controller.0, cause = %refusal.cause, reason = %refusal.reason, "control refused");
            ControlFailure { cause: refusal.cause, outcome: encode(formats) }
        };
        let control = match Control::decode_in(&request.header, &request.message, revision, wire) {
            Ok(control) => control,
            Err(error) => {
                let refusal = unreadable(&error);
                return Err(fail(&refusal, one(None, told(&refusal))));
            }
        };
        let style = style_of(&control.actions);
        if let Some(call_process_id) = &request.call_process_id {
            let answered = self.answer(now, controller, call_process_id, &control, reports);
            return match answered {
                Ok(()) => Ok(success(revision, style, Vec::new()).and_then(|formats| encode(Some(formats)))),
                Err(refusal) => Err(fail(&refusal, one(style, told(&refusal)))),
            };
        }
        let is_several = matches!(control.actions, ControlActions::Several(_));
        let steps = match self.steps(controller, &control, reports) {
            Ok(Planned::Steps(steps)) => steps,
            Ok(Planned::Told(outcome)) => {
                return Ok(success(revision, style, outcome).and_then(|formats| encode(Some(formats))));
            }
            Err(refusal) => return Err(fail(&refusal, one(style, told(&refusal)))),
        };
        let mut outcomes = Vec::new();
        for Step { action, targets } in &steps {
            match self.act(now, controller, action, targets) {
                Ok(outcome) => outcomes.push((action.id(), outcome)),
                Err(refusal) if is_several => {
                    outcomes.push((action.id(), told(&refusal)));
                    return Err(fail(&refusal, several(outcomes)));
                }
                Err(refusal) => {
                    let refusal = after(outcomes.len(), refusal);
                    return Err(fail(&refusal, one(style, told(&refusal))));
                }
            }
        }
        let formats = if is_several {
            several(outcomes)
        } else {
            success(revision, style, outcomes.into_iter().flat_map(|(_, outcome)| outcome).collect())
        };
        Ok(formats.and_then(|formats| encode(Some(formats))))
    }

    /// What is to be done to whom, all of it checked.
    fn steps(
        &self,
        controller: ControllerId,
        control: &Control,
        reports: &FunctionContext<'_>,
    ) -> Result<Planned, Refusal> {
        let step = |action: &ControlAction| {
            let targets = self.targets(controller, &control.target, action.id(), action.is_about_ue(), reports)?;
            Ok(Step { action: action.clone(), targets })
        };
        match &control.actions {
            ControlActions::One(action) => Ok(Planned::Steps(vec![step(action)?])),
            ControlActions::Several(actions) => actions.iter().map(step).collect::<Result<_, _>>().map(Planned::Steps),
            ControlActions::Filtered(filtered) => self.filtered(controller, control, filtered, reports),
            ControlActions::Tell(id, parameters) => self.tell(controller, control, *id, parameters, reports),
        }
    }

    /// An action that is another for those who pass a filter.
    fn filtered(
        &self,
        controller: ControllerId,
        control: &Control,
        filtered: &FilteredAction,
        reports: &FunctionContext<'_>,
    ) -> Result<Planned, Refusal> {
        let invalid = CauseRicRequest::ControlMessageInvalid;
        let targets = self.targets(controller, &control.target, filtered.id, true, reports)?;
        let source = self.source.borrow();
        let can_answer =
            |filter: &EntityFilter<'_>| conditions::can_answer(&*source, &filter.entity_filter_definition, |_| true);
        let tests: usize = filtered.filters.iter().map(|filter| filter.entity_filter_definition.0.len()).sum();
        if tests > MAX_FILTER_TESTS {
            return refuse(
                CauseRicRequest::FunctionResourceLimit,
                format!("filters have {MAX_FILTER_TESTS} tests at most"),
            );
        }
        if let Some(filter) = filtered.filters.iter().find(|filter| !can_answer(filter)) {
            return refuse(invalid, format!("filter {} is by what is not known here", filter.entity_filter_id.0));
        }
        let step = |ue: Option<Ue>| {
            let holds =
                |testing: &RanParameterTesting<'_>| ue.is_some_and(|ue| conditions::hold(&*source, ue, testing));
            let action = filtered.action(holds).map_err(|error| unreadable(&error))?;
            if !action.is_about_ue() {
                return refuse(invalid, format!("{} is not about UEs, which filters tell apart", action.id()));
            }
            Ok(Step { action, targets: vec![ue] })
        };
        targets.into_iter().map(step).collect::<Result<_, _>>().map(Planned::Steps)
    }

    /// Parameters of one UE, as they are.
    fn tell(
        &self,
        controller: ControllerId,
        control: &Control,
        id: ActionId,
        parameters: &[RanParameterId],
        reports: &FunctionContext<'_>,
    ) -> Result<Planned, Refusal> {
        let targets = self.targets(controller, &control.target, id, true, reports)?;
        let [Some(ue)] = targets[..] else {
            return refuse(CauseRicRequest::ControlMessageInvalid, "parameters are told of one UE at a time");
        };
        let source = self.source.borrow();
        let told = |id: &RanParameterId| match source.ue_parameter(ue, *id) {
            Some(value) => Ok(RanParameterElementItem { ran_parameter_id: *id, value }),
            None => Err(Refusal {
                parameter: Some(*id),
                ..Refusal::new(Cause::RicRequest(CauseRicRequest::ControlMessageInvalid), "is not known here")
            }),
        };
        parameters.iter().map(told).collect::<Result<_, _>>().map(Planned::Told)
    }

    /// To whom an action is done: UEs that the controller sees; once to nobody in particular.
    fn targets(
        &self,
        controller: ControllerId,
        target: &ControlTarget,
        action: ActionId,
        is_about_ue: bool,
        reports: &FunctionContext<'_>,
    ) -> Result<Vec<Option<Ue>>, Refusal> {
        let source = self.source.borrow();
        if !source.control_actions().contains(&action) {
            return refuse(CauseRicRequest::ActionNotSupported, format!("{action} is not offered"));
        }
        if !is_about_ue {
            return Ok(vec![None]);
        }
        let seen = ues::seen(&*source, reports.views(), controller);
        let meant: Vec<Ue> = match target {
            ControlTarget::Ue(name) => ues::find(&*source, &seen, name).into_iter().collect(),
            ControlTarget::Partial(names) => {
                seen.into_iter().filter(|ue| ues::has_names(&source.ue_id(*ue), names)).collect()
            }
            ControlTarget::Group(_, group) if !conditions::can_group(&*source, group) => {
                return refuse(
                    CauseRicRequest::ControlMessageInvalid,
                    "the group is defined by what is not known here",
                );
            }
            ControlTarget::Group(_, group) => {
                seen.into_iter().filter(|ue| conditions::is_in_group(&*source, *ue, group)).collect()
            }
            ControlTarget::Nobody => {
                return refuse(CauseRicRequest::ControlMessageInvalid, format!("{action} is about a UE"));
            }
        };
        match (meant.len(), target) {
            (0, _) => refuse(CauseRicRequest::ControlFailedToExecute, "there is no such UE"),
            (2.., ControlTarget::Partial(_)) => {
                refuse(CauseRicRequest::ControlMessageInvalid, "the names are those of several UEs")
            }
            _ => Ok(meant.into_iter().map(Some).collect()),
        }
    }

    /// One action on each of those; the first refusal ends it.
    fn act(
        &mut self,
        now: Time,
        controller: ControllerId,
        action: &ControlAction,
        targets: &[Option<Ue>],
    ) -> Result<Outcome, Refusal> {
        let mut source = self.source.borrow_mut();
        let mut outcome = Vec::new();
        for (done, ue) in targets.iter().enumerate() {
            let more = source.control(now, Origin::Control(controller), *ue, action);
            let more = more.map_err(|refusal| after(done, refusal))?;
            outcome.extend(more);
        }
        Ok(outcome)
    }

    /// The answer to a procedure that waits.
    fn answer(
        &mut self,
        now: Time,
        controller: ControllerId,
        call_process_id: &[u8],
        control: &Control,
        reports: &mut FunctionContext<'_>,
    ) -> Result<(), Refusal> {
        let number = CallProcessId::decode_in(call_process_id, self.config.revision, self.config.wire)
            .ok()
            .map(CallProcessId::number);
        let asked = number.and_then(|number| Some((number, self.held.get(number)?)));
        let Some((number, asked)) = asked.filter(|(_, asked)| asked.key.controller == controller) else {
            return refuse(CauseRicRequest::RicCallProcessIdInvalid, "no procedure waits under that id, or no longer");
        };
        let action = match &control.actions {
            ControlActions::One(action) => action,
            // the answer to several questions, of which the procedure wants one
            ControlActions::Several(actions) if actions.len() == 1 => &actions[0],
            _ => return refuse(CauseRicRequest::ControlMessageInvalid, "a procedure is answered by one action"),
        };
        if action.id() != asked.action {
            let reason = format!("the procedure that waits is about {}, not {}", asked.action, action.id());
            return refuse(CauseRicRequest::ControlMessageInvalid, reason);
        }
        if let ControlTarget::Ue(name) = &control.target
            && !ues::is_named(&asked.stopped.ue_id, name)
        {
            return refuse(CauseRicRequest::ControlMessageInvalid, "another UE's procedure waits under that id");
        }
        let is_empty = matches!(action, ControlAction::Other(other) if other.parameters.is_empty());
        let verdict = match control.decision {
            Some(Decision::Reject) => Verdict::Cancel,
            Some(Decision::Accept) | None if is_empty => Verdict::Continue,
            Some(Decision::Accept) | None => Verdict::Replace(action),
        };
        if let Some(asked) = self.held.remove(number) {
            self.resume(now, &asked.stopped, verdict, reports);
        }
        Ok(())
    }
}

/// An outcome of words.
fn told(refusal: &Refusal) -> Outcome {
    let words: String = refusal.reason.chars().filter(char::is_ascii).collect();
    let Ok(words) = PrintableString::try_from(words) else { return Vec::new() };
    let value = RanParameterValue::ValuePrintableString(words);
    vec![RanParameterElementItem { ran_parameter_id: refusal.parameter.unwrap_or(REFUSAL_REASON), value }]
}

/// The style of a control's actions; none where they are several.
fn style_of(actions: &ControlActions) -> Option<RicStyleType> {
    match actions {
        ControlActions::One(action) => Some(action.id().style),
        ControlActions::Filtered(filtered) => Some(filtered.id.style),
        ControlActions::Tell(id, _) => Some(id.style),
        ControlActions::Several(_) => None,
    }
}

/// The outcome of one action; that of measurement reporting, which may hold structures, has a format of its own.
fn one(style: Option<RicStyleType>, outcome: Outcome) -> Option<ControlOutcomeFormats<'static>> {
    if style.is_some_and(|style| outcome_format(style) == OUTCOME_WITH_STRUCTURES) {
        let item = |item: RanParameterElementItem<'static>| element(item.ran_parameter_id, item.value);
        let ran_p_list = outcome.into_iter().map(item).collect();
        return Some(ControlOutcomeFormats::Format3(ControlOutcomeFormat3 { ran_p_list }));
    }
    Some(ControlOutcomeFormats::Format1(ControlOutcomeFormat1 { ran_p_list: List::from(outcome) }))
}

/// A refusal after it was done to some.
fn after(done: usize, refusal: Refusal) -> Refusal {
    match done {
        0 => refusal,
        _ => Refusal { reason: format!("{}; done for {done} UEs before", refusal.reason).into(), ..refusal },
    }
}

/// What was told of each action; nothing where nothing was told of any.
fn several(outcomes: Vec<(ActionId, Outcome)>) -> Option<ControlOutcomeFormats<'static>> {
    let told: Vec<_> = outcomes.into_iter().filter(|(_, outcome)| !outcome.is_empty()).collect();
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
    let runs = told.chunk_by(|a, b| a.0.style == b.0.style).map(|run| style(run[0].0.style, run));
    let control_style_list: List<'static, _> = runs.collect();
    let formats = ControlOutcomeFormats::Format2(ControlOutcomeFormat2 { control_style_list });
    (!told.is_empty()).then_some(formats)
}

/// v01.03 is told an outcome where there is something to tell, later revisions always.
fn success(
    revision: Revision,
    style: Option<RicStyleType>,
    outcome: Outcome,
) -> Option<ControlOutcomeFormats<'static>> {
    if outcome.is_empty() && revision == Revision::V1_03 { None } else { one(style, outcome) }
}

fn encode(revision: Revision, wire: Wire, formats: Option<ControlOutcomeFormats<'static>>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match (ControlOutcome { formats: formats? }).encode_in(revision, wire, &mut bytes) {
        Ok(()) => Some(bytes),
        Err(error) => {
            warn!(%error, "an outcome cannot be written: the source tells more than fits");
            None
        }
    }
}
