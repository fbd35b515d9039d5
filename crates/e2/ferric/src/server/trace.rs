//! Traces of single indications: when each was received, routed, delivered and written.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use e2::{NodeId, SubscriptionId};
use e2ap::{GlobalE2NodeId, RanFunctionId};

use super::ring::Doorbell;

/// Traces of workers that may wait for the first event loop; further ones are lost.
const MAX_WAITING: usize = 256;

/// The life of one indication in the server. Times are nanoseconds since 1970, and rise from field to field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndicationTrace {
    /// The node that sent it, unless it was lost since.
    pub node: Option<GlobalE2NodeId>,
    /// The subscription that it belongs to.
    pub subscription: SubscriptionId,
    /// The RAN function.
    pub function: RanFunctionId,
    /// The octets of the PDU.
    pub octets: usize,
    /// The apps that it was delivered to by the event loop that traces it.
    pub deliveries: u64,
    /// The other event loops that it was passed to, each of which delivers it to its apps.
    pub other_loops: u32,
    /// The PDU was taken from the link's buffer. If a worker passed it to the first event loop, which has the iApps: it was taken
    /// from the worker's ring.
    pub received_ns: u64,
    /// The subscription and its consumers were found.
    pub routed_ns: u64,
    /// Each iApp has handled it, and each xApp of the event loop has it in its send queue.
    pub delivered_ns: u64,
    /// The send queues of this iteration were written to the links. What a link did not take is in its queue still.
    pub written_ns: u64,
}

/// Gets each trace, on the thread of the first event loop. It must not block.
pub type TraceObserver = Box<dyn FnMut(&IndicationTrace) + Send>;

/// What one event loop traces, and what it has begun.
#[derive(Debug)]
pub(super) struct Tracer {
    one_in: u32,
    /// Indications until the next one is traced.
    left: u32,
    /// Delivered in this iteration, and not yet written.
    open: Vec<(Instant, OpenTrace)>,
}

/// A trace, and the node that it is of: the first event loop knows the node's identity.
pub(super) type OpenTrace = (NodeId, IndicationTrace);

/// What was delivered.
pub(super) struct Delivered {
    pub node: NodeId,
    pub subscription: SubscriptionId,
    pub function: RanFunctionId,
    pub octets: usize,
    pub deliveries: u64,
    pub other_loops: u32,
}

impl Tracer {
    pub fn new(one_in: u32) -> Self {
        Tracer { one_in: one_in.max(1), left: 0, open: Vec::new() }
    }

    /// Called for each PDU. Returns the time if it is traced, should it be an indication.
    pub fn begin(&mut self) -> Option<Instant> {
        (self.left == 0).then(Instant::now)
    }

    /// Called for each indication, after it was routed.
    pub fn route(&mut self, begun: Option<Instant>) -> Option<(Instant, Instant)> {
        self.left = self.left.checked_sub(1).unwrap_or(self.one_in - 1);
        begun.map(|begun| (begun, Instant::now()))
    }

    /// Called for a traced indication, after it was delivered.
    pub fn note_delivery(&mut self, (received, routed): (Instant, Instant), of: &Delivered) {
        let Delivered { node, subscription, function, octets, deliveries, other_loops } = *of;
        let (delivered, since_epoch) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH));
        let delivered_ns = nanoseconds(since_epoch.unwrap_or_default());
        // the clock that never goes back decides how long each part took
        let before = |time: Instant| delivered_ns.saturating_sub(nanoseconds(delivered.duration_since(time)));
        let trace = IndicationTrace {
            node: None,
            subscription,
            function,
            octets,
            deliveries,
            other_loops,
            received_ns: before(received),
            routed_ns: before(routed),
            delivered_ns,
            written_ns: delivered_ns,
        };
        self.open.push((delivered, (node, trace)));
    }

    /// Called after the send queues were written. `take` gets the traces.
    pub fn note_written(&mut self, mut take: impl FnMut(OpenTrace)) {
        for (delivered, (node, mut trace)) in self.open.drain(..) {
            trace.written_ns += nanoseconds(delivered.elapsed());
            take((node, trace));
        }
    }
}

/// What workers know of tracing: whether there is any, and where traces go.
#[derive(Clone)]
pub(super) struct WorkerTraces {
    /// One indication in so many; not set: none.
    one_in: Arc<OnceLock<u32>>,
    sender: SyncSender<OpenTrace>,
    /// That of the first event loop.
    bell: Arc<Doorbell>,
}

impl WorkerTraces {
    /// Returns also where the first event loop, whose doorbell is given, receives the traces.
    pub fn new(bell: &Arc<Doorbell>) -> (Self, Receiver<OpenTrace>) {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        (WorkerTraces { one_in: Arc::default(), sender, bell: Arc::clone(bell) }, receiver)
    }

    /// Begins to trace one indication in `one_in` on all workers.
    pub fn begin(&self, one_in: u32) {
        let _ = self.one_in.set(one_in);
    }

    /// Creates the tracer of a worker, once tracing has begun.
    pub fn update(&self, tracer: &mut Option<Tracer>) {
        if tracer.is_none() {
            *tracer = self.one_in.get().copied().map(Tracer::new);
        }
    }

    /// Called after a worker's send queues were written: sends its traces.
    pub fn send_written(&self, tracer: &mut Tracer) {
        let mut is_sent = false;
        tracer.note_written(|trace| is_sent |= self.sender.try_send(trace).is_ok());
        if is_sent {
            // in any case: the first loop reads the traces in its next iteration only
            self.bell.wake();
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_indication_in_n_is_traced_whatever_else_arrives() {
        let mut tracer = Tracer::new(3);
        let mut traced = Vec::new();
        for number in 0..10 {
            // a PDU that is no indication is not counted
            tracer.begin();
            let begun = tracer.begin();
            if tracer.route(begun).is_some() {
                traced.push(number);
            }
        }
        assert_eq!(traced, [0, 3, 6, 9]);
    }
}
