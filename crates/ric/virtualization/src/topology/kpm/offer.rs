//! What the KPM functions of the parts offer, and the one function that offers all of it.
//!
//! A measurement that parts of several kinds offer is that of the CU-CP, else of the CU-UPs: what passes through the CU is counted once,
//! also if a UE changes its DU.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::common::RicStyleType;
use e2sm::kpm::{Detection, RanFunctionDefinition, RicReportStyleItem};
use e2sm::{Arena, Error};
use ferric::e2::topology::Part;
use ferric::e2::{NodeId, RanFunction};
use ferric::e2ap::RanFunctionId;
use per::List;

use super::super::offers::{Offer, Offers, Ranked, ranked};
use crate::node::Offered;

/// The formats of action definitions.
const FORMATS: usize = 5;

/// What a part offers.
#[derive(Debug)]
pub(super) struct KpmOffer {
    /// The report style of each action definition format.
    styles: [Option<RicStyleType>; FORMATS],
    /// The measurements of the node and its cells.
    of_node: BTreeSet<String>,
    /// The measurements of UEs. A node accepts those of one style for UEs in the others.
    of_ues: BTreeSet<String>,
}

impl KpmOffer {
    fn new(function: &RanFunction, detection: &Detection, has_node_measurements: bool) -> Result<Self, Error> {
        let arena = Arena::new();
        let decoded =
            RanFunctionDefinition::decode_in(&function.definition, detection.revision, detection.wire, &arena)?;
        let mut offer = KpmOffer { styles: [None; FORMATS], of_node: BTreeSet::new(), of_ues: BTreeSet::new() };
        for style in decoded.ric_report_style_list.iter().flatten() {
            let format = style.ric_action_format_type.0;
            let Some(known) = usize::try_from(format - 1).ok().and_then(|at| offer.styles.get_mut(at)) else {
                continue;
            };
            if format == 1 && !has_node_measurements {
                continue;
            }
            known.get_or_insert(style.ric_report_style_type);
            let names = if format == 1 { &mut offer.of_node } else { &mut offer.of_ues };
            names.extend(style.meas_info_action_list.iter().map(|item| item.meas_name.as_str().to_owned()));
        }
        Ok(offer)
    }

    /// Any measurement of UEs.
    pub fn any_of_ues(&self) -> Option<&str> {
        self.of_ues.first().map(String::as_str)
    }

    /// The number of the part's report style with an action definition format.
    pub fn style(&self, format: usize) -> Option<RicStyleType> {
        self.styles.get(format.checked_sub(1)?).copied().flatten()
    }
}

/// The KPM functions of the parts of a base station.
#[derive(Debug, Default)]
pub(in super::super) struct KpmParts {
    /// Revision and encoding, which all have, and the function that gives its id, revision and object identifier.
    base: Option<(Detection, Part, RanFunction)>,
    offers: Offers<KpmOffer>,
    /// The names of the measurements that the definition gives a number.
    numbers: BTreeMap<u32, String>,
    definition: Vec<u8>,
}

impl KpmParts {
    /// Takes over the KPM functions that the parts have now. `shares_cu` says whether other base stations have the same CU. Functions of
    /// another revision or encoding than the first one are left alone.
    ///
    /// # Errors
    /// A definition cannot be decoded, or what they have together cannot be encoded.
    pub fn update<'f>(
        &mut self,
        functions: impl Iterator<Item = (Part, NodeId, &'f RanFunction)>,
        shares_cu: bool,
    ) -> Result<(), Error> {
        let mut present = BTreeMap::new();
        for (part, node, function) in functions {
            if let Some(Offered::Kpm(detection)) = Offered::of(function) {
                present.entry(ranked(part)).or_insert((node, function, detection));
            }
        }
        if self.base.is_none()
            && let Some(((_, part), (_, function, detection))) = present.first_key_value()
        {
            self.base = Some((*detection, *part, (*function).clone()));
        }
        let Some((base, ..)) = self.base else { return Ok(()) };
        present.retain(|_, (.., detection)| (detection.revision, detection.wire) == (base.revision, base.wire));
        let present = present.into_iter().map(|(part, (node, function, _))| (part, (node, function))).collect();
        let is_new = self.offers.update(present, |part, function| {
            // what a CU-UP counts as a whole is of all base stations
            let has_node_measurements = !(shares_cu && matches!(part.1, Part::CuUp(_)));
            KpmOffer::new(function, &base, has_node_measurements)
        })?;
        if is_new {
            (self.definition, self.numbers) = merged(&base, self.offers.iter().map(|(_, offer)| offer))?;
        }
        Ok(())
    }

    pub fn clear(&mut self) {
        *self = KpmParts::default();
    }

    /// Revision and encoding; the part and the function that the merged one is named like; and its definition.
    pub fn merged(&self) -> Option<(Detection, Part, &RanFunction, &[u8])> {
        let (detection, part, function) = self.base.as_ref()?;
        (!self.definition.is_empty()).then_some((*detection, *part, function, &self.definition[..]))
    }

    /// The definition of the merged function; empty if there is none.
    pub fn definition(&self) -> &[u8] {
        &self.definition
    }

