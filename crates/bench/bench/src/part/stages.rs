//! The times of a report's stages within an agent's event loop.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use e2ap::{GlobalRicId, RicActionId};
use ferric::agent::{ControllerId, FunctionContext, FunctionTransport, RanFunction, RequestKey, Wrapper};
use ferric::e2::{AgentMisuse, Time};
use hdrhistogram::Histogram;

use crate::latency_histogram;

/// The times of all reports of one model, in nanoseconds by stage.
type Times = [Histogram<u64>; 3];

/// The times of each measured function.
#[derive(Clone, Default)]
pub(super) struct Stages(Arc<Mutex<Vec<Times>>>);

impl Stages {
    fn lock(&self) -> MutexGuard<'_, Vec<Times>> {
        // a panic leaves complete histograms
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The median of each stage, averaged over the functions; `None` without reports.
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

/// A RAN function whose reports are measured.
pub(super) struct Timed<F> {
    inner: F,
    /// The time at which the source's last record was gathered.
    gathered: Rc<Cell<Instant>>,
    stages: Stages,
    index: usize,
}

impl<F> Timed<F> {
    pub fn new(inner: F, gathered: Rc<Cell<Instant>>, stages: &Stages) -> Self {
        let mut all = stages.lock();
        all.push([(); 3].map(|()| latency_histogram()));
        Timed { inner, gathered, stages: stages.clone(), index: all.len() - 1 }
    }
}

impl<F: RanFunction> Wrapper for Timed<F> {
    type Inner = F;

    fn inner(&self) -> &F {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut F {
        &mut self.inner
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let mut views = reports.views().clone();
        let begun = Instant::now();
        let mut transport = TimedTransport { reports, sent: None };
        self.inner.report(now, &mut FunctionContext::new(&mut views, &mut transport));
        let Some((sending, sent)) = transport.sent else { return };
        let gathered = self.gathered.get();
        let mut all = self.stages.lock();
        let spans = [gathered - begun, sending - gathered, sent - sending];
        for (times, span) in all[self.index].iter_mut().zip(spans) {
            *times += u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        }
    }
}

/// The event loop's transport, and the start and end of the last report's sending.
struct TimedTransport<'a, 'b> {
    reports: &'a mut FunctionContext<'b>,
    sent: Option<(Instant, Instant)>,
}

impl FunctionTransport for TimedTransport<'_, '_> {
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
