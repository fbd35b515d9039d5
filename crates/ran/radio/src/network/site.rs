//! A cell with its pending arrivals, its measurements and its counters.

use std::collections::VecDeque;
use std::time::Duration;

use super::history::Verdict;
use super::link_failure::LinkMonitor;
use super::measurement::{MeasurementConfig, MeasurementReport, Neighbour, UeMeasurements};
use super::random_access::{self, Attempt};
use super::{
    ArrivalCause, CancelCause, DepartureCause, EPOCH, HandoverConfig, HandoverError, MAX_EVENTS, MobilityCounts,
    NetworkEvent,
};
use crate::cell::Emission;
use crate::{AdministrativeState, Cell, PowerState, Time, Ue, UeEntry};

/// A UE on its way to a cell.
#[derive(Debug)]
pub(super) struct Arrival {
    /// When it arrives, or attempts the access the next time.
    pub at: Time,
    /// The cell.
    pub cell: usize,
    pub cause: ArrivalCause,
    /// The cell that it was last connected to, and its identity there, where the new cell gets its context from.
    pub from: Option<(usize, UeEntry)>,
    /// When the access has failed: T304, T301 or T300.
    pub deadline: Time,
    /// Whether it has a dedicated preamble.
    pub is_dedicated: bool,
    /// Attempts so far.
    pub attempts: u32,
    pub ue: Box<Ue>,
}

impl Arrival {
    /// A new UE of the network, which arrives without random access.
    pub fn of_new(cell: usize, at: Time, ue: Box<Ue>) -> Self {
        let (cause, deadline) = (ArrivalCause::New, Time::NEVER);
        Arrival { at, cell, cause, from: None, deadline, is_dedicated: false, attempts: 0, ue }
    }
}

/// What has happened in a cell in some epochs and concerns the whole network.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// UEs whose radio link has failed, with the time and their last identity.
    pub failed: Vec<(Time, Box<Ue>, UeEntry)>,
    /// Arrivals whose access has failed.
    pub expired: Vec<Arrival>,
    /// New UEs that the cell does not admit.
    pub refused: Vec<Arrival>,
    /// Arrivals that have completed the access: their cause, the cell that they were last connected to, and what they say about
    /// a failure before.
    pub arrived: Vec<(ArrivalCause, Option<usize>, Option<Verdict>)>,
    /// Handovers that event A3 has triggered: UE index and target cell.
    pub triggered: Vec<(usize, usize)>,
    /// Cells to prepare for conditional handovers of a UE.
    pub to_prepare: Vec<(usize, usize)>,
    /// Conditional handovers that UEs execute.
    pub executed: Vec<(usize, usize)>,
}

/// Measurement reports of a cell that wait; beyond it the oldest are dropped.
const MAX_REPORTS: usize = 4096;

/// A handover whose command the UE has not received yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub index: usize,
    pub to: usize,
}

/// A cell with its pending arrivals, events and measurements.
#[derive(Debug)]
pub(super) struct Site {
    pub number: usize,
    /// The number of the first cell of its base station.
    pub base_station: usize,
    /// Whether cells of its base station can serve its UEs as well.
    pub aggregates: bool,
    pub cell: Cell,
    /// In order of time.
    arrivals: VecDeque<Arrival>,
    /// The number of arrivals that are not new UEs. An index is reserved for each.
    reserved: usize,
    /// New UEs that found no free index.
    pub rejected_arrivals: u64,
    pub events: VecDeque<NetworkEvent>,
    /// The cells of the network, as seen from this one.
    pub neighbours: Vec<Neighbour>,
    /// The number of other carriers among them.
    pub gap_carriers: u64,
    /// The measurements of each UE, by index.
    pub measurements: Vec<UeMeasurements>,
    /// Measurement reports, while they are wanted.
    pub reports: Option<VecDeque<MeasurementReport>>,
    /// Radio link monitoring of each UE, by index.
    pub monitors: Vec<LinkMonitor>,
    /// Handovers whose command is being repeated.
    pub commands: Vec<Command>,
    /// UEs to which the configuration of an ordered conditional handover is being repeated, by index.
    pub conditional_orders: Vec<usize>,
    /// When the cell serves no UE any more at the latest, while it is shutting down or about to sleep.
    pub shutdown_ends: Option<Time>,
    /// The power state whose events have been raised.
    power_state: PowerState,
    pub counts: MobilityCounts,
    pub outcome: Outcome,
    pub next_epoch: Time,
    /// What its base station and its UEs have transmitted during the last interval of the exchange of interference.
    pub emission: Emission,
}

