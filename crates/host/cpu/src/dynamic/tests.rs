//! The decisions in virtual time: over generated hosts, by seed, and over observations that were recorded on a real one.

mod recorded;

use std::path::PathBuf;

use super::steps::Steps;
use super::{Abilities, Action, Blamed, Cause, Decider, Decision, Observation, Settings, Step};
use crate::blame::Class;
use crate::{Cpus, CpusetMount, Host, Policy, Profile, Request, Selection};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Numbers by a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn share(&mut self) -> f64 {
        self.below(1000) as f64 / 1000.0
    }
}

/// What somebody does to urgent threads as long as nothing is done about it.
#[derive(Clone, Debug)]
struct Disturbance {
    class: Class,
    name: String,
    from_ns: u64,
    until_ns: u64,
    /// The share of the time that urgent threads wait for it.
    share: f64,
    is_real_time: bool,
    /// What is left of it once it yields.
    after_yield: f64,
    is_outside: bool,
}

/// A host in virtual time: which steps are taken decides on what urgent threads wait for.
struct World {
    cpus: usize,
    own: Cpus,
    decider: Decider,
    settings: Settings,
    abilities: Abilities,
    disturbances: Vec<Disturbance>,
    taken: Vec<Step>,
    decisions: Vec<(u64, Decision)>,
    now_ns: u64,
    load: f64,
    others: f64,
    is_crowded: bool,
    numbers: Numbers,
    /// One in so many steps is refused by the system.
    refuses: Option<u64>,
    /// The time between two observations.
    period_ns: u64,
}

fn settings() -> Settings {
    Settings::default()
}

impl World {
    fn new(seed: u64) -> World {
        let mut numbers = Numbers(seed);
        let cpus = 2 + numbers.below(15) as usize;
        let own = 1 + numbers.below(cpus as u64 - 1) as usize;
        World::with(cpus, own, numbers)
    }

    fn with(cpus: usize, own: usize, mut numbers: Numbers) -> World {
        let host = Host {
            online: (0..cpus).collect(),
            cpuset: match numbers.below(3) {
                0 => None,
                version => Some(CpusetMount { version: version as u8, root: PathBuf::from("/nowhere") }),
            },
            ..Host::default()
        };
        let own: Cpus = (cpus - own..cpus).collect();
        let profile = Profile { cpus: Some(own.clone()), ..Profile::built_in("vbbu").unwrap() };
        let request = Request { policy: Policy::IaWa, selection: Selection::default(), profile, scope: PathBuf::new() };
        let mut abilities = Steps::new(&request, host).unwrap().abilities(&[]);
        abilities.confine = numbers.below(2) == 0;
        abilities.separate = own.len() > 1;
        abilities.interrupts = numbers.below(2) == 0;
        abilities.steering = numbers.below(2) == 0;
        World {
            cpus,
            own,
            decider: Decider::new(settings(), abilities.clone()),
            settings: settings(),
            abilities,
            disturbances: Vec::new(),
            taken: Vec::new(),
            decisions: Vec::new(),
            now_ns: 0,
            load: 0.5,
            others: 0.5,
            is_crowded: false,
            numbers,
            refuses: None,
            period_ns: 10 * MS,
        }
    }

    fn disturbance(&mut self) -> Disturbance {
        let n = &mut self.numbers;
        let (class, name) = match n.below(8) {
            0 => (Class::KernelThread, "kworker/u8:1".to_owned()),
            1 => (Class::KernelThread, "kcompactd0".to_owned()),
            2 => (Class::Softirq, "NET_RX".to_owned()),
            3 => (Class::Interrupt, format!("eth{}", n.below(3))),
            4 => (Class::Sibling, "TASK_GTPV1_U".to_owned()),
            _ => (Class::UserTask, format!("task{}", n.below(9))),
        };
        let from_ns = n.below(20) * SECOND;
        Disturbance {
            class,
            name,
            from_ns,
            until_ns: from_ns + (1 + n.below(60)) * SECOND,
            share: 0.002 + n.share() * 0.5,
            is_real_time: n.below(2) == 0,
            after_yield: if n.below(2) == 0 { 0.0 } else { n.share() },
            is_outside: n.below(8) == 0,
        }
    }

