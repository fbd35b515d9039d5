//! The thread that announces this RIC in the store and reads who else is there.
//!
//! | key | |
//! |---|---|
//! | `{ferric-peers},names` | the set of names |
//! | `{ferric-peers},ric:NAME` | `ADDRESS RUN`, or `ADDRESS RUN XAPPS` with the address for xApps, until its time to live is over |

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ferric::server::IappWaker;
use redis::{RedisError, cmd};
use tracing::{error, info, warn};

use crate::members::{MAX_MEMBERS, RicAddresses};
use crate::peers::{LossObserver, MAX_NAME_OCTETS, PeersConfig, Shared};
use crate::{StoreConnection, remedy};

const NAMES: &str = "{ferric-peers},names";
/// Beats per time to live.
const BEATS: u32 = 4;
/// The longest pause before it connects again.
const LAST_PAUSE: Duration = Duration::from_secs(5);

fn key(name: &str) -> String {
    format!("{{ferric-peers}},ric:{name}")
}

/// Reads what the key of a RIC has. The releases before have no address for xApps.
fn read(value: &str) -> Option<RicAddresses> {
    let mut parts = value.split(' ');
    let nodes = parts.next()?.parse().ok()?;
    let xapps = parts.nth(1).and_then(|xapps| xapps.parse().ok());
    Some(RicAddresses { nodes, xapps })
}

pub struct Beats {
    config: PeersConfig,
    shared: Arc<Shared>,
    waker: IappWaker,
    on_loss: Vec<LossObserver>,
    /// Distinguishes this run from another RIC with the same name.
    run: String,
    connection: Option<StoreConnection>,
    /// Since when the store has answered without a long pause.
    since: Instant,
    /// When it has answered last.
    answered: Instant,
    /// The other RICs, and when they were there last.
    seen: HashMap<String, (RicAddresses, Instant)>,
    has_announced: bool,
    is_name_taken: bool,
    is_logged: bool,
    pause: Duration,
}

impl Beats {
    pub fn new(config: PeersConfig, shared: Arc<Shared>, waker: IappWaker, on_loss: Vec<LossObserver>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Beats {
            run: format!("{}-{}", std::process::id(), since.as_nanos()),
            pause: config.time_to_live / BEATS,
            config,
            shared,
            waker,
            on_loss,
            connection: None,
            since: Instant::now(),
            answered: Instant::now(),
            seen: HashMap::new(),
            has_announced: false,
            is_name_taken: false,
            is_logged: false,
        }
    }

    pub fn run(mut self) {
        loop {
            let beat = self.config.time_to_live / BEATS;
            let pause = match self.beat() {
                Ok(()) => {
                    self.pause = beat;
                    beat
                }
                Err(error) => {
                    self.lose(&error);
                    let pause = self.pause;
                    self.pause = (2 * pause).min(LAST_PAUSE.max(beat));
                    pause
                }
            };
            self.waker.wake();
            if !self.shared.rest(pause) {
                break;
            }
        }
        // the others learn it at their next beat, otherwise after the time to live
        if let Some(connection) = &mut self.connection {
            let _: Result<(), RedisError> = connection.query(cmd("DEL").arg(key(&self.config.name)));
        }
    }

    /// What the key of this RIC has.
    fn value(&self) -> String {
        let PeersConfig { address, xapps, .. } = &self.config;
        match xapps {
            Some(xapps) => format!("{address} {} {xapps}", self.run),
            None => format!("{address} {}", self.run),
        }
    }

    fn lose(&mut self, error: &RedisError) {
        self.connection = None;
        if !std::mem::replace(&mut self.is_logged, true) {
            let (store, remedy) = (&self.config.url, remedy(error));
            warn!(%store, %error, "cannot reach the store of the RICs that share nodes: those that are known stay; retrying; remedy: {remedy}");
        }
    }

