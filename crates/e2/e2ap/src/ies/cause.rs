//! Why something was refused or went wrong (E2AP v03.01 9.2.1).

use core::fmt;
use per::Per;

/// Cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Cause {
    /// About a request of the RIC.
    RicRequest(CauseRicRequest),
    /// About a RAN function that the node offers.
    RicService(CauseRicService),
    /// About the E2 node; from v2 on.
    #[per(since = 2)]
    E2Node(CauseE2Node),
    /// About the transport layer.
    Transport(CauseTransport),
    /// About the protocol.
    Protocol(CauseProtocol),
    /// About something else.
    Misc(CauseMisc),
}

impl Cause {
    /// The nearest cause that `version` can write: later versions have finer ones.
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

/// Causes about a request of the RIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CauseRicRequest {
    /// No such RAN function.
    RanFunctionIdInvalid,
    /// The function does not do this.
    ActionNotSupported,
    /// More actions than the function takes.
    ExcessiveActions,
    /// An action id twice.
    DuplicateAction,
    /// An event trigger twice.
    DuplicateEventTrigger,
    /// The function has no room.
    FunctionResourceLimit,
    /// No such request.
    RequestIdUnknown,
    /// The sequence of actions and subsequent actions makes no sense.
    InconsistentActionSubsequentActionSequence,
    /// The control message makes no sense.
    ControlMessageInvalid,
    /// No such call process.
    RicCallProcessIdInvalid,
    /// The control came too late; from v2 on.
    #[per(since = 2)]
    ControlTimerExpired,
    /// The control could not be carried out; from v2 on.
    #[per(since = 2)]
    ControlFailedToExecute,
    /// Not yet; from v2 on.
    #[per(since = 2)]
    SystemNotReady,
    /// Nothing finer is known.
    Unspecified,
    /// From v3 on.
    #[per(addition, since = 3)]
    RicSubscriptionEndTimeExpired,
    /// From v3 on.
    #[per(addition, since = 3)]
    RicSubscriptionEndTimeInvalid,
    /// The request id is in use; from v3 on.
    #[per(addition, since = 3)]
    DuplicateRicRequestId,
    /// From v3 on.
    #[per(addition, since = 3)]
    EventTriggerNotSupported,
    /// From v3 on.
    #[per(addition, since = 3)]
    RequestedInformationUnavailable,
    /// From v3 on.
    #[per(addition, since = 3)]
    InvalidInformationRequest,
}

/// Causes about a RAN function that the node offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CauseRicService {
    /// Not supported (v1: not required).
    RanFunctionNotSupported,
    /// More functions than the RIC takes.
    ExcessiveFunctions,
    /// The RIC has no room.
    RicResourceLimit,
}

/// Causes about the E2 node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CauseE2Node {
    /// No such component.
    ComponentUnknown,
}

/// Causes about the transport layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CauseTransport {
    /// Nothing finer is known.
    Unspecified,
    /// No transport resource.
    TransportResourceUnavailable,
}

/// Causes about the protocol (E2AP v03.01 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CauseProtocol {
    /// The bytes cannot be decoded.
    TransferSyntaxError,
    /// Something was not understood, and its criticality is reject.
    AbstractSyntaxErrorReject,
    /// Something was not understood, and its criticality is ignore and notify.
    AbstractSyntaxErrorIgnoreAndNotify,
    /// Not in this state.
    MessageNotCompatibleWithReceiverState,
    /// Understood, and makes no sense.
    SemanticError,
    /// IEs out of order or too often.
    AbstractSyntaxErrorFalselyConstructedMessage,
    /// Nothing finer is known.
    Unspecified,
}

/// Causes about something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CauseMisc {
    /// Overload.
    ControlProcessingOverload,
    /// Hardware.
    HardwareFailure,
    /// Operation and maintenance.
    OmIntervention,
    /// Nothing finer is known.
    Unspecified,
}
