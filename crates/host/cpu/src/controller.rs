//! Makes changes, and restores what was before.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::change::{self, Before, Change, Effect};
use crate::journal::{Head, Journal, Record, StepHead};
use crate::{Error, journal};

/// How often the watchdog looks whether the lock is free.
const TICK: Duration = Duration::from_millis(20);

/// A journal of so many changes is shortened: most of the threads in it have ended.
const SHORTEN_AT: usize = 8192;

/// The one process that changes the host.
#[derive(Debug)]
pub struct Controller {
    journal: Journal,
    head: Option<Head>,
    /// How many changes the journal has, and at how many it is shortened next.
    length: usize,
    limit: usize,
    /// The number of the last step.
    last_step: u32,
    /// Whether nothing was changed in this session yet.
    is_first: bool,
}

/// What was not made or restored, for the reader: a sentence each.
pub type Notes = Vec<String>;

impl Controller {
    /// Takes the lock, and restores what a process has left that was killed while it applied or held a policy.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Applied`], those of the system.
    pub fn open(state: &Path) -> Result<(Controller, Notes), Error> {
        let mut journal = Journal::open(state)?;
        let notes = match journal.record()? {
            Some(record) if record.is_complete && record.head.stays => {
                return Err(Error::Applied { policy: record.head.policy });
            }
            Some(record) => {
                let mut notes =
                    vec![format!("process {} was killed: what it has changed is restored", record.head.pid)];
                notes.extend(restore(&mut journal, &record)?);
                notes
            }
            None => Vec::new(),
        };
        Ok((Controller { journal, head: None, length: 0, limit: SHORTEN_AT, last_step: 0, is_first: true }, notes))
    }

    /// Starts a session. `stays`: the policy outlives this process once it is complete.
    ///
    /// # Errors
    /// Those of the system.
    pub fn begin(&mut self, policy: &str, stays: bool) -> Result<Head, Error> {
        let head = self.journal.begin(policy, stays)?;
        self.head = Some(head.clone());
        Ok(head)
    }

    /// Makes changes, each after it is in the journal.
    ///
    /// # Errors
    /// The first failure; the changes before it are in the journal: [`Controller::restore`] reverts them.
    ///
    /// # Panics
    /// Without [`Controller::begin`].
    pub fn make(&mut self, changes: &[Change]) -> Result<Notes, Error> {
        let made = self.make_for(0, changes);
        self.is_first = false;
        made
    }

    /// Takes a step: makes changes that can be given back alone. Returns its number.
    ///
    /// # Errors
    /// The first failure, after what was changed until then is reverted.
    ///
    /// # Panics
    /// Without [`Controller::begin`].
    pub fn take(&mut self, what: &str, why: &str, changes: &[Change]) -> Result<(u32, Notes), Error> {
        self.last_step += 1;
        let number = self.last_step;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let head = StepHead { number, what: what.to_owned(), why: why.to_owned(), taken_s: now.as_secs() };
        self.journal.begin_step(&head)?;
        self.length += 1;
        match self.make_for(number, changes) {
            Ok(notes) => Ok((number, notes)),
            // what cannot be reverted either stays in the journal
            Err(error) => self.give_back(number).and(Err(error)),
        }
    }

    /// Makes further changes of a step that is taken: for what was started since.
    ///
    /// # Errors
    /// As of [`Controller::make`].
    ///
    /// # Panics
    /// Without [`Controller::begin`].
    pub fn extend(&mut self, step: u32, changes: &[Change]) -> Result<Notes, Error> {
        self.make_for(step, changes)
    }

    /// Gives a step back: reverts its changes. No later step may have changed the same things.
    ///
    /// # Errors
    /// The first failure, after everything else is reverted. The step remains in the journal.
    pub fn give_back(&mut self, step: u32) -> Result<Notes, Error> {
        let Some(record) = self.journal.record()? else { return Ok(Vec::new()) };
        let notes = revert(&record.of_step(step))?;
        self.journal.end_step(step).map(|()| notes)
    }

