//! PDCP statistics of each radio bearer (RAN function 144 of FlexRIC).

use per::{List, Per};

pub use crate::flexric::{
    ControlHeader, ControlMessage, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition,
};
use crate::plain::{Error, Plain, Reader, Writer, structure};
use crate::records::records;
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model =
    Model { function_id: 144, name: "PDCP_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

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
    const NAME: &'static str = "pdcp::IndicationMessage";
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

/// PDCP statistics of a radio bearer since its setup. Sent is downlink, received is uplink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible, hot)]
pub struct BearerStats {
    /// PDUs sent.
    pub tx_pdu_packets: u32,
    /// PDUs sent, in octets.
    pub tx_pdu_octets: u32,
    /// The sequence number of the next PDU to send.
    pub tx_pdu_sn: u32,
    /// PDUs received.
    pub rx_pdu_packets: u32,
    /// PDUs received, in octets.
    pub rx_pdu_octets: u32,
    /// The sequence number of the next PDU to receive.
    pub rx_pdu_sn: u32,
    /// PDUs received out of order.
    pub rx_pdu_out_of_order_packets: u32,
    /// PDUs received out of order, in octets.
    pub rx_pdu_out_of_order_octets: u32,
    /// Duplicate or late PDUs, which are discarded.
    pub rx_pdu_dropped_packets: u32,
    /// Duplicate or late PDUs in octets.
    pub rx_pdu_dropped_octets: u32,
    /// The COUNT that started the reordering timer (RX_REORD of TS 38.323).
    pub rx_pdu_reordering_count: u32,
    /// SDUs to send.
    pub tx_sdu_packets: u32,
    /// SDUs to send, in octets.
    pub tx_sdu_octets: u32,
    /// SDUs received and delivered.
    pub rx_sdu_packets: u32,
    /// SDUs received and delivered, in octets.
    pub rx_sdu_octets: u32,
    /// The C-RNTI of the UE.
    pub rnti: u32,
    /// The mode of the RLC entity in FlexRIC's numbers: 0 AM, 1 UM, 2 TM.
    pub mode: u8,
    /// The radio bearer of that UE.
    pub rb_id: u8,
}

structure!(BearerStats of 68 octets {
    tx_pdu_packets: u32,
    tx_pdu_octets: u32,
    tx_pdu_sn: u32,
    rx_pdu_packets: u32,
    rx_pdu_octets: u32,
    rx_pdu_sn: u32,
    rx_pdu_out_of_order_packets: u32,
    rx_pdu_out_of_order_octets: u32,
    rx_pdu_dropped_packets: u32,
    rx_pdu_dropped_octets: u32,
    rx_pdu_reordering_count: u32,
    tx_sdu_packets: u32,
    tx_sdu_octets: u32,
    rx_sdu_packets: u32,
    rx_sdu_octets: u32,
    rnti: u32,
    mode: u8,
    rb_id: u8,
});
