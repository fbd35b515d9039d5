//! A unit with its surroundings: the emulated cell runs slot by slot, and loses what the real-time threads have not processed in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ferric::agent::RanFunction;
use radio::phy::{Carrier, Direction};
use radio::{CellConfig, HarqConfig, Packet, Time};
use ran::scenario::{CellScenario, ChannelScenario};
use ran::{Ran, RanConfig, Scenario, Steps};

use crate::clock::Clock;
use crate::deadlines::{RESPONSE_SUBFRAMES, SUBFRAME_NS};
use crate::fronthaul::{self, Fronthaul};
use crate::idle::IdleLatency;
use crate::load::{Budget, LoadMeter};
use crate::network::Links;
use crate::pipeline::{self, Air, Calibration};
use crate::priority::set_fifo;
use crate::threads::{OUTSIDE_PRIORITY, ThreadStatus, Threads};
use crate::user_plane::{self, CellEnd, PACKET_OCTETS, UserPlaneCounts};
use crate::{Channel, Config, Error, Split, control_plane};

/// Subframes before the first deadline counts: threads and connections start.
const WARM_UP_SUBFRAMES: u64 = 100;
/// A slot of the cell is late if it runs more than this after its time.
const LATE_NS: u64 = SUBFRAME_NS;

/// The counters of a unit. All but the last two grow only.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Subframes whose deadline has been checked.
    pub subframes: u64,
    /// Subframes that were not processed within their 3 ms.
    pub misses: u64,
    /// Among them those that no thread had begun within that time.
    pub given_up: u64,
    /// Downlink transmissions of the cell.
    pub transmissions: u64,
    /// Downlink transmissions that UEs have answered with a NACK, whatever the reason.
    pub nacks: u64,
    /// Those that were lost since their subframe was missed.
    pub nacks_of_misses: u64,
    /// Octets of IP packets that UEs have received.
    pub dl_octets: u64,
    /// Octets of IP packets that the cell has received from UEs.
    pub ul_octets: u64,
    /// Packets that the core has sent and received through GTP tunnels.
    pub core_sent: u64,
    /// Packets that the core has received.
    pub core_received: u64,
    /// Packets and datagrams that the unit has dropped or refused.
    pub dropped: u64,
    /// Answers of the MME.
    pub s1_answers: u64,
    /// Slots that the cell itself has run more than 1 ms late: the host was too busy for the surroundings of the unit.
    pub late_slots: u64,
    /// The least time by which a processed subframe was before its deadline, in us; negative if it was late.
    pub least_slack_us: f64,
    /// The share of the downlink's resource blocks that is used, 0 to 1.
    pub dl_load: f64,
}

impl Counts {
    /// What has happened since an earlier moment. The last two values are those of this moment.
    #[must_use]
    pub fn since(self, before: Counts) -> Counts {
        Counts {
            subframes: self.subframes - before.subframes,
            misses: self.misses - before.misses,
            given_up: self.given_up - before.given_up,
            transmissions: self.transmissions - before.transmissions,
            nacks: self.nacks - before.nacks,
            nacks_of_misses: self.nacks_of_misses - before.nacks_of_misses,
            dl_octets: self.dl_octets - before.dl_octets,
            ul_octets: self.ul_octets - before.ul_octets,
            core_sent: self.core_sent - before.core_sent,
            core_received: self.core_received - before.core_received,
            dropped: self.dropped - before.dropped,
            s1_answers: self.s1_answers - before.s1_answers,
            late_slots: self.late_slots - before.late_slots,
            ..self
        }
    }

    /// The throughput of the downlink in Mbit/s, over the subframes that were counted.
    #[must_use]
    pub fn dl_mbps(&self) -> f64 {
        self.dl_octets as f64 * 8.0 / 1000.0 / self.subframes.max(1) as f64
    }

    /// The throughput of the uplink in Mbit/s.
    #[must_use]
    pub fn ul_mbps(&self) -> f64 {
        self.ul_octets as f64 * 8.0 / 1000.0 / self.subframes.max(1) as f64
    }
}

/// What the unit is at a moment: what a service model of its CPU state reports.
#[derive(Clone, Debug)]
pub struct UnitStatus {
    /// Its threads.
    pub threads: Vec<ThreadStatus>,
    /// The CPUs that at least one of them may use.
    pub cpus: Vec<usize>,
    /// Its counters.
    pub counts: Counts,
}

