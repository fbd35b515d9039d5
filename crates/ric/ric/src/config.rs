//! The configuration of a RIC, and its file.

#[cfg(feature = "file")]
mod file;

#[cfg(feature = "slicing")]
use std::path::PathBuf;
#[cfg(feature = "models")]
use std::sync::Arc;
#[cfg(feature = "slicing")]
use std::time::Duration;

use e2sm::kpm::Revision;
#[cfg(feature = "tls")]
use ferric::link::TlsFiles;
use ferric::server::ServerConfig;
#[cfg(feature = "file")]
pub use settings::Error as ConfigError;

/// The configuration of a RIC. `RicConfig::from_toml` (feature `file`) reads it from a file with these keys, all of them optional:
///
/// ```toml
/// e2 = ["tcp://0.0.0.0:36421", "sctp://[::]:36421"]
/// xapp = "tcp://127.0.0.1:36423"
/// e42 = ["e42+sctp://0.0.0.0:36422"]   # listens for FlexRIC's xApps
/// e42_version = "2"             # the E2AP version that they were built with: 1, 2 or 3
/// rest = "127.0.0.1:8080"       # the address of REST; without it there is none
/// rest_rules = "rules.json"     # stores the association rules; without it they are lost when the RIC stops
/// statistics_period_ms = 1000   # the reporting period of the statistics that REST offers
/// plmn = "00101"
/// ric_id = 1
/// e2ap = "2.03"                 # overrides the version that the setup of a peer indicates
/// loops = 1                     # event loops, one thread each
/// affinity_links = 16           # with several loops: additional links of a loop, so that a node shares the loop of its xApp
/// max_nodes = 4096
/// max_octets_of_nodes = 268435456   # of RAN functions and components, all nodes together
/// max_connections = 8192
/// max_log_lines = 6000          # caused by peers, per minute
/// max_pdu_octets = 1048576
/// outbox_octets = 4194304
/// setup_timeout_ms = 10000
/// subscription_timeout_ms = 5000
/// delete_timeout_ms = 5000
/// control_timeout_ms = 5000
///
/// [tls]                         # for tls:// addresses: PEM files, relative to the working directory
/// ca = "pki/ca.pem"
/// certificate = "pki/ric.pem"
/// key = "pki/ric.key"
///
/// [rest_access]                 # who may use REST; without it everyone, over HTTP
/// certificate = "pki/rest.pem"  # with its key: HTTPS only
/// key = "pki/rest.key"
/// client_ca = "pki/ca.pem"      # clients need a certificate of these CAs
/// tokens = "rest.tokens"        # requests need a token of this file; its lines are `read TOKEN` or `write TOKEN`
///
/// [redis]                       # receives the statistics of RLC and TC, see docs/traffic-controller.md
/// url = "redis://127.0.0.1:6379"    # or rediss://, over TLS
/// ca = "pki/ca.pem"             # for rediss://; default: the CAs of this host
/// certificate = "pki/ric.pem"   # if the server requires one, with its key
/// key = "pki/ric.key"
/// password = "redis.password"   # a file with the password and nothing else
/// period_ms = 100               # the reporting period of each node
/// stream_length = 1000          # approximate number of records per stream; 0: no streams
/// prefix = "ferric"             # the names of channels and streams are ferric:rlc and ferric:tc
/// queue_octets = 4194304        # reports that wait for Redis; beyond it the oldest are dropped
///
/// [[node_rights]]               # with at least one, a node needs a certificate that one of them names
/// certificate = "gnb1.example"  # a name in the certificate, or "sha256:" and its fingerprint
/// nodes = ["gnb-00101-e00"]     # the node ids that it may use, as logged; ["*"]: any
///
/// [[xapp_rights]]               # the same for xApps
/// certificate = "kpm.example"
/// read = [{ nodes = ["*"], functions = ["1.3.6.1.4.1.53148.1.2.2.2"] }]      # by OID, or by id
/// control = [{ nodes = ["gnb-00101-e00"], functions = [3] }]                 # ["*"]: all functions
///
/// [e42_rights]                  # with xapp_rights: the rights of xApps over E42 without a certificate
/// read = [{ nodes = ["gnb-00101-e00"], functions = [142] }]
///
/// [[node]]
/// id = "gnb-00101-e00"          # as logged
/// kpm = "2.01"                  # the revision of its KPM function, if its registration is misleading
/// e2ap = "3.01"                 # its E2AP version: the setup of v3 looks like that of v2.03
/// ```
#[derive(Clone, Debug)]
pub struct RicConfig {
    /// Addresses, identity, time-outs and bounds.
    pub server: ServerConfig,
    /// The files for `tls://` addresses. The program loads them into `server.link.tls`.
    #[cfg(feature = "tls")]
    pub tls: Option<TlsFiles>,
    /// The REST interface. Default: none.
    #[cfg(feature = "rest")]
    pub rest: Option<::rest::ServerConfig>,
    /// The files that define who may use REST. The program loads them into [`ServerConfig::access`](::rest::ServerConfig::access).
    #[cfg(feature = "rest")]
    pub rest_files: ::rest::AccessFiles,
    /// The file that stores the association rules. The program loads it into [`RicConfig::rules`].
    #[cfg(feature = "slicing")]
    pub rules_file: Option<PathBuf>,
    /// The association rules, and the file that stores them. Default: none; the rules are lost when the RIC stops.
    #[cfg(feature = "slicing")]
    pub rules: Option<slicing::RuleFile>,
    /// The Redis server that receives the statistics of RLC and TC. Default: none.
    #[cfg(feature = "redis")]
    pub redis: Option<traffic::RedisConfig>,
    /// The reporting period of the statistics that REST offers, at least a millisecond. Default: one second.
    #[cfg(feature = "slicing")]
    pub statistics_period: Duration,
    /// Facts about nodes.
    pub nodes: Vec<NodeConfig>,
    /// Service models from shared objects. The file has no key for them: only the user who starts the program may choose code
    /// to run.
    #[cfg(feature = "models")]
    pub models: Vec<Arc<model_plugin::Model>>,
}

#[cfg_attr(
    not(feature = "slicing"),
    allow(clippy::derivable_impls, reason = "the period of statistics has a default of its own")
)]
impl Default for RicConfig {
    fn default() -> Self {
        RicConfig {
            server: ServerConfig::default(),
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "redis")]
            redis: None,
            #[cfg(feature = "rest")]
            rest: None,
            #[cfg(feature = "rest")]
            rest_files: ::rest::AccessFiles::default(),
            #[cfg(feature = "slicing")]
            rules_file: None,
            #[cfg(feature = "slicing")]
            rules: None,
            #[cfg(feature = "slicing")]
            statistics_period: Duration::from_secs(1),
            nodes: Vec::new(),
            #[cfg(feature = "models")]
            models: Vec::new(),
        }
    }
}

/// Facts about one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its identity as logged: `gnb-00101-e00`.
    pub id: String,
    /// The revision of its KPM function, whatever it registers.
    pub kpm: Option<Revision>,
}
