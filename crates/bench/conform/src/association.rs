//! One association: the PDUs of a link, one after the other.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use link::{Address, Class, Events, Interest, Link, Listener, Poll, Scratch, State, StreamId};

use crate::Error;

/// Octets that are read before other work is done.
const READ_OCTETS: usize = 64 * 1024;

/// What an association has next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// A PDU.
    Pdu(Vec<u8>),
    /// Nothing within the time.
    Nothing,
    /// The end, with its reason.
    End(String),
}

/// An association that is open, or has ended.
pub(crate) struct Association {
    link: Link,
    poll: Poll,
    events: Events,
    scratch: Scratch,
    inbox: VecDeque<Vec<u8>>,
    end: Option<String>,
}

impl Association {
    fn of(link: Link, interest: Interest) -> Result<Self, std::io::Error> {
        let poll = Poll::new()?;
        poll.add(&link, 0, interest)?;
        Ok(Association {
            link,
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            inbox: VecDeque::new(),
            end: None,
        })
    }

    /// Connects within a time.
    ///
    /// # Errors
    /// The reason as text: the peer cannot be reached.
    pub fn connect(address: &Address, config: &link::Config, within: Duration) -> Result<Self, String> {
        let deadline = Instant::now() + within;
        let link = Link::connect(address, config).map_err(|error| error.to_string())?;
        let mut association = Association::of(link, Interest::READ_WRITE).map_err(|error| error.to_string())?;
        while association.link.finish_connect().map_err(|error| error.to_string())? == State::Connecting {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("no connection within {within:?}"));
            }
            association.wait(left);
        }
        association.watch();
        Ok(association)
    }

    /// Waits for the next connection; `None` if there is none within the time.
    pub fn accept(listener: &mut Listener, within: Duration) -> Result<Option<Self>, Error> {
        let deadline = Instant::now() + within;
        let poll = Poll::new().map_err(Error::System)?;
        poll.add(&*listener, 0, Interest::READ).map_err(Error::System)?;
        let mut events = Events::new();
        loop {
            // a peer that has gone before it was accepted is not an error of this end
            if let Ok(Some(link)) = listener.accept() {
                return Association::of(link, Interest::READ).map(Some).map_err(Error::System);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            poll.wait(&mut events, Some(left)).map_err(Error::System)?;
        }
    }

    /// Sends a PDU. An association that has ended takes it and reports its end by [`Association::next`].
    pub fn send(&mut self, pdu: &[u8]) {
        let sent = self.link.send(StreamId(0), &[pdu], Class::Keep).map(|_| ());
        if let Err(error) = sent.and_then(|()| self.link.flush().map(|_| ())) {
            self.end.get_or_insert(error.to_string());
        }
        self.watch();
    }

    /// Returns what comes next.
    pub fn next(&mut self, deadline: Instant) -> Incoming {
        loop {
            if let Some(pdu) = self.inbox.pop_front() {
                return Incoming::Pdu(pdu);
            }
            if let Some(reason) = &self.end {
                return Incoming::End(reason.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.wait(left);
            self.read();
            if left.is_zero() && self.inbox.is_empty() && self.end.is_none() {
                return Incoming::Nothing;
            }
        }
    }

    fn read(&mut self) {
        let inbox = &mut self.inbox;
        let received =
            self.link.receive(&mut self.scratch, READ_OCTETS, &mut |_, pdu: &[u8]| inbox.push_back(pdu.to_vec()));
        let result = received.map(|_| ()).and_then(|()| self.link.flush().map(|_| ()));
        if let Err(error) = result {
            self.end.get_or_insert(error.to_string());
        }
        self.watch();
    }

    fn wait(&mut self, at_most: Duration) {
        if let Err(error) = self.poll.wait(&mut self.events, Some(at_most)) {
            self.end.get_or_insert(error.to_string());
        }
    }

    /// Waits for writability only where octets wait, since a link is writable nearly always.
    fn watch(&mut self) {
        let interest = if self.link.wants_write() { Interest::READ_WRITE } else { Interest::READ };
        if let Err(error) = self.poll.modify(&self.link, 0, interest) {
            self.end.get_or_insert(error.to_string());
        }
    }

    /// Returns the octets that the peer sent but this end has not looked at.
    pub fn unread(&mut self) -> usize {
        self.read();
        self.inbox.len()
    }

    /// Closes the association after what was sent.
    pub fn close(self) {
        self.link.close();
    }
}
