//! ferric's side of the measurements in sections 5 and 6.1 of the FlexRIC paper (Schmidt, Irazabal, Nikaein: "FlexRIC: An SDK for
//! Next-Generation SD-RANs", CoNEXT '21), in the paper's setting as far as one host allows.
//!
//! Each figure states the paper's setting, ours, and the differences; the paper's claim, in our words; and whether our numbers
//! support it, if that can be decided without the systems that the paper compares with.
//!
//! Figures 5 to 11 of paper 003 (radio network information as a service) are measured in the same way.
//!
//! Figures 4 to 6 of paper 001 (SDRBench) are measured by the program `ferric-sdrbench`.
//! Tables 2 to 5 and figures 5, 6, 7 and 11 of paper 004 (base-band units in the Linux kernel) are measured with an emulated unit.
//!
//! Beside them are experiments of ours: xApps of the examples in scenarios, with a claim of ours.

mod experiment;
mod fig11;
mod fig13;
mod fig15;
mod fig6;
mod fig7;
mod fig8;
mod fig9;
mod load;
mod model;
mod peer;
mod report;
mod rnis;
mod sdrbench;
mod slot_loop;
mod statistics;
mod table;
mod table2;
mod testbed;
mod vbbu;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bench::meter::Sample;
use bench::part::Encoding;
use bench::rnis::Arrangement;
use serde::Serialize;

use load::Crowd;
use rnis::Resource;
use testbed::Mode;

pub use model::{Check, ModelCheck, check_names, model_check};
pub use peer::{Peer, PeerError};
pub use plot::{Connection, Mark, Panel, Plot, Series, X};
pub use report::{FigureReport, Setting, Statement};
pub use table::{Cell, Table};
pub use vbbu::run_background;

