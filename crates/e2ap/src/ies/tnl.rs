//! Transport network layer addresses (E2AP v03.01 9.2.28).

use per::{BitString, Bits, Per};

use super::Cause;
use crate::items::item;

/// An address and port of the transport network layer.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct TnlInformation<'a> {
    /// IPv4 (32 bits), IPv6 (128), or IPv4 then IPv6 (160).
    #[per(size = 1..=160, extensible)]
    pub address: BitString<'a>,
    /// Port.
    #[per(size = 16..=16)]
    pub port: Option<Bits>,
}

/// What an association is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum TnlUsage {
    /// RIC services.
    RicService,
    /// Support functions.
    SupportFunction,
    /// Both.
    Both,
}

/// An association to be added or changed.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2ConnectionUpdateItem<'a> {
    /// Where.
    pub tnl_information: TnlInformation<'a>,
    /// What for.
    pub tnl_usage: TnlUsage,
}
item!(E2ConnectionUpdateItem<'a>: 43 Ignore 1..=32);

/// An association to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2ConnectionUpdateRemoveItem<'a> {
    /// Where.
    pub tnl_information: TnlInformation<'a>,
}
item!(E2ConnectionUpdateRemoveItem<'a>: 47 Ignore 1..=32);

/// An association that could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2ConnectionSetupFailedItem<'a> {
    /// Where.
    pub tnl_information: TnlInformation<'a>,
    /// Why.
    pub cause: Cause,
}
item!(E2ConnectionSetupFailedItem<'a>: 41 Ignore 1..=32);

/// An association that the node gave up.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeTnlAssociationRemovalItem<'a> {
    /// The node's end.
    pub tnl_information: TnlInformation<'a>,
    /// The RIC's end.
    pub tnl_information_ric: TnlInformation<'a>,
}
item!(E2NodeTnlAssociationRemovalItem<'a>: 59 Reject 1..=32);
