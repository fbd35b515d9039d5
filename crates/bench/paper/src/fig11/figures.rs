//! The three figures of a call.

use hdrhistogram::Histogram;

use super::super::table::{Cell, Table};
use super::super::{Context, Figure, FigureReport, Setting};
use super::GREEDY_S;
use super::call::{Call, LIMIT, Sojourn, call};
use crate::plot::{Mark, Panel, Plot, X};

/// The least usage of the cell's resource blocks.
const LEAST_USED_PERCENT: f64 = 95.0;
/// The least ratio of the round trips without and with the xApp.
const LEAST_RATIO: f64 = 4.0;
/// The steps of a distribution.
const STEPS: usize = 100;

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
    let mut marks = vec![Mark { at: GREEDY_S, name: "greedy flow".into() }];
    marks.extend(actions.last().map(|(at_s, _)| Mark { at: *at_s, name: "xApp actions".into() }));
    let (x, y_label) = (X::Numbers("time, s".into()), "sojourn time, ms".into());
    Plot { title: title.into(), panels: vec![Panel { x, y_label, series, marks }] }
}

pub(in super::super) fn fig11a(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let call = call(call_s(context), false, context.mode)?;
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
        holds: Some(rlc_ms >= LEAST_RATIO * limit_ms && in_call < 1.1 * rlc_ms && used >= LEAST_USED_PERCENT),
        notes: vec![format!(
            "Measured: packets wait for {rlc_ms:.1} ms in RLC, and for {:.1} ms in TC; {used:.1} % of the resource blocks are used.",
            in_call - rlc_ms
        )],
        summary: Some(sojourn_summary(call)),
        values,
    }
}

pub(in super::super) fn fig11b(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let call = call(call_s(context), true, context.mode)?;
    Ok(in_setting(context, &[&call], with_control(&call)))
}

pub(super) fn with_control(call: &Call) -> FigureReport {
    let values = sojourns(call);
    let limit_ms = LIMIT.as_secs_f64() * 1e3;
    let (in_call, used) = (call.median_ms(|sojourn| Some(of_call_ms(sojourn))), call.used_percent());
    let (rlc_ms, first) = (call.median_ms(|sojourn| Some(sojourn.rlc_ms)), call.median_ms(|sojourn| sojourn.tc_ms[0]));
    let mut notes = vec![format!(
        "Measured: the call's packets wait for {in_call:.1} ms, {rlc_ms:.1} ms of them in RLC, and the greedy flow's for {first:.1} ms in \
         TC; {used:.1} % of the resource blocks are used."
    )];
    notes.extend(call.actions.iter().map(|(at_s, what)| format!("At {at_s:.2} s: {what}.")));
    FigureReport {
        figure: Figure::Fig11b,
        setting: Setting { paper: PAPER, ours: OURS, differs: DIFFERS.to_vec() },
        plot: sojourn_plot("Fig. 11b: sojourn times, two queues and a 5G-BDP pacer", &values, &call.actions),
        claim: "a second queue, a 5-tuple filter and a 5G-BDP pacer keep RLC's buffer short and the call's packets out of the \
                queue of the greedy flow, which still fills the cell",
        judged: "the median sojourn time of the call's packets in TC and RLC together is at most the 20 ms that they may wait, while the \
                 greedy flow runs; that of the greedy flow in TC is longer; at least 95 % of the resource blocks are used",
        holds: Some(in_call <= limit_ms && first > in_call && used >= LEAST_USED_PERCENT),
        notes,
        summary: Some(sojourn_summary(call)),
        values,
    }
}

pub(in super::super) fn fig11c(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let of = |is_controlled: bool| call(call_s(context), is_controlled, context.mode);
    let (without, with) = (of(false)?, of(true)?);
    Ok(in_setting(context, &[&without, &with], round_trips(&without, &with)))
}

/// The quantiles at equal steps, from the minimum to the maximum.
fn distribution_ms(times_ns: &Histogram<u64>) -> Vec<Option<f64>> {
    let quantile_ms = |quantile| times_ns.value_at_quantile(quantile) as f64 / 1e6;
    (0..=STEPS).map(|step| (!times_ns.is_empty()).then(|| quantile_ms(step as f64 / STEPS as f64))).collect()
}

pub(super) fn round_trips(without: &Call, with: &Call) -> FigureReport {
    let cases = [
        ("alone", without.round_trips_ns(false), "alone_rtt_ms"),
        ("without control", without.round_trips_ns(true), "without_control_rtt_ms"),
        ("with the xApp", with.round_trips_ns(true), "with_xapp_rtt_ms"),
    ];
    let mut values = Table::new(["cdf"].into_iter().chain(cases.iter().map(|(.., column)| *column)));
    let distributions: Vec<_> = cases.iter().map(|(_, times, _)| distribution_ms(times)).collect();
    for step in 0..=STEPS {
        let of = distributions.iter().map(|distribution| Cell::from(distribution[step]));
        values.row([Cell::from(step as f64 / STEPS as f64)].into_iter().chain(of));
    }
    let mut summary = Table::new(["call", "round_trips", "p50_ms", "p95_ms", "max_ms", "used_prbs_percent"]);
    let used = [without, with].map(Call::used_percent);
    for ((name, times, _), (distribution, used)) in
        cases.iter().zip(distributions.iter().zip([None, Some(used[0]), Some(used[1])]))
    {
        let at = |percent: usize| Cell::from(distribution[percent]);
        summary.row([(*name).into(), (times.len() as f64).into(), at(50), at(95), at(100), used.into()]);
    }
    let [alone_ms, without_ms, with_ms] = [0, 1, 2].map(|case| distributions[case][STEPS / 2].unwrap_or(f64::NAN));
    let ratio = without_ms / with_ms;
    let panel = Panel {
        x: X::Numbers("round-trip time of the call, ms".into()),
        y_label: "CDF".into(),
        series: cases.iter().map(|(name, _, column)| values.series(name, Some(column), "cdf")).collect(),
        marks: Vec::new(),
    };
    let [used_without, used_with] = used;
    let mut notes = vec![format!(
        "Measured: the median is {without_ms:.1} ms without control and {with_ms:.1} ms with it, {ratio:.1} times shorter; \
         {used_without:.1} % and {used_with:.1} % of the resource blocks are used."
    )];
    if alone_ms > with_ms {
        notes.push(
            "Alone, the call takes longer than with the xApp: its echo needs a scheduling request, possible each 20 ms, while the \
             acknowledgements of the greedy flow keep uplink grants coming."
                .to_owned(),
        );
    }
    FigureReport {
        figure: Figure::Fig11c,
        setting: Setting { paper: PAPER, ours: OURS, differs: DIFFERS.to_vec() },
        plot: Plot { title: "Fig. 11c: round trips of a call beside a greedy flow".into(), panels: vec![panel] },
        claim: "with the xApp the round trips of the call take a quarter of the time, and the cell stays almost fully used",
        judged: "the median round trip while the greedy flow runs is at least 4 times shorter; at least 95 % of the resource \
                 blocks are used in both cases",
        holds: Some(ratio >= LEAST_RATIO && used.into_iter().all(|percent| percent >= LEAST_USED_PERCENT)),
        notes,
        summary: Some(summary),
        values,
    }
}
