//! Test support: a handle of a source, a transport that records indications, and requests of controllers.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use e2sm::Wire;
use e2sm::flexric::EventTriggerDefinition;
use ferric::agent::{ControlFailure, ControllerId, FunctionTransport, RequestKey};
use ferric::e2::{self, Action, ControlRequest, SubscriptionRequest, Time};
use ferric::e2ap::{GlobalRicId, RanFunctionId, RicActionId, RicActionType, RicRequestId};

use crate::shared_source::SharedSource;

/// The first controller, which sees every UE.
pub const FIRST: ControllerId = ControllerId(1);
/// A second controller, which sees only the UEs that are exposed to it.
pub const GUEST: ControllerId = ControllerId(2);

/// `Arc<Mutex<S>>` that panics where a function would wait for itself forever: it accesses the source again while it does.
#[derive(Default)]
pub struct ExclusiveSource<S>(Arc<Mutex<S>>);

impl<S> ExclusiveSource<S> {
    pub fn new(source: S) -> Self {
        ExclusiveSource(Arc::new(Mutex::new(source)))
    }

    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.0.try_lock().expect("the source is not accessed twice at a time")
    }
}

impl<S> Clone for ExclusiveSource<S> {
    fn clone(&self) -> Self {
        ExclusiveSource(Arc::clone(&self.0))
    }
}

impl<S> SharedSource for ExclusiveSource<S> {
    type Source = S;

    fn read(&self) -> impl Deref<Target = S> {
        self.lock()
    }

    fn write(&self) -> impl DerefMut<Target = S> {
        self.lock()
    }
}

/// A report that a function sent.
#[derive(Debug)]
pub struct Sent {
    pub at_ms: u64,
    pub controller: ControllerId,
    pub action: u8,
    pub header: Vec<u8>,
    pub message: Vec<u8>,
}

/// The answer to a control that was left without one: when, to whom, and its result.
pub type Answer = (u64, ControllerId, RicRequestId, Result<Option<Vec<u8>>, ControlFailure>);

/// A transport that records reports, and answers to controls that were left without one.
#[derive(Debug, Default)]
pub struct Recorder {
    pub at_ms: u64,
    pub sent: Vec<Sent>,
    /// Whether controls may be left without an answer.
    pub can_defer: bool,
    pub answers: Vec<Answer>,
}

impl FunctionTransport for Recorder {
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), e2::AgentMisuse> {
        assert_eq!(call_process_id, None);
        let (header, message) = (header.to_vec(), message.to_vec());
        self.sent.push(Sent { at_ms: self.at_ms, controller: key.controller, action: action.0, header, message });
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        Vec::new()
    }

    fn defer(&mut self) -> bool {
        self.can_defer
    }

    fn answer(
        &mut self,
        controller: ControllerId,
        id: RicRequestId,
        result: Result<Option<Vec<u8>>, ControlFailure>,
    ) -> Result<(), e2::AgentMisuse> {
        self.answers.push((self.at_ms, controller, id, result));
        Ok(())
    }
}

pub fn millis(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

pub fn report(id: u8) -> Action {
    Action { id: RicActionId(id), kind: RicActionType::Report, definition: None, subsequent: None }
}

/// The request ID of a controller's only subscription.
pub fn request_id(controller: ControllerId) -> RicRequestId {
    RicRequestId { requestor: 1, instance: controller.0 as u16 }
}

pub fn subscription(controller: ControllerId, event_trigger: Vec<u8>, actions: Vec<Action>) -> SubscriptionRequest {
    SubscriptionRequest {
        request_id: request_id(controller),
        ran_function_id: RanFunctionId(0),
        event_trigger,
        actions,
        times: Default::default(),
    }
}

/// A subscription with one report action, number 7, and this period.
pub fn periodic_subscription(controller: ControllerId, period_ms: u32, wire: Wire) -> SubscriptionRequest {
    let mut event_trigger = Vec::new();
    EventTriggerDefinition { period_ms }.encode(wire, &mut event_trigger).unwrap();
    subscription(controller, event_trigger, vec![report(7)])
}

pub fn control(header: Vec<u8>, message: Vec<u8>) -> ControlRequest {
    let request_id = RicRequestId { requestor: 1, instance: 99 };
    ControlRequest { request_id, ran_function_id: RanFunctionId(0), call_process_id: None, header, message }
}
