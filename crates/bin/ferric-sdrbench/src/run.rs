//! `ferric sdrbench run`.

use std::fs;
use std::io::{IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use e2ap::e42::E42Version;
use ferric::link::{Address, AddressError};
use ferric::server::E42Address;
use program::rest_access::{self, AccessArgs};
use program::{outln, signals};
use sdrbench::campaign::{self, ApplicationAccess, Observer, Options, OranAccess};
use sdrbench::report::Report;
use sdrbench::scenario::{Scenario, ScenarioError};

/// The largest scenario file.
const MAX_SCENARIO_OCTETS: u64 = 1 << 20;
/// The port of RMR, unless the options have another one.
const RMR_PORT: u16 = 4561;

#[derive(Args)]
#[command(mut_arg("rest_ca", |arg| arg.requires("rest")), mut_arg("rest_token", |arg| arg.requires("rest")))]
#[command(after_help = "Examples:\n  \
    ferric ric --e2 tcp://127.0.0.1:36421 --xapp tcp://127.0.0.1:36423 &\n  \
    ferric sdrbench run --scenario smoke --target tcp://127.0.0.1:36421 --out smoke\n  \
    ferric sdrbench run --scenario flexran --target tcp://127.0.0.1:2210 --out flexran\n  \
    ferric sdrbench run --scenario mine.toml --target sctp://10.0.0.1 --xapp tcp://10.0.0.1:36423 --out mine\n  \
    ferric sdrbench run --scenario smoke --target sctp://10.0.0.5 --xapp e42+sctp://10.0.0.5 --out theirs\n  \
    ferric sdrbench run --scenario rest --target tcp://127.0.0.1:36421 --rest http://127.0.0.1:8080 --out rest")]
pub struct RunArgs {
    /// A scenario of this program (`ferric sdrbench scenarios`), or a TOML file.
    #[arg(long, value_name = "NAME|FILE", default_value = "smoke")]
    scenario: String,
    /// The controller's address for E2 nodes, such as tcp://127.0.0.1:36421, or for FlexRAN agents.
    #[arg(long, value_name = "URL")]
    target: ferric::Endpoint,
    /// The controller's address for xApps: of ferric, such as tcp://127.0.0.1:36423; of FlexRIC, such as e42+sctp://10.0.0.5; the
    /// subscription manager of the O-RAN reference platform, such as oran+http://10.0.0.5:8088; or `none`. [default: that of a ferric
    /// RIC on this host]
    #[arg(long, value_name = "URL", value_parser = xapp_access)]
    xapp: Option<XappAccess>,
    /// The version of E2AP that a controller for FlexRIC's xApps was built with: 1, 2 or 3.
    #[arg(long, value_name = "VERSION", default_value = "2", requires = "xapp")]
    e42_version: E42Version,
    /// The E2 manager's REST interface of an oran+http:// controller. [default: the address of --xapp]
    #[arg(long, value_name = "URL", value_parser = rest_access::url, requires = "xapp")]
    oran_nodes: Option<String>,
    /// Where an oran+http:// controller receives controls over RMR. [default: port 4561 of the host of --xapp]
    #[arg(long, value_name = "URL", requires = "xapp")]
    oran_rmr: Option<Address>,
    /// The address of this host, at which an oran+http:// controller notifies and reports. [default: the one towards --target]
    #[arg(long, value_name = "ADDRESS", requires = "xapp")]
    oran_host: Option<IpAddr>,
    /// The controller's REST interface, for scenarios with REST clients.
    #[arg(long, help_heading = rest_access::HEADING, value_name = "URL", value_parser = rest_access::url)]
    rest: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
    /// The controller's processes, if its address is not one of this host.
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    /// Threads of the generator, one for each core that it may use.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Processors of these threads, such as 1 or 1,3-5. [default: all]
    #[arg(long, value_name = "CPUS", value_parser = cpu_list)]
    cpus: Option<CpuList>,
    /// Processors of the xApps. [default: all]
    #[arg(long, value_name = "CPUS", value_parser = cpu_list)]
    xapp_cpus: Option<CpuList>,
    /// Cores of the controller, one step for each: 1,2 shows what a second core costs. [default: as the scenario says]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: Vec<u16>,
    /// The folder of the report.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Continue the interrupted run in the folder.
    #[arg(long)]
    resume: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Print no progress.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    tls: program::tls::TlsArgs,
}

/// Processors by number.
type CpuList = Vec<usize>;

fn cpu_list(text: &str) -> Result<CpuList, String> {
    const MAX_CPUS: usize = 1024;
    let number = |text: &str| text.parse().ok().filter(|cpu| *cpu < MAX_CPUS);
    let part = |part: &str| match part.split_once('-') {
        Some((first, last)) => Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last),
        None => number(part).map(|cpu| (cpu, cpu)),
    };
    let ranges: Option<Vec<(usize, usize)>> = text.split(',').map(part).collect();
    let ranges = ranges.ok_or_else(|| format!("expected processors such as 1 or 1,3-5, below {MAX_CPUS}"))?;
    Ok(ranges.into_iter().flat_map(|(first, last)| first..=last).collect())
}

