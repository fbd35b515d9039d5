//! Random values and octets: encoded values are decoded, garbage is refused or decodes to a value that round-trips, and a memo
//! decodes the same values as a plain decoder.

mod common;

use common::types::{self, Everything};
use common::{Random, decode_at, encode_at};
use per::{
    BitString, DecodeSized, Error, Gather, Heap, IntoOwned, List, Memo, Octets, Per, PrintableString, Reader, Real,
    Size, decode, encode,
};

fn octets(random: &mut Random) -> Octets<'static> {
    let counts = [0, 1, 2, 3, 100, 127, 128, 300, 16383, 16384, 16400];
    let most = if random.below(50) == 0 { counts.len() } else { 8 };
    let count = counts[random.below(most)];
    random.octets(count).into()
}

fn text(random: &mut Random, most: usize) -> PrintableString<'static> {
    let text: String = (0..random.below(most)).map(|_| char::from(random.below(95) as u8 + b' ')).collect();
    text.try_into().unwrap()
}

fn bits(random: &mut Random, count: usize) -> BitString<'static> {
    if count <= 64 {
        let value = random.next();
        BitString::new(if count == 0 { 0 } else { value >> (64 - count) }, count as u8)
    } else {
        let mut octets = random.octets(count.div_ceil(8));
        if let Some(last) = octets.last_mut().filter(|_| !count.is_multiple_of(8)) {
            *last &= 0xFF << (8 - count % 8);
        }
        BitString::Long { octets: octets.into(), count }
    }
}

fn real(random: &mut Random) -> Real<'static> {
    match random.below(4) {
        0 => Real::Value(random.integer(-1000, 1000) as f64 / 8.0),
        1 => Real::Value([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN][random.below(5)]),
        _ => Real::Value(f64::from_bits(random.next())),
    }
}

fn recursive(random: &mut Random, depth: usize) -> types::Recursive<'static> {
    match random.below(if depth == 0 { 1 } else { 3 }) {
        0 => types::Recursive::Leaf(random.chance()),
        1 => types::Recursive::Branch((0..random.below(4)).map(|_| recursive(random, depth - 1)).collect()),
        _ => types::Recursive::Boxed(Box::new(recursive(random, depth - 1))),
    }
}

fn maybe<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
    random.chance().then(|| make(random))
}

fn everything(random: &mut Random) -> Everything<'static> {
    let group = maybe(random, |r| (r.below(8) as u8, maybe(r, Random::chance), r.below(10) as u8));
    let wide = [types::EnumeratedWide::A, types::EnumeratedWide::X5, types::EnumeratedWide::X69];
    Everything {
        integer: types::IntegerAny(random.integer(i64::MIN, i64::MAX)),
        wide: types::IntegerAll64(random.integer(i64::MIN, i64::MAX)),
        semi: maybe(random, |r| types::IntegerSemiNegative(r.integer(-5, i64::MAX))),
        octets: types::AnyOctets(octets(random)),
        two: types::OctetsExtensible2(octets(random)),
        name: maybe(random, |r| types::TextName(text(r, 200))),
        bits: types::Bits22To32({
            let count = random.below(100);
            bits(random, count)
        }),
        all_bits: types::AnyBits({
            let count = [0, 1, 64, 65, 129, 16383, 16384, 81929][random.below(8)];
            bits(random, count)
        }),
        kind: wide[random.below(3)],
        choice: match random.below(5) {
            0 => types::ChoiceExtensible::A(random.below(8) as u8),
            1 => types::ChoiceExtensible::B(random.chance()),
            2 => types::ChoiceExtensible::C,
            3 => types::ChoiceExtensible::D(random.below(8) as u8),
            _ => types::ChoiceExtensible::E(octets(random)),
        },
        list: types::AnyList((0..random.below(200)).map(|_| types::Three(random.integer(0, 7))).collect()),
        nested: maybe(random, |r| {
            let item = |r: &mut Random| types::OctetsOneToThree(vec![7; 1 + r.below(3)].into());
            let inner = |r: &mut Random| types::Inner((0..r.below(4)).map(|_| item(r)).collect());
            types::Nested((0..r.below(4)).map(|_| inner(r)).collect())
        }),
        extended: types::Extended {
            a: random.below(8) as u8,
            b: maybe(random, Random::chance),
            c: maybe(random, |r| r.next() as u8),
            d: maybe(random, octets),
            e: group.map(|g| g.0),
            f: group.and_then(|g| g.1),
            g: group.map_or(3, |g| g.2),
            h: maybe(random, Random::chance),
        },
        optional: types::Optional {
            a: maybe(random, |r| r.below(8) as u8),
            b: random.chance(),
            c: random.below(10) as u8,
        },
        real: real(random),
        deep: maybe(random, |r| types::Deep::B(types::Deeper::B(octets(r)))),
        recursive: maybe(random, |r| Box::new(recursive(r, 5))),
    }
}

#[test]
fn values_round_trip() {
    let mut random = Random::new(21);
    for _ in 0..3000 {
        let (value, phase) = (everything(&mut random), random.below(8) as u32);
        let bytes = encode_at(phase, &value).unwrap();
        let gather = Gather::new();
        let read: Everything<'_> = decode_at(phase, &bytes, Heap::gathering(&gather)).unwrap();
        assert_eq!(read, value);
        assert_eq!(encode_at(phase, &read).unwrap(), bytes);
        assert_eq!(read.into_owned(), value);
        // padding is zero also in a used buffer, after other content
        let mut used = vec![0xFF; bytes.len() * 2 + 8];
        used.truncate(3);
        encode(&value, 0, &mut used).unwrap();
        let mut fresh = Vec::new();
        encode(&value, 0, &mut fresh).unwrap();
        assert_eq!(used[..3], [0xFF; 3]);
        assert!(used[3..] == fresh);
    }
}

