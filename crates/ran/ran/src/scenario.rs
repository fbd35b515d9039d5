//! A scenario: what a RAN is made of, and what happens in it.

#[cfg(all(test, feature = "scenario"))]
mod examples;
#[cfg(feature = "scenario")]
mod file;
mod model;
mod summary;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "control")]
use e2sm::slice::SliceConfiguration;
use radio::phy::{
    Area, Carrier, CarrierError, Channel, Direction, Fixed, Geometry, GeometryError, McsTable, Motion, Mover, Position,
    Site, Terminal, Trace,
};
use radio::traffic::{Flow, FlowSpecification, Kind, OutOfRange, UserMix};
use radio::{
    CellConfig, FiveTuple, HandoverConfig, HandoverError, INDEX_REUSE_DELAY, MAX_UES_PER_CELL, Network, Random,
    Subscription, Time, Ue, tc,
};

use crate::node::{MCC, MNC};

#[cfg(feature = "scenario")]
pub use file::{MAX_FLOWS, ScenarioFolders};
pub use model::Model;
pub use summary::{Load, Summary};

/// The most cells of a scenario.
pub const MAX_CELLS: usize = 4096;
/// The most UEs of a scenario over its whole time: each has its own address from 10.45.0.2 on.
pub const MAX_UES: usize = 500_000;
/// The most threads of the model.
pub const MAX_THREADS: usize = 256;
/// Where servers are.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// UEs have addresses from here on.
const FIRST_UE: u32 = u32::from_be_bytes([10, 45, 0, 2]);

/// The address of a UE.
pub(crate) fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_UE + number as u32)
}

/// What a RAN is made of, and what happens in it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed of all chance. Default: 1.
    pub seed: u64,
    /// The cells: one for each base station.
    pub cells: Vec<CellScenario>,
    /// The UEs.
    pub ues: Vec<UeScenario>,
    /// When UEs go to another cell.
    pub handover: HandoverConfig,
    /// What else happens, in the order of time.
    pub timeline: Vec<TimelineEntry>,
    /// How many seconds of the model pass in one. Default: 1.
    pub speed: f64,
    /// How long the model has run when it is looked at first. Default: none.
    pub warm_up: Duration,
    /// Whether time goes on while nobody looks. Default: it does.
    pub is_always_on: bool,
    /// Threads that the model may use. Default: 1.
    pub threads: NonZeroUsize,
}

impl Default for Scenario {
    fn default() -> Self {
        Scenario {
            seed: 1,
            cells: Vec::new(),
            ues: Vec::new(),
            handover: HandoverConfig::default(),
            timeline: Vec::new(),
            speed: 1.0,
            warm_up: Duration::ZERO,
            is_always_on: true,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// A base station with one cell.
#[derive(Clone, Debug, Default)]
pub struct CellScenario {
    /// Its radio.
    pub radio: CellConfig,
    /// Where it stands.
    pub position: Position,
    /// Whether its CU-CP, CU-UP and DU are E2 nodes of their own (NR only). Default: one gNB.
    pub is_split: bool,
    /// Whether it serves nobody at the beginning. Default: it serves.
    pub is_locked: bool,
    /// The initial slices. Default: none.
    #[cfg(feature = "control")]
    pub slicing: SlicingScenario,
}

/// The initial slices of a cell. Controllers may change them.
#[cfg(feature = "control")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlicingScenario {
    /// The slices of both directions.
    pub slices: SliceConfiguration<'static>,
    /// The slices of UEs: the first rule that matches a UE applies. A UE that no rule matches is in no slice.
    pub rules: Vec<SliceRule>,
}

/// Assigns UEs to slices by what they have selected. An absent field matches any value.
#[cfg(feature = "control")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceRule {
    /// The selected network: its two codes, and whether the second has three digits.
    pub plmn: Option<(u16, u16, bool)>,
    /// The slice/service type.
    pub sst: Option<u8>,
    /// The slice differentiator.
    pub sd: Option<[u8; 3]>,
    /// The downlink slice.
    pub dl: Option<u32>,
    /// The uplink slice.
    pub ul: Option<u32>,
}

#[cfg(feature = "control")]
impl SliceRule {
    /// Whether a UE matches.
    #[must_use]
    pub fn matches(&self, ue: &Subscription) -> bool {
        self.plmn.is_none_or(|plmn| plmn == (ue.mcc, ue.mnc, ue.has_long_mnc))
            && self.sst.is_none_or(|sst| sst == ue.sst)
            && self.sd.is_none_or(|sd| Some(sd) == ue.sd)
    }
}

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    /// When, in the model's time.
    pub at: Time,
    /// What.
    pub change: Change,
}

