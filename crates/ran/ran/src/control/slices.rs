//! FlexRIC's SLICE model: slices and RRM policies as the model's schedulers apply them.
//!
//! The algorithm of a direction's slices selects its scheduler; the scheduler's name selects the variant: see [`SCHEDULERS`].

use std::borrow::Cow;

use e2sm::ccc::RrmPolicyMember;
use e2sm::common::{PlmnIdentity, SNssai};
use e2sm::slice::{Algorithm, DirectionSlices, NvsParameters, Parameters, SliceConfiguration};
use ferric::agent::Ue;
use ferric::e2::Time;
use radio::mac::{Positions, Quota, Reservation, ue_scheduler};
use radio::phy::Grid;
use radio::{Slicing, Subscription};
use ran_functions::kpm::KpmSource;
use ran_functions::slice::{Capacity, Direction, SliceAssociation, SliceSource};

use crate::node::{Node, selected_network, selected_slice};
use crate::scenario::{SliceRule, SlicingScenario};

/// Resource blocks of a group (TS 38.214 table 5.1.2.2.1-1, first configuration).
const GROUP_PRBS: u32 = 8;
/// The names of slice schedulers. With `NVS` other slices use the slots of a slice that has nothing to send; with
/// `NVS-PARTITION` those slots stay unused.
const SCHEDULERS: [&str; 3] = ["NVS", NVS_PARTITION, "STATIC"];
const NVS_PARTITION: &str = "NVS-PARTITION";
/// The slice algorithms of the model.
pub const ALGORITHMS: [Algorithm; 2] = [Algorithm::Static, Algorithm::Nvs];
/// Bits of a megabit.
const MEGA: f64 = 1e6;

/// The slices of a node, and those of its UEs.
#[derive(Debug, Default)]
pub struct SliceState {
    slices: SliceConfiguration<'static>,
    /// The slices of UEs, by place in the cell.
    slice_associations: Vec<SliceAssociation>,
    /// The initial slices of UEs.
    rules: Vec<SliceRule>,
}

impl SliceState {
    /// The slices of a scenario's cell.
    pub fn new(scenario: &SlicingScenario) -> Self {
        let SlicingScenario { slices, rules } = scenario.clone();
        SliceState { slices, slice_associations: Vec::new(), rules }
    }
}

/// Resource quotas of groups of UEs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuotaGroups {
    /// The members of each group, by PLMN and slice. An absent field matches any value, an empty list every UE.
    pub members: Vec<Vec<RrmPolicyMember>>,
    /// The quota of each group.
    pub quotas: Vec<Quota>,
}

impl QuotaGroups {
    /// The first group of a UE. A member without slice differentiator matches all slices of its type.
    fn group_of(&self, plmn: PlmnIdentity, slice: &SNssai) -> Option<u32> {
        let fits = |wanted: SNssai| wanted.sst == slice.sst && (wanted.sd.is_none() || wanted.sd == slice.sd);
        let is_in = |member: &RrmPolicyMember| {
            member.plmn_id.is_none_or(|wanted| wanted == plmn) && member.snssai.is_none_or(fits)
        };
        let at = self.members.iter().position(|members| members.is_empty() || members.iter().any(is_in))?;
        Some(at as u32)
    }

    /// Whether no quota reserves or limits anything.
    fn is_neutral(&self) -> bool {
        let is_neutral =
            |quota: &Quota| (quota.dedicated_percent, quota.min_percent) == (0, 0) && quota.max_percent >= 100;
        self.quotas.iter().all(is_neutral)
    }
}

/// The resource blocks of a carrier that slices divide.
pub fn capacity(grid: &Grid, direction: Direction) -> Capacity {
    let prbs = match direction {
        Direction::Downlink => grid.prbs(),
        Direction::Uplink => grid.uplink_prbs(),
    };
    let prbs = prbs.into();
    Capacity { prbs, positions: prbs.div_ceil(GROUP_PRBS) }
}

