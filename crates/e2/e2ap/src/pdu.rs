//! The PDU around every message: which procedure, which of its messages, and its IEs.

use core::fmt;

use per::{Decode, Encode, Gather, Heap, Reader, Writer};

use crate::container::Container;
use crate::message::{IeRow, Message};
use crate::messages::*;
use crate::{
    Criticality, CriticalityDiagnostics, CriticalityDiagnosticsIe, Error, ProcedureCode, ProtocolIeId,
    TriggeringMessage, TypeOfError, Version,
};

/// Which message of an elementary procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The first.
    Initiating,
    /// The good answer.
    Successful,
    /// The other one.
    Unsuccessful,
}

impl Kind {
    /// The same, as diagnostics name it.
    #[must_use]
    pub const fn triggering_message(self) -> TriggeringMessage {
        match self {
            Kind::Initiating => TriggeringMessage::InitiatingMessage,
            Kind::Successful => TriggeringMessage::SuccessfulOutcome,
            Kind::Unsuccessful => TriggeringMessage::UnsuccessfulOutcome,
        }
    }

    const fn index(self) -> u64 {
        self as u64
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Initiating => "initiating message",
            Kind::Successful => "successful outcome",
            Kind::Unsuccessful => "unsuccessful outcome",
        })
    }
}

/// An IE that was not understood and could be ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownIe<'a> {
    /// Its id.
    pub id: ProtocolIeId,
    /// What its sender wants done about it: ignore or notify.
    pub criticality: Criticality,
    /// Its encoded value; empty in FlatBuffers, where a value is in one piece with the message.
    pub value: &'a [u8],
}

/// Criticalities that a peer wrote and that are not the tables' ones, and mandatory IEs that it left out.
///
/// Known IEs are treated by the tables, as E2AP v03.01 10.3.2 has it; these are kept so that a PDU can be written again
/// as it was, and its sender be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub(crate) procedure: Option<Criticality>,
    pub(crate) ies: Vec<(ProtocolIeId, Criticality)>,
    /// Mandatory IEs that are not there, and that the message does without.
    pub(crate) missing: Vec<(ProtocolIeId, Criticality)>,
}

impl Marks {
    pub(crate) const NONE: Marks = Marks { procedure: None, ies: Vec::new(), missing: Vec::new() };

    /// Whether the sender left out an IE that is mandatory.
    pub(crate) fn lacks(&self, id: ProtocolIeId) -> bool {
        self.missing.iter().any(|(missing, _)| *missing == id)
    }

    #[inline]
    pub(crate) fn of(&self, row: &IeRow) -> Criticality {
        self.ies.iter().find(|(id, _)| *id == row.id).map_or(row.criticality, |(_, criticality)| *criticality)
    }
}

/// A PDU that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<'a> {
    /// The message.
    pub pdu: Pdu<'a>,
    /// What it held besides, or in a form that cannot be read, kept for who knows it.
    pub unknown: Vec<UnknownIe<'a>>,
    /// What its sender marked otherwise than E2AP does.
    pub marks: Marks,
}

impl Decoded<'_> {
    /// Appends the PDU to `out` as it was read, unknown IEs excepted.
    ///
    /// # Errors
    /// As [`Pdu::encode`].
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        self.pdu.encode_marked(version, &self.marks, out)
    }

    /// Mandatory IEs that are not there, and that the message does without (E2AP v03.01 10.3.5).
    pub fn missing(&self) -> impl ExactSizeIterator<Item = ProtocolIeId> {
        self.marks.missing.iter().map(|(id, _)| *id)
    }

    /// What its sender wants to be told of: IEs marked "notify" that were not comprehended (E2AP v03.01 10.3.4.2) or are
    /// missing (10.3.5). They go into the procedure's answer, or into an error indication.
    #[must_use]
    pub fn to_report(&self) -> Option<CriticalityDiagnostics<'static>> {
        let item =
            |ie_id, type_of_error| CriticalityDiagnosticsIe { criticality: Criticality::Notify, ie_id, type_of_error };
        let unknown = self.unknown.iter().filter(|ie| ie.criticality == Criticality::Notify);
        let missing = self.marks.missing.iter().filter(|(_, criticality)| *criticality == Criticality::Notify);
        let not_there = missing.filter(|(id, _)| self.unknown.iter().all(|ie| ie.id != *id));
        let ies: Vec<_> = unknown
            .map(|ie| item(ie.id, TypeOfError::NotUnderstood))
            .chain(not_there.map(|(id, _)| item(*id, TypeOfError::Missing)))
            .take(256) // as many as there is room for
            .collect();
        (!ies.is_empty()).then(|| CriticalityDiagnostics {
            procedure_code: Some(self.pdu.procedure_code()),
            triggering_message: Some(self.pdu.kind().triggering_message()),
            ies: Some(ies.into()),
            ..Default::default()
        })
    }
}

