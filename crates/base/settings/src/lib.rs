//! Reads TOML configuration files, and locates every mistake in them.
//!
//! A program declares the keys of each table ([`TableKeys`]) and reads each value with its type and bounds. A key that is
//! not declared is an error that names the nearest known one. Every error has its line and table:
//!
//! ```text
//! line 4: cell[0].rlc: unknown key `bufer_octets`; did you mean `buffer_octets`?
//! line 2: threads: 1000 is out of range 1 to 256
//! ```
//!
//! # Example
//!
//! ```
//! use settings::{Document, TableKeys};
//!
//! const FILE: TableKeys = TableKeys { name: "the file", keys: &["listen", "worker"] };
//! const WORKER: TableKeys = TableKeys { name: "[[worker]]", keys: &["name", "weight"] };
//!
//! # fn main() -> Result<(), settings::Error> {
//! let document = Document::parse("listen = \"127.0.0.1:80\"\n[[worker]]\nname = \"a\"\nweight = 3\n")?;
//! let file = document.root(&FILE)?;
//! let listen = file.parsed::<std::net::SocketAddr>("listen", "an address and a port")?;
//! for worker in file.tables("worker", &WORKER, 16)? {
//!     let name = worker.text("name", "the worker's name")?;
//!     let name = name.ok_or_else(|| worker.missing("name", "each worker has a name"))?;
//!     let weight: u32 = worker.integer("weight", 1..=100)?.unwrap_or(1);
//!     # assert_eq!((name, weight), ("a", 3));
//! }
//! # assert_eq!(listen.unwrap().port(), 80);
//!
//! let error = Document::parse("lisen = \"x\"")?.root(&FILE).err().unwrap();
//! assert_eq!(error.to_string(), "line 1: unknown key `lisen`; did you mean `listen`?");
//! # Ok(())
//! # }
//! ```
//!
//! Defaults are the caller's: every reader returns `None` for a key that is absent. A program that declares its keys with
//! [`reference`](mod@reference) gets a reference and a default file from the same declaration. Files are read with [`read`], which
//! bounds their size.

#![forbid(unsafe_code)]

mod error;
pub mod reference;
mod table;
#[cfg(test)]
mod tests;

use toml::Spanned;
use toml::de::DeTable;

pub use error::{Error, ErrorKind};
/// Reads the text of a file within a bound; see [`files::read_text`].
pub use files::read_text as read;
pub use table::{Element, Table, TableKeys};

/// A parsed TOML document.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    table: Spanned<DeTable<'t>>,
}

impl<'t> Document<'t> {
    /// Parses a document's text.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] where the text is not TOML.
    pub fn parse(text: &'t str) -> Result<Self, Error> {
        match DeTable::parse(text) {
            Ok(table) => Ok(Document { text, table }),
            Err(error) => Err(Error {
                line: error.span().map(|span| line_at(text, span.start)),
                table: String::new(),
                kind: ErrorKind::Syntax(error.message().to_owned()),
            }),
        }
    }

    /// The table at the top of the document.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownKey`] where it contains a key that is not in `keys`.
    pub fn root(&self, keys: &'static TableKeys) -> Result<Table<'_>, Error> {
        Table::new(self.text, String::new(), 0, self.table.get_ref(), keys)
    }
}

/// The line of an offset, counted from 1.
fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|octet| *octet == b'\n').count()
}

/// Returns the keys at the top of a document whose values differ from those of another one, sorted. A text that is not TOML has
/// none.
#[must_use]
pub fn changed_keys(before: &str, after: &str) -> Vec<String> {
    let [before, after] = [before, after].map(|text| text.parse::<toml::Table>().unwrap_or_default());
    let keys: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    keys.into_iter().filter(|key| before.get(*key) != after.get(*key)).cloned().collect()
}
