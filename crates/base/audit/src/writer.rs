//! The files of a log: appending, rotation, and what a start finds.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use files::FileLock;
use serde_json::Value;

use crate::digest::Digest;
use crate::log::{LogConfig, StartError};
use crate::time::rfc3339;
use crate::{Verdict, line, verify};

/// A record to be written.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub at: SystemTime,
    pub event: String,
    pub fields: Vec<(String, Value)>,
}

/// The file of a log, to which records are appended.
#[derive(Debug)]
pub(crate) struct Writer {
    config: LogConfig,
    file: File,
    octets: u64,
    seq: u64,
    previous: Digest,
    /// Lines that are not written yet.
    pending: Vec<u8>,
    /// Two writers would break the chain of each other.
    _lock: FileLock,
}

impl Writer {
    /// Opens a log and continues its chain. A torn last line is cut off.
    pub fn open(config: LogConfig) -> Result<Self, StartError> {
        // a link to the same file has the same lock
        let target = fs::canonicalize(&config.path).unwrap_or_else(|_| config.path.clone());
        let lock = FileLock::beside(&target).map_err(|_| StartError::InUse(config.path.clone()))?;
        let path = &config.path;
        let fail = |source| StartError::File { path: config.path.clone(), source };
        let mut cut = None;
        let mut last = None;
        let is_new = match fs::metadata(path) {
            Ok(about) if !about.is_file() => return Err(StartError::NotAFile(path.clone())),
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => !verify::rotated(path, 1).exists(),
            Err(error) => return Err(fail(error)),
        };
        if !is_new {
            if !path.exists() {
                // a rotation was interrupted between its two steps
                File::create_new(path).map_err(fail)?;
            }
            let report = verify::verify(path, None)
                .map_err(|error| StartError::File { path: error.file, source: error.source })?;
            match report.verdict {
                Verdict::Intact => {}
                Verdict::Torn { octets, .. } => cut = Some(octets as u64),
                Verdict::Broken { file, line, fault } => return Err(StartError::Broken { path: file, line, fault }),
            }
            last = report.range.map(|(_, last)| last).zip(report.last_hash);
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(fail)?;
        let mut octets = file.metadata().map_err(fail)?.len();
        if let Some(cut) = cut {
            octets -= cut;
            file.set_len(octets).map_err(fail)?;
        }
        let (seq, previous) = last.unwrap_or((0, Digest::NONE));
        let mut writer = Writer { config, file, octets, seq, previous, pending: Vec::new(), _lock: lock };
        let mut fields = vec![("pid".to_owned(), Value::from(std::process::id()))];
        fields.extend(cut.map(|cut| ("cut_octets".to_owned(), Value::from(cut))));
        writer.append(&Record { at: SystemTime::now(), event: "start".to_owned(), fields });
        writer.flush().map_err(|source| StartError::File { path: writer.config.path.clone(), source })?;
        Ok(writer)
    }

    /// The number and the hash of the last record.
    pub fn head(&self) -> (u64, Digest) {
        (self.seq, self.previous)
    }

    /// Appends a record to what is to be written.
    pub fn append(&mut self, record: &Record) {
        let time = rfc3339(record.at);
        let (line, hash) = line::write(self.seq + 1, &time, &record.event, &record.fields, self.previous);
        self.pending.extend_from_slice(&line);
        self.pending.push(b'\n');
        (self.seq, self.previous) = (self.seq + 1, hash);
    }

    /// Whether there is something to write.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The octets that wait to be written.
    pub fn pending_octets(&self) -> usize {
        self.pending.len()
    }

    /// Writes what is pending, and begins a new file when this one is full. After an error what was not written stays pending,
    /// so that the chain continues when there is room again.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        let result = loop {
            match self.pending.get(written..) {
                None | Some([]) => break Ok(()),
                Some(rest) => match self.file.write(rest) {
                    Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                    Ok(octets) => written += octets,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                },
            }
        };
        self.pending.drain(..written);
        self.octets += written as u64;
        result?;
        if self.octets >= self.config.max_file_octets {
            self.rotate()?;
        }
        Ok(())
    }

    /// Has the system write the file to its disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let path = &self.config.path;
        let name = |number: u32| -> PathBuf { if number == 0 { path.clone() } else { verify::rotated(path, number) } };
        for number in (0..self.config.rotated_files).rev() {
            match fs::rename(name(number), name(number + 1)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && number > 0 => {}
                result => result?,
            }
        }
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        self.file = options.open(path)?;
        self.octets = 0;
        Ok(())
    }
}
