//! Policies of RICs that share nodes: a policy that one of them takes is one of all, and so is what xApps say of it.
//!
//! | entry | content |
//! |---|---|
//! | `a1 TYPE` | a policy type |
//! | `a1 TYPE ID` | a policy |
//! | `a1 TYPE ID HANDLER` | what an xApp says of it |
//!
//! The RIC that takes a policy delivers it to xApps: it has the routes of all RICs. The others only note it.

use std::sync::Arc;

use log_lines::escaped;
use serde_json::Value;
use tracing::warn;

use super::messages::{HandlerStatus, Operation, PolicyRequest, PolicyResponse};
use super::policies::PolicyType;
use super::{A1, PolicyError, PolicyLink};
use crate::group::{GroupConfig, NO_ROOM, RIC, SharedEntries};

const PREFIX: &str = "a1 ";

struct SharedLink(Arc<dyn SharedEntries>);

impl PolicyLink for SharedLink {
    fn deliver(&self, request: &PolicyRequest<'_>) -> bool {
        let key = format!("{PREFIX}{} {}", request.policy_type_id, request.policy_instance_id);
        // what xApps have said concerns the policy before
        let answers = self.0.with_prefix(&format!("{key} "));
        let is_forgotten = answers.iter().all(|(answer, _)| self.0.remove(answer));
        is_forgotten
            && match request.operation {
                Operation::Create | Operation::Update => self.0.put(&key, request.payload.to_string().as_bytes()),
                Operation::Delete => self.0.remove(&key),
            }
    }

    fn type_changed(&self, policy_type_id: i32, document: Option<&PolicyType>) -> bool {
        let key = format!("{PREFIX}{policy_type_id}");
        match document {
            // texts and a JSON value are written in any case
            Some(document) => self.0.put(&key, &serde_json::to_vec(document).unwrap_or_default()),
            None => self.0.remove(&key),
        }
    }

    fn status_changed(&self, policy_type_id: i32, policy_instance_id: &str, handler_id: &str, status: HandlerStatus) {
        let key = format!("{PREFIX}{policy_type_id} {policy_instance_id} {handler_id}");
        let is_shared = match status {
            HandlerStatus::Deleted => self.0.remove(&key),
            status => self.0.put(&key, &serde_json::to_vec(&status).unwrap_or_default()),
        };
        if !is_shared {
            let (handler, policy) = (escaped(handler_id), policy_instance_id);
            warn!("A1: the status of policy `{policy}` by xApp `{handler}` is not shared with other RICs: {NO_ROOM}");
        }
    }
}

/// The way of policies to the other RICs.
#[must_use]
pub fn shared_link(entries: &Arc<dyn SharedEntries>) -> Box<dyn PolicyLink> {
    Box::new(SharedLink(Arc::clone(entries)))
}

/// Has policies follow those of the other RICs. [`shared_link`] is to be one of their links. Of queries in the shared data layer, which
/// all RICs see, those are answered by the RIC whose name is the first of the group.
pub fn follow_shared(a1: &A1, group: &GroupConfig) {
    let GroupConfig { name, entries, .. } = group;
    let (own, of) = (format!("{RIC}{name}"), Arc::clone(entries));
    let is_silent = move || of.with_prefix(RIC).first().is_some_and(|(first, _)| *first < own);
    // it is called once
    let _ = a1.0.is_silent.set(Box::new(is_silent));
    let (weak, of) = (a1.downgrade(), Arc::clone(entries));
    let follow = move |key: &str| {
        let Some(a1) = weak.upgrade() else { return };
        if let Err(error) = a1.follow(key, of.get(key).as_deref()) {
            warn!(
                "A1: the entry `{}` of another RIC is ignored: {error}; let all RICs have the same version of ferric, and create the \
                 policy again",
                escaped(key)
            );
        }
    };
    entries.observe(PREFIX, Box::new(follow));
}

fn read<T: serde::de::DeserializeOwned>(content: &[u8]) -> Result<T, PolicyError> {
    serde_json::from_slice(content).map_err(|error| PolicyError::Message(error.to_string()))
}

impl A1 {
    /// Takes what another RIC has changed.
    fn follow(&self, key: &str, content: Option<&[u8]>) -> Result<(), PolicyError> {
        let mut words = key.strip_prefix(PREFIX).unwrap_or_default().splitn(3, ' ');
        let id = words.next().and_then(|id| id.parse().ok());
        let id: i32 = id.ok_or_else(|| PolicyError::Message("its key is none".to_owned()))?;
        let mut policies = self.policies();
        match (words.next(), words.next(), content) {
            (None, _, None) => policies.remove_type(id),
            (None, _, Some(content)) => {
                let document: PolicyType = read(content)?;
                if policies.policy_type(id) != Ok(&document) {
                    policies.remove_type(id);
                    policies.create_type(id, document)?;
                }
            }
            (Some(instance), None, None) => {
                let payload = policies.instance(id, instance).cloned();
                policies.delete(id, instance);
                if let Ok(payload) = payload {
                    self.follow_request(&PolicyRequest {
                        operation: Operation::Delete,
                        policy_type_id: id,
                        policy_instance_id: instance,
                        payload: &payload,
                    });
                }
            }
            (Some(instance), None, Some(content)) => {
                let policy: Value = read(content)?;
                let operation = policies.check(id, instance, &policy)?;
                self.follow_request(&PolicyRequest {
                    operation,
                    policy_type_id: id,
                    policy_instance_id: instance,
                    payload: &policy,
                });
                policies.put(id, instance, policy);
            }
            (Some(instance), Some(handler), content) => {
                let status = content.map_or(Ok(HandlerStatus::Deleted), read)?;
                let (policy_instance_id, handler_id) = (instance.to_owned(), handler.to_owned());
                policies.set_status(&PolicyResponse { policy_type_id: id, policy_instance_id, handler_id, status })?;
            }
        }
        Ok(())
    }
}
