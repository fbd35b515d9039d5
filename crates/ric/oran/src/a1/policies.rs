//! Policy types, their instances, and what xApps say of them.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::{HandlerStatus, Operation, PolicyResponse};
use crate::json_schema::Schema;

/// The most policy types.
pub const MAX_TYPES: usize = 256;
/// The most instances of all types.
pub const MAX_INSTANCES: usize = 4096;
/// Octets of a type or of an instance, as JSON without white space.
pub const MAX_DOCUMENT_OCTETS: usize = 64 << 10;
/// Octets of all types and instances.
pub const MAX_OCTETS: usize = 4 << 20;
/// The most xApps whose answers about an instance are known.
pub const MAX_HANDLERS: usize = 64;
/// Octets of the id of an instance, or of an xApp.
const MAX_ID_OCTETS: usize = 128;

/// A policy type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyType {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its id, which is that of the path.
    pub policy_type_id: i32,
    /// The JSON Schema (draft 7) of its instances.
    pub create_schema: serde_json::Map<String, Value>,
}

/// Why a request about policies is refused.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PolicyError {
    /// There is no such type.
    NoType(i32),
    /// There is no such instance.
    NoInstance(String),
    /// The type exists: it is deleted before it is created anew.
    TypeExists(i32),
    /// The id of the document is not that of the path, or out of range.
    TypeId(i32),
    /// The type has instances.
    TypeInUse(usize),
    /// The schema is none, or not one that is supported.
    Schema(String),
    /// The policy does not conform: members and reasons.
    Policy(Vec<(String, String)>),
    /// The id of an instance is empty, too long, or has characters that are not graphic.
    InstanceId,
    /// A document is too long.
    Length,
    /// There are too many types, instances, or octets of them.
    Full,
    /// A message of an xApp is none.
    Message(String),
    /// xApps cannot be reached now.
    Busy,
    /// What an earlier run has left is not read yet: the shared data layer is away.
    NotRestored,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::NoType(id) => write!(f, "there is no policy type {id}"),
            PolicyError::NoInstance(id) => write!(f, "there is no policy `{id}` of this type"),
            PolicyError::TypeExists(id) => write!(f, "the policy type {id} exists: delete it first"),
            PolicyError::TypeId(id) => {
                write!(f, "policy_type_id: {id} is not that of the path, or not a number from 1 to {}", i32::MAX)
            }
            PolicyError::TypeInUse(count) => write!(f, "the policy type has {count} policies: delete them first"),
            PolicyError::Schema(why) => write!(f, "create_schema: {why}"),
            PolicyError::Policy(mistakes) => {
                let mistakes: Vec<_> = mistakes.iter().map(|(at, why)| format!("{at}: {why}")).collect();
                write!(f, "the policy does not conform to its type: {}", mistakes.join("; "))
            }
            PolicyError::InstanceId => {
                write!(f, "the id of a policy has 1 to {MAX_ID_OCTETS} graphic characters of ASCII")
            }
            PolicyError::Length => write!(f, "the document has more than {MAX_DOCUMENT_OCTETS} octets"),
            PolicyError::Full => write!(
                f,
                "there are {MAX_TYPES} policy types, {MAX_INSTANCES} policies, or {MAX_OCTETS} octets of them: delete some first"
            ),
            PolicyError::Message(why) => write!(f, "it is not what the contract between A1 and xApps defines: {why}"),
            PolicyError::NotRestored => f.write_str(
                "the shared data layer, which has the policies, cannot be reached since the RIC has started; try again",
            ),
            PolicyError::Busy => f.write_str("xApps cannot be reached now; try again"),
        }
    }
}

impl std::error::Error for PolicyError {}

struct Type {
    document: PolicyType,
    schema: Schema,
    octets: usize,
    instances: BTreeMap<String, Instance>,
}

struct Instance {
    policy: Value,
    octets: usize,
    /// What xApps have said last.
    handlers: BTreeMap<String, HandlerStatus>,
}

