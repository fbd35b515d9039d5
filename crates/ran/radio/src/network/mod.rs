//! Several cells, with arrivals, departures and handovers of UEs.
//!
//! Cells interact through handovers, which take longer than [`EPOCH`], and through interference, which is that of the last epoch.
//! Each cell therefore runs independently: epoch by epoch when cells share spectrum or UEs hand over automatically, with arrivals
//! processed in between; otherwise up to the requested time in one go, because the state of one cell fits into the processor's caches and that of a hundred does not. The result is the
//! same for any number of threads.

mod a3;
mod interference;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::cell::Emission;
use crate::phy::CarrierError;
use crate::{Cell, CellConfig, Time, Ue, UeEntry};

use a3::Neighbours;
use interference::Exchange;

/// Arrivals, departures and handovers take effect at multiples of this.
pub const EPOCH: Duration = Duration::from_millis(10);
/// Events per cell that wait for [`Network::take_events`]; beyond it the oldest is dropped.
const MAX_EVENTS: usize = 1024;

/// Handover parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoverConfig {
    /// Offset of event A3 (TS 38.331 5.5.4.4) in dB: how much stronger than the serving cell a neighbour must be; `None`: no
    /// measurement-based handovers. Default: none.
    pub a3_offset_db: Option<f64>,
    /// Hysteresis of the event, in dB, added for entering and subtracted for leaving. Default: 0.
    pub hysteresis_db: f64,
    /// timeToTrigger, at least [`EPOCH`]. Default: 160 ms.
    pub time_to_trigger: Duration,
    /// Interruption time between source and target cell, at least [`EPOCH`]. Default: 30 ms.
    pub interruption: Duration,
    /// Whether event A3 starts the handover. Otherwise it only raises [`NetworkEvent::HandoverTriggered`]. Default: true.
    pub is_automatic: bool,
}

impl Default for HandoverConfig {
    fn default() -> Self {
        HandoverConfig {
            a3_offset_db: None,
            hysteresis_db: 0.0,
            time_to_trigger: Duration::from_millis(160),
            interruption: Duration::from_millis(30),
            is_automatic: true,
        }
    }
}

/// An event in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A UE has arrived, by handover or as a new one.
    Arrived {
        /// Its identity in this cell.
        ue: UeEntry,
        /// Source cell and identity there, after a handover.
        from: Option<(usize, UeEntry)>,
    },
    /// A UE has departed.
    Departed {
        /// Its identity in this cell.
        ue: UeEntry,
        /// Target cell of a handover; `None` after a release.
        to: Option<usize>,
    },
    /// Event A3 has triggered, and handovers are not automatic.
    HandoverTriggered {
        /// Its identity in this cell.
        ue: UeEntry,
        /// The target cell.
        to: usize,
    },
}

/// Why a handover is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverError {
    /// The cell does not exist.
    UnknownCell,
    /// The UE does not exist in the source cell; it may have departed.
    UnknownUe,
    /// The UE is in the target cell.
    SameCell,
    /// The target cell is full, counting the UEs in transit to it.
    CellFull,
    /// The model times of the two cells differ by more than the interruption time. The UE's traffic would repeat or skip
    /// that time.
    ClocksApart,
}

impl std::fmt::Display for HandoverError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            HandoverError::UnknownCell => "the target cell does not exist in this RAN",
            HandoverError::UnknownUe => "the UE is not in the source cell",
            HandoverError::SameCell => "the UE is already in the target cell",
            HandoverError::CellFull => {
                "the target cell is full: its 4096 UE indices are in use, or were released within the last 10 s"
            }
            HandoverError::ClocksApart => {
                "the model time of one cell is behind the other by more than the interruption time; try again"
            }
        })
    }
}

impl std::error::Error for HandoverError {}

/// A UE in transit to a cell.
#[derive(Debug)]
struct Arrival {
    at: Time,
    from: Option<(usize, UeEntry)>,
    ue: Box<Ue>,
}

/// A cell with its pending arrivals, events and handover measurements.
#[derive(Debug)]
struct Site {
    cell: Cell,
    /// In order of time.
    arrivals: VecDeque<Arrival>,
    /// The number of arrivals that are handovers. An index is reserved for each.
    handed_over: usize,
    /// New UEs that found no free index.
    rejected_arrivals: u64,
    events: VecDeque<NetworkEvent>,
    /// The neighbour measurements of each UE, by index.
    neighbours: Vec<Neighbours>,
    next_epoch: Time,
    emission: Emission,
}

