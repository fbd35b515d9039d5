//! RLC statistics of each radio bearer (RAN function 143 of FlexRIC).

use per::{List, Per};

pub use crate::flexric::{
    ControlHeader, ControlMessage, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition,
};
use crate::plain::{Error, Plain, Reader, Writer, structure};
use crate::records::records;
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 143, name: "RLC_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

/// The indication message: a snapshot of all radio bearers.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The bearers of all UEs.
    #[per(size = 0..=65535)]
    pub bearers: List<'a, BearerStats>,
    /// The time stamp, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationMessage, borrowing);
records!(IndicationMessage of BearerStats);

impl<'a> Plain<'a> for IndicationMessage<'a> {
    const NAME: &'static str = "rlc::IndicationMessage";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(IndicationMessage { bearers: reader.list()?, timestamp_us: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.list(&self.bearers)?;
        writer.number(self.timestamp_us);
        Ok(())
    }
}

/// The mode of an RLC entity (TS 38.322 4.2) in FlexRIC's numbers. Unknown numbers are preserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(range = 0..=255)]
pub struct Mode(pub u8);

impl Mode {
    /// Acknowledged mode.
    pub const AM: Mode = Mode(0);
    /// Unacknowledged mode.
    pub const UM: Mode = Mode(1);
    /// Transparent mode.
    pub const TM: Mode = Mode(2);
}

/// RLC statistics of a radio bearer since its setup; buffers and waiting times are current values. Sent is downlink,
/// received is uplink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible, hot)]
pub struct BearerStats {
    /// PDUs sent.
    pub tx_pdu_packets: u32,
    /// PDUs sent, in octets.
    pub tx_pdu_octets: u32,
    /// The waiting time of the first PDU, in milliseconds.
    pub tx_pdu_wait_ms: u32,
    /// PDUs discarded before transmission.
    pub tx_pdu_dropped_packets: u32,
    /// PDUs discarded before transmission, in octets.
    pub tx_pdu_dropped_octets: u32,
    /// PDUs retransmitted (AM).
    pub tx_pdu_retx_packets: u32,
    /// PDUs retransmitted, in octets (AM).
    pub tx_pdu_retx_octets: u32,
    /// SDUs segmented.
    pub tx_pdu_segmented: u32,
    /// Status PDUs sent (AM).
    pub tx_pdu_status_packets: u32,
    /// Status PDUs sent, in octets (AM).
    pub tx_pdu_status_octets: u32,
    /// Transmission buffer in octets.
    pub tx_buffer_octets: u32,
    /// Transmission buffer in packets.
    pub tx_buffer_packets: u32,
    /// PDUs received.
    pub rx_pdu_packets: u32,
    /// PDUs received, in octets.
    pub rx_pdu_octets: u32,
    /// Duplicate PDUs received.
    pub rx_pdu_duplicate_packets: u32,
    /// Duplicate PDUs received, in octets.
    pub rx_pdu_duplicate_octets: u32,
    /// PDUs received and discarded.
    pub rx_pdu_dropped_packets: u32,
    /// PDUs received and discarded, in octets.
    pub rx_pdu_dropped_octets: u32,
    /// PDUs received outside the window.
    pub rx_pdu_out_of_window_packets: u32,
    /// PDUs received outside the window, in octets.
    pub rx_pdu_out_of_window_octets: u32,
    /// Status PDUs received (AM).
    pub rx_pdu_status_packets: u32,
    /// Status PDUs received, in octets (AM).
    pub rx_pdu_status_octets: u32,
    /// Reassembly buffer in octets.
    pub rx_buffer_octets: u32,
    /// Reassembly buffer in packets.
    pub rx_buffer_packets: u32,
    /// SDUs delivered to the peer entity.
    pub tx_sdu_packets: u32,
    /// SDUs delivered to the peer entity, in octets.
    pub tx_sdu_octets: u64,
    /// The mean time from the arrival of an SDU to its first transmission, over the last 100 ms, in microseconds.
    pub tx_sdu_mean_time_to_tx_us: f64,
    /// The waiting time of the first SDU, in microseconds.
    pub tx_sdu_wait_us: u32,
    /// SDUs received.
    pub rx_sdu_packets: u32,
    /// SDUs received, in octets.
    pub rx_sdu_octets: u64,
    /// SDUs received and discarded.
    pub rx_sdu_dropped_packets: u32,
    /// SDUs received and discarded, in octets.
    pub rx_sdu_dropped_octets: u32,
    /// The C-RNTI of the UE.
    pub rnti: u32,
    /// The mode of the entity.
    pub mode: Mode,
    /// The radio bearer of that UE.
    pub rb_id: u8,
}

structure!(BearerStats of 152 octets {
    tx_pdu_packets: u32,
    tx_pdu_octets: u32,
    tx_pdu_wait_ms: u32,
    tx_pdu_dropped_packets: u32,
    tx_pdu_dropped_octets: u32,
    tx_pdu_retx_packets: u32,
    tx_pdu_retx_octets: u32,
    tx_pdu_segmented: u32,
    tx_pdu_status_packets: u32,
    tx_pdu_status_octets: u32,
    tx_buffer_octets: u32,
    tx_buffer_packets: u32,
    rx_pdu_packets: u32,
    rx_pdu_octets: u32,
    rx_pdu_duplicate_packets: u32,
    rx_pdu_duplicate_octets: u32,
    rx_pdu_dropped_packets: u32,
    rx_pdu_dropped_octets: u32,
    rx_pdu_out_of_window_packets: u32,
    rx_pdu_out_of_window_octets: u32,
    rx_pdu_status_packets: u32,
    rx_pdu_status_octets: u32,
    rx_buffer_octets: u32,
    rx_buffer_packets: u32,
    tx_sdu_packets: u32,
    tx_sdu_octets: u64,
    tx_sdu_mean_time_to_tx_us: f64,
    tx_sdu_wait_us: u32,
    rx_sdu_packets: u32,
    rx_sdu_octets: u64,
    rx_sdu_dropped_packets: u32,
    rx_sdu_dropped_octets: u32,
    rnti: u32,
    mode.0: u8,
    rb_id: u8,
});
