//! The directory of UEs: identities that applications know, by the names that the radio network has for a UE.
//!
//! The radio network knows a UE as `amf:17`, `rnti:0x4601@003804001` or `imsi:001010000000001`; an application knows it by an
//! address. An [`Entry`] joins both. Entries come from a file (TOML, or JSON if its name ends with `.json`) and from REST; those of
//! the file are replaced when it is read again, the others stay.
//!
//! ```toml
//! [[ue]]
//! names = ["imsi:001010000000001", "amf:17"]
//! ipv4 = ["10.45.0.7"]
//! nated = ["198.51.100.7"]
//! gtp_teid = ["0x00000011"]
//! ```

mod write;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Document, TableKeys};

use crate::identity::{AssociateId, TempUeId};

/// The most entries; further ones are refused.
pub const MAX_ENTRIES: usize = 100_000;
/// The most names, and the most identities of one kind, in an entry.
const MAX_LIST: usize = 16;
/// The most characters of a name.
const MAX_NAME: usize = 96;
/// The largest file.
const MAX_FILE_OCTETS: u64 = 32 << 20;

/// A UE of the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The names that the radio network has for it, such as `amf:17`, `imsi:001010000000001` or `ip:10.45.0.7`: at least one.
    pub names: Vec<String>,
    /// Its IPv4 addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ipv4: Vec<Ipv4Addr>,
    /// Its IPv6 addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ipv6: Vec<Ipv6Addr>,
    /// Its addresses behind a NAT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nated: Vec<IpAddr>,
    /// The TEIDs of its tunnels, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gtp_teid: Vec<String>,
    /// The temporary identity that the core network has given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary: Option<TempUeId>,
}

/// Why an entry or a file is refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The file cannot be read.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file cannot be written.
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The entry is of a file that is not written.
    OfFile {
        /// The file.
        path: PathBuf,
        /// The first name of the entry.
        name: String,
    },
    /// A member of an entry is not valid.
    Entry {
        /// The member, such as `gtp_teid[0]`.
        member: String,
        /// Why.
        reason: String,
    },
    /// Two entries have the same name.
    Duplicate(String),
    /// There are too many entries.
    Full,
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DirectoryError::File { path, reason } => {
                write!(f, "cannot read the directory of UEs {}: {reason}", path.display())
            }
            DirectoryError::Write { path, reason } => {
                write!(f, "cannot write the directory of UEs {}: {reason}; nothing has changed", path.display())
            }
            DirectoryError::OfFile { path, name } => {
                write!(f, "`{name}` is an entry of {}, which is not written: change it there", path.display())
            }
            DirectoryError::Entry { member, reason } => write!(f, "{member}: {reason}"),
            DirectoryError::Duplicate(name) => write!(f, "names: another UE has the name `{name}`"),
            DirectoryError::Full => write!(f, "the directory has {MAX_ENTRIES} UEs, the limit; remove some first"),
        }
    }
}

impl std::error::Error for DirectoryError {}

/// The directory. Its methods may be called by any thread.
#[derive(Debug, Default)]
pub struct Directory {
    tables: RwLock<Tables>,
    file: Option<PathBuf>,
    /// Held by what changes entries and writes the file.
    writing: Mutex<()>,
    /// Entries were changed at run time since the collectors looked.
    changed: AtomicBool,
}

#[derive(Debug, Default)]
struct Tables {
    /// By the entry's first name.
    entries: BTreeMap<String, Stored>,
    /// The first name of the entry that has a name.
    by_name: HashMap<String, String>,
    /// When the file was written that the entries are from.
    read: Option<SystemTime>,
}

#[derive(Debug)]
struct Stored {
    entry: Arc<Entry>,
    ids: Vec<AssociateId>,
    is_of_file: bool,
}

