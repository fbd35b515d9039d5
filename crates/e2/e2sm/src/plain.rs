//! FlexRIC's plain layout, as its release v2 encodes it on x86-64: for interoperability with its nodes and xApps.
//!
//! * Numbers are little endian. A C enumeration takes four octets, a `float` four, a `double` eight.
//! * Statistics are C structures as in memory: each number is aligned to its size, with padding between and after them.
//!   Padding is undefined: it is ignored when decoded and encoded as zeros.
//! * Everything else is packed, without padding.
//! * A list is its count in four octets and its items; a text its length in four octets and its characters.
//!
//! A count beyond the remaining octets is an error, and so are octets after a message.

use core::fmt;

use per::{List, ListBuilder, PrintableString, Store};

use crate::Arena;

/// Malformed octets, or a value that the layout cannot represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The offset from the start of the message, in octets.
    pub octet: usize,
    /// The type at fault.
    pub at: &'static str,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The message ends inside a value, or a count exceeds the remaining octets.
    Truncated,
    /// Octets remain after the message.
    TrailingOctets,
    /// An unknown enumeration value.
    UnknownValue,
    /// A number outside its range.
    OutOfRange,
    /// A text with a character that is not printable ASCII.
    BadText,
    /// Encoding: FlexRIC's layout cannot represent the value.
    NotInLayout,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Truncated => "the message ends inside a value",
            ErrorKind::TrailingOctets => "octets follow the message",
            ErrorKind::UnknownValue => "a number that the enumeration does not have",
            ErrorKind::OutOfRange => "a number is outside its range",
            ErrorKind::BadText => "a text is not printable ASCII",
            ErrorKind::NotInLayout => "FlexRIC's layout has no place for the value",
        };
        write!(f, "{what} at octet {} in {}", self.octet, self.at)
    }
}

impl std::error::Error for Error {}

/// A type with a plain layout.
pub(crate) trait Plain<'a>: Sized {
    /// The name in errors.
    const NAME: &'static str;
    /// The smallest size in octets, at least 1.
    const LEAST: usize;

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error>;
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error>;
}

/// Decodes all of `bytes`.
pub(crate) fn decode<'a, T: Plain<'a>>(bytes: &'a [u8], arena: &'a Arena) -> Result<T, Error> {
    let mut reader = Reader { bytes, at: 0, arena, within: T::NAME };
    let value = T::read(&mut reader)?;
    match bytes.len() - reader.at {
        0 => Ok(value),
        _ => Err(reader.error(ErrorKind::TrailingOctets, reader.at)),
    }
}

/// Appends the octets; after an error `out` is as it was.
pub(crate) fn encode<'a, T: Plain<'a>>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let written = value.write(&mut Writer { out, start, within: T::NAME });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// A cursor over the octets of a message.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    arena: &'a Arena,
    within: &'static str,
}

impl<'a> Reader<'a> {
    fn error(&self, kind: ErrorKind, octet: usize) -> Error {
        Error { kind, octet, at: self.within }
    }

    /// Returns an error in the last value, which has `octets` octets.
    pub fn fault(&self, kind: ErrorKind, octets: usize) -> Error {
        self.error(kind, self.at - octets)
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn octets(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let octets = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let octets = octets.ok_or(self.error(ErrorKind::Truncated, self.at))?;
        self.at += count;
        Ok(octets)
    }

    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        let octets = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk);
        let octets = octets.ok_or(self.error(ErrorKind::Truncated, self.at))?;
        self.at += N;
        Ok(octets)
    }

    pub fn value<T: Plain<'a>>(&mut self) -> Result<T, Error> {
        let outer = core::mem::replace(&mut self.within, T::NAME);
        let value = T::read(self)?;
        self.within = outer;
        Ok(value)
    }

    /// The octets of a Boolean.
    pub fn flag(&mut self) -> Result<bool, Error> {
        match self.number::<u32>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.fault(ErrorKind::UnknownValue, 4)),
        }
    }

    pub fn text(&mut self) -> Result<PrintableString<'a>, Error> {
        let count = self.number::<u32>()? as usize;
        if count > self.left() {
            return Err(self.fault(ErrorKind::Truncated, 4));
        }
        self.characters(count)
    }

    /// A number outside of a structure.
    pub fn number<N: Number>(&mut self) -> Result<N, Error> {
        Ok(N::get(self.octets(N::OCTETS)?))
    }

    pub fn list<T: Plain<'a>>(&mut self) -> Result<List<'a, T>, Error> {
        let outer = core::mem::replace(&mut self.within, T::NAME);
        let count = self.number::<u32>()? as usize;
        if count > self.left() / T::LEAST {
            return Err(self.fault(ErrorKind::Truncated, 4));
        }
        let mut items = self.arena.begin(count);
        for _ in 0..count {
            items.push(T::read(self)?);
        }
        self.within = outer;
        Ok(items.end())
    }

    pub fn characters(&mut self, count: usize) -> Result<PrintableString<'a>, Error> {
        let text = core::str::from_utf8(self.octets(count)?).ok();
        let text = text.and_then(|text| PrintableString::try_from(text).ok());
        text.ok_or(self.fault(ErrorKind::BadText, count))
    }
}

