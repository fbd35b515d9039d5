//! The program `ferric-bench`, which `ferric bench` runs.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use bench::{Effort, Soak};
use clap::{Parser, Subcommand, value_parser};
use program::{LogLevel, outln, parse_seconds};
use serde::Serialize;
use testkit::CountingAllocator;

/// Counts the allocations of the measured codecs.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Measure the codecs, the RIC, the links and the emulated RAN.
#[derive(Parser)]
#[command(name = "ferric-bench", bin_name = "ferric bench", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Log level, to standard error. [default: error]
    #[arg(long, global = true, value_enum, value_name = "LEVEL", display_order = 900)]
    log: Option<LogLevel>,
}

#[derive(Subcommand)]
enum Command {
    /// Codecs, the RIC as a relay, an agent's report, pings, idle nodes.
    ///
    /// The relay is compared with a program that only moves the same bytes. Takes about three minutes.
    E2 {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Repetitions of each row of the relay's table; the table shows medians.
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Seconds of each repetition, 0.1 to 60.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds)]
        seconds: f64,
    },
    /// xApps of the O-RAN reference platform: the relay over RMR, and subscriptions by REST.
    ///
    /// The relay to one xApp of 1 and 16 nodes, beside that to an xApp of ferric and over E42; 100 subscriptions per second beside 1 and
    /// 100 xApps that receive reports. Takes about two minutes.
    Oran {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Repetitions, which alternate between the cases; medians are shown.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Seconds of each repetition, 0.1 to 60.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds)]
        seconds: f64,
    },
    /// Round trips of a ping between a controller and a node, by link and encoding.
    ///
    /// A bare echo over the same link is measured beside them. Takes a few seconds.
    Ping {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Rounds; each measures every combination once.
        #[arg(long, value_name = "N", default_value_t = 7, value_parser = value_parser!(u16).range(1..=99))]
        rounds: u16,
        /// Pings of each combination in a round.
        #[arg(long, value_name = "N", default_value_t = 500, value_parser = value_parser!(u16).range(1..))]
        pings: u16,
    },
    /// Speed of the RAN model compared with real time: one cell, and a hundred.
    ///
    /// Takes about a minute.
    Ran {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Repetitions; the table shows medians.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Model seconds of a hundred cells in each repetition, 0.1 to 60; one cell runs ten times as long.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds)]
        seconds: f64,
    },
    /// REST requests to a RIC that relays indications, and the relay beside them.
    ///
    /// Four nodes send three indications of 4,285 octets per millisecond to one xApp. Takes about half a minute.
    Rest {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Requests per second, 1 to 1900: the RIC allows a host 2,000.
        #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u32).range(1..=1900))]
        requests: u32,
        /// Live pages that are open in one of the cases, 1 to 50: clients that read what the page reads.
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u16).range(1..=50))]
        pages: u16,
        /// Repetitions, which alternate between no REST interface, an idle one, open pages, and requests; medians are shown.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Seconds of each repetition, 0.1 to 60.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds)]
        seconds: f64,
    },
    /// Notifications of the radio network information service by HTTP callbacks on loopback.
    ///
    /// 50 subscribers with 8 subscriptions each, at 10 and at 1,000 events per second; a tenant beyond its quota beside another
    /// one; an event among 100 and 100,000 subscriptions. Takes about a minute.
    Rnis {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Seconds of each row, 0.1 to 60.
        #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = parse_seconds)]
        seconds: f64,
    },
    /// Reports through virtual networks: processor time of each controller, and latency.
    ///
    /// An emulated base station with 32 UEs reports MAC, RLC and PDCP statistics each millisecond to an xApp: directly, through one
    /// and two levels of `ferric ric --virtual`, and through one that filters half of the UEs. Takes about a minute.
    Virtual {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Repetitions, which alternate between the cases; medians are shown.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Seconds of each repetition, 0.1 to 60.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds)]
        seconds: f64,
    },
    /// Three RICs share nodes through a Redis; one is killed: the time until its nodes report again.
    ///
    /// Needs `redis-server` on the PATH. Takes about 8 seconds for each repetition.
    Failover {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Nodes, of which a third moves.
        #[arg(long, value_name = "N", default_value_t = 300, value_parser = value_parser!(u32).range(3..=10_000))]
        nodes: u32,
        /// Repetitions.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(1..=99))]
        repetitions: u16,
    },
    /// Run a RIC and an emulated RAN while faults are injected.
    ///
    /// Fails if a report of a well-behaved node is lost or duplicated, or if memory or descriptors grow.
    Soak {
        /// Minutes of faults, 0.1 to 1440. A warm-up as long, at most two minutes, precedes them.
        #[arg(long, value_name = "M", default_value_t = 30.0, value_parser = parse_minutes)]
        minutes: f64,
        /// Seed of the faults.
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The program with which the relay is compared.
    #[command(hide = true)]
    Mover,
    /// A part of a measurement that runs in a process of its own.
    #[command(hide = true)]
    Part {
        #[arg(value_name = "JSON")]
        part: String,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // a measurement connects and disconnects peers all the time: warnings about that would hide its table
    program::init_log(cli.log, LogLevel::Error, LogLevel::Warn);
    program::raise_open_files();
    program::exit_code("ferric bench", run(cli.command))
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::E2 { json, repetitions, seconds } => {
            let effort = Effort { repetitions: repetitions.into(), seconds, ..Effort::default() };
            let report = bench::e2(&ferric()?, effort)?;
            if json {
                outln!("{}", report.json())
            } else {
                outln!("{}", report.to_string().trim_end())
            }
            Ok(())
        }
        Command::Oran { json, repetitions, seconds } => {
            print(&bench::oran(&ferric()?, repetitions.into(), seconds)?, json)
        }
        Command::Ping { json, rounds, pings } => print(&bench::ping(rounds.into(), pings.into())?, json),
        Command::Ran { json, repetitions, seconds } => print(&bench::ran(repetitions.into(), seconds)?, json),
        Command::Rest { json, requests, pages, repetitions, seconds } => {
            print(&bench::rest(&ferric()?, requests, pages, repetitions.into(), seconds)?, json)
        }
        Command::Rnis { json, seconds } => {
            let program = program::find("ferric-rnis")
                .context("the program `ferric-rnis` is neither beside this program nor on the PATH")?;
            print(&bench::rnis(&program, seconds)?, json)
        }
        Command::Virtual { json, repetitions, seconds } => {
            print(&bench::virtual_networks(&ferric()?, repetitions.into(), seconds)?, json)
        }
        Command::Failover { json, nodes, repetitions } => {
            print(&bench::failover(&ferric()?, nodes, repetitions.into())?, json)
        }
        Command::Soak { minutes, seed, json } => {
            let report = bench::soak(&ferric()?, Soak { span: Duration::from_secs_f64(60.0 * minutes), seed })?;
            print(&report, json)?;
            if report.holds() { Ok(()) } else { bail!("the soak failed: see the report") }
        }
        Command::Mover => bench::mover(),
        Command::Part { part } => bench::part::run(&part),
    }
}

/// Prints a report as one JSON object or as text.
fn print<R: Serialize + ToString>(report: &R, json: bool) -> anyhow::Result<()> {
    let text = if json { serde_json::to_string(report)? } else { report.to_string() };
    outln!("{}", text.trim_end());
    Ok(())
}

/// The program `ferric`, which is measured.
fn ferric() -> anyhow::Result<PathBuf> {
    program::find("ferric").context("the program `ferric` is neither beside this program nor on the PATH")
}

fn parse_minutes(text: &str) -> Result<f64, &'static str> {
    let minutes = text.parse().ok().filter(|minutes| (0.1..=1440.0).contains(minutes));
    minutes.ok_or("not a number from 0.1 to 1440")
}
