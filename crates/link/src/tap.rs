//! Looking on: what crosses links, shown to somebody else, such as a recorder.

use std::fmt;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::{Address, StreamId};

/// Which way a PDU goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the peer: it is in the outbox.
    Sent,
    /// From the peer.
    Received,
}

/// The two ends of a link, as [`Watch`] is told of them.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// What was connected to, or where the connection came from.
    pub peer: &'a Address,
    /// Our own end, where it has an address: Unix and memory links have none.
    pub local: Option<SocketAddr>,
    /// Whether the peer connected to us.
    pub accepted: bool,
    /// What the configuration says that our PDUs are on SCTP.
    pub ppid: crate::Ppid,
}

/// Somebody who looks on. Called from the loop that owns the link: it must not block.
pub trait Watch: Send + Sync {
    /// A link begins; what comes back names it from then on.
    fn begin(&self, ends: Ends<'_>) -> u64;

    /// One whole PDU, in parts. One that is sent has been put into the outbox; should it be a report, it may still be
    /// dropped there, when the peer reads slowly.
    fn pdu(&self, link: u64, direction: Direction, stream: StreamId, parts: &[&[u8]]);

    /// The link is gone.
    fn end(&self, link: u64);
}

/// Lets somebody look on at links: see [`Config::tap`](crate::Config::tap).
#[derive(Clone)]
pub struct Tap(Arc<dyn Watch>);

impl Tap {
    /// Shows what crosses links to `watch`.
    pub fn new(watch: Arc<dyn Watch>) -> Self {
        Tap(watch)
    }
}

/// The same onlooker, or not.
impl PartialEq for Tap {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tap {}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

/// The onlooker of one link.
pub(crate) struct Tapped {
    watch: Arc<dyn Watch>,
    link: u64,
}

impl Tapped {
    pub(crate) fn begin(tap: &Tap, socket: impl AsFd, peer: &Address, accepted: bool, ppid: crate::Ppid) -> Self {
        // a descriptor that is no socket has no address
        let local = rustix::net::getsockname(socket).ok().and_then(|any| SocketAddr::try_from(any).ok());
        let link = tap.0.begin(Ends { peer, local, accepted, ppid });
        Tapped { watch: Arc::clone(&tap.0), link }
    }

    pub(crate) fn pdu(&self, direction: Direction, stream: StreamId, parts: &[&[u8]]) {
        self.watch.pdu(self.link, direction, stream, parts);
    }
}

impl Drop for Tapped {
    fn drop(&mut self) {
        self.watch.end(self.link);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Class, Config, Link, Listener, Scratch};

    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Watch for Notes {
        fn begin(&self, ends: Ends<'_>) -> u64 {
            let mut notes = self.0.lock().unwrap();
            notes.push(format!("begin accepted={} local={}", ends.accepted, ends.local.is_some()));
            notes.len() as u64
        }
        fn pdu(&self, link: u64, direction: Direction, stream: StreamId, parts: &[&[u8]]) {
            self.0.lock().unwrap().push(format!("{link} {direction:?} {} {:?}", stream.0, parts.concat()));
        }
        fn end(&self, link: u64) {
            self.0.lock().unwrap().push(format!("{link} end"));
        }
    }

    #[test]
    fn an_onlooker_sees_both_directions_and_the_end() {
        for (url, has_address) in [("tcp://127.0.0.1:0", true), ("memory:onlooker", false)] {
            let notes = Arc::new(Notes::default());
            let tapped = Config { tap: Some(Tap::new(Arc::clone(&notes) as Arc<dyn Watch>)), ..Config::default() };
            let mut listener = Listener::bind(&url.parse().unwrap(), &Config::default()).unwrap();
            let mut ours = Link::connect(listener.local_address(), &tapped).unwrap();
            let mut theirs = loop {
                if let Some(link) = listener.accept().unwrap() {
                    break link;
                }
            };
            let mut scratch = Scratch::new();
            ours.send(StreamId(0), &[b"a", b"b"], Class::Keep).unwrap();
            while ours.flush().unwrap().waiting {}
            theirs.send(StreamId(0), &[b"c"], Class::Keep).unwrap();
            theirs.flush().unwrap();
            let mut got = 0;
            while got == 0 {
                got = ours.receive(&mut scratch, 1024, &mut |_, _| {}).unwrap().pdus;
            }
            assert!(ours.send(StreamId(0), &[b""], Class::Keep).is_err(), "what is not sent is not shown");
            drop(ours);
            let expected = [
                format!("begin accepted=false local={has_address}"),
                "1 Sent 0 [97, 98]".into(),
                "1 Received 0 [99]".into(),
                "1 end".into(),
            ];
            assert_eq!(*notes.0.lock().unwrap(), expected);
        }
    }
}
