//! The program `ferric-conform`, which `ferric conform` runs.

#![forbid(unsafe_code)]

mod content;
mod stimulus;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{ArgGroup, Parser};
use conform::report::CheckReport;
use conform::{Config, ControlContent, NoStimulus, Role, Stimulus, SubscriptionContent, Target, Timeouts};
use e2ap::Version;
use ferric::Endpoint;
use ferric::e2ap::Codec;
use ferric::link::Address;
use program::tls::TlsArgs;
use program::{LogLevel, outln, signals};

use stimulus::Command;

/// Check a near-RT RIC or an E2 node of any make against E2AP.
///
/// With --ric it is an E2 node and checks the RIC at that address. With --node it is a RIC and checks the E2 node that connects to that
/// address. Each check names its clause and passes, fails, or is inconclusive: the peer does not offer what is checked, or was not
/// brought into the state that the check needs. See docs/conformance.md.
///
/// It harms nothing by default: it sends valid messages, and what later versions may send. The peer should not be in service
/// nevertheless: it is reset, and its subscriptions end.
///
/// The exit status is 1 if a check fails or none has a result.
#[derive(Debug, Parser)]
#[command(name = "ferric-conform", bin_name = "ferric conform", version, max_term_width = 100)]
#[command(group(ArgGroup::new("peer").args(["ric", "node", "list"]).required(true)))]
#[command(after_help = "Examples:\n  \
    ferric conform --ric tcp://127.0.0.1:36421 --e2ap all --out report\n  \
    ferric conform --node sctp://[::]:36421 --e2ap 3.01 --check setup --check reset\n  \
    ferric conform --ric tcp://127.0.0.1:36421 --stimulus './subscribe.sh' --hostile")]
struct Cli {
    /// Check the RIC at this address, as an E2 node.
    #[arg(long, value_name = "URL", value_parser = address)]
    ric: Option<Address>,
    /// Listen at this address as a RIC, and check the E2 node that connects.
    #[arg(long, value_name = "URL", value_parser = address)]
    node: Option<Address>,
    /// Print the checks of a `ric` or a `node`, and exit.
    #[arg(long, value_name = "PEER", value_parser = role)]
    list: Option<Role>,
    /// Version of E2AP: 1.00, 1.01, 2.03 or 3.01; repeatable, or `all`, for a RIC. [default: 2.03 for a RIC, that of its setup for a
    /// node, where 1.00 and 3.01 must be stated]
    #[arg(long, value_name = "VERSION", value_parser = versions)]
    e2ap: Vec<Versions>,
    /// Run this check only. Repeatable.
    #[arg(long = "check", value_name = "NAME")]
    checks: Vec<String>,
    /// Send malformed octets, too.
    #[arg(long)]
    hostile: bool,
    /// Folder for report.json, report.html, report.xml (JUnit) and the messages of each check as pcapng; created if missing.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the report as one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Seconds within which the peer answers.
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    answer: Duration,
    /// Seconds within which the peer begins a procedure of its own.
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    action: Duration,
    /// Seconds within which the peer gives up a request that is not answered.
    #[arg(long, value_name = "S", default_value = "15", value_parser = seconds)]
    silence: Duration,
    /// Seconds within which an E2 node connects, and connects again.
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    connect: Duration,
    /// Program that has the RIC begin a procedure, run by the shell with the name of the procedure (subscribe, subscribe-insert,
    /// unsubscribe, control, query, modify, reset, service-query, connection-update, remove), the node's name and the RAN
    /// function's id as its last arguments. [default: none; the checks wait for what the RIC does by itself]
    #[arg(long, value_name = "COMMAND", requires = "ric")]
    stimulus: Option<String>,
    /// gNB id of this end as an E2 node in v1.00; v1.01, v2.03 and v3.01 have the next ones. Hexadecimal.
    #[arg(long, value_name = "HEX", default_value = "c0f0", value_parser = hexadecimal, requires = "ric")]
    gnb_id: u32,
    /// What a node is asked to report: FUNCTION:TRIGGER or FUNCTION:TRIGGER:ACTION, the definitions in hexadecimal. [default: a
    /// measurement of its E2SM-KPM function]
    #[arg(long, value_name = "CONTENT", value_parser = content::subscription, requires = "node")]
    subscription: Option<SubscriptionContent>,
    /// A subscription with an insert action, in the form of --subscription.
    #[arg(long, value_name = "CONTENT", value_parser = content::subscription, requires = "node")]
    insert: Option<SubscriptionContent>,
    /// A control that the node executes: FUNCTION:HEADER:MESSAGE, in hexadecimal.
    #[arg(long, value_name = "CONTENT", value_parser = content::control, requires = "node")]
    control: Option<ControlContent>,
    #[command(flatten)]
    tls: TlsArgs,
    /// Log level, to standard error. [default: error]
    #[arg(long, value_enum, value_name = "LEVEL", display_order = 900)]
    log: Option<LogLevel>,
}

/// The versions that an option names.
#[derive(Clone, Debug)]
struct Versions(Vec<Version>);

fn versions(text: &str) -> Result<Versions, String> {
    if text == "all" {
        return Ok(Versions(Version::ALL.to_vec()));
    }
    text.parse().map(|version| Versions(vec![version])).map_err(|error: e2ap::UnknownVersion| error.to_string())
}

fn role(text: &str) -> Result<Role, &'static str> {
    match text {
        "ric" => Ok(Role::Ric),
        "node" => Ok(Role::Node),
        _ => Err("neither `ric` nor `node`"),
    }
}

