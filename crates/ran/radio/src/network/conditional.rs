//! The decision of handovers by measurements, and conditional handover (TS 38.331 5.3.5.13).

use super::measurement::{MeasurementEvent, Neighbour, UeMeasurements};
use super::site::Arrival;
use super::trigger::Trigger;
use super::{
    ArrivalCause, CancelCause, ConditionalConfig, DepartureCause, EventCondition, HandoverError, Network, random_access,
};
use crate::Time;

/// The most cells that are prepared for a UE (maxNrofCondCells of TS 38.331).
const MAX_PREPARED: usize = 8;

/// A conditional handover that a controller has ordered for a UE.
#[derive(Debug)]
pub(super) struct OrderedHandover {
    candidates: Vec<usize>,
    /// The execution condition.
    event: MeasurementEvent,
    trigger: Trigger,
    /// Whether the UE has received the configuration.
    is_configured: bool,
}

/// What follows from the measurements of a UE.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// A handover that the event has triggered.
    pub triggered: Option<usize>,
    /// A conditional handover that the UE executes.
    pub executed: Option<usize>,
    /// Cells to prepare for it.
    pub to_prepare: Vec<usize>,
    /// Cells that were prepared for it and are not near the condition any more.
    pub withdrawn: Vec<usize>,
}

impl UeMeasurements {
    /// The earliest time, from `next` on, at which [`UeMeasurements::evaluate_handover`] or
    /// [`UeMeasurements::evaluate_ordered`] can decide something; `None`: never. `of_cell` is the event of handovers of the cell.
    pub fn next_trigger(&self, next: Time, of_cell: Option<MeasurementEvent>, is_conditional: bool) -> Option<Time> {
        let event = self.own.as_ref().map_or(of_cell, |own| own.handover);
        let handover = event.map(|event| self.handover.next_trigger(next, event.into()));
        let preparation = event.filter(|_| is_conditional);
        let preparation = preparation.map(|event| self.preparation.next_trigger(next, event.into()));
        let ordered = self.ordered.as_ref().map(|ordered| ordered.trigger.next_trigger(next, ordered.event.into()));
        [handover, preparation, ordered].into_iter().flatten().min()
    }

    /// Evaluates the condition of handovers.
    pub fn evaluate_handover(
        &mut self,
        now: Time,
        serving: usize,
        event: MeasurementEvent,
        neighbours: &[Neighbour],
        conditional: Option<ConditionalConfig>,
    ) -> Decision {
        let condition = event.condition;
        let mut decision = Decision::default();
        let is_allowed = |cell: usize| neighbours.get(cell).is_some_and(|neighbour| !neighbour.is_prohibited);
        let Some(conditional) = conditional else {
            let mut trigger = std::mem::take(&mut self.handover);
            let margins = self.margins(condition, serving, neighbours).filter(|(cell, _)| is_allowed(*cell));
            decision.triggered = trigger.evaluate(now, margins, event.into());
            self.handover = trigger;
            return decision;
        };
        let [mut execution, mut preparation] = [&mut self.handover, &mut self.preparation].map(std::mem::take);
        let margins = || self.margins(condition, serving, neighbours).filter(|(cell, _)| is_allowed(*cell));
        let prepared = margins().filter(|(cell, _)| self.prepared.contains(cell));
        decision.executed = execution.evaluate(now, prepared, event.into());
        let near = margins().map(|(cell, margin_db)| (cell, margin_db + conditional.preparation_margin_db));
        let is_due = preparation.evaluate(now, near, event.into()).is_some();
        let is_near = |cell: &usize| preparation.triggered().any(|near| near == *cell);
        decision.withdrawn = self.prepared.iter().copied().filter(|cell| !is_near(cell)).collect();
        self.prepared.retain(is_near);
        if is_due {
            let room = MAX_PREPARED - self.prepared.len();
            decision.to_prepare =
                preparation.triggered().filter(|cell| !self.prepared.contains(cell)).take(room).collect();
        }
        (self.handover, self.preparation) = (execution, preparation);
        decision
    }

    /// Evaluates the conditional handover that was ordered. Returns the cell to which the UE executes it.
    pub fn evaluate_ordered(&mut self, now: Time, serving: usize, neighbours: &[Neighbour]) -> Option<usize> {
        let mut ordered = self.ordered.take()?;
        let executed = ordered.is_configured.then(|| {
            let margins = self.margins(ordered.event.condition, serving, neighbours);
            let margins = margins.filter(|(cell, _)| ordered.candidates.contains(cell));
            ordered.trigger.evaluate(now, margins, ordered.event.into())
        });
        self.ordered = Some(ordered);
        executed.flatten()
    }

    /// The cells that are prepared for conditional handovers.
    pub fn candidates(&self) -> Vec<usize> {
        let ordered = self.ordered.iter().flat_map(|ordered| ordered.candidates.iter().copied());
        let mut candidates: Vec<usize> = self.prepared.iter().copied().chain(ordered).collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }

    /// Removes a cell from those that are prepared for a conditional handover.
    fn cancel_preparation(&mut self, cell: usize) {
        self.prepared.retain(|prepared| *prepared != cell);
        if let Some(ordered) = &mut self.ordered {
            ordered.candidates.retain(|candidate| *candidate != cell);
        }
        self.ordered.take_if(|ordered| ordered.candidates.is_empty());
    }
}

