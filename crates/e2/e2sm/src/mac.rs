//! MAC statistics: what the scheduler counts for each UE (RAN function 142 of FlexRIC).

use per::{List, Per};

pub use crate::flexric::{
    ControlHeader, ControlMessage, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition,
};
use crate::plain::{Error, Plain, Reader, Writer, structure};
use crate::wire::{Model, Wire, message};

/// How RAN functions of this model introduce themselves.
pub const MODEL: Model = Model { function_id: 142, name: "MAC_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

/// The indication message: all UEs at one moment.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The UEs.
    #[per(size = 0..=65535)]
    pub ues: List<'a, UeStats>,
    /// When, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationMessage, borrowing);

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

/// What MAC counts for a UE. `aggr` counts from the UE's arrival, `curr` and `sched` tell of the last slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible, hot)]
pub struct UeStats {
    /// Transport blocks sent, in octets.
    pub dl_aggr_tbs_octets: u64,
    /// Transport blocks received, in octets.
    pub ul_aggr_tbs_octets: u64,
    /// SDUs sent, in octets.
    pub dl_aggr_sdu_octets: u64,
    /// SDUs received, in octets.
    pub ul_aggr_sdu_octets: u64,
    /// Transport blocks sent in the last slot, in octets.
    pub dl_curr_tbs_octets: u64,
    /// Transport blocks received in the last slot, in octets.
    pub ul_curr_tbs_octets: u64,
    /// Resource blocks scheduled in the last slot, downlink.
    pub dl_sched_prbs: u64,
    /// Resource blocks scheduled in the last slot, uplink.
    pub ul_sched_prbs: u64,
    /// Signal to noise on the uplink's shared channel, in dB.
    pub pusch_snr_db: f32,
    /// Signal to noise on the uplink's control channel, in dB.
    pub pucch_snr_db: f32,
    /// Share of blocks in error, downlink.
    pub dl_bler: f32,
    /// Share of blocks in error, uplink.
    pub ul_bler: f32,
    /// Blocks by transmission, downlink.
    pub dl_harq: HarqRounds,
    /// Blocks by transmission, uplink.
    pub ul_harq: HarqRounds,
    /// Transmissions that a block gets at most, downlink.
    pub dl_harq_rounds: u32,
    /// Transmissions that a block gets at most, uplink.
    pub ul_harq_rounds: u32,
    /// The UE: its C-RNTI.
    pub rnti: u32,
    /// Resource blocks used, downlink.
    pub dl_aggr_prbs: u32,
    /// Resource blocks used, uplink.
    pub ul_aggr_prbs: u32,
    /// SDUs sent.
    pub dl_aggr_sdus: u32,
    /// SDUs received.
    pub ul_aggr_sdus: u32,
    /// Resource blocks used to transmit again, downlink.
    pub dl_aggr_retx_prbs: u32,
    /// Resource blocks used to transmit again, uplink.
    pub ul_aggr_retx_prbs: u32,
    /// What waits in the UE, as it reports (buffer status), in octets.
    pub bsr_octets: u32,
    /// The frame of the last slot.
    pub frame: u16,
    /// The last slot within its frame.
    pub slot: u16,
    /// The wide-band CQI.
    pub wb_cqi: u8,
    /// Modulation and coding, downlink, by the first table.
    pub dl_mcs_1: u8,
    /// Modulation and coding, uplink, by the first table.
    pub ul_mcs_1: u8,
    /// Modulation and coding, downlink, by the second table.
    pub dl_mcs_2: u8,
    /// Modulation and coding, uplink, by the second table.
    pub ul_mcs_2: u8,
    /// The power that the UE has left, in dB.
    pub phr_db: i8,
}

/// Blocks by how many transmissions they took.
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
    /// Given up.
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
