//! Figure 13b: resources of the idle black slice are unused without sharing, and given to the gray slice with it.

use radio::Time;
use ran::Scenario;

use super::super::table::{Cell, Table};
use super::super::{Context, Figure, FigureReport, Setting};
use super::{Event, LEAD_S, Measured, PHASE, TOLERANCE_POINTS, Throughput, at, measure, scenario, ue};
use plot::{Mark, Panel, Plot, X};

const UES: usize = 2;
const NAMES: [&str; UES] = ["gray UE, 66 %", "black UE, 34 %"];
const GRAY_PERCENT: u8 = 66;
/// The least fraction of the possible gain.
const LEAST_GAIN: f64 = 0.95;
/// The black UE receives, is idle, and receives again.
const PHASES: usize = 3;
/// The points of a phase.
const BINS: usize = 10;
/// The start of a phase, at most half of it, that is not evaluated: the queue of the black UE is emptied first.
const SETTLES_S: f64 = 1.0;

const LIVE: &str = "as in figure 13a, live: UEs are network namespaces, and iperf3 sends 65 Mbit/s of UDP to each that receives; slices over \
                    REST (`\"sharing\": false` is the scheduler NVS-PARTITION, `true` is NVS), MAC's statistics from an xApp. The first \
                    second of a phase, in which the black UE's queue is emptied, is not evaluated";

/// The scenario with phases of `phase_s`.
pub(super) fn scenario_of(phase_s: f64) -> Scenario {
    let busy = [(Time::START, at(phase_s)), (at(2.0 * phase_s), Time::NEVER)];
    scenario(vec![ue(1, Time::START, &[(Time::START, Time::NEVER)]), ue(2, Time::START, &busy)])
}

/// The throughput of the UEs with or without sharing.
pub(super) struct Run {
    pub throughput: Throughput,
    pub phase_s: f64,
}

impl Run {
    fn mbps(&self, from_s: f64, to_s: f64) -> [f64; UES] {
        self.throughput.mbps(LEAD_S + from_s, LEAD_S + to_s)
    }

    /// The throughput in a phase, without its start.
    fn phase(&self, phase: usize) -> [f64; UES] {
        let begin_s = phase as f64 * self.phase_s;
        self.mbps(begin_s + SETTLES_S.min(self.phase_s / 2.0), begin_s + self.phase_s)
    }

    fn bins(&self) -> impl Iterator<Item = (f64, [f64; UES])> + '_ {
        let bin_s = self.phase_s / BINS as f64;
        (0..PHASES * BINS).map(move |bin| {
            let from_s = bin as f64 * bin_s;
            (from_s + bin_s / 2.0, self.mbps(from_s, from_s + bin_s))
        })
    }
}

/// The comparison of both runs.
struct Verdict {
    /// The throughput of the cell while both UEs receive.
    cell_mbps: f64,
    /// The gray UE's share while the black one receives, without and with sharing.
    busy_percent: [f64; 2],
    /// The gray UE's share while the black one is idle, without and with sharing.
    idle_percent: [f64; 2],
    /// The gray UE's gain by sharing, as a fraction of the largest possible gain.
    gain: f64,
}

impl Verdict {
    fn of([without, with]: [&Run; 2]) -> Self {
        let total = |run: &Run| run.phase(0).iter().sum::<f64>();
        let percent = |run: &Run, phase: usize| 100.0 * run.phase(phase)[0] / total(run);
        let idle = [without, with].map(|run| percent(run, 1));
        Verdict {
            cell_mbps: total(with),
            busy_percent: [without, with].map(|run| percent(run, 0)),
            idle_percent: idle,
            gain: (idle[1] - idle[0]) / (100.0 - idle[0]),
        }
    }

    /// Whether the claim holds; a comparison with NaN fails.
    fn holds(&self) -> bool {
        let expected = f64::from(GRAY_PERCENT);
        let is_kept = |percent: f64| (percent - expected).abs() <= TOLERANCE_POINTS;
        self.busy_percent.into_iter().all(is_kept) && is_kept(self.idle_percent[0]) && self.gain >= LEAST_GAIN
    }
}

