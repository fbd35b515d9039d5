//! The timing of live mode: whether a machine was fast enough.

use std::time::Duration;

use ran::LiveCounts;

/// The most late slots in percent: so few do not affect medians, throughputs and shares of resource blocks.
const MAX_LATE_PERCENT: f64 = 5.0;

/// The least octets that programs must have sent, in percent of the plan: more than any slice can carry.
const LEAST_SENT_PERCENT: f64 = 95.0;

/// The timing of the emulated RAN and of programs in live mode.
#[derive(Clone, Copy, Debug)]
pub struct Punctuality {
    slots: u64,
    /// Slots that were more than 2 ms late.
    late: u64,
    latest: Duration,
    /// The octets that programs at the core have sent.
    core_octets: u64,
    /// These octets in percent of the planned ones, if there is a plan.
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

    /// Adds the octets that programs at the core were planned to send.
    pub fn with_planned_octets(self, planned_octets: f64) -> Self {
        Punctuality {
            sent_percent: (planned_octets > 0.0).then(|| 100.0 * self.core_octets as f64 / planned_octets),
            ..self
        }
    }

    fn late_percent(&self) -> f64 {
        100.0 * self.late as f64 / self.slots.max(1) as f64
    }

    /// Whether the measurement depends on the cell and not on the machine.
    pub fn is_good(&self) -> bool {
        self.late_percent() <= MAX_LATE_PERCENT && self.sent_percent.is_none_or(|sent| sent >= LEAST_SENT_PERCENT)
    }

    /// The timing as a note of a figure.
    pub fn note(&self) -> String {
        let mut text = format!(
            "{:.1} % of the slots were more than 2 ms late, at most {:.1} ms",
            self.late_percent(),
            self.latest.as_secs_f64() * 1e3
        );
        if let Some(sent) = self.sent_percent {
            text += &format!("; iperf3 sent {sent:.0} % of the planned octets");
        }
        match self.is_good() {
            true => format!("On time: {text}."),
            false => format!(
                "TOO SLOW: {text}, which affects the values. The claim stays undecided: reduce the load of this machine and \
                 measure again."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_machine_is_reported() {
        let of = |late_slots: u64| {
            let latest = Duration::from_micros(12_340);
            Punctuality::of(&LiveCounts { slots: 1000, late_slots, latest, ..LiveCounts::default() })
        };
        assert!(of(50).is_good());
        assert_eq!(of(50).note(), "On time: 5.0 % of the slots were more than 2 ms late, at most 12.3 ms.");
        assert!(!of(51).is_good() && of(51).note().starts_with("TOO SLOW: 5.1 % of the slots"));
        assert!(Punctuality::of(&LiveCounts::default()).is_good());
        assert!(of(0).with_planned_octets(0.0).is_good(), "nothing was planned");
        let mut counts = LiveCounts::default();
        counts.core.received_octets = 900;
        let punctuality = Punctuality::of(&counts).with_planned_octets(1000.0);
        assert!(!punctuality.is_good());
        assert!(punctuality.note().contains("; iperf3 sent 90 % of the planned octets, which affects the values"));
    }
}
