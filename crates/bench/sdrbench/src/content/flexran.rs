//! What FlexRAN agents report: statistics of the UEs of a cell of the emulated RAN, recorded once and sent by all agents.
//!
//! A UE has its C-RNTI at its eNB, so that all agents send the same octets. Counters grow over the recording, and begin again with it.

use anyhow::bail;
use flexran::{MacStatistics, PdcpStatistics, RlcBuffer, RrcMeasurements, Statistics, UeStatistics, ue_flags};
use ran::{RanConfig, Scenario, Stepped};

use super::{RECORDED, STEP};

/// The C-RNTI of the first UE of each agent.
pub const FIRST_RNTI: u32 = 0x4601;
/// Slots of a step: those of a subcarrier spacing of 15 kHz, the subframes of LTE.
const SUBFRAMES: f64 = STEP.as_millis() as f64;

/// The recording.
#[derive(Debug)]
pub struct FlexRanContent {
    /// By the number of UEs, less one: the fields of statistics replies.
    reports: Vec<Vec<Vec<u8>>>,
}

/// The counters of a UE.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    octets_dl: f64,
    octets_ul: f64,
    prbs_dl: f64,
    prbs_ul: f64,
}

impl FlexRanContent {
    /// Runs the emulated RAN and records its statistics, with at most `max_ues` UEs in a report.
    ///
    /// # Errors
    /// If the emulated RAN cannot be started, or has no UEs.
    pub fn record(max_ues: u16, seed: u64) -> anyhow::Result<Self> {
        let max_ues = max_ues.max(1);
        let scenario = Scenario::with_mixed_traffic(1, max_ues, seed);
        let mut ran = Stepped::new(RanConfig { scenario, ..RanConfig::default() })?;
        let mut totals = vec![Totals::default(); max_ues.into()];
        let mut reports: Vec<Vec<Vec<u8>>> = (0..max_ues).map(|_| Vec::with_capacity(RECORDED)).collect();
        for _ in 0..RECORDED {
            ran.step(STEP);
            let numbers = ran.ues(0);
            let ues = numbers.into_iter().zip(&mut totals).zip(FIRST_RNTI..);
            let ues: Vec<UeStatistics> = ues.map(|((ue, totals), rnti)| statistics(&ran, ue, rnti, totals)).collect();
            if ues.is_empty() {
                bail!("the emulated cell has no UEs");
            }
            for (count, of_count) in (1..).zip(&mut reports) {
                let ues = ues[..ues.len().min(count)].to_vec();
                of_count.push(Statistics { ues, cells: Vec::new() }.fields());
            }
        }
        Ok(FlexRanContent { reports })
    }

    /// The fields of a statistics reply: the `number`-th of those recorded, with `ues` UEs within 1 and the most that were recorded.
    #[must_use]
    pub fn report(&self, ues: u16, number: u64) -> &[u8] {
        let of_count = &self.reports[usize::from(ues).clamp(1, self.reports.len()) - 1];
        &of_count[(number % of_count.len() as u64) as usize]
    }
}

/// The statistics of a UE over the last step.
fn statistics(ran: &Stepped, ue: u64, rnti: u32, totals: &mut Totals) -> UeStatistics {
    const OCTETS_PER_KBIT: f64 = 125.0;
    let measured = |name: &str| ran.measure(0, Some(ue), name);
    let volume = |name: &str| measured(name).unwrap_or(0.0).max(0.0) * OCTETS_PER_KBIT;
    totals.octets_dl += volume("DRB.RlcSduTransmittedVolumeDL");
    totals.octets_ul += volume("DRB.RlcSduTransmittedVolumeUL");
    let [prbs_dl, prbs_ul] = ["RRU.PrbUsedDl", "RRU.PrbUsedUl"].map(|name| measured(name).unwrap_or(0.0).max(0.0));
    totals.prbs_dl += prbs_dl * SUBFRAMES;
    totals.prbs_ul += prbs_ul * SUBFRAMES;
    // counters of 32 bits
    let counter = |total: f64| total as u64 as u32;
    let dbm = |name: &str| measured(name).map(|value| value.round() as i32);
    UeStatistics {
        rnti,
        flags: Some(ue_flags::RLC_BUFFERS | ue_flags::MAC | ue_flags::PDCP | ue_flags::RRC_MEASUREMENTS),
        rlc: vec![RlcBuffer {
            lcid: 3,
            octets: measured("DRB.BufferSize.Qos").map(|octets| octets.max(0.0) as u32),
            head_of_line_delay_ms: measured("DRB.RlcSduDelayDl").map(|tenths| (tenths / 10.0).max(0.0) as u32),
            ..RlcBuffer::default()
        }],
        measurements: dbm("L1M.DL-SS-RSRP").map(|rsrp| RrcMeasurements {
            meas_id: 1,
            rsrp: Some(rsrp),
            ..RrcMeasurements::default()
        }),
        pdcp: Some(PdcpStatistics {
            sent_octets: Some(counter(totals.octets_dl)),
            received_octets: Some(counter(totals.octets_ul)),
            ..PdcpStatistics::default()
        }),
        mac: Some(MacStatistics {
            last_prbs_dl: Some(prbs_dl.round() as u32),
            last_prbs_ul: Some(prbs_ul.round() as u32),
            sdu_octets_dl: counter(totals.octets_dl),
            sdu_octets_ul: counter(totals.octets_ul),
            prbs_dl: counter(totals.prbs_dl),
            prbs_ul: counter(totals.prbs_ul),
            ..MacStatistics::default()
        }),
        ..UeStatistics::default()
    }
}

#[cfg(test)]
mod tests {
    use flexran::{Body, Direction, Kind, Message};

    use super::*;

    fn statistics_of(fields: &[u8]) -> Statistics {
        let mut octets = Vec::new();
        Message::write(Kind::STATISTICS, Direction::Successful, 1, fields, &mut octets);
        match Message::decode(&octets).unwrap().body {
            Body::Statistics(statistics) => statistics,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn counters_of_the_model_grow_and_repeat_with_the_seed() {
        let content = FlexRanContent::record(4, 1).unwrap();
        let sent = |number: u64| {
            let ues = statistics_of(content.report(4, number)).ues;
            assert_eq!(ues.iter().map(|ue| ue.rnti).collect::<Vec<_>>(), [0x4601, 0x4602, 0x4603, 0x4604]);
            ues.iter().map(|ue| u64::from(ue.mac.as_ref().unwrap().sdu_octets_dl)).sum::<u64>()
        };
        let all: Vec<u64> = (0..RECORDED as u64).map(sent).collect();
        assert!(all.windows(2).all(|two| two[0] <= two[1]) && all[RECORDED - 1] > all[0], "{all:?}");
        assert_eq!(sent(RECORDED as u64), all[0]);
        assert_eq!(FlexRanContent::record(4, 1).unwrap().report(4, 5), content.report(4, 5));
    }

    #[test]
    fn number_of_ues_is_bounded() {
        let content = FlexRanContent::record(2, 1).unwrap();
        for (ues, reported) in [(0, 1), (1, 1), (2, 2), (99, 2)] {
            assert_eq!(statistics_of(content.report(ues, 0)).ues.len(), reported);
        }
    }
}
