//! Tampered dialogues: PDUs are changed, truncated, repeated, swapped and spliced; values, items and IEs are changed. The
//! state machines never panic, send few answers, and other peers are not affected.

mod support;

use core::time::Duration;
use std::collections::BTreeSet;
use std::path::Path;

use e2::xapp::RicMessage;
use e2::{
    Agent, AgentConfig, AgentEvent, AssocId, CloseReason, ConnectionUpdate, Controller, ControllerConfig, NodeId,
    RequestEvent, Routed, SubscriptionChange, SubscriptionId, SubscriptionSpec, Time, XappClient, XappHost,
};
use e2ap::{Pdu, RanFunctionId, RicActionId, RicIndicationType, Version};
use per::Gather;
use support::mutate::mutate;
use support::notation::{self, Args};
use support::notation_parse::connection;
use support::random::Random;
use support::scenario_agent::functions;

fn pdus(lines: &[&str], version: Version) -> Vec<Vec<u8>> {
    lines.iter().map(|line| notation::encode_line(&line.split_whitespace().collect::<Vec<_>>(), version)).collect()
}

/// Messages of a node, in an order in which all are valid.
const NODE: &[&str] = &[
    "setup tx=1 gnb=1 fns=2,3",
    "sub-response id=1021/0 fn=2 admit=1",
    "indication id=1021/0 fn=2 sn=1",
    "indication id=1021/0 fn=2 sn=2 octets=20000",
    "control-ack id=1022/1 fn=2 outcome=0102",
    "sub-failure id=1023/2 fn=2 cause=no-room",
    "control-failure id=1024/3 fn=2 cause=overload",
    "delete-required id=1021/0 fn=2 cause=overload",
    "delete-response id=1021/0 fn=2",
    "error id=1025/4 fn=2 cause=reject",
    "service-update tx=4 add=4 modify=3 rev=2 delete=2",
    "config-update tx=5 add=7,8",
    "connection-update-ack tx=2 setup=2",
    "service-update-ack tx=1 accept=2",
    "reset tx=7 cause=om",
    "setup tx=8 gnb=1 fns=2",
    "removal-failure tx=3 cause=om",
    "removal tx=6",
    "setup tx=9 gnb=1 fns=2",
];

/// Additional messages of v03.01.
const NODE_V3: &[&str] = &[
    "query-response id=1024/3 fn=2 outcome=0102",
    "modification-required id=1021/0 fn=2 modify=1",
    "modification-response id=1021/0 fn=2",
    "query-failure id=1025/4 fn=2 cause=no-room",
];

/// Messages of a RIC.
const RIC: &[&str] = &[
    "setup-failure tx=1 cause=overload wait=1",
    "setup-response tx=2 accept=2,3",
    "sub-request id=1/1 fn=2 trigger=0102 actions=1,2",
    "control id=1/2 fn=2 header=01 message=02 call=03 ack",
    "sub-request id=1/3 fn=3 actions=1",
    "delete-request id=1/1 fn=2",
    "service-query tx=9 accept=2",
    "service-update-ack tx=3 accept=2,3",
    "config-update-ack tx=4 add=7",
    "connection-update tx=8 add=2 remove=3",
    "error cause=reject",
    "reset tx=7 cause=om",
    "removal tx=9",
];

/// Additional messages of v03.01.
const RIC_V3: &[&str] = &[
    "query id=1/4 fn=2 header=01 definition=02",
    "modification id=1/3 fn=3 trigger=01 add=2 modify=1",
    "modification-confirm id=1/3 fn=3 removed=1",
];

