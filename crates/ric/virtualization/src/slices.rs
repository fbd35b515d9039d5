//! The virtual cell of a tenant: slices and shares (FlexRIC paper, appendix B).
//!
//! A tenant configures slices as if the cell were its own. Its slices may take up to 100 % of it; towards the base station
//!
//! - the share of a capacity slice is multiplied by the tenant's share of the cell, q;
//! - the reference rate of a rate slice is divided by q, its reserved rate stays;
//! - slice `v` of a tenant is slice `first + v`: tenants have disjoint ranges of [`RANGE`] ids. A tenant that is a virtualization
//!   controller itself has ids from [`RANGE`] on; these get ids of a second range, [`STACKED_RANGE`].
//!
//! What the tenant's slices leave of its share belongs to its UEs without a slice, which are in a slice of the base station too (the
//! last of the range). So NVS guarantees each tenant its share, whatever another one configures: the sum of its slices towards the
//! base station never exceeds q.
//!
//! NVS gives what a slice does not use to all slices of the cell, those of other tenants too. In the tenant's own cell it would remain
//! there. So a slice without UEs has the least share towards the base station, and the tenant's capacity slices with UEs have the rest, as
//! NVS divides it in the tenant's own cell: in proportion to their shares.
//!
//! Only NVS is virtual: for other algorithms, a part of a cell is not a cell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use e2sm::slice::{
    Algorithm, ControlMessage, DeleteSlices, DirectionSlices, NO_SLICE, NvsParameters, Parameters, Rate, Share, Slice,
    SliceConfiguration, UeSlices,
};
use ferric::e2ap::CauseRicRequest;
use ids::Direction;
use per::PrintableString;

/// The ids that a tenant may give to its slices: 0 to 9. Virtualization controllers have ids from [`RANGE`] on.
pub const VIRTUAL_IDS: u32 = 10;
/// The ids of the base station that are reserved for a tenant.
pub const RANGE: u32 = 16;
/// The ids of the base station that are reserved for the slices of a tenant that is a virtualization controller.
pub const STACKED_RANGE: u32 = 0x1_0000;
/// The maximum number of slices of a tenant in a direction.
pub const MAX_SLICES: usize = 64;
/// The place in the range of the slice for UEs without one.
const REST: u32 = RANGE - 1;
/// A share below this is none: NVS has no slices of share zero.
const LEAST_SHARE: f64 = 1e-4;
/// Rounding errors of shares, which are single-precision numbers on the wire.
const ROUNDING: f64 = 1e-6;

/// The part of a cell that a tenant has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Its share of the cell's resources, above 0, at most 1.
    pub share: f64,
    /// Its place among the tenants.
    pub tenant: u32,
}

impl Part {
    /// The first of its [`RANGE`] slice ids. Ids below [`RANGE`] stay those of the RAN's owner.
    #[must_use]
    pub fn first(&self) -> u32 {
        (self.tenant + 1) * RANGE
    }

    /// Returns the tenant that has a slice of the base station.
    #[must_use]
    pub fn tenant_of(id: u32) -> Option<u32> {
        let range = if id >= STACKED_RANGE { STACKED_RANGE } else { RANGE };
        (id / range).checked_sub(1)
    }
}

/// Why a tenant's control is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    /// The id is neither below [`VIRTUAL_IDS`] nor one of a virtualization controller.
    IdOutOfRange(u32),
    /// There would be more than [`MAX_SLICES`] slices in a direction.
    TooManySlices(Direction),
    /// Two slices of a direction have one id.
    Duplicate(u32),
    /// The algorithm is not NVS.
    UnsupportedAlgorithm(Algorithm),
    /// A share or a rate is negative or not finite, or a reference rate is not above zero.
    InvalidShare(u32),
    /// The slices of a direction take more than the tenant's cell.
    OverCapacity {
        /// The direction.
        direction: Direction,
        /// The sum of the shares.
        total: f64,
    },
    /// There is no such slice.
    UnknownSlice(u32),
    /// The tenant has no such UE.
    UnknownUe(u16),
    /// The scheduler of a direction is shared by all tenants.
    SharedScheduler,
}

