//! The configuration file: TOML, every key optional, an unknown one an error that names the nearest known one.

mod redis;
mod rest;
mod rights;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use e2sm::kpm::Revision;
use ferric::e2ap::{GlobalRicId, PlmnIdentity};
use ferric::link::{Address, TlsFiles};
use ferric::server::{DEFAULT_XAPP_PORT, MAX_LOOPS, ServerConfig};
use model_plugin::Model;
use serde::Deserialize;

use crate::traffic::RedisConfig;
use crate::{RestConfig, RestFiles, RuleFile};

/// A RIC's configuration. What a file may say of it ([`RicConfig::from_toml`]), every key optional:
///
/// ```toml
/// e2 = ["tcp://0.0.0.0:36421", "sctp://[::]:36421"]
/// xapp = "tcp://127.0.0.1:36423"
/// e42 = ["e42+sctp://0.0.0.0:36422"]   # where FlexRIC's xApps are awaited
/// e42_version = "2"             # by the E2AP that they were built with: 1, 2 or 3
/// rest = "127.0.0.1:8080"       # where REST is spoken; without it there is none
/// rest_rules = "rules.json"     # a file that keeps the rules of which UE belongs to which slice; without it they end with the RIC
/// statistics_period_ms = 1000   # from report to report of what REST tells
/// plmn = "00101"
/// ric_id = 1
/// e2ap = "2.03"                 # only where peers are to speak another version than their setup tells
/// loops = 1                     # event loops, each a thread
/// affinity_links = 16           # with several: how many links more a loop may get for a node to be with its xApp
/// max_nodes = 4096
/// max_octets_of_nodes = 268435456   # of functions and components, all nodes together
/// max_connections = 8192
/// max_log_lines = 6000          # that peers may cause in a minute
/// max_pdu_octets = 1048576
/// outbox_octets = 4194304
/// setup_timeout_ms = 10000
/// subscription_timeout_ms = 5000
/// delete_timeout_ms = 5000
/// control_timeout_ms = 5000
///
/// [tls]                         # for tls:// addresses: PEM files, found from where the program runs
/// ca = "pki/ca.pem"
/// certificate = "pki/ric.pem"
/// key = "pki/ric.key"
///
/// [rest_access]                 # who may speak REST; without it everybody, in the clear
/// certificate = "pki/rest.pem"  # with its key: HTTPS, and nothing else
/// key = "pki/rest.key"
/// client_ca = "pki/ca.pem"      # nobody without a certificate of these CAs
/// tokens = "rest.tokens"        # nobody without a token: a line each, `read TOKEN` or `write TOKEN`
///
/// [redis]                       # the statistics of RLC and TC are forwarded there, see docs/traffic-controller.md
/// url = "redis://127.0.0.1:6379"    # or rediss://, over TLS
/// ca = "pki/ca.pem"             # of rediss://; left out: the CAs of this host
/// certificate = "pki/ric.pem"   # where the server asks for one, with its key
/// key = "pki/ric.key"
/// password = "redis.password"   # a file that holds the password alone
/// period_ms = 100               # from report to report of each node
/// stream_length = 1000          # records that each stream keeps, about; 0: no streams
/// prefix = "ferric"             # channels and streams are called ferric:rlc and ferric:tc
/// queue_octets = 4194304        # reports that wait for Redis; beyond that the oldest make room
///
/// [[node_rights]]               # once there is one: no node without a certificate that one of them names
/// certificate = "gnb1.example"  # a name in it, or "sha256:" and its fingerprint
/// nodes = ["gnb-00101-e00"]     # which nodes it may be, as the log writes them; ["*"]: any
///
/// [[xapp_rights]]               # likewise for xApps
/// certificate = "kpm.example"
/// read = [{ nodes = ["*"], functions = ["1.3.6.1.4.1.53148.1.2.2.2"] }]      # by OID, or by id
/// control = [{ nodes = ["gnb-00101-e00"], functions = [3] }]                 # ["*"]: all functions
///
/// [e42_rights]                  # where there are xapp_rights: what xApps over E42 may do that show no certificate
/// read = [{ nodes = ["gnb-00101-e00"], functions = [142] }]
///
/// [[node]]
/// id = "gnb-00101-e00"          # as the log writes it
/// kpm = "2.01"                  # the revision of its KPM function, where what it registers misleads
/// e2ap = "3.01"                 # the version that it speaks: a v3 node's setup looks like v2.03's
/// ```
#[derive(Clone, Debug)]
pub struct RicConfig {
    /// What it listens on, its identity, patience and bounds.
    pub server: ServerConfig,
    /// The files for `tls://` addresses. Whoever runs the server loads them into `server.link.tls`.
    pub tls: Option<TlsFiles>,
    /// The REST interface, and the internal apps behind it. Default: none.
    pub rest: Option<RestConfig>,
    /// The files that say who may speak REST. Whoever binds the RIC loads them into [`RestConfig::access`].
    pub rest_files: RestFiles,
    /// The file that keeps REST's association rules. Whoever binds the RIC loads it into [`RicConfig::rules`].
    pub rules_file: Option<PathBuf>,
    /// REST's association rules, and the file that keeps them. Default: none, so that they end with the RIC.
    pub rules: Option<RuleFile>,
    /// Where the statistics of RLC and TC are forwarded to. None: nowhere.
    pub redis: Option<RedisConfig>,
    /// From report to report of what REST tells, where there is REST: at least a millisecond. Default: a second.
    pub statistics_period: Duration,
    /// What is known about single nodes.
    pub nodes: Vec<NodeConfig>,
    /// Service models that were loaded from shared objects; not a key of the file, since who may name code to run is who
    /// starts the program.
    pub models: Vec<Arc<Model>>,
}

