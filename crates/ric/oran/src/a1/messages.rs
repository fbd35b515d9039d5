//! The messages between A1 and xApps, as the platform's contract has them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policies::{MAX_DOCUMENT_OCTETS, PolicyError};

/// What is done with an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is new.
    Create,
    /// It has changed.
    Update,
    /// It is no more.
    Delete,
}

/// A1_POLICY_REQ (20010): an instance for xApps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PolicyRequest<'a> {
    /// What is done.
    pub operation: Operation,
    /// The type.
    pub policy_type_id: i32,
    /// The instance.
    pub policy_instance_id: &'a str,
    /// The policy; of a deletion the last one.
    pub payload: &'a Value,
}

impl PolicyRequest<'_> {
    /// Returns the JSON document.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // texts, numbers and a JSON value are written in any case
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// What an xApp says of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HandlerStatus {
    /// It is enforced.
    Ok,
    /// It is not.
    Error,
    /// Its deletion was carried out.
    Deleted,
}

/// A1_POLICY_RESP (20011).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct PolicyResponse {
    pub policy_type_id: i32,
    pub policy_instance_id: String,
    /// The xApp. It need not say so where its name is known.
    #[serde(default)]
    pub handler_id: String,
    pub status: HandlerStatus,
}

/// A1_POLICY_QUERY (20012).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct PolicyQuery {
    pub policy_type_id: i32,
}

/// Reads a message. RMR's libraries may append octets of zero.
pub(super) fn read<T: DeserializeOwned>(octets: &[u8]) -> Result<T, PolicyError> {
    let end = octets.iter().rposition(|octet| *octet != 0).map_or(0, |at| at + 1);
    let octets = octets.get(..end).filter(|octets| octets.len() <= MAX_DOCUMENT_OCTETS);
    let octets = octets.ok_or_else(|| PolicyError::Message("it is too long".to_owned()))?;
    serde_json::from_slice(octets).map_err(|error| PolicyError::Message(error.to_string()))
}
