//! Controls: add, delete or modify one part.

use per::{Per, PrintableString};

use super::filters::ClassifierControl;
use super::limits::{PolicerControl, ShaperControl};
use super::{QueueKind, Scheduler};
use crate::plain::{Error, ErrorKind, Plain, Reader, Writer};
use crate::wire::message;

/// The control message.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub enum ControlMessage<'a> {
    /// About the classifier's filters.
    Classifier(ClassifierControl),
    /// About a policer.
    Policer(PolicerControl),
    /// About a queue.
    Queue(QueueControl),
    /// About the scheduler.
    Scheduler(SchedulerControl<'a>),
    /// About a shaper.
    Shaper(ShaperControl),
    /// About the pacer.
    Pacer(PacerControl),
}

message!(ControlMessage, borrowing);

impl<'a> Plain<'a> for ControlMessage<'a> {
    const NAME: &'static str = "tc::ControlMessage";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => Ok(ControlMessage::Classifier(reader.value()?)),
            1 => Ok(ControlMessage::Policer(reader.value()?)),
            2 => Ok(ControlMessage::Queue(reader.value()?)),
            3 => Ok(ControlMessage::Scheduler(reader.value()?)),
            4 => Ok(ControlMessage::Shaper(reader.value()?)),
            5 => Ok(ControlMessage::Pacer(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            ControlMessage::Classifier(control) => tagged(writer, 0, control),
            ControlMessage::Policer(control) => tagged(writer, 1, control),
            ControlMessage::Queue(control) => tagged(writer, 2, control),
            ControlMessage::Scheduler(control) => tagged(writer, 3, control),
            ControlMessage::Shaper(control) => tagged(writer, 4, control),
            ControlMessage::Pacer(control) => tagged(writer, 5, control),
        }
    }
}

/// A number that says what follows, and that.
pub(super) fn tagged<'a, T: Plain<'a>>(writer: &mut Writer<'_>, tag: u32, value: &T) -> Result<(), Error> {
    writer.number(tag);
    writer.value(value)
}

/// A number that says that nothing follows, and a number without meaning.
pub(super) fn bare(writer: &mut Writer<'_>, tag: u32) -> Result<(), Error> {
    writer.number(tag);
    writer.number(0u32);
    Ok(())
}

/// A number without meaning.
pub(super) fn nothing<T>(reader: &mut Reader<'_>, value: T) -> Result<T, Error> {
    reader.number::<u32>()?;
    Ok(value)
}

/// What is to be done with a part, as numbers.
pub(super) const ADD: u32 = 0;
pub(super) const DELETE: u32 = 1;
pub(super) const MODIFY: u32 = 2;

/// A control of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum QueueControl {
    /// A queue more, with a policer and a shaper that do nothing yet.
    Add(QueueParameters),
    /// No more queue of that number.
    Delete(DeleteQueue),
    /// Another discipline.
    Modify(ModifyQueue),
}

impl<'a> Plain<'a> for QueueControl {
    const NAME: &'static str = "QueueControl";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            ADD => Ok(QueueControl::Add(reader.value()?)),
            DELETE => Ok(QueueControl::Delete(reader.value()?)),
            MODIFY => Ok(QueueControl::Modify(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            QueueControl::Add(new) => tagged(writer, ADD, new),
            QueueControl::Delete(id) => tagged(writer, DELETE, id),
            QueueControl::Modify(change) => tagged(writer, MODIFY, change),
        }
    }
}

/// A queue's discipline and what it goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum QueueParameters {
    /// First in, first out.
    Fifo,
    /// Drops when packets wait too long (RFC 8289).
    CoDel(DelayTarget),
    /// Marks (RFC 3168) when packets wait too long.
    EcnCoDel(DelayTarget),
}

impl QueueParameters {
    /// The discipline.
    #[must_use]
    pub fn kind(&self) -> QueueKind {
        match self {
            QueueParameters::Fifo => QueueKind::Fifo,
            QueueParameters::CoDel(_) => QueueKind::CoDel,
            QueueParameters::EcnCoDel(_) => QueueKind::EcnCoDel,
        }
    }
}

impl Plain<'_> for QueueParameters {
    const NAME: &'static str = "QueueParameters";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.value()? {
            QueueKind::Fifo => nothing(reader, QueueParameters::Fifo),
            QueueKind::CoDel => Ok(QueueParameters::CoDel(reader.value()?)),
            QueueKind::EcnCoDel => Ok(QueueParameters::EcnCoDel(reader.value()?)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.value(&self.kind())?;
        match self {
            QueueParameters::Fifo => {
                writer.number(0u32);
                Ok(())
            }
            QueueParameters::CoDel(target) | QueueParameters::EcnCoDel(target) => writer.value(target),
        }
    }
}

