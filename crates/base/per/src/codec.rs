//! The codec traits, and the codecs of Rust's built-in types.

use crate::{Describe, Error, ErrorKind, Heap, List, ListBuilder, Reader, Store, Visitor, Writer};

/// A type that can be read. Lists and gathered fragments are stored in an `S`.
pub trait Decode<'a, S: Store<'a>>: Sized {
    /// Reads a value. `before` is the value at the same position in the previous item of a list, if any:
    /// [`crate::Memo`] uses it to avoid reading repeated content again.
    ///
    /// # Errors
    /// The encoding is invalid.
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error>;

    /// Reads a value.
    ///
    /// # Errors
    /// The encoding is invalid.
    #[inline]
    fn decode(reader: &mut Reader<'a, S>) -> Result<Self, Error> {
        Self::decode_after(reader, None)
    }

    /// Reads up to `most` items of a list that have the most frequent encoding of the type, and appends them to `items`: with less
    /// work than [`Decode::decode_after`], and with the same result. Returns their number, and leaves the reader behind the last.
    #[inline(always)]
    fn decode_shortcut<L: ListBuilder<'a, Self>>(_: &mut Reader<'a, S>, _most: usize, _items: &mut L) -> usize {
        0
    }

    /// Reads a list of `count` items if all of them have the most frequent encoding of the type. Returns `None`, with the reader
    /// where it was, if they do not. Unlike [`Decode::decode_shortcut`] it creates each item where the list keeps it.
    #[inline(always)]
    fn decode_list_shortcut(_: &mut Reader<'a, S>, _count: usize) -> Option<List<'a, Self>> {
        None
    }
}

/// A type that can be written.
pub trait Encode {
    /// Appends the value.
    ///
    /// # Errors
    /// A value outside its constraints, or one that the writer's revision does not have.
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error>;

    /// The minimum number of octets of the encoding, so that the writer can reserve space for the length.
    // Not in the vtable of `dyn Encode`: the hints of most types are unused and need not be compiled.
    #[inline]
    fn size_hint(&self) -> usize
    where
        Self: Sized,
    {
        0
    }
}

/// A type whose length can be constrained by a field: strings and lists.
pub trait DecodeSized<'a, S: Store<'a>>: Sized {
    /// Reads a value of constrained size.
    ///
    /// # Errors
    /// The encoding is invalid.
    fn decode_sized(reader: &mut Reader<'a, S>, size: Size, before: Option<&Self>) -> Result<Self, Error>;
}

/// The writing side of [`DecodeSized`].
pub trait EncodeSized {
    /// Appends a value of constrained size.
    ///
    /// # Errors
    /// A value outside its constraints, or one that the writer's revision does not have.
    fn encode_sized(&self, writer: &mut Writer<'_>, size: Size) -> Result<(), Error>;
}

/// A type that can be converted to one without borrowed content.
pub trait IntoOwned {
    /// The same type without borrowed content.
    type Owned: 'static;
    /// Copies the borrowed content.
    fn into_owned(self) -> Self::Owned;
}

/// A SIZE constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The minimum length.
    pub lo: usize,
    /// The maximum length; from 65536 on it does not affect the encoding.
    pub hi: usize,
    /// Whether lengths outside the constraint are allowed, with an extension bit.
    pub extensible: bool,
}

impl Size {
    /// No constraint.
    pub const ANY: Size = Size { lo: 0, hi: usize::MAX, extensible: false };

    /// Whether exactly one length is allowed; it is not encoded.
    #[inline]
    pub(crate) fn is_fixed(self) -> bool {
        self.lo == self.hi && self.hi < 65536
    }
}

/// Decodes `bytes` as one value. Lists are stored on the heap.
///
/// # Errors
/// The encoding is invalid, or octets follow it.
pub fn decode<'a, T: Decode<'a, Heap<'a>>>(bytes: &'a [u8], revision: u8) -> Result<T, Error> {
    let mut reader = Reader::new(bytes, revision);
    let value = T::decode(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Appends one value to `out`. After an error `out` is unchanged.
///
/// # Errors
/// A value outside its constraints, or one that `revision` does not have.
pub fn encode<T: Encode + ?Sized>(value: &T, revision: u8, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let mut writer = Writer::new(out, revision);
    let result = value.encode(&mut writer);
    if result.is_err() {
        out.truncate(start);
    } else if out.len() == start {
        out.push(0); // X.691 11.1: an encoding has at least one octet
    }
    result
}

macro_rules! whole_number {
    ($($t:ty: $lo:expr, $hi:expr;)*) => {$(
        /// INTEGER over the type's whole range.
        impl<'a, S: Store<'a>> Decode<'a, S> for $t {
            #[inline]
            fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
                Ok(reader.constrained($lo, $hi)? as $t)
            }
        }
        impl Encode for $t {
            #[inline]
            fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
                writer.constrained(i64::from(*self), $lo, $hi)
            }
        }
        owned_as_is!($t);
        impl Describe for $t {
            fn describe(&self, visitor: &mut dyn Visitor) {
                visitor.integer(i64::from(*self));
            }
        }
    )*};
}

