//! Figures 8 to 11: processor time, memory and latency over the processors that the broker may use.

use std::thread;

use anyhow::{Context as _, ensure};
use bench::rnis::Arrangement;

use super::{Rig, cells, column, lines, load, name, setting};
use crate::statistics::mean;
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
            Resource::Processor => "Kafka uses more processor time than RabbitMQ, on average",
            Resource::Memory => "Kafka uses more memory than RabbitMQ, on average",
        }
    }
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
    let listed = means.iter().map(|ms| format!("{ms:.2}")).collect::<Vec<_>>().join(", ");
    let is_falling = (means.len() > 1).then(|| means.windows(2).all(|two| two[1] < two[0]));
    let (used, label) = resource.column();
    let average = |arrangement| mean(&column(&table, arrangement, used));
    let (kafka, rabbitmq) = (average(Arrangement::KafkaSubscriber), average(Arrangement::RabbitMqSubscriber));
    let statements = vec![
        Statement::new(resource.says(), format!("{kafka:.1} and {rabbitmq:.1} ({label})"), kafka > rabbitmq),
        Statement::new(
            "the average latency falls with each further processor of the broker",
            format!("{listed} ms with 1 to {} processors", means.len()),
            is_falling,
        ),
    ];
    let panel = |y| -> Panel {
        let of_broker: Vec<_> = Arrangement::ALL.into_iter().filter(|it| it.broker() == of.broker()).collect();
        lines(&table, ("cores", "processors of the broker"), y, &of_broker)
    };
    let panels = vec![panel((used, label)), panel(("mean_ms", "mean latency, ms"))];
    let mut setting = setting();
    setting
        .differs
        .push("one to as many processors as the host has, the paper: 1 to 3; the broker is restricted while it runs");
    Ok(FigureReport {
        figure,
        setting,
        plot: Plot { title: format!("Paper 003: {label} and latency of {} over processors", name(of)), panels },
        claim: "Kafka uses more processor time and memory than RabbitMQ; the latency falls with the processors of the broker",
        judged: "by both brokers in the paper's topology; the processor time and memory of the server's processes, without the \
                 clients, which are in the service",
        holds: Statement::all(&statements),
        statements,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    })
}
