//! Messaging: xApps of the reference platform over RMR.
//!
//! The RIC is the route manager, the subscription manager and the E2 termination in one: an xApp connects to it, requests a route
//! table, and finds there that its requests go to the RIC. Indications are sent to the endpoint of the xApp, at which it listens;
//! the PDU is that of the node, octet by octet, behind a header that is made once for each subscription.
//!
//! | message | from | what the RIC does |
//! |---|---|---|
//! | route table request (21) | xApp | answers with the table (20) on the same connection, and logs the state (22) |
//! | health check (100) | xApp | answers with its own (101) |
//! | health check (100) | RIC | asks each endpoint every [`HEALTH_PERIOD`]; logs when the answer changes |
//! | RIC Subscription Request (12010) | xApp | subscribes; answers with 12011 or 12012. Equal subscriptions are one |
//! | RIC Subscription Delete Request (12020) | xApp | answers with 12021 or 12022 |
//! | RIC Control Request (12040) | xApp | relays it; answers with 12041 or 12042, if the xApp asked for an answer |
//! | RIC Indication (12050) | RIC | relays it to all endpoints of the subscription |
//! | RIC_ALARM (110), RIC_ALARM_UPDATE (13111) | xApp | raises or clears an alarm |
//! | RIC_ALARM_UPDATE (13111) | RIC | forwards alarms to the endpoints of the configuration |
//! | A1_POLICY_REQ (20010) | RIC | sends a policy to the endpoints that take its type; feature `a1` |
//! | A1_POLICY_RESP (20011) | xApp | notes what it says of a policy; feature `a1` |
//! | A1_POLICY_QUERY (20012) | xApp | answers with the policies of a type; feature `a1` |
//! | A1_EI_QUERY_ALL (20013) | xApp | answers with the types of enrichment information (20014); feature `a1` |
//! | A1_EI_CREATE_JOB (20015) | xApp | creates or deletes an EI job; answers with 20016; feature `a1` |
//! | A1_EI_DATA_DELIVERY (20017) | RIC | sends a result to the endpoints of the xApps of its job; feature `a1` |
//!
//! Answers use the connection of the request. Where several RICs share nodes, an xApp at one of them reaches the nodes of all: a
//! subscription is set up by the RIC of its node, and a control is passed on to it. A message of another type has no route here: it is dropped and logged.
//!
//! The app runs on the event loop of the RIC with an epoll instance of its own, so that an indication takes no way through
//! another thread. Each connection is written once per iteration.

mod alarms;
#[cfg(feature = "a1")]
mod enrichment;
mod helpers;
mod incoming;
mod links;
mod merging;
mod pdus;
#[cfg(feature = "a1")]
mod policies;
mod port;
mod quotas;
mod refusal;
mod rest_records;
mod rights;
mod share_audit;
mod shared_subscriptions;
mod sharing;
mod subscribing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use audit::AuditLog;
use ferric::e2::{Indication, Node, NodeId, RequestEvent, SubscriptionId, Ticket};
use ferric::e2ap::{RicIndicationType, Version};
use ferric::link::{Address, Class, Config, Framing, Listener, MemoryBudget};
use ferric::server::{Iapp, IappContext, IappEvent, Server, ServerConfig};
use iapp_rest::{Job, add_iapp};
use log_lines::Host;
use rest::{RateLimit, RequestQueue};
use rmr::{CONTROL_PORT, Header, MessageType, TableReader, message};
use tracing::{info, warn};

use crate::group::GroupConfig;
use crate::names::ran_name;
use alarms::AlarmTraffic;
pub use alarms::{AlarmCounts, AlarmSink, MAX_ALARM_ENDPOINTS};
use helpers::Helpers;
use links::{ConnectionId, EndpointId, Limits, LinkEvent, Links};
use merging::Merging;
use pdus::Reference;
pub use port::Health;
use port::Port;
use quotas::{ControlQuota, MAX_SHARES, Refusals, Shares, TABLES_PER_SECOND};
use rest_records::Records;
use rights::Access;
pub(crate) use rights::Sender;
pub use rights::{NamedXapp, RmrEntry, RmrPeer};
use share_audit::ShareAudit;
use sharing::Sharing;
use subscribing::Way;

