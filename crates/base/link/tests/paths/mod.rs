//! Two hosts with two networks between them: first one network fails, then the other. The hosts are network namespaces in the
//! guest of `kernel-sctp/run`; outside of it, the test would change the network of the host.

use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ferric_link::{
    Address, Class, Config, Events, Interest, Link, Listener, PathEvent, Poll, Scratch, State, StreamId,
};

const PATIENCE: Duration = Duration::from_secs(60);
/// The program that changes the network of the guest.
const BUSYBOX: &str = "FERRIC_GUEST_BUSYBOX";
/// Set in the child process, which is the far host.
const CHILD: &str = "FERRIC_LINK_FAR_HOST";

const FAR: &str = "sctp://10.99.0.2,10.99.1.2:36421";
const FAR_PATHS: [[u8; 4]; 2] = [[10, 99, 0, 2], [10, 99, 1, 2]];

fn busybox() -> Option<Command> {
    std::env::var_os(BUSYBOX).map(Command::new)
}

/// Runs `ip` in the namespace of this process.
fn ip(arguments: &str) -> bool {
    let mut command = busybox().unwrap();
    command.arg("ip").args(arguments.split(' ')).stderr(Stdio::null());
    command.status().unwrap().success()
}

/// Configures this end of both networks when its interfaces exist. An association detects a dead path in a second.
fn set_up_network(host: u8, interface: &str) {
    for (setting, value) in [
        ("rto_initial", 200),
        ("rto_min", 100),
        ("rto_max", 400),
        ("path_max_retrans", 2),
        ("association_max_retrans", 40),
        ("hb_interval", 200),
    ] {
        std::fs::write(format!("/proc/sys/net/sctp/{setting}"), value.to_string()).unwrap();
    }
    let begun = Instant::now();
    for network in 0..2 {
        while !ip(&format!("addr add 10.99.{network}.{host}/24 dev {interface}{network}")) {
            assert!(begun.elapsed() < PATIENCE, "{interface}{network} does not appear");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(ip(&format!("link set {interface}{network} up")));
    }
}

/// Not a test, but the far host if `CHILD` is set: it echoes PDUs until its peer closes.
#[test]
fn far_host() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    set_up_network(2, "veth");
    let mut listener = Listener::bind(&FAR.parse().unwrap(), &Config::default()).unwrap();
    wait(&listener, Interest::READ);
    let mut link = listener.accept().unwrap().unwrap();
    let mut scratch = Scratch::new();
    let mut echoes = Vec::new();
    loop {
        wait(&link, interest(&link));
        if link.receive(&mut scratch, 1 << 16, &mut |_, pdu: &[u8]| echoes.push(pdu.to_vec())).is_err() {
            return;
        }
        for echo in echoes.drain(..) {
            link.send(StreamId(0), &[&echo], Class::Keep).unwrap();
        }
        link.flush().unwrap();
    }
}

fn interest(link: &Link) -> Interest {
    if link.wants_write() { Interest::READ_WRITE } else { Interest::READ }
}

fn wait(source: &impl std::os::fd::AsFd, interest: Interest) {
    let poll = Poll::new().unwrap();
    poll.add(source, 0, interest).unwrap();
    let mut events = Events::new();
    poll.wait(&mut events, Some(PATIENCE)).unwrap();
    assert!(events.get(0).is_some(), "no further event");
}

struct FarHost(Child);

