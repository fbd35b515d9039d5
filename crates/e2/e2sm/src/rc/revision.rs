//! The revisions of E2SM-RC and their detection (E2SM-RC clause 7.1 and the practice of existing nodes).
//!
//! All revisions share one object identifier and most of their wire format; each adds to the one before. The oldest is
//! assumed unless the RAN function definition or the RAN function revision indicates a newer one.
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
//! // a configured revision takes precedence
//! assert_eq!(Detection::configured("5.00".parse()?).revision, Revision::V5_00);
//! # Ok::<(), e2sm::Error>(())
//! ```

use core::fmt;
use core::str::FromStr;

use super::RanFunctionDefinition;
use crate::common::WIRE_E2SM_V5;
use crate::{Arena, Error, ModelRevision, Reason, Wire, revision};

/// The object identifier of all revisions.
pub const OID: &str = "1.3.6.1.4.1.53148.1.1.2.3";

/// A revision of E2SM-RC's wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// v01.03.
    V1_03 = 1,
    /// v03.00: adds queries, groups of UEs and filters; removes reports on demand.
    V3_00 = 2,
    /// v05.00: adds partial UE identifiers; based on E2SM v05.00.
    V5_00 = 3,
}

// the common types are gated by these numbers
const _: () = assert!(Revision::V5_00.wire() >= WIRE_E2SM_V5 && Revision::V3_00.wire() < WIRE_E2SM_V5);

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Revision; 3] = [Revision::V1_03, Revision::V3_00, Revision::V5_00];

    /// The number of this revision in readers and writers of [`per`].
    #[must_use]
    pub const fn wire(self) -> u8 {
        self as u8
    }

    /// The wire format of the model's messages.
    pub(super) const fn of_messages(self) -> Result<u8, per::Error> {
        Ok(self.wire())
    }
}

/// Formats as the specification is numbered: `v03.00`.
impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Revision::V1_03 => "v01.03",
            Revision::V3_00 => "v03.00",
            Revision::V5_00 => "v05.00",
        })
    }
}

impl ModelRevision for Revision {
    const MODEL: &'static str = "E2SM-RC";
    const ALL: &'static [Revision] = &Revision::ALL;
    const UNKNOWN: Error = Error::UnknownRevision { model: "E2SM-RC", known: "1.03, 3.00 or 5.00" };
}

/// Parses `3.00`, `03.00` or `v03.00`.
impl FromStr for Revision {
    type Err = Error;

    /// # Errors
    /// [`Error::UnknownRevision`].
    fn from_str(text: &str) -> Result<Self, Error> {
        revision::parse(text)
    }
}

/// The revision of E2SM-RC that a node uses.
pub type Detection = crate::Detection<Revision>;

impl Detection {
    /// Detects the revision of a RAN function from its object identifier, revision and definition, as E2AP carries
    /// them.
    ///
    /// # Errors
    /// [`Error::UnknownOid`], or [`Error::NoRevisionFits`] if the definition cannot be decoded.
    pub fn from_ran_function(oid: &str, function_revision: u16, definition: &[u8]) -> Result<Self, Error> {
        let (wire, own) = Wire::of(oid.trim());
        if own != OID {
            return Err(Error::UnknownOid);
        }
        let mut candidates = 0;
        let mut failed = None;
        let mut indicated = 0;
        for revision in Revision::ALL {
            let arena = Arena::new();
            match RanFunctionDefinition::decode_in(definition, revision, wire, &arena) {
                Ok(definition) => {
                    candidates |= revision.bit();
                    indicated |= indicated_by(&definition);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let mut reason = Reason::Oldest;
        // a revision that does not decode the definition is no candidate, whatever the others find in it
        if indicated & candidates != 0 {
            candidates &= indicated;
            reason = Reason::Definition;
        }
        // FlexRIC and OAI set the RAN function revision to 1
        let numbered = match function_revision {
            1 => Some(Revision::V1_03),
            3 => Some(Revision::V3_00),
            5 => Some(Revision::V5_00),
            _ => None,
        };
        let revision = match numbered.filter(|revision| candidates & revision.bit() != 0) {
            Some(revision) => {
                reason = Reason::FunctionRevision;
                revision
            }
            None => {
                let oldest = Revision::ALL.into_iter().find(|revision| candidates & revision.bit() != 0);
                match (oldest, failed) {
                    (Some(oldest), _) => oldest,
                    (None, Some(Error::Codec(error))) => return Err(Error::NoRevisionFits(error)),
                    // an encoding that is not built in
                    (None, failed) => return Err(failed.unwrap_or(Error::UnknownOid)),
                }
            }
        };
        Ok(Detection::new(revision, reason, wire, candidates))
    }
}

/// The revisions that have every component of a definition, as bits; none if all revisions have them.
fn indicated_by(definition: &RanFunctionDefinition<'_>) -> u8 {
    let (v1, v3, v5) = (Revision::V1_03.bit(), Revision::V3_00.bit(), Revision::V5_00.bit());
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
    fn revision_is_parsed_with_and_without_prefix() {
        for revision in Revision::ALL {
            let text = revision.to_string();
            for spelling in [&text[..], &text[1..], &text[2..]] {
                assert_eq!(spelling.parse(), Ok(revision), "{spelling}");
            }
        }
        for bad in ["", "3", "3.0", "1.00", "v", "v003.00"] {
            assert_eq!(bad.parse::<Revision>(), Err(Revision::UNKNOWN), "{bad}");
        }
        assert_eq!(Revision::UNKNOWN.to_string(), "not a revision of E2SM-RC: expected 1.03, 3.00 or 5.00");
    }

    #[test]
    fn oldest_revision_is_assumed_unless_numbered() {
        let seen = detect(&definition(), Revision::V3_00, 0);
        assert_eq!((seen.revision, seen.reason), (Revision::V1_03, Reason::Oldest));
        assert_eq!(seen.to_string(), "E2SM-RC v01.03, no evidence of a newer one; possibly v03.00, v05.00");
        for (number, revision) in [(1, Revision::V1_03), (3, Revision::V3_00), (5, Revision::V5_00)] {
            let seen = detect(&definition(), Revision::V1_03, number);
            assert_eq!((seen.revision, seen.reason), (revision, Reason::FunctionRevision));
        }
        assert_eq!(Detection::from_ran_function("1.3.6.1.4.1.53148.1.2.2.2", 0, &[]), Err(Error::UnknownOid));
        assert!(matches!(Detection::from_ran_function(OID, 0, &[0xFF]), Err(Error::NoRevisionFits(_))));
    }

    #[test]
    fn definition_indicates_revision() {
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
