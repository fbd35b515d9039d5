//! What a server listens on, and how it behaves.

use e2::ControllerConfig;
use link::Address;

use super::{E42Config, Rights};
use crate::Endpoint;

/// What a server listens on and how it behaves.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where E2 nodes connect, and the encoding that is spoken there. Default: `tcp://127.0.0.1:36421`, in PER.
    pub e2: Vec<Endpoint>,
    /// Where xApps connect; without it there is no host for them. Default: `tcp://127.0.0.1:36423`.
    pub xapp: Option<Address>,
    /// Where FlexRIC's xApps connect; without it they do not. Default: nowhere.
    pub e42: Option<E42Config>,
    /// The controller's identity and timeout.
    pub controller: ControllerConfig,
    /// The links' bounds. What comes in the longest PDU fits the links of xApps, whose PDUs are a little longer.
    pub link: link::Config,
    /// Who looks on at the links of xApps, in place of the one in `link`. Default: nobody.
    pub xapp_tap: Option<link::Tap>,
    /// What xApps are told of nodes' functions beyond what the nodes tell. Default: nothing.
    pub hints: Vec<e2::xapp::FunctionHint>,
    /// Who may connect, and what each may do. Default: everybody everything.
    pub rights: Rights,
    /// Connections of either kind at a time; more are closed at once. Default: 8192.
    pub max_connections: usize,
    /// LogLimiter in the log that peers may cause in a minute, all of them together; the others are left out, and how many
    /// is told. Default: 6000.
    pub max_log_lines: u32,
    /// UEs that the RAN database keeps; the one that was not heard of for the longest makes room. Default: 65536.
    pub max_ues: usize,
    /// Event loops, each a thread: 1 to [`MAX_LOOPS`](super::MAX_LOOPS). More than one pays where one core is not
    /// enough. Default: 1.
    pub loops: usize,
    /// With several loops, a node goes to the loop of an xApp that takes its reports, even if that loop then has so many
    /// links more than the one with the fewest: what crosses from loop to loop costs more than what does not. Default: 16.
    pub affinity_links: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            e2: vec![Address::Tcp { host: "127.0.0.1".into(), port: link::DEFAULT_PORT }.into()],
            xapp: Some(Address::Tcp { host: "127.0.0.1".into(), port: DEFAULT_XAPP_PORT }),
            e42: None,
            controller: ControllerConfig::default(),
            link: link::Config::default(),
            xapp_tap: None,
            hints: Vec::new(),
            rights: Rights::default(),
            max_connections: 8192,
            max_log_lines: 6000,
            max_ues: 65_536,
            loops: 1,
            affinity_links: 16,
        }
    }
}

/// The port on which xApps are awaited.
pub const DEFAULT_XAPP_PORT: u16 = 36423;

/// The links of xApps: an indication of the longest PDU fits, and so do all functions of a node in one message.
pub(super) fn xapp_link(config: &ServerConfig) -> link::Config {
    let longest = config.link.max_pdu_octets.max(config.controller.max_function_octets);
    let max_pdu_octets = longest + crate::XAPP_OVERHEAD_OCTETS;
    link::Config { max_pdu_octets, tap: config.xapp_tap.clone(), ..config.link.clone() }
}
