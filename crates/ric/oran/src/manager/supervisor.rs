//! The thread that owns registrations and processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirBuilder;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log_lines::{Host, LogBudget, escaped};
use rest::{Problem, Reply, Response, StatusCode};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::commands::{Commands, Permitted};
use super::config_reader::{ConfigReader, Source, check_path};
use super::container::{Container, ric_id};
use super::descriptor::{Descriptor, MAX_DESCRIPTOR_OCTETS, Messages, Mistakes, described};
use super::documents::{
    ConfigMetadata, Deployment, DeregisterRequest, InstanceState, InstanceStatus, LogLevel, NAMESPACE, ProcessState,
    RegisterRequest, XappConfig, XappLog, XappState, XappStatus,
};
use super::guard::Guard;
use super::output::Output;
use super::process::{check_program, private_folder};
use super::registry::{Registration, Registry, check_endpoint};
use super::xapp::{LOG_LEVEL_FILE, Phase, Surroundings, Xapp};
use super::{Bus, FaultObserver, MAX_XAPPS, ManagerConfig};
use crate::json_schema::Schema;

/// A request for the thread.
pub(super) type Job = Box<dyn FnOnce(&mut Supervisor, Reply) + Send>;

/// Octets of a schema.
const MAX_SCHEMA_OCTETS: usize = 256 << 10;
/// Arguments that REST may add, and their octets.
const MAX_ARGUMENTS: usize = 256;
const MAX_ARGUMENT_OCTETS: usize = 32 << 10;
/// Octets of the name of an instance that registers itself.
const MAX_NAME_OCTETS: usize = 128;

/// Registrations and processes.
pub(super) struct Supervisor {
    commands: Option<Commands>,
    bus: Option<Box<dyn Bus>>,
    rmr: Option<SocketAddr>,
    log: LogBudget,
    registry: Registry,
    reader: ConfigReader,
    xapps: BTreeMap<String, Xapp>,
    guard: Guard,
    /// The id of the RIC in the names of containers.
    id: String,
    /// The folder of the folders of xApps.
    folder: Option<PathBuf>,
    faults: Option<FaultObserver>,
    /// The xApps whose fault was reported.
    faulty: BTreeSet<String>,
}

impl Supervisor {
    /// `wake` has [`Supervisor::step`] called.
    pub fn new(config: ManagerConfig, wake: Arc<dyn Fn() + Send + Sync>) -> io::Result<Self> {
        let ManagerConfig { commands, bus, rmr, log, faults } = config;
        let parent = commands.as_ref().and_then(|commands| commands.state_folder.clone());
        let parent = parent.unwrap_or_else(std::env::temp_dir);
        let id = ric_id(&parent, rmr);
        let (folder, guard) = match &commands {
            None => (None, Guard::none()),
            Some(_) => {
                let folder = parent.join(format!("ferric-xapps-{}", std::process::id()));
                std::fs::create_dir_all(&parent)?;
                (Some(new_private_folder(folder)?), Guard::start())
            }
        };
        if let Some(folder) = commands.as_ref().and_then(|commands| commands.log_folder.as_ref()) {
            std::fs::create_dir_all(folder)?;
        }
        let (registry, reader, xapps) = (Registry::default(), ConfigReader::new(wake), BTreeMap::new());
        let faulty = BTreeSet::new();
        Ok(Supervisor { commands, bus, rmr, log, registry, reader, xapps, guard, id, folder, faults, faulty })
    }

    /// Starts the xApps that start with the RIC.
    pub fn start_configured(&mut self) {
        let permitted = self.commands.iter().flat_map(|commands| &commands.permitted);
        let names: Vec<_> = permitted.filter(|of| of.start).map(|of| of.name.clone()).collect();
        for name in names {
            let deployment = Deployment { xapp_name: name.clone(), ..Deployment::default() };
            if let Err(problem) = self.deploy(deployment) {
                warn!(
                    "xApp {name} is not started with the RIC (start = true): {}; correct it, then `ferric xapps run DESCRIPTOR`",
                    problem.detail()
                );
            }
        }
    }

