//! `ferric paper`

use std::fs;
use std::path::{Path, PathBuf};

use ::bench::{Figure, FigureReport, Peer};
use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;

use crate::bench::seconds;
use crate::signals;

/// Measure what the FlexRIC paper measured, our side of it: tables, CSV files and plots.
///
/// Each figure tells its setting and what differs from the paper's; what the paper claims; whether our numbers bear it
/// out. All of them take some five minutes.
///
/// Figures 11 and 13 run the emulated RAN over E2, faster than time. It waits for whoever controls it, so that they are the
/// same each time, on every machine. Live, they take a minute each (11c and 13b two), and tell whether the machine was fast
/// enough.
///
/// The exit status says whether it could be measured. Whether the claim holds, the output says.
#[derive(clap::Args)]
pub struct Args {
    /// Which figure or table, or all of them.
    #[arg(value_parser = PossibleValuesParser::new(Figure::ALL.iter().map(|figure| figure.name()).chain(["all"])))]
    figure: String,
    /// The directory for FIGURE.csv and FIGURE.svg; made where it is missing.
    #[arg(long, value_name = "DIR", default_value = "paper")]
    out: PathBuf,
    /// Print a JSON object a figure, each on a line.
    #[arg(long)]
    json: bool,
    /// Seconds of each point, from 0.1 to 60. Figures 11 and 13 have that of their call and their phases: 2 are a minute of
    /// the call, and phases of 10 s.
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Figures 11 and 13 with real programs: UEs are network namespaces, iperf3 and irtt run through the emulated cell, in
    /// time. It takes Linux, root, iperf3 and irtt; see docs/live.md.
    #[arg(long)]
    live: bool,
    /// A column for another controller, which you have started and whose apps subscribe to statistics: where it awaits E2
    /// nodes, and its process, if its processor time and memory are to be measured. Figures 8a, 8b and 9b, whose load
    /// comes from agents, can have it. Several times for several.
    #[arg(long = "peer", value_name = "NAME=URL[,pid=N]")]
    peers: Vec<Peer>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(again) = args
        .peers
        .iter()
        .enumerate()
        .find_map(|(at, peer)| args.peers[..at].iter().any(|other| other.name == peer.name).then_some(&peer.name))
    {
        bail!("two peers are called {again}");
    }
    let figures = || Figure::ALL.iter().filter(|figure| args.figure == "all" || args.figure == figure.name());
    if !args.peers.is_empty() && !figures().any(|figure| figure.has_peers()) {
        bail!("{} has no column for a peer: figures 8a, 8b and 9b have", args.figure);
    }
    if args.live && !figures().all(|figure| figure.can_be_live()) {
        bail!("{} is not measured live: figures 11a, 11b, 11c, 13a and 13b can be", args.figure);
    }
    // before anything is measured
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
    try_to_write(&args.out)?;
    let is_interrupted = if args.live { Some(signals::flag_on_signal()?) } else { None };
    let mut failures = Vec::new();
    for figure in figures() {
        let (report, failed) =
            ::bench::paper(*figure, args.seconds, &args.peers, is_interrupted.as_deref()).context(figure.name())?;
        write(&report, &args.out)?;
        if args.json {
            say!("{}", serde_json::to_string(&report)?);
        } else {
            say!("{report}");
        }
        failures.extend(failed);
    }
    failures.sort_unstable();
    failures.dedup();
    if failures.is_empty() { Ok(()) } else { bail!("not all peers could be measured: {}", failures.join("; ")) }
}

/// Whether there can be files in a directory.
fn try_to_write(out: &Path) -> anyhow::Result<()> {
    let path = out.join(format!(".ferric-{}", std::process::id()));
    fs::write(&path, "").with_context(|| format!("cannot write to {}", out.display()))?;
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
}

fn write(report: &FigureReport, out: &Path) -> anyhow::Result<()> {
    for (ending, text) in [("csv", report.values.csv()), ("svg", report.plot.svg())] {
        let path = out.join(format!("{}.{ending}", report.figure.name()));
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
