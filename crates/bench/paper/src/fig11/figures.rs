//! The three figures of a call.

use super::super::table::{Cell, Table};
use super::super::{Context, Figure, FigureReport, Setting, Statement};
use super::call::{Call, LIMIT, Sojourn, call};
use super::{CallSetting, GREEDY_S, RLC_BUFFER_OCTETS};
use plot::{Mark, Panel, Plot, Series, X};

/// The least usage of the cell's resource blocks.
const LEAST_USED_PERCENT: f64 = 95.0;
/// The least ratio of the round trips without and with the xApp.
const LEAST_RATIO: f64 = 4.0;
/// The steps of a distribution.
const STEPS: usize = 100;
/// The RLC buffers over which figure 11c is shown.
const BUFFERS_OCTETS: [u32; 4] = [250_000, 500_000, RLC_BUFFER_OCTETS, 2_000_000];
/// The range of the paper's round trips without the greedy flow, 20 to 40 ms, read from a plot.
const ALONE_MS: std::ops::RangeInclusive<f64> = 19.0..=41.0;

const PAPER: &str = "OAI NR, a 5G phone; irtt as a G.711 call of a minute (172 octets each 20 ms, echoed), iperf3 with CUBIC from its \
                     fifth second on; an xApp reads RLC's and TC's statistics and controls TC over REST";
const DIFFERS: [&str; 3] = [
    "the radio is a model without losses; one UE at MCS 20, 61 Mbit/s; 5 ms each way between cell and server",
    "TCP is a model of CUBIC with HyStart++, with a receive buffer of 6 MiB",
    "the call is exactly periodic, and changes its phase relative to the cell's frames each second until the greedy flow starts, \
     then each five: the wait for a scheduling request depends on it, up to 20 ms (40 slots, as in OAI)",
];
const OURS: &str = "the emulated RAN over E2 and TCP: 106 PRBs, 30 kHz, TDD; an RLC buffer of 1 MB (131 ms of the cell), a TC queue \
                    of 1 MiB; statistics each 10 ms over the RIC's link for xApps. The model advances in steps of 10 ms, and pauses while \
                    the xApp reads and REST executes its actions: each action takes effect at once, and the next follows when a \
                    report shows it. Round trips are measured at the ends of the call";

const LIVE: &str = "the emulated RAN over E2 and TCP, in real time: 106 PRBs, 30 kHz, TDD; an RLC buffer of 1 MB (131 ms of the cell), a TC \
                    queue of 1 MiB; the UE and the core are network namespaces, in which irtt and iperf3 with the kernel's CUBIC run; \
                    statistics each 10 ms over the RIC's link for xApps. Round trips are those of irtt";
const LIVE_DIFFERS: [&str; 2] = [
    "the radio is a model without losses; one UE at MCS 20, 61 Mbit/s; no delay between cell and server",
    "irtt and the cell use one clock, so that all packets of a call have the same phase relative to the cell's frames: the wait for \
     a scheduling request, up to 20 ms (40 slots, as in OAI), is similar for all packets and differs between runs",
];

/// Adds the setting and the timing of live mode.
fn in_setting(context: &Context<'_>, calls: &[&Call], mut report: FigureReport) -> FigureReport {
    if context.mode.is_live() {
        report.setting = Setting { paper: PAPER, ours: LIVE, differs: LIVE_DIFFERS.to_vec() };
    }
    calls.iter().filter_map(|call| call.punctuality).for_each(|punctuality| report.judge(punctuality));
    report
}

/// The length of the call: a minute for points of two seconds.
fn call_s(context: &Context<'_>) -> f64 {
    GREEDY_S + 55.0 / 2.0 * context.seconds
}

const SOJOURNS: [&str; 4] = ["time_s", "rlc_ms", "tc_queue_0_ms", "tc_queue_1_ms"];

fn sojourns(call: &Call) -> Table {
    let mut table = Table::new(SOJOURNS);
    for Sojourn { at_s, rlc_ms, tc_ms: [first, second] } in &call.sojourns {
        table.row([Cell::from(*at_s), (*rlc_ms).into(), (*first).into(), (*second).into()]);
    }
    table
}

