//! Detection of changed files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// The state of a file's content: its modification time, length and inode. A file that was rewritten or replaced has another
/// stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    modified: SystemTime,
    octets: u64,
    inode: u64,
}

impl FileStamp {
    /// Returns the current stamp of a file; `None` if its metadata cannot be read.
    pub fn of(path: &Path) -> Option<FileStamp> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(FileStamp { modified: metadata.modified().ok()?, octets: metadata.len(), inode: metadata.ino() })
    }
}
