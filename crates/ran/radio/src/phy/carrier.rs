//! A carrier: its configuration, and the resulting grid of slots and PRBs.

use std::fmt;
use std::time::Duration;

use super::McsTable;
use super::bandwidth;
use super::duplex::{Duplex, SlotKind, TddPattern};

/// The radio access technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rat {
    /// 4G.
    Lte,
    /// 5G.
    Nr,
}

/// The configuration of a carrier. [`Carrier::check`] turns it into a [`Grid`].
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// The technology. Default: NR.
    pub rat: Rat,
    /// The channel bandwidth, one of TS 36.104 5.6 or TS 38.101-1 5.3.2. Default: 40 MHz.
    pub bandwidth_mhz: f64,
    /// The numerology µ (TS 38.211 4.2): subcarrier spacing 15 kHz times 2^µ, slots of 1 ms over 2^µ; 0 to 2 with NR below
    /// 7.125 GHz, 0 with LTE. Default: 1.
    pub numerology: u8,
    /// The carrier frequency, for path loss and fading: 410 to 7125. Default: 3600, band n78.
    pub frequency_mhz: f64,
    /// The duplex mode. Default: TDD with the default [`TddPattern`].
    pub duplex: Duplex,
    /// Spatial layers in the downlink, all of equal quality: 1 to 4, with LTE 1 or 2. Default: 1.
    pub downlink_layers: u8,
    /// Spatial layers in the uplink: 1 to 4, with LTE 1. Default: 1.
    pub uplink_layers: u8,
    /// The MCS table of the downlink. Default: up to 64QAM, the only one with LTE.
    pub downlink_mcs: McsTable,
    /// The MCS table of the uplink, without transform precoding in NR. Default: up to 64QAM, the only one with LTE.
    pub uplink_mcs: McsTable,
    /// PDCCH symbols at the beginning of each slot with downlink: 0 to 3. The transport block sizes of LTE already leave room
    /// for them. Default: 2.
    pub control_symbols: u8,
    /// PRBs at the edges of the carrier that are reserved for PUCCH in each slot; fewer than the carrier has. Default: 2.
    pub uplink_control_prbs: u16,
    /// Additional DMRS symbols, as far as the allocation is long enough (TS 38.211 table 7.4.1.1.2-3, mapping type A), without
    /// data in the same symbols: 0 to 3, NR only. Default: 1.
    pub additional_dmrs: u8,
    /// xOverhead: resource elements per PRB that transport block sizes leave to other signals (TS 38.214 5.1.3.2): 0, 6, 12
    /// or 18, NR only. Default: 0.
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

    /// Validates the carrier and returns its grid.
    ///
    /// # Errors
    /// The first field with an invalid value.
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

/// An invalid carrier configuration: misuse by the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CarrierError {
    /// A field of the [`Carrier`] or of its duplex mode has an invalid value.
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The valid values.
        allowed: &'static str,
    },
    /// The duplex mode belongs to the other technology.
    Duplex {
        /// The technology of the carrier.
        rat: Rat,
    },
}

