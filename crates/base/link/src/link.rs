//! The link: one interface over every transport.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::frame::Deframer;
use crate::lookup::Resolved;
use crate::memory::MemoryLink;
use crate::outbox::{NOTED_OCTETS, Outbox};
use crate::sctp::{self, SctpLink};
use crate::shm::ShmLink;
use crate::stream::StreamLink;
use crate::tap::{Direction, LinkObserver};
#[cfg(feature = "tls")]
use crate::tls::TlsLink;
use crate::{Address, Config, Error, Identity, Scratch};

/// A stream within a link. Order holds within a stream; links other than SCTP keep it across streams too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u16);

/// The handling of a PDU when the peer reads too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The PDU is never dropped: requests, responses, errors.
    Keep,
    /// The oldest PDUs of this class are dropped and counted to make room: reports.
    Report,
}

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Wait until it is writable, then call [`Link::flush`] or [`Link::finish_connect`].
    Connecting,
    /// PDUs can be sent and received.
    Established,
    /// Connecting or receiving failed, or the peer closed.
    Closed,
}

/// The result of [`Link::receive`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// PDUs passed to the sink.
    pub pdus: usize,
    /// Octets read, with framing and unfinished PDUs.
    pub octets: usize,
    /// The budget was spent; there may be more to read.
    pub more: bool,
}

/// The result of [`Link::send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The PDU is in the outbox, or was written. False for a report for which there is no room even without all other reports.
    pub queued: bool,
    /// Reports dropped by this call, the given one included if it was not queued.
    pub dropped_reports: u32,
}

/// The result of [`Link::flush`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Octets passed to the kernel.
    pub octets: usize,
    /// Some octets are not written yet: call again when the link is writable.
    pub waiting: bool,
}

/// A change of the paths beneath an SCTP association, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathEvent {
    /// An address of the peer can be reached (again).
    Reachable(IpAddr),
    /// An address of the peer cannot be reached; other addresses may be reachable.
    Unreachable(IpAddr),
    /// An address of the peer has become the primary destination.
    Primary(IpAddr),
    /// The peer restarted within the association and has lost its state.
    Restarted,
    /// The peer is shutting the association down.
    ShuttingDown,
}

impl fmt::Display for PathEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathEvent::Reachable(ip) => write!(f, "the peer's address {ip} is reachable"),
            PathEvent::Unreachable(ip) => write!(f, "the peer's address {ip} is unreachable"),
            PathEvent::Primary(ip) => write!(f, "the peer's address {ip} is the primary destination"),
            PathEvent::Restarted => f.write_str("the peer restarted within the association"),
            PathEvent::ShuttingDown => f.write_str("the peer is shutting down the association"),
        }
    }
}

/// The most path events kept for [`Link::poll_path_event`]; the oldest are dropped.
const PATH_EVENTS: usize = 16;

/// One end of a link. See the [crate's documentation](crate) for the contract.
pub struct Link {
    transport: Transport,
    state: State,
    peer: Address,
    longest_send_octets: usize,
    path_events: VecDeque<PathEvent>,
    tap: Option<Box<dyn LinkObserver>>,
    watch: Option<Arc<dyn LinkObserver>>,
}

pub(crate) enum Transport {
    Stream(StreamLink),
    #[cfg(feature = "tls")]
    Tls(Box<TlsLink>),
    Sctp(SctpLink),
    Shm(ShmLink),
    Memory(MemoryLink),
}

impl Link {
    /// Starts to connect. Host names are looked up with the [resolver](Config::resolver) on this thread, which may block; nothing else
    /// blocks. An event loop looks them up with a [`Lookup`](crate::Lookup) instead.
    ///
    /// The addresses of a TCP host are tried in turn; the addresses of an SCTP peer belong to one association.
    ///
    /// # Errors
    ///
    /// [`Error::Connect`] if it fails at once, as it does for Unix and memory; otherwise
    /// [`finish_connect`](Self::finish_connect) returns the result. [`Error::SctpUnsupported`] on a host without SCTP.
    pub fn connect(address: &Address, config: &Config) -> Result<Link, Error> {
        Link::connect_resolved(Resolved::now(address, config)?, config)
    }

