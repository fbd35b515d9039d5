//! Control-plane nodes of core networks.

use per::{Bits, Per};

use crate::PlmnIdentity;

/// GUAMI: an AMF (TS 38.413 9.3.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible, fast)]
pub struct Guami {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The region in it.
    #[per(size = 8..=8)]
    pub amf_region_id: Bits,
    /// The set in the region.
    #[per(size = 10..=10)]
    pub amf_set_id: Bits,
    /// The AMF in the set.
    #[per(size = 6..=6)]
    pub amf_pointer: Bits,
}

/// GUMMEI: an MME (TS 36.413 9.2.3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct Gummei {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The group in it.
    pub mme_group_id: [u8; 2],
    /// The MME in the group.
    pub mme_code: [u8; 1],
}

/// CoreCPID: a control-plane node of a core network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum CoreCpId {
    /// A node of the 5G core.
    FiveGc(Guami),
    /// A node of the EPC.
    Epc(Gummei),
}
