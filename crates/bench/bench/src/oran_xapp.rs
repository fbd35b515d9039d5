//! What xApps of the O-RAN reference platform consist of: the list of nodes of the E2 manager, requests to the subscription manager and
//! its notifications, and connections over RMR.
//!
//! It has no session state: the caller chooses the numbers of subscriptions, and pairs notifications with requests.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use e2ap::RanFunctionId;
use ferric::link::{self, Address, Class, Events, Framing, Interest, Link, Listener, Poll, Scratch, StreamId};
use rest::client::Client;
use rest::{Operation, Response, Route, Server, ServerConfig};
use rmr::{Header, Message, MessageType};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Octets of a message beside an E2AP PDU.
const OVERHEAD_OCTETS: usize = 16 << 10;
/// Octets read of a connection before the others have their turn.
const READ_OCTETS: usize = 256 * 1024;
/// Connections of the controller.
const MAX_CONNECTIONS: usize = 64;
/// Where the subscription manager takes requests.
pub const SUBSCRIPTIONS: &str = "/ric/v1/subscriptions";
/// Where the E2 manager lists nodes.
const NODES: &str = "/v1/nodeb/states";

/// A node that is connected, as the E2 manager lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OranNode {
    /// Its name in the platform.
    pub name: String,
    /// Its PLMN identity, in hexadecimal digits.
    pub plmn: String,
    /// The identity of its base station, in binary digits.
    pub nb_id: String,
}

/// Returns the nodes that are connected.
///
/// # Errors
/// If the E2 manager does not answer with a success.
pub fn connected_nodes(client: &Client) -> anyhow::Result<Vec<OranNode>> {
    let response = client.request("GET", NODES, None).with_context(|| format!("GET {}{NODES}", client.url()))?;
    if !response.is_success() {
        bail!("GET {}{NODES}: status {}", client.url(), response.status);
    }
    let of = |node: &Value| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (plmn, nb_id) = (text(&node["globalNbId"]["plmnId"])?, text(&node["globalNbId"]["nbId"])?);
        let name = text(&node["inventoryName"]).filter(|_| node["connectionStatus"] == "CONNECTED")?;
        Some(OranNode { name, plmn, nb_id })
    };
    Ok(response.body.as_array().into_iter().flatten().filter_map(of).collect())
}

/// A request to the subscription manager for reports.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionRequest<'a> {
    /// The xApp's number of the subscription, which its notification repeats.
    pub number: u16,
    /// The name of the node.
    pub node: &'a str,
    /// The RAN function.
    pub function: RanFunctionId,
    /// The event trigger definition.
    pub event_trigger: &'a [u8],
    /// The definition of the report action, whose id is 1; empty if there is none.
    pub action: &'a [u8],
    /// The address of the xApp.
    pub host: IpAddr,
    /// Its port for notifications.
    pub http_port: u16,
    /// Its port for indications.
    pub rmr_port: u16,
}

impl SubscriptionRequest<'_> {
    /// The document to post to [`SUBSCRIPTIONS`].
    #[must_use]
    pub fn document(&self) -> Value {
        let action = json!({
            "ActionID": 1,
            "ActionType": "report",
            "ActionDefinition": self.action,
            // the platform requires it, and later versions of E2AP have no time of zero
            "SubsequentAction": { "SubsequentActionType": "continue", "TimeToWait": "w10ms" },
        });
        let detail = json!({
            "XappEventInstanceId": self.number,
            "EventTriggers": self.event_trigger,
            "ActionToBeSetupList": [action],
        });
        json!({
            "SubscriptionId": "",
            "ClientEndpoint": { "Host": self.host, "HTTPPort": self.http_port, "RMRPort": self.rmr_port },
            "Meid": self.node,
            "RANFunctionID": self.function.0,
            "SubscriptionDetails": [detail],
        })
    }
}

/// The outcome of a request to the subscription manager.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Notification {
    /// The id of the request.
    #[serde(rename = "SubscriptionId")]
    pub id: String,
    /// The outcomes.
    #[serde(rename = "SubscriptionInstances")]
    pub instances: Vec<Instance>,
}

/// The outcome of a subscription.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Instance {
    /// The number that the xApp has given.
    #[serde(rename = "XappEventInstanceId")]
    pub number: u16,
    /// The subscription id of its indications.
    #[serde(rename = "E2EventInstanceId")]
    pub subscription: u16,
    /// Why it failed; empty if it has not.
    #[serde(rename = "ErrorCause", default)]
    pub error: String,
    /// Who refused it.
    #[serde(rename = "ErrorSource", default)]
    _source: String,
    /// Whether the node did not answer.
    #[serde(rename = "TimeoutType", default)]
    _timeout: String,
}

/// Receives notifications of the subscription manager at a free port of `host`, on a thread of the server.
///
/// # Errors
/// If the address cannot be used.
pub fn receive_notifications(
    host: IpAddr,
    sink: impl Fn(Notification) + Send + Sync + 'static,
) -> anyhow::Result<Server> {
    // the controller has no credentials; it may be on another host
    let config = ServerConfig { is_public: true, ..ServerConfig::new(SocketAddr::new(host, 0)) };
    let operation = Operation::post("/ric/v1/subscriptions/response", "notify", "The outcome of a subscription");
    let route = Route::new(operation.takes::<Notification>().empties(), move |request| {
        sink(request.json()?);
        Ok(Response::no_content())
    });
    Server::start(config, vec![route]).context("cannot receive notifications")
}

/// The token of the listener; those of connections are their places.
const LISTENER: u64 = u64::MAX;

