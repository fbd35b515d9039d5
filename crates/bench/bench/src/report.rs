//! The report of `ferric bench e2`, as tables and as JSON with stable keys.

use std::fmt;

use serde::Serialize;

use crate::PingReport;

/// The result of `ferric bench e2`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Nanoseconds of the codecs.
    pub codec: Codec,
    /// The RIC as a relay, by number of nodes.
    pub relay: Vec<RelayRow>,
    /// An agent at 1 kHz, by number of UEs and encoding.
    pub agent: Vec<AgentRow>,
    /// Round trips of a ping, by kind of link.
    pub ping: PingReport,
    /// Thousands of reporting nodes.
    pub many: Many,
    /// Nodes that reconnect at the same time.
    pub storm: Storm,
    /// The relay with two event loops, compared with one.
    pub loops: Vec<LoopsRow>,
    /// Memory of the RIC with idle nodes.
    pub idle: Idle,
    /// The host of the measurement.
    pub host: Host,
}

/// Times of the codecs in nanoseconds: the minimum of many batches, since they perform no I/O.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Codec {
    /// Peeking at an indication: its ids, and the place of its payload of 1500 octets.
    pub peek_1500_ns: f64,
    /// Decoding it completely.
    pub decode_1500_ns: f64,
    /// Encoding it into a reused buffer.
    pub encode_1500_ns: f64,
    /// Allocations of a complete decoding and encoding.
    pub decode_allocs: u64,
    /// Decoding a KPM v3 indication, format 3, with 32 UEs of 8 measurements each, and visiting every value.
    pub kpm_f3_32x8_decode_ns: f64,
    /// The same with different lists of measurements for each UE.
    pub kpm_f3_32x8_distinct_decode_ns: f64,
}

/// The RIC as a relay from nodes to one xApp, compared with a program that only moves the same frames: medians of interleaved
/// repetitions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RelayRow {
    /// Number of nodes.
    pub nodes: usize,
    /// Whether they send at the same time, as synchronized base stations do.
    pub together: bool,
    /// Period of each node's bursts of three indications.
    pub period_ms: f64,
    /// Octets of an indication's PDU.
    pub payload_bytes: usize,
    /// Indications that the xApp received, in all repetitions.
    pub indications: u64,
    /// Indications lost.
    pub lost: u64,
    /// Processor time of the RIC per indication.
    pub ric_cpu_us: f64,
    /// Processor time of the mover per frame.
    pub mover_cpu_us: f64,
    /// `ric_cpu_us` divided by `mover_cpu_us`.
    pub ratio: f64,
    /// Median time from a node's write to the xApp's read.
    pub p50_us: f64,
    /// The 99th percentile of it.
    pub p99_us: f64,
    /// Median time through the mover.
    pub mover_p50_us: f64,
    /// The 99th percentile of it.
    pub mover_p99_us: f64,
    /// The relay to an xApp on shared memory that sleeps between bursts.
    pub shm: ShmRelay,
    /// The relay to an xApp on shared memory that polls for a period before it sleeps.
    pub shm_spins: ShmRelay,
    /// The relay to an xApp of FlexRIC, which uses E42 over TCP.
    pub e42: E42Relay,
}

/// The relay to an xApp of FlexRIC.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct E42Relay {
    /// Processor time of the RIC per indication.
    pub cpu_us: f64,
    /// `cpu_us` divided by that of the relay to an xApp of ferric over TCP.
    pub ratio_to_native: f64,
    /// Median time from a node's write to the xApp's read.
    pub p50_us: f64,
    /// The 99th percentile of it.
    pub p99_us: f64,
}

/// The relay to an xApp on shared memory.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ShmRelay {
    /// Processor time of the RIC per indication.
    pub cpu_us: f64,
    /// `cpu_us` divided by that of the mover over TCP.
    pub ratio: f64,
    /// Median time from a node's write to the xApp's read.
    pub p50_us: f64,
    /// The 99th percentile of it.
    pub p99_us: f64,
}

/// The processor time per report of an agent whose MAC, RLC and PDCP functions report each millisecond over loopback TCP, by
/// stage. Gathering and encoding are medians, averaged over the three models; sending is the rest: the link, system calls
/// and wake-ups.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AgentRow {
    /// UEs, with one bearer each.
    pub ues: u16,
    /// The encoding of E2AP and of the models.
    pub encoding: &'static str,
    /// Mean octets of a model's message.
    pub message_bytes: f64,
    /// Reports received per second.
    pub reports_per_s: f64,
    /// The whole report.
    pub cpu_us: f64,
    /// Reading the counters of the base station.
    pub gather_us: f64,
    /// Encoding the service model.
    pub model_us: f64,
    /// Encoding E2AP, and copying to the link's send buffer.
    pub e2ap_us: f64,
    /// Sending.
    pub send_us: f64,
}

