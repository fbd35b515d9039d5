//! A UE: its channel, its traffic, its queues, and one step of its life.

use e2sm::common::{FiveQi, SNssai, Sst};

use super::channel::Channel;
use super::link_table::{bits_per_block, block_error_rate, cqi};
use super::queue::Queue;
use super::random::Random;
use super::scheduler::Demand;
use super::traffic::{Profile, Traffic, Waiting};

/// Time constant of what a UE got of late, in seconds.
const MEMORY_S: f64 = 1.0;
/// The least that it counts as, in bits a second: who got nothing for long comes first, but not without measure.
const LEAST_BPS: f64 = 50e3;
/// From the air interface to the other end, without waiting: two slots to schedule and to send, in seconds.
const AIR_S: f64 = 0.001;
/// Until a block that was not understood is there again, in seconds.
const RETRANSMISSION_S: f64 = 0.004;
/// Transmissions of a block; then it is lost.
const TRANSMISSIONS: i32 = 4;
/// A steady flow's data is useless after this, in seconds.
const DEADLINE_S: f64 = 0.3;
/// What a server sends before it hears of the other end, and how long it takes to hear: it keeps as much on the way as
/// went through meanwhile.
const FIRST_WINDOW_BITS: f64 = 0.4e6;
const ROUND_TRIP_S: f64 = 0.04;
/// How much more a bearer with a priority counts than the default one.
const PRIORITY: f64 = 4.0;
/// The default bearer.
const DEFAULT_DRB: u8 = 1;
/// The default priority levels of 5QIs (TS 23.501 table 5.7.4-1).
const PRIORITY_LEVELS: [(u8, u8); 9] =
    [(1, 20), (2, 40), (3, 30), (4, 50), (5, 10), (6, 60), (7, 70), (8, 80), (9, 90)];
/// How much a priority level can count against the default one, either way.
const MAX_PREFERENCE: f64 = 10.0;
/// Spatial layers.
pub const DOWNLINK_LAYERS: f64 = 2.0;
const UPLINK_LAYERS: f64 = 1.0;

/// One direction of a UE's radio link.
#[derive(Clone, Debug)]
pub struct Direction {
    layers: f64,
    pub(super) queue: Queue,
    /// The CQI that the scheduler goes by: that of the step before.
    cqi: u8,
    sinr_db: f64,
    mean_bps: f64,
    /// Bits that a block carries in this step, before errors.
    block_bits: f64,
}

/// What one direction did in a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub bits: f64,
    pub bit_seconds: f64,
    /// Whether there was anything to send.
    pub active: bool,
    /// Bits that were given up after all transmissions.
    pub lost_bits: f64,
}

impl Direction {
    fn new(layers: f64, sinr_db: f64) -> Self {
        Direction { layers, queue: Queue::default(), cqi: cqi(sinr_db), sinr_db, mean_bps: LEAST_BPS, block_bits: 0.0 }
    }

    /// The CQI that the scheduler goes by.
    pub fn cqi(&self) -> u8 {
        self.cqi
    }

    pub fn sinr_db(&self) -> f64 {
        self.sinr_db
    }

    /// The share of blocks that are not understood.
    pub fn block_error_rate(&self) -> f64 {
        block_error_rate(self.cqi, self.sinr_db)
    }

    /// Bits that wait to be sent.
    pub fn waiting_bits(&self) -> f64 {
        self.queue.bits()
    }

    /// When the oldest of what waits came.
    pub fn oldest_s(&self) -> Option<f64> {
        self.queue.oldest_s()
    }

    /// The demand on a step of `slots` slots.
    fn demand(&mut self, slots: f64, step_s: f64) -> Demand {
        self.block_bits = bits_per_block(self.cqi) * self.layers * slots;
        let waiting = self.queue.bits();
        if waiting <= 0.0 || self.block_bits <= 0.0 {
            return Demand::default();
        }
        let weight = self.block_bits / step_s / self.mean_bps.max(LEAST_BPS);
        Demand { weight, blocks: (waiting / self.block_bits).ceil().min(1e6) as u32 }
    }