/// The interface of the controller for applications.
#[derive(Clone, Debug)]
enum XappAccess {
    Ferric(Address),
    E42(E42Address),
    /// The URL of the subscription manager.
    Oran(String),
    None,
}

fn xapp_access(text: &str) -> Result<XappAccess, String> {
    let reason = |error: AddressError| error.to_string();
    match text {
        "none" => Ok(XappAccess::None),
        text if text.starts_with("e42+") => text.parse().map(XappAccess::E42).map_err(reason),
        text => match text.strip_prefix("oran+") {
            Some(url) => Ok(XappAccess::Oran(rest_access::url(url)?)),
            None => text.parse().map(XappAccess::Ferric).map_err(reason),
        },
    }
}

/// The interfaces of a controller for xApps of the O-RAN reference platform.
fn oran(args: &RunArgs, url: &str) -> anyhow::Result<ApplicationAccess> {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, _) = authority.rsplit_once(':').unwrap_or((authority, ""));
    let rmr = match &args.oran_rmr {
        Some(address) => address.clone(),
        None => Address::from_url(&format!("tcp://{host}"), RMR_PORT)?,
    };
    let host = match args.oran_host {
        Some(host) => host,
        None => own_address(&rmr)?,
    };
    let client = |url: &str| rest_access::config(url, &args.access);
    let nodes = client(args.oran_nodes.as_deref().unwrap_or(url));
    Ok(ApplicationAccess::Oran(Box::new(OranAccess { subscriptions: client(url), nodes, rmr, host })))
}

/// The address of this host towards a peer.
fn own_address(peer: &Address) -> anyhow::Result<IpAddr> {
    let Address::Tcp { host, port } = peer else { bail!("--oran-rmr: RMR is spoken over tcp://") };
    let towards = || -> std::io::Result<IpAddr> {
        let mut addresses = (host.trim_matches(['[', ']']), *port).to_socket_addrs()?;
        let address = addresses.next().ok_or_else(|| std::io::Error::other("the name has no address"))?;
        let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        // nothing is sent: the system chooses the address by its routes
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(address)?;
        Ok(socket.local_addr()?.ip())
    };
    towards().with_context(|| format!("cannot find the way to {peer}; give the address of this host by --oran-host"))
}

