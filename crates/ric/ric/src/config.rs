//! The configuration file: TOML with optional keys. An unknown key is an error that names the nearest known one.

#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "rest")]
mod rest;
mod rights;
#[cfg(test)]
mod tests;

#[cfg(any(feature = "slicing", feature = "tls"))]
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use e2sm::kpm::Revision;
use ferric::e2ap::{GlobalRicId, PlmnIdentity};
use ferric::link::Address;
#[cfg(feature = "tls")]
use ferric::link::TlsFiles;
use ferric::server::{DEFAULT_XAPP_PORT, MAX_LOOPS, ServerConfig};
use settings::{Document, Table, TableKeys};

pub use settings::Error as ConfigError;

/// The configuration of a RIC. [`RicConfig::from_toml`] reads it from a file with these keys, all of them optional:
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

const FILE: TableKeys = TableKeys {
    name: "the file",
    keys: &[
        "e2",
        "xapp",
        "e42",
        "e42_version",
        "rest",
        "rest_rules",
        "statistics_period_ms",
        "plmn",
        "ric_id",
        "e2ap",
        "loops",
        "affinity_links",
        "max_nodes",
        "max_octets_of_nodes",
        "max_connections",
        "max_log_lines",
        "max_pdu_octets",
        "outbox_octets",
        "setup_timeout_ms",
        "subscription_timeout_ms",
        "delete_timeout_ms",
        "control_timeout_ms",
        "tls",
        "rest_access",
        "redis",
        "node_rights",
        "xapp_rights",
        "e42_rights",
        "node",
    ],
};
const NODE: TableKeys = TableKeys { name: "[[node]]", keys: &["id", "kpm", "e2ap"] };
#[cfg(feature = "tls")]
const TLS: TableKeys = TableKeys { name: "[tls]", keys: &["ca", "certificate", "key"] };

/// The most addresses of a kind.
const MAX_ADDRESSES: usize = 64;
/// The most tables of a kind, and elements of an array.
const MAX_ENTRIES: usize = 1 << 16;
/// The longest period and time-out, in milliseconds.
const MAX_MS: i64 = 3_600_000;

impl RicConfig {
    /// Reads the text of a configuration file. Absent keys have the values of [`RicConfig::default`].
    ///
    /// # Errors
    /// The first mistake, with its line.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let document = Document::parse(text)?;
        let file = document.root(&FILE)?;
        refuse_missing_features(&file)?;
        let mut config = RicConfig { server: server(&file)?, ..RicConfig::default() };
        for node in file.tables("node", &NODE, MAX_ENTRIES)? {
            let id = node.text("id", "the node's id")?.ok_or_else(|| node.missing("id", "the node's id, as logged"))?;
            if let Some(version) = node.parsed("e2ap", "an E2AP version")? {
                config.server.controller.node_versions.insert(id.to_owned(), version);
            }
            let kpm = node.parsed("kpm", "a revision of E2SM-KPM")?;
            config.nodes.push(NodeConfig { id: id.to_owned(), kpm });
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = file.table("tls", &TLS)? {
            let path = |key| tls.text(key, "a file")?.map(PathBuf::from).ok_or_else(|| tls.missing(key, "a PEM file"));
            config.tls = Some(TlsFiles { ca: path("ca")?, certificate: path("certificate")?, key: path("key")? });
        }
        #[cfg(feature = "rest")]
        {
            config.rest = rest::server(&file)?;
            config.rest_files = rest::access_files(&file)?;
        }
        #[cfg(feature = "slicing")]
        {
            config.rules_file = file.text("rest_rules", "a file")?.map(PathBuf::from);
            config.statistics_period = period(&file, "statistics_period_ms")?.unwrap_or(config.statistics_period);
        }
        #[cfg(feature = "redis")]
        {
            config.redis = redis::config(&file)?;
        }
        Ok(config)
    }
}

