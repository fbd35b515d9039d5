//! The REST interface: the resources of the internal apps, and the OpenAPI document.

use ferric::link;
use ferric::server::Server;
use rest::{Route, ServerConfig};

use crate::RicConfig;

/// The configuration of the REST interface and of its apps.
pub(crate) struct Northbound {
    rest: ServerConfig,
    apps: AppConfig,
}

#[derive(Default)]
struct AppConfig {
    #[cfg(feature = "slicing")]
    statistics_period: std::time::Duration,
    #[cfg(feature = "slicing")]
    ue_ids_period: Option<std::time::Duration>,
    #[cfg(feature = "slicing")]
    rules: Option<slicing::RuleFile>,
}

impl Northbound {
    /// Takes it from a RIC's configuration; `None` if there is no REST interface.
    ///
    /// # Panics
    /// If files are named and were not loaded.
    pub fn new(config: &mut RicConfig) -> Option<Self> {
        let rest = config.rest.take()?;
        let is_loaded = config.rest_files == rest::AccessFiles::default() || rest.access.is_from(&config.rest_files);
        assert!(is_loaded, "rest_files restrict access to REST: load them into ServerConfig::access");
        #[cfg(feature = "slicing")]
        let apps = {
            let is_loaded = config.rules_file.is_none() || config.rules.is_some();
            assert!(is_loaded, "rules_file stores the association rules: load it into RicConfig::rules");
            AppConfig {
                statistics_period: config.statistics_period,
                ue_ids_period: config.ue_ids_period,
                rules: config.rules.take(),
            }
        };
        #[cfg(not(feature = "slicing"))]
        let apps = AppConfig::default();
        Some(Northbound { rest, apps })
    }

    /// Adds the apps to the RIC, and starts to serve.
    pub fn start(self, server: &mut Server) -> Result<rest::Server, ferric::Error> {
        let address = self.rest.address;
        let routes = routes(server, self.apps)?;
        let config = ServerConfig { log_budget: server.log_budget(), ..self.rest };
        rest::Server::start(config, routes).map_err(|source| {
            let address = link::Address::Tcp { host: address.ip().to_string(), port: address.port() };
            link::Error::Bind { address, source }.into()
        })
    }
}

/// Adds the apps to the RIC. Returns the routes of all resources.
#[allow(unused_variables, reason = "each app is a feature")]
fn routes(server: &mut Server, config: AppConfig) -> Result<Vec<Route>, ferric::Error> {
    let mut document = openapi_document();
    let mut routes = vec![rest::openapi::route(OPENAPI_PATH, &document)];
    #[cfg(feature = "slicing")]
    {
        routes.extend(slicing::add_to(server, config.statistics_period, config.rules)?);
        if let Some(period) = config.ue_ids_period {
            slicing::ask_for_ue_ids(server, period);
        }
    }
    #[cfg(feature = "traffic")]
    routes.extend(traffic::add_to(server)?);
    rest::openapi::retain_served(&mut document, &routes);
    routes[0] = rest::openapi::route(OPENAPI_PATH, &document);
    Ok(routes)
}

const OPENAPI_PATH: &str = "/v1/openapi.json";

/// The description of all resources, OpenAPI 3.1.
fn openapi_document() -> serde_json::Value {
    match serde_json::from_str(include_str!("../openapi.json")) {
        Ok(document) => document,
        Err(error) => panic!("openapi.json is not JSON: {error}"),
    }
}

#[cfg(all(test, feature = "slicing", feature = "traffic"))]
mod tests {
    use ferric::server::ServerConfig;

    use super::*;

    #[test]
    fn openapi_document_and_routes_agree() {
        let any_port = "tcp://127.0.0.1:0".parse().unwrap();
        let config = ServerConfig { e2: vec![any_port], xapp: None, ..ServerConfig::default() };
        let mut server = Server::bind(config).unwrap();
        let routes = routes(&mut server, AppConfig::default()).unwrap();
        assert_eq!(rest::openapi::faults(&openapi_document(), &routes), Vec::<String>::new());
    }
}
