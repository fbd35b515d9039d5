//! Controls: add, delete or modify one component.

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
    /// The filters of the classifier.
    Classifier(ClassifierControl),
    /// A policer.
    Policer(PolicerControl),
    /// A queue.
    Queue(QueueControl),
    /// The scheduler.
    Scheduler(SchedulerControl<'a>),
    /// A shaper.
    Shaper(ShaperControl),
    /// The pacer.
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

/// A discriminant and the value that it selects.
pub(super) fn tagged<'a, T: Plain<'a>>(writer: &mut Writer<'_>, tag: u32, value: &T) -> Result<(), Error> {
    writer.number(tag);
    writer.value(value)
}

/// A discriminant without a value, and an unused number.
pub(super) fn bare(writer: &mut Writer<'_>, tag: u32) -> Result<(), Error> {
    writer.number(tag);
    writer.number(0u32);
    Ok(())
}

/// An unused number.
pub(super) fn nothing<T>(reader: &mut Reader<'_>, value: T) -> Result<T, Error> {
    reader.number::<u32>()?;
    Ok(value)
}

/// The operations by number.
pub(super) const ADD: u32 = 0;
pub(super) const DELETE: u32 = 1;
pub(super) const MODIFY: u32 = 2;

/// A control of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum QueueControl {
    /// Add a queue, with an inactive policer and shaper.
    Add(QueueParameters),
    /// Delete a queue.
    Delete(DeleteQueue),
    /// Change the discipline of a queue.
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

/// The discipline of a queue and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum QueueParameters {
    /// First in, first out.
    Fifo,
    /// CoDel: drops packets when the sojourn time is too long (RFC 8289).
    CoDel(DelayTarget),
    /// CoDel that marks packets (ECN, RFC 3168) in place of dropping them.
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

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct DelayTarget {
    /// The target sojourn time.
    pub target_ms: u32,
    /// The interval: if all packets exceed the target for this time, packets are dropped or marked.
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

/// A queue to delete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct DeleteQueue {
    /// Its number.
    pub id: u32,
    /// Its discipline; a control with another discipline is rejected.
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

/// The new discipline of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct ModifyQueue {
    /// Its number.
    pub id: u32,
    /// The new discipline.
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

/// A control of the scheduler. There is exactly one: nodes reject all but [`SchedulerControl::Modify`].
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum SchedulerControl<'a> {
    /// Add one.
    Add,
    /// Delete one.
    Delete,
    /// Replace it.
    Modify(Scheduler<'a>),
}

impl<'a> Plain<'a> for SchedulerControl<'a> {
    const NAME: &'static str = "SchedulerControl";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            ADD => nothing(reader, SchedulerControl::Add),
            DELETE => nothing(reader, SchedulerControl::Delete),
            // unlike in an indication, an unused number follows a discriminant without a value
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

/// A control of the pacer. There is exactly one: nodes reject all but [`PacerControl::Modify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum PacerControl {
    /// Add one.
    Add,
    /// Delete one.
    Delete,
    /// Replace it.
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

/// A pacer and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum PacerParameters {
    /// No pacing.
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

/// The parameters of the 5G-BDP pacer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct Bdp {
    /// The octets in the RLC buffer of the bearer.
    pub drb_octets: u32,
    /// The time stamp of that value, in microseconds of Unix time.
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
    /// 0 on success, 1 on failure.
    pub code: u32,
    /// A diagnostic text; not in FlexRIC's layout.
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
