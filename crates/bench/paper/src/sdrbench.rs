//! Paper 001 (SDRBench), figures 4 to 6: processor time, memory and hello delay of a controller over agents, with one core and two. The
//! agents are those of the FlexRAN protocol, as in the paper, and then E2 nodes.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use bench::process::RicProcess;
use serde_json::Value;

use plot::{Panel, Plot, Series, X};

use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Setting, Statement};

/// The paper's numbers of agents; it found an overload beyond 100 with one core, beyond 150 with more.
const AGENTS: [u32; 6] = [1, 51, 101, 151, 201, 251];
/// The paper's repetitions.
const REPETITIONS: u32 = 4;
/// The period of reports.
const PERIOD_MS: u32 = 100;
/// The paper's mean delay of up to 101 agents.
const LOW_LOAD_MS: f64 = 1.5;
/// The paper's mean delay of one core and 251 agents.
const OVERLOAD_MS: f64 = 60.0;
/// A growth of memory below this in bytes per second, a page, is none.
const FLAT_BYTES_PER_S: f64 = 4096.0;

/// The protocol of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Southbound {
    FlexRan,
    E2ap,
}

impl Southbound {
    const ALL: [Southbound; 2] = [Southbound::FlexRan, Southbound::E2ap];

    /// Its name in scenarios and tables.
    fn name(self) -> &'static str {
        match self {
            Southbound::FlexRan => "flexran",
            Southbound::E2ap => "e2ap",
        }
    }
}

/// A step of the benchmark's report.
struct Step {
    southbound: Southbound,
    agents: f64,
    cores: f64,
    cpu_percent: f64,
    cpu_ci95: f64,
    lost: f64,
    rss_mib: f64,
    rss_slope: f64,
    setup_mean_ms: f64,
    setup_p99_ms: f64,
}

impl Step {
    fn of(step: &Value, southbound: Southbound) -> Option<Self> {
        let number = |pointer: &str| step.pointer(pointer)?.as_f64();
        Some(Step {
            southbound,
            agents: number("/agents")?,
            cores: number("/cores")?,
            cpu_percent: 100.0 * number("/cpu_share/mean")?,
            cpu_ci95: 100.0 * number("/cpu_share/ci95").unwrap_or(f64::NAN),
            lost: number("/lost")?,
            rss_mib: number("/rss_bytes")? / f64::from(1 << 20),
            rss_slope: number("/rss_slope_bytes_per_s")?,
            setup_mean_ms: number("/setup_ms/mean")?,
            setup_p99_ms: number("/setup_ms/p99")?,
        })
    }
}

/// What the benchmark has measured.
struct Measured {
    steps: Vec<Step>,
    why_invalid: Vec<String>,
}

/// Runs `ferric-sdrbench` against `ferric ric`, with agents of each protocol. Each run has a RIC of its own.
fn measure(context: &Context<'_>) -> anyhow::Result<Measured> {
    let mut all = Measured { steps: Vec::new(), why_invalid: Vec::new() };
    for southbound in Southbound::ALL {
        let name = southbound.name();
        let report = run(context, southbound).with_context(|| format!("agents of {name}"))?;
        let list = |member: &str| report[member].as_array().cloned().unwrap_or_default();
        let steps: Option<Vec<Step>> = list("steps").iter().map(|step| Step::of(step, southbound)).collect();
        all.steps.extend(steps.context("the report lacks a value")?);
        let why = list("why_invalid");
        all.why_invalid.extend(why.iter().filter_map(|why| Some(format!("{name}: {}", why.as_str()?))));
    }
    Ok(all)
}

