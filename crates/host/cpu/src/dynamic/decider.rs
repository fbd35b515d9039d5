//! The decisions: a machine without clocks and files.

use std::collections::{BTreeMap, BTreeSet};

use super::{Abilities, Action, Cause, Decision, Observation, Settings, Step};
use crate::blame::Class;

/// So many culprits and steps are remembered.
const MAX_REMEMBERED: usize = 256;
/// The hold time of a step doubles so often at most.
const MAX_STRIKES: u32 = 5;
/// The load at which a step is taken counts as so many CPUs at least: below that, differences mean nothing.
const LEAST_LOAD: f64 = 0.02;
/// How often it is said that nothing can be done about a class.
const ADVICE_PERIOD_NS: u64 = 60_000_000_000;
/// A step that starved others is not taken for so many hold times.
const BARRED_HOLDS: u64 = 5;
/// Waits are averaged over this time, in ns.
const MEAN_NS: f64 = 250e6;

/// What urgent threads have waited for one class: it fills by waiting, and leaks as fast as is tolerated.
#[derive(Clone, Debug, Default)]
struct Evidence {
    ns: f64,
    /// Since when it is not empty.
    since_ns: u64,
    /// The waiting for each culprit, and its number and last victim.
    culprits: BTreeMap<String, Culprit>,
    /// What was seen until then is of the time before the last step.
    ignored_until_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct Culprit {
    ns: u64,
    number: u32,
    victim: String,
    is_real_time: bool,
    is_outside: bool,
}

/// A step that is taken.
#[derive(Clone, Debug)]
struct Taken {
    step: Step,
    at_ns: u64,
    load: f64,
    /// What urgent threads waited for at that time.
    waits: Waits,
}

/// The shares of the time that urgent threads wait, means.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    /// For each other.
    siblings: f64,
    /// For everything else but the host.
    others: f64,
}

/// What is remembered of a step that was given back.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    returned_ns: u64,
    /// How often it had to be taken again soon.
    strikes: u32,
    barred_until_ns: u64,
}

/// Decides on the next step.
#[derive(Clone, Debug)]
pub struct Decider {
    settings: Settings,
    abilities: Abilities,
    evidence: BTreeMap<Class, Evidence>,
    taken: Vec<Taken>,
    memory: BTreeMap<Step, Memory>,
    /// Steps that the system has refused.
    refused: Vec<Step>,
    /// When it was last said that nothing can be done about a class.
    said_ns: BTreeMap<Class, u64>,
    last_seen_ns: Option<u64>,
    last_step_ns: Option<u64>,
    /// Since when the load is below what each taken step was taken for; by step.
    low_since_ns: BTreeMap<Step, u64>,
    starved_since_ns: Option<u64>,
    /// How many CPUs the base station uses.
    load: f64,
    waits: Waits,
    /// The load at which the base station's CPUs were too few for its threads, and what they waited for there.
    crowded: Option<(f64, Waits)>,
}

impl Decider {
    /// A machine that has taken no step.
    #[must_use]
    pub fn new(settings: Settings, abilities: Abilities) -> Decider {
        Decider {
            settings,
            abilities,
            evidence: BTreeMap::new(),
            taken: Vec::new(),
            memory: BTreeMap::new(),
            refused: Vec::new(),
            said_ns: BTreeMap::new(),
            last_seen_ns: None,
            last_step_ns: None,
            low_since_ns: BTreeMap::new(),
            starved_since_ns: None,
            load: 0.0,
            waits: Waits::default(),
            crowded: None,
        }
    }

    /// The steps that are taken, in their order.
    pub fn taken(&self) -> impl Iterator<Item = &Step> {
        self.taken.iter().map(|taken| &taken.step)
    }

    /// The step that was decided last had nothing to change: the tasks of that name have ended. It is not tried again soon.
    pub fn miss(&mut self, now_ns: u64, step: &Step) {
        self.taken.retain(|taken| taken.step != *step);
        let barred_until_ns = now_ns + self.settings.hold_ns;
        self.memory.entry(step.clone()).or_default().barred_until_ns = barred_until_ns;
        self.trim_memory();
    }

    /// The step that was decided last could not be taken: it is not tried again.
    pub fn refuse(&mut self, step: &Step) {
        self.taken.retain(|taken| taken.step != *step);
        if self.refused.len() < MAX_REMEMBERED {
            self.refused.push(step.clone());
        }
    }

