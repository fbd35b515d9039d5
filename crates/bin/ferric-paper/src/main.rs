//! The program `ferric-paper`, which `ferric paper` runs.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use bench::part::Encoding;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, ValueEnum};
use paper::{Extent, Figure, FigureReport, Peer, PeerOptions};
use program::{LogLevel, outln, parse_seconds, signals};

/// Measure ferric's side of the FlexRIC paper's figures: tables, CSV files and plots.
///
/// Each figure states the paper's setting and ours, the paper's claim, and whether our numbers support it. All figures take
/// about five minutes.
///
/// Experiments of ours, such as load-balancing, compare a scenario with and without an xApp, for several seeds: see
/// docs/use-cases.md. loop-delay and loop-latency measure a cell that an xApp schedules slot by slot: see docs/llc.md.
///
/// Figures rnis-fig5 to rnis-fig11 are those of another paper, about radio network information as a service; rnis-rate is what
/// that paper leaves open. They need RabbitMQ and Kafka (crates/edge/rnis/brokers/run COMMAND runs a command with both) and the
/// program ferric-rnis; `all` contains the figures where both are there. See docs/figures.md.
///
/// Figures sdrbench-fig4 to sdrbench-fig6 are those of a paper about a benchmark of controllers; they need the program ferric-sdrbench, and
/// four minutes each.
///
/// Figures vbbu-table2 to vbbu-fig11 are those of a third paper, about base-band units beside other work; vbbu-dynamic is what that
/// paper leaves open. They need Linux, root, `stress-ng` (scripts/stress-ng) and the programs ferric-vbbu and ferric-cpu, and change
/// the CPUs of tasks while they run, so `all` does not contain them. See docs/vbbu.md.
///
/// Figures 11 and 13 and experiments run the emulated RAN over E2, faster than real time. The model waits for its controllers, so the numbers
/// are the same on every machine. With --live they run in real time, a minute each (11c and 13b: two), and state whether
/// the machine was fast enough.
///
/// The exit status tells whether the figure could be measured; the output tells whether the claim holds.
#[derive(Parser)]
#[command(name = "ferric-paper", bin_name = "ferric paper", version, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    part: Option<Subcommand>,
    #[command(flatten)]
    figures: FigureArgs,
    /// Log level, to standard error. [default: error]
    #[arg(long, global = true, value_enum, value_name = "LEVEL", display_order = 900)]
    log: Option<LogLevel>,
}

#[derive(clap::Subcommand)]
enum Subcommand {
    /// Compare the emulated RAN with specifications and literature.
    ///
    /// Each check runs the model and compares one value with what a formula or a standard gives for the same setting. All checks
    /// take about a minute; the result is the same on every machine. The exit status is 1 if a check does not hold.
    ModelCheck(ModelCheckArgs),
    /// A part of a measurement that runs in a process of its own.
    #[command(hide = true)]
    Part {
        #[arg(value_name = "JSON")]
        part: String,
    },
    /// Load beside a measurement, in a process of its own.
    #[command(hide = true)]
    Background {
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
}

#[derive(Args)]
struct ModelCheckArgs {
    /// Checks to run. [default: all]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(paper::check_names()), hide_possible_values = true)]
    names: Vec<String>,
    /// Print one JSON object, whose `checks` have `name`, `expected`, `measured`, `holds` and more.
    #[arg(long, conflicts_with = "update")]
    json: bool,
    /// Measure a fifth of the time, with the same tolerances.
    #[arg(long)]
    quick: bool,
    /// Rewrite the table of a document: the lines between `<!-- model-check -->` and `<!-- end of model-check -->`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "quick"])]
    update: Option<PathBuf>,
}

#[derive(Args)]
struct FigureArgs {
    /// A figure or table, all of the paper's, or an experiment.
    #[arg(required = true, value_parser = PossibleValuesParser::new(Figure::ALL.iter().map(|figure| figure.name()).chain(["all"])))]
    figure: Option<String>,
    /// Directory for the files; created if missing. FIGURE.csv has the values, FIGURE-samples.csv the raw samples if the values
    /// are statistics of them, FIGURE-course.csv what happened over time in an experiment.
    #[arg(long, value_name = "DIR", default_value = "paper")]
    out: PathBuf,
    /// Formats of the plots, FIGURE.svg and so on. TikZ is for `\input` in LaTeX; `csv` draws none: values and samples are always
    /// written. Repeatable, or a list with commas.
    #[arg(long, value_enum, value_name = "FORMAT", value_delimiter = ',', default_value = "svg")]
    format: Vec<Format>,
    /// Print one JSON object per figure, each on one line.
    #[arg(long)]
    json: bool,
    /// Seconds of each point, 0.1 to 60. Figures 11 and 13 and experiments scale their call, phases and runs: 2 gives a call of
    /// a minute, phases of 10 s, and runs of a minute.
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Number of seeds of an experiment, 1 to 100.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Measure figures 11 and 13 with real programs: iperf3 and irtt in network namespaces, in real time. Needs Linux, root,
    /// iperf3 and irtt; see docs/live.md.
    #[arg(long)]
    live: bool,
    /// Add a column for another controller that already runs and whose apps subscribe to statistics: its address for E2
    /// nodes, and its process id if its processor time and memory are to be measured. For figures 8a, 8b and 9b.
    /// Repeatable.
    #[arg(long = "peer", value_name = "NAME=URL[,pid=N]")]
    peers: Vec<Peer>,
    /// Encoding of the service models that agents offer in figures 8a, 8b and 9b. FlexRIC's apps read `plain`.
    #[arg(long, value_enum, value_name = "ENCODING", default_value_t = Models::Flat)]
    encoding: Models,
    /// Seconds that the app of a `--peer` has for its first subscription, for each number of agents, 0.1 to 60.
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds)]
    peer_wait: f64,
}