/// The connections of an xApp over RMR: one to the controller, and those that it opens.
///
/// It can be read, as a file descriptor, while [`RmrLinks::receive`] has something to do.
pub struct RmrLinks {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    listener: Listener,
    /// The first one leads to the controller.
    connections: Vec<Connection>,
    source: String,
    octets: Vec<u8>,
    answers: Vec<Vec<u8>>,
}

struct Connection {
    link: Option<Link>,
    is_write_watched: bool,
}

impl RmrLinks {
    /// Listens at a free port of `host`, and connects to the controller.
    ///
    /// # Errors
    /// If it cannot listen, or the controller cannot be reached.
    pub fn start(controller: &Address, host: IpAddr, link: &link::Config) -> anyhow::Result<Self> {
        let max_pdu_octets = link.max_pdu_octets + OVERHEAD_OCTETS;
        let config = link::Config { framing: Framing::OwnLength, max_pdu_octets, ..link.clone() };
        let address = Address::Tcp { host: host.to_string(), port: 0 };
        let listener = Listener::bind(&address, &config).context("cannot listen for RMR")?;
        let Address::Tcp { port, .. } = listener.local_address() else { bail!("a listener without a port") };
        let source = SocketAddr::new(host, *port).to_string();
        let poll = Poll::new()?;
        poll.add(&listener, LISTENER, Interest::READ)?;
        let mut links = RmrLinks {
            poll,
            events: Events::new(),
            scratch: Scratch::new(),
            listener,
            connections: Vec::new(),
            source,
            octets: Vec::new(),
            answers: Vec::new(),
        };
        links.add(Link::connect(controller, &config).with_context(|| format!("RMR at {controller}"))?)?;
        Ok(links)
    }

    /// The port at which it receives.
    #[must_use]
    pub fn port(&self) -> u16 {
        match self.listener.local_address() {
            Address::Tcp { port, .. } => *port,
            _ => 0,
        }
    }

    fn add(&mut self, link: Link) -> anyhow::Result<()> {
        let free = self.connections.iter().position(|connection| connection.link.is_none());
        let at = free.unwrap_or(self.connections.len());
        if at >= MAX_CONNECTIONS {
            bail!("the controller has opened more than {MAX_CONNECTIONS} connections over RMR");
        }
        self.poll.add(&link, at as u64, Interest::READ_WRITE)?;
        let connection = Connection { link: Some(link), is_write_watched: true };
        match self.connections.get_mut(at) {
            Some(place) => *place = connection,
            None => self.connections.push(connection),
        }
        Ok(())
    }

    /// Sends a message about a node to the controller.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn send(&mut self, kind: MessageType, node: &str, payload: &[u8]) -> anyhow::Result<()> {
        let header =
            Header { kind, meid: node, source: &self.source, source_address: &self.source, ..Header::default() };
        self.octets.clear();
        header.write(payload.len(), &mut self.octets);
        let link = self.connections.first_mut().and_then(|connection| connection.link.as_mut());
        let link = link.ok_or_else(|| anyhow!("the connection over RMR has ended"))?;
        link.send(StreamId(0), &[&self.octets, payload], Class::Keep)?;
        self.flush(0)
    }

    /// Writes what waits on a connection.
    fn flush(&mut self, at: usize) -> anyhow::Result<()> {
        let Some(connection) = self.connections.get_mut(at) else { return Ok(()) };
        let Some(link) = &mut connection.link else { return Ok(()) };
        if link.wants_write() {
            link.flush()?;
        }
        let wants_write = link.wants_write();
        if wants_write != connection.is_write_watched {
            connection.is_write_watched = wants_write;
            let interest = if wants_write { Interest::READ_WRITE } else { Interest::READ };
            self.poll.modify(link, at as u64, interest)?;
        }
        Ok(())
    }

    /// Waits for at most `timeout`, and passes on the messages that have arrived. Health checks are answered.
    ///
    /// # Errors
    /// If the connection to the controller has ended.
    pub fn receive(&mut self, timeout: Duration, mut sink: impl FnMut(&Message<'_>)) -> anyhow::Result<()> {
        self.poll.wait(&mut self.events, Some(timeout))?;
        let mut next = 0;
        while let Some(event) = self.events.get(next) {
            next += 1;
            if event.token == LISTENER {
                while let Some(link) = self.listener.accept()? {
                    self.add(link)?;
                }
                continue;
            }
            let at = event.token as usize;
            let Some(link) = self.connections.get_mut(at).and_then(|connection| connection.link.as_mut()) else {
                continue;
            };
            let (source, answers) = (&self.source, &mut self.answers);
            let received = link.receive(&mut self.scratch, READ_OCTETS, &mut |_, octets| {
                // what is no message is dropped, as other endpoints do
                let Ok(message) = Message::read(octets) else { return };
                if message.kind == MessageType::HEALTH_CHECK_REQUEST {
                    let mut answer = Vec::new();
                    message.answer(MessageType::HEALTH_CHECK_RESPONSE, source).write(HEALTHY.len(), &mut answer);
                    answer.extend_from_slice(HEALTHY);
                    answers.push(answer);
                }
                sink(&message);
            });
            for answer in answers.drain(..) {
                // the end of the connection is reported by reading
                let _ = link.send(StreamId(0), &[&answer], Class::Keep);
            }
            if let Err(error) = received.map_err(anyhow::Error::from).and_then(|_| self.flush(at)) {
                // the controller may close connections that it has opened
                self.connections[at].link = None;
                if at == 0 {
                    return Err(error).context("the connection over RMR");
                }
            }
        }
        Ok(())
    }
}

impl AsFd for RmrLinks {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }
}

/// The text of a health check's answer.
const HEALTHY: &[u8] = b"OK\n";
