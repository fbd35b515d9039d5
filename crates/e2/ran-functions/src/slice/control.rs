//! Controls: checked, then carried out as a whole or not at all.

use std::borrow::Cow;

use e2sm::slice::{DeleteSlices, DirectionSlices, NO_SLICE, Parameters, Slice, SliceConfiguration, UeSlices};
use ferric::agent::{ControllerId, Ue, Views};
use ferric::e2ap::{Cause, CauseRicRequest};

use super::admission::{Fault, check};
use super::{Direction, SliceAssociation, SliceSource};

/// Why a control is not carried out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    /// What it asks for cannot be.
    Fault(Fault),
    /// The base station says why.
    BaseStation(Cow<'static, str>),
}

impl Refusal {
    pub fn cause(&self) -> Cause {
        Cause::RicRequest(match self {
            Refusal::Fault(Fault::OverCapacity { .. } | Fault::TooMany(..)) => CauseRicRequest::FunctionResourceLimit,
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

/// Whose each slice is. What the base station brought along is nobody's: the controller that sees every UE may change it.
#[derive(Debug, Default)]
pub(super) struct Owners(Vec<(Direction, u32, ControllerId)>);

impl Owners {
    fn of(&self, direction: Direction, id: u32) -> Option<ControllerId> {
        let of = self.0.iter().find(|(d, i, _)| (*d, *i) == (direction, id));
        of.map(|(.., controller)| *controller)
    }

    fn others_in(&self, direction: Direction, controller: ControllerId) -> bool {
        self.0.iter().any(|(d, _, owner)| *d == direction && *owner != controller)
    }

    fn give(&mut self, direction: Direction, id: u32, controller: ControllerId) {
        if self.of(direction, id).is_none() {
            self.0.push((direction, id, controller));
        }
    }

    fn forget(&mut self, direction: Direction, id: u32) {
        self.0.retain(|(d, i, _)| (*d, *i) != (direction, id));
    }

    /// What was a controller's is nobody's.
    pub fn forget_all_of(&mut self, controller: ControllerId) {
        self.0.retain(|(.., owner)| *owner != controller);
    }

    /// The slices of a controller.
    fn all_of(&self, controller: ControllerId) -> DeleteSlices<'static> {
        let ids = |direction| {
            let of = self.0.iter().filter(|(d, _, owner)| (*d, *owner) == (direction, controller));
            of.map(|(_, id, _)| *id).collect()
        };
        DeleteSlices { dl: ids(Direction::Downlink), ul: ids(Direction::Uplink) }
    }
}

/// A controller that asks, and what it asks of.
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
        match self.owners.of(direction, id) {
            Some(owner) => owner == self.controller,
            None => self.views.sees_all(self.controller),
        }
    }

    fn is_there(&self, direction: Direction, id: u32) -> bool {
        of(self.source.slices(), direction).slices.iter().any(|slice| slice.id == id)
    }

    /// Adds slices, or changes them.
    pub fn add_or_modify(self, wanted: &SliceConfiguration<'static>) -> Result<(), Refusal> {
        let mut next = self.source.slices().clone();
        for direction in Direction::BOTH {
            let merged = self.merged(direction, of(wanted, direction))?;
            match direction {
                Direction::Downlink => next.dl = merged,
                Direction::Uplink => next.ul = merged,
            }
        }
        self.source.set_slices(next).map_err(Refusal::BaseStation)?;
        for direction in Direction::BOTH {
            for slice in &of(wanted, direction).slices {
                self.owners.give(direction, slice.id, self.controller);
            }
        }
        Ok(())
    }

    /// A direction as it would be.
    fn merged(
        &self,
        direction: Direction,
        wanted: &DirectionSlices<'static>,
    ) -> Result<DirectionSlices<'static>, Fault> {
        let mut next = of(self.source.slices(), direction).clone();
        if !wanted.scheduler.is_empty() && wanted.scheduler != next.scheduler {
            if self.owners.others_in(direction, self.controller) {
                return Err(Fault::SchedulerOwned(direction));
            }
            next.scheduler = wanted.scheduler.clone();
        }
        let mut slices = next.slices.to_vec();
        for (at, slice) in wanted.slices.iter().enumerate() {
            if wanted.slices[..at].iter().any(|other| other.id == slice.id) {
                return Err(Fault::Duplicate(direction, slice.id));
            }
            match slices.iter_mut().find(|there| there.id == slice.id) {
                Some(_) if !self.may_change(direction, slice.id) => return Err(Fault::Owned(direction, slice.id)),
                Some(there) => *there = slice.clone(),
                None => slices.push(slice.clone()),
            }
        }
        let is_wanted = |id| wanted.slices.iter().any(|slice| slice.id == id);
        let is_asked = |id| is_wanted(id) || self.owners.of(direction, id) == Some(self.controller);
        check(self.source, direction, &slices, self.max_slices, is_asked)?;
        next.slices = slices.into();
        Ok(next)
    }

