//! Controls: each is checked, then takes effect as a whole or not at all.

use std::borrow::Cow;

use e2sm::slice::{DeleteSlices, DirectionSlices, NO_SLICE, Parameters, Slice, SliceConfiguration, UeSlices};
use ferric::agent::{ControllerId, Ue, Views};
use ferric::e2ap::{Cause, CauseRicRequest};

use super::admission::{Fault, check};
use super::{Direction, SliceAssociation, SliceSource};

/// Why a control is refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    /// The request is invalid.
    Fault(Fault),
    /// The base station refuses it, for this reason.
    BaseStation(Cow<'static, str>),
}

impl Refusal {
    pub fn cause(&self) -> Cause {
        Cause::RicRequest(match self {
            Refusal::Fault(Fault::OverCapacity { .. } | Fault::TooManySlices(..)) => {
                CauseRicRequest::FunctionResourceLimit
            }
            Refusal::Fault(Fault::Owned(..) | Fault::SchedulerOwned(_)) | Refusal::BaseStation(_) => {
                CauseRicRequest::ControlFailedToExecute
            }
            Refusal::Fault(_) => CauseRicRequest::ControlMessageInvalid,
        })
    }

    pub fn text(&self) -> String {
        match self {
            Refusal::Fault(fault) => fault.to_string(),
            Refusal::BaseStation(why) => why.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect(),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Refusal::Fault(fault)
    }
}

/// The controllers that own slices. The initial slices of the base station have no owner: the controller that sees every UE
/// may change them.
#[derive(Debug, Default)]
pub(super) struct Owners(Vec<(Direction, u32, ControllerId)>);

impl Owners {
    /// The owner of a slice.
    fn owner(&self, direction: Direction, id: u32) -> Option<ControllerId> {
        let owned = self.0.iter().find(|(d, i, _)| (*d, *i) == (direction, id));
        owned.map(|(.., owner)| *owner)
    }

    fn has_others(&self, direction: Direction, controller: ControllerId) -> bool {
        self.0.iter().any(|(d, _, owner)| *d == direction && *owner != controller)
    }

    fn add(&mut self, direction: Direction, id: u32, controller: ControllerId) {
        if self.owner(direction, id).is_none() {
            self.0.push((direction, id, controller));
        }
    }

    fn remove(&mut self, direction: Direction, id: u32) {
        self.0.retain(|(d, i, _)| (*d, *i) != (direction, id));
    }

    /// Leaves the slices of a controller without an owner.
    pub fn remove_controller(&mut self, controller: ControllerId) {
        self.0.retain(|(.., owner)| *owner != controller);
    }

    /// The IDs of a controller's slices.
    fn slices_of(&self, controller: ControllerId) -> DeleteSlices<'static> {
        let ids = |direction| {
            let owned = self.0.iter().filter(|(d, _, owner)| (*d, *owner) == (direction, controller));
            owned.map(|(_, id, _)| *id).collect()
        };
        DeleteSlices { dl: ids(Direction::Downlink), ul: ids(Direction::Uplink) }
    }
}

/// The context of a controller's request.
pub(super) struct Request<'r, S> {
    pub source: &'r mut S,
    pub owners: &'r mut Owners,
    pub controller: ControllerId,
    pub views: &'r Views,
    pub max_slices: usize,
}

fn of<'s>(slices: &'s SliceConfiguration<'static>, direction: Direction) -> &'s DirectionSlices<'static> {
    match direction {
        Direction::Downlink => &slices.dl,
        Direction::Uplink => &slices.ul,
    }
}

