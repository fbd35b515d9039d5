//! A scenario: the cells and UEs of a RAN, their traffic, and a timeline of changes.

#[cfg(all(test, feature = "scenario"))]
mod examples;
#[cfg(feature = "scenario")]
mod file;
mod model;
mod sites;
mod summary;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;

#[cfg(feature = "control")]
use e2sm::slice::SliceConfiguration;
use radio::phy::{
    Carrier, CarrierError, Channel, Deployment, Direction, Fixed, GeometryError, McsTable, Motion, Position, Rat,
    Trace, Track, UeRadio,
};
use radio::traffic::{Flow, FlowSpecification, Kind, OutOfRange, UserMix};
use radio::{
    AdministrativeState, CarrierAggregationConfig, CellConfig, FiveTuple, HandoverConfig, HandoverError,
    INDEX_REUSE_DELAY, MAX_UES_PER_CELL, MeasurementConfig, Network, PowerModelError, Random, Subscription, Time, Ue,
    tc,
};

use crate::gnb_cells::gnb_cells;
use crate::node::{MCC, MNC};
use crate::profile::Profile;

#[cfg(feature = "scenario")]
pub use file::{MAX_FLOWS, ScenarioFolders};
pub use model::Model;
pub use sites::{DeploymentScenario, SiteScenario};
pub use summary::{Load, Summary};

/// The most cells of a scenario.
pub const MAX_CELLS: usize = 4096;
/// The most UEs of a scenario over its whole time: each has its own address from 10.45.0.2 on.
pub const MAX_UES: usize = 500_000;
/// The most threads of the model.
pub const MAX_THREADS: usize = 256;
/// The most DUs of a CU: the setup request of the CU-CP, which has the F1 setup of each, stays below the 32 kB that controllers receive.
pub const MAX_DUS: usize = 64;
/// The address of all servers.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The address of the first UE.
const FIRST_UE: u32 = u32::from_be_bytes([10, 45, 0, 2]);

/// The address of a UE.
pub(crate) fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_UE + number as u32)
}

/// The cells and UEs of a RAN, their traffic, and a timeline of changes.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed of all random numbers. Default: 1.
    pub seed: u64,
    /// The cells. Each is one of a base station of its own, unless it names another one, or a CU.
    pub cells: Vec<CellScenario>,
    /// What the sites of the cells have in common.
    pub deployment: DeploymentScenario,
    /// The UEs.
    pub ues: Vec<UeScenario>,
    /// When UEs are handed over.
    pub handover: HandoverConfig,
    /// What UEs measure and report.
    pub measurement: MeasurementConfig,
    /// When UEs have secondary cells.
    pub carrier_aggregation: CarrierAggregationConfig,
    /// Further changes, in the order of time.
    pub timeline: Vec<TimelineEntry>,
    /// Model time per real time. Default: 1.
    pub speed: f64,
    /// How long the model has run at the first read. Default: none.
    pub warm_up: Duration,
    /// Whether time advances without reads. Default: yes.
    pub is_always_on: bool,
    /// The number of threads of the model. Default: 1.
    pub threads: NonZeroUsize,
    /// The profile that a scenario file names, for [`RanConfig::with_profile`](crate::RanConfig::with_profile), which uses it.
    /// Default: everything, as specified.
    pub profile: &'static Profile,
}

impl Default for Scenario {
    fn default() -> Self {
        Scenario {
            seed: 1,
            cells: Vec::new(),
            deployment: DeploymentScenario::default(),
            ues: Vec::new(),
            handover: HandoverConfig::default(),
            measurement: MeasurementConfig::default(),
            carrier_aggregation: CarrierAggregationConfig::default(),
            timeline: Vec::new(),
            speed: 1.0,
            warm_up: Duration::ZERO,
            is_always_on: true,
            threads: NonZeroUsize::MIN,
            profile: &crate::profile::FULL,
        }
    }
}

