//! Writing bits, numbers, lengths and open types to the end of the caller's buffer.

use crate::{Error, ErrorKind, Size};

/// Appends one aligned-PER encoding to a buffer of the caller.
///
/// After an error the buffer ends with a partial encoding; the caller truncates it.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
    /// The number of unused bits of the last octet: 0 to 7.
    free: u32,
    start: usize,
    revision: u8,
}

impl<'b> Writer<'b> {
    /// Creates a writer that appends to `out`, for wire formats of `revision`.
    #[must_use]
    pub fn new(out: &'b mut Vec<u8>, revision: u8) -> Self {
        let start = out.len();
        Writer { out, free: 0, start, revision }
    }

    /// The revision of the wire format. The message crate defines the numbers.
    #[must_use]
    pub fn revision(&self) -> u8 {
        self.revision
    }

    /// Creates an error at the current position.
    #[cold]
    #[must_use]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, (self.out.len() - self.start) * 8 - self.free as usize)
    }

    /// Writes one bit.
    #[inline]
    pub fn bit(&mut self, bit: bool) {
        self.bits(u64::from(bit), 1);
    }

    /// Writes the `count` least significant bits of `value`, most significant first. At most 64.
    #[inline]
    pub fn bits(&mut self, value: u64, count: u32) {
        debug_assert!(count <= 64);
        if count == 0 {
            return;
        }
        let value = value & u64::MAX >> (64 - count);
        if count <= self.free {
            if let Some(last) = self.out.last_mut() {
                *last |= (value << (self.free - count)) as u8;
            }
            self.free -= count;
            return;
        }
        // the bits that do not fit into the last octet: 1 to 64
        let left = count - self.free;
        if self.free > 0
            && let Some(last) = self.out.last_mut()
        {
            *last |= (value >> left) as u8;
        }
        if left <= 8 {
            self.out.push((value << (8 - left)) as u8);
            self.free = 8 - left;
        } else {
            self.many_bits(value << (64 - left), left);
        }
    }

    /// Writes the `count` most significant bits of `value`, 9 to 64, at an octet boundary.
    fn many_bits(&mut self, value: u64, count: u32) {
        self.out.extend_from_slice(&value.to_be_bytes()[..count.div_ceil(8) as usize]);
        self.free = count.wrapping_neg() & 7;
    }

    /// Writes one octet at the next octet boundary.
    #[inline]
    fn octet(&mut self, octet: u8) {
        self.align();
        self.out.push(octet);
    }

    /// Writes zero bits up to the next octet boundary.
    #[inline]
    pub fn align(&mut self) {
        self.free = 0;
    }

    /// Writes whole octets from the next octet boundary.
    #[inline]
    pub fn octets(&mut self, octets: &[u8]) {
        self.align();
        self.out.extend_from_slice(octets);
    }

    /// Writes a whole number in `lo..=hi` (X.691 11.5).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`].
    // the bounds are constants at the call: the compiler keeps one of the cases
    #[inline(always)]
    pub fn constrained(&mut self, value: i64, lo: i64, hi: i64) -> Result<(), Error> {
        if value < lo || value > hi {
            return Err(self.error(ErrorKind::OutOfRange));
        }
        let range = hi.wrapping_sub(lo) as u64;
        let offset = value.wrapping_sub(lo) as u64;
        match range {
            0 => {}
            1..=0xFE => self.bits(offset, 64 - range.leading_zeros()),
            0xFF => self.octet(offset as u8),
            0x100..=0xFFFF => self.octets(&(offset as u16).to_be_bytes()),
            _ => self.wide_offset(offset, range),
        }
        Ok(())
    }

    /// Writes a number with a range of more than 64K (X.691 11.5.7.4, 13.2.6): the number of octets, in as many bits as its maximum
    /// needs, then the octets.
    fn wide_offset(&mut self, offset: u64, range: u64) {
        let most = 8 - range.leading_zeros() / 8;
        let count = octets_of(offset);
        self.bits(u64::from(count - 1), 32 - (most - 1).leading_zeros());
        self.octets(&offset.to_be_bytes()[8 - count as usize..]);
    }

    /// Writes a whole number of at least `lo` (X.691 11.7).
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] below `lo`.
    pub fn semi_constrained(&mut self, value: i64, lo: i64) -> Result<(), Error> {
        if value < lo {
            return Err(self.error(ErrorKind::OutOfRange));
        }
        self.number(value.wrapping_sub(lo) as u64, octets_of(value.wrapping_sub(lo) as u64));
        Ok(())
    }

    /// Writes any whole number (X.691 11.8), in the fewest octets of two's complement.
    pub fn unconstrained(&mut self, value: i64) {
        let magnitude = if value < 0 { !value } else { value };
        let count = (64 - (magnitude as u64).leading_zeros()) / 8 + 1;
        self.number(value as u64, count);
    }

    /// Writes the number of octets, and the `count` least significant octets of `value`.
    fn number(&mut self, value: u64, count: u32) {
        self.octet(count as u8);
        self.octets(&value.to_be_bytes()[8 - count as usize..]);
    }

    /// Writes a normally small number (X.691 11.6): the index of an extension addition.
    pub fn normally_small(&mut self, value: u32) {
        if value < 64 {
            self.bits(u64::from(value), 7);
        } else {
            self.bit(true);
            self.number(u64::from(value), octets_of(u64::from(value)));
        }
    }

    /// Writes an extension bitmap of at most 64 bits: `present` has the first addition in bit `count - 1` (X.691 19.7, 19.8).
    pub fn additions(&mut self, present: u64, count: u32) {
        debug_assert!((1..=64).contains(&count));
        self.bits(u64::from(count - 1), 7);
        self.bits(present, count);
    }

    /// Writes a general length below 16384 (X.691 11.9.3.6, 11.9.3.7).
    #[inline]
    pub(crate) fn short_length(&mut self, length: usize) {
        debug_assert!(length < 16384);
        if length < 128 {
            self.octet(length as u8);
        } else {
            self.octets(&(0x8000 | length as u16).to_be_bytes());
        }
    }

    /// Writes the length of a fragment: `sixteens` times 16384, 1 to 4 (X.691 11.9.3.8).
    pub(crate) fn fragment_length(&mut self, sixteens: usize) {
        debug_assert!((1..=4).contains(&sixteens));
        self.octet(0xC0 | sixteens as u8);
    }

    /// Writes the extension bit of a size constraint, if it has one. Returns the bounds that apply to `length`.
    ///
    /// # Errors
    /// [`ErrorKind::BadLength`] outside a constraint that is not extensible.
    #[inline]
    pub(crate) fn effective_size(&mut self, length: usize, size: Size) -> Result<Size, Error> {
        let fits = size.lo <= length && length <= size.hi;
        if size.extensible {
            self.bit(!fits);
        } else if !fits {
            return Err(self.error(ErrorKind::BadLength));
        }
        Ok(if fits { size } else { Size::ANY })
    }

    /// Writes a length with bounds below 64K (X.691 11.9.4.1).
    #[inline]
    pub(crate) fn bounded_length(&mut self, length: usize, size: Size) -> Result<(), Error> {
        debug_assert!(size.hi < 65536);
        self.constrained(length as i64, size.lo as i64, size.hi as i64)
    }

    /// Writes the length of a list of `count` items. Returns the number of items in the first fragment, and whether it is the last.
    ///
    /// # Errors
    /// [`ErrorKind::BadLength`].
    pub(crate) fn begin_list(&mut self, count: usize, size: Size) -> Result<(usize, bool), Error> {
        let bounds = self.effective_size(count, size)?;
        if bounds.hi >= 65536 {
            return Ok(self.next_fragment(count));
        }
        if !bounds.is_fixed() {
            self.bounded_length(count, bounds)?;
        }
        Ok((count, true))
    }

    /// Writes a general length for `count` items, or that of a fragment if there are 16384 or more. Returns the number of items in
    /// the fragment, and whether it is the last.
    pub(crate) fn next_fragment(&mut self, count: usize) -> (usize, bool) {
        if count >= 16384 {
            let sixteens = (count / 16384).min(4);
            self.fragment_length(sixteens);
            (sixteens * 16384, false)
        } else {
            self.short_length(count);
            (count, true)
        }
    }

    /// Writes a general length and octets, in fragments if there are 16384 or more.
    #[inline]
    pub(crate) fn octets_with_length(&mut self, mut octets: &[u8]) {
        while octets.len() >= 16384 {
            let sixteens = (octets.len() / 16384).min(4);
            let (now, later) = octets.split_at(sixteens * 16384);
            self.fragment_length(sixteens);
            self.octets(now);
            octets = later;
        }
        self.short_length(octets.len());
        self.octets(octets);
    }

    /// Writes an open type (X.691 11.2): `write` appends the value, then its length is inserted before it.
    ///
    /// `hint` is the minimum number of octets of the value. No octets are moved if it is in the same class (below 128, below 16384)
    /// as the real length.
    ///
    /// # Errors
    /// The errors of `write`.
    #[inline]
    pub fn open_type(&mut self, hint: usize, write: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        let open = self.begin_open_type(hint);
        write(self)?;
        self.end_open_type(open);
        Ok(())
    }

    /// Starts an open type; [`Writer::end_open_type`] ends it.
    #[inline]
    #[must_use]
    pub fn begin_open_type(&mut self, hint: usize) -> OpenType {
        self.align();
        let at = self.out.len();
        // Two arms, since a copy of a length that the compiler does not know becomes a function call.
        let reserved = if hint < 128 {
            self.out.push(0);
            1
        } else {
            self.out.extend_from_slice(&[0, 0]);
            2
        };
        OpenType { at, reserved }
    }

    /// Ends an open type after [`Writer::begin_open_type`] and writes its length.
    #[inline]
    pub fn end_open_type(&mut self, open: OpenType) {
        self.align();
        let OpenType { at, reserved } = open;
        if self.out.len() == at + reserved {
            self.out.push(0); // X.691 11.1: a value has at least one octet
        }
        let length = self.out.len() - at - reserved;
        match (length, reserved) {
            (0..128, 1) => self.out[at] = length as u8,
            (128..16384, 2) => self.out[at..at + 2].copy_from_slice(&(0x8000 | length as u16).to_be_bytes()),
            _ => self.move_open_type(at, reserved, length),
        }
    }

    /// Moves the octets within the buffer if the space for the length is wrong, or if the value must be fragmented.
    #[cold]
    fn move_open_type(&mut self, at: usize, reserved: usize, length: usize) {
        let (whole, rest) = (length / FRAGMENT, length % FRAGMENT);
        let (sixteens, last) = (rest / 16384, rest % 16384);
        let fragments = whole + usize::from(sixteens > 0);
        let last_header = if last < 128 { 1 } else { 2 };
        let end = at + length + fragments + last_header;
        let from = at + reserved;
        if end > self.out.len() {
            self.out.resize(end, 0);
        }
        // From the last fragment to the first, since they move up. The lengths are written last, when their positions are free.
        let last_from = from + length - last;
        self.out.copy_within(last_from..last_from + last, end - last);
        for i in (0..fragments).rev() {
            let piece = i * FRAGMENT..length.min((i + 1) * FRAGMENT) - if i < whole { 0 } else { last };
            self.out.copy_within(from + piece.start..from + piece.end, at + i + 1 + piece.start);
        }
        self.out.truncate(end);
        for i in 0..fragments {
            let sixteens = if i < whole { 4 } else { sixteens };
            self.out[at + i + i * FRAGMENT] = 0xC0 | sixteens as u8;
        }
        let header = end - last - last_header;
        if last < 128 {
            self.out[header] = last as u8;
        } else {
            self.out[header..header + 2].copy_from_slice(&(0x8000 | last as u16).to_be_bytes());
        }
    }
}

/// The number of octets of the largest fragment (X.691 11.9.3.8).
const FRAGMENT: usize = 65536;

/// A started open type without its length.
#[derive(Debug)]
pub struct OpenType {
    at: usize,
    reserved: usize,
}

/// The number of octets of a non-negative number in the shortest form, at least one.
fn octets_of(value: u64) -> u32 {
    (64 - value.leading_zeros()).div_ceil(8).max(1)
}
