//! Tables 2 to 5: how long threads wait for a CPU.

use super::load::Scenario::{Idle, Kernel, User};
use super::policy::Choice;
use super::rig::{Measured, Point, Rig, is_quiet, notes, online};
use super::{setting, verdict};
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Statement};
use plot::{Panel, Plot, Series, X};

/// The threads in the paper's tables: real-time ones first.
const REAL_TIME: [&str; 4] = ["ru-thread", "lte-softmodem", "fep_processing", "feptx_thread"];
const BUSY: [&str; 2] = ["ru-thread", "lte-softmodem"];
const FRONT_END: [&str; 2] = ["fep_processing", "feptx_thread"];
const ORDINARY: [&str; 2] = ["TASK_GTPV1_U", "TASK_UDP"];
/// All six.
const SHOWN: [&str; 6] = ["ru-thread", "lte-softmodem", "fep_processing", "feptx_thread", "TASK_GTPV1_U", "TASK_UDP"];
const BUCKETS: [&str; 5] = ["0-1_us", "2-3_us", "4-7_us", "8-15_us", "16-_us"];

/// The measured points of a table.
struct Latencies {
    points: Vec<Point>,
    all: Vec<Option<Measured>>,
}

impl Latencies {
    fn measure(context: &Context<'_>, points: Vec<Point>) -> anyhow::Result<Latencies> {
        let all = Rig::start(context)?.measure(&points)?;
        Ok(Latencies { points, all })
    }

    fn shares(&self, point: Point, thread: &str) -> Option<[f64; 5]> {
        let place = self.points.iter().position(|known| *known == point)?;
        self.all[place].as_ref()?.shares(thread)
    }

    /// A share of each thread at a point; none if one of them is missing.
    fn of(&self, point: Point, threads: &[&str], bucket: usize) -> Option<Vec<f64>> {
        threads.iter().map(|thread| Some(self.shares(point, thread)?[bucket])).collect()
    }

    /// A statement about two points, thread by thread, by one share: `holds` of the first and the second.
    fn compare(
        &self,
        says: &'static str,
        (first, second): (Point, Point),
        (threads, bucket): (&[&str], usize),
        holds: impl Fn(f64, f64) -> bool,
    ) -> Statement {
        let both = self.of(first, threads, bucket).zip(self.of(second, threads, bucket));
        let Some((first, second)) = both else {
            return Statement::new(says, "not measured".into(), None);
        };
        let pairs: Vec<_> = first.into_iter().zip(second).collect();
        let list = threads.iter().zip(&pairs).map(|(thread, (a, b))| format!("{thread} {a:.1} and {b:.1}"));
        let measured = format!("{} %: {}", BUCKETS[bucket], list.collect::<Vec<_>>().join(", "));
        Statement::new(says, measured, pairs.iter().all(|(a, b)| holds(*a, *b)))
    }

    /// A statement about how much a share of one thread at least falls from a point to another, in percentage points.
    fn largest_reduction(
        &self,
        says: &'static str,
        (first, second): (Point, Point),
        (threads, bucket): (&[&str], usize),
        least: f64,
    ) -> Statement {
        let both = self.of(first, threads, bucket).zip(self.of(second, threads, bucket));
        let Some((first, second)) = both else {
            return Statement::new(says, "not measured".into(), None);
        };
        let largest = first.iter().zip(&second).map(|(one, other)| one - other).fold(f64::NEG_INFINITY, f64::max);
        Statement::new(says, format!("{}: {largest:.1} points", BUCKETS[bucket]), largest >= least)
    }

    /// A statement about one point, thread by thread.
    fn each(
        &self,
        says: &'static str,
        point: Point,
        threads: &[&str],
        value: impl Fn([f64; 5]) -> f64,
        holds: impl Fn(f64) -> bool,
    ) -> Statement {
        let found: Option<Vec<f64>> = threads.iter().map(|thread| Some(value(self.shares(point, thread)?))).collect();
        let Some(found) = found else { return Statement::new(says, "not measured".into(), None) };
        let list = threads.iter().zip(&found).map(|(thread, value)| format!("{thread} {value:.1}"));
        let measured = format!("{} %", list.collect::<Vec<_>>().join(", "));
        Statement::new(says, measured, found.iter().all(|value| holds(*value)))
    }

