//! The directions of slices.

use e2sm::slice::{DeleteSlices, DirectionSlices, SliceConfiguration, UeSlices};
pub(super) use ids::Direction;

/// The slices of one direction.
pub(super) trait SlicesOf: Sized {
    /// By its name in a path.
    fn named(name: &str) -> Option<Self>;

    /// A configuration of this direction alone.
    fn alone(self, slices: DirectionSlices<'static>) -> SliceConfiguration<'static>;

    /// Slices of this direction, to be deleted.
    fn ids(self, ids: Vec<u32>) -> DeleteSlices<'static>;

    /// The slice of a UE in this direction.
    fn slice_of(self, ue: &UeSlices) -> u32;
}

impl SlicesOf for Direction {
    fn named(name: &str) -> Option<Self> {
        match name {
            "dl" => Some(Direction::Downlink),
            "ul" => Some(Direction::Uplink),
            _ => None,
        }
    }

    fn alone(self, slices: DirectionSlices<'static>) -> SliceConfiguration<'static> {
        match self {
            Direction::Downlink => SliceConfiguration { dl: slices, ..SliceConfiguration::default() },
            Direction::Uplink => SliceConfiguration { ul: slices, ..SliceConfiguration::default() },
        }
    }

    fn ids(self, ids: Vec<u32>) -> DeleteSlices<'static> {
        match self {
            Direction::Downlink => DeleteSlices { dl: ids.into(), ..DeleteSlices::default() },
            Direction::Uplink => DeleteSlices { ul: ids.into(), ..DeleteSlices::default() },
        }
    }

    fn slice_of(self, ue: &UeSlices) -> u32 {
        match self {
            Direction::Downlink => ue.dl_id,
            Direction::Uplink => ue.ul_id,
        }
    }
}
