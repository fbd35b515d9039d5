//! One suite for every kind of link.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ferric_link::{
    Address, Class, Config, Error, Events, Family, Interest, Link, Listener, Poll, Received, Scratch, Sent, State,
    StreamId,
};

/// The limit for all waits; a test that reaches it has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const BUDGET: usize = 1 << 20;
const STREAM: StreamId = StreamId(0);

#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(dead_code, reason = "each test binary runs some of the kinds")]
pub enum Kind {
    Tcp,
    TcpIpv6,
    Tls,
    TlsIpv6,
    Unix,
    Shm,
    Memory,
    Sctp,
    SctpIpv6,
    SctpMultihomed,
}

impl Kind {
    /// Returns a free address to listen on.
    fn address(self) -> Address {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("ferric-link-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        match self {
            Kind::Tcp => "tcp://127.0.0.1:0".parse().unwrap(),
            Kind::TcpIpv6 => "tcp://[::1]:0".parse().unwrap(),
            Kind::Tls => "tls://127.0.0.1:0".parse().unwrap(),
            Kind::TlsIpv6 => "tls://[::1]:0".parse().unwrap(),
            Kind::Unix => Address::Unix(std::env::temp_dir().join(name)),
            Kind::Shm => Address::Shm(std::env::temp_dir().join(name)),
            Kind::Memory => Address::Memory(name),
            Kind::Sctp => "sctp://127.0.0.1:0".parse().unwrap(),
            Kind::SctpIpv6 => "sctp://[::1]:0".parse().unwrap(),
            Kind::SctpMultihomed => "sctp://127.0.0.1,127.0.0.2:0".parse().unwrap(),
        }
    }

    /// The default configuration, with the credentials of TLS.
    fn config(self) -> Config {
        match self {
            #[cfg(feature = "tls")]
            Kind::Tls | Kind::TlsIpv6 => {
                static TLS: std::sync::LazyLock<ferric_link::Tls> = std::sync::LazyLock::new(|| {
                    tls(&testkit::certificates::Authority::new(), &["127.0.0.1", "::1"], |_| ()).unwrap()
                });
                Config { tls: Some(TLS.clone()), ..Config::default() }
            }
            _ => Config::default(),
        }
    }

    fn is_sctp(self) -> bool {
        matches!(self, Kind::Sctp | Kind::SctpIpv6 | Kind::SctpMultihomed)
    }
}

/// Issues a certificate. Returns its files.
#[cfg(feature = "tls")]
pub fn issue(
    authority: &testkit::certificates::Authority,
    names: &[&str],
    adapt: impl FnOnce(&mut testkit::certificates::rcgen::CertificateParams),
) -> ferric_link::TlsFiles {
    let files = authority.issue(names, adapt);
    ferric_link::TlsFiles { ca: files.ca, certificate: files.certificate, key: files.key }
}

/// Issues a certificate and loads it.
#[cfg(feature = "tls")]
pub fn tls(
    authority: &testkit::certificates::Authority,
    names: &[&str],
    adapt: impl FnOnce(&mut testkit::certificates::rcgen::CertificateParams),
) -> Result<ferric_link::Tls, ferric_link::TlsFileError> {
    ferric_link::Tls::load(&issue(authority, names, adapt))
}

/// Small kernel buffers, which a slow reader fills soon.
fn small_buffers(kind: Kind) -> Config {
    Config { send_buffer_octets: Some(16 * 1024), receive_buffer_octets: Some(16 * 1024), ..kind.config() }
}

/// A link and the received PDUs.
struct End {
    link: Link,
    scratch: Scratch,
    got: Vec<(StreamId, Vec<u8>)>,
    ended: Option<Error>,
}

impl End {
    fn new(link: Link) -> End {
        End { link, scratch: Scratch::new(), got: Vec::new(), ended: None }
    }

    fn receive(&mut self, budget_octets: usize) -> Option<Received> {
        let got = &mut self.got;
        let result = self
            .link
            .receive(&mut self.scratch, budget_octets, &mut |stream, pdu: &[u8]| got.push((stream, pdu.to_vec())));
        result.map_err(|error| self.ended = Some(error)).ok()
    }