fn sojourn_summary(call: &Call) -> Table {
    let mut table = Table::new(["sojourn time in", "median_ms_with_greedy_flow"]);
    for (what, ms) in [
        ("RLC", call.median_ms(|sojourn| Some(sojourn.rlc_ms))),
        ("TC, first queue", call.median_ms(|sojourn| sojourn.tc_ms[0])),
        ("TC, the call's queue", call.median_ms(|sojourn| sojourn.tc_ms[1])),
        ("the call, in RLC and TC", call.median_ms(|sojourn| Some(of_call_ms(sojourn)))),
    ] {
        table.row([what.into(), ms.into()]);
    }
    table
}

/// The total sojourn time of the call's packets.
fn of_call_ms(sojourn: &Sojourn) -> f64 {
    let [first, second] = sojourn.tc_ms;
    sojourn.rlc_ms + second.or(first).unwrap_or(0.0)
}

fn sojourn_plot(title: &str, values: &Table, actions: &[(f64, String)]) -> Plot {
    let names = ["RLC", "TC, first queue", "TC, the call's queue"];
    let series = names.iter().zip(&SOJOURNS[1..]).map(|(name, of)| values.series(name, Some("time_s"), of));
    let series = series.filter(|series| !series.points.is_empty()).collect();
    let mut marks =
        vec![Mark { at: 0.0, name: "call".into() }, Mark { at: GREEDY_S, name: "greedy flow starts".into() }];
    let acted = actions.last().map(|(at_s, _)| Mark { at: *at_s, name: "xApp: queue, filter, pacer".into() });
    marks.extend(acted);
    let (x, y_label) = (X::Numbers("time, s".into()), "sojourn time, ms".into());
    Plot { title: title.into(), panels: vec![Panel { x, y_label, series, marks }] }
}

pub(in super::super) fn fig11a(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let call = call(&CallSetting::new(call_s(context), false), context.mode)?;
    Ok(in_setting(context, &[&call], without_control(&call)))
}

pub(super) fn without_control(call: &Call) -> FigureReport {
    let values = sojourns(call);
    let limit_ms = LIMIT.as_secs_f64() * 1e3;
    let rlc_ms = call.median_ms(|sojourn| Some(sojourn.rlc_ms));
    let (in_call, used) = (call.median_ms(|sojourn| Some(of_call_ms(sojourn))), call.used_percent());
    FigureReport {
        figure: Figure::Fig11a,
        setting: Setting { paper: PAPER, ours: OURS, differs: DIFFERS.to_vec() },
        plot: sojourn_plot("Fig. 11a: sojourn times, TC transparent", &values, &[]),
        claim: "TCP fills the last buffer before the bottleneck, that of RLC, in which the call's packets wait too",
        judged: "while the greedy flow runs, the median sojourn time in RLC is at least 4 times the 20 ms that the call may wait, and \
                 TC adds less than a tenth of it; at least 95 % of the resource blocks are used",
        statements: Vec::new(),
        holds: Some(rlc_ms >= LEAST_RATIO * limit_ms && in_call < 1.1 * rlc_ms && used >= LEAST_USED_PERCENT),
        notes: vec![format!(
            "Measured: packets wait for {rlc_ms:.1} ms in RLC, and for {:.1} ms in TC; {used:.1} % of the resource blocks are used.",
            in_call - rlc_ms
        )],
        summary: Some(sojourn_summary(call)),
        samples: None,
        course: None,
        values,
    }
}

pub(in super::super) fn fig11b(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let setting = CallSetting::new(call_s(context), true);
    let steady = call(&setting, context.mode)?;
    if context.mode.is_live() {
        return Ok(in_setting(context, &[&steady], with_control(&steady, None)));
    }
    let varying = call(&CallSetting { is_varying: true, ..setting }, context.mode)?;
    Ok(with_control(&steady, Some(&varying)))
}

