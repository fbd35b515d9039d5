//! A gNB: its identities, and what its cell's counters say as measurements.

use std::cell::RefCell;
use std::rc::Rc;

use e2sm::common::{AmfUeNgapId, Cgi, FiveQi, Guami, NrCgi, PlmnIdentity, RanUeId, SNssai, True, UeId, UeIdGnb};
use e2sm::kpm::dictionary::Scope::{self, Cell as OfCell, CellAndUe, Ue as OfUe};
use e2sm::kpm::{MeasurementLabel, TestCondType, Value};
use ferric::agent::Ue;
use ferric::e2::Time;
use ferric::e2ap::{self, GlobalE2NodeId, GnbId};
use functions::kpm::{Bin, KpmSource, Offer, Whom};
use per::{Bits, One};

use crate::RanConfig;
use crate::configuration::Configuration;
use crate::interfaces::Taps;
use crate::mobility::{Air, Mobility};
use crate::model::{Cell, Counters, Cqis, DOWNLINK_LAYERS, PRBS, Usage};
use crate::stats::Slices;

/// The first gNB's id, and bits of an id.
pub const FIRST_GNB: u32 = 0xe00;
pub const GNB_ID_BITS: u8 = 22;
pub const NR_CELL_BITS: u8 = 36;
/// Test network 001.01.
pub const MCC: u16 = 1;
pub const MNC: u16 = 1;

/// When the model is looked at for the first time, it has run for this long, in seconds.
const WARM_UP_S: f64 = 1.0;
/// When nobody has looked for longer than this, the time between was not: milliseconds.
const MAX_CATCH_UP_MS: u64 = 60_000;

/// What a value is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kpi {
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
    PrbAvailable,
    PrbTotDl,
    PrbTotUl,
    PrbUsedDl,
    PrbUsedUl,
    PrbDistDl,
    PrbDistUl,
    CqiDist,
}

const fn kpi(kpi: Kpi, name: &'static str, scope: Scope, id: u32) -> (Kpi, Offer) {
    (kpi, Offer { name, id: Some(id), scope })
}

const KPIS: [(Kpi, Offer); 22] = [
    kpi(Kpi::ThroughputDl, "DRB.UEThpDl", CellAndUe, 1),
    kpi(Kpi::ThroughputUl, "DRB.UEThpUl", CellAndUe, 2),
    kpi(Kpi::DelayDl, "DRB.RlcSduDelayDl", CellAndUe, 3),
    kpi(Kpi::VolumeDl, "DRB.PdcpSduVolumeDL", CellAndUe, 4),
    kpi(Kpi::VolumeUl, "DRB.PdcpSduVolumeUL", CellAndUe, 5),
    kpi(Kpi::PrbTotDl, "RRU.PrbTotDl", CellAndUe, 6),
    kpi(Kpi::PrbTotUl, "RRU.PrbTotUl", CellAndUe, 7),
    kpi(Kpi::PrbUsedDl, "RRU.PrbUsedDl", CellAndUe, 8),
    kpi(Kpi::PrbUsedUl, "RRU.PrbUsedUl", CellAndUe, 9),
    kpi(Kpi::PrbAvailable, "RRU.PrbAvailDl", OfCell, 10),
    kpi(Kpi::PrbAvailable, "RRU.PrbAvailUl", OfCell, 11),
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
];

const OFFERS: [Offer; KPIS.len()] = {
    let mut offers = [KPIS[0].1; KPIS.len()];
    let mut at = 1;
    while at < KPIS.len() {
        offers[at] = KPIS[at].1;
        at += 1;
    }
    offers
};

/// The bins of how much was used: tenths, the last with its end, in percent.
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

