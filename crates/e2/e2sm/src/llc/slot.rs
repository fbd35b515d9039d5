//! Slots by system frame number and index, and absolute slot numbers.

use per::Per;

/// System frame numbers repeat after 1024 frames (TS 38.211 4.3.1).
pub const FRAMES: u64 = 1024;

/// SlotInfo: a slot, whose number repeats after 10.24 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct SlotInfo {
    /// The system frame number.
    #[per(range = 0..=1023, extensible)]
    pub system_frame_number: u16,
    /// The slot in the frame.
    pub slot_index: SlotIndex,
}

/// The slot in a frame, by subcarrier spacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub enum SlotIndex {
    /// Of 1 ms, with 15 kHz.
    #[per(range = 0..=9)]
    Scs15(u8),
    /// Of 0.5 ms, with 30 kHz.
    #[per(range = 0..=19)]
    Scs30(u8),
    /// Of 0.25 ms, with 60 kHz.
    #[per(range = 0..=39)]
    Scs60(u8),
    /// Of 0.125 ms, with 120 kHz.
    #[per(range = 0..=79)]
    Scs120(u8),
}

impl SlotInfo {
    /// The slot with a number since frame 0, by the numerology of TS 38.211 4.2: 0 is 15 kHz, 3 and above are 120 kHz.
    #[must_use]
    pub fn of(slot: u64, numerology: u8) -> Self {
        let per_frame = slots_per_frame(numerology);
        let index = (slot % per_frame) as u8; // below 80
        let slot_index = match numerology {
            0 => SlotIndex::Scs15(index),
            1 => SlotIndex::Scs30(index),
            2 => SlotIndex::Scs60(index),
            _ => SlotIndex::Scs120(index),
        };
        SlotInfo { system_frame_number: (slot / per_frame % FRAMES) as u16, slot_index }
    }

    /// The numerology of its subcarrier spacing.
    #[must_use]
    pub fn numerology(&self) -> u8 {
        match self.slot_index {
            SlotIndex::Scs15(_) => 0,
            SlotIndex::Scs30(_) => 1,
            SlotIndex::Scs60(_) => 2,
            SlotIndex::Scs120(_) => 3,
        }
    }

    /// The slot of this name that is nearest to another one; at equal distance, the later.
    #[must_use]
    pub fn nearest(&self, to: u64) -> u64 {
        let per_frame = slots_per_frame(self.numerology());
        let (SlotIndex::Scs15(index) | SlotIndex::Scs30(index) | SlotIndex::Scs60(index) | SlotIndex::Scs120(index)) =
            self.slot_index;
        let (period, half) = (FRAMES * per_frame, FRAMES * per_frame / 2);
        let within = (u64::from(self.system_frame_number) * per_frame + u64::from(index)) % period;
        // the only candidate above `to` minus half a period; before the first half period that is the number itself
        let least = (to + 1).saturating_sub(half);
        least + (within + period - least % period) % period
    }
}

fn slots_per_frame(numerology: u8) -> u64 {
    10 << numerology.min(3)
}

/// SlotTimeStamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Per)]
#[per(extensible)]
pub struct SlotTimeStamp {
    /// The slot.
    pub slot_info: SlotInfo,
    /// When it starts: an NTP time stamp ([`crate::common::ntp_timestamp`]).
    pub slot_start_time: [u8; 8],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_slot_is_within_half_a_period() {
        for numerology in 0..=3 {
            let period = FRAMES * slots_per_frame(numerology);
            for to in [0, 1, period / 2, period - 1, period, 3 * period + 17] {
                for slot in [to, to + 1, to + 63, to.saturating_sub(1), to.saturating_sub(100), to + period / 2 - 1] {
                    let info = SlotInfo::of(slot, numerology);
                    assert_eq!(info.numerology(), numerology);
                    assert_eq!(info.nearest(to), slot, "numerology {numerology}, near {to}");
                }
            }
        }
    }

    #[test]
    fn frame_number_beyond_its_range_has_a_slot() {
        // the range is extensible, so a peer may send it
        let info = SlotInfo { system_frame_number: u16::MAX, slot_index: SlotIndex::Scs15(9) };
        assert_eq!(info.nearest(0) % (FRAMES * 10), (65_535 * 10 + 9) % (FRAMES * 10));
    }
}
