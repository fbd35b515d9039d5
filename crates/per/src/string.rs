//! OCTET STRING, BIT STRING and PrintableString.

use core::fmt;
use std::borrow::Cow;

use crate::reader::Length;
use crate::{
    Decode, DecodeSized, Describe, Encode, EncodeSized, Error, ErrorKind, IntoOwned, Reader, Size, Store, Visitor,
    Writer,
};

/// An OCTET STRING, borrowed from where it was read.
///
/// From 16384 octets on PER cuts a string into fragments: then [`Octets::as_slice`] has nothing to give, and
/// [`Octets::chunks`] gives the pieces, [`Octets::to_cow`] puts them together.
#[derive(Clone)]
pub struct Octets<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    Slice(&'a [u8]),
    Owned(Box<[u8]>),
    /// The wire octets from the first length determinant on, already checked, and the sum of the lengths.
    Fragments {
        wire: &'a [u8],
        len: usize,
    },
}

impl<'a> Octets<'a> {
    /// How many octets.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Slice(octets) => octets.len(),
            Repr::Owned(octets) => octets.len(),
            Repr::Fragments { len, .. } => *len,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The octets, where they lie in one piece.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Slice(octets) => Some(octets),
            Repr::Owned(octets) => Some(octets),
            Repr::Fragments { .. } => None,
        }
    }

    /// The octets, gathered where they lie in pieces.
    #[must_use]
    pub fn to_cow(&self) -> Cow<'_, [u8]> {
        match self.as_slice() {
            Some(octets) => Cow::Borrowed(octets),
            None => Cow::Owned(self.chunks().flatten().copied().collect()),
        }
    }

    /// The pieces, in order.
    #[must_use]
    pub fn chunks(&self) -> Chunks<'_> {
        match &self.0 {
            Repr::Fragments { wire, .. } => Chunks { one: None, wire },
            _ => Chunks { one: self.as_slice(), wire: &[] },
        }
    }

    /// The borrowed slice with its own lifetime, where the string is one.
    #[must_use]
    pub fn borrowed(&self) -> Option<&'a [u8]> {
        match self.0 {
            Repr::Slice(octets) => Some(octets),
            _ => None,
        }
    }
}

/// The pieces of an [`Octets`].
#[derive(Clone, Debug)]
pub struct Chunks<'s> {
    one: Option<&'s [u8]>,
    wire: &'s [u8],
}

impl<'s> Iterator for Chunks<'s> {
    type Item = &'s [u8];
    fn next(&mut self) -> Option<&'s [u8]> {
        if let Some(one) = self.one.take() {
            return Some(one);
        }
        // `wire` was checked when it was read: it holds whole fragments and a last length.
        let (&first, rest) = self.wire.split_first()?;
        let (count, rest) = match first >> 6 {
            0 | 1 => (usize::from(first), rest),
            2 => {
                let (&second, rest) = rest.split_first()?;
                (usize::from(first & 0x3F) << 8 | usize::from(second), rest)
            }
            _ => (usize::from(first & 0x3F) * 16384, rest),
        };
        let (piece, rest) = rest.split_at_checked(count)?;
        self.wire = if first >> 6 == 3 { rest } else { &[] };
        (count > 0).then_some(piece)
    }
}

impl Default for Octets<'_> {
    fn default() -> Self {
        Octets(Repr::Slice(&[]))
    }
}

impl<'a> From<&'a [u8]> for Octets<'a> {
    fn from(octets: &'a [u8]) -> Self {
        Octets(Repr::Slice(octets))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Octets<'a> {
    fn from(octets: &'a [u8; N]) -> Self {
        Octets(Repr::Slice(octets))
    }
}

impl From<Vec<u8>> for Octets<'_> {
    fn from(octets: Vec<u8>) -> Self {
        Octets(Repr::Owned(octets.into()))
    }
}

impl PartialEq for Octets<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.as_slice(), other.as_slice()) {
            (Some(a), Some(b)) => a == b,
            _ => self.len() == other.len() && self.chunks().flatten().eq(other.chunks().flatten()),
        }
    }
}

impl Eq for Octets<'_> {}

impl core::hash::Hash for Octets<'_> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.to_cow().hash(state);
    }
}

impl fmt::Debug for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for octet in self.chunks().flatten() {
            write!(f, "{octet:02x}")?;
        }
        Ok(())
    }
}

impl IntoOwned for Octets<'_> {
    type Owned = Octets<'static>;
    fn into_owned(self) -> Octets<'static> {
        match self.0 {
            Repr::Owned(octets) => Octets(Repr::Owned(octets)),
            _ => Octets::from(self.to_cow().into_owned()),
        }
    }
}

