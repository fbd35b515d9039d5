//! RLC statistics: what each radio bearer's RLC entity counts (RAN function 143 of FlexRIC).

use per::{List, Per};

pub use crate::flexric::{
    ControlHeader, ControlMessage, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition,
};
use crate::plain::{Error, Plain, Reader, Writer, structure};
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 143, name: "RLC_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

/// The indication message: all radio bearers at one moment.
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

/// The mode of an RLC entity (TS 38.322 4.2), as FlexRIC numbers it. Other numbers are kept as they are.
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

/// What RLC counts for a radio bearer, from its set-up on; what is "in the buffer" or "waits" is of the moment. Sent is
/// downlink, received uplink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible, hot)]
pub struct BearerStats {
    /// PDUs sent.
    pub tx_pdu_packets: u32,
    /// PDUs sent, in octets.
    pub tx_pdu_octets: u32,
    /// How long the first PDU has waited to be sent, in milliseconds.
    pub tx_pdu_wait_ms: u32,
    /// PDUs dropped before they were sent.
    pub tx_pdu_dropped_packets: u32,
    /// PDUs dropped before they were sent, in octets.
    pub tx_pdu_dropped_octets: u32,
    /// PDUs sent again (AM).
    pub tx_pdu_retx_packets: u32,
    /// PDUs sent again, in octets (AM).
    pub tx_pdu_retx_octets: u32,
    /// SDUs cut into segments.
    pub tx_pdu_segmented: u32,
    /// Status PDUs sent (AM).
    pub tx_pdu_status_packets: u32,
    /// Status PDUs sent, in octets (AM).
    pub tx_pdu_status_octets: u32,
    /// In the buffer to be sent, in octets.
    pub tx_buffer_octets: u32,
    /// In the buffer to be sent, in packets.
    pub tx_buffer_packets: u32,
    /// PDUs received.
    pub rx_pdu_packets: u32,
    /// PDUs received, in octets.
    pub rx_pdu_octets: u32,
    /// PDUs received twice.
    pub rx_pdu_duplicate_packets: u32,
    /// PDUs received twice, in octets.
    pub rx_pdu_duplicate_octets: u32,
    /// PDUs received and dropped.
    pub rx_pdu_dropped_packets: u32,
    /// PDUs received and dropped, in octets.
    pub rx_pdu_dropped_octets: u32,
    /// PDUs received outside the window.
    pub rx_pdu_out_of_window_packets: u32,
    /// PDUs received outside the window, in octets.
    pub rx_pdu_out_of_window_octets: u32,
    /// Status PDUs received (AM).
    pub rx_pdu_status_packets: u32,
    /// Status PDUs received, in octets (AM).
    pub rx_pdu_status_octets: u32,
    /// In the buffer to be put together, in octets.
    pub rx_buffer_octets: u32,
    /// In the buffer to be put together, in packets.
    pub rx_buffer_packets: u32,
    /// SDUs that the other end has.
    pub tx_sdu_packets: u32,
    /// SDUs that the other end has, in octets.
    pub tx_sdu_octets: u64,
    /// Mean time of an SDU from its coming to its first transmission, over the last 100 ms, in microseconds.
    pub tx_sdu_mean_time_to_tx_us: f64,
    /// How long the first SDU has waited, in microseconds.
    pub tx_sdu_wait_us: u32,
    /// SDUs received.
    pub rx_sdu_packets: u32,
    /// SDUs received, in octets.
    pub rx_sdu_octets: u64,
    /// SDUs received and dropped.
    pub rx_sdu_dropped_packets: u32,
    /// SDUs received and dropped, in octets.
    pub rx_sdu_dropped_octets: u32,
    /// The C-RNTI of the UE.
    pub rnti: u32,
    /// The entity's mode.
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
