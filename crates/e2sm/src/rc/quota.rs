//! Slice-level PRB quota (RC 8.4.3.6): which share of the resource blocks the slices get.

use super::fields::{Name, ParameterFault, integer, octets, only};
use super::{RanParameterItem, RanParameterValueType};
use crate::Error;
use crate::common::{PlmnIdentity, SNssai, Sd, Sst};

const RATIO_LIST: Name = Name(1, "RRM Policy Ratio List");
const RATIO_GROUP: Name = Name(2, "RRM Policy Ratio Group");
const POLICY: Name = Name(3, "RRM Policy");
const SLICE: Name = Name(8, "S-NSSAI");
const MIN_RATIO: Name = Name(11, "Min PRB Policy Ratio");
const MAX_RATIO: Name = Name(12, "Max PRB Policy Ratio");
const DEDICATED_RATIO: Name = Name(13, "Dedicated PRB Policy Ratio");

/// The names of the parameters whose numbers are not the same everywhere.
#[derive(Clone, Copy)]
struct Names {
    member_list: Name,
    member: Name,
    plmn_identity: Name,
    slice: Name,
    sst: Name,
    sd: Name,
    min: Name,
    max: Name,
    dedicated: Name,
}

/// As the specification has them: 4 is not used.
const STANDARD: Names = Names {
    member_list: Name(5, "RRM Policy Member List"),
    member: Name(6, "RRM Policy Member"),
    plmn_identity: Name(7, "PLMN Identity"),
    slice: SLICE,
    sst: Name(9, "SST"),
    sd: Name(10, "SD"),
    min: MIN_RATIO,
    max: MAX_RATIO,
    dedicated: DEDICATED_RATIO,
};

/// As FlexRIC's and OAI's xApps count them: without the gap.
const WITHOUT_GAP: Names = Names {
    member_list: Name(4, "RRM Policy Member List"),
    member: Name(5, "RRM Policy Member"),
    plmn_identity: Name(6, "PLMN Identity"),
    slice: Name(7, "S-NSSAI"),
    sst: Name(8, "SST"),
    sd: Name(9, "SD"),
    min: Name(10, "Min PRB Policy Ratio"),
    max: Name(11, "Max PRB Policy Ratio"),
    dedicated: Name(12, "Dedicated PRB Policy Ratio"),
};

/// Slice-level PRB quota: control style 2, action 6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicePrbQuota {
    /// The quotas; what is not named keeps its own.
    pub policies: Vec<RrmPolicyRatio>,
}

/// The share that some slices have together (TS 28.541 4.3.36).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RrmPolicyRatio {
    /// The slices, each in its network: one at least.
    pub members: Vec<RrmPolicyMember>,
    /// What they get at least when they need it, in percent.
    pub min_percent: Option<u8>,
    /// What they get at most, in percent.
    pub max_percent: Option<u8>,
    /// What is kept for them though they do not need it, in percent.
    pub dedicated_percent: Option<u8>,
}

/// A slice in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RrmPolicyMember {
    /// The network.
    pub plmn_identity: PlmnIdentity,
    /// The slice.
    pub slice: SNssai,
}

impl SlicePrbQuota {
    /// The quota of one slice.
    #[must_use]
    pub fn of_slice(plmn_identity: PlmnIdentity, slice: SNssai, min_percent: u8, max_percent: u8) -> Self {
        let members = vec![RrmPolicyMember { plmn_identity, slice }];
        let policy = RrmPolicyRatio {
            members,
            min_percent: Some(min_percent),
            max_percent: Some(max_percent),
            dedicated_percent: None,
        };
        SlicePrbQuota { policies: vec![policy] }
    }

    /// The RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let names = STANDARD;
        let groups = self.policies.iter().map(|policy| {
            let members = policy.members.iter().map(|member| {
                let mut slice = vec![names.sst.element(octets(&member.slice.sst.0))];
                slice.extend(member.slice.sd.map(|sd| names.sd.element(octets(&sd.0))));
                vec![names.plmn_identity.element(octets(&member.plmn_identity.0)), names.slice.structure_of(slice)]
            });
            let ratios = [
                (names.min, policy.min_percent),
                (names.max, policy.max_percent),
                (names.dedicated, policy.dedicated_percent),
            ];
            let mut group = vec![POLICY.structure_of(vec![names.member_list.list_of(members)])];
            group.extend(ratios.into_iter().filter_map(|(name, ratio)| Some(name.element(integer(ratio?)))));
            group
        });
        vec![RATIO_LIST.list_of(groups)]
    }

    /// Reads the RAN parameters, as the specification numbers them and as FlexRIC does.
    ///
    /// # Errors
    /// [`Error::Parameter`]: what is missing, not what it should be, or unknown; quotas that contradict themselves.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        only(items, &[RATIO_LIST])?;
        let groups = RATIO_LIST.list(RATIO_LIST.required(items)?, RATIO_GROUP)?;
        Ok(SlicePrbQuota { policies: groups.map(policy).collect::<Result<_, _>>()? })
    }
}

fn policy(group: &[RanParameterItem<'_>]) -> Result<RrmPolicyRatio, Error> {
    let policy = POLICY.structure(POLICY.required(group)?)?;
    // the member list's number tells how the others are counted
    let names = if WITHOUT_GAP.member_list.among(policy).is_some() { WITHOUT_GAP } else { STANDARD };
    only(policy, &[names.member_list])?;
    only(group, &[POLICY, names.min, names.max, names.dedicated])?;
    let members = names.member_list.list(names.member_list.required(policy)?, names.member)?;
    let ratio = |name: Name| name.among(group).map(|value| name.integer(value, 0u8, 100)).transpose();
    let policy = RrmPolicyRatio {
        members: members.map(|items| member(items, names)).collect::<Result<_, _>>()?,
        min_percent: ratio(names.min)?,
        max_percent: ratio(names.max)?,
        dedicated_percent: ratio(names.dedicated)?,
    };
    // TS 28.541 4.3.36.2: dedicated is within min, and min within max
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

fn member(items: &[RanParameterItem<'_>], names: Names) -> Result<RrmPolicyMember, Error> {
    only(items, &[names.plmn_identity, names.slice])?;
    let slice = names.slice.structure(names.slice.required(items)?)?;
    only(slice, &[names.sst, names.sd])?;
    let sd = |value: &RanParameterValueType<'_>| names.sd.octets(value).map(Sd);
    Ok(RrmPolicyMember {
        plmn_identity: PlmnIdentity(names.plmn_identity.octets(names.plmn_identity.required(items)?)?),
        slice: SNssai {
            sst: Sst(names.sst.octets(names.sst.required(slice)?)?),
            sd: names.sd.among(slice).map(sd).transpose()?,
        },
    })
}