impl Directory {
    /// A directory that reads its entries from a file.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let directory = Directory { file: Some(path.to_owned()), ..Directory::default() };
        directory.reload()?;
        Ok(directory)
    }

    /// Reads the file again, if there is one and it was changed since. Returns whether entries may have changed, by that or at run
    /// time. After an error the entries are as they were.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn reload_if_changed(&self) -> Result<bool, DirectoryError> {
        let was_changed = self.changed.swap(false, Ordering::AcqRel);
        Ok(self.reload_if_written()? || was_changed)
    }

    fn reload_if_written(&self) -> Result<bool, DirectoryError> {
        let Some(path) = &self.file else { return Ok(false) };
        let written = path.metadata().and_then(|of| of.modified()).ok();
        let is_changed = written.is_some() && written != self.read().read;
        if is_changed {
            // a file with a mistake is reported once, not until it is mended
            self.write().read = written;
            self.reload()?;
        }
        Ok(is_changed)
    }

    /// Reads the file again, if there is one. After an error the entries are as they were.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn reload(&self) -> Result<(), DirectoryError> {
        let Some(path) = &self.file else { return Ok(()) };
        let failed = |reason: String| DirectoryError::File { path: path.clone(), reason };
        let written = path.metadata().and_then(|of| of.modified()).ok();
        let text = settings::read(path, MAX_FILE_OCTETS).map_err(|error| failed(error.to_string()))?;
        let entries = if is_json(path) { from_json(&text) } else { from_toml(&text) }.map_err(failed)?;
        let mut tables = Tables { read: written, ..Tables::default() };
        let mut before = self.write();
        for entry in entries {
            tables.insert(entry, true).map_err(|error| failed(error.to_string()))?;
        }
        for stored in before.entries.values().filter(|stored| !stored.is_of_file) {
            // an entry of REST gives way to one of the file with the same name
            let _ = tables.insert(Entry::clone(&stored.entry), false);
        }
        *before = tables;
        Ok(())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry, or replaces the one with the same first name.
    ///
    /// # Errors
    /// [`DirectoryError`]; the directory is as it was.
    pub fn put(&self, entry: Entry) -> Result<(), DirectoryError> {
        let mut tables = self.write();
        let replaced = entry.names.first().and_then(|name| tables.remove(name));
        let result = tables.insert(entry, false);
        self.changed.store(true, Ordering::Release);
        if let (Err(_), Some(stored)) = (&result, replaced) {
            // it was there, so it fits
            let _ = tables.insert(Entry::clone(&stored.entry), stored.is_of_file);
        }
        result
    }

    /// The entry that has a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Entry>> {
        let tables = self.read();
        let first = tables.by_name.get(name)?;
        tables.entries.get(first).map(|stored| Arc::clone(&stored.entry))
    }

    /// Removes the entry with this first name. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.changed.store(true, Ordering::Release);
        self.write().remove(name).is_some()
    }

    /// The next entries after a first name, or from the beginning.
    #[must_use]
    pub fn entries_after(&self, name: Option<&str>, limit: usize) -> Vec<Arc<Entry>> {
        let start = name.map_or(Bound::Unbounded, Bound::Excluded);
        let tables = self.read();
        let entries = tables.entries.range::<str, _>((start, Bound::Unbounded));
        entries.take(limit).map(|(_, stored)| Arc::clone(&stored.entry)).collect()
    }

    /// All entries, ordered by their first names.
    #[must_use]
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.read().entries.values().map(|stored| Arc::clone(&stored.entry)).collect()
    }

    /// Adds the identities of the entries that have one of the names to `ids`, each once, and the temporary identity.
    pub(crate) fn resolve<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
        ids: &mut Vec<AssociateId>,
        temporary: &mut Option<TempUeId>,
    ) {
        let tables = self.read();
        if tables.entries.is_empty() {
            return;
        }
        for stored in names.into_iter().filter_map(|name| tables.entries.get(tables.by_name.get(name)?)) {
            stored.ids.iter().for_each(|id| {
                if !ids.contains(id) {
                    ids.push(id.clone());
                }
            });
            if let Some(known) = &stored.entry.temporary {
                *temporary = Some(known.clone());
            }
        }
    }
}

impl Tables {
    fn insert(&mut self, entry: Entry, is_of_file: bool) -> Result<(), DirectoryError> {
        let ids = entry.check()?;
        if let Some(name) = entry.names.iter().find(|name| self.by_name.contains_key(*name)) {
            return Err(DirectoryError::Duplicate(name.clone()));
        }
        if self.entries.len() >= MAX_ENTRIES {
            return Err(DirectoryError::Full);
        }
        let first = entry.names[0].clone();
        self.by_name.extend(entry.names.iter().map(|name| (name.clone(), first.clone())));
        self.entries.insert(first, Stored { entry: Arc::new(entry), ids, is_of_file });
        Ok(())
    }

    fn remove(&mut self, first: &str) -> Option<Stored> {
        let stored = self.entries.remove(first)?;
        for name in &stored.entry.names {
            self.by_name.remove(name);
        }
        Some(stored)
    }
}

