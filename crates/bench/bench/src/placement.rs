//! The processors of the two ends of a round trip. Without pinning, the scheduler's choice of one or two processors would
//! determine the result.

use anyhow::{Context, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of two ends.
#[derive(Clone, Copy)]
pub(crate) struct Placement {
    near: usize,
    far: usize,
}

impl Placement {
    /// Both ends on one processor, and on two if there are two.
    pub fn all() -> anyhow::Result<Vec<Placement>> {
        let allowed = sched_getaffinity(None).context("cannot read the affinity of this program")?;
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let Some(near) = allowed.next() else { bail!("no processor is available to this program") };
        Ok([Some(near), allowed.next()].into_iter().flatten().map(|far| Placement { near, far }).collect())
    }

    /// The number of processors.
    pub fn processors(self) -> usize {
        if self.near == self.far { 1 } else { 2 }
    }

    /// Pins this thread, and those that it starts, to the near end's processor.
    pub fn near(self) -> anyhow::Result<()> {
        pin(self.near)
    }

    /// Pins this thread to the far end's processor.
    pub fn far(self) -> anyhow::Result<()> {
        pin(self.far)
    }
}

fn pin(cpu: usize) -> anyhow::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).with_context(|| format!("cannot pin a thread to processor {cpu}"))
}