/// The first version that has a procedure, and the procedure's criticality (E2AP v03.01 9.3.2).
pub(crate) const fn procedure(code: ProcedureCode) -> Option<(Version, Criticality)> {
    use Criticality::{Ignore, Reject};
    use Version::{V1_00, V1_01, V2_03, V3_01};
    Some(match code {
        ProcedureCode::E2_SETUP
        | ProcedureCode::RESET
        | ProcedureCode::RIC_CONTROL
        | ProcedureCode::RIC_SERVICE_UPDATE
        | ProcedureCode::RIC_SUBSCRIPTION
        | ProcedureCode::RIC_SUBSCRIPTION_DELETE => (V1_00, Reject),
        ProcedureCode::ERROR_INDICATION | ProcedureCode::RIC_INDICATION | ProcedureCode::RIC_SERVICE_QUERY => {
            (V1_00, Ignore)
        }
        ProcedureCode::E2_NODE_CONFIGURATION_UPDATE | ProcedureCode::E2_CONNECTION_UPDATE => (V1_01, Reject),
        ProcedureCode::RIC_SUBSCRIPTION_DELETE_REQUIRED => (V2_03, Ignore),
        ProcedureCode::E2_REMOVAL => (V2_03, Reject),
        ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION
        | ProcedureCode::RIC_SUBSCRIPTION_MODIFICATION_REQUIRED
        | ProcedureCode::RIC_QUERY => (V3_01, Reject),
        _ => return None,
    })
}

