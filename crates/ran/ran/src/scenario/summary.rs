//! A summary of a scenario in a few lines.

use std::fmt;

use radio::phy::{Direction, Duplex, Grid, Rat};
use radio::traffic::{self, FlowSpecification, Kind};
use radio::{AdministrativeState, Network, Time};

use super::{Scenario, ScenarioError, SessionChange, TimelineChange, UeScenario};

/// The most cells, and entries of the timeline, that are listed.
const MAX_LINES: usize = 32;
/// A packet of G.711 with UDP and IP headers, every 20 ms.
const VOICE_BPS: f64 = (172.0 + 28.0) * 8.0 / 0.02;

/// A summary of a scenario. Its `Display` has a line for each cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The load of all cells.
    pub total: Load,
    cells: Vec<(String, Load)>,
    head: String,
    timeline: Vec<String>,
}

/// The number of UEs, and the load that their flows offer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// UEs that are present at the start.
    pub ues: usize,
    /// UEs that arrive later.
    pub later_ues: usize,
    /// The mean downlink rate of flows with a given rate, with headers from layer 3 on, while they and their UEs are active.
    pub dl_bps: f64,
    /// The mean uplink rate of such flows.
    pub ul_bps: f64,
    /// Flows over TCP, whose rate is that of the path.
    pub tcp_flows: usize,
}

impl Load {
    fn add(&mut self, ue: &UeScenario) {
        *(if ue.arrives == Time::START { &mut self.ues } else { &mut self.later_ues }) += 1;
        for flow in &ue.flows {
            match mean_bps(&flow.specification) {
                Some((dl_bps, ul_bps)) => {
                    self.dl_bps += dl_bps;
                    self.ul_bps += ul_bps;
                }
                None => self.tcp_flows += 1,
            }
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { ues, later_ues, dl_bps, ul_bps, tcp_flows } = self;
        write!(f, "{ues} {}", if *ues == 1 { "UE" } else { "UEs" })?;
        if *later_ues > 0 {
            write!(f, ", and {later_ues} later")?;
        }
        write!(f, "; offered {:.1} Mbit/s downlink, {:.1} Mbit/s uplink", dl_bps / 1e6, ul_bps / 1e6)?;
        match tcp_flows {
            0 => Ok(()),
            1 => f.write_str(", and 1 TCP flow"),
            flows => write!(f, ", and {flows} TCP flows"),
        }
    }
}

/// The mean downlink and uplink rates of a flow; None for a flow whose rate is that of the path.
fn mean_bps(specification: &FlowSpecification) -> Option<(f64, f64)> {
    let (bps, is_answered) = match &specification.kind {
        Kind::ConstantBitRate { rate_bps, .. } | Kind::Poisson { rate_bps, .. } => (*rate_bps as f64, false),
        Kind::OnOffVideo(video) => (video.bitrate_bps as f64 * video.on_s / (video.on_s + video.off_s), false),
        Kind::Voip { echoed } => (VOICE_BPS, *echoed),
        Kind::Echo { interval_ms, packet_octets } => (f64::from(*packet_octets) * 8e3 / interval_ms, true),
        Kind::KeepAlive { interval_s, request_octets, answer_octets } => {
            let [requests, answers] =
                [request_octets, answer_octets].map(|octets| 8.0 * f64::from(*octets) / interval_s);
            let is_dl = specification.direction == traffic::Direction::Down;
            return Some(if is_dl { (answers, requests) } else { (requests, answers) });
        }
        Kind::Greedy(_) | Kind::Transfer { .. } | Kind::Web(_) | Kind::VideoPlayer(_) => return None,
    };
    Some(match specification.direction {
        _ if is_answered => (bps, bps),
        traffic::Direction::Down => (bps, 0.0),
        traffic::Direction::Up => (0.0, bps),
        traffic::Direction::Both => (bps, bps),
    })
}

impl Scenario {
    /// Summarizes the scenario.
    ///
    /// # Errors
    /// An invalid scenario.
    pub fn summary(&self) -> Result<Summary, ScenarioError> {
        let network = self.check()?;
        let mut total = Load::default();
        let mut loads = vec![Load::default(); self.cells.len()];
        for ue in &self.ues {
            total.add(ue);
            loads[ue.cell].add(ue);
        }
        let cells = loads.into_iter().enumerate().map(|(at, load)| (self.cell_line(&network, at), load)).collect();
        let moves = self.handover.a3_offset_db.map_or(String::new(), |db| format!(", handover by A3 at {db} dB"));
        let threads = if self.threads.get() == 1 { "thread" } else { "threads" };
        let head = format!("seed {}, speed {}, {} {threads}{moves}", self.seed, self.speed, self.threads);
        let timeline = self.timeline.iter().map(|entry| {
            let at_s = entry.at.since(Time::START).as_secs_f64();
            match entry.change {
                TimelineChange::Administrative { cell, state } => {
                    let what = match state {
                        AdministrativeState::Unlocked => "is unlocked",
                        AdministrativeState::ShuttingDown => "shuts down",
                        AdministrativeState::Locked => "is locked",
                    };
                    format!("at {at_s} s: cell {cell} {what}")
                }
                TimelineChange::EnergySaving { cell, is_ordered } => {
                    format!("at {at_s} s: cell {cell} {} energy", if is_ordered { "saves" } else { "no longer saves" })
                }
                TimelineChange::HandOver { ue, to } => format!("at {at_s} s: UE {ue} is handed over to cell {to}"),
                TimelineChange::Session { ue, change: SessionChange::FiveQi(five_qi) } => {
                    format!("at {at_s} s: the session of UE {ue} gets 5QI {five_qi}")
                }
                TimelineChange::Session { ue, change: SessionChange::Release } => {
                    format!("at {at_s} s: the session of UE {ue} is released")
                }
            }
        });
        Ok(Summary { total, cells, head, timeline: timeline.collect() })
    }

