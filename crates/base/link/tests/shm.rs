//! Shared memory between processes, and between concurrent threads.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ferric_link::{Address, Class, Config, Error, Events, Interest, Link, Listener, Poll, Scratch, State, StreamId};

const PATIENCE: Duration = Duration::from_secs(60);
/// The role of the child, `write` or `idle`, and the path of the socket.
const CHILD: &str = "FERRIC_LINK_SHM_CHILD";

fn socket_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ferric-link-shm-{}-{name}", std::process::id()))
}

fn wait(link: &impl std::os::fd::AsFd, interest: Interest) {
    let poll = Poll::new().unwrap();
    poll.add(link, 0, interest).unwrap();
    let mut events = Events::new();
    poll.wait(&mut events, Some(PATIENCE)).unwrap();
    assert!(events.get(0).is_some(), "no further event");
}

fn interest(link: &Link) -> Interest {
    if link.wants_write() { Interest::READ_WRITE } else { Interest::READ }
}

fn established(address: &Address, config: &Config) -> Link {
    let mut link = Link::connect(address, config).unwrap();
    while link.finish_connect().unwrap() == State::Connecting {
        wait(&link, Interest::READ_WRITE);
    }
    link
}

/// Not a test, but the other process if `CHILD` is set.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let (what, path) = order.split_once(' ').unwrap();
    let mut link = established(&Address::Shm(path.into()), &Config::default());
    match what {
        "write" => {
            for number in 0_u32.. {
                let length = 4 + number as usize * 37 % 9000;
                let mut pdu = vec![number.to_le_bytes()[0]; length];
                pdu[..4].copy_from_slice(&number.to_be_bytes());
                while link.send(StreamId(0), &[&pdu], Class::Keep).is_err() {
                    wait(&link, Interest::READ_WRITE);
                    link.flush().unwrap();
                }
                link.flush().unwrap();
            }
        }
        _ => std::thread::sleep(Duration::from_secs(60)),
    }
}

