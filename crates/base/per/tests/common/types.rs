//! A type for each construct and constraint.

use per::{BitString, List, Octets, Per, PrintableString, Real};

/// Calls `$go` with each type of the vectors.
#[macro_export]
macro_rules! for_each_type {
    ($go:ident) => {
        $crate::for_each_named! { $go
            IntegerOne IntegerTwo IntegerRange255 IntegerRange256 IntegerRange256From1 IntegerRange257
            IntegerRange64k IntegerRange64k1 IntegerSigned IntegerRange24 IntegerRange32 IntegerRange32And1
            IntegerRange40 IntegerAll64 IntegerPositive IntegerExtensible IntegerSemi IntegerSemiNegative IntegerAny
            Octets OctetsSize0 OctetsSize1 OctetsSize2 OctetsSize3 OctetsSize20 OctetsUpTo1 OctetsUpTo2 OctetsOneToTwo
            OctetsOneToEight OctetsUpTo255 OctetsUpTo300 OctetsExtensible2 OctetsExtensible3 OctetsExtensibleTo4
            OctetsUpTo65535 OctetsUpTo65536 OctetsFrom10 OctetsSize65535 OctetsSize65536
            Text TextSize1 TextSize2 TextSize3 TextUpTo1 TextUpTo2 TextName TextExtensible1 TextExtensibleUpTo1
            Bits BitsSize1 BitsSize8 BitsSize16 BitsSize17 BitsSize28 BitsSize64 BitsSize65 BitsUpTo1 BitsUpTo7
            Bits22To32 BitsExtensible8 BitsUpTo70000 BitsSize65535 BitsSize65536
            Enumerated EnumeratedWide Choice ChoiceOne ChoiceExtensible Flat Optional Extended UnknownAdditionsFew
            UnknownAdditionsMany UnknownAdditionsLast List ListSize3 ListUpTo3 ListOneTo255 ListOneTo256
            ListOneTo65535 ListUpTo65536 ListExtensible Nested Deep Real
        }
    };
}

