//! Message types.

use core::fmt;

/// What a message is, and with the subscription id the key of its route. Types below 100 are those of RMR itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageType(pub i32);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        impl MessageType {
            $($(#[$doc])* pub const $name: MessageType = MessageType($number);)*

            /// The name in the reference platform; `None` for types that this crate does not name.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($text),)*
                    _ => None,
                }
            }

            /// The type of a name in the reference platform; `None` for names that this crate does not know.
            #[must_use]
            pub fn named(name: &str) -> Option<MessageType> {
                match name {
                    $($text => Some(MessageType($number)),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// No type: such a message is not routed.
    UNSET = -1, "RIC_UNDEFINED";
    /// Records of a route table, from the route manager.
    TABLE_DATA = 20, "RMRRM_TABLE_DATA";
    /// The request for a route table.
    TABLE_REQUEST = 21, "RMRRM_REQ_TABLE";
    /// Whether a route table is in use.
    TABLE_STATE = 22, "RMRRM_TABLE_STATE";
    /// The request to report one's health.
    HEALTH_CHECK_REQUEST = 100, "RIC_HEALTH_CHECK_REQ";
    /// A health.
    HEALTH_CHECK_RESPONSE = 101, "RIC_HEALTH_CHECK_RESP";
    /// An alarm, for the alarm manager.
    ALARM = 110, "RIC_ALARM";
    /// The same, from the platform's library for Go; its alarm manager takes this type only.
    ALARM_UPDATE = 13111, "RIC_ALARM_UPDATE";
    /// The payload is a RIC Subscription Request.
    SUBSCRIPTION_REQUEST = 12010, "RIC_SUB_REQ";
    /// The payload is a RIC Subscription Response.
    SUBSCRIPTION_RESPONSE = 12011, "RIC_SUB_RESP";
    /// The payload is a RIC Subscription Failure.
    SUBSCRIPTION_FAILURE = 12012, "RIC_SUB_FAILURE";
    /// The payload is a RIC Subscription Delete Request.
    SUBSCRIPTION_DELETE_REQUEST = 12020, "RIC_SUB_DEL_REQ";
    /// The payload is a RIC Subscription Delete Response.
    SUBSCRIPTION_DELETE_RESPONSE = 12021, "RIC_SUB_DEL_RESP";
    /// The payload is a RIC Subscription Delete Failure.
    SUBSCRIPTION_DELETE_FAILURE = 12022, "RIC_SUB_DEL_FAILURE";
    /// The payload is a RIC Control Request.
    CONTROL_REQUEST = 12040, "RIC_CONTROL_REQ";
    /// The payload is a RIC Control Acknowledge.
    CONTROL_ACKNOWLEDGE = 12041, "RIC_CONTROL_ACK";
    /// The payload is a RIC Control Failure.
    CONTROL_FAILURE = 12042, "RIC_CONTROL_FAILURE";
    /// The payload is a RIC Indication.
    INDICATION = 12050, "RIC_INDICATION";
    /// An A1 policy, for an xApp.
    A1_POLICY_REQUEST = 20010, "A1_POLICY_REQ";
    /// What an xApp says of an A1 policy.
    A1_POLICY_RESPONSE = 20011, "A1_POLICY_RESP";
    /// An xApp asks for the policies of a type.
    A1_POLICY_QUERY = 20012, "A1_POLICY_QUERY";
    /// An xApp asks for the types of enrichment information.
    A1_EI_QUERY_ALL = 20013, "A1_EI_QUERY_ALL";
    /// The types of enrichment information.
    A1_EI_QUERY_ALL_RESPONSE = 20014, "A1_EI_QUERY_ALL_RESP";
    /// An xApp wants enrichment information.
    A1_EI_CREATE_JOB = 20015, "A1_EI_CREATE_JOB";
    /// Whether the xApp will get it.
    A1_EI_CREATE_JOB_RESPONSE = 20016, "A1_EI_CREATE_JOB_RESP";
    /// Enrichment information.
    A1_EI_DATA_DELIVERY = 20017, "A1_EI_DATA_DELIVERY";
}

/// The number, with the name if it has one: `12050 (RIC_INDICATION)`.
impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} ({name})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_is_found_by_its_name() {
        assert_eq!(MessageType::named("RIC_INDICATION"), Some(MessageType::INDICATION));
        assert_eq!(MessageType::named("RIC_INDICATIONS"), None);
        assert_eq!(MessageType::INDICATION.name().and_then(MessageType::named), Some(MessageType::INDICATION));
    }
}
