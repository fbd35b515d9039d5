//! The RIC as a relay: nodes that send, one xApp that reads; and the same frames through the mover.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use e2ap::{RicActionId, RicActionType, RicRequestId};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::link::{Address, Class, Config, Events, Interest, Link, Poll, Scratch, StreamId};
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};
use hdrhistogram::Histogram;

use crate::links::OwnPath;
use crate::load::{FUNCTION, Node, Template};
use crate::part::any_port;
use crate::process::{Process, RicProcess};
use crate::{Effort, LoopsRow, RelayRow, ShmRelay, latency_histogram, median};

/// As many octets as FlexRIC's MAC, RLC and PDCP statistics of 32 UEs have in an indication.
const PDU_OCTETS: usize = 4285;
/// Indications of a burst.
const BURST: usize = 3;
const PERIOD: Duration = Duration::from_millis(1);
/// What is sent before the measurement, so that buffers have grown and caches are warm.
const WARM_UP: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(10);

/// One run through one relay.
struct Run {
    received: u64,
    sent: u64,
    cpu_us: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Nodes, and when each sends in the period.
#[derive(Clone, Copy)]
struct Load {
    nodes: usize,
    /// From one node's burst to the next one's.
    apart: Duration,
}

impl Load {
    /// Nodes that have nothing to do with each other.
    fn of(nodes: usize) -> Self {
        Load { nodes, apart: PERIOD / 8 }
    }