    fn send(&mut self, pdu: &[u8]) {
        let sent = self.link.send(STREAM, &[pdu], Class::Keep).unwrap();
        assert_eq!(sent, Sent { queued: true, dropped_reports: 0 });
    }

    fn pdus(&self) -> Vec<&[u8]> {
        self.got.iter().map(|(_, pdu)| pdu.as_slice()).collect()
    }
}

fn wait_readable(source: &impl std::os::fd::AsFd) {
    let poll = Poll::new().unwrap();
    poll.add(source, 1, Interest::READ).unwrap();
    let mut events = Events::new();
    poll.wait(&mut events, Some(PATIENCE)).unwrap();
    assert!(events.iter().next().is_some_and(|event| event.readable), "nothing to read");
}

/// Receives and flushes according to readiness until `done`.
fn run(ends: &mut [&mut End], mut done: impl FnMut(&mut [&mut End]) -> bool) {
    let poll = Poll::new().unwrap();
    let mut events = Events::new();
    let wanted = |end: &End| Interest { read: end.ended.is_none(), write: end.link.wants_write() };
    for (token, end) in (0..).zip(ends.iter_mut()) {
        poll.add(&end.link, token, wanted(end)).unwrap();
    }
    while !done(ends) {
        for (token, end) in (0..).zip(ends.iter_mut()) {
            poll.modify(&end.link, token, wanted(end)).unwrap();
        }
        poll.wait(&mut events, Some(PATIENCE)).unwrap();
        assert!(events.iter().next().is_some(), "no further event");
        for event in events.iter() {
            let end = &mut ends[usize::try_from(event.token).unwrap()];
            if event.readable && end.ended.is_none() {
                end.receive(BUDGET);
            }
            if event.writable && end.ended.is_none() && end.link.wants_write() {
                match end.link.flush() {
                    Ok(flushed) => assert_eq!(flushed.waiting, end.link.wants_write()),
                    Err(error) => end.ended = Some(error),
                }
            }
        }
    }
}

fn accept(listener: &mut Listener) -> Link {
    wait_readable(listener);
    listener.accept().unwrap().expect("a readable listener has a link")
}

fn connected(kind: Kind, config: &Config) -> (End, End) {
    connected_unlike(kind, config, config)
}

/// A client and a server, each with its configuration.
fn connected_unlike(kind: Kind, client_config: &Config, server_config: &Config) -> (End, End) {
    let mut listener = Listener::bind(&kind.address(), server_config).unwrap();
    let client = Link::connect(listener.local_address(), client_config).unwrap();
    let mut server = End::new(accept(&mut listener));
    let mut client = End::new(client);
    run(&mut [&mut client, &mut server], |ends| ends.iter().all(|end| end.link.state() != State::Connecting));
    assert_eq!(client.link.state(), State::Established, "{:?}", client.ended);
    (client, server)
}

fn numbered(number: u32, octets: usize) -> Vec<u8> {
    let mut pdu: Vec<u8> = (0..octets).map(|i| (i ^ (i >> 8)).to_le_bytes()[0] ^ number.to_le_bytes()[0]).collect();
    let head = octets.min(4);
    pdu[..head].copy_from_slice(&number.to_be_bytes()[..head]);
    pdu
}

fn number_of(pdu: &[u8]) -> u32 {
    u32::from_be_bytes(*pdu.first_chunk().unwrap())
}

macro_rules! for_every_test {
    ($with:ident) => {
        $with!(
            both_ends_know_the_address_of_the_peer,
            new_link_has_no_events,
            pdus_of_every_size_arrive_in_order_in_both_directions,
            many_small_pdus_arrive_in_order,
            longest_pdu_is_delivered,
            pdus_sent_while_connecting_arrive,
            stream_ids_are_kept_on_links_with_streams,
            receive_stops_at_the_budget,
            pdus_before_the_close_are_delivered,
            vanished_peer_is_detected,
            slow_reader_loses_only_its_oldest_reports,
            kept_pdus_fill_the_outbox_and_none_is_lost,
            pdus_sent_now_arrive_in_order_and_wait_for_a_slow_reader,
            pdu_beyond_the_limit_of_the_receiver_closes_the_link,
            misuse_is_an_error_without_effect,
            connect_without_listener_fails,
            address_is_bound_once,
            one_listener_serves_many_links,
            dropped_listener_does_not_affect_its_links,
        );
    };
}
pub(crate) use for_every_test;

