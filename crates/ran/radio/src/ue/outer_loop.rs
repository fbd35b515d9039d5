//! Outer-loop link adaptation. Reports are outdated and biased, so the results of earlier blocks correct the MCS (Sampath,
//! Kumar and Holtzman, 1997: the outer loop of power control, applied to the MCS).

/// Parameters of the outer loop. It has no effect on a channel with a fixed MCS.
///
/// The MCS is chosen for the reported SINR plus an offset. An ACK of a first transmission raises the offset by a small step,
/// a NACK lowers it by a large one. The ratio of the steps keeps the block error rate of first transmissions at the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OuterLoop {
    /// Target block error rate of first transmissions, between 0 and 1 exclusive. Default: 0.1.
    pub target: f64,
    /// Decrease of the offset per NACK, in dB. Default: 0.5.
    pub nack_step_db: f64,
    /// Bound of the absolute offset, in dB. Default: 10.
    pub max_offset_db: f64,
}

impl Default for OuterLoop {
    fn default() -> Self {
        OuterLoop { target: 0.1, nack_step_db: 0.5, max_offset_db: 10.0 }
    }
}

impl OuterLoop {
    /// The offset after the feedback of a first transmission. Reported SINR plus offset stays within what the lowest and the
    /// highest MCS need: beyond them the offset has no effect and would run away.
    pub(super) fn next_offset_db(&self, offset_db: f64, is_decoded: bool, reported_db: f64, needs_db: [f64; 2]) -> f64 {
        let [lowest_db, highest_db] = needs_db;
        let sinr_db = reported_db + offset_db;
        let step_db = match is_decoded {
            true if sinr_db < highest_db || offset_db < 0.0 => self.nack_step_db * self.target / (1.0 - self.target),
            false if sinr_db > lowest_db || offset_db > 0.0 => -self.nack_step_db,
            _ => 0.0,
        };
        (offset_db + step_db).clamp(-self.max_offset_db, self.max_offset_db)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_ratio_follows_target_and_offset_is_bounded() {
        let outer_loop = OuterLoop { target: 0.1, nack_step_db: 0.9, max_offset_db: 2.0 };
        let after = |offset_db, is_decoded, reported_db| {
            outer_loop.next_offset_db(offset_db, is_decoded, reported_db, [-6.0, 20.0])
        };
        // nine ACKs compensate one NACK
        assert!((after(0.0, true, 5.0) - 0.1).abs() < 1e-12);
        assert!((after(0.0, false, 5.0) + 0.9).abs() < 1e-12);
        assert_eq!((after(1.95, true, 5.0), after(-1.5, false, 5.0)), (2.0, -2.0), "bounded");
        assert_eq!((after(0.5, true, 25.0), after(-0.5, false, -7.0)), (0.5, -0.5), "no higher or lower MCS exists");
        assert!(after(-0.5, true, 25.0) > -0.5 && after(0.5, false, -7.0) < 0.5, "the way back stays open");
        assert!(after(0.5, false, 25.0) < 0.5 && after(-0.5, true, -7.0) > -0.5);
    }
}
