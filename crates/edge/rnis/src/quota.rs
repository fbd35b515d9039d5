//! A quota on the processor time of this process, which its own threads keep.
//!
//! It is what a control group's `cpu.max` is, for hosts where this program may not create control groups: processor time is granted at
//! a rate, what is not used is kept for a short time, and a thread that calls [`CpuQuota::wait`] sleeps while the process has used
//! more than it was granted. The delivery calls it before it begins notifications, and collectors before they publish an event: all that
//! grows with the load. The time of other threads (REST) counts, and they are not stopped.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What was granted and not used is kept for so long: a burst is not stopped before it has used that.
pub const BURST: Duration = Duration::from_millis(20);
/// Use beyond what was granted counts for so long: the longest pause.
const LONGEST_DEBT: Duration = Duration::from_secs(1);
/// The processor time is read at most this often: that takes about a microsecond.
const CHECK_INTERVAL: Duration = Duration::from_micros(250);
/// Shorter pauses cost more than they bring.
const SHORTEST_PAUSE: Duration = Duration::from_micros(500);

/// A bucket of processor time, without a clock.
#[derive(Debug)]
struct Bucket {
    /// Processors; `None`: no limit.
    share: Option<f64>,
    /// Seconds of processor time; negative: a debt.
    tokens: f64,
    /// The time of the last update, and the processor time used until then.
    updated: Duration,
    used: Duration,
}

impl Bucket {
    /// Returns how long the process is to pause.
    fn pause(&mut self, now: Duration, used: Duration) -> Option<Duration> {
        let share = self.share?;
        let granted = now.saturating_sub(self.updated).as_secs_f64() * share;
        let spent = used.saturating_sub(self.used).as_secs_f64();
        (self.updated, self.used) = (now, used);
        let (most, least) = (BURST.as_secs_f64() * share, -LONGEST_DEBT.as_secs_f64() * share);
        // use is settled before the bound of what is kept: a long time between two calls grants nothing for its use
        self.tokens = (self.tokens + granted - spent).clamp(least, most);
        let pause = Duration::from_secs_f64((-self.tokens / share).max(0.0));
        (self.tokens < 0.0).then_some(pause.max(SHORTEST_PAUSE))
    }

    fn set(&mut self, share: Option<f64>, now: Duration, used: Duration) {
        // what was used under the old share is settled with it
        self.pause(now, used);
        if self.share.is_none() {
            (self.tokens, self.updated, self.used) = (0.0, now, used);
        }
        self.share = share;
    }
}

/// The quota of this process.
pub struct CpuQuota {
    begun: Instant,
    state: Mutex<State>,
    /// The share has changed.
    changed: Condvar,
}

struct State {
    bucket: Bucket,
    checked: Instant,
    paused: Duration,
}

impl fmt::Debug for CpuQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuQuota").field("share", &self.state().bucket.share).finish_non_exhaustive()
    }
}

impl Default for CpuQuota {
    fn default() -> Self {
        let bucket = Bucket { share: None, tokens: 0.0, updated: Duration::ZERO, used: Duration::ZERO };
        let begun = Instant::now();
        let state = Mutex::new(State { bucket, checked: begun, paused: Duration::ZERO });
        CpuQuota { begun, state, changed: Condvar::new() }
    }
}

/// The processor time that this process has used.
fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

impl CpuQuota {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Limits the process to so many processors, above zero; `None`: it is not limited. Threads that wait go on by the new share.
    pub fn set(&self, share: Option<f64>) {
        let share = share.filter(|share| share.is_finite() && *share > 0.0);
        self.state().bucket.set(share, self.begun.elapsed(), process_time());
        self.changed.notify_all();
    }

    /// The time that threads have waited, together.
    #[must_use]
    pub fn paused(&self) -> Duration {
        self.state().paused
    }

    /// Sleeps while the process has used more than it was granted, for at most a second: if threads that do not wait use everything, the
    /// others still make some progress.
    pub fn wait(&self) {
        let begun = Instant::now();
        let mut state = self.state();
        if state.bucket.share.is_none() || begun.saturating_duration_since(state.checked) < CHECK_INTERVAL {
            return;
        }
        loop {
            let now = Instant::now();
            state.checked = now;
            let pause = state.bucket.pause(now.saturating_duration_since(self.begun), process_time());
            let Some(pause) = pause.filter(|_| now.saturating_duration_since(begun) < LONGEST_DEBT) else { return };
            let (after, _) = self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
            state = after;
            state.paused += now.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn bucket(share: f64) -> Bucket {
        Bucket { share: Some(share), tokens: 0.0, updated: Duration::ZERO, used: Duration::ZERO }
    }

    #[test]
    fn use_within_the_share_never_pauses_and_beyond_it_pauses_for_the_rest() {
        let mut bucket = bucket(0.5);
        for ms in 1..1000 {
            assert_eq!(bucket.pause(MS * ms, MS * ms * 49 / 100), None, "{ms}");
        }
        // 45 ms, of which 10 were kept
        let pause = bucket.pause(MS * 1000, MS * (490 + 45)).unwrap();
        assert!((69..=71).contains(&pause.as_millis()), "{pause:?}");
        assert_eq!(bucket.pause(MS * 1072, MS * 535), None);
    }

    #[test]
    fn little_is_kept_and_a_debt_is_bounded() {
        let mut bucket = bucket(0.1);
        assert_eq!(bucket.pause(MS * 60_000, Duration::ZERO), None);
        // a minute without use grants 20 ms of the share: 2 ms
        assert_eq!(bucket.pause(MS * 60_000, MS * 2), None);
        assert!(bucket.pause(MS * 60_000, MS * 3).is_some());
        let pause = bucket.pause(MS * 60_001, MS * 100_000).unwrap();
        assert_eq!(pause, LONGEST_DEBT);
    }

    #[test]
    fn new_share_counts_from_its_beginning() {
        let mut bucket = bucket(0.1);
        assert!(bucket.pause(MS * 10, MS * 11).is_some());
        bucket.set(Some(1.0), MS * 10, MS * 11);
        // 10 ms of debt at a full processor
        let pause = bucket.pause(MS * 10, MS * 11).unwrap();
        assert!((9..=10).contains(&pause.as_millis()), "{pause:?}");
        bucket.set(None, MS * 10, MS * 11);
        assert_eq!(bucket.pause(MS * 11, MS * 5000), None);
        bucket.set(Some(0.1), MS * 20, MS * 6000);
        assert_eq!(bucket.pause(MS * 20, MS * 6000), None);
    }

    /// A thread that works without end, with a pause after each piece.
    #[test]
    fn busy_process_is_held_to_its_share() {
        let quota = CpuQuota::default();
        quota.set(Some(0.05));
        let (begun, used) = (Instant::now(), process_time());
        let mut sum = 0u64;
        while begun.elapsed() < Duration::from_millis(500) {
            for number in 0..1000 {
                sum = std::hint::black_box(sum + number);
            }
            quota.wait();
        }
        let share = (process_time() - used).as_secs_f64() / begun.elapsed().as_secs_f64();
        // other tests of this process share the processor time: they are not stopped, and their time is in it
        assert!(quota.paused() > Duration::from_millis(250), "{:?} at a share of {share}", quota.paused());
        quota.set(None);
        quota.wait();
    }
}
