//! A1 enrichment information over RMR.
//!
//! An xApp asks on any connection, and has the answer there. Results go to the endpoint at which it receives, which is connected as
//! long as it has jobs. What cannot be sent at once waits, the newest [`MAX_WAITING`] messages of each endpoint; the oldest are lost
//! and counted. An endpoint that is unreachable for too long loses its jobs.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Instant;

use ferric::server::IappContext;
use log_lines::Host;
use rest::RateLimit;
use rmr::{Header, Message, MessageType, NO_SUBSCRIPTION};
use tracing::{info, warn};

use super::links::{ConnectionId, EndpointId, Purpose};
use super::{Messaging, MessagingHandle, ReplyTo};
use crate::a1::enrichment::{
    Answer, EiMessageKind, Enrichment, JobLink, JobOwner, NO_NON_RT_RIC, REQUESTS_PER_SECOND, WeakEnrichment,
    refuse_job, refuse_query,
};

/// The way of these xApps.
const WAY: &str = "rmr";
/// Messages that wait for an endpoint.
const MAX_WAITING: usize = 64;
/// Octets of messages that wait for the event loop.
const MAX_OCTETS: usize = 8 << 20;

/// What waits for the event loop.
#[derive(Default)]
pub(super) struct EnrichmentInbox {
    pub service: Option<WeakEnrichment>,
    /// The endpoints of xApps with jobs, if they have changed.
    watched: Option<Vec<String>>,
    /// Each answers one request, so that they are bounded by the rate of these.
    answers: Vec<(ReplyTo, EiMessageKind, Vec<u8>)>,
    deliveries: Vec<(String, Waiting)>,
    octets: usize,
}

/// A message for an endpoint.
struct Waiting {
    kind: EiMessageKind,
    subscription_id: i32,
    document: Vec<u8>,
}

impl EnrichmentInbox {
    /// Takes all but the service.
    pub fn take(&mut self) -> Self {
        let service = self.service.clone();
        let taken = std::mem::take(self);
        self.service = service;
        taken
    }
}

/// What waits for endpoints.
pub(super) struct Outboxes {
    endpoints: HashMap<String, (EndpointId, VecDeque<Waiting>)>,
    requests: RateLimit<Host>,
}

impl Default for Outboxes {
    fn default() -> Self {
        Outboxes { endpoints: HashMap::new(), requests: RateLimit::new(REQUESTS_PER_SECOND) }
    }
}

struct RmrJobLink(super::port::Port);

impl JobLink for RmrJobLink {
    fn way(&self) -> &'static str {
        WAY
    }

    fn deliver(&self, address: &str, kind: EiMessageKind, job_id: &str, document: Vec<u8>) -> bool {
        // as the platform has it, if the id is a number
        let subscription_id = job_id.parse().ok().filter(|id| *id >= 0).unwrap_or(NO_SUBSCRIPTION);
        self.0.with_enrichment(|inbox| {
            if inbox.octets + document.len() > MAX_OCTETS {
                return false;
            }
            inbox.octets += document.len();
            inbox.deliveries.push((address.to_owned(), Waiting { kind, subscription_id, document }));
            true
        })
    }

    fn watch(&self, addresses: Vec<String>) {
        self.0.with_enrichment(|inbox| inbox.watched = Some(addresses));
    }
}

impl MessagingHandle {
    /// The way of enrichment information to xApps over RMR.
    #[must_use]
    pub fn job_link(&self) -> Box<dyn JobLink> {
        Box::new(RmrJobLink(self.port.clone()))
    }

    /// Has enrichment information take what xApps ask for.
    pub fn serve_enrichment(&self, enrichment: &Enrichment) {
        self.port.with_enrichment(|inbox| inbox.service = Some(enrichment.downgrade()));
    }
}

