//! `ferric xapp tc`: the traffic control xApp of the FlexRIC paper, section 6.1.1.

mod flow;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use e2sm::kpm::EveryUe;
use e2sm::tc::{ControlMessage, FiveTuple};
use ferric::e2::Time;
use ferric::e2::topology::{UeModel, UeReference};
use ferric::link::Address;
use ferric::xapp::{Commands, XappConfig, XappEvent};
use program::rest_access::{self, AccessArgs};
use tracing::info;
use traffic::guard::WaitStatistics;
use traffic::record::Record;
use traffic::{
    FlowGuard, GuardConfig, LinkEvent, RedisFiles, RedisReader, RedisSource, RedisUrl, TcClient, TrafficLink,
};

use super::connect;
use super::ues::Ues;
use crate::redis::RedisArgs;

/// The longest wait for events before the application runs again.
const PATIENCE: Duration = Duration::from_millis(50);
/// What nodes are asked for the names of their UEs.
const MODELS: &[UeModel] = &[UeModel::Rrc, UeModel::Kpm];
/// The longest time to remove what this run has set.
const RESTORE: Duration = Duration::from_secs(10);
/// The time without a new node after which `--undo` expects no more nodes.
const SETTLED: Duration = Duration::from_secs(1);

/// Protect a flow from the queueing delay of other flows.
///
/// Watches the RLC and TC statistics of each node. When packets of a bearer wait longer than the limit, the xApp adds a second
/// FIFO queue, a filter that sends the flow there, and the 5G-BDP pacer. It keeps what is already set and completes it. Each
/// action prints a line `node=… done: …`; a last line `node=… before_p50_ms=… after_p50_ms=…` shows the delays. Fails if a
/// node refuses a control.
#[derive(clap::Args)]
#[command(mut_arg("rest_ca", |arg| arg.requires("rest")), mut_arg("rest_token", |arg| arg.requires("rest")))]
pub struct Args {
    #[command(flatten)]
    flow: flow::FlowArgs,
    /// Longest queueing delay of the flow's packets in ms.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    limit_ms: u32,
    /// Only bearers of this UE, by any name that `ferric xapp kpm` shows: amf:N (or N), rnti:0xN@NODE, ip:ADDRESS, ... Its
    /// address is the flow's destination, unless the flow has an address. [default: the bearer with the longest delay]
    #[arg(long, value_name = "UE", conflicts_with_all = ["rnti", "undo"])]
    ue: Option<UeReference>,
    /// Only bearers of the UE with this C-RNTI, such as 0x4601, at every node.
    #[arg(long, value_name = "RNTI", value_parser = rnti)]
    rnti: Option<u32>,
    /// Only this node, by the name that the RIC prints.
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// The RIC's address for xApps.
    #[arg(long, value_name = "URL", env = "FERRIC_RIC", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    ric: Address,
    /// Reporting period in ms over the RIC's link. Over Redis, the RIC's configuration determines it.
    #[arg(long, value_name = "P", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    period_ms: u32,
    /// End after N seconds; with --undo, wait N seconds for nodes. [default: run until Ctrl-C; with --undo: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Remove the queue, the filter and the pacer, whichever program has set them, and end.
    #[arg(long, conflicts_with = "restore")]
    undo: bool,
    /// At the end, remove what this run has set.
    #[arg(long)]
    restore: bool,
    /// Read statistics from this Redis server, to which `ferric ric --redis` forwards them, instead of the RIC's link.
    #[arg(long, help_heading = crate::redis::HEADING, value_name = "URL")]
    redis: Option<RedisUrl>,
    #[command(flatten)]
    redis_access: RedisArgs,
    /// Redis channel type: pubsub or stream.
    #[arg(long, value_name = "TYPE", default_value_t = RedisSource::PubSub, requires = "redis")]
    from: RedisSource,
    /// Name prefix of the Redis channels and streams.
    #[arg(long, value_name = "NAME", default_value = traffic::DEFAULT_PREFIX, requires = "redis")]
    prefix: String,
    /// Send controls to this REST address of `ferric ric --rest`, instead of the RIC's link.
    #[arg(long, help_heading = rest_access::HEADING, value_name = "URL", value_parser = rest_access::url)]
    rest: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
}

fn rnti(text: &str) -> Result<u32, &'static str> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    value.filter(|rnti| *rnti <= 0xFFFF).ok_or("not a C-RNTI: a number up to 0xffff")
}

