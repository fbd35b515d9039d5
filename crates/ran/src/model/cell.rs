//! A cell: 40 MHz of band n78 in time division, stepped as a whole.

use std::ops::{AddAssign, Sub};

use super::quota::{Quotas, share_out_within};
use super::scheduler::Demand;
use super::ue::Ue;
use super::usage::Usage;

/// Resource blocks: 40 MHz at 30 kHz (TS 38.101-1 table 5.3.2-1).
pub const PRBS: u32 = 106;
/// Slots of 0.5 ms, and the share of them in each direction: DDDSU, with the special slot for the downlink mostly.
pub const SLOTS_PER_S: f64 = 2000.0;
pub const DOWNLINK_SHARE: f64 = 0.7;
pub const UPLINK_SHARE: f64 = 0.25;
/// Users are busier now and then: by half, over two minutes.
const WAVE_S: f64 = 120.0;
const WAVE_DEPTH: f64 = 0.5;

/// What was counted of a UE, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Steps, each UE's.
    pub ue_steps: u64,
    /// Blocks that were given, each step anew.
    pub downlink_prbs: u64,
    pub uplink_prbs: u64,
    /// Steps with something to send.
    pub downlink_active: u64,
    pub uplink_active: u64,
    pub downlink_bits: f64,
    pub uplink_bits: f64,
    /// What the bits sent had waited, summed up.
    pub downlink_bit_seconds: f64,
    pub downlink_came_bits: f64,
    pub downlink_dropped_bits: f64,
    pub uplink_lost_bits: f64,
    /// Of all steps, summed up.
    pub cqi: u64,
    pub sinr_db: f64,
    pub rsrp_dbm: f64,
}

/// Steps with each CQI, 0 to 15.
pub type Cqis = [u64; 16];

macro_rules! each_counter {
    ($do:ident) => {
        $do!(
            ue_steps,
            downlink_prbs,
            uplink_prbs,
            downlink_active,
            uplink_active,
            downlink_bits,
            uplink_bits,
            downlink_bit_seconds,
            downlink_came_bits,
            downlink_dropped_bits,
            uplink_lost_bits,
            cqi,
            sinr_db,
            rsrp_dbm
        )
    };
}

impl Sub for Counters {
    type Output = Counters;
    fn sub(self, before: Counters) -> Counters {
        macro_rules! difference {
            ($($name:ident),*) => { Counters { $($name: self.$name - before.$name),* } };
        }
        each_counter!(difference)
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        macro_rules! sum {
            ($($name:ident),*) => { $(self.$name += other.$name;)* };
        }
        each_counter!(sum);
    }
}

/// A cell and its UEs.
#[derive(Clone, Debug)]
pub struct Cell {
    step_s: f64,
    steps: u64,
    /// Where in the wave of activity it began.
    phase: f64,
    /// Those that it has or has had, in the order of their coming.
    ues: Vec<Ue>,
    is_here: Vec<bool>,
    counters: Vec<Counters>,
    cqis: Vec<Cqis>,
    /// The counters before the last step.
    before: Vec<Counters>,
    demands: Vec<Demand>,
    grants: Vec<u32>,
    is_locked: bool,
    downlink_quotas: Quotas,
    uplink_quotas: Quotas,
    downlink_usage: Usage,
    uplink_usage: Usage,
}

impl Cell {
    /// Cell `number` of the RAN of that seed.
    pub fn new(seed: u64, number: u16, ues: u16, step_ms: u32) -> Self {
        let step_s = f64::from(step_ms) / 1e3;
        let first = u64::from(number) << 16;
        let ues: Vec<Ue> = (0..u64::from(ues)).map(|ue| Ue::new(seed, first + ue, step_s)).collect();
        Cell {
            step_s,
            steps: 0,
            phase: f64::from(number) * 0.37,
            counters: vec![Counters::default(); ues.len()],
            cqis: vec![Cqis::default(); ues.len()],
            before: vec![Counters::default(); ues.len()],
            demands: vec![Demand::default(); ues.len()],
            grants: vec![0; ues.len()],
            is_here: vec![true; ues.len()],
            ues,
            is_locked: false,
            downlink_quotas: Quotas::default(),
            uplink_quotas: Quotas::default(),
            downlink_usage: Usage::default(),
            uplink_usage: Usage::default(),
        }
    }

