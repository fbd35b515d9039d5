//! The records of a statistics message as octets, each with its UE. A program that passes reports on to readers who may see some UEs
//! only copies the records of these, and does not encode them again.

use std::ops::Range;

use crate::plain::{self, Plain};
use crate::{Arena, Error, Wire};

/// The most records of a message, a constraint of the models.
const MAX_RECORDS: i64 = 65_535;

/// Where the records of a message are, in octets. Kept from message to message, it does not allocate.
#[derive(Clone, Debug, Default)]
pub struct RecordMap {
    wire: Wire,
    records: Vec<UeRecord>,
    /// The octets of the number of records.
    count: Range<usize>,
    /// The end of the last record.
    end: usize,
}

/// A record of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UeRecord {
    /// The C-RNTI of its UE.
    pub rnti: u32,
    octets: Range<usize>,
}

/// A record of a UE.
pub(crate) trait OfUe {
    fn rnti(&self) -> u32;
}

impl RecordMap {
    /// The records of the message that was read last.
    #[must_use]
    pub fn records(&self) -> &[UeRecord] {
        &self.records
    }

    /// Appends the message, which must be the one that was read last, with the records that `is_kept` selects by their place.
    pub fn write(&self, message: &[u8], is_kept: impl Fn(usize) -> bool, out: &mut Vec<u8>) {
        let kept = || self.records.iter().enumerate().filter(|(at, _)| is_kept(*at));
        // a part of the records is not more than all of them
        let count = kept().count() as u32;
        out.extend_from_slice(&message[..self.count.start]);
        match self.wire {
            Wire::Plain => out.extend_from_slice(&count.to_le_bytes()),
            _ => out.extend_from_slice(&(count as u16).to_be_bytes()),
        }
        kept().for_each(|(_, record)| out.extend_from_slice(&message[record.octets.clone()]));
        out.extend_from_slice(&message[self.end..]);
    }

    /// Finds the records of a message that consists of a list of `R` and a time stamp. Returns `false` if they cannot be copied as
    /// octets: in FlatBuffers, and if the message has extensions or a record does not end at an octet boundary.
    pub(crate) fn find<R>(&mut self, message: &[u8], wire: Wire) -> Result<bool, Error>
    where
        R: OfUe + for<'a> Plain<'a> + for<'a> per::Decode<'a, per::Heap<'a>>,
    {
        self.records.clear();
        self.wire = wire;
        match wire {
            Wire::Per => self.find_per::<R>(message),
            Wire::Plain => self.find_plain::<R>(message),
            Wire::Flat => Ok(false),
        }
    }

    fn find_per<R>(&mut self, message: &[u8]) -> Result<bool, Error>
    where
        R: OfUe + for<'a> per::Decode<'a, per::Heap<'a>>,
    {
        let mut reader = per::Reader::new(message, 0);
        if reader.bit()? {
            return Ok(false);
        }
        let count = reader.constrained(0, MAX_RECORDS)?;
        self.end = reader.position() / 8;
        self.count = self.end - 2..self.end;
        for _ in 0..count {
            // what is not used of a record is not stored
            let rnti = per::Decode::decode(&mut reader).map(|record: R| record.rnti())?;
            if !reader.position().is_multiple_of(8) {
                return Ok(false);
            }
            let end = reader.position() / 8;
            self.records.push(UeRecord { rnti, octets: self.end..end });
            self.end = end;
        }
        let _timestamp_us: i64 = per::Decode::decode(&mut reader)?;
        reader.finish()?;
        Ok(true)
    }

    fn find_plain<R: OfUe + for<'a> Plain<'a>>(&mut self, message: &[u8]) -> Result<bool, Error> {
        const TIMESTAMP_OCTETS: usize = 8;
        let Some((count, rest)) = message.split_first_chunk::<4>() else { return Ok(false) };
        let count = u32::from_le_bytes(*count) as usize;
        if count.checked_mul(R::LEAST).and_then(|octets| octets.checked_add(TIMESTAMP_OCTETS)) != Some(rest.len()) {
            // the decoder says what is wrong
            return Ok(false);
        }
        self.count = 0..4;
        self.end = 4 + count * R::LEAST;
        let arena = Arena::new();
        for start in (4..self.end).step_by(R::LEAST) {
            let octets = start..start + R::LEAST;
            let rnti = plain::decode::<R>(&message[octets.clone()], &arena)?.rnti();
            self.records.push(UeRecord { rnti, octets });
        }
        Ok(true)
    }
}

/// Implements the search for the records of a message.
macro_rules! records {
    ($message:ident of $record:ident) => {
        impl $crate::records::OfUe for $record {
            #[inline(always)]
            fn rnti(&self) -> u32 {
                self.rnti
            }
        }

        impl $message<'_> {
            /// Finds the records of a message, without keeping their content. Returns `false` if they cannot be copied as octets:
            /// such a message is to be decoded.
            ///
            /// # Errors
            /// A malformed encoding.
            pub fn find_records(
                message: &[u8],
                wire: $crate::Wire,
                map: &mut $crate::RecordMap,
            ) -> Result<bool, $crate::Error> {
                map.find::<$record>(message, wire)
            }
        }
    };
}
pub(crate) use records;

