//! RAN functions whose time is that of the model.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ferric::agent::{
    Admission, ChangeAnswer, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views,
};
use ferric::e2::{ChangeResult, ControlRequest, Function, QueryRequest, SubscriptionChange, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};

/// The time that RAN functions see, and the time of the next report of each.
#[derive(Debug, Default)]
pub struct StepClock {
    now: Cell<Time>,
    due: RefCell<Vec<Option<Time>>>,
}

impl StepClock {
    pub fn now(&self) -> Time {
        self.now.get()
    }

    pub fn set(&self, now: Time) {
        self.now.set(now);
    }

    /// The first time after now at which a function has a report.
    pub fn next_report(&self) -> Option<Time> {
        self.due.borrow().iter().flatten().copied().filter(|due| *due > self.now()).min()
    }

    /// Replaces the time of functions by this one.
    pub fn wrap(self: &Rc<Self>, functions: Vec<Box<dyn RanFunction>>) -> Vec<Box<dyn RanFunction>> {
        let wrap = |inner| {
            let index = self.due.borrow().len();
            self.due.borrow_mut().push(None);
            Box::new(SteppedFunction { inner, index, clock: Rc::clone(self) }) as Box<dyn RanFunction>
        };
        functions.into_iter().map(wrap).collect()
    }
}

/// A RAN function whose time is that of the model: reports are due at times of the model.
struct SteppedFunction {
    inner: Box<dyn RanFunction>,
    index: usize,
    clock: Rc<StepClock>,
}

impl RanFunction for SteppedFunction {
    fn id(&self) -> RanFunctionId {
        self.inner.id()
    }

    fn definition(&self) -> Function {
        self.inner.definition()
    }

    fn subscribe(
        &mut self,
        _now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        self.inner.subscribe(self.clock.now(), controller, request, views)
    }

    fn modify(
        &mut self,
        _now: Time,
        key: RequestKey,
        change: &SubscriptionChange,
        views: &Views,
    ) -> Result<ChangeResult, Cause> {
        self.inner.modify(self.clock.now(), key, change, views)
    }

    fn change_answered(&mut self, key: RequestKey, answer: &ChangeAnswer) {
        self.inner.change_answered(key, answer);
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.inner.unsubscribe(key);
    }

    fn control(
        &mut self,
        _now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        self.inner.control(self.clock.now(), controller, request, reports)
    }

    fn query(
        &mut self,
        _now: Time,
        controller: ControllerId,
        request: &QueryRequest,
        views: &Views,
    ) -> Result<Vec<u8>, Cause> {
        self.inner.query(self.clock.now(), controller, request, views)
    }

    /// The event loop's clock runs while the model stands: a report is due at once or not at all.
    fn next_report(&self) -> Option<Time> {
        let due = self.inner.next_report();
        self.clock.due.borrow_mut()[self.index] = due;
        due.filter(|due| *due <= self.clock.now()).map(|_| Time::default())
    }

    fn report(&mut self, _now: Time, reports: &mut FunctionContext<'_>) {
        self.inner.report(self.clock.now(), reports);
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.inner.controller_removed(controller);
    }
}