pub fn run(args: &RunArgs) -> anyhow::Result<()> {
    let mut scenario = scenario(&args.scenario)?;
    if !args.cores.is_empty() {
        scenario.cores = args.cores.iter().map(|cores| usize::from(*cores)).collect();
    }
    let path = args.out.join("report.json");
    let measured = match (args.resume, path.exists()) {
        (true, true) => {
            let before = Report::read(&path)?;
            if before.scenario.text != scenario.text || before.target.url != args.target.to_string() {
                bail!("{} is of another scenario or target: use another folder", path.display());
            }
            before.steps
        }
        (true, false) => bail!("there is nothing to resume in {}", args.out.display()),
        (false, true) => bail!("{} exists: use --resume, or another folder", path.display()),
        (false, false) => Vec::new(),
    };
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    let applications = match args.xapp.clone() {
        None => ApplicationAccess::Find,
        Some(XappAccess::None) => ApplicationAccess::None,
        Some(XappAccess::Ferric(address)) => ApplicationAccess::Ferric(address),
        Some(XappAccess::E42(E42Address(address))) => ApplicationAccess::E42(address, args.e42_version),
        Some(XappAccess::Oran(url)) => oran(args, &url)?,
    };
    let mut link = ferric::link::Config { outbox_octets: 64 * 1024, ..ferric::link::Config::default() };
    link.tls = args.tls.load(None)?;
    let options = Options {
        target: args.target.clone(),
        applications,
        rest: args.rest.as_deref().map(|url| rest_access::config(url, &args.access)),
        processes: args.pid.clone(),
        threads: args.threads.into(),
        cpus: args.cpus.clone().unwrap_or_default(),
        xapp_cpus: args.xapp_cpus.clone().unwrap_or_default(),
        link,
        measured,
    };
    let stop = signals::flag_on_signal()?;
    let mut observer =
        Printer { folder: &args.out, is_quiet: args.quiet, is_terminal: std::io::stderr().is_terminal() };
    let report = campaign::run(&scenario, &options, &stop, &mut observer)?;
    observer.end_line();
    write_report(&args.out, &report)?;
    if args.json {
        outln!("{}", report.json());
    } else {
        outln!("{}\n\nThe report is in {}", report.to_string().trim_end(), args.out.display());
    }
    if !report.complete {
        bail!("the run was interrupted: continue it with --resume");
    }
    Ok(())
}

/// Writes the files of a report.
pub fn write_report(folder: &Path, report: &Report) -> anyhow::Result<()> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        // an interrupted write leaves the file of before
        let part = folder.join(format!(".{name}.part"));
        fs::write(&part, text)
            .and_then(|()| fs::rename(&part, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    };
    write("report.json", report.json() + "\n")?;
    write("report.html", report.html())?;
    for (name, text) in report.csv() {
        write(name, text)?;
    }
    Ok(())
}

/// The scenario of a name or a file.
pub fn scenario(name: &str) -> anyhow::Result<Scenario> {
    match Scenario::shipped(name) {
        Err(ScenarioError::Unknown(_)) if name.ends_with(".toml") => {
            let path = Path::new(name);
            let text = fs::metadata(path).and_then(|file| match file.len() {
                0..=MAX_SCENARIO_OCTETS => fs::read_to_string(path),
                _ => Err(std::io::Error::other("the file is too large")),
            });
            let text = text.with_context(|| format!("cannot read {name}"))?;
            let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
            Scenario::from_toml(&stem, &text).with_context(|| name.to_owned())
        }
        other => Ok(other?),
    }
}

/// Shows the progress, and keeps what was measured.
struct Printer<'a> {
    folder: &'a Path,
    is_quiet: bool,
    is_terminal: bool,
}

impl Printer<'_> {
    fn end_line(&self) {
        if self.is_terminal && !self.is_quiet {
            // a terminal that is gone needs no line
            let _ = writeln!(std::io::stderr());
        }
    }
}

impl Observer for Printer<'_> {
    fn progress(&mut self, line: &str, left_s: f64) {
        if self.is_quiet {
            return;
        }
        let (begin, end) = if self.is_terminal { ("\r\x1b[K", "") } else { ("", "\n") };
        let mut out = std::io::stderr().lock();
        // a closed standard error does not end a measurement
        let _ = write!(out, "{begin}{line}; {left_s:.0} s left{end}").and_then(|()| out.flush());
    }

    fn measured(&mut self, report: &Report) {
        if let Err(error) = write_report(self.folder, report) {
            // the end of the run reports it
            self.progress(&format!("{error:#}"), 0.0);
        }
    }
}