/// How often xApps are asked for their health.
pub const HEALTH_PERIOD: Duration = Duration::from_secs(15);
/// The memory for messages of which a part has arrived, and for those that wait to be sent, of all xApps together.
const BUDGET_OCTETS: usize = 256 << 20;
/// Octets of a message beside a PDU: headers, trace data.
const MESSAGE_OVERHEAD_OCTETS: usize = 16 << 10;

/// Where xApps connect over RMR.
#[derive(Clone, Debug)]
pub struct MessagingConfig {
    /// The address: `tcp://`.
    pub address: Address,
    /// Records for the route tables of xApps beside those of the RIC, such as `mse|30000|-1|other-xapp:4560`.
    pub routes: Vec<String>,
    /// What each xApp may do; one that no rule names may do nothing. `None`: every xApp may do everything.
    pub rights: Option<Vec<RmrEntry>>,
    /// The audit log that takes what xApps subscribe to. Default: none.
    pub audit: Option<AuditLog>,
}

impl MessagingConfig {
    /// Reads the URL of an address for xApps: `tcp://HOST:PORT`, whose default port is 4561.
    ///
    /// # Errors
    /// Why it is none.
    pub fn address(url: &str) -> Result<Address, String> {
        match Address::from_url(url, CONTROL_PORT).map_err(|error| error.to_string())? {
            address @ Address::Tcp { .. } => Ok(address),
            address => Err(format!("RMR is spoken over TCP: use tcp://HOST:PORT instead of {address}")),
        }
    }

    /// Reads further records for route tables: one a line, with empty lines and comments as in a table.
    ///
    /// # Errors
    /// Why an xApp would refuse the table.
    pub fn routes(text: &str) -> Result<Vec<String>, String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let routes: Vec<_> = lines.map(str::to_owned).collect();
        if let Some(line) = routes.iter().find(|line| !line.starts_with("mse|") && !line.starts_with("rte|")) {
            return Err(format!("`{line}` is no record `mse|TYPE|SUBSCRIPTION|ENDPOINTS` or `rte|TYPE|ENDPOINTS`"));
        }
        let table = format!("newrt|start\n{}\nnewrt|end|{}\n", routes.join("\n"), routes.len());
        match &TableReader::new(Vec::new()).read(&table)[..] {
            [rmr::TableEvent::Rejected { reason, .. }] => Err(reason.clone()),
            _ => Ok(routes),
        }
    }
}

/// What messaging takes of the configuration of a server, before the server takes it.
pub struct MessagingSetup {
    config: MessagingConfig,
    link: Config,
    limits: Limits,
    /// Whether IPsec protects addresses beyond this host.
    is_protected: bool,
    /// What this RIC shares with others.
    group: Option<GroupConfig>,
}

impl MessagingSetup {
    /// Connections have the bounds of other xApps: `max_xapp_connections`, `max_host_percent`, `pdu_timeout`, `outbox_octets`.
    #[must_use]
    pub fn new(config: MessagingConfig, server: &ServerConfig) -> Self {
        let link = Config {
            framing: Framing::OwnLength,
            max_pdu_octets: server.link.max_pdu_octets + MESSAGE_OVERHEAD_OCTETS,
            receive_budget: Some(MemoryBudget::new(BUDGET_OCTETS)),
            send_budget: Some(MemoryBudget::new(BUDGET_OCTETS)),
            // recordings are of E2AP
            tap: None,
            ..server.link.clone()
        };
        let share = server.max_xapp_connections * usize::from(server.controller.max_host_percent) / 100;
        let limits = Limits {
            max_connections: server.max_xapp_connections,
            max_connections_per_host: share.max(1),
            message_timeout: server.pdu_timeout,
        };
        MessagingSetup { config, link, limits, is_protected: server.ipsec, group: None }
    }

    /// Shares subscriptions with other RICs, which have some of the nodes, and passes controls on to them.
    #[must_use]
    pub fn with_group(self, group: GroupConfig) -> Self {
        MessagingSetup { group: Some(group), ..self }
    }

