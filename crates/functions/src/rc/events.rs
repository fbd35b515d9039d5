//! What happens, and who is told, asked, or has said what is to be done.

use e2sm::common::{Cgi, RicStyleType, UeId};
use e2sm::rc::dictionary::{self, Breakpoint};
use e2sm::rc::{
    ActionId, CallProcessId, ControlAction, Decision, IndicationHeader, IndicationHeaderFormat1,
    IndicationHeaderFormat2, IndicationHeaderFormats, IndicationMessage, IndicationMessageFormat1,
    IndicationMessageFormat2, IndicationMessageFormat2Item, IndicationMessageFormat3, IndicationMessageFormat3Item,
    IndicationMessageFormat4, IndicationMessageFormat4ItemCell, IndicationMessageFormat4ItemUe,
    IndicationMessageFormat5, IndicationMessageFormats, MessageDirection, RanParameterElementFalse, RanParameterId,
    RanParameterItem, RanParameterValue, RanParameterValueType, RicEventTriggerConditionId, RicInsertIndicationId,
    RrcState,
};
use ferric::agent::{Reports, RequestKey, Ue};
use ferric::e2::Time;
use per::{Encode, List, Octets};
use tracing::{debug, warn};

use super::subscription::{Insert, Trigger, What, deadline};
use super::{Event, Origin, Procedure, RcFunction, RcSource, Verdict, conditions, ues};

/// Events that are told of in one turn; the rest waits for the next.
const EVENTS_A_TURN: usize = 1024;

