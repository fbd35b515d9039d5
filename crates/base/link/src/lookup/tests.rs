use std::collections::HashSet;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use super::*;
use crate::{Events, Link, Listener, Poll};

/// A test that waits for that long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(resolver: &Resolver) -> Config {
    Config { resolver: resolver.clone(), ..Config::default() }
}

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn socket(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A poll with a waker.
struct Loop {
    poll: Poll,
    waker: Waker,
}

impl Loop {
    fn new() -> Self {
        let poll = Poll::new().unwrap();
        let waker = Waker::new(&poll, 1).unwrap();
        Loop { poll, waker }
    }

    fn begin(&self, address: &Address, config: &Config) -> Lookup {
        Lookup::begin(address, config, &self.waker)
    }

    /// Waits as an event loop does.
    fn done(&self, lookup: &Lookup) {
        let deadline = Instant::now() + PATIENCE;
        while !lookup.is_done() {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no answer wakes the loop");
            self.poll.wait(&mut Events::new(), Some(left)).unwrap();
        }
    }
}

/// A resolver of which each call waits for one message.
fn held() -> (Resolver, Sender<io::Result<Vec<SocketAddr>>>) {
    let (release, wait) = channel();
    let wait = Mutex::new(wait);
    let resolver = Resolver::new(move |_, _| match wait.lock().unwrap().recv() {
        Ok(result) => result,
        // the test is over
        Err(_) => Ok(vec![socket(1)]),
    });
    (resolver, release)
}

#[test]
fn numeric_hosts_ask_no_resolver() {
    let resolver = Resolver::new(|host, _| panic!("{host} is looked up"));
    let events = Loop::new();
    for text in ["tcp://127.0.0.1:1", "tcp://[::1]:1", "sctp://127.0.0.1,127.0.0.2:1", "unix:/run/x", "memory:x"] {
        let lookup = events.begin(&address(text), &config(&resolver));
        assert!(lookup.is_done(), "{text}");
        let resolved = lookup.finish().unwrap();
        assert_eq!(resolved.address(), &address(text));
        assert_eq!(resolved.sockets.len(), hosts_of(&address(text)).count());
    }
    // an interface that does not exist has no address, which takes no name server either
    assert!(events.begin(&address("tcp://[fe80::1%nosuch0]:1"), &config(&resolver)).is_done());
}

#[test]
fn name_is_looked_up_beside_the_loop_and_connected_to() {
    let mut listener = Listener::bind(&address("tcp://127.0.0.1:0"), &Config::default()).unwrap();
    let Address::Tcp { port, .. } = *listener.local_address() else { panic!("TCP") };
    let (resolver, release) = held();
    let (events, config) = (Loop::new(), config(&resolver));
    let lookup = events.begin(&Address::Tcp { host: "ric.test".into(), port }, &config);
    assert!(!lookup.is_done());
    release.send(Ok(vec![socket(port)])).unwrap();
    events.done(&lookup);
    let mut link = Link::connect_resolved(lookup.finish().unwrap(), &config).unwrap();
    assert_eq!(link.peer().to_string(), format!("tcp://ric.test:{port}"));
    let deadline = Instant::now() + PATIENCE;
    while link.finish_connect().unwrap() != crate::State::Established {
        assert!(Instant::now() < deadline, "the link is not established");
    }
    assert!(listener.accept().unwrap().is_some());
}

#[test]
fn failed_or_late_lookup_has_the_last_addresses() {
    let (resolver, release) = held();
    let (events, config, ric) = (Loop::new(), config(&resolver), address("tcp://ric.test:7"));
    let fails = || io::Error::new(io::ErrorKind::NotFound, "no such name");

    // without earlier addresses there is an error
    let lookup = events.begin(&ric, &config);
    release.send(Err(fails())).unwrap();
    events.done(&lookup);
    let error = lookup.finish().unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot connect to tcp://ric.test:7: the host name `ric.test` is not resolved: no such name; check the name, DNS and /etc/hosts"
    );
    let lookup = events.begin(&ric, &config);
    release.send(Ok(Vec::new())).unwrap();
    events.done(&lookup);
    assert!(lookup.finish().unwrap_err().to_string().contains("the name has no address"));

    let lookup = events.begin(&ric, &config);
    release.send(Ok(vec![socket(7)])).unwrap();
    events.done(&lookup);
    let resolved = lookup.finish().unwrap();
    assert!(resolved.outdated().is_empty());

    let lookup = events.begin(&ric, &config);
    release.send(Err(fails())).unwrap();
    events.done(&lookup);
    let resolved = lookup.finish().unwrap();
    assert_eq!(resolved.sockets, [socket(7)]);
    assert_eq!(resolved.outdated()[0].host, "ric.test");
    assert_eq!(resolved.outdated()[0].error.to_string(), "no such name");

    // the loop gives up, and the result of the thread serves the next attempt
    let lookup = events.begin(&ric, &config);
    let resolved = lookup.finish().unwrap();
    assert_eq!(resolved.sockets, [socket(7)]);
    assert_eq!(resolved.outdated()[0].error.kind(), io::ErrorKind::TimedOut);
    let next = events.begin(&ric, &config);
    release.send(Ok(vec![socket(8)])).unwrap();
    events.done(&next);
    assert_eq!(next.finish().unwrap().sockets, [socket(8)]);
}