macro_rules! pdus {
    ($($name:ident $(<$lt:lifetime>)?,)*) => {
        /// Any message of E2AP.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)] // each variant is the message of its name
        pub enum Pdu<'a> {
            $( $name($name $(<$lt>)?), )*
        }

        impl<'a> Pdu<'a> {
            /// Which message of its procedure.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $( Pdu::$name(_) => <$name as Message<'a>>::KIND, )* }
            }

            /// Its procedure.
            #[must_use]
            pub const fn procedure_code(&self) -> ProcedureCode {
                match self { $( Pdu::$name(_) => <$name as Message<'a>>::PROCEDURE, )* }
            }

            /// The message's name, as the type is called.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $( Pdu::$name(_) => stringify!($name), )* }
            }

            /// Copies what is borrowed.
            #[must_use]
            pub fn into_owned(self) -> Pdu<'static> {
                match self { $( Pdu::$name(message) => Pdu::$name(per::IntoOwned::into_owned(message)), )* }
            }

            fn decode_message(
                kind: Kind,
                code: ProcedureCode,
                criticality: Criticality,
                mut container: Container<'a>,
            ) -> Result<Decoded<'a>, Error> {
                $( if kind == <$name as Message<'a>>::KIND && code == <$name as Message<'a>>::PROCEDURE {
                    let message = <$name as Message<'a>>::decode_ies(&mut container)?;
                    container.close()?;
                    // here and not once for all: a PDU is large, and this way it is built where it is wanted
                    return Ok(Decoded { pdu: Pdu::$name(message), unknown: container.unknown, marks: container.marks });
                } )*
                Err(Error::UnknownProcedure { kind, procedure_code: code, criticality })
            }

            /// Appends the PDU to `out`, in the wire format of `version`. After an error `out` is as it was.
            ///
            /// # Errors
            /// Where the message has something that `version` cannot carry, lacks something that it demands, or holds
            /// a value outside its constraints: the caller's fault.
            pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
                self.encode_marked(version, &Marks::NONE, out)
            }

            fn encode_marked(&self, version: Version, marks: &Marks, out: &mut Vec<u8>) -> Result<(), per::Error> {
                match self { $( Pdu::$name(message) => encode_marked(message, version, marks, out), )* }
            }
        }

        impl per::Describe for Pdu<'_> {
            fn describe(&self, visitor: &mut dyn per::Visitor) {
                visitor.begin_record();
                visitor.field(self.name());
                match self { $( Pdu::$name(message) => message.describe(visitor), )* }
                visitor.end_record();
            }
        }

        $( impl<'a> From<$name $(<$lt>)?> for Pdu<'a> {
            fn from(message: $name $(<$lt>)?) -> Self {
                Pdu::$name(message)
            }
        } )*

        /// Where each message lies in the FlatBuffers table of all.
        #[cfg(feature = "flat")]
        pub(crate) const SLOTS: &[crate::flat::Slot] = &[ $( crate::flat::Slot::of::<$name>(stringify!($name)), )* ];

        #[cfg(feature = "flat")]
        impl<'a> Pdu<'a> {
            pub(crate) fn read_flat(mut ies: crate::flat::Ies<'a>) -> Result<Decoded<'a>, Error> {
                $( if ies.is::<$name>() {
                    let message = <$name as crate::flat::FlatMessage<'a>>::read_ies(&mut ies)?;
                    return Ok(Decoded { pdu: Pdu::$name(message), unknown: ies.unknown, marks: ies.marks });
                } )*
                unreachable!("SLOTS and these are of the same list")
            }

            pub(crate) fn write_flat(
                &self,
                version: Version,
                marks: &Marks,
                out: &mut Vec<u8>,
            ) -> Result<(), per::Error> {
                match self { $( Pdu::$name(message) => crate::flat::encode_marked(message, version, marks, out), )* }
            }
        }

        /// Every message's name and wire table, for who wants to look something up.
        pub const TABLES: &[(&str, &[crate::message::IeRow])] = &[ $( (stringify!($name), <$name as Message<'_>>::TABLE), )* ];
    };
}

pdus! {
    // The hottest first: they are looked for in this order. It is also that of the FlatBuffers slots: only append.
    RicIndication<'a>,
    RicControlRequest<'a>,
    RicControlAcknowledge<'a>,
    RicControlFailure<'a>,
    RicSubscriptionRequest<'a>,
    RicSubscriptionResponse<'a>,
    RicSubscriptionFailure<'a>,
    RicSubscriptionDeleteRequest,
    RicSubscriptionDeleteResponse,
    RicSubscriptionDeleteFailure<'a>,
    RicSubscriptionDeleteRequired<'a>,
    RicSubscriptionModificationRequest<'a>,
    RicSubscriptionModificationResponse<'a>,
    RicSubscriptionModificationFailure<'a>,
    RicSubscriptionModificationRequired<'a>,
    RicSubscriptionModificationConfirm<'a>,
    RicSubscriptionModificationRefuse<'a>,
    RicQueryRequest<'a>,
    RicQueryResponse<'a>,
    RicQueryFailure<'a>,
    E2SetupRequest<'a>,
    E2SetupResponse<'a>,
    E2SetupFailure<'a>,
    ErrorIndication<'a>,
    ResetRequest,
    ResetResponse<'a>,
    RicServiceUpdate<'a>,
    RicServiceUpdateAcknowledge<'a>,
    RicServiceUpdateFailure<'a>,
    RicServiceQuery<'a>,
    E2NodeConfigurationUpdate<'a>,
    E2NodeConfigurationUpdateAcknowledge<'a>,
    E2NodeConfigurationUpdateFailure<'a>,
    E2ConnectionUpdate<'a>,
    E2ConnectionUpdateAcknowledge<'a>,
    E2ConnectionUpdateFailure<'a>,
    E2RemovalRequest,
    E2RemovalResponse<'a>,
    E2RemovalFailure<'a>,
}

/// Reads a PDU of an association that speaks `version`.
///
/// Whatever is borrowed, is borrowed from `bytes`; from 16384 octets on an IE comes in fragments, and what is in it
/// is put together in `gather` first.
///
/// # Errors
/// What is wrong, and how E2AP answers it.
pub fn decode<'a>(bytes: &'a [u8], version: Version, gather: &'a Gather) -> Result<Decoded<'a>, Error> {
    let mut reader = Reader::with_store(bytes, version.revision(), Heap::gathering(gather));
    let (kind, code, criticality, inner) = header(&mut reader).map_err(Error::Header)?;
    let mut marks = Marks::NONE;
    match procedure(code) {
        Some((since, usual)) if version >= since => marks.procedure = (criticality != usual).then_some(criticality),
        _ => return Err(Error::UnknownProcedure { kind, procedure_code: code, criticality }),
    }
    let container = Container::open(inner, kind, code, marks)?;
    Pdu::decode_message(kind, code, criticality, container)
}

/// Decodes bytes that are to be a RIC INDICATION; see [`decode`].
///
/// # Errors
/// Also [`Error::UnknownProcedure`], where it is another message.
pub fn decode_indication<'a>(
    bytes: &'a [u8],
    version: Version,
    gather: &'a Gather,
) -> Result<RicIndication<'a>, Error> {
    match decode(bytes, version, gather)?.pdu {
        Pdu::RicIndication(indication) => Ok(indication),
        other => Err(Error::UnknownProcedure {
            kind: other.kind(),
            procedure_code: other.procedure_code(),
            criticality: Criticality::Reject,
        }),
    }
}

