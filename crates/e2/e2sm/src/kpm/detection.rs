//! Detection of the revision that a node uses (E2SM-KPM clause 7.2 and the practice of existing nodes).
//!
//! The object identifier alone is ambiguous: v02.01 and v02.03 share one, v03.00 and v04.00 another, and some base
//! stations register the older one for v03.00. It yields candidates, which the RAN function revision, the RAN function
//! definition and later the size of the time stamps narrow down.
//!
//! ```
//! use e2sm::kpm::{Detection, Reason, Revision};
//! # use e2sm::common::RanFunctionName;
//! # use e2sm::kpm::RanFunctionDefinition;
//! # use per::PrintableString;
//! # let definition = RanFunctionDefinition {
//! #     ran_function_name: RanFunctionName {
//! #         short_name: PrintableString::literal("ORAN-E2SM-KPM"),
//! #         e2sm_oid: PrintableString::literal("1.3.6.1.4.1.53148.1.2.2.2"),
//! #         description: PrintableString::literal("KPM monitor"),
//! #         instance: None,
//! #     },
//! #     ric_event_trigger_style_list: None,
//! #     ric_report_style_list: None,
//! # };
//! # let mut bytes = Vec::new();
//! # definition.encode(Revision::V2_03, &mut bytes)?;
//!
//! let detection = Detection::from_ran_function("1.3.6.1.4.1.53148.1.2.2.2", 2, &bytes)?;
//! assert_eq!((detection.revision, detection.reason), (Revision::V2_03, Reason::FunctionRevision));
//!
//! // the first indication header has a time stamp of 8 octets
//! let detection = detection.with_header(&[0x00, 0xe8, 0x4d, 0x24, 0x5b, 0x00, 0x00, 0x00, 0x00]);
//! assert_eq!((detection.revision, detection.reason), (Revision::V3_00, Reason::TimeStamp));
//!
//! // a configured revision takes precedence
//! assert_eq!(Detection::configured("2.01".parse()?).revision, Revision::V2_01);
//! # Ok::<(), e2sm::Error>(())
//! ```

use super::revision::{OID_V1, OID_V2, OID_V3, Revision};
use super::{IndicationHeader, RanFunctionDefinition, v1, v2_00};
use crate::common::RanFunctionName;
use crate::{Arena, Error, ModelRevision, Reason, Wire};

/// The revision of E2SM-KPM that a node uses.
pub type Detection = crate::Detection<Revision>;

