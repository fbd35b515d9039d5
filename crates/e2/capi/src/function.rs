//! RAN functions of a base station in C: a service model of its own.

use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{
    Cause, CauseRicRequest, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType, RicRequestId,
};

use crate::agent::{AGENTS, ferric_agent};
use crate::handle::{InCallback, Table};
use crate::input::{octets, result, structure, text};
use crate::reporter::{Reports, Signal};
use crate::status::{FERRIC_ERROR_HANDLE, Failure, ferric_error, guard, guard_real_time};

/// The RAN function does not support the action (E2AP 9.2.1, cause "RIC request").
pub const FERRIC_CAUSE_ACTION_NOT_SUPPORTED: i32 = 1;
/// The RAN function has no resources left.
pub const FERRIC_CAUSE_FUNCTION_RESOURCE_LIMIT: i32 = 2;
/// The control message is invalid.
pub const FERRIC_CAUSE_CONTROL_MESSAGE_INVALID: i32 = 3;
/// The control could not be executed.
pub const FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE: i32 = 4;
/// The event trigger is not supported.
pub const FERRIC_CAUSE_EVENT_TRIGGER_NOT_SUPPORTED: i32 = 5;
/// The system is not ready.
pub const FERRIC_CAUSE_SYSTEM_NOT_READY: i32 = 6;
/// No specific cause is known. Any other value that is not 0 stands for it.
pub const FERRIC_CAUSE_UNSPECIFIED: i32 = 7;
/// The call process id is invalid: the decision on an insert comes too late.
pub const FERRIC_CAUSE_CALL_PROCESS_ID_INVALID: i32 = 8;
/// The control arrived, or was executed, too late.
pub const FERRIC_CAUSE_CONTROL_TIMER_EXPIRED: i32 = 9;
/// The request id is unknown.
pub const FERRIC_CAUSE_REQUEST_ID_UNKNOWN: i32 = 10;
/// A cause of another group: of the RIC service, the E2 node, the transport, the protocol, or miscellaneous.
pub const FERRIC_CAUSE_OTHER: i32 = 11;

/// The action reports.
pub const FERRIC_ACTION_REPORT: u32 = 0;
/// The action inserts.
pub const FERRIC_ACTION_INSERT: u32 = 1;
/// The action is a policy.
pub const FERRIC_ACTION_POLICY: u32 = 2;

/// The room for the outcome of a control, in octets.
pub const FERRIC_OUTCOME_OCTETS: usize = 4096;

/// The octets that are sent per call of the agent, so that one function does not delay the others.
const SEND_OCTETS: usize = 256 * 1024;

/// Names a subscription: valid from `subscribe` until `unsubscribe`. It may be copied and compared.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_subscription {
    /// The controller within the node.
    pub controller: u64,
    /// RIC Requestor ID.
    pub requestor: u16,
    /// RIC Instance ID.
    pub instance: u16,
}

/// An action of a subscription request.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_action {
    /// RIC Action ID.
    pub id: u8,
    /// FERRIC_ACTION_REPORT, …
    pub kind: u32,
    /// The action definition of the service model; NULL if there is none.
    pub definition: *const u8,
    /// Its length.
    pub definition_octets: usize,
    /// The answer of the RAN function: 0 if the action is set up (as it is set before the call), or FERRIC_CAUSE_….
    pub cause: i32,
}

/// A subscription request. Its pointers are valid during the call.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_subscription_request {
    /// Its name from now on.
    pub subscription: ferric_subscription,
    /// The event trigger definition of the service model.
    pub event_trigger: *const u8,
    /// Its length.
    pub event_trigger_octets: usize,
    /// The actions, whose `cause` the function may set.
    pub actions: *mut ferric_action,
    /// Their number.
    pub action_count: usize,
}

/// A control request. Its pointers are valid during the call.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_control_request {
    /// The controller within the node.
    pub controller: u64,
    /// The control header of the service model.
    pub header: *const u8,
    /// Its length.
    pub header_octets: usize,
    /// The control message of the service model.
    pub message: *const u8,
    /// Its length.
    pub message_octets: usize,
    /// The call process id of the insert that it answers; NULL if there is none.
    pub call_process_id: *const u8,
    /// Its length.
    pub call_process_id_octets: usize,
    /// Room for the control outcome: FERRIC_OUTCOME_OCTETS.
    pub outcome: *mut u8,
    /// The octets of the control outcome that the function has written; 0 (as it is set before the call) is none.
    pub outcome_octets: usize,
}

