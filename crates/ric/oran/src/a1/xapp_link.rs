//! A1 for xApps of the RIC-xApp protocol: its messages of services carry the documents that RMR carries too, with the same types.
//!
//! An xApp that asks for the policies of a type (A1_POLICY_QUERY) has those that follow as well, until its session ends. Its name, which
//! is that of its certificate if it has one, is the `handler_id` of its answers, whatever they say, and its address for enrichment
//! information; several sessions of a name are one xApp. What it has said of policies ends with its last session.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ferric::e2::{Consumer, ConsumerIdentity, Indication};
use ferric::server::{Iapp, IappContext, IappEvent, IappWaker, Server};
use log_lines::{Host, escaped};
use rest::RateLimit;
use tracing::warn;

use super::enrichment::{
    Answer, EiMessageKind, Enrichment, JobLink, JobOwner, NO_NON_RT_RIC, REQUESTS_PER_SECOND, WeakEnrichment,
    refuse_job, refuse_query,
};
use super::{A1, PolicyLink, PolicyRequest, QUERIES_PER_SECOND, RESPONSES_PER_SECOND, WeakA1};

/// The way of these xApps.
const WAY: &str = "xapp";
/// Message types, as in the reference platform.
const POLICY_REQUEST: u32 = 20010;
const POLICY_RESPONSE: u32 = 20011;
const POLICY_QUERY: u32 = 20012;
const EI_QUERY: u32 = 20013;
const EI_JOB: u32 = 20015;
/// The most policy types that a session takes.
const MAX_TYPES: usize = 64;
/// Octets of policies, and of enrichment information, that wait for the event loop.
const MAX_OCTETS: usize = 8 << 20;

/// What waits for the event loop.
#[derive(Default)]
struct Inbox {
    policies: VecDeque<(i32, Vec<u8>)>,
    policy_octets: usize,
    /// Each answers one request, so that they are bounded by the rate of these.
    answers: Vec<(Consumer, EiMessageKind, Vec<u8>)>,
    deliveries: Vec<(String, EiMessageKind, Vec<u8>)>,
    delivery_octets: usize,
}

#[derive(Default)]
struct State {
    inbox: Inbox,
    /// The names of xApps that are there.
    present: BTreeSet<String>,
    a1: Option<WeakA1>,
    enrichment: Option<WeakEnrichment>,
}

/// The way of A1 to xApps of the RIC-xApp protocol. Clones are the same.
#[derive(Clone)]
pub struct XappLink {
    state: Arc<Mutex<State>>,
    waker: IappWaker,
}

impl std::fmt::Debug for XappLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("XappLink").finish_non_exhaustive()
    }
}

impl XappLink {
    /// Adds the app that takes what xApps have for A1 to a RIC.
    ///
    /// # Errors
    /// If the system refuses a file descriptor.
    pub fn add_to(server: &mut Server) -> Result<Self, ferric::Error> {
        let link = XappLink { state: Arc::default(), waker: server.iapp_waker()? };
        server.add_iapp(Box::new(XappService::new(link.clone())));
        Ok(link)
    }

    /// The way of policies.
    #[must_use]
    pub fn policy_link(&self) -> Box<dyn PolicyLink> {
        Box::new(self.clone())
    }

    /// The way of enrichment information.
    #[must_use]
    pub fn job_link(&self) -> Box<dyn JobLink> {
        Box::new(self.clone())
    }

    /// Has A1 take what xApps say of policies, and what they ask for.
    pub fn serve_a1(&self, a1: &A1) {
        self.state().a1 = Some(a1.downgrade());
    }

    /// Has enrichment information take what xApps ask for.
    pub fn serve_enrichment(&self, enrichment: &Enrichment) {
        self.state().enrichment = Some(enrichment.downgrade());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // each change is one assignment
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn a1(&self) -> Option<A1> {
        let weak = self.state().a1.clone();
        weak?.upgrade()
    }

    fn enrichment(&self) -> Option<Enrichment> {
        let weak = self.state().enrichment.clone();
        weak?.upgrade()
    }
}

impl PolicyLink for XappLink {
    fn deliver(&self, request: &PolicyRequest<'_>) -> bool {
        let document = request.encode();
        let mut state = self.state();
        if state.inbox.policy_octets + document.len() > MAX_OCTETS {
            return false;
        }
        state.inbox.policy_octets += document.len();
        state.inbox.policies.push_back((request.policy_type_id, document));
        drop(state);
        self.waker.wake();
        true
    }

