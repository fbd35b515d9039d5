//! Messages and their wire tables: the IEs of a message in each version.

use per::{Encode, ErrorKind, Writer};

pub use crate::container::Container;
use crate::{Criticality, Deviations, Error, Kind, ProcedureCode, ProtocolIeId};

/// The presence of an IE in a message of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The version does not have the IE: it is unknown.
    Absent,
    /// The IE is optional.
    Optional,
    /// The IE is mandatory.
    Mandatory,
}

/// One row of a message's wire table.
#[derive(Clone, Copy, Debug)]
pub struct IeRow {
    /// The name of the IE's field.
    pub name: &'static str,
    /// The id.
    pub id: ProtocolIeId,
    /// The criticality.
    pub criticality: Criticality,
    /// The presence in v01.00, v01.01, v02.03 and v03.01.
    pub presence: [Presence; 4],
}

/// A message, whose IEs are declared by its wire table.
pub trait Message<'a>: Sized {
    /// The kind of message within its procedure.
    const KIND: Kind;
    /// The procedure.
    const PROCEDURE: ProcedureCode;
    /// The wire table: one row per IE, one column per version.
    const TABLE: &'static [IeRow];
    /// Decodes the IEs.
    #[doc(hidden)]
    fn decode_ies(container: &mut Container<'a>) -> Result<Self, Error>;
    /// Encodes the IEs.
    #[doc(hidden)]
    fn encode_ies(&self, writer: &mut Writer<'_>, deviations: &Deviations) -> Result<(), per::Error>;
    /// Returns the minimum size of the IEs in octets.
    #[doc(hidden)]
    fn size_hint(&self) -> usize;
    /// Appends the PDU as the table would, with less work; returns `false` and appends nothing if the message is not of the
    /// frequent form, or has none.
    #[doc(hidden)]
    #[inline]
    fn encode_shortcut(&self, _: &mut Vec<u8>) -> bool {
        false
    }
}

/// Encodes one IE, if the version has it.
#[inline]
#[doc(hidden)]
pub fn encode_ie<T: Encode>(
    writer: &mut Writer<'_>,
    deviations: &Deviations,
    row: &IeRow,
    value: Option<&T>,
) -> Result<(), per::Error> {
    match (row.presence[usize::from(writer.revision())], value) {
        (Presence::Absent | Presence::Optional, None) => Ok(()),
        (Presence::Mandatory, None) if deviations.is_missing(row.id) => Ok(()),
        (Presence::Mandatory, None) => Err(writer.error(ErrorKind::Missing).within(row.name)),
        (Presence::Absent, Some(_)) => Err(writer.error(ErrorKind::NotInRevision).within(row.name)),
        (_, Some(value)) => {
            row.id.encode(writer)?;
            deviations.of(row).encode(writer)?;
            writer.open_type(value.size_hint(), |writer| value.encode(writer)).map_err(|error| error.within(row.name))
        }
    }
}

/// Declares messages by their wire tables: each message becomes a struct of its IEs and the codec of that struct.
///
/// ```text
/// /// RESET REQUEST.
/// ResetRequest = Initiating RESET {
///     /// The transaction, repeated in the response.
///     may transaction_id: TransactionId = 49 Reject [_ _ M M],
///     /// The cause.
///     must cause: Cause = 1 Ignore [M M M M],
/// }
/// ```
///
/// declares: ResetRequest is the initiating message of the procedure Reset. Its IE with the id 49 and the criticality
/// reject is not in v01.00 and v01.01 (`_`), and mandatory (`M`) in v02.03 and v03.01; `O` is for optional. The IEs
/// are encoded in this order and should arrive in it (E2AP v03.01 10.3.6); [`Decoded::out_of_order`](crate::Decoded::out_of_order)
/// states whether they did not.
///
/// A field has the declared type if the IE `must` be present in every version that has the message, and is an `Option`
/// of it if the IE `may` be absent in some. An IE whose criticality is not reject `may` be absent even where it is
/// mandatory: the message is processed without it (E2AP v03.01 10.3.5). Two rows may have the same id if no version has both.
///
/// `= Initiating RIC_INDICATION, shortcut function` sets `Message::encode_shortcut`.
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $name:ident $(<$lt:lifetime>)? = $kind:ident $procedure:ident $(, shortcut $shortcut:ident)? {
            $( $(#[$field_doc:meta])* $must:ident $field:ident: $ty:ty = $id:literal $criticality:ident [$p0:tt $p1:tt $p2:tt $p3:tt], )*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name $(<$lt>)? {
            $( $(#[$field_doc])* pub $field: messages!(@type $must $ty), )*
        }

        messages!(@message $name $(<$lt>)?, $kind, $procedure, [$($shortcut)?], {
            $( $must $field: $ty = $id $criticality [$p0 $p1 $p2 $p3], )*
        });

        impl $(<$lt>)? per::IntoOwned for $name $(<$lt>)? {
            type Owned = messages!(@owned $name $(<$lt>)?);
            fn into_owned(self) -> messages!(@owned $name $(<$lt>)?) {
                $name { $( $field: per::IntoOwned::into_owned(self.$field), )* }
            }
        }

        impl $(<$lt>)? per::Describe for $name $(<$lt>)? {
            fn describe(&self, visitor: &mut dyn per::Visitor) {
                visitor.begin_record();
                $( if let Some(value) = messages!(@option $must self.$field) {
                    visitor.field(stringify!($field));
                    per::Describe::describe(value, visitor);
                } )*
                visitor.end_record();
            }
        }
    )*};

    (@message $name:ident, $kind:ident, $procedure:ident, $shortcut:tt, $rows:tt) => {
        messages!(@impl ['ie] $name, $kind, $procedure, $shortcut, $rows);
        messages!(@flat ['ie] $name, $rows);
    };
    (@message $name:ident <$lt:lifetime>, $kind:ident, $procedure:ident, $shortcut:tt, $rows:tt) => {
        messages!(@impl [$lt] $name<$lt>, $kind, $procedure, $shortcut, $rows);
        messages!(@flat [$lt] $name<$lt>, $rows);
    };

    (@impl [$lt:lifetime] $name:ty, $kind:ident, $procedure:ident, [$($shortcut:ident)?], {
        $( $must:ident $field:ident: $ty:ty = $id:literal $criticality:ident [$p0:tt $p1:tt $p2:tt $p3:tt], )*
    }) => {
        impl<$lt> $crate::message::Message<$lt> for $name {
            const KIND: $crate::Kind = $crate::Kind::$kind;
            const PROCEDURE: $crate::ProcedureCode = $crate::ProcedureCode::$procedure;
            const TABLE: &'static [$crate::message::IeRow] = &[
                $( $crate::message::IeRow {
                    name: stringify!($field),
                    id: $crate::ProtocolIeId($id),
                    criticality: $crate::Criticality::$criticality,
                    presence: [
                        messages!(@presence $must $criticality $p0),
                        messages!(@presence $must $criticality $p1),
                        messages!(@presence $must $criticality $p2),
                        messages!(@presence $must $criticality $p3),
                    ],
                }, )*
            ];

            fn decode_ies(container: &mut $crate::message::Container<$lt>) -> Result<Self, $crate::Error> {
                // the row of each IE, under the name of its field
                messages!(@rows $($field)*);
                let revision = container.revision();
                $( let mut $field: Option<$ty> = None; )*
                while let Some((id, criticality)) = container.next_ie()? {
                    match id {
                        $( $id if Self::TABLE[Row::$field as usize].presence[revision] != $crate::message::Presence::Absent => {
                            container.row(Row::$field as usize, Self::TABLE, criticality, &mut $field)?;
                        } )*
                        _ => container.unknown(id, criticality)?,
                    }
                }
                $( if $field.is_none() && Self::TABLE[Row::$field as usize].presence[revision] == $crate::message::Presence::Mandatory {
                    container.missing(&Self::TABLE[Row::$field as usize])?;
                } )*
                Ok(Self { $( $field: messages!(@unwrap $must $field, container.missing_ie_error(&Self::TABLE[Row::$field as usize])), )* })
            }

            fn encode_ies(&self, writer: &mut per::Writer<'_>, deviations: &$crate::Deviations) -> Result<(), per::Error> {
                messages!(@rows $($field)*);
                let count = 0u16 $( + u16::from(messages!(@option $must self.$field).is_some()) )*;
                per::Encode::encode(&count, writer)?;
                $( $crate::message::encode_ie(writer, deviations, &Self::TABLE[Row::$field as usize], messages!(@option $must self.$field))?; )*
                Ok(())
            }

            fn size_hint(&self) -> usize {
                3 $( + messages!(@option $must self.$field).map_or(0, |value| per::Encode::size_hint(value) + 5) )*
            }

            $(
                #[inline]
                fn encode_shortcut(&self, out: &mut Vec<u8>) -> bool {
                    $shortcut(self, out)
                }
            )?
        }
    };

    (@flat [$lt:lifetime] $name:ty, {
        $( $must:ident $field:ident: $ty:ty = $id:literal $criticality:ident [$p0:tt $p1:tt $p2:tt $p3:tt], )*
    }) => {
        #[cfg(feature = "flat")]
        impl<$lt> $crate::flat::FlatMessage<$lt> for $name {
            const MEMBERS: &'static [per::flat::Member] = &[
                $( (stringify!($field), messages!(@is $must), <$ty as per::flat::Type>::declare), )*
            ];

            fn read_ies(ies: &mut $crate::flat::Ies<$lt>) -> Result<Self, $crate::Error> {
                use $crate::message::Message;
                messages!(@rows $($field)*);
                $( let $field: Option<$ty> = ies.value(Row::$field as usize, Self::TABLE)?; )*
                Ok(Self { $( $field: messages!(@unwrap $must $field, ies.missing_ie_error(&Self::TABLE[Row::$field as usize])), )* })
            }

            fn write_ies(
                &self,
                writer: &mut per::flat::Writer<'_>,
                place: usize,
                deviations: &$crate::Deviations,
            ) -> Result<(), per::Error> {
                use $crate::message::Message;
                messages!(@rows $($field)*);
                $( $crate::flat::check(writer, deviations, &Self::TABLE[Row::$field as usize], messages!(@option $must self.$field).is_some())?; )*
                let table = writer.table(place, [
                    $( if messages!(@option $must self.$field).is_some() { <$ty as per::flat::Type>::WIDTH } else { 0 }, )*
                ]);
                $( if let Some(value) = messages!(@option $must self.$field) {
                    per::flat::Encode::write(value, writer, table.place(Row::$field as usize))
                        .map_err(|error| error.within(stringify!($field)))?;
                } )*
                Ok(())
            }
        }
    };

    (@is must) => { true };
    (@is may) => { false };

    (@rows $($field:ident)*) => {
        #[allow(non_camel_case_types)]
        enum Row {
            $($field,)*
        }
    };

    (@type must $ty:ty) => { $ty };
    (@type may $ty:ty) => { Option<$ty> };
    (@option must $value:expr) => { Some(&$value) };
    (@option may $value:expr) => { $value.as_ref() };
    (@unwrap must $value:expr, $missing:expr) => { match $value { Some(value) => value, None => return Err($missing) } };
    (@unwrap may $value:expr, $missing:expr) => { $value };
    (@owned $name:ident <$lt:lifetime>) => { $name<'static> };
    (@owned $name:ident) => { $name };
    // an IE that must be present is optional in no version, and rejects the message if it is missing
    (@presence may $criticality:ident O) => { $crate::message::Presence::Optional };
    (@presence may $criticality:ident M) => { $crate::message::Presence::Mandatory };
    (@presence must Reject M) => { $crate::message::Presence::Mandatory };
    (@presence $must:ident $criticality:ident _) => { $crate::message::Presence::Absent };
}
pub(crate) use messages;
