//! DeliveryRate rate estimation (draft-ietf-ccwg-bbr 4.1, draft-cheng-iccrg-delivery-rate-estimation).

use crate::Time;

/// The delivery rate estimator of a sender.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    /// Segments delivered.
    delivered: u64,
    /// When the last of them was delivered.
    delivered_at: Time,
    /// When the first segment of the current flight was sent.
    first_sent: Time,
    /// Segments sent before the delivered count exceeds this are application-limited; 0 if none are.
    app_limited_until: u64,
    /// The stamp of the most recently sent segment that the current acknowledgement delivers.
    sample: Option<Stamp>,
    sample_sent: Time,
}

/// The state of the estimator when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    pub delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    is_app_limited: bool,
}

/// A measured delivery rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments per second.
    pub rate: f64,
    /// Segments that had been delivered when the newest segment of the sample was sent.
    pub prior_delivered: u64,
    /// Whether the sender was application-limited then.
    pub is_app_limited: bool,
}

impl DeliveryRate {
    /// Segments delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns the stamp of a segment that is sent now.
    pub fn stamp(&mut self, now: Time, in_flight: u64) -> Stamp {
        if in_flight == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_app_limited: self.app_limited_until != 0,
        }
    }

    /// Counts the delivery of a segment that was last sent at `sent`.
    pub fn deliver(&mut self, now: Time, sent: Time, stamp: Stamp) {
        self.delivered += 1;
        self.delivered_at = now;
        let is_newer = |sample: Stamp| (stamp.delivered, sent) > (sample.delivered, self.sample_sent);
        if self.sample.is_none_or(is_newer) {
            self.sample = Some(stamp);
            self.sample_sent = sent;
        }
    }

    /// Returns the sample of the current acknowledgement, after all its segments were counted.
    pub fn take_sample(&mut self, min_rtt_ns: u64) -> Option<RateSample> {
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let stamp = self.sample.take()?;
        let sending = self.sample_sent.as_nanos() - stamp.first_sent.as_nanos();
        let delivering = self.delivered_at.as_nanos() - stamp.delivered_at.as_nanos();
        self.first_sent = self.sample_sent;
        let interval = sending.max(delivering);
        // an interval shorter than a round trip is a measurement error
        (interval > 0 && interval >= min_rtt_ns).then(|| RateSample {
            rate: (self.delivered - stamp.delivered) as f64 * 1e9 / interval as f64,
            prior_delivered: stamp.delivered,
            is_app_limited: stamp.is_app_limited,
        })
    }

    /// Marks the segments in flight as application-limited.
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }
}
