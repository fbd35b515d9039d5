//! E2AP in FlatBuffers.
//!
//! A PDU is the table `Pdu`, of which one field is there: the message, a table with a field for each IE that any version
//! has, under the name and in the order that it has in [`messages`](crate::messages). `schema/e2ap.fbs` is the schema.
//!
//! The wire tables hold here too: what a version does not have is unknown in it, and what it demands must be there. There
//! are no criticalities on the wire; the tables' ones count.

use per::Heap;
use per::flat::schema::{Field, Header, Type};
use per::flat::{Decode, Member, Reader, Schema, Table, Writer};

use crate::message::{IeRow, Message, Presence};
use crate::pdu::{SLOTS, procedure};
use crate::peek::{Indication, Outline};
use crate::{
    Criticality, Decoded, Error, IeFault, Kind, Marks, Pdu, ProcedureCode, ProtocolIeId, RanFunctionId, RicIndication,
    RicRequestId, TransactionId, UnknownIe, Version,
};

/// The file identifier that each PDU has.
pub const IDENTIFIER: [u8; 4] = *b"E2AP";

/// A message, laid out by its table.
#[doc(hidden)]
pub trait FlatMessage<'a>: Message<'a> {
    /// Its IEs: a slot each, as in the wire table.
    const MEMBERS: &'static [Member];
    /// Reads the IEs.
    fn read_ies(ies: &mut Ies<'a>) -> Result<Self, Error>;
    /// Writes the IEs.
    fn write_ies(&self, writer: &mut Writer<'_>, place: usize, marks: &Marks) -> Result<(), per::Error>;
}

/// A message's place in the table of all.
#[derive(Debug)]
pub(crate) struct Slot {
    name: &'static str,
    kind: Kind,
    procedure_code: ProcedureCode,
    rows: &'static [IeRow],
    members: &'static [Member],
}

impl Slot {
    pub(crate) const fn of<'a, M: FlatMessage<'a>>(name: &'static str) -> Self {
        Slot { name, kind: M::KIND, procedure_code: M::PROCEDURE, rows: M::TABLE, members: M::MEMBERS }
    }
}

/// The slot of the message of that procedure.
const fn slot(kind: Kind, procedure_code: ProcedureCode) -> u16 {
    let mut slot = 0;
    while slot < SLOTS.len() {
        if SLOTS[slot].kind as u8 == kind as u8 && SLOTS[slot].procedure_code.0 == procedure_code.0 {
            return slot as u16;
        }
        slot += 1;
    }
    panic!("every message has a slot")
}

/// The IEs of a message that is being read.
#[doc(hidden)]
#[derive(Debug)]
pub struct Ies<'a> {
    reader: Reader<'a>,
    table: Table<'a>,
    kind: Kind,
    procedure_code: ProcedureCode,
    pub(crate) unknown: Vec<UnknownIe<'a>>,
    pub(crate) marks: Marks,
}

impl<'a> Ies<'a> {
    /// Reads up to the message.
    #[inline]
    fn open(bytes: &'a [u8], version: Version) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, version.revision());
        let (slot, place) = header(&mut reader).map_err(Error::Header)?;
        let Slot { kind, procedure_code, .. } = *slot;
        match procedure(procedure_code) {
            Some((since, _)) if version >= since => {}
            known => {
                let criticality = known.map_or(Criticality::Reject, |(_, criticality)| criticality);
                return Err(Error::UnknownProcedure { kind, procedure_code, criticality });
            }
        }
        match reader.table(place) {
            Ok(table) => Ok(Ies { reader, table, kind, procedure_code, unknown: Vec::new(), marks: Marks::NONE }),
            Err(source) => Err(Error::Container { kind, procedure_code, source }),
        }
    }

    #[inline]
    pub(crate) fn is<M: Message<'a>>(&self) -> bool {
        self.kind == M::KIND && self.procedure_code == M::PROCEDURE
    }

