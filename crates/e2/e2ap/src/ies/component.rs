//! Components of a node: its interfaces to the rest of the network (E2AP v03.01 9.2.26 to 9.2.28, 9.2.32).
//!
//! v01.01 describes components differently: see the types named `V1`.

use per::{Octets, Per, PrintableString};

use super::{Cause, GlobalEnGnbId, GlobalEnbId, GlobalNgRanNodeId, GnbCuUpId, GnbDuId, NgEnbDuId};
use crate::items::item;

/// E2 Node Component Interface Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[allow(missing_docs)] // the names are the interfaces
pub enum E2NodeComponentInterfaceType {
    Ng,
    Xn,
    E1,
    F1,
    W1,
    S1,
    X2,
}

/// An NG interface, identified by its AMF.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentInterfaceNg<'a> {
    /// The AMF.
    #[per(size = 1..=150, extensible)]
    pub amf_name: PrintableString<'a>,
}

/// An Xn interface, identified by the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentInterfaceXn {
    /// The neighbour.
    pub global_ng_ran_node_id: GlobalNgRanNodeId,
}

/// An E1 interface, identified by its CU-UP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentInterfaceE1 {
    /// The CU-UP.
    pub gnb_cu_up_id: GnbCuUpId,
}

/// An F1 interface, identified by its DU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentInterfaceF1 {
    /// The DU.
    pub gnb_du_id: GnbDuId,
}

/// A W1 interface, identified by its DU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentInterfaceW1 {
    /// The DU.
    pub ng_enb_du_id: NgEnbDuId,
}

/// An S1 interface, identified by its MME.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentInterfaceS1<'a> {
    /// The MME.
    #[per(size = 1..=150, extensible)]
    pub mme_name: PrintableString<'a>,
}

/// An X2 interface, identified by the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentInterfaceX2 {
    /// An eNB.
    pub global_enb_id: Option<GlobalEnbId>,
    /// An en-gNB.
    pub global_en_gnb_id: Option<GlobalEnGnbId>,
}

/// E2 Node Component ID.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
#[allow(missing_docs)] // the names are the interfaces
pub enum E2NodeComponentId<'a> {
    Ng(E2NodeComponentInterfaceNg<'a>),
    Xn(E2NodeComponentInterfaceXn),
    E1(E2NodeComponentInterfaceE1),
    F1(E2NodeComponentInterfaceF1),
    W1(E2NodeComponentInterfaceW1),
    S1(E2NodeComponentInterfaceS1<'a>),
    X2(E2NodeComponentInterfaceX2),
}

/// E2 Node Component Configuration: the two messages that set up the interface.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentConfiguration<'a> {
    /// The request.
    pub request_part: Octets<'a>,
    /// The response.
    pub response_part: Octets<'a>,
}

/// Whether a component's configuration was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum UpdateOutcome {
    /// It was accepted.
    Success,
    /// It was rejected.
    Failure,
}

/// The result for a component's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentConfigurationAck {
    /// Whether it was accepted.
    pub outcome: UpdateOutcome,
    /// The cause of a rejection.
    pub failure_cause: Option<Cause>,
}

