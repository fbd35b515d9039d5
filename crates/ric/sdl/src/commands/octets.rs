//! Commands about octets, which Redis calls strings.

use super::keys::end_after;
use super::{Call, number, octets_of};
use crate::refusal::Refusal;
use crate::store::{Entry, Value};

pub(super) fn get(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    call.replies.bulk_or_nil(octets_of(&call.engine.store, key, call.now_ms)?);
    Ok(())
}

/// MGET: a key with a group has no octets.
pub(super) fn get_all(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.replies.array(call.request.len() - 1);
    for at in 1..call.request.len() {
        let key = call.readable(at)?;
        call.replies.bulk_or_nil(octets_of(&call.engine.store, key, call.now_ms).unwrap_or(None));
    }
    Ok(())
}

/// STRLEN.
pub(super) fn length(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    let length = octets_of(&call.engine.store, key, call.now_ms)?.map_or(0, <[u8]>::len);
    call.replies.integer(i64::try_from(length).unwrap_or(i64::MAX));
    Ok(())
}

/// The options of SET.
#[derive(Default)]
pub(super) struct SetOptions {
    expires_ms: Option<u64>,
    keeps_expiry: bool,
    is_if_absent: bool,
    is_if_present: bool,
    is_with_old: bool,
}

impl SetOptions {
    /// Reads `NX`, `XX`, `GET`, `KEEPTTL`, `EX SECONDS`, `PX MILLISECONDS`, `EXAT SECONDS` and `PXAT MILLISECONDS`.
    pub fn read<'a>(call: &Call<'_>, words: impl Iterator<Item = &'a [u8]>) -> Result<Self, Refusal> {
        let mut options = SetOptions::default();
        let mut words = words;
        while let Some(word) = words.next() {
            let word = word.to_ascii_lowercase();
            match &*word {
                b"nx" => options.is_if_absent = true,
                b"xx" => options.is_if_present = true,
                b"get" => options.is_with_old = true,
                b"keepttl" => options.keeps_expiry = true,
                b"ex" | b"px" | b"exat" | b"pxat" => {
                    if options.expires_ms.is_some() {
                        return Err(Refusal::Syntax);
                    }
                    let amount = words.next().ok_or(Refusal::Syntax)?;
                    let unit_ms = if word.starts_with(b"e") { 1000 } else { 1 };
                    options.expires_ms = Some(if word.ends_with(b"at") {
                        let at = u64::try_from(number(amount)?).ok().filter(|at| *at > 0);
                        at.and_then(|at| at.checked_mul(unit_ms)).ok_or(Refusal::Expiry)?
                    } else {
                        end_after(call, amount, unit_ms)?
                    });
                }
                _ => return Err(Refusal::Syntax),
            }
        }
        let is_contradictory = options.is_if_absent && options.is_if_present;
        if is_contradictory || options.keeps_expiry && options.expires_ms.is_some() {
            return Err(Refusal::Syntax);
        }
        Ok(options)
    }

    /// Sets octets if the conditions hold. Returns whether they did.
    pub fn set(&self, call: &mut Call<'_>, key: &[u8], octets: &[u8]) -> Result<bool, Refusal> {
        let current = call.engine.store.get(key, call.now_ms);
        let is_present = current.is_some();
        if self.is_if_absent && is_present || self.is_if_present && !is_present {
            return Ok(false);
        }
        let kept = current.and_then(|entry| entry.expires_ms).filter(|_| self.keeps_expiry);
        let entry = Entry { value: Value::Octets(octets.to_vec()), expires_ms: self.expires_ms.or(kept) };
        call.engine.store.put(key, entry)?;
        Ok(true)
    }
}

pub(super) fn set(call: &mut Call<'_>) -> Result<(), Refusal> {
    let (key, octets) = (call.writable(1)?, call.argument(2));
    let options = SetOptions::read(call, call.request.from(3))?;
    let old = match options.is_with_old {
        true => octets_of(&call.engine.store, key, call.now_ms)?.map(<[u8]>::to_vec),
        false => None,
    };
    let is_set = options.set(call, key, octets)?;
    match (options.is_with_old, is_set) {
        (true, _) => call.replies.bulk_or_nil(old.as_deref()),
        (false, true) => call.replies.status("OK"),
        (false, false) => call.replies.bulk_or_nil(None),
    }
    Ok(())
}