impl Refusal {
    /// The cause in E2AP.
    #[must_use]
    pub fn cause(&self) -> CauseRicRequest {
        match self {
            Refusal::OverCapacity { .. } | Refusal::TooManySlices(_) => CauseRicRequest::FunctionResourceLimit,
            Refusal::SharedScheduler => CauseRicRequest::ControlFailedToExecute,
            _ => CauseRicRequest::ControlMessageInvalid,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::IdOutOfRange(id) => write!(f, "slice {id}: ids are 0 to {}", VIRTUAL_IDS - 1),
            Refusal::TooManySlices(direction) => write!(f, "{direction}: there would be more than {MAX_SLICES} slices"),
            Refusal::Duplicate(id) => write!(f, "slice {id} is named twice"),
            Refusal::UnsupportedAlgorithm(algorithm) => {
                write!(f, "{algorithm} cannot share a cell with other operators; NVS can")
            }
            Refusal::InvalidShare(id) => write!(f, "slice {id}: the share is not a number between 0 and 1"),
            Refusal::OverCapacity { direction, total } => {
                write!(f, "{direction}: the slices would take {:.1} % of the virtual cell", 100.0 * total)
            }
            Refusal::UnknownSlice(id) => write!(f, "there is no slice {id}"),
            Refusal::UnknownUe(rnti) => write!(f, "there is no UE with RNTI {rnti}"),
            Refusal::SharedScheduler => f.write_str("the slice scheduler is shared with other operators"),
        }
    }
}

/// The slices of a tenant, as its controller configured them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VirtualSlices {
    /// The slices of each direction, by the tenant's ids.
    pub configuration: SliceConfiguration<'static>,
    /// The slices of UEs, by RNTI; a UE that is absent has none.
    pub ues: BTreeMap<u16, (Option<u32>, Option<u32>)>,
    /// The places in the tenant's [`STACKED_RANGE`] of ids that do not fit into its [`RANGE`].
    stacked: BTreeMap<u32, u32>,
}

/// The slices of a tenant as the base station has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhysicalSlices {
    /// By direction (downlink, uplink) and id of the base station.
    pub slices: [BTreeMap<u32, Slice<'static>>; 2],
    /// The slices of UEs, by RNTI: downlink, uplink.
    pub ues: BTreeMap<u16, [u32; 2]>,
}

fn of<'s, 'a>(configuration: &'s SliceConfiguration<'a>, direction: Direction) -> &'s DirectionSlices<'a> {
    match direction {
        Direction::Downlink => &configuration.dl,
        Direction::Uplink => &configuration.ul,
    }
}

impl VirtualSlices {
    /// Returns the slices after a control of the tenant, which has the UEs that `has_ue` selects. `schedulers` are the slice schedulers
    /// of the base station (downlink, uplink): a control may name them, but not change them.
    ///
    /// # Errors
    /// The reason why the control is refused; then it has no effect.
    pub fn after(
        &self,
        control: &ControlMessage<'static>,
        schedulers: &[PrintableString<'static>; 2],
        has_ue: impl Fn(u16) -> bool,
    ) -> Result<Self, Refusal> {
        let mut next = self.clone();
        match control {
            ControlMessage::AddOrModify(requested) => {
                for (direction, scheduler) in Direction::BOTH.into_iter().zip(schedulers) {
                    let slices = next.merged(direction, of(requested, direction), scheduler)?;
                    next.set(direction, slices);
                }
            }
            ControlMessage::Delete(ids) => {
                for (direction, ids) in [(Direction::Downlink, &ids.dl), (Direction::Uplink, &ids.ul)] {
                    for id in ids.iter() {
                        let mut slices = next.slices(direction).to_vec();
                        let at = slices.iter().position(|slice| slice.id == *id).ok_or(Refusal::UnknownSlice(*id))?;
                        slices.remove(at);
                        next.set(direction, slices);
                    }
                }
            }
            ControlMessage::Associate(requested) => {
                for UeSlices { dl_id, ul_id, rnti } in requested.iter() {
                    if !has_ue(*rnti) {
                        return Err(Refusal::UnknownUe(*rnti));
                    }
                    let dl = next.target(Direction::Downlink, *dl_id)?;
                    let ul = next.target(Direction::Uplink, *ul_id)?;
                    next.ues.insert(*rnti, (dl, ul));
                }
            }
        }
        next.remove_dangling(has_ue);
        next.place_stacked();
        Ok(next)
    }

    /// The slices of a direction.
    #[must_use]
    pub fn slices(&self, direction: Direction) -> &[Slice<'static>] {
        &of(&self.configuration, direction).slices
    }

    fn set(&mut self, direction: Direction, slices: Vec<Slice<'static>>) {
        let scheduler = PrintableString::literal("");
        let slices = DirectionSlices { scheduler, slices: slices.into() };
        match direction {
            Direction::Downlink => self.configuration.dl = slices,
            Direction::Uplink => self.configuration.ul = slices,
        }
    }

    fn merged(
        &self,
        direction: Direction,
        requested: &DirectionSlices<'static>,
        scheduler: &PrintableString<'static>,
    ) -> Result<Vec<Slice<'static>>, Refusal> {
        // slice managers name the algorithm
        let named = &requested.scheduler;
        if !named.is_empty() && named != scheduler && **named != *Algorithm::Nvs.to_string() {
            return Err(Refusal::SharedScheduler);
        }
        let mut slices = self.slices(direction).to_vec();
        for (at, slice) in requested.slices.iter().enumerate() {
            if (VIRTUAL_IDS..RANGE).contains(&slice.id) {
                return Err(Refusal::IdOutOfRange(slice.id));
            }
            if requested.slices[..at].iter().any(|other| other.id == slice.id) {
                return Err(Refusal::Duplicate(slice.id));
            }
            share(slice)?;
            match slices.iter_mut().find(|existing| existing.id == slice.id) {
                Some(existing) => *existing = slice.clone(),
                None => slices.push(slice.clone()),
            }
        }
        if slices.len() > MAX_SLICES {
            return Err(Refusal::TooManySlices(direction));
        }
        let total = total(&slices);
        if total > 1.0 + ROUNDING {
            return Err(Refusal::OverCapacity { direction, total });
        }
        Ok(slices)
    }