fn address(text: &str) -> Result<Address, String> {
    let endpoint: Endpoint = text.parse().map_err(|error| format!("{error}"))?;
    match (&endpoint.address, endpoint.codec) {
        (Address::Memory(_), _) => Err("a memory: address works within one program only".to_owned()),
        (_, Codec::Per) => Ok(endpoint.address),
        _ => Err("conformance is checked in PER, the encoding that E2AP specifies".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.01..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or("not a number from 0.01 to 3600")
}

fn hexadecimal(text: &str) -> Result<u32, &'static str> {
    u32::from_str_radix(text, 16).ok().filter(|id| *id <= u32::MAX - 4).ok_or("not a hexadecimal number of 32 bits")
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::init_log(cli.log, LogLevel::Error, LogLevel::Warn);
    program::exit_code("ferric conform", run(&cli))
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    if let Some(role) = cli.list {
        list(role);
        return Ok(());
    }
    let config = configuration(cli)?;
    let is_interrupted = signals::flag_on_signal()?;
    let mut stimulus: Box<dyn Stimulus> = match &cli.stimulus {
        Some(command) => Box::new(Command::new(command)),
        None => Box::new(NoStimulus),
    };
    if !cli.json {
        if let Target::Node(address) = &config.target {
            eprintln!("waiting for an E2 node at {address}");
        }
        outln!("{}", CheckReport::heading());
    }
    let mut progress = |check: &CheckReport, _left: usize| {
        if !cli.json {
            outln!("{}", check.line());
        }
    };
    let report = conform::run(&config, stimulus.as_mut(), &mut progress, Some(&is_interrupted))?;
    if cli.json {
        outln!("{}", serde_json::to_string(&report)?);
    } else {
        outln!("{}", report.summary());
    }
    if let Some(out) = &cli.out {
        let json = serde_json::to_string_pretty(&report)? + "\n";
        for (file, text) in [("report.json", json), ("report.html", report.html()), ("report.xml", report.junit())] {
            let path = out.join(file);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if !cli.json {
            outln!("report: {}", out.join("report.html").display());
        }
    }
    if report.failed > 0 {
        let failed = report.checks.iter().filter(|check| check.outcome == conform::Outcome::Fail);
        let names: Vec<_> = failed.map(|check| format!("{} (v{})", check.id, check.version)).collect();
        bail!("checks that failed: {}", names.join(", "));
    }
    if report.passed == 0 {
        let reason = report.checks.first().and_then(|check| check.reason.clone());
        bail!("no check has a result: {}", reason.unwrap_or_else(|| "none has run".to_owned()));
    }
    Ok(())
}

fn list(role: Role) {
    outln!("{:<31}  {:<16}  {:<11}  requirement", "check", "clause", "E2AP");
    let line = |id: &str, clause: &str, since: Version, until: Version, is_hostile: bool, title: &str| {
        let hostile = if is_hostile { " (--hostile)" } else { "" };
        outln!("{id:<31}  {clause:<16}  {:<11}  {title}{hostile}", format!("{since} - {until}"));
    };
    match role {
        Role::Ric => conform::node::checks()
            .iter()
            .for_each(|check| line(check.id, check.clause, check.since, check.until, check.is_hostile, check.title)),
        Role::Node => conform::ric::checks()
            .iter()
            .for_each(|check| line(check.id, check.clause, check.since, check.until, check.is_hostile, check.title)),
    }
}

fn configuration(cli: &Cli) -> anyhow::Result<Config> {
    let target = match (&cli.ric, &cli.node) {
        (Some(address), _) => Target::Ric(address.clone()),
        (None, Some(address)) => Target::Node(address.clone()),
        (None, None) => bail!("neither --ric nor --node is given"),
    };
    let mut config = Config::new(target);
    let mut versions: Vec<Version> = cli.e2ap.iter().flat_map(|versions| versions.0.iter().copied()).collect();
    versions.sort_unstable();
    versions.dedup();
    match config.target {
        Target::Node(_) if versions.len() > 1 => {
            bail!("an E2 node has one version of E2AP: state one, and run this again with the node in another one");
        }
        Target::Ric(_) if versions.is_empty() => {}
        _ => config.versions = versions,
    }
    config.only.clone_from(&cli.checks);
    config.hostile = cli.hostile;
    config.timeouts = Timeouts { answer: cli.answer, action: cli.action, silence: cli.silence, connect: cli.connect };
    config.recordings.clone_from(&cli.out);
    config.gnb_id = cli.gnb_id;
    config.subscription.clone_from(&cli.subscription);
    config.insert.clone_from(&cli.insert);
    config.control.clone_from(&cli.control);
    config.link.tls = cli.tls.load(None)?;
    if let Some(out) = &cli.out {
        try_to_write(out)?;
    }
    Ok(config)
}

/// Checks, before the peer is troubled, that files can be created.
fn try_to_write(out: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let path = out.join(format!(".ferric-{}", std::process::id()));
    std::fs::write(&path, "").with_context(|| format!("cannot write to {}", out.display()))?;
    std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
}

#[cfg(test)]
mod tests {
    use conform::Action;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn every_action_is_in_the_help() {
        use clap::CommandFactory;
        let help = Cli::command().render_long_help().to_string();
        let actions = [
            Action::Subscribe,
            Action::SubscribeInsert,
            Action::Unsubscribe,
            Action::Control,
            Action::Query,
            Action::Modify,
            Action::Reset,
            Action::ServiceQuery,
            Action::ConnectionUpdate,
            Action::Remove,
        ];
        let words: Vec<_> = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).collect();
        for action in actions {
            assert!(words.contains(&action.name()), "{}", action.name());
        }
    }
}
