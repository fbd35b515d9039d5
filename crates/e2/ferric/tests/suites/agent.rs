//! The event loop of agents: guarantees for a base station, whatever its RIC does.

use ferric::e2::{AgentMisuse, RequestEvent};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::common::function::{Log, Reporter, impatient, poll_agents_until};
use crate::common::peer::{FUNCTION, Peer, encoded, node_id, report_spec};
use crate::common::session::{node_id_of, session};
use crate::common::test_server::{Ric, free_ports};
use crate::common::{PATIENCE, eventually, socket_path, unique};
use e2ap::{
    Cause, CauseRicRequest, E2NodeComponentConfigAdditionAckItem, E2NodeComponentConfigurationAck, E2SetupResponse,
    GlobalRicId, Pdu, PlmnIdentity, RicActionId, RicActionToBeSetup, RicActionType, RicControlAckRequest,
    RicControlRequest, RicIndicationSn, RicRequestId, RicSubscriptionDetails, RicSubscriptionRequest,
    RicSubscriptionTime, UpdateOutcome, Version,
};
use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, RequestKey, SendAgentLoop};
use ferric::link::{self, Address};
use ferric::server::ServerConfig;
use ferric::xapp::XappEvent;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Agents of one node each, with a reporter, for `rics`.
fn agents(config: AgentLoopConfig, rics: &[Address], reporter: impl Fn() -> Reporter) -> (AgentLoop, Vec<Arc<Log>>) {
    let mut agents = AgentLoop::new(config).unwrap();
    let mut logs = Vec::new();
    for (ric, number) in rics.iter().zip(1..) {
        let reporter = reporter();
        logs.push(reporter.log.clone());
        agents.add(node_id(number), ric.clone().into(), vec![Box::new(reporter)]);
    }
    (agents, logs)
}

fn every(ms: u64) -> impl Fn() -> Reporter {
    move || Reporter::new(Duration::from_millis(ms))
}

/// A server that listens for nodes at `address`.
fn ric_at(address: &Address) -> Ric {
    Ric::start(ServerConfig { e2: vec![address.clone().into()], ..free_ports() })
}

/// A RIC driven by the test.
struct Controller {
    listener: TcpListener,
    address: Address,
}

impl Controller {
    fn new() -> Controller {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
        listener.set_nonblocking(true).unwrap();
        Controller { listener, address }
    }

    fn try_accept(&self) -> Option<Peer> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                Some(Peer::of(stream))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Accepts an agent's connection, and answers its setup.
    fn set_up(&self, agents: &mut AgentLoop) -> Peer {
        let mut peer = None;
        poll_agents_until(agents, "a connection", |_| {
            peer = peer.take().or_else(|| self.try_accept());
            peer.is_some()
        });
        let mut peer = peer.unwrap();
        answer_setup(&mut peer, agents);
        peer
    }
}

fn answer_setup(peer: &mut Peer, agents: &mut AgentLoop) {
    agents.poll(Some(Duration::from_millis(5))).unwrap();
    let request = match peer.receive_pdu() {
        Pdu::E2SetupRequest(request) => request,
        other => panic!("{other:?}"),
    };
    let components = request.component_config_addition.unwrap();
    let acknowledged = components.iter().map(|component| E2NodeComponentConfigAdditionAckItem {
        interface_type: component.interface_type,
        id: component.id.clone(),
        ack: E2NodeComponentConfigurationAck { outcome: UpdateOutcome::Success, failure_cause: None },
    });
    peer.send_pdu(E2SetupResponse {
        transaction_id: request.transaction_id,
        global_ric_id: GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 1),
        ran_functions_accepted: None,
        ran_functions_rejected: None,
        component_config_update_ack_v1: None,
        component_config_addition_ack: Some(acknowledged.collect()),
    });
    poll_agents_until(agents, "the setup", |agents| agents.connected_controllers() == 1);
}

fn subscription_request() -> RicSubscriptionRequest<'static> {
    let action = RicActionToBeSetup {
        id: RicActionId(1),
        kind: RicActionType::Report,
        definition: None,
        subsequent_action: None,
        execution_order: None,
    };
    RicSubscriptionRequest {
        request_id: RicRequestId { requestor: 1, instance: 1 },
        ran_function_id: FUNCTION,
        details: RicSubscriptionDetails { event_trigger_definition: b"".into(), actions: vec![action].into() },
        start_time: None,
        end_time: None,
    }
}

fn assert_send<T: Send>() {}