    fn follow(&self, request: &PolicyRequest<'_>) {
        if !PolicyLink::deliver(self, request) {
            let (id, of_type) = (request.policy_instance_id, request.policy_type_id);
            warn!(
                "A1: policy `{id}` of type {of_type} is lost for all xApps of ferric's own link: {MAX_OCTETS} octets of policies wait \
                 already; send it again"
            );
        }
    }
}

impl JobLink for XappLink {
    fn way(&self) -> &'static str {
        WAY
    }

    fn deliver(&self, address: &str, kind: EiMessageKind, _: &str, document: Vec<u8>) -> bool {
        let mut state = self.state();
        if !state.present.contains(address) || state.inbox.delivery_octets + document.len() > MAX_OCTETS {
            return false;
        }
        state.inbox.delivery_octets += document.len();
        state.inbox.deliveries.push((address.to_owned(), kind, document));
        drop(state);
        self.waker.wake();
        true
    }

    fn watch(&self, _: Vec<String>) {}

    fn is_there(&self, address: &str) -> bool {
        self.state().present.contains(address)
    }
}

/// A session that has sent messages.
struct Session {
    name: String,
    /// The policy types that it takes.
    types: BTreeSet<i32>,
}

/// Who sends a message. Its session may have ended.
struct Sender<'a> {
    xapp: Consumer,
    identity: &'a ConsumerIdentity,
    host: Host,
}

/// The app on the event loop.
struct XappService {
    link: XappLink,
    sessions: HashMap<Consumer, Session>,
    requests: RateLimit<Consumer>,
    queries: RateLimit<Host>,
    responses: RateLimit<Host>,
}

/// A name as the id of a handler of policies has to be.
fn handler_id(name: &str) -> String {
    let graphic = |c: char| if c.is_ascii_graphic() { c } else { '_' };
    let id: String = name.chars().map(graphic).collect();
    if id.is_empty() { "xapp".to_owned() } else { id }
}

/// Why requests of an xApp are refused that has no rights.
const NO_RIGHTS: &str = "its `[[xapp_rights]]` grant nothing";

/// Whether an xApp has rights that are limited, to nothing.
fn grants_nothing(identity: &ConsumerIdentity) -> bool {
    identity.rights.as_ref().is_some_and(|rights| rights.read.is_empty() && rights.control.is_empty())
}

impl XappService {
    fn new(link: XappLink) -> Self {
        XappService {
            link,
            sessions: HashMap::new(),
            requests: RateLimit::new(REQUESTS_PER_SECOND),
            queries: RateLimit::new(QUERIES_PER_SECOND),
            responses: RateLimit::new(RESPONSES_PER_SECOND),
        }
    }

    fn message(&mut self, sender: &Sender<'_>, kind: u32, document: &[u8], ric: &mut IappContext<'_>) {
        let xapp = sender.xapp;
        let result = self.admit(sender, kind).and_then(|()| {
            if grants_nothing(sender.identity) {
                let answer = match kind {
                    EI_QUERY => Some(refuse_query(403, NO_RIGHTS)),
                    EI_JOB => Some(refuse_job(403, NO_RIGHTS, document)),
                    _ => None,
                };
                if let Some((answer, document)) = answer {
                    ric.send_to_xapp(xapp, answer.message_type().cast_unsigned(), &document);
                }
                return Err(NO_RIGHTS.to_owned());
            }
            self.enter(sender);
            self.request(sender, kind, document, ric)
        });
        if let Err(why) = result
            && ric.allows_line_about(xapp)
        {
            let name = &sender.identity.name;
            warn!("A1: a message of type {kind} of xApp {} is dropped: {}", escaped(name), escaped(&why));
        }
    }