/// A procedure at a point.
#[derive(Clone, Debug)]
pub(super) struct Stopped {
    pub procedure: Procedure,
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

fn element(id: RanParameterId, value: RanParameterValue<'static>) -> RanParameterItem<'static> {
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
    pub(super) fn look(&mut self, now: Time, reports: &mut Reports<'_>) {
        for _ in 0..EVENTS_A_TURN {
            let event = self.source.borrow_mut().next_event(now);
            match event {
                None => break,
                Some(Event::RrcState { ue, state }) => self.rrc_state(ue, state, reports),
                Some(Event::RrcMessage { ue, id, from_ue, octets }) => {
                    self.rrc_message(ue, id, from_ue, &octets, reports);
                }
                Some(Event::CellChanged { cell, change }) => self.cell_changed(cell, change, reports),
                Some(Event::Breakpoint { procedure, breakpoint, ue, wants }) => {
                    let ue_id = self.source.borrow().ue_id(ue);
                    self.breakpoint(now, &Stopped { procedure, breakpoint, ue, ue_id }, &wants, reports);
                }
            }
        }
        for asked in self.held.expired(now) {
            debug!(procedure = asked.stopped.procedure.0, goes_on = asked.goes_on, "nobody has answered in time");
            let verdict = if asked.goes_on { Verdict::GoOn } else { Verdict::Cancel };
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
        let revision = self.config.revision;
        let written = IndicationHeader { formats: header }
            .encode(revision, &mut header_octets)
            .and_then(|()| IndicationMessage { formats: message }.encode(revision, &mut message_octets));
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
        reports: &mut Reports<'_>,
        tell: impl Fn(&Self, &Trigger, RequestKey, &[RanParameterId], &Reports<'_>) -> Option<Told>,
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
        reports: &mut Reports<'_>,
    ) {
        let header =
            IndicationHeaderFormats::Format1(IndicationHeaderFormat1 { ric_event_trigger_condition_id: condition });
        if let Some((header, message)) = self.write(header, message) {
            // a subscription that is gone by now is forgotten by the `unsubscribe` to come
            let _ = reports.report(self.subscriptions[at].key, self.subscriptions[at].action, &header, &message);
        }
    }

    /// Report style 4.
    fn rrc_state(&self, ue: Ue, state: RrcState, reports: &mut Reports<'_>) {
        use dictionary::ue_information::{CURRENT_RRC_STATE, RRC_STATE_CHANGED_TO};
        self.report_to(reports, |this, trigger, key, wanted, reports| {
            let Trigger::RrcStates(conditions) = trigger else { return None };
            let source = this.source.borrow();
            let is_met = |condition: &&super::subscription::StateCondition| {
                let state = condition.states.iter().any(|wanted| *wanted == state || *wanted == RrcState::Any);
                state && condition.ues.as_ref().is_none_or(|ues| conditions::selects(&*source, ue, ues))
            };
            let met = conditions.iter().find(is_met).filter(|_| reports.views().sees(key.controller, ue))?;
            let values = [RRC_STATE_CHANGED_TO, CURRENT_RRC_STATE].into_iter().filter(|id| wanted.contains(id));
            let ran_p_list = values.map(|id| element(id, state_number(state))).collect();
            let item = IndicationMessageFormat2Item { ue_id: source.ue_id(ue), ran_p_list };
            let message = IndicationMessageFormat2 { ue_parameter_list: List::from(vec![item]) };
            Some((Some(met.id), IndicationMessageFormats::Format2(message)))
        });
    }

    /// Report style 1.
    fn rrc_message(
        &self,
        ue: Ue,
        id: e2sm::common::RrcMessageId,
        from_ue: bool,
        octets: &[u8],
        reports: &mut Reports<'_>,
    ) {
        use dictionary::message_copy::{CELL_GLOBAL_ID, RRC_MESSAGE, UE_ID};
        let direction = if from_ue { MessageDirection::Incoming } else { MessageDirection::Outgoing };
        self.report_to(reports, |this, trigger, key, wanted, reports| {
            let Trigger::Messages(conditions) = trigger else { return None };
            let source = this.source.borrow();
            let is_met = |condition: &&super::subscription::MessageCondition| {
                let ues = [&condition.ues, &condition.all_ues];
                condition.message == id
                    && condition.direction.is_none_or(|wanted| wanted == direction)
                    && ues.into_iter().flatten().all(|ues| conditions::selects(&*source, ue, ues))
            };
            let met = conditions.iter().find(is_met).filter(|_| reports.views().sees(key.controller, ue))?;
            let parameter = |id: &RanParameterId| match *id {
                RRC_MESSAGE => Some(element(*id, RanParameterValue::ValueOctS(Octets::from(octets.to_vec())))),
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
    fn cell_changed(&self, cell: Cgi, change: u16, reports: &mut Reports<'_>) {
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
                neighbor_relation_table: source.neighbours(&cell),
            };
            let message = IndicationMessageFormat3 { cell_info_list: List::from(vec![item]) };
            Some((Some(met.id), IndicationMessageFormats::Format3(message)))
        });
    }

    /// Report style 5, for one subscription.
    fn on_demand(&self, key: RequestKey, reports: &mut Reports<'_>) {
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
                neighbor_relation_table: source.neighbours(cell),
            });
            let message =
                IndicationMessageFormat4 { ue_info_list: of_ues.collect(), cell_info_list: of_cells.collect() };
            Some((None, IndicationMessageFormats::Format4(message)))
        });
    }

    /// The subscriptions to that point which are about that UE.
    fn concerned(&self, stopped: &Stopped, reports: &Reports<'_>) -> Vec<usize> {
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
    fn breakpoint(&mut self, now: Time, stopped: &Stopped, wants: &ControlAction, reports: &mut Reports<'_>) {
        let concerned = self.concerned(stopped, reports);
        if self.decided(now, &concerned, stopped, wants, reports)
            || self.asked(now, &concerned, stopped, wants, reports)
        {
            return;
        }
        self.resume(now, stopped, Verdict::GoOn, reports);
    }

    /// Whether a policy has decided: the first of which a rule holds.
    fn decided(
        &mut self,
        now: Time,
        concerned: &[usize],
        stopped: &Stopped,
        wants: &ControlAction,
        reports: &mut Reports<'_>,
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
                debug!(why = %refusal.why, action = %action.id(), "a policy's action is not carried out");
            }
        }
        drop(source);
        let verdict = match decision {
            Some(Decision::Reject) => Verdict::Cancel,
            _ if says_more && is_of_procedure => Verdict::Instead(&action),
            _ => Verdict::GoOn,
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
        reports: &mut Reports<'_>,
    ) -> bool {
        for at in concerned {
            let subscription = &self.subscriptions[*at];
            let What::Insert(insert) = &subscription.what else { continue };
            if insert.ue.as_ref().is_some_and(|name| !ues::is_named(&stopped.ue_id, name)) {
                continue;
            }
            let (key, action) = (subscription.key, subscription.action);
            let Some((header, message)) = self.question(insert, &stopped.ue_id, wants) else { continue };
            let asked =
                Asked { key, stopped: stopped.clone(), action: insert.offer.insert.action, goes_on: insert.goes_on };
            let Ok(number) = self.held.hold(deadline(now, insert.wait_ms), asked) else {
                self.unasked += 1;
                warn!(unasked = self.unasked, "as many procedures wait as may: one goes on unasked");
                return false;
            };
            let mut id = Vec::new();
            let written = CallProcessId::new(number).encode(self.config.revision, &mut id);
            if written.is_ok() && reports.insert(key, action, &id, &header, &message).is_ok() {
                return true;
            }
            // a subscription that is gone by now is forgotten by the `unsubscribe` to come
            self.held.take(number);
        }
        false
    }

    /// The header and message of an insert.
    fn question(&self, insert: &Insert, ue_id: &UeId<'static>, wants: &ControlAction) -> Option<(Vec<u8>, Vec<u8>)> {
        let header = IndicationHeaderFormats::Format2(IndicationHeaderFormat2 {
            ue_id: ue_id.clone(),
            ric_insert_style_type: RicStyleType(insert.offer.insert.style),
            ric_insert_indication_id: RicInsertIndicationId(insert.offer.insert.indication),
        });
        let parameters = wants.to_parameters().into_iter();
        let requested_list = parameters.filter(|item| insert.wanted.contains(&item.ran_parameter_id)).collect();
        self.write(header, IndicationMessageFormats::Format5(IndicationMessageFormat5 { requested_list }))
    }

    /// A procedure goes on, or not; and those are told who want to know of its outcome (report style 2).
    pub(super) fn resume(&self, now: Time, stopped: &Stopped, verdict: Verdict<'_>, reports: &mut Reports<'_>) {
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

/// A report: the condition that was met, and the message.
type Told = (Option<RicEventTriggerConditionId>, IndicationMessageFormats<'static>);