impl Site {
    fn push_event(&mut self, event: NetworkEvent) {
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn schedule_arrival(&mut self, arrival: Arrival) {
        // at equal times new UEs precede handovers, so that the order of `add` calls has no effect
        let order = |arrival: &Arrival| (arrival.at, arrival.from.is_some());
        let at = self.arrivals.partition_point(|other| order(other) <= order(&arrival));
        self.handed_over += usize::from(arrival.from.is_some());
        self.arrivals.insert(at, arrival);
    }

    /// Whether one more UE fits, in addition to those in transit.
    fn has_room(&self) -> bool {
        self.cell.free_capacity() > self.handed_over
    }

    /// Runs to the next epoch, or to `until` when that is earlier. Returns whether the epoch was reached.
    fn advance(&mut self, until: Time) -> bool {
        self.cell.advance(until.min(self.next_epoch));
        until >= self.next_epoch
    }

    /// Begins an epoch: processes due arrivals and departures. Returns automatic handovers as (UE index, target cell).
    fn begin_epoch(&mut self, handover: &HandoverConfig) -> Vec<(usize, usize)> {
        let now = self.next_epoch;
        self.next_epoch += EPOCH;
        while self.arrivals.front().is_some_and(|arrival| arrival.at <= now) {
            let Some(Arrival { from, ue, .. }) = self.arrivals.pop_front() else { break };
            if from.is_some() {
                self.handed_over -= 1;
            } else if !self.has_room() {
                self.rejected_arrivals += 1;
                continue;
            }
            let index = self.cell.arrive(ue);
            self.push_event(NetworkEvent::Arrived { ue: *self.cell.ue_entry(index), from });
        }
        let mut from = 0;
        while let Some(index) = self.next_to_leave(from, now) {
            from = index + 1;
            self.leave(index, None);
        }
        let triggered = handover.a3_offset_db.map_or(Vec::new(), |offset_db| self.measure(offset_db, handover));
        if handover.is_automatic {
            return triggered;
        }
        for (index, to) in triggered {
            let ue = *self.cell.ue_entry(index);
            self.push_event(NetworkEvent::HandoverTriggered { ue, to });
        }
        Vec::new()
    }

    /// Removes a UE, for a handover or for good.
    fn leave(&mut self, index: usize, to: Option<usize>) -> Option<Box<Ue>> {
        let left = self.cell.leave(index)?;
        if let Some(neighbours) = self.neighbours.get_mut(index) {
            *neighbours = Neighbours::default();
        }
        let ue = *self.cell.ue_entry(index);
        self.push_event(NetworkEvent::Departed { ue, to });
        Some(left)
    }

    /// The first UE at index `from` or above whose departure is due.
    fn next_to_leave(&self, from: usize, now: Time) -> Option<usize> {
        (from..self.cell.ue_indices()).find(|index| self.cell.ue(*index).is_some_and(|ue| ue.leaves_at() <= now))
    }

    /// Evaluates event A3 of all UEs. Returns the triggered handovers as (UE index, target cell).
    fn measure(&mut self, offset_db: f64, handover: &HandoverConfig) -> Vec<(usize, usize)> {
        let Site { cell: there, neighbours, .. } = self;
        let now = there.now();
        neighbours.resize_with(there.ue_indices(), Neighbours::default);
        let mut triggered = Vec::new();
        for (index, ue) in there.ues() {
            let Some(geometry) = ue.channel().geometry() else { continue };
            let own_dbm = geometry.rsrp_dbm(geometry.serving());
            let others = (0..geometry.sites().len()).filter(|site| *site != geometry.serving());
            let better = others.map(|site| (site, geometry.rsrp_dbm(site) - own_dbm));
            let to = neighbours[index].measure(now, better, offset_db, handover);
            triggered.extend(to.map(|to| (index, to)));
        }
        triggered
    }
}

/// A set of cells and the UEs that move between them.
#[derive(Debug)]
pub struct Network {
    sites: Vec<Site>,
    handover: HandoverConfig,
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
        let site = |config| {
            Ok(Site {
                cell: Cell::new(config)?,
                arrivals: VecDeque::new(),
                handed_over: 0,
                rejected_arrivals: 0,
                events: VecDeque::new(),
                neighbours: Vec::new(),
                next_epoch: Time::START,
                emission: Emission::default(),
            })
        };
        let mut sites = cells.into_iter().map(site).collect::<Result<Vec<Site>, _>>()?;
        interference::share_tables(sites.iter_mut().map(|site| &mut site.cell));
        let exchange = Exchange::new(sites.iter().map(|site| &site.cell));
        let count = if exchange.is_shared() { sites.len() } else { 0 };
        sites.iter_mut().for_each(|site| site.emission.uplink = vec![0.0; count]);
        Ok(Network { sites, handover, threads, next_number: 0, exchange })
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
        site.schedule_arrival(Arrival { at: arrives, from: None, ue: Box::new(ue) });
        Ok(())
    }

