//! RRM policies of a tenant: the shares of its network slices in the PRBs of a cell (TS 28.541 4.3.36), set by the slice-level PRB
//! quota of E2SM-RC (8.4.3.6) for all cells of a base station, or by O-RRMPolicyRatio of E2SM-CCC for one.
//!
//! A tenant sets them as if the cell were its own. Towards the base station, with the tenant's share of the cell, q:
//!
//! - minimum and dedicated ratio are multiplied by q and rounded down, so that those of a tenant never exceed q in total;
//! - a maximum ratio below 100 % is multiplied by q and rounded up; 100 % stays: such a slice may use what others leave, as a slice
//!   of the SLICE model may.

use std::fmt;

use e2sm::ccc;
use e2sm::common::{Cgi, PlmnIdentity, SNssai};
use e2sm::rc::{RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota};
use ferric::e2ap::CauseRicRequest;

use crate::sla::Sla;

/// The maximum number of policies of a tenant in a base station.
pub const MAX_POLICIES: usize = 64;
/// Rounding errors of products with a share.
const ROUNDING: f64 = 1e-9;

/// The policies of a tenant, as its controller has set them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    all: Vec<RrmPolicyRatio>,
}

/// Why a quota is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyRefusal {
    /// A member has UEs of others, or may have some.
    Foreign(PlmnIdentity, Option<SNssai>),
    /// A policy without members concerns all UEs of the base station.
    NoMembers,
    /// The minimum ratios exceed the virtual cell; their sum in percent.
    OverCapacity(u32),
    /// There would be more than [`MAX_POLICIES`].
    TooMany,
}

impl PolicyRefusal {
    /// The cause in E2AP.
    #[must_use]
    pub fn cause(&self) -> CauseRicRequest {
        match self {
            PolicyRefusal::OverCapacity(_) | PolicyRefusal::TooMany => CauseRicRequest::FunctionResourceLimit,
            PolicyRefusal::Foreign(..) => CauseRicRequest::ControlFailedToExecute,
            PolicyRefusal::NoMembers => CauseRicRequest::ControlMessageInvalid,
        }
    }
}

impl fmt::Display for PolicyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyRefusal::Foreign(plmn, Some(slice)) => {
                write!(f, "slice {slice} of PLMN {plmn} does not belong to this network alone")
            }
            PolicyRefusal::Foreign(plmn, None) => write!(f, "PLMN {plmn} does not belong to this network alone"),
            PolicyRefusal::NoMembers => f.write_str("a policy needs members"),
            PolicyRefusal::OverCapacity(total) => {
                write!(f, "the minimum ratios would take {total} % of the virtual cell")
            }
            PolicyRefusal::TooMany => write!(f, "there would be more than {MAX_POLICIES} policies"),
        }
    }
}

/// Whether one of the UEs that a member matches may have a network slice. A member without a slice differentiator matches all slices
/// of its type.
fn overlap(member: SNssai, slice: SNssai) -> bool {
    member.sst == slice.sst && (member.sd.is_none() || slice.sd.is_none() || member.sd == slice.sd)
}

/// Checks that the UEs of a PLMN, or of a network slice of it, are those of a tenant only.
fn check_member(plmn: PlmnIdentity, slice: Option<SNssai>, sla: &Sla, tenant: usize) -> Result<(), PolicyRefusal> {
    let own = &sla.tenants[tenant];
    let is_own_slice = own.s_nssais.is_empty() || slice.is_some_and(|slice| own.s_nssais.contains(&slice));
    let others = sla.tenants.iter().enumerate().filter(|(at, other)| *at != tenant && other.plmn == own.plmn);
    let mut slices = others.flat_map(|(_, other)| &other.s_nssais);
    let is_shared = slices.any(|other| slice.is_none_or(|slice| overlap(slice, *other)));
    if own.plmn != plmn || !is_own_slice || is_shared {
        return Err(PolicyRefusal::Foreign(plmn, slice));
    }
    Ok(())
}

/// Returns the members of a policy of a tenant, as the base station gets them: each with the PLMN. In the tenant's network, an absent
/// PLMN is its own.
///
/// # Errors
/// If there are none, or one may have UEs of others.
pub fn own_members(
    members: &[ccc::RrmPolicyMember],
    sla: &Sla,
    tenant: usize,
) -> Result<Vec<ccc::RrmPolicyMember>, PolicyRefusal> {
    if members.is_empty() {
        return Err(PolicyRefusal::NoMembers);
    }
    let own = |member: &ccc::RrmPolicyMember| {
        let plmn = member.plmn_id.unwrap_or(sla.tenants[tenant].plmn);
        check_member(plmn, member.snssai, sla, tenant)?;
        Ok(ccc::RrmPolicyMember { plmn_id: Some(plmn), snssai: member.snssai })
    };
    members.iter().map(own).collect()
}

