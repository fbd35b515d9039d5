//! The program `ferric-vbbu`, which `ferric vbbu` runs: an emulated virtual base-band unit.

#![forbid(unsafe_code)]

mod cpus;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::Ordering;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use ferric::Endpoint;
use program::{LogLevel, outln, signals};
use serde_json::{Value, json};
use vbbu::{Channel, Config, Counts, Place, Split, Unit, UnitStatus};

/// Run an emulated virtual base-band unit (vBBU), for machines without a radio.
///
/// The unit has nine threads, four of them real-time threads, named as those of OpenAirInterface's eNB. Their work is signal
/// processing that follows the load of an emulated LTE cell, calibrated to this host. A subframe that is not processed in 3 ms is
/// answered with NACKs by the UEs, and costs throughput. `ferric cpu` measures the unit and keeps other work off its CPUs: see
/// docs/vbbu.md.
#[derive(Debug, Parser)]
#[command(name = "ferric-vbbu", bin_name = "ferric vbbu", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    /// End after so many seconds. [default: at Ctrl-C]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// Print JSON: an object per line, the last one with the totals.
    #[arg(long)]
    json: bool,
    /// Print a line every so many ms. [default: 1000; none with --json]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    report_ms: Option<u64>,
    /// The address of a RIC for the cell's E2 node, such as tcp://127.0.0.1:36421. Repeatable. [default: none]
    #[arg(long, value_name = "URL")]
    e2: Vec<Endpoint>,
    /// Report the unit's CPUs over E2 as well, and let the RIC choose its CPUs and policy (RAN function 150, docs/cpu-loop.md). Takes root
    /// and the program ferric-cpu.
    #[arg(long, requires = "e2")]
    cpu: bool,
    /// With --cpu: the CPUs that policies give the unit, such as 2-3. [default: the upper half]
    #[arg(long, value_name = "CPUS", requires = "cpu")]
    cpus: Option<String>,
    /// With --cpu: the folder of the journal of `ferric cpu`.
    #[arg(long, value_name = "FOLDER", env = "FERRIC_CPU_STATE", default_value = "/run/ferric-cpu")]
    cpu_state: PathBuf,
    /// Functional split between the unit and the cell's site: 7.1 carries samples over UDP, 2 carries packets.
    #[arg(long, value_enum, value_name = "SPLIT", default_value_t = SplitName::None)]
    split: SplitName,
    /// Network of the unit: `veth` connects it with namespaces for the core and the cell's site, `namespace` puts the unit into one as
    /// well; both take root. [default: veth where that is possible, else loopback]
    #[arg(long, value_enum, value_name = "NETWORK")]
    network: Option<NetworkName>,
    /// Number of the unit on this host, 0 to 63, in the names of its devices (vbbu0) and namespaces (vbbu0-core).
    #[arg(long, value_name = "N", default_value_t = 0)]
    unit: u8,
    /// Work of the real-time threads in a fully loaded subframe, in us of one CPU: 10 to 3000.
    #[arg(long, value_name = "US", default_value_t = Config::default().full_load_us)]
    full_load_us: f64,
    /// In how many parts ru-thread reads a subframe, 1 to 16.
    #[arg(long, value_name = "N", default_value_t = Config::default().reads_per_subframe)]
    reads: u32,
    /// Time in us within which idle CPUs of this host have to wake up while the unit runs; 0 makes them poll. Takes root.
    #[arg(long, value_name = "US", default_value_t = Config::default().idle_exit_us)]
    idle_exit_us: u32,
    /// Bandwidth of the cell: 1.4, 3, 5, 10, 15 or 20.
    #[arg(long, value_name = "MHZ", default_value_t = Config::default().bandwidth_mhz)]
    bandwidth_mhz: f64,
    /// Number of UEs, 1 to 64.
    #[arg(long, value_name = "N", default_value_t = Config::default().ues)]
    ues: u16,
    /// Downlink of all UEs together, 0 to 1000.
    #[arg(long, value_name = "MBPS", default_value_t = Config::default().downlink_mbps)]
    downlink_mbps: f64,
    /// Uplink of all UEs together, 0 to 1000.
    #[arg(long, value_name = "MBPS", default_value_t = Config::default().uplink_mbps)]
    uplink_mbps: f64,
    /// Channel of the UEs: `sinr=DOWN,UP` in dB, or `mcs=N` without losses, so that only missed subframes cause NACKs.
    #[arg(long, value_name = "CHANNEL", default_value = "sinr=20,15")]
    channel: ChannelName,
    /// Seed of the cell.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Log lines of this severity and above. [default: info]
    #[arg(long)]
    log: Option<LogLevel>,
}

