//! QoS classes and flows.

use per::Per;

/// 5QI: a 5G QoS identifier (TS 23.501 5.7.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=255, extensible)]
pub struct FiveQi(pub u8);

/// QFI: a QoS flow within its PDU session (TS 23.501 5.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=63, extensible)]
pub struct QosFlowIdentifier(pub u8);

/// QCI: a QoS class identifier of the EPS (TS 23.203).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct Qci(pub u8);

/// GroupID: the UEs of a QoS class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum GroupId {
    /// By a 5QI.
    FiveGc(FiveQi),
    /// By a QCI.
    Epc(Qci),
}

/// QoSID: a QoS class, on the wire a [`GroupId`].
pub type QosId = GroupId;
