//! The CPUs of the unit over E2: its RAN function of the CPU model, and the manager that measures and moves its threads.
//!
//! The manager is a process, `ferric cpu`: the thread of the cell, which serves the RICs, has 1 ms for a slot, and a process that manages
//! CPUs never moves its own threads.

use std::cell::RefCell;
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use e2sm::cpu::{
    ControlMessage, CpuChoice, CpuNumber, Host, IndicationMessage, MAX_UNIT_NAME, Policy, Refusal, Setting, Thread,
    Unit, printable,
};
use ferric::e2::Time;
use program::LogLevel;
use ran_functions::cpu::exchange::{Answer, Request};
use ran_functions::cpu::{CpuConfig, CpuFunction, CpuSource, Progress, Refused};
use vbbu::{Counts, Role, ThreadStatus};

/// The program of the manager.
const PROGRAM: &str = "ferric-cpu";
/// Answers that wait for the cell's thread. It reads them in every slot.
const MAX_WAITING: usize = 16;
/// The manager restores what was before in this time.
const RESTORE_TIME: Duration = Duration::from_secs(10);

/// What the operator says of the unit's CPUs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The CPUs that policies give it. Default: those of `ferric cpu`.
    pub cpus: Option<String>,
    /// The folder of the journal.
    pub state: PathBuf,
    /// The number of the unit, which names it in reports.
    pub unit: u8,
    /// The severity of the manager's log lines. Default: that of `ferric cpu`.
    pub log: Option<LogLevel>,
}

/// The manager before the unit's threads are known. Its thread has an ordinary priority, as it is started before the calling thread
/// gets another one, and so has the process.
pub struct Prepared {
    name: String,
    threads: Sender<Vec<u32>>,
    child: Receiver<anyhow::Result<ChildStdin>>,
    answers: Receiver<Answered>,
    thread: JoinHandle<()>,
}

/// What the manager's pipe has.
enum Answered {
    Answer(Answer),
    /// The manager has ended; the reason.
    Ended(String),
}

impl Prepared {
    /// Starts the manager's thread.
    ///
    /// # Errors
    /// If there is no program `ferric-cpu`.
    pub fn new(options: Options) -> anyhow::Result<Prepared> {
        let program = program::find(PROGRAM).with_context(|| {
            format!(
                "--cpu takes the program {PROGRAM}, which is neither beside this one nor on the PATH: install it there"
            )
        })?;
        let (threads, numbers) = channel::<Vec<u32>>();
        let (to_unit, child) = channel();
        let (to_cell, answers) = sync_channel(MAX_WAITING);
        let name = format!("vbbu{}", options.unit);
        let run = move || {
            // the unit has not been started
            let Ok(numbers) = numbers.recv() else { return };
            match start(&program, &options, &numbers) {
                Ok((child, input)) => {
                    if to_unit.send(Ok(input)).is_ok() {
                        pass_on(child, &to_cell);
                    }
                }
                // the receiver waits for it
                Err(error) => drop(to_unit.send(Err(error))),
            }
        };
        let thread = Builder::new().name("cpu-manager".into()).spawn(run).context("cannot start a thread")?;
        Ok(Prepared { name, threads, child, answers, thread })
    }

    /// Starts the manager of these threads.
    ///
    /// # Errors
    /// If its process cannot be started.
    pub fn start(self, threads: &[ThreadStatus]) -> anyhow::Result<Manager> {
        let Prepared { name, threads: numbers, child, answers, thread } = self;
        let last_stage = threads.iter().find(|thread| thread.role == Role::FrontEndTransmit).map(|thread| thread.tid);
        // both ends live as long as the thread
        let _ = numbers.send(threads.iter().map(|thread| thread.tid).collect());
        let input = child.recv().context("the thread of the CPU manager has ended")??;
        let cpus = UnitCpus {
            name,
            last_stage,
            input: Some(input),
            answers,
            state: None,
            counts: Counts::default(),
            is_asked: false,
            is_changing: false,
            result: None,
            ended: None,
        };
        Ok(Manager { cpus: Rc::new(RefCell::new(cpus)), is_offered: false, thread })
    }
}

fn start(program: &Path, options: &Options, threads: &[u32]) -> anyhow::Result<(Child, ChildStdin)> {
    let mut command = Command::new(program);
    command.arg("--state").arg(&options.state).args(["manage", "--profile", "vbbu"]);
    for number in threads {
        command.args(["--pid", &number.to_string()]);
    }
    if let Some(cpus) = &options.cpus {
        command.args(["--cpus", cpus]);
    }
    if let Some(level) = options.log {
        command.args(["--log", level.name()]);
    }
    // a process group of its own, so that Ctrl-C reaches the unit only, which closes the pipe
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let input = child.stdin.take().context("the manager has no standard input")?;
    Ok((child, input))
}

/// Passes the manager's answers on until it ends.
fn pass_on(mut child: Child, to_cell: &SyncSender<Answered>) {
    let mut reason = String::new();
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        loop {
            match Answer::read(&mut output) {
                Ok(Some(answer)) => {
                    // the unit has ended: the pipe is closed
                    if to_cell.send(Answered::Answer(answer)).is_err() {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    reason = format!("its answer cannot be read: {error}; ");
                    // it restores everything when it cannot write
                    break;
                }
            }
        }
    }
    match child.wait() {
        Ok(status) => reason += &status.to_string(),
        Err(error) => reason += &error.to_string(),
    }
    // the unit may have ended
    let _ = to_cell.send(Answered::Ended(reason));
}