/// A figure or table of the paper, or an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// Processor time of an agent over UEs.
    Fig6b,
    /// Round trip of a ping, by encoding.
    Fig7a,
    /// Signalling of pings, by encoding.
    Fig7b,
    /// Processor time and memory of a controller with a monitoring app over agents.
    Fig8a,
    /// Processor time of that controller by the encoding of E2AP.
    Fig8b,
    /// Round trip of a ping over two hops.
    Fig9a,
    /// Processor time and memory of a controller, and of a RIC with an xApp.
    Fig9b,
    /// Storage of the programs.
    Table2,
    /// Sojourn times of packets beside a greedy flow, without traffic control.
    Fig11a,
    /// Sojourn times with the traffic control of the xApp.
    Fig11b,
    /// Round trips of a call beside a greedy flow, with and without traffic control.
    Fig11c,
    /// Throughput of UEs in slices over time.
    Fig13a,
    /// Throughput with an idle slice, with and without sharing.
    Fig13b,
    /// Throughput of two operators with an eNB each.
    Fig15a,
    /// Throughput of two operators on a shared eNB.
    Fig15b,
    /// Experiment: an xApp that evens out the load of cells.
    #[serde(rename = "load-balancing")]
    LoadBalancing,
    /// Experiment: an xApp that puts cells to sleep.
    #[serde(rename = "energy-saving")]
    EnergySaving,
    /// Experiment: two xApps that set the same quota, with each policy on conflicts.
    Conflicts,
    /// Experiment: an xApp that steers UEs to the cell with the best throughput.
    #[serde(rename = "traffic-steering")]
    TrafficSteering,
    /// Experiment: a cell that an xApp schedules slot by slot, over the delay of decisions.
    #[serde(rename = "loop-delay")]
    LoopDelay,
    /// Experiment: from a slot to a decision that follows from its report, by link.
    #[serde(rename = "loop-latency")]
    LoopLatency,
    /// Paper 003: latency of notifications over subscribers.
    #[serde(rename = "rnis-fig5")]
    RnisFig5,
    /// Paper 003: latencies of one subscriber.
    #[serde(rename = "rnis-fig6")]
    RnisFig6,
    /// Paper 003: latency of notifications over subscriptions.
    #[serde(rename = "rnis-fig7")]
    RnisFig7,
    /// Paper 003: processor time and latency of Kafka over processors.
    #[serde(rename = "rnis-fig8")]
    RnisFig8,
    /// Paper 003: processor time and latency of RabbitMQ over processors.
    #[serde(rename = "rnis-fig9")]
    RnisFig9,
    /// Paper 003: memory and latency of Kafka over processors.
    #[serde(rename = "rnis-fig10")]
    RnisFig10,
    /// Paper 003: memory and latency of RabbitMQ over processors.
    #[serde(rename = "rnis-fig11")]
    RnisFig11,
    /// Experiment: brokers at a hundred times the rate of paper 003.
    #[serde(rename = "rnis-rate")]
    RnisRate,
    /// Paper 001: processor time of a controller over agents.
    #[serde(rename = "sdrbench-fig4")]
    SdrbenchFig4,
    /// Paper 001: its memory.
    #[serde(rename = "sdrbench-fig5")]
    SdrbenchFig5,
    /// Paper 001: the delay of the hello of the n-th agent.
    #[serde(rename = "sdrbench-fig6")]
    SdrbenchFig6,
    /// Paper 004: waits of a base-band unit's threads beside other work.
    #[serde(rename = "vbbu-table2")]
    VbbuTable2,
    /// Paper 004: waits with wide affinity and thread affinity.
    #[serde(rename = "vbbu-table3")]
    VbbuTable3,
    /// Paper 004: waits with interrupt affinity.
    #[serde(rename = "vbbu-table4")]
    VbbuTable4,
    /// Paper 004: waits with isolated CPUs.
    #[serde(rename = "vbbu-table5")]
    VbbuTable5,
    /// Paper 004: NACKs beside other work.
    #[serde(rename = "vbbu-fig5")]
    VbbuFig5,
    /// Paper 004: round trips with interrupt affinity.
    #[serde(rename = "vbbu-fig6")]
    VbbuFig6,
    /// Paper 004: NACKs with isolated CPUs.
    #[serde(rename = "vbbu-fig7")]
    VbbuFig7,
    /// Paper 004: throughput of two units that share a host.
    #[serde(rename = "vbbu-fig11")]
    VbbuFig11,
    /// Experiment: the dynamic policy that paper 004 leaves open.
    #[serde(rename = "vbbu-dynamic")]
    VbbuDynamic,
}

impl Figure {
    /// All figures, in the order of the paper, and the experiments.
    pub const ALL: &[Figure] = &[
        Figure::Fig6b,
        Figure::Fig7a,
        Figure::Fig7b,
        Figure::Fig8a,
        Figure::Fig8b,
        Figure::Fig9a,
        Figure::Fig9b,
        Figure::Table2,
        Figure::Fig11a,
        Figure::Fig11b,
        Figure::Fig11c,
        Figure::Fig13a,
        Figure::Fig13b,
        Figure::Fig15a,
        Figure::Fig15b,
        Figure::LoadBalancing,
        Figure::EnergySaving,
        Figure::TrafficSteering,
        Figure::Conflicts,
        Figure::LoopDelay,
        Figure::LoopLatency,
        Figure::RnisFig5,
        Figure::RnisFig6,
        Figure::RnisFig7,
        Figure::RnisFig8,
        Figure::RnisFig9,
        Figure::RnisFig10,
        Figure::RnisFig11,
        Figure::RnisRate,
        Figure::SdrbenchFig4,
        Figure::SdrbenchFig5,
        Figure::SdrbenchFig6,
        Figure::VbbuTable2,
        Figure::VbbuTable3,
        Figure::VbbuTable4,
        Figure::VbbuTable5,
        Figure::VbbuFig5,
        Figure::VbbuFig6,
        Figure::VbbuFig7,
        Figure::VbbuFig11,
        Figure::VbbuDynamic,
    ];

