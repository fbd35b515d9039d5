//! The labels with which a base station measures what belongs to a tenant.
//!
//! | tenant | a measurement without slice | with a slice |
//! |---|---|---|
//! | its whole PLMN | the PLMN | the PLMN and the slice |
//! | one S-NSSAI | the PLMN and the slice | the same; another slice is refused |
//! | several S-NSSAIs | the sum over its slices | the PLMN and the slice, one of its own |
//! | what others leave of its PLMN | the PLMN, less the slices of the others | the PLMN and the slice; a slice of the others is refused |
//!
//! A sum or difference has a meaning only for measurements that are sums over UEs: volumes, counts of transport blocks, resource blocks,
//! numbers of UEs. Any other one (a mean, a ratio, a distribution) is refused where it would need several labels.

use std::collections::HashMap;

use e2sm::Arena;
use e2sm::common::SNssai;
use e2sm::kpm::{
    Detection, LabelInfoItem, LabelInfoList, MeasurementInfoItem, MeasurementLabel, MeasurementRecordItem,
    MeasurementType, RanFunctionDefinition,
};
use ferric::e2ap::{Cause, CauseRicRequest};
use per::{List, Real};

use crate::sla::{Sla, Tenant};

const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);
/// E2AP before v03.01 has no cause for information that is not available: this one says that it will not be.
const NOT_SUPPORTED: Cause = Cause::RicRequest(CauseRicRequest::ActionNotSupported);
const TOO_MANY: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);

/// The maximum number of labels of an action, towards the base station.
const MAX_LABELS: usize = 4096;

/// Measurements that are sums over UEs, besides counts of transport blocks (`TB.`): TS 28.552 and E2SM-KPM 7.10, and names of base
/// stations.
const SUMS: [&str; 15] = [
    "DRB.PdcpSduVolumeDL",
    "DRB.PdcpSduVolumeUL",
    "DRB.RlcSduTransmittedVolumeDL",
    "DRB.RlcSduTransmittedVolumeUL",
    "DRB.MeanActiveUeDl",
    "DRB.MeanActiveUeUl",
    "DRB.BufferSize.Qos",
    "QosFlow.PdcpPduVolumeDL_Filter",
    "RRU.PrbTotDl",
    "RRU.PrbTotUl",
    "RRU.PrbUsedDl",
    "RRU.PrbUsedUl",
    "RRC.ConnMean",
    "RRC.InactiveConnMean",
    "TB.",
];

/// Whether a measurement is a sum over UEs.
pub(crate) fn is_sum(name: &str) -> bool {
    SUMS.iter().any(|sum| *sum == name || sum.ends_with('.') && name.starts_with(sum))
}

/// The sum of the values of several parts of a base station; no value if there are none.
pub(crate) fn sum<'a>(values: &[MeasurementRecordItem<'a>]) -> MeasurementRecordItem<'a> {
    match values {
        [] => MeasurementRecordItem::NoValue,
        [only] => only.clone(),
        values => Combination::Sum(values.len()).value(values),
    }
}

/// Of which values of the base station a value of a tenant is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combination {
    One,
    /// The sum of so many.
    Sum(usize),
    /// The first one, less so many others.
    Difference(usize),
}

impl Combination {
    /// The number of labels.
    pub fn labels(&self) -> usize {
        match self {
            Combination::One => 1,
            Combination::Sum(values) => *values,
            Combination::Difference(others) => 1 + others,
        }
    }

    /// The value of the tenant. If a part has no value, it has none: others could be seen in it.
    pub fn value<'a>(&self, values: &[MeasurementRecordItem<'a>]) -> MeasurementRecordItem<'a> {
        if let ([only], Combination::One) = (values, self) {
            return only.clone();
        }
        let is_difference = matches!(self, Combination::Difference(_));
        let (mut total, mut is_whole) = (0.0, true);
        for (at, value) in values.iter().enumerate() {
            let number = match value {
                MeasurementRecordItem::Integer(number) => f64::from(*number),
                MeasurementRecordItem::Real(number) => {
                    is_whole = false;
                    number.value()
                }
                _ => return MeasurementRecordItem::NoValue,
            };
            total += if is_difference && at > 0 { -number } else { number };
        }
        // the parts are rounded
        let total = total.max(0.0);
        if is_whole && total <= f64::from(u32::MAX) {
            return MeasurementRecordItem::Integer(total as u32);
        }
        MeasurementRecordItem::Real(Real::from(total))
    }
}

/// The labels of a tenant.
pub(super) struct Labels<'a> {
    tenant: &'a Tenant,
    /// The slices of its PLMN that belong to other tenants; empty for a tenant with S-NSSAIs.
    of_others: Vec<SNssai>,
    function: (&'a Detection, &'a [u8]),
}