    /// Deletes slices that nothing leans on. UEs that were in them are in none then.
    pub fn delete(self, ids: &DeleteSlices<'_>) -> Result<(), Refusal> {
        self.without(ids, |direction, left, source| check(source, direction, left, usize::MAX, |_| false))
    }

    /// Deletes the slices of a controller that is removed: what leaned on them does so no more.
    pub fn withdraw(self) -> Result<(), Refusal> {
        let ids = self.owners.all_of(self.controller);
        self.without(&ids, |_, left, _| {
            let there: Vec<u32> = left.iter().map(|slice| slice.id).collect();
            for slice in left {
                if let Parameters::Edf(edf) = &mut slice.parameters {
                    edf.over = edf.over.iter().copied().filter(|over| there.contains(over)).collect();
                }
            }
            Ok(())
        })
    }

    /// Deletes slices, once `settle` has looked at what is left of each direction.
    fn without(
        self,
        ids: &DeleteSlices<'_>,
        settle: impl Fn(Direction, &mut Vec<Slice<'static>>, &S) -> Result<(), Fault>,
    ) -> Result<(), Refusal> {
        let ids = |direction| match direction {
            Direction::Downlink => &ids.dl,
            Direction::Uplink => &ids.ul,
        };
        let mut next = self.source.slices().clone();
        for direction in Direction::BOTH {
            for id in ids(direction).iter() {
                if !self.is_there(direction, *id) {
                    return Err(Fault::NoSlice(direction, *id).into());
                }
                if !self.may_change(direction, *id) {
                    return Err(Fault::Owned(direction, *id).into());
                }
            }
            let in_direction = match direction {
                Direction::Downlink => &mut next.dl,
                Direction::Uplink => &mut next.ul,
            };
            let stays = |slice: &&Slice<'_>| !ids(direction).contains(&slice.id);
            let mut left: Vec<_> = in_direction.slices.iter().filter(stays).cloned().collect();
            settle(direction, &mut left, self.source)?;
            in_direction.slices = left.into();
        }
        self.source.set_slices(next).map_err(Refusal::BaseStation)?;
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        for ue in ues {
            let SliceAssociation { dl, ul } = self.source.slice_association(ue);
            let dl_left = dl.filter(|id| !ids(Direction::Downlink).contains(id));
            let ul_left = ul.filter(|id| !ids(Direction::Uplink).contains(id));
            if (dl_left, ul_left) != (dl, ul) {
                self.source.set_slice_association(ue, SliceAssociation { dl: dl_left, ul: ul_left });
            }
        }
        for direction in Direction::BOTH {
            ids(direction).iter().for_each(|id| self.owners.forget(direction, *id));
        }
        Ok(())
    }

    /// Moves UEs to other slices.
    pub fn associate(self, wanted: &[UeSlices]) -> Result<(), Refusal> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        let mut moves: Vec<(Ue, SliceAssociation)> = Vec::new();
        for wanted in wanted {
            let seen = |ue: &&Ue| self.source.rnti(**ue) == wanted.rnti && self.views.sees(self.controller, **ue);
            let ue = *ues.iter().find(seen).ok_or(Fault::NoUe(wanted.rnti))?;
            let now = self.source.slice_association(ue);
            let dl = self.moved(Direction::Downlink, now.dl, wanted.dl_id)?;
            let ul = self.moved(Direction::Uplink, now.ul, wanted.ul_id)?;
            moves.push((ue, SliceAssociation { dl, ul }));
        }
        moves.into_iter().for_each(|(ue, slice_association)| self.source.set_slice_association(ue, slice_association));
        Ok(())
    }

    /// The slice that a UE would be in. FlexRIC's xApps tell one for each direction, also where there are none.
    fn moved(&self, direction: Direction, now: Option<u32>, wanted: u32) -> Result<Option<u32>, Fault> {
        if of(self.source.slices(), direction).slices.is_empty() {
            return Ok(None);
        }
        let wanted = (wanted != NO_SLICE).then_some(wanted);
        if let Some(id) = wanted.filter(|id| !self.is_there(direction, *id)) {
            return Err(Fault::NoSlice(direction, id));
        }
        if wanted != now {
            // neither into another controller's slice nor out of one
            let owned = wanted.into_iter().chain(now).find(|id| !self.may_change(direction, *id));
            if let Some(id) = owned {
                return Err(Fault::Owned(direction, id));
            }
        }
        Ok(wanted)
    }
}
