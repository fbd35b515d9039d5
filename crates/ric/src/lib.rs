//! The near-RT RIC that ferric ships: configuration and ready internal apps around the server library.
//!
//! An ordinary user of [`ferric::server`]: what it does, any controller can do.

#![forbid(unsafe_code)]

mod catalogue;
mod config;

use ferric::server::Server;

pub use catalogue::Catalogue;
pub use config::{ConfigError, NodeConfig, RicConfig};

/// A RIC that listens, with its internal apps.
///
/// # Errors
/// Where one of its addresses cannot be had.
pub fn bind(config: RicConfig) -> Result<Server, ferric::Error> {
    let mut server = Server::bind(config.server)?;
    server.add_iapp(Box::new(Catalogue::new(config.nodes)));
    Ok(server)
}
