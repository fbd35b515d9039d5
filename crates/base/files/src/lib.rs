//! Reads files that users name: configurations, certificates, tokens, rules, messages.
//!
//! A name may denote anything: a device that never ends, a FIFO without a writer, a folder. [`read`] takes at most a number of
//! octets, waits for a limited time, and says what is wrong. [`open`] is for data of any length that is read piece by piece. [`FileLock`] keeps two processes from one file.

#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, OFlags, fcntl_getfl, fcntl_setfl, flock};
use rustix::io::Errno;

/// The most octets of a file that is read at once, unless its kind has a smaller bound: 16 MiB.
pub const MAX_OCTETS: u64 = 16 << 20;

/// How long a FIFO or a device may take until its end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reads a file of at most `max_octets`. A FIFO, such as that of a shell's `<(command)`, must have a writer and end within 5 s.
///
/// # Errors
/// Those of the system; [`ErrorKind::FileTooLarge`] if there is more; [`ErrorKind::IsADirectory`] for a folder;
/// [`ErrorKind::TimedOut`] if a FIFO or a device does not end in time; [`ErrorKind::UnexpectedEof`] if a FIFO has no writer.
pub fn read(path: &Path, max_octets: u64) -> io::Result<Vec<u8>> {
    let file = open_without_waiting(path)?;
    let kind = file.metadata()?.file_type();
    let octets = if kind.is_file() { read_bounded(&file, max_octets)? } else { read_within(&file, max_octets)? };
    if octets.is_empty() && kind.is_fifo() {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "a FIFO without a writer"));
    }
    Ok(octets)
}

/// Reads a text file of at most `max_octets`.
///
/// # Errors
/// As [`read`]; [`ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_text(path: &Path, max_octets: u64) -> io::Result<String> {
    let octets = read(path, max_octets)?;
    String::from_utf8(octets).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads at most `max_octets` from a stream that may take any time, such as standard input.
///
/// # Errors
/// Those of the reader; [`ErrorKind::FileTooLarge`] if there is more.
pub fn read_bounded(reader: impl Read, max_octets: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    // one octet more than allowed reveals a file that is too long, even one that grows meanwhile
    reader.take(max_octets.saturating_add(1)).read_to_end(&mut octets)?;
    check_length(&octets, max_octets)?;
    Ok(octets)
}

/// Keeps other processes from using a file, until it is dropped.
#[derive(Debug)]
pub struct FileLock(#[allow(dead_code, reason = "the lock ends with the file")] Option<File>);

impl FileLock {
    /// Locks a file by a lock file beside it, `FILE.lock`, so that the file itself may be replaced. Where the folder cannot be written, or
    /// the file system has no locks, nothing is locked.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if another process, or another lock of this one, has it.
    pub fn beside(path: &Path) -> io::Result<FileLock> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        // a FIFO of this name would have the caller wait
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600).custom_flags(flags);
        let Ok(file) = options.open(path.with_file_name(name)) else { return Ok(FileLock(None)) };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(ErrorKind::WouldBlock.into()),
            Err(_) => Ok(FileLock(None)),
            Ok(()) => Ok(FileLock(Some(file))),
        }
    }
}

/// Opens a file for reading piece by piece. A FIFO without a writer is empty: opening it does not wait for one.
///
/// # Errors
/// Those of the system; [`ErrorKind::IsADirectory`] for a folder.
pub fn open(path: &Path) -> io::Result<File> {
    let file = open_without_waiting(path)?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Creates a file, or empties an existing one, for writing. A FIFO must have a reader: opening it does not wait for one.
///
/// # Errors
/// Those of the system; for a FIFO without a reader, one that says so.
pub fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
            io::Error::new(ErrorKind::NotConnected, "a FIFO without a reader")
        }
        _ => error,
    })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "a folder, not a file"));
    }
    Ok(file)
}

/// Reads from a descriptor that does not block, until its end.
fn read_within(mut file: &File, max_octets: u64) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut octets = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(octets),
            Ok(read) => {
                octets.extend_from_slice(piece.get(..read).unwrap_or_default());
                check_length(&octets, max_octets)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait(file, deadline)?,
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Err(too_slow());
        }
    }
}

fn wait(file: &File, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&timeout)) {
        Ok(0) => Err(too_slow()),
        Ok(_) => Ok(()),
        Err(error) if error == rustix::io::Errno::INTR => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn too_slow() -> io::Error {
    let why = format!("not a regular file, and it did not end within {} s", PATIENCE.as_secs());
    io::Error::new(ErrorKind::TimedOut, why)
}

fn check_length(octets: &[u8], max_octets: u64) -> io::Result<()> {
    if octets.len() as u64 <= max_octets {
        return Ok(());
    }
    let bound = match max_octets {
        octets if octets % (1 << 20) == 0 && octets > 0 => format!("{} MiB", octets >> 20),
        octets => format!("{octets} octets"),
    };
    Err(io::Error::new(ErrorKind::FileTooLarge, format!("the file is longer than {bound}")))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ferric-files-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn fifo(&self) -> PathBuf {
            let path = self.0.join("fifo");
            mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0); // of a test
        }
    }

    #[test]
    fn file_is_read_up_to_its_bound() {
        let folder = Folder::new("bound");
        let path = folder.0.join("file");
        std::fs::write(&path, "seed = 1").unwrap();
        assert_eq!(read_text(&path, 8).unwrap(), "seed = 1");
        let error = read(&path, 7).unwrap_err();
        assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::FileTooLarge, "the file is longer than 7 octets"));
        std::fs::write(&path, [0xFF]).unwrap();
        assert_eq!(read_text(&path, 8).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(read(&folder.0, 8).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(open(&folder.0).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(read(&folder.0.join("none"), 8).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn device_without_end_is_too_long() {
        let error = read(Path::new("/dev/zero"), MAX_OCTETS).unwrap_err();
        assert_eq!(error.to_string(), "the file is longer than 16 MiB");
        assert_eq!(read(Path::new("/dev/null"), MAX_OCTETS).unwrap(), b"");
    }

    #[test]
    fn fifo_without_writer_is_refused_at_once() {
        let folder = Folder::new("fifo");
        let path = folder.fifo();
        assert_eq!(read(&path, 8).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(open(&path).unwrap().read(&mut [0]).unwrap(), 0);
        assert_eq!(create(&path).unwrap_err().to_string(), "a FIFO without a reader");
    }

    #[test]
    fn fifo_with_writer_is_read_to_its_end() {
        let folder = Folder::new("written");
        let path = folder.fifo();
        // open for both, so that it does not wait for a reader
        let mut writer = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        writer.write_all(b"seed").unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || read(&path, 8)
        });
        writer.write_all(b" = 1").unwrap();
        // the reader may not have opened it yet: its content would be lost with the last descriptor
        std::thread::sleep(Duration::from_millis(200));
        drop(writer);
        assert_eq!(reader.join().unwrap().unwrap(), b"seed = 1");
    }

    #[test]
    fn fifo_that_does_not_end_is_refused_in_time() {
        let folder = Folder::new("stalled");
        let path = folder.fifo();
        let _writer = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let error = read(&path, 8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("did not end within 5 s"), "{error}");
    }
}
