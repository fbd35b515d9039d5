//! Tenants: who may use the service, what each may see, and how much of it.
//!
//! A tenant has clients, which authenticate themselves ([`oauth`](crate::oauth)); its subscriptions are its own. Its [`Rights`] hold
//! when it subscribes, when an event is matched, and in queries, so that a change of the file is in force with the next event.

mod file;
mod rights;
mod service;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ferric::link::FileStamp;
use subtle::ConstantTimeEq;
use tracing::{info, warn};

use crate::delivery::{AllowList, TenantShare};
use crate::directory::Directory;
use file::{Entry, SecretHash};
pub use rights::{Denied, Rights, UeRights};

/// The file is checked for changes at most this often.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The largest file.
const MAX_FILE_OCTETS: u64 = 16 << 20;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its name: the owner of its subscriptions.
    pub name: Arc<str>,
    /// What it may see.
    pub rights: Rights,
    /// The most subscriptions that it may have, if they are fewer than those of any owner.
    pub max_subscriptions: Option<usize>,
    /// Its part of the delivery.
    pub share: TenantShare,
    /// The servers that its callbacks may be sent to; `None` for those of the service.
    pub callbacks: Option<AllowList>,
}

/// A client of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Client {
    tenant: Arc<Tenant>,
    secret: Option<SecretHash>,
    /// When its secret was set, or it came to its tenant, in seconds of Unix time: older tokens are refused.
    since_s: u64,
}

/// The tenants of a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantTable {
    tenants: BTreeMap<Arc<str>, Arc<Tenant>>,
    clients: BTreeMap<String, Client>,
}

impl TenantTable {
    /// The tenant of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Tenant>> {
        self.tenants.get(name)
    }

    /// All tenants, ordered by their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Tenant>> {
        self.tenants.values()
    }

    /// The tenant of a client, and the time, in seconds of Unix time, before which tokens for it were revoked.
    #[must_use]
    pub fn client(&self, id: &str) -> Option<(&Arc<Tenant>, u64)> {
        self.clients.get(id).map(|client| (&client.tenant, client.since_s))
    }

    /// Whether a client has a secret. The time that this takes depends on neither.
    #[must_use]
    pub fn authenticates(&self, id: &str, secret: &[u8]) -> bool {
        let known = self.clients.get(id).and_then(|client| client.secret);
        // an unknown client costs as much as a wrong secret
        let is_equal = bool::from(file::hash(secret).ct_eq(&known.unwrap_or_default()));
        is_equal && known.is_some()
    }

    /// The tenants of a file. Clients that were there before keep the time since which they have been.
    fn new(entries: &[Entry], directory: Option<&Directory>, before: &TenantTable, now_s: u64) -> Self {
        let mut table = TenantTable::default();
        for entry in entries {
            let Entry { name, rights, max_subscriptions, share, callbacks, clients } = entry.clone();
            let mut rights = rights;
            if let (Some(ues), Some(directory)) = (&mut rights.ues, directory) {
                let (mut ids, mut temporary) = (Vec::new(), None);
                directory.resolve(ues.names.iter().map(|name| &**name), &mut ids, &mut temporary);
                ues.ids.extend(ids);
            }
            let tenant = Arc::new(Tenant { name: name.into(), rights, max_subscriptions, share, callbacks });
            for (id, secret) in clients {
                let known = before.clients.get(&id);
                let known = known.filter(|it| it.secret == secret && it.tenant.name == tenant.name);
                let since_s = known.map_or(now_s, |it| it.since_s);
                table.clients.insert(id, Client { tenant: Arc::clone(&tenant), secret, since_s });
            }
            table.tenants.insert(Arc::clone(&tenant.name), tenant);
        }
        table
    }
}

/// Why a file of tenants cannot be used. The text contains no secret.
#[derive(Debug)]
pub struct TenantsError {
    path: PathBuf,
    reason: String,
}

impl fmt::Display for TenantsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file of tenants {}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for TenantsError {}

/// The tenants of a file, which is read again when it changes. A file with a mistake changes nothing.
#[derive(Debug)]
pub struct Tenants {
    path: PathBuf,
    table: RwLock<Arc<TenantTable>>,
    source: Mutex<Source>,
}

/// Where the table comes from.
#[derive(Debug)]
struct Source {
    entries: Vec<Entry>,
    stamp: Option<FileStamp>,
    checked: Instant,
    directory: Option<Arc<Directory>>,
}

