//! Conflict mitigation: two xApps that set the quota of the same network slice, one for its throughput and one for the delay of another
//! slice, without a rule and with each policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use conflicts::{ConflictConfig, ConflictRules};
use e2sm::rc::ControlAction;
use ferric::e2::Time;
use ferric::xapp::{Error, KpmStream, Quota, Ric};
use radio::Network;
use ran::Scenario;
use ran::scenario::ScenarioFolders;
use use_cases::PeriodicXapp;

use super::{Context, Controller, FigureReport, start_ran};
use crate::statistics::{mean, quantile};
use crate::table::{Cell, Table};
use crate::testbed::start_ric_with;
use crate::{Figure, Setting, Statement};
use plot::{Panel, Plot, Series, X};

/// The period of reports, and the length of a step.
const STEP: Duration = Duration::from_millis(500);
/// Seconds of the model per second of a point.
const LENGTH: f64 = 15.0;
/// What the first xApp wants for slice 1, in Mbit/s.
const TARGET_MBPS: f64 = 42.0;
/// What the second xApp wants for slice 2, in milliseconds.
const TARGET_MS: f64 = 30.0;
/// The part of the goal within which an xApp leaves its request as it is.
const SLACK: f64 = 0.9;
/// The change of a request in a turn, in percentage points, and its range.
const CHANGE: u8 = 5;
const RANGE: (u8, u8) = (10, 90);
/// What a quota is at first.
const BEGIN: u8 = 50;
/// The xApps, as the rules name them.
const NAMES: [&str; 2] = ["throughput", "delay"];

/// Two UEs, each in a network slice of its own: the first one takes all that it gets, the second one has 28 Mbit/s.
const SCENARIO: &str = r#"
seed = 1

[[cell]]

[[ue]]
sst = 1
mcs = 20
[[ue.flow]]
kind = "cbr"
rate_bps = 100_000_000
packet_octets = 1400

[[ue]]
sst = 2
mcs = 20
[[ue.flow]]
kind = "cbr"
rate_bps = 28_000_000
packet_octets = 1400
"#;

/// What is done about the conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mitigation {
    None,
    First,
    Cooldown,
    PriorityOfThroughput,
    PriorityOfDelay,
    MergeMean,
    MergeMin,
}

impl Mitigation {
    const ALL: [Mitigation; 7] = [
        Mitigation::None,
        Mitigation::First,
        Mitigation::Cooldown,
        Mitigation::PriorityOfThroughput,
        Mitigation::PriorityOfDelay,
        Mitigation::MergeMean,
        Mitigation::MergeMin,
    ];

    fn name(self) -> &'static str {
        match self {
            Mitigation::None => "none",
            Mitigation::First => "first",
            Mitigation::Cooldown => "cooldown",
            Mitigation::PriorityOfThroughput => "priority: throughput",
            Mitigation::PriorityOfDelay => "priority: delay",
            Mitigation::MergeMean => "merge: mean",
            Mitigation::MergeMin => "merge: min",
        }
    }

    /// The rules, as a file has them.
    fn rules(self) -> Option<String> {
        let (policy, preferred) = match self {
            Mitigation::None => return None,
            Mitigation::First => ("policy = \"first\"\nhold_ms = 4200", None),
            Mitigation::Cooldown => ("policy = \"cooldown\"\nhold_ms = 1400", None),
            Mitigation::PriorityOfThroughput => ("policy = \"priority\"", Some(0)),
            Mitigation::PriorityOfDelay => ("policy = \"priority\"", Some(1)),
            Mitigation::MergeMean => ("policy = \"merge\"\nmerge = \"mean\"", None),
            Mitigation::MergeMin => ("policy = \"merge\"\nmerge = \"min\"", None),
        };
        let priority = preferred.map(|xapp: usize| format!("[[xapp]]\nname = \"{}\"\npriority = 1\n", NAMES[xapp]));
        let id = ControlAction::SLICE_PRB_QUOTA;
        let rule = format!("[[rule]]\nparameter = \"rc/{}/{}\"\n{policy}\n", id.style.0, id.action.0);
        Some(priority.unwrap_or_default() + &rule)
    }
}

