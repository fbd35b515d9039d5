//! The threads of a unit, by Table 1 of the paper.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};

use rustix::process::Pid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity};

use crate::Error;
use crate::priority::set_fifo;

/// What a thread of a unit does. The first four are real-time threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads the samples of the radio unit.
    RadioUnit,
    /// The rest of L1, and L2: decoding, scheduling, encoding.
    L1L2,
    /// The front end of the receiver.
    FrontEndReceive,
    /// The front end of the transmitter.
    FrontEndTransmit,
    /// GTP tunnels.
    Gtp,
    /// The UDP socket of the backhaul.
    Udp,
    /// S1AP messages.
    S1ap,
    /// The association with the MME.
    Sctp,
    /// RRC.
    Rrc,
}

impl Role {
    /// All roles, in the order of the paper's Table 1.
    pub const ALL: [Role; 9] = [
        Role::RadioUnit,
        Role::L1L2,
        Role::FrontEndReceive,
        Role::FrontEndTransmit,
        Role::Gtp,
        Role::Udp,
        Role::S1ap,
        Role::Sctp,
        Role::Rrc,
    ];

    /// The name of its thread.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::RadioUnit => "ru-thread",
            Role::L1L2 => "lte-softmodem",
            Role::FrontEndReceive => "fep_processing",
            Role::FrontEndTransmit => "feptx_thread",
            Role::Gtp => "TASK_GTPV1_U",
            Role::Udp => "TASK_UDP",
            Role::S1ap => "TASK_S1AP",
            Role::Sctp => "TASK_SCTP",
            Role::Rrc => "TASK_RRC",
        }
    }

    /// Its priority under SCHED_FIFO; `None` of threads without real-time requirement.
    #[must_use]
    pub fn fifo_priority(self) -> Option<i32> {
        match self {
            Role::RadioUnit => Some(53),
            Role::FrontEndReceive | Role::FrontEndTransmit => Some(52),
            Role::L1L2 => Some(51),
            _ => None,
        }
    }
}

/// The priority of what is no part of a unit, but of its surroundings: radio, UEs and core are other machines, which the load of this
/// one must not delay.
pub(crate) const OUTSIDE_PRIORITY: i32 = 60;

/// A running thread of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadStatus {
    /// What it does.
    pub role: Role,
    /// Its number.
    pub tid: u32,
    /// Whether it has SCHED_FIFO.
    pub is_fifo: bool,
}

impl ThreadStatus {
    /// The CPUs that it may use now. Empty if it has ended.
    #[must_use]
    pub fn cpus(&self) -> Vec<usize> {
        let Some(tid) = i32::try_from(self.tid).ok().and_then(Pid::from_raw) else { return Vec::new() };
        let Ok(set) = sched_getaffinity(Some(tid)) else { return Vec::new() };
        (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
    }
}

/// The threads of a unit and of its surroundings.
pub(crate) struct Threads {
    pub stop: Arc<AtomicBool>,
    handles: Vec<JoinHandle<()>>,
    pub started: Vec<ThreadStatus>,
    /// Why real-time threads have an ordinary priority.
    pub without_fifo: Option<io::Error>,
}

impl Threads {
    pub fn new() -> Self {
        Threads { stop: Arc::default(), handles: Vec::new(), started: Vec::new(), without_fifo: None }
    }

    /// Starts a thread of the unit.
    pub fn start(&mut self, role: Role, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let (tid, is_fifo) = self.spawn(role.name(), role.fifo_priority(), run)?;
        self.started.push(ThreadStatus { role, tid, is_fifo });
        Ok(())
    }

    /// Starts a thread of the surroundings.
    pub fn start_outside(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        self.spawn(name, Some(OUTSIDE_PRIORITY), run).map(drop)
    }

    fn spawn(
        &mut self,
        name: &str,
        priority: Option<i32>,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(u32, bool), Error> {
        let (to_us, started) = mpsc::channel();
        let thread = move || {
            let fifo = priority.map(set_fifo);
            // the other end waits for it
            let _ = to_us.send((gettid().as_raw_nonzero().get().unsigned_abs(), fifo));
            run();
        };
        self.handles.push(Builder::new().name(name.to_owned()).spawn(thread).map_err(Error::Thread)?);
        let (tid, fifo) = started.recv().map_err(|_| Error::Thread(io::Error::other("a thread has ended at once")))?;
        let is_fifo = matches!(fifo, Some(Ok(())));
        self.without_fifo = self.without_fifo.take().or(fifo.and_then(Result::err));
        Ok((tid, is_fifo))
    }

    /// Wakes what waits without a time limit.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.handles.iter().for_each(|handle| handle.thread().unpark());
        for handle in self.handles.drain(..) {
            if let Err(panic) = handle.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}