    /// Whether something was started.
    pub fn has_processes(&self) -> bool {
        !self.xapps.is_empty()
    }

    /// Looks at the processes, and takes configurations that were read.
    pub fn step(&mut self) {
        self.take_configs();
        let now = Instant::now();
        let cgroup = self.commands.as_ref().and_then(|commands| commands.cgroup.as_deref());
        let mut removed = Vec::new();
        let mut surroundings = Surroundings { guard: &mut self.guard, cgroup, log: &self.log };
        for (name, xapp) in &mut self.xapps {
            if let Some(replies) = xapp.step(now, self.bus.as_deref(), &mut surroundings) {
                removed.push((name.clone(), replies));
            }
        }
        for (name, replies) in removed {
            // who is answered finds nothing of it
            self.forget(&name);
            replies.into_iter().for_each(|reply| reply.send(Ok(Response::no_content())));
        }
        self.report_faults();
        // what does not run any more is no destination of messages
        let is_registered = |name: &String| self.registry.of(name).any(|(_, of)| of.host.is_none());
        let ended = self.xapps.iter().filter(|(name, xapp)| !xapp.is_active() && is_registered(name));
        let ended: Vec<_> = ended.map(|(name, _)| name.clone()).collect();
        if !ended.is_empty() {
            ended.iter().for_each(|name| self.registry.remove_started(name));
            self.publish();
        }
    }

    /// Reports xApps that have ended with a fault, and those that run again or are gone.
    fn report_faults(&mut self) {
        let Some(report) = &self.faults else { return };
        for (name, xapp) in &self.xapps {
            if let Some(why) = xapp.fault_now()
                && self.faulty.insert(name.clone())
            {
                report(name, Some(why));
            }
        }
        self.faulty.retain(|name| {
            let is_over = self.xapps.get(name).is_none_or(|xapp| xapp.fault_now().is_none());
            if is_over {
                report(name, None);
            }
            !is_over
        });
    }

    /// Ends all processes.
    pub fn end(&mut self) {
        /// Between two looks at processes that are to end.
        const PAUSE: Duration = Duration::from_millis(20);
        self.xapps.retain(|_, xapp| xapp.terminate(Instant::now(), true));
        while !self.xapps.is_empty() {
            self.step();
            std::thread::sleep(PAUSE);
        }
        if let Some(folder) = &self.folder {
            // each xApp has removed its own
            let _ = std::fs::remove_dir(folder);
        }
    }

    fn forget(&mut self, name: &str) {
        self.xapps.remove(name);
        self.registry.remove_started(name);
        self.publish();
    }

    /// Has messaging use what is registered.
    fn publish(&self) {
        if let Some(bus) = &self.bus {
            bus.set_routes(self.registry.records());
            bus.watch(
                self.registry.iter().filter_map(|(_, of)| of.rmr.clone().filter(|_| of.host.is_none())).collect(),
            );
            // an xApp on this host reaches RMR from the address of RMR, and REST over loopback
            let own = [Some(Ipv4Addr::LOCALHOST.into()), self.rmr.map(|rmr| rmr.ip())];
            let own: Vec<_> = own.into_iter().flatten().collect();
            bus.set_named(self.registry.named(&own));
        }
    }

    fn permitted(&self, name: &str) -> Result<(&Commands, Permitted), Problem> {
        let forbidden = |detail: String| Problem::new(StatusCode::FORBIDDEN, detail);
        let commands = self.commands.as_ref();
        let commands = commands.ok_or_else(|| {
            forbidden(
                "this RIC starts no processes: its operator permits commands with --xapp-commands FILE".to_owned(),
            )
        })?;
        let permitted = commands.permitted.iter().find(|permitted| permitted.name == name);
        let permitted = permitted.ok_or_else(|| {
            forbidden(format!("the file of commands of this RIC has no xApp `{}`", escaped(shortened(name))))
        })?;
        Ok((commands, permitted.clone()))
    }

