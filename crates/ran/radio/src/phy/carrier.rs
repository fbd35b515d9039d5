//! A carrier: its configuration, and the grid of slots and PRBs that follows from it.

use std::fmt;
use std::time::Duration;

use super::bandwidth;
use super::duplex::{Duplex, SlotKind, TddPattern};
use super::mcs::McsTable;

/// The radio access technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rat {
    /// 4G.
    Lte,
    /// 5G.
    Nr,
}

/// What a carrier is like. [`Carrier::check`] makes a [`Grid`] of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// The technology. NR.
    pub rat: Rat,
    /// The bandwidth, of those that TS 36.104 5.6 and TS 38.101-1 5.3.2 have. 40 MHz.
    pub bandwidth_mhz: f64,
    /// Subcarriers are 15 kHz times two to the power of this apart, slots one millisecond over that long (TS 38.211 4.2):
    /// 0 to 2 with NR below 7.125 GHz, 0 with LTE. 1.
    pub numerology: u8,
    /// Where it lies, for path loss and fading: 410 to 7125. 3600 MHz, band n78.
    pub frequency_mhz: f64,
    /// Its duplex. TDD, the default [`TddPattern`].
    pub duplex: Duplex,
    /// Spatial layers in the downlink, each as good as one: 1 to 4, with LTE 1 or 2. 1.
    pub downlink_layers: u8,
    /// Spatial layers in the uplink: 1 to 4, with LTE 1. 1.
    pub uplink_layers: u8,
    /// The MCS table of the downlink. Up to 64QAM, the only one with LTE.
    pub downlink_mcs: McsTable,
    /// The MCS table of the uplink, without transform precoding in NR. Up to 64QAM, the only one with LTE.
    pub uplink_mcs: McsTable,
    /// Symbols of the control channel (PDCCH) at the begin of each slot with downlink: 0 to 3. The
    /// sizes of LTE's transport blocks leave them room, however many there are. 2.
    pub control_symbols: u8,
    /// PRBs at the carrier's edges that the uplink's control channel (PUCCH) has for itself in each slot: fewer than the
    /// carrier has. 2.
    pub uplink_control_prbs: u16,
    /// Further symbols of demodulation reference signals after the first, where the allocation is long enough
    /// (TS 38.211 table 7.4.1.1.2-3, mapping type A), with no data beside them: 0 to 3, NR only. 1.
    pub additional_dmrs: u8,
    /// Resource elements of each PRB that transport block sizes leave to other signals (TS 38.214 5.1.3.2, xOverhead): 0,
    /// 6, 12 or 18, NR only. 0.
    pub overhead: u8,
}

impl Default for Carrier {
    fn default() -> Self {
        Carrier {
            rat: Rat::Nr,
            bandwidth_mhz: 40.0,
            numerology: 1,
            frequency_mhz: 3600.0,
            duplex: Duplex::Tdd { pattern: TddPattern::default(), second: None },
            downlink_layers: 1,
            uplink_layers: 1,
            downlink_mcs: McsTable::Qam64,
            uplink_mcs: McsTable::Qam64,
            control_symbols: 2,
            uplink_control_prbs: 2,
            additional_dmrs: 1,
            overhead: 0,
        }
    }
}

impl Carrier {
    /// The defaults of an LTE carrier: 10 MHz at 2655 MHz (band 7), FDD.
    #[must_use]
    pub fn lte() -> Self {
        Carrier {
            rat: Rat::Lte,
            bandwidth_mhz: 10.0,
            numerology: 0,
            frequency_mhz: 2655.0,
            duplex: Duplex::Fdd,
            ..Carrier::default()
        }
    }