/// What an xApp wants.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// As much throughput of slice 1.
    Throughput,
    /// As little delay of slice 2.
    Delay,
}

/// An xApp that asks every second step for the quota of slice 1 by which it reaches its goal.
struct QuotaXapp {
    ric: Ric,
    goal: Goal,
    records: KpmStream,
    /// The share of the cell that slice 1 is to be guaranteed.
    min_percent: u8,
    step: u64,
    counts: Arc<Counts>,
}

/// How often an xApp has set the quota, and how often it was refused.
#[derive(Debug, Default)]
struct Counts {
    set: AtomicU64,
    refused: AtomicU64,
}

impl QuotaXapp {
    fn new(ric: &Ric, goal: Goal, counts: Arc<Counts>) -> Result<Self, Error> {
        let (measurement, slice) = match goal {
            Goal::Throughput => ("DRB.UEThpDl", "1"),
            Goal::Delay => ("DRB.RlcSduDelayDl", "2"),
        };
        let records = ric.kpm([measurement]).slice(slice).every(STEP.as_millis() as u32)?;
        Ok(QuotaXapp { ric: ric.clone(), goal, records, min_percent: BEGIN, step: 0, counts })
    }

    /// The change of the request: 1 for more of slice 1, -1 for less. `value` is in the unit of the measurement.
    fn direction(&self, value: Option<f64>) -> i8 {
        match (self.goal, value) {
            // kbit/s
            (Goal::Throughput, Some(kbps)) if kbps > 1e3 * TARGET_MBPS => -1,
            (Goal::Throughput, Some(kbps)) if kbps > 1e3 * TARGET_MBPS * SLACK => 0,
            (Goal::Throughput, _) => 1,
            // 0.1 ms; without a value no packet was sent
            (Goal::Delay, Some(delay)) if delay < 10.0 * TARGET_MS * (1.0 - SLACK) => 1,
            (Goal::Delay, Some(delay)) if delay < 10.0 * TARGET_MS => 0,
            (Goal::Delay, _) => -1,
        }
    }
}

impl PeriodicXapp for QuotaXapp {
    fn step(&mut self, print: &mut dyn FnMut(String)) -> Result<bool, Error> {
        let Some(record) = self.records.next_record()? else { return Ok(false) };
        let value = record.values().next().and_then(|(_, value)| value.number());
        let is_turn = self.step % 2 == self.goal as u64;
        self.step += 1;
        if !is_turn {
            return Ok(true);
        }
        let change = i16::from(self.direction(value)) * i16::from(CHANGE);
        let wanted = (i16::from(self.min_percent) + change).clamp(RANGE.0.into(), RANGE.1.into());
        self.min_percent = wanted as u8; // at most 100
        match self.ric.quota("1", Quota { min_percent: self.min_percent, ..Quota::default() }) {
            Ok(_) => self.counts.set.fetch_add(1, Ordering::Relaxed),
            Err(Error::Refused { cause, .. }) => {
                print(format!("quota of {wanted} %: {cause}"));
                self.counts.refused.fetch_add(1, Ordering::Relaxed)
            }
            Err(error) => return Err(error),
        };
        Ok(true)
    }
}

/// What the model did in each step.
#[derive(Clone, Debug, Default, PartialEq)]
struct Course {
    /// What slice 1 has received, in Mbit/s.
    mbps: Vec<f64>,
    /// The mean delay of the packets of slice 2 that have arrived, in milliseconds.
    delay_ms: Vec<f64>,
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    mitigation: Mitigation,
    course: Course,
    /// By xApp.
    set: [u64; 2],
    refused: [u64; 2],
}

