//! Controls that a thread of the base station executes: rings in both directions, and the answers to the RIC.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use ferric::agent::{ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Wrapper};
use ferric::e2::{ControlRequest, Time};
use ran_functions::rc::{RcFunction, Refusal};
use rtrb::{Consumer, Producer, RingBuffer};
use tracing::debug;

use super::source::{Pass, Source, Staged, refusal};
use super::{FERRIC_RC_REASON_OCTETS, ferric_rc_control};
use crate::function::{
    FERRIC_CAUSE_CONTROL_MESSAGE_INVALID, FERRIC_CAUSE_CONTROL_TIMER_EXPIRED, FERRIC_CAUSE_FUNCTION_RESOURCE_LIMIT,
};
use crate::reporter::Signal;
use crate::status::{FERRIC_ERROR_BUSY, FERRIC_ERROR_EMPTY, FERRIC_ERROR_FULL, Failure, write_text};

/// A control on its way to the base station, which may take it until the deadline.
#[derive(Clone, Copy)]
struct Waiting {
    control: ferric_rc_control,
    deadline: Instant,
}

/// The answer of the base station.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    id: u64,
    cause: i32,
    reason: [c_char; FERRIC_RC_REASON_OCTETS],
}

impl Answer {
    pub fn new(id: u64, cause: i32, reason: &[u8]) -> Self {
        let mut answer = Answer { id, cause, reason: [0; FERRIC_RC_REASON_OCTETS] };
        write_text(&mut answer.reason, reason);
        answer
    }

    fn refusal(&self) -> Option<Refusal> {
        let octets: Vec<u8> = self.reason.iter().map(|c| *c as u8).take_while(|octet| *octet != 0).collect();
        (self.cause != 0).then(|| refusal(self.cause, &String::from_utf8_lossy(&octets)))
    }
}

/// The ends of the rings at the base station.
pub(super) struct Queue {
    controls: Mutex<Consumer<Waiting>>,
    answers: Mutex<Producer<Answer>>,
    signal: Arc<Signal>,
}

/// The ends of the rings at the agent.
pub(super) struct AgentEnds {
    controls: Producer<Waiting>,
    answers: Consumer<Answer>,
}

fn try_lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, Failure> {
    match mutex.try_lock() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Failure::code(FERRIC_ERROR_BUSY)),
    }
}

impl Queue {
    pub fn new(length: usize, signal: Arc<Signal>) -> (Self, AgentEnds) {
        let (to_station, controls) = RingBuffer::new(length);
        // late answers may wait beside those of all controls
        let (answers, from_station) = RingBuffer::new(2 * length);
        let queue = Queue { controls: Mutex::new(controls), answers: Mutex::new(answers), signal };
        (queue, AgentEnds { controls: to_station, answers: from_station })
    }

    /// The next control whose time is not over.
    pub fn next(&self) -> Result<ferric_rc_control, Failure> {
        let mut controls = try_lock(&self.controls)?;
        let now = Instant::now();
        while let Ok(waiting) = controls.pop() {
            if now < waiting.deadline {
                return Ok(waiting.control);
            }
        }
        Err(Failure::code(FERRIC_ERROR_EMPTY))
    }

    pub fn answer(&self, answer: Answer) -> Result<(), Failure> {
        let full = try_lock(&self.answers)?.push(answer).is_err();
        self.signal.set();
        if full { Err(Failure::code(FERRIC_ERROR_FULL)) } else { Ok(()) }
    }
}

/// A control without an answer.
struct Unanswered {
    id: u64,
    controller: ControllerId,
    request: ControlRequest,
    staged: Staged,
    deadline: Time,
}

/// Removes the unanswered control of a request that comes again: it was of an association that has been lost since, where its answer
/// has no receiver, and it must not answer the new control.
fn abandon(unanswered: &mut Vec<Unanswered>, key: RequestKey) {
    unanswered.retain(|unanswered| (unanswered.controller, unanswered.request.request_id) != (key.controller, key.id));
}

