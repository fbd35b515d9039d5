//! Duplex modes: the downlink and uplink symbols of each slot.

use super::carrier::{CarrierError, Rat};

/// Symbols of a slot with the normal cyclic prefix (TS 38.211 table 4.3.2-1), and of an LTE subframe.
pub(super) const SYMBOLS: u8 = 14;

/// The duplex mode of a carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// FDD: each direction has all symbols.
    Fdd,
    /// TDD of NR: one pattern, or two that alternate (TS 38.213 11.1, tdd-UL-DL-ConfigurationCommon).
    Tdd {
        /// The first pattern.
        pattern: TddPattern,
        /// The second pattern.
        second: Option<TddPattern>,
    },
    /// TDD of LTE (TS 36.211 tables 4.2-1 and 4.2-2).
    LteTdd {
        /// The uplink-downlink configuration, 0 to 6.
        configuration: u8,
        /// The special subframe's configuration, 0 to 9.
        special_subframe: u8,
    },
}

/// A TDD pattern of NR: downlink from the beginning, uplink up to the end, flexible symbols unused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TddPattern {
    /// The period: 500, 625, 1000, 1250, 2000, 2500, 3000, 4000, 5000 or 10000.
    pub period_us: u32,
    /// Full downlink slots.
    pub downlink_slots: u16,
    /// Downlink symbols at the beginning of the slot after them.
    pub downlink_symbols: u8,
    /// Uplink symbols at the end of the slot before the full uplink slots.
    pub uplink_symbols: u8,
    /// Full uplink slots.
    pub uplink_slots: u16,
}

impl Default for TddPattern {
    /// DDDDDDDSUU at 30 kHz subcarrier spacing; the special slot has six downlink and four uplink symbols.
    fn default() -> Self {
        TddPattern { period_us: 5000, downlink_slots: 7, downlink_symbols: 6, uplink_symbols: 4, uplink_slots: 2 }
    }
}

/// Downlink and uplink symbols of one slot.
pub(super) type SlotKind = (u8, u8);

impl Duplex {
    /// The periodic slot pattern: at least one slot, with symbols of both directions.
    pub(super) fn slots(&self, rat: Rat, numerology: u8) -> Result<Box<[SlotKind]>, CarrierError> {
        let error = |field, value, allowed| Err(CarrierError::Value { field, value, allowed });
        match self {
            Duplex::Fdd => Ok(Box::new([(SYMBOLS, SYMBOLS)])),
            Duplex::Tdd { .. } if rat == Rat::Lte => Err(CarrierError::Duplex { rat }),
            Duplex::LteTdd { .. } if rat == Rat::Nr => Err(CarrierError::Duplex { rat }),
            Duplex::LteTdd { configuration, special_subframe } => lte(*configuration, *special_subframe),
            Duplex::Tdd { pattern, second } => {
                let both_us = pattern.period_us.saturating_add(second.as_ref().map_or(0, |second| second.period_us));
                let mut slots = pattern.slots(numerology)?;
                if let Some(second) = second {
                    slots.extend(second.slots(numerology)?);
                }
                // patterns and frames stay aligned (TS 38.213 11.1)
                if 20_000 % both_us != 0 {
                    return error("period_us", f64::from(both_us), "one, or the sum of both, that divides 20 ms");
                }
                for (has, field) in [
                    (slots.iter().any(|(down, _)| *down > 0), "downlink_slots"),
                    (slots.iter().any(|(_, up)| *up > 0), "uplink_slots"),
                ] {
                    if !has {
                        return error(field, 0.0, "more, since each direction needs symbols");
                    }
                }
                Ok(slots.into())
            }
        }
    }
}

