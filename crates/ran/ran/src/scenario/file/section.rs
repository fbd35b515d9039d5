//! A table of a scenario file: its keys are known, its values have a type and bounds, and what is wrong has a place.

use std::fmt;
use std::ops::RangeInclusive;

use toml::de::{DeTable, DeValue};

use crate::scenario::ScenarioError;

/// A scenario file that cannot be used, and where: all of it is the caller's misuse.
#[derive(Clone, Debug, PartialEq)]
pub struct FileError {
    /// The line, counted from 1, where it is of one.
    pub line: Option<usize>,
    /// The table, as `cell[0].rlc`, tables of one name counted from 0; empty at the file's top.
    pub table: String,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong in a scenario file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// It is not TOML.
    Syntax(String),
    /// A key that means nothing there.
    UnknownKey {
        /// The key.
        key: String,
        /// The known one that comes nearest, if one is near.
        nearest: Option<&'static str>,
        /// The kind of table, and its keys.
        known: &'static Keys,
    },
    /// A key that must be there.
    Missing {
        /// The key.
        key: &'static str,
        /// What it may be.
        allowed: String,
    },
    /// A value that means nothing.
    Value {
        /// Of which key.
        key: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// What the table says as a whole cannot be.
    Table(String),
    /// The scenario as a whole cannot be.
    Scenario(ScenarioError),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.table.is_empty() {
            write!(f, "{}: ", self.table)?;
        }
        match &self.fault {
            Fault::Syntax(why) => f.write_str(why),
            Fault::UnknownKey { key, nearest: Some(nearest), .. } => {
                write!(f, "unknown key `{}`; did you mean `{nearest}`?", key.escape_debug())
            }
            Fault::UnknownKey { key, known: Keys { name, keys }, .. } => {
                write!(f, "unknown key `{}`; {name} has {}", key.escape_debug(), keys.join(", "))
            }
            Fault::Missing { key, allowed } => write!(f, "`{key}` is missing: {allowed}"),
            Fault::Value { key, why } => write!(f, "{key}: {why}"),
            Fault::Table(why) => f.write_str(why),
            Fault::Scenario(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Scenario(error) => Some(error),
            _ => None,
        }
    }
}

/// A kind of table.
#[derive(Debug, PartialEq)]
pub struct Keys {
    /// How the document calls it.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [&'static str],
}

/// Keys further apart than this are not taken for each other.
const NEAR: usize = 3;

/// A table of a kind.
pub struct Section<'t> {
    text: &'t str,
    place: String,
    offset: usize,
    table: &'t DeTable<'t>,
    keys: &'static [&'static str],
}

/// The line of an offset.
fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|octet| *octet == b'\n').count()
}

impl<'t> Section<'t> {
    /// The table at the top of a file.
    pub fn top(text: &'t str, table: &'t DeTable<'t>, keys: &'static Keys) -> Result<Self, FileError> {
        Section::new(text, String::new(), 0, table, keys)
    }

