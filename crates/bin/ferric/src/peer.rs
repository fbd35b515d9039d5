//! A peer that is talked to by hand.

use std::collections::VecDeque;
use std::time::Instant;

use ferric::link::{Address, Class, Config, Error, Events, Interest, Link, Listener, Poll, Scratch, State, StreamId};

/// Messages kept that nobody waited for yet; beyond these the oldest are only counted.
const INBOX_MESSAGES: usize = 4096;
const BUDGET_OCTETS: usize = 256 * 1024;

pub struct Peer {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    link: Link,
    inbox: VecDeque<Vec<u8>>,
    /// Messages that the inbox had no room for.
    pub forgotten: usize,
    /// Why there is nothing more.
    lost: Option<Error>,
}

fn epoll(source: std::io::Error) -> Error {
    Error::Io { operation: "epoll", source }
}

impl Peer {
    /// Begins to connect.
    pub fn connect(address: &Address, config: &Config) -> Result<Peer, Error> {
        Peer::of(Link::connect(address, config)?)
    }

    /// Waits for the next connection until `deadline`; `None` where none comes.
    pub fn accept(listener: &mut Listener, deadline: Option<Instant>) -> Result<Option<Peer>, Error> {
        let poll = Poll::new().map_err(epoll)?;
        poll.add(listener, 0, Interest::READ).map_err(epoll)?;
        let mut events = Events::new();
        loop {
            if let Some(link) = listener.accept()? {
                return Peer::of(link).map(Some);
            }
            let patience = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if patience.is_some_and(|patience| patience.is_zero()) {
                return Ok(None);
            }
            poll.wait(&mut events, patience).map_err(epoll)?;
        }
    }

    fn of(link: Link) -> Result<Peer, Error> {
        let poll = Poll::new().map_err(epoll)?;
        poll.add(&link, 0, Interest::READ_WRITE).map_err(epoll)?;
        let (events, scratch) = (Events::new(), Scratch::new());
        Ok(Peer { poll, events, scratch, link, inbox: VecDeque::new(), forgotten: 0, lost: None })
    }

    /// The link itself.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Waits until the connection stands; false where it does not until `deadline`.
    pub fn establish(&mut self, deadline: Instant) -> Result<bool, Error> {
        while self.link.state() == State::Connecting {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            self.exchange(deadline)?;
        }
        Ok(true)
    }

    /// Sends a message; one that was lost before is lost.
    pub fn send(&mut self, stream: StreamId, pdu: &[u8]) -> Result<(), Error> {
        self.link.send(stream, &[pdu], Class::Keep)?;
        self.exchange(Instant::now())
    }

    /// Works until something came that is `wanted`, or until `deadline`, or until the peer is gone.
    pub fn work_until(
        &mut self,
        deadline: Instant,
        mut wanted: impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        loop {
            if let Some(at) = self.inbox.iter().position(|pdu| wanted(pdu)) {
                return Ok(self.inbox.remove(at));
            }
            if Instant::now() >= deadline || self.lost.is_some() {
                return Ok(None);
            }
            self.exchange(deadline)?;
        }
    }

    /// What came and nobody waited for.
    pub fn rest(&mut self) -> impl Iterator<Item = Vec<u8>> {
        std::mem::take(&mut self.inbox).into_iter()
    }

    /// Why nothing more comes, where that is so.
    pub fn lost(&self) -> Option<&Error> {
        self.lost.as_ref()
    }

    /// The same, taken out.
    pub fn take_lost(&mut self) -> Option<Error> {
        self.lost.take()
    }

    fn exchange(&mut self, until: Instant) -> Result<(), Error> {
        let was = self.link.state();
        let flushed = self.link.flush();
        // one that never came to be is the end; one that is lost may have said something before
        if self.link.state() == State::Closed {
            flushed?;
        }
        // whoever waits for that is to know it at once
        if was != self.link.state() {
            return Ok(());
        }
        let interest = if self.link.wants_write() { Interest::READ_WRITE } else { Interest::READ };
        self.poll.modify(&self.link, 0, interest).map_err(epoll)?;
        let patience = until.saturating_duration_since(Instant::now());
        self.poll.wait(&mut self.events, Some(patience)).map_err(epoll)?;
        if !self.events.iter().any(|event| event.readable) {
            return Ok(());
        }
        let Peer { link, scratch, inbox, forgotten, .. } = self;
        let received = link.receive(scratch, BUDGET_OCTETS, &mut |_, pdu| {
            if inbox.len() == INBOX_MESSAGES {
                inbox.pop_front();
                *forgotten += 1;
            }
            inbox.push_back(pdu.to_vec());
        });
        match received {
            Ok(_) => Ok(()),
            Err(error @ Error::Connect { .. }) => Err(error),
            Err(error) => {
                // the first reason is the reason: what follows is that it is lost
                self.lost.get_or_insert(error);
                Ok(())
            }
        }
    }
}
