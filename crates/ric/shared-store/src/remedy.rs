//! What to do about an error of Redis.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Returns the remedy for an error of a store.
#[must_use]
pub fn remedy(error: &RedisError) -> &'static str {
    const PASSWORD: &str = "give user and password in the URL, or the password in a file (--redis-password)";
    match error.kind() {
        ErrorKind::AuthenticationFailed => PASSWORD,
        ErrorKind::Server(ServerErrorKind::NoPerm) => "allow the user these commands and keys (ACL SETUSER)",
        ErrorKind::Server(ServerErrorKind::BusyLoading) => "none is needed: Redis is loading its data",
        ErrorKind::Server(ServerErrorKind::ReadOnly) => "give the URL of the primary: this is a replica",
        ErrorKind::Parse => "check the URL: the server is not Redis",
        ErrorKind::Io if error.is_timeout() => {
            "check the host, its load and the network: Redis does not answer in time"
        }
        ErrorKind::Io => "start a Redis there (`redis-server`), or give another URL",
        _ => match error.code() {
            Some("NOAUTH" | "WRONGPASS") => PASSWORD,
            Some("OOM") => "give Redis more memory (maxmemory)",
            Some("MISCONF") => "check the disk that Redis writes its snapshots to",
            Some("CLUSTERDOWN") => "check the cluster (`redis-cli cluster info`): slots have no server",
            Some("WRONGTYPE") => "delete the keys that another program has written under these names",
            _ => "check the log of Redis",
        },
    }
}
