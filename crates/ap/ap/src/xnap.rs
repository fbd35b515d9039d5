//! XnAP, between nodes of NG-RAN (TS 38.423).

mod handover;

use ids::NgRanNodeUeXnapId;

use crate::numeric_ie::table::{int, list, open};
use crate::{Criticality, MessageKind, NumericIe, Pdu, Protocol, ProtocolIe};

pub use handover::{
    HandoverCancel, HandoverCause, HandoverMessage, HandoverPreparationFailure, HandoverRequest,
    HandoverRequestAcknowledge, HandoverSession,
};

// TS 38.423 9.3.7
/// Handover Preparation.
pub const PROCEDURE_HANDOVER_PREPARATION: u8 = 0;
/// Handover Cancel.
pub const PROCEDURE_HANDOVER_CANCEL: u8 = 2;
/// UE Context Release.
pub const PROCEDURE_UE_CONTEXT_RELEASE: u8 = 6;
const IE_SOURCE_NG_RAN_NODE_UE_XNAP_ID: u16 = 73;
const IE_TARGET_CELL_GLOBAL_ID: u16 = 78;
const IE_TARGET_NG_RAN_NODE_UE_XNAP_ID: u16 = 79;

/// UE CONTEXT RELEASE (TS 38.423 9.1.1.5): the target of a handover informs the source that the UE arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeContextRelease {
    /// The UE at the source.
    pub source_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
    /// The UE at the target.
    pub target_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId,
}

impl UeContextRelease {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let [source, target] = [self.source_ng_ran_node_ue_xnap_id, self.target_ng_ran_node_ue_xnap_id];
        let ies = vec![
            ProtocolIe::new(IE_SOURCE_NG_RAN_NODE_UE_XNAP_ID, Criticality::Reject, &source)?,
            ProtocolIe::new(IE_TARGET_NG_RAN_NODE_UE_XNAP_ID, Criticality::Reject, &target)?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_UE_CONTEXT_RELEASE, Criticality::Reject, ies)?.encode(Protocol::Xnap)
    }
}

/// The IEs whose values are numbers, in Release 17, by id.
#[rustfmt::skip]
pub const NUMERIC_IES: &[NumericIe] = &[
    int(1, 0, 255), list(2, 3), list(3, 3), int(16, 1, 256), int(23, 0, 4_294_967_295), int(27, 0, 4_294_967_295),
    int(29, 0, 4_294_967_295), list(31, 4), list(53, 8), list(54, 3), list(55, 3), list(61, 2), list(62, 1),
    list(63, 1), int(71, 0, 4_294_967_295), int(73, 0, 4_294_967_295), list(76, 6), int(79, 0, 4_294_967_295),
    list(86, 1), list(92, 2), open(93, 1, 8), list(94, 4), open(98, 1, 32), open(105, 0, 4_000_000_000_000),
    list(110, 1), open(113, 0, 4_000_000_000_000), list(121, 1), open(130, 0, 255), list(131, 3), list(142, 1),
    list(148, 1), list(149, 1), list(150, 1), list(151, 1), list(156, 1), list(165, 1), list(179, 3),
    open(187, 1, 4095), open(188, 1, 4095), list(189, 3), list(192, 5), list(206, 1), list(229, 1), list(246, 1),
    list(247, 1), list(248, 4), list(253, 1), list(262, 2), list(290, 1), list(293, 1), list(298, 1),
    int(313, 0, 4_294_967_295), int(314, 0, 4_294_967_295), list(326, 2), list(327, 2), list(334, 2), list(353, 2),
    list(356, 1), list(363, 1), list(365, 1), list(375, 1), list(376, 2), list(390, 1), list(391, 1),
    open(394, 0, 172_800), list(395, 2), open(403, 1, 60), list(425, 1), list(441, 1), list(442, 1), list(451, 1),
    list(453, 2), list(460, 2), list(462, 5), list(473, 1),
];
