//! `ferric sdrbench run`.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use program::{outln, signals};
use sdrbench::campaign::{self, ApplicationAccess, Observer, Options};
use sdrbench::report::Report;
use sdrbench::scenario::{Scenario, ScenarioError};

/// The largest scenario file.
const MAX_SCENARIO_OCTETS: u64 = 1 << 20;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ferric ric --e2 tcp://127.0.0.1:36421 --xapp tcp://127.0.0.1:36423 &\n  \
    ferric sdrbench run --scenario smoke --target tcp://127.0.0.1:36421 --out smoke\n  \
    ferric sdrbench run --scenario flexran --target tcp://127.0.0.1:2210 --out flexran\n  \
    ferric sdrbench run --scenario mine.toml --target sctp://10.0.0.1 --xapp tcp://10.0.0.1:36423 --out mine")]
pub struct RunArgs {
    /// A scenario of this program (`ferric sdrbench scenarios`), or a TOML file.
    #[arg(long, value_name = "NAME|FILE", default_value = "smoke")]
    scenario: String,
    /// The controller's address for E2 nodes, such as tcp://127.0.0.1:36421, or for FlexRAN agents.
    #[arg(long, value_name = "URL")]
    target: ferric::Endpoint,
    /// The controller's address for xApps of ferric, or `none`. [default: found on this host]
    #[arg(long, value_name = "URL")]
    xapp: Option<String>,
    /// The controller's processes, if its address is not one of this host.
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    /// Threads of the generator, one for each core that it may use.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// The folder of the report.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Continue the interrupted run in the folder.
    #[arg(long)]
    resume: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Print no progress.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    tls: program::tls::TlsArgs,
}

pub fn run(args: &RunArgs) -> anyhow::Result<()> {
    let scenario = scenario(&args.scenario)?;
    let path = args.out.join("report.json");
    let measured = match (args.resume, path.exists()) {
        (true, true) => {
            let before = Report::read(&path)?;
            if before.scenario.text != scenario.text || before.target.url != args.target.to_string() {
                bail!("{} is of another scenario or target: use another folder", path.display());
            }
            before.steps
        }
        (true, false) => bail!("there is nothing to resume in {}", args.out.display()),
        (false, true) => bail!("{} exists: use --resume, or another folder", path.display()),
        (false, false) => Vec::new(),
    };
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    let applications = match args.xapp.as_deref() {
        None => ApplicationAccess::Find,
        Some("none") => ApplicationAccess::None,
        Some(url) => ApplicationAccess::Ferric(url.parse()?),
    };
    let mut link = ferric::link::Config { outbox_octets: 64 * 1024, ..ferric::link::Config::default() };
    link.tls = args.tls.load(None)?;
    let options = Options {
        target: args.target.clone(),
        applications,
        processes: args.pid.clone(),
        threads: args.threads.into(),
        link,
        measured,
    };
    let stop = signals::flag_on_signal()?;
    let mut observer =
        Printer { folder: &args.out, is_quiet: args.quiet, is_terminal: std::io::stderr().is_terminal() };
    let report = campaign::run(&scenario, &options, &stop, &mut observer)?;
    observer.end_line();
    write_report(&args.out, &report)?;
    if args.json {
        outln!("{}", report.json());
    } else {
        outln!("{}\n\nThe report is in {}", report.to_string().trim_end(), args.out.display());
    }
    if !report.complete {
        bail!("the run was interrupted: continue it with --resume");
    }
    Ok(())
}

/// Writes the files of a report.
pub fn write_report(folder: &Path, report: &Report) -> anyhow::Result<()> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        // an interrupted write leaves the file of before
        let part = folder.join(format!(".{name}.part"));
        fs::write(&part, text)
            .and_then(|()| fs::rename(&part, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    };
    write("report.json", report.json() + "\n")?;
    write("report.html", report.html())?;
    for (name, text) in report.csv() {
        write(name, text)?;
    }
    Ok(())
}

/// The scenario of a name or a file.
pub fn scenario(name: &str) -> anyhow::Result<Scenario> {
    match Scenario::shipped(name) {
        Err(ScenarioError::Unknown(_)) if name.ends_with(".toml") => {
            let path = Path::new(name);
            let text = fs::metadata(path).and_then(|file| match file.len() {
                0..=MAX_SCENARIO_OCTETS => fs::read_to_string(path),
                _ => Err(std::io::Error::other("the file is too large")),
            });
            let text = text.with_context(|| format!("cannot read {name}"))?;
            let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
            Scenario::from_toml(&stem, &text).with_context(|| name.to_owned())
        }
        other => Ok(other?),
    }
}

/// Shows the progress, and keeps what was measured.
struct Printer<'a> {
    folder: &'a Path,
    is_quiet: bool,
    is_terminal: bool,
}

impl Printer<'_> {
    fn end_line(&self) {
        if self.is_terminal && !self.is_quiet {
            // a terminal that is gone needs no line
            let _ = writeln!(std::io::stderr());
        }
    }
}

impl Observer for Printer<'_> {
    fn progress(&mut self, line: &str, left_s: f64) {
        if self.is_quiet {
            return;
        }
        let (begin, end) = if self.is_terminal { ("\r\x1b[K", "") } else { ("", "\n") };
        let mut out = std::io::stderr().lock();
        // a closed standard error does not end a measurement
        let _ = write!(out, "{begin}{line}; {left_s:.0} s left{end}").and_then(|()| out.flush());
    }

    fn measured(&mut self, report: &Report) {
        if let Err(error) = write_report(self.folder, report) {
            // the end of the run reports it
            self.progress(&format!("{error:#}"), 0.0);
        }
    }
}
