//! The codecs of Rust's built-in types and of the types of this crate.

use ::flat::schema::{self, Field, Schema};

use super::reader::Item;
use super::{Decode, DecodeSized, Encode, EncodeSized, Kind, Reader, Type, Writer};
use crate::{
    BitString, Bits, Error, ErrorKind, List, ListBuilder, Memo, Octets, PrintableString, Real, Single, Size, Store,
};

/// A field in the declaration of a table: its name, whether it is mandatory, and its type.
pub type Member = (&'static str, bool, fn(&mut Schema) -> schema::Type);

/// Used by derived codecs: declares a SEQUENCE or a CHOICE.
#[doc(hidden)]
pub fn sequence(schema: &mut Schema, name: &'static str, path: &'static str, members: &[Member]) -> schema::Type {
    schema.table(name, path, &|schema| {
        members
            .iter()
            .map(|&(name, mandatory, ty)| Field { name: name.to_owned(), ty: ty(schema), mandatory })
            .collect()
    })
}

/// Used by derived codecs: declares an ENUMERATED.
#[doc(hidden)]
pub fn enumeration(schema: &mut Schema, name: &'static str, symbols: &[&'static str]) -> schema::Type {
    schema.enumeration(name, symbols)
}

/// Used by derived codecs: the kind of a newtype around `kind`.
#[doc(hidden)]
#[must_use]
pub const fn item(kind: Kind, item: &'static str) -> Kind {
    match kind {
        Kind::Vector { .. } => Kind::Vector { item },
        other => other,
    }
}

/// Used by derived codecs: an integer with a range.
#[doc(hidden)]
#[inline]
pub fn read_integer<'a, S: Store<'a>, T: Decode<'a, S> + Copy + Into<i64>>(
    reader: &mut Reader<'a, S>,
    place: usize,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
) -> Result<T, Error> {
    let number = T::read(reader, place)?;
    let value: i64 = number.into();
    if extensible || lo <= value && hi.is_none_or(|hi| value <= hi) {
        Ok(number)
    } else {
        Err(Error::new(ErrorKind::OutOfRange, place * 8))
    }
}

/// The writing side of [`read_integer`].
#[doc(hidden)]
#[inline]
pub fn write_integer<T: Encode + Copy + Into<i64>>(
    writer: &mut Writer<'_>,
    place: usize,
    number: T,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
) -> Result<(), Error> {
    let value: i64 = number.into();
    if !extensible && (value < lo || hi.is_some_and(|hi| value > hi)) {
        return Err(writer.error(ErrorKind::OutOfRange));
    }
    number.write(writer, place)
}

/// Used by derived codecs: reads component `name` at `place`. All types with such a component share the code.
#[doc(hidden)]
#[inline(never)]
pub fn read_component<'a, S: Store<'a>, T: Decode<'a, S>>(
    reader: &mut Reader<'a, S>,
    place: usize,
    name: &'static str,
) -> Result<T, Error> {
    T::read(reader, place).map_err(|error| error.within(name))
}

/// Used by derived codecs: [`read_component`] under a SIZE constraint.
#[doc(hidden)]
#[inline(never)]
pub fn read_component_sized<'a, S: Store<'a>, T: DecodeSized<'a, S>>(
    reader: &mut Reader<'a, S>,
    place: usize,
    size: &'static Size,
    name: &'static str,
) -> Result<T, Error> {
    T::read_sized(reader, place, *size).map_err(|error| error.within(name))
}

/// Used by derived codecs: [`read_integer`] for component `name`.
#[doc(hidden)]
#[inline(never)]
pub fn read_component_integer<'a, S: Store<'a>, T: Decode<'a, S> + Copy + Into<i64>>(
    reader: &mut Reader<'a, S>,
    place: usize,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
    name: &'static str,
) -> Result<T, Error> {
    read_integer(reader, place, lo, hi, extensible).map_err(|error| error.within(name))
}

/// Used by derived codecs: writes component `name` at `place`. All types with such a component share the code.
#[doc(hidden)]
#[inline(never)]
pub fn write_component<T: Encode>(
    value: &T,
    writer: &mut Writer<'_>,
    place: usize,
    name: &'static str,
) -> Result<(), Error> {
    value.write(writer, place).map_err(|error| error.within(name))
}

/// Used by derived codecs: [`write_component`] under a SIZE constraint.
#[doc(hidden)]
#[inline(never)]
pub fn write_component_sized<T: EncodeSized>(
    value: &T,
    writer: &mut Writer<'_>,
    place: usize,
    size: &'static Size,
    name: &'static str,
) -> Result<(), Error> {
    value.write_sized(writer, place, *size).map_err(|error| error.within(name))
}

