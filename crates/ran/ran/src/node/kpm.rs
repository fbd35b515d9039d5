//! E2SM-KPM: measurements of the cell and of UEs, computed from counters.

use std::borrow::Cow;

use e2sm::common::{Cgi, FiveQi, SNssai, True, UeId};
use e2sm::kpm::dictionary::Scope::{self, Cell as OfCell, CellAndUe, Ue as OfUe};
use e2sm::kpm::{MeasurementLabel, TestCondType, Value};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::phy::Direction;
use radio::{Cell, PrbUsage, Subscription, UeEntry};
use ran_functions::kpm::{Bin, KpmSource, MeasuredObject, SupportedMeasurement};

use super::{Node, place_of, selected_slice, ue_of};
use crate::counters::Counters;
use crate::node_type::NodeType;
use crate::profile::KpmProfile;

/// A measurement of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kpi {
    Cqi,
    PacketDropRateDl,
    PacketLossRateUl,
    VolumeDl,
    VolumeUl,
    DelayDl,
    ThroughputDl,
    ThroughputUl,
    ActiveDl,
    ActiveUl,
    Sinr,
    Rsrp,
    Connected,
    Inactive,
    CuUpDelayDl,
    CuUpDropRateDl,
    PrbAvailableDl,
    PrbAvailableUl,
    PrbTotDl,
    PrbTotUl,
    PrbUsedDl,
    PrbUsedUl,
    PrbDistDl,
    PrbDistUl,
    CqiDist,
    RlcVolumeDl,
    RlcVolumeUl,
    AirInterfaceDelayUl,
    RlcDelayUl,
    DedicatedPreambles,
    ReorderingDelayUl,
    PacketSuccessRateUl,
}

impl Kpi {
    /// Whether a node measures it, by the object class in TS 28.552 5.1 and E2SM-KPM 7.10: RRC connections belong to NRCellCU, PDCP
    /// volumes and the delay and loss between the core and F1 to GNBCUUPFunction, all others to NRCellDU.
    pub(super) fn is_measured_by(self, node_type: NodeType) -> bool {
        match self {
            Kpi::Connected => node_type.has_rrc(),
            // LTE has RRC_IDLE instead
            Kpi::Inactive => node_type.has_rrc() && node_type != NodeType::Enb,
            Kpi::VolumeDl | Kpi::VolumeUl | Kpi::PacketLossRateUl | Kpi::CuUpDelayDl | Kpi::CuUpDropRateDl => {
                node_type.has_pdcp()
            }
            _ => node_type.has_mac(),
        }
    }
}

impl Kpi {
    /// Whether its values are real numbers.
    fn is_real(self) -> bool {
        matches!(
            self,
            Kpi::DelayDl
                | Kpi::ThroughputDl
                | Kpi::ThroughputUl
                | Kpi::ActiveDl
                | Kpi::ActiveUl
                | Kpi::Sinr
                | Kpi::Rsrp
                | Kpi::Connected
                | Kpi::Inactive
                | Kpi::CuUpDelayDl
                | Kpi::AirInterfaceDelayUl
                | Kpi::RlcDelayUl
                | Kpi::ReorderingDelayUl
        )
    }
}

const fn kpi(kpi: Kpi, name: &'static str, scope: Scope, id: u32) -> (Kpi, SupportedMeasurement) {
    (kpi, SupportedMeasurement { name: Cow::Borrowed(name), id: Some(id), scope })
}