/// A running unit. It is created, stepped and dropped on one thread, which is the emulated cell's.
pub struct Unit {
    ran: Ran,
    steps: Steps,
    air: Arc<Air>,
    meter: LoadMeter,
    threads: Threads,
    cell: CellEnd,
    user_plane: Arc<UserPlaneCounts>,
    s1_answers: Arc<AtomicU64>,
    calibration: Calibration,
    uplink: Uplink,
    ues: u32,
    /// Whether the unit has the HARQ loop.
    has_harq: bool,
    /// The next slot of the cell.
    slot: u64,
    counts: Counts,
    /// The counters of the cell at the end of the warm-up.
    before: Counts,
    /// What idle CPUs are requested, or why they are not.
    idle: std::io::Result<IdleLatency>,
    /// After the threads: their sockets are in its namespaces.
    _links: Links,
}

/// What UEs send: packets of a constant bit rate.
struct Uplink {
    mbps: f64,
    due_octets: f64,
    ue: u32,
}

fn scenario(config: &Config) -> Scenario {
    let carrier = Carrier { bandwidth_mhz: config.bandwidth_mhz, ..Carrier::lte() };
    // eight processes, and four subframes from a transmission to its answer (TS 36.213 7 and 7.3.1)
    let harq = HarqConfig { processes: 8, transmissions: 4, decoding_slots: 4, round_trip_slots: 8 };
    let mut scenario = Scenario::without_traffic(config.ues);
    let channel = match config.channel {
        Channel::Mcs(mcs) => ChannelScenario::Mcs(mcs),
        Channel::Sinr(down, up) => ChannelScenario::Sinr(down, up),
    };
    scenario.ues.iter_mut().for_each(|ue| ue.channel = channel.clone());
    let radio = CellConfig { carrier, harq, ..CellConfig::default() };
    scenario.cells = vec![CellScenario { radio, ..CellScenario::default() }];
    Scenario { seed: config.seed, ..scenario }
}

impl Unit {
    /// Measures the kernels, creates the links, and starts the threads and the cell.
    ///
    /// # Errors
    /// A value out of its range; a host without the permissions for namespaces and devices; where the system refuses threads or
    /// sockets. Without the right to real-time priorities the unit runs with ordinary ones: [`Unit::without_fifo`].
    pub fn start(config: Config) -> Result<Unit, Error> {
        config.check()?;
        let idle = IdleLatency::request(config.idle_exit_us);
        let calibration = Calibration::measure();
        let mut links = Links::open(config.place, config.unit, config.split)?;
        let steps = Steps::default();
        let ran = Ran::new(RanConfig {
            rics: config.rics.clone(),
            scenario: scenario(&config),
            steps: Some(steps.clone()),
            ..RanConfig::default()
        })?;
        let prbs = [Direction::Downlink, Direction::Uplink].map(|direction| ran.network().cell(0).prbs(direction));
        // in split 2 the machine at the cell's site has L1, L2 and HARQ
        let has_harq = config.split != Split::F1;
        let budget = Budget {
            full_us: if has_harq { config.full_load_us } else { 0.0 },
            prbs: (prbs[0], prbs[1]),
            is_transform_elsewhere: config.split == Split::Samples,
        };
        // threads that start now are ready by then
        let clock = Clock::after_ns(50 * SUBFRAME_NS);
        let air = Arc::new(Air::new(clock));
        let mut threads = Threads::new();
        let ues = u32::from(config.ues);
        let user_plane = Arc::<UserPlaneCounts>::default();
        let started = start_threads(&mut threads, &config, &mut links, &air, budget, calibration, &user_plane);
        let (cell, s1_answers) = match started {
            Ok(started) => started,
            Err(error) => {
                threads.stop();
                return Err(error);
            }
        };
        // this thread is the cell
        let fifo = set_fifo(OUTSIDE_PRIORITY);
        threads.without_fifo = threads.without_fifo.take().or(fifo.err());
        Ok(Unit {
            ran,
            steps,
            air,
            meter: LoadMeter::default(),
            threads,
            cell,
            user_plane,
            s1_answers,
            calibration,
            uplink: Uplink { mbps: config.uplink_mbps, due_octets: 0.0, ue: 0 },
            ues,
            has_harq,
            slot: 0,
            counts: Counts { least_slack_us: f64::INFINITY, ..Counts::default() },
            before: Counts::default(),
            idle,
            _links: links,
        })
    }

