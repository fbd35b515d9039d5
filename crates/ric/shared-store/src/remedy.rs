//! What to do about an error of Redis.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// What [`crate::StoreUrl::connect`] says if Redis Sentinel does not know the name.
pub(crate) const UNKNOWN_PRIMARY: &str = "Sentinel knows no primary of this name";

/// Returns the remedy for an error of a store.
#[must_use]
pub fn remedy(error: &RedisError) -> &'static str {
    const PASSWORD: &str = "give user and password in the URL, or the password in a file (--redis-password)";
    match error.kind() {
        ErrorKind::AuthenticationFailed => PASSWORD,
        ErrorKind::Server(ServerErrorKind::NoPerm) => "allow the user these commands and keys (ACL SETUSER)",
        ErrorKind::Server(ServerErrorKind::BusyLoading) => "none is needed: Redis is loading its data",
        ErrorKind::Server(ServerErrorKind::ReadOnly) => "give the URL of the primary: this is a replica",
        ErrorKind::Server(ServerErrorKind::Moved) => {
            "give redis+cluster://HOST:PORT,…: the server is one of a Redis Cluster"
        }
        ErrorKind::ClusterConnectionNotFound => {
            "check the URL and the cluster (`redis-cli cluster info`): no server has slots; for one server it is redis://HOST:PORT"
        }
        ErrorKind::Server(ServerErrorKind::ResponseError) if error.to_string().contains("'SENTINEL'") => {
            "check the URL: the hosts of redis+sentinel:// are those of Redis Sentinel, whose port is 26379 by default"
        }
        ErrorKind::Client if error.to_string().contains(UNKNOWN_PRIMARY) => {
            "give the name that Sentinel has (`redis-cli -p 26379 sentinel masters`), behind the hosts: …/NAME"
        }
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