pub(super) const KPIS: [(Kpi, SupportedMeasurement); 25] = [
    kpi(Kpi::ThroughputDl, "DRB.UEThpDl", CellAndUe, 1),
    kpi(Kpi::ThroughputUl, "DRB.UEThpUl", CellAndUe, 2),
    kpi(Kpi::DelayDl, "DRB.RlcSduDelayDl", CellAndUe, 3),
    kpi(Kpi::VolumeDl, "DRB.PdcpSduVolumeDL", CellAndUe, 4),
    kpi(Kpi::VolumeUl, "DRB.PdcpSduVolumeUL", CellAndUe, 5),
    kpi(Kpi::PrbTotDl, "RRU.PrbTotDl", CellAndUe, 6),
    kpi(Kpi::PrbTotUl, "RRU.PrbTotUl", CellAndUe, 7),
    kpi(Kpi::PrbUsedDl, "RRU.PrbUsedDl", CellAndUe, 8),
    kpi(Kpi::PrbUsedUl, "RRU.PrbUsedUl", CellAndUe, 9),
    kpi(Kpi::PrbAvailableDl, "RRU.PrbAvailDl", OfCell, 10),
    kpi(Kpi::PrbAvailableUl, "RRU.PrbAvailUl", OfCell, 11),
    kpi(Kpi::PacketDropRateDl, "DRB.RlcPacketDropRateDl", CellAndUe, 12),
    kpi(Kpi::PacketLossRateUl, "DRB.PacketLossRateUl", CellAndUe, 13),
    kpi(Kpi::ActiveDl, "DRB.MeanActiveUeDl", OfCell, 14),
    kpi(Kpi::ActiveUl, "DRB.MeanActiveUeUl", OfCell, 15),
    kpi(Kpi::Connected, "RRC.ConnMean", OfCell, 16),
    kpi(Kpi::Cqi, "CQI", OfUe, 17),
    kpi(Kpi::Sinr, "L1M.DL-SS-SINR", OfUe, 18),
    kpi(Kpi::Rsrp, "L1M.DL-SS-RSRP", OfUe, 19),
    kpi(Kpi::PrbDistDl, "RRU.PrbTotDlDist", OfCell, 20),
    kpi(Kpi::PrbDistUl, "RRU.PrbTotUlDist", OfCell, 21),
    kpi(Kpi::CqiDist, "CARR.WBCQIDist", CellAndUe, 22),
    kpi(Kpi::CuUpDelayDl, "DRB.PdcpSduDelayDl", CellAndUe, 23),
    kpi(Kpi::CuUpDropRateDl, "DRB.PdcpPacketDropRateDl", CellAndUe, 24),
    kpi(Kpi::Inactive, "RRC.InactiveConnMean", OfCell, 25),
];

/// Measurements that only profiles announce, some under another name.
const OF_PROFILES: [(Kpi, SupportedMeasurement); 10] = [
    kpi(Kpi::RlcVolumeDl, "DRB.RlcSduTransmittedVolumeDL", CellAndUe, 26),
    kpi(Kpi::RlcVolumeUl, "DRB.RlcSduTransmittedVolumeUL", CellAndUe, 27),
    kpi(Kpi::AirInterfaceDelayUl, "DRB.AirIfDelayUl", CellAndUe, 28),
    kpi(Kpi::RlcDelayUl, "DRB.RlcDelayUl", CellAndUe, 29),
    kpi(Kpi::DedicatedPreambles, "RACH.PreambleDedCell", OfCell, 30),
    kpi(Kpi::ReorderingDelayUl, "DRB.PdcpReordDelayUl", OfCell, 31),
    kpi(Kpi::PacketSuccessRateUl, "DRB.PacketSuccessRateUlgNBUu", OfCell, 32),
    kpi(Kpi::Connected, "RRC.Conn.Avg", OfCell, 33),
    kpi(Kpi::PrbUsedDl, "PrbUsedDL", OfCell, 34),
    kpi(Kpi::PrbUsedUl, "PrbUsedUL", OfCell, 35),
];

/// The measurements that a node announces.
pub(super) fn offered(node_type: NodeType, profile: &KpmProfile) -> Vec<(Kpi, SupportedMeasurement)> {
    let Some(names) = profile.measurements else {
        return KPIS.into_iter().filter(|(kpi, _)| kpi.is_measured_by(node_type)).collect();
    };
    let named = |(name, scope): &(&'static str, Scope)| {
        let known = KPIS.into_iter().chain(OF_PROFILES).find(|(_, known)| known.name == *name);
        let (kpi, known) = known.unwrap_or_else(|| panic!("the model has no measurement {name}"));
        (kpi, SupportedMeasurement { id: None, scope: *scope, ..known })
    };
    names.iter().map(named).collect()
}

/// The bins of PRB usage: tenths, in percent. The last one includes its end.
const TENTHS: [Bin; 10] = {
    let mut bins = [Bin { from: 0.0, to: 10.0 }; 10];
    let mut at = 0;
    while at < bins.len() {
        bins[at].from = 10.0 * at as f64;
        bins[at].to = 10.0 * (at + 1) as f64;
        at += 1;
    }
    bins[9].to = 100.5;
    bins
};

/// The dimensions of the CQI distribution (TS 28.552 5.1.1.11.1): CQI, rank, and CQI table.
const CQIS: [Bin; 16] = integer_bins(0);
const RANKS: [Bin; 8] = integer_bins(1);
const CQI_TABLES: [Bin; 4] = integer_bins(1);