    /// Starts an xApp.
    pub fn deploy(&mut self, deployment: Deployment) -> Result<XappState, Problem> {
        let name = deployment.xapp_name;
        let (commands, permitted) = self.permitted(&name)?;
        let command = match deployment.command {
            None => permitted.command.clone(),
            Some(command) => checked_command(command, &permitted)?,
        };
        let (log_octets, log_folder) = (commands.log_octets, commands.log_folder.clone());
        let engine = commands.engine.clone();
        if self.xapps.get(&name).is_some_and(Xapp::is_active) {
            return Err(Problem::conflict(format!("the xApp `{name}` runs already: stop it first")));
        }
        if self.registry.of(&name).any(|(_, of)| of.host.is_some()) {
            return Err(Problem::conflict(format!(
                "an xApp `{name}` has registered that this RIC has not started: stop that one, or take another name"
            )));
        }
        if !self.xapps.contains_key(&name) && self.xapps.len() == MAX_XAPPS {
            return Err(Problem::new(
                StatusCode::INSUFFICIENT_STORAGE,
                format!("{MAX_XAPPS} xApps were started: stop some"),
            ));
        }
        let read = |path: &Option<PathBuf>, what: &str, max_octets: usize| {
            path.as_ref()
                .map(|path| read_json(path, max_octets).map_err(|why| Problem::unprocessable(format!("{what} {why}"))))
                .transpose()
        };
        let schema = match deployment.controls_schema {
            Some(schema) => Some(Value::Object(schema)),
            None => read(&permitted.schema, "the schema", MAX_SCHEMA_OCTETS)?,
        };
        let schema = schema.as_ref().map(Schema::new).transpose();
        let schema = schema.map_err(|why| Problem::unprocessable(why).with("at", "controlsSchema"))?;
        let config = match deployment.descriptor {
            Some(config) => Value::Object(config),
            None => read(&permitted.descriptor, "the descriptor", MAX_DESCRIPTOR_OCTETS)?
                .ok_or_else(|| Problem::unprocessable(format!("the xApp `{name}` has no descriptor: give one")))?,
        };
        let descriptor = Descriptor::check(config, schema.as_ref()).map_err(|mistakes| problem_of(&mistakes))?;
        if descriptor.name != name {
            let why = format!("the descriptor is that of `{}`, and not of `{name}`", descriptor.name);
            return Err(Problem::unprocessable(why).with("at", "/xapp_name"));
        }
        let container =
            permitted.image.as_deref().map(|image| Container::new(&engine, image, &self.id, &name)).transpose();
        let container =
            container.map_err(|why| Problem::unprocessable(format!("the xApp `{name}` cannot run: {why}")))?;
        let program = container.as_ref().map_or_else(|| command[0].as_str(), Container::engine);
        check_program(program).map_err(Problem::unprocessable)?;
        let endpoint = descriptor.rmr_port.map(|port| format!("127.0.0.1:{port}"));
        if endpoint.is_some()
            && let Some(((other, _), _)) =
                self.registry.iter().find(|((other, _), of)| *other != name && of.rmr == endpoint)
        {
            let why = format!("the xApp `{other}` has the port of `{name}` for RMR: give one another port");
            return Err(Problem::conflict(why).with("at", "/messaging/ports"));
        }
        let system = |error: io::Error| {
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the folder of xApp `{name}` cannot be used: {error}: let the RIC write there (state_folder)"),
            )
        };
        // a former one of this name, and its folder, are no more
        self.xapps.remove(&name);
        let folder =
            self.folder.as_ref().map(|folder| private_folder(folder.join(&name))).transpose().map_err(system)?;
        let folder = folder.unwrap_or_default();
        let output = Output::new(log_octets, log_folder.map(|folder| folder.join(format!("{name}.log"))));
        let environment = environment(&descriptor, &folder, self.rmr);
        let mut xapp = Xapp::new(descriptor, schema, (command, container), permitted, environment, folder, output);
        xapp.write_config().map_err(system)?;
        xapp.set_log_level(xapp.log_level).map_err(system)?;
        let cgroup = self.commands.as_ref().and_then(|commands| commands.cgroup.as_deref());
        let mut surroundings = Surroundings { guard: &mut self.guard, cgroup, log: &self.log };
        xapp.start(Instant::now(), &mut surroundings).map_err(Problem::unprocessable)?;
        self.registry.register(&name, &name, registration_of(&xapp))?;
        self.log_unknown_types(&name, &xapp.descriptor.messages);
        self.xapps.insert(name.clone(), xapp);
        self.publish();
        self.xapp(&name)
    }

    fn log_unknown_types(&self, name: &str, messages: &Messages) {
        let unknown = Registry::unknown_types(messages);
        if !unknown.is_empty() && self.log.allow(Host::Unknown) {
            warn!(
                "xApp {} gets no route for messages {}: their types have no known name; give their numbers in its descriptor",
                escaped(name),
                escaped(unknown.join(", "))
            );
        }
    }

    /// Stops an xApp: the request is answered when it has ended.
    pub fn undeploy(&mut self, name: &str, reply: Reply) {
        let Some(xapp) = self.xapps.get_mut(name) else {
            let detail = format!("this RIC has not started an xApp `{}`", escaped(shortened(name)));
            return reply.send(Err(Problem::not_found(detail)));
        };
        if xapp.terminate(Instant::now(), true) {
            if let Err(reply) = xapp.await_end(reply) {
                reply.send(Ok(Response::no_content()));
            }
            return;
        }
        self.forget(name);
        reply.send(Ok(Response::no_content()));
    }

    /// Notes what an xApp says of itself.
    pub fn register(&mut self, request: RegisterRequest, host: IpAddr) -> Result<(), Problem> {
        let RegisterRequest { app_name, app_version, app_instance_name, http_endpoint, rmr_endpoint, .. } = request;
        let instance = app_instance_name.unwrap_or_else(|| app_name.clone());
        for (at, name) in [("appName", &app_name), ("appInstanceName", &instance)] {
            if !(1..=MAX_NAME_OCTETS).contains(&name.len()) || !name.bytes().all(|octet| octet.is_ascii_graphic()) {
                let why = format!("{at}: a name has 1 to {MAX_NAME_OCTETS} graphic characters of ASCII");
                return Err(Problem::bad_request(why).with("at", at));
            }
        }
        for (at, endpoint) in [("httpEndpoint", &http_endpoint), ("rmrEndpoint", &rmr_endpoint)] {
            check_endpoint(endpoint).map_err(|why| Problem::bad_request(format!("{at}: {why}")).with("at", at))?;
        }
        let wrong_config = |why: String| Problem::bad_request(format!("config: {why}")).with("at", "config");
        let config = request.config.filter(|config| !config.is_empty());
        let path = request.config_path.filter(|path| !path.is_empty() && config.is_none());
        if let Some(path) = &path {
            check_path(path)
                .map_err(|why| Problem::bad_request(format!("configPath: {why}")).with("at", "configPath"))?;
        }
        let messages = match config {
            None => Messages::default(),
            Some(config) if config.len() > MAX_DESCRIPTOR_OCTETS => {
                return Err(wrong_config(format!("it has more than {MAX_DESCRIPTOR_OCTETS} octets")));
            }
            Some(config) => {
                let config: Value = serde_json::from_str(&config).map_err(|error| wrong_config(error.to_string()))?;
                Messages::of(&config)
            }
        };
        self.log_unknown_types(&app_name, &messages);
        let at = rmr_endpoint;
        let version: String = app_version.unwrap_or_default().chars().take(64).collect();
        let http = http_endpoint.clone();
        let new = Registration { version, http, rmr: Some(at.clone()), messages, host: Some(host) };
        let former = self.registry.register(&app_name, &instance, new)?;
        if self.log.allow(Host::from(host)) {
            match former.filter(|former| former.rmr.as_ref() != Some(&at)).and_then(|former| former.rmr) {
                Some(before) => warn!(
                    "xApp {app_name} ({instance}) is registered at {at} in place of {before}, which loses its routes; two xApps need \
                     different names"
                ),
                None => info!("xApp {app_name} ({instance}) is registered at {at}"),
            }
        }
        self.publish();
        if let Some(path) = path {
            self.reader.read(Source { name: app_name, instance, http: http_endpoint, path, host });
        }
        Ok(())
    }

    /// Gives xApps the routes of configurations that were read.
    fn take_configs(&mut self) {
        while let Some((source, result)) = self.reader.next_found() {
            let Source { name, instance, http, path, host } = source;
            let messages = match result {
                Ok(config) => Messages::of(&config),
                Err(why) => {
                    if self.log.allow(Host::from(host)) {
                        let why = escaped(why);
                        warn!(
                            "xApp {name} ({instance}) gets no routes: its configuration at http://{http}{path}: {why}"
                        );
                    }
                    continue;
                }
            };
            // it may have deregistered, or registered from elsewhere, meanwhile
            if self.registry.set_messages(&name, &instance, (&http, host), &messages) {
                self.log_unknown_types(&name, &messages);
                self.publish();
            }
        }
    }

    /// Forgets an instance.
    pub fn deregister(&mut self, request: &DeregisterRequest) -> Result<(), Problem> {
        let DeregisterRequest { app_name, app_instance_name } = request;
        let instance = app_instance_name.as_ref().unwrap_or(app_name);
        if !self.registry.deregister(app_name, instance) {
            return Err(Problem::bad_request(format!("there is no xApp `{}`", escaped(shortened(app_name)))));
        }
        self.reader.forget(app_name, instance);
        self.publish();
        Ok(())
    }

    /// All xApps.
    pub fn xapps(&self) -> Vec<XappState> {
        let started = self.xapps.keys();
        let registered = self.registry.iter().map(|((name, _), _)| name);
        let mut names: Vec<_> = started.chain(registered).collect();
        names.sort();
        names.dedup();
        names.into_iter().filter_map(|name| self.xapp(name).ok()).collect()
    }

    /// An xApp.
    pub fn xapp(&self, name: &str) -> Result<XappState, Problem> {
        let xapp = self.xapps.get(name);
        let mut instances: Vec<_> =
            self.registry.of(name).map(|(instance, of)| self.instance(instance, of, xapp)).collect();
        if instances.is_empty() {
            let unknown = || Problem::not_found(format!("there is no xApp `{}`", escaped(shortened(name))));
            let xapp = xapp.ok_or_else(unknown)?;
            instances.push(self.instance(name, &registration_of(xapp), Some(xapp)));
        }
        let version = xapp.map(|xapp| xapp.descriptor.version.clone());
        let version = version.or_else(|| self.registry.of(name).next().map(|(_, of)| of.version.clone()));
        let status = match xapp.map(|xapp| &xapp.phase) {
            Some(Phase::Stopping { is_removed: true, .. }) => XappStatus::Deleting,
            Some(Phase::Completed | Phase::Failed) => XappStatus::Failed,
            _ => XappStatus::Deployed,
        };
        Ok(XappState { name: name.to_owned(), status, version: version.unwrap_or_default(), instances })
    }

    fn instance(&self, name: &str, of: &Registration, xapp: Option<&Xapp>) -> InstanceState {
        let xapp = xapp.filter(|_| of.host.is_none());
        let endpoint = of.rmr.as_deref().and_then(|endpoint| endpoint.rsplit_once(':'));
        let health = of.rmr.as_deref().and_then(|endpoint| self.bus.as_deref()?.health(endpoint));
        let process = xapp.map(|xapp| {
            let running = match &xapp.phase {
                Phase::Running(process) | Phase::Stopping { process, .. } => Some(process),
                _ => None,
            };
            ProcessState {
                id: running.map(|process| process.id()),
                restarts: xapp.restarts,
                reason: xapp.reason.clone(),
                unlimited: running.and_then(|process| process.unlimited.clone()),
            }
        });
        let status = match xapp.map(|xapp| &xapp.phase) {
            None | Some(Phase::Running(_)) => InstanceStatus::Running,
            Some(Phase::Waiting { .. }) => InstanceStatus::CrashLoopBackOff,
            Some(Phase::Stopping { .. }) => InstanceStatus::Pending,
            Some(Phase::Completed) => InstanceStatus::Completed,
            Some(Phase::Failed) => InstanceStatus::Failed,
        };
        InstanceState {
            name: name.to_owned(),
            status,
            ip: endpoint.map_or("127.0.0.1", |(host, _)| host).to_owned(),
            port: endpoint.and_then(|(_, port)| port.parse().ok()).unwrap_or(0),
            tx_messages: of.messages.tx.clone(),
            rx_messages: of.messages.rx.clone(),
            policies: of.messages.policies.clone(),
            is_well: health.map(|health| health.is_well),
            process,
        }
    }

    /// The names of xApps that may be started.
    pub fn deployable(&self) -> Vec<String> {
        let permitted = self.commands.iter().flat_map(|commands| &commands.permitted);
        permitted.map(|permitted| permitted.name.clone()).collect()
    }

    /// The end of the output of an xApp.
    pub fn log(&self, name: &str) -> Result<XappLog, Problem> {
        let (text, omitted_octets) = self.xapps.get(name).ok_or_else(|| not_started(name))?.output.text();
        Ok(XappLog { omitted_octets, text })
    }

    /// The level of the log of an xApp.
    pub fn log_level(&self, name: &str) -> Result<LogLevel, Problem> {
        self.xapps.get(name).map(|xapp| xapp.log_level).ok_or_else(|| not_started(name))
    }

    /// Changes the level of the log of an xApp: it is written to the file that the xApp watches.
    pub fn set_log_level(&mut self, name: &str, level: LogLevel) -> Result<(), Problem> {
        let xapp = self.xapps.get_mut(name).ok_or_else(|| not_started(name))?;
        let failed = |error: io::Error| {
            let detail =
                format!("the level of the log of xApp `{name}` cannot be written, and stays as it was: {error}");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        };
        xapp.set_log_level(level).map_err(failed)?;
        info!("xApp {name}: the level of its log is {}", level.word());
        Ok(())
    }

    /// The configurations of xApps that this RIC has started, whole or one member of each.
    pub fn configs(&self, element: Option<&str>) -> Vec<XappConfig> {
        let of = |(name, xapp): (&String, &Xapp)| {
            let config = match element {
                None => xapp.descriptor.config.clone(),
                Some(element) => xapp.descriptor.config.get(element)?.clone(),
            };
            let metadata = ConfigMetadata { xapp_name: name.clone(), namespace: Some(NAMESPACE.to_owned()) };
            Some(XappConfig { metadata, config })
        };
        self.xapps.iter().filter_map(of).collect()
    }

    /// Replaces the configuration of an xApp.
    ///
    /// # Errors
    /// `Ok(Err(_))`: what is wrong with it.
    pub fn configure(&mut self, change: XappConfig) -> Result<Result<(), Mistakes>, Problem> {
        let name = change.metadata.xapp_name;
        let Some(xapp) = self.xapps.get_mut(&name) else {
            let detail = format!(
                "this RIC has not started an xApp `{}`: its configuration is where it was started",
                escaped(shortened(&name))
            );
            return Err(Problem::bad_request(detail).with("at", "metadata"));
        };
        let descriptor = match Descriptor::check(change.config, xapp.schema.as_ref()) {
            Ok(descriptor) => descriptor,
            Err(mistakes) => return Ok(Err(mistakes)),
        };
        let fixed = |at: &str, why: &str| Ok(Err(vec![(at.to_owned(), why.to_owned())]));
        if descriptor.name != name {
            return fixed("/xapp_name", "the name cannot be changed");
        }
        if (descriptor.rmr_port, descriptor.http_port) != (xapp.descriptor.rmr_port, xapp.descriptor.http_port) {
            return fixed("/messaging/ports", "ports cannot be changed while it runs");
        }
        xapp.set_config(descriptor).map_err(|error| {
            Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the configuration of xApp `{name}` cannot be written, and stays as it was: {error}"),
            )
        })?;
        info!("xApp {name} has a new configuration");
        let registration = registration_of(xapp);
        self.registry.register(&name, &name, registration)?;
        self.publish();
        Ok(Ok(()))
    }
}

