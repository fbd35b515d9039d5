//! The actions of subscriptions, and their results (E2AP v03.01 9.1.1, 9.2.10 to 9.2.13).

use std::time::SystemTime;

use per::{Octets, Per};

use super::{Cause, RanFunctionId, RicActionId, RicRequestId};
use crate::items::{Items, item};

/// RIC Action Type (E2AP v03.01 9.2.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RicActionType {
    /// REPORT: the node sends an indication and continues.
    Report,
    /// INSERT: the node sends an indication and suspends the procedure until a control.
    Insert,
    /// POLICY: the node acts by itself.
    Policy,
}

/// RIC Indication Type (E2AP v03.01 9.2.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RicIndicationType {
    /// A REPORT.
    Report,
    /// An INSERT.
    Insert,
}

/// RIC Control Ack Request (E2AP v03.01 9.2.21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RicControlAckRequest {
    /// No acknowledgement is requested.
    NoAck,
    /// An acknowledgement is requested.
    Ack,
    /// Only a failure is to be reported; v1.
    #[per(until = 1)]
    NAck,
}

/// RIC Control Status, which every acknowledgement of v1 contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RicControlStatus {
    /// The control was executed.
    Success,
    /// The control was rejected.
    Rejected,
    /// The execution failed.
    Failed,
}

/// RIC Subsequent Action Type: what the node does after an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RicSubsequentActionType {
    /// It continues the procedure.
    Continue,
    /// It halts the procedure.
    Wait,
}

/// RIC Time To Wait: the time for which the node waits for a control (E2AP v03.01 9.2.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
#[allow(missing_docs)] // the names are the durations
pub enum RicTimeToWait {
    #[per(until = 1)]
    Zero,
    W1ms,
    W2ms,
    W5ms,
    W10ms,
    W20ms,
    W30ms,
    W40ms,
    W50ms,
    W100ms,
    W200ms,
    W500ms,
    W1s,
    W2s,
    W5s,
    W10s,
    W20s,
    W60s,
}

impl RicTimeToWait {
    /// The duration in milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> u32 {
        match self {
            RicTimeToWait::Zero => 0,
            RicTimeToWait::W1ms => 1,
            RicTimeToWait::W2ms => 2,
            RicTimeToWait::W5ms => 5,
            RicTimeToWait::W10ms => 10,
            RicTimeToWait::W20ms => 20,
            RicTimeToWait::W30ms => 30,
            RicTimeToWait::W40ms => 40,
            RicTimeToWait::W50ms => 50,
            RicTimeToWait::W100ms => 100,
            RicTimeToWait::W200ms => 200,
            RicTimeToWait::W500ms => 500,
            RicTimeToWait::W1s => 1_000,
            RicTimeToWait::W2s => 2_000,
            RicTimeToWait::W5s => 5_000,
            RicTimeToWait::W10s => 10_000,
            RicTimeToWait::W20s => 20_000,
            RicTimeToWait::W60s => 60_000,
        }
    }
}

/// Time To Wait: the minimum time before the next attempt (E2AP v03.01 9.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
#[allow(missing_docs)] // the names are the durations
pub enum TimeToWait {
    V1s,
    V2s,
    V5s,
    V10s,
    V20s,
    V60s,
}

impl TimeToWait {
    /// The duration in seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        match self {
            TimeToWait::V1s => 1,
            TimeToWait::V2s => 2,
            TimeToWait::V5s => 5,
            TimeToWait::V10s => 10,
            TimeToWait::V20s => 20,
            TimeToWait::V60s => 60,
        }
    }
}

/// RIC Subsequent Action (E2AP v03.01 9.2.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct RicSubsequentAction {
    /// What the node does.
    pub kind: RicSubsequentActionType,
    /// The time for which the node waits for a control.
    pub time_to_wait: RicTimeToWait,
}

/// RIC Action Execution Order: actions with lower values are executed first; from v3 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(range = 0..=255, extensible)]
pub struct RicActionExecutionOrder(pub u32);

/// RIC Subscription Time: an NTP time stamp (RFC 5905); from v3 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct RicSubscriptionTime(pub [u8; 8]);

impl RicSubscriptionTime {
    /// Returns the time stamp of a time of day, rounded down to 2^-32 s. Times before 1970 count as 1970.
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        /// Seconds from 1900, where NTP begins, to 1970.
        const BEFORE_1970: u64 = 2_208_988_800;
        let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let fraction = (u64::from(since_1970.subsec_nanos()) << 32) / 1_000_000_000;
        // the era, the seconds above 32 bits, is not part of the stamp
        let seconds = since_1970.as_secs().wrapping_add(BEFORE_1970) << 32;
        RicSubscriptionTime((seconds | fraction).to_be_bytes())
    }

    /// Whether this time is before another, which is less than 68 years away: stamps of two eras compare like those of one
    /// (RFC 5905 6).
    #[must_use]
    pub fn is_before(self, other: RicSubscriptionTime) -> bool {
        u64::from_be_bytes(self.0).wrapping_sub(u64::from_be_bytes(other.0)) > u64::MAX / 2
    }
}

