//! Ctrl-C and SIGTERM end event loops in an orderly way.

use anyhow::Context;
use ferric::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Ends all `loops` at the first signal; the second one ends the program at once.
pub fn stop_on_signal(loops: Vec<Stop>) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")?;
    std::thread::spawn(move || {
        let mut received = signals.forever();
        if received.next().is_some() {
            loops.iter().for_each(Stop::stop);
        }
        if let Some(signal) = received.next() {
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}
