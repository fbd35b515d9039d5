//! The file of a store: keys and members of sets are rows, and the changes of a round are one transaction.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{Builder, Database, ReadableTable, StorageBackend, TableDefinition};

use crate::store::{Entry, Store, Undo, Value};

/// Keys: when they end (eight octets; zero for never), the kind of their value, and its octets.
const ENTRIES: TableDefinition<&[u8], &[u8]> = TableDefinition::new("entries");
/// Members of sets: the length of the key (two octets), the key, the member.
const MEMBERS: TableDefinition<&[u8], ()> = TableDefinition::new("members");
const OF_OCTETS: u8 = 0;
const OF_MEMBERS: u8 = 1;
/// The memory that the file's pages may take: all keys are in memory already.
const CACHE_OCTETS: usize = 16 << 20;

/// Why a file cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be opened, or is a folder, a device or a FIFO.
    Open(PathBuf, io::Error),
    /// The database cannot be opened, read or written.
    Database(PathBuf, Box<redb::Error>),
    /// The database is damaged; with what the library has found.
    Damaged(PathBuf, String),
    /// A row is not one that this program writes.
    Row(PathBuf),
    /// Its keys exceed the bounds of the store.
    TooLarge(PathBuf),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Open(path, error) => write!(f, "cannot open the store {}: {error}", path.display()),
            FileError::Database(path, error) => write!(f, "cannot use the store {}: {error}", path.display()),
            FileError::Damaged(path, what) => write!(
                f,
                "the store {} is damaged: {what}: restore it from a copy, or move it away to begin with an empty store",
                path.display()
            ),
            FileError::Row(path) => {
                write!(f, "{} is not a store of the shared data layer: choose another file", path.display())
            }
            FileError::TooLarge(path) => {
                write!(
                    f,
                    "the keys in {} exceed the bounds of the store: raise max_octets or max_namespace_percent",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for FileError {}

impl FileError {
    fn of(path: &Path, error: redb::Error) -> Self {
        let is_damage = match &error {
            redb::Error::Corrupted(_) => true,
            // a file that is too short, or no database at all
            redb::Error::Io(error) => {
                matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
            }
            _ => false,
        };
        match is_damage {
            true => FileError::Damaged(path.to_owned(), error.to_string()),
            false => FileError::Database(path.to_owned(), Box::new(error)),
        }
    }
}

/// The octets of a file. What a damaged page claims to lie beyond its end is an error before memory is taken for it.
#[derive(Debug)]
struct BoundedFile(FileBackend);

impl StorageBackend for BoundedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.0.len()? => self.0.read(offset, len),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self, eventual: bool) -> io::Result<()> {
        self.0.sync_data(eventual)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// Calls the database library, which panics on pages that it could not have written.
fn guarded<T>(path: &Path, call: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
    // what a panic has left half done are the transaction, which is not committed, and the database, which refuses further ones
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(FileError::Damaged(path.to_owned(), text.unwrap_or("its pages contradict each other").to_owned()))
    })
}

/// The file of a store.
pub(crate) struct StoreFile {
    path: PathBuf,
    database: Database,
}

#[allow(clippy::result_large_err, reason = "errors of redb, which are boxed where they leave this file")]
impl StoreFile {
    /// Opens a file, or creates it, and puts its keys into a store.
    pub fn open(path: &Path, store: &mut Store) -> Result<Self, FileError> {
        let failed = |error: redb::Error| FileError::of(path, error);
        let opened = open(path).map_err(|error| FileError::Open(path.to_owned(), error))?;
        let (file, rows) = guarded(path, || {
            let backend = FileBackend::new(opened).map_err(|error| failed(error.into()))?;
            let database = Builder::new().set_cache_size(CACHE_OCTETS).create_with_backend(BoundedFile(backend));
            let database = database.map_err(|error| failed(error.into()))?;
            let file = StoreFile { path: path.to_owned(), database };
            file.create_tables().map_err(failed)?;
            let rows = file.read()?;
            Ok((file, rows))
        })?;
        for (key, entry) in rows {
            store.put(&key, entry).map_err(|_| FileError::TooLarge(path.to_owned()))?;
        }
        store.accept();
        Ok(file)
    }