/// What happens besides what UEs do by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A cell serves nobody from then on, or again.
    Locked {
        /// Which one.
        cell: usize,
        /// Whether it is to serve nobody.
        is_locked: bool,
    },
    /// A UE goes to another cell; one that is not there stays where it is.
    HandOver {
        /// Its number: its place among the scenario's UEs.
        ue: u64,
        /// That cell.
        to: usize,
    },
}

/// A UE.
#[derive(Clone, Debug)]
pub struct UeScenario {
    /// The cell where it begins, counted from 0.
    pub cell: usize,
    /// The network and slice that it has chosen.
    pub subscription: Subscription,
    /// Its radio channel.
    pub channel: ChannelScenario,
    /// What it sends and receives; times are those of the model, and begin at its arrival at the earliest.
    pub flows: Vec<FlowScenario>,
    /// When it comes. Default: at the beginning.
    pub arrives: Time,
    /// When it leaves for good. Default: never.
    pub leaves: Option<Time>,
}

/// A flow of a UE.
#[derive(Clone, Debug)]
pub struct FlowScenario {
    /// What is sent when.
    pub specification: FlowSpecification,
    /// The server's port and the UE's.
    pub ports: (u16, u16),
}

/// A UE's radio channel.
#[derive(Clone, Debug)]
pub enum ChannelScenario {
    /// With that index of modulation and coding in both directions, and nothing lost.
    Mcs(u8),
    /// With that SINR in dB, down and up.
    Sinr(f64, f64),
    /// As recorded.
    Trace(Trace),
    /// By where it is; without a place, anywhere within so many metres of its cell.
    Geometry {
        /// Where it is at the beginning.
        position: Option<Position>,
        /// How it moves.
        motion: Motion,
    },
}

/// How far from its cell a UE without a place is at most, in metres.
const NEAR_M: f64 = 450.0;
/// How far around the cells UEs go, in metres.
const MARGIN_M: f64 = 500.0;

impl Scenario {
    /// Base stations with 40 MHz of NR each, in a row, and UEs whose users read, watch and talk.
    #[must_use]
    pub fn crowd(cells: u16, ues_each: u16, seed: u64) -> Scenario {
        let mut random = Random::new(seed, u64::MAX);
        let carrier = Carrier { downlink_layers: 2, downlink_mcs: McsTable::Qam256, ..Carrier::default() };
        let radio = CellConfig { carrier, ..CellConfig::default() };
        let cells: Vec<CellScenario> = (0..cells)
            .map(|number| CellScenario {
                radio: radio.clone(),
                position: Position { x_m: APART_M * f64::from(number), y_m: 0.0 },
                ..CellScenario::default()
            })
            .collect();
        let ues = (0..cells.len()).flat_map(|cell| (0..ues_each).map(move |_| cell));
        let ues = ues.map(|cell| user(cell, &mut random)).collect();
        Scenario { seed, cells, ues, warm_up: WARM_UP, is_always_on: false, ..Scenario::default() }
    }
}

/// The index of modulation and coding in a quiet cell: with 106 PRBs and the usual TDD pattern it makes some 60 Mbit/s.
const QUIET_MCS: u8 = 20;

