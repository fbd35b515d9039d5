//! Cells with UEs that come, go, and go from one to another.
//!
//! Cells touch each other only where a UE is handed over, and that takes longer than [`EPOCH`]. So each cell goes on by
//! itself: for an epoch where UEs go to other cells by themselves, and who arrives where is settled in between; else as far
//! as is asked for, since what a cell's UEs have stays in the processor's caches then, and a hundred cells' do not. The
//! result is the same for any number of threads.

mod a3;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::phy::CarrierError;
use crate::{Cell, CellConfig, Stay, Time, Ue};

use a3::Neighbours;

/// What happens between cells happens at whole multiples of this.
pub const EPOCH: Duration = Duration::from_millis(10);
/// Things that happened and wait to be asked for, of each cell: more are forgotten, the oldest first.
const MAX_HAPPENINGS: usize = 1024;

/// When UEs go to another cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoverConfig {
    /// How much stronger than its own a UE must hear another cell (event A3 of TS 38.331 5.5.4.4), in dB; `None`: UEs never
    /// want to go by themselves. Default: none.
    pub a3_offset_db: Option<f64>,
    /// How much stronger still for the event to be entered, and how much weaker for it to be left, in dB. Default: 0.
    pub hysteresis_db: f64,
    /// For how long (timeToTrigger), at least an epoch. Default: 160 ms.
    pub time_to_trigger: Duration,
    /// From leaving one cell until arriving in another, at least an epoch. Default: 30 ms.
    pub interruption: Duration,
    /// Whether UEs go as soon as they want to; else somebody hears of it and decides. Default: they do.
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

/// What happened in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A UE has come: from another cell, where it had that place, or anew.
    Came {
        /// Its stay here.
        ue: Stay,
        /// Where it comes from.
        from: Option<(usize, Stay)>,
    },
    /// A UE has left.
    Left {
        /// Its stay here.
        ue: Stay,
        /// The cell that it goes to; none where it is gone.
        to: Option<usize>,
    },
    /// A UE hears another cell better, and would go there.
    Wants {
        /// Its stay here.
        ue: Stay,
        /// That cell.
        to: usize,
    },
}

/// Why a UE does not go to another cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// There is no such cell.
    NoSuchCell,
    /// There is no such UE: it may have left.
    NoSuchUe,
    /// It is in that cell.
    IsThere,
    /// That cell has no place for it, now or as soon as all have come that are on their way there.
    NoRoom,
    /// Cells that go on by themselves are further apart in time than it is on its way: its traffic would live through a time
    /// twice, or through a long one at once.
    FarApart,
}

impl std::fmt::Display for Stays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stays::NoSuchCell => "there is no such cell in this RAN",
            Stays::NoSuchUe => "the UE has left",
            Stays::IsThere => "the UE is in that cell",
            Stays::NoRoom => "that cell has no place left: 4096 are taken, or rest for 10 s since their UEs left",
            Stays::FarApart => {
                "nobody has looked at one of the two cells for so long that its time is far behind; try again"
            }
        })
    }
}

impl std::error::Error for Stays {}

/// A UE on its way to a cell.
#[derive(Debug)]
struct Arrival {
    at: Time,
    from: Option<(usize, Stay)>,
    ue: Box<Ue>,
}

/// A cell and what happens at it.
#[derive(Debug)]
struct Site {
    cell: Cell,
    /// In order of time.
    arrivals: VecDeque<Arrival>,
    /// Of them those that come from other cells: a place is kept for each.
    handed_over: usize,
    /// UEs that came anew and found no place.
    turned_away: u64,
    happenings: VecDeque<Happening>,
    /// What each UE hears of other cells, by place.
    neighbours: Vec<Neighbours>,
    next_epoch: Time,
}

impl Site {
    fn tell(&mut self, happening: Happening) {
        if self.happenings.len() >= MAX_HAPPENINGS {
            self.happenings.pop_front();
        }
        self.happenings.push_back(happening);
    }

    fn expect(&mut self, arrival: Arrival) {
        // of those that come at the same time, new ones come first, so that it does not show when they were added
        let order = |arrival: &Arrival| (arrival.at, arrival.from.is_some());
        let at = self.arrivals.partition_point(|other| order(other) <= order(&arrival));
        self.handed_over += usize::from(arrival.from.is_some());
        self.arrivals.insert(at, arrival);
    }

