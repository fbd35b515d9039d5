//! The report of a run: one JSON document, a page with plots, and CSV files.

pub mod compare;
mod csv;
mod html;
mod merge;
mod text;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, bail};
use bench::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Fit;
use crate::statistics::{Counts, Estimate, Percentiles, fairness};

/// The version of the document. A change that a reader must know increments it.
pub const SCHEMA: &str = "ferric-sdrbench/3";
/// The largest report file that is read.
const MAX_OCTETS: u64 = 256 << 20;

/// The report.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario.
    pub scenario: ScenarioInfo,
    /// The controller.
    pub target: TargetInfo,
    /// The host of the generator.
    pub host: HostInfo,
    /// When the run began, in seconds since 1970.
    pub started_unix_s: u64,
    /// Whether all steps were measured; a run that was interrupted is not complete.
    pub complete: bool,
    /// Whether the controller was measured, and not the generator or the host.
    pub valid: bool,
    /// Why not.
    pub why_invalid: Vec<String>,
    /// Agents of the last step. This value and those until `generator` are those of the last step, the highest load.
    pub agents: u32,
    /// Reports per second that were planned.
    pub offered_per_s: f64,
    /// Reports per second that the applications received.
    pub achieved_per_s: f64,
    /// Reports that did not arrive, in all steps.
    pub lost: u64,
    /// Setup delay of one more agent, in milliseconds.
    pub setup_ms: Percentiles,
    /// From the planned time of a report to its reading by an application, in microseconds.
    pub indication_us: Percentiles,
    /// Processor time of the controller for each report that an application received; `None` of an unknown process.
    pub cpu_us_per_message: Option<f64>,
    /// The growth of its memory.
    pub rss_slope_bytes_per_s: Option<f64>,
    /// The generator.
    pub generator: GeneratorInfo,
    /// All steps.
    pub steps: Vec<StepReport>,
    /// What more cores of the controller cost, where steps differ in these only.
    pub over_cores: Vec<CoresReport>,
    /// The highest load.
    pub knee: Option<KneeReport>,
    /// The queueing model of the controller, after `ferric sdrbench fit`.
    pub model: Option<Fit>,
}

/// The scenario of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioInfo {
    /// Its name.
    pub name: String,
    /// Its file.
    pub text: String,
    /// The limit of the 99th percentile.
    pub limit_ms: f64,
}

/// The controller of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetInfo {
    /// Its address.
    pub url: String,
    /// The protocol of the agents.
    pub southbound: String,
    /// The interface of the applications.
    pub northbound: String,
    /// The address of its REST interface, if the scenario has REST clients.
    pub rest: Option<String>,
    /// Its program, if it runs on the host of the generator.
    pub program: Option<String>,
}

/// The host of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostInfo {
    /// The processor's name.
    pub cpu: String,
    /// The processors available to the generator.
    pub cores: usize,
    /// The operating system's release.
    pub kernel: String,
    /// The load average of the last minute, before the run: other work disturbs a measurement.
    pub load_average: Option<f64>,
}

impl HostInfo {
    /// This host.
    #[must_use]
    pub fn current() -> Self {
        let Host { cpu, cores, kernel } = Host::current();
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        let load_average = load.and_then(|text| text.split_whitespace().next()?.parse().ok());
        HostInfo { cpu, cores, kernel, load_average }
    }
}

/// The generator of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorInfo {
    /// The processor time of the busiest thread of agents, as a share of a core.
    pub cpu_share: f64,
    /// The processor time of the busiest application, which is apart from that of agents, as a share of a core.
    pub applications_cpu_share: f64,
    /// The 99th percentile of the time by which reports were sent late.
    pub lateness_p99_us: f64,
    /// The largest.
    pub lateness_max_us: f64,
    /// The memory of this program, applications included, for each agent.
    pub rss_bytes_per_agent: f64,
}

