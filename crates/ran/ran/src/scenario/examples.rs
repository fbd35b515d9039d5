//! The examples in `examples/scenarios`, in virtual time: each does what the comment at its top says.

use std::cell::Ref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferric::e2::Time;
use radio::Cell;
use radio::phy::Direction;
use radio::traffic::FlowCounts;
use ran_functions::rc::{Event, RcSource, Verdict};

use super::{Scenario, ScenarioFolders};
use crate::node::Node;
use crate::part::Part;
use crate::{RanConfig, testing};

const START: Time = Time::from_nanos(5_000_000_000);
/// The model is never looked at less often: what is late by much is left out.
const STEP_MS: u64 = 50;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/scenarios")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// A scenario under way, whose nodes nobody controls.
struct Play {
    nodes: Vec<Node>,
    /// By cell: the place of its first node.
    first: Vec<usize>,
    ms: u64,
}

impl Play {
    fn of(name: &str) -> Play {
        let scenario =
            Scenario::from_toml(&text(&format!("{name}.toml")), &ScenarioFolders::with_traces(&folder())).unwrap();
        let parts = scenario.cells.iter().map(|cell| Part::of(cell).len());
        let first = parts.scan(0, |next, parts| Some(std::mem::replace(next, *next + parts))).collect();
        let nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        let mut play = Play { nodes, first, ms: 0 };
        play.until(0.0);
        play
    }

    /// Goes on until that second. Handovers that UEs want are let go on.
    fn until(&mut self, second: f64) {
        let end = (second * 1e3) as u64;
        loop {
            let now = START + Duration::from_millis(self.ms);
            for node in &mut self.nodes {
                node.advance(now);
                while let Some(event) = node.next_event(now) {
                    if let Event::Breakpoint { procedure, .. } = event {
                        node.resume(now, procedure, Verdict::Continue);
                    }
                }
            }
            if self.ms >= end {
                break;
            }
            self.ms = (self.ms + STEP_MS).min(end);
        }
    }

    fn cell(&self, cell: usize) -> Ref<'_, Cell> {
        self.nodes[self.first[cell]].cell()
    }

    /// The cell of a UE, and its place there.
    fn find(&self, ue: u64) -> Option<(usize, usize)> {
        let of = |cell: usize| {
            let there = self.cell(cell);
            there.ues().find(|(_, there)| there.number() == ue).map(|(place, _)| (cell, place))
        };
        (0..self.first.len()).find_map(of)
    }

    fn flow(&self, ue: u64, flow: usize) -> FlowCounts {
        let (cell, place) = self.find(ue).unwrap();
        let cell = self.cell(cell);
        cell.ue(place).unwrap().flows()[flow].counts().clone()
    }

    /// What UEs receive in all their flows until that second, in Mbit/s.
    fn mbps(&mut self, ues: &[u64], until: f64) -> Vec<f64> {
        let octets = |play: &Play| -> Vec<u64> {
            let of = |ue: &u64| {
                let (cell, place) = play.find(*ue).unwrap();
                let cell = play.cell(cell);
                let there = cell.ue(place).unwrap();
                there.flows().iter().map(|flow| flow.counts().downlink.received_octets).sum()
            };
            ues.iter().map(of).collect()
        };
        let (before, from) = (octets(self), self.ms as f64 / 1e3);
        self.until(until);
        let rate = |(after, before): (u64, u64)| (after - before) as f64 * 8e-6 / (until - from);
        octets(self).into_iter().zip(before).map(rate).collect()
    }

    fn ues(&self, cell: usize) -> usize {
        self.cell(cell).ues().count()
    }
}

fn median(rtt: &radio::traffic::Durations) -> f64 {
    rtt.quantile_ms(0.5).unwrap()
}

