//! xApps of the O-RAN reference platform: subscriptions by REST, indications and controls over RMR.
//!
//! An application lists nodes at the E2 manager, subscribes at the subscription manager, is notified of the outcome by HTTP, and receives
//! indications at an RMR endpoint of its own. Requests by REST are sent one after the other by a thread, so that indications are read
//! meanwhile.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use e2ap::{Pdu, RanFunctionId, RicControlAckRequest, RicControlRequest, RicRequestId, Version};
use ferric::link::{self, Address, Class, Events, Framing, Interest, Link, Listener, Poll, Scratch, StreamId};
use per::{Gather, Octets};
use rest::client::{Client, ClientConfig};
use rest::{Operation, Response, Route, Server, ServerConfig};
use rmr::{Header, Message, MessageType};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::campaign::OranAccess;

use super::session::{Interface, Reports, Session, TICK};
use super::{Northbound, NorthboundConfig, Order, Progress};

/// The requestor of controls.
const REQUESTOR: u16 = 1021;
/// The pause between two lists of the nodes.
const LIST_PAUSE_NS: u64 = 500_000_000;
/// How long a request by REST may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Octets of a message beside an E2AP PDU.
const OVERHEAD_OCTETS: usize = 16 << 10;
/// Octets read of a connection before the others have their turn.
const READ_OCTETS: usize = 256 * 1024;
/// Connections of the controller.
const MAX_CONNECTIONS: usize = 64;
/// Where the subscription manager takes requests.
const SUBSCRIPTIONS: &str = "/ric/v1/subscriptions";

/// xApps of a controller that serves those of the O-RAN reference platform.
pub struct Oran {
    /// Its interfaces.
    pub access: OranAccess,
    /// The version of E2AP of the nodes: controls are encoded in it.
    pub version: Version,
    /// The configuration of links.
    pub link: link::Config,
}

/// The outcome of a subscription request.
#[derive(Debug, Deserialize, JsonSchema)]
struct Notification {
    /// The id of the request.
    #[serde(rename = "SubscriptionId")]
    id: String,
    /// The outcomes.
    #[serde(rename = "SubscriptionInstances")]
    instances: Vec<Instance>,
}

/// The outcome of a subscription.
#[derive(Debug, Deserialize, JsonSchema)]
struct Instance {
    /// The number that this end has given.
    #[serde(rename = "XappEventInstanceId")]
    request: u16,
    /// The subscription id of its indications.
    #[serde(rename = "E2EventInstanceId")]
    subscription: u16,
    /// Why it failed.
    #[serde(rename = "ErrorCause", default)]
    error: String,
    /// Who refused it.
    #[serde(rename = "ErrorSource", default)]
    _source: String,
    /// Whether the node did not answer.
    #[serde(rename = "TimeoutType", default)]
    _timeout: String,
}

/// What the threads beside the application report.
enum Outcome {
    Notified(Notification),
    /// A subscription request was refused at once, and why.
    Refused(u32, String),
    /// A subscription could not be deleted.
    NotDeleted,
}

/// A request by REST.
enum Job {
    Subscribe(u32, Value),
    Delete(String),
}

impl Northbound for Oran {
    fn name(&self) -> String {
        format!("O-RAN subscription manager on {}, RMR on {}", self.access.subscriptions.url, self.access.rmr)
    }

    fn run(
        &self,
        config: NorthboundConfig,
        orders: Receiver<Order>,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let nodes = Client::new(&ClientConfig { timeout: TIMEOUT, ..self.access.nodes.clone() })?;
        let kpm = config.content.kpm.id;
        let mut platform = Platform::start(self)?;
        let mut session = Session::new(&config, progress);
        let mut next_list_ns = 0;
        while !stop.load(Ordering::Acquire) {
            if !session.take_orders(&orders, &mut platform)? {
                return Ok(());
            }
            let now_ns = config.clock.now_ns();
            if session.lacks_nodes() && now_ns >= next_list_ns {
                next_list_ns = now_ns + LIST_PAUSE_NS;
                for (number, name) in listed(&nodes)? {
                    platform.names.insert(number, name);
                    session.node_up(number, kpm, number, &mut platform)?;
                }
            }
            session.request(&mut platform)?;
            platform.receive(session.until_request().min(TICK), &mut session)?;
            while let Ok(outcome) = platform.outcomes.try_recv() {
                platform.outcome(outcome, &mut session)?;
            }
            session.pause();
        }
        Ok(())
    }
}

