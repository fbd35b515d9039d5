//! Outer-loop link adaptation: what UEs report is old, and off by what nobody knows, so the MCS goes by what became of the
//! blocks before as well (Sampath, Kumar and Holtzman, 1997: the outer loop of power control, applied to the MCS).

/// How the MCS follows what becomes of blocks. Where a channel says its MCS, that one is used.
///
/// A SINR to which an offset is added chooses the MCS. A block that was understood the first time raises the offset by a
/// small step, one that was not lowers it by a large one, and the two are such that the offset rests where the wanted part
/// of first transmissions is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OuterLoop {
    /// The part of first transmissions that is to be lost, above 0 and below 1. Default: 0.1.
    pub target: f64,
    /// By how much one that was lost lowers the offset, in dB. Default: 0.5.
    pub nack_step_db: f64,
    /// The offset is at most this, either way. Default: 10.
    pub most_db: f64,
}

impl Default for OuterLoop {
    fn default() -> Self {
        OuterLoop { target: 0.1, nack_step_db: 0.5, most_db: 10.0 }
    }
}

impl OuterLoop {
    /// The offset after a first transmission. Together with the SINR that was reported it does not leave what the lowest
    /// and the highest MCS need: there it would run away, since none is lower or higher.
    pub(super) fn after(&self, offset_db: f64, is_understood: bool, told_db: f64, needs_db: [f64; 2]) -> f64 {
        let [lowest_db, highest_db] = needs_db;
        let sinr_db = told_db + offset_db;
        let step_db = match is_understood {
            true if sinr_db < highest_db || offset_db < 0.0 => self.nack_step_db * self.target / (1.0 - self.target),
            false if sinr_db > lowest_db || offset_db > 0.0 => -self.nack_step_db,
            _ => 0.0,
        };
        (offset_db + step_db).clamp(-self.most_db, self.most_db)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_as_far_apart_as_the_target_has_it() {
        let outer_loop = OuterLoop { target: 0.1, nack_step_db: 0.9, most_db: 2.0 };
        let after =
            |offset_db, is_understood, told_db| outer_loop.after(offset_db, is_understood, told_db, [-6.0, 20.0]);
        // nine that were understood make up for one that was not
        assert!((after(0.0, true, 5.0) - 0.1).abs() < 1e-12);
        assert!((after(0.0, false, 5.0) + 0.9).abs() < 1e-12);
        assert_eq!((after(1.95, true, 5.0), after(-1.5, false, 5.0)), (2.0, -2.0), "bounded");
        assert_eq!((after(0.5, true, 25.0), after(-0.5, false, -7.0)), (0.5, -0.5), "none is higher, none is lower");
        assert!(after(-0.5, true, 25.0) > -0.5 && after(0.5, false, -7.0) < 0.5, "but back it goes");
        assert!(after(0.5, false, 25.0) < 0.5 && after(-0.5, true, -7.0) > -0.5);
    }
}
