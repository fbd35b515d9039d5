//! `ferric ric`

mod peers;
mod reload;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ::audit::{AuditLog, LogConfig};
use anyhow::{anyhow, bail};
use conflicts::{ConflictConfig, ConflictRules};
use e2ap::e42::E42Version;
use ferric::Endpoint;
use ferric::link::Address;
use ferric::record::Protocol;
use ferric::server::E42Address;
use rest::{AccessFiles, TlsFiles};
use ric::flexran::FlexRanConfig;
use ric::oran_host::{AlertManagerConfig, MAX_ALARM_ENDPOINTS, OranConfig};
use ric::{LogControl, NonRtRic, RicConfig};
use shared_store::StoreUrl;
use slicing::RuleFile;
use tracing::{info, warn};
use traffic::{RedisConfig, RedisFiles, RedisUrl, RedisUrlError};

use crate::model::ModelArgs;
use crate::redis::RedisArgs;
use crate::{address, record, redis, tls};

/// The heading of the options of REST.
const REST: &str = "REST";
/// The heading of the options of the shared data layer.
const SDL: &str = "Shared data layer";
/// The heading of the options of xApps of the O-RAN reference platform.
const ORAN: &str = "xApps of the O-RAN reference platform";

/// Run a near-RT RIC.
///
/// Serves E2 nodes and xApps until Ctrl-C. Prints its addresses: `e2=URL`, `xapp=URL`, `e42=URL`, `flexran=URL`, `sdl=URL`, `rmr=URL`,
/// `oran-rest=URL`, `rest=URL`, and `page=URL` of the live page. Reports to a service manager (`NOTIFY_SOCKET`) when it is ready.
#[derive(clap::Args)]
pub struct Args {
    /// Configuration file in TOML; command-line options override it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address for E2 nodes: tcp://HOST:PORT, tls://HOST:PORT, sctp://HOST:PORT, unix:PATH or shm:PATH; with +flat
    /// (tcp+flat://) E2AP is in FlatBuffers instead of PER. Repeatable.
    /// [default: tcp://127.0.0.1:36421]
    #[arg(long, value_name = "URL", value_parser = address::e2)]
    e2: Vec<Endpoint>,
    /// Address for xApps. [default: tcp://127.0.0.1:36423]
    #[arg(long, value_name = "URL", value_parser = address::xapp)]
    xapp: Option<Address>,
    /// Address for FlexRIC's xApps, such as e42+sctp://127.0.0.1:36422 or e42+tls://HOST:PORT. Repeatable. [default:
    /// none]
    #[arg(long, value_name = "URL", value_parser = address::e42)]
    e42: Vec<E42Address>,
    /// E2AP version with which FlexRIC's xApps were built: 1, 2 or 3. Their messages do not contain it. [default: 2]
    #[arg(long, value_name = "VERSION")]
    e42_version: Option<E42Version>,
    /// Address for FlexRAN agents of eNBs: tcp://HOST:PORT or unix:PATH. [default: none]
    #[arg(long, value_name = "URL", value_parser = FlexRanConfig::address)]
    flexran: Option<Address>,
    /// Period of the statistics that FlexRAN agents are asked for. [default: 1000]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=3_600_000))]
    flexran_period_ms: Option<u32>,
    /// Address for xApps of the O-RAN reference platform over RMR: tcp://HOST:PORT; see docs/oran-xapps.md. [default: none]
    #[arg(long, help_heading = ORAN, value_name = "URL", value_parser = OranConfig::rmr)]
    rmr: Option<Address>,
    /// Record for the route tables of these xApps beside those of the RIC, such as "mse|30000|-1|127.0.0.1:4565". Repeatable.
    #[arg(long, help_heading = ORAN, value_name = "RECORD", value_parser = OranConfig::route)]
    rmr_route: Vec<String>,
    /// Address of the REST interfaces that these xApps use, such as 127.0.0.1:8088: subscription manager, E2 manager, app manager
    /// and alarm manager. Access is that of REST. [default: none]
    #[arg(long, help_heading = ORAN, value_name = "ADDRESS:PORT", value_parser = address::rest)]
    oran_rest: Option<SocketAddr>,
    /// File of the commands of xApps that may be started, in TOML; see docs/oran-xapps.md. [default: none; nothing is started]
    #[arg(long, help_heading = ORAN, value_name = "FILE")]
    xapp_commands: Option<PathBuf>,
    /// Endpoint of an alarm manager that alarms are sent to over RMR: HOST:PORT. Repeatable. [default: none]
    #[arg(long, help_heading = ORAN, value_name = "HOST:PORT", value_parser = OranConfig::alarm_endpoint)]
    alarm_endpoint: Vec<String>,
    /// Alert manager of Prometheus that alarms are sent to, such as http://127.0.0.1:9093. [default: none]
    #[arg(long, help_heading = ORAN, value_name = "URL", value_parser = OranConfig::alert_manager)]
    alert_manager: Option<AlertManagerConfig>,
    /// URL of a non-RT RIC that has enrichment information for xApps, such as http://127.0.0.1:8083; see docs/a1.md. [default: none]
    #[arg(long, help_heading = ORAN, value_name = "URL", value_parser = NonRtRic::url)]
    non_rt_ric: Option<String>,
    /// URL at which the non-RT RIC reaches REST. [default: the address of --rest]
    #[arg(long, help_heading = ORAN, value_name = "URL", value_parser = NonRtRic::url)]
    non_rt_ric_callback: Option<String>,
    /// Event loops, each on a thread of its own. [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=ferric::server::MAX_LOOPS as i64))]
    loops: Option<u8>,
    /// With several event loops: surplus of links that a loop may have, so that a node is on the loop of the xApp that
    /// receives its reports. [default: 1048576, which has nodes leave a busy loop only]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    affinity_links: Option<u32>,
    /// Address for REST and the live page, such as 127.0.0.1:8080. Other than loopback addresses require tokens or client certificates.
    /// [default: none]
    #[arg(long, help_heading = REST, value_name = "ADDRESS:PORT", value_parser = address::rest)]
    rest: Option<SocketAddr>,
    /// File in which REST keeps its rules for the association of UEs with slices. [default: none, lost at the end]
    #[arg(long, help_heading = REST, value_name = "FILE")]
    rest_rules: Option<PathBuf>,
    /// File of service level agreements, in TOML: each base station is shared by the operators of the file, each of which has a
    /// controller of its own; see docs/virtualization.md. [default: none]
    #[arg(long = "virtual", value_name = "FILE")]
    virtual_networks: Option<PathBuf>,
    /// File of base stations, in TOML: another controller sees the CU and the DUs of a gNB as one base station, or the CU with each
    /// DU as one; see docs/virtualization.md. [default: none]
    #[arg(long, value_name = "FILE", conflicts_with = "virtual_networks")]
    topology: Option<PathBuf>,
    /// File of rules, in TOML, on conflicts between controls of xApps: which of them are refused, changed or decided by an arbiter;
    /// see docs/conflicts.md. [default: none]
    #[arg(long, value_name = "FILE")]
    conflicts: Option<PathBuf>,
    /// File to which each control, each subscription of an xApp and each request by REST that changes something is appended: who, with
    /// which rights, what, the decision and the outcome; see `ferric audit` and docs/security.md. At 64 MiB it is renamed and a
    /// new one continues; 16 are kept. [default: none]
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Address of the shared data layer (SDL) for xApps of the O-RAN reference platform: tcp://HOST:PORT, tls://HOST:PORT or
    /// unix:PATH, in Redis's protocol; may be repeated; see docs/oran-sdl.md. Other than loopback addresses require tokens or
    /// certificates. Or the Redis server that takes its place: redis://HOST:PORT, redis+sentinel://HOST:PORT,…/NAME or
    /// redis+cluster://HOST:PORT,…, with rediss over TLS. [default: none]
    #[arg(long, help_heading = SDL, value_name = "URL", value_parser = sdl_url)]
    sdl: Vec<SdlUrl>,
    /// File that keeps the shared data layer. [default: in memory, lost at the end]
    #[arg(long, help_heading = SDL, value_name = "FILE")]
    sdl_file: Option<PathBuf>,
    /// File of xApps that may use the shared data layer, one per line, `NAME TOKEN RIGHT…`, or `NAME certificate:NAME
    /// RIGHT…`; a right is read:NAMESPACE or write:NAMESPACE. [default: everybody may do everything]
    #[arg(long, help_heading = SDL, value_name = "FILE")]
    sdl_tokens: Option<PathBuf>,
    /// Clients of the shared data layer at a tls:// address must present a certificate that the CA of --tls-ca has signed.
    /// [default: they may present one]
    #[arg(long, help_heading = SDL)]
    sdl_require_certificate: bool,
    #[command(flatten)]
    peers: peers::PeerArgs,
    #[command(flatten)]
    access: RestArgs,
    /// Redis server, such as redis://127.0.0.1:6379: receives RLC and TC statistics as JSON, on the channels ferric:rlc and
    /// ferric:tc and in streams of the same names. [default: none]
    #[arg(long, help_heading = redis::HEADING, value_name = "URL")]
    redis: Option<RedisUrl>,
    #[command(flatten)]
    redis_access: RedisArgs,
    #[command(flatten, next_help_heading = "Service models")]
    models: ModelArgs,
    #[command(flatten)]
    tls: tls::TlsArgs,
    #[command(flatten)]
    record: record::RecordArgs,
    /// Record the links to ferric's xApps too, as a separate interface.
    #[arg(long, help_heading = record::HEADING, requires = "record")]
    record_xapps: bool,
}

