//! The output of xApps: its end is kept in memory, and if there is a folder for it in two files.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::warn;

/// Octets per second that are read of an xApp: one that writes more waits.
const MAX_RATE: usize = 1 << 20;
const CHUNK_OCTETS: usize = 16 << 10;
/// How often a thread looks whether it is to end although something still could write.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What was kept.
#[derive(Default)]
struct Kept {
    octets: VecDeque<u8>,
    /// Octets that are not kept any more.
    omitted: u64,
}

/// The output of an xApp, of all its processes one after the other. Clones are the same.
#[derive(Clone)]
pub(super) struct Output {
    kept: Arc<Mutex<Kept>>,
    max_octets: usize,
    file: Option<PathBuf>,
}

impl Output {
    pub fn new(max_octets: usize, file: Option<PathBuf>) -> Self {
        Output { kept: Arc::default(), max_octets, file }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // a panic while it is locked leaves octets
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of the output as text, and the octets before it that are not kept.
    pub fn text(&self) -> (String, u64) {
        let mut kept = self.kept();
        let text = String::from_utf8_lossy(kept.octets.make_contiguous()).into_owned();
        (text, kept.omitted)
    }

    fn append(&self, octets: &[u8]) {
        let mut kept = self.kept();
        kept.octets.extend(octets);
        let excess = kept.octets.len().saturating_sub(self.max_octets);
        kept.octets.drain(..excess);
        kept.omitted += excess as u64;
    }

    /// Reads the output of a process on a thread of its own, until it ends or `stop` is set.
    pub fn follow(&self, pipe: PipeReader, stop: Arc<AtomicBool>) -> std::io::Result<()> {
        let output = self.clone();
        std::thread::Builder::new().name("xapp-output".to_owned()).spawn(move || output.read(pipe, &stop))?;
        Ok(())
    }

    fn read(&self, mut pipe: PipeReader, stop: &AtomicBool) {
        let mut file = self.file.as_ref().and_then(LogFile::open);
        let mut chunk = vec![0; CHUNK_OCTETS];
        let (mut begun, mut in_second) = (Instant::now(), 0);
        loop {
            // what was written before the end is read
            let is_last = stop.load(Ordering::Acquire);
            let mut ready = [PollFd::new(&pipe, PollFlags::IN)];
            let patience = if is_last { Timespec::default() } else { PATIENCE };
            match poll(&mut ready, Some(&patience)) {
                Ok(0) if is_last => return,
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(_) => return,
            }
            let octets = match pipe.read(&mut chunk) {
                Ok(1..) if is_last && in_second >= MAX_RATE => return,
                Ok(octets @ 1..) => octets,
                _ => return,
            };
            self.append(&chunk[..octets]);
            if let Some(open) = &mut file
                && let Err(error) = open.append(&chunk[..octets], self.max_octets)
            {
                warn!(
                    "the output of an xApp is not written any more to {}: {error}; make room there, and restart the xApp",
                    open.path.display()
                );
                file = None;
            }
            in_second += octets;
            let since = begun.elapsed();
            if since >= Duration::from_secs(1) {
                (begun, in_second) = (Instant::now(), 0);
            } else if in_second >= MAX_RATE && !is_last {
                std::thread::sleep(Duration::from_secs(1).saturating_sub(since));
            }
        }
    }
}

/// A file that is replaced by an empty one when it is full; the full one stays beside it.
struct LogFile {
    path: PathBuf,
    file: File,
    octets: usize,
}

impl LogFile {
    fn open(path: &PathBuf) -> Option<LogFile> {
        let mut options = File::options();
        let file = options.append(true).create(true).mode(0o640).open(path);
        let opened = file.and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((octets, file)) => Some(LogFile { path: path.clone(), file, octets: octets as usize }),
            Err(error) => {
                warn!(
                    "the output of an xApp is not written to {}: {error}; let the RIC write there (log_folder)",
                    path.display()
                );
                None
            }
        }
    }

    fn append(&mut self, octets: &[u8], max_octets: usize) -> std::io::Result<()> {
        if self.octets > 0 && self.octets + octets.len() > max_octets {
            let mut full = self.path.clone().into_os_string();
            full.push(".1");
            std::fs::rename(&self.path, full)?;
            self.file = File::options().append(true).create(true).mode(0o640).open(&self.path)?;
            self.octets = 0;
        }
        self.octets += octets.len();
        self.file.write_all(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_output_is_kept_in_memory_and_in_two_files() {
        let folder = std::env::temp_dir().join(format!("ferric-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.log");
        let output = Output::new(1000, Some(path.clone()));
        let (reader, mut writer) = std::io::pipe().unwrap();
        let text: String = (0..500).map(|at| format!("line {at:03}\n")).collect();
        writer.write_all(text.as_bytes()).unwrap();
        drop(writer);
        output.read(reader, &AtomicBool::new(false));
        let (kept, omitted) = output.text();
        assert_eq!((kept.len(), omitted as usize), (1000, text.len() - 1000));
        assert!(text.ends_with(&kept));
        let (last, before) = (std::fs::read(&path).unwrap(), std::fs::read(folder.join("x.log.1")));
        assert!(before.is_err() || !last.is_empty());
        assert!(text.as_bytes().ends_with(&last), "the file has the end");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn full_file_is_replaced() {
        let folder = std::env::temp_dir().join(format!("ferric-log-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.log");
        let mut file = LogFile::open(&path).unwrap();
        for at in 0..10 {
            file.append(format!("{at}").repeat(40).as_bytes(), 100).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(
            (read("x.log.1"), read("x.log")),
            (format!("{}{}", "6".repeat(40), "7".repeat(40)), format!("{}{}", "8".repeat(40), "9".repeat(40)))
        );
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn writer_without_end_is_slowed_and_the_thread_ends_when_told() {
        let output = Output::new(1000, None);
        let (reader, mut writer) = std::io::pipe().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let of_writer = std::thread::spawn(move || {
            let mut octets = 0_usize;
            while writer.write_all(&[b'x'; 4096]).is_ok() {
                octets += 4096;
            }
            octets
        });
        output.follow(reader, Arc::clone(&stop)).unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        stop.store(true, Ordering::Release);
        let octets = of_writer.join().unwrap();
        assert!(octets <= 4 * MAX_RATE, "{octets} octets in 1.5 s");
        assert_eq!(output.text().0.len(), 1000);
    }
}
