//! Which processors the two ends of a round trip run on: left to itself, a scheduler puts them now on one and now on two,
//! and what is then compared is its choice.

use anyhow::{Context, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of two ends.
#[derive(Clone, Copy)]
pub(crate) struct Placement {
    near: usize,
    far: usize,
}

impl Placement {
    /// Both on one processor, and each on its own where there are two.
    pub fn all() -> anyhow::Result<Vec<Placement>> {
        let allowed = sched_getaffinity(None).context("cannot ask which processors this program may use")?;
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let Some(near) = allowed.next() else { bail!("this program may use no processor") };
        Ok([Some(near), allowed.next()].into_iter().flatten().map(|far| Placement { near, far }).collect())
    }

    /// How many processors it takes.
    pub fn processors(self) -> usize {
        if self.near == self.far { 1 } else { 2 }
    }

    /// This thread, and those that it starts, are the near end.
    pub fn near(self) -> anyhow::Result<()> {
        pin(self.near)
    }

    /// This thread is the far end.
    pub fn far(self) -> anyhow::Result<()> {
        pin(self.far)
    }
}

fn pin(cpu: usize) -> anyhow::Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).with_context(|| format!("cannot stay on processor {cpu}"))
}
