//! HyStart++: ends slow start when round-trip times grow (RFC 9406).

use super::control::AckEvent;

/// The recommended values of RFC 9406 4.3.
const MIN_THRESHOLD_NS: u64 = 4_000_000;
const MAX_THRESHOLD_NS: u64 = 16_000_000;
const RTT_DIVISOR: u64 = 8;
const SAMPLES_PER_ROUND: u32 = 8;
const CONSERVATIVE_GROWTH_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// The maximum growth of the window per acknowledgement without pacing, in segments.
const GROWTH_LIMIT: f64 = 8.0;

/// The state of HyStart++.
#[derive(Clone, Debug)]
pub struct HyStart {
    /// The round ends when this segment is acknowledged.
    round_end: u64,
    last_round_ns: u64,
    this_round_ns: u64,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start (CSS): round-trip times have grown, perhaps by accident.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline_ns: u64,
    rounds: u32,
}

impl Default for HyStart {
    fn default() -> Self {
        HyStart { round_end: 0, last_round_ns: u64::MAX, this_round_ns: u64::MAX, samples: 0, conservative: None }
    }
}

impl HyStart {
    /// Returns the growth of the window in segments.
    pub fn growth(&mut self, event: &AckEvent) -> f64 {
        if event.first_unacknowledged > self.round_end {
            self.last_round_ns = self.this_round_ns;
            self.this_round_ns = u64::MAX;
            self.samples = 0;
            self.round_end = event.next_sequence;
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
            }
        }
        self.this_round_ns = self.this_round_ns.min(event.rtt_ns);
        self.samples += 1;
        if self.samples >= SAMPLES_PER_ROUND {
            self.compare_rounds();
        }
        let growth = (event.delivered as f64).min(GROWTH_LIMIT);
        if self.conservative.is_some() { growth / CONSERVATIVE_GROWTH_DIVISOR } else { growth }
    }

    /// Starts or ends conservative slow start.
    fn compare_rounds(&mut self) {
        if let Some(conservative) = self.conservative {
            if self.this_round_ns < conservative.baseline_ns {
                self.conservative = None;
            }
        } else if self.last_round_ns < u64::MAX {
            let threshold_ns = (self.last_round_ns / RTT_DIVISOR).clamp(MIN_THRESHOLD_NS, MAX_THRESHOLD_NS);
            if self.this_round_ns >= self.last_round_ns + threshold_ns {
                self.conservative = Some(Conservative { baseline_ns: self.this_round_ns, rounds: 0 });
            }
        }
    }

    /// Whether slow start is to end.
    pub fn is_over(&self) -> bool {
        self.conservative.is_some_and(|conservative| conservative.rounds >= CONSERVATIVE_ROUNDS)
    }
}
