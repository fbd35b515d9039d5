//! Policies in the shared data layer: xApps find them there, are notified of changes, and answer by a notification.
//!
//! | in the namespace `A1m_ns`, which xApps read | |
//! |---|---|
//! | key `a1.policy_type.TYPE` | a policy type |
//! | key `a1.policy_instance.TYPE.ID` | a policy |
//! | channel `A1_POLICY_REQ` | requests for xApps |
//!
//! | in the namespace `A1m_resp`, which xApps write | |
//! |---|---|
//! | channel `A1_POLICY_RESP` | what an xApp says of a policy |
//! | channel `A1_POLICY_QUERY` | an xApp asks for the policies of a type: they are sent again, to all |

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use log_lines::{Host, LogBudget};
use rest::RateLimit;
use sdl::{Change, Handle};
use serde_json::Value;
use tracing::warn;

use super::messages::{Operation, PolicyRequest};
use super::policies::{Policies, PolicyType};
use super::{A1, PolicyLink, QUERIES_PER_SECOND};

const NAMESPACE: &str = "A1m_ns";
const RESPONSES: &str = "A1m_resp";
const TYPE_PREFIX: &str = "a1.policy_type.";
const INSTANCE_PREFIX: &str = "a1.policy_instance.";

fn key(name: &str) -> Vec<u8> {
    format!("{{{NAMESPACE}}},{name}").into_bytes()
}

struct SdlLink(Handle);

fn publish(request: &PolicyRequest<'_>) -> Change {
    Change::Publish { channel: key("A1_POLICY_REQ"), message: request.encode() }
}

impl PolicyLink for SdlLink {
    fn deliver(&self, request: &PolicyRequest<'_>) -> bool {
        let key = key(&format!("{INSTANCE_PREFIX}{}.{}", request.policy_type_id, request.policy_instance_id));
        let change = match request.operation {
            Operation::Create | Operation::Update => {
                Change::Set { key, octets: request.payload.to_string().into_bytes() }
            }
            Operation::Delete => Change::Remove { key },
        };
        self.0.apply(vec![change, publish(request)])
    }

    fn type_changed(&self, policy_type_id: i32, document: Option<&PolicyType>) -> bool {
        let key = key(&format!("{TYPE_PREFIX}{policy_type_id}"));
        self.0.apply(vec![match document {
            // texts and a JSON value are written in any case
            Some(document) => Change::Set { key, octets: serde_json::to_vec(document).unwrap_or_default() },
            None => Change::Remove { key },
        }])
    }
}

/// Policies that the shared data layer stores and delivers, beside other ways to xApps. Those of an earlier run are restored; if the
/// store is elsewhere, that is done on a thread, and requests are refused with [`PolicyError::NotRestored`](super::PolicyError::NotRestored) until then.
#[must_use]
pub fn over_sdl(handle: &Handle, mut links: Vec<Box<dyn PolicyLink>>, log: LogBudget) -> A1 {
    // first: what it refuses reaches no xApp by another way
    links.insert(0, Box::new(SdlLink(handle.clone())));
    let a1 = A1::with(Policies::default(), links);
    restore(&a1, handle);
    let (weak, budget) = (a1.downgrade(), log.clone());
    let of_responses = move |octets: &[u8]| {
        if let Some(a1) = weak.upgrade()
            && let Err(error) = a1.handle_response(octets)
            && budget.allow(Host::Unknown)
        {
            warn!("A1: an answer of an xApp on the channel A1_POLICY_RESP is dropped: {error}; correct the xApp");
        }
    };
    let (weak, answers) = (a1.downgrade(), handle.clone());
    let rate = Mutex::new(RateLimit::new(QUERIES_PER_SECOND));
    let of_queries = move |octets: &[u8]| {
        let Some(a1) = weak.upgrade() else { return };
        if a1.0.is_silent.get().is_some_and(|is_silent| is_silent()) {
            return;
        }
        // only this thread has it
        if rate.lock().unwrap_or_else(PoisonError::into_inner).take((), Instant::now()).is_err() {
            if log.allow(Host::Unknown) {
                warn!(
                    "A1: a query of an xApp on the channel A1_POLICY_QUERY is dropped: xApps send more than {QUERIES_PER_SECOND} per \
                     second; let it ask once, when it starts"
                );
            }
            return;
        }
        let mut is_sent = true;
        let result = a1.handle_query(octets, &mut |request| is_sent &= answers.apply(vec![publish(request)]));
        let is_complete = result.is_ok() && is_sent;
        if is_complete || !log.allow(Host::Unknown) {
            return;
        }
        match result {
            Err(error) => {
                warn!("A1: a query of an xApp on the channel A1_POLICY_QUERY is dropped: {error}; correct the xApp");
            }
            Ok(count) => warn!(
                "A1: the query of an xApp on the channel A1_POLICY_QUERY, for a type with {count} policies, is not answered \
                 completely: {}; let the xApp ask again",
                sdl::NO_ROOM
            ),
        }
    };
    let (weak, again) = (a1.downgrade(), handle.clone());
    handle.on_return(Box::new(move || {
        if let Some(a1) = weak.upgrade()
            && !again.apply(a1.stored())
        {
            warn!(
                "A1: policies are not restored in the shared data layer, which was away: {}, then create them again",
                sdl::NO_ROOM
            );
        }
    }));
    handle.observe(format!("{{{RESPONSES}}},A1_POLICY_RESP").into_bytes(), Box::new(of_responses));
    handle.observe(format!("{{{RESPONSES}}},A1_POLICY_QUERY").into_bytes(), Box::new(of_queries));
    a1
}