/// A format of plots.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Svg,
    Pdf,
    Csv,
    Tikz,
}

/// An encoding of service models.
#[derive(Clone, Copy, ValueEnum)]
enum Models {
    Per,
    Flat,
    Plain,
}

impl From<Models> for Encoding {
    fn from(models: Models) -> Self {
        match models {
            Models::Per => Encoding::Per,
            Models::Flat => Encoding::Flat,
            Models::Plain => Encoding::Plain,
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // a measurement connects and disconnects peers all the time: warnings about that would hide its table
    program::init_log(cli.log, LogLevel::Error, LogLevel::Warn);
    program::raise_open_files();
    let result = match &cli.part {
        Some(Subcommand::Part { part }) => bench::part::run(part),
        Some(Subcommand::ModelCheck(args)) => model_check(args),
        Some(Subcommand::Background { words }) => paper::run_background(words),
        None => run(&cli.figures),
    };
    program::exit_code("ferric paper", result)
}

/// The lines of a document around the table of checks.
const TABLE_BEGIN: &str = "<!-- model-check -->\n";
const TABLE_END: &str = "<!-- end of model-check -->\n";

fn model_check(args: &ModelCheckArgs) -> anyhow::Result<()> {
    // before anything is measured
    let document = args.update.as_deref().map(Document::read).transpose()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let report = paper::model_check(&args.names, args.quick, threads);
    if let Some(document) = document {
        document.write(&report.markdown())?;
    }
    match args.json {
        true => outln!("{}", serde_json::to_string(&report)?),
        false => outln!("{report}"),
    }
    let failed: Vec<_> = report.failed().collect();
    if failed.is_empty() { Ok(()) } else { bail!("checks that do not hold: {}", failed.join(", ")) }
}

/// A document with a table of checks.
struct Document<'p> {
    path: &'p Path,
    before: String,
    after: String,
}

impl<'p> Document<'p> {
    fn read(path: &'p Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let parts =
            text.split_once(TABLE_BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(TABLE_END)?.1)));
        let (before, after) = parts.with_context(|| {
            format!(
                "{} has no line `{}` followed by `{}`",
                path.display(),
                TABLE_BEGIN.trim_end(),
                TABLE_END.trim_end()
            )
        })?;
        Ok(Document { path, before: before.to_owned(), after: after.to_owned() })
    }

    fn write(self, table: &str) -> anyhow::Result<()> {
        let Document { path, before, after } = self;
        let text = [&before, TABLE_BEGIN, "\n", table, "\n", TABLE_END, &after].concat();
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn run(args: &FigureArgs) -> anyhow::Result<()> {
    let chosen = args.figure.as_deref().context("no figure is given")?;
    if let Some(again) = args
        .peers
        .iter()
        .enumerate()
        .find_map(|(at, peer)| args.peers[..at].iter().any(|other| other.name == peer.name).then_some(&peer.name))
    {
        bail!("two peers have the name {again}");
    }
    let has_brokers = bench::rnis::Brokers::are_available();
    let has_sdrbench = program::find("ferric-sdrbench").is_some();
    let is_chosen = |figure: &&Figure| {
        let is_possible = figure.is_of_paper()
            && (has_brokers || !figure.needs_brokers())
            && (has_sdrbench || !figure.needs_sdrbench())
            && !figure.changes_host();
        chosen == figure.name() || chosen == "all" && is_possible
    };
    if chosen == "all" && !has_brokers {
        eprintln!("rnis-fig5 to rnis-fig11: {}", bench::rnis::WITHOUT_BROKERS);
    }
    let figures = || Figure::ALL.iter().filter(is_chosen);
    if !args.peers.is_empty() && !figures().any(|figure| figure.has_peers()) {
        bail!("{chosen} has no columns for peers: figures 8a, 8b and 9b have");
    }
    if args.live && !figures().all(|figure| figure.can_be_live()) {
        bail!("{chosen} has no live mode: figures 11a, 11b, 11c, 13a and 13b have");
    }
    // before anything is measured
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    try_to_write(&args.out)?;
    let is_interrupted = match args.live {
        true => Some(signals::flag_on_signal()?),
        false => signals::end_with_children_on_signal().map(|()| None)?,
    };
    let ferric =
        program::find("ferric").context("the program `ferric` is neither beside this program nor on the PATH")?;
    let patience = Duration::from_secs_f64(args.peer_wait);
    let options = PeerOptions { encoding: args.encoding.into(), patience };
    let extent = Extent { seconds: args.seconds, seeds: args.seeds };
    let mut failures = Vec::new();
    for figure in figures() {
        // before the measurement: the app of a peer has to be running then
        for (peer, instruction) in args.peers.iter().zip(std::iter::repeat(options.instruction(*figure))) {
            if let Some(instruction) = instruction {
                eprintln!("{}, peer {}: {instruction}", figure.name(), peer.name);
            }
        }
        let flag = is_interrupted.as_deref();
        let (report, failed) =
            paper::figure(&ferric, *figure, extent, &args.peers, options, flag).context(figure.name())?;
        write(&report, &args.format, &args.out)?;
        if args.json {
            outln!("{}", serde_json::to_string(&report)?);
        } else {
            outln!("{report}");
        }
        failures.extend(failed);
    }
    failures.sort_unstable();
    failures.dedup();
    if failures.is_empty() { Ok(()) } else { bail!("not all peers could be measured: {}", failures.join("; ")) }
}

/// Checks that files can be created in a directory.
fn try_to_write(out: &Path) -> anyhow::Result<()> {
    let path = out.join(format!(".ferric-{}", std::process::id()));
    fs::write(&path, "").with_context(|| format!("cannot write to {}", out.display()))?;
    fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
}

fn write(report: &FigureReport, formats: &[Format], out: &Path) -> anyhow::Result<()> {
    let name = report.figure.name();
    let mut files = vec![(format!("{name}.csv"), report.values.csv().into_bytes())];
    files.extend(report.samples.iter().map(|samples| (format!("{name}-samples.csv"), samples.csv().into_bytes())));
    files.extend(report.course.iter().map(|course| (format!("{name}-course.csv"), course.csv().into_bytes())));
    for format in formats {
        match format {
            Format::Svg => files.push((format!("{name}.svg"), report.plot.svg().into_bytes())),
            Format::Pdf => files.push((format!("{name}.pdf"), report.plot.pdf())),
            Format::Tikz => files.push((format!("{name}.tikz"), report.plot.tikz().into_bytes())),
            Format::Csv => {}
        }
    }
    for (file, octets) in files {
        let path = out.join(file);
        fs::write(&path, octets).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
