//! Figure 13a: the white UE keeps its share, whoever comes.

use radio::Time;
use ran::Scenario;

use super::super::table::{Cell, Table};
use super::super::{Context, Figure, FigureReport, Setting};
use super::{Event, Measured, PHASE, TOLERANCE_POINTS, Throughput, at, measure, scenario, ue};
use crate::plot::{Mark, Panel, Plot, X};

const LIVE: &str = "the emulated RAN over E2 and TCP: 106 PRBs, 30 kHz, TDD, MCS 20, one layer, in time; UEs are network namespaces, \
                    to each of which iperf3 sends 65 Mbit/s of UDP; slices and their rules by REST at the slicing controller; MAC's \
                    statistics as an xApp reads them. The tenth of a phase after each change is left out";

/// What happens at each of the times, and what share the white UE is promised from then on.
const TIMES: [(&str, Option<u8>); 5] = [
    ("two UEs, no slices", None),
    ("a third UE arrives", None),
    ("slices 50/50", Some(50)),
    ("slices 66/34", Some(66)),
    ("a fourth UE arrives", Some(66)),
];
const UES: usize = 4;
const NAMES: [&str; UES] = ["white UE", "UE 2", "UE 3", "UE 4"];

/// The times are so far apart, in the model.
pub(super) fn scenario_of(phase_s: f64) -> Scenario {
    let always = |slice, arrives: Time| ue(slice, arrives, &[(arrives, Time::NEVER)]);
    let begin = Time::START;
    let (third, fourth) = (at(phase_s), at(4.0 * phase_s));
    scenario(vec![always(1, begin), always(2, begin), always(2, third), always(2, fourth)])
}

/// What the UEs had in each of short times.
pub(super) struct Isolation {
    pub throughput: Throughput,
    pub phase_s: f64,
}

/// Of a phase, once it has settled.
struct Phase {
    mbps: [f64; UES],
    share_percent: f64,
    /// How far the white UE's share was at most from what it is promised.
    farthest_points: Option<f64>,
}

impl Isolation {
    /// Ten of a phase.
    fn bin_s(&self) -> f64 {
        self.phase_s / 10.0
    }

    /// The throughputs in each short time of a phase, counted from 0.
    fn bins(&self, phase: usize) -> impl Iterator<Item = (f64, [f64; UES])> + '_ {
        (0..10).map(move |bin| {
            let from_s = phase as f64 * self.phase_s + f64::from(bin) * self.bin_s();
            let at = |seconds| super::LEAD_S + seconds;
            (from_s + self.bin_s() / 2.0, self.throughput.mbps(at(from_s), at(from_s + self.bin_s())))
        })
    }

    fn phase(&self, phase: usize) -> Phase {
        // the first is the change
        let settled: Vec<[f64; UES]> = self.bins(phase).skip(1).map(|(_, mbps)| mbps).collect();
        let farthest = |promised: u8| {
            settled.iter().map(|mbps| (share_percent(mbps) - f64::from(promised)).abs()).fold(0.0, f64::max)
        };
        let mbps = std::array::from_fn(|ue| settled.iter().map(|mbps| mbps[ue]).sum::<f64>() / settled.len() as f64);
        Phase { mbps, share_percent: share_percent(&mbps), farthest_points: TIMES[phase].1.map(farthest) }
    }

    fn phases(&self) -> [Phase; TIMES.len()] {
        std::array::from_fn(|phase| self.phase(phase))
    }
}

/// The white UE's part of all that was received; nothing of nothing.
fn share_percent(mbps: &[f64; UES]) -> f64 {
    let sum: f64 = mbps.iter().sum();
    if sum > 0.0 { 100.0 * mbps[0] / sum } else { 0.0 }
}

/// All UEs that are there receive something.
fn of_who_is_there(mbps: f64) -> Cell {
    Some(mbps).filter(|mbps| *mbps > 0.0).into()
}

/// How far the white UE's share was at most from what it was promised; nothing was promised in the first two phases.
fn farthest_points(phases: &[Phase]) -> f64 {
    phases.iter().filter_map(|phase| phase.farthest_points).fold(0.0, f64::max)
}

