//! FlatBuffers of every construct.

use per::flat::{Kind, Schema, Type, decode, encode};
use per::{BitString, Bits, ErrorKind, Flat, List, Memo, Octets, Per, PrintableString, Real, Single};

#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 1..=300, extensible)]
struct Wide(u16);

#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = -5..=5)]
struct Narrow(i64);

#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=2)]
struct Names<'a>(List<'a, PrintableString<'a>>);

#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
enum Colour {
    Red,
    Green,
    #[per(addition)]
    Blue,
}

#[derive(Clone, Copy, Debug, PartialEq, Per)]
enum Closed {
    Only,
    Other,
}

#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
enum Pick<'a> {
    Nothing,
    #[per(range = 0..=9)]
    Digit(u8),
    #[per(size = 1..=3)]
    Some(List<'a, Wide>),
    #[per(addition)]
    Again(Box<Pick<'a>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Flat)]
struct Mark;

#[derive(Clone, Debug, PartialEq, Flat)]
struct Own<'a> {
    mark: Option<Mark>,
    octets: List<'a, Octets<'a>>,
}

#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct All<'a> {
    truth: bool,
    octet: u8,
    pair: u16,
    word: u32,
    number: i64,
    wide: Wide,
    narrow: Narrow,
    real: Real<'a>,
    #[per(size = 0..=4)]
    octets: Octets<'a>,
    fixed: [u8; 3],
    text: PrintableString<'a>,
    bits: Bits,
    #[per(size = 100..=100)]
    long: BitString<'a>,
    colour: Colour,
    closed: Closed,
    pick: Pick<'a>,
    names: Names<'a>,
    lists: List<'a, Names<'a>>,
    rows: List<'a, Octets<'a>>,
    #[per(size = 1..=9)]
    memo: Option<Memo<'a, List<'a, u32>>>,
    one: Single<'a, Pick<'a>>,
    #[per(default = 7)]
    seven: u8,
    #[per(addition)]
    late: Option<Real<'a>>,
}

fn text(text: &str) -> PrintableString<'_> {
    PrintableString::try_from(text).unwrap()
}

fn full() -> All<'static> {
    let names = Names(List::from(vec![text("a"), text("bcdef")]));
    All {
        truth: true,
        octet: 0,
        pair: 65535,
        word: u32::MAX,
        number: i64::MIN,
        wide: Wide(40_000),
        narrow: Narrow(-5),
        real: Real::from(-0.1),
        octets: Octets::from(&[1, 2, 3, 4]),
        fixed: [9, 8, 7],
        text: text("under_score"),
        bits: Bits::new(0x2A, 7),
        long: BitString::Long { octets: Octets::from(vec![0xF0; 13]), count: 100 },
        colour: Colour::Blue,
        closed: Closed::Other,
        pick: Pick::Again(Box::new(Pick::Some(List::from(vec![Wide(1), Wide(2)])))),
        names: names.clone(),
        lists: List::from(vec![names.clone(), names]),
        rows: List::from(vec![Octets::from(b"x"), Octets::from(b"")]),
        memo: Some(Memo::from(List::from(vec![1, 2, 3]))),
        one: Single::from(Pick::Nothing),
        seven: 8,
        late: Some(Real::from(f64::NAN)),
    }
}

fn least() -> All<'static> {
    All {
        real: Real::from(0.0),
        octets: Octets::default(),
        text: text(""),
        bits: Bits::new(0, 0),
        pick: Pick::Digit(9),
        lists: List::default(),
        rows: List::default(),
        memo: None,
        seven: 7,
        late: None,
        ..full()
    }
}