/// The octets that the first UE has received, and the number of packets of the second one with the sum of their delays.
fn counters(network: &Network) -> (u64, u64, f64) {
    let (mut octets, mut packets, mut sum_ms) = (0, 0, 0.0);
    for (ue, _) in network.ue_states() {
        for flow in ue.flows() {
            let downlink = &flow.counts().downlink;
            if ue.number() == 0 {
                octets += downlink.received_octets;
            } else {
                packets += downlink.delay.count();
                sum_ms += downlink.delay.mean_ms().unwrap_or(0.0) * downlink.delay.count() as f64;
            }
        }
    }
    (octets, packets, sum_ms)
}

fn run(mitigation: Mitigation, steps: usize) -> anyhow::Result<Run> {
    let folders = ScenarioFolders::with_traces(std::path::Path::new("."));
    let scenario = Scenario::from_toml(SCENARIO, &folders)?;
    let rules = mitigation.rules().map(|text| ConflictRules::parse(&text)).transpose()?;
    // holds are in the time of the model
    let time = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&time);
    let (ric, addresses) = start_ric_with(move |config| {
        let clock = Arc::new(move || Time::from_nanos(clock.load(Ordering::Relaxed)));
        config.conflicts = rules.map(|rules| ConflictConfig { rules, audit: None, clock: Some(clock) });
    })?;
    let mut ran = start_ran(&addresses.e2, scenario)?;
    let counts = [Arc::new(Counts::default()), Arc::new(Counts::default())];
    let mut controllers = Vec::new();
    for ((goal, name), counts) in [Goal::Throughput, Goal::Delay].into_iter().zip(NAMES).zip(&counts) {
        let counts = Arc::clone(counts);
        let make = move |ric: &Ric| Ok(Box::new(QuotaXapp::new(ric, goal, counts)?) as Box<dyn PeriodicXapp>);
        controllers.push(Controller::start(&addresses.xapp, name, &mut ran, make)?);
    }
    let mut course = Course::default();
    let mut before = counters(&ran.network());
    for _ in 0..steps {
        ran.step(STEP)?;
        time.fetch_add(STEP.as_nanos() as u64, Ordering::Relaxed);
        let now = counters(&ran.network());
        course.mbps.push((now.0 - before.0) as f64 * 8e-6 / STEP.as_secs_f64());
        let delay_ms = (now.2 - before.2) / (now.1 - before.1).max(1) as f64;
        course.delay_ms.push(delay_ms);
        before = now;
        for controller in &controllers {
            controller.serve(&mut ran)?;
        }
    }
    drop(controllers);
    drop(ran);
    ric.end()?;
    let load = |of: fn(&Counts) -> &AtomicU64| [0, 1].map(|xapp: usize| of(&counts[xapp]).load(Ordering::Relaxed));
    Ok(Run { mitigation, course, set: load(|counts| &counts.set), refused: load(|counts| &counts.refused) })
}

impl Run {
    /// The second half, which is judged: both xApps have found what they ask for.
    fn half(values: &[f64]) -> &[f64] {
        &values[values.len() / 2..]
    }

    fn mbps(&self) -> f64 {
        mean(Run::half(&self.course.mbps))
    }

    fn delay_ms(&self) -> f64 {
        mean(Run::half(&self.course.delay_ms))
    }

    fn high_delay_ms(&self) -> f64 {
        quantile(Run::half(&self.course.delay_ms), 0.95).unwrap_or(f64::NAN)
    }

    /// The mean change of the throughput from step to step, in Mbit/s.
    fn unrest_mbps(&self) -> f64 {
        mean(&Run::half(&self.course.mbps).windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect::<Vec<_>>())
    }
}

pub(in super::super) fn conflicts(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let steps = (context.seconds * LENGTH / STEP.as_secs_f64()).round().max(8.0) as usize;
    let runs: Vec<Run> = Mitigation::ALL.into_iter().map(|one| run(one, steps)).collect::<anyhow::Result<_>>()?;
    Ok(report(&runs))
}

