//! What a base station implements.

use std::borrow::Cow;

use e2sm::tc::Queue;
use ferric::e2::Time;

use super::Configuration;

/// What was counted of a queue and of what stands around it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueCounters {
    /// What went through the shaper over its window, in kbit/s.
    pub shaper_rate_kbps: f32,
    /// What went through the policer of late, in kbit/s.
    pub policer_rate_kbps: f32,
    /// Packets that the policer dropped.
    pub policer_dropped_packets: u32,
    /// Packets that the policer marked.
    pub policer_marked_packets: u32,
    /// The queue; its kind is filled in.
    pub queue: Queue,
}

/// The getters and setters that a base station implements, to offer TC.
pub trait TcSource {
    /// What is set.
    fn configuration(&self) -> &Configuration;

    /// Sets everything anew. It was checked: every queue that is named is there.
    ///
    /// # Errors
    /// Why it cannot be. Then nothing has changed. Who asked is told so, in ASCII.
    fn configure(&mut self, configuration: Configuration) -> Result<(), Cow<'static, str>>;

    /// What was counted of a queue that is set. A base station that does not count has nothing to do.
    fn queue_counters(&self, queue_id: u32) -> QueueCounters {
        let _ = queue_id;
        QueueCounters::default()
    }

    /// What went through the pacer of late, in kbit/s.
    fn pacer_rate_kbps(&self) -> f32 {
        0.0
    }

    /// Counting has come to `now`. A base station whose counters grow by themselves has nothing to do; a model of one
    /// computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }
}