impl Entry {
    /// Checks the entry, and returns the identities of the UE.
    fn check(&self) -> Result<Vec<AssociateId>, DirectoryError> {
        let refuse = |member: &str, reason: String| Err(DirectoryError::Entry { member: member.to_owned(), reason });
        if self.names.is_empty() {
            return refuse("names", "a UE has at least one name, such as `amf:17`".to_owned());
        }
        let lengths = [
            ("names", self.names.len()),
            ("ipv4", self.ipv4.len()),
            ("ipv6", self.ipv6.len()),
            ("nated", self.nated.len()),
            ("gtp_teid", self.gtp_teid.len()),
        ];
        if let Some((member, length)) = lengths.iter().find(|(_, length)| *length > MAX_LIST) {
            return refuse(member, format!("{length} values; at most {MAX_LIST} are allowed"));
        }
        for (at, name) in self.names.iter().enumerate() {
            let is_name = name.split_once(':').is_some_and(|(kind, value)| !kind.is_empty() && !value.is_empty());
            if !is_name || name.len() > MAX_NAME || !name.bytes().all(|octet| octet.is_ascii_graphic()) {
                let member = format!("names[{at}]");
                return refuse(&member, "not a kind, a colon and a value, such as `amf:17`".to_owned());
            }
            if self.names[..at].contains(name) {
                return refuse(&format!("names[{at}]"), format!("`{name}` is repeated"));
            }
        }
        let mut ids: Vec<AssociateId> = self.ipv4.iter().map(|address| AssociateId::ip((*address).into())).collect();
        ids.extend(self.ipv6.iter().map(|address| AssociateId::ip((*address).into())));
        ids.extend(self.nated.iter().map(|address| AssociateId::nated(*address)));
        for (at, digits) in self.gtp_teid.iter().enumerate() {
            let Some(teid) = teid(digits) else {
                return refuse(&format!("gtp_teid[{at}]"), format!("`{digits}` is not 1 to 8 hexadecimal digits"));
            };
            ids.push(AssociateId::teid(teid));
        }
        Ok(ids)
    }
}

/// Whether a file is JSON; others are TOML.
fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Reads a TEID in hexadecimal digits, with or without `0x`.
fn teid(digits: &str) -> Option<u32> {
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let is_hexadecimal = (1..=8).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hexadecimal.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

const FILE: TableKeys = TableKeys { name: "the directory of UEs", keys: &["ue"] };
const UE: TableKeys =
    TableKeys { name: "[[ue]]", keys: &["names", "ipv4", "ipv6", "nated", "gtp_teid", "mmec", "mtmsi"] };

fn from_toml(text: &str) -> Result<Vec<Entry>, String> {
    let read = |document: &Document<'_>| -> Result<Vec<Entry>, settings::Error> {
        let mut entries = Vec::new();
        for ue in document.root(&FILE)?.tables("ue", &UE, MAX_ENTRIES)? {
            let texts = |key| ue.texts(key, MAX_LIST, "a list of texts");
            let owned = |texts: Option<Vec<&str>>| texts.unwrap_or_default().into_iter().map(str::to_owned).collect();
            let mmec = ue.text("mmec", "the MME code in hexadecimal digits")?;
            let mtmsi = ue.text("mtmsi", "the M-TMSI in hexadecimal digits")?;
            let temporary = match (mmec, mtmsi) {
                (Some(mmec), Some(mtmsi)) => Some(TempUeId { mmec: mmec.to_owned(), mtmsi: mtmsi.to_owned() }),
                (None, None) => None,
                (Some(_), None) => return Err(ue.missing("mtmsi", "a temporary identity has both parts")),
                (None, Some(_)) => return Err(ue.missing("mmec", "a temporary identity has both parts")),
            };
            let entry = Entry {
                names: owned(texts("names")?),
                ipv4: ue.parsed_texts("ipv4", MAX_LIST, "IPv4 addresses")?.unwrap_or_default(),
                ipv6: ue.parsed_texts("ipv6", MAX_LIST, "IPv6 addresses")?.unwrap_or_default(),
                nated: ue.parsed_texts("nated", MAX_LIST, "IP addresses")?.unwrap_or_default(),
                gtp_teid: owned(texts("gtp_teid")?),
                temporary,
            };
            entry.check().map_err(|error| ue.invalid_table(error))?;
            entries.push(entry);
        }
        Ok(entries)
    };
    Document::parse(text).and_then(|document| read(&document)).map_err(|error| error.to_string())
}

