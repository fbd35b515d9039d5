//! Who an E2 node and a RIC are (E2AP v03.01 9.2.4, 9.2.6).
//!
//! Nothing here borrows: identities are keys.

use core::fmt;

use per::{Bits, Per};

/// A PLMN identity in the TBCD form of TS 38.413: three octets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct PlmnIdentity(pub [u8; 3]);

impl PlmnIdentity {
    /// The identity of a mobile country code and a mobile network code of two or three digits.
    ///
    /// ```
    /// assert_eq!(e2ap::PlmnIdentity::from_codes(1, 1, 2).0, [0x00, 0xF1, 0x10]);
    /// assert_eq!(e2ap::PlmnIdentity::from_codes(310, 410, 3).to_string(), "310410");
    /// ```
    #[must_use]
    pub const fn from_codes(mcc: u16, mnc: u16, mnc_digits: u8) -> Self {
        let (a, b, c) = (mcc / 100 % 10, mcc / 10 % 10, mcc % 10);
        let (x, y, z) =
            if mnc_digits == 2 { (mnc / 10 % 10, mnc % 10, 0xF) } else { (mnc / 100 % 10, mnc / 10 % 10, mnc % 10) };
        PlmnIdentity([(b << 4 | a) as u8, (z << 4 | c) as u8, (y << 4 | x) as u8])
    }
}

impl fmt::Display for PlmnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ab, zc, yx] = self.0;
        for digit in [ab & 15, ab >> 4, zc & 15, yx & 15, yx >> 4, zc >> 4] {
            if digit < 10 {
                write!(f, "{digit}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for PlmnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// gNB-CU-UP ID (TS 37.483).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=68_719_476_735)]
pub struct GnbCuUpId(pub i64);

/// gNB-DU ID (TS 38.473).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=68_719_476_735)]
pub struct GnbDuId(pub i64);

/// ng-eNB-DU ID (TS 37.473).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(range = 0..=68_719_476_735)]
pub struct NgEnbDuId(pub i64);

/// gNB ID: 22 to 32 bits (TS 38.423).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum GnbId {
    /// The one form there is.
    GnbId(#[doc(hidden)] GnbIdBits),
}

/// The bits of a gNB ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(size = 22..=32)]
pub struct GnbIdBits(pub Bits);

impl GnbId {
    /// The gNB ID with the `count` (22 to 32) least significant bits of `value`.
    #[must_use]
    pub const fn new(value: u32, count: u8) -> Self {
        GnbId::GnbId(GnbIdBits(Bits::new(value as u64, count)))
    }

    /// The ID as a number.
    #[must_use]
    pub const fn value(self) -> u64 {
        let GnbId::GnbId(bits) = self;
        bits.0.value
    }
}

macro_rules! fixed_bits {
    ($($(#[$doc:meta])* $name:ident, $count:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
        #[per(size = $count..=$count)]
        pub struct $name(pub Bits);
    )*};
}

fixed_bits! {
    /// 18 bits.
    Bits18, 18;
    /// 20 bits.
    Bits20, 20;
    /// 21 bits.
    Bits21, 21;
    /// 28 bits.
    Bits28, 28;
}

/// eNB ID (TS 36.423).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum EnbId {
    /// Macro eNB.
    Macro(Bits20),
    /// Home eNB.
    Home(Bits28),
    /// Short macro eNB.
    #[per(addition)]
    ShortMacro(Bits18),
    /// Long macro eNB.
    #[per(addition)]
    LongMacro(Bits21),
}

/// ng-eNB ID (TS 38.423).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub enum NgEnbId {
    /// Macro.
    Macro(Bits20),
    /// Short macro.
    ShortMacro(Bits18),
    /// Long macro.
    LongMacro(Bits21),
}

/// Global gNB ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalGnbId {
    /// PLMN.
    pub plmn: PlmnIdentity,
    /// gNB.
    pub gnb_id: GnbId,
}

/// Global en-gNB ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalEnGnbId {
    /// PLMN.
    pub plmn: PlmnIdentity,
    /// gNB.
    pub gnb_id: GnbId,
}