/// A cell of a base station.
#[derive(Clone, Debug, Default)]
pub struct CellScenario {
    /// The name of its base station, if that has several cells: cells with the same name follow each other. Default: none.
    pub base_station: Option<String>,
    /// The configuration of its radio.
    pub radio: CellConfig,
    /// The position of its antenna.
    pub position: Position,
    /// Its antenna, transmitter and propagation.
    pub site: SiteScenario,
    /// Whether its CU-CP, CU-UP and DU are separate E2 nodes (NR only). Default: one gNB.
    pub is_split: bool,
    /// The name of the CU-CP and CU-UP of a split cell, if these have several DUs: cells with the same name are of one gNB, each of them
    /// with a DU of its own (TS 38.401 6.1). Default: none.
    pub cu: Option<String>,
    /// Whether it is locked at the start. Default: no.
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

/// An entry of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    /// The time of the model.
    pub at: Time,
    /// The change.
    pub change: TimelineChange,
}

/// A change that the timeline makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineChange {
    /// A cell is ordered to save energy, or not to.
    EnergySaving {
        /// The cell.
        cell: usize,
        /// Whether it saves energy from then on.
        is_ordered: bool,
    },
    /// A cell is locked, unlocked or shut down.
    Administrative {
        /// The cell.
        cell: usize,
        /// Its state from then on.
        state: AdministrativeState,
    },
    /// A UE is handed over. No effect if it is in no cell.
    HandOver {
        /// The UE's number: its index in the scenario's UEs.
        ue: u64,
        /// The target cell.
        to: usize,
    },
    /// The core changes the PDU session of a UE. No effect if it is in no cell.
    Session {
        /// The UE's number: its index in the scenario's UEs.
        ue: u64,
        /// How.
        change: SessionChange,
    },
}

/// What the core does to a PDU session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// The QoS flow has another 5QI, 1 to 9, by whose priority its bearer is scheduled.
    FiveQi(u8),
    /// The session is released: the flows of the UE stop, what waits in buffers is still sent.
    Release,
}

/// A UE.
#[derive(Clone, Debug)]
pub struct UeScenario {
    /// The cell where it attaches, counted from 0.
    pub cell: usize,
    /// The network and slice that it selects.
    pub subscription: Subscription,
    /// The most carriers that it can aggregate, 1 to [`radio::MAX_CARRIERS`]: 1 is no carrier aggregation.
    pub max_carriers: u8,
    /// Its radio channel.
    pub channel: ChannelScenario,
    /// Its flows. Their times are those of the model, and not before its arrival.
    pub flows: Vec<FlowScenario>,
    /// When it arrives. Default: at the start.
    pub arrives: Time,
    /// When it leaves. Default: never.
    pub leaves: Option<Time>,
}

/// A flow of a UE.
#[derive(Clone, Debug)]
pub struct FlowScenario {
    /// The traffic.
    pub specification: FlowSpecification,
    /// The ports of the server and the UE.
    pub ports: (u16, u16),
}

/// A UE's radio channel.
#[derive(Clone, Debug)]
pub enum ChannelScenario {
    /// A fixed MCS in both directions, without losses.
    Mcs(u8),
    /// A fixed SINR in dB: downlink, uplink.
    Sinr(f64, f64),
    /// A recorded channel.
    Trace(Trace),
    /// A channel by position.
    Geometry {
        /// The initial position. Default: random, within 450 m of its cell.
        position: Option<Position>,
        /// Its motion.
        motion: Motion,
        /// Its radio parameters.
        radio: UeRadio,
    },
    /// A channel by the position on a track, which begins when the UE arrives.
    Track {
        /// The track.
        track: Track,
        /// Its radio parameters.
        radio: UeRadio,
    },
}

impl Scenario {
    /// Base stations with 40 MHz of NR each, in a row, with UEs whose traffic is a mix of web, video and calls.
    #[must_use]
    pub fn with_mixed_traffic(cells: u16, ues_each: u16, seed: u64) -> Scenario {
        let mut random = Random::new(seed, u64::MAX);
        let carrier = Carrier { downlink_layers: 2, downlink_mcs: McsTable::Qam256, ..Carrier::default() };
        let radio = CellConfig { carrier, ..CellConfig::default() };
        let cells: Vec<CellScenario> = (0..cells)
            .map(|number| CellScenario {
                radio: radio.clone(),
                position: Position { x_m: CELL_DISTANCE_M * f64::from(number), y_m: 0.0 },
                ..CellScenario::default()
            })
            .collect();
        let ues = (0..cells.len()).flat_map(|cell| (0..ues_each).map(move |_| cell));
        let ues = ues.map(|cell| user(cell, &mut random)).collect();
        Scenario { seed, cells, ues, warm_up: WARM_UP, is_always_on: false, ..Scenario::default() }
    }
}