/// A RAN function. Set it to zeros, then `size` and the rest. All callbacks are called on the thread of the agent; they must not
/// wait. `oid` and `definition` are copied.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_function_config {
    /// sizeof(struct ferric_function_config)
    pub size: u32,
    /// RAN Function ID, 0 to 4095.
    pub id: u32,
    /// RAN Function Revision, 0 to 4095.
    pub revision: u32,
    /// The object identifier of the service model.
    pub oid: *const c_char,
    /// The RAN function definition of the service model.
    pub definition: *const u8,
    /// Its length.
    pub definition_octets: usize,
    /// Passed to each callback.
    pub user: *mut c_void,
    /// A controller subscribes. Returns 0, or FERRIC_CAUSE_… to refuse the whole subscription.
    pub subscribe: Option<unsafe extern "C" fn(user: *mut c_void, request: *const ferric_subscription_request) -> i32>,
    /// A subscription has ended. May be NULL.
    pub unsubscribe: Option<unsafe extern "C" fn(user: *mut c_void, subscription: ferric_subscription)>,
    /// A control request. Returns 0 if it was executed, or FERRIC_CAUSE_…. May be NULL: controls are refused.
    pub control: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ferric_control_request) -> i32>,
}

/// A RAN function of an agent.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_function {
    /// The number of the object; 0 is none.
    pub id: u64,
}

/// What the threads of the base station use of a function.
pub(crate) struct FunctionHandle {
    pub rings: Arc<Mutex<Vec<Reports>>>,
    pub signal: Arc<Signal>,
}

pub(crate) static FUNCTIONS: Table<FunctionHandle> = Table::new(2);

pub(crate) fn cause(code: i32) -> Cause {
    Cause::RicRequest(match code {
        FERRIC_CAUSE_ACTION_NOT_SUPPORTED => CauseRicRequest::ActionNotSupported,
        FERRIC_CAUSE_FUNCTION_RESOURCE_LIMIT => CauseRicRequest::FunctionResourceLimit,
        FERRIC_CAUSE_CONTROL_MESSAGE_INVALID => CauseRicRequest::ControlMessageInvalid,
        FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE => CauseRicRequest::ControlFailedToExecute,
        FERRIC_CAUSE_EVENT_TRIGGER_NOT_SUPPORTED => CauseRicRequest::EventTriggerNotSupported,
        FERRIC_CAUSE_SYSTEM_NOT_READY => CauseRicRequest::SystemNotReady,
        FERRIC_CAUSE_CALL_PROCESS_ID_INVALID => CauseRicRequest::RicCallProcessIdInvalid,
        FERRIC_CAUSE_CONTROL_TIMER_EXPIRED => CauseRicRequest::ControlTimerExpired,
        FERRIC_CAUSE_REQUEST_ID_UNKNOWN => CauseRicRequest::RequestIdUnknown,
        _ => CauseRicRequest::Unspecified,
    })
}

/// The number of a cause in C.
pub(crate) fn cause_number(cause: Cause) -> i32 {
    match cause {
        Cause::RicRequest(cause) => match cause {
            CauseRicRequest::ActionNotSupported => FERRIC_CAUSE_ACTION_NOT_SUPPORTED,
            CauseRicRequest::FunctionResourceLimit => FERRIC_CAUSE_FUNCTION_RESOURCE_LIMIT,
            CauseRicRequest::ControlMessageInvalid => FERRIC_CAUSE_CONTROL_MESSAGE_INVALID,
            CauseRicRequest::ControlFailedToExecute => FERRIC_CAUSE_CONTROL_FAILED_TO_EXECUTE,
            CauseRicRequest::EventTriggerNotSupported => FERRIC_CAUSE_EVENT_TRIGGER_NOT_SUPPORTED,
            CauseRicRequest::SystemNotReady => FERRIC_CAUSE_SYSTEM_NOT_READY,
            CauseRicRequest::RicCallProcessIdInvalid => FERRIC_CAUSE_CALL_PROCESS_ID_INVALID,
            CauseRicRequest::ControlTimerExpired => FERRIC_CAUSE_CONTROL_TIMER_EXPIRED,
            CauseRicRequest::RequestIdUnknown => FERRIC_CAUSE_REQUEST_ID_UNKNOWN,
            _ => FERRIC_CAUSE_UNSPECIFIED,
        },
        _ => FERRIC_CAUSE_OTHER,
    }
}

