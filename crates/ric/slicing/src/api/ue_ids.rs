//! `/v1/ues`: UEs with the ids that the parts of their base stations have for them.

use std::collections::BTreeSet;
use std::fmt::Write;

use ferric::e2::topology::{RanDatabase, Ue, UeMergeState, UeName};
use rest::{Method, Response, Route};
use serde::Serialize;

use super::super::SlicingController;
use super::AppQueue;
use iapp_rest::Job;

/// The most UEs of an answer.
const MAX_UES: usize = 10_000;

pub(super) fn routes(queue: &AppQueue) -> Vec<Route> {
    vec![Route::queued(Method::GET, "/v1/ues", queue, |_| {
        let job: Job<SlicingController> = Box::new(|_, ric, reply| {
            let ran = ric.ran();
            let ues: Vec<_> = ran.ues().take(MAX_UES).map(|ue| UeDocument::of(ue, ran)).collect();
            let omitted = ran.ues().len() - ues.len();
            reply.send(Ok(Response::ok(List { ues, omitted })));
        });
        Ok(job)
    })]
}

#[derive(Serialize)]
struct List {
    ues: Vec<UeDocument>,
    omitted: usize,
}

#[derive(Serialize)]
struct UeDocument {
    /// Its number in the database.
    id: u64,
    base_station: Option<String>,
    /// Whether several parts of the base station know it.
    state: &'static str,
    /// All ids.
    ids: Ids,
    /// The ids that each node uses.
    nodes: Vec<NodeDocument>,
}

#[derive(Serialize)]
struct NodeDocument {
    node: Option<String>,
    ids: Ids,
}

impl UeDocument {
    fn of(ue: &Ue, ran: &RanDatabase) -> Self {
        let station = ran.station(ue.station());
        let nodes = ue.views().iter().map(|view| NodeDocument {
            node: station.and_then(|station| station.global_id_of(view.node)).map(|id| id.to_string()),
            ids: Ids::of(&view.names),
        });
        UeDocument {
            id: ue.id().0,
            base_station: station.map(|station| station.key().to_string()),
            state: match ran.merge_state(ue) {
                UeMergeState::SoleNode => "sole_node",
                UeMergeState::Joined => "joined",
                UeMergeState::Alone => "alone",
                UeMergeState::NoSharedName => "no_shared_id",
            },
            ids: Ids::of(&ue.names().copied().collect()),
            nodes: nodes.collect(),
        }
    }
}

/// The ids of a UE, each kind as far as it is known.
#[derive(Default, Serialize)]
struct Ids {
    #[serde(skip_serializing_if = "Option::is_none")]
    amf_ue_ngap_id: Option<u64>,
    /// PLMN, AMF region, set and pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    guami: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gnb_cu_ue_f1ap_ids: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gnb_cu_cp_ue_e1ap_ids: Vec<u32>,
    /// Sixteen hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    ran_ue_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ng_enb_cu_ue_w1ap_ids: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mme_ue_s1ap_id: Option<u32>,
    /// PLMN, MME group and code.
    #[serde(skip_serializing_if = "Option::is_none")]
    gummei: Option<String>,
}

impl Ids {
    fn of(names: &BTreeSet<UeName>) -> Self {
        let mut ids = Ids::default();
        for name in names {
            match *name {
                UeName::Ngap { guami: [a, b, c, region, set, pointer], amf_ue_ngap_id } => {
                    let low = u16::from_be_bytes([set, pointer]);
                    let plmn = e2sm::common::PlmnIdentity([a, b, c]);
                    ids.amf_ue_ngap_id = Some(amf_ue_ngap_id);
                    ids.guami = Some(format!("{plmn}:{region}:{}:{}", low >> 6, low & 0x3f));
                }
                UeName::S1ap { gummei: [a, b, c, group @ .., code], mme_ue_s1ap_id } => {
                    let plmn = e2sm::common::PlmnIdentity([a, b, c]);
                    ids.mme_ue_s1ap_id = Some(mme_ue_s1ap_id);
                    ids.gummei = Some(format!("{plmn}:{}:{code}", u16::from_be_bytes(group)));
                }
                UeName::RanUeId(octets) => {
                    let mut digits = String::new();
                    for octet in octets {
                        let _ = write!(digits, "{octet:02x}"); // a string has room
                    }
                    ids.ran_ue_id = Some(digits);
                }
                UeName::F1ap(id) => ids.gnb_cu_ue_f1ap_ids.push(id),
                UeName::W1ap(id) => ids.ng_enb_cu_ue_w1ap_ids.push(id),
                UeName::E1ap(id) => ids.gnb_cu_cp_ue_e1ap_ids.push(id),
                UeName::Local(_) => {}
            }
        }
        ids
    }
}
