//! `ferric ran`

mod steps;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ::ran::scenario::{MAX_THREADS, ScenarioFolders};
use ::ran::{Core, LiveConfig, LiveCounts, PaceCounts, Profile, Ran, RanConfig, Scenario};
use anyhow::{Context, bail};
use e2sm::Wire;
use ferric::Endpoint;
use ferric::record::Protocol;
use rest::client::{ClientConfig, ClientToken};
use tc_plugin::DEFAULT_FOLDER;
use tracing::info;

use crate::{address, positions, record, tls};

/// Run emulated E2 nodes.
///
/// Emulates base stations with cells, UEs and traffic, slot by slot, until Ctrl-C.
#[derive(clap::Args)]
pub struct Args {
    /// Address of the RIC. Repeatable. [default: tcp://127.0.0.1:36421]
    #[arg(long, value_name = "URL", value_parser = address::e2)]
    ric: Vec<Endpoint>,
    /// Another RIC that shares the nodes with the first --ric: nodes go there when they are not served by that one, or it is
    /// lost. Repeatable; see docs/several-rics.md.
    #[arg(long, value_name = "URL", value_parser = address::e2)]
    next_ric: Vec<Endpoint>,
    /// Scenario of cells, UEs and events, as a TOML file: see docs/scenarios.md.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Print the scenario's cells, UEs and offered load, and exit.
    #[arg(long, requires = "scenario")]
    check: bool,
    /// Folder from which a scenario's traffic control plug-ins are loaded.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER, requires = "scenario")]
    parts_from: PathBuf,
    /// Model seconds per second, overriding the scenario.
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    speed: Option<f64>,
    /// Advance on command instead of with the clock: `step MS`, `reset SEED`, `status` and `quit` on standard input, one JSON
    /// object for each on standard output. See docs/steps.md.
    #[arg(long, conflicts_with_all = ["speed", "live"])]
    stepped: bool,
    /// Start a scenario with a timeline at once. Without this, its time begins when a RIC has accepted a node.
    #[arg(long, requires = "scenario")]
    no_wait: bool,
    /// Threads of the model, overriding the scenario.
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroUsize>,
    /// Number of nodes. [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    nodes: Option<u16>,
    /// UEs of each node. [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1024))]
    ues: Option<u16>,
    /// Seed of all random numbers; the same seed gives the same RAN. [default: 1]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// What the base stations announce and obey: full, oai, flexric, srsran, srsran-du, srsran-cucp, srsran-cuup, osc, osc-v1 or
    /// onos, overriding the scenario. See docs/base-stations/profiles.md. [default: full]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Option<&'static Profile>,
    /// Announce all attributes of CCC. The setup request of a gNB then exceeds 32 kB, which FlexRIC's RIC cannot receive.
    #[arg(long)]
    all_ccc_attributes: bool,
    /// Version of E2AP: 1.00 (without OIDs), 1.01, 2.03 or 3.01. [default: that of the profile; 2.03]
    #[arg(long, value_name = "VERSION")]
    e2ap: Option<e2ap::Version>,
    /// Revision of KPM: 1.00, 2.00, 2.01, 2.03, 3.00 or 4.00. [default: that of the profile; 3.00]
    #[arg(long, value_name = "REVISION")]
    kpm: Option<e2sm::kpm::Revision>,
    /// Encode the service models in FlatBuffers instead of PER or FlexRIC's layout. For E2AP, use --ric
    /// tcp+flat://HOST:PORT.
    #[arg(long)]
    flat: bool,
    /// Revision of RC: 1.03, 3.00 or 5.00. [default: that of the profile; 3.00]
    #[arg(long, value_name = "REVISION")]
    rc: Option<e2sm::rc::Revision>,
    /// Handovers per minute that each node starts by itself.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=600))]
    handovers_per_minute: u16,
    #[command(flatten)]
    positions: PositionArgs,
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    tls: tls::TlsArgs,
    #[command(flatten)]
    record: record::RecordArgs,
}

