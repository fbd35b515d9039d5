//! The keys of the configuration file: what is read, `docs/configuration.md` and the default file are made from these declarations.

mod tables;
#[cfg(test)]
mod tests;

use ferric::server::MAX_LOOPS;
use settings::reference::{self, DefaultValue, Key, Section, Values};

pub(super) use tables::*;

use super::{ConfigError, RicConfig};

/// The longest period and time-out, in milliseconds.
pub(super) const MAX_MS: i64 = 3_600_000;

/// The tables of the file, in the order of the default file.
const SECTIONS: [Section; 14] = [
    Section { header: "", keys: &FILE_KEYS },
    Section { header: "[tls]", keys: &TLS_KEYS },
    Section { header: "[rest_access]", keys: &REST_ACCESS_KEYS },
    Section { header: "[rest_limits]", keys: &REST_LIMITS_KEYS },
    Section { header: "[redis]", keys: &REDIS_KEYS },
    Section { header: "[sdl]", keys: &SDL_KEYS },
    Section { header: "[peers]", keys: &PEERS_KEYS },
    Section { header: "[traces]", keys: &TRACES_KEYS },
    Section { header: "[alarms]", keys: &ALARMS_KEYS },
    Section { header: "[non_rt_ric]", keys: &NON_RT_RIC_KEYS },
    Section { header: "[[node_rights]]", keys: &NODE_RIGHTS_KEYS },
    Section { header: "[[xapp_rights]]", keys: &XAPP_RIGHTS_KEYS },
    Section { header: "[e42_rights]", keys: &E42_RIGHTS_KEYS },
    Section { header: "[[node]]", keys: &NODE_KEYS },
];

/// A mistake in what a default file shall set.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefaultFileError {
    /// No such key, or one of a table of which there may be several.
    UnknownKey(String),
    /// The file would not be valid.
    Invalid(ConfigError),
}