/// The state.
#[derive(Default)]
pub(super) struct Policies {
    types: BTreeMap<i32, Type>,
    instances: usize,
    octets: usize,
}

/// The octets of a document, if they are within the bound.
fn octets(document: &impl Serialize) -> Result<usize, PolicyError> {
    let octets = serde_json::to_vec(document).map_or(usize::MAX, |octets| octets.len());
    if octets > MAX_DOCUMENT_OCTETS { Err(PolicyError::Length) } else { Ok(octets) }
}

fn is_id(text: &str) -> bool {
    (1..=MAX_ID_OCTETS).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_graphic())
}

impl Policies {
    /// Takes the types and instances of another state that are not in this one, as far as there is room.
    pub fn complete_with(&mut self, other: Policies) {
        for (id, of_type) in other.types {
            if !self.types.contains_key(&id) && self.create_type(id, of_type.document).is_err() {
                continue;
            }
            for (instance, Instance { policy, .. }) in of_type.instances {
                if self.check(id, &instance, &policy) == Ok(Operation::Create) {
                    self.put(id, &instance, policy);
                }
            }
        }
    }

    /// Removes a type with its instances.
    pub fn remove_type(&mut self, id: i32) {
        for instance in self.instance_ids(id).unwrap_or_default() {
            self.delete(id, &instance);
        }
        // it has none any more
        let _ = self.delete_type(id);
    }

    pub fn type_ids(&self) -> Vec<i32> {
        self.types.keys().copied().collect()
    }

    fn of_type(&self, id: i32) -> Result<&Type, PolicyError> {
        self.types.get(&id).ok_or(PolicyError::NoType(id))
    }

    pub fn policy_type(&self, id: i32) -> Result<&PolicyType, PolicyError> {
        self.of_type(id).map(|of| &of.document)
    }

    pub fn create_type(&mut self, id: i32, document: PolicyType) -> Result<(), PolicyError> {
        if id < 1 || document.policy_type_id != id {
            return Err(PolicyError::TypeId(document.policy_type_id));
        }
        if self.types.contains_key(&id) {
            return Err(PolicyError::TypeExists(id));
        }
        let octets = octets(&document)?;
        if self.types.len() == MAX_TYPES || self.octets + octets > MAX_OCTETS {
            return Err(PolicyError::Full);
        }
        let schema = Value::Object(document.create_schema.clone());
        let schema = Schema::new(&schema).map_err(PolicyError::Schema)?;
        self.octets += octets;
        self.types.insert(id, Type { document, schema, octets, instances: BTreeMap::new() });
        Ok(())
    }

    pub fn check_deletion(&self, id: i32) -> Result<(), PolicyError> {
        match self.of_type(id)?.instances.len() {
            0 => Ok(()),
            count => Err(PolicyError::TypeInUse(count)),
        }
    }

    pub fn delete_type(&mut self, id: i32) -> Result<(), PolicyError> {
        self.check_deletion(id)?;
        let removed = self.types.remove(&id);
        self.octets -= removed.map_or(0, |of| of.octets);
        Ok(())
    }

    pub fn instance_ids(&self, policy_type_id: i32) -> Result<Vec<String>, PolicyError> {
        Ok(self.of_type(policy_type_id)?.instances.keys().cloned().collect())
    }

    pub fn instances(&self, policy_type_id: i32) -> Result<impl Iterator<Item = (&str, &Value)>, PolicyError> {
        let instances = &self.of_type(policy_type_id)?.instances;
        Ok(instances.iter().map(|(id, instance)| (id.as_str(), &instance.policy)))
    }

    fn of_instance(&self, policy_type_id: i32, id: &str) -> Result<&Instance, PolicyError> {
        let instance = self.of_type(policy_type_id)?.instances.get(id);
        instance.ok_or_else(|| PolicyError::NoInstance(id.chars().take(MAX_ID_OCTETS).collect()))
    }

