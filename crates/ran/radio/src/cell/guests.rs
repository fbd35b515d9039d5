//! UEs for which the cell is a secondary cell (TS 38.300 6.7): their primary cell is another cell of the base station, which has
//! their bearers. The cell has the link, the HARQ processes and the channel reports of its carrier, and takes the data of a block
//! from the UE's RLC.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Cell, UeCounts, context};
use crate::Time;
use crate::cell::ue_table::INDEX_REUSE_DELAY;
use crate::phy::{Channel, ChannelReport, Direction, SecondaryPath};
use crate::ue::{CHANNEL_INTERVAL, CellContext, RadioLink, SecondaryCell, Subscription, Ue};

/// Events and candidates of guests have this number and above; below are the indices of the cell's own UEs.
pub(super) const FIRST_GUEST: u32 = 1 << 16;
/// The number of HARQ processes of a cell, for numbers that are unique over the serving cells of a UE.
const PROCESSES: u8 = 32;

/// The other cells of a base station, in which guests have their bearers.
pub(crate) trait PrimaryCells {
    /// A UE of a cell, for reading.
    fn ue(&mut self, cell: usize, index: usize) -> Option<&mut Ue>;
    /// A UE of a cell, for a change.
    fn ue_mut(&mut self, cell: usize, index: usize) -> Option<&mut Ue>;
}

/// No other cells: a cell without guests.
pub(super) struct NoOtherCells;

impl PrimaryCells for NoOtherCells {
    fn ue(&mut self, _: usize, _: usize) -> Option<&mut Ue> {
        None
    }

    fn ue_mut(&mut self, _: usize, _: usize) -> Option<&mut Ue> {
        None
    }
}

/// Whether a secondary cell is used (TS 38.321 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activation {
    Deactivated,
    /// The UE has the MAC CE, and can be scheduled from a time on.
    Activating(Time),
    /// Until sCellDeactivationTimer expires.
    Active(Time),
}

/// A UE for which the cell is a secondary cell.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Its primary cell, and its index there.
    pub primary: usize,
    pub index: usize,
    /// Its number in the network.
    pub number: u64,
    /// The serving cell, as the UE knows it.
    pub secondary: SecondaryCell,
    pub subscription: Subscription,
    pub(super) link: RadioLink,
    path: Option<SecondaryPath>,
    activation: Activation,
    /// sCellDeactivationTimer.
    timer: Option<Duration>,
    next_update: Time,
    next_cqi: Time,
    /// Measured CQIs that have not reached the scheduler, with the time when they do.
    pending: VecDeque<(Time, ChannelReport)>,
}

impl Guest {
    /// Whether the cell is still a secondary cell of a UE.
    pub fn is_of(&self, ue: &Ue) -> bool {
        ue.number == self.number && ue.secondary.contains(&self.secondary)
    }

    /// Whether the scheduler may use the cell for it.
    pub(super) fn is_active(&self) -> bool {
        matches!(self.activation, Activation::Active(_))
    }

    /// The number of a HARQ process over all serving cells of the UE.
    pub(super) fn process(&self, process: u8) -> (Direction, u8) {
        (Direction::Downlink, PROCESSES * self.secondary.index + process)
    }