/// How an xApp is registered that the RIC has started.
fn registration_of(xapp: &Xapp) -> Registration {
    let Descriptor { version, http_port, messages, .. } = &xapp.descriptor;
    let http = http_port.map(|port| format!("127.0.0.1:{port}")).unwrap_or_default();
    let (version, messages) = (version.clone(), messages.clone());
    Registration { version, http, rmr: xapp.rmr_endpoint(), messages, host: None }
}

fn not_started(name: &str) -> Problem {
    Problem::not_found(format!("this RIC has not started an xApp `{}`", escaped(shortened(name))))
}

/// The environment of an xApp, as the platform has it.
fn environment(descriptor: &Descriptor, folder: &std::path::Path, rmr: Option<SocketAddr>) -> Vec<(String, String)> {
    let folder_text = folder.to_string_lossy().into_owned();
    let service = descriptor.name.to_ascii_uppercase().replace(['-', '.'], "_");
    let mut variables = vec![
        ("CONFIG_FILE", format!("{folder_text}/config-file.json")),
        ("CONFIG_MAP_NAME", format!("{folder_text}/{LOG_LEVEL_FILE}")),
        ("XAPP_DESCRIPTOR_PATH", folder_text),
        ("HOSTNAME", descriptor.name.clone()),
        ("RMR_SRC_ID", "127.0.0.1".to_owned()),
    ];
    variables.extend(rmr.map(|rmr| ("RMR_RTG_SVC", rmr.to_string())));
    let mut variables: Vec<_> = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    for (port, kind) in [(descriptor.http_port, "HTTP"), (descriptor.rmr_port, "RMR")] {
        variables.extend(
            port.map(|port| (format!("SERVICE_RICXAPP_{service}_{kind}_PORT"), format!("tcp://127.0.0.1:{port}"))),
        );
    }
    variables
}

