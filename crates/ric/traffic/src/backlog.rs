//! The queue between the RIC's loop and the thread that writes to Redis.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use e2sm::Wire;

/// The most reports per batch.
const MAX_BATCH: usize = 64;

/// The memory of a report in addition to its octets.
const OVERHEAD_OCTETS: usize = 64;

/// An indication's message, as the node wrote it.
#[derive(Debug)]
pub(super) struct Report {
    pub node: Arc<str>,
    /// The index of its model in [`MODELS`](super::MODELS).
    pub model: usize,
    pub wire: Wire,
    pub message: Box<[u8]>,
}

impl Report {
    fn octets(&self) -> usize {
        self.message.len() + OVERHEAD_OCTETS
    }
}

/// A bounded queue of reports. When it is full, the oldest are dropped and counted.
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

    /// A poisoned lock is ignored: counts and reports are consistent at any time.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a report. It blocks no longer than the reader moves a batch of pointers.
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

    /// Waits for reports, and returns the oldest ones; none once the queue has ended.
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

    /// Waits. Returns false as soon as the queue has ended.
    pub fn rest(&self, pause: Duration) -> bool {
        let going_on = |waiting: &mut Waiting| !waiting.has_ended;
        let waited = self.changed.wait_timeout_while(self.lock(), pause, going_on);
        !waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    /// Ends the queue. Returns the number of waiting reports.
    pub fn end(&self) -> usize {
        let mut waiting = self.lock();
        waiting.has_ended = true;
        let left = waiting.reports.len();
        drop(waiting);
        self.changed.notify_one();
        left
    }

    /// The number of dropped reports.
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
    fn oldest_reports_are_dropped() {
        let backlog = Backlog::new(3 * (100 + OVERHEAD_OCTETS));
        (0..5).for_each(|first| backlog.push(report(100, first)));
        assert_eq!(backlog.dropped(), 2);
        let taken: Vec<_> = backlog.take().iter().map(|report| report.message[0]).collect();
        assert_eq!(taken, [2, 3, 4]);
        // a report that fills the queue, and one that exceeds it
        backlog.push(report(1, 5));
        backlog.push(report(3 * 100 + 2 * OVERHEAD_OCTETS, 6));
        assert_eq!((backlog.dropped(), backlog.lock().reports.len()), (3, 1));
        backlog.push(report(3 * 100 + 2 * OVERHEAD_OCTETS + 1, 7));
        assert_eq!((backlog.dropped(), backlog.lock().reports.len()), (4, 1));
    }

    #[test]
    fn reader_is_woken_by_reports_and_by_the_end() {
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
        assert!(!backlog.rest(Duration::from_secs(3600)), "it does not wait after its end");
    }
}