impl A1 {
    /// The changes that store all types and policies.
    fn stored(&self) -> Vec<Change> {
        let policies = self.policies();
        let mut changes = Vec::new();
        for id in policies.type_ids() {
            if let Ok(document) = policies.policy_type(id) {
                let octets = serde_json::to_vec(document).unwrap_or_default();
                changes.push(Change::Set { key: key(&format!("{TYPE_PREFIX}{id}")), octets });
            }
            for (instance, policy) in policies.instances(id).into_iter().flatten() {
                let key = key(&format!("{INSTANCE_PREFIX}{id}.{instance}"));
                changes.push(Change::Set { key, octets: policy.to_string().into_bytes() });
            }
        }
        changes
    }
}

/// Restores what an earlier run has left: at once, or as soon as a store that is elsewhere can be read.
fn restore(a1: &A1, handle: &Handle) {
    if !handle.is_remote() {
        *a1.policies() = restored(handle);
        return;
    }
    a1.0.is_restored.store(false, Ordering::Release);
    let (weak, handle) = (a1.downgrade(), handle.clone());
    let read = move || {
        let policies = restored(&handle);
        if let Some(a1) = weak.upgrade() {
            let mut all = a1.policies();
            all.complete_with(policies);
            // xApps that have asked meanwhile
            for policy_type_id in all.type_ids() {
                for (policy_instance_id, payload) in all.instances(policy_type_id).into_iter().flatten() {
                    let operation = Operation::Create;
                    a1.follow_request(&PolicyRequest { operation, policy_type_id, policy_instance_id, payload });
                }
            }
            a1.0.is_restored.store(true, Ordering::Release);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("a1-restore".to_owned()).spawn(read) {
        warn!(
            "A1: policies of an earlier run are not read, and none are accepted: cannot start a thread: {error}; raise the limit of \
             threads (ulimit -u, TasksMax), and restart the RIC"
        );
    }
}

/// Reads what an earlier run has left.
fn restored(handle: &Handle) -> Policies {
    let stored = handle.read(NAMESPACE.as_bytes());
    let named = |prefix: &'static str| {
        let prefix = key(prefix);
        stored.iter().filter_map(move |(key, octets)| Some((key.strip_prefix(prefix.as_slice())?, octets)))
    };
    let mut policies = Policies::default();
    for (id, octets) in named(TYPE_PREFIX) {
        let document = serde_json::from_slice::<PolicyType>(octets).ok();
        let restored = document.map(|document| policies.create_type(document.policy_type_id, document));
        if !matches!(restored, Some(Ok(()))) {
            warn!(
                "A1: the policy type {:?} in the shared data layer is ignored: it is no valid document of a type; create it again",
                String::from_utf8_lossy(id)
            );
        }
    }
    for (name, octets) in named(INSTANCE_PREFIX) {
        let name = String::from_utf8_lossy(name);
        let parts = name.split_once('.').and_then(|(id, instance)| Some((id.parse().ok()?, instance)));
        let policy: Option<Value> = serde_json::from_slice(octets).ok();
        match parts.zip(policy) {
            Some(((of_type, id), policy)) if policies.check(of_type, id, &policy).is_ok() => {
                policies.put(of_type, id, policy);
            }
            _ => warn!(
                "A1: the policy {name:?} (TYPE.ID) in the shared data layer is ignored: its type is unknown, or it does not conform \
                 to it; create it again"
            ),
        }
    }
    policies
}
