//! RRC notifications: UEs that come, go and are handed over, with their network and slices.
//!
//! The FlexRIC paper (6.1.2) lets xApps learn from such notifications which slice a UE belongs to; FlexRIC's public release has
//! no such model. This one is ours, without the plain form. Its number is 149: FlexRIC's own run from 142 to 148.
//!
//! | message | type |
//! |---|---|
//! | event trigger | [`EventTriggerDefinition`]: which events |
//! | indication header | [`IndicationHeader`]: when |
//! | indication message | [`IndicationMessage`]: what happened, in order |

use per::{List, Per};

use crate::common::{Cgi, PlmnIdentity, RntiValue, SNssai, UeId};
pub use crate::flexric::RanFunctionDefinition;
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 149, name: "RRC_EVENTS_V0", wires: &[Wire::Per, Wire::Flat] };

/// The event trigger definition: what to tell of. A UE that is there when the subscription is set up is told of as
/// [`Event::Present`] where attachments are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct EventTriggerDefinition {
    /// UEs that come.
    pub attach: bool,
    /// UEs that go.
    pub detach: bool,
    /// UEs that are handed over to another cell.
    pub handover: bool,
}

message!(EventTriggerDefinition, owning, per only);

impl EventTriggerDefinition {
    /// Everything that there is.
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

/// The indication message: what happened, in order.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// What happened.
    #[per(size = 0..=65535)]
    pub notifications: List<'a, Notification<'a>>,
}

message!(IndicationMessage, borrowing, per only);

/// What happened to a UE, and what is known of it.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Notification<'a> {
    /// What happened.
    pub event: Event,
    /// The UE.
    pub ue_id: UeId<'a>,
    /// Its C-RNTI in its cell: what other models call it.
    pub rnti: RntiValue,
    /// Its cell: after a handover, the new one.
    pub cell: Cgi,
    /// The network that it selected.
    pub plmn: PlmnIdentity,
    /// The slices that it asked for (S-NSSAI).
    #[per(size = 0..=1024)]
    pub s_nssais: List<'a, SNssai>,
}

/// What happened to a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Event {
    /// It was there when the subscription was set up.
    Present,
    /// It came.
    Attached,
    /// It went.
    Detached,
    /// It came from that cell.
    HandedOver(Cgi),
}
