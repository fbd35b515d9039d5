//! Several event loops: the tests of whole systems again, and tests that need several loops.

mod common;
mod suites;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use common::function::{Reporter, impatient, poll_agents_until};
use common::peer::{FUNCTION, Peer, VERSION, encoded, framed, indication, node_id, report_spec, setup_request};
use common::session::{node_id_of, plain, poll_until, session, subscribe};
use common::test_server::{Ric, TestServer, free_ports};
use common::{PATIENCE, eventually, eventually_some};
use e2ap::{RicActionType, RicIndicationType};
use ferric::agent::AgentLoop;
use ferric::e2::SubscriptionId;
use ferric::link::{Direction, LinkEnds, LinkObserver, StreamId, Tap, TapObserver};
use ferric::server::{LoopBalance, Server, ServerConfig};
use ferric::xapp::{RequestEvent, Xapp, XappEvent};

/// A node with the function of the tests, set up.
fn node(ric: &Ric, number: u32) -> Peer {
    let mut node = ric.node();
    node.set_up(number);
    node
}

fn number_of(indication: &ferric::xapp::Indication<'_>) -> u64 {
    u64::from_be_bytes(indication.peek().unwrap().message.try_into().unwrap())
}

/// Which nodes are on which loop.
#[derive(Debug)]
struct Placement {
    affinity_links: usize,
    balance: LoopBalance,
}

impl Placement {
    /// Whether nodes move all the time, so that each loop has them in turn.
    fn nodes_move(&self) -> bool {
        self.balance.busy_percent == 0
    }
}

fn placements() -> [Placement; 3] {
    // for longer than any test
    let never = LoopBalance { interval: Duration::from_secs(3600), ..LoopBalance::default() };
    let always = LoopBalance { interval: Duration::from_millis(1), busy_percent: 0 };
    [(0, never), (16, never), (0, always)].map(|(affinity_links, balance)| Placement { affinity_links, balance })
}

/// Nodes and xApps on every loop: each report goes to xApps on its own loop and on others.
#[test]
fn every_report_reaches_every_xapp_once_and_in_order() {
    const NODES: u32 = 4;
    const XAPPS: usize = 3;
    const REPORTS: u64 = 1000;
    for placement in placements() {
        let ric = Ric::start(ServerConfig {
            affinity_links: placement.affinity_links,
            balance: placement.balance,
            ..free_ports()
        });
        let mut nodes: Vec<_> = (0..NODES).map(|number| node(&ric, number)).collect();
        let mut xapps: Vec<_> = (0..XAPPS).map(|_| session(&ric)).collect();
        let mut ids = Vec::new();
        for (number, node) in (0..NODES).zip(&mut nodes) {
            // the first xApp causes a subscription at the node, the others share it
            let (subscription, request_id, action) = subscribe(&mut xapps[0], node, number);
            ids.push((subscription, request_id, action));
            for xapp in &mut xapps[1..] {
                let name = node_id_of(xapp, number);
                xapp.commands().subscribe(name, FUNCTION, report_spec(b"trigger"));
                poll_until(xapp, |event| {
                    matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(())
                });
            }
        }
        let sinks: Vec<_> = xapps
            .into_iter()
            .map(|mut xapp| {
                std::thread::spawn(move || {
                    let mut next: BTreeMap<SubscriptionId, u64> = BTreeMap::new();
                    let deadline = Instant::now() + PATIENCE;
                    while next.values().sum::<u64>() < u64::from(NODES) * REPORTS {
                        assert!(Instant::now() < deadline, "reports are lost: {next:?}");
                        xapp.poll(Some(Duration::from_millis(100)), |event, _| match event {
                            XappEvent::Indication(indication) => {
                                let next = next.entry(indication.subscription).or_default();
                                assert_eq!(number_of(&indication), *next, "each once and in order");
                                *next += 1;
                            }
                            other => panic!("{other:?}"),
                        })
                        .unwrap();
                    }
                })
            })
            .collect();
        for number in 0..REPORTS {
            for (node, (_, request_id, action)) in nodes.iter_mut().zip(&ids) {
                node.report(*request_id, *action, &number.to_be_bytes());
            }
            if placement.nodes_move() && number % 10 == 0 {
                std::thread::sleep(Duration::from_millis(1)); // several moves of each node
            }
        }
        sinks.into_iter().for_each(|sink| sink.join().unwrap());
        let counters = ric.stop();
        assert_eq!(counters.moved_nodes > 0, placement.nodes_move(), "{placement:?}");
        assert_eq!(counters.indications, u64::from(NODES) * REPORTS);
        assert_eq!(counters.deliveries, u64::from(NODES) * REPORTS * XAPPS as u64);
        assert_eq!(counters.dropped_reports, 0);
    }
}