/// The statement of positions: see docs/page.md.
#[derive(clap::Args)]
#[command(next_help_heading = "Positions")]
struct PositionArgs {
    /// REST interface of a RIC, such as http://127.0.0.1:8080, to which the positions of cells and UEs are stated twice a second,
    /// for the map of its page. [default: none]
    #[arg(long, value_name = "URL", conflicts_with = "stepped")]
    positions: Option<String>,
    /// File with the token for it, whose role is `control`, and nothing else.
    #[arg(long, value_name = "FILE", requires = "positions")]
    positions_token: Option<PathBuf>,
    /// PEM file of the CA that signed its certificate: for an https:// URL.
    #[arg(long, value_name = "FILE", requires = "positions")]
    positions_ca: Option<PathBuf>,
}

impl PositionArgs {
    fn client(&self) -> Option<ClientConfig> {
        let url = self.positions.as_ref()?;
        let token = self.positions_token.clone().map(ClientToken::File);
        let ca = self.positions_ca.clone();
        Some(ClientConfig { token, ca, ..ClientConfig::new(url) })
    }
}

/// Live mode: real programs communicate through the emulated cell. See docs/live.md.
#[derive(clap::Args)]
#[command(next_help_heading = "Live mode (Linux, root)")]
struct LiveArgs {
    /// Create network namespaces for N UEs: `ip netns exec ferric-ue1 COMMAND` runs a program at the first UE, `ip netns exec
    /// ferric-core COMMAND` at the other end, 10.45.0.1. The cell has 106 PRBs; with --scenario, its first N UEs are live.
    #[arg(long, value_name = "N", conflicts_with_all = ["nodes", "ues"], value_parser = clap::value_parser!(u16).range(1..=256))]
    live: Option<u16>,
    /// Use this host as the other end, instead of a namespace.
    #[arg(long, requires = "live")]
    live_on_host: bool,
    /// Prefix of the names of namespaces and devices.
    #[arg(long, value_name = "NAME", default_value = "ferric", requires = "live")]
    live_prefix: String,
    /// MTU in octets.
    #[arg(long, value_name = "OCTETS", default_value_t = 1400, requires = "live")]
    live_mtu: u16,
}

impl LiveArgs {
    fn config(&self) -> Option<LiveConfig> {
        Some(LiveConfig {
            ues: self.live?,
            prefix: self.live_prefix.clone(),
            core: if self.live_on_host { Core::Host } else { Core::Namespace },
            mtu: self.live_mtu,
        })
    }
}

/// The size limit of a scenario file.
const MAX_FILE_OCTETS: u64 = 4 << 20;

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| (0.001..=1000.0).contains(speed));
    speed.ok_or_else(|| "not a number from 0.001 to 1000".to_owned())
}

fn profile(text: &str) -> Result<&'static Profile, String> {
    Profile::named(text).ok_or_else(|| {
        let names = Profile::names();
        let nearest = names.split(", ").min_by_key(|known| crate::distance(text, known));
        let nearest = nearest.filter(|known| crate::distance(text, known) <= crate::MAX_DISTANCE);
        let hint = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
        format!("unknown profile; use one of {names}{hint}")
    })
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= MAX_THREADS);
    threads.ok_or_else(|| format!("not a number from 1 to {MAX_THREADS}"))
}

impl Args {
    /// The scenario of the arguments.
    fn scenario(&self) -> anyhow::Result<Scenario> {
        let mut scenario = match (&self.scenario, self.live.live) {
            (Some(file), _) => self.of_file(file)?,
            (None, Some(ues)) => Scenario::without_traffic(ues),
            (None, None) => {
                Scenario::with_mixed_traffic(self.nodes.unwrap_or(1), self.ues.unwrap_or(32), self.seed.unwrap_or(1))
            }
        };
        scenario.speed = self.speed.unwrap_or(scenario.speed);
        scenario.threads = self.threads.unwrap_or(scenario.threads);
        Ok(scenario)
    }