    /// Nodes that share a clock, as base stations that are synchronized do.
    fn together(nodes: usize) -> Self {
        Load { nodes, apart: Duration::ZERO }
    }
}

pub(crate) fn measure(ferric: &Path, effort: Effort) -> anyhow::Result<Vec<RelayRow>> {
    let loads = [Load::of(1), Load::of(2), Load::of(4), Load::together(16)];
    loads.into_iter().map(|load| row(ferric, load, effort)).collect()
}

fn row(ferric: &Path, load: Load, effort: Effort) -> anyhow::Result<RelayRow> {
    let (mut rics, mut shms, mut spinning, mut movers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.repetitions {
        let through =
            |xapps_on| through_ric(ferric, load, RicShape { xapps_on, ..RicShape::default() }, effort.seconds);
        rics.push(through(XappsOn::Tcp)?);
        shms.push(through(XappsOn::Shm { spin: Duration::ZERO })?);
        spinning.push(through(XappsOn::Shm { spin: PERIOD })?);
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
        together: load.apart.is_zero(),
        period_ms: PERIOD.as_secs_f64() * 1e3,
        payload_bytes: PDU_OCTETS,
        indications: rics.iter().map(|r| r.received).sum(),
        lost: rics.iter().chain(&shms).chain(&spinning).map(|r| r.sent - r.received).sum(),
        ric_cpu_us,
        mover_cpu_us,
        ratio: ric_cpu_us / mover_cpu_us,
        p50_us: of(&rics, |r| r.p50_us),
        p99_us: of(&rics, |r| r.p99_us),
        mover_p50_us: of(&movers, |r| r.p50_us),
        mover_p99_us: of(&movers, |r| r.p99_us),
        shm: shm(&shms),
        shm_spins: shm(&spinning),
    })
}

/// How the RIC is set, and who takes from it.
#[derive(Clone, Copy)]
struct RicShape {
    loops: usize,
    /// Each takes everything.
    xapps: usize,
    xapps_on: XappsOn,
}

/// How xApps are reached.
#[derive(Clone, Copy, PartialEq)]
enum XappsOn {
    Tcp,
    /// They look for more for so long, before they sleep.
    Shm {
        spin: Duration,
    },
}

impl Default for RicShape {
    fn default() -> Self {
        RicShape { loops: 1, xapps: 1, xapps_on: XappsOn::Tcp }
    }
}

/// The RIC with one loop and with two, as a relay from the same nodes to one xApp; and to two, on two loops. Half as long a
/// repetition as of the relay: what is compared is the one with the other.
pub(crate) fn measure_loops(ferric: &Path, effort: Effort) -> anyhow::Result<Vec<LoopsRow>> {
    [(2, 1), (4, 1), (4, 2)].into_iter().map(|(nodes, xapps)| loops_row(ferric, nodes, xapps, effort)).collect()
}

fn loops_row(ferric: &Path, nodes: usize, xapps: usize, effort: Effort) -> anyhow::Result<LoopsRow> {
    let seconds = effort.seconds / 2.0;
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..effort.repetitions {
        one.push(through_ric(ferric, Load::of(nodes), RicShape { xapps, ..RicShape::default() }, seconds)?);
        two.push(through_ric(ferric, Load::of(nodes), RicShape { loops: 2, xapps, ..RicShape::default() }, seconds)?);
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

fn through_ric(ferric: &Path, load: Load, shape: RicShape, seconds: f64) -> anyhow::Result<Run> {
    let RicShape { loops, xapps, xapps_on } = shape;
    let (loops, path) = (loops.to_string(), OwnPath::new("xapps"));
    let (xapp_at, spin) = match xapps_on {
        XappsOn::Tcp => (any_port().to_string(), Duration::ZERO),
        XappsOn::Shm { spin } => (Address::Shm(path.0.clone()).to_string(), spin),
    };
    let RicProcess { process: ric, e2, xapp } = RicProcess::start(ferric, &["--xapp", &xapp_at, "--loops", &loops])?;

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
        let (xapp, ready, sender) = (xapp.clone(), ready.clone(), result.0.clone());
        sinks.push(thread::spawn(move || {
            let got = take_all(&xapp, spin, Got::new(clock, load.nodes), &ready)?;
            // whoever waits for it is there, or has failed
            let _ = sender.send(got);
            anyhow::Ok(())
        }));
    }
    let mut templates = Vec::new();
    for node in &mut sources {
        let (request_id, action) = node.admit()?;
        templates.push(Template::new(request_id, action, PDU_OCTETS)?);
    }
    for _ in 0..load.nodes * xapps {
        subscribed.recv_timeout(PATIENCE).map_err(|_| anyhow!("the xApp is not subscribed"))?;
    }
    let run =
        pump(&mut Sources { nodes: sources, templates, apart: load.apart, clock }, &ric, seconds, &result.1, xapps);
    for sink in sinks {
        sink.join().map_err(|_| anyhow!("the xApp failed"))??;
    }
    run
}

/// An xApp that subscribes to every node, and says so each time; until all nodes say that this was all.
fn take_all(ric: &Address, spin: Duration, mut got: Got, ready: &mpsc::Sender<()>) -> anyhow::Result<Got> {
    let link = Config { shm_spin: spin, ..Config::default() };
    let mut xapp = Xapp::connect(ric, "bench", XappConfig { reconnect: None, link, ..XappConfig::default() })?;
    while !got.ended() {
        xapp.poll(Some(Duration::from_millis(100)), |event, commands| match event {
            XappEvent::NodeUp(node) => {
                let (id, kind) = (RicActionId(1), RicActionType::Report);
                let actions = vec![Action { id, kind, definition: None, subsequent: None }];
                commands.subscribe(node.id, FUNCTION, SubscriptionSpec { event_trigger: vec![], actions });
            }
            XappEvent::Request(RequestEvent::Subscribed { .. }) => drop(ready.send(())),
            XappEvent::Indication(indication) => got.frame(indication.pdu),
            _ => {}
        })?;
    }
    Ok(got)
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
        let mut got = Got::new(clock, load.nodes);
        while !got.ended() {
            poll.wait(&mut events, Some(Duration::from_millis(100)))?;
            link.receive(&mut scratch, 256 * 1024, &mut |_, frame| got.frame(frame))?;
        }
        let _ = sender.send(got);
        Ok(())
    });
    let mut sources = Vec::new();
    let mut templates = Vec::new();
    for _ in 0..load.nodes {
        sources.push(Node::connect(&sources_at)?);
        let request_id = RicRequestId { requestor: 1021, instance: 7 };
        templates.push(Template::new(request_id, RicActionId(1), PDU_OCTETS)?);
    }
    thread::sleep(Duration::from_millis(50)); // the mover takes its sources in
    let run = pump(&mut Sources { nodes: sources, templates, apart: load.apart, clock }, &mover, seconds, &receiver, 1);
    sink.join().map_err(|_| anyhow!("the sink failed"))??;
    run
}

