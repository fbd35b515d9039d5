//! REST requests to a RIC that relays indications, and the relay beside them.

use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::relay::{Load, Rest, RicShape, Run, through_ric_and_requests};
use crate::{Host, latency_histogram, median};

/// The nodes that report meanwhile.
const NODES: usize = 4;
/// The connections that the requests are divided among.
const CONNECTIONS: u32 = 4;
/// What is requested, in turn: each is answered by the RIC's event loop.
const PATHS: [&str; 4] = ["/v1/nodes", "/v1/xapps", "/v1/subscriptions", "/metrics"];
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the readers of a page look whether something is due, or the measurement is over.
const POLL: Duration = Duration::from_millis(50);
/// What an open live page reads on its first view, each with its period in milliseconds (crates/ric/ric/page/src/views/topology.tsx).
const PAGE_READS: [(&str, u64); 4] =
    [("/v1/nodes", 1000), ("/v1/base-stations", 1000), ("/v1/ues", 2000), ("/v1/cells", 1000)];
/// The stream that it has open; the page does so by WebSocket, here it is Server-Sent Events.
const PAGE_STREAM: &str = "/v1/events?topics=nodes,ues,controls,log";

/// The result of `ferric bench rest`.
#[derive(Clone, Debug, Serialize)]
pub struct RestReport {
    /// Requests per second that were to be sent.
    pub requests_per_s: u32,
    /// Answers with status 200, in all repetitions.
    pub answers: u64,
    /// Answers with another status.
    pub failures: u64,
    /// Median time from the planned instant of a request to its complete answer.
    pub p50_us: f64,
    /// The 99th percentile of it.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
    /// The relay of a RIC without REST.
    pub without_rest: RelayBesideRest,
    /// The relay of a RIC whose REST interface gets no request.
    pub idle_rest: RelayBesideRest,
    /// The relay beside the requests.
    pub beside_requests: RelayBesideRest,
    /// Live pages that were open in the last case.
    pub pages: u16,
    /// The relay beside them.
    pub beside_pages: RelayBesideRest,
    /// The p99 of the relay beside the pages divided by that beside an idle REST interface: the median of the ratios of each repetition.
    pub pages_p99_ratio: f64,
    /// Indications lost in all of them.
    pub lost: u64,
    /// The host of the measurement.
    pub host: Host,
}

/// The relay in one of the cases: medians of the repetitions, which alternate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RelayBesideRest {
    /// Indications that the xApp received, in all repetitions.
    pub indications: u64,
    /// Processor time of the RIC's event loop per indication. It includes what requests cost there.
    pub loop_cpu_us: f64,
    /// `loop_cpu_us` divided by that without REST.
    pub loop_ratio: f64,
    /// Processor time of all the RIC's threads per indication.
    pub cpu_us: f64,
    /// The 99th percentile of the time from a node's write to the xApp's read.
    pub p99_us: f64,
}

