//! Services and arbiters of several RICs.

use std::time::Duration;

use ferric::e2::xapp::{RicMessage, XappMessage};
use ferric::e2::{ControlQuestion, NodeId, RefusalCode};
use ferric::xapp::RequestEvent;

use crate::common::PATIENCE;
use crate::common::peer::{FUNCTION, Peer};
use crate::support::{Group, Seen, WrittenRic, announce, config, send_message, with_written_rics};

#[test]
fn services_are_those_of_one_ric_and_then_of_another() {
    let (mut group, rics, [mut first, mut second]) = with_written_rics();
    assert!(group.commands().service(7, b"one"));
    group.poll(Duration::ZERO);
    let one = XappMessage::Service { kind: 7, document: b"one".to_vec() };
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), one);
    // what another one sends is of no request
    send_message(&mut second, &RicMessage::Service { kind: 8, document: b"unasked" });
    send_message(&mut second, &RicMessage::Dropped { reports: 3 });
    send_message(&mut first, &RicMessage::Service { kind: 8, document: b"answer" });
    send_message(&mut first, &RicMessage::Dropped { reports: 2 });
    let mut seen = Vec::new();
    while !seen.contains(&Seen::Dropped(5)) || !seen.contains(&Seen::Service(b"answer".to_vec())) {
        seen.push(group.next());
    }
    assert!(!seen.contains(&Seen::Service(b"unasked".to_vec())));

    drop(first);
    group.until(|event| (event == Seen::ServicesMoved).then_some(()));
    assert!(group.commands().service(7, b"two"));
    group.poll(Duration::ZERO);
    let two = XappMessage::Service { kind: 7, document: b"two".to_vec() };
    assert_eq!(XappMessage::decode(&second.receive()).unwrap(), two);
    drop(second);
    group.until(|event| (event == Seen::Disconnected).then_some(()));
    assert!(group.commands().service(7, b"nobody"), "it is requested again when there is a RIC");
    drop(rics);
}

fn question_about(node: u32, question: u64) -> ControlQuestion {
    ControlQuestion {
        question,
        node: NodeId(node),
        function: FUNCTION,
        xapp: "a".into(),
        with: "b".into(),
        parameter: "p".into(),
        settings: "s".into(),
        left_ms: 500,
        header: Vec::new(),
        message: Vec::new(),
    }
}

#[test]
fn arbiter_is_offered_to_each_ric_and_answers_the_one_that_asks() {
    let (mut group, rics, [mut first, mut second]) = with_written_rics();
    assert!(group.commands().set_arbiter(true));
    group.poll(Duration::ZERO);
    for peer in [&mut first, &mut second] {
        assert_eq!(XappMessage::decode(&peer.receive()).unwrap(), XappMessage::SetArbiter { is_offered: true });
    }
    // one admits it, the other does not: it is one
    send_message(&mut first, &RicMessage::Request(RequestEvent::ArbiterSet { refusal: None }));
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal: None });
    let refusal = Some(RefusalCode::NotAllowed);
    send_message(&mut second, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    announce(&mut second, 40);
    let node = group.node_up();
    let asked = question_about(40, 17);
    send_message(&mut second, &RicMessage::Request(RequestEvent::ControlAsked(Box::new(asked.clone()))));
    let RequestEvent::ControlAsked(question) = group.request() else { panic!("a question") };
    assert_eq!(*question, ControlQuestion { node, question: question.question, ..asked });
    group.commands().decide(question.question, true);
    group.poll(Duration::ZERO);
    let decision = XappMessage::Decide { question: 17, accepts: true };
    assert_eq!(XappMessage::decode(&second.receive()).unwrap(), decision);
    send_message(&mut second, &RicMessage::Request(RequestEvent::Decided { question: 17, refusal: None }));
    assert_eq!(group.request(), RequestEvent::Decided { question: question.question, refusal: None });

    // a RIC that is back is asked again; all refuse when the last one does
    drop(first);
    let mut first = rics[0].accept_of(&mut group);
    group.poll(Duration::from_millis(100));
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), XappMessage::SetArbiter { is_offered: true });
    assert!(group.commands().set_arbiter(true));
    group.poll(Duration::ZERO);
    for peer in [&mut first, &mut second] {
        assert_eq!(XappMessage::decode(&peer.receive()).unwrap(), XappMessage::SetArbiter { is_offered: true });
        send_message(peer, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    }
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal });
    assert!(group.events.is_empty());

    // one that has admitted it is waited for when it is lost, and may refuse then
    assert!(group.commands().set_arbiter(true));
    group.poll(Duration::ZERO);
    send_message(&mut first, &RicMessage::Request(RequestEvent::ArbiterSet { refusal: None }));
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal: None });
    send_message(&mut second, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    drop(first);
    let mut first = rics[0].accept_of(&mut group);
    group.poll_for(Duration::from_millis(50));
    assert!(group.events.iter().all(|event| *event == Seen::ServicesMoved), "{:?}", group.events);
    send_message(&mut first, &RicMessage::Request(RequestEvent::ArbiterSet { refusal }));
    assert_eq!(group.request(), RequestEvent::ArbiterSet { refusal });
}

