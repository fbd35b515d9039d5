//! Comparison of PER fields with `oxirush-aper`, another implementation: random constraints and values after 0 to 7 bits. The
//! octets are equal, and each decodes the encoding of the other.
//!
//! Covered: whole numbers of every kind, lengths, OCTET STRING, BIT STRING, PrintableString, indices of
//! enumerations and choices, extension bitmaps (also of more than 64 bits, which pycrate and asn1tools encode wrongly), open
//! types, fragments, lists. That crate has no REAL; see `vectors.rs`.

mod common;

use common::{Random, decode_at, encode_at, encode_with};
use oxirush_aper as other;
use per::{
    BitString, DecodeSized, Encode, EncodeSized, ErrorKind, Heap, List, Octets, PrintableString, Reader, Size, Writer,
};

/// The encoding of the other crate after `phase` bits and before one.
fn theirs(phase: u32, write: impl FnOnce(&mut other::Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = other::Writer::new(&mut out);
    writer.bits((1 << phase) - 1, phase as usize);
    write(&mut writer);
    writer.bit(true);
    out
}

/// The value that the other crate decodes.
fn they_read<T>(phase: u32, bytes: &[u8], read: impl FnOnce(&mut other::Reader<'_>) -> T) -> T {
    let mut reader = other::Reader::new(bytes);
    reader.bits(phase as usize).unwrap();
    let value = read(&mut reader);
    assert!(reader.bit().unwrap());
    reader.finish().unwrap();
    value
}

/// The value that we decode.
fn we_read<'a, T>(phase: u32, bytes: &'a [u8], read: impl FnOnce(&mut Reader<'a, Heap<'a>>) -> T) -> T {
    let mut reader = Reader::new(bytes, 0);
    reader.bits(phase).unwrap();
    let value = read(&mut reader);
    assert!(reader.bit().unwrap());
    reader.finish().unwrap();
    value
}

fn phase(random: &mut Random) -> u32 {
    random.below(8) as u32
}

#[test]
fn constrained_whole_numbers_agree() {
    let mut random = Random::new(1);
    let ranges = [0, 1, 254, 255, 256, 65535, 65536, (1 << 24) - 1, 1 << 24, (1 << 32) - 1, 1 << 32, 1 << 40, i64::MAX];
    for round in 0..20_000 {
        let lo = if random.chance() { 0 } else { random.integer(i64::MIN, i64::MAX) };
        let range = if round % 2 == 0 { ranges[random.below(ranges.len())] } else { random.integer(0, i64::MAX) };
        let hi = lo.saturating_add(range);
        let (value, phase) = (random.integer(lo, hi), phase(&mut random));
        let ours = encode_with(phase, |w| w.constrained(value, lo, hi)).unwrap();
        assert_eq!(ours, theirs(phase, |w| w.signed(value, lo, hi).unwrap()), "{value} in {lo}..={hi} at {phase}");
        assert_eq!(they_read(phase, &ours, |r| r.signed(lo, hi).unwrap()), value);
        assert_eq!(we_read(phase, &ours, |r| r.constrained(lo, hi).unwrap()), value);
    }
}

#[test]
fn other_whole_numbers_agree() {
    let mut random = Random::new(2);
    for _ in 0..20_000 {
        let (value, phase) = (random.integer(i64::MIN, i64::MAX), phase(&mut random));
        let ours = encode_with(phase, |w| {
            w.unconstrained(value);
            Ok(())
        });
        let ours = ours.unwrap();
        assert_eq!(ours, theirs(phase, |w| w.unconstrained(value)));
        assert_eq!(we_read(phase, &ours, |r| r.unconstrained().unwrap()), value);

        let lo = random.integer(i64::MIN, value);
        let ours = encode_with(phase, |w| w.semi_constrained(value, lo)).unwrap();
        assert_eq!(ours, theirs(phase, |w| w.semi_constrained(value, lo).unwrap()), "{value} from {lo}");
        assert_eq!(we_read(phase, &ours, |r| r.semi_constrained(lo).unwrap()), value);

        let (lo, hi) = (random.integer(-70_000, 0), random.integer(1, 70_000));
        let ours = encode_with(phase, |w| per::encode_integer(w, value, lo, Some(hi), true)).unwrap();
        assert_eq!(ours, theirs(phase, |w| w.signed_extensible(value, lo, hi).unwrap()));
        assert_eq!(we_read(phase, &ours, |r| per::decode_integer::<_, i64>(r, lo, Some(hi), true).unwrap()), value);

        let small = random.integer(0, i64::from(u32::MAX)) as u32;
        let ours = encode_with(phase, |w| {
            w.normally_small(small);
            Ok(())
        });
        let ours = ours.unwrap();
        assert_eq!(ours, theirs(phase, |w| w.small(u64::from(small))));
        assert_eq!(we_read(phase, &ours, |r| r.normally_small().unwrap()), small);
    }
}

/// A random size constraint, and a length that it allows.
fn size_and_length(random: &mut Random) -> (Size, usize) {
    let bounds =
        [0, 1, 2, 3, 4, 15, 16, 17, 63, 64, 65, 127, 128, 255, 256, 257, 300, 16383, 16384, 65535, 65536, 70000];
    let (a, b) = (bounds[random.below(bounds.len())], bounds[random.below(bounds.len())]);
    let unbounded = random.below(4) == 0;
    let (lo, hi) = match random.below(3) {
        0 => (a, a),
        1 if unbounded => (0, usize::MAX),
        _ => (a.min(b), a.max(b)),
    };
    let extensible = random.below(3) == 0;
    let any = extensible && random.chance();
    let (least, most) = if any { (0, 20_000) } else { (lo, hi.min(lo + 20_000)) };
    let length = match random.below(3) {
        0 => least,
        1 => most,
        _ => least + random.below(most - least + 1),
    };
    // long values are slow, and only a few forms differ
    let length = if length > 1000 && random.below(8) > 0 { least.max(length % 300).min(most) } else { length };
    (Size { lo, hi, extensible }, length)
}

#[test]
fn octet_strings_agree() {
    let mut random = Random::new(3);
    for _ in 0..10_000 {
        let (size, length) = size_and_length(&mut random);
        let (octets, phase) = (random.octets(length), phase(&mut random));
        let value = Octets::from(&octets[..]);
        let ours = encode_with(phase, |w| value.encode_sized(w, size)).unwrap();
        let other = theirs(phase, |w| match size.extensible {
            true => w.octet_string_extensible(&octets, size.lo, size.hi).unwrap(),
            false => w.octet_string(&octets, size.lo, size.hi).unwrap(),
        });
        assert!(ours == other, "{length} octets in {size:?} at {phase}");
        let read = they_read(phase, &ours, |r| match size.extensible {
            true => r.octet_string_extensible(size.lo, size.hi).unwrap().to_vec(),
            false => r.octet_string(size.lo, size.hi).unwrap().to_vec(),
        });
        assert!(read == octets);
        assert!(we_read(phase, &ours, |r| Octets::decode_sized(r, size, None).unwrap()) == value);
    }
}

#[test]
fn printable_strings_agree() {
    let mut random = Random::new(4);
    for _ in 0..10_000 {
        let (size, length) = size_and_length(&mut random);
        let phase = phase(&mut random);
        let text: String = (0..length).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
        let value = PrintableString::try_from(&text[..]).unwrap();
        let ours = encode_with(phase, |w| value.encode_sized(w, size)).unwrap();
        let other = theirs(phase, |w| match size.extensible {
            true => w.printable_string_extensible(&text, size.lo, size.hi).unwrap(),
            false => w.printable_string(&text, size.lo, size.hi).unwrap(),
        });
        assert!(ours == other, "{length} characters in {size:?} at {phase}");
        let read = they_read(phase, &ours, |r| match size.extensible {
            true => r.printable_string_extensible(size.lo, size.hi).unwrap().into_owned(),
            false => r.printable_string(size.lo, size.hi).unwrap().into_owned(),
        });
        assert!(read == text);
        assert!(we_read(phase, &ours, |r| PrintableString::decode_sized(r, size, None).unwrap()) == value);
    }
}

#[test]
fn bit_strings_agree() {
    let mut random = Random::new(5);
    for _ in 0..10_000 {
        let (size, count) = size_and_length(&mut random);
        let phase = phase(&mut random);
        let mut octets = random.octets(count.div_ceil(8));
        if let Some(last) = octets.last_mut().filter(|_| !count.is_multiple_of(8)) {
            *last &= 0xFF << (8 - count % 8);
        }
        let value = if count <= 64 && random.chance() {
            let number = octets.iter().fold(0u64, |n, octet| n << 8 | u64::from(*octet));
            BitString::new(number >> (octets.len() * 8 - count), count as u8)
        } else {
            BitString::Long { octets: Octets::from(&octets[..]), count }
        };
        let ours = encode_with(phase, |w| value.encode_sized(w, size)).unwrap();
        let bits = other::BitString::new(octets.clone(), count).unwrap();
        let other = theirs(phase, |w| match size.extensible {
            true => w.bit_string_extensible(&bits, size.lo, size.hi).unwrap(),
            false => w.bit_string(&bits, size.lo, size.hi).unwrap(),
        });
        assert!(ours == other, "{count} bits in {size:?} at {phase}");
        let read = they_read(phase, &ours, |r| match size.extensible {
            true => r.bit_string_extensible(size.lo, size.hi).unwrap().as_octets().to_vec(),
            false => r.bit_string(size.lo, size.hi).unwrap().as_octets().to_vec(),
        });
        assert!(read == octets);
        assert!(we_read(phase, &ours, |r| BitString::decode_sized(r, size, None).unwrap()) == value);
    }
}

#[test]
fn extension_bitmaps_agree() {
    let mut random = Random::new(6);
    for _ in 0..3000 {
        let (count, phase) = (1 + random.below(200), phase(&mut random));
        let mut present: Vec<bool> = (0..count).map(|_| random.below(4) == 0).collect();
        present[random.below(count)] = true;
        let their_bytes = theirs(phase, |w| {
            w.additions(&present).unwrap();
            present.iter().filter(|there| **there).for_each(|_| w.open_type(&[7]));
        });
        if count <= 64 {
            let map = present.iter().fold(0, |map, there| map << 1 | u64::from(*there));
            let ours = encode_with(phase, |w| {
                w.additions(map, count as u32);
                (0..map.count_ones()).try_for_each(|_| w.open_type(0, |w| w.constrained(7, 0, 255)))
            });
            assert_eq!(ours.unwrap(), their_bytes);
        }
        we_read(phase, &their_bytes, |r| {
            let mut additions = r.additions().unwrap();
            for there in present.iter().take(10.min(count)) {
                assert_eq!(additions.take(), *there);
                if *there {
                    assert_eq!(r.open_type(|r| r.constrained(0, 255)), Ok(7));
                }
            }
            r.skip_additions(additions).unwrap();
        });
    }
}

#[test]
fn enumerations_beyond_63_additions_agree() {
    use common::types::EnumeratedWide::{self, A, B, X0, X1, X62, X63, X64, X69};
    for phase in 0..8 {
        for (index, value) in [(0, A), (1, B), (2, X0), (3, X1), (64, X62), (65, X63), (66, X64), (71, X69)] {
            let ours = encode_at(phase, &value).unwrap();
            assert_eq!(ours, theirs(phase, |w| w.index(index, 2, true)));
            assert_eq!(decode_at::<EnumeratedWide>(phase, &ours, Heap::default()), Ok(value));
        }
        let unknown = theirs(phase, |w| w.index(72, 2, true));
        let error = decode_at::<EnumeratedWide>(phase, &unknown, Heap::default()).unwrap_err();
        assert_eq!((error.kind, error.bit), (ErrorKind::UnknownExtension, phase as usize + 1));
    }
}

#[test]
fn open_types_and_fragments_agree() {
    let mut random = Random::new(7);
    let lengths = [1, 126, 127, 128, 129, 16383, 16384, 16385, 32768, 65535, 65536, 65537, 131_072, 200_000, 278_528];
    for length in lengths {
        for hint in [0, 127, 128, 16384] {
            let (octets, phase) = (random.octets(length), phase(&mut random));
            let ours = encode_with(phase, |w| {
                w.open_type(hint, |w| {
                    w.octets(&octets);
                    Ok(())
                })
            });
            let ours = ours.unwrap();
            assert!(ours == theirs(phase, |w| w.open_type(&octets)), "{length} octets, hint {hint}, at {phase}");
            assert!(they_read(phase, &ours, |r| r.open_type().unwrap().to_vec()) == octets);
            we_read(phase, &ours, |r| r.skip_open_type().unwrap());
        }
    }
}

/// Nested open types with a long value: each level is fragmented.
#[test]
fn nested_fragments_agree() {
    let mut random = Random::new(8);
    for length in [0, 100, 16380, 16384, 70_000, 140_000] {
        let octets = random.octets(length);
        let mut inner = Vec::new();
        other::Writer::new(&mut inner).octet_string(&octets, 0, other::UNBOUNDED).unwrap();
        for depth in 1..=4 {
            let mut out = Vec::new();
            other::Writer::new(&mut out).open_type(&inner);
            inner = out;
            let mut ours = Vec::new();
            nest(&mut Writer::new(&mut ours, 0), depth, &octets);
            assert!(ours == inner, "{length} octets in {depth} open types");
        }
    }
}

fn nest(writer: &mut Writer<'_>, depth: u32, octets: &[u8]) {
    if depth == 0 {
        Octets::from(octets).encode(writer).unwrap();
        return;
    }
    let written = writer.open_type(if depth.is_multiple_of(2) { 0 } else { 1000 }, |writer| {
        nest(writer, depth - 1, octets);
        Ok(())
    });
    written.unwrap();
}

#[test]
fn lists_agree() {
    let mut random = Random::new(9);
    for round in 0..400 {
        let (size, count) = size_and_length(&mut random);
        let count = if round < 4 { 16384 * round + round } else { count };
        let size = if round < 4 { Size::ANY } else { Size { extensible: false, ..size } };
        if !(size.lo..=size.hi).contains(&count) {
            continue;
        }
        let phase = phase(&mut random);
        let value: List<'_, bool> = (0..count).map(|_| random.chance()).collect();
        let ours = encode_with(phase, |w| value.encode_sized(w, size)).unwrap();
        let other = theirs(phase, |w| {
            let mut left = &value[..];
            if size.hi < 65536 {
                w.size(count, size.lo, size.hi).unwrap();
                return left.iter().for_each(|bit| w.bit(*bit));
            }
            loop {
                let (now, more) = w.length(left.len());
                left[..now].iter().for_each(|bit| w.bit(*bit));
                left = &left[now..];
                if !more {
                    break;
                }
            }
        });
        assert!(ours == other, "{count} items in {size:?} at {phase}");
        assert!(we_read(phase, &ours, |r| List::decode_sized(r, size, None).unwrap()) == value);
    }
}
