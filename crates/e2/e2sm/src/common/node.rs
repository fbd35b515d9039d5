//! Networks, base stations and core nodes.

use core::fmt;

use per::{Bits, Per};

/// PLMNIdentity: country and network code, two digits an octet (TS 38.413 9.3.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Per)]
pub struct PlmnIdentity(pub [u8; 3]);

impl PlmnIdentity {
    /// The identity of a mobile country code and a mobile network code of two or three digits.
    ///
    /// ```
    /// use e2sm::common::PlmnIdentity;
    ///
    /// assert_eq!(PlmnIdentity::from_codes(1, 1, 2).0, [0x00, 0xF1, 0x10]);
    /// assert_eq!(PlmnIdentity::from_codes(310, 410, 3).to_string(), "310410");
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

/// A gNB within its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum GnbId {
    /// 22 to 32 bits.
    #[per(size = 22..=32)]
    GnbId(Bits),
}

/// GlobalGNB-ID (TS 38.413).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalGnbId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The gNB in it.
    pub gnb_id: GnbId,
}

/// An ng-eNB within its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum NgEnbId {
    /// A macro ng-eNB.
    #[per(size = 20..=20)]
    MacroNgEnbId(Bits),
    /// A macro ng-eNB with a short identity.
    #[per(size = 18..=18)]
    ShortMacroNgEnbId(Bits),
    /// A macro ng-eNB with a long identity.
    #[per(size = 21..=21)]
    LongMacroNgEnbId(Bits),
}

/// GlobalNgENB-ID (TS 38.413).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalNgEnbId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The ng-eNB in it.
    pub ng_enb_id: NgEnbId,
}

/// GlobalNGRANNodeID (TS 38.423).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum GlobalNgRanNodeId {
    /// A gNB.
    Gnb(GlobalGnbId),
    /// An ng-eNB.
    NgEnb(GlobalNgEnbId),
}

/// An eNB within its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum EnbId {
    /// A macro eNB.
    #[per(size = 20..=20)]
    MacroEnbId(Bits),
    /// A home eNB.
    #[per(size = 28..=28)]
    HomeEnbId(Bits),
    /// A macro eNB with a short identity.
    #[per(addition, size = 18..=18)]
    ShortMacroEnbId(Bits),
    /// A macro eNB with a long identity.
    #[per(addition, size = 21..=21)]
    LongMacroEnbId(Bits),
}

/// GlobalENB-ID (TS 36.413).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct GlobalEnbId {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The eNB in it.
    pub enb_id: EnbId,
}

/// An AMF (TS 38.413).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
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

/// An MME (TS 36.413).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct Gummei {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The group in it.
    pub mme_group_id: [u8; 2],
    /// The MME in the group.
    pub mme_code: [u8; 1],
}

/// CoreCPID: a node of a core network's control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum CoreCpId {
    /// Of the 5G core.
    FiveGc(Guami),
    /// Of the EPC.
    Epc(Gummei),
}
