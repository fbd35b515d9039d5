//! What happens, and who is told, asked, or has said what is to be done.

use std::collections::BTreeSet;
use std::time::Duration;

use e2sm::common::{Cgi, RicStyleType, UeId};
use e2sm::rc::dictionary::{self, Breakpoint};
use e2sm::rc::{
    ActionId, CallProcessId, ControlAction, Decision, E2NodeInfoChangeId, IndicationHeader, IndicationHeaderFormat1,
    IndicationHeaderFormat2, IndicationHeaderFormat3, IndicationHeaderFormats, IndicationMessage,
    IndicationMessageFormat1, IndicationMessageFormat2, IndicationMessageFormat2Item, IndicationMessageFormat3,
    IndicationMessageFormat3Item, IndicationMessageFormat4, IndicationMessageFormat4ItemCell,
    IndicationMessageFormat4ItemUe, IndicationMessageFormat5, IndicationMessageFormat6,
    IndicationMessageFormat6IndicationItem, IndicationMessageFormat6StyleItem, IndicationMessageFormats,
    MessageDirection, RanParameterElementFalse, RanParameterId, RanParameterItem, RanParameterValue,
    RanParameterValueType, RicEventTriggerConditionId, RicInsertIndicationId, RrcState,
};
use ferric::agent::{FunctionContext, RequestKey, Ue, Views};
use ferric::e2::Time;
use per::{Encode, List, Octets};
use tracing::{debug, warn};

use super::subscription::{Copied, Insert, Subscription, Trigger, UeChange, UeCondition, What, deadline};
use super::{Event, Origin, ProcedureId, RcConfig, RcFunction, RcSource, Verdict, conditions, ues};

/// Events that are told of in one turn; the rest waits for the next.
const EVENTS_A_TURN: usize = 1024;

/// A procedure at a point.
#[derive(Clone, Debug)]
pub(super) struct Stopped {
    pub procedure: ProcedureId,
    pub breakpoint: Breakpoint,
    pub ue: Ue,
    pub ue_id: UeId<'static>,
}

/// A procedure that waits for a controller's answer.
#[derive(Debug)]
pub(super) struct Asked {
    /// Who was asked.
    pub key: RequestKey,
    pub stopped: Stopped,
    /// What it is about.
    pub action: ActionId,
    /// Whether it goes on without an answer.
    pub goes_on: bool,
}

/// A parameter that is an element.
pub(super) fn element(id: RanParameterId, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
    let value_type = RanParameterValueType::ElementFalse(RanParameterElementFalse { value: Some(value) });
    RanParameterItem { ran_parameter_id: id, value_type }
}

fn state_number(state: RrcState) -> RanParameterValue<'static> {
    RanParameterValue::ValueInt(match state {
        RrcState::RrcConnected => 0,
        RrcState::RrcInactive => 1,
        RrcState::RrcIdle | RrcState::Any => 2,
    })
}

impl<S: RcSource> RcFunction<S> {
    /// Tells of what has happened until now, and lets go what has waited long enough.
    pub(super) fn look(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        for _ in 0..EVENTS_A_TURN {
            let event = self.source.borrow_mut().next_event(now);
            match event {
                None => break,
                Some(Event::RrcState { ue, state }) => self.rrc_state(ue, state, reports),
                Some(Event::RrcMessage { ue, id, from_ue, octets }) => {
                    self.message(ue, Copied::Rrc(id), from_ue, &octets, reports);
                }
                Some(Event::NiMessage { ue, interface, id, is_incoming, octets }) => {
                    self.message(ue, Copied::Ni(interface, id), is_incoming, &octets, reports);
                }
                Some(Event::CellChanged { cell, change }) => self.cell_changed(cell, change, reports),
                Some(Event::Breakpoint { procedure, breakpoint, ue, wants }) => {
                    let ue_id = self.source.borrow().ue_id(ue);
                    self.breakpoint(now, &Stopped { procedure, breakpoint, ue, ue_id }, &wants, reports);
                }
            }
        }
        self.look_at_ues(now, reports);
        for asked in self.held.remove_expired(now) {
            debug!(procedure = asked.stopped.procedure.0, goes_on = asked.goes_on, "nobody has answered in time");
            let verdict = if asked.goes_on { Verdict::Continue } else { Verdict::Cancel };
            self.resume(now, &asked.stopped, verdict, reports);
        }
        for key in std::mem::take(&mut self.on_demand) {
            self.on_demand(key, reports);
        }
    }