    /// Listens for xApps, and adds the app to a RIC.
    ///
    /// # Errors
    /// If the address is not available, or the system refuses a thread or a file descriptor.
    pub fn add_to(self, server: &mut Server) -> Result<MessagingHandle, ferric::Error> {
        let system = |source: io::Error| ferric::Error::System { what: "serve xApps over RMR", source };
        let listener = Listener::bind(&self.config.address, &self.link)?;
        let address = listener.local_address().clone();
        if !address.is_local() && !self.is_protected {
            warn!(
                "xApps at {address} are not authenticated, as RMR has no means for it: let \
                 only them reach it, or use IPsec (ipsec = true)"
            );
        }
        let log = server.log_budget();
        let helpers = Helpers::start(&server.iapp_waker()?, &log).map_err(system)?;
        let links = Links::new(listener, self.link, self.limits, helpers, log).map_err(system)?;
        server.wake_iapps_on(links.descriptor())?;
        let port = Port::new(server.iapp_waker()?);
        let MessagingConfig { routes, rights, audit, .. } = self.config;
        let access = Access { rules: rights.map(Arc::from), named: Vec::new() };
        let waker = server.iapp_waker()?;
        let sharing = self.group.map(|group| Sharing::new(group, &address, waker));
        let messaging = Messaging::new(links, port.clone(), routes, access, ShareAudit(audit));
        let mut messaging = Messaging { sharing, ..messaging };
        messaging.share_routes();
        let queue = add_iapp(server, messaging)?;
        Ok(MessagingHandle { address, queue, port })
    }
}

/// Messaging of a RIC that runs.
#[derive(Clone, Debug)]
pub struct MessagingHandle {
    address: Address,
    pub(crate) queue: RequestQueue<Job<Messaging>>,
    port: Port,
}

impl MessagingHandle {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Replaces the records of registered xApps, which route tables have beside those of the configuration. Tables that were sent
    /// are sent again.
    pub fn set_routes(&self, records: Vec<String>) {
        self.port.set_routes(records);
    }

    /// Replaces the endpoints `HOST:PORT` that are asked for their health although nothing else is sent to them.
    pub fn watch(&self, endpoints: Vec<String>) {
        self.port.watch(endpoints);
    }

    /// Replaces the xApps that rules of rights may name.
    pub fn set_named(&self, xapps: Vec<NamedXapp>) {
        self.port.set_named(xapps);
    }

    /// Replaces the rights of xApps. Subscriptions of xApps that have no right to them any more end.
    pub fn set_rights(&self, rights: Option<Vec<RmrEntry>>) {
        self.port.set_rights(rights);
    }

    /// What an endpoint has answered last; `None` if it was not asked, or has not answered.
    #[must_use]
    pub fn health(&self, endpoint: &str) -> Option<Health> {
        self.port.health(endpoint)
    }
}

/// To whom an answer goes, and what its header repeats.
#[derive(Debug)]
struct ReplyTo {
    connection: ConnectionId,
    transaction: Vec<u8>,
    data: Vec<u8>,
    meid: String,
}

/// A control of which the outcome is awaited.
struct PendingControl {
    reply: ReplyTo,
    reference: Reference,
    sender: Sender,
    octets: usize,
}

/// Where the indications of a subscription go that have one subscription id.
struct Route {
    /// What precedes the PDU.
    header: Vec<u8>,
    endpoints: Vec<EndpointId>,
}

/// The internal app.
pub(crate) struct Messaging {
    links: Links,
    /// What the links have found in this iteration.
    found: Vec<LinkEvent>,
    /// Nodes by their name, with the version of E2AP, and their names.
    nodes: HashMap<String, (NodeId, Version)>,
    names: HashMap<NodeId, String>,
    merging: Merging<subscribing::Owner>,
    /// Of the subscriptions in `merging` that are active.
    routes: HashMap<SubscriptionId, Vec<Route>>,
    /// Subscriptions by REST.
    records: Records,
    controls: HashMap<Ticket, PendingControl>,
    /// This RIC among those that share nodes.
    sharing: Option<Sharing>,
    /// Records that all tables have: of the configuration, and of registered xApps.
    table_records: Vec<String>,
    registered_records: Vec<String>,
    /// These records as a table, for what the RIC sends by it.
    table: TableReader,
    /// Tables that were sent, and to whom.
    tables: u64,
    table_readers: HashMap<ConnectionId, ReplyTo>,
    /// When xApps were asked for their health.
    asked: Instant,
    /// Endpoints that are connected for their health, with the connection on which they were asked first.
    watched: HashMap<String, (EndpointId, Option<ConnectionId>)>,
    port: Port,
    alarms: AlarmTraffic,
    access: Access,
    audit: ShareAudit,
    /// The shares of subscriptions that each sender has, and the number of the last one over RMR.
    shares: Shares,
    last_share: u64,
    control_quota: ControlQuota,
    table_requests: RateLimit<Host>,
    refusals: Refusals,
    #[cfg(feature = "a1")]
    policies: policies::Policies,
    #[cfg(feature = "a1")]
    enrichment: enrichment::Outboxes,
}

