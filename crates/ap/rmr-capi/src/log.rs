//! Lines on standard error, as the original library writes them.

use std::env;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

/// Levels of `RMR_LOG_VLEVEL`.
pub(crate) const CRITICAL: i32 = 1;
pub(crate) const WARNING: i32 = 3;
pub(crate) const INFO: i32 = 4;

/// The level that a program has set; negative until it has.
static LEVEL: AtomicI32 = AtomicI32::new(-1);

/// The level of the environment.
fn configured() -> i32 {
    static CONFIGURED: OnceLock<i32> = OnceLock::new();
    *CONFIGURED
        .get_or_init(|| env::var("RMR_LOG_VLEVEL").ok().and_then(|level| level.trim().parse().ok()).unwrap_or(CRITICAL))
}

pub(crate) fn set_level(level: i32) {
    LEVEL.store(level.clamp(0, 5), Ordering::Relaxed);
}

/// Writes a line to standard error, which may be closed: a panic would end the program.
pub(crate) fn write(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes a line, if the level includes it.
pub(crate) fn line(level: i32, text: &dyn std::fmt::Display) {
    let set = LEVEL.load(Ordering::Relaxed);
    if level <= if set < 0 { configured() } else { set } {
        write(format_args!("[RMR] {text}"));
    }
}
