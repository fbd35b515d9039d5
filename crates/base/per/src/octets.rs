//! OCTET STRING (X.691 17).

use core::fmt;
use std::borrow::Cow;

use crate::reader::Length;
use crate::{
    Decode, DecodeSized, Describe, Encode, EncodeSized, Error, ErrorKind, IntoOwned, Reader, Size, Store, Visitor,
    Writer,
};

/// An OCTET STRING, borrowed from the input.
///
/// PER fragments a string of 16384 octets or more: then [`Octets::as_slice`] returns `None`, [`Octets::chunks`] returns the
/// fragments, and [`Octets::to_cow`] joins them.
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
    /// The number of octets.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Slice(octets) => octets.len(),
            Repr::Owned(octets) => octets.len(),
            Repr::Fragments { len, .. } => *len,
        }
    }

    /// Whether the string is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The octets, if they are contiguous.
    #[must_use]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Slice(octets) => Some(octets),
            Repr::Owned(octets) => Some(octets),
            Repr::Fragments { .. } => None,
        }
    }

    /// The octets, joined if they are fragmented.
    #[must_use]
    pub fn to_cow(&self) -> Cow<'_, [u8]> {
        match self.as_slice() {
            Some(octets) => Cow::Borrowed(octets),
            None => Cow::Owned(self.chunks().flatten().copied().collect()),
        }
    }

    /// The fragments, in order.
    #[must_use]
    pub fn chunks(&self) -> Chunks<'_> {
        match &self.0 {
            Repr::Fragments { wire, .. } => Chunks { one: None, wire },
            _ => Chunks { one: self.as_slice(), wire: &[] },
        }
    }

    /// Reassembled octets. An arena that does not drop its values does not drop these.
    pub(crate) fn kept<S: Store<'a>>(octets: Vec<u8>, store: S) -> Self {
        match store.keep(octets) {
            Ok(octets) => Octets::from(octets),
            Err(octets) => Octets::from(octets),
        }
    }

    /// The borrowed slice with its own lifetime, if the string is borrowed and contiguous.
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
        // `wire` was checked when it was read: it has complete fragments and a last length.
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
        decode_octets(reader, size, is_bit_field)
    }
}

/// Whether octets with this constraint are unaligned (X.691 17.6).
#[inline]
fn is_bit_field(bounds: Size) -> bool {
    bounds.is_fixed() && bounds.lo <= 2
}

/// Octets under a size constraint (X.691 17; also PrintableString, with one octet per character). `is_bit_field` returns
/// whether bounds make them an unaligned bit field.
#[inline]
pub(crate) fn decode_octets<'a, S: Store<'a>>(
    reader: &mut Reader<'a, S>,
    size: Size,
    is_bit_field: impl Fn(Size) -> bool,
) -> Result<Octets<'a>, Error> {
    let bounds = reader.effective_size(size)?;
    if bounds.is_fixed() {
        return whole(reader, bounds.lo, is_bit_field(bounds));
    }
    let at = reader.position();
    let octets = match reader.sized_length(bounds)? {
        Length::Whole(count) => whole(reader, count, is_bit_field(bounds))?,
        Length::Fragment(first) => fragments(reader, first)?,
    };
    if octets.len() < bounds.lo || octets.len() > bounds.hi {
        return Err(Error::new(ErrorKind::BadLength, at));
    }
    Ok(octets)
}

#[inline]
fn whole<'a, S: Store<'a>>(reader: &mut Reader<'a, S>, count: usize, is_bit_field: bool) -> Result<Octets<'a>, Error> {
    if count == 0 {
        // X.691 11.9.3.3: an empty string has no padding
        return Ok(Octets::default());
    }
    if is_bit_field && reader.position() & 7 != 0 {
        // not at an octet boundary, so it cannot be a slice of the input
        let octets = (0..count).map(|_| reader.bits(8).map(|octet| octet as u8)).collect::<Result<Vec<_>, _>>()?;
        return Ok(Octets::kept(octets, reader.store()));
    }
    Ok(Octets(Repr::Slice(reader.octets(count)?)))
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
    #[inline(always)]
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        // as for Size::ANY, but short enough for registers: most payloads take this path
        match reader.length()? {
            Length::Whole(count) => reader.octets(count).map(Octets::from),
            Length::Fragment(first) => fragments(reader, first),
        }
    }
}

impl EncodeSized for Octets<'_> {
    #[inline]
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        encode_octets(writer, &self.to_cow(), size, is_bit_field)
    }
}

/// The writing side of [`decode_octets`].
#[inline]
pub(crate) fn encode_octets(
    writer: &mut Writer<'_>,
    octets: &[u8],
    size: Size,
    is_bit_field: impl Fn(Size) -> bool,
) -> Result<(), Error> {
    let bounds = writer.effective_size(octets.len(), size)?;
    if bounds.hi >= 65536 {
        writer.octets_with_length(octets);
        return Ok(());
    }
    if !bounds.is_fixed() {
        writer.bounded_length(octets.len(), bounds)?;
    }
    if is_bit_field(bounds) {
        octets.iter().for_each(|octet| writer.bits(u64::from(*octet), 8));
    } else if !octets.is_empty() {
        writer.octets(octets);
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
