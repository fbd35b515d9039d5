//! REAL (X.691 15, with the contents of X.690 8.5).

use core::fmt;
use std::borrow::Cow;

use crate::codec::owned_as_is;
use crate::reader::Length;
use crate::{Decode, Describe, Encode, Error, ErrorKind, IntoOwned, Reader, Store, Visitor, Writer};

/// A REAL. A decoded value keeps its content octets, so that it is encoded to the same octets even if they exceed the precision
/// of an `f64`. A value created from an `f64` is encoded in the shortest binary form.
#[derive(Clone)]
pub enum Real<'a> {
    /// Decoded content octets, which are valid.
    Wire(Cow<'a, [u8]>),
    /// A value that was not decoded.
    Value(f64),
}

impl Real<'_> {
    /// The value, rounded to the nearest `f64`.
    #[must_use]
    pub fn value(&self) -> f64 {
        match self {
            Real::Value(value) => *value,
            // checked when it was read
            Real::Wire(octets) => value_of(octets).unwrap_or(f64::NAN),
        }
    }
}

impl From<f64> for Real<'_> {
    fn from(value: f64) -> Self {
        Real::Value(value)
    }
}

/// Two values are equal if their `f64` are equal, including the sign of zero. All NaN values are equal.
impl PartialEq for Real<'_> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.value(), other.value());
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
    }
}

impl Eq for Real<'_> {}

impl fmt::Debug for Real<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.value())
    }
}

impl<'a, S: Store<'a>> Decode<'a, S> for Real<'a> {
    // not inlined: the callers mostly read integers
    #[inline(never)]
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
        let at = reader.position();
        match reader.length()? {
            Length::Whole(count) => {
                let octets = reader.octets(count)?;
                value_of(octets).ok_or(Error::new(ErrorKind::BadReal, at))?;
                Ok(Real::Wire(Cow::Borrowed(octets)))
            }
            // 16384 octets of digits: no measurement has as many
            Length::Fragment(_) => Err(Error::new(ErrorKind::BadReal, at)),
        }
    }
}

impl Encode for Real<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
        match self {
            Real::Wire(octets) => writer.octets_with_length(octets),
            Real::Value(value) => {
                let (octets, count) = binary(*value);
                writer.octets_with_length(&octets[..count]);
            }
        }
        Ok(())
    }
}

impl IntoOwned for Real<'_> {
    type Owned = Real<'static>;
    fn into_owned(self) -> Real<'static> {
        match self {
            Real::Wire(octets) => Real::Wire(Cow::Owned(octets.into_owned())),
            Real::Value(value) => Real::Value(value),
        }
    }
}

impl Describe for Real<'_> {
    fn describe(&self, visitor: &mut dyn Visitor) {
        visitor.real(self.value());
    }
}

macro_rules! float {
    ($($t:ty: $from:expr;)*) => {$(
        /// REAL as a floating-point number: a decoded value is rounded, and encoded in the shortest binary form.
        impl<'a, S: Store<'a>> Decode<'a, S> for $t {
            #[inline]
            fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, Error> {
                let value = Real::decode_after(reader, None)?.value();
                Ok($from(value))
            }
        }

        impl Encode for $t {
            #[inline]
            fn encode(&self, writer: &mut Writer<'_>) -> Result<(), Error> {
                let (octets, count) = binary(f64::from(*self));
                writer.octets_with_length(&octets[..count]);
                Ok(())
            }
        }

        owned_as_is!($t);

        impl Describe for $t {
            fn describe(&self, visitor: &mut dyn Visitor) {
                visitor.real(f64::from(*self));
            }
        }
    )*};
}

float! {
    f32: |value| value as f32;
    f64: |value| value;
}

/// The shortest binary contents of `value` (X.690 8.5.7 with the restrictions of 11.3.1): base 2, odd mantissa.
fn binary(value: f64) -> ([u8; 12], usize) {
    let mut out = [0; 12];
    let special = match value {
        v if v == 0.0 && v.is_sign_positive() => return (out, 0),
        0.0 => Some(0x43),
        v if v == f64::INFINITY => Some(0x40),
        v if v == f64::NEG_INFINITY => Some(0x41),
        v if v.is_nan() => Some(0x42),
        _ => None,
    };
    if let Some(octet) = special {
        out[0] = octet;
        return (out, 1);
    }
    let bits = value.to_bits();
    let biased = (bits >> 52 & 0x7FF) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mut mantissa, mut exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let shift = mantissa.trailing_zeros();
    mantissa >>= shift;
    exponent += shift as i32;

    let wide = i8::try_from(exponent).is_err();
    out[0] = 0x80 | u8::from(value.is_sign_negative()) << 6 | u8::from(wide);
    let mut count = 1;
    if wide {
        out[1..3].copy_from_slice(&(exponent as i16).to_be_bytes());
        count += 2;
    } else {
        out[1] = exponent as u8;
        count += 1;
    }
    let octets = mantissa.to_be_bytes();
    let skip = mantissa.leading_zeros() as usize / 8;
    out[count..count + 8 - skip].copy_from_slice(&octets[skip..]);
    (out, count + 8 - skip)
}

