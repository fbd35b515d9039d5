//! xApp management: registration, descriptors, configuration, and the processes of xApps on the host of the RIC.
//!
//! The REST interface is that of the reference platform's app manager, in so far as xApps and operators use it:
//!
//! | resource | |
//! |---|---|
//! | `GET /ric/v1/health/alive`, `GET /ric/v1/health/ready` | 200 |
//! | `POST /ric/v1/register`, `POST /ric/v1/deregister` | an xApp says where it is and which messages and policies it takes, or where that is to be read |
//! | `GET /ric/v1/xapps`, `GET /ric/v1/xapps/{name}`, `GET /ric/v1/xapps/{name}/instances/{instance}` | the xApps that are registered or were started |
//! | `GET /ric/v1/xapps/list` | the xApps that may be started |
//! | `POST /ric/v1/xapps`, `DELETE /ric/v1/xapps/{name}` | starts and stops one |
//! | `GET /ric/v1/xapps/{name}/log` | the end of its output; not one of the platform |
//! | `GET`, `PUT /ric/v1/xapps/{name}/log-level` | the level of its log, in the file that `CONFIG_MAP_NAME` names; not one of the platform |
//! | `GET /ric/v1/config`, `GET /ric/v1/config/{element}`, `PUT /ric/v1/config` | configurations; a change is validated and written to the file of the xApp |
//!
//! # Security
//! A process is started only if a file of the operator ([`Commands`]) has its command: REST selects among these commands, and cannot
//! add one. Without the file nothing is started. Processes run as the user of the RIC, without its environment.
//!
//! # Processes
//! Each has a process group, and a cgroup if limits are given and the RIC may create one. One that ends with a fault is started again
//! after a pause, which doubles from [`FIRST_PAUSE`] to [`LONGEST_PAUSE`], until it has ended too often in a row. One that has
//! answered RMR health checks and then does not, or says that it is not well, for [`UNWELL`] is started again. SIGTERM is followed by
//! SIGKILL after [`GRACE`]. All end with the RIC; if the RIC is killed, a shell that waits for its end kills them.
//!
//! # Bounds
//! [`MAX_XAPPS`] processes, [`MAX_REGISTRATIONS`] registrations of which a host has three quarters at most, descriptors of
//! [`MAX_DESCRIPTOR_OCTETS`]; of the output of each xApp the last octets are kept, and its rate is limited.

mod cgroup;
mod commands;
mod config_reader;
mod container;
mod descriptor;
mod documents;
mod guard;
mod output;
mod process;
mod registry;
mod routes;
mod supervisor;
mod xapp;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use log_lines::LogBudget;
use rest::{RequestQueue, Route, request_queue};

pub use cgroup::Limits;
pub use commands::{Commands, Permitted};
pub use descriptor::MAX_DESCRIPTOR_OCTETS;
pub use registry::MAX_REGISTRATIONS;
pub use xapp::{FIRST_PAUSE, GRACE, LONGEST_PAUSE, MAX_IN_A_ROW, UNWELL};

use crate::messaging::{Health, MessagingHandle, NamedXapp};
use supervisor::{Job, Supervisor};

/// The most xApps that are started.
pub const MAX_XAPPS: usize = 64;
/// How often processes are looked at.
const PERIOD: Duration = Duration::from_millis(100);
/// The same without processes.
const IDLE: Duration = Duration::from_secs(3600);

/// What management has of messaging.
pub trait Bus: Send {
    /// Replaces the records of route tables that registered xApps need.
    fn set_routes(&self, records: Vec<String>);
    /// Replaces the endpoints that are asked for their health.
    fn watch(&self, endpoints: Vec<String>);
    /// Replaces the xApps that rules of rights may name.
    fn set_named(&self, xapps: Vec<NamedXapp>);
    /// What an endpoint has answered last.
    fn health(&self, endpoint: &str) -> Option<Health>;
}

impl Bus for MessagingHandle {
    fn set_routes(&self, records: Vec<String>) {
        MessagingHandle::set_routes(self, records);
    }

    fn watch(&self, endpoints: Vec<String>) {
        MessagingHandle::watch(self, endpoints);
    }

    fn set_named(&self, xapps: Vec<NamedXapp>) {
        MessagingHandle::set_named(self, xapps);
    }

    fn health(&self, endpoint: &str) -> Option<Health> {
        MessagingHandle::health(self, endpoint)
    }
}

/// What management is started with.
pub struct ManagerConfig {
    /// The commands that may be started. Default: none, so that nothing is.
    pub commands: Option<Commands>,
    /// Messaging, if there is RMR.
    pub bus: Option<Box<dyn Bus>>,
    /// Where xApps on this host find RMR's route manager.
    pub rmr: Option<SocketAddr>,
    /// Lines about xApps.
    pub log: LogBudget,
    /// Learns when an xApp that was started has ended with a fault, and when it runs again or is stopped.
    pub faults: Option<FaultObserver>,
}

/// Gets the name of an xApp and why it does not run; `None`: it runs again, or shall not. Called on the thread of management.
pub type FaultObserver = Box<dyn Fn(&str, Option<&str>) + Send>;

/// Management of xApps. All processes end when it is dropped.
pub struct Manager {
    queue: RequestQueue<Job>,
    stop: Arc<AtomicBool>,
    wake: Arc<dyn Fn() + Send + Sync>,
    thread: Option<JoinHandle<()>>,
}

impl Manager {
    /// Starts management, and the xApps that start with it.
    ///
    /// # Errors
    /// If the folder for configurations cannot be created, or the system refuses a thread.
    pub fn start(config: ManagerConfig) -> io::Result<Self> {
        let (waker, waits) = sync_channel::<()>(1);
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
            // a wake-up that waits already is enough
            let _ = waker.try_send(());
        });
        let of_queue = Arc::clone(&wake);
        let (queue, requests) = request_queue::<Job>(move || of_queue());
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let mut supervisor = Supervisor::new(config, Arc::clone(&wake))?;
        let run = move || {
            supervisor.start_configured();
            while !is_stopped.load(Ordering::Acquire) {
                let period = if supervisor.has_processes() { PERIOD } else { IDLE };
                // a time-out is a look at the processes; the sender lives as long as the queue
                let _ = waits.recv_timeout(period);
                while let Some((job, reply)) = requests.try_next() {
                    job(&mut supervisor, reply);
                }
                supervisor.step();
            }
            supervisor.end();
        };
        let thread = std::thread::Builder::new().name("xapp-manager".to_owned()).spawn(run)?;
        Ok(Manager { queue, stop, wake, thread: Some(thread) })
    }

    /// The routes of the app manager.
    #[must_use]
    pub fn routes(&self) -> Vec<Route> {
        routes::all(&self.queue)
    }

    /// The routes by which operators start, list and stop xApps: a part of [`Manager::routes`].
    #[must_use]
    pub fn operator_routes(&self) -> Vec<Route> {
        routes::of_operators(&self.queue)
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").finish_non_exhaustive()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        (self.wake)();
        if let Some(thread) = self.thread.take() {
            // its panic has been reported
            let _ = thread.join();
        }
    }
}
