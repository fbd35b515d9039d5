//! The encoding of protocol buffers, as far as messages of FlexRAN use it: varints and length-delimited fields.

use std::fmt;

/// Why octets are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireError {
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

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Field<'a> {
    pub number: u32,
    value: Value<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value<'a> {
    Varint(u64),
    Octets(&'a [u8]),
    /// Of a fixed length: no field that is read has one.
    Fixed,
}

impl<'a> Field<'a> {
    /// A number. Numbers of 32 bits are truncated, as protocol buffers define it.
    pub fn number(self) -> Result<u64, WireError> {
        match self.value {
            Value::Varint(value) => Ok(value),
            _ => Err(WireError::Declaration(self.number)),
        }
    }

    pub fn u32(self) -> Result<u32, WireError> {
        self.number().map(|value| value as u32)
    }

    pub fn i32(self) -> Result<i32, WireError> {
        self.number().map(|value| value as i32)
    }

    /// The fields of a message within.
    pub fn message(self) -> Result<Fields<'a>, WireError> {
        self.octets().map(Fields)
    }

    pub fn text(self) -> Result<String, WireError> {
        let text = std::str::from_utf8(self.octets()?).map_err(|_| WireError::Text(self.number))?;
        Ok(text.to_owned())
    }

    fn octets(self) -> Result<&'a [u8], WireError> {
        match self.value {
            Value::Octets(octets) => Ok(octets),
            _ => Err(WireError::Declaration(self.number)),
        }
    }
}

/// The fields of a message, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
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
}

impl<'a> Fields<'a> {
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
        let value = match key as u8 & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.varint()?;
                Value::Octets(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            kind => return Err(WireError::WireType(kind)),
        };
        Ok(Field { number, value })
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

/// Writes a message.
#[derive(Clone, Debug, Default)]
pub(super) struct MessageWriter(pub Vec<u8>);

impl MessageWriter {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    pub fn message(mut self, field: u32, message: MessageWriter) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(message.0.len() as u64);
        self.0.extend(message.0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_messages_are_read() {
        let inner = MessageWriter::default().number(1, 300).number(2, u64::MAX);
        let message = MessageWriter::default().message(5, inner).number(100, 1);
        assert_eq!(message.0[..5], [0x2a, 14, 0x08, 0xac, 0x02]);
        let fields: Vec<_> = Fields(&message.0).collect::<Result<_, _>>().unwrap();
        assert_eq!(fields.iter().map(|field| field.number).collect::<Vec<_>>(), [5, 100]);
        let inner: Vec<_> = fields[0].message().unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!((inner[0].u32(), inner[1].i32()), (Ok(300), Ok(-1)));
        assert_eq!(fields[1].text(), Err(WireError::Declaration(100)));
    }

    #[test]
    fn malformed_octets_are_refused() {
        let error = |octets: &[u8]| Fields(octets).find_map(Result::err);
        for (octets, expected) in [
            (&[0x08][..], WireError::Truncated),
            (&[0x08, 0x80], WireError::Truncated),
            (&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], WireError::LongVarint),
            (&[0x0a, 5, 1], WireError::Truncated),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], WireError::Truncated),
            (&[0x00, 1], WireError::FieldNumber),
            (&[0x0b], WireError::WireType(3)),
            (&[0x0d, 1, 2, 3], WireError::Truncated),
            (&[0x09, 1, 2, 3, 4, 5, 6, 7], WireError::Truncated),
        ] {
            assert_eq!(error(octets), Some(expected), "{octets:x?}");
        }
        // any octets end in time and without a panic
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut octets = [0u8; 40];
            for octet in &mut octets {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *octet = (state >> 40) as u8;
            }
            for field in Fields(&octets).flatten() {
                let _ = field.message().map(Iterator::count);
            }
        }
    }
}