    fn report(self, figure: Figure, title: &str, claim: &'static str, statements: Vec<Statement>) -> FigureReport {
        let mut table = Table::new(["scenario", "policy", "thread", "wakeups"].into_iter().chain(BUCKETS));
        let mut summary = Table::new(["scenario", "policy", "thread"].into_iter().chain(BUCKETS));
        let mut series = Vec::new();
        for (Point { scenario, choice }, measured) in self.points.iter().zip(&self.all) {
            let Some(measured) = measured else { continue };
            let mut shares = Vec::new();
            for (thread, waits) in &measured.waits {
                let total = waits.total();
                let percentages = waits.percentages().map(|share| if total > 0 { share } else { f64::NAN });
                let names = [Cell::from(scenario.name()), choice.name.into(), thread.as_str().into()];
                let cells = percentages.map(Cell::from);
                table.row(names.clone().into_iter().chain([Cell::from(total as f64)]).chain(cells.clone()));
                if let Some(place) = SHOWN.iter().position(|shown| shown == thread) {
                    summary.row(names.into_iter().chain(cells));
                    shares.push((place as f64, percentages[0]));
                }
            }
            series.push(Series::new(format!("{}, {}", scenario.name(), choice.name), shares));
        }
        let quiet = is_quiet(&self.all);
        let mut remarks = notes(&self.points, &self.all);
        remarks.push(format!("CPUs of this host: {}", online()));
        if !quiet {
            remarks.push("the host was disturbed: the claim is undecided, whatever the statements say".into());
        }
        let panel = Panel {
            x: X::Categories(SHOWN.map(String::from).into()),
            y_label: "waits of 0-1 us, %".into(),
            series,
            marks: Vec::new(),
        };
        FigureReport {
            figure,
            setting: setting(),
            plot: Plot { title: title.into(), panels: vec![panel] },
            claim,
            judged: "each statement by each of the threads that it names; waits after wake-ups",
            holds: verdict(quiet, &statements),
            statements,
            values: table,
            summary: Some(summary),
            samples: None,
            course: None,
            notes: remarks,
        }
    }
}

fn point(scenario: super::load::Scenario, choice: Choice) -> Point {
    Point { scenario, choice }
}

pub fn table2(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let [idle, user, kernel] = [Idle, User, Kernel].map(|scenario| point(scenario, Choice::NONE));
    let found = Latencies::measure(context, vec![idle, user, kernel])?;
    let covered = |shares: [f64; 5]| shares[..4].iter().sum::<f64>();
    let mut statements = vec![
        found.each(
            "Idle: more than 93 % of the waits of all threads are 0-1 us",
            idle,
            &SHOWN,
            |all| all[0],
            |share| share > 93.0,
        ),
        found.compare(
            "User: at least 35 % of the waits of real-time threads move to 2-3 us, compared with Idle",
            (idle, user),
            (&REAL_TIME, 1),
            |idle, user| user - idle >= 35.0,
        ),
        found.compare(
            "real-time threads wait longer in User than in Kernel",
            (user, kernel),
            (&REAL_TIME, 0),
            |user, kernel| user < kernel,
        ),
        found.compare("all threads wait longer in Kernel than in Idle", (idle, kernel), (&SHOWN, 0), |idle, kernel| {
            kernel < idle
        }),
    ];
    for (says, point) in [
        ("Idle: more than 99 % of the waits are below 16 us", idle),
        ("User: more than 99 % of the waits are below 16 us", user),
        ("Kernel: more than 99 % of the waits are below 16 us", kernel),
    ] {
        statements.push(found.each(says, point, &SHOWN, covered, |share| share > 99.0));
    }
    let title = "Paper 004, Table 2: waits of the unit's threads beside other work";
    let claim = "user-space load delays real-time threads most, and the kernel's packet processing delays all threads";
    Ok(found.report(Figure::VbbuTable2, title, claim, statements))
}

