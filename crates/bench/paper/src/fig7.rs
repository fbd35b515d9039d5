//! Figure 7: the round trip of a ping between a controller and an agent, and its octets, by encoding.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use bench::part::{Agents, Encoding, Load, Part, any_port};
use bench::pinger::{PingConfig, PingController};
use bench::process::Process;
use e2ap::Codec;
use ferric::Endpoint;
use ferric::link::{self, Direction, LinkEnds, LinkObserver, StreamId, Tap, TapObserver};

use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Setting, Statement};
use plot::{Panel, Plot, Series, X};

pub(super) const SIZES: [usize; 2] = [100, 1500];
/// The period of the pings for round trips.
pub(super) const PERIOD: Duration = Duration::from_millis(10);
/// The period of the pings for the signalling rate.
const FAST: Duration = Duration::from_millis(1);
/// The rounds, each of which measures every combination.
pub(super) const ROUNDS: usize = 2;
/// The first pings, which find cold caches, are not counted.
pub(super) const WARM_UP: usize = 5;
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The encodings of E2AP and of the service model, in the order of the paper.
fn combinations() -> [(Encoding, Encoding); 4] {
    let [per, flat] = Encoding::ALL;
    [(per, per), (per, flat), (flat, per), (flat, flat)]
}

fn name((e2ap, e2sm): (Encoding, Encoding)) -> String {
    format!("{}/{}", e2ap.codec(), e2sm.wire())
}

/// Starts a controller in this process, and an agent in another.
fn start(
    (e2ap, e2sm): (Encoding, Encoding),
    link: link::Config,
    octets: usize,
    count: usize,
    period: Duration,
) -> anyhow::Result<(PingController, Process)> {
    let endpoint = Endpoint::new(any_port(), e2ap.codec());
    let pinging = PingConfig { endpoint, link, wire: e2sm.wire(), octets, count, period: Some(period) }.start()?;
    let agent = agent(&pinging.endpoint, e2sm)?;
    Ok((pinging, agent))
}

/// Starts an agent that answers pings.
pub(super) fn agent(ric: &Endpoint, encoding: Encoding) -> anyhow::Result<Process> {
    let (ric, load) = (ric.to_string(), Load::Hello);
    Part::Agents(Agents { ric, nodes: 1, ues: 0, load, encoding, stages: false }).start()
}

/// The round trips over one hop, in nanoseconds, without the first [`WARM_UP`].
pub(super) fn one_hop_ns(encodings: (Encoding, Encoding), octets: usize, seconds: f64) -> anyhow::Result<Vec<u64>> {
    let count = WARM_UP + (seconds / PERIOD.as_secs_f64() / ROUNDS as f64).ceil() as usize;
    let (pinging, _agent) = start(encodings, link::Config::default(), octets, count, PERIOD)?;
    let times = pinging.times_ns(PATIENCE + PERIOD * count as u32)?;
    pinging.end()?;
    Ok(without_warm_up(times))
}

/// All round trips after the first [`WARM_UP`].
pub(super) fn without_warm_up(mut times_ns: Vec<u64>) -> Vec<u64> {
    times_ns.drain(..WARM_UP.min(times_ns.len()));
    times_ns
}

pub(super) fn mean_us(times_ns: &[u64]) -> f64 {
    times_ns.iter().sum::<u64>() as f64 / times_ns.len() as f64 / 1e3
}

pub(super) fn median_us(times_ns: &[u64]) -> f64 {
    bench::median(times_ns.iter().map(|ns| *ns as f64).collect()) / 1e3
}

/// The paper's reductions of the round trip, at 100 and 1500 octets, and the most that a rough number differs.
const SHORTER: [f64; 2] = [0.25, 0.66];
const ROUGHLY: f64 = 0.05;

