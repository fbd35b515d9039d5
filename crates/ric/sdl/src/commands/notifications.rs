//! Messages on channels.

use super::Call;
use crate::access::{Access, namespace_of};
use crate::glob::{self, Budget};
use crate::hub::MAX_PATTERN_OCTETS;
use crate::refusal::Refusal;

/// Steps of comparing channels with a pattern.
const STEPS: u64 = 1_000_000;

/// Has a message sent when the round is durable. Returns the number of clients that get it.
pub(super) fn publish_pair(call: &mut Call<'_>, channel: &[u8], message: &[u8]) -> Result<usize, Refusal> {
    call.check(channel, Access::Write)?;
    call.engine.publications.push((channel.to_vec(), message.to_vec()));
    Ok(call.engine.hub.count(channel))
}

/// PUBLISH.
pub(super) fn publish(call: &mut Call<'_>) -> Result<(), Refusal> {
    let (channel, message) = (call.argument(1), call.argument(2));
    let count = publish_pair(call, channel, message)?;
    call.replies.integer(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(())
}

pub(super) fn subscribe(call: &mut Call<'_>) -> Result<(), Refusal> {
    for channel in call.request.from(1) {
        // the library in Go subscribes to the channel without a name first
        if !channel.is_empty() {
            call.check(channel, Access::Read)?;
        }
    }
    let channels = call.request.from(1).filter(|channel| !call.session.channels.contains(*channel)).count();
    if call.session.channels.len() + channels > call.engine.limits.max_channels {
        return Err(Refusal::Subscriptions);
    }
    for channel in call.request.from(1) {
        call.session.channels.insert(channel.to_vec());
        call.engine.hub.subscribe(call.session.number, channel, false);
        confirm(call, b"subscribe", Some(channel));
    }
    Ok(())
}

/// PSUBSCRIBE.
pub(super) fn subscribe_to_patterns(call: &mut Call<'_>) -> Result<(), Refusal> {
    for pattern in call.request.from(1) {
        if pattern.len() > MAX_PATTERN_OCTETS {
            return Err(Refusal::Subscriptions);
        }
        call.check_namespace(namespace_of(&glob::literal_prefix(pattern)), Access::Read)?;
    }
    let most = call.engine.limits.max_patterns;
    let patterns = call.request.from(1).filter(|pattern| !call.session.patterns.contains(*pattern)).count();
    if call.session.patterns.len() + patterns > most || !call.engine.hub.has_room(most) {
        return Err(Refusal::Subscriptions);
    }
    for pattern in call.request.from(1) {
        call.session.patterns.insert(pattern.to_vec());
        call.engine.hub.subscribe(call.session.number, pattern, true);
        confirm(call, b"psubscribe", Some(pattern));
    }
    Ok(())
}

/// Replies what has become of a subscription, and how many there are.
fn confirm(call: &mut Call<'_>, what: &[u8], name: Option<&[u8]>) {
    call.replies.push(3);
    call.replies.bulk(what);
    call.replies.bulk_or_nil(name);
    call.replies.integer(i64::try_from(call.session.subscriptions()).unwrap_or(i64::MAX));
}

pub(super) fn unsubscribe(call: &mut Call<'_>) -> Result<(), Refusal> {
    leave(call, false)
}

/// PUNSUBSCRIBE.
pub(super) fn unsubscribe_from_patterns(call: &mut Call<'_>) -> Result<(), Refusal> {
    leave(call, true)
}

/// Ends the subscriptions that are named, or all of a kind.
fn leave(call: &mut Call<'_>, is_pattern: bool) -> Result<(), Refusal> {
    let what: &[u8] = if is_pattern { b"punsubscribe" } else { b"unsubscribe" };
    let mut names: Vec<Vec<u8>> = call.request.from(1).map(<[u8]>::to_vec).collect();
    if names.is_empty() {
        let of = if is_pattern { &call.session.patterns } else { &call.session.channels };
        names = of.iter().cloned().collect();
    }
    if names.is_empty() {
        confirm(call, what, None);
    }
    for name in names {
        let session = &mut *call.session;
        let of = if is_pattern { &mut session.patterns } else { &mut session.channels };
        if of.remove(&name) {
            call.engine.hub.unsubscribe(session.number, &name, is_pattern);
        }
        confirm(call, what, Some(&name));
    }
    Ok(())
}

/// PUBSUB CHANNELS [PATTERN], NUMSUB [CHANNEL…] and NUMPAT.
pub(super) fn describe(call: &mut Call<'_>) -> Result<(), Refusal> {
    let word = call.argument(1).to_ascii_lowercase();
    let hub = &call.engine.hub;
    match (&*word, call.request.len()) {
        (b"channels", 2 | 3) => {
            let pattern = if call.request.len() == 3 { call.request.get(2) } else { b"*" };
            let mut budget = Budget(STEPS);
            let mut found = Vec::new();
            for (channel, _) in hub.channels() {
                let is_allowed = call.session.rights.allow(namespace_of(channel), Access::Read);
                if is_allowed && glob::matches(pattern, channel, &mut budget)? {
                    found.push(channel);
                }
            }
            call.replies.array(found.len());
            found.iter().for_each(|channel| call.replies.bulk(channel));
        }
        (b"numsub", _) => {
            call.replies.array(2 * (call.request.len() - 2));
            for channel in call.request.from(2) {
                call.replies.bulk(channel);
                call.replies.integer(i64::try_from(hub.subscribers(channel)).unwrap_or(i64::MAX));
            }
        }
        (b"numpat", 2) => call.replies.integer(i64::try_from(hub.patterns()).unwrap_or(i64::MAX)),
        _ => return Err(Refusal::Syntax),
    }
    Ok(())
}