impl<S: SliceSource> Request<'_, S> {
    fn may_change(&self, direction: Direction, id: u32) -> bool {
        match self.owners.owner(direction, id) {
            Some(owner) => owner == self.controller,
            None => self.views.sees_all(self.controller),
        }
    }

    fn exists(&self, direction: Direction, id: u32) -> bool {
        of(self.source.slices(), direction).slices.iter().any(|slice| slice.id == id)
    }

    /// Adds or modifies slices.
    pub fn add_or_modify(self, requested: &SliceConfiguration<'static>) -> Result<(), Refusal> {
        let mut next = self.source.slices().clone();
        for direction in Direction::BOTH {
            let merged = self.merge(direction, of(requested, direction))?;
            match direction {
                Direction::Downlink => next.dl = merged,
                Direction::Uplink => next.ul = merged,
            }
        }
        self.source.set_slices(next).map_err(Refusal::BaseStation)?;
        for direction in Direction::BOTH {
            for slice in &of(requested, direction).slices {
                self.owners.add(direction, slice.id, self.controller);
            }
        }
        Ok(())
    }

    /// The slices of a direction after the request.
    fn merge(
        &self,
        direction: Direction,
        requested: &DirectionSlices<'static>,
    ) -> Result<DirectionSlices<'static>, Fault> {
        let mut next = of(self.source.slices(), direction).clone();
        if !requested.scheduler.is_empty() && requested.scheduler != next.scheduler {
            if self.owners.has_others(direction, self.controller) {
                return Err(Fault::SchedulerOwned(direction));
            }
            next.scheduler = requested.scheduler.clone();
        }
        let mut slices = next.slices.to_vec();
        for (at, slice) in requested.slices.iter().enumerate() {
            if requested.slices[..at].iter().any(|other| other.id == slice.id) {
                return Err(Fault::Duplicate(direction, slice.id));
            }
            match slices.iter_mut().find(|existing| existing.id == slice.id) {
                Some(_) if !self.may_change(direction, slice.id) => return Err(Fault::Owned(direction, slice.id)),
                Some(existing) => *existing = slice.clone(),
                None => slices.push(slice.clone()),
            }
        }
        let is_new = |id| requested.slices.iter().any(|slice| slice.id == id);
        let is_requested = |id| is_new(id) || self.owners.owner(direction, id) == Some(self.controller);
        check(self.source, direction, &slices, self.max_slices, is_requested)?;
        next.slices = slices.into();
        Ok(next)
    }

    /// Deletes slices that no other slice refers to. Their UEs are associated with no slice afterwards.
    pub fn delete(self, ids: &DeleteSlices<'_>) -> Result<(), Refusal> {
        self.delete_with(ids, |direction, remaining, source| check(source, direction, remaining, usize::MAX, |_| false))
    }

    /// Deletes the slices of a removed controller, and the references to them.
    pub fn delete_all_of_controller(self) -> Result<(), Refusal> {
        let ids = self.owners.slices_of(self.controller);
        self.delete_with(&ids, |_, remaining, _| {
            let existing: Vec<u32> = remaining.iter().map(|slice| slice.id).collect();
            for slice in remaining {
                if let Parameters::Edf(edf) = &mut slice.parameters {
                    edf.over = edf.over.iter().copied().filter(|over| existing.contains(over)).collect();
                }
            }
            Ok(())
        })
    }

    /// Deletes slices after `prepare` has checked or adapted the remaining ones of each direction.
    fn delete_with(
        self,
        ids: &DeleteSlices<'_>,
        prepare: impl Fn(Direction, &mut Vec<Slice<'static>>, &S) -> Result<(), Fault>,
    ) -> Result<(), Refusal> {
        let ids = |direction| match direction {
            Direction::Downlink => &ids.dl,
            Direction::Uplink => &ids.ul,
        };
        let mut next = self.source.slices().clone();
        for direction in Direction::BOTH {
            for id in ids(direction).iter() {
                if !self.exists(direction, *id) {
                    return Err(Fault::UnknownSlice(direction, *id).into());
                }
                if !self.may_change(direction, *id) {
                    return Err(Fault::Owned(direction, *id).into());
                }
            }
            let in_direction = match direction {
                Direction::Downlink => &mut next.dl,
                Direction::Uplink => &mut next.ul,
            };
            let remains = |slice: &&Slice<'_>| !ids(direction).contains(&slice.id);
            let mut remaining: Vec<_> = in_direction.slices.iter().filter(remains).cloned().collect();
            prepare(direction, &mut remaining, self.source)?;
            in_direction.slices = remaining.into();
        }
        self.source.set_slices(next).map_err(Refusal::BaseStation)?;
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        for ue in ues {
            let SliceAssociation { dl, ul } = self.source.slice_association(ue);
            let dl_remaining = dl.filter(|id| !ids(Direction::Downlink).contains(id));
            let ul_remaining = ul.filter(|id| !ids(Direction::Uplink).contains(id));
            if (dl_remaining, ul_remaining) != (dl, ul) {
                self.source.set_slice_association(ue, SliceAssociation { dl: dl_remaining, ul: ul_remaining });
            }
        }
        for direction in Direction::BOTH {
            ids(direction).iter().for_each(|id| self.owners.remove(direction, *id));
        }
        Ok(())
    }

    /// Associates UEs with slices.
    pub fn associate(self, requested: &[UeSlices]) -> Result<(), Refusal> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        let mut associations: Vec<(Ue, SliceAssociation)> = Vec::new();
        for UeSlices { dl_id, ul_id, rnti } in requested {
            let matches = |ue: &&Ue| self.source.rnti(**ue) == *rnti && self.views.sees(self.controller, **ue);
            let ue = *ues.iter().find(matches).ok_or(Fault::UnknownUe(*rnti))?;
            let current = self.source.slice_association(ue);
            let dl = self.target_slice(Direction::Downlink, current.dl, *dl_id)?;
            let ul = self.target_slice(Direction::Uplink, current.ul, *ul_id)?;
            associations.push((ue, SliceAssociation { dl, ul }));
        }
        associations.into_iter().for_each(|(ue, association)| self.source.set_slice_association(ue, association));
        Ok(())
    }

    /// The slice that a UE moves to. FlexRIC's xApps state one for each direction, even if a direction has no slices.
    fn target_slice(&self, direction: Direction, current: Option<u32>, requested: u32) -> Result<Option<u32>, Fault> {
        if of(self.source.slices(), direction).slices.is_empty() {
            return Ok(None);
        }
        let requested = (requested != NO_SLICE).then_some(requested);
        if let Some(id) = requested.filter(|id| !self.exists(direction, *id)) {
            return Err(Fault::UnknownSlice(direction, id));
        }
        if requested != current {
            // a UE moves neither into a slice of another controller nor out of one
            let owned = requested.into_iter().chain(current).find(|id| !self.may_change(direction, *id));
            if let Some(id) = owned {
                return Err(Fault::Owned(direction, id));
            }
        }
        Ok(requested)
    }
}
