//! 5G-BDP (Irazabal et al., "Dynamic buffer sizing and pacing as enablers of 5G low-latency services"): RLC holds the
//! bandwidth-delay product of what the MAC drains, and little more; all else waits in queues that a classifier has separated.
//!
//! - The delay is that between two looks at RLC, a *round*: it ends with a hand-over that comes after feedback. Where packets
//!   are handed on every slot and the bearer is served every fourth, a round is four slots; where it is served every slot
//!   and packets are handed on every fourth, too.
//! - The bandwidth is what drains in recent rounds, over their length. The product of both is what drains in a round in the
//!   mean. A round in which RLC ran empty because nothing was there says little of what the MAC would have drained: it
//!   counts only where it drained more than the mean.
//! - Opportunities vary. One that empties RLC while packets wait above has found too little: RLC gets more to spare, by an
//!   eighth of what drained, and twice that with each such round that follows at once. What was left in RLC by all of 32
//!   rounds is too much, and spared less.

use super::{Below, Pacer, Transmission};
use crate::Time;

/// What RLC gets at least, and what may be left in it: a full packet.
const PACKET_OCTETS: u32 = 1514;
/// What RLC gets before anything has drained: ten packets, as RFC 6928 has it for TCP.
const INITIAL_OCTETS: u32 = 10 * PACKET_OCTETS;
/// Rounds after which what was left by all of them is spared no more.
const LOOK_BACK_ROUNDS: u32 = 32;

/// RLC holds the bandwidth-delay product.
#[derive(Default)]
pub(super) struct Bdp {
    asked: Option<Time>,
    round: Round,
    /// What drains in a round: eight times the mean, by which each round counts an eighth. `None` before the first.
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
    /// RLC ran empty, and nothing waited.
    idle: bool,
}

impl Bdp {
    /// What RLC is to hold.
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
    fn allowance(&mut self, now: Time, below: Below) -> Option<u32> {
        if self.asked != Some(now) {
            self.asked = Some(now);
            if self.round.has_feedback {
                self.end_round(below.rlc_octets);
            }
        }
        // an empty RLC gets a packet, however little it holds
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