/// Used by derived codecs: [`write_integer`] for component `name`.
#[doc(hidden)]
#[inline(never)]
pub fn write_component_integer<T: Encode + Copy + Into<i64>>(
    writer: &mut Writer<'_>,
    place: usize,
    number: T,
    lo: i64,
    hi: Option<i64>,
    extensible: bool,
    name: &'static str,
) -> Result<(), Error> {
    write_integer(writer, place, number, lo, hi, extensible).map_err(|error| error.within(name))
}

macro_rules! scalars {
    ($($t:ty: $name:literal;)*) => {$(
        impl Type for $t {
            const WIDTH: u8 = size_of::<$t>() as u8;
            const KIND: Kind = Kind::Scalar;
            fn declare(_: &mut Schema) -> schema::Type {
                schema::Type::Scalar($name)
            }
        }
        impl<'a, S: Store<'a>> Decode<'a, S> for $t {
            #[inline]
            fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error> {
                Ok(<$t>::from_le_bytes(reader.scalar(place)?))
            }
        }
        impl Encode for $t {
            #[inline]
            fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error> {
                writer.scalar(place, self.to_le_bytes());
                Ok(())
            }
        }
    )*};
}

scalars! {
    u8: "ubyte";
    u16: "ushort";
    u32: "uint";
    i8: "byte";
    i32: "int";
    i64: "long";
    u64: "ulong";
    f32: "float";
    f64: "double";
}

impl Type for bool {
    const WIDTH: u8 = 1;
    const KIND: Kind = Kind::Scalar;
    fn declare(_: &mut Schema) -> schema::Type {
        schema::Type::Scalar("bool")
    }
}

impl<'a, S: Store<'a>> Decode<'a, S> for bool {
    #[inline]
    fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error> {
        Ok(reader.scalar(place)? != [0])
    }
}

impl Encode for bool {
    #[inline]
    fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error> {
        writer.scalar(place, [u8::from(*self)]);
        Ok(())
    }
}

impl Type for Real<'_> {
    const WIDTH: u8 = 8;
    const KIND: Kind = Kind::Scalar;
    fn declare(_: &mut Schema) -> schema::Type {
        schema::Type::Scalar("double")
    }
}

impl<'a, S: Store<'a>> Decode<'a, S> for Real<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error> {
        Ok(Real::Value(f64::from_le_bytes(reader.scalar(place)?)))
    }
}

impl Encode for Real<'_> {
    #[inline]
    fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error> {
        writer.scalar(place, self.value().to_le_bytes());
        Ok(())
    }
}

/// Types that can have a size constraint: without one, the size is [`Size::ANY`].
macro_rules! any_size {
    ($t:ty) => {
        impl<'a, S: Store<'a>> Decode<'a, S> for $t {
            #[inline]
            fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error> {
                Self::read_sized(reader, place, Size::ANY)
            }
        }
        impl<'a> Encode for $t {
            #[inline]
            fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error> {
                self.write_sized(writer, place, Size::ANY)
            }
        }
    };
}

impl Type for Octets<'_> {
    const WIDTH: u8 = 4;
    const KIND: Kind = Kind::Vector { item: "Octets" };
    fn declare(_: &mut Schema) -> schema::Type {
        octets()
    }
}

fn octets() -> schema::Type {
    schema::Type::Vector(Box::new(schema::Type::Scalar("ubyte")))
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for Octets<'a> {
    #[inline]
    fn read_sized(reader: &mut Reader<'a, S>, place: usize, size: Size) -> Result<Self, Error> {
        reader.octets(place, size).map(Octets::from)
    }
}

impl EncodeSized for Octets<'_> {
    #[inline]
    fn write_sized(&self, writer: &mut Writer<'_>, place: usize, size: Size) -> Result<(), Error> {
        writer.octets(place, self.len(), size, self.chunks())
    }
}

any_size!(Octets<'a>);

impl<const N: usize> Type for [u8; N] {
    const WIDTH: u8 = 4;
    const KIND: Kind = Kind::Vector { item: "Octets" };
    fn declare(_: &mut Schema) -> schema::Type {
        octets()
    }
}

impl<'a, S: Store<'a>, const N: usize> Decode<'a, S> for [u8; N] {
    #[inline]
    fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error> {
        let octets = reader.octets(place, Size::ANY)?;
        octets.try_into().map_err(|_| Error::new(ErrorKind::BadLength, place * 8))
    }
}