    /// The name on the command line, such as `fig8a`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Figure::Fig6b => "fig6b",
            Figure::Fig7a => "fig7a",
            Figure::Fig7b => "fig7b",
            Figure::Fig8a => "fig8a",
            Figure::Fig8b => "fig8b",
            Figure::Fig9a => "fig9a",
            Figure::Fig9b => "fig9b",
            Figure::Table2 => "table2",
            Figure::Fig11a => "fig11a",
            Figure::Fig11b => "fig11b",
            Figure::Fig11c => "fig11c",
            Figure::Fig13a => "fig13a",
            Figure::Fig13b => "fig13b",
            Figure::Fig15a => "fig15a",
            Figure::Fig15b => "fig15b",
            Figure::LoadBalancing => "load-balancing",
            Figure::EnergySaving => "energy-saving",
            Figure::TrafficSteering => "traffic-steering",
            Figure::Conflicts => "conflicts",
            Figure::LoopDelay => "loop-delay",
            Figure::LoopLatency => "loop-latency",
            Figure::RnisFig5 => "rnis-fig5",
            Figure::RnisFig6 => "rnis-fig6",
            Figure::RnisFig7 => "rnis-fig7",
            Figure::RnisFig8 => "rnis-fig8",
            Figure::RnisFig9 => "rnis-fig9",
            Figure::RnisFig10 => "rnis-fig10",
            Figure::RnisFig11 => "rnis-fig11",
            Figure::RnisRate => "rnis-rate",
            Figure::SdrbenchFig4 => "sdrbench-fig4",
            Figure::SdrbenchFig5 => "sdrbench-fig5",
            Figure::SdrbenchFig6 => "sdrbench-fig6",
            Figure::VbbuTable2 => "vbbu-table2",
            Figure::VbbuTable3 => "vbbu-table3",
            Figure::VbbuTable4 => "vbbu-table4",
            Figure::VbbuTable5 => "vbbu-table5",
            Figure::VbbuFig5 => "vbbu-fig5",
            Figure::VbbuFig6 => "vbbu-fig6",
            Figure::VbbuFig7 => "vbbu-fig7",
            Figure::VbbuFig11 => "vbbu-fig11",
            Figure::VbbuDynamic => "vbbu-dynamic",
        }
    }

    /// Whether it is of a paper, and not an experiment.
    #[must_use]
    pub fn is_of_paper(self) -> bool {
        !matches!(
            self,
            Figure::LoadBalancing
                | Figure::EnergySaving
                | Figure::TrafficSteering
                | Figure::Conflicts
                | Figure::LoopDelay
                | Figure::LoopLatency
                | Figure::RnisRate
                | Figure::VbbuDynamic
        )
    }

    /// Whether it needs RabbitMQ and Kafka: [`bench::rnis::Brokers`].
    #[must_use]
    pub fn needs_brokers(self) -> bool {
        matches!(
            self,
            Figure::RnisFig5
                | Figure::RnisFig6
                | Figure::RnisFig7
                | Figure::RnisFig8
                | Figure::RnisFig9
                | Figure::RnisFig10
                | Figure::RnisFig11
                | Figure::RnisRate
        )
    }

    /// Whether it needs the program `ferric-sdrbench`, beside `ferric`.
    #[must_use]
    pub fn needs_sdrbench(self) -> bool {
        matches!(self, Figure::SdrbenchFig4 | Figure::SdrbenchFig5 | Figure::SdrbenchFig6)
    }

    /// Whether it changes the CPUs of tasks and the devices of this host, which takes root: those of paper 004.
    #[must_use]
    pub fn changes_host(self) -> bool {
        matches!(
            self,
            Figure::VbbuTable2
                | Figure::VbbuTable3
                | Figure::VbbuTable4
                | Figure::VbbuTable5
                | Figure::VbbuFig5
                | Figure::VbbuFig6
                | Figure::VbbuFig7
                | Figure::VbbuFig11
                | Figure::VbbuDynamic
        )
    }

    /// Whether it can be measured with real programs.
    #[must_use]
    pub fn can_be_live(self) -> bool {
        matches!(self, Figure::Fig11a | Figure::Fig11b | Figure::Fig11c | Figure::Fig13a | Figure::Fig13b)
    }

    /// Whether it has columns for peers: its load comes from agents.
    #[must_use]
    pub fn has_peers(self) -> bool {
        matches!(self, Figure::Fig8a | Figure::Fig8b | Figure::Fig9b)
    }
}