impl Messaging {
    /// Handles a request of an xApp.
    pub(super) fn enrichment_request(
        &mut self,
        connection: ConnectionId,
        message: &Message<'_>,
        ric: &mut IappContext<'_>,
    ) {
        let Some((_, host, _)) = self.links.ends(connection) else { return };
        let kind = message.kind;
        if self.enrichment.requests.take(host, Instant::now()).is_err() {
            let why = format!(
                "a message of type {kind} is dropped: its host sends more than {REQUESTS_PER_SECOND} per second"
            );
            return self.complain(connection, &why);
        }
        let (reply, port) = (ReplyTo::of(connection, message), self.port.clone());
        let service = match self.check_named(connection, message, ric) {
            Ok(()) => self.port.enrichment().ok_or((501, NO_NON_RT_RIC.to_owned())),
            Err(why) => {
                self.complain(connection, &format!("a message of type {kind} is refused: {why}"));
                Err((403, why))
            }
        };
        let enrichment = match service {
            Ok(enrichment) => enrichment,
            Err((status, why)) => {
                let (answer, document) = match kind {
                    MessageType::A1_EI_QUERY_ALL => refuse_query(status, &why),
                    _ => refuse_job(status, &why, message.payload),
                };
                return self.answer(&reply, NO_SUBSCRIPTION, &(MessageType(answer.message_type()), document));
            }
        };
        let answer: Answer = Box::new(move |kind, document| {
            port.with_enrichment(|inbox| inbox.answers.push((reply, kind, document)));
        });
        if kind == MessageType::A1_EI_QUERY_ALL {
            return enrichment.handle_query(host, answer);
        }
        match self.endpoint_of_sender(connection, message) {
            Some(endpoint) => enrichment.handle_request(JobOwner::new(WAY, &endpoint), host, message.payload, answer),
            None => {
                let why =
                    "the message does not state the port at which the xApp receives: its source address is HOST:PORT";
                let (kind, document) = refuse_job(400, why, message.payload);
                self.answer(
                    &ReplyTo::of(connection, message),
                    NO_SUBSCRIPTION,
                    &(MessageType(kind.message_type()), document),
                );
            }
        }
    }

    /// Sends what enrichment information has handed over.
    pub(super) fn deliver_enrichment(&mut self) {
        let inbox = self.port.take_enrichment();
        for (to, kind, document) in inbox.answers {
            self.answer(&to, NO_SUBSCRIPTION, &(MessageType(kind.message_type()), document));
        }
        if let Some(watched) = inbox.watched {
            self.watch_owners(watched);
        }
        let mut lost = BTreeMap::new();
        for (name, waiting) in inbox.deliveries {
            // one that is gone meanwhile
            let Some((_, queue)) = self.enrichment.endpoints.get_mut(&name) else { continue };
            if queue.len() == MAX_WAITING {
                queue.pop_front();
                *lost.entry(name.clone()).or_insert(0_u64) += 1;
            }
            queue.push_back(waiting);
        }
        let (links, outboxes) = (&mut self.links, &mut self.enrichment);
        let source = links.source();
        for (name, (endpoint, queue)) in &mut outboxes.endpoints {
            if queue.is_empty() || !links.is_established(*endpoint) {
                continue;
            }
            for Waiting { kind, subscription_id, document } in queue.drain(..) {
                let mut head = Vec::new();
                let kind = MessageType(kind.message_type());
                Header { kind, subscription_id, source: &source, source_address: &source, ..Header::default() }
                    .write(document.len(), &mut head);
                if !links.send_to(*endpoint, &[&head, &document]) {
                    *lost.entry(name.clone()).or_insert(0) += 1;
                }
            }
        }
        for (name, count) in lost {
            if links.log().allow(Host::Unknown) {
                warn!(
                    "A1-EI: {count} messages for the xApp at {name} are lost: it is away, or reads too slowly; start it, or let it \
                     delete jobs"
                );
            }
        }
    }

    /// Has the endpoints connected whose xApps have jobs.
    fn watch_owners(&mut self, watched: Vec<String>) {
        let watched: HashSet<String> = watched.into_iter().collect();
        let gone: Vec<_> = self.enrichment.endpoints.keys().filter(|name| !watched.contains(*name)).cloned().collect();
        for name in gone {
            if let Some((endpoint, _)) = self.enrichment.endpoints.remove(&name) {
                self.links.release(endpoint, Purpose::Policies);
            }
        }
        for name in watched {
            if !self.enrichment.endpoints.contains_key(&name) {
                let endpoint = self.links.hold(&name, Purpose::Policies);
                self.enrichment.endpoints.insert(name, (endpoint, VecDeque::new()));
            }
        }
    }

    /// Ends the jobs of an endpoint that cannot be reached.
    pub(super) fn end_jobs_of(&mut self, endpoint: EndpointId) {
        let of = self.enrichment.endpoints.iter().find(|(_, (id, _))| *id == endpoint);
        let Some(name) = of.map(|(name, _)| name.clone()) else { return };
        if let Some(enrichment) = self.port.enrichment() {
            let count = enrichment.owner_gone(&JobOwner::new(WAY, &name));
            if count > 0 && self.links.log().allow_important(Host::Unknown) {
                info!(
                    "A1-EI: {count} jobs of the xApp at {name} end: it cannot be reached; it creates them again when it is back"
                );
            }
        }
    }
}
