//! Controls of policers and shapers, which limit the rate of a queue.

use per::Per;

use super::control::{ADD, DELETE, MODIFY, bare, nothing, tagged};
use crate::plain::{Error, ErrorKind, Plain, Reader, Writer};

/// A control of policers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum PolicerControl {
    /// Add a policer.
    Add,
    /// Delete a policer.
    Delete(u32),
    /// Change a limit.
    Modify(ChangePolicer),
}

impl<'a> Plain<'a> for PolicerControl {
    const NAME: &'static str = "PolicerControl";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            ADD => nothing(reader, PolicerControl::Add),
            DELETE => Ok(PolicerControl::Delete(reader.number()?)),
            MODIFY => Ok(PolicerControl::Modify(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            PolicerControl::Add => bare(writer, ADD),
            PolicerControl::Delete(id) => tagged(writer, DELETE, id),
            PolicerControl::Modify(change) => tagged(writer, MODIFY, change),
        }
    }
}

/// The new limit of a policer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ChangePolicer {
    /// Its number.
    pub id: u32,
    /// The rate above which packets are dropped.
    pub drop_rate_kbps: u32,
    /// The queue for packets above the deviation rate.
    pub deviation_id: u32,
    /// The rate above which packets are moved to another queue.
    pub deviation_rate_kbps: u32,
    /// Whether it is active.
    pub active: bool,
}

impl Plain<'_> for ChangePolicer {
    const NAME: &'static str = "ChangePolicer";
    const LEAST: usize = 20;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(ChangePolicer {
            id: reader.number()?,
            drop_rate_kbps: reader.number()?,
            deviation_id: reader.number()?,
            deviation_rate_kbps: reader.number()?,
            active: reader.flag()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.number(self.drop_rate_kbps);
        writer.number(self.deviation_id);
        writer.number(self.deviation_rate_kbps);
        writer.flag(self.active);
        Ok(())
    }
}

/// A control of shapers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum ShaperControl {
    /// Add a shaper.
    Add,
    /// Delete a shaper.
    Delete(u32),
    /// Change a limit.
    Modify(ChangeShaper),
}

impl<'a> Plain<'a> for ShaperControl {
    const NAME: &'static str = "ShaperControl";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            ADD => nothing(reader, ShaperControl::Add),
            DELETE => Ok(ShaperControl::Delete(reader.number()?)),
            MODIFY => Ok(ShaperControl::Modify(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            ShaperControl::Add => bare(writer, ADD),
            ShaperControl::Delete(id) => tagged(writer, DELETE, id),
            ShaperControl::Modify(change) => tagged(writer, MODIFY, change),
        }
    }
}

/// The new limit of a shaper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ChangeShaper {
    /// Its number.
    pub id: u32,
    /// The averaging window of its rate, in milliseconds.
    pub window_ms: u32,
    /// Its limit.
    pub max_rate_kbps: u32,
    /// Whether it is active.
    pub active: bool,
}

impl Plain<'_> for ChangeShaper {
    const NAME: &'static str = "ChangeShaper";
    const LEAST: usize = 16;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(ChangeShaper {
            id: reader.number()?,
            window_ms: reader.number()?,
            max_rate_kbps: reader.number()?,
            active: reader.flag()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.number(self.window_ms);
        writer.number(self.max_rate_kbps);
        writer.flag(self.active);
        Ok(())
    }
}
