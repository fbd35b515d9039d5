//! The examples in `examples/scenarios`, in virtual time: each shows what the comment at its top states.

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
use crate::node_type::NodeType;
use crate::{RanConfig, testing};

const START: Time = Time::from_nanos(5_000_000_000);
/// The period of reads. After a long break the model would skip time.
const STEP_MS: u64 = 50;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/scenarios")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// A running scenario without controllers.
struct Running {
    nodes: Vec<Node>,
    /// By cell: the index of its first node.
    first: Vec<usize>,
    ms: u64,
}

impl Running {
    fn example(name: &str) -> Running {
        let scenario =
            Scenario::from_toml(&text(&format!("{name}.toml")), &ScenarioFolders::with_traces(&folder())).unwrap();
        let parts = scenario.cells.iter().map(|cell| NodeType::of(cell).len());
        let first = parts.scan(0, |next, parts| Some(std::mem::replace(next, *next + parts))).collect();
        let nodes = testing::nodes(&RanConfig { scenario, ..RanConfig::default() });
        let mut run = Running { nodes, first, ms: 0 };
        run.until(0.0);
        run
    }

    /// Runs until the given second. Handovers are accepted.
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

    /// The rates that UEs receive in all their flows until the given second, in Mbit/s.
    fn mbps(&mut self, ues: &[u64], until: f64) -> Vec<f64> {
        let octets = |run: &Running| -> Vec<u64> {
            let of = |ue: &u64| {
                let (cell, place) = run.find(*ue).unwrap();
                let cell = run.cell(cell);
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
fn examples_have_a_description_and_a_command() {
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
fn call_and_download() {
    let mut run = Running::example("call-and-download");
    run.until(5.0);
    let alone = run.flow(0, 0).rtt;
    assert!(median(&alone) < 40.0, "{} ms", median(&alone));
    run.until(20.0);
    // with the download most of the time
    let both = run.flow(0, 0).rtt;
    assert!(median(&both) > 4.0 * median(&alone), "{} ms after {} ms", median(&both), median(&alone));
}

#[test]
fn slices_isolated() {
    let mut run = Running::example("slices-isolated");
    run.until(1.0);
    let two = run.mbps(&[0, 1], 3.0);
    run.until(3.5);
    let three = run.mbps(&[0, 1, 2], 6.0);
    let all: f64 = three.iter().sum();
    assert!((two[0] / (two[0] + two[1]) - 0.5).abs() < 0.02, "{two:?}");
    assert!((three[0] / all - 0.5).abs() < 0.02 && (55.0..65.0).contains(&all), "{three:?}");
}

#[test]
fn slices_shared() {
    let mut run = Running::example("slices-shared");
    run.until(1.0);
    let busy = run.mbps(&[0, 1, 2, 3], 2.0);
    run.until(2.8);
    let paused = run.mbps(&[2, 3], 4.0);
    let all = busy[0] + busy[2];
    assert!((busy[0] / all - 0.66).abs() < 0.02 && (busy[3] / (busy[1] + busy[3]) - 0.34).abs() < 0.02, "{busy:?}");
    assert!(paused[0] > 0.95 * all, "unused resources: {paused:?} of {all}");
    assert!((paused[1] / all - 0.34).abs() < 0.02, "isolated slice: {paused:?} of {all}");
}

#[test]
fn fdd() {
    let mut run = Running::example("fdd");
    run.until(10.0);
    let [fdd, tdd] = [0, 1].map(|ue| median(&run.flow(ue, 0).rtt));
    assert!(fdd + 1.0 < tdd && fdd > 10.0, "{fdd} ms and {tdd} ms");
}

#[test]
fn hundred_cells() {
    let mut run = Running::example("hundred-cells");
    run.until(0.6);
    assert!((0..100).all(|cell| run.ues(cell) == 3));
    let octets = |cell: usize| {
        let cell = run.nodes[cell].cell();
        cell.ues().map(|(_, ue)| ue.flows()[0].counts().downlink.received_octets).min()
    };
    assert!((0..100).all(|cell| octets(cell) > Some(1_000)));
}

#[test]
fn three_cells() {
    let mut run = Running::example("three-cells");
    let mut cells = vec![0];
    for half in 1..=60 {
        run.until(f64::from(half) / 2.0);
        if let Some((cell, _)) = run.find(0)
            && cells.last() != Some(&cell)
        {
            cells.push(cell);
        }
    }
    assert_eq!(cells, [0, 1, 2], "the car passes all cells");
    assert_eq!(run.find(1).unwrap().0, 2, "the pedestrian stays");
    let delivered = run.flow(0, 0).downlink;
    assert!(delivered.received_octets as f64 > 0.9 * delivered.sent_octets as f64);
}

/// The used part of the downlink PRBs of each cell until the given second, in percent.
fn loads_percent(run: &mut Running, until: f64) -> Vec<f64> {
    let usage = |run: &Running| -> Vec<_> {
        (0..run.first.len()).map(|cell| *run.cell(cell).usage(Direction::Downlink)).collect()
    };
    let before = usage(run);
    run.until(until);
    usage(run).iter().zip(&before).map(|(after, before)| 100.0 * after.since(before).used_share()).collect()
}

#[test]
fn load_balancing() {
    let mut run = Running::example("load-balancing");
    run.until(1.0);
    let loads = loads_percent(&mut run, 6.0);
    assert!(loads[0] > 95.0, "the crowd's cell: {loads:?}");
    let around = loads[1..].iter().sum::<f64>() / 6.0;
    assert!(around < 60.0 && loads[1..].iter().all(|load| *load < 90.0), "the cells around it: {loads:?}");
}

#[test]
fn slot_scheduling() {
    let mut run = Running::example("slot-scheduling");
    run.until(1.0);
    let loads = loads_percent(&mut run, 3.0);
    assert!(loads[0] > 99.0, "every UE always has data: {loads:?}");
    assert_eq!((run.cell(0).grid().slot(), run.cell(0).prbs(Direction::Downlink)), (Duration::from_millis(1), 106));
}

#[test]
fn traffic_steering() {
    let mut run = Running::example("traffic-steering");
    run.until(1.0);
    let loads = loads_percent(&mut run, 4.0);
    // crowds of six fill their cells, others have capacity
    let crowded = (0..21).filter(|cell| run.ues(*cell) >= 6 && loads[*cell] > 95.0).count();
    let free = loads.iter().filter(|load| **load < 50.0).count();
    assert!(crowded >= 3 && free >= 3, "{loads:?}");
}

#[test]
fn arrivals() {
    let mut run = Running::example("arrivals");
    run.until(0.9);
    let present = |run: &Running, ue| run.find(ue).is_some();
    assert!(!present(&run, 200));
    let mut counts = Vec::new();
    for second in 1..=20 {
        run.until(f64::from(second) + 0.2);
        if second == 4 {
            assert!((200..205).all(|ue| present(&run, ue)), "the class has arrived");
        }
        if second >= 10 {
            counts.push((0..200).filter(|ue| present(&run, *ue)).count());
        }
    }
    assert!((200..205).all(|ue| !present(&run, ue)), "the class has left");
    // two per second, four seconds each
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    assert!((4.0..13.0).contains(&mean), "{counts:?}");
}

#[test]
fn trace() {
    let mut run = Running::example("trace");
    run.until(0.5);
    let near = run.mbps(&[0], 1.9);
    run.until(2.5);
    let mcs = run.nodes[0].cell().ue(0).unwrap().downlink().mcs();
    let behind = run.mbps(&[0], 3.9);
    run.until(4.5);
    let again = run.nodes[0].cell().ue(0).unwrap().downlink().mcs();
    assert!((near[0] - 30.0).abs() < 2.0 && behind[0] < 25.0, "{near:?} and {behind:?} Mbit/s");
    assert!(mcs + 8 < again, "MCS {mcs} and {again}");
}

#[test]
fn congestion_control() {
    let mut run = Running::example("congestion-control");
    run.until(5.0);
    let mbps = run.mbps(&[0, 1], 15.0);
    let [cubic, bbr] = [0, 1].map(|ue| median(&run.flow(ue, 1).rtt));
    assert!(mbps.iter().all(|rate| *rate > 45.0), "{mbps:?} Mbit/s");
    assert!(2.0 * bbr < cubic, "{bbr} ms beside BBR, {cubic} ms beside CUBIC");
}

#[test]
fn ecn() {
    let mut run = Running::example("ecn");
    run.until(3.0);
    let mbps = run.mbps(&[0], 10.0);
    let (download, ping) = (run.flow(0, 0), run.flow(0, 1));
    assert!(download.downlink.marked_packets > 0 && download.downlink.lost_packets == 0, "{:?}", download.downlink);
    assert!(mbps[0] > 45.0 && median(&ping.rtt) < 60.0, "{mbps:?} Mbit/s, {} ms", median(&ping.rtt));
    let reported = ran_functions::tc::TcSource::configuration(&run.nodes[0]).clone();
    assert_eq!(reported.queues.len(), 2, "the configuration that controllers see");
}

#[test]
fn operators() {
    let mut run = Running::example("operators");
    run.until(1.0);
    let mbps = run.mbps(&[0, 1, 2, 3], 4.0);
    let all: f64 = mbps.iter().sum();
    for (rate, share) in mbps.iter().zip([0.2, 0.4, 0.2, 0.2]) {
        assert!((rate / all - share).abs() < 0.02, "{mbps:?}");
    }
}

#[test]
fn timeline() {
    let mut run = Running::example("timeline");
    run.until(0.9);
    assert_eq!(run.find(0).unwrap().0, 0);
    assert_eq!(run.flow(1, 0).downlink.sent_packets, 0);
    run.until(1.9);
    assert_eq!(run.find(0).unwrap().0, 1);
    assert!(run.flow(1, 0).downlink.received_packets > 0);
    run.until(2.1);
    let received = |run: &Running| run.flow(1, 0).downlink.received_packets;
    let before = received(&run);
    assert_eq!(run.find(1).unwrap().0, 1, "the neighbour has taken the UE of the locked cell");
    run.until(3.9);
    assert!(run.nodes[0].cell().is_locked());
    assert!(received(&run) > before);
    run.until(6.0);
    let after = received(&run);
    run.until(7.0);
    assert_eq!(received(&run), after, "stopped");
}

#[test]
fn lte() {
    let mut run = Running::example("lte");
    run.until(6.0);
    for cell in 0..2 {
        assert_eq!(run.ues(cell), 4);
        let there = run.nodes[cell].cell();
        let video = |ue: &radio::Ue| ue.flows()[0].counts().downlink.received_octets;
        assert!(there.ues().all(|(_, ue)| video(ue) > 500_000), "cell {cell}");
    }
    assert_eq!(run.nodes[0].cell().prbs(Direction::Downlink), 50);
    let names: Vec<String> = run.nodes.iter().map(|node| node.id().to_string()).collect();
    assert_eq!(names, ["enb-00101-e00", "gnb-00101-e01"]);
}

#[test]
fn split_gnb() {
    let mut run = Running::example("split-gnb");
    run.until(2.0);
    let names: Vec<String> = run.nodes.iter().map(|node| node.id().to_string()).collect();
    assert_eq!(names, ["gnb-00101-e00", "gnb-00101-e00-cu-up-1", "gnb-00101-e00-du-1", "gnb-00101-e01"]);
    let rates = run.mbps(&[0, 1, 2, 3], 4.0);
    assert!(rates.iter().all(|rate| (rate - 20.0).abs() < 2.0), "{rates:?}");
}

#[test]
fn hex7() {
    let mut run = Running::example("hex7");
    run.until(0.1);
    assert_eq!((run.first.len(), (0..21).map(|cell| run.ues(cell)).sum::<usize>()), (21, 105));
    run.until(3.0);
    // every UE is in the strongest cell of its place, or was when its handover began
    let mut away = 0;
    for cell in 0..21 {
        for (_, ue) in run.cell(cell).ues() {
            let geometry = ue.channel().geometry().unwrap();
            assert_eq!(geometry.sites().len(), 21);
            let best = (0..21).max_by(|a, b| geometry.rsrp_dbm(*a).total_cmp(&geometry.rsrp_dbm(*b))).unwrap();
            away += usize::from(geometry.rsrp_dbm(cell) < geometry.rsrp_dbm(best) - 3.0);
        }
    }
    assert!(away <= 5, "{away} UEs are in a cell that is 3 dB weaker than the strongest");
    let delivered =
        (0..105).filter(|ue| run.find(*ue).is_some() && run.flow(*ue, 0).downlink.received_octets > 250_000);
    let delivered = delivered.count();
    assert!(delivered >= 90, "{delivered} of 105 UEs have most of 1 Mbit/s");
}

/// Without an xApp all cells stay on; little traffic needs little of their power, and the busy time more.
#[test]
fn energy_saving() {
    let mut run = Running::example("energy-saving");
    run.until(0.1);
    assert_eq!((run.first.len(), (0..7).map(|cell| run.ues(cell)).sum::<usize>()), (7, 42));
    run.until(1.0);
    let energy_j = |run: &Running| (0..7).map(|cell| run.cell(cell).energy_j()).sum::<f64>();
    let mean_w = |run: &mut Running, until: f64| {
        let (before_j, from) = (energy_j(run), run.ms as f64 / 1e3);
        run.until(until);
        (energy_j(run) - before_j) / (until - from) / 7.0
    };
    let light_w = mean_w(&mut run, 3.0);
    run.until(31.0);
    let busy_w = mean_w(&mut run, 33.0);
    assert!((250.0..500.0).contains(&light_w) && busy_w > light_w + 100.0, "{light_w} and {busy_w} W");
    assert!((0..7).all(|cell| run.cell(cell).is_on_air()));
}

#[test]
fn hex19() {
    let mut run = Running::example("hex19");
    run.until(0.2);
    let ues: Vec<usize> = (0..57).map(|cell| run.ues(cell)).collect();
    assert_eq!(ues.iter().sum::<usize>(), 1140);
    // with wrap-around the cells of the middle site are as any other
    let [middle, outer] = [0..3, 45..57].map(|cells| {
        let count = cells.len();
        ues[cells].iter().sum::<usize>() as f64 / count as f64
    });
    assert!((10.0..30.0).contains(&middle) && (10.0..30.0).contains(&outer), "{ues:?}");
    let received = (0..1140).filter(|ue| run.flow(*ue, 0).downlink.received_octets > 0).count();
    assert!(received > 1000, "{received} of 1140 UEs received packets");
    let in_buildings = |cell: usize| {
        let there = run.nodes[run.first[cell]].cell();
        there.ues().filter(|(_, ue)| ue.channel().geometry().unwrap().is_indoors()).count()
    };
    let share = (0..57).map(in_buildings).sum::<usize>() as f64 / 1140.0;
    assert!((share - 0.8).abs() < 0.05, "{share}");
}

#[test]
fn indoor() {
    let mut run = Running::example("indoor");
    run.until(0.1);
    assert_eq!((0..12).map(|cell| run.ues(cell)).sum::<usize>(), 36);
    let (mut seen, mut strongest_dbm) = (0, f64::MIN);
    for cell in 0..12 {
        for (_, ue) in run.cell(cell).ues() {
            let geometry = ue.channel().geometry().unwrap();
            seen += usize::from(geometry.has_line_of_sight(cell));
            strongest_dbm = strongest_dbm.max(geometry.rsrp_dbm(cell));
        }
    }
    assert!(seen > 18, "{seen} of 36 UEs are in line of sight of their cell");
    assert!((-60.0..-20.0).contains(&strongest_dbm), "{strongest_dbm}");
    run.until(20.0);
    for cell in 0..12 {
        for (_, ue) in run.cell(cell).ues() {
            let at = ue.channel().geometry().unwrap().position();
            assert!((0.0..=120.0).contains(&at.x_m) && (0.0..=50.0).contains(&at.y_m), "{at:?}");
        }
    }
}

#[test]
fn trajectories() {
    let mut run = Running::example("trajectories");
    let position = |run: &Running, ue: u64| {
        let (cell, place) = run.find(ue)?;
        Some(run.cell(cell).ue(place).unwrap().channel().geometry().unwrap().position())
    };
    run.until(1.0);
    let [cars, tram, bus] = [0..4, 4..5, 5..6].map(|ues| ues.filter(|ue| run.find(*ue).is_some()).count());
    assert_eq!((cars, tram, bus), (1, 1, 1), "the other cars come later");
    run.until(10.0);
    assert!((0..4).all(|ue| run.find(ue).is_some()), "all cars drive");
    // the first car has driven 15 m/s for 10 s, less an update of 40 ms
    let car = position(&run, 0).unwrap();
    assert!((129.0..131.0).contains(&car.x_m) && car.y_m == 3.2, "{car:?}");
    assert!((139.0..141.0).contains(&position(&run, 5).unwrap().x_m));
    run.until(14.0);
    assert_eq!(position(&run, 4).unwrap().x_m, 50.0, "the tram is at its stop");
    run.until(21.0);
    assert_eq!(run.find(0), None, "the first car has left");
    run.until(50.0);
    assert!((0..4).all(|ue| run.find(ue).is_none()));
    assert_eq!((position(&run, 4).unwrap().x_m, run.find(4).unwrap().0), (500.0, 2), "the tram stays at its end");
    assert!(run.flow(5, 0).downlink.received_octets > 10_000_000);
}

#[test]
fn carrier_aggregation() {
    let mut run = Running::example("carrier-aggregation");
    run.until(1.0);
    let secondary = |run: &Running| {
        let (cell, place) = run.find(0).unwrap();
        run.cell(cell).ue(place).unwrap().secondary_cells().len()
    };
    assert_eq!(secondary(&run), 2);
    let received = |run: &Running, ue| run.flow(ue, 0).downlink.received_octets;
    let rate_mbps = |run: &mut Running, from: f64, until: f64| {
        run.until(from);
        let before = received(run, 0);
        run.until(until);
        (received(run, 0) - before) as f64 * 8e-6 / (until - from)
    };
    let three = rate_mbps(&mut run, 2.0, 9.0);
    let two = rate_mbps(&mut run, 11.0, 18.0);
    // a carrier has up to 75 Mbit/s, and the modem takes 10 of the first
    assert!(three > 150.0 && (75.0..=140.0).contains(&two), "{three} and {two} Mbit/s");
    assert_eq!(secondary(&run), 1);
    let modem_mbps = received(&run, 1) as f64 * 8e-6 / 18.0;
    assert!((8.0..=10.0).contains(&modem_mbps), "{modem_mbps}");
}