/// SETNX.
pub(super) fn set_if_absent(call: &mut Call<'_>) -> Result<(), Refusal> {
    let (key, octets) = (call.writable(1)?, call.argument(2));
    let is_set = SetOptions { is_if_absent: true, ..SetOptions::default() }.set(call, key, octets)?;
    call.replies.integer(is_set.into());
    Ok(())
}

/// SETEX.
pub(super) fn set_for_seconds(call: &mut Call<'_>) -> Result<(), Refusal> {
    set_for(call, 1000)
}

/// PSETEX.
pub(super) fn set_for_milliseconds(call: &mut Call<'_>) -> Result<(), Refusal> {
    set_for(call, 1)
}

fn set_for(call: &mut Call<'_>, unit_ms: u64) -> Result<(), Refusal> {
    let (key, octets) = (call.writable(1)?, call.argument(3));
    let expires_ms = Some(end_after(call, call.argument(2), unit_ms)?);
    SetOptions { expires_ms, ..SetOptions::default() }.set(call, key, octets)?;
    call.ok()
}

/// Sets keys and octets in turn.
pub(super) fn put_pairs(call: &mut Call<'_>, positions: std::ops::Range<usize>) -> Result<(), Refusal> {
    for at in positions.step_by(2) {
        let key = call.writable(at)?;
        call.put(key, call.argument(at + 1))?;
    }
    Ok(())
}

fn pairs(call: &Call<'_>) -> Result<std::ops::Range<usize>, Refusal> {
    if call.request.len().is_multiple_of(2) { Err(Refusal::Arity) } else { Ok(1..call.request.len()) }
}

/// MSET.
pub(super) fn set_all(call: &mut Call<'_>) -> Result<(), Refusal> {
    let positions = pairs(call)?;
    put_pairs(call, positions)?;
    call.ok()
}

/// MSETNX.
pub(super) fn set_all_if_absent(call: &mut Call<'_>) -> Result<(), Refusal> {
    let positions = pairs(call)?;
    let mut is_set = true;
    for at in positions.clone().step_by(2) {
        let key = call.writable(at)?;
        is_set &= call.engine.store.get(key, call.now_ms).is_none();
    }
    if is_set {
        put_pairs(call, positions)?;
    }
    call.replies.integer(is_set.into());
    Ok(())
}

/// GETSET.
pub(super) fn get_and_set(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    call.replies.bulk_or_nil(octets_of(&call.engine.store, key, call.now_ms)?);
    call.put(key, call.argument(2))
}

/// GETDEL.
pub(super) fn get_and_delete(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    call.replies.bulk_or_nil(octets_of(&call.engine.store, key, call.now_ms)?);
    call.delete(key);
    Ok(())
}

pub(super) fn append(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    let mut octets = octets_of(&call.engine.store, key, call.now_ms)?.unwrap_or_default().to_vec();
    octets.extend_from_slice(call.argument(2));
    if octets.len() > call.engine.limits.max_request_octets {
        return Err(Refusal::Full(crate::store::Full::Namespace));
    }
    call.replies.integer(i64::try_from(octets.len()).unwrap_or(i64::MAX));
    keep_expiry(call, key, &octets)
}

/// Sets octets, and keeps the time at which the key ends.
fn keep_expiry(call: &mut Call<'_>, key: &[u8], octets: &[u8]) -> Result<(), Refusal> {
    SetOptions { keeps_expiry: true, ..SetOptions::default() }.set(call, key, octets).map(drop)
}

/// INCR.
pub(super) fn increment(call: &mut Call<'_>) -> Result<(), Refusal> {
    add(call, 1)
}

/// DECR.
pub(super) fn decrement(call: &mut Call<'_>) -> Result<(), Refusal> {
    add(call, -1)
}

/// INCRBY.
pub(super) fn increment_by(call: &mut Call<'_>) -> Result<(), Refusal> {
    let amount = call.number(2)?;
    add(call, amount)
}

/// DECRBY.
pub(super) fn decrement_by(call: &mut Call<'_>) -> Result<(), Refusal> {
    let amount = call.number(2)?.checked_neg().ok_or(Refusal::Integer)?;
    add(call, amount)
}

fn add(call: &mut Call<'_>, amount: i64) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    let current = octets_of(&call.engine.store, key, call.now_ms)?.map_or(Ok(0), number)?;
    let sum = current.checked_add(amount).ok_or(Refusal::Integer)?;
    call.replies.integer(sum);
    keep_expiry(call, key, sum.to_string().as_bytes())
}
