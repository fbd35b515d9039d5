//! The thread that keeps the copy of a map equal to the store.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{RedisError, cmd};
use tracing::{info, warn};

use super::{Change, MAX_CONTENT_OCTETS, MAX_KEY_OCTETS, MapHandle, MapObserver, Shared, State};
use crate::{StoreConnection, StoreUrl, remedy};

/// How often the store is asked whether something has changed.
const PERIOD: Duration = Duration::from_millis(50);
/// The pauses before it connects again: each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// The most changes that are written at a time.
const MAX_BATCH: usize = 256;
/// Entries that are read at a time.
const READ_ENTRIES: usize = 256;
/// The most entries of a map. Further ones, which other programs have written, are ignored.
const MAX_ENTRIES: usize = 32_768;
/// The versions that a copy may be behind before it is read as a whole. [`SCRIPT`] keeps twice as many.
const MAX_BEHIND: u64 = 1000;

/// Makes changes: triples of an operation, a key and a content. The version of the store becomes at least the first argument. A removal
/// is noted even if there is nothing to remove, so that no RIC restores the entry.
const SCRIPT: &str = "\
local entries, version, changed = KEYS[1], KEYS[2], KEYS[3]
local v = math.max(tonumber(redis.call('GET', version) or '0'), tonumber(ARGV[1])) + 1
redis.call('SET', version, string.format('%d', v))
for a = 2, #ARGV, 3 do
  local what, key, content = ARGV[a], ARGV[a + 1], ARGV[a + 2]
  local is_made = true
  if what == 'p' then redis.call('HSET', entries, key, content)
  elseif what == 'd' then redis.call('HDEL', entries, key)
  elseif what == 'n' then
    is_made = not redis.call('ZSCORE', changed, key)
    if is_made then redis.call('HSET', entries, key, content) end
  elseif what == 'u' then
    is_made = redis.call('HEXISTS', entries, key) == 1
    if is_made then redis.call('HSET', entries, key, content) end
  else
    is_made = redis.call('HGET', entries, key) == content
    if is_made then redis.call('HDEL', entries, key) end
  end
  if is_made then redis.call('ZADD', changed, v, key) end
end
redis.call('ZREMRANGEBYSCORE', changed, '-inf', v - 2000)
return v";

pub struct Replica {
    url: StoreUrl,
    name: &'static str,
    shared: Arc<Shared>,
    connection: Option<StoreConnection>,
    observers: Vec<(String, MapObserver)>,
    /// The epoch of the store, and the version that the copy has.
    epoch: Option<String>,
    version: u64,
    /// Entries that others have changed while a change of this RIC was waiting. They are read again, as that change may have no effect.
    again: HashSet<String>,
    pause: Duration,
    is_logged: bool,
}

impl Replica {
    pub fn new(url: StoreUrl, name: &'static str, shared: Arc<Shared>) -> Self {
        Replica {
            url,
            name,
            shared,
            connection: None,
            observers: Vec::new(),
            epoch: None,
            version: 0,
            again: HashSet::new(),
            pause: FIRST_PAUSE,
            is_logged: false,
        }
    }

    pub fn run(mut self) {
        loop {
            let pause = match self.follow() {
                Ok(()) => {
                    self.pause = FIRST_PAUSE;
                    PERIOD
                }
                Err(error) => {
                    self.lose(&error);
                    let pause = self.pause;
                    self.pause = (2 * pause).min(LAST_PAUSE);
                    pause
                }
            };
            let is_connected = self.connection.is_some();
            if self.shared.rest(pause, is_connected) {
                break;
            }
        }
        let written = self.connection.is_some().then(|| self.write());
        let lost = self.shared.state().waiting.len();
        if lost > 0 && !matches!(written, Some(Ok(()))) {
            warn!(
                store = %self.url, map = self.name,
                "{lost} changes that this RIC shares are lost: the store was away when the RIC stopped; other RICs keep their earlier \
                 state until this one starts again, or they take it for lost"
            );
        }
    }

    fn key(&self, what: &str) -> String {
        format!("{{{}}},{what}", self.name)
    }

    fn lose(&mut self, error: &RedisError) {
        self.connection = None;
        self.shared.state().is_available = false;
        if !std::mem::replace(&mut self.is_logged, true) {
            let (store, map, remedy) = (&self.url, self.name, remedy(error));
            warn!(
                %store,
                map,
                %error,
                "cannot reach the store of what RICs share: its copy here is used, and changes wait; retrying; remedy: \
                 {remedy}"
            );
        }
    }

