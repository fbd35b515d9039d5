//! Commands, without sockets and in virtual time.

use std::sync::Arc;

use crate::access::{AccessList, Rights};
use crate::engine::{Engine, Session};
use crate::limits::Limits;
use crate::resp::{Request, joined};
use crate::store::Store;

const ROOM: usize = 4096;

struct Client {
    engine: Engine,
    session: Session,
    now_ms: u64,
}

impl Client {
    fn new() -> Self {
        Client::with(Limits::default(), AccessList::default())
    }

    fn with(limits: Limits, access: AccessList) -> Self {
        let session = Session::new(1, access.default_rights());
        Client { engine: Engine::new(Store::new(limits.of_store()), access, limits), session, now_ms: 1_000_000 }
    }

    /// Executes a command, whose arguments have no spaces.
    fn run(&mut self, command: &str) -> String {
        let arguments: Vec<Vec<u8>> = command.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        self.run_octets(&arguments)
    }

    fn run_octets(&mut self, arguments: &[Vec<u8>]) -> String {
        let (octets, ranges) = joined(arguments);
        let request = Request::new(&octets, &ranges);
        let (reply, _) = self.engine.execute(&mut self.session, request, self.now_ms, ROOM);
        String::from_utf8_lossy(&reply).replace("\r\n", " ").trim_end().to_owned()
    }

    fn expect(&mut self, exchanges: &[(&str, &str)]) {
        for (command, reply) in exchanges {
            let got = self.run(command);
            assert!(
                got == *reply || reply.ends_with('…') && got.starts_with(reply.trim_end_matches('…')),
                "{command}: {got}"
            );
        }
    }

    fn published(&mut self) -> Vec<String> {
        let shown = |(channel, message): (Vec<u8>, Vec<u8>)| {
            format!("{} {}", String::from_utf8_lossy(&channel), String::from_utf8_lossy(&message))
        };
        std::mem::take(&mut self.engine.publications).into_iter().map(shown).collect()
    }
}

#[test]
fn octets_are_set_and_read() {
    Client::new().expect(&[
        ("GET {a},1", "$-1"),
        ("SET {a},1 x", "+OK"),
        ("get {a},1", "$1 x"),
        ("STRLEN {a},1", ":1"),
        ("MSET {a},1 y {a},2 z", "+OK"),
        ("MGET {a},1 {a},3 {a},2", "*3 $1 y $-1 $1 z"),
        ("SETNX {a},1 w", ":0"),
        ("SETNX {a},3 w", ":1"),
        ("MSETNX {a},4 w {a},1 w", ":0"),
        ("EXISTS {a},4 {a},1 {a},1", ":2"),
        ("MSETNX {a},4 w {a},5 w", ":1"),
        ("GETSET {a},1 v", "$1 y"),
        ("SET {a},1 u GET", "$1 v"),
        ("SET {a},9 u XX", "$-1"),
        ("SET {a},1 t NX", "$-1"),
        ("APPEND {a},1 ut", ":3"),
        ("GETDEL {a},1", "$3 uut"),
        ("INCR {a},n", ":1"),
        ("INCRBY {a},n 41", ":42"),
        ("DECRBY {a},n 2", ":40"),
        ("DECR {a},n", ":39"),
        ("INCR {a},2", "-ERR value is not an integer…"),
        ("INCRBY {a},n 9223372036854775807", "-ERR value is not an integer…"),
        ("DECRBY {a},n -9223372036854775808", "-ERR value is not an integer…"),
        ("DEL {a},n {a},x {a},2", ":2"),
        ("TYPE {a},3", "+string"),
        ("TYPE {a},none", "+none"),
        ("DBSIZE", ":3"),
    ]);
}

