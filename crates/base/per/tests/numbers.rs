//! Rust's numeric types have the same octets as the corresponding ASN.1 types.

#![allow(missing_docs)]

use per::{Encode, Error, ErrorKind, Per, Real, decode};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = -128..=127)]
struct Octet(i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = -2_147_483_648..=2_147_483_647)]
struct Word(i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=i64::MAX)]
struct Counter(i64);

fn encode(value: &impl Encode) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    per::encode(value, 0, &mut out)?;
    Ok(out)
}

#[test]
fn whole_numbers_round_trip() {
    for value in [i8::MIN, -1, 0, 1, i8::MAX] {
        let bytes = encode(&value).unwrap();
        assert_eq!((encode(&Octet(value.into())), decode(&bytes, 0)), (Ok(bytes.clone()), Ok(value)));
    }
    for value in [i32::MIN, -70_000, -1, 0, 1, 255, 256, i32::MAX] {
        let bytes = encode(&value).unwrap();
        assert_eq!((encode(&Word(value.into())), decode(&bytes, 0)), (Ok(bytes.clone()), Ok(value)));
    }
    for value in [0, 1, 255, 256, 1 << 40, i64::MAX] {
        let bytes = encode(&(value as u64)).unwrap();
        assert_eq!((encode(&Counter(value)), decode(&bytes, 0)), (Ok(bytes.clone()), Ok(value as u64)));
    }
    // X.691 11.5.7.4: the number of octets has three bits, since the maximum is 8
    assert_eq!(encode(&0x1234u64), Ok(vec![0b001_00000, 0x12, 0x34]));
    assert_eq!(encode(&(i64::MAX as u64 + 1)).map_err(|e| e.kind), Err(ErrorKind::OutOfRange));
    assert_eq!(encode(&u64::MAX).map_err(|e| e.kind), Err(ErrorKind::OutOfRange));
    let wide = [0b111_00000, 0x80, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(decode::<u64>(&wide, 0).map_err(|e| e.kind), Err(ErrorKind::OutOfRange));
}

#[test]
fn floating_point_numbers_round_trip() {
    for value in [0.0, -0.0, 1.5, -64.0, 0.1, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, f64::NEG_INFINITY] {
        let bytes = encode(&value).unwrap();
        assert_eq!(encode(&Real::from(value)), Ok(bytes.clone()));
        assert_eq!(decode::<f64>(&bytes, 0).map(f64::to_bits), Ok(value.to_bits()));
    }
    for value in [0.0, -0.0, 1.5, -64.0, 0.1, f32::MAX, f32::MIN_POSITIVE, 1e-45, f32::INFINITY] {
        let bytes = encode(&value).unwrap();
        assert_eq!(encode(&Real::from(f64::from(value))), Ok(bytes.clone()));
        assert_eq!(decode::<f32>(&bytes, 0).map(f32::to_bits), Ok(value.to_bits()));
    }
    assert!(decode::<f32>(&encode(&f32::NAN).unwrap(), 0).unwrap().is_nan());
    // a decoded value is rounded to the nearest
    assert_eq!(decode::<f32>(&encode(&0.1f64).unwrap(), 0), Ok(0.1f32));
    assert_eq!(decode::<f32>(&encode(&1e300f64).unwrap(), 0), Ok(f32::INFINITY));
    assert_eq!(decode::<f64>(b"\x03\x021x", 0).map_err(|e| e.kind), Err(ErrorKind::BadReal));
}
