//! BIT STRING (X.691 16). Named bits are not supported: all bits of a BIT STRING with named bits are written.

use core::fmt;

use crate::reader::Length;
use crate::{
    Decode, DecodeSized, Describe, Encode, EncodeSized, Error, ErrorKind, IntoOwned, Octets, Reader, Size, Store,
    Visitor, Writer,
};

/// A BIT STRING, first bit most significant. Up to 64 bits are stored inline.
#[derive(Clone)]
pub enum BitString<'a> {
    /// Up to 64 bits, in the least significant bits of `value`.
    Short {
        /// The bits, the last one least significant.
        value: u64,
        /// The number of bits.
        count: u8,
    },
    /// More than 64 bits, in octets; the last octet may have unused bits.
    Long {
        /// The octets. [`BitString`] sets the unused bits at the end to zero when it creates them.
        octets: Octets<'a>,
        /// The number of bits.
        count: usize,
    },
}

impl BitString<'_> {
    /// The `count` least significant bits of `value`.
    #[must_use]
    pub const fn new(value: u64, count: u8) -> Self {
        BitString::Short { value, count }
    }

    /// The number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            BitString::Short { count, .. } => usize::from(*count),
            BitString::Long { count, .. } => *count,
        }
    }

    /// Whether the string is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bits as a number, if there are at most 64.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        match self {
            BitString::Short { value, .. } => Some(*value),
            BitString::Long { .. } => None,
        }
    }

    /// The bits as octets, padded with zero bits.
    #[must_use]
    pub fn to_octets(&self) -> Vec<u8> {
        match self {
            BitString::Short { value, count } => {
                let count = u32::from(*count).min(64);
                let octets = value.checked_shl(64 - count).unwrap_or(0).to_be_bytes();
                octets[..count.div_ceil(8) as usize].to_vec()
            }
            BitString::Long { octets, count } => {
                let mut octets = octets.to_cow().into_owned();
                if let Some(last) = octets.last_mut().filter(|_| count % 8 != 0) {
                    *last &= 0xFF << (8 - count % 8);
                }
                octets
            }
        }
    }
}

impl PartialEq for BitString<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (BitString::Short { value: a, count: n }, BitString::Short { value: b, count: m }) => (a, n) == (b, m),
            _ => self.len() == other.len() && self.to_octets() == other.to_octets(),
        }
    }
}

impl Eq for BitString<'_> {}

impl core::hash::Hash for BitString<'_> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.to_octets().hash(state);
    }
}

impl fmt::Debug for BitString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for octet in self.to_octets() {
            write!(f, "{octet:02x}")?;
        }
        write!(f, "/{}", self.len())
    }
}

impl IntoOwned for BitString<'_> {
    type Owned = BitString<'static>;
    fn into_owned(self) -> BitString<'static> {
        match self {
            BitString::Short { value, count } => BitString::Short { value, count },
            BitString::Long { octets, count } => BitString::Long { octets: octets.into_owned(), count },
        }
    }
}

impl Describe for BitString<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.bits(&self.to_octets(), self.len());
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for BitString<'a> {
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, _: Option<&Self>) -> Result<Self, Error> {
        let bounds = reader.effective_size(size)?;
        if bounds.is_fixed() {
            return whole(reader, bounds.lo, bounds.lo > 16);
        }
        let at = reader.position();
        let bits = match reader.sized_length(bounds)? {
            Length::Whole(count) => whole(reader, count, true)?,
            Length::Fragment(first) => fragments(reader, first)?,
        };
        if bits.len() < bounds.lo || bits.len() > bounds.hi {
            return Err(Error::new(ErrorKind::BadLength, at));
        }
        Ok(bits)
    }
}

/// Reads `count` bits, aligned or unaligned (X.691 16.9 to 16.11).
#[inline]
fn whole<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, count: usize, aligned: bool) -> Result<BitString<'a>, Error> {
    // X.691 11.9.3.3: an empty string has no padding
    if aligned && count > 0 {
        reader.align();
    }
    if count <= 64 {
        return Ok(BitString::Short { value: reader.bits(count as u32)?, count: count as u8 });
    }
    let octets = reader.octets(count / 8)?;
    if count.is_multiple_of(8) {
        return Ok(BitString::Long { octets: octets.into(), count });
    }
    // the last octet also contains bits of the next value
    let mut octets = octets.to_vec();
    odd_bits(reader, count, &mut octets)?;
    Ok(BitString::Long { octets: Octets::kept(octets, reader.store()), count })
}

/// Appends the bits after the last whole octet of `count` bits, as one more octet.
fn odd_bits<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, count: usize, octets: &mut Vec<u8>) -> Result<(), Error> {
    let odd = (count % 8) as u32;
    if odd > 0 {
        octets.push((reader.bits(odd)? << (8 - odd)) as u8);
    }
    Ok(())
}