/// A stamp that says: that was all.
const END: u64 = u64::MAX;
/// A stamp of the warm-up.
const WARM: u64 = 0;

/// What arrived.
struct Got {
    clock: Instant,
    stamp_at: Option<usize>,
    latencies_ns: Histogram<u64>,
    /// Nodes that have not said yet that this was all.
    awaited: usize,
}

impl Got {
    fn new(clock: Instant, nodes: usize) -> Self {
        Got { clock, stamp_at: None, latencies_ns: latency_histogram(), awaited: nodes }
    }

    fn frame(&mut self, pdu: &[u8]) {
        // all templates have their stamp at one place
        let Some(at) = self.stamp_at.or_else(|| {
            let request_id = RicRequestId { requestor: 0, instance: 0 };
            let template = Template::new(request_id, RicActionId(1), pdu.len()).ok()?;
            self.stamp_at = Some(template.stamp_at());
            self.stamp_at
        }) else {
            return;
        };
        match Template::stamp_of(at, pdu) {
            Some(END) => self.awaited = self.awaited.saturating_sub(1),
            Some(WARM) | None => {}
            Some(sent) => self.latencies_ns += (self.clock.elapsed().as_nanos() as u64).saturating_sub(sent),
        }
    }

    fn ended(&self) -> bool {
        self.awaited == 0
    }
}

/// Nodes that send, and what.
struct Sources {
    nodes: Vec<Node>,
    templates: Vec<Template>,
    apart: Duration,
    clock: Instant,
}

/// Sends bursts at their times: warm-up, measurement, end; then collects what arrived.
fn pump(
    sources: &mut Sources,
    relay: &Process,
    seconds: f64,
    result: &mpsc::Receiver<Got>,
    sinks: usize,
) -> anyhow::Result<Run> {
    sources.send_for(WARM_UP, true)?;
    thread::sleep(Duration::from_millis(20));
    let before = relay.cpu_ns()?;
    let sent = sources.send_for(Duration::from_secs_f64(seconds), false)?;
    sources.end()?;
    let mut latencies_ns = latency_histogram();
    for _ in 0..sinks {
        let got = result.recv_timeout(PATIENCE).map_err(|_| anyhow!("the sink got no end"))?;
        latencies_ns += got.latencies_ns;
    }
    // all of them have arrived, however late
    let cpu_ns = relay.cpu_ns()? - before;
    let received = latencies_ns.len();
    ensure!(received > 0, "no indication arrived");
    let quantile_us = |quantile| latencies_ns.value_at_quantile(quantile) as f64 / 1e3;
    Ok(Run {
        received,
        sent: sent * sinks as u64,
        cpu_us: cpu_ns as f64 / 1e3 / received as f64,
        p50_us: quantile_us(0.5),
        p99_us: quantile_us(0.99),
    })
}

impl Sources {
    /// Sends bursts for `span`; returns how many indications were sent.
    fn send_for(&mut self, span: Duration, warm: bool) -> anyhow::Result<u64> {
        let Sources { nodes, templates, apart, clock } = self;
        let start = Instant::now();
        let mut sent = 0;
        let mut next = start;
        while start.elapsed() < span {
            for (at, (node, template)) in nodes.iter_mut().zip(templates.iter_mut()).enumerate() {
                wait_until(next + *apart * at as u32);
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

    /// Says that this was all.
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
