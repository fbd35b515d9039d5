//! The examples of X.691 Annex A, aligned. VisibleString is encoded as PrintableString. Strings of digits, which have four bits
//! per digit there, are octets and bits here. The components of a SET are in the order of their tags.

#![allow(missing_docs)]

use per::{BitString, List, Octets, Per, PrintableString, decode, encode};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

macro_rules! check {
    ($ty:ty, $value:expr, $bytes:expr) => {
        let (value, bytes) = ($value, hex($bytes));
        let mut out = Vec::new();
        encode(&value, 0, &mut out).unwrap();
        assert_eq!(out, bytes);
        assert_eq!(decode::<$ty>(&bytes, 0).unwrap(), value);
    };
}

fn text(text: &str) -> PrintableString<'_> {
    text.try_into().unwrap()
}

#[test]
fn record_without_constraints_round_trips() {
    #[derive(Clone, Debug, PartialEq, Per)]
    struct Name<'a> {
        given: PrintableString<'a>,
        initial: PrintableString<'a>,
        family: PrintableString<'a>,
    }
    #[derive(Clone, Debug, PartialEq, Per)]
    struct Child<'a> {
        name: Name<'a>,
        born: PrintableString<'a>,
    }
    #[derive(Clone, Debug, PartialEq, Per)]
    struct Record<'a> {
        name: Name<'a>,
        number: i64,
        title: PrintableString<'a>,
        hired: PrintableString<'a>,
        spouse: Name<'a>,
        #[per(default = List::default())]
        children: List<'a, Child<'a>>,
    }
    let name = |a, b, c| Name { given: text(a), initial: text(b), family: text(c) };
    let record = Record {
        name: name("John", "P", "Smith"),
        number: 51,
        title: text("Director"),
        hired: text("19710917"),
        spouse: name("Mary", "T", "Smith"),
        children: List::from(vec![
            Child { name: name("Ralph", "T", "Smith"), born: text("19571111") },
            Child { name: name("Susan", "B", "Jones"), born: text("19590717") },
        ]),
    };
    check!(
        Record<'_>,
        record,
        "80044A6F 686E0150 05536D69 74680133 08446972 6563746F 72083139 37313039
         3137044D 61727901 5405536D 69746802 0552616C 70680154 05536D69 74680831
         39353731 31313105 53757361 6E014205 4A6F6E65 73083139 35393037 3137"
    );
}

#[test]
fn record_with_constraints_round_trips() {
    #[derive(Clone, Debug, PartialEq, Per)]
    struct Name<'a> {
        #[per(size = 1..=64)]
        given: PrintableString<'a>,
        #[per(size = 1..=1)]
        initial: PrintableString<'a>,
        #[per(size = 1..=64)]
        family: PrintableString<'a>,
    }
    #[derive(Clone, Debug, PartialEq, Per)]
    struct Child<'a> {
        name: Name<'a>,
        born: [u8; 4],
    }
    #[derive(Clone, Debug, PartialEq, Per)]
    struct Record<'a> {
        name: Name<'a>,
        number: i64,
        title: PrintableString<'a>,
        hired: [u8; 4],
        spouse: Name<'a>,
        #[per(default = List::default())]
        children: List<'a, Child<'a>>,
    }
    let name = |a, b, c| Name { given: text(a), initial: text(b), family: text(c) };
    let record = Record {
        name: name("John", "P", "Smith"),
        number: 51,
        title: text("Director"),
        hired: [0x19, 0x71, 0x09, 0x17],
        spouse: name("Mary", "T", "Smith"),
        children: List::from(vec![
            Child { name: name("Ralph", "T", "Smith"), born: [0x19, 0x57, 0x11, 0x11] },
            Child { name: name("Susan", "B", "Jones"), born: [0x19, 0x59, 0x07, 0x17] },
        ]),
    };
    check!(
        Record<'_>,
        record,
        "864A6F68 6E501053 6D697468 01330844 69726563 746F7219 7109170C 4D617279
         5410536D 69746802 1052616C 70685410 536D6974 68195711 11105375 73616E42
         104A6F6E 65731959 0717"
    );
}

#[test]
fn record_with_extension_markers_round_trips() {
    #[derive(Clone, Debug, PartialEq, Per)]
    #[per(extensible)]
    struct Name<'a> {
        #[per(size = 1..=64, extensible)]
        given: PrintableString<'a>,
        #[per(size = 1..=1)]
        initial: PrintableString<'a>,
        #[per(size = 1..=64, extensible)]
        family: PrintableString<'a>,
    }
    #[derive(Clone, Copy, Debug, PartialEq, Per)]
    enum Sex {
        Male,
        Female,
        Unknown,
    }
    #[derive(Clone, Debug, PartialEq, Per)]
    #[per(extensible)]
    struct Child<'a> {
        name: Name<'a>,
        #[per(size = 4..=4, extensible)]
        born: Octets<'a>,
        #[per(addition)]
        sex: Option<Sex>,
    }
    #[derive(Clone, Debug, PartialEq, Per)]
    #[per(extensible)]
    struct Record<'a> {
        name: Name<'a>,
        #[per(range = 0..=9999, extensible)]
        number: i64,
        title: PrintableString<'a>,
        #[per(size = 4..=4, extensible)]
        hired: Octets<'a>,
        spouse: Name<'a>,
        #[per(size = 2..=2, extensible)]
        children: Option<List<'a, Child<'a>>>,
    }
    let name = |a, b, c| Name { given: text(a), initial: text(b), family: text(c) };
    let record = Record {
        name: name("John", "P", "Smith"),
        number: 51,
        title: text("Director"),
        hired: Octets::from(b"\x19\x71\x09\x17"),
        spouse: name("Mary", "T", "Smith"),
        children: Some(List::from(vec![
            Child { name: name("Ralph", "T", "Smith"), born: Octets::from(b"\x19\x57\x11\x11"), sex: None },
            Child {
                name: name("Susan", "B", "Jones"),
                born: Octets::from(b"\x19\x59\x07\x17"),
                sex: Some(Sex::Female),
            },
        ])),
    };
    check!(
        Record<'_>,
        record,
        "40C04A6F 686E5008 536D6974 68000033 08446972 6563746F 72001971 0917034D
         61727954 08536D69 74680100 52616C70 68540853 6D697468 00195711 11820053
         7573616E 42084A6F 6E657300 19590717 010140"
    );
}

#[test]
fn record_with_addition_groups_round_trips() {
    #[derive(Clone, Debug, PartialEq, Per)]
    #[per(extensible)]
    enum C<'a> {
        D(i64),
        #[per(addition)]
        E(bool),
        #[per(addition)]
        F(PrintableString<'a>),
    }
    #[derive(Clone, Debug, PartialEq, Per)]
    #[per(extensible)]
    struct Ax<'a> {
        #[per(range = 250..=253)]
        a: u8,
        b: bool,
        c: C<'a>,
        i: Option<Octets<'a>>,
        j: Option<PrintableString<'a>>,
        /// Three characters of a NumericString.
        #[per(group = 1, mandatory, size = 12..=12)]
        g: Option<BitString<'a>>,
        #[per(group = 1)]
        h: Option<bool>,
    }
    let value =
        Ax { a: 253, b: true, c: C::E(true), i: None, j: None, g: Some(BitString::new(0x234, 12)), h: Some(true) };
    check!(Ax<'_>, value, "9E000180 010291A4");
}
