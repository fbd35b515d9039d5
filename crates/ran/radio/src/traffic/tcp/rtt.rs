//! Round trips and the retransmission timer (RFC 6298).

/// The timer grows to this and no further (RFC 6298 2.5).
pub const RTO_MAX_NS: u64 = 60_000_000_000;
/// Before anything was measured (RFC 6298 2.1).
pub const RTO_INITIAL_NS: u64 = 1_000_000_000;

/// What is known of the round trips.
#[derive(Clone, Debug)]
pub struct RoundTrips {
    smoothed_ns: Option<u64>,
    variation_ns: u64,
    min_ns: u64,
    rto_min_ns: u64,
    /// How often the timer went off since something came.
    backoff: u32,
}

impl RoundTrips {
    pub fn new(rto_min_ns: u64) -> Self {
        RoundTrips { smoothed_ns: None, variation_ns: 0, min_ns: u64::MAX, rto_min_ns, backoff: 0 }
    }

    /// RFC 6298 2.2 and 2.3.
    pub fn sample(&mut self, rtt_ns: u64) {
        self.min_ns = self.min_ns.min(rtt_ns);
        let Some(smoothed) = self.smoothed_ns else {
            self.smoothed_ns = Some(rtt_ns);
            self.variation_ns = rtt_ns / 2;
            return;
        };
        self.variation_ns = (3 * self.variation_ns + smoothed.abs_diff(rtt_ns)) / 4;
        self.smoothed_ns = Some((7 * smoothed + rtt_ns) / 8);
    }

    pub fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }

    /// The shortest of all; the most there is before the first.
    pub fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// By how much longer than others a segment may take that these overtake (RFC 8985 6.2.4, where none was seen to do so).
    pub fn reordering_ns(&self) -> u64 {
        self.min_ns / 4
    }

    /// How long the timer runs, doubled each time that it went off (RFC 6298 5.5).
    pub fn rto_ns(&self) -> u64 {
        let base = match self.smoothed_ns {
            Some(smoothed) => (smoothed + 4 * self.variation_ns).max(self.rto_min_ns),
            None => RTO_INITIAL_NS.max(self.rto_min_ns),
        };
        base.checked_mul(1 << self.backoff).map_or(RTO_MAX_NS, |rto| rto.min(RTO_MAX_NS))
    }

    /// The timer went off.
    pub fn back_off(&mut self) {
        // beyond 2^16, the timer is at its longest anyway
        self.backoff = (self.backoff + 1).min(16);
    }

    /// Something new was acknowledged.
    pub fn advance(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_that_of_rfc_6298() {
        let ms = 1_000_000;
        let mut trips = RoundTrips::new(200 * ms);
        assert_eq!(trips.rto_ns(), 1000 * ms);
        trips.sample(100 * ms); // srtt 100, rttvar 50
        assert_eq!(trips.rto_ns(), 300 * ms);
        trips.sample(180 * ms); // rttvar 57.5, srtt 110
        assert_eq!((trips.smoothed_ns(), trips.rto_ns()), (Some(110 * ms), 340 * ms));
        trips.back_off();
        trips.back_off();
        assert_eq!(trips.rto_ns(), 1360 * ms);
        (0..100).for_each(|_| trips.back_off());
        assert_eq!(trips.rto_ns(), 60_000 * ms);
        trips.advance();
        assert_eq!(trips.rto_ns(), 340 * ms);
        (0..100).for_each(|_| trips.sample(10 * ms));
        assert_eq!(trips.rto_ns(), 200 * ms);
        assert_eq!(trips.min_ns(), 10 * ms);
    }
}
