//! A cell with its UEs. [`Cell::step`] runs one slot.

mod config;
mod connections;
mod counts;
mod delegation;
mod emission;
mod energy;
mod guests;
mod peaks;
mod slot;
#[cfg(test)]
mod tests;
mod ue_table;
mod usage;

use std::sync::Arc;

use crate::harq::HarqConfig;
use crate::mac::{Candidate, Grant, NoSlices, Nvs, Quotas, Scheduler, StaticSlices, ue_scheduler};
use crate::phy::{Adaptation, CarrierError, Direction, Grid, Interference, Surroundings, TransportBlocks};
use crate::ue::{CellContext, Subscription, Ue};
use crate::{Time, tc};

pub use config::{AdministrativeState, CellConfig, Slicing};
use connections::Connections;
pub use counts::UeCounts;
use counts::counts_of;
use delegation::Delegation;
pub use delegation::{DecidedGrant, DelegatedBearer, DelegationCounts, MAX_DECISIONS, Shortfall};
pub(crate) use emission::Emission;
use emission::EmissionMeter;
pub(crate) use energy::Muting;
pub use energy::PowerState;
use energy::{EnergyMeter, Sleep};
use guests::Guests;
pub(crate) use guests::PrimaryCells;
use ue_table::UeTable;
pub use ue_table::{INDEX_REUSE_DELAY, MAX_UES_PER_CELL, UeEntry};
pub use usage::PrbUsage;

/// The grant that answers a scheduling request, in octets: room for a buffer status report and a small packet.
const REQUEST_GRANT_OCTETS: u32 = 64;
/// How many slots ahead events can be scheduled; longer than any HARQ round trip.
const EVENT_HORIZON_SLOTS: usize = 64;
/// The UE scheduler of UEs without a slice.
const DEFAULT_UE_SCHEDULER: &str = "PF";

/// An event at a UE in a future slot.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// The UE's index, or that of a guest from [`FIRST_GUEST`](guests::FIRST_GUEST) on. Events of a UE that has departed are
    /// discarded.
    ue: u32,
    kind: EventKind,
}

#[derive(Clone, Copy, Debug)]
enum EventKind {
    /// Decoding of a block has finished: its content is delivered, or the block is lost after its last transmission.
    BlockDecoded { direction: Direction, process: u8, is_decoded: bool },
    /// The base station receives the HARQ feedback of a block that is not retransmitted.
    HarqFeedback { direction: Direction, process: u8, is_decoded: bool },
    /// The base station receives a NACK: the block of this process has to be retransmitted.
    RetransmissionRequest(Direction, u8),
    /// A scheduling request arrives.
    SchedulingRequest,
    /// The UE transmits on a grant. For a new block, `used_octets` is the sum of all grants up to this one; `None` marks a
    /// retransmission.
    Grant { process: u8, used_octets: Option<u64> },
}

/// A cell with its UEs. Time advances only through [`Cell::step`] and [`Cell::advance`].
#[derive(Debug)]
pub struct Cell {
    config: CellConfig,
    grid: Grid,
    /// Link adaptation, by direction.
    tables: [Adaptation; 2],
    dl_blocks: TransportBlocks,
    ul_blocks: TransportBlocks,
    slot: u64,
    slot_ns: u64,
    ue_table: UeTable,
    /// UEs for which the cell is a secondary cell.
    guests: Guests,
    /// The last uplink slot.
    uplink_slot: Option<u64>,
    dl: Scheduler,
    ul: Scheduler,
    slicing: [Slicing; 2],
    /// What somebody else schedules in the downlink.
    delegation: Delegation,
    /// Future events by slot, modulo [`EVENT_HORIZON_SLOTS`].
    events: Vec<Vec<Event>>,
    administrative_state: AdministrativeState,
    usage: [PrbUsage; 2],
    connections: Connections,
    emission: EmissionMeter,
    energy: EnergyMeter,
    sleep: Sleep,
    muting: Muting,
    /// What other cells transmit.
    interference: Arc<Interference>,
    /// Whether the downlink of the next slot is lost, and how many transmissions were lost so.
    is_downlink_lost: bool,
    lost_transmissions: u64,
    /// Resource blocks granted in future uplink slots, by slot modulo [`EVENT_HORIZON_SLOTS`].
    granted: Vec<Option<u32>>,
    /// Counters of the configured queues, summed over UEs that have departed.
    left_queues: Vec<(tc::QueueId, tc::QueueCounts)>,
    /// Reused buffers.
    now_events: Vec<Event>,
    busy: Vec<u32>,
    candidates: Vec<Candidate>,
    grants: Vec<Grant>,
}

