//! Figure 9: two hops instead of one.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bench::meter::{LEAST_REPORTS, Meter, Sample};
use bench::part::{Encoding, Load, Part, XappCount, XappPart, any_port, ask};
use bench::pinger::PingConfig;
use bench::process::RicProcess;
use e2ap::{RanFunctionId, RicActionId, RicActionType};
use e2sm::{Arena, hw};
use ferric::Endpoint;
use ferric::e2::{Action, NodeId, SubscriptionSpec};
use ferric::link;
use ferric::xapp::{RequestEvent, Xapp, XappConfig, XappEvent};

use crate::fig7::{PATIENCE, PERIOD, ROUNDS, SIZES, WARM_UP, agent, mean_us, median_us, one_hop_ns, without_warm_up};
use crate::load::{COMPARABLE, Crowd, SAMPLE_COLUMNS, cells};
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Setting};
use plot::{Panel, Plot, Series, X};

/// The paper's round trip of 1500 octets through O-RAN's RIC.
const ORAN_1500_US: f64 = 1000.0;
/// The least ratio of O-RAN's RIC to FlexRIC at 1500 octets.
const TWICE: f64 = 2.0;

/// The agent's node.
const GNB: &str = "gnb-00101-1";

/// The pings of a round.
fn pings(seconds: f64) -> usize {
    WARM_UP + (seconds / PERIOD.as_secs_f64() / ROUNDS as f64).ceil() as usize
}

/// Starts a RIC.
fn ric(ferric: &Path, e2ap: Encoding) -> anyhow::Result<RicProcess> {
    RicProcess::start(ferric, &["--e2", &Endpoint::new(any_port(), e2ap.codec()).to_string()])
}

/// The round trips from an xApp through the RIC to an agent and back, in nanoseconds.
fn two_hops_ns(ferric: &Path, e2ap: Encoding, e2sm: Encoding, octets: usize, seconds: f64) -> anyhow::Result<Vec<u64>> {
    let RicProcess { process: _ric, e2, xapp: address, .. } = ric(ferric, e2ap)?;
    let _agent = agent(&e2, e2sm)?;
    let mut xapp = Xapp::connect(&address, "ping", XappConfig { reconnect: None, ..XappConfig::default() })
        .context("cannot use the RIC")?;
    let count = pings(seconds);
    let deadline = Instant::now() + PATIENCE + PERIOD * count as u32;
    let (payload, mut message, mut arena) = (vec![7; octets], Vec::new(), Arena::new());
    let mut target: Option<(NodeId, RanFunctionId)> = None;
    let (mut is_subscribed, mut number, mut times) = (false, 0, Vec::with_capacity(count));
    // whether the current ping's indication and its control's outcome have arrived
    let (mut is_answered, mut is_controlled, mut started) = (true, true, Instant::now());
    while times.len() < count {
        if Instant::now() > deadline {
            bail!("a ping was not answered");
        }
        if let Some((node, function)) = target.filter(|_| is_subscribed && is_answered && is_controlled) {
            thread::sleep(PERIOD.saturating_sub(started.elapsed()));
            (is_answered, is_controlled, started) = (false, false, Instant::now());
            number += 1;
            message.clear();
            hw::Ping { number, payload: payload.as_slice().into() }.encode(e2sm.wire(), &mut message)?;
            xapp.commands().control(node, function, &[], &message);
        }
        xapp.poll(Some(Duration::from_millis(100)), |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let Some(function) = node.functions.iter().find(|f| hw::wire_of(&f.oid) == Some(e2sm.wire())) else {
                    return;
                };
                let (id, kind) = (RicActionId(1), RicActionType::Report);
                let actions = vec![Action { id, kind, definition: None, subsequent: None }];
                let spec = SubscriptionSpec { event_trigger: hw::EVENT_TRIGGER.to_vec(), actions };
                ric.subscribe(node.id, function.id, spec);
                target = Some((node.id, function.id));
            }
            XappEvent::Request(RequestEvent::Subscribed { .. }) => is_subscribed = true,
            XappEvent::Request(RequestEvent::Controlled { .. }) => is_controlled = true,
            XappEvent::Indication(indication) => {
                arena.reset();
                let ping = indication.peek().and_then(|p| hw::Ping::decode(p.message, e2sm.wire(), &arena).ok());
                if ping.is_some_and(|ping| ping.number == number && ping.payload.len() == octets) {
                    times.push(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
                    is_answered = true;
                }
            }
            _ => {}
        })?;
    }
    Ok(without_warm_up(times))
}

