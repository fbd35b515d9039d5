//! A connection to a store.

use redis::cluster::ClusterConnection;
use redis::cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr};
use redis::{Cmd, Connection, FromRedisValue, RedisError};

/// Keys that a server looks at in one step of a search.
const SCANNED: usize = 1000;

/// A connection to a server or to a cluster.
pub enum StoreConnection {
    /// One server.
    Server(Connection),
    /// A cluster.
    Cluster(Box<ClusterConnection>),
}

impl StoreConnection {
    /// Executes a command. In a cluster all its keys are of one namespace.
    ///
    /// # Errors
    /// If the store is lost, does not reply in time, or refuses.
    pub fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, RedisError> {
        match self {
            StoreConnection::Server(connection) => command.query(connection),
            StoreConnection::Cluster(connection) => command.query(&mut **connection),
        }
    }

    /// Returns all keys of a namespace.
    ///
    /// # Errors
    /// As [`StoreConnection::query`].
    pub fn keys(&mut self, namespace: &[u8]) -> Result<Vec<Vec<u8>>, RedisError> {
        let prefix = [b"{", namespace, b"},"].concat();
        let mut pattern = Vec::new();
        for octet in &prefix {
            if b"*?[]\\^-".contains(octet) {
                pattern.push(b'\\');
            }
            pattern.push(*octet);
        }
        pattern.push(b'*');
        let (mut keys, mut cursor) = (Vec::<Vec<u8>>::new(), 0_u64);
        loop {
            let mut command = redis::cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCANNED);
            let (next, found): (u64, Vec<Vec<u8>>) = match self {
                StoreConnection::Server(connection) => command.query(connection)?,
                StoreConnection::Cluster(connection) => {
                    let route = SingleNodeRoutingInfo::SpecificNode(Route::with_key(&prefix, SlotAddr::Master));
                    redis::from_redis_value(connection.route_command(&command, RoutingInfo::SingleNode(route))?)?
                }
            };
            keys.extend(found);
            if next == 0 {
                // a search may return a key twice
                keys.sort();
                keys.dedup();
                return Ok(keys);
            }
            cursor = next;
        }
    }
}

impl std::fmt::Debug for StoreConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StoreConnection::Server(_) => "Server",
            StoreConnection::Cluster(_) => "Cluster",
        })
    }
}
