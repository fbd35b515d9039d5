//! What is checked, and how long is waited.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use e2ap::Version;
use link::Address;

/// The peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A near-RT RIC that listens at this address.
    Ric(Address),
    /// An E2 node that connects to this address, at which this end listens.
    Node(Address),
}

/// The time limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Within which the peer answers a message. Default: 5 s.
    pub answer: Duration,
    /// Within which the peer begins a procedure of its own: a subscription of the RIC, a report of the node. Default: 5 s.
    pub action: Duration,
    /// Within which the peer gives up a procedure that this end does not answer. Default: 15 s.
    pub silence: Duration,
    /// Within which an E2 node connects, and connects again. Default: 60 s.
    pub connect: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            answer: Duration::from_secs(5),
            action: Duration::from_secs(5),
            silence: Duration::from_secs(15),
            connect: Duration::from_secs(60),
        }
    }
}

/// What an E2 node is asked to report. Its content belongs to a service model, which the node must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionContent {
    /// The RAN function.
    pub function: u16,
    /// The event trigger definition.
    pub event_trigger: Vec<u8>,
    /// The action definition.
    pub action_definition: Option<Vec<u8>>,
}

/// A control that an E2 node executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlContent {
    /// The RAN function.
    pub function: u16,
    /// The header.
    pub header: Vec<u8>,
    /// The message.
    pub message: Vec<u8>,
}

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The peer.
    pub target: Target,
    /// The versions of E2AP. A RIC is checked in each; an E2 node has one, so that the first counts.
    pub versions: Vec<Version>,
    /// The checks to run, by their ids; empty: all.
    pub only: Vec<String>,
    /// Whether malformed octets are sent. Default: no.
    pub hostile: bool,
    /// The time limits.
    pub timeouts: Timeouts,
    /// The folder for the recordings; `None`: nothing is recorded. Default: `None`.
    pub recordings: Option<PathBuf>,
    /// The configuration of the link: TLS. The default is that of `link`.
    pub link: link::Config,
    /// The gNB id of this end as an E2 node in v01.00; v01.01, v02.03 and v03.01 have the next ones, since a RIC may have to be told
    /// the version of a node by its id. The network is 001.01. Default: 0xc0f0.
    pub gnb_id: u32,
    /// What an E2 node is asked to report. Default: `None`, which takes the node's E2SM-KPM function.
    pub subscription: Option<SubscriptionContent>,
    /// A control that an E2 node executes. Default: `None`.
    pub control: Option<ControlContent>,
    /// A subscription with an insert action, whose event occurs by itself. Default: `None`.
    pub insert: Option<SubscriptionContent>,
}

impl Config {
    /// Returns the defaults for a peer: v02.03, nothing recorded.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Config {
            target,
            versions: vec![Version::V2_03],
            only: Vec::new(),
            hostile: false,
            timeouts: Timeouts::default(),
            recordings: None,
            link: link::Config::default(),
            gnb_id: 0xc0f0,
            subscription: None,
            control: None,
            insert: None,
        }
    }
}

/// Why a run could not begin or continue.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A check of that name does not exist.
    UnknownCheck(String),
    /// The address cannot be listened at.
    Listen {
        /// The address.
        address: Address,
        /// The reason.
        source: link::Error,
    },
    /// A recording cannot be written.
    Recording {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The host refused a resource.
    System(std::io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownCheck(id) => write!(f, "there is no check `{id}` for this peer"),
            Error::Listen { address, source } => write!(f, "cannot listen at {address}: {source}"),
            Error::Recording { path, reason } => write!(f, "cannot write {}: {reason}", path.display()),
            Error::System(error) => write!(f, "cannot watch connections: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Listen { source, .. } => Some(source),
            Error::System(source) => Some(source),
            _ => None,
        }
    }
}
