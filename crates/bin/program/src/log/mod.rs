//! Logging to standard error.

mod capture;
mod lines;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

pub use capture::{LogLines, capture_log, observe_log, show_log_again};

/// The least severe level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "a comment would become help")]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    /// The environment variable in which `ferric` passes `--log` on to the program `ferric-NAME`.
    pub const VARIABLE: &str = "FERRIC_LOG";

    /// The level's name, as `--log` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }

    fn of_environment() -> Option<Self> {
        std::env::var(Self::VARIABLE).ok().and_then(|name| Self::from_str(&name, false).ok())
    }

    fn filter(self) -> LevelFilter {
        match self {
            LogLevel::Off => LevelFilter::OFF,
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
            LogLevel::Trace => LevelFilter::TRACE,
        }
    }
}

/// The most lines per minute of a program, at level info and above: behind the budget that a RIC has for lines about peers, and in
/// place of one elsewhere.
static MAX_LINES_PER_MINUTE: AtomicU32 = AtomicU32::new(20_000);

/// Raises the most lines per minute so that a budget of `lines` for peers fits in.
pub fn allow_log_lines(lines: u32) {
    MAX_LINES_PER_MINUTE.fetch_max(lines.saturating_mul(3), Ordering::Relaxed);
}

/// Begins to log at the level of `--log`, else of [`LogLevel::VARIABLE`], else at `default`; messages about namespaces and
/// devices of this host then at `host_default`.
pub fn init_log(given: Option<LogLevel>, default: LogLevel, host_default: LogLevel) {
    let given = given.or_else(LogLevel::of_environment);
    IS_LEVEL_GIVEN.store(given.is_some(), Ordering::Relaxed);
    let targets = Targets::new()
        .with_default(given.unwrap_or(default).filter())
        .with_target("netns", given.unwrap_or(host_default).filter());
    let format = tracing_subscriber::fmt::format().with_target(false);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(capture::Destination)
        .fmt_fields(lines::Fields)
        .event_format(lines::Lines::new(format, &MAX_LINES_PER_MINUTE));
    let is_terminal = cfg!(feature = "terminal") && std::io::IsTerminal::is_terminal(&std::io::stderr());
    let (targets, handle) = reload::Layer::new(targets);
    // a program begins to log once
    let _ = CHANGE_LEVEL.set(Box::new(move |level| handle.reload(Targets::new().with_default(level)).is_ok()));
    tracing_subscriber::registry().with(lines.with_ansi(is_terminal)).with(targets).init();
}

/// Changes the level of all lines while the program runs.
static CHANGE_LEVEL: OnceLock<Box<dyn Fn(LevelFilter) -> bool + Send + Sync>> = OnceLock::new();
/// Whether the level is that of the command line or of the environment.
static IS_LEVEL_GIVEN: AtomicBool = AtomicBool::new(false);

/// Changes the least severe level that is logged, whatever has set it. Returns whether it is in force.
pub fn replace_log_level(level: LevelFilter) -> bool {
    CHANGE_LEVEL.get().is_some_and(|change| change(level))
}

/// Changes the least severe level that is logged, unless the command line or [`LogLevel::VARIABLE`] has set one. Returns whether
/// it is in force.
pub fn set_log_level(level: LevelFilter) -> bool {
    if IS_LEVEL_GIVEN.load(Ordering::Relaxed) {
        return false;
    }
    replace_log_level(level)
}
