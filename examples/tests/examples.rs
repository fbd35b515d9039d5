//! Each example works as described.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use custom_encoding::CHECKED;
use ferric::agent::AgentLoop;
use ferric::e2::{Action, Indication, NodeId, SubscriptionSpec};
use ferric::e2ap::{
    Cause, CauseMisc, Codec, GlobalE2NodeId, GnbDuId, GnbId, Pdu, PlmnIdentity, RanFunctionId, ResetRequest,
    RicActionId, RicActionType, TransactionId, Version,
};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
use ferric::xapp::{CellId, Ric, UeReference, Xapp, XappConfig, XappEvent};
use ferric::{Endpoint, StopHandle};
use ran::scenario::ScenarioFolders;
use ran::{Ran, RanConfig, Scenario};
use ran_functions::PeriodicConfig;
use ran_functions::cpu::{CpuConfig, CpuFunction};

#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/cell_configuration.rs"]
mod cell_configuration;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/cpu_slices.rs"]
mod cpu_slices;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/custom_encoding.rs"]
mod custom_encoding;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/energy_saving.rs"]
mod energy_saving;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/iapp.rs"]
mod iapp;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/interface_messages.rs"]
mod interface_messages;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/load_balancing.rs"]
mod load_balancing;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/prb_quota.rs"]
mod prb_quota;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/ran_function.rs"]
mod ran_function;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/slices.rs"]
mod slices;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/slot_scheduler.rs"]
mod slot_scheduler;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/statistics.rs"]
mod statistics;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/traffic_steering.rs"]
mod traffic_steering;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/verified_quota.rs"]
mod verified_quota;

#[path = "support/recorded_host.rs"]
mod recorded_host;

const PATIENCE: Duration = Duration::from_secs(60);

/// Threads that are stopped when this is dropped.
#[derive(Default)]
struct Running(Vec<(StopHandle, JoinHandle<()>)>);

impl Running {
    /// Runs the result of `start` in a thread.
    fn spawn<T>(
        &mut self,
        start: impl FnOnce() -> (T, StopHandle) + Send + 'static,
        run: impl FnOnce(T) + Send + 'static,
    ) {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            let (made, stop) = start();
            sender.send(stop).unwrap();
            run(made);
        });
        self.0.push((receiver.recv_timeout(PATIENCE).unwrap(), thread));
    }

    /// Starts a RIC on free ports with an iApp. Returns its addresses for nodes and xApps.
    fn ric(&mut self, app: Option<Box<dyn Iapp>>) -> (Address, Address) {
        self.ric_in(Codec::Per, app)
    }

    /// The same, with another encoding for nodes.
    fn ric_in(&mut self, codec: Codec, app: Option<Box<dyn Iapp>>) -> (Address, Address) {
        let any = || Address::Tcp { host: "127.0.0.1".into(), port: 0 };
        let e2 = vec![Endpoint::new(any(), codec)];
        let config = ServerConfig { e2, xapp: Some(any()), ..ServerConfig::default() };
        let mut server = Server::bind(config).unwrap();
        app.into_iter().for_each(|app| server.add_iapp(app));
        let addresses = (server.e2_addresses().next().unwrap().clone(), server.xapp_address().unwrap().clone());
        self.spawn(
            move || {
                let stop = server.stop_handle();
                (server, stop)
            },
            |mut server| server.run().unwrap(),
        );
        addresses
    }

    fn ran(&mut self, ric: Address, nodes: u16, ues: u16) {
        let scenario = Scenario::with_mixed_traffic(nodes, ues, 1);
        let config = RanConfig { rics: vec![ric.into()], scenario, ..RanConfig::default() };
        self.ran_of(config, |mut ran| ran.run().unwrap());
    }

    /// Starts a RAN with a file of `examples/scenarios`. It advances in steps, so a busy machine skips nothing.
    fn ran_of_file(&mut self, ric: Address, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let scenario = Scenario::from_toml(&text, &ScenarioFolders::with_traces(&folder)).unwrap();
        self.ran_of(
            RanConfig { rics: vec![ric.into()], scenario, is_stepped: true, ..RanConfig::default() },
            |mut ran| {
                let stop = ran.stop_handle();
                while !stop.is_stopped() {
                    ran.poll(Some(Duration::from_millis(5))).unwrap();
                    ran.step(Duration::from_millis(20)).unwrap();
                }
            },
        );
    }

    /// Starts an E2 node that reports the recorded CPUs of a host: a part of the first base station of [`Running::ran`].
    fn recorded_host(&mut self, ric: Address, name: &'static str) -> &'static str {
        let GlobalE2NodeId::Gnb(mut part) =
            GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22))
        else {
            unreachable!("it is a gNB")
        };
        part.gnb_du_id = Some(GnbDuId(4095));
        let id = GlobalE2NodeId::Gnb(part);
        assert_eq!(id.to_string(), name);
        self.spawn(
            move || {
                let mut agents = AgentLoop::new(Default::default()).unwrap();
                let periodic = PeriodicConfig { min_period_ms: 1, ..CpuConfig::default().periodic };
                let source = Rc::new(RefCell::new(recorded_host::RecordedHost::new()));
                agents.add(id, ric.into(), vec![Box::new(CpuFunction::new(source, CpuConfig { periodic }))]);
                let stop = agents.stop_handle();
                (agents, stop)
            },
            |mut agents| agents.run().unwrap(),
        );
        name
    }

    fn ran_of(&mut self, config: RanConfig, run: impl FnOnce(Ran) + Send + 'static) {
        self.spawn(
            move || {
                let ran = Ran::new(config).unwrap();
                let stop = ran.stop_handle();
                (ran, stop)
            },
            run,
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for (stop, thread) in self.0.drain(..) {
            stop.stop();
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking());
        }
    }
}