/// The dimensions of how often each CQI was reported (TS 28.552 5.1.1.11.1): the CQI, the rank, and the table that the CQI
/// is of.
const CQIS: [Bin; 16] = whole(0);
const RANKS: [Bin; 8] = whole(1);
const CQI_TABLES: [Bin; 4] = whole(1);
/// The table of the model's CQIs: that with 256QAM (TS 38.214 table 5.2.2.1-3).
const CQI_TABLE: f64 = 2.0;

/// Bins of one whole number each.
const fn whole<const N: usize>(first: usize) -> [Bin; N] {
    let mut bins = [Bin { from: 0.0, to: 1.0 }; N];
    let mut at = 0;
    while at < N {
        bins[at].from = (first + at) as f64;
        bins[at].to = (first + at + 1) as f64;
        at += 1;
    }
    bins
}

/// A gNB. Its time goes on when somebody looks.
#[derive(Debug)]
pub struct Node {
    pub(crate) gnb: u32,
    pub(crate) cell: Cell,
    pub(crate) configuration: Configuration,
    pub(crate) taps: Taps,
    pub(crate) slices: Slices,
    pub(crate) traffic_control: functions::tc::Configuration,
    pub(crate) mobility: Mobility,
    step_ms: u64,
    /// Ties the model's time to the loop's, once somebody has looked.
    anchor: Option<Anchor>,
    looked_at: Time,
}

/// At that time of the loop the model has made that many steps.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at_ms: u64,
    steps: u64,
}

impl Anchor {
    /// Steps at some later time.
    fn due(self, until_ms: u64, step_ms: u64) -> u64 {
        self.steps + until_ms.saturating_sub(self.at_ms) / step_ms
    }
}

/// The counters at some moment.
#[derive(Debug, Default)]
pub struct Mark {
    steps: u64,
    counters: Vec<Counters>,
    cqis: Vec<Cqis>,
    downlink_usage: Usage,
    uplink_usage: Usage,
}

impl Node {
    pub fn new(config: &RanConfig, number: u16, air: Rc<RefCell<Air>>) -> Self {
        let gnb = FIRST_GNB + u32::from(number);
        let mobility = Mobility::new(number, config, air);
        Node {
            gnb,
            configuration: Configuration::new(gnb),
            taps: Taps::new(number, mobility.others()),
            mobility,
            slices: Slices::new(config.ues),
            traffic_control: functions::tc::Configuration::default(),
            cell: Cell::new(config.seed, number, config.ues, config.step_ms),
            step_ms: config.step_ms.into(),
            anchor: None,
            looked_at: Time::default(),
        }
    }

    /// What the AMF calls a UE: it has its name from where it was first, and keeps it wherever it goes.
    pub(crate) fn amf_ue_ngap_id(&self, ue: Ue) -> u64 {
        self.cell.ues().get(ue.0 as usize).map_or(0, |ue| (u64::from(FIRST_GNB) << 16) + ue.number())
    }

    /// The node's key.
    pub fn id(&self) -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(e2ap::PlmnIdentity::from_codes(MCC, MNC, 2), GnbId::new(self.gnb, GNB_ID_BITS))
    }

    /// When somebody looked last.
    pub(crate) fn looked_at(&self) -> Time {
        self.looked_at
    }

    fn ue(&self, ue: Ue) -> Option<&crate::model::Ue> {
        self.cell.ue(usize::try_from(ue.0).ok()?)
    }

    /// How much of the cell was used since a mark, in the direction of a measurement that is about that.
    fn usage(&self, since: &Mark, kpi: Kpi) -> Option<Usage> {
        let (downlink, uplink) = self.cell.usage();
        match kpi {
            Kpi::PrbTotDl | Kpi::PrbDistDl => Some(downlink.since(&since.downlink_usage)),
            Kpi::PrbTotUl | Kpi::PrbDistUl => Some(uplink.since(&since.uplink_usage)),
            _ => None,
        }
    }

    /// What was counted since a mark.
    fn counted(&self, since: &Mark, whom: Whom<'_>, label: &MeasurementLabel) -> Counters {
        let mut sum = Counters::default();
        self.each(whom, label, &mut |at| {
            let Some(now) = self.cell.counters().get(at) else { return };
            sum += *now - since.counters.get(at).copied().unwrap_or_default();
        });
        sum
    }

    /// The places of the UEs that are meant, and whose share a label means.
    fn each(&self, whom: Whom<'_>, label: &MeasurementLabel, take: &mut dyn FnMut(usize)) {
        let mut take = |at: usize| {
            let Some(ue) = self.cell.ues().get(at) else { return };
            let in_slice = label.slice_id.is_none_or(|slice| ue.slices().contains(&slice));
            let has_flow = label.qfi.is_none_or(|qfi| ue.qfi() == qfi.0);
            if in_slice && has_flow && label.five_qi.is_none_or(|five_qi| ue.five_qis().contains(&five_qi)) {
                take(at);
            }
        };
        match whom {
            Whom::Cell => (0..self.cell.ues().len()).for_each(take),
            Whom::Ues(ues) => ues.iter().for_each(|ue| take(ue.0 as usize)),
        }
    }
}

