//! A sample edge application: a video service that adapts the quality of each UE's video to its channel. It knows the radio network
//! only by the REST interface: it subscribes to measurement reports and cell changes, and receives notifications by HTTP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use hdrhistogram::Histogram;
use rest::client::{Client, ClientConfig};
use rest::{Operation, Problem, Request, Response, Route, Server, ServerConfig};
use serde_json::{Value, json};

/// The ladder of video qualities: name, bit rate in Mbit/s, and the SINR from which on it is sent, in dB.
const LADDER: [(&str, f64, f64); 6] = [
    ("240p", 0.5, f64::NEG_INFINITY),
    ("360p", 1.0, 0.0),
    ("480p", 2.5, 5.0),
    ("720p", 5.0, 10.0),
    ("1080p", 8.0, 15.0),
    ("2160p", 20.0, 22.0),
];
/// The quality rises only if the SINR exceeds its limit by this much, in dB: it does not change with each report.
const HYSTERESIS_DB: f64 = 2.0;
/// The longest latency that is counted, in microseconds.
const MAX_LATENCY_US: u64 = 60_000_000;

/// The application: its callback, its subscriptions, and what it knows of each UE.
pub struct VideoService {
    rnis: Client,
    subscriptions: Vec<String>,
    state: Arc<Mutex<State>>,
    _callback: Server,
}

struct State {
    /// The quality of each UE, by its address.
    quality: BTreeMap<String, usize>,
    /// Decisions since they were taken.
    decisions: Vec<String>,
    notifications: u64,
    latency_us: Histogram<u64>,
}

/// What the application has received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// Notifications.
    pub notifications: u64,
    /// The median of the time from the reception of the report to that of the notification.
    pub p50_ms: f64,
    /// Its 99th percentile.
    pub p99_ms: f64,
}

/// The quality for a SINR: the highest of the ladder; a higher one than the current needs the hysteresis too.
fn choose(current: Option<usize>, sinr_db: f64) -> usize {
    let highest = |sinr_db: f64| LADDER.iter().rposition(|(.., least)| sinr_db >= *least).unwrap_or(0);
    match current {
        None => highest(sinr_db),
        Some(current) => highest(sinr_db).min(highest(sinr_db - HYSTERESIS_DB).max(current)),
    }
}

/// The SINR of a UE's serving cell in a measurement report of NR, in dB (TS 38.133 10.1.16.1: half decibels from -23 dB).
fn sinr_db(notification: &Value) -> Option<f64> {
    let index = &notification["servCellMeasInfo"][0]["sCell"]["measQuantityResultsSsbCell"]["sinr"];
    Some(index.as_f64()? / 2.0 - 23.0)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // a panic of the other thread ends the demo anyway
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a notification.
fn receive(state: &Mutex<State>, request: &Request) -> Result<Response, Problem> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let notification: Value = request.json()?;
    let stamp = &notification["timeStamp"];
    let (seconds, nanos) = (stamp["seconds"].as_u64().unwrap_or(0), stamp["nanoSeconds"].as_u64().unwrap_or(0));
    let received_us = seconds * 1_000_000 + nanos / 1000;
    let latency_us = u64::try_from(now.as_micros()).unwrap_or(u64::MAX).saturating_sub(received_us);
    let mut state = lock(state);
    state.notifications += 1;
    state.latency_us.saturating_record(latency_us.clamp(1, MAX_LATENCY_US));
    let Some(ue) = notification["associateId"][0]["value"].as_str() else { return Ok(Response::no_content()) };
    if let Some(target) = notification["trgEcgi"][0]["cellId"].as_str() {
        state.decisions.push(format!("{ue:>12} is in cell {target} now"));
    } else if let Some(sinr_db) = sinr_db(&notification) {
        let current = state.quality.get(ue).copied();
        let chosen = choose(current, sinr_db);
        if current != Some(chosen) {
            let (name, mbps, _) = LADDER[chosen];
            let before = current.map_or(String::new(), |before| format!(", {} before", LADDER[before].0));
            let line = format!("{ue:>12} has {sinr_db:5.1} dB: video in {name}, {mbps} Mbit/s{before}");
            state.decisions.push(line);
            state.quality.insert(ue.to_owned(), chosen);
        }
    }
    Ok(Response::no_content())
}

