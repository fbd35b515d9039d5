//! Cells with UEs that come, go, and go from one to another.
//!
//! Cells touch each other only where a UE is handed over, and that takes longer than [`EPOCH`]. So each cell goes on by
//! itself for an epoch, on a thread of its own where that is wanted, and who arrives where is settled in between: the
//! result is the same for any number of threads.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::phy::{CarrierError, Geometry};
use crate::{Cell, CellConfig, Time, Ue};

/// What happens between cells happens at whole multiples of this.
pub const EPOCH: Duration = Duration::from_millis(10);
/// Things that happened and wait to be asked for, of each cell: more are forgotten, the oldest first.
const MAX_HAPPENINGS: usize = 1024;
/// UEs that ever come to a cell: more are refused, since each keeps its place and its counters.
pub const MAX_PLACES: usize = 4096;

/// When UEs go to another cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoverConfig {
    /// How much stronger than its own a UE must hear another cell (event A3 of TS 38.331 5.5.4.4, offset and hysteresis
    /// together), in dB; `None`: UEs never want to go by themselves. Default: none.
    pub a3_offset_db: Option<f64>,
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
            time_to_trigger: Duration::from_millis(160),
            interruption: Duration::from_millis(30),
            is_automatic: true,
        }
    }
}

/// What happened in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A UE has come: from another cell and its place there, or anew.
    Came {
        /// Its place here.
        place: usize,
        /// Where it comes from.
        from: Option<(usize, usize)>,
    },
    /// A UE has left.
    Left {
        /// Its place here.
        place: usize,
        /// The cell that it goes to; none where it is gone.
        to: Option<usize>,
    },
    /// A UE hears another cell better, and would go there.
    Wants {
        /// Its place here.
        place: usize,
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
    /// Too many UEs have come to that cell.
    NoRoom,
}

impl std::fmt::Display for Stays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stays::NoSuchCell => "there is no such cell in this RAN",
            Stays::NoSuchUe => "the UE has left",
            Stays::IsThere => "the UE is in that cell",
            Stays::NoRoom => "too many UEs have gone to that cell",
        })
    }
}

impl std::error::Error for Stays {}

/// A UE on its way to a cell.
#[derive(Debug)]
struct Arrival {
    at: Time,
    from: Option<(usize, usize)>,
    ue: Box<Ue>,
}

/// A UE that wants to go.
#[derive(Clone, Copy, Debug)]
struct Want {
    to: usize,
    since: Time,
    is_told: bool,
}

/// A cell and what happens at it.
#[derive(Debug)]
struct Site {
    cell: Cell,
    /// In order of time.
    arrivals: VecDeque<Arrival>,
    /// Numbers of UEs that leave for good, and when.
    departures: Vec<(Time, u64)>,
    happenings: VecDeque<Happening>,
    /// By place.
    wants: Vec<Option<Want>>,
    next_epoch: Time,
    /// All that have come or are to.
    expected: usize,
}

impl Site {
    fn tell(&mut self, happening: Happening) {
        if self.happenings.len() >= MAX_HAPPENINGS {
            self.happenings.pop_front();
        }
        self.happenings.push_back(happening);
    }

    fn expect(&mut self, arrival: Arrival) {
        let at = self.arrivals.partition_point(|other| other.at <= arrival.at);
        self.arrivals.insert(at, arrival);
        self.expected += 1;
    }

    /// Goes on to the next epoch, or only until then; whether the epoch was reached.
    fn advance(&mut self, until: Time) -> bool {
        self.cell.advance(until.min(self.next_epoch));
        until >= self.next_epoch
    }

