//! Which revision a node speaks (E2SM-KPM clause 7.2 and what the field makes of it).
//!
//! The object identifier alone does not tell: v02.01 and v02.03 share one, v03.00 and v04.00 another, and there are
//! base stations that register the older one while they speak v03.00. So it gives candidates; the RAN function's
//! revision number, its definition and, later, the size of the time stamps narrow them.
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
//! // the node's first indication header has a time stamp of 8 octets
//! let detection = detection.with_header(&[0x00, 0xe8, 0x4d, 0x24, 0x5b, 0x00, 0x00, 0x00, 0x00]);
//! assert_eq!((detection.revision, detection.reason), (Revision::V3_00, Reason::TimeStamp));
//!
//! // whoever knows better says so
//! assert_eq!(Detection::configured("2.01".parse()?).revision, Revision::V2_01);
//! # Ok::<(), e2sm::Error>(())
//! ```

use core::fmt;

use super::revision::{OID_V1, OID_V2, OID_V3, Revision};
use super::{IndicationHeader, RanFunctionDefinition, v1};
use crate::common::RanFunctionName;
use crate::{Arena, Error, Wire};

/// What decided on a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The configuration says so.
    Configured,
    /// The object identifier, and among the revisions that share it the one most nodes speak.
    Oid,
    /// The RAN function's revision number, which nodes let follow the specification's.
    FunctionRevision,
    /// The RAN function definition holds what older revisions do not have.
    Definition,
    /// The size of the time stamp in an indication header.
    TimeStamp,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Configured => "configured",
            Reason::Oid => "by its object identifier",
            Reason::FunctionRevision => "by its RAN function revision",
            Reason::Definition => "by its RAN function definition",
            Reason::TimeStamp => "by its time stamps",
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
        write!(f, "E2SM-KPM {}, {}", self.revision, self.reason)?;
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
    /// What somebody who knows the node has configured; nothing else changes it.
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
    /// carries them. Nodes of E2AP v01.00 tell no identifier: there it is empty, and the whole definition has to be one
    /// that says by its name that it is KPM's.
    ///
    /// # Errors
    /// [`Error::UnknownOid`], and [`Error::NoRevisionFits`] where the definition cannot be read.
    pub fn from_ran_function(oid: &str, function_revision: u16, definition: &[u8]) -> Result<Self, Error> {
        // The likeliest first. v04.00 reads all that v03.00 has, and writes the same where its additions are not used.
        let (wire, own) = Wire::of(oid.trim());
        let by_oid: &[Revision] = match own {
            "" => return Detection::of_definition(function_revision, definition),
            OID_V1 if wire == Wire::Per => &[Revision::V1_00],
            OID_V2 => &[Revision::V3_00, Revision::V2_03, Revision::V2_01],
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
        let mut reason = if left.len() < by_oid.len() { Reason::Definition } else { Reason::Oid };
        if has_bins && left.contains(&Revision::V2_01) {
            // bins are an addition of v02.03
            left.retain(|revision| *revision != Revision::V2_01);
            reason = Reason::Definition;
        }
        // FlexRIC and OAI number their function 2 or 3 by the version they follow; 0 and 1 tell nothing.
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
        let candidates = left.iter().fold(0, |bits, revision| bits | bit(*revision));
        Ok(Detection { revision, reason, wire, candidates })
    }

    /// What the definition alone tells. v01.00's begins otherwise than the later ones', and each has to be read to its
    /// end.
    fn of_definition(function_revision: u16, definition: &[u8]) -> Result<Self, Error> {
        let arena = Arena::new();
        let is_kpm = |name: &RanFunctionName<'_>| name.short_name.to_ascii_uppercase().contains("KPM");
        if let Ok(read) = v1::RanFunctionDefinition::decode(definition, &arena)
            && (is_kpm(&read.ran_function_name) || &*read.ran_function_name.e2sm_oid == OID_V1)
        {
            let candidates = bit(Revision::V1_00);
            return Ok(Detection {
                revision: Revision::V1_00,
                reason: Reason::Definition,
                wire: Wire::Per,
                candidates,
            });
        }
        // all that have it read it: the newest reads the most
        let read = RanFunctionDefinition::decode(definition, Revision::V4_00, &arena).map_err(|_| Error::UnknownOid)?;
        match &*read.ran_function_name.e2sm_oid {
            oid @ (OID_V2 | OID_V3) => Detection::from_ran_function(oid, function_revision, definition),
            _ => Err(Error::UnknownOid),
        }
    }

    /// The revisions that the node may speak, oldest first.
    pub fn candidates(&self) -> impl Iterator<Item = Revision> + use<> {
        let bits = self.candidates;
        Revision::ALL.into_iter().filter(move |revision| bits & bit(*revision) != 0)
    }

    /// What an indication header tells on top, by the size of its time stamp. The choice stays where the header can be
    /// read under it, where it is configured, or where no candidate fits.
    #[must_use]
    pub fn with_header(self, header: &[u8]) -> Self {
        let reads = |revision: Revision| IndicationHeader::decode(header, revision).is_ok();
        // FlatBuffers tell the stamps apart
        if self.reason == Reason::Configured || self.wire == Wire::Flat || reads(self.revision) {
            return self;
        }
        let fitting = self.candidates().filter(|revision| reads(*revision));
        let candidates = fitting.fold(0, |bits, revision| bits | bit(revision));
        let chosen = Revision::ALL.into_iter().rev().find(|revision| candidates & bit(*revision) != 0);
        match chosen {
            Some(revision) => Detection { revision, reason: Reason::TimeStamp, candidates, ..self },
            None => self,
        }
    }
}

