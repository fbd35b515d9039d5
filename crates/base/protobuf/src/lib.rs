//! Protocol buffers: varints and length-delimited fields.
//!
//! A message is declared once with [`message!`], with its field numbers beside its fields; what is declared is read and written.
//! Unknown fields are skipped. A field of type `Option` is absent or present; one without is always written, which every reader
//! of protocol buffers accepts.
//!
//! Reading takes time and memory in proportion to the octets. Lists have at most [`MAX_ITEMS`] items; further ones are checked
//! and ignored. Messages are not nested in themselves, so the depth is that of the declarations.
//!
//! ```
//! use protobuf::Codec;
//!
//! protobuf::message! {
//!     /// A point.
//!     Point {
//!         /// Metres to the east.
//!         x: Option<u32> = 1,
//!         /// What is there.
//!         name: String = 2,
//!     }
//! }
//!
//! let point = Point { x: Some(3), name: "mast".to_owned() };
//! let octets = point.encode();
//! assert_eq!(octets, b"\x08\x03\x12\x04mast");
//! assert_eq!(Point::decode(&octets), Ok(point));
//! ```

#![forbid(unsafe_code)]

use std::fmt;

/// The most items of a list that are read.
pub const MAX_ITEMS: usize = 4096;

/// Why octets are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// They end too early.
    Truncated,
    /// A varint has more than ten octets.
    LongVarint,
    /// A field has the number 0, or one beyond 2^29 - 1.
    FieldNumber,
    /// A field has a wire type that does not exist, or that of groups, which no message has.
    WireType(u8),
    /// A field has another wire type than it is declared with.
    Declaration(u32),
    /// A text is not UTF-8.
    Text(u32),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Truncated => f.write_str("the message is truncated"),
            WireError::LongVarint => f.write_str("a number has more than ten octets"),
            WireError::FieldNumber => f.write_str("a field number is out of range"),
            WireError::WireType(kind) => write!(f, "wire type {kind} does not exist"),
            WireError::Declaration(field) => write!(f, "field {field} has another type"),
            WireError::Text(field) => write!(f, "the text of field {field} is not UTF-8"),
        }
    }
}

impl std::error::Error for WireError {}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    /// The number of the field in its message.
    pub number: u32,
    content: Content<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Content<'a> {
    Varint(u64),
    Octets(&'a [u8]),
    /// Of a fixed length: no field that is read has one.
    Fixed,
}

impl<'a> Field<'a> {
    /// A number.
    ///
    /// # Errors
    /// If the field is of another wire type.
    pub fn number(self) -> Result<u64, WireError> {
        match self.content {
            Content::Varint(value) => Ok(value),
            _ => Err(WireError::Declaration(self.number)),
        }
    }

    /// The fields of a message within.
    ///
    /// # Errors
    /// If the field is of another wire type.
    pub fn message(self) -> Result<Fields<'a>, WireError> {
        self.octets().map(Fields)
    }

    fn octets(self) -> Result<&'a [u8], WireError> {
        match self.content {
            Content::Octets(octets) => Ok(octets),
            _ => Err(WireError::Declaration(self.number)),
        }
    }
}

/// The fields of a message, in order.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let (octet, rest) = self.0.split_first().ok_or(WireError::Truncated)?;
            self.0 = rest;
            value |= u64::from(octet & 0x7f).checked_shl(shift).unwrap_or(0);
            if octet & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::LongVarint)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| WireError::Truncated)?;
        let (octets, rest) = self.0.split_at_checked(length).ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(octets)
    }

    fn field(&mut self) -> Result<Field<'a>, WireError> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let number = number.ok_or(WireError::FieldNumber)?;
        let content = match key as u8 & 7 {
            0 => Content::Varint(self.varint()?),
            1 => self.take(8).map(|_| Content::Fixed)?,
            2 => {
                let length = self.varint()?;
                Content::Octets(self.take(length)?)
            }
            5 => self.take(4).map(|_| Content::Fixed)?,
            kind => return Err(WireError::WireType(kind)),
        };
        Ok(Field { number, content })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            // nothing behind it can be read
            self.0 = &[];
        }
        Some(field)
    }
}

/// What a field contains: a number, a text, a message, or several of them.
pub trait Value: Default {
    /// Reads an occurrence of the field: the last number counts, messages are merged, lists grow.
    ///
    /// # Errors
    /// If the field is not such a value.
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError>;

    /// Writes the field, or nothing if it is absent.
    fn write(&self, number: u32, out: &mut Vec<u8>);