    /// How much of a disturbance is left with the steps that are taken.
    fn left(&self, disturbance: &Disturbance) -> f64 {
        let name = &disturbance.name;
        let has = |step: &Step| self.taken.contains(step);
        // what is not kept on some CPUs is anywhere
        let is_confined = !self.abilities.confine || has(&Step::Confine);
        let shielded: usize = self.shielded().len();
        let own = self.own.len() as f64;
        match disturbance.class {
            // its own threads, on CPUs that are too few
            Class::Sibling if self.abilities.confine && !has(&Step::Confine) => 0.0,
            _ if !is_confined && !has(&Step::Yield { name: name.clone() }) => 1.0,
            Class::UserTask if disturbance.is_outside => 1.0,
            Class::UserTask if has(&Step::Evict { name: name.clone() }) => 0.0,
            Class::UserTask => {
                let yielded = if has(&Step::Yield { name: name.clone() }) { disturbance.after_yield } else { 1.0 };
                yielded * (1.0 - shielded as f64 / own)
            }
            Class::KernelThread => f64::from(!(name.starts_with("kworker/u") && has(&Step::Workqueue))),
            Class::Softirq => f64::from(!(has(&Step::Steering) || has(&Step::Interrupts))),
            Class::Interrupt => f64::from(!self.taken.iter().any(|step| matches!(step, Step::Interrupt { .. }))),
            Class::Sibling => f64::from(!has(&Step::Separate)),
            _ => 1.0,
        }
    }

    fn shielded(&self) -> Cpus {
        let of_step = |step: &Step| if let Step::Shield { cpus } = step { Some(cpus.clone()) } else { None };
        self.taken.iter().filter_map(of_step).fold(Cpus::default(), |all, cpus| all.with(&cpus))
    }

    /// Lets a period pass, and checks what was decided.
    fn step(&mut self) {
        let passed_ns = self.period_ns * 4 / 5 + self.numbers.below(self.period_ns * 2 / 5);
        self.now_ns += passed_ns;
        let now_ns = self.now_ns;
        let mut observation = Observation {
            is_void: self.numbers.below(50) == 0,
            load: self.load,
            others: self.others,
            is_crowded: self.is_crowded,
            ..Observation::default()
        };
        for disturbance in self.disturbances.clone() {
            let is_now = (disturbance.from_ns..disturbance.until_ns).contains(&now_ns);
            let waited = passed_ns as f64 * disturbance.share * self.left(&disturbance) * f64::from(self.load > 0.0);
            if is_now && waited >= 1.0 {
                observation.blamed.push(Blamed {
                    class: disturbance.class,
                    number: 30 + disturbance.name.len() as u32,
                    name: disturbance.name,
                    waited_ns: waited as u64,
                    victim: "ru_thread".into(),
                    is_real_time: disturbance.is_real_time,
                    is_outside: disturbance.is_outside,
                });
            }
        }
        let is_there = |name: &str| {
            let is_its = |disturbance: &&Disturbance| disturbance.name == name && disturbance.until_ns > now_ns;
            self.disturbances.iter().any(|disturbance| is_its(&disturbance))
        };
        for step in &self.taken {
            if let Step::Yield { name } | Step::Evict { name } = step {
                observation.gone.extend((!is_there(name)).then(|| name.clone()));
            }
        }
        if let Some(decision) = self.decider.observe(now_ns, &observation) {
            self.check(&decision);
            self.act(decision);
        }
    }

    /// What holds of each decision.
    fn check(&self, decision: &Decision) {
        let last = self.decisions.iter().rev().find(|(_, decision)| decision.action != Action::None);
        if let Some((at, _)) = last.filter(|_| decision.action != Action::None) {
            assert!(self.now_ns - at >= self.settings.settle_ns, "two steps within the hysteresis: {decision:?}");
        }
        match &decision.action {
            Action::Take(step) => {
                assert!(!self.taken.contains(step), "taken twice: {step:?}");
                if let Step::Shield { cpus } = step {
                    assert!(cpus.common(&self.shielded()).is_empty() && cpus.without(&self.own).is_empty(), "{cpus}");
                }
                assert!(matches!(decision.cause, Cause::Hurt { .. }), "moved though it does not hurt: {decision:?}");
            }
            Action::Return(step) => {
                let index = self.taken.iter().position(|taken| taken == step).expect("a step that is taken");
                assert!(
                    !self.taken[index + 1..].iter().any(|later| later.stands_on(step)),
                    "{step:?} is given back below {:?}",
                    self.taken
                );
            }
            Action::None => {}
        }
    }

