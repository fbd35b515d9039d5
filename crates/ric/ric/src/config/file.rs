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

use ferric::e2ap::{GlobalRicId, PlmnIdentity};
use ferric::link::Address;
#[cfg(feature = "tls")]
use ferric::link::TlsFiles;
use ferric::server::{DEFAULT_XAPP_PORT, MAX_LOOPS, ServerConfig};
use settings::{Document, Table, TableKeys};
use tracing::level_filters::LevelFilter;

use super::{ConfigError, NodeConfig, RicConfig};

const FILE: TableKeys = TableKeys {
    name: "the file",
    keys: &[
        "e2",
        "xapp",
        "e42",
        "e42_version",
        "e42_functions",
        "rest",
        "rest_rules",
        "statistics_period_ms",
        "ue_ids_period_ms",
        "plmn",
        "ric_id",
        "e2ap",
        "loops",
        "affinity_links",
        "ipsec",
        "node_takeover",
        "max_nodes",
        "max_octets_of_nodes",
        "max_host_percent",
        "max_setups_per_second",
        "max_connections",
        "max_xapp_connections",
        "max_e42_connections",
        "max_log_lines",
        "log",
        "max_pdu_octets",
        "outbox_octets",
        "max_receive_octets",
        "max_send_octets",
        "pdu_timeout_ms",
        "setup_timeout_ms",
        "subscription_timeout_ms",
        "delete_timeout_ms",
        "control_timeout_ms",
        "answer_stray_indications",
        "strict_ie_order",
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

const LOG_LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

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
        let log = file.choice("log", &LOG_LEVELS)?;
        let mut config = RicConfig { server: server(&file)?, log, ..RicConfig::default() };
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
            config.ue_ids_period = period(&file, "ue_ids_period_ms")?;
        }
        #[cfg(feature = "redis")]
        {
            config.redis = redis::config(&file)?;
        }
        Ok(config)
    }
}

impl RicConfig {
    /// Returns the keys that differ between two texts of a configuration file and that a running RIC cannot apply: all but
    /// `log` and the rights.
    #[must_use]
    pub fn keys_for_restart(before: &str, after: &str) -> Vec<String> {
        let applied = ["log", "node_rights", "xapp_rights", "e42_rights"];
        settings::changed_keys(before, after).into_iter().filter(|key| !applied.contains(&&**key)).collect()
    }
}

/// Refuses the keys of features that the crate was built without.
fn refuse_missing_features(file: &Table<'_>) -> Result<(), ConfigError> {
    let features: [(&'static str, &str, bool); 7] = [
        ("tls", "tls", cfg!(feature = "tls")),
        ("rest", "rest", cfg!(feature = "rest")),
        ("rest_access", "rest", cfg!(feature = "rest")),
        ("rest_rules", "slicing", cfg!(feature = "slicing")),
        ("statistics_period_ms", "slicing", cfg!(feature = "slicing")),
        ("ue_ids_period_ms", "slicing", cfg!(feature = "slicing")),
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
    if let Some(functions) = rights::e42_functions(file)? {
        server.e42.get_or_insert_default().functions = functions;
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
    set(&mut controller.node_takeover, file.parsed("node_takeover", "`always`, `same-host` or `dead-only`")?);
    set(&mut controller.max_nodes, file.integer("max_nodes", 1..=1 << 20)?);
    set(&mut controller.max_host_percent, file.integer("max_host_percent", 1..=100)?);
    set(&mut controller.max_setups_per_second, file.integer("max_setups_per_second", 1..=1 << 20)?);
    set(&mut controller.max_octets_of_nodes, file.integer("max_octets_of_nodes", 1024..=1 << 40)?);
    set(&mut controller.setup_timeout, period(file, "setup_timeout_ms")?);
    set(&mut controller.subscription_timeout, period(file, "subscription_timeout_ms")?);
    set(&mut controller.delete_timeout, period(file, "delete_timeout_ms")?);
    set(&mut controller.control_timeout, period(file, "control_timeout_ms")?);
    set(&mut controller.answer_stray_indications, file.boolean("answer_stray_indications")?);
    set(&mut controller.strict_ie_order, file.boolean("strict_ie_order")?);
    set(&mut server.ipsec, file.boolean("ipsec")?);
    set(&mut server.loops, file.integer("loops", 1..=MAX_LOOPS as i64)?);
    set(&mut server.affinity_links, file.integer("affinity_links", 0..=1 << 20)?);
    set(&mut server.max_log_lines, file.integer("max_log_lines", 1..=1 << 20)?);
    set(&mut server.max_connections, file.integer("max_connections", 1..=1 << 20)?);
    set(&mut server.max_xapp_connections, file.integer("max_xapp_connections", 1..=1 << 20)?);
    set(&mut server.max_e42_connections, file.integer("max_e42_connections", 1..=1 << 20)?);
    set(&mut server.link.max_pdu_octets, file.integer("max_pdu_octets", 1024..=1 << 30)?);
    set(&mut server.link.outbox_octets, file.integer("outbox_octets", 4096..=1 << 30)?);
    server.max_receive_octets = file.integer("max_receive_octets", 65_536..=1 << 40)?;
    server.max_send_octets = file.integer("max_send_octets", 65_536..=1 << 40)?;
    set(&mut server.pdu_timeout, period(file, "pdu_timeout_ms")?);
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
