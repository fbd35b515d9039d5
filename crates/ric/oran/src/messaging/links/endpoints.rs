//! The endpoints at which xApps receive: each is connected while something is to be sent to it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use ferric::link::{Address, Class, Interest, Link, State as LinkState, StreamId};
use log_lines::Host;
use tracing::warn;

use super::{ConnectionId, End, LinkEvent, Links};

/// The first pause before an endpoint is connected again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);
/// How long an endpoint may be unreachable.
pub(crate) const UNREACHABLE: Duration = Duration::from_secs(60);

/// An endpoint of an xApp in [`Links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndpointId(pub u32);

/// What is sent to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Indications,
    #[cfg_attr(not(feature = "a1"), allow(dead_code))] // only A1 sends these
    Policies,
    Health,
    /// Messages of other RICs.
    Rics,
    Alarms,
}

/// The state of an endpoint.
enum State {
    /// Its name is looked up.
    Resolving,
    /// It is connected, or will be as soon as the peer accepts.
    Linked(ConnectionId),
    /// It could not be reached.
    Paused(Instant),
}

pub(super) struct Endpoint {
    name: String,
    state: State,
    /// How often it is held for each [`Purpose`].
    users: [usize; 5],
    pause: Duration,
    /// Since when it cannot be reached.
    down_since: Option<Instant>,
    /// Indications that were sent, and those that were lost.
    sent: u64,
    lost: u64,
    /// Lost ones that were logged.
    reported: u64,
}

impl Endpoint {
    /// What is at it.
    fn noun(&self) -> &'static str {
        let [indications, policies, _, rics, alarms] = self.users.map(|users| users > 0);
        match (indications || policies, rics, alarms) {
            (false, true, _) => "RIC",
            (false, false, true) => "alarm manager",
            _ => "xApp",
        }
    }

    /// What happens to it while it cannot be reached.
    fn effect(&self) -> &'static str {
        let [indications, policies, _, rics, alarms] = self.users.map(|users| users > 0);
        match (indications, policies, rics) {
            (true, ..) => "its indications are lost",
            (_, true, _) => "its A1 messages wait",
            (.., true) => "controls for its nodes fail",
            _ if alarms => "alarms wait",
            _ => "its health is not known, and nothing else is sent to it",
        }
    }
}

/// How an endpoint is doing, for a list of them.
pub(crate) struct EndpointState {
    pub name: String,
    pub is_connected: bool,
    pub sent: u64,
    pub lost: u64,
}