    /// The grid that follows, or the first field whose value no carrier has.
    pub fn check(&self) -> Result<Grid, CarrierError> {
        let lte = self.rat == Rat::Lte;
        let within = |field, value: u8, most: u8, allowed| match value <= most {
            true => Ok(()),
            false => Err(CarrierError::Value { field, value: value.into(), allowed }),
        };
        match lte {
            true => within("numerology", self.numerology, 0, "0 with LTE")?,
            false => within("numerology", self.numerology, 2, "0 to 2: subcarriers of 15, 30 or 60 kHz")?,
        }
        let prbs = bandwidth::prbs(self.rat, self.numerology, self.bandwidth_mhz)?;
        if !(410.0..=7125.0).contains(&self.frequency_mhz) {
            return Err(CarrierError::Value {
                field: "frequency_mhz",
                value: self.frequency_mhz,
                allowed: "410 to 7125",
            });
        }
        for (field, layers, most_lte) in
            [("downlink_layers", self.downlink_layers, 2), ("uplink_layers", self.uplink_layers, 1)]
        {
            let (most, allowed) = match (lte, most_lte) {
                (true, 1) => (1, "1 with LTE"),
                (true, _) => (2, "1 or 2 with LTE"),
                (false, _) => (4, "1 to 4"),
            };
            if layers == 0 || layers > most {
                return Err(CarrierError::Value { field, value: layers.into(), allowed });
            }
        }
        for (field, table) in [("downlink_mcs", self.downlink_mcs), ("uplink_mcs", self.uplink_mcs)] {
            if lte && table != McsTable::Qam64 {
                return Err(CarrierError::Value {
                    field,
                    value: f64::from(table.number()),
                    allowed: "table 1 with LTE",
                });
            }
        }
        within("control_symbols", self.control_symbols, 3, "0 to 3")?;
        within("additional_dmrs", self.additional_dmrs, 3, "0 to 3")?;
        if ![0, 6, 12, 18].contains(&self.overhead) {
            return Err(CarrierError::Value {
                field: "overhead",
                value: self.overhead.into(),
                allowed: "0, 6, 12 or 18",
            });
        }
        if self.uplink_control_prbs >= prbs {
            return Err(CarrierError::Value {
                field: "uplink_control_prbs",
                value: self.uplink_control_prbs.into(),
                allowed: "fewer than the carrier has",
            });
        }
        let slots = self.duplex.slots(self.rat, self.numerology)?;
        Ok(Grid { prbs, slots, carrier: self.clone() })
    }
}

/// What no carrier can be. All of it is the caller's misuse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CarrierError {
    /// A field of the [`Carrier`] or of its duplex has a value that it cannot have.
    Value {
        /// Which.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// The duplex is one of the other technology.
    Duplex {
        /// The carrier's.
        rat: Rat,
    },
}

impl fmt::Display for CarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CarrierError::Value { field, value, allowed } => write!(f, "{field} is {value}: it may be {allowed}"),
            CarrierError::Duplex { rat: Rat::Lte } => {
                f.write_str("duplex is a pattern of NR: with LTE it may be FDD or one of LTE's TDD configurations")
            }
            CarrierError::Duplex { rat: Rat::Nr } => {
                f.write_str("duplex is a TDD configuration of LTE: with NR it may be FDD or a TDD pattern")
            }
        }
    }
}

impl std::error::Error for CarrierError {}

/// A checked carrier: slots in time, PRBs in frequency.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    carrier: Carrier,
    prbs: u16,
    slots: Box<[SlotKind]>,
}

impl Grid {
    /// What it was made of.
    #[must_use]
    pub fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    /// PRBs of the carrier; each slot's downlink symbols have them all.
    #[must_use]
    pub fn prbs(&self) -> u16 {
        self.prbs
    }

    /// PRBs that carry data in the uplink.
    #[must_use]
    pub fn uplink_prbs(&self) -> u16 {
        self.prbs - self.carrier.uplink_control_prbs
    }

    /// How far apart subcarriers are.
    #[must_use]
    pub fn subcarrier_hz(&self) -> u32 {
        15_000 << self.carrier.numerology
    }

    /// How long a slot is, an LTE subframe being one.
    #[must_use]
    pub fn slot(&self) -> Duration {
        Duration::from_nanos(1_000_000 >> self.carrier.numerology)
    }