    /// Whether another UE could come now, and all that are on their way here as well.
    fn has_room(&self) -> bool {
        self.cell.room() > self.handed_over
    }

    /// Goes on to the next epoch, or only until then; whether the epoch was reached.
    fn advance(&mut self, until: Time) -> bool {
        self.cell.advance(until.min(self.next_epoch));
        until >= self.next_epoch
    }

    /// An epoch begins: who is due comes or leaves. Who goes to another cell by itself now: places here, and cells.
    fn begin_epoch(&mut self, handover: &HandoverConfig) -> Vec<(usize, usize)> {
        let now = self.next_epoch;
        self.next_epoch += EPOCH;
        while self.arrivals.front().is_some_and(|arrival| arrival.at <= now) {
            let Some(Arrival { from, ue, .. }) = self.arrivals.pop_front() else { break };
            if from.is_some() {
                self.handed_over -= 1;
            } else if !self.has_room() {
                self.turned_away += 1;
                continue;
            }
            let place = self.cell.arrive(ue);
            self.tell(Happening::Came { ue: *self.cell.stay(place), from });
        }
        let mut from = 0;
        while let Some(place) = self.next_to_leave(from, now) {
            from = place + 1;
            self.leave(place, None);
        }
        let wishes = handover.a3_offset_db.map_or(Vec::new(), |offset_db| self.measure(offset_db, handover));
        if handover.is_automatic {
            return wishes;
        }
        for (place, to) in wishes {
            let ue = *self.cell.stay(place);
            self.tell(Happening::Wants { ue, to });
        }
        Vec::new()
    }

    /// A UE leaves, for another cell or for good.
    fn leave(&mut self, place: usize, to: Option<usize>) -> Option<Box<Ue>> {
        let left = self.cell.leave(place)?;
        if let Some(neighbours) = self.neighbours.get_mut(place) {
            *neighbours = Neighbours::default();
        }
        let ue = *self.cell.stay(place);
        self.tell(Happening::Left { ue, to });
        Some(left)
    }

    /// The first UE from a place on whose time is over.
    fn next_to_leave(&self, from: usize, now: Time) -> Option<usize> {
        (from..self.cell.places()).find(|place| self.cell.ue(*place).is_some_and(|ue| ue.leaves_at() <= now))
    }

    /// Event A3: who hears another cell better for long enough wants to go there.
    fn measure(&mut self, offset_db: f64, handover: &HandoverConfig) -> Vec<(usize, usize)> {
        let Site { cell: there, neighbours, .. } = self;
        let now = there.now();
        neighbours.resize_with(there.places(), Neighbours::default);
        let mut told = Vec::new();
        for (place, ue) in there.ues() {
            let Some(geometry) = ue.channel().geometry() else { continue };
            let own_dbm = geometry.rsrp_dbm(geometry.serving());
            let others = (0..geometry.sites().len()).filter(|site| *site != geometry.serving());
            let better = others.map(|site| (site, geometry.rsrp_dbm(site) - own_dbm));
            let to = neighbours[place].measure(now, better, offset_db, handover);
            told.extend(to.map(|to| (place, to)));
        }
        told
    }
}

/// Cells, and the UEs that go between them.
#[derive(Debug)]
pub struct Network {
    sites: Vec<Site>,
    handover: HandoverConfig,
    threads: NonZeroUsize,
    next_number: u64,
}

