//! `ferric bench`

use std::time::Duration;

use ::bench::{Effort, Soak};

/// Measure the codecs, the RIC and its memory.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    /// The codecs, the RIC as a relay against a program that only moves the same bytes, an agent's report broken down, the
    /// ping over each link, and the memory of idle nodes. Takes some three minutes.
    E2 {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Repetitions of each row of the relay's table; the median is given.
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Seconds of each repetition, from 0.1 to 60.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
        seconds: f64,
    },
    /// The ping's round trip between a controller and a node, over each kind of link, in each combination of E2AP's and the
    /// service model's encoding, beside a bare echo. Takes a few seconds.
    Ping {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Rounds, in each of which everything has its turn.
        #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=99))]
        rounds: u16,
        /// Pings of each in a round.
        #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
        pings: u16,
    },
    /// How fast the model of the RAN is, against time: one cell, and a hundred. Takes a minute.
    Ran {
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        /// Repetitions, in each of which every RAN has its turn; the median is given.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=99))]
        repetitions: u16,
        /// Seconds of the model of a hundred cells in each repetition, from 0.1 to 60; of one cell ten times as many.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
        seconds: f64,
    },
    /// A RIC and an emulated RAN for long, while everything that can go wrong around them does. Fails where a report of a
    /// well-behaved node is lost or doubled, or where memory or descriptors grow.
    Soak {
        /// Minutes of faults, from 0.1 to 1440.
        #[arg(long, value_name = "M", default_value_t = 30.0, value_parser = minutes)]
        minutes: f64,
        /// Draws the faults.
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// The mover that the relay is measured against.
    #[command(hide = true)]
    Mover,
    /// A part of a measurement that is a process of its own.
    #[command(hide = true)]
    Part {
        #[arg(value_name = "JSON")]
        part: String,
    },
}

/// Reads the length of a repetition.
pub(crate) fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=60.0).contains(seconds));
    seconds.ok_or("not a number from 0.1 to 60")
}

/// Reads the length of a soak.
fn minutes(text: &str) -> Result<f64, &'static str> {
    let minutes = text.parse().ok().filter(|minutes| (0.1..=1440.0).contains(minutes));
    minutes.ok_or("not a number from 0.1 to 1440")
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.which {
        &Which::Ping { json, rounds, pings } => {
            let report = ::bench::ping(rounds.into(), pings.into())?;
            if json {
                say!("{}", serde_json::to_string(&report)?);
            } else {
                say!("{}", report.to_string().trim_end());
            }
            Ok(())
        }
        &Which::Ran { json, repetitions, seconds } => {
            let report = ::bench::ran(repetitions.into(), seconds)?;
            if json {
                say!("{}", serde_json::to_string(&report)?);
            } else {
                say!("{}", report.to_string().trim_end());
            }
            Ok(())
        }
        &Which::E2 { json, repetitions, seconds } => {
            let report = ::bench::e2(Effort { repetitions: repetitions.into(), seconds, ..Effort::default() })?;
            if json {
                say!("{}", report.json());
            } else {
                say!("{}", report.to_string().trim_end());
            }
            Ok(())
        }
        &Which::Soak { minutes, seed, json } => {
            let report = ::bench::soak(Soak { span: Duration::from_secs_f64(60.0 * minutes), seed })?;
            if json {
                say!("{}", serde_json::to_string(&report)?);
            } else {
                say!("{report}");
            }
            if report.holds() { Ok(()) } else { anyhow::bail!("the soak failed; see above for what did not hold") }
        }
        Which::Mover => ::bench::mover(),
        Which::Part { part } => ::bench::part(part),
    }
}