fn next<T>(receiver: &Receiver<T>) -> T {
    match receiver.recv_timeout(PATIENCE) {
        Ok(value) => value,
        Err(RecvTimeoutError::Timeout) => panic!("no message arrives"),
        Err(RecvTimeoutError::Disconnected) => panic!("the sender is gone"),
    }
}

/// Subscribes to the thermometer and forwards its reports.
struct Reader(mpsc::Sender<Vec<u8>>);

impl Iapp for Reader {
    fn name(&self) -> &str {
        "reader"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        if let IappEvent::NodeUp(node) = event {
            assert_eq!(*node.functions[0].definition, *b"Thermometer");
            let (id, kind) = (RicActionId(1), RicActionType::Report);
            let actions = vec![Action { id, kind, definition: None, subsequent: None }];
            let event_trigger = 5u32.to_be_bytes().to_vec();
            ric.subscribe(node.id, RanFunctionId(99), SubscriptionSpec { event_trigger, actions }).unwrap();
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _ric: &mut IappContext<'_>) {
        let (_, message) = indication.payload.unwrap();
        let _ = self.0.send(message.to_vec()); // the test may have ended
    }
}

impl Running {
    fn thermometer(&mut self, ric: Endpoint) {
        self.spawn(
            move || {
                let mut agents = AgentLoop::new(Default::default()).unwrap();
                let node = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xf00, 22));
                agents.add(node, ric, vec![Box::new(ran_function::Thermometer::default())]);
                let stop = agents.stop_handle();
                (agents, stop)
            },
            |mut agents| agents.run().unwrap(),
        );
    }
}

#[test]
fn ran_function_sends_reports() {
    let (sender, receiver) = mpsc::channel();
    let mut running = Running::default();
    let (ric, _) = running.ric(Some(Box::new(Reader(sender))));
    running.thermometer(ric.into());
    for _ in 0..3 {
        assert_eq!(next(&receiver), [21]);
    }
}

