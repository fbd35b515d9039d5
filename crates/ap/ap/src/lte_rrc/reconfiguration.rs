//! RRCConnectionReconfiguration on DL-DCCH, as far as it adds and releases secondary cells (TS 36.331 5.3.5.3, 5.3.10.3a and
//! 5.3.10.3b).

use crate::rrc_bits::{BitReader, Bits};

use super::{MAX_PCI, RrcError};

/// The index of RRCConnectionReconfiguration among the messages of DL-DCCH.
pub const RRC_CONNECTION_RECONFIGURATION: i64 = 4;
/// The most secondary cells of a list (maxSCell-r10).
const MAX_SECONDARY: usize = 4;
/// The largest sCellIndex.
const MAX_INDEX: u8 = 7;
/// The PRBs of the values of dl-Bandwidth.
pub(super) const BANDWIDTHS: [u8; 6] = [6, 15, 25, 50, 75, 100];
/// The antenna ports of the values of antennaPortsCount.
const PORTS: [u8; 3] = [1, 2, 4];
/// The range of referenceSignalPower in dBm.
const POWER_DBM: std::ops::RangeInclusive<i8> = -60..=50;
/// The uplink-downlink configurations, sa0 to sa6.
pub const SUBFRAME_ASSIGNMENTS: u8 = 7;
/// The special subframe configurations, ssp0 to ssp8.
pub const SPECIAL_SUBFRAME_PATTERNS: u8 = 9;

/// The secondary cells that an RRCConnectionReconfiguration releases and adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondaryCells {
    /// rrc-TransactionIdentifier, 0 to 3.
    pub transaction: u8,
    /// The released ones by sCellIndex, 1 to 7; at most 4.
    pub released: Vec<u8>,
    /// The added ones, at most 4.
    pub added: Vec<AddedCell>,
}

/// A secondary cell that is added, with a downlink only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedCell {
    /// sCellIndex, 1 to 7.
    pub index: u8,
    /// The physical cell identity, 0 to 503.
    pub pci: u16,
    /// dl-CarrierFreq: the EARFCN of the downlink.
    pub earfcn: u16,
    /// dl-Bandwidth: 6, 15, 25, 50, 75 or 100 PRBs.
    pub prbs: u8,
    /// antennaPortsCount: 1, 2 or 4.
    pub ports: u8,
    /// referenceSignalPower, -60 to 50 dBm.
    pub reference_signal_dbm: i8,
    /// tdd-Config, of a TDD cell: the uplink-downlink configuration, 0 to 6, and that of special subframes, 0 to 8.
    pub tdd: Option<(u8, u8)>,
}

impl SecondaryCells {
    /// Encodes a DL-DCCH-Message.
    ///
    /// # Errors
    /// [`RrcError::OutOfRange`].
    pub fn encode(&self) -> Result<Vec<u8>, RrcError> {
        if self.transaction > 3 {
            return Err(RrcError::OutOfRange("rrc-TransactionIdentifier"));
        }
        if [self.released.len(), self.added.len()].iter().any(|count| *count > MAX_SECONDARY) {
            return Err(RrcError::OutOfRange("number of secondary cells"));
        }
        let mut bits = Bits::default();
        bits.push(0, 1); // c1
        bits.push(RRC_CONNECTION_RECONFIGURATION as u32, 4);
        bits.push(self.transaction.into(), 2);
        bits.push(0, 1); // criticalExtensions: c1
        bits.push(0, 3); // rrcConnectionReconfiguration-r8
        bits.push(0b00_0001, 6); // nonCriticalExtension only: v890
        bits.push(0b01, 2); // nonCriticalExtension only: v920
        bits.push(0b001, 3); // nonCriticalExtension only: v1020
        bits.push(u32::from(!self.released.is_empty()), 1);
        bits.push(u32::from(!self.added.is_empty()), 1);
        bits.push(0, 1); // no nonCriticalExtension
        if !self.released.is_empty() {
            bits.push(self.released.len() as u32 - 1, 2);
        }
        for index in &self.released {
            push_index(*index, &mut bits)?;
        }
        if !self.added.is_empty() {
            bits.push(self.added.len() as u32 - 1, 2);
        }
        self.added.iter().try_for_each(|cell| cell.encode(&mut bits))?;
        Ok(bits.octets)
    }

