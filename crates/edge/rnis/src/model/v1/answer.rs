//! The answers to queries, and lists of links, of MEC 012 v1.1.1. Each is in an object with its name.

use schemars::JsonSchema;
use serde::Serialize;

use super::Link;
use crate::identity::TempUeId;
use crate::model::query::{CellUserInfo, TunnelEnd};
use crate::model::subscription::SubscriptionLink;
use crate::model::{AssociateIdBody, Ecgi, TimeStamp};

/// The answer to `rab_info`, in an object with its name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RabInfoAnswer")]
pub struct RabInfoAnswer {
    /// The answer.
    #[serde(rename = "RabInfo")]
    pub rab_info: RabInfo,
}

/// Bearers of UEs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RabInfo {
    /// When it was read.
    pub time_stamp: TimeStamp,
    /// The application instance.
    pub app_ins_id: String,
    /// The id of the request (`X-Request-Id`).
    pub request_id: String,
    /// Cells with the UEs in them.
    pub cell_user_info: Vec<CellUserInfo>,
}

/// The answer to `plmn_info`, in an object with its name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlmnInfoAnswer {
    /// The answer.
    #[serde(rename = "PlmnInfo")]
    pub plmn_info: PlmnInfo,
}

/// The cells.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlmnInfo {
    /// When it was read.
    pub time_stamp: TimeStamp,
    /// The application instance.
    pub app_ins_id: String,
    /// The cells with their PLMNs.
    pub ecgi: Vec<Ecgi>,
}

/// The answer to `s1_bearer_info`, in an object with its name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct S1BearerInfoAnswer {
    /// The answer.
    #[serde(rename = "S1BearerInfo")]
    pub s1_bearer_info: S1BearerInfo,
}

/// Bearers towards the core.
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
    /// The temporary identities; empty if none is known.
    pub temp_ue_id: Vec<TempUeId>,
    /// The identities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub associate_id: Vec<AssociateIdBody>,
    /// The cell.
    pub ecgi: Vec<Ecgi>,
    /// The bearers.
    pub s1_bearer_info_detailed: Vec<S1BearerInfoDetailed>,
}

/// A bearer towards the core.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct S1BearerInfoDetailed {
    /// The E-RAB id; of NR the identifier of the QoS flow.
    pub erab_id: u8,
    /// The end at the base station.
    pub s1_enb_info: TunnelEnd,
    /// The end at the gateway; of NR at the UPF.
    pub s_gw_info: TunnelEnd,
}

/// The answer with the links of subscriptions, in an object with its name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LinkListAnswer {
    /// The answer.
    #[serde(rename = "SubscriptionLinkList")]
    pub list: LinkList,
}

/// The subscriptions of an application.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SubscriptionLinkList")]
pub struct LinkList {
    /// The link of the list itself.
    #[serde(rename = "_links")]
    pub links: Link,
    /// The subscriptions.
    pub subscription: Vec<SubscriptionLink>,
}