/// The buffer of a message.
pub(crate) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    within: &'static str,
}

impl Writer<'_> {
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error { kind, octet: self.out.len() - self.start, at: self.within }
    }

    pub fn octets(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    /// Appends zeros for a structure.
    pub fn room(&mut self, octets: usize) -> &mut [u8] {
        let at = self.out.len();
        self.out.resize(at + octets, 0);
        &mut self.out[at..]
    }

    pub fn number<N: Number>(&mut self, number: N) {
        number.put(self.room(N::OCTETS));
    }

    pub fn value<'a, T: Plain<'a>>(&mut self, value: &T) -> Result<(), Error> {
        let outer = core::mem::replace(&mut self.within, T::NAME);
        value.write(self)?;
        self.within = outer;
        Ok(())
    }

    pub fn flag(&mut self, flag: bool) {
        self.number(u32::from(flag));
    }

    pub fn text(&mut self, text: &str) -> Result<(), Error> {
        self.count(text.len())?;
        self.octets(text.as_bytes());
        Ok(())
    }

    fn count(&mut self, count: usize) -> Result<(), Error> {
        let count = u32::try_from(count).map_err(|_| self.error(ErrorKind::NotInLayout))?;
        self.number(count);
        Ok(())
    }

    pub fn list<'a, T: Plain<'a>>(&mut self, items: &[T]) -> Result<(), Error> {
        let outer = core::mem::replace(&mut self.within, T::NAME);
        self.count(items.len())?;
        items.iter().try_for_each(|item| item.write(self))?;
        self.within = outer;
        Ok(())
    }
}

/// A number of C.
pub(crate) trait Number: Copy {
    /// Its size and alignment in octets.
    const OCTETS: usize;
    /// Reads the number at the start of `octets`, which must be long enough.
    fn get(octets: &[u8]) -> Self;
    fn put(self, octets: &mut [u8]);
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const OCTETS: usize = size_of::<$t>();
            #[inline(always)]
            fn get(octets: &[u8]) -> Self {
                match octets.first_chunk() {
                    Some(octets) => <$t>::from_le_bytes(*octets),
                    None => panic!("a reader passes all octets of a number"),
                }
            }
            #[inline(always)]
            fn put(self, octets: &mut [u8]) {
                octets[..Self::OCTETS].copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers!(u8 i8 u16 u32 u64 i32 i64 f32 f64);

/// The items of a list may be numbers.
impl Plain<'_> for u32 {
    const NAME: &'static str = "a list of numbers";
    const LEAST: usize = 4;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.number()
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.number(*self);
        Ok(())
    }
}

/// Returns the next multiple of `unit`.
pub(crate) const fn aligned(at: usize, unit: usize) -> usize {
    at.next_multiple_of(unit)
}

/// Declares a C structure of numbers, each aligned to its size; `$octets` is its `sizeof`.
macro_rules! structure {
    ($name:ident of $octets:literal octets { $($field:ident $(. $part:tt)?: $number:ty),* $(,)? }) => {
        impl<'a> $crate::plain::Plain<'a> for $name {
            const NAME: &'static str = stringify!($name);
            const LEAST: usize = $octets;

            #[inline]
            fn read(reader: &mut $crate::plain::Reader<'a>) -> Result<Self, $crate::plain::Error> {
                use $crate::plain::{Number, aligned};
                let octets: &[u8; $octets] = reader.array()?;
                let mut value = Self::default();
                let mut at = 0;
                $(
                    at = aligned(at, <$number>::OCTETS);
                    value.$field $(. $part)? = <$number>::get(&octets[at..]);
                    at += <$number>::OCTETS;
                )*
                debug_assert!(at <= $octets);
                Ok(value)
            }

            #[inline]
            fn write(&self, writer: &mut $crate::plain::Writer<'_>) -> Result<(), $crate::plain::Error> {
                use $crate::plain::{Number, aligned};
                let octets = writer.room($octets);
                let mut at = 0;
                $(
                    at = aligned(at, <$number>::OCTETS);
                    <$number>::put(self.$field $(. $part)?, &mut octets[at..]);
                    at += <$number>::OCTETS;
                )*
                debug_assert!(at <= $octets);
                Ok(())
            }
        }
    };
}
pub(crate) use structure;