pub(in super::super) fn fig13b(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let phase_s = context.seconds * PHASE;
    let run = |sharing: bool| {
        let before_s = -LEAD_S / 4.0;
        let events = vec![
            (before_s, Event::Deploy { percent: [GRAY_PERCENT, 100 - GRAY_PERCENT], sharing }),
            (before_s, Event::Associate),
        ];
        let Measured { throughput, punctuality } =
            measure(scenario_of(phase_s), context.mode, events, PHASES as f64 * phase_s)?;
        anyhow::Ok((Run { throughput, phase_s }, punctuality))
    };
    let ((without, in_time), (with, in_time_too)) = (run(false)?, run(true)?);
    let mut report = report([&without, &with]);
    if context.mode.is_live() {
        report.setting.ours = LIVE;
    }
    [in_time, in_time_too].into_iter().flatten().for_each(|punctuality| report.judge(punctuality));
    Ok(report)
}

pub(super) fn report(runs: [&Run; 2]) -> FigureReport {
    let columns = [["gray_alone_mbps", "black_alone_mbps"], ["gray_sharing_mbps", "black_sharing_mbps"]];
    let mut values = Table::new(["time_s"].into_iter().chain(columns.into_iter().flatten()));
    for ((time_s, without), (_, with)) in runs[0].bins().zip(runs[1].bins()) {
        values.row([time_s].into_iter().chain(without).chain(with).map(Cell::from));
    }
    let mut summary = Table::new(["black UE", "sharing", "gray_mbps", "black_mbps", "gray_percent_of_cell"]);
    let verdict = Verdict::of(runs);
    for (phase, what) in ["receives", "is idle", "receives again"].into_iter().enumerate() {
        for (run, sharing) in runs.into_iter().zip(["no", "yes"]) {
            let [gray, black] = run.phase(phase);
            let percent = 100.0 * gray / verdict.cell_mbps;
            summary.row([what.into(), sharing.into(), gray.into(), black.into(), percent.into()]);
        }
    }
    let panel = |at: usize, what: &str| Panel {
        x: X::Numbers(format!("time, s ({what})")),
        y_label: "throughput, Mbit/s".into(),
        series: std::iter::zip(NAMES, columns[at]).map(|(name, of)| values.series(name, Some("time_s"), of)).collect(),
        marks: vec![
            Mark { at: 0.0, name: "both receive".into() },
            Mark { at: runs[at].phase_s, name: "black UE is idle".into() },
            Mark { at: 2.0 * runs[at].phase_s, name: "both receive".into() },
        ],
    };
    let panels = vec![panel(0, "without sharing"), panel(1, "with sharing")];
    let Verdict { cell_mbps, idle_percent: [lost, shared], gain, .. } = verdict;
    FigureReport {
        figure: Figure::Fig13b,
        setting: Setting {
            paper: "the same cell; two phones in NVS slices of 66 % and 34 %; the second receives nothing for a while; without \
                    and with sharing",
            ours: "as in figure 13a: the emulated RAN over E2 and TCP, 65 Mbit/s to each UE that receives, slices by REST \
                   (`\"sharing\": false` is the scheduler NVS-PARTITION, `true` is NVS), MAC's statistics from an xApp. \
                   No controls during the measurement. The first second of a phase, in which the black UE's queue is emptied, is \
                   not evaluated",
            differs: vec!["the radio is a model without losses", "the two variants are measured one after the other"],
        },
        plot: Plot { title: "Fig. 13b: static and shared resources".into(), panels },
        claim: "without sharing the resources of an idle slice are unused; with sharing the other slice receives them, and half as \
                much again as before",
        judged: "without sharing the gray UE has 66 % of the cell, within 2 points, also while the black one is idle; with \
                 sharing it gains at least 95 % of the possible gain",
        statements: Vec::new(),
        holds: Some(verdict.holds()),
        notes: vec![format!(
            "Measured: the cell carries {cell_mbps:.1} Mbit/s. While the black UE is idle, the gray one has {lost:.1} % of that without \
             sharing and {shared:.1} % with it: {:.1} % of the possible gain.",
            100.0 * gain
        )],
        values,
        summary: Some(summary),
        samples: None,
        course: None,
    }
}
