//! Round-trip time estimation and the retransmission timeout (RFC 6298).

/// The maximum retransmission timeout (RFC 6298 2.5).
pub const RTO_MAX_NS: u64 = 60_000_000_000;
/// The retransmission timeout before the first measurement (RFC 6298 2.1).
pub const RTO_INITIAL_NS: u64 = 1_000_000_000;

/// The round-trip time estimator of a sender.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    smoothed_ns: Option<u64>,
    variation_ns: u64,
    min_ns: u64,
    rto_min_ns: u64,
    /// Timeouts since data was last acknowledged.
    backoff: u32,
}

impl RttEstimator {
    pub fn new(rto_min_ns: u64) -> Self {
        RttEstimator { smoothed_ns: None, variation_ns: 0, min_ns: u64::MAX, rto_min_ns, backoff: 0 }
    }

    /// Adds a measurement (RFC 6298 2.2 and 2.3).
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

    /// The minimum so far; `u64::MAX` before the first measurement.
    pub fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// The reordering window of RACK before reordering was observed (RFC 8985 6.2.4).
    pub fn reordering_window_ns(&self) -> u64 {
        self.min_ns / 4
    }

    /// The retransmission timeout, doubled for each expiration (RFC 6298 5.5).
    pub fn rto_ns(&self) -> u64 {
        let base = match self.smoothed_ns {
            Some(smoothed) => (smoothed + 4 * self.variation_ns).max(self.rto_min_ns),
            None => RTO_INITIAL_NS.max(self.rto_min_ns),
        };
        base.checked_mul(1 << self.backoff).map_or(RTO_MAX_NS, |rto| rto.min(RTO_MAX_NS))
    }

    /// Doubles the timeout after an expiration.
    pub fn back_off(&mut self) {
        // at 2^16 the timeout has reached its maximum
        self.backoff = (self.backoff + 1).min(16);
    }

    /// Ends the backoff when new data is acknowledged.
    pub fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_follows_rfc_6298() {
        let ms = 1_000_000;
        let mut rtt = RttEstimator::new(200 * ms);
        assert_eq!(rtt.rto_ns(), 1000 * ms);
        rtt.sample(100 * ms); // srtt 100, rttvar 50
        assert_eq!(rtt.rto_ns(), 300 * ms);
        rtt.sample(180 * ms); // rttvar 57.5, srtt 110
        assert_eq!((rtt.smoothed_ns(), rtt.rto_ns()), (Some(110 * ms), 340 * ms));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto_ns(), 1360 * ms);
        (0..100).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto_ns(), 60_000 * ms);
        rtt.reset_backoff();
        assert_eq!(rtt.rto_ns(), 340 * ms);
        (0..100).for_each(|_| rtt.sample(10 * ms));
        assert_eq!(rtt.rto_ns(), 200 * ms);
        assert_eq!(rtt.min_ns(), 10 * ms);
    }
}
