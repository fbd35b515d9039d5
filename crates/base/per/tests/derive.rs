//! Derived codecs: revisions, defaults, additions, groups, and names of fields that equal those of local variables.

#![allow(missing_docs, clippy::unusual_byte_groupings)] // bits are grouped by field

use per::{Error, ErrorKind, List, Octets, Per, decode};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct Sequence {
    #[per(range = 0..=7)]
    always: u8,
    #[per(until = 1)]
    dropped: Option<bool>,
    #[per(since = 2, mandatory, range = 0..=7)]
    demanded: Option<u8>,
    #[per(since = 2, until = 3)]
    for_a_while: Option<bool>,
    #[per(since = 3, default = 5, range = 0..=7)]
    with_default: u8,
    #[per(addition, until = 1)]
    old_addition: Option<bool>,
    #[per(addition)]
    addition: Option<bool>,
    #[per(group = 1, since = 3, mandatory)]
    in_group: Option<bool>,
    #[per(group = 1, since = 3)]
    also_in_group: Option<bool>,
}

const PLAIN: Sequence = Sequence {
    always: 1,
    dropped: None,
    demanded: None,
    for_a_while: None,
    with_default: 5,
    old_addition: None,
    addition: None,
    in_group: None,
    also_in_group: None,
};

fn encode(value: &impl per::Encode, revision: u8) -> Result<Vec<u8>, Error> {
    let mut out = vec![0xEE];
    let result = per::encode(value, revision, &mut out);
    assert_eq!(out[0], 0xEE);
    match result {
        Ok(()) => Ok(out.split_off(1)),
        Err(error) => {
            assert_eq!(out, [0xEE], "the buffer is unchanged after an error");
            Err(error)
        }
    }
}

fn round(value: Sequence, revision: u8, expected: &[u8]) {
    let bytes = encode(&value, revision).unwrap();
    assert_eq!(bytes, expected, "{value:?} in {revision}");
    assert_eq!(decode::<Sequence>(&bytes, revision), Ok(value));
}

fn refused(value: &impl per::Encode, revision: u8, kind: ErrorKind, at: &str) {
    let error = encode(value, revision).unwrap_err();
    assert_eq!((error.kind, error.at), (kind, at));
}

#[test]
fn components_depend_on_revision() {
    // extension bit, presence bits of that revision, then three bits for each number
    round(PLAIN, 1, &[0b0_0_001_000]);
    round(Sequence { dropped: Some(true), ..PLAIN }, 1, &[0b0_1_001_1_00]);
    let two = Sequence { demanded: Some(6), ..PLAIN };
    round(two, 2, &[0b0_0_001_110]);
    round(Sequence { for_a_while: Some(true), ..two }, 2, &[0b0_1_001_110, 0b1000_0000]);
    round(two, 3, &[0b0_0_0_001_11, 0]);
    round(Sequence { with_default: 4, ..two }, 3, &[0b0_0_1_001_11, 0b0_100_0000]);
    round(two, 4, &[0b0_0_001_110]);

    refused(&two, 1, ErrorKind::NotInRevision, "Sequence.demanded");
    refused(&PLAIN, 2, ErrorKind::Missing, "Sequence.demanded");
    refused(&Sequence { dropped: Some(true), ..two }, 2, ErrorKind::NotInRevision, "Sequence.dropped");
    refused(&Sequence { for_a_while: Some(true), ..two }, 4, ErrorKind::NotInRevision, "Sequence.for_a_while");
    refused(&Sequence { with_default: 4, ..two }, 2, ErrorKind::NotInRevision, "Sequence.with_default");
}

