//! Layer 2 measurements: reports of E2SM-KPM become the measurements that `layer2_meas` of MEC 012 has.

use std::collections::BTreeMap;

use e2sm::common::UeId;
use e2sm::kpm::{ActionDefinition, IndicationMessage, MeasurementLabel, MeasurementType};

use super::offers::GBR_FIVE_QIS;
use crate::state::{Both, CellMeasurements, UeMeasurements};

/// A measurement that is requested.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub name: &'static str,
    /// Whether the share of GBR traffic is requested.
    pub is_divisible: bool,
    /// Whether the shares of all standard 5QIs are requested.
    pub has_every_five_qi: bool,
}

const fn whole(name: &'static str) -> Measured {
    Measured { name, is_divisible: false, has_every_five_qi: false }
}

const fn divided(name: &'static str) -> Measured {
    Measured { name, is_divisible: true, has_every_five_qi: false }
}

/// Measurements of cells (TS 28.552).
pub(super) const CELL_MEASUREMENTS: [Measured; 8] = [
    divided("RRU.PrbTotDl"),
    divided("RRU.PrbTotUl"),
    divided("DRB.MeanActiveUeDl"),
    divided("DRB.MeanActiveUeUl"),
    divided("DRB.RlcPacketDropRateDl"),
    divided("DRB.PacketLossRateUl"),
    whole("RACH.PreambleDedCell"),
    whole("RACH.PreambleACell"),
];

/// Measurements of UEs (TS 28.552; those without a clause there are named as base stations name them).
pub(super) const UE_MEASUREMENTS: [Measured; 13] = [
    divided("DRB.UEThpDl"),
    divided("DRB.UEThpUl"),
    Measured { name: VOLUME_DL, is_divisible: true, has_every_five_qi: true },
    divided(VOLUME_UL),
    divided("DRB.RlcSduDelayDl"),
    divided("DRB.AirIfDelayUl"),
    divided("DRB.RlcDelayUl"),
    divided("DRB.RlcPacketDropRateDl"),
    divided("DRB.PacketLossRateUl"),
    whole("RSRP"),
    whole("RSRQ"),
    whole("L1M.DL-SS-SINR"),
    whole(TIMING_ADVANCE),
];

const VOLUME_DL: &str = "DRB.PdcpSduVolumeDL";
const VOLUME_UL: &str = "DRB.PdcpSduVolumeUL";
/// The timing advance of a UE in units of 16 T_s: a measurement of the emulated RAN, since TS 28.552 has none of single UEs.
const TIMING_ADVANCE: &str = "UE.TimingAdvance";

/// The values of an object: each as a whole, and the shares of 5QIs.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(BTreeMap<(&'static str, Option<u8>), f64>);

impl Values {
    fn whole(&self, name: &'static str) -> Option<f64> {
        self.0.get(&(name, None)).copied()
    }