/// Nodes and xApps on every loop: whichever loop relays an indication, it is traced once.
#[test]
fn indications_of_all_loops_are_traced() {
    const NODES: u32 = 3;
    const REPORTS: u64 = 100;
    let (sender, traces) = channel();
    let ric = Ric::prepared(free_ports(), move |server| {
        server.trace(1, Box::new(move |trace| sender.send(*trace).unwrap()));
    });
    let mut nodes: Vec<_> = (0..NODES).map(|number| node(&ric, number)).collect();
    let mut xapps: Vec<_> = (0..3).map(|_| session(&ric)).collect();
    for (number, node) in (0..NODES).zip(&mut nodes) {
        let (_, request_id, action) = subscribe(&mut xapps[0], node, number);
        for xapp in &mut xapps[1..] {
            let name = node_id_of(xapp, number);
            xapp.commands().subscribe(name, FUNCTION, report_spec(b"trigger"));
            poll_until(xapp, |event| {
                matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(())
            });
        }
        for number in 0..REPORTS {
            node.report(request_id, action, &number.to_be_bytes());
            // a worker that has more traces than may wait for the first loop loses them
            let trace = traces.recv_timeout(PATIENCE).unwrap();
            assert_eq!(trace.function, FUNCTION);
            let times = [trace.received_ns, trace.routed_ns, trace.delivered_ns, trace.written_ns];
            assert!(times.is_sorted(), "{times:?}");
            // a loop may have several xApps
            assert!((1..=3).contains(&(trace.deliveries + u64::from(trace.other_loops))), "{trace:?}");
            assert!(trace.node.is_some(), "the node is connected");
        }
    }
    let counters = ric.stop();
    assert_eq!(counters.indications, u64::from(NODES) * REPORTS);
    assert_eq!(traces.try_iter().count(), 0, "each is traced once");
}

/// By default the number of links does not matter: no report crosses loops as long as no loop is busy.
#[test]
fn nodes_are_on_the_loop_of_their_consumer() {
    const NODES: u32 = 20;
    let [Placement { balance, .. }, ..] = placements();
    let (sender, traces) = channel();
    let affinity_links = ServerConfig::default().affinity_links;
    let ric = Ric::prepared(ServerConfig { affinity_links, balance, ..free_ports() }, move |server| {
        server.trace(1, Box::new(move |trace| sender.send(*trace).unwrap()));
    });
    let mut nodes: Vec<_> = (0..NODES).map(|number| node(&ric, number)).collect();
    let mut xapp = session(&ric);
    let ids: Vec<_> = (0..NODES).zip(&mut nodes).map(|(number, node)| subscribe(&mut xapp, node, number)).collect();
    for (node, (_, request_id, action)) in nodes.iter_mut().zip(&ids) {
        node.report(*request_id, *action, &0_u64.to_be_bytes());
        let trace = traces.recv_timeout(PATIENCE).unwrap();
        assert_eq!((trace.deliveries, trace.other_loops), (1, 0), "{trace:?}");
    }
    assert_eq!(ric.stop().moved_nodes, 0);
}

/// An xApp of the storm: subscribes, receives some reports and unsubscribes, repeatedly.
fn restless(mut xapp: Xapp, nodes: u32, seed: u64, ended: &AtomicBool, rounds: &AtomicU64) {
    let names: Vec<_> = (1..=nodes).map(|number| node_id_of(&mut xapp, number)).collect();
    // the number of reports since the subscription was set up, and the number of the next one
    let mut standing: BTreeMap<SubscriptionId, (u64, Option<u64>)> = BTreeMap::new();
    let (mut random, mut pending, mut leaving) = (seed, 0_u32, Vec::new());
    let mut last = None;
    while !(ended.load(Ordering::Acquire) && pending == 0 && standing.is_empty()) {
        let may_subscribe = pending == 0 && standing.is_empty();
        if may_subscribe && !ended.load(Ordering::Acquire) {
            for name in &names {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // shared with others, or not
                let trigger = if random >> 63 == 0 { b"shared".to_vec() } else { seed.to_be_bytes().to_vec() };
                xapp.commands().subscribe(*name, FUNCTION, report_spec(&trigger));
                pending += 1;
            }
        }
        xapp.poll(Some(Duration::from_millis(100)), |event, ric| match event {
            XappEvent::Request(RequestEvent::Subscribed { subscription, .. }) => {
                pending -= 1;
                assert_eq!(standing.insert(subscription, (0, None)), None, "announced twice");
            }
            XappEvent::Indication(indication) => {
                let (count, next) =
                    standing.get_mut(&indication.subscription).expect("reports only while the subscription exists");
                let number = number_of(&indication);
                assert!(next.is_none_or(|next| next == number), "expected {next:?}, got {number}");
                (*count, *next) = (*count + 1, Some(number + 1));
                if *count == 20 {
                    ric.unsubscribe(indication.subscription);
                    leaving.push(indication.subscription);
                }
            }
            XappEvent::Request(RequestEvent::SubscriptionEnded { subscription, .. }) => {
                last = standing.remove(&subscription);
                assert!(last.is_some(), "the subscription existed");
                rounds.fetch_add(1, Ordering::Relaxed);
            }
            XappEvent::NodeUp(_) => {}
            other => panic!("{other:?}"),
        })
        .unwrap();
    }
}

