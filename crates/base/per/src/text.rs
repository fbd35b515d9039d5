//! PrintableString (X.691 30).

use core::fmt;
use std::borrow::Cow;

use crate::octets::{decode_octets, encode_octets};
use crate::{
    Decode, DecodeSized, Describe, Encode, EncodeSized, Error, ErrorKind, IntoOwned, Reader, Size, Store, Visitor,
    Writer,
};

/// A PrintableString: letters, digits, space and `'()+,-./:=?` (X.680 41.4).
///
/// Peers in the field use other characters in such strings, mostly underscores, and encoders in the field do not check them. So
/// any visible ASCII character and the space are allowed, and are encoded unchanged. Everything else is refused, in what is
/// decoded and in what is made: control characters could forge log lines and write to terminals.
///
/// The octets are kept, not a `str`: the standard library checks UTF-8 slower than [`PrintableString::from_octets`] checks the
/// alphabet, and few of the names in a message are looked at as text. [`PrintableString::as_bytes`] costs nothing.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PrintableString<'a>(Cow<'a, [u8]>);

impl<'a> PrintableString<'a> {
    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).expect("printable ASCII is UTF-8")
    }

    /// The characters, an octet each.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The number of characters.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no characters.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The characters in `octets`; `None` if one is not printable ASCII.
    #[inline]
    #[must_use]
    pub fn from_octets(octets: &'a [u8]) -> Option<Self> {
        is_printable(octets).then_some(PrintableString(Cow::Borrowed(octets)))
    }

    /// A string that is known at compile time.
    ///
    /// # Panics
    /// Panics if `text` has a character that is not printable ASCII.
    #[must_use]
    pub const fn literal(text: &'a str) -> Self {
        assert!(is_printable(text.as_bytes()), "a PrintableString is printable ASCII");
        PrintableString(Cow::Borrowed(text.as_bytes()))
    }
}

impl core::ops::Deref for PrintableString<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for PrintableString<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other.as_bytes()
    }
}

impl<'a> TryFrom<&'a str> for PrintableString<'a> {
    type Error = Error;
    fn try_from(text: &'a str) -> Result<Self, Error> {
        PrintableString::from_octets(text.as_bytes()).ok_or(Error::new(ErrorKind::BadCharacter, 0))
    }
}

impl TryFrom<String> for PrintableString<'_> {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        if is_printable(text.as_bytes()) {
            Ok(PrintableString(Cow::Owned(text.into_bytes())))
        } else {
            Err(Error::new(ErrorKind::BadCharacter, 0))
        }
    }
}

impl fmt::Debug for PrintableString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for PrintableString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
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
        visitor.text(self.as_str());
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for PrintableString<'a> {
    // the bounds are constants at the call: the compiler removes most of the code
    #[inline(always)]
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, _: Option<&Self>) -> Result<Self, Error> {
        let at = reader.position();
        let octets = decode_octets(reader, size, is_bit_field)?;
        let text = match octets.borrowed() {
            Some(octets) => Cow::Borrowed(octets),
            None => match reader.store().keep(octets.to_cow().into_owned()) {
                Ok(octets) => Cow::Borrowed(octets),
                Err(octets) => Cow::Owned(octets),
            },
        };
        if is_printable(&text) { Ok(PrintableString(text)) } else { Err(Error::new(ErrorKind::BadCharacter, at)) }
    }
}

/// Whether characters with this constraint are unaligned: a fixed size of at most 16 bits, or a maximum size below 16 bits
/// (X.691 30.5.6, 30.5.7).
#[inline]
fn is_bit_field(bounds: Size) -> bool {
    bounds.hi < if bounds.is_fixed() { 3 } else { 2 }
}

/// Whether all octets are visible ASCII characters or spaces: 0x20 to 0x7E. Eight at a time, the last eight once more: names are
/// short, and there are many.
#[inline]
const fn is_printable(octets: &[u8]) -> bool {
    let mut rest = octets;
    let Some(last) = octets.last_chunk() else {
        while let [octet, after @ ..] = rest {
            if *octet < 0x20 || *octet > 0x7E {
                return false;
            }
            rest = after;
        }
        return true;
    };
    let mut others = others(*last);
    while let Some((chunk, after)) = rest.split_first_chunk() {
        others |= self::others(*chunk);
        rest = after;
    }
    others == 0
}

/// The top bits of octets that are not printable: of one above 0x7F, of 0x7F plus 1, and of one below 0x20 minus 0x20. An octet
/// that carries into its neighbour, or borrows from it, is itself one of them.
#[inline]
const fn others(octets: [u8; 8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x80 * ONES;
    let x = u64::from_le_bytes(octets);
    (x | x.wrapping_add(ONES) | (x.wrapping_sub(0x20 * ONES) & !x)) & TOPS
}

impl<'a, S: Store<'a>> Decode<'a, S> for PrintableString<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        Self::decode_sized(reader, Size::ANY, before)
    }
}

impl EncodeSized for PrintableString<'_> {
    #[inline]
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error> {
        encode_octets(writer, &self.0, size, is_bit_field)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_octet_is_judged_at_each_place() {
        for length in 0..20 {
            for place in 0..length {
                for octet in 0..=u8::MAX {
                    let mut octets = vec![b'_'; length];
                    octets[place] = octet;
                    assert_eq!(
                        is_printable(&octets),
                        (0x20..=0x7E).contains(&octet),
                        "{octet:#x} at {place} of {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn octets_do_not_hide_their_neighbours() {
        // carries and borrows between octets
        for pair in (0..=u16::MAX).map(u16::to_be_bytes) {
            let octets = [b'a', pair[0], pair[1], b'~', b' ', pair[1], pair[0], b'z'];
            assert_eq!(is_printable(&octets), pair.iter().all(|octet| (0x20..=0x7E).contains(octet)), "{pair:x?}");
        }
    }

    #[test]
    fn control_characters_are_refused_when_decoding_and_when_making() {
        for (octets, is_good) in [
            (&b"\x07DRB.a_b"[..], true),
            (b"\x07DRB.a\nb", false),
            (b"\x07\x1b[2Jabc", false),
            (b"\x07DRB.a\0\0", false),
            ("\x07DRB.aé".as_bytes(), false),
        ] {
            let decoded: Result<PrintableString<'_>, Error> = crate::decode(octets, 0);
            match decoded {
                Ok(text) => assert!(is_good, "{text}"),
                Err(error) => assert!(!is_good && error.kind == ErrorKind::BadCharacter, "{error}"),
            }
            let text = core::str::from_utf8(&octets[1..]).unwrap();
            assert_eq!(PrintableString::try_from(text).is_ok(), is_good);
            assert_eq!(PrintableString::try_from(text.to_owned()).is_ok(), is_good);
        }
    }
}