    /// Starts the handover of a UE. It arrives in the target cell after the interruption time.
    ///
    /// # Errors
    /// When the handover is rejected; the UE stays in its cell.
    pub fn hand_over(&mut self, cell: usize, index: usize, to: usize) -> Result<(), HandoverError> {
        let target = self.sites.get(to).ok_or(HandoverError::UnknownCell)?;
        if to == cell {
            return Err(HandoverError::SameCell);
        }
        if !target.has_room() {
            return Err(HandoverError::CellFull);
        }
        let there = target.cell.now();
        let site = self.sites.get_mut(cell).ok_or(HandoverError::UnknownCell)?;
        let now = site.cell.now();
        let interruption = self.handover.interruption.max(EPOCH);
        // cells that run independently may differ in time
        if now.since(there).max(there.since(now)) > interruption {
            return Err(HandoverError::ClocksApart);
        }
        let mut ue = site.leave(index, Some(to)).ok_or(HandoverError::UnknownUe)?;
        ue.set_serving_cell(to);
        let entry = *site.cell.ue_entry(index);
        let target = &mut self.sites[to];
        let at = now.min(there) + interruption;
        target.schedule_arrival(Arrival { at, from: Some((cell, entry)), ue });
        Ok(())
    }

    /// Enables or disables automatic handovers: see [`HandoverConfig::is_automatic`].
    pub fn set_automatic_handover(&mut self, is_automatic: bool) {
        self.handover.is_automatic = is_automatic;
    }

    /// Runs all cells until `until`.
    pub fn advance(&mut self, until: Time) {
        let handover = self.handover;
        let is_shared = self.exchange.is_shared();
        if !is_shared && (!handover.is_automatic || handover.a3_offset_db.is_none()) {
            self.on_each(|site| {
                while site.advance(until) {
                    site.begin_epoch(&handover);
                }
            });
            return;
        }
        loop {
            self.on_each(|site| {
                if site.advance(until) && is_shared {
                    site.cell.take_emission(&mut site.emission);
                }
            });
            if self.sites.iter().all(|site| site.next_epoch > until) {
                break;
            }
            if is_shared {
                let interference = self.exchange.interference(self.sites.iter().map(|site| &site.emission));
                self.sites.iter_mut().for_each(|site| site.cell.set_interference(&interference));
            }
            for cell in 0..self.sites.len() {
                self.begin_epoch(cell, until);
            }
        }
    }

    /// Whether cells share spectrum: then they run epoch by epoch, and each meets what the others transmitted during the last
    /// epoch.
    #[must_use]
    pub fn is_spectrum_shared(&self) -> bool {
        self.exchange.is_shared()
    }

    /// Runs one cell only. It meets the interference of the last common epoch. Handovers between cells whose times differ too much are rejected
    /// ([`HandoverError::ClocksApart`]).
    ///
    /// # Panics
    /// When there is no such cell.
    pub fn advance_cell(&mut self, cell: usize, until: Time) {
        while self.sites[cell].advance(until) {
            self.begin_epoch(cell, until);
        }
    }

    /// Applies `work` to each cell; each thread takes the next unprocessed one.
    fn on_each(&mut self, work: impl Fn(&mut Site) + Sync) {
        let threads = self.threads.get().min(self.sites.len());
        let sites = Mutex::new(self.sites.iter_mut());
        let next = || sites.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(site) = next() {
                work(site);
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

    fn begin_epoch(&mut self, cell: usize, until: Time) {
        let site = &mut self.sites[cell];
        if site.next_epoch > until {
            return;
        }
        for (index, to) in site.begin_epoch(&self.handover) {
            // a rejected handover leaves the UE in its cell
            let _ = self.hand_over(cell, index, to);
        }
    }
}