/// Reads up to the message's container.
pub(crate) fn header<'a>(
    reader: &mut Reader<'a>,
) -> Result<(Kind, ProcedureCode, Criticality, Reader<'a>), per::Error> {
    if reader.bit()? {
        return Err(reader.error(per::ErrorKind::UnknownExtension).within("E2AP-PDU"));
    }
    let kind = match reader.bits(2)? {
        0 => Kind::Initiating,
        1 => Kind::Successful,
        2 => Kind::Unsuccessful,
        _ => return Err(reader.error(per::ErrorKind::UnknownIndex).within("E2AP-PDU")),
    };
    let code = ProcedureCode::decode(reader)?;
    let criticality = Criticality::decode(reader)?;
    let inner = reader.open_type_reader()?;
    reader.finish()?;
    Ok((kind, code, criticality, inner))
}

/// Appends `message` as a PDU of `version` to `out`. After an error `out` is as it was.
///
/// # Errors
/// As [`Pdu::encode`].
pub fn encode<'a, M: Message<'a>>(message: &M, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
    encode_marked(message, version, &Marks::NONE, out)
}

fn encode_marked<'a, M: Message<'a>>(
    message: &M,
    version: Version,
    marks: &Marks,
    out: &mut Vec<u8>,
) -> Result<(), per::Error> {
    let start = out.len();
    let mut writer = Writer::new(out, version.revision());
    let result = encode_pdu(message, version, marks, &mut writer);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn encode_pdu<'a, M: Message<'a>>(
    message: &M,
    version: Version,
    marks: &Marks,
    writer: &mut Writer<'_>,
) -> Result<(), per::Error> {
    let (since, criticality) = const { procedure(M::PROCEDURE).expect("every message belongs to a procedure") };
    if version < since {
        return Err(writer.error(per::ErrorKind::NotInRevision).within("E2AP-PDU"));
    }
    writer.bits(M::KIND.index(), 3);
    M::PROCEDURE.encode(writer)?;
    marks.procedure.unwrap_or(criticality).encode(writer)?;
    writer.open_type(message.size_hint(), |writer| {
        writer.bit(false);
        message.encode_ies(writer, marks)
    })
}
