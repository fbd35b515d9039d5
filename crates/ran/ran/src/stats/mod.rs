//! FlexRIC's statistics, served from the model's state, and notifications of UEs that are there, that come and that go.
//!
//! What the model does not know (status PDUs of RLC, a second codeword) is 0. Counters of 32 bits wrap around, as a base
//! station's do.

mod gtp;
mod mac;
mod pdcp;
mod rlc;
mod rrc;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;

use ferric::agent::{RanFunction, Ue};
use ferric::e2::Time;
use radio::Cell;
use ran_functions::PeriodicConfig;
use ran_functions::kpm::KpmSource;
use ran_functions::rrc::{RrcConfig, RrcFunction};
use ran_functions::slice::{SliceConfig, SliceFunction};
use ran_functions::statistics::{GtpFunction, MacFunction, PdcpFunction, RlcFunction};
use ran_functions::tc::TcFunction;

use crate::node::{Node, place_of};

/// The first UE's C-RNTI.
const FIRST_RNTI: u16 = 0x4601;
/// The functions of these models, on one node.
pub fn functions(node: &Rc<RefCell<Node>>, config: &PeriodicConfig) -> Vec<Box<dyn RanFunction>> {
    let part = node.borrow().part;
    let (node, config) = (|| Rc::clone(node), || PeriodicConfig { function_id: None, ..config.clone() });
    let mut functions: Vec<Box<dyn RanFunction>> = Vec::new();
    if part.has_mac() {
        functions.push(Box::new(MacFunction::new(node(), config())));
        functions.push(Box::new(RlcFunction::new(node(), config())));
    }
    if part.has_pdcp() {
        functions.push(Box::new(PdcpFunction::new(node(), config())));
        functions.push(Box::new(GtpFunction::new(node(), config())));
    }
    if part.has_mac() {
        let config = SliceConfig { periodic: config(), ..SliceConfig::default() };
        functions.push(Box::new(SliceFunction::new(node(), config)));
    }
    if part.has_pdcp() {
        functions.push(Box::new(TcFunction::new(node(), config())));
    }
    if part.has_rrc() {
        functions.push(Box::new(RrcFunction::new(node(), RrcConfig::default())));
    }
    functions
}

impl Node {
    pub(crate) fn all_ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn count_until(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }

    /// A UE that is there, in the model.
    fn with_ue(&self, ue: Ue, tell: impl FnOnce(&Cell, &radio::Ue)) {
        let cell = self.cell();
        if let Some(there) = self.place(ue).and_then(|place| cell.ue(place)) {
            tell(&cell, there);
        }
    }
}

/// A UE's C-RNTI, by its place: a cell has at most [`radio::MAX_PLACES`], and gives them again only after [`radio::REST`].
pub fn rnti(ue: Ue) -> u16 {
    FIRST_RNTI + place_of(ue) as u16
}

/// A counter of 32 bits wraps around.
fn wrapped(count: u64) -> u32 {
    count as u32
}