pub fn both_ends_know_the_address_of_the_peer(kind: Kind) {
    let mut listener = Listener::bind(&kind.address(), &kind.config()).unwrap();
    assert!(listener.accept().unwrap().is_none(), "no client has connected");
    let address = listener.local_address().clone();
    assert_eq!(address.to_string().parse(), Ok(address.clone()));
    let client = Link::connect(&address, &kind.config()).unwrap();
    let server = accept(&mut listener);
    assert!(listener.accept().unwrap().is_none());
    assert_eq!(client.peer(), &address);
    let state = if matches!(address, Address::Tls { .. }) { State::Connecting } else { State::Established };
    assert_eq!(server.state(), state);
    match (&address, server.peer()) {
        (Address::Tcp { host, port }, Address::Tcp { host: peer_host, port: peer_port })
        | (Address::Tls { host, port }, Address::Tls { host: peer_host, port: peer_port }) => {
            assert_eq!(host, peer_host);
            assert!(*port != 0 && *peer_port != 0 && port != peer_port);
        }
        (Address::Sctp { hosts, port }, Address::Sctp { hosts: peer_hosts, port: peer_port }) => {
            // The client offers all addresses of its host, among them the loopback's.
            assert!(peer_hosts.contains(&hosts[0]), "{peer_hosts:?}");
            assert!(*port != 0 && *peer_port != 0 && port != peer_port);
        }
        (ours, peer) => assert_eq!(ours, peer),
    }
}

pub fn new_link_has_no_events(kind: Kind) {
    let (mut client, mut server) = connected(kind, &kind.config());
    for end in [&mut client, &mut server] {
        assert!(!end.link.wants_write());
        assert_eq!((end.link.queued_octets(), end.link.dropped_reports()), (0, 0));
        let flushed = end.link.flush().unwrap();
        assert_eq!((flushed.octets, flushed.waiting), (0, false));
        assert_eq!(end.receive(BUDGET), Some(Received::default()));
        assert!(end.link.poll_path_event().is_none() || kind.is_sctp());
    }
}

pub fn pdus_of_every_size_arrive_in_order_in_both_directions(kind: Kind) {
    let (mut client, mut server) = connected(kind, &kind.config());
    let sizes = [
        1, 2, 3, 4, 5, 100, 1499, 4096, 8191, 8192, 8193, 16384, 65535, 65536, 65537, 100_000, 131_067, 131_068,
        131_072, 131_073, 200_000, 7,
    ];
    let pdus: Vec<Vec<u8>> = (0..).zip(sizes).map(|(number, octets)| numbered(number, octets)).collect();
    for pdu in &pdus {
        let (head, tail) = pdu.split_at(pdu.len() / 3);
        client.link.send(STREAM, &[head, &[], tail], Class::Report).unwrap();
        server.send(pdu);
    }
    client.link.flush().unwrap();
    server.link.flush().unwrap();
    run(&mut [&mut client, &mut server], |ends| {
        ends.iter().all(|end| end.got.len() == pdus.len() || end.ended.is_some())
    });
    for end in [client, server] {
        assert!(end.ended.is_none(), "{:?}", end.ended);
        assert!(end.pdus() == pdus, "PDUs differ");
        assert_eq!((end.link.queued_octets(), end.link.dropped_reports()), (0, 0));
    }
}

pub fn many_small_pdus_arrive_in_order(kind: Kind) {
    let (mut client, mut server) = connected(kind, &kind.config());
    let count = 20_000;
    for round in 0..count / 100 {
        for number in round * 100..(round + 1) * 100 {
            client.send(&numbered(number, 4 + number as usize % 50));
        }
        client.link.flush().unwrap();
        let enough = (round as usize * 100).saturating_sub(200);
        run(&mut [&mut client, &mut server], |ends| ends[1].got.len() >= enough);
    }
    run(&mut [&mut client, &mut server], |ends| ends[1].got.len() >= count as usize);
    for (number, pdu) in (0..count).zip(server.pdus()) {
        assert_eq!(pdu, numbered(number, 4 + number as usize % 50));
    }
    assert_eq!(server.got.len(), count as usize);
}