fn from_json(text: &str) -> Result<Vec<Entry>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        ue: Vec<Entry>,
    }
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(file.ue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::AssociateIdType;

    fn ids(directory: &Directory, name: &str) -> Vec<String> {
        let (mut ids, mut temporary) = (Vec::new(), None);
        directory.resolve([name], &mut ids, &mut temporary);
        let temporary = temporary.map(|TempUeId { mmec, mtmsi }| format!("{mmec}-{mtmsi}"));
        ids.iter().map(|id| format!("{}:{}", id.kind as u8, id.value)).chain(temporary).collect()
    }

    #[test]
    fn file_is_read_again_and_keeps_entries_of_rest() {
        let folder = std::env::temp_dir().join(format!("ferric-rnis-directory-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("ues.toml");
        let text = "[[ue]]\nnames = [\"amf:17\", \"imsi:001010000000001\"]\nipv4 = [\"10.45.0.7\"]\n\
                    ipv6 = [\"2001:DB8::0:7\"]\nnated = [\"198.51.100.7\"]\ngtp_teid = [\"0xAB\"]\nmmec = \"01\"\nmtmsi = \"cafe\"\n";
        std::fs::write(&path, text).unwrap();
        let directory = Directory::open(&path).unwrap();
        let expected = ["1:10.45.0.7", "2:2001:db8::7", "3:198.51.100.7", "4:000000ab", "01-cafe"];
        assert_eq!(ids(&directory, "imsi:001010000000001"), expected);
        assert_eq!(ids(&directory, "amf:18"), [""; 0]);
        let of_rest = Entry { names: vec!["amf:18".into()], ipv4: vec![Ipv4Addr::LOCALHOST], ..Entry::default() };
        directory.put(of_rest.clone()).unwrap();
        assert_eq!(directory.get("amf:18").as_deref(), Some(&of_rest));
        std::fs::write(&path, "[[ue]]\nnames = [\"amf:19\"]\nipv4 = [\"10.45.0.9\"]\n").unwrap();
        directory.reload().unwrap();
        assert_eq!(ids(&directory, "amf:17"), [""; 0]);
        assert_eq!([ids(&directory, "amf:18"), ids(&directory, "amf:19")], [["1:127.0.0.1"], ["1:10.45.0.9"]]);
        // a mistake leaves the entries
        std::fs::write(&path, "[[ue]]\nnames = [\"amf:19\"]\nipv4 = [\"10.45.0\"]\n").unwrap();
        let error = directory.reload().unwrap_err().to_string();
        assert!(error.contains("line 3: ue[0]: ipv4[0]"), "{error}");
        assert_eq!(directory.entries().len(), 2);
        let json = folder.join("ues.json");
        std::fs::write(&json, r#"{"ue":[{"names":["amf:1"],"nated":["2001:db8::1"]}]}"#).unwrap();
        assert_eq!(ids(&Directory::open(&json).unwrap(), "amf:1"), ["3:2001:db8::1"]);
        std::fs::write(&json, r#"{"ue":[{"names":["amf:1"],"ip":[]}]}"#).unwrap();
        assert!(Directory::open(&json).unwrap_err().to_string().contains("unknown field `ip`"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn invalid_entries_are_refused() {
        let directory = Directory::default();
        let entry =
            |names: &[&str]| Entry { names: names.iter().map(|name| (*name).into()).collect(), ..Entry::default() };
        let refusal = |entry: Entry| directory.put(entry).unwrap_err().to_string();
        assert!(refusal(entry(&[])).starts_with("names: a UE has at least one name"));
        for name in ["amf", "amf:", ":1", "amf: 1", &format!("amf:{}", "1".repeat(96))] {
            assert!(refusal(entry(&[name])).starts_with("names[0]: not a kind"), "{name}");
        }
        assert_eq!(refusal(entry(&["amf:1", "amf:1"])), "names[1]: `amf:1` is repeated");
        for digits in ["", "0x", "123456789", "0x12g", "+1"] {
            let wrong = Entry { gtp_teid: vec![digits.into()], ..entry(&["amf:1"]) };
            assert!(refusal(wrong).starts_with("gtp_teid[0]: "), "{digits}");
        }
        let many = Entry { ipv4: vec![Ipv4Addr::LOCALHOST; 17], ..entry(&["amf:1"]) };
        assert_eq!(refusal(many), "ipv4: 17 values; at most 16 are allowed");
        directory.put(entry(&["amf:1", "ip:10.0.0.1"])).unwrap();
        assert_eq!(refusal(entry(&["amf:2", "ip:10.0.0.1"])), "names: another UE has the name `ip:10.0.0.1`");
        // a refused replacement leaves what was there
        let wrong = Entry { gtp_teid: vec!["x".into()], ..entry(&["amf:1"]) };
        directory.put(wrong).unwrap_err();
        assert!(directory.get("ip:10.0.0.1").is_some());
        assert!(directory.remove("amf:1") && !directory.remove("amf:1"));
        assert!(directory.get("ip:10.0.0.1").is_none());
        assert_eq!(AssociateId::nated(Ipv4Addr::LOCALHOST.into()).kind, AssociateIdType::NatedIp);
    }
}