    fn act(&mut self, decision: Decision) {
        let is_refused = self.refuses.is_some_and(|one_in| self.numbers.below(one_in) == 0);
        match &decision.action {
            Action::Take(step) if is_refused && self.numbers.below(2) == 0 => self.decider.refuse(step),
            Action::Take(step) if is_refused => self.decider.miss(self.now_ns, step),
            Action::Take(step) => self.taken.push(step.clone()),
            Action::Return(step) => self.taken.retain(|taken| taken != step),
            Action::None => {}
        }
        self.decisions.push((self.now_ns, decision));
        assert!(self.decider.taken().eq(&self.taken), "the machine knows what is taken");
        // a CPU is always left to both
        assert!(self.shielded().len() < self.cpus && !self.own.is_empty(), "{:?}", self.taken);
    }

    fn run_until(&mut self, until_ns: u64) {
        while self.now_ns < until_ns {
            self.step();
        }
    }

    /// How many steps were taken and given back since a time.
    fn changes_since(&self, since_ns: u64) -> usize {
        let is_change = |(at, decision): &&(u64, Decision)| *at >= since_ns && decision.action != Action::None;
        self.decisions.iter().filter(is_change).count()
    }
}

const SEEDS: std::ops::Range<u64> = 0..100;

#[test]
fn everything_is_given_back_when_the_base_station_is_idle() {
    let mut takes = 0;
    for seed in SEEDS {
        let mut world = World::new(seed);
        world.refuses = (seed % 3 == 0).then_some(4);
        for _ in 0..1 + seed % 6 {
            let disturbance = world.disturbance();
            world.disturbances.push(disturbance);
        }
        // the load changes while they last
        for second in 0..40 {
            if second % 7 == 0 {
                world.load = 0.05 + world.numbers.share() * world.own.len() as f64;
            }
            world.run_until(second * SECOND);
        }
        takes += world.decisions.iter().filter(|(_, decision)| matches!(decision.action, Action::Take(_))).count();
        world.load = 0.0;
        // a step that was needed again and again stays for longer: 64 s at most
        world.period_ns = 100 * MS;
        world.run_until(world.now_ns + 100 * SECOND);
        assert_eq!(world.taken, [], "seed {seed}: {:#?}", world.decisions);
    }
    assert!(takes as u64 > SEEDS.end, "the worlds have hardly disturbed anybody: {takes} steps");
}

#[test]
fn constant_load_ends_in_a_constant_state() {
    for seed in SEEDS {
        let mut world = World::new(seed);
        world.load = 0.02 + world.numbers.share() * world.own.len() as f64;
        for _ in 0..1 + seed % 6 {
            let disturbance = world.disturbance();
            world.disturbances.push(Disturbance { from_ns: 0, until_ns: u64::MAX, ..disturbance });
        }
        world.run_until(60 * SECOND);
        let settled = world.now_ns;
        world.period_ns = 50 * MS;
        // the load is measured with an error
        let load = world.load;
        while world.now_ns < 300 * SECOND {
            world.load = load * (0.9 + 0.2 * world.numbers.share());
            world.step();
        }
        assert_eq!(world.changes_since(settled), 0, "seed {seed}: {:#?}", world.decisions);
    }
}

#[test]
fn load_that_comes_and_goes_is_followed_ever_less_often() {
    let mut world = World::with(2, 1, Numbers(7));
    world.abilities.confine = false;
    world.decider = Decider::new(settings(), world.abilities.clone());
    world.disturbances.push(Disturbance {
        class: Class::UserTask,
        name: "stress".into(),
        from_ns: 0,
        until_ns: u64::MAX,
        share: 0.3,
        is_real_time: true,
        after_yield: 1.0,
        is_outside: false,
    });
    let mut counts = Vec::new();
    for _ in 0..8 {
        let since = world.now_ns;
        while world.now_ns < since + 60 * SECOND {
            // busy for four seconds of eight
            world.load = if (world.now_ns / (4 * SECOND)).is_multiple_of(2) { 0.6 } else { 0.0 };
            world.step();
        }
        counts.push(world.changes_since(since));
    }
    assert!(counts[0] >= 6, "the load is followed: {counts:?}");
    assert!(counts[4..].iter().all(|count| *count <= 2), "and the steps stay for longer each time: {counts:?}");
}