    /// Writes what has changed here, and reads what has changed elsewhere.
    fn follow(&mut self) -> Result<(), RedisError> {
        self.greet_observers();
        if self.connection.is_none() {
            self.connection = Some(self.url.connect()?);
        }
        self.compare_epoch()?;
        self.write()?;
        self.read()?;
        self.shared.state().is_available = true;
        if std::mem::take(&mut self.is_logged) {
            info!(store = %self.url, map = self.name, "what RICs share is available again");
        }
        Ok(())
    }

    fn query<T: redis::FromRedisValue>(&mut self, command: &redis::Cmd) -> Result<T, RedisError> {
        match &mut self.connection {
            Some(connection) => connection.query(command),
            None => Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into()),
        }
    }

    /// Has new observers know what is there.
    fn greet_observers(&mut self) {
        let new = std::mem::take(&mut self.shared.state().new_observers);
        for (prefix, observer) in new {
            let entries = MapHandle(Arc::clone(&self.shared)).with_prefix(&prefix);
            entries.iter().for_each(|(key, content)| observer(key, Some(content)));
            self.observers.push((prefix, observer));
        }
    }

    /// Finds out whether the store has lost its content, or some of it, and restores it then.
    fn compare_epoch(&mut self) -> Result<(), RedisError> {
        let (epoch, version) = (self.key("epoch"), self.key("version"));
        let (found, behind): (Option<String>, Option<u64>) = self.query(cmd("MGET").arg(&epoch).arg(&version))?;
        let found = match found {
            Some(found) => found,
            None => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let own = format!("{}-{}", std::process::id(), since.as_nanos());
                let _: Option<String> = self.query(cmd("SET").arg(&epoch).arg(own).arg("NX"))?;
                self.query(cmd("GET").arg(&epoch))?
            }
        };
        let is_older = behind.unwrap_or(0) < self.version;
        let Some(known) = &self.epoch else {
            self.epoch = Some(found);
            return self.read_all();
        };
        if *known != found {
            info!(store = %self.url, map = self.name, "the store has lost what RICs share: it gets the own copy");
            // another RIC may have restored and changed it since
            self.restore(Change::PutNew)?;
        } else if is_older {
            info!(store = %self.url, map = self.name, "the store has an earlier state of what RICs share: it gets the own copy");
            self.restore(Change::Put)?;
            self.remove_unknown()?;
        } else {
            return Ok(());
        }
        self.epoch = Some(found);
        self.read_all()
    }

    fn restore(&mut self, change: fn(String, Arc<[u8]>) -> Change) -> Result<(), RedisError> {
        let entries = self.shared.state().entries.clone();
        let changes: Vec<_> = entries.into_iter().map(|(key, content)| change(key, content)).collect();
        changes.chunks(MAX_BATCH).try_for_each(|batch| self.make(batch))
    }

    /// Removes entries that were removed before the store has returned to an earlier state.
    fn remove_unknown(&mut self) -> Result<(), RedisError> {
        let keys: Vec<Vec<u8>> = self.query(cmd("HKEYS").arg(self.key("entries")))?;
        let unknown: Vec<_> = {
            let state = self.shared.state();
            keys.into_iter()
                .filter_map(text)
                .filter(|key| !state.entries.contains_key(key))
                .map(Change::Remove)
                .collect()
        };
        unknown.chunks(MAX_BATCH).try_for_each(|batch| self.make(batch))
    }

    /// Makes changes in the store.
    fn make(&mut self, changes: &[Change]) -> Result<(), RedisError> {
        let mut command = cmd("EVAL");
        command.arg(SCRIPT).arg(3).arg(self.key("entries")).arg(self.key("version")).arg(self.key("changed"));
        command.arg(self.version);
        for change in changes {
            let what = match change {
                Change::Put(..) => "p",
                Change::PutNew(..) => "n",
                Change::Replace(..) => "u",
                Change::Remove(_) => "d",
                Change::RemoveEqual(..) => "e",
            };
            command.arg(what).arg(change.key()).arg(change.content());
        }
        self.query::<u64>(&command).map(|_| ())
    }

    /// Writes the changes that wait.
    fn write(&mut self) -> Result<(), RedisError> {
        loop {
            let batch: Vec<_> = self.shared.state().waiting.iter().take(MAX_BATCH).cloned().collect();
            if batch.is_empty() {
                return Ok(());
            }
            self.make(&batch)?;
            let mut state = self.shared.state();
            for change in &batch {
                state.waiting_octets -= change.octets();
            }
            state.waiting.drain(..batch.len());
        }
    }

    /// Reads what has changed.
    fn read(&mut self) -> Result<(), RedisError> {
        let version: Option<u64> = self.query(cmd("GET").arg(self.key("version")))?;
        let version = version.unwrap_or(0);
        // an earlier version is found and corrected before the next read
        let behind = version.saturating_sub(self.version);
        if behind > MAX_BEHIND {
            return self.read_all();
        }
        let mut keys: BTreeSet<_> = self.again.iter().cloned().collect();
        if behind > 0 {
            let mut command = cmd("ZRANGEBYSCORE");
            command.arg(self.key("changed")).arg(format!("({}", self.version)).arg("+inf");
            keys.extend(self.query::<Vec<Vec<u8>>>(&command)?.into_iter().filter_map(text));
        }
        let keys: Vec<_> = keys.into_iter().collect();
        let mut gone = Vec::new();
        for keys in keys.chunks(READ_ENTRIES) {
            let contents: Vec<Option<Vec<u8>>> = self.query(cmd("HMGET").arg(self.key("entries")).arg(keys))?;
            let (there, removed): (Vec<_>, Vec<_>) =
                keys.iter().cloned().zip(contents).partition(|(_, content)| content.is_some());
            self.learn(there.into_iter());
            gone.extend(removed);
        }
        self.learn(gone.into_iter().rev());
        self.version = version.max(self.version);
        Ok(())
    }

    /// Reads all entries.
    fn read_all(&mut self) -> Result<(), RedisError> {
        // what is waiting is not in the store, and remains
        let version: Option<u64> = self.query(cmd("GET").arg(self.key("version")))?;
        let entries: BTreeMap<Vec<u8>, Vec<u8>> = self.query(cmd("HGETALL").arg(self.key("entries")))?;
        let entries: BTreeMap<_, _> =
            entries.into_iter().filter_map(|(key, content)| Some((text(key)?, content))).collect();
        if entries.len() > MAX_ENTRIES {
            warn!(
                store = %self.url,
                map = self.name,
                "{} entries are shared, of which {MAX_ENTRIES} are used: delete those that other programs have written",
                entries.len()
            );
        }
        let known: Vec<_> = self.shared.state().entries.keys().cloned().collect();
        let gone = known.into_iter().filter(|key| !entries.contains_key(key)).map(|key| (key, None));
        let gone: Vec<_> = gone.rev().collect();
        let entries = entries.into_iter().map(|(key, content)| (key, Some(content)));
        self.learn(gone.into_iter().chain(entries));
        self.version = version.unwrap_or(0);
        Ok(())
    }

    /// Takes contents of the store into the copy, and passes on those that are new, in this order. A key that another one begins with
    /// is to come before it, and to go after it: observers take the one for a part of the other.
    fn learn(&mut self, contents: impl Iterator<Item = (String, Option<Vec<u8>>)>) {
        let mut new = Vec::new();
        {
            let mut state = self.shared.state();
            let State { entries, waiting, .. } = &mut *state;
            let own: HashSet<_> = waiting.iter().map(Change::key).collect();
            for (key, content) in contents {
                // what this RIC has changed since follows
                if own.contains(&*key) {
                    self.again.insert(key);
                    continue;
                }
                self.again.remove(&key);
                let content: Option<Arc<[u8]>> = content.map(Into::into);
                let is_long = content.as_ref().is_some_and(|content| content.len() > MAX_CONTENT_OCTETS);
                let has_room = content.is_none() || entries.len() < MAX_ENTRIES || entries.contains_key(&key);
                if is_long || key.len() > MAX_KEY_OCTETS || !has_room {
                    continue;
                }
                if entries.get(&key) != content.as_ref() {
                    match &content {
                        Some(content) => drop(entries.insert(key.clone(), Arc::clone(content))),
                        None => drop(entries.remove(&key)),
                    }
                    new.push((key, content));
                }
            }
        }
        for (key, content) in &new {
            for (_, observer) in self.observers.iter().filter(|(prefix, _)| key.starts_with(&**prefix)) {
                observer(key, content.as_deref());
            }
        }
    }
}