    /// A block is assigned: restarts sCellDeactivationTimer.
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.activation = Activation::Active(self.timer.map_or(Time::NEVER, |timer| now + timer));
    }

    /// Updates the activation, the channel and its reports.
    fn update(&mut self, now: Time, ue: &mut Ue, cell: &CellContext<'_>) {
        match self.activation {
            Activation::Deactivated => return,
            Activation::Activating(at) if at > now => return,
            Activation::Activating(_) => {
                self.restart_timer(now);
                // the UE has reported a valid CQI by then
                (self.next_update, self.next_cqi) = (now, now + cell.channel_state.cqi_period);
                self.pending.clear();
                self.update_channel(now, ue, cell);
                let report = self.measure(cell);
                self.apply_report(report, ue, cell);
            }
            Activation::Active(until) if until <= now && self.link.harq.is_idle() => {
                self.activation = Activation::Deactivated;
                return;
            }
            Activation::Active(_) => {}
        }
        if self.next_update <= now {
            self.update_channel(now, ue, cell);
        }
        if self.next_cqi <= now {
            self.next_cqi = now + cell.channel_state.cqi_period.max(Duration::from_millis(1));
            self.pending.push_back((now + cell.channel_state.cqi_delay, self.measure(cell)));
        }
        while self.pending.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, report)) = self.pending.pop_front()
        {
            self.apply_report(report, ue, cell);
        }
    }

    fn update_channel(&mut self, now: Time, ue: &mut Ue, cell: &CellContext<'_>) {
        self.next_update = now + CHANNEL_INTERVAL;
        let Ue { channel, random, .. } = ue;
        self.link.air = channel.link(Direction::Downlink);
        if let (Some(path), Channel::Geometry(geometry)) = (&mut self.path, &*channel) {
            path.update(now, geometry, random);
            self.link.air.sinr_db = path.sinr_db(geometry, cell.surroundings.interference);
        }
        self.link.air.sinr_db -= cell.muting.loss_db;
    }

    fn measure(&self, cell: &CellContext<'_>) -> ChannelReport {
        ChannelReport::of_ue(&self.link.air, &cell.tables[0], cell.muting.most_layers)
    }

    fn apply_report(&mut self, report: ChannelReport, ue: &Ue, cell: &CellContext<'_>) {
        let rsrp_dbm = match (&self.path, ue.channel()) {
            (Some(path), Channel::Geometry(geometry)) => path.rsrp_dbm(geometry),
            (_, channel) => channel.rsrp_dbm(),
        };
        self.link.apply_report(report, rsrp_dbm, &cell.tables[0]);
    }
}

/// The guests of a cell.
#[derive(Debug, Default)]
pub(super) struct Guests {
    places: Vec<Option<Box<Guest>>>,
    /// Places without a guest, with the time of release, oldest first. They are reused late, as the indices of UEs.
    free: VecDeque<(Time, u32)>,
    /// The counters of guests that have been released, by subscription.
    past: Vec<(Subscription, UeCounts)>,
}

impl Guests {
    pub fn is_empty(&self) -> bool {
        self.places.len() == self.free.len()
    }

    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    pub fn get(&self, place: u32) -> Option<&Guest> {
        self.places.get(place as usize)?.as_deref()
    }

    /// A guest and its UE, for reading the UE.
    pub fn unchanged<'g>(
        &'g mut self,
        place: u32,
        others: &'g mut impl PrimaryCells,
    ) -> Option<(&'g mut Guest, &'g mut Ue)> {
        let guest = self.places.get_mut(place as usize)?.as_deref_mut()?;
        let ue = others.ue(guest.primary, guest.index).filter(|ue| guest.is_of(ue))?;
        Some((guest, ue))
    }

    /// A guest and its UE, for a change.
    pub fn changed<'g>(
        &'g mut self,
        place: u32,
        others: &'g mut impl PrimaryCells,
    ) -> Option<(&'g mut Guest, &'g mut Ue)> {
        let guest = self.places.get_mut(place as usize)?.as_deref_mut()?;
        let ue = others.ue_mut(guest.primary, guest.index).filter(|ue| guest.is_of(ue))?;
        Some((guest, ue))
    }
}

impl Cell {
    /// Whether the cell is a secondary cell of no UE.
    pub(crate) fn has_no_guests(&self) -> bool {
        self.guests.is_empty()
    }

    /// Becomes a secondary cell of a UE of the base station, deactivated. `primary` is the UE's place in its primary cell, `number`
    /// that of this cell in the network.
    pub(crate) fn add_guest(
        &mut self,
        (primary, index): (usize, usize),
        number: usize,
        ue: &mut Ue,
        sindex: u8,
    ) -> SecondaryCell {
        let now = self.now();
        let reusable = self.guests.free.front().filter(|(left, _)| now.since(*left) >= INDEX_REUSE_DELAY);
        let place = match reusable {
            Some((_, place)) => {
                let place = *place;
                self.guests.free.pop_front();
                place
            }
            None => {
                self.guests.places.push(None);
                self.guests.len() - 1
            }
        };
        let secondary = SecondaryCell { index: sindex, cell: number, guest: place };
        let mut link = RadioLink::new(&self.config.harq);
        link.arrived(self.slot);
        let Ue { channel, random, .. } = ue;
        let path = channel.geometry().and_then(|geometry| SecondaryPath::new(geometry, number, random));
        self.guests.places[place as usize] = Some(Box::new(Guest {
            primary,
            index,
            number: ue.number,
            secondary,
            subscription: ue.subscription,
            link,
            path,
            activation: Activation::Deactivated,
            timer: None,
            next_update: now,
            next_cqi: now,
            pending: VecDeque::new(),
        }));
        ue.secondary.push(secondary);
        secondary
    }

