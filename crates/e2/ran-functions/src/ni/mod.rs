//! E2SM-NI: reports, inserts, injection and policies of the messages on the node's interfaces.
//!
//! A base station implements [`NiSource`], the taps of its interfaces. [`NiFunction`] implements the RAN function.
//!
//! * Each message at a tap is processed once. Policies come first: the first matching policy decides. A message that no policy
//!   stops is reported, and the first matching insert holds it.
//! * A held message waits for the control with its call process id. The message of that control replaces it; an empty one drops
//!   it. If the time to wait expires, the subscription ends, or the maximum number of messages is held, the message passes;
//!   with the subsequent action "wait" it is dropped.
//! * A control without a call process id injects a message.
//! * Triggers compare IEs of type INTEGER and ENUMERATED as numbers, and all others as octets. A trigger that needs another
//!   comparison is rejected.
//! * A controller receives the messages of those UEs that it may see. A controller that does not see all UEs cannot inject
//!   messages, and its inserts and policies do not apply to messages without a UE.

mod definition;
mod source;
mod subscription;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::{Duration, SystemTime};

use ap::PduView;
use e2sm::common::ntp_timestamp;
use e2sm::ni::{
    CallProcessId, CallProcessIdFormat1, ControlHeader, ControlMessage, ControlOutcome, ControlOutcomeFormat1,
    IndicationHeader, IndicationHeaderFormat1, IndicationMessage, InterfaceMessage, NiDirection, NiTimeStamp,
    RanParameterItem, RanParameterValue,
};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseProtocol, CauseRicRequest, RanFunctionId, RicActionId};
use per::{List, Octets};
use tracing::{debug, info, warn};

use crate::admission::admit;
use crate::pending::Pending;
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;
use subscription::{Action, HoldTime, Service, Trigger};

pub use source::{Interface, Message, MessageDecision, MessageDirection, MessageId, NiSource};

/// The configuration of the function.
#[derive(Clone, Debug)]
pub struct NiConfig {
    /// The RAN function id. Default: 5.
    pub function_id: RanFunctionId,
    /// The maximum number of actions. Default: 256.
    pub max_actions: usize,
    /// The maximum number of messages that wait for controls. Default: 1024.
    pub max_held: usize,
    /// The time to wait, in milliseconds, if the subscription does not state one. Default: 100.
    pub default_wait_ms: u32,
}

impl Default for NiConfig {
    fn default() -> Self {
        NiConfig { function_id: RanFunctionId(5), max_actions: 256, max_held: 1024, default_wait_ms: 100 }
    }
}

/// The maximum number of messages that one call of `report` processes, so that other functions are not delayed.
const MAX_MESSAGES_PER_CALL: usize = 256;

/// A message that waits for a control.
#[derive(Debug)]
struct HeldMessage {
    message: Message,
    key: RequestKey,
    passes: bool,
}

/// The RAN function of E2SM-NI, towards all controllers of its node.
pub struct NiFunction<H: SharedSource<Source: NiSource>> {
    source: H,
    state: State,
}

/// The state of the function. Its methods get the source from the function, which accesses it once in each call.
struct State {
    config: NiConfig,
    wall_clock: WallClock,
    actions: Vec<Action>,
    held: Pending<HeldMessage>,
    /// Whether the last call of `report` left messages at the taps.
    is_behind: bool,
    /// The time of the latest call.
    now: Time,
}

impl<H: SharedSource<Source: NiSource>> NiFunction<H> {
    /// Returns a function without subscriptions.
    ///
    /// # Panics
    /// If the source offers no interface.
    #[must_use]
    pub fn new(source: H, config: NiConfig) -> Self {
        definition::function(source.read().interfaces(), &config);
        let state = State {
            wall_clock: WallClock::new(SystemTime::now),
            actions: Vec::new(),
            held: Pending::new(config.max_held),
            is_behind: false,
            now: Time::default(),
            config,
        };
        NiFunction { source, state }
    }