    /// Reads an occurrence of a list of such values.
    ///
    /// # Errors
    /// If the field is not such a value.
    fn read_item(list: &mut Vec<Self>, field: Field<'_>) -> Result<(), WireError> {
        let mut item = Self::default();
        item.read(field)?;
        push(list, item);
        Ok(())
    }
}

/// Appends an item of a list, up to the limit.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MAX_ITEMS {
        list.push(item);
    }
}

/// A message that is declared with [`message!`].
pub trait Codec: Default {
    /// Reads a field; an unknown one is skipped.
    ///
    /// # Errors
    /// If the field is not what is declared.
    fn read_field(&mut self, field: Field<'_>) -> Result<(), WireError>;

    /// Appends all fields.
    fn write_fields(&self, out: &mut Vec<u8>);

    /// Reads a message.
    ///
    /// # Errors
    /// If the octets are none, or a field is not what is declared.
    fn decode(octets: &[u8]) -> Result<Self, WireError> {
        let mut message = Self::default();
        Fields(octets).try_for_each(|field| message.read_field(field?)).map(|()| message)
    }

    /// Returns the octets of the message.
    #[must_use]
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_fields(&mut out);
        out
    }
}

/// Appends a varint.
pub fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field with a number.
pub fn write_number(number: u32, value: u64, out: &mut Vec<u8>) {
    write_varint(u64::from(number) << 3, out);
    write_varint(value, out);
}

/// Appends a field with octets.
pub fn write_octets(number: u32, octets: &[u8], out: &mut Vec<u8>) {
    write_varint(u64::from(number) << 3 | 2, out);
    write_varint(octets.len() as u64, out);
    out.extend_from_slice(octets);
}

/// A number of the protocol.
pub trait Number: Copy + Default {
    /// Numbers of 32 bits are truncated, as protocol buffers define it.
    fn of_varint(value: u64) -> Self;

    /// Negative numbers are extended to 64 bits.
    fn to_varint(self) -> u64;
}

impl Number for u32 {
    fn of_varint(value: u64) -> Self {
        value as u32
    }

    fn to_varint(self) -> u64 {
        self.into()
    }
}

impl Number for u64 {
    fn of_varint(value: u64) -> Self {
        value
    }

    fn to_varint(self) -> u64 {
        self
    }
}

impl Number for i32 {
    fn of_varint(value: u64) -> Self {
        value as i32
    }

    fn to_varint(self) -> u64 {
        i64::from(self) as u64
    }
}

impl<T: Number> Value for T {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        *self = T::of_varint(field.number()?);
        Ok(())
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        write_number(number, self.to_varint(), out);
    }

    fn read_item(list: &mut Vec<Self>, field: Field<'_>) -> Result<(), WireError> {
        let Content::Octets(octets) = field.content else {
            push(list, T::of_varint(field.number()?));
            return Ok(());
        };
        // a packed list
        let mut packed = Fields(octets);
        while !packed.0.is_empty() {
            push(list, T::of_varint(packed.varint()?));
        }
        Ok(())
    }
}

impl Number for bool {
    fn of_varint(value: u64) -> Self {
        value != 0
    }

    fn to_varint(self) -> u64 {
        self.into()
    }
}

impl Value for String {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        let text = std::str::from_utf8(field.octets()?).map_err(|_| WireError::Text(field.number))?;
        text.clone_into(self);
        Ok(())
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        write_octets(number, self.as_bytes(), out);
    }
}

/// Octets of any meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Octets(pub Vec<u8>);

impl Value for Octets {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        field.octets()?.clone_into(&mut self.0);
        Ok(())
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        write_octets(number, &self.0, out);
    }
}

impl<T: Value> Value for Option<T> {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        self.get_or_insert_default().read(field)
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(value) = self {
            value.write(number, out);
        }
    }
}

impl<T: Value> Value for Vec<T> {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        T::read_item(self, field)
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        self.iter().for_each(|item| item.write(number, out));
    }
}

/// Reads a message within a field.
///
/// # Errors
/// If the field is none, or one of its fields is not what is declared.
pub fn read_message<T: Codec>(value: &mut T, field: Field<'_>) -> Result<(), WireError> {
    for field in field.message()? {
        value.read_field(field?)?;
    }
    Ok(())
}

/// Writes a message as a field.
pub fn write_message<T: Codec>(value: &T, number: u32, out: &mut Vec<u8>) {
    let mut fields = Vec::new();
    value.write_fields(&mut fields);
    write_octets(number, &fields, out);
}

