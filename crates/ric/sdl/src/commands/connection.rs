//! Commands about the connection, the service and transactions.

use super::{Call, all};
use crate::access::Credential;
use crate::engine::Transaction;
use crate::refusal::Refusal;
use crate::resp::{Replies, Version};

/// The longest name that a client may give its connection.
const MAX_NAME_OCTETS: usize = 128;

/// AUTH TOKEN, or AUTH NAME TOKEN.
pub(super) fn auth(call: &mut Call<'_>) -> Result<(), Refusal> {
    let (name, token) = match call.request.len() {
        2 => (None, call.argument(1)),
        3 => (Some(call.argument(1)), call.argument(2)),
        _ => return Err(Refusal::Syntax),
    };
    authenticate(call, name, token)?;
    call.ok()
}

fn authenticate(call: &mut Call<'_>, name: Option<&[u8]>, token: &[u8]) -> Result<(), Refusal> {
    let access = &call.engine.access;
    if !access.is_restricted() {
        return Ok(()); // as everybody may do everything, a token changes nothing
    }
    // clients that know one password only send it with this name
    let name = name.filter(|name| *name != b"default");
    let Some((token, rights)) = access.authenticate(name, token) else {
        call.session.wrong_tokens += 1;
        return Err(Refusal::WrongToken);
    };
    (call.session.credential, call.session.rights) = (Credential::Token(token), rights);
    Ok(())
}

/// HELLO [VERSION [AUTH NAME TOKEN] [SETNAME NAME]].
pub(super) fn hello(call: &mut Call<'_>) -> Result<(), Refusal> {
    let version = match (call.request.len(), call.argument(1)) {
        (1, _) => call.session.version,
        (_, b"2") => Version::V2,
        (_, b"3") => Version::V3,
        _ => return Err(Refusal::Version),
    };
    let mut at = 2;
    while at < call.request.len() {
        let word = call.argument(at);
        if word.eq_ignore_ascii_case(b"auth") && at + 2 < call.request.len() {
            let (name, token) = (call.argument(at + 1), call.argument(at + 2));
            authenticate(call, Some(name), token)?;
            at += 3;
        } else if word.eq_ignore_ascii_case(b"setname") && at + 1 < call.request.len() {
            let name = call.argument(at + 1);
            set_name(call, name)?;
            at += 2;
        } else {
            return Err(Refusal::Syntax);
        }
    }
    if call.session.rights.is_none() {
        return Err(Refusal::NoAuth);
    }
    call.session.version = version;
    let number = i64::try_from(call.session.number).unwrap_or(i64::MAX);
    let replies = &mut *call.replies;
    replies.set_version(version);
    replies.map(7);
    for (key, value) in [("server", "ferric"), ("version", env!("CARGO_PKG_VERSION"))] {
        replies.bulk(key.as_bytes());
        replies.bulk(value.as_bytes());
    }
    for (key, value) in [("proto", if version == Version::V2 { 2 } else { 3 }), ("id", number)] {
        replies.bulk(key.as_bytes());
        replies.integer(value);
    }
    for (key, value) in [("mode", "standalone"), ("role", "master")] {
        replies.bulk(key.as_bytes());
        replies.bulk(value.as_bytes());
    }
    replies.bulk(b"modules");
    replies.array(0);
    Ok(())
}

/// ACL WHOAMI: the name in the line of the file of tokens that the rights are from.
pub(super) fn acl(call: &mut Call<'_>) -> Result<(), Refusal> {
    if call.request.len() != 2 || !call.argument(1).eq_ignore_ascii_case(b"whoami") {
        return Err(Refusal::Syntax);
    }
    call.replies.bulk(call.session.rights.name.as_bytes());
    Ok(())
}

pub(super) fn quit(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.session.is_closing = true;
    call.ok()
}

/// The connection is as it was at its begin.
pub(super) fn reset(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.engine.leave(call.session);
    let session = &mut *call.session;
    (session.transaction, session.name, session.version) = Default::default();
    session.identify(&call.engine.access);
    call.replies.status("RESET");
    Ok(())
}

pub(super) fn ping(call: &mut Call<'_>) -> Result<(), Refusal> {
    let text = match call.request.len() {
        1 => None,
        2 => Some(call.argument(1)),
        _ => return Err(Refusal::Arity),
    };
    if call.session.version == Version::V2 && call.session.has_subscriptions() {
        call.replies.array(2);
        call.replies.bulk(b"pong");
        call.replies.bulk(text.unwrap_or_default());
        return Ok(());
    }
    match text {
        Some(text) => call.replies.bulk(text),
        None => call.replies.status("PONG"),
    }
    Ok(())
}