/// An iApp and an xApp decode a node's custom encoding; an xApp that does not know it still gets the PDU.
#[test]
fn custom_encoding_works_end_to_end() {
    let (sender, receiver) = mpsc::channel();
    let mut running = Running::default();
    let (e2, xapp) = running.ric_in(CHECKED, Some(Box::new(Reader(sender))));
    running.thermometer(Endpoint::new(e2, CHECKED));
    for _ in 0..3 {
        assert_eq!(next(&receiver), [21]);
    }
    for encodings in [vec![CHECKED], vec![]] {
        let config = XappConfig { encodings: encodings.clone(), ..XappConfig::default() };
        let mut reader = Xapp::connect(&xapp, "reader", config).unwrap();
        let mut read = None;
        let deadline = Instant::now() + PATIENCE;
        while read.is_none() {
            assert!(Instant::now() < deadline, "no indication");
            reader
                .poll(Some(Duration::from_millis(50)), |event, ric| match event {
                    XappEvent::NodeUp(node) => {
                        assert_eq!(node.encoding, "crc32");
                        let actions = vec![Action {
                            id: RicActionId(1),
                            kind: RicActionType::Report,
                            definition: None,
                            subsequent: None,
                        }];
                        let event_trigger = 10u32.to_be_bytes().to_vec();
                        ric.subscribe(node.id, RanFunctionId(99), SubscriptionSpec { event_trigger, actions });
                    }
                    XappEvent::Indication(indication) => {
                        let gather = per::Gather::new();
                        assert_eq!(indication.decode(&gather).is_ok(), !encodings.is_empty());
                        assert!(indication.pdu.len() > 40, "the node's PDU");
                        read = Some(indication.peek().map(|peeked| peeked.message.to_vec()));
                    }
                    _ => {}
                })
                .unwrap();
        }
        assert_eq!(read, Some((!encodings.is_empty()).then(|| vec![21])));
    }
}

#[test]
fn custom_encoding_detects_changed_octet() {
    let reset =
        ResetRequest { transaction_id: Some(TransactionId(7)), cause: Some(Cause::Misc(CauseMisc::OmIntervention)) };
    let (pdu, version, gather) = (Pdu::from(reset), Version::V2_03, per::Gather::new());
    let mut octets = b"before".to_vec();
    CHECKED.encode(&pdu, version, &mut octets).unwrap();
    let octets = octets.strip_prefix(b"before").unwrap();
    assert_eq!(CHECKED.decode(octets, version, &gather).unwrap().pdu, pdu);
    for at in 0..octets.len() {
        let mut damaged = octets.to_vec();
        damaged[at] ^= 0x10;
        let gather = per::Gather::new();
        assert!(CHECKED.decode(&damaged, version, &gather).is_err(), "octet {at}");
        assert!(CHECKED.decode(&octets[..at], version, &gather).is_err(), "cut at {at}");
        assert_eq!(CHECKED.outline(&damaged), None);
    }
}

#[test]
fn iapp_counts_indications_of_each_node() {
    let (sender, receiver) = mpsc::channel();
    let on_count = move |node: NodeId, count: u64| {
        let _ = sender.send((node, count)); // the test may have ended
    };
    let mut running = Running::default();
    let (ric, _) = running.ric(Some(Box::new(iapp::Counter { counts: BTreeMap::new(), on_count })));
    running.ran(ric, 3, 4);
    let mut counts = BTreeMap::new();
    while counts.len() < 3 || counts.values().any(|count| *count < 3) {
        let (node, count) = next(&receiver);
        assert_eq!(count, counts.get(&node).copied().unwrap_or(0) + 1);
        counts.insert(node, count);
    }
}

/// A program of the examples that runs, and its lines.
struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts a program that connects to a RIC.
    fn start(path: &str, ric: &Address) -> Program {
        let mut command = Command::new(path);
        command.env("FERRIC_RIC", ric.to_string()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Program { child, lines }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // it may have ended
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn xapp_prints_kpis_of_each_ue() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 4);
    let mut program = Program::start(env!("CARGO_BIN_EXE_xapp"), &xapp_address);
    let lines: Vec<String> = program.lines.by_ref().take(8).map(Result::unwrap).collect();
    let ues: std::collections::BTreeSet<_> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(ues.len(), 4, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("amf:") && line.contains(" CQI=")), "{lines:?}");
}