#[test]
fn subscription_storm_keeps_reports_complete_and_ordered() {
    const NODES: u32 = 3;
    const XAPPS: u64 = 4;
    for Placement { affinity_links, balance } in placements() {
        let ric = Ric::start(ServerConfig { affinity_links, balance, ..free_ports() });
        let (started, agents) = std::sync::mpsc::channel();
        let e2 = ric.e2[0].clone();
        let ran = std::thread::spawn(move || {
            let mut agents = AgentLoop::new(impatient()).unwrap();
            for number in 1..=NODES {
                let reporter = Reporter::new(Duration::from_micros(300));
                agents.add(node_id(number), e2.clone().into(), vec![Box::new(reporter)]);
            }
            poll_agents_until(&mut agents, "the setups", |agents| agents.connected_controllers() == NODES as usize);
            started.send(agents.stop_handle()).unwrap();
            agents.run().unwrap();
            agents.dropped_reports()
        });
        let stop = agents.recv().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let rounds: Vec<_> = (0..XAPPS).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let xapps: Vec<_> = (0..XAPPS)
            .zip(&rounds)
            .map(|(seed, rounds)| {
                let (xapp, ended, rounds) = (session(&ric), ended.clone(), rounds.clone());
                std::thread::spawn(move || restless(xapp, NODES, seed, &ended, &rounds))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(700)); // the duration of the storm on a quiet host
        eventually("20 subscriptions each", || {
            let is_over = |xapp: &std::thread::JoinHandle<()>| xapp.is_finished();
            rounds.iter().all(|rounds| rounds.load(Ordering::Relaxed) > 20) || xapps.iter().any(is_over)
        });
        ended.store(true, Ordering::Release);
        xapps.into_iter().for_each(|xapp| xapp.join().expect("all reports in order"));
        stop.stop();
        assert_eq!(ran.join().unwrap(), 0);
        assert_eq!(ric.stop().dropped_reports, 0);
    }
}

/// Inserts go through the main loop; reports that follow them on the same association must not overtake them.
#[test]
fn reports_do_not_overtake_inserts() {
    for Placement { affinity_links, balance } in placements() {
        check_order_of_inserts_and_reports(&Ric::start(ServerConfig { affinity_links, balance, ..free_ports() }));
    }
}

fn check_order_of_inserts_and_reports(ric: &Ric) {
    let mut node = node(ric, 1);
    let mut xapp = session(ric);
    let mut spec = report_spec(b"both");
    spec.actions[0].kind = RicActionType::Insert;
    let name = node_id_of(&mut xapp, 1);
    xapp.commands().subscribe(name, FUNCTION, spec);
    xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
    let (request_id, action) = node.admit();
    poll_until(&mut xapp, |event| matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(()));
    const SENT: u64 = 5000;
    let sink = std::thread::spawn(move || {
        let mut next = 0;
        while next < SENT {
            xapp.poll(Some(PATIENCE), |event, _| match event {
                XappEvent::Indication(indication) => {
                    assert_eq!(number_of(&indication), next);
                    next += 1;
                }
                other => panic!("{other:?}"),
            })
            .unwrap();
        }
    });
    for number in 0..SENT {
        let bytes = number.to_be_bytes();
        let mut pdu = indication(request_id, action, &bytes);
        if number % 7 == 0 {
            pdu.kind = RicIndicationType::Insert;
        }
        node.send_pdu(pdu);
    }
    sink.join().unwrap();
}

/// The main loop is not polled for a while. Reports continue; everything that needs the controller waits.
#[test]
fn workers_continue_while_the_main_loop_is_blocked() {
    let mut server = Server::bind(free_ports()).unwrap();
    let (e2, xapp) = (server.e2_addresses().next().unwrap().clone(), server.xapp_address().unwrap().clone());
    let resting = Arc::new(AtomicBool::new(false));
    let stop = server.stop_handle();
    let thread = std::thread::spawn({
        let (resting, stop) = (resting.clone(), stop.clone());
        move || {
            while !stop.is_stopped() {
                if resting.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(1)); // other work of the program
                } else {
                    server.poll(Some(Duration::from_millis(5))).unwrap();
                }
            }
            server.counters()
        }
    });
    let (mut nodes, mut xapps) = (Vec::new(), Vec::new());
    for number in 1..=3 {
        let mut node = Peer::connect(&e2);
        node.set_up(number);
        nodes.push(node);
        xapps.push(Xapp::connect(&xapp, "test", plain()).unwrap());
    }
    let last = xapps.len() - 1;
    let mut ids = Vec::new();
    for (number, node) in (1..).zip(&mut nodes) {
        ids.push(subscribe(&mut xapps[last], node, number));
        // another xApp on another loop, so that inserts must cross loops
        let name = node_id_of(&mut xapps[1], number);
        xapps[1].commands().subscribe(name, FUNCTION, report_spec(b"trigger"));
        poll_until(&mut xapps[1], |event| {
            matches!(event, XappEvent::Request(RequestEvent::Subscribed { .. })).then_some(())
        });
    }
    let mut other = xapps.remove(1);
    let last = last - 1;
    let reads = std::thread::spawn(move || while other.poll(None, |_, _| ()).is_ok() {});
    let placed = Instant::now();
    let mut direct = None;
    while direct.is_none() {
        assert!(placed.elapsed() < PATIENCE, "no node is on a worker");
        resting.store(true, Ordering::Release);
        std::thread::sleep(Duration::from_millis(20)); // until its current iteration is over
        for (at, (node, (_, request_id, action))) in nodes.iter_mut().zip(&ids).enumerate() {
            node.report(*request_id, *action, &(at as u64).to_be_bytes());
        }
        // reports that arrive while the main loop rests came through workers alone
        let waited = Instant::now();
        while direct.is_none() && waited.elapsed() < Duration::from_millis(200) {
            xapps[last]
                .poll(Some(Duration::from_millis(20)), |event, _| {
                    if let XappEvent::Indication(indication) = event {
                        direct = Some(number_of(&indication) as usize);
                    }
                })
                .unwrap();
        }
        resting.store(false, Ordering::Release);
        std::thread::sleep(Duration::from_millis(20)); // until it has processed what was waiting
        xapps[last].poll(Some(Duration::ZERO), |_, _| ()).unwrap();
    }

    // far more inserts than the ring and the queue behind it hold: the node must wait, and nothing is lost
    const INSERTS: u64 = 3000;
    let at = direct.unwrap();
    let (subscription, request_id, action) = ids[at];
    let mut writer = nodes[at].another();
    resting.store(true, Ordering::Release);
    let written = Arc::new(AtomicU64::new(0));
    let source = std::thread::spawn({
        let written = written.clone();
        move || {
            let mut message = vec![0; 8000];
            for number in 0..INSERTS {
                message[..8].copy_from_slice(&number.to_be_bytes());
                let mut insert = indication(request_id, action, &message);
                insert.kind = RicIndicationType::Insert;
                writer.write(&framed(&encoded(insert, VERSION)));
                written.store(number + 1, Ordering::Release);
            }
        }
    });
    let mut before = 0;
    loop {
        std::thread::sleep(Duration::from_millis(100)); // until nothing more is accepted
        let now = written.load(Ordering::Acquire);
        if now == before {
            break;
        }
        before = now;
    }
    assert!(before < INSERTS, "the node must wait");
    resting.store(false, Ordering::Release);
    let mut next = 0;
    let deadline = Instant::now() + PATIENCE;
    while next < INSERTS {
        assert!(Instant::now() < deadline, "{next} inserts came");
        xapps[last]
            .poll(Some(Duration::from_millis(100)), |event, _| match event {
                XappEvent::Indication(indication) if indication.subscription == subscription => {
                    let message = indication.peek().unwrap().message;
                    if message.len() == 8000 {
                        assert_eq!(u64::from_be_bytes(*message.first_chunk().unwrap()), next);
                        next += 1;
                    }
                }
                _ => {}
            })
            .unwrap();
    }
    source.join().unwrap();
    stop.stop();
    thread.join().unwrap();
    reads.join().unwrap(); // its session ends with the server
}