fn scaled_down(percent: u8, share: f64) -> u8 {
    // at most 100, as the share is at most 1
    (f64::from(percent) * share + ROUNDING).floor() as u8
}

fn scaled_up(percent: u8, share: f64) -> u8 {
    if percent >= 100 { percent } else { (f64::from(percent) * share - ROUNDING).ceil() as u8 }
}

fn scaled(policy: &RrmPolicyRatio, share: f64) -> RrmPolicyRatio {
    RrmPolicyRatio {
        members: policy.members.clone(),
        min_percent: policy.min_percent.map(|percent| scaled_down(percent, share)),
        max_percent: policy.max_percent.map(|percent| scaled_up(percent, share)),
        dedicated_percent: policy.dedicated_percent.map(|percent| scaled_down(percent, share)),
    }
}

/// Returns a policy of a tenant with a share of the cell, towards the base station.
#[must_use]
pub fn scaled_ratio(policy: &ccc::RrmPolicyRatio, share: f64) -> ccc::RrmPolicyRatio {
    ccc::RrmPolicyRatio {
        rrm_policy_max_ratio: policy.rrm_policy_max_ratio.map(|percent| scaled_up(percent, share)),
        rrm_policy_min_ratio: policy.rrm_policy_min_ratio.map(|percent| scaled_down(percent, share)),
        rrm_policy_dedicated_ratio: policy.rrm_policy_dedicated_ratio.map(|percent| scaled_down(percent, share)),
        ..policy.clone()
    }
}

impl Policies {
    /// Returns the policies after a quota of a tenant that has policies of `cells`.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub fn after(
        &self,
        quota: &SlicePrbQuota,
        cells: &CellPolicies,
        sla: &Sla,
        tenant: usize,
    ) -> Result<Policies, PolicyRefusal> {
        let mut next = self.clone();
        for policy in &quota.policies {
            if policy.members.is_empty() {
                return Err(PolicyRefusal::NoMembers);
            }
            let check = |member: &RrmPolicyMember| check_member(member.plmn_identity, Some(member.slice), sla, tenant);
            policy.members.iter().try_for_each(check)?;
            match next.all.iter_mut().find(|known| known.members == policy.members) {
                Some(known) => {
                    known.min_percent = policy.min_percent.or(known.min_percent);
                    known.max_percent = policy.max_percent.or(known.max_percent);
                    known.dedicated_percent = policy.dedicated_percent.or(known.dedicated_percent);
                }
                None => next.all.push(policy.clone()),
            }
        }
        let total = next.reserved_percent() + cells.reserved_percent();
        if total > 100 {
            return Err(PolicyRefusal::OverCapacity(total));
        }
        if next.all.len() > MAX_POLICIES {
            return Err(PolicyRefusal::TooMany);
        }
        Ok(next)
    }

    /// The sum of the minimum ratios.
    fn reserved_percent(&self) -> u32 {
        self.all.iter().map(|policy| u32::from(policy.min_percent.unwrap_or(0))).sum()
    }

    /// Returns a quota of a tenant with a share of the cell, towards the base station.
    #[must_use]
    pub fn physical(quota: &SlicePrbQuota, share: f64) -> SlicePrbQuota {
        SlicePrbQuota { policies: quota.policies.iter().map(|policy| scaled(policy, share)).collect() }
    }

    /// Returns the part of a policy that the base station reports, as the tenant has set it; `None` if it has set none.
    #[must_use]
    pub fn of_tenant(&self, reported: &ccc::RrmPolicyRatio) -> Option<ccc::RrmPolicyRatio> {
        let member = |member: &ccc::RrmPolicyMember| {
            Some(RrmPolicyMember { plmn_identity: member.plmn_id?, slice: member.snssai? })
        };
        let members: Option<Vec<_>> = reported.rrm_policy_member_list.as_ref()?.iter().map(member).collect();
        let members = members?;
        let own = self.all.iter().find(|policy| policy.members == members)?;
        Some(ccc::RrmPolicyRatio {
            rrm_policy_max_ratio: reported.rrm_policy_max_ratio.and(own.max_percent),
            rrm_policy_min_ratio: reported.rrm_policy_min_ratio.and(own.min_percent),
            rrm_policy_dedicated_ratio: reported.rrm_policy_dedicated_ratio.and(own.dedicated_percent),
            ..reported.clone()
        })
    }

    /// Returns the quota that sets all policies; `None` if there are none.
    #[must_use]
    pub fn all(&self) -> Option<SlicePrbQuota> {
        (!self.all.is_empty()).then(|| SlicePrbQuota { policies: self.all.clone() })
    }

    /// Returns the quota without effect on the same members: it undoes the policies. `None` if there are none.
    #[must_use]
    pub fn neutral(&self) -> Option<SlicePrbQuota> {
        let neutral = |policy: &RrmPolicyRatio| RrmPolicyRatio {
            members: policy.members.clone(),
            min_percent: Some(0),
            max_percent: Some(100),
            dedicated_percent: Some(0),
        };
        let policies: Vec<_> = self.all.iter().map(neutral).collect();
        (!policies.is_empty()).then_some(SlicePrbQuota { policies })
    }
}

