//! TCP, Unix sockets and shared memory, side by side: `cargo bench -p ferric-link`.
//!
//! Each end has an epoll of its own, in which it sleeps whenever there is nothing to do: the wake-up policy is the same for
//! all links, except in the rows that say how long they spin first.
//!
//! - *CPU*: a burst of 32 PDUs is sent and flushed once, then waited for and received, on one thread: processor time a PDU,
//!   of both ends and of the kernel.
//! - *echo*: a PDU goes to another thread and back, 20 us after the last came back, each on its processor: round trip,
//!   half of all and 99 of 100.

use std::time::{Duration, Instant};

use ferric_link::{Address, Class, Config, Events, Interest, Link, Listener, Poll, Scratch, State, StreamId};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

const BURST: usize = 32;
const PDUS: usize = 100_000;
const PAUSE: Duration = Duration::from_micros(20);
const ECHOES: usize = 20_000;

fn main() {
    let path = |name: &str| std::env::temp_dir().join(format!("ferric-link-bench-{}-{name}", std::process::id()));
    let spinning = Config { shm_spin: Duration::from_micros(50), ..Config::default() };
    let links = [
        ("tcp", Config::default()),
        ("unix", Config::default()),
        ("shm", Config::default()),
        ("shm, spins 50 us", spinning),
    ];
    println!("{:18} {:>6}  {:>10}  {:>11} {:>6}", "link", "octets", "CPU ns/PDU", "echo p50 us", "p99");
    for octets in [100, 1500, 4300] {
        for (name, config) in &links {
            let address = || match *name {
                "tcp" => "tcp://127.0.0.1:0".parse().expect("a URL"),
                "unix" => Address::Unix(path("unix")),
                _ => Address::Shm(path("shm")),
            };
            let cpu_ns = (0..5).map(|_| batched_ns(&address(), config, octets)).min().expect("five runs");
            let (p50_ns, p99_ns) = echo(&address(), config, octets);
            println!("{name:18} {octets:6}  {cpu_ns:10}  {:11.1} {:6.1}", p50_ns as f64 / 1e3, p99_ns as f64 / 1e3);
        }
    }
}

/// One end of a link, with what it takes to wait for it.
struct End {
    link: Link,
    poll: Poll,
    events: Events,
    scratch: Scratch,
    wants_write: bool,
}

impl End {
    fn new(link: Link) -> End {
        let poll = Poll::new().expect("an epoll");
        poll.add(&link, 0, Interest::READ).expect("a descriptor");
        End { link, poll, events: Events::new(), scratch: Scratch::new(), wants_write: false }
    }

    fn wait(&mut self) {
        let wants_write = self.link.wants_write();
        if wants_write != self.wants_write {
            self.wants_write = wants_write;
            let interest = if wants_write { Interest::READ_WRITE } else { Interest::READ };
            self.poll.modify(&self.link, 0, interest).expect("a descriptor");
        }
        self.poll.wait(&mut self.events, None).expect("a wait");
    }

    fn receive(&mut self, mut sink: impl FnMut(&[u8])) -> bool {
        self.link.receive(&mut self.scratch, 256 * 1024, &mut |_, pdu: &[u8]| sink(pdu)).is_ok()
    }
}

fn pair(address: &Address, config: &Config) -> (End, End) {
    let mut listener = Listener::bind(address, config).expect("a listener");
    let mut link = Link::connect(listener.local_address(), config).expect("a connection");
    let server = loop {
        match listener.accept().expect("a listener") {
            Some(link) => break link,
            None => std::thread::yield_now(),
        }
    };
    while link.finish_connect().expect("a connection") != State::Established {
        std::thread::yield_now();
    }
    (End::new(link), End::new(server))
}

/// Processor time a PDU: one thread is both ends, a burst at a time, so that nothing else is in it.
fn batched_ns(address: &Address, config: &Config, octets: usize) -> u64 {
    let (mut client, mut server) = pair(address, config);
    let pdu = vec![7; octets];
    let begun = clock_gettime(ClockId::ThreadCPUTime);
    for _ in 0..PDUS / BURST {
        for _ in 0..BURST {
            client.link.send(StreamId(0), &[&pdu], Class::Report).expect("a peer");
        }
        client.link.flush().expect("a peer");
        let mut got = 0;
        while got < BURST {
            server.wait();
            server.receive(|pdu| got += usize::from(std::hint::black_box(pdu)[0] == 7));
        }
    }
    let spent = clock_gettime(ClockId::ThreadCPUTime) - begun;
    (spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64) / PDUS as u64
}

/// Keeps the thread on one processor, so that the system does not put both ends on the same.
fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    // On a machine with one processor there is no other.
    let _ = sched_setaffinity(None, &set);
}

fn echo(address: &Address, config: &Config, octets: usize) -> (u64, u64) {
    let (mut end, mut server) = pair(address, config);
    pin(0);
    std::thread::spawn(move || {
        pin(1);
        let end = &mut server;
        let mut answer = Vec::new();
        loop {
            end.wait();
            if !end.receive(|pdu| answer.extend_from_slice(pdu)) {
                return;
            }
            if !answer.is_empty() {
                end.link.send(StreamId(0), &[&answer], Class::Keep).expect("room");
                end.link.flush().expect("a peer");
                answer.clear();
            }
        }
    });
    let pdu = vec![7; octets];
    let mut times = Vec::with_capacity(ECHOES);
    for _ in 0..ECHOES {
        let pause = Instant::now();
        while pause.elapsed() < PAUSE {
            std::hint::spin_loop();
        }
        let begun = Instant::now();
        end.link.send(StreamId(0), &[&pdu], Class::Keep).expect("room");
        end.link.flush().expect("a peer");
        let mut got = 0;
        while got < octets {
            end.wait();
            end.receive(|pdu| got += pdu.len());
        }
        times.push(begun.elapsed().as_nanos() as u64);
    }
    times.sort_unstable();
    (times[ECHOES / 2], times[ECHOES * 99 / 100])
}
