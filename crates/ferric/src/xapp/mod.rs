//! An external app: nodes come and go, indications come as the node's very bytes.
//!
//! ```no_run
//! use ferric::xapp::{Xapp, XappEvent};
//!
//! let mut xapp = Xapp::connect(&"tcp://127.0.0.1:36423".parse()?, "hello", Default::default())?;
//! loop {
//!     xapp.turn(None, |event, _ric| match event {
//!         XappEvent::NodeUp(node) => println!("{} offers {} functions", node.global_id, node.functions.len()),
//!         XappEvent::Indication(indication) => println!("{} octets", indication.pdu.len()),
//!         other => println!("{other:?}"),
//!     })?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod kept;
mod verify;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use e2::xapp::{ClientEvent, ControlResult, ModifyResult, NodeInfo, QueryResult, SubscribeFailure};
use e2::{NodeId, SubscriptionChange, SubscriptionEnd, SubscriptionId, SubscriptionOrder, Ticket, XappClient};
use e2ap::{Cause, Codec, GlobalRicId, RanFunctionId, RicActionId, RicIndication, RicTimeToWait, Version, peek};
use link::{Address, Class, Events, Interest, Link, Poll, Scratch, StreamId};
use per::Gather;

use crate::stop::STOP_TOKEN;
use crate::{Error, Stop, credentials};

use kept::{Asked, Kept, Taken};
use verify::Verifications;
pub use verify::{MAX_VERIFICATIONS, TooManyVerifications, Verdict, Verify};

/// How an xApp behaves.
#[derive(Clone, Debug)]
pub struct XappConfig {
    /// The RIC must welcome it within this. Default: 5 s.
    pub connect_timeout: Duration,
    /// The link's bounds. Default: PDUs as long as a RIC sends by its own defaults, which is 16 KiB above E2's 1 MiB.
    pub link: link::Config,
    /// How a session outlives its RIC: where the RIC is lost, [`Xapp::turn`] tells so by [`XappEvent::Disconnected`], connects
    /// again after a pause, and asks again for what the xApp had subscribed to. None: `turn` fails then. Default: after 1 s
    /// first and 30 s at last. [`Xapp::connect`] fails in either case where nobody is there, or turns the xApp away.
    pub reconnect: Option<Reconnect>,
    /// Encodings that nodes may use beside those that are built in. Default: none.
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
            encodings: Vec::new(),
        }
    }
}

/// The pauses before an xApp connects again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// The first one; each next one is twice as long. Default: 1 s.
    pub first: Duration,
    /// The longest. Default: 30 s.
    pub last: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Reconnect { first: Duration::from_secs(1), last: Duration::from_secs(30) }
    }
}

