//! Discontinuous reception in RRC_CONNECTED, as the scheduler sees it (TS 38.321 5.7): a UE receives grants and assignments in its
//! Active Time only.
//!
//! Active Time is while the on-duration timer or the inactivity timer runs, while a HARQ process waits for a retransmission, and
//! from a scheduling request until the first grant is used. The inactivity timer starts with each new transmission in either
//! direction. When it expires, short cycles follow for a number of cycles, if configured, and then long ones.

use std::fmt;
use std::time::Duration;

use crate::Time;
use crate::phy::Direction;

/// Long cycles in milliseconds (TS 38.331 DRX-Config, drx-LongCycleStartOffset).
pub const LONG_CYCLES_MS: [u16; 20] =
    [10, 20, 32, 40, 60, 64, 70, 80, 128, 160, 256, 320, 512, 640, 1024, 1280, 2048, 2560, 5120, 10_240];
/// Short cycles in milliseconds (drx-ShortCycle).
pub const SHORT_CYCLES_MS: [u16; 23] =
    [2, 3, 4, 5, 6, 7, 8, 10, 14, 16, 20, 30, 32, 35, 40, 64, 80, 128, 160, 256, 320, 512, 640];
/// On-durations in milliseconds (drx-onDurationTimer, without those below one).
pub const ON_DURATIONS_MS: [u16; 24] =
    [1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 40, 50, 60, 80, 100, 200, 300, 400, 500, 600, 800, 1000, 1200, 1600];
/// Inactivity timers in milliseconds (drx-InactivityTimer).
pub const INACTIVITY_MS: [u16; 23] =
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 40, 50, 60, 80, 100, 200, 300, 500, 750, 1280, 1920, 2560];
/// Retransmission timers in slots (drx-RetransmissionTimerDL, drx-RetransmissionTimerUL).
pub const RETRANSMISSION_SLOTS: [u16; 17] = [0, 1, 2, 4, 6, 8, 16, 24, 33, 40, 64, 80, 96, 112, 128, 160, 320];
/// The largest drx-ShortCycleTimer.
const MAX_SHORT_CYCLES: u8 = 16;

/// Short DRX cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortCycle {
    /// The cycle, one of [`SHORT_CYCLES_MS`].
    pub cycle_ms: u16,
    /// Short cycles until the long one is used, 1 to 16 (drx-ShortCycleTimer).
    pub cycles: u8,
}

/// DRX parameters of a UE (TS 38.331 DRX-Config).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrxConfig {
    /// The long cycle, one of [`LONG_CYCLES_MS`]. Default: 320.
    pub long_cycle_ms: u16,
    /// The start of the on-duration in the long cycle, less than the cycle; `None`: spread over the UEs by their numbers.
    /// Default: `None`.
    pub start_offset_ms: Option<u16>,
    /// Short cycles, of which the long cycle is a multiple. Default: none.
    pub short: Option<ShortCycle>,
    /// The on-duration, one of [`ON_DURATIONS_MS`]. Default: 10.
    pub on_duration_ms: u16,
    /// The inactivity timer, one of [`INACTIVITY_MS`]. Default: 100.
    pub inactivity_ms: u16,
    /// The retransmission timer of both directions, one of [`RETRANSMISSION_SLOTS`]. It starts when the base station could
    /// retransmit: the HARQ round trip of the cell stands for the HARQ RTT timers. Default: 16.
    pub retransmission_slots: u16,
}

impl Default for DrxConfig {
    fn default() -> Self {
        DrxConfig {
            long_cycle_ms: 320,
            start_offset_ms: None,
            short: None,
            on_duration_ms: 10,
            inactivity_ms: 100,
            retransmission_slots: 16,
        }
    }
}

/// Invalid DRX parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrxError {
    /// A parameter is none of its values.
    Value {
        /// The parameter.
        field: &'static str,
        /// Its value.
        value: u16,
        /// Its values; for a range, the first and the last.
        allowed: &'static [u16],
    },
    /// The start offset is not within the long cycle.
    Offset {
        /// The start offset.
        offset_ms: u16,
        /// The long cycle.
        long_cycle_ms: u16,
    },
    /// The long cycle is not a multiple of the short one.
    Multiple {
        /// The short cycle.
        short_cycle_ms: u16,
        /// The long cycle.
        long_cycle_ms: u16,
    },
}

