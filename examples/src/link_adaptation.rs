//! Link adaptation of an xApp that schedules: the MCS for a reported CQI, corrected by HARQ feedback.

/// The modulation orders and code rates times 1024 of MCS 0 to 28 up to 64QAM (TS 38.214 table 5.1.3.1-1).
#[rustfmt::skip]
const MCS: [(u8, u16); 29] = [
    (2, 120), (2, 157), (2, 193), (2, 251), (2, 308), (2, 379), (2, 449), (2, 526), (2, 602), (2, 679),
    (4, 340), (4, 378), (4, 434), (4, 490), (4, 553), (4, 616), (4, 658), (6, 438), (6, 466), (6, 517),
    (6, 567), (6, 616), (6, 666), (6, 719), (6, 772), (6, 822), (6, 873), (6, 910), (6, 948),
];

/// The same of CQI 1 to 15 (TS 38.214 table 5.2.2.1-2).
#[rustfmt::skip]
const CQI: [(u8, u16); 15] = [
    (2, 78), (2, 120), (2, 193), (2, 308), (2, 449), (2, 602), (4, 378), (4, 490), (4, 616), (6, 466),
    (6, 567), (6, 666), (6, 772), (6, 873), (6, 948),
];

/// The block error rate of first transmissions that the outer loop keeps, its step after a NACK in dB, and the bound of its offset.
const TARGET: f64 = 0.1;
const NACK_STEP_DB: f64 = 0.5;
const MAX_OFFSET_DB: f64 = 10.0;

fn efficiency((order, rate): (u8, u16)) -> f64 {
    f64::from(order) * f64::from(rate) / 1024.0
}

/// The SINR in dB at which one block in ten is lost: Shannon's limit, 1.3 dB, and 0.2 dB for each bit of a resource element.
fn needed_db(scheme: (u8, u16)) -> f64 {
    let bits = efficiency(scheme);
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
        self.cqi.checked_sub(1).map_or(f64::NEG_INFINITY, |at| needed_db(CQI[usize::from(at)]))
    }

    /// Takes HARQ feedback. Each block that is not decoded at first is acknowledged later: what is acknowledged at once is the
    /// difference.
    pub fn feedback(&mut self, acks: i64, nacks: i64) {
        let (lowest_db, highest_db) = (needed_db(MCS[0]), needed_db(MCS[MCS.len() - 1]));
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
        let mut needed = MCS.iter().scan(f64::NEG_INFINITY, |most, scheme| {
            *most = most.max(needed_db(*scheme));
            Some(*most)
        });
        let above = needed.position(|needed_db| needed_db > sinr_db + 1e-9).unwrap_or(MCS.len());
        above.saturating_sub(1) as u8 // below 29
    }

    /// Bits that a resource element carries with that MCS, on one layer.
    #[must_use]
    pub fn bits(&self) -> f64 {
        efficiency(MCS[usize::from(self.mcs())])
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
