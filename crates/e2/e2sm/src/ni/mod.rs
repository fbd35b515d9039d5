//! E2SM-NI v01.00: reports, inserts and injection of the messages on network interfaces.
//!
//! The messages (X2AP, S1AP, NGAP, XnAP, F1AP, E1AP) are octets here; crate `ap` reads and builds them.
//!
//! ```
//! use e2sm::ni::{
//!     EventTriggerDefinition, EventTriggerDefinitionFormat1, NiDirection, NiMessageType, NiMessageTypeApproach1, NiType,
//!     TypeOfMessage,
//! };
//! # use e2sm::common::{GlobalGnbId, GlobalNgRanNodeId, GnbId, PlmnIdentity};
//! # use e2sm::ni::NiIdentifier;
//! # use per::Bits;
//! # let gnb = GlobalGnbId {
//! #     plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
//! #     gnb_id: GnbId::GnbId(Bits::new(1, 22)),
//! # };
//!
//! // the UE Context Release Commands of an F1 (TS 38.473: procedure 6)
//! let trigger = EventTriggerDefinition::Format1(EventTriggerDefinitionFormat1 {
//!     interface_type: NiType::F1,
//!     interface_id: NiIdentifier::GlobalNgRanId(GlobalNgRanNodeId::Gnb(gnb)),
//!     interface_direction: NiDirection::Outgoing,
//!     interface_message_type: NiMessageType::F1(NiMessageTypeApproach1 {
//!         procedure_code: 6,
//!         type_of_message: TypeOfMessage::InitiatingMessage,
//!     }),
//!     interface_protocol_ie_list: None,
//! });
//! let mut bytes = Vec::new();
//! trigger.encode(&mut bytes)?;
//! assert_eq!(EventTriggerDefinition::decode_owned(&bytes)?, trigger);
//! # Ok::<(), per::Error>(())
//! ```

mod definition;
mod interface;
mod parameter;

use per::{List, Octets, Per, PrintableString};

use crate::common::RicStyleType;
use crate::message::message_of_one_format as message;

pub use definition::{
    RanFunctionDefinition, RanFunctionItem, RicControlStyleList, RicEventTriggerStyleList, RicInsertStyleList,
    RicPolicyStyleList, RicReportStyleList,
};
pub use interface::{
    GlobalGnbCuUpId, GlobalGnbDuId, NiDirection, NiIdentifier, NiMessageType, NiMessageTypeApproach1, NiProtocolIeItem,
    NiProtocolIeTest, NiProtocolIeValue, NiTimeStamp, NiType, TypeOfMessage,
};
pub use parameter::{
    RanImperativePolicy, RanParameterDefItem, RanParameterId, RanParameterItem, RanParameterName,
    RanParameterTestCondition, RanParameterType, RanParameterValue, RanUeGroupDefItem, RanUeGroupDefinition,
    RanUeGroupId, RanUeGroupItem,
};

/// The object identifier.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.1";
/// The short name.
pub const SHORT_NAME: &str = "ORAN-E2SM-NI";

/// E2SM-NI-EventTriggerDefinition.
// a message contains one value, and an arena does not free boxes
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum EventTriggerDefinition<'a> {
    /// Messages of an interface.
    Format1(EventTriggerDefinitionFormat1<'a>),
}

message!(EventTriggerDefinition, lists);

/// E2SM-NI-EventTriggerDefinition-Format1: the selection of messages.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct EventTriggerDefinitionFormat1<'a> {
    /// The kind of interface.
    pub interface_type: NiType,
    /// The identity of the other end.
    pub interface_id: NiIdentifier,
    /// The direction of the messages.
    pub interface_direction: NiDirection,
    /// The kind of message.
    pub interface_message_type: NiMessageType,
    /// Conditions on IEs, all of which must hold.
    #[per(size = 1..=15)]
    pub interface_protocol_ie_list: Option<List<'a, NiProtocolIeItem<'a>>>,
}