/// The MCS in a cell without traffic: about 60 Mbit/s with 106 PRBs and the default TDD pattern.
const FIXED_MCS: u8 = 20;

impl Scenario {
    /// One cell of NR with 40 MHz, 106 PRBs of 30 kHz, with UEs on fixed channels and without traffic: for live mode, and for
    /// traffic that the caller adds.
    #[must_use]
    pub fn without_traffic(ues: u16) -> Scenario {
        let ue = UeScenario {
            cell: 0,
            subscription: Subscription { mcc: MCC, mnc: MNC, sst: 1, five_qi: 9, ..Subscription::default() },
            max_carriers: 1,
            channel: ChannelScenario::Mcs(FIXED_MCS),
            flows: Vec::new(),
            arrives: Time::START,
            leaves: None,
        };
        Scenario { cells: vec![CellScenario::default()], ues: vec![ue; ues.into()], ..Scenario::default() }
    }
}

/// The distance between the cells of `Scenario::with_mixed_traffic`, in metres: its UEs, within 450 m of their cells, are nearest to
/// them.
const CELL_DISTANCE_M: f64 = 1000.0;
/// Time before the first read, so that the traffic has started.
const WARM_UP: Duration = Duration::from_secs(1);

/// A UE with idle, web, video or constant low-delay traffic, and the slice and 5QI for it (TS 23.501 5.15.2.2: eMBB and URLLC;
/// table 5.7.4-1).
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
        max_carriers: 1,
        channel: ChannelScenario::Geometry { position: None, motion: random_motion(random), radio: UeRadio::default() },
        flows: vec![FlowScenario { specification, ports: (443, 50_000) }],
        arrives: Time::START,
        leaves: None,
    }
}

/// A random motion between walking and driving.
fn random_motion(random: &mut Random) -> Motion {
    let speed_m_per_s = 0.8 + 8.2 * random.uniform().powi(2);
    Motion::RandomWaypoint { min_speed_m_per_s: speed_m_per_s, max_speed_m_per_s: speed_m_per_s, pause_s: 0.0 }
}

impl Scenario {
    /// Whether UEs trigger handovers by measurement reports.
    #[must_use]
    pub fn has_moving_ues(&self) -> bool {
        self.cells.len() > 1 && self.handover.a3_offset_db.is_some()
    }