macro_rules! owned_as_is {
    ($t:ty) => {
        impl IntoOwned for $t {
            type Owned = $t;
            #[inline]
            fn into_owned(self) -> $t {
                self
            }
        }
    };
}
pub(crate) use owned_as_is;

whole_number! {
    u8: 0, 255;
    u16: 0, 65535;
    u32: 0, 4_294_967_295;
    i8: -128, 127;
    i32: -2_147_483_648, 2_147_483_647;
}

/// INTEGER (0..9223372036854775807). A greater value is an error when writing.
impl<'a, S: Store<'a>> Decode<'a, S> for u64 {
    #[inline]
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        Ok(reader.constrained(0, i64::MAX)? as u64)
    }
}

impl Encode for u64 {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        // A value beyond i64 becomes negative, which is out of range.
        writer.constrained(i64::try_from(*self).unwrap_or(-1), 0, i64::MAX)
    }
}

owned_as_is!(u64);

impl Describe for u64 {
    fn describe(&self, visitor: &mut dyn Visitor) {
        match i64::try_from(*self) {
            Ok(value) => visitor.integer(value),
            Err(_) => visitor.real(*self as f64),
        }
    }
}

/// INTEGER without a constraint.
impl<'a, S: Store<'a>> Decode<'a, S> for i64 {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        reader.unconstrained()
    }
}

impl Encode for i64 {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.unconstrained(*self);
        Ok(())
    }
}

owned_as_is!(i64);

impl Describe for i64 {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.integer(*self);
    }
}

/// BOOLEAN.
impl<'a, S: Store<'a>> Decode<'a, S> for bool {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        reader.bit()
    }
}

impl Encode for bool {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        writer.bit(*self);
        Ok(())
    }
}

owned_as_is!(bool);

impl Describe for bool {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.boolean(*self);
    }
}

/// OCTET STRING of a fixed length, stored inline.
impl<'a, S: Store<'a>, const N: usize> Decode<'a, S> for [u8; N] {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        const { assert!(N < 65536, "longer strings have a length determinant: use Octets") }
        let mut octets = [0; N];
        if N <= 2 {
            // X.691 17.6: no padding
            for octet in &mut octets {
                *octet = reader.bits(8)? as u8;
            }
        } else {
            octets.copy_from_slice(reader.octets(N)?);
        }
        Ok(octets)
    }
}

impl<const N: usize> Encode for [u8; N] {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        if N <= 2 {
            for octet in self {
                writer.bits(u64::from(*octet), 8);
            }
        } else {
            writer.octets(self);
        }
        Ok(())
    }
}

impl<const N: usize> IntoOwned for [u8; N] {
    type Owned = [u8; N];
    fn into_owned(self) -> [u8; N] {
        self
    }
}

impl<const N: usize> Describe for [u8; N] {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.octets(&mut core::iter::once(&self[..]));
    }
}

/// A boxed value, for components that would make their container large.
impl<'a, S: Store<'a>, T: Decode<'a, S>> Decode<'a, S> for Box<T> {
    fn decode_after(reader: &mut Reader<'a, S>, before: Option<&Self>) -> Result<Self, Error> {
        reader.descend()?;
        let result = T::decode_after(reader, before.map(|b| &**b));
        reader.ascend();
        result.map(Box::new)
    }
}

impl<T: Encode> Encode for Box<T> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        (**self).encode(writer)
    }
    fn size_hint(&self) -> usize {
        (**self).size_hint()
    }
}

impl<T: IntoOwned> IntoOwned for Box<T> {
    type Owned = Box<T::Owned>;
    fn into_owned(self) -> Self::Owned {
        Box::new((*self).into_owned())
    }
}

