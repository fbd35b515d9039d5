//! The journal: what is changed, and what was before. Every change is on the disk before it is made.
//!
//! The folder has a lock, which the one process that may change the host holds, and the journal, a JSON document a line: a head,
//! a line per change, and a last line once a policy is complete. A line that a killed process has written in part has not been
//! acted upon, so it is ignored. What is changed lives in the kernel's memory: a journal of before the last boot is void.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::change::{Before, Change};

/// A journal has so many octets at most: some 200,000 changes.
const MAX_OCTETS: u64 = 64 << 20;

/// What a journal says of its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The name of the policy.
    pub policy: String,
    /// The process that has applied it.
    pub pid: u32,
    /// When: seconds since 1970.
    pub started_s: u64,
    /// Whether the policy stays when that process ends.
    pub stays: bool,
    /// The kernel's number of this boot.
    boot: String,
    /// What distinguishes it from other sessions.
    pub id: String,
}

/// A step of the dynamic policy, which can be given back alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepHead {
    /// Its number in the session, from 1.
    pub number: u32,
    /// What it does.
    pub what: String,
    /// Why it was taken.
    pub why: String,
    /// When: seconds since 1970.
    pub taken_s: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Head(Head),
    Change(Change, Before),
    Complete,
    Step(StepHead),
    /// A change of a step.
    Part(u32, Change, Before),
    /// A step was given back: its changes are reverted.
    Returned(u32),
}

/// The content of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its head.
    pub head: Head,
    /// The changes in the order in which they were made, without those of steps that were given back.
    pub changes: Vec<(Change, Before)>,
    /// The step that each change belongs to; 0 for those of the policy itself.
    pub owners: Vec<u32>,
    /// The steps that are taken, in their order.
    pub steps: Vec<StepHead>,
    /// Whether the whole policy is applied.
    pub is_complete: bool,
}

/// The journal of the process that holds the lock.
#[derive(Debug)]
pub struct Journal {
    file: File,
    folder: PathBuf,
    /// Held as long as this exists.
    _lock: File,
}

