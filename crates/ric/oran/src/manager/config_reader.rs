//! Reads the configurations of xApps that register without one, from where they serve it by HTTP, as the platform's app manager
//! does: those of the platform's framework for Go.
//!
//! A configuration is read on a thread of its own. [`THREADS`] may run, [`THREADS_OF_HOST`] for those that one host has registered;
//! other ones wait, one of each instance.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rest::client::{Client, ClientConfig};
use serde_json::Value;

use super::descriptor::MAX_DESCRIPTOR_OCTETS;

const THREADS: usize = 8;
/// Threads for the xApps that one host has registered.
const THREADS_OF_HOST: usize = 2;
/// Attempts, since an xApp may register before it listens; the time for each, and before the next one.
const ATTEMPTS: u32 = 5;
const TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_secs(1);
/// Octets of an answer, in which the configuration is a text with escapes.
const MAX_ANSWER_OCTETS: u64 = 4 * MAX_DESCRIPTOR_OCTETS as u64;
/// Octets of a path.
const MAX_PATH_OCTETS: usize = 256;

/// Where the configuration of an instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub name: String,
    pub instance: String,
    /// `HOST:PORT`.
    pub http: String,
    pub path: String,
    /// Who has registered it.
    pub host: IpAddr,
}

/// A configuration, or why it cannot be read.
pub(super) type Found = (Source, Result<Value, String>);

/// What is read, and what waits.
pub(super) struct ConfigReader {
    waiting: VecDeque<Source>,
    /// The hosts of the running threads, one for each thread.
    busy: Vec<IpAddr>,
    found: Receiver<Found>,
    finder: Sender<Found>,
    is_ended: Arc<AtomicBool>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl ConfigReader {
    /// `wake` has [`ConfigReader::next_found`] called.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (finder, found) = channel();
        ConfigReader { waiting: VecDeque::new(), busy: Vec::new(), found, finder, is_ended: Arc::default(), wake }
    }

    /// Reads a configuration, in place of one of the same instance that waits.
    pub fn read(&mut self, source: Source) {
        self.forget(&source.name, &source.instance);
        self.waiting.push_back(source);
        self.start();
    }

    /// Forgets what waits for an instance.
    pub fn forget(&mut self, name: &str, instance: &str) {
        self.waiting.retain(|of| (of.name.as_str(), of.instance.as_str()) != (name, instance));
    }

    /// The next source that waits and whose host has a thread left.
    fn take(&mut self) -> Option<Source> {
        if self.busy.len() >= THREADS {
            return None;
        }
        let busy = &self.busy;
        let of_host = |host: IpAddr| busy.iter().filter(|other| **other == host).count();
        let at = self.waiting.iter().position(|of| of_host(of.host) < THREADS_OF_HOST)?;
        let source = self.waiting.remove(at)?;
        self.busy.push(source.host);
        Some(source)
    }

    fn start(&mut self) {
        while let Some(source) = self.take() {
            let (finder, is_ended, wake) = (self.finder.clone(), Arc::clone(&self.is_ended), Arc::clone(&self.wake));
            let read = source.clone();
            let run = move || {
                let result = fetch(&read, &is_ended);
                // nobody takes it any more when management ends
                if finder.send((read, result)).is_ok() {
                    wake();
                }
            };
            if let Err(error) = std::thread::Builder::new().name("xapp-config".to_owned()).spawn(run) {
                // it is taken like the result of a thread
                let _ = self.finder.send((source, Err(format!("the system refuses a thread: {error}"))));
                (self.wake)();
                return;
            }
        }
    }

    /// The next result.
    pub fn next_found(&mut self) -> Option<Found> {
        let found = self.found.try_recv().ok()?;
        if let Some(at) = self.busy.iter().position(|host| *host == found.0.host) {
            self.busy.swap_remove(at);
        }
        self.start();
        Some(found)
    }
}

impl Drop for ConfigReader {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Release);
    }
}

/// Checks a path that an xApp has named.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    let is_path = path.starts_with('/') && path.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'#');
    match is_path && path.len() <= MAX_PATH_OCTETS {
        true => Ok(()),
        false => Err(format!("a path begins with / and has {MAX_PATH_OCTETS} graphic characters of ASCII at most")),
    }
}

/// The address of an endpoint. Another host than this one may not have the RIC ask services that trust this host.
fn resolve(source: &Source) -> Result<SocketAddr, String> {
    let found = source.http.to_socket_addrs().map_err(|error| format!("its address is not known: {error}"))?;
    let is_local = source.host.is_loopback();
    let is_permitted = |at: &SocketAddr| {
        let host = at.ip().to_canonical();
        let is_of_link = match host {
            IpAddr::V4(host) => host.is_link_local(),
            IpAddr::V6(host) => host.is_unicast_link_local(),
        };
        is_local || host == source.host || !(host.is_loopback() || host.is_unspecified() || is_of_link)
    };
    found.into_iter().find(is_permitted).ok_or_else(|| {
        format!(
            "{} registers an address of this host or of the link, which the RIC does not ask for others",
            source.host
        )
    })
}

