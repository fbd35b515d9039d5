//! Slice-level PRB quota (RC 8.4.3.6): the shares of the slices in the PRBs of a cell.

use super::known::{
    KnownParameter, ParameterFault, Shape, check, needed_if_listed, number, octets, optional, required,
};
use super::{RanParameterId, RanParameterItem};
use crate::Error;
use crate::common::{PlmnIdentity, SNssai, Sd, Sst};

/// The parameters whose IDs differ between implementations.
struct Names {
    ratio_list: KnownParameter,
    policy: KnownParameter,
    member_list: KnownParameter,
    plmn_identity: KnownParameter,
    slice: KnownParameter,
    sst: KnownParameter,
    sd: KnownParameter,
    min: KnownParameter,
    max: KnownParameter,
    dedicated: KnownParameter,
}

/// Returns the parameters; all but the first three are numbered from `first`.
macro_rules! counted_from {
    ($first:literal) => {{
        const RATIO_LIST: KnownParameter = required(1, "RRM Policy Ratio List", Shape::List(&GROUP));
        const GROUP: KnownParameter =
            required(2, "RRM Policy Ratio Group", Shape::Structure(&[POLICY, MIN, MAX, DEDICATED]));
        const POLICY: KnownParameter = required(3, "RRM Policy", Shape::Structure(&[MEMBER_LIST]));
        const MEMBER_LIST: KnownParameter = required($first, "RRM Policy Member List", Shape::List(&MEMBER));
        const MEMBER: KnownParameter =
            required($first + 1, "RRM Policy Member", Shape::Structure(&[PLMN_IDENTITY, SLICE]));
        const PLMN_IDENTITY: KnownParameter = required($first + 2, "PLMN Identity", Shape::Octets(3, 3));
        const SLICE: KnownParameter = required($first + 3, "S-NSSAI", Shape::Structure(&[SST, SD]));
        const SST: KnownParameter = required($first + 4, "SST", Shape::Octets(1, 1));
        const SD: KnownParameter = optional($first + 5, "SD", Shape::Octets(3, 3));
        const MIN: KnownParameter = needed_if_listed($first + 6, "Min PRB Policy Ratio", Shape::Number(0, 100));
        const MAX: KnownParameter = needed_if_listed($first + 7, "Max PRB Policy Ratio", Shape::Number(0, 100));
        const DEDICATED: KnownParameter =
            needed_if_listed($first + 8, "Dedicated PRB Policy Ratio", Shape::Number(0, 100));
        Names {
            ratio_list: RATIO_LIST,
            policy: POLICY,
            member_list: MEMBER_LIST,
            plmn_identity: PLMN_IDENTITY,
            slice: SLICE,
            sst: SST,
            sd: SD,
            min: MIN,
            max: MAX,
            dedicated: DEDICATED,
        }
    }};
}

/// The numbers of the specification: 4 is not used.
const STANDARD: Names = counted_from!(5);
/// The numbers of the xApps of FlexRIC and OAI: without the gap.
const WITHOUT_GAP: Names = counted_from!(4);

pub(super) const PARAMETERS: &[KnownParameter] = &[STANDARD.ratio_list];
/// With the numbers of FlexRIC.
pub(super) const PARAMETERS_WITHOUT_GAP: &[KnownParameter] = &[WITHOUT_GAP.ratio_list];
/// The parameter that only [`PARAMETERS_WITHOUT_GAP`] have.
pub(super) const GAP: RanParameterId = WITHOUT_GAP.member_list.id;

/// Slice-level PRB quota: control style 2, action 6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicePrbQuota {
    /// The quotas; slices that are not listed keep theirs.
    pub policies: Vec<RrmPolicyRatio>,
}

/// The common share of some slices (TS 28.541 4.3.36).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RrmPolicyRatio {
    /// The slices, each of a PLMN: at least one.
    pub members: Vec<RrmPolicyMember>,
    /// The guaranteed share when needed, in percent.
    pub min_percent: Option<u8>,
    /// The greatest share, in percent.
    pub max_percent: Option<u8>,
    /// The dedicated share, reserved even when not needed, in percent.
    pub dedicated_percent: Option<u8>,
}

/// A slice of a PLMN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RrmPolicyMember {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The slice.
    pub slice: SNssai,
}