impl Scenario {
    /// One cell of NR with 40 MHz, 106 PRBs of 30 kHz, and UEs whose channels stay as they are and whose users do nothing:
    /// for traffic of one's own.
    #[must_use]
    pub fn quiet(ues: u16) -> Scenario {
        let ue = UeScenario {
            cell: 0,
            subscription: Subscription { mcc: MCC, mnc: MNC, sst: 1, five_qi: 9, ..Subscription::default() },
            channel: ChannelScenario::Mcs(QUIET_MCS),
            flows: Vec::new(),
            arrives: Time::START,
            leaves: None,
        };
        Scenario { cells: vec![CellScenario::default()], ues: vec![ue; ues.into()], ..Scenario::default() }
    }
}

/// How far from each other cells of a crowd are, in metres.
const APART_M: f64 = 500.0;
/// Where there are more cells than this, and UEs do not go to others by themselves, each hears its own only; handed over,
/// it hears the next one as well as that.
const MAX_HEARD: usize = 7;
/// A crowd's users are at it already when somebody looks first.
const WARM_UP: Duration = Duration::from_secs(1);

/// A user: an idle one, one who reads, one who watches, or one with a steady flow in both directions that has to be in time
/// (TS 23.501 5.15.2.2: eMBB and URLLC; 5QIs of its table 5.7.4-1).
fn user(cell: usize, random: &mut Random) -> UeScenario {
    let specification = UserMix::default().draw(Time::START, random);
    let (sst, five_qi) = match &specification.kind {
        Kind::ConstantBitRate { .. } => (2, 3),
        Kind::VideoPlayer(_) => (1, 6),
        _ => (1, 9),
    };
    UeScenario {
        cell,
        subscription: Subscription { mcc: MCC, mnc: MNC, sst, five_qi, ..Subscription::default() },
        channel: ChannelScenario::Geometry { position: None, motion: walk(random) },
        flows: vec![FlowScenario { specification, ports: (443, 50_000) }],
        arrives: Time::START,
        leaves: None,
    }
}

/// Walking to driving.
fn walk(random: &mut Random) -> Motion {
    let speed_m_per_s = 0.8 + 8.2 * random.uniform().powi(2);
    Motion::RandomWaypoint { least_m_per_s: speed_m_per_s, most_m_per_s: speed_m_per_s, pause_s: 0.0 }
}

impl Scenario {
    /// Whether cells go on together, since UEs go from one to another by themselves.
    #[must_use]
    pub fn is_coupled(&self) -> bool {
        self.is_always_on || self.has_moving_ues() || !self.timeline.is_empty() || self.threads.get() > 1
    }

    /// Whether UEs want to go to other cells by themselves, and somebody is asked first.
    #[must_use]
    pub fn has_moving_ues(&self) -> bool {
        self.cells.len() > 1 && self.handover.a3_offset_db.is_some()
    }

    /// The model: its cells, with all UEs, those that are to come as well. [`Model`] has UEs when they come, which takes
    /// less memory.
    ///
    /// # Errors
    /// What of it cannot be, and where.
    pub fn network(&self) -> Result<Network, ScenarioError> {
        let (mut network, sites) = self.cells_alone()?;
        for (number, ue) in self.ues.iter().enumerate() {
            self.add(number, ue, &mut network, &sites)?;
        }
        Ok(network)
    }

    /// Whether it can be: its cells without UEs, where each of these was made once.
    fn check(&self) -> Result<Network, ScenarioError> {
        let (network, sites) = self.cells_alone()?;
        for (number, ue) in self.ues.iter().enumerate() {
            self.ue(number, ue, &network, &sites)?;
        }
        Ok(network)
    }

    /// A UE is to come.
    fn add(
        &self,
        number: usize,
        ue: &UeScenario,
        network: &mut Network,
        sites: &Arc<[Site]>,
    ) -> Result<(), ScenarioError> {
        let made = self.ue(number, ue, network, sites)?;
        network.add(ue.cell, made, ue.arrives, ue.leaves).map_err(|error| ScenarioError::Place(number, error))
    }