impl TddPattern {
    fn slots(&self, numerology: u8) -> Result<Vec<SlotKind>, CarrierError> {
        const PERIODS_US: [u32; 10] = [500, 625, 1000, 1250, 2000, 2500, 3000, 4000, 5000, 10_000];
        let error = |field, value, allowed| Err(CarrierError::Value { field, value, allowed });
        if !PERIODS_US.contains(&self.period_us) {
            let allowed = "500, 625, 1000, 1250, 2000, 2500, 3000, 4000, 5000 or 10000";
            return error("period_us", f64::from(self.period_us), allowed);
        }
        let slots_e3 = self.period_us << numerology;
        if !slots_e3.is_multiple_of(1000) {
            return error("period_us", f64::from(self.period_us), "a whole number of slots");
        }
        for (field, symbols) in [("downlink_symbols", self.downlink_symbols), ("uplink_symbols", self.uplink_symbols)] {
            if symbols >= SYMBOLS {
                return error(field, f64::from(symbols), "0 to 13: 14 are a slot");
            }
        }
        let slots = slots_e3 as usize / 1000;
        let (down, up) = (usize::from(self.downlink_slots), usize::from(self.uplink_slots));
        let partly = usize::from(self.downlink_symbols > 0).max(usize::from(self.uplink_symbols > 0));
        let too_many = "at most what leaves the period room for all other slots";
        if down + up + partly > slots {
            return error("downlink_slots", f64::from(self.downlink_slots), too_many);
        }
        let shared = down + up + 1 == slots;
        if shared && self.downlink_symbols + self.uplink_symbols > SYMBOLS {
            return error("downlink_symbols", f64::from(self.downlink_symbols), "14 with the uplink's in one slot");
        }
        let mut kinds = vec![(0, 0); slots];
        kinds[..down].fill((SYMBOLS, 0));
        kinds[slots - up..].fill((0, SYMBOLS));
        if self.downlink_symbols > 0 {
            kinds[down].0 = self.downlink_symbols;
        }
        if self.uplink_symbols > 0 {
            kinds[slots - up - 1].1 = self.uplink_symbols;
        }
        Ok(kinds)
    }
}