    /// Takes an observation, whose time is not before that of the last one. The caller makes what is decided at once.
    pub fn observe(&mut self, now_ns: u64, observation: &Observation) -> Option<Decision> {
        let passed_ns = now_ns.saturating_sub(self.last_seen_ns.unwrap_or(now_ns));
        let since_ns = self.last_seen_ns.unwrap_or(now_ns);
        self.last_seen_ns = Some(now_ns);
        if observation.is_void {
            return None;
        }
        self.weigh(now_ns, since_ns, passed_ns, observation);
        self.note_load(now_ns, observation);
        let has_settled = self.last_step_ns.is_none_or(|last| now_ns.saturating_sub(last) >= self.settings.settle_ns);
        if !has_settled {
            return None;
        }
        let decision = self
            .starved(now_ns, observation)
            .or_else(|| self.crowded(now_ns))
            .or_else(|| self.hurt(now_ns))
            .or_else(|| self.spare(now_ns, observation))?;
        match &decision.action {
            Action::Take(step) => self.note_taken(now_ns, step.clone(), observation.load),
            Action::Return(step) => self.note_returned(now_ns, step),
            Action::None => {}
        }
        Some(decision)
    }

    fn weigh(&mut self, now_ns: u64, since_ns: u64, passed_ns: u64, observation: &Observation) {
        let leak = passed_ns as f64 * self.settings.tolerance;
        for evidence in self.evidence.values_mut() {
            evidence.ns -= leak;
            if evidence.ns <= 0.0 {
                let ignored_until_ns = evidence.ignored_until_ns;
                *evidence = Evidence { ignored_until_ns, ..Evidence::default() };
            }
        }
        if passed_ns > 0 {
            let passed = passed_ns as f64;
            let share = |is_meant: fn(Class) -> bool| {
                let meant = observation.blamed.iter().filter(|blamed| is_meant(blamed.class));
                meant.map(|blamed| blamed.waited_ns as f64).sum::<f64>() / passed
            };
            let newest = passed / (MEAN_NS + passed);
            self.waits.siblings += newest * (share(|class| class == Class::Sibling) - self.waits.siblings);
            let others = share(|class| !matches!(class, Class::Sibling | Class::Host));
            self.waits.others += newest * (others - self.waits.others);
        }
        for blamed in observation.blamed.iter().filter(|blamed| blamed.class != Class::Host) {
            let evidence = self.evidence.entry(blamed.class).or_default();
            if now_ns < evidence.ignored_until_ns {
                continue;
            }
            if evidence.ns == 0.0 {
                evidence.since_ns = since_ns;
            }
            evidence.ns += blamed.waited_ns as f64;
            if evidence.culprits.len() >= MAX_REMEMBERED && !evidence.culprits.contains_key(&blamed.name) {
                continue;
            }
            let culprit = evidence.culprits.entry(blamed.name.clone()).or_default();
            culprit.ns += blamed.waited_ns;
            culprit.number = blamed.number;
            culprit.victim.clone_from(&blamed.victim);
            culprit.is_real_time |= blamed.is_real_time;
            culprit.is_outside = blamed.is_outside;
        }
    }

    fn note_load(&mut self, now_ns: u64, observation: &Observation) {
        self.load = observation.load;
        // others may cost more than that after all
        let still = |(load, then): &(f64, Waits)| {
            self.load >= self.settings.fall * load && self.waits.others <= then.siblings + then.others
        };
        self.crowded = self.crowded.filter(still);
        for taken in &mut self.taken {
            // the load is a mean over some time, so it may follow what has hurt
            if now_ns - taken.at_ns <= self.settings.hold_ns {
                taken.load = taken.load.max(observation.load);
            }
            if observation.load < self.settings.fall * taken.load {
                self.low_since_ns.entry(taken.step.clone()).or_insert(now_ns);
            } else {
                self.low_since_ns.remove(&taken.step);
            }
        }
        let is_starved = observation.is_crowded && observation.others < self.settings.least_share;
        self.starved_since_ns = is_starved.then(|| self.starved_since_ns.unwrap_or(now_ns));
    }

    fn note_taken(&mut self, now_ns: u64, step: Step, load: f64) {
        let hold_ns = self.hold_ns(&step);
        if let Some(memory) = self.memory.get_mut(&step) {
            let was_early = now_ns.saturating_sub(memory.returned_ns) <= 4 * hold_ns;
            memory.strikes = if was_early { (memory.strikes + 1).min(MAX_STRIKES) } else { 0 };
        }
        self.last_step_ns = Some(now_ns);
        self.taken.push(Taken { step, at_ns: now_ns, load: load.max(LEAST_LOAD), waits: self.waits });
        // what was waited until now says nothing about this step
        self.waits.siblings = 0.0;
    }

