//! Strict decoding and encoding of JSON: errors contain the path of the fault.
//!
//! The size, depth and number of values of a peer's text are bounded before it is interpreted.

mod tree;

use core::fmt;

use serde_json::{Map, Value};

/// The greatest size of a message in octets.
pub const MAX_OCTETS: usize = 1 << 20;
/// The greatest nesting depth of lists and objects; the model needs 12.
pub const MAX_DEPTH: usize = 24;
/// The greatest number of values in a message, including lists and objects.
pub const MAX_VALUES: usize = 1 << 16;
/// The greatest number of items in a list.
pub const MAX_ITEMS: usize = 1024;

/// A fault in a JSON message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The path, such as `controlMessageFormat.listOfCellsControlled[0].cellGlobalId`; empty for the message as a whole.
    pub path: String,
    /// The kind of fault.
    pub kind: JsonErrorKind,
}

/// The kinds of [`JsonError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// It is longer than [`MAX_OCTETS`].
    TooLong,
    /// It is not JSON.
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// It is deeper than [`MAX_DEPTH`].
    TooDeep,
    /// It has more values than [`MAX_VALUES`].
    TooManyValues,
    /// The key occurs twice.
    Repeated,
    /// The model has no such key here.
    Unknown {
        /// The most similar key of the model.
        nearest: Option<&'static str>,
    },
    /// The key is missing.
    Missing,
    /// The value has another type than this.
    Expected(&'static str),
    /// The number is out of range.
    Range {
        /// The smallest value.
        lo: i64,
        /// The greatest value.
        hi: i64,
    },
    /// The list is too short or too long.
    Items {
        /// The smallest length.
        lo: usize,
        /// The greatest length.
        hi: usize,
    },
    /// The text is none of these.
    NoneOf(&'static [&'static str]),
    /// Exactly one of these keys must be present.
    Choice(&'static [&'static str]),
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() { "the message" } else { &self.path })?;
        match &self.kind {
            JsonErrorKind::TooLong => write!(f, " is longer than {MAX_OCTETS} octets"),
            JsonErrorKind::Syntax { line, column } => write!(f, " is malformed at line {line} column {column}"),
            JsonErrorKind::TooDeep => write!(f, " is more than {MAX_DEPTH} levels deep"),
            JsonErrorKind::TooManyValues => write!(f, " exceeds the limit of {MAX_VALUES} values in a message"),
            JsonErrorKind::Repeated => f.write_str(" occurs twice"),
            JsonErrorKind::Unknown { nearest: None } => f.write_str(" is not a key of the model"),
            JsonErrorKind::Unknown { nearest: Some(nearest) } => {
                write!(f, " is not a key of the model; similar: {nearest}")
            }
            JsonErrorKind::Missing => f.write_str(" is missing"),
            JsonErrorKind::Expected(what) => write!(f, " is not {what}"),
            JsonErrorKind::Range { lo, hi } => write!(f, " is not within {lo} to {hi}"),
            JsonErrorKind::Items { lo, hi } => write!(f, " does not have {lo} to {hi} items"),
            JsonErrorKind::NoneOf(known) => write!(f, " is none of {}", known.join(", ")),
            JsonErrorKind::Choice(keys) => write!(f, " does not have exactly one of {}", keys.join(", ")),
        }
    }
}

impl std::error::Error for JsonError {}

/// The path to a value, kept on the stack and formatted only for errors.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub fn key(&'p self, key: &'p str) -> Path<'p> {
        Path::Key(self, key)
    }

    pub fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError { path: self.to_string(), kind }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, key) => write!(f, "{}", shown(key)),
            Path::Key(above, key) => write!(f, "{above}.{}", shown(key)),
            Path::Item(above, item) => write!(f, "{above}[{item}]"),
        }
    }
}

/// A peer's key, made safe for logs.
fn shown(key: &str) -> String {
    const CHARACTERS: usize = 64;
    key.chars().take(CHARACTERS).flat_map(char::escape_debug).collect()
}

/// A type of the model.
pub(crate) trait Json: Sized {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError>;

    fn write(&self) -> Value;

    /// The value of an absent key.
    fn absent(at: &Path<'_>) -> Result<Self, JsonError> {
        Err(at.error(JsonErrorKind::Missing))
    }

