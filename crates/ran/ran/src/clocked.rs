//! RAN functions that run in another time than the event loop: that of the model.

use ferric::agent::{
    Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views, Wrapper,
};
use ferric::e2::{ChangeResult, ControlRequest, QueryRequest, SubscriptionChange, SubscriptionRequest, Time};
use ferric::e2ap::Cause;

/// The translation between the time of the event loop and that of a RAN function.
pub trait FunctionClock {
    /// The function's time at a time of the event loop.
    fn function_time(&self, now: Time) -> Time;

    /// The time of the event loop at which a report is due, from the function's time; `None` while it is not to be called.
    fn loop_due(&self, due: Option<Time>) -> Option<Time>;
}

/// A RAN function that runs in the time of a clock.
pub struct ClockedFunction<C> {
    pub function: Box<dyn RanFunction>,
    pub clock: C,
}

impl<C: FunctionClock> Wrapper for ClockedFunction<C> {
    type Inner = dyn RanFunction;

    fn inner(&self) -> &Self::Inner {
        &*self.function
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut *self.function
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        self.function.subscribe(self.clock.function_time(now), controller, request, views)
    }

    fn modify(
        &mut self,
        now: Time,
        key: RequestKey,
        change: &SubscriptionChange,
        views: &Views,
    ) -> Result<ChangeResult, Cause> {
        self.function.modify(self.clock.function_time(now), key, change, views)
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        self.function.control(self.clock.function_time(now), controller, request, reports)
    }

    fn query(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &QueryRequest,
        views: &Views,
    ) -> Result<Vec<u8>, Cause> {
        self.function.query(self.clock.function_time(now), controller, request, views)
    }

    fn next_report(&self) -> Option<Time> {
        self.clock.loop_due(self.function.next_report())
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        self.function.report(self.clock.function_time(now), reports);
    }
}
