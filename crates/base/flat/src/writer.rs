//! A writer that appends a buffer to the caller's octets.

use crate::{Error, ErrorKind};

/// The number of remembered vtables: a message has few kinds of tables, and those of a list are adjacent.
const VTABLES: usize = 16;

/// Appends one buffer to the caller's octets.
///
/// After an error the octets end with a partial buffer; the caller truncates them.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
    start: usize,
    /// The positions of the last vtables; the oldest is overwritten first. 0: none.
    vtables: [u32; VTABLES],
    next: usize,
}

/// The places of a table's fields.
#[derive(Clone, Copy, Debug)]
pub struct Places<const N: usize> {
    at: usize,
    offsets: [u16; N],
}

impl<const N: usize> Places<N> {
    /// The place of the field in `slot`, which must be declared in the table.
    ///
    /// # Panics
    /// Panics if the table has no such slot.
    #[inline]
    #[must_use]
    pub fn place(&self, slot: usize) -> usize {
        debug_assert!(self.offsets[slot] != 0, "the table was begun without slot {slot}");
        self.at + usize::from(self.offsets[slot])
    }
}

impl<'b> Writer<'b> {
    /// Starts a buffer after the content of `out`, with an optional file identifier.
    #[must_use]
    pub fn new(out: &'b mut Vec<u8>, identifier: Option<[u8; 4]>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        if let Some(identifier) = identifier {
            out.extend_from_slice(&identifier);
        }
        Writer { out, start, vtables: [0; VTABLES], next: 0 }
    }

    /// The place of the root table's offset.
    #[must_use]
    pub fn root(&self) -> usize {
        0
    }

    /// Octets written so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.out.len() - self.start
    }

    /// Finishes the buffer.
    ///
    /// # Errors
    /// [`ErrorKind::TooLong`].
    pub fn finish(self) -> Result<(), Error> {
        let at = self.position();
        if i32::try_from(at).is_err() {
            return Err(Error { kind: ErrorKind::TooLong, at });
        }
        Ok(())
    }

    /// Writes a scalar, least significant octet first.
    ///
    /// # Panics
    /// Panics if `place` is not one that this writer returned for a scalar of that width.
    #[inline]
    pub fn scalar<const N: usize>(&mut self, place: usize, octets: [u8; N]) {
        let at = self.start + place;
        self.out[at..at + N].copy_from_slice(&octets);
    }

    /// Sets the offset at `place` to the current position.
    #[inline]
    fn lead(&mut self, place: usize) {
        // `finish` detects an offset that does not fit.
        let offset = (self.position() - place) as u32;
        self.scalar(place, offset.to_le_bytes());
    }

    /// Writes zeros until the position is a multiple of `unit`, a power of two, plus `rest`.
    #[inline]
    fn pad(&mut self, unit: usize, rest: usize) {
        let zeros = rest.wrapping_sub(self.position()) & (unit - 1);
        self.out.extend_from_slice(&[0; 8][..zeros]);
    }

    /// Writes a table at the offset `place`. The field in slot `i` has `widths[i]` octets: 1, 2, 4 or 8, or 0 if it is absent. The
    /// fields are zero until they are written.
    #[inline]
    pub fn table<const N: usize>(&mut self, place: usize, widths: [u8; N]) -> Places<N> {
        const { assert!(N <= 1024, "a vtable's length has 16 bits") }
        let mut offsets = [0; N];
        let at = self.lay_out(place, &widths, &mut offsets);
        Places { at, offsets }
    }

    /// Writes a table with a single field. Returns the place of the field.
    #[inline]
    pub fn table_of_one(&mut self, place: usize, slot: u16, width: u8) -> usize {
        let offset = 4u16;
        let at = self.begin(place, usize::from(slot) + 1, offset + u16::from(width), width == 8, |i| {
            if i == usize::from(slot) { offset } else { 0 }
        });
        at + usize::from(offset)
    }

    fn lay_out(&mut self, place: usize, widths: &[u8], offsets: &mut [u16]) -> usize {
        let (mut end, mut wide, mut slots) = (4u16, false, 0);
        for (slot, (&width, offset)) in widths.iter().zip(&mut *offsets).enumerate() {
            let width = u16::from(width);
            match width {
                0 => continue,
                // such a table begins 4 octets after a multiple of 8
                8 => (end, wide) = (((end + 3) & !7) + 4, true),
                _ => end = (end + width - 1) & !(width - 1),
            }
            *offset = end;
            end += width;
            slots = slot + 1;
        }
        self.begin(place, slots, end, wide, |slot| offsets[slot])
    }

    /// Writes the vtable, if it is new, and the table as zeros.
    #[inline]
    fn begin(&mut self, place: usize, slots: usize, end: u16, wide: bool, offset: impl Fn(usize) -> u16) -> usize {
        let length = 4 + 2 * slots as u16;
        let head = u32::from(end) << 16 | u32::from(length);
        let known = self.vtables.into_iter().find(|&vtable| {
            vtable != 0 && {
                let at = self.start + vtable as usize;
                let there = &self.out[at..];
                there.first_chunk() == Some(&head.to_le_bytes())
                    && (0..slots).all(|i| there[4 + 2 * i..6 + 2 * i] == offset(i).to_le_bytes())
            }
        });
        let vtable = match known {
            Some(vtable) => vtable as usize,
            None => {
                self.pad(2, 0);
                let vtable = self.position();
                self.out.extend_from_slice(&head.to_le_bytes());
                for slot in 0..slots {
                    self.out.extend_from_slice(&offset(slot).to_le_bytes());
                }
                // a position that does not fit is not stored, and `finish` fails
                self.vtables[self.next] = u32::try_from(vtable).unwrap_or(0);
                self.next = (self.next + 1) % VTABLES;
                vtable
            }
        };
        if wide {
            self.pad(8, 4)
        } else {
            self.pad(4, 0)
        }
        self.lead(place);
        let at = self.position();
        self.out.resize(self.start + at + usize::from(end), 0);
        self.scalar(at, ((at - vtable) as u32).to_le_bytes());
        at
    }

    /// Writes a vector at the offset `place`, with `count` items of `width` octets (1, 2, 4 or 8), which are zero until they are
    /// written. Returns the place of the first item.
    #[inline]
    pub fn vector(&mut self, place: usize, count: usize, width: u8) -> usize {
        if width == 8 {
            self.pad(8, 4)
        } else {
            self.pad(4, 0)
        }
        self.lead(place);
        self.out.extend_from_slice(&(count as u32).to_le_bytes());
        let first = self.position();
        self.out.resize(self.start + first + count * usize::from(width), 0);
        first
    }

    /// Writes a vector of octets at the offset `place`, from one or several pieces.
    #[inline]
    pub fn octets<'p>(&mut self, place: usize, pieces: impl Iterator<Item = &'p [u8]>) {
        self.pad(4, 0);
        self.lead(place);
        let length = self.position();
        self.out.extend_from_slice(&[0; 4]);
        for piece in pieces {
            self.out.extend_from_slice(piece);
        }
        let count = self.position() - length - 4;
        self.scalar(length, (count as u32).to_le_bytes());
    }

    /// Writes a string at the offset `place`.
    #[inline]
    pub fn string(&mut self, place: usize, text: &str) {
        self.octets(place, core::iter::once(text.as_bytes()));
        self.out.push(0);
    }
}