    /// Whether the key is omitted.
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T: Json> Json for Option<T> {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        T::read(value, at).map(Some)
    }

    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }

    fn absent(_at: &Path<'_>) -> Result<Self, JsonError> {
        Ok(None)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Json> Json for Vec<T> {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let items = value.as_array().ok_or_else(|| at.error(JsonErrorKind::Expected("a list")))?;
        if !(1..=MAX_ITEMS).contains(&items.len()) {
            return Err(at.error(JsonErrorKind::Items { lo: 1, hi: MAX_ITEMS }));
        }
        items.iter().enumerate().map(|(item, value)| T::read(value, &Path::Item(at, item))).collect()
    }

    fn write(&self) -> Value {
        self.iter().map(T::write).collect()
    }
}

impl Json for bool {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        value.as_bool().ok_or_else(|| at.error(JsonErrorKind::Expected("true or false")))
    }

    fn write(&self) -> Value {
        Value::Bool(*self)
    }
}

/// Names and descriptions: 0 to 1000 characters.
impl Json for String {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        const HI: usize = 1000;
        let text = value.as_str().ok_or_else(|| at.error(JsonErrorKind::Expected("a text")))?;
        if text.len() > HI {
            return Err(at.error(JsonErrorKind::Expected("a text of at most 1000 octets")));
        }
        Ok(text.to_owned())
    }

    fn write(&self) -> Value {
        Value::String(self.clone())
    }
}

macro_rules! whole_numbers {
    ($($type:ty: $hi:expr;)*) => {$(
        impl Json for $type {
            fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
                let number = value.as_number().ok_or_else(|| at.error(JsonErrorKind::Expected("a whole number")))?;
                let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
                let whole = whole.ok_or_else(|| at.error(JsonErrorKind::Expected("a whole number")))?;
                <$type>::try_from(whole)
                    .map_err(|_| at.error(JsonErrorKind::Range { lo: <$type>::MIN as i64, hi: $hi }))
            }

            fn write(&self) -> Value {
                Value::from(*self)
            }
        }

        impl Bounded for $type {
            fn whole(&self) -> Option<i64> {
                i64::try_from(*self).ok()
            }
        }
    )*};
}

whole_numbers! {
    u8: u8::MAX as i64;
    u16: u16::MAX as i64;
    u32: u32::MAX as i64;
    u64: i64::MAX;
    i64: i64::MAX;
    i8: i8::MAX as i64;
}

/// Numbers with a narrower range than their Rust type.
pub(super) trait Bounded {
    fn whole(&self) -> Option<i64>;
}

impl<T: Bounded> Bounded for Option<T> {
    fn whole(&self) -> Option<i64> {
        self.as_ref().and_then(T::whole)
    }
}

/// Checks the range of a number; an absent one is valid.
pub(super) fn within<T: Bounded>(
    value: T,
    range: core::ops::RangeInclusive<i64>,
    at: &Path<'_>,
) -> Result<T, JsonError> {
    if value.whole().is_some_and(|whole| !range.contains(&whole)) {
        return Err(at.error(JsonErrorKind::Range { lo: *range.start(), hi: *range.end() }));
    }
    Ok(value)
}

/// The fields of an object whose keys are all known.
pub(super) struct Fields<'v, 'p> {
    map: &'v Map<String, Value>,
    at: &'p Path<'p>,
}

impl<'v, 'p> Fields<'v, 'p> {
    pub fn of(value: &'v Value, at: &'p Path<'p>, known: &'static [&'static str]) -> Result<Self, JsonError> {
        let map = value.as_object().ok_or_else(|| at.error(JsonErrorKind::Expected("an object")))?;
        for key in map.keys() {
            if !known.contains(&key.as_str()) {
                let nearest = nearest(key, known);
                return Err(at.key(key).error(JsonErrorKind::Unknown { nearest }));
            }
        }
        Ok(Fields { map, at })
    }

    pub fn field<T: Json>(&self, key: &str) -> Result<T, JsonError> {
        let at = self.at.key(key);
        match self.map.get(key) {
            Some(value) => T::read(value, &at),
            None => T::absent(&at),
        }
    }

    pub fn bounded<T: Json + Bounded>(&self, key: &str, range: core::ops::RangeInclusive<i64>) -> Result<T, JsonError> {
        within(self.field(key)?, range, &self.at.key(key))
    }

    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }
}

