//! What was measured, as a table and as JSON that other programs can rely on.

use std::fmt;

use serde::Serialize;

use crate::PingReport;

/// Everything that `ferric bench e2` measures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Nanoseconds of the codecs.
    pub codec: Codec,
    /// The RIC as a relay, a row for each number of nodes.
    pub relay: Vec<RelayRow>,
    /// An agent at 1 kHz, a row for each number of UEs and each encoding.
    pub agent: Vec<AgentRow>,
    /// Round trips of a ping, over each kind of link.
    pub ping: PingReport,
    /// Very many nodes that report.
    pub many: Many,
    /// Nodes that come back all at once.
    pub storm: Storm,
    /// The same with two event loops, beside one.
    pub loops: Vec<LoopsRow>,
    /// Memory of the RIC with idle nodes.
    pub idle: Idle,
    /// Where it was measured.
    pub host: Host,
}

/// Nanoseconds of the codecs: the minimum of many batches, since they do no I/O.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Codec {
    /// Reading an indication's ids and finding its payload of 1500 octets.
    pub peek_1500_ns: f64,
    /// Decoding it in full.
    pub decode_1500_ns: f64,
    /// Encoding it into a buffer that is used again.
    pub encode_1500_ns: f64,
    /// Allocations of a full decode and encode.
    pub decode_allocs: u64,
    /// A KPM v3 indication, format 3, 32 UEs with 8 measurements each: decoding, and looking at every value.
    pub kpm_f3_32x8_decode_ns: f64,
    /// The same, where the lists of measurements differ from UE to UE.
    pub kpm_f3_32x8_distinct_decode_ns: f64,
}

/// The RIC as a relay from nodes to one xApp, beside a program that only moves the same frames. Medians of
/// repetitions that alternate between the two.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RelayRow {
    /// Nodes that send.
    pub nodes: usize,
    /// Whether they send at the same time, as synchronized base stations do; else each has a time of its own.
    pub together: bool,
    /// Milliseconds from burst to burst of each node; a burst is three indications.
    pub period_ms: f64,
    /// Octets of an indication's PDU.
    pub payload_bytes: usize,
    /// Indications that the xApp got from the RIC, in all repetitions.
    pub indications: u64,
    /// Indications that it did not get.
    pub lost: u64,
    /// Processor time of the RIC for an indication.
    pub ric_cpu_us: f64,
    /// Processor time of the mover for a frame.
    pub mover_cpu_us: f64,
    /// The one divided by the other.
    pub ratio: f64,
    /// Median time from a node's write to the xApp's read.
    pub p50_us: f64,
    /// The same for the slowest in a hundred.
    pub p99_us: f64,
    /// Median time through the mover.
    pub mover_p50_us: f64,
    /// The same for the slowest in a hundred.
    pub mover_p99_us: f64,
    /// Where the xApp reads from shared memory, and sleeps when there is nothing; the nodes' links are as before.
    pub shm: ShmRelay,
    /// The same where it looks for more, for a period, before it sleeps: nobody has to wake it.
    pub shm_spins: ShmRelay,
}

/// The relay to an xApp on shared memory.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ShmRelay {
    /// Processor time of the RIC for an indication.
    pub cpu_us: f64,
    /// That divided by the mover's over TCP.
    pub ratio: f64,
    /// Median time from a node's write to the xApp's read.
    pub p50_us: f64,
    /// The same for the slowest in a hundred.
    pub p99_us: f64,
}

/// An agent whose MAC, RLC and PDCP functions report each millisecond, over loopback TCP: processor time of its process for a
/// report, broken down. Gathering and encoding are medians of what they took where they run, in the mean of the three
/// models; sending is what is left: the link, the system's calls and wake-ups.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AgentRow {
    /// UEs, with one bearer each.
    pub ues: u16,
    /// Of E2AP and of the models.
    pub encoding: &'static str,
    /// Octets of a model's message, in the mean.
    pub message_bytes: f64,
    /// Reports that came a second.
    pub reports_per_s: f64,
    /// All of it.
    pub cpu_us: f64,
    /// Asking the base station.
    pub gather_us: f64,
    /// Encoding the model.
    pub model_us: f64,
    /// Encoding E2AP, and copying into the link's outbox.
    pub e2ap_us: f64,
    /// The rest.
    pub send_us: f64,
}