impl SlicePrbQuota {
    /// Returns the quota of one slice, without a dedicated share.
    #[must_use]
    pub fn of_slice(plmn_identity: PlmnIdentity, slice: SNssai, min_percent: u8, max_percent: u8) -> Self {
        let members = vec![RrmPolicyMember { plmn_identity, slice }];
        let policy = RrmPolicyRatio {
            members,
            min_percent: Some(min_percent),
            max_percent: Some(max_percent),
            dedicated_percent: Some(0),
        };
        SlicePrbQuota { policies: vec![policy] }
    }

    /// Returns the RAN parameters, with the group of each policy and each member (RC 8.4.3.6).
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        self.numbered(&STANDARD)
    }

    /// Returns the RAN parameters with the numbers of FlexRIC.
    pub(super) fn to_parameters_without_gap(&self) -> Vec<RanParameterItem<'static>> {
        self.numbered(&WITHOUT_GAP)
    }

    fn numbered(&self, names: &Names) -> Vec<RanParameterItem<'static>> {
        let groups = self.policies.iter().map(|policy| {
            let members = policy.members.iter().map(|member| {
                let mut slice = vec![names.sst.element_of(octets(&member.slice.sst.0))];
                slice.extend(member.slice.sd.map(|sd| names.sd.element_of(octets(&sd.0))));
                let plmn_identity = names.plmn_identity.element_of(octets(&member.plmn_identity.0));
                vec![plmn_identity, names.slice.structure_of(slice)]
            });
            let ratios = [
                (&names.min, policy.min_percent),
                (&names.max, policy.max_percent),
                (&names.dedicated, policy.dedicated_percent),
            ];
            let mut group = vec![names.policy.structure_of(vec![names.member_list.list_of_items(members)])];
            group.extend(ratios.into_iter().filter_map(|(name, ratio)| Some(name.element_of(number(ratio?)))));
            group
        });
        vec![names.ratio_list.list_of_items(groups)]
    }

    /// Reads the RAN parameters, with the numbers of the specification or of FlexRIC. Some senders write a list for each policy.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, has the wrong type or is unknown; contradictory quotas.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        // the number of the member list determines the others
        let mut groups = items.chunks(1).flat_map(|list| STANDARD.ratio_list.list(list));
        let has_no_gap = |group| WITHOUT_GAP.member_list.among(STANDARD.policy.structure(group)).is_some();
        let names = if groups.any(has_no_gap) { &WITHOUT_GAP } else { &STANDARD };
        let mut policies = Vec::new();
        for list in items.chunks(1).chain(items.is_empty().then_some(items)) {
            check(&[names.ratio_list], list)?;
            let of_list = names.ratio_list.list(list).map(|group| policy(group, names));
            policies.append(&mut of_list.collect::<Result<_, _>>()?);
        }
        Ok(SlicePrbQuota { policies })
    }
}

fn policy(group: &[RanParameterItem<'_>], names: &Names) -> Result<RrmPolicyRatio, Error> {
    let members = names.member_list.list(names.policy.structure(group));
    let policy = RrmPolicyRatio {
        members: members.map(|items| member(items, names)).collect::<Result<_, _>>()?,
        min_percent: names.min.number(group)?,
        max_percent: names.max.number(group)?,
        dedicated_percent: names.dedicated.number(group)?,
    };
    // TS 28.541 4.3.36.2: dedicated <= min <= max
    let (least, most) = (policy.min_percent.unwrap_or(0), policy.max_percent.unwrap_or(100));
    if least > most {
        return Err(names.min.error(ParameterFault::OutOfRange));
    }
    if policy
        .dedicated_percent
        .is_some_and(|dedicated| dedicated > most || policy.min_percent.is_some() && dedicated > least)
    {
        return Err(names.dedicated.error(ParameterFault::OutOfRange));
    }
    Ok(policy)
}

fn member(items: &[RanParameterItem<'_>], names: &Names) -> Result<RrmPolicyMember, Error> {
    let slice = names.slice.structure(items);
    Ok(RrmPolicyMember {
        plmn_identity: PlmnIdentity(names.plmn_identity.required_octets(items)?),
        slice: SNssai { sst: Sst(names.sst.required_octets(slice)?), sd: names.sd.octets(slice)?.map(Sd) },
    })
}
