//! The bounds of a reader, the rules at the end of a value, and the positions of errors.

mod common;

use common::types::{AnyOctets, Deep, OctetsUpTo300, Recursive};
use per::{
    BitString, Bits, Decode, DecodeSized, EncodeSized, Error, ErrorKind, Gather, Heap, List, MAX_DEPTH, MAX_ITEMS,
    Octets, Per, PrintableString, Reader, Size, Store, Writer, decode, encode,
};

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(|_| ()).unwrap_err().kind
}

/// SEQUENCE without components: an item without bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
struct Nothing {}

#[test]
fn items_of_no_bits_are_bounded() {
    // each octet announces 65536 further items
    let bytes = [0xC4; 100_000];
    let error = decode::<List<'_, Nothing>>(&bytes, 0).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooManyItems);
    assert_eq!(error.bit, 8 * (1 + MAX_ITEMS as usize / 65536));

    // nested lists share the limit
    #[derive(Clone, Debug, PartialEq, Eq, Per)]
    #[per(size = 65535..=65535)]
    struct Many<'a>(List<'a, Nothing>);
    assert_eq!(kind(decode::<List<'_, Many<'_>>>(&[5], 0)), ErrorKind::TooManyItems);
    assert!(decode::<List<'_, Many<'_>>>(&[3], 0).is_ok());
}

#[test]
fn items_in_open_types_count_too() {
    let list = [4, 0xC1, 0xC1, 0xC1, 0x00];
    let bytes = list.repeat(8);
    let mut reader = Reader::new(&bytes, 0);
    let mut read = || reader.open_type(|r| List::<Nothing>::decode(r).map(|list| list.len()));
    for _ in 0..5 {
        assert_eq!(read(), Ok(3 * 16384));
    }
    assert_eq!(read(), Err(Error::new(ErrorKind::TooManyItems, 5 * 40 + 24)));
}

