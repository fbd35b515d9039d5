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

mod verify;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use e2::xapp::{ClientEvent, ControlResult, ModifyResult, NodeInfo, QueryResult, SubscribeFailure};
use e2::{NodeId, SubscriptionChange, SubscriptionEnd, SubscriptionId, SubscriptionOrder, Ticket, XappClient};
use e2ap::{Cause, Codec, GlobalRicId, RanFunctionId, RicActionId, RicIndication, RicTimeToWait, Version, peek};
use link::{Address, Class, Events, Interest, Link, Poll, Scratch, StreamId};
use per::Gather;

use crate::stop::STOP_TOKEN;
use crate::{Error, Stop};

use verify::Verifications;
pub use verify::{MAX_VERIFICATIONS, TooManyVerifications, Verdict, Verify};

/// How an xApp behaves.
#[derive(Clone, Debug)]
pub struct XappConfig {
    /// The RIC must welcome it within this. Default: 5 s.
    pub connect_timeout: Duration,
    /// The link's bounds. Default: PDUs as long as a RIC sends by its own defaults, which is 16 KiB above E2's 1 MiB.
    pub link: link::Config,
    /// Encodings that nodes may use beside those that are built in. Default: none.
    pub encodings: Vec<Codec>,
}

impl Default for XappConfig {
    fn default() -> Self {
        let e2 = link::Config::default();
        let link = link::Config { max_pdu_octets: e2.max_pdu_octets + crate::XAPP_OVERHEAD_OCTETS, ..e2 };
        XappConfig { connect_timeout: Duration::from_secs(5), link, encodings: Vec::new() }
    }
}

/// What an xApp is told.
#[derive(Clone, Debug, PartialEq)]
pub enum XappEvent<'a> {
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
    /// The node required a subscription to change.
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
pub struct Commands<'a> {
    client: &'a mut XappClient,
    /// Messages, each behind its end within `bytes`.
    ends: &'a mut Vec<usize>,
    bytes: &'a mut Vec<u8>,
    verifications: &'a mut Verifications,
}

impl Commands<'_> {
    /// Subscribes to a node's function; the ticket comes back with what becomes of it. A plain
    /// [`SubscriptionSpec`](e2::SubscriptionSpec) will do: it comes back by itself after its node was lost.
    pub fn subscribe(&mut self, node: NodeId, function: RanFunctionId, order: impl Into<SubscriptionOrder>) -> Ticket {
        let ticket = self.client.subscribe(node, function, order, self.bytes);
        self.ends.push(self.bytes.len());
        ticket
    }

    /// Changes a subscription, which E2AP has from v3 on; the ticket comes back with what becomes of it.
    pub fn modify(&mut self, subscription: SubscriptionId, change: SubscriptionChange) -> Ticket {
        let ticket = self.client.modify(subscription, change, self.bytes);
        self.ends.push(self.bytes.len());
        ticket
    }

    /// Leaves a subscription.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        self.client.unsubscribe(subscription, self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Asks a function to do something and to acknowledge it; the ticket comes back with what becomes of it.
    pub fn control(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], message: &[u8]) -> Ticket {
        let ticket = self.client.control(node, function, header, message, None, true, self.bytes);
        self.ends.push(self.bytes.len());
        ticket
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
        if !self.verifications.has_room() {
            return Err(TooManyVerifications);
        }
        let ticket = self.control(node, function, header, message);
        self.verifications.add(ticket, verify);
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
        let call = Some(call_process_id);
        let ticket = self.client.control(node, function, header, message, call, true, self.bytes);
        self.ends.push(self.bytes.len());
        ticket
    }

    /// Asks a function something, which E2AP has from v3 on; the ticket comes back with what becomes of it.
    pub fn query(&mut self, node: NodeId, function: RanFunctionId, header: &[u8], definition: &[u8]) -> Ticket {
        let ticket = self.client.query(node, function, header, definition, self.bytes);
        self.ends.push(self.bytes.len());
        ticket
    }
}

