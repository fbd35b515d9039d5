//! Figure 15: two operators with dedicated eNBs, and on a shared one behind the virtualization controller (section 6.2).
//!
//! The operators' controllers are ordinary RICs with the slicing controller. Throughput is what their xApps see in MAC's statistics:
//! in the shared case the part of them that the virtualization controller passes to each.

mod operators;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::table::{Cell, Table};
use super::{Context, Figure, FigureReport, Setting, Statement};
use operators::Course;
use plot::{Mark, Panel, Plot, X};

/// UEs of an operator.
const UES: usize = 2;
/// The step of the model, and of the curves.
const STEP: Duration = Duration::from_millis(200);
/// Seconds of a phase per second of a point.
const PHASE: f64 = 4.0;
/// The fewest steps of a phase: what is queued for a UE whose traffic ends leaves in the first half, in about 2 s.
const MIN_STEPS: f64 = 20.0;
/// The tolerance of shares, in percentage points of what is shared.
const TOLERANCE_POINTS: f64 = 2.0;
/// What begins with each phase.
const PHASES: [&str; 4] = [
    "no slices",
    "operator A configures sub-slices of 66 % and 34 %",
    "one UE of operator B has no traffic",
    "operator B has no traffic",
];
const NAMES: [&str; 4] = ["A, UE 1", "A, UE 2", "B, UE 1", "B, UE 2"];
const COLUMNS: [&str; 4] = ["a_ue_1_mbps", "a_ue_2_mbps", "b_ue_1_mbps", "b_ue_2_mbps"];

/// The length of a phase: whole steps, so that traffic stops where a phase begins.
fn phase_s(context: &Context<'_>) -> f64 {
    (context.seconds * PHASE / STEP.as_secs_f64()).round().max(MIN_STEPS) * STEP.as_secs_f64()
}

/// The mean throughput of a phase: of each operator's UEs.
type Means = [[f64; UES]; 2];

/// The means of all phases, without the first half of each, in which a change takes effect, and what is queued for a UE without traffic
/// leaves.
fn means(course: &Course) -> [Means; PHASES.len()] {
    let steps = course.len() / PHASES.len();
    std::array::from_fn(|phase| {
        let settled = &course[phase * steps + steps / 2..(phase + 1) * steps];
        std::array::from_fn(|operator| {
            std::array::from_fn(|ue| settled.iter().map(|mbps| mbps[operator][ue]).sum::<f64>() / settled.len() as f64)
        })
    })
}

fn sum(ues: [f64; UES]) -> f64 {
    ues.iter().sum()
}

fn percent(part: f64, of: f64) -> f64 {
    if of > 0.0 { 100.0 * part / of } else { 0.0 }
}

fn is_about(percent: f64, expected: f64) -> bool {
    (percent - expected).abs() <= TOLERANCE_POINTS
}

/// What section 6.2 says of both cases. `full` is the throughput of an operator alone on its part.
fn common(means: &[Means; PHASES.len()]) -> Vec<Statement> {
    let [none, sliced, half, idle] = means;
    let total = sum(none[0]) + sum(none[1]);
    let shares: Vec<f64> = none.iter().flatten().map(|mbps| percent(*mbps, total)).collect();
    let of_a = percent(sliced[0][0], sum(sliced[0]));
    let of_b = [none, sliced].map(|phase| percent(sum(phase[1]), total));
    let other = percent(half[1][0], sum(sliced[1]));
    let untouched = percent(sum(half[0]), sum(sliced[0]));
    let is_idle = sum(idle[1]);
    vec![
        Statement::new(
            "without slices, all UEs have the same throughput (each 25 % of the sum, within 2 points)",
            format!("{:.1}, {:.1}, {:.1}, {:.1} %", shares[0], shares[1], shares[2], shares[3]),
            shares.iter().all(|share| is_about(*share, 25.0)),
        ),
        Statement::new(
            "operator A's sub-slices have 66 % and 34 % of its throughput (within 2 points)",
            format!("{of_a:.1} and {:.1} %", 100.0 - of_a),
            is_about(of_a, 66.0),
        ),
        Statement::new(
            "this has no impact on operator B (its part of the sum stays within 2 points)",
            format!("{:.1} % before, {:.1} % after", of_b[0], of_b[1]),
            is_about(of_b[1], of_b[0]),
        ),
        Statement::new(
            "once one of operator B's UEs has no throughput, the other benefits (it has what both had, within 2 points)",
            format!("{other:.1} % of what both had"),
            is_about(other, 100.0) && half[1][1] < 0.1,
        ),
        Statement::new(
            "meanwhile operator A has what it had (within 2 points)",
            format!("{untouched:.1} % of it"),
            is_about(untouched, 100.0),
        ),
        Statement::new("in the last phase operator B has no throughput", format!("{is_idle:.2} Mbit/s"), is_idle < 0.1),
    ]
}

pub(super) fn fig15a(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let phase_s = phase_s(context);
    let course = operators::dedicated(phase_s)?;
    let means = means(&course);
    let mut statements = common(&means);
    let gain = percent(sum(means[3][0]), sum(means[1][0]));
    statements.push(Statement::new(
        "with dedicated infrastructure, the resources of an operator without traffic are lost (operator A has what it had, within 2 points)",
        format!("{gain:.1} % of it"),
        is_about(gain, 100.0),
    ));
    Ok(report(
        Figure::Fig15a,
        "Fig. 15a: two operators, each with an eNB of 25 PRBs",
        "the operators are isolated, and what an operator does not use is lost",
        &course,
        &means,
        statements,
        Vec::new(),
    ))
}