/// Refuses the keys of features that the crate was built without.
fn refuse_missing_features(file: &Table<'_>) -> Result<(), ConfigError> {
    let features: [(&'static str, &str, bool); 6] = [
        ("tls", "tls", cfg!(feature = "tls")),
        ("rest", "rest", cfg!(feature = "rest")),
        ("rest_access", "rest", cfg!(feature = "rest")),
        ("rest_rules", "slicing", cfg!(feature = "slicing")),
        ("statistics_period_ms", "slicing", cfg!(feature = "slicing")),
        ("redis", "redis", cfg!(feature = "redis")),
    ];
    match features.into_iter().find(|(key, _, is_built)| !is_built && file.contains(key)) {
        Some((key, feature, _)) => {
            Err(file.invalid(key, format!("this program was built without the feature `{feature}`")))
        }
        None => Ok(()),
    }
}

fn period(table: &Table<'_>, key: &'static str) -> Result<Option<Duration>, ConfigError> {
    Ok(table.integer(key, 1..=MAX_MS)?.map(Duration::from_millis))
}

/// Reads the keys of the server.
fn server(file: &Table<'_>) -> Result<ServerConfig, ConfigError> {
    let mut server = ServerConfig::default();
    if let Some(endpoints) = file.parsed_texts("e2", MAX_ADDRESSES, "a URL")? {
        server.e2 = endpoints;
    }
    if let Some(addresses) = file.parsed_texts("e42", MAX_ADDRESSES, "a URL")? {
        server.e42.get_or_insert_default().addresses = addresses;
    }
    if let Some(version) = file.parsed("e42_version", "1, 2 or 3")? {
        server.e42.get_or_insert_default().version = version;
    }
    if let Some(url) = file.text("xapp", "a URL")? {
        let address = Address::from_url(url, DEFAULT_XAPP_PORT);
        server.xapp = Some(address.map_err(|reason| file.invalid("xapp", reason.to_string()))?);
    }
    let controller = &mut server.controller;
    if file.contains("plmn") || file.contains("ric_id") {
        let plmn = match file.text("plmn", "five or six digits")? {
            None => PlmnIdentity::from_codes(1, 1, 2),
            Some(digits) => {
                let invalid = || file.invalid("plmn", format!("`{digits}` is not five or six digits"));
                plmn(digits).ok_or_else(invalid)?
            }
        };
        controller.ric_id = GlobalRicId::new(plmn, file.integer("ric_id", 0..=0xF_FFFF)?.unwrap_or(1));
    }
    controller.version = file.parsed("e2ap", "an E2AP version")?.or(controller.version);
    set(&mut controller.max_nodes, file.integer("max_nodes", 1..=1 << 20)?);
    set(&mut controller.max_octets_of_nodes, file.integer("max_octets_of_nodes", 1024..=1 << 40)?);
    set(&mut controller.setup_timeout, period(file, "setup_timeout_ms")?);
    set(&mut controller.subscription_timeout, period(file, "subscription_timeout_ms")?);
    set(&mut controller.delete_timeout, period(file, "delete_timeout_ms")?);
    set(&mut controller.control_timeout, period(file, "control_timeout_ms")?);
    set(&mut server.loops, file.integer("loops", 1..=MAX_LOOPS as i64)?);
    set(&mut server.affinity_links, file.integer("affinity_links", 0..=1 << 20)?);
    set(&mut server.max_log_lines, file.integer("max_log_lines", 1..=1 << 20)?);
    set(&mut server.max_connections, file.integer("max_connections", 1..=1 << 20)?);
    set(&mut server.link.max_pdu_octets, file.integer("max_pdu_octets", 1024..=1 << 30)?);
    set(&mut server.link.outbox_octets, file.integer("outbox_octets", 4096..=1 << 30)?);
    server.rights = rights::rights(file)?;
    if let Some(rights) = rights::e42_rights(file)? {
        server.e42.get_or_insert_default().without_certificate = Some(Arc::new(rights));
    }
    Ok(server)
}

fn set<T>(value: &mut T, configured: Option<T>) {
    if let Some(configured) = configured {
        *value = configured;
    }
}

/// Reads a mobile country code and a mobile network code.
fn plmn(digits: &str) -> Option<PlmnIdentity> {
    let is_number = matches!(digits.len(), 5 | 6) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number = |part: &str| part.parse::<u16>().ok();
    let (mcc, mnc) = (digits.get(..3).filter(|_| is_number)?, digits.get(3..)?);
    Some(PlmnIdentity::from_codes(number(mcc)?, number(mnc)?, mnc.len() as u8)) // 2 or 3 digits
}
