//! The messages about enrichment information between the RIC and xApps.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{JobError, MAX_REQUEST_OCTETS};

/// What the RIC sends to xApps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EiMessageKind {
    /// A1_EI_QUERY_ALL_RESP (20014): the ids of EI types, or why there is no answer.
    Types,
    /// A1_EI_CREATE_JOB_RESP (20016): that a job is established or deleted, its status, or why it is not established.
    Job,
    /// A1_EI_DATA_DELIVERY (20017): a result.
    Result,
}

impl EiMessageKind {
    /// The number of its message type in the reference platform.
    #[must_use]
    pub fn message_type(self) -> i32 {
        match self {
            EiMessageKind::Types => 20014,
            EiMessageKind::Job => 20016,
            EiMessageKind::Result => 20017,
        }
    }
}

/// What an xApp wants with a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum JobOperation {
    #[default]
    Create,
    Delete,
}

/// A1_EI_CREATE_JOB (20015). `jobResultUri` and `jobStatusNotificationUri` are those of the RIC, whatever an xApp says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct JobRequest {
    /// The platform's mediator in Python reads a text, the one in Go a number.
    #[serde(rename = "job-id", deserialize_with = "text_or_number")]
    pub job_id: String,
    #[serde(default)]
    pub operation: JobOperation,
    #[serde(default, rename = "eiTypeId")]
    pub ei_type_id: String,
    #[serde(default, rename = "jobOwner")]
    pub job_owner: Option<String>,
    #[serde(default, rename = "jobDefinition")]
    pub job_definition: Value,
}

fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text),
        Value::Number(number) if number.is_u64() => Ok(number.to_string()),
        _ => Err(D::Error::custom("job-id is neither a text nor a natural number")),
    }
}

/// Reads a request. RMR's libraries may append octets of zero.
pub(super) fn read(octets: &[u8]) -> Result<JobRequest, JobError> {
    let end = octets.iter().rposition(|octet| *octet != 0).map_or(0, |at| at + 1);
    let octets = octets.get(..end).filter(|octets| octets.len() <= MAX_REQUEST_OCTETS);
    let octets = octets.ok_or_else(|| JobError::bad(format!("it has more than {MAX_REQUEST_OCTETS} octets")))?;
    serde_json::from_slice(octets).map_err(|error| JobError::bad(error.to_string()))
}

fn encode(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}

pub(super) fn types(ids: &[String]) -> Vec<u8> {
    encode(&json!(ids))
}

pub(super) fn established(job_id: &str) -> Vec<u8> {
    encode(&json!({ "ei_job_id": job_id }))
}

pub(super) fn deleted(job_id: &str) -> Vec<u8> {
    encode(&json!({ "ei_job_id": job_id, "operation": "DELETE" }))
}

pub(super) fn status(job_id: &str, status: &str) -> Vec<u8> {
    encode(&json!({ "ei_job_id": job_id, "eiJobStatus": status }))
}

pub(super) fn result(job_id: &str, payload: &Value) -> Vec<u8> {
    encode(&json!({ "ei_job_id": job_id, "payload": payload }))
}

/// A refusal. It has no `ei_job_id`, by which xApps of the platform recognise that a job is established.
pub(super) fn refusal(job_id: Option<&str>, error: &JobError) -> Vec<u8> {
    let mut document = json!({ "status": error.status, "detail": error.detail });
    if let Some(job_id) = job_id {
        document["job-id"] = json!(job_id);
        document["retrying"] = json!(error.is_retried);
    }
    if !error.mistakes.is_empty() {
        let mistakes = error.mistakes.iter().map(|(at, why)| json!({ "at": at, "why": why }));
        document["mistakes"] = mistakes.collect();
    }
    encode(&document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_id_is_a_text_or_a_natural_number() {
        let id = |text: &str| read(text.as_bytes()).map(|request| request.job_id);
        assert_eq!(id("{\"job-id\":\"a\"}\0\0"), Ok("a".to_owned()));
        assert_eq!(id("{\"job-id\":7}"), Ok("7".to_owned()));
        for text in ["{\"job-id\":-7}", "{\"job-id\":7.5}", "{\"job-id\":null}", "{}", "[]", "", "{\"job-id\":\"a\""] {
            assert_eq!(id(text).map_err(|error| error.status), Err(400), "{text}");
        }
        assert_eq!(id(&format!("{{\"job-id\":\"{}\"}}", "x".repeat(MAX_REQUEST_OCTETS))).unwrap_err().status, 400);
    }

    #[test]
    fn refusal_is_not_taken_for_a_job() {
        let error = JobError { mistakes: vec![("/a".to_owned(), "x".to_owned())], ..JobError::bad("no".to_owned()) };
        let document: Value = serde_json::from_slice(&refusal(Some("j"), &error)).unwrap();
        let expected = json!({
            "job-id": "j", "status": 400, "detail": "no", "retrying": false, "mistakes": [{ "at": "/a", "why": "x" }],
        });
        assert_eq!(document, expected);
        assert!(document.get("ei_job_id").is_none());
    }
}
