//! Energy saving: seven cells with little traffic and a busy time, and an xApp that puts cells to sleep and wakes them.

use std::time::Duration;

use super::report::{
    by_seed, course, course_panel, edge_mbps, edge_of_all, means, mobility_panel, mobility_statements, samples,
    step_panel, throughput_panel, values,
};
use super::{Context, Experiment, FigureReport, Pair, Recording};
use crate::{Figure, Setting, Statement};
use plot::Plot;

#[allow(dead_code, reason = "its main is not called here")]
#[path = "../../../../../examples/src/bin/energy_saving.rs"]
mod xapp;

/// The first judged seed. Those below 31 were for the design; those from 31 on have judged an earlier version of the xApp.
const FIRST_SEED: u64 = 41;
/// How the experiment is judged.
const JUDGED: &str = "statement by statement; the claim holds if all do. The limits, the scenario and the xApp were fixed with seeds below \
                      31, before any run with the seeds from 41 on. The seeds from 31 on had judged an earlier version of the xApp, for \
                      which the claim did not hold";
/// The busy time of the scenario in seconds: its start, and its end.
const BUSY_S: [f64; 2] = [30.0, 40.0];
/// The time in which the xApp may react to it.
const REACTION_S: f64 = 4.0;

/// The energy of all cells over the whole run, in kJ.
fn energy_kj(run: &Recording) -> f64 {
    let step_s = run.times_s().next().unwrap_or(0.0);
    run.cells.iter().flatten().map(|cell| cell.power_w * step_s / 1e3).sum()
}

/// What all UEs received in a step, in Mbit/s.
fn sum_mbps(run: &Recording, step: usize) -> f64 {
    run.mbps[step].iter().sum()
}

/// What all UEs received in the steps that end within a time, in Mbit.
fn received_mbit(run: &Recording, is_counted: impl Fn(f64) -> bool) -> f64 {
    let step_s = run.times_s().next().unwrap_or(0.0);
    let steps = run.times_s().enumerate().filter(|(_, time_s)| is_counted(*time_s));
    steps.map(|(step, _)| sum_mbps(run, step) * step_s).sum()
}

fn all_mbit(run: &Recording) -> f64 {
    received_mbit(run, |_| true)
}

/// In the busy time, but for its beginning.
fn busy_mbit(run: &Recording) -> f64 {
    received_mbit(run, |time_s| (BUSY_S[0] + REACTION_S..=BUSY_S[1]).contains(&time_s))
}

/// The energy for what UEs received, in J/Mbit.
fn j_per_mbit(run: &Recording) -> f64 {
    1e3 * energy_kj(run) / all_mbit(run)
}

fn lost_ues(run: &Recording) -> f64 {
    (run.mobility.released_asleep + run.mobility.released_locked) as f64
}

pub(super) fn experiment() -> Experiment {
    Experiment {
        scenario: include_str!("../../../../../examples/scenarios/energy-saving.toml"),
        period: Duration::from_secs(1),
        xapp: |ric, period_ms| Ok(Box::new(xapp::EnergySaving::new(ric, period_ms)?)),
        first_seed: FIRST_SEED,
    }
}

fn statements(pairs: &[Pair]) -> Vec<Statement> {
    let all = |holds: &dyn Fn(&Pair) -> bool| pairs.iter().all(holds);
    let [energy, energy_with] = means(pairs, energy_kj);
    let [received, received_with] = means(pairs, all_mbit);
    let [busy, busy_with] = means(pairs, busy_mbit);
    let [edge, edge_with] = edge_of_all(pairs);
    let lost: f64 = pairs.iter().map(|pair| lost_ues(&pair.with)).sum();
    let mut statements = vec![
        Statement::new(
            "with each seed, all cells together consume less energy by at least a quarter",
            format!("{energy:.0} kJ without and {energy_with:.0} kJ with the xApp; {} kJ", by_seed(pairs, energy_kj)),
            all(&|pair| energy_kj(&pair.with) <= 0.75 * energy_kj(&pair.without)),
        ),
        Statement::new(
            "UEs receive at least 97 % of the data that they receive without the xApp",
            format!("{received:.0} Mbit without and {received_with:.0} Mbit with the xApp"),
            received_with >= 0.97 * received,
        ),
        Statement::new(
            "in the busy time, but for its first 4 s, at least 97 % as well: the cells are awake",
            format!("{busy:.0} Mbit without and {busy_with:.0} Mbit with the xApp"),
            busy_with >= 0.97 * busy,
        ),
        Statement::new(
            "the 5th percentile of the UEs' throughput is at least 90 % of that without the xApp, with each seed",
            format!("{edge:.2} Mbit/s without and {edge_with:.2} with the xApp; {} Mbit/s", by_seed(pairs, edge_mbps)),
            all(&|pair| edge_mbps(&pair.with) >= 0.9 * edge_mbps(&pair.without)),
        ),
        Statement::new("no UE is released because its cell sleeps", format!("{lost} UEs"), lost == 0.0),
    ];
    let back = "the part of the handovers that are back to the last cell within 10 s is higher by at most 5 points";
    statements.extend(mobility_statements(pairs, (back, 5.0)));
    statements
}

pub(in super::super) fn energy_saving(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    Ok(report(&experiment().run(context)?))
}

pub(super) fn report(pairs: &[Pair]) -> FigureReport {
    let statements = statements(pairs);
    let panels = vec![
        course_panel(pairs, "power of all cells, kW", |cells| cells.iter().map(|cell| cell.power_w / 1e3).sum()),
        step_panel(pairs, "throughput of all UEs, Mbit/s", sum_mbps),
        course_panel(pairs, "cells that transmit", |cells| cells.iter().filter(|cell| cell.is_on_air).count() as f64),
        throughput_panel(pairs),
        mobility_panel(pairs),
    ];
    FigureReport {
        figure: Figure::EnergySaving,
        setting: Setting {
            paper: "none: an experiment of ours, after the use case \"carrier and cell switch off/on\" of O-RAN WG1 NESUC 5",
            ours: "examples/scenarios/energy-saving.toml, seven cells in hexagons (preset hex7 with one sector), 6 UEs each at fixed places, which report what they \
                   receive every 480 ms, 0.3 Mbit/s to each UE, and 4 Mbit/s more from 30 s to 40 s; power model of TR 38.864, category 1, 1200 W at full load; the xApp \
                   examples/src/bin/energy_saving.rs, with a period of 1 s; the same with each seed without the xApp. Both over E2 \
                   and TCP. The model advances in steps of the period, and stands until the xApp has decided and its controls are \
                   acknowledged. Energy and data are those of the whole run, the throughput of UEs that of its second half",
            differs: Vec::new(),
        },
        plot: Plot { title: "Energy saving by sleeping cells, with and without the xApp".into(), panels },
        claim: "an xApp that puts cells to sleep while others carry their load saves energy, and UEs lose little throughput when the \
                load rises",
        judged: JUDGED,
        holds: Statement::all(&statements),
        statements,
        notes: Vec::new(),
        values: values(
            pairs,
            &[
                ("energy_kj", energy_kj),
                ("received_mbit", all_mbit),
                ("j_per_mbit", j_per_mbit),
                ("lost_ues", lost_ues),
            ],
        ),
        summary: None,
        samples: Some(samples(pairs)),
        course: Some(course(pairs)),
    }
}
