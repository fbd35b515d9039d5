//! Alarms as alerts to an alert manager of Prometheus: `POST /api/v2/alerts`, as the platform's alarm manager does it.
//!
//! What is sent is the state: all active alarms, at once after a change and then every [`PERIOD`], since an alert manager takes what
//! it does not hear of any more for resolved. An alert manager that was away so has everything with the next request. Alarms that were
//! cleared are sent with their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rest::client::{Client, ClientConfig, ClientToken};
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::Alarms;
use crate::alarm::{Action, Alarm, Notification};

/// How often active alarms are sent again.
const PERIOD: Duration = Duration::from_secs(30);
/// The pause after a failed request, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(5);
/// The changes that may wait for the thread, and the cleared alarms that wait for the alert manager. Further ones are lost: an alert
/// manager finds by itself that they are over.
const MAX_WAITING: usize = 1024;
/// The alerts of a request.
const MAX_BATCH: usize = 64;
const PATH: &str = "/api/v2/alerts";

/// Where alerts go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertManagerConfig {
    /// The alert manager: `http://HOST:PORT` or `https://HOST:PORT`.
    pub url: String,
    /// PEM file of the CA that signed its certificate, for https://.
    pub ca: Option<std::path::PathBuf>,
    /// File with the bearer token that it requires.
    pub token: Option<std::path::PathBuf>,
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    failed: AtomicU64,
    lost: AtomicU64,
}

/// The way to an alert manager.
#[derive(Clone, Debug)]
pub struct AlertManager(Arc<Counts>);

impl AlertManager {
    /// Sends alarms to an alert manager from now on, until they are dropped.
    ///
    /// # Errors
    /// If the URL is malformed, a file cannot be used, or the system refuses a thread.
    pub fn start(config: AlertManagerConfig, alarms: &Alarms) -> std::io::Result<Self> {
        let AlertManagerConfig { url, ca, token } = config;
        let client =
            ClientConfig { ca, token: token.map(ClientToken::File), timeout: TIMEOUT, ..ClientConfig::new(&url) };
        let client = Client::new(&client).map_err(std::io::Error::other)?;
        let counts = Arc::<Counts>::default();
        let (sender, changes) = sync_channel(MAX_WAITING);
        alarms.forward_to(outlet(sender, Arc::clone(&counts)));
        let of_thread = Arc::clone(&counts);
        let alarms = alarms.downgrade();
        let thread = std::thread::Builder::new().name("alert manager".to_owned());
        thread.spawn(move || {
            let mut forwarder =
                Forwarder { client, url, counts: of_thread, known: Vec::new(), cleared: Vec::new(), pause: None };
            forwarder.run(&changes, || alarms.upgrade().map(|alarms| alarms.active()));
        })?;
        Ok(AlertManager(counts))
    }

    /// The alerts that were sent, requests that have failed, and cleared alarms that were lost.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        let Counts { sent, failed, lost } = &*self.0;
        [("sent", sent), ("failed", failed), ("lost", lost)].map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }
}