#[test]
fn send_agent_loop_is_send() {
    assert_send::<SendAgentLoop>();
}

#[test]
fn agent_moves_to_another_thread_with_its_functions() {
    let ric = Ric::start(free_ports());
    let mut agents = SendAgentLoop::new_send(impatient()).unwrap();
    agents.add(node_id(1), ric.e2[0].clone().into(), vec![Box::new(every(1)())]);
    let stop = agents.stop_handle();
    let thread = std::thread::spawn(move || agents.run());
    node_id_of(&mut session(&ric), 1);
    stop.stop();
    thread.join().unwrap().unwrap();
}

/// The host waits with poll(2) for the agent and its own descriptor, and never within the agent.
#[test]
fn host_loop_polls_the_agent_descriptor() {
    let ric = Ric::start(free_ports());
    let (mut agents, logs) = agents(impatient(), &ric.e2, every(5));
    let (host, mut remote) = UnixStream::pair().unwrap();
    let mut xapp = session(&ric);
    let (mut is_subscribed, mut waits, mut host_octets) = (false, 0_u64, 0);
    eventually("100 reports", || {
        let timeout = agents.next_deadline().map_or(PATIENCE, |deadline| deadline - agents.now());
        let timeout = Timespec::try_from(timeout.min(Duration::from_millis(20))).unwrap();
        let mut descriptors = [PollFd::new(&agents, PollFlags::IN), PollFd::new(&host, PollFlags::IN)];
        poll(&mut descriptors, Some(&timeout)).unwrap();
        let is_host_ready = descriptors[1].revents().contains(PollFlags::IN);
        waits += 1;
        agents.poll(Some(Duration::ZERO)).unwrap();
        if is_host_ready {
            host_octets += (&host).read(&mut [0; 16]).unwrap();
        }
        xapp.poll(Some(Duration::ZERO), |event, commands| {
            if let XappEvent::NodeUp(node) = event {
                commands.subscribe(node.id, FUNCTION, report_spec(b""));
                is_subscribed = true;
            }
        })
        .unwrap();
        if host_octets == 0 && logs[0].reported() > 10 {
            remote.write_all(b"for the host").unwrap();
        }
        logs[0].reported() >= 100
    });
    assert!(is_subscribed && host_octets > 0);
    // it wakes for messages and deadlines, and does not spin
    assert!(waits < 2000, "{waits}");
}

#[test]
fn agent_works_over_every_link() {
    let addresses: [Address; 4] = [
        "tcp://127.0.0.1:0".parse().unwrap(),
        Address::Unix(socket_path("agent")),
        Address::Shm(socket_path("agent-shm")),
        Address::Memory(unique("agent")),
    ];
    for address in addresses {
        let ric = ric_at(&address);
        let (mut agents, logs) = agents(impatient(), &ric.e2, every(1));
        poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
        let mut xapp = session(&ric);
        let node = node_id_of(&mut xapp, 1);
        xapp.commands().subscribe(node, FUNCTION, report_spec(b""));
        let mut next = 0;
        poll_agents_until(&mut agents, "100 reports", |_| {
            xapp.poll(Some(Duration::ZERO), |event, _| {
                if let XappEvent::Indication(indication) = event {
                    let message = indication.peek().unwrap().message;
                    assert_eq!(u64::from_be_bytes(message.try_into().unwrap()), next, "{address}");
                    next += 1;
                }
            })
            .unwrap();
            next >= 100
        });
        assert_eq!((logs[0].subscribed(), logs[0].unsubscribed()), (1, 0));
        assert_eq!(agents.dropped_reports(), 0);
    }
}

#[test]
fn agent_reconnects_after_loss_of_the_ric() {
    let address = Address::Unix(socket_path("loss"));
    let (mut agents, logs) = agents(impatient(), std::slice::from_ref(&address), every(1));
    for round in 1..=3 {
        let ric = ric_at(&address);
        poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
        let mut xapp = session(&ric);
        let node = node_id_of(&mut xapp, 1);
        xapp.commands().subscribe(node, FUNCTION, report_spec(b""));
        xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
        poll_agents_until(&mut agents, "the subscription", |_| logs[0].subscribed() == round);
        drop(ric);
        poll_agents_until(&mut agents, "the loss", |agents| {
            agents.connected_controllers() == 0 && logs[0].unsubscribed() == round
        });
    }
}

