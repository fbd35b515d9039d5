//! The interface to the base station.

use std::borrow::Cow;

use e2sm::slice::{Algorithm, SliceConfiguration};
use ferric::agent::Ue;
use ferric::e2::Time;
use ids::Direction;

/// The radio resources of one direction that slices share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The number of physical resource blocks in a slot: at least 1.
    pub prbs: u32,
    /// The number of resource block groups, which are the positions of static slices: at least 1.
    pub positions: u32,
}

/// The slices that a UE is associated with; `None` for no slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceAssociation {
    /// The ID of the downlink slice.
    pub dl: Option<u32>,
    /// The ID of the uplink slice.
    pub ul: Option<u32>,
}

/// What a base station implements to support the SLICE service model.
pub trait SliceSource {
    /// The resources of a direction. They never change.
    fn capacity(&self, direction: Direction) -> Capacity;

    /// The supported slice algorithms.
    fn algorithms(&self) -> &[Algorithm];

    /// Whether the base station has a UE scheduler with this name. An empty name, which stands for the default scheduler,
    /// is not passed.
    fn has_ue_scheduler(&self, name: &str) -> bool;

    /// The configured slices.
    fn slices(&self) -> &SliceConfiguration<'static>;

    /// Replaces the configured slices. They were checked: the resources that they are promised exist.
    ///
    /// # Errors
    /// The reason in ASCII, which the controller receives. Then nothing has changed.
    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>>;

    /// Appends the connected UEs, always in the same order.
    fn ues(&self, out: &mut Vec<Ue>);

    /// Whether reports list UEs without a slice too, with [`NO_SLICE`](e2sm::slice::NO_SLICE). Default: no.
    fn lists_all_ues(&self) -> bool {
        false
    }

    /// The C-RNTI of a UE that [`SliceSource::ues`] has just returned.
    fn rnti(&self, ue: Ue) -> u16;

    /// The slices of such a UE.
    fn slice_association(&self, ue: Ue) -> SliceAssociation;

    /// Associates such a UE with configured slices.
    fn set_slice_association(&mut self, ue: Ue, association: SliceAssociation);

    /// Brings the state up to date with `now`. A real base station does nothing; an emulated one computes.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }
}