pub fn longest_pdu_is_delivered(kind: Kind) {
    let config = kind.config();
    let (mut client, mut server) = connected(kind, &config);
    let mut longest = numbered(1, config.max_pdu_octets);
    if let Err(Error::SendTooLong { limit_octets, .. }) = client.link.send(STREAM, &[&longest], Class::Keep) {
        // Without privileges, the send buffer of the system limits the length of SCTP messages.
        assert!(kind.is_sctp() && limit_octets >= 200_000, "{limit_octets}");
        longest.truncate(limit_octets);
        client.send(&longest);
    }
    client.send(&[1]);
    client.link.flush().unwrap();
    run(&mut [&mut client, &mut server], |ends| ends[1].got.len() == 2 || ends[1].ended.is_some());
    assert!(server.pdus() == [longest.as_slice(), &[1]], "{:?}", server.ended);
}

pub fn pdus_sent_while_connecting_arrive(kind: Kind) {
    let mut listener = Listener::bind(&kind.address(), &kind.config()).unwrap();
    let mut client = End::new(Link::connect(listener.local_address(), &kind.config()).unwrap());
    client.send(b"early");
    client.link.flush().unwrap();
    let mut server = End::new(accept(&mut listener));
    run(&mut [&mut client, &mut server], |ends| !ends[1].got.is_empty());
    assert_eq!(server.pdus(), [b"early"]);
}

pub fn stream_ids_are_kept_on_links_with_streams(kind: Kind) {
    let few = Config { sctp_streams: 2, ..kind.config() };
    let (mut client, mut server) = connected_unlike(kind, &kind.config(), &few);
    let sent: Vec<StreamId> = (0..6).map(StreamId).collect();
    for stream in &sent {
        client.link.send(*stream, &[&stream.0.to_be_bytes()], Class::Keep).unwrap();
    }
    client.link.flush().unwrap();
    run(&mut [&mut client, &mut server], |ends| ends[1].got.len() == sent.len());
    server.got.sort_by(|a, b| a.1.cmp(&b.1));
    let got: Vec<StreamId> = server.got.iter().map(|(stream, _)| *stream).collect();
    let expected: Vec<StreamId> = match kind {
        Kind::Memory => sent,
        // The server agreed to two.
        kind if kind.is_sctp() => sent.iter().map(|stream| StreamId(stream.0 % 2)).collect(),
        _ => vec![StreamId(0); sent.len()],
    };
    assert_eq!(got, expected);
}

pub fn receive_stops_at_the_budget(kind: Kind) {
    let (mut client, mut server) = connected(kind, &kind.config());
    for number in 0..100 {
        client.send(&numbered(number, 1000));
    }
    client.link.flush().unwrap();
    let mut rounds_with_more = 0;
    while server.got.len() < 100 {
        wait_readable(&server.link);
        let before = server.got.len();
        let received = server.receive(3000).unwrap();
        assert!(received.octets < 3000 + 8192 * 2, "{received:?}");
        assert_eq!(received.pdus, server.got.len() - before);
        rounds_with_more += usize::from(received.more);
    }
    assert!(rounds_with_more > 5, "{rounds_with_more}");
    assert!((0..100).zip(server.pdus()).all(|(number, pdu)| pdu == numbered(number, 1000)));
}

pub fn pdus_before_the_close_are_delivered(kind: Kind) {
    let (mut client, mut server) = connected(kind, &kind.config());
    for number in 0..100 {
        client.send(&numbered(number, 300));
    }
    client.link.flush().unwrap();
    run(&mut [&mut client], |ends| !ends[0].link.wants_write());
    client.send(b"goodbye");
    client.link.close();
    run(&mut [&mut server], |ends| ends[0].ended.is_some());
    assert!(matches!(server.ended, Some(Error::Closed)), "{:?}", server.ended);
    assert_eq!(server.got.len(), 101);
    assert_eq!(server.pdus()[100], b"goodbye");
    assert_eq!(server.link.state(), State::Closed);
    // It stays closed.
    assert!(matches!(server.link.receive(&mut server.scratch, 1, &mut |_, _| ()), Err(Error::Closed)));
    assert!(matches!(server.link.send(STREAM, &[b"x"], Class::Keep), Err(Error::Closed)));
    assert!(!server.link.wants_write());
}