impl Tenants {
    /// Reads a file. Tokens that were issued before it was written are refused: a secret may have changed while the service did not
    /// run.
    ///
    /// # Errors
    /// [`TenantsError`].
    pub fn open(path: &Path) -> Result<Self, TenantsError> {
        // taken before reading, so that a file that is written meanwhile is read again
        let stamp = FileStamp::of(path);
        let written = path.metadata().and_then(|of| of.modified()).ok();
        let written_s = written.map_or(0, |time| seconds(time).min(now_s()));
        let entries = read(path)?;
        let table = TenantTable::new(&entries, None, &TenantTable::default(), written_s);
        let source = Source { entries, stamp, checked: Instant::now(), directory: None };
        Ok(Tenants { path: path.to_owned(), table: RwLock::new(Arc::new(table)), source: Mutex::new(source) })
    }

    /// The tenants of this moment.
    #[must_use]
    pub fn table(&self) -> Arc<TenantTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets what has the identities of UEs that rights name.
    pub fn set_directory(&self, directory: &Arc<Directory>) {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.directory = Some(Arc::clone(directory));
        source.checked -= CHECK_INTERVAL;
    }

    /// Reads the file again if it has changed, and the identities of UEs that rights name; at most once a second. Returns whether a
    /// tenant has changed.
    pub fn refresh(&self) -> bool {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if source.checked.elapsed() < CHECK_INTERVAL {
            return false;
        }
        source.checked = Instant::now();
        let stamp = FileStamp::of(&self.path);
        if stamp != source.stamp {
            source.stamp = stamp;
            match read(&self.path) {
                Ok(entries) => source.entries = entries,
                Err(error) => {
                    warn!("{error}: the tenants stay as they were; correct the file");
                    return false;
                }
            }
        }
        let before = self.table();
        // a token of this second may have been issued before the change
        let table = TenantTable::new(&source.entries, source.directory.as_deref(), &before, now_s() + 1);
        if table == *before {
            return false;
        }
        info!(tenants = table.tenants.len(), clients = table.clients.len(), "the tenants have changed");
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        true
    }
}

fn read(path: &Path) -> Result<Vec<Entry>, TenantsError> {
    let failed = |reason: String| TenantsError { path: path.to_owned(), reason };
    let text = settings::read(path, MAX_FILE_OCTETS).map_err(|error| failed(error.to_string()))?;
    let entries = file::parse(&text).map_err(|error| failed(error.to_string()))?;
    if rest::is_readable_by_all(path) {
        warn!(path = %path.display(), "every user of this host can read the file of tenants, which has secrets; do: chmod o= on it");
    }
    Ok(entries)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The time of the system's clock in seconds of Unix time.
pub(crate) fn now_s() -> u64 {
    seconds(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, before: &TenantTable, now_s: u64) -> TenantTable {
        TenantTable::new(&file::parse(text).unwrap(), None, before, now_s)
    }

    fn tenant(name: &str, client: &str, secret: &str) -> String {
        format!("[[tenant]]\nname = \"{name}\"\n[[tenant.client]]\nid = \"{client}\"\nsecret = \"{secret}\"\n")
    }

    #[test]
    fn client_is_new_when_its_secret_or_tenant_changes() {
        let (one, other) = ("0123456789abcdef", "fedcba9876543210");
        let first = table(&tenant("a", "x", one), &TenantTable::default(), 10);
        let since = |table: &TenantTable| table.client("x").unwrap().1;
        assert_eq!(since(&first), 10);
        assert_eq!(since(&table(&tenant("a", "x", one), &first, 20)), 10);
        assert_eq!(since(&table(&tenant("a", "x", other), &first, 20)), 20);
        assert_eq!(since(&table(&tenant("b", "x", one), &first, 20)), 20);
        let removed = table("", &first, 20);
        assert!(removed.client("x").is_none());
        assert_eq!(since(&table(&tenant("a", "x", one), &removed, 30)), 30);
    }

    #[test]
    fn client_is_authenticated_by_its_secret_only() {
        let table = table(&tenant("a", "x", "0123456789abcdef"), &TenantTable::default(), 0);
        assert!(table.authenticates("x", b"0123456789abcdef"));
        for (id, secret) in [("x", &b"0123456789abcdeg"[..]), ("x", b""), ("y", b"0123456789abcdef"), ("", b"")] {
            assert!(!table.authenticates(id, secret));
        }
    }
}
