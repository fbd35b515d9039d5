//! FlexRIC's statistics of MAC, RLC, PDCP and GTP, from the state of the model.
//!
//! What the model does not have (status PDUs of RLC, a second codeword) is 0. 32-bit counters wrap around, as those of a
//! base station do.

mod gtp;
mod mac;
mod pdcp;
mod rlc;
#[cfg(test)]
mod tests;

use ferric::agent::Ue;
use radio::Cell;

use crate::node::Node;

impl Node {
    /// Reads the state of a UE of the cell.
    fn with_ue(&self, ue: Ue, read: impl FnOnce(&Cell, &radio::Ue)) {
        let cell = self.cell();
        if let Some(state) = self.place(ue).and_then(|place| cell.ue(place)) {
            read(&cell, state);
        }
    }
}

/// Truncates to a 32-bit counter, which wraps around.
fn wrapped(count: u64) -> u32 {
    count as u32
}
