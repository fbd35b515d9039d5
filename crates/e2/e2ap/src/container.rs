//! The container of a message's IEs.

use per::{Decode, ErrorKind, Heap, Reader};

use crate::message::IeRow;
use crate::{Criticality, Deviations, Error, IeFault, Kind, ProcedureCode, ProtocolIeId, UnknownIe};

/// An iterator over the IEs of a message, from which the decoders of the wire tables read.
#[doc(hidden)]
#[derive(Debug)]
pub struct Container<'a> {
    reader: Reader<'a>,
    /// Whether extension additions follow the IEs.
    extended: bool,
    /// The number of remaining IEs.
    left: u16,
    /// The bit at which the current IE begins.
    head: usize,
    /// The row after the last of the known IEs so far: the first one that is in order.
    next: usize,
    kind: Kind,
    procedure_code: ProcedureCode,
    pub(crate) unknown: Vec<UnknownIe<'a>>,
    pub(crate) deviations: Deviations,
}

impl<'a> Container<'a> {
    /// Opens the message in `reader`, before its first IE.
    #[inline]
    pub(crate) fn open(
        reader: Reader<'a>,
        kind: Kind,
        procedure_code: ProcedureCode,
        deviations: Deviations,
    ) -> Result<Self, Error> {
        let unknown = Vec::new();
        let mut container =
            Container { reader, extended: false, left: 0, head: 0, next: 0, kind, procedure_code, unknown, deviations };
        let reader = &mut container.reader;
        let opened = reader.bit().and_then(|extended| Ok((extended, u16::decode(reader)?)));
        (container.extended, container.left) = opened.map_err(|source| container.broken(source))?;
        Ok(container)
    }

    #[cold]
    fn broken(&self, source: per::Error) -> Error {
        Error::Container { kind: self.kind, procedure_code: self.procedure_code, source }
    }

    #[cold]
    fn fault(&self, name: &'static str, ie: ProtocolIeId, criticality: Criticality, fault: IeFault) -> Error {
        Error::Ie { kind: self.kind, procedure_code: self.procedure_code, ie, name, criticality, fault }
    }

    /// Returns the column of the version in the wire tables.
    pub fn revision(&self) -> usize {
        usize::from(self.reader.revision())
    }

