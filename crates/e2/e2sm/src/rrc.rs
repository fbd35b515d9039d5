//! RRC notifications: UEs that attach, detach and are handed over, with their PLMN and slices.
//!
//! In the FlexRIC paper (6.1.2), such notifications inform xApps of the slice of each UE; FlexRIC's public release has no
//! such model. This is a model of ferric, without a plain layout. Its number is 149; FlexRIC's are 142 to 148.
//!
//! | message | type |
//! |---|---|
//! | event trigger | [`EventTriggerDefinition`]: the types of events |
//! | indication header | [`IndicationHeader`]: the time stamp |
//! | indication message | [`IndicationMessage`]: the events in order |

use per::{List, Per};

use crate::common::{Cgi, PlmnIdentity, RntiValue, SNssai, UeId};
pub use crate::flexric::RanFunctionDefinition;
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 149, name: "RRC_EVENTS_V0", wires: &[Wire::Per, Wire::Flat] };

/// The event trigger definition: the types of events. If attachments are included, UEs that are present when the
/// subscription is set up are reported as [`Event::Present`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerDefinition {
    /// UEs that attach.
    pub attach: bool,
    /// UEs that detach.
    pub detach: bool,
    /// UEs that are handed over.
    pub handover: bool,
}

message!(EventTriggerDefinition, owning, per only);

impl EventTriggerDefinition {
    /// All types of events.
    pub const ALL: EventTriggerDefinition = EventTriggerDefinition { attach: true, detach: true, handover: true };
}

/// The indication header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct IndicationHeader {
    /// The time stamp, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationHeader, owning, per only);

/// The indication message: the events in order.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The event.
    #[per(size = 0..=65535)]
    pub notifications: List<'a, Notification<'a>>,
}

message!(IndicationMessage, borrowing, per only);

/// An event of a UE.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Notification<'a> {
    /// The event.
    pub event: Event,
    /// The UE.
    pub ue_id: UeId<'a>,
    /// Its C-RNTI in its cell, which identifies it in other models.
    pub rnti: RntiValue,
    /// Its cell; after a handover, the target cell.
    pub cell: Cgi,
    /// The PLMN that it selected.
    pub plmn: PlmnIdentity,
    /// The slices that it requested (S-NSSAI).
    #[per(size = 0..=1024)]
    pub s_nssais: List<'a, SNssai>,
    /// The IPv4 addresses of its PDU sessions, as far as the node knows them.
    #[per(addition, size = 1..=15)]
    pub addresses: Option<List<'a, Ipv4Address>>,
}

/// The four octets of an IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
pub struct Ipv4Address(pub [u8; 4]);

/// A type of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Event {
    /// The UE was present when the subscription was set up.
    Present,
    /// The UE attached.
    Attached,
    /// The UE detached.
    Detached,
    /// The UE was handed over from this cell.
    HandedOver(Cgi),
}