/// The numbers of the nodes of this benchmark, with their names in the platform.
fn listed(client: &Client) -> anyhow::Result<Vec<(u32, String)>> {
    let path = "/v1/nodeb/states";
    let response = client.request("GET", path, None).with_context(|| format!("GET {}{path}", client.url()))?;
    if !response.is_success() {
        bail!("GET {}{path}: status {}", client.url(), response.status);
    }
    let nodes = response.body.as_array().cloned().unwrap_or_default();
    let plmn = crate::southbound::e2::node_id(1).plmn_identity();
    let plmn: String = plmn.0.iter().map(|octet| format!("{octet:02X}")).collect();
    let of = |node: &Value| {
        let is_own = node["connectionStatus"] == "CONNECTED"
            && node["globalNbId"]["plmnId"].as_str().is_some_and(|id| id.eq_ignore_ascii_case(&plmn));
        let number = u32::from_str_radix(node["globalNbId"]["nbId"].as_str()?, 2).ok().filter(|_| is_own)?;
        Some((number, node["inventoryName"].as_str()?.to_owned()))
    };
    Ok(nodes.iter().filter_map(of).collect())
}

/// The connections of an application with the platform.
struct Platform {
    version: Version,
    /// The names of nodes.
    names: HashMap<u32, String>,
    /// The ids of active subscriptions, by the subscription ids of their indications.
    active: HashMap<u32, String>,
    last: u16,
    jobs: Option<Sender<Job>>,
    worker: Option<JoinHandle<()>>,
    /// Requests by REST that wait are not sent any more.
    is_ended: Arc<AtomicBool>,
    outcomes: Receiver<Outcome>,
    _notified: Server,
    notified_port: u16,
    host: IpAddr,
    links: RmrLinks,
}

impl Platform {
    fn start(oran: &Oran) -> anyhow::Result<Self> {
        let OranAccess { subscriptions, host, .. } = &oran.access;
        let (sender, outcomes) = mpsc::channel();
        // the controller has no credentials; it may be on another host
        let config = ServerConfig { is_public: true, ..ServerConfig::new(SocketAddr::new(*host, 0)) };
        let notifications = sender.clone();
        let operation = Operation::post("/ric/v1/subscriptions/response", "notify", "The outcome of a subscription");
        let route = Route::new(operation.takes::<Notification>().empties(), move |request| {
            // the application may have ended
            let _ = notifications.send(Outcome::Notified(request.json()?));
            Ok(Response::no_content())
        });
        let notified = Server::start(config, vec![route]).context("cannot receive notifications")?;
        let client = Client::new(&ClientConfig { timeout: TIMEOUT, ..subscriptions.clone() })?;
        let (jobs, received) = mpsc::channel();
        let is_ended = Arc::new(AtomicBool::new(false));
        let worker = std::thread::Builder::new().name("subscriptions".to_owned()).spawn({
            let is_ended = Arc::clone(&is_ended);
            move || work(&client, &received, &sender, &is_ended)
        });
        let worker = worker.context("cannot start a thread")?;
        Ok(Platform {
            version: oran.version,
            names: HashMap::new(),
            active: HashMap::new(),
            last: 0,
            jobs: Some(jobs),
            worker: Some(worker),
            is_ended,
            outcomes,
            notified_port: notified.address().port(),
            _notified: notified,
            host: *host,
            links: RmrLinks::start(oran)?,
        })
    }

    fn number(&mut self) -> u16 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    fn send(&self, job: Job) -> anyhow::Result<()> {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent { Ok(()) } else { bail!("the thread of subscriptions has ended") }
    }