impl fmt::Display for CarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CarrierError::Value { field, value, allowed } => write!(f, "{field} is {value}: must be {allowed}"),
            CarrierError::Duplex { rat: Rat::Lte } => {
                f.write_str("duplex is a pattern of NR: with LTE it must be FDD or one of LTE's TDD configurations")
            }
            CarrierError::Duplex { rat: Rat::Nr } => {
                f.write_str("duplex is a TDD configuration of LTE: with NR it must be FDD or a TDD pattern")
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
    /// The configuration of the carrier.
    #[must_use]
    pub fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    /// PRBs of the carrier. Downlink symbols use all of them.
    #[must_use]
    pub fn prbs(&self) -> u16 {
        self.prbs
    }

    /// PRBs that carry data in the uplink.
    #[must_use]
    pub fn uplink_prbs(&self) -> u16 {
        self.prbs - self.carrier.uplink_control_prbs
    }

    /// The subcarrier spacing.
    #[must_use]
    pub fn subcarrier_hz(&self) -> u32 {
        15_000 << self.carrier.numerology
    }

    /// The length of a slot; in LTE, of a subframe.
    #[must_use]
    pub fn slot(&self) -> Duration {
        Duration::from_nanos(1_000_000 >> self.carrier.numerology)
    }

    /// Slots in a frame of 10 ms.
    #[must_use]
    pub fn slots_per_frame(&self) -> u32 {
        10 << self.carrier.numerology
    }

    /// Downlink and uplink symbols of a slot; slots count from 0 at the start of the model.
    #[must_use]
    pub fn slot_kind(&self, slot: u64) -> (u8, u8) {
        self.slots[(slot % self.slots.len() as u64) as usize]
    }

    /// The periodic slot pattern: downlink and uplink symbols of each slot.
    #[must_use]
    pub fn pattern(&self) -> &[(u8, u8)] {
        &self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid() {
        let grid = Carrier::default().check().unwrap();
        assert_eq!((grid.prbs(), grid.uplink_prbs(), grid.subcarrier_hz()), (106, 104, 30_000));
        assert_eq!((grid.slot(), grid.slots_per_frame()), (Duration::from_micros(500), 20));
        assert_eq!((grid.slot_kind(0), grid.slot_kind(7), grid.slot_kind(u64::MAX)), ((14, 0), (6, 4), (14, 0)));
        let grid = Carrier::lte().check().unwrap();
        assert_eq!((grid.prbs(), grid.slot(), grid.slots_per_frame()), (50, Duration::from_millis(1), 10));
        assert_eq!(grid.slot_kind(3), (14, 14));
    }

    #[test]
    fn invalid_carriers_are_rejected() {
        let (nr, lte) = (Carrier::default(), Carrier::lte());
        for (carrier, expected) in [
            (
                Carrier { numerology: 3, ..nr.clone() },
                "numerology is 3: must be 0 to 2: subcarriers of 15, 30 or 60 kHz",
            ),
            (Carrier { numerology: 1, ..lte.clone() }, "numerology is 1: must be 0 with LTE"),
            (
                Carrier { bandwidth_mhz: 20.5, ..nr.clone() },
                "bandwidth_mhz is 20.5: must be 5, 10, ... 50, 60, ... 100",
            ),
            (Carrier { bandwidth_mhz: 2.0, ..lte.clone() }, "bandwidth_mhz is 2: must be 1.4, 3, 5, 10, 15 or 20"),
            (Carrier { frequency_mhz: f64::NAN, ..nr.clone() }, "frequency_mhz is NaN: must be 410 to 7125"),
            (Carrier { frequency_mhz: 28_000.0, ..nr.clone() }, "frequency_mhz is 28000: must be 410 to 7125"),
            (Carrier { downlink_layers: 0, ..nr.clone() }, "downlink_layers is 0: must be 1 to 4"),
            (Carrier { uplink_layers: 5, ..nr.clone() }, "uplink_layers is 5: must be 1 to 4"),
            (Carrier { downlink_layers: 3, ..lte.clone() }, "downlink_layers is 3: must be 1 or 2 with LTE"),
            (Carrier { uplink_layers: 2, ..lte.clone() }, "uplink_layers is 2: must be 1 with LTE"),
            (Carrier { downlink_mcs: McsTable::Qam256, ..lte.clone() }, "downlink_mcs is 2: must be table 1 with LTE"),
            (Carrier { uplink_mcs: McsTable::Qam64LowSe, ..lte }, "uplink_mcs is 3: must be table 1 with LTE"),
            (Carrier { control_symbols: 4, ..nr.clone() }, "control_symbols is 4: must be 0 to 3"),
            (Carrier { additional_dmrs: 4, ..nr.clone() }, "additional_dmrs is 4: must be 0 to 3"),
            (Carrier { overhead: 7, ..nr.clone() }, "overhead is 7: must be 0, 6, 12 or 18"),
            (
                Carrier { uplink_control_prbs: 106, ..nr },
                "uplink_control_prbs is 106: must be fewer than the carrier has",
            ),
        ] {
            let error = carrier.check().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
