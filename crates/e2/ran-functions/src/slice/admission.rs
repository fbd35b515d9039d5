//! Validation of slices: of each by itself, and of all slices of a direction together.

use std::fmt;

use e2sm::slice::{Algorithm, NvsParameters, Parameters, Positions, Rate, Scn19Parameters, Slice};

use super::{Capacity, Direction, SliceSource};

/// The resources and capabilities of a base station for slices in one direction.
#[derive(Clone, Copy)]
pub struct SliceResources<'a> {
    /// The resources that slices share.
    pub capacity: Capacity,
    /// The supported slice algorithms.
    pub algorithms: &'a [Algorithm],
    /// Whether the base station has a UE scheduler with this name.
    pub has_ue_scheduler: &'a dyn Fn(&str) -> bool,
}

impl fmt::Debug for SliceResources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SliceResources { capacity, algorithms, .. } = self;
        f.debug_struct("SliceResources")
            .field("capacity", capacity)
            .field("algorithms", algorithms)
            .finish_non_exhaustive()
    }
}

/// Validates the initial slices of a direction as [`SliceFunction`](super::SliceFunction) validates those of a controller.
///
/// # Errors
/// The reason in ASCII.
pub fn validate_slices(
    direction: Direction,
    resources: &SliceResources<'_>,
    slices: &[Slice<'_>],
) -> Result<(), String> {
    for (at, slice) in slices.iter().enumerate() {
        if slices[..at].iter().any(|other| other.id == slice.id) {
            return Err(Fault::Duplicate(direction, slice.id).to_string());
        }
    }
    check_all(resources, direction, slices, usize::MAX, |_| true).map_err(|fault| fault.to_string())
}

/// The tolerance for the sum of shares, whose terms are rounded.
const ROUNDING: f64 = 1e-6;

/// Why slices are invalid. The text goes to the controller in ASCII.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// A slice ID occurs twice in one request.
    Duplicate(Direction, u32),
    /// There are more slices than configured.
    TooManySlices(Direction, usize),
    /// The base station does not support the algorithm.
    UnsupportedAlgorithm(Algorithm),
    /// A direction has two algorithms.
    MixedAlgorithms(Direction, Algorithm, Algorithm),
    /// The base station does not have the UE scheduler.
    UnknownUeScheduler(Direction, u32),
    /// The reference rate is not above 0.
    InvalidReference(Direction, u32),
    /// The share is below 0 or not a number.
    InvalidShare(Direction, u32),
    /// The carrier does not have these positions.
    InvalidPositions(Direction, u32, Positions, u32),
    /// The positions of two slices overlap.
    Overlap(Direction, u32, u32),
    /// The deadline, or the averaging window, has 0 slots.
    InvalidTime(Direction, u32),
    /// The slices need more than all resources.
    OverCapacity { direction: Direction, used: f64, requested: f64 },
    /// The second slice, whose resource blocks the first may use, does not exist.
    UnknownLender(Direction, u32, u32),
    /// The slice does not exist.
    UnknownSlice(Direction, u32),
    /// Another controller owns the slice.
    Owned(Direction, u32),
    /// Another controller chose the slice scheduler of the direction.
    SchedulerOwned(Direction),
    /// The UE does not exist, or the controller does not see it.
    UnknownUe(u16),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Duplicate(direction, id) => write!(f, "{direction} slice {id} occurs twice in the request"),
            Fault::TooManySlices(direction, most) => write!(f, "the {direction} has more than {most} slices"),
            Fault::UnsupportedAlgorithm(algorithm) => {
                write!(f, "the base station does not have the algorithm {algorithm}")
            }
            Fault::MixedAlgorithms(direction, a, b) => write!(f, "the {direction} has one algorithm: {a} or {b}"),
            Fault::UnknownUeScheduler(direction, id) => {
                write!(f, "{direction} slice {id}: the base station does not have that UE scheduler")
            }
            Fault::InvalidReference(direction, id) => {
                write!(f, "{direction} slice {id}: the reference of a rate must be above 0")
            }
            Fault::InvalidShare(direction, id) => write!(f, "{direction} slice {id}: a share is from 0 to 100 %"),
            Fault::InvalidPositions(direction, id, positions, count) => {
                let Positions { low, high } = positions;
                write!(f, "{direction} slice {id}: positions {low} to {high} are not among 0 to {}", count - 1)
            }
            Fault::Overlap(direction, a, b) => write!(f, "{direction} slices {a} and {b} overlap"),
            Fault::InvalidTime(direction, id) => {
                write!(f, "{direction} slice {id}: a deadline or window is at least 1 slot")
            }
            Fault::OverCapacity { direction, used, requested } => write!(
                f,
                "the {direction} slices would use {:.1} % of the cell: {:.1} % by other controllers, {:.1} % requested",
                (used + requested) * 100.0,
                used * 100.0,
                requested * 100.0
            ),
            Fault::UnknownLender(direction, id, over) => {
                write!(f, "{direction} slice {id} refers to slice {over}, which does not exist")
            }
            Fault::UnknownSlice(direction, id) => write!(f, "there is no {direction} slice {id}"),
            Fault::Owned(direction, id) => write!(f, "{direction} slice {id} is another controller's"),
            Fault::SchedulerOwned(direction) => {
                write!(f, "the {direction}'s scheduler was chosen by another controller that has slices there")
            }
            Fault::UnknownUe(rnti) => write!(f, "there is no UE with RNTI {rnti}"),
        }
    }
}