impl Links {
    /// Puts an indication into the outbox of an endpoint. A report may be dropped, and is counted then.
    #[inline]
    pub fn relay(&mut self, id: EndpointId, parts: &[&[u8]], class: Class) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        let State::Linked(connection_id) = endpoint.state else {
            endpoint.lost += 1;
            return;
        };
        let Some(connection) = self.connections.get_mut(&connection_id) else { return };
        let mut written = Ok(());
        if !connection.is_full && connection.link.queued_octets() >= self.gather_octets {
            written = connection.link.flush().map(|flushed| connection.is_full = flushed.waiting);
        }
        match written.and_then(|()| connection.link.send(StreamId(0), parts, class)) {
            Ok(sent) => {
                endpoint.sent += u64::from(sent.queued);
                endpoint.lost += u64::from(sent.dropped_reports);
                if !connection.is_dirty {
                    connection.is_dirty = true;
                    self.dirty.push(connection_id);
                }
            }
            // what must not be dropped has filled the outbox, or the connection is gone
            Err(error) => {
                endpoint.lost += 1;
                self.end(connection_id, &End::Link(error), &mut Vec::new());
            }
        }
    }

    /// The connection of an endpoint, established or not.
    pub fn linked(&self, id: EndpointId) -> Option<ConnectionId> {
        match self.endpoints.get(&id)?.state {
            State::Linked(connection) => Some(connection),
            _ => None,
        }
    }

    /// The connection of an endpoint, if it is established.
    pub fn established(&self, id: EndpointId) -> Option<ConnectionId> {
        let State::Linked(connection) = self.endpoints.get(&id)?.state else { return None };
        let is_established = self.connections.get(&connection)?.link.state() == LinkState::Established;
        is_established.then_some(connection)
    }

    /// Whether an endpoint is connected.
    pub fn is_established(&self, id: EndpointId) -> bool {
        self.established(id).is_some()
    }

    /// Sends a message that must not be dropped to an endpoint. Returns whether it is connected and has taken it.
    pub fn send_to(&mut self, id: EndpointId, parts: &[&[u8]]) -> bool {
        let connection = self.established(id);
        connection.is_some_and(|connection| self.send(connection, parts, Class::Keep))
    }

    /// Checks that there is room for an endpoint: there are as many at most, and of a host, as connections that xApps open.
    pub fn check_room(&self, name: &str) -> Result<(), String> {
        if self.names.contains_key(name) {
            return Ok(());
        }
        let own = host_of(name);
        let of_host = self.names.keys().filter(|other| host_of(other) == own).count();
        let super::Limits { max_connections, max_connections_per_host, .. } = self.limits;
        if self.names.len() < max_connections && of_host < max_connections_per_host {
            return Ok(());
        }
        Err(format!(
            "the RIC has {} endpoints of xApps, {of_host} of this host; {max_connections} and {max_connections_per_host} are allowed \
             (max_xapp_connections, max_host_percent)",
            self.names.len()
        ))
    }

    /// Has an endpoint `HOST:PORT` connected until it is released as often as it was held.
    pub fn hold(&mut self, name: &str, purpose: Purpose) -> EndpointId {
        if let Some(id) = self.names.get(name) {
            if let Some(endpoint) = self.endpoints.get_mut(id) {
                endpoint.users[purpose as usize] += 1;
            }
            return *id;
        }
        let mut users = [0; 5];
        users[purpose as usize] = 1;
        self.last_endpoint = self.last_endpoint.wrapping_add(1);
        let id = EndpointId(self.last_endpoint);
        let endpoint = Endpoint {
            name: name.to_owned(),
            state: State::Resolving,
            users,
            pause: FIRST_PAUSE,
            down_since: Some(Instant::now()),
            sent: 0,
            lost: 0,
            reported: 0,
        };
        self.endpoints.insert(id, endpoint);
        self.names.insert(name.to_owned(), id);
        self.begin(id);
        id
    }

    pub fn release(&mut self, id: EndpointId, purpose: Purpose) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        endpoint.users[purpose as usize] -= 1;
        if endpoint.users != [0; 5] {
            return;
        }
        let state = std::mem::replace(&mut endpoint.state, State::Resolving);
        self.names.remove(&endpoint.name);
        self.endpoints.remove(&id);
        if let State::Linked(connection) = state {
            self.flush_one(connection);
            self.end(connection, &End::Unused, &mut Vec::new());
        }
    }

    /// The endpoint of a name, if something is sent to it.
    pub fn endpoint(&self, name: &str) -> Option<EndpointId> {
        self.names.get(name).copied()
    }

    /// The name of an endpoint.
    pub fn name(&self, id: EndpointId) -> &str {
        self.endpoints.get(&id).map_or("", |endpoint| &endpoint.name)
    }

    /// How all endpoints are doing, by name.
    pub fn endpoints(&self) -> Vec<EndpointState> {
        let of = |endpoint: &Endpoint| EndpointState {
            name: endpoint.name.clone(),
            is_connected: endpoint.down_since.is_none(),
            sent: endpoint.sent,
            lost: endpoint.lost,
        };
        let mut endpoints: Vec<_> = self.endpoints.values().map(of).collect();
        endpoints.sort_by(|a, b| a.name.cmp(&b.name));
        endpoints
    }

    /// Begins to connect an endpoint.
    fn begin(&mut self, id: EndpointId) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        endpoint.state = State::Resolving;
        let Some((host, Ok(port))) = endpoint.name.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()))
        else {
            return;
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        match host.parse::<IpAddr>() {
            Ok(address) => self.connect(id, address, port),
            Err(_) if self.helpers.resolve(id, host, port) => {}
            Err(_) => self.fail(id, "too many names are to be resolved"),
        }
    }

    pub(super) fn resolved(&mut self, id: EndpointId, result: Result<(IpAddr, u16), String>) {
        match result {
            Ok((address, port)) => self.connect(id, address, port),
            Err(error) => self.fail(id, &error),
        }
    }

    fn connect(&mut self, id: EndpointId, address: IpAddr, port: u16) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        let name = endpoint.name.clone();
        let to = Address::Tcp { host: address.to_string(), port };
        let link = match Link::connect(&to, &self.config) {
            Ok(link) => link,
            Err(error) => return self.fail(id, &error.to_string()),
        };
        match self.add(link, Host::from(address), name, Some(id), Interest::READ_WRITE) {
            Some(connection) => {
                if let Some(endpoint) = self.endpoints.get_mut(&id) {
                    endpoint.state = State::Linked(connection);
                }
            }
            None => self.fail(id, "it cannot be waited for"),
        }
    }

    fn fail(&mut self, id: EndpointId, why: &str) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        if endpoint.pause == FIRST_PAUSE && self.log.allow(Host::Unknown) {
            warn!(
                "the {} at {} cannot be reached over RMR: {why}; trying again; {} until then",
                endpoint.noun(),
                endpoint.name,
                endpoint.effect()
            );
        }
        endpoint.state = State::Paused(Instant::now() + endpoint.pause);
        endpoint.pause = (2 * endpoint.pause).min(LONGEST_PAUSE);
    }

    /// The connection of an endpoint has ended.
    pub(super) fn lost(&mut self, id: EndpointId, host: Host, end: &End) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        if endpoint.pause == FIRST_PAUSE && self.log.allow_important(host) {
            warn!(
                "the {} at {} does not receive over RMR: {end}; {} until it can be reached",
                endpoint.noun(),
                endpoint.name,
                endpoint.effect()
            );
        }
        endpoint.state = State::Paused(Instant::now() + endpoint.pause);
        endpoint.pause = (2 * endpoint.pause).min(LONGEST_PAUSE);
    }

    /// Connects endpoints again whose pause is over, and looks at how they are doing.
    pub(super) fn tick_endpoints(&mut self, now: Instant, found: &mut Vec<LinkEvent>) {
        let due = |endpoint: &Endpoint| matches!(endpoint.state, State::Paused(until) if until <= now);
        let due: Vec<_> = self.endpoints.iter().filter(|(_, of)| due(of)).map(|(id, _)| *id).collect();
        for id in due {
            self.begin(id);
        }
        for (id, endpoint) in &mut self.endpoints {
            let connection = match endpoint.state {
                State::Linked(connection) => self.connections.get(&connection),
                _ => None,
            };
            if connection.is_some_and(|connection| connection.link.state() == LinkState::Established) {
                (endpoint.down_since, endpoint.pause) = (None, FIRST_PAUSE);
                let lost = endpoint.lost - endpoint.reported;
                if lost > 0 && self.log.allow(Host::Unknown) {
                    warn!(
                        "the xApp at {} has lost {lost} indications: it reads too slowly, or was away; let it subscribe to fewer",
                        endpoint.name
                    );
                    endpoint.reported = endpoint.lost;
                }
            } else if now.saturating_duration_since(*endpoint.down_since.get_or_insert(now)) >= UNREACHABLE {
                found.push(LinkEvent::Unreachable(*id));
            }
        }
    }

    /// The connections to endpoints.
    pub fn to_endpoints(&self) -> Vec<ConnectionId> {
        let linked = |endpoint: &Endpoint| match endpoint.state {
            State::Linked(connection) => Some(connection),
            _ => None,
        };
        self.endpoints.values().filter_map(linked).collect()
    }

    /// The name of the endpoint that a connection leads to.
    pub fn endpoint_of(&self, id: ConnectionId) -> Option<&str> {
        let endpoint = self.connections.get(&id)?.endpoint?;
        Some(self.name(endpoint))
    }
}

/// The host of `HOST:PORT`.
fn host_of(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(host, _)| host)
}
