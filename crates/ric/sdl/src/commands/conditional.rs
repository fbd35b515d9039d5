//! The commands of the O-RAN SC's module for Redis: changes under a condition, and changes with a notification, each atomic.
//!
//! A condition that does not hold is no error: such a command replies nil or 0, and publishes nothing.

use std::ops::Range;

use super::notifications::publish_pair;
use super::octets::{SetOptions, put_pairs};
use super::{Call, octets_of};
use crate::refusal::Refusal;

/// What the present octets of a key are compared with.
#[derive(Clone, Copy)]
enum Condition<'a> {
    /// The key has these octets.
    Equal(&'a [u8]),
    /// The key does not have these octets. One that is absent does not have them.
    NotEqual(&'a [u8]),
    Present,
    Absent,
}

impl Condition<'_> {
    fn holds(self, call: &Call<'_>, key: &[u8]) -> Result<bool, Refusal> {
        let current = octets_of(&call.engine.store, key, call.now_ms)?;
        Ok(match self {
            Condition::Equal(octets) => current == Some(octets),
            Condition::NotEqual(octets) => current != Some(octets),
            Condition::Present => current.is_some(),
            Condition::Absent => current.is_none(),
        })
    }
}

/// Publishes channels and messages in turn.
fn publish_pairs(call: &mut Call<'_>, positions: Range<usize>) -> Result<(), Refusal> {
    if !positions.len().is_multiple_of(2) {
        return Err(Refusal::Arity);
    }
    for at in positions.step_by(2) {
        let (channel, message) = (call.argument(at), call.argument(at + 1));
        publish_pair(call, channel, message)?;
    }
    Ok(())
}

/// KEY OCTETS OLD [OPTION…].
fn set_if(call: &mut Call<'_>, condition: Condition<'_>) -> Result<(), Refusal> {
    let (key, octets) = (call.writable(1)?, call.argument(2));
    let options = SetOptions::read(call, call.request.from(4))?;
    let is_set = condition.holds(call, key)? && options.set(call, key, octets)?;
    if is_set { call.ok() } else { nil(call) }
}

fn nil(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.replies.bulk_or_nil(None);
    Ok(())
}

/// SETIE.
pub(super) fn set_if_equal(call: &mut Call<'_>) -> Result<(), Refusal> {
    let old = call.argument(3);
    set_if(call, Condition::Equal(old))
}

/// SETNE.
pub(super) fn set_if_not_equal(call: &mut Call<'_>) -> Result<(), Refusal> {
    let old = call.argument(3);
    set_if(call, Condition::NotEqual(old))
}

/// KEY OLD [CHANNEL MESSAGE…].
fn delete_if(call: &mut Call<'_>, condition: Condition<'_>) -> Result<(), Refusal> {
    let key = call.writable(1)?;
    let is_present = Condition::Present.holds(call, key)?;
    let is_deleted = is_present && condition.holds(call, key)? && call.delete(key);
    if is_deleted {
        let positions = 3..call.request.len();
        publish_pairs(call, positions)?;
    }
    call.replies.integer(is_deleted.into());
    Ok(())
}

/// DELIE, DELIEPUB and DELIEMPUB.
pub(super) fn delete_if_equal(call: &mut Call<'_>) -> Result<(), Refusal> {
    let old = call.argument(2);
    delete_if(call, Condition::Equal(old))
}

/// DELNE.
pub(super) fn delete_if_not_equal(call: &mut Call<'_>) -> Result<(), Refusal> {
    let old = call.argument(2);
    delete_if(call, Condition::NotEqual(old))
}

pub(super) fn delete_if_equal_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    check_pairs(call, 3)?;
    delete_if_equal(call)
}

pub(super) fn delete_if_not_equal_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    check_pairs(call, 3)?;
    delete_if_not_equal(call)
}

/// Checks that what follows a position are pairs, whether they will be published or not.
fn check_pairs(call: &Call<'_>, from: usize) -> Result<(), Refusal> {
    let rest = call.request.len().checked_sub(from).filter(|rest| rest.is_multiple_of(2));
    rest.map(drop).ok_or(Refusal::Arity)
}

/// Sets KEY OCTETS if a condition holds, and publishes the pairs from a position on.
fn set_if_and_publish(call: &mut Call<'_>, condition: Condition<'_>, from: usize) -> Result<(), Refusal> {
    check_pairs(call, from)?;
    let key = call.writable(1)?;
    if !condition.holds(call, key)? {
        return nil(call);
    }
    call.put(key, call.argument(2))?;
    let positions = from..call.request.len();
    publish_pairs(call, positions)?;
    call.ok()
}

/// SETIEPUB and SETIEMPUB: KEY OCTETS OLD CHANNEL MESSAGE….
pub(super) fn set_if_equal_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    let old = call.argument(3);
    set_if_and_publish(call, Condition::Equal(old), 4)
}

/// SETNEPUB.
pub(super) fn set_if_not_equal_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    let old = call.argument(3);
    set_if_and_publish(call, Condition::NotEqual(old), 4)
}

/// SETXXPUB: KEY OCTETS CHANNEL MESSAGE.
pub(super) fn set_if_present_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    set_if_and_publish(call, Condition::Present, 3)
}

/// SETNXPUB and SETNXMPUB.
pub(super) fn set_if_absent_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    set_if_and_publish(call, Condition::Absent, 3)
}

/// MSETPUB: KEY OCTETS… CHANNEL MESSAGE.
pub(super) fn set_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    check_pairs(call, 1)?;
    let end = call.request.len() - 2; // it has five arguments at least
    put_pairs(call, 1..end)?;
    publish_pairs(call, end..end + 2)?;
    call.ok()
}

/// MSETMPUB: the number of pairs of keys and octets, that of channels and messages, and the pairs.
pub(super) fn set_and_publish_all(call: &mut Call<'_>) -> Result<(), Refusal> {
    let end = counted(call, 2)?;
    put_pairs(call, 3..end)?;
    let positions = end..call.request.len();
    publish_pairs(call, positions)?;
    call.ok()
}

/// Checks the two counts of a command, the first of elements of so many arguments. Returns where the pairs to publish begin.
fn counted(call: &Call<'_>, arguments: usize) -> Result<usize, Refusal> {
    let count = |at| call.number(at).ok().and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
    let (first, second) = count(1).zip(count(2)).ok_or(Refusal::Counts)?;
    let end = first.checked_mul(arguments).and_then(|first| first.checked_add(3)).ok_or(Refusal::Counts)?;
    let all = second.checked_mul(2).and_then(|second| second.checked_add(end));
    if all == Some(call.request.len()) { Ok(end) } else { Err(Refusal::Counts) }
}

/// Deletes keys, and publishes if one of them was there.
fn delete_keys_and_publish(call: &mut Call<'_>, keys: Range<usize>) -> Result<(), Refusal> {
    let mut count = 0;
    for at in keys.clone() {
        let key = call.writable(at)?;
        count += i64::from(call.delete(key));
    }
    if count > 0 {
        let positions = keys.end..call.request.len();
        publish_pairs(call, positions)?;
    }
    call.replies.integer(count);
    Ok(())
}

/// DELPUB: KEY… CHANNEL MESSAGE.
pub(super) fn delete_and_publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    let end = call.request.len() - 2; // it has four arguments at least
    delete_keys_and_publish(call, 1..end)
}

/// DELMPUB: the number of keys, that of channels and messages, the keys, and the pairs.
pub(super) fn delete_and_publish_all(call: &mut Call<'_>) -> Result<(), Refusal> {
    let end = counted(call, 1)?;
    delete_keys_and_publish(call, 3..end)
}
