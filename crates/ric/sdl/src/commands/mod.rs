//! The commands: those of Redis that clients of a shared data layer use, and those of the O-RAN SC's module for Redis.

mod conditional;
mod connection;
mod groups;
mod keys;
mod locks;
mod notifications;
mod octets;
#[cfg(test)]
mod tests;

use crate::access::{Access, namespace_of};
use crate::engine::{Engine, Session};
use crate::refusal::Refusal;
use crate::resp::{Replies, Request};
use crate::store::{Entry, Store, Value};

/// A command as COMMAND describes it, and what it does.
#[derive(Debug)]
pub(crate) struct Command {
    pub name: &'static str,
    /// Arguments with the name; at least so many if it is negative.
    pub arity: i8,
    pub is_write: bool,
    /// The first and the last key, and the step between them.
    pub keys: (i8, i8, i8),
    /// Its reply depends on the store.
    pub is_of_store: bool,
    /// It is allowed without any rights.
    pub is_without_rights: bool,
    /// It is allowed on a connection with subscriptions.
    pub is_with_subscriptions: bool,
    /// A transaction executes it at once, instead of collecting it.
    pub is_in_transaction: bool,
    pub run: fn(&mut Call<'_>) -> Result<(), Refusal>,
}

/// A command with its arguments and what it works on.
pub(crate) struct Call<'a> {
    pub engine: &'a mut Engine,
    pub session: &'a mut Session,
    pub request: Request<'a>,
    pub replies: &'a mut Replies,
    pub now_ms: u64,
}

type Run = fn(&mut Call<'_>) -> Result<(), Refusal>;

const fn read(name: &'static str, arity: i8, keys: (i8, i8, i8), run: Run) -> Command {
    Command {
        name,
        arity,
        is_write: false,
        keys,
        is_of_store: true,
        is_without_rights: false,
        is_with_subscriptions: false,
        is_in_transaction: false,
        run,
    }
}

const fn write(name: &'static str, arity: i8, keys: (i8, i8, i8), run: Run) -> Command {
    Command { is_write: true, ..read(name, arity, keys, run) }
}

/// A command that does not depend on the store.
const fn other(name: &'static str, arity: i8, run: Run) -> Command {
    Command { is_of_store: false, ..read(name, arity, NONE, run) }
}

/// One of the commands that a connection with subscriptions takes.
const fn subscribing(name: &'static str, arity: i8, run: Run) -> Command {
    Command { is_with_subscriptions: true, is_in_transaction: true, ..other(name, arity, run) }
}

const NONE: (i8, i8, i8) = (0, 0, 0);
const ONE: (i8, i8, i8) = (1, 1, 1);
const ALL: (i8, i8, i8) = (1, -1, 1);
const PAIRS: (i8, i8, i8) = (1, -1, 2);

static COMMANDS: [Command; 80] = [
    // the connection
    Command { is_without_rights: true, is_in_transaction: true, ..other("auth", -2, connection::auth) },
    Command { is_without_rights: true, is_in_transaction: true, ..other("hello", -1, connection::hello) },
    Command { is_without_rights: true, ..subscribing("quit", 1, connection::quit) },
    Command { is_without_rights: true, ..subscribing("reset", 1, connection::reset) },
    Command { is_without_rights: true, ..other("acl", -2, connection::acl) },
    subscribing("ping", -1, connection::ping),
    other("echo", 2, connection::echo),
    other("select", 2, connection::select),
    other("client", -2, connection::client),
    other("command", -1, connection::command),
    other("info", -1, connection::info),
    other("time", 1, connection::time),
    // transactions
    Command { is_in_transaction: true, ..other("multi", 1, connection::multi) },
    Command { is_in_transaction: true, is_of_store: true, ..other("exec", 1, connection::exec) },
    Command { is_in_transaction: true, ..other("discard", 1, connection::discard) },
    // keys
    write("del", -2, ALL, keys::delete),
    write("unlink", -2, ALL, keys::delete),
    read("exists", -2, ALL, keys::exists),
    read("type", 2, ONE, keys::kind),
    read("ttl", 2, ONE, keys::ttl),
    read("pttl", 2, ONE, keys::pttl),
    write("expire", 3, ONE, keys::expire),
    write("pexpire", 3, ONE, keys::pexpire),
    write("expireat", 3, ONE, keys::expire_at),
    write("pexpireat", 3, ONE, keys::pexpire_at),
    write("persist", 2, ONE, keys::persist),
    read("keys", 2, NONE, keys::list),
    read("scan", -2, NONE, keys::scan),
    read("dbsize", 1, NONE, keys::count),
    read("nget.atomic", -2, NONE, keys::get_matching),
    read("nget.noatomic", -2, NONE, keys::get_matching),
    write("ndel.atomic", 2, NONE, keys::delete_matching),
    // octets
    read("get", 2, ONE, octets::get),
    read("mget", -2, ALL, octets::get_all),
    read("strlen", 2, ONE, octets::length),
    write("set", -3, ONE, octets::set),
    write("setnx", 3, ONE, octets::set_if_absent),
    write("setex", 4, ONE, octets::set_for_seconds),
    write("psetex", 4, ONE, octets::set_for_milliseconds),
    write("mset", -3, PAIRS, octets::set_all),
    write("msetnx", -3, PAIRS, octets::set_all_if_absent),
    write("getset", 3, ONE, octets::get_and_set),
    write("getdel", 2, ONE, octets::get_and_delete),
    write("append", 3, ONE, octets::append),
    write("incr", 2, ONE, octets::increment),
    write("decr", 2, ONE, octets::decrement),
    write("incrby", 3, ONE, octets::increment_by),
    write("decrby", 3, ONE, octets::decrement_by),
    // groups
    write("sadd", -3, ONE, groups::add),
    write("srem", -3, ONE, groups::remove),
    read("smembers", 2, ONE, groups::members),
    read("sismember", 3, ONE, groups::is_member),
    read("smismember", -3, ONE, groups::are_members),
    read("scard", 2, ONE, groups::size),
    // the module of the O-RAN SC
    write("setie", -4, ONE, conditional::set_if_equal),
    write("setne", -4, ONE, conditional::set_if_not_equal),
    write("delie", 3, ONE, conditional::delete_if_equal),
    write("delne", 3, ONE, conditional::delete_if_not_equal),
    write("msetpub", -5, ONE, conditional::set_and_publish),
    write("msetmpub", -7, NONE, conditional::set_and_publish_all),
    write("setiepub", 6, ONE, conditional::set_if_equal_and_publish),
    write("setiempub", -6, ONE, conditional::set_if_equal_and_publish),
    write("setnepub", 6, ONE, conditional::set_if_not_equal_and_publish),
    write("setxxpub", 5, ONE, conditional::set_if_present_and_publish),
    write("setnxpub", 5, ONE, conditional::set_if_absent_and_publish),
    write("setnxmpub", -5, ONE, conditional::set_if_absent_and_publish),
    write("delpub", -4, ONE, conditional::delete_and_publish),
    write("delmpub", -6, NONE, conditional::delete_and_publish_all),
    write("deliepub", 5, ONE, conditional::delete_if_equal_and_publish),
    write("deliempub", -5, ONE, conditional::delete_if_equal_and_publish),
    write("delnepub", 5, ONE, conditional::delete_if_not_equal_and_publish),
    // notifications
    read("publish", 3, NONE, notifications::publish),
    subscribing("subscribe", -2, notifications::subscribe),
    subscribing("unsubscribe", -1, notifications::unsubscribe),
    subscribing("psubscribe", -2, notifications::subscribe_to_patterns),
    subscribing("punsubscribe", -1, notifications::unsubscribe_from_patterns),
    other("pubsub", -2, notifications::describe),
    // locks
    write("eval", -3, NONE, locks::evaluate),
    write("evalsha", -3, NONE, locks::evaluate_loaded),
    other("script", -2, locks::script),
];

/// Finds a command by its name, in either case.
pub(crate) fn find(name: &[u8]) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name.as_bytes().eq_ignore_ascii_case(name))
}