impl Cell {
    /// Creates a cell without UEs.
    ///
    /// # Errors
    /// When the carrier is not one of TS 38.104 or TS 36.104.
    ///
    /// # Panics
    /// When [`tc::Configuration::check`] rejects the traffic control configuration, [`DrxConfig::check`](crate::DrxConfig::check) that of
    /// DRX, or [`PowerModel::check`](crate::PowerModel::check) the power model.
    pub fn new(config: CellConfig) -> Result<Self, CarrierError> {
        let grid = config.carrier.check()?;
        if let Err(refused) = config.tc.check() {
            panic!("traffic control of a cell: {refused}");
        }
        if let Some(refused) = config.drx.and_then(|drx| drx.check().err()) {
            panic!("DRX of a cell: {refused}");
        }
        if let Err(refused) = config.power.check() {
            panic!("power model of a cell: {refused}");
        }
        let slot_ns = grid.slot().as_nanos() as u64;
        let whole = || Scheduler::new(Box::new(NoSlices), vec![Box::new(crate::mac::ProportionalFair)]);
        Ok(Cell {
            tables: [Direction::Downlink, Direction::Uplink].map(|direction| Adaptation::new(&grid, direction)),
            dl_blocks: TransportBlocks::new(&grid, Direction::Downlink),
            ul_blocks: TransportBlocks::new(&grid, Direction::Uplink),
            slot: 0,
            slot_ns,
            ue_table: UeTable::default(),
            guests: Guests::default(),
            uplink_slot: None,
            dl: whole(),
            ul: whole(),
            slicing: [Slicing::None, Slicing::None],
            delegation: Delegation::default(),
            events: vec![Vec::new(); EVENT_HORIZON_SLOTS],
            administrative_state: AdministrativeState::Unlocked,
            usage: [PrbUsage::default(); 2],
            connections: Connections::default(),
            emission: EmissionMeter::new(&grid),
            energy: EnergyMeter::new(config.power, &grid),
            sleep: Sleep::default(),
            muting: Muting::default(),
            interference: Arc::default(),
            grid,
            is_downlink_lost: false,
            lost_transmissions: 0,
            granted: vec![None; EVENT_HORIZON_SLOTS],
            left_queues: Vec::new(),
            now_events: Vec::new(),
            busy: Vec::new(),
            candidates: Vec::new(),
            grants: Vec::new(),
            config,
        })
    }

    /// Shares the transport block sizes of a cell with the same carrier, which spares the caches of the processor.
    pub(crate) fn share_tables(&mut self, other: &Cell) {
        self.dl_blocks = other.dl_blocks.clone();
        self.ul_blocks = other.ul_blocks.clone();
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// The validated carrier.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The link adaptation of a direction.
    #[must_use]
    pub fn adaptation(&self, direction: Direction) -> &Adaptation {
        &self.tables[direction as usize]
    }

    /// The number of resource blocks that carry data in a slot of a direction.
    #[must_use]
    pub fn prbs(&self, direction: Direction) -> u32 {
        self.blocks(direction).prbs().into()
    }

    /// The number of slots of a direction per second.
    #[must_use]
    pub fn slots_per_s(&self, direction: Direction) -> f64 {
        let pattern = self.grid.pattern();
        let has = |(down, up): &&(u8, u8)| if direction == Direction::Downlink { *down > 0 } else { *up > 0 };
        pattern.iter().filter(has).count() as f64 / pattern.len() as f64 / self.grid.slot().as_secs_f64()
    }

    /// The number of slots of a direction per second, each counted by its resource elements for data: a special slot is a part
    /// of a full one.
    #[must_use]
    pub fn full_slots_per_s(&self, direction: Direction) -> f64 {
        let (pattern, blocks) = (self.grid.pattern(), self.blocks(direction));
        let symbols = pattern.iter().map(|(down, up)| if direction == Direction::Downlink { *down } else { *up });
        let elements: u32 = symbols.map(|symbols| blocks.elements(symbols)).sum();
        let slots = f64::from(elements) / f64::from(blocks.full_elements().max(1));
        slots / pattern.len() as f64 / self.grid.slot().as_secs_f64()
    }

    /// The resource blocks of full slots that resource elements for data of a direction amount to.
    #[must_use]
    pub fn full_prbs(&self, direction: Direction, elements: u64) -> u64 {
        elements / u64::from(self.blocks(direction).full_elements().max(1))
    }

    /// The transport block sizes of a direction.
    #[must_use]
    pub fn blocks(&self, direction: Direction) -> &TransportBlocks {
        match direction {
            Direction::Downlink => &self.dl_blocks,
            Direction::Uplink => &self.ul_blocks,
        }
    }

    /// The next slot to run, counted from the start of the model.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// The time at which [`Cell::slot`] begins.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(self.slot * self.slot_ns)
    }

