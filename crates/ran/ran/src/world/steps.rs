//! Who else than the clock may say how late it is in the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use radio::Time;

/// How far the model's time may go, as somebody says who waits for what it leads to.
///
/// With it ([`RanConfig::steps`](crate::RanConfig::steps)) the model goes on as far as it may whenever it is looked at, and
/// stands still there: it never waits for the clock, and the clock never for it. A controller that takes a step, reads what
/// is told of it, does what it wants to do and has that acknowledged before the next one meets the same moments of the model
/// on a slow machine as on a fast one. Reports still come by the clock.
#[derive(Clone, Debug, Default)]
pub struct Steps(Arc<AtomicU64>);

impl Steps {
    /// Time in the model may go on until then. It never goes back.
    pub fn go_until(&self, until: Time) {
        self.0.fetch_max(until.as_nanos(), Ordering::Release);
    }

    /// How far it may go.
    #[must_use]
    pub fn until(&self) -> Time {
        Time::from_nanos(self.0.load(Ordering::Acquire))
    }
}
