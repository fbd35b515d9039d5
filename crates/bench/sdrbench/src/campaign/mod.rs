//! A run: the steps of a scenario against a controller.

mod faults;
mod repetition;
mod step;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::bail;
use e2ap::Codec;
use e2ap::e42::E42Version;
use ferric::Endpoint;
use ferric::link::{self, Address};
use ferric::xapp::{Xapp, XappConfig};
use rest::client::ClientConfig;

use crate::clock::Clock;
use crate::content::flexran::FlexRanContent;
use crate::content::{Content, ContentConfig};
use crate::generator::{Generator, GeneratorConfig};
use crate::northbound::{Applications, E42, FerricXapp, Northbound, NorthboundConfig, Oran};
use crate::report::{GeneratorInfo, HostInfo, Report, SCHEMA, ScenarioInfo, StepReport, TargetInfo};
use crate::rest_clients::RestClients;
use crate::scenario::{Protocol, Scenario, Step};
use crate::southbound::Southbound;
use crate::southbound::e2::E2;
use crate::southbound::flexran::FlexRan;
use crate::statistics::Percentiles;
use crate::target::{Target, check_cpus};

/// What a run needs beside its scenario.
#[derive(Clone)]
pub struct Options {
    /// The controller.
    pub target: Endpoint,
    /// Where applications connect.
    pub applications: ApplicationAccess,
    /// Where REST clients send their requests, and their credentials; needed by a scenario with REST clients only.
    pub rest: Option<ClientConfig>,
    /// The processes of the controller; empty to find the one that listens at the address.
    pub processes: Vec<u32>,
    /// Threads of the generator.
    pub threads: usize,
    /// The processors of these threads; empty if they may use all.
    pub cpus: Vec<usize>,
    /// The processors of xApps; empty if they may use all.
    pub xapp_cpus: Vec<usize>,
    /// The configuration of all links: credentials.
    pub link: link::Config,
    /// The steps that were measured before an interruption.
    pub measured: Vec<StepReport>,
}

/// Where applications connect.
#[derive(Clone, Debug)]
pub enum ApplicationAccess {
    /// A ferric RIC on this host: the ports at which its process listens are tried.
    Find,
    /// A ferric RIC at this address for xApps.
    Ferric(Address),
    /// A controller for FlexRIC's xApps at this address, and the version of E2AP that it was built with.
    E42(Address, E42Version),
    /// A controller for xApps of the O-RAN reference platform.
    Oran(Box<OranAccess>),
    /// There are none: setups only.
    None,
}

/// The interfaces of a controller for xApps of the O-RAN reference platform.
#[derive(Clone, Debug)]
pub struct OranAccess {
    /// The subscription manager's REST interface.
    pub subscriptions: ClientConfig,
    /// The E2 manager's REST interface.
    pub nodes: ClientConfig,
    /// Where controls are sent over RMR.
    pub rmr: Address,
    /// The address of this host, as the controller reaches it.
    pub host: IpAddr,
}

/// What the caller of a run provides.
pub trait Observer {
    /// A line about the progress, and the seconds that remain.
    fn progress(&mut self, line: &str, left_s: f64);

    /// A step was measured: the report so far, which is not complete.
    fn measured(&mut self, report: &Report);
}

/// A running campaign.
struct Campaign<'a> {
    scenario: &'a Scenario,
    clock: Clock,
    target: Target,
    generator: Generator,
    /// Whether agents find out what the controller has read.
    confirms: bool,
    applications: Applications,
    rest: Option<RestClients>,
    address: Address,
    link: link::Config,
    /// Steps that applications were told to begin.
    steps: u64,
    /// Agents that were told to connect.
    connected: u32,
    stop: &'a AtomicBool,
    observer: &'a mut dyn Observer,
    /// When the run is expected to end.
    end: Instant,
}

/// How long agents of a step may take to be set up and subscribed to, beyond the planned time.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a port may need to answer as the RIC's for xApps.
const DISCOVERY: Duration = Duration::from_secs(2);

