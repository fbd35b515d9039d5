//! Data radio bearers.

use crate::rlc::{Rlc, RlcConfig};
use crate::tc::{self, TrafficControl};

/// A data radio bearer, both directions of it.
#[derive(Debug)]
pub struct Bearer {
    pub(crate) id: u8,
    /// Of how many others' octets one of its is worth to the scheduler.
    pub(crate) preference: f32,
    pub(crate) tc: TrafficControl,
    pub(crate) down: Rlc,
    pub(crate) up: Rlc,
}

impl Bearer {
    /// # Panics
    /// Where traffic control cannot be so: it is checked before.
    pub(super) fn new(id: u8, tc: &tc::Configuration, rlc: RlcConfig) -> Self {
        let tc = TrafficControl::new(tc).unwrap_or_else(|refused| panic!("traffic control of a cell: {refused}"));
        Bearer { id, preference: 1.0, tc, down: Rlc::new(rlc), up: Rlc::new(rlc) }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u8 {
        self.id
    }

    /// Traffic control of its downlink.
    #[must_use]
    pub fn tc(&self) -> &TrafficControl {
        &self.tc
    }

    /// RLC of its downlink.
    #[must_use]
    pub fn downlink(&self) -> &Rlc {
        &self.down
    }

    /// RLC of its uplink.
    #[must_use]
    pub fn uplink(&self) -> &Rlc {
        &self.up
    }
}
