//! The RIC as a relay from nodes to one xApp, compared with the mover for the same frames.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use e2ap::e42::E42Version;
use e2ap::{RanFunctionItem, RanFunctionRevision, RicActionId, RicActionType, RicRequestId};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::link::{Address, Class, Config, Events, Interest, Link, Poll, Scratch, StreamId};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use hdrhistogram::Histogram;
use per::PrintableString;
use rmr::MessageType;

use crate::e42_xapp::{self, E42Answer, E42Xapp};
use crate::links::TemporaryPath;
use crate::load::{FUNCTION, Node, Template};
use crate::oran::{self, Platform};
use crate::part::any_port;
use crate::process::{Process, RicProcess};
use crate::rest::{Answers, Clients};
use crate::{E42Relay, Effort, LoopsRow, RelayRow, ShmRelay, latency_histogram, median};

/// The size of an indication with FlexRIC's MAC, RLC and PDCP statistics of 32 UEs.
const PDU_OCTETS: usize = 4285;
/// Indications of a burst.
const BURST: usize = 3;
const PERIOD: Duration = Duration::from_millis(1);
/// The time before the measurement in which buffers grow and caches warm up.
const WARM_UP: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(10);
/// What the xApp over E42 is built for.
const E42_VERSION: E42Version = E42Version::V2;

/// One run through one relay.
pub(crate) struct Run {
    pub received: u64,
    pub sent: u64,
    /// Of the whole process, per indication.
    pub cpu_us: f64,
    /// Of its first thread: of the RIC, the event loop.
    pub loop_cpu_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

/// The nodes, and their phases in the period.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub nodes: usize,
    /// The time between the bursts of two nodes.
    offset: Duration,
}

impl Load {
    /// Nodes that send at different times.
    pub fn staggered(nodes: usize) -> Self {
        Load { nodes, offset: PERIOD / 8 }
    }

    /// Nodes that send at the same time, as synchronized base stations do.
    pub fn synchronized(nodes: usize) -> Self {
        Load { nodes, offset: Duration::ZERO }
    }
}

pub(crate) fn measure(ferric: &Path, effort: Effort) -> anyhow::Result<Vec<RelayRow>> {
    let loads = [Load::staggered(1), Load::staggered(2), Load::staggered(4), Load::synchronized(16)];
    loads.into_iter().map(|load| row(ferric, load, effort)).collect()
}

fn row(ferric: &Path, load: Load, effort: Effort) -> anyhow::Result<RelayRow> {
    let (mut rics, mut shms, mut spinning, mut movers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut e42s = Vec::new();
    for _ in 0..effort.repetitions {
        let through = |xapps_on| through_ric(ferric, load, RicShape::with_xapp_on(xapps_on), effort.seconds);
        rics.push(through(XappsOn::Tcp)?);
        shms.push(through(XappsOn::Shm { spin: Duration::ZERO })?);
        spinning.push(through(XappsOn::Shm { spin: PERIOD })?);
        e42s.push(through(XappsOn::E42)?);
        movers.push(through_mover(load, effort.seconds)?);
    }
    let of = |runs: &[Run], value: fn(&Run) -> f64| median(runs.iter().map(value).collect());
    let (ric_cpu_us, mover_cpu_us) = (of(&rics, |r| r.cpu_us), of(&movers, |r| r.cpu_us));
    let shm = |runs: &[Run]| {
        let cpu_us = of(runs, |r| r.cpu_us);
        let (p50_us, p99_us) = (of(runs, |r| r.p50_us), of(runs, |r| r.p99_us));
        ShmRelay { cpu_us, ratio: cpu_us / mover_cpu_us, p50_us, p99_us }
    };
    Ok(RelayRow {
        nodes: load.nodes,
        together: load.offset.is_zero(),
        period_ms: PERIOD.as_secs_f64() * 1e3,
        payload_bytes: PDU_OCTETS,
        indications: rics.iter().map(|r| r.received).sum(),
        lost: rics.iter().chain(&shms).chain(&spinning).chain(&e42s).map(|r| r.sent - r.received).sum(),
        ric_cpu_us,
        mover_cpu_us,
        ratio: ric_cpu_us / mover_cpu_us,
        p50_us: of(&rics, |r| r.p50_us),
        p99_us: of(&rics, |r| r.p99_us),
        mover_p50_us: of(&movers, |r| r.p50_us),
        mover_p99_us: of(&movers, |r| r.p99_us),
        shm: shm(&shms),
        shm_spins: shm(&spinning),
        e42: E42Relay {
            cpu_us: of(&e42s, |r| r.cpu_us),
            ratio_to_native: of(&e42s, |r| r.cpu_us) / ric_cpu_us,
            p50_us: of(&e42s, |r| r.p50_us),
            p99_us: of(&e42s, |r| r.p99_us),
        },
    })
}

/// The RIC's event loops and its xApps.
#[derive(Clone, Copy)]
pub(crate) struct RicShape {
    loops: usize,
    /// Each xApp subscribes to all nodes.
    xapps: usize,
    xapps_on: XappsOn,
    rest: Rest,
}

/// The REST interface of the RIC.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rest {
    Off,
    /// It gets so many requests per second.
    Requests(u32),
    /// So many live pages are open.
    Pages(u16),
}