#[test]
fn decision_on_a_question_of_a_lost_session_is_answered_and_not_sent() {
    let (mut group, rics, [mut first, second]) = with_written_rics();
    announce(&mut first, 40);
    group.node_up();
    let ask = |group: &mut Group, peer: &mut Peer, question| {
        send_message(peer, &RicMessage::Request(RequestEvent::ControlAsked(Box::new(question_about(40, question)))));
        match group.request() {
            RequestEvent::ControlAsked(asked) => asked.question,
            other => panic!("{other:?}"),
        }
    };
    let [decided, late] = [0, 1].map(|question| ask(&mut group, &mut first, question));
    group.commands().decide(decided, true);
    group.poll(Duration::ZERO);
    drop(first);
    let unknown = |question| RequestEvent::Decided { question, refusal: Some(RefusalCode::UnknownQuestion) };
    assert_eq!(group.request(), unknown(decided));
    let mut first = rics[0].accept_of(&mut group);
    announce(&mut first, 40);
    group.node_up();
    // the RIC numbers its questions from 0 on again
    let again = ask(&mut group, &mut first, 1);
    assert_ne!(again, late);
    group.commands().decide(late, true);
    assert_eq!(group.request(), unknown(late));
    group.commands().decide(u64::MAX, true);
    assert_eq!(group.request(), unknown(u64::MAX));
    group.commands().decide(again, false);
    group.poll(Duration::ZERO);
    let decision = XappMessage::Decide { question: 1, accepts: false };
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), decision);
    drop(second);
}

#[test]
fn policies_are_requested_of_the_next_ric_when_theirs_is_lost() {
    const POLICY_QUERY: u32 = 20012;
    let rics = [WrittenRic::new(), WrittenRic::new()];
    let addresses = [rics[0].address().to_string(), rics[1].address().to_string()];
    let connecting = std::thread::spawn(move || {
        let options = ferric::xapp::Ric::options().addresses(addresses).name("group").config(config());
        options.connect().unwrap()
    });
    let mut first = rics[0].accept();
    std::thread::sleep(Duration::from_millis(100));
    let mut second = rics[1].accept();
    let ric = connecting.join().unwrap();
    let mut policies = ric.a1_policies(7).unwrap();
    let query = XappMessage::Service { kind: POLICY_QUERY, document: br#"{"policy_type_id":7}"#.to_vec() };
    assert_eq!(XappMessage::decode(&first.receive()).unwrap(), query);
    drop((first, rics));
    assert_eq!(XappMessage::decode(&second.receive()).unwrap(), query);
    let document = br#"{"operation":"CREATE","policy_type_id":7,"policy_instance_id":"one","payload":{}}"#;
    send_message(&mut second, &RicMessage::Service { kind: 20010, document });
    let policy = policies.next_within(PATIENCE).unwrap().unwrap();
    assert_eq!(policy.id(), "one");
}