/// Judges a call with the xApp, and one on a channel that varies.
pub(super) fn with_control(call: &Call, varying: Option<&Call>) -> FigureReport {
    let values = sojourns(call);
    let statements = control_statements(call, varying);
    FigureReport {
        figure: Figure::Fig11b,
        setting: Setting { paper: PAPER, ours: OURS, differs: DIFFERS.to_vec() },
        plot: sojourn_plot("Fig. 11b: sojourn times, two queues and a 5G-BDP pacer", &values, &call.actions),
        claim: "a second queue, a 5-tuple filter and a 5G-BDP pacer keep RLC's buffer short and the call's packets out of the \
                queue of the greedy flow, which still fills the cell",
        judged: "statement by statement, from a second after the xApp's last action on; the claim holds if all do",
        holds: Statement::all(&statements),
        statements,
        notes: call.actions.iter().map(|(at_s, what)| format!("At {at_s:.2} s: {what}.")).collect(),
        summary: Some(sojourn_summary(call)),
        samples: None,
        course: None,
        values,
    }
}

/// What section 6.1.1 says about Fig. 11b.
fn control_statements(call: &Call, varying: Option<&Call>) -> Vec<Statement> {
    /// Most packets.
    const MOST: f64 = 0.95;
    let limit_ms = LIMIT.as_secs_f64() * 1e3;
    let rlc_ms = |call: &Call, quantile: f64| call.quantile_ms(quantile, |sojourn| Some(sojourn.rlc_ms));
    let greedy_ms = call.quantile_ms(0.5, |sojourn| sojourn.tc_ms[0]);
    let of_call = |quantile: f64| call.quantile_ms(quantile, |sojourn| Some(of_call_ms(sojourn)));
    let (most_ms, median_ms) = (of_call(MOST), of_call(0.5));
    let of_varying = |varying: &Call| {
        let (rlc_ms, used) = (rlc_ms(varying, MOST), varying.used_percent());
        (format!("{used:.1} %, and {rlc_ms:.1} ms"), rlc_ms <= limit_ms && used >= LEAST_USED_PERCENT)
    };
    let done = call.actions.iter().filter(|(_, what)| what.starts_with("done: ")).count();
    let (measured, holds) = match varying.map(of_varying) {
        Some((measured, holds)) => (measured, Some(holds)),
        None => ("not measured in live mode".to_owned(), None),
    };
    vec![
        Statement::new(
            "once the packets of the call wait for longer than the limit, the xApp takes three actions: a queue, a filter, a pacer",
            format!("{done} actions"),
            done == 3 && call.actions.iter().all(|(at_s, _)| *at_s >= GREEDY_S),
        ),
        Statement::new(
            "the pacer keeps the buffer of RLC uncongested (95 % of the samples within the 20 ms that the call may wait)",
            format!("{:.1} ms", rlc_ms(call, MOST)),
            rlc_ms(call, MOST) <= limit_ms,
        ),
        Statement::new(
            "it backlogs the packets in TC: those of the greedy flow wait there (by medians, at least four times as long as in RLC)",
            format!("{greedy_ms:.1} ms in TC, {:.1} ms in RLC", rlc_ms(call, 0.5)),
            greedy_ms >= LEAST_RATIO * rlc_ms(call, 0.5),
        ),
        Statement::new(
            "almost all resource blocks are used (at least 95 %)",
            format!("{:.1} %", call.used_percent()),
            call.used_percent() >= LEAST_USED_PERCENT,
        ),
        Statement::new("the same, and an uncongested buffer of RLC, also on a channel that varies", measured, holds),
        Statement::new(
            "the second queue spares the packets of the call large sojourn times (95 % of the samples, in TC and RLC, within the 20 ms)",
            format!("{most_ms:.1} ms, the median {median_ms:.1} ms"),
            most_ms <= limit_ms,
        ),
        Statement::new(
            "bufferbloat is left to flows that share a queue with the greedy one (by medians, at least four times the call's sojourn time)",
            format!("{greedy_ms:.1} ms and {median_ms:.1} ms"),
            greedy_ms >= LEAST_RATIO * median_ms,
        ),
    ]
}

/// The calls without and with the xApp, and their RLC buffer.
pub(super) struct Pair {
    pub buffer_octets: u32,
    pub without: Call,
    pub with: Call,
}

impl Pair {
    fn medians_ms(&self) -> [f64; 2] {
        [&self.without, &self.with].map(|call| median_ms(&call.round_trips(true)))
    }

    fn ratio(&self) -> f64 {
        let [without, with] = self.medians_ms();
        without / with
    }
}

