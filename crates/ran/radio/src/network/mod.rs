//! Several cells, with arrivals, departures and handovers of UEs, and what follows when a radio link or a handover fails.
//!
//! Base stations interact only between epochs of [`EPOCH`], and so do the cells of one that does not aggregate carriers: by UEs that move, and by interference, which they exchange every
//! [`INTERFERENCE_INTERVAL`]. So within an epoch each runs independently, and through several epochs in which none has anything
//! for the others ([`lookahead`]). Between two epochs the network moves UEs, in the order of cells and UE indices: the result is
//! the same for any number of threads.
//!
//! A UE is in exactly one [`UeState`]: connected in a cell, in transit between cells, without a cell, or gone.

mod administrative;
mod carrier_aggregation;
mod conditional;
mod config;
mod counts;
mod event;
mod history;
mod interference;
mod link_failure;
mod lookahead;
mod measurement;
mod measurement_control;
mod random_access;
mod recovery;
mod site;
#[cfg(test)]
mod tests;
mod trigger;

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::phy::{Carrier, CarrierError};
use crate::{Cell, CellConfig, Time, Ue};

pub use carrier_aggregation::CarrierAggregationConfig;
pub use config::{A5Thresholds, ConditionalConfig, HandoverConfig, LinkFailureConfig, RandomAccessConfig};
pub use counts::MobilityCounts;
pub use event::{ArrivalCause, CancelCause, DepartureCause, HandoverError, NetworkEvent, UeState};
pub(crate) use history::MobilityHistory;
use history::Verdict;
use interference::Exchange;
pub use interference::INTERVAL as INTERFERENCE_INTERVAL;
pub use measurement::{
    CellMeasurement, EventCondition, MAX_REPORTED_CELLS, MeasurementConfig, MeasurementEvent, MeasurementReport,
    ReportTrigger,
};
use measurement::{Neighbour, UeMeasurements};
pub use measurement_control::{HANDOVER_MEASUREMENT, MAX_MEASUREMENT, MeasurementError};
use recovery::{Absent, Phase};
use site::{Arrival, Command, Site};

/// Arrivals, departures and handovers take effect at multiples of this.
pub const EPOCH: Duration = Duration::from_millis(10);
/// Events per cell that wait for [`Network::take_events`]; beyond it the oldest is dropped.
const MAX_EVENTS: usize = 1024;

/// A set of cells and the UEs that move between them.
#[derive(Debug)]
pub struct Network {
    sites: Vec<Site>,
    /// UEs without a cell.
    absent: Vec<Absent>,
    handover: HandoverConfig,
    measurement: MeasurementConfig,
    aggregation: CarrierAggregationConfig,
    threads: NonZeroUsize,
    next_number: u64,
    exchange: Exchange,
}

impl Network {
    /// Creates cells without UEs, computed with up to `threads` threads.
    ///
    /// # Errors
    /// When a carrier is not one of TS 38.104 or TS 36.104.
    pub fn new(
        cells: impl IntoIterator<Item = CellConfig>,
        handover: HandoverConfig,
        threads: NonZeroUsize,
    ) -> Result<Self, CarrierError> {
        let site = |(number, config)| Ok(Site::new(number, Cell::new(config)?));
        let mut sites = cells.into_iter().enumerate().map(site).collect::<Result<Vec<Site>, _>>()?;
        interference::share_tables(sites.iter_mut().map(|site| &mut site.cell));
        let exchange = Exchange::new(sites.iter().map(|site| &site.cell));
        let count = if exchange.is_shared() { sites.len() } else { 0 };
        sites.iter_mut().for_each(|site| site.emission.uplink = vec![0.0; count]);
        let carriers: Vec<_> = sites.iter().map(|site| site.cell.grid().carrier().clone()).collect();
        for (site, own) in sites.iter_mut().zip(&carriers) {
            let neighbour = |other: &Carrier| Neighbour {
                is_inter_frequency: other.frequency_mhz != own.frequency_mhz,
                is_inter_rat: other.rat != own.rat,
                ..Neighbour::default()
            };
            site.neighbours = carriers.iter().map(neighbour).collect();
            let mut others: Vec<u64> = carriers.iter().map(|other| other.frequency_mhz.to_bits()).collect();
            others.sort_unstable();
            others.dedup();
            site.gap_carriers = others.len() as u64 - 1;
        }
        let measurement = MeasurementConfig::default();
        let aggregation = CarrierAggregationConfig::default();
        let absent = Vec::new();
        Ok(Network { sites, absent, handover, measurement, aggregation, threads, next_number: 0, exchange })
    }