    /// The slice that a UE moves to. Slice managers name one for each direction, even if a direction has no slices.
    fn target(&self, direction: Direction, id: u32) -> Result<Option<u32>, Refusal> {
        let slices = self.slices(direction);
        if id == NO_SLICE || slices.is_empty() {
            return Ok(None);
        }
        if slices.iter().any(|slice| slice.id == id) { Ok(Some(id)) } else { Err(Refusal::UnknownSlice(id)) }
    }

    /// Removes UEs that have left, and references to slices that no longer exist.
    fn remove_dangling(&mut self, has_ue: impl Fn(u16) -> bool) {
        let VirtualSlices { configuration, ues, .. } = self;
        let exists = |direction, id: &u32| of(configuration, direction).slices.iter().any(|slice| slice.id == *id);
        ues.retain(|rnti, (dl, ul)| {
            *dl = dl.filter(|id| exists(Direction::Downlink, id));
            *ul = ul.filter(|id| exists(Direction::Uplink, id));
            has_ue(*rnti) && (dl.is_some() || ul.is_some())
        });
    }

    /// Gives each id from [`RANGE`] on a place, which it has as long as a slice has the id.
    fn place_stacked(&mut self) {
        let directions = Direction::BOTH.map(|direction| self.slices(direction).iter().map(|slice| slice.id));
        let ids: BTreeSet<u32> = directions.into_iter().flatten().filter(|id| *id >= RANGE).collect();
        self.stacked.retain(|id, _| ids.contains(id));
        for id in ids {
            let is_free = |place: &u32| !self.stacked.values().any(|used| used == place);
            if !self.stacked.contains_key(&id)
                && let Some(place) = (0..STACKED_RANGE).find(is_free)
            {
                self.stacked.insert(id, place);
            }
        }
    }

    /// The id of the base station for a slice.
    fn physical_id(&self, part: Part, id: u32) -> u32 {
        match self.stacked.get(&id) {
            Some(place) => (part.tenant + 1) * STACKED_RANGE + place,
            None => part.first() + id,
        }
    }

    /// Returns what the base station is to have for the tenant with the UEs `ues`.
    #[must_use]
    pub fn physical(&self, part: Part, ues: impl Iterator<Item = u16>) -> PhysicalSlices {
        let mut physical = PhysicalSlices::default();
        let ues: Vec<(u16, [Option<u32>; 2])> = ues
            .map(|rnti| {
                let (dl, ul) = self.ues.get(&rnti).copied().unwrap_or_default();
                (rnti, [dl, ul])
            })
            .collect();
        for (at, direction) in Direction::BOTH.into_iter().enumerate() {
            let used: BTreeSet<Option<u32>> = ues.iter().map(|(_, slices)| slices[at]).collect();
            let slices = self.slices(direction);
            let (factors, rest) = lend(slices, &used, LEAST_SHARE / part.share);
            for (slice, factor) in slices.iter().zip(factors) {
                let scaled = scale(slice, factor * part.share, self.physical_id(part, slice.id));
                physical.slices[at].insert(scaled.id, scaled);
            }
            // a rest without UEs keeps the least share, which is rounded here
            if rest * part.share >= LEAST_SHARE * (1.0 - ROUNDING) {
                let rest = rest_slice(part, rest * part.share);
                physical.slices[at].insert(rest.id, rest);
            }
        }
        for (rnti, [dl, ul]) in ues {
            let target = |at: usize, id: Option<u32>| {
                let id = id.map_or(part.first() + REST, |id| self.physical_id(part, id));
                if physical.slices[at].contains_key(&id) { id } else { NO_SLICE }
            };
            physical.ues.insert(rnti, [target(0, dl), target(1, ul)]);
        }
        physical
    }