/// Checks all slices that a direction would have. `is_requested` selects those of the requesting controller, for the error.
pub(super) fn check<S: SliceSource>(
    source: &S,
    direction: Direction,
    slices: &[Slice<'_>],
    max_slices: usize,
    is_requested: impl Fn(u32) -> bool,
) -> Result<(), Fault> {
    let resources = SliceResources {
        capacity: source.capacity(direction),
        algorithms: source.algorithms(),
        has_ue_scheduler: &|name| source.has_ue_scheduler(name),
    };
    check_all(&resources, direction, slices, max_slices, is_requested)
}

fn check_all(
    resources: &SliceResources<'_>,
    direction: Direction,
    slices: &[Slice<'_>],
    max_slices: usize,
    is_requested: impl Fn(u32) -> bool,
) -> Result<(), Fault> {
    if slices.len() > max_slices {
        return Err(Fault::TooManySlices(direction, max_slices));
    }
    let capacity = resources.capacity;
    let (mut used, mut requested) = (0.0, 0.0);
    for (at, slice) in slices.iter().enumerate() {
        let (id, algorithm) = (slice.id, slice.parameters.algorithm());
        if !resources.algorithms.contains(&algorithm) {
            return Err(Fault::UnsupportedAlgorithm(algorithm));
        }
        if let Some(other) = slices[..at].iter().find(|other| other.parameters.algorithm() != algorithm) {
            return Err(Fault::MixedAlgorithms(direction, other.parameters.algorithm(), algorithm));
        }
        if !slice.ue_scheduler.is_empty() && !(resources.has_ue_scheduler)(&slice.ue_scheduler) {
            return Err(Fault::UnknownUeScheduler(direction, id));
        }
        if let Some(here) = positions(&slice.parameters) {
            let overlaps = |other: &&Slice<'_>| {
                positions(&other.parameters).is_some_and(|there| here.low <= there.high && there.low <= here.high)
            };
            if let Some(other) = slices[..at].iter().find(overlaps) {
                return Err(Fault::Overlap(direction, other.id, id));
            }
        }
        if let Parameters::Edf(edf) = &slice.parameters
            && let Some(missing) = edf.over.iter().find(|over| !slices.iter().any(|slice| slice.id == **over))
        {
            return Err(Fault::UnknownLender(direction, id, *missing));
        }
        let share = share(slice, direction, capacity)?;
        *if is_requested(id) { &mut requested } else { &mut used } += share;
    }
    if used + requested > 1.0 + ROUNDING {
        return Err(Fault::OverCapacity { direction, used, requested });
    }
    Ok(())
}

fn positions(parameters: &Parameters<'_>) -> Option<Positions> {
    match parameters {
        Parameters::Static(positions) | Parameters::Scn19(Scn19Parameters::Fixed(positions)) => Some(*positions),
        _ => None,
    }
}

/// The share of the direction's resources that a slice is promised.
fn share(slice: &Slice<'_>, direction: Direction, capacity: Capacity) -> Result<f64, Fault> {
    let id = slice.id;
    let share = match &slice.parameters {
        Parameters::Static(positions) | Parameters::Scn19(Scn19Parameters::Fixed(positions)) => {
            let Positions { low, high } = *positions;
            if low > high || high >= capacity.positions {
                return Err(Fault::InvalidPositions(direction, id, *positions, capacity.positions));
            }
            f64::from(high - low + 1) / f64::from(capacity.positions)
        }
        Parameters::Nvs(NvsParameters::Rate(rate)) | Parameters::Scn19(Scn19Parameters::Dynamic(rate)) => {
            let Rate { required_mbps, reference_mbps } = *rate;
            if reference_mbps <= 0.0 || !reference_mbps.is_finite() {
                return Err(Fault::InvalidReference(direction, id));
            }
            f64::from(required_mbps) / f64::from(reference_mbps)
        }
        Parameters::Nvs(NvsParameters::Capacity(share)) => f64::from(share.reserved),
        Parameters::Scn19(Scn19Parameters::OnDemand(on_demand)) => {
            if on_demand.tau_slots == 0 {
                return Err(Fault::InvalidTime(direction, id));
            }
            if !on_demand.log_delta.is_finite() {
                return Err(Fault::InvalidShare(direction, id));
            }
            f64::from(on_demand.reserved)
        }
        Parameters::Edf(edf) => {
            if edf.deadline_slots == 0 {
                return Err(Fault::InvalidTime(direction, id));
            }
            f64::from(edf.guaranteed_prbs) / (f64::from(edf.deadline_slots) * f64::from(capacity.prbs))
        }
    };
    // a share above 1 fails later as over capacity, with all numbers
    if share.is_finite() && share >= 0.0 { Ok(share) } else { Err(Fault::InvalidShare(direction, id)) }
}
