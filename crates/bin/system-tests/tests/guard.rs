//! The guard of the traffic xApp, connected over the link for xApps, with an emulated RAN.

use std::time::{Duration, Instant};

use e2sm::tc::FiveTuple;
use ferric::e2::Time;
use ferric::xapp::{Xapp, XappConfig};
use radio::traffic::{FlowSpecification, Kind, Tcp};
use radio::{CellConfig, Subscription};
use ran::scenario::{CellScenario, ChannelScenario, FlowScenario, UeScenario};
use ran::{RanConfig, Scenario};
use system_tests::{RicAndRan, eventually};
use traffic::guard::WaitStatistics;
use traffic::record::{QueueEntryRecord, Record, RlcRecord, TcRecord};
use traffic::{FlowGuard, GuardConfig, LinkEvent, TrafficLink};

const NODE: &str = "gnb-00101-e00";

/// A guard, with its link to the RIC.
struct Driver {
    link: TrafficLink,
    guard: FlowGuard,
    begun: Instant,
    is_lost: bool,
    /// The last records.
    rlc: Option<RlcRecord>,
    tc: Option<TcRecord>,
    events: Vec<String>,
}

impl Driver {
    fn new(running: &RicAndRan, config: GuardConfig) -> Driver {
        let xapp = Xapp::connect(&running.ric.xapp, "guard", XappConfig::default()).unwrap();
        let (link, guard) = (TrafficLink::new(xapp, Some(10)), FlowGuard::new(config));
        Driver { link, guard, begun: Instant::now(), is_lost: false, rlc: None, tc: None, events: Vec::new() }
    }

    fn poll(&mut self) {
        let now = Time::from_nanos(self.begun.elapsed().as_nanos() as u64);
        for event in self.link.poll(Duration::from_millis(10)).unwrap() {
            match event {
                LinkEvent::Record(node, record) => {
                    assert_eq!(node, NODE);
                    match record {
                        Record::Rlc(record) => {
                            self.guard.handle_rlc(&record);
                            self.rlc = Some(record);
                        }
                        Record::Tc(record) => {
                            self.guard.handle_tc(now, &record);
                            self.tc = Some(record);
                        }
                    }
                }
                LinkEvent::Outcome(_, answer) => self.guard.handle_answer(now, answer),
                LinkEvent::NodeLost(node) => self.is_lost = node == NODE,
                LinkEvent::MissingFunctions(node) => panic!("{node} offers both"),
            }
        }
        while let Some(control) = self.guard.poll_control() {
            self.link.control(NODE, &control);
        }
        self.events.extend(std::iter::from_fn(|| self.guard.poll_event()).map(|event| event.to_string()));
    }

    fn until(&mut self, what: &str, mut holds: impl FnMut(&Driver) -> bool) {
        eventually(what, || {
            self.poll();
            holds(self)
        });
    }

    /// Returns a queue of the node's last report.
    fn entry(&self, at: usize) -> Option<QueueEntryRecord> {
        self.tc.as_ref()?.queues.get(at).copied()
    }
}

#[test]
fn guard_takes_and_undoes_all_steps() {
    let running = RicAndRan::start(Vec::new(), RanConfig::default());
    let flow = FiveTuple { destination_port: Some(5060), ..FiveTuple::default() };
    let mut driver = Driver::new(&running, GuardConfig::new(flow, Duration::ZERO));
    driver.until("protection", |driver| driver.guard.is_protected());
    driver.guard.undo(true);
    driver.until("all of it undone", |driver| driver.guard.is_finished());
    assert_eq!(driver.entry(1), None);
    drop(running);
    driver.until("the loss", |driver| driver.is_lost);
    let done: Vec<_> = driver.events.iter().filter_map(|line| line.strip_prefix("done: ")).collect();
    let (doing, undoing) = done.split_at(3);
    let queue = "add a second FIFO queue";
    assert_eq!(doing, [queue, "add a filter that sends the flow to queue 1", "set the 5G-BDP pacer"]);
    assert_eq!(undoing, ["remove the pacer", "delete filter 0", "delete queue 1"]);
}

/// Returns a scenario with a call, and a greedy download of the same UE that starts later.
fn call_and_download() -> Scenario {
    let flow = |kind, begin_s: u64, port| {
        let start = radio::Time::START + Duration::from_secs(begin_s);
        FlowScenario { specification: FlowSpecification { start, ..FlowSpecification::new(kind) }, ports: (443, port) }
    };
    let ue = UeScenario {
        cell: 0,
        subscription: Subscription::default(),
        max_carriers: 1,
        channel: ChannelScenario::Mcs(20),
        flows: vec![flow(Kind::Voip { echoed: true }, 0, 5060), flow(Kind::Greedy(Tcp::default()), 2, 5001)],
        arrives: radio::Time::START,
        leaves: None,
    };
    let cell = CellScenario { radio: CellConfig::default(), ..CellScenario::default() };
    Scenario { cells: vec![cell], ues: vec![ue], ..Scenario::default() }
}

/// FlexRIC paper, 6.1.1: the download fills RLC and the call waits behind it, until the xApp moves the call to another queue.
/// Then only the download waits, in its own queue.
#[test]
fn call_does_not_wait_behind_a_download() {
    let running = RicAndRan::start(Vec::new(), RanConfig { scenario: call_and_download(), ..RanConfig::default() });
    let flow = FiveTuple { destination_port: Some(5060), protocol: Some(17), ..FiveTuple::default() };
    let limit = Duration::from_millis(20);
    let mut driver = Driver::new(&running, GuardConfig::new(flow, limit));
    driver.until("protection", |driver| driver.guard.is_protected());
    let Some(WaitStatistics { max_us, .. }) = driver.guard.measured().before() else { panic!("nothing was measured") };
    assert!(Duration::from_micros(max_us.into()) > limit, "{max_us} us");
    // the backlog moves from RLC to the download's queue
    driver.until("a short RLC buffer below a long queue", |driver| {
        let waits = driver.rlc.as_ref().and_then(|rlc| rlc.bearers.first()).map(|bearer| bearer.tx_sdu_wait_us);
        let download = driver.entry(0).map(|entry| entry.queue.last_sojourn_us);
        waits.is_some_and(|us| us < 20_000) && download.is_some_and(|us| us > 20_000)
    });
    // the call is in its own queue, and does not wait
    let before = driver.entry(1).unwrap().queue.forwarded_packets;
    let mut longest_us = 0;
    driver.until("a second of the call", |driver| {
        let queue = driver.entry(1).unwrap().queue;
        longest_us = longest_us.max(queue.last_sojourn_us);
        queue.forwarded_packets >= before + 50
    });
    assert!(longest_us < 20_000, "{longest_us} us in the call's queue");
    assert!(!driver.events.iter().any(|line| line.contains("matched packets: 0")), "{:?}", driver.events);
}