impl<T: Describe> Describe for Box<T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        (**self).describe(visitor);
    }
}

impl<T: IntoOwned> IntoOwned for Option<T> {
    type Owned = Option<T::Owned>;
    fn into_owned(self) -> Self::Owned {
        self.map(T::into_owned)
    }
}

impl<T: Describe> Describe for Option<T> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        match self {
            Some(value) => value.describe(visitor),
            None => visitor.null(),
        }
    }
}

/// Used by derived codecs: an integer with a range, which may be extensible. `hi` is `None` without an upper bound (X.691
/// 13).
#[doc(hidden)]
#[inline]
pub fn decode_integer<'a, S: Store<'a>, T: TryFrom<i64>>(
    reader: &mut Reader<'a, S>,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
) -> Result<T, Error> {
    let at = reader.position();
    let value = if extensible && reader.bit()? {
        reader.unconstrained()?
    } else if let Some(hi) = hi {
        reader.constrained(lo, hi)?
    } else {
        reader.semi_constrained(lo)?
    };
    T::try_from(value).map_err(|_| Error::new(ErrorKind::OutOfRange, at))
}

/// The writing side of [`decode_integer`].
#[doc(hidden)]
#[inline]
pub fn encode_integer(
    writer: &mut Writer<'_>,
    value: i64,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
) -> Result<(), Error> {
    if extensible {
        let outside = value < lo || hi.is_some_and(|hi| value > hi);
        writer.bit(outside);
        if outside {
            writer.unconstrained(value);
            return Ok(());
        }
    }
    match hi {
        Some(hi) => writer.constrained(value, lo, hi),
        None => writer.semi_constrained(value, lo),
    }
}

/// Used by derived codecs: reads component `at`. All types with such a component share the code.
///
/// # Errors
/// The errors of the component.
#[doc(hidden)]
#[inline(never)]
pub fn decode_component<'a, S: Store<'a>, T: Decode<'a, S>>(
    reader: &mut Reader<'a, S>,
    at: &'static str,
) -> Result<T, Error> {
    T::decode_after(reader, None).map_err(|error| error.within(at))
}

/// Used by derived codecs: [`decode_component`] under a SIZE constraint.
///
/// # Errors
/// The errors of the component.
#[doc(hidden)]
#[inline(never)]
pub fn decode_component_sized<'a, S: Store<'a>, T: DecodeSized<'a, S>>(
    reader: &mut Reader<'a, S>,
    size: &'static Size,
    at: &'static str,
) -> Result<T, Error> {
    T::decode_sized(reader, *size, None).map_err(|error| error.within(at))
}

/// Used by derived codecs: [`decode_integer`] for component `at`.
///
/// # Errors
/// The errors of the component.
#[doc(hidden)]
#[inline(never)]
pub fn decode_component_integer<'a, S: Store<'a>, T: TryFrom<i64>>(
    reader: &mut Reader<'a, S>,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
    at: &'static str,
) -> Result<T, Error> {
    decode_integer(reader, lo, hi, extensible).map_err(|error| error.within(at))
}

/// Used by derived codecs: writes component `at`. All types with such a component share the code.
///
/// # Errors
/// The errors of the component.
#[doc(hidden)]
#[inline(never)]
pub fn encode_component<T: Encode>(value: &T, writer: &mut Writer<'_>, at: &'static str) -> Result<(), Error> {
    value.encode(writer).map_err(|error| error.within(at))
}

/// Used by derived codecs: [`encode_component`] under a SIZE constraint.
///
/// # Errors
/// The errors of the component.
#[doc(hidden)]
#[inline(never)]
pub fn encode_component_sized<T: EncodeSized>(
    value: &T,
    writer: &mut Writer<'_>,
    size: &'static Size,
    at: &'static str,
) -> Result<(), Error> {
    value.encode_sized(writer, *size).map_err(|error| error.within(at))
}

/// Used by derived codecs: [`encode_integer`] for component `at`.
///
/// # Errors
/// The errors of the component.
#[doc(hidden)]
#[inline(never)]
pub fn encode_component_integer(
    writer: &mut Writer<'_>,
    value: i64,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
    at: &'static str,
) -> Result<(), Error> {
    encode_integer(writer, value, lo, hi, extensible).map_err(|error| error.within(at))
}