/// E2SM-RC whose controls are executed by a thread of the base station.
///
/// A control is decoded and checked when it arrives, with a source that collects what is to be executed. When the base station has
/// answered, the function handles it once more, with a source that returns the answer: so the outcome is that of any control.
pub(super) struct QueuedRc {
    function: RcFunction<Arc<Mutex<Source>>>,
    source: Arc<Mutex<Source>>,
    ends: AgentEnds,
    signal: Arc<Signal>,
    answer_within: Duration,
    unanswered: Vec<Unanswered>,
    last_id: u64,
}

impl QueuedRc {
    pub fn new(
        function: RcFunction<Arc<Mutex<Source>>>,
        source: Arc<Mutex<Source>>,
        ends: AgentEnds,
        signal: Arc<Signal>,
        answer_within: Duration,
    ) -> Self {
        QueuedRc { function, source, ends, signal, answer_within, unanswered: Vec::new(), last_id: 0 }
    }

    fn set_pass(&self, pass: Pass) -> Pass {
        std::mem::replace(&mut self.source.lock().unwrap_or_else(PoisonError::into_inner).pass, pass)
    }

    /// Handles a control for its outcome.
    fn outcome(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        (staged, refusal): (Staged, Option<Refusal>),
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        self.set_pass(Pass::Answer(Box::new(staged), refusal));
        let result = self.function.control(now, controller, request, context);
        self.set_pass(Pass::Execute);
        result
    }

    /// Answers a control that the base station has executed or refused, or whose time is over.
    fn answer(
        &mut self,
        now: Time,
        unanswered: Unanswered,
        refusal: Option<Refusal>,
        context: &mut FunctionContext<'_>,
    ) {
        let Unanswered { controller, request, staged, .. } = unanswered;
        let result = self.outcome(now, controller, &request, (staged, refusal), context);
        if let Err(error) = context.answer_control(controller, request.request_id, result) {
            debug!(controller = controller.0, %error, "answer to a control dropped");
        }
    }
}

impl Wrapper for QueuedRc {
    type Inner = RcFunction<Arc<Mutex<Source>>>;

    fn inner(&self) -> &Self::Inner {
        &self.function
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut self.function
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        abandon(&mut self.unanswered, RequestKey { controller, id: request.request_id });
        self.set_pass(Pass::Collect(Vec::new()));
        let checked = self.function.control(now, controller, request, context);
        let Pass::Collect(collected) = self.set_pass(Pass::Execute) else { return checked };
        let mut collected = collected.into_iter();
        // what is refused, or concerns nothing, is answered at once
        let (Ok(_), Some(mut staged)) = (&checked, collected.next()) else { return checked };
        if collected.next().is_some() {
            let reason = "several UEs or several actions in one control";
            let refusal = Some(refusal(FERRIC_CAUSE_CONTROL_MESSAGE_INVALID, reason));
            return self.outcome(now, controller, request, (staged, refusal), context);
        }
        self.last_id += 1;
        staged.control.id = self.last_id;
        let waiting = Waiting { control: staged.control, deadline: Instant::now() + self.answer_within };
        let is_full = self.unanswered.len() >= self.ends.controls.buffer().capacity();
        if is_full || self.ends.controls.push(waiting).is_err() {
            let reason = "the base station has too many controls to execute";
            let refusal = Some(refusal(FERRIC_CAUSE_FUNCTION_RESOURCE_LIMIT, reason));
            return self.outcome(now, controller, request, (staged, refusal), context);
        }
        // the result is not sent: the loop can always leave a control without an answer
        let _ = context.defer_control();
        let (id, deadline, request) = (self.last_id, now + self.answer_within, request.clone());
        self.unanswered.push(Unanswered { id, controller, request, staged, deadline });
        Ok(None)
    }

