//! The writer of derived codecs: a buffer and a revision.

use ::flat::Places;

use crate::{Error, ErrorKind, Size};

/// Appends one buffer to octets of the caller.
#[derive(Debug)]
pub struct Writer<'b> {
    raw: ::flat::Writer<'b>,
    revision: u8,
}

impl<'b> Writer<'b> {
    /// Creates a writer that appends to `out`.
    #[must_use]
    pub fn new(out: &'b mut Vec<u8>, revision: u8, identifier: Option<[u8; 4]>) -> Self {
        Writer { raw: ::flat::Writer::new(out, identifier), revision }
    }

    /// The revision of the wire format. The message crate defines the numbers.
    #[must_use]
    pub fn revision(&self) -> u8 {
        self.revision
    }

    /// The place of the root.
    #[must_use]
    pub fn root(&self) -> usize {
        self.raw.root()
    }

    /// Finishes the buffer.
    ///
    /// # Errors
    /// [`ErrorKind::BadLength`] if the buffer exceeds 2 GiB.
    pub fn finish(self) -> Result<(), Error> {
        Ok(self.raw.finish()?)
    }

    /// Creates an error at the current position.
    #[cold]
    #[must_use]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.raw.position() * 8)
    }

    /// Writes a table with fields of these widths; 0 for an absent field.
    #[inline]
    pub fn table<const N: usize>(&mut self, place: usize, widths: [u8; N]) -> Places<N> {
        self.raw.table(place, widths)
    }

    /// Writes a CHOICE. Returns the place of its alternative.
    #[inline]
    pub fn choice(&mut self, place: usize, slot: u16, width: u8) -> usize {
        self.raw.table_of_one(place, slot, width)
    }

    /// Writes the octets of a scalar.
    #[inline]
    pub fn scalar<const N: usize>(&mut self, place: usize, octets: [u8; N]) {
        self.raw.scalar(place, octets);
    }

    /// Writes octets from one or several pieces.
    ///
    /// # Errors
    /// A length outside `size`.
    #[inline]
    pub fn octets<'p>(
        &mut self,
        place: usize,
        length: usize,
        size: Size,
        pieces: impl Iterator<Item = &'p [u8]>,
    ) -> Result<(), Error> {
        self.check(length, size)?;
        self.raw.octets(place, pieces);
        Ok(())
    }

    /// Writes a string.
    ///
    /// # Errors
    /// A length outside `size`.
    #[inline]
    pub fn string(&mut self, place: usize, text: &str, size: Size) -> Result<(), Error> {
        self.check(text.len(), size)?;
        self.raw.string(place, text);
        Ok(())
    }

    /// Writes a list. Returns the place of its first item.
    ///
    /// # Errors
    /// A length outside `size`.
    #[inline]
    pub fn list(&mut self, place: usize, count: usize, width: u8, size: Size) -> Result<usize, Error> {
        self.check(count, size)?;
        Ok(self.raw.vector(place, count, width))
    }

    #[inline]
    fn check(&self, length: usize, size: Size) -> Result<(), Error> {
        if size.allows(length) { Ok(()) } else { Err(self.error(ErrorKind::BadLength)) }
    }
}
