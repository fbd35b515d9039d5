//! The near-RT RIC that ferric ships: configuration and ready internal apps around the server library.
//!
//! An ordinary user of [`ferric::server`]: what it does, any controller can do.
//!
//! Where [`RicConfig::rest`] says so there is a REST interface too, with the traffic controller and the slicing controller
//! behind it: the FlexRIC paper's 6.1.1 and 6.1.2.
//!
//! ```no_run
//! use ric::{RestAccess, RicConfig};
//!
//! let mut config = RicConfig::from_toml(
//!     r#"
//!     e2 = ["tcp://0.0.0.0:36421"]
//!     rest = "127.0.0.1:8080"
//!     [rest_access]
//!     tokens = "rest.tokens"
//!     "#,
//! )?;
//! let files = std::mem::take(&mut config.rest_files);
//! if let Some(rest) = &mut config.rest {
//!     rest.access = RestAccess::load(files)?; // it is read here, not with the configuration
//! }
//! let mut ric = ric::bind(config)?;
//! for endpoint in ric.server.e2_endpoints() {
//!     println!("nodes are awaited at {endpoint}");
//! }
//! ric.server.run()?; // until its `StopHandle` says so
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
///
/// # Panics
/// Where [`RicConfig::rest_files`] or [`RicConfig::rules_file`] name files that nobody has loaded: REST would be open to those
/// whom they keep out, or rules would be lost that they keep.
pub fn bind(mut config: RicConfig) -> Result<Ric, ferric::Error> {
    if let Some(rest) = &config.rest {
        let is_loaded = config.rest_files == RestFiles::default() || rest.access.is_of(&config.rest_files);
        assert!(is_loaded, "who may speak REST stands in rest_files: load them into RestConfig::access");
        let is_loaded = config.rules_file.is_none() || config.rules.is_some();
        assert!(is_loaded, "rules are kept in rules_file: load it into RicConfig::rules");
    }
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
