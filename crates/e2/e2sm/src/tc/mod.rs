//! TC: reports and controls of traffic control between SDAP and RLC (RAN function 146 of FlexRIC).
//!
//! The packets of a bearer pass a classifier, which assigns a queue; each queue has a policer before and a shaper behind
//! it; a scheduler serves the queues, and a pacer limits what is passed to RLC. (Without a pacer, packets of all flows
//! wait in the one buffer of RLC; with it they wait in separate queues.)
//!
//! | message | type |
//! |---|---|
//! | event trigger | [`EventTriggerDefinition`]: the period |
//! | indication | [`IndicationHeader`], [`IndicationMessage`]: configuration and counters |
//! | control | [`ControlHeader`], [`ControlMessage`]: add, delete or modify one component |
//! | control outcome | [`ControlOutcome`] |
//!
//! FlexRIC's layout has neither [`Scheduler::DeficitRoundRobin`] nor a text in the outcome: they are in PER only.

mod classifier;
mod control;
mod filters;
mod limits;

use per::{List, Per};

pub use crate::flexric::{ControlHeader, EventTriggerDefinition, IndicationHeader, RanFunctionDefinition};
use crate::plain::{Error, ErrorKind, Plain, Reader, Writer};
use crate::wire::{Model, Wire, message};

pub use classifier::{Classifier, FiveTuple, OsiFilter};
pub use control::{
    Bdp, ControlMessage, ControlOutcome, DelayTarget, DeleteQueue, ModifyQueue, PacerControl, PacerParameters,
    QueueControl, QueueParameters, SchedulerControl,
};
pub use filters::{ClassifierControl, DeleteFilter, ModifyFilter, NewFilter, NewOsiFilter};
pub use limits::{ChangePolicer, ChangeShaper, PolicerControl, ShaperControl};

/// The RAN function ID, name and encodings of this model.
pub const MODEL: Model = Model { function_id: 146, name: "TC_STATS_V0", wires: &[Wire::Per, Wire::Plain, Wire::Flat] };

/// The indication message: configuration and counters of a bearer.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct IndicationMessage<'a> {
    /// The scheduler.
    pub scheduler: Scheduler<'a>,
    /// The pacer.
    pub pacer: Pacer,
    /// The classifier.
    pub classifier: Classifier<'a>,
    /// The queues.
    #[per(size = 0..=1024)]
    pub queues: List<'a, QueueEntry>,
    /// The time stamp, in microseconds of Unix time.
    pub timestamp_us: i64,
}

message!(IndicationMessage, borrowing);

impl<'a> Plain<'a> for IndicationMessage<'a> {
    const NAME: &'static str = "tc::IndicationMessage";
    const LEAST: usize = 40;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(IndicationMessage {
            scheduler: reader.value()?,
            pacer: reader.value()?,
            classifier: reader.value()?,
            queues: reader.list()?,
            timestamp_us: reader.number()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.value(&self.scheduler)?;
        writer.value(&self.pacer)?;
        writer.value(&self.classifier)?;
        writer.list(&self.queues)?;
        writer.number(self.timestamp_us);
        Ok(())
    }
}

/// The scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum Scheduler<'a> {
    /// Round robin.
    RoundRobin,
    /// Strict priority: the priority of each queue; the lowest number is served first.
    #[per(size = 0..=1024)]
    Priority(List<'a, u32>),
    /// Deficit round robin: the quantum of each queue in octets (as in RFC 8290). Not in FlexRIC's layout.
    #[per(size = 0..=1024)]
    DeficitRoundRobin(List<'a, u32>),
}

impl<'a> Plain<'a> for Scheduler<'a> {
    const NAME: &'static str = "Scheduler";
    const LEAST: usize = 4;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => Ok(Scheduler::RoundRobin),
            1 => Ok(Scheduler::Priority(reader.list()?)),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            Scheduler::RoundRobin => {
                writer.number(0u32);
                Ok(())
            }
            Scheduler::Priority(priorities) => {
                writer.number(1u32);
                writer.list(priorities)
            }
            Scheduler::DeficitRoundRobin(_) => Err(writer.error(ErrorKind::NotInLayout)),
        }
    }
}

/// The pacer.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Pacer {
    /// The algorithm.
    pub kind: PacerKind,
    /// Its number.
    pub id: u32,
    /// Its throughput.
    pub meter: Meter,
}

/// The algorithm of a pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum PacerKind {
    /// No pacing.
    Off,
    /// 5G-BDP: keeps little more in RLC than the bearer sends in one scheduling round.
    Bdp5g,
}

impl Plain<'_> for Pacer {
    const NAME: &'static str = "Pacer";
    const LEAST: usize = 16;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let kind = match reader.number::<u32>()? {
            0 => PacerKind::Off,
            1 => PacerKind::Bdp5g,
            _ => return Err(reader.fault(ErrorKind::UnknownValue, 4)),
        };
        Ok(Pacer { kind, id: reader.number()?, meter: reader.value()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(match self.kind {
            PacerKind::Off => 0u32,
            PacerKind::Bdp5g => 1,
        });
        writer.number(self.id);
        writer.value(&self.meter)
    }
}

/// The recent throughput of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Meter {
    /// The rate in kbit/s.
    pub rate_kbps: f32,
    /// The averaging window in milliseconds.
    pub window_ms: u32,
}