/// Returns messages of an xApp.
fn xapp_messages() -> Vec<Vec<u8>> {
    let mut client = XappClient::new();
    let mut messages = vec![Vec::new(); 8];
    let spec = |trigger: u8| {
        let action = e2::Action {
            id: RicActionId(1),
            kind: e2ap::RicActionType::Report,
            definition: Some(vec![1, 2, 3]),
            subsequent: None,
        };
        SubscriptionSpec { event_trigger: vec![trigger], actions: vec![action] }
    };
    client.hello("tampered", &mut messages[0]);
    client.subscribe(NodeId(1), RanFunctionId(2), spec(1), &mut messages[1]);
    client.control(NodeId(1), RanFunctionId(2), &[1], &[2], Some(&[3]), true, &mut messages[2]);
    client.subscribe(NodeId(2), RanFunctionId(2), spec(2), &mut messages[3]);
    let change = SubscriptionChange { event_trigger: Some(vec![3]), ..SubscriptionChange::default() };
    client.modify(SubscriptionId(0), change, &mut messages[4]);
    client.unsubscribe(SubscriptionId(0), &mut messages[5]);
    client.control(NodeId(2), RanFunctionId(2), &[], &[], None, false, &mut messages[6]);
    client.query(NodeId(1), RanFunctionId(2), &[1], &[2], &mut messages[7]);
    messages
}

/// Tampers with a dialogue. Most of it stays unchanged, so that tampered messages arrive in every state.
fn tamper(random: &mut Random, dialogue: &mut Vec<Vec<u8>>) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(dialogue.len());
        let len = dialogue[at].len();
        if random.once_in(3) {
            // in a random version
            let version = *random.pick(&[Version::V2_03, Version::V2_03, Version::V3_01, Version::V1_01]);
            mutate(&mut dialogue[at], version, random);
            continue;
        }
        match random.below(9) {
            0 => {
                let other = random.below(dialogue.len());
                dialogue.swap(at, other);
            }
            1 => dialogue.insert(at, dialogue[at].clone()),
            2 => drop(dialogue.remove(at)),
            3 => {
                let other = dialogue[random.below(dialogue.len())].clone();
                dialogue[at].truncate(random.below(len + 1));
                dialogue[at].extend(&other[random.below(other.len() + 1)..]);
            }
            _ if len == 0 => {}
            4 => dialogue[at].truncate(random.below(len)),
            // most decisions depend on the header and the ids
            5 => dialogue[at][random.below(len.min(8))] = random.next() as u8,
            6 => dialogue[at][random.below(len)] ^= 1 << random.below(8),
            7 => dialogue[at][random.below(len.min(40))] = *random.pick(&[0, 1, 0x7F, 0x80, 0xC1, 0xFF]),
            _ => dialogue[at].insert(random.below(len), random.next() as u8),
        }
        if dialogue.is_empty() {
            dialogue.push(Vec::new());
        }
    }
}

/// A controller with a well-behaved node and a well-behaved xApp.
struct Ric {
    now: Time,
    controller: Controller,
    host: XappHost,
    client: XappClient,
    sent: usize,
}

const GOOD_NODE: AssocId = AssocId(1);
const GOOD_XAPP: AssocId = AssocId(2);
const BAD_NODE: AssocId = AssocId(3);
const BAD_XAPP: AssocId = AssocId(4);

impl Ric {
    fn new() -> Self {
        let (controller, host) = (Controller::new(ControllerConfig::default()), XappHost::new());
        let mut ric = Ric { now: Time::from_nanos(1), controller, host, client: XappClient::new(), sent: 0 };
        ric.controller.handle_open(ric.now, GOOD_NODE);
        ric.host.handle_open(GOOD_XAPP);
        let mut hello = Vec::new();
        ric.client.hello("good", &mut hello);
        ric.send_from_xapp(GOOD_XAPP, &hello);
        ric.send_from_node(GOOD_NODE, &pdus(&["setup tx=1 gnb=99 fns=2"], Version::V2_03)[0]);
        ric
    }