impl Journal {
    /// Opens the journal in a folder, which is created, and takes the lock.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has the lock; [`Error::System`].
    pub fn open(folder: &Path) -> Result<Journal, Error> {
        let failed = |path: &Path| {
            let action = format!("open {}", path.display());
            move |source| Error::system(action, "root, or a folder of your own: --state FOLDER", source)
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path).map_err(failed(path))
        };
        let mut lock = open(&folder.join("lock"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let mut text = String::new();
                // it is written after the lock is taken, so it may be absent
                let _ = (&lock).take(20).read_to_string(&mut text);
                return Err(Error::Busy { pid: text.trim().parse().ok() });
            }
            Err(error) => return Err(failed(&folder.join("lock"))(error.into())),
        }
        let written = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
        written.map_err(failed(&folder.join("lock")))?;
        Ok(Journal { file: open(&path(folder))?, folder: folder.to_owned(), _lock: lock })
    }

    /// What the journal says. `None` if nothing is to be restored.
    ///
    /// # Errors
    /// [`Error::System`]; [`Error::Unsupported`] if it is none of ours.
    pub fn record(&mut self) -> Result<Option<Record>, Error> {
        let mut text = String::new();
        let read =
            self.file.seek(SeekFrom::Start(0)).and_then(|_| (&self.file).take(MAX_OCTETS).read_to_string(&mut text));
        read.map_err(|source| Error::system("read the journal", "", source))?;
        parse(&text)
    }

    /// Starts a session.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn begin(&mut self, policy: &str, stays: bool) -> Result<Head, Error> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let pid = std::process::id();
        let id = format!("{pid}-{}", now.as_nanos());
        let head = Head { policy: policy.to_owned(), pid, started_s: now.as_secs(), stays, boot: boot_id()?, id };
        self.clear()?;
        self.write(&Line::Head(head.clone()))?;
        Ok(head)
    }

    /// Writes a change that is about to be made.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn add(&mut self, change: &Change, before: &Before) -> Result<(), Error> {
        self.write(&Line::Change(change.clone(), before.clone()))
    }

    /// Writes that a step is about to be taken.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn begin_step(&mut self, step: &StepHead) -> Result<(), Error> {
        self.write(&Line::Step(step.clone()))
    }

    /// Writes a change of a step that is about to be made.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn add_to(&mut self, step: u32, change: &Change, before: &Before) -> Result<(), Error> {
        self.write(&Line::Part(step, change.clone(), before.clone()))
    }

    /// Writes that the changes of a step are reverted.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn end_step(&mut self, step: u32) -> Result<(), Error> {
        self.write(&Line::Returned(step))
    }

    /// Writes that the policy is applied completely.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn complete(&mut self) -> Result<(), Error> {
        self.write(&Line::Complete)
    }

    /// Leaves out changes of which `is_void` holds: those of threads that have ended. The new journal replaces the old one at once.
    ///
    /// # Errors
    /// [`Error::System`]; the old journal remains.
    pub fn compact(&mut self, is_void: impl Fn(&Change) -> bool) -> Result<usize, Error> {
        let Some(mut record) = self.record()? else { return Ok(0) };
        record.retain(|_, change| !is_void(change));
        let count = record.changes.len();
        let mut lines = vec![Line::Head(record.head)];
        lines.extend(record.steps.into_iter().map(Line::Step));
        lines.extend(record.owners.iter().zip(record.changes).map(|(step, (change, before))| match step {
            0 => Line::Change(change, before),
            step => Line::Part(*step, change, before),
        }));
        lines.extend(record.is_complete.then_some(Line::Complete));
        let new = self.folder.join("journal.new");
        let write = || {
            let mut file =
                OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            let mut octets = Vec::new();
            for line in &lines {
                serde_json::to_writer(&mut octets, line).map_err(io::Error::other)?;
                octets.push(b'\n');
            }
            file.write_all(&octets)?;
            file.sync_all()?;
            fs::rename(&new, path(&self.folder))?;
            File::open(&self.folder)?.sync_all()?;
            Ok(file)
        };
        self.file = write().map_err(|source| Error::system("shorten the journal", "", source))?;
        Ok(count)
    }

    /// Empties the journal: nothing is to be restored any more.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn clear(&mut self) -> Result<(), Error> {
        let cleared =
            self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0))).and_then(|_| self.file.sync_all());
        cleared.map_err(|source| Error::system("empty the journal", "", source))
    }

    fn write(&mut self, line: &Line) -> Result<(), Error> {
        let written = serde_json::to_vec(line).map_err(io::Error::other).and_then(|mut octets| {
            octets.push(b'\n');
            let end = self.file.seek(SeekFrom::End(0))?;
            if end + octets.len() as u64 > MAX_OCTETS {
                return Err(io::Error::other(format!("it is full: {MAX_OCTETS} octets; undo, and start again")));
            }
            self.file.write_all(&octets)?;
            self.file.sync_data()
        });
        written.map_err(|source| Error::system("write the journal", "", source))
    }
}

impl Record {
    /// Leaves out the changes of which `is_kept` does not hold, by their step and themselves.
    fn retain(&mut self, is_kept: impl Fn(u32, &Change) -> bool) {
        let owners = std::mem::take(&mut self.owners);
        let all = owners.into_iter().zip(std::mem::take(&mut self.changes));
        let kept = all.filter(|(step, (change, _))| is_kept(*step, change));
        (self.owners, self.changes) = kept.unzip();
    }

    /// The changes of a step.
    #[must_use]
    pub fn of_step(&self, step: u32) -> Vec<(Change, Before)> {
        let all = self.owners.iter().zip(&self.changes);
        all.filter(|(owner, _)| **owner == step).map(|(_, change)| change.clone()).collect()
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("journal")
}

/// What the journal in a folder says, without the lock. `None` if nothing is to be restored.
///
/// # Errors
/// As of [`Journal::record`].
pub fn peek(folder: &Path) -> Result<Option<Record>, Error> {
    match settings::read(&path(folder), MAX_OCTETS) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::system(format!("read {}", path(folder).display()), "root", source)),
    }
}