fn median_ms(round_trips: &[(f64, f64)]) -> f64 {
    bench::median(round_trips.iter().map(|(_, ms)| *ms).collect())
}

pub(in super::super) fn fig11c(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let pair = |buffer_octets: u32| {
        let of = |is_controlled: bool| {
            let setting = CallSetting::new(call_s(context), is_controlled);
            call(&CallSetting { rlc_buffer_octets: buffer_octets, ..setting }, context.mode)
        };
        anyhow::Ok(Pair { buffer_octets, without: of(false)?, with: of(true)? })
    };
    // in live mode each call takes its time
    let buffers = if context.mode.is_live() { &[RLC_BUFFER_OCTETS][..] } else { &BUFFERS_OCTETS };
    let pairs = buffers.iter().map(|octets| pair(*octets)).collect::<anyhow::Result<Vec<_>>>()?;
    let calls: Vec<&Call> = pairs.iter().flat_map(|pair| [&pair.without, &pair.with]).collect();
    Ok(in_setting(context, &calls, round_trips(&pairs)))
}

/// The quantiles at equal steps, from the minimum to the maximum.
fn distribution_ms(round_trips: &[(f64, f64)]) -> Vec<Option<f64>> {
    let mut sorted: Vec<f64> = round_trips.iter().map(|(_, ms)| *ms).collect();
    sorted.sort_by(f64::total_cmp);
    let place = |step: usize| step * sorted.len().saturating_sub(1) / STEPS;
    (0..=STEPS).map(|step| sorted.get(place(step)).copied()).collect()
}

/// The call on which the verdict rests: the one with the default buffer.
fn decisive(pairs: &[Pair]) -> &Pair {
    let with_default = pairs.iter().find(|pair| pair.buffer_octets == RLC_BUFFER_OCTETS);
    with_default.unwrap_or_else(|| panic!("the verdict rests on a buffer of {RLC_BUFFER_OCTETS} octets"))
}

/// Judges pairs of calls, of which one has the default buffer.
pub(super) fn round_trips(pairs: &[Pair]) -> FigureReport {
    let Pair { without, with, .. } = decisive(pairs);
    let cases = [
        ("alone", without.round_trips(false), "alone_rtt_ms"),
        ("without control", without.round_trips(true), "without_control_rtt_ms"),
        ("with the xApp", with.round_trips(true), "with_xapp_rtt_ms"),
    ];
    let mut values = Table::new(["cdf"].into_iter().chain(cases.iter().map(|(.., column)| *column)));
    let distributions: Vec<_> = cases.iter().map(|(_, times, _)| distribution_ms(times)).collect();
    for step in 0..=STEPS {
        let of = distributions.iter().map(|distribution| Cell::from(distribution[step]));
        values.row([Cell::from(step as f64 / STEPS as f64)].into_iter().chain(of));
    }
    let statements = round_trip_statements(pairs);
    let mut notes = Vec::new();
    if median_ms(&cases[0].1) > median_ms(&cases[2].1) {
        notes.push(
            "Alone, the call takes longer than with the xApp: its echo needs a scheduling request, possible each 20 ms, while the \
             acknowledgements of the greedy flow keep uplink grants coming."
                .to_owned(),
        );
    }
    let distribution = Panel {
        x: X::Numbers("round-trip time of the call, ms".into()),
        y_label: "CDF".into(),
        series: cases.iter().map(|(name, times, _)| Series::cdf(*name, times.iter().map(|(_, ms)| *ms))).collect(),
        marks: Vec::new(),
    };
    FigureReport {
        figure: Figure::Fig11c,
        setting: Setting { paper: PAPER, ours: OURS, differs: DIFFERS.to_vec() },
        plot: Plot {
            title: "Fig. 11c: round trips of a call beside a greedy flow".into(),
            panels: [distribution].into_iter().chain(over_buffers(pairs)).collect(),
        },
        claim: "with the xApp the round trips of the call take a quarter of the time, and the cell stays almost fully used",
        judged: "statement by statement, by medians while the greedy flow runs, with an RLC buffer of 1 MB, the default of scenarios: the \
                 paper states none, and the ratio grows with it; the claim holds if all do",
        holds: Statement::all(&statements),
        statements,
        notes,
        summary: Some(summary(pairs)),
        samples: Some(samples(pairs)),
        course: None,
        values,
    }
}