    fn send_from_node(&mut self, assoc: AssocId, pdu: &[u8]) -> bool {
        let routed = self.controller.handle_pdu(self.now, assoc, pdu);
        let routed = match routed {
            Routed::Indication(indication) => {
                let gather = Default::default();
                indication.decode(&gather).expect("a routed indication decodes");
                assert!(!self.controller.consumers(indication.subscription).is_empty());
                true
            }
            Routed::Done => false,
        };
        self.settle(assoc);
        routed
    }

    fn send_from_xapp(&mut self, assoc: AssocId, pdu: &[u8]) {
        self.host.handle_pdu(self.now, assoc, pdu, &mut self.controller);
        self.settle(assoc);
    }

    /// Delivers all output. Checks what the well-behaved peers receive, and counts the octets sent.
    fn settle(&mut self, cause: AssocId) {
        let mut out = Vec::new();
        while let Some(event) = self.controller.poll_event() {
            if let Some(event) = self.host.handle_event(event, &self.controller) {
                let _ = format!("{event:?}");
                if let e2::Event::Notice { assoc, notice } = event {
                    assert!(!notice.to_string().is_empty());
                    assert!(assoc != GOOD_NODE || cause == GOOD_NODE, "notice about the good node: {notice}");
                }
            }
        }
        while let Some((assoc, _)) = self.host.poll_notice() {
            assert_ne!(assoc, GOOD_XAPP);
        }
        while let Some(assoc) = self.controller.poll_transmit(&mut out) {
            let gather = Default::default();
            let read = |version| e2ap::decode(&out, version, &gather).is_ok();
            assert!(Version::ALL.into_iter().any(read), "a sent PDU decodes: {out:02x?}");
            assert!(assoc != GOOD_NODE || [GOOD_NODE, GOOD_XAPP, BAD_XAPP].contains(&cause));
            self.sent += out.len();
            out.clear();
        }
        while let Some(assoc) = self
            .host
            .poll_transmit(&mut out)
            .or_else(|| self.host.poll_announcement(&self.controller, &mut out, |_| true))
        {
            let message = RicMessage::decode(&out).expect("a sent PDU decodes");
            if assoc == GOOD_XAPP {
                assert!(!matches!(message, RicMessage::Refused(_)));
            }
            self.sent += out.len();
            out.clear();
        }
        while let Some((assoc, _)) = self.controller.poll_close() {
            assert_eq!(assoc, BAD_NODE);
        }
        while let Some((assoc, _)) = self.host.poll_close() {
            assert_eq!(assoc, BAD_XAPP);
        }
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now + span;
        self.controller.handle_timeout(self.now);
        self.settle(BAD_NODE);
    }

    /// Runs a complete subscription of the well-behaved peers.
    fn check_good_peers(&mut self) {
        let node = self.controller.nodes().find(|n| n.assoc == GOOD_NODE).expect("the good node is up").id;
        let action = e2::Action {
            id: RicActionId(1),
            kind: e2ap::RicActionType::Insert, // not shared with the bad xApp
            definition: None,
            subsequent: None,
        };
        let spec = SubscriptionSpec { event_trigger: vec![9], actions: vec![action] };
        let mut pdu = Vec::new();
        let ticket = self.client.subscribe(node, RanFunctionId(2), spec, &mut pdu);
        self.host.handle_pdu(self.now, GOOD_XAPP, &pdu, &mut self.controller);
        pdu.clear();
        assert_eq!(self.controller.poll_transmit(&mut pdu), Some(GOOD_NODE));
        let gather = Default::default();
        let Ok(Pdu::RicSubscriptionRequest(request)) = e2ap::decode(&pdu, Version::V2_03, &gather).map(|d| d.pdu)
        else {
            panic!("not a subscription request")
        };
        let id = format!("id={}/{} fn=2", request.request_id.requestor, request.request_id.instance);
        let lines = [format!("sub-response {id} admit=1"), format!("indication {id}"), format!("delete-response {id}")];
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let answers = pdus(&lines, Version::V2_03);
        assert!(matches!(self.controller.handle_pdu(self.now, GOOD_NODE, &answers[0]), Routed::Done));
        let event = self.controller.poll_event().expect("the subscription is active");
        assert_eq!(self.host.handle_event(event, &self.controller), None);
        let mut received = Vec::new();
        assert_eq!(self.host.poll_transmit(&mut received), Some(GOOD_XAPP));
        let Ok(RicMessage::Request(RequestEvent::Subscribed { ticket: answered, subscription, .. })) =
            RicMessage::decode(&received)
        else {
            panic!("no Subscribed")
        };
        assert_eq!(answered, ticket);
        assert!(self.send_from_node(GOOD_NODE, &answers[1]), "its indication is routed");
        pdu.clear();
        self.client.unsubscribe(subscription, &mut pdu);
        self.send_from_xapp(GOOD_XAPP, &pdu);
        self.send_from_node(GOOD_NODE, &answers[2]);
    }
}

