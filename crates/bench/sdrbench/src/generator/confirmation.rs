//! Which reports the controller has read, where the protocol says so.

use std::collections::VecDeque;

/// The most reports of an agent without a confirmation. Beyond them the controller is far behind: they are lost.
const MAX_REPORTS: usize = 4096;

/// The reports of an agent that are not confirmed yet.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    /// The planned times of reports.
    due_ns: VecDeque<u64>,
    requests: VecDeque<Request>,
    /// Reports since the last request.
    since: usize,
}

/// A request for a confirmation.
#[derive(Clone, Copy, Debug)]
struct Request {
    number: u32,
    /// The reports since the request before.
    reports: usize,
    /// Whether it is directly behind the last of them, so that its answer shows when that was read.
    is_behind: bool,
}

impl Unconfirmed {
    /// A report was sent. Returns the number of reports since the last request.
    pub fn sent(&mut self, due_ns: u64) -> usize {
        if self.due_ns.len() >= MAX_REPORTS {
            self.clear();
        }
        self.due_ns.push_back(due_ns);
        self.since += 1;
        self.since
    }

    /// Whether reports wait for a request.
    pub fn is_waiting(&self) -> bool {
        self.since > 0
    }

    /// A request was sent.
    pub fn requested(&mut self, number: u32, is_behind: bool) {
        self.requests.push_back(Request { number, reports: std::mem::take(&mut self.since), is_behind });
    }

    /// A request was answered, and with it those before. Passes on the planned time of each report, and whether the answer shows when it
    /// was read.
    pub fn answered(&mut self, number: u32, mut confirm: impl FnMut(u64, bool)) {
        let Some(place) = self.requests.iter().position(|request| request.number == number) else { return };
        for (at, request) in self.requests.drain(..=place).enumerate() {
            for left in (0..request.reports).rev() {
                let Some(due_ns) = self.due_ns.pop_front() else { break };
                confirm(due_ns, at == place && left == 0 && request.is_behind);
            }
        }
    }

    /// The connection has ended: nothing of it will be confirmed.
    pub fn clear(&mut self) {
        *self = Unconfirmed::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(unconfirmed: &mut Unconfirmed, number: u32) -> Vec<(u64, bool)> {
        let mut all = Vec::new();
        unconfirmed.answered(number, |due_ns, is_timed| all.push((due_ns, is_timed)));
        all
    }

    #[test]
    fn answer_confirms_reports_before_its_request() {
        let mut unconfirmed = Unconfirmed::default();
        (1..=3).for_each(|due_ns| assert!(unconfirmed.sent(due_ns) > 0));
        unconfirmed.requested(1, true);
        assert!(!unconfirmed.is_waiting());
        assert_eq!(unconfirmed.sent(4), 1);
        unconfirmed.requested(2, false);
        assert_eq!(unconfirmed.sent(5), 1);
        unconfirmed.requested(3, true);
        unconfirmed.sent(6);
        assert_eq!(answered(&mut unconfirmed, 1), [(1, false), (2, false), (3, true)]);
        assert_eq!(answered(&mut unconfirmed, 3), [(4, false), (5, true)]);
        assert_eq!(answered(&mut unconfirmed, 3), []);
        assert!(unconfirmed.is_waiting(), "the sixth");
    }

    #[test]
    fn memory_is_bounded_without_answers() {
        let mut unconfirmed = Unconfirmed::default();
        for due_ns in 0..3 * MAX_REPORTS as u64 {
            unconfirmed.sent(due_ns);
            unconfirmed.requested(due_ns as u32, true);
        }
        assert!(unconfirmed.due_ns.len() <= MAX_REPORTS && unconfirmed.requests.len() <= MAX_REPORTS);
        let all = answered(&mut unconfirmed, 3 * MAX_REPORTS as u32 - 1);
        assert_eq!(all.last(), Some(&(3 * MAX_REPORTS as u64 - 1, true)));
    }
}
