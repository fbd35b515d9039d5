//! The directions of slices.

use std::fmt;

use e2sm::slice::{DeleteSlices, DirectionSlices, SliceConfiguration, UeSlices};

/// A direction, as paths write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Dl,
    Ul,
}

impl Direction {
    /// By its name in a path.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dl" => Some(Direction::Dl),
            "ul" => Some(Direction::Ul),
            _ => None,
        }
    }

    /// A configuration of this direction alone.
    pub fn alone(self, slices: DirectionSlices<'static>) -> SliceConfiguration<'static> {
        match self {
            Direction::Dl => SliceConfiguration { dl: slices, ..SliceConfiguration::default() },
            Direction::Ul => SliceConfiguration { ul: slices, ..SliceConfiguration::default() },
        }
    }

    /// Slices of this direction, to be deleted.
    pub fn ids(self, ids: Vec<u32>) -> DeleteSlices<'static> {
        match self {
            Direction::Dl => DeleteSlices { dl: ids.into(), ..DeleteSlices::default() },
            Direction::Ul => DeleteSlices { ul: ids.into(), ..DeleteSlices::default() },
        }
    }

    /// The slice of a UE in this direction.
    pub fn slice_of(self, ue: &UeSlices) -> u32 {
        match self {
            Direction::Dl => ue.dl_id,
            Direction::Ul => ue.ul_id,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::Dl => "downlink",
            Direction::Ul => "uplink",
        })
    }
}