impl KpmSource for Node {
    type Mark = Mark;

    fn cell(&self) -> Cgi {
        cell_of(self.mobility.number())
    }

    fn offers(&self) -> &[Offer] {
        &OFFERS
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(self.cell.here().map(|at| Ue(at as u64)));
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        let number = self.amf_ue_ngap_id(ue);
        UeId::Gnb(One::from(UeIdGnb {
            amf_ue_ngap_id: AmfUeNgapId(number as i64), // 38 bits of 40
            guami: guami(),
            gnb_cu_ue_f1ap_id_list: None,
            gnb_cu_cp_ue_e1ap_id_list: None,
            ran_ueid: Some(RanUeId(number.to_be_bytes())),
            m_ng_ran_ue_xnap_id: None,
            global_gnb_id: None,
            global_ng_ran_node_id: None,
            cell_rnti: None,
        }))
    }

    fn mark(&self, mark: &mut Mark) {
        mark.steps = self.cell.steps();
        mark.counters.clear();
        mark.counters.extend_from_slice(self.cell.counters());
        mark.cqis.clear();
        mark.cqis.extend_from_slice(self.cell.cqis());
        let (downlink, uplink) = self.cell.usage();
        (mark.downlink_usage, mark.uplink_usage) = (*downlink, *uplink);
    }

    fn advance(&mut self, until: Time) {
        self.looked_at = self.looked_at.max(until);
        let until_ms = until.as_nanos() / 1_000_000;
        let warm_up = (WARM_UP_S / self.cell.step_s()).ceil() as u64;
        let steps = self.cell.steps();
        let anchor = match self.anchor {
            Some(anchor)
                if anchor.due(until_ms, self.step_ms).saturating_sub(steps) * self.step_ms <= MAX_CATCH_UP_MS =>
            {
                anchor
            }
            _ => Anchor { at_ms: until_ms, steps: steps + warm_up },
        };
        self.anchor = Some(anchor);
        self.take_arrivals();
        for _ in steps..anchor.due(until_ms, self.step_ms) {
            self.cell.step();
            self.after_step();
        }
    }

    fn value(&self, since: &Mark, whom: Whom<'_>, offer: usize, label: &MeasurementLabel) -> Value {
        let steps = self.cell.steps().saturating_sub(since.steps);
        match KPIS.get(offer) {
            Some((kpi, _)) => {
                if (label.min.is_some() || label.max.is_some())
                    && let Some(usage) = self.usage(since, *kpi)
                {
                    // of the cell only: no UE has a greatest share of its own
                    let extreme = if label.min.is_some() { usage.min() } else { usage.max() };
                    return extreme.filter(|_| whom == Whom::Cell).map_or(Value::NoValue, Value::Integer);
                }
                let counted = self.counted(since, whom, label);
                value(*kpi, &counted, steps, self.cell.step_s(), self.cell.here().count())
            }
            None => Value::NoValue,
        }
    }