    /// Whether a function of a part is in the merged one.
    pub fn has(&self, part: Part, function: RanFunctionId) -> bool {
        !self.definition.is_empty() && self.offers.has(part, function)
    }

    pub(super) fn detection(&self) -> Option<Detection> {
        self.base.as_ref().map(|(detection, ..)| *detection)
    }

    /// What a part offers.
    pub(super) fn offer(&self, part: Ranked) -> Option<&KpmOffer> {
        self.offers.get(part).map(|offer| &offer.content)
    }

    /// The node and the function of a part; `None` while it is lost.
    pub(super) fn target(&self, part: Ranked) -> Option<(NodeId, RanFunctionId)> {
        self.offers.target(part)
    }

    /// The node of a part; `None` while it is lost.
    pub(super) fn node(&self, part: Ranked) -> Option<NodeId> {
        self.target(part).map(|(node, _)| node)
    }

    /// The name of the measurement that the definition gives this number.
    pub(super) fn name_of(&self, number: u32) -> Option<&str> {
        self.numbers.get(&number).map(String::as_str)
    }

    /// The number of parts of the same kind.
    pub(super) fn count_of_kind(&self, part: Ranked) -> usize {
        self.offers.iter().filter(|((rank, _), _)| *rank == part.0).count()
    }

    /// The parts of the first kind that are there, and have the report style with an action definition format, but for some.
    pub(super) fn with_style(&self, format: usize, without: &BTreeSet<Ranked>) -> Vec<Ranked> {
        let has = |part: Ranked, offer: &Offer<KpmOffer>| {
            offer.node.is_some() && offer.content.style(format).is_some() && !without.contains(&part)
        };
        let mut parts: Vec<_> = self.offers.iter().filter(|(part, of)| has(*part, of)).map(|(part, _)| part).collect();
        let first = parts.first().map(|(rank, _)| *rank);
        parts.retain(|(rank, _)| Some(*rank) == first);
        parts
    }

    /// The parts that are asked for a measurement: all of the first kind of part that offers it.
    pub(super) fn offering(&self, name: &str, is_of_node: bool) -> Vec<Ranked> {
        let names =
            |offer: &KpmOffer| if is_of_node { offer.of_node.contains(name) } else { offer.of_ues.contains(name) };
        let offering = self.offers.iter().filter(|(_, offer)| names(&offer.content)).map(|(part, _)| part);
        let mut offering: Vec<_> = offering.collect();
        let first = offering.first().map(|(rank, _)| *rank);
        offering.retain(|(rank, _)| Some(*rank) == first);
        offering
    }
}

/// The definition with the report styles and measurements of all parts, and the names of the measurements that it numbers. A number
/// that an earlier part gives another measurement is left out.
fn merged<'o>(
    detection: &Detection,
    offers: impl Iterator<Item = &'o Offer<KpmOffer>>,
) -> Result<(Vec<u8>, BTreeMap<u32, String>), Error> {
    let arena = Arena::new();
    let mut merged: Option<RanFunctionDefinition<'_>> = None;
    let mut styles: Vec<(RicReportStyleItem<'_>, Vec<_>)> = Vec::new();
    let mut numbers = BTreeMap::new();
    for offer in offers {
        let decoded = RanFunctionDefinition::decode_in(&offer.definition, detection.revision, detection.wire, &arena)?;
        for style in decoded.ric_report_style_list.iter().flatten() {
            let format = style.ric_action_format_type.0;
            let is_left_out = format == 1 && offer.content.style(1).is_none();
            if is_left_out {
                continue;
            }
            let is_other = |known: &RicReportStyleItem<'_>| known.ric_report_style_type == style.ric_report_style_type;
            let at = match styles.iter().position(|(known, _)| known.ric_action_format_type.0 == format) {
                Some(at) => at,
                // the number is that of a style with another format
                None if styles.iter().any(|(known, _)| is_other(known)) => continue,
                None => {
                    styles.push((style.clone(), Vec::new()));
                    styles.len() - 1
                }
            };
            let items = &mut styles[at].1;
            let known: BTreeSet<String> = items
                .iter()
                .map(|item: &e2sm::kpm::MeasurementInfoActionItem<'_>| item.meas_name.to_string())
                .collect();
            for item in style.meas_info_action_list.iter().filter(|item| !known.contains(item.meas_name.as_str())) {
                let mut item = item.clone();
                item.meas_id = item.meas_id.filter(|id| {
                    let name = numbers.entry(id.0).or_insert_with(|| item.meas_name.to_string());
                    **name == *item.meas_name.as_str()
                });
                items.push(item);
            }
        }
        merged.get_or_insert(decoded);
    }
    let Some(mut merged) = merged else { return Ok((Vec::new(), numbers)) };
    let styles =
        styles.into_iter().map(|(style, items)| RicReportStyleItem { meas_info_action_list: items.into(), ..style });
    let styles: List<'_, _> = styles.filter(|style| !style.meas_info_action_list.is_empty()).collect();
    merged.ric_report_style_list = (!styles.is_empty()).then_some(styles);
    let mut out = Vec::new();
    merged.encode_in(detection.revision, detection.wire, &mut out)?;
    Ok((out, numbers))
}