/// What an xApp is told.
#[derive(Clone, Debug, PartialEq)]
pub enum XappEvent<'a> {
    /// The RIC is lost, and tried again after a pause ([`XappConfig::reconnect`]). Told after the loss of all nodes, the
    /// suspension of all subscriptions, and the failure of all that was not answered.
    Disconnected {
        /// Until the next attempt.
        retry_in: Duration,
    },
    /// The RIC is back, or another one in its place.
    Reconnected(GlobalRicId),
    /// A node is there.
    NodeUp(&'a NodeInfo),
    /// A node is not what was told of it before.
    NodeChanged(&'a NodeInfo),
    /// A node is gone, and every subscription with it that is not suspended.
    NodeLost(&'a NodeInfo),
    /// A subscription stands.
    Subscribed {
        /// Of which command.
        ticket: Ticket,
        /// Its name from now on.
        subscription: SubscriptionId,
        /// Actions that are set up.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// A subscription does not stand.
    SubscribeFailed {
        /// Of which command.
        ticket: Ticket,
        /// Why.
        failure: SubscribeFailure,
    },
    /// A subscription waits for its node to come back: it is resumed, or ends.
    SubscriptionSuspended(SubscriptionId),
    /// A subscription that was suspended stands again.
    SubscriptionResumed {
        /// Which one.
        subscription: SubscriptionId,
        /// Its node's present name, which may be told before the node itself.
        node: NodeId,
        /// Actions that are set up now.
        admitted: Vec<RicActionId>,
        /// Actions that are not, and why.
        not_admitted: Vec<(RicActionId, Cause)>,
    },
    /// The node requires a subscription to change, and the xApp wants to be asked ([`SubscriptionOrder::consent`]): answered
    /// by [`Commands::answer_change`], within a second unless the RIC is configured otherwise. What is not refused by then is
    /// agreed to.
    ChangeRequired {
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are to go, and why.
        remove: Vec<(RicActionId, Cause)>,
        /// Actions that are to be followed by another time to wait.
        modify: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// The node required a subscription to change, and the RIC agreed.
    SubscriptionChanged {
        /// Which one.
        subscription: SubscriptionId,
        /// Actions that are gone, and why.
        removed: Vec<(RicActionId, Cause)>,
        /// Actions that are followed by another time to wait.
        modified: Vec<(RicActionId, RicTimeToWait)>,
    },
    /// What became of a subscription's change.
    Modified {
        /// Of which command.
        ticket: Ticket,
        /// Of which subscription.
        subscription: SubscriptionId,
        /// What became of it.
        result: ModifyResult,
    },
    /// What became of a query.
    Queried {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        result: QueryResult,
    },
    /// A subscription stands no more.
    SubscriptionEnded {
        /// Which one.
        subscription: SubscriptionId,
        /// Why.
        end: SubscriptionEnd,
    },
    /// An indication.
    Indication(Indication<'a>),
    /// What became of a control.
    Controlled {
        /// Of which command.
        ticket: Ticket,
        /// What became of it.
        result: ControlResult,
    },
    /// Whether a control that was to be verified, and was acknowledged, had its effect.
    Verified {
        /// Of which command.
        ticket: Ticket,
        /// What the reports say.
        verdict: Verdict,
    },
    /// Reports were lost because the xApp reads too slowly: all of them until now.
    Dropped(u64),
}

/// An indication: the node's very bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indication<'a> {
    /// From which node.
    pub node: NodeId,
    /// Of which subscription.
    pub subscription: SubscriptionId,
    /// The version that it is written in.
    pub version: Version,
    /// The encoding that it is written in, where that is known here: see [`XappConfig::encodings`].
    pub codec: Option<Codec>,
    /// The E2AP PDU.
    pub pdu: &'a [u8],
}

/// The encoding of that name, built in or among `others`.
fn named(others: &[Codec], name: &str) -> Option<Codec> {
    Codec::named(name).or_else(|| others.iter().copied().find(|codec| codec.name() == name))
}

impl<'a> Indication<'a> {
    /// Ids and payload without decoding; `None` where the payload came in fragments (PER, from 16384 octets on), and where
    /// the encoding is not known here.
    #[must_use]
    pub fn peek(&self) -> Option<peek::Indication<'a>> {
        self.codec?.peek_indication(self.pdu)
    }

    /// The whole message; `gather` takes a payload that came in fragments.
    ///
    /// # Errors
    /// Where the encoding is not known here. The RIC forwards nothing but indications.
    pub fn decode(&self, gather: &'a Gather) -> Result<RicIndication<'a>, e2ap::Error> {
        let unknown = per::Error { kind: per::ErrorKind::UnknownExtension, bit: 0, at: "encoding" };
        self.codec.ok_or(e2ap::Error::Header(unknown))?.decode_indication(self.pdu, self.version, gather)
    }
}

/// What an xApp can ask for.
#[derive(Debug)]
pub struct Commands<'a>(&'a mut Desk);

/// What is asked for until it is sent, and what is known of it until it is answered.
#[derive(Debug)]
struct Desk {
    client: XappClient,
    /// Messages, each behind its end within `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    verifications: Verifications,
    kept: Kept,
}

impl Desk {
    fn subscribe(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        order: SubscriptionOrder,
        again: Option<SubscriptionId>,
    ) -> Ticket {
        let ticket = self.client.subscribe(node, function, order.clone(), &mut self.bytes);
        self.ends.push(self.bytes.len());
        self.kept.ask(ticket, || Asked::Subscribe { node, function, order, again });
        ticket
    }
}

impl Commands<'_> {
    /// Subscribes to a node's function; the ticket comes back with what becomes of it. A plain
    /// [`SubscriptionSpec`](e2::SubscriptionSpec) will do: it comes back by itself after its node was lost.
    pub fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: impl Into<SubscriptionOrder>) -> Ticket {
        self.0.subscribe(node, function, order.into(), None)
    }

    /// Changes a subscription, which E2AP has from v3 on; the ticket comes back with what becomes of it.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Ticket {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        // one that the RIC does not have now is none of its, whatever it is called there
        let remote = kept.remote(subscription).unwrap_or(SubscriptionId(u32::MAX));
        let ticket = client.modify(remote, change, bytes);
        ends.push(bytes.len());
        kept.ask(ticket, || Asked::Modify(subscription));
        ticket
    }

    /// Answers an [`XappEvent::ChangeRequired`]: actions that are to stay as they are, each with the cause that the node is
    /// told. The RIC agrees to the rest. An answer that comes too late changes nothing.
    pub fn answer_change(&mut self, subscription: SubscriptionId, refused: &[(RicActionId, Cause)]) {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        if let Some(remote) = kept.remote(subscription) {
            client.answer_change(remote, refused, bytes);
            ends.push(bytes.len());
        }
    }

    /// Leaves a subscription.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        if let Some(remote) = kept.leave(subscription) {
            client.unsubscribe(remote, bytes);
            ends.push(bytes.len());
        }
    }

    /// Asks a function to do something and to acknowledge it; the ticket comes back with what becomes of it.
    pub fn control(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], message: &[u8]) -> Ticket {
        self.send_control(node, function, None, header, message)
    }

    /// The same, and looks whether the control had its effect: once it is acknowledged, the reports of a subscription are
    /// watched, and [`XappEvent::Verified`] says what they show. A control that fails is told as ever, and not verified.
    ///
    /// # Errors
    /// Where [`MAX_VERIFICATIONS`] are under way; then nothing was sent.
    pub fn control_verified(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        header: &[u8],
        message: &[u8],
        verify: Verify,
    ) -> Result<Ticket, TooManyVerifications> {
        if !self.0.verifications.has_room() {
            return Err(TooManyVerifications);
        }
        let ticket = self.control(node, function, header, message);
        self.0.verifications.add(ticket, verify);
        Ok(ticket)
    }

    /// Answers an insert: a control that carries the insert's call process id, and that is to be acknowledged.
    pub fn answer_insert(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        call_process_id: &[u8],
        header: &[u8],
        message: &[u8],
    ) -> Ticket {
        self.send_control(node, function, Some(call_process_id), header, message)
    }

    fn send_control(
        &mut self,
        node: NodeId,
        function: RanFunctionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Ticket {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        let ticket = client.control(node, function, header, message, call_process_id, true, bytes);
        ends.push(bytes.len());
        kept.ask(ticket, || Asked::Control);
        ticket
    }

    /// Asks a function something, which E2AP has from v3 on; the ticket comes back with what becomes of it.
    pub fn query(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], definition: &[u8]) -> Ticket {
        let Desk { client, ends, bytes, kept, .. } = &mut *self.0;
        let ticket = client.query(node, function, header, definition, bytes);
        ends.push(bytes.len());
        kept.ask(ticket, || Asked::Query);
        ticket
    }
}