impl Default for RicConfig {
    fn default() -> Self {
        RicConfig {
            server: ServerConfig::default(),
            tls: None,
            redis: None,
            rest: None,
            rest_files: RestFiles::default(),
            rules_file: None,
            rules: None,
            statistics_period: Duration::from_secs(1),
            nodes: Vec::new(),
            models: Vec::new(),
        }
    }
}

/// What is known about one node beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its identity, as the log writes it: `gnb-00101-e00`.
    pub id: String,
    /// The revision of its KPM function, whatever it registers.
    pub kpm: Option<Revision>,
}

/// A configuration file that cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// Not TOML, or a value of the wrong type.
    Syntax(String),
    /// A key that means nothing.
    UnknownKey {
        /// The key.
        key: String,
        /// The known one that comes nearest.
        nearest: Option<&'static str>,
    },
    /// A value that means nothing.
    BadValue {
        /// Of which key.
        key: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Syntax(why) => f.write_str(why.trim_end()),
            ConfigError::UnknownKey { key, nearest: Some(nearest) } => {
                write!(f, "unknown key `{key}`; did you mean `{nearest}`?")
            }
            ConfigError::UnknownKey { key, nearest: None } => {
                write!(f, "unknown key `{key}`; known are {}", KEYS.join(", "))
            }
            ConfigError::BadValue { key, why } => write!(f, "{key}: {why}"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// The keys of the file; [`File`] has a field for each.
const KEYS: &[&str] = &[
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
];
/// The keys of a `[[node]]`.
const NODE_KEYS: &[&str] = &["id", "kpm", "e2ap"];
/// The keys of `[tls]`.
const TLS_KEYS: &[&str] = &["ca", "certificate", "key"];

/// Numbers are read with their signs, and bounded after that.
#[derive(Deserialize)]
struct File {
    e2: Option<Vec<String>>,
    xapp: Option<String>,
    e42: Option<Vec<String>>,
    e42_version: Option<String>,
    rest: Option<String>,
    rest_rules: Option<PathBuf>,
    statistics_period_ms: Option<i64>,
    plmn: Option<String>,
    ric_id: Option<i64>,
    e2ap: Option<String>,
    loops: Option<i64>,
    affinity_links: Option<i64>,
    max_nodes: Option<i64>,
    max_octets_of_nodes: Option<i64>,
    max_connections: Option<i64>,
    max_log_lines: Option<i64>,
    max_pdu_octets: Option<i64>,
    outbox_octets: Option<i64>,
    setup_timeout_ms: Option<i64>,
    subscription_timeout_ms: Option<i64>,
    delete_timeout_ms: Option<i64>,
    control_timeout_ms: Option<i64>,
    tls: Option<FileTls>,
    rest_access: Option<rest::FileRestAccess>,
    redis: Option<redis::FileRedis>,
    node_rights: Option<Vec<rights::FileNodeRights>>,
    xapp_rights: Option<Vec<rights::FileXappRights>>,
    e42_rights: Option<rights::FileE42Rights>,
    #[serde(default)]
    node: Vec<FileNode>,
}

#[derive(Deserialize)]
struct FileTls {
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Deserialize)]
struct FileNode {
    id: String,
    kpm: Option<String>,
    e2ap: Option<String>,
}

impl RicConfig {
    /// Reads a configuration file's text. What it does not say stays as [`RicConfig::default`] has it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax(e.to_string()))?;
        check_keys(&table, KEYS)?;
        for (key, known) in
            [("node", NODE_KEYS), ("node_rights", rights::NODE_RIGHTS_KEYS), ("xapp_rights", rights::XAPP_RIGHTS_KEYS)]
        {
            check_tables(table.get(key), known)?;
        }
        for entry in table.get("xapp_rights").and_then(toml::Value::as_array).into_iter().flatten() {
            check_tables(entry.get("read"), rights::GRANT_KEYS)?;
            check_tables(entry.get("control"), rights::GRANT_KEYS)?;
        }
        if let Some(rights) = table.get("e42_rights").and_then(toml::Value::as_table) {
            check_keys(rights, rights::E42_RIGHTS_KEYS)?;
            check_tables(rights.get("read"), rights::GRANT_KEYS)?;
            check_tables(rights.get("control"), rights::GRANT_KEYS)?;
        }
        if let Some(tls) = table.get("tls").and_then(toml::Value::as_table) {
            check_keys(tls, TLS_KEYS)?;
        }
        if let Some(access) = table.get("rest_access").and_then(toml::Value::as_table) {
            check_keys(access, rest::KEYS)?;
        }
        if let Some(redis) = table.get("redis").and_then(toml::Value::as_table) {
            check_keys(redis, redis::KEYS)?;
        }
        let file: File = toml::from_str(text).map_err(|e| ConfigError::Syntax(e.to_string()))?;
        file.apply()
    }
}