impl Network {
    /// Prepares a neighbour for a conditional handover of a UE, and configures the UE with it.
    pub(super) fn prepare_conditional(&mut self, cell: usize, index: usize, to: usize) {
        let config = self.handover;
        self.sites[cell].counts.conditional_preparations_requested += 1;
        if self.sites[cell].cell.ue(index).is_none() {
            return;
        }
        let refusal = self.check_admission(to).err();
        let source = &mut self.sites[cell];
        source.report_preparation(index, to, refusal, true);
        if refusal.is_some() {
            return;
        }
        source.counts.conditional_preparations_succeeded += 1;
        let is_received = random_access::is_message_received(&mut source.cell, index, &config);
        let Some(measurements) = source.measurements.get_mut(index).filter(|_| is_received) else {
            // it is prepared again with the next report
            let ue = *source.cell.ue_entry(index);
            source.cancel_preparation(ue, to, true, CancelCause::Unwanted);
            return;
        };
        source.counts.conditional_ues += u64::from(measurements.prepared.is_empty());
        measurements.prepared.push(to);
    }

    /// Prepares a cell for a conditional handover of a UE, in addition to those prepared before, and configures the UE with it. The
    /// UE executes the handover when the execution condition holds: `event`, or that of the order before, or the event of
    /// handovers in the cell. The configuration is repeated while it does not reach the UE, and ends when the UE leaves the cell.
    ///
    /// # Errors
    /// As [`Network::hand_over`]; [`HandoverError::NoCondition`], [`HandoverError::WrongCondition`],
    /// [`HandoverError::TooManyCandidates`]. Nothing is changed then, but the refusal of the target is counted.
    pub fn order_conditional_handover(
        &mut self,
        cell: usize,
        index: usize,
        to: usize,
        event: Option<MeasurementEvent>,
    ) -> Result<(), HandoverError> {
        self.check_handover(cell, index, to)?;
        let of_cell = self.handover.event();
        let site = &mut self.sites[cell];
        site.measurements.resize_with(site.cell.ue_indices(), UeMeasurements::default);
        let measurements = &site.measurements[index];
        let before = measurements.ordered.as_ref();
        let of_ue = measurements.own.as_ref().map_or(of_cell, |own| own.handover);
        let event = event.or(before.map(|ordered| ordered.event)).or(of_ue).ok_or(HandoverError::NoCondition)?;
        // TS 38.331 5.3.5.13.4: event A3 or A5
        if !matches!(event.condition, EventCondition::A3 { .. } | EventCondition::A5 { .. }) {
            return Err(HandoverError::WrongCondition);
        }
        let mut candidates = before.map(|ordered| ordered.candidates.clone()).unwrap_or_default();
        let is_new = !candidates.contains(&to);
        if is_new && candidates.len() >= MAX_PREPARED {
            return Err(HandoverError::TooManyCandidates);
        }
        if is_new {
            self.sites[cell].counts.conditional_preparations_requested += 1;
            let answer = self.check_admission(to);
            self.sites[cell].report_preparation(index, to, answer.err(), true);
            answer?;
            self.sites[cell].counts.conditional_preparations_succeeded += 1;
            candidates.push(to);
        }
        let site = &mut self.sites[cell];
        site.counts.conditional_ues += u64::from(site.measurements[index].ordered.is_none());
        let ordered = OrderedHandover { candidates, event, trigger: Trigger::default(), is_configured: false };
        site.measurements[index].ordered = Some(Box::new(ordered));
        if !site.conditional_orders.contains(&index) {
            site.conditional_orders.push(index);
        }
        Ok(())
    }

    /// Cancels the conditional handover that was ordered for a UE. Returns whether there was one.
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn cancel_conditional_handover(&mut self, cell: usize, index: usize) -> bool {
        let site = &mut self.sites[cell];
        site.conditional_orders.retain(|other| *other != index);
        let Some(ordered) = site.measurements.get_mut(index).and_then(|of_ue| of_ue.ordered.take()) else {
            return false;
        };
        let ue = *site.cell.ue_entry(index);
        for to in ordered.candidates {
            site.cancel_preparation(ue, to, true, CancelCause::Unwanted);
        }
        true
    }

    /// Sends the configuration of ordered conditional handovers to the UEs that have not received it.
    pub(super) fn configure_conditional(&mut self, cell: usize) {
        let config = self.handover;
        let site = &mut self.sites[cell];
        for index in std::mem::take(&mut site.conditional_orders) {
            if site.cell.ue(index).is_none() {
                continue;
            }
            let is_received = random_access::is_message_received(&mut site.cell, index, &config);
            if let Some(ordered) = &mut site.measurements[index].ordered {
                ordered.is_configured |= is_received;
            }
            if !is_received {
                site.conditional_orders.push(index);
            }
        }
    }

    /// Executes a conditional handover, which needs no command.
    pub(super) fn execute_conditional(&mut self, cell: usize, index: usize, to: usize) {
        let config = self.handover;
        let dedicated = usize::from(config.access.dedicated_preambles);
        let target = &self.sites[to];
        if !target.cell.admits_ues() || !target.has_room() {
            let site = &mut self.sites[cell];
            if let Some(measurements) = site.measurements.get_mut(index) {
                measurements.cancel_preparation(to);
                let ue = *site.cell.ue_entry(index);
                site.cancel_preparation(ue, to, true, CancelCause::Unwanted);
            }
            return;
        }
        let is_dedicated = target.dedicated_in_use() < dedicated;
        let source = &mut self.sites[cell];
        let (now, entry) = (source.cell.now(), *source.cell.ue_entry(index));
        let Some(mut ue) = source.leave(index, DepartureCause::Handover { to }) else { return };
        source.counts.conditional_executions += 1;
        ue.set_serving_cell(to);
        self.sites[to].schedule_arrival(Arrival {
            at: now + config.interruption(),
            cell: to,
            cause: ArrivalCause::ConditionalHandover,
            from: Some((cell, entry)),
            deadline: now + config.t304,
            is_dedicated,
            attempts: 0,
            ue,
        });
    }
}