    /// Creates the network with all UEs, also those that arrive later. [`Model`] creates UEs when they arrive, and uses less
    /// memory.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn network(&self) -> Result<Network, ScenarioError> {
        let (mut network, sites) = self.cells_without_ues()?;
        for (number, ue) in self.ues.iter().enumerate() {
            self.add(number, ue, &mut network, &sites)?;
        }
        Ok(network)
    }

    /// Checks the scenario, and returns its cells without UEs.
    fn check(&self) -> Result<Network, ScenarioError> {
        let (network, sites) = self.cells_without_ues()?;
        for (number, ue) in self.ues.iter().enumerate() {
            self.ue(number, ue, &network, &sites)?;
        }
        Ok(network)
    }

    /// Creates a UE and adds it to the network.
    fn add(
        &self,
        number: usize,
        ue: &UeScenario,
        network: &mut Network,
        sites: &Deployment,
    ) -> Result<(), ScenarioError> {
        let new = self.ue(number, ue, network, sites)?;
        network.add(ue.cell, new, ue.arrives, ue.leaves).map_err(|error| ScenarioError::Place(number, error))
    }

    /// Checks everything but the UEs, and creates the network without them, and the sites of its cells.
    fn cells_without_ues(&self) -> Result<(Network, Deployment), ScenarioError> {
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
        for (number, cell) in self.cells.iter().enumerate() {
            cell.radio.carrier.check().map_err(|error| ScenarioError::Carrier(number, error))?;
            cell.radio.power_control.check().map_err(|error| ScenarioError::PowerControl(number, error))?;
            cell.radio.power.check().map_err(|error| ScenarioError::Power(number, error))?;
            cell.radio.tc.check().map_err(|error| ScenarioError::TrafficControl(number, error))?;
        }
        // the node decides about handovers, with its controllers
        let handover = HandoverConfig { is_automatic: false, ..self.handover };
        let configs = self.cells.iter().map(|cell| cell.radio.clone());
        let mut network =
            Network::new(configs, handover, self.threads).map_err(|error| ScenarioError::Carrier(0, error))?;
        network.set_measurement(self.measurement.clone());
        network.set_carrier_aggregation(self.carrier_aggregation);
        self.base_stations()?.into_iter().for_each(|cells| network.join_cells(cells));
        self.check_cus()?;
        for (at, cell) in self.cells.iter().enumerate() {
            network.cell_mut(at).set_locked(cell.is_locked);
        }
        let sites = self.sites_of(&network).map_err(ScenarioError::Deployment)?;
        if let Some(number) = self.first_without_place() {
            return Err(ScenarioError::Place(number, HandoverError::CellFull));
        }
        Ok((network, sites))
    }

    /// The cells of the base stations that have several.
    fn base_stations(&self) -> Result<Vec<Range<usize>>, ScenarioError> {
        let mut base_stations: Vec<Range<usize>> = Vec::new();
        for (number, cell) in self.cells.iter().enumerate() {
            let Some(name) = &cell.base_station else { continue };
            let named = |cells: &&mut Range<usize>| self.cells[cells.start].base_station.as_ref() == Some(name);
            match base_stations.iter_mut().find(named) {
                None => base_stations.push(number..number + 1),
                Some(cells) if cells.end == number => {
                    if self.cells[cells.start].radio.carrier.rat != cell.radio.carrier.rat {
                        return Err(ScenarioError::BaseStation(
                            number,
                            "NR and LTE cells are of different base stations",
                        ));
                    }
                    cells.end = number + 1;
                }
                Some(_) => {
                    let why = "the cells of a base station must follow each other";
                    return Err(ScenarioError::BaseStation(number, why));
                }
            }
        }
        Ok(base_stations)
    }

    /// Checks the cells that share a CU.
    fn check_cus(&self) -> Result<(), ScenarioError> {
        let places = gnb_cells(self);
        for (number, cell) in self.cells.iter().enumerate().filter(|(_, cell)| cell.cu.is_some()) {
            let refuse = |why| Err(ScenarioError::Cu(number, why));
            let first = &self.cells[usize::from(places[number].first)];
            if cell.radio.carrier.rat == Rat::Lte {
                return refuse("only NR cells have a CU");
            }
            if !cell.is_split {
                return refuse("a cell that is not split has no CU: set `split`");
            }
            if cell.base_station.is_some() {
                return refuse("carriers of several DUs cannot be aggregated: omit `base_station`, or `cu`");
            }
            if usize::from(places[number].local) > MAX_DUS {
                return refuse("a CU has at most 64 DUs");
            }
            if cell.radio.tc != first.radio.tc {
                return refuse("traffic control is that of the CU-UP: it must be the same in all of its cells");
            }
        }
        Ok(())
    }

    /// The first UE that has no place in its cell, if no UE is handed over.
    fn first_without_place(&self) -> Option<usize> {
        let mut in_order: Vec<usize> = (0..self.ues.len()).collect();
        in_order.sort_by_key(|number| self.ues[*number].arrives);
        // the times at which the used places of a cell become free
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

    fn ue(&self, number: usize, ue: &UeScenario, network: &Network, sites: &Deployment) -> Result<Ue, ScenarioError> {
        if ue.cell >= network.cells() {
            return Err(ScenarioError::Place(number, HandoverError::UnknownCell));
        }
        let cell = network.cell(ue.cell);
        let mut random = Random::new(self.seed, number as u64);
        let channel = match &ue.channel {
            ChannelScenario::Mcs(mcs) => {
                let of = |direction| (cell.adaptation(direction), *mcs);
                let count = cell
                    .adaptation(Direction::Downlink)
                    .mcs_count()
                    .min(cell.adaptation(Direction::Uplink).mcs_count());
                if *mcs >= count {
                    return Err(ScenarioError::Mcs(number, count - 1));
                }
                Channel::Fixed(Fixed::mcs(of(Direction::Downlink), of(Direction::Uplink)))
            }
            ChannelScenario::Sinr(dl_db, ul_db) => Channel::Fixed(Fixed::sinr(*dl_db, *ul_db)),
            ChannelScenario::Trace(trace) => Channel::Trace(trace.clone()),
            ChannelScenario::Geometry { .. } | ChannelScenario::Track { .. } => {
                let geometry = self.geometry(ue, sites, &mut random);
                Channel::Geometry(Box::new(geometry.map_err(|error| ScenarioError::Geometry(number, error))?))
            }
        };
        let address = address(number);
        let mut new = Ue::new(number as u64, ue.subscription, address, channel, random, cell.config());
        new.set_max_carriers(ue.max_carriers);
        for flow in &ue.flows {
            let start = flow.specification.start.max(ue.arrives);
            let specification = FlowSpecification { start, ..flow.specification.clone() };
            specification.check().map_err(|error| ScenarioError::Flow(number, error))?;
            let (source_port, destination_port) = flow.ports;
            let protocol = if specification.kind.is_tcp() { FiveTuple::TCP } else { FiveTuple::UDP };
            let tuple = FiveTuple { source: SERVER, destination: address, source_port, destination_port, protocol };
            new.add_flow(|id, random| Flow::new(id, specification, tuple, random));
        }
        Ok(new)
    }
}