#[test]
fn keys_end_when_their_time_has_come() {
    let mut client = Client::new();
    client.expect(&[
        ("SET {a},1 x PX 500", "+OK"),
        ("PTTL {a},1", ":500"),
        ("TTL {a},1", ":1"),
        ("SET {a},2 x EX 10", "+OK"),
        ("SETEX {a},3 10 x", "+OK"),
        ("PSETEX {a},4 10 x", "+OK"),
        ("SET {a},5 x", "+OK"),
        ("TTL {a},5", ":-1"),
        ("TTL {a},none", ":-2"),
        ("EXPIRE {a},5 1", ":1"),
        ("PEXPIRE {a},none 1", ":0"),
        ("PERSIST {a},5", ":1"),
        ("PERSIST {a},5", ":0"),
        ("SET {a},2 y KEEPTTL", "+OK"),
        ("PTTL {a},2", ":10000"),
        ("SET {a},1 x EX 0", "-ERR invalid expire time"),
        ("SET {a},1 x EX 1 PX 1", "-ERR syntax error"),
        ("SET {a},1 x EX 9223372036854775807", "-ERR invalid expire time"),
        ("EXPIREAT {a},5 9223372036854775807", "-ERR invalid expire time"),
        ("EXPIREAT {a},5 1001", ":1"),
        ("PEXPIREAT {a},3 1", ":1"),
        ("EXISTS {a},3", ":0"),
    ]);
    client.now_ms += 500;
    client.expect(&[("GET {a},1", "$-1"), ("KEYS {a},*", "*2 $5 {a},2 $5 {a},5"), ("SETNX {a},1 y", ":1")]);
    client.now_ms += 500;
    client.expect(&[("GET {a},5", "$-1"), ("GET {a},2", "$1 y"), ("PTTL {a},1", ":-1")]);
}

#[test]
fn groups_are_sets() {
    Client::new().expect(&[
        ("SADD {a},g x y x", ":2"),
        ("SADD {a},g y z", ":1"),
        ("SCARD {a},g", ":3"),
        ("SMEMBERS {a},g", "*3 $1 x $1 y $1 z"),
        ("SISMEMBER {a},g z", ":1"),
        ("SMISMEMBER {a},g z w", "*2 :1 :0"),
        ("TYPE {a},g", "+set"),
        ("GET {a},g", "-WRONGTYPE…"),
        ("MGET {a},g", "*1 $-1"),
        ("SETNX {a},g x", ":0"),
        ("SREM {a},g x y w", ":2"),
        ("SREM {a},g z", ":1"),
        ("EXISTS {a},g", ":0"),
        ("SMEMBERS {a},g", "*0"),
        ("SET {a},1 x", "+OK"),
        ("SADD {a},1 x", "-WRONGTYPE…"),
        ("SREM {a},1 x", "-WRONGTYPE…"),
        ("SMEMBERS {a},1", "-WRONGTYPE…"),
    ]);
}

#[test]
fn conditions_of_the_module_hold_or_change_nothing() {
    let mut client = Client::new();
    client.expect(&[
        ("SETIE {a},1 new old", "$-1"),
        ("SETNE {a},1 first old", "+OK"),
        ("SETIE {a},1 second other", "$-1"),
        ("SETIE {a},1 second first", "+OK"),
        ("SETIE {a},1 third second EX 10", "+OK"),
        ("TTL {a},1", ":10"),
        ("SETNE {a},1 x third", "$-1"),
        ("DELIE {a},1 other", ":0"),
        ("DELNE {a},1 third", ":0"),
        ("DELNE {a},none third", ":0"),
        ("DELIE {a},1 third", ":1"),
        ("SADD {a},g x", ":1"),
        ("SETIE {a},g x y", "-WRONGTYPE…"),
        ("DELIE {a},g x", "-WRONGTYPE…"),
        ("SETIE {a},1 x", "-ERR wrong number…"),
    ]);
    assert_eq!(client.published(), [""; 0]);
}

