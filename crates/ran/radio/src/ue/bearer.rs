//! Data radio bearers.

use crate::rlc::{Rlc, RlcConfig};
use crate::tc::{self, TrafficControl};

/// A data radio bearer, in both directions.
#[derive(Debug)]
pub struct Bearer {
    pub(crate) id: u8,
    /// The weight of its octets in the UE scheduler; 1 is neutral.
    pub(crate) preference: f32,
    pub(crate) tc: TrafficControl,
    pub(crate) dl: Rlc,
    pub(crate) ul: Rlc,
}

impl Bearer {
    /// # Panics
    /// When the traffic control configuration is invalid; callers validate it first.
    pub(super) fn new(id: u8, tc: &tc::Configuration, rlc: RlcConfig) -> Self {
        let tc = TrafficControl::new(tc).unwrap_or_else(|refused| panic!("traffic control of a cell: {refused}"));
        Bearer { id, preference: 1.0, tc, dl: Rlc::new(rlc), ul: Rlc::new(rlc) }
    }

    /// The DRB identity.
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
        &self.dl
    }

    /// RLC of its uplink.
    #[must_use]
    pub fn uplink(&self) -> &Rlc {
        &self.ul
    }
}