    /// The PRB usage of a direction.
    #[must_use]
    pub fn usage(&self, direction: Direction) -> &PrbUsage {
        &self.usage[direction as usize]
    }

    /// The largest number of UEs in RRC_CONNECTED at any time since `since`.
    #[must_use]
    pub fn max_connections(&self, since: Time) -> u32 {
        self.connections.max(since)
    }

    /// The number of UE indices in use, including those of departed UEs.
    #[must_use]
    pub fn ue_indices(&self) -> usize {
        self.ue_table.len()
    }

    /// How many more UEs can arrive now: as many as [`CellConfig::max_ues`] permits. The index of a departed UE is reused after
    /// [`INDEX_REUSE_DELAY`].
    #[must_use]
    pub fn free_capacity(&self) -> usize {
        let admitted = self.config.max_ues.map_or(usize::MAX, usize::from);
        self.ue_table.free_capacity(self.now()).min(admitted.saturating_sub(self.ue_count()))
    }

    /// The number of UEs in the cell.
    #[must_use]
    pub fn ue_count(&self) -> usize {
        self.ue_table.count()
    }

    /// The UEs in the cell, with their indices.
    pub fn ues(&self) -> impl Iterator<Item = (usize, &Ue)> {
        self.ue_table.iter()
    }

    /// The UE with an index.
    #[must_use]
    pub fn ue(&self, index: usize) -> Option<&Ue> {
        self.ue_table.ue(index)
    }

    /// The UE with an index, for access that leaves its idle time as it is.
    pub(crate) fn ue_unchanged(&mut self, index: usize) -> Option<&mut Ue> {
        self.ue_table.ue_unchanged(index)
    }

    /// The UE with an index, mutably.
    pub fn ue_mut(&mut self, index: usize) -> Option<&mut Ue> {
        self.ue_table.ue_mut(index)
    }

    /// The counters of the UE with an index. They stay readable after its departure until the index is reused.
    #[must_use]
    pub fn counts(&self, index: usize) -> Option<UeCounts> {
        match self.ue_table.ue(index) {
            Some(ue) => Some(counts_of(ue, self.now())),
            None => self.ue_table.last(index).copied(),
        }
    }

    /// The counters of departed UEs whose indices have been reused, summed by subscription. Sums never decrease.
    #[must_use]
    pub fn departed_counts(&self) -> &[(Subscription, UeCounts)] {
        self.ue_table.departed_counts()
    }

    /// The current or last UE of an index.
    ///
    /// # Panics
    /// When `index` is not below [`Cell::ue_indices`].
    #[must_use]
    pub fn ue_entry(&self, index: usize) -> &UeEntry {
        self.ue_table.ue_entry(index)
    }

    /// The administrative state.
    #[must_use]
    pub fn administrative_state(&self) -> AdministrativeState {
        self.administrative_state
    }

    /// Sets the administrative state (TS 28.541 4.3.5). In a [`Network`](crate::Network) its UEs follow at the next epoch.
    pub fn set_administrative_state(&mut self, state: AdministrativeState) {
        self.administrative_state = state;
    }

