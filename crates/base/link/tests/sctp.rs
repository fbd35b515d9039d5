//! The contract for kernel SCTP. If the host's kernel has no SCTP, `kernel-sctp/run` runs the tests in a guest kernel:
//!
//! `CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$PWD/crates/base/link/kernel-sctp/run cargo test -p ferric-link --test sctp`

mod paths;
mod suite;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferric_link::{
    Address, Class, Config, Direction, Error, Events, Interest, Link, LinkEnds, LinkObserver, Listener, PathEvent,
    Poll, Ppid, Scratch, State, StreamId, Tap, TapObserver,
};
use suite::Kind;

/// Whether SCTP can be tested. The runner requires it: then missing SCTP is a failure.
fn has_sctp() -> bool {
    let required = std::env::var_os("FERRIC_SCTP").is_some_and(|value| value == "required");
    match Listener::bind(&"sctp://127.0.0.1:0".parse::<Address>().unwrap(), &Config::default()) {
        Ok(_) => true,
        Err(Error::SctpUnsupported) if !required => {
            // Not by `println!`, since the test harness hides the output of passing tests.
            use std::io::Write;
            static REPORTED: std::sync::Once = std::sync::Once::new();
            REPORTED.call_once(|| {
                let _ =
                    writeln!(std::io::stderr(), "\nSCTP NOT TESTED: {}; see kernel-sctp/run", Error::SctpUnsupported);
            });
            false
        }
        Err(error) => panic!("SCTP is required here: {error}"),
    }
}

