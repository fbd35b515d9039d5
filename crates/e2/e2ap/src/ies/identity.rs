//! The identity of an E2 node (E2AP v03.01 9.2.6). Its parts are identities of 3GPP, which crate `ids` has; the whole
//! depends on the version of E2AP.
//!
//! No type borrows: identities are keys.

use core::fmt;

pub use ids::{
    EnGnbId, EnbId, GlobalEnGnbId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId, GlobalNgRanNodeId, GlobalRicId, GnbCuUpId,
    GnbDuId, GnbId, NgEnbDuId, NgEnbId, PlmnIdentity,
};
use per::Per;

/// A gNB as an E2 node, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalE2NodeGnbId {
    /// The gNB.
    pub global_gnb_id: GlobalGnbId,
    /// The same base station as an en-gNB.
    #[per(since = 2)]
    pub global_en_gnb_id: Option<GlobalEnGnbId>,
    /// Present in a gNB-CU-UP.
    pub gnb_cu_up_id: Option<GnbCuUpId>,
    /// Present in a gNB-DU.
    pub gnb_du_id: Option<GnbDuId>,
}

/// An en-gNB as an E2 node, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalE2NodeEnGnbId {
    /// The en-gNB.
    pub global_en_gnb_id: GlobalEnGnbId,
    /// Present in a CU-UP.
    #[per(since = 2)]
    pub en_gnb_cu_up_id: Option<GnbCuUpId>,
    /// Present in a DU.
    #[per(since = 2)]
    pub en_gnb_du_id: Option<GnbDuId>,
}

/// An ng-eNB as an E2 node, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalE2NodeNgEnbId {
    /// The ng-eNB.
    pub global_ng_enb_id: GlobalNgEnbId,
    /// The same base station as an eNB.
    #[per(since = 2)]
    pub global_enb_id: Option<GlobalEnbId>,
    /// Present in a DU.
    #[per(since = 2)]
    pub ng_enb_du_id: Option<NgEnbDuId>,
}

/// An eNB as an E2 node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalE2NodeEnbId {
    /// The eNB.
    pub global_enb_id: GlobalEnbId,
}

/// Global E2 Node ID, including the CU-UP or DU id: the key of a node (E2AP v03.01 9.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum GlobalE2NodeId {
    /// gNB.
    Gnb(GlobalE2NodeGnbId),
    /// en-gNB.
    EnGnb(GlobalE2NodeEnGnbId),
    /// ng-eNB.
    NgEnb(GlobalE2NodeNgEnbId),
    /// eNB.
    Enb(GlobalE2NodeEnbId),
}

impl GlobalE2NodeId {
    /// The identity of a whole gNB.
    #[must_use]
    pub const fn gnb(plmn_identity: PlmnIdentity, gnb_id: GnbId) -> Self {
        GlobalE2NodeId::Gnb(GlobalE2NodeGnbId {
            global_gnb_id: GlobalGnbId { plmn_identity, gnb_id },
            global_en_gnb_id: None,
            gnb_cu_up_id: None,
            gnb_du_id: None,
        })
    }

    /// The network of the node.
    #[must_use]
    pub const fn plmn_identity(&self) -> PlmnIdentity {
        match self {
            GlobalE2NodeId::Gnb(id) => id.global_gnb_id.plmn_identity,
            GlobalE2NodeId::EnGnb(id) => id.global_en_gnb_id.plmn_identity,
            GlobalE2NodeId::NgEnb(id) => id.global_ng_enb_id.plmn_identity,
            GlobalE2NodeId::Enb(id) => id.global_enb_id.plmn_identity,
        }
    }
}

/// A node in the words of the field: `gNB 00101-e00`, `DU 3 of gNB 00101-e00`.
#[derive(Clone, Copy, Debug)]
pub struct NodeLabel(GlobalE2NodeId);

impl GlobalE2NodeId {
    /// Returns the node as it is displayed to people; its [`Display`](fmt::Display) form is its key.
    #[must_use]
    pub const fn label(&self) -> NodeLabel {
        NodeLabel(*self)
    }
}

impl fmt::Display for NodeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number, cu_up, du) = match &self.0 {
            GlobalE2NodeId::Gnb(id) => {
                ("gNB", id.global_gnb_id.gnb_id.value(), id.gnb_cu_up_id, id.gnb_du_id.map(|du| du.0))
            }
            GlobalE2NodeId::EnGnb(id) => {
                ("en-gNB", id.global_en_gnb_id.en_gnb_id.value(), id.en_gnb_cu_up_id, id.en_gnb_du_id.map(|du| du.0))
            }
            GlobalE2NodeId::NgEnb(id) => {
                ("ng-eNB", id.global_ng_enb_id.ng_enb_id.value(), None, id.ng_enb_du_id.map(|du| du.0))
            }
            GlobalE2NodeId::Enb(id) => ("eNB", id.global_enb_id.enb_id.value(), None, None),
        };
        if let Some(id) = cu_up {
            write!(f, "CU-UP {} of ", id.0)?;
        }
        if let Some(id) = du {
            write!(f, "DU {id} of ")?;
        }
        write!(f, "{kind} {}-{number:x}", self.0.plmn_identity())
    }
}

/// As operators write it: kind, PLMN, number, and the part of the base station: `gnb-00101-e00-du-3`.
impl fmt::Display for GlobalE2NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number, cu_up, du) = match self {
            GlobalE2NodeId::Gnb(id) => {
                ("gnb", id.global_gnb_id.gnb_id.value(), id.gnb_cu_up_id, id.gnb_du_id.map(|d| d.0))
            }
            GlobalE2NodeId::EnGnb(id) => {
                ("en-gnb", id.global_en_gnb_id.en_gnb_id.value(), id.en_gnb_cu_up_id, id.en_gnb_du_id.map(|d| d.0))
            }
            GlobalE2NodeId::NgEnb(id) => {
                ("ng-enb", id.global_ng_enb_id.ng_enb_id.value(), None, id.ng_enb_du_id.map(|d| d.0))
            }
            GlobalE2NodeId::Enb(id) => ("enb", id.global_enb_id.enb_id.value(), None, None),
        };
        write!(f, "{kind}-{}-{number:x}", self.plmn_identity())?;
        if let Some(id) = cu_up {
            write!(f, "-cu-up-{}", id.0)?;
        }
        if let Some(id) = du {
            write!(f, "-du-{id}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ids::GnbDuId;

    use super::*;

    #[test]
    fn label_names_the_part_of_the_base_station() {
        let gnb = GlobalE2NodeId::gnb(PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 32));
        assert_eq!(gnb.label().to_string(), "gNB 00101-e00");
        let GlobalE2NodeId::Gnb(mut du) = gnb else { unreachable!("it is a gNB") };
        du.gnb_du_id = Some(GnbDuId(3));
        assert_eq!(GlobalE2NodeId::Gnb(du).label().to_string(), "DU 3 of gNB 00101-e00");
    }
}
