//! The E2AP PDU: the procedure, the kind of message, and the message.

use core::fmt;

use per::{Decode, Encode, Gather, Heap, Reader, Writer};

use crate::container::Container;
use crate::message::{IeRow, Message};
use crate::messages::*;
use crate::{
    Criticality, CriticalityDiagnostics, CriticalityDiagnosticsIe, Error, ProcedureCode, ProtocolIeId,
    TriggeringMessage, TypeOfError, Version, peek,
};

/// The kind of a message within its elementary procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The message that starts the procedure.
    Initiating,
    /// The response that reports success.
    Successful,
    /// The response that reports failure.
    Unsuccessful,
}

impl Kind {
    /// Returns the kind in the form of Criticality Diagnostics.
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

/// An IE that was not comprehended and may be ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownIe<'a> {
    /// The id.
    pub id: ProtocolIeId,
    /// The criticality that the sender assigned: ignore or notify.
    pub criticality: Criticality,
    /// The encoded value; empty in FlatBuffers, where a value is not separate from the message.
    pub value: &'a [u8],
}

/// Deviations of a received message: criticalities that differ from the tables, missing mandatory IEs, and IEs out of order.
///
/// Known IEs are handled by the tables (E2AP v03.01 10.3.2). The deviations are kept so that the PDU can be encoded again as it
/// was, and reported to its sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deviations {
    pub(crate) procedure: Option<Criticality>,
    pub(crate) ies: Vec<(ProtocolIeId, Criticality)>,
    /// Mandatory IEs that are missing and without which the message was processed.
    pub(crate) missing: Vec<(ProtocolIeId, Criticality)>,
    /// The first IE that follows one that it must precede, as the error that a strict receiver answers.
    pub(crate) out_of_order: Option<Box<Error>>,
}

impl Deviations {
    pub(crate) const NONE: Deviations =
        Deviations { procedure: None, ies: Vec::new(), missing: Vec::new(), out_of_order: None };

    /// Returns whether the mandatory IE is missing.
    pub(crate) fn is_missing(&self, id: ProtocolIeId) -> bool {
        self.missing.iter().any(|(missing, _)| *missing == id)
    }

    #[inline]
    pub(crate) fn of(&self, row: &IeRow) -> Criticality {
        self.ies.iter().find(|(id, _)| *id == row.id).map_or(row.criticality, |(_, criticality)| *criticality)
    }
}

/// A decoded PDU.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<'a> {
    /// The message.
    pub pdu: Pdu<'a>,
    /// IEs that are unknown or could not be decoded.
    pub unknown: Vec<UnknownIe<'a>>,
    /// Deviations from the tables.
    pub deviations: Deviations,
}

impl Decoded<'_> {
    /// Appends the PDU to `out` as it was decoded, except for unknown IEs, and in order.
    ///
    /// # Errors
    /// As [`Pdu::encode`].
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
        self.pdu.encode_with_deviations(version, &self.deviations, out)
    }

    /// Returns the missing mandatory IEs without which the message was processed (E2AP v03.01 10.3.5).
    pub fn missing(&self) -> impl ExactSizeIterator<Item = ProtocolIeId> {
        self.deviations.missing.iter().map(|(id, _)| *id)
    }

    /// Returns the error that the PDU is if IEs must be in order (E2AP v03.01 10.3.6): it names the first IE that is not. Nothing
    /// else is wrong with the PDU then.
    #[must_use]
    pub fn out_of_order(&self) -> Option<&Error> {
        self.deviations.out_of_order.as_deref()
    }

    /// Returns the diagnostics to report to the sender: IEs with criticality notify that were not comprehended (E2AP v03.01
    /// 10.3.4.2) or are missing (10.3.5). They belong into the response of the procedure, or into an error indication.
    #[must_use]
    pub fn to_report(&self) -> Option<CriticalityDiagnostics<'static>> {
        let item =
            |ie_id, type_of_error| CriticalityDiagnosticsIe { criticality: Criticality::Notify, ie_id, type_of_error };
        let unknown = self.unknown.iter().filter(|ie| ie.criticality == Criticality::Notify);
        let missing = self.deviations.missing.iter().filter(|(_, criticality)| *criticality == Criticality::Notify);
        let not_there = missing.filter(|(id, _)| self.unknown.iter().all(|ie| ie.id != *id));
        let ies: Vec<_> = unknown
            .map(|ie| item(ie.id, TypeOfError::NotUnderstood))
            .chain(not_there.map(|(id, _)| item(*id, TypeOfError::Missing)))
            .take(256) // the maximum of the list
            .collect();
        (!ies.is_empty()).then(|| CriticalityDiagnostics {
            procedure_code: Some(self.pdu.procedure_code()),
            triggering_message: Some(self.pdu.kind().triggering_message()),
            ies: Some(ies.into()),
            ..Default::default()
        })
    }
}

