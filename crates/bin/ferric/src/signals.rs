//! Ctrl-C and SIGTERM end event loops in an orderly way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use ferric::StopHandle;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Ends all `loops` at the first signal; the second one ends the program at once.
pub fn stop_on_signal(loops: Vec<StopHandle>) -> anyhow::Result<()> {
    at_first_signal(move || loops.iter().for_each(StopHandle::stop))
}

/// The same for what looks by itself whether a signal came.
pub fn flag_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    at_first_signal(move || raised.store(true, Ordering::Release))?;
    Ok(flag)
}

fn at_first_signal(end: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")?;
    std::thread::spawn(move || {
        let mut received = signals.forever();
        if received.next().is_some() {
            end();
        }
        if let Some(signal) = received.next() {
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}