const EXAMPLES: &str = "Examples:
  ferric vbbu --seconds 10                        ten seconds, and how many subframes were missed
  ferric vbbu --e2 tcp://127.0.0.1:36421          its cell reports to a RIC
  ferric vbbu --e2 tcp://127.0.0.1:36421 --cpu    and so do its CPUs, which the RIC may change
  ferric vbbu --split 7.1 --channel mcs=20        samples over UDP; NACKs of missed subframes only
  ferric cpu latency --name ferric-vbbu           how long its threads wait for a CPU";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SplitName {
    None,
    #[value(name = "7.1")]
    Samples,
    #[value(name = "2")]
    F1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NetworkName {
    Loopback,
    Veth,
    Namespace,
}

#[derive(Clone, Copy, Debug)]
struct ChannelName(Channel);

impl FromStr for ChannelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.split_once('=') {
            Some(("mcs", mcs)) => mcs.parse().ok().map(Channel::Mcs),
            Some(("sinr", both)) => both
                .split_once(',')
                .and_then(|(down, up)| Some(Channel::Sinr(down.trim().parse().ok()?, up.trim().parse().ok()?))),
            _ => None,
        };
        parsed.map(ChannelName).ok_or_else(|| "use `mcs=20`, or `sinr=20,15` for down and up in dB".to_owned())
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("use 0.1 to 86400 seconds".to_owned()),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    program::init_log(cli.log, LogLevel::Info, LogLevel::Info);
    program::exit_code("ferric vbbu", run(&cli))
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    let stop = signals::flag_on_signal()?;
    // before the unit, as threads and processes that are started later inherit its priority
    let prepared = cli.cpu.then(|| cpus::Prepared::new(cpu_options(cli))).transpose()?;
    let (mut unit, place) = start(cli)?;
    let mut manager = prepared.map(|prepared| prepared.start(unit.threads())).transpose()?;
    let without_fifo = unit.without_fifo().map(ToString::to_string);
    if let Some(reason) = &without_fifo {
        tracing::warn!(
            "no right to real-time priorities ({reason}): threads run with ordinary priority; run as root, or raise RLIMIT_RTPRIO \
             (`ulimit -r 60`)"
        );
    }
    if let Some(reason) = unit.without_idle_limit() {
        tracing::warn!("idle CPUs may sleep deeply, and wake late (/dev/cpu_dma_latency: {reason}): run as root");
    }
    print_start(cli, &unit, place);
    let report_ms = cli.report_ms.or(if cli.json { None } else { Some(1000) });
    let end = cli.seconds.map(|seconds| (seconds * 1000.0) as u64);
    let mut last = Counts::default();
    while !stop.load(Ordering::Acquire) {
        unit.step().context("the unit has failed")?;
        if let Some(manager) = &mut manager {
            manager.update(&mut unit)?;
        }
        let counts = unit_counts(&unit, report_ms.is_some() || end.is_some());
        if let Some(period) = report_ms
            && counts.subframes >= last.subframes + period
        {
            print_period(cli.json, counts.subframes, counts.since(last));
            last = counts;
        }
        if end.is_some_and(|end| counts.subframes >= end) {
            break;
        }
    }
    let status = unit.status();
    // the last line is the one with the totals
    let stopped = manager.map_or(Ok(()), cpus::Manager::stop);
    print_end(cli.json, &status, without_fifo.as_deref());
    stopped
}

fn cpu_options(cli: &Cli) -> cpus::Options {
    cpus::Options { cpus: cli.cpus.clone(), state: cli.cpu_state.clone(), unit: cli.unit, log: cli.log }
}

/// The counters, where somebody looks at them.
fn unit_counts(unit: &Unit, is_needed: bool) -> Counts {
    if is_needed { unit.counts() } else { Counts::default() }
}

