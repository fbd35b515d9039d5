//! The configuration of a server.

use std::time::Duration;

use e2::ControllerConfig;
use link::Address;

use super::{E42Config, LoopBalance, Rights};
use crate::Endpoint;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The endpoints on which E2 nodes connect. Default: `tcp://127.0.0.1:36421`, in PER.
    pub e2: Vec<Endpoint>,
    /// The address on which xApps connect; `None` for a RIC without xApps. Default: `tcp://127.0.0.1:36423`.
    pub xapp: Option<Address>,
    /// The E42 interface for FlexRIC's xApps. Default: none.
    pub e42: Option<E42Config>,
    /// The configuration of the controller machine: identity, limits and time-outs.
    pub controller: ControllerConfig,
    /// The configuration of the links. Those of xApps get a higher `max_pdu_octets`, since an envelope surrounds the
    /// PDU.
    pub link: link::Config,
    /// The tap of the links of xApps, in place of the one in `link`. Default: none.
    pub xapp_tap: Option<link::Tap>,
    /// Additional information about RAN functions that is sent to xApps. Default: none.
    pub hints: Vec<e2::xapp::FunctionHint>,
    /// The access rules. Default: everybody may connect and do everything.
    pub rights: Rights,
    /// The memory for PDUs of which a part has arrived, of all links together, in octets. A peer whose unfinished PDU exceeds
    /// what stays free of it is disconnected. `None`: an eighth of the memory that this process may use (the limit of its
    /// control group, or the physical memory), from 16 MiB to 1 GiB. Default: `None`.
    pub max_receive_octets: Option<usize>,
    /// The memory of the send queues of all links together, in octets. Reports of a peer whose queue exceeds what stays free
    /// of it are dropped; if a message that must not be dropped does not fit, the peer is disconnected. Default: `None`, as
    /// for `max_receive_octets`.
    pub max_send_octets: Option<usize>,
    /// The time limit for the rest of a PDU of which a part has arrived; the peer is disconnected. Default: 10 s.
    pub pdu_timeout: Duration,
    /// Whether IPsec protects the plain addresses beyond this host, so that there is no warning about them. Default: false.
    pub ipsec: bool,
    /// The most connections of nodes; further ones are rejected. One host has at most a share of each of these limits
    /// ([`ControllerConfig::max_host_percent`]), and an eighth is reserved for hosts that had a connection admitted and
    /// used before. With fewer file descriptors, the limits are reduced alike. Default: 8192.
    pub max_connections: usize,
    /// The most connections of xApps. Default: 1024.
    pub max_xapp_connections: usize,
    /// The most connections of FlexRIC's xApps. Default: 256.
    pub max_e42_connections: usize,
    /// File descriptors that are kept for what is not a connection of nodes or xApps: REST, Redis, files, event loops.
    /// Default: 256.
    pub other_files: u64,
    /// The most log lines per minute that all peers together may cause; further ones are suppressed and counted.
    /// Default: 6000.
    pub max_log_lines: u32,
    /// The most UEs in the RAN database; the one without an update for the longest time is removed for a new one.
    /// Default: 65536.
    pub max_ues: usize,
    /// The number of event loops, each with a thread: 1 to [`MAX_LOOPS`](super::MAX_LOOPS). Useful when one core is
    /// not enough. Default: 1.
    pub loops: usize,
    /// With several loops, a node moves to the loop of an xApp that receives its reports even if that loop has so many
    /// links more than the one with the fewest, since reports that cross loops cost more. Default: 1,048,576, so that only
    /// [`ServerConfig::balance`] has nodes move elsewhere.
    pub affinity_links: usize,
    /// With several loops: when nodes move away from a busy loop.
    pub balance: LoopBalance,
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
            max_receive_octets: None,
            max_send_octets: None,
            pdu_timeout: Duration::from_secs(10),
            ipsec: false,
            max_connections: 8192,
            max_xapp_connections: 1024,
            max_e42_connections: 256,
            other_files: 256,
            max_log_lines: 6000,
            max_ues: 65_536,
            loops: 1,
            affinity_links: 1 << 20,
            balance: LoopBalance::default(),
        }
    }
}

/// The default port for xApps.
pub const DEFAULT_XAPP_PORT: u16 = crate::DEFAULT_XAPP_PORT;

/// Returns the configuration of xApp links: an indication with the longest PDU fits, and so do all functions of a node
/// in one message.
pub(super) fn xapp_link(config: &ServerConfig) -> link::Config {
    let longest = config.link.max_pdu_octets.max(config.controller.max_function_octets);
    let max_pdu_octets = longest + crate::XAPP_OVERHEAD_OCTETS;
    link::Config { max_pdu_octets, tap: config.xapp_tap.clone(), ..config.link.clone() }
}
