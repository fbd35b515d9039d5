//! The keys of an issuer outside: from a file, or from its URL.
//!
//! A thread reads them, so that no request waits for the issuer. While it cannot be reached, the keys that are known stay in force.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use ferric::link::FileStamp;
use rest::client::{Client, ClientConfig};
use tracing::{info, warn};

use super::keys::{self, Algorithm, Key};

/// How often a file is looked at.
const FILE_PERIOD: Duration = Duration::from_secs(1);
/// How often keys are fetched, so that one that the issuer has withdrawn does not stay.
const URL_PERIOD: Duration = Duration::from_secs(300);
/// The shortest time between two fetches, whatever tokens name.
const MIN_PERIOD: Duration = Duration::from_secs(10);
/// Time for a fetch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest key set.
const MAX_OCTETS: u64 = 256 * 1024;

/// Why the keys of an issuer cannot be used.
#[derive(Debug)]
pub struct KeysError(String);

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeysError {}

/// Where keys come from.
enum Source {
    File(PathBuf, Option<FileStamp>),
    /// The server, and the path of the key set.
    Url(Box<Client>, String),
}

/// Why there is no key for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// The issuer does not have it.
    Unknown,
    /// The issuer is asked for it.
    Pending,
}

#[derive(Debug)]
struct State {
    keys: Option<Arc<Vec<Key>>>,
    /// When the last fetch began.
    fetched: Instant,
    is_pending: bool,
}

/// The keys of an issuer. The thread that reads them ends when this is dropped.
#[derive(Debug)]
pub struct ExternalKeys {
    state: Arc<RwLock<State>>,
    wake: Mutex<SyncSender<()>>,
    /// A file is not read more often than it is looked at.
    is_file: bool,
}

impl ExternalKeys {
    /// Starts to read the keys of a file, or of an `https://` URL, whose server has a certificate of the authorities of `ca`. An
    /// `http://` URL must be of this host.
    ///
    /// # Errors
    /// If the file or the URL cannot be used. A server that does not answer is asked again.
    pub fn start(location: &str, ca: Option<&Path>) -> Result<Self, KeysError> {
        let mut source = source(location, ca)?;
        let is_file = matches!(source, Source::File(..));
        let keys = match source.read() {
            Ok(keys) => keys.map(Arc::new),
            Err(reason) if is_file => return Err(KeysError(format!("keys of the issuer {location}: {reason}"))),
            Err(reason) => {
                warn!(
                    "cannot read the keys of the issuer {location}: {reason}; trying again, no token is accepted until then"
                );
                None
            }
        };
        let state = Arc::new(RwLock::new(State { keys, fetched: Instant::now(), is_pending: false }));
        let (wake, woken) = sync_channel(1);
        let (of_thread, name) = (Arc::clone(&state), location.to_owned());
        let body = move || read_until_dropped(&mut source, &name, &of_thread, &woken);
        let started = thread::Builder::new().name("issuer".into()).spawn(body);
        started
            .map_err(|error| KeysError(format!("the thread for the keys of the issuer cannot be started: {error}")))?;
        Ok(ExternalKeys { state, wake: Mutex::new(wake), is_file })
    }

    /// The key for a token. If it is not known, the issuer is asked for it, at a bounded rate.
    ///
    /// # Errors
    /// [`NoKey`].
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Key, NoKey> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = &state.keys {
            let fits = |key: &&Key| key.is_for(algorithm) && id.is_none_or(|id| key.id.as_deref() == Some(id));
            let mut found = keys.iter().filter(fits);
            // without an id there must be no choice
            if let (Some(key), None) = (found.next(), found.next()) {
                return Ok(key.clone());
            }
            if self.is_file {
                return Err(NoKey::Unknown);
            }
        }
        let (is_pending, is_recent) = (state.is_pending, state.fetched.elapsed() < MIN_PERIOD);
        let is_known = state.keys.is_some();
        drop(state);
        if !is_pending && is_recent {
            return Err(if is_known { NoKey::Unknown } else { NoKey::Pending });
        }
        if !is_pending {
            self.state.write().unwrap_or_else(PoisonError::into_inner).is_pending = true;
            // a full channel has woken the thread already
            let _ = self.wake.lock().unwrap_or_else(PoisonError::into_inner).try_send(());
        }
        Err(NoKey::Pending)
    }
}