pub fn vanished_peer_is_detected(kind: Kind) {
    let (mut client, mut server) = connected(kind, &kind.config());
    server.send(b"last words");
    server.link.flush().unwrap();
    client.send(b"unread");
    client.link.flush().unwrap();
    wait_readable(&server.link);
    drop(server);
    // Writing fails at some time, without a signal.
    let mut failed_send = None;
    let poll = Poll::new().unwrap();
    poll.add(&client.link, 0, Interest::READ).unwrap();
    for _ in 0..1000 {
        if let Err(error) = client.link.send(STREAM, &[b"more"], Class::Report).and_then(|_| client.link.flush()) {
            failed_send = Some(error);
            break;
        }
        poll.wait(&mut Events::new(), Some(Duration::from_millis(1))).unwrap();
    }
    let error = failed_send.expect("writing to a closed peer fails");
    assert!(matches!(error, Error::Lost(_)), "{error:?}");
    assert_eq!(error.family(), Family::Peer);
    run(&mut [&mut client], |ends| ends[0].ended.is_some());
    assert!(matches!(client.ended, Some(Error::Closed | Error::Lost(_))), "{:?}", client.ended);
    assert_eq!(client.pdus(), [b"last words"]);
}

pub fn slow_reader_loses_only_its_oldest_reports(kind: Kind) {
    let config = Config { outbox_octets: 64 * 1024, ..small_buffers(kind) };
    let (mut client, mut server) = connected(kind, &config);
    let mut kept = Vec::new();
    let mut number = 0;
    let mut seen_dropped = 0;
    // The kept PDUs fit, with any number of reports.
    while client.link.dropped_reports() < 2000 {
        let keep = number % 100 == 99 && kept.len() < 25;
        let class = if keep { Class::Keep } else { Class::Report };
        let sent = client.link.send(STREAM, &[&numbered(number, 1000)], class).unwrap();
        assert!(sent.queued);
        seen_dropped += u64::from(sent.dropped_reports);
        if keep {
            kept.push(number);
        }
        number += 1;
        if number % 7 == 0 {
            client.link.flush().unwrap();
        }
        assert!(client.link.queued_octets() <= config.outbox_octets);
    }
    assert_eq!(seen_dropped, client.link.dropped_reports());
    let expected = usize::try_from(u64::from(number) - client.link.dropped_reports()).unwrap();
    client.link.flush().unwrap();
    run(&mut [&mut client, &mut server], |ends| ends[1].got.len() >= expected);
    let numbers: Vec<u32> = server.pdus().into_iter().map(number_of).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "order holds");
    assert!(server.pdus().into_iter().all(|pdu| pdu == numbered(number_of(pdu), 1000)));
    assert!(kept.iter().all(|kept| numbers.binary_search(kept).is_ok()), "nothing to keep was lost");
    assert!(kept.len() >= 20);
    let newest: Vec<u32> = (number - 20..number).collect();
    assert!(numbers.ends_with(&newest), "the newest reports survive");
    assert_eq!(numbers.len(), expected);
}