#[test]
fn tampering_node_does_not_affect_others() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let mut ric = Ric::new();
        ric.controller.handle_open(ric.now, BAD_NODE);
        let version = *random.pick(&[Version::V2_03, Version::V2_03, Version::V3_01, Version::V1_01]);
        let mut dialogue = match version {
            Version::V1_01 => {
                let old = |line: &&str| -> Option<Vec<u8>> {
                    let line: String = line.split(' ').filter(|w| !w.starts_with("tx=")).collect::<Vec<_>>().join(" ");
                    let line = line.replace("control-ack", "control-ack status=success");
                    let line = line.replace("sub-failure", "sub-failure not=1");
                    let line = line.replace("config-update add=7,8", "config-update add=7");
                    if line.starts_with("removal") || line.starts_with("delete-required") || line.contains("setup") {
                        return line.starts_with("setup").then(|| {
                            let words: Vec<_> = line.split(' ').collect();
                            notation::encode_line(&words, version)
                        });
                    }
                    Some(notation::encode_line(&line.split(' ').collect::<Vec<_>>(), version))
                };
                NODE.iter().filter_map(old).collect()
            }
            Version::V3_01 => {
                let mut lines = NODE.to_vec();
                lines.splice(5..5, NODE_V3.iter().copied());
                pdus(&lines, version)
            }
            version => pdus(NODE, version),
        };
        tamper(&mut random, &mut dialogue);
        let octets: usize = dialogue.iter().map(Vec::len).sum();
        for (at, pdu) in dialogue.iter().enumerate() {
            ric.send_from_node(BAD_NODE, pdu);
            if at == 0 {
                // creates requests that the node can answer, if it is up
                let node = ric.controller.nodes().find(|n| n.assoc == BAD_NODE).map(|n| n.id);
                for command in 0..5u8 {
                    let Some(node) = node else { break };
                    let (now, ticket) = (ric.now, e2::Ticket(command.into()));
                    let spec = SubscriptionSpec {
                        event_trigger: vec![command],
                        actions: vec![e2::Action {
                            id: RicActionId(1),
                            kind: e2ap::RicActionType::Report,
                            definition: None,
                            subsequent: None,
                        }],
                    };
                    let (iapp, function) = (e2::Consumer(1), RanFunctionId(2));
                    // fails if the node's function was tampered with
                    let _ = match command % 2 {
                        0 => ric.controller.subscribe(now, iapp, ticket, node, function, spec),
                        _ if version == Version::V3_01 && command == 3 => {
                            ric.controller.query(now, iapp, ticket, node, function, &[], &[])
                        }
                        _ => ric.controller.control(now, iapp, ticket, node, function, &[], &[], None, true),
                    };
                }
                if let Some(node) = node {
                    let update = ConnectionUpdate { add: vec![connection(2)], ..ConnectionUpdate::default() };
                    let _ = ric.controller.service_query(ric.now, node);
                    let _ = ric.controller.connection_update(ric.now, node, &update);
                    let _ = ric.controller.remove(ric.now, node);
                }
                ric.settle(BAD_XAPP);
            }
            if random.once_in(6) {
                ric.pass(Duration::from_millis(5100));
            }
        }
        ric.check_good_peers();
        ric.controller.handle_close(ric.now, BAD_NODE, CloseReason::Transport);
        ric.settle(BAD_NODE);
        ric.check_good_peers();
        ric.pass(Duration::from_secs(90)); // suspended subscriptions end
        assert_eq!(ric.controller.requests(), 0, "seed {seed}: no request is left");
        assert!(ric.sent < 4 * octets + 8000, "seed {seed}: {} octets sent for {octets} received", ric.sent);
    }
}