/// Measures REST and the relay beside each other with the program `ferric`.
///
/// # Errors
/// If a process cannot be started or does not answer.
pub fn rest(
    ferric: &Path,
    requests_per_s: u32,
    pages: u16,
    repetitions: usize,
    seconds: f64,
) -> anyhow::Result<RestReport> {
    let cases = [Rest::Off, Rest::Requests(0), Rest::Pages(pages), Rest::Requests(requests_per_s)];
    let mut runs = [const { Vec::new() }; 4];
    let mut all = Answers::new();
    let mut failures = 0;
    for repetition in 0..repetitions {
        // the page's case is before and after the idle one in turn, so that a drift of the host favours neither
        let mut order = [0, 1, 2, 3];
        if repetition % 2 == 1 {
            order.swap(1, 2);
        }
        for case in order {
            let shape = RicShape::with_rest(cases[case]);
            let (run, answers) = through_ric_and_requests(ferric, Load::staggered(NODES), shape, seconds)?;
            runs[case].push(run);
            match (answers, cases[case]) {
                // their answers come when they come: the latencies are those of planned requests
                (Some(answers), Rest::Pages(_)) => failures += answers.failures,
                (Some(answers), _) => all.add(&answers),
                (None, _) => {}
            }
        }
    }
    all.failures += failures;
    let ratios = runs[2].iter().zip(&runs[1]).map(|(pages, idle)| pages.p99_us / idle.p99_us);
    let pages_p99_ratio = median(ratios.collect());
    ensure!(!all.latencies_ns.is_empty(), "no request was answered");
    let of = |runs: &[Run], value: fn(&Run) -> f64| median(runs.iter().map(value).collect());
    let without_us = of(&runs[0], |run| run.loop_cpu_us);
    let relay = |runs: &[Run]| RelayBesideRest {
        indications: runs.iter().map(|run| run.received).sum(),
        loop_cpu_us: of(runs, |run| run.loop_cpu_us),
        loop_ratio: of(runs, |run| run.loop_cpu_us) / without_us,
        cpu_us: of(runs, |run| run.cpu_us),
        p99_us: of(runs, |run| run.p99_us),
    };
    let us = |ns: u64| ns as f64 / 1e3;
    Ok(RestReport {
        requests_per_s,
        answers: all.latencies_ns.len(),
        failures: all.failures,
        p50_us: us(all.latencies_ns.value_at_quantile(0.5)),
        p99_us: us(all.latencies_ns.value_at_quantile(0.99)),
        max_us: us(all.latencies_ns.max()),
        without_rest: relay(&runs[0]),
        idle_rest: relay(&runs[1]),
        beside_requests: relay(&runs[3]),
        pages,
        beside_pages: relay(&runs[2]),
        pages_p99_ratio,
        lost: runs.iter().flatten().map(|run| run.sent - run.received).sum(),
        host: Host::current(),
    })
}

impl fmt::Display for RestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} cores, Linux {})\n", self.host.cpu, self.host.cores, self.host.kernel)?;
        writeln!(f, "REST, {} requests/s on {CONNECTIONS} connections beside {NODES} nodes", self.requests_per_s)?;
        writeln!(
            f,
            "  answers {}, failures {}, p50 {:.0} us, p99 {:.0} us, longest {:.0} us",
            self.answers, self.failures, self.p50_us, self.p99_us, self.max_us
        )?;
        writeln!(f, "\nThe relay beside it; {} indications were lost", self.lost)?;
        writeln!(
            f,
            "  {:<20} {:>11} {:>11} {:>6} {:>12} {:>8}",
            "REST", "indications", "loop us/ind", "ratio", "RIC us/ind", "p99 us"
        )?;
        let pages = format!("{} pages", self.pages);
        let rows = [
            ("none", self.without_rest),
            ("idle", self.idle_rest),
            (pages.as_str(), self.beside_pages),
            ("requests", self.beside_requests),
        ];
        for (name, relay) in rows {
            let RelayBesideRest { indications, loop_cpu_us, loop_ratio, cpu_us, p99_us } = relay;
            writeln!(
                f,
                "  {name:<20} {indications:>11} {loop_cpu_us:>11.2} {loop_ratio:>6.2} {cpu_us:>12.2} {p99_us:>8.0}"
            )?;
        }
        writeln!(f, "  p99 beside the pages: {:.2} times that beside an idle interface", self.pages_p99_ratio)
    }
}

/// What became of requests.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    latencies_ns: Histogram<u64>,
    failures: u64,
}

impl Answers {
    fn new() -> Self {
        Answers { latencies_ns: latency_histogram(), failures: 0 }
    }

    fn add(&mut self, other: &Answers) {
        self.latencies_ns += &other.latencies_ns;
        self.failures += other.failures;
    }
}

/// Clients that send requests at planned instants: one that comes late because the answer before it was late counts from its
/// planned instant.
pub(crate) struct Clients {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<anyhow::Result<Answers>>>,
}