/// The round trips from a controller through a relaying RIC to an agent and back, both hops by E2, in nanoseconds.
fn relayed_ns(ferric: &Path, encoding: Encoding, octets: usize, seconds: f64) -> anyhow::Result<Vec<u64>> {
    let count = pings(seconds);
    let endpoint = Endpoint::new(any_port(), encoding.codec());
    let config = PingConfig {
        endpoint: endpoint.clone(),
        link: link::Config::default(),
        wire: encoding.wire(),
        octets,
        count,
        period: Some(PERIOD),
    };
    let pinging = config.start()?;
    let relay = RicProcess::start_relay(ferric, &endpoint, GNB, &pinging.endpoint)?;
    let _agent = agent(&relay.e2, encoding)?;
    let times = pinging.times_ns(PATIENCE + PERIOD * count as u32)?;
    pinging.end()?;
    Ok(without_warm_up(times))
}

pub(super) fn fig9a(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let columns = [
        "octets",
        "encoding",
        "one_hop_mean_us",
        "one_hop_p50_us",
        "two_hops_mean_us",
        "two_hops_p50_us",
        "two_over_one",
        "relayed_mean_us",
        "relayed_p50_us",
        "relayed_over_one",
    ];
    let mut table = Table::new(columns);
    let mut samples = Table::new(["octets", "encoding", "hops", "round_trip_us"]);
    let mut slowest: f64 = 0.0;
    for octets in SIZES {
        for encoding in Encoding::ALL {
            let (mut one, mut two, mut relayed) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                one.extend(one_hop_ns((encoding, encoding), octets, context.seconds)?);
                two.extend(two_hops_ns(context.ferric, encoding, encoding, octets, context.seconds)?);
                relayed.extend(relayed_ns(context.ferric, encoding, octets, context.seconds)?);
            }
            for (hops, times) in [("one", &one), ("xApp", &two), ("relayed", &relayed)] {
                for ns in times {
                    let cells = [Cell::from(octets as f64), encoding.codec().name().into(), hops.into()];
                    samples.row(cells.into_iter().chain([Cell::from(*ns as f64 / 1e3)]));
                }
            }
            let [one, two, relayed] = [&one, &two, &relayed].map(|times| (mean_us(times), median_us(times)));
            let mut row: Vec<Cell> = vec![(octets as f64).into(), encoding.codec().name().into()];
            row.extend([one.0, one.1].map(Cell::from));
            for (mean, median) in [two, relayed] {
                row.extend([mean, median, median / one.1].map(Cell::from));
            }
            table.row(row);
            if octets == SIZES[1] {
                slowest = slowest.max(two.1).max(relayed.1);
            }
        }
    }
    let series = |name: &str, column: &str| {
        let points = (0..table.rows.len()).filter_map(|row| Some((row as f64, table.value(row, column)?)));
        Series::new(name, points.collect())
    };
    let categories =
        SIZES.iter().flat_map(|octets| Encoding::ALL.map(|e| format!("{octets}, {}", e.codec()))).collect();
    let panel = Panel {
        x: X::Categories(categories),
        y_label: "median round trip, us".into(),
        series: vec![
            series("one hop: controller and agent", "one_hop_p50_us"),
            series("two hops: xApp, RIC and agent", "two_hops_p50_us"),
            series("two hops by E2: controller, RIC and agent", "relayed_p50_us"),
        ],
        marks: Vec::new(),
    };
    Ok(FigureReport {
        figure: Figure::Fig9a,
        setting: Setting {
            paper: "the ping of Fig. 7 through two hops: xApp, E2 termination and agent of O-RAN's RIC (Cherry); for FlexRIC, \
                    in a container, a relaying controller between controller and agent; 100 and 1500 octets",
            ours: "a controller, `ferric ric --topology`, which relays, and an agent; and an xApp, `ferric ric` and an agent; each \
                   10 ms; RIC and agent are processes of their own; E2AP and model in PER, and both in FlatBuffers; beside it one \
                   hop, the ping of Fig. 7",
            differs: vec![
                "of the xApp, one of the two hops is our protocol for xApps, over TCP",
                "no containers; each 10 ms instead of each second",
                "O-RAN's RIC is not measured, nor are peers: a ping starts at the controller, not at an agent",
            ],
        },
        plot: Plot { title: "Fig. 9a: round trip of a ping over two hops".into(), panels: vec![panel] },
        claim: "O-RAN's RIC takes at least three times FlexRIC's round trip at 100 octets and twice at 1500, where it takes about \
                1 ms",
        judged: "against the paper's own number, of another machine: our medians at 1500 octets over two hops, of either kind, are \
                 at most half of 1 ms",
        statements: Vec::new(),
        holds: Some(TWICE * slowest <= ORAN_1500_US),
        values: table,
        summary: None,
        samples: Some(samples),
        course: None,
        notes: Vec::new(),
    })
}

