//! UE-to-controller association: which UEs of a node its other controllers see. A model of ferric (after the FlexRIC
//! paper, 4.1.2 and Fig. 4).
//!
//! The first controller of a node sees every UE. Others see no UE until the first one exposes it: the node cannot assign
//! UEs itself, since a DU, for one, does not know which PLMN or slice a UE selected.
//!
//! | | |
//! |---|---|
//! | RAN function ID | 139 by convention ([`FUNCTION_ID`]) |
//! | object identifier | `1.3.6.1.4.1.32473.1.139`, in the documentation arc of RFC 5612 ([`OID`]) |
//! | RAN function definition | [`RanFunctionDefinition`] |
//! | event trigger | [`EventTrigger`]: the interval at which the node checks for changes |
//! | action definition | none; one REPORT action |
//! | indication header | empty |
//! | indication message | [`IndicationMessage`]: every controller and the UEs that it sees; immediately and after each change |
//! | control header | [`ControlHeader`] |
//! | control message | [`ControlMessage`] |
//! | control outcome | [`ControlOutcome`], on success and on failure |
//!
//! All are in aligned PER. Only the first controller may subscribe and control.

use ids::GlobalRicId;
use per::{Error, IntoOwned, List, Per, PrintableString, Reader};

use crate::Arena;
use crate::common::UeId;

/// The RAN function ID of this model.
pub const FUNCTION_ID: u16 = 139;

/// The object identifier of the model.
pub const OID: &str = "1.3.6.1.4.1.32473.1.139";

/// The greatest number of UEs in a control.
pub const MAX_UES: usize = 4096;

/// The common types are those of E2SM v05.00.
const REVISION: u8 = crate::common::WIRE_E2SM_V5;

/// UEA-RANfunction-Definition.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct RanFunctionDefinition<'a> {
    /// The name of the model.
    #[per(size = 1..=150)]
    pub name: PrintableString<'a>,
    /// A description.
    #[per(size = 0..=150)]
    pub description: PrintableString<'a>,
    /// The version of the model.
    pub version: u8,
}

impl RanFunctionDefinition<'static> {
    /// The definition that every node sends.
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
    /// The interval at which the node checks for changes, in milliseconds.
    #[per(range = 1..=60_000)]
    pub period_ms: u16,
}

/// UEA-ControlHeader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ControlHeader {
    /// The command.
    pub command: Command,
}

/// UEA-Command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Command {
    /// The controller sees the UEs from now on.
    Expose,
    /// The controller no longer sees the UEs.
    Hide,
}

/// UEA-ControlMessage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlMessage<'a> {
    /// The controller whose view changes.
    pub controller: GlobalRicId,
    /// The UEs, by any identifier that the node has for them.
    #[per(size = 1..=4096)]
    pub ues: List<'a, UeId<'a>>,
}

/// UEA-ControlOutcome.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct ControlOutcome<'a> {
    /// The reason of a failure.
    pub refusal: Option<Refusal>,
    /// The number of UEs whose view changed; the others already had the requested state.
    #[per(range = 0..=4096)]
    pub changed: u16,
    /// The number of UEs that the node does not know; it ignores them.
    #[per(size = 0..=4096)]
    pub unknown: List<'a, UeId<'a>>,
}

/// UEA-Refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum Refusal {
    /// The controller is not the first.
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
    /// The controllers that accepted the setup of the node.
    #[per(size = 0..=255)]
    pub controllers: List<'a, View<'a>>,
}

/// UEA-View: the UEs that a controller sees.
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
            /// Decodes all of `bytes` into a value that borrows nothing.
            ///
            /// # Errors
            /// A malformed encoding.
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
    fn messages_round_trip() {
        let controller = GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 7);
        let message = ControlMessage { controller, ues: vec![ue(1), ue(70_000)].into() };
        let bytes = message.encode().unwrap();
        // extension bits; PLMN; 20 bits of RIC ID; the count minus one in 16 bits
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
    fn bounds_are_checked() {
        let controller = GlobalRicId::new(PlmnIdentity::from_codes(1, 1, 2), 7);
        assert!(ControlMessage { controller, ues: Vec::new().into() }.encode().is_err(), "no UEs");
        assert!(EventTrigger { period_ms: 0 }.encode().is_err());
        for octets in 0..64 {
            let noise: Vec<u8> = (0..octets).map(|at| (at * 37 + octets) as u8).collect();
            let _ = (ControlMessage::decode(&noise), IndicationMessage::decode(&noise), ControlOutcome::decode(&noise));
        }
    }
}