    /// The cells, and where they stand, of a scenario in which everything but UEs is known to be possible.
    fn cells_alone(&self) -> Result<(Network, Arc<[Site]>), ScenarioError> {
        if !(1..=MAX_CELLS).contains(&self.cells.len()) {
            return Err(ScenarioError::Cells);
        }
        if !(self.speed.is_finite() && (0.001..=1000.0).contains(&self.speed)) {
            return Err(ScenarioError::Speed);
        }
        if self.ues.len() > MAX_UES {
            return Err(ScenarioError::Ues);
        }
        if !self.timeline.is_sorted_by_key(|entry| entry.at) {
            return Err(ScenarioError::Timeline);
        }
        for (cell, there) in self.cells.iter().enumerate() {
            there.radio.carrier.check().map_err(|error| ScenarioError::Carrier(cell, error))?;
            there.radio.tc.check().map_err(|error| ScenarioError::TrafficControl(cell, error))?;
        }
        // who decides about handovers is the node: it asks who wants a say
        let handover = HandoverConfig { is_automatic: false, ..self.handover };
        let configs = self.cells.iter().map(|cell| cell.radio.clone());
        let mut network =
            Network::new(configs, handover, self.threads).map_err(|error| ScenarioError::Carrier(0, error))?;
        for (at, cell) in self.cells.iter().enumerate() {
            network.cell_mut(at).set_locked(cell.is_locked);
        }
        let sites = self.cells.iter().enumerate();
        let sites: Arc<[Site]> = sites.map(|(at, cell)| Site::new(network.cell(at).grid(), cell.position)).collect();
        if let Some(number) = self.first_without_place() {
            return Err(ScenarioError::Place(number, HandoverError::CellFull));
        }
        Ok((network, sites))
    }

    /// The first UE that would find no place in its cell, if nobody went to another one.
    fn first_without_place(&self) -> Option<usize> {
        let mut in_order: Vec<usize> = (0..self.ues.len()).collect();
        in_order.sort_by_key(|number| self.ues[*number].arrives);
        // when each place of a cell will be free again
        let mut taken: BTreeMap<usize, BinaryHeap<Reverse<Time>>> = BTreeMap::new();
        in_order.into_iter().find(|number| {
            let UeScenario { cell, arrives, leaves, .. } = &self.ues[*number];
            let taken = taken.entry(*cell).or_default();
            while taken.peek().is_some_and(|Reverse(free)| free <= arrives) {
                taken.pop();
            }
            taken.push(Reverse(leaves.map_or(Time::NEVER, |leaves| leaves + INDEX_REUSE_DELAY)));
            taken.len() > MAX_UES_PER_CELL
        })
    }