    /// Is no secondary cell of a guest any more. Blocks in flight are lost.
    pub(crate) fn release_guest(&mut self, place: u32, ue: Option<&mut Ue>) {
        let now = self.now();
        let Some(mut guest) = self.guests.places.get_mut(place as usize).and_then(Option::take) else { return };
        if let Some(ue) = ue {
            ue.lose_blocks(now, &mut guest.link);
            ue.secondary.retain(|secondary| *secondary != guest.secondary);
        }
        self.guests.free.push_back((now, place));
        let counts = UeCounts { dl: *guest.link.counts(), ..UeCounts::default() };
        match self.guests.past.iter_mut().find(|(there, _)| *there == guest.subscription) {
            Some((_, sum)) => *sum += counts,
            None => self.guests.past.push((guest.subscription, counts)),
        }
    }

    /// Sends the MAC CE that activates the cell for a guest, unless it is active: `delay` later it is.
    pub(crate) fn activate_guest(&mut self, place: u32, delay: Duration, timer: Option<Duration>) {
        let now = self.now();
        let Some(guest) = self.guests.places.get_mut(place as usize).and_then(Option::as_deref_mut) else { return };
        guest.timer = timer;
        if guest.activation == Activation::Deactivated {
            guest.activation = Activation::Activating(now + delay);
        }
    }

    /// The guests, by place.
    pub(crate) fn guests(&self) -> impl Iterator<Item = (u32, &Guest)> {
        (0..self.guests.len()).filter_map(|place| Some((place, self.guests.get(place)?)))
    }

    /// The UEs for which the cell is a secondary cell: their numbers in the network, and their subscriptions.
    pub fn secondary_ues(&self) -> impl Iterator<Item = (u64, &Subscription)> {
        self.guests().map(|(_, guest)| (guest.number, &guest.subscription))
    }

    /// The counters of a UE for which the cell is a secondary cell.
    #[must_use]
    pub fn secondary_counts(&self, number: u64) -> Option<&crate::LinkCounts> {
        self.guests().find(|(_, guest)| guest.number == number).map(|(_, guest)| guest.link.counts())
    }

    /// Whether the cell is activated for a UE for which it is a secondary cell.
    #[must_use]
    pub fn is_activated(&self, number: u64) -> bool {
        self.guests().any(|(_, guest)| guest.number == number && guest.is_active())
    }

    /// Assigns a UE for which the cell is a secondary cell to a slice of its downlink, or to none.
    pub fn set_secondary_slice(&mut self, number: u64, slice: Option<u32>) {
        for guest in self.guests.places.iter_mut().flatten().filter(|guest| guest.number == number) {
            guest.link.slice = slice;
        }
    }

    /// The sums of the counters of UEs for which the cell is or was a secondary cell, by subscription. Sums never decrease.
    #[must_use]
    pub fn secondary_sums(&self) -> Vec<(Subscription, UeCounts)> {
        let mut sums = self.guests.past.clone();
        for (_, guest) in self.guests() {
            let counts = UeCounts { dl: *guest.link.counts(), ..UeCounts::default() };
            match sums.iter_mut().find(|(there, _)| *there == guest.subscription) {
                Some((_, sum)) => *sum += counts,
                None => sums.push((guest.subscription, counts)),
            }
        }
        sums
    }

    /// Updates the guests at the beginning of a slot.
    pub(super) fn update_guests(&mut self, now: Time, others: &mut impl PrimaryCells) {
        let context = context(&self.tables, &self.config, &self.interference, self.muting);
        for place in 0..self.guests.len() {
            if let Some((guest, ue)) = self.guests.unchanged(place, others) {
                guest.update(now, ue, &context);
            }
        }
    }
}
