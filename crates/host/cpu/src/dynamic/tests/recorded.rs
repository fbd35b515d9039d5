//! The decisions over observations that were recorded on a real host.

use std::fmt::Write;
use std::path::PathBuf;

use super::{MS, SECOND, settings};
use crate::blame::Class;
use crate::dynamic::measure::{Meter, Names};
use crate::dynamic::steps::Steps;
use crate::dynamic::{Abilities, Action, Blamed, Decider, Observation, Step};
use crate::{Cpus, Host, Policy, Profile, Request, Selection};

/// Lines of a recording: `t MS LOAD OTHERS CROWDED`, then `w CLASS WAITED_NS NUMBER RT VICTIM NAME` for each culprit of that moment.
fn recording(text: &str) -> Vec<(u64, Observation)> {
    let mut found: Vec<(u64, Observation)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.splitn(7, '\t').collect();
        match fields[..] {
            ["t", ms, load, others, crowded] => {
                let observation = Observation {
                    load: load.parse().unwrap(),
                    others: others.parse().unwrap(),
                    is_crowded: crowded == "1",
                    ..Observation::default()
                };
                found.push((ms.parse::<u64>().unwrap() * MS, observation));
            }
            ["w", class, waited_ns, number, real_time, victim, name] => {
                let class = CLASSES.into_iter().find(|known| known.name() == class).unwrap();
                found.last_mut().unwrap().1.blamed.push(Blamed {
                    class,
                    name: name.into(),
                    number: number.parse().unwrap(),
                    waited_ns: waited_ns.parse().unwrap(),
                    victim: victim.into(),
                    is_real_time: real_time == "1",
                    is_outside: false,
                });
            }
            _ => panic!("{line}"),
        }
    }
    found
}

const CLASSES: [Class; 7] = [
    Class::UserTask,
    Class::KernelThread,
    Class::Softirq,
    Class::Interrupt,
    Class::Sibling,
    Class::Throttling,
    Class::Host,
];

/// Writes a recording: `FERRIC_CPU_RECORD="NAME SECONDS FILE" cargo test -p ferric-cpu --lib -- --ignored record`, as root. Nothing is moved.
#[test]
#[ignore = "makes the files that the tests below read"]
fn record() {
    let Ok(arguments) = std::env::var("FERRIC_CPU_RECORD") else { return };
    let [name, seconds, file] = arguments.split(' ').collect::<Vec<_>>()[..] else { panic!("NAME SECONDS FILE") };
    let host = Host::read().unwrap();
    let profile = Profile { cpus: Some(host.online.last()), ..Profile::built_in("vbbu").unwrap() };
    let selection = Selection { names: vec![name.into()], pids: Vec::new() };
    let request = Request { policy: Policy::IaWa, selection, profile, scope: PathBuf::new() };
    let steps = Steps::new(&request, host).unwrap();
    let mut meter = Meter::start(&request, &settings()).unwrap();
    let begun = std::time::Instant::now();
    let mut text = String::new();
    while begun.elapsed().as_secs_f64() < seconds.parse().unwrap() {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let seen = meter.observe(&steps, &Names::new()).unwrap();
        let (ms, crowded) = (begun.elapsed().as_millis(), u8::from(seen.is_crowded));
        writeln!(text, "t\t{ms}\t{:.2}\t{:.2}\t{crowded}", seen.load, seen.others).unwrap();
        for Blamed { class, name, number, waited_ns, victim, is_real_time, .. } in seen.blamed {
            let real_time = u8::from(is_real_time);
            writeln!(text, "w\t{class}\t{waited_ns}\t{number}\t{real_time}\t{victim}\t{name}").unwrap();
        }
    }
    std::fs::write(file, text).unwrap();
}

/// What a recording becomes with some steps: a culprit that cannot get at the urgent threads' CPUs does not delay them, and one that yields
/// has a twentieth of its effect.
fn with_steps(observation: &Observation, taken: &[Step]) -> Observation {
    let mut observation = observation.clone();
    let has = |step: &Step| taken.contains(step);
    observation.blamed.retain_mut(|blamed| {
        let name = || blamed.name.clone();
        match blamed.class {
            Class::UserTask if has(&Step::Evict { name: name() }) => return false,
            Class::UserTask if taken.iter().any(|step| matches!(step, Step::Shield { .. })) => return false,
            Class::UserTask if has(&Step::Yield { name: name() }) => blamed.waited_ns /= 20,
            Class::KernelThread if blamed.name.starts_with("kworker/u") && has(&Step::Workqueue) => return false,
            Class::Softirq if blamed.name.starts_with("NET") && has(&Step::Steering) => return false,
            _ => {}
        }
        true
    });
    observation
}

/// Repeats a recording for a time, and then an idle base station. Returns the steps in the first part, and when each was decided.
fn replay(text: &str) -> Vec<(u64, Step)> {
    let recording = recording(text);
    let length_ns = recording.last().unwrap().0 + 10 * MS;
    let abilities = Abilities {
        elsewhere: true,
        workqueue: true,
        steering: true,
        shield: vec![Cpus::from_iter([1])],
        ..Abilities::default()
    };
    let mut decider = Decider::new(settings(), abilities);
    let (mut taken, mut steps, mut last_ns): (Vec<Step>, Vec<(u64, Step)>, Option<u64>) = Default::default();
    let mut count = 0;
    let mut decide = |now_ns: u64, observation: &Observation, taken: &mut Vec<Step>| {
        let Some(decision) = decider.observe(now_ns, &with_steps(observation, taken)) else { return };
        if decision.action == Action::None {
            return;
        }
        assert!(last_ns.is_none_or(|last| now_ns - last >= settings().settle_ns), "two steps within the hysteresis");
        last_ns = Some(now_ns);
        count += 1;
        match decision.action {
            Action::Take(step) => {
                steps.push((now_ns, step.clone()));
                taken.push(step);
            }
            Action::Return(step) => taken.retain(|other| *other != step),
            Action::None => {}
        }
    };
    let rounds = 60 * SECOND / length_ns;
    for round in 0..rounds {
        for (at_ns, observation) in &recording {
            decide(round * length_ns + at_ns, observation, &mut taken);
        }
    }
    let end_ns = rounds * length_ns;
    for tick in 0..10_000 {
        decide(end_ns + tick * 10 * MS, &Observation { others: 0.5, ..Observation::default() }, &mut taken);
    }
    assert_eq!(taken, [], "everything is given back");
    // without oscillation: what is taken stays until the end
    assert_eq!(count, 2 * steps.len(), "{steps:#?}");
    steps
}

#[test]
fn culprits_of_a_busy_host_yield_and_lose_the_cpu() {
    let steps = replay(include_str!("../recordings/user.txt"));
    assert!(steps[0].0 <= 100 * MS, "{steps:#?}");
    assert!(steps.iter().any(|(_, step)| matches!(step, Step::Yield { .. })), "{steps:#?}");
    assert!(steps.len() <= 12, "{steps:#?}");
}

#[test]
fn task_of_higher_priority_loses_the_cpu() {
    let steps = replay(include_str!("../recordings/realtime.txt"));
    assert!(
        matches!(&steps[0], (at, Step::Evict { name }) if *at <= 100 * MS && name == "high-priority"),
        "{steps:#?}"
    );
}

#[test]
fn packets_are_processed_elsewhere() {
    let steps = replay(include_str!("../recordings/softirq.txt"));
    assert!(steps.iter().any(|(at, step)| *step == Step::Steering && *at < SECOND), "{steps:#?}");
}
