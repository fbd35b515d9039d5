//! The names that nodes have for UEs, joined, and the key of each UE.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use e2sm::common::UeId;
use e2sm::rrc::Notification;
use ferric::e2::topology::{
    BaseStationId, RanDatabase, RanEvent, RntiScope, UeChange, UeContext, UeIdentity, UeName, UeRef, UeReference,
};
use ferric::e2::{Components, NodeId, Time};
use ferric::e2ap::GlobalE2NodeId;

use crate::collector::ues::Identity;
use crate::identity::TempUeId;

/// The most UEs; beyond them the one that was reported the longest ago is forgotten.
const MAX_UES: usize = 65_536;

/// The names of UEs.
#[derive(Debug)]
pub(super) struct Names {
    ran: RanDatabase,
    start: Instant,
    keys: HashMap<UeRef, String>,
}

/// A UE of a report.
#[derive(Debug)]
pub(super) struct Named {
    /// The most stable name that is known of it.
    pub key: String,
    /// The key that it had before, if it has another one now.
    pub former_key: Option<String>,
    pub identity: Identity,
}

impl Names {
    pub fn new() -> Self {
        Names { ran: RanDatabase::new(MAX_UES), start: Instant::now(), keys: HashMap::new() }
    }

    pub fn add_node(&mut self, node: NodeId, id: GlobalE2NodeId) {
        self.ran.update_node(node, id, &Components::default());
        self.settle();
    }

    /// Removes a node. Returns its base station if this was its last node.
    pub fn remove_node(&mut self, node: NodeId) -> Option<BaseStationId> {
        let station = self.station(node);
        self.ran.node_lost(node);
        self.keys.retain(|ue, _| self.ran.ue(*ue).is_some());
        self.settle();
        station.filter(|station| self.ran.station(*station).is_none())
    }

    /// The base station of a node.
    pub fn station(&self, node: NodeId) -> Option<BaseStationId> {
        self.ran.station_of(node).map(|station| station.id())
    }

    /// The nodes of a base station.
    pub fn nodes_of(&self, station: BaseStationId) -> impl Iterator<Item = NodeId> + '_ {
        self.ran.station(station).into_iter().flat_map(|station| station.nodes().map(|(node, _)| node))
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// What the database reports of joined UEs is read where a UE is named: its key changes then.
    fn settle(&mut self) {
        while let Some(event) = self.ran.poll_event() {
            if let RanEvent::UesJoined { stays, gone } = event
                && let Some(key) = self.keys.remove(&gone)
            {
                self.keys.entry(stays).or_insert(key);
            }
        }
    }

    /// The UE of a UE ID that a node has reported; `None` if it has no name.
    pub fn learn(&mut self, node: NodeId, ue_id: &UeId<'_>) -> Option<Named> {
        let ue = self.ran.learn_ue_id(self.now(), node, ue_id)?;
        self.named(node, ue)
    }

    /// The UE of an RRC notification, which serves it.
    pub fn learn_notified(&mut self, node: NodeId, notification: &Notification<'_>) -> Option<Named> {
        match UeChange::of_notification(notification) {
            UeChange::Present { names, context } => {
                let ue = self.ran.learn_ue(self.now(), node, &names)?;
                self.ran.set_ue_context(ue, &context);
                self.named(node, ue)
            }
            UeChange::Rnti(_) | UeChange::Left(_) => None,
        }
    }

    /// The key of a UE that has left a node, which is forgotten there.
    pub fn forget(&mut self, node: NodeId, notification: &Notification<'_>) -> Option<String> {
        let UeChange::Left(name) = UeChange::of_notification(notification) else { return None };
        let ue = self.ran.find_ue(node, &name)?.id();
        let key = self.keys.get(&ue).cloned();
        self.ran.forget_ue(node, &name);
        if self.ran.ue(ue).is_none() {
            self.keys.remove(&ue);
        }
        self.settle();
        key
    }

    fn named(&mut self, node: NodeId, ue: UeRef) -> Option<Named> {
        self.settle();
        let ue = self.ran.ue(ue)?;
        let identity = self.ran.identity(ue);
        let station = self.ran.station(ue.station())?.global_id_of(node)?.to_string();
        let key = match identity.reference() {
            Some(reference @ (UeReference::Amf(_) | UeReference::Mme(_))) => reference.to_string(),
            Some(reference @ UeReference::Rnti { .. }) => reference.to_string(),
            // valid within the base station only
            Some(reference) => format!("{reference}@{station}"),
            None => {
                let of = RntiScope::Node(station.into());
                UeReference::Rnti { rnti: identity.rnti?, of }.to_string()
            }
        };
        let id = ue.id();
        let former_key = self.keys.insert(id, key.clone()).filter(|former| *former != key);
        Some(Named { key, former_key, identity: described(&identity) })
    }

    /// The UEs of a node's base station by their C-RNTIs, for reports that contain no other name. A C-RNTI that two of its cells
    /// use is left out.
    pub fn by_rnti(&self, node: NodeId) -> HashMap<u16, String> {
        let mut keys: HashMap<u16, Option<&String>> = HashMap::new();
        let Some(station) = self.station(node) else { return HashMap::new() };
        for ue in self.ran.ues_of(station) {
            let key = self.keys.get(&ue.id());
            let rntis =
                ue.names().filter_map(|name| if let UeName::Rnti { rnti, .. } = name { Some(*rnti) } else { None });
            for rnti in rntis {
                keys.entry(rnti).and_modify(|known| *known = known.filter(|known| Some(*known) == key)).or_insert(key);
            }
        }
        keys.into_iter().filter_map(|(rnti, key)| Some((rnti, key?.clone()))).collect()
    }
}

/// The key of a UE whose id at the core network is known: that is unique without the node.
pub(super) fn core_key(ue_id: &UeId<'_>) -> Option<String> {
    let identity = UeIdentity::of(&UeName::all_of(ue_id), UeContext::default());
    match identity.reference()? {
        reference @ (UeReference::Amf(_) | UeReference::Mme(_)) => Some(reference.to_string()),
        _ => None,
    }
}

/// What identifies the UE to applications. E2 has no M-TMSI: where the directory has none either, the temporary identity is the MME
/// code (of an AMF that which TS 23.003 2.10.2.1 maps its set and pointer to) and the id of the UE there, which is as unique.
fn described(identity: &UeIdentity) -> Identity {
    let temporary = match (identity.guami, identity.amf_ue_ngap_id, identity.gummei, identity.mme_ue_s1ap_id) {
        (_, _, Some([.., code]), Some(id)) => Some((code, u64::from(id))),
        // the two least significant bits of the set, and the pointer
        (Some([.., low]), Some(id), _, _) => Some((low, id)),
        _ => None,
    };
    Identity {
        names: identity.references().iter().map(ToString::to_string).collect(),
        addresses: identity.context.addresses.iter().map(|address| IpAddr::V4(*address)).collect(),
        temporary: temporary
            .map(|(mmec, id)| TempUeId { mmec: format!("{mmec:02x}"), mtmsi: format!("{:08x}", id & 0xffff_ffff) }),
    }
}
