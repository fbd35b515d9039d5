//! `/v1/configuration`, `/v1/models` and `/v1/log-level`: the RIC itself.

use rest::{Operation, Problem, Request, Response, Role, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::info;
use tracing::level_filters::LevelFilter;

use crate::{LogControl, RicConfig};

/// The configuration in force, as far as it concerns people who use REST. Paths of files and rights are not in it.
#[derive(Clone, Serialize, JsonSchema)]
struct Configuration {
    /// The version of the program.
    version: &'static str,
    /// The addresses for E2 nodes.
    e2: Vec<String>,
    /// The address for xApps.
    xapp: Option<String>,
    /// The addresses for FlexRIC's xApps.
    e42: Vec<String>,
    /// The PLMN and the number of the Global RIC ID.
    ric_id: String,
    /// The number of event loops.
    loops: usize,
    max_nodes: usize,
    max_connections: usize,
    max_xapp_connections: usize,
    max_e42_connections: usize,
    max_host_percent: u8,
    max_log_lines: u32,
    max_pdu_octets: usize,
    outbox_octets: usize,
    setup_timeout_ms: u64,
    subscription_timeout_ms: u64,
    delete_timeout_ms: u64,
    control_timeout_ms: u64,
    rest_limits: RestLimitsDocument,
}

/// The bounds of REST.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "RestLimits")]
struct RestLimitsDocument {
    max_connections: usize,
    max_streams: usize,
    max_stream_events: usize,
    max_requests_per_second: u32,
    max_body_octets: usize,
    read_timeout_ms: u64,
    response_timeout_ms: u64,
    connection_lifetime_ms: u64,
    stream_ping_ms: u64,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Models {
    models: Vec<ModelDocument>,
}

/// A service model from a shared object.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "Model")]
struct ModelDocument {
    name: String,
    /// The types of messages that it describes.
    types: Vec<String>,
}

/// The least severe level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: a log level")]
struct LogLevel {
    level: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

const LEVELS: [(Level, LevelFilter); 6] = [
    (Level::Off, LevelFilter::OFF),
    (Level::Error, LevelFilter::ERROR),
    (Level::Warn, LevelFilter::WARN),
    (Level::Info, LevelFilter::INFO),
    (Level::Debug, LevelFilter::DEBUG),
    (Level::Trace, LevelFilter::TRACE),
];

impl LogLevel {
    fn now() -> Self {
        let now = LevelFilter::current();
        let level = LEVELS.iter().find(|(_, filter)| *filter == now).map_or(Level::Trace, |(level, _)| *level);
        LogLevel { level }
    }

    fn filter(self) -> LevelFilter {
        LEVELS.iter().find(|(level, _)| *level == self.level).map_or(LevelFilter::INFO, |(_, filter)| *filter)
    }
}

fn ms(duration: std::time::Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

impl Configuration {
    fn of(config: &RicConfig, rest: &rest::ServerConfig) -> Self {
        let server = &config.server;
        let controller = &server.controller;
        Configuration {
            version: env!("CARGO_PKG_VERSION"),
            e2: server.e2.iter().map(ToString::to_string).collect(),
            xapp: server.xapp.as_ref().map(ToString::to_string),
            e42: server.e42.iter().flat_map(|e42| &e42.addresses).map(|address| format!("e42+{}", address.0)).collect(),
            ric_id: controller.ric_id.to_string(),
            loops: server.loops,
            max_nodes: controller.max_nodes,
            max_connections: server.max_connections,
            max_xapp_connections: server.max_xapp_connections,
            max_e42_connections: server.max_e42_connections,
            max_host_percent: controller.max_host_percent,
            max_log_lines: server.max_log_lines,
            max_pdu_octets: server.link.max_pdu_octets,
            outbox_octets: server.link.outbox_octets,
            setup_timeout_ms: ms(controller.setup_timeout),
            subscription_timeout_ms: ms(controller.subscription_timeout),
            delete_timeout_ms: ms(controller.delete_timeout),
            control_timeout_ms: ms(controller.control_timeout),
            rest_limits: RestLimitsDocument {
                max_connections: rest.max_connections,
                max_streams: rest.max_streams,
                max_stream_events: rest.max_stream_events,
                max_requests_per_second: rest.max_requests_per_second,
                max_body_octets: rest.max_body_octets,
                read_timeout_ms: ms(rest.read_timeout),
                response_timeout_ms: ms(rest.response_timeout),
                connection_lifetime_ms: ms(rest.connection_lifetime),
                stream_ping_ms: ms(rest.stream_ping),
            },
        }
    }
}

/// The answers that do not change while the RIC runs, and the control of its log.
pub(super) struct System {
    configuration: Configuration,
    models: Models,
    log: Option<LogControl>,
}

impl System {
    pub fn of(config: &RicConfig, rest: &rest::ServerConfig) -> Self {
        #[cfg(feature = "models")]
        let models = config.models.iter().map(|model| ModelDocument {
            name: model.name().to_owned(),
            types: model.types().map(str::to_owned).collect(),
        });
        #[cfg(not(feature = "models"))]
        let models = std::iter::empty();
        System {
            configuration: Configuration::of(config, rest),
            models: Models { models: models.collect() },
            log: config.log_control,
        }
    }

    /// Returns the routes.
    pub fn routes(self) -> Vec<Route> {
        let System { configuration, models, log } = self;
        let get = |path, id, summary| Operation::get(path, id, summary).tag("ric");
        let of_configuration = get("/v1/configuration", "getConfiguration", "The configuration in force");
        let of_models =
            get("/v1/models", "getModels", "The service models from shared objects").returns::<Models>("The models.");
        let level = get("/v1/log-level", "getLogLevel", "The least severe level that is logged")
            .returns::<LogLevel>("The level.");
        let mut routes = vec![
            Route::new(of_configuration.returns::<Configuration>("The configuration."), move |_| {
                Ok(Response::ok(configuration.clone()).tagged())
            }),
            Route::new(of_models, move |_| Ok(Response::ok(models.clone()).tagged())),
            Route::new(level, |_| Ok(Response::ok(LogLevel::now()).tagged())),
        ];
        if let Some(log) = log {
            let set = Operation::put("/v1/log-level", "putLogLevel", "Change the level of the log until the RIC stops");
            let set =
                set.tag("ric").role(Role::Admin).takes::<LogLevel>().example(serde_json::json!({ "level": "debug" }));
            let set = set.returns::<LogLevel>("The level after the change.").describe(
                "Also if the command line has set it. With `If-Match` it is changed only if it is still what the client has read.",
            );
            routes.push(Route::new(set, move |request| set_level(request, log)));
        }
        routes
    }
}

fn set_level(request: &Request, log: LogControl) -> Result<Response, Problem> {
    let wanted: LogLevel = request.json()?;
    request.check_if_match(&Response::tag_of(LogLevel::now()))?;
    if !(log.set_level)(wanted.filter()) {
        return Err(Problem::conflict("the log of this program has no level that can be changed"));
    }
    // if the level allows it
    info!(request_id = %request.id, "log level: {}, by REST", wanted.filter());
    Ok(Response::ok(wanted).tagged())
}