impl Network {
    /// Cells without UEs, which go on with up to so many threads.
    ///
    /// # Errors
    /// A carrier that there is not.
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
                turned_away: 0,
                happenings: VecDeque::new(),
                neighbours: Vec::new(),
                next_epoch: Time::START,
            })
        };
        let sites = cells.into_iter().map(site).collect::<Result<_, _>>()?;
        Ok(Network { sites, handover, threads, next_number: 0 })
    }

    /// How many cells there are.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.sites.len()
    }

    /// A cell.
    ///
    /// # Panics
    /// Where there is none of that number.
    #[must_use]
    pub fn cell(&self, cell: usize) -> &Cell {
        &self.sites[cell].cell
    }

    /// A cell, to be changed.
    ///
    /// # Panics
    /// Where there is none of that number.
    pub fn cell_mut(&mut self, cell: usize) -> &mut Cell {
        &mut self.sites[cell].cell
    }

    /// What happened in a cell and was not asked for yet.
    ///
    /// # Panics
    /// Where there is none of that number.
    pub fn happenings(&mut self, cell: usize) -> impl Iterator<Item = Happening> + '_ {
        self.sites[cell].happenings.drain(..)
    }

    /// The number that the next UE has.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// How many UEs came anew to a cell and found no place there: each was turned away for good.
    ///
    /// # Panics
    /// Where there is none of that number.
    #[must_use]
    pub fn turned_away(&self, cell: usize) -> u64 {
        self.sites[cell].turned_away
    }

    /// A UE that comes to a cell, at the first epoch from then on, and may leave for good from another time on. It is
    /// turned away where the cell has no [room](Cell::room) by then.
    ///
    /// # Errors
    /// Where the cell is not there.
    pub fn add(&mut self, cell: usize, mut ue: Ue, arrives: Time, leaves: Option<Time>) -> Result<(), Stays> {
        let site = self.sites.get_mut(cell).ok_or(Stays::NoSuchCell)?;
        self.next_number = self.next_number.max(ue.number() + 1);
        ue.set_leaves_at(leaves.unwrap_or(Time::NEVER));
        site.expect(Arrival { at: arrives, from: None, ue: Box::new(ue) });
        Ok(())
    }

    /// Sends a UE to another cell, where it arrives a while later.
    ///
    /// # Errors
    /// Where it cannot go; then it stays.
    pub fn hand_over(&mut self, cell: usize, place: usize, to: usize) -> Result<(), Stays> {
        let target = self.sites.get(to).ok_or(Stays::NoSuchCell)?;
        if to == cell {
            return Err(Stays::IsThere);
        }
        if !target.has_room() {
            return Err(Stays::NoRoom);
        }
        let there = target.cell.now();
        let site = self.sites.get_mut(cell).ok_or(Stays::NoSuchCell)?;
        let now = site.cell.now();
        let interruption = self.handover.interruption.max(EPOCH);
        // cells that go on by themselves may be apart
        if now.since(there).max(there.since(now)) > interruption {
            return Err(Stays::FarApart);
        }
        let mut ue = site.leave(place, Some(to)).ok_or(Stays::NoSuchUe)?;
        ue.serve(to);
        let stay = *site.cell.stay(place);
        let target = &mut self.sites[to];
        let at = now.min(there) + interruption;
        target.expect(Arrival { at, from: Some((cell, stay)), ue });
        Ok(())
    }

    /// Whether UEs go as soon as they want to from now on: see [`HandoverConfig::is_automatic`].
    pub fn set_automatic(&mut self, is_automatic: bool) {
        self.handover.is_automatic = is_automatic;
    }

    /// All cells go on until then.
    pub fn advance(&mut self, until: Time) {
        let handover = self.handover;
        if !handover.is_automatic || handover.a3_offset_db.is_none() {
            self.on_each(|site| {
                while site.advance(until) {
                    site.begin_epoch(&handover);
                }
            });
            return;
        }
        loop {
            self.on_each(|site| {
                site.advance(until);
            });
            if self.sites.iter().all(|site| site.next_epoch > until) {
                break;
            }
            for cell in 0..self.sites.len() {
                self.begin_epoch(cell, until);
            }
        }
    }

    /// One cell goes on by itself. UEs do not go between cells that are far apart ([`Stays::FarApart`]).
    ///
    /// # Panics
    /// Where there is none of that number.
    pub fn advance_cell(&mut self, cell: usize, until: Time) {
        while self.sites[cell].advance(until) {
            self.begin_epoch(cell, until);
        }
    }

    /// Does something with each cell: each thread takes the next one that none has taken.
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
        for (place, to) in site.begin_epoch(&self.handover) {
            // one that cannot go stays
            let _ = self.hand_over(cell, place, to);
        }
    }
}
