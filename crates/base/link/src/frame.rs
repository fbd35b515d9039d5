//! Framing on stream sockets: a 4-octet big-endian length, then the PDU; or PDUs that begin with their own length.

use crate::budget::Held;
use crate::scratch::Spares;
use crate::{Error, Framing, MemoryBudget};

/// Octets of the length before each PDU.
pub(crate) const HEADER_OCTETS: usize = 4;

/// Splits the received octets into PDUs.
///
/// Whole PDUs are passed on from the chunk they arrived in. Only an incomplete PDU is copied, each octet once, into a buffer
/// of at most twice the octets that have arrived, whatever length the peer announced.
pub(crate) struct Deframer {
    /// The unfinished PDU, with its header; empty and without memory between PDUs.
    carry: Carry,
    framing: Framing,
    limit_octets: usize,
}

impl Deframer {
    pub(crate) fn new(limit_octets: usize) -> Self {
        Deframer { carry: Carry::default(), framing: Framing::Prefix, limit_octets }
    }

    /// Changes how PDUs are separated.
    pub(crate) fn framed_by(self, framing: Framing) -> Self {
        Deframer { framing, ..self }
    }

    /// Counts the memory of unfinished PDUs against a budget.
    pub(crate) fn within(mut self, budget: Option<&MemoryBudget>) -> Self {
        self.carry = Carry::within(budget);
        self
    }

    /// The number of the unfinished PDU; `None` between PDUs.
    pub(crate) fn unfinished(&self) -> Option<u64> {
        self.carry.unfinished()
    }

    /// Octets of an unfinished PDU that have arrived.
    pub(crate) fn unfinished_octets(&self) -> usize {
        self.carry.bytes.len()
    }

    /// Processes the next octets of the stream and passes each completed PDU to `sink`; returns the number of PDUs.
    pub(crate) fn push(
        &mut self,
        mut chunk: &[u8],
        spares: &mut Spares,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, Error> {
        let mut pdus = 0;
        if !self.carry.bytes.is_empty() {
            self.carry.take_up_to(HEADER_OCTETS, &mut chunk)?;
            let Some(total) = self.announced(&self.carry.bytes)? else { return Ok(0) };
            self.carry.take_up_to(total, &mut chunk)?;
            if self.carry.bytes.len() < total {
                return Ok(0);
            }
            sink(&self.carry.bytes[self.framing.prefix_octets()..]);
            pdus += 1;
            self.carry.release(spares);
        }
        while let Some(total) = self.announced(chunk)? {
            let Some((frame, rest)) = chunk.split_at_checked(total) else { break };
            sink(&frame[self.framing.prefix_octets()..]);
            pdus += 1;
            chunk = rest;
        }
        if !chunk.is_empty() {
            self.carry.begin(spares);
            self.carry.append(chunk, chunk.len())?;
        }
        Ok(pdus)
    }

    /// Returns the length of the frame at the start of `bytes`, header included; `None` while the header is incomplete.
    fn announced(&self, bytes: &[u8]) -> Result<Option<usize>, Error> {
        let Some(header) = bytes.first_chunk::<HEADER_OCTETS>() else { return Ok(None) };
        let (announced, least) = match self.framing {
            Framing::Prefix => (u32::from_be_bytes(*header), 1),
            Framing::OwnLength => (u32::from_le_bytes(*header), HEADER_OCTETS + 1),
        };
        match usize::try_from(announced) {
            Ok(octets) if octets < least => Err(Error::EmptyPdu),
            Ok(octets) if octets <= self.limit_octets => Ok(Some(self.framing.prefix_octets() + octets)),
            _ => Err(Error::PduTooLong { announced_octets: announced.into(), limit_octets: self.limit_octets }),
        }
    }
}

impl Framing {
    /// The octets before each PDU that do not belong to it.
    pub(crate) fn prefix_octets(self) -> usize {
        match self {
            Framing::Prefix => HEADER_OCTETS,
            Framing::OwnLength => 0,
        }
    }
}

/// The received octets of an incomplete PDU.
#[derive(Default)]
pub(crate) struct Carry {
    pub(crate) bytes: Vec<u8>,
    /// The memory of `bytes`.
    held: Held,
    /// The number of PDUs that arrived in parts.
    begun: u64,
}

impl Carry {
    pub(crate) fn within(budget: Option<&MemoryBudget>) -> Self {
        Carry { held: Held::of(budget), ..Carry::default() }
    }