impl Detection {
    /// Detects the revision of a RAN function from its object identifier, revision and definition, as E2AP carries
    /// them. Nodes of E2AP v01.00 send no object identifier: it is then empty, and the definition must decode to its end
    /// and name the KPM model.
    ///
    /// # Errors
    /// [`Error::UnknownOid`], or [`Error::NoRevisionFits`] if the definition cannot be decoded.
    pub fn from_ran_function(oid: &str, function_revision: u16, definition: &[u8]) -> Result<Self, Error> {
        // Most likely first. v04.00 decodes everything of v03.00, and encodes the same unless its additions are used.
        let (wire, own) = Wire::of(oid.trim());
        let by_oid: &[Revision] = match own {
            "" => return Detection::of_definition(function_revision, definition),
            OID_V1 if wire == Wire::Per => &[Revision::V1_00],
            OID_V2 => &[Revision::V3_00, Revision::V2_03, Revision::V2_01, Revision::V2_00],
            OID_V3 => &[Revision::V4_00, Revision::V3_00],
            _ => return Err(Error::UnknownOid),
        };
        let mut has_bins = false;
        let mut failed = None;
        let mut fits = |revision: &Revision| {
            let arena = Arena::new();
            if *revision == Revision::V1_00 {
                return match v1::RanFunctionDefinition::decode(definition, &arena) {
                    Ok(_) => true,
                    Err(error) => {
                        failed.get_or_insert(error);
                        false
                    }
                };
            }
            if *revision == Revision::V2_00 {
                // no error of the others is hidden: they are more likely
                return wire == Wire::Per && v2_00::RanFunctionDefinition::decode(definition, &arena).is_ok();
            }
            match RanFunctionDefinition::decode_in(definition, *revision, wire, &arena).map_err(fault) {
                Ok(definition) => {
                    has_bins |= offers_bins(&definition);
                    true
                }
                Err(error) => {
                    failed.get_or_insert(error);
                    false
                }
            }
        };
        let mut left: Vec<Revision> = by_oid.iter().copied().filter(|revision| fits(revision)).collect();
        // a definition of v02.00 is no other's, and the reverse: that it does not fit says nothing about the others
        let is_by_oid = by_oid.iter().all(|revision| left.contains(revision) || *revision == Revision::V2_00);
        let mut reason = if is_by_oid { Reason::Oid } else { Reason::Definition };
        if has_bins && left.contains(&Revision::V2_01) {
            // bins are an addition of v02.03
            left.retain(|revision| *revision != Revision::V2_01);
            reason = Reason::Definition;
        }
        // FlexRIC and OAI set the RAN function revision to 2 or 3, after the version they follow; 0 and 1 have no meaning.
        let numbered = match function_revision {
            2 => Some(Revision::V2_03),
            3 => Some(Revision::V3_00),
            4 => Some(Revision::V4_00),
            _ => None,
        };
        let revision = match numbered.filter(|revision| left.contains(revision)) {
            Some(revision) => {
                reason = Reason::FunctionRevision;
                revision
            }
            None => *left.first().ok_or(match failed {
                Some(error) => Error::NoRevisionFits(error),
                None => Error::UnknownOid,
            })?,
        };
        let candidates = left.iter().fold(0, |bits, revision| bits | revision.bit());
        Ok(Detection::new(revision, reason, wire, candidates))
    }

    /// Detects the revision from the definition alone. That of v01.00 begins differently from later ones; either must
    /// decode to its end.
    fn of_definition(function_revision: u16, definition: &[u8]) -> Result<Self, Error> {
        let arena = Arena::new();
        // O-RAN SC's simulator has an empty short name, and names the model in the description
        let says_kpm = |text: &str| text.to_ascii_uppercase().contains("KPM");
        let is_kpm = |name: &RanFunctionName<'_>| {
            says_kpm(&name.short_name) || name.short_name.is_empty() && says_kpm(&name.description)
        };
        if let Ok(read) = v1::RanFunctionDefinition::decode(definition, &arena)
            && (is_kpm(&read.ran_function_name) || &*read.ran_function_name.e2sm_oid == OID_V1)
        {
            let revision = Revision::V1_00;
            return Ok(Detection::new(revision, Reason::Definition, Wire::Per, revision.bit()));
        }
        // the newest revision decodes the definitions of all since v02.01
        let read = RanFunctionDefinition::decode(definition, Revision::V4_00, &arena).map_err(|_| Error::UnknownOid)?;
        match &*read.ran_function_name.e2sm_oid {
            oid @ (OID_V2 | OID_V3) => Detection::from_ran_function(oid, function_revision, definition),
            _ => Err(Error::UnknownOid),
        }
    }

    /// Narrows the detection by the size of the time stamp in an indication header. The revision stays if it decodes the
    /// header, if it is configured, or if no candidate decodes the header.
    #[must_use]
    pub fn with_header(self, header: &[u8]) -> Self {
        let reads = |revision: Revision| IndicationHeader::decode(header, revision).is_ok();
        // in FlatBuffers the two time stamps are different fields
        if self.reason == Reason::Configured || self.wire == Wire::Flat || reads(self.revision) {
            return self;
        }
        let fitting = || self.candidates().filter(|revision| reads(*revision));
        match fitting().next_back() {
            Some(newest) => {
                let candidates = fitting().fold(0, |bits, revision| bits | revision.bit());
                Detection::new(newest, Reason::TimeStamp, self.wire, candidates)
            }
            None => self,
        }
    }
}

/// The codec error of a definition; an encoding that is not built in counts as unknown.
fn fault(error: Error) -> per::Error {
    match error {
        Error::Codec(error) => error,
        _ => per::Error { kind: per::ErrorKind::UnknownExtension, bit: 0, at: "encoding" },
    }
}

