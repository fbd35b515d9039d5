//! The two layouts of headers and messages: v01.00, and v01.02, which has no object identifier of its own.

use per::{
    Decode, DecodeSized, Describe, Encode, EncodeSized, Error, ErrorKind, IntoOwned, List, Per, Reader, Size, Store,
    Visitor, Writer,
};

use super::{IndicationHeader, IndicationMessage, IndicationMessageFormat1, StyleAndFormat1};
use crate::Arena;
use crate::common::RicStyleType;

/// The number of v01.02 in readers and writers of [`per`]; v01.00 has 0.
const V1_02: u8 = 1;

pub(super) fn is_v1_02(revision: u8) -> bool {
    revision == V1_02
}

impl<'a> IndicationHeader<'a> {
    /// Decodes all of `bytes` as a header of v01.00 or of v01.02.
    ///
    /// # Errors
    /// A malformed encoding.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        per::decode(bytes, 0).or_else(|error| per::decode(bytes, V1_02).map_err(|_| error))
    }

    /// Appends the encoding to `out`: that of v01.02 if the header has its components. After an error `out` is as it was.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let IndicationHeader::Format1(header) = self;
        let is_new = header.message_type.is_some()
            || header.gnb_du_id.is_some()
            || header.gnb_name.is_some()
            || header.global_gnb_id.is_some();
        per::encode(self, if is_new { V1_02 } else { 0 }, out)
    }
}

impl<'a> IndicationMessage<'a> {
    /// Decodes all of `bytes` as a message of v01.00 or of v01.02; lists are stored in `arena`.
    ///
    /// # Errors
    /// A malformed encoding.
    pub fn decode(bytes: &'a [u8], arena: &'a Arena) -> Result<Self, Error> {
        let decode = |revision| {
            let mut reader = Reader::with_store(bytes, revision, arena);
            let value = <Self as Decode<_>>::decode(&mut reader)?;
            reader.finish()?;
            Ok(value)
        };
        decode(0).or_else(|error| decode(V1_02).map_err(|_: Error| error))
    }

    /// Decodes all of `bytes` into a value that borrows nothing.
    ///
    /// # Errors
    /// A malformed encoding.
    pub fn decode_owned(bytes: &[u8]) -> Result<IndicationMessage<'static>, Error> {
        let arena = Arena::new();
        IndicationMessage::decode(bytes, &arena).map(IntoOwned::into_owned)
    }

    /// Appends the encoding to `out`: that of v01.02 if the message has style and containers. After an error `out` is as it
    /// was.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        per::encode(self, if matches!(self, IndicationMessage::StyleAndFormat1(_)) { V1_02 } else { 0 }, out)
    }

    /// The containers, in either layout.
    pub(super) fn containers(&self) -> Option<&IndicationMessageFormat1<'a>> {
        match self {
            IndicationMessage::RicStyleType(_) => None,
            IndicationMessage::Format1(format1) => Some(format1),
            IndicationMessage::StyleAndFormat1(message) => {
                let super::IndicationMessageFormats::Format1(format1) = &message.indication_message;
                Some(format1)
            }
        }
    }
}

/// The message of v01.00.
#[derive(Per)]
#[per(extensible)]
enum Choice<'a> {
    RicStyleType(RicStyleType),
    Format1(IndicationMessageFormat1<'a>),
}

impl<'a, S: Store<'a>> Decode<'a, S> for IndicationMessage<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        if is_v1_02(reader.revision()) {
            return StyleAndFormat1::decode(reader).map(IndicationMessage::StyleAndFormat1);
        }
        Ok(match Choice::decode(reader)? {
            Choice::RicStyleType(style) => IndicationMessage::RicStyleType(style),
            Choice::Format1(format1) => IndicationMessage::Format1(format1),
        })
    }
}

impl Encode for IndicationMessage<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        let is_new = is_v1_02(writer.revision());
        match self {
            IndicationMessage::StyleAndFormat1(message) if is_new => message.encode(writer),
            // as `Choice`, without a copy of the containers: the extension bit and one bit of two alternatives
            IndicationMessage::RicStyleType(style) if !is_new => {
                writer.bits(0b00, 2);
                style.encode(writer)
            }
            IndicationMessage::Format1(format1) if !is_new => {
                writer.bits(0b01, 2);
                format1.encode(writer)
            }
            _ => Err(writer.error(ErrorKind::NotInRevision).within("IndicationMessage")),
        }
    }
}

impl IntoOwned for IndicationMessage<'_> {
    type Owned = IndicationMessage<'static>;
    fn into_owned(self) -> Self::Owned {
        match self {
            IndicationMessage::RicStyleType(style) => IndicationMessage::RicStyleType(style),
            IndicationMessage::Format1(format1) => IndicationMessage::Format1(format1.into_owned()),
            IndicationMessage::StyleAndFormat1(message) => IndicationMessage::StyleAndFormat1(message.into_owned()),
        }
    }
}

impl Describe for IndicationMessage<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        let (name, value): (&'static str, &dyn Describe) = match self {
            IndicationMessage::RicStyleType(style) => ("RicStyleType", style),
            IndicationMessage::Format1(format1) => ("Format1", format1),
            // a SEQUENCE
            IndicationMessage::StyleAndFormat1(message) => return message.describe(visitor),
        };
        visitor.begin_record();
        visitor.field(name);
        value.describe(visitor);
        visitor.end_record();
    }
}

/// The size of the list of containers.
fn containers(revision: u8) -> Size {
    Size { lo: 1, hi: if is_v1_02(revision) { 8 } else { 512 }, extensible: false }
}

impl<'a, S: Store<'a>> Decode<'a, S> for IndicationMessageFormat1<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        let extended = reader.bit()?;
        let size = containers(reader.revision());
        let pm_containers = List::decode_sized(reader, size, None)
            .map_err(|error: Error| error.within("IndicationMessageFormat1.pm_containers"))?;
        crate::kpm::conditions::skip_extension(reader, extended)?;
        Ok(IndicationMessageFormat1 { pm_containers })
    }
}

impl Encode for IndicationMessageFormat1<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.bit(false);
        let size = containers(writer.revision());
        self.pm_containers
            .encode_sized(writer, size)
            .map_err(|error| error.within("IndicationMessageFormat1.pm_containers"))
    }
}

impl IntoOwned for IndicationMessageFormat1<'_> {
    type Owned = IndicationMessageFormat1<'static>;
    fn into_owned(self) -> Self::Owned {
        IndicationMessageFormat1 { pm_containers: self.pm_containers.into_owned() }
    }
}

impl Describe for IndicationMessageFormat1<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.begin_record();
        visitor.field("pm_containers");
        self.pm_containers.describe(visitor);
        visitor.end_record();
    }
}
