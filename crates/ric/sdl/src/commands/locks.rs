//! The scripts of locks.

use super::keys::{TimeLeft, end_after, time_left};
use super::{Call, number, octets_of};
use crate::refusal::Refusal;
use crate::scripts::Script;

/// EVAL TEXT 1 KEY TOKEN….
pub(super) fn evaluate(call: &mut Call<'_>) -> Result<(), Refusal> {
    let text = call.argument(1);
    // the client may use its digest from now on
    call.engine.scripts.load(text).ok_or(Refusal::Script)?;
    let script = Script::of_text(text).ok_or(Refusal::Script)?;
    run(call, script)
}

/// EVALSHA DIGEST 1 KEY TOKEN….
pub(super) fn evaluate_loaded(call: &mut Call<'_>) -> Result<(), Refusal> {
    let script = call.engine.scripts.find(call.argument(1)).ok_or(Refusal::NoScript)?;
    run(call, script)
}

fn run(call: &mut Call<'_>, script: Script) -> Result<(), Refusal> {
    let arguments = match script {
        Script::Release | Script::Validity => 1,
        Script::Reacquire => 2,
        Script::Extend => 3,
    };
    if call.number(2)? != 1 || call.request.len() != 4 + arguments {
        return Err(Refusal::Arity);
    }
    let key = match script {
        Script::Validity => call.readable(3)?,
        _ => call.writable(3)?,
    };
    let token = octets_of(&call.engine.store, key, call.now_ms)?;
    let is_owner = token == Some(call.request.get(4));
    let result = match script {
        Script::Validity if token.is_none() => -10,
        Script::Validity if !is_owner => -11,
        Script::Validity => match time_left(call, key) {
            TimeLeft::Milliseconds(left) => left,
            TimeLeft::Unlimited => -1,
            TimeLeft::NoKey => -2,
        },
        _ if !is_owner => 0,
        Script::Release => call.delete(key).into(),
        Script::Reacquire => {
            let end = end_after(call, call.argument(5), 1)?;
            call.engine.store.set_expiry(key, Some(end), call.now_ms).into()
        }
        Script::Extend => match time_left(call, key) {
            TimeLeft::Milliseconds(left) => {
                let more = number(call.argument(5))?;
                let total = if call.argument(6) == b"0" { more.saturating_add(left) } else { more };
                let end = end_after(call, total.to_string().as_bytes(), 1)?;
                call.engine.store.set_expiry(key, Some(end), call.now_ms).into()
            }
            // a lock without a limit is not extended
            TimeLeft::Unlimited | TimeLeft::NoKey => 0,
        },
    };
    call.replies.integer(result);
    Ok(())
}

/// SCRIPT LOAD TEXT, EXISTS DIGEST… and FLUSH.
pub(super) fn script(call: &mut Call<'_>) -> Result<(), Refusal> {
    let word = call.argument(1).to_ascii_lowercase();
    match (&*word, call.request.len()) {
        (b"load", 3) => {
            let digest = call.engine.scripts.load(call.argument(2)).ok_or(Refusal::Script)?;
            call.replies.bulk(digest.as_bytes());
        }
        (b"exists", 3..) => {
            call.replies.array(call.request.len() - 2);
            for digest in call.request.from(2) {
                call.replies.integer(call.engine.scripts.find(digest).is_some().into());
            }
        }
        (b"flush", 2 | 3) => {
            call.engine.scripts.clear();
            return call.ok();
        }
        _ => return Err(Refusal::Syntax),
    }
    Ok(())
}
