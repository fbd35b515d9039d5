//! A cell: its UEs, slot after slot.

mod places;
mod slot;
#[cfg(test)]
mod tests;

use std::ops::AddAssign;
use std::time::Duration;

use crate::harq::HarqConfig;
use crate::mac::{Candidate, Fixed, Grant, Nvs, Positions, Quota, Quotas, Reservation, Scheduler, Whole, ue_scheduler};
use crate::phy::{Adaptation, Carrier, CarrierError, Direction, Grid, TransportBlocks};
use crate::rlc::{RlcConfig, RlcCounts};
use crate::ue::{LinkCounts, OuterLoop, Subscription, Ue};
use crate::{Time, tc};

use places::Places;
pub use places::{MAX_PLACES, REST, Stay};

/// What a scheduling request is worth: a grant for a buffer status report and a little more, in octets.
const REQUEST_OCTETS: u32 = 64;
/// Slots of which events are known ahead: more than any round trip.
const AHEAD: usize = 64;
/// The UE scheduler of UEs in no slice.
const DEFAULT_UE_SCHEDULER: &str = "PF";

/// How a cell is built.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// Its carrier.
    pub carrier: Carrier,
    /// HARQ of both directions.
    pub harq: HarqConfig,
    /// Outer-loop link adaptation of both directions; `None`: the MCS goes by what was reported alone. Default: its own.
    pub outer_loop: Option<OuterLoop>,
    /// RLC of new bearers.
    pub rlc: RlcConfig,
    /// Traffic control of new bearers.
    pub tc: tc::Configuration,
    /// Slots between a UE's occasions for scheduling requests, 1 to 640 (TS 38.331 SchedulingRequestResourceConfig).
    /// Default: 20.
    pub request_period_slots: u16,
    /// Slots from an uplink grant until it can be used (k2 of TS 38.214 6.1.2.1 and the time to prepare), 1 to 32.
    /// Default: 4.
    pub grant_slots: u8,
}

impl Default for CellConfig {
    fn default() -> Self {
        CellConfig {
            carrier: Carrier::default(),
            harq: HarqConfig::default(),
            outer_loop: Some(OuterLoop::default()),
            rlc: RlcConfig::default(),
            tc: tc::Configuration::default(),
            request_period_slots: 20,
            grant_slots: 4,
        }
    }
}

impl CellConfig {
    /// Slots from a grant until it can be used, within their range.
    fn grant_slots(&self) -> u8 {
        self.grant_slots.clamp(1, 32)
    }
}

/// How a direction is divided among slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Slicing {
    /// Not at all.
    #[default]
    None,
    /// By fixed places in the carrier, of groups of so many resource blocks.
    Static {
        /// The slices' places.
        positions: Vec<Positions>,
        /// Resource blocks of a group.
        group_prbs: u32,
    },
    /// By NVS.
    Nvs {
        /// The slices' promises.
        reservations: Vec<Reservation>,
        /// Whether slots of a slice with nothing to send go to others.
        is_shared: bool,
    },
    /// By quotas.
    Quotas(Vec<Quota>),
}

/// What happens in a slot to come.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// The UE's place; what is meant for one that has left is forgotten.
    ue: u32,
    kind: EventKind,
}

#[derive(Clone, Copy, Debug)]
enum EventKind {
    /// A block was decoded: what is in it is delivered where it was understood, else it is given up.
    Decoded { direction: Direction, process: u8, is_understood: bool },
    /// The base station hears what became of a block that is not sent again.
    Answered { direction: Direction, process: u8, is_understood: bool },
    /// The base station hears that a block is to be sent again.
    Again(Direction, u8),
    /// A scheduling request arrives.
    Request,
    /// A grant is to be used, for a block that is sent again or for a new one. What was granted for new ones up to it,
    /// in octets, tells how far the UE is.
    Grant { process: u8, used_octets: Option<u64> },
}

/// How a direction's resource blocks were used, from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Resource blocks that there were.
    pub prbs: u64,
    /// Of them those that were given.
    pub used_prbs: u64,
    /// The direction's slots, by the percentage of their resource blocks that was given: 0 to 100.
    pub slots: [u64; 101],
    /// Slots that were divided among UEs: those of the uplink are later than that.
    pub divided_slots: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Usage { prbs: 0, used_prbs: 0, slots: [0; 101], divided_slots: 0 }
    }
}