/// Reads the fragments of a string of 16384 bits or more; each fragment is a whole number of octets (X.691 11.9.3.8).
#[cold]
fn fragments<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, first: usize) -> Result<BitString<'a>, Error> {
    let mut octets = reader.octets(first / 8)?.to_vec();
    let mut count = first;
    loop {
        let (last, bits) = match reader.length()? {
            Length::Whole(bits) => (true, bits),
            Length::Fragment(bits) => (false, bits),
        };
        octets.extend_from_slice(reader.octets(bits / 8)?);
        odd_bits(reader, bits, &mut octets)?;
        count += bits;
        if last {
            return Ok(BitString::Long { octets: Octets::kept(octets, reader.store()), count });
        }
    }
}

impl<'a, S: Store<'a>> Decode<'a, S> for BitString<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        Self::decode_sized(reader, Size::ANY, before)
    }
}

impl EncodeSized for BitString<'_> {
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        match self {
            BitString::Short { value, count } => Bits::new(*value, *count).encode_sized(writer, size),
            BitString::Long { octets, count } => encode_octets(writer, &octets.to_cow(), *count, size),
        }
    }
}

/// Writes the length of `count` bits, which is below 16384 if it is not bounded, and the padding of the bits.
fn begin(writer: &mut Writer<'_>, count: usize, bounds: Size) -> Result<(), Error> {
    if bounds.hi >= 65536 {
        writer.short_length(count);
    } else if !bounds.is_fixed() {
        writer.bounded_length(count, bounds)?;
        if count > 0 {
            writer.align();
        }
    } else if count > 16 {
        writer.align();
    }
    Ok(())
}

fn encode_octets(writer: &mut Writer<'_>, mut octets: &[u8], mut count: usize, size: Size) -> Result<(), Error> {
    if octets.len() != count.div_ceil(8) {
        return Err(writer.error(ErrorKind::BadLength));
    }
    let bounds = writer.effective_size(count, size)?;
    while bounds.hi >= 65536 && count >= 16384 {
        let sixteens = (count / 16384).min(4);
        let (now, later) = octets.split_at(sixteens * 2048);
        writer.fragment_length(sixteens);
        writer.octets(now);
        octets = later;
        count -= sixteens * 16384;
    }
    begin(writer, count, bounds)?;
    if bounds.is_fixed() && count <= 16 {
        for octet in octets {
            let bits = count.min(8) as u32;
            writer.bits(u64::from(octet >> (8 - bits)), bits);
            count -= bits as usize;
        }
    } else if let (Some((last, whole)), odd @ 1..) = (octets.split_last(), count % 8) {
        writer.octets(whole);
        writer.bits(u64::from(last >> (8 - odd)), odd as u32);
    } else if count > 0 {
        writer.octets(octets);
    }
    Ok(())
}

impl Encode for BitString<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.encode_sized(writer, Size::ANY)
    }
}

/// A BIT STRING of at most 64 bits that is used as a number: `Copy`, comparable and hashable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits {
    /// The bits, the last one least significant.
    pub value: u64,
    /// The number of bits: at most 64.
    pub count: u8,
}

impl Bits {
    /// The `count` least significant bits of `value`.
    #[must_use]
    pub const fn new(value: u64, count: u8) -> Self {
        Bits { value, count }
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}/{}", self.value, self.count)
    }
}

impl IntoOwned for Bits {
    type Owned = Bits;
    fn into_owned(self) -> Bits {
        self
    }
}

impl Describe for Bits {
    fn describe(&self, visitor: &mut dyn Visitor) {
        BitString::new(self.value, self.count).describe(visitor);
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for Bits {
    #[inline]
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, _: Option<&Self>) -> Result<Self, Error> {
        let at = reader.position();
        match BitString::decode_sized(reader, size, None)? {
            BitString::Short { value, count } => Ok(Bits { value, count }),
            BitString::Long { .. } => Err(Error::new(ErrorKind::BadLength, at)),
        }
    }
}

impl<'a, S: Store<'a>> Decode<'a, S> for Bits {
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        Self::decode_sized(reader, Size::ANY, before)
    }
}

impl Encode for Bits {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.encode_sized(writer, Size::ANY)
    }
}

impl EncodeSized for Bits {
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        if self.count > 64 || self.count < 64 && self.value >> self.count != 0 {
            return Err(writer.error(ErrorKind::OutOfRange));
        }
        let count = usize::from(self.count);
        let bounds = writer.effective_size(count, size)?;
        begin(writer, count, bounds)?;
        writer.bits(self.value, u32::from(self.count));
        Ok(())
    }
}
