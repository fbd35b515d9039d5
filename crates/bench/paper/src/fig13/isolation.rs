//! Figure 13a: the share of UE 1 does not depend on other UEs.

use radio::Time;
use ran::Scenario;

use super::super::table::{Cell, Table};
use super::super::{Context, Figure, FigureReport, Setting};
use super::{Event, Measured, PHASE, TOLERANCE_POINTS, Throughput, at, measure, scenario, ue};
use crate::plot::{Mark, Panel, Plot, X};

const LIVE: &str = "the emulated RAN over E2 and TCP: 106 PRBs, 30 kHz, TDD, MCS 20, one layer, in real time; UEs are network \
                    namespaces, to each of which iperf3 sends 65 Mbit/s of UDP; slices and their rules over REST at the slicing \
                    controller; MAC's statistics from an xApp. The first tenth of each phase is not evaluated";

/// The event at the start of each phase, and UE 1's configured share.
const PHASES: [(&str, Option<u8>); 5] = [
    ("two UEs, no slices", None),
    ("a third UE arrives", None),
    ("slices 50/50", Some(50)),
    ("slices 66/34", Some(66)),
    ("a fourth UE arrives", Some(66)),
];
const UES: usize = 4;
const NAMES: [&str; UES] = ["UE 1", "UE 2", "UE 3", "UE 4"];

/// The scenario with phases of `phase_s`.
pub(super) fn scenario_of(phase_s: f64) -> Scenario {
    let always = |slice, arrives: Time| ue(slice, arrives, &[(arrives, Time::NEVER)]);
    let begin = Time::START;
    let (third, fourth) = (at(phase_s), at(4.0 * phase_s));
    scenario(vec![always(1, begin), always(2, begin), always(2, third), always(2, fourth)])
}

/// The throughput of the UEs in all phases.
pub(super) struct Isolation {
    pub throughput: Throughput,
    pub phase_s: f64,
}

/// A phase without its first tenth.
struct Phase {
    mbps: [f64; UES],
    share_percent: f64,
    /// The largest deviation of UE 1's share from the configured one.
    max_deviation_points: Option<f64>,
}

impl Isolation {
    /// A tenth of a phase.
    fn bin_s(&self) -> f64 {
        self.phase_s / 10.0
    }

    /// The throughputs in each tenth of a phase.
    fn bins(&self, phase: usize) -> impl Iterator<Item = (f64, [f64; UES])> + '_ {
        (0..10).map(move |bin| {
            let from_s = phase as f64 * self.phase_s + f64::from(bin) * self.bin_s();
            let at = |seconds| super::LEAD_S + seconds;
            (from_s + self.bin_s() / 2.0, self.throughput.mbps(at(from_s), at(from_s + self.bin_s())))
        })
    }

    fn phase(&self, phase: usize) -> Phase {
        // without the first tenth, in which the change takes effect
        let settled: Vec<[f64; UES]> = self.bins(phase).skip(1).map(|(_, mbps)| mbps).collect();
        let max_deviation = |configured: u8| {
            settled.iter().map(|mbps| (share_percent(mbps) - f64::from(configured)).abs()).fold(0.0, f64::max)
        };
        let mbps = std::array::from_fn(|ue| settled.iter().map(|mbps| mbps[ue]).sum::<f64>() / settled.len() as f64);
        Phase { mbps, share_percent: share_percent(&mbps), max_deviation_points: PHASES[phase].1.map(max_deviation) }
    }

    fn phases(&self) -> [Phase; PHASES.len()] {
        std::array::from_fn(|phase| self.phase(phase))
    }
}

/// UE 1's share of the total throughput; 0 without any.
fn share_percent(mbps: &[f64; UES]) -> f64 {
    let sum: f64 = mbps.iter().sum();
    if sum > 0.0 { 100.0 * mbps[0] / sum } else { 0.0 }
}

/// The throughput of a UE; empty before it arrives, since all present UEs receive data.
fn throughput_cell(mbps: f64) -> Cell {
    Some(mbps).filter(|mbps| *mbps > 0.0).into()
}

/// The largest deviation in the phases with a configured share.
fn max_deviation_points(phases: &[Phase]) -> f64 {
    phases.iter().filter_map(|phase| phase.max_deviation_points).fold(0.0, f64::max)
}