#[test]
fn additions_depend_on_revision() {
    // after the root: the number of additions of the revision (minus one, in seven bits), and their presence bits
    let one = Sequence { addition: Some(true), ..PLAIN };
    round(one, 1, &[0b1_0_001_000, 0b0001_01_00, 1, 0x80]);
    round(Sequence { old_addition: Some(true), ..PLAIN }, 1, &[0b1_0_001_000, 0b0001_10_00, 1, 0x80]);
    let two = Sequence { demanded: Some(6), ..one };
    round(two, 2, &[0b1_0_001_110, 0b0000_000_1, 1, 0x80]);
    let three = Sequence { in_group: Some(true), ..two };
    round(three, 3, &[0b1_0_0_001_11, 0b0_0000001, 0b11_000000, 1, 0x80, 1, 0b0_1_000000]);

    refused(&three, 2, ErrorKind::NotInRevision, "Sequence.in_group");
    refused(&Sequence { old_addition: Some(true), ..two }, 2, ErrorKind::NotInRevision, "Sequence.old_addition");
    refused(&Sequence { also_in_group: Some(true), ..two }, 3, ErrorKind::Missing, "Sequence.in_group");
    // an older reader skips an unknown group
    let newer = [0b1_0_001_110, 0b0000_001_1, 0b1_0000000, 1, 0x80, 1, 0b0_1_000000];
    assert_eq!(decode::<Sequence>(&newer, 2), Ok(two));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
enum Enumerated {
    #[per(until = 1)]
    First,
    Second,
    #[per(since = 2)]
    Third,
    Fourth,
    #[per(since = 2)]
    Fifth,
    #[per(addition, until = 1)]
    OldAddition,
    #[per(addition)]
    Addition,
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
enum Choice<'a> {
    #[per(until = 1)]
    First,
    #[per(range = 0..=3)]
    Second(u8),
    #[per(since = 2, size = 1..=1)]
    Third(Octets<'a>),
    Fourth(bool),
    #[per(since = 2)]
    Fifth,
    #[per(addition, until = 1)]
    OldAddition,
    #[per(addition)]
    Addition(bool),
}

#[test]
fn enumerations_depend_on_revision() {
    use Enumerated::{Addition, Fifth, First, Fourth, OldAddition, Second, Third};
    for (revision, value, bits) in [
        (1, First, 0b0_00_00000),
        (1, Second, 0b0_01_00000),
        (1, Fourth, 0b0_10_00000),
        (2, Second, 0b0_00_00000),
        (2, Third, 0b0_01_00000),
        (2, Fourth, 0b0_10_00000),
        (2, Fifth, 0b0_11_00000),
        (1, OldAddition, 0b1_0000000),
        (1, Addition, 0b1_0000001),
        (2, Addition, 0b1_0000000),
    ] {
        assert_eq!(encode(&value, revision).as_deref(), Ok(&[bits][..]), "{value:?} in {revision}");
        assert_eq!(decode(&[bits], revision), Ok(value));
    }
    for (revision, value) in [(2, First), (1, Third), (1, Fifth), (2, OldAddition)] {
        refused(&value, revision, ErrorKind::NotInRevision, "Enumerated");
    }
    let unknown = decode::<Enumerated>(&[0b0_11_00000], 1).unwrap_err();
    assert_eq!((unknown.kind, unknown.bit, unknown.at), (ErrorKind::OutOfRange, 1, "Enumerated"));
    let unknown = decode::<Enumerated>(&[0b1_0000001], 2).unwrap_err();
    assert_eq!((unknown.kind, unknown.bit, unknown.at), (ErrorKind::UnknownExtension, 1, "Enumerated"));
}

#[test]
fn choices_depend_on_revision() {
    use Choice::{Addition, Fifth, First, Fourth, OldAddition, Second, Third};
    let third = Third(Octets::from(b"\xFF"));
    for (revision, value, bytes) in [
        (1, First, &[0b0_00_00000][..]),
        (1, Second(3), &[0b0_01_11_000]),
        (1, Fourth(true), &[0b0_10_1_0000]),
        (2, Second(3), &[0b0_00_11_000]),
        (2, third.clone(), &[0b0_01_11111, 0b111_00000]),
        (2, Fourth(true), &[0b0_10_1_0000]),
        (2, Fifth, &[0b0_11_00000]),
        (1, OldAddition, &[0b1_0000000, 1, 0]),
        (1, Addition(true), &[0b1_0000001, 1, 0x80]),
        (2, Addition(true), &[0b1_0000000, 1, 0x80]),
    ] {
        assert_eq!(encode(&value, revision).as_deref(), Ok(bytes), "{value:?} in {revision}");
        assert_eq!(decode::<Choice>(bytes, revision), Ok(value));
    }
    for (revision, value) in [(2, First), (1, third), (1, Fifth), (2, OldAddition)] {
        refused(&value, revision, ErrorKind::NotInRevision, "Choice");
    }
    let unknown = decode::<Choice>(&[0b1_0000111, 1, 0], 2).unwrap_err();
    assert_eq!((unknown.kind, unknown.bit, unknown.at), (ErrorKind::UnknownExtension, 1, "Choice"));
}

/// Fields with the names of local variables in derived code.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
struct Names<'a> {
    reader: Octets<'a>,
    writer: u8,
    #[per(since = 1, mandatory)]
    revision: Option<u8>,
    #[per(since = 1)]
    before: Option<bool>,
    extended: Option<bool>,
    preamble: bool,
    at: u8,
    error: u8,
    r#type: u8,
    #[per(addition)]
    additions: Option<u8>,
    #[per(addition)]
    value: Option<u8>,
    #[per(group = 1)]
    index: Option<bool>,
}

#[test]
fn names_do_not_clash() {
    let value = Names {
        reader: Octets::from(b"abc"),
        writer: 1,
        revision: Some(9),
        before: Some(true),
        extended: Some(false),
        preamble: true,
        at: 2,
        error: 3,
        r#type: 4,
        additions: Some(5),
        value: Some(6),
        index: Some(true),
    };
    let bytes = encode(&value, 1).unwrap();
    assert_eq!(decode::<Names>(&bytes, 1).as_ref(), Ok(&value));
    assert_eq!(per::IntoOwned::into_owned(value.clone()), value);
}

/// Preambles of 64 and 65 components.
macro_rules! many {
    ($name:ident: $($field:ident)*) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Per)]
        struct $name { $($field: Option<bool>,)* }
    };
}