/// The keys of each table in a list.
fn check_tables(list: Option<&toml::Value>, known: &'static [&'static str]) -> Result<(), ConfigError> {
    let tables = list.and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_table);
    tables.into_iter().try_for_each(|table| check_keys(table, known))
}

fn check_keys(table: &toml::Table, known: &'static [&'static str]) -> Result<(), ConfigError> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let near = known.iter().map(|k| (strsim::damerau_levenshtein(key, k), *k)).min();
            let nearest = near.filter(|(distance, _)| *distance <= 3).map(|(_, k)| k);
            Err(ConfigError::UnknownKey { key: key.clone(), nearest })
        }
    }
}

/// Reads a value, naming its key where it is none.
fn value<T: std::str::FromStr<Err: fmt::Display>>(key: &'static str, text: &str) -> Result<T, ConfigError> {
    text.parse().map_err(|why: T::Err| ConfigError::BadValue { key, why: why.to_string() })
}

fn bounded(key: &'static str, value: i64, lo: usize, hi: usize) -> Result<usize, ConfigError> {
    let bounded = usize::try_from(value).ok().filter(|value| (lo..=hi).contains(value));
    bounded.ok_or_else(|| ConfigError::BadValue { key, why: format!("{value} is not between {lo} and {hi}") })
}

