//! Whether a machine was fast enough for live mode.

use std::time::Duration;

use ran::LiveCounts;

/// Slots that may be late, in per cent: the figures are medians, throughputs and shares of resource blocks, which so few do
/// not move.
const MAX_LATE_PERCENT: f64 = 5.0;

/// Of what programs were to send at a rate, what is to have come, in per cent: more than any slice can have.
const LEAST_SENT_PERCENT: f64 = 95.0;

/// How well the emulated RAN kept time in live mode, and programs theirs.
#[derive(Clone, Copy, Debug)]
pub struct Punctuality {
    slots: u64,
    /// Of them those that were run more than 2 ms after their time.
    late: u64,
    latest: Duration,
    /// What programs at the core have sent.
    core_octets: u64,
    /// The part of what they were to send, where that is known.
    sent_percent: Option<f64>,
}

impl Punctuality {
    pub fn of(counts: &LiveCounts) -> Self {
        let LiveCounts { slots, late_slots, latest, core, .. } = counts;
        Punctuality {
            slots: *slots,
            late: *late_slots,
            latest: *latest,
            core_octets: core.received_octets,
            sent_percent: None,
        }
    }

    /// Programs at the core were to send so much.
    pub fn having_sent(self, planned_octets: f64) -> Self {
        Punctuality {
            sent_percent: (planned_octets > 0.0).then(|| 100.0 * self.core_octets as f64 / planned_octets),
            ..self
        }
    }

    fn late_percent(&self) -> f64 {
        100.0 * self.late as f64 / self.slots.max(1) as f64
    }

    /// Whether what was measured is the cell's doing, and not the machine's.
    pub fn is_good(&self) -> bool {
        self.late_percent() <= MAX_LATE_PERCENT && self.sent_percent.is_none_or(|sent| sent >= LEAST_SENT_PERCENT)
    }

    /// The same, for people.
    pub fn note(&self) -> String {
        let mut told = format!(
            "{:.1} % of the slots came more than 2 ms after their time, up to {:.1} ms",
            self.late_percent(),
            self.latest.as_secs_f64() * 1e3
        );
        if let Some(sent) = self.sent_percent {
            told += &format!("; iperf3 sent {sent:.0} % of what it was to send");
        }
        match self.is_good() {
            true => format!("In time: {told}."),
            false => format!(
                "TOO SLOW: {told}, which shows in the values. Nothing can be told from them: take load off this machine, \
                 and measure again."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_too_slow_is_told_of() {
        let of = |late_slots: u64| {
            let latest = Duration::from_micros(12_340);
            Punctuality::of(&LiveCounts { slots: 1000, late_slots, latest, ..LiveCounts::default() })
        };
        assert!(of(50).is_good());
        assert_eq!(of(50).note(), "In time: 5.0 % of the slots came more than 2 ms after their time, up to 12.3 ms.");
        assert!(!of(51).is_good() && of(51).note().starts_with("TOO SLOW: 5.1 % of the slots"));
        assert!(Punctuality::of(&LiveCounts::default()).is_good());
        assert!(of(0).having_sent(0.0).is_good(), "nothing was to be sent");
        let mut counts = LiveCounts::default();
        counts.core.received_octets = 900;
        let punctuality = Punctuality::of(&counts).having_sent(1000.0);
        assert!(!punctuality.is_good());
        assert!(punctuality.note().contains("; iperf3 sent 90 % of what it was to send, which shows in the values"));
    }
}
