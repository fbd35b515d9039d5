//! An E2 node's side of one association with a near-RT RIC.
//!
//! The machine knows which functions the node offers and which subscriptions stand; what a function does with them is
//! its owner's affair. A request becomes an [`AgentEvent`]; its owner answers by [`Agent::admit`], [`Agent::refuse`],
//! [`Agent::acknowledge`] or [`Agent::fail`], at once or later.

mod answer;
mod config;
mod control;
mod error_indication;
mod indication;
mod reset;
mod setup;
mod subscription;
mod subscription_delete;

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, HashMap, VecDeque};

use e2ap::{
    CauseProtocol, ErrorIndication, GlobalE2NodeId, GlobalRicId, Kind, Pdu, RanFunctionId, RicActionId, RicRequestId,
    TransactionId, Version,
};
use per::Gather;

use crate::answer::{about, in_version, not_supported};
use crate::budget::Budget;
use crate::outbox::Outbox;
use crate::{AssocId, CloseReason, Notice, Time};

pub use config::{AgentConfig, AgentConfigError, Function};
pub use control::ControlRequest;
pub use subscription::SubscriptionRequest;

use control::Control;
use reset::PendingReset;
use setup::State;
use subscription::Subscription;

/// The one association, as the outbox knows it.
const ASSOC: AssocId = AssocId(0);

/// News from the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// A connection is wanted: call [`Agent::handle_open`] once there is one, [`Agent::handle_close`] if there is none.
    Connect,
    /// The RIC has taken the setup.
    Up {
        /// Who it is.
        ric_id: GlobalRicId,
        /// The functions that it takes.
        accepted: Vec<RanFunctionId>,
    },
    /// The association is gone. All subscriptions are.
    Down {
        /// Why.
        reason: CloseReason,
        /// The next attempt, if the caller's clock goes on.
        retry_at: Time,
    },
    /// The RIC wants to subscribe.
    Subscribe(SubscriptionRequest),
    /// The RIC wants a subscription no more, or it is gone with the association.
    Unsubscribe {
        /// Which one.
        request_id: RicRequestId,
        /// The function it was with.
        ran_function_id: RanFunctionId,
    },
    /// The RIC wants something done.
    Control(ControlRequest),
    /// For the log.
    Notice(Notice),
}

/// A command that makes no sense, or no sense any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentMisuse {
    /// No such request waits for an answer: it may be gone by now.
    UnknownRequest,
    /// The subscription does not have that action.
    UnknownAction,
    /// Nothing was admitted, or something that was not asked for, or something twice.
    BadActions,
    /// The RIC has not taken the setup.
    NotUp,
    /// A reset is under way already.
    ResetUnderWay,
}

impl fmt::Display for AgentMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgentMisuse::UnknownRequest => "no such request waits for an answer",
            AgentMisuse::UnknownAction => "the subscription has no such action",
            AgentMisuse::BadActions => "an answer admits at least one action, and names each that was asked for once",
            AgentMisuse::NotUp => "the RIC has not taken the setup",
            AgentMisuse::ResetUnderWay => "a reset is under way",
        })
    }
}

impl std::error::Error for AgentMisuse {}

/// An E2 node's side of one association.
#[derive(Debug)]
pub struct Agent {
    config: AgentConfig,
    state: State,
    pause: Duration,
    /// The RIC's time to wait: no setup before.
    not_before: Time,
    transaction: u8,
    subscriptions: BTreeMap<RicRequestId, Subscription>,
    controls: HashMap<RicRequestId, Control>,
    /// Octets that are kept for controls.
    control_octets: usize,
    reset: Option<PendingReset>,
    outbox: Outbox,
    events: VecDeque<AgentEvent>,
    close: Option<CloseReason>,
    /// Complaints.
    answers: Budget,
    /// Lines in the log about what is only odd.
    remarks: Budget,
}

impl Agent {
    /// An agent that wants to connect at once.
    ///
    /// # Panics
    /// Where [`AgentConfig::check`] finds something wrong.
    #[must_use]
    pub fn new(config: AgentConfig) -> Self {
        if let Err(error) = config.check() {
            panic!("there is no such agent: {error}");
        }
        Agent {
            pause: config.retry_first,
            config,
            state: State::Connecting,
            not_before: Time::default(),
            transaction: 0,
            subscriptions: BTreeMap::new(),
            controls: HashMap::new(),
            control_octets: 0,
            reset: None,
            outbox: Outbox::default(),
            events: VecDeque::from([AgentEvent::Connect]),
            close: None,
            answers: Budget::new(Time::default()),
            remarks: Budget::new(Time::default()),
        }
    }

