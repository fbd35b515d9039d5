//! The loop: measure, decide, act.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::measure::{Meter, Names};
use super::steps::Steps;
use super::{Action, Cause, Decider, Entry, Kind, Settings, Step};
use crate::blame::Class;
use crate::change::{Change, Target};
use crate::threads::Thread;
use crate::{Controller, Cpus, Error, Host, Request};

/// How often the controller looks at what was measured.
const PERIOD: Duration = Duration::from_millis(10);
/// How often new threads, and new tasks of names that were moved, are looked for.
const FOLLOW_PERIOD: Duration = Duration::from_secs(1);

/// The threads that a step has changed are remembered up to so many; then those that have ended are left out.
const MAX_KNOWN: usize = 1024;

/// A step that is taken.
#[derive(Debug)]
struct Live {
    step: Step,
    /// Its number in the journal.
    number: u32,
    /// The threads that it has changed: one that has chosen other CPUs since is left alone.
    known: BTreeSet<(u32, u64)>,
}

/// The dynamic policy for one base station.
#[derive(Debug)]
pub struct Session {
    steps: Steps,
    decider: Decider,
    meter: Meter,
    live: Vec<Live>,
    started: Instant,
    followed: Instant,
}

impl Session {
    /// Starts to measure. Nothing is changed yet. The policy of the request does not matter.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no thread is selected; [`Error::Invalid`] if no CPU is left to everything else; [`Error::System`] and
    /// [`Error::Unsupported`] if waits cannot be blamed on anybody here.
    pub fn start(request: &Request, settings: Settings) -> Result<Session, Error> {
        let steps = Steps::new(request, Host::read()?)?;
        let meter = Meter::start(request, &settings)?;
        let decider = Decider::new(settings, steps.abilities(&meter.threads()));
        let now = Instant::now();
        Ok(Session { steps, decider, meter, live: Vec::new(), started: now, followed: now })
    }

    /// The base station's CPUs.
    #[must_use]
    pub fn cpus(&self) -> &Cpus {
        &self.steps.cpus
    }

