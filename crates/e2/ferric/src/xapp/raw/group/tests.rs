use e2ap::{GnbId, PlmnIdentity, Version};

use super::*;

#[test]
fn node_that_two_rics_have_for_long_is_reported_once() {
    let log = testkit::log::global();
    let addresses = ["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"].map(|text| text.parse().unwrap());
    let mut group = XappGroup::unconnected(&addresses, "test", XappConfig::default()).unwrap();
    let global_id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0x7777, 22));
    let (encoding, functions) = ("per".to_owned(), Vec::new());
    let info = NodeInfo { id: NodeId(5), global_id, version: Version::V2_03, encoding, functions };
    for member in 0..2 {
        let mut xapp = group.members[member].xapp.take().unwrap();
        let (state, members) = (&mut group.state, &mut group.members[..]);
        let mut translator = Translator { state, members, at: member, own: &mut xapp.requests };
        translator.handle(SessionEvent::Event(XappEvent::NodeUp(&info)), &mut |_, _| ());
        group.members[member].xapp = Some(xapp);
    }
    let line = "tcp://127.0.0.1:2 and tcp://127.0.0.1:1 both have this node";
    let lines = || log.text().matches(line).count();
    let check = group.state.next_check.unwrap();
    group.report_shared_nodes(check - Duration::from_millis(1));
    assert_eq!((lines(), group.state.next_check), (0, Some(check)), "it may be a hand-over");
    group.report_shared_nodes(check);
    assert_eq!((lines(), group.state.next_check), (1, None));
    group.report_shared_nodes(check + MAX_HANDOVER);
    assert_eq!(lines(), 1);
    assert_eq!(group.nodes().count(), 1);
}

#[test]
fn numbers_of_questions_name_ric_session_and_question() {
    for (member, session, own) in [(0, 0, 0), (63, u16::MAX, QuestionNumber::MAX_OWN), (5, 7, 1 << 30)] {
        let number = QuestionNumber { member, session, own }.number().unwrap();
        let read = QuestionNumber::read(number);
        assert_eq!((read.member, read.session, read.own), (member, session, own));
    }
    let beyond = QuestionNumber { member: 0, session: 0, own: QuestionNumber::MAX_OWN + 1 };
    assert_eq!((beyond.number(), QuestionNumber::MAX_OWN), (None, (1 << 42) - 1));
}

#[test]
fn remembered_nodes_are_bounded() {
    let mut group =
        XappGroup::unconnected(&["tcp://127.0.0.1:1".parse().unwrap()], "test", XappConfig::default()).unwrap();
    let mut xapp = group.members[0].xapp.take().unwrap();
    for number in 0..MAX_NODES as u32 + 10 {
        let global_id = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(number, 32));
        let (encoding, functions) = (String::new(), Vec::new());
        let info = NodeInfo { id: NodeId(number), global_id, version: Version::V2_03, encoding, functions };
        let (state, members) = (&mut group.state, &mut group.members[..]);
        let mut translator = Translator { state, members, at: 0, own: &mut xapp.requests };
        translator.handle(SessionEvent::Event(XappEvent::NodeUp(&info)), &mut |_, _| ());
        translator.handle(SessionEvent::Event(XappEvent::NodeLost(&info)), &mut |_, _| ());
    }
    assert_eq!((group.state.known.len(), group.state.nodes.len()), (MAX_NODES, 0));
}
