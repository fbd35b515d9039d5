//! Commands about keys of any kind, and searches for keys.

use super::{Call, number};
use crate::access::{Access, namespace_of};
use crate::glob::{self, Budget};
use crate::refusal::Refusal;
use crate::store::Value;

/// Steps of a search: some tens of milliseconds.
const SEARCH_STEPS: u64 = 20_000_000;
/// Keys that one SCAN looks at, unless the client says otherwise; and the most that it may ask for.
const SCAN_COUNT: usize = 10;
const MAX_SCAN_COUNT: usize = 10_000;
/// The latest time at which a key may end: in the year 10000.
const MAX_EXPIRES_MS: u64 = 253_402_300_800_000;

/// DEL, UNLINK.
pub(super) fn delete(call: &mut Call<'_>) -> Result<(), Refusal> {
    let mut count = 0;
    for at in 1..call.request.len() {
        let key = call.writable(at)?;
        count += i64::from(call.delete(key));
    }
    call.replies.integer(count);
    Ok(())
}

pub(super) fn exists(call: &mut Call<'_>) -> Result<(), Refusal> {
    let mut count = 0;
    for at in 1..call.request.len() {
        let key = call.readable(at)?;
        count += i64::from(call.engine.store.get(key, call.now_ms).is_some());
    }
    call.replies.integer(count);
    Ok(())
}

/// TYPE.
pub(super) fn kind(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    call.replies.status(match call.engine.store.get(key, call.now_ms).map(|entry| &entry.value) {
        None => "none",
        Some(Value::Octets(_)) => "string",
        Some(Value::Members(_)) => "set",
    });
    Ok(())
}

pub(super) fn ttl(call: &mut Call<'_>) -> Result<(), Refusal> {
    reply_time_left(call, 1000)
}

pub(super) fn pttl(call: &mut Call<'_>) -> Result<(), Refusal> {
    reply_time_left(call, 1)
}

fn reply_time_left(call: &mut Call<'_>, unit_ms: u64) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    let left = match time_left(call, key) {
        TimeLeft::NoKey => -2,
        TimeLeft::Unlimited => -1,
        TimeLeft::Milliseconds(left) => (left as u64).div_ceil(unit_ms) as i64, // within MAX_EXPIRES_MS
    };
    call.replies.integer(left);
    Ok(())
}

/// The time until a key ends.
pub(super) enum TimeLeft {
    NoKey,
    Unlimited,
    Milliseconds(i64),
}

pub(super) fn time_left(call: &Call<'_>, key: &[u8]) -> TimeLeft {
    match call.engine.store.get(key, call.now_ms).map(|entry| entry.expires_ms) {
        None => TimeLeft::NoKey,
        Some(None) => TimeLeft::Unlimited,
        Some(Some(end)) => TimeLeft::Milliseconds(i64::try_from(end.saturating_sub(call.now_ms)).unwrap_or(i64::MAX)),
    }
}

pub(super) fn expire(call: &mut Call<'_>) -> Result<(), Refusal> {
    expire_after(call, 1000)
}

pub(super) fn pexpire(call: &mut Call<'_>) -> Result<(), Refusal> {
    expire_after(call, 1)
}

pub(super) fn expire_at(call: &mut Call<'_>) -> Result<(), Refusal> {
    let at = call.number(2)?.saturating_mul(1000);
    set_end(call, at)
}

pub(super) fn pexpire_at(call: &mut Call<'_>) -> Result<(), Refusal> {
    let at = call.number(2)?;
    set_end(call, at)
}

fn expire_after(call: &mut Call<'_>, unit_ms: i64) -> Result<(), Refusal> {
    let after = call.number(2)?.saturating_mul(unit_ms);
    let now = i64::try_from(call.now_ms).unwrap_or(i64::MAX);
    set_end(call, now.saturating_add(after))
}

/// Sets the time at which a key ends; in the past it is removed.
fn set_end(call: &mut Call<'_>, at_ms: i64) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    let is_set = match u64::try_from(at_ms) {
        Ok(at) if at > MAX_EXPIRES_MS => return Err(Refusal::Expiry),
        Ok(at) if at > call.now_ms => call.engine.store.set_expiry(key, Some(at), call.now_ms),
        _ => call.delete(key),
    };
    call.replies.integer(is_set.into());
    Ok(())
}

/// Returns when a key ends that is given a positive time from now.
pub(super) fn end_after(call: &Call<'_>, amount: &[u8], unit_ms: u64) -> Result<u64, Refusal> {
    let amount = u64::try_from(number(amount)?).ok().filter(|amount| *amount > 0).ok_or(Refusal::Expiry)?;
    let end = amount.checked_mul(unit_ms).and_then(|after| after.checked_add(call.now_ms));
    end.filter(|end| *end <= MAX_EXPIRES_MS).ok_or(Refusal::Expiry)
}

pub(super) fn persist(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    let had_end = matches!(time_left(call, key), TimeLeft::Milliseconds(_));
    if had_end {
        call.engine.store.set_expiry(key, None, call.now_ms);
    }
    call.replies.integer(had_end.into());
    Ok(())
}

