//! Tests of stream sockets only: peers that violate the framing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use ferric_link::{
    Address, Class, Config, Error, Events, Family, Interest, Link, Listener, Poll, Received, Scratch, State, StreamId,
};

/// A link and a plain socket, connected.
struct Raw {
    link: Link,
    peer: Box<dyn Peer>,
    scratch: Scratch,
    pdus: Vec<Vec<u8>>,
}

trait Peer: Read + Write {}
impl<T: Read + Write> Peer for T {}

fn wait_readable(source: &impl std::os::fd::AsFd) {
    let poll = Poll::new().unwrap();
    poll.add(source, 0, Interest::READ).unwrap();
    let mut events = Events::new();
    poll.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
    assert!(events.iter().next().is_some(), "nothing arrives");
}

impl Raw {
    fn tcp(config: &Config) -> Raw {
        let mut listener = Listener::bind(&"tcp://127.0.0.1:0".parse().unwrap(), config).unwrap();
        let Address::Tcp { port, .. } = *listener.local_address() else { unreachable!() };
        let peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
        peer.set_nodelay(true).unwrap();
        Raw::accepted(&mut listener, Box::new(peer))
    }

    fn unix(config: &Config) -> Raw {
        let path = socket_path("raw");
        let mut listener = Listener::bind(&Address::Unix(path.clone()), config).unwrap();
        let peer = UnixStream::connect(&path).unwrap();
        Raw::accepted(&mut listener, Box::new(peer))
    }

    fn both(config: &Config) -> [Raw; 2] {
        [Raw::tcp(config), Raw::unix(config)]
    }

    fn accepted(listener: &mut Listener, peer: Box<dyn Peer>) -> Raw {
        wait_readable(listener);
        let link = listener.accept().unwrap().unwrap();
        Raw { link, peer, scratch: Scratch::new(), pdus: Vec::new() }
    }

    fn receive(&mut self) -> Result<Received, Error> {
        wait_readable(&self.link);
        let pdus = &mut self.pdus;
        self.link.receive(&mut self.scratch, 1 << 20, &mut |stream, pdu: &[u8]| {
            assert_eq!(stream, StreamId(0));
            pdus.push(pdu.to_vec());
        })
    }

    fn receive_to_the_end(&mut self) -> Error {
        loop {
            if let Err(error) = self.receive() {
                assert_eq!(self.link.state(), State::Closed);
                return error;
            }
        }
    }
}

fn socket_path(name: &str) -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("ferric-link-stream-{}-{name}-{count}", std::process::id()))
}

fn framed(pdu: &[u8]) -> Vec<u8> {
    [&u32::try_from(pdu.len()).unwrap().to_be_bytes(), pdu].concat()
}

#[test]
fn frames_match_the_documentation() {
    for mut raw in Raw::both(&Config::default()) {
        raw.link.send(StreamId(7), &[b"ab", b"c"], Class::Keep).unwrap();
        raw.link.send(StreamId(0), &[&[9; 300]], Class::Report).unwrap();
        raw.link.flush().unwrap();
        let mut wire = vec![0; 4 + 3 + 4 + 300];
        raw.peer.read_exact(&mut wire).unwrap();
        assert_eq!(wire, [&[0, 0, 0, 3, b'a', b'b', b'c', 0, 0, 1, 44][..], &[9; 300]].concat());
    }
}

#[test]
fn close_mid_pdu_differs_from_orderly_close() {
    for cut in [1, 3, 4, 5, 103] {
        for mut raw in Raw::both(&Config::default()) {
            raw.peer.write_all(&framed(b"whole")).unwrap();
            raw.peer.write_all(&framed(&[1; 100])[..cut]).unwrap();
            raw.peer = Box::new(std::io::Cursor::new(Vec::new()));
            let error = raw.receive_to_the_end();
            assert!(matches!(error, Error::ClosedMidPdu { received_octets } if received_octets == cut), "{error:?}");
            assert_eq!(raw.pdus, [b"whole"]);
        }
    }
}

#[test]
fn invalid_lengths_close_the_link() {
    let config = Config { max_pdu_octets: 1000, ..Config::default() };
    for header in [0_u32, 1001, 0x7fff_ffff, u32::MAX] {
        for mut raw in Raw::both(&config) {
            raw.peer.write_all(&framed(&[1; 1000])).unwrap();
            raw.peer.write_all(&header.to_be_bytes()).unwrap();
            let error = raw.receive_to_the_end();
            assert_eq!(error.family(), Family::Peer);
            match error {
                Error::EmptyPdu => assert_eq!(header, 0),
                Error::PduTooLong { announced_octets, limit_octets: 1000 } => {
                    assert_eq!(announced_octets, u64::from(header))
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(raw.pdus, [[1; 1000]]);
        }
    }
}

#[test]
fn pdu_that_arrives_octet_by_octet_is_delivered() {
    let pdu: Vec<u8> = (0..=255).collect();
    for mut raw in Raw::both(&Config::default()) {
        for octet in [framed(&pdu), framed(&pdu)].concat() {
            raw.peer.write_all(&[octet]).unwrap();
            assert_eq!(raw.receive().unwrap().octets, 1);
        }
        assert_eq!(raw.pdus, [pdu.clone(), pdu.clone()]);
    }
}

#[test]
fn socket_file_of_a_dead_listener_is_replaced_and_other_files_are_not() {
    let path = socket_path("stale");
    // A standard listener does not remove its file.
    drop(UnixListener::bind(&path).unwrap());
    let listener = Listener::bind(&Address::Unix(path.clone()), &Config::default()).unwrap();
    UnixStream::connect(&path).unwrap();
    drop(listener);
    assert!(!path.exists(), "a listener takes its file away");

    std::fs::write(&path, "precious").unwrap();
    let error = Listener::bind(&Address::Unix(path.clone()), &Config::default()).err().unwrap();
    assert!(matches!(error, Error::Bind { .. }), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn host_name_works_on_both_sides_and_unknown_one_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // `localhost` may resolve to ::1 first: the link then tries 127.0.0.1.
    let address = Address::Tcp { host: "localhost".into(), port };
    let mut link = Link::connect(&address, &Config::default()).unwrap();
    let poll = Poll::new().unwrap();
    poll.add(&link, 0, Interest::READ_WRITE).unwrap();
    while link.finish_connect().unwrap() == State::Connecting {
        poll.wait(&mut Events::new(), Some(Duration::from_secs(10))).unwrap();
    }
    listener.accept().unwrap();

    let error = Link::connect(&"tcp://no-such-host.invalid:1".parse().unwrap(), &Config::default()).err().unwrap();
    assert!(matches!(error, Error::Connect { .. }), "{error:?}");
}

#[test]
fn wildcard_listener_accepts_both_ip_versions() {
    let mut listener = Listener::bind(&"tcp://[::]:0".parse().unwrap(), &Config::default()).unwrap();
    let Address::Tcp { port, .. } = *listener.local_address() else { unreachable!() };
    for host in ["127.0.0.1", "::1"] {
        let _client = TcpStream::connect((host, port)).unwrap();
        wait_readable(&listener);
        let link = listener.accept().unwrap().unwrap();
        assert!(matches!(link.peer(), Address::Tcp { host: peer, .. } if peer == host), "{}", link.peer());
    }
}
