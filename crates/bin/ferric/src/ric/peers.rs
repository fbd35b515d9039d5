//! The options of RICs that share nodes.

use std::net::SocketAddr;

use anyhow::bail;
use ric::{RicConfig, SharedNodes};
use shared_store::StoreUrl;
use traffic::RedisFiles;

/// RICs that share nodes: see docs/several-rics.md.
#[derive(clap::Args)]
#[command(next_help_heading = "Several RICs")]
pub struct PeerArgs {
    /// Store through which RICs that share nodes find each other: redis://HOST:PORT, redis+sentinel://HOST:PORT,…/NAME or
    /// redis+cluster://HOST:PORT,…, with rediss over TLS; files with credentials are those of the other Redis options.
    /// [default: none]
    #[arg(long, value_name = "URL")]
    peers: Option<StoreUrl>,
    /// Name of this RIC among them, the same after a restart. [default: its address]
    #[arg(long, value_name = "NAME", value_parser = SharedNodes::name)]
    peer_name: Option<String>,
    /// Address for nodes that the others direct nodes to. [default: the first --e2 that names an interface]
    #[arg(long, value_name = "ADDRESS:PORT")]
    peer_address: Option<SocketAddr>,
}

impl PeerArgs {
    /// Whether nodes are shared.
    pub fn are_given(&self, config: &RicConfig) -> bool {
        self.peers.is_some() || config.peers.is_some()
    }

    /// Applies the options, which override those of the configuration file.
    pub fn apply(&self, config: &mut RicConfig, files: &RedisFiles) -> anyhow::Result<()> {
        if let Some(url) = &self.peers {
            config.peers.get_or_insert_with(|| SharedNodes::new(url.clone())).url = url.clone();
        }
        match &mut config.peers {
            Some(peers) => {
                peers.url = peers.url.with_files(files)?;
                peers.name = self.peer_name.clone().or(peers.name.take());
                peers.address = self.peer_address.or(peers.address);
            }
            None if self.peer_name.is_some() || self.peer_address.is_some() => {
                bail!("--peer-name or --peer-address is given without a store: give --peers")
            }
            None => {}
        }
        Ok(())
    }
}