    fn next_report(&self) -> Option<Time> {
        let answered = self.signal.is_set().then(Time::default);
        let expires = self.unanswered.iter().map(|unanswered| unanswered.deadline).min();
        [answered, expires, self.function.next_report()].into_iter().flatten().min()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        self.signal.clear();
        while let Ok(answer) = self.ends.answers.pop() {
            // one that comes too late belongs to none
            let Some(at) = self.unanswered.iter().position(|unanswered| unanswered.id == answer.id) else { continue };
            let unanswered = self.unanswered.remove(at);
            self.answer(now, unanswered, answer.refusal(), context);
        }
        while let Some(at) = self.unanswered.iter().position(|unanswered| unanswered.deadline <= now) {
            let unanswered = self.unanswered.remove(at);
            let reason = format!("the base station has not answered in {} ms", self.answer_within.as_millis());
            self.answer(now, unanswered, Some(refusal(FERRIC_CAUSE_CONTROL_TIMER_EXPIRED, &reason)), context);
        }
        if self.function.next_report().is_some_and(|due| due <= now) {
            self.function.report(now, context);
        }
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.unanswered.retain(|unanswered| unanswered.controller != controller);
        self.function.controller_removed(controller);
    }
}

#[cfg(test)]
mod tests {
    use ferric::agent::{AgentLoopConfig, SendAgentLoop};
    use ferric::e2ap::{RanFunctionId, RicRequestId};

    use super::*;

    fn queue(length: usize) -> (Queue, AgentEnds) {
        let mut agents = SendAgentLoop::new_send(AgentLoopConfig::default()).unwrap();
        Queue::new(length, Arc::new(Signal::new(agents.waker().unwrap())))
    }

    fn waiting(id: u64, left: Duration) -> Waiting {
        // SAFETY: zeros are a control without an action
        let mut control: ferric_rc_control = unsafe { std::mem::zeroed() };
        control.id = id;
        Waiting { control, deadline: Instant::now() + left }
    }

    #[test]
    fn control_whose_time_is_over_is_not_executed() {
        let (queue, mut ends) = queue(3);
        let (over, minute) = (Duration::ZERO, Duration::from_secs(60));
        for (id, left) in [(1, over), (2, minute), (3, over)] {
            ends.controls.push(waiting(id, left)).unwrap();
        }
        assert_eq!(queue.next().unwrap().id, 2);
        assert!(queue.next().is_err());
    }

    #[test]
    fn control_of_a_lost_association_does_not_answer_a_request_with_its_id() {
        let unanswered = |id: u64, controller: u32, instance: u16| Unanswered {
            id,
            controller: ControllerId(controller),
            request: ControlRequest {
                request_id: RicRequestId { requestor: 1, instance },
                ran_function_id: RanFunctionId(3),
                call_process_id: None,
                header: Vec::new(),
                message: Vec::new(),
            },
            staged: Staged { control: waiting(id, Duration::ZERO).control, ue: None },
            deadline: Time::default(),
        };
        let mut all = vec![unanswered(1, 0, 5), unanswered(2, 1, 5), unanswered(3, 0, 6)];
        abandon(&mut all, RequestKey { controller: ControllerId(0), id: RicRequestId { requestor: 1, instance: 5 } });
        assert_eq!(all.iter().map(|unanswered| unanswered.id).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn answers_beyond_the_ring_are_refused() {
        let (queue, mut ends) = queue(1);
        let answer = |cause| queue.answer(Answer::new(7, cause, "left, é".as_bytes()));
        assert!(answer(1).is_ok() && answer(0).is_ok() && answer(0).is_err());
        let refusal = ends.answers.pop().unwrap().refusal().unwrap();
        assert_eq!((refusal.cause, &*refusal.reason), (crate::function::cause(1), "left, ?"));
        assert!(ends.answers.pop().unwrap().refusal().is_none());
        assert!(queue.signal.is_set());
    }
}