/// The links of the xApps.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum XappsOn {
    Tcp,
    /// The xApps poll for `spin` before they sleep.
    Shm {
        spin: Duration,
    },
    /// An xApp of FlexRIC, over TCP.
    E42,
    /// An xApp of the O-RAN reference platform, over RMR.
    Rmr,
}

impl RicShape {
    /// One event loop and one xApp over TCP.
    pub fn with_rest(rest: Rest) -> Self {
        RicShape { rest, ..RicShape::default() }
    }

    /// One event loop and one xApp.
    pub fn with_xapp_on(xapps_on: XappsOn) -> Self {
        RicShape { xapps_on, ..RicShape::default() }
    }
}

impl Default for RicShape {
    fn default() -> Self {
        RicShape { loops: 1, xapps: 1, xapps_on: XappsOn::Tcp, rest: Rest::Off }
    }
}

/// Compares the RIC with one event loop and with two, as a relay to one xApp and to two. A repetition is half as long as one of
/// the relay.
pub(crate) fn measure_loops(ferric: &Path, effort: Effort) -> anyhow::Result<Vec<LoopsRow>> {
    [(2, 1), (4, 1), (4, 2)].into_iter().map(|(nodes, xapps)| loops_row(ferric, nodes, xapps, effort)).collect()
}

fn loops_row(ferric: &Path, nodes: usize, xapps: usize, effort: Effort) -> anyhow::Result<LoopsRow> {
    let seconds = effort.seconds / 2.0;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..effort.repetitions {
        one.push(through_ric(ferric, Load::staggered(nodes), RicShape { xapps, ..RicShape::default() }, seconds)?);
        two.push(through_ric(
            ferric,
            Load::staggered(nodes),
            RicShape { loops: 2, xapps, ..RicShape::default() },
            seconds,
        )?);
    }
    let of = |runs: &[Run], value: fn(&Run) -> f64| median(runs.iter().map(value).collect());
    let (one_cpu_us, two_cpu_us) = (of(&one, |r| r.cpu_us), of(&two, |r| r.cpu_us));
    Ok(LoopsRow {
        nodes,
        xapps,
        indications: two.iter().map(|r| r.received).sum(),
        lost: two.iter().map(|r| r.sent - r.received).sum(),
        one_cpu_us,
        two_cpu_us,
        ratio: two_cpu_us / one_cpu_us,
        one_p50_us: of(&one, |r| r.p50_us),
        one_p99_us: of(&one, |r| r.p99_us),
        two_p50_us: of(&two, |r| r.p50_us),
        two_p99_us: of(&two, |r| r.p99_us),
    })
}

/// Moves indications through a RIC.
pub(crate) fn through_ric(ferric: &Path, load: Load, shape: RicShape, seconds: f64) -> anyhow::Result<Run> {
    through_ric_and_requests(ferric, load, shape, seconds).map(|(run, _)| run)
}

