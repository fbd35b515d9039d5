//! The pace of the model: RAN functions run in the model's time.
//!
//! At a speed of 5 the model passes through 5 s in each second. Reporting periods, waits and time stamps of RAN functions are
//! those of the model, as if controllers ran five times slower: a report of 1000 ms covers 1000 ms of the model and is sent every
//! 200 ms. Time stamps begin with the time of day and advance with the model. E2AP's own timers stay those of the clock.

use std::time::{Duration, Instant, SystemTime};

use ferric::e2::Time;

use crate::clocked::FunctionClock;

/// A speed in millionths.
const MILLION: u128 = 1_000_000;

/// How many times faster than the clock the model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    millionths: u128,
}

impl Pace {
    /// The pace of a scenario's speed, which is at least 0.001.
    pub fn of_speed(speed: f64) -> Self {
        Pace { millionths: ((speed * MILLION as f64).round() as u128).max(1) }
    }

    pub fn is_real_time(self) -> bool {
        self.millionths == MILLION
    }

    /// The model's time at a time of the event loop.
    pub fn model_time(self, now: Time) -> Time {
        Time::from_nanos(self.scaled(now.as_nanos()))
    }

    /// The first time of the event loop at which the model's time is `model`.
    pub fn loop_time(self, model: Time) -> Time {
        let nanos = (u128::from(model.as_nanos()) * MILLION).div_ceil(self.millionths);
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn scaled(self, nanos: u64) -> u64 {
        u64::try_from(u128::from(nanos) * self.millionths / MILLION).unwrap_or(u64::MAX)
    }

    /// The time of day of the model: that of the host at first, from then on at the model's pace.
    pub fn wall_clock(self) -> impl Fn() -> SystemTime + Clone + Send + 'static {
        let (start, began) = (SystemTime::now(), Instant::now());
        move || {
            let elapsed = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            start + Duration::from_nanos(self.scaled(elapsed))
        }
    }
}

impl FunctionClock for Pace {
    fn function_time(&self, now: Time) -> Time {
        self.model_time(now)
    }

    fn loop_due(&self, due: Option<Time>) -> Option<Time> {
        due.map(|due| self.loop_time(due))
    }
}

#[cfg(test)]
mod tests;