/// What is wrong with a definition; one in a wire form that is not built in is as good as unknown.
fn fault(error: Error) -> per::Error {
    match error {
        Error::Codec(error) => error,
        _ => per::Error { kind: per::ErrorKind::UnknownExtension, bit: 0, at: "wire form" },
    }
}

const fn bit(revision: Revision) -> u8 {
    1 << revision as u8
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
    fn the_function_gives_candidates() {
        let of = |oid, revision, bins| Detection::from_ran_function(oid, revision, &definition(bins)).unwrap();
        let seen = of(OID_V2, 0, false);
        assert_eq!((seen.revision, seen.reason), (Revision::V3_00, Reason::Oid));
        assert_eq!(seen.candidates().collect::<Vec<_>>(), [Revision::V2_01, Revision::V2_03, Revision::V3_00]);
        assert_eq!(seen.to_string(), "E2SM-KPM v03.00, by its object identifier; could be v02.01, v02.03");

        let seen = of(OID_V2, 0, true);
        assert_eq!((seen.revision, seen.reason), (Revision::V3_00, Reason::Definition));
        assert_eq!(seen.candidates().collect::<Vec<_>>(), [Revision::V2_03, Revision::V3_00]);

        let seen = of(OID_V2, 2, false);
        assert_eq!((seen.revision, seen.reason), (Revision::V2_03, Reason::FunctionRevision));
        let seen = of(OID_V3, 4, true);
        assert_eq!((seen.revision, seen.reason), (Revision::V4_00, Reason::FunctionRevision));
        assert_eq!(of(OID_V3, 3, false).revision, Revision::V3_00);
        assert_eq!(of(OID_V3, 2, false).revision, Revision::V4_00, "not what the identifier allows");

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
    fn a_node_without_an_identifier_is_known_by_its_definition() {
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
    fn v1_has_types_of_its_own() {
        let error = IndicationHeader::decode(&[0; 9], Revision::V1_00).unwrap_err();
        assert_eq!(error.kind, per::ErrorKind::NotInRevision);
    }

    #[test]
    fn the_stamp_narrows() {
        let short = [0x00, 1, 2, 3, 4];
        let long = [0x00, 1, 2, 3, 4, 5, 6, 7, 8];
        let seen = Detection::from_ran_function(OID_V2, 0, &definition(false)).unwrap();
        assert_eq!(seen.with_header(&long), seen, "as expected");
        let narrowed = seen.with_header(&short);
        assert_eq!((narrowed.revision, narrowed.reason), (Revision::V2_03, Reason::TimeStamp));
        assert_eq!(narrowed.candidates().collect::<Vec<_>>(), [Revision::V2_01, Revision::V2_03]);
        assert_eq!(seen.with_header(&[]), seen, "what no candidate can read tells nothing");

        let v3 = Detection::from_ran_function(OID_V3, 0, &definition(false)).unwrap();
        assert_eq!(v3.with_header(&short), v3, "not a candidate");
        let configured = Detection::configured(Revision::V2_01);
        assert_eq!(configured.with_header(&long), configured);
    }
}