pub fn table3(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let points = [Idle, User, Kernel].map(|scenario| [Choice::WA, Choice::TA].map(|choice| point(scenario, choice)));
    let [idle, user, kernel] = points;
    let found = Latencies::measure(context, points.concat())?;
    let pair = |[wa, ta]: [Point; 2]| (wa, ta);
    let statements = vec![
        found.compare(
            "Idle: the waits of real-time threads do not differ between WA and TA (by a point of 0-1 us)",
            pair(idle),
            (&REAL_TIME, 0),
            |wa, ta| (wa - ta).abs() <= 1.0,
        ),
        found.compare("Idle: ordinary threads wait longer in TA than in WA", pair(idle), (&ORDINARY, 0), |wa, ta| {
            ta < wa
        }),
        found.compare(
            "User: fewer waits of real-time threads move to 2-3 us in TA than in WA",
            pair(user),
            (&REAL_TIME, 1),
            |wa, ta| ta < wa,
        ),
        found.largest_reduction(
            "User: TA reduces these shifts of real-time threads by up to 8 % (the largest reduction, at least)",
            pair(user),
            (&REAL_TIME, 1),
            8.0,
        ),
        // of TASK_UDP, the paper's own table has the opposite
        found.compare("User: TASK_GTPV1_U waits longer in TA than in WA", pair(user), (&ORDINARY[..1], 0), |wa, ta| {
            ta < wa
        }),
        found.compare(
            "Kernel: ordinary threads wait longer in TA than in WA",
            pair(kernel),
            (&ORDINARY, 0),
            |wa, ta| ta < wa,
        ),
        found.compare(
            "Kernel: 2 % fewer waits of ru-thread and lte-softmodem are 2-3 us in TA than in WA",
            pair(kernel),
            (&BUSY, 1),
            |wa, ta| wa - ta >= 2.0,
        ),
        found.compare(
            "Kernel: 9 % more waits of fep_processing are 2-3 us in TA than in WA",
            pair(kernel),
            (&FRONT_END[..1], 1),
            |wa, ta| ta - wa >= 9.0,
        ),
        found.compare(
            "Kernel: 16 % more waits of feptx_thread are 2-3 us in TA than in WA",
            pair(kernel),
            (&FRONT_END[1..], 1),
            |wa, ta| ta - wa >= 16.0,
        ),
    ];
    let title = "Paper 004, Table 3: waits with wide affinity and thread affinity";
    let claim = "thread affinity helps real-time threads beside user-space load, and beside packet processing only the busiest two";
    Ok(found.report(Figure::VbbuTable3, title, claim, statements))
}

pub fn table4(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let [wa, ta, ia_wa, ia_ta] =
        [Choice::WA, Choice::TA, Choice::IA_WA, Choice::IA_TA].map(|choice| point(Kernel, choice));
    let found = Latencies::measure(context, vec![wa, ta, ia_wa, ia_ta])?;
    let statements = vec![
        found.compare(
            "more waits of real-time threads are 0-1 us in IA-WA than in WA",
            (wa, ia_wa),
            (&REAL_TIME, 0),
            |without, with| with > without,
        ),
        found.compare(
            "more waits of real-time threads are 0-1 us in IA-TA than in TA",
            (ta, ia_ta),
            (&REAL_TIME, 0),
            |without, with| with > without,
        ),
        found.compare(
            "ru-thread and lte-softmodem wait less in IA-TA than in IA-WA",
            (ia_wa, ia_ta),
            (&BUSY, 0),
            |wa, ta| ta > wa,
        ),
        found.compare("ordinary threads wait less in IA-WA than in IA-TA", (ia_wa, ia_ta), (&ORDINARY, 0), |wa, ta| {
            wa > ta
        }),
        found.compare(
            "in IA-TA, more waits of ordinary threads are beyond 3 us (4-7 us)",
            (ia_wa, ia_ta),
            (&ORDINARY, 2),
            |wa, ta| ta > wa,
        ),
    ];
    let title = "Paper 004, Table 4: waits beside packet processing, with interrupt affinity";
    let claim = "interrupt affinity reduces the effect of packet processing on real-time threads; ordinary threads pay for it in IA-TA";
    Ok(found.report(Figure::VbbuTable4, title, claim, statements))
}

pub fn table5(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let choices = [Choice::NONE, Choice::WA, Choice::TA, Choice::IA_WA, Choice::IA_TA, Choice::SHIELD];
    let points = choices.map(|choice| point(Kernel, choice));
    let shield = points[5];
    let found = Latencies::measure(context, points.to_vec())?;
    let statements: Vec<Statement> = [
        ("all threads wait less with Shielding than without a policy", points[0]),
        ("all threads wait less with Shielding than in WA", points[1]),
        ("all threads wait less with Shielding than in TA", points[2]),
        ("all threads wait less with Shielding than in IA-WA", points[3]),
        ("all threads wait less with Shielding than in IA-TA", points[4]),
    ]
    .into_iter()
    .map(|(says, other)| found.compare(says, (other, shield), (&SHOWN, 0), |without, with| with > without))
    .collect();
    let title = "Paper 004, Table 5: waits beside packet processing, with isolated CPUs";
    let claim = "a shield reduces waits below those of any affinity";
    let mut report = found.report(Figure::VbbuTable5, title, claim, statements);
    report.setting.differs.push("Shielding has IA-WA only: on one CPU of two, IA-TA is the same");
    report.notes.push(
        "NOT TESTED: isolCPU, which in the paper does not differ from Shielding significantly: CPUs are isolated at boot".into(),
    );
    Ok(report)
}