impl<const N: usize> Encode for [u8; N] {
    #[inline]
    fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error> {
        writer.octets(place, N, Size::ANY, core::iter::once(&self[..]))
    }
}

impl Type for PrintableString<'_> {
    const WIDTH: u8 = 4;
    const KIND: Kind = Kind::String;
    fn declare(_: &mut Schema) -> schema::Type {
        schema::Type::String
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for PrintableString<'a> {
    #[inline]
    fn read_sized(reader: &mut Reader<'a, S>, place: usize, size: Size) -> Result<Self, Error> {
        let bad = Error::new(ErrorKind::BadCharacter, place * 8);
        let text = core::str::from_utf8(reader.string(place, size)?).map_err(|_| bad)?;
        PrintableString::try_from(text).map_err(|_| bad)
    }
}

impl EncodeSized for PrintableString<'_> {
    #[inline]
    fn write_sized(&self, writer: &mut Writer<'_>, place: usize, size: Size) -> Result<(), Error> {
        writer.string(place, self, size)
    }
}

any_size!(PrintableString<'a>);

impl Type for BitString<'_> {
    const WIDTH: u8 = 4;
    const KIND: Kind = Kind::Table;
    fn declare(schema: &mut Schema) -> schema::Type {
        sequence(
            schema,
            "BitString",
            core::any::type_name::<BitString<'static>>(),
            &[("bits", true, Octets::declare), ("length", true, u32::declare)],
        )
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for BitString<'a> {
    fn read_sized(reader: &mut Reader<'a, S>, place: usize, size: Size) -> Result<Self, Error> {
        let table = reader.table(place)?;
        let (Some(bits), Some(length)) = (table.place(0), table.place(1)) else {
            return Err(reader.missing(&table, "BitString"));
        };
        let (octets, count) = (reader.octets(bits, Size::ANY)?, u32::read(reader, length)? as usize);
        reader.leave(&table);
        if octets.len() != count.div_ceil(8) || !size.allows(count) {
            return Err(Error::new(ErrorKind::BadLength, place * 8));
        }
        if count > 64 {
            return Ok(BitString::Long { octets: Octets::from(octets), count });
        }
        let mut value = [0; 8];
        value[..octets.len()].copy_from_slice(octets);
        let value = u64::from_be_bytes(value).checked_shr(64 - count as u32).unwrap_or(0);
        Ok(BitString::Short { value, count: count as u8 })
    }
}

impl EncodeSized for BitString<'_> {
    fn write_sized(&self, writer: &mut Writer<'_>, place: usize, size: Size) -> Result<(), Error> {
        match self {
            BitString::Short { value, count } => Bits::new(*value, *count).write_sized(writer, place, size),
            BitString::Long { count, .. } => {
                let octets = self.to_octets();
                if octets.len() != count.div_ceil(8) {
                    return Err(writer.error(ErrorKind::BadLength));
                }
                write_bits(writer, place, &octets, *count, size)
            }
        }
    }
}

any_size!(BitString<'a>);

fn write_bits(writer: &mut Writer<'_>, place: usize, octets: &[u8], count: usize, size: Size) -> Result<(), Error> {
    let length = u32::try_from(count).map_err(|_| writer.error(ErrorKind::BadLength))?;
    if !size.allows(count) {
        return Err(writer.error(ErrorKind::BadLength));
    }
    let table = writer.table(place, [4, 4]);
    writer.scalar(table.place(1), length.to_le_bytes());
    writer.octets(table.place(0), octets.len(), Size::ANY, core::iter::once(octets))
}

impl Type for Bits {
    const WIDTH: u8 = 4;
    const KIND: Kind = Kind::Table;
    fn declare(schema: &mut Schema) -> schema::Type {
        BitString::declare(schema)
    }
}

impl<'a, S: Store<'a>> DecodeSized<'a, S> for Bits {
    #[inline]
    fn read_sized(reader: &mut Reader<'a, S>, place: usize, size: Size) -> Result<Self, Error> {
        match BitString::read_sized(reader, place, size)? {
            BitString::Short { value, count } => Ok(Bits { value, count }),
            BitString::Long { .. } => Err(Error::new(ErrorKind::BadLength, place * 8)),
        }
    }
}

impl EncodeSized for Bits {
    fn write_sized(&self, writer: &mut Writer<'_>, place: usize, size: Size) -> Result<(), Error> {
        if self.count > 64 || self.count < 64 && self.value >> self.count != 0 {
            return Err(writer.error(ErrorKind::OutOfRange));
        }
        let count = usize::from(self.count);
        let octets = self.value.checked_shl(64 - u32::from(self.count)).unwrap_or(0).to_be_bytes();
        write_bits(writer, place, &octets[..count.div_ceil(8)], count, size)
    }
}

