//! An xApp that schedules the downlink of cells slot by slot, proportional fair, over E2SM-LLC: each UE by what it could receive in
//! this slot over what it has received so far. Reports and decisions are ordinary indications and controls.
//!
//! `cargo run -p ferric-examples --bin slot_scheduler -- tcp://127.0.0.1:36423 [DELAY_SLOTS] [BLOCKS]`, with `ferric ric` and
//! `ferric ran --scenario examples/scenarios/slot-scheduling.toml` running

use std::error::Error;
use std::time::{Duration, Instant};

use use_cases::slots::{SlotConfig, SlotCounts, SlotPolicy, SlotShare, SlotUe, SlotXapp};

/// Bounds the priority of a UE that has received nothing, in octets per slot.
const MIN_AVERAGE_OCTETS: f64 = 1e-6;

/// Proportional fair: serves the UEs in the order of achievable rate over average rate, each completely.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProportionalFair;

impl SlotPolicy for ProportionalFair {
    fn decide(&mut self, ues: &[SlotUe], blocks: u16) -> Vec<SlotShare> {
        let metric = |ue: &SlotUe| ue.octets_per_block / ue.average_octets.max(MIN_AVERAGE_OCTETS);
        let has_data = |at: &usize| ues[*at].backlog_octets > 0 && ues[*at].octets_per_block > 0.0;
        let mut order: Vec<usize> = (0..ues.len()).filter(has_data).collect();
        order.sort_by(|a, b| metric(&ues[*b]).total_cmp(&metric(&ues[*a])));
        let (mut left, mut shares) = (blocks, Vec::new());
        for ue in order {
            // a conversion from f64 saturates
            let wanted = (ues[ue].backlog_octets as f64 / ues[ue].octets_per_block).ceil() as u16;
            let blocks = wanted.min(left);
            if blocks > 0 {
                shares.push(SlotShare { ue, blocks });
                left -= blocks;
            }
        }
        shares
    }
}

/// Schedules until `print` returns `false`; it receives a line each second.
pub fn run(ric: &str, config: SlotConfig, mut print: impl FnMut(String) -> bool) -> Result<(), Box<dyn Error>> {
    let mut xapp = SlotXapp::connect(&ric.parse()?, "slot-scheduler", config, ProportionalFair)?;
    let (mut printed, mut before) = (Instant::now(), SlotCounts::default());
    loop {
        xapp.poll(Some(Duration::from_millis(100)))?;
        if printed.elapsed() < Duration::from_secs(1) {
            continue;
        }
        let counts = xapp.counts();
        let (decided, accepted) = (counts.decided - before.decided, counts.accepted - before.accepted);
        let line = format!("{decided} decisions, {accepted} accepted, {} refused", counts.refused - before.refused);
        (printed, before) = (Instant::now(), counts);
        if !print(line) {
            return Ok(());
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let ric = arguments.next().unwrap_or("tcp://127.0.0.1:36423".into());
    let default = SlotConfig::default();
    let delay_slots = arguments.next().map_or(Ok(default.delay_slots), |delay| delay.parse())?;
    let blocks = arguments.next().map_or(Ok(default.blocks), |blocks| blocks.parse())?;
    run(&ric, SlotConfig { blocks, delay_slots, ..default }, |line| {
        println!("{line}");
        true
    })
}
