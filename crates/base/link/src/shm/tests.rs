//! Peers that write invalid values into the shared memory.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::{Address, Class, Events, Interest, Link, Listener, Poll, State};

fn socket_path(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("ferric-link-shm-{}-{name}-{count}", std::process::id()))
}

fn is_readable(source: &impl AsFd) -> bool {
    let poll = Poll::new().unwrap();
    poll.add(source, 0, Interest::READ).unwrap();
    let mut events = Events::new();
    poll.wait(&mut events, Some(Duration::ZERO)).unwrap();
    events.get(0).is_some_and(|event| event.readable)
}

/// Returns the link of the server, and a client with access to the rings and the socket.
fn connected(config: &Config) -> (Link, ShmLink) {
    let path = socket_path("invalid");
    let mut listener = Listener::bind(&Address::Shm(path.clone()), config).unwrap();
    let mut client = ShmLink::connect(&path, &Config::default()).unwrap();
    assert!(!client.finish_connect().unwrap());
    let mut server = listener.accept().unwrap().unwrap();
    assert!(client.finish_connect().unwrap());
    let quiet = server.receive(&mut Scratch::new(), 1000, &mut |_, _| ()).unwrap();
    assert_eq!(quiet, Received::default());
    assert!(!is_readable(&server), "the server has read what the client filled its socket with");
    (server, client)
}

/// Writes octets into the ring as if they were PDUs.
fn put_raw(client: &mut ShmLink, octets: &[u8]) {
    let rings = client.rings.as_mut().unwrap();
    rings.put(octets);
    if rings.publish() {
        client.bell.ring().unwrap();
    }
}

fn end_of(server: &mut Link, pdus: &mut Vec<Vec<u8>>) -> Error {
    let mut scratch = Scratch::new();
    loop {
        assert!(is_readable(server), "the end is readable");
        match server.receive(&mut scratch, 1 << 20, &mut |_, pdu: &[u8]| pdus.push(pdu.to_vec())) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(server.state(), State::Closed);
                return error;
            }
        }
    }
}

#[test]
fn invalid_lengths_close_the_link() {
    let config = Config { max_pdu_octets: 1000, ..Config::default() };
    for header in [0_u32, 1001, 0x7fff_ffff, u32::MAX] {
        let (mut server, mut client) = connected(&config);
        put_raw(&mut client, &[0, 0, 0, 2, 7, 7]);
        put_raw(&mut client, &header.to_be_bytes());
        let mut pdus = Vec::new();
        match end_of(&mut server, &mut pdus) {
            Error::EmptyPdu => assert_eq!(header, 0),
            Error::PduTooLong { announced_octets, limit_octets: 1000 } => {
                assert_eq!(announced_octets, u64::from(header))
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(pdus, [[7, 7]]);
    }
}

#[test]
fn invalid_indices_close_the_link() {
    let ring = Config::default().shm_ring_octets as u64;
    for invalid in [ring + 1, 1 << 40, u64::MAX] {
        let (mut server, mut client) = connected(&Config::default());
        client.rings.as_ref().unwrap().set_invalid_tail(invalid);
        client.bell.ring().unwrap();
        let error = end_of(&mut server, &mut Vec::new());
        assert!(matches!(error, Error::SharedMemoryCorrupt), "{error:?}");
        assert_eq!(error.family(), crate::Family::Peer);

        if invalid.wrapping_neg() <= ring {
            // A valid index: the writer assumes that some octets are unread.
            continue;
        }
        let (mut server, client) = connected(&Config::default());
        client.rings.as_ref().unwrap().set_invalid_head(invalid);
        // The head is read when the ring seems full.
        for _ in 0..ring / 1000 + 1 {
            server.send(StreamId(0), &[&[1; 1000]], Class::Keep).unwrap();
        }
        let error = server.flush().unwrap_err();
        assert!(matches!(error, Error::SharedMemoryCorrupt), "{error:?}");
    }
}

#[test]
fn unwritten_octets_are_zeros() {
    // The tail index announces a whole ring of octets. They are zeros, which is an invalid length.
    let (mut server, mut client) = connected(&Config::default());
    client.rings.as_ref().unwrap().set_invalid_tail(Config::default().shm_ring_octets as u64);
    client.bell.ring().unwrap();
    assert!(matches!(end_of(&mut server, &mut Vec::new()), Error::EmptyPdu));
}

#[test]
fn spurious_wakeups_do_not_keep_the_reader_awake() {
    let (mut server, mut client) = connected(&Config::default());
    let mut scratch = Scratch::new();
    for _ in 0..3 {
        for _ in 0..50 {
            client.bell.ring().unwrap();
        }
        client.bell.fill().unwrap();
        let mut rounds = 0;
        while is_readable(&server) {
            assert_eq!(server.receive(&mut scratch, 1000, &mut |_, _| ()).unwrap(), Received::default());
            rounds += 1;
            assert!(rounds < 10);
        }
    }
    // A real wake-up still wakes the reader.
    client.send(StreamId(0), &[b"wake"], Class::Keep).unwrap();
    client.flush().unwrap();
    assert!(is_readable(&server));
    let mut pdus = Vec::new();
    server.receive(&mut scratch, 1000, &mut |_, pdu: &[u8]| pdus.push(pdu.to_vec())).unwrap();
    assert_eq!(pdus, [b"wake"]);
}

#[test]
fn close_mid_pdu_differs_from_orderly_close() {
    let (mut server, mut client) = connected(&Config::default());
    put_raw(&mut client, &[0, 0, 0, 1, 9, 0, 0, 0, 100, 1, 2, 3]);
    drop(client);
    let mut pdus = Vec::new();
    let error = end_of(&mut server, &mut pdus);
    assert!(matches!(error, Error::ClosedMidPdu { received_octets: 7 }), "{error:?}");
    assert_eq!(pdus, [[9]]);
}

#[test]
fn full_ring_waits_for_the_reader_and_wakes_the_writer() {
    let config = Config { shm_ring_octets: MIN_RING_OCTETS, ..Config::default() };
    let (mut server, mut client) = connected(&config);
    for _ in 0..30 {
        client.send(StreamId(0), &[&[5; 1000]], Class::Keep).unwrap();
    }
    let poll = Poll::new().unwrap();
    poll.add(&client, 0, Interest { read: false, write: true }).unwrap();
    let mut events = Events::new();
    let (mut scratch, mut pdus, mut rounds) = (Scratch::new(), 0, 0);
    while client.flush().unwrap().waiting {
        poll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.get(0).is_none(), "a full ring is not writable");
        while is_readable(&server) {
            pdus += server.receive(&mut scratch, 1 << 20, &mut |_, _| ()).unwrap().pdus;
        }
        poll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.get(0).is_some(), "an empty one is");
        rounds += 1;
    }
    assert!(rounds >= 7, "{rounds}");
    pdus += server.receive(&mut scratch, 1 << 20, &mut |_, _| ()).unwrap().pdus;
    assert_eq!(pdus, 30);
}