/// Where the shared data layer is.
#[derive(Clone)]
enum SdlUrl {
    Embedded(Address),
    Redis(Box<StoreUrl>),
}

fn sdl_url(text: &str) -> Result<SdlUrl, String> {
    if StoreUrl::is_one(text) {
        return text.parse().map(|url| SdlUrl::Redis(Box::new(url))).map_err(|error: RedisUrlError| error.to_string());
    }
    sdl::Config::address(text).map(SdlUrl::Embedded)
}

/// Access to REST: see docs/slicing-controller.md.
#[derive(clap::Args)]
#[command(next_help_heading = REST)]
struct RestArgs {
    /// PEM file of the server certificate: enables HTTPS and disables HTTP.
    #[arg(long, value_name = "FILE", requires = "rest_key")]
    rest_cert: Option<PathBuf>,
    /// PEM file of the certificate's private key.
    #[arg(long, value_name = "FILE", requires = "rest_cert")]
    rest_key: Option<PathBuf>,
    /// PEM file of CAs: requires a client certificate signed by one of them.
    #[arg(long, value_name = "FILE", requires = "rest_cert")]
    rest_client_ca: Option<PathBuf>,
    /// File of bearer tokens, one per line, `read TOKEN`, `control TOKEN` or `admin TOKEN`: requires a token.
    #[arg(long, value_name = "FILE")]
    rest_tokens: Option<PathBuf>,
}

