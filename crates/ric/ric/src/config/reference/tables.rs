//! The keys of the tables.

use settings::reference::{DefaultValue, Key, Values};

use super::{MAX_MS, absent, key, required};

pub(in crate::config) const TLS_KEYS: [Key; 3] = [
    key(
        "ca",
        Values::Other("path"),
        required("\"pki/ca.pem\""),
        "PEM file of the CAs that sign the certificates of peers",
    ),
    key("certificate", Values::Other("path"), required("\"pki/ric.pem\""), "PEM file of the RIC's certificate"),
    key("key", Values::Other("path"), required("\"pki/ric.key\""), "PEM file of its private key"),
];

pub(in crate::config) const REST_ACCESS_KEYS: [Key; 4] = [
    key(
        "certificate",
        Values::Other("path"),
        absent("HTTP", "\"pki/ric.pem\""),
        "PEM file of the server certificate: HTTPS only; requires `key`",
    ),
    key("key", Values::Other("path"), absent("", "\"pki/ric.key\""), "PEM file of its private key"),
    key(
        "client_ca",
        Values::Other("path"),
        absent("no client certificates", "\"pki/ca.pem\""),
        "PEM file of CAs: requires client certificates of these CAs, and `certificate`",
    ),
    key(
        "tokens",
        Values::Other("path"),
        absent("no tokens", "\"rest.tokens\""),
        "file of bearer tokens, a role and a token in each line: `read TOKEN`, `control TOKEN` or `admin TOKEN`; requires a token",
    ),
];

pub(in crate::config) const REST_LIMITS_KEYS: [Key; 9] = [
    key("max_connections", Values::Integer(1, 1 << 12), DefaultValue::Is("128"), "the maximum number of connections"),
    key(
        "max_streams",
        Values::Integer(1, 1 << 12),
        DefaultValue::Is("64"),
        "the maximum number of streams of events and measurements",
    ),
    key(
        "max_stream_events",
        Values::Integer(1, 1 << 16),
        DefaultValue::Is("1024"),
        "the events that may wait for a slow reader, beside 1 MiB of them; beyond it, the oldest are dropped",
    ),
    key(
        "max_requests_per_second",
        Values::Integer(1, 1 << 20),
        DefaultValue::Is("2000"),
        "the rate of requests of one host, and of one token, beyond a burst of as many",
    ),
    key(
        "max_body_octets",
        Values::Integer(1 << 10, 1 << 30),
        DefaultValue::Is("1048576"),
        "the longest body of a request",
    ),
    key(
        "read_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("10000"),
        "the time for the head of a request, for its body, and for a TLS handshake; an idle connection is closed after it",
    ),
    key(
        "response_timeout_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("25000"),
        "the time for an answer; it must exceed the time limits of requests to nodes",
    ),
    key(
        "connection_lifetime_ms",
        Values::Integer(1, MAX_MS),
        DefaultValue::Is("300000"),
        "the age at which a connection is closed, after its current requests and streams",
    ),
    key(
        "stream_ping_ms",
        Values::Integer(100, MAX_MS),
        DefaultValue::Is("15000"),
        "the interval of pings to readers of streams; one that takes nothing during three of them is disconnected",
    ),
];

pub(in crate::config) const REDIS_KEYS: [Key; 9] = [
    key(
        "url",
        Values::Other("URL"),
        required("\"redis://127.0.0.1:6379\""),
        "`redis://USER:PASSWORD@HOST:PORT/DATABASE`, `rediss://…` over TLS, or `redis+unix:///PATH`",
    ),
    key(
        "ca",
        Values::Other("path"),
        absent("the CAs of this host", "\"pki/ca.pem\""),
        "PEM file of the CAs that sign the server certificate, for `rediss://`",
    ),
    key(
        "certificate",
        Values::Other("path"),
        absent("none", "\"pki/ric.pem\""),
        "PEM file of the client certificate, if the server requires one; requires `key`",
    ),
    key("key", Values::Other("path"), absent("", "\"pki/ric.key\""), "PEM file of its private key"),
    key(
        "password",
        Values::Other("path"),
        absent("none", "\"redis.password\""),
        "file that contains only the password",
    ),
    key("period_ms", Values::Integer(1, MAX_MS), DefaultValue::Is("100"), "the reporting period of each node"),
    key(
        "stream_length",
        Values::Integer(0, 10_000_000),
        DefaultValue::Is("1000"),
        "the approximate number of records in each stream; 0: no streams",
    ),
    key(
        "prefix",
        Values::Other("text of 1 to 128 octets"),
        DefaultValue::Is("\"ferric\""),
        "the first part of the names of channels and streams: `ferric:rlc`, `ferric:tc`",
    ),
    key(
        "queue_octets",
        Values::Integer(1 << 12, 1 << 30),
        DefaultValue::Is("4194304"),
        "the size of the queue for Redis; beyond it, the oldest reports are dropped and counted",
    ),
];