#[test]
fn tampering_xapp_does_not_affect_others() {
    for seed in 0..2500 {
        let mut random = Random::new(seed);
        let mut ric = Ric::new();
        ric.host.handle_open(BAD_XAPP);
        let mut dialogue = xapp_messages();
        tamper(&mut random, &mut dialogue);
        for pdu in &dialogue {
            ric.send_from_xapp(BAD_XAPP, pdu);
        }
        ric.check_good_peers();
        ric.host.handle_close(ric.now, BAD_XAPP, &mut ric.controller);
        ric.settle(BAD_XAPP);
        ric.check_good_peers();
        for _ in 0..3 {
            // the good node does not answer the bad xApp's requests: the notices name the good node
            ric.now = ric.now + Duration::from_secs(6);
            ric.controller.handle_timeout(ric.now);
            ric.settle(GOOD_NODE);
        }
        assert_eq!(ric.controller.requests(), 0, "seed {seed}: no request is left");
        assert_eq!(ric.host.sessions(), 1);
    }
}

#[test]
fn agent_recovers_from_tampering_ric() {
    for seed in 0..2500 {
        let mut random = Random::new(seed);
        let mut now = Time::from_nanos(1);
        let version = *random.pick(&[Version::V2_03, Version::V3_01]);
        let mut config = AgentConfig::new(notation::gnb(1), functions(&[2, 3]));
        config.version = version;
        let mut agent = Agent::new(config);
        let mut sent = 0;
        let mut settle = |agent: &mut Agent, now: Time, random: &mut Random| {
            let mut out = Vec::new();
            let mut standing = Vec::new();
            while let Some(event) = agent.poll_event() {
                match event {
                    AgentEvent::Connect => agent.handle_open(now),
                    AgentEvent::Subscribe(request) => {
                        let ids: Vec<_> = request.actions.iter().map(|a| a.id).collect();
                        agent.admit(request.request_id, &ids, &[]).expect("the request is pending");
                        standing.push((request.request_id, ids[0]));
                    }
                    AgentEvent::Control(request) if random.once_in(2) => {
                        agent.acknowledge(request.request_id, Some(&[1])).expect("the request is pending");
                    }
                    AgentEvent::Control(request) => {
                        agent
                            .fail(request.request_id, notation::cause("not-ready"), None)
                            .expect("the request is pending");
                    }
                    AgentEvent::Notice(notice) => assert!(!notice.to_string().is_empty()),
                    AgentEvent::Query(request) => {
                        agent.answer_query(request.request_id, &[1]).expect("the request is pending")
                    }
                    AgentEvent::Modify(request) => {
                        agent.modified(request.request_id, &request.change.all_done()).expect("the request is pending");
                    }
                    AgentEvent::Removed { .. } => agent.connect().expect("the agent was removed"),
                    AgentEvent::Up { .. } => {
                        // procedures that the RIC must answer
                        agent.update_functions(now, functions(&[2, 3, 4])).expect("the functions are valid");
                        let _ = agent.update_components(now, Vec::new());
                    }
                    other => agent.decline(&other),
                }
            }
            for (id, action) in standing {
                let kind = RicIndicationType::Report;
                // fails if the subscription has been deleted
                let _ = agent.write_indication(id, action, kind, &[1], &[2], &mut out);
            }
            out.clear();
            while agent.poll_transmit(&mut out) {
                let gather = Default::default();
                e2ap::decode(&out, version, &gather).expect("a sent PDU decodes");
                sent += out.len();
                out.clear();
            }
            let _ = agent.poll_close();
        };
        settle(&mut agent, now, &mut random);
        let mut lines = RIC.to_vec();
        if version == Version::V3_01 {
            lines.splice(5..5, RIC_V3.iter().copied());
        }
        let mut dialogue = pdus(&lines, version);
        tamper(&mut random, &mut dialogue);
        let octets: usize = dialogue.iter().map(Vec::len).sum();
        for pdu in &dialogue {
            agent.handle_pdu(now, pdu);
            settle(&mut agent, now, &mut random);
            now = now + Duration::from_millis(1100);
            agent.handle_timeout(now);
            settle(&mut agent, now, &mut random);
        }
        // a correct RIC can set up with the agent
        agent.handle_close(now, CloseReason::Transport);
        for _ in 0..100 {
            if let Some(at) = agent.poll_timeout() {
                now = now.max(at);
                agent.handle_timeout(now);
            }
            settle(&mut agent, now, &mut random);
            for tx in 0..40 {
                let line = format!("tx={tx}");
                let mut pdu = Vec::new();
                let response = notation::parse_pdu("setup-response", &Args::new(&[&line, "accept=2"]));
                response.encode(version, &mut pdu).expect("the response encodes");
                if !agent.is_up() {
                    agent.handle_pdu(now, &pdu);
                }
            }
            if agent.is_up() {
                break;
            }
        }
        assert!(agent.is_up(), "seed {seed}");
        settle(&mut agent, now, &mut random);
        assert!(sent < 8 * octets + 8000, "seed {seed}: {sent} octets sent for {octets} received");
    }
}

