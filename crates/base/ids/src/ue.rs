//! UEs on the interfaces of the RAN.

use per::Per;

/// AMF UE NGAP ID, 0 to 2^40 - 1 (TS 38.413 9.3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=1_099_511_627_775)]
pub struct AmfUeNgapId(pub i64);

/// gNB-CU UE F1AP ID (TS 38.473 9.3.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct GnbCuUeF1apId(pub u32);

/// gNB-CU-CP UE E1AP ID (TS 37.483 9.3.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct GnbCuCpUeE1apId(pub u32);

/// NG-RAN node UE XnAP ID (TS 38.423 9.2.3.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct NgRanNodeUeXnapId(pub u32);

/// ng-eNB-CU UE W1AP ID (TS 37.473).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct NgEnbCuUeW1apId(pub u32);

/// MME UE S1AP ID (TS 36.413 9.2.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct MmeUeS1apId(pub u32);

/// eNB UE X2AP ID (TS 36.423 9.2.24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=4095)]
pub struct EnbUeX2apId(pub u16);

/// Extension of the eNB UE X2AP ID: its more significant bits (TS 36.423 9.2.86).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=4095, extensible)]
pub struct EnbUeX2apIdExtension(pub u16);

/// RAN UE ID: a UE's identity that all parts of a RAN node share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct RanUeId(pub [u8; 8]);
