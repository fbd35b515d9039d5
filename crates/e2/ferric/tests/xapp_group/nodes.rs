//! Nodes of several RICs: each is used once, and followed from one RIC to another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use e2ap::{GlobalE2NodeId, Pdu, RicActionAdmitted, RicSubscriptionResponse};
use ferric::e2::xapp::RicMessage;
use ferric::e2::{ControlOutcome, NodeId, QueryOutcome, SubscribeError, SubscriptionEnd};
use ferric::link::Address;
use ferric::server::ServerConfig;
use ferric::xapp::RequestEvent;

use crate::common::peer::{FUNCTION, node_id, report_spec};
use crate::common::socket_path;
use crate::common::test_server::{Ric, free_ports};
use crate::support::{Group, Nodes, Seen, announce, connect, send_message, with_written_rics};

#[test]
fn node_that_appears_at_another_ric_is_followed_there_and_used_once() {
    let rics = [Ric::start(free_ports()), Ric::start(free_ports())];
    let names = [rics[0].xapp.to_string(), rics[1].xapp.to_string()];
    let mut group = connect(&[&rics[0].xapp, &rics[1].xapp]);
    let mut at_first = rics[0].node();
    at_first.set_up(1);
    let first_id = group.node_up();
    let (first, of_first) = group.subscribe(first_id, &mut at_first);
    at_first.report(of_first.request_id, of_first.action, b"one");
    assert_eq!(group.report(), (first, first_id, b"one".to_vec()));

    // it is at the second RIC before the first one has noticed that it left
    let mut at_second = rics[1].node();
    at_second.set_up(1);
    assert_eq!(group.next(), Seen::Lost(first_id));
    let end = SubscriptionEnd::NodeLost;
    assert_eq!(group.next(), Seen::Request(RequestEvent::SubscriptionEnded { subscription: first, end }));
    let second_id = group.node_up();
    assert_eq!(group.next(), Seen::Moved(second_id, names[0].clone(), names[1].clone()));
    let nodes: Vec<_> = group.group.nodes().map(|node| (node.id, node.global_id)).collect();
    assert_eq!((nodes, group.group.ric_of(second_id)), (vec![(second_id, node_id(1))], Some(&*names[1])));
    let (second, of_second) = group.subscribe(second_id, &mut at_second);
    assert_ne!(second, first);

    // a late report of the first RIC is none any more, and the subscription there is deleted
    at_first.report(of_first.request_id, of_first.action, b"late");
    assert!(matches!(at_first.receive_pdu(), Pdu::RicSubscriptionDeleteRequest(_)));
    at_second.report(of_second.request_id, of_second.action, b"two");
    assert_eq!(group.report(), (second, second_id, b"two".to_vec()));

    // controls and queries go to the RIC that has it now; what is for a node that is lost fails
    let ticket = group.commands().control(first_id, FUNCTION, b"header", b"message");
    assert_eq!(group.request(), RequestEvent::Controlled { ticket, outcome: ControlOutcome::NodeLost });
    let ticket = group.commands().query(first_id, FUNCTION, b"", b"");
    assert_eq!(group.request(), RequestEvent::Queried { ticket, outcome: QueryOutcome::NodeLost });
    group.commands().control(second_id, FUNCTION, b"header", b"message");
    group.poll(Duration::ZERO);
    assert!(matches!(at_second.receive_pdu(), Pdu::RicControlRequest(_)));

    // the second RIC loses it while the first one still has it
    drop(at_second);
    let (third_id, from, to) = group.moved();
    assert_eq!([to, from], names);
    let (third, of_third) = group.subscribe(third_id, &mut at_first);
    at_first.report(of_third.request_id, of_third.action, b"three");
    assert_eq!(group.report(), (third, third_id, b"three".to_vec()));
    drop(at_first);
    group.until(|event| (event == Seen::Lost(third_id)).then_some(()));
    assert_eq!(group.group.nodes().count(), 0);
}

