//! What the paper leaves open: a policy that follows the load, against a shield that is always there.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cpu::Selection;
use cpu::latency::Latency;

use super::background::Background;
use super::host::{HostTime, disturbances};
use super::load::end_group;
use super::policy::{Choice, Held};
use super::rig::{Rig, online, undisturbed};
use super::unit::UnitProcess;
use super::wilcoxon::p_greater;
use super::{setting, verdict};
use crate::statistics::mean;
use crate::table::{Cell, Table};
use crate::{Context, Figure, FigureReport, Statement};
use plot::{Panel, Plot, Series, X};

/// Pairs of blocks, and how many of them in all are measured again where the host has disturbed one.
const PAIRS: usize = 10;
const REPEATS: usize = PAIRS / 2;
/// Until a policy has settled.
const SETTLING: Duration = Duration::from_millis(2000);
/// A cell at half of its capacity: about 8 of 16 Mbit/s.
const HALF_LOAD: [&str; 6] = ["--network", "veth", "--downlink-mbps", "8", "--uplink-mbps", "2"];
/// Best-effort work that the dynamic policy has to add, and idle cycles that it has to give back.
const MORE_WORK: f64 = 1.25;
const GIVEN_BACK: f64 = 0.5;
/// What is not worse: fewer missed subframes more of 1,000, where the mean is higher by chance.
const MARGIN_PER_1000: f64 = 1.0;
/// The level of the tests.
const LEVEL: f64 = 0.05;
const POLICIES: [&str; 2] = ["static shield, workqueue", "dynamic"];

/// `ferric cpu run --policy dynamic`.
struct Dynamic(Child);

impl Dynamic {
    fn start(rig: &Rig, tids: &[u32]) -> anyhow::Result<Dynamic> {
        let mut command = Command::new(&rig.cpu);
        command.args(["run", "--policy", "dynamic", "--profile", "vbbu", "--with", "workqueue", "--log", "error"]);
        tids.iter().for_each(|tid| {
            command.args(["--pid", &tid.to_string()]);
        });
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).spawn();
        child.map(Dynamic).context("cannot run `ferric cpu run --policy dynamic`")
    }
}

impl Drop for Dynamic {
    fn drop(&mut self) {
        end_group(&mut self.0);
    }
}

/// What was measured in a block.
#[derive(Clone, Debug)]
struct Block {
    misses: f64,
    nacks: f64,
    work: f64,
    idle_s: f64,
    fault: Option<String>,
}

