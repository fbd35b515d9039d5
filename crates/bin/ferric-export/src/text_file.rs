//! Files of text, and standard output.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, bail};
use ferric::xapp::Batch;

use crate::sink::{Closed, Counts, RecordFile, Sink, WriteError};
use crate::text::Encoder;

/// A file of text. Each batch is one write; a write that fails is taken back, so that the file has whole records only.
pub struct TextFile<F: Target = File> {
    file: F,
    encoder: Encoder,
    /// The octets of the records that were written.
    octets: u64,
    text: String,
}

/// What a file must be able to do.
pub trait Target: Write + Seek {
    /// Cuts what stands after `octets`.
    fn cut(&mut self, octets: u64) -> std::io::Result<()>;
}

impl Target for File {
    fn cut(&mut self, octets: u64) -> std::io::Result<()> {
        self.set_len(octets)
    }
}

impl TextFile {
    /// Creates a file, or opens one to add to.
    ///
    /// # Errors
    /// If it exists and is not to be added to, or has other columns or an incomplete last line.
    pub fn open(path: &Path, encoder: Encoder, append: bool) -> anyhow::Result<Self> {
        let mut file = open_regular(path, append)?;
        let octets = file.metadata()?.len();
        if octets == 0 {
            return TextFile::begin(file, encoder)
                .inspect_err(|_| remove_new(path, append))
                .with_context(|| format!("cannot write {}", path.display()));
        }
        let mut begin = vec![0; encoder.header().len()];
        file.read_exact(&mut begin).or_else(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Ok(()),
            _ => Err(error),
        })?;
        if begin != encoder.header().as_bytes() {
            bail!("{}: --append: its columns are not those of this export; give another file", path.display());
        }
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            bail!(
                "{}: --append: its last line is incomplete, as after a program that was killed; complete or remove the line",
                path.display()
            );
        }
        file.seek(SeekFrom::End(0))?;
        Ok(TextFile { file, encoder, octets, text: String::new() })
    }
}

/// Opens a regular file for writing. Unless it is to be added to, it must not exist.
pub fn open_regular(path: &Path, append: bool) -> anyhow::Result<File> {
    if append
        && let Ok(existing) = std::fs::metadata(path)
        && !existing.is_file()
    {
        bail!("{} is not a regular file; give `-o -` and redirect standard output", path.display());
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let options = if append { options.create(true).truncate(false) } else { options.create_new(true) };
    options.open(path).with_context(|| match path.exists() {
        true if !append => format!("cannot create {}: give another file, or --append to add to it", path.display()),
        _ => format!("cannot open {}", path.display()),
    })
}

/// Removes a file that was created and could not be begun, so that the next attempt can create it.
pub fn remove_new(path: &Path, append: bool) {
    if !append {
        // if this fails too, the next attempt says that the file exists
        let _ = std::fs::remove_file(path);
    }
}

impl<F: Target> TextFile<F> {
    /// Begins an empty file.
    fn begin(mut file: F, encoder: Encoder) -> std::io::Result<Self> {
        let header = encoder.header();
        file.write_all(header.as_bytes())?;
        Ok(TextFile { file, encoder, octets: header.len() as u64, text: String::new() })
    }
}

impl<F: Target> RecordFile for TextFile<F> {
    fn write(&mut self, batch: &Batch, rows: usize) -> Result<u64, WriteError> {
        self.text.clear();
        self.encoder.write_rows(batch, rows, &mut self.text);
        if let Err(error) = self.file.write_all(self.text.as_bytes()) {
            // if this fails too, the next write overwrites the rest
            let cut = self.file.cut(self.octets).and_then(|()| self.file.seek(SeekFrom::Start(self.octets)));
            return Err(WriteError { lost: rows as u64, reason: error.to_string(), ends_file: cut.is_err() });
        }
        self.octets += self.text.len() as u64;
        Ok(rows as u64)
    }

    fn tick(&mut self) -> Result<u64, WriteError> {
        Ok(0)
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    fn close(self: Box<Self>) -> Result<u64, WriteError> {
        Ok(0)
    }
}

/// Standard output. Its end is that of the export.
pub struct StandardOutput {
    encoder: Encoder,
    text: String,
    counts: Counts,
}

impl StandardOutput {
    pub fn new(encoder: Encoder) -> Self {
        let text = encoder.header();
        StandardOutput { encoder, text, counts: Counts::default() }
    }
}

impl Sink for StandardOutput {
    fn write(&mut self, batch: &Batch, rows: usize) -> anyhow::Result<()> {
        self.encoder.write_rows(batch, rows, &mut self.text);
        let mut output = std::io::stdout().lock();
        let written = output.write_all(self.text.as_bytes()).and_then(|()| output.flush());
        self.text.clear();
        if let Err(error) = written {
            // what `… | head` has read is enough
            if error.kind() == std::io::ErrorKind::BrokenPipe {
                program::end_without_output(&error);
            }
            self.counts.lost += rows as u64;
            return Err(error).context("cannot write to standard output");
        }
        self.counts.written += rows as u64;
        Ok(())
    }

    fn tick(&mut self) -> anyhow::Result<bool> {
        Ok(true)
    }

    fn close(self: Box<Self>) -> Closed {
        Closed { counts: self.counts, result: Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::arguments::Format;
    use crate::text::tests::{batch, names};

    /// A file on a disk with some room.
    struct Disk {
        content: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let count = octets.len().min(self.room.saturating_sub(self.content.len()));
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            self.content.extend(&octets[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            assert_eq!(to, SeekFrom::Start(self.content.len() as u64));
            Ok(self.content.len() as u64)
        }
    }

    impl Target for Disk {
        fn cut(&mut self, octets: u64) -> io::Result<()> {
            self.content.truncate(octets as usize);
            Ok(())
        }
    }

    #[test]
    fn full_disk_leaves_whole_records_and_counts_the_others() {
        let disk = Disk { content: Vec::new(), room: 300 };
        let mut file = TextFile::begin(disk, Encoder::new(Format::Csv, &names())).unwrap();
        let (mut written, mut lost) = (0, 0);
        for round in 0..6 {
            if round == 4 {
                file.file.room = 1000;
            }
            match file.write(&batch(), 2) {
                Ok(count) => written += count,
                Err(error) => {
                    assert!(!error.ends_file);
                    lost += error.lost;
                }
            }
        }
        assert_eq!((written, lost), (8, 4), "two batches fit, two do not, two fit again");
        assert_eq!(file.octets(), file.file.content.len() as u64);
        let text = String::from_utf8(file.file.content).unwrap();
        assert_eq!(text.lines().count(), 9);
        assert!(text.lines().skip(1).all(|line| line.starts_with("17000000")) && text.ends_with("\r\n"), "{text}");
    }
}