    fn of_file(&self, file: &Path) -> anyhow::Result<Scenario> {
        for (is_given, argument, what) in [
            (self.nodes.is_some(), "--nodes", "the cells"),
            (self.ues.is_some(), "--ues", "the UEs"),
            (self.seed.is_some(), "--seed", "the seed"),
        ] {
            if is_given {
                bail!("{argument} cannot be used with --scenario: the scenario file defines {what}");
            }
        }
        let name = || file.display().to_string();
        let text = files::read_text(file, MAX_FILE_OCTETS).with_context(name)?;
        let files = file.parent().unwrap_or(Path::new(""));
        Scenario::from_toml(&text, &ScenarioFolders { traces: files, tc_plugins: &self.parts_from }).with_context(name)
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let scenario = args.scenario()?;
    if args.check {
        let summary = scenario.summary()?.to_string();
        program::outln!("{}", summary.trim_end());
        return Ok(());
    }
    let profile = args.profile.unwrap_or(scenario.profile);
    let recorder = args.record.start()?;
    let mut config = RanConfig {
        tls: args.tls.load(None)?,
        tap: recorder.as_ref().map(|recorder| recorder.tap(Protocol::E2)),
        scenario,
        all_ccc_attributes: args.all_ccc_attributes,
        wire: if args.flat { Wire::Flat } else { Wire::Per },
        handovers_per_minute: args.handovers_per_minute,
        live: args.live.config(),
        ..RanConfig::with_profile(profile)
    };
    config.e2ap_version = args.e2ap.unwrap_or(config.e2ap_version);
    config.kpm_revision = args.kpm.unwrap_or(config.kpm_revision);
    config.rc_revision = args.rc.unwrap_or(config.rc_revision);
    if args.flat {
        config.periodic.wire = Wire::Flat;
    }
    if !args.ric.is_empty() {
        config.rics.clone_from(&args.ric);
    }
    config.next_rics.clone_from(&args.next_ric);
    if let Some(other) = config.next_rics.iter().find(|next| next.codec != config.rics[0].codec) {
        bail!("--next-ric {other} has another encoding than {}: RICs that share nodes have the same", config.rics[0]);
    }
    if args.stepped {
        return steps::run(RanConfig { is_stepped: true, ..config });
    }
    config.waits_for_ric = !config.scenario.timeline.is_empty() && !args.no_wait && config.live.is_none();
    if config.waits_for_ric {
        info!("the scenario's time begins when a RIC has accepted a node; --no-wait starts it at once");
    }
    let mut ran = Ran::new(config)?;
    program::signals::stop_on_signal(ran.stop_handle())?;
    let result = match args.positions.client() {
        Some(ric) => positions::run(&mut ran, &ric),
        None => ran.run().map_err(Into::into),
    };
    match ran.live_counts() {
        Some(counts) => log_live_counts(&counts),
        None => log_pace_counts(&ran.pace_counts()),
    }
    result
}

/// Logs how the model has followed the clock.
fn log_pace_counts(counts: &PaceCounts) {
    let PaceCounts { model, processing, longest, skipped } = counts;
    if model.is_zero() {
        return;
    }
    info!(
        "model: {:.1} s computed in {:.1} s; the longest delay of reports and controls by it was {:.1} ms; {:.1} s skipped",
        model.as_secs_f64(),
        processing.as_secs_f64(),
        longest.as_secs_f64() * 1e3,
        skipped.as_secs_f64()
    );
}

/// Logs the counters of live mode.
fn log_live_counts(counts: &LiveCounts) {
    let LiveCounts { slots, late_slots, latest, bridge, core, ues } = counts;
    info!(
        "live mode: {} packets to the UEs, {} of them marked with ECN; {} to the core",
        ues.sent, ues.marked, core.sent
    );
    info!(
        "live mode: dropped packets: {} unknown destination, {} foreign source, {} UE without a cell, {} queue full, {} not IPv4",
        bridge.unknown_destination,
        bridge.wrong_source,
        bridge.no_cell,
        bridge.buffer_full,
        core.not_ipv4 + ues.not_ipv4
    );
    info!(
        "live mode: {slots} slots, {late_slots} of them more than 2 ms late, at most {:.1} ms",
        latest.as_secs_f64() * 1e3
    );
}
