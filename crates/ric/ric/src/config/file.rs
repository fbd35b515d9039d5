//! The configuration file: TOML with optional keys. An unknown key is an error that names the nearest known one.

#[cfg(feature = "oran")]
mod alarms;
#[cfg(feature = "a1")]
mod non_rt_ric;
#[cfg(feature = "peers")]
mod peers;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "rest")]
mod rest;
mod rights;
#[cfg(feature = "sdl")]
mod sdl;
#[cfg(test)]
mod tests;
#[cfg(feature = "otlp")]
mod traces;

#[cfg(any(feature = "conflicts", feature = "oran", feature = "slicing", feature = "tls"))]
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ferric::e2ap::{GlobalRicId, PlmnIdentity};
use ferric::link::Address;
#[cfg(feature = "tls")]
use ferric::link::TlsFiles;
use ferric::server::{DEFAULT_XAPP_PORT, ServerConfig};
use settings::reference::{Key, names, range};
use settings::{Document, Table, TableKeys};
use tracing::level_filters::LevelFilter;

#[cfg(feature = "tls")]
use super::reference::TLS_KEYS;
use super::reference::{FILE_KEYS, NODE_KEYS};
use super::{ConfigError, NodeConfig, RicConfig};

const FILE: TableKeys = TableKeys { name: "the file", keys: &names(&FILE_KEYS) };
const NODE: TableKeys = TableKeys { name: "[[node]]", keys: &names(&NODE_KEYS) };
#[cfg(feature = "tls")]
const TLS: TableKeys = TableKeys { name: "[tls]", keys: &names(&TLS_KEYS) };

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
        #[cfg(feature = "flexran")]
        {
            config.flexran = flexran(&file)?;
        }
        #[cfg(feature = "oran")]
        {
            config.oran = oran(&file)?;
            alarms::read(&file, &mut config.oran)?;
        }
        #[cfg(feature = "rest")]
        {
            config.rest = rest::server(&file)?;
            config.rest_files = rest::access_files(&file)?;
            config.rest_limits = rest::limits(&file)?;
        }
        #[cfg(feature = "conflicts")]
        {
            config.conflicts_file = file.text("conflicts", "a file")?.map(PathBuf::from);
            config.audit_file = file.text("audit", "a file")?.map(PathBuf::from);
        }
        #[cfg(feature = "slicing")]
        {
            config.rules_file = file.text("rest_rules", "a file")?.map(PathBuf::from);
            config.statistics_period =
                period(&file, &FILE_KEYS, "statistics_period_ms")?.unwrap_or(config.statistics_period);
            config.ue_ids_period = period(&file, &FILE_KEYS, "ue_ids_period_ms")?;
        }
        #[cfg(feature = "redis")]
        {
            config.redis = redis::config(&file)?;
        }
        #[cfg(feature = "sdl")]
        {
            sdl::read(&file, &mut config)?;
        }
        #[cfg(feature = "peers")]
        {
            config.peers = peers::config(&file)?;
        }
        #[cfg(feature = "a1")]
        {
            config.non_rt_ric = non_rt_ric::config(&file)?;
        }
        #[cfg(feature = "otlp")]
        {
            config.traces = traces::config(&file)?;
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
    let features: [(&'static str, &str, bool); 21] = [
        ("flexran", "flexran", cfg!(feature = "flexran")),
        ("flexran_period_ms", "flexran", cfg!(feature = "flexran")),
        ("rmr", "oran", cfg!(feature = "oran")),
        ("rmr_routes", "oran", cfg!(feature = "oran")),
        ("oran_rest", "oran", cfg!(feature = "oran")),
        ("xapp_commands", "oran", cfg!(feature = "oran")),
        ("alarms", "oran", cfg!(feature = "oran")),
        ("conflicts", "conflicts", cfg!(feature = "conflicts")),
        ("audit", "conflicts", cfg!(feature = "conflicts")),
        ("tls", "tls", cfg!(feature = "tls")),
        ("rest", "rest", cfg!(feature = "rest")),
        ("rest_access", "rest", cfg!(feature = "rest")),
        ("rest_limits", "rest", cfg!(feature = "rest")),
        ("rest_rules", "slicing", cfg!(feature = "slicing")),
        ("statistics_period_ms", "slicing", cfg!(feature = "slicing")),
        ("ue_ids_period_ms", "slicing", cfg!(feature = "slicing")),
        ("redis", "redis", cfg!(feature = "redis")),
        ("sdl", "sdl", cfg!(feature = "sdl")),
        ("peers", "peers", cfg!(feature = "peers")),
        ("traces", "otlp", cfg!(feature = "otlp")),
        ("non_rt_ric", "a1", cfg!(feature = "a1")),
    ];
    match features.into_iter().find(|(key, _, is_built)| !is_built && file.contains(key)) {
        Some((key, feature, _)) => {
            Err(file.invalid(key, format!("this program was built without the feature `{feature}`")))
        }
        None => Ok(()),
    }
}

/// Reads an integer within its declared range.
fn integer<T: TryFrom<i64>>(table: &Table<'_>, keys: &[Key], key: &'static str) -> Result<Option<T>, ConfigError> {
    table.integer(key, range(keys, key))
}

/// Reads a number of milliseconds within its declared range.
fn period(table: &Table<'_>, keys: &[Key], key: &'static str) -> Result<Option<Duration>, ConfigError> {
    Ok(integer(table, keys, key)?.map(Duration::from_millis))
}

/// Reads the keys of FlexRAN agents.
#[cfg(feature = "flexran")]
fn flexran(file: &Table<'_>) -> Result<crate::flexran::FlexRanConfig, ConfigError> {
    use crate::flexran::FlexRanConfig;
    let mut config = FlexRanConfig::default();
    if let Some(url) = file.text("flexran", "a URL")? {
        config.address = Some(FlexRanConfig::address(url).map_err(|reason| file.invalid("flexran", reason))?);
    }
    set(&mut config.period_ms, integer(file, &FILE_KEYS, "flexran_period_ms")?);
    Ok(config)
}

/// Reads the keys of xApps of the O-RAN reference platform.
#[cfg(feature = "oran")]
fn oran(file: &Table<'_>) -> Result<crate::oran_host::OranConfig, ConfigError> {
    use crate::oran_host::OranConfig;
    let mut config = OranConfig::default();
    if let Some(url) = file.text("rmr", "a URL")? {
        config.rmr = Some(OranConfig::rmr(url).map_err(|reason| file.invalid("rmr", reason))?);
    }
    for record in file.texts("rmr_routes", MAX_ENTRIES, "a record of a route table")?.unwrap_or_default() {
        let record = OranConfig::route(record).map_err(|reason| file.invalid("rmr_routes", reason))?;
        config.rmr_routes.push(record);
    }
    if let Some(address) = file.text("oran_rest", "an address and a port")? {
        let invalid =
            |_| file.invalid("oran_rest", format!("`{address}` is not an address and a port, such as 127.0.0.1:8088"));
        config.rest = Some(address.parse().map_err(invalid)?);
    }
    config.commands_file = file.text("xapp_commands", "a file")?.map(PathBuf::from);
    config.rights = rights::rmr_rights(file)?;
    Ok(config)
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
        controller.ric_id = GlobalRicId::new(plmn, integer(file, &FILE_KEYS, "ric_id")?.unwrap_or(1));
    }
    controller.version = file.parsed("e2ap", "an E2AP version")?.or(controller.version);
    set(&mut controller.node_takeover, file.parsed("node_takeover", "`always`, `same-host` or `dead-only`")?);
    set(&mut controller.max_nodes, integer(file, &FILE_KEYS, "max_nodes")?);
    set(&mut controller.max_host_percent, integer(file, &FILE_KEYS, "max_host_percent")?);
    set(&mut controller.max_setups_per_second, integer(file, &FILE_KEYS, "max_setups_per_second")?);
    set(&mut controller.max_octets_of_nodes, integer(file, &FILE_KEYS, "max_octets_of_nodes")?);
    set(&mut controller.setup_timeout, period(file, &FILE_KEYS, "setup_timeout_ms")?);
    set(&mut controller.subscription_timeout, period(file, &FILE_KEYS, "subscription_timeout_ms")?);
    set(&mut controller.delete_timeout, period(file, &FILE_KEYS, "delete_timeout_ms")?);
    set(&mut controller.control_timeout, period(file, &FILE_KEYS, "control_timeout_ms")?);
    set(&mut controller.modification_timeout, period(file, &FILE_KEYS, "modification_timeout_ms")?);
    set(&mut controller.query_timeout, period(file, &FILE_KEYS, "query_timeout_ms")?);
    set(&mut controller.answer_stray_indications, file.boolean("answer_stray_indications")?);
    set(&mut controller.strict_ie_order, file.boolean("strict_ie_order")?);
    set(&mut server.ipsec, file.boolean("ipsec")?);
    set(&mut server.loops, integer(file, &FILE_KEYS, "loops")?);
    set(&mut server.affinity_links, integer(file, &FILE_KEYS, "affinity_links")?);
    set(&mut server.max_log_lines, integer(file, &FILE_KEYS, "max_log_lines")?);
    set(&mut server.max_connections, integer(file, &FILE_KEYS, "max_connections")?);
    set(&mut server.max_xapp_connections, integer(file, &FILE_KEYS, "max_xapp_connections")?);
    set(&mut server.max_e42_connections, integer(file, &FILE_KEYS, "max_e42_connections")?);
    set(&mut server.link.max_pdu_octets, integer(file, &FILE_KEYS, "max_pdu_octets")?);
    set(&mut server.link.outbox_octets, integer(file, &FILE_KEYS, "outbox_octets")?);
    server.max_receive_octets = integer(file, &FILE_KEYS, "max_receive_octets")?;
    server.max_send_octets = integer(file, &FILE_KEYS, "max_send_octets")?;
    set(&mut server.pdu_timeout, period(file, &FILE_KEYS, "pdu_timeout_ms")?);
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
