//! Ctrl-C and SIGTERM end a program in an orderly way, or together with its processes; a second signal ends it at once. SIGHUP has files read again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use ferric::StopHandle;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

static AT_EXIT: OnceLock<fn()> = OnceLock::new();

/// Has a function called where the program ends without the destructors of its values: at a second signal, and where standard
/// output takes no more. There is one such function.
pub fn at_exit(function: fn()) {
    // the first one stays
    let _ = AT_EXIT.set(function);
}

pub(crate) fn run_at_exit() {
    if let Some(function) = AT_EXIT.get() {
        function();
    }
}

/// Stops an event loop when the terminal is closed.
///
/// # Errors
/// If signals cannot be watched for.
pub fn stop_on_hangup(event_loop: StopHandle) -> anyhow::Result<()> {
    on_hangup(move || event_loop.stop())
}

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

/// Ends this program at the first signal, after the processes that it has started: for one that holds nothing but them.
///
/// # Errors
/// If signals cannot be watched for.
pub fn end_with_children_on_signal() -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for child in children() {
                // it may have ended meanwhile
                let _ = kill_process(child, Signal::TERM);
            }
            run_at_exit();
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// The processes whose parent this one is.
fn children() -> Vec<Pid> {
    let own = std::process::id().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_child = |entry: &std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // after the name, which may contain anything: the state, then the parent
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)) == Some(&own)
    };
    let found = processes.flatten().filter(is_child);
    found.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn on_first_signal(end: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for signals")?;
    std::thread::spawn(move || {
        let mut received = signals.forever();
        if received.next().is_some() {
            end();
        }
        if let Some(signal) = received.next() {
            run_at_exit();
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}