/// Bins of one integer each.
const fn integer_bins<const N: usize>(first: usize) -> [Bin; N] {
    let mut bins = [Bin { from: 0.0, to: 1.0 }; N];
    let mut at = 0;
    while at < N {
        bins[at].from = (first + at) as f64;
        bins[at].to = (first + at + 1) as f64;
        at += 1;
    }
    bins
}

/// The counters at a moment.
#[derive(Debug, Default)]
pub struct CounterSnapshot {
    /// The counters by place.
    stays: Vec<(UeEntry, Counters)>,
    /// The counters of UEs whose places have been reused, by subscription.
    past: Vec<(Subscription, Counters)>,
    at: radio::Time,
    dl_usage: PrbUsage,
    ul_usage: PrbUsage,
}

impl Node {
    /// The usage of the cell since a snapshot, in the direction of a usage measurement; None for other measurements.
    fn usage(&self, since: &CounterSnapshot, kpi: Kpi) -> Option<PrbUsage> {
        let cell = self.cell();
        match kpi {
            Kpi::PrbTotDl | Kpi::PrbDistDl => Some(cell.usage(Direction::Downlink).since(&since.dl_usage)),
            Kpi::PrbTotUl | Kpi::PrbDistUl => Some(cell.usage(Direction::Uplink).since(&since.ul_usage)),
            _ => None,
        }
    }

    /// The counters since a snapshot.
    fn counted(&self, since: &CounterSnapshot, object: MeasuredObject<'_>, label: &MeasurementLabel) -> Counters {
        let cell = self.cell();
        let mut sum = Counters::default();
        let before = |at: usize| {
            since.stays.get(at).filter(|(stay, _)| stay == cell.ue_entry(at)).map(|(_, counters)| *counters)
        };
        self.for_each_place(object, label, &mut |at| sum += Counters::of(&cell, at) - before(at).unwrap_or_default());
        if object == MeasuredObject::Cell {
            sum += since.former_ues(&cell, label);
        }
        sum
    }

    /// Calls `take` with the places of the UEs that belong to the object and match the label.
    fn for_each_place(&self, object: MeasuredObject<'_>, label: &MeasurementLabel, take: &mut dyn FnMut(usize)) {
        let mut take = |at: usize| {
            let Some(context) = self.contexts.get(at) else { return };
            if matches_label(label, context.slice[0], context.five_qi[0], context.qfi) {
                take(at);
            }
        };
        match object {
            MeasuredObject::Cell => (0..self.contexts.len()).for_each(take),
            // also UEs that have left, until their place is reused
            MeasuredObject::Ues(ues) => {
                let is_current = |ue: &&Ue| self.contexts.get(place_of(**ue)).is_some_and(|context| context.ue == **ue);
                ues.iter().filter(is_current).for_each(|ue| take(place_of(*ue)));
            }
        }
    }
}

/// Whether a label matches a UE of a slice, with a bearer of a 5QI and a flow of an identifier.
fn matches_label(label: &MeasurementLabel, slice: SNssai, five_qi: FiveQi, qfi: u8) -> bool {
    label.slice_id.is_none_or(|wanted| wanted == slice)
        && label.qfi.is_none_or(|wanted| wanted.0 == qfi)
        && label.five_qi.is_none_or(|wanted| wanted == five_qi)
}

impl CounterSnapshot {
    /// The counters since the snapshot of UEs that have left and whose places have been reused. They are known by subscription,
    /// which does not contain later changes of their 5QI.
    fn former_ues(&self, cell: &Cell, label: &MeasurementLabel) -> Counters {
        let is_matched = |chosen: &Subscription| {
            matches_label(label, selected_slice(chosen), FiveQi(chosen.five_qi), chosen.five_qi)
        };
        let mut sum = Counters::default();
        for (chosen, counts) in cell.departed_counts().iter().filter(|(chosen, _)| is_matched(chosen)) {
            let before = self.past.iter().find(|(other, _)| other == chosen);
            sum += Counters::from(counts) - before.map(|(_, counters)| *counters).unwrap_or_default();
        }
        // subtracts what was counted before the snapshot
        let mut before = Counters::default();
        let former =
            self.stays.iter().filter(|(stay, _)| stay != cell.ue_entry(stay.index) && is_matched(&stay.subscription));
        former.for_each(|(_, counters)| before += *counters);
        sum - before
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
        self.node_type.ue_id(self.amf_ue_ngap_id(ue), ue.0, self.profile.has_ran_ue_id)
    }

