//! Writing, with what a codec knows besides the bytes.

use ::flat::Places;

use crate::{Error, ErrorKind, Size};

/// Appends one buffer to octets that the caller keeps and reuses.
#[derive(Debug)]
pub struct Writer<'b> {
    raw: ::flat::Writer<'b>,
    revision: u8,
}

impl<'b> Writer<'b> {
    /// A writer behind what `out` holds already.
    #[must_use]
    pub fn new(out: &'b mut Vec<u8>, revision: u8, identifier: Option<[u8; 4]>) -> Self {
        Writer { raw: ::flat::Writer::new(out, identifier), revision }
    }

    /// Which revision the reader speaks; the meaning of the number is the message crate's.
    #[must_use]
    pub fn revision(&self) -> u8 {
        self.revision
    }

    /// The place of the root.
    #[must_use]
    pub fn root(&self) -> usize {
        self.raw.root()
    }

    /// All is written.
    ///
    /// # Errors
    /// [`ErrorKind::BadLength`] beyond 2 GiB.
    pub fn finish(self) -> Result<(), Error> {
        Ok(self.raw.finish()?)
    }

    /// An error at the present position.
    #[cold]
    #[must_use]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind, self.raw.position() * 8)
    }

    /// A table with fields of those widths, 0 for what is absent.
    #[inline]
    pub fn table<const N: usize>(&mut self, place: usize, widths: [u8; N]) -> Places<N> {
        self.raw.table(place, widths)
    }

    /// A CHOICE, and the place of its alternative.
    #[inline]
    pub fn choice(&mut self, place: usize, slot: u16, width: u8) -> usize {
        self.raw.table_of_one(place, slot, width)
    }

    /// A scalar's octets.
    #[inline]
    pub fn scalar<const N: usize>(&mut self, place: usize, octets: [u8; N]) {
        self.raw.scalar(place, octets);
    }

    /// Octets, which may come in pieces.
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

    /// A string.
    ///
    /// # Errors
    /// A length outside `size`.
    #[inline]
    pub fn string(&mut self, place: usize, text: &str, size: Size) -> Result<(), Error> {
        self.check(text.len(), size)?;
        self.raw.string(place, text);
        Ok(())
    }

    /// A list, and the place of its first item.
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