/// Types with another name than in the vectors, since `per` has a type of that name.
#[macro_export]
macro_rules! for_each_named {
    ($go:ident $($name:ident)*) => { $($go!(stringify!($name), $crate::for_each_named!(@ $name));)* };
    (@ Octets) => { common::types::AnyOctets<'_> };
    (@ Text) => { common::types::AnyText<'_> };
    (@ Bits) => { common::types::AnyBits<'_> };
    (@ List) => { common::types::AnyList<'_> };
    (@ Real) => { per::Real<'_> };
    (@ UnknownAdditionsFew) => { common::types::UnknownAdditions };
    (@ UnknownAdditionsMany) => { common::types::UnknownAdditions };
    (@ UnknownAdditionsLast) => { common::types::UnknownAdditions };
    (@ $name:ident) => { common::types::$name };
}

macro_rules! integers {
    ($($name:ident($($range:tt)*);)*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
        #[per(range = $($range)*)]
        pub struct $name(pub i64);
    )*};
}

integers! {
    IntegerOne(5..=5);
    IntegerTwo(0..=1);
    IntegerRange255(0..=254);
    IntegerRange256(0..=255);
    IntegerRange256From1(1..=256);
    IntegerRange257(0..=256);
    IntegerRange64k(0..=65535);
    IntegerRange64k1(0..=65536);
    IntegerSigned(-100_000..=100_000);
    IntegerRange24(0..=0xFF_FFFF);
    IntegerRange32(0..=0xFFFF_FFFF);
    IntegerRange32And1(0..=0x1_0000_0000);
    IntegerRange40(0..=0xFF_FFFF_FFFF);
    IntegerAll64(i64::MIN..=i64::MAX);
    IntegerPositive(0..=i64::MAX);
    IntegerExtensible(0..=255, extensible);
    IntegerSemi(0..);
    IntegerSemiNegative(-5..);
    Three(0..=7);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub struct IntegerAny(pub i64);

macro_rules! sized {
    ($($of:ident $name:ident($($size:tt)*);)*) => {$(
        #[derive(Clone, Debug, PartialEq, Eq, Per)]
        #[per(size = $($size)*)]
        pub struct $name<'a>(pub $of<'a>);
    )*};
}

type Threes<'a> = List<'a, Three>;

sized! {
    Octets OctetsSize0(0..=0);
    Octets OctetsSize1(1..=1);
    Octets OctetsSize2(2..=2);
    Octets OctetsSize3(3..=3);
    Octets OctetsSize20(20..=20);
    Octets OctetsUpTo1(0..=1);
    Octets OctetsUpTo2(0..=2);
    Octets OctetsOneToTwo(1..=2);
    Octets OctetsOneToThree(1..=3);
    Octets OctetsOneToEight(1..=8);
    Octets OctetsUpTo255(0..=255);
    Octets OctetsUpTo300(0..=300);
    Octets OctetsExtensible2(2..=2, extensible);
    Octets OctetsExtensible3(3..=3, extensible);
    Octets OctetsExtensibleTo4(1..=4, extensible);
    Octets OctetsUpTo65535(0..=65535);
    Octets OctetsUpTo65536(0..=65536);
    Octets OctetsFrom10(10..=70000);
    Octets OctetsSize65535(65535..=65535);
    Octets OctetsSize65536(65536..=65536);
    PrintableString TextSize1(1..=1);
    PrintableString TextSize2(2..=2);
    PrintableString TextSize3(3..=3);
    PrintableString TextUpTo1(0..=1);
    PrintableString TextUpTo2(0..=2);
    PrintableString TextName(1..=150, extensible);
    PrintableString TextExtensible1(1..=1, extensible);
    PrintableString TextExtensibleUpTo1(0..=1, extensible);
    BitString BitsSize1(1..=1);
    BitString BitsSize8(8..=8);
    BitString BitsSize16(16..=16);
    BitString BitsSize17(17..=17);
    BitString BitsSize28(28..=28);
    BitString BitsSize64(64..=64);
    BitString BitsSize65(65..=65);
    BitString BitsUpTo1(0..=1);
    BitString BitsUpTo7(0..=7);
    BitString Bits22To32(22..=32, extensible);
    BitString BitsExtensible8(8..=8, extensible);
    BitString BitsUpTo70000(0..=70000);
    BitString BitsSize65535(65535..=65535);
    BitString BitsSize65536(65536..=65536);
    Threes ListSize3(3..=3);
    Threes ListUpTo3(0..=3);
    Threes ListOneTo255(1..=255);
    Threes ListOneTo256(1..=256);
    Threes ListOneTo65535(1..=65535);
    Threes ListUpTo65536(0..=65536);
    Threes ListExtensible(1..=2, extensible);
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
pub struct AnyOctets<'a>(pub Octets<'a>);

#[derive(Clone, Debug, PartialEq, Eq, Per)]
pub struct AnyText<'a>(pub PrintableString<'a>);

#[derive(Clone, Debug, PartialEq, Eq, Per)]
pub struct AnyBits<'a>(pub BitString<'a>);

#[derive(Clone, Debug, PartialEq, Eq, Per)]
pub struct AnyList<'a>(pub List<'a, Three>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub enum Enumerated {
    A,
    B,
    C,
}

macro_rules! wide {
    ($($name:ident)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
        #[per(extensible)]
        pub enum EnumeratedWide {
            A,
            B,
            $(#[per(addition)] $name,)*
        }
    };
}

wide! {
    X0 X1 X2 X3 X4 X5 X6 X7 X8 X9 X10 X11 X12 X13 X14 X15 X16 X17 X18 X19 X20 X21 X22 X23 X24 X25 X26 X27 X28 X29 X30
    X31 X32 X33 X34 X35 X36 X37 X38 X39 X40 X41 X42 X43 X44 X45 X46 X47 X48 X49 X50 X51 X52 X53 X54 X55 X56 X57 X58 X59
    X60 X61 X62 X63 X64 X65 X66 X67 X68 X69
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
pub enum Choice<'a> {
    #[per(range = 0..=7)]
    A(u8),
    B(Octets<'a>),
    C,
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum ChoiceOne {
    #[per(range = 0..=7)]
    A(u8),
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum ChoiceExtensible<'a> {
    #[per(range = 0..=7)]
    A(u8),
    B(bool),
    #[per(addition)]
    C,
    #[per(addition, range = 0..=7)]
    D(u8),
    #[per(addition)]
    E(Octets<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub struct Flat {
    #[per(range = 0..=7)]
    pub a: u8,
    pub b: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
pub struct Optional {
    #[per(range = 0..=7)]
    pub a: Option<u8>,
    #[per(default = true)]
    pub b: bool,
    #[per(range = 0..=9, default = 3)]
    pub c: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct Extended<'a> {
    #[per(range = 0..=7)]
    pub a: u8,
    pub b: Option<bool>,
    #[per(addition)]
    pub c: Option<u8>,
    #[per(addition)]
    pub d: Option<Octets<'a>>,
    #[per(group = 1, mandatory, range = 0..=7)]
    pub e: Option<u8>,
    #[per(group = 1)]
    pub f: Option<bool>,
    #[per(group = 1, range = 0..=9, default = 3)]
    pub g: u8,
    #[per(addition)]
    pub h: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct UnknownAdditions {
    #[per(range = 0..=7)]
    pub a: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(size = 0..=3)]
pub struct Inner<'a>(pub List<'a, OctetsOneToThree<'a>>);

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(size = 0..=3)]
pub struct Nested<'a>(pub List<'a, Inner<'a>>);

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum Deeper<'a> {
    A(bool),
    #[per(addition)]
    B(Octets<'a>),
}

#[derive(Clone, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub enum Deep<'a> {
    A(bool),
    #[per(addition)]
    B(Deeper<'a>),
}

/// A recursive type, as in E2SM-RC.
#[derive(Clone, Debug, PartialEq, Eq, Per)]
pub enum Recursive<'a> {
    Leaf(bool),
    #[per(size = 0..=3)]
    Branch(List<'a, Recursive<'a>>),
    Boxed(Box<Recursive<'a>>),
}

/// A type with every construct, for garbage.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
pub struct Everything<'a> {
    pub integer: IntegerAny,
    pub wide: IntegerAll64,
    pub semi: Option<IntegerSemiNegative>,
    pub octets: AnyOctets<'a>,
    pub two: OctetsExtensible2<'a>,
    pub name: Option<TextName<'a>>,
    pub bits: Bits22To32<'a>,
    pub all_bits: AnyBits<'a>,
    pub kind: EnumeratedWide,
    pub choice: ChoiceExtensible<'a>,
    pub list: AnyList<'a>,
    pub nested: Option<Nested<'a>>,
    pub extended: Extended<'a>,
    pub optional: Optional,
    pub real: Real<'a>,
    #[per(addition)]
    pub deep: Option<Deep<'a>>,
    #[per(addition)]
    pub recursive: Option<Box<Recursive<'a>>>,
}