#[test]
fn changes_of_the_module_are_published_if_they_happen() {
    let mut client = Client::new();
    client.expect(&[
        ("MSETPUB {a},1 x {a},2 y {a},c e1", "+OK"),
        ("MSETMPUB 1 2 {a},3 z {a},c e2 {a},d e3", "+OK"),
        ("SETIEPUB {a},1 y other {a},c no", "$-1"),
        ("SETIEMPUB {a},1 y x {a},c e4 {a},d e5", "+OK"),
        ("SETNEPUB {a},1 z y {a},c no", "$-1"),
        ("SETNEPUB {a},1 z x {a},c e6", "+OK"),
        ("SETXXPUB {a},none z {a},c no", "$-1"),
        ("SETXXPUB {a},1 w {a},c e7", "+OK"),
        ("SETNXPUB {a},1 w {a},c no", "$-1"),
        ("SETNXMPUB {a},4 w {a},c e8 {a},d e9", "+OK"),
        ("DELPUB {a},none {a},c no", ":0"),
        ("DELPUB {a},4 {a},none {a},c e10", ":1"),
        ("DELMPUB 2 1 {a},2 {a},3 {a},c e11", ":2"),
        ("DELIEPUB {a},1 no {a},c no", ":0"),
        ("DELNEPUB {a},1 w {a},c no", ":0"),
        ("DELIEMPUB {a},1 w {a},c e12 {a},d e13", ":1"),
        ("DBSIZE", ":0"),
        ("PUBLISH {a},c e14", ":0"),
    ]);
    let events: Vec<_> = client.published().iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(events, (1..=14).map(|at| format!("e{at}")).collect::<Vec<_>>());
    client.expect(&[
        ("MSETMPUB 2 1 {a},3 z {a},c e", "-ERR the counts…"),
        ("MSETMPUB 2 2 {a},3 z {a},c", "-ERR wrong number…"),
        ("MSETMPUB 0 2 {a},3 z {a},c e", "-ERR the counts…"),
        ("MSETMPUB 9223372036854775807 1 {a},3 z {a},c e", "-ERR the counts…"),
        ("MSETMPUB 2 1 {a},3 z {a},c e {a},c", "-ERR the counts…"),
        ("MSETMPUB 9223372036854775807 2 {a},3 z {a},c e {a},c x", "-ERR the counts…"),
        ("DELMPUB 1 9223372036854775807 {a},3 {a},c e", "-ERR the counts…"),
        ("DELMPUB 1 -1 {a},3 {a},c e", "-ERR the counts…"),
        ("SETNXMPUB {a},3 z {a},c e {a},c", "-ERR wrong number…"),
        ("DELIEMPUB {a},3 z {a},c e {a},c", "-ERR wrong number…"),
    ]);
    assert_eq!((client.published(), client.engine.store.count()), (Vec::new(), 0));
}

#[test]
fn keys_are_searched() {
    let mut client = Client::new();
    for at in 0..25 {
        client.run(&format!("SET {{a}},k{at:02} x"));
    }
    client.expect(&[
        ("SADD {a},group x", ":1"),
        ("SET {b},k00 y", "+OK"),
        ("KEYS {a},k0[12]", "*2 $7 {a},k01 $7 {a},k02"),
        ("KEYS *,k00", "*2 $7 {a},k00 $7 {b},k00"),
        ("NGET.ATOMIC {a},[gk]*0", "*6 $7 {a},k00 $1 x $7 {a},k10 $1 x $7 {a},k20 $1 x"),
        ("NGET.NOATOMIC {a},g* COUNT 10", "*0"),
        ("NGET.ATOMIC {a},g* COUNT 0", "-ERR syntax error"),
        ("SCAN 0 MATCH {a},* TYPE set COUNT 100", "*2 $1 0 *1 $9 {a},group"),
        ("SCAN 77", "-ERR the cursor…"),
        ("SCAN 0 MATCH", "-ERR syntax error"),
        ("SCAN 0 COUNT 0", "-ERR syntax error"),
    ]);
    let mut found = Vec::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply = client.run(&format!("SCAN {cursor} MATCH {{a}},k* COUNT 7"));
        let words: Vec<_> = reply.split(' ').collect();
        cursor = words[2].to_owned();
        found.extend(words.iter().filter(|word| word.starts_with("{a}")).map(|word| (*word).to_owned()));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found, (0..25).map(|at| format!("{{a}},k{at:02}")).collect::<Vec<_>>());
    client.expect(&[("NDEL.ATOMIC {a},k*", ":25"), ("DBSIZE", ":2")]);
    let costly = format!("KEYS {{a}},{}", "*g".repeat(60));
    client.run(&format!("SET {{a}},{} x", "g".repeat(1000)));
    assert!(client.run(&costly).starts_with('*'));
}

