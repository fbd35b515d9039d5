//! The configuration of agents and their nodes.

use std::time::Duration;

use e2::ControllerPath;
use e2ap::{E2NodeComponentConfigAdditionItem, GlobalE2NodeId, Version};

/// The configuration of an agent's event loop.
#[derive(Clone, Debug)]
pub struct AgentLoopConfig {
    /// The version of E2AP of nodes whose configuration names none. Default: v02.03.
    pub version: Version,
    /// The delay before the first reconnection. It doubles with each failure. Default: 1 s.
    pub retry_first: Duration,
    /// The longest delay before a reconnection. Default: 30 s.
    pub retry_last: Duration,
    /// The time within which a link must be established, and again the time within which the controller must answer
    /// the E2 Setup. Default: 5 s.
    pub setup_timeout: Duration,
    /// The configuration of the links. `sctp_ppid` is replaced by the identifier for the node's type:
    /// [`link::Ppid::E2_DU`] for a DU, [`link::Ppid::E2_UP`] for a CU-UP, [`link::Ppid::E2_CP`] for all others.
    pub link: link::Config,
}

impl Default for AgentLoopConfig {
    fn default() -> Self {
        AgentLoopConfig {
            version: Version::V2_03,
            retry_first: Duration::from_secs(1),
            retry_last: Duration::from_secs(30),
            setup_timeout: Duration::from_secs(5),
            link: link::Config::default(),
        }
    }
}

/// The configuration of a node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Its global id.
    pub id: GlobalE2NodeId,
    /// Its components: its interfaces and the setup messages that were exchanged on them. Default: none.
    pub components: Vec<E2NodeComponentConfigAdditionItem<'static>>,
    /// The version of E2AP. Default: [`AgentLoopConfig::version`].
    pub version: Option<Version>,
    /// The order of the IEs of its setup request, by their ids (see [`e2::AgentConfig::setup_order`]). Default: that of the
    /// specification.
    pub setup_order: Vec<u16>,
    /// If it is a virtual node, the controllers that it stems from. Default: empty.
    pub controller_path: ControllerPath,
    /// What it is, for the line in the log that it is up: `NR 40 MHz TDD, 3 UEs; KPM v3.00`. Default: empty.
    pub about: String,
}

impl NodeConfig {
    /// Creates the configuration of a node without components.
    #[must_use]
    pub fn new(id: GlobalE2NodeId) -> Self {
        NodeConfig {
            id,
            components: Vec::new(),
            version: None,
            setup_order: Vec::new(),
            controller_path: ControllerPath::default(),
            about: String::new(),
        }
    }
}
