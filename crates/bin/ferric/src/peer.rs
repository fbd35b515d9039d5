//! A peer on a blocking link, for tools that exchange single messages.

use std::collections::VecDeque;
use std::time::Instant;

use ferric::link::{Address, Class, Config, Error, Events, Interest, Link, Listener, Poll, Scratch, State, StreamId};

/// The capacity of the inbox; the oldest messages beyond it are dropped and counted.
const INBOX_MESSAGES: usize = 4096;
/// The octets that one read may take.
const BUDGET_OCTETS: usize = 256 * 1024;

/// The other end of a link.
pub struct Peer {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    link: Link,
    inbox: VecDeque<Vec<u8>>,
    /// Messages that the full inbox dropped.
    pub dropped: usize,
    /// Why the link was lost.
    lost: Option<Error>,
}

fn epoll(source: std::io::Error) -> Error {
    Error::Io { operation: "epoll", source }
}

impl Peer {
    /// Starts to connect.
    pub fn connect(address: &Address, config: &Config) -> Result<Peer, Error> {
        Peer::of(Link::connect(address, config)?)
    }

    /// Waits for the next connection until `deadline`; `None` if there is none.
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
        Ok(Peer { poll, events, scratch, link, inbox: VecDeque::new(), dropped: 0, lost: None })
    }

    /// The link.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Waits until the link is established; false if it is not before `deadline`.
    pub fn establish(&mut self, deadline: Instant) -> Result<bool, Error> {
        while self.link.state() == State::Connecting {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            self.exchange(deadline)?;
        }
        Ok(true)
    }

    /// Sends a message.
    pub fn send(&mut self, stream: StreamId, pdu: &[u8]) -> Result<(), Error> {
        self.link.send(stream, &[pdu], Class::Keep)?;
        self.exchange(Instant::now())
    }

    /// Waits for a message that is `wanted`, until `deadline` or until the link is lost.
    pub fn wait_for(
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

    /// Takes the messages that nothing has waited for.
    pub fn take_inbox(&mut self) -> impl Iterator<Item = Vec<u8>> {
        std::mem::take(&mut self.inbox).into_iter()
    }

    /// Why the link was lost, if it was.
    pub fn lost(&self) -> Option<&Error> {
        self.lost.as_ref()
    }

    /// Takes the reason why the link was lost.
    pub fn take_lost(&mut self) -> Option<Error> {
        self.lost.take()
    }

    fn exchange(&mut self, until: Instant) -> Result<(), Error> {
        let was = self.link.state();
        let flushed = self.link.flush();
        // a link that was never established is an error; a lost one may have received messages before
        if self.link.state() == State::Closed {
            flushed?;
        }
        // the caller may wait for this change
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
        let Peer { link, scratch, inbox, dropped, .. } = self;
        let received = link.receive(scratch, BUDGET_OCTETS, &mut |_, pdu| {
            if inbox.len() == INBOX_MESSAGES {
                inbox.pop_front();
                *dropped += 1;
            }
            inbox.push_back(pdu.to_vec());
        });
        match received {
            Ok(_) => Ok(()),
            Err(error @ Error::Connect { .. }) => Err(error),
            Err(error) => {
                // the first error is the reason; those that follow are its consequences
                self.lost.get_or_insert(error);
                Ok(())
            }
        }
    }
}