/// The reason why a scenario is invalid. Cells and UEs are counted from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The number of cells is out of range.
    Cells,
    /// Too many UEs.
    Ues,
    /// The timeline is not in the order of time.
    Timeline,
    /// The speed is out of range.
    Speed,
    /// A cell cannot be one of the base station that it names; why.
    BaseStation(usize, &'static str),
    /// A cell cannot be one of the CU that it names; why.
    Cu(usize, &'static str),
    /// The carrier of a cell is invalid.
    Carrier(usize, CarrierError),
    /// The uplink power control of a cell is invalid.
    PowerControl(usize, GeometryError),
    /// The power model of a cell is invalid.
    Power(usize, PowerModelError),
    /// The traffic control of a cell is invalid.
    TrafficControl(usize, tc::ConfigurationError),
    /// A UE cannot be in its cell.
    Place(usize, HandoverError),
    /// The MCS of a UE is out of range; the largest MCS of its cell.
    Mcs(usize, u8),
    /// What the sites have in common is invalid.
    Deployment(GeometryError),
    /// The position or motion of a UE is invalid.
    Geometry(usize, GeometryError),
    /// A flow of a UE is invalid.
    Flow(usize, OutOfRange),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Cells => write!(f, "number of cells is out of range 1 to {MAX_CELLS}"),
            ScenarioError::Ues => write!(f, "too many UEs: at most {MAX_UES} are allowed"),
            ScenarioError::Timeline => f.write_str("timeline is not in the order of time"),
            ScenarioError::Speed => f.write_str("speed is out of range 0.001 to 1000"),
            ScenarioError::BaseStation(cell, why) => write!(f, "base station of cell {cell}: {why}"),
            ScenarioError::Cu(cell, why) => write!(f, "CU of cell {cell}: {why}"),
            ScenarioError::Carrier(cell, error) => write!(f, "cell {cell}: {error}"),
            ScenarioError::PowerControl(cell, error) => write!(f, "power control of cell {cell}: {error}"),
            ScenarioError::Power(cell, error) => write!(f, "power model of cell {cell}: {error}"),
            ScenarioError::TrafficControl(cell, error) => write!(f, "traffic control of cell {cell}: {error}"),
            ScenarioError::Place(ue, error) => write!(f, "UE {ue}: {error}"),
            ScenarioError::Mcs(ue, last) => write!(f, "UE {ue}: MCS is out of range 0 to {last} of its cell"),
            ScenarioError::Deployment(error) => write!(f, "deployment: {error}"),
            ScenarioError::Geometry(ue, error) => write!(f, "UE {ue}: {error}"),
            ScenarioError::Flow(ue, error) => write!(f, "a flow of UE {ue}: {error}"),
        }
    }
}

impl std::error::Error for ScenarioError {}
