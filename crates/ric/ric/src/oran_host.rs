//! The services for xApps of the O-RAN reference platform: which of them a RIC has.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

pub use alarms::AlertManagerConfig;
use alarms::{Alarms, AlertManager, OtherRics, WeakAlarms};
use ferric::e2ap::GlobalE2NodeId;
use ferric::link::{self, Address};
use ferric::server::Server;
use oran::group::GroupConfig;
pub use oran::manager::Commands;
use oran::manager::{Bus, FaultObserver, Manager, ManagerConfig};
pub use oran::messaging::MAX_ALARM_ENDPOINTS;
use oran::messaging::{AlarmSink, MessagingConfig, MessagingHandle, MessagingSetup};
pub use oran::messaging::{RmrEntry, RmrPeer};

use crate::RicConfig;

/// Where xApps of the O-RAN reference platform find the RIC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OranConfig {
    /// RMR. Default: none.
    pub rmr: Option<Address>,
    /// Records for the route tables of xApps beside those of the RIC. Default: none.
    pub rmr_routes: Vec<String>,
    /// The REST interfaces of the platform: those of the subscription manager, if there is RMR, of the E2 manager, app manager and alarm
    /// manager. Default: none.
    pub rest: Option<SocketAddr>,
    /// The file of the commands of xApps that may be started. Default: none, and nothing is started.
    pub commands_file: Option<PathBuf>,
    /// Its content.
    pub commands: Option<Commands>,
    /// The endpoints `HOST:PORT` that alarms are forwarded to over RMR. Default: none.
    pub alarm_endpoints: Vec<String>,
    /// The alert manager of Prometheus that alarms are sent to. Default: none.
    pub alert_manager: Option<AlertManagerConfig>,
    /// What each xApp over RMR may do; one that no entry names may do nothing. Default: every xApp may do everything.
    pub rights: Option<Vec<RmrEntry>>,
}

impl OranConfig {
    /// Reads the URL of RMR.
    ///
    /// # Errors
    /// Why it is none.
    pub fn rmr(url: &str) -> Result<Address, String> {
        MessagingConfig::address(url)
    }

    /// Reads an endpoint that alarms are forwarded to.
    ///
    /// # Errors
    /// Why it is none.
    pub fn alarm_endpoint(text: &str) -> Result<String, String> {
        match text.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>())) {
            Some((host, Ok(1..))) if !host.is_empty() && text.len() <= 256 => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is not HOST:PORT")),
        }
    }

    /// Reads the URL of an alert manager.
    ///
    /// # Errors
    /// Why it is none.
    pub fn alert_manager(url: &str) -> Result<AlertManagerConfig, String> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!("`{url}` is not http://HOST:PORT or https://HOST:PORT"));
        }
        Ok(AlertManagerConfig { url: url.to_owned(), ca: None, token: None })
    }

    /// Reads a record for route tables.
    ///
    /// # Errors
    /// Why it is none.
    pub fn route(record: &str) -> Result<String, String> {
        let one = || format!("`{record}` is not one record `mse|TYPE|SUBSCRIPTION|ENDPOINTS`");
        let mut records = MessagingConfig::routes(record)?;
        records.pop().filter(|_| records.is_empty()).ok_or_else(one)
    }
}

/// What the services take of the configuration of a RIC, before others take it.
pub(crate) struct OranSetup {
    messaging: Option<MessagingSetup>,
    rest: Option<rest::ServerConfig>,
    commands: Option<Commands>,
    alarm_endpoints: Vec<String>,
    alert_manager: Option<AlertManagerConfig>,
    /// Whether the RIC's own REST, and so its page, shows alarms.
    shows_alarms: bool,
    /// The bound of an xApp's outbox, for alarms.
    outbox_octets: usize,
}

