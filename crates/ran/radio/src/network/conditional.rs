//! The decision of handovers by measurements, and conditional handover (TS 38.331 5.3.5.13).

use super::measurement::{EventCondition, Neighbour, UeMeasurements};
use super::site::Arrival;
use super::{ArrivalCause, DepartureCause, HandoverConfig, Network, random_access};
use crate::Time;

/// The most cells that are prepared for a UE (maxNrofCondCells of TS 38.331).
const MAX_PREPARED: usize = 8;

/// What follows from the measurements of a UE.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// A handover that the event has triggered.
    pub triggered: Option<usize>,
    /// A conditional handover that the UE executes.
    pub executed: Option<usize>,
    /// Cells to prepare for it.
    pub to_prepare: Vec<usize>,
}

impl UeMeasurements {
    /// Evaluates the condition of handovers.
    pub fn evaluate_handover(
        &mut self,
        now: Time,
        serving: usize,
        condition: EventCondition,
        neighbours: &[Neighbour],
        config: &HandoverConfig,
    ) -> Decision {
        let mut decision = Decision::default();
        let is_allowed = |cell: usize| neighbours.get(cell).is_some_and(|neighbour| !neighbour.is_prohibited);
        let Some(conditional) = config.conditional else {
            let mut trigger = std::mem::take(&mut self.handover);
            let margins = self.margins(condition, serving, neighbours).filter(|(cell, _)| is_allowed(*cell));
            decision.triggered = trigger.evaluate(now, margins, config.trigger());
            self.handover = trigger;
            return decision;
        };
        let [mut execution, mut preparation] = [&mut self.handover, &mut self.preparation].map(std::mem::take);
        let margins = || self.margins(condition, serving, neighbours).filter(|(cell, _)| is_allowed(*cell));
        let prepared = margins().filter(|(cell, _)| self.prepared.contains(cell));
        decision.executed = execution.evaluate(now, prepared, config.trigger());
        let near = margins().map(|(cell, margin_db)| (cell, margin_db + conditional.preparation_margin_db));
        let is_due = preparation.evaluate(now, near, config.trigger()).is_some();
        self.prepared.retain(|cell| preparation.triggered().any(|near| near == *cell));
        if is_due {
            let room = MAX_PREPARED - self.prepared.len();
            decision.to_prepare =
                preparation.triggered().filter(|cell| !self.prepared.contains(cell)).take(room).collect();
        }
        (self.handover, self.preparation) = (execution, preparation);
        decision
    }
}

impl Network {
    /// Prepares a neighbour for a conditional handover of a UE, and configures the UE with it.
    pub(super) fn prepare_conditional(&mut self, cell: usize, index: usize, to: usize) {
        let config = self.handover;
        self.sites[cell].counts.conditional_preparations_requested += 1;
        let target = &self.sites[to];
        if !target.cell.admits_ues() || !target.has_room() {
            return;
        }
        let source = &mut self.sites[cell];
        source.counts.conditional_preparations_succeeded += 1;
        let is_received = source.cell.ue_mut(index).is_some_and(|ue| random_access::is_message_received(ue, &config));
        let Some(measurements) = source.measurements.get_mut(index).filter(|_| is_received) else { return };
        source.counts.conditional_ues += u64::from(measurements.prepared.is_empty());
        measurements.prepared.push(to);
    }

    /// Executes a conditional handover, which needs no command.
    pub(super) fn execute_conditional(&mut self, cell: usize, index: usize, to: usize) {
        let config = self.handover;
        let dedicated = usize::from(config.access.dedicated_preambles);
        let target = &self.sites[to];
        if !target.cell.admits_ues() || !target.has_room() {
            // the target cancels its preparation
            if let Some(measurements) = self.sites[cell].measurements.get_mut(index) {
                measurements.prepared.retain(|prepared| *prepared != to);
            }
            return;
        }
        let is_dedicated = target.dedicated_in_use() < dedicated;
        let source = &mut self.sites[cell];
        let (now, entry) = (source.cell.now(), *source.cell.ue_entry(index));
        let Some(mut ue) = source.leave(index, DepartureCause::Handover { to }) else { return };
        source.counts.executions_requested += 1;
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
