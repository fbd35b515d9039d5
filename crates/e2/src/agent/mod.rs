//! An E2 node's side of one association with a near-RT RIC.
//!
//! The machine knows which functions the node offers and which subscriptions stand; what a function does with them is
//! its owner's affair. A request becomes an [`AgentEvent`]; its owner answers by [`Agent::admit`], [`Agent::refuse`],
//! [`Agent::acknowledge`] or [`Agent::fail`], at once or later.

mod requests;
mod setup;

use core::fmt;
use core::time::Duration;
use std::collections::{HashMap, VecDeque};

use e2ap::{
    Cause, CauseProtocol, CriticalityDiagnostics, E2NodeComponentConfigAdditionItem, ErrorIndication, GlobalE2NodeId,
    GlobalRicId, Pdu, RanFunctionId, RanFunctionRevision, RicActionId, RicRequestId, TransactionId, Version, peek,
};
use per::Gather;

use crate::outbox::Outbox;
use crate::{AssocId, CloseReason, Notice, Time};

use requests::{Control, Subscription};
pub use requests::{ControlRequest, SubscriptionRequest};
use setup::State;

/// The one association, as the outbox knows it.
const ASSOC: AssocId = AssocId(0);

/// A RAN function that the node offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its id within the node.
    pub id: RanFunctionId,
    /// Counts changes of its definition.
    pub revision: RanFunctionRevision,
    /// The service model's object identifier.
    pub oid: String,
    /// The service model's RAN function definition.
    pub definition: Vec<u8>,
}

/// What an agent is and when it loses patience.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Who the node is.
    pub node_id: GlobalE2NodeId,
    /// What it offers.
    pub functions: Vec<Function>,
    /// Its components. From v2 on there must be one at least; where this is empty, a gNB without interfaces is told.
    pub components: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    /// The version that it speaks. Default: v02.03.
    pub version: Version,
    /// The RIC must answer the setup within this. Default: 5 s.
    pub setup_timeout: Duration,
    /// The first pause after a failure; each next one is twice as long. Default: 1 s.
    pub retry_first: Duration,
    /// The longest pause. Default: 30 s.
    pub retry_last: Duration,
    /// Subscriptions that may stand at a time. Default: 1024.
    pub max_subscriptions: usize,
    /// Controls that may wait for their answer at a time. Default: 1024.
    pub max_controls: usize,
}

impl AgentConfig {
    /// An agent of `node_id` with the default patience.
    #[must_use]
    pub fn new(node_id: GlobalE2NodeId, functions: Vec<Function>) -> Self {
        AgentConfig {
            node_id,
            functions,
            components: Vec::new(),
            version: Version::V2_03,
            setup_timeout: Duration::from_secs(5),
            retry_first: Duration::from_secs(1),
            retry_last: Duration::from_secs(30),
            max_subscriptions: 1024,
            max_controls: 1024,
        }
    }
}

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
    /// Nothing was admitted, or something that was not asked for.
    BadActions,
}

impl fmt::Display for AgentMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AgentMisuse::UnknownRequest => "no such request waits for an answer",
            AgentMisuse::UnknownAction => "the subscription has no such action",
            AgentMisuse::BadActions => "an answer admits at least one action, and only such as were asked for",
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
    transaction: u8,
    subscriptions: HashMap<RicRequestId, Subscription>,
    controls: HashMap<RicRequestId, Control>,
    outbox: Outbox,
    events: VecDeque<AgentEvent>,
    close: Option<CloseReason>,
    /// Error indications that may still be sent before the next good message: bounds a quarrel.
    complaints_left: u32,
}

const COMPLAINTS: u32 = 16;