/// The manager of a unit's threads, and the unit's RAN function.
pub struct Manager {
    cpus: Rc<RefCell<UnitCpus>>,
    is_offered: bool,
    thread: JoinHandle<()>,
}

impl Manager {
    /// Takes what the manager has answered, and the unit's counters. To be called in every slot.
    ///
    /// # Errors
    /// If the manager has ended.
    pub fn update(&mut self, unit: &mut vbbu::Unit) -> anyhow::Result<()> {
        let mut cpus = self.cpus.borrow_mut();
        cpus.receive();
        if let Some(reason) = &cpus.ended {
            anyhow::bail!("`ferric cpu`, which manages the unit's CPUs, has ended: {reason}");
        }
        cpus.counts = unit.counts();
        // the function is offered once it has something to report
        if !self.is_offered && cpus.state.is_some() {
            self.is_offered = true;
            drop(cpus);
            let function = CpuFunction::new(Rc::clone(&self.cpus), CpuConfig::default());
            unit.add_function(Box::new(function)).context("cannot offer the CPUs over E2")?;
        }
        Ok(())
    }

    /// Ends the manager, which restores the CPUs of the unit's threads.
    ///
    /// # Errors
    /// If it does not end in 10 s.
    pub fn stop(self) -> anyhow::Result<()> {
        let mut cpus = self.cpus.borrow_mut();
        drop(cpus.input.take());
        let end = Instant::now() + RESTORE_TIME;
        while cpus.ended.is_none() {
            match cpus.answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(answered) => cpus.take(answered),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => anyhow::bail!(
                    "the manager of the unit's CPUs does not end in {} s; `ferric cpu status` shows what is changed",
                    RESTORE_TIME.as_secs()
                ),
            }
        }
        drop(cpus);
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread of the CPU manager has panicked"))
    }
}

/// The CPUs of the unit as the RAN function sees them.
struct UnitCpus {
    name: String,
    /// The thread that finishes subframes.
    last_stage: Option<u32>,
    input: Option<ChildStdin>,
    answers: Receiver<Answered>,
    /// The latest report of the manager.
    state: Option<Box<IndicationMessage<'static>>>,
    /// The unit's own counters.
    counts: Counts,
    /// Whether a request for reports is without an answer.
    is_asked: bool,
    /// Whether a change is being made.
    is_changing: bool,
    result: Option<Result<(), Refused>>,
    ended: Option<String>,
}

impl UnitCpus {
    /// Takes what the manager has sent, without waiting.
    fn receive(&mut self) {
        loop {
            match self.answers.try_recv() {
                Ok(answered) => self.take(answered),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.ended.get_or_insert_with(|| "its pipe is closed".into());
                    return;
                }
            }
        }
    }

    fn take(&mut self, answered: Answered) {
        match answered {
            Answered::Answer(Answer::Report(state)) => (self.state, self.is_asked) = (Some(state), false),
            Answered::Answer(Answer::Outcome(result)) => (self.result, self.is_changing) = (Some(result), false),
            Answered::Ended(reason) => self.ended = Some(reason),
        }
    }

    /// Sends a request: a few octets, of which at most two wait in the pipe.
    fn send(&mut self, request: &Request) -> Result<(), Refused> {
        let gone = || Refused::new(Refusal::Failed, "the manager of the unit's CPUs has ended");
        let input = self.input.as_mut().ok_or_else(gone)?;
        request
            .write(input)
            .map_err(|error| Refused::new(Refusal::Failed, format!("cannot reach the manager: {error}")))
    }

    fn change(&mut self, message: ControlMessage<'static>) -> Result<Progress, Refused> {
        if self.is_changing {
            return Err(Refused::new(Refusal::Busy, "another change is being made"));
        }
        self.send(&Request::Control(message))?;
        (self.is_changing, self.result) = (true, None);
        Ok(Progress::Started)
    }
}

impl CpuSource for UnitCpus {
    fn measured_us(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.measured_us)
    }

    fn host(&self) -> Host<'static> {
        self.state.as_ref().map(|state| state.host.clone()).unwrap_or_default()
    }

    fn unit(&self) -> Unit<'static> {
        let unit = self.state.as_ref().map(|state| state.unit.clone()).unwrap_or_default();
        Unit { name: printable(&self.name, MAX_UNIT_NAME), dl_nacks: Some(self.counts.nacks), ..unit }
    }

    /// A subframe that is missed, so that its downlink is answered with NACKs, is one of the thread that would have finished it.
    fn threads(&self, out: &mut Vec<Thread<'static>>) {
        let threads = self.state.iter().flat_map(|state| state.threads.iter());
        out.extend(threads.map(|thread| {
            let finishes = Some(thread.tid) == self.last_stage;
            Thread {
                subframes: finishes.then_some(self.counts.subframes),
                deadline_misses: finishes.then_some(self.counts.misses),
                ..thread.clone()
            }
        }));
    }

    fn apply(&mut self, policy: Policy, cpus: &[CpuNumber]) -> Result<Progress, Refused> {
        let cpus = Some(CpuChoice::List(cpus.to_vec().into()));
        self.change(ControlMessage::Apply(Setting { policy: Some(policy), cpus, valid_s: None }))
    }

    fn withdraw(&mut self) -> Result<Progress, Refused> {
        self.change(ControlMessage::Withdraw)
    }

    fn result(&mut self) -> Option<Result<(), Refused>> {
        self.receive();
        self.result.take()
    }

    fn advance(&mut self, _: Time) {
        self.receive();
        // the manager has not answered the request before
        if !self.is_asked {
            self.is_asked = self.send(&Request::Report).is_ok();
        }
    }
}