impl File {
    fn apply(self) -> Result<RicConfig, ConfigError> {
        let mut config = RicConfig::default();
        let server = &mut config.server;
        if let Some(urls) = &self.e2 {
            server.e2 = urls.iter().map(|url| value("e2", url)).collect::<Result<_, _>>()?;
        }
        if let Some(urls) = &self.e42 {
            let addresses = urls.iter().map(|url| value("e42", url)).collect::<Result<_, _>>()?;
            server.e42.get_or_insert_default().addresses = addresses;
        }
        if let Some(version) = &self.e42_version {
            server.e42.get_or_insert_default().version = value("e42_version", version)?;
        }
        if let Some(url) = &self.xapp {
            let address = Address::from_url(url, DEFAULT_XAPP_PORT);
            server.xapp = Some(address.map_err(|why| ConfigError::BadValue { key: "xapp", why: why.to_string() })?);
        }
        if let Some(address) = &self.rest {
            let why = || format!("`{address}` is not an address and a port, such as 127.0.0.1:8080");
            let address = address.parse().map_err(|_| ConfigError::BadValue { key: "rest", why: why() })?;
            config.rest = Some(RestConfig::new(address));
        }
        config.rules_file = self.rest_rules;
        let server = &mut config.server;
        if self.plmn.is_some() || self.ric_id.is_some() {
            let plmn = self.plmn.as_deref().map_or(Ok(PlmnIdentity::from_codes(1, 1, 2)), plmn)?;
            let ric_id = bounded("ric_id", self.ric_id.unwrap_or(1), 0, 0xF_FFFF)?;
            server.controller.ric_id = GlobalRicId::new(plmn, ric_id as u32); // it fits
        }
        if let Some(version) = &self.e2ap {
            server.controller.version = Some(value("e2ap", version)?);
        }
        if let Some(count) = self.loops {
            server.loops = bounded("loops", count, 1, MAX_LOOPS)?;
        }
        if let Some(count) = self.affinity_links {
            server.affinity_links = bounded("affinity_links", count, 0, 1 << 20)?;
        }
        if let Some(count) = self.max_nodes {
            server.controller.max_nodes = bounded("max_nodes", count, 1, 1 << 20)?;
        }
        if let Some(octets) = self.max_octets_of_nodes {
            server.controller.max_octets_of_nodes = bounded("max_octets_of_nodes", octets, 1024, 1 << 40)?;
        }
        if let Some(count) = self.max_log_lines {
            // it fits
            server.max_log_lines = bounded("max_log_lines", count, 1, 1 << 20)? as u32;
        }
        if let Some(count) = self.max_connections {
            server.max_connections = bounded("max_connections", count, 1, 1 << 20)?;
        }
        if let Some(octets) = self.max_pdu_octets {
            server.link.max_pdu_octets = bounded("max_pdu_octets", octets, 1024, 1 << 30)?;
        }
        if let Some(octets) = self.outbox_octets {
            server.link.outbox_octets = bounded("outbox_octets", octets, 4096, 1 << 30)?;
        }
        let timeouts = [
            ("setup_timeout_ms", self.setup_timeout_ms, &mut server.controller.setup_timeout),
            ("subscription_timeout_ms", self.subscription_timeout_ms, &mut server.controller.subscription_timeout),
            ("delete_timeout_ms", self.delete_timeout_ms, &mut server.controller.delete_timeout),
            ("control_timeout_ms", self.control_timeout_ms, &mut server.controller.control_timeout),
        ];
        let period = ("statistics_period_ms", self.statistics_period_ms, &mut config.statistics_period);
        for (key, ms, place) in timeouts.into_iter().chain([period]) {
            if let Some(ms) = ms {
                *place = Duration::from_millis(bounded(key, ms, 1, 3_600_000)? as u64);
            }
        }
        if let Some(FileTls { ca, certificate, key }) = self.tls {
            config.tls = Some(TlsFiles { ca, certificate, key });
        }
        if let Some(access) = self.rest_access {
            config.rest_files = access.files()?;
        }
        config.redis = self.redis.map(redis::FileRedis::config).transpose()?;
        server.rights = rights::rights(self.node_rights, self.xapp_rights)?;
        if let Some(rights) = self.e42_rights {
            server.e42.get_or_insert_default().without_certificate = Some(Arc::new(rights.rights()?));
        }
        for node in self.node {
            if let Some(version) = node.e2ap.as_deref().map(|version| value("e2ap", version)).transpose()? {
                server.controller.node_versions.insert(node.id.clone(), version);
            }
            let kpm = node.kpm.as_deref().map(|kpm| value("kpm", kpm)).transpose()?;
            config.nodes.push(NodeConfig { id: node.id, kpm });
        }
        Ok(config)
    }
}