    /// Replaces the system's clock as the source of time stamps.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.state.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// Returns the number of messages that wait for controls.
    #[must_use]
    pub fn held(&self) -> usize {
        self.state.held.len()
    }
}

impl State {
    /// Processes a message at a tap.
    fn process<S: NiSource>(&mut self, source: &mut S, message: Message, reports: &mut FunctionContext<'_>) {
        let interface = source.interfaces().get(message.interface).map(|interface| interface.kind);
        let Some(pdu) = interface.and_then(|interface| PduView::read(interface.protocol(), &message.octets)) else {
            debug!("message is not a PDU of the interface's protocol: passed");
            return source.decide(self.now, message.id, MessageDecision::Pass);
        };
        let views = reports.views();
        let sees = |key: RequestKey| message.ue.is_none_or(|ue| views.sees(key.controller, ue));
        let may_touch = |key: RequestKey| match message.ue {
            Some(ue) => views.sees(key.controller, ue),
            None => views.sees_all(key.controller),
        };
        let policy = self.actions.iter().find_map(|action| match &action.service {
            Service::Policy(decision) if may_touch(action.key) && action.trigger.matches(&message, &pdu) => {
                Some(decision.clone())
            }
            _ => None,
        });
        let (mut to_report, mut insert) = (Vec::new(), None);
        let passes = matches!(policy, None | Some(MessageDecision::Pass));
        for action in self.actions.iter_mut().filter(|action| action.trigger.matches(&message, &pdu)) {
            match &mut action.service {
                Service::Report(every) => {
                    if sees(action.key) && every.next() {
                        to_report.push((action.key, action.id));
                    }
                }
                Service::Insert(every, hold_time) => {
                    if passes && insert.is_none() && may_touch(action.key) && every.next() {
                        insert = Some((action.key, action.id, *hold_time));
                    }
                }
                Service::Policy(_) => {}
            }
        }
        if to_report.is_empty() && insert.is_none() {
            return source.decide(self.now, message.id, policy.unwrap_or(MessageDecision::Pass));
        }
        let Some((header, body)) = self.indication(source, &message) else {
            return source.decide(self.now, message.id, policy.unwrap_or(MessageDecision::Pass));
        };
        for (key, id) in to_report {
            // fails if the subscription has ended: `unsubscribe` follows and removes it here
            let _ = reports.report(key, id, &header, &body);
        }
        match insert {
            Some(insert) => self.hold(source, message, insert, (&header, &body), reports),
            None => source.decide(self.now, message.id, policy.unwrap_or(MessageDecision::Pass)),
        }
    }

    /// Holds a message and sends an insert indication to the controller.
    fn hold<S: NiSource>(
        &mut self,
        source: &mut S,
        message: Message,
        (key, action, hold_time): (RequestKey, RicActionId, HoldTime),
        (header, body): (&[u8], &[u8]),
        reports: &mut FunctionContext<'_>,
    ) {
        let until = self.now + Duration::from_millis(hold_time.wait_ms.into());
        let id = message.id;
        let Ok(number) = self.held.insert(until, HeldMessage { message, key, passes: hold_time.passes }) else {
            warn!(
                limit = self.config.max_held,
                "table of held messages full: message passes without a control request"
            );
            return source.decide(self.now, id, MessageDecision::Pass);
        };
        let mut process = Vec::new();
        let call_process_id = CallProcessIdFormat1 { call_process_id: number.into() };
        let is_sent = CallProcessId::Format1(call_process_id).encode(&mut process).is_ok()
            && reports.insert(key, action, &process, header, body).is_ok();
        if !is_sent {
            // no indication was sent, so that no control follows
            self.held.remove(number);
            source.decide(self.now, id, MessageDecision::Pass);
        }
    }