fn spawn(what: &str, path: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child"])
        .env(CHILD, format!("{what} {}", path.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_writer_is_detected_and_leaves_whole_pdus() {
    for pdus_before in [0, 1, 100, 5000] {
        let path = socket_path(&format!("killed-{pdus_before}"));
        let mut listener = Listener::bind(&Address::Shm(path.clone()), &Config::default()).unwrap();
        let mut child = spawn("write", &path);
        wait(&listener, Interest::READ);
        let mut server = listener.accept().unwrap().unwrap();
        let mut scratch = Scratch::new();
        let (mut next, mut is_killed) = (0_u32, false);
        let error = loop {
            if next >= pdus_before && !is_killed {
                child.kill().unwrap();
                is_killed = true;
            }
            wait(&server, Interest::READ);
            let received = server.receive(&mut scratch, 100_000, &mut |_, pdu: &[u8]| {
                assert_eq!(u32::from_be_bytes(*pdu.first_chunk().unwrap()), next);
                assert_eq!(pdu.len(), 4 + next as usize * 37 % 9000);
                assert!(pdu[4..].iter().all(|octet| *octet == next.to_le_bytes()[0]), "torn");
                next += 1;
            });
            match received {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(is_killed);
        child.wait().unwrap();
        assert!(matches!(error, Error::Closed | Error::ClosedMidPdu { .. }), "{error:?}");
        assert!(next >= pdus_before);
    }
}

#[test]
fn killed_reader_is_detected_by_a_waiting_writer() {
    let path = socket_path("reader");
    let mut listener = Listener::bind(&Address::Shm(path.clone()), &Config::default()).unwrap();
    let mut child = spawn("idle", &path);
    wait(&listener, Interest::READ);
    let mut server = listener.accept().unwrap().unwrap();
    while server.send(StreamId(0), &[&[1; 5000]], Class::Keep).is_ok() {
        server.flush().unwrap();
    }
    assert!(server.wants_write());
    // After the child has read the octets with which it filled its socket, there are no events.
    let mut scratch = Scratch::new();
    server.receive(&mut scratch, 1000, &mut |_, _| panic!("the child sends nothing")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    wait(&server, Interest::READ_WRITE);
    let error = server.flush().unwrap_err();
    assert!(matches!(error, Error::Lost(_)), "{error:?}");
    let error = server.receive(&mut scratch, 1000, &mut |_, _| ()).unwrap_err();
    assert!(matches!(error, Error::Closed | Error::Lost(_)), "{error:?}");
}

#[test]
fn pdus_before_the_close_are_delivered() {
    let address = Address::Shm(socket_path("went"));
    let mut listener = Listener::bind(&address, &Config::default()).unwrap();
    let theirs = address.clone();
    let peer = std::thread::spawn(move || {
        let mut link = established(&theirs, &Config::default());
        link.send(StreamId(0), &[b"last words"], Class::Keep).unwrap();
        link.flush().unwrap();
    });
    wait(&listener, Interest::READ);
    let mut server = listener.accept().unwrap().unwrap();
    peer.join().unwrap();
    let (mut scratch, mut heard) = (Scratch::new(), Vec::new());
    // an event loop writes before it reads; there is nothing to write
    let flushed = server.flush().unwrap();
    assert!(flushed.octets == 0 && !flushed.waiting, "{flushed:?}");
    let closed = loop {
        wait(&server, Interest::READ);
        match server.receive(&mut scratch, 1000, &mut |_, pdu: &[u8]| heard.push(pdu.to_vec())) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(heard, [b"last words"]);
    assert!(matches!(closed, Error::Closed), "{closed:?}");
    let error = server.send(StreamId(0), &[b"too late"], Class::Keep).unwrap_err();
    assert!(matches!(error, Error::Closed), "{error:?}");
}

/// Two threads write and read without pause, through rings that are always full or empty, with small budgets. A lost wake-up
/// would stop both.
#[test]
fn no_wakeup_is_lost() {
    const PDUS: u32 = 40_000;
    for (name, ring, spin) in [("small", 4096, 0), ("large", 65_536, 0), ("spinning", 16_384, 20)] {
        let config = Config {
            shm_ring_octets: ring,
            shm_spin: Duration::from_micros(spin),
            outbox_octets: 40_000,
            ..Config::default()
        };
        let address = Address::Shm(socket_path(name));
        let mut listener = Listener::bind(&address, &config).unwrap();
        let theirs = config.clone();
        let peer = std::thread::spawn(move || exchange(established(&address, &theirs), 777));
        wait(&listener, Interest::READ);
        exchange(listener.accept().unwrap().unwrap(), 1 << 17);
        peer.join().unwrap();
    }

    fn exchange(mut link: Link, budget_octets: usize) {
        let mut scratch = Scratch::new();
        let (mut sent, mut got) = (0, 0);
        let begun = Instant::now();
        while got < PDUS || sent < PDUS || link.wants_write() {
            assert!(begun.elapsed() < PATIENCE, "{sent} sent, {got} received");
            let burst = sent % 23;
            for _ in 0..burst + 1 {
                let length = 4 + sent as usize * 13 % 700;
                let head = sent.to_be_bytes();
                if sent == PDUS || link.send(StreamId(0), &[&head, &[7; 700][..length - 4]], Class::Keep).is_err() {
                    break;
                }
                sent += 1;
            }
            link.flush().unwrap();
            if sent == PDUS || link.wants_write() {
                wait(&link, interest(&link));
            }
            let received = link.receive(&mut scratch, budget_octets, &mut |_, pdu: &[u8]| {
                assert_eq!(u32::from_be_bytes(*pdu.first_chunk().unwrap()), got);
                assert_eq!(pdu.len(), 4 + got as usize * 13 % 700);
                got += 1;
            });
            match received {
                Ok(_) => {}
                // Both directions are complete, and the other end closed first.
                Err(Error::Closed) if (sent, got) == (PDUS, PDUS) => break,
                Err(error) => panic!("{error}: {sent} sent, {got} received"),
            }
        }
        // The other end may still be reading.
        link.close();
    }
}