    /// As [`Link::connect`], with host names that are looked up. It does not block.
    ///
    /// # Errors
    ///
    /// As [`Link::connect`].
    pub fn connect_resolved(resolved: Resolved, config: &Config) -> Result<Link, Error> {
        let Resolved { address, sockets, .. } = resolved;
        if let Address::Tls { host, .. } = &address {
            return connect_tls(&address, host, sockets, config);
        }
        let (transport, state) = open(&address, sockets, config).map_err(|source| match source {
            source if sctp::is_unsupported(&address, &source) => Error::SctpUnsupported,
            source => Error::Connect { address: address.clone(), source },
        })?;
        Ok(Link::new(transport, state, address, false, config))
    }

    pub(crate) fn accepted(transport: Transport, peer: Address, config: &Config) -> Link {
        let state = match transport {
            #[cfg(feature = "tls")]
            Transport::Tls(_) => State::Connecting,
            _ => State::Established,
        };
        Link::new(transport, state, peer, true, config)
    }

    fn new(transport: Transport, state: State, peer: Address, accepted: bool, config: &Config) -> Link {
        let longest_send_octets = match &transport {
            Transport::Sctp(link) => link.longest_message_octets().min(config.max_pdu_octets),
            _ => config.max_pdu_octets,
        };
        let tap = config.tap.as_ref().map(|tap| tap.begin(transport.as_fd(), &peer, accepted, config.sctp_ppid));
        Link { transport, state, peer, longest_send_octets, path_events: VecDeque::new(), tap, watch: None }
    }

    /// Returns the state of the link.
    pub fn state(&self) -> State {
        self.state
    }

    /// The address of the peer. Unix, shared-memory and memory clients have none: an accepted link then has the address of the
    /// listener.
    pub fn peer(&self) -> &Address {
        &self.peer
    }

    /// The identity in the verified certificate of the peer. `None` for a link that is not TLS or not established.
    pub fn identity(&self) -> Option<&Identity> {
        match &self.transport {
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.identity(),
            _ => None,
        }
    }

    /// Continues to connect and returns the state. [`flush`](Self::flush) and [`receive`](Self::receive) do so too.
    ///
    /// # Errors
    ///
    /// [`Error::Connect`] when no address of the peer takes the connection; `Error::Tls` when the TLS handshake
    /// fails; [`Error::Closed`] for a closed link.
    pub fn finish_connect(&mut self) -> Result<State, Error> {
        let finished = match (self.state, &mut self.transport) {
            (State::Established, _) => return Ok(State::Established),
            (State::Closed, _) => return Err(Error::Closed),
            #[cfg(feature = "tls")]
            (State::Connecting, Transport::Tls(link)) => match link.finish_connect() {
                Ok(is_over) => Ok(is_over),
                Err(Error::Lost(source)) if !link.is_connected() => Err(source),
                Err(other) => {
                    self.state = State::Closed;
                    return Err(other);
                }
            },
            (State::Connecting, Transport::Stream(link)) => link.finish_connect(),
            (State::Connecting, Transport::Sctp(link)) => link.finish_connect(),
            (State::Connecting, Transport::Shm(link)) => link.finish_connect(),
            (State::Connecting, Transport::Memory(_)) => unreachable!("memory connects at once"),
        };
        match finished {
            Ok(true) => self.state = State::Established,
            Ok(false) => {}
            Err(source) => {
                self.state = State::Closed;
                return Err(Error::Connect { address: self.peer.clone(), source });
            }
        }
        Ok(self.state)
    }