/// A step: a number of agents, a period, a number of cores.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// Agents of the step.
    pub agents: u32,
    /// The period of their reports.
    pub period_ms: u32,
    /// Cores of the controller, if the scenario sets them.
    pub cores: Option<usize>,
    /// Agents that were set up and subscribed to when the step began.
    pub agents_up: u64,
    /// Whether the controller was measured.
    pub valid: bool,
    /// Why not.
    pub why_invalid: Vec<String>,
    /// Reports per second that were planned.
    pub offered_per_s: Estimate,
    /// Reports per second that arrived, of each application.
    pub achieved_per_s: Estimate,
    /// Mean octets of a report's message.
    pub octets: f64,
    /// Reports that did not arrive.
    pub lost: u64,
    /// Reports that arrived twice.
    pub duplicated: u64,
    /// Reports that arrived after a later one.
    pub reordered: u64,
    /// Jain's index of the reports received of each agent.
    pub fairness: Option<f64>,
    /// Setup delay of one more agent.
    pub setup_ms: Percentiles,
    /// Latency of reports.
    pub indication_us: Percentiles,
    /// The 99th percentile over repetitions.
    pub indication_p99_us: Option<Estimate>,
    /// Latency of slice requests.
    pub control_us: Percentiles,
    /// Latency of subscriptions.
    pub subscription_us: Percentiles,
    /// Requests of xApps that have failed.
    pub failed_requests: u64,
    /// Slice requests by tenant, if there were any.
    pub tenants: Option<TenantsReport>,
    /// REST clients, if the scenario has them.
    pub rest: Option<RestReport>,
    /// Processor time of the controller for each report.
    pub cpu_us_per_message: Option<Estimate>,
    /// Its processor time as a share of a core.
    pub cpu_share: Option<Estimate>,
    /// The part of it in user mode.
    pub cpu_user_share: Option<f64>,
    /// Its threads that used most, with their shares of a core.
    pub threads: Vec<(String, f64)>,
    /// Its memory at the end.
    pub rss_bytes: Option<u64>,
    /// The growth of its memory.
    pub rss_slope_bytes_per_s: Option<f64>,
    /// Its context switches.
    pub switches_per_s: Option<f64>,
    /// The generator.
    pub generator: GeneratorInfo,
    /// Connections that failed or were closed by the controller, setups refused, messages that the protocol does not allow.
    pub connections_lost: u64,
    /// Setups that the controller has refused.
    pub setups_refused: u64,
    /// Messages that the protocol does not allow here.
    pub faults_of_controller: u64,
    /// What the scenario broke, and how long it took to recover.
    pub faults: Vec<FaultReport>,
    /// The course, second by second.
    pub series: Vec<Second>,
    /// The counted values, for exact sums of several programs.
    pub histograms: Histograms,
}

/// The processor time of the controller with several cores beside that with the fewest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoresReport {
    /// Agents of both steps.
    pub agents: u32,
    /// The period of their reports.
    pub period_ms: u32,
    /// Cores of the controller.
    pub cores: usize,
    /// The fewest cores of the same load.
    pub fewest_cores: usize,
    /// The processor time of a report, relative to that with the fewest cores.
    pub cpu_ratio: Estimate,
}

impl CoresReport {
    /// The report of a step beside the one with the fewest cores; `None` if one is not valid, or its processor time is unknown.
    fn of(step: &StepReport, fewest: &StepReport) -> Option<Self> {
        if !(step.valid && fewest.valid) {
            return None;
        }
        let (cpu, base) = (step.cpu_us_per_message?, fewest.cpu_us_per_message?);
        let mean = cpu.mean / base.mean;
        // the errors of two independent means, in the first order
        let of_both = |(ci95, base_ci95): (f64, f64)| mean * (ci95 / cpu.mean).hypot(base_ci95 / base.mean);
        Some(CoresReport {
            agents: step.agents,
            period_ms: step.period_ms,
            cores: step.cores?,
            fewest_cores: fewest.cores?,
            cpu_ratio: Estimate { mean, ci95: cpu.ci95.zip(base.ci95).map(of_both) },
        })
        .filter(|report| report.cpu_ratio.mean.is_finite())
    }
}

