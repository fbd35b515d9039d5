//! Whether slices can be: each by itself, and all of a direction together.

use std::fmt;

use e2sm::slice::{Algorithm, NvsParameters, Parameters, Positions, Rate, Scn19Parameters, Slice};

use super::{Capacity, Direction, SliceSource};

/// What a direction of a base station has for slices.
#[derive(Clone, Copy)]
pub struct SliceResources<'a> {
    /// What there is to be divided.
    pub capacity: Capacity,
    /// The slice algorithms that can be had.
    pub algorithms: &'a [Algorithm],
    /// Whether there is a UE scheduler of that name.
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

/// Whether slices can be what a direction begins with, as the function checks those of a controller.
///
/// # Errors
/// What cannot be, in ASCII.
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

/// Shares are sums of numbers with few digits: this much above all is rounding.
const ROUNDING: f64 = 1e-6;

/// Why slices cannot be. The text goes to the controller: it is ASCII.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// An id twice in one request.
    Duplicate(Direction, u32),
    /// More slices than the function's bound.
    TooMany(Direction, usize),
    /// An algorithm that the base station does not have.
    NoAlgorithm(Algorithm),
    /// Two algorithms in one direction.
    Mixed(Direction, Algorithm, Algorithm),
    /// A UE scheduler that the base station does not have.
    NoUeScheduler(Direction, u32),
    /// A rate out of nothing.
    NoReference(Direction, u32),
    /// A share that is none: below 0, above 1, or not a number.
    NoShare(Direction, u32),
    /// Positions that the carrier does not have.
    NoPositions(Direction, u32, Positions, u32),
    /// Two slices at one place.
    Overlap(Direction, u32, u32),
    /// A deadline, or a window, of no slots.
    NoTime(Direction, u32),
    /// More than there is.
    OverCapacity { direction: Direction, taken: f64, asked: f64 },
    /// The second slice, whose blocks the first may take, is not there.
    NothingToTake(Direction, u32, u32),
    /// There is no such slice.
    NoSlice(Direction, u32),
    /// The slice is another controller's.
    Owned(Direction, u32),
    /// The direction's scheduler is another controller's.
    SchedulerOwned(Direction),
    /// There is no such UE, or the controller does not see it.
    NoUe(u16),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Duplicate(direction, id) => write!(f, "{direction} slice {id} stands twice in the request"),
            Fault::TooMany(direction, most) => write!(f, "the {direction} may have {most} slices"),
            Fault::NoAlgorithm(algorithm) => write!(f, "the base station does not have the algorithm {algorithm}"),
            Fault::Mixed(direction, a, b) => write!(f, "the {direction} has one algorithm: {a} or {b}"),
            Fault::NoUeScheduler(direction, id) => {
                write!(f, "{direction} slice {id}: the base station does not have that UE scheduler")
            }
            Fault::NoReference(direction, id) => {
                write!(f, "{direction} slice {id}: the reference of a rate must be above 0")
            }
            Fault::NoShare(direction, id) => write!(f, "{direction} slice {id}: a share is from 0 to 100 %"),
            Fault::NoPositions(direction, id, positions, count) => {
                let Positions { low, high } = positions;
                write!(f, "{direction} slice {id}: positions {low} to {high} are not among 0 to {}", count - 1)
            }
            Fault::Overlap(direction, a, b) => write!(f, "{direction} slices {a} and {b} overlap"),
            Fault::NoTime(direction, id) => {
                write!(f, "{direction} slice {id}: a deadline or window has a slot at least")
            }
            Fault::OverCapacity { direction, taken, asked } => write!(
                f,
                "the {direction}'s slices would take {:.1} %: {:.1} % are taken, {:.1} % asked for",
                (taken + asked) * 100.0,
                taken * 100.0,
                asked * 100.0
            ),
            Fault::NothingToTake(direction, id, over) => {
                write!(f, "{direction} slice {id} may take from slice {over}, which would not be there")
            }
            Fault::NoSlice(direction, id) => write!(f, "there is no {direction} slice {id}"),
            Fault::Owned(direction, id) => write!(f, "{direction} slice {id} is another controller's"),
            Fault::SchedulerOwned(direction) => {
                write!(f, "the {direction}'s scheduler was chosen by another controller that has slices there")
            }
            Fault::NoUe(rnti) => write!(f, "there is no UE with RNTI {rnti}"),
        }
    }
}