#[test]
fn running_agent_connects_once_the_ric_listens() {
    let address = Address::Unix(socket_path("later"));
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn({
        let address = address.clone();
        move || {
            let (mut agents, _) = agents(impatient(), &[address], every(1));
            sender.send(agents.stop_handle()).unwrap();
            agents.run().unwrap();
        }
    });
    let stop = receiver.recv().unwrap();
    let ric = ric_at(&address);
    node_id_of(&mut session(&ric), 1);
    stop.stop();
    thread.join().unwrap();
}

#[test]
fn absent_ric_is_retried_after_a_delay() {
    let absent = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("tcp://{}", listener.local_addr().unwrap()).parse().unwrap()
    };
    for address in [absent, Address::Unix(socket_path("nobody")), Address::Memory(unique("nobody"))] {
        let (mut agents, _) = agents(impatient(), &[address], every(1));
        let begun = Instant::now();
        for _ in 0..4 {
            // the delay ends the wait, not the timeout
            agents.poll(Some(PATIENCE)).unwrap();
            assert!(begun.elapsed() < PATIENCE / 2);
            assert_eq!(agents.connected_controllers(), 0);
        }
    }
}

#[test]
fn slow_ric_loses_oldest_reports_within_bounded_memory() {
    let controller = Controller::new();
    let config = AgentLoopConfig {
        link: link::Config {
            outbox_octets: 128 * 1024,
            send_buffer_octets: Some(16 * 1024),
            ..link::Config::default()
        },
        ..impatient()
    };
    let reporter = || Reporter::new(Duration::ZERO).with_octets(4000);
    let (mut agents, logs) = agents(config, std::slice::from_ref(&controller.address), reporter);
    let mut peer = controller.set_up(&mut agents);
    peer.send_pdu(subscription_request());
    // more than the kernel's buffers of a loopback connection hold
    poll_agents_until(&mut agents, "reports", |agents| {
        for _ in 0..100 {
            agents.poll(Some(Duration::ZERO)).unwrap();
        }
        agents.dropped_reports() > 500
    });
    let (sent, dropped) = (logs[0].reported(), agents.dropped_reports());

    // it reads again while the agent continues: the newest reports arrive, and the others were counted
    assert!(matches!(peer.receive_pdu(), Pdu::RicSubscriptionResponse(_)));
    let mut got = Vec::new();
    let reader = std::thread::spawn(move || {
        while got.last().is_none_or(|last| *last < sent + 10) {
            match peer.receive_pdu() {
                Pdu::RicIndication(indication) => {
                    got.push(u64::from_be_bytes(*indication.message.to_cow().first_chunk().unwrap()));
                }
                other => panic!("{other:?}"),
            }
        }
        (got, peer)
    });
    poll_agents_until(&mut agents, "the end", |_| reader.is_finished());
    let (got, _peer) = reader.join().unwrap();
    assert!(got.is_sorted());
    let lost = got.last().unwrap() + 1 - got.len() as u64;
    assert!((dropped..=agents.dropped_reports()).contains(&lost), "{lost} lost, {dropped} counted");
}

