//! The live peer.

use std::collections::VecDeque;
use std::time::Instant;

use anyhow::Context;
use ferric::link::{Address, Class, Config, Error, Events, Interest, Link, Listener, Poll, Scratch, State, StreamId};

/// Messages kept that nobody waited for yet; beyond these the oldest are only counted.
const INBOX_MESSAGES: usize = 4096;
const BUDGET_OCTETS: usize = 256 * 1024;

pub struct Live {
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

impl Live {
    pub fn connect(address: &Address) -> anyhow::Result<Live> {
        let link = Link::connect(address, &Config::default())?;
        Live::of(link)
    }

    pub fn accept(address: &Address) -> anyhow::Result<Live> {
        let poll = Poll::new().context("epoll")?;
        let mut listener = Listener::bind(address, &Config::default())?;
        poll.add(&listener, 0, Interest::READ).context("epoll")?;
        say!("e2={}", listener.local_address());
        let mut events = Events::new();
        loop {
            if let Some(link) = listener.accept()? {
                return Live::of(link);
            }
            poll.wait(&mut events, None).context("epoll")?;
        }
    }

    fn of(link: Link) -> anyhow::Result<Live> {
        let poll = Poll::new().context("epoll")?;
        poll.add(&link, 0, Interest::READ_WRITE).context("epoll")?;
        let (events, scratch) = (Events::new(), Scratch::new());
        Ok(Live { poll, events, scratch, link, inbox: VecDeque::new(), forgotten: 0, lost: None })
    }

    pub fn send(&mut self, stream: StreamId, pdu: &[u8]) -> anyhow::Result<()> {
        self.link.send(stream, &[pdu], Class::Keep).with_context(|| format!("{} is lost", self.link.peer()))?;
        self.exchange(Some(Instant::now()))
    }

    /// Works until something came that is `wanted`, or until `deadline`, or until the peer is gone.
    pub fn work_until(
        &mut self,
        deadline: Instant,
        mut wanted: impl FnMut(&[u8]) -> bool,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        loop {
            if let Some(at) = self.inbox.iter().position(|pdu| wanted(pdu)) {
                return Ok(self.inbox.remove(at));
            }
            if Instant::now() >= deadline || self.lost.is_some() {
                return Ok(None);
            }
            self.exchange(Some(deadline))?;
        }
    }

    /// What came and nobody waited for.
    pub fn rest(&mut self) -> impl Iterator<Item = Vec<u8>> {
        std::mem::take(&mut self.inbox).into_iter()
    }

    /// Why nothing comes, where that is known.
    pub fn why(&self) -> String {
        self.lost.as_ref().map_or_else(String::new, |error| format!(" ({error})"))
    }

    fn exchange(&mut self, until: Option<Instant>) -> anyhow::Result<()> {
        if let Err(error) = self.link.flush() {
            // one that never came to be is the end, one that is lost may have said something before
            if self.link.state() == State::Closed {
                return Err(error.into());
            }
        }
        let interest = if self.link.wants_write() { Interest::READ_WRITE } else { Interest::READ };
        self.poll.modify(&self.link, 0, interest).context("epoll")?;
        let patience = until.map(|until| until.saturating_duration_since(Instant::now()));
        self.poll.wait(&mut self.events, patience).context("epoll")?;
        if !self.events.iter().any(|event| event.readable) {
            return Ok(());
        }
        let Live { link, scratch, inbox, forgotten, .. } = self;
        let received = link.receive(scratch, BUDGET_OCTETS, &mut |_, pdu| {
            if inbox.len() == INBOX_MESSAGES {
                inbox.pop_front();
                *forgotten += 1;
            }
            inbox.push_back(pdu.to_vec());
        });
        match received {
            Ok(_) => Ok(()),
            Err(error @ Error::Connect { .. }) => Err(error.into()),
            Err(error) => {
                self.lost = Some(error);
                Ok(())
            }
        }
    }
}