    /// Reads until the link is empty or about `budget_octets` are read, and passes each whole PDU to `sink`, in order.
    ///
    /// PDUs are borrowed from `scratch`. When [`Received::more`] is set, serve the other links and call again; waiting for readiness
    /// in between is not necessary, but does no harm, since readiness is level-triggered.
    ///
    /// # Errors
    ///
    /// After any error the link is closed; the PDUs before it were passed to `sink`. [`Error::Closed`] is the orderly end;
    /// [`Error::ClosedMidPdu`], [`Error::EmptyPdu`] and [`Error::PduTooLong`] are caused by the peer, [`Error::Lost`] by
    /// the network.
    pub fn receive(
        &mut self,
        scratch: &mut Scratch,
        budget_octets: usize,
        sink: &mut dyn FnMut(StreamId, &[u8]),
    ) -> Result<Received, Error> {
        if self.finish_connect()? == State::Connecting {
            return Ok(Received::default());
        }
        let mut tapped;
        let (tap, watch) = (self.tap.as_deref(), self.watch.as_deref());
        let sink: &mut dyn FnMut(StreamId, &[u8]) = if tap.is_none() && watch.is_none() {
            sink
        } else {
            tapped = |stream, pdu: &[u8]| {
                for observer in [tap, watch].into_iter().flatten() {
                    observer.pdu(Direction::Received, stream, &[pdu]);
                }
                sink(stream, pdu);
            };
            &mut tapped
        };
        let result = match &mut self.transport {
            Transport::Stream(link) => link.receive(scratch, budget_octets, sink),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.receive(scratch, budget_octets, sink),
            Transport::Shm(link) => link.receive(scratch, budget_octets, sink),
            Transport::Memory(link) => link.receive(scratch, budget_octets, sink),
            Transport::Sctp(link) => {
                let on_path_event = &mut |event| {
                    if self.path_events.len() == PATH_EVENTS {
                        self.path_events.pop_front();
                    }
                    self.path_events.push_back(event);
                };
                let on_ppid = &mut |ppid| {
                    for observer in [tap, watch].into_iter().flatten() {
                        observer.ppid(Direction::Received, ppid);
                    }
                };
                link.receive(scratch, budget_octets, sink, on_path_event, on_ppid)
            }
        };
        if result.is_err() {
            self.state = State::Closed;
        }
        result
    }

    /// Puts one PDU, given in parts, into the outbox. Writes nothing yet: see [`flush`](Self::flush).
    ///
    /// # Errors
    ///
    /// [`Error::OutboxFull`]: PDUs of [`Class::Keep`] fill the outbox; disconnect the peer. [`Error::SendEmpty`] and
    /// [`Error::SendTooLong`] are the caller's misuse and change nothing. [`Error::Closed`] or [`Error::Lost`]: the link is
    /// gone.
    pub fn send(&mut self, stream: StreamId, parts: &[&[u8]], class: Class) -> Result<Sent, Error> {
        self.check(parts)?;
        let sent = match &mut self.transport {
            Transport::Stream(link) => link.outbox.push(stream, parts, class),
            Transport::Sctp(link) => link.outbox.push(stream, parts, class),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.stream.outbox.push(stream, parts, class),
            Transport::Shm(link) => link.send(stream, parts, class),
            Transport::Memory(link) => link.send(stream, parts, class),
        }?;
        self.observe_sent(sent, stream, parts);
        Ok(sent)
    }

    /// Writes one PDU at once, behind those in the outbox: [`send`](Self::send) and [`flush`](Self::flush) in one call. On a TCP or Unix
    /// link whose outbox is empty, the kernel copies the PDU from `parts`; the outbox stores only what the kernel does not take.
    ///
    /// Use it for single PDUs on many links. Several PDUs on one link cost less with several `send` and one `flush`.
    ///
    /// # Errors
    ///
    /// Those of [`send`](Self::send) and [`flush`](Self::flush).
    pub fn send_now(&mut self, stream: StreamId, parts: &[&[u8]], class: Class) -> Result<Sent, Error> {
        self.check(parts)?;
        if let (State::Established, Transport::Stream(link)) = (self.state, &mut self.transport)
            && link.outbox.is_empty()
        {
            let sent = link.send_now(stream, parts, class)?;
            self.observe_sent(sent, stream, parts);
            return Ok(sent);
        }
        let sent = self.send(stream, parts, class)?;
        self.flush()?;
        Ok(sent)
    }

    /// Refuses what cannot be sent.
    fn check(&self, parts: &[&[u8]]) -> Result<(), Error> {
        if self.state == State::Closed {
            return Err(Error::Closed);
        }
        let octets: usize = parts.iter().map(|part| part.len()).sum();
        if octets == 0 {
            return Err(Error::SendEmpty);
        }
        if octets > self.longest_send_octets {
            return Err(Error::SendTooLong { octets, limit_octets: self.longest_send_octets });
        }
        Ok(())
    }

    fn observe_sent(&self, sent: Sent, stream: StreamId, parts: &[&[u8]]) {
        if sent.queued {
            for observer in [self.tap.as_deref(), self.watch.as_deref()].into_iter().flatten() {
                if let Transport::Sctp(link) = &self.transport {
                    observer.ppid(Direction::Sent, link.ppid());
                }
                observer.pdu(Direction::Sent, stream, parts);
            }
        }
    }

