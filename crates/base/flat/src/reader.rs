//! A reader of buffers with untrusted content.

use crate::{Error, ErrorKind};

/// The deepest nesting of tables in a buffer. A type can contain itself through tables only, so this bounds the
/// stack that hostile octets can make a decoder use.
pub const MAX_DEPTH: u8 = 64;

/// A reader of one buffer.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    depth: u8,
    /// The number of tables and items that may still be visited. Without shared targets, each has at least one octet.
    visits_left: usize,
}

/// A table with a checked vtable.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    at: usize,
    /// The vtable's entries, two octets each.
    slots: &'a [u8],
    depth: u8,
}

/// A vector; its items are within the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    /// The first item's place.
    pub first: usize,
    /// The number of items.
    pub count: usize,
}

impl<'a> Table<'a> {
    /// The place of a field, if it is present.
    #[inline]
    #[must_use]
    pub fn place(&self, slot: usize) -> Option<usize> {
        match self.slots.get(2 * slot..2 * slot + 2) {
            Some(&[0, 0]) | None => None,
            Some(&[low, high]) => Some(self.at + usize::from(u16::from_le_bytes([low, high]))),
            Some(_) => None,
        }
    }

    /// The slot and place of the only field that is present; `None` if there is none or more than one.
    #[inline]
    #[must_use]
    pub fn only(&self) -> Option<(usize, usize)> {
        let mut fields = (0..self.slots.len() / 2).filter_map(|slot| Some((slot, self.place(slot)?)));
        let only = fields.next()?;
        fields.next().is_none().then_some(only)
    }

    /// The position of the table: octets from the start of the buffer.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }
}

impl<'a> Reader<'a> {
    /// Creates a reader of `bytes`, one buffer.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, depth: 0, visits_left: bytes.len() }
    }

    /// Returns the place of the root table's offset. Checks the file identifier if one is required.
    ///
    /// # Errors
    /// [`ErrorKind::BadIdentifier`], [`ErrorKind::Truncated`].
    #[inline]
    pub fn root(&self, identifier: Option<[u8; 4]>) -> Result<usize, Error> {
        if let Some(identifier) = identifier
            && self.scalar::<4>(4)? != identifier
        {
            return Err(Error { kind: ErrorKind::BadIdentifier, at: 4 });
        }
        Ok(0)
    }

    /// Reads the octets of a scalar, least significant octet first.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`].
    #[inline]
    pub fn scalar<const N: usize>(&self, place: usize) -> Result<[u8; N], Error> {
        let octets = self.bytes.get(place..).and_then(<[u8]>::first_chunk);
        octets.copied().ok_or(Error { kind: ErrorKind::Truncated, at: place })
    }

    /// The position that the offset at `place` points to.
    #[inline]
    fn follow(&self, place: usize) -> Result<usize, Error> {
        match u32::from_le_bytes(self.scalar(place)?) {
            0 => Err(Error { kind: ErrorKind::BadTable, at: place }),
            // a place is within the buffer, and both numbers are far below the maximum of usize
            offset => Ok(place.saturating_add(offset as usize)),
        }
    }

    /// Opens the table that the offset at `place` points to. Its fields are nested in it until [`Reader::leave`].
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::BadTable`], [`ErrorKind::TooDeep`], [`ErrorKind::TooManyVisits`].
    #[inline]
    pub fn table(&mut self, place: usize) -> Result<Table<'a>, Error> {
        let at = self.follow(place)?;
        let bad = Error { kind: ErrorKind::BadTable, at };
        let back = i64::from(i32::from_le_bytes(self.scalar(at)?));
        let vtable = usize::try_from(at as i64 - back).map_err(|_| bad)?;
        let [low, high] = self.scalar(vtable)?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        let truncated = Error { kind: ErrorKind::Truncated, at: vtable };
        let whole = self.bytes.get(vtable..vtable + length).ok_or(truncated)?;
        // the length of the vtable, that of the table, and two octets per slot
        let slots = whole.get(4..).filter(|slots| slots.len() % 2 == 0).ok_or(bad)?;
        self.visit(1, at)?;
        if self.depth >= MAX_DEPTH {
            return Err(Error { kind: ErrorKind::TooDeep, at });
        }
        self.depth += 1;
        Ok(Table { at, slots, depth: self.depth })
    }

    /// Closes a table.
    #[inline]
    pub fn leave(&mut self, table: &Table<'a>) {
        self.depth = table.depth - 1;
    }

    /// Continues with the fields of `table` after an error in one of them.
    #[inline]
    pub fn resume(&mut self, table: &Table<'a>) {
        self.depth = table.depth;
    }

    /// Returns the vector that the offset at `place` points to, with items of `width` octets.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::BadTable`], [`ErrorKind::TooManyVisits`].
    #[inline]
    pub fn vector(&mut self, place: usize, width: u8) -> Result<Vector, Error> {
        let at = self.follow(place)?;
        let count = u32::from_le_bytes(self.scalar(at)?) as usize;
        let octets = count.checked_mul(usize::from(width));
        if octets.is_none_or(|octets| octets > self.bytes.len() - at - 4) {
            return Err(Error { kind: ErrorKind::Truncated, at });
        }
        self.visit(count, at)?;
        Ok(Vector { first: at + 4, count })
    }

    /// Returns the vector of octets that the offset at `place` points to.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::BadTable`].
    #[inline]
    pub fn octets(&self, place: usize) -> Result<&'a [u8], Error> {
        let at = self.follow(place)?;
        let count = u32::from_le_bytes(self.scalar(at)?) as usize;
        let behind = &self.bytes[at + 4..]; // the length was read there
        behind.get(..count).ok_or(Error { kind: ErrorKind::Truncated, at })
    }

    /// Returns the characters of the string that the offset at `place` points to, not validated.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], [`ErrorKind::BadTable`], [`ErrorKind::BadString`].
    #[inline]
    pub fn string(&self, place: usize) -> Result<&'a [u8], Error> {
        let at = self.follow(place)?;
        let count = u32::from_le_bytes(self.scalar(at)?) as usize;
        let behind = &self.bytes[at + 4..]; // the length was read there
        match behind.split_at_checked(count) {
            Some((characters, [0, ..])) => Ok(characters),
            Some((_, [_, ..])) => Err(Error { kind: ErrorKind::BadString, at }),
            _ => Err(Error { kind: ErrorKind::Truncated, at }),
        }
    }

    #[inline]
    fn visit(&mut self, count: usize, at: usize) -> Result<(), Error> {
        self.visits_left = match self.visits_left.checked_sub(count) {
            Some(left) => left,
            None => return Err(Error { kind: ErrorKind::TooManyVisits, at }),
        };
        Ok(())
    }
}
