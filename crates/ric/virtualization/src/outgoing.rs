//! What the functions of a virtual node are to send to their tenant's controller.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RequestKey, SendAgentLoop};
use ferric::e2ap::{Cause, RanFunctionId, RicActionId, RicRequestId};

/// A message of a function. Reports are in the octets of their [`Queue`].
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A report, or an insert if it has a call process id.
    Report {
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<Vec<u8>>,
        header: Range<usize>,
        message: Range<usize>,
    },
    /// The base station has answered the subscription.
    Subscribed { key: RequestKey, answer: Result<Admission, Cause> },
    /// The base station has ended the subscription.
    Ended { key: RequestKey, cause: Cause },
    /// The answer to a control.
    Answer { controller: ControllerId, id: RicRequestId, result: Result<Option<Vec<u8>>, ControlFailure> },
}

/// The messages of a function, in the order in which they are sent. A queue that is reused does not allocate.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    messages: Vec<Outgoing>,
    octets: Vec<u8>,
}

/// The octets that an empty queue keeps allocated.
const MAX_SPARE_OCTETS: usize = 1 << 20;

impl Queue {
    pub fn push(&mut self, message: Outgoing) {
        self.messages.push(message);
    }

    /// Appends a report, or an insert.
    pub fn report(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        call_process_id: Option<Vec<u8>>,
        header: &[u8],
        message: &[u8],
    ) {
        let start = self.octets.len();
        self.octets.extend_from_slice(header);
        let middle = self.octets.len();
        self.octets.extend_from_slice(message);
        let (header, message) = (start..middle, middle..self.octets.len());
        self.messages.push(Outgoing::Report { key, action, call_process_id, header, message });
    }

    /// Removes the messages of a subscription.
    pub fn forget(&mut self, subscription: RequestKey) {
        self.messages.retain(|message| match message {
            Outgoing::Report { key, .. } | Outgoing::Subscribed { key, .. } | Outgoing::Ended { key, .. } => {
                *key != subscription
            }
            Outgoing::Answer { .. } => true,
        });
        if self.messages.is_empty() {
            self.octets.clear();
        }
    }

    /// Sends all messages. Returns the number of subscriptions that were refused.
    pub fn send(&mut self, context: &mut FunctionContext<'_>) -> usize {
        let mut refused = 0;
        let Queue { messages, octets } = self;
        for message in messages.drain(..) {
            // each fails only for what has ended since
            let _ = match message {
                Outgoing::Report { key, action, call_process_id, header, message } => {
                    let (header, message) = (&octets[header], &octets[message]);
                    match call_process_id {
                        None => context.report(key, action, header, message),
                        Some(process) => context.insert(key, action, &process, header, message),
                    }
                }
                Outgoing::Subscribed { key, answer } => {
                    let is_refused = answer.is_err();
                    let answered = context.answer_subscription(key, answer);
                    refused += usize::from(is_refused && answered.is_ok());
                    answered
                }
                Outgoing::Ended { key, cause } => context.require_deletion(key, cause),
                Outgoing::Answer { controller, id, result } => context.answer_control(controller, id, result),
            };
        }
        octets.clear();
        octets.shrink_to(MAX_SPARE_OCTETS);
        refused
    }
}

/// What the functions of a virtual node are to send.
#[derive(Debug, Default)]
pub(crate) struct Outbox(Vec<(RanFunctionId, Queue, HasOutgoing)>);

/// Whether a function may have something to send: the agents ask each function several times for each report.
#[derive(Clone, Debug, Default)]
pub(crate) struct HasOutgoing(Arc<AtomicBool>);

impl HasOutgoing {
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Outbox {
    /// What a function is to send, to be appended to.
    pub fn queue(&mut self, function: RanFunctionId) -> &mut Queue {
        let (_, queue, has_outgoing) = self.entry(function);
        has_outgoing.0.store(true, Ordering::Relaxed);
        queue
    }

    /// Whether a function may have something to send.
    pub fn has_outgoing(&mut self, function: RanFunctionId) -> HasOutgoing {
        self.entry(function).2.clone()
    }

    /// Sends a report at once, or appends it to what the function is to send before. Returns whether it waits.
    pub fn report(
        &mut self,
        agents: &mut SendAgentLoop,
        function: RanFunctionId,
        (key, action): (RequestKey, RicActionId),
        header: &[u8],
        message: &[u8],
    ) -> bool {
        let (_, queue, _) = self.entry(function);
        if queue.messages.is_empty() {
            // fails only for what has ended since
            let _ = agents.report(key, action, header, message);
            return false;
        }
        self.queue(function).report(key, action, None, header, message);
        true
    }

    /// Exchanges what a function is to send for an empty queue.
    pub fn take(&mut self, function: RanFunctionId, empty: &mut Queue) {
        let (_, queue, has_outgoing) = self.entry(function);
        has_outgoing.0.store(false, Ordering::Relaxed);
        std::mem::swap(queue, empty);
    }

    fn entry(&mut self, function: RanFunctionId) -> &mut (RanFunctionId, Queue, HasOutgoing) {
        let at = self.0.iter().position(|(of, ..)| *of == function).unwrap_or_else(|| {
            self.0.push((function, Queue::default(), HasOutgoing::default()));
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}
