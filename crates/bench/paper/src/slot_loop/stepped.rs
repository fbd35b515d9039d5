//! The loop in steps: the model stands until the xApp has decided, so that a run is the same on every machine.

use std::time::{Duration, Instant};

use anyhow::bail;
use ferric::agent::AgentWaker;
use ferric::link::{self, Address};
use radio::{DelegationCounts, Network};
use ran::{Ran, RanConfig};

use super::{SLOT, SUBSCRIPTIONS, Scheduler, scenario};
use crate::statistics::fairness;
use crate::testbed::{PATIENCE, Part, start_ric};

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

/// A RAN in steps behind a RIC, with the xApp or with the cell's own scheduler.
pub(super) struct SteppedLoop {
    pub ran: Ran,
    pub xapp: Option<Scheduler>,
    ric: Part<()>,
    /// The slots since the xApp has subscribed.
    slots: u64,
}

impl SteppedLoop {
    /// Starts all parts. The xApp decides so many slots ahead.
    pub fn start(seed: u64, delay_slots: Option<u64>) -> anyhow::Result<Self> {
        let start = |delay_slots| {
            move |ric: &Address, waker| Scheduler::start(ric, delay_slots, &link::Config::default(), Some(waker))
        };
        SteppedLoop::start_with(seed, delay_slots.map(start))
    }

    /// Starts all parts, of which `start` starts the xApp.
    pub fn start_with(
        seed: u64,
        start: Option<impl FnOnce(&Address, AgentWaker) -> anyhow::Result<Scheduler>>,
    ) -> anyhow::Result<Self> {
        let (ric, addresses) = start_ric()?;
        let (rics, scenario) = (vec![addresses.e2.clone()], scenario(seed)?);
        let mut ran = Ran::new(RanConfig { rics, scenario, is_stepped: true, ..RanConfig::default() })?;
        let begun = Instant::now();
        while ran.up() == 0 {
            ran.poll(Some(Duration::from_millis(10)))?;
            if begun.elapsed() > PATIENCE {
                bail!("the node is not connected after {} s", PATIENCE.as_secs());
            }
        }
        let mut xapp = None;
        if let Some(start) = start {
            let mut started = start(&addresses.xapp, ran.waker()?)?;
            started.serve(&mut ran, |progress| progress.subscribed == SUBSCRIPTIONS)?;
            xapp = Some(started);
        }
        Ok(SteppedLoop { ran, xapp, ric, slots: 0 })
    }

    /// Runs a slot, and waits until the xApp has answered its report.
    pub fn step(&mut self) -> anyhow::Result<()> {
        self.ran.step(SLOT)?;
        self.slots += 1;
        let slots = self.slots;
        match &mut self.xapp {
            Some(xapp) => xapp.serve(&mut self.ran, |progress| progress.settled >= slots),
            None => Ok(()),
        }
    }

    /// Ends all parts.
    pub fn end(self) -> anyhow::Result<()> {
        let SteppedLoop { ran, xapp, ric, .. } = self;
        xapp.map(Scheduler::end).transpose()?;
        drop(ran);
        ric.end()
    }
}

/// Runs so many slots with the xApp, which decides so many slots ahead, or with the cell's own scheduler.
pub(super) fn run(seed: u64, slots: u64, delay_slots: Option<u64>) -> anyhow::Result<Run> {
    measure(SteppedLoop::start(seed, delay_slots)?, slots)
}

/// Runs so many slots of a loop that has been started.
pub(super) fn measure(mut running: SteppedLoop, slots: u64) -> anyhow::Result<Run> {
    (0..LEAD_SLOTS).try_for_each(|_| running.step())?;
    let before = received(&running.ran.network());
    (0..slots).try_for_each(|_| running.step())?;
    let seconds = slots as f64 * SLOT.as_secs_f64();
    let mbps = |(now, before): (u64, &u64)| (now - before) as f64 * 8e-6 / seconds;
    let mbps = received(&running.ran.network()).into_iter().zip(&before).map(mbps).collect();
    let counts = running.ran.network().cell(0).delegation_counts();
    running.end()?;
    Ok(Run { mbps, counts })
}