fn offers_bins(definition: &RanFunctionDefinition<'_>) -> bool {
    let styles = definition.ric_report_style_list.iter().flatten();
    styles.flat_map(|style| &style.meas_info_action_list).any(|item| item.bin_range_def.is_some())
}

#[cfg(test)]
mod tests {
    use per::{List, PrintableString};

    use super::*;
    use crate::common::{RicFormatType, RicStyleName, RicStyleType};
    use crate::kpm::{
        BinIndex, BinRangeDefinition, BinRangeItem, BinRangeValue, MeasurementInfoActionItem, MeasurementTypeName,
        RicReportStyleItem,
    };

    fn definition(with_bins: bool) -> Vec<u8> {
        let bin = BinRangeItem {
            bin_index: BinIndex(1),
            start_value: BinRangeValue::ValueInt(0),
            end_value: BinRangeValue::ValueInt(9),
        };
        let bins = BinRangeDefinition {
            bin_range_list_x: List::from(vec![bin]),
            bin_range_list_y: None,
            bin_range_list_z: None,
        };
        let style = RicReportStyleItem {
            ric_report_style_type: RicStyleType(1),
            ric_report_style_name: RicStyleName(PrintableString::literal("E2 Node Measurement")),
            ric_action_format_type: RicFormatType(1),
            meas_info_action_list: List::from(vec![MeasurementInfoActionItem {
                meas_name: MeasurementTypeName(PrintableString::literal("CARR.PDSCHMCSDist")),
                meas_id: None,
                bin_range_def: with_bins.then_some(bins),
            }]),
            ric_indication_header_format_type: RicFormatType(1),
            ric_indication_message_format_type: RicFormatType(1),
        };
        let definition = RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: PrintableString::literal("ORAN-E2SM-KPM"),
                e2sm_oid: PrintableString::literal(OID_V2),
                description: PrintableString::literal("KPM"),
                instance: None,
            },
            ric_event_trigger_style_list: None,
            ric_report_style_list: Some(List::from(vec![style])),
        };
        let mut bytes = Vec::new();
        definition.encode(Revision::V3_00, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn ran_function_yields_candidates() {
        let of = |oid, revision, bins| Detection::from_ran_function(oid, revision, &definition(bins)).unwrap();
        let seen = of(OID_V2, 0, false);
        assert_eq!((seen.revision, seen.reason), (Revision::V3_00, Reason::Oid));
        assert_eq!(seen.candidates().collect::<Vec<_>>(), [Revision::V2_01, Revision::V2_03, Revision::V3_00]);
        assert_eq!(seen.to_string(), "E2SM-KPM v03.00, by object identifier; possibly v02.01, v02.03");

        let seen = of(OID_V2, 0, true);
        assert_eq!((seen.revision, seen.reason), (Revision::V3_00, Reason::Definition));
        assert_eq!(seen.candidates().collect::<Vec<_>>(), [Revision::V2_03, Revision::V3_00]);

        let seen = of(OID_V2, 2, false);
        assert_eq!((seen.revision, seen.reason), (Revision::V2_03, Reason::FunctionRevision));
        let seen = of(OID_V3, 4, true);
        assert_eq!((seen.revision, seen.reason), (Revision::V4_00, Reason::FunctionRevision));
        assert_eq!(of(OID_V3, 3, false).revision, Revision::V3_00);
        assert_eq!(of(OID_V3, 2, false).revision, Revision::V4_00, "the object identifier excludes v02.03");

        let good = definition(false);
        assert!(matches!(Detection::from_ran_function(OID_V1, 0, &good), Err(Error::NoRevisionFits(_))));
        assert_eq!(Detection::from_ran_function("1.3.6.1.4.1.53148.1.1.2.3", 0, &good), Err(Error::UnknownOid));
        let cut = &good[..good.len() - 2];
        assert!(matches!(Detection::from_ran_function(OID_V3, 0, cut), Err(Error::NoRevisionFits(_))));
    }

    fn v1_definition(short_name: &'static str, oid: &'static str) -> Vec<u8> {
        let definition = v1::RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: PrintableString::literal(short_name),
                e2sm_oid: PrintableString::literal(oid),
                description: PrintableString::literal("KPM monitor"),
                instance: None,
            },
            e2sm_kpm_ran_function_item: v1::RanFunctionItem {
                ric_event_trigger_style_list: None,
                ric_report_style_list: None,
            },
        };
        let mut bytes = Vec::new();
        definition.encode(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn revision_is_detected_without_object_identifier() {
        let v1 = v1_definition("ORAN-E2SM-KPM", "OID123");
        for oid in ["", OID_V1] {
            let seen = Detection::from_ran_function(oid, 1, &v1).unwrap();
            assert_eq!(seen.revision, Revision::V1_00);
            assert_eq!(seen.candidates().collect::<Vec<_>>(), [Revision::V1_00]);
            assert_eq!(seen.with_header(&[0, 1, 2, 3, 4]), seen);
        }
        let by_oid = v1_definition("monitoring", OID_V1);
        assert_eq!(Detection::from_ran_function("", 1, &by_oid).unwrap().revision, Revision::V1_00);
        let seen = Detection::from_ran_function("", 3, &definition(false)).unwrap();
        assert_eq!((seen.revision, seen.reason), (Revision::V3_00, Reason::FunctionRevision));
        for other in [&v1_definition("ORAN-E2SM-NI", "OID123")[..], &v1[..v1.len() - 1], b"hello", b""] {
            assert_eq!(Detection::from_ran_function("", 1, other), Err(Error::UnknownOid));
        }
        assert!(matches!(Detection::from_ran_function(OID_V2, 1, &v1), Err(Error::NoRevisionFits(_))));
    }

    #[test]
    fn shared_types_do_not_decode_v1() {
        let error = IndicationHeader::decode(&[0; 9], Revision::V1_00).unwrap_err();
        assert_eq!(error.kind, per::ErrorKind::NotInRevision);
    }

    #[test]
    fn time_stamp_narrows_candidates() {
        let short = [0x00, 1, 2, 3, 4];
        let long = [0x00, 1, 2, 3, 4, 5, 6, 7, 8];
        let seen = Detection::from_ran_function(OID_V2, 0, &definition(false)).unwrap();
        assert_eq!(seen.with_header(&long), seen, "consistent with the header");
        let narrowed = seen.with_header(&short);
        assert_eq!((narrowed.revision, narrowed.reason), (Revision::V2_03, Reason::TimeStamp));
        assert_eq!(narrowed.candidates().collect::<Vec<_>>(), [Revision::V2_01, Revision::V2_03]);
        assert_eq!(seen.with_header(&[]), seen, "no candidate decodes an empty header");

        let v3 = Detection::from_ran_function(OID_V3, 0, &definition(false)).unwrap();
        assert_eq!(v3.with_header(&short), v3, "not a candidate");
        let configured = Detection::configured(Revision::V2_01);
        assert_eq!(configured.with_header(&long), configured);
    }

    #[test]
    fn model_without_short_name_is_known_by_its_description() {
        let named_by_description = |short_name, description| {
            let definition = v1::RanFunctionDefinition {
                ran_function_name: RanFunctionName {
                    short_name: PrintableString::literal(short_name),
                    e2sm_oid: PrintableString::literal("OID123"),
                    description: PrintableString::literal(description),
                    instance: None,
                },
                e2sm_kpm_ran_function_item: v1::RanFunctionItem {
                    ric_event_trigger_style_list: None,
                    ric_report_style_list: None,
                },
            };
            let mut bytes = Vec::new();
            definition.encode(&mut bytes).unwrap();
            Detection::from_ran_function("", 0, &bytes).map(|seen| seen.revision)
        };
        assert_eq!(named_by_description("", "KPM monitor"), Ok(Revision::V1_00));
        assert_eq!(named_by_description("", "monitor"), Err(Error::UnknownOid));
        assert_eq!(named_by_description("NI", "as the KPM monitor"), Err(Error::UnknownOid), "it has another name");
    }
}