impl Usage {
    fn count(&mut self, used: u32, of: u32) {
        self.prbs += u64::from(of);
        self.used_prbs += u64::from(used);
        self.slots[(used * 100).div_ceil(of.max(1)).min(100) as usize] += 1;
    }

    /// What was counted since.
    #[must_use]
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            prbs: self.prbs - before.prbs,
            used_prbs: self.used_prbs - before.used_prbs,
            slots: std::array::from_fn(|percent| self.slots[percent] - before.slots[percent]),
            divided_slots: self.divided_slots - before.divided_slots,
        }
    }

    /// Slots that there were.
    #[must_use]
    pub fn count_slots(&self) -> u64 {
        self.slots.iter().sum()
    }

    /// Slots of which a part from `from` and below `to` was used, in percent.
    #[must_use]
    pub fn between(&self, from: f64, to: f64) -> u64 {
        let is_in = |percent: usize| (from..to).contains(&(percent as f64));
        (0..=100).filter(|percent| is_in(*percent)).map(|percent| self.slots[percent]).sum()
    }

    /// The least part of a slot that was used, in percent.
    #[must_use]
    pub fn min(&self) -> Option<u32> {
        self.slots.iter().position(|slots| *slots > 0).map(|percent| percent as u32)
    }

    /// The greatest.
    #[must_use]
    pub fn max(&self) -> Option<u32> {
        self.slots.iter().rposition(|slots| *slots > 0).map(|percent| percent as u32)
    }
}

/// What was counted of a UE since it came to its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UeCounts {
    /// MAC's downlink.
    pub down: LinkCounts,
    /// MAC's uplink.
    pub up: LinkCounts,
    /// RLC's downlink, of all bearers.
    pub down_rlc: RlcCounts,
    /// RLC's uplink, of all bearers.
    pub up_rlc: RlcCounts,
    /// Traffic control, of all bearers.
    pub tc: tc::BearerCounts,
    /// How long it was there.
    pub present: Duration,
    /// How long of that it was inactive.
    pub inactive: Duration,
}

impl AddAssign for UeCounts {
    fn add_assign(&mut self, other: Self) {
        self.down += other.down;
        self.up += other.up;
        self.down_rlc += other.down_rlc;
        self.up_rlc += other.up_rlc;
        self.tc += other.tc;
        self.present += other.present;
        self.inactive += other.inactive;
    }
}

/// A cell.
#[derive(Debug)]
pub struct Cell {
    config: CellConfig,
    grid: Grid,
    /// By direction.
    tables: [Adaptation; 2],
    down_blocks: TransportBlocks,
    up_blocks: TransportBlocks,
    slot: u64,
    slot_nanos: u64,
    places: Places,
    /// The last slot of the uplink.
    uplink_slot: Option<u64>,
    down: Scheduler,
    up: Scheduler,
    slicing: [Slicing; 2],
    /// By slot, modulo their number.
    events: Vec<Vec<Event>>,
    is_locked: bool,
    usage: [Usage; 2],
    /// Resource blocks that were granted in slots of the uplink to come; by slot, modulo their number.
    granted: Vec<Option<u32>>,
    /// What was counted of queues of UEs that have left, of those queues that there are.
    left_queues: Vec<(tc::QueueId, tc::QueueCounts)>,
    /// Memory that is used again.
    now_events: Vec<Event>,
    busy: Vec<u32>,
    candidates: Vec<Candidate>,
    grants: Vec<Grant>,
}

impl Cell {
    /// A cell without UEs.
    ///
    /// # Errors
    /// A carrier that there is not.
    ///
    /// # Panics
    /// Where traffic control makes no sense: see [`tc::Configuration::check`].
    pub fn new(config: CellConfig) -> Result<Self, CarrierError> {
        let grid = config.carrier.check()?;
        if let Err(refused) = config.tc.check() {
            panic!("traffic control of a cell: {refused}");
        }
        let slot_nanos = grid.slot().as_nanos() as u64;
        let whole = || Scheduler::new(Box::new(Whole), vec![Box::new(crate::mac::ProportionalFair)]);
        Ok(Cell {
            tables: [Direction::Downlink, Direction::Uplink].map(|direction| Adaptation::new(&grid, direction)),
            down_blocks: TransportBlocks::new(&grid, Direction::Downlink),
            up_blocks: TransportBlocks::new(&grid, Direction::Uplink),
            grid,
            slot: 0,
            slot_nanos,
            places: Places::default(),
            uplink_slot: None,
            down: whole(),
            up: whole(),
            slicing: [Slicing::None, Slicing::None],
            events: vec![Vec::new(); AHEAD],
            is_locked: false,
            usage: [Usage::default(); 2],
            granted: vec![None; AHEAD],
            left_queues: Vec::new(),
            now_events: Vec::new(),
            busy: Vec::new(),
            candidates: Vec::new(),
            grants: Vec::new(),
            config,
        })
    }