/// The value of REAL contents, or `None` if they are invalid (X.690 8.5).
fn value_of(octets: &[u8]) -> Option<f64> {
    let Some((&first, rest)) = octets.split_first() else {
        return Some(0.0);
    };
    match first {
        0x80.. => binary_value(first, rest),
        0x40 if rest.is_empty() => Some(f64::INFINITY),
        0x41 if rest.is_empty() => Some(f64::NEG_INFINITY),
        0x42 if rest.is_empty() => Some(f64::NAN),
        0x43 if rest.is_empty() => Some(-0.0),
        // X.690 8.5.8: the number forms of ISO 6093, in characters
        0x01..=0x03 => decimal_value(first, rest),
        _ => None,
    }
}

fn binary_value(first: u8, rest: &[u8]) -> Option<f64> {
    let bits_per_digit = match first >> 4 & 3 {
        0 => 1,
        1 => 3,
        2 => 4,
        _ => return None,
    };
    let (exponent_octets, rest) = match first & 3 {
        3 => {
            let (&count, rest) = rest.split_first()?;
            (usize::from(count), rest)
        }
        n => (usize::from(n) + 1, rest),
    };
    if exponent_octets == 0 || exponent_octets > rest.len() {
        return None;
    }
    let (exponent, mantissa) = rest.split_at(exponent_octets);
    if mantissa.is_empty() {
        return None;
    }
    let mut power = i64::from(exponent[0] as i8);
    for octet in &exponent[1..] {
        // saturates: such powers are infinite or zero
        power = power.saturating_mul(256).saturating_add(i64::from(*octet));
    }
    let scale = i64::from(first >> 2 & 3);
    power = power.saturating_mul(bits_per_digit).saturating_add(scale);

    // 64 bits of the mantissa, and whether a lower bit is set: sufficient for correct rounding.
    let significant = &mantissa[mantissa.iter().take_while(|o| **o == 0).count()..];
    let mut head = 0u64;
    for octet in significant.iter().take(8) {
        head = head << 8 | u64::from(*octet);
    }
    let below = significant.get(8..).unwrap_or(&[]);
    power = power.saturating_add(8 * below.len() as i64);
    let sticky = below.iter().any(|o| *o != 0);
    let magnitude = scaled(head, sticky, power);
    Some(if first & 0x40 == 0 { magnitude } else { -magnitude })
}

/// `head * 2^power`, rounded once, to even.
fn scaled(head: u64, sticky: bool, power: i64) -> f64 {
    if head == 0 {
        return 0.0;
    }
    // head = 1.xxx * 2^63 after this shift
    let zeros = head.leading_zeros();
    let head = head << zeros;
    let exponent = power.saturating_add(63 - i64::from(zeros));
    if exponent > 1023 {
        return f64::INFINITY;
    }
    // The significant bits of the f64: 53, fewer if it is subnormal.
    let keep = if exponent >= -1022 { 53 } else { 53 - (-1022 - exponent).min(54) };
    if keep < 0 {
        return 0.0;
    }
    let drop = 64 - keep as u32;
    let (kept, rest) = if drop == 64 { (0, head) } else { (head >> drop, head << (64 - drop)) };
    let half = 1u64 << 63;
    let up = rest > half || rest == half && (sticky || kept & 1 == 1);
    let kept = kept + u64::from(up);
    // `kept` has at most 54 significant bits of which the lowest is zero then: both factors are exact.
    let unit = exponent - (keep - 1);
    kept as f64 * power_of_two(unit.max(-1074))
}

/// 2 to the `exponent`, for -1074 to 1023.
fn power_of_two(exponent: i64) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074))
    }
}