#[test]
fn transaction_is_executed_as_a_whole() {
    let mut client = Client::new();
    client.expect(&[
        ("EXEC", "-ERR EXEC without MULTI"),
        ("DISCARD", "-ERR DISCARD without MULTI"),
        ("MULTI", "+OK"),
        ("SET {a},1 x", "+QUEUED"),
        ("SADD {a},1 x", "+QUEUED"),
        ("GET {a},1", "+QUEUED"),
        ("MULTI", "-ERR MULTI within MULTI"),
        ("EXEC", "-EXECABORT…"),
        ("EXISTS {a},1", ":0"),
        ("MULTI", "+OK"),
        ("SET {a},1 x", "+QUEUED"),
        ("SADD {a},1 x", "+QUEUED"),
        ("GET {a},1", "+QUEUED"),
        ("EXEC", "*3 +OK -WRONGTYPE the key has a value of another kind $1 x"),
        ("MULTI", "+OK"),
        ("NONSENSE", "-ERR unknown command 'NONSENSE'…"),
        ("EXEC", "-EXECABORT…"),
        ("MULTI", "+OK"),
        ("SET {a},1 y", "+QUEUED"),
        ("DISCARD", "+OK"),
        ("GET {a},1", "$1 x"),
    ]);
    let long = "x".repeat(ROOM);
    client.run("MULTI");
    client.run("SET {a},1 z");
    client.run(&format!("ECHO {long}"));
    client.expect(&[("EXEC", "-ERR the reply is too long…"), ("GET {a},1", "$1 x")]);
}

/// The texts are those of the libraries: `tests/clients.rs` has them loaded. Here they are known by what they do.
#[test]
fn scripts_that_are_no_locks_are_refused() {
    let mut client = Client::new();
    client.expect(&[
        ("EVAL return 0", "-ERR this store runs…"),
        ("EVALSHA 5edb30ccdf90ad625479d79c02507dd2b15240df 1 {a},lock x", "-NOSCRIPT…"),
        ("SCRIPT LOAD return", "-ERR this store runs…"),
        ("SCRIPT EXISTS 0 1", "*2 :0 :0"),
        ("SCRIPT FLUSH", "+OK"),
    ]);
    // the SDL library in Go: replaces the time of a lock
    let text = "if redis.call(\"get\", KEYS[1]) == ARGV[1] then return redis.call(\"pexpire\", KEYS[1], ARGV[2]) else return 0 end";
    let with = |words: &[&str]| {
        let words = [&["EVAL", text], words].concat();
        words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>()
    };
    client.expect(&[("SET {a},lock token NX PX 100", "+OK")]);
    assert_eq!(client.run_octets(&with(&["1", "{a},lock", "other", "900"])), ":0");
    assert_eq!(client.run_octets(&with(&["1", "{a},lock", "token", "900"])), ":1");
    assert_eq!(client.run("PTTL {a},lock"), ":900");
    assert!(client.run_octets(&with(&["2", "{a},lock", "token", "900"])).starts_with("-ERR wrong number"));
    assert!(client.run_octets(&with(&["1", "{a},lock", "token", "-900"])).starts_with("-ERR invalid expire time"));
}

