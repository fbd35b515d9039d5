//! Which revision a node speaks (E2SM-RC clause 7.1 and what the field makes of it).
//!
//! All revisions share one object identifier, and nearly all that they can say is the same on the wire: they differ in
//! what they add. So the oldest is taken until something tells of a newer one: what the RAN function definition holds,
//! or the RAN function's revision number.
//!
//! ```
//! use e2sm::rc::{Detection, OID, Reason, Revision};
//! # use e2sm::common::RanFunctionName;
//! # use e2sm::rc::RanFunctionDefinition;
//! # use per::PrintableString;
//! # let definition = RanFunctionDefinition {
//! #     ran_function_name: RanFunctionName {
//! #         short_name: PrintableString::literal("ORAN-E2SM-RC"),
//! #         e2sm_oid: PrintableString::literal(OID),
//! #         description: PrintableString::literal("RAN control"),
//! #         instance: None,
//! #     },
//! #     event_trigger: None,
//! #     report: None,
//! #     insert: None,
//! #     control: None,
//! #     policy: None,
//! #     query: None,
//! # };
//! # let mut bytes = Vec::new();
//! # definition.encode(Revision::V3_00, &mut bytes)?;
//!
//! let detection = Detection::from_ran_function(OID, 3, &bytes)?;
//! assert_eq!((detection.revision, detection.reason), (Revision::V3_00, Reason::FunctionRevision));
//!
//! // whoever knows better says so
//! assert_eq!(Detection::configured("5.00".parse()?).revision, Revision::V5_00);
//! # Ok::<(), e2sm::Error>(())
//! ```

use core::fmt;
use core::str::FromStr;

use super::RanFunctionDefinition;
use crate::common::WIRE_E2SM_V5;
use crate::{Arena, Error, Wire};

/// The object identifier of all revisions.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.3";

/// A revision of E2SM-RC's wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// v01.03.
    V1_03 = 1,
    /// v03.00: queries, groups of UEs, filters; reports on demand are gone.
    V3_00 = 2,
    /// v05.00: UEs by some of their names; built on E2SM v05.00.
    V5_00 = 3,
}

// the common types go by these numbers
const _: () = assert!(Revision::V5_00.wire() >= WIRE_E2SM_V5 && Revision::V3_00.wire() < WIRE_E2SM_V5);

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Revision; 3] = [Revision::V1_03, Revision::V3_00, Revision::V5_00];

    /// The number that [`per`]'s readers and writers know this revision by.
    #[must_use]
    pub const fn wire(self) -> u8 {
        self as u8
    }

    /// The wire format of the model's messages.
    pub(super) const fn of_messages(self) -> Result<u8, per::Error> {
        Ok(self.wire())
    }
}

/// `v03.00`, as the specifications are called.
impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Revision::V1_03 => "v01.03",
            Revision::V3_00 => "v03.00",
            Revision::V5_00 => "v05.00",
        })
    }
}

const NOT_A_REVISION: Error = Error::UnknownRevision { model: "E2SM-RC", known: "1.03, 3.00 and 5.00" };

/// `3.00`, `03.00` and `v03.00` are the same.
impl FromStr for Revision {
    type Err = Error;

    /// # Errors
    /// [`Error::UnknownRevision`].
    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.strip_prefix('v').unwrap_or(text);
        match text.strip_prefix('0').unwrap_or(text) {
            "1.03" => Ok(Revision::V1_03),
            "3.00" => Ok(Revision::V3_00),
            "5.00" => Ok(Revision::V5_00),
            _ => Err(NOT_A_REVISION),
        }
    }
}

/// What decided on a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The configuration says so.
    Configured,
    /// Nothing tells of a newer revision than the oldest.
    Oldest,
    /// The RAN function's revision number, which nodes let follow the specification's.
    FunctionRevision,
    /// The RAN function definition holds what only some revisions have.
    Definition,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Configured => "configured",
            Reason::Oldest => "nothing tells of a newer one",
            Reason::FunctionRevision => "by its RAN function revision",
            Reason::Definition => "by its RAN function definition",
        })
    }
}

/// The revision that a node is taken to speak, and why: worth a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detection {
    /// The revision to use.
    pub revision: Revision,
    /// What decided on it.
    pub reason: Reason,
    /// The wire form, which the object identifier tells.
    pub wire: Wire,
    /// A bit for each revision that the node may speak.
    candidates: u8,
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E2SM-RC {}, {}", self.revision, self.reason)?;
        if self.wire != Wire::Per {
            write!(f, ", in wire form {}", self.wire)?;
        }
        let others = self.candidates().filter(|r| *r != self.revision);
        for (i, other) in others.enumerate() {
            write!(f, "{}{other}", if i == 0 { "; could be " } else { ", " })?;
        }
        Ok(())
    }
}

