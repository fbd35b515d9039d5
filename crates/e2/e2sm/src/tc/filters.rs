//! Controls of the classifier's filters.

use per::Per;

use super::classifier::{read_queue_id, write_queue_id};
use super::control::{ADD, DELETE, MODIFY, bare, nothing, tagged};
use super::{FiveTuple, OsiFilter};
use crate::plain::{Error, ErrorKind, Plain, Reader, Writer};

/// A control of the classifier. The classifier that it addresses becomes the active one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum ClassifierControl {
    /// Add a filter.
    Add(NewFilter),
    /// Delete a filter.
    Delete(DeleteFilter),
    /// Modify a filter.
    Modify(ModifyFilter),
}

impl<'a> Plain<'a> for ClassifierControl {
    const NAME: &'static str = "ClassifierControl";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            ADD => Ok(ClassifierControl::Add(reader.value()?)),
            DELETE => Ok(ClassifierControl::Delete(reader.value()?)),
            MODIFY => Ok(ClassifierControl::Modify(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            ClassifierControl::Add(new) => tagged(writer, ADD, new),
            ClassifierControl::Delete(id) => tagged(writer, DELETE, id),
            ClassifierControl::Modify(change) => tagged(writer, MODIFY, change),
        }
    }
}

/// A filter to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum NewFilter {
    /// Of the round-robin classifier, which has no filters.
    RoundRobin,
    /// Of the header classifier.
    Osi(NewOsiFilter),
    /// Of the stochastic classifier, which has no filters.
    Stochastic,
}

impl Plain<'_> for NewFilter {
    const NAME: &'static str = "NewFilter";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => nothing(reader, NewFilter::RoundRobin),
            1 => Ok(NewFilter::Osi(reader.value()?)),
            2 => nothing(reader, NewFilter::Stochastic),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            NewFilter::RoundRobin => bare(writer, 0),
            NewFilter::Osi(filter) => tagged(writer, 1, filter),
            NewFilter::Stochastic => bare(writer, 2),
        }
    }
}

/// A header filter; the base station assigns its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct NewOsiFilter {
    /// The packets that match.
    pub flow: FiveTuple,
    /// The queue of these packets.
    #[per(range = 0..=2_147_483_647)]
    pub queue_id: u32,
}

/// FlexRIC reserves four more octets than it fills: they are optional when decoded and always encoded.
impl Plain<'_> for NewOsiFilter {
    const NAME: &'static str = "NewOsiFilter";
    const LEAST: usize = 32;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let filter = NewOsiFilter { flow: reader.value()?, queue_id: read_queue_id(reader)? };
        if reader.left() == 4 {
            reader.octets(4)?;
        }
        Ok(filter)
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.value(&self.flow)?;
        write_queue_id(writer, self.queue_id)?;
        writer.octets(&[0; 4]);
        Ok(())
    }
}

/// A filter to delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum DeleteFilter {
    /// Of the round-robin classifier, which has no filters.
    RoundRobin,
    /// Of the header classifier: its number.
    Osi(u32),
    /// Of the stochastic classifier, which has no filters.
    Stochastic,
}

impl Plain<'_> for DeleteFilter {
    const NAME: &'static str = "DeleteFilter";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => nothing(reader, DeleteFilter::RoundRobin),
            1 => Ok(DeleteFilter::Osi(reader.number()?)),
            2 => nothing(reader, DeleteFilter::Stochastic),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            DeleteFilter::RoundRobin => bare(writer, 0),
            DeleteFilter::Osi(filter) => tagged(writer, 1, filter),
            DeleteFilter::Stochastic => bare(writer, 2),
        }
    }
}

/// A filter to modify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum ModifyFilter {
    /// Of the round-robin classifier, which has no filters.
    RoundRobin,
    /// Of the header classifier: the new filter of that number.
    Osi(OsiFilter),
    /// Of the stochastic classifier, which has no filters.
    Stochastic,
}

impl Plain<'_> for ModifyFilter {
    const NAME: &'static str = "ModifyFilter";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => nothing(reader, ModifyFilter::RoundRobin),
            1 => Ok(ModifyFilter::Osi(reader.value()?)),
            2 => nothing(reader, ModifyFilter::Stochastic),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            ModifyFilter::RoundRobin => bare(writer, 0),
            ModifyFilter::Osi(filter) => tagged(writer, 1, filter),
            ModifyFilter::Stochastic => bare(writer, 2),
        }
    }
}