impl VideoService {
    /// Starts the callback and subscribes at a service.
    ///
    /// # Errors
    /// If no port is free, or the service does not answer or refuses.
    pub fn start(rnis: &str) -> anyhow::Result<Self> {
        let latency_us = Histogram::new_with_bounds(1, MAX_LATENCY_US, 3)?;
        let state = State { quality: BTreeMap::new(), decisions: Vec::new(), notifications: 0, latency_us };
        let state = Arc::new(Mutex::new(state));
        let operation = Operation::post("/notifications", "notify", "A notification").takes::<Value>().empties();
        let to_route = Arc::clone(&state);
        let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
        config.max_requests_per_second = 100_000;
        let callback = Server::start(config, vec![Route::new(operation, move |request| receive(&to_route, request))])
            .context("the sample application cannot listen")?;
        let rnis = Client::new(&ClientConfig::new(rnis))?;
        let mut service = VideoService { rnis, subscriptions: Vec::new(), state, _callback: callback };
        for (kind, criteria) in
            [("NrMeasRepUeSubscription", "filterCriteriaNrMrs"), ("CellChangeSubscription", "filterCriteriaAssocHo")]
        {
            service.subscribe(kind, criteria)?;
        }
        Ok(service)
    }

    fn subscribe(&mut self, kind: &str, criteria: &str) -> anyhow::Result<()> {
        let callback = format!("{}/notifications", self._callback.url());
        let body = json!({"subscriptionType": kind, "callbackReference": callback, criteria: {}});
        let answer = self.rnis.request("POST", "/rni/v2/subscriptions", Some(&body))?;
        if answer.status != 201 {
            bail!("the RNIS refuses a {kind}: {} {}", answer.status, answer.body);
        }
        let href = answer.body["_links"]["self"]["href"].as_str().context("the RNIS has not named the subscription")?;
        // an absolute URL, or a path
        let path = href.find("/rni/").map_or(href, |at| &href[at..]);
        self.subscriptions.push(path.to_owned());
        Ok(())
    }

    /// Takes the decisions that were made since the last call.
    pub fn take_decisions(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).decisions)
    }

    /// What was received.
    pub fn received(&self) -> Received {
        let state = lock(&self.state);
        let ms = |quantile| state.latency_us.value_at_quantile(quantile) as f64 / 1000.0;
        Received { notifications: state.notifications, p50_ms: ms(0.5), p99_ms: ms(0.99) }
    }

    /// Ends the subscriptions.
    ///
    /// # Errors
    /// If the service does not answer.
    pub fn unsubscribe(&mut self) -> anyhow::Result<()> {
        for path in std::mem::take(&mut self.subscriptions) {
            self.rnis.request("DELETE", &path, None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_follows_the_sinr_and_rises_with_hysteresis() {
        assert_eq!(LADDER[choose(None, 12.0)].0, "720p");
        assert_eq!(LADDER[choose(None, -9.0)].0, "240p");
        // falls at once
        assert_eq!(LADDER[choose(Some(3), 9.9)].0, "480p");
        // rises 2 dB above the limit of the better one
        assert_eq!(LADDER[choose(Some(2), 11.9)].0, "480p");
        assert_eq!(LADDER[choose(Some(2), 12.0)].0, "720p");
        assert_eq!(LADDER[choose(Some(2), 30.0)].0, "2160p");
    }

    #[test]
    fn sinr_is_read_in_decibels() {
        let report = json!({"servCellMeasInfo": [{"sCell": {"measQuantityResultsSsbCell": {"sinr": 70}}}]});
        assert_eq!(sinr_db(&report), Some(12.0));
        assert_eq!(sinr_db(&json!({"servCellMeasInfo": []})), None);
    }
}