    /// An element of octets: a value in PER.
    fn octets(&self, id: RanParameterId, value: &impl Encode) -> Option<RanParameterItem<'static>> {
        let mut bytes = Vec::new();
        per::encode(value, self.config.revision.wire(), &mut bytes).ok()?;
        Some(element(id, RanParameterValue::ValueOctS(Octets::from(bytes))))
    }

    /// Writes header and message of an indication; not one whose values break a bound.
    fn write(
        &self,
        header: IndicationHeaderFormats<'_>,
        message: IndicationMessageFormats<'_>,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut header_octets, mut message_octets) = (Vec::new(), Vec::new());
        let RcConfig { revision, wire, .. } = self.config;
        let written = IndicationHeader { formats: header }
            .encode_in(revision, wire, &mut header_octets)
            .and_then(|()| IndicationMessage { formats: message }.encode_in(revision, wire, &mut message_octets));
        match written {
            Ok(()) => Some((header_octets, message_octets)),
            Err(error) => {
                warn!(%error, "an indication cannot be written: the source's values break a constraint");
                None
            }
        }
    }

    /// Sends a report for each subscription for which `tell` has one to make.
    fn report_to(
        &self,
        reports: &mut FunctionContext<'_>,
        tell: impl Fn(&Self, &Trigger, RequestKey, &[RanParameterId], &FunctionContext<'_>) -> Option<Told>,
    ) {
        for (at, subscription) in self.subscriptions.iter().enumerate() {
            let What::Report { wanted } = &subscription.what else { continue };
            let Some((id, message)) = tell(self, &subscription.trigger, subscription.key, wanted, reports) else {
                continue;
            };
            self.send(at, id, message, reports);
        }
    }

    /// Sends a report to a subscription.
    fn send(
        &self,
        at: usize,
        condition: Option<RicEventTriggerConditionId>,
        message: IndicationMessageFormats<'_>,
        reports: &mut FunctionContext<'_>,
    ) {
        let header =
            IndicationHeaderFormats::Format1(IndicationHeaderFormat1 { ric_event_trigger_condition_id: condition });
        if let Some((header, message)) = self.write(header, message) {
            // a subscription that is gone by now is forgotten by the `unsubscribe` to come
            let _ = reports.report(self.subscriptions[at].key, self.subscriptions[at].action, &header, &message);
        }
    }

    /// Report style 4.
    fn rrc_state(&self, ue: Ue, state: RrcState, reports: &mut FunctionContext<'_>) {
        self.report_to(reports, |this, trigger, key, wanted, reports| {
            let Trigger::UeChanges(conditions) = trigger else { return None };
            let source = this.source.borrow();
            let is_met = |condition: &&UeCondition| {
                let UeChange::Comes(states) = &condition.change else { return false };
                let state = states.iter().any(|wanted| *wanted == state || *wanted == RrcState::Any);
                state && condition.ues.as_ref().is_none_or(|ues| conditions::selects(&*source, ue, ues))
            };
            let met = conditions.iter().find(is_met).filter(|_| reports.views().sees(key.controller, ue))?;
            let item = of_ue(&*source, ue, Some(state), wanted);
            let message = IndicationMessageFormat2 { ue_parameter_list: List::from(vec![item]) };
            Some((Some(met.id), IndicationMessageFormats::Format2(message)))
        });
    }

    /// Report style 4: UEs that have come to meet conditions since that was looked at last.
    fn look_at_ues(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        if self.next_look.is_none_or(|next| now < next) {
            return;
        }
        self.next_look = Some(now + Duration::from_millis(self.config.ue_check_period_ms.into()));
        for at in 0..self.subscriptions.len() {
            let meet = self.meet(&self.subscriptions[at], reports.views());
            let met = std::mem::replace(&mut self.subscriptions[at].met, meet);
            let Subscription {
                trigger: Trigger::UeChanges(conditions), what: What::Report { wanted }, met: meet, ..
            } = &self.subscriptions[at]
            else {
                continue;
            };
            let source = self.source.borrow();
            for (place, condition) in conditions.iter().enumerate() {
                let new = meet.difference(&met).filter(|(of, _)| *of == place);
                let items = new.map(|(_, ue)| of_ue(&*source, *ue, source.rrc_state(*ue), wanted));
                let ue_parameter_list: List<'static, _> = items.collect();
                if !ue_parameter_list.is_empty() {
                    let message = IndicationMessageFormat2 { ue_parameter_list };
                    self.send(at, Some(condition.id), IndicationMessageFormats::Format2(message), reports);
                }
            }
        }
    }

    /// The conditions of a trigger on UEs, by their places, and the UEs that meet them.
    pub(super) fn meet(&self, subscription: &Subscription, views: &Views) -> BTreeSet<(usize, Ue)> {
        let Trigger::UeChanges(conditions) = &subscription.trigger else { return BTreeSet::new() };
        let source = self.source.borrow();
        let seen = ues::seen(&*source, views, subscription.key.controller);
        let mut meet = BTreeSet::new();
        for (place, condition) in conditions.iter().enumerate() {
            let UeChange::Meets(testing) = &condition.change else { continue };
            let is_meant = |ue: &Ue| {
                conditions::hold(&*source, *ue, testing)
                    && condition.ues.as_ref().is_none_or(|ues| conditions::selects(&*source, *ue, ues))
            };
            meet.extend(seen.iter().copied().filter(is_meant).map(|ue| (place, ue)));
        }
        meet
    }

    /// Report style 1.
    fn message(&self, ue: Ue, copied: Copied, is_incoming: bool, octets: &[u8], reports: &mut FunctionContext<'_>) {
        use dictionary::message_copy::{CELL_GLOBAL_ID, NI_MESSAGE, RRC_MESSAGE, UE_ID};
        let own = match copied {
            Copied::Rrc(_) => RRC_MESSAGE,
            Copied::Ni(..) => NI_MESSAGE,
        };
        let direction = if is_incoming { MessageDirection::Incoming } else { MessageDirection::Outgoing };
        self.report_to(reports, |this, trigger, key, wanted, reports| {
            let Trigger::Messages(conditions) = trigger else { return None };
            let source = this.source.borrow();
            let is_met = |condition: &&super::subscription::MessageCondition| {
                let ues = [&condition.ues, &condition.all_ues];
                condition.is_of(&copied)
                    && condition.direction.is_none_or(|wanted| wanted == direction)
                    && ues.into_iter().flatten().all(|ues| conditions::selects(&*source, ue, ues))
            };
            let met = conditions.iter().find(is_met).filter(|_| reports.views().sees(key.controller, ue))?;
            let parameter = |id: &RanParameterId| match *id {
                id if id == own => Some(element(id, RanParameterValue::ValueOctS(Octets::from(octets.to_vec())))),
                UE_ID => this.octets(*id, &source.ue_id(ue)),
                CELL_GLOBAL_ID => this.octets(*id, source.cells().first()?),
                _ => None,
            };
            let reported_list = wanted.iter().filter_map(parameter).collect();
            let message = IndicationMessageFormats::Format1(IndicationMessageFormat1 { reported_list });
            Some((Some(met.id), message))
        });
    }

    /// Report style 3.
    fn cell_changed(&self, cell: Cgi, change: E2NodeInfoChangeId, reports: &mut FunctionContext<'_>) {
        self.report_to(reports, |this, trigger, _, _, _| {
            let Trigger::NodeChanges(conditions) = trigger else { return None };
            let is_met = |condition: &&super::subscription::NodeCondition| {
                condition.change == change && condition.cells.as_ref().is_none_or(|cells| cells.contains(&cell))
            };
            let met = conditions.iter().find(is_met)?;
            let source = this.source.borrow();
            let item = IndicationMessageFormat3Item {
                cell_global_id: cell,
                cell_context_info: None,
                cell_deleted: Some(!source.cells().contains(&cell)),
                neighbor_relation_table: source.neighbor_relations(&cell),
            };
            let message = IndicationMessageFormat3 { cell_info_list: List::from(vec![item]) };
            Some((Some(met.id), IndicationMessageFormats::Format3(message)))
        });
    }

    /// Report style 5, for one subscription.
    fn on_demand(&self, key: RequestKey, reports: &mut FunctionContext<'_>) {
        self.report_to(reports, |this, trigger, of, _, reports| {
            let Trigger::OnDemand(ues) = trigger else { return None };
            if of != key {
                return None;
            }
            let source = this.source.borrow();
            let cells = source.cells();
            let seen = ues::seen(&*source, reports.views(), key.controller);
            let meant =
                seen.into_iter().filter(|ue| ues.as_ref().is_none_or(|ues| conditions::selects(&*source, *ue, ues)));
            // a UE without a cell cannot be told
            let of_ues = meant.filter_map(|ue| {
                let cell_global_id = *cells.first()?;
                Some(IndicationMessageFormat4ItemUe { ue_id: source.ue_id(ue), ue_context_info: None, cell_global_id })
            });
            let of_cells = cells.iter().map(|cell| IndicationMessageFormat4ItemCell {
                cell_global_id: *cell,
                cell_context_info: None,
                neighbor_relation_table: source.neighbor_relations(cell),
            });
            let message =
                IndicationMessageFormat4 { ue_info_list: of_ues.collect(), cell_info_list: of_cells.collect() };
            Some((None, IndicationMessageFormats::Format4(message)))
        });
    }

    /// The subscriptions to that point which are about that UE.
    fn concerned(&self, stopped: &Stopped, reports: &FunctionContext<'_>) -> Vec<usize> {
        let source = self.source.borrow();
        let is_concerned = |at: &usize| {
            let subscription = &self.subscriptions[*at];
            let Trigger::Breakpoint(breakpoint, ues) = &subscription.trigger else { return false };
            *breakpoint == stopped.breakpoint
                && reports.views().sees(subscription.key.controller, stopped.ue)
                && ues.as_ref().is_none_or(|ues| conditions::selects(&*source, stopped.ue, ues))
        };
        (0..self.subscriptions.len()).filter(is_concerned).collect()
    }

    /// A procedure waits: a policy decides, or a controller is asked, or it goes on.
    fn breakpoint(&mut self, now: Time, stopped: &Stopped, wants: &ControlAction, reports: &mut FunctionContext<'_>) {
        let concerned = self.concerned(stopped, reports);
        if self.decided(now, &concerned, stopped, wants, reports)
            || self.asked(now, &concerned, stopped, wants, reports)
        {
            return;
        }
        self.resume(now, stopped, Verdict::Continue, reports);
    }

    /// Whether a policy has decided: the first of which a rule holds.
    fn decided(
        &mut self,
        now: Time,
        concerned: &[usize],
        stopped: &Stopped,
        wants: &ControlAction,
        reports: &mut FunctionContext<'_>,
    ) -> bool {
        let mut source = self.source.borrow_mut();
        let found = concerned.iter().find_map(|at| {
            let What::Policy { rules } = &self.subscriptions[*at].what else { return None };
            let holds = |condition| conditions::hold(&*source, stopped.ue, condition);
            let rule = rules.iter().find(|rule| rule.condition.as_ref().is_none_or(holds))?;
            Some((self.subscriptions[*at].key, rule.action.clone(), rule.decision))
        });
        let Some((key, action, decision)) = found else { return false };
        let says_more = !matches!(&action, ControlAction::Other(other) if other.parameters.is_empty());
        let is_of_procedure = action.id() == wants.id();
        if says_more && !is_of_procedure {
            let target = action.is_about_ue().then_some(stopped.ue);
            if let Err(refusal) = source.control(now, Origin::Policy(key.controller), target, &action) {
                debug!(reason = %refusal.reason, action = %action.id(), "a policy's action is not carried out");
            }
        }
        drop(source);
        let verdict = match decision {
            Some(Decision::Reject) => Verdict::Cancel,
            _ if says_more && is_of_procedure => Verdict::Replace(&action),
            _ => Verdict::Continue,
        };
        self.resume(now, stopped, verdict, reports);
        true
    }

    /// Whether a controller is asked: the first that has subscribed.
    fn asked(
        &mut self,
        now: Time,
        concerned: &[usize],
        stopped: &Stopped,
        wants: &ControlAction,
        reports: &mut FunctionContext<'_>,
    ) -> bool {
        for at in concerned {
            let subscription = &self.subscriptions[*at];
            let What::Insert(insert) = &subscription.what else { continue };
            if insert.ue.as_ref().is_some_and(|name| !ues::is_named(&stopped.ue_id, name)) {
                continue;
            }
            let (key, action) = (subscription.key, subscription.action);
            let Some((header, message)) = self.question(insert, &stopped.ue_id, wants) else { continue };
            let asked = Asked { key, stopped: stopped.clone(), action: wants.id(), goes_on: insert.goes_on };
            let Ok(number) = self.held.insert(deadline(now, insert.wait_ms), asked) else {
                self.unasked += 1;
                warn!(unasked = self.unasked, "as many procedures wait as may: one goes on unasked");
                return false;
            };
            let mut id = Vec::new();
            let written = CallProcessId::new(number).encode_in(self.config.revision, self.config.wire, &mut id);
            if written.is_ok() && reports.insert(key, action, &id, &header, &message).is_ok() {
                return true;
            }
            // a subscription that is gone by now is forgotten by the `unsubscribe` to come
            self.held.remove(number);
        }
        false
    }

    /// The header and message of an insert; `None` where what the procedure wants is not asked about.
    fn question(&self, insert: &Insert, ue_id: &UeId<'static>, wants: &ControlAction) -> Option<(Vec<u8>, Vec<u8>)> {
        let question = insert.questions.iter().find(|question| question.offer.insert.action == wants.id())?;
        let style = RicStyleType(question.offer.insert.style);
        let ric_insert_indication_id = RicInsertIndicationId(question.offer.insert.indication);
        let parameters = wants.to_parameters().into_iter();
        let told = parameters.filter(|item| question.wanted.contains(&item.ran_parameter_id)).collect();
        if insert.is_several {
            let header = IndicationHeaderFormat3 { ric_event_trigger_condition_id: None, ue_id: Some(ue_id.clone()) };
            let of_style = IndicationMessageFormat6StyleItem {
                indicated_insert_style_type: style,
                insert_indication_list: List::from(vec![IndicationMessageFormat6IndicationItem {
                    ric_insert_indication_id,
                    insert_indication_list: told,
                }]),
            };
            let message = IndicationMessageFormat6 { insert_style_list: List::from(vec![of_style]) };
            return self.write(IndicationHeaderFormats::Format3(header), IndicationMessageFormats::Format6(message));
        }
        let header =
            IndicationHeaderFormat2 { ue_id: ue_id.clone(), ric_insert_style_type: style, ric_insert_indication_id };
        let message = IndicationMessageFormat5 { requested_list: told };
        self.write(IndicationHeaderFormats::Format2(header), IndicationMessageFormats::Format5(message))
    }

    /// A procedure goes on, or not; and those are told who want to know of its outcome (report style 2).
    pub(super) fn resume(&self, now: Time, stopped: &Stopped, verdict: Verdict<'_>, reports: &mut FunctionContext<'_>) {
        use dictionary::call_process_outcome::{CURRENT_RRC_STATE, CURRENT_UE_ID};
        // the UE may be gone afterwards
        let concerned = self.concerned(stopped, reports);
        self.source.borrow_mut().resume(now, stopped.procedure, verdict);
        let state = self.source.borrow().rrc_state(stopped.ue);
        for at in concerned {
            let subscription = &self.subscriptions[at];
            let What::Report { wanted } = &subscription.what else { continue };
            let parameter = |id: &RanParameterId| match *id {
                CURRENT_UE_ID => self.octets(*id, &stopped.ue_id),
                CURRENT_RRC_STATE => state.map(|state| element(*id, state_number(state))),
                _ => None,
            };
            let reported_list: List<'static, _> = wanted.iter().filter_map(parameter).collect();
            if !reported_list.is_empty() {
                let message = IndicationMessageFormats::Format1(IndicationMessageFormat1 { reported_list });
                self.send(at, None, message, reports);
            }
        }
    }
}

/// What is told of a UE: its state, and what the base station knows of it.
fn of_ue<S: RcSource>(
    source: &S,
    ue: Ue,
    state: Option<RrcState>,
    wanted: &[RanParameterId],
) -> IndicationMessageFormat2Item<'static> {
    use dictionary::ue_information::{CURRENT_RRC_STATE, RRC_STATE_CHANGED_TO};
    let value = |id: &RanParameterId| match *id {
        CURRENT_RRC_STATE | RRC_STATE_CHANGED_TO => state.map(state_number),
        id => source.ue_parameter(ue, id),
    };
    let ran_p_list = wanted.iter().filter_map(|id| Some(element(*id, value(id)?))).collect();
    IndicationMessageFormat2Item { ue_id: source.ue_id(ue), ran_p_list }
}

/// A report: the condition that was met, and the message.
type Told = (Option<RicEventTriggerConditionId>, IndicationMessageFormats<'static>);
