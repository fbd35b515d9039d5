//! SLICE, as the model's schedulers obey it.
//!
//! A direction's scheduler is chosen by its slices' algorithm; its name says the rest: see [`SCHEDULERS`].

use std::borrow::Cow;

use e2sm::ccc::RrmPolicyMember;
use e2sm::common::{PlmnIdentity, SNssai};
use e2sm::slice::{Algorithm, DirectionSlices, NvsParameters, Parameters, SliceConfiguration};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::Slicing;
use radio::mac::{Positions, Quota, Reservation, ue_scheduler};
use radio::phy::Grid;
use ran_functions::kpm::KpmSource;
use ran_functions::slice::{Capacity, Direction, SliceAssociation, SliceSource};

use crate::node::Node;
use crate::scenario::{Member, SlicingScenario};
use crate::stats::rnti;

/// Blocks of a group (TS 38.214 table 5.1.2.2.1-1, first configuration).
const GROUP_PRBS: u32 = 8;
/// Names of a direction's scheduler besides those of UE schedulers: the algorithm's own, where slots of a slice with nothing
/// to send go to others, and the same where they stay unused.
const SCHEDULERS: [&str; 3] = ["NVS", NVS_PARTITION, "STATIC"];
const NVS_PARTITION: &str = "NVS-PARTITION";
/// The algorithms that the model's schedulers have.
pub const ALGORITHMS: [Algorithm; 2] = [Algorithm::Static, Algorithm::Nvs];
/// Bits in a megabit.
const MEGA: f64 = 1e6;

/// The slices of a node, and of its UEs.
#[derive(Debug, Default)]
pub struct Slices {
    slices: SliceConfiguration<'static>,
    /// By place in the cell.
    slice_associations: Vec<SliceAssociation>,
    /// Who is in them at the beginning.
    members: Vec<Member>,
}

impl Slices {
    /// Those of a scenario's cell.
    pub fn new(scenario: &SlicingScenario) -> Self {
        let SlicingScenario { slices, members } = scenario.clone();
        Slices { slices, slice_associations: Vec::new(), members }
    }
}

/// Quotas of groups of UEs, by their slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// Who is in each: what of a member is absent may be anything, and no members at all are every UE.
    pub members: Vec<Vec<RrmPolicyMember>>,
    /// What each has.
    pub quotas: Vec<Quota>,
}

impl Groups {
    /// The first group that a UE of that network and slice is in; no slice differentiator means all of that type.
    fn of(&self, plmn: PlmnIdentity, slice: &SNssai) -> Option<u32> {
        let fits = |wanted: SNssai| wanted.sst == slice.sst && (wanted.sd.is_none() || wanted.sd == slice.sd);
        let is_in = |member: &RrmPolicyMember| {
            member.plmn_id.is_none_or(|wanted| wanted == plmn) && member.snssai.is_none_or(fits)
        };
        let at = self.members.iter().position(|members| members.is_empty() || members.iter().any(is_in))?;
        Some(at as u32)
    }

    fn is_neutral(&self) -> bool {
        let nothing =
            |quota: &Quota| (quota.dedicated_percent, quota.min_percent) == (0, 0) && quota.max_percent >= 100;
        self.quotas.iter().all(nothing)
    }
}

/// What a carrier has to be divided in a direction.
pub fn capacity(grid: &Grid, direction: Direction) -> Capacity {
    let prbs = match direction {
        Direction::Downlink => grid.prbs(),
        Direction::Uplink => grid.uplink_prbs(),
    };
    let prbs = prbs.into();
    Capacity { prbs, positions: prbs.div_ceil(GROUP_PRBS) }
}

/// The slices of a direction for the model. They were checked.
fn slicing(wanted: &DirectionSlices<'_>) -> Slicing {
    match wanted.slices.first().map(|slice| slice.parameters.algorithm()) {
        None => Slicing::None,
        Some(Algorithm::Static) => {
            let positions = |slice: &e2sm::slice::Slice<'_>| match &slice.parameters {
                Parameters::Static(at) => Positions { low: at.low, high: at.high },
                other => panic!("{:?} among fixed places", other.algorithm()),
            };
            Slicing::Static { positions: wanted.slices.iter().map(positions).collect(), group_prbs: GROUP_PRBS }
        }
        Some(Algorithm::Nvs) => {
            let reservation = |slice: &e2sm::slice::Slice<'_>| match &slice.parameters {
                Parameters::Nvs(NvsParameters::Capacity(share)) => Reservation::Capacity(share.reserved.into()),
                Parameters::Nvs(NvsParameters::Rate(rate)) => Reservation::Rate {
                    reserved_bps: f64::from(rate.required_mbps) * MEGA,
                    reference_bps: f64::from(rate.reference_mbps) * MEGA,
                },
                other => panic!("{:?} with NVS", other.algorithm()),
            };
            let is_shared = &*wanted.scheduler != NVS_PARTITION;
            Slicing::Nvs { reservations: wanted.slices.iter().map(reservation).collect(), is_shared }
        }
        Some(other) => panic!("{other} is not offered"),
    }
}

