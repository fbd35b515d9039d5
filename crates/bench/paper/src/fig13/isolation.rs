//! Figure 13a: the share of UE 1 does not depend on other UEs.

use radio::Time;
use ran::Scenario;

use super::super::table::{Cell, Table};
use super::super::{Context, Figure, FigureReport, Setting, Statement};
use super::{Event, Measured, PHASE, TOLERANCE_POINTS, Throughput, at, measure, scenario, ue};
use plot::{Mark, Panel, Plot, X};

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

/// The paper's rate of half of the cell, and the most that "around" it differs.
const HALF_MBPS: f64 = 30.0;
const AROUND_MBPS: f64 = 3.0;

/// What section 6.1.2 says about Fig. 13a, and our fifth phase.
fn statements(phases: &[Phase; PHASES.len()]) -> Vec<Statement> {
    let [alone, third, half, two_thirds, fourth] = phases;
    let shares = |phase: &Phase, ues: usize| -> (String, f64) {
        let sum: f64 = phase.mbps.iter().sum();
        let percent: Vec<f64> = phase.mbps[..ues].iter().map(|mbps| 100.0 * mbps / sum).collect();
        let deviation = percent.iter().map(|share| (share - 100.0 / ues as f64).abs()).fold(0.0, f64::max);
        let texts: Vec<_> = percent.iter().map(|share| format!("{share:.1}")).collect();
        (format!("{} %", texts.join(", ")), if deviation.is_nan() { f64::INFINITY } else { deviation })
    };
    let (of_two, of_three) = (shares(alone, 2), shares(third, 3));
    let share = |phase: &Phase| {
        let deviation = phase.max_deviation_points.unwrap_or(f64::INFINITY);
        (format!("{:.1} %, at most {deviation:.2} points off", phase.share_percent), deviation <= TOLERANCE_POINTS)
    };
    let (of_half, of_two_thirds, of_fourth) = (share(half), share(two_thirds), share(fourth));
    vec![
        Statement::new(
            "t1: without slices, two UEs share the resources equally (within 2 points)",
            of_two.0,
            of_two.1 <= TOLERANCE_POINTS,
        ),
        Statement::new(
            "t2: a third UE connects and all three share equally (within 2 points), which violates the half that UE 1 is to have",
            of_three.0,
            of_three.1 <= TOLERANCE_POINTS,
        ),
        Statement::new(
            "t3: slices of equal share, UE 1 alone in one, ensure half of the resources for it (within 2 points in each tenth of the phase)",
            of_half.0,
            of_half.1,
        ),
        Statement::new(
            "this half is around 30 Mbit/s (27 to 33)",
            format!("{:.1} Mbit/s", half.mbps[0]),
            (half.mbps[0] - HALF_MBPS).abs() <= AROUND_MBPS,
        ),
        Statement::new("t4: 66 % are enforced as well (within 2 points)", of_two_thirds.0, of_two_thirds.1),
        Statement::new(
            "t5, not in the paper: a fourth UE in slice 2 changes nothing for UE 1 (within 2 points)",
            of_fourth.0,
            of_fourth.1,
        ),
    ]
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
    let statements = statements(&phases);
    let series = NAMES.iter().zip(mbps_columns).map(|(name, column)| values.series(name, Some("time_s"), column));
    let marks = PHASES.iter().enumerate().map(|(phase, (what, _))| Mark {
        at: phase as f64 * measured.phase_s,
        name: format!("t{}: {what}", phase + 1),
    });
    let panel = Panel {
        x: X::Numbers("time, s".into()),
        y_label: "throughput, Mbit/s".into(),
        series: series.collect(),
        marks: marks.collect(),
    };
    FigureReport {
        figure: Figure::Fig13a,
        setting: Setting {
            paper: "OAI NR, 106 PRBs (20 MHz) in band 78, MCS 20; three phones that receive more than the cell carries from iperf; an \
                    xApp of curl deploys NVS slices over REST; proportional fair within a slice",
            ours: "the emulated RAN over E2 and TCP: 106 PRBs, 30 kHz, TDD, MCS 20, one layer; 65 Mbit/s sent to each UE; slices \
                   and their rules over REST at the slicing controller; MAC's statistics from an xApp. The model advances in \
                   steps of 10 ms, and pauses until a control is acknowledged. The first tenth of each phase is not evaluated",
            differs: vec![
                "40 MHz of 30 kHz: 106 PRBs are 20 MHz of 15 kHz, or 40 MHz of 30 kHz (TS 38.101-1 table 5.3.2-1); the paper does not state \
                 the spacing, and its 30 Mbit/s for half of the cell are those of 30 kHz",
                "the radio is a model without losses",
                "a fifth phase: a fourth UE arrives and is associated with slice 2 by its S-NSSAI",
            ],
        },
        plot: Plot { title: "Fig. 13a: isolation; throughput of UEs in slices".into(), panels: vec![panel] },
        claim: "UEs share the cell equally without slices; a slice gives UE 1 half of it, then 66 %, whatever the other UEs do",
        judged: "statement by statement, by shares of the total throughput, without the first tenth of each phase; the claim holds if all \
                 do",
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values,
        summary: Some(summary),
        samples: None,
        course: None,
    }
}