impl Detection {
    /// What somebody who knows the node has configured.
    #[must_use]
    pub const fn configured(revision: Revision) -> Self {
        Detection { revision, reason: Reason::Configured, wire: Wire::Per, candidates: bit(revision) }
    }

    /// The same, in the wire form that an object identifier tells.
    #[must_use]
    pub fn in_wire_of(self, oid: &str) -> Self {
        Detection { wire: Wire::of(oid.trim()).0, ..self }
    }

    /// What a RAN function tells when it is set up: object identifier, revision number and definition, as E2AP
    /// carries them.
    ///
    /// # Errors
    /// [`Error::UnknownOid`], and [`Error::NoRevisionFits`] where the definition cannot be read.
    pub fn from_ran_function(oid: &str, function_revision: u16, definition: &[u8]) -> Result<Self, Error> {
        let (wire, own) = Wire::of(oid.trim());
        if own != OID {
            return Err(Error::UnknownOid);
        }
        let mut candidates = 0;
        let mut failed = None;
        let mut told = 0;
        for revision in Revision::ALL {
            let arena = Arena::new();
            match RanFunctionDefinition::decode_in(definition, revision, wire, &arena) {
                Ok(definition) => {
                    candidates |= bit(revision);
                    told |= tells_of(&definition);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let mut reason = Reason::Oldest;
        // what is told by what cannot be read tells nothing
        if told & candidates != 0 {
            candidates &= told;
            reason = Reason::Definition;
        }
        // FlexRIC and OAI number their function 1
        let numbered = match function_revision {
            1 => Some(Revision::V1_03),
            3 => Some(Revision::V3_00),
            5 => Some(Revision::V5_00),
            _ => None,
        };
        let revision = match numbered.filter(|revision| candidates & bit(*revision) != 0) {
            Some(revision) => {
                reason = Reason::FunctionRevision;
                revision
            }
            None => {
                let oldest = Revision::ALL.into_iter().find(|revision| candidates & bit(*revision) != 0);
                match (oldest, failed) {
                    (Some(oldest), _) => oldest,
                    (None, Some(Error::Codec(error))) => return Err(Error::NoRevisionFits(error)),
                    // a wire form that is not built in
                    (None, failed) => return Err(failed.unwrap_or(Error::UnknownOid)),
                }
            }
        };
        Ok(Detection { revision, reason, wire, candidates })
    }

    /// The revisions that the node may speak, oldest first.
    pub fn candidates(&self) -> impl Iterator<Item = Revision> + use<> {
        let bits = self.candidates;
        Revision::ALL.into_iter().filter(move |revision| bits & bit(*revision) != 0)
    }
}

const fn bit(revision: Revision) -> u8 {
    1 << revision.wire()
}

/// The revisions that have all that a definition holds; none where it holds what all have.
fn tells_of(definition: &RanFunctionDefinition<'_>) -> u8 {
    let (v1, v3, v5) = (bit(Revision::V1_03), bit(Revision::V3_00), bit(Revision::V5_00));
    let styles = || definition.control.iter().flat_map(|control| &control.control_style_list);
    let actions = || styles().flat_map(|style| style.control_action_list.iter().flatten());
    let mut parameters = actions().flat_map(|action| action.control_action_parameters_list.iter().flatten());
    if styles().any(|style| style.list_of_additional_supported_formats.is_some()) {
        return v5;
    }
    if parameters.any(|parameter| parameter.list_of_additional_supported_formats_ue_group_control.is_some()) {
        return v3;
    }
    if definition.query.is_some() || actions().any(|action| action.ue_group_control_action_supported.is_some()) {
        return v3 | v5;
    }
    // reports on demand
    let mut triggers = definition.event_trigger.iter().flat_map(|trigger| &trigger.event_trigger_style_list);
    if triggers.any(|style| style.ric_event_trigger_format_type.0 == 5) {
        return v1;
    }
    0
}

#[cfg(test)]
mod tests {
    use per::{List, PrintableString};

    use super::*;
    use crate::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
    use crate::rc::{
        AdditionalSupportedFormat, ControlStyleItem, EventTriggerStyleItem, QueryStyleItem,
        RanFunctionDefinitionControl, RanFunctionDefinitionEventTrigger, RanFunctionDefinitionQuery,
    };

    const NAME: RicStyleName<'static> = RicStyleName(PrintableString::literal("a style"));

    fn definition() -> RanFunctionDefinition<'static> {
        RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: PrintableString::literal("ORAN-E2SM-RC"),
                e2sm_oid: PrintableString::literal(OID),
                description: PrintableString::literal("RAN control"),
                instance: None,
            },
            event_trigger: None,
            report: None,
            insert: None,
            control: None,
            policy: None,
            query: None,
        }
    }