pub(in super::super) fn fig13a(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let phase_s = context.seconds * PHASE;
    let deploy = |percent: [u8; 2]| Event::Deploy { percent, sharing: true };
    let Measured { throughput, punctuality } = measure(
        scenario_of(phase_s),
        context.mode,
        vec![(2.0 * phase_s, deploy([50, 50])), (2.0 * phase_s, Event::Associate), (3.0 * phase_s, deploy([66, 34]))],
        PHASES.len() as f64 * phase_s,
    )?;
    let mut report = report(&Isolation { throughput, phase_s });
    if let Some(punctuality) = punctuality {
        report.setting.ours = LIVE;
        report.judge(punctuality);
    }
    Ok(report)
}

pub(super) fn report(measured: &Isolation) -> FigureReport {
    let mbps_columns = ["ue_1_mbps", "ue_2_mbps", "ue_3_mbps", "ue_4_mbps"];
    let columns = [&["time_s", "time"][..], &mbps_columns, &["ue_1_share_percent"]].concat();
    let mut values = Table::new(columns);
    for phase in 0..PHASES.len() {
        for (middle_s, mbps) in measured.bins(phase) {
            let share = share_percent(&mbps);
            let mbps = mbps.map(throughput_cell);
            values.row([middle_s, phase as f64 + 1.0].map(Cell::from).into_iter().chain(mbps).chain([share.into()]));
        }
    }
    let columns =
        [&["time", "what"][..], &mbps_columns, &["ue_1_share_percent", "configured_percent", "max_deviation_points"]];
    let mut summary = Table::new(columns.concat());
    let phases = measured.phases();
    for (number, (phase, (what, configured))) in (1..).zip(phases.iter().zip(PHASES)) {
        let mut row = vec![Cell::from(f64::from(number)), what.into()];
        row.extend(phase.mbps.map(throughput_cell));
        let configured = configured.map(f64::from);
        row.extend([Some(phase.share_percent), configured, phase.max_deviation_points].map(Cell::from));
        summary.row(row);
    }
    let max_deviation = max_deviation_points(&phases);
    let series = NAMES.iter().zip(mbps_columns).map(|(name, column)| values.series(name, Some("time_s"), column));
    let marks =
        (0..PHASES.len()).map(|phase| Mark { at: phase as f64 * measured.phase_s, name: (phase + 1).to_string() });
    let panel = Panel {
        x: X::Numbers("time, s".into()),
        y_label: "throughput, Mbit/s".into(),
        series: series.collect(),
        marks: marks.collect(),
    };
    FigureReport {
        figure: Figure::Fig13a,
        setting: Setting {
            paper: "OAI NR, 106 PRBs (40 MHz of 30 kHz) in band 78, MCS 20; three phones that receive more than the cell \
                    carries from iperf; an xApp of curl deploys NVS slices over REST; proportional fair within a slice",
            ours: "the emulated RAN over E2 and TCP: 106 PRBs, 30 kHz, TDD, MCS 20, one layer; 65 Mbit/s sent to each UE; slices \
                   and their rules over REST at the slicing controller; MAC's statistics from an xApp. The model advances in \
                   steps of 10 ms, and pauses until a control is acknowledged. The first tenth of each phase is not evaluated",
            differs: vec![
                "the radio is a model without losses",
                "a fifth phase: a fourth UE arrives and is associated with slice 2 by its S-NSSAI",
            ],
        },
        plot: Plot { title: "Fig. 13a: isolation; throughput of UEs in slices".into(), panels: vec![panel] },
        claim: "a slice gives UE 1 half of the cell, then 66 %, whatever the other UEs do",
        judged: "by its share of the total throughput in each tenth of a phase but the first: within 2 points of the configured share",
        holds: Some(max_deviation <= TOLERANCE_POINTS),
        notes: vec![format!(
            "Measured: UE 1 has {:.1} % of the throughput among three equal UEs, then {:.1} %, {:.1} % and {:.1} % in its \
             slice, with a deviation of at most {max_deviation:.2} points.",
            phases[1].share_percent, phases[2].share_percent, phases[3].share_percent, phases[4].share_percent,
        )],
        values,
        summary: Some(summary),
    }
}