#[test]
fn connection_is_named_and_described() {
    let mut client = Client::new();
    client.expect(&[
        ("PING", "+PONG"),
        ("PING x", "$1 x"),
        ("ECHO x", "$1 x"),
        ("SELECT 0", "+OK"),
        ("SELECT 1", "-ERR there is one database…"),
        ("CLIENT SETNAME xapp", "+OK"),
        ("CLIENT GETNAME", "$4 xapp"),
        ("CLIENT SETINFO LIB-NAME redis-py", "+OK"),
        ("CLIENT ID", ":1"),
        ("CLIENT KILL x", "-ERR syntax error"),
        ("HELLO 4", "-NOPROTO…"),
        ("HELLO 3", "%7 $6 server $6 ferric…"),
        ("GET {a},none", "_"),
        ("SMEMBERS {a},none", "~0"),
        ("SUBSCRIBE {a},c", ">3 $9 subscribe $5 {a},c :1"),
        ("PING", "+PONG"),
        ("GET {a},none", "_"),
        ("UNSUBSCRIBE", ">3 $11 unsubscribe $5 {a},c :0"),
        ("HELLO", "%7…"),
        ("HELLO 2 SETNAME other", "*14 $6 server $6 ferric…"),
        ("CLIENT GETNAME", "$5 other"),
        ("AUTH any", "+OK"),
        ("TIME", "*2 $4 1000 $1 0"),
        ("COMMAND INFO setie nonsense", "*2 *6 $5 setie :-4 *1 +write :1 :1 :1 $-1"),
        ("RESET", "+RESET"),
        ("CLIENT GETNAME", "$-1"),
        ("FLUSHALL", "-ERR unknown command 'FLUSHALL'…"),
        ("GET", "-ERR wrong number…"),
        ("GET a b", "-ERR wrong number…"),
        ("QUIT", "+OK"),
    ]);
    assert!(client.session.is_closing);
    let listed = client.run("COMMAND");
    for name in ["setie", "delie", "setiepub", "setnxpub", "msetmpub", "delmpub"] {
        assert!(listed.contains(&format!(" {name} ")), "the SDL library in Go looks for {name}");
    }
    assert!(client.run("INFO all").contains("role:master"));
}

#[test]
fn subscriptions_are_confirmed_and_bounded() {
    let mut client =
        Client::with(Limits { max_channels: 3, max_patterns: 1, ..Limits::default() }, AccessList::default());
    client.expect(&[
        ("SUBSCRIBE {a},1 {a},2", "*3 $9 subscribe $5 {a},1 :1 *3 $9 subscribe $5 {a},2 :2"),
        ("GET {a},1", "-ERR a connection with subscriptions…"),
        ("PING", "*2 $4 pong $0"),
        ("SUBSCRIBE {a},2 {a},3 {a},4", "-ERR too many subscriptions…"),
        ("PSUBSCRIBE {a},*", "*3 $10 psubscribe $5 {a},* :3"),
        ("PSUBSCRIBE {b},*", "-ERR too many subscriptions…"),
        ("UNSUBSCRIBE {a},1", "*3 $11 unsubscribe $5 {a},1 :2"),
        ("UNSUBSCRIBE", "*3 $11 unsubscribe $5 {a},2 :1"),
        ("PUNSUBSCRIBE", "*3 $12 punsubscribe $5 {a},* :0"),
        ("UNSUBSCRIBE", "*3 $11 unsubscribe $-1 :0"),
        ("PUBSUB NUMPAT", ":0"),
    ]);
    let long = format!("PSUBSCRIBE {{a}},{}*", "x".repeat(200));
    assert!(client.run(&long).starts_with("-ERR too many subscriptions"));
    let other = Session::new(2, Arc::new(Rights::all("other")));
    client.engine.hub.subscribe(other.number, b"{a},1", false);
    client.expect(&[
        ("PUBSUB CHANNELS", "*1 $5 {a},1"),
        ("PUBSUB CHANNELS {b},*", "*0"),
        ("PUBSUB NUMSUB {a},1 {a},2", "*4 $5 {a},1 :1 $5 {a},2 :0"),
        ("PUBLISH {a},1 x", ":1"),
    ]);
}

