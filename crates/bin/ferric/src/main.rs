//! The `ferric` program. Each sub-command has a file of its own, and adds nothing to the library it shows.

#![forbid(unsafe_code)]

/// Prints a line. Where nobody reads any more (`ferric … | head`), that ends the program.
macro_rules! say {
    ($($argument:tt)*) => { $crate::say(format_args!($($argument)*)) };
}

mod address;
mod bench;
mod decode;
mod demo;
mod doctor;
mod limits;
mod live;
mod model;
mod paper;
mod percentiles;
mod play;
mod ran;
mod record;
mod redis;
mod remedy;
mod ric;
mod signals;
mod tls;
mod xapp;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Software-defined radio access networks: a near-RT RIC, an emulated RAN, xApps, and tools around them.
///
/// Try `ferric demo` first.
#[derive(Parser)]
#[command(name = "ferric", version, max_term_width = 100)]
struct Cli {
    /// How much to log (to standard error). [default: info; of `demo` warn, of `bench` and `paper` error]
    #[arg(long, global = true, value_enum, value_name = "LEVEL", display_order = 900)]
    log: Option<Log>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Log {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// What each does, its arguments say: a comment here would hide theirs from `--help`.
#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Ric(Box<ric::Args>),
    Ran(ran::Args),
    Xapp(xapp::Args),
    Decode(decode::Args),
    Play(play::Args),
    Doctor(doctor::Args),
    Bench(bench::Args),
    Paper(paper::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match (cli.log, &cli.command) {
        (Some(log), _) => init_log(log, log),
        // a table is what is to be seen, and what a measurement connects and cuts off is no news; what is left on the host is
        (None, Command::Bench(_) | Command::Paper(_)) => init_log(Log::Error, Log::Warn),
        (None, Command::Demo(_)) => init_log(Log::Warn, Log::Warn),
        (None, _) => init_log(Log::Info, Log::Info),
    }
    limits::raise_open_files();
    let result = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Ric(args) => ric::run(&args),
        Command::Ran(args) => ran::run(&args),
        Command::Xapp(args) => xapp::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Paper(args) => paper::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ferric: {}", chain(&error));
            if let Some(remedy) = remedy::of(&error) {
                eprintln!("  do: {remedy}");
            }
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes, each said once: some say their cause themselves.
fn chain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        text if text.ends_with(&cause) => text.to_owned(),
        text => format!("{text}: {cause}"),
    })
}

fn say(line: std::fmt::Arguments<'_>) {
    use std::io::{ErrorKind, Write};
    if let Err(error) = writeln!(std::io::stdout().lock(), "{line}") {
        std::process::exit(i32::from(error.kind() != ErrorKind::BrokenPipe));
    }
}

/// How much is logged; of namespaces and devices on this host as well.
fn init_log(log: Log, of_host: Log) {
    let level = |log: Log| match log {
        Log::Off => LevelFilter::OFF,
        Log::Error => LevelFilter::ERROR,
        Log::Warn => LevelFilter::WARN,
        Log::Info => LevelFilter::INFO,
        Log::Debug => LevelFilter::DEBUG,
        Log::Trace => LevelFilter::TRACE,
    };
    let colour = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colour).with_target(false);
    let wanted = Targets::new().with_default(level(log)).with_target("live", level(of_host));
    tracing_subscriber::registry().with(lines).with(wanted).init();
}