    fn take_snapshot(&self, mark: &mut CounterSnapshot) {
        let cell = self.cell();
        mark.stays.clear();
        mark.stays.extend((0..cell.ue_indices()).map(|at| (*cell.ue_entry(at), Counters::of(&cell, at))));
        mark.past.clear();
        mark.past.extend(cell.departed_counts().iter().map(|(chosen, counts)| (*chosen, Counters::from(counts))));
        mark.at = cell.now();
        mark.dl_usage = *cell.usage(Direction::Downlink);
        mark.ul_usage = *cell.usage(Direction::Uplink);
    }

    fn advance(&mut self, until: Time) {
        self.last_read = self.last_read.max(until);
        self.advance_unread(until);
    }

    fn value(
        &self,
        since: &CounterSnapshot,
        object: MeasuredObject<'_>,
        measurement: usize,
        label: &MeasurementLabel,
    ) -> Value {
        match self.kpis.get(measurement) {
            Some(kpi) => {
                if (label.min.is_some() || label.max.is_some())
                    && let Some(usage) = self.usage(since, *kpi)
                {
                    // of the cell only: minimum and maximum are not kept by UE
                    let extreme = if label.min.is_some() { usage.min() } else { usage.max() };
                    return extreme.filter(|_| object == MeasuredObject::Cell).map_or(Value::NoValue, Value::Integer);
                }
                let counted = self.counted(since, object, label);
                value(*kpi, &counted, since, &self.cell())
            }
            None => Value::NoValue,
        }
    }

    fn zero(&self, measurement: usize) -> Value {
        match self.kpis.get(measurement) {
            Some(kpi) if kpi.is_real() => Value::Real(0.0),
            _ => Value::Integer(0),
        }
    }