    /// How it is built.
    #[must_use]
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// Its carrier, checked.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Link adaptation of a direction.
    #[must_use]
    pub fn adaptation(&self, direction: Direction) -> &Adaptation {
        &self.tables[direction as usize]
    }

    /// Resource blocks that carry data in a slot of a direction.
    #[must_use]
    pub fn prbs(&self, direction: Direction) -> u32 {
        self.blocks(direction).prbs().into()
    }

    /// Slots of a direction in a second.
    #[must_use]
    pub fn slots_per_s(&self, direction: Direction) -> f64 {
        let pattern = self.grid.pattern();
        let has = |(down, up): &&(u8, u8)| if direction == Direction::Downlink { *down > 0 } else { *up > 0 };
        pattern.iter().filter(has).count() as f64 / pattern.len() as f64 / self.grid.slot().as_secs_f64()
    }

    /// What transport blocks of a direction carry.
    #[must_use]
    pub fn blocks(&self, direction: Direction) -> &TransportBlocks {
        match direction {
            Direction::Downlink => &self.down_blocks,
            Direction::Uplink => &self.up_blocks,
        }
    }

    /// The slot that is next, counted from the model's beginning.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// When that begins.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::from_nanos(self.slot * self.slot_nanos)
    }

    /// How a direction's blocks were used.
    #[must_use]
    pub fn usage(&self, direction: Direction) -> &Usage {
        &self.usage[direction as usize]
    }

    /// Places of UEs, those among them whose UE has left.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// How many UEs more could come now: a place of a UE that has left rests for [`REST`] first.
    #[must_use]
    pub fn room(&self) -> usize {
        self.places.room(self.now())
    }

    /// The UEs that are there, with their places.
    pub fn ues(&self) -> impl Iterator<Item = (usize, &Ue)> {
        self.places.iter()
    }

    /// The UE at a place.
    #[must_use]
    pub fn ue(&self, place: usize) -> Option<&Ue> {
        self.places.ue(place)
    }

    /// The UE at a place, to be changed.
    pub fn ue_mut(&mut self, place: usize) -> Option<&mut Ue> {
        self.places.ue_mut(place)
    }

    /// What was counted of the UE at a place, also after it has left, until another one has its place.
    #[must_use]
    pub fn counts(&self, place: usize) -> Option<UeCounts> {
        match self.places.ue(place) {
            Some(ue) => Some(counts_of(ue, self.now())),
            None => self.places.last(place).copied(),
        }
    }

    /// What was counted of UEs that have left and whose places are others' now, together by what they had chosen. It
    /// only grows, as far as it is sums.
    #[must_use]
    pub fn past(&self) -> &[(Subscription, UeCounts)] {
        self.places.past()
    }

    /// Whose a place is, or was last.
    ///
    /// # Panics
    /// Where there is no such place.
    #[must_use]
    pub fn stay(&self, place: usize) -> &Stay {
        self.places.stay(place)
    }

    /// Whether it serves nobody.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Has it serve nobody, or again.
    pub fn set_locked(&mut self, is_locked: bool) {
        self.is_locked = is_locked;
    }

    /// How a direction is divided.
    #[must_use]
    pub fn slicing(&self, direction: Direction) -> &Slicing {
        &self.slicing[direction as usize]
    }

    /// Divides a direction otherwise from the next slot on: a UE scheduler for each slice, by name (see
    /// [`ue_scheduler`]), and one for UEs in none. UEs whose slice is not there are in none.
    ///
    /// # Panics
    /// Where a UE scheduler is not known, or there are more or fewer than slices: these are refused before.
    pub fn set_slicing(&mut self, direction: Direction, slicing: Slicing, ue_schedulers: &[&str], rest: &str) {
        let prbs = self.prbs(direction);
        let slices: Box<dyn crate::mac::SliceScheduler> = match &slicing {
            Slicing::None => Box::new(Whole),
            Slicing::Static { positions, group_prbs } => Box::new(Fixed::new(positions, prbs, *group_prbs)),
            Slicing::Nvs { reservations, is_shared } => {
                Box::new(Nvs::new(reservations, *is_shared, self.slots_per_s(direction)))
            }
            Slicing::Quotas(quotas) => Box::new(Quotas::new(quotas.clone())),
        };
        let known = |name: &&str| ue_scheduler(name).unwrap_or_else(|| panic!("there is no UE scheduler {name}"));
        let rest = if rest.is_empty() { DEFAULT_UE_SCHEDULER } else { rest };
        let scheduler = Scheduler::new(slices, ue_schedulers.iter().chain([&rest]).map(known).collect());
        match direction {
            Direction::Downlink => self.down = scheduler,
            Direction::Uplink => self.up = scheduler,
        }
        self.slicing[direction as usize] = slicing;
    }

    /// Puts a UE into a slice of a direction, or none.
    pub fn set_slice(&mut self, place: usize, direction: Direction, slice: Option<u32>) {
        if let Some(ue) = self.ue_mut(place) {
            ue.link_mut(direction).slice = slice;
        }
    }

    /// Sets traffic control of all bearers anew, and of those to come.
    ///
    /// # Errors
    /// What makes no sense in the configuration, or does not fit what waits at some UE. Then nothing has changed.
    pub fn set_traffic_control(&mut self, tc: &tc::Configuration) -> Result<(), tc::Refused> {
        tc.check()?;
        self.ues().flat_map(|(_, ue)| &ue.bearers).try_for_each(|bearer| bearer.tc.check(tc))?;
        let now = self.now();
        for (_, ue) in self.places.iter_mut() {
            for bearer in &mut ue.bearers {
                if let Err(refused) = bearer.tc.configure(now, tc) {
                    panic!("a bearer refuses what it was about to take: {refused}");
                }
            }
        }
        self.left_queues.retain(|(id, _)| tc.queues.iter().any(|queue| queue.id == *id));
        self.config.tc = tc.clone();
        Ok(())
    }

    /// What was counted of a queue of traffic control since it was set up, of all bearers together, also of UEs that have
    /// left.
    #[must_use]
    pub fn queue_counts(&self, queue: tc::QueueId) -> tc::QueueCounts {
        let left = self.left_queues.iter().find(|(id, _)| *id == queue).map(|(_, counts)| *counts);
        let there = self.ues().flat_map(|(_, ue)| &ue.bearers).filter_map(|bearer| bearer.tc.counts(queue));
        there.fold(left.unwrap_or_default(), tc::QueueCounts::and)
    }

    /// A UE comes; its place.
    ///
    /// # Panics
    /// Where there is no [`Cell::room`].
    pub fn arrive(&mut self, mut ue: Box<Ue>) -> usize {
        let now = self.now();
        ue.arrived(self.slot, now, &self.tables, &self.config.tc);
        self.places.take(ue, now)
    }

    /// A UE leaves for another cell, with all that it has.
    pub fn leave(&mut self, place: usize) -> Option<Box<Ue>> {
        let now = self.now();
        let ue = self.places.ue_mut(place)?;
        ue.leaves(now);
        let counts = counts_of(ue, now);
        let ue = self.places.release(place, counts, now)?;
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

    /// Goes on until then; a slot that has begun is done.
    pub fn advance(&mut self, until: Time) {
        while self.now() < until {
            self.step();
        }
    }
}

fn counts_of(ue: &Ue, now: Time) -> UeCounts {
    let mut counts = UeCounts {
        down: *ue.downlink().counts(),
        up: *ue.uplink().counts(),
        present: ue.activity.present(now),
        inactive: ue.activity.inactive(now),
        ..UeCounts::default()
    };
    for bearer in ue.bearers() {
        counts.down_rlc += *bearer.downlink().counts();
        counts.up_rlc += *bearer.uplink().counts();
        counts.tc += bearer.tc().bearer_counts();
    }
    counts
}