    fn new(
        text: &'t str,
        place: String,
        offset: usize,
        table: &'t DeTable<'t>,
        keys: &'static Keys,
    ) -> Result<Self, FileError> {
        let section = Section { text, place, offset, table, keys: keys.keys };
        let known = keys.keys;
        match table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(section),
            Some(unknown) => {
                let key = unknown.get_ref().to_string();
                let near = known.iter().map(|known| (strsim::damerau_levenshtein(&key, known), *known)).min();
                // and a key of which nothing is left is like none
                let is_near = |distance: usize| distance <= NEAR && distance < key.chars().count();
                let nearest = near.filter(|(distance, _)| is_near(*distance)).map(|(_, known)| known);
                Err(section.error(unknown.span().start, Fault::UnknownKey { key, nearest, known: keys }))
            }
        }
    }

    fn error(&self, offset: usize, fault: Fault) -> FileError {
        FileError { line: Some(line(self.text, offset)), table: self.place.clone(), fault }
    }

    /// The table's place, as errors tell it.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where it begins, counted in lines.
    pub fn line(&self) -> usize {
        line(self.text, self.offset)
    }

    /// What is wrong with a key's value, or with its absence.
    pub fn refuse(&self, key: &'static str, why: impl Into<String>) -> FileError {
        let offset = self.find(key).map_or(self.offset, |value| value.1);
        self.error(offset, Fault::Value { key, why: why.into() })
    }

    /// What is wrong with the table as a whole.
    pub fn wrong(&self, why: impl fmt::Display) -> FileError {
        self.error(self.offset, Fault::Table(why.to_string()))
    }

    /// A key that must be there is not.
    pub fn missing(&self, key: &'static str, allowed: impl Into<String>) -> FileError {
        self.error(self.offset, Fault::Missing { key, allowed: allowed.into() })
    }

    fn find(&self, key: &'static str) -> Option<(&'t DeValue<'t>, usize)> {
        assert!(self.keys.contains(&key), "{key} is none of this table's keys");
        self.table.get(key).map(|value| (value.get_ref(), value.span().start))
    }

    /// Whether a key is there.
    pub fn has(&self, key: &'static str) -> bool {
        self.find(key).is_some()
    }

    /// The keys that are there.
    pub fn present(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.keys.iter().copied().filter(|key| self.has(key))
    }

    /// Whether the value of a key is text.
    pub fn is_text(&self, key: &'static str) -> bool {
        self.find(key).is_some_and(|(value, _)| value.is_str())
    }

    /// Whether the value of a key is a list.
    pub fn is_list(&self, key: &'static str) -> bool {
        self.find(key).is_some_and(|(value, _)| value.is_array())
    }

    /// A number.
    pub fn number(&self, key: &'static str, range: RangeInclusive<f64>) -> Result<Option<f64>, FileError> {
        let Some((value, _)) = self.find(key) else { return Ok(None) };
        let number = match value {
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            DeValue::Integer(_) => integer(value).map(|number| number as f64),
            _ => None,
        };
        match number {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            Some(number) => Err(self.refuse(key, format!("{number} is not {}", between(&range)))),
            None => Err(self.refuse(key, format!("a number {} is expected", between(&range)))),
        }
    }

    /// A whole number.
    pub fn whole<T: TryFrom<i64>>(
        &self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<T>, FileError> {
        let Some((value, _)) = self.find(key) else { return Ok(None) };
        match integer(value) {
            Some(number) if range.contains(&number) => match T::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => panic!("the bounds of {key} are wider than its type"),
            },
            Some(number) => Err(self.refuse(key, format!("{number} is not {}", between(&range)))),
            None => Err(self.refuse(key, format!("a whole number {} is expected", between(&range)))),
        }
    }

    /// Yes or no.
    pub fn boolean(&self, key: &'static str) -> Result<Option<bool>, FileError> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::Boolean(value), _)) => Ok(Some(*value)),
            Some(_) => Err(self.refuse(key, "true or false is expected")),
        }
    }

    /// Text.
    pub fn text(&self, key: &'static str, what: &str) -> Result<Option<&'t str>, FileError> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::String(value), _)) => Ok(Some(value)),
            Some(_) => Err(self.refuse(key, format!("{what} in quotes is expected"))),
        }
    }

    /// One of some words.
    pub fn choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Result<Option<T>, FileError> {
        let all = || words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let Some(text) = self.text(key, &all())? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => Err(self.refuse(key, format!("\"{text}\" is none of {}", all()))),
        }
    }

    /// A table in this one.
    pub fn table(&self, key: &'static str, keys: &'static Keys) -> Result<Option<Section<'t>>, FileError> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::Table(table), offset)) => {
                Section::new(self.text, self.below(key), offset, table, keys).map(Some)
            }
            Some(_) => Err(self.refuse(key, format!("a table is expected, as in [{}]", self.header(key)))),
        }
    }

    /// Tables in this one, at most so many.
    pub fn tables(&self, key: &'static str, keys: &'static Keys, most: usize) -> Result<Vec<Section<'t>>, FileError> {
        let expected = || self.refuse(key, format!("tables are expected, as in [[{}]]", self.header(key)));
        let Some((value, _)) = self.find(key) else { return Ok(Vec::new()) };
        let list = value.as_array().ok_or_else(expected)?;
        if list.len() > most {
            return Err(self.refuse(key, format!("{} tables: there may be {most}", list.len())));
        }
        let each = list.iter().enumerate().map(|(at, value)| {
            let table = value.get_ref().as_table().ok_or_else(expected)?;
            Section::new(self.text, format!("{}[{at}]", self.below(key)), value.span().start, table, keys)
        });
        each.collect()
    }

    /// How a table in this one begins in a file, which does not number tables.
    fn header(&self, key: &str) -> String {
        let place = self.below(key);
        let names = place.split('.').map(|name| name.split('[').next().unwrap_or(name));
        names.collect::<Vec<_>>().join(".")
    }

    fn below(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

fn between<T: fmt::Display>(range: &RangeInclusive<T>) -> String {
    format!("from {} to {}", range.start(), range.end())
}