#[test]
fn subscription_that_is_admitted_after_its_node_has_moved_is_deleted() {
    let rics = [Ric::start(free_ports()), Ric::start(free_ports())];
    let mut group = connect(&[&rics[0].xapp, &rics[1].xapp]);
    let mut at_first = rics[0].node();
    at_first.set_up(1);
    let id = group.node_up();
    let ticket = group.commands().subscribe(id, FUNCTION, report_spec(b"trigger"));
    group.poll(Duration::ZERO);
    let requested = at_first.receive_subscription();
    let action = requested.details.actions.iter().next().unwrap().id;
    let mut at_second = rics[1].node();
    at_second.set_up(1);
    let error = SubscribeError::NodeLost;
    assert_eq!(group.next(), Seen::Request(RequestEvent::SubscriptionFailed { ticket, error }));
    assert_eq!(group.next(), Seen::Lost(id));
    group.moved();
    let admission = RicSubscriptionResponse {
        request_id: requested.request_id,
        ran_function_id: FUNCTION,
        actions_admitted: vec![RicActionAdmitted { id: action }].into(),
        actions_not_admitted: None,
    };
    at_first.send_pdu(admission);
    at_first.report(requested.request_id, action, b"of nobody");
    group.poll_for(Duration::from_millis(200));
    assert!(group.events.is_empty(), "{:?}", group.events);
    assert!(matches!(at_first.receive_pdu(), Pdu::RicSubscriptionDeleteRequest(_)));
}

#[test]
fn reports_of_nodes_go_on_at_the_next_ric_when_theirs_is_lost_and_none_comes_twice() {
    const NODES: u32 = 30;
    let addresses: Vec<_> = (0..3).map(|_| ["e2", "xapp"].map(|what| Address::Unix(socket_path(what)))).collect();
    let start = |at: usize| {
        let [e2, xapp] = addresses[at].clone();
        Ric::start(ServerConfig { e2: vec![e2.into()], xapp: Some(xapp), ..ServerConfig::default() })
    };
    let mut rics: Vec<_> = (0..3).map(|at| Some(start(at))).collect();
    let mut group = connect(&addresses.iter().map(|[_, xapp]| xapp).collect::<Vec<_>>());
    let e2 = |at: usize| addresses[at % 3][0].clone();
    let _nodes = Nodes::start((0..NODES).map(|n| (n, (0..3).map(|more| e2(n as usize + more)).collect())).collect());

    let mut names: HashMap<NodeId, GlobalE2NodeId> = HashMap::new();
    let mut numbers: BTreeSet<(GlobalE2NodeId, u64)> = BTreeSet::new();
    let mut moves: BTreeMap<GlobalE2NodeId, Vec<String>> = BTreeMap::new();
    let mut doubled = 0;
    let mut all_report = |group: &mut Group, moves: &mut BTreeMap<GlobalE2NodeId, Vec<String>>, without: &str| {
        let mut reported = BTreeSet::new();
        let is_at = |group: &Group, ric| group.group.nodes().any(|node| group.group.ric_of(node.id) == Some(ric));
        while reported.len() < NODES as usize || is_at(group, without) {
            match group.next() {
                Seen::Up(node, id) => {
                    names.insert(node, id);
                    group.commands().subscribe(node, FUNCTION, report_spec(b"trigger"));
                }
                Seen::Lost(node) => drop(reported.remove(&node)),
                Seen::Moved(node, _, to) => moves.entry(names[&node]).or_default().push(to),
                Seen::Report(_, node, message) => {
                    let number = u64::from_be_bytes(message.try_into().unwrap());
                    doubled += u64::from(!numbers.insert((names[&node], number)));
                    reported.insert(node);
                }
                _ => {}
            }
        }
        assert_eq!(group.group.nodes().map(|node| node.global_id).collect::<BTreeSet<_>>().len(), NODES as usize);
        doubled
    };
    assert_eq!(all_report(&mut group, &mut moves, ""), 0);
    assert!(moves.is_empty(), "{moves:?}");
    // two RICs are lost one after the other, the first one comes back, the last one is lost too
    let texts: Vec<_> = addresses.iter().map(|[_, xapp]| xapp.to_string()).collect();
    for (lost, back) in [(0, None), (1, Some(0)), (2, None)] {
        moves.clear();
        let of_lost = {
            let group = &group.group;
            group.nodes().filter(|node| group.ric_of(node.id) == Some(&texts[lost])).count()
        };
        assert!(of_lost >= 10);
        if let Some(back) = back {
            rics[back] = Some(start(back));
        }
        rics[lost] = None;
        assert_eq!(all_report(&mut group, &mut moves, &texts[lost]), 0);
        println!("{} of {of_lost} nodes have moved", moves.len());
    }
}