impl Drop for FarHost {
    fn drop(&mut self) {
        // it may have ended
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The near end, which sends a PDU every few milliseconds and counts the echoed ones.
struct Near {
    link: Link,
    poll: Poll,
    scratch: Scratch,
    sent: u32,
    got: u32,
    events: Vec<PathEvent>,
}

impl Near {
    /// Sends and receives until `done`.
    fn traffic(&mut self, what: &str, mut done: impl FnMut(&Near) -> bool) {
        let begun = Instant::now();
        while !done(self) {
            assert!(begun.elapsed() < PATIENCE, "{what}: {} of {}, {:?}", self.got, self.sent, self.events);
            self.link.send(StreamId(0), &[&self.sent.to_be_bytes(), &[7; 300]], Class::Keep).unwrap();
            self.sent += 1;
            self.exchange(Duration::from_millis(5));
        }
    }

    fn exchange(&mut self, patience: Duration) {
        self.link.flush().unwrap();
        self.poll.modify(&self.link, 0, interest(&self.link)).unwrap();
        let mut events = Events::new();
        self.poll.wait(&mut events, Some(patience)).unwrap();
        if events.get(0).is_some_and(|event| event.readable) {
            let got = &mut self.got;
            let received = self.link.receive(&mut self.scratch, 1 << 16, &mut |_, pdu: &[u8]| {
                assert_eq!(u32::from_be_bytes(*pdu.first_chunk().unwrap()), *got, "in order, each once");
                assert_eq!(pdu.len(), 304);
                *got += 1;
            });
            received.unwrap();
        }
        self.events.extend(std::iter::from_fn(|| self.link.poll_path_event()));
    }

    /// Checks that all PDUs are echoed, over any path.
    fn everything_arrives(&mut self) {
        let begun = Instant::now();
        while self.got < self.sent {
            assert!(begun.elapsed() < PATIENCE, "{} of {}", self.got, self.sent);
            self.exchange(Duration::from_millis(50));
        }
    }
}

#[test]
fn association_survives_the_loss_of_either_path() {
    if !super::has_sctp() {
        return;
    }
    if busybox().is_none() {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "\nloss of an SCTP path NOT TESTED: it requires a network that the test may interrupt; \
             FERRIC_SCTP_GUEST=1 kernel-sctp/run has one"
        );
        return;
    }
    let far = busybox()
        .unwrap()
        .args(["unshare", "-n"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "paths::far_host", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .spawn();
    let far = FarHost(far.unwrap());
    for network in 0..2 {
        // With busybox, the kernel names the other end: veth0, veth1.
        assert!(ip(&format!("link add near{network} type veth")), "no veth");
    }
    // Busybox executes the program in the same process, so the process id is that of the far host. Its namespace may appear later.
    let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
    let begun = Instant::now();
    while std::fs::read_link(format!("/proc/{}/ns/net", far.0.id())).unwrap() == ours {
        assert!(begun.elapsed() < PATIENCE, "the far host has no network of its own");
        std::thread::sleep(Duration::from_millis(5));
    }
    for network in 0..2 {
        assert!(ip(&format!("link set veth{network} netns {}", far.0.id())));
    }
    set_up_network(1, "near");

    let address: Address = FAR.parse().unwrap();
    let begun = Instant::now();
    // The far host may not listen yet.
    let link = loop {
        let mut link = Link::connect(&address, &Config::default()).unwrap();
        wait(&link, Interest::READ_WRITE);
        if let Ok(State::Established) = link.finish_connect() {
            break link;
        }
        assert!(begun.elapsed() < PATIENCE, "the far host does not listen");
        std::thread::sleep(Duration::from_millis(50));
    };
    let poll = Poll::new().unwrap();
    poll.add(&link, 0, Interest::READ).unwrap();
    let mut near = Near { link, poll, scratch: Scratch::new(), sent: 0, got: 0, events: Vec::new() };
    let [first, second] = FAR_PATHS.map(IpAddr::from);
    let reported = |event: PathEvent| move |near: &Near| near.events.contains(&event);
    near.traffic("traffic", |near| near.got > 50);

    // The first path, which is in use, fails while PDUs are in transit.
    near.events.clear();
    assert!(ip("link set near0 down"));
    near.traffic("the loss of the first path", reported(PathEvent::Unreachable(first)));
    let sent = near.sent;
    near.traffic("traffic on the second path", |near| near.got > sent + 50);

    // It recovers, then the second one fails.
    near.events.clear();
    assert!(ip("link set near0 up"));
    near.traffic("the return of the first path", reported(PathEvent::Reachable(first)));
    near.events.clear();
    assert!(ip("link set near1 down"));
    near.traffic("the loss of the second path", reported(PathEvent::Unreachable(second)));
    let sent = near.sent;
    near.traffic("traffic on the first path", |near| near.got > sent + 50);

    near.everything_arrives();
    assert_eq!(near.link.state(), State::Established);
    assert!(!near.events.contains(&PathEvent::Restarted), "it is the same association all the time");
    assert_eq!((near.got, near.link.dropped_reports()), (near.sent, 0));
    near.link.close();
}
