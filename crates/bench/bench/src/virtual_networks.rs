//! The relay of reports through virtual networks: processor time and latency for each level.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use e2sm::{Arena, Model, Wire, mac, pdcp, rlc};
use ferric::e2::{Action, NodeId, SubscriptionSpec};
use ferric::e2ap::{RanFunctionId, RicActionId, RicActionType};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use hdrhistogram::Histogram;
use per::Gather;
use serde::Serialize;

use crate::links::TemporaryPath;
use crate::process::{Process, RicProcess};
use crate::{Host, latency_histogram, median};

/// UEs of the base station.
const UES: usize = 32;
/// The period of the reports.
const PERIOD_MS: u32 = 1;
/// The reports that the xApp subscribes to.
const MODELS: [Model; 3] = [mac::MODEL, rlc::MODEL, pdcp::MODEL];
/// The time before a measurement in which buffers grow and caches warm up.
const WARM_UP: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(20);

/// The result of `ferric bench virtual`: medians of the repetitions, which alternate.
#[derive(Clone, Debug, Serialize)]
pub struct VirtualReport {
    /// UEs of the base station.
    pub ues: usize,
    /// The period of each of the three reports, in milliseconds.
    pub period_ms: u32,
    /// The chains of controllers.
    pub rows: Vec<VirtualRow>,
    /// The host of the measurement.
    pub host: Host,
}

/// Reports through a chain of controllers.
#[derive(Clone, Debug, Serialize)]
pub struct VirtualRow {
    /// Controllers with `--virtual` between the base station and the controller of the xApp.
    pub levels: usize,
    /// UEs in a report to the xApp: others are filtered.
    pub ues: usize,
    /// Indications that the xApp received, in all repetitions.
    pub indications: u64,
    /// Processor time per indication of each controller, from that of the base station to that of the xApp.
    pub cpu_us: Vec<f64>,
    /// The processor time of the first controller divided by that of a controller without virtual networks.
    pub ratio: f64,
    /// Median time from the MAC report's time stamp to the xApp.
    pub p50_us: f64,
    /// The 99th percentile of it.
    pub p99_us: f64,
}

/// A chain of controllers.
#[derive(Clone, Copy)]
struct Case {
    levels: usize,
    /// Whether half of the UEs belong to another operator.
    is_filtered: bool,
}

const CASES: [Case; 4] = [
    Case { levels: 0, is_filtered: false },
    Case { levels: 1, is_filtered: false },
    Case { levels: 2, is_filtered: false },
    Case { levels: 1, is_filtered: true },
];

/// One repetition of a case.
struct Run {
    indications: u64,
    cpu_us: Vec<f64>,
    p50_us: f64,
    p99_us: f64,
}

/// Measures the relay through virtual networks with the program `ferric`.
///
/// # Errors
/// If a process cannot be started or does not answer.
pub fn virtual_networks(ferric: &Path, repetitions: usize, seconds: f64) -> anyhow::Result<VirtualReport> {
    let mut runs = CASES.map(|_| Vec::new());
    for _ in 0..repetitions {
        for (case, runs) in CASES.into_iter().zip(&mut runs) {
            runs.push(measure(ferric, case, seconds)?);
        }
    }
    let first_cpu_us = |runs: &[Run]| median(runs.iter().map(|run| run.cpu_us[0]).collect());
    let without_us = first_cpu_us(&runs[0]);
    let row = |(case, runs): (Case, &Vec<Run>)| VirtualRow {
        levels: case.levels,
        ues: if case.is_filtered { UES / 2 } else { UES },
        indications: runs.iter().map(|run| run.indications).sum(),
        cpu_us: (0..=case.levels).map(|at| median(runs.iter().map(|run| run.cpu_us[at]).collect())).collect(),
        ratio: first_cpu_us(runs) / without_us,
        p50_us: median(runs.iter().map(|run| run.p50_us).collect()),
        p99_us: median(runs.iter().map(|run| run.p99_us).collect()),
    };
    let rows = CASES.into_iter().zip(&runs).map(row).collect();
    Ok(VirtualReport { ues: UES, period_ms: PERIOD_MS, rows, host: Host::current() })
}

fn measure(ferric: &Path, case: Case, seconds: f64) -> anyhow::Result<Run> {
    let text = |path: &TemporaryPath| path.0.to_string_lossy().into_owned();
    // from the controller of the xApp to that of the base station
    let mut controllers = vec![RicProcess::start(ferric, &[])?];
    let other = if case.is_filtered { Some(RicProcess::start(ferric, &[])?) } else { None };
    let mut files = Vec::new();
    for _ in 0..case.levels {
        let tenant = |name: &str, plmn: &str, share: u32, ric: &RicProcess| {
            let e2 = &ric.e2;
            format!("[[tenant]]\nname = \"{name}\"\nshare_percent = {share}\nplmn = \"{plmn}\"\nric = \"{e2}\"\n")
        };
        let ric = controllers.last().context("a controller")?;
        let agreements = match &other {
            Some(other) => tenant("a", "00101", 50, ric) + &tenant("b", "00102", 50, other),
            None => tenant("a", "00101", 100, ric),
        };
        let file = TemporaryPath::new("sla.toml");
        std::fs::write(&file.0, agreements)?;
        controllers.push(RicProcess::start(ferric, &["--virtual", &text(&file)])?);
        files.push(file);
    }
    controllers.reverse();
    let ues = |count: usize, plmn: &str| {
        format!("[[ue]]\ncount = {count}\nplmn = \"{plmn}\"\n[[ue.flow]]\nkind = \"greedy\"\n")
    };
    let all = if case.is_filtered { ues(UES / 2, "00101") + &ues(UES / 2, "00102") } else { ues(UES, "00101") };
    let scenario = TemporaryPath::new("shared.toml");
    std::fs::write(&scenario.0, format!("[[cell]]\n{all}"))?;
    let e2 = controllers[0].e2.to_string();
    let options = ["--log", "error", "ran", "--ric", &e2, "--scenario", &text(&scenario)];
    let _ran = Process::start(ferric, &options, 0)?;

    let address = &controllers[case.levels].xapp;
    let mut sink = Sink::connect(address, if case.is_filtered { UES / 2 } else { UES })?;
    sink.receive_for(WARM_UP)?;
    let cpu_ns = || controllers.iter().map(|ric| ric.process.cpu_ns()).collect::<anyhow::Result<Vec<_>>>();
    sink.reset();
    let before = cpu_ns()?;
    sink.receive_for(Duration::from_secs_f64(seconds))?;
    let after = cpu_ns()?;
    ensure!(sink.indications > 0, "no reports from the base station");
    let per_indication = |(before, after): (&u64, &u64)| (after - before) as f64 / 1e3 / sink.indications as f64;
    let quantile_us = |quantile| sink.latencies_us.value_at_quantile(quantile) as f64;
    Ok(Run {
        indications: sink.indications,
        cpu_us: before.iter().zip(&after).map(per_indication).collect(),
        p50_us: quantile_us(0.5),
        p99_us: quantile_us(0.99),
    })
}