    /// Slots in a frame of 10 ms.
    #[must_use]
    pub fn slots_per_frame(&self) -> u32 {
        10 << self.carrier.numerology
    }

    /// Downlink and uplink symbols of a slot, counted from 0 at the model's start.
    #[must_use]
    pub fn slot_kind(&self, slot: u64) -> (u8, u8) {
        self.slots[(slot % self.slots.len() as u64) as usize]
    }

    /// The slots that are repeated: their downlink and uplink symbols.
    #[must_use]
    pub fn pattern(&self) -> &[(u8, u8)] {
        &self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_hold() {
        let grid = Carrier::default().check().unwrap();
        assert_eq!((grid.prbs(), grid.uplink_prbs(), grid.subcarrier_hz()), (106, 104, 30_000));
        assert_eq!((grid.slot(), grid.slots_per_frame()), (Duration::from_micros(500), 20));
        assert_eq!((grid.slot_kind(0), grid.slot_kind(7), grid.slot_kind(u64::MAX)), ((14, 0), (6, 4), (14, 0)));
        let grid = Carrier::lte().check().unwrap();
        assert_eq!((grid.prbs(), grid.slot(), grid.slots_per_frame()), (50, Duration::from_millis(1), 10));
        assert_eq!(grid.slot_kind(3), (14, 14));
    }

    #[test]
    fn what_no_carrier_can_be_is_refused() {
        let (nr, lte) = (Carrier::default(), Carrier::lte());
        for (carrier, expected) in [
            (
                Carrier { numerology: 3, ..nr.clone() },
                "numerology is 3: it may be 0 to 2: subcarriers of 15, 30 or 60 kHz",
            ),
            (Carrier { numerology: 1, ..lte.clone() }, "numerology is 1: it may be 0 with LTE"),
            (
                Carrier { bandwidth_mhz: 20.5, ..nr.clone() },
                "bandwidth_mhz is 20.5: it may be 5, 10, ... 50, 60, ... 100",
            ),
            (Carrier { bandwidth_mhz: 2.0, ..lte.clone() }, "bandwidth_mhz is 2: it may be 1.4, 3, 5, 10, 15 or 20"),
            (Carrier { frequency_mhz: f64::NAN, ..nr.clone() }, "frequency_mhz is NaN: it may be 410 to 7125"),
            (Carrier { frequency_mhz: 28_000.0, ..nr.clone() }, "frequency_mhz is 28000: it may be 410 to 7125"),
            (Carrier { downlink_layers: 0, ..nr.clone() }, "downlink_layers is 0: it may be 1 to 4"),
            (Carrier { uplink_layers: 5, ..nr.clone() }, "uplink_layers is 5: it may be 1 to 4"),
            (Carrier { downlink_layers: 3, ..lte.clone() }, "downlink_layers is 3: it may be 1 or 2 with LTE"),
            (Carrier { uplink_layers: 2, ..lte.clone() }, "uplink_layers is 2: it may be 1 with LTE"),
            (
                Carrier { downlink_mcs: McsTable::Qam256, ..lte.clone() },
                "downlink_mcs is 2: it may be table 1 with LTE",
            ),
            (Carrier { uplink_mcs: McsTable::Qam64LowSe, ..lte }, "uplink_mcs is 3: it may be table 1 with LTE"),
            (Carrier { control_symbols: 4, ..nr.clone() }, "control_symbols is 4: it may be 0 to 3"),
            (Carrier { additional_dmrs: 4, ..nr.clone() }, "additional_dmrs is 4: it may be 0 to 3"),
            (Carrier { overhead: 7, ..nr.clone() }, "overhead is 7: it may be 0, 6, 12 or 18"),
            (
                Carrier { uplink_control_prbs: 106, ..nr },
                "uplink_control_prbs is 106: it may be fewer than the carrier has",
            ),
        ] {
            let error = carrier.check().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
