//! Changes of the directory at run time. A JSON file has them as well, so that they outlast the process; a TOML file, which people
//! write, is never changed.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde::Serialize;

use super::{Directory, DirectoryError, Entry, MAX_FILE_OCTETS, is_json};

impl Directory {
    /// Adds an entry, or replaces the one with the same first name, and writes the file if it is JSON. Returns whether the entry is new.
    ///
    /// # Errors
    /// [`DirectoryError`]; the directory is as it was.
    pub fn store(&self, entry: Entry) -> Result<bool, DirectoryError> {
        self.change(entry.names.first().cloned().unwrap_or_default(), |directory| directory.put(entry))
            .map(|(before, ())| before.is_none())
    }

    /// Removes the entry that has a name, and writes the file if it is JSON. Returns whether there was one.
    ///
    /// # Errors
    /// [`DirectoryError`]; the directory is as it was.
    pub fn delete(&self, name: &str) -> Result<bool, DirectoryError> {
        let Some(entry) = self.get(name) else { return Ok(false) };
        let first = entry.names[0].clone();
        self.change(first.clone(), |directory| {
            directory.remove(&first);
            Ok(())
        })
        .map(|(before, ())| before.is_some())
    }

    /// Makes a change of the entry with a first name, and writes the file; returns the entry before.
    fn change<T>(
        &self,
        first: String,
        change: impl FnOnce(&Self) -> Result<T, DirectoryError>,
    ) -> Result<(Option<Entry>, T), DirectoryError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.file.as_deref();
        let is_written = file.is_some_and(is_json);
        if is_written && self.reload_if_written()? {
            // the collectors look up what others have written
            self.changed.store(true, Ordering::Release);
        }
        let before = self.read().entries.get(&first).map(|stored| (Entry::clone(&stored.entry), stored.is_of_file));
        if let (Some(path), Some((_, true)), false) = (file, &before, is_written) {
            return Err(DirectoryError::OfFile { path: path.to_owned(), name: first });
        }
        let result = change(self)?;
        if let Some(path) = file.filter(|_| is_written)
            && let Err(error) = self.write_file(path)
        {
            match before {
                // it was there, so it fits
                Some((entry, _)) => self.put(entry)?,
                None => drop(self.remove(&first)),
            }
            return Err(error);
        }
        Ok((before.map(|(entry, _)| entry), result))
    }

    /// Replaces the file by one with the present entries: it is the old one or the new one at every moment.
    fn write_file(&self, path: &Path) -> Result<(), DirectoryError> {
        #[derive(Serialize)]
        struct File<'e> {
            ue: Vec<&'e Entry>,
        }
        let failed = |reason: String| DirectoryError::Write { path: path.to_owned(), reason };
        let entries = self.entries();
        let file = File { ue: entries.iter().map(|entry| &**entry).collect() };
        let text = serde_json::to_string_pretty(&file).map_err(|error| failed(error.to_string()))? + "\n";
        if text.len() as u64 > MAX_FILE_OCTETS {
            return Err(failed(format!("it would have more than {MAX_FILE_OCTETS} octets")));
        }
        let write = || {
            let mut new = path.as_os_str().to_owned();
            new.push(".new");
            // an earlier process may have left the file; a link is not followed
            match fs::remove_file(&new) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut created = fs::File::create_new(&new)?;
            // who may read the identities of UEs remains
            created.set_permissions(fs::metadata(path)?.permissions())?;
            created.write_all(text.as_bytes())?;
            created.sync_all()?;
            fs::rename(&new, path)?;
            path.metadata()?.modified()
        };
        let written = write().map_err(|error| failed(error.to_string()))?;
        let mut tables = self.write();
        tables.read = Some(written);
        tables.entries.values_mut().for_each(|stored| stored.is_of_file = true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        Entry { names: vec![name.into()], ipv4: vec![[10, 45, 0, 7].into()], ..Entry::default() }
    }

    #[test]
    fn json_file_has_what_is_stored_and_toml_file_is_never_written() {
        let folder = std::env::temp_dir().join(format!("ferric-rnis-stored-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("ues.json");
        fs::write(&path, r#"{"ue":[{"names":["amf:1"]}]}"#).unwrap();
        let directory = Directory::open(&path).unwrap();
        assert!(directory.store(entry("amf:2")).unwrap() && !directory.store(entry("amf:2")).unwrap());
        assert!(directory.reload_if_changed().unwrap(), "the collectors look all UEs up again");
        assert!(!directory.reload_if_changed().unwrap());
        assert!(directory.delete("amf:1").unwrap() && !directory.delete("amf:1").unwrap());
        let names =
            |directory: &Directory| directory.entries().iter().map(|entry| entry.names[0].clone()).collect::<Vec<_>>();
        assert_eq!(names(&Directory::open(&path).unwrap()), ["amf:2"]);
        // what an editor has written meanwhile remains
        fs::write(&path, r#"{"ue":[{"names":["amf:9"]}]}"#).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        directory.store(entry("amf:3")).unwrap();
        assert_eq!(names(&Directory::open(&path).unwrap()), ["amf:3", "amf:9"]);
        // a file that cannot be written changes nothing
        fs::remove_file(&path).unwrap();
        let error = directory.store(entry("amf:4")).unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains("ues.json"), "{error}");
        assert_eq!(names(&directory), ["amf:3", "amf:9"]);

        let path = folder.join("ues.toml");
        let text = "[[ue]] # of a person\nnames = [\"amf:1\", \"imsi:1\"]\n";
        fs::write(&path, text).unwrap();
        let directory = Directory::open(&path).unwrap();
        let error = directory.store(entry("amf:1")).unwrap_err().to_string();
        assert!(error.contains("amf:1") && error.contains("ues.toml"), "{error}");
        directory.delete("imsi:1").unwrap_err();
        assert!(directory.store(entry("amf:2")).unwrap() && directory.delete("amf:2").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::remove_dir_all(folder).unwrap();
    }
}
