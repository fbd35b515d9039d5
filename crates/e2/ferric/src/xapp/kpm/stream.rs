//! Requests for measurements, and the streams of their records.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use e2::topology::UeReference;

use super::super::core::{Purpose, StreamId};
use super::super::error::Error;
use super::super::names::{CellId, NetworkSlice};
use super::super::resolve::{IntoName, name};
use super::super::ric::Handle;
use super::super::session::Session;
use super::queue::Queue;
use super::{About, Batch, Record, Sink, Wanted};

/// The records that a stream buffers by default.
const BUFFER: usize = 65_536;
/// The longest period that a node accepts (KPM 8.3.8: 2^32 - 1 ms).
const PERIODS_MS: std::ops::RangeInclusive<u32> = 1..=u32::MAX;
/// The most measurements of a request.
const MAX_MEASUREMENTS: usize = 1024;

/// A request for measurements: of each UE, unless it is restricted. [`KpmRequest::every`] subscribes.
#[derive(Clone)]
#[must_use = "`every` subscribes"]
pub struct KpmRequest {
    ric: Handle,
    /// The first mistake, which `every` reports.
    wanted: Result<Wanted, Error>,
    node: Option<String>,
    buffer: usize,
}

impl KpmRequest {
    pub(in super::super) fn new(ric: Handle, measurements: Vec<String>) -> Self {
        let wanted = match measurements.len() {
            0 => Err(Error::invalid("measurements", "", "at least one measurement, such as DRB.UEThpDl")),
            count if count > MAX_MEASUREMENTS => {
                Err(Error::invalid("measurements", count, format!("at most {MAX_MEASUREMENTS} measurements")))
            }
            _ => Ok(Wanted { measurements, about: About::EachUe, period_ms: 0 }),
        };
        KpmRequest { ric, wanted, node: None, buffer: BUFFER }
    }

    fn about(mut self, about: Result<About, Error>) -> Self {
        self.wanted = self.wanted.and_then(|wanted| match wanted.about {
            About::EachUe => Ok(Wanted { about: about?, ..wanted }),
            _ => Err(Error::invalid("request", "several subjects", "one of ue, cell, slice and whole_node")),
        });
        self
    }

    /// Of one UE, at whichever node it is.
    pub fn ue(self, ue: impl IntoName<UeReference>) -> Self {
        self.about(name(ue).map(About::Ue))
    }

    /// Of a cell.
    pub fn cell(self, cell: impl IntoName<CellId>) -> Self {
        self.about(name(cell).map(About::Cell))
    }

    /// A network slice's share of each node's measurement.
    pub fn slice(self, slice: impl IntoName<NetworkSlice>) -> Self {
        self.about(name(slice).map(About::Slice))
    }

    /// Of each node as a whole.
    pub fn whole_node(self) -> Self {
        self.about(Ok(About::Node))
    }

    /// Of one node only, by the name that the RIC logs.
    pub fn node(mut self, node: impl AsRef<str>) -> Self {
        self.node = Some(node.as_ref().to_owned());
        self
    }

    /// Buffers that many records instead of 65,536. A reader that is slower loses the oldest.
    pub fn buffer(mut self, records: usize) -> Self {
        self.buffer = records;
        self
    }

    /// Subscribes at each node, also at nodes that come later. Waits for the answers of those that are up.
    ///
    /// # Errors
    /// [`Error::NotOffered`] with the nearest measurements, [`Error::Refused`] with the cause: if every node refuses.
    /// [`Error::Unknown`] for a UE that does not appear before the deadline; [`Error::Invalid`].
    pub fn every(self, period_ms: u32) -> Result<KpmStream, Error> {
        let KpmRequest { ric, wanted, node, buffer } = self;
        let wanted = Wanted { period_ms, ..wanted? };
        if !PERIODS_MS.contains(&period_ms) {
            return Err(Error::invalid("period_ms", period_ms, "a period of at least 1 ms"));
        }
        if buffer == 0 {
            return Err(Error::invalid("buffer", buffer, "at least one record"));
        }
        if let About::Ue(ue) = &wanted.about {
            ric.await_ue(ue)?;
        }
        if let About::Cell(cell) = wanted.about {
            ric.session.ask(
                || format!("cell {cell}"),
                ric.deadline,
                move |core, _, reply| {
                    reply.send(core.check_cell(cell));
                },
            )?;
        }
        let measurements: Arc<[String]> = wanted.measurements.clone().into();
        let queue = Queue::new(Arc::clone(&measurements), buffer);
        let queue = Arc::new(queue.map_err(|source| ric.system_error("eventfd", source))?);
        let what = format!("subscription to {}", measurements.join(", "));
        let sink = Box::new(Sink::new(Arc::clone(&queue), wanted.about.clone(), measurements));
        let id = ric.session.ask(
            || what,
            ric.deadline,
            move |core, commands, reply| {
                core.add_stream(commands, Purpose::Records { wanted, sink }, node, reply);
            },
        )?;
        Ok(KpmStream { queue, id, session: ric.session, current: Batch::default(), at: 0 })
    }
}

impl fmt::Debug for KpmRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KpmRequest").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