pub(super) fn fig15b(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let phase_s = phase_s(context);
    let alone = means(&operators::dedicated(phase_s)?);
    let course = operators::shared(phase_s)?;
    let means = means(&course);
    let mut statements = common(&means);
    let (slice_1, slice_2) = (means[3][0][0] - means[2][0][0], means[3][0][1] - means[2][0][1]);
    let of_first = percent(slice_1, slice_1 + slice_2);
    statements.push(Statement::new(
        "when operator B has no traffic, its resources are shared equally between the two sub-slices of operator A (each gains 50 %, within 2 points)",
        format!("the slice of 66 % gains {slice_1:.2} Mbit/s, that of 34 % gains {slice_2:.2} ({of_first:.1} % and {:.1} %)", 100.0 - of_first),
        is_about(of_first, 50.0),
    ));
    let gain = percent(sum(means[3][0]), sum(alone[3][0])) - 100.0;
    statements.push(Statement::new(
        "if one operator is unloaded, the multiplexing gain can attain 100 % (at least 95 % over its dedicated eNB)",
        format!("{gain:.1} %"),
        gain >= 95.0,
    ));
    let notes = vec![
        "NVS gives a slice the slots for which its share is largest in relation to what it has had, so that unused slots go to the \
         other slices in the ratio of their shares; the paper does not say how its sub-slices came to equal parts"
            .to_owned(),
        "an eNB of 10 MHz has 50 PRBs, one of 5 MHz has 25: what the shared one carries beyond twice the dedicated one is control \
         overhead that is there once"
            .to_owned(),
    ];
    Ok(report(
        Figure::Fig15b,
        "Fig. 15b: two operators on one eNB of 50 PRBs",
        "the virtualization controller isolates the operators, and lets each use what the other leaves: a gain of up to 100 %",
        &course,
        &means,
        statements,
        notes,
    ))
}

fn report(
    figure: Figure,
    title: &str,
    claim: &'static str,
    course: &Course,
    means: &[Means; PHASES.len()],
    statements: Vec<Statement>,
    notes: Vec<String>,
) -> FigureReport {
    let step_s = STEP.as_secs_f64();
    let steps = course.len() / PHASES.len();
    let mut values = Table::new([&["time_s", "phase"][..], &COLUMNS, &["a_mbps", "b_mbps"]].concat());
    for (at, [a, b]) in course.iter().enumerate() {
        let phase = (at / steps.max(1)).min(PHASES.len() - 1);
        let row = [(at as f64 + 0.5) * step_s, phase as f64 + 1.0, a[0], a[1], b[0], b[1], sum(*a), sum(*b)];
        values.row(row.map(Cell::from));
    }
    let mut summary = Table::new([&["phase", "what"][..], &COLUMNS, &["a_mbps", "b_mbps"]].concat());
    for (number, (what, [a, b])) in (1..).zip(PHASES.iter().zip(means)) {
        let row = vec![Cell::from(f64::from(number)), (*what).into()];
        let mbps = [a[0], a[1], b[0], b[1], sum(*a), sum(*b)].map(Cell::from);
        summary.row(row.into_iter().chain(mbps));
    }
    let series = NAMES.iter().zip(COLUMNS).map(|(name, column)| values.series(name, Some("time_s"), column));
    let marks = PHASES
        .iter()
        .enumerate()
        .map(|(phase, what)| Mark { at: (phase * steps) as f64 * step_s, name: (*what).to_owned() });
    let panel = Panel {
        x: X::Numbers("time, s".into()),
        y_label: "throughput, Mbit/s".into(),
        series: series.collect(),
        marks: marks.collect(),
    };
    FigureReport {
        figure,
        setting: Setting {
            paper: "OAI LTE in band 7, 25 PRBs for each operator or 50 for both; two phones of each operator; a slicing controller of \
                    each operator over REST, in the shared case behind the virtualization controller with 50 % for each",
            ours: "the emulated RAN over E2 and TCP: LTE in band 7, 25 or 50 PRBs, MCS 20, one layer; 40 Mbit/s sent to each UE; a RIC \
                   with REST of each operator, in the shared case behind `ferric ric --virtual` with 50 % for each. Throughput by MAC's \
                   statistics as each operator's controller receives them. The model advances in steps of 200 ms, and stands while \
                   controllers act. The first half of each phase is not evaluated: what is queued for a UE without traffic still leaves",
            differs: vec![
                "the radio is a model: every UE has MCS 20, without losses",
                "phases of equal length, in place of times that only the paper's plot shows",
                "34 % in place of the paper's 33 %: the sub-slices are the whole of the operator's part",
            ],
        },
        plot: Plot { title: title.into(), panels: vec![panel] },
        claim,
        judged: "statement by statement, by means of each phase; the claim holds if all do",
        holds: Statement::all(&statements),
        statements,
        notes,
        values,
        summary: Some(summary),
        samples: None,
        course: None,
    }
}