    fn bins(&self, offer: usize) -> &[&[Bin]] {
        match KPIS.get(offer) {
            Some((Kpi::PrbDistDl | Kpi::PrbDistUl, _)) => &[&TENTHS],
            Some((Kpi::CqiDist, _)) => &[&CQIS, &RANKS, &CQI_TABLES],
            _ => &[],
        }
    }

    fn binned(&self, since: &Mark, whom: Whom<'_>, offer: usize, bins: &[Bin], label: &MeasurementLabel) -> Value {
        match (KPIS.get(offer).map(|(kpi, _)| *kpi), bins) {
            (Some(Kpi::CqiDist), [cqi, rank, table]) => {
                let is_in = |bin: &Bin, value: f64| (bin.from..bin.to).contains(&value);
                let of_table = is_in(rank, DOWNLINK_LAYERS) && is_in(table, CQI_TABLE);
                let counts = (0..CQIS.len()).filter(|at| of_table && is_in(cqi, *at as f64));
                let mut sum = 0;
                let mut add = |at: usize| {
                    let (Some(now), before) = (self.cell.cqis().get(at), since.cqis.get(at)) else { return };
                    let since = |cqi: usize| now[cqi] - before.map_or(0, |before| before[cqi]);
                    sum += counts.clone().map(since).sum::<u64>();
                };
                self.each(whom, label, &mut add);
                Value::Integer(u32::try_from(sum).unwrap_or(u32::MAX))
            }
            (Some(kpi), [bin]) => {
                let usage = self.usage(since, kpi);
                usage.map_or(Value::NoValue, |usage| Value::Integer(usage.between(bin.from, bin.to) as u32))
            }
            _ => Value::NoValue,
        }
    }

    /// Everything is known of a slice, of a 5QI and of a flow too, but for what is not of UEs; of the blocks' use the extremes as well.
    fn has_label(&self, offer: usize, label: &MeasurementLabel) -> bool {
        let alone = MeasurementLabel::default();
        let extremes = [
            MeasurementLabel { min: Some(True), ..alone },
            MeasurementLabel { max: Some(True), ..alone },
            MeasurementLabel { avg: Some(True), ..alone },
        ];
        if extremes.contains(label) {
            return KPIS.get(offer).is_some_and(|(kpi, _)| matches!(kpi, Kpi::PrbTotDl | Kpi::PrbTotUl));
        }
        let MeasurementLabel { slice_id, five_qi, qfi, .. } = *label;
        let of_some = MeasurementLabel { slice_id, five_qi, qfi, ..MeasurementLabel::default() };
        let divisible = KPIS.get(offer).is_some_and(|(kpi, _)| {
            !matches!(kpi, Kpi::PrbAvailable | Kpi::Connected | Kpi::PrbDistDl | Kpi::PrbDistUl)
        });
        *label == MeasurementLabel::NO_LABEL || divisible && *label == of_some && *label != MeasurementLabel::default()
    }

    fn properties(&self) -> &[TestCondType] {
        &[TestCondType::Gbr(True), TestCondType::Rsrp(True), TestCondType::UlRsrp(True), TestCondType::Cqi(True)]
    }

    fn property(&self, ue: Ue, property: TestCondType) -> Option<f64> {
        let ue = self.ue(ue)?;
        match property {
            TestCondType::Gbr(_) => Some(f64::from(u8::from(ue.has_guaranteed_rate()))),
            TestCondType::Rsrp(_) => Some(ue.rsrp_dbm()),
            TestCondType::UlRsrp(_) => Some(ue.uplink_rsrp_dbm()),
            TestCondType::Cqi(_) => Some(ue.cqi().into()),
            _ => None,
        }
    }

    fn slices(&self, ue: Ue) -> &[SNssai] {
        self.ue(ue).map_or(&[], |ue| ue.slices())
    }