impl Describe for Octets<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.octets(&mut self.chunks());
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for Octets<'a> {
    #[inline]
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, _: Option<&Self>) -> Result<Self, Error> {
        let bounds = reader.effective_size(size)?;
        if bounds.is_fixed() {
            if bounds.lo <= 2 && reader.position() & 7 != 0 {
                // X.691 17.6: one or two octets are not aligned, hence not a slice of the input
                let mut octets = Vec::with_capacity(bounds.lo);
                for _ in 0..bounds.lo {
                    octets.push(reader.bits(8)? as u8);
                }
                return Ok(octets.into());
            }
            return Ok(Octets(Repr::Slice(reader.octets(bounds.lo)?)));
        }
        let at = reader.position();
        let octets = match reader.sized_length(bounds)? {
            // X.691 17.8 with 11.9.3.3: nothing is aligned where nothing follows
            Length::Whole(0) => Octets::default(),
            Length::Whole(count) => Octets(Repr::Slice(reader.octets(count)?)),
            Length::Fragment(first) => fragments(reader, first)?,
        };
        if octets.len() < bounds.lo || octets.len() > bounds.hi {
            return Err(Error::new(ErrorKind::BadLength, at));
        }
        Ok(octets)
    }
}

#[cold]
fn fragments<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, first: usize) -> Result<Octets<'a>, Error> {
    let start = (reader.position() >> 3) - 1;
    let mut len = first;
    reader.octets(first)?;
    loop {
        match reader.length()? {
            Length::Whole(count) => {
                reader.octets(count)?;
                len += count;
                let wire = &reader.bytes()[start..reader.position() >> 3];
                return Ok(Octets(Repr::Fragments { wire, len }));
            }
            Length::Fragment(count) => {
                reader.octets(count)?;
                len += count;
            }
        }
    }
}

impl<'a, S: Store<'a>> Decode<'a, S> for Octets<'a> {
    #[inline]
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        Self::decode_sized(reader, Size::ANY, before)
    }
}

impl EncodeSized for Octets<'_> {
    #[inline]
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        encode_octets(writer, &self.to_cow(), size)
    }
}

/// Octets under a size constraint (X.691 17; also PrintableString, whose characters take an octet each).
#[inline]
fn encode_octets(writer: &mut Writer<'_>, octets: &[u8], size: Size) -> Result<(), Error> {
    let bounds = writer.effective_size(octets.len(), size)?;
    if bounds.is_fixed() {
        if bounds.lo <= 2 {
            octets.iter().for_each(|octet| writer.bits(u64::from(*octet), 8));
        } else {
            writer.octets(octets);
        }
    } else if bounds.hi < 65536 {
        writer.bounded_length(octets.len(), bounds)?;
        if !octets.is_empty() {
            writer.octets(octets);
        }
    } else {
        writer.octets_with_length(octets);
    }
    Ok(())
}

impl Encode for Octets<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.encode_sized(writer, Size::ANY)
    }

    #[inline]
    fn size_hint(&self) -> usize {
        let len = self.len();
        if len == 0 { 0 } else { len + if len < 128 { 1 } else { 2 } }
    }
}

/// A BIT STRING, first bit most significant. Up to 64 bits are kept in place.
#[derive(Clone)]
pub enum BitString<'a> {
    /// Up to 64 bits, in the least significant bits of `value`.
    Short {
        /// The bits, the last one least significant.
        value: u64,
        /// How many count.
        count: u8,
    },
    /// More bits: whole octets, of which the last may be used in part.
    Long {
        /// The octets; unused bits at the end are zero in what we make.
        octets: Octets<'a>,
        /// How many bits count.
        count: usize,
    },
}

impl BitString<'_> {
    /// The `count` least significant bits of `value`.
    #[must_use]
    pub const fn new(value: u64, count: u8) -> Self {
        BitString::Short { value, count }
    }

    /// How many bits.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            BitString::Short { count, .. } => usize::from(*count),
            BitString::Long { count, .. } => *count,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bits as a number, where there are at most 64.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        match self {
            BitString::Short { value, .. } => Some(*value),
            BitString::Long { .. } => None,
        }
    }

    /// The bits as octets, filled up with zero bits.
    #[must_use]
    pub fn to_octets(&self) -> Vec<u8> {
        match self {
            BitString::Short { count: 0, .. } => Vec::new(),
            BitString::Short { value, count } => {
                let octets = (value << (64 - u32::from(*count))).to_be_bytes();
                octets[..usize::from(*count).div_ceil(8)].to_vec()
            }
            BitString::Long { octets, .. } => octets.to_cow().into_owned(),
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
        let at = reader.position();
        let count = if bounds.is_fixed() {
            bounds.lo
        } else {
            match reader.sized_length(bounds)? {
                Length::Whole(count) => count,
                // X.691 16.11: 16384 bits and more come in fragments, each a whole number of octets
                Length::Fragment(first) => return long_bits(reader, first),
            }
        };
        if count < bounds.lo || count > bounds.hi {
            return Err(Error::new(ErrorKind::BadLength, at));
        }
        // X.691 16.9: up to 16 bits of one length are not aligned
        if !(bounds.is_fixed() && count <= 16) && count > 0 {
            reader.align();
        }
        if count <= 64 {
            return Ok(BitString::Short { value: reader.bits(count as u32)?, count: count as u8 });
        }
        let octets = reader.octets(count / 8)?;
        if count % 8 == 0 {
            return Ok(BitString::Long { octets: octets.into(), count });
        }
        // the last bits share their octet with what follows
        let mut octets = octets.to_vec();
        let odd = (count % 8) as u32;
        octets.push((reader.bits(odd)? << (8 - odd)) as u8);
        Ok(BitString::Long { octets: octets.into(), count })
    }
}

