//! The answers to queries (MEC 012 6.2).

use schemars::JsonSchema;
use serde::Serialize;

use super::shared::{AssociateIdBody, Ecgi, TimeStamp};
use crate::event::{BearerQos, Tunnel};
use crate::identity::{Plmn, TempUeId};

/// Bearers of UEs (6.2.3).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RabInfo {
    /// When it was read.
    pub time_stamp: TimeStamp,
    /// The application instance: `app_ins_id` of the request, else the owner of its token.
    pub app_instance_id: String,
    /// The id of the request (`X-Request-Id`).
    pub request_id: String,
    /// Cells with the UEs in them.
    pub cell_user_info: Vec<CellUserInfo>,
}

/// A cell with its UEs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CellUserInfo {
    /// The cell.
    pub ecgi: Ecgi,
    /// Its UEs.
    pub ue_info: Vec<UeInfo>,
}

/// A UE with its bearers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UeInfo {
    /// Its identities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub associate_id: Vec<AssociateIdBody>,
    /// Its bearers.
    pub erab_info: Vec<ErabInfo>,
}

/// A bearer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErabInfo {
    /// The E-RAB id; of NR the identifier of the QoS flow.
    pub erab_id: u8,
    /// Its QoS, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ErabQosParameters")]
    pub erab_qos_parameters: Option<ErabQosParameters>,
}

/// The QoS of a bearer.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErabQosParameters {
    /// The QCI; of NR the 5QI.
    pub qci: u8,
    /// Bit rates, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QosInformation")]
    pub qos_information: Option<QosInformation>,
}

/// Bit rates, in bit/s.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QosInformation {
    /// Maximum downlink.
    pub erab_mbr_dl: u64,
    /// Maximum uplink.
    pub erab_mbr_ul: u64,
    /// Guaranteed downlink.
    pub erab_gbr_dl: u64,
    /// Guaranteed uplink.
    pub erab_gbr_ul: u64,
}

impl From<BearerQos> for ErabQosParameters {
    fn from(qos: BearerQos) -> Self {
        let rates = |[erab_mbr_dl, erab_mbr_ul, erab_gbr_dl, erab_gbr_ul]: [u64; 4]| QosInformation {
            erab_mbr_dl,
            erab_mbr_ul,
            erab_gbr_dl,
            erab_gbr_ul,
        };
        ErabQosParameters { qci: qos.qci, qos_information: qos.rates_bps.map(rates) }
    }
}

/// The PLMNs that the cells belong to (6.2.2).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlmnInfo {
    /// When it was read.
    pub time_stamp: TimeStamp,
    /// The application instance.
    pub app_instance_id: String,
    /// The PLMNs.
    pub plmn: Vec<Plmn>,
}

/// Bearers towards the core (6.2.4).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct S1BearerInfo {
    /// When it was read.
    pub time_stamp: TimeStamp,
    /// The UEs.
    pub s1_ue_info: Vec<S1UeInfo>,
}

/// A UE with its bearers towards the core.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct S1UeInfo {
    /// The temporary identity, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TempUeId")]
    pub temp_ue_id: Option<TempUeId>,
    /// The identities; empty if none is known.
    pub associate_id: Vec<AssociateIdBody>,
    /// The cell.
    pub ecgi: Vec<Ecgi>,
    /// The bearers.
    pub s1_bearer_info_detailed: Vec<BearerTunnel>,
}

/// A bearer towards the core.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "S1BearerInfoDetailed")]
pub struct BearerTunnel {
    /// The E-RAB id; of NR the identifier of the QoS flow.
    pub erab_id: u8,
    /// The end at the base station.
    pub enb_info: TunnelEnd,
    /// The end at the gateway; of NR at the UPF.
    pub s_gw_info: TunnelEnd,
}

/// An end of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TunnelEnd {
    /// The IP address.
    pub ip_address: String,
    /// The TEID.
    pub tunnel_id: String,
}

impl From<&Tunnel> for TunnelEnd {
    fn from(tunnel: &Tunnel) -> Self {
        TunnelEnd { ip_address: tunnel.address.clone(), tunnel_id: tunnel.teid.clone() }
    }
}

/// Layer 2 measurements (6.2.6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct L2Meas {
    /// When it was read.
    pub time_stamp: TimeStamp,
    /// Of cells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cell_info: Vec<CellInfo>,
    /// Of UEs.
    #[serde(rename = "cellUEInfo", skip_serializing_if = "Vec::is_empty")]
    pub cell_ue_info: Vec<CellUeInfo>,
}

