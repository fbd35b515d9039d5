//! Comparison of derived types with `rasn`, another implementation with derived codecs: the same ASN.1 is declared in both. The
//! octets of random values are equal, and each decodes the encoding of the other.
//!
//! Covered: SEQUENCE with OPTIONAL, DEFAULT, additions and addition groups; CHOICE and ENUMERATED with additions;
//! SEQUENCE OF; strings under every form of size; numbers. rasn has no REAL in PER; see `vectors.rs`.

mod common;

use common::types;
use common::{Random, decode_at, encode_at};
use per::{Heap, List, Octets, PrintableString};
use rasn::prelude::*;

const ROUNDS: usize = 3000;

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(automatic_tags)]
struct Flat {
    #[rasn(value("0..=7"))]
    a: u8,
    b: bool,
}

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(automatic_tags)]
struct Optional {
    #[rasn(value("0..=7"))]
    a: Option<u8>,
    #[rasn(default = "yes")]
    b: bool,
    #[rasn(value("0..=9"), default = "three")]
    c: u8,
}

fn yes() -> bool {
    true
}

fn three() -> u8 {
    3
}

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(automatic_tags)]
#[non_exhaustive]
struct Extended {
    #[rasn(value("0..=7"))]
    a: u8,
    b: Option<bool>,
    #[rasn(extension_addition, value("0..=255"))]
    c: Option<u8>,
    #[rasn(extension_addition)]
    d: Option<OctetString>,
    #[rasn(extension_addition_group)]
    group: Option<Group>,
    #[rasn(extension_addition)]
    h: Option<bool>,
}

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(automatic_tags)]
struct Group {
    #[rasn(value("0..=7"))]
    e: u8,
    f: Option<bool>,
    #[rasn(value("0..=9"), default = "three")]
    g: u8,
}

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(choice, automatic_tags)]
enum Choice {
    #[rasn(value("0..=7"))]
    A(u8),
    B(OctetString),
    C(()),
}

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(choice, automatic_tags)]
#[non_exhaustive]
enum ChoiceExtensible {
    #[rasn(value("0..=7"))]
    A(u8),
    B(bool),
    #[rasn(extension_addition)]
    C(()),
    #[rasn(extension_addition, value("0..=7"))]
    D(u8),
    #[rasn(extension_addition)]
    E(OctetString),
}

#[derive(AsnType, Clone, Copy, Debug, Decode, Encode, PartialEq, Eq, Hash)]
#[rasn(enumerated)]
enum Enumerated {
    A = 0,
    B = 1,
    C = 2,
}

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(delegate, value("-100000..=100000"))]
struct Signed(i64);

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(delegate, size("1..=150", extensible))]
struct Name(rasn::types::PrintableString);

macro_rules! sized {
    ($($of:ident $name:ident($size:literal $($extensible:ident)?);)*) => {$(
        #[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
        #[rasn(delegate, size($size $(, $extensible)?))]
        struct $name($of);
    )*};
}

type Text = rasn::types::PrintableString;
type Threes = SequenceOf<Three>;

#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
#[rasn(delegate, value("0..=7"))]
struct Three(u8);

sized! {
    OctetString OctetsSize0("0");
    OctetString OctetsSize1("1");
    OctetString OctetsSize2("2");
    OctetString OctetsSize3("3");
    OctetString OctetsUpTo1("0..=1");
    OctetString OctetsUpTo2("0..=2");
    OctetString OctetsUpTo255("0..=255");
    OctetString OctetsUpTo300("0..=300");
    OctetString OctetsExtensible2("2" extensible);
    OctetString OctetsExtensible3("3" extensible);
    OctetString OctetsExtensibleTo4("1..=4" extensible);
    Text TextSize1("1");
    Text TextSize2("2");
    Text TextSize3("3");
    Text TextUpTo2("0..=2");
    BitString BitsSize8("8");
    BitString BitsSize16("16");
    BitString BitsSize17("17");
    BitString BitsSize28("28");
    BitString BitsSize65("65");
    BitString BitsUpTo7("0..=7");
    BitString Bits22To32("22..=32" extensible);
    BitString BitsExtensible8("8" extensible);
    Threes ListSize3("3");
    Threes ListUpTo3("0..=3");
    Threes ListOneTo256("1..=256");
    Threes ListExtensible("1..=2" extensible);
}