#[test]
fn rights_are_enforced_for_every_command_with_keys() {
    let path = std::env::temp_dir().join(format!("ferric-sdl-rights-{}", std::process::id()));
    std::fs::write(&path, "kpm 0123456789abcdef read:r write:w\nall fedcba9876543210 write:*\n").unwrap();
    let access = AccessList::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut client = Client::with(Limits::default(), access);
    client.expect(&[
        ("GET {r},1", "-NOAUTH…"),
        ("PING", "-NOAUTH…"),
        ("NONSENSE", "-NOAUTH…"),
        ("HELLO 2", "-NOAUTH…"),
        ("AUTH 0123456789abcdeg", "-WRONGPASS…"),
        ("AUTH all 0123456789abcdef", "-WRONGPASS…"),
        ("AUTH kpm 0123456789abcdef", "+OK"),
        ("GET {r},1", "$-1"),
        ("SET {w},1 x", "+OK"),
        ("GET {w},1", "$1 x"),
    ]);
    // each refused: a write to what may be read, anything in another namespace, and keys without a namespace
    for command in [
        "SET {r},1 x",
        "SETNX {r},1 x",
        "MSET {w},1 y {r},1 x",
        "MSETNX {w},9 y {r},1 x",
        "DEL {w},1 {r},1",
        "GETDEL {r},1",
        "GETSET {r},1 x",
        "APPEND {r},1 x",
        "INCR {r},1",
        "EXPIRE {r},1 1",
        "PERSIST {r},1",
        "SADD {r},1 x",
        "SREM {r},1 x",
        "SETIE {r},1 x y",
        "DELIE {r},1 x",
        "MSETPUB {w},1 y {r},c e",
        "MSETMPUB 1 1 {w},1 y {r},c e",
        "DELMPUB 1 1 {w},1 {r},c e",
        "DELPUB {w},1 {r},c e",
        "SETNXMPUB {r},1 x {w},c e",
        "SETXXPUB {w},1 y {r},c e",
        "NDEL.ATOMIC {r},*",
        "PUBLISH {r},c e",
        "EVAL return 1 {r},1 x",
        "GET {o},1",
        "GET 1",
        "MGET {r},1 {o},1",
        "EXISTS {o},1",
        "TYPE {o},1",
        "TTL {o},1",
        "SMEMBERS {o},1",
        "SISMEMBER {o},1 x",
        "KEYS {o},*",
        "KEYS *",
        "KEYS {r*",
        "KEYS {[r]},*",
        "SCAN 0",
        "SCAN 0 MATCH {o},*",
        "NGET.ATOMIC {o},*",
        "SUBSCRIBE {o},c",
        "SUBSCRIBE {r},c {o},c",
        "PSUBSCRIBE {o},*",
        "PSUBSCRIBE *",
        "DBSIZE",
    ] {
        let reply = client.run(command);
        assert!(reply.starts_with("-NOPERM") || command.starts_with("EVAL"), "{command}: {reply}");
    }
    client.expect(&[
        ("GET {w},1", "$1 x"),
        ("KEYS {w},*", "*1 $5 {w},1"),
        ("AUTH fedcba9876543210", "+OK"),
        ("DBSIZE", ":1"),
        ("SET 1 x", "+OK"),
        ("RESET", "+RESET"),
        ("DBSIZE", "-NOAUTH…"),
        ("HELLO 2 AUTH all fedcba9876543210", "*14…"),
        ("KEYS *", "*2 $1 1 $5 {w},1"),
    ]);
    assert_eq!(client.published(), [""; 0]);
}

#[test]
fn bounds_refuse_and_change_nothing() {
    let limits = Limits { max_octets: 2000, max_key_octets: 16, max_request_octets: 600, ..Limits::default() };
    let mut client = Client::with(limits, AccessList::default());
    let (half, long) = ("x".repeat(500), "x".repeat(900));
    assert_eq!(client.run(&format!("SET {{a}},1 {half}")), "+OK");
    assert!(client.run(&format!("MSET {{a}},2 x {{a}},3 {half}")).starts_with("-OOM the namespace"));
    assert!(client.run(&format!("SADD {{a}},g x {half}")).starts_with("-OOM the namespace"));
    assert!(client.run(&format!("APPEND {{a}},1 {half}")).starts_with("-OOM"));
    client.expect(&[
        ("KEYS *", "*1 $5 {a},1"),
        ("GET {a},12345678901", "$-1"),
        ("GET {a},1234567890123", "-ERR a key…"),
    ]);
    client.expect(&[("KEYS {a},1234567890*13", "-ERR a key…"), ("PUBLISH {a},1234567890123 x", "-ERR a key…")]);
    assert_eq!(client.run("DEL {a},1"), ":1");
    client.expect(&[("MULTI", "+OK")]);
    assert!(client.run(&format!("SET {{a}},1 {long}")).starts_with("-ERR the transaction is too long"));
    client.expect(&[("EXEC", "-EXECABORT…")]);
    let echo = "x".repeat(ROOM);
    assert!(client.run(&format!("ECHO {echo}")).starts_with("-ERR the reply is too long"));
    assert_eq!(client.engine.store.octets(), 0);
}
