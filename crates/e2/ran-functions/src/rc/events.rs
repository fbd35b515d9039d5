//! Events of the base station: reports, inserts and policies.

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
use ferric::agent::{FunctionContext, RequestKey, Ue};
use ferric::e2::Time;
use per::{Encode, List, Octets};
use tracing::{debug, warn};

use super::subscription::{Insert, MessageType, Service, Subscription, Trigger, UeChange, UeCondition, deadline};
use super::{Event, Origin, ProcedureId, RcConfig, RcSource, State, Verdict, conditions, ues};

/// The maximum number of events that one call processes; the others remain for the next call.
const MAX_EVENTS_PER_CALL: usize = 1024;

/// A procedure that is suspended at a breakpoint.
#[derive(Clone, Debug)]
pub(super) struct SuspendedProcedure {
    pub procedure: ProcedureId,
    pub breakpoint: Breakpoint,
    pub ue: Ue,
    pub ue_id: UeId<'static>,
}

/// An insert indication that the controller has not answered yet.
#[derive(Debug)]
pub(super) struct PendingInsert {
    /// The subscription that the indication was sent to.
    pub key: RequestKey,
    pub suspended: SuspendedProcedure,
    /// The action that the procedure requests.
    pub action: ActionId,
    /// Whether the procedure continues without an answer.
    pub continues: bool,
}

impl PendingInsert {
    /// The decision if the controller does not answer.
    pub fn default_verdict(&self) -> Verdict<'static> {
        if self.continues { Verdict::Continue } else { Verdict::Cancel }
    }
}

/// A RAN parameter with an element value.
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

impl State {
    /// Processes the events until `now`, and resumes the procedures whose time to wait has expired.
    pub(super) fn process_events<S: RcSource>(&mut self, source: &mut S, now: Time, context: &mut FunctionContext<'_>) {
        for _ in 0..MAX_EVENTS_PER_CALL {
            match source.next_event(now) {
                None => break,
                Some(Event::RrcState { ue, state }) => self.report_rrc_state(source, ue, state, context),
                Some(Event::RrcMessage { ue, id, from_ue, octets }) => {
                    self.report_message(source, ue, MessageType::Rrc(id), from_ue, &octets, context);
                }
                Some(Event::NiMessage { ue, interface, id, is_incoming, octets }) => {
                    self.report_message(source, ue, MessageType::Ni(interface, id), is_incoming, &octets, context);
                }
                Some(Event::CellChanged { cell, change }) => self.report_cell_change(source, cell, change, context),
                Some(Event::Breakpoint { procedure, breakpoint, ue, wants }) => {
                    let ue_id = source.ue_id(ue);
                    let suspended = SuspendedProcedure { procedure, breakpoint, ue, ue_id };
                    self.decide(source, now, &suspended, &wants, context);
                }
            }
        }
        self.check_ues(source, now, context);
        for insert in self.pending.remove_expired(now) {
            let (procedure, continues) = (insert.suspended.procedure.0, insert.continues);
            debug!(procedure, continues, "time to wait for an answer to an insert has expired");
            self.resume(source, now, &insert.suspended, insert.default_verdict(), context);
        }
        for key in std::mem::take(&mut self.on_demand) {
            self.report_on_demand(source, key, context);
        }
    }