#[test]
fn other_listener_is_reported() {
    let error_of = |greet: &dyn Fn(&OwnedFd)| {
        let path = socket_path("other");
        let listener = UnixListener::bind(&path).unwrap();
        let mut link = Link::connect(&Address::Shm(path.clone()), &Config::default()).unwrap();
        assert_eq!(link.state(), State::Connecting);
        let socket = listener.accept().unwrap().0.into();
        greet(&socket);
        drop(socket);
        std::fs::remove_file(path).unwrap();
        match link.finish_connect() {
            Err(Error::Connect { source, .. }) => {
                assert_eq!(link.state(), State::Closed);
                source.to_string()
            }
            other => panic!("{other:?}"),
        }
    };
    let plain = |octets: Vec<u8>| {
        move |socket: &OwnedFd| {
            rustix::io::write(socket, &octets).unwrap();
        }
    };
    let hello = |size: u64| [&HELLO[..], &size.to_le_bytes()].concat();
    assert!(error_of(&|_| ()).contains("connection refused"), "{}", error_of(&|_| ()));
    let message = error_of(&plain(b"220 mail.example ESMTP\r\n".to_vec()));
    assert!(message.contains("not a shared-memory listener"), "{message}");
    assert!(error_of(&plain(HELLO.to_vec())).contains("not a shared-memory listener"));
    for size in [0, 4095, 12288, 1 << 40, u64::MAX] {
        assert!(error_of(&plain(hello(size))).contains("invalid size"), "{size}");
    }
    // The message has no descriptor, as when this process has none left.
    assert!(error_of(&plain(hello(4096))).contains("open files"), "{}", error_of(&plain(hello(4096))));
    let unsealed = error_of(&|socket: &OwnedFd| {
        let memfd = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&memfd, 1 << 20).unwrap();
        let descriptors = [memfd.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        rustix::net::sendmsg(socket, &[IoSlice::new(&hello(4096))], &mut control, SendFlags::empty()).unwrap();
    });
    assert!(unsealed.contains("not a sealed tmpfs file"), "{unsealed}");
}

/// The event loop serves others meanwhile: no call waits for the peer.
#[test]
fn end_that_is_awake_returns_and_stays_readable() {
    let config = Config { shm_spin: Duration::from_secs(3600), ..Config::default() };
    let (mut server, mut client) = connected(&config);
    let mut scratch = Scratch::new();
    let mut heard = Vec::new();
    for number in 0..3_u8 {
        client.send(StreamId(0), &[&[number]], Class::Keep).unwrap();
        client.flush().unwrap();
        for received in [1, 0, 0] {
            assert!(is_readable(&server), "awake");
            let found = server.receive(&mut scratch, 1000, &mut |_, pdu: &[u8]| heard.extend_from_slice(pdu)).unwrap();
            assert_eq!(found.pdus, received);
        }
    }
    assert_eq!(heard, [0, 1, 2]);
    // its end does not wait for the hour
    drop(client);
    assert!(matches!(end_of(&mut server, &mut Vec::new()), Error::Closed));
}

#[test]
fn end_stays_awake_for_its_patience_unless_the_last_wait_was_longer() {
    let begun = Instant::now();
    let at = |ms: u64| begun + Duration::from_millis(ms);
    let mut wakefulness = Wakefulness::new(Duration::from_millis(10));
    wakefulness.read(at(0));
    assert!(wakefulness.stays_awake(at(0)) && wakefulness.stays_awake(at(9)));
    wakefulness.read(at(9));
    assert!(wakefulness.stays_awake(at(9)) && wakefulness.stays_awake(at(18)) && !wakefulness.stays_awake(at(19)));
    // the wait from 9 to 30
    wakefulness.read(at(30));
    assert!(!wakefulness.stays_awake(at(30)) && !wakefulness.stays_awake(at(31)));
    // the wait from 30 to 35
    wakefulness.read(at(35));
    assert!(wakefulness.stays_awake(at(35)));
}