impl<'a> Labels<'a> {
    /// The labels of a tenant. `function` is the function's model and definition.
    pub fn of(sla: &'a Sla, tenant: usize, function: (&'a Detection, &'a [u8])) -> Self {
        let own = &sla.tenants[tenant];
        let others = sla.tenants.iter().filter(|other| own.s_nssais.is_empty() && other.plmn == own.plmn);
        let of_others = others.flat_map(|other| other.s_nssais.iter().copied()).collect();
        Labels { tenant: own, of_others, function }
    }

    /// Returns the measurements that are sent to the base station, and of which of their values each value of the tenant is made.
    ///
    /// # Errors
    /// The cause: a label of another network, a measurement that would show others, or too many labels.
    pub fn translate(
        &self,
        measurements: &[MeasurementInfoItem<'static>],
    ) -> Result<(List<'static, MeasurementInfoItem<'static>>, Vec<Combination>), Cause> {
        let (mut translated, mut combinations, mut sent) = (Vec::new(), Vec::new(), 0);
        let mut names = None;
        for item in measurements {
            let mut labels = Vec::new();
            for asked in item.label_info_list.iter() {
                let combination = self.add(asked.meas_label, &mut labels)?;
                if combination != Combination::One {
                    let has_conditions = item.match_cond_report_list.is_some();
                    if has_conditions || !is_plain(&asked.meas_label) || !self.is_sum(&item.meas_type, &mut names) {
                        return Err(NOT_SUPPORTED);
                    }
                }
                sent += combination.labels();
                if sent > MAX_LABELS {
                    return Err(TOO_MANY);
                }
                combinations.push(combination);
            }
            translated.push(MeasurementInfoItem { label_info_list: LabelInfoList(labels.into()), ..item.clone() });
        }
        Ok((translated.into(), combinations))
    }

    /// Appends the labels that make up a label of the tenant.
    fn add(&self, asked: MeasurementLabel, labels: &mut Vec<LabelInfoItem>) -> Result<Combination, Cause> {
        let (own, plmn) = (&self.tenant.s_nssais[..], self.tenant.plmn);
        if asked.plmn_id.is_some_and(|asked| asked != plmn) {
            return Err(UNAVAILABLE);
        }
        let mut push = |slice_id: Option<SNssai>| {
            let meas_label = MeasurementLabel { no_label: None, plmn_id: Some(plmn), slice_id, ..asked };
            labels.push(LabelInfoItem { meas_label });
        };
        match (asked.slice_id, own) {
            (Some(slice), []) if self.of_others.contains(&slice) => return Err(UNAVAILABLE),
            (Some(slice), [_, ..]) if !own.contains(&slice) => return Err(UNAVAILABLE),
            (slice @ Some(_), _) => push(slice),
            (None, [slice]) => push(Some(*slice)),
            (None, []) => {
                push(None);
                self.of_others.iter().for_each(|slice| push(Some(*slice)));
                if !self.of_others.is_empty() {
                    return Ok(Combination::Difference(self.of_others.len()));
                }
            }
            (None, own) => {
                own.iter().for_each(|slice| push(Some(*slice)));
                return Ok(Combination::Sum(own.len()));
            }
        }
        Ok(Combination::One)
    }

    /// Whether a measurement is a sum over UEs. `names` are those that the definition has for numbers, once they were read.
    fn is_sum(&self, measurement: &MeasurementType<'_>, names: &mut Option<HashMap<u32, String>>) -> bool {
        match measurement {
            MeasurementType::MeasName(name) => is_sum(name.0.as_str()),
            MeasurementType::MeasId(id) => {
                let names = names.get_or_insert_with(|| self.names());
                names.get(&id.0).is_some_and(|name| is_sum(name))
            }
        }
    }

    fn names(&self) -> HashMap<u32, String> {
        let (Detection { revision, wire, .. }, definition) = self.function;
        let arena = Arena::new();
        let Ok(definition) = RanFunctionDefinition::decode_in(definition, *revision, *wire, &arena) else {
            return HashMap::new();
        };
        let styles = definition.ric_report_style_list.iter().flat_map(|styles| styles.iter());
        let measurements = styles.flat_map(|style| style.meas_info_action_list.iter());
        let named = |item: &e2sm::kpm::MeasurementInfoActionItem<'_>| {
            Some((item.meas_id.as_ref()?.0, item.meas_name.0.as_str().to_owned()))
        };
        measurements.filter_map(named).collect()
    }
}

/// Whether a label selects traffic only, so that its values can be added: no minimum, maximum or mean, no bin of a distribution.
fn is_plain(label: &MeasurementLabel) -> bool {
    let MeasurementLabel { no_label, plmn_id, slice_id, five_qi, qfi, qci, .. } = *label;
    *label == MeasurementLabel { no_label, plmn_id, slice_id, five_qi, qfi, qci, ..MeasurementLabel::default() }
}
