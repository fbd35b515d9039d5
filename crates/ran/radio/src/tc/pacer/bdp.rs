//! 5G-BDP (Irazabal et al., "Dynamic buffer sizing and pacing as enablers of 5G low-latency services"): RLC holds about the
//! bandwidth-delay product of the MAC; all other packets wait in the queues that the classifier separates.
//!
//! - The delay is a *round*: from one forwarding opportunity to the next one after feedback. A round is four slots when
//!   packets are forwarded every slot and the bearer is served every fourth, and likewise when it is served every slot and
//!   packets are forwarded every fourth.
//! - The bandwidth-delay product is the mean of the octets drained in a round. A round in which RLC ran empty because no packets
//!   were queued above contains little information about the MAC's capacity: it counts only if it drained more than the mean.
//! - Opportunities vary. When one empties RLC while packets wait above, the margin grows by an eighth of the drained octets, and
//!   doubles with each such round in a row. The margin shrinks by the octets that remained in RLC in each of the last 32 rounds.

use super::{Pacer, RlcState, Transmission};
use crate::Time;

/// The minimum target, and the remainder that is tolerated in RLC: a full packet.
const PACKET_OCTETS: u32 = 1514;
/// The target before anything has drained: ten packets, as the initial window of TCP in RFC 6928.
const INITIAL_OCTETS: u32 = 10 * PACKET_OCTETS;
/// The number of rounds whose minimum remainder reduces the margin.
const LOOK_BACK_ROUNDS: u32 = 32;

/// The 5G-BDP pacer.
#[derive(Default)]
pub(super) struct Bdp {
    asked: Option<Time>,
    round: Round,
    /// Eight times the mean of the octets drained in a round; each round has a weight of an eighth. `None` before the first.
    drained_octets_8: Option<u64>,
    spare_octets: u64,
    starved_in_a_row: u32,
    rounds: u32,
    least_left_octets: Option<u32>,
}

#[derive(Default)]
struct Round {
    has_feedback: bool,
    octets: u64,
    /// RLC ran empty while packets waited above.
    starved: bool,
    /// RLC ran empty, and nothing waited above.
    idle: bool,
}

impl Bdp {
    /// The target fill of RLC.
    fn target_octets(&self) -> u32 {
        let product = self.drained_octets_8.map_or(u64::from(INITIAL_OCTETS), |octets| octets / 8);
        let target = product.saturating_add(self.spare_octets).max(PACKET_OCTETS.into());
        u32::try_from(target).unwrap_or(u32::MAX)
    }

    fn end_round(&mut self, left_octets: u32) {
        let Round { octets, starved, idle, .. } = std::mem::take(&mut self.round);
        let mean = self.drained_octets_8.unwrap_or(8 * octets);
        if !idle || octets > mean / 8 {
            self.drained_octets_8 = Some(mean - mean / 8 + octets);
        }
        if starved {
            let share = octets >> 3u32.saturating_sub(self.starved_in_a_row);
            self.spare_octets = self.spare_octets.saturating_add(share.max(PACKET_OCTETS.into()));
            self.starved_in_a_row += 1;
            (self.rounds, self.least_left_octets) = (0, None);
        } else if idle {
            self.starved_in_a_row = 0;
        } else {
            self.starved_in_a_row = 0;
            self.rounds += 1;
            let least = self.least_left_octets.map_or(left_octets, |least| least.min(left_octets));
            self.least_left_octets = Some(least);
            if self.rounds == LOOK_BACK_ROUNDS {
                self.spare_octets = self.spare_octets.saturating_sub(least.saturating_sub(PACKET_OCTETS).into());
                (self.rounds, self.least_left_octets) = (0, None);
            }
        }
    }
}

impl Pacer for Bdp {
    fn allowance(&mut self, now: Time, below: RlcState) -> Option<u32> {
        if self.asked != Some(now) {
            self.asked = Some(now);
            if self.round.has_feedback {
                self.end_round(below.rlc_octets);
            }
        }
        // an empty RLC accepts a packet even when its buffer is smaller than one
        if below.rlc_octets > 0 && below.rlc_room_octets < PACKET_OCTETS {
            return Some(0);
        }
        Some(self.target_octets().saturating_sub(below.rlc_octets))
    }

    fn transmitted(&mut self, _now: Time, transmission: Transmission) {
        let Transmission { octets, rlc_was_emptied, waiting_octets } = transmission;
        self.round.has_feedback = true;
        self.round.octets += u64::from(octets);
        self.round.starved |= rlc_was_emptied && waiting_octets > 0;
        self.round.idle |= rlc_was_emptied && waiting_octets == 0;
    }
}

#[cfg(test)]
mod tests;
