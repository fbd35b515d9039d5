//! The reader of derived codecs: a buffer, a revision, a budget of list items and a store.

use ::flat::{Table, Vector};

use super::Kind;
use crate::{Error, ErrorKind, Heap, MAX_ITEMS, Size, Store};

/// A reader of one buffer.
#[derive(Clone, Debug)]
pub struct Reader<'a, S = Heap<'a>> {
    raw: ::flat::Reader<'a>,
    revision: u8,
    items_left: u32,
    store: S,
}

/// An item of a list: the place of its value, and the table around it if the value is a vector.
pub(super) struct Item<'a> {
    pub place: usize,
    pub table: Option<Table<'a>>,
}

impl<'a> Reader<'a, Heap<'a>> {
    /// Creates a reader that stores lists on the heap.
    #[must_use]
    pub fn new(bytes: &'a [u8], revision: u8) -> Self {
        Reader::with_store(bytes, revision, Heap::default())
    }
}

impl<'a, S: Store<'a>> Reader<'a, S> {
    /// Creates a reader that stores lists in `store`.
    #[must_use]
    pub fn with_store(bytes: &'a [u8], revision: u8, store: S) -> Self {
        Reader { raw: ::flat::Reader::new(bytes), revision, items_left: MAX_ITEMS, store }
    }

    /// The revision of the wire format. The message crate defines the numbers.
    #[must_use]
    pub fn revision(&self) -> u8 {
        self.revision
    }

    pub(super) fn store(&self) -> S {
        self.store
    }

    /// Returns the place of the root. Checks the file identifier if one is required.
    ///
    /// # Errors
    /// Another identifier.
    pub fn root(&self, identifier: Option<[u8; 4]>) -> Result<usize, Error> {
        Ok(self.raw.root(identifier)?)
    }

    /// Opens the table of an item that is a vector.
    pub(super) fn item(&mut self, place: usize) -> Result<Item<'a>, Error> {
        let table = self.table(place)?;
        let place = table.place(0).ok_or_else(|| self.missing(&table, "value"))?;
        Ok(Item { place, table: Some(table) })
    }

    /// Returns the place of a buffer's value: the root, or the field of the root if the value is not a table.
    ///
    /// # Errors
    /// Another identifier; no value.
    pub fn root_value(&mut self, identifier: Option<[u8; 4]>, kind: Kind) -> Result<usize, Error> {
        let root = self.root(identifier)?;
        if let Kind::Table = kind {
            return Ok(root);
        }
        let table = self.table(root)?;
        table.place(0).ok_or_else(|| self.missing(&table, "value"))
    }

    /// Opens the table at `place`. Its fields are nested in it until [`Reader::leave`].
    ///
    /// # Errors
    /// An invalid offset or table; too many nested tables.
    #[inline]
    pub fn table(&mut self, place: usize) -> Result<Table<'a>, Error> {
        Ok(self.raw.table(place)?)
    }

    /// Closes a table.
    #[inline]
    pub fn leave(&mut self, table: &Table<'a>) {
        self.raw.leave(table);
    }

    /// Continues with the fields of `table` after an error in one of them.
    #[inline]
    pub fn resume(&mut self, table: &Table<'a>) {
        self.raw.resume(table);
    }

    /// Returns the slot and place of the present alternative of the CHOICE `name`.
    ///
    /// # Errors
    /// [`ErrorKind::BadTable`] if there is none, or more than one.
    #[inline]
    pub fn only(&self, table: &Table<'a>, name: &'static str) -> Result<(usize, usize), Error> {
        table.only().ok_or(Error { kind: ErrorKind::BadTable, bit: table.position() * 8, at: name })
    }

    /// Reads the octets of a scalar.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`].
    #[inline]
    pub fn scalar<const N: usize>(&self, place: usize) -> Result<[u8; N], Error> {
        Ok(self.raw.scalar(place)?)
    }

    /// Reads a NULL, which is `true`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`].
    #[inline]
    pub fn null(&self, place: usize) -> Result<(), Error> {
        match self.scalar::<1>(place)? {
            [0] => Err(Error::new(ErrorKind::OutOfRange, place * 8)),
            _ => Ok(()),
        }
    }

    /// Reads the octets at `place`.
    ///
    /// # Errors
    /// A length outside `size`.
    #[inline]
    pub fn octets(&self, place: usize, size: Size) -> Result<&'a [u8], Error> {
        let octets = self.raw.octets(place)?;
        sized(octets, size, place)
    }

    /// Reads the characters at `place`.
    ///
    /// # Errors
    /// A length outside `size`.
    #[inline]
    pub fn string(&self, place: usize, size: Size) -> Result<&'a [u8], Error> {
        let characters = self.raw.string(place)?;
        sized(characters, size, place)
    }

    /// Reads the list at `place`.
    ///
    /// # Errors
    /// A length outside `size`; more items than the budget of a message.
    #[inline]
    pub fn list(&mut self, place: usize, width: u8, size: Size) -> Result<Vector, Error> {
        let vector = self.raw.vector(place, width)?;
        if !size.allows(vector.count) {
            return Err(Error::new(ErrorKind::BadLength, place * 8));
        }
        let left = u32::try_from(vector.count).ok().and_then(|count| self.items_left.checked_sub(count));
        self.items_left = left.ok_or(Error::new(ErrorKind::TooManyItems, place * 8))?;
        Ok(vector)
    }

    /// The error for a missing mandatory field.
    #[cold]
    #[must_use]
    pub fn missing(&self, table: &Table<'a>, at: &'static str) -> Error {
        Error { kind: ErrorKind::Missing, bit: table.position() * 8, at }
    }

    /// The error for an unknown value or alternative of `name`.
    #[cold]
    #[must_use]
    pub fn unknown(&self, place: usize, extensible: bool, name: &'static str) -> Error {
        let kind = if extensible { ErrorKind::UnknownExtension } else { ErrorKind::UnknownIndex };
        Error { kind, bit: place * 8, at: name }
    }
}

#[inline]
fn sized(octets: &[u8], size: Size, place: usize) -> Result<&[u8], Error> {
    if size.allows(octets.len()) { Ok(octets) } else { Err(Error::new(ErrorKind::BadLength, place * 8)) }
}