macro_rules! on_every_kind {
    ($($name:ident),* $(,)?) => {
        mod sctp { $(#[test] fn $name() { if super::has_sctp() { super::suite::$name(super::Kind::Sctp); } })* }
        mod sctp_ipv6 { $(#[test] fn $name() { if super::has_sctp() { super::suite::$name(super::Kind::SctpIpv6); } })* }
        mod sctp_multihomed {
            $(#[test] fn $name() { if super::has_sctp() { super::suite::$name(super::Kind::SctpMultihomed); } })*
        }
    };
}

suite::for_every_test!(on_every_kind);

fn wait_readable(source: &impl std::os::fd::AsFd) {
    let poll = Poll::new().unwrap();
    poll.add(source, 0, Interest::READ).unwrap();
    let mut events = Events::new();
    poll.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
    assert!(events.iter().next().is_some(), "nothing arrives");
}

fn connected(address: &str) -> (Listener, Link, Link) {
    let mut listener = Listener::bind(&address.parse().unwrap(), &Config::default()).unwrap();
    let mut client = Link::connect(listener.local_address(), &Config::default()).unwrap();
    wait_readable(&listener);
    let server = listener.accept().unwrap().unwrap();
    while client.finish_connect().unwrap() == State::Connecting {
        std::thread::yield_now();
    }
    (listener, client, server)
}

/// Receives one message without this crate. Returns its octets, its stream, and its payload protocol identifier on the wire.
#[allow(unsafe_code, reason = "SCTP's control messages have no safe binding")]
fn receive_raw(socket: &socket2::Socket) -> (Vec<u8>, u16, [u8; 4]) {
    use std::os::fd::AsRawFd;
    let mut bytes = vec![0_u8; 1000];
    let mut control = [0_u64; 16];
    let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: `msghdr` is plain data, for which zero is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header points to one vector, the vector to `bytes` and the header to `control`, all alive and writable.
    let octets = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) };
    bytes.truncate(usize::try_from(octets).expect("a message"));
    // struct cmsghdr: length (8 octets), level, type; then struct sctp_rcvinfo: stream, number, flags, padding, identifier.
    let control: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let word = |at: usize| *control[at..].first_chunk::<4>().unwrap();
    assert_eq!((i32::from_ne_bytes(word(8)), i32::from_ne_bytes(word(12))), (libc::IPPROTO_SCTP, 3));
    (bytes, u16::from_ne_bytes([control[16], control[17]]), word(24))
}

/// A base station that leaves Nagle's algorithm on sends its next small message after the acknowledgement of the last.
#[test]
fn acknowledgements_are_not_delayed() {
    if !has_sctp() {
        return;
    }
    let (listener, client, server) = connected("sctp://127.0.0.1:0");
    assert_eq!(listener.delays_acknowledgements(), Some(false));
    assert_eq!(client.delays_acknowledgements(), Some(false));
    assert_eq!(server.delays_acknowledgements(), Some(false), "inherited from the listener");
    let tcp = Listener::bind(&"tcp://127.0.0.1:0".parse().unwrap(), &Config::default()).unwrap();
    assert_eq!(tcp.delays_acknowledgements(), None);
}

#[test]
fn probed_association_goes_on() {
    if !has_sctp() {
        return;
    }
    let (_listener, mut client, mut server) = connected("sctp://127.0.0.1:0");
    server.probe();
    assert_eq!(server.delays_acknowledgements(), Some(false), "the probe changes heartbeats only");
    client.send(StreamId(0), &[b"still there"], Class::Keep).unwrap();
    client.flush().unwrap();
    wait_readable(&server);
    let mut received = Vec::new();
    server.receive(&mut Scratch::new(), 64 * 1024, &mut |_, pdu| received.push(pdu.to_vec())).unwrap();
    assert_eq!(received, [b"still there"]);
}

#[test]
fn stream_and_ppid_are_sent_as_e2_requires() {
    if !has_sctp() {
        return;
    }
    for (ppid, wire) in [(Ppid::E2_CP, [0, 0, 0, 70]), (Ppid::E2_UP, [0, 0, 0, 71]), (Ppid::E2_DU, [0, 0, 0, 72])] {
        let protocol = Some(socket2::Protocol::SCTP);
        let plain = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, protocol).unwrap();
        set_receive_info(&plain);
        plain.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
        plain.listen(1).unwrap();
        let port = plain.local_addr().unwrap().as_socket().unwrap().port();
        let address = Address::Sctp { hosts: vec!["127.0.0.1".into()], port };
        let config = Config { sctp_ppid: ppid, ..Config::default() };
        let mut link = Link::connect(&address, &config).unwrap();
        let (peer, _) = plain.accept().unwrap();
        while link.finish_connect().unwrap() == State::Connecting {
            std::thread::yield_now();
        }
        link.send(StreamId(3), &[b"set", b"up"], Class::Keep).unwrap();
        link.flush().unwrap();
        assert_eq!(receive_raw(&peer), (b"setup".to_vec(), 3, wire));
        // Any identifier is accepted: a plain send has 0.
        peer.send(b"answer").unwrap();
        wait_readable(&link);
        let mut got = Vec::new();
        while got.is_empty() {
            link.receive(&mut Scratch::new(), 1000, &mut |_, pdu: &[u8]| got.extend_from_slice(pdu)).unwrap();
        }
        assert_eq!(got, b"answer");
    }
}

#[test]
fn accepted_link_answers_with_the_ppid_of_its_peer() {
    if !has_sctp() {
        return;
    }
    let any = Address::Sctp { hosts: vec!["127.0.0.1".into()], port: 0 };
    let mut listener = Listener::bind(&any, &Config::default()).unwrap();
    let Address::Sctp { port, .. } = listener.local_address() else { panic!("an SCTP listener") };
    let to = format!("127.0.0.1:{port}").parse::<std::net::SocketAddr>().unwrap();
    // An identifier of the peer that is not one of E2 is not adopted.
    for (sent, answered) in [(72_u32, [0, 0, 0, 72]), (71, [0, 0, 0, 71]), (0, [0, 0, 0, 70]), (60, [0, 0, 0, 70])] {
        let peer =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, Some(socket2::Protocol::SCTP)).unwrap();
        set_receive_info(&peer);
        set_default_ppid(&peer, sent);
        peer.connect(&to.into()).unwrap();
        wait_readable(&listener);
        let mut link = listener.accept().unwrap().unwrap();
        peer.send(b"setup").unwrap();
        wait_readable(&link);
        let mut got = Vec::new();
        while got.is_empty() {
            link.receive(&mut Scratch::new(), 1000, &mut |_, pdu: &[u8]| got.extend_from_slice(pdu)).unwrap();
        }
        link.send(StreamId(0), &[b"answer"], Class::Keep).unwrap();
        link.flush().unwrap();
        assert_eq!(receive_raw(&peer), (b"answer".to_vec(), 0, answered), "sent {sent}");
    }
}

/// Notes the payload protocol identifiers that a tap sees, with the PDUs.
#[derive(Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl TapObserver for Noted {
    fn begin(&self, _: LinkEnds<'_>) -> Box<dyn LinkObserver> {
        Box::new(Noted(Arc::clone(&self.0)))
    }
}

impl LinkObserver for Noted {
    fn pdu(&self, direction: Direction, _: StreamId, _: &[&[u8]]) {
        self.0.lock().unwrap().push(format!("{direction:?} PDU"));
    }

    fn ppid(&self, direction: Direction, ppid: Ppid) {
        self.0.lock().unwrap().push(format!("{direction:?} {}", ppid.0));
    }
}

