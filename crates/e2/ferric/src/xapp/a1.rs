//! A1: policies of a non-RT RIC, and its enrichment information.
//!
//! Documents are those of the O-RAN reference platform: an xApp over RMR has the same. JSON is passed as text.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};

use super::core::{Core, Purpose};
use super::error::Error;
use super::feed::{Buffer, Feed};
use super::raw::Commands;
use super::ric::{Handle, Ric};
use super::session::{Reply, Session};

const POLICY_REQUEST: u32 = 20010;
const POLICY_RESPONSE: u32 = 20011;
const POLICY_QUERY: u32 = 20012;
const EI_QUERY: u32 = 20013;
const EI_TYPES: u32 = 20014;
const EI_JOB: u32 = 20015;
const EI_JOB_RESPONSE: u32 = 20016;
const EI_RESULT: u32 = 20017;

/// What is done with a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOperation {
    /// It is new, or was there before the xApp. An xApp may get it more than once.
    Create,
    /// It has changed.
    Update,
    /// It is no more.
    Delete,
}

/// A policy of a non-RT RIC, or its deletion.
pub struct A1Policy {
    operation: PolicyOperation,
    policy_type: i32,
    id: String,
    json: String,
    handle: Handle,
}

impl A1Policy {
    /// What is done with it.
    #[must_use]
    pub fn operation(&self) -> PolicyOperation {
        self.operation
    }

    /// Its type.
    #[must_use]
    pub fn policy_type(&self) -> i32 {
        self.policy_type
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The policy as JSON, which conforms to the schema of its type; of a deletion the last one.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Says that the policy is enforced from now on; of a deletion, that it is not any more.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`].
    pub fn accept(&self) -> Result<(), Error> {
        self.answer(if self.operation == PolicyOperation::Delete { "DELETED" } else { "OK" })
    }

    /// Says that the policy is not enforced.
    ///
    /// # Errors
    /// As [`A1Policy::accept`].
    pub fn refuse(&self) -> Result<(), Error> {
        self.answer("ERROR")
    }

    fn answer(&self, status: &str) -> Result<(), Error> {
        let document = json!({ "policy_type_id": self.policy_type, "policy_instance_id": self.id, "status": status });
        let document = document.to_string();
        self.handle.session.ask(
            || "answer about a policy".into(),
            self.handle.deadline,
            move |_, commands, reply| {
                let is_sent = commands.service(POLICY_RESPONSE, document.as_bytes());
                reply.send(if is_sent { Ok(()) } else { Err(no_service()) });
            },
        )
    }
}

impl fmt::Debug for A1Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let A1Policy { operation, policy_type, id, json, .. } = self;
        write!(f, "A1Policy({operation:?} {id} of type {policy_type}: {json})")
    }
}

/// What happens to an EI job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EiEvent {
    /// The non-RT RIC has it.
    Established,
    /// A result, as JSON.
    Result(String),
    /// Whether the non-RT RIC can deliver results.
    Enabled(bool),
    /// The non-RT RIC has it not.
    Refused {
        /// A status code of HTTP.
        status: u16,
        /// Why.
        detail: String,
        /// Whether the RIC tries again by itself; [`EiEvent::Established`] follows then.
        is_retried: bool,
    },
}

impl Ric {
    /// The policies of a type: those that are there, and all that follow, also of a type that is created later. Each is to be answered.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Timeout`]. A RIC without A1 ends the feed with [`Error::Service`].
    pub fn a1_policies(&self, policy_type: i32) -> Result<Feed<A1Policy>, Error> {
        self.service_feed(|handle, buffer| Purpose::A1Policies {
            policy_type,
            buffer,
            session: Arc::downgrade(&handle.session),
            deadline: handle.deadline,
        })
    }

    /// The ids of the types of enrichment information that the non-RT RIC has.
    ///
    /// # Errors
    /// [`Error::Service`] if the RIC has no non-RT RIC, or that does not answer; [`Error::Closed`], [`Error::Timeout`].
    pub fn ei_types(&self) -> Result<Vec<String>, Error> {
        let handle = self.handle();
        handle.session.ask(
            || "types of enrichment information (the RIC may have no non-RT RIC)".into(),
            handle.deadline,
            |core, commands, reply| {
                core.ei_types.push(reply);
                if !commands.service(EI_QUERY, b"") {
                    core.handle_no_service();
                }
            },
        )
    }

