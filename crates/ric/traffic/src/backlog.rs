//! What waits between the RIC's loop and the thread that takes it to Redis.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use e2sm::Wire;

/// Reports that are taken at once.
const MAX_BATCH: usize = 64;

/// What a report costs beside its octets.
const OVERHEAD_OCTETS: usize = 64;

/// An indication's message, as the node wrote it.
#[derive(Debug)]
pub(super) struct Report {
    pub node: Arc<str>,
    /// The place of its model in [`MODELS`](super::MODELS).
    pub model: usize,
    pub wire: Wire,
    pub message: Box<[u8]>,
}

impl Report {
    fn octets(&self) -> usize {
        self.message.len() + OVERHEAD_OCTETS
    }
}

/// A queue of reports. At its bound the oldest ones make room, and are counted.
#[derive(Debug)]
pub(super) struct Backlog {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    max_octets: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    reports: VecDeque<Report>,
    octets: usize,
    dropped: u64,
    has_ended: bool,
}

impl Backlog {
    pub fn new(max_octets: usize) -> Self {
        Backlog { waiting: Mutex::default(), changed: Condvar::new(), max_octets }
    }

    /// Nobody panics with the lock; and if it were so, counts and reports would still be whole.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never blocks for longer than the other end moves a few pointers.
    pub fn push(&self, report: Report) {
        let octets = report.octets();
        let mut waiting = self.lock();
        if octets > self.max_octets {
            waiting.dropped += 1;
            return;
        }
        while waiting.octets + octets > self.max_octets
            && let Some(oldest) = waiting.reports.pop_front()
        {
            waiting.octets -= oldest.octets();
            waiting.dropped += 1;
        }
        waiting.octets += octets;
        waiting.reports.push_back(report);
        drop(waiting);
        self.changed.notify_one();
    }

    /// Waits for reports; gives back the oldest ones, and none once nobody pushes any more.
    pub fn take(&self) -> Vec<Report> {
        let waiting = self.lock();
        let empty = |waiting: &mut Waiting| waiting.reports.is_empty() && !waiting.has_ended;
        let mut waiting = self.changed.wait_while(waiting, empty).unwrap_or_else(PoisonError::into_inner);
        if waiting.has_ended {
            return Vec::new();
        }
        let count = waiting.reports.len().min(MAX_BATCH);
        let taken: Vec<_> = waiting.reports.drain(..count).collect();
        waiting.octets -= taken.iter().map(Report::octets).sum::<usize>();
        taken
    }

    /// Waits that long. Whether anybody still pushes.
    pub fn rest(&self, pause: Duration) -> bool {
        let going_on = |waiting: &mut Waiting| !waiting.has_ended;
        let waited = self.changed.wait_timeout_while(self.lock(), pause, going_on);
        !waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    /// Nobody pushes any more, and nobody takes; how many reports still waited is told.
    pub fn end(&self) -> usize {
        let mut waiting = self.lock();
        waiting.has_ended = true;
        let left = waiting.reports.len();
        drop(waiting);
        self.changed.notify_one();
        left
    }

    /// Reports that made room for newer ones.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(octets: usize, first: u8) -> Report {
        let mut message = vec![0; octets];
        message[0] = first;
        Report { node: "gnb".into(), model: 0, wire: Wire::Plain, message: message.into() }
    }

    #[test]
    fn the_oldest_make_room() {
        let backlog = Backlog::new(3 * (100 + OVERHEAD_OCTETS));
        (0..5).for_each(|first| backlog.push(report(100, first)));
        assert_eq!(backlog.dropped(), 2);
        let taken: Vec<_> = backlog.take().iter().map(|report| report.message[0]).collect();
        assert_eq!(taken, [2, 3, 4]);
        // one that takes all of it, and one that would take more
        backlog.push(report(1, 5));
        backlog.push(report(3 * 100 + 2 * OVERHEAD_OCTETS, 6));
        assert_eq!((backlog.dropped(), backlog.lock().reports.len()), (3, 1));
        backlog.push(report(3 * 100 + 2 * OVERHEAD_OCTETS + 1, 7));
        assert_eq!((backlog.dropped(), backlog.lock().reports.len()), (4, 1));
    }

    #[test]
    fn whoever_takes_is_woken_and_told_the_end() {
        let backlog = Arc::new(Backlog::new(1 << 20));
        let other = Arc::clone(&backlog);
        let taker = std::thread::spawn(move || {
            let mut count = 0;
            loop {
                match other.take() {
                    taken if taken.is_empty() => return count,
                    taken => count += taken.len(),
                }
            }
        });
        assert!(backlog.rest(Duration::from_millis(5)));
        (0..200).for_each(|_| backlog.push(report(10, 1)));
        while !backlog.lock().reports.is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(backlog.end(), 0);
        assert_eq!(taker.join().unwrap(), 200);
        assert!(!backlog.rest(Duration::from_secs(3600)), "it does not rest when it is at its end");
    }
}
