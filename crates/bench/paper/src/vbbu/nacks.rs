//! Figures 5 and 7: NACKs of the downlink.

use super::load::Scenario::{Idle, Kernel, User};
use super::policy::Choice;
use super::rig::{Measured, Point, Rig, is_quiet, notes, online};
use super::{setting, verdict};
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Statement};
use plot::{Panel, Plot, Series, X};

/// Increase of NACKs in User, and decrease in Kernel, that the paper states (section 4.2.1), in percent.
const USER_PERCENT: f64 = 3.0;
const KERNEL_PERCENT: f64 = 8.6;

fn report(
    (figure, title): (Figure, &str),
    claim: &'static str,
    points: &[Point],
    all: &[Option<Measured>],
    statements: Vec<Statement>,
) -> FigureReport {
    let columns = [
        "scenario",
        "policy",
        "subframes",
        "misses",
        "nacks",
        "nacks_of_misses",
        "nacks_per_1000_subframes",
        "dl_mbps",
    ];
    let mut table = Table::new(columns);
    let mut bars = Vec::new();
    for (place, (Point { scenario, choice }, measured)) in points.iter().zip(all).enumerate() {
        let Some(measured) = measured else { continue };
        let mbps: Vec<f64> = measured.periods.iter().map(|period| period.dl_mbps).collect();
        let numbers = [
            measured.subframes(),
            measured.misses(),
            measured.nacks(),
            measured.nacks_of_misses(),
            measured.nacks_per_1000(),
            crate::statistics::mean(&mbps),
        ];
        table.row([Cell::from(scenario.name()), choice.name.into()].into_iter().chain(numbers.map(Cell::from)));
        bars.push((place as f64, measured.nacks_per_1000()));
    }
    let names = points.iter().map(|Point { scenario, choice }| format!("{}, {}", scenario.name(), choice.name));
    let panel = Panel {
        x: X::Categories(names.collect()),
        y_label: "NACKs in 1,000 subframes".into(),
        series: vec![Series::new("NACKs", bars)],
        marks: Vec::new(),
    };
    let quiet = is_quiet(all);
    let mut remarks = notes(points, all);
    remarks.push(format!("CPUs of this host: {}", online()));
    if !quiet {
        remarks.push("the host was disturbed: the claim is undecided, whatever the statements say".into());
    }
    FigureReport {
        figure,
        setting: setting(),
        plot: Plot { title: title.into(), panels: vec![panel] },
        claim,
        judged: "by NACKs in 1,000 subframes, of the channel and of missed subframes together, as a phone sends them",
        holds: verdict(quiet, &statements),
        statements,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes: remarks,
    }
}

fn change_percent(from: &Measured, to: &Measured) -> f64 {
    100.0 * (to.nacks_per_1000() / from.nacks_per_1000() - 1.0)
}

/// A statement about the change of NACKs from one point to another.
fn changes(says: &'static str, both: Option<(&Measured, &Measured)>, holds: impl Fn(f64) -> bool) -> Statement {
    let Some((from, to)) = both else { return Statement::new(says, "not measured".into(), None) };
    let change = change_percent(from, to);
    if !change.is_finite() {
        return Statement::new(says, "no NACK in the reference".into(), None);
    }
    let measured =
        format!("{change:+.1} % ({:.1} and {:.1} in 1,000 subframes)", from.nacks_per_1000(), to.nacks_per_1000());
    Statement::new(says, measured, holds(change))
}

pub fn fig5(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let points = [Idle, User, Kernel].map(|scenario| Point { scenario, choice: Choice::NONE });
    let all = Rig::start(context)?.measure(&points)?;
    let [idle, user, kernel] = [0, 1, 2].map(|place: usize| all[place].as_ref());
    let statements = vec![
        changes("NACKs are 3 % more in User than in Idle (at least)", idle.zip(user), |change| change >= USER_PERCENT),
        changes("NACKs are 8.6 % fewer in Kernel than in Idle (at least)", idle.zip(kernel), |change| {
            change <= -KERNEL_PERCENT
        }),
    ];
    let title = "Paper 004, Figure 5: NACKs of the downlink beside other work";
    let claim = "user-space load causes 3 % more NACKs, a high rate of packets 8.6 % fewer than a low rate";
    let mut report = report((Figure::VbbuFig5, title), claim, &points, &all, statements);
    report.setting.differs.push(
        "the paper explains fewer NACKs in Kernel by the polling of NAPI, which spares interrupts: veth always polls, so this cause is absent",
    );
    Ok(report)
}

pub fn fig7(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let points = [
        Point { scenario: Idle, choice: Choice::NONE },
        Point { scenario: User, choice: Choice::NONE },
        Point { scenario: Kernel, choice: Choice::NONE },
        Point { scenario: Kernel, choice: Choice::SHIELD },
    ];
    let all = Rig::start(context)?.measure(&points)?;
    let statements = vec![changes(
        "Shielding in Kernel has fewer NACKs than Idle",
        all[0].as_ref().zip(all[3].as_ref()),
        |change| change < 0.0,
    )];
    let title = "Paper 004, Figure 7: NACKs of the downlink with isolated CPUs";
    let claim = "a shielded unit beside packet processing has fewer NACKs than an unshielded one on an idle host";
    let mut report = report((Figure::VbbuFig7, title), claim, &points, &all, statements);
    report.notes.extend([
        "NOT TESTED: fewer NACKs with IA-WA than with IA-TA: the shield has one CPU of two, on which both are the same"
            .into(),
        "NOT TESTED: more NACKs of isolCPU than of Shielding, and than in User: CPUs are isolated at boot".into(),
    ]);
    Ok(report)
}