/// Panics as soon as it sees a PDU on a worker.
struct Faulty;

impl TapObserver for Faulty {
    fn begin(&self, _ends: LinkEnds<'_>) -> Box<dyn LinkObserver> {
        Box::new(Faulty)
    }
}

impl LinkObserver for Faulty {
    fn pdu(&self, _direction: Direction, _stream: StreamId, _parts: &[&[u8]]) {
        let thread = std::thread::current();
        assert!(!thread.name().is_some_and(|name| name.starts_with("loop-")), "an intentional panic");
    }
}

#[test]
fn worker_panic_ends_the_server() {
    let mut config = free_ports();
    config.xapp_tap = Some(Tap::new(Arc::new(Faulty)));
    let mut server = Server::bind(config).unwrap();
    let xapp = server.xapp_address().unwrap().clone();
    let thread = std::thread::spawn(move || drop(server.run()));
    // some of them on a worker
    let xapps: Vec<_> = (0..3)
        .map(|_| {
            let mut xapp = Peer::connect(&xapp);
            xapp.send_message(&ferric::e2::xapp::XappMessage::Hello { lowest: 1, highest: 1, name: "test".into() });
            xapp
        })
        .collect();
    eventually("the end of the server", || thread.is_finished());
    let panic = thread.join().expect_err("it fails as the worker did");
    assert!(panic.downcast_ref::<&str>().is_some_and(|reason| reason.contains("an intentional panic")));
    drop(xapps);
}