fn of(runs: &[Run], mitigation: Mitigation) -> &Run {
    let found = runs.iter().find(|run| run.mitigation == mitigation);
    found.unwrap_or_else(|| panic!("there is a run with each policy"))
}

fn statements(runs: &[Run]) -> Vec<Statement> {
    let none = of(runs, Mitigation::None);
    let (throughput, delay) = (of(runs, Mitigation::PriorityOfThroughput), of(runs, Mitigation::PriorityOfDelay));
    let (mean_of_both, min) = (of(runs, Mitigation::MergeMean), of(runs, Mitigation::MergeMin));
    let (first, cooldown) = (of(runs, Mitigation::First), of(runs, Mitigation::Cooldown));
    let pair = |run: &Run| format!("{:.1} Mbit/s and {:.1} ms", run.mbps(), run.delay_ms());
    vec![
        Statement::new(
            "without a rule the xApps undo each other's quota: the throughput changes from step to step by at least three times as much \
             as with either priority",
            format!(
                "{:.1} Mbit/s without, {:.1} and {:.1} with priority",
                none.unrest_mbps(),
                throughput.unrest_mbps(),
                delay.unrest_mbps()
            ),
            none.unrest_mbps() >= 3.0 * throughput.unrest_mbps().max(delay.unrest_mbps()),
        ),
        Statement::new(
            "the xApp with priority reaches its goal within 10 %, and the other one misses its own by more than 10 %",
            format!("throughput: {}; delay: {}", pair(throughput), pair(delay)),
            throughput.mbps() >= 0.9 * TARGET_MBPS
                && throughput.delay_ms() > 1.1 * TARGET_MS
                && delay.delay_ms() <= 1.1 * TARGET_MS
                && delay.mbps() < 0.9 * TARGET_MBPS,
        ),
        Statement::new(
            "the xApp without priority is refused each time once the other one has set the quota",
            format!(
                "{} and {} refusals of {} and {}",
                throughput.refused[1],
                delay.refused[0],
                turns(throughput, 1),
                turns(delay, 0)
            ),
            throughput.refused[1] == turns(throughput, 1) && delay.refused[0] + 1 >= turns(delay, 0),
        ),
        Statement::new(
            "where requests are combined, nobody is refused, and the delay is at most a quarter of that without a rule",
            format!("without: {}; mean: {}; minimum: {}", pair(none), pair(mean_of_both), pair(min)),
            [mean_of_both, min].iter().all(|run| run.refused == [0, 0] && run.delay_ms() <= 0.25 * none.delay_ms()),
        ),
        Statement::new(
            "with hold times, both xApps are refused at times, and both set the quota",
            format!(
                "first: {:?} set, {:?} refused; cooldown: {:?} and {:?}",
                first.set, first.refused, cooldown.set, cooldown.refused
            ),
            [first, cooldown].iter().all(|run| run.set.iter().chain(&run.refused).all(|count| *count > 0)),
        ),
    ]
}

/// How often an xApp has asked.
fn turns(run: &Run, xapp: usize) -> u64 {
    run.set[xapp] + run.refused[xapp]
}