#[test]
fn ue_whose_throughput_falls_gets_the_larger_slice() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 4);
    let mut program = Program::start(env!("CARGO_BIN_EXE_larger_slice"), &xapp_address);
    let line = program.lines.next().unwrap().unwrap();
    assert!(line.starts_with("gnb-00101-e00: amf:") && line.ends_with(" moves to slice 2"), "{line}");
    let ric = Ric::options().address(xapp_address.to_string()).connect().unwrap();
    let slices = ric.slices().list().unwrap();
    assert!(slices.iter().any(|slice| slice.id == 2 && slice.ues > 0), "{slices:?}");
}

/// A first xApp fits on a slide: the lines below the comment at the top.
#[test]
fn first_examples_are_short() {
    for (source, most) in [(include_str!("../src/bin/xapp.rs"), 15), (include_str!("../src/bin/larger_slice.rs"), 30)] {
        let lines = source.lines().filter(|line| !line.starts_with("//!")).count();
        assert!(lines <= most, "{lines} lines, at most {most}");
    }
}

#[test]
fn cell_configuration_limits_slice_and_receives_report() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 4);
    let mut lines = Vec::new();
    cell_configuration::run(&xapp_address.to_string(), 1, 30, |line| {
        lines.push(line);
        lines.len() < 2
    })
    .unwrap();
    lines.sort();
    let [now, set] = &lines[..] else { panic!("a report and an outcome") };
    assert!(now.starts_with("now: ") && now.contains("rrm_policy_max_ratio: Some(30)"), "{now}");
    // what a node has not set is an error
    assert_eq!(set, "set: gnb-00101-e00");
}

#[test]
fn statistics_of_three_layers_are_read() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 4);
    // until all four UEs have lines, and one with traffic has values of all three layers
    let (begun, mut lines, mut whole) = (Instant::now(), Vec::new(), false);
    statistics::run(&xapp_address, 5, |line| {
        whole |= !line.contains("cqi 0 ") && !line.contains("pdcp 0 octets down, 0 up");
        lines.push(line);
        (lines.len() < 40 || !whole) && begun.elapsed() < PATIENCE
    })
    .unwrap();
    assert!(whole, "{:?}", lines.last());
    let ues: std::collections::BTreeSet<_> = lines.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(ues.len(), 4, "{ues:?}");
}

#[test]
fn slices_are_set_and_invalid_share_is_refused() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 4);
    let (begun, mut lines, mut assigned) = (Instant::now(), Vec::new(), 0);
    slices::run(&xapp_address.to_string(), 30.0, |line| {
        assigned += line.strip_suffix(" UEs assigned").map_or(0, |count| count.parse::<usize>().unwrap());
        let ues = |line: &String| line.rsplit(' ').nth(1).unwrap().parse::<usize>().unwrap_or(0);
        lines.push(line);
        let listed: Vec<&String> = lines.iter().filter(|line| line.starts_with("slice ")).collect();
        let is_complete = listed.last_chunk().is_some_and(|[one, other]| ues(one) + ues(other) == 4);
        !(assigned == 4 && is_complete) && begun.elapsed() < PATIENCE
    })
    .unwrap();
    assert_eq!((&*lines[0], assigned), ("gnb-00101-e00: slices set", 4), "{lines:?}");
    let line_of = |name: &str| lines.iter().rfind(|line| line.contains(name)).unwrap_or_else(|| panic!("{lines:?}"));
    assert!(line_of("others").starts_with("slice 0 others: 70 %, "), "{lines:?}");
    assert!(line_of("in-time").starts_with("slice 1 in-time: 30 %, "), "{lines:?}");
    let ues = |name| line_of(name).split(' ').nth_back(1).unwrap().parse::<usize>().unwrap();
    assert_eq!(ues("others") + ues("in-time"), 4, "{lines:?}");

    // a slice of one and a half cells leaves a negative share for the other
    let error = slices::run(&xapp_address.to_string(), 150.0, |line| panic!("{line}")).unwrap_err();
    assert_eq!((error.code(), error.parameter()), ("invalid", Some("share_percent")), "{error}");
}