    fn send(&mut self, blocks: u32, now_s: f64, step_s: f64) -> Sent {
        let active = self.queue.bits() > 0.0;
        let mut sent = Sent { active, ..Sent::default() };
        if blocks > 0 {
            let errors = block_error_rate(self.cqi, self.sinr_db);
            let taken = self.queue.take(now_s, f64::from(blocks) * self.block_bits * (1.0 - errors));
            sent.lost_bits = taken.bits * errors.powi(TRANSMISSIONS);
            sent.bits = taken.bits;
            let retransmissions = errors / (1.0 - errors);
            sent.bit_seconds = taken.bit_seconds + taken.bits * (AIR_S + retransmissions * RETRANSMISSION_S);
        }
        let share = (step_s / MEMORY_S).min(1.0);
        self.mean_bps += share * (sent.bits / step_s - self.mean_bps);
        sent
    }

    /// The channel went on; the scheduler hears of it for the next step.
    fn measure(&mut self, sinr_db: f64) {
        self.cqi = cqi(self.sinr_db);
        self.sinr_db = sinr_db;
    }
}

/// A UE.
#[derive(Clone, Debug)]
pub struct Ue {
    number: u64,
    random: Random,
    channel: Channel,
    traffic: Traffic,
    pub downlink: Direction,
    pub uplink: Direction,
    slice: [SNssai; 1],
    five_qi: [FiveQi; 1],
    drx: Option<Drx>,
    /// Its flow.
    qfi: u8,
    /// The bearer that its flow goes over.
    drb: u8,
    /// How much it counts for its bearer's priority level.
    preference: f64,
}

/// Discontinuous reception: a UE that has been sent all there was sleeps until its cycle begins anew.
#[derive(Clone, Copy, Debug)]
struct Drx {
    cycle_s: f64,
    is_awake: bool,
}

/// What came and what was thrown away in a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Came {
    pub downlink_bits: f64,
    pub expired_bits: f64,
}

impl Ue {
    /// The UE with that number in the RAN of that seed.
    pub fn new(seed: u64, number: u64, step_s: f64) -> Self {
        let mut random = Random::new(seed, number);
        let channel = Channel::new(step_s, &mut random);
        let traffic = Traffic::new(&mut random);
        // eMBB, and what has to be in time on URLLC (TS 23.501 5.15.2.2); 5QIs of TS 23.501 5.7.4
        let (sst, five_qi) = match traffic.profile() {
            Profile::Idle | Profile::Web => (1, 9),
            Profile::Video => (1, 6),
            Profile::Steady => (2, 3),
        };
        Ue {
            number,
            downlink: Direction::new(DOWNLINK_LAYERS, channel.sinr_db()),
            uplink: Direction::new(UPLINK_LAYERS, channel.uplink_sinr_db()),
            random,
            channel,
            traffic,
            slice: [SNssai { sst: Sst([sst]), sd: None }],
            five_qi: [FiveQi(five_qi)],
            drx: None,
            qfi: five_qi,
            drb: DEFAULT_DRB,
            preference: 1.0,
        }
    }

    /// Its number in the RAN.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// It has come to another cell: another channel. What waited for it is there already.
    pub fn arrive(&mut self, now_s: f64, step_s: f64) {
        self.channel = Channel::new(step_s, &mut self.random);
        for direction in [&mut self.downlink, &mut self.uplink] {
            // times of the cell that it comes from mean nothing here
            let bits = direction.queue.bits();
            direction.queue = Queue::default();
            direction.queue.push(now_s, bits);
        }
    }

    /// Has it listen once in so many seconds while nothing comes; `None`: always.
    pub fn set_drx(&mut self, cycle_s: Option<f64>) {
        self.drx = cycle_s.map(|cycle_s| Drx { cycle_s, is_awake: true });
    }

    /// Has its flow go over that bearer; each but the default one has a priority.
    pub fn set_drb(&mut self, drb: u8) {
        self.drb = drb;
    }