/// The policies of a tenant for single cells, as its controller has set them, with all members named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellPolicies {
    all: Vec<(Cgi, ccc::RrmPolicyRatio)>,
}

impl CellPolicies {
    fn place(&self, cell: Cgi, policy: &ccc::RrmPolicyRatio) -> Option<usize> {
        let key = |policy: &ccc::RrmPolicyRatio| (policy.resource_type, policy.rrm_policy_member_list.clone());
        self.all.iter().position(|(of, known)| *of == cell && key(known) == key(policy))
    }

    /// Returns the policy of a cell for a resource and these members.
    #[must_use]
    pub fn find(
        &self,
        cell: Cgi,
        resource: ccc::ResourceType,
        members: &[ccc::RrmPolicyMember],
    ) -> Option<&ccc::RrmPolicyRatio> {
        let is_same = |policy: &ccc::RrmPolicyRatio| {
            policy.resource_type == Some(resource) && policy.rrm_policy_member_list.as_deref() == Some(members)
        };
        self.all.iter().find(|(of, policy)| *of == cell && is_same(policy)).map(|(_, policy)| policy)
    }

    /// Sets a policy of a cell, for a tenant that has `quotas` beside it.
    ///
    /// # Errors
    /// If the minimum ratios exceed the virtual cell, or there are too many policies.
    pub fn set(&mut self, cell: Cgi, policy: ccc::RrmPolicyRatio, quotas: &Policies) -> Result<(), PolicyRefusal> {
        match self.place(cell, &policy) {
            Some(at) => self.all[at].1 = policy,
            None => self.all.push((cell, policy)),
        }
        let total = self.reserved_percent() + quotas.reserved_percent();
        if total > 100 {
            return Err(PolicyRefusal::OverCapacity(total));
        }
        if self.all.len() > MAX_POLICIES {
            return Err(PolicyRefusal::TooMany);
        }
        Ok(())
    }

    /// Takes over from `next` the policy of which the base station reports a part with its key.
    pub fn adopt(&mut self, cell: Cgi, reported: &ccc::RrmPolicyRatio, next: &CellPolicies) {
        let Some(policy) = next.place(cell, reported).map(|at| next.all[at].1.clone()) else { return };
        match self.place(cell, &policy) {
            Some(at) => self.all[at].1 = policy,
            None => self.all.push((cell, policy)),
        }
    }

    /// Returns the part of a policy that the base station reports, as the tenant has set it; `None` if it has set none.
    #[must_use]
    pub fn of_tenant(&self, cell: Cgi, reported: &ccc::RrmPolicyRatio) -> Option<ccc::RrmPolicyRatio> {
        let own = &self.all[self.place(cell, reported)?].1;
        Some(ccc::RrmPolicyRatio {
            rrm_policy_max_ratio: reported.rrm_policy_max_ratio.and(own.rrm_policy_max_ratio),
            rrm_policy_min_ratio: reported.rrm_policy_min_ratio.and(own.rrm_policy_min_ratio),
            rrm_policy_dedicated_ratio: reported.rrm_policy_dedicated_ratio.and(own.rrm_policy_dedicated_ratio),
            ..reported.clone()
        })
    }

    /// The sum of the minimum ratios, of the cell and resource where it is greatest.
    fn reserved_percent(&self) -> u32 {
        let of = |cell: Cgi, resource| {
            let same = self.all.iter().filter(|(of, policy)| *of == cell && policy.resource_type == resource);
            same.map(|(_, policy)| u32::from(policy.rrm_policy_min_ratio.unwrap_or(0))).sum()
        };
        self.all.iter().map(|(cell, policy)| of(*cell, policy.resource_type)).max().unwrap_or(0)
    }

    /// Returns all policies of a tenant with a share of each cell, towards the base station.
    #[must_use]
    pub fn physical(&self, share: f64) -> Vec<(Cgi, ccc::RrmPolicyRatio)> {
        self.all.iter().map(|(cell, policy)| (*cell, scaled_ratio(policy, share))).collect()
    }

    /// Returns the policies without effect for the same members: they undo the policies.
    #[must_use]
    pub fn neutral(&self) -> Vec<(Cgi, ccc::RrmPolicyRatio)> {
        let neutral = |policy: &ccc::RrmPolicyRatio| ccc::RrmPolicyRatio {
            rrm_policy_max_ratio: Some(100),
            rrm_policy_min_ratio: Some(0),
            rrm_policy_dedicated_ratio: Some(0),
            ..policy.clone()
        };
        self.all.iter().map(|(cell, policy)| (*cell, neutral(policy))).collect()
    }
}

#[cfg(test)]
mod tests;
