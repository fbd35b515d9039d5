//! The REST interface: the resources of the internal apps, and the OpenAPI document.

mod app;
mod cell_configuration;
mod cell_states;
#[cfg(feature = "decode")]
mod decode;
mod events;
#[cfg(feature = "flexran")]
mod flexran;
mod handover_requests;
mod health;
mod kpm;
mod messages;
mod metrics;
mod overview;
mod page;
mod policies;
mod positions;
#[cfg(any(feature = "conflicts", feature = "oran"))]
mod service_metrics;
mod system;
mod ue_controls;
mod verification;

use std::time::Duration;

use ferric::link;
use ferric::server::Server;
use iapp_rest::{Topic, add_iapp};
use rest::metrics::Registry;
use rest::openapi::Api;
use rest::{Broadcast, Route, ServerConfig, StreamEvent};

use tracing::level_filters::LevelFilter;

use crate::RicConfig;
use app::RicApp;
use metrics::RicMetrics;
use system::System;

/// How the log of the program is changed and read. The program that has the log provides it.
#[derive(Clone, Copy, Debug)]
pub struct LogControl {
    /// Changes the least severe level that is logged. Returns whether it is in force.
    pub set_level: fn(LevelFilter) -> bool,
    /// Has each line that is logged passed on, without its end.
    pub observe: fn(LineObserver),
}

/// Gets each line of a log. It must not block, and log nothing.
pub type LineObserver = Box<dyn Fn(&str) + Send + Sync>;

/// Bounds of REST, in place of the defaults of [`rest::ServerConfig`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestLimits {
    /// Concurrent connections.
    pub max_connections: Option<usize>,
    /// Concurrent streams.
    pub max_streams: Option<usize>,
    /// Events that may wait for a slow reader.
    pub max_stream_events: Option<usize>,
    /// Requests per second, of one host and of one token.
    pub max_requests_per_second: Option<u32>,
    /// Octets of a request's body.
    pub max_body_octets: Option<usize>,
    /// Time for reading a request.
    pub read_timeout: Option<Duration>,
    /// Time for answering a request.
    pub response_timeout: Option<Duration>,
    /// The age at which a connection is closed.
    pub connection_lifetime: Option<Duration>,
    /// The interval of pings to readers of streams.
    pub stream_ping: Option<Duration>,
}

impl RestLimits {
    pub(crate) fn apply(&self, config: &mut ServerConfig) {
        fn set<T: Copy>(value: &mut T, given: Option<T>) {
            *value = given.unwrap_or(*value);
        }
        set(&mut config.max_connections, self.max_connections);
        set(&mut config.max_streams, self.max_streams);
        set(&mut config.max_stream_events, self.max_stream_events);
        set(&mut config.max_requests_per_second, self.max_requests_per_second);
        set(&mut config.max_body_octets, self.max_body_octets);
        set(&mut config.read_timeout, self.read_timeout);
        set(&mut config.response_timeout, self.response_timeout);
        set(&mut config.connection_lifetime, self.connection_lifetime);
        set(&mut config.stream_ping, self.stream_ping);
    }
}

/// The configuration of the REST interface and of its apps.
pub(crate) struct Northbound {
    rest: ServerConfig,
    apps: AppConfig,
    system: System,
    log: Option<LogControl>,
    /// Resources of services beside the RIC.
    others: Vec<Route>,
}