impl Messaging {
    fn new(links: Links, port: Port, table_records: Vec<String>, access: Access, audit: ShareAudit) -> Self {
        let table = TableReader::new(links.own_names());
        let mut messaging = Messaging {
            links,
            found: Vec::new(),
            nodes: HashMap::new(),
            names: HashMap::new(),
            merging: Merging::default(),
            routes: HashMap::new(),
            records: Records::default(),
            controls: HashMap::new(),
            sharing: None,
            table_records,
            registered_records: Vec::new(),
            table,
            tables: 0,
            table_readers: HashMap::new(),
            asked: Instant::now(),
            watched: HashMap::new(),
            port,
            alarms: AlarmTraffic::default(),
            access,
            audit,
            shares: Shares::new("subscriptions", MAX_SHARES),
            last_share: 0,
            control_quota: ControlQuota::default(),
            table_requests: RateLimit::new(TABLES_PER_SECOND),
            refusals: Refusals::default(),
            #[cfg(feature = "a1")]
            policies: policies::Policies::default(),
            #[cfg(feature = "a1")]
            enrichment: enrichment::Outboxes::default(),
        };
        messaging.read_table();
        messaging
    }

    /// Finds a node by its name.
    fn node(&self, name: &str) -> Option<(NodeId, Version)> {
        self.nodes.get(name).copied()
    }

    fn node_up(&mut self, node: &Node, ric: &IappContext<'_>) {
        let name = ran_name(&node.global_id);
        match self.nodes.get_mut(&name) {
            Some((known, version)) if *known == node.id => *version = node.version,
            Some(_) => {
                if ric.allows_line(node.id) {
                    warn!(
                        "xApps over RMR cannot use {}: another node has the name {name}; give the nodes different ids",
                        node.global_id.label()
                    );
                }
            }
            None => {
                if ric.allows_line(node.id) {
                    info!("{} is {name} for xApps over RMR", node.global_id.label());
                }
                self.nodes.insert(name.clone(), (node.id, node.version));
                self.names.insert(node.id, name);
            }
        }
    }

    fn node_lost(&mut self, node: NodeId, ric: &mut IappContext<'_>) {
        if let Some(name) = self.names.remove(&node) {
            self.nodes.remove(&name);
            self.withdraw_node(&name);
            self.take_down_node(&name, ric);
        }
    }

    /// Prepares the way of the indications of a subscription, or removes it if no xApp receives them.
    fn route(&mut self, id: merging::MergedId) {
        let Some(merged) = self.merging.get_mut(id) else { return };
        let Some(active) = &merged.active else { return };
        let (subscription, own_id) = (active.subscription, i32::from(active.request_id.instance));
        let mut ways = BTreeMap::<i32, Vec<EndpointId>>::new();
        for holder in &merged.holders {
            let shared = match (&holder.owner.way, &self.sharing) {
                (Way::Shared { record, xapp_instance }, Some(sharing)) => {
                    sharing.subscriptions.share_id(record, *xapp_instance)
                }
                _ => None,
            };
            let endpoints = ways.entry(shared.unwrap_or(own_id)).or_default();
            endpoints.extend(holder.endpoint.filter(|endpoint| !endpoints.contains(endpoint)));
        }
        let meid = self.names.get(&merged.node).map_or("", String::as_str);
        let source = self.links.source();
        let mut routes = Vec::new();
        for (subscription_id, endpoints) in ways.into_iter().filter(|(_, endpoints)| !endpoints.is_empty()) {
            let mut header = Vec::with_capacity(message::OVERHEAD_OCTETS);
            Header {
                kind: MessageType::INDICATION,
                subscription_id,
                meid,
                source: &source,
                source_address: &source,
                ..Header::default()
            }
            .write(0, &mut header);
            routes.push(Route { header, endpoints });
        }
        match routes.is_empty() {
            true => self.routes.remove(&subscription),
            false => self.routes.insert(subscription, routes),
        };
    }