/// Runs a scenario until its end or until `stop` is raised.
///
/// # Errors
/// If the scenario has REST clients and `options` have no address for them, or the reverse, the emulated RAN cannot be recorded, a
/// thread cannot be started, or an application has no session with the controller. What the controller does to agents is part of the
/// report.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> anyhow::Result<Report> {
    match (&scenario.rest, &options.rest) {
        (Some(_), None) => bail!("the scenario has REST clients: give the controller's address for them with --rest"),
        (None, Some(_)) => bail!("the scenario has no REST clients: leave --rest out, or add a table [rest]"),
        _ => {}
    }
    check_cpus(&options.cpus)?;
    check_cpus(&options.xapp_cpus)?;
    let parts = Parts::of(scenario, options)?;
    let southbound = Arc::clone(&parts.southbound);
    let address = options.target.address.clone();
    let target = match options.processes.as_slice() {
        [] => Target::listening_at(&address),
        processes => Target::of(processes.to_vec())?,
    };
    let clock = Clock::start();
    let generator = Generator::start(&GeneratorConfig {
        address: address.clone(),
        link: options.link.clone(),
        southbound: Arc::clone(&southbound),
        clock,
        threads: options.threads,
        cpus: options.cpus.clone(),
        slot_ns: scenario.slot.as_nanos() as u64,
        ues: scenario.ues,
        confirm_every: scenario.confirm_every,
        users: scenario.users.clone(),
        first: scenario.first,
        seed: scenario.seed,
    })?;
    let (mut name, mut applications) = ("none".to_owned(), Applications::none());
    // applications subscribe to the reports of E2 nodes
    if let Some(content) = parts.content
        && let Some(northbound) = northbound(scenario, options, &target)
    {
        let config = NorthboundConfig {
            clock,
            content,
            requests: scenario.requests,
            seed: scenario.seed,
            number: 0,
            first: scenario.first,
            read_pause: scenario.read_pause,
            cpus: options.xapp_cpus.clone(),
        };
        name = northbound.name();
        applications = Applications::start(&northbound, &config, scenario.applications)?;
    }
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        scenario: ScenarioInfo {
            name: scenario.name.clone(),
            text: scenario.text.clone(),
            limit_ms: scenario.limit_ms,
        },
        target: TargetInfo {
            url: options.target.to_string(),
            southbound: southbound.name(),
            northbound: name,
            rest: options.rest.as_ref().map(|config| config.url.clone()),
            program: target.program(),
        },
        host: HostInfo::current(),
        started_unix_s: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
        complete: false,
        valid: false,
        why_invalid: Vec::new(),
        agents: 0,
        offered_per_s: 0.0,
        achieved_per_s: 0.0,
        lost: 0,
        setup_ms: Percentiles::default(),
        indication_us: Percentiles::default(),
        cpu_us_per_message: None,
        rss_slope_bytes_per_s: None,
        generator: GeneratorInfo::default(),
        steps: options.measured.clone(),
        over_cores: Vec::new(),
        knee: None,
        model: None,
    };
    let steps: Vec<Step> = scenario.steps().into_iter().filter(|step| !is_measured(&report, step)).collect();
    let connections_s = f64::from(scenario.agents.iter().max().copied().unwrap_or(0)) / scenario.setups_per_s;
    let search_s = scenario.knee.as_ref().map_or(0.0, |knee| {
        f64::from(knee.expected_tries()) * scenario.step_s() + f64::from(knee.until) / scenario.setups_per_s
    });
    let planned_s = steps.len() as f64 * scenario.step_s() + connections_s + search_s;
    let rest = match scenario.rest.as_ref().zip(options.rest.as_ref()) {
        Some((load, config)) => Some(RestClients::start(load, config, clock, scenario.seed)?),
        None => None,
    };
    let mut campaign = Campaign {
        scenario,
        clock,
        target,
        generator,
        confirms: southbound.confirms_reports(),
        applications,
        rest,
        address,
        link: options.link.clone(),
        steps: 0,
        connected: 0,
        stop,
        observer,
        end: Instant::now() + Duration::from_secs_f64(planned_s),
    };
    for step in steps {
        match campaign.step(step)? {
            Some(measured) => report.steps.push(measured),
            None => break,
        }
        report.summarize();
        campaign.observer.measured(&report);
    }
    if let Some(knee) = &scenario.knee
        && !stop.load(Ordering::Acquire)
    {
        report.knee = campaign.knee(knee)?;
    }
    report.complete = !stop.load(Ordering::Acquire);
    report.summarize();
    Ok(report)
}