    /// Measures, decides and acts once. Call it every 10 ms or so. Returns what was done.
    ///
    /// # Errors
    /// Those of the system; [`Error::Invalid`] if a CPU of the base station has gone offline; [`Error::NotFound`] if the base station has
    /// ended. [`Controller::restore`] then reverts everything.
    pub fn poll(&mut self, controller: &mut Controller) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        if self.followed.elapsed() >= FOLLOW_PERIOD {
            self.followed = Instant::now();
            self.follow(controller, &mut entries)?;
        }
        let mut names = Names::new();
        for live in &self.live {
            if let Step::Yield { name } | Step::Evict { name } = &live.step {
                names.entry(name.clone()).or_default().extend(&live.known);
            }
        }
        let observation = self.meter.observe(&self.steps, &names)?;
        let now_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let Some(decision) = self.decider.observe(now_ns, &observation) else { return Ok(entries) };
        let mut entry = Entry {
            at_s: 0.0,
            kind: Kind::Advice,
            step: None,
            changes: 0,
            reaction_ms: None,
            load: observation.load,
            others: observation.others,
            text: String::new(),
            cause: Some(decision.cause.clone()),
        };
        match decision.action {
            Action::Take(step) => self.take(controller, step, &decision.cause, &mut entry)?,
            Action::Return(step) => {
                if let Some(index) = self.live.iter().position(|live| live.step == step) {
                    let notes = controller.give_back(self.live[index].number)?;
                    self.live.remove(index);
                    entry.text = notes.join("; ");
                }
                (entry.kind, entry.step) = (Kind::Returned, Some(step));
            }
            Action::None => {
                if let Cause::Hurt { class, name, .. } = &decision.cause {
                    entry.text = advice(*class, name);
                }
            }
        }
        entry.at_s = self.started.elapsed().as_secs_f64();
        entries.push(entry);
        Ok(entries)
    }

    fn take(&mut self, controller: &mut Controller, step: Step, cause: &Cause, entry: &mut Entry) -> Result<(), Error> {
        let lost = self.lost();
        let threads = self.meter.threads();
        let changes = self.steps.changes(&step, &threads, &lost);
        entry.step = Some(step.clone());
        if matches!(&changes, Ok(changes) if changes.is_empty()) {
            let now_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.decider.miss(now_ns, &step);
            (entry.kind, entry.text) = (Kind::Refused, "nothing of that is left to change".into());
            return Ok(());
        }
        let taken = changes.and_then(|changes| {
            let taken = controller.take(&step.to_string(), &cause.to_string(), &changes)?;
            Ok((changes, taken))
        });
        match taken {
            Ok((changes, (number, notes))) => {
                entry.kind = Kind::Taken;
                entry.changes = changes.len();
                entry.text = notes.join("; ");
                if let Cause::Hurt { since_ns, .. } = cause {
                    entry.reaction_ms = Some(self.started.elapsed().as_secs_f64() * 1000.0 - *since_ns as f64 / 1e6);
                }
                let known = changes.iter().filter_map(target).collect();
                self.live.push(Live { step, number, known });
                Ok(())
            }
            // it was reverted, and is not tried again
            Err(error @ (Error::System { .. } | Error::Unsupported(_) | Error::Invalid(_))) => {
                self.decider.refuse(&step);
                (entry.kind, entry.text) = (Kind::Refused, error.to_string());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The CPUs that everybody else has lost.
    fn lost(&self) -> Cpus {
        let of_step = |live: &Live| match &live.step {
            Step::Shield { cpus } => Some(cpus.clone()),
            _ => None,
        };
        self.live.iter().filter_map(of_step).fold(Cpus::default(), |all, cpus| all.with(&cpus))
    }

    /// Looks for new threads of the base station, and for new tasks of the names that were moved.
    fn follow(&mut self, controller: &mut Controller, entries: &mut Vec<Entry>) -> Result<(), Error> {
        let online = crate::change::read(std::path::Path::new("/sys/devices/system/cpu/online"))?;
        let online: Cpus = online.parse().map_err(|error| Error::Unsupported(format!("cpu/online: {error}")))?;
        let offline = self.steps.cpus.without(&online);
        if !offline.is_empty() {
            return Err(Error::Invalid(format!(
                "CPUs {offline} of the base station have gone offline: start the policy anew"
            )));
        }
        self.meter.rescan()?;
        let threads = self.meter.threads();
        if threads.is_empty() {
            return Err(Error::NotFound("the base station has ended".into()));
        }
        let is_separate = self.live.iter().any(|live| live.step == Step::Separate);
        for live in &mut self.live {
            let is_followed = match live.step {
                Step::Confine => !is_separate,
                Step::Separate | Step::Yield { .. } | Step::Evict { .. } => true,
                _ => false,
            };
            if !is_followed {
                continue;
            }
            let mut changes = self.steps.changes(&live.step, &threads, &Cpus::default())?;
            if live.known.len() > MAX_KNOWN {
                live.known.retain(|(tid, _)| matches!(Thread::read(*tid, *tid), Ok(Some(_))));
            }
            changes.retain(|change| target(change).is_none_or(|target| live.known.insert(target)));
            if let Err(error) = controller.extend(live.number, &changes) {
                let text = format!("what was started since is left alone ({}): {error}", live.step);
                entries.push(plain(self.started.elapsed().as_secs_f64(), Kind::Note, text));
            }
        }
        Ok(())
    }
}

/// What the reader can do about a culprit that no step is left for.
fn advice(class: Class, name: &str) -> String {
    match class {
        Class::KernelThread if !name.starts_with("kworker/u") => {
            "a thread of the kernel that no mask moves: see whether what it serves is needed".into()
        }
        Class::Softirq if !name.starts_with("NET") => {
            "it is bound to its CPU: give the base station another one".into()
        }
        class => {
            let (knob, cost) = class.knob();
            format!("consider {knob}; cost: {cost}")
        }
    }
}

/// What identifies the thread of a change.
fn target(change: &Change) -> Option<(u32, u64)> {
    match change {
        Change::Affinity { thread: Target { tid, start, .. }, .. }
        | Change::Scheduling { thread: Target { tid, start, .. }, .. } => Some((*tid, *start)),
        _ => None,
    }
}

/// Holds the dynamic policy until `stop` is set, `end` is reached, or the base station has ended, and then restores everything. `each`
/// gets every entry of the log. The controller has begun its session, with a [`Watchdog`](crate::Watchdog) if this process can be killed.
///
/// # Errors
/// As of [`Session::start`] and [`Session::poll`], but for the end of the base station; what was changed is restored in any case.
pub fn run(
    controller: &mut Controller,
    request: &Request,
    settings: Settings,
    stop: &AtomicBool,
    end: Option<Instant>,
    each: &mut dyn FnMut(&Entry),
) -> Result<(), Error> {
    let (held, session) = match Session::start(request, settings) {
        Ok(mut session) => (hold(&mut session, controller, stop, end, each), Some(session)),
        Err(error) => (Err(error), None),
    };
    // before the programs are detached, which takes time
    let notes = controller.restore()?;
    let at_s = session.as_ref().map_or(0.0, |session| session.started.elapsed().as_secs_f64());
    let text = if notes.is_empty() { "restored".into() } else { format!("restored: {}", notes.join("; ")) };
    each(&plain(at_s, Kind::Restored, text));
    held
}

fn hold(
    session: &mut Session,
    controller: &mut Controller,
    stop: &AtomicBool,
    end: Option<Instant>,
    each: &mut dyn FnMut(&Entry),
) -> Result<(), Error> {
    controller.complete()?;
    let text = format!("holding dynamic: base station on CPUs {}; nothing is moved until it hurts", session.cpus());
    each(&plain(0.0, Kind::Started, text));
    while !stop.load(Ordering::Acquire) && end.is_none_or(|end| Instant::now() < end) {
        match session.poll(controller) {
            Ok(entries) => entries.iter().for_each(&mut *each),
            Err(Error::NotFound(reason)) => {
                each(&plain(session.started.elapsed().as_secs_f64(), Kind::Note, reason));
                break;
            }
            Err(error) => return Err(error),
        }
        sleep(PERIOD);
    }
    Ok(())
}

fn plain(at_s: f64, kind: Kind, text: String) -> Entry {
    Entry { at_s, kind, step: None, cause: None, changes: 0, reaction_ms: None, load: 0.0, others: 0.0, text }
}
