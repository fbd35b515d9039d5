//! DRX parameter configuration (RC 8.4.3.1).

use super::RanParameterItem;
use super::known::{KnownParameter, Shape, check, number, optional, required};
use crate::Error;

const LONG_CYCLE: KnownParameter =
    required(1, "Long DRX Cycle Length", Shape::Number(0, LONG_DRX_CYCLES_MS.len() as i64 - 1));
const SHORT_CYCLE: KnownParameter =
    optional(2, "Short DRX Cycle Length", Shape::Number(0, SHORT_DRX_CYCLES_MS.len() as i64 - 1));
const SHORT_CYCLE_TIMER: KnownParameter = optional(3, "Short DRX Cycle Timer", Shape::Number(1, 16));

pub(super) const PARAMETERS: &[KnownParameter] = &[LONG_CYCLE, SHORT_CYCLE, SHORT_CYCLE_TIMER];

/// The lengths of a long DRX cycle by index, in milliseconds (TS 38.473 9.3.1.24).
pub const LONG_DRX_CYCLES_MS: [u16; 20] =
    [10, 20, 32, 40, 60, 64, 70, 80, 128, 160, 256, 320, 512, 640, 1024, 1280, 2048, 2560, 5120, 10_240];

/// The lengths of a short DRX cycle by index, in milliseconds (TS 38.473 9.3.1.24).
pub const SHORT_DRX_CYCLES_MS: [u16; 23] =
    [2, 3, 4, 5, 6, 7, 8, 10, 14, 16, 20, 30, 32, 35, 40, 64, 80, 128, 160, 256, 320, 512, 640];

/// DRX parameter configuration: control style 2, action 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drx {
    /// The long cycle, an index into [`LONG_DRX_CYCLES_MS`].
    pub long_cycle: u8,
    /// The short cycle, an index into [`SHORT_DRX_CYCLES_MS`].
    pub short_cycle: Option<u8>,
    /// The short DRX cycle timer: short cycles until the long one is used again, 1 to 16.
    pub short_cycle_timer: Option<u8>,
}

impl Drx {
    /// Returns the longest long cycle of at most `ms` milliseconds, without short cycles.
    #[must_use]
    pub fn long(cycle_ms: u16) -> Self {
        let fitting = LONG_DRX_CYCLES_MS.iter().filter(|length| **length <= cycle_ms).count();
        // 20 lengths
        Drx { long_cycle: fitting.saturating_sub(1) as u8, short_cycle: None, short_cycle_timer: None }
    }

    /// Returns the long cycle in milliseconds; `None` if the index is out of range.
    #[must_use]
    pub fn long_cycle_ms(&self) -> Option<u16> {
        LONG_DRX_CYCLES_MS.get(usize::from(self.long_cycle)).copied()
    }

    /// Returns the short cycle in milliseconds.
    #[must_use]
    pub fn short_cycle_ms(&self) -> Option<u16> {
        SHORT_DRX_CYCLES_MS.get(usize::from(self.short_cycle?)).copied()
    }

    /// Returns the RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let mut items = vec![LONG_CYCLE.element_of(number(self.long_cycle))];
        items.extend(self.short_cycle.map(|cycle| SHORT_CYCLE.element_of(number(cycle))));
        items.extend(self.short_cycle_timer.map(|timer| SHORT_CYCLE_TIMER.element_of(number(timer))));
        items
    }

    /// Reads the RAN parameters of the action.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, out of range or unknown.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        check(PARAMETERS, items)?;
        Ok(Drx {
            long_cycle: LONG_CYCLE.required_number(items)?,
            short_cycle: SHORT_CYCLE.number(items)?,
            short_cycle_timer: SHORT_CYCLE_TIMER.number(items)?,
        })
    }
}
