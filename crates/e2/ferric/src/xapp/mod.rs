//! An external app: nodes come and go, indications come as the node's very bytes.
//!
//! ```no_run
//! use ferric::xapp::{Xapp, XappEvent};
//!
//! let mut xapp = Xapp::connect(&"tcp://127.0.0.1:36423".parse()?, "hello", Default::default())?;
//! loop {
//!     xapp.poll(None, |event, _ric| match event {
//!         XappEvent::NodeUp(node) => println!("{} offers {} functions", node.global_id, node.functions.len()),
//!         XappEvent::Indication(indication) => println!("{} octets", indication.pdu.len()),
//!         other => println!("{other:?}"),
//!     })?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commands;
mod config;
mod event;
mod exchange;
mod kept;
mod reconnect;
mod verify;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use e2::xapp::NodeInfo;
use e2::{NodeId, XappClient};
use e2ap::GlobalRicId;
use link::{Address, Events, Interest, Link, Poll, Scratch};

use crate::{Error, StopHandle};

use commands::Desk;
use exchange::Raw;
use kept::Kept;
use reconnect::is_loss;
use verify::Verifications;

pub use commands::Commands;
pub use config::{Reconnect, XappConfig};
pub use e2::RequestEvent;
pub use event::{Indication, XappEvent};
pub use verify::{MAX_VERIFICATIONS, TooManyVerifications, Verdict, Verify};

/// An xApp's session with a RIC.
pub struct Xapp {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    /// None while the RIC is lost.
    link: Option<Link>,
    writable_wanted: bool,
    stop: StopHandle,
    address: Address,
    name: String,
    config: XappConfig,
    session: Session,
    /// The next pause before connecting again.
    pause: Duration,
    ric_id: GlobalRicId,
    nodes: BTreeMap<NodeId, NodeInfo>,
    /// News that came with the welcome, before anybody asked.
    early: Vec<NodeId>,
    desk: Desk,
}

/// How it stands with the RIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session {
    /// Hello is said, and to be answered by then.
    Greeting(Instant),
    Open,
    /// The RIC is lost, and not to be tried before then.
    Lost(Instant),
}

const LINK_TOKEN: u64 = 1;

impl Xapp {
    /// Connects to a RIC and says hello; `name` is for the RIC's log.
    ///
    /// # Errors
    /// Where nobody is there, or nobody that speaks the protocol, or there is no welcome in time.
    pub fn connect(address: &Address, name: &str, config: XappConfig) -> Result<Self, Error> {
        let deadline = Instant::now() + config.connect_timeout;
        let poll = Poll::new().map_err(Error::epoll)?;
        let stop = StopHandle::new(&poll).map_err(Error::epoll)?;
        let link = Link::connect(address, &config.link)?;
        poll.add(&link, LINK_TOKEN, Interest::READ_WRITE).map_err(Error::epoll)?;
        let mut xapp = Xapp {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            link: Some(link),
            writable_wanted: true,
            stop,
            address: address.clone(),
            name: name.to_owned(),
            session: Session::Greeting(deadline),
            pause: config.reconnect.unwrap_or_default().first,
            ric_id: GlobalRicId::new(e2ap::PlmnIdentity([0; 3]), 0),
            nodes: BTreeMap::new(),
            early: Vec::new(),
            desk: Desk {
                client: XappClient::new(),
                ends: Vec::new(),
                bytes: Vec::new(),
                verifications: Verifications::default(),
                kept: Kept::new(config.reconnect.is_some()),
            },
            config,
        };
        xapp.greet();
        let mut welcome = None;
        while welcome.is_none() {
            let patience = deadline.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                return Err(Error::NoAnswer);
            }
            let mut early = Vec::new();
            xapp.exchange(Some(patience), &mut |event, _| match event {
                Raw::Welcome(ric_id) => welcome = Some(ric_id),
                Raw::News(XappEvent::NodeUp(node)) => early.push(node.id),
                Raw::News(_) => {}
            })?;
            xapp.early.append(&mut early);
        }
        if let Some(ric_id) = welcome {
            xapp.ric_id = ric_id;
        }
        xapp.session = Session::Open;
        Ok(xapp)
    }

    /// Says hello.
    fn greet(&mut self) {
        let Desk { client, ends, bytes, .. } = &mut self.desk;
        client.hello(&self.name, bytes);
        ends.push(bytes.len());
    }

    /// Who the RIC is.
    #[must_use]
    pub fn ric_id(&self) -> GlobalRicId {
        self.ric_id
    }

    /// The nodes that are there.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeInfo> {
        self.nodes.values()
    }

    /// What makes [`Xapp::poll`] return early; see [`StopHandle::is_stopped`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// What the xApp asks for outside of its handler. It is sent in the next turn.
    pub fn commands(&mut self) -> Commands<'_> {
        Commands(&mut self.desk)
    }

    /// Waits at most `patience` (`None`: until something comes), then hands all that came to `handle`, in order.
    ///
    /// # Errors
    /// Where the RIC turns the xApp away, or is lost and is not to be connected to again: the session is over.
    pub fn poll(
        &mut self,
        patience: Option<Duration>,
        mut handle: impl FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        // one loop for all handlers
        self.poll_with(patience, &mut handle)
    }

    fn poll_with(
        &mut self,
        patience: Option<Duration>,
        handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let early = std::mem::take(&mut self.early);
        let patience = if early.is_empty() { patience } else { Some(Duration::ZERO) };
        for node in early.iter().filter_map(|id| self.nodes.get(id)) {
            handle(XappEvent::NodeUp(node), &mut Commands(&mut self.desk));
        }
        if let Session::Lost(until) = self.session
            && !self.come_back(patience, until, handle)?
        {
            return Ok(());
        }
        let mut welcome = None;
        let exchanged = self.exchange(patience, &mut |event, commands| match event {
            Raw::Welcome(ric_id) => {
                welcome = Some(ric_id);
                handle(XappEvent::Reconnected(ric_id), commands);
            }
            Raw::News(event) => handle(event, commands),
        });
        if let Some(ric_id) = welcome {
            tracing::info!(ric = %self.address, %ric_id, "the RIC is back");
            (self.ric_id, self.session) = (ric_id, Session::Open);
            self.pause = self.config.reconnect.unwrap_or_default().first;
        }
        let late = matches!(self.session, Session::Greeting(by) if by <= Instant::now());
        match exchanged.and(if late { Err(Error::NoAnswer) } else { Ok(()) }) {
            Err(error) if self.config.reconnect.is_some() && is_loss(&error) => {
                let retry_in_ms = self.pause.as_millis();
                tracing::warn!(ric = %self.address, %error, retry_in_ms, "the RIC is lost; connecting again after a pause");
                self.lose(handle);
                Ok(())
            }
            result => result,
        }
    }
}