    fn cell_line(&self, network: &Network, at: usize) -> String {
        let cell = &self.cells[at];
        let grid: &Grid = network.cell(at).grid();
        let rat = match grid.carrier().rat {
            Rat::Lte => "LTE",
            Rat::Nr => "NR",
        };
        let duplex = if grid.carrier().duplex == Duplex::Fdd { "FDD" } else { "TDD" };
        #[cfg(feature = "control")]
        let slices = (cell.slicing.slices.dl.slices.len(), cell.slicing.slices.ul.slices.len());
        #[cfg(not(feature = "control"))]
        let slices = (0, 0);
        let properties = [
            (cell.is_split && cell.cu.is_none(), "split into CU-CP, CU-UP and DU".to_owned()),
            (cell.cu.is_some(), format!("a DU of CU {}", cell.cu.as_deref().unwrap_or_default())),
            (cell.is_locked, "locked".to_owned()),
            (slices != (0, 0), format!("slices: {} downlink, {} uplink", slices.0, slices.1)),
        ];
        let properties = properties.into_iter().filter(|(is_listed, _)| *is_listed);
        let properties: String = properties.map(|(_, property)| format!(", {property}")).collect();
        format!(
            "cell {at}: {rat}, {} MHz at {} MHz, {duplex}, {} PRBs of {} kHz downlink and {} uplink{properties}",
            grid.carrier().bandwidth_mhz,
            grid.carrier().frequency_mhz,
            network.cell(at).prbs(Direction::Downlink),
            grid.subcarrier_hz() / 1000,
            network.cell(at).prbs(Direction::Uplink),
        )
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { total, cells, head, timeline } = self;
        let count = cells.len();
        writeln!(f, "{count} {}, {total}", if count == 1 { "cell" } else { "cells" })?;
        writeln!(f, "{head}")?;
        for (line, load) in cells.iter().take(MAX_LINES) {
            writeln!(f, "{line}: {load}")?;
        }
        if count > MAX_LINES {
            writeln!(f, "... and {} more cells", count - MAX_LINES)?;
        }
        for line in timeline.iter().take(MAX_LINES) {
            writeln!(f, "{line}")?;
        }
        match timeline.len().saturating_sub(MAX_LINES) {
            0 => Ok(()),
            more => writeln!(f, "... and {more} more events"),
        }
    }
}
