//! Derived types against `rasn`, another implementation, which derives its codecs from Rust types too: the same ASN.1
//! declared in both, random values, the octets equal, and each reads what the other wrote.
//!
//! Covered here: SEQUENCE with OPTIONAL, DEFAULT, additions and addition groups; CHOICE and ENUMERATED with additions;
//! SEQUENCE OF; strings and numbers in them. Left out, because rasn 0.30 does not follow X.691 (02/2021) there:
//! - it has no REAL in PER;
//! - it does not align the length of a string whose size has a range of 256 or more (11.5.7.3);
//! - it reads an extensible string of one size, a BIT STRING of one size above 16 bits, and a SEQUENCE OF with a bounded
//!   count off their place within an octet (17.3, 16.10, 20.6): there only what it writes is compared.
//!
//! All of these are covered by `differential_oxirush.rs` or `vectors.rs`.

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

/// A value behind one bit and before one.
#[derive(AsnType, Clone, Debug, Decode, Encode, PartialEq)]
struct Within<T> {
    before: bool,
    value: T,
    behind: bool,
}

/// Compares both ways, alone and within bits.
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
fn sequences() {
    let mut random = Random::new(11);
    for _ in 0..ROUNDS {
        let (a, b) = (digit(&mut random, 8), random.chance());
        same(&types::Flat { a, b }, &Flat { a, b }, &mut Vec::new());

        let (a, c) = (maybe(&mut random, |r| digit(r, 8)), digit(&mut random, 10));
        same(&types::Optional { a, b, c }, &Optional { a, b, c }, &mut Vec::new());
    }
}

#[test]
fn additions_and_groups() {
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
fn choices_and_enumerations() {
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
            _ => {
                (types::ChoiceExtensible::E(Octets::from(&octets[..])), ChoiceExtensible::E(octets.clone().into()))
            }
        };
        same(&ours, &theirs, &mut Vec::new());
    }
    same(&types::Enumerated::A, &Enumerated::A, &mut Vec::new());
    same(&types::Enumerated::B, &Enumerated::B, &mut Vec::new());
    same(&types::Enumerated::C, &Enumerated::C, &mut Vec::new());
}

#[test]
fn numbers_names_and_lists() {
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
