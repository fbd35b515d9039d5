//! Ctrl-C and SIGTERM end a program in an orderly way; a second signal ends it at once. SIGHUP has files read again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use ferric::StopHandle;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Stops an event loop at the first signal.
///
/// # Errors
/// If signals cannot be watched for.
pub fn stop_on_signal(event_loop: StopHandle) -> anyhow::Result<()> {
    on_first_signal(move || event_loop.stop())
}

/// Returns a flag that the first signal raises.
///
/// # Errors
/// If signals cannot be watched for.
pub fn flag_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    on_first_signal(move || raised.store(true, Ordering::Release))?;
    Ok(flag)
}

/// Calls `reload` on a thread of its own at each SIGHUP.
///
/// # Errors
/// If signals cannot be watched for.
pub fn on_hangup(mut reload: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGHUP]).context("cannot watch for signals")?;
    std::thread::spawn(move || signals.forever().for_each(|_| reload()));
    Ok(())
}

fn on_first_signal(end: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
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