many!(Many64: a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20 a21 a22 a23 a24 a25 a26 a27 a28 a29
    a30 a31 a32 a33 a34 a35 a36 a37 a38 a39 a40 a41 a42 a43 a44 a45 a46 a47 a48 a49 a50 a51 a52 a53 a54 a55 a56 a57 a58
    a59 a60 a61 a62 a63);
many!(Many65: a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20 a21 a22 a23 a24 a25 a26 a27 a28 a29
    a30 a31 a32 a33 a34 a35 a36 a37 a38 a39 a40 a41 a42 a43 a44 a45 a46 a47 a48 a49 a50 a51 a52 a53 a54 a55 a56 a57 a58
    a59 a60 a61 a62 a63 a64);

#[test]
fn preambles_of_64_and_more_bits_round_trip() {
    let value = Many64 { a0: Some(true), a2: Some(true), a63: Some(false), ..Many64::default() };
    let bytes = encode(&value, 0).unwrap();
    assert_eq!(bytes, [0b1010_0000, 0, 0, 0, 0, 0, 0, 1, 0b1100_0000]);
    assert_eq!(decode(&bytes, 0), Ok(value));
    let value = Many65 { a0: Some(true), a64: Some(true), ..Many65::default() };
    let bytes = encode(&value, 0).unwrap();
    assert_eq!(bytes, [0b1000_0000, 0, 0, 0, 0, 0, 0, 0, 0b1_1_1_00000]);
    assert_eq!(decode(&bytes, 0), Ok(value));
}

/// An encoded default is decoded (X.691 19.5 allows it for types that are not simple).
#[test]
fn encoded_defaults_are_decoded() {
    #[derive(Clone, Debug, PartialEq, Eq, Per)]
    struct WithList<'a> {
        #[per(default = List::default())]
        list: List<'a, bool>,
    }
    assert_eq!(encode(&WithList { list: List::default() }, 0).unwrap(), [0]);
    assert_eq!(decode(&[0x80, 0], 0), Ok(WithList { list: List::default() }));
}