    /// A RAN parameter that contains the PER encoding of a value.
    fn octets(&self, id: RanParameterId, value: &impl Encode) -> Option<RanParameterItem<'static>> {
        let mut bytes = Vec::new();
        per::encode(value, self.config.revision.wire(), &mut bytes).ok()?;
        Some(element(id, RanParameterValue::ValueOctS(Octets::from(bytes))))
    }

    /// Encodes header and message of an indication; `None` if a value is out of range.
    fn encode_indication(
        &self,
        header: IndicationHeaderFormats<'_>,
        message: IndicationMessageFormats<'_>,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut header_octets, mut message_octets) = (Vec::new(), Vec::new());
        let RcConfig { revision, wire, .. } = self.config;
        let encoded = IndicationHeader { formats: header }
            .encode_in(revision, wire, &mut header_octets)
            .and_then(|()| IndicationMessage { formats: message }.encode_in(revision, wire, &mut message_octets));
        match encoded {
            Ok(()) => Some((header_octets, message_octets)),
            Err(error) => {
                warn!(%error, "cannot encode an RC indication: a value of the source is out of range");
                None
            }
        }
    }

    /// Sends a report to each subscription for which `report` returns one.
    fn report_to_each(
        &self,
        context: &mut FunctionContext<'_>,
        report: impl Fn(&Trigger, RequestKey, &[RanParameterId], &FunctionContext<'_>) -> Option<Report>,
    ) {
        for (at, subscription) in self.subscriptions.iter().enumerate() {
            let Service::Report { parameters } = &subscription.service else { continue };
            let report = report(&subscription.trigger, subscription.key, parameters, context);
            let Some((condition, message)) = report else { continue };
            self.send(at, condition, message, context);
        }
    }

    /// Sends a report to a subscription.
    fn send(
        &self,
        at: usize,
        condition: Option<RicEventTriggerConditionId>,
        message: IndicationMessageFormats<'_>,
        context: &mut FunctionContext<'_>,
    ) {
        let header =
            IndicationHeaderFormats::Format1(IndicationHeaderFormat1 { ric_event_trigger_condition_id: condition });
        if let Some((header, message)) = self.encode_indication(header, message) {
            // fails for a subscription that has ended, which the pending `unsubscribe` removes, or outside of its start and end time
            let _ = context.report(self.subscriptions[at].key, self.subscriptions[at].action, &header, &message);
        }
    }

    /// Report style 4: an RRC state has changed.
    fn report_rrc_state<S: RcSource>(&self, source: &S, ue: Ue, state: RrcState, context: &mut FunctionContext<'_>) {
        self.report_to_each(context, |trigger, key, parameters, context| {
            let Trigger::UeChanges(conditions) = trigger else { return None };
            let is_met = |condition: &&UeCondition| {
                let UeChange::EntersState(states) = &condition.change else { return false };
                let has_state = states.iter().any(|selected| *selected == state || *selected == RrcState::Any);
                has_state && condition.ues.as_ref().is_none_or(|ues| conditions::selects(source, ue, ues))
            };
            let met = conditions.iter().find(is_met).filter(|_| context.views().sees(key.controller, ue))?;
            let item = ue_item(source, ue, Some(state), parameters);
            let message = IndicationMessageFormat2 { ue_parameter_list: List::from(vec![item]) };
            Some((Some(met.id), IndicationMessageFormats::Format2(message)))
        });
    }

    /// Report style 4: reports the UEs that have started to meet conditions since the previous evaluation.
    fn check_ues<S: RcSource>(&mut self, source: &S, now: Time, context: &mut FunctionContext<'_>) {
        if self.next_ue_check.is_none_or(|next| now < next) {
            return;
        }
        self.next_ue_check = Some(now + Duration::from_millis(self.config.ue_check_period_ms.into()));
        for at in 0..self.subscriptions.len() {
            let current = self.subscriptions[at].current_matches(source, context.views());
            let previous = std::mem::replace(&mut self.subscriptions[at].matches, current);
            let Subscription {
                trigger: Trigger::UeChanges(conditions),
                service: Service::Report { parameters },
                matches: current,
                ..
            } = &self.subscriptions[at]
            else {
                continue;
            };
            for (index, condition) in conditions.iter().enumerate() {
                let new = current.difference(&previous).filter(|(of, _)| *of == index);
                let items = new.map(|(_, ue)| ue_item(source, *ue, source.rrc_state(*ue), parameters));
                let ue_parameter_list: List<'static, _> = items.collect();
                if !ue_parameter_list.is_empty() {
                    let message = IndicationMessageFormat2 { ue_parameter_list };
                    self.send(at, Some(condition.id), IndicationMessageFormats::Format2(message), context);
                }
            }
        }
    }

    /// Report style 1: a message was sent or received.
    fn report_message<S: RcSource>(
        &self,
        source: &S,
        ue: Ue,
        message_type: MessageType,
        is_incoming: bool,
        octets: &[u8],
        context: &mut FunctionContext<'_>,
    ) {
        use dictionary::message_copy::{CELL_GLOBAL_ID, NI_MESSAGE, RRC_MESSAGE, UE_ID};
        let content = match message_type {
            MessageType::Rrc(_) => RRC_MESSAGE,
            MessageType::Ni(..) => NI_MESSAGE,
        };
        let direction = if is_incoming { MessageDirection::Incoming } else { MessageDirection::Outgoing };
        self.report_to_each(context, |trigger, key, parameters, context| {
            let Trigger::Messages(conditions) = trigger else { return None };
            let is_met = |condition: &&super::subscription::MessageCondition| {
                let ues = [&condition.ues, &condition.all_ues];
                condition.matches(&message_type)
                    && condition.direction.is_none_or(|selected| selected == direction)
                    && ues.into_iter().flatten().all(|ues| conditions::selects(source, ue, ues))
            };
            let met = conditions.iter().find(is_met).filter(|_| context.views().sees(key.controller, ue))?;
            let parameter = |id: &RanParameterId| match *id {
                id if id == content => Some(element(id, RanParameterValue::ValueOctS(Octets::from(octets.to_vec())))),
                UE_ID => self.octets(*id, &source.ue_id(ue)),
                CELL_GLOBAL_ID => self.octets(*id, source.cells().first()?),
                _ => None,
            };
            let reported_list = parameters.iter().filter_map(parameter).collect();
            let message = IndicationMessageFormats::Format1(IndicationMessageFormat1 { reported_list });
            Some((Some(met.id), message))
        });
    }

    /// Report style 3: a cell or its neighbor relations have changed.
    fn report_cell_change<S: RcSource>(
        &self,
        source: &S,
        cell: Cgi,
        change: E2NodeInfoChangeId,
        context: &mut FunctionContext<'_>,
    ) {
        self.report_to_each(context, |trigger, _, _, _| {
            let Trigger::NodeChanges(conditions) = trigger else { return None };
            let is_met = |condition: &&super::subscription::NodeCondition| {
                condition.change == change && condition.cells.as_ref().is_none_or(|cells| cells.contains(&cell))
            };
            let met = conditions.iter().find(is_met)?;
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

    /// Report style 5: an on-demand report to one subscription.
    fn report_on_demand<S: RcSource>(&self, source: &S, key: RequestKey, context: &mut FunctionContext<'_>) {
        self.report_to_each(context, |trigger, subscription, _, context| {
            let Trigger::OnDemand(ues) = trigger else { return None };
            if subscription != key {
                return None;
            }
            let cells = source.cells();
            let visible = ues::visible(source, context.views(), key.controller);
            let selected =
                visible.into_iter().filter(|ue| ues.as_ref().is_none_or(|ues| conditions::selects(source, *ue, ues)));
            // the format requires a cell for each UE
            let of_ues = selected.filter_map(|ue| {
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

    /// The indices of the subscriptions to the breakpoint of a suspended procedure that select its UE.
    fn subscribed<S: RcSource>(
        &self,
        source: &S,
        suspended: &SuspendedProcedure,
        context: &FunctionContext<'_>,
    ) -> Vec<usize> {
        let is_subscribed = |at: &usize| {
            let subscription = &self.subscriptions[*at];
            let Trigger::Breakpoint(breakpoint, ues) = &subscription.trigger else { return false };
            *breakpoint == suspended.breakpoint
                && context.views().sees(subscription.key.controller, suspended.ue)
                && ues.as_ref().is_none_or(|ues| conditions::selects(source, suspended.ue, ues))
        };
        (0..self.subscriptions.len()).filter(is_subscribed).collect()
    }

    /// Applies a policy to a suspended procedure, or else sends an insert, or else resumes the procedure.
    fn decide<S: RcSource>(
        &mut self,
        source: &mut S,
        now: Time,
        suspended: &SuspendedProcedure,
        requested: &ControlAction,
        context: &mut FunctionContext<'_>,
    ) {
        let subscribed = self.subscribed(source, suspended, context);
        if self.apply_policy(source, now, &subscribed, suspended, requested, context)
            || self.send_insert(now, &subscribed, suspended, requested, context)
        {
            return;
        }
        self.resume(source, now, suspended, Verdict::Continue, context);
    }

    /// Applies the first policy with a rule that holds. Returns whether there is one.
    fn apply_policy<S: RcSource>(
        &self,
        source: &mut S,
        now: Time,
        subscribed: &[usize],
        suspended: &SuspendedProcedure,
        requested: &ControlAction,
        context: &mut FunctionContext<'_>,
    ) -> bool {
        let found = subscribed.iter().find_map(|at| {
            let Service::Policy { rules } = &self.subscriptions[*at].service else { return None };
            let holds = |condition| conditions::hold(source, suspended.ue, condition);
            let rule = rules.iter().find(|rule| rule.condition.as_ref().is_none_or(holds))?;
            Some((self.subscriptions[*at].key, rule.action.clone(), rule.decision))
        });
        let Some((key, action, decision)) = found else { return false };
        let has_parameters = !matches!(&action, ControlAction::Other(other) if other.parameters.is_empty());
        let is_requested = action.id() == requested.id();
        if has_parameters && !is_requested {
            let target = action.is_about_ue().then_some(suspended.ue);
            if let Err(refusal) = source.control(now, Origin::Policy(key.controller), target, &action) {
                debug!(action = %action.id(), reason = %refusal.reason, "policy action refused by the base station");
            }
        }
        let verdict = match decision {
            Some(Decision::Reject) => Verdict::Cancel,
            _ if has_parameters && is_requested => Verdict::Replace(&action),
            _ => Verdict::Continue,
        };
        self.resume(source, now, suspended, verdict, context);
        true
    }

    // Clause 8.2.3.2/1 node: An insert has a call process id, and its time to wait starts with it. Does: the
    //   functions RC and NI hold the procedure. Tests: handover_is_suspended_until_the_answer, agent_indication,
    //   conform:insert.
    // Clause 8.2.3.2/2 node: A control with the call process id that arrives in time is processed, and the remaining
    //   actions follow. Tests: handover_is_suspended_until_the_answer. Versions: changed by v06.00: the text of v04.00
    //   was not read.
    // Clause 8.2.3.2/3 node: Continue: after the time to wait the procedure continues. Tests: time_to_wait_expires.
    //   Versions: changed by v06.00: the text of v04.00 was not read.
    // Clause 8.2.3.2/4 node: Halt: after the time to wait the procedure is aborted. Tests: time_to_wait_expires.
    //   Versions: changed by v06.00: the text of v04.00 was not read.
    // Clause 8.2.3.2/5 node: Halt: remaining and parallel actions are aborted as well. Deviation: there are none to
    //   abort: RC and NI execute policies before inserts, and report without a halt. Versions: changed by v06.00: the
    //   text of v04.00 was not read.
    /// Sends an insert to the first subscription for the requested action. Returns whether there is one.
    fn send_insert(
        &mut self,
        now: Time,
        subscribed: &[usize],
        suspended: &SuspendedProcedure,
        requested: &ControlAction,
        context: &mut FunctionContext<'_>,
    ) -> bool {
        for at in subscribed {
            let subscription = &self.subscriptions[*at];
            let Service::Insert(insert) = &subscription.service else { continue };
            if insert.ue.as_ref().is_some_and(|ue_id| !suspended.ue_id.is_same_ue(ue_id)) {
                continue;
            }
            let (key, action) = (subscription.key, subscription.action);
            let Some((header, message)) = self.insert_indication(insert, &suspended.ue_id, requested) else { continue };
            let (suspended, continues) = (suspended.clone(), insert.continues);
            let pending = PendingInsert { key, suspended, action: requested.id(), continues };
            let Ok(number) = self.pending.insert(deadline(now, insert.wait_ms), pending) else {
                self.skipped_inserts += 1;
                let (max_pending, skipped) = (self.config.max_pending, self.skipped_inserts);
                warn!(
                    skipped,
                    "table of suspended procedures full ({max_pending}): procedure continues without insert"
                );
                return false;
            };
            let mut id = Vec::new();
            let encoded = CallProcessId::new(number).encode_in(self.config.revision, self.config.wire, &mut id);
            if encoded.is_ok() && context.insert(key, action, &id, &header, &message).is_ok() {
                return true;
            }
            // fails for a subscription that has ended, which the pending `unsubscribe` removes, or outside of its start and end time
            self.pending.remove(number);
        }
        false
    }

    /// The header and message of an insert; `None` if it is not for the requested action.
    fn insert_indication(
        &self,
        insert: &Insert,
        ue_id: &UeId<'static>,
        requested: &ControlAction,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut indications = insert.indications.iter();
        let indication = indications.find(|indication| indication.breakpoint.insert.action == requested.id())?;
        let style = RicStyleType(indication.breakpoint.insert.style);
        let ric_insert_indication_id = RicInsertIndicationId(indication.breakpoint.insert.indication);
        let parameters = requested.to_parameters().into_iter();
        let parameters = parameters.filter(|item| indication.parameters.contains(&item.ran_parameter_id)).collect();
        if insert.is_multiple {
            let header = IndicationHeaderFormat3 { ric_event_trigger_condition_id: None, ue_id: Some(ue_id.clone()) };
            let of_style = IndicationMessageFormat6StyleItem {
                indicated_insert_style_type: style,
                insert_indication_list: List::from(vec![IndicationMessageFormat6IndicationItem {
                    ric_insert_indication_id,
                    insert_indication_list: parameters,
                }]),
            };
            let message = IndicationMessageFormat6 { insert_style_list: List::from(vec![of_style]) };
            return self.encode_indication(
                IndicationHeaderFormats::Format3(header),
                IndicationMessageFormats::Format6(message),
            );
        }
        let header =
            IndicationHeaderFormat2 { ue_id: ue_id.clone(), ric_insert_style_type: style, ric_insert_indication_id };
        let message = IndicationMessageFormat5 { requested_list: parameters };
        self.encode_indication(IndicationHeaderFormats::Format2(header), IndicationMessageFormats::Format5(message))
    }

    /// Resumes or cancels a suspended procedure, and reports its outcome (report style 2).
    pub(super) fn resume<S: RcSource>(
        &self,
        source: &mut S,
        now: Time,
        suspended: &SuspendedProcedure,
        verdict: Verdict<'_>,
        context: &mut FunctionContext<'_>,
    ) {
        use dictionary::call_process_outcome::{CURRENT_RRC_STATE, CURRENT_UE_ID};
        // evaluated before, because the UE may have left the node afterwards
        let subscribed = self.subscribed(source, suspended, context);
        source.resume(now, suspended.procedure, verdict);
        let state = source.rrc_state(suspended.ue);
        for at in subscribed {
            let subscription = &self.subscriptions[at];
            let Service::Report { parameters } = &subscription.service else { continue };
            let parameter = |id: &RanParameterId| match *id {
                CURRENT_UE_ID => self.octets(*id, &suspended.ue_id),
                CURRENT_RRC_STATE => state.map(|state| element(*id, state_number(state))),
                _ => None,
            };
            let reported_list: List<'static, _> = parameters.iter().filter_map(parameter).collect();
            if !reported_list.is_empty() {
                let message = IndicationMessageFormats::Format1(IndicationMessageFormat1 { reported_list });
                self.send(at, None, message, context);
            }
        }
    }
}

/// The report on a UE: its RRC state and parameters of the base station.
fn ue_item<S: RcSource>(
    source: &S,
    ue: Ue,
    state: Option<RrcState>,
    parameters: &[RanParameterId],
) -> IndicationMessageFormat2Item<'static> {
    use dictionary::ue_information::{CURRENT_RRC_STATE, RRC_STATE_CHANGED_TO};
    let value = |id: &RanParameterId| match *id {
        CURRENT_RRC_STATE | RRC_STATE_CHANGED_TO => state.map(state_number),
        id => source.ue_parameter(ue, id),
    };
    let ran_p_list = parameters.iter().filter_map(|id| Some(element(*id, value(id)?))).collect();
    IndicationMessageFormat2Item { ue_id: source.ue_id(ue), ran_p_list }
}

/// A report: the condition that was met, and the message.
type Report = (Option<RicEventTriggerConditionId>, IndicationMessageFormats<'static>);
