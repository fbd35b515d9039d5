//! A peer with one defect: a sound peer behind a proxy that alters its messages.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use conform::report::Report;
use conform::{Config, Outcome};
use e2ap::{Cause, CauseMisc, ErrorIndication, Pdu, Version};
use ferric::link::{Address, Class, Config as LinkConfig, Link, Listener, Scratch, StreamId};
use testkit::Background;

/// What a proxy does with a message.
pub struct Wire {
    pub version: Version,
    /// Octets to the checking end.
    pub to_checker: Vec<Vec<u8>>,
    /// Octets to the sound peer.
    pub to_peer: Vec<Vec<u8>>,
}

impl Wire {
    /// Sends a message to the checking end.
    pub fn tell<'a>(&mut self, pdu: impl Into<Pdu<'a>>) {
        let mut octets = Vec::new();
        pdu.into().encode(self.version, &mut octets).unwrap();
        self.to_checker.push(octets);
    }

    /// Sends an Error Indication that belongs to nothing.
    pub fn complain(&mut self) {
        self.tell(ErrorIndication {
            transaction_id: None,
            request_id: None,
            ran_function_id: None,
            cause: Some(Cause::Misc(CauseMisc::Unspecified)),
            criticality_diagnostics: None,
        });
    }
}

/// The messages of both ends: the one of the peer under test, and the one of the checking end. What cannot be decoded is `None`.
pub enum Seen<'s> {
    Peer(Option<&'s Pdu<'static>>),
    Checker(Option<&'s Pdu<'static>>),
}

/// A defect. It returns whether the message itself is passed on.
pub type Defect = Box<dyn FnMut(Seen<'_>, &mut Wire) -> bool + Send>;

type Stop = Box<dyn Fn() + Send + Sync>;

pub struct Proxy {
    pub address: Address,
    _thread: Background<Stop>,
}

/// Which end connects to the proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Checker,
    Peer,
}

fn decoded(octets: &[u8], version: Version) -> Option<Pdu<'static>> {
    let gather = Default::default();
    e2ap::decode(octets, version, &gather).ok().map(|decoded| decoded.pdu.into_owned())
}

/// The PDUs that have arrived on a link; `None` when it has ended.
fn arrived(link: &mut Link, scratch: &mut Scratch) -> Option<Vec<Vec<u8>>> {
    let mut pdus = Vec::new();
    let received = link.receive(scratch, 1 << 20, &mut |_, pdu: &[u8]| pdus.push(pdu.to_vec()));
    match received {
        Ok(_) => Some(pdus),
        Err(_) if !pdus.is_empty() => Some(pdus),
        Err(_) => None,
    }
}

impl Proxy {
    /// Listens at `address`, and passes each connection on to `target`. `connecting` is the end that connects.
    pub fn start(address: Address, target: Address, connecting: Side, version: Version, mut defect: Defect) -> Proxy {
        let listen_at = address.clone();
        let ((), thread) = Background::start(move |ready| {
            let config = LinkConfig::default();
            let mut listener = Listener::bind(&listen_at, &config).unwrap();
            let (stop, stopped) = mpsc::channel::<()>();
            let stop = std::sync::Mutex::new(Some(stop));
            let stop: Stop = Box::new(move || drop(stop.lock().unwrap().take()));
            ready.send(((), stop)).unwrap();
            let mut scratch = Scratch::new();
            let mut open: Vec<(Link, Link)> = Vec::new();
            while stopped.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
                if let Ok(Some(near)) = listener.accept()
                    && let Ok(far) = Link::connect(&target, &config)
                {
                    open.push((near, far));
                }
                open.retain_mut(|(near, far)| {
                    let (checker, peer) = if connecting == Side::Checker { (near, far) } else { (far, near) };
                    pass(checker, peer, &mut scratch, version, &mut defect)
                });
                // links are polled in turn: their number is small, and no test depends on the delay
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Proxy { address, _thread: thread }
    }
}

/// Passes on what has arrived. Returns whether both links are open.
fn pass(checker: &mut Link, peer: &mut Link, scratch: &mut Scratch, version: Version, defect: &mut Defect) -> bool {
    let (Some(of_checker), Some(of_peer)) = (arrived(checker, scratch), arrived(peer, scratch)) else { return false };
    let mut wire = Wire { version, to_checker: Vec::new(), to_peer: Vec::new() };
    for octets in of_checker {
        let message = decoded(&octets, version);
        if defect(Seen::Checker(message.as_ref()), &mut wire) {
            wire.to_peer.push(octets);
        }
    }
    for octets in of_peer {
        let message = decoded(&octets, version);
        let at = wire.to_checker.len();
        if defect(Seen::Peer(message.as_ref()), &mut wire) {
            // before what the defect adds
            wire.to_checker.insert(at, octets);
        }
    }
    let send = |link: &mut Link, pdus: Vec<Vec<u8>>| {
        let sent = pdus.iter().all(|pdu| link.send(StreamId(0), &[pdu], Class::Keep).is_ok());
        sent && link.flush().is_ok()
    };
    send(checker, wire.to_checker) && send(peer, wire.to_peer)
}

/// A defect of one message of the peer: it is altered.
pub fn alter(mut change: impl FnMut(&mut Pdu<'static>) + Send + 'static) -> Defect {
    Box::new(move |seen, wire| {
        if let Seen::Peer(Some(message)) = seen {
            let mut changed = message.clone();
            change(&mut changed);
            if changed != *message {
                wire.tell(changed);
                return false;
            }
        }
        true
    })
}

/// A defect of one message of the peer: another one comes in its place.
pub fn replace(instead: impl Fn(&Pdu<'static>) -> Option<Pdu<'static>> + Send + 'static) -> Defect {
    Box::new(move |seen, wire| {
        if let Seen::Peer(Some(message)) = seen
            && let Some(other) = instead(message)
        {
            wire.tell(other);
            return false;
        }
        true
    })
}

/// A defect after a message of the checking end: the peer adds something.
pub fn react(mut reaction: impl FnMut(Option<&Pdu<'static>>, &mut Wire) + Send + 'static) -> Defect {
    Box::new(move |seen, wire| {
        if let Seen::Checker(message) = seen {
            reaction(message, wire);
        }
        true
    })
}

/// The peer answers the message of that name by an Error Indication, besides what it does.
pub fn complain_about(name: &'static str) -> Defect {
    react(move |message, wire| {
        if message.is_some_and(|message| message.name() == name) {
            wire.complain();
        }
    })
}

/// The peer answers what cannot be decoded.
pub fn complain_about_undecodable() -> Defect {
    react(|message, wire| {
        if message.is_none() {
            wire.complain();
        }
    })
}

/// Fails unless the only check failed for a reason that contains `reason`.
pub fn failed_for(report: &Report, id: &str, reason: &str) -> Result<(), String> {
    let [check] = &report.checks[..] else { return Err(format!("{id}: {} checks ran", report.checks.len())) };
    let text = check.reason.as_deref().unwrap_or_default();
    match check.outcome {
        Outcome::Fail if text.contains(reason) => Ok(()),
        outcome => Err(format!("{id}: {outcome}, `{text}` instead of a failure with `{reason}`")),
    }
}

/// Runs one check.
pub fn run_one(config: &mut Config, id: &str, stimulus: &mut dyn conform::Stimulus) -> Report {
    config.only = vec![id.to_owned()];
    config.hostile = true;
    let began = Instant::now();
    let report = conform::run(config, stimulus, &mut |_: &_, _| (), None).unwrap();
    assert!(began.elapsed() < Duration::from_secs(120), "{id}");
    report
}