    /// Makes consecutive cells those of one base station. Its UEs with the capability aggregate those on carriers that do not
    /// overlap.
    ///
    /// # Panics
    /// When a cell does not exist, or is one of another base station with several cells.
    pub fn join_cells(&mut self, cells: std::ops::Range<usize>) {
        for site in &mut self.sites[cells.clone()] {
            assert_eq!(site.base_station, site.number, "cell {} is of another base station", site.number);
            site.base_station = cells.start;
        }
        for one in cells.clone() {
            for other in cells.clone().filter(|other| *other != one) {
                let can_aggregate = carrier_aggregation::can_aggregate(&self.sites[one].cell, &self.sites[other].cell);
                self.sites[one].neighbours[other].is_aggregable = can_aggregate;
                self.sites[one].aggregates |= can_aggregate;
            }
        }
    }

    /// The number of the first cell of the base station of a cell.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn base_station(&self, cell: usize) -> usize {
        self.sites[cell].base_station
    }

    /// Sets when cells are secondary cells of UEs.
    pub fn set_carrier_aggregation(&mut self, aggregation: CarrierAggregationConfig) {
        self.aggregation = aggregation;
    }

    /// What a UE measures of its secondary cells, by sCellIndex.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn measured_secondary(&self, cell: usize, index: usize) -> Vec<(u8, CellMeasurement)> {
        let site = &self.sites[cell];
        let Some(ue) = site.cell.ue(index) else { return Vec::new() };
        let none = UeMeasurements::default();
        site.measurements.get(index).unwrap_or(&none).measured_secondary(ue, site.cell.interference())
    }

    /// Whether cells share spectrum: then each meets what the others transmitted during the last [`INTERFERENCE_INTERVAL`].
    #[must_use]
    pub fn is_spectrum_shared(&self) -> bool {
        self.exchange.is_shared()
    }

    /// The number of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.sites.len()
    }

    /// The cell with a number.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn cell(&self, cell: usize) -> &Cell {
        &self.sites[cell].cell
    }

    /// The cell with a number, mutably.
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn cell_mut(&mut self, cell: usize) -> &mut Cell {
        &mut self.sites[cell].cell
    }

    /// Takes the events of a cell since the last call.
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn take_events(&mut self, cell: usize) -> impl Iterator<Item = NetworkEvent> + '_ {
        self.sites[cell].events.drain(..)
    }

    /// The number of the next UE.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// How many new UEs a full cell has rejected.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn rejected_arrivals(&self, cell: usize) -> u64 {
        self.sites[cell].rejected_arrivals
    }

    /// Schedules the arrival of a UE at the first epoch from `arrives` on, and its release from `leaves` on. The UE is
    /// rejected when the cell has no [free capacity](Cell::free_capacity) by then.
    ///
    /// # Errors
    /// When the cell does not exist.
    pub fn add(&mut self, cell: usize, mut ue: Ue, arrives: Time, leaves: Option<Time>) -> Result<(), HandoverError> {
        let site = self.sites.get_mut(cell).ok_or(HandoverError::UnknownCell)?;
        self.next_number = self.next_number.max(ue.number() + 1);
        ue.set_leaves_at(leaves.unwrap_or(Time::NEVER));
        site.schedule_arrival(Arrival::of_new(cell, arrives, Box::new(ue)));
        Ok(())
    }

    /// The counters of connections and handovers of a cell.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn mobility_counts(&self, cell: usize) -> &MobilityCounts {
        &self.sites[cell].counts
    }

    /// The UEs of the network with their states, those that have not arrived yet excepted.
    pub fn ue_states(&self) -> impl Iterator<Item = (&Ue, UeState)> {
        let connected = self
            .sites
            .iter()
            .flat_map(|site| site.cell.ues().map(|(_, ue)| (ue, UeState::Connected { cell: site.number })));
        let accessing = self.sites.iter().flat_map(Site::in_transit).map(|arrival| {
            let state = match arrival.cause {
                ArrivalCause::Reestablishment => UeState::Reestablishing,
                ArrivalCause::Setup | ArrivalCause::New => UeState::Released,
                ArrivalCause::Handover | ArrivalCause::ConditionalHandover => UeState::InTransit { to: arrival.cell },
            };
            (&*arrival.ue, state)
        });
        let absent = self.absent.iter().map(|absent| match absent.phase {
            Phase::Searching { .. } => (&*absent.ue, UeState::Reestablishing),
            Phase::Idle { .. } => (&*absent.ue, UeState::Released),
        });
        connected.chain(accessing).chain(absent)
    }

    /// Starts the handover of a UE: the target reserves a place, and the UE is commanded. It arrives in the target cell after
    /// the interruption time and a successful random access. The command is repeated while it does not reach the UE, or while
    /// the target has no dedicated preamble left; until then the UE stays in its cell.
    ///
    /// # Errors
    /// When the handover is rejected; the UE stays in its cell.
    pub fn hand_over(&mut self, cell: usize, index: usize, to: usize) -> Result<(), HandoverError> {
        self.check_handover(cell, index, to)?;
        self.begin_handover(cell, index, to)
    }

    /// Checks that a UE and a target exist, and that the relation of the cells allows handovers.
    fn check_handover(&self, cell: usize, index: usize, to: usize) -> Result<(), HandoverError> {
        if to >= self.sites.len() {
            return Err(HandoverError::UnknownCell);
        }
        let source = self.sites.get(cell).ok_or(HandoverError::UnknownCell)?;
        if to == cell {
            return Err(HandoverError::SameCell);
        }
        if source.cell.ue(index).is_none() {
            return Err(HandoverError::UnknownUe);
        }
        if source.neighbours[to].is_prohibited {
            return Err(HandoverError::Prohibited);
        }
        Ok(())
    }

    /// Checks that a cell admits one more UE.
    fn check_admission(&self, to: usize) -> Result<(), HandoverError> {
        let target = &self.sites[to];
        match (target.cell.admits_ues(), target.has_room()) {
            (false, _) => Err(HandoverError::CellLocked),
            (true, false) => Err(HandoverError::CellFull),
            (true, true) => Ok(()),
        }
    }

    /// Prepares and commands a handover.
    fn begin_handover(&mut self, cell: usize, index: usize, to: usize) -> Result<(), HandoverError> {
        self.prepare_handover(cell, index, to)?;
        // a new command replaces the previous one
        self.sites[cell].withdraw_commands(index, |other| other != to, CancelCause::Unwanted);
        if !self.execute_handover(cell, index, to) {
            self.sites[cell].commands.push(Command { index, to });
        }
        Ok(())
    }

    /// Asks the target to admit a UE.
    fn prepare_handover(&mut self, cell: usize, index: usize, to: usize) -> Result<(), HandoverError> {
        self.sites[cell].counts.preparations_requested += 1;
        self.sites[to].counts.allocations_requested += 1;
        let answer = self.check_admission(to);
        self.sites[cell].report_preparation(index, to, answer.err(), false);
        let Err(error) = answer else {
            self.sites[cell].counts.preparations_succeeded += 1;
            self.sites[to].counts.allocations_succeeded += 1;
            return Ok(());
        };
        self.sites[to].counts.allocations_failed += 1;
        let counts = &mut self.sites[cell].counts;
        match error {
            HandoverError::CellLocked => counts.preparations_failed_locked += 1,
            _ => counts.preparations_failed_full += 1,
        }
        Err(error)
    }

    /// Sends the handover command. Returns false when it did not reach the UE, or the target has no dedicated preamble left.
    fn execute_handover(&mut self, cell: usize, index: usize, to: usize) -> bool {
        let config = self.handover;
        let dedicated = usize::from(config.access.dedicated_preambles);
        let target = &self.sites[to];
        if !target.has_room() || dedicated > 0 && target.dedicated_in_use() >= dedicated {
            return false;
        }
        let source = &mut self.sites[cell];
        let is_received = random_access::is_message_received(&mut source.cell, index, &config);
        if !is_received {
            return false;
        }
        let now = source.cell.now();
        let entry = *source.cell.ue_entry(index);
        let Some(mut ue) = source.leave(index, DepartureCause::Handover { to }) else { return false };
        source.counts.executions_requested += 1;
        ue.set_serving_cell(to);
        self.sites[to].schedule_arrival(Arrival {
            at: now + config.interruption(),
            cell: to,
            cause: ArrivalCause::Handover,
            from: Some((cell, entry)),
            deadline: now + config.t304,
            is_dedicated: dedicated > 0,
            attempts: 0,
            ue,
        });
        true
    }

    /// Sets what UEs measure and report.
    pub fn set_measurement(&mut self, measurement: MeasurementConfig) {
        self.measurement = measurement;
    }

    /// Sets the condition of handovers from now on: the offset and hysteresis of event A3, and its time to trigger.
    pub fn set_a3(&mut self, offset_db: Option<f64>, hysteresis_db: f64, time_to_trigger: Duration) {
        let handover = &mut self.handover;
        (handover.a3_offset_db, handover.hysteresis_db) = (offset_db, hysteresis_db);
        handover.time_to_trigger = time_to_trigger;
    }

    /// Starts or stops the measurement reports of a cell's UEs, for [`Network::take_reports`].
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn set_reporting(&mut self, cell: usize, is_reporting: bool) {
        let reports = &mut self.sites[cell].reports;
        *reports = is_reporting.then(|| reports.take().unwrap_or_default());
    }

    /// Takes the measurement reports of a cell since the last call. More than 4096 are not kept.
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn take_reports(&mut self, cell: usize) -> impl Iterator<Item = MeasurementReport> + '_ {
        self.sites[cell].reports.iter_mut().flat_map(|reports| reports.drain(..))
    }

    /// What a UE measures of its serving cell, which comes first, and of its neighbours, the strongest first. RSRP is that after
    /// the layer 3 filter where the UE measures for handovers or reports, otherwise that of the moment.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn measured(&self, cell: usize, index: usize) -> Vec<CellMeasurement> {
        let site = &self.sites[cell];
        let Some(ue) = site.cell.ue(index) else { return Vec::new() };
        let none = UeMeasurements::default();
        let measurements = site.measurements.get(index).unwrap_or(&none);
        let mut measured = measurements.measured(ue, site.cell.interference(), std::iter::once(cell));
        let received = ue.channel().geometry().map_or(1, |geometry| geometry.sites().len());
        if received > 1 {
            let others = (0..received).filter(|other| *other != cell && !site.neighbours[*other].is_silent);
            measured.extend(measurements.measured(ue, site.cell.interference(), others));
        }
        measured
    }

    /// The offset that UEs of a cell add to RSRP of a neighbour, or of the cell itself (cellIndividualOffset), in dB, and whether
    /// handovers to it are allowed.
    ///
    /// # Panics
    /// When there is no such cell.
    #[must_use]
    pub fn cell_relation(&self, cell: usize, neighbour: usize) -> (f64, bool) {
        let relation = &self.sites[cell].neighbours[neighbour];
        (relation.offset_db, !relation.is_prohibited)
    }

    /// Sets [`Network::cell_relation`].
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn set_cell_relation(&mut self, cell: usize, neighbour: usize, offset_db: f64, is_handover_allowed: bool) {
        let relation = &mut self.sites[cell].neighbours[neighbour];
        (relation.offset_db, relation.is_prohibited) = (offset_db, !is_handover_allowed);
    }

    /// Enables or disables automatic handovers: see [`HandoverConfig::is_automatic`].
    pub fn set_automatic_handover(&mut self, is_automatic: bool) {
        self.handover.is_automatic = is_automatic;
    }

    /// Runs all cells until `until`.
    pub fn advance(&mut self, until: Time) {
        let (handover, measurement, aggregation) = (self.handover, self.measurement.clone(), self.aggregation);
        let config = (&handover, &measurement, &aggregation);
        loop {
            let interaction = self.next_interaction(until);
            let is_exchange = self.exchange.is_due(interaction);
            self.on_each(|sites| carrier_aggregation::advance(sites, until, (interaction, is_exchange), config));
            self.collect_outcomes();
            if until < interaction {
                break;
            }
            if is_exchange {
                let interference = self.exchange.interference(self.sites.iter().map(|site| &site.emission));
                self.sites.iter_mut().for_each(|site| site.cell.set_interference(&interference));
            }
            (0..self.sites.len()).for_each(|cell| self.finish_epoch(cell));
            self.update_silent_cells();
            self.search_cells();
        }
    }

    /// Applies `work` to the cells of each base station; each thread takes the next unprocessed ones.
    fn on_each(&mut self, work: impl Fn(&mut [Site]) + Sync) {
        let threads = self.threads.get().min(self.sites.len());
        let base_stations = self.sites.chunk_by_mut(|one, next| one.base_station == next.base_station);
        if threads <= 1 {
            return base_stations.for_each(work);
        }
        let base_stations = Mutex::new(base_stations);
        let next = || base_stations.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(sites) = next() {
                work(sites);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            work();
            for other in others {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }

    /// Processes what the epoch of a cell has brought for the network: failures, handovers, and the administrative state.
    fn finish_epoch(&mut self, cell: usize) {
        let now = self.sites[cell].cell.now();
        let outcome = std::mem::take(&mut self.sites[cell].outcome);
        for arrival in outcome.refused {
            self.absent.push(Absent::idle(arrival.ue, cell, now));
        }
        for arrival in outcome.expired {
            self.count_expiry(arrival, now);
        }
        for (index, to) in outcome.triggered {
            // a rejected handover leaves the UE in its cell
            let _ = self.hand_over(cell, index, to);
        }
        for (index, to) in outcome.to_prepare {
            self.prepare_conditional(cell, index, to);
        }
        self.configure_conditional(cell);
        for (index, to) in outcome.executed {
            self.execute_conditional(cell, index, to);
        }
        for Command { index, to } in std::mem::take(&mut self.sites[cell].commands) {
            if self.sites[cell].cell.ue(index).is_none() {
                continue;
            }
            if !self.sites[to].cell.admits_ues() {
                let ue = *self.sites[cell].cell.ue_entry(index);
                self.sites[cell].cancel_preparation(ue, to, false, CancelCause::Unwanted);
            } else if !self.execute_handover(cell, index, to) {
                self.sites[cell].commands.push(Command { index, to });
            }
        }
        self.evacuate(cell, now);
    }

    /// Processes what cells may have done in an epoch without waiting for the others: UEs that have arrived or failed.
    fn collect_outcomes(&mut self) {
        let mut failed = Vec::new();
        for cell in 0..self.sites.len() {
            let outcome = &mut self.sites[cell].outcome;
            failed.extend(outcome.failed.drain(..).map(|(at, ue, entry)| (at, cell, ue, entry)));
            for (cause, from, verdict) in std::mem::take(&mut outcome.arrived) {
                self.count_arrival(cause, from, verdict);
            }
        }
        // in the order of epochs, as if they had been processed in each
        failed.sort_by_key(|(at, ..)| *at);
        let searching = failed
            .into_iter()
            .map(|(at, cell, ue, entry)| Absent::searching(ue, (cell, Some(entry)), at, &self.handover));
        self.absent.extend(searching);
    }

    /// Counts the arrival of a UE where it belongs.
    fn count_arrival(&mut self, cause: ArrivalCause, from: Option<usize>, verdict: Option<Verdict>) {
        if let (ArrivalCause::Handover | ArrivalCause::ConditionalHandover, Some(from)) = (cause, from) {
            let counts = &mut self.sites[from].counts;
            match cause {
                ArrivalCause::ConditionalHandover => counts.conditional_executions_succeeded += 1,
                _ => counts.executions_succeeded += 1,
            }
        }
        match verdict {
            Some(Verdict::TooLate(cell)) => self.sites[cell].counts.too_late += 1,
            Some(Verdict::TooEarly(cell)) => self.sites[cell].counts.too_early += 1,
            Some(Verdict::ToWrongCell(cell)) => self.sites[cell].counts.to_wrong_cell += 1,
            None => {}
        }
    }

    /// Processes the expiry of T304, T301 or T300.
    fn count_expiry(&mut self, arrival: Arrival, now: Time) {
        let Arrival { cell, cause, from, mut ue, .. } = arrival;
        let last = from.map_or((cell, None), |(cell, entry)| (cell, Some(entry)));
        match (cause, from) {
            (ArrivalCause::Handover | ArrivalCause::ConditionalHandover, Some((source, entry))) => {
                let counts = &mut self.sites[source].counts;
                match cause {
                    ArrivalCause::ConditionalHandover => counts.conditional_executions_failed += 1,
                    _ => counts.executions_failed += 1,
                }
                self.sites[source].push_event(NetworkEvent::HandoverFailed { ue: entry, to: cell });
                let is_conditional = cause == ArrivalCause::ConditionalHandover;
                self.sites[source].cancel_preparation(entry, cell, is_conditional, CancelCause::Expired);
                ue.history.handover_failed(source, cell);
                self.absent.push(Absent::searching(ue, last, now, &self.handover));
            }
            (ArrivalCause::Reestablishment, _) => {
                self.sites[last.0].counts.released_lost += 1;
                self.absent.push(Absent::idle(ue, last.0, now));
            }
            _ => {
                self.sites[cell].counts.setups_failed_no_reply += 1;
                self.absent.push(Absent::idle(ue, cell, now));
            }
        }
    }
}