impl Clients {
    pub fn start(address: SocketAddr, per_second: u32) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let period = Duration::from_secs(1) / per_second;
        let begin = Instant::now();
        let threads = (0..CONNECTIONS).map(|connection| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || request_all(address, begin + connection * period, CONNECTIONS * period, &is_over))
        });
        let threads = threads.collect();
        Clients { is_over, threads }
    }

    /// Opens live pages: each has a stream of events, and reads what its first view shows.
    pub fn open_pages(address: SocketAddr, pages: u16) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for page in 0..u32::from(pages) {
            // pages are opened at different times
            let begin = Instant::now() + page * Duration::from_millis(PAGE_READS[0].1) / u32::from(pages);
            let (reader, stream) = (Arc::clone(&is_over), Arc::clone(&is_over));
            threads.push(thread::spawn(move || read_page(address, begin, &reader)));
            threads.push(thread::spawn(move || read_events(address, &stream)));
        }
        Clients { is_over, threads }
    }

    pub fn stop(self) -> anyhow::Result<Answers> {
        self.is_over.store(true, Ordering::Release);
        let mut all = Answers::new();
        for thread in self.threads {
            all.add(&thread.join().map_err(|_| anyhow!("a client panicked"))??);
        }
        Ok(all)
    }
}

fn request_all(address: SocketAddr, begin: Instant, period: Duration, is_over: &AtomicBool) -> anyhow::Result<Answers> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut stream = BufReader::new(stream);
    let mut answers = Answers::new();
    let mut planned = begin;
    let requests = PATHS.map(|path| format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n"));
    for request in requests.iter().cycle() {
        if is_over.load(Ordering::Acquire) {
            break;
        }
        thread::sleep(planned.saturating_duration_since(Instant::now()));
        stream.get_mut().write_all(request.as_bytes())?;
        if read_answer(&mut stream)? == 200 {
            answers.latencies_ns += planned.elapsed().as_nanos() as u64;
        } else {
            answers.failures += 1;
        }
        planned += period;
    }
    Ok(answers)
}

/// Reads the resources of a page's view until the end, each in its period.
fn read_page(address: SocketAddr, begin: Instant, is_over: &AtomicBool) -> anyhow::Result<Answers> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut stream = BufReader::new(stream);
    let mut answers = Answers::new();
    let mut due = [begin; PAGE_READS.len()];
    while !is_over.load(Ordering::Acquire) {
        let now = Instant::now();
        for ((path, period_ms), due) in PAGE_READS.iter().zip(&mut due).filter(|(_, due)| **due <= now) {
            write!(stream.get_mut(), "GET {path} HTTP/1.1\r\nhost: {address}\r\ncache-control: max-age=1\r\n\r\n")?;
            answers.failures += u64::from(read_answer(&mut stream)? != 200);
            *due = Instant::now() + Duration::from_millis(*period_ms);
        }
        thread::sleep(POLL);
    }
    Ok(answers)
}

/// Reads a page's stream of events until the end.
fn read_events(address: SocketAddr, is_over: &AtomicBool) -> anyhow::Result<Answers> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(POLL))?;
    write!(stream, "GET {PAGE_STREAM} HTTP/1.1\r\nhost: {address}\r\naccept: text/event-stream\r\n\r\n")?;
    let (mut octets, mut head) = ([0; 16384], Vec::new());
    while !is_over.load(Ordering::Acquire) {
        match stream.read(&mut octets) {
            Ok(0) => return Err(anyhow!("the RIC has ended the stream of events")),
            Ok(count) if head.len() < 12 => head.extend_from_slice(&octets[..count.min(12)]),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    ensure!(head.is_empty() || head.starts_with(b"HTTP/1.1 200"), "the stream of events was refused");
    Ok(Answers::new())
}

/// Reads an answer. Returns its status.
fn read_answer(stream: &mut BufReader<TcpStream>) -> anyhow::Result<u16> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).context("the answer is no HTTP")?;
    let mut length = 0;
    loop {
        line.clear();
        ensure!(stream.read_line(&mut line)? > 0, "the RIC has closed the connection");
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    std::io::copy(&mut stream.take(length), &mut std::io::sink())?;
    Ok(status)
}