pub(super) fn fig7a(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let mut table = Table::new(["octets", "e2ap/e2sm", "pings", "mean_us", "p50_us", "to_per/per"].map(str::to_owned));
    let mut samples = Table::new(["octets", "e2ap/e2sm", "round_trip_us"]);
    let mut ratios = Vec::new();
    for octets in SIZES {
        let mut times = combinations().map(|encodings| (encodings, Vec::new()));
        for _ in 0..ROUNDS {
            for (encodings, times) in &mut times {
                times.extend(one_hop_ns(*encodings, octets, context.seconds)?);
            }
        }
        let first = mean_us(&times[0].1);
        for (encodings, times) in times {
            let (pings, mean, p50) = (times.len() as f64, mean_us(&times), median_us(&times));
            let name = name(encodings);
            let mut row: Vec<Cell> = vec![(octets as f64).into(), name.as_str().into()];
            row.extend([pings, mean, p50, mean / first].map(Cell::from));
            table.row(row);
            ratios.push(mean / first);
            for ns in times {
                samples.row([Cell::from(octets as f64), name.as_str().into(), (ns as f64 / 1e3).into()]);
            }
        }
    }
    let statements = round_trip_statements(&ratios);
    Ok(FigureReport {
        figure: Figure::Fig7a,
        setting: Setting {
            paper: "an internal app pings an agent by the hello-world model, each second, with 100 and 1500 octets; E2AP and \
                    model in ASN.1 or FlatBuffers; averages; FlexRAN beside it; processors kept from sleeping",
            ours: "an internal app pings an agent in a process of its own, each 10 ms, with the same payloads and \
                   combinations; over loopback TCP; means and medians",
            differs: vec![
                "each 10 ms instead of each second: more pings in less time",
                "processors may sleep, and both ends sleep in epoll between pings",
                "FlexRAN is not measured; the agent also acknowledges each control",
            ],
        },
        plot: Plot {
            title: "Fig. 7a: round trip of a ping by encoding, E2AP/E2SM".into(),
            panels: vec![panel(&table, "mean_us", "mean round trip, us")],
        },
        claim: "FlatBuffers instead of ASN.1 shortens the round trip of 100 octets by 25 %, and that of 1500 by 66 %; ASN.1 around \
                FlatBuffers lengthens it",
        judged: "statement by statement, by means as in the paper; the claim holds if all do that can be decided",
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values: table,
        summary: None,
        samples: Some(samples),
        course: None,
    })
}

/// What section 5.2 says about Fig. 7a; `ratios` are those to ASN.1 only, four of each size.
fn round_trip_statements(ratios: &[f64]) -> Vec<Statement> {
    let ratio = |size: usize, at: usize| ratios.get(4 * size + at).copied().unwrap_or(f64::NAN);
    let changes = |at: usize| {
        let [small, large] = [0, 1].map(|size| 100.0 * (ratio(size, at) - 1.0));
        format!("{small:+.0} % and {large:+.0} %")
    };
    let is_shorter = (0..2).all(|size| 1.0 - ratio(size, 3) >= SHORTER[size] - ROUGHLY);
    vec![
        Statement::new(
            "FlatBuffers for both instead of ASN.1 shorten the mean round trip by roughly 25 % with 100 octets and 66 % with 1500 (at least \
             20 and 61 %)",
            changes(3),
            is_shorter,
        ),
        Statement::new(
            "ASN.1 around a model in FlatBuffers takes longer than ASN.1 for both, with either payload",
            changes(1),
            (0..2).all(|size| ratio(size, 1) > 1.0),
        ),
        Statement::new(
            "FlexRAN is slower than E2AP in FlatBuffers, and its application always waits for a millisecond",
            "FlexRAN is not measured".to_owned(),
            None,
        ),
    ]
}

/// A bar for each size and combination.
fn panel(table: &Table, column: &str, y_label: &str) -> Panel {
    let value = |size: usize, at: usize| table.value(4 * size + at, column).unwrap_or(f64::NAN);
    let series = combinations().into_iter().enumerate().map(|(at, encodings)| {
        Series::new(name(encodings), (0..SIZES.len()).map(|size| (size as f64, value(size, at))).collect())
    });
    let categories = SIZES.map(|octets| format!("{octets} octets")).to_vec();
    Panel { x: X::Categories(categories), y_label: y_label.into(), series: series.collect(), marks: Vec::new() }
}