    /// The number of the unfinished PDU; `None` between PDUs.
    pub(crate) fn unfinished(&self) -> Option<u64> {
        (!self.bytes.is_empty()).then_some(self.begun)
    }

    /// Begins an unfinished PDU, in a spare buffer if there is one.
    pub(crate) fn begin(&mut self, spares: &mut Spares) {
        self.begun += 1;
        self.bytes = spares.take();
        if !self.held.grow(self.bytes.capacity()) {
            self.bytes = Vec::new();
        }
    }

    /// Moves octets from the front of `chunk` until `total` octets are present or the chunk is empty.
    fn take_up_to(&mut self, total: usize, chunk: &mut &[u8]) -> Result<(), Error> {
        let missing = total.saturating_sub(self.bytes.len());
        let (taken, rest) = chunk.split_at(missing.min(chunk.len()));
        self.append(taken, total)?;
        *chunk = rest;
        Ok(())
    }

    /// Appends octets. The capacity grows to at most twice the present octets and at most `total`, or to what is needed now.
    /// Fails if the budget or the system has no room for what is needed.
    pub(crate) fn append(&mut self, bytes: &[u8], total: usize) -> Result<(), Error> {
        let needed = self.bytes.len() + bytes.len();
        if needed > self.bytes.capacity() {
            let target = (2 * self.bytes.len()).min(total).max(needed);
            if !self.reserve(target) && !self.reserve(needed) {
                return Err(Error::ReceiveMemoryFull { octets: needed, limit_octets: self.held.limit_octets() });
            }
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Makes the capacity `target` octets, if there is memory.
    fn reserve(&mut self, target: usize) -> bool {
        let before = self.bytes.capacity();
        let reserved =
            self.held.grow(target - before) && self.bytes.try_reserve_exact(target - self.bytes.len()).is_ok();
        self.held.shrink_to(self.bytes.capacity());
        reserved
    }

    /// Discards the octets and returns the buffer to `spares`.
    pub(crate) fn release(&mut self, spares: &mut Spares) {
        spares.give(std::mem::take(&mut self.bytes));
        self.held.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(pdus: &[Vec<u8>]) -> Vec<u8> {
        let mut stream = Vec::new();
        for pdu in pdus {
            stream.extend_from_slice(&u32::try_from(pdu.len()).unwrap().to_be_bytes());
            stream.extend_from_slice(pdu);
        }
        stream
    }

    #[test]
    fn chunk_boundaries_do_not_change_the_pdus() {
        let pdus: Vec<Vec<u8>> = (1..40_usize).map(|i| vec![u8::try_from(i).unwrap(); i * i % 97 + 1]).collect();
        let stream = framed(&pdus);
        for step in 1..stream.len() {
            let mut deframer = Deframer::new(100);
            let mut spares = Spares::none();
            let mut got = Vec::new();
            let mut count = 0;
            for chunk in stream.chunks(step) {
                count += deframer.push(chunk, &mut spares, &mut |pdu| got.push(pdu.to_vec())).unwrap();
            }
            assert_eq!(got, pdus, "in steps of {step}");
            assert_eq!(count, pdus.len());
            assert_eq!(deframer.unfinished_octets(), 0);
            assert_eq!(deframer.carry.bytes.capacity(), 0, "an idle deframer holds no memory");
        }
    }

    /// PDUs of these lengths that begin with their own length.
    fn with_own_length(lengths: &[u32]) -> Vec<Vec<u8>> {
        let pdu = |(at, length): (usize, &u32)| {
            let mut pdu = length.to_le_bytes().to_vec();
            pdu.resize(*length as usize, at as u8);
            pdu
        };
        lengths.iter().enumerate().map(pdu).collect()
    }

    #[test]
    fn pdus_with_their_own_length_are_separated() {
        let pdus = with_own_length(&[5, 330, 6, 99, 5, 1000]);
        let stream = pdus.concat();
        for step in 1..stream.len() {
            let mut deframer = Deframer::new(1000).framed_by(Framing::OwnLength);
            let (mut spares, mut got) = (Spares::none(), Vec::new());
            for chunk in stream.chunks(step) {
                deframer.push(chunk, &mut spares, &mut |pdu| got.push(pdu.to_vec())).unwrap();
            }
            assert_eq!(got, pdus, "in steps of {step}");
        }
    }

    #[test]
    fn own_length_that_is_too_short_or_too_long_is_refused() {
        for (announced, is_empty) in [(0_u32, true), (4, true), (1001, false), (u32::MAX, false)] {
            let mut deframer = Deframer::new(1000).framed_by(Framing::OwnLength);
            let error = deframer.push(&announced.to_le_bytes(), &mut Spares::none(), &mut |_| unreachable!());
            match error.unwrap_err() {
                Error::EmptyPdu => assert!(is_empty, "{announced}"),
                Error::PduTooLong { limit_octets: 1000, .. } => assert!(!is_empty, "{announced}"),
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn memory_follows_received_not_announced_octets() {
        let limit = 1 << 20;
        let mut deframer = Deframer::new(limit);
        let mut spares = Spares::none();
        deframer.push(&(1_u32 << 20).to_be_bytes(), &mut spares, &mut |_| unreachable!()).unwrap();
        for arrived in 1..5000 {
            deframer.push(&[7], &mut spares, &mut |_| unreachable!()).unwrap();
            assert!(deframer.carry.bytes.capacity() <= 2 * (arrived + HEADER_OCTETS) + 8);
        }
    }

    #[test]
    fn unfinished_pdu_beyond_the_share_of_the_memory_is_refused() {
        let budget = MemoryBudget::new(100_000);
        let mut spares = Spares::none();
        let announced = 1_000_000_u32.to_be_bytes();
        let begin = || Deframer::new(1 << 20).within(Some(&budget));
        let (mut greedy, mut modest) = (begin(), begin());
        greedy.push(&announced, &mut spares, &mut |_| unreachable!()).unwrap();
        let error = loop {
            if let Err(error) = greedy.push(&[7; 1000], &mut spares, &mut |_| unreachable!()) {
                break error;
            }
        };
        assert!(
            matches!(error, Error::ReceiveMemoryFull { octets: 40_000..=51_000, limit_octets: 100_000 }),
            "{error}"
        );
        let mut pdus = 0;
        for chunk in framed(&[vec![1; 20_000]]).chunks(3000) {
            pdus += modest.push(chunk, &mut spares, &mut |_| ()).unwrap();
        }
        assert_eq!((pdus, modest.unfinished()), (1, None), "another peer is served");
        drop(greedy);
        assert_eq!(budget.used_octets(), 0);
    }

    #[test]
    fn buffer_is_never_larger_than_the_frame() {
        let mut deframer = Deframer::new(1 << 20);
        let mut spares = Spares::none();
        let stream = framed(&[vec![1; 3000]]);
        for chunk in stream[..3000].chunks(700) {
            deframer.push(chunk, &mut spares, &mut |_| unreachable!()).unwrap();
        }
        assert!(deframer.carry.bytes.capacity() <= stream.len());
    }

    #[test]
    fn invalid_lengths_are_rejected_when_read() {
        for (header, split) in [(0_u32, 0), (0, 2), (101, 0), (101, 3), (u32::MAX, 0), (u32::MAX, 1)] {
            let mut deframer = Deframer::new(100);
            let mut spares = Spares::none();
            let mut stream = framed(&[vec![9; 100]]);
            stream.extend_from_slice(&header.to_be_bytes());
            let (first, second) = stream.split_at(104 + split);
            let mut pdus = 0;
            let mut result = deframer.push(first, &mut spares, &mut |_| pdus += 1);
            if result.is_ok() {
                result = deframer.push(second, &mut spares, &mut |_| pdus += 1);
            }
            assert_eq!(pdus, 1, "the PDU before is delivered");
            match result.unwrap_err() {
                Error::EmptyPdu => assert_eq!(header, 0),
                Error::PduTooLong { announced_octets, limit_octets: 100 } => {
                    assert_eq!(announced_octets, u64::from(header))
                }
                other => panic!("{other}"),
            }
        }
    }
}