fn fetch(source: &Source, is_ended: &AtomicBool) -> Result<Value, String> {
    let url = format!("http://{}", resolve(source)?);
    let config = ClientConfig { timeout: TIMEOUT, max_body_octets: MAX_ANSWER_OCTETS, ..ClientConfig::new(&url) };
    let client = Client::new(&config).map_err(|error| error.to_string())?;
    let mut fault = String::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        if is_ended.load(Ordering::Acquire) {
            break;
        }
        match client.request("GET", &source.path, None) {
            Ok(response) if response.is_success() => return config_of(&response.body),
            Ok(response) => fault = format!("it answered with status {}", response.status),
            Err(error) => fault = error.to_string(),
        }
    }
    Err(fault)
}

/// The configuration in an answer: a list, whose first element has it in `config`, as a text or as it is.
fn config_of(answer: &Value) -> Result<Value, String> {
    match &answer[0]["config"] {
        Value::String(text) if text.len() > MAX_DESCRIPTOR_OCTETS => {
            Err(format!("it has more than {MAX_DESCRIPTOR_OCTETS} octets"))
        }
        Value::String(text) => serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}")),
        Value::Object(config) => Ok(Value::Object(config.clone())),
        _ => Err("the answer is no list of configurations".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(instance: usize, host: u8) -> Source {
        Source {
            name: "a".to_owned(),
            instance: instance.to_string(),
            http: "127.0.0.1:1".to_owned(),
            path: "/".to_owned(),
            host: IpAddr::from([10, 0, 0, host]),
        }
    }

    #[test]
    fn host_has_some_of_the_threads() {
        let mut reader = ConfigReader::new(Arc::new(|| ()));
        reader.waiting.extend((0..10).map(|at| source(at, 1)));
        reader.waiting.extend((10..13).map(|at| source(at, 2)));
        let taken: Vec<_> = std::iter::from_fn(|| reader.take()).map(|of| of.instance).collect();
        assert_eq!(taken, ["0", "1", "10", "11"]);
        reader.waiting.extend((3..30).map(|host| source(0, host)));
        assert_eq!(std::iter::from_fn(|| reader.take()).count(), THREADS - 4);
    }

    #[test]
    fn configuration_is_a_text_or_an_object_in_a_list() {
        let config = json!({ "rmr": { "policies": [1] } });
        assert_eq!(config_of(&json!([{ "metadata": {}, "config": config.to_string() }])), Ok(config.clone()));
        assert_eq!(config_of(&json!([{ "config": config }])), Ok(config));
        for (wrong, why) in [
            (json!([]), "no list"),
            (json!({ "config": {} }), "no list"),
            (json!([{ "config": 3 }]), "no list"),
            (json!([{ "config": "{" }]), "no JSON"),
            (json!([{ "config": "x".repeat(MAX_DESCRIPTOR_OCTETS + 1) }]), "65536 octets"),
            (Value::Null, "no list"),
        ] {
            let error = config_of(&wrong).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn other_hosts_cannot_have_services_of_this_host_asked() {
        let resolved = |http: &str, host: [u8; 4]| {
            let source = Source { http: http.to_owned(), host: IpAddr::from(host), ..source(1, 1) };
            resolve(&source).map(|at| at.to_string())
        };
        assert_eq!(resolved("127.0.0.1:80", [127, 0, 0, 1]).unwrap(), "127.0.0.1:80");
        assert_eq!(resolved("10.0.0.1:80", [10, 0, 0, 2]).unwrap(), "10.0.0.1:80");
        assert_eq!(resolved("169.254.1.1:80", [169, 254, 1, 1]).unwrap(), "169.254.1.1:80");
        for http in
            ["127.0.0.1:80", "localhost:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "169.254.169.254:80", "0.0.0.0:80"]
        {
            assert!(resolved(http, [10, 0, 0, 2]).unwrap_err().contains("does not ask for others"), "{http}");
        }
    }

    #[test]
    fn path_cannot_change_the_request() {
        check_path("/ric/v1/config?x=1").unwrap();
        for wrong in ["", "ric", "@other/", "/a b", "/a\r\nHost: x", "/a#b", "/ä", &format!("/{}", "x".repeat(256))] {
            assert!(check_path(wrong).is_err(), "{wrong}");
        }
    }
}