#[derive(Default)]
struct AppConfig {
    metrics: Registry,
    events: Broadcast,
    #[cfg(feature = "flexran")]
    flexran: crate::flexran::FlexRanAgents,
    #[cfg(feature = "conflicts")]
    conflicts: Option<::conflicts::ConflictHandle>,
    #[cfg(feature = "oran")]
    alarms: Option<crate::oran_host::AlarmSources>,
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
        let mut rest = config.rest.take()?;
        config.rest_limits.apply(&mut rest);
        rest.write_observer = crate::write_audit::observer(config, "rest");
        rest.max_host_percent = config.server.controller.max_host_percent;
        // beside those of REST: Redis, files, event loops
        config.server.other_files = 128 + rest.max_connections as u64;
        let is_loaded = config.rest_files == rest::AccessFiles::default() || rest.access.is_from(&config.rest_files);
        assert!(is_loaded, "rest_files restrict access to REST: load them into ServerConfig::access");
        #[cfg(feature = "slicing")]
        let apps = {
            let is_loaded = config.rules_file.is_none() || config.rules.is_some();
            assert!(is_loaded, "rules_file stores the association rules: load it into RicConfig::rules");
            AppConfig {
                metrics: rest.metrics.clone(),
                events: Broadcast::default(),
                #[cfg(feature = "flexran")]
                flexran: crate::flexran::FlexRanAgents::default(),
                #[cfg(feature = "conflicts")]
                conflicts: None,
                #[cfg(feature = "oran")]
                alarms: None,
                statistics_period: config.statistics_period,
                ue_ids_period: config.ue_ids_period,
                rules: config.rules.take(),
            }
        };
        #[cfg(not(feature = "slicing"))]
        let apps = AppConfig { metrics: rest.metrics.clone(), ..AppConfig::default() };
        let system = System::of(config, &rest);
        Some(Northbound { rest, apps, system, log: config.log_control, others: Vec::new() })
    }

    /// Adds the resources and metrics of conflict mitigation.
    #[cfg(feature = "conflicts")]
    pub fn add_conflicts(&mut self, conflicts: &::conflicts::ConflictHandle) {
        self.add(conflicts.routes());
        self.apps.conflicts = Some(conflicts.clone());
    }

    /// Adds the resources and metrics of the services for xApps of the O-RAN reference platform.
    #[cfg(feature = "oran")]
    pub fn add_oran(&mut self, oran: &crate::oran_host::OranHost) {
        self.add(oran.operator_routes());
        self.apps.alarms = oran.alarms();
    }

    /// Adds the resources of a service beside the RIC.
    #[cfg(any(feature = "a1", feature = "conflicts", feature = "oran"))]
    pub fn add(&mut self, routes: Vec<Route>) {
        self.others.extend(routes);
    }

    /// Shows FlexRAN agents.
    #[cfg(feature = "flexran")]
    pub fn show(&mut self, agents: crate::flexran::FlexRanAgents) {
        self.apps.flexran = agents;
    }

    /// Adds the apps to the RIC, and starts to serve.
    pub fn start(self, server: &mut Server) -> Result<rest::Server, ferric::Error> {
        let address = self.rest.address;
        if let Some(log) = self.log {
            let events = self.apps.events.clone();
            (log.observe)(Box::new(move |line| {
                events.publish(Topic::Log.bit(), || StreamEvent::new("log", &serde_json::json!({ "line": line })));
            }));
        }
        let routes = routes(server, self.apps, self.system, self.others)?;
        let config = ServerConfig { log_budget: server.log_budget(), ..self.rest };
        rest::Server::start(config, routes).map_err(|source| {
            let address = link::Address::Tcp { host: address.ip().to_string(), port: address.port() };
            link::Error::Bind { address, source }.into()
        })
    }
}

/// Adds the apps to the RIC. Returns the routes of all resources.
#[allow(unused_variables, reason = "each app is a feature")]
fn routes(
    server: &mut Server,
    config: AppConfig,
    system: System,
    others: Vec<Route>,
) -> Result<Vec<Route>, ferric::Error> {
    let metrics = RicMetrics::new(&config.metrics);
    #[cfg(feature = "flexran")]
    let metrics = metrics.with_flexran(config.flexran.clone());
    #[cfg(feature = "conflicts")]
    let metrics = config
        .conflicts
        .map(|conflicts| service_metrics::of_conflicts(&config.metrics, conflicts))
        .into_iter()
        .fold(metrics, RicMetrics::with);
    #[cfg(feature = "oran")]
    let metrics = config
        .alarms
        .map(|alarms| service_metrics::of_alarms(&config.metrics, alarms))
        .into_iter()
        .fold(metrics, RicMetrics::with);
    let app = RicApp::new(config.events.clone(), metrics, server.iapp_waker()?);
    let queue = add_iapp(server, app)?;
    let mut routes = system.routes();
    routes.extend(page::routes());
    routes.extend(positions::routes());
    #[cfg(feature = "decode")]
    routes.extend(decode::routes());
    routes.extend(overview::routes(&queue));
    routes.extend(ue_controls::routes(&queue));
    routes.extend(cell_configuration::routes(&queue));
    routes.extend(policies::routes(&queue));
    routes.extend(handover_requests::routes(&queue));
    routes.extend(events::routes(&config.events));
    #[cfg(feature = "flexran")]
    routes.push(flexran::route(config.flexran.clone()));
    routes.extend([health::route(&queue), kpm::route(&queue), messages::route(&queue), metrics::route(&queue)]);
    #[cfg(feature = "slicing")]
    {
        routes.extend(slicing::add_to(server, config.statistics_period, config.rules, config.events)?);
        slicing::ask_for_ue_ids(server, config.ue_ids_period);
    }
    #[cfg(feature = "traffic")]
    routes.extend(traffic::add_to(server)?);
    routes.extend(others);
    routes.push(API.route("/v1/openapi.json", &routes));
    Ok(routes)
}