/// Checks a command of REST against the one that is permitted.
fn checked_command(command: Vec<String>, permitted: &Permitted) -> Result<Vec<String>, Problem> {
    let refused = |detail: String| Problem::new(StatusCode::FORBIDDEN, detail).with("at", "command");
    let octets: usize = command.iter().map(String::len).sum();
    if command.len() > MAX_ARGUMENTS + permitted.command.len() || octets > MAX_ARGUMENT_OCTETS {
        return Err(refused(format!(
            "a command has at most {MAX_ARGUMENTS} arguments and {MAX_ARGUMENT_OCTETS} octets"
        )));
    }
    if command.iter().any(|word| word.contains('\0')) {
        return Err(refused("an argument contains the octet 0".to_owned()));
    }
    let is_permitted = command.starts_with(&permitted.command)
        && (permitted.extra_arguments || command.len() == permitted.command.len());
    if !is_permitted {
        return Err(refused(format!(
            "the file of commands of this RIC permits another command for the xApp `{}`{}",
            permitted.name,
            if permitted.extra_arguments { ", with further arguments" } else { "" }
        )));
    }
    Ok(command)
}

fn problem_of(mistakes: &Mistakes) -> Problem {
    let members: Vec<_> = mistakes.iter().map(|(at, why)| json!({ "at": at, "why": why })).collect();
    Problem::unprocessable(format!("the descriptor is wrong: {}", described(mistakes))).with("mistakes", members)
}

fn read_json(path: &std::path::Path, max_octets: usize) -> Result<Value, String> {
    let octets = files::read(path, max_octets as u64).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&octets).map_err(|error| format!("{}: {error}", path.display()))
}

fn shortened(name: &str) -> String {
    name.chars().take(MAX_NAME_OCTETS).collect()
}

/// Creates a folder that only the RIC's user may read. One that a RIC with the same process id has left, as in a container that was
/// killed, is emptied; one of another user is refused.
fn new_private_folder(path: PathBuf) -> io::Result<PathBuf> {
    let create = || DirBuilder::new().mode(0o700).create(&path);
    let created = match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match std::fs::symlink_metadata(&path) {
            Ok(of) if of.is_dir() && of.uid() == rustix::process::geteuid().as_raw() && of.mode() & 0o077 == 0 => {
                std::fs::remove_dir_all(&path).and_then(|()| create())
            }
            _ => Err(error),
        },
        result => result,
    };
    created.map_err(|error| {
        io::Error::new(error.kind(), format!("the folder for configurations of xApps {}: {error}", path.display()))
    })?;
    Ok(path)
}
