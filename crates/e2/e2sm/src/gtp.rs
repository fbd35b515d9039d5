//! GTP statistics: the NG-U tunnels of each UE (RAN function 148 of FlexRIC).

use per::{List, Per};

pub use crate::flexric::{
    ControlHeader, ControlMessage, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition,
};
use crate::plain::{Error, Number, Plain, Reader, Writer};
use crate::records::records;
use crate::wire::{Model, Wire, message};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 148, name: "GTP_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

/// The indication message: a snapshot of all tunnels.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The tunnels of all UEs.
    #[per(size = 0..=65535)]
    pub tunnels: List<'a, Tunnel>,
    /// The time stamp, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationMessage, borrowing);
records!(IndicationMessage of Tunnel);

impl<'a> Plain<'a> for IndicationMessage<'a> {
    const NAME: &'static str = "gtp::IndicationMessage";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(IndicationMessage { tunnels: reader.list()?, timestamp_us: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.list(&self.tunnels)?;
        writer.number(self.timestamp_us);
        Ok(())
    }
}

/// The NG-U tunnel of a QoS flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible, hot)]
pub struct Tunnel {
    /// The C-RNTI of the UE.
    pub rnti: u32,
    /// The TEID at the gNB.
    pub teid_gnb: u32,
    /// The QoS flow identifier.
    pub qfi: u8,
    /// The TEID at the UPF. FlexRIC's layout contains its least significant octet only.
    pub teid_upf: u32,
}

impl Plain<'_> for Tunnel {
    const NAME: &'static str = "Tunnel";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let octets: &[u8; 12] = reader.array()?;
        let (rnti, teid_gnb) = (u32::get(octets), u32::get(&octets[4..]));
        Ok(Tunnel { rnti, teid_gnb, qfi: octets[8], teid_upf: octets[9].into() })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let [teid_upf, ..] = self.teid_upf.to_le_bytes();
        writer.number(self.rnti);
        writer.number(self.teid_gnb);
        writer.octets(&[self.qfi, teid_upf, 0, 0]);
        Ok(())
    }
}