    /// Returns the slices of the tenant's UEs, as its controller sees them.
    #[must_use]
    pub fn ue_slices(&self) -> Vec<UeSlices> {
        let ues = self.ues.iter();
        ues.map(|(rnti, (dl, ul))| UeSlices {
            dl_id: dl.unwrap_or(NO_SLICE),
            ul_id: ul.unwrap_or(NO_SLICE),
            rnti: *rnti,
        })
        .collect()
    }
}

/// The share of the virtual cell that a slice takes.
fn share(slice: &Slice<'_>) -> Result<f64, Refusal> {
    let share = match &slice.parameters {
        Parameters::Nvs(NvsParameters::Capacity(share)) => f64::from(share.reserved),
        Parameters::Nvs(NvsParameters::Rate(Rate { required_mbps, reference_mbps })) if *reference_mbps > 0.0 => {
            f64::from(*required_mbps) / f64::from(*reference_mbps)
        }
        Parameters::Nvs(_) => f64::NAN,
        other => return Err(Refusal::UnsupportedAlgorithm(other.algorithm())),
    };
    if share.is_finite() && share >= 0.0 { Ok(share) } else { Err(Refusal::InvalidShare(slice.id)) }
}

fn total(slices: &[Slice<'_>]) -> f64 {
    slices.iter().map(|slice| share(slice).unwrap_or(0.0)).sum()
}

/// Lends the shares of slices without UEs to those with UEs, of the slices of a direction and of the rest (`None`). Returns by which
/// factor the share of each slice is multiplied, and the share of the rest. Nothing has less than `least` that has more of its own.
///
/// A rate slice does not receive anything: it has the rate that it needs.
fn lend(slices: &[Slice<'_>], used: &BTreeSet<Option<u32>>, least: f64) -> (Vec<f64>, f64) {
    let own = |slice: &Slice<'_>| share(slice).unwrap_or(0.0);
    let left = (1.0 - total(slices)).max(0.0);
    let is_used = |slice: &Slice<'_>| used.contains(&Some(slice.id));
    let is_rest_used = used.contains(&None);
    let receives =
        |slice: &Slice<'_>| is_used(slice) && matches!(slice.parameters, Parameters::Nvs(NvsParameters::Capacity(_)));
    let of_receivers: f64 = slices.iter().filter(|slice| receives(slice)).map(own).sum();
    let of_receivers = of_receivers + if is_rest_used { left } else { 0.0 };
    if of_receivers <= 0.0 && !is_rest_used {
        return (vec![1.0; slices.len()], left);
    }
    let lends = |is_used: bool, share: f64| if is_used { 0.0 } else { (share - least).max(0.0) };
    let lent_by_slices: f64 = slices.iter().map(|slice| lends(is_used(slice), own(slice))).sum();
    let lent = lent_by_slices + lends(is_rest_used, left);
    let growth = if of_receivers > 0.0 { 1.0 + lent / of_receivers } else { 1.0 };
    let factor = |slice: &Slice<'_>| match own(slice) {
        _ if receives(slice) => growth,
        own if own > 0.0 => 1.0 - lends(is_used(slice), own) / own,
        _ => 1.0,
    };
    let rest = match is_rest_used {
        // UEs without a slice have what no slice uses
        true if left <= 0.0 && of_receivers <= 0.0 => lent,
        true => left * growth,
        false => left.min(least),
    };
    (slices.iter().map(factor).collect(), rest)
}

/// The slice of the base station for a tenant's slice, with a share that is multiplied by `factor`.
fn scale(slice: &Slice<'static>, factor: f64, id: u32) -> Slice<'static> {
    let parameters = match &slice.parameters {
        Parameters::Nvs(NvsParameters::Capacity(share)) => {
            let reserved = (f64::from(share.reserved) * factor) as f32;
            Parameters::Nvs(NvsParameters::Capacity(Share { reserved }))
        }
        Parameters::Nvs(NvsParameters::Rate(rate)) => {
            let reference_mbps = (f64::from(rate.reference_mbps) / factor) as f32;
            Parameters::Nvs(NvsParameters::Rate(Rate { reference_mbps, ..*rate }))
        }
        other => other.clone(),
    };
    Slice { id, parameters, ..slice.clone() }
}

fn rest_slice(part: Part, share: f64) -> Slice<'static> {
    Slice {
        id: part.first() + REST,
        label: PrintableString::literal("others"),
        ue_scheduler: PrintableString::literal(""),
        parameters: Parameters::Nvs(NvsParameters::Capacity(Share { reserved: share as f32 })),
    }
}

impl PhysicalSlices {
    /// Whether the slices of a direction take more than a share of the cell.
    #[must_use]
    pub fn exceeds(&self, share: f64) -> bool {
        (0..2).any(|at| self.total(at) > share + ROUNDING)
    }

    /// The share of the cell that the slices of a direction have together.
    pub fn total(&self, at: usize) -> f64 {
        self.slices[at].values().map(|slice| self::share(slice).unwrap_or(0.0)).sum()
    }

    /// Returns the controls that lead from here to `target`, in the order in which they are sent: what is removed or shrinks goes
    /// first, so that no step exceeds the cell.
    #[must_use]
    pub fn steps_to(&self, target: &PhysicalSlices) -> Vec<ControlMessage<'static>> {
        let mut steps = Vec::new();
        let removed = |at: usize| {
            let ids = self.slices[at].keys().filter(|id| !target.slices[at].contains_key(id));
            ids.copied().collect::<Vec<u32>>()
        };
        let (dl, ul) = (removed(0), removed(1));
        if !dl.is_empty() || !ul.is_empty() {
            steps.push(ControlMessage::Delete(DeleteSlices { dl: dl.into(), ul: ul.into() }));
        }
        let changed = |at: usize| {
            let slices = target.slices[at].iter().filter(|(id, slice)| self.slices[at].get(id) != Some(slice));
            let slices: Vec<_> = slices.map(|(_, slice)| slice.clone()).collect();
            DirectionSlices { scheduler: PrintableString::literal(""), slices: slices.into() }
        };
        let (dl, ul) = (changed(0), changed(1));
        if !dl.slices.is_empty() || !ul.slices.is_empty() {
            // a control takes effect as a whole
            steps.push(ControlMessage::AddOrModify(SliceConfiguration { dl, ul }));
        }
        let current = |rnti: &u16, at: usize| {
            let slice = self.ues.get(rnti).map_or(NO_SLICE, |slices| slices[at]);
            // a UE of a deleted slice has none
            if slice != NO_SLICE && !target.slices[at].contains_key(&slice) { NO_SLICE } else { slice }
        };
        let moved = target.ues.iter().filter(|(rnti, to)| **to != [current(rnti, 0), current(rnti, 1)]);
        let moved: Vec<_> = moved.map(|(rnti, [dl, ul])| UeSlices { dl_id: *dl, ul_id: *ul, rnti: *rnti }).collect();
        if !moved.is_empty() {
            steps.push(ControlMessage::Associate(moved.into()));
        }
        steps
    }

    /// Records that a control has taken effect.
    pub fn apply(&mut self, step: &ControlMessage<'static>) {
        match step {
            ControlMessage::Delete(ids) => {
                for (at, ids) in [&ids.dl, &ids.ul].into_iter().enumerate() {
                    self.slices[at].retain(|id, _| !ids.contains(id));
                    let slices = &self.slices[at];
                    for ue in self.ues.values_mut().filter(|ue| !slices.contains_key(&ue[at])) {
                        ue[at] = NO_SLICE;
                    }
                }
            }
            ControlMessage::AddOrModify(configuration) => {
                for (at, direction) in [&configuration.dl, &configuration.ul].into_iter().enumerate() {
                    self.slices[at].extend(direction.slices.iter().map(|slice| (slice.id, slice.clone())));
                }
            }
            ControlMessage::Associate(ues) => {
                self.ues.extend(ues.iter().map(|ue| (ue.rnti, [ue.dl_id, ue.ul_id])));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
