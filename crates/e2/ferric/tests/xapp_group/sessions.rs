//! Sessions with several RICs: absent ones, those that refuse, and those that break the protocol.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ferric::Error;
use ferric::e2::RefusalCode;
use ferric::e2::xapp::ProtocolError;
use ferric::link::Address;
use ferric::server::ServerConfig;
use ferric::xapp::{MAX_RICS, Reconnect, Xapp, XappConfig, XappGroup};

use crate::common::peer::Peer;
use crate::common::test_server::{Ric, free_ports};
use crate::common::{PATIENCE, socket_path};
use crate::support::{
    Nodes, Seen, WrittenRic, announce, config, connect, refusing_ric, send_welcome, with_written_rics,
};

#[test]
fn absent_ric_is_waited_for_and_joins_later() {
    let [e2, xapp] = ["e2", "xapp"].map(|what| Address::Unix(socket_path(what)));
    let ric = Ric::start(free_ports());
    let mut first = ric.node();
    first.set_up(1);
    let mut group = connect(&[&xapp, &ric.xapp]);
    let first_id = group.node_up();
    let later = Ric::start(ServerConfig { e2: vec![e2.into()], xapp: Some(xapp), ..ServerConfig::default() });
    let stop = Nodes::start(vec![(2, vec![later.e2[0].clone()])]);
    let nodes = BTreeSet::from([first_id, group.node_up()]);
    assert_eq!(group.group.nodes().map(|node| node.id).collect::<BTreeSet<_>>(), nodes);
    drop(stop);
    // a RIC that is lost takes its nodes with it, and the session goes on
    drop(ric);
    group.until(|event| {
        assert_ne!(event, Seen::Disconnected, "a RIC is left");
        (event == Seen::Lost(first_id)).then_some(())
    });
    drop(later);
    group.until(|event| (event == Seen::Disconnected).then_some(()));
}

#[test]
fn group_without_a_ric_fails_in_time_with_the_reason() {
    let absent = ["a", "b"].map(|what| Address::Unix(socket_path(what)));
    let begin = Instant::now();
    let error = XappGroup::connect(&absent, "group", config(), Duration::from_millis(500)).unwrap_err();
    assert!(matches!(error, Error::Link(_)), "{error}");
    assert!(begin.elapsed() < PATIENCE / 2);
    // an xApp that does not connect again waits for a RIC as well
    let plain = XappConfig { reconnect: None, ..config() };
    let error = XappGroup::connect(&absent, "group", plain.clone(), Duration::from_millis(500)).unwrap_err();
    assert!(matches!(error, Error::Link(_)), "{error}");
    // and ends when all are lost
    let rics = [Ric::start(free_ports()), Ric::start(free_ports())];
    let addresses = [rics[0].xapp.clone(), rics[1].xapp.clone()];
    let mut group = XappGroup::connect(&addresses, "group", plain, PATIENCE).unwrap();
    let [first, second] = rics;
    drop(first);
    for _ in 0..10 {
        group.poll(Some(Duration::from_millis(10)), |_, _| ()).unwrap();
    }
    drop(second);
    let end = Instant::now() + PATIENCE;
    while group.poll(Some(Duration::from_millis(10)), |_, _| ()).is_ok() {
        assert!(Instant::now() < end);
    }
}

#[test]
fn ric_that_refuses_the_session_leaves_the_others_and_all_that_refuse_end_it() {
    let (refusing, others) = (refusing_ric(), [refusing_ric(), refusing_ric()]);
    let ric = Ric::start(free_ports());
    let mut group = connect(&[&refusing, &ric.xapp]);
    let mut node = ric.node();
    node.set_up(1);
    group.node_up();
    let error = XappGroup::connect(&others, "group", config(), PATIENCE).unwrap_err();
    assert!(matches!(error, Error::Refused(RefusalCode::NotAllowed)), "{error}");
}

#[test]
fn message_before_the_welcome_and_a_second_welcome_end_the_session() {
    let unwelcome = WrittenRic::new();
    let address = unwelcome.address();
    std::thread::spawn(move || {
        for stream in unwelcome.0.incoming() {
            let mut peer = Peer::of(stream.unwrap());
            peer.receive();
            announce(&mut peer, 40);
            while peer.try_receive().is_some() {}
        }
    });
    let out_of_order = |error: &Error| matches!(error, Error::Protocol(ProtocolError::OutOfOrder));
    let error = XappGroup::connect(std::slice::from_ref(&address), "group", config(), PATIENCE).unwrap_err();
    assert!(out_of_order(&error), "{error}");
    let error = Xapp::connect(&address, "alone", config()).map(drop).unwrap_err();
    assert!(out_of_order(&error), "{error}");

    let (mut group, _rics, [mut first, mut second]) = with_written_rics();
    announce(&mut second, 50);
    let node = group.node_up();
    announce(&mut first, 40);
    group.moved();
    send_welcome(&mut first);
    group.poll_for(Duration::from_millis(50));
    assert!(first.try_receive().is_none());
    let (again, ..) = group.moved();
    assert_ne!(again, node);
}

#[test]
fn number_of_rics_is_bounded() {
    let too_many: Vec<Address> = (0..=MAX_RICS).map(|_| Address::Unix(socket_path("many"))).collect();
    for addresses in [&too_many[..], &[]] {
        let connect = || XappGroup::connect(addresses, "group", config(), Duration::ZERO);
        assert!(std::panic::catch_unwind(connect).is_err());
    }
}

#[test]
fn longest_delay_of_a_duration_before_a_reconnection_is_accepted() {
    let (refusing, ric) = (refusing_ric(), Ric::start(free_ports()));
    let reconnect = Some(Reconnect { first: Duration::MAX, last: Duration::MAX });
    let endless = XappConfig { reconnect, ..config() };
    let absent = Address::Unix(socket_path("absent"));
    let addresses = [refusing, absent, ric.xapp.clone()];
    let mut group = XappGroup::connect(&addresses, "group", endless, PATIENCE).unwrap();
    ric.node().set_up(1);
    group.poll(Some(Duration::from_millis(50)), |_, _| ()).unwrap();
    drop(ric);
    group.poll(Some(Duration::from_millis(50)), |_, _| ()).unwrap();
}