/// The frame of an LTE configuration. The uplink symbols of the special subframe carry no data (TS 36.211 4.2), nor does its
/// downlink part when it has only three symbols (TS 36.213 7.1.7).
fn lte(configuration: u8, special_subframe: u8) -> Result<Box<[SlotKind]>, CarrierError> {
    const SUBFRAMES: [&[u8; 10]; 7] =
        [b"DSUUUDSUUU", b"DSUUDDSUUD", b"DSUDDDSUDD", b"DSUUUDDDDD", b"DSUUDDDDDD", b"DSUDDDDDDD", b"DSUUUDSUUD"];
    const SPECIAL_SYMBOLS: [u8; 10] = [0, 9, 10, 11, 12, 0, 9, 10, 11, 6];
    let Some(subframes) = SUBFRAMES.get(usize::from(configuration)) else {
        return Err(CarrierError::Value { field: "configuration", value: configuration.into(), allowed: "0 to 6" });
    };
    let Some(&special) = SPECIAL_SYMBOLS.get(usize::from(special_subframe)) else {
        return Err(CarrierError::Value {
            field: "special_subframe",
            value: special_subframe.into(),
            allowed: "0 to 9",
        });
    };
    Ok(subframes
        .iter()
        .map(|kind| match kind {
            b'D' => (SYMBOLS, 0),
            b'U' => (0, SYMBOLS),
            _ => (special, 0),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(slots: &[SlotKind]) -> String {
        slots
            .iter()
            .map(|kind| match kind {
                (SYMBOLS, 0) => 'D',
                (0, SYMBOLS) => 'U',
                (0, 0) => '-',
                _ => 'S',
            })
            .collect()
    }

    fn tdd(pattern: TddPattern) -> Duplex {
        Duplex::Tdd { pattern, second: None }
    }

    #[test]
    fn patterns_of_nr() {
        let slots = tdd(TddPattern::default()).slots(Rat::Nr, 1).unwrap();
        assert_eq!((letters(&slots), slots[7]), ("DDDDDDDSUU".into(), (6, 4)));
        let pattern =
            TddPattern { period_us: 2500, downlink_slots: 3, downlink_symbols: 10, uplink_symbols: 2, uplink_slots: 1 };
        assert_eq!(letters(&tdd(pattern).slots(Rat::Nr, 1).unwrap()), "DDDSU");
        // partial slots may be separate, with unused slots between them
        let pattern =
            TddPattern { period_us: 5000, downlink_slots: 1, downlink_symbols: 3, uplink_symbols: 13, uplink_slots: 1 };
        let slots = tdd(pattern.clone()).slots(Rat::Nr, 0).unwrap();
        assert_eq!(&*slots, [(14, 0), (3, 0), (0, 0), (0, 13), (0, 14)]);
        let pattern = TddPattern { period_us: 3000, ..pattern };
        let second =
            TddPattern { period_us: 2000, downlink_slots: 4, downlink_symbols: 0, uplink_symbols: 0, uplink_slots: 0 };
        let duplex = Duplex::Tdd { pattern: TddPattern { uplink_symbols: 2, ..pattern }, second: Some(second) };
        assert_eq!(letters(&duplex.slots(Rat::Nr, 1).unwrap()), "DS--SUDDDD");
    }

    #[test]
    fn configurations_of_lte() {
        let slots = Duplex::LteTdd { configuration: 1, special_subframe: 7 }.slots(Rat::Lte, 0).unwrap();
        assert_eq!(letters(&slots), "DSUUDDSUUD");
        assert_eq!(slots[1], (10, 0));
        let slots = Duplex::LteTdd { configuration: 5, special_subframe: 0 }.slots(Rat::Lte, 0).unwrap();
        assert_eq!(letters(&slots), "D-UDDDDDDD");
        assert_eq!(&*Duplex::Fdd.slots(Rat::Lte, 0).unwrap(), [(14, 14)]);
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        let ok = TddPattern::default();
        for (pattern, numerology, expected) in [
            (TddPattern { period_us: 700, ..ok.clone() }, 1, "period_us is 700: must be 500, 625, 1000, 1250, "),
            (TddPattern { period_us: 625, ..ok.clone() }, 1, "period_us is 625: must be a whole number of slots"),
            (TddPattern { period_us: 3000, downlink_slots: 1, ..ok.clone() }, 1, "period_us is 3000: must be one, or"),
            (TddPattern { downlink_slots: 8, ..ok.clone() }, 1, "downlink_slots is 8: must be at most what leaves"),
            (
                TddPattern { uplink_slots: u16::MAX, downlink_slots: u16::MAX, ..ok.clone() },
                1,
                "downlink_slots is 65535",
            ),
            (TddPattern { downlink_symbols: 14, ..ok.clone() }, 1, "downlink_symbols is 14: must be 0 to 13"),
            (TddPattern { uplink_symbols: 200, ..ok.clone() }, 1, "uplink_symbols is 200: must be 0 to 13"),
            (TddPattern { downlink_symbols: 11, ..ok.clone() }, 1, "downlink_symbols is 11: must be 14 with"),
            (
                TddPattern { downlink_slots: 0, downlink_symbols: 0, ..ok.clone() },
                1,
                "downlink_slots is 0: must be more",
            ),
            (TddPattern { uplink_slots: 0, uplink_symbols: 0, ..ok.clone() }, 1, "uplink_slots is 0: must be more"),
        ] {
            let error = tdd(pattern).slots(Rat::Nr, numerology).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        for (configuration, special_subframe, expected) in
            [(7, 0, "configuration is 7: must be 0 to 6"), (0, 10, "special_subframe is 10: must be 0 to 9")]
        {
            let error = Duplex::LteTdd { configuration, special_subframe }.slots(Rat::Lte, 0).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let error = tdd(ok).slots(Rat::Lte, 0).unwrap_err().to_string();
        assert!(error.starts_with("duplex is a pattern of NR"), "{error}");
        let error = Duplex::LteTdd { configuration: 0, special_subframe: 0 }.slots(Rat::Nr, 0).unwrap_err().to_string();
        assert!(error.starts_with("duplex is a TDD configuration of LTE"), "{error}");
    }
}