    pub fn instance(&self, policy_type_id: i32, id: &str) -> Result<&Value, PolicyError> {
        self.of_instance(policy_type_id, id).map(|instance| &instance.policy)
    }

    /// Checks that an instance may be put, and returns what that is.
    pub fn check(&self, policy_type_id: i32, id: &str, policy: &Value) -> Result<Operation, PolicyError> {
        let of_type = self.of_type(policy_type_id)?;
        if !is_id(id) {
            return Err(PolicyError::InstanceId);
        }
        let octets = octets(policy)?;
        let former = of_type.instances.get(id);
        let after = self.octets + octets - former.map_or(0, |former| former.octets);
        if after > MAX_OCTETS || former.is_none() && self.instances == MAX_INSTANCES {
            return Err(PolicyError::Full);
        }
        let mistakes = of_type.schema.mistakes(policy);
        if !mistakes.is_empty() {
            return Err(PolicyError::Policy(mistakes));
        }
        Ok(if former.is_some() { Operation::Update } else { Operation::Create })
    }

    /// Stores an instance that was checked. What xApps have said of the one before is forgotten.
    pub fn put(&mut self, policy_type_id: i32, id: &str, policy: Value) {
        let Some(of_type) = self.types.get_mut(&policy_type_id) else { return };
        let octets = octets(&policy).unwrap_or(MAX_DOCUMENT_OCTETS);
        let instance = Instance { policy, octets, handlers: BTreeMap::new() };
        match of_type.instances.insert(id.to_owned(), instance) {
            Some(former) => self.octets -= former.octets,
            None => self.instances += 1,
        }
        self.octets += octets;
    }

    pub fn delete(&mut self, policy_type_id: i32, id: &str) {
        let removed = self.types.get_mut(&policy_type_id).and_then(|of_type| of_type.instances.remove(id));
        if let Some(removed) = removed {
            self.octets -= removed.octets;
            self.instances -= 1;
        }
    }

    /// At least one xApp enforces it.
    pub fn is_enforced(&self, policy_type_id: i32, id: &str) -> Result<bool, PolicyError> {
        let handlers = &self.of_instance(policy_type_id, id)?.handlers;
        Ok(handlers.values().any(|status| *status == HandlerStatus::Ok))
    }

    /// Removes what an xApp has said. Returns of which types and instances.
    pub fn remove_handler(&mut self, handler_id: &str) -> Vec<(i32, String)> {
        let mut removed = Vec::new();
        for (policy_type_id, of_type) in &mut self.types {
            for (id, instance) in &mut of_type.instances {
                if instance.handlers.remove(handler_id).is_some() {
                    removed.push((*policy_type_id, id.clone()));
                }
            }
        }
        removed
    }

    /// Notes what an xApp says of an instance. Returns whether it has said something else before, or nothing.
    pub fn set_status(&mut self, response: &PolicyResponse) -> Result<bool, PolicyError> {
        let PolicyResponse { policy_type_id, policy_instance_id, handler_id, status } = response;
        if !is_id(handler_id) {
            return Err(PolicyError::Message("handler_id is not an id".to_owned()));
        }
        if *status == HandlerStatus::Deleted && self.of_instance(*policy_type_id, policy_instance_id).is_err() {
            return Ok(false);
        }
        self.of_instance(*policy_type_id, policy_instance_id)?;
        let of_type = self.types.get_mut(policy_type_id).ok_or(PolicyError::NoType(*policy_type_id))?;
        let Some(instance) = of_type.instances.get_mut(policy_instance_id) else { return Ok(false) };
        if *status == HandlerStatus::Deleted {
            return Ok(instance.handlers.remove(handler_id).is_some());
        }
        if instance.handlers.len() == MAX_HANDLERS && !instance.handlers.contains_key(handler_id) {
            return Err(PolicyError::Message(format!("more than {MAX_HANDLERS} xApps answer for one policy")));
        }
        Ok(instance.handlers.insert(handler_id.clone(), *status) != Some(*status))
    }
}