/// Returns the most similar known key, if at least half of its letters match.
fn nearest(key: &str, known: &'static [&'static str]) -> Option<&'static str> {
    let shared = |known: &str| {
        let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
        let ahead = key.bytes().zip(known.bytes()).take_while(same).count();
        let behind = key.bytes().rev().zip(known.bytes().rev()).take_while(same).count();
        (ahead + behind).min(known.len())
    };
    let best = known.iter().copied().max_by_key(|known| shared(known))?;
    (2 * shared(best) >= best.len()).then_some(best)
}

/// Declares an object of the model with its keys; `in` bounds a number.
macro_rules! object {
    ($(
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$field_about:meta])* pub $field:ident: $type:ty = $key:literal $(in $range:expr)?,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl $crate::ccc::json::Json for $name {
            fn read(
                value: &serde_json::Value,
                at: &$crate::ccc::json::Path<'_>,
            ) -> Result<Self, $crate::ccc::json::JsonError> {
                let fields = $crate::ccc::json::Fields::of(value, at, &[$($key),*])?;
                Ok($name { $($field: $crate::ccc::json::object!(@read fields, $key $(, $range)?),)* })
            }

            fn write(&self) -> serde_json::Value {
                let mut map = serde_json::Map::new();
                $(if !$crate::ccc::json::Json::is_absent(&self.$field) {
                    map.insert($key.to_owned(), $crate::ccc::json::Json::write(&self.$field));
                })*
                serde_json::Value::Object(map)
            }
        }
    )*};
    (@read $fields:ident, $key:literal) => { $fields.field($key)? };
    (@read $fields:ident, $key:literal, $range:expr) => { $fields.bounded($key, $range)? };
}
pub(super) use object;

/// Declares an enumeration of the model.
macro_rules! symbols {
    ($(
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$symbol_about:meta])* $symbol:ident = $text:literal,)* }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$symbol_about])* $symbol,)* }

        impl $crate::ccc::json::Json for $name {
            fn read(
                value: &serde_json::Value,
                at: &$crate::ccc::json::Path<'_>,
            ) -> Result<Self, $crate::ccc::json::JsonError> {
                match value.as_str() {
                    $(Some($text) => Ok($name::$symbol),)*
                    Some(_) => Err(at.error($crate::ccc::json::JsonErrorKind::NoneOf(&[$($text),*]))),
                    None => Err(at.error($crate::ccc::json::JsonErrorKind::Expected("a text"))),
                }
            }

            fn write(&self) -> serde_json::Value {
                serde_json::Value::from(match self { $($name::$symbol => $text,)* })
            }
        }
    )*};
}
pub(super) use symbols;

/// Declares a choice: exactly one key is present, and its value is that of the choice.
macro_rules! choice {
    ($(
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$way_about:meta])* $way:ident($type:ty) = $key:literal $(in $range:expr)?,)* }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name { $($(#[$way_about])* $way($type),)* }

        impl $crate::ccc::json::Json for $name {
            fn read(
                value: &serde_json::Value,
                at: &$crate::ccc::json::Path<'_>,
            ) -> Result<Self, $crate::ccc::json::JsonError> {
                const KEYS: &[&str] = &[$($key),*];
                let fields = $crate::ccc::json::Fields::of(value, at, KEYS)?;
                if KEYS.iter().filter(|key| fields.has(key)).count() == 1 {
                    $(if fields.has($key) {
                        return Ok($name::$way($crate::ccc::json::object!(@read fields, $key $(, $range)?)));
                    })*
                }
                Err(at.error($crate::ccc::json::JsonErrorKind::Choice(KEYS)))
            }

            fn write(&self) -> serde_json::Value {
                let (key, value) = match self {
                    $($name::$way(value) => ($key, $crate::ccc::json::Json::write(value)),)*
                };
                serde_json::Value::Object([(key.to_owned(), value)].into_iter().collect())
            }
        }
    )*};
}
pub(super) use choice;

/// Decodes a whole message.
pub(crate) fn decode<T: Json>(bytes: &[u8]) -> Result<T, JsonError> {
    T::read(&tree::parse(bytes)?, &Path::Root)
}

/// Appends a message, unless a peer's decoder would reject it.
pub(crate) fn encode<T: Json>(message: &T, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let value = message.write();
    T::read(&value, &Path::Root)?;
    let text = value.to_string();
    if text.len() > MAX_OCTETS {
        return Err(Path::Root.error(JsonErrorKind::TooLong));
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}