#[test]
fn server_end_stops_all_loops() {
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
        tasks.flatten().filter_map(name).filter(|name| name.trim() == "loop-63").count()
    };
    let mut server = Server::bind(ServerConfig { loops: 64, ..free_ports() }).unwrap();
    server.poll(Some(Duration::ZERO)).unwrap();
    eventually("the last loop", || threads() == 1);
    drop(server);
    assert_eq!(threads(), 0);
}

fn node_once_there_is_room(ric: &Ric, number: u32) -> Peer {
    eventually_some("room for a node", || {
        let mut node = ric.node();
        node.send(&setup_request(number, VERSION));
        node.try_receive().is_some().then_some(node)
    })
}

#[test]
fn peers_on_workers_count_towards_limits_and_are_removed() {
    let server = TestServer::with(|config| (config.max_connections, config.max_xapp_connections) = (6, 6));
    // four of each for one host, of which the well-behaved peers have one; those of the previous round are removed one by one
    for round in 0..5 {
        let mut nodes: Vec<_> =
            (0..3).map(|number| node_once_there_is_room(&server.ric, 100 * round + number)).collect();
        let connect = || Xapp::connect(&server.ric.xapp, "test", plain()).ok();
        let mut xapps: Vec<_> = (0..3).map(|_| eventually_some("room for an xApp", connect)).collect();
        for (at, node) in nodes.iter_mut().enumerate() {
            subscribe(&mut xapps[at], node, 100 * round + at as u32);
        }
        let mut one_too_many = server.ric.node();
        assert_eq!(one_too_many.try_receive(), None);
    }
    node_once_there_is_room(&server.ric, 7777);
    server.end();
}

/// Links are closed at both ends while they are on their way from one loop to another.
#[test]
fn nodes_that_leave_while_they_move_are_removed() {
    let [.., Placement { balance, .. }] = placements();
    let server = TestServer::with(|config| {
        (config.max_connections, config.max_xapp_connections, config.balance) = (6, 6, balance);
    });
    // four nodes of this host at most, of which the well-behaved peers have one
    for round in 0..30 {
        let mut nodes: Vec<_> =
            (0..2).map(|number| node_once_there_is_room(&server.ric, 100 * round + number)).collect();
        let connect = || Xapp::connect(&server.ric.xapp, "test", plain()).ok();
        let mut xapp = eventually_some("room for an xApp", connect);
        let ids: Vec<_> =
            (0..).zip(&mut nodes).map(|(at, node)| subscribe(&mut xapp, node, 100 * round + at)).collect();
        for number in 0..u64::from(round) {
            for (node, (_, request_id, action)) in nodes.iter_mut().zip(&ids) {
                node.report(*request_id, *action, &number.to_be_bytes());
            }
        }
        // the RIC closes the first one, which sets up on another connection; the other one leaves
        drop(node_once_there_is_room(&server.ric, 100 * round));
    }
    node_once_there_is_room(&server.ric, 7777);
    assert!(server.end().moved_nodes > 0);
}
