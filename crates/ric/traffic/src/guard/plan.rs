//! Determines the next step to protect a flow, or to undo its protection, from the configuration of TC.

use std::fmt;

use e2sm::tc::{
    Bdp, ClassifierControl, ControlMessage, DeleteFilter, DeleteQueue, FiveTuple, ModifyFilter, NewFilter,
    NewOsiFilter, OsiFilter, PacerControl, PacerKind, PacerParameters, QueueControl, QueueKind, QueueParameters,
};

use crate::record::{ClassifierRecord, TcRecord};

/// A change of the configuration, by one control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Adds a second FIFO queue.
    AddQueue,
    /// Adds a filter that sends the flow to a queue.
    AddFilter {
        /// The queue.
        queue_id: u32,
    },
    /// Changes the flow's filter to send it to another queue.
    MoveFilter {
        /// The filter.
        id: u32,
        /// The queue.
        queue_id: u32,
    },
    /// Sets the 5G-BDP pacer.
    Pace,
    /// Removes the pacer.
    Unpace,
    /// Deletes a filter.
    DeleteFilter {
        /// The filter.
        id: u32,
    },
    /// Deletes a queue.
    DeleteQueue {
        /// The queue.
        id: u32,
    },
}

impl Step {
    /// Returns the control for a flow. The pacer gets the octets in the RLC buffer, with their time.
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
            Step::Unpace => f.write_str("remove the pacer"),
            Step::DeleteFilter { id } => write!(f, "delete filter {id}"),
            Step::DeleteQueue { id } => write!(f, "delete queue {id}"),
        }
    }
}

/// A filter of another client matches the flow first, and sends it to the default queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoveredByOtherFilter {
    /// That filter.
    pub filter: u32,
}

/// The configuration of TC from the view of a flow.
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

    /// Returns the default queue: that of packets which no filter matches.
    fn first(&self) -> Option<u32> {
        self.record.queues.first().map(|entry| entry.shaper.id)
    }

    /// Returns the filter for exactly this flow.
    pub fn own(&self) -> Option<OsiFilter> {
        self.filters().iter().copied().find(|filter| filter.flow == self.flow)
    }

    /// Returns the queue of the flow if it is not the default queue. Other flows may share it.
    pub fn separate_queue(&self) -> Option<u32> {
        let matching = self.filters().iter().find(|filter| covers(&filter.flow, &self.flow))?;
        (Some(matching.queue_id) != self.first()).then_some(matching.queue_id)
    }

    pub fn is_paced(&self) -> bool {
        self.record.pacer.kind == PacerKind::Bdp5g
    }

    /// Returns the FIFO queues to which no filter or policer sends packets.
    fn spare(&self) -> impl Iterator<Item = u32> {
        let first = self.first();
        let fifos =
            self.record.queues.iter().filter(|entry| entry.queue.kind == QueueKind::Fifo).map(|entry| entry.shaper.id);
        fifos.filter(move |id| Some(*id) != first && !self.is_used(*id))
    }

    fn is_used(&self, id: u32) -> bool {
        let mut others = self.record.queues.iter().filter(|entry| entry.shaper.id != id);
        self.filters().iter().any(|filter| filter.queue_id == id)
            || others.any(|entry| entry.policer.active && entry.policer.deviation_id == id)
    }

    /// Returns the next step to protect the flow, or `None` if it is protected.
    pub fn missing(&self) -> Result<Option<Step>, CoveredByOtherFilter> {
        if self.separate_queue().is_some() {
            return Ok((!self.is_paced()).then_some(Step::Pace));
        }
        let matching = self.filters().iter().find(|filter| covers(&filter.flow, &self.flow));
        if let Some(other) = matching
            && other.flow != self.flow
        {
            return Err(CoveredByOtherFilter { filter: other.id });
        }
        let step = match (self.spare().next(), matching) {
            (None, _) => Step::AddQueue,
            (Some(queue_id), None) => Step::AddFilter { queue_id },
            (Some(queue_id), Some(own)) => Step::MoveFilter { id: own.id, queue_id },
        };
        Ok(Some(step))
    }

    /// Returns the next step to undo the protection, or `None` if nothing is left to undo. `queue` is the flow's queue, if known;
    /// otherwise a single unused FIFO queue is taken for it.
    ///
    /// The pacer is removed before the filter: without the pacer, packets wait in RLC as before the protection.
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

/// Whether all packets that match `narrow` match `wide`.
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