    /// Returns the header and message of an indication; `None` if they cannot be encoded.
    fn indication<S: NiSource>(&self, source: &S, message: &Message) -> Option<(Vec<u8>, Vec<u8>)> {
        let interface = *source.interfaces().get(message.interface)?;
        let header = IndicationHeader::Format1(IndicationHeaderFormat1 {
            interface_type: interface.kind,
            interface_id: interface.id,
            interface_direction: ni_direction(message.direction),
            timestamp: Some(NiTimeStamp(ntp_timestamp(self.wall_clock.at(message.at)).to_be_bytes())),
        });
        let octets = Octets::from(&message.octets[..]);
        let body = IndicationMessage::Format1(InterfaceMessage { interface_message: octets });
        let (mut header_bytes, mut body_bytes) = (Vec::new(), Vec::new());
        match header.encode(&mut header_bytes).and_then(|()| body.encode(&mut body_bytes)) {
            Ok(()) => Some((header_bytes, body_bytes)),
            Err(error) => {
                warn!(%error, "cannot encode indication: the source's interface is invalid");
                None
            }
        }
    }

    /// Releases a held message without a control.
    fn release<S: NiSource>(&self, source: &mut S, held: &HeldMessage) {
        source.decide(
            self.now,
            held.message.id,
            if held.passes { MessageDecision::Pass } else { MessageDecision::Drop },
        );
    }

    /// Applies the control for a held message.
    fn answer<S: NiSource>(
        &mut self,
        source: &mut S,
        controller: ControllerId,
        call_process_id: &[u8],
        wanted: &ControlContent,
    ) -> Result<bool, CauseRicRequest> {
        let number = match CallProcessId::decode(call_process_id) {
            Ok(CallProcessId::Format1(id)) => u32::try_from(id.call_process_id).ok(),
            _ => None,
        };
        let held = number.and_then(|number| Some((number, self.held.get(number)?)));
        let Some((number, held)) = held.filter(|(_, held)| held.key.controller == controller) else {
            info!("unknown or expired call process id: control rejected");
            return Err(CauseRicRequest::RicCallProcessIdInvalid);
        };
        if wanted.interface != held.message.interface || wanted.direction != held.message.direction {
            info!("control states another interface or direction than the held message: control rejected");
            return Err(CauseRicRequest::ControlMessageInvalid);
        }
        let Some(held) = self.held.remove(number) else { return Err(CauseRicRequest::RicCallProcessIdInvalid) };
        let decision = match &wanted.octets[..] {
            [] => MessageDecision::Drop,
            same if same == held.message.octets => MessageDecision::Pass,
            other => MessageDecision::Replace(other.to_vec()),
        };
        let is_sent = decision != MessageDecision::Drop;
        source.decide(self.now, held.message.id, decision);
        Ok(is_sent)
    }
}

/// The decoded content of a control.
struct ControlContent {
    interface: usize,
    direction: MessageDirection,
    octets: Vec<u8>,
}

impl ControlContent {
    fn read<S: NiSource>(source: &S, request: &ControlRequest) -> Result<Self, Cause> {
        let unreadable = |error| {
            info!(%error, "cannot decode control");
            Cause::Protocol(CauseProtocol::TransferSyntaxError)
        };
        let ControlHeader::Format1(header) = ControlHeader::decode(&request.header).map_err(unreadable)?;
        let ControlMessage::Format1(message) = ControlMessage::decode(&request.message).map_err(unreadable)?;
        let invalid = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
        let direction = match header.interface_direction {
            NiDirection::Incoming => MessageDirection::Incoming,
            NiDirection::Outgoing => MessageDirection::Outgoing,
            NiDirection::Both => {
                info!("control states direction `both`: control rejected");
                return Err(invalid);
            }
        };
        let is_meant = |at: &Interface| at.kind == header.interface_type && at.id == header.interface_id;
        let interface = source.interfaces().iter().position(is_meant).ok_or_else(|| {
            info!(kind = ?header.interface_type, "unknown interface: control rejected");
            invalid
        })?;
        Ok(ControlContent { interface, direction, octets: message.interface_message.to_cow().into_owned() })
    }
}

