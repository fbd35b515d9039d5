//! Interfaces, their ends, and the messages on them.

use ap::{MessageKind, PduView, Protocol};
use per::{BitString, Octets, Per, PrintableString};

use crate::common::{GlobalEnbId, GlobalGnbId, GlobalNgRanNodeId};

/// NI-Type: a kind of interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum NiType {
    /// S1, between an eNB and an MME.
    S1,
    /// X2, between eNBs, and to en-gNBs.
    X2,
    /// NG, between a node of NG-RAN and an AMF.
    Ng,
    /// Xn, between nodes of NG-RAN.
    Xn,
    /// F1, between a CU and a DU.
    F1,
    /// E1, between a CU-CP and a CU-UP.
    E1,
}

impl NiType {
    /// The application protocol of the interface.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        match self {
            NiType::S1 => Protocol::S1ap,
            NiType::X2 => Protocol::X2ap,
            NiType::Ng => Protocol::Ngap,
            NiType::Xn => Protocol::Xnap,
            NiType::F1 => Protocol::F1ap,
            NiType::E1 => Protocol::E1ap,
        }
    }
}

/// NI-Identifier: an end of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NiIdentifier {
    /// An eNB.
    GlobalEnbId(GlobalEnbId),
    /// An en-gNB.
    GlobalEnGnbId(GlobalGnbId),
    /// A node of NG-RAN.
    GlobalNgRanId(GlobalNgRanNodeId),
    /// A DU.
    GlobalGnbDuId(GlobalGnbDuId),
    /// A CU-UP.
    GlobalGnbCuUpId(GlobalGnbCuUpId),
}

/// Global-gNB-DU-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub struct GlobalGnbDuId {
    /// The gNB.
    pub global_ng_ran_id: GlobalNgRanNodeId,
    /// Its DU.
    #[per(range = 0..=68_719_476_735)]
    pub gnb_du_id: i64,
}

/// Global-gNB-CU-UP-ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub struct GlobalGnbCuUpId {
    /// The gNB.
    pub global_ng_ran_id: GlobalNgRanNodeId,
    /// Its CU-UP.
    #[per(range = 0..=68_719_476_735)]
    pub gnb_cu_up_id: i64,
}

/// NI-Direction: the direction of a message, seen from the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum NiDirection {
    /// To the node.
    Incoming,
    /// From the node.
    Outgoing,
    /// Both directions.
    Both,
}

/// NI-MessageType: a kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NiMessageType {
    /// Of S1AP (TS 36.413).
    S1(NiMessageTypeApproach1),
    /// Of X2AP (TS 36.423).
    X2(NiMessageTypeApproach1),
    /// Of NGAP (TS 38.413).
    Ng(NiMessageTypeApproach1),
    /// Of XnAP (TS 38.423).
    Xn(NiMessageTypeApproach1),
    /// Of F1AP (TS 38.473).
    F1(NiMessageTypeApproach1),
    /// Of E1AP (TS 37.483).
    E1(NiMessageTypeApproach1),
}

impl NiMessageType {
    /// Returns the interface of the messages.
    #[must_use]
    pub const fn interface(&self) -> NiType {
        match self {
            NiMessageType::S1(_) => NiType::S1,
            NiMessageType::X2(_) => NiType::X2,
            NiMessageType::Ng(_) => NiType::Ng,
            NiMessageType::Xn(_) => NiType::Xn,
            NiMessageType::F1(_) => NiType::F1,
            NiMessageType::E1(_) => NiType::E1,
        }
    }

    /// Returns the kind of message.
    #[must_use]
    pub const fn approach1(&self) -> NiMessageTypeApproach1 {
        match self {
            NiMessageType::S1(kind)
            | NiMessageType::X2(kind)
            | NiMessageType::Ng(kind)
            | NiMessageType::Xn(kind)
            | NiMessageType::F1(kind)
            | NiMessageType::E1(kind) => *kind,
        }
    }
}

/// NI-MessageTypeApproach1: a procedure and which of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NiMessageTypeApproach1 {
    /// The procedure code.
    pub procedure_code: u8,
    /// The message of the procedure.
    pub type_of_message: TypeOfMessage,
}

impl NiMessageTypeApproach1 {
    /// The type of a message.
    #[must_use]
    pub const fn of(pdu: &PduView<'_>) -> Self {
        let type_of_message = match pdu.kind {
            MessageKind::InitiatingMessage => TypeOfMessage::InitiatingMessage,
            MessageKind::SuccessfulOutcome => TypeOfMessage::SuccessfulOutcome,
            MessageKind::UnsuccessfulOutcome => TypeOfMessage::UnsuccessfulOutcome,
        };
        NiMessageTypeApproach1 { procedure_code: pdu.procedure_code, type_of_message }
    }
}

/// TypeOfMessage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub enum TypeOfMessage {
    /// Any message.
    Nothing,
    /// The message that starts the procedure.
    InitiatingMessage,
    /// The response that reports success.
    SuccessfulOutcome,
    /// The response that reports failure.
    UnsuccessfulOutcome,
}

/// NI-ProtocolIE-Item: a condition on an IE of the message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct NiProtocolIeItem<'a> {
    /// The IE's id.
    pub interface_protocol_ie_id: u16,
    /// The comparison.
    pub interface_protocol_ie_test: NiProtocolIeTest,
    /// The value to compare with.
    pub interface_protocol_ie_value: NiProtocolIeValue<'a>,
}

/// NI-ProtocolIE-Test and RANparameter-Test-Condition, which have one form: a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NiProtocolIeTest {
    /// The IE is equal to the value.
    Equal,
    /// The IE is greater than the value.
    GreaterThan,
    /// The IE is less than the value.
    LessThan,
    /// The IE contains the value.
    Contains,
    /// The IE is present.
    Present,
}

/// NI-ProtocolIE-Value and RANparameter-Value, which have one form: a value.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum NiProtocolIeValue<'a> {
    /// An integer.
    ValueInt(i64),
    /// The number of an enumerated value.
    ValueEnum(i64),
    /// A Boolean.
    ValueBool(bool),
    /// Bits.
    ValueBitS(BitString<'a>),
    /// Octets.
    ValueOctS(Octets<'a>),
    /// Text.
    ValuePrtS(PrintableString<'a>),
}

/// NI-TimeStamp: NTP's 64 bits (RFC 5905 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct NiTimeStamp(pub [u8; 8]);
