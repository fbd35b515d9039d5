//! E2AP in FlatBuffers.
//!
//! A PDU is the table `Pdu` with one field present: the message, a table with a field for each IE of any version, with the
//! name and in the order of [`messages`](crate::messages). The schema is `schema/e2ap.fbs`.
//!
//! The wire tables apply here too: an IE that a version does not have is unknown, and a mandatory IE must be present. There
//! are no criticalities on the wire; those of the tables apply.

use per::Heap;
use per::flat::schema::{Field, Header, Type};
use per::flat::{Decode, Member, Reader, Schema, Table, Writer};

use crate::message::{IeRow, Message, Presence};
use crate::pdu::{SLOTS, procedure};
use crate::peek::{Indication, Outline};
use crate::{
    Criticality, Decoded, Deviations, Error, IeFault, Kind, Pdu, ProcedureCode, ProtocolIeId, RanFunctionId,
    RicIndication, RicRequestId, TransactionId, UnknownIe, Version,
};

/// The file identifier of every PDU.
pub const IDENTIFIER: [u8; 4] = *b"E2AP";

/// A message, declared by its wire table.
#[doc(hidden)]
pub trait FlatMessage<'a>: Message<'a> {
    /// The IEs, one slot each, as in the wire table.
    const MEMBERS: &'static [Member];
    /// Reads the IEs.
    fn read_ies(ies: &mut Ies<'a>) -> Result<Self, Error>;
    /// Writes the IEs.
    fn write_ies(&self, writer: &mut Writer<'_>, place: usize, deviations: &Deviations) -> Result<(), per::Error>;
}

/// The slot of a message in the table `Pdu`.
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

/// Returns the slot of a message.
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

/// The IEs of a message during decoding.
#[doc(hidden)]
#[derive(Debug)]
pub struct Ies<'a> {
    reader: Reader<'a>,
    table: Table<'a>,
    kind: Kind,
    procedure_code: ProcedureCode,
    pub(crate) unknown: Vec<UnknownIe<'a>>,
    pub(crate) deviations: Deviations,
}

impl<'a> Ies<'a> {
    /// Decodes the header, up to the message.
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
            Ok(table) => {
                Ok(Ies { reader, table, kind, procedure_code, unknown: Vec::new(), deviations: Deviations::NONE })
            }
            Err(source) => Err(Error::Container { kind, procedure_code, source }),
        }
    }

    #[inline]
    pub(crate) fn is<M: Message<'a>>(&self) -> bool {
        self.kind == M::KIND && self.procedure_code == M::PROCEDURE
    }

    /// Decodes the IE in `slot`, if present.
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

    /// Handles a mandatory IE that is missing or was not decoded, by its criticality (E2AP v03.01 10.3.5).
    #[cold]
    fn missing(&mut self, row: &IeRow) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.missing_ie_error(row));
        }
        self.deviations.missing.push((row.id, row.criticality));
        Ok(())
    }

    /// Returns the error for a mandatory IE that the message needs.
    #[cold]
    pub fn missing_ie_error(&self, row: &IeRow) -> Error {
        self.fault(row, IeFault::Missing)
    }

    /// Handles an IE that the message does not have in this version, by its criticality.
    #[cold]
    fn unknown(&mut self, row: &IeRow, place: usize) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.fault(row, IeFault::Unknown { bit: place * 8 }));
        }
        self.keep_unknown(row);
        Ok(())
    }

    /// Keeps an IE that is not comprehended and may be ignored (E2AP v03.01 10.3.4).
    #[cold]
    fn malformed(&mut self, row: &IeRow, presence: Presence, source: per::Error) -> Result<(), Error> {
        if row.criticality == Criticality::Reject {
            return Err(self.fault(row, IeFault::Malformed(source)));
        }
        self.reader.resume(&self.table);
        self.keep_unknown(row);
        if presence == Presence::Mandatory { self.missing(row) } else { Ok(()) }
    }

    fn keep_unknown(&mut self, row: &IeRow) {
        self.unknown.push(UnknownIe { id: row.id, criticality: row.criticality, value: &[] });
    }
}

/// Decodes the kind of message and its place.
fn header<'a>(reader: &mut Reader<'a>) -> Result<(&'static Slot, usize), per::Error> {
    let root = reader.root(Some(IDENTIFIER)).map_err(|error| error.within("E2AP-PDU"))?;
    let table = reader.table(root)?;
    let (slot, place) = reader.only(&table, "E2AP-PDU")?;
    match SLOTS.get(slot) {
        Some(slot) => Ok((slot, place)),
        None => Err(reader.unknown(place, true, "E2AP-PDU")),
    }
}

/// Decodes a PDU of an association with that `version`.
///
/// # Errors
/// The fault of the PDU, from which the cause and diagnostics of the response follow.
pub fn decode(bytes: &[u8], version: Version) -> Result<Decoded<'_>, Error> {
    Pdu::read_flat(Ies::open(bytes, version)?)
}

/// Appends `message` as a PDU of `version` to `out`. After an error `out` is as it was.
///
/// # Errors
/// As [`Pdu::encode`].
pub fn encode<'a, M: FlatMessage<'a>>(message: &M, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
    encode_with_deviations(message, version, &Deviations::NONE, out)
}

pub(crate) fn encode_with_deviations<'a, M: FlatMessage<'a>>(
    message: &M,
    version: Version,
    deviations: &Deviations,
    out: &mut Vec<u8>,
) -> Result<(), per::Error> {
    let (since, _) = const { procedure(M::PROCEDURE).expect("every message belongs to a procedure") };
    per::flat::encode_with(version.revision(), Some(IDENTIFIER), out, |writer, root| {
        if version < since {
            return Err(writer.error(per::ErrorKind::NotInRevision).within("E2AP-PDU"));
        }
        let place = writer.choice(root, const { slot(M::KIND, M::PROCEDURE) }, 4);
        message.write_ies(writer, place, deviations)
    })
}

/// Checks the presence of an IE against the wire table of the version.
#[inline]
#[doc(hidden)]
pub fn check(writer: &Writer<'_>, deviations: &Deviations, row: &IeRow, is_present: bool) -> Result<(), per::Error> {
    let kind = match (row.presence[usize::from(writer.revision())], is_present) {
        (Presence::Mandatory, false) if deviations.is_missing(row.id) => return Ok(()),
        (Presence::Mandatory, false) => per::ErrorKind::Missing,
        (Presence::Absent, true) => per::ErrorKind::NotInRevision,
        _ => return Ok(()),
    };
    Err(writer.error(kind).within(row.name))
}

/// Finds the ids and the payload of an indication; for `None` use [`decode`].
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

/// Finds the ids in any PDU with a readable header.
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

/// Returns the schema as the text of an `.fbs` file.
#[must_use]
pub fn schema() -> String {
    let mut schema = Schema::default();
    schema.table("Pdu", "e2ap::Pdu", &|schema| {
        let message = |slot: &Slot| Field { name: snake(slot.name), ty: declare(schema, slot), mandatory: false };
        SLOTS.iter().map(message).collect()
    });
    schema.text(Header {
        comment: &[
            "E2AP v01.00 to v03.01 in FlatBuffers. Generated from the declarations in crates/e2/e2ap; do not edit.",
            "Exactly one field of a Pdu is present. Fields that a version does not have are absent; E2AP states which are mandatory.",
        ],
        namespace: "ferric.e2ap",
        root: "Pdu",
        identifier: Some("E2AP"),
    })
}

/// Returns the field name of a type: `reset_request` for `ResetRequest`.
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