#[test]
fn host_sends_a_report_without_a_call_of_the_function() {
    let controller = Controller::new();
    let reporter = Reporter::new(Duration::from_secs(3600));
    let (log, mut agents) = (reporter.log.clone(), AgentLoop::new(impatient()).unwrap());
    let (_, id) = agents.add(node_id(1), controller.address.clone().into(), vec![Box::new(reporter)]);
    let mut peer = controller.set_up(&mut agents);
    peer.send_pdu(subscription_request());
    // the function reports once when it is subscribed to
    poll_agents_until(&mut agents, "the report of the function", |_| log.reported() == 1);
    let mut report = |instance| {
        let key = RequestKey { controller: id, id: RicRequestId { requestor: 1, instance } };
        agents.report(key, RicActionId(1), b"", b"of the host")
    };
    assert_eq!((report(1), report(2)), (Ok(()), Err(AgentMisuse::UnknownRequest)));
    agents.serve_due();
    let mut messages = Vec::new();
    while messages.len() < 2 {
        match peer.receive_pdu() {
            Pdu::RicIndication(indication) => messages.push((indication.sn, indication.message.to_cow().into_owned())),
            Pdu::RicSubscriptionResponse(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(messages[1], (Some(RicIndicationSn(1)), b"of the host".to_vec()));
    assert_eq!(log.reported(), 1);
}

#[test]
fn report_before_its_start_time_is_not_sent() {
    let controller = Controller::new();
    let config = AgentLoopConfig { version: Version::V3_01, ..impatient() };
    let (mut agents, logs) = agents(config, std::slice::from_ref(&controller.address), every(1));
    let mut peer = controller.set_up(&mut agents);
    let (now, hour) = (SystemTime::now(), Duration::from_secs(3600));
    let at = |time| Some(RicSubscriptionTime::at(time));
    let times = [(at(now + hour), None), (None, at(now - hour)), (at(now - hour), at(now + hour))];
    for (instance, (start_time, end_time)) in (1..).zip(times) {
        let request_id = RicRequestId { requestor: 1, instance };
        let request = RicSubscriptionRequest { request_id, start_time, end_time, ..subscription_request() };
        peer.send(&encoded(request, Version::V3_01));
    }
    // each report is one of each subscription
    poll_agents_until(&mut agents, "reports", |_| logs[0].reported() >= 40);
    let (mut answers, mut numbers) = (Vec::new(), Vec::new());
    while numbers.len() < 5 {
        let gather = Default::default();
        match e2ap::decode(&peer.receive(), Version::V3_01, &gather).unwrap().pdu {
            Pdu::RicSubscriptionResponse(response) => answers.push((response.request_id.instance, None)),
            Pdu::RicSubscriptionFailure(failure) => answers.push((failure.request_id.instance, failure.cause)),
            Pdu::RicIndication(indication) => {
                assert_eq!(indication.request_id.instance, 3, "the one whose start has passed");
                numbers.push(indication.sn);
            }
            other => panic!("{other:?}"),
        }
    }
    let expired = Cause::RicRequest(CauseRicRequest::RicSubscriptionEndTimeExpired);
    assert_eq!(answers, [(1, None), (2, Some(expired)), (3, None)]);
    assert_eq!(numbers, [0, 1, 2, 3, 4].map(|sn| Some(RicIndicationSn(sn))));
}

#[test]
fn ric_that_does_not_read_answers_is_disconnected() {
    let controller = Controller::new();
    let config = AgentLoopConfig {
        link: link::Config { outbox_octets: 64 * 1024, send_buffer_octets: Some(16 * 1024), ..link::Config::default() },
        ..impatient()
    };
    let (mut agents, _) = agents(config, std::slice::from_ref(&controller.address), every(1));
    let mut peer = controller.set_up(&mut agents);
    let enough = Arc::new(AtomicBool::new(false));
    let asker = std::thread::spawn({
        let enough = enough.clone();
        move || {
            for instance in 0..u16::MAX {
                peer.send_pdu(RicControlRequest {
                    request_id: RicRequestId { requestor: 1, instance },
                    ran_function_id: FUNCTION,
                    call_process_id: None,
                    header: b"".into(),
                    message: vec![5; 10_000].into(),
                    ack_request: Some(RicControlAckRequest::Ack),
                });
                if enough.load(Ordering::Acquire) {
                    break;
                }
            }
            peer
        }
    });
    poll_agents_until(&mut agents, "the agent gives up", |agents| agents.connected_controllers() == 0);
    enough.store(true, Ordering::Release);
    // it reconnects
    controller.set_up(&mut agents);
    drop(asker.join().unwrap());
}

#[test]
fn poll_never_blocks_the_host() {
    let silent = Controller::new();
    let ric = Ric::start(free_ports());
    let absent = Address::Unix(socket_path("nobody"));
    // a RIC that does not answer, one that works, and one that does not exist
    let rics = [silent.address.clone(), ric.e2[0].clone(), absent];
    let (mut agents, _) = agents(impatient(), &rics, every(10));
    poll_agents_until(&mut agents, "the setup", |agents| agents.connected_controllers() == 1);
    let begun = Instant::now();
    let mut slowest = Duration::ZERO;
    for _ in 0..2000 {
        let begin = Instant::now();
        agents.poll(Some(Duration::ZERO)).unwrap();
        slowest = slowest.max(begin.elapsed());
    }
    println!("2000 calls in {:?}, the slowest {slowest:?}", begun.elapsed());
    // the next deadline is always milliseconds away: if `poll` waited for it, the sum would be seconds
    assert!(begun.elapsed() < Duration::from_secs(2));
    drop(silent);
}

#[test]
fn agents_of_one_loop_are_independent() {
    let (first, second) = (Ric::start(free_ports()), Ric::start(free_ports()));
    let rics = [first.e2[0].clone(), second.e2[0].clone()];
    let (mut agents, logs) = agents(impatient(), &rics, every(1));
    poll_agents_until(&mut agents, "both setups", |agents| agents.connected_controllers() == 2);
    let mut xapp = session(&second);
    let node = node_id_of(&mut xapp, 2);
    xapp.commands().subscribe(node, FUNCTION, report_spec(b""));
    drop(first);
    let mut got = 0;
    poll_agents_until(&mut agents, "reports to the RIC that is left", |agents| {
        xapp.poll(Some(Duration::ZERO), |event, _| got += u32::from(matches!(event, XappEvent::Indication(_))))
            .unwrap();
        agents.connected_controllers() == 1 && got > 50
    });
    assert_eq!((logs[0].subscribed(), logs[1].subscribed()), (0, 1));
}

#[test]
fn agents_of_every_version_work_with_one_server() {
    let ric = Ric::start(free_ports());
    let versions = [Version::V1_01, Version::V2_03, Version::V3_01];
    let mut loops = Vec::new();
    for (version, number) in versions.into_iter().zip(101..) {
        let mut agents = AgentLoop::new(AgentLoopConfig { version, ..impatient() }).unwrap();
        agents.add(node_id(number), ric.e2[0].clone().into(), vec![Box::new(Reporter::new(Duration::from_millis(1)))]);
        loops.push(agents);
    }
    let mut poll_all = || loops.iter_mut().for_each(|agents| agents.poll(Some(Duration::from_millis(1))).unwrap());
    let mut xapp = session(&ric);
    eventually("all three", || {
        poll_all();
        xapp.poll(Some(Duration::ZERO), |_, _| ()).unwrap();
        xapp.nodes().count() == 3
    });
    let nodes: Vec<_> = xapp.nodes().map(|node| (node.id, node.global_id, node.version)).collect();
    for (id, global_id, version) in nodes {
        // the setups of v2 and v3 are identical
        assert_eq!(version, if global_id == node_id(101) { Version::V1_01 } else { Version::V2_03 });
        let mut ric = xapp.commands();
        ric.subscribe(id, FUNCTION, report_spec(b""));
        ric.control(id, FUNCTION, b"", b"echo");
        ric.control(id, FUNCTION, b"", b"fail");
    }
    let (mut reports, mut acknowledged, mut failed) = (std::collections::BTreeMap::new(), 0, 0);
    eventually("reports and answers of all three", || {
        poll_all();
        xapp.poll(Some(Duration::ZERO), |event, _| match event {
            XappEvent::Indication(indication) => {
                indication.decode(&per::Gather::new()).unwrap();
                *reports.entry(indication.node).or_insert(0) += 1;
            }
            XappEvent::Request(RequestEvent::Controlled {
                outcome: ferric::e2::ControlOutcome::Acknowledged(outcome),
                ..
            }) => {
                assert_eq!(outcome.as_deref(), Some(&b"echo"[..]));
                acknowledged += 1;
            }
            XappEvent::Request(RequestEvent::Controlled {
                outcome: ferric::e2::ControlOutcome::Failed { .. }, ..
            }) => failed += 1,
            XappEvent::Request(RequestEvent::SubscriptionFailed { error: failure, .. }) => panic!("{failure:?}"),
            _ => {}
        })
        .unwrap();
        reports.len() == 3 && reports.values().all(|count| *count > 20) && acknowledged == 3 && failed == 3
    });
}

#[test]
fn controller_of_several_rics_is_reached_at_its_next_address_without_a_pause() {
    let (gone, other) = (Controller::new(), Controller::new());
    let addresses = [&gone, &other].map(|ric| ric.address.clone());
    drop(gone);
    let hour = Duration::from_secs(3600);
    let mut agents =
        AgentLoop::new(AgentLoopConfig { retry_first: hour, retry_last: hour, ..Default::default() }).unwrap();
    let node = agents.add_node(NodeConfig::new(node_id(1)), vec![Box::new(every(1000)())]);
    let id = agents.add_redundant_controller(node, addresses.iter().cloned().map(Into::into).collect());
    let peer = other.set_up(&mut agents);
    let status = agents.controllers(node).next().unwrap();
    assert_eq!((status.id, &status.address), (id, &addresses[1]));
    // it is lost, and the first is there again
    let port = addresses[0].to_string().rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let again = Controller { listener, address: addresses[0].clone() };
    drop((peer, other));
    let _peer = again.set_up(&mut agents);
    assert_eq!(agents.controllers(node).next().unwrap().address, addresses[0]);
}
