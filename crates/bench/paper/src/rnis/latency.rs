//! Figures 5, 6 and 7: latencies from the reception of an event to the delivery of its notification.

use bench::rnis::{Arrangement, RnisLoad, RnisRun};

use super::{KAFKA, RABBITMQ, Rig, cells, column, is_below_bound, is_lower, lines, list, load, loss, name, setting};
use crate::statistics::{deviation, mean, quantile};
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Statement};
use plot::{Panel, Plot, Series, X};

const SUBSCRIBERS: [usize; 5] = [10, 20, 30, 40, 50];
const SUBSCRIPTIONS: [usize; 4] = [1, 2, 4, 8];

/// The columns of a latency after those that name the point.
const COLUMNS: [&str; 4] = ["mean_ms", "p50_ms", "p99_ms", "lost"];

fn latencies(run: &RnisRun) -> [Cell; 4] {
    [run.mean_ms(), run.quantile_ms(0.5), run.quantile_ms(0.99), run.lost as f64].map(Cell::from)
}

/// A row for each arrangement and point.
fn sweep(
    rig: &Rig,
    of: &str,
    points: &[usize],
    load_at: impl Fn(RnisLoad, usize) -> RnisLoad,
) -> anyhow::Result<Table> {
    let mut table = Table::new(["broker", "topology", of].into_iter().chain(COLUMNS));
    for arrangement in Arrangement::ALL {
        for point in points {
            let run = rig.run(load_at(load(arrangement), *point))?;
            table.row(cells(arrangement).into_iter().chain([Cell::from(*point as f64)]).chain(latencies(&run)));
        }
    }
    Ok(table)
}

/// Whether the mean latency of a broker rises from the first point to the last one.
fn rises(says: &'static str, table: &Table, arrangement: Arrangement) -> Statement {
    let means = column(table, arrangement, "mean_ms");
    let (first, last) = (means.first().copied(), means.last().copied());
    let holds = first.zip(last).map(|(first, last)| last > first);
    Statement::new(says, format!("{} ms", list(&means)), holds)
}

/// The paper's statement that RabbitMQ's latency rises less with the subscriptions than with the subscribers: with eight for one
/// subscription of 50 subscribers each, and with 50 for ten subscribers of eight subscriptions each.
fn rises_less(table: &Table, ten_subscribers_ms: f64) -> Statement {
    let means = column(table, RABBITMQ, "mean_ms");
    let by = |first_ms: f64| means.last().map(|last_ms| last_ms - first_ms);
    let (subscriptions, subscribers) = (means.first().and_then(|first| by(*first)), by(ten_subscribers_ms));
    let text = |ms: Option<f64>| ms.map_or_else(String::new, |ms| format!("{ms:+.2} ms"));
    Statement::new(
        "RabbitMQ's latency rises less from 1 to 8 subscriptions than from 10 to 50 subscribers",
        format!("{} and {}", text(subscriptions), text(subscribers)),
        subscriptions.zip(subscribers).map(|(subscriptions, subscribers)| subscriptions < subscribers),
    )
}

pub fn fig5(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let rig = Rig::start(context)?;
    let table = sweep(&rig, "subscribers", &SUBSCRIBERS, |load, subscribers| RnisLoad { subscribers, ..load })?;
    let statements = vec![
        is_below_bound(&table),
        is_lower(&table),
        rises("RabbitMQ's latency is higher with 50 subscribers than with 10", &table, RABBITMQ),
        rises("Kafka's latency is higher with 50 subscribers than with 10", &table, KAFKA),
        loss(&table),
    ];
    let panel = lines(&table, ("subscribers", "subscribers"), ("mean_ms", "mean latency, ms"), &Arrangement::ALL);
    Ok(rig.judge(FigureReport {
        figure: Figure::RnisFig5,
        setting: setting(),
        plot: Plot {
            title: "Paper 003, Fig. 5: latency over subscribers, 8 subscriptions each, 10 messages/s".into(),
            panels: vec![panel],
        },
        claim: "both brokers deliver within 50 ms on average with 10 to 50 subscribers, RabbitMQ faster than Kafka",
        judged: "each statement by both brokers in the paper's topology; the other rows have no part in the verdict",
        holds: Statement::all(&statements),
        statements,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    }))
}