    fn five_qis(&self, ue: Ue) -> &[FiveQi] {
        self.ue(ue).map_or(&[], |ue| ue.five_qis())
    }
}

/// The AMF that all nodes have.
pub fn guami() -> Guami {
    Guami {
        plmn_identity: PlmnIdentity::from_codes(MCC, MNC, 2),
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    }
}

/// The cell of a node.
pub fn cell_of(number: u16) -> Cgi {
    let gnb = u64::from(FIRST_GNB + u32::from(number));
    Cgi::NrCgi(NrCgi {
        plmn_identity: PlmnIdentity::from_codes(MCC, MNC, 2),
        nr_cell_identity: Bits::new(gnb << (NR_CELL_BITS - GNB_ID_BITS) | 1, NR_CELL_BITS),
    })
}

/// A measurement from what was counted over some steps; units are those of [`e2sm::kpm::dictionary`].
fn value(kpi: Kpi, counted: &Counters, steps: u64, step_s: f64, ues: usize) -> Value {
    let per_step = |count: u64| (steps > 0).then(|| count as f64 / steps as f64);
    let per_ue_step = |sum: f64| (counted.ue_steps > 0).then(|| sum / counted.ue_steps as f64);
    // TS 28.552 5.1.1.3.1: while there was something to send, and 0 where there never was
    let kbps = |bits: f64, active: u64| bits / 1e3 / (active.max(1) as f64 * step_s);
    let integer = |value: Option<f64>| value.map_or(Value::NoValue, |value| Value::Integer(value.round() as u32));
    let real = |value: Option<f64>| value.map_or(Value::NoValue, Value::Real);
    let percent = 100.0 / f64::from(PRBS);
    let share = |part: f64, of: f64| (of > 0.0).then(|| 1e6 * part / of);
    match kpi {
        Kpi::ThroughputDl => Value::Real(kbps(counted.downlink_bits, counted.downlink_active)),
        Kpi::ThroughputUl => Value::Real(kbps(counted.uplink_bits, counted.uplink_active)),
        Kpi::VolumeDl => integer(Some(counted.downlink_bits / 1e3)),
        Kpi::VolumeUl => integer(Some(counted.uplink_bits / 1e3)),
        Kpi::DelayDl => {
            real((counted.downlink_bits > 0.0).then(|| 1e4 * counted.downlink_bit_seconds / counted.downlink_bits))
        }
        Kpi::PrbTotDl => integer(per_step(counted.downlink_prbs).map(|prbs| prbs * percent)),
        Kpi::PrbTotUl => integer(per_step(counted.uplink_prbs).map(|prbs| prbs * percent)),
        Kpi::PrbUsedDl => integer(per_step(counted.downlink_prbs)),
        Kpi::PrbUsedUl => integer(per_step(counted.uplink_prbs)),
        Kpi::PrbAvailable => Value::Integer(PRBS),
        // all bins together
        Kpi::PrbDistDl | Kpi::PrbDistUl => Value::Integer(steps as u32),
        Kpi::CqiDist => integer(Some(counted.ue_steps as f64)),
        Kpi::PacketDropRateDl => integer(share(counted.downlink_dropped_bits, counted.downlink_came_bits)),
        Kpi::PacketLossRateUl => integer(share(counted.uplink_lost_bits, counted.uplink_bits)),
        Kpi::ActiveDl => real(per_step(counted.downlink_active)),
        Kpi::ActiveUl => real(per_step(counted.uplink_active)),
        Kpi::Connected => Value::Real(ues as f64),
        Kpi::Cqi => integer(per_ue_step(counted.cqi as f64)),
        Kpi::Sinr => real(per_ue_step(counted.sinr_db)),
        Kpi::Rsrp => real(per_ue_step(counted.rsrp_dbm)),
    }
}

#[cfg(test)]
mod tests;
