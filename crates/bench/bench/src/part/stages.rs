//! How long the stages of a report take, where they run: in an agent's loop, between two sleeps.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use e2ap::{Cause, GlobalRicId, RanFunctionId, RicActionId};
use ferric::agent::{Admission, ControllerId, FunctionContext, FunctionTransport, RanFunction, RequestKey, Views};
use ferric::e2::{AgentMisuse, Function, SubscriptionRequest, Time};
use hdrhistogram::Histogram;

use crate::latency_histogram;

/// The times of all reports of one model: nanoseconds of each stage.
type Times = [Histogram<u64>; 3];

/// Times of each function that is timed.
#[derive(Clone, Default)]
pub(super) struct Stages(Arc<Mutex<Vec<Times>>>);

impl Stages {
    fn lock(&self) -> MutexGuard<'_, Vec<Times>> {
        // whoever panicked with it has left numbers
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The median of each stage, in the mean of the functions; none where nothing was timed.
    pub fn medians_ns(&self) -> Option<[f64; 3]> {
        let all = self.lock();
        let mut sums = [0.0; 3];
        for function in all.iter() {
            for (sum, times) in sums.iter_mut().zip(function) {
                if times.is_empty() {
                    return None;
                }
                *sum += times.value_at_quantile(0.5) as f64;
            }
        }
        (!all.is_empty()).then(|| sums.map(|sum| sum / all.len() as f64))
    }
}

/// A function, and a watch on it.
pub(super) struct Timed<F> {
    inner: F,
    /// When the source's last record was gathered.
    gathered: Rc<Cell<Instant>>,
    stages: Stages,
    place: usize,
}

impl<F> Timed<F> {
    pub fn new(inner: F, gathered: Rc<Cell<Instant>>, stages: &Stages) -> Self {
        let mut all = stages.lock();
        all.push([(); 3].map(|()| latency_histogram()));
        Timed { inner, gathered, stages: stages.clone(), place: all.len() - 1 }
    }
}

impl<F: RanFunction> RanFunction for Timed<F> {
    fn id(&self) -> RanFunctionId {
        self.inner.id()
    }

    fn definition(&self) -> Function {
        self.inner.definition()
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        self.inner.subscribe(now, controller, request, views)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.inner.unsubscribe(key);
    }

    fn next_report(&self) -> Option<Time> {
        self.inner.next_report()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let mut views = reports.views().clone();
        let begun = Instant::now();
        let mut outlet = TimedOutlet { reports, sent: None };
        self.inner.report(now, &mut FunctionContext::new(&mut views, &mut outlet));
        let Some((sending, sent)) = outlet.sent else { return };
        let gathered = self.gathered.get();
        let mut all = self.stages.lock();
        let spans = [gathered - begun, sending - gathered, sent - sending];
        for (times, span) in all[self.place].iter_mut().zip(spans) {
            *times += u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        }
    }
}

/// The loop's outlet, and when the last report went into it.
struct TimedOutlet<'a, 'b> {
    reports: &'a mut FunctionContext<'b>,
    sent: Option<(Instant, Instant)>,
}

impl FunctionTransport for TimedOutlet<'_, '_> {
    fn send(
        &mut self,
        key: RequestKey,
        action: RicActionId,
        _call_process_id: Option<&[u8]>,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), AgentMisuse> {
        let sending = Instant::now();
        self.reports.report(key, action, header, message)?;
        self.sent = Some((sending, Instant::now()));
        Ok(())
    }

    fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
        self.reports.controllers()
    }
}
