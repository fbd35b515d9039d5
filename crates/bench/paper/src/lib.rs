//! `ferric paper`: our side of the measurements in sections 5 and 6.1 of the FlexRIC paper (Schmidt, Irazabal, Nikaein: "FlexRIC: An
//! SDK for Next-Generation SD-RANs", CoNEXT '21), in the paper's setting as far as this host allows.
//!
//! Each figure says what the paper had, what we have, and what differs; what the paper claims, in our words; and whether
//! our numbers bear it out, where that can be told without the systems that the paper compares with.

mod fig11;
mod fig13;
mod fig6;
mod fig7;
mod fig8;
mod fig9;
mod load;
mod peer;
mod plot;
mod table;
mod table2;
mod testbed;

use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use bench::meter::Sample;
use serde::Serialize;

use load::Crowd;
use testbed::{Mode, Punctuality};

pub use peer::{Peer, PeerError};
pub use plot::{Mark, Panel, Plot, Series, X};
pub use table::{Cell, Table};

/// What the paper measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// Processor time of an agent, over UEs.
    Fig6b,
    /// Round trip of a ping, by encoding.
    Fig7a,
    /// Signalling of pings, by encoding.
    Fig7b,
    /// Processor time and memory of a controller with a monitoring app, over agents.
    Fig8a,
    /// Its processor time, by the encoding of E2AP.
    Fig8b,
    /// Round trip of a ping over two hops.
    Fig9a,
    /// Processor time and memory, of a controller and of a RIC with an xApp.
    Fig9b,
    /// What has to be stored.
    Table2,
    /// Sojourn times over time of packets beside a greedy flow, without traffic control.
    Fig11a,
    /// The same with the xApp's.
    Fig11b,
    /// Round trips of a call beside a greedy flow, without traffic control and with it.
    Fig11c,
    /// Throughput over time of UEs in slices.
    Fig13a,
    /// The same where a slice is idle: without sharing, and with it.
    Fig13b,
}

impl Figure {
    /// In the order of the paper.
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
    ];

    /// Its name: `fig8a`.
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
        }
    }

    /// Whether real programs can send and receive in it.
    #[must_use]
    pub fn can_be_live(self) -> bool {
        matches!(self, Figure::Fig11a | Figure::Fig11b | Figure::Fig11c | Figure::Fig13a | Figure::Fig13b)
    }

    /// Whether it has columns for peers: where agents make the load.
    #[must_use]
    pub fn has_peers(self) -> bool {
        matches!(self, Figure::Fig8a | Figure::Fig8b | Figure::Fig9b)
    }
}

/// In what setting something was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The paper's.
    pub paper: &'static str,
    /// Ours.
    pub ours: &'static str,
    /// What is not the same, and matters.
    pub differs: Vec<&'static str>,
}

/// Our side of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct FigureReport {
    /// Which one.
    pub figure: Figure,
    /// The setting.
    pub setting: Setting,
    /// What was measured.
    pub values: Table,
    /// What is printed of it, where that is long.
    #[serde(skip)]
    pub summary: Option<Table>,
    /// What the paper says, in our words.
    pub claim: &'static str,
    /// How it is told whether that holds.
    pub judged: &'static str,
    /// Whether our numbers bear it out; `None` where what the paper compares with is not here, or the machine was too slow for
    /// live mode.
    pub holds: Option<bool>,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// The plot.
    #[serde(skip)]
    pub plot: Plot,
}

impl FigureReport {
    /// Says how the emulated RAN kept time in live mode. Where it did not, nothing can be told.
    fn judge(&mut self, punctuality: Punctuality) {
        self.notes.push(punctuality.note());
        if !punctuality.is_good() && self.holds.take().is_some() {
            self.plot.title += " (the machine was too slow)";
        }
    }
}

impl fmt::Display for FigureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\n{}", self.plot.title, self.summary.as_ref().unwrap_or(&self.values))?;
        writeln!(f, "  paper:   {}", self.setting.paper)?;
        writeln!(f, "  ours:    {}", self.setting.ours)?;
        self.setting.differs.iter().try_for_each(|line| writeln!(f, "  differs: {line}"))?;
        writeln!(f, "  claim:   {}", self.claim)?;
        writeln!(f, "  judged:  {}", self.judged)?;
        let holds = match self.holds {
            Some(true) => "yes",
            Some(false) => "no",
            None => "cannot be told here",
        };
        writeln!(f, "  holds:   {holds}")?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note:    {note}"))
    }
}

/// What a measurement is given.
struct Context<'a> {
    /// The program `ferric`.
    ferric: &'a Path,
    /// Of each point.
    seconds: f64,
    /// What has the emulated RAN go on, where the figure has one.
    mode: Mode<'a>,
    peers: &'a [Peer],
    /// What went wrong with peers, once each.
    failures: Vec<String>,
    /// Peers that have failed: nobody waits for them again.
    failed: Vec<bool>,
    /// Peers that asked for nothing.
    silent: Vec<bool>,
}

impl Context<'_> {
    /// What each peer takes with these agents; nothing of one that has failed.
    fn of_peers(&mut self, crowd: &Crowd) -> Vec<Option<Sample>> {
        let mut samples = Vec::new();
        for (at, peer) in self.peers.iter().enumerate() {
            if self.failed[at] {
                samples.push(None);
                continue;
            }
            match crowd.on_peer(peer, self.silent[at], self.seconds) {
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

/// Measures one figure, each point for as many seconds, with columns for `peers` where agents can drive them; and says what
/// went wrong with these. With `live`, where the figure can be, UEs are network namespaces and real programs run there; it
/// ends early, and in order, when the flag is raised.
///
/// # Errors
/// Where a process of ours cannot be started or does not answer; live, where namespaces or a program cannot be had, or
/// somebody has raised the flag.
pub fn figure(
    ferric: &Path,
    figure: Figure,
    seconds: f64,
    peers: &[Peer],
    live: Option<&AtomicBool>,
) -> anyhow::Result<(FigureReport, Vec<String>)> {
    let none = vec![false; peers.len()];
    let mode = live.map_or(Mode::Stepped, |is_interrupted| Mode::Live { is_interrupted });
    let mut context =
        Context { ferric, seconds, mode, peers, failures: Vec::new(), failed: none.clone(), silent: none };
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
    };
    for (at, peer) in peers.iter().enumerate() {
        if !figure.has_peers() {
            report.notes.push(format!("Of {} nothing: it cannot be driven from agents for this.", peer.name));
            continue;
        }
        if context.silent[at] {
            report.notes.push(format!(
                "{} took the setups and asked for no reports: its columns are of silent agents. Have an app of its own \
                 subscribe to the statistics.",
                peer.name
            ));
        }
        if peer.pid.is_none() {
            report.notes.push(format!(
                "Of {} only the reports that it asked for can be counted; with `{}=URL,pid=N` its processor time and memory \
                 too.",
                peer.name, peer.name
            ));
        }
    }
    report.notes.extend(context.failures.iter().cloned());
    Ok((report, context.failures))
}