fn start(cli: &Cli) -> anyhow::Result<(Unit, Place)> {
    let config = Config {
        rics: cli.e2.clone(),
        bandwidth_mhz: cli.bandwidth_mhz,
        ues: cli.ues,
        downlink_mbps: cli.downlink_mbps,
        uplink_mbps: cli.uplink_mbps,
        channel: cli.channel.0,
        seed: cli.seed,
        full_load_us: cli.full_load_us,
        reads_per_subframe: cli.reads,
        idle_exit_us: cli.idle_exit_us,
        split: match cli.split {
            SplitName::None => Split::Monolithic,
            SplitName::Samples => Split::Samples,
            SplitName::F1 => Split::F1,
        },
        place: match cli.network {
            Some(NetworkName::Loopback) => Place::Loopback,
            Some(NetworkName::Namespace) => Place::Namespace,
            Some(NetworkName::Veth) | None => Place::Host,
        },
        unit: cli.unit,
    };
    let place = config.place;
    match Unit::start(config.clone()) {
        Err(vbbu::Error::Network(error)) if cli.network.is_none() => {
            tracing::warn!(
                "{error}: tunnels run over loopback, not over virtual Ethernet devices; run as root for these"
            );
            let config = Config { place: Place::Loopback, ..config };
            Ok((Unit::start(config).context("cannot start the unit")?, Place::Loopback))
        }
        unit => Ok((unit.context("cannot start the unit")?, place)),
    }
}

fn threads_json(status: &UnitStatus) -> Value {
    let threads = status.threads.iter().map(
        |thread| json!({"name": thread.role.name(), "tid": thread.tid, "fifo": thread.is_fifo, "cpus": thread.cpus()}),
    );
    threads.collect()
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Loopback => "loopback",
        Place::Host => "veth",
        Place::Namespace => "namespace",
    }
}

fn print_start(cli: &Cli, unit: &Unit, place: Place) {
    let (status, calibration) = (unit.status(), unit.calibration());
    if cli.json {
        outln!(
            "{}",
            json!({
                "pid": std::process::id(), "threads": threads_json(&status), "network": place_name(place),
                "fft_us": calibration.fft_ns / 1000.0, "decoder_us": calibration.decoder_ns / 1000.0,
            })
        );
        return;
    }
    outln!(
        "process {}, network {}, calibrated: FFT {:.1} us, decoder {:.1} us",
        std::process::id(),
        place_name(place),
        calibration.fft_ns / 1000.0,
        calibration.decoder_ns / 1000.0
    );
    for thread in &status.threads {
        let policy = if thread.is_fifo { "FIFO" } else { "ordinary" };
        outln!("  {:15} {:8} {policy}", thread.role.name(), thread.tid);
    }
}

fn print_period(is_json: bool, at_ms: u64, counts: Counts) {
    if is_json {
        outln!(
            "{}",
            json!({
                "at_ms": at_ms, "subframes": counts.subframes, "misses": counts.misses, "nacks": counts.nacks,
                "nacks_of_misses": counts.nacks_of_misses, "dl_mbps": counts.dl_mbps(), "ul_mbps": counts.ul_mbps(),
            })
        );
        return;
    }
    let Counts { misses, nacks, nacks_of_misses, .. } = counts;
    outln!(
        "{:6.1} s  {misses:4} missed  {nacks:4} NACKs, {nacks_of_misses} of misses  {:.1} Mbit/s down  {:.1} up",
        at_ms as f64 / 1000.0,
        counts.dl_mbps(),
        counts.ul_mbps()
    );
}

fn print_end(is_json: bool, status: &UnitStatus, without_fifo: Option<&str>) {
    let UnitStatus { cpus, counts, .. } = status;
    if is_json {
        outln!(
            "{}",
            json!({
                "subframes": counts.subframes, "misses": counts.misses, "given_up": counts.given_up,
                "transmissions": counts.transmissions, "nacks": counts.nacks,
                "nacks_of_misses": counts.nacks_of_misses, "dl_mbps": counts.dl_mbps(), "ul_mbps": counts.ul_mbps(),
                "dl_load_percent": counts.dl_load * 100.0, "least_slack_us": counts.least_slack_us,
                "core_sent": counts.core_sent, "core_received": counts.core_received, "dropped": counts.dropped,
                "s1_answers": counts.s1_answers, "late_slots": counts.late_slots, "cpus": cpus,
                "threads": threads_json(status), "without_fifo": without_fifo,
            })
        );
        return;
    }
    outln!(
        "{} subframes, {} missed, {} NACKs of {} transmissions, {} of misses, {:.2} Mbit/s down, {:.2} Mbit/s up",
        counts.subframes,
        counts.misses,
        counts.nacks,
        counts.transmissions,
        counts.nacks_of_misses,
        counts.dl_mbps(),
        counts.ul_mbps()
    );
    if counts.late_slots > 0 {
        outln!(
            "the cell itself was late in {} slots: the host was too busy for the unit's surroundings",
            counts.late_slots
        );
    }
}
