//! PrintableString (X.691 30).

use core::fmt;
use std::borrow::Cow;

use crate::octets::{decode_octets, encode_octets};
use crate::{
    Decode, DecodeSized, Describe, Encode, EncodeSized, Error, ErrorKind, IntoOwned, Reader, Size, Store, Visitor,
    Writer,
};

/// A PrintableString: letters, digits, space and `'()+,-./:=?`.
///
/// Real peers use other ASCII characters in such strings, mostly underscores. A decoded string may have any ASCII character, and
/// is encoded unchanged.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrintableString<'a>(Cow<'a, str>);

impl<'a> PrintableString<'a> {
    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The characters in `octets`; `None` if one is not ASCII.
    #[inline]
    #[must_use]
    pub fn from_octets(octets: &'a [u8]) -> Option<Self> {
        ascii(octets).map(|text| PrintableString(Cow::Borrowed(text)))
    }

    /// A string that is known at compile time.
    ///
    /// # Panics
    /// Panics if `text` is not ASCII.
    #[must_use]
    pub const fn literal(text: &'a str) -> Self {
        assert!(text.is_ascii(), "a PrintableString is ASCII");
        PrintableString(Cow::Borrowed(text))
    }
}

impl core::ops::Deref for PrintableString<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> TryFrom<&'a str> for PrintableString<'a> {
    type Error = Error;
    fn try_from(text: &'a str) -> Result<Self, Error> {
        if text.is_ascii() {
            Ok(PrintableString(Cow::Borrowed(text)))
        } else {
            Err(Error::new(ErrorKind::BadCharacter, 0))
        }
    }
}

impl TryFrom<String> for PrintableString<'_> {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        if text.is_ascii() {
            Ok(PrintableString(Cow::Owned(text)))
        } else {
            Err(Error::new(ErrorKind::BadCharacter, 0))
        }
    }
}

impl fmt::Debug for PrintableString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for PrintableString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl IntoOwned for PrintableString<'_> {
    type Owned = PrintableString<'static>;
    fn into_owned(self) -> PrintableString<'static> {
        PrintableString(Cow::Owned(self.0.into_owned()))
    }
}

impl Describe for PrintableString<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.text(&self.0);
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for PrintableString<'a> {
    // the bounds are constants at the call: the compiler removes most of the code
    #[inline(always)]
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, _: Option<&Self>) -> Result<Self, Error> {
        let at = reader.position();
        let octets = decode_octets(reader, size, is_bit_field)?;
        let bad = Error::new(ErrorKind::BadCharacter, at);
        let text = match octets.borrowed() {
            Some(octets) => Cow::Borrowed(ascii(octets).ok_or(bad)?),
            None => match reader.store().keep(octets.to_cow().into_owned()) {
                Ok(octets) => Cow::Borrowed(ascii(octets).ok_or(bad)?),
                Err(octets) => Cow::Owned(ascii(&octets).ok_or(bad)?.to_owned()),
            },
        };
        Ok(PrintableString(text))
    }
}

/// Whether characters with this constraint are unaligned: a fixed size of at most 16 bits, or a maximum size below 16 bits
/// (X.691 30.5.6, 30.5.7).
#[inline]
fn is_bit_field(bounds: Size) -> bool {
    bounds.hi < if bounds.is_fixed() { 3 } else { 2 }
}

#[inline]
fn ascii(octets: &[u8]) -> Option<&str> {
    core::str::from_utf8(octets).ok().filter(|text| text.is_ascii())
}

impl<'a, S: Store<'a>> Decode<'a, S> for PrintableString<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        Self::decode_sized(reader, Size::ANY, before)
    }
}

impl EncodeSized for PrintableString<'_> {
    #[inline]
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        encode_octets(writer, self.0.as_bytes(), size, is_bit_field)
    }
}

impl Encode for PrintableString<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        self.encode_sized(writer, Size::ANY)
    }

    fn size_hint(&self) -> usize {
        self.0.len()
    }
}
