//! A Redis Cluster, with or without replicas.

use std::time::{Duration, Instant};

use super::{NO_DELAY, Redis, RedisStore, await_reply, free_port, try_command};
use crate::{PATIENCE, eventually};

/// A Redis Cluster of servers on free ports of the loopback interface.
#[derive(Debug)]
pub struct RedisCluster {
    /// The servers: first the masters, which have the slots in this order, then the replica of each if there are any.
    pub servers: Vec<Redis>,
}

impl RedisCluster {
    /// Starts a cluster of so many servers without replicas. Returns `None` as [`Redis::start`].
    ///
    /// # Panics
    /// As [`Redis::start`], and if the servers do not form a cluster.
    #[must_use]
    pub fn start(count: usize) -> Option<RedisCluster> {
        let mut cluster = RedisCluster { servers: Vec::new() };
        let buses = cluster.start_servers(count)?;
        let slot = |at: usize| (16384 * at / count).to_string();
        for (at, server) in cluster.servers.iter().enumerate() {
            let last = (16384 * (at + 1) / count - 1).to_string();
            let reply = server.command(&["CLUSTER", "ADDSLOTSRANGE", &slot(at), &last]);
            assert!(reply.starts_with("+OK"), "{reply}");
        }
        cluster.meet(&buses, 0);
        cluster.await_state();
        Some(cluster)
    }

    /// Starts a cluster of so many masters, three at least, with a replica each, which takes over when its master is lost. Returns
    /// `None` as [`Redis::start`].
    ///
    /// # Panics
    /// As [`RedisCluster::start`].
    #[must_use]
    pub fn start_with_replicas(masters: usize) -> Option<RedisCluster> {
        let mut cluster = RedisCluster::start(masters)?;
        let buses = cluster.start_servers(masters)?;
        cluster.meet(&buses, masters);
        cluster.await_state();
        let (of_masters, replicas) = cluster.servers.split_at(masters);
        for (master, replica) in of_masters.iter().zip(replicas) {
            let id = master.command(&["CLUSTER", "MYID"]);
            let id = id.lines().nth(1).unwrap_or_else(|| panic!("{id}"));
            await_reply(replica.port(), &["CLUSTER", "REPLICATE", id], "+OK");
        }
        for replica in replicas {
            await_reply(replica.port(), &["INFO", "replication"], "master_link_status:up");
        }
        for server in &cluster.servers {
            eventually("all servers know the replicas", || {
                server.command(&["CLUSTER", "NODES"]).matches("slave ").count() == masters
            });
        }
        cluster.await_state();
        Some(cluster)
    }

    /// Starts servers that are no cluster yet. Returns the ports by which they reach each other.
    fn start_servers(&mut self, count: usize) -> Option<Vec<String>> {
        let mut buses = Vec::new();
        for _ in 0..count {
            let bus = free_port().to_string();
            let own = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            // a replica takes over whatever time it was without its master
            let of_all = ["--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0"];
            self.servers.push(Redis::start(&[&own[..], &of_all, &NO_DELAY].concat())?);
            buses.push(bus);
        }
        Some(buses)
    }

    /// Has the servers from a place on join the first one; they reach each other at these ports.
    fn meet(&self, buses: &[String], from: usize) {
        let first = &self.servers[0];
        for (server, bus) in self.servers[from..].iter().zip(buses).filter(|(server, _)| server.port() != first.port())
        {
            let port = server.port().to_string();
            assert!(first.command(&["CLUSTER", "MEET", "127.0.0.1", &port, bus]).starts_with("+OK"));
        }
    }

    /// Waits until each server knows all and serves.
    fn await_state(&self) {
        let known = format!("cluster_known_nodes:{}\r\n", self.servers.len());
        for server in &self.servers {
            await_reply(server.port(), &["CLUSTER", "INFO"], &known);
            await_reply(server.port(), &["CLUSTER", "INFO"], "cluster_state:ok");
        }
    }

    /// The place of the server that serves a key; waits while none does.
    ///
    /// # Panics
    /// If none does within [`PATIENCE`].
    #[must_use]
    pub fn server_of(&self, key: &str) -> usize {
        self.reply_of_server(&["EXISTS", key]).0
    }

    /// Sends a command to the server that serves its keys, and returns the reply as [`Redis::command`]; waits while none serves them.
    ///
    /// # Panics
    /// If none does within [`PATIENCE`].
    #[must_use]
    pub fn command(&self, words: &[&str]) -> String {
        self.reply_of_server(words).1
    }

    fn reply_of_server(&self, words: &[&str]) -> (usize, String) {
        let end = Instant::now() + PATIENCE;
        loop {
            // one that was killed does not reply
            let replies = self.servers.iter().map(|server| try_command(server.port(), words)).enumerate();
            let mut replies = replies.filter_map(|(at, reply)| Some((at, reply.ok()?)));
            let others = ["-MOVED", "-CLUSTERDOWN"];
            if let Some(found) = replies.find(|(_, reply)| !others.iter().any(|other| reply.starts_with(other))) {
                return found;
            }
            assert!(Instant::now() < end, "no server of the cluster serves {words:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The URL of all servers, as ferric writes it.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }
}

impl RedisStore for RedisCluster {
    fn url(&self) -> String {
        RedisCluster::url(self)
    }

    fn number(&self) -> u16 {
        self.servers[0].port()
    }

    fn port_of(&self, key: &str) -> u16 {
        self.servers[self.server_of(key)].port()
    }

    fn command(&self, words: &[&str]) -> String {
        RedisCluster::command(self, words)
    }

    fn pause(&self) {
        self.servers.iter().for_each(Redis::pause);
    }

    fn resume(&self) {
        self.servers.iter().for_each(Redis::resume);
    }
}