pub fn run(args: &Args, config: XappConfig) -> anyhow::Result<()> {
    let flow = args.flow.flow(args.ue.is_some())?;
    let limit = Duration::from_millis(args.limit_ms.into());
    let guard = GuardConfig { rnti: args.rnti, ..GuardConfig::new(flow, limit) };
    let files = args.redis_access.files(RedisFiles::default());
    let redis = match &args.redis {
        Some(url) => {
            let url = url.with_files(&files)?;
            let reader = RedisReader::start(url, &args.prefix, args.from);
            Some(reader.context("cannot start the Redis reader's thread")?)
        }
        None if files != RedisFiles::default() => {
            bail!("access to Redis is configured without an address: give --redis")
        }
        None => None,
    };
    let rest = args.rest.as_deref().map(|url| rest_access::client(url, &args.access)).transpose()?.map(TcClient::new);
    let link = if redis.is_some() && rest.is_some() {
        None
    } else {
        let xapp = connect(&args.ric, "ferric-tc", config, args.seconds)?;
        info!(ric = %xapp.ric_id(), "connected");
        Some(TrafficLink::new(xapp, redis.is_none().then_some(args.period_ms)))
    };
    if args.ue.is_some() && link.is_none() {
        bail!("--ue needs the RIC's link to learn the C-RNTI of the UE: leave out --redis or --rest, or give --rnti");
    }
    let begun = Instant::now();
    let mut app = App {
        args,
        guard,
        link,
        redis,
        rest,
        guards: BTreeMap::new(),
        ues: Ues::new(),
        begun,
        last_node: begun,
        lacking: 0,
        failed: 0,
    };
    let ended = app.work();
    app.summary();
    ended?;
    app.check()
}

struct App<'a> {
    args: &'a Args,
    guard: GuardConfig,
    link: Option<TrafficLink>,
    redis: Option<RedisReader>,
    rest: Option<TcClient>,
    guards: BTreeMap<String, FlowGuard>,
    ues: Ues,
    begun: Instant,
    last_node: Instant,
    /// Nodes without RLC or TC statistics, and failed controls.
    lacking: u64,
    failed: u64,
}