/// Moves indications through a RIC while its REST interface gets requests. Returns what became of both.
pub(crate) fn through_ric_and_requests(
    ferric: &Path,
    load: Load,
    shape: RicShape,
    seconds: f64,
) -> anyhow::Result<(Run, Option<Answers>)> {
    let RicShape { loops, xapps, xapps_on, rest } = shape;
    let (loops, path) = (loops.to_string(), TemporaryPath::new("xapps"));
    let (xapp_at, spin) = match xapps_on {
        XappsOn::Tcp | XappsOn::E42 | XappsOn::Rmr => (any_port().to_string(), Duration::ZERO),
        XappsOn::Shm { spin } => (Address::Shm(path.0.clone()).to_string(), spin),
    };
    let mut options = vec!["--xapp", &xapp_at, "--loops", &loops];
    if xapps_on == XappsOn::E42 {
        options.extend(["--e42", "e42+tcp://127.0.0.1:0"]);
    }
    if xapps_on == XappsOn::Rmr {
        options.extend(oran::OPTIONS);
    }
    if rest != Rest::Off {
        options.extend(["--rest", "127.0.0.1:0"]);
    }
    let started = RicProcess::start(ferric, &options)?;
    let platform = Platform::of(&started);
    let RicProcess { process: ric, e2, xapp, e42, rest: rest_at, .. } = started;

    let mut sources = Vec::new();
    for number in 0..load.nodes {
        let mut node = Node::connect(&e2.address)?;
        node.set_up(number as u32 + 1, 1)?;
        sources.push(node);
    }
    let (ready, subscribed) = mpsc::channel();
    let (result, clock) = (mpsc::channel(), Instant::now());
    let mut sinks = Vec::new();
    for _ in 0..xapps {
        let (xapp, e42, ready, sender) = (xapp.clone(), e42.clone(), ready.clone(), result.0.clone());
        let platform = platform.clone();
        sinks.push(thread::spawn(move || {
            let received = Received::new(clock, load.nodes);
            let received = match (e42, platform) {
                (Some(ric), _) => receive_all_over_e42(&ric, load.nodes, received, &ready)?,
                (None, Some(platform)) => receive_all_over_rmr(&platform, load.nodes, received, &ready)?,
                (None, None) => receive_all(&xapp, spin, received, &ready)?,
            };
            // the receiver exists, unless the measurement has failed
            let _ = sender.send(received);
            anyhow::Ok(())
        }));
    }
    let mut templates = Vec::new();
    for node in &mut sources {
        let (request_id, action) = node.admit()?;
        templates.push(Template::new(request_id, action, PDU_OCTETS)?);
    }
    for _ in 0..load.nodes * xapps {
        subscribed.recv_timeout(PATIENCE).map_err(|_| anyhow!("the xApp has no subscription to a node"))?;
    }
    let clients = match (rest, rest_at) {
        (Rest::Requests(per_second), Some(address)) if per_second > 0 => Some(Clients::start(address, per_second)),
        (Rest::Pages(pages), Some(address)) if pages > 0 => Some(Clients::open_pages(address, pages)),
        _ => None,
    };
    let run = run_load(
        &mut Sources { nodes: sources, templates, offset: load.offset, clock },
        &ric,
        seconds,
        &result.1,
        xapps,
    );
    let answers = clients.map(Clients::stop).transpose();
    for sink in sinks {
        sink.join().map_err(|_| anyhow!("the xApp panicked"))??;
    }
    Ok((run?, answers?))
}

/// Runs an xApp that subscribes to every node, until all nodes have sent their last indication. Reports each subscription to
/// `ready`.
fn receive_all(
    ric: &Address,
    spin: Duration,
    mut received: Received,
    ready: &mpsc::Sender<()>,
) -> anyhow::Result<Received> {
    let link = Config { shm_spin: spin, ..Config::default() };
    let mut xapp = Xapp::connect(ric, "bench", XappConfig { reconnect: None, link, ..XappConfig::default() })?;
    while !received.is_complete() {
        xapp.poll(Some(Duration::from_millis(100)), |event, commands| match event {
            XappEvent::NodeUp(node) => {
                let (id, kind) = (RicActionId(1), RicActionType::Report);
                let actions = vec![Action { id, kind, definition: None, subsequent: None }];
                commands.subscribe(node.id, FUNCTION, SubscriptionSpec { event_trigger: vec![], actions });
            }
            XappEvent::Request(RequestEvent::Subscribed { .. }) => drop(ready.send(())),
            XappEvent::Indication(indication) => received.frame(indication.pdu),
            _ => {}
        })?;
    }
    Ok(received)
}

