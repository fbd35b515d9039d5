//! RICs that share nodes, found through a store.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ferric::e2::{NodePlacement, Placement, Time};
use ferric::e2ap::GlobalE2NodeId;
use ferric::link::Address;
use ferric::server::IappWaker;

use crate::StoreUrl;
use crate::beats::Beats;
use crate::members::{Members, RicAddresses};

/// The longest name of a RIC.
pub const MAX_NAME_OCTETS: usize = 64;

/// How a RIC finds the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeersConfig {
    /// The store that all of them use.
    pub url: StoreUrl,
    /// The name of this RIC among them, 1 to [`MAX_NAME_OCTETS`] octets without white space: one that it keeps when it is started
    /// again, since nodes are assigned by names.
    pub name: String,
    /// The address for nodes that others are to direct them to.
    pub address: SocketAddr,
    /// The address for xApps that the others tell theirs, over TCP, TLS or SCTP. Default: none.
    pub xapps: Option<Address>,
    /// The time after which a RIC that is silent is none of them any more. Default: 4 s.
    pub time_to_live: Duration,
}

impl PeersConfig {
    /// The defaults.
    #[must_use]
    pub fn new(url: StoreUrl, name: String, address: SocketAddr) -> Self {
        PeersConfig { url, name, address, xapps: None, time_to_live: Duration::from_secs(4) }
    }
}

/// Called with the name of a RIC that is gone.
pub type LossObserver = Box<dyn Fn(&str) + Send>;

/// The RICs that share nodes. They are found through a store, where each of them has a key that expires. While the store cannot be
/// reached, they are those that were there last, and nobody is waited for. The key is removed when this is dropped.
///
/// # Which RIC serves a node
/// Rendezvous hashing of the RIC's and the node's names ranks the RICs for each node; the first of them serves it. A RIC where
/// another node sets up refuses it and names the address of the first one (E2AP v03.01 8.3.1.3). A node that returns within 30 s
/// was not served there: its next RIC is the second one, and so on, until it is this one. So no node depends on how fast the loss of
/// a RIC is noticed, nor on the store.
pub struct Peers {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread, the event loop and the owner share.
pub(crate) struct Shared {
    members: Mutex<Members>,
    pub ended: Mutex<bool>,
    pub changed: Condvar,
}

impl Shared {
    pub fn members(&self) -> MutexGuard<'_, Members> {
        // it is consistent at any time
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits. Returns false as soon as the end was asked for.
    pub fn rest(&self, pause: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(ended, pause, |ended| !*ended);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Asks [`Peers`] for each setup.
struct PlaceNodes(Arc<Shared>);

impl fmt::Debug for PlaceNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlaceNodes").finish_non_exhaustive()
    }
}

impl NodePlacement for PlaceNodes {
    fn place(&self, now: Time, node: &GlobalE2NodeId) -> Placement {
        self.0.members().place(now, node)
    }
}

impl Peers {
    /// Announces this RIC, and follows the others on a thread of its own. The store need not be there yet. `waker` is called at each
    /// change, and then about once a second; `on_loss` with the name of each RIC that is gone, on that thread: they must not block.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(config: PeersConfig, waker: IappWaker, on_loss: Vec<LossObserver>) -> io::Result<Self> {
        let addresses = RicAddresses { nodes: config.address, xapps: config.xapps.clone() };
        let members = Mutex::new(Members::new(config.name.clone(), addresses));
        let shared = Arc::new(Shared { members, ended: Mutex::default(), changed: Condvar::new() });
        let beats = Beats::new(config, Arc::clone(&shared), waker, on_loss);
        let thread = std::thread::Builder::new().name("peers".to_owned()).spawn(move || beats.run())?;
        Ok(Peers { shared, thread: Some(thread) })
    }

    /// What a RIC asks where a node belongs.
    #[must_use]
    pub fn placement(&self) -> Box<dyn NodePlacement> {
        Box::new(PlaceNodes(Arc::clone(&self.shared)))
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// The names of the RICs that share nodes now, this one included.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.shared.members().names().map(str::to_owned).collect()
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peers").finish_non_exhaustive()
    }
}