    /// Handles the outcome of a command, or an event of a subscription.
    fn request(&mut self, event: &RequestEvent, ric: &mut IappContext<'_>) {
        match event {
            RequestEvent::Subscribed { ticket, subscription, admitted, not_admitted } => {
                self.subscribed(*ticket, *subscription, admitted, not_admitted, ric);
            }
            RequestEvent::SubscriptionFailed { ticket, error } => self.subscription_failed(*ticket, error),
            RequestEvent::SubscriptionResumed { subscription, node, .. } => {
                if let Some(id) = self.merging.find(*subscription) {
                    self.merging.move_to(id, *node);
                    self.end_without_right(&[id], None, ric);
                }
            }
            RequestEvent::SubscriptionEnded { subscription, end } => self.subscription_ended(*subscription, *end),
            RequestEvent::Controlled { ticket, outcome } => {
                let Some(control) = self.controls.remove(ticket) else { return };
                let PendingControl { reply, reference, sender, octets } = control;
                self.control_quota.ended(sender, octets);
                if let Some(answer) = pdus::control_answer(&reference, outcome) {
                    self.answer(&reply, i32::from(reference.request_id.instance), &answer);
                }
            }
            _ => {}
        }
    }
}

impl Iapp for Messaging {
    fn name(&self) -> &str {
        "messaging over RMR"
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::NodeUp(node) | IappEvent::NodeChanged(node) => {
                self.node_up(node, ric);
                self.share_node(node, ric);
            }
            IappEvent::NodeLost(node) => self.node_lost(*node, ric),
            IappEvent::Request(event) => self.request(event, ric),
            _ => {}
        }
    }

    fn on_indication(&mut self, indication: &Indication<'_>, _: &mut IappContext<'_>) {
        let Some(routes) = self.routes.get_mut(&indication.subscription) else { return };
        let class = match indication.kind {
            RicIndicationType::Report => Class::Report,
            // a procedure of the node waits for the answer
            RicIndicationType::Insert => Class::Keep,
        };
        for Route { header, endpoints } in routes {
            message::set_payload_octets(header, indication.pdu.len());
            for endpoint in endpoints {
                self.links.relay(*endpoint, &[header, indication.pdu], class);
            }
        }
    }

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        let mut found = std::mem::take(&mut self.found);
        self.links.process(&mut found);
        for event in found.drain(..) {
            match event {
                LinkEvent::Message(connection, octets) => self.message(connection, &octets, ric),
                LinkEvent::Closed(connection) => {
                    // its controls stay until their outcome: they count as long as they occupy the RIC
                    self.forget_connection(connection);
                    self.table_readers.remove(&connection);
                }
                LinkEvent::Unreachable(endpoint) if self.reach_ric_anew(endpoint) => {}
                LinkEvent::Unreachable(endpoint) => {
                    self.endpoint_unreachable(endpoint);
                    self.remove_endpoint(endpoint, ric);
                    #[cfg(feature = "a1")]
                    {
                        self.drop_policies_for(endpoint);
                        self.end_jobs_of(endpoint);
                    }
                    self.watch_anew(endpoint);
                }
                LinkEvent::Tick => {
                    // not for each registration: a table may be long
                    self.take_registrations();
                    self.take_access(ric);
                    self.tick();
                    self.find_reachable();
                    self.end_passed_on();
                }
            }
        }
        self.found = found;
        self.deliver_alarms();
        self.follow_others(ric);
        self.send_answers();
        #[cfg(feature = "a1")]
        {
            self.deliver_policies();
            self.deliver_enrichment();
        }
    }

    fn on_iteration_end(&mut self) {
        self.links.flush();
    }
}

/// The host and port of an endpoint as text.
pub(crate) fn endpoint_name(host: &str, port: u16) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}