/// A value between two single bits.
#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
struct Within<T> {
    before: bool,
    value: T,
    behind: bool,
}

/// Compares both directions, with and without bits around the value.
#[track_caller]
fn same<'a, T, U>(ours: &T, theirs: &U, phase_one: &'a mut Vec<u8>)
where
    T: per::Encode + per::Decode<'a, Heap<'a>> + PartialEq + core::fmt::Debug,
    U: Encode + Decode + Clone + PartialEq + core::fmt::Debug,
{
    let within = Within { before: true, value: theirs.clone(), behind: true };
    *phase_one = encode_at(1, ours).unwrap();
    assert_eq!(&rasn::aper::encode(&within).unwrap(), phase_one, "{theirs:?}");
    assert_eq!(rasn::aper::decode::<Within<U>>(phase_one).unwrap(), within);
    assert_eq!(&decode_at::<T>(1, phase_one, Heap::default()).unwrap(), ours);

    let mut alone = Vec::new();
    per::encode(ours, 0, &mut alone).unwrap();
    assert_eq!(rasn::aper::encode(theirs).unwrap(), alone, "{theirs:?}");
}

fn maybe<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
    random.chance().then(|| make(random))
}

fn digit(random: &mut Random, below: usize) -> u8 {
    random.below(below) as u8
}

#[test]
fn sequences_agree() {
    let mut random = Random::new(11);
    for _ in 0..ROUNDS {
        let (a, b) = (digit(&mut random, 8), random.chance());
        same(&types::Flat { a, b }, &Flat { a, b }, &mut Vec::new());

        let (a, c) = (maybe(&mut random, |r| digit(r, 8)), digit(&mut random, 10));
        same(&types::Optional { a, b, c }, &Optional { a, b, c }, &mut Vec::new());
    }
}

#[test]
fn additions_and_groups_agree() {
    let mut random = Random::new(12);
    for _ in 0..ROUNDS {
        let a = digit(&mut random, 8);
        let b = maybe(&mut random, Random::chance);
        let c = maybe(&mut random, |r| r.next() as u8);
        let d = maybe(&mut random, |r| {
            let count = [0, 1, 100, 126, 127, 128, 300][r.below(7)];
            r.octets(count)
        });
        let group = maybe(&mut random, |r| Group {
            e: digit(r, 8),
            f: maybe(r, Random::chance),
            g: if r.chance() { 3 } else { digit(r, 10) },
        });
        let h = maybe(&mut random, Random::chance);
        let ours = types::Extended {
            a,
            b,
            c,
            d: d.as_deref().map(Octets::from),
            e: group.as_ref().map(|g| g.e),
            f: group.as_ref().and_then(|g| g.f),
            g: group.as_ref().map_or(3, |g| g.g),
            h,
        };
        same(&ours, &Extended { a, b, c, d: d.clone().map(OctetString::from), group, h }, &mut Vec::new());
    }
}

#[test]
fn choices_and_enumerations_agree() {
    let mut random = Random::new(13);
    for _ in 0..ROUNDS {
        let (a, b) = (digit(&mut random, 8), random.chance());
        let octets = {
            let count = random.below(200);
            random.octets(count)
        };
        let (ours, theirs) = match random.below(3) {
            0 => (types::Choice::A(a), Choice::A(a)),
            1 => (types::Choice::B(Octets::from(&octets[..])), Choice::B(octets.clone().into())),
            _ => (types::Choice::C, Choice::C(())),
        };
        same(&ours, &theirs, &mut Vec::new());
        let (ours, theirs) = match random.below(5) {
            0 => (types::ChoiceExtensible::A(a), ChoiceExtensible::A(a)),
            1 => (types::ChoiceExtensible::B(b), ChoiceExtensible::B(b)),
            2 => (types::ChoiceExtensible::C, ChoiceExtensible::C(())),
            3 => (types::ChoiceExtensible::D(a), ChoiceExtensible::D(a)),
            _ => (types::ChoiceExtensible::E(Octets::from(&octets[..])), ChoiceExtensible::E(octets.clone().into())),
        };
        same(&ours, &theirs, &mut Vec::new());
    }
    same(&types::Enumerated::A, &Enumerated::A, &mut Vec::new());
    same(&types::Enumerated::B, &Enumerated::B, &mut Vec::new());
    same(&types::Enumerated::C, &Enumerated::C, &mut Vec::new());
}