fn run(context: &Context<'_>, southbound: Southbound) -> anyhow::Result<Value> {
    let program = context.ferric.with_file_name("ferric-sdrbench");
    if !program.exists() {
        bail!("{} does not exist; `cargo build --release -p ferric-sdrbench-cli` builds it", program.display());
    }
    let period_ms = PERIOD_MS.to_string();
    let options: &[&str] = match southbound {
        Southbound::FlexRan => &["--flexran", "tcp://127.0.0.1:0", "--flexran-period-ms", &period_ms],
        Southbound::E2ap => &[],
    };
    let ric = RicProcess::start(context.ferric, options)?;
    let (target, xapp) = match &ric.flexran {
        Some(flexran) => (flexran.to_string(), "none".to_owned()),
        None => (ric.e2.to_string(), ric.xapp.to_string()),
    };
    let cores: Vec<usize> = (1..=std::thread::available_parallelism().map_or(1, usize::from).min(2)).collect();
    let scenario = format!(
        "warm_up_s = 1\nduration_s = {}\nrepetitions = {REPETITIONS}\nmax_lateness_ms = 60000\n[agents]\ncount = {AGENTS:?}\n\
         period_ms = {PERIOD_MS}\nprobes_per_s = 20\nsouthbound = \"{}\"\n[target]\ncores = {cores:?}\n",
        context.seconds.max(0.5),
        southbound.name()
    );
    let folder = format!("ferric-paper-sdrbench-{}-{}", std::process::id(), southbound.name());
    let folder = Folder(std::env::temp_dir().join(folder));
    std::fs::create_dir_all(&folder.0).with_context(|| format!("cannot create {}", folder.0.display()))?;
    let path = folder.0.join("agents.toml");
    std::fs::write(&path, scenario).with_context(|| format!("cannot write {}", path.display()))?;
    let output = std::process::Command::new(&program)
        .args(["run", "--quiet", "--json", "--target", &target, "--xapp", &xapp])
        .arg("--scenario")
        .arg(&path)
        .arg("--out")
        .arg(folder.0.join("report"))
        .output()
        .with_context(|| format!("cannot execute {}", program.display()))?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("ferric-sdrbench printed no report")
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // what cannot be removed stays in the folder for temporary files
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Measured {
    /// A value over agents, a line for each protocol and number of cores.
    fn panel(&self, y_label: &str, value: impl Fn(&Step) -> f64) -> Panel {
        let lines = Southbound::ALL.into_iter().flat_map(|southbound| [1.0, 2.0].map(|cores| (southbound, cores)));
        let series = lines.map(|(southbound, cores)| {
            let of_line = self.steps.iter().filter(|step| (step.southbound, step.cores) == (southbound, cores));
            let points = of_line.map(|step| (step.agents, value(step))).collect();
            Series::new(format!("{}, {cores} cores", southbound.name()), points)
        });
        let series = series.filter(|series| !series.points.is_empty()).collect();
        Panel { x: X::Numbers("agents".into()), y_label: y_label.into(), series, marks: Vec::new() }
    }

    /// The worst value of a protocol with one core and at most so many agents.
    fn worst(&self, southbound: Southbound, agents: f64, value: impl Fn(&Step) -> f64) -> Option<f64> {
        let steps = self.steps.iter().filter(|step| step.southbound == southbound && step.cores == 1.0);
        steps.filter(|step| step.agents <= agents).map(value).reduce(f64::max)
    }

    /// The value of a protocol with one core and this number of agents.
    fn at(&self, southbound: Southbound, agents: f64, value: impl Fn(&Step) -> f64) -> Option<f64> {
        let is = |step: &&Step| (step.southbound, step.cores, step.agents) == (southbound, 1.0, agents);
        self.steps.iter().find(is).map(value)
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            "southbound",
            "agents",
            "cores",
            "cpu_percent",
            "cpu_ci95",
            "lost",
            "rss_mib",
            "rss_slope_bytes_per_s",
            "hello_mean_ms",
            "hello_p99_ms",
        ]);
        for step in &self.steps {
            let Step { southbound, agents, cores, cpu_percent, cpu_ci95, lost, .. } = *step;
            let Step { rss_mib, rss_slope, setup_mean_ms, setup_p99_ms, .. } = *step;
            let numbers = [agents, cores, cpu_percent, cpu_ci95, lost, rss_mib, rss_slope, setup_mean_ms, setup_p99_ms];
            let mut row = vec![Cell::from(southbound.name())];
            row.extend(numbers.map(Cell::from));
            table.row(row);
        }
        table
    }

    fn report(
        &self,
        figure: Figure,
        title: &str,
        panel: Panel,
        claim: &'static str,
        statements: Vec<Statement>,
    ) -> FigureReport {
        FigureReport {
            figure,
            setting: Setting {
                paper: "1 to 251 replicas of FlexRAN agents send statistics to the FlexRAN controller, which has 1 to 8 cores of a virtual \
                        machine; 4 repetitions of 1000 s",
                ours: "as many FlexRAN agents send statistics each 100 ms to `ferric ric`, which may use one core and two; each tenth \
                       report is followed by an echo request, whose answer shows that all before it were read; then as many E2 nodes \
                       send KPM reports, which an xApp receives; 4 repetitions, without the first second of each load",
                differs: vec![
                    "another controller; beside the FlexRAN protocol E2AP",
                    "up to two cores; generator, controller and xApp share the host",
                    "repetitions last seconds",
                    "memory is that of a process that has grown with earlier loads of the same run",
                ],
            },
            values: self.table(),
            summary: None,
            samples: None,
            course: None,
            claim,
            judged: "statement by statement; the claim holds if all do",
            holds: Statement::all(&statements).filter(|_| self.why_invalid.is_empty()),
            statements,
            notes: self.why_invalid.iter().map(|why| format!("not valid: {why}")).collect(),
            plot: Plot { title: title.to_owned(), panels: vec![panel] },
        }
    }
}

fn text(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| format!("{value:.2} {unit}"))
}

/// The most agents.
const MOST: f64 = AGENTS[AGENTS.len() - 1] as f64;

