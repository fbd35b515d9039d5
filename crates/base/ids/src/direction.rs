//! The directions of the radio interface.

use core::fmt;

/// The direction of traffic between a base station and its UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From the base station to the UEs.
    Downlink,
    /// From the UEs to the base station.
    Uplink,
}

impl Direction {
    /// Both directions, downlink first.
    pub const BOTH: [Direction; 2] = [Direction::Downlink, Direction::Uplink];
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::Downlink => "downlink",
            Direction::Uplink => "uplink",
        })
    }
}