/// Very many nodes that report to one xApp through one RIC, which has one loop.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Many {
    /// How many.
    pub nodes: usize,
    /// Milliseconds from report to report of each.
    pub period_ms: f64,
    /// Octets of an indication's PDU.
    pub payload_bytes: usize,
    /// Indications that the xApp got.
    pub indications: u64,
    /// Indications that it did not get.
    pub lost: u64,
    /// Processor time of the RIC in real time: 1 is a whole core.
    pub cpu_share: f64,
    /// Time that the sending took, in what it should have taken: above 1.05 the machine was too slow for the load itself.
    pub late: f64,
    /// Resident memory of the RIC's process at the end.
    pub rss_bytes: u64,
}

/// Nodes that are all cut off and all back at once.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Storm {
    /// How many.
    pub nodes: usize,
    /// Milliseconds from the cut until the last one had its setup response.
    pub set_up_ms: f64,
    /// Milliseconds until an xApp had been told of every loss and every return.
    pub told_ms: f64,
    /// Losses and returns that it was not told of.
    pub missing: usize,
}

/// The RIC with two event loops as a relay from nodes to one xApp, beside the RIC with one: the load of [`RelayRow`], and
/// links where `ferric ric --loops 2` puts them. Medians of repetitions that alternate between the two.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LoopsRow {
    /// Nodes that send.
    pub nodes: usize,
    /// xApps, each of which takes everything. Two of them live on two loops, so that half of what is delivered crosses.
    pub xapps: usize,
    /// Indications that the xApps got through two loops, in all repetitions.
    pub indications: u64,
    /// Indications that they did not get.
    pub lost: u64,
    /// Processor time for an indication with one loop, delivered to one xApp.
    pub one_cpu_us: f64,
    /// Processor time for an indication with two.
    pub two_cpu_us: f64,
    /// The latter divided by the former.
    pub ratio: f64,
    /// Median time from a node's write to the xApp's read with one loop.
    pub one_p50_us: f64,
    /// The same for the slowest in a hundred.
    pub one_p99_us: f64,
    /// Median time with two loops.
    pub two_p50_us: f64,
    /// The same for the slowest in a hundred.
    pub two_p99_us: f64,
}

/// Memory of the RIC with nodes that have set up and are silent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Idle {
    /// How many nodes, with two functions each.
    pub nodes: usize,
    /// Resident memory of the RIC's process.
    pub rss_bytes: u64,
}

/// Where it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The processor's name.
    pub cpu: String,
    /// How many of them there are for us.
    pub cores: usize,
    /// The operating system's release.
    pub kernel: String,
}

impl Host {
    pub(crate) fn here() -> Self {
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
        // numbers and texts only: nothing in it can fail to be JSON
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
        writeln!(f, "  encode into a used buffer     {encode_1500_ns:8.1} ns")?;
        writeln!(f, "  allocations, decode + encode  {decode_allocs:8}")?;
        writeln!(f, "KPM v3.00 indication, format 3, 32 UEs x 8 measurements, every value visited")?;
        writeln!(f, "  one list of measurements      {:8.0} ns", self.codec.kpm_f3_32x8_decode_ns)?;
        writeln!(f, "  a list of its own for each UE {:8.0} ns", self.codec.kpm_f3_32x8_distinct_decode_ns)?;
        writeln!(f, "\nRelay from nodes to one xApp over loopback TCP, beside a bare mover of the same frames")?;
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
            "\nThe same relay where the xApp reads from shared memory, and the nodes write to TCP as before: the xApp"
        )?;
        writeln!(f, "sleeps between bursts, and has to be woken, or looks for more on a processor of its own")?;
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
        writeln!(f, "\nAn agent with MAC, RLC and PDCP reports each millisecond: CPU us a report")?;
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
             {:.0} % of a core, {mib:.1} MiB; sent in {late:.2} of the time",
            self.many.payload_bytes,
            cpu_share * 100.0
        )?;
        let Storm { nodes, set_up_ms, told_ms, missing } = self.storm;
        writeln!(
            f,
            "{nodes} nodes cut off and back at once: set up after {set_up_ms:.0} ms, an xApp told of all after \
             {told_ms:.0} ms, of {missing} never"
        )?;
        writeln!(
            f,
            "\nThe same relay with two event loops, beside one. Half of what two xApps get crosses from loop to loop"
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
