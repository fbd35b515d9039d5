//! Commands about groups, which Redis calls sets.

use std::collections::BTreeSet;

use super::Call;
use crate::refusal::Refusal;
use crate::store::{Entry, Store, Value};

fn members_of<'s>(store: &'s Store, key: &[u8], now_ms: u64) -> Result<Option<&'s BTreeSet<Vec<u8>>>, Refusal> {
    match store.get(key, now_ms) {
        None => Ok(None),
        Some(Entry { value: Value::Members(members), .. }) => Ok(Some(members)),
        Some(_) => Err(Refusal::Kind),
    }
}

/// SADD.
pub(super) fn add(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    members_of(&call.engine.store, key, call.now_ms)?;
    let mut count = 0;
    for member in call.request.from(2) {
        count += i64::from(call.engine.store.add_member(key, member, call.now_ms)?);
    }
    call.replies.integer(count);
    Ok(())
}

/// SREM.
pub(super) fn remove(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    members_of(&call.engine.store, key, call.now_ms)?;
    let mut count = 0;
    for member in call.request.from(2) {
        count += i64::from(call.engine.store.remove_member(key, member, call.now_ms));
    }
    call.replies.integer(count);
    Ok(())
}

/// SMEMBERS.
pub(super) fn members(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    let members = members_of(&call.engine.store, key, call.now_ms)?;
    call.replies.set(members.map_or(0, BTreeSet::len));
    members.into_iter().flatten().for_each(|member| call.replies.bulk(member));
    Ok(())
}

/// SISMEMBER.
pub(super) fn is_member(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    let members = members_of(&call.engine.store, key, call.now_ms)?;
    let is_member = members.is_some_and(|members| members.contains(call.request.get(2)));
    call.replies.integer(is_member.into());
    Ok(())
}

/// SMISMEMBER.
pub(super) fn are_members(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    let members = members_of(&call.engine.store, key, call.now_ms)?;
    call.replies.array(call.request.len() - 2);
    for member in call.request.from(2) {
        call.replies.integer(members.is_some_and(|members| members.contains(member)).into());
    }
    Ok(())
}

/// SCARD.
pub(super) fn size(call: &mut Call<'_>) -> Result<(), Refusal> {
    let key = call.readable(1)?;
    let size = members_of(&call.engine.store, key, call.now_ms)?.map_or(0, BTreeSet::len);
    call.replies.integer(i64::try_from(size).unwrap_or(i64::MAX));
    Ok(())
}