macro_rules! configurations {
    ($($(#[$doc:meta])* $name:ident: $id:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Per)]
        #[per(extensible)]
        pub struct $name<'a> {
            /// The interface.
            pub interface_type: E2NodeComponentInterfaceType,
            /// The component.
            pub id: E2NodeComponentId<'a>,
            /// Its configuration.
            pub configuration: E2NodeComponentConfiguration<'a>,
        }
        item!($name<'a>: $id Reject 1..=1024);
    )*};
}

configurations! {
    /// A component that is added.
    E2NodeComponentConfigAdditionItem: 51;
    /// A component that is changed.
    E2NodeComponentConfigUpdateItem: 34;
}

/// A component that is removed.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentConfigRemovalItem<'a> {
    /// The interface.
    pub interface_type: E2NodeComponentInterfaceType,
    /// The component.
    pub id: E2NodeComponentId<'a>,
}
item!(E2NodeComponentConfigRemovalItem<'a>: 55 Reject 1..=1024);

macro_rules! acknowledgements {
    ($($(#[$doc:meta])* $name:ident: $id:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Per)]
        #[per(extensible)]
        pub struct $name<'a> {
            /// The interface.
            pub interface_type: E2NodeComponentInterfaceType,
            /// The component.
            pub id: E2NodeComponentId<'a>,
            /// The result.
            pub ack: E2NodeComponentConfigurationAck,
        }
        item!($name<'a>: $id Reject 1..=1024);
    )*};
}

acknowledgements! {
    /// The result for an added component.
    E2NodeComponentConfigAdditionAckItem: 53;
    /// The result for a changed component.
    E2NodeComponentConfigUpdateAckItem: 36;
    /// The result for a removed component.
    E2NodeComponentConfigRemovalAckItem: 57;
}

/// v01.01: the kind of base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
#[allow(missing_docs)] // the names are the kinds
pub enum E2NodeComponentTypeV1 {
    Gnb,
    GnbCuUp,
    GnbDu,
    EnGnb,
    Enb,
    NgEnb,
}

/// v01.01: a CU-UP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentGnbCuUpIdV1 {
    /// The CU-UP.
    pub gnb_cu_up_id: GnbCuUpId,
}

/// v01.01: a DU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentGnbDuIdV1 {
    /// The DU.
    pub gnb_du_id: GnbDuId,
}

/// v01.01: the identity of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum E2NodeComponentIdV1 {
    /// A CU-UP.
    GnbCuUp(E2NodeComponentGnbCuUpIdV1),
    /// A DU.
    GnbDu(E2NodeComponentGnbDuIdV1),
}

macro_rules! configuration_v1 {
    ($($(#[$doc:meta])* $name:ident { $($field:ident),* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Per)]
        #[per(extensible)]
        #[allow(missing_docs)] // the names are the interfaces
        pub struct $name<'a> {
            $(pub $field: Option<Octets<'a>>,)*
        }
    )*};
}

configuration_v1! {
    /// v01.01: a gNB's messages.
    E2NodeComponentConfigUpdateGnbV1 { ng_ap, xn_ap, e1_ap, f1_ap }
    /// v01.01: an en-gNB's messages.
    E2NodeComponentConfigUpdateEnGnbV1 { x2_ap }
    /// v01.01: an ng-eNB's messages.
    E2NodeComponentConfigUpdateNgEnbV1 { ng_ap, xn_ap }
    /// v01.01: an eNB's messages.
    E2NodeComponentConfigUpdateEnbV1 { s1_ap, x2_ap }
}

/// v01.01: the messages that set up a component's interfaces.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
#[allow(missing_docs)] // the names are the kinds
pub enum E2NodeComponentConfigUpdateV1<'a> {
    Gnb(E2NodeComponentConfigUpdateGnbV1<'a>),
    EnGnb(E2NodeComponentConfigUpdateEnGnbV1<'a>),
    NgEnb(E2NodeComponentConfigUpdateNgEnbV1<'a>),
    Enb(E2NodeComponentConfigUpdateEnbV1<'a>),
}

/// v01.01: a component.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentConfigUpdateItemV1<'a> {
    /// The kind of base station.
    pub component_type: E2NodeComponentTypeV1,
    /// The component.
    pub id: Option<E2NodeComponentIdV1>,
    /// Its configuration.
    pub configuration: E2NodeComponentConfigUpdateV1<'a>,
}
item!(E2NodeComponentConfigUpdateItemV1<'a>: 34 Reject 1..=1024);

/// v01.01: the result for a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct E2NodeComponentConfigUpdateAckItemV1 {
    /// The kind of base station.
    pub component_type: E2NodeComponentTypeV1,
    /// The component.
    pub id: Option<E2NodeComponentIdV1>,
    /// The result.
    pub ack: E2NodeComponentConfigurationAck,
}
item!(E2NodeComponentConfigUpdateAckItemV1: 36 Reject 1..=1024);