/// Checks all slices of a direction as they would be. `is_asked` tells those that the asking controller would have.
pub(super) fn check<S: SliceSource>(
    source: &S,
    direction: Direction,
    slices: &[Slice<'_>],
    max_slices: usize,
    is_asked: impl Fn(u32) -> bool,
) -> Result<(), Fault> {
    let resources = SliceResources {
        capacity: source.capacity(direction),
        algorithms: source.algorithms(),
        has_ue_scheduler: &|name| source.has_ue_scheduler(name),
    };
    check_all(&resources, direction, slices, max_slices, is_asked)
}

fn check_all(
    resources: &SliceResources<'_>,
    direction: Direction,
    slices: &[Slice<'_>],
    max_slices: usize,
    is_asked: impl Fn(u32) -> bool,
) -> Result<(), Fault> {
    if slices.len() > max_slices {
        return Err(Fault::TooMany(direction, max_slices));
    }
    let capacity = resources.capacity;
    let (mut taken, mut asked) = (0.0, 0.0);
    for (at, slice) in slices.iter().enumerate() {
        let (id, algorithm) = (slice.id, slice.parameters.algorithm());
        if !resources.algorithms.contains(&algorithm) {
            return Err(Fault::NoAlgorithm(algorithm));
        }
        if let Some(other) = slices[..at].iter().find(|other| other.parameters.algorithm() != algorithm) {
            return Err(Fault::Mixed(direction, other.parameters.algorithm(), algorithm));
        }
        if !slice.ue_scheduler.is_empty() && !(resources.has_ue_scheduler)(&slice.ue_scheduler) {
            return Err(Fault::NoUeScheduler(direction, id));
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
            return Err(Fault::NothingToTake(direction, id, *missing));
        }
        let share = share(slice, direction, capacity)?;
        *if is_asked(id) { &mut asked } else { &mut taken } += share;
    }
    if taken + asked > 1.0 + ROUNDING {
        return Err(Fault::OverCapacity { direction, taken, asked });
    }
    Ok(())
}

fn positions(parameters: &Parameters<'_>) -> Option<Positions> {
    match parameters {
        Parameters::Static(positions) | Parameters::Scn19(Scn19Parameters::Fixed(positions)) => Some(*positions),
        _ => None,
    }
}

/// The share of the direction that a slice is promised.
fn share(slice: &Slice<'_>, direction: Direction, capacity: Capacity) -> Result<f64, Fault> {
    let id = slice.id;
    let share = match &slice.parameters {
        Parameters::Static(positions) | Parameters::Scn19(Scn19Parameters::Fixed(positions)) => {
            let Positions { low, high } = *positions;
            if low > high || high >= capacity.positions {
                return Err(Fault::NoPositions(direction, id, *positions, capacity.positions));
            }
            f64::from(high - low + 1) / f64::from(capacity.positions)
        }
        Parameters::Nvs(NvsParameters::Rate(rate)) | Parameters::Scn19(Scn19Parameters::Dynamic(rate)) => {
            let Rate { required_mbps, reference_mbps } = *rate;
            if reference_mbps <= 0.0 || !reference_mbps.is_finite() {
                return Err(Fault::NoReference(direction, id));
            }
            f64::from(required_mbps) / f64::from(reference_mbps)
        }
        Parameters::Nvs(NvsParameters::Capacity(share)) => f64::from(share.reserved),
        Parameters::Scn19(Scn19Parameters::OnDemand(on_demand)) => {
            if on_demand.tau_slots == 0 {
                return Err(Fault::NoTime(direction, id));
            }
            if !on_demand.log_delta.is_finite() {
                return Err(Fault::NoShare(direction, id));
            }
            f64::from(on_demand.reserved)
        }
        Parameters::Edf(edf) => {
            if edf.deadline_slots == 0 {
                return Err(Fault::NoTime(direction, id));
            }
            f64::from(edf.guaranteed_prbs) / (f64::from(edf.deadline_slots) * f64::from(capacity.prbs))
        }
    };
    // what alone is above all is told with all numbers by the sum
    if share.is_finite() && share >= 0.0 { Ok(share) } else { Err(Fault::NoShare(direction, id)) }
}
