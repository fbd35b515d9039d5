//! Base stations, their parts, and near-RT RICs.

use core::fmt;

use per::{Bits, Per};

use crate::PlmnIdentity;

/// gNB ID: a gNB within its network (TS 38.413 9.3.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum GnbId {
    /// The only form: 22 to 32 bits.
    #[per(size = 22..=32)]
    GnbId(Bits),
}

impl GnbId {
    /// The gNB ID with the `count` (22 to 32) least significant bits of `value`.
    #[must_use]
    pub const fn new(value: u32, count: u8) -> Self {
        GnbId::GnbId(Bits::new(value as u64, count))
    }

    /// The ID as a number.
    #[must_use]
    pub const fn value(self) -> u64 {
        let GnbId::GnbId(bits) = self;
        bits.value
    }
}

/// en-gNB ID: an en-gNB within its network (TS 36.423).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum EnGnbId {
    /// The only form: 22 to 32 bits.
    #[per(size = 22..=32)]
    EnGnbId(Bits),
}

impl EnGnbId {
    /// The en-gNB ID with the `count` (22 to 32) least significant bits of `value`.
    #[must_use]
    pub const fn new(value: u32, count: u8) -> Self {
        EnGnbId::EnGnbId(Bits::new(value as u64, count))
    }

    /// The ID as a number.
    #[must_use]
    pub const fn value(self) -> u64 {
        let EnGnbId::EnGnbId(bits) = self;
        bits.value
    }
}

/// ng-eNB ID: an ng-eNB within its network (TS 38.413 9.3.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum NgEnbId {
    /// A macro ng-eNB: 20 bits.
    #[per(size = 20..=20)]
    MacroNgEnbId(Bits),
    /// A macro ng-eNB with a short identity: 18 bits.
    #[per(size = 18..=18)]
    ShortMacroNgEnbId(Bits),
    /// A macro ng-eNB with a long identity: 21 bits.
    #[per(size = 21..=21)]
    LongMacroNgEnbId(Bits),
}

impl NgEnbId {
    /// The ID as a number.
    #[must_use]
    pub const fn value(self) -> u64 {
        let (NgEnbId::MacroNgEnbId(bits) | NgEnbId::ShortMacroNgEnbId(bits) | NgEnbId::LongMacroNgEnbId(bits)) = self;
        bits.value
    }
}

/// eNB ID: an eNB within its network (TS 36.413 9.2.1.37).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum EnbId {
    /// A macro eNB: 20 bits.
    #[per(size = 20..=20)]
    MacroEnbId(Bits),
    /// A home eNB: 28 bits.
    #[per(size = 28..=28)]
    HomeEnbId(Bits),
    /// A macro eNB with a short identity: 18 bits.
    #[per(addition, size = 18..=18)]
    ShortMacroEnbId(Bits),
    /// A macro eNB with a long identity: 21 bits.
    #[per(addition, size = 21..=21)]
    LongMacroEnbId(Bits),
}

impl EnbId {
    /// The ID as a number.
    #[must_use]
    pub const fn value(self) -> u64 {
        let (EnbId::MacroEnbId(bits)
        | EnbId::HomeEnbId(bits)
        | EnbId::ShortMacroEnbId(bits)
        | EnbId::LongMacroEnbId(bits)) = self;
        bits.value
    }
}

/// Global gNB ID (TS 38.413 9.3.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalGnbId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The gNB in it.
    pub gnb_id: GnbId,
}

/// Global en-gNB ID (TS 36.423).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalEnGnbId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The en-gNB in it.
    pub en_gnb_id: EnGnbId,
}

/// Global ng-eNB ID (TS 38.413 9.3.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalNgEnbId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The ng-eNB in it.
    pub ng_enb_id: NgEnbId,
}

/// Global eNB ID (TS 36.413 9.2.1.37).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalEnbId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The eNB in it.
    pub enb_id: EnbId,
}

/// Global NG-RAN Node ID (TS 38.423 9.2.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum GlobalNgRanNodeId {
    /// A gNB.
    Gnb(GlobalGnbId),
    /// An ng-eNB.
    NgEnb(GlobalNgEnbId),
}

/// gNB-DU ID, 0 to 2^36 - 1 (TS 38.473 9.3.1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=68_719_476_735)]
pub struct GnbDuId(pub i64);

/// gNB-CU-UP ID, 0 to 2^36 - 1 (TS 37.483 9.3.1.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=68_719_476_735)]
pub struct GnbCuUpId(pub i64);

/// ng-eNB-DU ID, 0 to 2^36 - 1 (TS 37.473).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=68_719_476_735)]
pub struct NgEnbDuId(pub i64);

/// Global RIC ID (E2AP v03.01 9.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalRicId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The near-RT RIC in it.
    #[per(size = 20..=20)]
    pub ric_id: Bits,
}

impl GlobalRicId {
    /// The RIC with the 20 least significant bits of `ric_id`.
    #[must_use]
    pub const fn new(plmn_identity: PlmnIdentity, ric_id: u32) -> Self {
        GlobalRicId { plmn_identity, ric_id: Bits::new(ric_id as u64 & 0xF_FFFF, 20) }
    }
}

/// As operators write it: `ric-00101-1`.
impl fmt::Display for GlobalRicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ric-{}-{:x}", self.plmn_identity, self.ric_id.value)
    }
}
