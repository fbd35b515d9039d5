//! The classifier, which assigns packets to queues.

use per::{List, Per};

use crate::plain::{Error, ErrorKind, Plain, Reader, Writer};

/// A classifier.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum Classifier<'a> {
    /// Round robin over all queues.
    RoundRobin,
    /// The queue of the first matching filter; the first queue if none matches.
    #[per(size = 0..=1024)]
    Osi(List<'a, OsiFilter>),
    /// A random queue for each flow.
    Stochastic,
}

impl<'a> Plain<'a> for Classifier<'a> {
    const NAME: &'static str = "Classifier";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let kind: u32 = reader.number()?;
        match kind {
            0 | 2 => {
                reader.number::<u32>()?; // unused
                Ok(if kind == 0 { Classifier::RoundRobin } else { Classifier::Stochastic })
            }
            1 => Ok(Classifier::Osi(reader.list()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            Classifier::RoundRobin => writer.octets(&[0; 8]),
            Classifier::Stochastic => writer.octets(&[2, 0, 0, 0, 0, 0, 0, 0]),
            Classifier::Osi(filters) => {
                writer.number(1u32);
                writer.list(filters)?;
            }
        }
        Ok(())
    }
}

/// A filter of a classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct OsiFilter {
    /// Its number.
    pub id: u32,
    /// The packets that match.
    pub flow: FiveTuple,
    /// The queue of these packets.
    #[per(range = 0..=2_147_483_647)]
    pub queue_id: u32,
}

/// A match on layer 3 and 4 headers; absent fields match anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct FiveTuple {
    /// The source IPv4 address as a number.
    pub source_address: Option<u32>,
    /// The destination IPv4 address as a number.
    pub destination_address: Option<u32>,
    /// The source port.
    pub source_port: Option<u16>,
    /// The destination port.
    pub destination_port: Option<u16>,
    /// The protocol: 6 is TCP, 17 UDP.
    pub protocol: Option<u8>,
}

/// Addresses, ports and protocol; -1 matches anything. FlexRIC's layer 7 field follows in one message and is missing in
/// another: it is not part of this value.
impl Plain<'_> for FiveTuple {
    const NAME: &'static str = "FiveTuple";
    const LEAST: usize = 28;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        fn any<N: TryFrom<i64>>(reader: &Reader<'_>, value: i64, octets: usize) -> Result<Option<N>, Error> {
            match value {
                -1 => Ok(None),
                value => N::try_from(value).map(Some).map_err(|_| reader.fault(ErrorKind::OutOfRange, octets)),
            }
        }
        let address = |reader: &mut Reader<'_>| {
            let value = reader.number::<i64>()?;
            any(reader, value, 8)
        };
        let port = |reader: &mut Reader<'_>| {
            let value = reader.number::<i32>()?;
            any(reader, value.into(), 4)
        };
        Ok(FiveTuple {
            source_address: address(reader)?,
            destination_address: address(reader)?,
            source_port: port(reader)?,
            destination_port: port(reader)?,
            protocol: {
                let value = reader.number::<i32>()?;
                any(reader, value.into(), 4)?
            },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.source_address.map_or(-1, i64::from));
        writer.number(self.destination_address.map_or(-1, i64::from));
        writer.number(self.source_port.map_or(-1, i32::from));
        writer.number(self.destination_port.map_or(-1, i32::from));
        writer.number(self.protocol.map_or(-1, i32::from));
        Ok(())
    }
}

pub(super) fn read_queue_id(reader: &mut Reader<'_>) -> Result<u32, Error> {
    let id: i32 = reader.number()?;
    u32::try_from(id).map_err(|_| reader.fault(ErrorKind::OutOfRange, 4))
}

/// The number of a queue is signed here.
pub(super) fn write_queue_id(writer: &mut Writer<'_>, id: u32) -> Result<(), Error> {
    let id = i32::try_from(id).map_err(|_| writer.error(ErrorKind::NotInLayout))?;
    writer.number(id);
    Ok(())
}

/// A C structure, with padding before the addresses and after the queue.
impl Plain<'_> for OsiFilter {
    const NAME: &'static str = "OsiFilter";
    const LEAST: usize = 48;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let id = reader.number()?;
        reader.octets(4)?;
        let flow = reader.value()?;
        reader.octets(4)?; // layer 7
        let queue_id = read_queue_id(reader)?;
        reader.octets(4)?;
        Ok(OsiFilter { id, flow, queue_id })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.octets(&[0; 4]);
        writer.value(&self.flow)?;
        writer.octets(&[0; 4]);
        write_queue_id(writer, self.queue_id)?;
        writer.octets(&[0; 4]);
        Ok(())
    }
}