impl Site {
    pub fn new(number: usize, cell: Cell) -> Self {
        Site {
            number,
            base_station: number,
            aggregates: false,
            cell,
            arrivals: VecDeque::new(),
            reserved: 0,
            rejected_arrivals: 0,
            events: VecDeque::new(),
            neighbours: Vec::new(),
            gap_carriers: 0,
            measurements: Vec::new(),
            reports: None,
            monitors: Vec::new(),
            commands: Vec::new(),
            conditional_orders: Vec::new(),
            shutdown_ends: None,
            power_state: PowerState::On,
            counts: MobilityCounts::default(),
            outcome: Outcome::default(),
            next_epoch: Time::START,
            emission: Emission::default(),
        }
    }

    pub fn push_event(&mut self, event: NetworkEvent) {
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Raises the event of the preparation of a handover.
    pub fn report_preparation(
        &mut self,
        index: usize,
        to: usize,
        refusal: Option<HandoverError>,
        is_conditional: bool,
    ) {
        let (ue, now) = (*self.cell.ue_entry(index), self.cell.now());
        let stayed = self.cell.ue(index).map_or(Duration::ZERO, |ue| ue.activity.present(now));
        self.push_event(NetworkEvent::HandoverPrepared { ue, to, refusal, is_conditional, stayed });
    }

    /// Raises the event of a handover that is given up.
    pub fn cancel_preparation(&mut self, ue: UeEntry, to: usize, is_conditional: bool, cause: CancelCause) {
        self.push_event(NetworkEvent::HandoverCancelled { ue, to, is_conditional, cause });
    }

    /// Gives up the handovers of a UE whose command it has not received. Those for which `is_cancelled` holds of the target are
    /// cancelled there.
    pub fn withdraw_commands(&mut self, index: usize, is_cancelled: impl Fn(usize) -> bool, cause: CancelCause) {
        for at in (0..self.commands.len()).rev().filter(|at| self.commands[*at].index == index).collect::<Vec<_>>() {
            let Command { to, .. } = self.commands.remove(at);
            if is_cancelled(to) {
                let ue = *self.cell.ue_entry(index);
                self.cancel_preparation(ue, to, false, cause);
            }
        }
    }

    /// Cancels the candidates of the conditional handovers of a UE, except for the one to which it goes.
    fn withdraw_candidates(&mut self, ue: UeEntry, candidates: &[usize], to: Option<usize>, cause: CancelCause) {
        for candidate in candidates.iter().filter(|candidate| Some(**candidate) != to) {
            self.cancel_preparation(ue, *candidate, true, cause);
        }
    }

    pub fn schedule_arrival(&mut self, arrival: Arrival) {
        // at equal times new UEs precede others, so that the order of `add` calls has no effect
        let order = |arrival: &Arrival| (arrival.at, arrival.cause != ArrivalCause::New);
        let at = self.arrivals.partition_point(|other| order(other) <= order(&arrival));
        self.reserved += usize::from(arrival.cause != ArrivalCause::New);
        self.arrivals.insert(at, arrival);
    }

    /// Whether one more UE fits, in addition to those in transit.
    pub fn has_room(&self) -> bool {
        self.cell.free_capacity() > self.reserved
    }

    /// The UEs in the cell and on their way to it.
    pub fn load(&self) -> usize {
        self.cell.ue_count() + self.reserved
    }

    /// UEs on their way to the cell that have a dedicated preamble.
    pub fn dedicated_in_use(&self) -> usize {
        self.arrivals.iter().filter(|arrival| arrival.is_dedicated).count()
    }

    /// The earliest time at which the cell can refuse an arrival, or an access can fail for good.
    pub fn next_refusal(&self, config: &HandoverConfig) -> Time {
        let refusal = |arrival: &Arrival| match arrival.cause {
            ArrivalCause::New => arrival.at,
            // the access fails when a further attempt would be too late
            _ => arrival.at.max(random_access::last_repeated(arrival.deadline, &config.access)),
        };
        self.arrivals.iter().map(refusal).min().unwrap_or(Time::NEVER)
    }

    /// UEs on their way to the cell, other than new ones.
    pub fn in_transit(&self) -> impl Iterator<Item = &Arrival> {
        self.arrivals.iter().filter(|arrival| arrival.cause != ArrivalCause::New)
    }

    /// Runs until `until`, but not beyond `interaction`, the next epoch that may concern other cells, which it begins.
    /// `is_exchange` says whether interference is exchanged there.
    pub fn advance(
        &mut self,
        until: Time,
        (interaction, is_exchange): (Time, bool),
        config: &HandoverConfig,
        measurement: &MeasurementConfig,
    ) {
        while self.next_epoch <= until.min(interaction) {
            self.cell.advance(self.next_epoch);
            self.end_epoch(is_exchange && self.next_epoch == interaction, config, measurement);
        }
        if until < interaction {
            self.cell.advance(until);
        }
    }

    /// Ends an epoch whose slots have run, with an exchange of interference or without, and begins the next one.
    pub fn end_epoch(&mut self, is_exchange: bool, config: &HandoverConfig, measurement: &MeasurementConfig) {
        if is_exchange {
            self.cell.take_emission(&mut self.emission);
        }
        self.begin_epoch(config, measurement);
    }

    /// Begins an epoch: processes due arrivals and departures, and evaluates the UEs' links.
    fn begin_epoch(&mut self, config: &HandoverConfig, measurement: &MeasurementConfig) {
        let now = self.next_epoch;
        self.next_epoch += EPOCH;
        self.process_arrivals(now, config);
        let mut from = 0;
        while let Some(index) = self.next_to_leave(from, now) {
            from = index + 1;
            self.leave(index, DepartureCause::Left);
        }
        if config.link.is_enabled {
            self.monitor_links(now, config);
        }
        self.measure(now, config, measurement);
        if config.is_automatic {
            return;
        }
        for (index, to) in std::mem::take(&mut self.outcome.triggered) {
            let ue = *self.cell.ue_entry(index);
            self.push_event(NetworkEvent::HandoverTriggered { ue, to });
        }
    }

    /// Admits new UEs, and lets the others attempt the random access.
    fn process_arrivals(&mut self, now: Time, config: &HandoverConfig) {
        let mut accessing = Vec::new();
        while self.arrivals.front().is_some_and(|arrival| arrival.at <= now) {
            let Some(arrival) = self.arrivals.pop_front() else { break };
            if arrival.cause != ArrivalCause::New {
                self.reserved -= 1;
                accessing.push(arrival);
                continue;
            }
            self.counts.setups_attempted += 1;
            if !self.cell.admits_ues() {
                self.counts.setups_failed_rejected += 1;
                self.outcome.refused.push(arrival);
            } else if !self.has_room() {
                self.counts.setups_failed_rejected += 1;
                self.rejected_arrivals += 1;
            } else {
                self.arrive(now, arrival, config);
            }
        }
        if accessing.is_empty() {
            return;
        }
        let results = random_access::attempt(now, &mut accessing, self.cell.admits_ues(), config, &mut self.counts);
        for (mut arrival, result) in accessing.into_iter().zip(results) {
            // a UE that leaves the network in transit arrives first
            let leaves = arrival.ue.leaves_at() <= now;
            if result == Attempt::Succeeded || leaves && self.cell.admits_ues() {
                self.arrive(now, arrival, config);
                continue;
            }
            arrival.at = random_access::next_occasion(now, &mut arrival.ue, &config.access);
            arrival.ue.flows_at(now);
            if arrival.at > arrival.deadline {
                self.outcome.expired.push(arrival);
            } else {
                self.schedule_arrival(arrival);
            }
        }
    }

    /// Adds a UE to the cell.
    fn arrive(&mut self, now: Time, arrival: Arrival, config: &HandoverConfig) {
        let Arrival { cause, from, mut ue, .. } = arrival;
        match cause {
            ArrivalCause::New | ArrivalCause::Setup => self.counts.setups_succeeded += 1,
            ArrivalCause::Reestablishment => self.counts.reestablishments_succeeded += 1,
            ArrivalCause::Handover | ArrivalCause::ConditionalHandover => {}
        }
        let last = from.map(|(cell, _)| cell);
        let verdict = match (cause, last) {
            (ArrivalCause::Handover | ArrivalCause::ConditionalHandover, Some(last)) => {
                let is_ping_pong = ue.history.handed_over(now, last, self.number, config);
                self.counts.ping_pongs += u64::from(is_ping_pong);
                None
            }
            _ => ue.history.recovered(self.number),
        };
        let index = self.cell.arrive(ue);
        self.push_event(NetworkEvent::Arrived { ue: *self.cell.ue_entry(index), from, cause });
        self.outcome.arrived.push((cause, last, verdict));
    }

    /// Removes a UE.
    pub fn leave(&mut self, index: usize, cause: DepartureCause) -> Option<Box<Ue>> {
        if let DepartureCause::Handover { .. } = cause {
            let secondary = self.cell.ue(index).map_or(Vec::new(), |ue| ue.secondary_cells().to_vec());
            let ue = secondary.first().map(|_| *self.cell.ue_entry(index));
            for (ue, secondary) in ue.into_iter().flat_map(|ue| secondary.iter().map(move |of| (ue, *of))) {
                self.push_event(NetworkEvent::SecondaryCellReleased { ue, secondary });
            }
        }
        let left = self.cell.leave(index)?;
        let measurements = self.measurements.get_mut(index).map(std::mem::take).unwrap_or_default();
        if let Some(monitor) = self.monitors.get_mut(index) {
            *monitor = LinkMonitor::default();
        }
        let (to, withdrawn) = match cause {
            DepartureCause::Handover { to } => (Some(to), CancelCause::Unwanted),
            _ => (None, CancelCause::UeLost),
        };
        self.withdraw_commands(index, |other| Some(other) != to, withdrawn);
        self.conditional_orders.retain(|other| *other != index);
        let ue = *self.cell.ue_entry(index);
        self.withdraw_candidates(ue, &measurements.candidates(), to, withdrawn);
        self.push_event(NetworkEvent::Departed { ue, cause });
        Some(left)
    }

    /// The first UE at index `from` or above whose departure is due.
    fn next_to_leave(&self, from: usize, now: Time) -> Option<usize> {
        (from..self.cell.ue_indices()).find(|index| self.cell.ue(*index).is_some_and(|ue| ue.leaves_at() <= now))
    }

    /// Monitors the radio links of all UEs. Those whose link has failed leave the cell.
    fn monitor_links(&mut self, now: Time, config: &HandoverConfig) {
        let Site { cell, monitors, .. } = self;
        monitors.resize_with(cell.ue_indices(), LinkMonitor::default);
        let mut failed = Vec::new();
        for (index, ue) in cell.ues() {
            let link = ue.downlink();
            // a channel with a fixed MCS has no errors
            if !link.has_fixed_mcs() && monitors[index].update(now, link.sinr_db(), &config.link) {
                failed.push(index);
            }
        }
        for index in failed {
            let entry = *self.cell.ue_entry(index);
            if let Some(mut ue) = self.leave(index, DepartureCause::LinkFailure) {
                ue.history.link_failed(now, self.number, config);
                self.counts.link_failures += 1;
                self.outcome.failed.push((now, ue, entry));
            }
        }
    }

    /// Lets all UEs measure, and evaluates their events.
    fn measure(&mut self, now: Time, config: &HandoverConfig, measurement: &MeasurementConfig) {
        let of_cell = config.event();
        let is_controlled =
            |measurements: &UeMeasurements| measurements.own.is_some() || measurements.ordered.is_some();
        let is_measured = of_cell.is_some() || self.reports.is_some() || self.aggregates;
        if !is_measured && !self.measurements.iter().any(is_controlled) {
            return;
        }
        let Site { cell, neighbours, measurements, outcome, reports, gap_carriers, number, .. } = self;
        measurements.resize_with(cell.ue_indices(), UeMeasurements::default);
        let (mut new_reports, mut withdrawn) = (Vec::new(), Vec::new());
        for (index, ue) in cell.ues() {
            let measurements = &mut measurements[index];
            measurements.sample(now, ue, neighbours, *gap_carriers, measurement);
            let event = measurements.own.as_ref().map_or(of_cell, |own| own.handover);
            if let Some(event) = event {
                let conditional = config.conditional;
                let decision = measurements.evaluate_handover(now, *number, event, neighbours, conditional);
                outcome.triggered.extend(decision.triggered.map(|to| (index, to)));
                outcome.executed.extend(decision.executed.map(|to| (index, to)));
                outcome.to_prepare.extend(decision.to_prepare.into_iter().map(|to| (index, to)));
                withdrawn.extend(decision.withdrawn.into_iter().map(|to| (*cell.ue_entry(index), to)));
            }
            let ordered = measurements.evaluate_ordered(now, *number, neighbours);
            outcome.executed.extend(ordered.map(|to| (index, to)));
            if reports.is_some() {
                let of = (ue, *cell.ue_entry(index), *number);
                measurements.report(now, of, cell.interference(), neighbours, measurement, &mut new_reports);
            }
        }
        if let Some(reports) = reports {
            reports.extend(new_reports);
            let excess = reports.len().saturating_sub(MAX_REPORTS);
            reports.drain(..excess);
        }
        for (ue, to) in withdrawn {
            self.cancel_preparation(ue, to, true, CancelCause::Unwanted);
        }
    }

    /// Follows the administrative state: a cell that is shutting down is locked once it is empty or its grace is over. Returns
    /// whether the grace of a cell is over that is shutting down or about to sleep.
    pub fn update_administrative_state(&mut self, now: Time, config: &HandoverConfig) -> bool {
        self.report_power_state();
        let is_shutting_down = self.cell.administrative_state() == AdministrativeState::ShuttingDown;
        if !is_shutting_down && !self.cell.saves_energy() {
            self.shutdown_ends = None;
            return false;
        }
        let is_over = *self.shutdown_ends.get_or_insert(now + config.shutdown_grace) <= now;
        if is_shutting_down && (self.cell.ue_count() == 0 || is_over) {
            self.cell.set_administrative_state(AdministrativeState::Locked);
            self.push_event(NetworkEvent::Locked);
        }
        is_over
    }

    /// Whether the power state is passing to another one, or has passed and its events are not raised yet.
    pub fn is_power_state_changing(&self) -> bool {
        let state = self.cell.power_state();
        self.power_state != state || matches!(state, PowerState::FallingAsleep | PowerState::WakingUp)
    }

    /// Raises the events of the power states that the cell has passed since the last epoch.
    fn report_power_state(&mut self) {
        let state = self.cell.power_state();
        while self.power_state != state {
            let next = match self.power_state {
                PowerState::On => PowerState::FallingAsleep,
                PowerState::FallingAsleep => PowerState::Asleep,
                PowerState::Asleep => PowerState::WakingUp,
                PowerState::WakingUp => PowerState::On,
            };
            self.counts.sleeps += u64::from(next == PowerState::FallingAsleep);
            self.power_state = next;
            self.push_event(NetworkEvent::PowerState(next));
        }
    }
}