    /// The kernels' cost on this host.
    #[must_use]
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Why real-time threads have an ordinary priority; `None` if they have SCHED_FIFO.
    #[must_use]
    pub fn without_fifo(&self) -> Option<&std::io::Error> {
        self.threads.without_fifo.as_ref()
    }

    /// Why idle CPUs sleep as deeply as they like; `None` if they wake up within [`Config::idle_exit_us`].
    #[must_use]
    pub fn without_idle_limit(&self) -> Option<&std::io::Error> {
        self.idle.as_ref().err()
    }

    /// The threads of the unit, in the order of their start.
    #[must_use]
    pub fn threads(&self) -> &[ThreadStatus] {
        &self.threads.started
    }

    /// The E2 associations that are set up.
    #[must_use]
    pub fn connected_rics(&self) -> usize {
        self.ran.up()
    }

    /// Adds a RAN function to the cell's E2 node. It is called on the cell's thread, which has a slot of 1 ms, and must not block.
    ///
    /// # Errors
    /// If the node has a function with this id.
    pub fn add_function(&mut self, function: Box<dyn RanFunction>) -> Result<(), Error> {
        Ok(self.ran.add_function(0, function)?)
    }

    /// The counters since the end of the warm-up.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let now = self.read_counts();
        // no subframe has been processed
        let least_slack_us = if now.least_slack_us.is_finite() { now.least_slack_us } else { 0.0 };
        Counts { least_slack_us, ..now.since(self.before) }
    }

    /// Threads, CPUs and counters.
    #[must_use]
    pub fn status(&self) -> UnitStatus {
        let mut cpus: Vec<usize> = self.threads.started.iter().flat_map(ThreadStatus::cpus).collect();
        cpus.sort_unstable();
        cpus.dedup();
        UnitStatus { threads: self.threads.started.clone(), cpus, counts: self.counts() }
    }

    /// Holds all real-time threads for a time, as a host does that does not run them: for tests and demonstrations of misses.
    pub fn hold_real_time(&self, time: Duration) {
        let until = self.air.clock.now_ns() + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2);
        self.air.held_until_ns.store(until, Ordering::Release);
    }

    /// Waits for the next slot of the cell and runs it: one subframe of 1 ms. Serves the RICs.
    ///
    /// # Errors
    /// Where the system refuses to wait for events.
    pub fn step(&mut self) -> Result<(), Error> {
        let slot = self.slot;
        let begin_ns = slot * SUBFRAME_NS;
        self.air.clock.sleep_until(begin_ns);
        let is_warm = slot >= WARM_UP_SUBFRAMES;
        if slot == WARM_UP_SUBFRAMES {
            self.before = self.read_counts();
        }
        self.counts.late_slots += u64::from(is_warm && self.air.clock.now_ns() > begin_ns + LATE_NS);
        if is_warm && let Some(subframe) = slot.checked_sub(RESPONSE_SUBFRAMES) {
            self.check_deadline(subframe);
        }
        self.exchange_packets();
        self.slot += 1;
        self.steps.allow_until(Time::from_nanos(self.slot * SUBFRAME_NS));
        self.ran.poll(Some(Duration::ZERO))?;
        let load = self.meter.read(self.ran.network().cell(0));
        self.air.set_load(slot, load);
        Ok(())
    }

    /// The downlink of the next slot depends on the subframe four before it.
    fn check_deadline(&mut self, subframe: u64) {
        self.counts.subframes += 1;
        if !self.has_harq {
            return;
        }
        if let Some(slack) = self.air.deadlines.slack_ns(subframe) {
            self.counts.least_slack_us = self.counts.least_slack_us.min(slack as f64 / 1000.0);
        }
        if !self.air.deadlines.is_met(subframe) {
            self.counts.misses += 1;
            self.ran.network_mut().cell_mut(0).lose_next_downlink();
        }
    }

    /// Moves packets between the unit's tunnels and the UEs.
    fn exchange_packets(&mut self) {
        let mut network = self.ran.network_mut();
        let cell = network.cell_mut(0);
        let now = cell.now();
        let find = |cell: &radio::Cell, number: u32| {
            cell.ues().find(|(_, ue)| ue.number() == u64::from(number)).map(|(index, _)| index)
        };
        while let Ok((teid, octets)) = self.cell.downlink.try_recv() {
            let ue = teid.checked_sub(1).and_then(|number| find(cell, number)).and_then(|index| cell.ue_mut(index));
            if let (Some(ue), Some(packet)) = (ue, netns::parse_packet(&octets)) {
                ue.push_downlink(now, Packet { sent: now, entered: now, ..packet });
            }
        }
        let Uplink { mbps, due_octets, ue: next } = &mut self.uplink;
        *due_octets += *mbps * 1e6 / 8.0 * 1e-3;
        while *due_octets >= PACKET_OCTETS as f64 {
            *due_octets -= PACKET_OCTETS as f64;
            let octets = user_plane::packet(*next, false, PACKET_OCTETS);
            let ue = find(cell, *next).and_then(|index| cell.ue_mut(index));
            if let (Some(ue), Some(packet)) = (ue, netns::parse_packet(&octets)) {
                // a full buffer of the UE loses packets
                let _ = ue.push_uplink(now, Packet { sent: now, entered: now, ..packet });
            }
            *next = (*next + 1) % self.ues.max(1);
        }
        let indices: Vec<usize> = cell.ues().map(|(index, _)| index).collect();
        for index in indices {
            let Some(ue) = cell.ue_mut(index) else { continue };
            self.counts.dl_octets += ue.live_at_ue().map(|packet| u64::from(packet.octets)).sum::<u64>();
            let teid = ue.number() as u32 + 1; // at most as many as the configuration has
            for packet in ue.live_at_core() {
                self.counts.ul_octets += u64::from(packet.octets);
                if let radio::Content::Live(octets) = packet.content {
                    // the queue of the unit is full: the packet is lost
                    let _ = self.cell.uplink.try_send((teid, octets.into_vec()));
                }
            }
        }
    }

    fn read_counts(&self) -> Counts {
        let network = self.ran.network();
        let cell = network.cell(0);
        let (mut transmissions, mut nacks) = (0, 0);
        for (_, ue) in cell.ues() {
            let counts = ue.downlink().counts();
            (transmissions, nacks) = (transmissions + counts.transmissions, nacks + counts.failed_transmissions);
        }
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let UserPlaneCounts { dropped, refused, core_sent, core_received, .. } = &*self.user_plane;
        Counts {
            given_up: load(&self.air.given_up),
            transmissions,
            nacks,
            nacks_of_misses: cell.lost_transmissions(),
            core_sent: load(core_sent),
            core_received: load(core_received),
            dropped: load(dropped) + load(refused),
            s1_answers: load(&self.s1_answers),
            dl_load: cell.usage(Direction::Downlink).used_share(),
            ..self.counts
        }
    }
}