#[test]
fn every_construct_round_trips() {
    for value in [full(), least()] {
        let mut out = Vec::new();
        encode(&value, 0, Some(*b"PERF"), &mut out).unwrap();
        assert_eq!(decode::<All<'_>>(&out, 0, Some(*b"PERF")), Ok(value));
    }
    let own = Own { mark: Some(Mark), octets: List::from(vec![Octets::from(b"derived alone")]) };
    let mut out = Vec::new();
    encode(&own, 0, None, &mut out).unwrap();
    assert_eq!(decode::<Own<'_>>(&out, 0, None), Ok(own));
}

/// Octets that PER has fragmented are one vector, and decoded octets are borrowed from the buffer.
#[test]
fn fragments_are_joined() {
    let mut per_octets = Vec::new();
    let payload: Vec<u8> = (0..40_000u32).map(|i| i as u8).collect();
    per::encode(&Octets::from(&payload[..]), 0, &mut per_octets).unwrap();
    let octets: Octets<'_> = per::decode(&per_octets, 0).unwrap();
    assert_eq!(octets.as_slice(), None);
    let own = Own { mark: None, octets: List::from(vec![octets]) };
    let mut out = Vec::new();
    encode(&own, 0, None, &mut out).unwrap();
    let read: Own<'_> = decode(&out, 0, None).unwrap();
    assert_eq!(read.octets[0].borrowed(), Some(&payload[..]));
}

#[test]
fn constraints_are_checked_in_both_directions() {
    let refuse = |change: fn(&mut All<'static>), kind: ErrorKind, at: &str| {
        let mut value = full();
        change(&mut value);
        let mut out = vec![1, 2, 3];
        let error = encode(&value, 0, None, &mut out).unwrap_err();
        assert_eq!((error.kind, error.at), (kind, at));
        assert_eq!(out, [1, 2, 3], "unchanged");
    };
    refuse(|all| all.narrow = Narrow(6), ErrorKind::OutOfRange, "Narrow");
    refuse(|all| all.octets = Octets::from(&[0; 5]), ErrorKind::BadLength, "All.octets");
    refuse(|all| all.names = Names(List::default()), ErrorKind::BadLength, "Names");
    refuse(|all| all.pick = Pick::Digit(10), ErrorKind::OutOfRange, "Pick.Digit");
    refuse(|all| all.long = BitString::new(0, 64), ErrorKind::BadLength, "All.long");
    refuse(|all| all.bits = Bits::new(2, 1), ErrorKind::OutOfRange, "All.bits");

    // the same types without constraints encode values that the decoder refuses
    #[derive(Flat)]
    struct Loose<'a> {
        narrow: i64,
        text: PrintableString<'a>,
        colour: Closed,
    }
    #[derive(Debug, PartialEq, Flat)]
    struct Tight<'a> {
        narrow: Narrow,
        #[per(size = 1..=3)]
        text: PrintableString<'a>,
        colour: Closed,
    }
    let read = |narrow, word: &'static str, change: fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        encode(&Loose { narrow, text: text(word), colour: Closed::Only }, 0, None, &mut out).unwrap();
        change(&mut out);
        decode::<Tight<'_>>(&out, 0, None).map(drop).map_err(|error| (error.kind, error.at))
    };
    assert_eq!(read(5, "abc", |_| {}), Ok(()));
    assert_eq!(read(6, "abc", |_| {}), Err((ErrorKind::OutOfRange, "Narrow")));
    assert_eq!(read(5, "abcd", |_| {}), Err((ErrorKind::BadLength, "Tight.text")));
    assert_eq!(read(5, "", |_| {}), Err((ErrorKind::BadLength, "Tight.text")));
    let not_ascii = |out: &mut Vec<u8>| *out.iter_mut().rfind(|octet| **octet == b'c').unwrap() = 0x80;
    assert_eq!(read(5, "abc", not_ascii), Err((ErrorKind::BadCharacter, "Tight.text")));
}

#[test]
fn missing_and_unknown_fields_are_errors() {
    #[derive(Flat)]
    struct Parts {
        a: Option<u8>,
        b: Option<Colour>,
    }
    #[derive(Debug, PartialEq, Flat)]
    struct Whole {
        a: u8,
        b: Option<Closed>,
    }
    let read = |parts: Parts| {
        let mut out = Vec::new();
        encode(&parts, 0, None, &mut out).unwrap();
        decode::<Whole>(&out, 0, None).map_err(|error| (error.kind, error.at))
    };
    assert_eq!(read(Parts { a: Some(0), b: None }), Ok(Whole { a: 0, b: None }), "zero is not absent");
    assert_eq!(read(Parts { a: None, b: None }), Err((ErrorKind::Missing, "Whole.a")));
    assert_eq!(read(Parts { a: Some(1), b: Some(Colour::Blue) }), Err((ErrorKind::UnknownIndex, "Closed")));

    #[derive(Flat)]
    enum Later {
        _A(u8),
        _B(u8),
        _C(u8),
        _D(u8),
        E(u8),
    }
    let mut out = Vec::new();
    encode(&Later::E(1), 0, None, &mut out).unwrap();
    let error = decode::<Pick<'_>>(&out, 0, None).unwrap_err();
    assert_eq!((error.kind, error.at), (ErrorKind::UnknownExtension, "Pick"));
}