/// The xApp.
struct Sink {
    xapp: Xapp,
    /// The function of MAC, and its encoding.
    mac: (RanFunctionId, Wire),
    indications: u64,
    latencies_us: Histogram<u64>,
    /// UEs in the last MAC report.
    ues: usize,
}

impl Sink {
    /// Subscribes to the reports of the first node, and waits until they contain all UEs.
    fn connect(address: &ferric::link::Address, ues: usize) -> anyhow::Result<Sink> {
        let mut xapp = Xapp::connect(address, "bench", XappConfig { reconnect: None, ..XappConfig::default() })?;
        let deadline = Instant::now() + PATIENCE;
        let mut functions: Option<(NodeId, Vec<(RanFunctionId, Wire)>)> = None;
        while functions.is_none() {
            if Instant::now() > deadline {
                bail!("no base station within {} s", PATIENCE.as_secs());
            }
            xapp.poll(Some(Duration::from_millis(100)), |event, _| {
                if let XappEvent::NodeUp(node) = event {
                    let of = |model: &Model| {
                        node.functions.iter().find_map(|known| Some((known.id, model.wire_of(&known.oid)?)))
                    };
                    functions = MODELS.iter().map(of).collect::<Option<_>>().map(|all| (node.id, all));
                }
            })?;
        }
        let (node, functions) = functions.context("statistics of a base station")?;
        for (function, wire) in &functions {
            let mut event_trigger = Vec::new();
            mac::EventTriggerDefinition { period_ms: PERIOD_MS }.encode(*wire, &mut event_trigger)?;
            let (id, kind) = (RicActionId(1), RicActionType::Report);
            let actions = vec![Action { id, kind, definition: None, subsequent: None }];
            xapp.commands().subscribe(node, *function, SubscriptionSpec { event_trigger, actions });
        }
        let mut sink = Sink { xapp, mac: functions[0], indications: 0, latencies_us: latency_histogram(), ues: 0 };
        while sink.ues < ues {
            if Instant::now() > deadline {
                bail!("{} of {ues} UEs in the reports within {} s", sink.ues, PATIENCE.as_secs());
            }
            sink.receive_for(Duration::from_millis(50))?;
        }
        Ok(sink)
    }

    fn reset(&mut self) {
        self.indications = 0;
        self.latencies_us.reset();
    }

    fn receive_for(&mut self, span: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + span;
        let Sink { xapp, mac, indications, latencies_us, ues } = self;
        let mut failed = None;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return failed.map_or(Ok(()), Err);
            }
            xapp.poll(Some(left), |event, _| match event {
                XappEvent::Indication(indication) => {
                    *indications += 1;
                    let gather = Gather::new();
                    let Ok(decoded) = indication.decode(&gather) else { return };
                    if decoded.ran_function_id != mac.0 {
                        return;
                    }
                    let (message, arena) = (decoded.message.to_cow(), Arena::new());
                    let Ok(report) = mac::IndicationMessage::decode(&message, mac.1, &arena) else { return };
                    *ues = report.ues.len();
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
                    *latencies_us += (now as u64).saturating_sub(report.timestamp_us as u64);
                }
                XappEvent::Request(RequestEvent::SubscriptionFailed { error, .. }) => {
                    failed = Some(anyhow::Error::from(error));
                }
                _ => {}
            })?;
        }
    }
}

impl fmt::Display for VirtualReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} cores, Linux {})\n", self.host.cpu, self.host.cores, self.host.kernel)?;
        writeln!(
            f,
            "{} UEs; reports of MAC, RLC and PDCP each {} ms through virtual networks; processor time in us per indication",
            self.ues, self.period_ms
        )?;
        writeln!(
            f,
            "  {:>6} {:>5} {:>11} {:>24} {:>6} {:>8} {:>8}",
            "levels", "UEs", "indications", "controllers, us/ind", "ratio", "p50 us", "p99 us"
        )?;
        for row in &self.rows {
            let cpu_us: Vec<String> = row.cpu_us.iter().map(|cpu_us| format!("{cpu_us:.2}")).collect();
            writeln!(
                f,
                "  {:>6} {:>5} {:>11} {:>24} {:>6.2} {:>8.0} {:>8.0}",
                row.levels,
                row.ues,
                row.indications,
                cpu_us.join(" + "),
                row.ratio,
                row.p50_us,
                row.p99_us
            )?;
        }
        Ok(())
    }
}