/// Converts the slices of a direction, which were checked, to the model's.
fn slicing(wanted: &DirectionSlices<'_>) -> Slicing {
    match wanted.slices.first().map(|slice| slice.parameters.algorithm()) {
        None => Slicing::None,
        Some(Algorithm::Static) => {
            let positions = |slice: &e2sm::slice::Slice<'_>| match &slice.parameters {
                Parameters::Static(at) => Positions { low: at.low, high: at.high },
                other => panic!("{:?} in a list of static slices", other.algorithm()),
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
                other => panic!("{:?} in a list of NVS slices", other.algorithm()),
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

    /// Applies the configured slices, or else the quotas of RRM policies, to the model's schedulers.
    pub fn apply_slicing(&mut self) {
        for direction in Direction::BOTH {
            let wanted = self.direction_slices(direction).clone();
            if wanted.slices.is_empty() {
                let groups = self.configuration.groups(direction);
                let slicing = if groups.is_neutral() { Slicing::None } else { Slicing::Quotas(groups.quotas.clone()) };
                let names = vec![""; if slicing == Slicing::None { 0 } else { groups.quotas.len() }];
                self.cell_mut().set_slicing(direction, slicing, &names, ue_scheduler_of(&wanted));
            } else {
                let names: Vec<&str> =
                    wanted.slices.iter().map(|slice| known_ue_scheduler(&slice.ue_scheduler)).collect();
                self.cell_mut().set_slicing(direction, slicing(&wanted), &names, ue_scheduler_of(&wanted));
            }
        }
        (0..self.contexts.len()).for_each(|place| self.assign_scheduler_group(place));
        self.assign_secondary_ues();
    }

    /// Assigns a UE to the scheduler's group of its slice, or of its RRM policy.
    pub fn assign_scheduler_group(&mut self, place: usize) {
        for direction in Direction::BOTH {
            let slices = &self.direction_slices(direction).slices;
            let slice = if slices.is_empty() {
                let Some(context) = self.contexts.get(place) else { return };
                self.configuration.groups(direction).group_of(context.plmn, &context.slice[0])
            } else {
                let slice_association = self.slices.slice_associations.get(place).copied().unwrap_or_default();
                let id = if direction == Direction::Downlink { slice_association.dl } else { slice_association.ul };
                let at = slices.iter().position(|slice| Some(slice.id) == id);
                at.map(|at| at as u32)
            };
            self.cell_mut().set_slice(place, direction, slice);
        }
    }

    /// Assigns UEs for which the cell is a secondary cell to its slices, or groups of its RRM policies, by what they have selected.
    pub fn assign_secondary_ues(&mut self) {
        let direction = Direction::Downlink;
        let slices = &self.direction_slices(direction).slices;
        let group = |subscription: &Subscription| {
            if slices.is_empty() {
                let (plmn, slice) = (selected_network(subscription), selected_slice(subscription));
                return self.configuration.groups(direction).group_of(plmn, &slice);
            }
            let id = self.slices.rules.iter().find(|rule| rule.matches(subscription)).and_then(|rule| rule.dl);
            slices.iter().position(|slice| Some(slice.id) == id).map(|at| at as u32)
        };
        let ues: Vec<_> =
            self.cell().secondary_ues().map(|(number, subscription)| (number, group(subscription))).collect();
        ues.into_iter().for_each(|(number, group)| self.cell_mut().set_secondary_slice(number, group));
    }

    /// Assigns a UE that has arrived to its initial slices.
    pub fn assign_initial_slices(&mut self, place: usize) {
        let subscription = self.cell().ue_entry(place).subscription;
        let rule = self.slices.rules.iter().find(|rule| rule.matches(&subscription));
        let slice_association = rule.map(|rule| SliceAssociation { dl: rule.dl, ul: rule.ul });
        // replaces the slices of the UE that had the place before
        self.set_slices_of(place, slice_association.unwrap_or_default());
    }

    fn set_slices_of(&mut self, place: usize, slice_association: SliceAssociation) {
        if self.slices.slice_associations.len() <= place {
            self.slices.slice_associations.resize(place + 1, SliceAssociation::default());
        }
        self.slices.slice_associations[place] = slice_association;
    }

    /// Whether slices divide a direction, so that RRM policies cannot.
    pub fn is_sliced(&self) -> bool {
        Direction::BOTH.iter().any(|direction| !self.direction_slices(*direction).slices.is_empty())
    }
}

/// The scheduler of UEs outside all slices: the direction's scheduler, if it is a UE scheduler.
fn ue_scheduler_of<'w>(wanted: &'w DirectionSlices<'_>) -> &'w str {
    known_ue_scheduler(&wanted.scheduler)
}

/// The name of a UE scheduler; empty, for the default one, if the model has none of that name.
fn known_ue_scheduler(name: &str) -> &str {
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
        ue_scheduler(name).is_some() || self.profile.accepts_unknown
    }

    fn slices(&self) -> &SliceConfiguration<'static> {
        &self.slices.slices
    }

    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>> {
        for (direction, wanted) in [(Direction::Downlink, &slices.dl), (Direction::Uplink, &slices.ul)] {
            let name = &*wanted.scheduler;
            let is_known = SCHEDULERS.contains(&name) || ue_scheduler(name).is_some();
            if !is_known && !self.profile.accepts_unknown {
                let known = SCHEDULERS.join(", ");
                return Err(format!(
                    "unknown {direction} scheduler {name}: use {known}, or RR, PF or MT for UEs outside all slices"
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
                    "{direction} scheduler {name} does not fit slices of algorithm {algorithm}: use {algorithm}"
                )
                .into());
            }
            if !wanted.slices.is_empty() && !self.configuration.groups(direction).is_neutral() {
                return Err(format!(
                    "RRM policies divide the {direction}: set their minimum and dedicated ratios to 0 and their maximum to 100 first"
                )
                .into());
            }
        }
        self.slices.slices = slices;
        self.apply_slicing();
        Ok(())
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn lists_all_ues(&self) -> bool {
        self.profile.accepts_unknown
    }

    fn rnti(&self, ue: Ue) -> u16 {
        self.rnti_of(ue)
    }

    fn slice_association(&self, ue: Ue) -> SliceAssociation {
        self.place(ue).and_then(|place| self.slices.slice_associations.get(place)).copied().unwrap_or_default()
    }

    fn set_slice_association(&mut self, ue: Ue, slice_association: SliceAssociation) {
        let Some(place) = self.place(ue) else { return };
        self.set_slices_of(place, slice_association);
        self.assign_scheduler_group(place);
    }

    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }
}