fn start_threads(
    threads: &mut Threads,
    config: &Config,
    links: &mut Links,
    air: &Arc<Air>,
    budget: Budget,
    calibration: Calibration,
    counts: &Arc<UserPlaneCounts>,
) -> Result<(CellEnd, Arc<AtomicU64>), Error> {
    let ues = u32::from(config.ues);
    let fronthaul = match links.samples.take() {
        None => None,
        Some(pair) => {
            let (unit, radio_unit) = (pair.unit_address, pair.peer_address);
            pair.unit
                .set_read_timeout(Some(crate::POLL))
                .map_err(Error::socket("limit the wait of the fronthaul's socket"))?;
            fronthaul::start_radio_unit(threads, air, pair.peer, unit, budget.prbs.0)?;
            Some(Fronthaul { socket: pair.unit, radio_unit, prbs: budget.prbs.0, send_errors: Arc::default() })
        }
    };
    pipeline::start(threads, air, budget, calibration, config.reads_per_subframe, fronthaul)?;
    let cell = user_plane::start(threads, &links.gtp, links.f1.take(), counts)?;
    let answers = control_plane::start(threads, &links.s1, ues)?;
    user_plane::start_core(threads, air.clock, &links.gtp, ues, config.downlink_mbps, counts)?;
    Ok((cell, answers))
}

impl Drop for Unit {
    fn drop(&mut self) {
        self.threads.stop();
    }
}