/// The traffic of the controller's link.
#[derive(Debug, Default)]
struct Traffic {
    codec: Codec,
    /// The number of pings, and their octets.
    controls: [AtomicU64; 2],
    /// The number of answers, and their octets.
    indications: [AtomicU64; 2],
    /// The number of acknowledgements, and their octets.
    others: [AtomicU64; 2],
}

struct Counting(Arc<Traffic>);

impl TapObserver for Counting {
    fn begin(&self, _: LinkEnds<'_>) -> Box<dyn LinkObserver> {
        Box::new(Counting(self.0.clone()))
    }
}

impl LinkObserver for Counting {
    fn pdu(&self, direction: Direction, _: StreamId, parts: &[&[u8]]) {
        let Traffic { codec, controls, indications, others } = &*self.0;
        let octets = parts.iter().map(|part| part.len() as u64).sum();
        let counters = match (direction, parts) {
            (Direction::Sent, _) => controls,
            (Direction::Received, [pdu]) if codec.peek_indication(pdu).is_some() => indications,
            (Direction::Received, _) => others,
        };
        counters[0].fetch_add(1, Relaxed);
        counters[1].fetch_add(octets, Relaxed);
    }
}

impl Traffic {
    /// The numbers and octets of controls, indications and acknowledgements.
    fn now(&self) -> [[u64; 2]; 3] {
        let Traffic { controls, indications, others, .. } = self;
        [controls, indications, others].map(|[count, octets]| [count.load(Relaxed), octets.load(Relaxed)])
    }
}

pub(super) fn fig7b(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let columns = [
        "octets",
        "e2ap/e2sm",
        "pings_per_s",
        "octets_per_ping",
        "mbit_per_s",
        "to_per/per",
        "acknowledgements_mbit_per_s",
    ];
    let mut table = Table::new(columns);
    let mut ratios = Vec::new();
    for octets in SIZES {
        let mut first = None;
        for encodings in combinations() {
            let crossed = Arc::new(Traffic { codec: encodings.0.codec(), ..Traffic::default() });
            let tap = Some(Tap::new(Arc::new(Counting(crossed.clone()))));
            let link = link::Config { tap, ..link::Config::default() };
            let (pinging, _agent) = start(encodings, link, octets, usize::MAX, FAST)?;
            let answered = |least: u64| {
                let deadline = Instant::now() + PATIENCE;
                while crossed.now()[1][0] < least {
                    if Instant::now() > deadline {
                        bail!("no answers to the pings");
                    }
                    thread::sleep(FAST);
                }
                Ok(())
            };
            answered(WARM_UP as u64)?;
            let (begun, before) = (Instant::now(), crossed.now());
            thread::sleep(Duration::from_secs_f64(context.seconds));
            // a busy host needs more time
            answered(before[1][0] + WARM_UP as u64)?;
            let (took, after) = (begun.elapsed().as_secs_f64(), crossed.now());
            pinging.end()?;
            let count = |kind: usize, what: usize| (after[kind][what] - before[kind][what]) as f64;
            let (pings, of_pings, of_others) = (count(0, 0), count(0, 1) + count(1, 1), count(2, 1));
            // the current ping may have no answer yet, so that controls and indications are averaged separately
            let per_ping = count(0, 1) / count(0, 0) + count(1, 1) / count(1, 0);
            let ratio = per_ping / *first.get_or_insert(per_ping);
            let mbit = |octets: f64| octets * 8.0 / 1e6 / took;
            let name = name(encodings);
            let mut row: Vec<Cell> = vec![(octets as f64).into(), name.as_str().into()];
            row.extend([pings / took, per_ping, mbit(of_pings), ratio, mbit(of_others)].map(Cell::from));
            table.row(row);
            ratios.push(ratio);
        }
    }
    let statements = signalling_statements(&ratios);
    Ok(FigureReport {
        figure: Figure::Fig7b,
        setting: Setting {
            paper: "the pings of Fig. 7a, one each millisecond: the rate of the signalling, FlexRAN's beside it",
            ours: "the same pings each millisecond; octets of E2AP's PDUs, of controls and indications, both directions \
                   together",
            differs: vec![
                "without the headers of SCTP and IP, which depend on the link and on what it batches",
                "the acknowledgements of controls are counted separately",
                "FlexRAN is not measured",
            ],
        },
        plot: Plot {
            title: "Fig. 7b: signalling of a ping each millisecond by encoding, E2AP/E2SM".into(),
            panels: vec![panel(&table, "mbit_per_s", "signalling, Mbit/s")],
        },
        claim: "FlatBuffers instead of ASN.1 adds 67 % to the signalling of 100 octets, and almost nothing to that of 1500; FlatBuffers \
                around ASN.1 adds little, and ASN.1 around FlatBuffers saves nothing",
        judged: "statement by statement, by octets of a ping; the claim holds if all do that can be decided",
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values: table,
        summary: None,
        samples: None,
        course: None,
    })
}

