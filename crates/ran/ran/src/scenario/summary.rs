//! What a scenario would be, in a few lines.

use std::fmt;

use radio::phy::{Direction, Duplex, Grid, Rat};
use radio::traffic::{self, FlowSpecification, Kind};
use radio::{Network, Time};

use super::{Change, Scenario, ScenarioError, UeScenario};

/// Cells, and entries of the timeline, that are told one by one.
const MAX_LINES: usize = 32;
/// A packet of G.711 with UDP's and IP's headers, every 20 ms.
const VOICE_BPS: f64 = (172.0 + 28.0) * 8.0 / 0.02;

/// What a scenario would be. Its `Display` has a line for each cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// All of it.
    pub total: Load,
    cells: Vec<(String, Load)>,
    head: String,
    timeline: Vec<String>,
}

/// UEs, and what their flows would carry if nothing held them back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// UEs that are there at the beginning.
    pub ues: usize,
    /// UEs that come later.
    pub later_ues: usize,
    /// Mean bits a second of flows with a rate, with all headers from layer 3 on, while they and their UEs are there.
    pub down_bps: f64,
    /// The same from UEs to servers.
    pub up_bps: f64,
    /// Flows over TCP, which take what they get.
    pub tcp_flows: usize,
}

impl Load {
    fn add(&mut self, ue: &UeScenario) {
        *(if ue.arrives == Time::START { &mut self.ues } else { &mut self.later_ues }) += 1;
        for flow in &ue.flows {
            match mean_bps(&flow.specification) {
                Some((down_bps, up_bps)) => {
                    self.down_bps += down_bps;
                    self.up_bps += up_bps;
                }
                None => self.tcp_flows += 1,
            }
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { ues, later_ues, down_bps, up_bps, tcp_flows } = self;
        write!(f, "{ues} {}", if *ues == 1 { "UE" } else { "UEs" })?;
        if *later_ues > 0 {
            write!(f, ", and {later_ues} later")?;
        }
        write!(f, "; offered {:.1} Mbit/s down, {:.1} Mbit/s up", down_bps / 1e6, up_bps / 1e6)?;
        match tcp_flows {
            0 => Ok(()),
            1 => f.write_str(", and a TCP flow"),
            flows => write!(f, ", and {flows} TCP flows"),
        }
    }
}

/// What a flow sends down and up on average; nothing for one that takes what it gets.
fn mean_bps(specification: &FlowSpecification) -> Option<(f64, f64)> {
    let (bps, is_answered) = match &specification.kind {
        Kind::ConstantBitRate { rate_bps, .. } | Kind::Poisson { rate_bps, .. } => (*rate_bps as f64, false),
        Kind::OnOffVideo(video) => (video.bitrate_bps as f64 * video.on_s / (video.on_s + video.off_s), false),
        Kind::Voip { echoed } => (VOICE_BPS, *echoed),
        Kind::Echo { interval_ms, packet_octets } => (f64::from(*packet_octets) * 8e3 / interval_ms, true),
        Kind::KeepAlive { interval_s, request_octets, answer_octets } => {
            let [asked, answered] = [request_octets, answer_octets].map(|octets| 8.0 * f64::from(*octets) / interval_s);
            let is_down = specification.direction == traffic::Direction::Down;
            return Some(if is_down { (answered, asked) } else { (asked, answered) });
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
    /// What it would be.
    ///
    /// # Errors
    /// What of it cannot be, and where.
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
        let head =
            format!("seed {}, {} times as fast as time, {} {threads}{moves}", self.seed, self.speed, self.threads);
        let timeline = self.timeline.iter().map(|entry| {
            let at_s = entry.at.since(Time::START).as_secs_f64();
            match entry.change {
                Change::Locked { cell, is_locked: true } => format!("at {at_s} s: cell {cell} is locked"),
                Change::Locked { cell, is_locked: false } => format!("at {at_s} s: cell {cell} is unlocked"),
                Change::HandOver { ue, to } => format!("at {at_s} s: UE {ue} goes to cell {to}"),
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
        let slices = &cell.slicing.slices;
        let of = [
            (cell.is_split, "CU-CP, CU-UP and DU apart".to_owned()),
            (cell.is_locked, "locked".to_owned()),
            (
                slices.dl.slices.len() + slices.ul.slices.len() > 0,
                format!("slices: {} down, {} up", slices.dl.slices.len(), slices.ul.slices.len()),
            ),
        ];
        let of: String = of.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| format!(", {what}")).collect();
        format!(
            "cell {at}: {rat}, {} MHz at {} MHz, {duplex}, {} PRBs of {} kHz down and {} up{of}",
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
            writeln!(f, "... and {} cells more", count - MAX_LINES)?;
        }
        for line in timeline.iter().take(MAX_LINES) {
            writeln!(f, "{line}")?;
        }
        match timeline.len().saturating_sub(MAX_LINES) {
            0 => Ok(()),
            more => writeln!(f, "... and {more} more happen"),
        }
    }
}
