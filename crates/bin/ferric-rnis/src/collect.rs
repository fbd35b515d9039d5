//! Which of several processes collects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use rnis::{Collecting, Service};

/// How often a process that waits for its turn looks whether it has come.
const TICK: Duration = Duration::from_millis(100);

/// Whether the collectors run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Collect {
    /// In one of the processes that share a Kafka topic, and in another one when that ends
    Auto,
    /// Here, of base stations that no other process collects from
    Yes,
    /// Elsewhere
    No,
}

/// Runs the collectors while it is this process's turn, until `stop` is set, or `is_over`. `collectors` runs them until the condition that
/// it is given.
///
/// # Errors
/// Those of the collectors.
pub fn run(
    collect: Collect,
    service: &Arc<Service>,
    stop: &AtomicBool,
    is_over: impl Fn() -> bool,
    collectors: impl Fn(&dyn Fn() -> bool) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let has_turn = || match collect {
        Collect::Auto => service.is_leader(),
        Collect::Yes => true,
        Collect::No => false,
    };
    let collecting = if collect == Collect::Yes { Collecting::WithOthers } else { Collecting::Alone };
    while !stop.load(Ordering::Acquire) && !is_over() {
        if !has_turn() {
            std::thread::sleep(TICK);
            service.expire();
            continue;
        }
        service.set_collecting(Some(collecting));
        // a termination that the platform has asked for is reported once
        let ended = std::cell::Cell::new(false);
        collectors(&|| {
            ended.set(ended.get() || is_over());
            ended.get() || !has_turn()
        })?;
        service.set_collecting(None);
        if ended.get() {
            return Ok(());
        }
    }
    Ok(())
}
