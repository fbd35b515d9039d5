//! SLICE: reports and controls of the slices of a cell (RAN function 145 of FlexRIC).
//!
//! A slice scheduler divides the resource blocks of each direction among slices by an algorithm; within a slice, a UE
//! scheduler divides the resource blocks of the slice. [`Parameters`] are those of each algorithm.
//!
//! | message | type |
//! |---|---|
//! | event trigger | [`EventTriggerDefinition`]: the period |
//! | indication | [`IndicationHeader`], [`IndicationMessage`]: the slices and the slices of each UE |
//! | control | [`ControlHeader`], [`ControlMessage`]: add or modify, delete, associate UEs |
//! | control outcome | [`ControlOutcome`]: a diagnostic text |

mod parameters;

use per::{List, Per, PrintableString};

pub use crate::flexric::{ControlHeader, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition};
use crate::plain::{Error, ErrorKind, Plain, Reader, Writer};
use crate::wire::{Model, Wire, message};

pub use parameters::{
    Algorithm, EdfParameters, NvsParameters, OnDemand, Parameters, Positions, Rate, Scn19Parameters, Share,
};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model =
    Model { function_id: 145, name: "SLICE_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

/// The indication message: the configuration.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The slices of both directions.
    pub slices: SliceConfiguration<'a>,
    /// The slices of UEs.
    #[per(size = 0..=65535)]
    pub ues: List<'a, UeSlices>,
    /// The time stamp, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationMessage, borrowing);

impl<'a> Plain<'a> for IndicationMessage<'a> {
    const NAME: &'static str = "slice::IndicationMessage";
    const LEAST: usize = 28;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(IndicationMessage { slices: reader.value()?, ues: reader.list()?, timestamp_us: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.value(&self.slices)?;
        writer.list(&self.ues)?;
        writer.number(self.timestamp_us);
        Ok(())
    }
}

/// The slices of both directions.
#[derive(Clone, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct SliceConfiguration<'a> {
    /// Downlink.
    pub dl: DirectionSlices<'a>,
    /// Uplink.
    pub ul: DirectionSlices<'a>,
}

impl<'a> Plain<'a> for SliceConfiguration<'a> {
    const NAME: &'static str = "SliceConfiguration";
    const LEAST: usize = 16;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(SliceConfiguration { dl: reader.value()?, ul: reader.value()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.value(&self.dl)?;
        writer.value(&self.ul)
    }
}

/// The slices of one direction.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct DirectionSlices<'a> {
    /// The scheduler, by its name in the base station. FlexRIC's xApps send the slice algorithm, or the UE scheduler for UEs
    /// without a slice.
    #[per(size = 0..=255, extensible)]
    pub scheduler: PrintableString<'a>,
    /// The slices. In a control: the slices to add, or to modify if their ID exists.
    #[per(size = 0..=1024)]
    pub slices: List<'a, Slice<'a>>,
}

impl Default for DirectionSlices<'_> {
    fn default() -> Self {
        DirectionSlices { scheduler: PrintableString::literal(""), slices: List::default() }
    }
}

impl<'a> Plain<'a> for DirectionSlices<'a> {
    const NAME: &'static str = "DirectionSlices";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(DirectionSlices { scheduler: reader.text()?, slices: reader.list()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.text(&self.scheduler)?;
        writer.list(&self.slices)
    }
}

/// A slice of one direction.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Slice<'a> {
    /// The ID in its direction.
    pub id: u32,
    /// A label.
    #[per(size = 0..=255, extensible)]
    pub label: PrintableString<'a>,
    /// The UE scheduler, by its name in the base station: `RR`, `PF`.
    #[per(size = 0..=255, extensible)]
    pub ue_scheduler: PrintableString<'a>,
    /// The parameters of the slice algorithm.
    pub parameters: Parameters<'a>,
}

impl<'a> Plain<'a> for Slice<'a> {
    const NAME: &'static str = "Slice";
    const LEAST: usize = 24;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Slice {
            id: reader.number()?,
            label: reader.text()?,
            ue_scheduler: reader.text()?,
            parameters: reader.value()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.text(&self.label)?;
        writer.text(&self.ue_scheduler)?;
        writer.value(&self.parameters)
    }
}

/// The ID for no slice.
pub const NO_SLICE: u32 = u32::MAX;

/// The slices of a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct UeSlices {
    /// The downlink slice, or [`NO_SLICE`].
    pub dl_id: u32,
    /// The uplink slice, or [`NO_SLICE`].
    pub ul_id: u32,
    /// The C-RNTI of the UE.
    pub rnti: u16,
}

impl Plain<'_> for UeSlices {
    const NAME: &'static str = "UeSlices";
    const LEAST: usize = 10;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(UeSlices { dl_id: reader.number()?, ul_id: reader.number()?, rnti: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.dl_id);
        writer.number(self.ul_id);
        writer.number(self.rnti);
        Ok(())
    }
}

/// The control message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlMessage<'a> {
    /// Add slices, or modify them if their ID exists.
    AddOrModify(SliceConfiguration<'a>),
    /// Delete slices.
    Delete(DeleteSlices<'a>),
    /// Move UEs to other slices.
    #[per(size = 0..=65535)]
    Associate(List<'a, UeSlices>),
}

message!(ControlMessage, borrowing);

impl<'a> Plain<'a> for ControlMessage<'a> {
    const NAME: &'static str = "slice::ControlMessage";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => Ok(ControlMessage::AddOrModify(reader.value()?)),
            1 => Ok(ControlMessage::Delete(reader.value()?)),
            2 => Ok(ControlMessage::Associate(reader.list()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            ControlMessage::AddOrModify(slices) => {
                writer.number(0u32);
                writer.value(slices)
            }
            ControlMessage::Delete(ids) => {
                writer.number(1u32);
                writer.value(ids)
            }
            ControlMessage::Associate(ues) => {
                writer.number(2u32);
                writer.list(ues)
            }
        }
    }
}

/// The slices to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct DeleteSlices<'a> {
    /// The IDs of downlink slices.
    #[per(size = 0..=1024)]
    pub dl: List<'a, u32>,
    /// The IDs of uplink slices.
    #[per(size = 0..=1024)]
    pub ul: List<'a, u32>,
}

impl<'a> Plain<'a> for DeleteSlices<'a> {
    const NAME: &'static str = "DeleteSlices";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(DeleteSlices { dl: reader.list()?, ul: reader.list()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.list(&self.dl)?;
        writer.list(&self.ul)
    }
}

/// The control outcome.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ControlOutcome<'a> {
    /// A diagnostic text; empty on success.
    #[per(size = 0..=1024, extensible)]
    pub diagnostic: PrintableString<'a>,
}

message!(ControlOutcome, borrowing);

impl<'a> Plain<'a> for ControlOutcome<'a> {
    const NAME: &'static str = "slice::ControlOutcome";
    const LEAST: usize = 4;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(ControlOutcome { diagnostic: reader.text()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.text(&self.diagnostic)
    }
}