impl OranSetup {
    pub fn new(own: OranConfig, config: &RicConfig) -> Self {
        let OranConfig { rmr, rmr_routes, rest, commands_file, commands, rights, alarm_endpoints, alert_manager } = own;
        assert!(commands_file.is_none() || commands.is_some(), "commands_file permits commands: load it into commands");
        #[cfg(feature = "conflicts")]
        let audit = config.conflicts.as_ref().and_then(|conflicts| conflicts.audit.clone());
        #[cfg(not(feature = "conflicts"))]
        let audit = None;
        let messaging = rmr.map(|address| MessagingConfig { address, routes: rmr_routes, rights, audit });
        let messaging = messaging.map(|messaging| MessagingSetup::new(messaging, &config.server));
        let rest = rest.map(|address| {
            // the services of the platform have names like service-ricplt-appmgr-http.ricplt
            let mut rest = rest::ServerConfig { host_suffixes: &[".ricplt"], ..rest::ServerConfig::new(address) };
            #[cfg(feature = "rest")]
            {
                config.rest_limits.apply(&mut rest);
                rest.write_observer = crate::write_audit::observer(config, "oran_rest");
                if let Some(of_ric) = &config.rest {
                    rest.access = of_ric.access.clone();
                }
            }
            rest.max_host_percent = config.server.controller.max_host_percent;
            rest
        });
        #[cfg(feature = "rest")]
        let shows_alarms = config.rest.is_some();
        #[cfg(not(feature = "rest"))]
        let shows_alarms = false;
        let outbox_octets = config.server.link.outbox_octets;
        OranSetup { messaging, rest, commands, alarm_endpoints, alert_manager, shows_alarms, outbox_octets }
    }

    /// Whether there is something for xApps.
    #[cfg(feature = "peers")]
    pub fn has_services(&self) -> bool {
        self.messaging.is_some() || self.rest.is_some()
    }

    /// Adds the services to a RIC, and serves. With a group, xApps reach the nodes of all its RICs.
    pub fn start(self, server: &mut Server, group: Option<GroupConfig>) -> Result<OranHost, ferric::Error> {
        let entries = group.as_ref().map(|group| Arc::clone(&group.entries));
        let others = group.as_ref().map(|group| Box::new(Others(group.clone())) as Box<dyn OtherRics>);
        let with_group = |setup: MessagingSetup| match group {
            Some(group) => setup.with_group(group),
            None => setup,
        };
        let messaging = self.messaging.map(|setup| with_group(setup).add_to(server)).transpose()?;
        let has_alarms =
            self.rest.is_some() || messaging.is_some() || self.alert_manager.is_some() || self.shows_alarms;
        let alarms = has_alarms.then(|| Alarms::new(server.log_budget()));
        let mut alert_manager = None;
        if let Some(alarms) = &alarms {
            alarms::add_to(server, alarms, self.outbox_octets, others)?;
            let failed = |source| ferric::Error::System { what: "send alarms to an alert manager", source };
            let started = self.alert_manager.map(|config| AlertManager::start(config, alarms));
            alert_manager = started.transpose().map_err(failed)?;
            if let Some(messaging) = &messaging {
                messaging.serve_alarms(Arc::new(Sink(alarms.downgrade())));
                if !self.alarm_endpoints.is_empty() {
                    messaging.forward_alarms_to(self.alarm_endpoints);
                    let messaging = messaging.clone();
                    alarms.forward_to(Box::new(move |alarm| messaging.forward_alarm(alarm.to_message())));
                }
            }
        }
        let manager = match self.commands {
            None if self.rest.is_none() => None,
            commands => Some(manage(commands, server, messaging.as_ref(), alarms.as_ref())?),
        };
        let rest = match (self.rest, &alarms) {
            (Some(config), Some(alarms)) => {
                let nodes = oran::e2_manager::add_to(server, entries)?;
                Some(serve(config, server, nodes, messaging.as_ref(), manager.as_ref(), alarms)?)
            }
            _ => None,
        };
        Ok(OranHost { rest, manager, messaging, alarms, alert_manager })
    }
}

/// Takes what xApps over RMR report.
struct Sink(WeakAlarms);

/// The other RICs of a group, of which alarms depend.
struct Others(GroupConfig);

impl OtherRics for Others {
    fn serving(&self, node: &GlobalE2NodeId) -> Option<String> {
        self.0.serving(node)
    }

    fn is_there(&self, name: &str) -> bool {
        self.0.has_ric(name)
    }
}

impl AlarmSink for Sink {
    fn handle_message(&self, host: &str, payload: &[u8]) -> Result<(), String> {
        self.0.upgrade().map_or_else(|| Err("the RIC stops".to_owned()), |alarms| alarms.handle_message(host, payload))
    }

    fn set_endpoint(&self, endpoint: &str, fault: Option<&str>) {
        if let Some(alarms) = self.0.upgrade() {
            alarms.set_rmr_endpoint(endpoint, fault);
        }
    }
}