/// Decodes invalid octets: the result is an error with a position in them, or a value that round-trips.
fn survives(bytes: &[u8]) {
    let gather = Gather::new();
    let mut reader = Reader::with_store(bytes, 0, Heap::gathering(&gather));
    let result = <Everything<'_> as per::Decode<'_, Heap<'_>>>::decode(&mut reader);
    match result {
        Ok(value) => {
            let mut again = Vec::new();
            encode(&value, 0, &mut again).unwrap();
            let gather = Gather::new();
            let mut reader = Reader::with_store(&again, 0, Heap::gathering(&gather));
            let read: Result<Everything<'_>, Error> = per::Decode::decode(&mut reader);
            assert_eq!(read.as_ref(), Ok(&value));
        }
        Err(error) => assert!(error.bit <= bytes.len() * 8, "{error}"),
    }
    let _ = decode::<types::Recursive<'_>>(bytes, 0);
    let _ = decode::<List<'_, Everything<'_>>>(bytes, 0);
}

#[test]
fn garbage_does_not_panic() {
    let mut random = Random::new(22);
    for _ in 0..20_000 {
        let count = random.below(200);
        survives(&random.octets(count));
    }
    for _ in 0..2000 {
        let mut bytes = Vec::new();
        encode(&everything(&mut random), 0, &mut bytes).unwrap();
        for _ in 0..8 {
            let mut wrong = bytes.clone();
            for _ in 0..1 + random.below(3) {
                // mostly near the start, which has the structure
                let most = 1 << random.below(12);
                let at = random.below(wrong.len().min(most));
                wrong[at] ^= 1 << random.below(8);
            }
            if random.below(4) == 0 {
                wrong.truncate(random.below(wrong.len()));
            }
            survives(&wrong);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Per)]
struct Label<'a> {
    name: PrintableString<'a>,
    #[per(range = 0..=7)]
    number: u8,
    flag: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Per)]
struct Plain<'a> {
    #[per(range = 0..=31)]
    before: u8,
    #[per(size = 0..=7)]
    labels: List<'a, Label<'a>>,
    behind: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Per)]
struct Remembering<'a> {
    #[per(range = 0..=31)]
    before: u8,
    #[per(size = 0..=7)]
    labels: Memo<'a, List<'a, Label<'a>>>,
    behind: Option<u8>,
}

/// Lists whose items often repeat the labels of the previous item, at every position within an octet: the values and errors are
/// the same with and without a memo.
#[test]
fn memo_decode_equals_plain_decode() {
    let mut random = Random::new(23);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        let pool: Vec<List<'_, Label<'_>>> = (0..2)
            .map(|_| {
                (0..random.below(3))
                    .map(|_| Label {
                        name: text(&mut random, 3),
                        number: random.below(8) as u8,
                        flag: maybe(&mut random, Random::chance),
                    })
                    .collect()
            })
            .collect();
        let value: List<'_, Plain<'_>> = (0..random.below(8))
            .map(|_| Plain {
                before: random.below(32) as u8,
                labels: pool[random.below(4) / 3].clone(),
                behind: maybe(&mut random, |r| r.next() as u8),
            })
            .collect();
        let phase = random.below(8) as u32;
        let mut bytes = encode_at(phase, &value).unwrap();
        match random.below(4) {
            0 => {
                let at = usize::from(phase > 0) + random.below(bytes.len());
                if let Some(octet) = bytes.get_mut(at) {
                    *octet ^= 1 << random.below(8);
                }
            }
            1 => bytes.truncate(1 + random.below(bytes.len())),
            _ => {}
        }
        let plain: Result<List<'_, Plain<'_>>, Error> = decode_at(phase, &bytes, Heap::default());
        let remembering: Result<List<'_, Remembering<'_>>, Error> = decode_at(phase, &bytes, Heap::default());
        match (plain, remembering) {
            (Ok(plain), Ok(remembering)) => {
                good += 1;
                let without: List<'_, Plain<'_>> = remembering
                    .iter()
                    .map(|r| Plain { before: r.before, labels: (*r.labels).clone(), behind: r.behind })
                    .collect();
                assert_eq!(without, plain);
                assert_eq!(encode_at(phase, &remembering), encode_at(phase, &plain));
                assert_eq!(remembering.clone().into_owned(), remembering);
            }
            (Err(plain), Err(remembering)) => {
                bad += 1;
                assert_eq!((plain.kind, plain.bit), (remembering.kind, remembering.bit));
            }
            (plain, remembering) => panic!("{plain:?}\n{remembering:?}"),
        }
    }
    assert!(good > 5000 && bad > 1000, "{good} good, {bad} bad");
}

/// Items that a memo copies count against the budget.
#[test]
fn memos_count_items() {
    #[derive(Clone, Debug, PartialEq, Per)]
    struct Item<'a> {
        #[per(size = 60000..=60000)]
        many: Memo<'a, List<'a, bool>>,
    }
    let with = |count: u8| [&[count][..], &[0; 7500 * 5]].concat();
    let read = |bytes: &[u8]| {
        List::<Item<'_>>::decode_sized(&mut Reader::new(bytes, 0), Size::ANY, None).map(|list| list.len())
    };
    assert_eq!(read(&with(4)), Ok(4));
    assert_eq!(read(&with(5)).unwrap_err().kind, per::ErrorKind::TooManyItems);
}
