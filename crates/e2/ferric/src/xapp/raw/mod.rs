//! The client library of external apps (xApps). Nodes come up and are lost; indications arrive as the node's
//! unmodified PDUs.
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
mod event;
mod exchange;
mod group;
mod reconnect;
mod session_state;
mod verify;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use e2::xapp::NodeInfo;
use e2::{NodeId, XappClient};
use e2ap::{Codec, GlobalRicId};
use link::{Address, Events, Link, Lookup, Poll, Scratch};

use crate::{Error, StopHandle};

use commands::RequestQueue;
use exchange::SessionEvent;
use reconnect::is_recoverable;
use session_state::SessionState;
use verify::Verifications;

pub use commands::Commands;
pub use e2::RequestEvent;
pub use event::{Indication, XappEvent};
pub use group::{MAX_RICS, XappGroup};
pub use verify::{MAX_VERIFICATIONS, TooManyVerifications, Verdict, Verification};

/// The configuration of an xApp's session.
#[derive(Clone, Debug)]
pub struct XappConfig {
    /// The time within which the RIC must send its welcome; before, its host name, if it has one, is looked up within 10 s.
    /// Default: 5 s.
    pub connect_timeout: Duration,
    /// The configuration of the link. Default: PDUs of up to 16 KiB above E2's 1 MiB, as a RIC sends them by default.
    pub link: link::Config,
    /// The delays before reconnecting when the RIC is lost. [`Xapp::poll`] then reports
    /// [`XappEvent::Disconnected`], reconnects, and resumes the subscriptions. `None`:
    /// `poll` fails instead. Default: 1 s at first, at most 30 s. [`Xapp::connect`] does not
    /// retry in either case.
    pub reconnect: Option<Reconnect>,
    /// Whether a session with several RICs is extended to the RICs that these name (see [`XappGroup`]). Default: true.
    pub learns_rics: bool,
    /// Encodings that nodes may use in addition to the built-in ones. Default: none.
    pub encodings: Vec<Codec>,
}

impl Default for XappConfig {
    fn default() -> Self {
        let e2 = link::Config::default();
        let link = link::Config { max_pdu_octets: e2.max_pdu_octets + crate::XAPP_OVERHEAD_OCTETS, ..e2 };
        XappConfig {
            connect_timeout: Duration::from_secs(5),
            link,
            reconnect: Some(Reconnect::default()),
            learns_rics: true,
            encodings: Vec::new(),
        }
    }
}

/// The delays before an xApp reconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// The first delay; it doubles with each failure. Default: 1 s.
    pub first: Duration,
    /// The longest delay. Default: 30 s.
    pub last: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Reconnect { first: Duration::from_secs(1), last: Duration::from_secs(30) }
    }
}

/// An xApp's session with a RIC.
pub struct Xapp {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    /// `None` while the RIC is lost, and while its host name is looked up.
    link: Option<Link>,
    lookup: Option<Lookup>,
    writable_wanted: bool,
    stop: StopHandle,
    address: Address,
    name: String,
    config: XappConfig,
    connection: ConnectionState,
    /// The delay before the next reconnection.
    pause: Duration,
    ric_id: GlobalRicId,
    nodes: BTreeMap<NodeId, NodeInfo>,
    /// Nodes that came with the welcome, before the first `poll`.
    unreported_nodes: Vec<NodeId>,
    requests: RequestQueue,
}

/// The state of the connection to the RIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// The hello is sent; the welcome must arrive by then, or before that the host name be looked up.
    AwaitingWelcome(Instant),
    Open,
    /// There is no RIC; the next attempt is at that time.
    Lost(Instant),
}

const LINK_TOKEN: u64 = 1;

impl Xapp {
    /// Connects to a RIC and waits for its welcome. `name` appears in the RIC's log.
    ///
    /// # Errors
    /// When no RIC answers at this address, the peer does not use the protocol, or the welcome does not arrive in
    /// time.
    pub fn connect(address: &Address, name: &str, config: XappConfig) -> Result<Self, Error> {
        let mut xapp = Xapp::unconnected(address, name, config)?;
        xapp.begin_to_connect()?;
        while xapp.connection != ConnectionState::Open {
            let mut unreported_nodes = Vec::new();
            // ends at the latest when the time for the look-up, or for the welcome, is over
            xapp.converse(None, &mut |event, _| match event {
                SessionEvent::Event(XappEvent::NodeUp(node)) => unreported_nodes.push(node.id),
                SessionEvent::Welcome(_) | SessionEvent::Event(_) => {}
            })?;
            xapp.unreported_nodes.append(&mut unreported_nodes);
        }
        Ok(xapp)
    }