#[test]
fn best_effort_slice_shrinks_while_the_host_is_hot_and_grows_back() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric.clone(), 1, 4);
    let recorded = running.recorded_host(ric, "gnb-00101-e00-du-4095");
    let xapp = Ric::options().address(xapp_address.to_string()).connect().unwrap();
    xapp.deadline(PATIENCE).node(recorded).unwrap();
    let (mut lines, mut shares, begun) = (Vec::new(), Vec::new(), Instant::now());
    let judged = cpu_slices::Judged::WaitsAndMisses;
    cpu_slices::run(&xapp_address.to_string(), "gnb-00101-e00", 20, judged, |line| {
        let (_, share) = line.split_once("best effort has ").unwrap_or_else(|| panic!("{line}"));
        shares.push(share.strip_suffix(" %").unwrap().parse::<f32>().unwrap());
        // the next report of the node has the same share
        let reported = || {
            let slices = xapp.node("gnb-00101-e00").unwrap().slices().list().unwrap();
            slices.iter().find(|slice| slice.label == "best effort").unwrap().share_percent.map(f32::round)
        };
        let (set, since) = (shares.last().map(|share| share.round()), Instant::now());
        while reported() != set {
            assert!(since.elapsed() < PATIENCE, "{:?} in place of {set:?}", reported());
            std::thread::sleep(Duration::from_millis(5));
        }
        lines.push(line);
        !(shares.len() > 1 && shares.ends_with(&[60.0])) && begun.elapsed() < PATIENCE
    })
    .unwrap();
    // as recorded: hot for 13 periods, and then cool until the trace begins again
    assert_eq!(shares, [60.0, 30.0, 15.0, 10.0, 30.0, 50.0, 60.0], "{lines:?}");
    assert!(lines[1].starts_with("gnb-00101-e00-du-4095: "), "{lines:?}");
}

#[test]
fn interface_message_is_held_and_released() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 3, 4);
    let mut lines = Vec::new();
    interface_messages::run(&xapp_address, |line| {
        lines.push(line);
        !lines.iter().any(|line| line.starts_with("answered"))
    })
    .unwrap();
    // a message of NGAP procedure 37, after the length of the octets
    assert!(lines[0].starts_with("held: [00, 2") && lines[0].contains(", 00, 25, 40, "), "{}", lines[0]);
    // other messages may be held meanwhile
    assert!(lines.iter().any(|line| line.starts_with("answered: Acknowledged(Some(")), "{lines:?}");
}

#[test]
fn prb_quota_is_visible_in_kpm() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 32);
    let (mut before, mut after) = (Vec::new(), None::<Vec<f64>>);
    prb_quota::run(&xapp_address.to_string(), 100, (1, 10), |line| {
        let share = line.strip_prefix("the slice uses ").and_then(|line| line.strip_suffix(" %"));
        match (share, &mut after) {
            (Some(share), None) => before.push(share.parse::<f64>().unwrap()),
            (Some(share), Some(after)) => after.push(share.parse().unwrap()),
            (None, _) => {
                assert_eq!(line, "the slice gets 1 to 10 %");
                after = Some(Vec::new());
            }
        }
        after.as_ref().is_none_or(|after| after.len() < 8)
    })
    .unwrap();
    let after = after.unwrap();
    assert!(before.iter().any(|share| *share > 30.0), "{before:?}");
    // the first report covers some time before the quota
    assert!(after[1..].iter().all(|share| *share <= 10.0) && after.iter().any(|share| *share > 0.0), "{after:?}");
}

#[test]
fn verified_quota_is_confirmed_by_kpm() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 32);
    let mut lines = Vec::new();
    verified_quota::run(&xapp_address.to_string(), 100, 10, |line| lines.push(line)).unwrap();
    let [share, requested, confirmed] = &lines[..] else { panic!("{lines:?}") };
    assert!(share.starts_with("the slice uses ") && requested == "at most 10 % are requested", "{lines:?}");
    assert!(confirmed.starts_with("gnb-00101-e00: confirmed after "), "{lines:?}");
}

