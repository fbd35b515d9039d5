//! What is missing to keep a flow from waiting, and what is there of it to be taken away: looked up in what is set.

use std::fmt;

use e2sm::tc::{
    Bdp, ClassifierControl, ControlMessage, DeleteFilter, DeleteQueue, FiveTuple, ModifyFilter, NewFilter,
    NewOsiFilter, OsiFilter, PacerControl, PacerKind, PacerParameters, QueueControl, QueueKind, QueueParameters,
};

use crate::record::{ClassifierRecord, TcRecord};

/// One change of what is set: a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A second queue, first in, first out.
    AddQueue,
    /// A filter that sends the flow to a queue.
    AddFilter {
        /// The queue.
        queue_id: u32,
    },
    /// The flow's filter sends it to another queue.
    MoveFilter {
        /// The filter.
        id: u32,
        /// The queue.
        queue_id: u32,
    },
    /// The pacer is 5G-BDP.
    Pace,
    /// No pacer.
    Unpace,
    /// No such filter.
    DeleteFilter {
        /// The filter.
        id: u32,
    },
    /// No such queue.
    DeleteQueue {
        /// The queue.
        id: u32,
    },
}

impl Step {
    /// The control, for a flow. The pacer is told what RLC's buffer holds, and when that was.
    #[must_use]
    pub fn control(self, flow: FiveTuple, bdp: Bdp) -> ControlMessage<'static> {
        match self {
            Step::AddQueue => ControlMessage::Queue(QueueControl::Add(QueueParameters::Fifo)),
            Step::AddFilter { queue_id } => {
                ControlMessage::Classifier(ClassifierControl::Add(NewFilter::Osi(NewOsiFilter { flow, queue_id })))
            }
            Step::MoveFilter { id, queue_id } => {
                let filter = OsiFilter { id, flow, queue_id };
                ControlMessage::Classifier(ClassifierControl::Modify(ModifyFilter::Osi(filter)))
            }
            Step::Pace => ControlMessage::Pacer(PacerControl::Modify(PacerParameters::Bdp5g(bdp))),
            Step::Unpace => ControlMessage::Pacer(PacerControl::Modify(PacerParameters::Off)),
            Step::DeleteFilter { id } => ControlMessage::Classifier(ClassifierControl::Delete(DeleteFilter::Osi(id))),
            Step::DeleteQueue { id } => {
                ControlMessage::Queue(QueueControl::Delete(DeleteQueue { id, kind: QueueKind::Fifo }))
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::AddQueue => f.write_str("add a second FIFO queue"),
            Step::AddFilter { queue_id } => write!(f, "add a filter that sends the flow to queue {queue_id}"),
            Step::MoveFilter { id, queue_id } => write!(f, "have filter {id} send the flow to queue {queue_id}"),
            Step::Pace => f.write_str("set the 5G-BDP pacer"),
            Step::Unpace => f.write_str("set no pacer"),
            Step::DeleteFilter { id } => write!(f, "delete filter {id}"),
            Step::DeleteQueue { id } => write!(f, "delete queue {id}"),
        }
    }
}

/// A filter of somebody else stands before any of ours: it fits the flow, and sends it to the queue that all else goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// That filter.
    pub filter: u32,
}

/// What is set, read for a flow.
#[derive(Debug)]
pub(super) struct TcView<'r> {
    record: &'r TcRecord,
    flow: FiveTuple,
}

impl<'r> TcView<'r> {
    pub fn new(record: &'r TcRecord, flow: FiveTuple) -> Self {
        TcView { record, flow }
    }

    fn filters(&self) -> &'r [OsiFilter] {
        match &self.record.classifier {
            ClassifierRecord::Osi(filters) => filters,
            ClassifierRecord::RoundRobin | ClassifierRecord::Stochastic => &[],
        }
    }

    /// The queue of what no filter fits.
    fn first(&self) -> Option<u32> {
        self.record.lanes.first().map(|lane| lane.shaper.id)
    }

    /// The flow's very filter.
    pub fn own(&self) -> Option<OsiFilter> {
        self.filters().iter().copied().find(|filter| filter.flow == self.flow)
    }

    /// The queue that the flow has for itself, or shares with some others: not the one that all else goes to.
    pub fn apart(&self) -> Option<u32> {
        let fits = self.filters().iter().find(|filter| covers(&filter.flow, &self.flow))?;
        (Some(fits.queue_id) != self.first()).then_some(fits.queue_id)
    }

    pub fn is_paced(&self) -> bool {
        self.record.pacer.kind == PacerKind::Bdp5g
    }

    /// FIFO queues that nobody sends packets to.
    fn spare(&self) -> impl Iterator<Item = u32> {
        let first = self.first();
        let fifos =
            self.record.lanes.iter().filter(|lane| lane.queue.kind == QueueKind::Fifo).map(|lane| lane.shaper.id);
        fifos.filter(move |id| Some(*id) != first && !self.is_used(*id))
    }

    fn is_used(&self, id: u32) -> bool {
        let mut others = self.record.lanes.iter().filter(|lane| lane.shaper.id != id);
        self.filters().iter().any(|filter| filter.queue_id == id)
            || others.any(|lane| lane.policer.active && lane.policer.deviation_id == id)
    }

    /// The next step to keep the flow from waiting; none where all is done.
    pub fn missing(&self) -> Result<Option<Step>, Shadowed> {
        if self.apart().is_some() {
            return Ok((!self.is_paced()).then_some(Step::Pace));
        }
        let fits = self.filters().iter().find(|filter| covers(&filter.flow, &self.flow));
        if let Some(other) = fits
            && other.flow != self.flow
        {
            return Err(Shadowed { filter: other.id });
        }
        let step = match (self.spare().next(), fits) {
            (None, _) => Step::AddQueue,
            (Some(queue_id), None) => Step::AddFilter { queue_id },
            (Some(queue_id), Some(own)) => Step::MoveFilter { id: own.id, queue_id },
        };
        Ok(Some(step))
    }

    /// The next step to take away what keeps the flow from waiting; none where nothing of it is left. `queue` is known to have
    /// been the flow's. Where it is not known, a single FIFO queue that nobody sends packets to is taken for it.
    ///
    /// The pacer goes first and the filter after it: where the pacer is gone the packets wait in RLC, as they did.
    pub fn left(&self, queue: Option<u32>) -> Option<Step> {
        match self.own() {
            Some(_) if self.is_paced() => Some(Step::Unpace),
            Some(own) => Some(Step::DeleteFilter { id: own.id }),
            None => {
                let mut spare = self.spare().filter(|id| queue.is_none_or(|queue| queue == *id));
                let id = spare.next()?;
                spare.next().is_none().then_some(Step::DeleteQueue { id })
            }
        }
    }
}

/// Whether all packets that fit the narrow one fit the wide one.
fn covers(wide: &FiveTuple, narrow: &FiveTuple) -> bool {
    fn any_or<T: PartialEq>(wide: Option<T>, narrow: Option<T>) -> bool {
        wide.is_none() || wide == narrow
    }
    any_or(wide.source_address, narrow.source_address)
        && any_or(wide.destination_address, narrow.destination_address)
        && any_or(wide.source_port, narrow.source_port)
        && any_or(wide.destination_port, narrow.destination_port)
        && any_or(wide.protocol, narrow.protocol)
}