impl Agent {
    /// An agent that wants to connect at once.
    #[must_use]
    pub fn new(config: AgentConfig) -> Self {
        Agent {
            pause: config.retry_first,
            config,
            state: State::Connecting,
            transaction: 0,
            subscriptions: HashMap::new(),
            controls: HashMap::new(),
            outbox: Outbox::default(),
            events: VecDeque::from([AgentEvent::Connect]),
            close: None,
            complaints_left: COMPLAINTS,
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
        let gather = Gather::new();
        let decoded = match e2ap::decode(pdu, self.config.version, &gather) {
            Ok(decoded) => decoded,
            Err(error) => return self.answer_malformed(pdu, error),
        };
        if !decoded.unknown.is_empty() {
            let (procedure_code, count) = (decoded.pdu.procedure_code(), decoded.unknown.len());
            self.events.push_back(AgentEvent::Notice(Notice::UnknownIes { procedure_code, count }));
        }
        let up = self.is_up();
        match decoded.pdu {
            Pdu::E2SetupResponse(response) => self.setup_response(now, &response),
            Pdu::E2SetupFailure(failure) => self.setup_failure(now, &failure),
            Pdu::ErrorIndication(indication) => self.error_indication(now, &indication),
            other if !up => self.complain(
                Notice::NotInState { message: other.name() },
                Some(about(&other, CauseProtocol::MessageNotCompatibleWithReceiverState)),
            ),
            Pdu::RicSubscriptionRequest(request) => self.subscription_request(&request),
            Pdu::RicSubscriptionDeleteRequest(request) => self.delete_request(&request),
            Pdu::RicControlRequest(request) => self.control_request(&request),
            Pdu::ResetRequest(request) => self.reset_request(&request),
            // E2AP v03.01 10.3.4.1: a procedure that is not comprehended and may be ignored is.
            Pdu::RicServiceQuery(_) => self.complain(Notice::NotSupported { message: "RicServiceQuery" }, None),
            other if other.kind() == e2ap::Kind::Initiating => self.complain(
                Notice::NotSupported { message: other.name() },
                Some(about(&other, CauseProtocol::AbstractSyntaxErrorReject)),
            ),
            other => self.complain(
                Notice::NotInState { message: other.name() },
                Some(about(&other, CauseProtocol::MessageNotCompatibleWithReceiverState)),
            ),
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

    fn complain(&mut self, notice: Notice, answer: Option<ErrorIndication<'_>>) {
        if self.complaints_left == 0 {
            return;
        }
        self.complaints_left -= 1;
        self.events.push_back(AgentEvent::Notice(notice));
        if let Some(mut indication) = answer {
            if self.config.version < Version::V2_03 {
                indication.transaction_id = None;
            }
            indication.cause = indication.cause.map(|cause| cause.in_version(self.config.version));
            self.send(&indication.into());
        }
    }

    /// A PDU that cannot be read: answered by the failure of its procedure where it has one that can be told, by an
    /// error indication else.
    fn answer_malformed(&mut self, pdu: &[u8], error: e2ap::Error) {
        let outline = peek::outline(pdu);
        let is_error_indication =
            error.message().is_some_and(|(_, code)| code == e2ap::ProcedureCode::ERROR_INDICATION);
        let answer = (!is_error_indication).then(|| ErrorIndication {
            transaction_id: outline.and_then(|o| o.transaction_id),
            request_id: outline.and_then(|o| o.request_id),
            ran_function_id: outline.and_then(|o| o.ran_function_id),
            cause: Some(error.cause()),
            criticality_diagnostics: error.diagnostics(),
        });
        self.complain(Notice::Malformed(error), answer);
    }

    fn next_transaction(&mut self) -> Option<TransactionId> {
        self.transaction = self.transaction.wrapping_add(1);
        (self.config.version >= Version::V2_03).then_some(TransactionId(self.transaction.into()))
    }

    /// Forgets all subscriptions and controls, and says so.
    fn forget_requests(&mut self) {
        self.controls.clear();
        let mut gone: Vec<_> = self.subscriptions.drain().map(|(id, s)| (id, s.ran_function_id)).collect();
        gone.sort_unstable(); // the same order in every run
        for (request_id, ran_function_id) in gone {
            self.events.push_back(AgentEvent::Unsubscribe { request_id, ran_function_id });
        }
    }
}

fn about(pdu: &Pdu<'_>, cause: CauseProtocol) -> ErrorIndication<'static> {
    ErrorIndication {
        transaction_id: None,
        request_id: None,
        ran_function_id: None,
        cause: Some(Cause::Protocol(cause)),
        criticality_diagnostics: Some(CriticalityDiagnostics {
            procedure_code: Some(pdu.procedure_code()),
            triggering_message: Some(pdu.kind().triggering_message()),
            ..Default::default()
        }),
    }
}

/// An action's name, its kind and how many indications it made.
#[derive(Clone, Copy, Debug)]
struct ActionState {
    id: RicActionId,
    sn: u16,
}