    /// Steps since it began.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub fn step_s(&self) -> f64 {
        self.step_s
    }

    /// The UEs that it has or has had.
    pub fn ues(&self) -> &[Ue] {
        &self.ues
    }

    /// A UE that it has.
    pub fn ue(&self, at: usize) -> Option<&Ue> {
        self.ues.get(at).filter(|_| self.is_here[at])
    }

    /// The same, to be changed.
    pub fn ue_mut(&mut self, at: usize) -> Option<&mut Ue> {
        self.ues.get_mut(at).filter(|_| self.is_here[at])
    }

    /// The places of the UEs that it has.
    pub fn here(&self) -> impl Iterator<Item = usize> {
        self.is_here.iter().enumerate().filter(|(_, is_here)| **is_here).map(|(at, _)| at)
    }

    /// A UE leaves. What was counted of it stays.
    pub fn leave(&mut self, at: usize) -> Option<Ue> {
        let ue = self.ue(at)?.clone();
        self.is_here[at] = false;
        Some(ue)
    }

    /// A UE comes.
    pub fn arrive(&mut self, mut ue: Ue) {
        ue.arrive(self.steps as f64 * self.step_s, self.step_s);
        self.ues.push(ue);
        self.is_here.push(true);
        self.counters.push(Counters::default());
        self.cqis.push(Cqis::default());
        self.before.push(Counters::default());
        self.demands.push(Demand::default());
        self.grants.push(0);
    }

    /// The UEs' counters, in their order.
    pub fn counters(&self) -> &[Counters] {
        &self.counters
    }

    /// How often each CQI was reported, of the UEs in their order.
    pub fn cqis(&self) -> &[Cqis] {
        &self.cqis
    }

    /// What was counted of a UE in the last step.
    pub fn last_step(&self, ue: usize) -> Counters {
        match (self.counters.get(ue), self.before.get(ue)) {
            (Some(now), Some(before)) => *now - *before,
            _ => Counters::default(),
        }
    }

    /// How often which share of the blocks was given, downlink and uplink.
    pub fn usage(&self) -> (&Usage, &Usage) {
        (&self.downlink_usage, &self.uplink_usage)
    }

    /// Whether it serves nobody.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Has it serve nobody, or again. The UEs have no other cell to go to: they stay, and nothing moves.
    pub fn set_locked(&mut self, is_locked: bool) {
        self.is_locked = is_locked;
    }

    /// Shares its blocks out otherwise from the next step on.
    pub fn set_quotas(&mut self, downlink: Quotas, uplink: Quotas) {
        (self.downlink_quotas, self.uplink_quotas) = (downlink, uplink);
    }

    /// One step.
    pub fn step(&mut self) {
        self.before.copy_from_slice(&self.counters);
        if self.is_locked {
            self.steps += 1;
            return;
        }
        let Cell { step_s, ues, is_here, counters, demands, grants, downlink_quotas, uplink_quotas, .. } = self;
        let (downlink_usage, uplink_usage) = (&mut self.downlink_usage, &mut self.uplink_usage);
        let step_s = *step_s;
        let now_s = self.steps as f64 * step_s;
        let wave = ((now_s / WAVE_S + self.phase) * std::f64::consts::TAU).sin();
        let activity = 1.0 + WAVE_DEPTH * wave;
        let here = self.cqis.iter_mut().zip(is_here.iter()).filter(|(_, is_here)| **is_here);
        for ((ue, counters, _), (cqis, _)) in present(ues, counters, is_here, grants).zip(here) {
            let came = ue.begin(now_s, step_s, activity);
            counters.ue_steps += 1;
            counters.downlink_came_bits += came.downlink_bits;
            counters.downlink_dropped_bits += came.expired_bits;
            counters.cqi += u64::from(ue.cqi());
            cqis[usize::from(ue.cqi())] += 1;
            counters.sinr_db += ue.sinr_db();
            counters.rsrp_dbm += ue.rsrp_dbm();
        }

        let slots = SLOTS_PER_S * DOWNLINK_SHARE * step_s;
        for ((demand, ue), is_here) in demands.iter_mut().zip(ues.iter_mut()).zip(is_here.iter()) {
            *demand = if *is_here { ue.demand_downlink(slots, now_s, step_s) } else { Demand::default() };
        }
        share_out_within(downlink_quotas, PRBS, ues, demands, grants);
        downlink_usage.count(grants.iter().sum(), PRBS);
        for (ue, counters, blocks) in present(ues, counters, is_here, grants) {
            let sent = ue.send_downlink(blocks, now_s, step_s);
            counters.downlink_prbs += u64::from(blocks);
            counters.downlink_active += u64::from(sent.active);
            counters.downlink_bits += sent.bits;
            counters.downlink_bit_seconds += sent.bit_seconds;
        }

        let slots = SLOTS_PER_S * UPLINK_SHARE * step_s;
        for ((demand, ue), is_here) in demands.iter_mut().zip(ues.iter_mut()).zip(is_here.iter()) {
            *demand = if *is_here { ue.demand_uplink(slots, step_s) } else { Demand::default() };
        }
        share_out_within(uplink_quotas, PRBS, ues, demands, grants);
        uplink_usage.count(grants.iter().sum(), PRBS);
        for (ue, counters, blocks) in present(ues, counters, is_here, grants) {
            let sent = ue.send_uplink(blocks, now_s, step_s);
            counters.uplink_prbs += u64::from(blocks);
            counters.uplink_active += u64::from(sent.active);
            counters.uplink_bits += sent.bits;
            counters.uplink_lost_bits += sent.lost_bits;
        }
        self.steps += 1;
    }
}

/// The UEs that are there, with what is counted of them and the blocks that they were given.
fn present<'c>(
    ues: &'c mut [Ue],
    counters: &'c mut [Counters],
    is_here: &'c [bool],
    grants: &'c [u32],
) -> impl Iterator<Item = (&'c mut Ue, &'c mut Counters, u32)> {
    let all = ues.iter_mut().zip(counters).zip(is_here).zip(grants);
    all.filter(|((_, is_here), _)| **is_here).map(|(((ue, counters), _), blocks)| (ue, counters, *blocks))
}