/// As [`receive_all`], as an xApp of FlexRIC.
fn receive_all_over_e42(
    ric: &Address,
    nodes: usize,
    mut received: Received,
    ready: &mpsc::Sender<()>,
) -> anyhow::Result<Received> {
    let function = RanFunctionItem {
        id: FUNCTION,
        definition: b"definition".into(),
        revision: RanFunctionRevision(1),
        oid: Some(PrintableString::literal("1.3.6.1.4.1.32473.1.147")),
    };
    let (mut xapp, listed) = E42Xapp::connect(ric, E42_VERSION, &Config::default(), function)?;
    ensure!(listed.len() == nodes, "the RIC lists {} nodes in place of {nodes}", listed.len());
    for (instance, node) in listed.into_iter().enumerate() {
        let subscription = e42_xapp::Subscription { function: FUNCTION, event_trigger: b"trigger", action: None };
        xapp.subscribe(node.id, RicRequestId { requestor: 1, instance: instance as u16 }, subscription)?;
    }
    let mut subscribed = 0;
    while !received.is_complete() {
        xapp.receive(Duration::from_millis(100), |pdu| {
            if subscribed < nodes && matches!(e42_xapp::answer(pdu, E42_VERSION), Some(E42Answer::Subscribed(_))) {
                subscribed += 1;
                // the receiver exists, unless the measurement has failed
                let _ = ready.send(());
            } else {
                received.frame(pdu);
            }
        })?;
    }
    Ok(received)
}

/// As [`receive_all`], as an xApp of the O-RAN reference platform.
fn receive_all_over_rmr(
    platform: &Platform,
    nodes: usize,
    mut received: Received,
    ready: &mpsc::Sender<()>,
) -> anyhow::Result<Received> {
    let names = platform.nodes()?;
    ensure!(names.len() == nodes, "the RIC lists {} nodes in place of {nodes}", names.len());
    let mut links = platform.links()?;
    let client = platform.client()?;
    let ready = ready.clone();
    let outcomes = platform.outcomes(move |outcome| {
        if outcome.error.is_empty() {
            // the receiver exists, unless the measurement has failed
            let _ = ready.send(());
        }
    })?;
    for (number, node) in names.iter().enumerate() {
        let trigger = &b"trigger"[..];
        let wanted = oran::Wanted { number: number as u16, node, function: FUNCTION, event_trigger: trigger };
        oran::subscribe(&client, wanted, &outcomes, links.port())?;
    }
    while !received.is_complete() {
        links.receive(Duration::from_millis(100), |message| {
            if message.kind == MessageType::INDICATION {
                received.frame(message.payload);
            }
        })?;
    }
    Ok(received)
}

fn through_mover(load: Load, seconds: f64) -> anyhow::Result<Run> {
    let mover = Process::start_self(&["mover"], 2)?;
    let (sources_at, sink_at): (Address, Address) = (mover.value("in")?.parse()?, mover.value("out")?.parse()?);
    let clock = Instant::now();
    let mut link = Link::connect(&sink_at, &Config::default())?;
    let (sender, receiver) = mpsc::channel();
    let sink = thread::spawn(move || -> anyhow::Result<()> {
        let poll = Poll::new()?;
        poll.add(&link, 0, Interest::READ)?;
        let (mut events, mut scratch) = (Events::new(), Scratch::new());
        let mut received = Received::new(clock, load.nodes);
        while !received.is_complete() {
            poll.wait(&mut events, Some(Duration::from_millis(100)))?;
            link.receive(&mut scratch, 256 * 1024, &mut |_, frame| received.frame(frame))?;
        }
        let _ = sender.send(received);
        Ok(())
    });
    let mut sources = Vec::new();
    let mut templates = Vec::new();
    for _ in 0..load.nodes {
        sources.push(Node::connect(&sources_at)?);
        let request_id = RicRequestId { requestor: 1021, instance: 7 };
        templates.push(Template::new(request_id, RicActionId(1), PDU_OCTETS)?);
    }
    thread::sleep(Duration::from_millis(50)); // the mover accepts its sources
    let run =
        run_load(&mut Sources { nodes: sources, templates, offset: load.offset, clock }, &mover, seconds, &receiver, 1);
    sink.join().map_err(|_| anyhow!("the sink panicked"))??;
    run
}

/// The stamp of a node's last indication.
const END: u64 = u64::MAX;
/// The stamp of the warm-up.
const WARM: u64 = 0;