/// What section 6.1.1 says about Fig. 11c.
fn round_trip_statements(pairs: &[Pair]) -> Vec<Statement> {
    let pair = decisive(pairs);
    let Pair { without, with, .. } = pair;
    let [without_ms, with_ms] = pair.medians_ms();
    let of_buffer = |pair: &Pair| format!("{:.1} with {} kB", pair.ratio(), pair.buffer_octets / 1000);
    let ratios: Vec<_> = pairs.iter().map(of_buffer).collect();
    let used = [without, with].map(Call::used_percent);
    let alone = distribution_ms(&without.round_trips(false));
    let [least_ms, greatest_ms] = [0, STEPS].map(|step| alone[step].unwrap_or(f64::NAN));
    let down_ms = without.median_ms(|sojourn| Some(of_call_ms(sojourn)));
    vec![
        Statement::new(
            "the round trips of the call are in the order of four times shorter with the xApp (at least four times, with 1 MB)",
            format!("{without_ms:.1} ms and {with_ms:.1} ms; over the RLC buffer: {} times", ratios.join(", ")),
            pair.ratio() >= LEAST_RATIO,
        ),
        Statement::new(
            "almost all resource blocks are used (at least 95 %, with and without the xApp)",
            format!("{:.1} % without and {:.1} % with it", used[0], used[1]),
            used.into_iter().all(|percent| percent >= LEAST_USED_PERCENT),
        ),
        Statement::new(
            "without control the largest part of the delay is that of the downlink (more than half of the median)",
            format!("{down_ms:.1} of {without_ms:.1} ms in TC and RLC"),
            down_ms > without_ms / 2.0,
        ),
        Statement::new(
            "without the greedy flow the round trip varies between 20 and 40 ms (within 1 ms of these)",
            format!("{least_ms:.1} to {greatest_ms:.1} ms"),
            ALONE_MS.contains(&least_ms) && ALONE_MS.contains(&greatest_ms),
        ),
    ]
}

/// The median round trips over the RLC buffer, if several were measured.
fn over_buffers(pairs: &[Pair]) -> Option<Panel> {
    let series = |name: &str, at: usize| {
        let point = |pair: &Pair| (f64::from(pair.buffer_octets) / 1e6, pair.medians_ms()[at]);
        Series::new(name, pairs.iter().map(point).collect())
    };
    (pairs.len() > 1).then(|| Panel {
        x: X::Numbers("RLC buffer, MB".into()),
        y_label: "median round-trip time, ms".into(),
        // names and styles are those of the distributions
        series: vec![series("without control", 0), series("with the xApp", 1)],
        marks: Vec::new(),
    })
}

fn summary(pairs: &[Pair]) -> Table {
    let columns = ["call", "rlc_buffer_kb", "round_trips", "p50_ms", "p95_ms", "max_ms", "used_prbs_percent"];
    let mut summary = Table::new(columns);
    for Pair { buffer_octets, without, with } in pairs {
        for (name, call, is_loaded) in
            [("alone", without, false), ("without control", without, true), ("with the xApp", with, true)]
        {
            let (times, used) = (call.round_trips(is_loaded), is_loaded.then(|| call.used_percent()));
            let distribution = distribution_ms(&times);
            let mut row = vec![Cell::from(name), (f64::from(*buffer_octets) / 1e3).into(), (times.len() as f64).into()];
            row.extend([50, 95, 100].map(|percent: usize| Cell::from(distribution[percent])));
            row.push(used.into());
            summary.row(row);
        }
    }
    summary
}

fn samples(pairs: &[Pair]) -> Table {
    let mut samples = Table::new(["call", "rlc_buffer_octets", "time_s", "rtt_ms"]);
    for Pair { buffer_octets, without, with } in pairs {
        for (name, round_trips) in [
            ("alone", without.round_trips(false)),
            ("without control", without.round_trips(true)),
            ("with the xApp", with.round_trips(true)),
        ] {
            for (time_s, ms) in round_trips {
                samples.row([Cell::from(name), f64::from(*buffer_octets).into(), time_s.into(), ms.into()]);
            }
        }
    }
    samples
}
