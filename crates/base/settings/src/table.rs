use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use toml::de::{DeTable, DeValue};

use crate::{Error, ErrorKind, line_at};

/// The keys of a kind of table.
#[derive(Debug, PartialEq, Eq)]
pub struct TableKeys {
    /// The table's name in error messages and documents, such as `[[cell]]`.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [&'static str],
}

/// The largest edit distance at which a known key is suggested for an unknown one.
const MAX_DISTANCE: usize = 3;

/// A table of a configuration file, without unknown keys.
///
/// The methods that read a value return `None` where the key is absent, and an error where the value has another type or
/// is out of its bounds. They panic on a key that is not one of the table's [`TableKeys`].
#[derive(Clone, Debug)]
pub struct Table<'t> {
    text: &'t str,
    path: String,
    offset: usize,
    table: &'t DeTable<'t>,
    keys: &'static [&'static str],
}

/// An element of an array of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'t> {
    /// A string.
    Text(&'t str),
    /// An integer.
    Integer(i64),
}

impl<'t> Table<'t> {
    pub(crate) fn new(
        text: &'t str,
        path: String,
        offset: usize,
        table: &'t DeTable<'t>,
        keys: &'static TableKeys,
    ) -> Result<Self, Error> {
        let new = Table { text, path, offset, table, keys: keys.keys };
        let Some(unknown) = table.keys().find(|key| !keys.keys.contains(&key.get_ref().as_ref())) else {
            return Ok(new);
        };
        let key = unknown.get_ref().to_string();
        let nearest = keys.keys.iter().map(|known| (strsim::damerau_levenshtein(&key, known), *known)).min();
        // a distance of the key's whole length is no resemblance
        let is_near = |distance: usize| distance <= MAX_DISTANCE && distance < key.chars().count();
        let nearest = nearest.filter(|(distance, _)| is_near(*distance)).map(|(_, known)| known);
        Err(new.error(unknown.span().start, ErrorKind::UnknownKey { key, nearest, known: keys }))
    }

    fn error(&self, offset: usize, kind: ErrorKind) -> Error {
        Error { line: Some(line_at(self.text, offset)), table: self.path.clone(), kind }
    }

    /// The table's path, such as `cell[0].rlc`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The error for the value of a key.
    pub fn invalid(&self, key: &'static str, reason: impl Into<String>) -> Error {
        self.invalid_at(key, key.to_owned(), reason.into())
    }

    /// The error for one element of the array of a key.
    pub fn invalid_element(&self, key: &'static str, index: usize, reason: impl Into<String>) -> Error {
        self.invalid_at(key, format!("{key}[{index}]"), reason.into())
    }

    fn invalid_at(&self, key: &'static str, name: String, reason: String) -> Error {
        let offset = self.find(key).map_or(self.offset, |(_, offset)| offset);
        self.error(offset, ErrorKind::InvalidValue { key: name, reason })
    }

    /// The error for values that do not fit together.
    pub fn invalid_table(&self, reason: impl fmt::Display) -> Error {
        self.error(self.offset, ErrorKind::InvalidTable(reason.to_string()))
    }

    /// The error for a required key that is absent. `allowed` states the values that it takes.
    pub fn missing(&self, key: &'static str, allowed: impl Into<String>) -> Error {
        self.error(self.offset, ErrorKind::MissingKey { key, allowed: allowed.into() })
    }

    fn find(&self, key: &'static str) -> Option<(&'t DeValue<'t>, usize)> {
        assert!(self.keys.contains(&key), "{key} is not a key of this table");
        self.table.get(key).map(|value| (value.get_ref(), value.span().start))
    }

    /// Whether a key is present.
    #[must_use]
    pub fn contains(&self, key: &'static str) -> bool {
        self.find(key).is_some()
    }