    fn note_returned(&mut self, now_ns: u64, step: &Step) {
        self.taken.retain(|taken| taken.step != *step);
        self.low_since_ns.remove(step);
        self.waits.siblings = 0.0;
        self.last_step_ns = Some(now_ns);
        self.memory.entry(step.clone()).or_default().returned_ns = now_ns;
        self.trim_memory();
    }

    fn trim_memory(&mut self) {
        if self.memory.len() > MAX_REMEMBERED {
            // the one that was given back first is the least likely to come back
            let oldest = self.memory.iter().min_by_key(|(_, memory)| memory.returned_ns).map(|(step, _)| step.clone());
            oldest.map(|step| self.memory.remove(&step));
        }
    }

    fn hold_ns(&self, step: &Step) -> u64 {
        let strikes = self.memory.get(step).map_or(0, |memory| memory.strikes);
        self.settings.hold_ns.saturating_mul(1 << strikes)
    }

    /// The newest step that can be given back, of those that `is_meant` holds of.
    fn returnable(&self, is_meant: impl Fn(&Taken) -> bool) -> Option<&Taken> {
        let is_free = |index: usize, taken: &Taken| {
            !self.taken[index + 1..].iter().any(|later| later.step.stands_on(&taken.step))
        };
        self.taken
            .iter()
            .enumerate()
            .rev()
            .find(|(index, taken)| is_free(*index, taken) && is_meant(taken))
            .map(|(_, t)| t)
    }

    /// What starves others is given back first.
    fn starved(&mut self, now_ns: u64, observation: &Observation) -> Option<Decision> {
        let is_over = self.starved_since_ns.is_some_and(|since| now_ns - since >= self.settings.starved_ns);
        let is_meant = |taken: &Taken| match &taken.step {
            Step::Yield { name } | Step::Evict { name } if observation.starved.contains(name) => true,
            step => is_over && step.takes_from_others(),
        };
        let step = self.returnable(is_meant)?.step.clone();
        let barred_ns = BARRED_HOLDS * self.hold_ns(&step);
        let cause = Cause::Starved { share: observation.others };
        let memory = self.memory.entry(step.clone()).or_default();
        memory.barred_until_ns = now_ns + barred_ns;
        memory.strikes = (memory.strikes + 1).min(MAX_STRIKES);
        Some(Decision { action: Action::Return(step), cause })
    }

    /// CPUs that are too few for the base station's own threads cost more than they keep off: all steps that stand on them are given back
    /// with them.
    fn crowded(&mut self, now_ns: u64) -> Option<Decision> {
        let confined = self.taken.iter().find(|taken| taken.step == Step::Confine)?;
        let (before, gain) = (confined.waits, confined.waits.others.max(self.settings.tolerance));
        if self.waits.siblings - before.siblings <= gain || self.is_possible(now_ns, &Step::Separate) {
            return None;
        }
        let cause = Cause::Crowded { siblings: self.waits.siblings, others: before.others };
        let step = self.returnable(|taken| taken.step == Step::Confine || taken.step.stands_on(&Step::Confine))?;
        let step = step.step.clone();
        if step == Step::Confine {
            self.crowded = Some((self.load.max(LEAST_LOAD), self.waits));
        }
        Some(Decision { action: Action::Return(step), cause })
    }

    /// Whether a step can be taken now.
    fn is_possible(&self, now_ns: u64, step: &Step) -> bool {
        let abilities = &self.abilities;
        let can = match step {
            // the threads need more
            Step::Confine if self.crowded.is_some() => false,
            Step::Confine => abilities.confine,
            Step::Separate => abilities.separate,
            Step::Workqueue => abilities.workqueue,
            Step::Interrupts => abilities.interrupts,
            Step::Steering => abilities.steering,
            Step::Interrupt { .. } | Step::Evict { .. } => abilities.elsewhere,
            Step::Yield { .. } => true,
            Step::Shield { cpus } => abilities.shield.contains(cpus),
        };
        let is_barred = self.memory.get(step).is_some_and(|memory| now_ns < memory.barred_until_ns);
        let would_starve = self.starved_since_ns.is_some() && step.takes_from_others();
        // without it, what keeps others off those CPUs helps little
        let lacks_confine =
            abilities.confine && step.stands_on(&Step::Confine) && !self.taken().any(|taken| *taken == Step::Confine);
        can && !lacks_confine
            && !is_barred
            && !would_starve
            && !self.refused.contains(step)
            && !self.taken().any(|taken| taken == step)
    }

