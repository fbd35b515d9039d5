//! The experiment that paper 003 leaves open: a high message rate.

use bench::rnis::{Arrangement, RnisLoad};

use super::{Rig, cells, column, load, name, setting};
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Statement};
use plot::{Panel, Plot, Series, X};

/// A hundred times the paper's rate.
const RATE_PER_S: u32 = 1000;
/// Of RabbitMQ in our topology, the 99th percentile.
const TARGET_MS: f64 = 20.0;

pub fn rate(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let rig = Rig::start(context)?;
    let columns =
        ["callbacks_per_s", "mean_ms", "p50_ms", "p99_ms", "lost", "service_cpu_percent", "broker_cpu_percent"];
    let mut table = Table::new(["broker", "topology"].into_iter().chain(columns));
    for arrangement in Arrangement::ALL {
        let run = rig.run(RnisLoad { rate_per_s: RATE_PER_S, ..load(arrangement) })?;
        let numbers = [
            Cell::from(run.callbacks as f64 / run.elapsed.as_secs_f64()),
            run.mean_ms().into(),
            run.quantile_ms(0.5).into(),
            run.quantile_ms(0.99).into(),
            (run.lost as f64).into(),
            (100.0 * run.cores(run.cpu_ns)).into(),
            run.broker_cpu_ns.map(|cpu_ns| 100.0 * run.cores(cpu_ns)).into(),
        ];
        table.row(cells(arrangement).into_iter().chain(numbers));
    }
    let value = |arrangement, name: &str| column(&table, arrangement, name).first().copied();
    let p99 = |arrangement| value(arrangement, "p99_ms");
    let means = [super::RABBITMQ, super::KAFKA].map(|it| value(it, "mean_ms"));
    let text = |value: Option<f64>| value.map_or_else(|| "nothing".into(), |value| format!("{value:.2} ms"));
    let shared = p99(Arrangement::RabbitMqShared);
    let statements = vec![
        Statement::new(
            "ours: with one queue and the matching in the service, 99 % of RabbitMQ's notifications take at most 20 ms",
            text(shared),
            shared.map(|ms| ms <= TARGET_MS),
        ),
        Statement::new(
            "the paper's order at low rates: RabbitMQ's average latency is lower than Kafka's, in its topology",
            format!("{} and {}", text(means[0]), text(means[1])),
            means[0].zip(means[1]).map(|(rabbitmq, kafka)| rabbitmq < kafka),
        ),
        Statement::new(
            "the paper's bound at low rates: the average latency of both is below 50 ms, in its topology",
            format!("{} and {}", text(means[0]), text(means[1])),
            means[0].zip(means[1]).map(|(rabbitmq, kafka)| rabbitmq < super::BOUND_MS && kafka < super::BOUND_MS),
        ),
    ];
    let bars = |column| {
        Series::new(
            "1,000 messages/s",
            (0..table.rows.len()).filter_map(|row| Some((row as f64, table.value(row, column)?))).collect(),
        )
    };
    let panel = |column, label: &str| Panel {
        x: X::Categories(Arrangement::ALL.map(name).into()),
        y_label: label.into(),
        series: vec![bars(column)],
        marks: Vec::new(),
    };
    let panels = vec![panel("p99_ms", "99th percentile, ms"), panel("callbacks_per_s", "notifications per second")];
    Ok(rig.judge(FigureReport {
        figure: Figure::RnisRate,
        setting: setting(),
        plot: Plot { title: "1,000 messages/s to 50 subscribers with 8 subscriptions each".into(), panels },
        claim: "ours, since the paper leaves high rates open: RabbitMQ keeps up where one queue is shared; whether the paper's order \
                of the brokers and its bound remain is measured",
        judged: "each statement at 1,000 messages/s, 50,000 notifications/s; latencies include what arrives after the end of the load",
        holds: Statement::all(&statements),
        statements,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    }))
}