fn report(runs: &[Run]) -> FigureReport {
    let statements = statements(runs);
    let mut values = Table::new([
        "policy",
        "slice_1_mbps",
        "slice_2_delay_ms",
        "slice_2_delay_p95_ms",
        "unrest_mbps",
        "throughput_set",
        "throughput_refused",
        "delay_set",
        "delay_refused",
    ]);
    let mut course = Table::new(["policy", "time_s", "slice_1_mbps", "slice_2_delay_ms"]);
    let times = || (1..).map(|step| f64::from(step) * STEP.as_secs_f64());
    for run in runs {
        let numbers = [run.mbps(), run.delay_ms(), run.high_delay_ms(), run.unrest_mbps()];
        let counts = [run.set[0], run.refused[0], run.set[1], run.refused[1]].map(|count| count as f64);
        let numbers = numbers.into_iter().chain(counts).map(Cell::from);
        values.row([Cell::from(run.mitigation.name())].into_iter().chain(numbers));
        for ((time_s, mbps), delay_ms) in times().zip(&run.course.mbps).zip(&run.course.delay_ms) {
            let numbers = [time_s, *mbps, *delay_ms].map(Cell::from);
            course.row([Cell::from(run.mitigation.name())].into_iter().chain(numbers));
        }
    }
    let over_time = |y_label: &str, of: fn(&Course) -> &Vec<f64>| Panel {
        x: X::Numbers("time, s".into()),
        y_label: y_label.into(),
        series: runs
            .iter()
            .map(|run| Series::new(run.mitigation.name(), times().zip(of(&run.course).iter().copied()).collect()))
            .collect(),
        marks: Vec::new(),
    };
    let names = runs.iter().map(|run| run.mitigation.name().to_owned()).collect::<Vec<_>>();
    let by_policy = |y_label: &str, name: &str, value: fn(&Run) -> f64| Panel {
        x: X::Categories(names.clone()),
        y_label: y_label.into(),
        series: vec![Series::new(name, (0..).map(f64::from).zip(runs.iter().map(value)).collect())],
        marks: Vec::new(),
    };
    let panels = vec![
        by_policy("throughput of slice 1, Mbit/s", "mean of the second half", Run::mbps),
        by_policy("delay of slice 2, ms", "mean of the second half", Run::delay_ms),
        over_time("throughput of slice 1, Mbit/s", |course| &course.mbps),
        over_time("delay of slice 2, ms", |course| &course.delay_ms),
    ];
    FigureReport {
        figure: Figure::Conflicts,
        setting: Setting {
            paper: "none: an experiment of ours, after the direct conflicts of O-RAN's near-RT RIC architecture",
            ours: "a cell with two UEs, each in a network slice of its own: slice 1 is sent more than the cell carries, slice 2 28 Mbit/s. One xApp asks \
                   for the guaranteed share of slice 1 (E2SM-RC, slice-level PRB quota) with which it has 42 Mbit/s, the other one for that with which the \
                   delay of slice 2 is below 30 ms: both goals together need more than the cell has. They read E2SM-KPM every 500 ms and ask \
                   in turns, each every second. Both over E2 and TCP, with the rules on conflicts in the RIC. The model advances in steps, and \
                   stands until both have decided and their controls are answered; holds are in its time. The second half is evaluated",
            differs: Vec::new(),
        },
        plot: Plot { title: "Two xApps that set the same quota, by the policy on conflicts".into(), panels },
        claim: "without mitigation two xApps with opposite goals undo each other's settings; each policy ends that at another cost, which is \
                that of the goal that it puts behind",
        judged: "statement by statement; the claim holds if all do. There is no chance in the scenario, and no other run: the limits were fixed \
                 with it",
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values,
        summary: None,
        samples: None,
        course: Some(course),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_identical_and_the_weaker_xapp_is_refused() {
        let first = run(Mitigation::PriorityOfDelay, 8).unwrap();
        assert_eq!(first, run(Mitigation::PriorityOfDelay, 8).unwrap());
        assert_eq!((first.set, first.refused), ([1, 4], [3, 0]));
        let none = run(Mitigation::None, 8).unwrap();
        assert_eq!((none.set, none.refused), ([4, 4], [0, 0]));
        assert_ne!(none.course, first.course);
    }

    #[test]
    fn claim_holds_over_half_a_minute_of_the_model() {
        let runs: Vec<_> = Mitigation::ALL.into_iter().map(|mitigation| run(mitigation, 60).unwrap()).collect();
        let report = report(&runs);
        println!("{report}");
        assert_eq!(report.holds, Some(true), "{report}");
    }
}