/// The depth of nested tables is bounded, and so is the work for a small buffer whose offsets have the same target.
#[test]
fn hostile_structure_is_bounded() {
    let mut deep = Pick::Nothing;
    for _ in 0..100 {
        deep = Pick::Again(Box::new(deep));
    }
    let mut out = Vec::new();
    encode(&deep, 0, None, &mut out).unwrap();
    assert_eq!(decode::<Pick<'_>>(&out, 0, None).unwrap_err().kind, ErrorKind::TooDeep);

    #[derive(Clone, Debug, Flat)]
    struct Tree<'a> {
        branches: List<'a, Tree<'a>>,
    }
    // the ten offsets of each table point to the same next table
    const FAN: usize = 10;
    let mut out = Vec::new();
    let mut writer = flat::Writer::new(&mut out, None);
    let mut places = vec![writer.root()];
    for level in 0..20 {
        let (last, others) = places.split_last().unwrap();
        let table = writer.table(*last, [4]);
        let at = table.place(0) - 4;
        others.iter().for_each(|place| writer.scalar(*place, ((at - place) as u32).to_le_bytes()));
        let fan = if level < 19 { FAN } else { 0 };
        let first = writer.vector(table.place(0), fan, 4);
        places = (0..fan).map(|i| first + 4 * i).collect();
    }
    writer.finish().unwrap();
    assert_eq!(decode::<Tree<'_>>(&out, 0, None).unwrap_err().kind, ErrorKind::TooManyItems);
}

#[test]
fn schema_matches_the_declarations() {
    let mut schema = Schema::default();
    All::declare(&mut schema);
    let text = schema.text(per::flat::schema::Header {
        comment: &["A test."],
        namespace: "test",
        root: "All",
        identifier: Some("PERF"),
    });
    for line in [
        "  truth: bool = null (id: 0); // mandatory",
        "  wide: ushort = null (id: 5); // mandatory",
        "  real: double = null (id: 7); // mandatory",
        "  octets: [ubyte] (id: 8, required);",
        "  bits: BitString (id: 11, required);",
        "  names: [string] (id: 16, required);",
        "  lists: [NamesItem] (id: 17, required);",
        "  rows: [Octets] (id: 18, required);",
        "  memo: [uint] (id: 19);",
        "  seven: ubyte = null (id: 21);",
        "  nothing: bool = null (id: 0);",
        "  again: Pick (id: 3);",
        "enum Colour: ubyte {\n  Red = 0,\n  Green = 1,\n  Blue = 2,\n}",
        "table NamesItem {\n  value: [string] (id: 0, required);\n}",
        "root_type All;\nfile_identifier \"PERF\";",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    assert_eq!(Names::KIND, Kind::Vector { item: "NamesItem" });
}

#[derive(Clone, Copy, Debug, PartialEq, Per)]
struct Numbers {
    tiny: i8,
    signed: i32,
    counter: u64,
    single: f32,
    double: f64,
}

#[test]
fn numbers_round_trip() {
    for numbers in [
        Numbers { tiny: -128, signed: i32::MIN, counter: u64::MAX, single: -0.1, double: 1e300 },
        Numbers { tiny: 127, signed: i32::MAX, counter: 0, single: f32::MAX, double: f64::NEG_INFINITY },
    ] {
        let mut bytes = Vec::new();
        encode(&numbers, 0, None, &mut bytes).unwrap();
        assert_eq!(decode::<Numbers>(&bytes, 0, None), Ok(numbers));
    }
}