#[cfg(all(test, feature = "mac", feature = "rlc", feature = "pdcp", feature = "gtp", feature = "flat"))]
mod tests {
    use super::*;
    use crate::{gtp, mac, pdcp, rlc};

    /// Numbers of all sizes.
    fn number(seed: u64) -> u64 {
        let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // what PER has of them: 63 bits
        mixed >> (1 + seed % 63)
    }

    macro_rules! copied {
        ($model:ident, $records:ident, $record:expr) => {
            for count in [0u64, 1, 2, 33, 400] {
                let records: Vec<_> = (0..count).map($record).collect();
                let message =
                    $model::IndicationMessage { $records: records.into(), timestamp_us: 1_700_000_000_123_456 };
                for wire in [Wire::Per, Wire::Plain] {
                    let mut octets = Vec::new();
                    message.encode(wire, &mut octets).unwrap();
                    let mut map = RecordMap::default();
                    assert!($model::IndicationMessage::find_records(&octets, wire, &mut map).unwrap());
                    let rntis = || message.$records.iter().map(|record| record.rnti);
                    assert!(map.records().iter().map(|record| record.rnti).eq(rntis()));
                    for step in [1, 2, 7, 1000] {
                        let mut expected = message.clone();
                        expected.$records = message.$records.iter().step_by(step).cloned().collect();
                        let (mut filtered, mut encoded) = (Vec::new(), Vec::new());
                        map.write(&octets, |at| at % step == 0, &mut filtered);
                        expected.encode(wire, &mut encoded).unwrap();
                        assert_eq!(filtered, encoded, "{count} records, every {step}th, {wire}");
                    }
                    // as the decoder, the search refuses each message that is cut off
                    for cut in 0..if count <= 2 { octets.len() } else { 0 } {
                        let found = $model::IndicationMessage::find_records(&octets[..cut], wire, &mut map);
                        assert!(!matches!(found, Ok(true)), "{cut} of {} octets", octets.len());
                    }
                }
                let mut octets = Vec::new();
                message.encode(Wire::Flat, &mut octets).unwrap();
                let found = $model::IndicationMessage::find_records(&octets, Wire::Flat, &mut RecordMap::default());
                assert!(!found.unwrap());
            }
        };
    }

    /// Changes octets of messages: the search finds what the decoder finds, and refuses what it refuses.
    #[test]
    fn search_agrees_with_the_decoder() {
        let ues: Vec<_> =
            (0..3).map(|rnti| mac::UeStats { rnti, bsr_octets: 70_000, ..mac::UeStats::default() }).collect();
        for wire in [Wire::Per, Wire::Plain] {
            let mut octets = Vec::new();
            mac::IndicationMessage { ues: ues.clone().into(), timestamp_us: 9 }.encode(wire, &mut octets).unwrap();
            let (mut found, mut refused, mut map) = (0, 0, RecordMap::default());
            for seed in 0..20_000 {
                let mut changed = octets.clone();
                for change in 0..1 + seed % 3 {
                    let random = number(seed * 5 + change).rotate_left(17);
                    let at = (random >> 8) as usize % changed.len();
                    changed[at] = random as u8;
                }
                let arena = Arena::new();
                let decoded = mac::IndicationMessage::decode(&changed, wire, &arena);
                match mac::IndicationMessage::find_records(&changed, wire, &mut map) {
                    Ok(true) => {
                        let decoded = decoded.unwrap();
                        assert!(map.records().iter().map(|ue| ue.rnti).eq(decoded.ues.iter().map(|ue| ue.rnti)));
                        found += 1;
                    }
                    Ok(false) => {}
                    Err(_) => {
                        assert!(decoded.is_err());
                        refused += 1;
                    }
                }
            }
            assert!(
                found > 1000 && (wire == Wire::Plain || refused > 1000),
                "{wire}: {found} found, {refused} refused"
            );
        }
    }

    #[test]
    fn copied_records_are_those_that_would_be_encoded() {
        copied!(mac, ues, |at| mac::UeStats {
            rnti: at as u32,
            dl_aggr_tbs_octets: number(at),
            ul_sched_prbs: number(at + 17),
            bsr_octets: number(at) as u32,
            pusch_snr_db: at as f32 / 3.0,
            phr_db: (at as i8).wrapping_neg(),
            ..mac::UeStats::default()
        });
        copied!(rlc, bearers, |at| rlc::BearerStats {
            rnti: at as u32,
            tx_pdu_octets: number(at) as u32,
            ..rlc::BearerStats::default()
        });
        copied!(pdcp, bearers, |at| pdcp::BearerStats {
            rnti: at as u32,
            rx_pdu_octets: number(at) as u32,
            ..pdcp::BearerStats::default()
        });
        copied!(gtp, tunnels, |at| gtp::Tunnel { rnti: at as u32, qfi: at as u8, ..gtp::Tunnel::default() });
    }
}