fn block(rig: &Rig, is_dynamic: bool) -> anyhow::Result<Block> {
    let unit = UnitProcess::start(&rig.unit, &HALF_LOAD)?;
    let tasks = Background::start(&["spin"])?;
    let tids = unit.tids();
    let (held, mut dynamic) = match is_dynamic {
        true => (None, Some(Dynamic::start(rig, &tids)?)),
        false => (Some(Held::apply(Choice::SHIELD_WORKQUEUE, &tids, &rig.cpu)?), None),
    };
    sleep(SETTLING);
    if let Some(Dynamic(child)) = &mut dynamic
        && let Some(status) = child.try_wait()?
    {
        anyhow::bail!("`ferric cpu run --policy dynamic` has ended ({status}): run it to see why");
    }
    let groups: Vec<u32> =
        [unit.group(), tasks.group()].into_iter().chain(dynamic.iter().map(|Dynamic(child)| child.id())).collect();
    // for stalls of the host
    let (mut latency, _) = Latency::start(Selection { names: Vec::new(), pids: tids }, None)?;
    let (first, before, begun) = (unit.periods(), HostTime::read(&groups), Instant::now());
    let work = tasks.count();
    while begun.elapsed().as_secs_f64() < rig.seconds {
        sleep(Duration::from_millis(100));
        latency.poll()?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let work = tasks.count() - work;
    let after = HostTime::read(&groups);
    let foreign = after.foreign_percent(&before, seconds);
    let periods = unit.since(first);
    let subframes: u64 = periods.iter().map(|period| period.subframes).sum();
    let per_1000 = |count: u64| 1000.0 * count as f64 / subframes.max(1) as f64;
    let faults = disturbances(&latency.report()?, foreign);
    drop((held, dynamic, tasks));
    Ok(Block {
        misses: per_1000(periods.iter().map(|period| period.misses).sum()),
        nacks: per_1000(periods.iter().map(|period| period.nacks_of_misses).sum()),
        work: work as f64 / seconds,
        idle_s: after.idle_s(&before) / seconds,
        fault: faults.into_iter().next(),
    })
}

/// A block of each policy, the static one first in the result. Each policy is the first one in every other pair.
fn pair(rig: &Rig, number: usize) -> anyhow::Result<[Block; 2]> {
    let measure = |is_dynamic: bool| {
        block(rig, is_dynamic).with_context(|| format!("pair {}, {}", number + 1, POLICIES[usize::from(is_dynamic)]))
    };
    Ok(if number.is_multiple_of(2) {
        let fixed = measure(false)?;
        [fixed, measure(true)?]
    } else {
        let dynamic = measure(true)?;
        [measure(false)?, dynamic]
    })
}

pub fn dynamic(context: &Context<'_>) -> anyhow::Result<FigureReport> {
    let rig = Rig::start(context)?;
    let (mut pairs, mut repeats) = (Vec::new(), REPEATS);
    for number in 0..PAIRS {
        let is_disturbed = |pair: &[Block; 2]| pair.iter().any(|block| block.fault.is_some());
        pairs.push(undisturbed(&mut repeats, || pair(&rig, number), is_disturbed)?);
    }
    let mut table =
        Table::new(["pair", "policy", "misses_per_1000", "nacks_of_misses_per_1000", "work_per_s", "idle_cpus"]);
    for (number, pair) in pairs.iter().enumerate() {
        for (policy, block) in POLICIES.into_iter().zip(pair) {
            let Block { misses, nacks, work, idle_s, .. } = block;
            let numbers = [*misses, *nacks, *work, *idle_s].map(Cell::from);
            table.row([Cell::from(number as f64 + 1.0), policy.into()].into_iter().chain(numbers));
        }
    }
    let statements = statements(&pairs);
    let faults: Vec<&String> = pairs.iter().flatten().filter_map(|block| block.fault.as_ref()).collect();
    let mut notes = vec![format!("CPUs of this host: {}; {PAIRS} pairs of blocks of {} s", online(), rig.seconds)];
    notes.extend(faults.first().map(|first| {
        format!(
            "{} of {} blocks were disturbed, such as: {first}; the claim is undecided, whatever the statements say",
            faults.len(),
            2 * pairs.len()
        )
    }));
    let panel = |y_label: &str, of: fn(&Block) -> f64| Panel {
        x: X::Numbers("pair".into()),
        y_label: y_label.into(),
        series: POLICIES
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let points = pairs.iter().enumerate().map(|(pair, both)| (pair as f64 + 1.0, of(&both[index])));
                Series::new(*name, points.collect())
            })
            .collect(),
        marks: Vec::new(),
    };
    let panels = vec![
        panel("missed of 1,000 subframes", |block| block.misses),
        panel("best-effort work per s", |block| block.work),
        panel("idle CPUs", |block| block.idle_s),
    ];
    let mut setting = setting();
    setting.paper = "future work of the paper (section 6)";
    setting.differs.push("Best-effort tasks are loops that use all the CPU they get, one for each CPU");
    Ok(FigureReport {
        figure: Figure::VbbuDynamic,
        setting,
        plot: Plot { title: "Paper 004, future work: a dynamic policy against a static shield".into(), panels },
        claim: "the dynamic policy misses no more deadlines than a static shield with workqueue mask, leaves 25 % more best-effort work, \
                and gives back half of the cycles that the shield leaves idle at half load",
        judged: "over pairs of blocks in turn, by Wilcoxon's signed-rank test with the exact one-sided p-value, level 0.05",
        holds: verdict(faults.is_empty(), &statements),
        statements,
        values: table,
        summary: None,
        samples: None,
        course: None,
        notes,
    })
}