pub(in super::super) fn fig13a(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let phase_s = context.seconds * PHASE;
    let deploy = |percent: [u8; 2]| Event::Deploy { percent, sharing: true };
    let Measured { throughput, punctuality } = measure(
        scenario_of(phase_s),
        context.mode,
        vec![(2.0 * phase_s, deploy([50, 50])), (2.0 * phase_s, Event::Associate), (3.0 * phase_s, deploy([66, 34]))],
        TIMES.len() as f64 * phase_s,
    )?;
    let mut report = report(&Isolation { throughput, phase_s });
    if let Some(punctuality) = punctuality {
        report.setting.ours = LIVE;
        report.judge(punctuality);
    }
    Ok(report)
}

pub(super) fn report(measured: &Isolation) -> FigureReport {
    let mbps_columns = ["white_ue_mbps", "ue_2_mbps", "ue_3_mbps", "ue_4_mbps"];
    let columns = [&["time_s", "time"][..], &mbps_columns, &["white_share_percent"]].concat();
    let mut values = Table::new(columns);
    for phase in 0..TIMES.len() {
        for (middle_s, mbps) in measured.bins(phase) {
            let share = share_percent(&mbps);
            let mbps = mbps.map(of_who_is_there);
            values.row([middle_s, phase as f64 + 1.0].map(Cell::from).into_iter().chain(mbps).chain([share.into()]));
        }
    }
    let columns =
        [&["time", "what"][..], &mbps_columns, &["white_share_percent", "promised_percent", "farthest_points"]];
    let mut summary = Table::new(columns.concat());
    let phases = measured.phases();
    for (number, (phase, (what, promised))) in (1..).zip(phases.iter().zip(TIMES)) {
        let mut row = vec![Cell::from(f64::from(number)), what.into()];
        row.extend(phase.mbps.map(of_who_is_there));
        let promised = promised.map(f64::from);
        row.extend([Some(phase.share_percent), promised, phase.farthest_points].map(Cell::from));
        summary.row(row);
    }
    let farthest = farthest_points(&phases);
    let series = NAMES.iter().zip(mbps_columns).map(|(name, column)| values.series(name, Some("time_s"), column));
    let marks =
        (0..TIMES.len()).map(|phase| Mark { at: phase as f64 * measured.phase_s, name: (phase + 1).to_string() });
    let panel = Panel {
        x: X::Numbers("time, s".into()),
        y_label: "throughput, Mbit/s".into(),
        series: series.collect(),
        marks: marks.collect(),
    };
    FigureReport {
        figure: Figure::Fig13a,
        setting: Setting {
            paper: "OAI NR, 106 PRBs (40 MHz of 30 kHz) in band 78, MCS 20; three phones that receive what the cell carries \
                    by iperf; an xApp of curl deploys NVS slices over REST; proportional fair within",
            ours: "the emulated RAN over E2 and TCP: 106 PRBs, 30 kHz, TDD, MCS 20, one layer; 65 Mbit/s sent to each UE; slices \
                   and their rules by REST at the slicing controller; MAC's statistics as an xApp reads them. The model goes \
                   on in steps of 10 ms, and stands still until a control is acknowledged. The tenth of a phase after each \
                   change is left out",
            differs: vec![
                "the radio is a model, and nothing is lost on it",
                "a fifth time: a fourth UE arrives while slices are there, and comes into slice 2 by its S-NSSAI",
            ],
        },
        plot: Plot { title: "Fig. 13a: isolation; throughput of UEs in slices".into(), panels: vec![panel] },
        claim: "a slice gives the white UE half of the cell, then 66 %, whatever the other UEs do",
        judged: "by its part of all that is received, in each tenth of a phase but the first: within 2 points of the promise",
        holds: Some(farthest <= TOLERANCE_POINTS),
        notes: vec![format!(
            "Here the white UE has {:.1} % of what is received when three UEs share alike, then {:.1} %, {:.1} % and {:.1} % in \
             its slice, never farther than {farthest:.2} points from its promise.",
            phases[1].share_percent, phases[2].share_percent, phases[3].share_percent, phases[4].share_percent,
        )],
        values,
        summary: Some(summary),
    }
}