/// A key as text; `None` for one of another program, which is ignored.
fn text(key: Vec<u8>) -> Option<String> {
    String::from_utf8(key).ok()
}

#[cfg(test)]
mod tests {
    use testkit::Redis;

    use super::*;

    fn replica(redis: &Redis) -> (Replica, MapHandle) {
        let shared = Arc::<Shared>::default();
        let mut replica = Replica::new(redis.url().parse().unwrap(), "test-map", Arc::clone(&shared));
        replica.follow().unwrap();
        (replica, MapHandle(shared))
    }

    /// Has a change of another RIC read while an own one waits, and then the own one written.
    fn meet(replica: &mut Replica) {
        replica.read().unwrap();
        replica.write().unwrap();
        replica.read().unwrap();
        assert!(replica.again.is_empty());
    }

    #[test]
    fn change_of_another_ric_is_learnt_if_the_own_one_has_no_effect() {
        let Some(redis) = Redis::start(&[]) else { return };
        let ((mut one, own), (mut two, other)) = (replica(&redis), replica(&redis));
        assert!(own.put("node", b"one") && own.put("subscription", b"x"));
        one.follow().unwrap();
        two.follow().unwrap();
        // the node moves to the other RIC while this one takes it for lost
        assert!(other.put("node", b"two"));
        two.follow().unwrap();
        assert!(own.remove_equal("node", b"one"));
        meet(&mut one);
        assert_eq!(own.get("node").as_deref(), Some(&b"two"[..]));
        // the other RIC deletes what this one replaces
        assert!(other.remove("subscription"));
        two.follow().unwrap();
        assert!(own.replace("subscription", b"y"));
        meet(&mut one);
        assert_eq!(own.get("subscription"), None);
        // an own change that has an effect remains, also if all entries are read
        assert!(other.put("node", b"three"));
        two.follow().unwrap();
        assert!(own.put("node", b"four"));
        one.read_all().unwrap();
        assert_eq!(own.get("node").as_deref(), Some(&b"four"[..]));
        meet(&mut one);
        two.follow().unwrap();
        assert_eq!((own.get("node"), other.get("node")), (Some((*b"four").into()), Some((*b"four").into())));
    }

