//! What a base station implements.

use std::borrow::Cow;

use e2sm::slice::{Algorithm, SliceConfiguration};
use ferric::agent::Ue;
use ferric::e2::Time;
pub use ids::Direction;

/// What there is to be divided in a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Resource blocks of a slot: at least one.
    pub prbs: u32,
    /// Positions for slices of fixed place, each a group of blocks: at least one.
    pub positions: u32,
}

/// The slices that a UE is in, by direction; `None` where it is in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceAssociation {
    /// The slice of its downlink.
    pub dl: Option<u32>,
    /// The slice of its uplink.
    pub ul: Option<u32>,
}

/// The getters and setters that a base station implements, to offer SLICE.
pub trait SliceSource {
    /// What there is to be divided. It never changes.
    fn capacity(&self, direction: Direction) -> Capacity;

    /// The slice algorithms that can be had.
    fn algorithms(&self) -> &[Algorithm];

    /// Whether there is a UE scheduler of that name. The empty name asks for whatever is usual.
    fn has_ue_scheduler(&self, name: &str) -> bool;

    /// What is set.
    fn slices(&self) -> &SliceConfiguration<'static>;

    /// Sets all slices anew. They were checked: what is promised is there.
    ///
    /// # Errors
    /// Why it cannot be. Then nothing has changed. Who asked is told so, in ASCII.
    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>>;

    /// Appends the UEs that are there, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// The C-RNTI of a UE that [`SliceSource::ues`] has just told of.
    fn rnti(&self, ue: Ue) -> u16;

    /// The slices that such a UE is in.
    fn slice_association(&self, ue: Ue) -> SliceAssociation;

    /// Moves such a UE to slices that are there.
    fn set_slice_association(&mut self, ue: Ue, slice_association: SliceAssociation);

    /// Time has come to `now`. A base station whose time goes on by itself has nothing to do; a model of one computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }
}