/// Declares measurements: members by the names of the standard, and the value of each.
macro_rules! measurements {
    ($(#[$about:meta])* $name:ident($source:ty, $names:ident) {
        $($(#[$about_head:meta])* $head:ident: $type:ty,)+
    } { $($member:ident($about_member:literal): $value:expr,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, JsonSchema)]
        pub struct $name {
            $($(#[$about_head])* pub $head: $type,)+
            $(
                #[doc = $about_member]
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schemars(with = "u32")]
                pub $member: Option<u32>,
            )+
        }

        impl $name {
            /// Creates it from what is known.
            #[must_use]
            pub fn new($($head: $type,)+ known: &$source) -> Self {
                $name {
                    $($head,)+
                    $($member: {
                        let value: fn(&$source) -> Option<u32> = $value;
                        value(known)
                    },)+
                }
            }

            /// The value of a measurement by its name.
            #[must_use]
            pub fn value(&self, name: &str) -> Option<u32> {
                match name {
                    $(stringify!($member) => self.$member,)+
                    _ => None,
                }
            }
        }

        /// The measurements as parameters of queries.
        pub const $names: &[rest::Parameter] = &[$(rest::Parameter::of::<u32>(stringify!($member), $about_member)),+];
    };
}

measurements! {
    /// The measurements of a cell.
    CellInfo(crate::state::CellMeasurements, CELL_MEASUREMENTS) {
        /// The cell.
        ecgi: Ecgi,
    } {
        dl_gbr_prb_usage_cell("PRBs of GBR traffic, downlink, in percent."): |cell| cell.gbr_prb_percent.dl,
        ul_gbr_prb_usage_cell("PRBs of GBR traffic, uplink, in percent."): |cell| cell.gbr_prb_percent.ul,
        dl_nongbr_prb_usage_cell("PRBs of other traffic, downlink, in percent."): |cell| cell.non_gbr_prb_percent.dl,
        ul_nongbr_prb_usage_cell("PRBs of other traffic, uplink, in percent."): |cell| cell.non_gbr_prb_percent.ul,
        dl_total_prb_usage_cell("Used PRBs, downlink, in percent."): |cell| cell.total_prb_percent.dl,
        ul_total_prb_usage_cell("Used PRBs, uplink, in percent."): |cell| cell.total_prb_percent.ul,
        received_dedicated_preambles_cell("Dedicated preambles."): |cell| cell.preambles[0],
        received_randomly_selected_preambles_low_range_cell("Randomly selected preambles, low range."):
            |cell| cell.preambles[1],
        received_randomly_selected_preambles_high_range_cell("Randomly selected preambles, high range."):
            |cell| cell.preambles[2],
        number_of_active_ue_dl_gbr_cell("UEs with GBR data, downlink."): |cell| cell.active_gbr_ues.dl,
        number_of_active_ue_ul_gbr_cell("UEs with GBR data, uplink."): |cell| cell.active_gbr_ues.ul,
        number_of_active_ue_dl_nongbr_cell("UEs with other data, downlink."): |cell| cell.active_non_gbr_ues.dl,
        number_of_active_ue_ul_nongbr_cell("UEs with other data, uplink."): |cell| cell.active_non_gbr_ues.ul,
        dl_gbr_pdr_cell("Discarded packets of GBR traffic, downlink, in percent."): |cell| cell.gbr_discard_percent.dl,
        ul_gbr_pdr_cell("Discarded packets of GBR traffic, uplink, in percent."): |cell| cell.gbr_discard_percent.ul,
        dl_nongbr_pdr_cell("Discarded packets of other traffic, downlink, in percent."):
            |cell| cell.non_gbr_discard_percent.dl,
        ul_nongbr_pdr_cell("Discarded packets of other traffic, uplink, in percent."):
            |cell| cell.non_gbr_discard_percent.ul,
    }
}

measurements! {
    /// The measurements of a UE.
    CellUeInfo(crate::state::UeMeasurements, UE_MEASUREMENTS) {
        /// The cell.
        ecgi: Ecgi,
        /// The UE.
        #[serde(rename = "associateId")]
        associate_id: AssociateIdBody,
    } {
        dl_gbr_delay_ue("Delay of GBR packets, downlink, in milliseconds."): |ue| ue.gbr_delay_ms.dl,
        ul_gbr_delay_ue("Delay of GBR packets, uplink, in milliseconds."): |ue| ue.gbr_delay_ms.ul,
        dl_nongbr_delay_ue("Delay of other packets, downlink, in milliseconds."): |ue| ue.non_gbr_delay_ms.dl,
        ul_nongbr_delay_ue("Delay of other packets, uplink, in milliseconds."): |ue| ue.non_gbr_delay_ms.ul,
        dl_gbr_pdr_ue("Discarded packets of the UE's GBR traffic, downlink, in percent."): |ue| ue.gbr_discard_percent.dl,
        ul_gbr_pdr_ue("Discarded packets of the UE's GBR traffic, uplink, in percent."): |ue| ue.gbr_discard_percent.ul,
        dl_nongbr_pdr_ue("Discarded packets of the UE's other traffic, downlink, in percent."):
            |ue| ue.non_gbr_discard_percent.dl,
        ul_nongbr_pdr_ue("Discarded packets of the UE's other traffic, uplink, in percent."):
            |ue| ue.non_gbr_discard_percent.ul,
        dl_gbr_throughput_ue("Throughput of GBR traffic, downlink, in kbit/s."): |ue| ue.gbr_throughput_kbps.dl,
        ul_gbr_throughput_ue("Throughput of GBR traffic, uplink, in kbit/s."): |ue| ue.gbr_throughput_kbps.ul,
        dl_nongbr_throughput_ue("Throughput of other traffic, downlink, in kbit/s."):
            |ue| ue.non_gbr_throughput_kbps.dl,
        ul_nongbr_throughput_ue("Throughput of other traffic, uplink, in kbit/s."):
            |ue| ue.non_gbr_throughput_kbps.ul,
        dl_gbr_data_volume_ue("Volume of GBR traffic, downlink, in kbit."): |ue| ue.gbr_volume_kbit.dl,
        ul_gbr_data_volume_ue("Volume of GBR traffic, uplink, in kbit."): |ue| ue.gbr_volume_kbit.ul,
        dl_nongbr_data_volume_ue("Volume of other traffic, downlink, in kbit."): |ue| ue.non_gbr_volume_kbit.dl,
        ul_nongbr_data_volume_ue("Volume of other traffic, uplink, in kbit."): |ue| ue.non_gbr_volume_kbit.ul,
    }
}