impl fmt::Display for DrxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DrxError::Value { field, value, allowed } => {
                write!(f, "{field} is {value}: must be one of ")?;
                let mut values = allowed.iter();
                values.next().map_or(Ok(()), |first| write!(f, "{first}"))?;
                values.try_for_each(|value| write!(f, ", {value}"))
            }
            DrxError::Offset { offset_ms, long_cycle_ms } => {
                write!(f, "start_offset_ms is {offset_ms}: must be less than the long cycle of {long_cycle_ms} ms")
            }
            DrxError::Multiple { short_cycle_ms, long_cycle_ms } => {
                write!(
                    f,
                    "the long cycle of {long_cycle_ms} ms is not a multiple of the short one of {short_cycle_ms} ms"
                )
            }
        }
    }
}

impl std::error::Error for DrxError {}

impl DrxConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first invalid one.
    pub fn check(&self) -> Result<(), DrxError> {
        const CYCLES: &[u16] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, MAX_SHORT_CYCLES as u16];
        let one_of = |field, value: u16, allowed: &'static [u16]| {
            if allowed.contains(&value) { Ok(()) } else { Err(DrxError::Value { field, value, allowed }) }
        };
        let long_cycle_ms = self.long_cycle_ms;
        one_of("long_cycle_ms", long_cycle_ms, &LONG_CYCLES_MS)?;
        one_of("on_duration_ms", self.on_duration_ms, &ON_DURATIONS_MS)?;
        one_of("inactivity_ms", self.inactivity_ms, &INACTIVITY_MS)?;
        one_of("retransmission_slots", self.retransmission_slots, &RETRANSMISSION_SLOTS)?;
        if let Some(offset_ms) = self.start_offset_ms.filter(|offset| *offset >= long_cycle_ms) {
            return Err(DrxError::Offset { offset_ms, long_cycle_ms });
        }
        if let Some(ShortCycle { cycle_ms, cycles }) = self.short {
            one_of("short_cycle_ms", cycle_ms, &SHORT_CYCLES_MS)?;
            one_of("short_cycle_timer", cycles.into(), CYCLES)?;
            if !long_cycle_ms.is_multiple_of(cycle_ms) {
                return Err(DrxError::Multiple { short_cycle_ms: cycle_ms, long_cycle_ms });
            }
        }
        Ok(())
    }
}

fn ms(ms: u16) -> Duration {
    Duration::from_millis(ms.into())
}

/// The DRX state of a UE. A timer that does not run has [`Time::NEVER`].
#[derive(Clone, Debug)]
pub(super) struct Drx {
    config: DrxConfig,
    offset: Duration,
    /// The start of the next on-duration.
    next_on: Time,
    on_until: Time,
    inactivity_until: Time,
    short_until: Time,
    /// HARQ processes that wait for a retransmission, and until when.
    retransmissions: Vec<(Direction, u8, Time)>,
    is_request_sent: bool,
    /// The state at `updated`.
    is_awake: bool,
    updated: Time,
    awake: Duration,
}

impl Drx {
    /// Starts with the inactivity timer: the configuration itself is a transmission.
    pub fn new(config: DrxConfig, number: u64, now: Time) -> Self {
        let offset = config.start_offset_ms.unwrap_or((number % u64::from(config.long_cycle_ms.max(1))) as u16);
        let mut drx = Drx {
            config,
            offset: ms(offset),
            next_on: Time::NEVER,
            on_until: Time::NEVER,
            inactivity_until: Time::NEVER,
            short_until: Time::NEVER,
            retransmissions: Vec::new(),
            is_request_sent: false,
            is_awake: false,
            updated: now,
            awake: Duration::ZERO,
        };
        drx.next_on = drx.on_duration_at_or_after(now);
        drx.transmitted(now, Duration::ZERO);
        drx
    }

    pub fn config(&self) -> &DrxConfig {
        &self.config
    }

    /// Continues the count of the time awake.
    pub fn with_awake(self, awake: Duration) -> Self {
        Drx { awake, ..self }
    }