impl std::fmt::Display for DefaultFileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DefaultFileError::UnknownKey(key) => {
                write!(
                    f,
                    "`{key}` is not a key of the file or of a single table, such as `rest` or `rest_access.tokens`"
                )
            }
            DefaultFileError::Invalid(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DefaultFileError {}

impl RicConfig {
    /// Returns a configuration file that explains all keys. Those in `set`, with a value in TOML, are in force
    /// (`("rest", "\"127.0.0.1:8080\"")`); the others are comments.
    ///
    /// # Errors
    /// If a key is not known, or its value not valid.
    pub fn default_file(set: &[(&str, &str)]) -> Result<String, DefaultFileError> {
        let unknown = |key: &str| DefaultFileError::UnknownKey(key.to_owned());
        let text = reference::default_file(&SECTIONS, set).map_err(unknown)?;
        RicConfig::from_toml(&text).map_err(DefaultFileError::Invalid)?;
        Ok(text)
    }
}

const fn key(name: &'static str, values: Values, default: DefaultValue, meaning: &'static str) -> Key {
    Key { name, values, default, meaning }
}

const fn absent(meaning: &'static str, example: &'static str) -> DefaultValue {
    DefaultValue::Absent { meaning, example }
}

const fn required(example: &'static str) -> DefaultValue {
    DefaultValue::Required { example }
}

pub(super) const FILE_KEYS: [Key; 59] = [
    key(
        "e2",
        Values::Other("list of URLs, at most 64"),
        DefaultValue::Is("[\"tcp://127.0.0.1:36421\"]"),
        "the addresses for E2 nodes; with `+flat` after the scheme (`tcp+flat://…`), E2AP is in FlatBuffers",
    ),
    key("xapp", Values::Other("URL"), DefaultValue::Is("\"tcp://127.0.0.1:36423\""), "the address for xApps"),
    key(
        "e42",
        Values::Other("list of URLs, at most 64"),
        absent("none", "[\"e42+sctp://127.0.0.1:36422\"]"),
        "the addresses for FlexRIC's xApps: `e42+sctp://…`, `e42+tcp://…`, `e42+tls://…`; the default port is 36422",
    ),
    key(
        "e42_version",
        Values::Words(&["1", "2", "3"]),
        DefaultValue::Is("\"2\""),
        "the E2AP version that FlexRIC's xApps were built with",
    ),
    key(
        "e42_functions",
        Values::Other("list of RAN function ids, 1 to 65536 of them, or `[\"*\"]`"),
        DefaultValue::Is("[2, 3, 142, 143, 144, 145, 146, 147, 148]"),
        "the RAN functions that FlexRIC's xApps see: those that FlexRIC knows by default, since its xApps abort on others; `[\"*\"]` for all",
    ),
    key(
        "flexran",
        Values::Other("URL"),
        absent("none", "\"tcp://0.0.0.0:2210\""),
        "the address for [FlexRAN agents](flexran.md) of eNBs; the default port is 2210",
    ),
    key(
        "flexran_period_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("1000"),
        "the period of the statistics that FlexRAN agents are asked for",
    ),
    key(
        "rmr",
        Values::Other("URL"),
        absent("none", "\"tcp://0.0.0.0:4561\""),
        "the address for [xApps of the O-RAN reference platform](oran-xapps.md) over RMR; the default port is 4561",
    ),
    key(
        "rmr_routes",
        Values::Other("list of records"),
        absent("none", "[\"mse|30000|-1|127.0.0.1:4565\"]"),
        "records for the route tables of these xApps beside those of the RIC",
    ),
    key(
        "oran_rest",
        Values::Other("address and port"),
        absent("none", "\"127.0.0.1:8088\""),
        "the address of the REST interfaces that these xApps use: subscription manager, E2 manager, app manager; access is that of `rest`",
    ),
    key(
        "xapp_commands",
        Values::Other("path"),
        absent("nothing is started", "\"xapps.toml\""),
        "the file of [commands of these xApps](oran-xapps.md#management) that may be started",
    ),
    key(
        "rest",
        Values::Other("address and port"),
        absent("no REST", "\"127.0.0.1:8080\""),
        "the address of REST: [slicing](slicing-controller.md), [traffic control](traffic-controller.md)",
    ),
    key(
        "rest_rules",
        Values::Other("path"),
        absent("rules are not stored", "\"rules.json\""),
        "the file that stores the association rules",
    ),
    key(
        "conflicts",
        Values::Other("path"),
        absent("no rules", "\"conflicts.toml\""),
        "the file of [rules on conflicts between xApps](conflicts.md)",
    ),
    key(
        "audit",
        Values::Other("path"),
        absent("none", "\"audit.log\""),
        "the file of the [audit log](conflicts.md#audit-log) of controls, subscriptions and changes by REST",
    ),
    key(
        "statistics_period_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("1000"),
        "the reporting period of the statistics that REST offers",
    ),
    key(
        "ue_ids_period_ms",
        Values::Integer(1, MAX_MS),
        absent("nodes are not asked", "1000"),
        "the reporting period of the KPM reports (style 4, UEs of slices with SST 1) that `/v1/ues` takes the ids of UEs from, beside RRC notifications, MAC statistics and RC reports ([names of UEs](ues.md))",
    ),
    key("plmn", Values::Other("five or six digits"), DefaultValue::Is("\"00101\""), "the PLMN in the Global RIC ID"),
    key("ric_id", Values::Integer(0, 0xF_FFFF), DefaultValue::Is("1"), "the RIC ID in the Global RIC ID"),
    key(
        "e2ap",
        Values::Words(&["1.00", "1.01", "2.03", "3.01"]),
        absent("by the setup request", "\"2.03\""),
        "the E2AP version of all nodes, in place of the one that their setup requests imply",
    ),
    key(
        "loops",
        Values::Integer(1, MAX_LOOPS as i64),
        DefaultValue::Is("1"),
        "the number of event loops, each with a thread; one that takes more than 75 % of a core gives nodes to the one with the least load",
    ),
    key(
        "affinity_links",
        Values::Integer(0, 1 << 20),
        DefaultValue::Is("1048576"),
        "with several loops: how many more links than the others a loop may have, so that a node is on the loop of its xApp",
    ),
    key(
        "ipsec",
        Values::Boolean,
        DefaultValue::Is("false"),
        "IPsec protects the plain addresses beyond this host: no warning about them at the start",
    ),
    key(
        "node_takeover",
        Values::Words(&["always", "same-host", "dead-only"]),
        DefaultValue::Is("\"same-host\""),
        "whether a setup with the id of a connected node takes the node over: always, from the same address or certificate only, or never; a node whose connection has ended may set up from anywhere",
    ),
    key(
        "max_nodes",
        Values::Integer(1, 1 << 20),
        DefaultValue::Is("4096"),
        "the maximum number of nodes; further setups are refused with a time to wait of 60 s. An eighth is for nodes only that were connected before, or that `[[node]]` or `[[node_rights]]` names",
    ),
    key(
        "max_octets_of_nodes",
        Values::Integer(1 << 10, 1 << 40),
        DefaultValue::Is("268435456"),
        "the maximum octets of RAN functions and component configurations of all nodes together; beyond it, setups are refused",
    ),
    key(
        "max_host_percent",
        Values::Integer(1, 100),
        DefaultValue::Is("75"),
        "the share of `max_nodes` and of each limit of connections that one host may have (an IPv4 address, an IPv6 prefix of 64 bits, or this host over Unix sockets and shared memory)",
    ),
    key(
        "max_setups_per_second",
        Values::Integer(1, 1 << 20),
        DefaultValue::Is("200"),
        "the E2 setups of one host per second, beyond a burst of its share of `max_nodes`; further ones are refused with a time to wait of 5 s",
    ),
    key(
        "max_connections",
        Values::Integer(1, 1 << 20),
        DefaultValue::Is("8192"),
        "the maximum number of connections of nodes; further ones are closed. An eighth of it is for hosts only whose nodes or xApps were set up before",
    ),
    key("max_xapp_connections", Values::Integer(1, 1 << 20), DefaultValue::Is("1024"), "the same for xApps"),
    key("max_e42_connections", Values::Integer(1, 1 << 20), DefaultValue::Is("256"), "the same for FlexRIC's xApps"),
    key(
        "max_log_lines",
        Values::Integer(1, 1 << 20),
        DefaultValue::Is("6000"),
        "the maximum number of log lines per minute that all peers together cause; a host may use at most half of what the others left; a tenth more is kept for the loss of nodes; further lines are counted",
    ),
    key(
        "log",
        Values::Words(&["off", "error", "warn", "info", "debug", "trace"]),
        DefaultValue::Is("\"info\""),
        "the least severe level that is logged, unless `--log` is given",
    ),
    key(
        "max_pdu_octets",
        Values::Integer(1 << 10, 1 << 30),
        DefaultValue::Is("1048576"),
        "the longest PDU; a longer one closes its connection",
    ),
    key(
        "outbox_octets",
        Values::Integer(1 << 12, 1 << 30),
        DefaultValue::Is("4194304"),
        "the size of the send queue of a link; beyond it, the oldest reports are dropped",
    ),
    key(
        "max_receive_octets",
        Values::Integer(1 << 16, 1 << 40),
        absent("an eighth of the memory, 16 MiB to 1 GiB", "268435456"),
        "the memory for PDUs of which a part has arrived, of all links together; a peer whose part exceeds what stays free of it is disconnected",
    ),
    key(
        "max_send_octets",
        Values::Integer(1 << 16, 1 << 40),
        absent("an eighth of the memory, 16 MiB to 1 GiB", "268435456"),
        "the memory of the send queues of all links together; the oldest reports of a peer whose queue exceeds what stays free of it are dropped",
    ),
    key(
        "pdu_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("10000"),
        "the time limit for the rest of a PDU of which a part has arrived; then the connection is closed",
    ),
    key(
        "setup_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("10000"),
        "the time limit of the E2 setup, and of a TLS handshake",
    ),
    key(
        "subscription_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("5000"),
        "TRICEVENTcreate: the time limit of the answer to a subscription request",
    ),
    key(
        "delete_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("5000"),
        "TRICEVENTdelete: the time limit of the answer to a subscription delete request",
    ),
    key(
        "control_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("5000"),
        "TRICcontrol: the time limit of the answer to a control request",
    ),
    key(
        "modification_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("5000"),
        "TRICEVENTmodify: the time limit of the answer to a subscription modification request",
    ),
    key(
        "query_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("5000"),
        "TRICquery: the time limit of the answer to a query",
    ),
    key(
        "answer_stray_indications",
        Values::Boolean,
        DefaultValue::Is("false"),
        "whether RIC indications without an active subscription, before the setup, or malformed are answered by an Error Indication, which [aborts FlexRIC's agents](error-indications.md); otherwise they are dropped and counted",
    ),
    key(
        "strict_ie_order",
        Values::Boolean,
        DefaultValue::Is("false"),
        "whether messages of nodes whose IEs are out of order are refused (E2AP v03.01 10.3.6); otherwise they are accepted if nothing is missing or repeated, and the first one of each association is logged",
    ),
    key("tls", Values::Tables("table, below"), absent("none", ""), "the files for `tls://`"),
    key(
        "rest_access",
        Values::Tables("table, below"),
        absent("everyone, over HTTP, on a loopback address", ""),
        "the access to REST",
    ),
    key("rest_limits", Values::Tables("table, below"), absent("the defaults below", ""), "the bounds of REST"),
    key(
        "redis",
        Values::Tables("table, below"),
        absent("none", ""),
        "the Redis server that receives statistics of RLC and TC",
    ),
    key(
        "sdl",
        Values::Tables("table, below"),
        absent("none", ""),
        "the [shared data layer](oran-sdl.md) of xApps of the O-RAN reference platform",
    ),
    key(
        "peers",
        Values::Tables("table, below"),
        absent("none", ""),
        "the [other RICs](several-rics.md) that this one shares nodes with",
    ),
    key(
        "traces",
        Values::Tables("table, below"),
        absent("none", ""),
        "the OpenTelemetry collector that receives traces of indications",
    ),
    key(
        "alarms",
        Values::Tables("table, below"),
        absent("nowhere", ""),
        "where [alarms](oran-xapps.md#alarms) are forwarded to",
    ),
    key(
        "non_rt_ric",
        Values::Tables("table, below"),
        absent("none", ""),
        "the non-RT RIC that has [enrichment information](a1.md#enrichment-information) for xApps; it needs `rest`",
    ),
    key("node_rights", Values::Tables("tables, below"), absent("all nodes may connect", ""), "the rights of nodes"),
    key(
        "xapp_rights",
        Values::Tables("tables, below"),
        absent("all xApps may do everything", ""),
        "the rights of xApps",
    ),
    key(
        "e42_rights",
        Values::Tables("table, below"),
        absent("none", ""),
        "the rights of xApps over E42 without a certificate",
    ),
    key("node", Values::Tables("tables, below"), absent("none", ""), "facts about nodes"),
];