impl fmt::Display for CoresReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CoresReport { agents, period_ms, cores, fewest_cores, cpu_ratio: Estimate { mean, ci95 } } = self;
        let error = ci95.map(|ci95| format!(" ± {ci95:.2}")).unwrap_or_default();
        write!(
            f,
            "{agents} agents at {period_ms} ms: a report costs {mean:.2}{error} times as much processor time with {cores} cores as with {fewest_cores}"
        )
    }
}

/// The slice requests of tenants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantsReport {
    /// Tenants whose requests were answered.
    pub count: usize,
    /// Jain's index of the mean delay of each tenant's answers: 1 if none waits longer than the others.
    pub fairness: f64,
    /// The largest mean delay of a tenant, in microseconds.
    pub slowest_us: f64,
}

impl TenantsReport {
    /// The report of the answers of each tenant, and the sum of their delays in nanoseconds; `None` without answers.
    #[must_use]
    pub fn of(tenants: &HashMap<u32, (u64, u64)>) -> Option<Self> {
        let means_us = || tenants.values().map(|(answers, sum_ns)| *sum_ns as f64 / 1e3 / (*answers).max(1) as f64);
        let slowest_us = means_us().reduce(f64::max)?;
        Some(TenantsReport { count: tenants.len(), fairness: fairness(means_us())?, slowest_us })
    }
}

/// The requests of REST clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RestReport {
    /// Requests per second that were planned.
    pub offered_per_s: Estimate,
    /// Requests per second that were answered with success.
    pub achieved_per_s: Estimate,
    /// Requests that were planned.
    pub requests: u64,
    /// Requests with another answer than success, without an answer, or not sent since an answer before was too late.
    pub failed: u64,
    /// The first failure.
    pub failure: Option<String>,
    /// From the planned time of a request to its answer with success, in microseconds. Of a request that was not sent: until it was given up.
    pub latency_us: Percentiles,
    /// The 99th percentile over repetitions.
    pub latency_p99_us: Option<Estimate>,
    /// The 99th percentile of the time by which clients were late that had no answer to wait for: the generator's lateness.
    pub lateness_p99_us: f64,
}

/// A fault and its consequences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultReport {
    /// Its kind.
    pub kind: String,
    /// The repetition, from 0 on.
    pub repetition: usize,
    /// When it began, after the beginning of the repetition.
    pub at_s: f64,
    /// From its beginning until all agents reported again and the 99th percentile of a second was below the limit; `None` if that did not
    /// happen within the repetition.
    pub recovered_after_s: Option<f64>,
}

/// A second of the course.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Its end, after the beginning of the step.
    pub at_s: f64,
    /// Reports received.
    pub reports: u64,
    /// The median of their latency.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The largest.
    pub max_us: f64,
    /// The controller's processor time as a share of a core.
    pub cpu_share: Option<f64>,
    /// Its memory.
    pub rss_bytes: Option<u64>,
}

/// Histograms of nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// Latency of reports.
    pub indication_ns: Counts,
    /// Setup delay.
    pub setup_ns: Counts,
    /// Latency of slice requests.
    pub control_ns: Counts,
    /// Latency of subscriptions.
    pub subscription_ns: Counts,
    /// Lateness of the generator.
    pub lateness_ns: Counts,
    /// Delay of REST requests.
    pub rest_ns: Counts,
}

/// The result of the search for the highest load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeReport {
    /// Cores of the controller, if the scenario sets them.
    pub cores: Option<usize>,
    /// Agents at the highest load within the limit; `None` if the lowest one is beyond it.
    pub agents: Option<u32>,
    /// Reports per second at that load.
    pub reports_per_s: Option<f64>,
    /// Whether the knee may be beyond that load: the highest one of the scenario was still within the limit, or the next one that was
    /// tried is not valid.
    pub is_lower_bound: bool,
    /// The loads that were tried.
    pub tried: Vec<KneeTry>,
}

