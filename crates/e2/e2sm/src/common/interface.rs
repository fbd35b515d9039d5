//! Interfaces between the parts of a RAN, and the messages on them and to UEs.

use ids::{
    GlobalEnGnbId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId, GlobalNgRanNodeId, GnbCuUpId, GnbDuId, Guami, Gummei,
    NgEnbDuId,
};
use per::Per;

/// InterfaceType: the kind of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum InterfaceType {
    /// To the 5G core.
    Ng,
    /// Between base stations of NG-RAN.
    Xn,
    /// Between CU and DU of a gNB.
    F1,
    /// Between CU-CP and CU-UP of a gNB.
    E1,
    /// To the EPC.
    S1,
    /// Between eNBs and en-gNBs.
    X2,
    /// Between CU and DU of an ng-eNB.
    W1,
}

/// InterfaceIdentifier: an interface, identified by its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum InterfaceIdentifier {
    /// To an AMF.
    Ng(InterfaceIdNg),
    /// To a base station of NG-RAN.
    Xn(InterfaceIdXn),
    /// To a gNB-DU.
    F1(InterfaceIdF1),
    /// To a gNB-CU-UP.
    E1(InterfaceIdE1),
    /// To an MME.
    S1(InterfaceIdS1),
    /// To an eNB or en-gNB.
    X2(InterfaceIdX2),
    /// To an ng-eNB-DU.
    W1(InterfaceIdW1),
}

/// InterfaceID-NG.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceIdNg {
    /// The AMF.
    pub guami: Guami,
}

/// InterfaceID-Xn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceIdXn {
    /// The base station.
    pub global_ng_ran_id: GlobalNgRanNodeId,
}

/// InterfaceID-F1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceIdF1 {
    /// The gNB.
    pub global_gnb_id: GlobalGnbId,
    /// Its DU.
    pub gnb_du_id: GnbDuId,
}

/// InterfaceID-E1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceIdE1 {
    /// The gNB.
    pub global_gnb_id: GlobalGnbId,
    /// Its CU-UP.
    pub gnb_cu_up_id: GnbCuUpId,
}

/// InterfaceID-S1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceIdS1 {
    /// The MME.
    pub gummei: Gummei,
}

/// InterfaceID-X2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceIdX2 {
    /// The base station.
    pub node_type: X2NodeType,
}

/// The base station of an [`InterfaceIdX2`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum X2NodeType {
    /// An eNB.
    GlobalEnbId(GlobalEnbId),
    /// An en-gNB.
    GlobalEnGnbId(GlobalEnGnbId),
}

/// InterfaceID-W1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceIdW1 {
    /// The ng-eNB.
    pub global_ng_enb_id: GlobalNgEnbId,
    /// Its DU.
    pub ng_enb_du_id: NgEnbDuId,
}

/// Interface-MessageID: a message of an interface's application protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct InterfaceMessageId {
    /// The procedure's code.
    pub interface_procedure_id: i64,
    /// The type of the message within the procedure.
    pub message_type: InterfaceMessageType,
}

/// The kind of an [`InterfaceMessageId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum InterfaceMessageType {
    /// The message that starts the procedure.
    InitiatingMessage,
    /// The response of a successful procedure.
    SuccessfulOutcome,
    /// The response of a failed procedure.
    UnsuccessfulOutcome,
}

/// RRC-MessageID: an RRC message, identified by its channel and its number within the channel (TS 36.331 and TS 38.331).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct RrcMessageId {
    /// The channel.
    pub rrc_type: RrcType,
    /// The message's index among those of the channel.
    pub message_id: i64,
}

/// The channel of an [`RrcMessageId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum RrcType {
    /// Of E-UTRA.
    Lte(RrcClassLte),
    /// Of NR.
    Nr(RrcClassNr),
}

/// RRCclass-LTE: the channels of TS 36.331 by the names of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[allow(missing_docs)]
pub enum RrcClassLte {
    BcchBch,
    BcchBchMbms,
    BcchDlSch,
    BcchDlSchBr,
    BcchDlSchMbms,
    Mcch,
    Pcch,
    DlCcch,
    DlDcch,
    UlCcch,
    UlDcch,
    ScMcch,
}

/// RRCclass-NR: the channels of TS 38.331 by the names of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[allow(missing_docs)]
pub enum RrcClassNr {
    BcchBch,
    BcchDlSch,
    DlCcch,
    DlDcch,
    Pcch,
    UlCcch,
    UlCcch1,
    UlDcch,
}