    fn shares(&self, name: &'static str) -> impl Iterator<Item = f64> + '_ {
        GBR_FIVE_QIS.iter().filter_map(move |five_qi| self.0.get(&(name, Some(*five_qi))).copied())
    }

    /// The share of GBR traffic and that of other traffic of a sum. Without division all is other traffic.
    fn sum(&self, name: &'static str, unit: f64) -> [Option<u32>; 2] {
        let total = self.whole(name);
        let gbr = self.shares(name).reduce(|one, other| one + other);
        let other = total.map(|total| (total - gbr.unwrap_or(0.0)).max(0.0));
        [gbr, other].map(|value| value.map(|value| rounded(value * unit)))
    }

    /// A mean of GBR traffic and one of other traffic: the mean of all traffic is that of the kind that the object has.
    fn mean(&self, name: &'static str, unit: f64, has_gbr: bool) -> [Option<u32>; 2] {
        let of_gbr = || self.shares(name).reduce(f64::max);
        let [gbr, other] = if has_gbr { [of_gbr(), None] } else { [None, self.whole(name)] };
        [gbr, other].map(|value| value.map(|value| rounded(value * unit)))
    }

    /// The 5QI of a UE's traffic, if it has traffic of one only.
    pub fn only_five_qi(&self) -> Option<u8> {
        let mut used =
            self.0.iter().filter_map(|((name, five_qi), value)| five_qi.filter(|_| *name == VOLUME_DL && *value > 0.0));
        let first = used.next()?;
        used.next().is_none().then_some(first)
    }

    /// The timing advance, in units of 16 T_s.
    pub fn timing_advance(&self) -> Option<u32> {
        self.whole(TIMING_ADVANCE).map(rounded)
    }

    /// RSRP in dBm, RSRQ in dB and SINR in dB of the serving cell, if the first two are known.
    pub fn signal(&self) -> Option<(f64, f64, Option<f64>)> {
        Some((self.whole("RSRP")?, self.whole("RSRQ")?, self.whole("L1M.DL-SS-SINR")))
    }
}

fn rounded(value: f64) -> u32 {
    // saturates
    value.round().max(0.0) as u32
}

/// Millionths in percent.
const MILLIONTHS: f64 = 1e-4;
/// Tenths of a millisecond in milliseconds.
const TENTHS: f64 = 0.1;

/// Reads a report on UEs: the values of each, in order.
pub(super) fn of_ues<'m>(
    message: &'m IndicationMessage<'m>,
    action: &'m ActionDefinition<'m>,
) -> Vec<(&'m UeId<'m>, Values)> {
    let mut ues: Vec<(&UeId<'_>, Values)> = Vec::new();
    for row in message.rows(Some(action)) {
        let Some(ue) = row.ue else { continue };
        if !ues.last().is_some_and(|(last, _)| std::ptr::eq(*last, ue)) {
            ues.push((ue, Values::default()));
        }
        let value = name_of(row.measurement, row.label, &UE_MEASUREMENTS).zip(row.value.number());
        if let (Some((_, values)), Some((name, value))) = (ues.last_mut(), value) {
            values.0.insert(name, value);
        }
    }
    ues
}

/// Reads a report on a cell.
pub(super) fn of_cell(message: &IndicationMessage<'_>, action: &ActionDefinition<'_>) -> Values {
    let rows = message.rows(Some(action));
    let value =
        |row: e2sm::kpm::Row<'_>| Some((name_of(row.measurement, row.label, &CELL_MEASUREMENTS)?, row.value.number()?));
    Values(rows.filter_map(value).collect())
}

fn name_of(
    measurement: Option<&MeasurementType<'_>>,
    label: Option<&MeasurementLabel>,
    known: &[Measured],
) -> Option<(&'static str, Option<u8>)> {
    let Some(MeasurementType::MeasName(name)) = measurement else { return None };
    let known = known.iter().find(|known| *known.name == *name.0)?;
    Some((known.name, label.and_then(|label| label.five_qi).map(|five_qi| five_qi.0)))
}

/// Changes one value, if the report has it: the parts of a base station report different ones.
fn set(value: &mut Option<u32>, reported: Option<u32>) {
    *value = reported.or(*value);
}

/// Sets the values of a direction, of GBR traffic and of other traffic.
fn set_both(gbr: &mut Option<u32>, other: &mut Option<u32>, reported: [Option<u32>; 2]) {
    set(gbr, reported[0]);
    set(other, reported[1]);
}

/// Writes the measurements of a cell.
pub(super) fn write_cell(values: &Values, cell: &mut CellMeasurements) {
    let [gbr_prb, other_prb, gbr_ues, other_ues, gbr_discard, other_discard] = [
        &mut cell.gbr_prb_percent,
        &mut cell.non_gbr_prb_percent,
        &mut cell.active_gbr_ues,
        &mut cell.active_non_gbr_ues,
        &mut cell.gbr_discard_percent,
        &mut cell.non_gbr_discard_percent,
    ];
    set_both(&mut gbr_prb.dl, &mut other_prb.dl, values.sum("RRU.PrbTotDl", 1.0));
    set_both(&mut gbr_prb.ul, &mut other_prb.ul, values.sum("RRU.PrbTotUl", 1.0));
    set_both(&mut gbr_ues.dl, &mut other_ues.dl, values.sum("DRB.MeanActiveUeDl", 1.0));
    set_both(&mut gbr_ues.ul, &mut other_ues.ul, values.sum("DRB.MeanActiveUeUl", 1.0));
    // of GBR traffic the worst share; of other traffic that of all traffic
    let rates = |name| {
        let gbr = values.shares(name).reduce(f64::max);
        [gbr, values.whole(name)].map(|value| value.map(|value| rounded(value * MILLIONTHS)))
    };
    set_both(&mut gbr_discard.dl, &mut other_discard.dl, rates("DRB.RlcPacketDropRateDl"));
    set_both(&mut gbr_discard.ul, &mut other_discard.ul, rates("DRB.PacketLossRateUl"));
    let total = |name| values.whole(name).map(rounded);
    set(&mut cell.total_prb_percent.dl, total("RRU.PrbTotDl"));
    set(&mut cell.total_prb_percent.ul, total("RRU.PrbTotUl"));
    set(&mut cell.preambles[0], total("RACH.PreambleDedCell"));
    // without groups of preambles all are in the low range
    set(&mut cell.preambles[1], total("RACH.PreambleACell"));
}

/// Writes the measurements of a UE.
pub(super) fn write_ue(values: &Values, ue: &mut UeMeasurements) {
    let has_gbr = values.shares(VOLUME_DL).chain(values.shares(VOLUME_UL)).any(|kbit| kbit > 0.0);
    let sum = |gbr: &mut Option<u32>, other: &mut Option<u32>, name| set_both(gbr, other, values.sum(name, 1.0));
    sum(&mut ue.gbr_volume_kbit.dl, &mut ue.non_gbr_volume_kbit.dl, VOLUME_DL);
    sum(&mut ue.gbr_volume_kbit.ul, &mut ue.non_gbr_volume_kbit.ul, VOLUME_UL);
    sum(&mut ue.gbr_throughput_kbps.dl, &mut ue.non_gbr_throughput_kbps.dl, "DRB.UEThpDl");
    sum(&mut ue.gbr_throughput_kbps.ul, &mut ue.non_gbr_throughput_kbps.ul, "DRB.UEThpUl");
    let mean = |name, unit| values.mean(name, unit, has_gbr);
    let [gbr, other] = mean("DRB.RlcSduDelayDl", TENTHS);
    set_both(&mut ue.gbr_delay_ms.dl, &mut ue.non_gbr_delay_ms.dl, [gbr, other]);
    // the uplink has two parts: on the air, and the assembly of SDUs
    let (air, assembly) = (mean("DRB.AirIfDelayUl", TENTHS), mean("DRB.RlcDelayUl", TENTHS));
    let both = |at: usize| air[at].map(|air| air + assembly[at].unwrap_or(0));
    set_both(&mut ue.gbr_delay_ms.ul, &mut ue.non_gbr_delay_ms.ul, [both(0), both(1)]);
    let rate = |gbr: &mut Both<u32>, other: &mut Both<u32>| {
        set_both(&mut gbr.dl, &mut other.dl, mean("DRB.RlcPacketDropRateDl", MILLIONTHS));
        set_both(&mut gbr.ul, &mut other.ul, mean("DRB.PacketLossRateUl", MILLIONTHS));
    };
    rate(&mut ue.gbr_discard_percent, &mut ue.non_gbr_discard_percent);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&'static str, Option<u8>, f64)]) -> Values {
        Values(of.iter().map(|(name, five_qi, value)| ((*name, *five_qi), *value)).collect())
    }

    #[test]
    fn cell_is_divided_into_gbr_and_other_traffic() {
        let reported = values(&[
            ("RRU.PrbTotDl", None, 60.0),
            ("RRU.PrbTotDl", Some(1), 20.0),
            ("RRU.PrbTotDl", Some(2), 5.0),
            ("RRU.PrbTotUl", None, 7.0),
            ("DRB.MeanActiveUeDl", None, 3.4),
            ("DRB.MeanActiveUeDl", Some(1), 1.0),
            ("DRB.RlcPacketDropRateDl", None, 20_000.0),
            ("RACH.PreambleACell", None, 4.0),
        ]);
        let mut cell = CellMeasurements::default();
        write_cell(&reported, &mut cell);
        assert_eq!((cell.gbr_prb_percent.dl, cell.non_gbr_prb_percent.dl), (Some(25), Some(35)));
        assert_eq!((cell.total_prb_percent.dl, cell.total_prb_percent.ul), (Some(60), Some(7)));
        assert_eq!((cell.gbr_prb_percent.ul, cell.non_gbr_prb_percent.ul), (None, Some(7)), "not divided");
        assert_eq!((cell.active_gbr_ues.dl, cell.active_non_gbr_ues.dl), (Some(1), Some(2)));
        assert_eq!(cell.non_gbr_discard_percent.dl, Some(2));
        assert_eq!(cell.preambles, [None, Some(4), None]);
        // what a later report leaves out stays
        write_cell(&values(&[("RRU.PrbTotUl", None, 8.0)]), &mut cell);
        assert_eq!((cell.total_prb_percent.dl, cell.total_prb_percent.ul), (Some(60), Some(8)));
    }

    #[test]
    fn ue_has_the_measurements_of_its_traffic() {
        let reported = |five_qi| {
            values(&[
                (VOLUME_DL, None, 800.0),
                (VOLUME_DL, Some(five_qi), 800.0),
                ("DRB.UEThpDl", None, 1000.4),
                ("DRB.UEThpDl", Some(five_qi), 1000.4),
                ("DRB.RlcSduDelayDl", None, 126.0),
                ("DRB.RlcSduDelayDl", Some(five_qi), 126.0),
                ("DRB.AirIfDelayUl", None, 40.0),
                ("DRB.RlcDelayUl", None, 21.0),
                (TIMING_ADVANCE, None, 3.0),
            ])
        };
        let (mut gbr, mut other) = (UeMeasurements::default(), UeMeasurements::default());
        write_ue(&reported(1), &mut gbr);
        write_ue(&reported(9), &mut other);
        assert_eq!((gbr.gbr_volume_kbit.dl, gbr.non_gbr_volume_kbit.dl), (Some(800), Some(0)));
        assert_eq!((other.gbr_volume_kbit.dl, other.non_gbr_volume_kbit.dl), (None, Some(800)));
        assert_eq!((gbr.gbr_throughput_kbps.dl, other.non_gbr_throughput_kbps.dl), (Some(1000), Some(1000)));
        assert_eq!((gbr.gbr_delay_ms.dl, gbr.non_gbr_delay_ms.dl), (Some(13), None));
        assert_eq!((other.non_gbr_delay_ms.dl, other.non_gbr_delay_ms.ul), (Some(13), Some(6)));
        assert_eq!((reported(1).only_five_qi(), reported(9).only_five_qi()), (Some(1), Some(9)));
        assert_eq!(reported(1).timing_advance(), Some(3));
        let mixed = values(&[(VOLUME_DL, Some(1), 1.0), (VOLUME_DL, Some(9), 1.0)]);
        assert_eq!(mixed.only_five_qi(), None);
        let idle = values(&[(VOLUME_DL, Some(1), 0.0), (VOLUME_DL, Some(9), 1.0)]);
        assert_eq!(idle.only_five_qi(), Some(9));
    }
}