    fn outcome(&mut self, outcome: Outcome, session: &mut Session<'_, u32>) -> anyhow::Result<()> {
        match outcome {
            Outcome::Notified(Notification { id, instances }) => {
                for Instance { request, subscription, error, .. } in instances {
                    if error.is_empty() {
                        self.active.insert(subscription.into(), id.clone());
                        session.subscribed(request.into(), subscription.into(), self)?;
                    } else {
                        session.subscription_failed(request.into(), &error, self)?;
                    }
                }
                Ok(())
            }
            Outcome::Refused(request, reason) => session.subscription_failed(request, &reason, self),
            Outcome::NotDeleted => {
                session.failed();
                Ok(())
            }
        }
    }

    /// Waits for messages, and counts them.
    fn receive(&mut self, timeout: Duration, session: &mut Session<'_, u32>) -> anyhow::Result<()> {
        let version = self.version;
        self.links.receive(timeout, |message| match message.kind {
            MessageType::INDICATION => {
                let Ok(subscription) = u32::try_from(message.subscription_id) else { return };
                if let Some(peeked) = e2ap::peek::indication(message.payload) {
                    return session.report(subscription, peeked.sn.map(|sn| sn.0), peeked.header);
                }
                // a fragmented message
                let gather = Gather::new();
                if let Ok(Pdu::RicIndication(report)) = e2ap::decode(message.payload, version, &gather).map(|d| d.pdu) {
                    session.report(subscription, report.sn.map(|sn| sn.0), &report.header.to_cow());
                }
            }
            MessageType::CONTROL_ACKNOWLEDGE | MessageType::CONTROL_FAILURE => {
                let gather = Gather::new();
                match e2ap::decode(message.payload, version, &gather).map(|decoded| decoded.pdu) {
                    Ok(Pdu::RicControlAcknowledge(ack)) => session.controlled(ack.request_id.instance.into(), true),
                    Ok(Pdu::RicControlFailure(failure)) => {
                        session.controlled(failure.request_id.instance.into(), false)
                    }
                    _ => {}
                }
            }
            _ => {}
        })
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Release);
        drop(self.jobs.take());
        if let Some(worker) = self.worker.take() {
            // it returns nothing
            let _ = worker.join();
        }
    }
}

impl Interface for Platform {
    type Node = u32;
    const FOLLOWS_NODES: bool = false;

    fn subscribe(&mut self, node: u32, function: RanFunctionId, reports: &Reports) -> anyhow::Result<u32> {
        let number = self.number();
        let action = json!({
            "ActionID": 1,
            "ActionType": "report",
            "ActionDefinition": reports.action,
            // the platform requires it, and later versions of E2AP have no time of zero
            "SubsequentAction": { "SubsequentActionType": "continue", "TimeToWait": "w10ms" },
        });
        let detail = json!({
            "XappEventInstanceId": number,
            "EventTriggers": reports.event_trigger,
            "ActionToBeSetupList": [action],
        });
        let request = json!({
            "SubscriptionId": "",
            "ClientEndpoint": { "Host": self.host, "HTTPPort": self.notified_port, "RMRPort": self.links.port() },
            "Meid": self.names.get(&node),
            "RANFunctionID": function.0,
            "SubscriptionDetails": [detail],
        });
        self.send(Job::Subscribe(number.into(), request))?;
        Ok(number.into())
    }

    fn unsubscribe(&mut self, subscription: u32) -> anyhow::Result<()> {
        match self.active.remove(&subscription) {
            Some(id) => self.send(Job::Delete(id)),
            None => Ok(()),
        }
    }

    fn control(&mut self, node: u32, function: RanFunctionId, message: &[u8]) -> anyhow::Result<u32> {
        let instance = self.number();
        let request = RicControlRequest {
            request_id: RicRequestId { requestor: REQUESTOR, instance },
            ran_function_id: function,
            call_process_id: None,
            header: Octets::from(b""),
            message: Octets::from(message),
            ack_request: Some(RicControlAckRequest::Ack),
        };
        let mut pdu = Vec::new();
        Pdu::from(request).encode(self.version, &mut pdu)?;
        let name = self.names.get(&node).context("a node without a name")?;
        self.links.send(MessageType::CONTROL_REQUEST, name, &pdu)?;
        Ok(instance.into())
    }
}