    /// Counts a message of its rate.
    fn admit(&mut self, &Sender { xapp, host, .. }: &Sender<'_>, kind: u32) -> Result<(), String> {
        let now = Instant::now();
        let (taken, whose, limit) = match kind {
            POLICY_RESPONSE => (self.responses.take(host, now), "its host", RESPONSES_PER_SECOND),
            POLICY_QUERY => (self.queries.take(host, now), "its host", QUERIES_PER_SECOND),
            _ => (self.requests.take(xapp, now), "it", REQUESTS_PER_SECOND),
        };
        taken.map_err(|_| format!("{whose} sends more than {limit} of its kind per second"))
    }

    /// Notes that a session is there.
    fn enter(&mut self, &Sender { xapp, identity, host }: &Sender<'_>) {
        if self.sessions.contains_key(&xapp) {
            return;
        }
        let name = handler_id(&identity.name);
        self.link.state().present.insert(name.clone());
        if let Some(enrichment) = self.link.enrichment() {
            enrichment.owner_back(&JobOwner::new(WAY, &name), host);
        }
        self.sessions.insert(xapp, Session { name, types: BTreeSet::new() });
    }

    fn request(
        &mut self,
        &Sender { xapp, host, .. }: &Sender<'_>,
        kind: u32,
        document: &[u8],
        ric: &mut IappContext<'_>,
    ) -> Result<(), String> {
        if kind == POLICY_QUERY {
            // what was created before is in the answer
            self.send_policies(ric);
        }
        let Some(session) = self.sessions.get_mut(&xapp) else { return Ok(()) };
        let no_a1 = || "this RIC has no A1: it has no REST".to_owned();
        match kind {
            POLICY_RESPONSE => {
                let a1 = self.link.a1().ok_or_else(no_a1)?;
                a1.handle_response_of(document, &session.name).map_err(|error| error.to_string())
            }
            POLICY_QUERY => {
                let a1 = self.link.a1().ok_or_else(no_a1)?;
                let policy_type = A1::queried_type(document).map_err(|error| error.to_string())?;
                if session.types.len() == MAX_TYPES && !session.types.contains(&policy_type) {
                    return Err(format!("it takes {MAX_TYPES} policy types already"));
                }
                session.types.insert(policy_type);
                let mut answers = Vec::new();
                // a type that is created later has no policies yet
                let _ = a1.handle_query(document, &mut |request| answers.push(request.encode()));
                for answer in answers {
                    ric.send_to_xapp(xapp, POLICY_REQUEST, &answer);
                }
                Ok(())
            }
            _ => {
                let Some(enrichment) = self.link.enrichment() else {
                    let (answer, document) = match kind {
                        EI_QUERY => refuse_query(501, NO_NON_RT_RIC),
                        _ => refuse_job(501, NO_NON_RT_RIC, document),
                    };
                    ric.send_to_xapp(xapp, answer.message_type().cast_unsigned(), &document);
                    return Ok(());
                };
                let link = self.link.clone();
                let answer: Answer = Box::new(move |kind, document| {
                    link.state().inbox.answers.push((xapp, kind, document));
                    link.waker.wake();
                });
                match kind {
                    EI_QUERY => enrichment.handle_query(host, answer),
                    _ => enrichment.handle_request(JobOwner::new(WAY, &session.name), host, document, answer),
                }
                Ok(())
            }
        }
    }

    /// Sends the policies that have come.
    fn send_policies(&mut self, ric: &mut IappContext<'_>) {
        let policies = {
            let mut state = self.link.state();
            state.inbox.policy_octets = 0;
            std::mem::take(&mut state.inbox.policies)
        };
        for (policy_type, document) in policies {
            let takers = self.sessions.iter().filter(|(_, session)| session.types.contains(&policy_type));
            for (xapp, _) in takers {
                ric.send_to_xapp(*xapp, POLICY_REQUEST, &document);
            }
        }
    }