pub fn kept_pdus_fill_the_outbox_and_none_is_lost(kind: Kind) {
    let config = Config { outbox_octets: 64 * 1024, ..small_buffers(kind) };
    let (mut client, mut server) = connected(kind, &config);
    let mut count = 0;
    let error = loop {
        match client.link.send(STREAM, &[&numbered(count, 700)], Class::Keep) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
        client.link.flush().unwrap();
        assert!(count < 100_000);
    };
    assert!(matches!(error, Error::OutboxFull { limit_octets: 65536 }), "{error:?}");
    assert_eq!(error.family(), Family::Peer);
    // A report that does not fit is dropped.
    let sent = client.link.send(STREAM, &[&[0; 700]], Class::Report).unwrap();
    assert_eq!(sent, Sent { queued: false, dropped_reports: 1 });
    assert_eq!(client.link.dropped_reports(), 1);
    run(&mut [&mut client, &mut server], |ends| ends[1].got.len() >= count as usize);
    assert!((0..count).zip(server.pdus()).all(|(number, pdu)| pdu == numbered(number, 700)));
    // When there is space again, sending continues.
    run(&mut [&mut client], |ends| !ends[0].link.wants_write());
    client.send(b"again");
    client.link.flush().unwrap();
    run(&mut [&mut client, &mut server], |ends| ends[1].got.len() > count as usize);
}

pub fn pdus_sent_now_arrive_in_order_and_wait_for_a_slow_reader(kind: Kind) {
    let config = Config { outbox_octets: 64 * 1024, ..small_buffers(kind) };
    let (mut client, mut server) = connected(kind, &config);
    let pdu = |number: u32| numbered(number, 500 + number as usize % 1000);
    // one behind what waits, and in more parts than are written directly
    client.send(&pdu(0));
    let parts = pdu(1);
    let parts: Vec<&[u8]> = parts.chunks(20).collect();
    for (number, parts) in [(2, &parts[..]), (3, &[&pdu(2)])] {
        let sent = client.link.send_now(STREAM, parts, Class::Keep).unwrap();
        assert_eq!(sent, Sent { queued: true, dropped_reports: 0 });
        run(&mut [&mut client, &mut server], |ends| ends[1].got.len() == number);
    }
    // the kernel takes a part of one when its buffer becomes full, and nothing of the next
    let mut count = 3;
    let error = loop {
        match client.link.send_now(STREAM, &[&pdu(count)], Class::Keep) {
            Ok(sent) => assert!(sent.queued),
            Err(error) => break error,
        }
        count += 1;
        assert!(count < 100_000);
    };
    assert!(matches!(error, Error::OutboxFull { limit_octets: 65536 }), "{error:?}");
    let sent = client.link.send_now(STREAM, &[&[0; 5000]], Class::Report).unwrap();
    assert_eq!(sent, Sent { queued: false, dropped_reports: 1 });
    // a peer in memory takes the PDUs out of the outbox by itself
    assert!(client.link.wants_write() || kind == Kind::Memory);
    run(&mut [&mut client, &mut server], |ends| ends[1].got.len() >= count as usize);
    assert!((0..count).zip(server.pdus()).all(|(number, got)| got == pdu(number)));
    assert_eq!(server.got.len(), count as usize);
    run(&mut [&mut client], |ends| !ends[0].link.wants_write());
    assert_eq!(client.link.queued_octets(), 0);
    for (parts, is_empty) in [(&[&[][..]], true), (&[&vec![0; config.max_pdu_octets + 1][..]], false)] {
        let error = client.link.send_now(STREAM, parts, Class::Keep).unwrap_err();
        assert!(if is_empty { matches!(error, Error::SendEmpty) } else { matches!(error, Error::SendTooLong { .. }) });
    }
    drop(server);
    run(&mut [&mut client], |ends| ends[0].ended.is_some());
    assert!(client.link.send_now(STREAM, &[b"late"], Class::Keep).is_err());
}

