//! Reading bits, numbers, lengths and open types from a borrowed slice.

use crate::{Error, ErrorKind, Heap, Size, Store};

/// The most list items of one PDU. Bounds the memory that a few hostile octets can make a decoder allocate.
pub const MAX_ITEMS: u32 = 1 << 18;

/// The deepest nesting of open types, lists and boxes in a PDU. A type can contain itself through these only, so this bounds
/// the stack that hostile octets can make a decoder use.
pub const MAX_DEPTH: u8 = 32;

/// A cursor over one aligned-PER encoding.
///
/// Positions are absolute: a reader of an open type inside the input shares the input's slice,
/// so every error contains a bit offset from the start of the PDU.
#[derive(Clone, Debug)]
pub struct Reader<'a, S = Heap<'a>> {
    bytes: &'a [u8],
    /// The first bit of this value.
    start: usize,
    /// The next bit.
    pos: usize,
    /// One past the last bit that belongs to this value.
    end: usize,
    revision: u8,
    depth: u8,
    items_left: u32,
    store: S,
}

/// A length determinant (X.691 11.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// The rest of the value follows.
    Whole(usize),
    /// This number of octets, bits or items follows, then another length determinant.
    Fragment(usize),
}

impl<'a> Reader<'a, Heap<'a>> {
    /// Creates a reader that stores lists on the heap, for wire formats of `revision`.
    #[must_use]
    pub fn new(bytes: &'a [u8], revision: u8) -> Self {
        Reader::with_store(bytes, revision, Heap::default())
    }
}