/// Cells with little traffic fall asleep while their UEs are covered.
#[test]
fn energy_saving_puts_cells_to_sleep() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran_of_file(ric, "energy-saving.toml");
    let mut lines = Vec::new();
    energy_saving::run(&xapp_address.to_string(), 500, |line| {
        lines.push(line);
        false
    })
    .unwrap();
    assert!(lines[0].starts_with("cell 0038") && lines[0].contains(" falls asleep: 1 of 7 cells sleep; "), "{lines:?}");
}

/// In steps the model waits for no one here: decisions that come too late are refused, and the cell goes on.
#[test]
fn slot_scheduler_schedules_slots() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran_of_file(ric, "slot-scheduling.toml");
    let mut lines = Vec::new();
    let config = use_cases::slots::SlotConfig { delay_slots: 40, ..Default::default() };
    slot_scheduler::run(&xapp_address.to_string(), config, |line| {
        let has_decided = !line.starts_with("0 decisions");
        lines.push(line);
        !has_decided && lines.len() < 30
    })
    .unwrap();
    let accepted = |line: &String| line.contains(" accepted, ") && !line.contains(", 0 accepted");
    assert!(lines.last().is_some_and(accepted), "{lines:?}");
}

/// A cell with this number.
fn cell(number: u64) -> CellId {
    CellId::new(number)
}

/// What a UE receives of cells: their numbers, and the power in dBm.
type Powers<'a> = &'a [(u64, f64)];