    /// Writes as much of the outbox as the kernel takes now, in few system calls.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] when the connection is gone, [`Error::Connect`] when it could not be set up. PDUs that the peer sent before
    /// can still be [received](Self::receive).
    pub fn flush(&mut self) -> Result<Flushed, Error> {
        if self.finish_connect()? == State::Connecting {
            return Ok(Flushed { octets: 0, waiting: self.wants_write() });
        }
        match &mut self.transport {
            Transport::Stream(link) => link.flush(),
            Transport::Sctp(link) => link.flush(),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.flush(),
            Transport::Shm(link) => link.flush(),
            Transport::Memory(link) => link.flush(),
        }
    }

    /// Notes the beginning of each report that is dropped from now on, for [`Link::take_dropped`].
    pub fn note_dropped(&mut self) {
        self.with_outbox(Outbox::note_dropped);
    }

    /// Passes the beginning of each report that was dropped since the previous call, at most 4096 of them, to `take`; shorter ones
    /// end with zeros.
    pub fn take_dropped(&mut self, take: &mut dyn FnMut(&[u8; NOTED_OCTETS])) {
        self.with_outbox(|outbox| outbox.take_notes(take));
    }

    fn with_outbox(&mut self, change: impl FnOnce(&mut Outbox)) {
        match &mut self.transport {
            Transport::Stream(link) => change(&mut link.outbox),
            Transport::Sctp(link) => change(&mut link.outbox),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => change(&mut link.stream.outbox),
            Transport::Shm(link) => change(&mut link.outbox),
            Transport::Memory(link) => link.with_outbox(change),
        }
    }

    /// Passes each whole PDU from now on to an observer too, in place of the one that was given before; `None` ends that. Unlike
    /// the tap of the configuration, it can be changed at any time.
    pub fn watch(&mut self, observer: Option<Arc<dyn LinkObserver>>) {
        self.watch = observer;
    }

    /// Whether to wait for writability: the link is connecting, or octets are waiting to be written.
    pub fn wants_write(&self) -> bool {
        match self.state {
            State::Connecting => match &self.transport {
                // During the handshake the link waits for the peer's answers.
                #[cfg(feature = "tls")]
                Transport::Tls(link) => link.wants_write(false),
                _ => true,
            },
            State::Established => match &self.transport {
                #[cfg(feature = "tls")]
                Transport::Tls(link) => link.wants_write(true),
                Transport::Shm(link) => link.wants_write(),
                _ => self.outbox().is_some_and(|outbox| !outbox.is_empty()),
            },
            State::Closed => false,
        }
    }

    /// The octets in the outbox, as they count against [`Config::outbox_octets`].
    pub fn queued_octets(&self) -> usize {
        match &self.transport {
            Transport::Memory(link) => link.queued_octets(),
            _ => self.outbox().map_or(0, Outbox::queued_octets),
        }
    }

    /// The part of [`queued_octets`](Self::queued_octets) that is of [`Class::Keep`].
    pub fn kept_octets(&self) -> usize {
        match &self.transport {
            Transport::Memory(link) => link.kept_octets(),
            _ => self.outbox().map_or(0, Outbox::kept_octets),
        }
    }

    /// Reports dropped since the link began.
    pub fn dropped_reports(&self) -> u64 {
        match &self.transport {
            Transport::Memory(link) => link.dropped_reports(),
            _ => self.outbox().map_or(0, Outbox::dropped_reports),
        }
    }

    /// Returns the number of the PDU of which a part has arrived, and the octets of that part; `None` between PDUs. The
    /// number is another one for each PDU of the link that arrives in parts.
    pub fn unfinished_pdu(&self) -> Option<(u64, usize)> {
        let of = |deframer: &Deframer| Some((deframer.unfinished()?, deframer.unfinished_octets()));
        match &self.transport {
            Transport::Stream(link) => of(&link.deframer),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => of(&link.stream.deframer),
            Transport::Sctp(link) => Some((link.carry.unfinished()?, link.carry.bytes.len())),
            Transport::Shm(link) => of(&link.deframer),
            Transport::Memory(_) => None,
        }
    }

