//! Encoding into a used buffer does not allocate, nor does decoding borrowed values.

#![allow(missing_docs)]

mod common;

use common::types::{self, Deep, Deeper};
use per::{BitString, List, Octets, PrintableString, Real, Writer, decode, encode};
use testkit::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn allocations(run: impl FnOnce()) -> u64 {
    let before = CountingAllocator::count();
    run();
    CountingAllocator::count() - before
}

#[test]
fn encoding_into_a_used_buffer_does_not_allocate() {
    let (mut out, octets) = (Vec::with_capacity(70_000), vec![7; 65_000]);
    assert_eq!(allocations(|| drop(Vec::<u8>::with_capacity(9))), 1, "the allocator counts");
    for count in [0, 1, 125, 126, 127, 128, 1000, 16379, 16383, 16384, 65_000] {
        let value = Deep::B(Deeper::B(Octets::from(&octets[..count])));
        let made = allocations(|| {
            out.clear();
            encode(&value, 0, &mut out).unwrap();
        });
        assert_eq!(made, 0, "{count} octets in open types");
        for hint in [0, 200] {
            let made = allocations(|| {
                out.clear();
                let mut writer = Writer::new(&mut out, 0);
                let open = writer.begin_open_type(hint);
                writer.octets(&octets[..count]);
                writer.end_open_type(open);
            });
            assert_eq!(made, 0, "{count} octets with the hint {hint}");
        }
    }
    let bits = [
        types::AnyBits(BitString::new(5, 3)),
        types::AnyBits(BitString::Long { octets: octets[..50].into(), count: 399 }),
    ];
    let reals = [Real::Value(0.1), Real::Value(-1e300)];
    let names = [types::TextName(PrintableString::literal("cell_1"))];
    let extended = types::Extended {
        a: 1,
        b: Some(true),
        c: Some(1),
        d: Some(Octets::from(&octets[..200])),
        e: Some(1),
        f: Some(false),
        g: 4,
        h: Some(true),
    };
    let made = allocations(|| {
        out.clear();
        encode(&List::from(&bits[..]), 0, &mut out).unwrap();
        encode(&List::from(&reals[..]), 0, &mut out).unwrap();
        encode(&List::from(&names[..]), 0, &mut out).unwrap();
        encode(&extended, 0, &mut out).unwrap();
    });
    assert_eq!(made, 0);
}

#[test]
fn reading_borrowed_values_does_not_allocate() {
    let octets = vec![7; 40_000];
    let mut bytes = Vec::new();
    for count in [0, 1, 1000, 40_000] {
        bytes.clear();
        encode(&types::AnyOctets(Octets::from(&octets[..count])), 0, &mut bytes).unwrap();
        let made = allocations(|| assert_eq!(decode::<types::AnyOctets<'_>>(&bytes, 0).unwrap().0.len(), count));
        assert_eq!(made, 0, "{count} octets");
    }
    bytes.clear();
    encode(&types::TextName(PrintableString::literal("cell_1")), 0, &mut bytes).unwrap();
    assert_eq!(allocations(|| assert_eq!(&*decode::<types::TextName<'_>>(&bytes, 0).unwrap().0, "cell_1")), 0);
    bytes.clear();
    encode(&Real::Value(0.1), 0, &mut bytes).unwrap();
    assert_eq!(allocations(|| assert_eq!(decode::<Real<'_>>(&bytes, 0), Ok(Real::Value(0.1)))), 0);
}

/// Memory grows with the items received, not with the announced count.
#[test]
fn memory_for_announced_items_is_bounded() {
    let octets = |run: &dyn Fn()| {
        let before = CountingAllocator::requested_octets();
        run();
        CountingAllocator::requested_octets() - before
    };
    let made = octets(&|| assert!(decode::<List<'_, u32>>(&[0xBF, 0xFF, 0, 1], 0).is_err()));
    assert!(made <= 64 * size_of::<u32>() as u64, "{made} octets for a list that announces 16383 items and has one");
    let made = octets(&|| assert!(decode::<types::AnyOctets<'_>>(&[0xC4; 1000], 0).is_err()));
    assert_eq!(made, 0, "for missing fragments");
    let made = octets(&|| assert!(decode::<types::AnyBits<'_>>(&[0xC4; 1000], 0).is_err()));
    assert_eq!(made, 0, "for missing fragments");
    // items of one bit: the list grows up to its maximum
    let many = [&[0xC4][..], &[0; 8192]].concat().repeat(5);
    let made = octets(&|| assert!(decode::<List<'_, bool>>(&many, 0).is_err()));
    assert!(made <= 2 * u64::from(per::MAX_ITEMS), "{made} octets");
}