const fn ni_direction(direction: MessageDirection) -> NiDirection {
    match direction {
        MessageDirection::Incoming => NiDirection::Incoming,
        MessageDirection::Outgoing => NiDirection::Outgoing,
    }
}

/// Returns the control outcome: whether the message was sent.
fn outcome(is_sent: bool) -> Option<Vec<u8>> {
    let item = RanParameterItem {
        ran_parameter_id: definition::SENT,
        ran_parameter_value: RanParameterValue::ValueBool(is_sent),
    };
    let outcome = ControlOutcome::Format1(ControlOutcomeFormat1 { outcome_element_list: Some(List::from(vec![item])) });
    let mut bytes = Vec::new();
    outcome.encode(&mut bytes).is_ok().then_some(bytes)
}

impl<H: SharedSource<Source: NiSource>> RanFunction for NiFunction<H> {
    fn id(&self) -> RanFunctionId {
        self.state.config.function_id
    }

    fn definition(&self) -> Function {
        definition::function(self.source.read().interfaces(), &self.state.config)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        let NiFunction { source, state } = self;
        let mut source = source.write();
        state.now = now;
        let trigger = Trigger::new(&*source, &request.event_trigger)?;
        let was_watched = !state.actions.is_empty();
        let admission = admit(&mut state.actions, state.config.max_actions, controller, request, |key, wanted| {
            Action::new(&state.config, &trigger, key, wanted)
        })?;
        if !was_watched {
            source.set_watched(now, true);
        }
        Ok(admission)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        let NiFunction { source, state } = self;
        let mut source = source.write();
        let before = state.actions.len();
        state.actions.retain(|action| action.key != key);
        // no control follows
        for held in state.held.remove_matching(|held| held.key == key) {
            state.release(&mut *source, &held);
        }
        if before > 0 && state.actions.is_empty() {
            state.is_behind = false;
            source.set_watched(state.now, false);
        }
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let NiFunction { source, state } = self;
        let mut source = source.write();
        state.now = now;
        let wanted = ControlContent::read(&*source, request)?;
        let failed = |cause| ControlFailure { cause: Cause::RicRequest(cause), outcome: outcome(false) };
        if let Some(call_process_id) = &request.call_process_id {
            return state.answer(&mut *source, controller, call_process_id, &wanted).map(outcome).map_err(failed);
        }
        if !reports.views().sees_all(controller) {
            info!(controller = controller.0, "controller does not see all UEs: injection rejected");
            return Err(failed(CauseRicRequest::ControlFailedToExecute));
        }
        let ControlContent { interface, direction, octets } = wanted;
        if let Err(why) = source.inject(now, controller, interface, direction, &octets) {
            info!(%why, "cannot inject message");
            return Err(failed(CauseRicRequest::ControlFailedToExecute));
        }
        Ok(outcome(true))
    }

    fn next_report(&self) -> Option<Time> {
        let NiFunction { source, state } = self;
        if state.actions.is_empty() {
            return None;
        }
        let behind = state.is_behind.then_some(state.now);
        [behind, state.held.next_deadline(), source.read().next_poll()].into_iter().flatten().min()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let NiFunction { source, state } = self;
        let mut source = source.write();
        state.now = now;
        state.wall_clock.update(now);
        for held in state.held.remove_expired(now) {
            debug!("time to wait expired");
            state.release(&mut *source, &held);
        }
        if state.actions.is_empty() {
            return;
        }
        state.is_behind = true;
        for _ in 0..MAX_MESSAGES_PER_CALL {
            let Some(message) = source.next_message(now) else {
                state.is_behind = false;
                break;
            };
            state.process(&mut *source, message, reports);
        }
    }
}

impl<H: SharedSource<Source: NiSource>> fmt::Debug for NiFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NiFunction")
            .field("config", &self.state.config)
            .field("actions", &self.state.actions.len())
            .field("held", &self.state.held.len())
            .finish_non_exhaustive()
    }
}