pub(in crate::config) const SDL_KEYS: [Key; 10] = [
    key(
        "url",
        Values::Other("URL, or list of at most 16"),
        required("\"tcp://127.0.0.1:6379\""),
        "where clients connect: `tcp://HOST:PORT`, `tls://HOST:PORT` with the files of `[tls]`, or `unix:PATH`; other than loopback addresses require `tokens` or certificates; or the [Redis server](oran-sdl.md#on-a-redis-server) that takes the place of the embedded store: `redis://…`, `redis+sentinel://…`, `redis+cluster://…`, with `rediss` over TLS",
    ),
    key(
        "file",
        Values::Other("path"),
        absent("in memory, lost at the end", "\"/var/lib/ferric/sdl.redb\""),
        "the file that keeps the store",
    ),
    key(
        "tokens",
        Values::Other("path"),
        absent("everybody may do everything", "\"sdl.tokens\""),
        "file of xApps, a line each: `NAME TOKEN RIGHT…`, or `NAME certificate:NAME RIGHT…`; a right is `read:NAMESPACE` or `write:NAMESPACE`",
    ),
    key(
        "require_certificate",
        Values::Boolean,
        DefaultValue::Is("false"),
        "whether each client of a `tls://` address must present a certificate that the CAs of `[tls]` have signed",
    ),
    key(
        "max_octets",
        Values::Integer(1 << 16, 1 << 40),
        DefaultValue::Is("268435456"),
        "the octets of all keys and values, with 128 for each key and 64 for each member of a group; beyond it, writes are refused",
    ),
    key(
        "max_namespace_percent",
        Values::Integer(1, 100),
        DefaultValue::Is("50"),
        "the share of `max_octets` that one namespace may have",
    ),
    key(
        "max_request_octets",
        Values::Integer(1 << 10, 1 << 30),
        DefaultValue::Is("8388608"),
        "the longest request, and the longest transaction; a longer request closes its connection",
    ),
    key(
        "max_queue_octets",
        Values::Integer(1 << 12, 1 << 30),
        DefaultValue::Is("8388608"),
        "the octets of replies and messages that wait until a client reads; a subscriber beyond it is disconnected",
    ),
    key(
        "max_buffer_octets",
        Values::Integer(1 << 16, 1 << 40),
        DefaultValue::Is("268435456"),
        "the octets of unfinished requests and of replies that wait, of all clients; one gets half of what the others leave",
    ),
    key("max_connections", Values::Integer(1, 1 << 16), DefaultValue::Is("256"), "the maximum number of connections"),
];

pub(in crate::config) const PEERS_KEYS: [Key; 4] = [
    key(
        "url",
        Values::Other("URL"),
        required("\"redis://127.0.0.1:6379\""),
        "the store through which the RICs find each other: a Redis server, `redis+sentinel://HOST:PORT,…/NAME` or `redis+cluster://HOST:PORT,…`, with `rediss` over TLS",
    ),
    key(
        "name",
        Values::Other("text of 1 to 64 octets"),
        absent("its address", "\"ric-1\""),
        "the name of this RIC among those that share nodes; nodes are assigned by names, so it should outlive a restart",
    ),
    key(
        "address",
        Values::Other("IP address and port"),
        absent("the first of `e2` that names an interface", "\"10.0.0.1:36421\""),
        "the address for nodes that the others direct nodes to",
    ),
    key(
        "time_to_live_ms",
        Values::Integer(400, 60_000),
        DefaultValue::Is("4000"),
        "the time after which a RIC that is silent is none of them any more",
    ),
];

pub(in crate::config) const TRACES_KEYS: [Key; 4] = [
    key(
        "url",
        Values::Other("URL"),
        required("\"http://127.0.0.1:4318\""),
        "the collector, which takes OTLP over HTTP in JSON at `/v1/traces`: `http://HOST:PORT` or `https://HOST:PORT`",
    ),
    key("one_in", Values::Integer(1, 1 << 30), DefaultValue::Is("1000"), "one indication in so many is traced"),
    key(
        "ca",
        Values::Other("path"),
        absent("none", "\"pki/ca.pem\""),
        "PEM file of the CA that signed the collector's certificate; required for https://",
    ),
    key(
        "token",
        Values::Other("path"),
        absent("none", "\"traces.token\""),
        "file with the bearer token that the collector requires",
    ),
];

pub(in crate::config) const NON_RT_RIC_KEYS: [Key; 4] = [
    key(
        "url",
        Values::Other("URL"),
        required("\"http://127.0.0.1:8083\""),
        "the non-RT RIC, before `/A1-EI/v1`: `http://HOST:PORT` or `https://HOST:PORT`",
    ),
    key(
        "callback",
        Values::Other("URL"),
        absent("the address of `rest`", "\"http://192.0.2.1:8080\""),
        "where the non-RT RIC and producers of information reach REST; required if `rest` is for all addresses",
    ),
    key(
        "ca",
        Values::Other("path"),
        absent("none", "\"pki/ca.pem\""),
        "PEM file of the CA that signed the non-RT RIC's certificate; required for https://",
    ),
    key(
        "token",
        Values::Other("path"),
        absent("none", "\"non-rt-ric.token\""),
        "file with the bearer token that the non-RT RIC requires",
    ),
];