    /// Has its bearer be of another 5QI, or of a priority level of its own: as much as that is below the level which the
    /// first 5QI has by itself, its data counts more. `None` where nothing is known of that 5QI.
    pub fn set_qos(&mut self, five_qi: Option<u8>, priority_level: Option<u8>) -> Option<()> {
        let level_of =
            |five_qi: u8| PRIORITY_LEVELS.iter().find(|(known, _)| *known == five_qi).map(|(_, level)| *level);
        let own = level_of(self.qfi)?;
        let of_five_qi = five_qi.map(level_of);
        let level = match (priority_level, of_five_qi) {
            (_, Some(None)) => return None,
            (Some(level), _) | (None, Some(Some(level))) => level,
            (None, None) => return Some(()),
        };
        self.five_qi = [FiveQi(five_qi.unwrap_or(self.five_qi[0].0))];
        self.preference = (f64::from(own) / f64::from(level.max(1))).clamp(1.0 / MAX_PREFERENCE, MAX_PREFERENCE);
        Some(())
    }

    /// The bearer that its flow goes over.
    pub fn drb(&self) -> u8 {
        self.drb
    }

    /// Its flow, whose identifier is the 5QI that it began with.
    pub fn qfi(&self) -> u8 {
        self.qfi
    }

    /// A step begins: the channel goes on, traffic comes.
    pub fn begin(&mut self, now_s: f64, step_s: f64, activity: f64) -> Came {
        self.channel.step(&mut self.random);
        self.downlink.measure(self.channel.sinr_db());
        self.uplink.measure(self.channel.uplink_sinr_db());
        let waiting = Waiting {
            downlink: self.downlink.queue.bits(),
            uplink: self.uplink.queue.bits(),
            window: FIRST_WINDOW_BITS + self.downlink.mean_bps * (ROUND_TRIP_S + 2.0 * step_s),
        };
        let arrivals = self.traffic.step(step_s, activity, waiting, &mut self.random);
        self.downlink.queue.push(now_s, arrivals.downlink);
        self.uplink.queue.push(now_s, arrivals.uplink);
        let mut expired_bits = 0.0;
        if self.traffic.profile() == Profile::Steady {
            expired_bits = self.downlink.queue.expire(now_s - DEADLINE_S);
            self.uplink.queue.expire(now_s - DEADLINE_S);
        }
        Came { downlink_bits: arrivals.downlink, expired_bits }
    }

    pub fn demand_downlink(&mut self, slots: f64, now_s: f64, step_s: f64) -> Demand {
        if let Some(drx) = &mut self.drx {
            let begins = now_s % drx.cycle_s < step_s;
            drx.is_awake = self.downlink.queue.bits() > 0.0 && (drx.is_awake || begins);
            if !drx.is_awake {
                return Demand::default();
            }
        }
        let mut demand = self.downlink.demand(slots, step_s);
        demand.weight *= self.preference;
        if self.drb != DEFAULT_DRB {
            demand.weight *= PRIORITY;
        }
        demand
    }

    pub fn demand_uplink(&mut self, slots: f64, step_s: f64) -> Demand {
        self.uplink.demand(slots, step_s)
    }

    pub fn send_downlink(&mut self, blocks: u32, now_s: f64, step_s: f64) -> Sent {
        self.downlink.send(blocks, now_s, step_s)
    }

    pub fn send_uplink(&mut self, blocks: u32, now_s: f64, step_s: f64) -> Sent {
        self.uplink.send(blocks, now_s, step_s)
    }

    /// The CQI that it last reported.
    pub fn cqi(&self) -> u8 {
        self.downlink.cqi
    }

    pub fn sinr_db(&self) -> f64 {
        self.downlink.sinr_db
    }

    pub fn rsrp_dbm(&self) -> f64 {
        self.channel.rsrp_dbm()
    }

    pub fn uplink_rsrp_dbm(&self) -> f64 {
        self.channel.uplink_rsrp_dbm()
    }

    pub fn slices(&self) -> &[SNssai] {
        &self.slice
    }

    pub fn five_qis(&self) -> &[FiveQi] {
        &self.five_qi
    }

    /// Whether its flow has a guaranteed bit rate (TS 23.501 5.7.4).
    pub fn has_guaranteed_rate(&self) -> bool {
        self.traffic.profile() == Profile::Steady
    }
}
