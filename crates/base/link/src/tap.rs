//! Observers of the PDUs on links, such as a recorder.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::{Address, Ppid, StreamId};

/// The direction of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the peer: it is in the outbox.
    Sent,
    /// From the peer.
    Received,
}

/// The two ends of a link, as passed to an [`TapObserver`].
#[derive(Clone, Copy, Debug)]
pub struct LinkEnds<'a> {
    /// The address of the peer.
    pub peer: &'a Address,
    /// Our own end, where it has an address: Unix and memory links have none.
    pub local: Option<SocketAddr>,
    /// Whether the peer connected to us.
    pub accepted: bool,
    /// The configured payload protocol identifier of sent PDUs.
    pub ppid: Ppid,
    /// The name of the encoding of the PDUs: see [`Tap::with_encoding`].
    pub encoding: &'a str,
}

/// An observer of links.
pub trait TapObserver: Send + Sync {
    /// Called for each new link. The returned observer receives its PDUs and is dropped with the link.
    fn begin(&self, ends: LinkEnds<'_>) -> Box<dyn LinkObserver>;
}

/// An observer of one link. It is called from the event loop that owns the link and must not block.
pub trait LinkObserver: Send + Sync {
    /// Called for each whole PDU, given in parts. A sent PDU is in the outbox; a report may still be dropped there if the
    /// peer reads slowly.
    fn pdu(&self, direction: Direction, stream: StreamId, parts: &[&[u8]]);

    /// Called before the PDUs of a direction that carry this payload protocol identifier on the wire: links over SCTP only. It may
    /// be called again with the same one.
    fn ppid(&self, direction: Direction, ppid: Ppid) {
        let _ = (direction, ppid);
    }
}

/// The handle of an observer: see [`Config::tap`](crate::Config::tap).
#[derive(Clone)]
pub struct Tap {
    observer: Arc<dyn TapObserver>,
    encoding: Cow<'static, str>,
}

impl Tap {
    /// Creates a tap that passes PDUs to `observer`.
    pub fn new(observer: Arc<dyn TapObserver>) -> Self {
        Tap { observer, encoding: Cow::Borrowed("per") }
    }

    /// Returns a tap for the same observer with another name of the encoding. The default is `per`.
    #[must_use]
    pub fn with_encoding(&self, encoding: impl Into<Cow<'static, str>>) -> Self {
        Tap { observer: Arc::clone(&self.observer), encoding: encoding.into() }
    }

    /// Returns the observer of a link whose ends are known: for an observer that passes on what it sees.
    #[must_use]
    pub fn observe(&self, ends: LinkEnds<'_>) -> Box<dyn LinkObserver> {
        self.observer.begin(ends)
    }

    pub(crate) fn begin(&self, socket: impl AsFd, peer: &Address, accepted: bool, ppid: Ppid) -> Box<dyn LinkObserver> {
        // A descriptor that is not a socket has no address.
        let local = rustix::net::getsockname(socket).ok().and_then(|any| SocketAddr::try_from(any).ok());
        self.observer.begin(LinkEnds { peer, local, accepted, ppid, encoding: &self.encoding })
    }
}

/// Taps are equal if they have the same observer and encoding.
impl PartialEq for Tap {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.observer, &other.observer) && self.encoding == other.encoding
    }
}

impl Eq for Tap {}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Class, Config, Link, Listener, Scratch};

    type Notes = Arc<Mutex<Vec<String>>>;

    struct Reader(Notes);
    struct Page(Notes);

    impl TapObserver for Reader {
        fn begin(&self, ends: LinkEnds<'_>) -> Box<dyn LinkObserver> {
            let line = format!("begin accepted={} local={}", ends.accepted, ends.local.is_some());
            self.0.lock().unwrap().push(line);
            Box::new(Page(Arc::clone(&self.0)))
        }
    }

    impl LinkObserver for Page {
        fn pdu(&self, direction: Direction, stream: StreamId, parts: &[&[u8]]) {
            self.0.lock().unwrap().push(format!("{direction:?} {} {:?}", stream.0, parts.concat()));
        }
    }

    impl Drop for Page {
        fn drop(&mut self) {
            self.0.lock().unwrap().push("end".into());
        }
    }

    #[test]
    fn observer_sees_both_directions_and_the_end() {
        for (url, has_address) in [("tcp://127.0.0.1:0", true), ("memory:observer", false)] {
            let notes = Notes::default();
            let tap = Tap::new(Arc::new(Reader(Arc::clone(&notes))));
            let tapped = Config { tap: Some(tap), ..Config::default() };
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
            assert!(ours.send(StreamId(0), &[b""], Class::Keep).is_err(), "a PDU that is not sent is not observed");
            drop(ours);
            let expected = [
                format!("begin accepted=false local={has_address}"),
                "Sent 0 [97, 98]".into(),
                "Received 0 [99]".into(),
                "end".into(),
            ];
            assert_eq!(*notes.lock().unwrap(), expected);
        }
    }
}
