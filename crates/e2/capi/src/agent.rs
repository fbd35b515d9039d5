//! An agent: an E2 node with its RAN functions and its connection to a near-RT RIC.

use std::ffi::{c_char, c_void};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::raw::c_int;
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use e2sm::common::PlmnIdentity;
use ferric::agent::{AgentLoopConfig, AgentWaker, NodeConfig, RanFunction, SendAgentLoop};
use ferric::e2ap::{GlobalE2NodeGnbId, GlobalE2NodeId, GlobalGnbId, GnbDuId, GnbId, Version};
use ferric::{Endpoint, StopHandle};
use tracing::{Dispatch, dispatcher, error};

use crate::handle::{InCallback, Table};
use crate::input::{result, structure, text};
use crate::log::{LogTarget, dispatch, ferric_log_function};
use crate::status::{
    FERRIC_ERROR_BUSY, FERRIC_ERROR_FORKED, FERRIC_ERROR_HANDLE, FERRIC_ERROR_STATE, Failure, ferric_error, guard,
    guard_real_time,
};

/// The configuration of an agent. Set it to zeros, then `size` and the rest.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_agent_config {
    /// sizeof(struct ferric_agent_config)
    pub size: u32,
    /// The PLMN: five or six digits, such as "00101".
    pub plmn: *const c_char,
    /// The address of the near-RT RIC: "sctp://10.0.0.1:36421", "tcp://127.0.0.1:36421", "unix:/run/e2", …
    pub ric: *const c_char,
    /// gNB ID.
    pub gnb_id: u32,
    /// The bits of the gNB ID, 22 to 32; 0 stands for 22.
    pub gnb_id_bits: u32,
    /// 1 if the node is a gNB-DU, else 0: a gNB.
    pub is_du: u32,
    /// gNB-DU ID, 36 bits.
    pub gnb_du_id: u64,
    /// The version of E2AP in hundredths: 100, 101, 203 or 301; 0 stands for 203.
    pub e2ap_version: u32,
    /// The least severe lines that are logged: FERRIC_LOG_…; 0 stands for FERRIC_LOG_INFO.
    pub log_level: u32,
    /// Takes log lines; NULL: nothing is logged.
    pub log: ferric_log_function,
    /// Passed to `log`.
    pub log_user: *mut c_void,
}

/// An agent.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ferric_agent {
    /// The number of the object; 0 is none.
    pub id: u64,
}

type Functions = Vec<Box<dyn RanFunction + Send>>;

/// An agent before its start.
struct Collecting {
    agents: SendAgentLoop,
    node: NodeConfig,
    ric: Endpoint,
    functions: Functions,
}

/// What happens to an agent's event loop.
enum Drive {
    /// Functions are added.
    Collecting(Box<Collecting>),
    /// The base station polls.
    Polled(Box<SendAgentLoop>),
    /// A thread of ours runs it.
    Running(JoinHandle<()>),
    /// It was started and has failed, or is being freed.
    Ended,
}

/// What any thread may read of an agent.
#[derive(Default)]
struct State {
    connected: AtomicU32,
    dropped: AtomicU64,
}

impl State {
    fn update(&self, agents: &SendAgentLoop) {
        self.connected.store(u32::try_from(agents.connected_controllers()).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.dropped.store(agents.dropped_reports(), Ordering::Relaxed);
    }
}

pub(crate) struct AgentObject {
    plmn_identity: PlmnIdentity,
    /// The process that created it: its thread and its connections are not those of a forked process.
    process: u32,
    waker: AgentWaker,
    stop: StopHandle,
    fd: c_int,
    log: Dispatch,
    state: Arc<State>,
    drive: Mutex<Drive>,
}

pub(crate) static AGENTS: Table<AgentObject> = Table::new(1);

impl AgentObject {
    pub fn plmn_identity(&self) -> PlmnIdentity {
        self.plmn_identity
    }

    pub fn waker(&self) -> AgentWaker {
        self.waker.clone()
    }

