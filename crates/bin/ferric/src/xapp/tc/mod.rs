//! `ferric xapp tc`: the traffic xApp of FlexRIC's paper, 6.1.1.

mod flow;
mod rest;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ::ric::traffic::guard::Waited;
use ::ric::traffic::record::Record;
use ::ric::traffic::{FlowGuard, GuardConfig, LinkEvent, RedisFiles, RedisReader, RedisUrl, TrafficLink, Via};
use anyhow::{Context, bail};
use e2sm::tc::ControlMessage;
use ferric::e2::Time;
use ferric::link::Address;
use ferric::xapp::XappConfig;
use tracing::info;

use super::connect;
use crate::redis::RedisArgs;
use rest::RestSide;

/// How long it waits for news at once.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long what was begun may take at the end.
const RESTORE: Duration = Duration::from_secs(10);
/// With `--undo`: when no other node has come for so long, there is none.
const SETTLED: Duration = Duration::from_secs(1);

/// Keep a flow that must not wait out of the queue of the others.
///
/// Watches the RLC and TC statistics of each node. When packets of a bearer wait longer than the limit, it has the node's TC do
/// three things, once: a second FIFO queue, a filter that sends the flow there, and the 5G-BDP pacer. It looks first what is
/// set, and finishes what another run has begun. Each thing is told in a line `node=… done: …`; at the end a line `node=…
/// before_p50_ms=… after_p50_ms=…` tells how long packets waited. Exits with an error where a node refuses.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    flow: flow::FlowArgs,
    /// How long the flow's packets may wait, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    limit_ms: u32,
    /// Only the bearers of this UE, by its C-RNTI, such as 0x4601. [default: the bearer on which packets wait longest]
    #[arg(long, value_name = "RNTI", value_parser = rnti)]
    rnti: Option<u32>,
    /// Only the node of that name, as the RIC and the other xApps print it.
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// The RIC's address for xApps.
    #[arg(long, value_name = "URL", default_value = "tcp://127.0.0.1:36423", value_parser = crate::address::xapp)]
    ric: Address,
    /// Milliseconds from report to report, over the RIC's link. Over Redis, the RIC says it.
    #[arg(long, value_name = "P", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    period_ms: u32,
    /// Take the statistics from this Redis server, to which `ferric ric --redis` forwards them, and not over the RIC's link.
    #[arg(long, value_name = "URL")]
    redis: Option<RedisUrl>,
    #[command(flatten)]
    redis_access: RedisArgs,
    /// By which way of Redis: pubsub or stream.
    #[arg(long, value_name = "WAY", default_value_t = Via::PubSub, requires = "redis")]
    from: Via,
    /// What channels and streams of Redis are called by.
    #[arg(long, value_name = "NAME", default_value = ::ric::traffic::DEFAULT_PREFIX, requires = "redis")]
    prefix: String,
    /// Act over REST, at this address of `ferric ric --rest`, and not over the RIC's link.
    #[arg(long, value_name = "URL", value_parser = rest::url)]
    rest: Option<String>,
    #[command(flatten)]
    access: rest::AccessArgs,
    /// End after that many seconds; else at Ctrl-C. With --undo: wait so long for nodes. [default with --undo: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Take the queue, the filter and the pacer away, whoever has set them, and end.
    #[arg(long, conflicts_with = "restore")]
    undo: bool,
    /// At the end, take away what this run has set.
    #[arg(long)]
    restore: bool,
}

fn rnti(text: &str) -> Result<u32, &'static str> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    value.filter(|rnti| *rnti <= 0xFFFF).ok_or("a C-RNTI is a number up to 0xffff")
}