/// How agents and peers meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerOptions {
    /// The encoding of the service models that agents offer, in figures with columns for peers. FlexRIC's apps read
    /// [`Encoding::Plain`]. Default: FlatBuffers, as in the paper.
    pub encoding: Encoding,
    /// The longest time for a peer's first subscription, for each number of agents. Default: 2 s.
    pub patience: Duration,
}

impl Default for PeerOptions {
    fn default() -> Self {
        PeerOptions { encoding: Encoding::Flat, patience: Duration::from_secs(2) }
    }
}

impl PeerOptions {
    /// What an app of a peer must do for a figure; `None` of a figure without columns for peers.
    #[must_use]
    pub fn instruction(&self, figure: Figure) -> Option<String> {
        let (functions, rows) = match figure {
            Figure::Fig8a | Figure::Fig8b => {
                ("142 (MAC), 143 (RLC) and 144 (PDCP)", "each row of the table has new agents")
            }
            Figure::Fig9b => ("142 (MAC)", "there are ten agents at once"),
            _ => return None,
        };
        let layout = match self.encoding {
            Encoding::Per => "PER",
            Encoding::Flat => "FlatBuffers (FlexRIC's apps need `--encoding plain`)",
            Encoding::Plain => "FlexRIC's plain layout",
        };
        Some(format!(
            "Its app must subscribe to RAN functions {functions} of every agent, each with one report action every millisecond, \
             within {} s of its setup (`--peer-wait`); {rows}. The service models are in {layout}.",
            self.patience.as_secs_f64()
        ))
    }
}

/// The parameters of a measurement, and the state of its peers.
struct Context<'a> {
    /// The program `ferric`.
    ferric: &'a Path,
    /// The length of each point.
    seconds: f64,
    /// The seeds of an experiment.
    seeds: u32,
    /// How the emulated RAN advances.
    mode: Mode<'a>,
    peers: &'a [Peer],
    options: PeerOptions,
    /// The errors of peers, one of each.
    failures: Vec<String>,
    /// Peers that have failed and are skipped.
    failed: Vec<bool>,
    /// Peers that have subscribed to nothing.
    silent: Vec<bool>,
}

impl Context<'_> {
    /// Measures each peer under the load of `crowd`; `None` for peers that have failed.
    fn of_peers(&mut self, crowd: &Crowd) -> Vec<Option<Sample>> {
        let mut samples = Vec::new();
        for (at, peer) in self.peers.iter().enumerate() {
            if self.failed[at] {
                samples.push(None);
                continue;
            }
            // a silent peer is not waited for again
            let patience = if self.silent[at] { Duration::ZERO } else { self.options.patience };
            match crowd.on_peer(peer, patience, self.seconds) {
                Ok(sample) => {
                    self.silent[at] |= sample.reports_per_s == 0.0;
                    samples.push(Some(sample));
                }
                Err(error) => {
                    self.failed[at] = true;
                    self.failures.push(format!("{} at {}: {error:#}", peer.name, peer.endpoint));
                    samples.push(None);
                }
            }
        }
        samples
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The length of each point in seconds; figures of the emulated RAN scale their phases with it.
    pub seconds: f64,
    /// The number of seeds of an experiment, at least 1.
    pub seeds: u32,
}