impl Node {
    fn direction_slices(&self, direction: Direction) -> &DirectionSlices<'static> {
        match direction {
            Direction::Downlink => &self.slices.slices.dl,
            Direction::Uplink => &self.slices.slices.ul,
        }
    }

    /// Has the model's schedulers do what is set: slices, or else the quotas of RRM policies.
    pub fn apply_slicing(&mut self) {
        for direction in Direction::BOTH {
            let wanted = self.direction_slices(direction).clone();
            if wanted.slices.is_empty() {
                let groups = self.configuration.groups(direction);
                let slicing = if groups.is_neutral() { Slicing::None } else { Slicing::Quotas(groups.quotas.clone()) };
                let names = vec![""; if slicing == Slicing::None { 0 } else { groups.quotas.len() }];
                self.cell_mut().set_slicing(direction, slicing, &names, ue_scheduler_of(&wanted));
            } else {
                let names: Vec<&str> = wanted.slices.iter().map(|slice| &*slice.ue_scheduler).collect();
                self.cell_mut().set_slicing(direction, slicing(&wanted), &names, ue_scheduler_of(&wanted));
            }
        }
        (0..self.facts.len()).for_each(|place| self.join_groups(place));
    }

    /// Has a UE be scheduled in the slice that it is in, or in the group of its policies.
    pub fn join_groups(&mut self, place: usize) {
        for direction in Direction::BOTH {
            let slices = &self.direction_slices(direction).slices;
            let slice = if slices.is_empty() {
                let Some(facts) = self.facts.get(place) else { return };
                self.configuration.groups(direction).of(facts.plmn, &facts.slice[0])
            } else {
                let slice_association = self.slices.slice_associations.get(place).copied().unwrap_or_default();
                let id = if direction == Direction::Downlink { slice_association.dl } else { slice_association.ul };
                let at = slices.iter().position(|slice| Some(slice.id) == id);
                at.map(|at| at as u32)
            };
            self.cell_mut().set_slice(place, direction, slice);
        }
    }

    /// Has a UE that has come be in the slices that the scenario has for it, as far as they are still there.
    pub fn begin_in_slices(&mut self, place: usize) {
        let subscription = self.cell().stay(place).subscription;
        let member = self.slices.members.iter().find(|member| member.fits(&subscription));
        let slice_association = member.map(|member| SliceAssociation { dl: member.down, ul: member.up });
        // whatever slices who had its place before was in
        self.put_into(place, slice_association.unwrap_or_default());
    }

    fn put_into(&mut self, place: usize, slice_association: SliceAssociation) {
        if self.slices.slice_associations.len() <= place {
            self.slices.slice_associations.resize(place + 1, SliceAssociation::default());
        }
        self.slices.slice_associations[place] = slice_association;
    }

    /// Why policies cannot divide a direction: slices do.
    pub fn is_sliced(&self) -> bool {
        Direction::BOTH.iter().any(|direction| !self.direction_slices(*direction).slices.is_empty())
    }
}

/// The UE scheduler of UEs in no slice: the direction's scheduler, where it is that of UEs.
fn ue_scheduler_of<'w>(wanted: &'w DirectionSlices<'_>) -> &'w str {
    let name = &*wanted.scheduler;
    if ue_scheduler(name).is_some() { name } else { "" }
}

impl SliceSource for Node {
    fn capacity(&self, direction: Direction) -> Capacity {
        capacity(self.cell().grid(), direction)
    }

    fn algorithms(&self) -> &[Algorithm] {
        &ALGORITHMS
    }

    fn has_ue_scheduler(&self, name: &str) -> bool {
        ue_scheduler(name).is_some()
    }

    fn slices(&self) -> &SliceConfiguration<'static> {
        &self.slices.slices
    }

    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>> {
        for (direction, wanted) in [(Direction::Downlink, &slices.dl), (Direction::Uplink, &slices.ul)] {
            let name = &*wanted.scheduler;
            if !SCHEDULERS.contains(&name) && ue_scheduler(name).is_none() {
                let known = SCHEDULERS.join(", ");
                return Err(format!(
                    "the {direction} has no scheduler {name}: it has {known}, and for UEs in no slice RR, PF and MT"
                )
                .into());
            }
            let other = match (name, wanted.slices.first().map(|slice| slice.parameters.algorithm())) {
                ("NVS" | NVS_PARTITION, Some(algorithm @ Algorithm::Static)) => Some(algorithm),
                ("STATIC", Some(algorithm @ Algorithm::Nvs)) => Some(algorithm),
                _ => None,
            };
            if let Some(algorithm) = other {
                return Err(format!(
                    "the {direction}'s slices are for {algorithm}, its scheduler is {name}: name it {algorithm} as well"
                )
                .into());
            }
            if !wanted.slices.is_empty() && !self.configuration.groups(direction).is_neutral() {
                return Err(format!(
                    "RRM policies divide the {direction} already: set their minimum and dedicated ratios to 0 and their maximum to 100 first"
                )
                .into());
            }
        }
        self.slices.slices = slices;
        self.apply_slicing();
        Ok(())
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn rnti(&self, ue: Ue) -> u16 {
        rnti(ue)
    }

    fn slice_association(&self, ue: Ue) -> SliceAssociation {
        self.place(ue).and_then(|place| self.slices.slice_associations.get(place)).copied().unwrap_or_default()
    }

    fn set_slice_association(&mut self, ue: Ue, slice_association: SliceAssociation) {
        let Some(place) = self.place(ue) else { return };
        self.put_into(place, slice_association);
        self.join_groups(place);
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}