#[test]
fn every_example_says_what_it_shows_and_how_to_see_it() {
    let mut count = 0;
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let command = format!("#     ferric ran --scenario examples/scenarios/{name}");
        assert!(text.starts_with("# ") && text.contains(&command), "{name}");
        let scenario = Scenario::from_toml(&text, &ScenarioFolders::with_traces(&folder()))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let summary = scenario.summary().unwrap();
        assert_eq!(summary.total.ues + summary.total.later_ues, scenario.ues.len(), "{name}");
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn voip_then_cubic() {
    let mut play = Play::of("voip-then-cubic");
    play.until(5.0);
    let alone = play.flow(0, 0).rtt;
    assert!(median(&alone) < 40.0, "{} ms", median(&alone));
    play.until(20.0);
    // most of the time the download was there
    let both = play.flow(0, 0).rtt;
    assert!(median(&both) > 4.0 * median(&alone), "{} ms after {} ms", median(&both), median(&alone));
}

#[test]
fn slices_isolated() {
    let mut play = Play::of("slices-isolated");
    play.until(1.0);
    let two = play.mbps(&[0, 1], 3.0);
    play.until(3.5);
    let three = play.mbps(&[0, 1, 2], 6.0);
    let all: f64 = three.iter().sum();
    assert!((two[0] / (two[0] + two[1]) - 0.5).abs() < 0.02, "{two:?}");
    assert!((three[0] / all - 0.5).abs() < 0.02 && (55.0..65.0).contains(&all), "{three:?}");
}

#[test]
fn slices_shared() {
    let mut play = Play::of("slices-shared");
    play.until(1.0);
    let busy = play.mbps(&[0, 1, 2, 3], 2.0);
    play.until(2.8);
    let paused = play.mbps(&[2, 3], 4.0);
    let all = busy[0] + busy[2];
    assert!((busy[0] / all - 0.66).abs() < 0.02 && (busy[3] / (busy[1] + busy[3]) - 0.34).abs() < 0.02, "{busy:?}");
    assert!(paused[0] > 0.95 * all, "lent: {paused:?} of {all}");
    assert!((paused[1] / all - 0.34).abs() < 0.02, "lost: {paused:?} of {all}");
}

#[test]
fn fdd() {
    let mut play = Play::of("fdd");
    play.until(10.0);
    let [fdd, tdd] = [0, 1].map(|ue| median(&play.flow(ue, 0).rtt));
    assert!(fdd + 1.0 < tdd && fdd > 10.0, "{fdd} ms and {tdd} ms");
}

#[test]
fn hundred_cells() {
    let mut play = Play::of("hundred-cells");
    play.until(0.6);
    assert!((0..100).all(|cell| play.ues(cell) == 3));
    let octets = |cell: usize| {
        let cell = play.nodes[cell].cell();
        cell.ues().map(|(_, ue)| ue.flows()[0].counts().downlink.received_octets).min()
    };
    assert!((0..100).all(|cell| octets(cell) > Some(1_000)));
}

#[test]
fn three_cells() {
    let mut play = Play::of("three-cells");
    let mut cells = vec![0];
    for half in 1..=60 {
        play.until(f64::from(half) / 2.0);
        if let Some((cell, _)) = play.find(0)
            && cells.last() != Some(&cell)
        {
            cells.push(cell);
        }
    }
    assert_eq!(cells, [0, 1, 2], "the car goes from cell to cell");
    assert_eq!(play.find(1).unwrap().0, 2, "who walks stays");
    let delivered = play.flow(0, 0).downlink;
    assert!(delivered.received_octets as f64 > 0.9 * delivered.sent_octets as f64);
}

#[test]
fn arrivals() {
    let mut play = Play::of("arrivals");
    play.until(0.9);
    let present = |play: &Play, ue| play.find(ue).is_some();
    assert!(!present(&play, 200));
    let mut counts = Vec::new();
    for second in 1..=20 {
        play.until(f64::from(second) + 0.2);
        if second == 4 {
            assert!((200..205).all(|ue| present(&play, ue)), "the class is there");
        }
        if second >= 10 {
            counts.push((0..200).filter(|ue| present(&play, *ue)).count());
        }
    }
    assert!((200..205).all(|ue| !present(&play, ue)), "and gone");
    // two a second for four seconds
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    assert!((4.0..13.0).contains(&mean), "{counts:?}");
}

#[test]
fn trace() {
    let mut play = Play::of("trace");
    play.until(0.5);
    let near = play.mbps(&[0], 1.9);
    play.until(2.5);
    let mcs = play.nodes[0].cell().ue(0).unwrap().downlink().mcs();
    let behind = play.mbps(&[0], 3.9);
    play.until(4.5);
    let again = play.nodes[0].cell().ue(0).unwrap().downlink().mcs();
    assert!((near[0] - 30.0).abs() < 2.0 && behind[0] < 25.0, "{near:?} and {behind:?} Mbit/s");
    assert!(mcs + 8 < again, "MCS {mcs} and {again}");
}

#[test]
fn bbr_and_cubic() {
    let mut play = Play::of("bbr-and-cubic");
    play.until(5.0);
    let mbps = play.mbps(&[0, 1], 15.0);
    let [cubic, bbr] = [0, 1].map(|ue| median(&play.flow(ue, 1).rtt));
    assert!(mbps.iter().all(|rate| *rate > 45.0), "{mbps:?} Mbit/s");
    assert!(2.0 * bbr < cubic, "{bbr} ms beside BBR, {cubic} ms beside CUBIC");
}

#[test]
fn ecn() {
    let mut play = Play::of("ecn");
    play.until(3.0);
    let mbps = play.mbps(&[0], 10.0);
    let (download, ping) = (play.flow(0, 0), play.flow(0, 1));
    assert!(download.downlink.marked_packets > 0 && download.downlink.lost_packets == 0, "{:?}", download.downlink);
    assert!(mbps[0] > 45.0 && median(&ping.rtt) < 60.0, "{mbps:?} Mbit/s, {} ms", median(&ping.rtt));
    let told = ran_functions::tc::TcSource::configuration(&play.nodes[0]).clone();
    assert_eq!(told.queues.len(), 2, "a RIC sees what is set");
}

#[test]
fn operators() {
    let mut play = Play::of("operators");
    play.until(1.0);
    let mbps = play.mbps(&[0, 1, 2, 3], 4.0);
    let all: f64 = mbps.iter().sum();
    for (rate, share) in mbps.iter().zip([0.2, 0.4, 0.2, 0.2]) {
        assert!((rate / all - share).abs() < 0.02, "{mbps:?}");
    }
}

#[test]
fn timeline() {
    let mut play = Play::of("timeline");
    play.until(0.9);
    assert_eq!(play.find(0).unwrap().0, 0);
    assert_eq!(play.flow(1, 0).downlink.sent_packets, 0);
    play.until(1.9);
    assert_eq!(play.find(0).unwrap().0, 1);
    assert!(play.flow(1, 0).downlink.received_packets > 0);
    play.until(2.1);
    let received = |play: &Play| play.flow(1, 0).downlink.received_packets;
    let before = received(&play);
    play.until(3.9);
    assert!(play.nodes[0].cell().is_locked());
    assert_eq!(received(&play), before, "locked");
    play.until(6.0);
    let after = received(&play);
    assert!(after > before);
    play.until(7.0);
    assert_eq!(received(&play), after, "stopped");
}

#[test]
fn lte() {
    let mut play = Play::of("lte");
    play.until(6.0);
    for cell in 0..2 {
        assert_eq!(play.ues(cell), 4);
        let there = play.nodes[cell].cell();
        let video = |ue: &radio::Ue| ue.flows()[0].counts().downlink.received_octets;
        assert!(there.ues().all(|(_, ue)| video(ue) > 500_000), "cell {cell}");
    }
    assert_eq!(play.nodes[0].cell().prbs(Direction::Downlink), 50);
    let names: Vec<String> = play.nodes.iter().map(|node| node.id().to_string()).collect();
    assert_eq!(names, ["enb-00101-e00", "gnb-00101-e01"]);
}

#[test]
fn split_gnb() {
    let mut play = Play::of("split-gnb");
    play.until(2.0);
    let names: Vec<String> = play.nodes.iter().map(|node| node.id().to_string()).collect();
    assert_eq!(names, ["gnb-00101-e00", "gnb-00101-e00-cu-up-1", "gnb-00101-e00-du-1", "gnb-00101-e01"]);
    let rates = play.mbps(&[0, 1, 2, 3], 4.0);
    assert!(rates.iter().all(|rate| (rate - 20.0).abs() < 2.0), "{rates:?}");
}
