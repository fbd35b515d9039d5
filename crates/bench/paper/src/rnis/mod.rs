//! The measurements of paper 003 (Arora, Frangoudis, Ksentini: "Exposing radio network information in a MEC-in-NFV environment: the
//! RNISaaS concept", EURECOM RR-19-339), and the message rate that it leaves open.
//!
//! RabbitMQ and Kafka run in the paper's topology and in ours, beside the broker in the process of the service.

mod latency;
mod rate;
mod resources;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bench::rnis::{Arrangement, Brokers, RnisLoad, RnisRun, WITHOUT_BROKERS};

use crate::table::{Cell, Table};
use crate::vbbu::host::HostTime;
use crate::{Context, FigureReport, Setting, Statement};
use plot::{Panel, Series, X};

pub(super) use latency::{fig5, fig6, fig7};
pub(super) use rate::rate;
pub(super) use resources::{Resource, resources};

/// The paper's message rate.
const RATE_PER_S: u32 = 10;
/// The largest number of subscribers, and of subscriptions of each.
const SUBSCRIBERS: usize = 50;
const SUBSCRIPTIONS: usize = 8;
/// The paper's bound of the average latency.
const BOUND_MS: f64 = 50.0;
/// The brokers in the paper's topology.
const RABBITMQ: Arrangement = Arrangement::RabbitMqSubscriber;
const KAFKA: Arrangement = Arrangement::KafkaSubscriber;
/// What other programs may use during a measurement, in percent of a CPU.
const MAX_FOREIGN_PERCENT: f64 = 20.0;
/// A measurement that the host disturbs is repeated so often.
const REPEATS: usize = 2;

const PAPER: &str = "RabbitMQ 3.77 and Kafka 2.0.0 on a 4-core i5-3470 with 16 GB, the service in Python 2.7; a queue per subscriber with \
                     a headers exchange, a topic and a consumer per subscription with a group per subscriber; unacknowledged; HTTP \
                     callbacks; all on one host; 10,000 messages";
const OURS: &str = "`ferric-rnis` with its load generator, 50 subscribers with an HTTP server each, RabbitMQ and Kafka of this host, \
                    unacknowledged: in the paper's topology (subscriber), with one queue or topic and the matching in the service \
                    (shared), and the embedded broker; all on one host";

/// The differences that all measurements have.
fn differs() -> Vec<&'static str> {
    vec![
        "another host with other versions of both brokers, and Kafka without Zookeeper",
        "Java with a heap of at most 512 MB and the serial collector, not 4 GB and G1",
        "brokers have no priority over other processes (`nice`)",
        "fewer messages: `--seconds` for each point",
    ]
}

fn setting() -> Setting {
    Setting { paper: PAPER, ours: OURS, differs: differs() }
}

/// The program and the brokers of a measurement.
struct Rig {
    program: PathBuf,
    brokers: Brokers,
    time: Duration,
    /// What has disturbed measurements, also after their repetitions.
    disturbances: RefCell<Vec<String>>,
}

impl Rig {
    fn start(context: &Context<'_>) -> anyhow::Result<Self> {
        let program = context.ferric.with_file_name("ferric-rnis");
        ensure!(program.exists(), "the program `ferric-rnis` is not beside `ferric` ({})", program.display());
        let brokers = Brokers::start().context(WITHOUT_BROKERS)?;
        Ok(Rig { program, brokers, time: Duration::from_secs_f64(context.seconds), disturbances: RefCell::default() })
    }

    /// Measures a load, again while the host disturbs it.
    fn run(&self, load: RnisLoad) -> anyhow::Result<RnisRun> {
        let RnisLoad { arrangement, subscribers, subscriptions, rate_per_s, .. } = load;
        let point =
            format!("{}: {subscribers} subscribers, {subscriptions} subscriptions, {rate_per_s}/s", name(arrangement));
        let groups = self.brokers.process_groups();
        let mut repeat = 0;
        loop {
            let mut times = Vec::new();
            let watch = |service| times.push(HostTime::read_with(&groups, &[service]));
            let run = bench::rnis::run_watched(&self.program, load, Some(&self.brokers), self.time, watch)
                .with_context(|| point.clone())?;
            let foreign = match &times[..] {
                [before, after] => after.foreign_percent(before, run.elapsed.as_secs_f64()),
                _ => 0.0,
            };
            if foreign <= MAX_FOREIGN_PERCENT {
                return Ok(run);
            }
            if repeat == REPEATS {
                let disturbance = format!("{point}: other programs used {foreign:.0} % of a CPU");
                self.disturbances.borrow_mut().push(disturbance);
                return Ok(run);
            }
            repeat += 1;
        }
    }