/// Passes changes to the thread.
fn outlet(sender: SyncSender<Notification>, counts: Arc<Counts>) -> crate::Outlet {
    Box::new(move |notification| {
        // a full queue wakes the thread as well, which sends what is active
        if sender.try_send(notification.clone()).is_err() && notification.action == Action::Clear {
            counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    })
}

struct Forwarder {
    client: Client,
    url: String,
    counts: Arc<Counts>,
    /// The active alarms that the alert manager knows.
    known: Vec<Notification>,
    /// Those of them that were cleared since, with the time in nanoseconds of Unix time.
    cleared: Vec<(Notification, i64)>,
    /// The pause after the last request, if it has failed.
    pause: Option<Duration>,
}

impl Forwarder {
    /// Sends until there are no alarms any more: `active` returns `None`.
    fn run(&mut self, changes: &Receiver<Notification>, active: impl Fn() -> Option<Vec<Notification>>) {
        let mut next = Instant::now() + PERIOD;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            match changes.recv_timeout(left) {
                Ok(change) => {
                    self.note(change);
                    changes.try_iter().for_each(|change| self.note(change));
                    if self.pause.is_some() {
                        continue; // not before the pause is over
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some(active) = active() else { return };
            self.send(&active);
            next = Instant::now() + self.pause.unwrap_or(PERIOD);
        }
    }

    fn note(&mut self, change: Notification) {
        // one that is raised again has not ended
        self.cleared.retain(|(cleared, _)| !cleared.alarm.is(&change.alarm));
        if change.action == Action::Clear
            && let Some(known) = self.known.iter().position(|known| known.alarm.is(&change.alarm))
        {
            if self.cleared.len() >= MAX_WAITING {
                self.cleared.remove(0);
                self.counts.lost.fetch_add(1, Ordering::Relaxed);
            }
            self.cleared.push((self.known.remove(known), change.time_ns));
        }
    }

    fn send(&mut self, active: &[Notification]) {
        let cleared = self.cleared.iter().map(|(cleared, end_ns)| alert(cleared, Some(*end_ns)));
        let alerts: Vec<_> = cleared.chain(active.iter().map(|active| alert(active, None))).collect();
        for batch in alerts.chunks(MAX_BATCH) {
            let failure = match self.client.request("POST", PATH, Some(&Value::from(batch))) {
                Ok(response) if response.is_success() => None,
                Ok(response) => Some(format!("it answers with status {}", response.status)),
                Err(error) => Some(error.to_string()),
            };
            if let Some(failure) = failure {
                self.counts.failed.fetch_add(1, Ordering::Relaxed);
                if self.pause.is_none() {
                    warn!(
                        "alarms are not sent to the alert manager at {}: {failure}; trying again; check it (--alert-manager)",
                        self.url
                    );
                }
                self.pause = Some(self.pause.map_or(FIRST_PAUSE, |pause| (2 * pause).min(LONGEST_PAUSE)));
                return;
            }
            self.counts.sent.fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
        self.cleared.clear();
        self.known = active.to_vec();
        if self.pause.take().is_some() {
            info!("alarms are sent to the alert manager at {} again", self.url);
        }
    }
}

/// An alert, with the labels and annotations that the platform's alarm manager writes. The labels are the identity: they are the same
/// while it is active and when it has ended.
fn alert(of: &Notification, end_ns: Option<i64>) -> Value {
    let Notification { alarm, time_ns, definition, .. } = of;
    let Alarm { managed_object_id, application_id, specific_problem, additional_info, identifying_info, .. } = alarm;
    let time = |ns: i64| audit::rfc3339(UNIX_EPOCH + Duration::from_nanos(u64::try_from(ns).unwrap_or(0)));
    let mut alert = json!({
        "labels": {
            "alertname": definition.alarm_text,
            "status": "active",
            "severity": alarm.perceived_severity,
            "service": format!("{managed_object_id}/{application_id}"),
            "info": identifying_info,
            "system_name": "RIC",
        },
        "annotations": {
            "specific_problem": specific_problem.to_string(),
            "event_type": definition.event_type,
            "identifying_info": identifying_info,
            "additional_info": additional_info,
            "instructions": definition.operation_instructions,
        },
    });
    alert["startsAt"] = time(*time_ns).into();
    if let Some(end_ns) = end_ns {
        alert["endsAt"] = time(end_ns).into();
    }
    alert
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Mutex;

    use super::*;
    use crate::alarm::XAPP_FAULTY;
    use crate::{Definition, Severity};

    fn alarm(name: &str) -> Alarm {
        Alarm {
            managed_object_id: "RIC".to_owned(),
            application_id: "ferric".to_owned(),
            specific_problem: XAPP_FAULTY,
            perceived_severity: Severity::Major,
            additional_info: "exit status: 3".to_owned(),
            identifying_info: name.to_owned(),
        }
    }

    fn raised(name: &str) -> Notification {
        let definition = Definition::built_in().into_iter().find(|of| of.alarm_id == XAPP_FAULTY).unwrap();
        Notification { alarm: alarm(name), action: Action::Raise, time_ns: 1_000_000_000, definition }
    }

    #[test]
    fn alert_has_the_same_labels_when_it_ends() {
        let (begin, end) = (alert(&raised("kpm"), None), alert(&raised("kpm"), Some(2_500_000_000)));
        assert_eq!(begin["labels"], end["labels"]);
        assert_eq!(
            begin["labels"],
            json!({
                "alertname": "XAPP DOES NOT RUN", "status": "active", "severity": "MAJOR", "service": "RIC/ferric", "info": "kpm",
                "system_name": "RIC",
            })
        );
        assert_eq!((begin["startsAt"].as_str(), begin.get("endsAt")), (Some("1970-01-01T00:00:01.000Z"), None));
        assert_eq!(end["endsAt"], "1970-01-01T00:00:02.500Z");
    }

    /// An alert manager that answers some requests, each on a connection of its own. Returns its URL and the alerts that it got.
    fn alert_manager(statuses: Vec<u16>) -> (String, Arc<Mutex<Vec<Value>>>) {
        use std::io::{Read, Write};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let got = Arc::<Mutex<Vec<Value>>>::default();
        let to = Arc::clone(&got);
        std::thread::spawn(move || {
            for status in statuses {
                let (mut stream, _) = listener.accept().unwrap();
                let (mut octets, mut part) = (Vec::new(), [0; 4096]);
                let body = loop {
                    let count = stream.read(&mut part).unwrap();
                    octets.extend(&part[..count]);
                    let text = String::from_utf8_lossy(&octets).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head
                        .lines()
                        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
                    if body.len() >= length.unwrap_or(0) {
                        assert!(head.starts_with("POST /api/v2/alerts "), "{head}");
                        break body.to_owned();
                    }
                };
                to.lock().unwrap().push(serde_json::from_str(&body).unwrap());
                write!(stream, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            }
        });
        (url, got)
    }

    fn forwarder(url: String) -> Forwarder {
        let client = Client::new(&ClientConfig { timeout: TIMEOUT, ..ClientConfig::new(&url) }).unwrap();
        Forwarder { client, url, counts: Arc::default(), known: Vec::new(), cleared: Vec::new(), pause: None }
    }

    #[test]
    fn failed_request_is_repeated_with_growing_pauses_and_the_state_of_then() {
        let (url, got) = alert_manager(vec![500, 503, 200, 200, 200]);
        let mut forwarder = forwarder(url);
        let active = [raised("a"), raised("b")];
        for pause in [Some(FIRST_PAUSE), Some(2 * FIRST_PAUSE), None] {
            forwarder.send(&active);
            assert_eq!(forwarder.pause, pause);
        }
        let clear = |name| Notification { action: Action::Clear, time_ns: 3_000_000_000, ..raised(name) };
        forwarder.note(clear("b"));
        forwarder.note(clear("never sent"));
        forwarder.send(&active[..1]);
        forwarder.note(clear("a"));
        forwarder.note(raised("a"));
        forwarder.send(&active[..1]);
        let got = got.lock().unwrap();
        assert_eq!((got[0].as_array().unwrap().len(), &got[2]), (2, &got[0]));
        let ends = |at: usize| -> Vec<_> {
            let alerts = got[at].as_array().unwrap().iter();
            alerts.map(|one| (one["labels"]["info"].as_str().unwrap().to_owned(), one["endsAt"].is_string())).collect()
        };
        assert_eq!(ends(3), [("b".to_owned(), true), ("a".to_owned(), false)]);
        assert_eq!(ends(4), [("a".to_owned(), false)], "it is active again");
        let Counts { sent, failed, .. } = &*forwarder.counts;
        assert_eq!((sent.load(Ordering::Relaxed), failed.load(Ordering::Relaxed)), (5, 2));
    }

    #[test]
    fn many_cleared_alarms_are_bounded_and_counted() {
        let mut forwarder = forwarder("http://127.0.0.1:1".to_owned());
        let name = |number: usize| number.to_string();
        forwarder.known = (0..MAX_WAITING + 3).map(|number| raised(&name(number))).collect();
        for number in 0..MAX_WAITING + 3 {
            forwarder.note(Notification { action: Action::Clear, ..raised(&name(number)) });
        }
        assert_eq!((forwarder.cleared.len(), forwarder.counts.lost.load(Ordering::Relaxed)), (MAX_WAITING, 3));
        let (sender, _changes) = sync_channel(1);
        let counts = Arc::<Counts>::default();
        let pass = outlet(sender, Arc::clone(&counts));
        for action in [Action::Raise, Action::Raise, Action::Clear] {
            pass(&Notification { action, ..raised("a") });
        }
        assert_eq!(counts.lost.load(Ordering::Relaxed), 1, "what is active is sent anyway");
    }
}
