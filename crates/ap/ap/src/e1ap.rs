//! E1AP, between a gNB-CU-CP and a gNB-CU-UP (TS 37.483).

use ids::{GnbCuUpId, PlmnIdentity};
use per::{List, Per};

use crate::common::{NodeName, SNssaiIe, TransactionId, Unused};
use crate::numeric_ie::table::{closed, int, list, open};
use crate::{Criticality, MessageKind, NumericIe, Pdu, Protocol, ProtocolIe, ServedPlmn};

// TS 37.483 9.4.7
/// gNB-CU-UP E1 Setup.
pub const PROCEDURE_GNB_CU_UP_E1_SETUP: u8 = 3;
const IE_GNB_CU_UP_ID: u16 = 7;
const IE_GNB_CU_UP_NAME: u16 = 8;
const IE_GNB_CU_CP_NAME: u16 = 9;
const IE_CN_SUPPORT: u16 = 10;
const IE_SUPPORTED_PLMNS: u16 = 11;
const IE_TRANSACTION_ID: u16 = 57;

/// GNB-CU-UP E1 SETUP REQUEST (TS 37.483 9.2.1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GnbCuUpE1SetupRequest<'a> {
    /// The transaction.
    pub transaction_id: u8,
    /// The gNB-CU-UP.
    pub gnb_cu_up_id: GnbCuUpId,
    /// Its name: 1 to 150 ASCII characters.
    pub gnb_cu_up_name: &'a str,
    /// The core networks that it connects to.
    pub cn_support: CnSupport,
    /// The networks that it serves, 1 to 12.
    pub supported_plmns: &'a [ServedPlmn],
}

impl GnbCuUpE1SetupRequest<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let item = |plmn: &ServedPlmn| {
            let slice = |s_nssai| SliceSupportItem { s_nssai: SNssaiIe::from(s_nssai), ie_extensions: None };
            SupportedPlmnItem {
                plmn_identity: plmn.plmn_identity,
                slice_support_list: Some(SliceSupportList(plmn.s_nssais.iter().map(slice).collect::<Vec<_>>().into())),
                nr_cgi_support_list: None,
                qos_parameters_support_list: None,
                ie_extensions: None,
            }
        };
        let plmns = SupportedPlmns(self.supported_plmns.iter().map(item).collect::<Vec<_>>().into());
        let ies = vec![
            ProtocolIe::new(IE_TRANSACTION_ID, Criticality::Reject, &TransactionId(self.transaction_id))?,
            ProtocolIe::new(IE_GNB_CU_UP_ID, Criticality::Reject, &self.gnb_cu_up_id)?,
            ProtocolIe::new(IE_GNB_CU_UP_NAME, Criticality::Ignore, &NodeName::new(self.gnb_cu_up_name)?)?,
            ProtocolIe::new(IE_CN_SUPPORT, Criticality::Reject, &self.cn_support)?,
            ProtocolIe::new(IE_SUPPORTED_PLMNS, Criticality::Reject, &plmns)?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_GNB_CU_UP_E1_SETUP, Criticality::Reject, ies)?.encode(Protocol::E1ap)
    }
}

/// GNB-CU-UP E1 SETUP RESPONSE (TS 37.483 9.2.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GnbCuUpE1SetupResponse<'a> {
    /// The transaction.
    pub transaction_id: u8,
    /// The gNB-CU-CP's name: 1 to 150 ASCII characters.
    pub gnb_cu_cp_name: &'a str,
}

impl GnbCuUpE1SetupResponse<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let ies = vec![
            ProtocolIe::new(IE_TRANSACTION_ID, Criticality::Reject, &TransactionId(self.transaction_id))?,
            ProtocolIe::new(IE_GNB_CU_CP_NAME, Criticality::Ignore, &NodeName::new(self.gnb_cu_cp_name)?)?,
        ];
        let kind = MessageKind::SuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_GNB_CU_UP_E1_SETUP, Criticality::Reject, ies)?.encode(Protocol::E1ap)
    }
}

/// CNSupport: the core networks that a gNB-CU-UP connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum CnSupport {
    /// The EPC.
    Epc,
    /// The 5G core.
    FiveGc,
    /// Both.
    Both,
}

/// SupportedPLMNs-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=12)]
struct SupportedPlmns<'a>(List<'a, SupportedPlmnItem<'a>>);

/// SupportedPLMNs-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct SupportedPlmnItem<'a> {
    plmn_identity: PlmnIdentity,
    slice_support_list: Option<SliceSupportList<'a>>,
    nr_cgi_support_list: Option<Unused>,
    qos_parameters_support_list: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// Slice-Support-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=1024)]
struct SliceSupportList<'a>(List<'a, SliceSupportItem>);

/// Slice-Support-Item: unlike NGAP's, it has no extension marker.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
struct SliceSupportItem {
    s_nssai: SNssaiIe,
    ie_extensions: Option<Unused>,
}

/// The IEs whose values are numbers, in Release 17, by id.
#[rustfmt::skip]
pub const NUMERIC_IES: &[NumericIe] = &[
    int(2, 0, 4_294_967_295), int(3, 0, 4_294_967_295), int(7, 0, 68_719_476_735), list(10, 3), list(12, 6),
    open(14, 0, 4_000_000_000_000), list(17, 2), list(23, 3), list(26, 1), open(57, 0, 255), open(59, 1, 7200),
    open(63, 0, 7), int(64, 0, 255), closed(65, 2), open(66, 0, 4_000_000_000_000), list(70, 1),
    int(77, 0, 68_719_476_735), open(83, 1, 256), open(89, 1, 4095), open(90, 1, 4095), list(91, 2), list(93, 16),
    list(115, 2), list(121, 1), list(134, 1), list(139, 1), list(146, 2), list(154, 2), int(155, 0, 16_777_215),
    int(156, 0, 65_535), list(174, 1), list(187, 1), open(188, 1, 7200), list(195, 1), open(196, 1, 192_000),
    list(197, 1),
];