    /// Leaves the claim of a figure undecided if the host has disturbed its measurements.
    fn judge(&self, mut report: FigureReport) -> FigureReport {
        let disturbances = self.disturbances.borrow();
        if let Some(first) = disturbances.first() {
            report.holds = None;
            report.notes.push(format!(
                "{} measurements were disturbed, such as: {first}; the claim is undecided, whatever the statements say",
                disturbances.len()
            ));
        }
        report
    }
}

/// The load at which the paper measures resources.
fn load(arrangement: Arrangement) -> RnisLoad {
    RnisLoad {
        arrangement,
        subscribers: SUBSCRIBERS,
        subscriptions: SUBSCRIPTIONS,
        rate_per_s: RATE_PER_S,
        idle_subscriptions: 0,
    }
}

/// The name in legends and messages.
fn name(arrangement: Arrangement) -> String {
    match arrangement {
        Arrangement::Embedded => "embedded".into(),
        Arrangement::RabbitMqShared | Arrangement::RabbitMqSubscriber => {
            format!("RabbitMQ, {}", arrangement.topology())
        }
        Arrangement::KafkaShared | Arrangement::KafkaSubscriber => format!("Kafka, {}", arrangement.topology()),
    }
}

/// Broker and topology, the first cells of each row.
fn cells(arrangement: Arrangement) -> [Cell; 2] {
    [arrangement.broker().into(), arrangement.topology().into()]
}

/// The numbers of the rows of an arrangement.
fn rows(table: &Table, arrangement: Arrangement) -> impl Iterator<Item = usize> {
    let wanted = cells(arrangement);
    (0..table.rows.len()).filter(move |row| table.rows[*row][..2] == wanted)
}

/// The values of a column, of the rows of an arrangement.
fn column(table: &Table, arrangement: Arrangement, column: &str) -> Vec<f64> {
    rows(table, arrangement).filter_map(|row| table.value(row, column)).collect()
}

fn list(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.2}")).collect::<Vec<_>>().join(", ")
}

/// The paper's statement that both brokers are below its bound, at all points.
fn is_below_bound(table: &Table) -> Statement {
    let means = [RABBITMQ, KAFKA].map(|arrangement| column(table, arrangement, "mean_ms"));
    let measured = format!("RabbitMQ {} ms, Kafka {} ms", list(&means[0]), list(&means[1]));
    let holds = means.iter().flatten().all(|mean| *mean < BOUND_MS);
    Statement::new("the average latency of both brokers is below 50 ms at every point", measured, holds)
}

/// The paper's statement that RabbitMQ is faster, at all points.
fn is_lower(table: &Table) -> Statement {
    let [ours, theirs] = [RABBITMQ, KAFKA].map(|arrangement| column(table, arrangement, "mean_ms"));
    let lower = ours.iter().zip(&theirs).filter(|(rabbitmq, kafka)| rabbitmq < kafka).count();
    let measured = format!("at {lower} of {} points", ours.len());
    Statement::new("RabbitMQ's average latency is lower than Kafka's at every point", measured, lower == ours.len())
}

/// The paper's statement that nothing is lost, at all points.
fn loss(table: &Table) -> Statement {
    let lost: f64 = [RABBITMQ, KAFKA].iter().flat_map(|arrangement| column(table, *arrangement, "lost")).sum();
    Statement::new(
        "no message is lost, although both brokers are unacknowledged",
        format!("{lost:.0} lost"),
        lost == 0.0,
    )
}

/// A panel with a line for each arrangement.
fn lines(table: &Table, x: (&str, &str), y: (&str, &str), arrangements: &[Arrangement]) -> Panel {
    let series = arrangements.iter().map(|arrangement| {
        let xs = column(table, *arrangement, x.0);
        Series::new(name(*arrangement), xs.into_iter().zip(column(table, *arrangement, y.0)).collect())
    });
    Panel { x: X::Numbers(x.1.into()), y_label: y.1.into(), series: series.collect(), marks: Vec::new() }
}