    fn ended(&mut self, xapp: Consumer) {
        let Some(Session { name, .. }) = self.sessions.remove(&xapp) else { return };
        if self.sessions.values().any(|other| other.name == name) {
            return;
        }
        self.link.state().present.remove(&name);
        if let Some(a1) = self.link.a1() {
            a1.handler_gone(&name);
        }
        if let Some(enrichment) = self.link.enrichment() {
            enrichment.owner_left(&JobOwner::new(WAY, &name));
        }
    }
}

impl Iapp for XappService {
    fn name(&self) -> &str {
        "A1"
    }

    fn serves(&self, kind: u32) -> bool {
        [POLICY_RESPONSE, POLICY_QUERY, EI_QUERY, EI_JOB].contains(&kind)
    }

    fn on_event(&mut self, event: &IappEvent<'_>, ric: &mut IappContext<'_>) {
        match event {
            IappEvent::XappMessage { xapp, identity, host, kind, document } => {
                let sender = Sender { xapp: *xapp, identity, host: *host };
                self.message(&sender, *kind, document, ric);
            }
            IappEvent::XappEnded { xapp, .. } => self.ended(*xapp),
            _ => {}
        }
    }

    fn on_indication(&mut self, _: &Indication<'_>, _: &mut IappContext<'_>) {}

    fn on_wake(&mut self, ric: &mut IappContext<'_>) {
        self.send_policies(ric);
        let (answers, deliveries) = {
            let mut state = self.link.state();
            state.inbox.delivery_octets = 0;
            (std::mem::take(&mut state.inbox.answers), std::mem::take(&mut state.inbox.deliveries))
        };
        for (xapp, kind, document) in answers {
            ric.send_to_xapp(xapp, kind.message_type().cast_unsigned(), &document);
        }
        if deliveries.is_empty() {
            return;
        }
        let mut sessions: BTreeMap<&str, Vec<Consumer>> = BTreeMap::new();
        for (xapp, session) in &self.sessions {
            sessions.entry(&session.name).or_default().push(*xapp);
        }
        for (name, kind, document) in deliveries {
            for xapp in sessions.get(&*name).into_iter().flatten() {
                ric.send_to_xapp(*xapp, kind.message_type().cast_unsigned(), &document);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ferric::server::ServerConfig;

    use super::*;

    fn service() -> XappService {
        let e2 = vec!["tcp://127.0.0.1:0".parse::<ferric::link::Address>().unwrap().into()];
        let mut server = Server::bind(ServerConfig { e2, xapp: None, ..ServerConfig::default() }).unwrap();
        let link = XappLink { state: Arc::default(), waker: server.iapp_waker().unwrap() };
        XappService::new(link)
    }

    #[test]
    fn queries_and_answers_of_a_host_are_limited_however_many_sessions_it_has() {
        let mut service = service();
        let identity = ConsumerIdentity::named("kpm");
        let mut admitted = |kind: u32, host: Host| {
            let sender = |session: u32| Sender { xapp: Consumer(session), identity: &identity, host };
            (0..5000).filter(|session| service.admit(&sender(*session), kind).is_ok()).count()
        };
        let hosts = [1, 2].map(|last| Host::V4([10, 0, 0, last].into()));
        for host in hosts {
            let (queries, responses) = (admitted(POLICY_QUERY, host), admitted(POLICY_RESPONSE, host));
            assert!((4..20).contains(&queries), "{queries} queries");
            assert!((1024..4000).contains(&responses), "{responses} answers");
        }
    }

    #[test]
    fn xapp_whose_rights_grant_nothing_has_no_services() {
        use ferric::e2::{Grant, Selection, XappRights};
        let of = |rights: Option<XappRights>| ConsumerIdentity {
            rights: rights.map(Arc::new),
            ..ConsumerIdentity::named("x")
        };
        assert!(!grants_nothing(&of(None)), "without rules it may do everything");
        assert!(grants_nothing(&of(Some(XappRights::default()))));
        let read = vec![Grant::new(Selection::All, Selection::All)];
        assert!(!grants_nothing(&of(Some(XappRights { read, control: Vec::new() }))));
    }
}