    /// Has the non-RT RIC deliver enrichment information of a type, with a definition in JSON that conforms to the type. The feed says
    /// whether the job is established, and then has its results. When it is dropped the job is deleted.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the definition is not a JSON object; [`Error::Closed`], [`Error::Timeout`]. A RIC without A1 ends the feed
    /// with [`Error::Service`].
    pub fn ei_job(&self, job_id: &str, ei_type: &str, definition: &str) -> Result<Feed<EiEvent>, Error> {
        let invalid = || Error::invalid("definition", definition, "a JSON object");
        let definition: serde_json::Map<String, Value> = serde_json::from_str(definition).map_err(|_| invalid())?;
        let request = json!({ "job-id": job_id, "eiTypeId": ei_type, "jobDefinition": definition }).to_string();
        let job_id = job_id.to_owned();
        self.service_feed(|_, buffer| Purpose::EiJob { job_id, request, buffer })
    }

    fn service_feed<T>(&self, purpose: impl FnOnce(&Handle, Arc<Buffer<T>>) -> Purpose) -> Result<Feed<T>, Error> {
        let handle = self.handle().clone();
        let buffer = Arc::new(Buffer::new().map_err(|source| handle.system_error("eventfd", source))?);
        let purpose = purpose(&handle, Arc::clone(&buffer));
        let id = handle.session.ask(
            || "A1".into(),
            handle.deadline,
            move |core, commands, reply| {
                let is_sent = purpose.request_service(commands);
                core.add_stream(commands, purpose, None, reply);
                if !is_sent {
                    core.handle_no_service();
                }
            },
        )?;
        Ok(Feed::new(buffer, id, handle.session))
    }
}

/// The replies to [`Ric::ei_types`] that are awaited.
pub(super) type TypesReplies = Vec<Reply<Vec<String>>>;

impl Purpose {
    /// Asks the RIC for what a stream of a service is about: at first, and when the RIC was lost. Returns whether the RIC can have
    /// services.
    pub(super) fn request_service(&self, commands: &mut Commands<'_>) -> bool {
        match self {
            Purpose::A1Policies { policy_type, .. } => {
                let query = json!({ "policy_type_id": policy_type }).to_string();
                commands.service(POLICY_QUERY, query.as_bytes())
            }
            Purpose::EiJob { request, .. } => commands.service(EI_JOB, request.as_bytes()),
            _ => true,
        }
    }

    /// Whether both streams are about the same job.
    pub(super) fn has_job_of(&self, other: &Purpose) -> bool {
        matches!((self, other), (Purpose::EiJob { job_id: a, .. }, Purpose::EiJob { job_id: b, .. }) if a == b)
    }

    /// Tells the RIC that a stream of a service has ended.
    pub(super) fn withdraw_service(&self, commands: &mut Commands<'_>) {
        if let Purpose::EiJob { job_id, .. } = self {
            let request = json!({ "job-id": job_id, "operation": "DELETE" }).to_string();
            commands.service(EI_JOB, request.as_bytes());
        }
    }

    /// Passes a message on to the reader, if the stream is about it.
    fn take_service(&self, kind: u32, document: &Value) {
        match (self, kind) {
            (Purpose::A1Policies { policy_type, buffer, session, deadline }, POLICY_REQUEST) => {
                if let Some(policy) = policy(document, *policy_type, session, *deadline) {
                    buffer.push(policy);
                }
            }
            (Purpose::EiJob { job_id, buffer, .. }, EI_JOB_RESPONSE | EI_RESULT) => {
                if let Some(event) = ei_event(document, job_id, kind) {
                    buffer.push(event);
                }
            }
            _ => {}
        }
    }

    /// Ends a stream of a service that the RIC does not have. Returns whether it is one.
    pub(super) fn end_service(&self) -> bool {
        match self {
            Purpose::A1Policies { buffer, .. } => buffer.end(Some(no_service())),
            Purpose::EiJob { buffer, .. } => buffer.end(Some(no_service())),
            _ => return false,
        }
        true
    }
}

fn no_service() -> Error {
    Error::Service { what: "A1".into(), detail: "the RIC has no such service, or is older than it".into() }
}