/// The agents of a scenario, and what applications know of their reports.
struct Parts {
    southbound: Arc<dyn Southbound>,
    content: Option<Arc<Content>>,
}

impl Parts {
    fn of(scenario: &Scenario, options: &Options) -> anyhow::Result<Self> {
        match scenario.southbound {
            Protocol::E2ap => {
                let content = Arc::new(Content::record(&ContentConfig {
                    max_ues: scenario.max_ues,
                    measurements: scenario.measurements.clone(),
                    seed: scenario.seed,
                })?);
                let southbound = Arc::new(E2::new(Arc::clone(&content), scenario.e2ap, options.target.codec));
                Ok(Parts { southbound, content: Some(content) })
            }
            Protocol::FlexRan => {
                if options.target.codec != Codec::Per {
                    bail!(
                        "FlexRAN agents have no FlatBuffers: give the target without +flat, such as tcp://127.0.0.1:2210"
                    );
                }
                if !matches!(options.applications, ApplicationAccess::Find | ApplicationAccess::None) {
                    bail!("xApps do not see FlexRAN agents: leave --xapp out, or use a scenario with E2 nodes");
                }
                let content = Arc::new(FlexRanContent::record(scenario.max_ues, scenario.seed)?);
                Ok(Parts { southbound: Arc::new(FlexRan::new(content, scenario.ues)), content: None })
            }
        }
    }
}

fn is_measured(report: &Report, step: &Step) -> bool {
    let is_same =
        |known: &StepReport| (known.agents, known.period_ms, known.cores) == (step.agents, step.period_ms, step.cores);
    report.steps.iter().any(is_same)
}

/// The interface of the applications.
fn northbound(scenario: &Scenario, options: &Options, target: &Target) -> Option<Arc<dyn Northbound>> {
    let config = |timeout: Duration| {
        let default = XappConfig::default();
        // agents have small outboxes; an application may unsubscribe from thousands of nodes at once
        let link::Config { max_pdu_octets, outbox_octets, .. } = default.link;
        let link = link::Config { max_pdu_octets, outbox_octets, ..options.link.clone() };
        XappConfig { connect_timeout: timeout, reconnect: None, link, ..default }
    };
    let address = match &options.applications {
        ApplicationAccess::None => return None,
        ApplicationAccess::E42(address, version) => {
            let XappConfig { link, .. } = config(DISCOVERY);
            return Some(Arc::new(E42 { address: address.clone(), version: *version, link }));
        }
        ApplicationAccess::Oran(access) => {
            let link = config(DISCOVERY).link;
            return Some(Arc::new(Oran { access: (**access).clone(), version: scenario.e2ap, link }));
        }
        ApplicationAccess::Ferric(address) => address.clone(),
        ApplicationAccess::Find => {
            // other programs may take a hello of another protocol amiss
            if !target.program().is_some_and(|program| program.starts_with("ferric")) {
                return None;
            }
            let host = match &options.target.address {
                Address::Tcp { host, .. } | Address::Tls { host, .. } => host.clone(),
                _ => return None,
            };
            let others = target.ports().into_iter().map(|port| Address::Tcp { host: host.clone(), port });
            let is_xapp = |address: &Address| {
                *address != options.target.address && Xapp::connect(address, "sdrbench", config(DISCOVERY)).is_ok()
            };
            others.into_iter().find(is_xapp)?
        }
    };
    Some(Arc::new(FerricXapp { address, config: config(Duration::from_secs(5)) }))
}