#[test]
fn numbers_names_and_lists_agree() {
    let mut random = Random::new(14);
    for _ in 0..ROUNDS {
        let number = random.integer(-100_000, 100_000);
        same(&types::IntegerSigned(number), &Signed(number), &mut Vec::new());

        let length = [1, 2, 3, 149, 150, 151, 200][random.below(7)];
        let text: String = (0..length).map(|_| char::from(b'a' + digit(&mut random, 26))).collect();
        let ours = types::TextName(PrintableString::try_from(&text[..]).unwrap());
        let theirs = Name(rasn::types::PrintableString::try_from(text.clone()).unwrap());
        same(&ours, &theirs, &mut Vec::new());

        let flags: Vec<bool> = (0..random.below(300)).map(|_| random.chance()).collect();
        same(&List::from(flags.clone()), &flags, &mut Vec::new());
    }
    for count in [16383, 16384, 16385, 65536, 65537, 100_000] {
        let flags: Vec<bool> = (0..count).map(|_| random.chance()).collect();
        same(&List::from(flags.clone()), &flags, &mut Vec::new());
    }
}

/// Sets the bits after `count` to zero.
fn clear_unused(octets: &mut [u8], count: usize) {
    if let Some(last) = octets.last_mut().filter(|_| !count.is_multiple_of(8)) {
        *last &= 0xFF << (8 - count % 8);
    }
}

#[test]
fn sizes_agree() {
    let mut random = Random::new(15);
    macro_rules! strings {
        ($($name:ident $($length:literal)*;)*) => {$($({
            let octets = random.octets($length);
            let ours = types::$name(Octets::from(&octets[..]));
            same(&ours, &$name(octets.clone().into()), &mut Vec::new());
        })*)*};
    }
    macro_rules! texts {
        ($($name:ident $($length:literal)*;)*) => {$($({
            let text = "abc"[..$length].to_owned();
            let ours = types::$name(PrintableString::try_from(&text[..]).unwrap());
            same(&ours, &$name(Text::try_from(text.clone()).unwrap()), &mut Vec::new());
        })*)*};
    }
    macro_rules! bits {
        ($($name:ident $($count:literal)*;)*) => {$($({
            let mut octets = random.octets(usize::div_ceil($count, 8));
            let mut theirs = BitString::from_slice(&octets);
            theirs.truncate($count);
            clear_unused(&mut octets, $count);
            let ours = per::BitString::Long { octets: Octets::from(&octets[..]), count: $count };
            same(&types::$name(ours), &$name(theirs), &mut Vec::new());
        })*)*};
    }
    macro_rules! lists {
        ($($name:ident $($count:literal)*;)*) => {$($({
            let items: Vec<u8> = (0..$count).map(|_| digit(&mut random, 8)).collect();
            let ours = items.iter().map(|i| types::Three(i64::from(*i))).collect();
            let theirs = items.iter().map(|i| Three(*i)).collect();
            same(&types::$name(ours), &$name(theirs), &mut Vec::new());
        })*)*};
    }
    strings! {
        OctetsSize0 0;
        OctetsSize1 1;
        OctetsSize2 2;
        OctetsSize3 3;
        OctetsUpTo1 0 1;
        OctetsUpTo2 0 1 2;
        OctetsUpTo255 0 1 255;
        OctetsUpTo300 0 1 300;
        OctetsExtensible2 2 0 1 3 200;
        OctetsExtensible3 3 2 4 20000;
        OctetsExtensibleTo4 1 4 0 5;
    }
    texts! {
        TextSize1 1;
        TextSize2 2;
        TextSize3 3;
        TextUpTo2 0 1 2;
    }
    bits! {
        BitsSize8 8;
        BitsSize16 16;
        BitsSize17 17;
        BitsSize28 28;
        BitsSize65 65;
        BitsUpTo7 0 1 7;
        Bits22To32 22 29 32 21 33 100;
        BitsExtensible8 8 7 9;
    }
    lists! {
        ListSize3 3;
        ListUpTo3 0 1 3;
        ListOneTo256 1 2 256;
        ListExtensible 1 2 0 3 200;
    }
}
