//! Links within this process: two bounded queues, and one eventfd per end so that they poll like sockets.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::outbox::Outbox;
use crate::poll::{ring, silence};
use crate::{Class, Config, Error, Flushed, Received, Scratch, Sent, StreamId};

/// The listeners of this process, by name.
static LISTENERS: Mutex<Option<HashMap<String, Arc<Backlog>>>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No foreign code runs under these locks, so the state is consistent after a panic elsewhere.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn new_doorbell() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// One direction. The writer's outbox is the queue itself, so bounds and dropped reports are those of every link.
struct Pipe {
    queue: Mutex<Queue>,
    /// Readable, once flushed, while the queue is not empty or the writer is gone.
    doorbell: OwnedFd,
}

struct Queue {
    outbox: Outbox,
    rung: bool,
    writer_gone: bool,
    reader_gone: bool,
}

impl Pipe {
    fn new(outbox_octets: usize) -> io::Result<Arc<Pipe>> {
        let queue =
            Queue { outbox: Outbox::new(false, outbox_octets), rung: false, writer_gone: false, reader_gone: false };
        Ok(Arc::new(Pipe { queue: Mutex::new(queue), doorbell: new_doorbell()? }))
    }

    fn ring(&self, queue: &mut Queue) {
        if !queue.rung {
            queue.rung = true;
            ring(&self.doorbell);
        }
    }
}

/// One end of a link.
pub(crate) struct MemoryLink {
    incoming: Arc<Pipe>,
    outgoing: Arc<Pipe>,
    max_pdu_octets: usize,
}

impl MemoryLink {
    fn pair(ours: &Config, theirs: &Config) -> io::Result<(MemoryLink, MemoryLink)> {
        let (there, back) = (Pipe::new(ours.outbox_octets)?, Pipe::new(theirs.outbox_octets)?);
        Ok((
            MemoryLink { incoming: back.clone(), outgoing: there.clone(), max_pdu_octets: ours.max_pdu_octets },
            MemoryLink { incoming: there, outgoing: back, max_pdu_octets: theirs.max_pdu_octets },
        ))
    }

    /// Connects to a listener of this process, at once.
    pub(crate) fn connect(name: &str, config: &Config) -> io::Result<MemoryLink> {
        let backlog = locked(&LISTENERS).as_ref().and_then(|listeners| listeners.get(name).cloned());
        let backlog = backlog.ok_or(io::ErrorKind::ConnectionRefused)?;
        let (ours, theirs) = MemoryLink::pair(config, &backlog.config)?;
        let mut waiting = locked(&backlog.waiting);
        match &mut *waiting {
            Some(waiting) if waiting.len() < usize::from(backlog.config.listen_backlog) => waiting.push_back(theirs),
            _ => return Err(io::ErrorKind::ConnectionRefused.into()),
        }
        ring(&backlog.doorbell);
        Ok(ours)
    }

    pub(crate) fn send(&mut self, stream: StreamId, parts: &[&[u8]], class: Class) -> Result<Sent, Error> {
        let mut queue = locked(&self.outgoing.queue);
        if queue.reader_gone {
            return Err(Error::Lost(io::ErrorKind::BrokenPipe.into()));
        }
        queue.outbox.push(stream, parts, class)
    }

    /// Wakes the reader. Sent PDUs are in the reader's queue already, so nothing ever waits to be written.
    pub(crate) fn flush(&mut self) -> Result<Flushed, Error> {
        let mut queue = locked(&self.outgoing.queue);
        if queue.reader_gone {
            return Err(Error::Lost(io::ErrorKind::BrokenPipe.into()));
        }
        if !queue.outbox.is_empty() {
            self.outgoing.ring(&mut queue);
        }
        Ok(Flushed::default())
    }