fn pointer(octets: &[u8]) -> *const u8 {
    if octets.is_empty() { std::ptr::null() } else { octets.as_ptr() }
}

/// The agent's side of a function in C.
struct Callbacks {
    definition: Function,
    user: *mut c_void,
    subscribe: unsafe extern "C" fn(user: *mut c_void, request: *const ferric_subscription_request) -> i32,
    unsubscribe: Option<unsafe extern "C" fn(user: *mut c_void, subscription: ferric_subscription)>,
    control: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ferric_control_request) -> i32>,
    rings: Arc<Mutex<Vec<Reports>>>,
    signal: Arc<Signal>,
    controllers: Vec<ControllerId>,
}

// SAFETY: the base station states that its callbacks and `user` may be used on the agent's thread
unsafe impl Send for Callbacks {}

impl Callbacks {
    /// The number of a controller in C.
    fn number(&mut self, controller: ControllerId) -> u64 {
        let known = self.controllers.iter().position(|known| *known == controller);
        known.unwrap_or_else(|| {
            self.controllers.push(controller);
            self.controllers.len() - 1
        }) as u64
    }

    fn name(&mut self, key: RequestKey) -> ferric_subscription {
        let RicRequestId { requestor, instance } = key.id;
        ferric_subscription { controller: self.number(key.controller), requestor, instance }
    }
}

impl RanFunction for Callbacks {
    fn id(&self) -> RanFunctionId {
        self.definition.id
    }

    fn definition(&self) -> Function {
        self.definition.clone()
    }

    fn subscribe(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let subscription = self.name(RequestKey { controller, id: request.request_id });
        let actions = request.actions.iter().map(|action| {
            let definition = action.definition.as_deref().unwrap_or_default();
            ferric_action {
                id: action.id.0,
                kind: match action.kind {
                    RicActionType::Report => FERRIC_ACTION_REPORT,
                    RicActionType::Insert => FERRIC_ACTION_INSERT,
                    _ => FERRIC_ACTION_POLICY,
                },
                definition: pointer(definition),
                definition_octets: definition.len(),
                cause: 0,
            }
        });
        let mut actions: Vec<ferric_action> = actions.collect();
        let stated = ferric_subscription_request {
            subscription,
            event_trigger: pointer(&request.event_trigger),
            event_trigger_octets: request.event_trigger.len(),
            actions: actions.as_mut_ptr(),
            action_count: actions.len(),
        };
        let callback = InCallback::enter();
        // SAFETY: the base station gave function and user for this call; all pointers are valid
        let answer = unsafe { (self.subscribe)(self.user, &raw const stated) };
        drop(callback);
        if answer != 0 {
            return Err(cause(answer));
        }
        let (admitted, refused): (Vec<&ferric_action>, Vec<&ferric_action>) =
            actions.iter().partition(|action| action.cause == 0);
        if admitted.is_empty() {
            return Err(refused.first().map_or(cause(FERRIC_CAUSE_UNSPECIFIED), |action| cause(action.cause)));
        }
        Ok(Admission {
            admitted: admitted.into_iter().map(|action| RicActionId(action.id)).collect(),
            not_admitted: refused.into_iter().map(|action| (RicActionId(action.id), cause(action.cause))).collect(),
        })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        let Some(unsubscribe) = self.unsubscribe else { return };
        let subscription = self.name(key);
        let _callback = InCallback::enter();
        // SAFETY: the base station gave function and user for this call
        unsafe { unsubscribe(self.user, subscription) };
    }