/// Thousands of nodes that report to one xApp through a RIC with one event loop.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Many {
    /// Number of nodes.
    pub nodes: usize,
    /// Reporting period of each node.
    pub period_ms: f64,
    /// Octets of an indication's PDU.
    pub payload_bytes: usize,
    /// Indications that the xApp received.
    pub indications: u64,
    /// Indications lost.
    pub lost: u64,
    /// Processor time of the RIC as a share of one core.
    pub cpu_share: f64,
    /// Time of the sending divided by the planned time. Above 1.05, the machine was too slow for the load.
    pub late: f64,
    /// Resident memory of the RIC at the end.
    pub rss_bytes: u64,
}

/// Nodes that lose their links and reconnect at the same time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Storm {
    /// Number of nodes.
    pub nodes: usize,
    /// Time from the loss to the last setup response.
    pub set_up_ms: f64,
    /// Time until an xApp was notified of every loss and every return.
    #[serde(rename = "told_ms")]
    pub notified_ms: f64,
    /// Losses and returns without a notification.
    pub missing: usize,
}

/// The RIC with two event loops as a relay, compared with one loop, under the load of [`RelayRow`]: medians of interleaved
/// repetitions. `ferric ric --loops 2` assigns the links to the loops.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LoopsRow {
    /// Number of nodes.
    pub nodes: usize,
    /// xApps that subscribe to all nodes. Two of them are on two loops, so that half of the deliveries cross between loops.
    pub xapps: usize,
    /// Indications that the xApps received through two loops, in all repetitions.
    pub indications: u64,
    /// Indications lost.
    pub lost: u64,
    /// Processor time with one loop per indication and xApp.
    pub one_cpu_us: f64,
    /// Processor time with two loops.
    pub two_cpu_us: f64,
    /// `two_cpu_us` divided by `one_cpu_us`.
    pub ratio: f64,
    /// Median time from a node's write to the xApp's read with one loop.
    pub one_p50_us: f64,
    /// The 99th percentile of it.
    pub one_p99_us: f64,
    /// Median time with two loops.
    pub two_p50_us: f64,
    /// The 99th percentile of it.
    pub two_p99_us: f64,
}

/// The memory of the RIC with idle nodes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Idle {
    /// Number of nodes, with two functions each.
    pub nodes: usize,
    /// Resident memory of the RIC.
    pub rss_bytes: u64,
}

/// The host of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The processor's name.
    pub cpu: String,
    /// The processors available to this program.
    pub cores: usize,
    /// The operating system's release.
    pub kernel: String,
}

impl Host {
    /// This host.
    #[must_use]
    pub fn current() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
        Host {
            cpu: model.map_or("unknown", |m| m.trim_start_matches([' ', '\t', ':'])).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }
}