/// E2SM-NI-ActionDefinition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinition<'a> {
    /// The style, of report, insert or policy.
    pub ric_style_type: RicStyleType,
    /// The definition in its format.
    pub action_definition_format: ActionDefinitionFormat<'a>,
}

message!(ActionDefinition, lists);

/// The formats of an action definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ActionDefinitionFormat<'a> {
    /// Parameters of the action.
    Format1(ActionDefinitionFormat1<'a>),
    /// Groups of UEs with a policy each.
    Format2(ActionDefinitionFormat2<'a>),
}

/// E2SM-NI-ActionDefinition-Format1.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat1<'a> {
    /// The parameters.
    #[per(size = 1..=255)]
    pub action_parameter_list: Option<List<'a, RanParameterItem<'a>>>,
}

/// E2SM-NI-ActionDefinition-Format2.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct ActionDefinitionFormat2<'a> {
    /// The groups.
    #[per(size = 1..=255)]
    pub ran_ue_group_list: Option<List<'a, RanUeGroupItem<'a>>>,
}

/// E2SM-NI-IndicationHeader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum IndicationHeader {
    /// The only format.
    Format1(IndicationHeaderFormat1),
}

message!(IndicationHeader, no borrow);

/// E2SM-NI-IndicationHeader-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct IndicationHeaderFormat1 {
    /// The kind of interface.
    pub interface_type: NiType,
    /// The identity of the other end.
    pub interface_id: NiIdentifier,
    /// The direction of the message.
    pub interface_direction: NiDirection,
    /// The time of the message.
    pub timestamp: Option<NiTimeStamp>,
}

/// E2SM-NI-IndicationMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum IndicationMessage<'a> {
    /// The only format.
    Format1(InterfaceMessage<'a>),
}

message!(IndicationMessage, no lists);

/// E2SM-NI-IndicationMessage-Format1 and E2SM-NI-ControlMessage-Format1, which have one form: a message of an interface.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct InterfaceMessage<'a> {
    /// The message's octets.
    pub interface_message: Octets<'a>,
}

/// E2SM-NI-CallProcessID.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum CallProcessId<'a> {
    /// A number.
    Format1(CallProcessIdFormat1),
    /// A text.
    Format2(CallProcessIdFormat2<'a>),
}

message!(CallProcessId, no lists);

/// E2SM-NI-CallProcessID-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CallProcessIdFormat1 {
    /// The number.
    pub call_process_id: i64,
}

/// E2SM-NI-CallProcessID-Format2.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct CallProcessIdFormat2<'a> {
    /// The text.
    #[per(size = 1..=150, extensible)]
    pub call_process_id: PrintableString<'a>,
}

/// E2SM-NI-ControlHeader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum ControlHeader {
    /// The only format.
    Format1(ControlHeaderFormat1),
}

message!(ControlHeader, no borrow);

/// E2SM-NI-ControlHeader-Format1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct ControlHeaderFormat1 {
    /// The kind of interface.
    pub interface_type: NiType,
    /// The identity of the other end.
    pub interface_id: NiIdentifier,
    /// The direction of the message.
    pub interface_direction: NiDirection,
    /// The priority.
    pub ric_control_message_priority: Option<i64>,
}

/// E2SM-NI-ControlMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlMessage<'a> {
    /// The only format.
    Format1(InterfaceMessage<'a>),
}

message!(ControlMessage, no lists);

/// E2SM-NI-ControlOutcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlOutcome<'a> {
    /// The only format.
    Format1(ControlOutcomeFormat1<'a>),
}

message!(ControlOutcome, lists);

/// E2SM-NI-ControlOutcome-Format1.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcomeFormat1<'a> {
    /// The elements of the outcome.
    #[per(size = 1..=65535)]
    pub outcome_element_list: Option<List<'a, RanParameterItem<'a>>>,
}