pub fn run(args: &Args, config: XappConfig) -> anyhow::Result<()> {
    let flow = args.flow.flow()?;
    let limit = Duration::from_millis(args.limit_ms.into());
    let guard = GuardConfig { rnti: args.rnti, ..GuardConfig::new(flow, limit) };
    let files = args.redis_access.files(RedisFiles::default());
    let redis = match &args.redis {
        Some(url) => {
            let url = url.with_files(&files)?;
            let reader = RedisReader::start(url, &args.prefix, args.from);
            Some(reader.context("cannot start a thread")?)
        }
        None if files != RedisFiles::default() => {
            bail!("what a Redis wants to see is said, and not where it is: give --redis")
        }
        None => None,
    };
    let rest = args.rest.as_deref().map(|url| RestSide::new(url, &args.access)).transpose()?;
    let link = if redis.is_some() && rest.is_some() {
        None
    } else {
        let xapp = connect(&args.ric, "ferric-tc", config)?;
        info!(ric = %xapp.ric_id(), "connected");
        Some(TrafficLink::new(xapp, redis.is_none().then_some(args.period_ms)))
    };
    let begun = Instant::now();
    let mut app =
        App { args, guard, link, redis, rest, guards: BTreeMap::new(), begun, last_node: begun, lacking: 0, failed: 0 };
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
    rest: Option<RestSide>,
    guards: BTreeMap<String, FlowGuard>,
    begun: Instant,
    last_node: Instant,
    /// Nodes that do not offer what it takes, and nodes that refused.
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
            self.turn()?;
        }
        if self.args.restore {
            self.guards.values_mut().for_each(|guard| guard.undo(true));
            let end = Instant::now() + RESTORE;
            while !self.are_at_rest() && Instant::now() < end {
                self.turn()?;
            }
            if !self.are_at_rest() {
                bail!("what was set could not be taken away in {} s; `--undo` does it", RESTORE.as_secs());
            }
        }
        Ok(())
    }

    fn are_at_rest(&self) -> bool {
        self.guards.values().all(FlowGuard::is_at_rest)
    }

    /// With `--undo`, whether it is.
    fn is_undone(&self) -> bool {
        self.args.undo && !self.guards.is_empty() && self.are_at_rest() && self.last_node.elapsed() >= SETTLED
    }

    /// Takes what comes, and does what comes of it.
    fn turn(&mut self) -> anyhow::Result<()> {
        let mut happened = Vec::new();
        if let Some(link) = &mut self.link {
            happened =
                link.turn(if self.redis.is_some() { Duration::ZERO } else { PATIENCE }).context("the RIC is gone")?;
        }
        if let Some(redis) = &self.redis {
            let mut patience = PATIENCE;
            while let Some((node, record)) = redis.next(patience) {
                happened.push(LinkEvent::Told(node, record));
                patience = Duration::ZERO;
                if happened.len() >= 256 {
                    break; // the others' turn
                }
            }
        }
        happened.into_iter().for_each(|happened| self.handle(happened));
        self.act();
        Ok(())
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn handle(&mut self, happened: LinkEvent) {
        let now = self.now();
        match happened {
            LinkEvent::Told(node, record) => {
                if self.args.node.as_ref().is_some_and(|wanted| *wanted != node) {
                    return;
                }
                let (config, undo, last_node) = (self.guard, self.args.undo, &mut self.last_node);
                let guard = self.guards.entry(node).or_insert_with_key(|node| {
                    *last_node = Instant::now();
                    program::outln!("node={node} is watched");
                    let mut guard = FlowGuard::new(config);
                    if undo {
                        guard.undo(false);
                    }
                    guard
                });
                match record {
                    Record::Rlc(record) => guard.handle_rlc(&record),
                    Record::Tc(record) => guard.handle_tc(now, &record),
                }
            }
            LinkEvent::Answered(node, answer) => {
                if let Some(guard) = self.guards.get_mut(&node) {
                    guard.handle_answer(now, answer);
                }
            }
            LinkEvent::Lost(node) => {
                if let Some(guard) = self.guards.remove(&node) {
                    program::outln!("node={node} is lost; it is looked at anew when it is back");
                    tell_waits(&node, &guard);
                }
            }
            LinkEvent::Lacking(node) => {
                info!(node, "does not offer both RLC and TC");
                self.lacking += 1;
            }
        }
    }

    /// Tells what guards tell, and sends what they want sent.
    fn act(&mut self) {
        let mut controls: Vec<(String, ControlMessage<'static>)> = Vec::new();
        for (node, guard) in &mut self.guards {
            while let Some(news) = guard.poll_news() {
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
                    self.handle(LinkEvent::Answered(node, answer));
                }
                (None, Some(link)) => link.control(&node, &control),
                (None, None) => unreachable!("without REST there is a link"),
            }
        }
    }

    fn summary(&mut self) {
        self.act();
        if !self.args.undo {
            self.guards.iter().for_each(|(node, guard)| tell_waits(node, guard));
        }
    }

    /// Whether there was anything to watch, and all that was to be done is.
    fn check(&self) -> anyhow::Result<()> {
        if self.failed > 0 {
            bail!("not everything could be done: the lines above say what");
        }
        match (self.guards.is_empty(), self.redis.is_some(), self.lacking) {
            (false, ..) => Ok(()),
            (true, true, _) => bail!("no records came from Redis: is the RIC run with --redis, and has it nodes?"),
            (true, false, 0) => {
                bail!("the RIC has no such node: point a base station, or `ferric ran`, at its E2 address")
            }
            (true, false, _) => bail!("no node offers both RLC and TC statistics"),
        }
    }
}

fn tell_waits(node: &str, guard: &FlowGuard) {
    let told = |when: &str, waited: Option<Waited>| {
        waited.map_or_else(String::new, |Waited { records, median_us, p95_us, max_us }| {
            let ms = |us: u32| f64::from(us) / 1e3;
            let (p50, p95, max) = (ms(median_us), ms(p95_us), ms(max_us));
            format!(" {when}_p50_ms={p50:.1} {when}_p95_ms={p95:.1} {when}_max_ms={max:.1} {when}_records={records}")
        })
    };
    let measured = guard.measured();
    program::outln!("node={node}{}{}", told("before", measured.before()), told("after", measured.after()));
}