fn policy(document: &Value, wanted: i32, session: &Weak<Session>, deadline: Duration) -> Option<A1Policy> {
    let policy_type = document["policy_type_id"].as_i64().and_then(|id| i32::try_from(id).ok())?;
    let operation = match document["operation"].as_str()? {
        "CREATE" => PolicyOperation::Create,
        "UPDATE" => PolicyOperation::Update,
        "DELETE" => PolicyOperation::Delete,
        _ => return None,
    };
    let handle = Handle { session: session.upgrade()?, deadline, verify: None };
    let (id, json) = (document["policy_instance_id"].as_str()?.to_owned(), document["payload"].to_string());
    (policy_type == wanted).then_some(A1Policy { operation, policy_type, id, json, handle })
}

fn ei_event(document: &Value, job_id: &str, kind: u32) -> Option<EiEvent> {
    let is_of = |name: &str| document[name].as_str() == Some(job_id);
    if is_of("job-id") {
        return Some(EiEvent::Refused {
            status: document["status"].as_u64().and_then(|status| u16::try_from(status).ok())?,
            detail: document["detail"].as_str().unwrap_or_default().to_owned(),
            is_retried: document["retrying"].as_bool().unwrap_or_default(),
        });
    }
    if !is_of("ei_job_id") || document.get("operation").is_some() {
        return None;
    }
    if kind == EI_RESULT {
        return Some(EiEvent::Result(document["payload"].to_string()));
    }
    Some(match document["eiJobStatus"].as_str() {
        Some(status) => EiEvent::Enabled(status == "ENABLED"),
        None => EiEvent::Established,
    })
}

impl Core {
    /// Handles a message of a service.
    pub(super) fn handle_service(&mut self, kind: u32, document: &[u8]) {
        let document: Value = match serde_json::from_slice(document) {
            Ok(document) => document,
            Err(error) => return tracing::warn!(kind, %error, "a message of a service of the RIC is not JSON"),
        };
        if kind != EI_TYPES {
            return self.purposes().for_each(|purpose| purpose.take_service(kind, &document));
        }
        let types = serde_json::from_value::<Vec<String>>(document.clone()).map_err(|_| Error::Service {
            what: "types of enrichment information".into(),
            detail: document["detail"].as_str().unwrap_or("the answer is not a list").to_owned(),
        });
        // each query has an answer, in their order
        if !self.ei_types.is_empty() {
            self.ei_types.remove(0).send(types);
        }
    }

    /// Asks the RIC, or another one, for what streams of services are about. What was asked before has no answer.
    pub(super) fn request_services(&mut self, commands: &mut Commands<'_>) {
        // dropped replies tell the handles
        self.ei_types.clear();
        if !self.purposes().all(|purpose| purpose.request_service(commands)) {
            self.handle_no_service();
        }
    }

    /// Handles that the RIC has no service for a message.
    pub(super) fn handle_no_service(&mut self) {
        self.ei_types.drain(..).for_each(|reply| reply.send(Err(no_service())));
        self.end_services();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_a_job_are_told_apart() {
        let event = |kind, document: Value| ei_event(&document, "j", kind);
        let established = json!({ "ei_job_id": "j" });
        assert_eq!(event(EI_JOB_RESPONSE, established.clone()), Some(EiEvent::Established));
        assert_eq!(ei_event(&established, "k", EI_JOB_RESPONSE), None);
        let status = json!({ "ei_job_id": "j", "eiJobStatus": "DISABLED" });
        assert_eq!(event(EI_JOB_RESPONSE, status), Some(EiEvent::Enabled(false)));
        let refused = json!({ "job-id": "j", "status": 404, "detail": "no type", "retrying": false });
        let expected = EiEvent::Refused { status: 404, detail: "no type".into(), is_retried: false };
        assert_eq!(event(EI_JOB_RESPONSE, refused), Some(expected));
        let result = json!({ "ei_job_id": "j", "payload": { "load": 7 } });
        assert_eq!(event(EI_RESULT, result), Some(EiEvent::Result("{\"load\":7}".into())));
        assert_eq!(event(EI_JOB_RESPONSE, json!({ "ei_job_id": "j", "operation": "DELETE" })), None);
        for nonsense in [json!(null), json!([]), json!({ "job-id": "j", "status": -1 }), json!({ "job-id": 7 })] {
            assert_eq!(event(EI_JOB_RESPONSE, nonsense), None);
        }
    }
}