    fn create_tables(&self) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        transaction.open_table(ENTRIES)?;
        transaction.open_table(MEMBERS)?;
        transaction.commit()?;
        Ok(())
    }

    fn read(&self) -> Result<Vec<(Vec<u8>, Entry)>, FileError> {
        let rows = self.rows().map_err(|error| FileError::of(&self.path, error))?;
        let entries = rows.into_iter().map(|(key, row, members)| Some((key, entry(&row, members)?)));
        entries.collect::<Option<_>>().ok_or_else(|| FileError::Row(self.path.clone()))
    }

    #[allow(clippy::type_complexity, reason = "the rows of both tables, joined once")]
    fn rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>, BTreeSet<Vec<u8>>)>, redb::Error> {
        let transaction = self.database.begin_read()?;
        let (entries, members) = (transaction.open_table(ENTRIES)?, transaction.open_table(MEMBERS)?);
        let mut rows = Vec::new();
        for row in entries.iter()? {
            let (key, row) = row?;
            let (key, row) = (key.value().to_vec(), row.value().to_vec());
            let start = member_row(&key, &[]);
            let mut of_key = BTreeSet::new();
            if row.get(8) == Some(&OF_MEMBERS) {
                for member in members.range(start.as_slice()..)? {
                    let (member, _) = member?;
                    let Some(member) = member.value().strip_prefix(start.as_slice()) else { break };
                    of_key.insert(member.to_vec());
                }
            }
            rows.push((key, row, of_key));
        }
        Ok(rows)
    }

    /// Writes the changes of a store that are not accepted yet, durably.
    pub fn write(&self, store: &Store) -> Result<(), FileError> {
        guarded(&self.path, || self.transact(store).map_err(|error| FileError::of(&self.path, error)))
    }

    fn transact(&self, store: &Store) -> Result<(), redb::Error> {
        // keys that were replaced as a whole, with the members that they had
        let mut whole: HashSet<&[u8]> = HashSet::new();
        let transaction = self.database.begin_write()?;
        {
            let (mut entries, mut members) = (transaction.open_table(ENTRIES)?, transaction.open_table(MEMBERS)?);
            for undo in store.changes() {
                if let Undo::Entry(key, before) = undo {
                    whole.insert(key);
                    if let Some(Entry { value: Value::Members(former), .. }) = before {
                        for member in former {
                            members.remove(member_row(key, member).as_slice())?;
                        }
                    }
                }
            }
            for undo in store.changes() {
                match undo {
                    Undo::Entry(..) => {}
                    // a key that was replaced later or before
                    Undo::Added(key, member) | Undo::Removed(key, member) => {
                        let has =
                            |entry: &Entry| matches!(&entry.value, Value::Members(members) if members.contains(member));
                        let row = member_row(key, member);
                        if store.stored(key).is_some_and(has) {
                            members.insert(row.as_slice(), ())?;
                        } else {
                            members.remove(row.as_slice())?;
                        }
                    }
                    Undo::Expiry(key, _) => {
                        if let Some(entry) = store.stored(key) {
                            entries.insert(key.as_slice(), entry_row(entry).as_slice())?;
                        }
                    }
                }
            }
            for key in whole {
                match store.stored(key) {
                    None => drop(entries.remove(key)?),
                    Some(entry) => {
                        entries.insert(key, entry_row(entry).as_slice())?;
                        if let Value::Members(current) = &entry.value {
                            for member in current {
                                members.insert(member_row(key, member).as_slice(), ())?;
                            }
                        }
                    }
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Opens a file, or creates one that nobody else may read.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let is_file = file.metadata()?.is_file();
    if is_file { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")) }
}

fn member_row(key: &[u8], member: &[u8]) -> Vec<u8> {
    // keys have at most 2^16 - 1 octets: `Limits::max_key_octets`
    let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes()[..], key, member].concat()
}

fn entry_row(entry: &Entry) -> Vec<u8> {
    let expires_ms = entry.expires_ms.unwrap_or(0).to_be_bytes();
    match &entry.value {
        Value::Octets(octets) => [&expires_ms[..], &[OF_OCTETS], octets].concat(),
        Value::Members(_) => [&expires_ms[..], &[OF_MEMBERS]].concat(),
    }
}

fn entry(row: &[u8], members: BTreeSet<Vec<u8>>) -> Option<Entry> {
    let (expires_ms, rest) = row.split_first_chunk::<8>()?;
    let expires_ms = Some(u64::from_be_bytes(*expires_ms)).filter(|end| *end != 0);
    let value = match rest.split_first()? {
        (&OF_OCTETS, octets) => Value::Octets(octets.to_vec()),
        (&OF_MEMBERS, []) => Value::Members(members),
        _ => return None,
    };
    Some(Entry { value, expires_ms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreLimits;

    const LIMITS: StoreLimits = StoreLimits { max_octets: 1 << 20, max_namespace_percent: 100 };

    struct TemporaryFile(PathBuf);

    impl TemporaryFile {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ferric-sdl-{name}-{}.redb", std::process::id()));
            let _ = std::fs::remove_file(&path); // of an earlier run
            TemporaryFile(path)
        }
    }

    impl Drop for TemporaryFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn octets(text: &str, expires_ms: Option<u64>) -> Entry {
        Entry { value: Value::Octets(text.into()), expires_ms }
    }

    /// Applies random changes in rounds, and compares what another store reads of the file.
    #[test]
    fn file_has_what_the_store_has_after_each_round() {
        let path = TemporaryFile::new("rounds");
        let mut store = Store::new(LIMITS);
        let mut file = StoreFile::open(&path.0, &mut store).unwrap();
        let mut seed = 7_u64;
        let mut next = |bound: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % bound
        };
        for round in 0..30 {
            for _ in 0..next(12) {
                let key = format!("{{ns}},{}", next(4)).into_bytes();
                let member = [b'a' + next(3) as u8];
                match next(6) {
                    0 => store.put(&key, octets("text", None)).unwrap(),
                    1 => drop(store.remove(&key, 0)),
                    2 => drop(store.set_expiry(&key, Some(1 + next(50)), 0)),
                    3 => drop(store.remove_member(&key, &member, 0)),
                    _ if matches!(store.get(&key, 0), Some(Entry { value: Value::Octets(_), .. })) => {}
                    _ => drop(store.add_member(&key, &member, 0).unwrap()),
                }
            }
            if next(4) == 0 {
                store.revert();
            }
            file.write(&store).unwrap();
            store.accept();
            let mut again = Store::new(LIMITS);
            drop(file);
            file = StoreFile::open(&path.0, &mut again).unwrap();
            let content = |store: &Store| {
                store.keys(b"", None, 0).map(|key| (key.to_vec(), store.get(key, 0).cloned())).collect::<Vec<_>>()
            };
            assert_eq!(content(&again), content(&store), "round {round}");
            assert_eq!(again.octets(), store.octets());
        }
    }

    #[test]
    fn file_that_is_in_use_or_no_store_is_refused() {
        let path = TemporaryFile::new("refused");
        let first = StoreFile::open(&path.0, &mut Store::new(LIMITS)).unwrap();
        let second = StoreFile::open(&path.0, &mut Store::new(LIMITS)).err().unwrap().to_string();
        assert!(second.starts_with("cannot use the store ") && second.contains("open"), "{second}");
        drop(first);
        std::fs::write(&path.0, "no database").unwrap();
        assert!(matches!(StoreFile::open(&path.0, &mut Store::new(LIMITS)), Err(FileError::Damaged(..))));
        for other in ["/dev/zero", "/tmp", "/nonexistent/store"] {
            assert!(
                matches!(StoreFile::open(Path::new(other), &mut Store::new(LIMITS)), Err(FileError::Open(..))),
                "{other}"
            );
        }
    }

    /// A full disk, a crash of the host or a copy that was cut off leave such files.
    #[test]
    fn damaged_file_is_refused_with_the_remedy_or_read() {
        let path = TemporaryFile::new("damaged");
        let mut store = Store::new(LIMITS);
        let file = StoreFile::open(&path.0, &mut store).unwrap();
        for number in 0..200 {
            store.put(format!("{{ns}},{number}").as_bytes(), octets(&"x".repeat(100), None)).unwrap();
        }
        file.write(&store).unwrap();
        drop(file);
        let whole = std::fs::read(&path.0).unwrap();
        let mut refused = 0;
        let cut = (0..15).map(|at| whole[..whole.len() * at / 15].to_vec());
        let inverted = (0..50).map(|at| {
            let mut octets = whole.clone();
            // the header, and some of the pages
            let place = if at < 25 { 11 * at } else { octets.len() * (at - 25) / 25 };
            octets[place] ^= 0xff;
            octets
        });
        for (number, content) in cut.chain(inverted).enumerate() {
            std::fs::write(&path.0, &content).unwrap();
            let Err(error) = StoreFile::open(&path.0, &mut Store::new(LIMITS)) else { continue };
            refused += 1;
            let text = error.to_string();
            let has_remedy = matches!(error, FileError::Row(_)) || text.contains("move it away");
            assert!(has_remedy || matches!(error, FileError::TooLarge(_)), "{number}: {text}");
        }
        assert!(refused > 15, "{refused}");
    }

    #[test]
    fn keys_beyond_the_bounds_are_refused_at_the_start() {
        let path = TemporaryFile::new("bounds");
        let mut store = Store::new(LIMITS);
        let file = StoreFile::open(&path.0, &mut store).unwrap();
        store.put(b"{ns},key", octets(&"x".repeat(5000), None)).unwrap();
        file.write(&store).unwrap();
        drop(file);
        let mut smaller = Store::new(StoreLimits { max_octets: 4000, ..LIMITS });
        assert!(matches!(StoreFile::open(&path.0, &mut smaller), Err(FileError::TooLarge(_))));
    }
}