    pub(crate) fn receive(
        &mut self,
        scratch: &mut Scratch,
        budget_octets: usize,
        sink: &mut dyn FnMut(StreamId, &[u8]),
    ) -> Result<Received, Error> {
        let (_, spares) = scratch.parts();
        let mut received = Received::default();
        // PDUs are copied out, so that the lock is not held while the sink runs: it may send to the other end.
        let mut pdu = spares.take();
        let result = loop {
            let stream = {
                let mut queue = locked(&self.incoming.queue);
                if queue.outbox.is_empty() {
                    if queue.writer_gone {
                        // The bell stays rung: a closed link is always readable.
                        break if received.pdus > 0 { Ok(received) } else { Err(Error::Closed) };
                    }
                    if queue.rung {
                        queue.rung = false;
                        silence(&self.incoming.doorbell);
                    }
                    break Ok(received);
                }
                if received.pdus > 0 && received.octets >= budget_octets {
                    self.incoming.ring(&mut queue);
                    received.more = true;
                    break Ok(received);
                }
                let (stream, pieces) = queue.outbox.messages().next().expect("the queue is not empty");
                let octets = pieces[0].len() + pieces[1].len();
                if octets > self.max_pdu_octets {
                    break Err(Error::PduTooLong {
                        announced_octets: octets as u64,
                        limit_octets: self.max_pdu_octets,
                    });
                }
                pdu.clear();
                for piece in pieces {
                    pdu.extend_from_slice(piece);
                }
                queue.outbox.wrote_messages(1);
                stream
            };
            received.pdus += 1;
            received.octets += pdu.len();
            sink(stream, &pdu);
        };
        spares.give(pdu);
        result
    }

    pub(crate) fn kept_octets(&self) -> usize {
        locked(&self.outgoing.queue).outbox.kept_octets()
    }

    pub(crate) fn queued_octets(&self) -> usize {
        locked(&self.outgoing.queue).outbox.queued_octets()
    }

    pub(crate) fn with_outbox(&mut self, change: impl FnOnce(&mut Outbox)) {
        change(&mut locked(&self.outgoing.queue).outbox);
    }

    pub(crate) fn dropped_reports(&self) -> u64 {
        locked(&self.outgoing.queue).outbox.dropped_reports()
    }
}

impl AsFd for MemoryLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.incoming.doorbell.as_fd()
    }
}

impl Drop for MemoryLink {
    fn drop(&mut self) {
        let mut outgoing = locked(&self.outgoing.queue);
        outgoing.writer_gone = true;
        self.outgoing.ring(&mut outgoing);
        drop(outgoing);
        // Free unread PDUs now, not when the other end is dropped too.
        let mut incoming = locked(&self.incoming.queue);
        incoming.reader_gone = true;
        incoming.outbox.discard();
    }
}

/// Links that wait to be accepted.
struct Backlog {
    /// `None` once the listener is gone.
    waiting: Mutex<Option<VecDeque<MemoryLink>>>,
    doorbell: OwnedFd,
    config: Config,
}

/// A name that links of this process can connect to.
pub(crate) struct MemoryListener {
    name: String,
    backlog: Arc<Backlog>,
}

impl MemoryListener {
    pub(crate) fn bind(name: &str, config: &Config) -> io::Result<MemoryListener> {
        let backlog = Arc::new(Backlog {
            waiting: Mutex::new(Some(VecDeque::new())),
            doorbell: new_doorbell()?,
            config: config.clone(),
        });
        let mut listeners = locked(&LISTENERS);
        let listeners = listeners.get_or_insert_default();
        if listeners.contains_key(name) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        listeners.insert(name.to_owned(), backlog.clone());
        Ok(MemoryListener { name: name.to_owned(), backlog })
    }

    pub(crate) fn accept(&mut self) -> Option<MemoryLink> {
        let mut waiting = locked(&self.backlog.waiting);
        let waiting = waiting.as_mut().expect("only dropping the listener ends its backlog");
        let link = waiting.pop_front();
        if waiting.is_empty() {
            silence(&self.backlog.doorbell);
        }
        link
    }
}

impl AsFd for MemoryListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.backlog.doorbell.as_fd()
    }
}

impl Drop for MemoryListener {
    fn drop(&mut self) {
        if let Some(listeners) = locked(&LISTENERS).as_mut() {
            listeners.remove(&self.name);
        }
        // Links that were not accepted see their peer close.
        let waiting = locked(&self.backlog.waiting).take();
        drop(waiting);
    }
}
