//! Paper 001 (SDRBench), figures 4 to 6: processor time, memory and hello delay of a controller over agents, with one core and two.

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
/// The paper's mean delay of one core and 251 agents is 60 ms, against 1.5 ms of up to 101 agents.
const OVERLOAD_MS: f64 = 60.0;
/// A growth of memory below this in bytes per second, a page, is none.
const FLAT_BYTES_PER_S: f64 = 4096.0;

/// A step of the benchmark's report.
struct Step {
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
    fn of(step: &Value) -> Option<Self> {
        let number = |pointer: &str| step.pointer(pointer)?.as_f64();
        Some(Step {
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

/// Runs `ferric-sdrbench` against `ferric ric`.
fn measure(context: &Context<'_>) -> anyhow::Result<Measured> {
    let program = context.ferric.with_file_name("ferric-sdrbench");
    if !program.exists() {
        bail!("{} does not exist; `cargo build --release -p ferric-sdrbench-cli` builds it", program.display());
    }
    let ric = RicProcess::start(context.ferric, &[])?;
    let cores: Vec<usize> = (1..=std::thread::available_parallelism().map_or(1, usize::from).min(2)).collect();
    let scenario = format!(
        "warm_up_s = 1\nduration_s = {}\nrepetitions = {REPETITIONS}\nmax_lateness_ms = 60000\n[agents]\ncount = {AGENTS:?}\n\
         period_ms = 100\nprobes_per_s = 20\n[target]\ncores = {cores:?}\n",
        context.seconds.max(0.5)
    );
    let folder = Folder(std::env::temp_dir().join(format!("ferric-paper-sdrbench-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).with_context(|| format!("cannot create {}", folder.0.display()))?;
    let path = folder.0.join("agents.toml");
    std::fs::write(&path, scenario).with_context(|| format!("cannot write {}", path.display()))?;
    let output = std::process::Command::new(&program)
        .args(["run", "--quiet", "--json", "--target", &ric.e2.to_string(), "--xapp", &ric.xapp.to_string()])
        .arg("--scenario")
        .arg(&path)
        .arg("--out")
        .arg(folder.0.join("report"))
        .output()
        .with_context(|| format!("cannot execute {}", program.display()))?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let report: Value = serde_json::from_slice(&output.stdout).context("ferric-sdrbench printed no report")?;
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let steps: Option<Vec<Step>> = list("steps").iter().map(Step::of).collect();
    let texts = list("why_invalid").into_iter().filter_map(|why| Some(why.as_str()?.to_owned()));
    Ok(Measured { steps: steps.context("the report lacks a value")?, why_invalid: texts.collect() })
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
    /// A value over agents, a line for each number of cores.
    fn panel(&self, y_label: &str, value: impl Fn(&Step) -> f64) -> Panel {
        let series = [1.0, 2.0].map(|cores| {
            let of_cores = self.steps.iter().filter(|step| step.cores == cores);
            Series::new(format!("{cores} cores"), of_cores.map(|step| (step.agents, value(step))).collect())
        });
        let series = series.into_iter().filter(|series| !series.points.is_empty()).collect();
        Panel { x: X::Numbers("agents".into()), y_label: y_label.into(), series, marks: Vec::new() }
    }

    /// The value with one core and the most agents.
    fn highest(&self, value: impl Fn(&Step) -> f64) -> Option<f64> {
        self.steps.iter().filter(|step| step.cores == 1.0).max_by(|a, b| a.agents.total_cmp(&b.agents)).map(value)
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
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
            let Step { agents, cores, cpu_percent, cpu_ci95, lost, rss_mib, rss_slope, setup_mean_ms, setup_p99_ms } =
                *step;
            let row = [agents, cores, cpu_percent, cpu_ci95, lost, rss_mib, rss_slope, setup_mean_ms, setup_p99_ms];
            table.row(row.map(Cell::from));
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
                ours: "as many E2 nodes send KPM reports each 100 ms to `ferric ric`, which may use one core and two; an xApp \
                       receives them; 4 repetitions, without the first second of each load",
                differs: vec![
                    "E2AP instead of the FlexRAN protocol, and another controller",
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

pub fn fig4(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let measured = measure(context)?;
    let (cpu, lost) = (measured.highest(|step| step.cpu_percent), measured.highest(|step| step.lost));
    let half =
        measured.steps.iter().find(|step| step.cores == 1.0 && step.agents == 151.0).map(|step| step.cpu_percent);
    let statements = vec![
        Statement::new(
            "processor time grows linearly with agents: that of 251 is within 25 % of 251/151 of that of 151, on one core",
            format!("{} and {}", text(half, "%"), text(cpu, "%")),
            half.zip(cpu).map(|(half, cpu)| (cpu / half / (251.0 / 151.0) - 1.0).abs() <= 0.25),
        ),
        Statement::new(
            "ours: the paper's overload, 251 agents on one core, is none: below a whole core, and no report is lost",
            format!("{}, {} lost", text(cpu, "%"), text(lost, "reports")),
            cpu.zip(lost).map(|(cpu, lost)| cpu < 100.0 && lost == 0.0),
        ),
    ];
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

pub fn fig5(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let measured = measure(context)?;
    let (rss, growth) = (measured.highest(|step| step.rss_mib), measured.highest(|step| step.rss_slope));
    let statements = vec![
        Statement::new("the controller needs at most 100 MiB", text(rss, "MiB"), rss.map(|rss| rss <= 100.0)),
        Statement::new(
            "ours: with 251 agents, where the paper's controller leaks, memory does not grow: less than a page per second",
            text(growth, "bytes/s"),
            growth.map(|growth| growth < FLAT_BYTES_PER_S),
        ),
    ];
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
    let delay = measured.highest(|step| step.setup_mean_ms);
    let low = measured.steps.iter().filter(|step| step.agents <= 101.0).map(|step| step.setup_mean_ms).reduce(f64::max);
    let statements = vec![
        Statement::new(
            "with up to 101 agents the mean delay of the next one's hello is below 3 ms",
            text(low, "ms"),
            low.map(|low| low < 3.0),
        ),
        Statement::new(
            "ours: with 251 agents on one core, where the paper has 60 ms, it is below a tenth of that",
            text(delay, "ms"),
            delay.map(|delay| delay < OVERLOAD_MS / 10.0),
        ),
    ];
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
        let read = Step::of(&step).unwrap();
        assert!((read.cpu_percent - 50.0).abs() < 1e-9 && (read.rss_mib - 1.0).abs() < 1e-9);
        assert_eq!((read.agents, read.lost, read.setup_p99_ms), (51.0, 2.0, 3.0));
        assert!(Step::of(&serde_json::json!({"agents": 1})).is_none());
    }
}
