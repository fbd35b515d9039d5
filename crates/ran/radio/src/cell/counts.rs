//! The counters of a UE in its cell.

use std::ops::AddAssign;
use std::time::Duration;

use crate::rlc::RlcCounts;
use crate::ue::{LinkCounts, Ue};
use crate::{Time, tc};

/// Counters of a UE since it arrived in its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UeCounts {
    /// MAC, downlink.
    pub dl: LinkCounts,
    /// MAC, uplink.
    pub ul: LinkCounts,
    /// RLC, downlink, sum over all bearers.
    pub dl_rlc: RlcCounts,
    /// RLC, uplink, sum over all bearers.
    pub ul_rlc: RlcCounts,
    /// Traffic control, sum over all bearers.
    pub tc: tc::BearerCounts,
    /// Time in the cell.
    pub present: Duration,
    /// The part of it in RRC_INACTIVE.
    pub inactive: Duration,
    /// The part of it in which the UE could receive grants and assignments: Active Time with DRX, otherwise RRC_CONNECTED.
    pub awake: Duration,
}

impl AddAssign for UeCounts {
    fn add_assign(&mut self, other: Self) {
        self.dl += other.dl;
        self.ul += other.ul;
        self.dl_rlc += other.dl_rlc;
        self.ul_rlc += other.ul_rlc;
        self.tc += other.tc;
        self.present += other.present;
        self.inactive += other.inactive;
        self.awake += other.awake;
    }
}

/// The counters of a UE that is in the cell.
pub(super) fn counts_of(ue: &Ue, now: Time) -> UeCounts {
    let mut counts = UeCounts {
        dl: *ue.downlink().counts(),
        ul: *ue.uplink().counts(),
        present: ue.activity.present(now),
        inactive: ue.activity.inactive(now),
        awake: ue.awake(now),
        ..UeCounts::default()
    };
    for bearer in ue.bearers() {
        counts.dl_rlc += *bearer.downlink().counts();
        counts.ul_rlc += *bearer.uplink().counts();
        counts.tc += bearer.tc().bearer_counts();
    }
    counts
}