/// DBSIZE.
pub(super) fn count(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.check_namespace(None, Access::Read)?;
    call.replies.integer(i64::try_from(call.engine.store.count()).unwrap_or(i64::MAX));
    Ok(())
}

/// Checks that a client may access what a pattern can cover, and returns what all of that begins with.
fn check_pattern(call: &Call<'_>, pattern: &[u8], access: Access) -> Result<Vec<u8>, Refusal> {
    if pattern.len() > call.engine.limits.max_key_octets {
        return Err(Refusal::Key(call.engine.limits.max_key_octets));
    }
    let prefix = glob::literal_prefix(pattern);
    // without a whole namespace in front, any can be covered
    call.check_namespace(namespace_of(&prefix), access)?;
    Ok(prefix)
}

/// Returns the keys that a pattern covers.
fn search(call: &Call<'_>, pattern: &[u8], access: Access) -> Result<Vec<Vec<u8>>, Refusal> {
    let prefix = check_pattern(call, pattern, access)?;
    let mut budget = Budget(SEARCH_STEPS);
    let mut found = Vec::new();
    let mut octets = 0;
    for key in call.engine.store.keys(&prefix, None, call.now_ms) {
        if glob::matches(pattern, key, &mut budget)? {
            octets += key.len();
            if octets > call.replies.room() {
                return Err(Refusal::Reply);
            }
            found.push(key.to_vec());
        }
    }
    Ok(found)
}

/// KEYS.
pub(super) fn list(call: &mut Call<'_>) -> Result<(), Refusal> {
    let found = search(call, call.argument(1), Access::Read)?;
    call.replies.array(found.len());
    found.iter().for_each(|key| call.replies.bulk(key));
    Ok(())
}

/// SCAN CURSOR [MATCH PATTERN] [COUNT N] [TYPE KIND].
pub(super) fn scan(call: &mut Call<'_>) -> Result<(), Refusal> {
    let (mut pattern, mut count, mut kind) = (&b"*"[..], SCAN_COUNT, None);
    let options = call.request.from(2).collect::<Vec<_>>();
    for option in options.chunks(2) {
        let [word, value] = option else { return Err(Refusal::Syntax) };
        match &*word.to_ascii_lowercase() {
            b"match" => pattern = value,
            b"count" => {
                let wanted = usize::try_from(number(value)?).ok().filter(|count| *count > 0);
                count = wanted.ok_or(Refusal::Syntax)?.min(MAX_SCAN_COUNT);
            }
            b"type" => kind = Some(value.to_ascii_lowercase()),
            _ => return Err(Refusal::Syntax),
        }
    }
    let cursor = u64::try_from(call.number(1)?).map_err(|_| Refusal::Cursor)?;
    let prefix = check_pattern(call, pattern, Access::Read)?;
    let after = match cursor {
        0 => None,
        cursor => Some(call.engine.cursor(cursor).ok_or(Refusal::Cursor)?.to_vec()),
    };
    let mut budget = Budget(SEARCH_STEPS);
    let (mut found, mut last) = (Vec::new(), None);
    let store = &call.engine.store;
    let mut keys = store.keys(&prefix, after.as_deref(), call.now_ms);
    for key in keys.by_ref().take(count) {
        last = Some(key.to_vec());
        let is_of_kind =
            kind.as_deref().is_none_or(|kind| match store.get(key, call.now_ms).map(|entry| &entry.value) {
                Some(Value::Octets(_)) => kind == b"string",
                Some(Value::Members(_)) => kind == b"set",
                None => false,
            });
        if is_of_kind && glob::matches(pattern, key, &mut budget)? {
            found.push(key.to_vec());
        }
    }
    let has_more = keys.next().is_some();
    drop(keys);
    let next = match last.filter(|_| has_more) {
        Some(last) => call.engine.add_cursor(&last),
        None => 0,
    };
    call.replies.array(2);
    call.replies.bulk(next.to_string().as_bytes());
    call.replies.array(found.len());
    found.iter().for_each(|key| call.replies.bulk(key));
    Ok(())
}

/// NGET.ATOMIC PATTERN [COUNT N]: keys with octets, each with its value.
pub(super) fn get_matching(call: &mut Call<'_>) -> Result<(), Refusal> {
    match call.request.len() {
        2 => {}
        4 if call.argument(2).eq_ignore_ascii_case(b"count") && call.number(3)? >= 1 => {}
        4 => return Err(Refusal::Syntax),
        _ => return Err(Refusal::Arity),
    }
    let mut found = search(call, call.argument(1), Access::Read)?;
    let store = &call.engine.store;
    found.retain(|key| matches!(super::octets_of(store, key, call.now_ms), Ok(Some(_))));
    call.replies.array(2 * found.len());
    for key in &found {
        call.replies.bulk(key);
        call.replies.bulk(super::octets_of(store, key, call.now_ms)?.unwrap_or_default());
    }
    Ok(())
}

/// NDEL.ATOMIC PATTERN.
pub(super) fn delete_matching(call: &mut Call<'_>) -> Result<(), Refusal> {
    let found = search(call, call.argument(1), Access::Write)?;
    let count = found.iter().filter(|key| call.engine.store.remove(key, call.now_ms)).count();
    call.replies.integer(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(())
}