/// How long packets may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct DelayTarget {
    /// They may wait this long.
    pub target_ms: u32,
    /// When all have waited longer over this time, something is done.
    pub interval_ms: u32,
}

impl Plain<'_> for DelayTarget {
    const NAME: &'static str = "DelayTarget";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(DelayTarget { target_ms: reader.number()?, interval_ms: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.target_ms);
        writer.number(self.interval_ms);
        Ok(())
    }
}

/// A queue to be deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct DeleteQueue {
    /// Its number.
    pub id: u32,
    /// Its discipline: a control that has another in mind is refused.
    pub kind: QueueKind,
}

impl Plain<'_> for DeleteQueue {
    const NAME: &'static str = "DeleteQueue";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(DeleteQueue { id: reader.number()?, kind: reader.value()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.value(&self.kind)
    }
}

/// A queue's new discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ModifyQueue {
    /// Its number.
    pub id: u32,
    /// What it is to be.
    pub parameters: QueueParameters,
}

impl Plain<'_> for ModifyQueue {
    const NAME: &'static str = "ModifyQueue";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(ModifyQueue { id: reader.number()?, parameters: reader.value()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.value(&self.parameters)
    }
}

/// A control of the scheduler. There is one: only [`SchedulerControl::Modify`] makes sense.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum SchedulerControl<'a> {
    /// One more.
    Add,
    /// One less.
    Delete,
    /// Another one.
    Modify(Scheduler<'a>),
}

impl<'a> Plain<'a> for SchedulerControl<'a> {
    const NAME: &'static str = "SchedulerControl";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            ADD => nothing(reader, SchedulerControl::Add),
            DELETE => nothing(reader, SchedulerControl::Delete),
            // unlike in an indication, a number without meaning follows where there is nothing to be said
            MODIFY => match reader.value()? {
                Scheduler::RoundRobin => nothing(reader, SchedulerControl::Modify(Scheduler::RoundRobin)),
                scheduler => Ok(SchedulerControl::Modify(scheduler)),
            },
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            SchedulerControl::Add => bare(writer, ADD),
            SchedulerControl::Delete => bare(writer, DELETE),
            SchedulerControl::Modify(scheduler) => {
                tagged(writer, MODIFY, scheduler)?;
                if *scheduler == Scheduler::RoundRobin {
                    writer.number(0u32);
                }
                Ok(())
            }
        }
    }
}

/// A control of the pacer. There is one: only [`PacerControl::Modify`] makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum PacerControl {
    /// One more.
    Add,
    /// One less.
    Delete,
    /// Another one.
    Modify(PacerParameters),
}

impl<'a> Plain<'a> for PacerControl {
    const NAME: &'static str = "PacerControl";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            ADD => nothing(reader, PacerControl::Add),
            DELETE => nothing(reader, PacerControl::Delete),
            MODIFY => Ok(PacerControl::Modify(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            PacerControl::Add => bare(writer, ADD),
            PacerControl::Delete => bare(writer, DELETE),
            PacerControl::Modify(change) => tagged(writer, MODIFY, change),
        }
    }
}

/// A pacer and what it goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum PacerParameters {
    /// Everything goes through.
    Off,
    /// 5G-BDP.
    Bdp5g(Bdp),
}

impl Plain<'_> for PacerParameters {
    const NAME: &'static str = "PacerParameters";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => nothing(reader, PacerParameters::Off),
            1 => Ok(PacerParameters::Bdp5g(reader.value()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            PacerParameters::Off => bare(writer, 0),
            PacerParameters::Bdp5g(bdp) => tagged(writer, 1, bdp),
        }
    }
}

/// What the 5G-BDP pacer goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct Bdp {
    /// Octets in the bearer's RLC buffer.
    pub drb_octets: u32,
    /// When that was, in microseconds of Unix time.
    pub timestamp_us: i64,
}

impl Plain<'_> for Bdp {
    const NAME: &'static str = "Bdp";
    const LEAST: usize = 12;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Bdp { drb_octets: reader.number()?, timestamp_us: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.drb_octets);
        writer.number(self.timestamp_us);
        Ok(())
    }
}

/// The control outcome.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ControlOutcome<'a> {
    /// 0 where the control was carried out, 1 where not.
    pub code: u32,
    /// What there is to say, for people. Not in FlexRIC's layout.
    #[per(size = 0..=1024, extensible)]
    pub diagnostic: PrintableString<'a>,
}

message!(ControlOutcome, borrowing);

impl<'a> Plain<'a> for ControlOutcome<'a> {
    const NAME: &'static str = "tc::ControlOutcome";
    const LEAST: usize = 4;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(ControlOutcome { code: reader.number()?, diagnostic: PrintableString::literal("") })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.code);
        Ok(())
    }
}