/// Sends requests by REST until there are no more, or the application has ended.
fn work(client: &Client, jobs: &Receiver<Job>, outcomes: &Sender<Outcome>, is_ended: &AtomicBool) {
    for job in jobs {
        if is_ended.load(Ordering::Acquire) {
            return;
        }
        let outcome = match job {
            Job::Subscribe(number, body) => match client.request("POST", SUBSCRIPTIONS, Some(&body)) {
                // the outcome is notified
                Ok(response) if response.is_success() => continue,
                Ok(response) => {
                    let detail = response.body["detail"].as_str().unwrap_or_default();
                    Outcome::Refused(number, format!("POST {SUBSCRIPTIONS}: status {}: {detail}", response.status))
                }
                Err(error) => Outcome::Refused(number, format!("POST {SUBSCRIPTIONS}: {error}")),
            },
            Job::Delete(id) => match client.request("DELETE", &format!("{SUBSCRIPTIONS}/{id}"), None) {
                Ok(response) if response.is_success() => continue,
                _ => Outcome::NotDeleted,
            },
        };
        // the application may have ended
        let _ = outcomes.send(outcome);
    }
}

/// The token of the listener; those of connections are their places.
const LISTENER: u64 = u64::MAX;

/// The connections over RMR: one to the controller, and those that it opens.
struct RmrLinks {
    poll: Poll,
    events: Events,
    scratch: Scratch,
    listener: Listener,
    /// The first one leads to the controller.
    connections: Vec<Connection>,
    source: String,
    octets: Vec<u8>,
}

struct Connection {
    link: Option<Link>,
    is_write_watched: bool,
}

impl RmrLinks {
    fn start(oran: &Oran) -> anyhow::Result<Self> {
        let max_pdu_octets = oran.link.max_pdu_octets + OVERHEAD_OCTETS;
        let config = link::Config { framing: Framing::OwnLength, max_pdu_octets, ..oran.link.clone() };
        let OranAccess { rmr, host, .. } = &oran.access;
        let address = Address::Tcp { host: host.to_string(), port: 0 };
        let listener = Listener::bind(&address, &config).context("cannot listen for RMR")?;
        let Address::Tcp { port, .. } = listener.local_address() else { bail!("a listener without a port") };
        let source = SocketAddr::new(*host, *port).to_string();
        let poll = Poll::new()?;
        poll.add(&listener, LISTENER, Interest::READ)?;
        let (events, scratch) = (Events::new(), Scratch::new());
        let mut links =
            RmrLinks { poll, events, scratch, listener, connections: Vec::new(), source, octets: Vec::new() };
        links.add(Link::connect(rmr, &config).with_context(|| format!("RMR at {rmr}"))?)?;
        Ok(links)
    }

    fn port(&self) -> u16 {
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

    /// Queues a message to the controller.
    fn send(&mut self, kind: MessageType, meid: &str, payload: &[u8]) -> anyhow::Result<()> {
        let header = Header { kind, meid, source: &self.source, source_address: &self.source, ..Header::default() };
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
    fn receive(&mut self, timeout: Duration, mut sink: impl FnMut(&Message<'_>)) -> anyhow::Result<()> {
        self.poll.wait(&mut self.events, Some(timeout))?;
        let tokens: Vec<u64> = self.events.iter().map(|event| event.token).collect();
        for token in tokens {
            if token == LISTENER {
                while let Some(link) = self.listener.accept()? {
                    self.add(link)?;
                }
                continue;
            }
            let at = token as usize;
            let Some(link) = self.connections.get_mut(at).and_then(|connection| connection.link.as_mut()) else {
                continue;
            };
            let (source, mut answers) = (&self.source, Vec::new());
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
            for answer in answers {
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

/// The text of a health check's answer.
const HEALTHY: &[u8] = b"OK\n";
