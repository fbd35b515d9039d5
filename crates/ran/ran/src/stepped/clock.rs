//! RAN functions whose time is that of the model.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ferric::agent::RanFunction;
use ferric::e2::Time;

use crate::clocked::{ClockedFunction, FunctionClock};

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
        let wrap = |function| {
            let index = self.due.borrow().len();
            self.due.borrow_mut().push(None);
            let clock = OwnClock { index, clock: Rc::clone(self) };
            Box::new(ClockedFunction { function, clock }) as Box<dyn RanFunction>
        };
        functions.into_iter().map(wrap).collect()
    }
}

/// The clock of one of the functions.
struct OwnClock {
    index: usize,
    clock: Rc<StepClock>,
}

impl FunctionClock for OwnClock {
    fn function_time(&self, _now: Time) -> Time {
        self.clock.now()
    }

    /// The event loop's clock runs while the model stands: a report is due at once or not at all.
    fn loop_due(&self, due: Option<Time>) -> Option<Time> {
        self.clock.due.borrow_mut()[self.index] = due;
        due.filter(|due| *due <= self.clock.now()).map(|_| Time::default())
    }
}