fn manage(
    commands: Option<Commands>,
    server: &Server,
    messaging: Option<&MessagingHandle>,
    alarms: Option<&Alarms>,
) -> Result<Manager, ferric::Error> {
    let rmr = messaging.and_then(|messaging| match messaging.address() {
        Address::Tcp { host, port } => {
            let host = host.parse::<IpAddr>().ok().filter(|host| !host.is_unspecified());
            Some(SocketAddr::new(host.unwrap_or(Ipv4Addr::LOCALHOST.into()), *port))
        }
        _ => None,
    });
    let bus = messaging.map(|messaging| Box::new(messaging.clone()) as Box<dyn Bus>);
    let faults = alarms.map(|alarms| {
        let alarms = alarms.clone();
        Box::new(move |name: &str, fault: Option<&str>| alarms.set_started_xapp(name, fault)) as FaultObserver
    });
    let manager = Manager::start(ManagerConfig { commands, bus, rmr, log: server.log_budget(), faults });
    manager.map_err(|source| ferric::Error::System { what: "manage xApps", source })
}

fn serve(
    config: rest::ServerConfig,
    server: &mut Server,
    mut routes: Vec<rest::Route>,
    messaging: Option<&MessagingHandle>,
    manager: Option<&Manager>,
    alarms: &Alarms,
) -> Result<rest::Server, ferric::Error> {
    routes.extend(manager.into_iter().flat_map(Manager::routes));
    routes.extend(alarms::routes(alarms));
    routes.extend(messaging.into_iter().flat_map(oran::subscription::routes));
    let address = config.address;
    let config = rest::ServerConfig { log_budget: server.log_budget(), ..config };
    rest::Server::start(config, routes).map_err(|source| {
        let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
        link::Error::Bind { address, source }.into()
    })
}

/// Where the metrics of alarms are.
#[cfg(feature = "rest")]
#[derive(Clone, Debug)]
pub(crate) struct AlarmSources {
    pub alarms: Alarms,
    pub messaging: Option<MessagingHandle>,
    pub alert_manager: Option<AlertManager>,
}

/// The services of a RIC for xApps of the O-RAN reference platform.
#[derive(Debug)]
pub struct OranHost {
    rest: Option<rest::Server>,
    #[cfg_attr(not(feature = "rest"), expect(dead_code, reason = "it manages xApps until it is dropped"))]
    manager: Option<Manager>,
    messaging: Option<MessagingHandle>,
    #[cfg_attr(not(feature = "rest"), expect(dead_code, reason = "others have weak references to them"))]
    alarms: Option<Alarms>,
    #[cfg_attr(not(feature = "rest"), expect(dead_code, reason = "it sends alarms until it is dropped"))]
    alert_manager: Option<AlertManager>,
}

impl OranHost {
    /// Where RMR is spoken.
    #[must_use]
    pub fn rmr_address(&self) -> Option<&Address> {
        self.messaging.as_ref().map(MessagingHandle::address)
    }

    /// The routes by which operators start and stop xApps, and see alarms.
    #[cfg(feature = "rest")]
    pub(crate) fn operator_routes(&self) -> Vec<rest::Route> {
        let of_alarms = self.alarms.iter().map(alarms::active_route);
        self.manager.iter().flat_map(Manager::operator_routes).chain(of_alarms).collect()
    }

    /// Replaces the rights of xApps over RMR.
    #[must_use]
    pub fn rights_handle(&self) -> Option<RmrRightsHandle> {
        self.messaging.clone().map(RmrRightsHandle)
    }

    /// Messaging over RMR.
    #[cfg(feature = "a1")]
    pub(crate) fn messaging(&self) -> Option<&MessagingHandle> {
        self.messaging.as_ref()
    }

    /// The alarms, if there is anybody who gets them.
    #[cfg(feature = "rest")]
    pub(crate) fn alarms(&self) -> Option<AlarmSources> {
        let (alarms, messaging) = (self.alarms.clone()?, self.messaging.clone());
        Some(AlarmSources { alarms, messaging, alert_manager: self.alert_manager.clone() })
    }

    /// The REST interfaces of the platform.
    #[must_use]
    pub fn rest(&self) -> Option<&rest::Server> {
        self.rest.as_ref()
    }
}

/// Replaces the rights of xApps over RMR while the RIC runs, from any thread.
#[derive(Clone, Debug)]
pub struct RmrRightsHandle(MessagingHandle);

impl RmrRightsHandle {
    /// Replaces the rights. Subscriptions that they do not permit end.
    pub fn replace(&self, rights: Option<Vec<RmrEntry>>) {
        self.0.set_rights(rights);
    }
}
