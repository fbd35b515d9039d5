//! The near-RT RIC that ferric ships: configuration and ready internal apps around the server library.
//!
//! An ordinary user of [`ferric::server`]: what it does, any controller can do.
//!
//! Where [`RicConfig::rest`] says so there is a REST interface too, with the traffic controller and the slicing controller
//! behind it: the FlexRIC paper's 6.1.1 and 6.1.2.
//!
//! ```no_run
//! use ric::RicConfig;
//!
//! let config = RicConfig::from_toml(
//!     r#"
//!     e2 = ["tcp://0.0.0.0:36421"]
//!     rest = "127.0.0.1:8080"
//!     "#,
//! )?;
//! let mut ric = ric::bind(config)?;
//! for endpoint in ric.server.e2_endpoints() {
//!     println!("nodes are awaited at {endpoint}");
//! }
//! ric.server.run()?; // until its `Stop` says so
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`RicConfig`] names all that a configuration file may say. Internal apps of one's own are added to [`Ric::server`] by
//! [`Server::add_iapp`], before it runs.

#![forbid(unsafe_code)]

mod catalogue;
mod config;
pub mod json;
mod openapi;
mod rest;
mod slicing;
pub mod traffic;

use std::time::Duration;

use ferric::e2::xapp::FunctionHint;
use ferric::link;
use ferric::server::Server;

use traffic::Forwarder;

pub use catalogue::Catalogue;
pub use config::{ConfigError, NodeConfig, RicConfig};
use rest::Route;
pub use rest::{AccessError, Rest, RestAccess, RestConfig, RestFiles, TokenFault};
pub use slicing::{RuleFile, RuleFileError};

/// A RIC that listens, with its internal apps.
pub struct Ric {
    /// What nodes and xApps connect to.
    pub server: Server,
    rest: Option<Rest>,
}

impl Ric {
    /// The REST interface, where there is one.
    #[must_use]
    pub fn rest(&self) -> Option<&Rest> {
        self.rest.as_ref()
    }
}

/// A RIC that listens, with its internal apps. REST serves from now on; what concerns nodes is answered once
/// [`Ric::server`] runs.
///
/// # Errors
/// Where one of its addresses cannot be had.
pub fn bind(mut config: RicConfig) -> Result<Ric, ferric::Error> {
    let hints = config.nodes.iter().filter_map(|node| {
        let revision = node.kpm?.to_string();
        Some(FunctionHint { node: node.id.clone(), oids: e2sm::kpm::OIDS.to_vec(), revision })
    });
    config.server.hints.extend(hints);
    let mut server = Server::bind(config.server)?;
    server.add_iapp(Box::new(Catalogue::new(config.nodes, config.models)));
    if let Some(redis) = config.redis {
        let forwarder = Forwarder::start(redis);
        let forwarder = forwarder.map_err(|source| ferric::Error::System { what: "start a thread", source })?;
        server.add_iapp(Box::new(forwarder));
    }
    let rest =
        config.rest.map(|rest| northbound(&mut server, rest, config.statistics_period, config.rules)).transpose()?;
    Ok(Ric { server, rest })
}

/// REST, and the internal apps that it asks.
fn northbound(
    server: &mut Server,
    config: RestConfig,
    period: Duration,
    rules: Option<RuleFile>,
) -> Result<Rest, ferric::Error> {
    let address = config.address;
    let routes = routes(server, period, rules)?;
    Rest::start(config, routes).map_err(|source| {
        let address = link::Address::Tcp { host: address.ip().to_string(), port: address.port() };
        link::Error::Bind { address, source }.into()
    })
}

/// The resources of all internal apps that are asked by REST; the apps are added.
fn routes(server: &mut Server, period: Duration, rules: Option<RuleFile>) -> Result<Vec<Route>, ferric::Error> {
    let mut routes = vec![openapi::route()];
    routes.extend(slicing::add_to(server, period, rules)?);
    routes.extend(traffic::manager::add_to(server)?);
    Ok(routes)
}