impl RestArgs {
    /// The files of the command line, else those of the configuration file.
    fn files(&self, configured: AccessFiles) -> AccessFiles {
        let given = self.rest_cert.clone().zip(self.rest_key.clone());
        let tls = match (given, configured.tls) {
            (None, configured) => configured,
            (Some((certificate, key)), configured) => {
                // a server certificate on the command line does not lift the file's requirement of a client certificate
                let client_ca = self.rest_client_ca.clone().or(configured.and_then(|tls| tls.client_ca));
                Some(TlsFiles { certificate, key, client_ca })
            }
        };
        AccessFiles { tls, tokens: self.rest_tokens.clone().or(configured.tokens) }
    }
}

impl Args {
    /// Whether Redis is used for something else than statistics.
    fn has_store(&self, config: &RicConfig) -> bool {
        let is_sdl = matches!(self.sdl[..], [SdlUrl::Redis(_)]) || config.sdl_redis.is_some();
        is_sdl || self.peers.are_given(config)
    }
}

/// Loads the file that an option or a key of the configuration file names.
pub fn load<T>(path: Option<&Path>, option: &str, load: fn(&Path) -> Result<T, String>) -> anyhow::Result<Option<T>> {
    let loaded = path.map(load).transpose();
    loaded.map_err(|error| anyhow!("the file of {option} cannot be used: {error}; correct it, or name another one"))
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let file = args.config.as_deref().map(reload::ConfigFile::read).transpose()?;
    let mut config = file.as_ref().map(reload::ConfigFile::parse).transpose()?.unwrap_or_default();
    if let Some(level) = config.log {
        program::set_log_level(level);
    }
    if !args.e2.is_empty() {
        config.server.e2.clone_from(&args.e2);
    }
    if args.xapp.is_some() {
        config.server.xapp.clone_from(&args.xapp);
    }
    config.models = args.models.load()?;
    config.server.link.tls = args.tls.load(config.tls.as_ref())?;
    if !args.e42.is_empty() {
        config.server.e42.get_or_insert_default().addresses.clone_from(&args.e42);
    }
    if let Some(version) = args.e42_version {
        config.server.e42.get_or_insert_default().version = version;
    }
    if args.flexran.is_some() {
        config.flexran.address.clone_from(&args.flexran);
    }
    config.flexran.period_ms = args.flexran_period_ms.unwrap_or(config.flexran.period_ms);
    if args.flexran_period_ms.is_some() && config.flexran.address.is_none() {
        bail!("--flexran-period-ms is given without an address for FlexRAN agents: give --flexran");
    }
    if args.rmr.is_some() {
        config.oran.rmr.clone_from(&args.rmr);
    }
    config.oran.rmr_routes.extend_from_slice(&args.rmr_route);
    if !config.oran.rmr_routes.is_empty() && config.oran.rmr.is_none() {
        bail!("routes for xApps over RMR are given without an address: give --rmr");
    }
    config.oran.rest = args.oran_rest.or(config.oran.rest);
    config.oran.alarm_endpoints.extend_from_slice(&args.alarm_endpoint);
    if !config.oran.alarm_endpoints.is_empty() && config.oran.rmr.is_none() {
        bail!("endpoints for alarms are given without RMR: give --rmr");
    }
    if config.oran.alarm_endpoints.len() > MAX_ALARM_ENDPOINTS {
        bail!(
            "{} endpoints for alarms are given; at most {MAX_ALARM_ENDPOINTS} are possible",
            config.oran.alarm_endpoints.len()
        );
    }
    if args.alert_manager.is_some() {
        config.oran.alert_manager.clone_from(&args.alert_manager);
    }
    config.oran.commands_file = args.xapp_commands.clone().or(config.oran.commands_file.take());
    let commands = config.oran.commands_file.as_deref();
    config.oran.commands = load(commands, "--xapp-commands or `xapp_commands`", ::ric::oran_host::Commands::load)?;
    if let Some(address) = args.rest {
        match &mut config.rest {
            Some(rest) => rest.address = address,
            None => config.rest = Some(rest::ServerConfig::new(address)),
        }
    }
    if let Some(url) = &args.non_rt_ric {
        config.non_rt_ric.get_or_insert_with(|| NonRtRic::new(url)).url.clone_from(url);
    }
    match &mut config.non_rt_ric {
        Some(_) if config.rest.is_none() => bail!("a non-RT RIC is given without REST, which it posts to: give --rest"),
        Some(non_rt_ric) => non_rt_ric.callback = args.non_rt_ric_callback.clone().or(non_rt_ric.callback.take()),
        None if args.non_rt_ric_callback.is_some() => {
            bail!("--non-rt-ric-callback is given without a non-RT RIC: give --non-rt-ric")
        }
        None => {}
    }
    let rules = args.rest_rules.as_ref().or(config.rules_file.as_ref());
    config.rules = rules.map(|path| RuleFile::load(path)).transpose()?;
    if config.rules.is_some() && config.rest.is_none() {
        bail!("--rest-rules is given without REST: give --rest");
    }
    let files = args.access.files(std::mem::take(&mut config.rest_files));
    match &mut config.rest {
        Some(rest) => rest.access = rest::Access::load(files)?,
        None if files != AccessFiles::default() => {
            bail!("access to REST is configured without an address: give --rest")
        }
        None => {}
    }
    if let Some(url) = &args.redis {
        config.redis.get_or_insert_with(|| RedisConfig::new(url.clone())).url = url.clone();
    }
    let redis_files = args
        .redis_access
        .files(config.redis.as_mut().map(|redis| std::mem::take(&mut redis.files)).unwrap_or_default());
    let has_store = args.has_store(&config);
    match &mut config.redis {
        Some(redis) => (redis.url, redis.files) = (redis.url.with_files(&redis_files)?, redis_files.clone()),
        None if redis_files != RedisFiles::default() && !has_store => {
            bail!("access to Redis is configured without an address: give --redis")
        }
        None => {}
    }
    match &args.sdl[..] {
        [] => {}
        [SdlUrl::Redis(url)] => (config.sdl, config.sdl_redis) = (None, Some(StoreUrl::clone(url))),
        urls => {
            let address = |url: &SdlUrl| match url {
                SdlUrl::Embedded(address) => Ok(address.clone()),
                SdlUrl::Redis(_) => {
                    bail!("the shared data layer is a Redis server or the embedded store: give one Redis URL only")
                }
            };
            let addresses = urls.iter().map(address).collect::<anyhow::Result<Vec<_>>>()?;
            let sdl = config.sdl.take().unwrap_or_else(|| sdl::Config::new(addresses[0].clone()));
            config.sdl = Some(sdl::Config { addresses, ..sdl });
            config.sdl_redis = None;
        }
    }
    config.sdl_redis = config.sdl_redis.map(|url| url.with_files(&redis_files)).transpose()?;
    let tokens = args.sdl_tokens.clone().or(config.sdl_tokens.take());
    let has_sdl_options = tokens.is_some() || args.sdl_file.is_some() || args.sdl_require_certificate;
    match &mut config.sdl {
        Some(sdl) => {
            sdl.file = args.sdl_file.clone().or(sdl.file.take());
            sdl.requires_certificate |= args.sdl_require_certificate;
            if let Some(tokens) = &tokens {
                sdl.access = sdl::AccessList::load(tokens)?;
                if rest::is_readable_by_all(tokens) {
                    warn!("every user of this host can read the tokens in {}: chmod 600", tokens.display());
                }
            }
        }
        None if config.sdl_redis.is_some() && has_sdl_options => {
            bail!(
                "--sdl-file, --sdl-tokens and --sdl-require-certificate concern the embedded store, and the shared data layer is \
                 a Redis server"
            )
        }
        None if has_sdl_options => {
            bail!(
                "--sdl-file, --sdl-tokens or --sdl-require-certificate is given without an address of the shared data layer: \
                 give --sdl"
            )
        }
        None => {}
    }
    args.peers.apply(&mut config, &redis_files)?;
    config.virtual_networks = load(args.virtual_networks.as_deref(), "--virtual", virtualization::Sla::load)?;
    config.topology = load(args.topology.as_deref(), "--topology", virtualization::topology::Topology::load)?;
    if let Some(topology) = &config.topology
        && config.server.e2.contains(&topology.ric)
    {
        bail!("{} is this RIC's own address: give the topology the address of another controller", topology.ric);
    }
    let conflicts_file = args.conflicts.clone().or(config.conflicts_file.take());
    let rules = load(conflicts_file.as_deref(), "--conflicts or `conflicts`", ConflictRules::load)?;
    let audit_file = args.audit.clone().or(config.audit_file.take());
    let audit = audit_file.as_deref().map(|file| AuditLog::start(LogConfig::new(file))).transpose()?;
    if rules.is_some() || audit.is_some() {
        let rules = rules.unwrap_or_default();
        config.conflicts = Some(ConflictConfig { rules, audit: audit.clone(), clock: None });
    }
    config.log_control = Some(LogControl { set_level: program::replace_log_level, observe: program::observe_log });
    let recorder = args.record.start()?;
    if let Some(recorder) = &recorder {
        config.server.link.tap = Some(recorder.tap(Protocol::E2));
        if let Some(e42) = &mut config.server.e42 {
            e42.tap = Some(recorder.tap(Protocol::E42));
        }
        config.server.xapp_tap = args.record_xapps.then(|| recorder.tap(Protocol::Xapp));
    }
    if let Some(loops) = args.loops {
        config.server.loops = loops.into();
    }
    if let Some(links) = args.affinity_links {
        config.server.affinity_links = links as usize;
    }
    program::allow_log_lines(config.server.max_log_lines);
    let tls = config.server.link.tls.clone();
    // the outer one: that there is RMR
    let rmr_rights = config.oran.rmr.is_some().then(|| config.oran.rights.clone());
    let mut ric = ::ric::bind(config)?;
    let rest = ric.rest().map(rest::Server::url);
    let access = ric.rest().map(rest::Server::access_handle);
    let flexran = ric.flexran().map(|flexran| flexran.address().clone());
    let sdl = ric.sdl().map_or(&[][..], sdl::Sdl::addresses).iter().map(ToString::to_string);
    let sdl: Vec<_> = sdl.chain(ric.remote_sdl().map(|sdl| sdl.url().to_string())).collect();
    let sdl_tokens = tokens.zip(ric.sdl().map(|sdl| sdl.handle().clone()));
    let rmr = ric.oran().rmr_address().cloned();
    let oran_rest = ric.oran().rest().map(rest::Server::url);
    let rmr_rights = rmr_rights.zip(ric.oran().rights_handle());
    let sla = args.virtual_networks.clone().zip(ric.sla().cloned());
    let conflicts = conflicts_file.zip(ric.conflicts().cloned());
    let server = &mut ric.server;
    program::signals::stop_on_signal(server.stop_handle())?;
    let mut reload = reload::Reload::new(file, tls, access, server.rights_handle()?)?;
    reload.rmr = rmr_rights;
    reload.sla = sla;
    reload.sdl = sdl_tokens;
    reload.conflicts = conflicts;
    program::signals::on_hangup(move || reload.run())?;
    // for scripts that let the system choose the ports
    for endpoint in server.e2_endpoints() {
        program::outln!("e2={endpoint}");
    }
    if let Some(address) = server.xapp_address() {
        program::outln!("xapp={address}");
    }
    for address in server.e42_addresses() {
        program::outln!("e42=e42+{address}");
    }
    if let Some(address) = flexran {
        program::outln!("flexran={address}");
    }
    for address in sdl {
        program::outln!("sdl={address}");
    }
    if let Some(address) = rmr {
        program::outln!("rmr={address}");
    }
    if let Some(url) = oran_rest {
        program::outln!("oran-rest={url}");
    }
    if let Some(url) = rest {
        program::outln!("rest={url}");
        program::outln!("page={url}/");
    }
    program::service::report_ready();
    server.run()?;
    program::service::report_stopping();
    if let Some(audit) = &audit {
        audit.finish();
    }
    let counters = server.counters();
    info!(
        indications = counters.indications,
        deliveries = counters.deliveries,
        dropped = counters.dropped_reports,
        stray_indications = counters.stray_indications,
        stray_answers = counters.stray_answers,
        flexran_reports = ric.flexran().map(|flexran| flexran.agents().counters().reports),
        "RIC stopped"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_does_not_weaken_the_access_of_the_file() {
        let tls = |name: &str, client_ca: Option<&str>| {
            let (certificate, key) = (format!("{name}.pem").into(), format!("{name}.key").into());
            Some(TlsFiles { certificate, key, client_ca: client_ca.map(PathBuf::from) })
        };
        let configured = AccessFiles { tls: tls("file", Some("ca.pem")), tokens: Some("tokens".into()) };
        let none = RestArgs { rest_cert: None, rest_key: None, rest_client_ca: None, rest_tokens: None };
        assert_eq!(none.files(configured.clone()), configured);
        let own = RestArgs { rest_cert: Some("own.pem".into()), rest_key: Some("own.key".into()), ..none };
        assert_eq!(
            own.files(configured.clone()),
            AccessFiles { tls: tls("own", Some("ca.pem")), ..configured.clone() }
        );
        assert_eq!(own.files(AccessFiles::default()), AccessFiles { tls: tls("own", None), tokens: None });
        let other_ca = RestArgs { rest_client_ca: Some("other.pem".into()), ..own };
        assert_eq!(other_ca.files(configured).tls, tls("own", Some("other.pem")));
    }
}