    fn beat(&mut self) -> Result<(), RedisError> {
        let value = self.value();
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let connection = self.config.url.connect()?;
                self.since = Instant::now();
                self.connection.insert(connection)
            }
        };
        let (name, ttl_ms) = (&self.config.name, self.config.time_to_live.as_millis());
        let own: Option<String> = connection.query(cmd("GET").arg(key(name)))?;
        let is_other = own.as_ref().is_some_and(|own| *own != value);
        let ttl_ms = u64::try_from(ttl_ms).unwrap_or(u64::MAX);
        connection.query::<()>(cmd("SADD").arg(NAMES).arg(name))?;
        connection.query::<()>(cmd("SET").arg(key(name)).arg(&value).arg("PX").arg(ttl_ms))?;
        let mut names: Vec<String> = connection.query(cmd("SMEMBERS").arg(NAMES))?;
        names.retain(|other| other != name && !other.is_empty() && other.len() <= MAX_NAME_OCTETS);
        names.sort();
        names.truncate(MAX_MEMBERS - 1);
        let keys: Vec<_> = names.iter().map(|name| key(name)).collect();
        let values: Vec<Option<String>> =
            if keys.is_empty() { Vec::new() } else { connection.query(cmd("MGET").arg(keys))? };
        if std::mem::take(&mut self.is_logged) {
            info!(store = %self.config.url, "the store of the RICs that share nodes is available again");
        }
        // after a start, the value of the run before may be there
        if is_other && self.has_announced && !std::mem::replace(&mut self.is_name_taken, true) {
            error!(
                name,
                other = own,
                "another RIC has the same name among those that share nodes: give each a name of its own (--peer-name)"
            );
        }
        self.has_announced = true;
        self.learn(names.into_iter().zip(values));
        Ok(())
    }

    /// Learns who is there, by name and value.
    fn learn(&mut self, rics: impl Iterator<Item = (String, Option<String>)>) {
        let now = Instant::now();
        let ttl = self.config.time_to_live;
        // the others had to wait as well, and their keys may have expired meanwhile
        if now.duration_since(self.answered) > ttl / 2 {
            self.since = now;
        }
        self.answered = now;
        let mut gone = Vec::new();
        for (name, value) in rics {
            match value.as_deref().and_then(read) {
                Some(addresses) => drop(self.seen.insert(name, (addresses, now))),
                None if !self.seen.contains_key(&name) => gone.push(name),
                None => {}
            }
        }
        // while the store was away, the others could not announce themselves either
        if now.duration_since(self.since) > ttl {
            self.seen.retain(|_, (_, last)| *last == now);
            self.forget(&gone);
        }
        let mut members = self.shared.members();
        let others = self.seen.iter().map(|(name, (addresses, _))| (name.clone(), addresses.clone()));
        let Some(gone) = members.set_others(others) else { return };
        let rics: Vec<_> = members.names().collect();
        match rics.as_slice() {
            [_] => info!("no other RIC shares the nodes any more"),
            _ => info!("{} RICs share the nodes: {}", rics.len(), rics.join(", ")),
        }
        drop(members);
        for observer in &self.on_loss {
            gone.iter().for_each(|name| observer(name));
        }
    }

    /// Removes names without a key from the set.
    fn forget(&mut self, names: &[String]) {
        if let (Some(connection), false) = (&mut self.connection, names.is_empty()) {
            let removed = connection.query::<()>(cmd("SREM").arg(NAMES).arg(names));
            if let Err(error) = removed {
                self.lose(&error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_any_release_is_read() {
        let of = |value: &str| read(value).map(|ric| (ric.nodes.to_string(), ric.xapps.map(|xapps| xapps.to_string())));
        let nodes = || "10.0.0.1:36421".to_owned();
        assert_eq!(of("10.0.0.1:36421 12-34"), Some((nodes(), None)));
        assert_eq!(
            of("10.0.0.1:36421 12-34 tls://[fd00::1]:36422 later"),
            Some((nodes(), Some("tls://[fd00::1]:36422".to_owned())))
        );
        assert_eq!(of("10.0.0.1:36421 12-34 nothing"), Some((nodes(), None)));
        assert_eq!((of(""), of("nothing 12-34")), (None, None));
    }
}