#[test]
fn best_effort_work_does_not_starve() {
    let mut returned = 0;
    for seed in SEEDS {
        let mut world = World::new(seed);
        for _ in 0..1 + seed % 4 {
            let disturbance = world.disturbance();
            world.disturbances.push(Disturbance { from_ns: 0, until_ns: u64::MAX, ..disturbance });
        }
        world.run_until(20 * SECOND);
        let taking = world.taken.iter().filter(|step| step.takes_from_others()).count();
        // others want the CPU, and have less than their share
        (world.others, world.is_crowded) = (0.5 * world.settings.least_share, true);
        let begun = world.now_ns;
        world.run_until(begun + world.settings.starved_ns + (taking as u64 + 1) * (world.settings.settle_ns + 30 * MS));
        assert!(!world.taken.iter().any(Step::takes_from_others), "seed {seed}: {:?}", world.taken);
        // none is taken as long as that lasts
        world.period_ns = 50 * MS;
        world.run_until(begun + 60 * SECOND);
        assert!(!world.taken.iter().any(Step::takes_from_others), "seed {seed}: {:?}", world.taken);
        returned += taking;
    }
    assert!(returned > 50, "nothing was taken from others: {returned}");
}

#[test]
fn first_step_comes_within_100_ms_of_a_culprit() {
    for seed in SEEDS {
        let mut world = World::new(seed);
        let mut disturbance = world.disturbance();
        // two milliseconds of waiting in 100
        (disturbance.share, disturbance.class) = (0.02 + disturbance.share, Class::UserTask);
        (disturbance.from_ns, disturbance.until_ns, disturbance.is_outside) = (3 * SECOND, u64::MAX, false);
        world.disturbances.push(disturbance);
        world.run_until(4 * SECOND);
        let (at, decision) = &world.decisions[0];
        assert!(*at <= 3 * SECOND + 100 * MS, "seed {seed}: {at}: {decision:?}");
        let Cause::Hurt { since_ns, .. } = decision.cause else { panic!("{decision:?}") };
        assert!(since_ns.abs_diff(3 * SECOND) <= 12 * MS, "{since_ns}");
    }
}

/// A base station that needs more than the CPUs that it was given.
#[test]
fn cpus_that_are_too_few_are_given_up_until_the_load_falls() {
    let mut world = World::with(2, 1, Numbers(3));
    (world.abilities.confine, world.load) = (true, 0.9);
    world.decider = Decider::new(settings(), world.abilities.clone());
    let disturbance = |class, name: &str, share| Disturbance {
        class,
        name: name.into(),
        from_ns: 0,
        until_ns: u64::MAX,
        share,
        is_real_time: true,
        after_yield: 1.0,
        is_outside: false,
    };
    world.disturbances.push(disturbance(Class::UserTask, "stress", 0.02));
    world.disturbances.push(disturbance(Class::Sibling, "feptx_thread", 0.3));
    world.run_until(3 * SECOND);
    let returned = |world: &World| {
        let is_confine = |(_, decision): &&(u64, Decision)| decision.action == Action::Return(Step::Confine);
        world.decisions.iter().filter(is_confine).cloned().collect::<Vec<_>>()
    };
    let first = returned(&world);
    assert_eq!(first.len(), 1, "{:#?}", world.decisions);
    assert!(matches!(first[0].1.cause, Cause::Crowded { .. }), "{first:?}");
    assert!(first[0].0 <= 2 * SECOND, "soon: {first:?}");
    world.run_until(120 * SECOND);
    assert!(!world.taken.contains(&Step::Confine) && returned(&world).len() == 1, "{:#?}", world.decisions);
    // one CPU is enough for a small load
    world.disturbances.pop();
    world.load = 0.3;
    world.run_until(125 * SECOND);
    assert!(world.taken.contains(&Step::Confine), "{:#?}", world.decisions);
}

#[test]
fn waiting_that_is_less_than_what_is_kept_off_is_accepted() {
    let mut world = World::with(2, 1, Numbers(3));
    world.abilities.confine = true;
    world.decider = Decider::new(settings(), world.abilities.clone());
    for (class, name, share) in [(Class::UserTask, "stress", 0.3), (Class::Sibling, "feptx_thread", 0.03)] {
        let (name, until_ns) = (name.to_owned(), u64::MAX);
        let (is_real_time, after_yield, is_outside) = (true, 1.0, false);
        world.disturbances.push(Disturbance {
            class,
            name,
            from_ns: 0,
            until_ns,
            share,
            is_real_time,
            after_yield,
            is_outside,
        });
    }
    world.run_until(60 * SECOND);
    assert!(world.taken.contains(&Step::Confine), "{:#?}", world.decisions);
}

#[test]
fn waiting_within_the_tolerance_moves_nothing() {
    for seed in SEEDS {
        let mut world = World::new(seed);
        let disturbance = world.disturbance();
        let share = 0.99 * world.settings.tolerance;
        world.disturbances.push(Disturbance { from_ns: 0, until_ns: u64::MAX, share, ..disturbance });
        world.run_until(10 * SECOND);
        assert_eq!(world.decisions, [], "seed {seed}");
    }
}
