//! MAC statistics of each UE (RAN function 142 of FlexRIC).

use per::{List, Per};

pub use crate::flexric::{
    ControlHeader, ControlMessage, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition,
};
use crate::plain::{Error, Plain, Reader, Writer, structure};
use crate::records::records;
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 142, name: "MAC_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

/// The indication message: a snapshot of all UEs.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The UEs.
    #[per(size = 0..=65535)]
    pub ues: List<'a, UeStats>,
    /// The time stamp, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationMessage, borrowing);
records!(IndicationMessage of UeStats);

impl<'a> Plain<'a> for IndicationMessage<'a> {
    const NAME: &'static str = "mac::IndicationMessage";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(IndicationMessage { ues: reader.list()?, timestamp_us: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.list(&self.ues)?;
        writer.number(self.timestamp_us);
        Ok(())
    }
}

/// MAC statistics of a UE. `aggr` counts since the UE arrived, `curr` and `sched` are of the last slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible, hot)]
pub struct UeStats {
    /// Downlink transport blocks in octets.
    pub dl_aggr_tbs_octets: u64,
    /// Uplink transport blocks in octets.
    pub ul_aggr_tbs_octets: u64,
    /// Downlink SDUs in octets.
    pub dl_aggr_sdu_octets: u64,
    /// Uplink SDUs in octets.
    pub ul_aggr_sdu_octets: u64,
    /// Downlink transport blocks of the last slot in octets.
    pub dl_curr_tbs_octets: u64,
    /// Uplink transport blocks of the last slot in octets.
    pub ul_curr_tbs_octets: u64,
    /// Downlink resource blocks scheduled in the last slot.
    pub dl_sched_prbs: u64,
    /// Uplink resource blocks scheduled in the last slot.
    pub ul_sched_prbs: u64,
    /// SNR of the PUSCH in dB.
    pub pusch_snr_db: f32,
    /// SNR of the PUCCH in dB.
    pub pucch_snr_db: f32,
    /// Downlink BLER.
    pub dl_bler: f32,
    /// Uplink BLER.
    pub ul_bler: f32,
    /// Downlink HARQ rounds.
    pub dl_harq: HarqRounds,
    /// Uplink HARQ rounds.
    pub ul_harq: HarqRounds,
    /// Maximum number of downlink HARQ transmissions.
    pub dl_harq_rounds: u32,
    /// Maximum number of uplink HARQ transmissions.
    pub ul_harq_rounds: u32,
    /// The C-RNTI of the UE.
    pub rnti: u32,
    /// Downlink resource blocks, those of short slots as parts of full ones.
    pub dl_aggr_prbs: u32,
    /// Uplink resource blocks, counted likewise.
    pub ul_aggr_prbs: u32,
    /// Downlink SDUs.
    pub dl_aggr_sdus: u32,
    /// Uplink SDUs.
    pub ul_aggr_sdus: u32,
    /// Downlink resource blocks of retransmissions.
    pub dl_aggr_retx_prbs: u32,
    /// Uplink resource blocks of retransmissions.
    pub ul_aggr_retx_prbs: u32,
    /// The buffer status report of the UE in octets.
    pub bsr_octets: u32,
    /// The frame of the last slot.
    pub frame: u16,
    /// The number of the last slot within its frame.
    pub slot: u16,
    /// The wideband CQI.
    pub wb_cqi: u8,
    /// Downlink MCS, table 1.
    pub dl_mcs_1: u8,
    /// Uplink MCS, table 1.
    pub ul_mcs_1: u8,
    /// Downlink MCS, table 2.
    pub dl_mcs_2: u8,
    /// Uplink MCS, table 2.
    pub ul_mcs_2: u8,
    /// The power headroom of the UE in dB.
    pub phr_db: i8,
}

/// Transport blocks by HARQ round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(hot)]
pub struct HarqRounds {
    /// Sent once or more.
    pub first: u32,
    /// Sent twice or more.
    pub second: u32,
    /// Sent three times or more.
    pub third: u32,
    /// Sent four times.
    pub fourth: u32,
    /// Failed.
    pub failed: u32,
}

structure!(UeStats of 176 octets {
    dl_aggr_tbs_octets: u64,
    ul_aggr_tbs_octets: u64,
    dl_aggr_sdu_octets: u64,
    ul_aggr_sdu_octets: u64,
    dl_curr_tbs_octets: u64,
    ul_curr_tbs_octets: u64,
    dl_sched_prbs: u64,
    ul_sched_prbs: u64,
    pusch_snr_db: f32,
    pucch_snr_db: f32,
    dl_bler: f32,
    ul_bler: f32,
    dl_harq.first: u32,
    dl_harq.second: u32,
    dl_harq.third: u32,
    dl_harq.fourth: u32,
    dl_harq.failed: u32,
    ul_harq.first: u32,
    ul_harq.second: u32,
    ul_harq.third: u32,
    ul_harq.fourth: u32,
    ul_harq.failed: u32,
    dl_harq_rounds: u32,
    ul_harq_rounds: u32,
    rnti: u32,
    dl_aggr_prbs: u32,
    ul_aggr_prbs: u32,
    dl_aggr_sdus: u32,
    ul_aggr_sdus: u32,
    dl_aggr_retx_prbs: u32,
    ul_aggr_retx_prbs: u32,
    bsr_octets: u32,
    frame: u16,
    slot: u16,
    wb_cqi: u8,
    dl_mcs_1: u8,
    ul_mcs_1: u8,
    dl_mcs_2: u8,
    ul_mcs_2: u8,
    phr_db: i8,
});