/// Returns the first version that has a procedure, and the procedure's criticality (E2AP v03.01 9.3.2).
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
        #[non_exhaustive]
        pub enum Pdu<'a> {
            $( $name($name $(<$lt>)?), )*
        }

        impl<'a> Pdu<'a> {
            /// Returns the kind of message within its procedure.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self { $( Pdu::$name(_) => <$name as Message<'a>>::KIND, )* }
            }

            /// Returns the procedure.
            #[must_use]
            pub const fn procedure_code(&self) -> ProcedureCode {
                match self { $( Pdu::$name(_) => <$name as Message<'a>>::PROCEDURE, )* }
            }

            /// Returns the name of the message's type.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $( Pdu::$name(_) => stringify!($name), )* }
            }

            /// Copies all borrowed data.
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
                    // not after the loop: a PDU is large, and here it is built in its final place
                    return Ok(Decoded { pdu: Pdu::$name(message), unknown: container.unknown, deviations: container.deviations });
                } )*
                Err(Error::UnknownProcedure { kind, procedure_code: code, criticality })
            }

            /// Appends the PDU to `out`, in the wire format of `version`. After an error `out` is as it was.
            ///
            /// # Errors
            /// The message contains an IE that `version` does not have, lacks one that is mandatory in it, or contains a value
            /// outside its constraints.
            pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), per::Error> {
                self.encode_with_deviations(version, &Deviations::NONE, out)
            }

            fn encode_with_deviations(&self, version: Version, deviations: &Deviations, out: &mut Vec<u8>) -> Result<(), per::Error> {
                match self { $( Pdu::$name(message) => encode_with_deviations(message, version, deviations, out), )* }
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

        /// The slot of each message in the FlatBuffers table `Pdu`.
        #[cfg(feature = "flat")]
        pub(crate) const SLOTS: &[crate::flat::Slot] = &[ $( crate::flat::Slot::of::<$name>(stringify!($name)), )* ];

        #[cfg(feature = "flat")]
        impl<'a> Pdu<'a> {
            pub(crate) fn read_flat(mut ies: crate::flat::Ies<'a>) -> Result<Decoded<'a>, Error> {
                $( if ies.is::<$name>() {
                    let message = <$name as crate::flat::FlatMessage<'a>>::read_ies(&mut ies)?;
                    return Ok(Decoded { pdu: Pdu::$name(message), unknown: ies.unknown, deviations: ies.deviations });
                } )*
                unreachable!("SLOTS has the same list")
            }

            pub(crate) fn write_flat(
                &self,
                version: Version,
                deviations: &Deviations,
                out: &mut Vec<u8>,
            ) -> Result<(), per::Error> {
                match self { $( Pdu::$name(message) => crate::flat::encode_with_deviations(message, version, deviations, out), )* }
            }
        }

        /// The name and the wire table of every message.
        pub const TABLES: &[(&str, &[crate::message::IeRow])] = &[ $( (stringify!($name), <$name as Message<'_>>::TABLE), )* ];
    };
}

pdus! {
    // The most frequent first: decoding compares in this order. The FlatBuffers slots have the same order: only append.
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

/// Decodes a PDU of an association with that `version`.
///
/// The message borrows from `bytes`. An IE of 16384 octets or more is fragmented; it is reassembled in `gather`, and the
/// message borrows from there.
///
/// # Errors
/// The fault of the PDU, from which the cause and diagnostics of the response follow.
pub fn decode<'a>(bytes: &'a [u8], version: Version, gather: &'a Gather) -> Result<Decoded<'a>, Error> {
    // the frequent message, which is the same in all versions
    if let Some(indication) = peek::usual_indication(bytes) {
        return Ok(Decoded {
            pdu: Pdu::RicIndication(indication.into()),
            unknown: Vec::new(),
            deviations: Deviations::NONE,
        });
    }
    decode_by_tables(bytes, version, gather)
}

/// Decodes any PDU by the wire tables.
fn decode_by_tables<'a>(bytes: &'a [u8], version: Version, gather: &'a Gather) -> Result<Decoded<'a>, Error> {
    let mut reader = Reader::with_store(bytes, version.revision(), Heap::gathering(gather));
    let (kind, code, criticality, inner) = header(&mut reader).map_err(Error::Header)?;
    let mut deviations = Deviations::NONE;
    match procedure(code) {
        Some((since, usual)) if version >= since => {
            deviations.procedure = (criticality != usual).then_some(criticality)
        }
        _ => return Err(Error::UnknownProcedure { kind, procedure_code: code, criticality }),
    }
    let container = Container::open(inner, kind, code, deviations)?;
    Pdu::decode_message(kind, code, criticality, container)
}

/// Decodes a RIC INDICATION; see [`decode`].
///
/// # Errors
/// As [`decode`], and [`Error::UnknownProcedure`] for any other message.
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

/// Decodes the header, up to the message's container.
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
    encode_with_deviations(message, version, &Deviations::NONE, out)
}

fn encode_with_deviations<'a, M: Message<'a>>(
    message: &M,
    version: Version,
    deviations: &Deviations,
    out: &mut Vec<u8>,
) -> Result<(), per::Error> {
    if *deviations == Deviations::NONE && message.encode_shortcut(out) {
        return Ok(());
    }
    encode_by_table(message, version, deviations, out)
}

/// Encodes any PDU by its wire table.
fn encode_by_table<'a, M: Message<'a>>(
    message: &M,
    version: Version,
    deviations: &Deviations,
    out: &mut Vec<u8>,
) -> Result<(), per::Error> {
    let start = out.len();
    let mut writer = Writer::new(out, version.revision());
    let result = encode_pdu(message, version, deviations, &mut writer);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn encode_pdu<'a, M: Message<'a>>(
    message: &M,
    version: Version,
    deviations: &Deviations,
    writer: &mut Writer<'_>,
) -> Result<(), per::Error> {
    let (since, criticality) = const { procedure(M::PROCEDURE).expect("every message belongs to a procedure") };
    if version < since {
        return Err(writer.error(per::ErrorKind::NotInRevision).within("E2AP-PDU"));
    }
    writer.bits(M::KIND.index(), 3);
    M::PROCEDURE.encode(writer)?;
    deviations.procedure.unwrap_or(criticality).encode(writer)?;
    writer.open_type(message.size_hint(), |writer| {
        writer.bit(false);
        message.encode_ies(writer, deviations)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RanFunctionId, RicActionId, RicIndicationSn, RicIndicationType, RicRequestId};

    fn indication<'a>(header: &'a [u8], message: &'a [u8]) -> RicIndication<'a> {
        RicIndication {
            request_id: RicRequestId { requestor: 1021, instance: 7 },
            ran_function_id: RanFunctionId(4095),
            action_id: RicActionId(255),
            sn: Some(RicIndicationSn(40000)),
            kind: RicIndicationType::Insert,
            header: header.into(),
            message: message.into(),
            call_process_id: None,
        }
    }

    /// Checks that both encoders write the same octets, and that both decoders read the message from them.
    fn compare(message: &RicIndication<'_>) {
        let (mut by_table, mut out) = (vec![1, 2, 3], vec![1, 2, 3]);
        for version in Version::ALL {
            by_table.truncate(3);
            encode_by_table(message, version, &Deviations::NONE, &mut by_table).unwrap();
            out.truncate(3);
            encode(message, version, &mut out).unwrap();
            assert_eq!(out, by_table, "{version}");
            let gather = Gather::new();
            let decoded = decode(&out[3..], version, &gather).unwrap();
            assert_eq!(decoded, decode_by_tables(&out[3..], version, &gather).unwrap(), "{version}");
            assert_eq!(decoded.pdu, message.clone().into());
        }
    }

    #[test]
    fn indication_shortcuts_agree_with_the_tables() {
        let octets = vec![0xA5; 70_000];
        let sizes = [0, 1, 80, 81, 82, 83, 84, 85, 86, 87, 126, 127, 128, 129, 16_300, 16_383, 16_384, 16_385, 65_536];
        for header in [0, 1, 126, 127, 128, 16_383, 16_384] {
            for message in sizes.into_iter().chain(16_384 - 60..16_384 - 30) {
                compare(&indication(&octets[..header], &octets[..message]));
            }
        }
        let usual = indication(b"header", b"message");
        compare(&RicIndication { kind: RicIndicationType::Report, ..usual.clone() });
        compare(&RicIndication { sn: None, ..usual.clone() });
        compare(&RicIndication { call_process_id: Some(b"process".into()), ..usual.clone() });
        let beyond = RicIndication { ran_function_id: RanFunctionId(4096), ..usual };
        assert!(encode(&beyond, Version::V2_03, &mut Vec::new()).is_err());
    }

    #[test]
    fn unusual_criticality_of_an_indication_is_kept() {
        let (message, version) = (indication(b"header", b"message"), Version::V2_03);
        let mut usual = Vec::new();
        encode(&message, version, &mut usual).unwrap();
        // the criticality of the procedure, and of the first IE
        for place in [2, 9] {
            let mut octets = usual.clone();
            octets[place] ^= 0xC0 & (0x80 | octets[place]);
            let gather = Gather::new();
            let decoded = decode(&octets, version, &gather).unwrap();
            assert_ne!(decoded.deviations, Deviations::NONE);
            let mut again = Vec::new();
            decoded.encode(version, &mut again).unwrap();
            assert_eq!(again, octets);
        }
    }
}
