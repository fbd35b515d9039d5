//! Quotas of network slices: RRM policy ratios (TS 28.541 4.3.36), by E2SM-RC or E2SM-CCC.

use std::time::{Duration, Instant};

use e2sm::ccc;
use e2sm::rc::{Control, ControlAction, RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota};

use super::configuration;
use super::control::{self, Answer, Encoded};
use super::core::Core;
use super::error::Error;
use super::names::NetworkSlice;
use super::node::NodeEntry;
use super::resolve::{IntoName, name};
use super::ric::{Handle, Node, Ric};

/// The measurement that shows a quota, and the period in which it is observed.
const SHARE: (&str, u32) = ("RRU.PrbTotDl", 200);
/// What a share may be above its quota, in percentage points: a slot is divided in whole resource blocks.
const TOLERANCE: f64 = 2.0;

/// The shares of a network slice in the resource blocks of a cell, in percent: dedicated <= min <= max.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The share that it gets if it has data. Default: 0.
    pub min_percent: u8,
    /// The most that it gets. Default: 100.
    pub max_percent: u8,
    /// The share that stays reserved without data. Default: 0.
    pub dedicated_percent: u8,
}

impl Default for Quota {
    fn default() -> Self {
        Quota { min_percent: 0, max_percent: 100, dedicated_percent: 0 }
    }
}

impl Quota {
    fn check(&self) -> Result<(), Error> {
        let Quota { min_percent, max_percent, dedicated_percent } = *self;
        if max_percent > 100 {
            return Err(Error::invalid("max_percent", max_percent, "0 to 100"));
        }
        if min_percent > max_percent {
            return Err(Error::invalid("min_percent", min_percent, format!("at most max_percent, {max_percent}")));
        }
        if dedicated_percent > min_percent {
            let expected = format!("at most min_percent, {min_percent}");
            return Err(Error::invalid("dedicated_percent", dedicated_percent, expected));
        }
        Ok(())
    }
}

impl Ric {
    /// Sets the quota of a network slice at every node that offers it (E2SM-RC 8.4.3.6, or E2SM-CCC).
    ///
    /// # Errors
    /// [`Error::Invalid`] with the parameter, [`Error::NotOffered`], [`Error::Refused`].
    pub fn quota(&self, slice: impl IntoName<NetworkSlice>, quota: Quota) -> Result<Vec<Answer>, Error> {
        self.handle().quota(None, name(slice)?, quota)
    }
}

impl Node {
    /// Sets the quota of a network slice at this node.
    ///
    /// # Errors
    /// As [`Ric::quota`].
    pub fn quota(&self, slice: impl IntoName<NetworkSlice>, quota: Quota) -> Result<Vec<Answer>, Error> {
        self.handle().quota(Some(self.name()), name(slice)?, quota)
    }
}

impl Handle {
    fn quota(&self, node: Option<String>, slice: NetworkSlice, quota: Quota) -> Result<Vec<Answer>, Error> {
        quota.check()?;
        let encode = move |core: &Core, node: &NodeEntry| encode(core, node, slice, quota);
        let answers = self.control_nodes("quotas of network slices", node, encode)?;
        if let Some(within) = self.verify {
            for answer in &answers {
                self.verify_quota(&answer.node, slice, quota, within)?;
            }
        }
        Ok(answers)
    }

    /// Waits until a report shows that the slice uses no more than its quota.
    fn verify_quota(&self, node: &str, slice: NetworkSlice, quota: Quota, within: Duration) -> Result<(), Error> {
        let until = Instant::now() + within;
        let (measurement, period_ms) = SHARE;
        let mut records = Ric::of(self).kpm([measurement]).slice(slice).node(node).every(period_ms)?;
        let mut last = None;
        while let Ok(Some(record)) = records.next_within(until.saturating_duration_since(Instant::now())) {
            let Some(share) = record.number(measurement) else { continue };
            if share <= f64::from(quota.max_percent) + TOLERANCE {
                return Ok(());
            }
            last = Some(share);
        }
        let what = match last {
            Some(share) => format!("slice {slice} uses {share:.0} % of the cell, more than {} %", quota.max_percent),
            None => format!("no report of {measurement} of slice {slice}"),
        };
        Err(Error::Unverified { node: node.to_owned(), what })
    }
}

fn encode(core: &Core, node: &NodeEntry, slice: NetworkSlice, quota: Quota) -> Result<Option<Encoded>, Error> {
    if control::offers(node, ControlAction::SLICE_PRB_QUOTA) {
        let policy = RrmPolicyRatio {
            members: vec![RrmPolicyMember { plmn_identity: node.global_id.plmn_identity(), slice: slice.0 }],
            min_percent: Some(quota.min_percent),
            max_percent: Some(quota.max_percent),
            dedicated_percent: Some(quota.dedicated_percent),
        };
        let action = ControlAction::SlicePrbQuota(SlicePrbQuota { policies: vec![policy] });
        // some nodes require a UE that they know
        let control = match core.directory.any_ue_id(node.id) {
            Some(ue_id) => Control::of_ue(ue_id, action),
            None => Control::of_cell(action),
        };
        return control::encode_rc(node, &control).map(Some);
    }
    let member = ccc::RrmPolicyMember { plmn_id: Some(node.global_id.plmn_identity()), snssai: Some(slice.0) };
    let policy = ccc::RanConfigurationStructure::RrmPolicyRatio(ccc::RrmPolicyRatio {
        resource_type: Some(ccc::ResourceType::PrbDl),
        rrm_policy_member_list: Some(vec![member]),
        rrm_policy_max_ratio: Some(quota.max_percent),
        rrm_policy_min_ratio: Some(quota.min_percent),
        rrm_policy_dedicated_ratio: Some(quota.dedicated_percent),
    });
    configuration::encode(node, &[policy])
}