/// A stream of records. As an iterator it blocks; it ends when the session is closed. Dropping it ends its subscriptions.
pub struct KpmStream {
    queue: Arc<Queue>,
    id: StreamId,
    session: Arc<Session>,
    /// The chunk that is being read, and the next record in it.
    current: Batch,
    at: usize,
}

impl KpmStream {
    /// The next record; waits for it. `None` at the end of the session.
    ///
    /// # Errors
    /// The error that has ended the session, once.
    pub fn next_record(&mut self) -> Result<Option<Record>, Error> {
        self.read(None).map(Read::into_option)
    }

    /// As [`KpmStream::next_record`], but waits no longer than `time`.
    ///
    /// # Errors
    /// [`Error::Timeout`], and as above.
    pub fn next_within(&mut self, time: Duration) -> Result<Option<Record>, Error> {
        match self.read(Some(Instant::now() + time))? {
            Read::Nothing => Err(Error::Timeout { what: "record".into(), after: time }),
            read => Ok(read.into_option()),
        }
    }

    /// The next record that is buffered; `None` if there is none.
    ///
    /// # Errors
    /// As [`KpmStream::next_record`]; [`Error::Closed`] at the end of the session.
    pub fn try_next(&mut self) -> Result<Option<Record>, Error> {
        match self.read_buffered()? {
            Read::End => Err(Error::Closed),
            read => Ok(read.into_option()),
        }
    }

    /// The next record for an async runtime: registers the context's waker if there is none.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Record, Error>>> {
        loop {
            match self.read_buffered() {
                Ok(Read::Nothing) if self.queue.register(context.waker()) => {}
                Ok(Read::Nothing) => return Poll::Pending,
                Ok(read) => return Poll::Ready(read.into_option().map(Ok)),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }

    /// Exchanges `batch` for the next records in columns, at most 1024; waits for them until `within` is over, if it is given.
    /// Returns whether there are any: `false` at the end of the session. `batch` keeps its memory for further records.
    ///
    /// # Errors
    /// [`Error::Timeout`], and as [`KpmStream::next_record`].
    pub fn next_batch(&mut self, batch: &mut Batch, within: Option<Duration>) -> Result<bool, Error> {
        let until = within.map(|time| Instant::now() + time);
        batch.clear();
        // records that were read singly are gone from it
        while self.at < self.current.len() {
            if self.at == 0 {
                std::mem::swap(&mut self.current, batch);
                self.current.clear();
                return Ok(true);
            }
            self.current.drain_front(self.at);
            self.at = 0;
        }
        loop {
            match self.queue.take(batch) {
                Ok(true) => return Ok(true),
                Ok(false) => self.check()?,
                Err(None) => return Ok(false),
                Err(Some(error)) => return Err(error),
            }
            if !self.queue.wait(until) {
                return Err(Error::Timeout { what: "records".into(), after: within.unwrap_or_default() });
            }
        }
    }

    /// The records that were lost because this stream was read too slowly.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.queue.lost()
    }

    /// The refusals of nodes that were to report to this stream. Each was logged.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.queue.refusals()
    }

    /// The counts of this stream, for a thread that does not read it.
    #[must_use]
    pub fn counts(&self) -> StreamCounts {
        StreamCounts(Arc::clone(&self.queue))
    }

    fn check(&self) -> Result<(), Error> {
        match self.session.shared.check() {
            // its end says why
            Err(Error::Closed) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, until: Option<Instant>) -> Result<Read, Error> {
        loop {
            match self.read_buffered()? {
                Read::Nothing if !self.queue.wait(until) => return Ok(Read::Nothing),
                Read::Nothing => {}
                read => return Ok(read),
            }
        }
    }

    fn read_buffered(&mut self) -> Result<Read, Error> {
        if self.at >= self.current.len() {
            self.check()?;
            self.at = 0;
            self.current.clear();
            match self.queue.take(&mut self.current) {
                Ok(true) => {}
                Ok(false) => return Ok(Read::Nothing),
                Err(None) => return Ok(Read::End),
                Err(Some(error)) => return Err(error),
            }
        }
        let record = self.current.record(self.at);
        self.at += 1;
        Ok(record.map_or(Read::Nothing, |record| Read::Record(Box::new(record))))
    }
}

/// The counts of a stream, which any thread may read.
#[derive(Clone)]
pub struct StreamCounts(Arc<Queue>);

impl StreamCounts {
    /// As [`KpmStream::lost`].
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost()
    }

    /// As [`KpmStream::refusals`].
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.0.refusals()
    }
}

impl fmt::Debug for StreamCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamCounts").field("lost", &self.lost()).field("refusals", &self.refusals()).finish()
    }
}

/// The result of a read.
enum Read {
    Record(Box<Record>),
    Nothing,
    End,
}

impl Read {
    fn into_option(self) -> Option<Record> {
        if let Read::Record(record) = self { Some(*record) } else { None }
    }
}

impl Iterator for KpmStream {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

/// Readable while records are buffered. What the stream has taken to read singly is not counted: read until
/// [`KpmStream::try_next`] returns `None` before waiting.
impl AsFd for KpmStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl fmt::Debug for KpmStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KpmStream").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for KpmStream {
    fn drop(&mut self) {
        // without a session there is nothing to end
        if self.session.shared.check().is_ok() {
            let id = self.id;
            self.session.shared.post(Box::new(move |core, commands| core.remove_stream(commands, id)));
        }
    }
}