/// Five or six digits: mobile country code, mobile network code.
fn plmn(text: &str) -> Result<PlmnIdentity, ConfigError> {
    let not_digits = |_| ConfigError::BadValue { key: "plmn", why: format!("`{text}` is not five or six digits") };
    text.parse().map_err(not_digits)
}

#[cfg(test)]
mod tests {
    use ferric::e2ap::Version;

    use super::*;

    #[test]
    fn everything() {
        let config = RicConfig::from_toml(
            r#"
            e2 = ["tcp://127.0.0.1:1", "unix:/run/e2"]
            xapp = "tcp://[::1]:2"
            rest = "[::1]:0"
            rest_rules = "rules.json"
            plmn = "310410"
            ric_id = 0xABCDE
            e2ap = "3.01"
            loops = 2
            affinity_links = 3
            max_nodes = 2
            max_octets_of_nodes = 4096
            max_log_lines = 9
            max_pdu_octets = 2048
            control_timeout_ms = 10
            [[node]]
            id = "gnb-00101-e00"
            kpm = "2.01"
            e2ap = "3.01"
            "#,
        )
        .unwrap();
        assert_eq!(config.server.e2.len(), 2);
        assert_eq!(config.server.xapp.unwrap().to_string(), "tcp://[::1]:2");
        let of_port = RicConfig::from_toml("xapp = \"tcp://ric.example\"").unwrap().server.xapp;
        assert_eq!(of_port.unwrap().to_string(), "tcp://ric.example:36423");
        assert_eq!(config.rest.unwrap().address.to_string(), "[::1]:0");
        assert_eq!(config.rules_file.unwrap().to_str(), Some("rules.json"));
        assert_eq!(config.server.controller.ric_id.to_string(), "ric-310410-abcde");
        assert_eq!((config.server.loops, config.server.affinity_links), (2, 3));
        assert_eq!(config.server.controller.max_nodes, 2);
        assert_eq!((config.server.controller.max_octets_of_nodes, config.server.max_log_lines), (4096, 9));
        assert_eq!(config.server.controller.control_timeout, Duration::from_millis(10));
        assert_eq!(config.server.link.max_pdu_octets, 2048);
        assert_eq!(config.server.controller.node_versions["gnb-00101-e00"], Version::V3_01);
        assert_eq!(config.nodes, [NodeConfig { id: "gnb-00101-e00".into(), kpm: Some(Revision::V2_01) }]);
    }

    #[test]
    fn mistakes() {
        let says = |text: &str| RicConfig::from_toml(text).unwrap_err().to_string();
        assert_eq!(says("xap = 1"), "unknown key `xap`; did you mean `xapp`?");
        assert!(says("quantum = 1").contains("known are e2, xapp"));
        assert_eq!(says("[[node]]\nid = \"x\"\nkmp = \"2.01\""), "unknown key `kmp`; did you mean `kpm`?");
        assert!(says("xapp = \"http://x\"").starts_with("xapp: "));
        assert_eq!(
            says("rest = \"localhost\""),
            "rest: `localhost` is not an address and a port, such as 127.0.0.1:8080"
        );
        assert!(says("max_pdu_octets = 1").starts_with("max_pdu_octets: 1 is not between"));
        assert_eq!(says("loops = 0"), "loops: 0 is not between 1 and 64");
        assert_eq!(says("max_nodes = -1"), "max_nodes: -1 is not between 1 and 1048576");
        assert_eq!(says("ric_id = -1"), "ric_id: -1 is not between 0 and 1048575");
        assert_eq!(says("setup_timeout_ms = -5"), "setup_timeout_ms: -5 is not between 1 and 3600000");
        assert!(says("plmn = \"12\"").starts_with("plmn: `12` is not"));
        assert!(says("e2 = 7").contains("line 1"), "{}", says("e2 = 7"));
        assert!(says("e2 = [").contains("line 1"));
    }
}