    /// A session that connects as soon as it is driven.
    fn unconnected(address: &Address, name: &str, config: XappConfig) -> Result<Self, Error> {
        let poll = Poll::new().map_err(Error::epoll)?;
        let stop = StopHandle::new(&poll).map_err(Error::epoll)?;
        Ok(Xapp {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            link: None,
            lookup: None,
            writable_wanted: true,
            stop,
            address: address.clone(),
            name: name.to_owned(),
            connection: ConnectionState::Lost(Instant::now()),
            pause: config.reconnect.unwrap_or_default().first,
            ric_id: GlobalRicId::new(e2ap::PlmnIdentity([0; 3]), 0),
            nodes: BTreeMap::new(),
            unreported_nodes: Vec::new(),
            requests: RequestQueue {
                client: XappClient::new(),
                has_services: false,
                ends: Vec::new(),
                bytes: Vec::new(),
                verifications: Verifications::default(),
                state: SessionState::new(config.reconnect.is_some()),
                version: 0,
            },
            config,
        })
    }

    /// Sends the hello.
    fn send_hello(&mut self) {
        let RequestQueue { client, ends, bytes, .. } = &mut self.requests;
        client.hello(&self.name, bytes);
        ends.push(bytes.len());
    }

    /// Returns the RIC's global id.
    #[must_use]
    pub fn ric_id(&self) -> GlobalRicId {
        self.ric_id
    }

    /// Returns the address of the RIC.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the nodes that are up.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeInfo> {
        self.nodes.values()
    }

    /// Returns a handle that makes [`Xapp::poll`] return early; see [`StopHandle::is_stopped`].
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Returns the commands, for use outside of the handler. The next [`Xapp::poll`] sends them.
    pub fn commands(&mut self) -> Commands<'_> {
        Commands::of(&mut self.requests)
    }

    /// Waits for messages for at most `timeout` (`None`: without limit), then passes all events to `handle`, in order.
    ///
    /// # Errors
    /// When the RIC refuses the session, or is lost and [`XappConfig::reconnect`] is `None`: the session is over.
    pub fn poll(
        &mut self,
        timeout: Option<Duration>,
        mut handle: impl FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        // compiled once for all handlers
        self.poll_with(timeout, &mut handle)
    }

    fn poll_with(
        &mut self,
        timeout: Option<Duration>,
        handle: &mut dyn FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let unreported_nodes = std::mem::take(&mut self.unreported_nodes);
        let timeout = if unreported_nodes.is_empty() { timeout } else { Some(Duration::ZERO) };
        for node in unreported_nodes.iter().filter_map(|id| self.nodes.get(id)) {
            handle(XappEvent::NodeUp(node), &mut Commands::of(&mut self.requests));
        }
        if let ConnectionState::Lost(until) = self.connection
            && !self.reconnect(timeout, until, handle)?
        {
            return Ok(());
        }
        let mut welcome = None;
        let exchanged = self.converse(timeout, &mut |event, commands| match event {
            SessionEvent::Welcome(ric_id) => {
                welcome = Some(ric_id);
                handle(XappEvent::Reconnected(ric_id), commands);
            }
            SessionEvent::Event(event) => handle(event, commands),
        });
        if let Some(ric_id) = welcome {
            tracing::info!(ric = %self.address, %ric_id, "reconnected to the RIC");
        }
        match exchanged {
            Err(error) if self.config.reconnect.is_some() && is_recoverable(&error) => {
                let retry_in_ms = self.pause.as_millis();
                tracing::warn!(ric = %self.address, %error, retry_in_ms, "connection to the RIC lost; reconnecting");
                self.lose(handle);
                Ok(())
            }
            result => result,
        }
    }

    /// Exchanges messages over the link. The welcome opens the session; one that is late is an error.
    fn converse(
        &mut self,
        timeout: Option<Duration>,
        handle: &mut dyn FnMut(SessionEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let mut welcome = None;
        let exchanged = self.exchange(timeout, &mut |event, commands| {
            if let SessionEvent::Welcome(ric_id) = &event {
                welcome = Some(*ric_id);
            }
            handle(event, commands);
        });
        if let Some(ric_id) = welcome {
            (self.ric_id, self.connection) = (ric_id, ConnectionState::Open);
            self.pause = self.config.reconnect.unwrap_or_default().first;
        }
        // a look-up that is late is for `finish_lookup`
        let late = matches!(self.connection, ConnectionState::AwaitingWelcome(by) if by <= Instant::now())
            && self.lookup.is_none();
        exchanged.and(if late { Err(Error::NoAnswer) } else { Ok(()) })
    }
}