    fn detect(definition: &RanFunctionDefinition<'_>, wire: Revision, number: u16) -> Detection {
        let mut bytes = Vec::new();
        definition.encode(wire, &mut bytes).unwrap();
        Detection::from_ran_function(OID, number, &bytes).unwrap()
    }

    #[test]
    fn revisions_are_spelled_in_several_ways() {
        for revision in Revision::ALL {
            let text = revision.to_string();
            for spelling in [&text[..], &text[1..], &text[2..]] {
                assert_eq!(spelling.parse(), Ok(revision), "{spelling}");
            }
        }
        for bad in ["", "3", "3.0", "1.00", "v", "v003.00"] {
            assert_eq!(bad.parse::<Revision>(), Err(NOT_A_REVISION), "{bad}");
        }
        assert_eq!(NOT_A_REVISION.to_string(), "not a revision of E2SM-RC; 1.03, 3.00 and 5.00 are");
    }

    #[test]
    fn what_all_can_say_is_the_oldests_unless_numbered() {
        let seen = detect(&definition(), Revision::V3_00, 0);
        assert_eq!((seen.revision, seen.reason), (Revision::V1_03, Reason::Oldest));
        assert_eq!(seen.to_string(), "E2SM-RC v01.03, nothing tells of a newer one; could be v03.00, v05.00");
        for (number, revision) in [(1, Revision::V1_03), (3, Revision::V3_00), (5, Revision::V5_00)] {
            let seen = detect(&definition(), Revision::V1_03, number);
            assert_eq!((seen.revision, seen.reason), (revision, Reason::FunctionRevision));
        }
        assert_eq!(Detection::from_ran_function("1.3.6.1.4.1.53148.1.2.2.2", 0, &[]), Err(Error::UnknownOid));
        assert!(matches!(Detection::from_ran_function(OID, 0, &[0xFF]), Err(Error::NoRevisionFits(_))));
    }

    #[test]
    fn the_definition_tells() {
        let query = QueryStyleItem {
            ric_query_style_type: RicStyleType(1),
            ric_query_style_name: NAME,
            ric_query_header_format_type: RicFormatType(1),
            ric_query_definition_format_type: RicFormatType(1),
            ric_query_outcome_format_type: RicFormatType(1),
            query_parameters_list: None,
        };
        let query = Some(RanFunctionDefinitionQuery { query_style_list: List::from(vec![query]) });
        let with_query = RanFunctionDefinition { query, ..definition() };
        let seen = detect(&with_query, Revision::V5_00, 1);
        assert_eq!((seen.revision, seen.reason), (Revision::V3_00, Reason::Definition), "v01.03 has no queries");
        assert_eq!(detect(&with_query, Revision::V5_00, 5).revision, Revision::V5_00);

        let formats = AdditionalSupportedFormat {
            ric_control_header_format_type: RicFormatType(3),
            ric_control_message_format_type: RicFormatType(1),
            ric_control_outcome_format_type: None,
            ric_control_action_id: None,
        };
        let control = ControlStyleItem {
            ric_control_style_type: RicStyleType(2),
            ric_control_style_name: NAME,
            control_action_list: None,
            ric_control_header_format_type: RicFormatType(1),
            ric_control_message_format_type: RicFormatType(1),
            ric_call_process_id_format_type: None,
            ric_control_outcome_format_type: RicFormatType(1),
            control_outcome_parameters_list: None,
            list_of_additional_supported_formats: Some(List::from(vec![formats])),
        };
        let control = Some(RanFunctionDefinitionControl { control_style_list: List::from(vec![control]) });
        let seen = detect(&RanFunctionDefinition { control, ..definition() }, Revision::V5_00, 0);
        assert_eq!((seen.revision, seen.candidates().count()), (Revision::V5_00, 1));

        let style = EventTriggerStyleItem {
            ric_event_trigger_style_type: RicStyleType(5),
            ric_event_trigger_style_name: NAME,
            ric_event_trigger_format_type: RicFormatType(5),
        };
        let trigger = RanFunctionDefinitionEventTrigger {
            event_trigger_style_list: List::from(vec![style]),
            l2_parameters_list: None,
            call_process_types_list: None,
            ue_identification_parameters_list: None,
            cell_identification_parameters_list: None,
        };
        let on_demand = RanFunctionDefinition { event_trigger: Some(trigger), ..definition() };
        let seen = detect(&on_demand, Revision::V1_03, 3);
        assert_eq!((seen.revision, seen.reason), (Revision::V1_03, Reason::Definition));
    }
}