    /// Frees the memory that an empty outbox keeps for the next PDUs.
    pub fn free_spare_memory(&mut self) {
        match &mut self.transport {
            Transport::Stream(link) => link.outbox.free_spare_memory(),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.stream.outbox.free_spare_memory(),
            Transport::Sctp(link) => link.outbox.free_spare_memory(),
            Transport::Shm(link) => link.outbox.free_spare_memory(),
            Transport::Memory(_) => {}
        }
    }

    /// Returns the next change of the paths of an SCTP association; always `None` on other links.
    pub fn poll_path_event(&mut self) -> Option<PathEvent> {
        self.path_events.pop_front()
    }

    /// Has the transport find out within seconds whether the peer is still there: TCP sends a keep-alive probe each second
    /// and gives up after five, or after 30 s if octets are not acknowledged; SCTP sends heartbeats. The end is then reported
    /// as [`Error::Lost`]. The peer's program sees nothing of it. It stays so for the rest of the link's life.
    pub fn probe(&self) {
        match &self.transport {
            Transport::Stream(link) => link.probe(),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.stream.probe(),
            Transport::Sctp(link) => link.probe(),
            // the system reports the end of a process on this host at once
            Transport::Shm(_) | Transport::Memory(_) => {}
        }
    }

    /// Whether this end delays its SCTP acknowledgements, which delays the small messages of a peer that leaves Nagle's
    /// algorithm on. `None` on other links, and when the association is gone.
    pub fn delays_acknowledgements(&self) -> Option<bool> {
        match &self.transport {
            Transport::Sctp(link) => sctp::delays_acknowledgements(&link.socket),
            _ => None,
        }
    }

    /// Writes what the kernel takes now and closes in an orderly way. Dropping a link closes it without writing.
    pub fn close(mut self) {
        // A connection that is gone is closed already.
        let _ = self.flush();
        match &mut self.transport {
            Transport::Stream(link) => link.shut_down(),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.shut_down(),
            Transport::Sctp(_) | Transport::Shm(_) | Transport::Memory(_) => {}
        }
    }

    /// The outbox; `None` for a memory link, where the peer reads directly from it.
    fn outbox(&self) -> Option<&Outbox> {
        match &self.transport {
            Transport::Stream(link) => Some(&link.outbox),
            Transport::Sctp(link) => Some(&link.outbox),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => Some(&link.stream.outbox),
            Transport::Shm(link) => Some(&link.outbox),
            Transport::Memory(_) => None,
        }
    }
}

#[cfg(feature = "tls")]
fn connect_tls(address: &Address, host: &str, sockets: Vec<SocketAddr>, config: &Config) -> Result<Link, Error> {
    let tls = config.tls.as_ref().ok_or(Error::TlsMissing)?;
    let link = TlsLink::connect(host, sockets, tls, config);
    let link = link.map_err(|source| Error::Connect { address: address.clone(), source })?;
    Ok(Link::new(Transport::Tls(Box::new(link)), State::Connecting, address.clone(), false, config))
}

#[cfg(not(feature = "tls"))]
fn connect_tls(_: &Address, _: &str, _: Vec<SocketAddr>, _: &Config) -> Result<Link, Error> {
    Err(Error::TlsMissing)
}

fn open(address: &Address, sockets: Vec<SocketAddr>, config: &Config) -> io::Result<(Transport, State)> {
    Ok(match address {
        Address::Tcp { .. } => (Transport::Stream(StreamLink::connect_tcp(sockets, config)?), State::Connecting),
        Address::Tls { .. } => unreachable!("`connect_tls` handles TLS"),
        Address::Unix(path) => (Transport::Stream(StreamLink::connect_unix(path, config)?), State::Established),
        Address::Sctp { .. } => (Transport::Sctp(SctpLink::connect(sockets, config)?), State::Connecting),
        Address::Shm(path) => (Transport::Shm(ShmLink::connect(path, config)?), State::Connecting),
        Address::Memory(name) => (Transport::Memory(MemoryLink::connect(name, config)?), State::Established),
    })
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Stream(link) => link.as_fd(),
            Transport::Sctp(link) => link.as_fd(),
            #[cfg(feature = "tls")]
            Transport::Tls(link) => link.as_fd(),
            Transport::Shm(link) => link.as_fd(),
            Transport::Memory(link) => link.as_fd(),
        }
    }
}
