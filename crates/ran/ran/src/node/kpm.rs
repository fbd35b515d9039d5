//! E2SM-KPM: measurements of the cell and of UEs, computed from counters.

mod bins;
mod measurements;
mod mobility;
mod snapshot;
mod values;

use e2sm::common::{Cgi, FiveQi, SNssai, True, UeId};
use e2sm::kpm::{MeasurementLabel, TestCondType, Value, dictionary};
use ferric::agent::Ue;
use ferric::e2::Time;
use ran_functions::kpm::{Bin, KpmSource, MeasuredObject, SupportedMeasurement};

use super::{Node, core_id, ue_of};
use crate::counters::Counters;
use crate::node_type::UeNumbers;
use bins::{CQI_TABLES, CQIS, MCS, MCS_TABLES, RANKS, TENTHS, is_in};
use measurements::Kpi;
pub(super) use measurements::{Measurement, offered};
pub use snapshot::CounterSnapshot;
pub(super) use snapshot::GrowthCache;
use values::value;

impl Node {
    fn kpi(&self, measurement: usize) -> Option<Kpi> {
        self.measurements.get(measurement).map(|measurement| measurement.kpi)
    }

    /// The value of a measurement over cells of one base station, or over UEs in several of them. Counters are added up; what is not a
    /// count has no value.
    pub(crate) fn value_of_cells(
        parts: &[(&Node, &CounterSnapshot, Option<Vec<Ue>>)],
        measurement: usize,
        label: &MeasurementLabel,
    ) -> Value {
        let Some((first, since, _)) = parts.first() else { return Value::NoValue };
        let Some(kpi) = first.kpi(measurement) else { return Value::NoValue };
        let objects = || parts.iter().map(|(node, since, ues)| (node, since, ues.as_deref()));
        let object = |ues| match ues {
            None => MeasuredObject::Cell,
            Some(ues) => MeasuredObject::Ues(ues),
        };
        match kpi {
            Kpi::Mobility(_) => {
                let counts = objects().map(|(node, since, ues)| node.value(since, object(ues), measurement, label));
                let sum = counts.filter_map(|value| value.number()).sum::<f64>();
                Value::Integer(sum.min(u32::MAX.into()) as u32)
            }
            // of the cell where the UE is
            Kpi::ServingCell(_) | Kpi::StrongestNeighbour(_) if objects().all(|(_, _, ues)| ues.is_some()) => {
                let mut values = objects().map(|(node, since, ues)| {
                    let mut ues = ues.unwrap_or_default().to_vec();
                    ues.retain(|ue| node.place(*ue).is_some());
                    node.value(since, MeasuredObject::Ues(&ues), measurement, label)
                });
                values.find(|value| value.number().is_some()).unwrap_or(Value::NoValue)
            }
            Kpi::ServingCell(_) | Kpi::StrongestNeighbour(_) | Kpi::MaxConnected => Value::NoValue,
            _ => {
                let mut sum = Counters::default();
                objects().for_each(|(node, since, ues)| sum += &node.counted(since, object(ues), label));
                value(kpi, &sum, since, &first.cell())
            }
        }
    }

    /// The UE id of a UE by its number in the RAN, without its context.
    pub(crate) fn name_of_number(&self, number: u64) -> UeId<'static> {
        let here = UeNumbers::of_number(number, self.mobility.place().local);
        self.node_type.ue_id(core_id(number), here, self.profile.has_ran_ue_id)
    }

    /// Octets in the downlink RLC buffers of an object.
    fn buffered_octets(&self, object: MeasuredObject<'_>, label: &MeasurementLabel) -> u32 {
        let cell = self.cell();
        let mut octets = 0_u32;
        self.for_each_place(object, label, &mut |at| {
            let bearers = cell.ue(at).into_iter().flat_map(|ue| ue.bearers());
            octets = bearers.fold(octets, |sum, bearer| sum.saturating_add(bearer.downlink().waiting_octets()));
        });
        octets
    }
}

impl KpmSource for Node {
    type Snapshot = CounterSnapshot;

    fn cell(&self) -> Cgi {
        self.mobility.cell_of(self.mobility.number())
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        &self.offers
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        let cell = self.cell();
        out.extend(cell.ues().map(|(at, _)| ue_of(cell.ue_entry(at))));
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        self.node_type.ue_id(self.amf_ue_ngap_id(ue), self.ue_numbers(ue), self.profile.has_ran_ue_id)
    }

    fn take_snapshot(&self, mark: &mut CounterSnapshot) {
        self.fill_snapshot(mark);
    }

    fn advance(&mut self, until: Time) {
        self.last_read = self.last_read.max(until);
        self.advance_unread(until);
        self.growth.borrow_mut().clear();
    }

    fn value(
        &self,
        since: &CounterSnapshot,
        object: MeasuredObject<'_>,
        measurement: usize,
        label: &MeasurementLabel,
    ) -> Value {
        let Some(kpi) = self.kpi(measurement) else { return Value::NoValue };
        if (label.min.is_some() || label.max.is_some())
            && let Some(usage) = self.usage(since, kpi)
        {
            // of the cell only: minimum and maximum are not kept by UE
            let extreme = if label.min.is_some() { usage.min() } else { usage.max() };
            return extreme
                .filter(|_| !matches!(object, MeasuredObject::Ues(_)))
                .map_or(Value::NoValue, Value::Integer);
        }
        if kpi == Kpi::BufferDl {
            return Value::Integer(self.buffered_octets(object, label));
        }
        if let Some(value) = self.mobility_value(since, object, label, kpi) {
            return value;
        }
        let value = self.growth(since, object, label, |growth| value(kpi, growth, since, &self.cell()));
        // as srsRAN reports it
        let is_of_profile = kpi == Kpi::PacketSuccessRateUl && self.profile.kpm.measurements.is_some();
        if value == Value::NoValue && is_of_profile { Value::Integer(0) } else { value }
    }

