//! A1-P: policies of a non-RT RIC for xApps.
//!
//! Policy types and their instances are managed by REST with O-RAN's paths, in the form of the reference platform's A1 mediator
//! ([`routes`]). An instance is validated by the JSON Schema of its type, delivered to xApps by each [`PolicyLink`], and its
//! status is what xApps answer. Messages are those of the platform's contract between A1 and xApps: JSON documents, which RMR
//! carries with the types 20010 (A1_POLICY_REQ), 20011 (A1_POLICY_RESP) and 20012 (A1_POLICY_QUERY). [`over_sdl`] carries the
//! same documents in the shared data layer, and [`MessagingHandle::policy_link`](crate::messaging::MessagingHandle::policy_link)
//! over RMR; [`XappLink`] carries them in the RIC-xApp protocol. RICs that share nodes share policies ([`shared_link`]): the one that is
//! asked delivers them, and each to its own xApps of that protocol. [`enrichment`] is A1-EI.
//!
//! # Bounds
//! [`MAX_TYPES`] types and [`MAX_INSTANCES`] instances of [`MAX_DOCUMENT_OCTETS`] each and [`MAX_OCTETS`] together;
//! [`MAX_HANDLERS`] xApps that answer for an instance. A schema refers to parts of itself only, without recursion, and is
//! expanded into [`MAX_SCHEMA_NODES`] parts at most; patterns take time in proportion to the text. So no policy takes long to
//! validate, and nothing is fetched.

mod api;
pub mod enrichment;
mod messages;
mod policies;
mod sdl_link;
mod shared;
mod xapp_link;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use serde_json::Value;

pub use crate::json_schema::MAX_SCHEMA_NODES;
pub use api::routes;
pub use messages::{HandlerStatus, Operation, PolicyRequest};
use messages::{PolicyQuery, PolicyResponse};
use policies::Policies;
pub use policies::{MAX_DOCUMENT_OCTETS, MAX_HANDLERS, MAX_INSTANCES, MAX_OCTETS, MAX_TYPES, PolicyError, PolicyType};
pub use sdl_link::over_sdl;
pub use shared::{follow_shared, shared_link};
pub use xapp_link::XappLink;

/// Queries per second, beyond a burst of as many: of all xApps in the shared data layer, where each has the policies of a type sent
/// to all, and of each host over RMR and over the RIC-xApp protocol.
pub(crate) const QUERIES_PER_SECOND: u32 = 4;
/// The answers about policies that a host may give per second, beyond a burst of as many: one for each instance of a large type.
pub(crate) const RESPONSES_PER_SECOND: u32 = 1024;

/// A way to xApps.
pub trait PolicyLink: Send + Sync {
    /// Takes a request for the xApps that handle its policy type. It must not block. Returns whether it will be sent.
    fn deliver(&self, request: &PolicyRequest<'_>) -> bool;

    /// A policy type was created or, with `None`, deleted: for links that store them.
    fn type_changed(&self, policy_type_id: i32, document: Option<&PolicyType>) -> bool {
        let _ = (policy_type_id, document);
        true
    }

    /// Takes a request that another RIC has delivered, or that an earlier run has left: for links whose xApps only this RIC reaches.
    fn follow(&self, request: &PolicyRequest<'_>) {
        let _ = request;
    }

    /// An xApp has said something of an instance: for links that store it.
    fn status_changed(&self, policy_type_id: i32, policy_instance_id: &str, handler_id: &str, status: HandlerStatus) {
        let _ = (policy_type_id, policy_instance_id, handler_id, status);
    }
}

/// The policies, and the ways to xApps. Clones are the same.
#[derive(Clone)]
pub struct A1(Arc<Inner>);

struct Inner {
    policies: Mutex<Policies>,
    /// What an earlier run has left is read.
    is_restored: AtomicBool,
    /// Whether another RIC answers queries in the shared data layer, which all RICs see.
    is_silent: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
    links: Vec<Box<dyn PolicyLink>>,
}

/// Policies that something else keeps.
#[derive(Clone)]
pub(crate) struct WeakA1(Weak<Inner>);

impl WeakA1 {
    /// The policies, if they are still there.
    pub fn upgrade(&self) -> Option<A1> {
        self.0.upgrade().map(A1)
    }
}

impl fmt::Debug for A1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A1").finish_non_exhaustive()
    }
}

impl A1 {
    /// No policies yet.
    #[must_use]
    pub fn new(links: Vec<Box<dyn PolicyLink>>) -> Self {
        A1::with(Policies::default(), links)
    }

    pub(crate) fn downgrade(&self) -> WeakA1 {
        WeakA1(Arc::downgrade(&self.0))
    }

    fn with(policies: Policies, links: Vec<Box<dyn PolicyLink>>) -> Self {
        A1(Arc::new(Inner {
            policies: Mutex::new(policies),
            is_restored: AtomicBool::new(true),
            is_silent: OnceLock::new(),
            links,
        }))
    }

    /// Refuses while what an earlier run has left is not read.
    fn check_restored(&self) -> Result<(), PolicyError> {
        let is_restored = self.0.is_restored.load(Ordering::Acquire);
        if is_restored { Ok(()) } else { Err(PolicyError::NotRestored) }
    }