fn statements(pairs: &[[Block; 2]]) -> Vec<Statement> {
    let differences = |of: &dyn Fn(&[Block; 2]) -> f64| pairs.iter().map(of).collect::<Vec<f64>>();
    let means = |of: fn(&Block) -> f64| [0, 1].map(|index| mean(&differences(&|pair: &[Block; 2]| of(&pair[index]))));
    let misses = means(|block| block.misses);
    let worse = p_greater(&differences(&|[fixed, dynamic]: &[Block; 2]| dynamic.misses - fixed.misses));
    // a difference that is not found is not yet none
    let within =
        p_greater(&differences(&|[fixed, dynamic]: &[Block; 2]| fixed.misses + MARGIN_PER_1000 - dynamic.misses));
    let work = means(|block| block.work);
    let more = p_greater(&differences(&|[fixed, dynamic]: &[Block; 2]| dynamic.work - MORE_WORK * fixed.work));
    let idle = means(|block| block.idle_s);
    let back =
        p_greater(&differences(&|[fixed, dynamic]: &[Block; 2]| (1.0 - GIVEN_BACK) * fixed.idle_s - dynamic.idle_s));
    vec![
        Statement::new(
            "the dynamic policy misses no more deadlines (mean not higher; or neither significantly higher nor by 1 of 1,000)",
            format!(
                "{:.2} and {:.2} of 1,000 subframes; p = {worse:.4} that it is higher by chance, p = {within:.4} that it is within 1 by chance",
                misses[0], misses[1]
            ),
            misses[1] <= misses[0] || worse > LEVEL && within <= LEVEL,
        ),
        Statement::new(
            "at least 25 % more best-effort work is done",
            format!("{:+.1} %; p = {more:.4}", 100.0 * (work[1] / work[0] - 1.0)),
            work[1] >= MORE_WORK * work[0] && more <= LEVEL,
        ),
        Statement::new(
            "at least half of the idle cycles are given back",
            format!(
                "{:.3} and {:.3} CPUs idle, {:.0} % given back; p = {back:.4}",
                idle[0],
                idle[1],
                100.0 * (1.0 - idle[1] / idle[0])
            ),
            idle[1] <= (1.0 - GIVEN_BACK) * idle[0] && back <= LEVEL,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(fixed: [f64; 3], dynamic: [f64; 3]) -> Vec<[Block; 2]> {
        let block = |[misses, work, idle_s]: [f64; 3], shift: f64| Block {
            misses,
            nacks: 0.0,
            work: work + shift,
            idle_s,
            fault: None,
        };
        (0..10).map(|pair| [block(fixed, f64::from(pair)), block(dynamic, f64::from(pair))]).collect()
    }

    #[test]
    fn claims_are_judged_as_they_are_stated() {
        let holds = |fixed, dynamic| statements(&pairs(fixed, dynamic)).iter().map(|it| it.holds).collect::<Vec<_>>();
        assert_eq!(holds([1.0, 1000.0, 0.6], [1.0, 1400.0, 0.2]), [Some(true); 3]);
        assert_eq!(holds([1.0, 1000.0, 0.6], [2.0, 1240.0, 0.31]), [Some(false); 3]);
        // a difference that varies too much to be significant is no proof that there is none
        let mut varying = pairs([1.0, 1000.0, 0.6], [1.0, 1400.0, 0.2]);
        varying.iter_mut().zip(0..).for_each(|(pair, at)| pair[1].misses = if at % 2 == 0 { 21.0 } else { 0.0 });
        assert_eq!(statements(&varying)[0].holds, Some(false));
        // and one that is small and by chance is none
        varying.iter_mut().zip(0..).for_each(|(pair, at)| pair[1].misses = if at % 2 == 0 { 1.3 } else { 0.8 });
        assert_eq!(statements(&varying)[0].holds, Some(true));
    }
}