#[test]
fn name_that_hangs_does_not_delay_others_and_is_asked_once() {
    let (release, wait) = channel::<()>();
    let (wait, asked) = (Mutex::new(wait), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&asked);
    let resolver = Resolver::new(move |host, port| {
        log.lock().unwrap().push(host.to_owned());
        if host == "hangs.test" {
            let _ = wait.lock().unwrap().recv();
        }
        Ok(vec![socket(port)])
    });
    let (events, config) = (Loop::new(), config(&resolver));
    let hangs: Vec<_> = (0..100).map(|_| events.begin(&address("tcp://hangs.test:1"), &config)).collect();
    for number in 0..100 {
        let lookup = events.begin(&address(&format!("tcp://h{number}.test:1")), &config);
        events.done(&lookup);
        lookup.finish().unwrap();
    }
    assert!(hangs.iter().all(|lookup| !lookup.is_done()));
    drop(release);
    hangs.iter().for_each(|lookup| events.done(lookup));
    let asked = asked.lock().unwrap();
    assert_eq!(asked.iter().filter(|host| *host == "hangs.test").count(), 1);
}

#[test]
fn threads_and_queue_are_bounded() {
    let (release, wait) = channel::<()>();
    let (wait, threads) = (Mutex::new(wait), Arc::new(Mutex::new(HashSet::new())));
    let seen = Arc::clone(&threads);
    let resolver = Resolver::new(move |_, port| {
        seen.lock().unwrap().insert(std::thread::current().id());
        let _ = wait.lock().unwrap().recv();
        Ok(vec![socket(port)])
    });
    let (events, config) = (Loop::new(), config(&resolver));
    let names = MAX_QUEUED + MAX_THREADS + 8;
    let lookups: Vec<_> =
        (0..names).map(|number| events.begin(&address(&format!("tcp://h{number}.test:1")), &config)).collect();
    // how many the threads have taken by then depends on the host
    let refused = lookups.iter().filter(|lookup| lookup.is_done()).count();
    assert!((8..=8 + MAX_THREADS).contains(&refused), "{refused}");
    let last = lookups.into_iter().next_back().unwrap();
    assert!(last.finish().unwrap_err().to_string().contains("256 other names wait to be looked up"));
    drop(release);
    let lookup = events.begin(&address("tcp://h0.test:1"), &config);
    events.done(&lookup);
    assert!(threads.lock().unwrap().len() <= MAX_THREADS);
    assert!(resolver.0.state().threads <= MAX_THREADS);
}

#[test]
fn threads_leave_signals_to_the_program() {
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let resolver = Resolver::new(move |_, port| {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        sender.lock().unwrap().send(status).unwrap();
        Ok(vec![socket(port)])
    });
    let events = Loop::new();
    let _lookup = events.begin(&address("tcp://ric.test:1"), &config(&resolver));
    let status = receiver.recv_timeout(PATIENCE).unwrap();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
    // SIGTERM is 15, the first signal is bit 0
    assert_ne!(u64::from_str_radix(blocked, 16).unwrap() & (1 << 14), 0, "{blocked}");
}

#[test]
fn remembered_names_are_bounded() {
    let resolver = Resolver::new(|_, port| Ok(vec![socket(port)]));
    for number in 0..MAX_REMEMBERED + 10 {
        resolver.resolve_now(&format!("h{number}.test"), 1).unwrap();
    }
    assert_eq!(resolver.0.state().remembered.len(), MAX_REMEMBERED);
}

#[test]
fn resolver_that_panics_fails_one_lookup() {
    let resolver = Resolver::new(|host, port| {
        assert_ne!(host, "bad.test");
        Ok(vec![socket(port)])
    });
    let (events, config) = (Loop::new(), config(&resolver));
    for _ in 0..2 * MAX_THREADS {
        let lookup = events.begin(&address("tcp://bad.test:1"), &config);
        events.done(&lookup);
        assert!(lookup.finish().unwrap_err().to_string().contains("the resolver has panicked"));
    }
    let lookup = events.begin(&address("tcp://good.test:1"), &config);
    events.done(&lookup);
    assert_eq!(lookup.finish().unwrap().sockets, [socket(1)]);
}
