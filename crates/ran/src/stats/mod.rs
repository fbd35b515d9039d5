//! FlexRIC's models: statistics, served from the model's state; notifications of UEs that are there, and that are handed
//! over; and slices and traffic control, which are kept and told but which the model does not obey yet (what its scheduler
//! does obey are E2SM-CCC's policies and E2SM-RC's quotas).
//!
//! The model moves bits, not packets, and steps over many slots at once. So packets are [`PACKET_OCTETS`] each, a
//! transport block is what went through in a slot of the last step in the mean, and what the model does not know (HARQ
//! processes, status PDUs, segments) is 0. Counters of 32 bits wrap around, as a base station's do.

mod gtp;
mod mac;
mod pdcp;
mod rlc;
mod rrc;
mod slice;
mod tc;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;

use ferric::agent::{RanFunction, Ue};
use ferric::e2::Time;
use functions::PeriodicConfig;
use functions::kpm::KpmSource;
use functions::rrc::{RrcConfig, RrcFunction};
use functions::slice::{SliceConfig, SliceFunction};
use functions::statistics::{GtpFunction, MacFunction, PdcpFunction, RlcFunction};
use functions::tc::TcFunction;

use crate::model::{self, Counters};
use crate::node::Node;

pub use slice::Slices;

/// Octets of a packet.
const PACKET_OCTETS: u64 = 1400;
/// The first UE's C-RNTI.
const FIRST_RNTI: u16 = 0x4601;
/// The data radio bearer that each UE has.
const DRB: u8 = 1;

/// The functions of these models, on one node.
pub fn functions(node: &Rc<RefCell<Node>>, config: &PeriodicConfig) -> Vec<Box<dyn RanFunction>> {
    let (node, config) = (|| Rc::clone(node), || PeriodicConfig { function_id: None, ..config.clone() });
    vec![
        Box::new(MacFunction::new(node(), config())),
        Box::new(RlcFunction::new(node(), config())),
        Box::new(PdcpFunction::new(node(), config())),
        Box::new(GtpFunction::new(node(), config())),
        Box::new(SliceFunction::new(node(), SliceConfig { periodic: config(), ..SliceConfig::default() })),
        Box::new(TcFunction::new(node(), config())),
        Box::new(RrcFunction::new(node(), RrcConfig::default())),
    ]
}

/// A UE with what was counted of it, until now and in the last step.
struct Counted<'n> {
    ue: &'n model::Ue,
    total: Counters,
    last: Counters,
}

impl Node {
    fn all_ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn count_until(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }

    fn counted_of(&self, ue: Ue) -> Option<Counted<'_>> {
        let at = usize::try_from(ue.0).ok()?;
        let (ue, total) = self.cell.ues().get(at).zip(self.cell.counters().get(at))?;
        Some(Counted { ue, total: *total, last: self.cell.last_step(at) })
    }

    /// The model's time, in seconds.
    fn now_s(&self) -> f64 {
        self.cell.steps() as f64 * self.cell.step_s()
    }
}

/// A UE's C-RNTI: a node has at most 1024.
pub fn rnti(ue: Ue) -> u16 {
    FIRST_RNTI + ue.0 as u16
}

fn octets(bits: f64) -> u64 {
    (bits / 8.0) as u64
}

fn packets(octets: u64) -> u64 {
    octets.div_ceil(PACKET_OCTETS)
}

/// A counter of 32 bits wraps around.
fn wrapped(count: u64) -> u32 {
    count as u32
}