/// The paper's growth of the signalling at 100 octets, and the most that a measured one differs.
const MORE: f64 = 0.67;
const ABOUT: f64 = 0.10;
/// The most that counts as slight, and as almost negligible.
const SLIGHT: f64 = 0.25;
const NEGLIGIBLE: f64 = 0.1;

/// What section 5.2 says about Fig. 7b; `ratios` are those to ASN.1 only, four of each size.
fn signalling_statements(ratios: &[f64]) -> Vec<Statement> {
    let more = |size: usize, at: usize| ratios.get(4 * size + at).copied().unwrap_or(f64::NAN) - 1.0;
    let both = |at: usize| format!("{:+.0} % and {:+.0} %", 100.0 * more(0, at), 100.0 * more(1, at));
    vec![
        Statement::new(
            "FlatBuffers for both instead of ASN.1 add 67 % with 100 octets (57 to 77 %)",
            format!("{:+.0} %", 100.0 * more(0, 3)),
            (more(0, 3) - MORE).abs() <= ABOUT,
        ),
        Statement::new(
            "with 1500 octets what they add is almost negligible (at most 10 %)",
            format!("{:+.0} %", 100.0 * more(1, 3)),
            more(1, 3) <= NEGLIGIBLE,
        ),
        Statement::new(
            "FlatBuffers around a model in ASN.1 add only slightly to ASN.1 for both (at most 25 % with 100 octets)",
            both(2),
            (0..2).all(|size| more(size, 2) <= SLIGHT),
        ),
        Statement::new(
            "ASN.1 around a model in FlatBuffers does not reduce the signalling",
            both(1),
            (0..2).all(|size| more(size, 1) >= 0.0),
        ),
        Statement::new(
            "FlexRAN has the smallest rate, and with 1500 octets almost no advantage",
            "FlexRAN is not measured".to_owned(),
            None,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(statements: &[Statement]) -> Vec<Option<bool>> {
        statements.iter().map(|statement| statement.holds).collect()
    }

    #[test]
    fn statements_of_the_paper_are_judged_one_by_one() {
        // the paper's own numbers
        let papers = round_trip_statements(&[1.0, 1.2, 0.8, 0.75, 1.0, 1.5, 0.5, 0.34]);
        assert_eq!(verdicts(&papers), [Some(true), Some(true), None]);
        // half of the gain at 1500 octets is not the paper's claim
        let half = round_trip_statements(&[1.0, 0.9, 0.8, 0.75, 1.0, 1.5, 0.5, 0.5]);
        assert_eq!(verdicts(&half), [Some(false), Some(false), None]);
        let papers = signalling_statements(&[1.0, 1.3, 1.1, 1.67, 1.0, 1.02, 1.01, 1.05]);
        assert_eq!(verdicts(&papers), [Some(true), Some(true), Some(true), Some(true), None]);
        let other = signalling_statements(&[1.0, 0.9, 1.3, 1.4, 1.0, 1.0, 1.0, 1.2]);
        assert_eq!(verdicts(&other), [Some(false), Some(false), Some(false), Some(false), None]);
        assert_eq!(Statement::all(&other), Some(false));
    }
}