    /// The IE in `slot`, where it is there.
    #[inline]
    pub fn value<T: Decode<'a, Heap<'a>>>(&mut self, slot: usize, rows: &[IeRow]) -> Result<Option<T>, Error> {
        let row = &rows[slot];
        let presence = row.presence[usize::from(self.reader.revision())];
        match (self.table.place(slot), presence) {
            (None, Presence::Mandatory) => self.missing(row).map(|()| None),
            (None, _) => Ok(None),
            (Some(place), Presence::Absent) => self.unknown(row, place).map(|()| None),
            (Some(place), _) => match T::read(&mut self.reader, place) {
                Ok(value) => Ok(Some(value)),
                Err(source) => self.malformed(row, presence, source).map(|()| None),
            },
        }
    }

    #[cold]
    fn fault(&self, row: &IeRow, fault: IeFault) -> Error {
        let IeRow { id: ie, name, criticality, .. } = *row;
        Error::Ie { kind: self.kind, procedure_code: self.procedure_code, ie, name, criticality, fault }
    }

    /// A mandatory IE that did not come, or could not be read: its criticality tells what to do (E2AP v03.01 10.3.5).
    #[cold]
    fn missing(&mut self, row: &IeRow) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.lacks(row));
        }
        self.marks.missing.push((row.id, row.criticality));
        Ok(())
    }

    /// A mandatory IE without which there is no message.
    #[cold]
    pub fn lacks(&self, row: &IeRow) -> Error {
        self.fault(row, IeFault::Missing)
    }

    /// An IE that the message does not have in this version: its criticality tells what to do.
    #[cold]
    fn unknown(&mut self, row: &IeRow, place: usize) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.fault(row, IeFault::Unknown { bit: place * 8 }));
        }
        self.passed_over(row);
        Ok(())
    }

    /// E2AP v03.01 10.3.4: what is not comprehended and may be ignored does not spoil the message.
    #[cold]
    fn malformed(&mut self, row: &IeRow, presence: Presence, source: per::Error) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.fault(row, IeFault::Malformed(source)));
        }
        self.reader.resume(&self.table);
        self.passed_over(row);
        if presence == Presence::Mandatory { self.missing(row) } else { Ok(()) }
    }

    fn passed_over(&mut self, row: &IeRow) {
        self.unknown.push(UnknownIe { id: row.id, criticality: row.criticality, value: &[] });
    }
}

/// Which message it is, and its place.
fn header<'a>(reader: &mut Reader<'a>) -> Result<(&'static Slot, usize), per::Error> {
    let root = reader.root(Some(IDENTIFIER)).map_err(|error| error.within("E2AP-PDU"))?;
    let table = reader.table(root)?;
    let (slot, place) = reader.only(&table, "E2AP-PDU")?;
    match SLOTS.get(slot) {
        Some(slot) => Ok((slot, place)),
        None => Err(reader.unknown(place, true, "E2AP-PDU")),
    }
}

/// Reads a PDU of an association that speaks `version`.
///
/// # Errors
/// What is wrong, and how E2AP answers it.
pub fn decode(bytes: &[u8], version: Version) -> Result<Decoded<'_>, Error> {
    Pdu::read_flat(Ies::open(bytes, version)?)
}

/// Appends `message` as a PDU of `version` to `out`. After an error `out` is as it was.
///
/// # Errors
/// As [`Pdu::encode`].
pub fn encode<'a, M: FlatMessage<'a>>(message: &M, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
    encode_marked(message, version, &Marks::NONE, out)
}

pub(crate) fn encode_marked<'a, M: FlatMessage<'a>>(
    message: &M,
    version: Version,
    marks: &Marks,
    out: &mut Vec<u8>,
) -> Result<(), per::Error> {
    let (since, _) = const { procedure(M::PROCEDURE).expect("every message belongs to a procedure") };
    per::flat::encode_with(version.revision(), Some(IDENTIFIER), out, |writer, root| {
        if version < since {
            return Err(writer.error(per::ErrorKind::NotInRevision).within("E2AP-PDU"));
        }
        let place = writer.choice(root, const { slot(M::KIND, M::PROCEDURE) }, 4);
        message.write_ies(writer, place, marks)
    })
}