impl Report {
    /// One JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        // it contains numbers and texts only, which serialize without errors
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Codec { peek_1500_ns, decode_1500_ns, encode_1500_ns, decode_allocs, .. } = self.codec;
        writeln!(f, "{} ({} cores, Linux {})\n", self.host.cpu, self.host.cores, self.host.kernel)?;
        writeln!(f, "RICindication, 1500 octets")?;
        writeln!(f, "  peek                          {peek_1500_ns:8.1} ns")?;
        writeln!(f, "  decode                        {decode_1500_ns:8.1} ns")?;
        writeln!(f, "  encode into a reused buffer   {encode_1500_ns:8.1} ns")?;
        writeln!(f, "  allocations, decode + encode  {decode_allocs:8}")?;
        writeln!(f, "KPM v3.00 indication, format 3, 32 UEs x 8 measurements, every value visited")?;
        writeln!(f, "  one list of measurements      {:8.0} ns", self.codec.kpm_f3_32x8_decode_ns)?;
        writeln!(f, "  a different list for each UE  {:8.0} ns", self.codec.kpm_f3_32x8_distinct_decode_ns)?;
        writeln!(f, "\nRelay from nodes to one xApp over loopback TCP, compared with a bare mover of the same frames")?;
        writeln!(
            f,
            "  {:>5} {:>8} {:>6} {:>11} {:>5} {:>11} {:>11} {:>6} {:>8} {:>8} {:>10} {:>10}",
            "nodes",
            "period",
            "octets",
            "indications",
            "lost",
            "RIC us/ind",
            "mover us",
            "ratio",
            "p50 us",
            "p99 us",
            "mover p50",
            "mover p99"
        )?;
        for row in &self.relay {
            writeln!(
                f,
                "  {:>5} {:>5.1} ms {:>6} {:>11} {:>5} {:>11.2} {:>11.2} {:>6.2} {:>8.0} {:>8.0} {:>10.0} {:>10.0}",
                row.nodes,
                row.period_ms,
                row.payload_bytes,
                row.indications,
                row.lost,
                row.ric_cpu_us,
                row.mover_cpu_us,
                row.ratio,
                row.p50_us,
                row.p99_us,
                row.mover_p50_us,
                row.mover_p99_us
            )?;
        }
        for row in self.relay.iter().filter(|row| row.together) {
            writeln!(f, "  the {} nodes send at the same time", row.nodes)?;
        }
        writeln!(
            f,
            "\nThe relay to an xApp on shared memory, from nodes on TCP as before. The xApp sleeps between bursts and has to"
        )?;
        writeln!(f, "be woken, or polls on a processor of its own")?;
        writeln!(
            f,
            "  {:>5} {:>8} {:>11} {:>11} {:>6} {:>8} {:>8}",
            "nodes", "xApp", "RIC us/ind", "mover us", "ratio", "p50 us", "p99 us"
        )?;
        for RelayRow { nodes, mover_cpu_us, shm, shm_spins, .. } in &self.relay {
            for (xapp, ShmRelay { cpu_us, ratio, p50_us, p99_us }) in [("sleeps", shm), ("spins", shm_spins)] {
                writeln!(
                    f,
                    "  {nodes:>5} {xapp:>8} {cpu_us:>11.2} {mover_cpu_us:>11.2} {ratio:>6.2} {p50_us:>8.0} {p99_us:>8.0}"
                )?;
            }
        }
        writeln!(
            f,
            "\nThe relay to an xApp of FlexRIC over E42 and TCP, compared with the relay to an xApp of ferric over TCP"
        )?;
        writeln!(
            f,
            "  {:>5} {:>11} {:>11} {:>6} {:>8} {:>8}",
            "nodes", "E42 us/ind", "ferric us", "ratio", "p50 us", "p99 us"
        )?;
        for RelayRow { nodes, ric_cpu_us, e42, .. } in &self.relay {
            let E42Relay { cpu_us, ratio_to_native, p50_us, p99_us } = e42;
            writeln!(
                f,
                "  {nodes:>5} {cpu_us:>11.2} {ric_cpu_us:>11.2} {ratio_to_native:>6.2} {p50_us:>8.0} {p99_us:>8.0}"
            )?;
        }
        writeln!(f, "\nAn agent with MAC, RLC and PDCP reports each millisecond: CPU us per report")?;
        writeln!(
            f,
            "  {:>5} {:>5} {:>6} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7}",
            "codec", "UEs", "octets", "reports/s", "all", "gather", "model", "E2AP", "send"
        )?;
        for row in &self.agent {
            let AgentRow { encoding, ues, message_bytes, reports_per_s, .. } = row;
            let AgentRow { cpu_us, gather_us, model_us, e2ap_us, send_us, .. } = row;
            writeln!(
                f,
                "  {encoding:>5} {ues:>5} {message_bytes:>6} {reports_per_s:>9.0} {cpu_us:>7.2} {gather_us:>7.2} \
                 {model_us:>7.2} {e2ap_us:>7.2} {send_us:>7.2}"
            )?;
        }
        write!(f, "\n{}", self.ping)?;
        let Many { nodes, period_ms, indications, lost, cpu_share, late, rss_bytes, .. } = self.many;
        let mib = rss_bytes as f64 / f64::from(1 << 20);
        writeln!(
            f,
            "\n{nodes} nodes with a report of {} octets each {period_ms:.0} ms: {indications} indications, {lost} lost, \
             {:.0} % of a core, {mib:.1} MiB; sent in {late:.2} of the planned time",
            self.many.payload_bytes,
            cpu_share * 100.0
        )?;
        let Storm { nodes, set_up_ms, notified_ms, missing } = self.storm;
        writeln!(
            f,
            "{nodes} nodes disconnected and back at the same time: set up after {set_up_ms:.0} ms, an xApp notified of \
             all after {notified_ms:.0} ms, {missing} notifications missing"
        )?;
        writeln!(
            f,
            "\nThe relay with two event loops, compared with one. Half of the deliveries to two xApps cross between loops"
        )?;
        writeln!(
            f,
            "  {:>5} {:>5} {:>11} {:>5} {:>11} {:>11} {:>6} {:>8} {:>8} {:>8} {:>8}",
            "nodes",
            "xApps",
            "indications",
            "lost",
            "one us/ind",
            "two us/ind",
            "ratio",
            "one p50",
            "one p99",
            "two p50",
            "two p99"
        )?;
        for row in &self.loops {
            writeln!(
                f,
                "  {:>5} {:>5} {:>11} {:>5} {:>11.2} {:>11.2} {:>6.2} {:>8.0} {:>8.0} {:>8.0} {:>8.0}",
                row.nodes,
                row.xapps,
                row.indications,
                row.lost,
                row.one_cpu_us,
                row.two_cpu_us,
                row.ratio,
                row.one_p50_us,
                row.one_p99_us,
                row.two_p50_us,
                row.two_p99_us
            )?;
        }
        let mib = self.idle.rss_bytes as f64 / f64::from(1 << 20);
        writeln!(f, "\nRIC with {} idle nodes: {mib:.1} MiB resident", self.idle.nodes)
    }
}