/// MAC statistics of ten agents.
const CROWD: Crowd = Crowd { nodes: 10, ues: 32, load: Load::Mac, encoding: Encoding::Flat, period_ms: 1 };
/// The paper's saving of processor time compared with O-RAN's RIC.
const LESS: f64 = 0.83;

pub(super) fn fig9b(context: &mut Context<'_>) -> anyhow::Result<FigureReport> {
    let crowd = Crowd { encoding: context.options.encoding, ..CROWD };
    let mut table = Table::new(["controller"].into_iter().chain(SAMPLE_COLUMNS));
    let mut row = |name: &str, sample: Option<Sample>| {
        table.row([Cell::from(name)].into_iter().chain(cells(sample)));
    };
    let one = crowd.on_ours(Encoding::Flat, true, context.seconds)?;
    row("ferric, internal app", Some(one));
    for (name, sample) in through_ric(context.ferric, context.seconds)? {
        row(name, Some(sample));
    }
    let mut theirs = Vec::new();
    for (peer, sample) in context.peers.iter().zip(context.of_peers(&crowd)) {
        row(&peer.name, sample);
        theirs.extend(sample.filter(|sample| crowd.delivered(sample) >= COMPARABLE).and_then(|s| s.cpu_percent));
    }
    let holds = one.cpu_percent.filter(|_| !theirs.is_empty());
    let holds = holds.map(|ours| theirs.iter().all(|theirs| ours <= (1.0 - LESS) * theirs));
    let names = table.rows.iter().map(|row| row[0].to_string()).collect::<Vec<_>>();
    let panel = |column: &str, y_label: &str| {
        let series = vec![table.series("10 agents, MAC statistics of 32 UEs at 1 kHz", None, column)];
        Panel { x: X::Categories(names.clone()), y_label: y_label.into(), series, marks: Vec::new() }
    };
    let panels = vec![panel("cpu_percent", "CPU, % of a core"), panel("rss_mib", "memory, MiB")];
    Ok(FigureReport {
        figure: Figure::Fig9b,
        setting: Setting {
            paper: "10 dummy agents, each with MAC statistics of 32 UEs each millisecond, without HARQ; FlexRIC in a container; \
                    O-RAN's RIC (Cherry), its platform and an xApp together",
            ours: "the same agents, in FlatBuffers: to a controller whose internal app decodes and keeps the reports; and to \
                   `ferric ric` with an xApp that does so, a process each",
            differs: vec![
                "no containers: the kernel's accounts of the processes",
                "O-RAN's RIC is not measured",
                "TCP over loopback, not SCTP",
            ],
        },
        plot: Plot { title: "Fig. 9b: processor time and memory of a monitoring controller".into(), panels },
        claim: "FlexRIC takes 83 % less processor time than O-RAN's RIC and much less memory; the O-RAN xApp alone takes as much \
                as FlexRIC",
        judged: "only with a peer whose process is known and that subscribes to the same reports: the controller with its internal \
                 app takes at most 17 % of its processor time",
        statements: Vec::new(),
        holds,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: Vec::new(),
    })
}

/// The samples of the RIC, of an xApp and of both together.
fn through_ric(ferric: &Path, seconds: f64) -> anyhow::Result<[(&'static str, Sample); 3]> {
    let RicProcess { process: ric, e2, xapp, .. } = ric(ferric, Encoding::Flat)?;
    let mut xapp = Part::Xapp(XappPart { ric: xapp.to_string(), period_ms: CROWD.period_ms }).start()?;
    let agents = CROWD.start(&e2.to_string())?;
    let wanted = u64::from(CROWD.nodes) * CROWD.load.statistics();
    let deadline = Instant::now() + PATIENCE;
    while ask::<XappCount>(&mut xapp)?.subscribed < wanted {
        if Instant::now() > deadline {
            bail!("the xApp has no subscription to all agents");
        }
        thread::sleep(Duration::from_millis(10));
    }
    let meter = Meter { controllers: &[*ric, *xapp], agents: *agents, seconds, least_reports: LEAST_REPORTS };
    let samples = meter.measure(|| {
        let XappCount { reports, octets, .. } = ask(&mut xapp)?;
        Ok((reports, octets))
    })?;
    let [ric, xapp] = samples[..] else { bail!("two processes are measured") };
    let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    let both =
        Sample { cpu_percent: sum(ric.cpu_percent, xapp.cpu_percent), rss_mib: sum(ric.rss_mib, xapp.rss_mib), ..xapp };
    Ok([("ferric ric", ric), ("xApp", xapp), ("both", both)])
}