pub fn pdu_beyond_the_limit_of_the_receiver_closes_the_link(kind: Kind) {
    let strict = Config { max_pdu_octets: 10_000, ..kind.config() };
    let (mut client, mut server) = connected_unlike(kind, &kind.config(), &strict);
    client.send(&[1; 10_000]);
    client.send(&[2; 10_001]);
    client.send(&[3; 1]);
    client.link.flush().unwrap();
    run(&mut [&mut client, &mut server], |ends| ends[1].ended.is_some());
    match server.ended {
        Some(Error::PduTooLong { announced_octets: 10_001, limit_octets: 10_000 }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(server.pdus(), [vec![1; 10_000]]);
    assert_eq!(server.link.state(), State::Closed);
}

pub fn misuse_is_an_error_without_effect(kind: Kind) {
    let config = Config { max_pdu_octets: 1000, ..kind.config() };
    let (mut client, mut server) = connected(kind, &config);
    let error = client.link.send(STREAM, &[&[], &[]], Class::Keep).unwrap_err();
    assert!(matches!(error, Error::SendEmpty), "{error:?}");
    let error = client.link.send(STREAM, &[&[0; 600], &[0; 401]], Class::Report).unwrap_err();
    assert!(matches!(error, Error::SendTooLong { octets: 1001, limit_octets: 1000 }), "{error:?}");
    assert_eq!(error.family(), Family::Misuse);
    assert_eq!(client.link.queued_octets(), 0);
    client.send(&[5; 1000]);
    client.link.flush().unwrap();
    run(&mut [&mut server], |ends| !ends[0].got.is_empty());
    assert_eq!(server.pdus(), [[5; 1000]]);
}

pub fn connect_without_listener_fails(kind: Kind) {
    let listener = Listener::bind(&kind.address(), &kind.config()).unwrap();
    let address = listener.local_address().clone();
    drop(listener);
    let error = match Link::connect(&address, &kind.config()) {
        Err(error) => error,
        Ok(link) => {
            let mut end = End::new(link);
            assert!(end.link.wants_write());
            run(&mut [&mut end], |ends| ends[0].ended.is_some());
            assert_eq!(end.link.state(), State::Closed);
            end.ended.unwrap()
        }
    };
    match &error {
        Error::Connect { address: reported, source } => {
            assert_eq!(reported, &address);
            let expected = [std::io::ErrorKind::ConnectionRefused, std::io::ErrorKind::NotFound];
            assert!(expected.contains(&source.kind()), "{source:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(error.family(), Family::Environment);
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

pub fn address_is_bound_once(kind: Kind) {
    let first = Listener::bind(&kind.address(), &kind.config()).unwrap();
    let address = first.local_address().clone();
    match Listener::bind(&address, &kind.config()) {
        Err(Error::Bind { address: reported, source }) => {
            assert_eq!(reported, address);
            assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("{address} was taken twice"),
    }
    // The failed attempt does not affect the first listener.
    drop(Link::connect(&address, &kind.config()).unwrap());
    drop(first);
    Listener::bind(&address, &kind.config()).unwrap();
}

pub fn one_listener_serves_many_links(kind: Kind) {
    let mut listener = Listener::bind(&kind.address(), &kind.config()).unwrap();
    let address = listener.local_address().clone();
    let mut clients: Vec<End> = (0..20).map(|_| End::new(Link::connect(&address, &kind.config()).unwrap())).collect();
    let mut servers: Vec<End> = (0..20).map(|_| End::new(accept(&mut listener))).collect();
    for (number, client) in (0..).zip(&mut clients) {
        client.send(&numbered(number, 4));
    }
    let mut all: Vec<&mut End> = clients.iter_mut().chain(&mut servers).collect();
    run(&mut all, |ends| {
        let written = |end: &mut &mut End| end.link.flush().is_ok_and(|flushed| !flushed.waiting);
        ends.iter_mut().all(|end| written(end) && end.link.state() == State::Established)
    });
    // Each server returns what it received: each client gets its own PDU.
    for server in &mut servers {
        run(&mut [server], |ends| !ends[0].got.is_empty());
        let echo = server.got[0].1.clone();
        server.send(&echo);
        server.link.flush().unwrap();
    }
    for (number, client) in (0..).zip(&mut clients) {
        run(&mut [client], |ends| !ends[0].got.is_empty());
        assert_eq!(client.pdus(), [numbered(number, 4)]);
    }
}

pub fn dropped_listener_does_not_affect_its_links(kind: Kind) {
    let mut listener = Listener::bind(&kind.address(), &kind.config()).unwrap();
    let mut client = End::new(Link::connect(listener.local_address(), &kind.config()).unwrap());
    let mut server = End::new(accept(&mut listener));
    drop(listener);
    client.send(b"still here");
    run(&mut [&mut client, &mut server], |ends| {
        ends[0].link.flush().unwrap();
        !ends[1].got.is_empty()
    });
    assert_eq!(server.pdus(), [b"still here"]);
}
