use std::fmt;

use crate::TableKeys;

/// A mistake in a configuration file, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line, counted from 1. None where the mistake is not in one line.
    pub line: Option<usize>,
    /// The path of the table, such as `cell[0].rlc`: tables of one name are counted from 0. Empty for the top of the file.
    pub table: String,
    /// What is wrong there.
    pub kind: ErrorKind,
}

/// The kind of a mistake in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not TOML.
    Syntax(String),
    /// The table does not have this key.
    UnknownKey {
        /// The key.
        key: String,
        /// The nearest known key, if one is near.
        nearest: Option<&'static str>,
        /// The keys that the table has.
        known: &'static TableKeys,
    },
    /// A required key is absent.
    MissingKey {
        /// The key.
        key: &'static str,
        /// The values that it takes.
        allowed: String,
    },
    /// The value of a key has the wrong type, is out of its bounds, or contradicts another one.
    InvalidValue {
        /// The key, with the element's number for an element of an array: `nodes[1]`.
        key: String,
        /// What is wrong with the value.
        reason: String,
    },
    /// The values of a table do not fit together.
    InvalidTable(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.table.is_empty() {
            write!(f, "{}: ", self.table)?;
        }
        match &self.kind {
            ErrorKind::Syntax(reason) | ErrorKind::InvalidTable(reason) => f.write_str(reason),
            ErrorKind::UnknownKey { key, nearest: Some(nearest), .. } => {
                write!(f, "unknown key `{}`; did you mean `{nearest}`?", key.escape_debug())
            }
            ErrorKind::UnknownKey { key, known: TableKeys { name, keys }, .. } => {
                write!(f, "unknown key `{}`; the keys of {name} are {}", key.escape_debug(), keys.join(", "))
            }
            ErrorKind::MissingKey { key, allowed } => write!(f, "missing key `{key}`: {allowed}"),
            ErrorKind::InvalidValue { key, reason } => write!(f, "{key}: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