    fn control(
        &mut self,
        _: Time,
        controller: ControllerId,
        request: &ControlRequest,
        _: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let Some(control) = self.control else { return Err(cause(FERRIC_CAUSE_ACTION_NOT_SUPPORTED).into()) };
        let mut outcome = vec![0; FERRIC_OUTCOME_OCTETS];
        let process = request.call_process_id.as_deref().unwrap_or_default();
        let mut stated = ferric_control_request {
            controller: self.number(controller),
            header: pointer(&request.header),
            header_octets: request.header.len(),
            message: pointer(&request.message),
            message_octets: request.message.len(),
            call_process_id: pointer(process),
            call_process_id_octets: process.len(),
            outcome: outcome.as_mut_ptr(),
            outcome_octets: 0,
        };
        let callback = InCallback::enter();
        // SAFETY: the base station gave function and user for this call; all pointers are valid
        let answer = unsafe { control(self.user, &raw mut stated) };
        drop(callback);
        // more than there is room for cannot have been written: nothing is sent of it
        let octets = if stated.outcome_octets > FERRIC_OUTCOME_OCTETS { 0 } else { stated.outcome_octets };
        outcome.truncate(octets);
        let outcome = (!outcome.is_empty()).then_some(outcome);
        if answer == 0 { Ok(outcome) } else { Err(ControlFailure { cause: cause(answer), outcome }) }
    }

    fn next_report(&self) -> Option<Time> {
        self.signal.is_set().then(Time::default)
    }

    fn report(&mut self, _: Time, context: &mut FunctionContext<'_>) {
        self.signal.clear();
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let share = SEND_OCTETS / rings.len().max(1);
        for reports in rings.iter_mut() {
            let is_empty = reports.drain(share, |subscription, action, header, message| {
                let controller = usize::try_from(subscription.controller).ok();
                let Some(controller) = controller.and_then(|number| self.controllers.get(number)) else { return };
                let id = RicRequestId { requestor: subscription.requestor, instance: subscription.instance };
                let key = RequestKey { controller: *controller, id };
                // fails for a subscription that has ended
                let _ = context.report(key, RicActionId(action), header, message);
            });
            if !is_empty {
                self.signal.set_again();
            }
        }
    }
}

/// Adds a RAN function to an agent that is not started. `out` may be NULL if no thread reports.
///
/// # Safety
/// `config` is valid, and so are the pointers in it; the callbacks and `user` may be used on the thread of the agent until it is
/// freed; `out` and `error` are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_agent_add_function(
    agent: ferric_agent,
    config: *const ferric_function_config,
    out: *mut ferric_function,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes a valid pointer
        let config = unsafe { structure(config, "config") }?;
        let twelve_bits = |number: u32, name: &str| {
            let valid = u16::try_from(number).ok().filter(|number| *number <= 4095);
            valid.ok_or_else(|| Failure::argument(name, format_args!("{name} {number} is not in 0 to 4095")))
        };
        let id = RanFunctionId(twelve_bits(config.id, "id")?);
        let revision = RanFunctionRevision(twelve_bits(config.revision, "revision")?);
        let subscribe = config.subscribe.ok_or_else(|| Failure::null("config.subscribe"))?;
        // SAFETY: the caller passes a text and octets of the stated length
        let (oid, definition) = unsafe {
            (text(config.oid, "config.oid")?, octets(config.definition, config.definition_octets, "config.definition")?)
        };
        let is_oid = oid.split('.').count() >= 2 && oid.split('.').all(|arc| arc.parse::<u64>().is_ok());
        if !is_oid {
            return Err(Failure::argument(
                "oid",
                format_args!("oid {oid:?} is not numbers with dots, such as 1.3.6.1.4.1.1"),
            ));
        }
        let agent = AGENTS.get(agent.id)?;
        let agent = &agent.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        let rings = Arc::new(Mutex::new(Vec::new()));
        let signal = Arc::new(Signal::new(agent.waker()));
        let definition = Function { id, revision, oid: oid.to_owned(), definition: definition.to_vec() };
        agent.add_function(Box::new(Callbacks {
            definition,
            user: config.user,
            subscribe,
            unsubscribe: config.unsubscribe,
            control: config.control,
            rings: Arc::clone(&rings),
            signal: Arc::clone(&signal),
            controllers: Vec::new(),
        }))?;
        // SAFETY: the caller passes NULL or a valid pointer
        if let Ok(out) = unsafe { result(out, "out") } {
            *out = ferric_function { id: FUNCTIONS.insert(FunctionHandle { rings, signal })? };
        }
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Frees the handle of a RAN function. The function stays part of its agent until that is freed.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_function_free(function: ferric_function) -> i32 {
    guard_real_time(|| FUNCTIONS.remove(function.id).map(drop))
}
