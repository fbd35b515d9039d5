//! UE-to-controller association: which UEs of a node the other controllers of that node see. It is ours (FlexRIC paper,
//! 4.1.2 and Fig. 4).
//!
//! The first controller of a node sees every UE. Any other sees none until the first one exposes it: the node cannot know
//! by itself whose a UE is, since a DU, for one, never learns which PLMN or slice the UE selected.
//!
//! | | |
//! |---|---|
//! | RAN function id | 139, by habit ([`FUNCTION_ID`]) |
//! | object identifier | `1.3.6.1.4.1.32473.1.139`, in the arc for documentation of RFC 5612 ([`OID`]) |
//! | RAN function definition | [`RanFunctionDefinition`] |
//! | event trigger | [`EventTrigger`]: how often the node looks whether something changed |
//! | action definition | none; one REPORT action |
//! | indication header | empty |
//! | indication message | [`IndicationMessage`]: every controller, and what it sees; at once, and after each change |
//! | control header | [`ControlHeader`] |
//! | control message | [`ControlMessage`] |
//! | control outcome | [`ControlOutcome`], whether it was done or not |
//!
//! All are aligned PER. Only the first controller may subscribe and control.

use ids::GlobalRicId;
use per::{Error, IntoOwned, List, Per, PrintableString, Reader};

use crate::Arena;
use crate::common::UeId;

/// The RAN function id that nodes give this model.
pub const FUNCTION_ID: u16 = 139;

/// The model's object identifier.
pub const OID: &str = "1.3.6.1.4.1.32473.1.139";

/// UEs that one control may name.
pub const MAX_UES: usize = 4096;

/// The common types are those of E2SM v05.00.
const REVISION: u8 = crate::common::WIRE_E2SM_V5;

/// UEA-RANfunction-Definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// The model's name.
    #[per(size = 1..=150)]
    pub name: PrintableString<'a>,
    /// What it does, for people.
    #[per(size = 0..=150)]
    pub description: PrintableString<'a>,
    /// The model's version.
    pub version: u8,
}

impl RanFunctionDefinition<'static> {
    /// What every node says.
    pub const STANDARD: RanFunctionDefinition<'static> = RanFunctionDefinition {
        name: PrintableString::literal("UEA"),
        description: PrintableString::literal("Which UEs each controller of this node sees"),
        version: 1,
    };
}

/// UEA-EventTrigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct EventTrigger {
    /// Milliseconds after which the node looks again whether something changed.
    #[per(range = 1..=60_000)]
    pub period_ms: u16,
}

/// UEA-ControlHeader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ControlHeader {
    /// What is to be done with the UEs.
    pub command: Command,
}

/// UEA-Command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Command {
    /// The controller sees them from now on.
    Expose,
    /// It sees them no more.
    Hide,
}

/// UEA-ControlMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessage<'a> {
    /// The controller whose view is changed.
    pub controller: GlobalRicId,
    /// The UEs, by any name that the node has for them.
    #[per(size = 1..=4096)]
    pub ues: List<'a, UeId<'a>>,
}

/// UEA-ControlOutcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcome<'a> {
    /// Why nothing was done, if so.
    pub refusal: Option<Refusal>,
    /// UEs whose view has changed; the others were as wanted already.
    #[per(range = 0..=4096)]
    pub changed: u16,
    /// UEs that the node does not know: nothing is kept of them.
    #[per(size = 0..=4096)]
    pub unknown: List<'a, UeId<'a>>,
}

/// UEA-Refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Refusal {
    /// Only the first controller may.
    NotTheFirst,
    /// The node has no such controller.
    UnknownController,
    /// The node knows none of the UEs.
    UnknownUes,
    /// The controller would see more UEs than may be exposed.
    TooManyUes,
}

/// UEA-IndicationMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The node's controllers that have taken the setup.
    #[per(size = 0..=255)]
    pub controllers: List<'a, View<'a>>,
}

/// UEA-View: what a controller sees.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct View<'a> {
    /// The controller.
    pub controller: GlobalRicId,
    /// Whether it is the first, which sees every UE.
    pub first: bool,
    /// The UEs that were exposed to it.
    #[per(size = 0..=65535)]
    pub ues: List<'a, UeId<'a>>,
}

macro_rules! message {
    ($($name:ident $(<$lt:lifetime>)?)*) => {$(
        impl $name $(<$lt>)? {
            /// Reads all of `bytes` into a value to keep.
            ///
            /// # Errors
            /// Whatever is wrong with the encoding.
            pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
                let arena = Arena::new();
                let mut reader = Reader::with_store(bytes, REVISION, &arena);
                let value: $name = per::Decode::decode(&mut reader)?;
                reader.finish()?;
                Ok(value.into_owned())
            }

            /// The encoding.
            ///
            /// # Errors
            /// A value outside its bounds.
            pub fn encode(&self) -> Result<Vec<u8>, Error> {
                let mut out = Vec::new();
                per::encode(self, REVISION, &mut out)?;
                Ok(out)
            }
        }
    )*};
}

message! {
    RanFunctionDefinition<'static>
    EventTrigger
    ControlHeader
    ControlMessage<'static>
    ControlOutcome<'static>
    IndicationMessage<'static>
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::{GnbCuUeF1apId, PlmnIdentity, UeIdGnbDu};

    fn ue(number: u32) -> UeId<'static> {
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number), ran_ueid: None, cell_rnti: None })
    }

    #[test]
    fn messages_come_back_as_they_were() {
        let controller = GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 7);
        let message = ControlMessage { controller, ues: vec![ue(1), ue(70_000)].into() };
        let bytes = message.encode().unwrap();
        // extension bits; PLMN; the RIC in 20 bits; the count less one in 16
        assert_eq!(bytes[..8], [0x00, 0x00, 0xf1, 0x10, 0x00, 0x00, 0x70, 0x00]);
        assert_eq!(ControlMessage::decode(&bytes), Ok(message));

        let outcome = ControlOutcome { refusal: Some(Refusal::UnknownUes), changed: 0, unknown: vec![ue(1)].into() };
        assert_eq!(ControlOutcome::decode(&outcome.encode().unwrap()), Ok(outcome));
        let view = View { controller, first: true, ues: Vec::new().into() };
        let message = IndicationMessage { controllers: vec![view].into() };
        assert_eq!(IndicationMessage::decode(&message.encode().unwrap()), Ok(message));
        let trigger = EventTrigger { period_ms: 250 };
        assert_eq!(EventTrigger::decode(&trigger.encode().unwrap()), Ok(trigger));
        for command in [Command::Expose, Command::Hide] {
            let header = ControlHeader { command };
            assert_eq!(ControlHeader::decode(&header.encode().unwrap()), Ok(header));
        }
    }

    #[test]
    fn bounds_hold() {
        let controller = GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 7);
        assert!(ControlMessage { controller, ues: Vec::new().into() }.encode().is_err(), "nothing to do");
        assert!(EventTrigger { period_ms: 0 }.encode().is_err());
        for octets in 0..64 {
            let noise: Vec<u8> = (0..octets).map(|at| (at * 37 + octets) as u8).collect();
            let _ = (ControlMessage::decode(&noise), IndicationMessage::decode(&noise), ControlOutcome::decode(&noise));
        }
    }
}