/// The thread.
fn read_until_dropped(source: &mut Source, name: &str, state: &RwLock<State>, woken: &Receiver<()>) {
    let mut is_failing = false;
    loop {
        let has_keys = state.read().unwrap_or_else(PoisonError::into_inner).keys.is_some();
        let period = match source {
            Source::File(..) => FILE_PERIOD,
            Source::Url(..) if has_keys && !is_failing => URL_PERIOD,
            Source::Url(..) => MIN_PERIOD,
        };
        if let Err(RecvTimeoutError::Disconnected) = woken.recv_timeout(period) {
            return;
        }
        let began = Instant::now();
        let read = source.read();
        let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
        (state.fetched, state.is_pending) = (began, false);
        match read {
            Ok(None) => {}
            Ok(Some(keys)) => {
                if state.keys.as_deref() != Some(&keys) {
                    info!(issuer = name, keys = keys.len(), "the keys of the issuer have changed");
                }
                state.keys = Some(Arc::new(keys));
                is_failing = false;
            }
            Err(reason) => {
                if !std::mem::replace(&mut is_failing, true) {
                    warn!("cannot read the keys of the issuer {name}: {reason}; the keys that are known stay in force");
                }
            }
        }
    }
}

fn source(location: &str, ca: Option<&Path>) -> Result<Source, KeysError> {
    let Some((scheme, rest)) = location.split_once("://") else {
        return Ok(Source::File(location.into(), None));
    };
    let (server, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    if scheme == "http" && !is_this_host(server) {
        let reason = "keys over http:// can be replaced on their way: use https://, or a server of this host";
        return Err(KeysError(format!("keys of the issuer {location}: {reason}")));
    }
    let url = format!("{scheme}://{server}");
    let config = ClientConfig {
        ca: ca.map(Path::to_owned),
        timeout: TIMEOUT,
        max_body_octets: MAX_OCTETS,
        ..ClientConfig::new(&url)
    };
    let client = Client::new(&config).map_err(|error| KeysError(format!("keys of the issuer {location}: {error}")))?;
    Ok(Source::Url(Box::new(client), path.to_owned()))
}

fn is_this_host(server: &str) -> bool {
    let name = server.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(server, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

impl Source {
    /// Reads the keys; `None` if the file has not changed.
    fn read(&mut self) -> Result<Option<Vec<Key>>, String> {
        match self {
            Source::File(path, known) => {
                // taken before reading, so that a file that is written meanwhile is read again
                let stamp = FileStamp::of(path);
                if stamp.is_some() && stamp == *known {
                    return Ok(None);
                }
                *known = stamp;
                let text = settings::read(path, MAX_OCTETS).map_err(|error| error.to_string())?;
                keys::read(&text).map(Some)
            }
            Source::Url(client, path) => {
                let response = client.request("GET", path, None).map_err(|error| error.to_string())?;
                if !response.is_success() {
                    return Err(format!("it answered with status {}", response.status));
                }
                keys::read(&response.body.to_string()).map(Some)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unencrypted_url_is_of_this_host() {
        for good in ["http://127.0.0.1:1/jwks", "http://localhost/", "http://[::1]:80/x"] {
            assert!(source(good, None).is_ok(), "{good}");
        }
        for bad in [
            "http://idp.example/jwks",
            "http://127.0.0.1.example/",
            "http://10.0.0.1/",
            "ftp://127.0.0.1/",
            "https://idp.example/",
        ] {
            assert!(source(bad, None).is_err(), "{bad}");
        }
    }
}