any_size!(Bits);

impl<T: Type> Type for List<'_, T> {
    const WIDTH: u8 = 4;
    const KIND: Kind = Kind::Vector { item: "" };
    fn declare(schema: &mut Schema) -> schema::Type {
        let item = match T::KIND {
            Kind::Vector { item } => {
                assert!(!item.is_empty(), "a list in a list needs a type of its own, for its name");
                schema.table(item, item, &|schema: &mut Schema| {
                    vec![Field { name: "value".to_owned(), ty: T::declare(schema), mandatory: true }]
                })
            }
            _ => T::declare(schema),
        };
        schema::Type::Vector(Box::new(item))
    }
}

impl<'a, S: Store<'a>, T: Decode<'a, S>> DecodeSized<'a, S> for List<'a, T> {
    #[inline]
    fn read_sized(reader: &mut Reader<'a, S>, place: usize, size: Size) -> Result<Self, Error> {
        let vector = reader.list(place, T::WIDTH, size)?;
        let mut items = reader.store().begin(vector.count);
        let (mut place, mut left) = (vector.first, vector.count);
        // a plain loop: it is compiled for every item type
        while left > 0 {
            let item =
                if let Kind::Vector { .. } = T::KIND { reader.item(place)? } else { Item { place, table: None } };
            items.push(T::read(reader, item.place)?);
            if let Some(table) = item.table {
                reader.leave(&table);
            }
            place += usize::from(T::WIDTH);
            left -= 1;
        }
        Ok(items.end())
    }
}

impl<T: Encode> EncodeSized for List<'_, T> {
    #[inline]
    fn write_sized(&self, writer: &mut Writer<'_>, place: usize, size: Size) -> Result<(), Error> {
        let mut place = writer.list(place, self.len(), T::WIDTH, size)?;
        for item in self {
            let value = if let Kind::Vector { .. } = T::KIND { writer.choice(place, 0, T::WIDTH) } else { place };
            item.write(writer, value)?;
            place += usize::from(T::WIDTH);
        }
        Ok(())
    }
}

impl<'a, S: Store<'a>, T: Decode<'a, S>> Decode<'a, S> for List<'a, T> {
    #[inline]
    fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error> {
        Self::read_sized(reader, place, Size::ANY)
    }
}

impl<T: Encode> Encode for List<'_, T> {
    #[inline]
    fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error> {
        self.write_sized(writer, place, Size::ANY)
    }
}

/// Wrappers that have the same FlatBuffers encoding as the value inside.
macro_rules! as_inside {
    ($t:ty, $(<$lt:lifetime>)?, $wrap:expr) => {
        impl<$($lt,)? T: Type> Type for $t {
            const WIDTH: u8 = T::WIDTH;
            const KIND: Kind = T::KIND;
            fn declare(schema: &mut Schema) -> schema::Type {
                T::declare(schema)
            }
        }
        impl<'a, S: Store<'a>, T: Decode<'a, S> + 'a> Decode<'a, S> for $t {
            #[inline]
            fn read(reader: &mut Reader<'a, S>, place: usize) -> Result<Self, Error> {
                let value = T::read(reader, place)?;
                Ok($wrap(reader.store(), value))
            }
        }
        impl<$($lt,)? T: Encode> Encode for $t {
            #[inline]
            fn write(&self, writer: &mut Writer<'_>, place: usize) -> Result<(), Error> {
                (**self).write(writer, place)
            }
        }
    };
}

as_inside!(Box<T>, , |_, value| Box::new(value));
as_inside!(Single<'a, T>, <'a>, |store, value| Single::kept(store, value));
as_inside!(Memo<'a, T>, <'a>, |_, value| Memo::from(value));

impl<'a, S: Store<'a>, T: DecodeSized<'a, S>> DecodeSized<'a, S> for Memo<'a, T> {
    #[inline]
    fn read_sized(reader: &mut Reader<'a, S>, place: usize, size: Size) -> Result<Self, Error> {
        T::read_sized(reader, place, size).map(Memo::from)
    }
}

impl<T: EncodeSized> EncodeSized for Memo<'_, T> {
    #[inline]
    fn write_sized(&self, writer: &mut Writer<'_>, place: usize, size: Size) -> Result<(), Error> {
        (**self).write_sized(writer, place, size)
    }
}