/// Global eNB ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalEnbId {
    /// PLMN.
    pub plmn: PlmnIdentity,
    /// eNB.
    pub enb_id: EnbId,
}

/// Global ng-eNB ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalNgEnbId {
    /// PLMN.
    pub plmn: PlmnIdentity,
    /// ng-eNB.
    pub enb_id: NgEnbId,
}

/// A gNB as an E2 node, or the part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalE2NodeGnbId {
    /// The gNB.
    pub global_gnb_id: GlobalGnbId,
    /// The en-gNB that it is too.
    #[per(since = 2)]
    pub global_en_gnb_id: Option<GlobalEnGnbId>,
    /// Present in a gNB-CU-UP.
    pub gnb_cu_up_id: Option<GnbCuUpId>,
    /// Present in a gNB-DU.
    pub gnb_du_id: Option<GnbDuId>,
}

/// An en-gNB as an E2 node, or the part of one.
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

/// An ng-eNB as an E2 node, or the part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalE2NodeNgEnbId {
    /// The ng-eNB.
    pub global_ng_enb_id: GlobalNgEnbId,
    /// The eNB that it is too.
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

/// Global E2 Node ID: the key of a node, CU-UP and DU ids included (E2AP v03.01 9.2.6).
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
    /// A whole gNB.
    #[must_use]
    pub const fn gnb(plmn: PlmnIdentity, gnb_id: GnbId) -> Self {
        GlobalE2NodeId::Gnb(GlobalE2NodeGnbId {
            global_gnb_id: GlobalGnbId { plmn, gnb_id },
            global_en_gnb_id: None,
            gnb_cu_up_id: None,
            gnb_du_id: None,
        })
    }

    /// The PLMN that the node belongs to.
    #[must_use]
    pub const fn plmn(&self) -> PlmnIdentity {
        match self {
            GlobalE2NodeId::Gnb(id) => id.global_gnb_id.plmn,
            GlobalE2NodeId::EnGnb(id) => id.global_en_gnb_id.plmn,
            GlobalE2NodeId::NgEnb(id) => id.global_ng_enb_id.plmn,
            GlobalE2NodeId::Enb(id) => id.global_enb_id.plmn,
        }
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
                ("en-gnb", id.global_en_gnb_id.gnb_id.value(), id.en_gnb_cu_up_id, id.en_gnb_du_id.map(|d| d.0))
            }
            GlobalE2NodeId::NgEnb(id) => {
                let (NgEnbId::Macro(Bits20(bits))
                | NgEnbId::ShortMacro(Bits18(bits))
                | NgEnbId::LongMacro(Bits21(bits))) = id.global_ng_enb_id.enb_id;
                ("ng-enb", bits.value, None, id.ng_enb_du_id.map(|d| d.0))
            }
            GlobalE2NodeId::Enb(id) => {
                let (EnbId::Macro(Bits20(bits))
                | EnbId::Home(Bits28(bits))
                | EnbId::ShortMacro(Bits18(bits))
                | EnbId::LongMacro(Bits21(bits))) = id.global_enb_id.enb_id;
                ("enb", bits.value, None, None)
            }
        };
        write!(f, "{kind}-{}-{number:x}", self.plmn())?;
        if let Some(id) = cu_up {
            write!(f, "-cu-up-{}", id.0)?;
        }
        if let Some(id) = du {
            write!(f, "-du-{id}")?;
        }
        Ok(())
    }
}

/// Global RIC ID (E2AP v03.01 9.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
#[per(extensible)]
pub struct GlobalRicId {
    /// PLMN.
    pub plmn: PlmnIdentity,
    /// Near-RT RIC.
    pub ric_id: Bits20,
}

impl GlobalRicId {
    /// The RIC with the 20 least significant bits of `ric_id`.
    #[must_use]
    pub const fn new(plmn: PlmnIdentity, ric_id: u32) -> Self {
        GlobalRicId { plmn, ric_id: Bits20(Bits::new(ric_id as u64 & 0xF_FFFF, 20)) }
    }
}

impl fmt::Display for GlobalRicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ric-{}-{:x}", self.plmn, self.ric_id.0.value)
    }
}