fn parse(text: &str) -> Result<Option<Record>, Error> {
    let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let Some(first) = lines.next() else { return Ok(None) };
    let broken =
        || Error::Unsupported("the journal is not one of ferric cpu: remove it if nothing is to be restored".into());
    let Ok(Line::Head(head)) = serde_json::from_str(first) else { return Err(broken()) };
    if head.boot != boot_id()? {
        return Ok(None);
    }
    let mut record = Record { head, changes: Vec::new(), owners: Vec::new(), steps: Vec::new(), is_complete: false };
    for line in lines {
        match serde_json::from_str(line).map_err(|_| broken())? {
            Line::Head(_) => return Err(broken()),
            Line::Change(change, before) => {
                record.changes.push((change, before));
                record.owners.push(0);
            }
            Line::Step(step) => record.steps.push(step),
            Line::Part(step, change, before) => {
                record.changes.push((change, before));
                record.owners.push(step);
            }
            Line::Returned(step) => {
                record.steps.retain(|taken| taken.number != step);
                record.retain(|owner, _| owner != step);
            }
            Line::Complete => record.is_complete = true,
        }
    }
    Ok(Some(record))
}

fn boot_id() -> Result<String, Error> {
    crate::change::read(Path::new("/proc/sys/kernel/random/boot_id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ferric-cpu-journal-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn changes_are_read_back_and_a_partial_line_is_ignored() {
        let folder = folder("lines");
        let mut journal = Journal::open(&folder).unwrap();
        assert_eq!(journal.record().unwrap(), None);
        journal.begin("ta", true).unwrap();
        let change = Change::File { path: "/x".into(), value: "1".into(), may_fail: false };
        journal.add(&change, &Before::Content("2".into())).unwrap();
        journal.file.write_all(b"{\"Change\":[").unwrap();
        let record = peek(&folder).unwrap().unwrap();
        assert_eq!((record.changes.len(), record.is_complete, &*record.head.policy), (1, false, "ta"));
        journal.clear().unwrap();
        assert_eq!(peek(&folder).unwrap(), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn journal_is_shortened_and_goes_on() {
        let folder = folder("compact");
        let mut journal = Journal::open(&folder).unwrap();
        journal.begin("ta", false).unwrap();
        let change = |value: usize| Change::File { path: "/x".into(), value: value.to_string(), may_fail: false };
        (0..10).for_each(|value| journal.add(&change(value), &Before::Absent).unwrap());
        journal.complete().unwrap();
        assert_eq!(journal.compact(|change| !change.command().contains("echo 7")).unwrap(), 1);
        journal.add(&change(11), &Before::Absent).unwrap();
        let record = peek(&folder).unwrap().unwrap();
        let commands: Vec<_> = record.changes.iter().map(|(change, _)| change.command()).collect();
        assert_eq!((commands, record.is_complete), (vec!["echo 7 > /x".to_owned(), "echo 11 > /x".to_owned()], true));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn changes_of_a_returned_step_are_left_out_and_the_journal_is_shortened_with_steps() {
        let folder = folder("steps");
        let mut journal = Journal::open(&folder).unwrap();
        journal.begin("dynamic", false).unwrap();
        let change = |path: &str| Change::File { path: path.into(), value: "1".into(), may_fail: false };
        for number in 1..=3 {
            let what = format!("step {number}");
            journal.begin_step(&StepHead { number, what, why: "test".into(), taken_s: 0 }).unwrap();
            journal.add_to(number, &change(&format!("/{number}")), &Before::Absent).unwrap();
        }
        journal.add_to(1, &change("/late"), &Before::Absent).unwrap();
        journal.end_step(2).unwrap();
        let record = journal.record().unwrap().unwrap();
        assert_eq!(record.owners, [1, 3, 1]);
        assert_eq!(record.steps.iter().map(|step| step.number).collect::<Vec<_>>(), [1, 3]);
        assert_eq!((record.of_step(1).len(), record.of_step(2).len()), (2, 0));
        assert_eq!(journal.compact(|change| change.command().ends_with("/1")).unwrap(), 2);
        let record = journal.record().unwrap().unwrap();
        assert_eq!((record.owners, record.steps.len()), (vec![3, 1], 2));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn second_process_is_refused() {
        let folder = folder("lock");
        let _journal = Journal::open(&folder).unwrap();
        assert!(matches!(Journal::open(&folder), Err(Error::Busy { pid: Some(pid) }) if pid == std::process::id()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn foreign_file_is_refused_and_one_of_another_boot_is_void() {
        for text in ["hello\n", "{\"Complete\":1}\n", "\"Complete\"\n"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let head = r#"{"Head":{"policy":"ta","pid":1,"started_s":1,"stays":true,"boot":"other","id":"1"}}"#;
        assert_eq!(parse(&format!("{head}\n")).unwrap(), None);
    }
}