/// All commands.
pub(crate) fn all() -> &'static [Command] {
    &COMMANDS
}

impl<'a> Call<'a> {
    /// Returns an argument.
    fn argument(&self, at: usize) -> &'a [u8] {
        self.request.get(at)
    }

    /// Checks that a namespace may be accessed, and that its name is not too long.
    fn check(&self, name: &[u8], access: Access) -> Result<(), Refusal> {
        let most = self.engine.limits.max_key_octets;
        if name.len() > most {
            return Err(Refusal::Key(most));
        }
        self.check_namespace(namespace_of(name), access)
    }

    fn check_namespace(&self, namespace: Option<&[u8]>, access: Access) -> Result<(), Refusal> {
        if self.session.rights.allow(namespace, access) {
            return Ok(());
        }
        let verb = if access == Access::Read { "read" } else { "write" };
        Err(Refusal::Denied(match namespace {
            Some(namespace) => format!("{verb} the namespace '{}'", String::from_utf8_lossy(namespace)),
            None => format!("{verb} all namespaces, nor keys without one"),
        }))
    }

    /// Returns a key that is read.
    fn readable(&self, at: usize) -> Result<&'a [u8], Refusal> {
        let key = self.argument(at);
        self.check(key, Access::Read).map(|()| key)
    }

    /// Returns a key that is written.
    fn writable(&self, at: usize) -> Result<&'a [u8], Refusal> {
        let key = self.argument(at);
        self.check(key, Access::Write).map(|()| key)
    }

    /// Gives a key octets, without a time at which it ends.
    fn put(&mut self, key: &[u8], octets: &[u8]) -> Result<(), Refusal> {
        let entry = Entry { value: Value::Octets(octets.to_vec()), expires_ms: None };
        Ok(self.engine.store.put(key, entry)?)
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.engine.store.remove(key, self.now_ms)
    }

    /// Reads a number.
    fn number(&self, at: usize) -> Result<i64, Refusal> {
        number(self.argument(at))
    }

    fn ok(&mut self) -> Result<(), Refusal> {
        self.replies.status("OK");
        Ok(())
    }
}

/// Returns the octets of a key.
fn octets_of<'s>(store: &'s Store, key: &[u8], now_ms: u64) -> Result<Option<&'s [u8]>, Refusal> {
    match store.get(key, now_ms) {
        None => Ok(None),
        Some(Entry { value: Value::Octets(octets), .. }) => Ok(Some(octets)),
        Some(_) => Err(Refusal::Kind),
    }
}

/// Reads a decimal number with a sign.
fn number(octets: &[u8]) -> Result<i64, Refusal> {
    let text = std::str::from_utf8(octets).ok().filter(|text| !text.starts_with('+') && text.len() <= 20);
    text.and_then(|text| text.parse().ok()).ok_or(Refusal::Integer)
}
