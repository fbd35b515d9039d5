//! How fast data is delivered (draft-ietf-ccwg-bbr 4.1, draft-cheng-iccrg-delivery-rate-estimation).

use crate::Time;

/// What has been delivered so far.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// Segments delivered.
    delivered: u64,
    /// When the last of them was.
    delivered_at: Time,
    /// When the first of the present flight was sent.
    first_sent: Time,
    /// What was sent before this is delivered was sent by an application that had no more; 0: none is.
    limited_until: u64,
    /// What the acknowledgement at hand delivers.
    sample: Option<Stamp>,
    sample_sent: Time,
}

/// What a segment remembers from when it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    pub delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    is_limited: bool,
}

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments a second.
    pub rate: f64,
    /// Segments that had been delivered when the newest segment delivered now was sent.
    pub prior_delivered: u64,
    /// Whether the application had no more to send then.
    pub is_limited: bool,
}

impl Delivery {
    /// Segments delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A segment is sent.
    pub fn stamp(&mut self, now: Time, in_flight: u64) -> Stamp {
        if in_flight == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_limited: self.limited_until != 0,
        }
    }

    /// A segment is delivered that was last sent then.
    pub fn deliver(&mut self, now: Time, sent: Time, stamp: Stamp) {
        self.delivered += 1;
        self.delivered_at = now;
        let is_newer = |sample: Stamp| (stamp.delivered, sent) > (sample.delivered, self.sample_sent);
        if self.sample.is_none_or(is_newer) {
            self.sample = Some(stamp);
            self.sample_sent = sent;
        }
    }

    /// What the acknowledgement at hand has told, when all that it delivers was delivered.
    pub fn take_sample(&mut self, min_rtt_ns: u64) -> Option<RateSample> {
        if self.limited_until != 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let stamp = self.sample.take()?;
        let sending = self.sample_sent.as_nanos() - stamp.first_sent.as_nanos();
        let delivering = self.delivered_at.as_nanos() - stamp.delivered_at.as_nanos();
        self.first_sent = self.sample_sent;
        let interval = sending.max(delivering);
        // faster than a round trip is an error of the measurement
        (interval > 0 && interval >= min_rtt_ns).then(|| RateSample {
            rate: (self.delivered - stamp.delivered) as f64 * 1e9 / interval as f64,
            prior_delivered: stamp.delivered,
            is_limited: stamp.is_limited,
        })
    }

    /// The application has no more to send.
    pub fn limit(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }
}