impl Plain<'_> for Meter {
    const NAME: &'static str = "Meter";
    const LEAST: usize = 8;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Meter { rate_kbps: reader.number()?, window_ms: reader.number()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.rate_kbps);
        writer.number(self.window_ms);
        Ok(())
    }
}

/// A queue with its shaper and policer. Its number is that of its shaper.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct QueueEntry {
    /// The shaper.
    pub shaper: Shaper,
    /// The policer.
    pub policer: Policer,
    /// The queue.
    pub queue: Queue,
}

impl Plain<'_> for QueueEntry {
    const NAME: &'static str = "QueueEntry";
    const LEAST: usize = 92;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(QueueEntry { shaper: reader.value()?, policer: reader.value()?, queue: reader.value()? })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.value(&self.shaper)?;
        writer.value(&self.policer)?;
        writer.value(&self.queue)
    }
}

/// A shaper: limits the rate of a queue by delaying packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Shaper {
    /// The number of the queue.
    pub id: u32,
    /// Whether it is active.
    pub active: bool,
    /// Its limit.
    pub max_rate_kbps: u32,
    /// Its throughput.
    pub meter: Meter,
}

impl Plain<'_> for Shaper {
    const NAME: &'static str = "Shaper";
    const LEAST: usize = 20;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Shaper {
            id: reader.number()?,
            active: reader.flag()?,
            max_rate_kbps: reader.number()?,
            meter: reader.value()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.flag(self.active);
        writer.number(self.max_rate_kbps);
        writer.value(&self.meter)
    }
}

/// A policer: limits the rate of a queue by dropping or moving packets (RFC 2475: meter, dropper, marker).
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Policer {
    /// The number of the queue.
    pub id: u32,
    /// Its throughput.
    pub meter: Meter,
    /// Dropped packets.
    pub dropped_packets: u32,
    /// Marked packets.
    pub marked_packets: u32,
    /// Its limit.
    pub max_rate_kbps: f32,
    /// Whether it is active.
    pub active: bool,
    /// The queue for packets within the limit.
    pub destination_id: u32,
    /// The queue for packets above the limit.
    pub deviation_id: u32,
}

impl Plain<'_> for Policer {
    const NAME: &'static str = "Policer";
    const LEAST: usize = 36;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Policer {
            id: reader.number()?,
            meter: reader.value()?,
            dropped_packets: reader.number()?,
            marked_packets: reader.number()?,
            max_rate_kbps: reader.number()?,
            active: reader.flag()?,
            destination_id: reader.number()?,
            deviation_id: reader.number()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.id);
        writer.value(&self.meter)?;
        writer.number(self.dropped_packets);
        writer.number(self.marked_packets);
        writer.number(self.max_rate_kbps);
        writer.flag(self.active);
        writer.number(self.destination_id);
        writer.number(self.deviation_id);
        Ok(())
    }
}

/// The discipline of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum QueueKind {
    /// First in, first out.
    #[default]
    Fifo,
    /// CoDel: drops packets when the sojourn time is too long (RFC 8289).
    CoDel,
    /// CoDel that marks packets (ECN, RFC 3168) in place of dropping them.
    EcnCoDel,
}

impl QueueKind {
    fn number(self) -> u32 {
        match self {
            QueueKind::Fifo => 0,
            QueueKind::CoDel => 1,
            QueueKind::EcnCoDel => 2,
        }
    }
}

impl Plain<'_> for QueueKind {
    const NAME: &'static str = "QueueKind";
    const LEAST: usize = 4;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.number::<u32>()? {
            0 => Ok(QueueKind::Fifo),
            1 => Ok(QueueKind::CoDel),
            2 => Ok(QueueKind::EcnCoDel),
            _ => Err(reader.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(self.number());
        Ok(())
    }
}

/// A queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Per)]
#[per(extensible)]
pub struct Queue {
    /// Its discipline.
    pub kind: QueueKind,
    /// Queued octets.
    pub octets: u32,
    /// Queued packets.
    pub packets: u32,
    /// Forwarded octets.
    pub forwarded_octets: u32,
    /// Forwarded packets.
    pub forwarded_packets: u32,
    /// Packets dropped, or marked with [`QueueKind::EcnCoDel`].
    pub dropped_packets: u32,
    /// The mean sojourn time in microseconds.
    pub mean_sojourn_us: f32,
    /// The sojourn time of the last packet in microseconds.
    pub last_sojourn_us: i64,
}

impl Plain<'_> for Queue {
    const NAME: &'static str = "Queue";
    const LEAST: usize = 36;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Queue {
            kind: reader.value()?,
            octets: reader.number()?,
            packets: reader.number()?,
            forwarded_octets: reader.number()?,
            forwarded_packets: reader.number()?,
            dropped_packets: reader.number()?,
            mean_sojourn_us: reader.number()?,
            last_sojourn_us: reader.number()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.value(&self.kind)?;
        writer.number(self.octets);
        writer.number(self.packets);
        writer.number(self.forwarded_octets);
        writer.number(self.forwarded_packets);
        writer.number(self.dropped_packets);
        writer.number(self.mean_sojourn_us);
        writer.number(self.last_sojourn_us);
        Ok(())
    }
}
