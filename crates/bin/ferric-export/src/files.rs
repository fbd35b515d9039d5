//! Files that are rotated and limited, and what happens while they cannot be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use ferric::xapp::Batch;
use tracing::{info, warn};

use crate::arguments::{Args, Format};
use crate::sink::{Closed, Counts, RecordFile, Sink, WriteError};
use crate::text::Encoder;
use crate::text_file::TextFile;

/// How long nothing is written after a failure: records of that time are lost, and counted.
const RETRY: Duration = Duration::from_secs(1);
/// The digits of a rotated file's number.
const DIGITS: usize = 6;

/// The files of an export.
pub struct Files {
    path: PathBuf,
    format: Format,
    measurements: Vec<String>,
    append: bool,
    rotate_octets: Option<u64>,
    rotate_after: Option<Duration>,
    keep: Option<usize>,
    limit_octets: Option<u64>,
    open: Option<(Box<dyn RecordFile>, Instant)>,
    /// The number of the last file; none before the first.
    number: Option<u32>,
    /// The octets of the files that were closed.
    closed_octets: u64,
    counts: Counts,
    /// Records lost in a row, and when to try again.
    failure: Option<(u64, Instant)>,
}

impl Files {
    /// Opens the first file.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(args: &Args, path: &Path) -> anyhow::Result<Self> {
        let mut files = Files {
            path: path.to_owned(),
            format: args.to,
            measurements: args.measurements.clone(),
            append: args.append,
            rotate_octets: args.rotate_octets,
            rotate_after: args.rotate_seconds.map(|seconds| Duration::from_secs(seconds.into())),
            keep: args.keep.map(|keep| keep as usize),
            limit_octets: args.limit_octets,
            open: None,
            number: None,
            closed_octets: 0,
            counts: Counts::default(),
            failure: None,
        };
        files.open_next()?;
        Ok(files)
    }

    fn rotates(&self) -> bool {
        self.rotate_octets.is_some() || self.rotate_after.is_some()
    }

    fn open_next(&mut self) -> anyhow::Result<()> {
        let next = match self.number {
            Some(last) => last + 1,
            None if self.rotates() => numbers(&self.path)?.last().map_or(1, |last| last + 1),
            None => 1,
        };
        // without rotation, a file after the first one replaces one that takes no more
        let is_plain = !self.rotates() && self.number.is_none();
        let path = if is_plain { self.path.clone() } else { numbered(&self.path, next) };
        let file = open_file(self.format, &path, &self.measurements, self.append)?;
        self.number = Some(next);
        info!(file = %path.display(), "writing");
        self.open = Some((file, Instant::now()));
        self.delete_oldest();
        Ok(())
    }

    fn delete_oldest(&self) {
        let Some(keep) = self.keep else { return };
        let numbers = numbers(&self.path).unwrap_or_default();
        for number in &numbers[..numbers.len().saturating_sub(keep)] {
            let path = numbered(&self.path, *number);
            if let Err(error) = fs::remove_file(&path) {
                warn!(file = %path.display(), %error, "cannot delete the oldest file");
            }
        }
    }

    /// Counts the outcome of a write.
    fn note(&mut self, outcome: Result<u64, WriteError>) {
        match outcome {
            Ok(written) => {
                self.counts.written += written;
                if written > 0
                    && let Some((lost, _)) = self.failure.take()
                {
                    info!(lost, "writing again");
                }
            }
            Err(error) => {
                self.fail(error.lost, &error.reason);
                if error.ends_file {
                    self.end_file();
                }
            }
        }
    }

    /// Counts records that were lost, and logs the first of a row.
    fn fail(&mut self, lost: u64, reason: &str) {
        self.counts.lost += lost;
        let before = self.failure.map_or(0, |(lost, _)| lost);
        if self.failure.is_none() {
            warn!(
                file = %self.path.display(),
                reason,
                "cannot write: records are lost until it works again; free space, or choose --rotate-octets with --keep"
            );
        }
        self.failure = Some((before + lost, Instant::now() + RETRY));
    }

    /// Closes the file.
    fn end_file(&mut self) {
        let Some((file, _)) = self.open.take() else { return };
        self.closed_octets += file.octets();
        let closed = file.close();
        self.note(closed);
    }

    fn octets(&self) -> u64 {
        self.closed_octets + self.open.as_ref().map_or(0, |(file, _)| file.octets())
    }

    fn rotate_if_due(&mut self) {
        let Some((file, opened)) = &self.open else { return };
        let is_full = self.rotate_octets.is_some_and(|octets| file.octets() >= octets);
        if is_full || self.rotate_after.is_some_and(|time| opened.elapsed() >= time) {
            self.end_file();
        }
    }
}

impl Sink for Files {
    fn write(&mut self, batch: &Batch, rows: usize) -> anyhow::Result<()> {
        if self.failure.is_some_and(|(_, retry_at)| Instant::now() < retry_at) {
            self.counts.lost += rows as u64;
            if let Some((lost, _)) = &mut self.failure {
                *lost += rows as u64;
            }
            return Ok(());
        }
        self.rotate_if_due();
        if self.open.is_none()
            && let Err(error) = self.open_next()
        {
            self.fail(rows as u64, &format!("{error:#}"));
            return Ok(());
        }
        if let Some((file, _)) = &mut self.open {
            let outcome = file.write(batch, rows);
            self.note(outcome);
        }
        Ok(())
    }