pub fn fig4(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let measured = measure(context)?;
    let statements = Southbound::ALL.into_iter().flat_map(|southbound| {
        let at = |agents| measured.at(southbound, agents, |step| step.cpu_percent);
        let (half, cpu) = (at(151.0), at(MOST));
        let lost = measured.worst(southbound, MOST, |step| step.lost);
        [
            Statement::new(
                linear(southbound),
                format!("{} and {}", text(half, "%"), text(cpu, "%")),
                half.zip(cpu).map(|(half, cpu)| (cpu / half / (MOST / 151.0) - 1.0).abs() <= 0.25),
            ),
            Statement::new(
                no_overload(southbound),
                format!("{}, {} lost", text(cpu, "%"), text(lost, "reports")),
                cpu.zip(lost).map(|(cpu, lost)| cpu < 100.0 && lost == 0.0),
            ),
        ]
    });
    let statements = statements.collect();
    let panel = measured.panel("controller CPU, % of a core", |step| step.cpu_percent);
    let claim = "processor time of the controller is linear in agents until it saturates: beyond 100 agents with one core, 150 with more";
    Ok(measured.report(
        Figure::SdrbenchFig4,
        "SDRBench, Fig. 4: a controller's CPU over agents",
        panel,
        claim,
        statements,
    ))
}

fn linear(southbound: Southbound) -> &'static str {
    match southbound {
        Southbound::FlexRan => {
            "FlexRAN: processor time grows linearly with agents: that of 251 is within 25 % of 251/151 of that of 151, on one core"
        }
        Southbound::E2ap => "E2AP: likewise",
    }
}

fn no_overload(southbound: Southbound) -> &'static str {
    match southbound {
        Southbound::FlexRan => {
            "ours, FlexRAN: the paper's overload, 251 agents on one core, is none: below a whole core, and no report is lost"
        }
        Southbound::E2ap => "ours, E2AP: likewise",
    }
}

pub fn fig5(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let measured = measure(context)?;
    let statements = Southbound::ALL.into_iter().flat_map(|southbound| {
        let rss = measured.worst(southbound, MOST, |step| step.rss_mib);
        let growth = measured.at(southbound, MOST, |step| step.rss_slope);
        let [small, flat] = match southbound {
            Southbound::FlexRan => [
                "FlexRAN: the controller needs at most 100 MiB",
                "ours, FlexRAN: with 251 agents, where the paper's controller leaks, memory does not grow: less than a page per second",
            ],
            Southbound::E2ap => ["E2AP: likewise", "ours, E2AP: memory does not grow, likewise"],
        };
        [
            Statement::new(small, text(rss, "MiB"), rss.map(|rss| rss <= 100.0)),
            Statement::new(flat, text(growth, "bytes/s"), growth.map(|growth| growth < FLAT_BYTES_PER_S)),
        ]
    });
    let statements = statements.collect();
    let panel = measured.panel("memory, MiB", |step| step.rss_mib);
    let claim = "memory is small, about 100 MB with 150 agents, and grows over time in overload";
    Ok(measured.report(
        Figure::SdrbenchFig5,
        "SDRBench, Fig. 5: a controller's memory over agents",
        panel,
        claim,
        statements,
    ))
}

pub fn fig6(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let measured = measure(context)?;
    let statements = Southbound::ALL.into_iter().flat_map(|southbound| {
        let low = measured.worst(southbound, 101.0, |step| step.setup_mean_ms);
        let delay = measured.at(southbound, MOST, |step| step.setup_mean_ms);
        let [few, many] = match southbound {
            Southbound::FlexRan => [
                "FlexRAN: with up to 101 agents the mean delay of the next one's hello is at most the paper's 1.5 ms",
                "ours, FlexRAN: with 251 agents on one core, where the paper has 60 ms, it is below a tenth of that",
            ],
            Southbound::E2ap => ["E2AP: likewise for the E2 setup", "ours, E2AP: likewise with 251 nodes"],
        };
        [
            Statement::new(few, text(low, "ms"), low.map(|low| low <= LOW_LOAD_MS)),
            Statement::new(many, text(delay, "ms"), delay.map(|delay| delay < OVERLOAD_MS / 10.0)),
        ]
    });
    let statements = statements.collect();
    let panel = measured.panel("mean delay of the hello, ms", |step| step.setup_mean_ms);
    let claim = "the hello of the n-th agent takes 1.5 ms on average until the controller saturates, then 60 ms";
    Ok(measured.report(
        Figure::SdrbenchFig6,
        "SDRBench, Fig. 6: delay of the n-th agent's hello",
        panel,
        claim,
        statements,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_of_a_report_is_read() {
        let step = serde_json::json!({
            "agents": 51, "cores": 1, "cpu_share": {"mean": 0.5, "ci95": 0.1}, "lost": 2, "rss_bytes": 1 << 20,
            "rss_slope_bytes_per_s": 7.0, "setup_ms": {"mean": 1.5, "p99": 3.0}
        });
        let read = Step::of(&step, Southbound::FlexRan).unwrap();
        assert!((read.cpu_percent - 50.0).abs() < 1e-9 && (read.rss_mib - 1.0).abs() < 1e-9);
        assert_eq!((read.agents, read.lost, read.setup_p99_ms), (51.0, 2.0, 3.0));
        assert!(Step::of(&serde_json::json!({"agents": 1}), Southbound::E2ap).is_none());
    }
}
