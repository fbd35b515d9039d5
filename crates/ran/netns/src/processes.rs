//! The programs in a network namespace.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

/// The most programs that are listed by name. The others are counted.
const MAX_NAMED: usize = 8;

/// The programs in a network namespace, by process id and name.
pub struct Processes {
    named: Vec<(u32, String)>,
    more: usize,
}

impl Processes {
    /// Lists the programs whose main thread is in the namespace of a file, as far as they can be read.
    pub fn of(namespace: &File) -> Processes {
        let mut found = Processes { named: Vec::new(), more: 0 };
        let (Ok(namespace), Ok(all)) = (namespace.metadata(), fs::read_dir("/proc")) else { return found };
        let is_inside = |id: u32| {
            let own = fs::metadata(format!("/proc/{id}/ns/net"));
            own.is_ok_and(|own| (own.dev(), own.ino()) == (namespace.dev(), namespace.ino()))
        };
        let ids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for id in ids.filter(|id| is_inside(*id)) {
            if found.named.len() == MAX_NAMED {
                found.more += 1;
            } else {
                let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
                found.named.push((id, name.trim().escape_default().to_string()));
            }
        }
        found
    }

    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }
}

/// Formats as `4711 (irtt), 4712 (iperf3)`.
impl fmt::Display for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (id, name)) in self.named.iter().enumerate() {
            write!(f, "{}{id} ({name})", if at == 0 { "" } else { ", " })?;
        }
        if self.more > 0 { write!(f, " and {} more", self.more) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_finds_itself_in_its_namespace() {
        let own = std::process::id();
        let found = Processes::of(&File::open("/proc/self/ns/net").unwrap());
        assert!(!found.is_empty());
        assert!(found.more > 0 || found.named.iter().any(|(id, _)| *id == own), "{found}");
        assert!(Processes::of(&File::open("/dev/null").unwrap()).is_empty());
        let two = Processes { named: vec![(7, "irtt".into()), (9, "iperf3".into())], more: 3 };
        assert_eq!(two.to_string(), "7 (irtt), 9 (iperf3) and 3 more");
    }
}