/// A recursive type is decoded up to a depth that a small stack allows.
#[test]
fn recursion_is_bounded() {
    let deepest = |levels: usize, boxed: bool| {
        let mut value = Recursive::Leaf(true);
        for _ in 0..levels {
            value = if boxed { Recursive::Boxed(Box::new(value)) } else { Recursive::Branch(vec![value].into()) };
        }
        let mut bytes = Vec::new();
        encode(&value, 0, &mut bytes).unwrap();
        decode::<Recursive<'_>>(&bytes, 0).map(|read| assert_eq!(read, value))
    };
    for boxed in [false, true] {
        assert_eq!(deepest(usize::from(MAX_DEPTH), boxed), Ok(()));
        assert_eq!(kind(deepest(usize::from(MAX_DEPTH) + 1, boxed)), ErrorKind::TooDeep);
    }
    assert_eq!(kind(decode::<Recursive<'_>>(&[0xAA; 1 << 20], 0)), ErrorKind::TooDeep);
    assert_eq!(kind(decode::<Recursive<'_>>(&[0x55; 1 << 20], 0)), ErrorKind::TooDeep);

    fn open<'a>(reader: &mut Reader<'a>) -> Result<(), Error> {
        reader.open_type(open)
    }
    let nested: Vec<u8> = (0..100).rev().collect();
    assert_eq!(kind(open(&mut Reader::new(&nested, 0))), ErrorKind::TooDeep);
}

#[test]
fn only_padding_may_follow_a_value() {
    // fewer than eight bits of padding, of any value
    assert_eq!(decode::<bool>(&[0x80], 0), Ok(true));
    assert_eq!(decode::<bool>(&[0xFF], 0), Ok(true));
    assert_eq!(decode::<bool>(&[0x80, 0], 0), Err(Error::new(ErrorKind::TrailingOctets, 1)));
    assert_eq!(decode::<u8>(&[7, 0], 0), Err(Error::new(ErrorKind::TrailingOctets, 8)));
    // a value without bits has one octet, alone and in an open type
    let mut out = Vec::new();
    encode(&Nothing {}, 0, &mut out).unwrap();
    assert_eq!(out, [0]);
    assert_eq!(decode(&[0], 0), Ok(Nothing {}));
    assert_eq!(decode(&[], 0), Ok(Nothing {}));
    assert_eq!(kind(decode::<Nothing>(&[0, 0], 0)), ErrorKind::TrailingOctets);
    out.clear();
    Writer::new(&mut out, 0).open_type(0, |_| Ok(())).unwrap();
    assert_eq!(out, [1, 0]);
    for good in [&[1, 0][..], &[0]] {
        assert_eq!(Reader::new(good, 0).open_type(Nothing::decode), Ok(Nothing {}));
    }
    assert_eq!(kind(Reader::new(&[2, 0, 0], 0).open_type(Nothing::decode)), ErrorKind::TrailingOctets);
    assert_eq!(kind(Reader::new(&[2, 0x80, 0], 0).open_type(bool::decode)), ErrorKind::TrailingOctets);
}

#[test]
fn malformed_lengths_and_numbers_are_errors() {
    for (bytes, expected) in [
        (&[][..], ErrorKind::Truncated),
        (&[0x80], ErrorKind::Truncated),
        (&[0x09, 1], ErrorKind::Truncated),
        (&[0xC0], ErrorKind::BadLength),
        (&[0xC5], ErrorKind::BadLength),
        (&[0xFF], ErrorKind::BadLength),
        (&[0xC1], ErrorKind::Truncated),
    ] {
        assert_eq!(kind(decode::<Octets<'_>>(bytes, 0)), expected, "{bytes:02x?}");
        assert_eq!(kind(decode::<BitString<'_>>(bytes, 0)), expected, "{bytes:02x?}");
    }
    assert_eq!(kind(decode::<i64>(&[0], 0)), ErrorKind::BadLength, "a number has at least one octet");
    assert_eq!(kind(Reader::new(&[0], 0).semi_constrained(0)), ErrorKind::BadLength);
    assert_eq!(decode::<i64>(&[9, 0, 0x7F, 255, 255, 255, 255, 255, 255, 255], 0), Ok(i64::MAX), "longer than needed");
    assert_eq!(kind(decode::<i64>(&[9, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], 0)), ErrorKind::OutOfRange);
    assert_eq!(decode::<i64>(&[2, 0xFF, 0xFE], 0), Ok(-2));
    let wide = [9, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(kind(Reader::new(&wide, 0).semi_constrained(i64::MIN)), ErrorKind::OutOfRange);
    assert_eq!(Reader::new(&[8; 9], 0).semi_constrained(i64::MIN), Ok(i64::MIN + 0x0808_0808_0808_0808));
    // X.691 11.5.7.4: at most 3 octets; two bits could encode 4
    assert_eq!(kind(Reader::new(&[0xC0, 0, 0, 0, 0], 0).constrained(0, 65536)), ErrorKind::OutOfRange);
    assert_eq!(kind(Reader::new(&[0x80, 1, 0, 1], 0).constrained(0, 65536)), ErrorKind::OutOfRange);
    assert_eq!(kind(Reader::new(&[0xFF], 0).constrained(0, 254)), ErrorKind::OutOfRange);
    // sizes of 64K and more do not affect the encoding
    let at_least = Size { lo: 2, hi: 70000, extensible: false };
    let at_most = Size { lo: 0, hi: 65536, extensible: false };
    let long = [&[0xC4][..], &[0; 65536], &[1, 0]].concat();
    for (bytes, size) in [(&[1, 0][..], at_least), (&long, at_most)] {
        let mut reader = Reader::new(bytes, 0);
        assert_eq!(kind(Octets::decode_sized(&mut reader, size, None)), ErrorKind::BadLength);
        let mut reader = Reader::new(bytes, 0);
        assert_eq!(kind(List::<u8>::decode_sized(&mut reader, size, None)), ErrorKind::BadLength);
    }
    let long = [&[0xC4][..], &[0; 8192], &[1, 0]].concat();
    assert_eq!(kind(BitString::decode_sized(&mut Reader::new(&long, 0), at_most, None)), ErrorKind::BadLength);
}

#[test]
fn invalid_values_are_not_written() {
    let size = |lo, hi| Size { lo, hi, extensible: false };
    let mut out = vec![1, 2, 3];
    let mut writer = Writer::new(&mut out, 0);
    writer.bits(0b101, 3);
    let at = |kind| Err(Error::new(kind, 3));
    assert_eq!(writer.constrained(8, 0, 7), at(ErrorKind::OutOfRange), "bits are counted from the start of the writer");
    assert_eq!(writer.semi_constrained(-1, 0), at(ErrorKind::OutOfRange));
    assert_eq!(Octets::from(b"ab").encode_sized(&mut writer, size(3, 4)), at(ErrorKind::BadLength));
    assert_eq!(List::from(vec![1u8]).encode_sized(&mut writer, size(2, 3)), at(ErrorKind::BadLength));
    assert_eq!(BitString::new(1, 65).encode_sized(&mut writer, Size::ANY), at(ErrorKind::OutOfRange));
    assert_eq!(BitString::new(4, 2).encode_sized(&mut writer, Size::ANY), at(ErrorKind::OutOfRange));
    assert_eq!(Bits::new(4, 2).encode_sized(&mut writer, Size::ANY), at(ErrorKind::OutOfRange));
    let wrong = BitString::Long { octets: Octets::from(b"abc"), count: 25 };
    assert_eq!(wrong.encode_sized(&mut writer, Size::ANY), at(ErrorKind::BadLength));
    assert!(PrintableString::try_from("å").is_err());
    assert_eq!(out, [1, 2, 3, 0b1010_0000]);
}

#[test]
fn non_ascii_characters_are_errors() {
    assert_eq!(decode::<PrintableString<'_>>(b"\x04a_@z", 0).unwrap().as_str(), "a_@z", "ASCII as sent by peers");
    let error = decode::<PrintableString<'_>>(b"\x02a\xFF", 0).unwrap_err();
    assert_eq!((error.kind, error.bit), (ErrorKind::BadCharacter, 0));
}

#[test]
fn errors_contain_their_position() {
    // inside an open type, bits count from the start of the input
    let bytes = [0x03, 0x00, 0x02, 0x05];
    let error = Reader::new(&bytes, 0)
        .open_type(|r| {
            r.bits(8)?;
            r.open_type(AnyOctets::decode)
        })
        .unwrap_err();
    assert_eq!((error.kind, error.bit, error.at), (ErrorKind::Truncated, 24, ""));
    let error = decode::<OctetsUpTo300<'_>>(&[1, 44], 0).unwrap_err();
    assert_eq!((error.kind, error.bit, error.at), (ErrorKind::Truncated, 16, "OctetsUpTo300"));
    assert_eq!(error.to_string(), "the encoding ends inside a value at bit 16 in OctetsUpTo300");
}

#[test]
fn fragmented_open_types_need_a_gather() {
    let octets = vec![7; 40_000];
    let value = Deep::B(common::types::Deeper::B(Octets::from(&octets[..])));
    let mut bytes = Vec::new();
    encode(&value, 0, &mut bytes).unwrap();
    let error = decode::<Deep<'_>>(&bytes, 0).unwrap_err();
    assert_eq!((error.kind, error.bit), (ErrorKind::Fragmented, 8), "the heap cannot gather");

    let gather = Gather::new();
    let mut reader = Reader::with_store(&bytes, 0, Heap::gathering(&gather));
    assert_eq!(Deep::decode(&mut reader), Ok(value));
    assert_eq!(reader.finish(), Ok(()));

    // an error in gathered octets has the position of the open type
    let bytes = [&[0x00, 0xC1][..], &[9; 16384], &[0]].concat();
    let gather = Gather::new();
    let mut reader = Reader::with_store(&bytes, 0, Heap::gathering(&gather));
    reader.bits(8).unwrap();
    let error = reader.open_type(bool::decode).unwrap_err();
    assert_eq!((error.kind, error.bit), (ErrorKind::TrailingOctets, 8));
}

/// The time and stack for many gathered strings do not grow quadratically.
#[test]
fn many_octets_are_gathered() {
    let gather = Gather::new();
    let store = Heap::gathering(&gather);
    let kept: Vec<_> = (0..200_000u32).map(|i| store.keep(i.to_be_bytes().to_vec())).collect();
    for (i, octets) in kept.into_iter().enumerate() {
        assert_eq!(octets, Ok(&(i as u32).to_be_bytes()[..]));
    }
}