/// NR1 is a whole number, NR2 has a decimal mark, NR3 an exponent too. ISO 6093 allows spaces before the number, and a
/// comma for the point.
fn decimal_value(form: u8, characters: &[u8]) -> Option<f64> {
    let text = core::str::from_utf8(characters).ok()?.trim_start_matches(' ');
    let known = |c: char| match c {
        '0'..='9' | '+' | '-' => true,
        '.' | ',' => form >= 2,
        'E' | 'e' => form == 3,
        _ => false,
    };
    if !text.chars().all(known) {
        return None;
    }
    if text.contains(',') { text.replace(',', ".").parse().ok() } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip() {
        for value in
            [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 1e-300, -1e300, f64::MIN_POSITIVE, 5e-324, f64::MAX, 0.1, f64::INFINITY]
        {
            let (octets, count) = binary(value);
            assert_eq!(value_of(&octets[..count]).map(f64::to_bits), Some(value.to_bits()), "{value}");
        }
        let (octets, count) = binary(f64::NAN);
        assert!(value_of(&octets[..count]).is_some_and(f64::is_nan));
    }

    #[test]
    fn binary_form_is_the_shortest() {
        let of = |v| {
            let (octets, count) = binary(v);
            octets[..count].to_vec()
        };
        assert_eq!(of(1.0), [0x80, 0x00, 0x01]);
        assert_eq!(of(-2.0), [0xC0, 0x01, 0x01]);
        assert_eq!(of(0.75), [0x80, 0xFE, 0x03]);
        assert_eq!(of(1e-300)[0], 0x81, "two octets of exponent");
    }

    #[test]
    fn wide_mantissas_are_rounded_once() {
        // 2^63 + 1 with the exponent 0: more than 53 bits
        let wire = [0x80, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 0x01];
        assert_eq!(value_of(&wire), Some(9_223_372_036_854_775_808.0));
        // a sticky bit far below decides a tie: 1 + 2^-53 + 2^-80
        let mut wire = vec![0x80, (-80i8) as u8];
        let mantissa: u128 = 1 << 80 | 1 << 27 | 1;
        wire.extend_from_slice(&mantissa.to_be_bytes()[5..]);
        assert_eq!(value_of(&wire), Some(1.0 + f64::EPSILON));
    }

    #[test]
    fn other_bases_and_scale_are_decoded() {
        assert_eq!(value_of(&[0x90, 0x01, 0x03]), Some(24.0), "3 * 8");
        assert_eq!(value_of(&[0xA0, 0x01, 0x03]), Some(48.0), "3 * 16");
        assert_eq!(value_of(&[0x84, 0x00, 0x03]), Some(6.0), "scaled by 2");
        assert_eq!(value_of(&[0x83, 0x01, 0x01, 0x03]), Some(6.0), "exponent with a length of its own");
        assert_eq!(value_of(&[0x83, 0x03, 0xFF, 0xFF, 0xFF, 0x03]), Some(1.5), "three octets of exponent");
        assert_eq!(value_of(&[0xCC, 0x00, 0x03]), Some(-24.0), "scaled by 8");
    }

    #[test]
    fn decimal_forms_are_decoded() {
        assert_eq!(value_of(b"\x01  -12"), Some(-12.0));
        assert_eq!(value_of(b"\x021,5"), Some(1.5));
        assert_eq!(value_of(b"\x02.5"), Some(0.5));
        assert_eq!(value_of(b"\x031.25E1"), Some(12.5));
        assert_eq!(value_of(b"\x031.E+400"), Some(f64::INFINITY));
        for bad in [&b"\x01"[..], b"\x011.5", b"\x021.5E1", b"\x03 ", b"\x031E", b"\x03nan", b"\x03inf", b"\x0412"] {
            assert_eq!(value_of(bad), None, "{bad:02x?}");
        }
    }

    #[test]
    fn extreme_exponents_are_bounded() {
        let eight = |first: u8| [0x83, 8, first, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(value_of(&eight(0x7F)), Some(f64::INFINITY));
        assert_eq!(value_of(&eight(0x80)), Some(0.0));
        // 2^-1075 is half of the least subnormal: even wins; a little more rounds up
        assert_eq!(value_of(&[0x81, 0xFB, 0xCD, 0x01]), Some(0.0));
        assert_eq!(value_of(&[0x81, 0xFB, 0xCC, 0x03]), Some(f64::from_bits(1)));
        assert_eq!(value_of(&[0x81, 0x03, 0xFF, 0x01]), Some(2f64.powi(1023)));
        assert_eq!(value_of(&[0x81, 0x04, 0x00, 0x01]), Some(f64::INFINITY));
    }

    #[test]
    fn equal_values_are_equal() {
        let wire = |octets: &'static [u8]| Real::Wire(Cow::Borrowed(octets));
        assert_eq!(wire(&[0x80, 0xFF, 0x01]), wire(&[0xA0, 0xFF, 0x08]), "one half in base 2 and 16");
        assert_eq!(wire(&[0x42]), Real::Value(-f64::NAN));
        assert_ne!(Real::Value(0.0), Real::Value(-0.0));
    }

    #[test]
    fn malformed_contents_are_errors() {
        for bad in
            [&[0x80][..], &[0x80, 0x00], &[0xB0, 0x00, 0x01], &[0x83, 0x00, 0x01], &[0x44], &[0x40, 0x00], b"\x031.2x"]
        {
            assert_eq!(value_of(bad), None, "{bad:02x?}");
        }
    }
}
