//! Numeric identifiers.

use core::fmt;

use per::Per;

/// RAN Function ID: identifies a RAN function within one E2 node (E2AP v03.01 9.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=4095)]
pub struct RanFunctionId(pub u16);

/// RAN Function Revision: counts the changes of a function's definition (E2AP v03.01 9.2.24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=4095)]
pub struct RanFunctionRevision(pub u16);

/// RIC Action ID: identifies an action within one subscription (E2AP v03.01 9.2.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct RicActionId(pub u8);

/// RIC Indication SN: counts the indications of an action and wraps at 65535 (E2AP v03.01 9.2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct RicIndicationSn(pub u16);

/// Transaction ID: assigns a response of a global procedure to its request (E2AP v03.01 9.2.33), from v2 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=255, extensible)]
pub struct TransactionId(pub u32);

/// RIC Request ID: identifies a subscription, control or query of a near-RT RIC (E2AP v03.01 9.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible, fast)]
pub struct RicRequestId {
    /// The requestor within the RIC.
    pub requestor: u16,
    /// The request of that requestor.
    pub instance: u16,
}

/// Procedure Code: identifies an elementary procedure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct ProcedureCode(pub u8);

impl ProcedureCode {
    /// E2 Setup.
    pub const E2_SETUP: Self = Self(1);
    /// Error Indication.
    pub const ERROR_INDICATION: Self = Self(2);
    /// Reset.
    pub const RESET: Self = Self(3);
    /// RIC Control.
    pub const RIC_CONTROL: Self = Self(4);
    /// RIC Indication.
    pub const RIC_INDICATION: Self = Self(5);
    /// RIC Service Query.
    pub const RIC_SERVICE_QUERY: Self = Self(6);
    /// RIC Service Update.
    pub const RIC_SERVICE_UPDATE: Self = Self(7);
    /// RIC Subscription.
    pub const RIC_SUBSCRIPTION: Self = Self(8);
    /// RIC Subscription Delete.
    pub const RIC_SUBSCRIPTION_DELETE: Self = Self(9);
    /// E2 Node Configuration Update, from v01.01 on.
    pub const E2_NODE_CONFIGURATION_UPDATE: Self = Self(10);
    /// E2 Connection Update, from v01.01 on.
    pub const E2_CONNECTION_UPDATE: Self = Self(11);
    /// RIC Subscription Delete Required, from v2 on.
    pub const RIC_SUBSCRIPTION_DELETE_REQUIRED: Self = Self(12);
    /// E2 Removal, from v2 on.
    pub const E2_REMOVAL: Self = Self(13);
    /// RIC Subscription Modification, from v3 on.
    pub const RIC_SUBSCRIPTION_MODIFICATION: Self = Self(14);
    /// RIC Subscription Modification Required, from v3 on.
    pub const RIC_SUBSCRIPTION_MODIFICATION_REQUIRED: Self = Self(15);
    /// RIC Query, from v3 on.
    pub const RIC_QUERY: Self = Self(16);

    /// Returns the procedure's name; `None` for a code that E2AP does not define.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "E2 Setup",
            2 => "Error Indication",
            3 => "Reset",
            4 => "RIC Control",
            5 => "RIC Indication",
            6 => "RIC Service Query",
            7 => "RIC Service Update",
            8 => "RIC Subscription",
            9 => "RIC Subscription Delete",
            10 => "E2 Node Configuration Update",
            11 => "E2 Connection Update",
            12 => "RIC Subscription Delete Required",
            13 => "E2 Removal",
            14 => "RIC Subscription Modification",
            15 => "RIC Subscription Modification Required",
            16 => "RIC Query",
            _ => return None,
        })
    }
}

impl fmt::Debug for ProcedureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "procedure {}", self.0),
        }
    }
}

/// ProtocolIE-ID: identifies a protocol IE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct ProtocolIeId(pub u16);