    /// The keys that are present.
    pub fn present_keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.keys.iter().copied().filter(|key| self.contains(key))
    }

    /// Whether the value of a key is a string.
    #[must_use]
    pub fn is_text(&self, key: &'static str) -> bool {
        self.find(key).is_some_and(|(value, _)| value.is_str())
    }

    /// Whether the value of a key is an array.
    #[must_use]
    pub fn is_array(&self, key: &'static str) -> bool {
        self.find(key).is_some_and(|(value, _)| value.is_array())
    }

    /// Reads a number, with or without a fraction.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type, or a number out of `range`.
    pub fn number(&self, key: &'static str, range: RangeInclusive<f64>) -> Result<Option<f64>, Error> {
        let Some((value, _)) = self.find(key) else { return Ok(None) };
        let number = match value {
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            DeValue::Integer(_) => parse_integer(value).map(|number| number as f64),
            _ => None,
        };
        match number {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            Some(number) => Err(self.invalid(key, out_of_range(number, &range))),
            None => Err(self.invalid(key, format!("expected a number from {} to {}", range.start(), range.end()))),
        }
    }

    /// Reads an integer.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type, or an integer out of `range`.
    ///
    /// # Panics
    /// Where `range` contains integers that `T` does not have.
    pub fn integer<T: TryFrom<i64>>(&self, key: &'static str, range: RangeInclusive<i64>) -> Result<Option<T>, Error> {
        let Some((value, _)) = self.find(key) else { return Ok(None) };
        match parse_integer(value) {
            Some(number) if range.contains(&number) => match T::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => panic!("the range of {key} is wider than its type"),
            },
            Some(number) => Err(self.invalid(key, out_of_range(number, &range))),
            None => Err(self.invalid(key, format!("expected an integer from {} to {}", range.start(), range.end()))),
        }
    }

    /// Reads a boolean.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type.
    pub fn boolean(&self, key: &'static str) -> Result<Option<bool>, Error> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::Boolean(value), _)) => Ok(Some(*value)),
            Some(_) => Err(self.invalid(key, "expected true or false")),
        }
    }

    /// Reads a string. `expected` describes it in the error for another type.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type.
    pub fn text(&self, key: &'static str, expected: &str) -> Result<Option<&'t str>, Error> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::String(value), _)) => Ok(Some(value)),
            Some(_) => Err(self.invalid(key, format!("expected a string: {expected}"))),
        }
    }

    /// Reads a string that `T` parses. `expected` describes it in the error for another type.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type, or with the reason of `T`.
    pub fn parsed<T: FromStr<Err: fmt::Display>>(&self, key: &'static str, expected: &str) -> Result<Option<T>, Error> {
        let text = self.text(key, expected)?;
        text.map(|text| text.parse().map_err(|reason: T::Err| self.invalid(key, reason.to_string()))).transpose()
    }

    /// Reads one of several words, and returns the value that belongs to it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type or word.
    pub fn choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Result<Option<T>, Error> {
        let all = || words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let Some(text) = self.text(key, &all())? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => Ok(Some(*value)),
            None => Err(self.invalid(key, format!("\"{text}\" is not one of {}", all()))),
        }
    }

    /// Reads an array of strings and integers, with at most `max` elements. `expected` describes an element.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type, or more elements.
    pub fn elements(&self, key: &'static str, max: usize, expected: &str) -> Result<Option<Vec<Element<'t>>>, Error> {
        let Some((value, _)) = self.find(key) else { return Ok(None) };
        let array = value.as_array().ok_or_else(|| self.invalid(key, format!("expected an array: {expected}")))?;
        if array.len() > max {
            return Err(self.invalid(key, format!("{} elements; at most {max} are allowed", array.len())));
        }
        let element = |(index, value): (usize, &'t toml::Spanned<DeValue<'t>>)| match value.get_ref() {
            DeValue::String(text) => Ok(Element::Text(text)),
            value => parse_integer(value)
                .map(Element::Integer)
                .ok_or_else(|| self.invalid_element(key, index, format!("expected {expected}"))),
        };
        array.iter().enumerate().map(element).collect::<Result<_, _>>().map(Some)
    }

    /// Reads an array of strings, with at most `max` elements. `expected` describes an element.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type, or more elements.
    pub fn texts(&self, key: &'static str, max: usize, expected: &str) -> Result<Option<Vec<&'t str>>, Error> {
        let Some(elements) = self.elements(key, max, expected)? else { return Ok(None) };
        let text = |(index, element)| match element {
            Element::Text(text) => Ok(text),
            Element::Integer(_) => Err(self.invalid_element(key, index, format!("expected a string: {expected}"))),
        };
        elements.into_iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// Reads an array of strings that `T` parses, with at most `max` elements. `expected` describes an element.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type, more elements, or with the reason of `T`.
    pub fn parsed_texts<T: FromStr<Err: fmt::Display>>(
        &self,
        key: &'static str,
        max: usize,
        expected: &str,
    ) -> Result<Option<Vec<T>>, Error> {
        let Some(texts) = self.texts(key, max, expected)? else { return Ok(None) };
        let parse = |(index, text): (usize, &str)| {
            text.parse().map_err(|reason: T::Err| self.invalid_element(key, index, reason.to_string()))
        };
        texts.into_iter().enumerate().map(parse).collect::<Result<_, _>>().map(Some)
    }

    /// The table of a key.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for another type, [`ErrorKind::UnknownKey`] for a key of it that is not in `keys`.
    pub fn table(&self, key: &'static str, keys: &'static TableKeys) -> Result<Option<Table<'t>>, Error> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::Table(table), offset)) => {
                Table::new(self.text, self.child(key), offset, table, keys).map(Some)
            }
            Some(_) => Err(self.invalid(key, format!("expected a table, as in [{}]", self.header(key)))),
        }
    }

    /// The tables of a key, at most `max`. None: an empty list.
    ///
    /// # Errors
    /// As of [`Table::table`]; [`ErrorKind::InvalidValue`] for more tables.
    pub fn tables(&self, key: &'static str, keys: &'static TableKeys, max: usize) -> Result<Vec<Table<'t>>, Error> {
        let expected = || self.invalid(key, format!("expected tables, as in [[{}]]", self.header(key)));
        let Some((value, _)) = self.find(key) else { return Ok(Vec::new()) };
        let array = value.as_array().ok_or_else(expected)?;
        if array.len() > max {
            return Err(self.invalid(key, format!("{} tables; at most {max} are allowed", array.len())));
        }
        let table = |(index, value): (usize, &'t toml::Spanned<DeValue<'t>>)| {
            let table = value.get_ref().as_table().ok_or_else(expected)?;
            Table::new(self.text, format!("{}[{index}]", self.child(key)), value.span().start, table, keys)
        };
        array.iter().enumerate().map(table).collect()
    }

    /// The header of a table of this one in a file, which does not number tables.
    fn header(&self, key: &str) -> String {
        let path = self.child(key);
        let names = path.split('.').map(|name| name.split('[').next().unwrap_or(name));
        names.collect::<Vec<_>>().join(".")
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

fn parse_integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

fn out_of_range<T: fmt::Display>(value: T, range: &RangeInclusive<T>) -> String {
    format!("{value} is out of range {} to {}", range.start(), range.end())
}