#[test]
fn tap_sees_the_ppid_of_the_wire() {
    if !has_sctp() {
        return;
    }
    let notes = Noted::default();
    let tap = Tap::new(Arc::new(Noted(Arc::clone(&notes.0))));
    let config = Config { tap: Some(tap), ..Config::default() };
    let any = Address::Sctp { hosts: vec!["127.0.0.1".into()], port: 0 };
    let mut listener = Listener::bind(&any, &config).unwrap();
    let Address::Sctp { port, .. } = listener.local_address() else { panic!("an SCTP listener") };
    let to = format!("127.0.0.1:{port}").parse::<std::net::SocketAddr>().unwrap();
    let peer =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, Some(socket2::Protocol::SCTP)).unwrap();
    peer.connect(&to.into()).unwrap();
    wait_readable(&listener);
    let mut link = listener.accept().unwrap().unwrap();
    // a plain send has the identifier 0; that of the second message is the same, and the third's is another
    for (at, ppid) in [0, 0, 72].into_iter().enumerate() {
        set_default_ppid(&peer, ppid);
        peer.send(b"report").unwrap();
        let received = |notes: &[String]| notes.iter().filter(|note| *note == "Received PDU").count();
        while received(&notes.0.lock().unwrap()) <= at {
            wait_readable(&link);
            link.receive(&mut Scratch::new(), 1000, &mut |_, _| {}).unwrap();
        }
    }
    link.send(StreamId(0), &[b"answer"], Class::Keep).unwrap();
    let expected = ["Received 0", "Received PDU", "Received PDU", "Received 72", "Received PDU", "Sent 72", "Sent PDU"];
    assert_eq!(*notes.0.lock().unwrap(), expected);
}

#[allow(unsafe_code, reason = "SCTP's options have no safe binding")]
fn set_default_ppid(socket: &socket2::Socket, ppid: u32) {
    use std::os::fd::AsRawFd;
    // struct sctp_sndinfo: stream, flags, identifier, context, association.
    let mut info = [0_u8; 16];
    info[4..8].copy_from_slice(&ppid.to_be_bytes());
    // SAFETY: the kernel reads the sixteen octets of `info`.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_SCTP, 34, info.as_ptr().cast(), 16) };
    assert_eq!(result, 0, "SCTP_DEFAULT_SNDINFO");
}

#[allow(unsafe_code, reason = "SCTP's options have no safe binding")]
fn set_receive_info(socket: &socket2::Socket) {
    use std::os::fd::AsRawFd;
    let on = 1_i32;
    // SAFETY: the kernel reads the four octets of `on`.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_SCTP, 32, (&raw const on).cast(), 4) };
    assert_eq!(result, 0, "SCTP_RECVRCVINFO");
}

#[test]
fn association_has_every_address_of_the_listener_and_reports_its_paths() {
    if !has_sctp() {
        return;
    }
    let mut listener = Listener::bind(&"sctp://127.0.0.1,127.0.0.2:0".parse().unwrap(), &Config::default()).unwrap();
    let Address::Sctp { port, .. } = *listener.local_address() else { unreachable!() };
    // The client knows one address; the listener announces the other.
    let first = Address::Sctp { hosts: vec!["127.0.0.1".into()], port };
    let mut client = Link::connect(&first, &Config::default()).unwrap();
    wait_readable(&listener);
    let _server = listener.accept().unwrap().unwrap();
    while client.finish_connect().unwrap() == State::Connecting {
        std::thread::yield_now();
    }
    // Columns LPORT and RPORT, then the local addresses, `<->`, and the remote ones.
    let associations = std::fs::read_to_string("/proc/net/sctp/assocs").unwrap();
    let ours = associations.lines().find(|line| {
        let (local, _) = line.split_once("<->").unwrap_or_default();
        local.split_whitespace().nth(12) == Some(&port.to_string())
    });
    let (_, remote) = ours.and_then(|line| line.split_once("<->")).unwrap_or_else(|| panic!("{associations}"));
    assert!(remote.contains("127.0.0.1") && remote.contains("127.0.0.2"), "{remote}");
    // The kernel tries the second path by itself, within some seconds, and reports when it works.
    let second_path = PathEvent::Reachable("127.0.0.2".parse().unwrap());
    let mut events = Vec::new();
    while !events.contains(&second_path) {
        wait_readable(&client);
        client.receive(&mut Scratch::new(), 1 << 16, &mut |_, _| ()).unwrap();
        events.extend(std::iter::from_fn(|| client.poll_path_event()));
    }
}

#[test]
fn peer_shutdown_is_a_path_event() {
    if !has_sctp() {
        return;
    }
    let (_listener, client, mut server) = connected("sctp://127.0.0.1:0");
    client.close();
    let mut scratch = Scratch::new();
    let error = loop {
        wait_readable(&server);
        if let Err(error) = server.receive(&mut scratch, 1 << 16, &mut |_, _| ()) {
            break error;
        }
    };
    assert!(matches!(error, Error::Closed), "{error:?}");
    let events: Vec<_> = std::iter::from_fn(|| server.poll_path_event()).collect();
    assert!(events.contains(&PathEvent::ShuttingDown), "{events:?}");
}
