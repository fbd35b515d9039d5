//! The loop in steps: the model stands until the xApp has decided, so that a run is the same on every machine.

use std::time::{Duration, Instant};

use anyhow::bail;
use ferric::link;
use radio::{DelegationCounts, Network};
use ran::{Ran, RanConfig};

use super::{SLOT, SUBSCRIPTIONS, Scheduler, scenario};
use crate::statistics::fairness;
use crate::testbed::{PATIENCE, start_ric};

/// The slots before the measurement, in which averages settle.
const LEAD_SLOTS: u64 = 500;

/// What a scheduler has reached.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// The throughput of each UE, in Mbit/s.
    pub mbps: Vec<f64>,
    /// How decisions about slots went.
    pub counts: DelegationCounts,
}

impl Run {
    /// The throughput of the cell.
    pub fn cell_mbps(&self) -> f64 {
        self.mbps.iter().sum()
    }

    /// Jain's index of the UEs' throughput.
    pub fn fairness(&self) -> f64 {
        fairness(&self.mbps)
    }
}

/// Octets that the UEs have received.
fn received(network: &Network) -> Vec<u64> {
    let flows = network.cell(0).ues().map(|(_, ue)| ue.flows());
    flows.map(|flows| flows.iter().map(|flow| flow.counts().downlink.received_octets).sum()).collect()
}

/// Runs so many slots with the xApp, which decides so many slots ahead, or with the cell's own scheduler.
pub(super) fn run(seed: u64, slots: u64, delay_slots: Option<u64>) -> anyhow::Result<Run> {
    let (ric, addresses) = start_ric()?;
    let config = RanConfig {
        rics: vec![addresses.e2.clone()],
        scenario: scenario(seed)?,
        is_stepped: true,
        ..RanConfig::default()
    };
    let mut ran = Ran::new(config)?;
    let begun = Instant::now();
    while ran.up() == 0 {
        ran.poll(Some(Duration::from_millis(10)))?;
        if begun.elapsed() > PATIENCE {
            bail!("the node is not connected after {} s", PATIENCE.as_secs());
        }
    }
    let mut xapp = match delay_slots {
        Some(delay_slots) => {
            let waker = ran.waker()?;
            Some(Scheduler::start(&addresses.xapp, delay_slots, &link::Config::default(), Some(waker))?)
        }
        None => None,
    };
    if let Some(xapp) = &mut xapp {
        xapp.serve(&mut ran, |progress| progress.subscribed == SUBSCRIPTIONS)?;
    }
    let mut before = Vec::new();
    for slot in 1..=LEAD_SLOTS + slots {
        ran.step(SLOT)?;
        if let Some(xapp) = &mut xapp {
            xapp.serve(&mut ran, |progress| progress.settled >= slot)?;
        }
        if slot == LEAD_SLOTS {
            before = received(&ran.network());
        }
    }
    let seconds = slots as f64 * SLOT.as_secs_f64();
    let mbps = |(now, before): (u64, &u64)| (now - before) as f64 * 8e-6 / seconds;
    let mbps = received(&ran.network()).into_iter().zip(&before).map(mbps).collect();
    let counts = ran.network().cell(0).delegation_counts();
    drop(xapp.map(Scheduler::end).transpose()?);
    drop(ran);
    ric.end()?;
    Ok(Run { mbps, counts })
}