pub(in crate::config) const NODE_RIGHTS_KEYS: [Key; 2] = [
    key(
        "certificate",
        Values::Other("text"),
        required("\"gnb1.example\""),
        "a name in the certificate, or `sha256:` and its fingerprint",
    ),
    key(
        "nodes",
        Values::Other("list of texts"),
        required("[\"*\"]"),
        "the node ids that it may use, as logged; `\"*\"`: any",
    ),
];

pub(in crate::config) const XAPP_RIGHTS_KEYS: [Key; 4] = [
    key(
        "certificate",
        Values::Other("text"),
        absent("required without `rmr`", "\"kpm.example\""),
        "a name in the certificate, or `sha256:` and its fingerprint",
    ),
    key(
        "rmr",
        Values::Other("text"),
        absent("none", "\"10.0.0.7:4560\""),
        "the [xApp over RMR](oran-xapps.md#rights) that has these rights: the IP address and port at which it receives, its IP address, or the name under which the RIC has started it or it has registered",
    ),
    key(
        "read",
        Values::Other("list of grants, below"),
        absent("none", "[{ nodes = [\"*\"], functions = [\"*\"] }]"),
        "functions that the xApp may subscribe to with REPORT actions, and query",
    ),
    key(
        "control",
        Values::Other("list of grants, below"),
        absent("none", "[{ nodes = [\"*\"], functions = [\"*\"] }]"),
        "functions that it may control; also for INSERT and POLICY actions",
    ),
];

pub(in crate::config) const E42_RIGHTS_KEYS: [Key; 2] = [
    key(
        "read",
        Values::Other("list of grants, below"),
        absent("none", "[{ nodes = [\"*\"], functions = [\"*\"] }]"),
        "as in `[[xapp_rights]]`",
    ),
    key(
        "control",
        Values::Other("list of grants, below"),
        absent("none", "[{ nodes = [\"*\"], functions = [\"*\"] }]"),
        "as in `[[xapp_rights]]`",
    ),
];

pub(in crate::config) const GRANT_KEYS: [Key; 6] = [
    key("nodes", Values::Other("list of texts"), required("[\"*\"]"), "node ids, as logged; `\"*\"`: all nodes"),
    key(
        "functions",
        Values::Other("list of texts and integers"),
        required("[\"*\"]"),
        "object identifiers (text) or RAN function ids (0 to 4095); `\"*\"`: all functions",
    ),
    key(
        "parameters",
        Values::Other("list of paths"),
        absent("all", "[\"rc/3/1\", \"slice/dl\"]"),
        "in `control`: what its controls, policies and inserts may set, as in [conflicts](conflicts.md#parameters): \
         `rc/STYLE/ACTION` with all below it; `*` is any part",
    ),
    key(
        "ues",
        Values::Other("list of UEs"),
        absent("all", "[\"amf:17\"]"),
        "the UEs, each by one of its identities ([UEs and parameters](tls.md#ues-and-parameters))",
    ),
    key("plmns", Values::Other("list of PLMNs"), absent("all", "[\"00101\"]"), "the networks of the UEs"),
    key(
        "slices",
        Values::Other("list of S-NSSAIs"),
        absent("all", "[\"1-00000a\"]"),
        "the slices of the UEs, of which a UE has one; one without an SD is all slices of its SST",
    ),
];

pub(in crate::config) const NODE_KEYS: [Key; 3] = [
    key("id", Values::Other("text"), required("\"gnb-00101-e00\""), "the node id, as logged"),
    key(
        "kpm",
        Values::Words(&["1.00", "2.00", "2.01", "2.03", "3.00", "4.00"]),
        absent("detected", "\"3.00\""),
        "the revision of its KPM function, if its definition is misleading",
    ),
    key(
        "e2ap",
        Values::Words(&["1.00", "1.01", "2.03", "3.01"]),
        absent("by the setup request", "\"2.03\""),
        "its E2AP version; the setup requests of v02.03 and v03.01 are equal",
    ),
];

pub(in super::super) const ALARMS_KEYS: [Key; 4] = [
    key(
        "endpoints",
        Values::Other("list of `HOST:PORT`, at most 16"),
        absent("none", "[\"alarm-manager.example:4560\"]"),
        "the endpoints that alarms are sent to over RMR, such as the alarm manager of the reference platform; it requires `rmr`",
    ),
    key(
        "alert_manager",
        Values::Other("URL"),
        absent("none", "\"http://127.0.0.1:9093\""),
        "the alert manager of Prometheus: `http://HOST:PORT` or `https://HOST:PORT`",
    ),
    key(
        "ca",
        Values::Other("path"),
        absent("none", "\"ca.pem\""),
        "the PEM file of the CA that signed the certificate of the alert manager; required for https://",
    ),
    key(
        "token",
        Values::Other("path"),
        absent("none", "\"alerts.token\""),
        "the file with the bearer token that the alert manager requires",
    ),
];