/// RIC Subscription Details: the event trigger and the actions.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RicSubscriptionDetails<'a> {
    /// The service model's event trigger definition.
    pub event_trigger_definition: Octets<'a>,
    /// One to 16 actions.
    pub actions: Items<'a, RicActionToBeSetup<'a>>,
}

/// An action to be set up.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RicActionToBeSetup<'a> {
    /// Identifies the action.
    pub id: RicActionId,
    /// Report, insert or policy.
    pub kind: RicActionType,
    /// The service model's action definition.
    pub definition: Option<Octets<'a>>,
    /// What the node does after the action.
    pub subsequent_action: Option<RicSubsequentAction>,
    /// The execution order; from v3 on.
    #[per(addition, since = 3)]
    pub execution_order: Option<RicActionExecutionOrder>,
}
item!(RicActionToBeSetup<'a>: 19 Ignore 1..=16);

/// An action that is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RicActionAdmitted {
    /// Identifies the action.
    pub id: RicActionId,
}
item!(RicActionAdmitted: 14 Ignore 1..=16);

/// A subscription whose deletion the node requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RicSubscriptionWithCause {
    /// The subscription.
    pub request_id: RicRequestId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
    /// The cause.
    pub cause: Cause,
}
item!(RicSubscriptionWithCause: 61 Ignore 1..=1024);

/// An action to be modified.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RicActionToBeModified<'a> {
    /// Identifies the action.
    pub id: RicActionId,
    /// The new action definition.
    pub definition: Option<Octets<'a>>,
    /// The new execution order.
    pub execution_order: Option<RicActionExecutionOrder>,
    /// What the node does after the action.
    pub subsequent_action: Option<RicSubsequentAction>,
}
item!(RicActionToBeModified<'a>: 68 Ignore 0..=16);

/// An action to be added to a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RicActionToBeAdded<'a> {
    /// Identifies the action.
    pub id: RicActionId,
    /// Report, insert or policy.
    pub kind: RicActionType,
    /// The service model's action definition.
    pub definition: Octets<'a>,
    /// The execution order.
    pub execution_order: RicActionExecutionOrder,
    /// What the node does after the action.
    pub subsequent_action: Option<RicSubsequentAction>,
}
item!(RicActionToBeAdded<'a>: 70 Ignore 0..=16);

/// An action whose modification the node requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct RicActionRequiredToBeModified {
    /// Identifies the action.
    pub id: RicActionId,
    /// The RIC Time To Wait of the action.
    pub time_to_wait: RicTimeToWait,
}
item!(RicActionRequiredToBeModified: 84 Ignore 0..=16);

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident: $id:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
        #[per(extensible)]
        pub struct $name {
            /// Identifies the action.
            pub id: RicActionId,
        }
        item!($name: $id Ignore 0..=16);
    )*};
}

actions! {
    /// An action to be removed from a subscription.
    RicActionToBeRemoved: 66;
    /// An action that was removed.
    RicActionRemoved: 72;
    /// An action that was modified.
    RicActionModified: 76;
    /// An action that was added.
    RicActionAdded: 80;
    /// A modification that the RIC confirms.
    RicActionConfirmedForModification: 88;
    /// A removal that the RIC confirms.
    RicActionConfirmedForRemoval: 92;
}

macro_rules! refused_actions {
    ($($(#[$doc:meta])* $name:ident: $id:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
        #[per(extensible)]
        pub struct $name {
            /// Identifies the action.
            pub id: RicActionId,
            /// The cause.
            pub cause: Cause,
        }
        item!($name: $id Ignore 0..=16);
    )*};
}

refused_actions! {
    /// An action that is not set up.
    RicActionNotAdmitted: 16;
    /// An action that failed to be removed.
    RicActionFailedToBeRemoved: 74;
    /// An action that failed to be modified.
    RicActionFailedToBeModified: 78;
    /// An action that failed to be added.
    RicActionFailedToBeAdded: 82;
    /// An action whose removal the node requests.
    RicActionRequiredToBeRemoved: 86;
    /// A modification that the RIC refuses.
    RicActionRefusedToBeModified: 90;
    /// A removal that the RIC refuses.
    RicActionRefusedToBeRemoved: 94;
}