    /// The steps against a culprit, the mildest first.
    fn ladder(&self, class: Class, name: &str, culprit: &Culprit) -> Vec<Step> {
        let is_packets = ["NET_RX", "NET_TX"].contains(&name) || name.starts_with("ksoftirqd/");
        match class {
            Class::UserTask if culprit.is_outside => Vec::new(),
            Class::UserTask => {
                let others = self.taken().filter_map(|step| match step {
                    Step::Yield { name } | Step::Evict { name } => Some(name.as_str()),
                    _ => None,
                });
                let names: BTreeSet<&str> = others.filter(|other| *other != name).collect();
                let shielded = self.taken().filter(|step| matches!(step, Step::Shield { .. })).count();
                let is_by_name = names.len() < self.settings.most_names && shielded == 0;
                let mut steps = Vec::new();
                // one with a real-time priority does not wait for the scheduler's choice
                if is_by_name && !culprit.is_real_time {
                    steps.push(Step::Yield { name: name.to_owned() });
                }
                steps.push(Step::Confine);
                if is_by_name {
                    steps.push(Step::Evict { name: name.to_owned() });
                }
                steps.extend(self.abilities.shield.get(shielded).map(|cpus| Step::Shield { cpus: cpus.clone() }));
                steps
            }
            Class::KernelThread if name.starts_with("kworker/u") => vec![Step::Confine, Step::Workqueue],
            Class::Softirq if is_packets => vec![Step::Confine, Step::Interrupts, Step::Steering],
            Class::Interrupt => vec![Step::Confine, Step::Interrupt { number: culprit.number }],
            Class::Sibling if self.abilities.separate => vec![Step::Confine, Step::Separate],
            _ => Vec::new(),
        }
    }

    /// The next step against the class that urgent threads have waited for longest.
    fn hurt(&mut self, now_ns: u64) -> Option<Decision> {
        let burst_ns = self.settings.burst_ns;
        let over = |evidence: &Evidence| evidence.ns >= burst_ns as f64;
        let mut classes: Vec<_> = self.evidence.iter().filter(|(_, evidence)| over(evidence)).collect();
        classes.sort_by(|a, b| b.1.ns.total_cmp(&a.1.ns));
        let mut advice = None;
        for (class, evidence) in classes {
            let cause = |name: &str, culprit: &Culprit| Cause::Hurt {
                class: *class,
                name: name.to_owned(),
                victim: culprit.victim.clone(),
                waited_ns: culprit.ns,
                since_ns: evidence.since_ns,
            };
            let mut culprits: Vec<_> = evidence.culprits.iter().collect();
            culprits.sort_by_key(|(_, culprit)| std::cmp::Reverse(culprit.ns));
            let worst = culprits.first().map_or(0, |(_, culprit)| culprit.ns);
            // one of the worst, so that a small one does not pay for one that nothing can be done about
            for (name, culprit) in culprits.into_iter().filter(|(_, culprit)| 4 * culprit.ns >= worst) {
                let step = self.ladder(*class, name, culprit).into_iter().find(|step| self.is_possible(now_ns, step));
                if let Some(step) = step {
                    let (class, cause) = (*class, cause(name, culprit));
                    let ignored_until_ns = now_ns + self.settings.settle_ns / 2;
                    self.evidence.insert(class, Evidence { ignored_until_ns, ..Evidence::default() });
                    return Some(Decision { action: Action::Take(step), cause });
                }
                let is_new = self.said_ns.get(class).is_none_or(|said| now_ns - said >= ADVICE_PERIOD_NS);
                if advice.is_none() && is_new {
                    advice = Some((*class, culprit.is_outside, cause(name, culprit)));
                }
            }
        }
        let (class, is_outside, cause) = advice?;
        self.said_ns.insert(class, now_ns);
        if is_outside {
            return Some(Decision { action: Action::None, cause: Cause::Outside(Box::new(cause)) });
        }
        Some(Decision { action: Action::None, cause })
    }

    /// The next step that is needed no longer.
    fn spare(&self, now_ns: u64, observation: &Observation) -> Option<Decision> {
        let is_held = |taken: &Taken| now_ns.saturating_sub(taken.at_ns) < self.hold_ns(&taken.step);
        let is_gone = |taken: &Taken| match &taken.step {
            Step::Yield { name } | Step::Evict { name } => observation.gone.contains(name),
            _ => false,
        };
        let is_low = |taken: &Taken| {
            let since = self.low_since_ns.get(&taken.step);
            since.is_some_and(|since| now_ns.saturating_sub(*since) >= self.settings.calm_ns)
        };
        let taken = self.returnable(|taken| !is_held(taken) && (is_gone(taken) || is_low(taken)))?;
        let cause = if is_gone(taken) { Cause::Gone } else { Cause::Fell { from: taken.load, to: observation.load } };
        Some(Decision { action: Action::Return(taken.step.clone()), cause })
    }
}