/// The description of all resources.
const API: Api = Api {
    title: "ferric RIC",
    summary: "The northbound interface of ferric's near-RT RIC.",
    description: "Statistics, slices and the association of UEs with slices, the same for LTE and NR; traffic control. If the RIC \
                  is configured with tokens, requests without a token get 401, and those whose token has not the role of the \
                  operation get 403. Unknown fields and parameters are refused. Shares are in per cent, rates in Mbit/s. The \
                  state of a node is its last report (`statistics_period_ms`), with the controls acknowledged since. Where \
                  clients read often, an answer to GET may be 100 ms old; a read after one's own write shows it.",
    tags: &[
        ("ric", "The RIC itself: its apps, configuration, log and metrics."),
        ("events", "Streams of events and measurements."),
        ("nodes", "E2 nodes."),
        ("ues", "UEs: their names and slices, handovers, DRX, QoS and quotas."),
        ("policies", "Rules on handovers that nodes apply, and handovers that wait for a decision."),
        ("statistics", "Statistics that nodes report."),
        ("slices", "The slices of a cell."),
        ("associations", "Rules that put UEs into slices."),
        ("a1", "A1: policies of a non-RT RIC for xApps, and its enrichment information."),
        ("conflicts", "Conflict mitigation, if the RIC has rules for it or an audit log."),
        ("traffic", "Traffic control: queues, filters, policers, shapers, the scheduler and the pacer."),
    ],
};

#[cfg(all(test, feature = "slicing", feature = "traffic"))]
mod tests {
    use ferric::server::ServerConfig;

    use super::*;

    fn log_control() -> LogControl {
        LogControl { set_level: |_| true, observe: |_| () }
    }

    fn others() -> Vec<Route> {
        #[cfg(feature = "a1")]
        let routes = {
            use oran::a1::enrichment::{Enrichment, EnrichmentConfig, routes};
            let non_rt_ric = rest::client::ClientConfig::new("http://127.0.0.1:1");
            let config = EnrichmentConfig { non_rt_ric, ric: "ric".to_owned() };
            let enrichment = Enrichment::new(config, Vec::new(), None, log_lines::LogBudget::new(1000)).unwrap();
            let mut all = oran::a1::routes(&oran::a1::A1::new(Vec::new()));
            all.extend(routes(&enrichment));
            all
        };
        #[cfg(not(feature = "a1"))]
        let routes = Vec::new();
        routes
    }

    #[test]
    fn routes_are_declared_without_a_fault() {
        let any_port = "tcp://127.0.0.1:0".parse().unwrap();
        let server = ServerConfig { e2: vec![any_port], xapp: None, ..ServerConfig::default() };
        let config = RicConfig { server: server.clone(), log_control: Some(log_control()), ..RicConfig::default() };
        let system = System::of(&config, &rest::ServerConfig::new("127.0.0.1:0".parse().unwrap()));
        let mut server = Server::bind(server).unwrap();
        #[cfg_attr(not(feature = "conflicts"), allow(unused_mut, reason = "the mitigation has routes"))]
        let mut others = others();
        #[cfg(feature = "conflicts")]
        others.extend(conflicts::add_to(&mut server, conflicts::ConflictConfig::default()).unwrap().routes());
        let routes = routes(&mut server, AppConfig::default(), system, others).unwrap();
        assert_eq!(API.faults(&routes), Vec::<String>::new());
    }
}
