//! SLICE: what is set is kept and told. The model's scheduler does not obey it.

use std::borrow::Cow;

use e2sm::slice::{Algorithm, SliceConfiguration};
use ferric::agent::Ue;
use functions::slice::{Capacity, Direction, Membership, SliceSource};

use super::rnti;
use crate::model::PRBS;
use crate::node::Node;

/// Blocks of a group (TS 38.214 table 5.1.2.2.1-1, first configuration).
const GROUP_PRBS: u32 = 8;
const UE_SCHEDULERS: [&str; 3] = ["RR", "PF", "MT"];

/// The slices of a node, and of its UEs.
#[derive(Debug)]
pub struct Slices {
    slices: SliceConfiguration<'static>,
    memberships: Vec<Membership>,
}

impl Slices {
    pub fn new(ues: u16) -> Self {
        let memberships = vec![Membership::default(); ues.into()];
        Slices { slices: SliceConfiguration::default(), memberships }
    }
}

impl SliceSource for Node {
    fn capacity(&self, _direction: Direction) -> Capacity {
        Capacity { prbs: PRBS, positions: PRBS.div_ceil(GROUP_PRBS) }
    }

    fn algorithms(&self) -> &[Algorithm] {
        &[Algorithm::Static, Algorithm::Nvs, Algorithm::Scn19, Algorithm::Edf]
    }

    fn has_ue_scheduler(&self, name: &str) -> bool {
        UE_SCHEDULERS.contains(&name)
    }

    fn slices(&self) -> &SliceConfiguration<'static> {
        &self.slices.slices
    }

    fn set_slices(&mut self, slices: SliceConfiguration<'static>) -> Result<(), Cow<'static, str>> {
        self.slices.slices = slices;
        Ok(())
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn rnti(&self, ue: Ue) -> u16 {
        rnti(ue)
    }

    fn membership(&self, ue: Ue) -> Membership {
        self.slices.memberships.get(ue.0 as usize).copied().unwrap_or_default()
    }

    fn set_membership(&mut self, ue: Ue, membership: Membership) {
        if let Some(there) = self.slices.memberships.get_mut(ue.0 as usize) {
            *there = membership;
        }
    }
}