impl App<'_> {
    fn work(&mut self) -> anyhow::Result<()> {
        let stop = program::signals::flag_on_signal()?;
        let is_stopped = || stop.load(Ordering::Acquire);
        let seconds = self.args.seconds.or(self.args.undo.then_some(10));
        let end = seconds.map(|seconds| self.begun + Duration::from_secs(seconds.into()));
        while !is_stopped() && end.is_none_or(|end| Instant::now() < end) && !self.is_undone() {
            self.poll()?;
        }
        if self.args.restore {
            self.guards.values_mut().for_each(|guard| guard.undo(true));
            let end = Instant::now() + RESTORE;
            while !self.are_idle() && Instant::now() < end {
                self.poll()?;
            }
            if !self.are_idle() {
                bail!("cannot remove what was set within {} s: run again with --undo", RESTORE.as_secs());
            }
        }
        Ok(())
    }

    fn are_idle(&self) -> bool {
        self.guards.values().all(FlowGuard::is_finished)
    }

    /// Whether `--undo` is complete.
    fn is_undone(&self) -> bool {
        self.args.undo && !self.guards.is_empty() && self.are_idle() && self.last_node.elapsed() >= SETTLED
    }

    /// Handles the events that have arrived, then sends the guards' controls.
    fn poll(&mut self) -> anyhow::Result<()> {
        let mut events = Vec::new();
        if let Some(link) = &mut self.link {
            let patience = if self.redis.is_some() { Duration::ZERO } else { PATIENCE };
            let (ues, period_ms) = (self.args.ue.is_some().then_some(&mut self.ues), self.args.period_ms);
            let polled = match ues {
                Some(ues) => link.poll_observed(patience, |event, ric| observe(ues, period_ms, event, ric)),
                None => link.poll(patience),
            };
            events = polled.context("connection to the RIC lost")?;
        }
        if let Some(redis) = &self.redis {
            let mut patience = PATIENCE;
            while let Some((node, record)) = redis.next(patience) {
                events.push(LinkEvent::Record(node, record));
                patience = Duration::ZERO;
                if events.len() >= 256 {
                    break; // the link must be served too
                }
            }
        }
        events.into_iter().for_each(|event| self.handle(event));
        self.act();
        Ok(())
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn handle(&mut self, event: LinkEvent) {
        let now = self.now();
        match event {
            LinkEvent::Record(node, record) => {
                if self.args.node.as_ref().is_some_and(|wanted| *wanted != node) {
                    return;
                }
                let Some(config) = self.config_for(&node) else { return };
                let (undo, last_node) = (self.args.undo, &mut self.last_node);
                let guard = self.guards.entry(node).or_insert_with_key(|node| {
                    *last_node = Instant::now();
                    program::outln!("node={node} watched");
                    let mut guard = FlowGuard::new(config);
                    if undo {
                        guard.undo(false);
                    }
                    guard
                });
                if let Some(rnti) = config.rnti {
                    guard.set_rnti(rnti);
                }
                match record {
                    Record::Rlc(record) => guard.handle_rlc(&record),
                    Record::Tc(record) => guard.handle_tc(now, &record),
                }
            }
            LinkEvent::Outcome(node, answer) => {
                if let Some(guard) = self.guards.get_mut(&node) {
                    guard.handle_answer(now, answer);
                }
            }
            LinkEvent::NodeLost(node) => {
                if let Some(guard) = self.guards.remove(&node) {
                    program::outln!("node={node} lost");
                    print_delays(&node, &guard);
                }
            }
            LinkEvent::MissingFunctions(node) => {
                info!(node, "node does not offer both RLC and TC statistics");
                self.lacking += 1;
            }
        }
    }

    /// The configuration of the guard of a node; `None` if it does not serve the UE, or if the UE is unknown.
    fn config_for(&self, node: &str) -> Option<GuardConfig> {
        let Some(wanted) = &self.args.ue else { return Some(self.guard) };
        let ran = self.ues.ran();
        let ue = ran.resolve(wanted).ok()?;
        let station = ran.station(ue.station())?;
        let is_there = station.nodes().any(|(id, _)| station.global_id_of(id).is_some_and(|id| id.to_string() == node));
        let rnti = ran.identity(ue).rnti.filter(|_| is_there)?;
        let flow = flow::to_ue(self.guard.flow, ue.context().addresses.first().copied());
        let is_complete = flow != FiveTuple::default();
        is_complete.then_some(GuardConfig { flow, rnti: Some(rnti.into()), ..self.guard })
    }

    /// Prints the guards' events and sends their controls.
    fn act(&mut self) {
        let mut controls: Vec<(String, ControlMessage<'static>)> = Vec::new();
        for (node, guard) in &mut self.guards {
            while let Some(news) = guard.poll_event() {
                program::outln!("node={node} {news}");
                self.failed += u64::from(news.is_failure());
            }
            while let Some(control) = guard.poll_control() {
                controls.push((node.clone(), control));
            }
        }
        for (node, control) in controls {
            match (&self.rest, &mut self.link) {
                (Some(rest), _) => {
                    let answer = rest.control(&node, &control);
                    self.handle(LinkEvent::Outcome(node, answer));
                }
                (None, Some(link)) => link.control(&node, &control),
                (None, None) => unreachable!("without REST there is a link"),
            }
        }
    }

    fn summary(&mut self) {
        self.act();
        if !self.args.undo {
            self.guards.iter().for_each(|(node, guard)| print_delays(node, guard));
        }
    }

    /// Fails if there was nothing to watch, or a control failed.
    fn check(&self) -> anyhow::Result<()> {
        if self.failed > 0 {
            bail!("controls failed: see the lines above");
        }
        if let Some(wanted) = self.args.ue.as_ref().filter(|_| self.guards.is_empty()) {
            let ran = self.ues.ran();
            let ue = ran.resolve(wanted)?;
            bail!(
                "cannot watch {}: no node reports its C-RNTI by RRC, and RLC and TC; give --rnti and --node",
                ran.describe(ue)
            );
        }
        match (self.guards.is_empty(), self.redis.is_some(), self.lacking) {
            (false, ..) => Ok(()),
            (true, true, _) => bail!("no records from Redis: check that the RIC runs with --redis and has nodes"),
            (true, false, 0) => {
                bail!("the RIC has no such node: connect a base station, or `ferric ran`, to its E2 address")
            }
            (true, false, _) => bail!("no node offers both RLC and TC statistics"),
        }
    }
}

/// Learns the names of UEs from what nodes report.
fn observe(ues: &mut Ues, period_ms: u32, event: &XappEvent<'_>, ric: &mut Commands<'_>) {
    match event {
        XappEvent::NodeUp(node) => {
            ues.node_up(node);
            ues.ask(node, MODELS, period_ms, EveryUe::AnySignal, ric);
        }
        XappEvent::NodeLost(node) => ues.node_lost(node.id),
        XappEvent::Request(event) => ues.handle_request(event),
        XappEvent::Indication(indication) => drop(ues.handle_indication(indication)),
        _ => {}
    }
}

fn print_delays(node: &str, guard: &FlowGuard) {
    let fields = |when: &str, waited: Option<WaitStatistics>| {
        waited.map_or_else(String::new, |WaitStatistics { records, median_us, p95_us, max_us }| {
            let ms = |us: u32| f64::from(us) / 1e3;
            let (p50, p95, max) = (ms(median_us), ms(p95_us), ms(max_us));
            format!(" {when}_p50_ms={p50:.1} {when}_p95_ms={p95:.1} {when}_max_ms={max:.1} {when}_records={records}")
        })
    };
    let measured = guard.measured();
    program::outln!("node={node}{}{}", fields("before", measured.before()), fields("after", measured.after()));
}