#[cold]
fn long_bits<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, first: usize) -> Result<BitString<'a>, Error> {
    let mut octets = reader.octets(first / 8)?.to_vec();
    let mut count = first;
    loop {
        let (last, bits) = match reader.length()? {
            Length::Whole(bits) => (true, bits),
            Length::Fragment(bits) => (false, bits),
        };
        octets.extend_from_slice(reader.octets(bits / 8)?);
        count += bits;
        if last {
            let odd = (bits % 8) as u32;
            if odd > 0 {
                octets.push((reader.bits(odd)? << (8 - odd)) as u8);
            }
            return Ok(BitString::Long { octets: octets.into(), count });
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
        let count = self.len();
        let bounds = writer.effective_size(count, size)?;
        let octets = self.to_octets();
        let mut octets = &octets[..];
        if octets.len() != count.div_ceil(8) || count > 64 && self.value().is_some() {
            return Err(writer.error(ErrorKind::BadLength));
        }
        let mut left = count;
        if bounds.is_fixed() {
            if count > 16 {
                writer.align();
            }
        } else if bounds.hi < 65536 {
            writer.bounded_length(count, bounds)?;
            if count > 0 {
                writer.align();
            }
        } else {
            while left >= 16384 {
                let sixteens = (left / 16384).min(4);
                let (now, later) = octets.split_at(sixteens * 2048);
                writer.fragment_length(sixteens);
                writer.octets(now);
                octets = later;
                left -= sixteens * 16384;
            }
            writer.short_length(left);
        }
        for octet in octets {
            let bits = left.min(8) as u32;
            writer.bits(u64::from(octet >> (8 - bits)), bits);
            left -= bits as usize;
        }
        Ok(())
    }
}

impl Encode for BitString<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.encode_sized(writer, Size::ANY)
    }
}

/// A BIT STRING of at most 64 bits that is a number or a name: copied, compared and hashed as one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits {
    /// The bits, the last one least significant.
    pub value: u64,
    /// How many count: at most 64.
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
        BitString::new(self.value, self.count).encode_sized(writer, size)
    }
}

/// A PrintableString: letters, digits, space and `'()+,-./:=?`.
///
/// Real peers put other ASCII characters into such strings (an underscore, mostly); what is read may hold any ASCII,
/// and is written again as it was.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrintableString<'a>(Cow<'a, str>);

impl<'a> PrintableString<'a> {
    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A string that is known when the program is built.
    ///
    /// # Panics
    /// Where `text` is not ASCII: a fault of the program.
    #[must_use]
    pub const fn literal(text: &'a str) -> Self {
        assert!(text.is_ascii(), "a PrintableString is ASCII");
        PrintableString(Cow::Borrowed(text))
    }
}

impl core::ops::Deref for PrintableString<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> TryFrom<&'a str> for PrintableString<'a> {
    type Error = Error;
    fn try_from(text: &'a str) -> Result<Self, Error> {
        if text.is_ascii() {
            Ok(PrintableString(Cow::Borrowed(text)))
        } else {
            Err(Error::new(ErrorKind::BadCharacter, 0))
        }
    }
}

impl TryFrom<String> for PrintableString<'_> {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        if text.is_ascii() {
            Ok(PrintableString(Cow::Owned(text)))
        } else {
            Err(Error::new(ErrorKind::BadCharacter, 0))
        }
    }
}

impl fmt::Debug for PrintableString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for PrintableString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl IntoOwned for PrintableString<'_> {
    type Owned = PrintableString<'static>;
    fn into_owned(self) -> PrintableString<'static> {
        PrintableString(Cow::Owned(self.0.into_owned()))
    }
}

impl Describe for PrintableString<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.text(&self.0);
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for PrintableString<'a> {
    #[inline]
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, _: Option<&Self>) -> Result<Self, Error> {
        let at = reader.position();
        let octets = Octets::decode_sized(reader, size, None)?;
        let bad = Error::new(ErrorKind::BadCharacter, at);
        let text = match octets.0 {
            Repr::Slice(octets) => Cow::Borrowed(ascii(octets).ok_or(bad)?),
            _ => Cow::Owned(ascii(&octets.to_cow()).ok_or(bad)?.to_owned()),
        };
        Ok(PrintableString(text))
    }
}

#[inline]
fn ascii(octets: &[u8]) -> Option<&str> {
    if octets.is_ascii() { core::str::from_utf8(octets).ok() } else { None }
}

impl<'a, S: Store<'a>> Decode<'a, S> for PrintableString<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        Self::decode_sized(reader, Size::ANY, before)
    }
}

impl EncodeSized for PrintableString<'_> {
    #[inline]
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        encode_octets(writer, self.0.as_bytes(), size)
    }
}

impl Encode for PrintableString<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.encode_sized(writer, Size::ANY)
    }

    fn size_hint(&self) -> usize {
        self.0.len()
    }
}