/// Measures one figure with the program `ferric`, with columns for `peers` if the figure has them.
/// Returns the report and the errors of peers. With `live`, UEs are network namespaces in which real programs run, and a
/// raised flag ends the measurement in an orderly way.
///
/// # Errors
/// If a process cannot be started or does not answer; in live mode, if namespaces cannot be created, a program is missing or
/// the flag is raised.
pub fn figure(
    ferric: &Path,
    figure: Figure,
    extent: Extent,
    peers: &[Peer],
    options: PeerOptions,
    live: Option<&AtomicBool>,
) -> anyhow::Result<(FigureReport, Vec<String>)> {
    let none = vec![false; peers.len()];
    let mode = live.map_or(Mode::Stepped, |is_interrupted| Mode::Live { is_interrupted });
    let mut context = Context {
        ferric,
        seconds: extent.seconds,
        seeds: extent.seeds,
        mode,
        peers,
        options,
        failures: Vec::new(),
        failed: none.clone(),
        silent: none,
    };
    let mut report = match figure {
        Figure::Fig6b => fig6::fig6b(&context)?,
        Figure::Fig7a => fig7::fig7a(&context)?,
        Figure::Fig7b => fig7::fig7b(&context)?,
        Figure::Fig8a => fig8::fig8a(&mut context)?,
        Figure::Fig8b => fig8::fig8b(&mut context)?,
        Figure::Fig9a => fig9::fig9a(&context)?,
        Figure::Fig9b => fig9::fig9b(&mut context)?,
        Figure::Table2 => table2::table2(&context)?,
        Figure::Fig11a => fig11::fig11a(&context)?,
        Figure::Fig11b => fig11::fig11b(&context)?,
        Figure::Fig11c => fig11::fig11c(&context)?,
        Figure::Fig13a => fig13::fig13a(&context)?,
        Figure::Fig13b => fig13::fig13b(&context)?,
        Figure::Fig15a => fig15::fig15a(&context)?,
        Figure::Fig15b => fig15::fig15b(&context)?,
        Figure::LoadBalancing => experiment::load_balancing(&context)?,
        Figure::EnergySaving => experiment::energy_saving(&context)?,
        Figure::TrafficSteering => experiment::traffic_steering(&context)?,
        Figure::Conflicts => experiment::conflicts(&context)?,
        Figure::LoopDelay => slot_loop::loop_delay(&context)?,
        Figure::LoopLatency => slot_loop::loop_latency(&context)?,
        Figure::RnisFig5 => rnis::fig5(&context)?,
        Figure::RnisFig6 => rnis::fig6(&context)?,
        Figure::RnisFig7 => rnis::fig7(&context)?,
        Figure::RnisFig8 => rnis::resources(&context, figure, Arrangement::KafkaSubscriber, Resource::Processor)?,
        Figure::RnisFig9 => rnis::resources(&context, figure, Arrangement::RabbitMqSubscriber, Resource::Processor)?,
        Figure::RnisFig10 => rnis::resources(&context, figure, Arrangement::KafkaSubscriber, Resource::Memory)?,
        Figure::RnisFig11 => rnis::resources(&context, figure, Arrangement::RabbitMqSubscriber, Resource::Memory)?,
        Figure::RnisRate => rnis::rate(&context)?,
        Figure::SdrbenchFig4 => sdrbench::fig4(&context)?,
        Figure::SdrbenchFig5 => sdrbench::fig5(&context)?,
        Figure::SdrbenchFig6 => sdrbench::fig6(&context)?,
        Figure::VbbuTable2
        | Figure::VbbuTable3
        | Figure::VbbuTable4
        | Figure::VbbuTable5
        | Figure::VbbuFig5
        | Figure::VbbuFig6
        | Figure::VbbuFig7
        | Figure::VbbuFig11
        | Figure::VbbuDynamic => vbbu::figure(&context, figure)?,
    };
    for (at, peer) in peers.iter().enumerate() {
        if !figure.has_peers() {
            report.notes.push(format!("No column for {}: agents cannot drive it in this figure.", peer.name));
            continue;
        }
        if context.silent[at] {
            report.notes.push(format!(
                "{} accepted the setups and subscribed to nothing: its columns are of silent agents. {}",
                peer.name,
                options.instruction(figure).unwrap_or_default()
            ));
        }
        if peer.pid.is_none() {
            report.notes.push(format!(
                "Of {}, only the reports could be counted; give `{}=URL,pid=N` for its processor time and memory.",
                peer.name, peer.name
            ));
        }
    }
    report.notes.extend(context.failures.iter().cloned());
    Ok((report, context.failures))
}