pub fn fig6(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let rig = Rig::start(context)?;
    let columns = ["messages", "min_ms", "p25_ms", "p50_ms", "p75_ms", "max_ms", "mean_ms", "deviation_ms", "lost"];
    let mut table = Table::new(["broker", "topology"].into_iter().chain(columns));
    let mut samples = Table::new(["broker", "topology", "latency_ms"]);
    let mut series = Vec::new();
    for arrangement in Arrangement::ALL {
        let run = rig.run(load(arrangement))?;
        let values: Vec<f64> = run.of_first_ns.iter().map(|ns| *ns as f64 / 1e6).collect();
        let quartiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| Cell::from(quantile(&values, share)));
        let rest = [mean(&values), deviation(&values), run.lost as f64].map(Cell::from);
        let numbers = [Cell::from(values.len() as f64)].into_iter().chain(quartiles).chain(rest);
        table.row(cells(arrangement).into_iter().chain(numbers));
        for value in &values {
            samples.row(cells(arrangement).into_iter().chain([Cell::from(*value)]));
        }
        series.push(Series::cdf(name(arrangement), values));
    }
    let [rabbitmq, kafka] =
        [RABBITMQ, KAFKA].map(|arrangement| column(&table, arrangement, "deviation_ms").first().copied());
    let measured = format!(
        "standard deviation {} and {} ms",
        rabbitmq.map_or_else(String::new, |ms| format!("{ms:.2}")),
        kafka.map_or_else(String::new, |ms| format!("{ms:.2}"))
    );
    let says = "RabbitMQ's latencies deviate less from their mean than Kafka's";
    let statements = vec![
        Statement::new(says, measured, rabbitmq.zip(kafka).map(|(rabbitmq, kafka)| rabbitmq < kafka)),
        is_below_bound(&table),
        loss(&table),
    ];
    let x = X::Numbers("latency, ms".into());
    let panel = Panel { x, y_label: "share of the notifications".into(), series, marks: Vec::new() };
    Ok(rig.judge(FigureReport {
        figure: Figure::RnisFig6,
        setting: setting(),
        plot: Plot {
            title: "Paper 003, Fig. 6: latencies of one of 50 subscribers, 10 messages/s".into(),
            panels: vec![panel],
        },
        claim: "the latency of RabbitMQ deviates less from its mean than that of Kafka; both are below 50 ms on average, without loss",
        judged: "by the standard deviation of the first subscriber's latencies, and each statement, of both brokers in the paper's \
                 topology; distributions in place of boxes",
        holds: Statement::all(&statements),
        statements,
        values: table,
        summary: None,
        samples: Some(samples),
        course: None,
        notes: Vec::new(),
    }))
}

pub fn fig7(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let rig = Rig::start(context)?;
    let load_at = |load, subscriptions| RnisLoad { subscriptions, ..load };
    let table = sweep(&rig, "subscriptions", &SUBSCRIPTIONS, load_at)?;
    let ten_subscribers = rig.run(RnisLoad { subscribers: SUBSCRIBERS[0], ..load(RABBITMQ) })?;
    let statements = vec![
        is_lower(&table),
        rises("RabbitMQ's latency is higher with 8 subscriptions than with 1", &table, RABBITMQ),
        rises("Kafka's latency is higher with 8 subscriptions than with 1", &table, KAFKA),
        rises_less(&table, ten_subscribers.mean_ms()),
        is_below_bound(&table),
        loss(&table),
    ];
    let panel =
        lines(&table, ("subscriptions", "subscriptions each"), ("mean_ms", "mean latency, ms"), &Arrangement::ALL);
    Ok(rig.judge(FigureReport {
        figure: Figure::RnisFig7,
        setting: setting(),
        plot: Plot {
            title: "Paper 003, Fig. 7: latency over subscriptions of 50 subscribers, 10 messages/s".into(),
            panels: vec![panel],
        },
        claim: "RabbitMQ is faster than Kafka with 1 to 8 subscriptions; the latency of both rises with their number",
        judged: "each statement by both brokers in the paper's topology; the other rows have no part in the verdict",
        holds: Statement::all(&statements),
        statements,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    }))
}
