//! The causes of refusals and failures (E2AP v03.01 9.2.1).

use core::fmt;
use per::Per;

/// Cause (E2AP v03.01 9.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[non_exhaustive]
pub enum Cause {
    /// A cause in a request of the RIC.
    RicRequest(CauseRicRequest),
    /// A cause in a RAN function that the node offers.
    RicService(CauseRicService),
    /// A cause in the E2 node; from v2 on.
    #[per(since = 2)]
    E2Node(CauseE2Node),
    /// A cause in the transport layer.
    Transport(CauseTransport),
    /// A protocol error.
    Protocol(CauseProtocol),
    /// Any other cause.
    Misc(CauseMisc),
}

impl Cause {
    /// Returns the nearest cause that `version` has: later versions distinguish more causes.
    #[must_use]
    pub fn in_version(self, version: crate::Version) -> Cause {
        use CauseRicRequest as R;
        match (self, version < crate::Version::V2_03) {
            (Cause::E2Node(_), true) => Cause::Misc(CauseMisc::Unspecified),
            (Cause::RicRequest(R::ControlTimerExpired | R::ControlFailedToExecute | R::SystemNotReady), true) => {
                Cause::RicRequest(R::Unspecified)
            }
            (
                Cause::RicRequest(
                    R::RicSubscriptionEndTimeExpired
                    | R::RicSubscriptionEndTimeInvalid
                    | R::DuplicateRicRequestId
                    | R::EventTriggerNotSupported
                    | R::RequestedInformationUnavailable
                    | R::InvalidInformationRequest,
                ),
                _,
            ) if version < crate::Version::V3_01 => Cause::RicRequest(R::Unspecified),
            _ => self,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::RicRequest(c) => write!(f, "RIC request: {c:?}"),
            Cause::RicService(c) => write!(f, "RIC service: {c:?}"),
            Cause::E2Node(c) => write!(f, "E2 node: {c:?}"),
            Cause::Transport(c) => write!(f, "transport: {c:?}"),
            Cause::Protocol(c) => write!(f, "protocol: {c:?}"),
            Cause::Misc(c) => write!(f, "misc: {c:?}"),
        }
    }
}

/// RIC request causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[non_exhaustive]
pub enum CauseRicRequest {
    /// The RAN function does not exist.
    RanFunctionIdInvalid,
    /// The RAN function does not support the action.
    ActionNotSupported,
    /// The request has more actions than the RAN function supports.
    ExcessiveActions,
    /// An action id occurs twice.
    DuplicateAction,
    /// An event trigger occurs twice.
    DuplicateEventTrigger,
    /// The RAN function has no resources left.
    FunctionResourceLimit,
    /// The request id is unknown.
    RequestIdUnknown,
    /// The actions and subsequent actions contradict each other.
    InconsistentActionSubsequentActionSequence,
    /// The control message is invalid.
    ControlMessageInvalid,
    /// The call process id is invalid.
    RicCallProcessIdInvalid,
    /// The control arrived too late; from v2 on.
    #[per(since = 2)]
    ControlTimerExpired,
    /// The control could not be executed; from v2 on.
    #[per(since = 2)]
    ControlFailedToExecute,
    /// The system is not ready; from v2 on.
    #[per(since = 2)]
    SystemNotReady,
    /// No specific cause is known.
    Unspecified,
    /// The end time of the subscription has passed; from v3 on.
    #[per(addition, since = 3)]
    RicSubscriptionEndTimeExpired,
    /// The end time of the subscription is invalid; from v3 on.
    #[per(addition, since = 3)]
    RicSubscriptionEndTimeInvalid,
    /// The request id is in use; from v3 on.
    #[per(addition, since = 3)]
    DuplicateRicRequestId,
    /// The event trigger is not supported; from v3 on.
    #[per(addition, since = 3)]
    EventTriggerNotSupported,
    /// The requested information is not available; from v3 on.
    #[per(addition, since = 3)]
    RequestedInformationUnavailable,
    /// The request for information is invalid; from v3 on.
    #[per(addition, since = 3)]
    InvalidInformationRequest,
}

/// RIC service causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[non_exhaustive]
pub enum CauseRicService {
    /// The RAN function is not supported (v1: not required).
    RanFunctionNotSupported,
    /// The node offers more RAN functions than the RIC supports.
    ExcessiveFunctions,
    /// The RIC has no resources left.
    RicResourceLimit,
}

/// E2 node causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[non_exhaustive]
pub enum CauseE2Node {
    /// The component is unknown.
    ComponentUnknown,
}

/// Transport causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[non_exhaustive]
pub enum CauseTransport {
    /// No specific cause is known.
    Unspecified,
    /// No transport resource is available.
    TransportResourceUnavailable,
}

/// Protocol causes (E2AP v03.01 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[non_exhaustive]
pub enum CauseProtocol {
    /// The octets cannot be decoded.
    TransferSyntaxError,
    /// An IE or procedure was not comprehended, and its criticality is reject.
    AbstractSyntaxErrorReject,
    /// An IE or procedure was not comprehended, and its criticality is ignore or notify.
    AbstractSyntaxErrorIgnoreAndNotify,
    /// The message does not fit the state of the receiver.
    MessageNotCompatibleWithReceiverState,
    /// The message was comprehended, but its content is contradictory.
    SemanticError,
    /// IEs are out of order or occur too often.
    AbstractSyntaxErrorFalselyConstructedMessage,
    /// No specific cause is known.
    Unspecified,
}

/// Miscellaneous causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[non_exhaustive]
pub enum CauseMisc {
    /// The processing is overloaded.
    ControlProcessingOverload,
    /// The hardware failed.
    HardwareFailure,
    /// Operation and maintenance intervened.
    OmIntervention,
    /// No specific cause is known.
    Unspecified,
}