    fn cycle(&self) -> Duration {
        match self.config.short {
            Some(short) if self.short_until != Time::NEVER => ms(short.cycle_ms),
            _ => ms(self.config.long_cycle_ms),
        }
    }

    /// The first start of an on-duration that is not before `now`.
    fn on_duration_at_or_after(&self, now: Time) -> Time {
        let cycle = self.cycle().as_nanos().max(1) as u64;
        let offset = self.offset.as_nanos() as u64 % cycle;
        let cycles = now.as_nanos().saturating_sub(offset).div_ceil(cycle);
        Time::from_nanos(offset + cycles * cycle)
    }

    /// The next time at which a timer changes.
    fn next_change(&self) -> Time {
        let timers = [self.next_on, self.on_until, self.inactivity_until, self.short_until];
        let retransmissions = self.retransmissions.iter().map(|(_, _, until)| *until);
        timers.into_iter().chain(retransmissions).fold(Time::NEVER, Time::min)
    }

    /// Applies all timers up to `now`.
    pub fn update(&mut self, now: Time) {
        loop {
            let next = self.next_change();
            if next > now {
                break;
            }
            self.count(next);
            if self.inactivity_until <= next {
                self.inactivity_until = Time::NEVER;
                if let Some(short) = self.config.short {
                    self.short_until = next + ms(short.cycle_ms) * u32::from(short.cycles);
                    self.next_on = self.on_duration_at_or_after(next);
                }
            }
            if self.short_until <= next {
                self.short_until = Time::NEVER;
                self.next_on = self.on_duration_at_or_after(next);
            }
            if self.on_until <= next {
                self.on_until = Time::NEVER;
            }
            self.retransmissions.retain(|(_, _, until)| *until > next);
            if self.next_on <= next {
                self.on_until = next + ms(self.config.on_duration_ms);
                self.next_on = self.on_duration_at_or_after(next + Duration::from_nanos(1));
            }
            self.is_awake = self.is_active();
        }
        self.count(now);
    }

    fn count(&mut self, now: Time) {
        if self.is_awake {
            self.awake += now.since(self.updated);
        }
        self.updated = self.updated.max(now);
    }

    fn is_active(&self) -> bool {
        self.is_request_sent
            || self.on_until != Time::NEVER
            || self.inactivity_until != Time::NEVER
            || !self.retransmissions.is_empty()
    }

    /// Whether the UE is in Active Time, as of the last update.
    pub fn is_awake(&self) -> bool {
        self.is_awake
    }

    /// The time awake until `now`.
    pub fn awake(&self, now: Time) -> Duration {
        let mut until_now = self.clone();
        until_now.update(now);
        until_now.awake
    }

    /// A new transmission was assigned or granted in the slot of length `slot` that begins now.
    pub fn transmitted(&mut self, now: Time, slot: Duration) {
        self.update(now);
        self.inactivity_until = now + slot + ms(self.config.inactivity_ms);
        self.short_until = Time::NEVER;
        self.is_awake = true;
    }

    /// A HARQ process may be retransmitted from now on, in slots of length `slot`.
    pub fn wait_for_retransmission(&mut self, now: Time, (direction, process): (Direction, u8), slot: Duration) {
        self.update(now);
        let until = now + slot * u32::from(self.config.retransmission_slots);
        self.retransmissions.retain(|(other, number, _)| (*other, *number) != (direction, process));
        if until > now {
            self.retransmissions.push((direction, process, until));
        }
        self.is_awake = self.is_active();
    }

    /// A HARQ process is used again.
    pub fn retransmitted(&mut self, now: Time, (direction, process): (Direction, u8)) {
        self.update(now);
        self.retransmissions.retain(|(other, number, _)| (*other, *number) != (direction, process));
        self.is_awake = self.is_active();
    }

    /// The UE sends a scheduling request, or uses the grant that answers it.
    pub fn set_request_sent(&mut self, now: Time, is_sent: bool) {
        self.update(now);
        self.is_request_sent = is_sent;
        self.is_awake = self.is_active();
    }
}

#[cfg(test)]
mod tests;