/// A load of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeTry {
    /// Agents.
    pub agents: u32,
    /// Reports per second that arrived.
    pub achieved_per_s: f64,
    /// The 99th percentile.
    pub p99_us: Option<f64>,
    /// Reports that did not arrive.
    pub lost: u64,
    /// The controller's processor time as a share of a core.
    pub cpu_share: Option<f64>,
    /// Whether the load is within the limit.
    pub is_within: bool,
    /// Why not the controller was measured, if so.
    pub why_invalid: Vec<String>,
}

impl KneeReport {
    /// The lowest load beyond the limit, if not the controller was measured with it: the knee may be higher.
    #[must_use]
    pub fn doubtful(&self) -> Option<&KneeTry> {
        let beyond = self.tried.iter().filter(|load| !load.is_within);
        beyond.min_by_key(|load| load.agents).filter(|load| !load.why_invalid.is_empty())
    }
}

impl Report {
    /// Reads a report.
    ///
    /// # Errors
    /// If the file cannot be read, is no report, or has another version.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = settings::read(path, MAX_OCTETS).with_context(|| format!("cannot read {}", path.display()))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
        match value.get("schema").and_then(|schema| schema.as_str()) {
            Some(SCHEMA) => {}
            Some(other) => bail!("{} has the schema `{other}`; this program reads `{SCHEMA}`", path.display()),
            None => bail!("{} is no report of sdrbench: it has no `schema`", path.display()),
        }
        serde_json::from_value(value).with_context(|| format!("{} is no valid report", path.display()))
    }

    /// The schema of the document, which is in the repository as well.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Report).into()
    }

    /// The document, on one line.
    #[must_use]
    pub fn json(&self) -> String {
        // it contains numbers and texts only, which serialize without errors
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Sets the values at the top from the steps.
    pub fn summarize(&mut self) {
        self.lost = self.steps.iter().map(|step| step.lost).sum();
        self.why_invalid = Vec::new();
        for step in &self.steps {
            let reasons =
                step.why_invalid.iter().map(|why| format!("{} agents at {} ms: {why}", step.agents, step.period_ms));
            self.why_invalid.extend(reasons);
        }
        if self.steps.is_empty() {
            self.why_invalid.push("nothing was measured".to_owned());
        }
        if let Some(load) = self.knee.as_ref().and_then(KneeReport::doubtful) {
            let reasons = load.why_invalid.iter();
            self.why_invalid.extend(reasons.map(|why| format!("knee, with {} agents: {why}", load.agents)));
        }
        self.over_cores = self.compare_cores();
        self.valid = self.why_invalid.is_empty();
        let Some(last) = self.steps.last() else { return };
        self.agents = last.agents;
        self.offered_per_s = last.offered_per_s.mean;
        self.achieved_per_s = last.achieved_per_s.mean;
        self.setup_ms = last.setup_ms;
        self.indication_us = last.indication_us;
        self.cpu_us_per_message = last.cpu_us_per_message.map(|estimate| estimate.mean);
        self.rss_slope_bytes_per_s = last.rss_slope_bytes_per_s;
        self.generator = last.generator;
    }

    fn compare_cores(&self) -> Vec<CoresReport> {
        let load = |step: &StepReport| (step.agents, step.period_ms);
        let of = |step: &StepReport| {
            let same_load = self.steps.iter().filter(|other| load(other) == load(step) && other.cores.is_some());
            let fewest = same_load.min_by_key(|other| other.cores)?;
            CoresReport::of(step, fewest).filter(|report| report.cores > report.fewest_cores)
        };
        self.steps.iter().filter_map(of).collect()
    }
}