    /// Takes the loop, unless another thread polls it, or this one does: the call was made from a callback.
    fn drive(&self) -> Result<MutexGuard<'_, Drive>, Failure> {
        if self.process != process::id() {
            return Err(Failure::code(FERRIC_ERROR_FORKED));
        }
        InCallback::refuse()?;
        match self.drive.try_lock() {
            Ok(drive) => Ok(drive),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Failure::code(FERRIC_ERROR_BUSY)),
        }
    }

    /// Adds a RAN function before the start.
    pub fn add_function(&self, function: Box<dyn RanFunction + Send>) -> Result<(), Failure> {
        let mut drive = self.drive()?;
        let Drive::Collecting(agent) = &mut *drive else {
            return Err(Failure::new(FERRIC_ERROR_STATE, "the agent is started: add RAN functions before"));
        };
        let id = function.id();
        if agent.functions.iter().any(|other| other.id() == id) {
            return Err(Failure::argument("id", format_args!("the agent has a RAN function with id {} already", id.0)));
        }
        agent.functions.push(function);
        Ok(())
    }

    /// Connects the node: from now on its loop has something to do.
    fn connect(&self, drive: &mut Drive) -> Result<SendAgentLoop, Failure> {
        match mem::replace(drive, Drive::Ended) {
            Drive::Collecting(agent) if agent.functions.is_empty() => {
                *drive = Drive::Collecting(agent);
                Err(Failure::new(FERRIC_ERROR_STATE, "the agent has no RAN function: add one before the start"))
            }
            Drive::Collecting(agent) => {
                let Collecting { mut agents, node, ric, functions } = *agent;
                dispatcher::with_default(&self.log, || {
                    let node = agents.add_node(node, functions);
                    agents.add_controller(node, ric);
                });
                Ok(agents)
            }
            other => {
                *drive = other;
                Err(Failure::new(FERRIC_ERROR_STATE, "the agent is started already"))
            }
        }
    }
}

fn version(hundredths: u32) -> Result<Version, Failure> {
    match hundredths {
        100 => Ok(Version::V1_00),
        101 => Ok(Version::V1_01),
        0 | 203 => Ok(Version::V2_03),
        301 => Ok(Version::V3_01),
        other => Err(Failure::argument(
            "e2ap_version",
            format_args!("e2ap_version {other} is none of 100, 101, 203 and 301"),
        )),
    }
}