    /// Whether the cell is locked: it schedules no UE.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.administrative_state == AdministrativeState::Locked
    }

    /// Locks or unlocks the cell.
    pub fn set_locked(&mut self, is_locked: bool) {
        self.administrative_state = if is_locked { AdministrativeState::Locked } else { AdministrativeState::Unlocked };
    }

    /// Loses the downlink blocks of the next slot: the base band has not delivered them in time, so UEs decode none of them and
    /// answer with a NACK.
    pub fn lose_next_downlink(&mut self) {
        self.is_downlink_lost = true;
    }

    /// How many downlink transmissions were lost by [`Cell::lose_next_downlink`]. They are in the counters of their UEs as well.
    #[must_use]
    pub fn lost_transmissions(&self) -> u64 {
        self.lost_transmissions
    }

    /// The slicing of a direction.
    #[must_use]
    pub fn slicing(&self, direction: Direction) -> &Slicing {
        &self.slicing[direction as usize]
    }

    /// Sets the slicing of a direction from the next slot on. `ue_schedulers` names one UE scheduler per slice (see
    /// [`ue_scheduler`]), `rest` the one of UEs without a slice. A UE whose slice does not exist counts as one without a
    /// slice.
    ///
    /// # Panics
    /// When a UE scheduler is unknown, or their number differs from that of the slices. Callers validate both first.
    pub fn set_slicing(&mut self, direction: Direction, slicing: Slicing, ue_schedulers: &[&str], rest: &str) {
        let prbs = self.prbs(direction);
        let slices: Box<dyn crate::mac::SliceScheduler> = match &slicing {
            Slicing::None => Box::new(NoSlices),
            Slicing::Static { positions, group_prbs } => Box::new(StaticSlices::new(positions, prbs, *group_prbs)),
            Slicing::Nvs { reservations, is_shared } => {
                Box::new(Nvs::new(reservations, *is_shared, self.full_slots_per_s(direction)))
            }
            Slicing::Quotas(quotas) => Box::new(Quotas::new(quotas.clone())),
        };
        let known = |name: &&str| ue_scheduler(name).unwrap_or_else(|| panic!("unknown UE scheduler {name}"));
        let rest = if rest.is_empty() { DEFAULT_UE_SCHEDULER } else { rest };
        let scheduler = Scheduler::new(slices, ue_schedulers.iter().chain([&rest]).map(known).collect());
        match direction {
            Direction::Downlink => self.dl = scheduler,
            Direction::Uplink => self.ul = scheduler,
        }
        self.slicing[direction as usize] = slicing;
    }

    /// Assigns a UE to a slice of a direction, or to none.
    pub fn set_slice(&mut self, index: usize, direction: Direction, slice: Option<u32>) {
        if let Some(ue) = self.ue_mut(index) {
            ue.link_mut(direction).slice = slice;
        }
    }

    /// Reconfigures traffic control of all present and future bearers.
    ///
    /// # Errors
    /// When the configuration is invalid or cannot hold the packets queued at some UE. Nothing has changed then.
    pub fn set_traffic_control(&mut self, tc: &tc::Configuration) -> Result<(), tc::ConfigurationError> {
        tc.check()?;
        self.ues().flat_map(|(_, ue)| &ue.bearers).try_for_each(|bearer| bearer.tc.check(tc))?;
        let now = self.now();
        for (_, ue) in self.ue_table.iter_mut() {
            for bearer in &mut ue.bearers {
                if let Err(refused) = bearer.tc.configure(now, tc) {
                    panic!("a bearer rejects a configuration that it has just accepted: {refused}");
                }
            }
        }
        self.left_queues.retain(|(id, _)| tc.queues.iter().any(|queue| queue.id == *id));
        self.config.tc = tc.clone();
        Ok(())
    }

    /// The counters of a traffic control queue since its configuration, summed over all bearers, departed UEs included.
    #[must_use]
    pub fn queue_counts(&self, queue: tc::QueueId) -> tc::QueueCounts {
        let left = self.left_queues.iter().find(|(id, _)| *id == queue).map(|(_, counts)| *counts);
        let there = self.ues().flat_map(|(_, ue)| &ue.bearers).filter_map(|bearer| bearer.tc.counts(queue));
        there.fold(left.unwrap_or_default(), tc::QueueCounts::and)
    }

    /// Adds a UE and returns its index.
    ///
    /// # Panics
    /// When [`Cell::free_capacity`] is 0.
    pub fn arrive(&mut self, mut ue: Box<Ue>) -> usize {
        let now = self.now();
        let HarqConfig { decoding_slots, round_trip_slots, .. } = self.config.harq.bounded();
        let feedback = self.grid.slot() * u32::from(round_trip_slots.saturating_sub(decoding_slots));
        let context = context(&self.tables, &self.config, &self.interference, self.muting);
        ue.arrived(self.slot, now, &context, &self.config, feedback);
        self.connections.change(now, i64::from(ue.is_connected));
        self.ue_table.take(ue, now)
    }

    /// Removes a UE, with its bearers and queued packets, for handover or release.
    pub fn leave(&mut self, index: usize) -> Option<Box<Ue>> {
        let now = self.now();
        let ue = self.ue_table.ue_mut(index)?;
        ue.depart(now);
        self.emission.depart(index as u32, ue.channel());
        let counts = counts_of(ue, now);
        self.connections.change(now, -i64::from(ue.is_connected));
        let mut ue = self.ue_table.release(index, counts, now)?;
        ue.departed(now);
        for queue in &self.config.tc.queues {
            let counts = ue.bearers.iter().filter_map(|bearer| bearer.tc.counts(queue.id));
            let counts = counts.fold(tc::QueueCounts::default(), |sum, counts| sum.and(counts.left_behind()));
            match self.left_queues.iter_mut().find(|(id, _)| *id == queue.id) {
                Some((_, left)) => *left = left.and(counts),
                None => self.left_queues.push((queue.id, counts)),
            }
        }
        Some(ue)
    }

    /// Runs all slots that begin before `until`.
    pub fn advance(&mut self, until: Time) {
        while self.now() < until {
            self.step();
        }
    }
}

fn context<'a>(
    tables: &'a [Adaptation; 2],
    config: &'a CellConfig,
    interference: &'a Interference,
    muting: Muting,
) -> CellContext<'a> {
    let surroundings = Surroundings { interference, power_control: &config.power_control };
    CellContext { tables, channel_state: &config.channel_state, surroundings, muting }
}