    #[test]
    fn parts_are_observed_after_what_they_belong_to() {
        let Some(redis) = Redis::start(&[]) else { return };
        let ((mut one, own), (mut two, other)) = (replica(&redis), replica(&redis));
        let (sender, seen) = std::sync::mpsc::channel();
        own.observe("a1 ", Box::new(move |key, content| sender.send((key.to_owned(), content.is_some())).unwrap()));
        one.follow().unwrap();
        let mut keys: Vec<_> = (0..20)
            .flat_map(|id| [format!("a1 {id}"), format!("a1 {id} policy"), format!("a1 {id} policy xapp")])
            .collect();
        keys.sort();
        let mut change = |one: &mut Replica, make: fn(&MapHandle, &str) -> bool| {
            assert!(keys.iter().all(|key| make(&other, key)));
            two.follow().unwrap();
            one.follow().unwrap();
            seen.try_iter().collect::<Vec<_>>()
        };
        let put: Vec<_> = change(&mut one, |other, key| other.put(key, b"x"));
        let removed: Vec<_> = change(&mut one, |other, key| other.remove(key));
        assert_eq!(put, keys.iter().map(|key| (key.clone(), true)).collect::<Vec<_>>());
        assert_eq!(removed, keys.iter().rev().map(|key| (key.clone(), false)).collect::<Vec<_>>());
    }

    #[test]
    fn key_that_is_no_text_is_ignored() {
        let Some(redis) = Redis::start(&[]) else { return };
        let (mut one, own) = replica(&redis);
        let (entries, changed, version) = (one.key("entries"), one.key("changed"), one.key("version"));
        let key = &b"\xff\xfe"[..];
        let write = |replica: &mut Replica, to: u64| {
            let _: u64 = replica.query(cmd("HSET").arg(&entries).arg(key).arg("x").arg("a").arg(to)).unwrap();
            let _: u64 = replica.query(cmd("ZADD").arg(&changed).arg(to).arg(key).arg(to).arg("a")).unwrap();
            let _: String = replica.query(cmd("SET").arg(&version).arg(to)).unwrap();
        };
        for to in [1, MAX_BEHIND + 10] {
            write(&mut one, to);
            one.follow().unwrap();
            assert_eq!(own.get("a").as_deref(), Some(to.to_string().as_bytes()));
        }
        one.remove_unknown().unwrap();
        assert_eq!(own.with_prefix("").len(), 1);
    }

    #[test]
    fn copy_has_no_more_entries_than_allowed() {
        let Some(redis) = Redis::start(&[]) else { return };
        let (mut one, own) = replica(&redis);
        assert!(own.put("z", b"own"));
        one.follow().unwrap();
        let version = one.version + 1;
        let script = "for i = 1, tonumber(ARGV[2]) do
                redis.call('HSET', KEYS[1], 'k' .. i, 'x'); redis.call('ZADD', KEYS[3], ARGV[1], 'k' .. i)
            end
            redis.call('SET', KEYS[2], ARGV[1]) return 1";
        let mut command = cmd("EVAL");
        command.arg(script).arg(3).arg(one.key("entries")).arg(one.key("version")).arg(one.key("changed"));
        let _: u64 = one.query(command.arg(version).arg(MAX_ENTRIES + 10)).unwrap();
        one.read().unwrap();
        assert_eq!((one.version, own.with_prefix("").len()), (version, MAX_ENTRIES));
        one.read_all().unwrap();
        assert_eq!(own.with_prefix("").len(), MAX_ENTRIES);
        assert_eq!(own.get("z").as_deref(), Some(&b"own"[..]));
    }
}