    fn bins(&self, measurement: usize) -> &[&[Bin]] {
        match self.kpis.get(measurement) {
            Some(Kpi::PrbDistDl | Kpi::PrbDistUl) => &[&TENTHS],
            Some(Kpi::CqiDist) => &[&CQIS, &RANKS, &CQI_TABLES],
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
        match (self.kpis.get(measurement).copied(), bins) {
            (Some(Kpi::CqiDist), [cqi, rank, table]) => {
                let is_in = |bin: &Bin, value: f64| (bin.from..bin.to).contains(&value);
                let carrier = self.cell().grid().carrier().clone();
                let of_table = is_in(table, f64::from(carrier.downlink_mcs.number()));
                let cqis = self.counted(since, object, label).cqis;
                let of_rank = cqis.0.iter().zip(1..).filter(|(_, layers)| of_table && is_in(rank, f64::from(*layers)));
                let counts = of_rank.flat_map(|(counts, _)| counts.iter().enumerate());
                let sum: u64 = counts.filter(|(at, _)| is_in(cqi, *at as f64)).map(|(_, count)| *count).sum();
                Value::Integer(u32::try_from(sum).unwrap_or(u32::MAX))
            }
            (Some(kpi), [bin]) => {
                let usage = self.usage(since, kpi);
                usage.map_or(Value::NoValue, |usage| Value::Integer(usage.between(bin.from, bin.to) as u32))
            }
            _ => Value::NoValue,
        }
    }

    /// Measurements of UEs can be divided by slice, 5QI and flow. PRB usage also has minimum, maximum and mean.
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
        if extremes.contains(label) {
            return self.kpis.get(measurement).is_some_and(|kpi| matches!(kpi, Kpi::PrbTotDl | Kpi::PrbTotUl));
        }
        let MeasurementLabel { slice_id, five_qi, qfi, .. } = *label;
        let divided = MeasurementLabel { slice_id, five_qi, qfi, ..MeasurementLabel::default() };
        let is_divisible = self.kpis.get(measurement).is_some_and(|kpi| {
            !matches!(
                kpi,
                Kpi::PrbAvailableDl
                    | Kpi::PrbAvailableUl
                    | Kpi::Connected
                    | Kpi::Inactive
                    | Kpi::PrbDistDl
                    | Kpi::PrbDistUl
            )
        });
        *label == MeasurementLabel::NO_LABEL
            || is_divisible && *label == divided && *label != MeasurementLabel::default()
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

/// Computes a measurement from the counters since a snapshot, in the units of [`e2sm::kpm::dictionary`].
fn value(kpi: Kpi, counted: &Counters, since: &CounterSnapshot, cell: &Cell) -> Value {
    let dl = || cell.usage(Direction::Downlink).since(&since.dl_usage);
    let ul = || cell.usage(Direction::Uplink).since(&since.ul_usage);
    let ratio = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    let per_report = |sum: f64| (counted.reports > 0).then(|| sum / counted.reports as f64);
    // TS 28.552 5.1.1.3.1: over the time with data to send; 0 if there was none
    let kbps = |octets: u64, active: u64, direction: Direction| {
        8.0 * octets as f64 / 1e3 / (active.max(1) as f64 / cell.slots_per_s(direction))
    };
    let integer = |value: Option<f64>| value.map_or(Value::NoValue, |value| Value::Integer(value.round() as u32));
    let real = |value: Option<f64>| value.map_or(Value::NoValue, Value::Real);
    let mean = |total_ns: u64| ratio(total_ns, cell.now().since(since.at).as_nanos() as u64);
    let per_million = |part: u64, of: u64| ratio(part, of).map(|ratio| 1e6 * ratio);
    let count = |count: u64| Value::Integer(u32::try_from(count).unwrap_or(u32::MAX));
    match kpi {
        Kpi::ThroughputDl => Value::Real(kbps(counted.dl_sent_octets, counted.dl_active, Direction::Downlink)),
        Kpi::ThroughputUl => Value::Real(kbps(counted.ul_delivered_octets, counted.ul_active, Direction::Uplink)),
        Kpi::VolumeDl => integer(Some(8.0 * counted.dl_came_octets as f64 / 1e3)),
        Kpi::VolumeUl => integer(Some(8.0 * counted.ul_delivered_octets as f64 / 1e3)),
        Kpi::DelayDl => real(ratio(counted.dl_sojourn_ns, counted.dl_sent_packets).map(|ns| ns / 1e5)),
        Kpi::PrbTotDl => integer(ratio(counted.dl_elements, dl().elements).map(|ratio| 100.0 * ratio)),
        Kpi::PrbTotUl => integer(ratio(counted.ul_elements, ul().elements).map(|ratio| 100.0 * ratio)),
        Kpi::PrbUsedDl => integer(ratio(counted.dl_elements, dl().elements_per_prb)),
        Kpi::PrbUsedUl => integer(ratio(counted.ul_elements, ul().elements_per_prb)),
        Kpi::PrbAvailableDl => Value::Integer(cell.prbs(Direction::Downlink)),
        Kpi::PrbAvailableUl => Value::Integer(cell.prbs(Direction::Uplink)),
        // the sum of all bins
        Kpi::PrbDistDl => count(dl().count_slots()),
        Kpi::PrbDistUl => count(ul().count_slots()),
        Kpi::CqiDist => count(counted.reports),
        Kpi::PacketDropRateDl => {
            // dropped packets may have arrived before the snapshot
            let dropped = counted.dl_dropped_packets;
            integer(per_million(dropped, counted.dl_came_packets.max(dropped)))
        }
        Kpi::PacketLossRateUl => {
            let lost = counted.ul_lost_packets;
            integer(per_million(lost, lost + counted.ul_delivered_packets))
        }
        Kpi::ActiveDl => real(ratio(counted.dl_active, dl().scheduled_slots)),
        Kpi::ActiveUl => real(ratio(counted.ul_active, ul().scheduled_slots)),
        Kpi::Connected => real(mean(counted.present_ns - counted.inactive_ns)),
        Kpi::Inactive => real(mean(counted.inactive_ns)),
        Kpi::CuUpDelayDl => real(ratio(counted.core_sojourn_ns, counted.core_went_packets).map(|ns| ns / 1e5)),
        Kpi::CuUpDropRateDl => {
            let dropped = counted.core_dropped_packets;
            integer(per_million(dropped, counted.core_came_packets.max(dropped)))
        }
        Kpi::RlcVolumeDl => integer(Some(8.0 * counted.dl_sent_octets as f64 / 1e3)),
        Kpi::RlcVolumeUl => integer(Some(8.0 * counted.ul_delivered_octets as f64 / 1e3)),
        // the model has no such delays, and no preambles
        Kpi::AirInterfaceDelayUl | Kpi::RlcDelayUl | Kpi::DedicatedPreambles | Kpi::ReorderingDelayUl => Value::NoValue,
        Kpi::PacketSuccessRateUl => {
            let packets = counted.ul_delivered_packets + counted.ul_lost_packets;
            integer(Some(100.0 * ratio(counted.ul_delivered_packets, packets).unwrap_or(0.0)))
        }
        Kpi::Cqi => integer(per_report(counted.cqi as f64)),
        Kpi::Sinr => real(per_report(counted.sinr_db)),
        Kpi::Rsrp => real(per_report(counted.rsrp_dbm)),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod turnover;