/// Declares a message: a type whose fields have their numbers behind them.
#[macro_export]
macro_rules! message {
    ($(#[$meta:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty = $number:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$of_field])* pub $field: $type,)*
        }

        impl $crate::Codec for $name {
            fn read_field(&mut self, field: $crate::Field<'_>) -> Result<(), $crate::WireError> {
                match field.number {
                    $($number => $crate::Value::read(&mut self.$field, field),)*
                    _ => Ok(()),
                }
            }

            fn write_fields(&self, out: &mut Vec<u8>) {
                $($crate::Value::write(&self.$field, $number, out);)*
            }
        }

        impl $crate::Value for $name {
            fn read(&mut self, field: $crate::Field<'_>) -> Result<(), $crate::WireError> {
                $crate::read_message(self, field)
            }

            fn write(&self, number: u32, out: &mut Vec<u8>) {
                $crate::write_message(self, number, out);
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    message! {
        /// A message of the tests.
        Sample {
            /// A number.
            number: u32 = 1,
            /// A signed number.
            signed: Option<i32> = 2,
            /// Numbers.
            list: Vec<u32> = 3,
            /// A text.
            text: Option<String> = 4,
            /// Messages.
            inner: Vec<Inner> = 100,
            /// Octets.
            octets: Option<Octets> = 101,
            /// Whether.
            is_so: Option<bool> = 102,
        }
    }

    message! {
        /// A message within.
        Inner {
            /// A number.
            number: u64 = 1,
        }
    }

    fn read(octets: &[u8]) -> Result<Sample, WireError> {
        Sample::decode(octets)
    }

    #[test]
    fn declared_fields_are_written_and_read() {
        let sample = Sample {
            number: 300,
            signed: Some(-1),
            list: vec![1, 2],
            text: Some("é".to_owned()),
            inner: vec![Inner { number: u64::MAX }, Inner::default()],
            octets: Some(Octets(vec![0xff, 0])),
            is_so: Some(true),
        };
        let octets = sample.encode();
        assert_eq!(octets[..3], [0x08, 0xac, 0x02]);
        assert_eq!(read(&octets), Ok(sample));
    }

    #[test]
    fn lists_are_read_packed_or_not_and_bounded() {
        assert_eq!(read(&[0x1a, 3, 1, 0xac, 2, 0x18, 7]).unwrap().list, [1, 300, 7]);
        let mut octets = Vec::new();
        (0..2 * MAX_ITEMS).for_each(|_| octets.extend([0xa2, 0x06, 0]));
        assert_eq!(read(&octets).unwrap().inner.len(), MAX_ITEMS);
        octets.extend([0xa2, 0x06, 1, 0x80]);
        assert_eq!(read(&octets), Err(WireError::Truncated), "what is ignored is read to its end");
        octets.clear();
        write_octets(3, &[1; 2 * MAX_ITEMS], &mut octets);
        assert_eq!(read(&octets).unwrap().list.len(), MAX_ITEMS);
    }

    #[test]
    fn last_number_counts_and_unknown_fields_are_skipped() {
        let unknown = [0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x0d, 1, 2, 3, 4];
        // fields 1 with wire types of fixed lengths
        assert_eq!(read(&unknown), Err(WireError::Declaration(1)));
        let skipped = [0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4, 0x7a, 1, 0xff];
        assert_eq!(read(&[&[0x08, 1, 0x08, 2][..], &skipped].concat()).unwrap().number, 2);
        assert_eq!(read(&[0x22, 1, 0xff]), Err(WireError::Text(4)));
        assert_eq!(read(&[0x20, 1]), Err(WireError::Declaration(4)));
    }

    #[test]
    fn malformed_octets_are_refused() {
        for (octets, expected) in [
            (&[0x08][..], WireError::Truncated),
            (&[0x08, 0x80], WireError::Truncated),
            (&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], WireError::LongVarint),
            (&[0x7a, 5, 1], WireError::Truncated),
            (&[0x7a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], WireError::Truncated),
            (&[0x00, 1], WireError::FieldNumber),
            (&[0x7b], WireError::WireType(3)),
            (&[0x7d, 1, 2, 3], WireError::Truncated),
            (&[0x79, 1, 2, 3, 4, 5, 6, 7], WireError::Truncated),
            (&[0x1a, 1, 0x80], WireError::Truncated),
        ] {
            assert_eq!(read(octets), Err(expected), "{octets:x?}");
            assert!(!expected.to_string().is_empty());
        }
    }
}