    fn zero(&self, measurement: usize) -> Value {
        let name = self.measurements.get(measurement).map_or("", |measurement| measurement.name);
        // names that the dictionary lacks are those of profiles, whose values are whole numbers but for this
        let is_real =
            dictionary::find(name).map_or(name == "RRC.Conn.Avg", |entry| entry.kind == dictionary::Kind::Real);
        if is_real { Value::Real(0.0) } else { Value::Integer(0) }
    }

    fn bins(&self, measurement: usize) -> &[&[Bin]] {
        match self.kpi(measurement) {
            Some(Kpi::PrbDistDl | Kpi::PrbDistUl) => &[&TENTHS],
            Some(Kpi::CqiDist) => &[&CQIS, &RANKS, &CQI_TABLES],
            Some(Kpi::McsDistDl) => &[&RANKS, &MCS_TABLES, &MCS],
            _ => &[],
        }
    }

    fn bin_count(
        &self,
        since: &CounterSnapshot,
        object: MeasuredObject<'_>,
        measurement: usize,
        bins: &[Bin],
        label: &MeasurementLabel,
    ) -> Value {
        let count = |count: u64| Value::Integer(u32::try_from(count).unwrap_or(u32::MAX));
        // all blocks and reports have the tables of the carrier
        let is_of_carrier = |table: &Bin| is_in(table, self.cell().grid().carrier().downlink_mcs.number().into());
        match (self.kpi(measurement), bins) {
            (Some(Kpi::CqiDist | Kpi::McsDistDl), [a, b, c]) => {
                let is_cqi = self.kpi(measurement) == Some(Kpi::CqiDist);
                let (rank, table, index) = if is_cqi { (b, c, a) } else { (a, b, c) };
                if !is_of_carrier(table) {
                    return Value::Integer(0);
                }
                let (is_rank, is_index) = (|layers| is_in(rank, layers), |at| is_in(index, at));
                count(self.growth(since, object, label, |growth| match is_cqi {
                    true => growth.cqis.sum_in(is_rank, is_index),
                    false => growth.dl_mcs_prbs.sum_in(is_rank, is_index),
                }))
            }
            (Some(kpi), [bin]) => {
                let usage = self.usage(since, kpi);
                usage.map_or(Value::NoValue, |usage| count(usage.between(bin.from, bin.to)))
            }
            _ => Value::NoValue,
        }
    }

    fn is_listed_in_every_style(&self, measurement: usize) -> bool {
        let is_of_profile = self.profile.kpm.measurements.is_some();
        is_of_profile
            || self.measurements.get(measurement).is_some_and(|measurement| measurement.is_listed_in_every_style)
    }

    /// Measurements of UEs can be divided by PLMN, slice, 5QI and flow. PRB usage also has minimum, maximum and mean.
    fn supports_label(&self, measurement: usize, label: &MeasurementLabel) -> bool {
        if self.profile.kpm.measurements.is_some() {
            return *label == MeasurementLabel::NO_LABEL;
        }
        let no_label = MeasurementLabel::default();
        let extremes = [
            MeasurementLabel { min: Some(True), ..no_label },
            MeasurementLabel { max: Some(True), ..no_label },
            MeasurementLabel { avg: Some(True), ..no_label },
        ];
        let Some(measured) = self.measurements.get(measurement) else { return false };
        if extremes.contains(label) {
            return matches!(measured.kpi, Kpi::PrbTotDl | Kpi::PrbTotUl);
        }
        let MeasurementLabel { plmn_id, slice_id, five_qi, qfi, .. } = *label;
        let divided = MeasurementLabel { plmn_id, slice_id, five_qi, qfi, ..no_label };
        let is_served = plmn_id.is_none_or(|plmn| self.networks().iter().any(|served| served.plmn_identity == plmn));
        *label == MeasurementLabel::NO_LABEL
            || measured.is_divisible && is_served && *label == divided && *label != no_label
    }

    fn serves_several_plmns(&self) -> bool {
        self.networks().len() > 1
    }

    fn test_condition_types(&self) -> &[TestCondType] {
        &[TestCondType::Gbr(True), TestCondType::Rsrp(True), TestCondType::UlRsrp(True), TestCondType::Cqi(True)]
    }

    fn test_condition_value(&self, ue: Ue, condition: TestCondType) -> Option<f64> {
        let cell = self.cell();
        let state = cell.ue(self.place(ue)?)?;
        match condition {
            TestCondType::Gbr(_) => Some(f64::from(u8::from(has_guaranteed_rate(self.context(ue)?.five_qi[0].0)))),
            TestCondType::Rsrp(_) => Some(state.channel().rsrp_dbm()),
            TestCondType::UlRsrp(_) => Some(state.channel().uplink_rsrp_dbm()),
            TestCondType::Cqi(_) => Some(state.downlink().cqi().into()),
            _ => None,
        }
    }

    fn slices(&self, ue: Ue) -> &[SNssai] {
        self.context(ue).map_or(&[], |context| &context.slice)
    }

    fn five_qis(&self, ue: Ue) -> &[FiveQi] {
        self.context(ue).map_or(&[], |context| &context.five_qi)
    }
}

/// Whether flows of a 5QI have a guaranteed bit rate (TS 23.501 table 5.7.4-1), delay-critical or not.
fn has_guaranteed_rate(five_qi: u8) -> bool {
    matches!(five_qi, 1..=4 | 65..=67 | 71..=76 | 82..=90)
}

#[cfg(test)]
mod document;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod turnover;