#[test]
fn one_ric_by_two_names_has_each_node_once() {
    let ric = Ric::start(free_ports());
    let Address::Tcp { port, .. } = &ric.xapp else { panic!("TCP") };
    let other = Address::Tcp { host: "localhost".into(), port: *port };
    let mut group = connect(&[&ric.xapp, &ric.xapp, &other]);
    assert_eq!(group.group.addresses(), format!("{} {other}", ric.xapp), "the address that comes twice is used once");
    let mut node = ric.node();
    node.set_up(1);
    group.node_up();
    let (id, ..) = group.moved();
    assert_eq!(group.group.nodes().map(|node| node.id).collect::<Vec<_>>(), [id]);
    let (subscription, of) = group.subscribe(id, &mut node);
    for content in [b"1", b"2"] {
        node.report(of.request_id, of.action, content);
        assert_eq!(group.report(), (subscription, id, content.to_vec()));
    }
}

#[test]
fn list_after_a_welcome_takes_no_node_from_another_ric() {
    let (mut group, rics, [mut first, mut second]) = with_written_rics();
    announce(&mut first, 40);
    let at_first = group.node_up();
    // it has moved, and the first RIC still lists it in its next session
    announce(&mut second, 50);
    let (at_second, from, to) = group.moved();
    assert_ne!(at_second, at_first);
    drop(first);
    let mut first = rics[0].accept_of(&mut group);
    announce(&mut first, 3);
    group.poll_for(Duration::from_millis(300));
    assert!(group.events.iter().all(|event| *event == Seen::ServicesMoved), "{:?}", group.events);
    assert_eq!(group.group.ric_of(at_second), Some(&*to));
    // it is used there when the second one has lost it
    send_message(&mut second, &RicMessage::NodeLost(NodeId(50)));
    let (again, back_from, back_to) = group.moved();
    assert_eq!((back_from, back_to), (to.clone(), from.clone()));
    // and one that sets up later moves
    announce(&mut second, 51);
    assert_eq!(group.moved().1, from);
    assert_eq!(group.group.ric_of(again), None);
}

#[test]
fn ric_that_announces_a_node_again_and_again_takes_it_three_times() {
    let log = testkit::log::global();
    let (mut group, _rics, [mut first, mut second]) = with_written_rics();
    let names: Vec<_> = group.group.addresses().split(' ').map(str::to_owned).collect();
    announce(&mut first, 40);
    group.node_up();
    // one that repeats what it has said changes nothing
    announce(&mut first, 40);
    group.poll_for(Duration::from_millis(50));
    assert!(group.events.iter().all(|event| *event == Seen::Other), "{:?}", group.events);
    for number in 50..60 {
        announce(&mut second, number);
        send_message(&mut second, &RicMessage::NodeLost(NodeId(number)));
    }
    group.poll_for(Duration::from_millis(100));
    let moves = |group: &mut Group, to: &str| {
        group.events.drain(..).filter(|event| matches!(event, Seen::Moved(_, _, at) if at == to)).count()
    };
    assert_eq!(moves(&mut group, &names[1]), 3);
    for number in 60..70 {
        announce(&mut second, number);
        announce(&mut first, number);
    }
    group.poll_for(Duration::from_millis(100));
    assert!(group.events.is_empty(), "{:?}", group.events);
    let node = group.group.nodes().next().unwrap().id;
    assert_eq!((group.group.nodes().count(), group.group.ric_of(node)), (1, Some(&*names[0])));
    let line = format!("ric={} used={}", names[1], names[0]);
    assert_eq!(log.text().lines().filter(|text| text.contains(&line)).count(), 1, "{}", log.text());
    // it follows the last that each has said when one of them loses it
    send_message(&mut first, &RicMessage::NodeLost(NodeId(40)));
    send_message(&mut first, &RicMessage::NodeLost(NodeId(69)));
    assert_eq!(group.until(|event| if let Seen::Moved(_, _, to) = event { Some(to) } else { None }), names[1]);
}