    fn make_for(&mut self, step: u32, changes: &[Change]) -> Result<Notes, Error> {
        assert!(self.head.is_some(), "changes are made within a session");
        let mut notes = Vec::new();
        for change in changes {
            let Some(before) = change.before()? else { continue };
            let is_made = change.is_made(&before);
            // A thread that had its CPUs before the session is in the journal too: else it would seem to have inherited them, as a
            // thread does that is started later.
            if is_made && !(self.is_first && matches!(change, Change::Affinity { .. })) {
                continue;
            }
            if self.length >= self.limit {
                self.length = self.journal.compact(|change| change.is_void())?;
                self.limit = SHORTEN_AT.max(2 * self.length);
            }
            match step {
                0 => self.journal.add(change, &before)?,
                step => self.journal.add_to(step, change, &before)?,
            }
            self.length += 1;
            if !is_made && let Effect::Refused(reason) = change.make()? {
                notes.push(reason);
            }
        }
        Ok(notes)
    }

    /// Notes that the policy is applied completely. One that stays is undone by [`undo`] only.
    ///
    /// # Errors
    /// Those of the system.
    pub fn complete(&mut self) -> Result<(), Error> {
        self.journal.complete()
    }

    /// Restores what was before the session.
    ///
    /// # Errors
    /// The first failure, after everything else is restored. The journal remains.
    pub fn restore(&mut self) -> Result<Notes, Error> {
        self.head = None;
        match self.journal.record()? {
            Some(record) => restore(&mut self.journal, &record),
            None => Ok(Vec::new()),
        }
    }
}

/// Restores what an applied policy has changed. `None` if none is applied.
///
/// # Errors
/// [`Error::Busy`] if a process holds it; those of the system, after everything else is restored.
pub fn undo(state: &Path) -> Result<Option<(Head, Notes)>, Error> {
    let mut journal = Journal::open(state)?;
    let Some(record) = journal.record()? else { return Ok(None) };
    let notes = restore(&mut journal, &record)?;
    Ok(Some((record.head, notes)))
}

fn restore(journal: &mut Journal, record: &Record) -> Result<Notes, Error> {
    let notes = revert(&record.changes)?;
    journal.clear().map(|()| notes)
}

/// Reverts changes, the last one first.
fn revert(changes: &[(Change, Before)]) -> Result<Notes, Error> {
    let mut notes = Vec::new();
    let mut failure;
    // what was started meanwhile is found by what is in force now
    match change::inherited(changes) {
        // one may end, or be another user's
        Ok(changes) => {
            failure = changes.iter().filter_map(|change| change.make().err()).fold(None, |_, error| Some(error));
        }
        Err(error) => failure = Some(error),
    }
    for (change, before) in changes.iter().rev() {
        match change.revert(before) {
            Ok(Effect::Done | Effect::Ended) => {}
            Ok(Effect::Refused(reason)) => notes.push(reason),
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(notes),
    }
}

/// A process that restores everything if this one is killed.
#[derive(Debug)]
pub struct Watchdog {
    /// Open as long as this process lives.
    pipe: Option<ChildStdin>,
    child: Child,
}

impl Watchdog {
    /// Starts the watchdog of a session: `program` with `arguments` calls [`watch`] with the session's id.
    ///
    /// # Errors
    /// [`Error::System`] if the program cannot be started.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<Watchdog, Error> {
        use std::os::unix::process::CommandExt;
        // a process group of its own, so that Ctrl-C does not reach it
        let mut command = Command::new(program);
        command.args(arguments).process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|source| Error::system(format!("start the watchdog {}", program.display()), "", source))?;
        Ok(Watchdog { pipe: child.stdin.take(), child })
    }

    /// The number of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Watchdog {
    /// Ends it: this process lives, and restores what it has to by itself.
    fn drop(&mut self) {
        // killed before the pipe is closed, so that it does not start to restore; it may be gone already
        drop(self.child.kill());
        drop(self.pipe.take());
        drop(self.child.wait());
    }
}

/// The watchdog: waits until `pipe` is closed by the end of the process that holds its other end, and then restores what the
/// session `id` has changed, unless that is complete and stays.
///
/// # Errors
/// Those of restoring.
pub fn watch(state: &Path, id: &str, pipe: &mut impl io::Read) -> Result<bool, Error> {
    // nothing is ever written to it
    let _ = io::copy(pipe, &mut io::sink());
    loop {
        match journal::peek(state)? {
            Some(record) if record.head.id == id && !(record.is_complete && record.head.stays) => {}
            _ => return Ok(false),
        }
        match Journal::open(state) {
            // another process has the lock: it restores
            Err(Error::Busy { .. }) => sleep(TICK),
            Err(error) => return Err(error),
            Ok(mut journal) => {
                let record = journal.record()?.filter(|record| record.head.id == id);
                let Some(record) = record else { return Ok(false) };
                return restore(&mut journal, &record).map(|_| true);
            }
        }
    }
}
