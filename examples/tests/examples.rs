//! Each example works as described.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use custom_encoding::CHECKED;
use ferric::agent::AgentLoop;
use ferric::e2::{Action, Indication, NodeId, SubscriptionSpec};
use ferric::e2ap::{
    Cause, CauseMisc, Codec, GlobalE2NodeId, GnbId, Pdu, PlmnIdentity, RanFunctionId, ResetRequest, RicActionId,
    RicActionType, TransactionId, Version,
};
use ferric::link::Address;
use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
use ferric::xapp::{Verdict, Xapp, XappConfig, XappEvent};
use ferric::{Endpoint, StopHandle};
use ran::{Ran, RanConfig, Scenario};

#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/cell_configuration.rs"]
mod cell_configuration;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/custom_encoding.rs"]
mod custom_encoding;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/iapp.rs"]
mod iapp;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/interface_messages.rs"]
mod interface_messages;
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
#[path = "../src/bin/statistics.rs"]
mod statistics;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/verified_quota.rs"]
mod verified_quota;
#[allow(dead_code, reason = "its main is not called here")]
#[path = "../src/bin/xapp.rs"]
mod xapp;

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
        let config = RanConfig {
            rics: vec![ric.into()],
            scenario: Scenario::with_mixed_traffic(nodes, ues, 1),
            ..RanConfig::default()
        };
        self.spawn(
            move || {
                let ran = Ran::new(config).unwrap();
                let stop = ran.stop_handle();
                (ran, stop)
            },
            |mut ran| ran.run().unwrap(),
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

#[test]
fn xapp_prints_kpis_of_each_ue() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 4);
    let mut lines = Vec::new();
    xapp::run(&xapp_address, 20, |line| {
        lines.push(line);
        lines.len() < 8
    })
    .unwrap();
    assert_eq!(lines.len(), 8, "4 UEs, 2 measurements");
    assert!(lines[0].contains("DRB.UEThpDl: Real("), "{}", lines[0]);
    assert!(lines[7].contains("CQI: Integer("), "{}", lines[7]);
}

#[test]
fn cell_configuration_limits_slice_and_receives_report() {
    let mut running = Running::default();
    let (ric, xapp_address) = running.ric(None);
    running.ran(ric, 1, 4);
    let mut lines = Vec::new();
    cell_configuration::run(&xapp_address, 1, 30, |line| {
        lines.push(line);
        lines.len() < 2
    })
    .unwrap();
    lines.sort();
    let [now, set] = &lines[..] else { panic!("a report and an outcome") };
    assert!(now.starts_with("now: ") && now.contains("rrm_policy_max_ratio: Some(30)"), "{now}");
    assert!(set.starts_with("set: ") && set.contains("failed: None"), "{set}");
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
    let mut lines = Vec::new();
    slices::run(&xapp_address, 0.3, |line| {
        lines.push(line);
        lines.len() < 8
    })
    .unwrap();
    assert_eq!(lines.iter().filter(|line| *line == "done: ").count(), 2, "slices, and their UEs: {lines:?}");
    let line_of = |name: &str| lines.iter().rfind(|line| line.contains(name)).unwrap_or_else(|| panic!("{lines:?}"));
    assert!(line_of("others").contains("reserved: 0.7"), "{lines:?}");
    assert!(line_of("in-time").contains("reserved: 0.3"), "{lines:?}");
    let ues = |name| line_of(name).split(' ').nth_back(1).unwrap().parse::<usize>().unwrap();
    assert_eq!(ues("others") + ues("in-time"), 4, "{lines:?}");

    // a slice of one and a half cells leaves a negative share for the other
    let mut refused = String::new();
    slices::run(&xapp_address, 1.5, |line| {
        refused = line;
        !refused.starts_with("refused")
    })
    .unwrap();
    assert!(refused.contains("a share is from 0 to 100 %"), "{refused}");
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
    prb_quota::run(&xapp_address, 100, (1, 10), |line| {
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
    let verdict = verified_quota::run(&xapp_address, 100, 10, |line| lines.push(line)).unwrap();
    assert!(matches!(verdict, Verdict::Confirmed { after } if after < PATIENCE), "{verdict:?}");
    assert_eq!(lines[1..3], ["sent: at most 10 %", "acknowledged"], "{lines:?}");
    assert!(lines[0].starts_with("the slice uses ") && lines[3].starts_with("confirmed after "), "{lines:?}");
    assert_eq!(lines.len(), 4, "{lines:?}");
}
