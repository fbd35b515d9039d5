//! Link adaptation of an xApp that schedules: the MCS for a reported CQI, corrected by HARQ feedback.

use ids::{McsTable, Modulation};

/// The schemes: up to 64QAM.
const TABLE: McsTable = McsTable::Qam64;

/// The block error rate of first transmissions that the outer loop keeps, its step after a NACK in dB, and the bound of its offset.
const TARGET: f64 = 0.1;
const NACK_STEP_DB: f64 = 0.5;
const MAX_OFFSET_DB: f64 = 10.0;

/// The SINR in dB at which one block in ten is lost: Shannon's limit, 1.3 dB, and 0.2 dB for each bit of a resource element.
fn needed_db(scheme: Modulation) -> f64 {
    let bits = scheme.efficiency();
    10.0 * (bits.exp2() - 1.0).log10() + 1.3 + 0.2 * bits
}

/// The outer loop of a UE: what its feedback adds to the SINR that its CQI stands for.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkAdaptation {
    offset_db: f64,
    cqi: u8,
}

impl LinkAdaptation {
    /// Takes a report of the channel.
    pub fn report(&mut self, cqi: u8) {
        self.cqi = cqi.min(15);
    }

    /// The last report; 0 is out of coverage.
    #[must_use]
    pub fn cqi(&self) -> u8 {
        self.cqi
    }

    /// The SINR in dB that the CQI stands for.
    fn reported_db(&self) -> f64 {
        self.cqi.checked_sub(1).map_or(f64::NEG_INFINITY, |at| needed_db(TABLE.cqis()[usize::from(at)]))
    }

    /// Takes HARQ feedback. Each block that is not decoded at first is acknowledged later: what is acknowledged at once is the
    /// difference.
    pub fn feedback(&mut self, acks: i64, nacks: i64) {
        let schemes = TABLE.modulations();
        let (lowest_db, highest_db) = (needed_db(schemes[0]), needed_db(schemes[schemes.len() - 1]));
        for is_ack in std::iter::repeat_n(false, nacks.clamp(0, 64) as usize)
            .chain(std::iter::repeat_n(true, acks.saturating_sub(nacks).clamp(0, 64) as usize))
        {
            let sinr_db = self.reported_db() + self.offset_db;
            // beyond the lowest and the highest MCS the offset has no effect, and would run away
            let step_db = match is_ack {
                true if sinr_db < highest_db || self.offset_db < 0.0 => NACK_STEP_DB * TARGET / (1.0 - TARGET),
                false if sinr_db > lowest_db || self.offset_db > 0.0 => -NACK_STEP_DB,
                _ => 0.0,
            };
            self.offset_db = (self.offset_db + step_db).clamp(-MAX_OFFSET_DB, MAX_OFFSET_DB);
        }
    }

    /// The MCS of a new block: the highest one that the corrected SINR allows.
    #[must_use]
    pub fn mcs(&self) -> u8 {
        let sinr_db = self.reported_db() + self.offset_db;
        // where the modulation changes, an MCS may need less than the one before it
        let mut needed = TABLE.modulations().iter().scan(f64::NEG_INFINITY, |most, scheme| {
            *most = most.max(needed_db(*scheme));
            Some(*most)
        });
        let above = needed.position(|needed_db| needed_db > sinr_db + 1e-9).unwrap_or(TABLE.modulations().len());
        above.saturating_sub(1) as u8 // below 29
    }

    /// Bits that a resource element carries with that MCS, on one layer.
    #[must_use]
    pub fn bits(&self) -> f64 {
        TABLE.modulations()[usize::from(self.mcs())].efficiency()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcs_follows_cqi_and_feedback() {
        let mut link = LinkAdaptation::default();
        assert_eq!((link.cqi(), link.mcs()), (0, 0));
        let of_cqi: Vec<u8> = (1..=15)
            .map(|cqi| {
                link.report(cqi);
                link.mcs()
            })
            .collect();
        // each CQI above the lowest is an MCS
        assert_eq!(of_cqi, [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28]);
        link.report(9);
        link.feedback(0, 2);
        assert!(link.mcs() < 15);
        // 9 acknowledgements at once compensate a NACK; the block of the NACK is acknowledged too
        link.feedback(18, 0);
        assert_eq!(link.mcs(), 15);
        link.feedback(10, 1);
        assert_eq!(link.mcs(), 15);
        link.feedback(i64::MAX, -5);
        assert!(link.mcs() > 15);
    }
}