    /// An epoch begins: who is due comes or leaves.
    fn begin_epoch(&mut self) {
        let now = self.next_epoch;
        self.next_epoch += EPOCH;
        while self.arrivals.front().is_some_and(|arrival| arrival.at <= now) {
            let Some(Arrival { from, ue, .. }) = self.arrivals.pop_front() else { break };
            let place = self.cell.arrive(ue);
            self.tell(Happening::Came { place, from });
        }
        let mut at = 0;
        while let Some((when, number)) = self.departures.get(at).copied() {
            let place = self.cell.ues().find(|(_, ue)| ue.number() == number).map(|(place, _)| place);
            match place {
                _ if when > now => at += 1,
                Some(place) => {
                    self.departures.swap_remove(at);
                    self.cell.leave(place);
                    self.tell(Happening::Left { place, to: None });
                }
                None => {
                    self.departures.swap_remove(at);
                }
            }
        }
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
                departures: Vec::new(),
                happenings: VecDeque::new(),
                wants: Vec::new(),
                next_epoch: Time::START,
                expected: 0,
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

    /// A UE that comes to a cell, at the first epoch from then on, and may leave for good from another time on.
    ///
    /// # Errors
    /// Where the cell is not there, or has no room.
    pub fn add(&mut self, cell: usize, ue: Ue, arrives: Time, leaves: Option<Time>) -> Result<(), Stays> {
        let number = ue.number();
        let site = self.sites.get_mut(cell).ok_or(Stays::NoSuchCell)?;
        if site.expected >= MAX_PLACES {
            return Err(Stays::NoRoom);
        }
        site.expect(Arrival { at: arrives, from: None, ue: Box::new(ue) });
        site.departures.extend(leaves.map(|leaves| (leaves, number)));
        self.next_number = self.next_number.max(number + 1);
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
        if target.expected >= MAX_PLACES {
            return Err(Stays::NoRoom);
        }
        let site = self.sites.get_mut(cell).ok_or(Stays::NoSuchCell)?;
        let now = site.cell.now();
        let mut ue = site.cell.leave(place).ok_or(Stays::NoSuchUe)?;
        ue.serve(to);
        if let Some(want) = site.wants.get_mut(place) {
            *want = None;
        }
        site.tell(Happening::Left { place, to: Some(to) });
        let number = ue.number();
        let departure = site.departures.iter().position(|(_, leaves)| *leaves == number);
        let departure = departure.map(|at| site.departures.swap_remove(at));
        let target = &mut self.sites[to];
        target.departures.extend(departure);
        let at = now + self.handover.interruption.max(EPOCH);
        target.expect(Arrival { at, from: Some((cell, place)), ue });
        Ok(())
    }

    /// All cells go on until then.
    pub fn advance(&mut self, until: Time) {
        loop {
            let threads = self.threads.get().min(self.sites.len());
            let mut is_epoch = false;
            if threads > 1 {
                let each = self.sites.len().div_ceil(threads);
                std::thread::scope(|scope| {
                    let work = |part: &mut [Site]| part.iter_mut().fold(false, |any, site| site.advance(until) | any);
                    let parts: Vec<_> =
                        self.sites.chunks_mut(each).map(|part| scope.spawn(move || work(part))).collect();
                    for part in parts {
                        is_epoch |= part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    }
                });
            } else {
                for site in &mut self.sites {
                    is_epoch |= site.advance(until);
                }
            }
            if !is_epoch {
                break;
            }
            for cell in 0..self.sites.len() {
                self.begin_epoch(cell, until);
            }
        }
    }

    /// One cell goes on by itself. Where UEs go between cells, these must not be far apart.
    ///
    /// # Panics
    /// Where there is none of that number.
    pub fn advance_cell(&mut self, cell: usize, until: Time) {
        while self.sites[cell].advance(until) {
            self.begin_epoch(cell, until);
        }
    }

    fn begin_epoch(&mut self, cell: usize, until: Time) {
        let site = &mut self.sites[cell];
        if site.next_epoch > until || site.cell.now() < site.next_epoch {
            return;
        }
        site.begin_epoch();
        if let Some(offset_db) = self.handover.a3_offset_db {
            self.measure(cell, offset_db);
        }
    }

    /// Event A3: who hears another cell better for long enough wants to go there.
    fn measure(&mut self, cell: usize, offset_db: f64) {
        let HandoverConfig { time_to_trigger, is_automatic, .. } = self.handover;
        let Site { cell: there, wants, .. } = &mut self.sites[cell];
        let now = there.now();
        wants.resize(there.places(), None);
        let mut told = Vec::new();
        for (place, ue) in there.ues() {
            let best = ue.channel().geometry().and_then(|geometry| best_neighbour(geometry, offset_db));
            let want = &mut wants[place];
            match (best, *want) {
                (None, _) => *want = None,
                (Some(best), Some(since)) if since.to == best => {
                    if !since.is_told && now.since(since.since) >= time_to_trigger {
                        told.push((place, best));
                        *want = Some(Want { is_told: true, ..since });
                    }
                }
                (Some(best), _) => *want = Some(Want { to: best, since: now, is_told: false }),
            }
        }
        for (place, to) in told {
            if is_automatic {
                // one that cannot go stays
                let _ = self.hand_over(cell, place, to);
            } else {
                self.sites[cell].tell(Happening::Wants { place, to });
            }
        }
    }
}

/// The cell that a UE hears best, if that is better than its own by more than the offset.
fn best_neighbour(geometry: &Geometry, offset_db: f64) -> Option<usize> {
    let own = geometry.serving();
    let others = (0..geometry.sites().len()).filter(|site| *site != own);
    let best = others.max_by(|a, b| geometry.rsrp_dbm(*a).total_cmp(&geometry.rsrp_dbm(*b)))?;
    (geometry.rsrp_dbm(best) - geometry.rsrp_dbm(own) > offset_db).then_some(best)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use std::sync::Arc;

    use crate::phy::{Area, Channel, Fixed, Motion, Mover, Position, Site, Terminal};
    use crate::traffic::{Flow, FlowSpecification, Kind};
    use crate::{FiveTuple, Random, Subscription};

    fn network(cells: usize, threads: usize) -> Network {
        let configs = (0..cells).map(|_| CellConfig::default());
        Network::new(configs, HandoverConfig::default(), NonZeroUsize::new(threads).unwrap()).unwrap()
    }

    /// A UE that hears its cell at that SINR, and has something to receive.
    fn add(network: &mut Network, cell: usize, sinr_db: f64, arrives: Time, leaves: Option<Time>) {
        let number = network.next_number();
        let address = Ipv4Addr::new(10, 45, 0, 2 + number as u8);
        let source = Ipv4Addr::new(10, 0, 0, 1);
        let channel = Channel::Fixed(Fixed::sinr(sinr_db, sinr_db));
        let config = network.cell(cell).config();
        let mut ue = Ue::new(number, Subscription::default(), address, channel, Random::new(9, number), config);
        let tuple = FiveTuple { source, destination: address, source_port: 7, destination_port: 7, protocol: 17 };
        let kind = Kind::Poisson { rate_bps: 3_000_000, packet_octets: 1200 };
        ue.add_flow(|id, random| {
            Flow::new(id, FlowSpecification { start: arrives, ..FlowSpecification::new(kind) }, tuple, random)
        });
        network.add(cell, ue, arrives, leaves).unwrap();
    }

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn any_number_of_threads_gives_the_same() {
        let run = |threads| {
            let mut network = network(5, threads);
            (0..15).for_each(|n| add(&mut network, n % 5, 10.0 + n as f64, ms(n as u64 * 7), None));
            network.advance(ms(200));
            network.hand_over(1, 0, 3).unwrap();
            network.advance(ms(700));
            (0..5)
                .flat_map(|cell| (0..network.cell(cell).places()).map(move |place| (cell, place)))
                .map(|(cell, place)| network.cell(cell).counts(place).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(4));
    }

    #[test]
    fn ues_come_and_go_and_take_along_what_waits() {
        let mut network = network(2, 1);
        add(&mut network, 0, 15.0, ms(25), Some(ms(2000)));
        network.advance(ms(20));
        assert_eq!(network.cell(0).ues().count(), 0);
        network.advance(ms(40));
        assert_eq!(network.happenings(0).collect::<Vec<_>>(), [Happening::Came { place: 0, from: None }]);
        assert_eq!(network.hand_over(0, 0, 0), Err(Stays::IsThere));
        assert_eq!(network.hand_over(0, 0, 2), Err(Stays::NoSuchCell));
        assert_eq!(network.hand_over(0, 1, 1), Err(Stays::NoSuchUe));
        network.advance(ms(505));
        let before = network.cell(0).ue(0).unwrap().flows()[0].counts().downlink.clone();
        network.hand_over(0, 0, 1).unwrap();
        network.advance(ms(520));
        assert_eq!((network.cell(0).ues().count(), network.cell(1).ues().count()), (0, 0), "it is on its way");
        network.advance(ms(700));
        assert_eq!(network.happenings(0).collect::<Vec<_>>(), [Happening::Left { place: 0, to: Some(1) }]);
        assert_eq!(network.happenings(1).collect::<Vec<_>>(), [Happening::Came { place: 0, from: Some((0, 0)) }]);
        assert!(network.cell(0).counts(0).unwrap().down.blocks > 0, "what was counted stays");
        network.advance(ms(1500));
        let after = network.cell(1).ue(0).unwrap().flows()[0].counts().downlink.clone();
        assert!(after.received_packets > before.received_packets);
        assert_eq!(after.lost_packets, 0, "in acknowledged mode nothing gets lost");
        network.advance(ms(2100));
        assert_eq!(network.happenings(1).collect::<Vec<_>>(), [Happening::Left { place: 0, to: None }]);
        assert_eq!(network.cell(1).ues().count(), 0);
    }

    #[test]
    fn a_cell_goes_on_by_itself() {
        let mut network = network(2, 1);
        network.advance_cell(1, ms(300));
        assert_eq!((network.cell(0).now(), network.cell(1).now()), (Time::START, ms(300)));
        network.advance(ms(400));
        assert_eq!((network.cell(0).now(), network.cell(1).now()), (ms(400), ms(400)));
    }

    /// A UE drives from one cell to the other, 600 m away.
    #[test]
    fn who_hears_another_cell_better_goes_there() {
        let drive = |is_automatic| {
            let handover = HandoverConfig { a3_offset_db: Some(3.0), is_automatic, ..HandoverConfig::default() };
            let configs = [CellConfig::default(), CellConfig::default()];
            let mut network = Network::new(configs, handover, NonZeroUsize::MIN).unwrap();
            let grid = network.cell(0).grid().clone();
            let at = |x_m| Position { x_m, y_m: 0.0 };
            let sites: Arc<[Site]> = [0.0, 600.0].map(|x_m| Site::new(&grid, at(x_m))).into();
            let area = Area { least: Position { x_m: 0.0, y_m: -50.0 }, most: Position { x_m: 600.0, y_m: 50.0 } };
            let motion = Motion::Straight { speed_m_per_s: 30.0, heading_deg: 90.0 };
            let mover = Mover::new(area, at(50.0), motion).unwrap();
            let mut random = Random::new(1, 0);
            let geometry = Geometry::new(sites, 0, Terminal::default(), mover, (1, 0), &mut random).unwrap();
            let channel = Channel::Geometry(Box::new(geometry));
            let address = Ipv4Addr::new(10, 45, 0, 2);
            let ue = Ue::new(0, Subscription::default(), address, channel, random, network.cell(0).config());
            network.add(0, ue, Time::START, None).unwrap();
            network.advance(ms(15_000));
            network
        };
        let mut network = drive(true);
        assert_eq!((network.cell(0).ues().count(), network.cell(1).ues().count()), (0, 1));
        let told: Vec<_> = network.happenings(0).collect();
        assert_eq!(told[..2], [Happening::Came { place: 0, from: None }, Happening::Left { place: 0, to: Some(1) }]);
        let mut network = drive(false);
        assert_eq!(network.cell(0).ues().count(), 1, "it waits for a word");
        assert!(network.happenings(0).any(|told| told == Happening::Wants { place: 0, to: 1 }));
    }
}