    fn ue(&self, number: usize, ue: &UeScenario, network: &Network, sites: &Arc<[Site]>) -> Result<Ue, ScenarioError> {
        if ue.cell >= network.cells() {
            return Err(ScenarioError::Place(number, HandoverError::UnknownCell));
        }
        let cell = network.cell(ue.cell);
        let mut random = Random::new(self.seed, number as u64);
        let channel = match &ue.channel {
            ChannelScenario::Mcs(mcs) => {
                let of = |direction| (cell.adaptation(direction), *mcs);
                let known = cell
                    .adaptation(Direction::Downlink)
                    .mcs_count()
                    .min(cell.adaptation(Direction::Uplink).mcs_count());
                if *mcs >= known {
                    return Err(ScenarioError::Mcs(number, known - 1));
                }
                Channel::Fixed(Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink)))
            }
            ChannelScenario::Sinr(down_db, up_db) => Channel::Fixed(Fixed::sinr(*down_db, *up_db)),
            ChannelScenario::Trace(trace) => Channel::Trace(trace.clone()),
            ChannelScenario::Geometry { position, motion } => {
                let geometry = self.geometry(number, ue.cell, *position, *motion, sites, &mut random);
                Channel::Geometry(Box::new(geometry.map_err(|error| ScenarioError::Geometry(number, error))?))
            }
        };
        let address = address(number);
        let mut made = Ue::new(number as u64, ue.subscription, address, channel, random, cell.config());
        for flow in &ue.flows {
            let start = flow.specification.start.max(ue.arrives);
            let specification = FlowSpecification { start, ..flow.specification.clone() };
            specification.check().map_err(|error| ScenarioError::Flow(number, error))?;
            let (source_port, destination_port) = flow.ports;
            let protocol = if specification.kind.is_tcp() { FiveTuple::TCP } else { FiveTuple::UDP };
            let tuple = FiveTuple { source: SERVER, destination: address, source_port, destination_port, protocol };
            made.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        }
        Ok(made)
    }

    fn geometry(
        &self,
        number: usize,
        cell: usize,
        position: Option<Position>,
        motion: Motion,
        sites: &Arc<[Site]>,
        random: &mut Random,
    ) -> Result<Geometry, GeometryError> {
        let own = self.cells[cell].position;
        let near = |m: f64| Area {
            least: Position { x_m: own.x_m - m, y_m: own.y_m - m },
            most: Position { x_m: own.x_m + m, y_m: own.y_m + m },
        };
        // who has a place goes anywhere among the cells, who has none stays near its own
        let area = match position {
            Some(_) => self.cells.iter().fold(near(MARGIN_M), |area, cell| Area {
                least: Position {
                    x_m: area.least.x_m.min(cell.position.x_m - MARGIN_M),
                    y_m: area.least.y_m.min(cell.position.y_m - MARGIN_M),
                },
                most: Position {
                    x_m: area.most.x_m.max(cell.position.x_m + MARGIN_M),
                    y_m: area.most.y_m.max(cell.position.y_m + MARGIN_M),
                },
            }),
            None => near(NEAR_M),
        };
        let position = position.unwrap_or_else(|| {
            // uniform over a disc
            let (distance_m, angle) = (NEAR_M * random.uniform().sqrt(), random.uniform() * std::f64::consts::TAU);
            Position { x_m: own.x_m + distance_m * angle.cos(), y_m: own.y_m + distance_m * angle.sin() }
        });
        let mover = Mover::new(area, position, motion)?;
        // a crowd's cells do not hear each other: each UE knows its own only
        let (sites, serving) = if self.handover.a3_offset_db.is_none() && self.cells.len() > MAX_HEARD {
            (Arc::from([sites[cell].clone()]), 0)
        } else {
            (Arc::clone(sites), cell)
        };
        Geometry::new(sites, serving, Terminal::default(), mover, (self.seed, number as u32), random)
    }
}

/// A scenario that cannot be: all of it is the caller's misuse. Cells and UEs are counted from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ScenarioError {
    /// A number of cells out of bounds.
    Cells,
    /// More UEs than there are addresses.
    Ues,
    /// A timeline that is not in the order of time.
    Timeline,
    /// A speed out of bounds.
    Speed,
    /// A cell's carrier.
    Carrier(usize, CarrierError),
    /// A cell's traffic control.
    TrafficControl(usize, tc::ConfigurationError),
    /// The cell of a UE.
    Place(usize, HandoverError),
    /// A UE's modulation and coding; the last that its cell's carrier has.
    Mcs(usize, u8),
    /// Where a UE is, or how it moves.
    Geometry(usize, GeometryError),
    /// A flow of a UE.
    Flow(usize, OutOfRange),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Cells => write!(f, "a RAN has 1 to {MAX_CELLS} cells"),
            ScenarioError::Ues => write!(f, "a RAN has {MAX_UES} UEs at most"),
            ScenarioError::Timeline => f.write_str("what happens is told in the order of time"),
            ScenarioError::Speed => f.write_str("the model's speed is 0.001 to 1000 times that of time"),
            ScenarioError::Carrier(cell, error) => write!(f, "cell {cell}: {error}"),
            ScenarioError::TrafficControl(cell, error) => write!(f, "traffic control of cell {cell}: {error}"),
            ScenarioError::Place(ue, error) => write!(f, "UE {ue}: {error}"),
            ScenarioError::Mcs(ue, last) => write!(f, "UE {ue}: its cell has MCS 0 to {last}"),
            ScenarioError::Geometry(ue, error) => write!(f, "UE {ue}: {error}"),
            ScenarioError::Flow(ue, error) => write!(f, "a flow of UE {ue}: {error}"),
        }
    }
}

impl std::error::Error for ScenarioError {}
