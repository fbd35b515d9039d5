//! The file of definitions: what is in it is there again after a restart of the supervisor.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::definition::Definition;

/// The longest file.
const MAX_OCTETS: u64 = 1 << 20;

/// What the file contains.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    instances: Vec<Definition>,
}

/// The file.
#[derive(Debug)]
pub struct Store(PathBuf);

impl Store {
    /// Reads the definitions of a file; none if it does not exist.
    ///
    /// # Errors
    /// If it cannot be read, or contains anything else.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Definition>)> {
        let store = Store(path.to_owned());
        let text = match files::read_text(path, MAX_OCTETS) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((store, Vec::new())),
            Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        };
        let malformed = |why: String| io::Error::new(ErrorKind::InvalidData, format!("{}: {why}", path.display()));
        let Content { instances } = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        for (number, definition) in instances.iter().enumerate() {
            definition.check().map_err(|problem| malformed(format!("instances[{number}].{}", problem.detail())))?;
            if instances[..number].iter().any(|other| other.name == definition.name) {
                return Err(malformed(format!("instances[{number}].name: `{}` is repeated", definition.name)));
            }
        }
        Ok((store, instances))
    }

    /// Replaces the file: after a failure it has what it had.
    ///
    /// # Errors
    /// Those of the system.
    pub fn save(&self, definitions: Vec<Definition>) -> io::Result<()> {
        let mut new = self.0.clone().into_os_string();
        new.push(".new");
        let new = PathBuf::from(new);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let text = serde_json::to_string_pretty(&Content { instances: definitions })?;
        let mut file = File::create_new(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_definitions_are_read_and_malformed_ones_are_refused_with_their_place() {
        let path = std::env::temp_dir().join(format!("ferric-instances-{}.json", std::process::id()));
        let (store, none) = Store::open(&path).unwrap();
        assert!(none.is_empty());
        let definition: Definition = serde_json::from_str(r#"{ "name": "video", "weight": 3 }"#).unwrap();
        store.save(vec![definition.clone()]).unwrap();
        assert_eq!(Store::open(&path).unwrap().1, [definition]);
        for (text, pieces) in [
            ("{", ["json", "EOF"]),
            (r#"{ "instances": [{ "name": "a" }, { "name": "a" }] }"#, ["instances[1].name", "repeated"]),
            (r#"{ "instances": [{ "name": "a", "weight": 0 }] }"#, ["instances[0].weight", "out of range"]),
            (r#"{ "instances": [{ "name": "a", "wait": 0 }] }"#, ["unknown field", "wait"]),
        ] {
            fs::write(&path, text).unwrap();
            let error = Store::open(&path).unwrap_err().to_string();
            assert!(pieces.iter().all(|piece| error.contains(piece)), "{error}");
        }
        fs::remove_file(&path).unwrap();
    }
}