    /// Decodes a DL-DCCH-Message. One that reconfigures other things of the UE besides is not supported.
    ///
    /// # Errors
    /// [`RrcError`].
    pub fn decode(octets: &[u8]) -> Result<Self, RrcError> {
        let mut bits = BitReader { octets, at: 0 };
        if bits.take(1)? != 0 || i64::from(bits.take(4)?) != RRC_CONNECTION_RECONFIGURATION {
            return Err(RrcError::Unsupported("a message other than RRCConnectionReconfiguration"));
        }
        let transaction = bits.take(2)? as u8;
        bits.expect_zero(4, "a critical extension of RRCConnectionReconfiguration")?;
        bits.expect_zero(5, "a reconfiguration of more than secondary cells")?;
        let mut cells = SecondaryCells { transaction, ..SecondaryCells::default() };
        for optional in [1, 2] {
            if !bits.flag()? {
                return Ok(cells);
            }
            bits.expect_zero(optional, "a reconfiguration of more than secondary cells")?;
        }
        if !bits.flag()? {
            return Ok(cells);
        }
        // a later extension follows what is read
        let [has_released, has_added, _] = [bits.flag()?, bits.flag()?, bits.flag()?];
        if has_released {
            for _ in 0..=bits.take(2)? {
                cells.released.push(take_index(&mut bits)?);
            }
        }
        if has_added {
            for _ in 0..=bits.take(2)? {
                cells.added.push(AddedCell::decode(&mut bits)?);
            }
        }
        Ok(cells)
    }
}

/// Writes an SCellIndex-r10.
fn push_index(index: u8, bits: &mut Bits) -> Result<(), RrcError> {
    if !(1..=MAX_INDEX).contains(&index) {
        return Err(RrcError::OutOfRange("sCellIndex"));
    }
    bits.push(u32::from(index) - 1, 3);
    Ok(())
}

/// Reads an SCellIndex-r10.
fn take_index(bits: &mut BitReader<'_>) -> Result<u8, RrcError> {
    let index = bits.take(3)? as u8 + 1;
    if index <= MAX_INDEX { Ok(index) } else { Err(RrcError::OutOfRange("sCellIndex")) }
}

impl AddedCell {
    /// Encodes an SCellToAddMod-r10.
    fn encode(&self, bits: &mut Bits) -> Result<(), RrcError> {
        let value_of = |values: &[u8], value: u8| values.iter().position(|known| *known == value);
        let bandwidth = value_of(&BANDWIDTHS, self.prbs).ok_or(RrcError::OutOfRange("dl-Bandwidth"))?;
        let ports = value_of(&PORTS, self.ports).ok_or(RrcError::OutOfRange("antennaPortsCount"))?;
        if self.pci > MAX_PCI {
            return Err(RrcError::OutOfRange("physCellId"));
        }
        if !POWER_DBM.contains(&self.reference_signal_dbm) {
            return Err(RrcError::OutOfRange("referenceSignalPower"));
        }
        bits.push(0, 1); // no extension
        bits.push(0b110, 3); // cellIdentification, radioResourceConfigCommonSCell
        push_index(self.index, bits)?;
        bits.push(self.pci.into(), 9);
        bits.push(self.earfcn.into(), 16);
        bits.push(0, 2); // no extension, no ul-Configuration
        bits.push(0, 1); // no mbsfn-SubframeConfigList
        bits.push(u32::from(self.tdd.is_some()), 1);
        bits.push(bandwidth as u32, 3);
        bits.push(ports as u32, 2);
        bits.push(0b0_10, 3); // phich-Config: normal, one
        bits.push((i16::from(self.reference_signal_dbm) - i16::from(*POWER_DBM.start())) as u32, 7);
        bits.push(0, 2); // p-b
        if let Some((assignment, pattern)) = self.tdd {
            if assignment >= SUBFRAME_ASSIGNMENTS || pattern >= SPECIAL_SUBFRAME_PATTERNS {
                return Err(RrcError::OutOfRange("tdd-Config"));
            }
            bits.push(assignment.into(), 3);
            bits.push(pattern.into(), 4);
        }
        Ok(())
    }