#[test]
fn silent_node_does_not_flood_log() {
    let mut ric = Ric::new();
    let node = ric.controller.nodes().next().expect("the good node is up").id;
    for _ in 0..1000 {
        let mut pdu = Vec::new();
        ric.client.control(node, RanFunctionId(2), &[1], &[2], None, true, &mut pdu);
        ric.host.handle_pdu(ric.now, GOOD_XAPP, &pdu, &mut ric.controller);
    }
    ric.now = ric.now + Duration::from_secs(6);
    ric.controller.handle_timeout(ric.now);
    let (mut answers, mut lines) = (0, 0);
    while let Some(event) = ric.controller.poll_event() {
        match event {
            e2::Event::Request {
                event: RequestEvent::Controlled { outcome: e2::ControlOutcome::TimedOut, .. },
                ..
            } => answers += 1,
            e2::Event::Notice { .. } => lines += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(answers, 1000, "each command is answered");
    assert!((1..=16).contains(&lines), "{lines}");
}

/// `format_pdu` and `mutate` support every message: the compiler cannot check that, since `Pdu` is non-exhaustive.
#[test]
fn every_message_is_formatted_and_mutated() {
    let mut random = Random::new(1);
    let mut names = BTreeSet::new();
    for version in Version::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../vectors/e2ap/v0{version}"));
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "hex") {
                let text = std::fs::read_to_string(&path).unwrap();
                let octets = notation::hex(&text.split_whitespace().collect::<String>());
                let gather = Gather::new();
                let pdu = e2ap::decode(&octets, version, &gather).unwrap().pdu;
                assert!(!notation::format_pdu(&pdu).is_empty(), "{}", path.display());
                (0..20).for_each(|_| _ = mutate(&mut octets.clone(), version, &mut random));
                names.insert(pdu.name());
            }
        }
    }
    assert_eq!(names.len(), e2ap::TABLES.len(), "a message has no vector");
}
