//! A handshake may be completed by a write of the server. Nothing is read from the peer before it is identified in
//! this case either.

use std::time::{Duration, Instant};

use e2::AssocId;
use e2::RefusalCode;
use e2::xapp::{PROTOCOL_VERSION, RicMessage, XappMessage};
use link::{Address, Class, Config, Interest, Link, Poll, Scratch, State, StreamId};
use testkit::certificates::Authority;

use super::super::{E42Address, E42Config, Rights, Server, ServerConfig};
use crate::endpoint;

/// A server whose access rules admit no peer.
fn server(authority: &Authority) -> Server {
    let any_port: Address = "tls://127.0.0.1:0".parse().unwrap();
    let mut config = ServerConfig {
        e2: vec![any_port.clone().into()],
        xapp: Some(any_port.clone()),
        e42: Some(E42Config { addresses: vec![E42Address(any_port)], ..E42Config::default() }),
        rights: Rights { nodes: Some(Vec::new()), xapps: Some(Vec::new()) },
        ..ServerConfig::default()
    };
    config.link.tls = Some(endpoint::issue_certificate(authority, &["127.0.0.1"]));
    Server::bind(config).unwrap()
}

/// Connects so that a write of the server completes the handshake, then sends `pdu`. Returns what the server sends
/// before it closes.
fn messages_before_close(server: &mut Server, authority: &Authority, address: &Address, pdu: &[u8]) -> Vec<Vec<u8>> {
    let tls = endpoint::issue_certificate(authority, &["unknown.example"]);
    let mut client = Link::connect(address, &Config { tls: Some(tls), ..Config::default() }).unwrap();
    let poll = Poll::new().unwrap();
    poll.add(&client, 0, Interest::READ_WRITE).unwrap();
    let mut is_established = false;
    while client.finish_connect().unwrap() != State::Established || !is_established {
        server.poll.wait(&mut server.events, Some(Duration::from_millis(1))).unwrap();
        let now = server.clock.now();
        for listener in 0..server.listeners.len() {
            server.accept(now, listener);
        }
        let mut at = 0;
        while let Some(event) = server.events.get(at) {
            at += 1;
            let assoc = AssocId(event.token);
            for peers in [&mut server.nodes, &mut server.apps.xapp_links.xapps, &mut server.apps.e42.peers] {
                peers.touch(assoc);
            }
            server.flush();
            for peers in [&mut server.nodes, &mut server.apps.xapp_links.xapps, &mut server.apps.e42.peers] {
                is_established |= peers.get_mut(assoc).is_some_and(|peer| peer.link.state() == State::Established);
            }
        }
    }
    client.send(StreamId(0), &[pdu], Class::Keep).unwrap();
    let mut received = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Err(error) = client.flush().map(drop).and_then(|()| {
            client.receive(&mut Scratch::new(), 1 << 16, &mut |_, pdu| received.push(pdu.to_vec())).map(drop)
        }) {
            assert!(matches!(error, link::Error::Closed | link::Error::Lost(_)), "{error:?}");
            return received;
        }
        server.poll(Some(Duration::from_millis(1))).unwrap();
        assert!(received.len() < 2 && Instant::now() < deadline, "the connection stays open: {received:?}");
    }
}

#[test]
fn unauthorized_node_is_rejected_when_a_write_completes_the_handshake() {
    let authority = Authority::new();
    let mut server = server(&authority);
    let address = server.e2_addresses().next().unwrap().clone();
    assert_eq!(messages_before_close(&mut server, &authority, &address, b"not even a setup"), [b""; 0]);
}

#[test]
fn unauthorized_xapp_is_rejected_when_a_write_completes_the_handshake() {
    let authority = Authority::new();
    let mut server = server(&authority);
    let address = server.xapp_address().unwrap().clone();
    let mut hello = Vec::new();
    XappMessage::Hello { lowest: PROTOCOL_VERSION, highest: PROTOCOL_VERSION, name: "unknown".into() }
        .encode(&mut hello);
    let received = messages_before_close(&mut server, &authority, &address, &hello);
    let received: Vec<_> = received.iter().map(|pdu| RicMessage::decode(pdu).unwrap()).collect();
    assert_eq!(received, [RicMessage::Refused(RefusalCode::NotAllowed)]);
}

#[test]
fn unauthorized_e42_xapp_is_rejected_when_a_write_completes_the_handshake() {
    let authority = Authority::new();
    let mut server = server(&authority);
    let address = server.e42_addresses().next().unwrap().clone();
    assert_eq!(messages_before_close(&mut server, &authority, &address, b"not even a setup"), [b""; 0]);
}