impl<'a, S: Store<'a>> Reader<'a, S> {
    /// Creates a reader that stores lists and gathered fragments in `store`.
    #[must_use]
    pub fn with_store(bytes: &'a [u8], revision: u8, store: S) -> Self {
        Reader { bytes, start: 0, pos: 0, end: bytes.len() * 8, revision, depth: 0, items_left: MAX_ITEMS, store }
    }

    /// The revision of the wire format. The message crate defines the numbers.
    #[must_use]
    pub fn revision(&self) -> u8 {
        self.revision
    }

    /// Bits read so far, from the start of the outermost input.
    #[must_use]
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Remaining bits of this value.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.end - self.pos
    }

    /// The storage of decoded lists.
    #[must_use]
    pub fn store(&self) -> S {
        self.store
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Creates an error at the current position.
    #[cold]
    #[must_use]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.pos)
    }

    /// Reads one bit.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], as for every method that reads.
    #[inline]
    pub fn bit(&mut self) -> Result<bool, Error> {
        if self.pos >= self.end {
            return Err(self.error(ErrorKind::Truncated));
        }
        let bit = self.bytes[self.pos >> 3] >> (7 - (self.pos & 7)) & 1;
        self.pos += 1;
        Ok(bit == 1)
    }

    /// Reads `count` bits, the first one most significant. At most 64.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`].
    #[inline]
    pub fn bits(&mut self, count: u32) -> Result<u64, Error> {
        debug_assert!(count <= 64);
        if count == 0 {
            return Ok(0);
        }
        if count as usize > self.end - self.pos {
            return Err(self.error(ErrorKind::Truncated));
        }
        let (byte, shift) = (self.pos >> 3, (self.pos & 7) as u32);
        let value = match self.bytes.get(byte..).and_then(|rest| rest.first_chunk()) {
            Some(eight) if shift + count <= 64 => u64::from_be_bytes(*eight) << shift >> (64 - count),
            _ => self.bits_at_edge(byte, shift, count),
        };
        self.pos += count as usize;
        Ok(value)
    }

    /// Reads bits that span nine octets, or near the end of the input.
    fn bits_at_edge(&self, byte: usize, shift: u32, count: u32) -> u64 {
        let mut word = 0u128;
        for (i, octet) in self.bytes[byte..].iter().take(9).enumerate() {
            word |= u128::from(*octet) << (120 - 8 * i);
        }
        (word << shift >> (128 - count)) as u64
    }

    /// Reads one octet from the next octet boundary.
    #[inline]
    fn octet(&mut self) -> Result<u8, Error> {
        self.align();
        if self.pos >= self.end {
            return Err(self.error(ErrorKind::Truncated));
        }
        let octet = self.bytes[self.pos >> 3];
        self.pos += 8;
        Ok(octet)
    }

    /// Skips to the next octet boundary. Padding bits are not checked.
    #[inline]
    pub fn align(&mut self) {
        self.pos = self.end.min((self.pos + 7) & !7);
    }

    /// The remaining octets of this value, if the reader is at an octet boundary. For shortcuts, which recognise frequent
    /// encodings as octets.
    #[inline(always)]
    #[must_use]
    pub fn octets_ahead(&self) -> Option<&'a [u8]> {
        if self.pos & 7 != 0 {
            return None;
        }
        self.bytes.get(self.pos >> 3..self.end >> 3)
    }

    /// Skips octets of [`Reader::octets_ahead`].
    #[inline(always)]
    pub fn skip_octets(&mut self, count: usize) {
        debug_assert!(count * 8 <= self.remaining());
        self.pos += count * 8;
    }

    /// Reads `count` whole octets from the next octet boundary, borrowed.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`].
    #[inline]
    pub fn octets(&mut self, count: usize) -> Result<&'a [u8], Error> {
        self.align();
        if count > (self.end - self.pos) >> 3 {
            return Err(self.error(ErrorKind::Truncated));
        }
        let start = self.pos >> 3;
        self.pos += count * 8;
        Ok(&self.bytes[start..start + count])
    }

    /// Reads a whole number in `lo..=hi` (X.691 11.5).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] when the bits encode a number outside the constraint.
    // the bounds are constants at the call: the compiler keeps one of the cases
    #[inline(always)]
    pub fn constrained(&mut self, lo: i64, hi: i64) -> Result<i64, Error> {
        debug_assert!(lo <= hi);
        let range = hi.wrapping_sub(lo) as u64;
        let at = self.pos;
        let offset = match range {
            0 => return Ok(lo),
            1..=0xFE => self.bits(64 - range.leading_zeros())?,
            0xFF => return Ok(lo.wrapping_add(i64::from(self.octet()?))),
            0x100..=0xFFFF => {
                let octets = self.octets(2)?;
                u64::from(u16::from_be_bytes([octets[0], octets[1]]))
            }
            _ => self.wide_offset(range)?,
        };
        if offset > range {
            return Err(Error::new(ErrorKind::OutOfRange, at));
        }
        Ok(lo.wrapping_add(offset as i64))
    }

    /// Reads a number with a range of more than 64K (X.691 11.5.7.4, 13.2.6): the number of octets, in as many bits as its maximum
    /// needs, then the octets.
    #[inline(always)]
    fn wide_offset(&mut self, range: u64) -> Result<u64, Error> {
        let most = 8 - range.leading_zeros() / 8;
        let width = 32 - (most - 1).leading_zeros();
        // Not near the end, the count is read from two octets and the number from eight.
        let (byte, start) = (self.pos >> 3, (self.pos + width as usize).div_ceil(8));
        if self.end - self.pos >= 80
            && let Some(two) = self.bytes.get(byte..byte + 2)
            && let Some(eight) = self.bytes.get(start..start + 8)
        {
            let window = u32::from(two[0]) << 8 | u32::from(two[1]);
            let count = (window >> (16 - (self.pos & 7) as u32 - width) & ((1 << width) - 1)) + 1;
            if count <= most {
                self.pos = (start + count as usize) * 8;
                let mut octets = [0; 8];
                octets.copy_from_slice(eight);
                return Ok(u64::from_be_bytes(octets) >> (64 - count * 8));
            }
        }
        self.wide_offset_near_the_end(most, width)
    }

    #[cold]
    fn wide_offset_near_the_end(&mut self, most: u32, width: u32) -> Result<u64, Error> {
        let at = self.pos;
        let count = self.bits(width)? as u32 + 1;
        if count > most {
            return Err(Error::new(ErrorKind::OutOfRange, at));
        }
        let octets = self.octets(count as usize)?;
        Ok(octets.iter().fold(0, |number, octet| number << 8 | u64::from(*octet)))
    }

    /// Reads a whole number of at least `lo` (X.691 11.7).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] above `i64::MAX`.
    pub fn semi_constrained(&mut self, lo: i64) -> Result<i64, Error> {
        let at = self.pos;
        let mut offset = 0u64;
        for octet in self.number_octets()? {
            if offset >> 56 != 0 {
                return Err(Error::new(ErrorKind::OutOfRange, at));
            }
            offset = offset << 8 | u64::from(*octet);
        }
        lo.checked_add_unsigned(offset).ok_or(Error::new(ErrorKind::OutOfRange, at))
    }

    /// Reads any whole number (X.691 11.8).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] outside `i64`.
    pub fn unconstrained(&mut self) -> Result<i64, Error> {
        let at = self.pos;
        let content = self.number_octets()?;
        let mut value = i64::from(content[0] as i8);
        for octet in &content[1..] {
            if value << 8 >> 8 != value {
                return Err(Error::new(ErrorKind::OutOfRange, at));
            }
            value = value << 8 | i64::from(*octet);
        }
        Ok(value)
    }

    /// Reads the octets of a number, at least one.
    fn number_octets(&mut self) -> Result<&'a [u8], Error> {
        let at = self.pos;
        match self.length()? {
            Length::Whole(0) => Err(Error::new(ErrorKind::BadLength, at)),
            Length::Whole(n) => self.octets(n),
            Length::Fragment(_) => Err(Error::new(ErrorKind::OutOfRange, at)),
        }
    }

    /// Reads a normally small number (X.691 11.6): the index of an extension addition.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] above `u32::MAX`.
    pub fn normally_small(&mut self) -> Result<u32, Error> {
        if !self.bit()? {
            return Ok(self.bits(6)? as u32);
        }
        let at = self.pos;
        let value = self.semi_constrained(0)?;
        u32::try_from(value).map_err(|_| Error::new(ErrorKind::OutOfRange, at))
    }

    /// Reads the number of bits in an extension bitmap (X.691 11.9.3.4).
    fn normally_small_length(&mut self) -> Result<usize, Error> {
        if !self.bit()? {
            return Ok(self.bits(6)? as usize + 1);
        }
        let at = self.pos;
        match self.length()? {
            Length::Whole(n) if n > 0 => Ok(n),
            _ => Err(Error::new(ErrorKind::BadLength, at)),
        }
    }

    /// Reads a general length determinant (X.691 11.9.3.5 to 11.9.3.8).
    #[inline]
    pub(crate) fn length(&mut self) -> Result<Length, Error> {
        let first = self.octet()?;
        if first < 0x80 { Ok(Length::Whole(usize::from(first))) } else { self.long_length(first) }
    }

    fn long_length(&mut self, first: u8) -> Result<Length, Error> {
        match first {
            ..=0xBF => Ok(Length::Whole(usize::from(first & 0x3F) << 8 | usize::from(self.octet()?))),
            0xC1..=0xC4 => Ok(Length::Fragment(usize::from(first & 0x3F) * 16384)),
            _ => Err(Error::new(ErrorKind::BadLength, self.pos - 8)),
        }
    }

    /// Reads the length of a value of constrained size (X.691 11.9.4.1), without its extension bit.
    #[inline]
    pub(crate) fn sized_length(&mut self, size: Size) -> Result<Length, Error> {
        if size.hi >= 65536 {
            return self.length();
        }
        Ok(Length::Whole(self.constrained(size.lo as i64, size.hi as i64)? as usize))
    }

    /// Reads the extension bit of a size constraint (X.691 20.4, and likewise for strings). If it is set, any length may follow.
    #[inline]
    pub(crate) fn effective_size(&mut self, size: Size) -> Result<Size, Error> {
        if size.extensible && self.bit()? { Ok(Size::ANY) } else { Ok(size) }
    }

    /// Reads the value inside an open type (X.691 11.2) with `read`, which must leave only padding.
    ///
    /// # Errors
    /// The errors of `read`; [`ErrorKind::TrailingOctets`]; [`ErrorKind::Fragmented`] from 16384 octets on if the store cannot
    /// keep gathered octets. An error inside gathered octets contains the bit where the open type begins.
    #[inline]
    pub fn open_type<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let (at, start, end) = (self.pos, self.start, self.end);
        let outer = match self.length()? {
            Length::Whole(count) => {
                self.enter(count)?;
                None
            }
            Length::Fragment(first) => Some(self.enter_gathered(first, at)?),
        };
        // one copy of `read` for both
        let result = match read(self) {
            Ok(value) => self.finish().map(|()| value),
            Err(error) => Err(error),
        };
        self.pos = self.end;
        (self.start, self.end) = (start, end);
        self.depth -= 1;
        match outer {
            None => result,
            Some(outer) => {
                (self.bytes, self.pos) = (outer.bytes, outer.next);
                // the position of an error in gathered octets is that of the open type
                result.map_err(|error| Error { bit: at, ..error })
            }
        }
    }

    /// Restricts the reader to the octets of a fragmented open type.
    #[cold]
    fn enter_gathered(&mut self, first: usize, at: usize) -> Result<Outer<'a>, Error> {
        let inner = self.gathered(first, at)?;
        let outer = Outer { bytes: self.bytes, next: self.pos };
        *self = inner;
        Ok(outer)
    }

    /// Restricts the reader to the next `count` octets.
    #[inline]
    fn enter(&mut self, count: usize) -> Result<(), Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(ErrorKind::TooDeep));
        }
        if count > (self.end - self.pos) >> 3 {
            return Err(self.error(ErrorKind::Truncated));
        }
        self.start = self.pos;
        self.end = self.pos + count * 8;
        self.depth += 1;
        Ok(())
    }

    /// Creates a reader of a fragmented open type that begins at bit `at`. Its first fragment has `first` octets.
    #[cold]
    fn gathered(&mut self, first: usize, at: usize) -> Result<Self, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(ErrorKind::TooDeep));
        }
        let gathered = self.gather(first)?;
        let bytes = self.store.keep(gathered).map_err(|_| Error::new(ErrorKind::Fragmented, at))?;
        Ok(Reader { bytes, start: 0, pos: 0, end: bytes.len() * 8, depth: self.depth + 1, ..self.clone() })
    }

    /// Finishes an open type after [`Reader::open_type_reader`]: checks that `inner` has left only padding, and counts its list
    /// items against the budget of this reader.
    ///
    /// # Errors
    /// [`ErrorKind::TrailingOctets`].
    #[inline]
    pub fn end_open_type(&mut self, inner: Self) -> Result<(), Error> {
        self.items_left = self.items_left.min(inner.items_left);
        inner.finish()
    }

    /// Returns a reader of the octets in an open type, and moves this reader after it. Pass the returned reader to
    /// [`Reader::end_open_type`].
    ///
    /// # Errors
    /// As [`Reader::open_type`]; [`ErrorKind::TooDeep`]. If the octets were gathered from fragments, the inner reader counts its
    /// bits from the start of the gathered octets.
    #[inline]
    pub fn open_type_reader(&mut self) -> Result<Self, Error> {
        let at = self.pos;
        match self.length()? {
            Length::Whole(count) => {
                let mut inner = self.clone();
                inner.enter(count)?;
                self.pos = inner.end;
                Ok(inner)
            }
            Length::Fragment(first) => self.gathered(first, at),
        }
    }

    /// Gathers the octets of a fragmented value whose first fragment has `first` octets.
    fn gather(&mut self, first: usize) -> Result<Vec<u8>, Error> {
        let mut gathered = self.octets(first)?.to_vec();
        loop {
            match self.length()? {
                Length::Whole(n) => {
                    gathered.extend_from_slice(self.octets(n)?);
                    return Ok(gathered);
                }
                Length::Fragment(n) => gathered.extend_from_slice(self.octets(n)?),
            }
        }
    }

    /// Skips an open type without decoding it.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::BadLength`].
    pub fn skip_open_type(&mut self) -> Result<(), Error> {
        loop {
            match self.length()? {
                Length::Whole(n) => return self.octets(n).map(drop),
                Length::Fragment(n) => drop(self.octets(n)?),
            }
        }
    }

    /// Reads an extension bitmap. The additions follow as open types (X.691 19.7 to 19.9).
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::BadLength`].
    pub fn additions(&mut self) -> Result<Additions, Error> {
        let count = self.normally_small_length()?;
        if count > self.remaining() {
            return Err(self.error(ErrorKind::Truncated));
        }
        let known = count.min(64) as u32;
        let bitmap = self.bits(known)? << (64 - known);
        // No known type has more than 64 additions; further ones are skipped as unknown.
        let mut more = 0;
        for _ in known as usize..count {
            more += usize::from(self.bit()?);
        }
        Ok(Additions { bitmap, more })
    }

    /// Skips the additions that were not read.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::BadLength`].
    pub fn skip_additions(&mut self, additions: Additions) -> Result<(), Error> {
        for _ in 0..additions.bitmap.count_ones() as usize + additions.more {
            self.skip_open_type()?;
        }
        Ok(())
    }

    /// Starts a value that may contain values of its own type; [`Reader::ascend`] ends it.
    #[inline]
    pub(crate) fn descend(&mut self) -> Result<(), Error> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(ErrorKind::TooDeep));
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    pub(crate) fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// List items that may still be read.
    pub(crate) fn items_left(&self) -> u32 {
        self.items_left
    }

    /// Counts list items against the PDU's budget. For shortcuts, which read lists as octets.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyItems`].
    #[inline]
    pub fn take_items(&mut self, count: usize) -> Result<(), Error> {
        match u32::try_from(count).ok().and_then(|n| self.items_left.checked_sub(n)) {
            Some(left) => {
                self.items_left = left;
                Ok(())
            }
            None => Err(self.error(ErrorKind::TooManyItems)),
        }
    }

    /// All octets of this value, for a value that begins at an octet boundary, as open types do.
    #[must_use]
    pub fn whole(&self) -> &'a [u8] {
        &self.bytes[self.start >> 3..self.end >> 3]
    }

    /// Checks that only padding is left: fewer than eight bits, or the single octet of a value without bits.
    ///
    /// # Errors
    /// [`ErrorKind::TrailingOctets`].
    pub fn finish(&self) -> Result<(), Error> {
        // X.691 11.1: an empty encoding is one zero octet.
        let left = self.end - self.pos;
        if left >= 8 && !(left == 8 && self.pos == self.start) {
            return Err(self.error(ErrorKind::TrailingOctets));
        }
        Ok(())
    }

    /// Skips bits that were already compared.
    #[inline]
    pub(crate) fn advance(&mut self, bits: usize) {
        debug_assert!(bits <= self.remaining());
        self.pos += bits;
    }
}

/// Where a reader continues after a fragmented open type.
struct Outer<'a> {
    bytes: &'a [u8],
    next: usize,
}

/// The extension additions of a sequence that are not read yet.
#[derive(Clone, Copy, Debug)]
pub struct Additions {
    /// The bitmap with the next addition in the most significant bit.
    bitmap: u64,
    more: usize,
}

impl Additions {
    /// Whether the next addition in order of definition is present.
    #[inline]
    pub fn take(&mut self) -> bool {
        let there = self.bitmap >> 63 == 1;
        self.bitmap <<= 1;
        there
    }
}