    /// Whether the RIC has taken the setup.
    #[must_use]
    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Up)
    }

    /// The version that is spoken.
    #[must_use]
    pub fn version(&self) -> Version {
        self.config.version
    }

    /// The node's key.
    #[must_use]
    pub fn node_id(&self) -> GlobalE2NodeId {
        self.config.node_id
    }

    /// A PDU came.
    pub fn handle_pdu(&mut self, now: Time, pdu: &[u8]) {
        if let State::Connecting | State::Waiting { .. } = self.state {
            return; // left over from an association that is gone
        }
        let gather = Gather::new();
        let decoded = match e2ap::decode(pdu, self.config.version, &gather) {
            Ok(decoded) => decoded,
            Err(error) => return self.answer_malformed(now, pdu, error),
        };
        if !decoded.unknown.is_empty() && self.remarks.take(now) {
            let (procedure_code, count) = (decoded.pdu.procedure_code(), decoded.unknown.len());
            self.events.push_back(AgentEvent::Notice(Notice::UnknownIes { procedure_code, count }));
        }
        let up = self.is_up();
        match decoded.pdu {
            Pdu::E2SetupResponse(response) if self.awaits(response.transaction_id) => self.setup_response(&response),
            Pdu::E2SetupFailure(failure) if self.awaits(failure.transaction_id) => self.setup_failure(now, &failure),
            Pdu::ErrorIndication(indication) => self.error_indication(now, &indication),
            // Sent before the RIC saw our reset: it forgets them (E2AP v03.01 8.3.3.2).
            Pdu::RicSubscriptionRequest(_) | Pdu::RicControlRequest(_) if self.reset.is_some() => {}
            Pdu::RicSubscriptionRequest(request) if up => self.subscription_request(&request),
            Pdu::RicSubscriptionDeleteRequest(request) if up => self.delete_request(&request),
            Pdu::RicControlRequest(request) if up => self.control_request(&request),
            Pdu::ResetRequest(request) if up => self.reset_request(now, &request),
            Pdu::ResetResponse(response) if self.reset_answered(response.transaction_id) => {}
            other if up && other.kind() == Kind::Initiating => {
                let (notice, answer) = not_supported(&other, pdu);
                self.complain(now, notice, answer);
            }
            // E2AP v03.01 10.4
            other => {
                let answer = about(&other, pdu, CauseProtocol::MessageNotCompatibleWithReceiverState, None);
                self.complain(now, Notice::NotInState { message: other.name() }, Some(answer));
            }
        }
    }

    /// Appends the next PDU to be sent to `out`.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool {
        self.outbox.pop(out).is_some()
    }

    /// The next piece of news.
    pub fn poll_event(&mut self) -> Option<AgentEvent> {
        self.events.pop_front()
    }

    /// Whether the association is to be closed, once what is to be sent is sent. It is forgotten here already.
    pub fn poll_close(&mut self) -> Option<CloseReason> {
        self.close.take()
    }

    fn send(&mut self, pdu: &Pdu<'_>) {
        self.outbox.push(ASSOC, self.config.version, pdu);
    }

    /// Tells the log, and the RIC by an error indication, unless there were too many of them.
    fn complain(&mut self, now: Time, notice: Notice, answer: Option<ErrorIndication<'_>>) {
        if !self.answers.take(now) {
            if let Some(count) = self.answers.withheld() {
                self.events.push_back(AgentEvent::Notice(Notice::AnswersWithheld { count }));
            }
            return;
        }
        self.events.push_back(AgentEvent::Notice(notice));
        if let Some(answer) = answer {
            self.send(&in_version(answer, self.config.version).into());
        }
    }

    fn next_transaction(&mut self) -> Option<TransactionId> {
        self.transaction = self.transaction.wrapping_add(1);
        (self.config.version >= Version::V2_03).then_some(TransactionId(self.transaction.into()))
    }

    /// Forgets all subscriptions and controls, and says so.
    fn forget_requests(&mut self) {
        self.controls.clear();
        self.control_octets = 0;
        for (request_id, Subscription { ran_function_id, .. }) in std::mem::take(&mut self.subscriptions) {
            self.events.push_back(AgentEvent::Unsubscribe { request_id, ran_function_id });
        }
    }
}

/// An action's name, and how many indications it made.
#[derive(Clone, Copy, Debug)]
struct ActionState {
    id: RicActionId,
    sn: u16,
}