/// A network for the decisions of `energy_saving`: the loads of cells, and UEs with their serving cells and what they receive.
fn network(loads: &[(u64, f64)], ues: &[(u64, Powers<'_>)]) -> energy_saving::Network {
    let ue = |(number, (serving, received)): (usize, &(u64, Powers<'_>))| {
        let rsrp_dbm = received.iter().map(|(number, dbm)| (cell(*number), *dbm)).collect();
        let state = energy_saving::UeState { serving: cell(*serving), rsrp_dbm };
        (UeReference::Amf(number as u64), state)
    };
    energy_saving::Network {
        loads: loads.iter().map(|(number, percent)| (cell(*number), *percent)).collect(),
        ues: ues.iter().enumerate().map(ue).collect(),
        unknown: Default::default(),
    }
}

#[test]
fn energy_saving_puts_only_cells_to_sleep_whose_ues_are_covered() {
    use energy_saving::Order::Sleep;
    use energy_saving::decide;

    let quiet = [(1, 5.0), (2, 5.0), (3, 5.0), (4, 5.0)];
    // the UE of cell 1 receives cell 2, that of cell 2 no other cell
    let ues: [(u64, Powers<'_>); 2] = [(1, &[(1, -80.0), (2, -100.0)]), (2, &[(2, -80.0)])];
    let both = decide(&network(&quiet, &ues), &[]);
    assert!(!both.contains(&Sleep(cell(2))), "{both:?}");
    assert_eq!(decide(&network(&quiet, &ues), &[]).len(), 1, "three stay on");
    // with UEs in all cells, that of cell 1 alone is covered by another one
    let alone: [(u64, Powers<'_>); 4] =
        [(1, &[(1, -80.0), (2, -100.0)]), (2, &[(2, -80.0)]), (3, &[(3, -80.0)]), (4, &[(4, -80.0)])];
    assert_eq!(decide(&network(&quiet, &alone), &[]), [Sleep(cell(1))]);
    let with = |received: Powers<'static>| {
        let mut ues = alone;
        ues[0].1 = received;
        decide(&network(&quiet, &ues), &[])
    };
    assert_eq!(with(&[(1, -80.0), (2, -119.0)]), [], "too weak");
    assert_eq!(with(&[(1, -80.0), (2, -100.0), (3, -103.0), (4, -103.0)]), [Sleep(cell(1))]);
    assert_eq!(with(&[(1, -80.0), (2, -100.0), (3, -100.0), (4, -100.0)]), [], "it would take 43 % of the other cell");
    // a UE that would take too much of the other cell
    let mut busier = network(&[(1, 35.0), (2, 20.0), (3, 5.0), (4, 5.0)], &alone);
    assert_eq!(decide(&busier, &[]), []);
    // a UE that has not reported what it receives
    busier = network(&quiet, &alone);
    busier.unknown.insert(cell(1));
    assert_eq!(decide(&busier, &[]), []);
    // three are the fewest
    assert_eq!(decide(&network(&quiet[..3], &alone[..3]), &[cell(4)]), []);
}

#[test]
fn energy_saving_wakes_cells_for_load_and_for_weak_ues() {
    use energy_saving::Order::{HandOver, Wake};
    use energy_saving::decide;

    let loads = [(1, 70.0), (2, 10.0), (3, 10.0)];
    // cell 5 was the best for a UE of the busy cell, cell 4 for one of another cell
    let ues: [(u64, Powers<'_>); 2] = [(1, &[(1, -90.0), (5, -80.0)]), (2, &[(2, -90.0), (4, -80.0)])];
    assert_eq!(decide(&network(&loads, &ues), &[cell(4), cell(5)]), [Wake(cell(5))]);
    // without reports those that fell asleep last wake up, one for each busy cell
    assert_eq!(decide(&network(&loads, &[]), &[cell(4), cell(5)]), [Wake(cell(5))]);
    let two = [(1, 70.0), (2, 90.0), (3, 10.0)];
    assert_eq!(decide(&network(&two, &[]), &[cell(4), cell(5), cell(6)]), [Wake(cell(6)), Wake(cell(5))]);
    assert_eq!(decide(&network(&two, &[]), &[]), []);
    // a UE of a busy cell changes to a better one with less load, but not to one that is as strong
    let ues: [(u64, Powers<'_>); 2] = [(1, &[(1, -90.0), (2, -88.0)]), (1, &[(1, -90.0), (3, -89.5)])];
    assert_eq!(decide(&network(&loads, &ues), &[]), [HandOver(UeReference::Amf(0), cell(2))]);
    assert_eq!(decide(&network(&[(1, 70.0), (2, 65.0), (3, 10.0)], &ues), &[]), []);
    // a UE at the edge of its cell, which received the sleeping one better
    let quiet = [(1, 5.0), (2, 5.0), (3, 5.0)];
    let weak = |dbm| -> Vec<_> { decide(&network(&quiet, &[(1, &[(1, dbm), (4, -110.0)])]), &[cell(4)]) };
    assert_eq!((weak(-122.0), weak(-120.0)), (vec![Wake(cell(4))], vec![]));
    // nor does a cell wake up that is no better
    assert_eq!(decide(&network(&quiet, &[(1, &[(1, -122.0), (4, -121.0)])]), &[cell(4)]), []);
}

#[test]
fn borders_move_from_busy_cells_and_back_when_all_are_quiet() {
    use load_balancing::{Offsets, balance};
    let loads = |percent: [f64; 3]| (1..).map(cell).zip(percent).collect::<BTreeMap<_, _>>();
    let mut offsets = Offsets::new();
    let mut apply = |percent| {
        let changed = balance(&loads(percent), &offsets);
        offsets.extend(changed.clone());
        let count = changed.len();
        let sums = offsets.iter().map(|((from, to), db)| db + offsets[&(*to, *from)]);
        assert!(sums.into_iter().all(|sum| sum == 0), "a UE at the border stays in one cell: {offsets:?}");
        (count, offsets.get(&(cell(1), cell(2))).copied(), offsets.get(&(cell(2), cell(3))).copied())
    };
    // no cell is busy, and none is much busier than another
    assert_eq!(apply([69.0, 10.0, 10.0]), (0, None, None));
    assert_eq!(apply([95.0, 90.0, 85.0]), (0, None, None));
    // cell 1 gives UEs to both others
    assert_eq!(apply([100.0, 30.0, 30.0]), (4, Some(1), None));
    for db in 2..=3 {
        assert_eq!(apply([100.0, 30.0, 30.0]).1, Some(db));
    }
    assert_eq!(apply([100.0, 30.0, 30.0]).0, 0, "the largest offset");
    // the border stays while cell 1 is helped, and returns when all are quiet
    assert_eq!(apply([60.0, 50.0, 50.0]).0, 0);
    assert_eq!(apply([30.0, 30.0, 30.0]).1, Some(2));
    // cells 1 and 3 are quiet still
    assert_eq!(apply([30.0, 100.0, 30.0]), (6, Some(1), Some(1)));
}

#[test]
fn load_balancing_sets_offsets_of_overloaded_cell() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran_of_file(ric, "load-balancing.toml");
    let mut lines = Vec::new();
    load_balancing::run(&xapp_address.to_string(), 500, |line| {
        lines.push(line);
        lines.len() < 7
    })
    .unwrap();
    // those of all neighbours of the cell in the middle, and that of the cell for each of them
    assert_eq!(lines.iter().filter(|line| line.starts_with("cell 003800001, load ")).count(), 1, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(" offsets changed")), "{lines:?}");
}

#[test]
fn ue_is_steered_to_the_cell_with_the_best_predicted_throughput() {
    use traffic_steering::{UeState, predict, steer};
    use use_cases::coverage::Received;
    let amf = UeReference::Amf;
    let received = |number, rsrp_dbm, sinr_db| Received { cell: cell(number), rsrp_dbm, sinr_db };
    let ue = |kbps, neighbours: &[Received]| UeState {
        kbps,
        serving: received(1, -90.0, 0.0),
        neighbours: neighbours.to_vec(),
    };
    let active: BTreeMap<_, _> = [(cell(1), 9.0), (cell(2), 2.0), (cell(3), 0.0)].into();
    // 0 dB is 1 bit per symbol, 4.77 dB 2 bits; a ninth of a cell against a third of one, and a whole one
    let two = received(2, -90.0, 10.0 * 3_f64.log10());
    let three = received(3, -90.0, 0.0);
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value} {expected}");
    near(predict(&ue(100.0, &[]), &two, &active), 600.0);
    near(predict(&ue(100.0, &[]), &three, &active), 900.0);

    let best = |neighbours: &[Received]| {
        // the other UE has more than the mean
        let ues =
            [(amf(7), ue(100.0, neighbours)), (amf(8), UeState { serving: received(4, -80.0, 20.0), ..ue(5e4, &[]) })];
        steer(&ues.into(), &active).into_iter().map(|steering| (steering.ue, steering.target)).collect::<Vec<_>>()
    };
    assert_eq!(best(&[two, three]), [(amf(7), cell(3))]);
    assert_eq!(best(&[two, Received { rsrp_dbm: -91.5, ..three }]), [(amf(7), cell(2))], "event A3 would hand it back");
    assert_eq!(best(&[two, Received { sinr_db: -3.5, ..three }]), [(amf(7), cell(2))], "it would fill the cell");
    let crowded = received(1, -90.0, 1.0);
    assert_eq!(best(&[crowded]), [], "the gain is too small");

    // one UE leaves a cell in a period, the one with the lowest throughput
    let ues = [(amf(1), ue(80.0, &[two, three])), (amf(2), ue(70.0, &[three])), (amf(3), ue(1e4, &[]))];
    let steered = steer(&ues.into(), &active);
    assert_eq!((steered.len(), &steered[0].ue, steered[0].target), (1, &amf(2), cell(3)));
    near(steered[0].kbps, 630.0);
    assert_eq!(steer(&BTreeMap::new(), &active), []);
}

#[test]
fn traffic_steering_hands_over_ues() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran_of_file(ric, "traffic-steering.toml");
    let mut lines = Vec::new();
    traffic_steering::run(&xapp_address.to_string(), 500, |line| {
        lines.push(line);
        false
    })
    .unwrap();
    let is_handover = |line: &String| line.starts_with("amf:") && line.contains(" kbit/s, to cell 0038");
    assert!(!lines.is_empty() && lines.iter().all(is_handover), "{lines:?}");
}
