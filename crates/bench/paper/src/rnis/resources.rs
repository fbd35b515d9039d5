//! Figures 8 to 11: processor time, memory and latency over the processors that the broker may use.

use std::thread;

use anyhow::{Context as _, ensure};
use bench::rnis::Arrangement;

use super::{KAFKA, RABBITMQ, Rig, cells, column, is_below_bound, is_lower, lines, list, load, loss, name, setting};
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Statement};
use plot::{Panel, Plot};

/// The most processors of the paper.
const MAX_CORES: usize = 3;

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Processor,
    Memory,
}

impl Resource {
    /// The column, and the label of its axis.
    fn column(self) -> (&'static str, &'static str) {
        match self {
            Resource::Processor => ("broker_cpu_percent", "broker CPU, % of a core"),
            Resource::Memory => ("broker_rss_mib", "broker memory, MiB"),
        }
    }

    fn says(self) -> &'static str {
        match self {
            Resource::Processor => "Kafka uses more processor time than RabbitMQ, with each number of processors",
            Resource::Memory => "Kafka uses more memory than RabbitMQ, with each number of processors",
        }
    }
}

/// The paper's statement that Kafka uses more, at every number of processors.
fn uses_more(table: &Table, resource: Resource) -> Statement {
    let (used, label) = resource.column();
    let [kafka, rabbitmq] = [KAFKA, RABBITMQ].map(|arrangement| column(table, arrangement, used));
    let holds = !kafka.is_empty() && kafka.iter().zip(&rabbitmq).all(|(kafka, rabbitmq)| kafka > rabbitmq);
    Statement::new(resource.says(), format!("{} and {} ({label})", list(&kafka), list(&rabbitmq)), holds)
}

/// The paper's statement that the latency falls with each processor, from one to three. Fewer processors can refute it only.
fn falls(means_ms: &[f64]) -> Statement {
    let is_falling = means_ms.windows(2).all(|two| two[1] < two[0]);
    Statement::new(
        "the average latency falls with each further processor of the broker, from 1 to 3",
        format!("{} ms with 1 to {} processors", list(means_ms), means_ms.len()),
        if is_falling && means_ms.len() < MAX_CORES { None } else { Some(is_falling) },
    )
}

/// The figure of a broker: `of` is its arrangement in the paper's topology. The other broker is measured for the comparison.
pub fn resources(
    context: &Context<'_>,
    figure: Figure,
    of: Arrangement,
    resource: Resource,
) -> anyhow::Result<FigureReport> {
    let rig = Rig::start(context)?;
    let host_cores = thread::available_parallelism()?.get();
    let columns = [
        "cores",
        "broker_cpu_percent",
        "broker_rss_mib",
        "service_cpu_percent",
        "service_rss_mib",
        "mean_ms",
        "p99_ms",
        "lost",
    ];
    let mut table = Table::new(["broker", "topology"].into_iter().chain(columns));
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    for arrangement in Arrangement::ALL.into_iter().filter(|arrangement| *arrangement != Arrangement::Embedded) {
        let server = rig.brokers.server(arrangement).context("an arrangement with a server")?;
        for cores in 1..=host_cores.min(MAX_CORES) {
            server.restrict(cores)?;
            let run = rig.run(load(arrangement))?;
            let cpu_ns = run.broker_cpu_ns.context("the broker has a server")?;
            let numbers = [
                cores as f64,
                100.0 * run.cores(cpu_ns),
                mib(run.broker_rss_bytes.context("the broker has a server")?),
                100.0 * run.cores(run.cpu_ns),
                mib(run.rss_bytes),
                run.mean_ms(),
                run.quantile_ms(0.99),
                run.lost as f64,
            ];
            table.row(cells(arrangement).into_iter().chain(numbers.map(Cell::from)));
        }
        server.restrict(host_cores)?;
    }
    let means = column(&table, of, "mean_ms");
    ensure!(!means.is_empty(), "the figure has no rows of {}", name(of));
    let (used, label) = resource.column();
    let statements =
        vec![uses_more(&table, resource), falls(&means), is_lower(&table), is_below_bound(&table), loss(&table)];
    let panel = |y| -> Panel {
        let of_broker: Vec<_> = Arrangement::ALL.into_iter().filter(|it| it.broker() == of.broker()).collect();
        lines(&table, ("cores", "processors of the broker"), y, &of_broker)
    };
    let panels = vec![panel((used, label)), panel(("mean_ms", "mean latency, ms"))];
    let mut setting = setting();
    setting
        .differs
        .push("one to as many processors as the host has, the paper: 1 to 3, which fewer cannot confirm; the broker is restricted while it runs");
    Ok(rig.judge(FigureReport {
        figure,
        setting,
        plot: Plot { title: format!("Paper 003: {label} and latency of {} over processors", name(of)), panels },
        claim: "Kafka uses more processor time and memory than RabbitMQ, which is faster; the latency falls with the processors of the \
                broker, and is below 50 ms on average, without loss",
        judged: "by both brokers in the paper's topology; the processor time and memory of the server's processes, without the \
                 clients, which are in the service",
        holds: Statement::all(&statements),
        statements,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(Arrangement, f64, f64)]) -> Table {
        let mut table = Table::new(["broker", "topology", "broker_cpu_percent", "mean_ms"]);
        for (arrangement, percent, ms) in rows {
            table.row(cells(*arrangement).into_iter().chain([*percent, *ms].map(Cell::from)));
        }
        table
    }

    #[test]
    fn one_number_of_processors_refutes_the_use_of_more() {
        let rows =
            |second| table(&[(RABBITMQ, 2.0, 5.0), (RABBITMQ, 3.0, 4.0), (KAFKA, 40.0, 9.0), (KAFKA, second, 8.0)]);
        let holds = |second| uses_more(&rows(second), Resource::Processor).holds;
        // the mean of the second is above RabbitMQ's
        assert_eq!([holds(30.0), holds(2.5)], [Some(true), Some(false)]);
        assert_eq!(uses_more(&table(&[]), Resource::Processor).holds, Some(false));
        assert_eq!(is_lower(&rows(30.0)).holds, Some(true));
    }

    #[test]
    fn latency_over_fewer_processors_than_the_papers_confirms_nothing() {
        let holds = |means_ms: &[f64]| falls(means_ms).holds;
        assert_eq!([holds(&[9.0]), holds(&[9.0, 8.0]), holds(&[9.0, 8.0, 7.0])], [None, None, Some(true)]);
        assert_eq!([holds(&[8.0, 9.0]), holds(&[9.0, 8.0, 8.0])], [Some(false), Some(false)]);
    }
}