    /// Reads the id and criticality of the next IE.
    #[inline]
    pub fn next_ie(&mut self) -> Result<Option<(u16, Criticality)>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.head = self.reader.position();
        // id and criticality, up to the octet boundary at which the length of the value begins
        let [high, low, criticality] = match self.reader.octets(3) {
            Ok(octets) => [octets[0], octets[1], octets[2]],
            Err(source) => return Err(self.broken(source)),
        };
        let criticality = match criticality >> 6 {
            0 => Criticality::Reject,
            1 => Criticality::Ignore,
            2 => Criticality::Notify,
            _ => return Err(self.broken(per::Error::new(ErrorKind::OutOfRange, self.head + 16))),
        };
        Ok(Some((u16::from_be_bytes([high, low]), criticality)))
    }

    /// Reads the value of the IE in row `at` of its message's table into `place`. IEs come in the order of the table
    /// (E2AP v03.01 10.3.6); another order is noted.
    #[inline]
    pub fn row<T: Decode<'a, Heap<'a>>>(
        &mut self,
        at: usize,
        table: &[IeRow],
        criticality: Criticality,
        place: &mut Option<T>,
    ) -> Result<(), Error> {
        let row = &table[at];
        if at < self.next {
            self.not_in_order(row, place.is_some())?;
        } else {
            self.next = at + 1;
        }
        self.value(row, criticality, place)
    }

    /// Handles an IE that follows itself or one that it must precede. A value that could not be decoded counts, too.
    #[cold]
    fn not_in_order(&mut self, row: &IeRow, is_known: bool) -> Result<(), Error> {
        let bit = self.head;
        if is_known || self.unknown.iter().any(|ie| ie.id == row.id) {
            return Err(self.fault(row.name, row.id, row.criticality, IeFault::Duplicate { bit }));
        }
        if self.deviations.out_of_order.is_none() {
            let error = self.fault(row.name, row.id, row.criticality, IeFault::OutOfOrder { bit });
            self.deviations.out_of_order = Some(Box::new(error));
        }
        Ok(())
    }

    /// Reads the value of a known IE into `place`.
    #[inline]
    pub fn value<T: Decode<'a, Heap<'a>>>(
        &mut self,
        row: &IeRow,
        criticality: Criticality,
        place: &mut Option<T>,
    ) -> Result<(), Error> {
        if place.is_some() {
            return Err(self.fault(row.name, row.id, row.criticality, IeFault::Duplicate { bit: self.head }));
        }
        if criticality != row.criticality {
            self.deviations.ies.push((row.id, criticality));
        }
        let mut octets = None;
        let read = self.reader.open_type(|reader| {
            octets = Some(reader.whole());
            *place = Some(T::decode(reader)?);
            Ok(())
        });
        match (read, octets) {
            (Ok(()), _) => Ok(()),
            (Err(source), Some(octets)) => {
                *place = None;
                self.malformed(row, octets, source)
            }
            (Err(source), None) => Err(self.broken(source)),
        }
    }

    // Clause 10.3.2/1 both: What is not comprehended is treated by the criticality that it carries. Tests:
    //   unknown_ie_that_may_be_ignored_is_kept, unknown_ie_with_criticality_reject_rejects_message.
    // Clause 10.3.4.2/8 both: An IE that is not comprehended, with criticality ignore, is ignored. Tests:
    //   unknown_ie_that_may_be_ignored_is_kept, conform:unknown-ie-ignore, conform:many-unknown-ies.
    /// Keeps an IE that is not comprehended and may be ignored (E2AP v03.01 10.3.4).
    #[cold]
    fn malformed(&mut self, row: &IeRow, value: &'a [u8], source: per::Error) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.fault(row.name, row.id, row.criticality, IeFault::Malformed(source)));
        }
        self.unknown.push(UnknownIe { id: row.id, criticality: row.criticality, value });
        Ok(())
    }

    /// Handles an IE that the message does not have in this version, by the criticality that it carries.
    #[cold]
    pub fn unknown(&mut self, id: u16, criticality: Criticality) -> Result<(), Error> {
        let id = ProtocolIeId(id);
        let inner = self.reader.open_type_reader().map_err(|source| self.broken(source))?;
        if criticality == Criticality::Reject {
            return Err(self.fault("", id, criticality, IeFault::Unknown { bit: self.head }));
        }
        self.unknown.push(UnknownIe { id, criticality, value: inner.whole() });
        Ok(())
    }

    // Clause 10.3.5/5 both: A missing IE with criticality ignore is ignored, and the procedure continues. Tests:
    //   missing_ie_ignored, agent_missing_ie_ignored, missing_ie_rejects_message_unless_ignorable.
    /// Handles a mandatory IE that is missing or was not decoded, by its criticality (E2AP v03.01 10.3.5).
    #[cold]
    pub fn missing(&mut self, row: &IeRow) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.missing_ie_error(row));
        }
        self.deviations.missing.push((row.id, row.criticality));
        Ok(())
    }

    /// Returns the error for a mandatory IE that the message needs.
    #[cold]
    pub fn missing_ie_error(&self, row: &IeRow) -> Error {
        self.fault(row.name, row.id, row.criticality, IeFault::Missing)
    }

    /// Skips extension additions, which no version defines, and checks that nothing else follows.
    #[inline]
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        let closed = if self.extended { self.skip_additions() } else { Ok(()) };
        closed.and_then(|()| self.reader.finish()).map_err(|source| self.broken(source))
    }

    #[cold]
    fn skip_additions(&mut self) -> Result<(), per::Error> {
        let additions = self.reader.additions()?;
        self.reader.skip_additions(additions)
    }
}