    fn tick(&mut self) -> anyhow::Result<bool> {
        if let Some((file, _)) = &mut self.open {
            let outcome = file.tick();
            self.note(outcome);
        }
        let octets = self.octets();
        let is_full = self.limit_octets.is_some_and(|limit| octets >= limit);
        if is_full {
            info!(octets, "the size limit is reached");
        }
        Ok(!is_full)
    }

    fn close(mut self: Box<Self>) -> Closed {
        self.end_file();
        Closed { counts: self.counts, result: Ok(()) }
    }
}

fn open_file(format: Format, path: &Path, names: &[String], append: bool) -> anyhow::Result<Box<dyn RecordFile>> {
    Ok(match format {
        Format::Csv | Format::Jsonl | Format::Influx => {
            Box::new(TextFile::open(path, Encoder::new(format, names), append)?)
        }
        #[cfg(feature = "sqlite")]
        Format::Sqlite => Box::new(crate::sqlite::Database::open(path, names, append)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(crate::parquet::ParquetFile::create(path, names)?),
    })
}

/// The path of a rotated file: `kpm.csv` becomes `kpm-000007.csv`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{number:0DIGITS$}{extension}"))
}

/// The numbers of the rotated files that exist, rising.
fn numbers(path: &Path) -> anyhow::Result<Vec<u32>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let name = name.to_string_lossy();
            let stem = path.file_stem()?.to_string_lossy();
            let number: u32 = name.strip_prefix(&*stem)?.strip_prefix('-')?.get(..DIGITS)?.parse().ok()?;
            (numbered(path, number).file_name()?.to_string_lossy() == name).then_some(number)
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::text::tests::{batch, names};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("ferric-export-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn open(&self, more: &[&str]) -> anyhow::Result<Box<Files>> {
            let path = self.0.join("kpm.csv");
            let words = ["ferric-export", "--to", "csv", "--output", path.to_str().unwrap()];
            let mut args = Args::try_parse_from(words.iter().chain(&["-m", "x"]).chain(more)).unwrap();
            args.measurements = names();
            Ok(Box::new(Files::open(&args, &path)?))
        }

        fn list(&self) -> Vec<String> {
            let mut names: Vec<_> = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names.iter().map(|name| name.to_string_lossy().into_owned()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn rotation_numbers_files_after_those_that_exist_and_keeps_the_newest() {
        let folder = Folder::new("rotation");
        fs::write(folder.0.join("kpm-000007.csv"), "").unwrap();
        for other in ["kpm-7.csv", "kpm-0000008.csv", "other-000009.csv", "kpm-000010.txt"] {
            fs::write(folder.0.join(other), "").unwrap();
        }
        let mut files = folder.open(&["--rotate-octets", "4K", "--keep", "2"]).unwrap();
        let mut records = 0;
        while files.number != Some(11) {
            files.write(&batch(), 2).unwrap();
            records += 2;
        }
        let closed = files.close();
        assert_eq!(closed.counts, Counts { written: records, lost: 0 });
        assert_eq!(
            folder.list(),
            ["kpm-0000008.csv", "kpm-000010.csv", "kpm-000010.txt", "kpm-000011.csv", "kpm-7.csv", "other-000009.csv"]
        );
        let text = fs::read_to_string(folder.0.join("kpm-000010.csv")).unwrap();
        assert!(text.starts_with("time_ns,") && (4096..4400).contains(&text.len()), "{}", text.len());
    }

    #[test]
    fn size_limit_ends_the_export() {
        let folder = Folder::new("limit");
        let mut files = folder.open(&["--limit-octets", "4K"]).unwrap();
        let mut batches = 0;
        while files.tick().unwrap() {
            files.write(&batch(), 2).unwrap();
            batches += 1;
        }
        assert_eq!(files.close().counts, Counts { written: 2 * batches, lost: 0 });
        let octets = fs::metadata(folder.0.join("kpm.csv")).unwrap().len();
        assert!((4096..4300).contains(&octets), "{octets}");
    }

    #[test]
    fn file_that_exists_is_refused_or_added_to_if_it_fits() {
        let folder = Folder::new("append");
        let path = folder.0.join("kpm.csv");
        let mut files = folder.open(&[]).unwrap();
        files.write(&batch(), 2).unwrap();
        drop(files.close());
        let refusal = |more: &[&str]| format!("{:#}", folder.open(more).map(|_| ()).unwrap_err());
        assert!(refusal(&[]).contains("--append to add to it"), "{}", refusal(&[]));
        let mut files = folder.open(&["--append"]).unwrap();
        files.write(&batch(), 1).unwrap();
        drop(files.close());
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!((text.lines().count(), text.matches("time_ns").count()), (4, 1));
        fs::write(&path, text.trim_end()).unwrap();
        assert!(refusal(&["--append"]).contains("last line is incomplete"));
        fs::write(&path, "time,other\r\n").unwrap();
        assert!(refusal(&["--append"]).contains("its columns are not those"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(refusal(&["--append"]).contains("not a regular file"));
    }

    #[test]
    fn folder_that_is_gone_loses_counted_records_only() {
        let folder = Folder::new("gone");
        let mut files = folder.open(&["--rotate-octets", "4K"]).unwrap();
        files.write(&batch(), 2).unwrap();
        files.end_file();
        fs::remove_dir_all(&folder.0).unwrap();
        files.write(&batch(), 2).unwrap(); // cannot be opened
        files.write(&batch(), 1).unwrap(); // not even tried
        fs::create_dir(&folder.0).unwrap();
        files.failure = files.failure.map(|(lost, _)| (lost, Instant::now()));
        files.write(&batch(), 2).unwrap();
        assert_eq!(files.close().counts, Counts { written: 4, lost: 3 });
    }
}