/// Creates an agent, which connects when it is started.
///
/// # Safety
/// `config` and `out` are valid, and so are the pointers in `config`; `log` and `log_user` may be used on the thread of the agent
/// until it is freed; `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_agent_new(
    config: *const ferric_agent_config,
    out: *mut ferric_agent,
    error: *mut ferric_error,
) -> i32 {
    let call = || {
        // SAFETY: the caller passes valid pointers
        let (config, out) = unsafe { (structure(config, "config")?, result(out, "out")?) };
        // SAFETY: the caller passes texts
        let (plmn, ric) = unsafe { (text(config.plmn, "config.plmn")?, text(config.ric, "config.ric")?) };
        let plmn_identity: PlmnIdentity =
            plmn.parse().map_err(|error| Failure::argument("plmn", format_args!("plmn {plmn:?}: {error}")))?;
        let ric: Endpoint =
            ric.parse().map_err(|error| Failure::argument("ric", format_args!("ric {ric:?}: {error}")))?;
        let bits = if config.gnb_id_bits == 0 { 22 } else { config.gnb_id_bits };
        if !(22..=32).contains(&bits) || u64::from(config.gnb_id) >> bits != 0 {
            let text = format_args!("gnb_id {} with {bits} bits: it has 22 to 32 bits", config.gnb_id);
            return Err(Failure::argument("gnb_id", text));
        }
        let gnb_du_id = match config.is_du {
            0 => None,
            1 if config.gnb_du_id >> 36 == 0 => Some(GnbDuId(config.gnb_du_id.cast_signed())),
            1 => {
                return Err(Failure::argument(
                    "gnb_du_id",
                    format_args!("gnb_du_id {} has more than 36 bits", config.gnb_du_id),
                ));
            }
            other => return Err(Failure::argument("is_du", format_args!("is_du {other} is neither 0 nor 1"))),
        };
        let id = GlobalE2NodeId::Gnb(GlobalE2NodeGnbId {
            global_gnb_id: GlobalGnbId { plmn_identity, gnb_id: GnbId::new(config.gnb_id, bits as u8) },
            global_en_gnb_id: None,
            gnb_cu_up_id: None,
            gnb_du_id,
        });
        let target = config.log.map(|function| LogTarget { function, user: config.log_user });
        let log = dispatch(target, config.log_level)?;
        let loop_config = AgentLoopConfig { version: version(config.e2ap_version)?, ..AgentLoopConfig::default() };
        let mut agents = SendAgentLoop::new_send(loop_config).map_err(Failure::system)?;
        let object = AgentObject {
            plmn_identity,
            process: process::id(),
            waker: agents.waker().map_err(Failure::system)?,
            stop: agents.stop_handle(),
            fd: agents.as_raw_fd(),
            log,
            state: Arc::default(),
            drive: Mutex::new(Drive::Collecting(Box::new(Collecting {
                agents,
                node: NodeConfig::new(id),
                ric,
                functions: Vec::new(),
            }))),
        };
        *out = ferric_agent { id: AGENTS.insert(object)? };
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Starts an agent on a thread of its own.
///
/// # Safety
/// `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_agent_start(agent: ferric_agent, error: *mut ferric_error) -> i32 {
    let call = || {
        let agent = AGENTS.get(agent.id)?;
        let agent = &agent.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        let mut drive = agent.drive()?;
        let mut agents = agent.connect(&mut drive)?;
        let (stop, log, state) = (agent.stop.clone(), agent.log.clone(), Arc::clone(&agent.state));
        let run = move || {
            let _log = dispatcher::set_default(&log);
            while !stop.is_stopped() {
                if let Err(error) = agents.poll(None) {
                    error!(%error, "the agent ends: the system refuses to wait for events");
                    break;
                }
                state.update(&agents);
            }
            state.connected.store(0, Ordering::Relaxed);
        };
        let thread = std::thread::Builder::new().name("ferric-agent".into()).spawn(run).map_err(Failure::system)?;
        *drive = Drive::Running(thread);
        Ok(())
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Lets an agent work on the calling thread: waits for at most `timeout_ms` (0: not at all; negative: without limit), and
/// processes what is pending. The first call starts the agent. Nothing blocks but the wait.
///
/// # Safety
/// `error` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferric_agent_poll(agent: ferric_agent, timeout_ms: i32, error: *mut ferric_error) -> i32 {
    let call = || {
        let agent = AGENTS.get(agent.id)?;
        let agent = &agent.as_ref().ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.object;
        let mut drive = agent.drive()?;
        if let Drive::Collecting(_) = &*drive {
            *drive = Drive::Polled(Box::new(agent.connect(&mut drive)?));
        }
        let Drive::Polled(agents) = &mut *drive else {
            return Err(Failure::new(FERRIC_ERROR_STATE, "the agent runs on a thread of its own"));
        };
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let polled = dispatcher::with_default(&agent.log, || agents.poll(timeout));
        agent.state.update(agents);
        polled.map_err(Failure::system)
    };
    // SAFETY: the caller passes NULL or a valid pointer
    unsafe { guard(error, call) }
}

/// Returns the file descriptor on which a base station with its own event loop waits for input (poll(2), epoll(7)), together
/// with the time of ferric_agent_timeout_ms; -1 if there is no such agent. It belongs to the agent.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_agent_fd(agent: ferric_agent) -> c_int {
    let agent = AGENTS.get(agent.id);
    agent.ok().and_then(|agent| agent.as_ref().map(|entry| entry.object.fd)).unwrap_or(-1)
}

/// Returns how long a base station with its own event loop may wait before it calls ferric_agent_poll although the file
/// descriptor is not readable, in milliseconds, rounded up: 0 at once, -1 without limit.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_agent_timeout_ms(agent: ferric_agent) -> c_int {
    let Ok(agent) = AGENTS.get(agent.id) else { return -1 };
    let Some(entry) = agent.as_ref() else { return -1 };
    let Ok(drive) = entry.object.drive() else { return -1 };
    match &*drive {
        Drive::Collecting(_) => 0,
        Drive::Polled(agents) => agents.next_deadline().map_or(-1, |deadline| {
            let wait = deadline - agents.now();
            c_int::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(c_int::MAX)
        }),
        Drive::Running(_) | Drive::Ended => -1,
    }
}

/// Returns 1 while the E2 Setup with the RIC is in effect, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_agent_is_connected(agent: ferric_agent) -> c_int {
    let Ok(agent) = AGENTS.get(agent.id) else { return 0 };
    c_int::from(agent.as_ref().is_some_and(|entry| entry.object.state.connected.load(Ordering::Relaxed) > 0))
}

/// Returns the number of reports that were dropped because the RIC read too slowly.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_agent_dropped_reports(agent: ferric_agent) -> u64 {
    let Ok(agent) = AGENTS.get(agent.id) else { return 0 };
    agent.as_ref().map_or(0, |entry| entry.object.state.dropped.load(Ordering::Relaxed))
}

/// Ends an agent, waits for its thread, and frees it with its RAN functions. No callback runs once it returns. In a forked
/// process it only frees the handle.
#[unsafe(no_mangle)]
pub extern "C" fn ferric_agent_free(agent: ferric_agent) -> i32 {
    guard_real_time(|| {
        let object = AGENTS.remove(agent.id)?;
        if object.process != process::id() {
            // the connections belong to the other process, which would notice that they are closed
            mem::forget(object);
            return Ok(());
        }
        object.stop.stop();
        if let Drive::Running(thread) = object.drive.into_inner().unwrap_or_else(PoisonError::into_inner) {
            // its panic was logged
            let _ = thread.join();
        }
        Ok(())
    })
}