pub(super) fn echo(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.replies.bulk(call.argument(1));
    Ok(())
}

pub(super) fn select(call: &mut Call<'_>) -> Result<(), Refusal> {
    if call.argument(1) != b"0" {
        return Err(Refusal::Database);
    }
    call.ok()
}

/// CLIENT SETNAME, GETNAME, SETINFO and ID.
pub(super) fn client(call: &mut Call<'_>) -> Result<(), Refusal> {
    let word = call.argument(1).to_ascii_lowercase();
    match (&*word, call.request.len()) {
        (b"setname", 3) => {
            let name = call.argument(2);
            set_name(call, name)?;
            call.ok()
        }
        (b"getname", 2) => {
            let name = Some(&*call.session.name).filter(|name| !name.is_empty());
            call.replies.bulk_or_nil(name);
            Ok(())
        }
        // the name and the version of a library, which nobody reads here
        (b"setinfo", 4) => call.ok(),
        (b"id", 2) => {
            call.replies.integer(i64::try_from(call.session.number).unwrap_or(i64::MAX));
            Ok(())
        }
        _ => Err(Refusal::Syntax),
    }
}

fn set_name(call: &mut Call<'_>, name: &[u8]) -> Result<(), Refusal> {
    if name.len() > MAX_NAME_OCTETS || !name.iter().all(u8::is_ascii_graphic) {
        return Err(Refusal::Syntax);
    }
    call.session.name = name.to_vec();
    Ok(())
}

/// COMMAND [COUNT | INFO NAME…]. The SDL library in Go looks for the commands of the O-RAN SC's module here.
pub(super) fn command(call: &mut Call<'_>) -> Result<(), Refusal> {
    let replies = &mut *call.replies;
    let describe = |replies: &mut Replies, command: &super::Command| {
        replies.array(6);
        replies.bulk(command.name.as_bytes());
        replies.integer(command.arity.into());
        replies.array(1);
        replies.status(if command.is_write { "write" } else { "readonly" });
        for number in [command.keys.0, command.keys.1, command.keys.2] {
            replies.integer(number.into());
        }
    };
    if call.request.len() == 1 {
        replies.array(all().len());
        all().iter().for_each(|command| describe(replies, command));
        return Ok(());
    }
    if call.request.get(1).eq_ignore_ascii_case(b"count") {
        replies.integer(all().len() as i64); // fewer than 100
        return Ok(());
    }
    if !call.request.get(1).eq_ignore_ascii_case(b"info") {
        return Err(Refusal::Syntax);
    }
    replies.array(call.request.len() - 2);
    for name in call.request.from(2) {
        match super::find(name) {
            Some(command) => describe(replies, command),
            None => replies.bulk_or_nil(None),
        }
    }
    Ok(())
}

/// INFO, of which a part is not distinguished.
pub(super) fn info(call: &mut Call<'_>) -> Result<(), Refusal> {
    let engine = &*call.engine;
    let counts = &engine.counts;
    let text = format!(
        "# Server\r\nserver_name:ferric\r\nredis_mode:standalone\r\n# Clients\r\nconnected_clients:{}\r\nblocked_clients:0\r\n# Memory\r\nused_memory:{}\r\n\
         maxmemory:{}\r\n# Stats\r\ntotal_connections_received:{}\r\nrejected_connections:{}\r\ntotal_commands_processed:{}\r\n\
         pubsub_channels:{}\r\npubsub_patterns:{}\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n# Keyspace\r\n\
         db0:keys={},expires=0,avg_ttl=0\r\n",
        counts.connections,
        engine.store.octets(),
        engine.limits.max_octets,
        counts.admitted,
        counts.refused,
        counts.commands,
        engine.hub.channels().count(),
        engine.hub.patterns(),
        engine.store.count(),
    );
    call.replies.bulk(text.as_bytes());
    Ok(())
}

pub(super) fn time(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.replies.array(2);
    call.replies.bulk((call.now_ms / 1000).to_string().as_bytes());
    call.replies.bulk((call.now_ms % 1000 * 1000).to_string().as_bytes());
    Ok(())
}

pub(super) fn multi(call: &mut Call<'_>) -> Result<(), Refusal> {
    if call.session.transaction.is_some() {
        return Err(Refusal::Transaction("MULTI within MULTI"));
    }
    call.session.transaction = Some(Transaction::default());
    call.ok()
}

pub(super) fn exec(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.engine.execute_transaction(call.session, call.now_ms, call.replies)
}

pub(super) fn discard(call: &mut Call<'_>) -> Result<(), Refusal> {
    call.session.transaction.take().ok_or(Refusal::Transaction("DISCARD without MULTI"))?;
    call.ok()
}