/// Whether a version's wire table allows that an IE is there, or is not.
#[inline]
#[doc(hidden)]
pub fn check(writer: &Writer<'_>, marks: &Marks, row: &IeRow, is_there: bool) -> Result<(), per::Error> {
    let kind = match (row.presence[usize::from(writer.revision())], is_there) {
        (Presence::Mandatory, false) if marks.lacks(row.id) => return Ok(()),
        (Presence::Mandatory, false) => per::ErrorKind::Missing,
        (Presence::Absent, true) => per::ErrorKind::NotInRevision,
        _ => return Ok(()),
    };
    Err(writer.error(kind).within(row.name))
}

/// Reads an indication's ids and finds its payload, or leaves the PDU to [`decode`] by `None`.
#[inline]
#[must_use]
pub fn indication(pdu: &[u8]) -> Option<Indication<'_>> {
    let mut ies = Ies::open(pdu, Version::V3_01).ok()?;
    if !ies.is::<RicIndication<'_>>() {
        return None;
    }
    let indication = RicIndication::read_ies(&mut ies).ok()?;
    Some(Indication {
        request_id: indication.request_id,
        ran_function_id: indication.ran_function_id,
        action_id: indication.action_id,
        sn: indication.sn,
        kind: indication.kind,
        header: indication.header.borrowed()?,
        message: indication.message.borrowed()?,
        call_process_id: match indication.call_process_id {
            Some(id) => Some(id.borrowed()?),
            None => None,
        },
    })
}

/// Tells what can be told of any PDU, however broken its message is.
#[must_use]
pub fn outline(pdu: &[u8]) -> Option<Outline> {
    let mut reader = Reader::new(pdu, Version::V3_01.revision());
    let (slot, place) = header(&mut reader).ok()?;
    let (_, criticality) = procedure(slot.procedure_code)?;
    let mut outline = Outline {
        kind: slot.kind,
        procedure_code: slot.procedure_code,
        criticality,
        transaction_id: None,
        request_id: None,
        ran_function_id: None,
    };
    if let Ok(table) = reader.table(place) {
        for (slot, row) in slot.rows.iter().enumerate() {
            let Some(place) = table.place(slot) else { continue };
            match row.id {
                ProtocolIeId(49) => outline.transaction_id = TransactionId::read(&mut reader, place).ok(),
                ProtocolIeId(29) => outline.request_id = RicRequestId::read(&mut reader, place).ok(),
                ProtocolIeId(5) => outline.ran_function_id = RanFunctionId::read(&mut reader, place).ok(),
                _ => {}
            }
        }
    }
    Some(outline)
}

/// The schema, as the text of an `.fbs` file.
#[must_use]
pub fn schema() -> String {
    let mut schema = Schema::default();
    schema.table("Pdu", "e2ap::Pdu", &|schema| {
        let message = |slot: &Slot| Field { name: snake(slot.name), ty: declare(schema, slot), mandatory: false };
        SLOTS.iter().map(message).collect()
    });
    schema.text(Header {
        comment: &[
            "E2AP v01.00 to v03.01 in FlatBuffers. Made from the declarations in crates/e2ap: do not edit.",
            "One field of a Pdu is there. What a version lacks is absent; what it demands, E2AP's tables say.",
        ],
        namespace: "ferric.e2ap",
        root: "Pdu",
        identifier: Some("E2AP"),
    })
}

/// `ResetRequest` as a field's name: `reset_request`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

fn declare(schema: &mut Schema, slot: &Slot) -> Type {
    schema.table(slot.name, slot.name, &|schema| {
        slot.members
            .iter()
            .map(|&(name, mandatory, ty)| Field { name: name.to_owned(), ty: ty(schema), mandatory })
            .collect()
    })
}