/// An xApp's session with a RIC.
pub struct Xapp {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    /// None while the RIC is lost.
    link: Option<Link>,
    writable_wanted: bool,
    stop: Stop,
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
const BUDGET_OCTETS: usize = 256 * 1024;

impl Xapp {
    /// Connects to a RIC and says hello; `name` is for the RIC's log.
    ///
    /// # Errors
    /// Where nobody is there, or nobody that speaks the protocol, or there is no welcome in time.
    pub fn connect(address: &Address, name: &str, config: XappConfig) -> Result<Self, Error> {
        let deadline = Instant::now() + config.connect_timeout;
        let poll = Poll::new().map_err(Error::epoll)?;
        let stop = Stop::new(&poll).map_err(Error::epoll)?;
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
            xapp.exchange(Some(patience), |event, _| match event {
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

    /// What makes [`Xapp::turn`] return early; see [`Stop::is_stopped`].
    #[must_use]
    pub fn stop(&self) -> Stop {
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
    pub fn turn(
        &mut self,
        patience: Option<Duration>,
        mut handle: impl FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let early = std::mem::take(&mut self.early);
        let patience = if early.is_empty() { patience } else { Some(Duration::ZERO) };
        for node in early.iter().filter_map(|id| self.nodes.get(id)) {
            handle(XappEvent::NodeUp(node), &mut Commands(&mut self.desk));
        }
        if let Session::Lost(until) = self.session
            && !self.come_back(patience, until, &mut handle)?
        {
            return Ok(());
        }
        let mut welcome = None;
        let exchanged = self.exchange(patience, |event, commands| match event {
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
                self.lose(&mut handle);
                Ok(())
            }
            result => result,
        }
    }

    /// Connects again, once the pause is over. Whether there is a link.
    fn come_back(
        &mut self,
        patience: Option<Duration>,
        until: Instant,
        handle: &mut impl FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<bool, Error> {
        let left = until.saturating_duration_since(Instant::now());
        self.poll.wait(&mut self.events, Some(patience.unwrap_or(left).min(left))).map_err(Error::epoll)?;
        // what is asked for now is asked of nobody
        self.fail_unanswered(handle);
        if Instant::now() < until {
            return Ok(false);
        }
        credentials::renew(&self.config.link);
        let linked = Link::connect(&self.address, &self.config.link).map_err(Error::from);
        let added = linked.and_then(|link| {
            self.poll.add(&link, LINK_TOKEN, Interest::READ_WRITE).map_err(Error::epoll)?;
            Ok(link)
        });
        match added {
            Ok(link) => {
                self.link = Some(link);
                self.writable_wanted = true;
                self.session = Session::Greeting(Instant::now() + self.config.connect_timeout);
                self.greet();
                Ok(true)
            }
            Err(error) => {
                tracing::debug!(ric = %self.address, %error, "cannot connect");
                self.rest(handle);
                Ok(false)
            }
        }
    }

    /// The RIC is lost: all that it had told and all that was asked of it.
    fn lose(&mut self, handle: &mut impl FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        if let Some(link) = self.link.take() {
            // closing the descriptor would do as well
            let _ = self.poll.remove(&link);
        }
        self.early.clear();
        self.fail_unanswered(handle);
        for node in std::mem::take(&mut self.nodes).values() {
            handle(XappEvent::NodeLost(node), &mut Commands(&mut self.desk));
        }
        self.rest(handle);
    }

    /// What was asked for is not answered, and what stood does not stand now.
    fn fail_unanswered(&mut self, handle: &mut impl FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        self.desk.ends.clear();
        self.desk.bytes.clear();
        let (unanswered, suspended) = self.desk.kept.lose();
        let verdicts = self.desk.verifications.lose();
        let left = self.desk.kept.take_left();
        let commands = &mut Commands(&mut self.desk);
        for (ticket, asked) in unanswered {
            handle(
                match asked {
                    Asked::Subscribe { .. } => {
                        XappEvent::SubscribeFailed { ticket, failure: SubscribeFailure::NodeLost }
                    }
                    Asked::Modify(subscription) => {
                        XappEvent::Modified { ticket, subscription, result: ModifyResult::Ended }
                    }
                    Asked::Control => XappEvent::Controlled { ticket, result: ControlResult::NodeLost },
                    Asked::Query => XappEvent::Queried { ticket, result: QueryResult::NodeLost },
                },
                commands,
            );
        }
        for (ticket, verdict) in verdicts {
            handle(XappEvent::Verified { ticket, verdict }, commands);
        }
        for subscription in suspended {
            handle(XappEvent::SubscriptionSuspended(subscription), commands);
        }
        for subscription in left {
            handle(XappEvent::SubscriptionEnded { subscription, end: SubscriptionEnd::Deleted }, commands);
        }
    }

    /// Pauses before the next attempt.
    fn rest(&mut self, handle: &mut impl FnMut(XappEvent<'_>, &mut Commands<'_>)) {
        let retry_in = self.pause;
        self.pause = self.pause.saturating_mul(2).min(self.config.reconnect.unwrap_or_default().last);
        self.session = Session::Lost(Instant::now() + retry_in);
        handle(XappEvent::Disconnected { retry_in }, &mut Commands(&mut self.desk));
    }

    fn exchange(
        &mut self,
        patience: Option<Duration>,
        mut handle: impl FnMut(Raw<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        self.write()?;
        // a verdict is told in time, and so is the end of a RIC's patience
        let greeting = match self.session {
            Session::Greeting(by) => Some(by),
            Session::Open | Session::Lost(_) => None,
        };
        let deadline = [self.desk.verifications.deadline(), greeting].into_iter().flatten().min();
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let patience = [patience, left].into_iter().flatten().min();
        self.poll.wait(&mut self.events, patience).map_err(Error::epoll)?;
        let (mut readable, mut writable) = (false, false);
        for event in self.events.iter().filter(|e| e.token != STOP_TOKEN) {
            readable |= event.readable;
            writable |= event.writable;
        }
        if readable {
            self.read(&mut handle)?;
        }
        if self.desk.verifications.deadline().is_some() {
            for (ticket, verdict) in self.desk.verifications.expired(Instant::now()) {
                handle(Raw::News(XappEvent::Verified { ticket, verdict }), &mut Commands(&mut self.desk));
            }
        }
        if writable || !self.desk.ends.is_empty() {
            self.write()?;
        }
        Ok(())
    }

    fn read(&mut self, handle: &mut impl FnMut(Raw<'_>, &mut Commands<'_>)) -> Result<(), Error> {
        let Xapp { link: Some(link), scratch, nodes, config: XappConfig { encodings, .. }, desk, .. } = self else {
            return Ok(());
        };
        let mut failed = None;
        let received = link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            if failed.is_some() {
                return;
            }
            let event = match desk.client.handle_pdu(pdu) {
                Ok(event) => event,
                Err(error) => {
                    failed = Some(Error::Protocol(error));
                    return;
                }
            };
            let news = match event {
                ClientEvent::Welcome(ric_id) => {
                    return handle(Raw::Welcome(ric_id), &mut Commands(desk));
                }
                ClientEvent::Refused(code) if fatal(code) => {
                    failed = Some(Error::Refused(code));
                    return;
                }
                ClientEvent::Refused(code) => {
                    tracing::warn!(?code, "the RIC refuses a command");
                    return;
                }
                ClientEvent::NodeUp(node) => {
                    let (id, key) = (node.id, node.global_id);
                    nodes.insert(id, node);
                    handle(Raw::News(XappEvent::NodeUp(&nodes[&id])), &mut Commands(desk));
                    for (local, function, order) in desk.kept.to_ask(id, key) {
                        desk.subscribe(id, function, order, Some(local));
                    }
                    return;
                }
                ClientEvent::NodeChanged(node) => {
                    let id = node.id;
                    nodes.insert(id, node);
                    XappEvent::NodeChanged(&nodes[&id])
                }
                ClientEvent::NodeLost(id) => {
                    if let Some(node) = nodes.remove(&id) {
                        let commands = &mut Commands(desk);
                        handle(Raw::News(XappEvent::NodeLost(&node)), commands);
                    }
                    return;
                }
                ClientEvent::Indication(envelope) => {
                    // a node that speaks a newer version than its setup told shares this message's wire format
                    let version = nodes.get(&envelope.node).map_or(Version::V2_03, |node| node.version);
                    let codec = nodes.get(&envelope.node).and_then(|node| named(encodings, &node.encoding));
                    let indication = Indication {
                        node: envelope.node,
                        subscription: desk.kept.local(envelope.subscription),
                        version,
                        codec,
                        pdu: envelope.pdu,
                    };
                    handle(Raw::News(XappEvent::Indication(indication)), &mut Commands(desk));
                    for (ticket, verdict) in desk.verifications.reported(&indication) {
                        handle(Raw::News(XappEvent::Verified { ticket, verdict }), &mut Commands(desk));
                    }
                    return;
                }
                ClientEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                    let key = |node| nodes.get(&node).map(|node| node.global_id);
                    match desk.kept.subscribed(ticket, subscription, key) {
                        Taken::New(subscription) => {
                            XappEvent::Subscribed { ticket, subscription, admitted, not_admitted }
                        }
                        Taken::Again(subscription, node) => {
                            XappEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
                        }
                    }
                }
                ClientEvent::SubscribeFailed { ticket, failure } => match desk.kept.answered(ticket) {
                    Some(Asked::Subscribe { again: Some(subscription), .. }) => {
                        desk.kept.forget(subscription);
                        let end = match failure {
                            SubscribeFailure::Refused(cause) => SubscriptionEnd::ByNode(cause),
                            _ => SubscriptionEnd::NotRestored,
                        };
                        XappEvent::SubscriptionEnded { subscription, end }
                    }
                    _ => XappEvent::SubscribeFailed { ticket, failure },
                },
                ClientEvent::SubscriptionEnded { subscription, end } => {
                    XappEvent::SubscriptionEnded { subscription: desk.kept.ended(subscription), end }
                }
                ClientEvent::SubscriptionSuspended(subscription) => {
                    XappEvent::SubscriptionSuspended(desk.kept.local(subscription))
                }
                ClientEvent::SubscriptionResumed { subscription, node, admitted, not_admitted } => {
                    let subscription = desk.kept.local(subscription);
                    XappEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
                }
                ClientEvent::ChangeRequired { subscription, remove, modify } => {
                    XappEvent::ChangeRequired { subscription: desk.kept.local(subscription), remove, modify }
                }
                ClientEvent::SubscriptionChanged { subscription, removed, modified } => {
                    XappEvent::SubscriptionChanged { subscription: desk.kept.local(subscription), removed, modified }
                }
                ClientEvent::Modified { ticket, subscription, result } => {
                    let subscription = match desk.kept.answered(ticket) {
                        Some(Asked::Modify(subscription)) => subscription,
                        _ => desk.kept.local(subscription),
                    };
                    XappEvent::Modified { ticket, subscription, result }
                }
                ClientEvent::Controlled { ticket, result } => {
                    desk.kept.answered(ticket);
                    desk.verifications.answered(ticket, &result, Instant::now);
                    XappEvent::Controlled { ticket, result }
                }
                ClientEvent::Queried { ticket, result } => {
                    desk.kept.answered(ticket);
                    XappEvent::Queried { ticket, result }
                }
                ClientEvent::Dropped(reports) => XappEvent::Dropped(reports),
            };
            handle(Raw::News(news), &mut Commands(desk));
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(received.map(drop)?),
        }
    }

    /// Sends what was asked for, and writes.
    fn write(&mut self) -> Result<(), Error> {
        let Xapp { link: Some(link), desk: Desk { ends, bytes, .. }, .. } = self else { return Ok(()) };
        let mut start = 0;
        for end in ends.drain(..) {
            link.send(StreamId(0), &[&bytes[start..end]], Class::Keep)?;
            start = end;
        }
        bytes.clear();
        link.flush()?;
        let wanted = link.wants_write();
        if wanted != self.writable_wanted {
            self.writable_wanted = wanted;
            let interest = if wanted { Interest::READ_WRITE } else { Interest::READ };
            self.poll.modify(link, LINK_TOKEN, interest).map_err(Error::epoll)?;
        }
        Ok(())
    }
}

/// Whether the RIC may be there again: what is wrong with it, or with the xApp, does not pass by itself.
fn is_loss(error: &Error) -> bool {
    match error {
        Error::Link(_) | Error::NoAnswer => true,
        Error::Refused(_) | Error::Protocol(_) | Error::System { .. } => false,
    }
}

/// What came, the welcome included.
enum Raw<'a> {
    Welcome(GlobalRicId),
    News(XappEvent<'a>),
}

fn fatal(code: e2::xapp::RefusalCode) -> bool {
    use e2::xapp::RefusalCode as Code;
    matches!(code, Code::Version | Code::Protocol | Code::NotAllowed)
}
