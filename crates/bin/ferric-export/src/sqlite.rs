//! A table of records in a SQLite database.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use ferric::xapp::Batch;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::sink::{RecordFile, SUBJECT_COLUMNS, Subject, WriteError, number};
use crate::text_file::{open_regular, remove_new};

/// How long another program may keep the database locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The table `kpm`: `time_ns` INTEGER, `node`, `cell`, `ue`, `slice` TEXT, and a column REAL for each measurement.
pub struct Database {
    connection: Connection,
    insert: String,
    measurements: usize,
    octets: u64,
}

impl Database {
    /// Creates a database, or opens one to add to. Columns that the table lacks are added.
    ///
    /// # Errors
    /// If it exists and is not to be added to, or is no database.
    pub fn open(path: &Path, measurements: &[String], append: bool) -> anyhow::Result<Self> {
        drop(open_regular(path, append)?);
        let failed = || format!("cannot use {} as a SQLite database", path.display());
        let mut connection = Connection::open(path).with_context(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        prepare(&mut connection, measurements).inspect_err(|_| remove_new(path, append)).with_context(failed)?;
        let columns = SUBJECT_COLUMNS.into_iter().chain(measurements.iter().map(String::as_str));
        let columns: Vec<String> = columns.map(quoted).collect();
        let places = vec!["?"; columns.len()].join(",");
        let insert = format!("INSERT INTO kpm ({}) VALUES ({places})", columns.join(","));
        let mut database = Database { connection, insert, measurements: measurements.len(), octets: 0 };
        database.octets = database.size().with_context(failed)?;
        Ok(database)
    }

    fn size(&self) -> rusqlite::Result<u64> {
        let number = |pragma| self.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let octets = number("page_count")?.saturating_mul(number("page_size")?);
        Ok(u64::try_from(octets).unwrap_or(0))
    }

    fn insert(&mut self, batch: &Batch, rows: usize) -> rusqlite::Result<()> {
        // a transaction that fails is rolled back when it is dropped
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare(&self.insert)?;
            for row in 0..rows {
                let Subject { node, cell, ue, slice } = Subject::of(batch, row);
                let text = |name: Option<String>| name.map_or(Value::Null, Value::Text);
                let time = Value::Integer(batch.times_ns.get(row).copied().unwrap_or(0));
                let subject = [time, Value::Text(node), text(cell), text(ue), text(slice)];
                let numbers =
                    (0..self.measurements).map(|column| number(batch, column, row).map_or(Value::Null, Value::Real));
                insert.execute(params_from_iter(subject.into_iter().chain(numbers)))?;
            }
        }
        transaction.commit()
    }
}

/// Creates the table, or adds the columns that it lacks.
fn prepare(connection: &mut Connection, measurements: &[String]) -> anyhow::Result<()> {
    // readers do not stop the writer, nor does it stop them; what a power failure takes is the last transactions
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS kpm (time_ns INTEGER NOT NULL, node TEXT NOT NULL, cell TEXT, ue TEXT, slice TEXT);
         CREATE INDEX IF NOT EXISTS kpm_time ON kpm (time_ns);",
    )?;
    let known: Vec<String> = {
        let mut columns = transaction.prepare("SELECT name FROM pragma_table_info('kpm')")?;
        let names = columns.query_map([], |row| row.get(0))?;
        names.collect::<rusqlite::Result<_>>()?
    };
    if let Some(missing) = SUBJECT_COLUMNS.iter().find(|column| !known.iter().any(|known| known == *column)) {
        bail!("its table `kpm` has no column `{missing}`: it is not of this program");
    }
    for name in measurements.iter().filter(|name| !known.iter().any(|known| known.eq_ignore_ascii_case(name))) {
        transaction.execute_batch(&format!("ALTER TABLE kpm ADD COLUMN {} REAL", quoted(name)))?;
    }
    transaction.commit()?;
    Ok(())
}

/// A name as SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl RecordFile for Database {
    fn write(&mut self, batch: &Batch, rows: usize) -> Result<u64, WriteError> {
        let lost = rows as u64;
        self.insert(batch, rows).map_err(|error| WriteError { lost, reason: error.to_string(), ends_file: false })?;
        // without an answer the size stays what it was
        self.octets = self.size().unwrap_or(self.octets);
        Ok(lost)
    }

    fn tick(&mut self) -> Result<u64, WriteError> {
        Ok(0)
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    fn close(self: Box<Self>) -> Result<u64, WriteError> {
        // the records are in the database or in its log, which the next one that opens it reads
        self.connection.close().map(|()| 0).map_err(|(_, error)| WriteError {
            lost: 0,
            reason: error.to_string(),
            ends_file: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::{batch, names};

    #[test]
    fn full_database_rolls_back_whole_batches_and_counts_them() {
        let path = std::env::temp_dir().join(format!("ferric-export-{}.db", std::process::id()));
        let mut database = Database::open(&path, &names(), false).unwrap();
        // SQLite then answers as on a full disk
        database.connection.pragma_update(None, "max_page_count", 8).unwrap();
        let (mut written, mut lost) = (0, 0);
        for _ in 0..400 {
            match database.write(&batch(), 2) {
                Ok(count) => written += count,
                Err(error) => {
                    assert!(error.reason.contains("full"), "{error}");
                    lost += error.lost;
                }
            }
        }
        let rows: i64 = database
            .connection
            .query_row("SELECT count(*) FROM kpm WHERE \"a=b,c\" IS NULL", [], |row| row.get(0))
            .unwrap();
        assert!(lost > 0 && written > 0);
        assert_eq!((rows as u64, written + lost), (written, 800));
        Box::new(database).close().unwrap();
        std::fs::remove_file(path).unwrap();
    }
}
