//! The measurements of paper 003 (Arora, Frangoudis, Ksentini: "Exposing radio network information in a MEC-in-NFV environment: the
//! RNISaaS concept", EURECOM RR-19-339), and the message rate that it leaves open.
//!
//! RabbitMQ and Kafka run in the paper's topology and in ours, beside the broker in the process of the service.

mod latency;
mod rate;
mod resources;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bench::rnis::{Arrangement, Brokers, RnisLoad, RnisRun, WITHOUT_BROKERS};

use crate::table::{Cell, Table};
use crate::{Context, Setting};
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
}

impl Rig {
    fn start(context: &Context<'_>) -> anyhow::Result<Self> {
        let program = context.ferric.with_file_name("ferric-rnis");
        ensure!(program.exists(), "the program `ferric-rnis` is not beside `ferric` ({})", program.display());
        let brokers = Brokers::start().context(WITHOUT_BROKERS)?;
        Ok(Rig { program, brokers, time: Duration::from_secs_f64(context.seconds) })
    }

    fn run(&self, load: RnisLoad) -> anyhow::Result<RnisRun> {
        let RnisLoad { arrangement, subscribers, subscriptions, rate_per_s, .. } = load;
        bench::rnis::run(&self.program, load, Some(&self.brokers), self.time).with_context(|| {
            format!("{}: {subscribers} subscribers, {subscriptions} subscriptions, {rate_per_s}/s", name(arrangement))
        })
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

/// A panel with a line for each arrangement.
fn lines(table: &Table, x: (&str, &str), y: (&str, &str), arrangements: &[Arrangement]) -> Panel {
    let series = arrangements.iter().map(|arrangement| {
        let xs = column(table, *arrangement, x.0);
        Series::new(name(*arrangement), xs.into_iter().zip(column(table, *arrangement, y.0)).collect())
    });
    Panel { x: X::Numbers(x.1.into()), y_label: y.1.into(), series: series.collect(), marks: Vec::new() }
}
