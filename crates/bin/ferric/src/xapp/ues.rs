//! The UEs of all nodes, with all names that the nodes report.

#[cfg(feature = "ue-names")]
mod reports;

use std::time::Instant;

use e2sm::common::UeId;
#[cfg(any(feature = "top", feature = "xapp"))]
use ferric::e2::topology::IdentityField;
use ferric::e2::topology::{RanDatabase, Ue, UeIdentity, UeRef, UeReference};
use ferric::e2::xapp::NodeInfo;
use ferric::e2::{Components, NodeId, Time};

#[cfg(feature = "ue-names")]
use reports::Reports;

/// The most UEs whose names are kept.
const MAX_UES: usize = 65_536;

/// A UE of a report.
pub struct KnownUe {
    pub id: Option<UeRef>,
    pub reference: UeReference,
    pub identity: UeIdentity,
}

impl KnownUe {
    /// What a table shows beside the reference: `0x4601 10.45.0.2`.
    pub fn others(&self) -> String {
        let rnti = self.identity.rnti.map(|rnti| format!("{rnti:#06x}"));
        let addresses = self.identity.context.addresses.iter().map(ToString::to_string);
        rnti.into_iter().chain(addresses).collect::<Vec<_>>().join(" ")
    }

    /// All that is known, as a JSON object.
    #[cfg(any(feature = "top", feature = "xapp"))]
    pub fn json(&self) -> serde_json::Map<String, serde_json::Value> {
        let value = |field| match field {
            IdentityField::Number(number) => number.into(),
            IdentityField::Numbers(numbers) => numbers.into(),
            IdentityField::Text(text) => text.into(),
            IdentityField::Texts(texts) => texts.into(),
        };
        self.identity.fields().into_iter().map(|(name, field)| (name.to_owned(), value(field))).collect()
    }
}

/// A directory of UEs, and the subscriptions that fill it.
pub struct Ues {
    ran: RanDatabase,
    began: Instant,
    #[cfg(feature = "ue-names")]
    reports: Reports,
}

impl Ues {
    pub fn new() -> Self {
        Ues {
            ran: RanDatabase::new(MAX_UES),
            began: Instant::now(),
            #[cfg(feature = "ue-names")]
            reports: Reports::default(),
        }
    }

    pub fn ran(&self) -> &RanDatabase {
        &self.ran
    }

    /// The time by which the directory counts.
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Adds a node.
    pub fn node_up(&mut self, node: &NodeInfo) {
        self.ran.update_node(node.id, node.global_id, &Components::default());
    }

    pub fn node_lost(&mut self, node: NodeId) {
        self.ran.node_lost(node);
        #[cfg(feature = "ue-names")]
        self.reports.node_lost(node);
    }

    /// Records a UE ID of a report that does not belong to the directory. Returns the UE, by the name that it keeps for the longest
    /// time, and all its names.
    pub fn learn(&mut self, node: NodeId, ue_id: &UeId<'_>) -> KnownUe {
        let known = self.ran.learn_ue_id(self.now(), node, ue_id).and_then(|ue| self.ran.ue(ue));
        let identity = known.map(|ue| self.ran.identity(ue)).unwrap_or_default();
        let reference = identity.reference().unwrap_or_else(|| UeReference::of(ue_id));
        KnownUe { id: known.map(Ue::id), reference, identity }
    }

    /// Whether a reference names a UE.
    pub fn is(&self, ue: &KnownUe, reference: &UeReference) -> bool {
        ue.id.and_then(|id| self.ran.ue(id)).is_some_and(|ue| self.ran.is(ue, reference))
    }
}
