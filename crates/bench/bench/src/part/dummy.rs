//! Synthetic counters of UEs that are served without interruption.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use e2sm::{mac, pdcp, rlc};
use ferric::agent::Ue;
use ferric::e2::Time;
use ran_functions::statistics::StatisticsSource;

/// Octets per millisecond and UE, downlink and uplink.
const DL_OCTETS: u64 = 1500;
const UL_OCTETS: u64 = 300;
const FIRST_RNTI: u32 = 0x4601;

/// A cell whose UEs have one bearer each.
pub(super) struct DummyCell {
    ues: u16,
    now_ms: u64,
    /// The time at which the last UE's record was gathered, if it is measured.
    gathered: Option<Rc<Cell<Instant>>>,
}

impl DummyCell {
    pub fn new(ues: u16, timed: bool) -> Self {
        DummyCell { ues, now_ms: 0, gathered: timed.then(|| Rc::new(Cell::new(Instant::now()))) }
    }

    pub fn gathered(&self) -> Option<Rc<Cell<Instant>>> {
        self.gathered.clone()
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend((0..self.ues.into()).map(Ue));
    }

    fn advance(&mut self, now: Time) {
        self.now_ms = now.as_nanos() / 1_000_000;
    }

    /// Appends a UE's record, made of its counters.
    fn record<R>(&self, ue: Ue, out: &mut Vec<R>, make: impl FnOnce(Counters) -> R) {
        let ms = self.now_ms + ue.0; // distinct for each UE
        out.push(make(Counters { rnti: FIRST_RNTI + ue.0 as u32, ms, dl: ms * DL_OCTETS, ul: ms * UL_OCTETS }));
        if let Some(gathered) = &self.gathered
            && ue.0 + 1 == u64::from(self.ues)
        {
            gathered.set(Instant::now());
        }
    }
}

/// The counters of a UE.
struct Counters {
    rnti: u32,
    ms: u64,
    dl: u64,
    ul: u64,
}

macro_rules! source {
    ($record:ty, |$counters:ident| $make:expr) => {
        impl StatisticsSource<$record> for DummyCell {
            fn ues(&self, out: &mut Vec<Ue>) {
                self.ues(out);
            }

            fn records(&self, ue: Ue, out: &mut Vec<$record>) {
                self.record(ue, out, |$counters| $make);
            }

            fn advance(&mut self, now: Time) {
                self.advance(now);
            }
        }
    };
}

// counters of 32 bits wrap around, as those of a base station; HARQ counters stay 0, since the paper omits them

source!(mac::UeStats, |c| mac::UeStats {
    dl_aggr_tbs_octets: c.dl,
    ul_aggr_tbs_octets: c.ul,
    dl_aggr_sdu_octets: c.dl - c.dl / 50,
    ul_aggr_sdu_octets: c.ul - c.ul / 50,
    dl_curr_tbs_octets: DL_OCTETS,
    ul_curr_tbs_octets: UL_OCTETS,
    dl_sched_prbs: 25,
    ul_sched_prbs: 5,
    pusch_snr_db: 21.5,
    pucch_snr_db: 19.0,
    dl_bler: 0.08,
    ul_bler: 0.05,
    rnti: c.rnti,
    dl_aggr_prbs: (25 * c.ms) as u32,
    ul_aggr_prbs: (5 * c.ms) as u32,
    dl_aggr_sdus: c.ms as u32,
    ul_aggr_sdus: c.ms as u32,
    dl_aggr_retx_prbs: (2 * c.ms) as u32,
    ul_aggr_retx_prbs: (c.ms / 4) as u32,
    bsr_octets: UL_OCTETS as u32,
    frame: (c.ms / 10 % 1024) as u16,
    slot: (c.ms % 10) as u16,
    wb_cqi: 15,
    dl_mcs_1: 28,
    ul_mcs_1: 20,
    phr_db: 40,
    ..mac::UeStats::default()
});

source!(rlc::BearerStats, |c| rlc::BearerStats {
    tx_pdu_packets: c.ms as u32,
    tx_pdu_octets: c.dl as u32,
    tx_pdu_wait_ms: 2,
    tx_pdu_retx_packets: (c.ms / 100) as u32,
    tx_pdu_retx_octets: (c.dl / 100) as u32,
    tx_pdu_segmented: (c.ms / 2) as u32,
    tx_pdu_status_packets: (c.ms / 20) as u32,
    tx_pdu_status_octets: (c.ms / 5) as u32,
    tx_buffer_octets: (4 * DL_OCTETS) as u32,
    tx_buffer_packets: 4,
    rx_pdu_packets: c.ms as u32,
    rx_pdu_octets: c.ul as u32,
    rx_pdu_status_packets: (c.ms / 20) as u32,
    rx_pdu_status_octets: (c.ms / 5) as u32,
    tx_sdu_packets: c.ms as u32,
    tx_sdu_octets: c.dl,
    tx_sdu_mean_time_to_tx_us: 1800.0,
    tx_sdu_wait_us: 1700,
    rx_sdu_packets: c.ms as u32,
    rx_sdu_octets: c.ul,
    rnti: c.rnti,
    rb_id: 1,
    ..rlc::BearerStats::default()
});

source!(pdcp::BearerStats, |c| pdcp::BearerStats {
    tx_pdu_packets: c.ms as u32,
    tx_pdu_octets: c.dl as u32,
    tx_pdu_sn: (c.ms % 4096) as u32,
    rx_pdu_packets: c.ms as u32,
    rx_pdu_octets: c.ul as u32,
    rx_pdu_sn: (c.ms % 4096) as u32,
    tx_sdu_packets: c.ms as u32,
    tx_sdu_octets: c.dl as u32,
    rx_sdu_packets: c.ms as u32,
    rx_sdu_octets: c.ul as u32,
    rnti: c.rnti,
    rb_id: 1,
    ..pdcp::BearerStats::default()
});