    fn decode(bits: &mut BitReader<'_>) -> Result<Self, RrcError> {
        let has_extension = bits.flag()?;
        if bits.take(3)? != 0b110 {
            return Err(RrcError::Unsupported("a secondary cell that is modified, or has a dedicated configuration"));
        }
        let (index, pci, earfcn) = (take_index(bits)?, bits.take(9)? as u16, bits.take(16)? as u16);
        if pci > MAX_PCI {
            return Err(RrcError::OutOfRange("physCellId"));
        }
        bits.expect_zero(2, "an uplink of a secondary cell")?;
        bits.expect_zero(1, "MBSFN subframes of a secondary cell")?;
        let has_tdd = bits.flag()?;
        let prbs = *BANDWIDTHS.get(bits.take(3)? as usize).ok_or(RrcError::OutOfRange("dl-Bandwidth"))?;
        let ports = *PORTS.get(bits.take(2)? as usize).ok_or(RrcError::OutOfRange("antennaPortsCount"))?;
        let _phich_config = bits.take(3)?;
        let reference_signal_dbm = i16::try_from(bits.take(7)?).unwrap_or(i16::MAX) + i16::from(*POWER_DBM.start());
        let reference_signal_dbm = i8::try_from(reference_signal_dbm).ok().filter(|dbm| POWER_DBM.contains(dbm));
        let reference_signal_dbm = reference_signal_dbm.ok_or(RrcError::OutOfRange("referenceSignalPower"))?;
        let _p_b = bits.take(2)?;
        let tdd = if has_tdd { Some((bits.take(3)? as u8, bits.take(4)? as u8)) } else { None };
        if tdd.is_some_and(|(sa, ssp)| sa >= SUBFRAME_ASSIGNMENTS || ssp >= SPECIAL_SUBFRAME_PATTERNS) {
            return Err(RrcError::OutOfRange("tdd-Config"));
        }
        if has_extension {
            bits.skip_extensions()?;
        }
        Ok(AddedCell { index, pci, earfcn, prbs, ports, reference_signal_dbm, tdd })
    }
}

/// The expected octets are those of an independent encoder (pycrate 0.8.1).
#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_vectors::unhex;

    fn messages() -> [(SecondaryCells, &'static str); 3] {
        let cell =
            AddedCell { index: 1, pci: 65, earfcn: 1500, prbs: 100, ports: 2, reference_signal_dbm: 15, tdd: None };
        let least = AddedCell {
            pci: 503,
            earfcn: u16::MAX,
            prbs: 6,
            ports: 1,
            reference_signal_dbm: -60,
            tdd: Some((2, 7)),
            ..cell
        };
        let most = AddedCell { index: 4, pci: 0, earfcn: 0, prbs: 50, ports: 4, reference_signal_dbm: 50, ..cell };
        [
            (SecondaryCells { added: vec![cell], ..SecondaryCells::default() }, "2000a50c0820bb81552c"),
            (SecondaryCells { released: vec![2, 7], ..SecondaryCells::default() }, "2000a62700"),
            (
                SecondaryCells { transaction: 3, released: vec![1], added: vec![least, most] },
                "2600a70161f7ffff102002766000000072dc00",
            ),
        ]
    }

    #[test]
    fn messages_match_vectors() {
        for (cells, octets) in messages() {
            let encoded = cells.encode().unwrap();
            assert_eq!(encoded, unhex(octets), "{cells:?}");
            assert_eq!(SecondaryCells::decode(&encoded), Ok(cells));
            for length in 0..encoded.len() - 2 {
                assert_eq!(SecondaryCells::decode(&encoded[..length]), Err(RrcError::Truncated));
            }
        }
    }

    #[test]
    fn invalid_messages_are_refused() {
        let message = messages()[2].0.clone();
        for (change, what) in [
            ((|wrong| wrong.transaction = 4) as fn(&mut SecondaryCells), "rrc-TransactionIdentifier"),
            (|wrong| wrong.released = vec![1; 5], "number of secondary cells"),
            (|wrong| wrong.released[0] = 0, "sCellIndex"),
            (|wrong| wrong.added[0].index = 8, "sCellIndex"),
            (|wrong| wrong.added[0].pci = 504, "physCellId"),
            (|wrong| wrong.added[0].prbs = 7, "dl-Bandwidth"),
            (|wrong| wrong.added[0].ports = 3, "antennaPortsCount"),
            (|wrong| wrong.added[0].reference_signal_dbm = 51, "referenceSignalPower"),
            (|wrong| wrong.added[0].tdd = Some((7, 0)), "tdd-Config"),
        ] {
            let mut wrong = message.clone();
            change(&mut wrong);
            assert_eq!(wrong.encode(), Err(RrcError::OutOfRange(what)));
        }
        assert!(matches!(SecondaryCells::decode(&[0x08, 0, 0]), Err(RrcError::Unsupported(_))));
        // with measConfig
        assert!(matches!(SecondaryCells::decode(&[0x20, 0x10, 0, 0]), Err(RrcError::Unsupported(_))));
    }

    #[test]
    fn any_octets_decode_or_are_refused() {
        for vector in messages().map(|(_, octets)| unhex(octets)) {
            for at in 0..vector.len() {
                for value in 0..=255 {
                    let mut octets = vector.clone();
                    octets[at] = value;
                    if let Ok(cells) = SecondaryCells::decode(&octets) {
                        let again = cells.encode().expect("decoded values are in range");
                        assert_eq!(SecondaryCells::decode(&again), Ok(cells));
                    }
                }
            }
        }
    }
}