/// An xApp's session with a RIC.
pub struct Xapp {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    link: Link,
    writable_wanted: bool,
    stop: Stop,
    client: XappClient,
    ric_id: GlobalRicId,
    nodes: BTreeMap<NodeId, NodeInfo>,
    encodings: Vec<Codec>,
    /// News that came with the welcome, before anybody asked.
    early: Vec<NodeId>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
    verifications: Verifications,
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
        let client = XappClient::new();
        let mut xapp = Xapp {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            link,
            writable_wanted: true,
            stop,
            client,
            ric_id: GlobalRicId::new(e2ap::PlmnIdentity([0; 3]), 0),
            nodes: BTreeMap::new(),
            encodings: config.encodings,
            early: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            verifications: Verifications::default(),
        };
        xapp.client.hello(name, &mut xapp.bytes);
        xapp.ends.push(xapp.bytes.len());
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
        Ok(xapp)
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
        Commands {
            client: &mut self.client,
            ends: &mut self.ends,
            bytes: &mut self.bytes,
            verifications: &mut self.verifications,
        }
    }

    /// Waits at most `patience` (`None`: until something comes), then hands all that came to `handle`, in order.
    ///
    /// # Errors
    /// Where the RIC is lost, or turns the xApp away: the session is over.
    pub fn turn(
        &mut self,
        patience: Option<Duration>,
        mut handle: impl FnMut(XappEvent<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        let early = std::mem::take(&mut self.early);
        let patience = if early.is_empty() { patience } else { Some(Duration::ZERO) };
        for node in early.iter().filter_map(|id| self.nodes.get(id)) {
            let Xapp { client, ends, bytes, verifications, .. } = self;
            handle(XappEvent::NodeUp(node), &mut Commands { client, ends, bytes, verifications });
        }
        self.exchange(patience, |event, commands| {
            if let Raw::News(event) = event {
                handle(event, commands);
            }
        })
    }

    fn exchange(
        &mut self,
        patience: Option<Duration>,
        mut handle: impl FnMut(Raw<'_>, &mut Commands<'_>),
    ) -> Result<(), Error> {
        self.write()?;
        // a verdict is told in time
        let left = self.verifications.deadline().map(|at| at.saturating_duration_since(Instant::now()));
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
        if self.verifications.deadline().is_some() {
            let Xapp { client, ends, bytes, verifications, .. } = self;
            for (ticket, verdict) in verifications.expired(Instant::now()) {
                let commands = &mut Commands { client, ends, bytes, verifications };
                handle(Raw::News(XappEvent::Verified { ticket, verdict }), commands);
            }
        }
        if writable || !self.ends.is_empty() {
            self.write()?;
        }
        Ok(())
    }

    fn read(&mut self, handle: &mut impl FnMut(Raw<'_>, &mut Commands<'_>)) -> Result<(), Error> {
        let Xapp { link, scratch, client, nodes, encodings, ends, bytes, verifications, .. } = self;
        let mut failed = None;
        let received = link.receive(scratch, BUDGET_OCTETS, &mut |_stream, pdu| {
            if failed.is_some() {
                return;
            }
            let event = match client.handle_pdu(pdu) {
                Ok(event) => event,
                Err(error) => {
                    failed = Some(Error::Protocol(error));
                    return;
                }
            };
            let news = match event {
                ClientEvent::Welcome(ric_id) => {
                    return handle(Raw::Welcome(ric_id), &mut Commands { client, ends, bytes, verifications });
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
                    let id = node.id;
                    nodes.insert(id, node);
                    XappEvent::NodeUp(&nodes[&id])
                }
                ClientEvent::NodeChanged(node) => {
                    let id = node.id;
                    nodes.insert(id, node);
                    XappEvent::NodeChanged(&nodes[&id])
                }
                ClientEvent::NodeLost(id) => {
                    if let Some(node) = nodes.remove(&id) {
                        let commands = &mut Commands { client, ends, bytes, verifications };
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
                        subscription: envelope.subscription,
                        version,
                        codec,
                        pdu: envelope.pdu,
                    };
                    let commands = &mut Commands { client, ends, bytes, verifications };
                    handle(Raw::News(XappEvent::Indication(indication)), commands);
                    for (ticket, verdict) in commands.verifications.reported(&indication) {
                        handle(Raw::News(XappEvent::Verified { ticket, verdict }), commands);
                    }
                    return;
                }
                ClientEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                    XappEvent::Subscribed { ticket, subscription, admitted, not_admitted }
                }
                ClientEvent::SubscribeFailed { ticket, failure } => XappEvent::SubscribeFailed { ticket, failure },
                ClientEvent::SubscriptionEnded { subscription, end } => {
                    XappEvent::SubscriptionEnded { subscription, end }
                }
                ClientEvent::SubscriptionSuspended(subscription) => XappEvent::SubscriptionSuspended(subscription),
                ClientEvent::SubscriptionResumed { subscription, node, admitted, not_admitted } => {
                    XappEvent::SubscriptionResumed { subscription, node, admitted, not_admitted }
                }
                ClientEvent::SubscriptionChanged { subscription, removed, modified } => {
                    XappEvent::SubscriptionChanged { subscription, removed, modified }
                }
                ClientEvent::Modified { ticket, subscription, result } => {
                    XappEvent::Modified { ticket, subscription, result }
                }
                ClientEvent::Controlled { ticket, result } => {
                    verifications.answered(ticket, &result, Instant::now);
                    XappEvent::Controlled { ticket, result }
                }
                ClientEvent::Queried { ticket, result } => XappEvent::Queried { ticket, result },
                ClientEvent::Dropped(reports) => XappEvent::Dropped(reports),
            };
            handle(Raw::News(news), &mut Commands { client, ends, bytes, verifications });
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(received.map(drop)?),
        }
    }

    /// Sends what was asked for, and writes.
    fn write(&mut self) -> Result<(), Error> {
        let mut start = 0;
        for end in self.ends.drain(..) {
            self.link.send(StreamId(0), &[&self.bytes[start..end]], Class::Keep)?;
            start = end;
        }
        self.bytes.clear();
        self.link.flush()?;
        let wanted = self.link.wants_write();
        if wanted != self.writable_wanted {
            self.writable_wanted = wanted;
            let interest = if wanted { Interest::READ_WRITE } else { Interest::READ };
            self.poll.modify(&self.link, LINK_TOKEN, interest).map_err(Error::epoll)?;
        }
        Ok(())
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
