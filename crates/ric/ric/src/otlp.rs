//! Traces of indications to an OpenTelemetry collector: OTLP 1 over HTTP, in JSON.
//!
//! A thread of its own sends them. What the collector does not take is lost and counted; the event loop never waits.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use ferric::server::IndicationTrace;
use rest::client::{Client, ClientConfig, ClientError, ClientToken};
use serde_json::{Value, json};
use tracing::{info, warn};

/// Traces that may wait to be sent; further ones are lost.
const MAX_WAITING: usize = 1024;
/// Traces of a request.
const MAX_BATCH: usize = 128;
/// The longest time that a trace waits for others.
const MAX_WAIT: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(5);
/// The path of the collector for traces.
const PATH: &str = "/v1/traces";
/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CONSUMER` of OTLP.
const INTERNAL: u32 = 1;
const CONSUMER: u32 = 5;

/// The configuration of traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// The collector: `http://HOST:PORT` or `https://HOST:PORT`.
    pub url: String,
    /// PEM file of the CA that signed the collector's certificate, for https://.
    pub ca: Option<PathBuf>,
    /// File with the bearer token that the collector requires.
    pub token: Option<PathBuf>,
    /// One indication in so many is traced.
    pub one_in: u32,
}

impl TraceConfig {
    /// One indication in a thousand, without TLS and token.
    #[must_use]
    pub fn new(url: &str) -> Self {
        TraceConfig { url: url.to_owned(), ca: None, token: None, one_in: 1000 }
    }

    /// Creates the client, which connects with its first request.
    fn client(&self) -> Result<Client, ClientError> {
        let TraceConfig { url, ca, token, .. } = self;
        let config = ClientConfig {
            ca: ca.clone(),
            token: token.clone().map(ClientToken::File),
            timeout: TIMEOUT,
            ..ClientConfig::new(url)
        };
        Client::new(&config)
    }
}

/// What the event loop gives traces to.
pub(crate) struct Exporter {
    sender: SyncSender<IndicationTrace>,
    lost: Arc<AtomicU64>,
}

impl Exporter {
    /// Starts the thread. It ends after the exporter is dropped.
    ///
    /// # Errors
    /// If the URL is malformed, a file cannot be used, or the system refuses the thread.
    pub fn start(config: &TraceConfig) -> std::io::Result<Self> {
        let client = config.client().map_err(std::io::Error::other)?;
        let (sender, traces) = sync_channel(MAX_WAITING);
        let lost = Arc::<AtomicU64>::default();
        let of_thread = Arc::clone(&lost);
        std::thread::Builder::new().name("traces".into()).spawn(move || {
            Sender { client, lost: of_thread, ids: Ids::new(), is_failing: false }.run(&traces);
        })?;
        Ok(Exporter { sender, lost })
    }

    pub fn send(&self, trace: &IndicationTrace) {
        if self.sender.try_send(*trace).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Sender {
    client: Client,
    lost: Arc<AtomicU64>,
    ids: Ids,
    is_failing: bool,
}

impl Sender {
    fn run(mut self, traces: &Receiver<IndicationTrace>) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while let Ok(first) = traces.recv() {
            batch.push(first);
            let end = Instant::now() + MAX_WAIT;
            let is_over = loop {
                if batch.len() >= MAX_BATCH {
                    break false;
                }
                match traces.recv_timeout(end.saturating_duration_since(Instant::now())) {
                    Ok(trace) => batch.push(trace),
                    Err(RecvTimeoutError::Timeout) => break false,
                    Err(RecvTimeoutError::Disconnected) => break true,
                }
            };
            self.send(&batch);
            batch.clear();
            if is_over {
                return;
            }
        }
    }

    fn send(&mut self, batch: &[IndicationTrace]) {
        let body = request(batch, &mut self.ids);
        let reason = match self.client.request("POST", PATH, Some(&body)) {
            Ok(response) if response.is_success() => {
                // a partial success names the spans that it rejects
                let rejected = &response.body["partialSuccess"]["rejectedSpans"];
                let rejected = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0);
                if std::mem::take(&mut self.is_failing) {
                    let lost = self.lost.load(Ordering::Relaxed);
                    info!(collector = self.client.url(), lost, "the collector takes traces again");
                }
                self.lost.fetch_add(rejected, Ordering::Relaxed);
                return;
            }
            Ok(response) => format!("status {}", response.status),
            Err(error) => error.to_string(),
        };
        self.lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
        if !std::mem::replace(&mut self.is_failing, true) {
            let collector = self.client.url();
            warn!(collector, reason, "cannot send traces: they are lost until the collector takes them");
        }
    }
}

/// Numbers that no other trace has (W3C Trace Context 3.2.2.3: random, and not zero).
struct Ids {
    state: RandomState,
    count: u64,
}

impl Ids {
    fn new() -> Self {
        Ids { state: RandomState::new(), count: 0 }
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        self.state.hash_one(self.count).max(1)
    }

    /// A trace id, 16 octets in hexadecimal digits.
    fn trace(&mut self) -> String {
        format!("{:016x}{:016x}", self.next(), self.next())
    }

    /// A span id, 8 octets in hexadecimal digits.
    fn span(&mut self) -> String {
        format!("{:016x}", self.next())
    }
}

/// Returns an `ExportTraceServiceRequest` in the JSON of OTLP: ids in hexadecimal digits, numbers of 64 bits as texts.
fn request(batch: &[IndicationTrace], ids: &mut Ids) -> Value {
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let spans: Vec<Value> = batch.iter().flat_map(|trace| spans(trace, ids)).collect();
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "resourceSpans": [{
            "resource": { "attributes": [text("service.name", "ferric-ric"), text("service.version", version)] },
            "scopeSpans": [{ "scope": { "name": "ferric", "version": version }, "spans": spans }],
        }],
    })
}

/// The spans of an indication: its life in the RIC, and the parts of it.
fn spans(trace: &IndicationTrace, ids: &mut Ids) -> Vec<Value> {
    let IndicationTrace { received_ns, routed_ns, delivered_ns, written_ns, .. } = *trace;
    let (trace_id, root) = (ids.trace(), ids.span());
    let mut span = |name: &str, kind: u32, begin: u64, end: u64| {
        json!({
            "traceId": trace_id,
            "spanId": ids.span(),
            "parentSpanId": root,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": begin.to_string(),
            "endTimeUnixNano": end.max(begin).to_string(),
        })
    };
    let mut whole = span("RIC indication", CONSUMER, received_ns, written_ns);
    let parts = [
        span("route", INTERNAL, received_ns, routed_ns),
        span("deliver", INTERNAL, routed_ns, delivered_ns),
        span("write", INTERNAL, delivered_ns, written_ns),
    ];
    whole["spanId"] = root.clone().into();
    if let Some(members) = whole.as_object_mut() {
        // a root has no parent
        members.remove("parentSpanId");
    }
    let number = |key: &str, value: u64| json!({ "key": key, "value": { "intValue": value.to_string() } });
    let node = trace.node.map_or_else(|| "unknown".to_owned(), |node| node.to_string());
    whole["attributes"] = json!([
        { "key": "ferric.node", "value": { "stringValue": node } },
        number("ferric.subscription", trace.subscription.0.into()),
        number("ferric.ran_function", trace.function.0.into()),
        number("ferric.octets", trace.octets as u64),
        number("ferric.deliveries", trace.deliveries),
        number("ferric.other_loops", trace.other_loops.into()),
    ]);
    std::iter::once(whole).chain(parts).collect()
}