    fn policies(&self) -> MutexGuard<'_, Policies> {
        // a panic while it is locked is one of a change that was not made
        self.0.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, request: &PolicyRequest<'_>) -> Result<(), PolicyError> {
        if self.0.links.iter().all(|link| link.deliver(request)) { Ok(()) } else { Err(PolicyError::Busy) }
    }

    fn follow_request(&self, request: &PolicyRequest<'_>) {
        self.0.links.iter().for_each(|link| link.follow(request));
    }

    /// The ids of all types, in their order.
    #[must_use]
    pub fn type_ids(&self) -> Vec<i32> {
        self.policies().type_ids()
    }

    /// Returns a type.
    ///
    /// # Errors
    /// [`PolicyError::NoType`].
    pub fn policy_type(&self, id: i32) -> Result<PolicyType, PolicyError> {
        self.policies().policy_type(id).cloned()
    }

    /// Creates a type.
    ///
    /// # Errors
    /// If it exists, its schema is none, or there are too many.
    pub fn create_type(&self, id: i32, document: PolicyType) -> Result<(), PolicyError> {
        let mut policies = self.policies();
        policies.create_type(id, document.clone())?;
        if self.0.links.iter().all(|link| link.type_changed(id, Some(&document))) {
            return Ok(());
        }
        policies.delete_type(id)?;
        Err(PolicyError::Busy)
    }

    /// Deletes a type without instances.
    ///
    /// # Errors
    /// If there is none, or it has instances.
    pub fn delete_type(&self, id: i32) -> Result<(), PolicyError> {
        let mut policies = self.policies();
        policies.check_deletion(id)?;
        if !self.0.links.iter().all(|link| link.type_changed(id, None)) {
            return Err(PolicyError::Busy);
        }
        policies.delete_type(id)
    }

    /// The ids of the instances of a type, in their order.
    ///
    /// # Errors
    /// [`PolicyError::NoType`].
    pub fn instance_ids(&self, policy_type_id: i32) -> Result<Vec<String>, PolicyError> {
        self.policies().instance_ids(policy_type_id)
    }

    /// Returns an instance.
    ///
    /// # Errors
    /// If there is none.
    pub fn instance(&self, policy_type_id: i32, id: &str) -> Result<Value, PolicyError> {
        self.policies().instance(policy_type_id, id).cloned()
    }

    /// Creates an instance or replaces it, and has it delivered. Returns which of both.
    ///
    /// # Errors
    /// If it does not conform to the schema of its type, there are too many, or no xApp can be reached now.
    pub fn put(&self, policy_type_id: i32, id: &str, policy: Value) -> Result<Operation, PolicyError> {
        let mut policies = self.policies();
        let operation = policies.check(policy_type_id, id, &policy)?;
        self.deliver(&PolicyRequest { operation, policy_type_id, policy_instance_id: id, payload: &policy })?;
        policies.put(policy_type_id, id, policy);
        Ok(operation)
    }

    /// Deletes an instance, and has its deletion delivered.
    ///
    /// # Errors
    /// If there is none, or no xApp can be reached now.
    pub fn delete(&self, policy_type_id: i32, id: &str) -> Result<(), PolicyError> {
        let mut policies = self.policies();
        let payload = policies.instance(policy_type_id, id)?.clone();
        let operation = Operation::Delete;
        self.deliver(&PolicyRequest { operation, policy_type_id, policy_instance_id: id, payload: &payload })?;
        policies.delete(policy_type_id, id);
        Ok(())
    }

    /// Whether an xApp enforces an instance.
    ///
    /// # Errors
    /// If there is no such instance.
    pub fn is_enforced(&self, policy_type_id: i32, id: &str) -> Result<bool, PolicyError> {
        self.policies().is_enforced(policy_type_id, id)
    }

    /// Handles an A1_POLICY_RESP: what an xApp says of an instance.
    ///
    /// # Errors
    /// Why the octets are none, or of no instance.
    pub fn handle_response(&self, octets: &[u8]) -> Result<(), PolicyError> {
        self.note_response(&messages::read(octets)?)
    }

    fn note_response(&self, response: &PolicyResponse) -> Result<(), PolicyError> {
        if !self.policies().set_status(response)? {
            return Ok(());
        }
        let PolicyResponse { policy_type_id, policy_instance_id, handler_id, status } = response;
        for link in &self.0.links {
            link.status_changed(*policy_type_id, policy_instance_id, handler_id, *status);
        }
        Ok(())
    }

    /// Handles an A1_POLICY_RESP of an xApp whose name is known, whatever it says of it.
    pub(crate) fn handle_response_of(&self, octets: &[u8], handler_id: &str) -> Result<(), PolicyError> {
        let response: PolicyResponse = messages::read(octets)?;
        self.note_response(&PolicyResponse { handler_id: handler_id.to_owned(), ..response })
    }

    /// Forgets what an xApp has said, which is gone.
    pub(crate) fn handler_gone(&self, handler_id: &str) {
        let instances = self.policies().remove_handler(handler_id);
        for (policy_type_id, instance) in instances {
            for link in &self.0.links {
                link.status_changed(policy_type_id, &instance, handler_id, HandlerStatus::Deleted);
            }
        }
    }

    /// Reads the type of an A1_POLICY_QUERY.
    pub(crate) fn queried_type(octets: &[u8]) -> Result<i32, PolicyError> {
        messages::read::<PolicyQuery>(octets).map(|query| query.policy_type_id)
    }

    /// Handles an A1_POLICY_QUERY: calls `answer` with a request to create each instance of the type. Returns their number.
    ///
    /// # Errors
    /// Why the octets are none, or of no type.
    pub fn handle_query(
        &self,
        octets: &[u8],
        answer: &mut dyn FnMut(&PolicyRequest<'_>),
    ) -> Result<usize, PolicyError> {
        let query: PolicyQuery = messages::read(octets)?;
        self.check_restored()?;
        let policies = self.policies();
        let (policy_type_id, operation) = (query.policy_type_id, Operation::Create);
        let mut count = 0;
        for (policy_instance_id, payload) in policies.instances(policy_type_id)? {
            answer(&PolicyRequest { operation, policy_type_id, policy_instance_id, payload });
            count += 1;
        }
        Ok(count)
    }
}