/// The indications that have arrived.
struct Received {
    clock: Instant,
    stamp_at: Option<usize>,
    latencies_ns: Histogram<u64>,
    /// Nodes whose last indication has not arrived.
    active_nodes: usize,
}

impl Received {
    fn new(clock: Instant, nodes: usize) -> Self {
        Received { clock, stamp_at: None, latencies_ns: latency_histogram(), active_nodes: nodes }
    }

    fn frame(&mut self, pdu: &[u8]) {
        // the stamp has the same offset in all templates
        let Some(at) = self.stamp_at.or_else(|| {
            let request_id = RicRequestId { requestor: 0, instance: 0 };
            let template = Template::new(request_id, RicActionId(1), pdu.len()).ok()?;
            self.stamp_at = Some(template.stamp_at());
            self.stamp_at
        }) else {
            return;
        };
        match Template::stamp_of(at, pdu) {
            Some(END) => self.active_nodes = self.active_nodes.saturating_sub(1),
            Some(WARM) | None => {}
            Some(sent) => self.latencies_ns += (self.clock.elapsed().as_nanos() as u64).saturating_sub(sent),
        }
    }

    fn is_complete(&self) -> bool {
        self.active_nodes == 0
    }
}

/// The sending nodes and their indications.
struct Sources {
    nodes: Vec<Node>,
    templates: Vec<Template>,
    offset: Duration,
    clock: Instant,
}

/// Sends the bursts of the warm-up and the measurement, then collects what has arrived.
fn run_load(
    sources: &mut Sources,
    relay: &Process,
    seconds: f64,
    result: &mpsc::Receiver<Received>,
    sinks: usize,
) -> anyhow::Result<Run> {
    sources.send_for(WARM_UP, true)?;
    thread::sleep(Duration::from_millis(20));
    let (before, loop_before) = (relay.cpu_ns()?, relay.first_thread_cpu_ns()?);
    let sent = sources.send_for(Duration::from_secs_f64(seconds), false)?;
    sources.end()?;
    let mut latencies_ns = latency_histogram();
    for _ in 0..sinks {
        let received = result.recv_timeout(PATIENCE).map_err(|_| anyhow!("the last indication did not arrive"))?;
        latencies_ns += received.latencies_ns;
    }
    // all indications have arrived
    let (cpu_ns, loop_cpu_ns) = (relay.cpu_ns()? - before, relay.first_thread_cpu_ns()? - loop_before);
    let received = latencies_ns.len();
    ensure!(received > 0, "no indication arrived");
    let quantile_us = |quantile| latencies_ns.value_at_quantile(quantile) as f64 / 1e3;
    Ok(Run {
        received,
        sent: sent * sinks as u64,
        cpu_us: cpu_ns as f64 / 1e3 / received as f64,
        loop_cpu_us: loop_cpu_ns as f64 / 1e3 / received as f64,
        p50_us: quantile_us(0.5),
        p99_us: quantile_us(0.99),
    })
}

impl Sources {
    /// Sends bursts for `span`; returns how many indications were sent.
    fn send_for(&mut self, span: Duration, warm: bool) -> anyhow::Result<u64> {
        let Sources { nodes, templates, offset, clock } = self;
        let start = Instant::now();
        let mut sent = 0;
        let mut next = start;
        while start.elapsed() < span {
            for (at, (node, template)) in nodes.iter_mut().zip(templates.iter_mut()).enumerate() {
                wait_until(next + *offset * at as u32);
                for _ in 0..BURST {
                    template.stamp(if warm { WARM } else { clock.elapsed().as_nanos() as u64 });
                    node.link.send(StreamId(0), &[&template.pdu], Class::Keep)?;
                    sent += 1;
                }
                node.flush()?;
            }
            next += PERIOD;
        }
        Ok(sent)
    }

    /// Sends the last indication of each node.
    fn end(&mut self) -> anyhow::Result<()> {
        for (node, template) in self.nodes.iter_mut().zip(&mut self.templates) {
            template.stamp(END);
            node.link.send(StreamId(0), &[&template.pdu], Class::Keep)?;
            node.flush()?;
        }
        Ok(())
    }
}

fn wait_until(moment: Instant) {
    let left = moment.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        thread::sleep(left);
    }
}
