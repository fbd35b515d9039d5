//! The near-RT RIC that ferric ships: configuration and ready internal apps around the server library.
//!
//! An ordinary user of [`ferric::server`]: what it does, any controller can do.

#![forbid(unsafe_code)]

mod catalogue;
mod config;

use ferric::e2::xapp::FunctionHint;
use ferric::server::Server;

pub use catalogue::Catalogue;
pub use config::{ConfigError, NodeConfig, RicConfig};

/// A RIC that listens, with its internal apps.
///
/// # Errors
/// Where one of its addresses cannot be had.
pub fn bind(mut config: RicConfig) -> Result<Server, ferric::Error> {
    let hints = config.nodes.iter().filter_map(|node| {
        let revision = node.kpm?.to_string();
        Some(FunctionHint { node: node.id.clone(), oids: e2sm::kpm::OIDS.to_vec(), revision })
    });
    config.server.hints.extend(hints);
    let mut server = Server::bind(config.server)?;
    server.add_iapp(Box::new(Catalogue::new(config.nodes, config.models)));
    Ok(server)
}
