//! The past handover and failure of a UE, from which failures are classified (TS 38.300 15.5.2.2, TS 28.313 6.4.1.3).

use super::HandoverConfig;
use crate::Time;

/// The past handover and failure of a UE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MobilityHistory {
    /// The last completed handover.
    handover: Option<Passage>,
    /// The failure that has not been recovered from.
    failure: Option<Failure>,
}

/// A handover.
#[derive(Clone, Copy, Debug)]
struct Passage {
    from: usize,
    to: usize,
    at: Time,
}

/// A failure of a connected UE.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// The radio link to `cell` failed; the cell that had handed the UE over shortly before.
    Link { cell: usize, source: Option<usize> },
    /// The handover failed.
    Handover { from: usize, to: usize },
}

/// What a failure says about the handover before it, or the lack of one. The cell is the one whose counters it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    TooLate(usize),
    TooEarly(usize),
    ToWrongCell(usize),
}

impl MobilityHistory {
    /// Records a completed handover. Returns whether it is a ping-pong.
    pub(super) fn handed_over(&mut self, now: Time, from: usize, to: usize, config: &HandoverConfig) -> bool {
        let before = self.handover.replace(Passage { from, to, at: now });
        self.failure = None;
        before.is_some_and(|before| {
            (before.to, before.from) == (from, to) && now.since(before.at) < config.ping_pong_window
        })
    }

    /// Records a radio link failure.
    pub(super) fn link_failed(&mut self, now: Time, cell: usize, config: &HandoverConfig) {
        let recent =
            self.handover.filter(|passage| passage.to == cell && now.since(passage.at) < config.failure_window);
        self.failure = Some(Failure::Link { cell, source: recent.map(|passage| passage.from) });
    }

    /// Records a handover failure.
    pub(super) fn handover_failed(&mut self, from: usize, to: usize) {
        self.failure = Some(Failure::Handover { from, to });
    }

    /// Classifies the failure when the UE has a connection in `cell` again. A UE that returns to the cell where its link failed
    /// was out of coverage: that says nothing about handovers.
    pub(super) fn recovered(&mut self, cell: usize) -> Option<Verdict> {
        self.handover = None;
        match self.failure.take()? {
            Failure::Link { cell: failed, .. } if failed == cell => None,
            Failure::Link { cell: failed, source: None } => Some(Verdict::TooLate(failed)),
            Failure::Handover { to, .. } if to == cell => None,
            Failure::Link { source: Some(from), .. } | Failure::Handover { from, .. } => {
                Some(if from == cell { Verdict::TooEarly(from) } else { Verdict::ToWrongCell(from) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn failures_are_classified() {
        let config = HandoverConfig::default();
        let classify = |handover_ms: Option<u64>, cell| {
            let mut history = MobilityHistory::default();
            if let Some(at) = handover_ms {
                assert!(!history.handed_over(ms(at), 0, 1, &config));
            }
            history.link_failed(ms(10_000), 1, &config);
            history.recovered(cell)
        };
        assert_eq!(classify(None, 2), Some(Verdict::TooLate(1)));
        assert_eq!(classify(Some(1_000), 2), Some(Verdict::TooLate(1)), "long after the handover");
        assert_eq!(classify(None, 1), None, "a hole in the coverage");
        assert_eq!(classify(Some(9_000), 1), None);
        assert_eq!(classify(Some(9_000), 0), Some(Verdict::TooEarly(0)));
        assert_eq!(classify(Some(9_000), 2), Some(Verdict::ToWrongCell(0)));
        let failed = |cell| {
            let mut history = MobilityHistory::default();
            history.handover_failed(0, 1);
            (history.recovered(cell), history.recovered(cell))
        };
        assert_eq!(failed(0), (Some(Verdict::TooEarly(0)), None), "once");
        assert_eq!(failed(1).0, None);
        assert_eq!(failed(2).0, Some(Verdict::ToWrongCell(0)));
    }

    #[test]
    fn early_return_is_a_ping_pong() {
        let config = HandoverConfig::default();
        let mut history = MobilityHistory::default();
        assert!(!history.handed_over(ms(0), 0, 1, &config));
        assert!(history.handed_over(ms(999), 1, 0, &config));
        assert!(!history.handed_over(ms(2_000), 0, 1, &config), "a second later");
        assert!(!history.handed_over(ms(2_100), 1, 2, &config), "another cell");
    }
}
