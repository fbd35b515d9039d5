//! X2AP, between eNBs, and between eNB and en-gNB (TS 36.423).

mod handover;

use ids::EnbUeX2apId;

use crate::numeric_ie::table::{closed, int, list, open};
use crate::{Criticality, MessageKind, NumericIe, Pdu, Protocol, ProtocolIe};

pub use handover::{
    HandoverBearer, HandoverCancel, HandoverCause, HandoverMessage, HandoverPreparationFailure, HandoverRequest,
    HandoverRequestAcknowledge, PROCEDURE_HANDOVER_CANCEL, PROCEDURE_HANDOVER_PREPARATION,
};

// TS 36.423 9.3.7
/// UE Context Release.
pub const PROCEDURE_UE_CONTEXT_RELEASE: u8 = 5;
const IE_NEW_ENB_UE_X2AP_ID: u16 = 9;
const IE_OLD_ENB_UE_X2AP_ID: u16 = 10;

/// UE CONTEXT RELEASE (TS 36.423 9.1.1.5): the target of a handover informs the source that the UE arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeContextRelease {
    /// The UE at the source.
    pub old_enb_ue_x2ap_id: EnbUeX2apId,
    /// The UE at the target.
    pub new_enb_ue_x2ap_id: EnbUeX2apId,
}

impl UeContextRelease {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let ies = vec![
            ProtocolIe::new(IE_OLD_ENB_UE_X2AP_ID, Criticality::Reject, &self.old_enb_ue_x2ap_id)?,
            ProtocolIe::new(IE_NEW_ENB_UE_X2AP_ID, Criticality::Reject, &self.new_enb_ue_x2ap_id)?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_UE_CONTEXT_RELEASE, Criticality::Ignore, ies)?.encode(Protocol::X2ap)
    }
}

/// The IEs whose values are numbers, in Release 17, by id.
#[rustfmt::skip]
pub const NUMERIC_IES: &[NumericIe] = &[
    int(9, 0, 4095), int(10, 0, 4095), list(22, 6), list(36, 1), open(39, 1, 4095), open(40, 1, 4095),
    open(48, 0, 503), list(54, 2), list(64, 1), closed(71, 2), list(74, 1), list(75, 1), list(78, 3), list(109, 4),
    int(111, 0, 4095), int(112, 0, 4095), list(136, 3), list(145, 5), list(154, 1), open(155, 0, 4095),
    open(156, 0, 4095), open(157, 0, 4095), open(158, 0, 4095), list(164, 1), open(169, 1, 8), list(181, 1),
    list(183, 1), int(207, 0, 4_294_967_295), list(208, 3), list(212, 3), list(241, 1), list(249, 2),
    int(256, 0, 255), int(264, 0, 4_294_967_295), list(272, 2), int(275, 1, 256), list(277, 2), list(278, 3),
    list(280, 3), list(281, 3), int(288, 1, 256), list(296, 2), list(310, 2), list(329, 3), list(330, 1),
    open(335, 0, 255), list(343, 1), list(344, 1), list(345, 1), list(346, 1), list(348, 1),
    int(359, 0, 4_294_967_295), list(368, 1), list(376, 2), list(379, 1), open(383, 1, 4095), open(384, 1, 4095),
    list(395, 1), list(407, 1), list(410, 1), list(416, 1), list(419, 1), list(422, 2), list(423, 2), list(438, 1),
    list(449, 2),
];
