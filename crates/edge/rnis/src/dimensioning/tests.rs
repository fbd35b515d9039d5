//! Instances in virtual time: queues whose service has the speed of their shares.

use std::collections::VecDeque;

use super::*;

const INTERVAL: Duration = Duration::from_millis(200);
const TARGET: Duration = Duration::from_millis(10);
/// A step of the simulation.
const TICK_S: f64 = 0.001;
/// The time whose quota may be used at once.
const BURST_S: f64 = 0.02;
/// The threads of an instance.
const THREADS: f64 = 2.0;

/// xorshift64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// An instance: events that cause batches of notifications, a queue, and a quota.
struct Queue {
    name: Arc<str>,
    events_per_s: f64,
    batch: u64,
    cost_s: f64,
    /// The intervals of events are random.
    is_random: bool,
    /// The time that a callback takes.
    callback_s: f64,
    random: Random,
    next_event_s: f64,
    waiting: VecDeque<(f64, u64)>,
    /// Processor time that was begun and not finished.
    remainder_s: f64,
    tokens_s: f64,
    latencies_s: Vec<f64>,
    measured: Measurement,
}

impl Queue {
    fn new(name: &str, events_per_s: f64, batch: u64, cost_us: f64) -> Self {
        Queue {
            name: name.into(),
            events_per_s,
            batch,
            cost_s: cost_us / 1e6,
            is_random: false,
            callback_s: 0.0,
            random: Random(42),
            next_event_s: 0.0,
            waiting: VecDeque::new(),
            remainder_s: 0.0,
            tokens_s: 0.0,
            latencies_s: Vec::new(),
            measured: Measurement::default(),
        }
    }

    fn tick(&mut self, now_s: f64, share: f64) {
        while self.next_event_s <= now_s {
            self.waiting.push_back((self.next_event_s, self.batch));
            (self.measured.events, self.measured.arrived) =
                (self.measured.events + 1, self.measured.arrived + self.batch);
            let factor = if self.is_random { -(1.0 - self.random.uniform()).ln() } else { 1.0 };
            self.next_event_s += factor / self.events_per_s;
        }
        self.tokens_s = (self.tokens_s + share * TICK_S).min(share * BURST_S);
        let mut left_s = self.tokens_s.min(THREADS * TICK_S);
        let before_s = left_s;
        while let Some((since_s, count)) = self.waiting.front_mut() {
            if self.remainder_s + left_s < self.cost_s {
                self.remainder_s += left_s;
                left_s = 0.0;
                break;
            }
            left_s -= self.cost_s - self.remainder_s;
            self.remainder_s = 0.0;
            *count -= 1;
            self.latencies_s.push(now_s + TICK_S - *since_s + self.callback_s);
            if *count == 0 {
                self.waiting.pop_front();
            }
        }
        let used_s = before_s - left_s;
        self.tokens_s -= used_s;
        self.measured.cpu += Duration::from_secs_f64(used_s.max(0.0));
        if !self.waiting.is_empty() && self.tokens_s < 1e-9 {
            self.measured.throttled += Duration::from_secs_f64(TICK_S);
        }
    }

    fn take(&mut self) -> Measurement {
        let mut latencies = std::mem::take(&mut self.latencies_s);
        latencies.sort_by(f64::total_cmp);
        let p99 = latencies.get(latencies.len() * 99 / 100).map(|s| Duration::from_secs_f64(*s));
        let waiting = self.waiting.iter().map(|(_, count)| count).sum();
        let delivered = latencies.len() as u64;
        let measured = std::mem::take(&mut self.measured);
        Measurement { interval: INTERVAL, delivered, waiting, p99, ..measured }
    }
}

/// Queues under a dimensioner.
struct Simulation {
    dimensioner: Dimensioner,
    queues: Vec<Queue>,
    now: Duration,
    decisions: Vec<Decision>,
    /// The 99th percentiles of each queue, of each interval.
    p99s: Vec<Vec<Option<Duration>>>,
}

const BOUNDS: Bounds = Bounds { weight: 1, min_share: 0.05, max_share: 2.0, p99_target: TARGET };

impl Simulation {
    fn new(budget: f64, queues: Vec<(Queue, Bounds)>) -> Self {
        let mut dimensioner = Dimensioner::new(budget);
        for (queue, bounds) in &queues {
            dimensioner.define(&queue.name, *bounds).unwrap();
        }
        dimensioner.step(Duration::ZERO, &[]);
        let p99s = queues.iter().map(|_| Vec::new()).collect();
        let queues = queues.into_iter().map(|(queue, _)| queue).collect();
        Simulation { dimensioner, queues, now: Duration::ZERO, decisions: Vec::new(), p99s }
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 5 {
            for tick in 0..200 {
                let now_s = self.now.as_secs_f64() + f64::from(tick) * TICK_S;
                for queue in &mut self.queues {
                    let share = self.dimensioner.share(&queue.name).unwrap();
                    queue.tick(now_s, share);
                }
            }
            self.now += INTERVAL;
            let measured: Vec<_> =
                self.queues.iter_mut().map(|queue| (Arc::clone(&queue.name), queue.take())).collect();
            for (at, (_, measured)) in measured.iter().enumerate() {
                self.p99s[at].push(measured.p99);
            }
            self.decisions.extend(self.dimensioner.step(self.now, &measured));
            assert!(self.dimensioner.allocated() <= self.dimensioner.budget() + 1e-9);
        }
    }

    fn share(&self, at: usize) -> f64 {
        self.dimensioner.share(&self.queues[at].name).unwrap()
    }

    /// The intervals of a queue whose latency exceeded the target, among the last ones.
    fn late(&self, at: usize, last_s: usize) -> usize {
        self.p99s[at].iter().rev().take(5 * last_s).filter(|p99| p99.is_some_and(|p99| p99 > TARGET)).count()
    }
}

#[test]
fn step_of_the_load_is_back_inside_the_target_within_two_seconds() {
    let mut simulation = Simulation::new(2.0, vec![(Queue::new("a", 100.0, 50, 17.0), BOUNDS)]);
    simulation.run(30);
    assert_eq!(simulation.late(0, 10), 0);
    let before = simulation.share(0);
    assert!((0.1..0.7).contains(&before), "{before}");
    simulation.queues[0].events_per_s = 1000.0;
    simulation.run(2);
    simulation.run(20);
    assert_eq!(simulation.late(0, 20), 0, "{:#?}", simulation.decisions);
    let after = simulation.share(0);
    assert!((0.9..1.6).contains(&after), "{after}: {:#?}", simulation.decisions);
    // and it returns
    simulation.queues[0].events_per_s = 100.0;
    simulation.run(10);
    let last = simulation.share(0);
    assert!(last < 1.3 * before, "{before} {last}");
    assert_eq!(simulation.late(0, 9), 0);
}

#[test]
fn constant_load_causes_few_decisions() {
    for (events_per_s, batch, cost_us, is_random) in [
        (100.0, 50, 17.0, false),
        (1000.0, 50, 17.0, false),
        (1000.0, 10, 30.0, true),
        (20.0, 100, 20.0, true),
        (3.0, 400, 20.0, true),
        (5.0, 1, 20.0, true),
    ] {
        let queue = Queue { is_random, ..Queue::new("a", events_per_s, batch, cost_us) };
        let mut simulation = Simulation::new(2.0, vec![(queue, BOUNDS)]);
        simulation.run(60);
        simulation.decisions.clear();
        simulation.run(300);
        let count = simulation.decisions.len();
        // the rate of events at random times differs from second to second
        let most = if is_random { 30 } else { 3 };
        assert!(count <= most, "{events_per_s} {batch} {is_random}: {count} decisions: {:#?}", simulation.decisions);
        let late = simulation.late(0, 300);
        assert!(late <= 45, "{events_per_s} {batch} {is_random}: {late} of 1500 intervals were late");
    }
}

#[test]
fn latency_corrects_a_load_model_that_is_too_low() {
    // each notification takes ten times as long as the measured processor time tells
    let mut simulation = Simulation::new(2.0, vec![(Queue::new("a", 200.0, 20, 100.0), BOUNDS)]);
    for _ in 0..100 {
        for tick in 0..200 {
            let now_s = simulation.now.as_secs_f64() + f64::from(tick) * TICK_S;
            let share = simulation.dimensioner.share("a").unwrap();
            simulation.queues[0].tick(now_s, share);
        }
        simulation.now += INTERVAL;
        let measured = simulation.queues[0].take();
        let measured = Measurement { cpu: measured.cpu / 10, ..measured };
        simulation.p99s[0].push(measured.p99);
        let name = Arc::clone(&simulation.queues[0].name);
        simulation.decisions.extend(simulation.dimensioner.step(simulation.now, &[(name, measured)]));
    }
    assert!(simulation.decisions.iter().any(|decision| decision.reason == Reason::Latency));
    let late = simulation.late(0, 10);
    assert!(late <= 5, "{late} of 50 intervals were late");
}

#[test]
fn overload_takes_nothing_from_the_minimum_of_others_and_ends() {
    let loud = Bounds { max_share: 2.0, ..BOUNDS };
    let quiet = Bounds { min_share: 0.3, ..BOUNDS };
    let queues = vec![(Queue::new("loud", 5000.0, 50, 20.0), loud), (Queue::new("quiet", 100.0, 50, 17.0), quiet)];
    let mut simulation = Simulation::new(1.0, queues);
    simulation.run(20);
    // its queue is bounded in reality
    simulation.queues[0].waiting.clear();
    assert_eq!(simulation.late(1, 15), 0);
    assert!((simulation.dimensioner.allocated() - 1.0).abs() < 1e-6);
    assert!(simulation.decisions.iter().any(|decision| decision.reason == Reason::Budget));
    simulation.queues[0].events_per_s = 10.0;
    simulation.queues[0].next_event_s = simulation.now.as_secs_f64();
    simulation.run(20);
    assert_eq!((simulation.late(0, 10), simulation.late(1, 10)), (0, 0), "{:#?}", simulation.decisions);
    assert!(simulation.share(0) < 0.7, "{}", simulation.share(0));
}

#[test]
fn slow_callbacks_raise_nothing_and_are_stated_once() {
    let queue = Queue { callback_s: 0.05, ..Queue::new("a", 100.0, 50, 17.0) };
    let mut simulation = Simulation::new(2.0, vec![(queue, BOUNDS)]);
    simulation.run(30);
    let is_slow = |decision: &Decision| decision.reason == Reason::SlowCallbacks;
    assert!(simulation.decisions.iter().any(is_slow), "{:#?}", simulation.decisions);
    simulation.decisions.clear();
    simulation.run(60);
    assert!(simulation.decisions.is_empty(), "{:#?}", simulation.decisions);
    assert!(simulation.share(0) < 0.7, "{}", simulation.share(0));
}

#[test]
fn run_queue_raises_at_most_to_twice_the_need() {
    let mut dimensioner = Dimensioner::new(4.0);
    let name: Arc<str> = "a".into();
    dimensioner.define(&name, Bounds { max_share: 4.0, ..BOUNDS }).unwrap();
    let measured = Measurement {
        interval: INTERVAL,
        events: 20,
        arrived: 1000,
        delivered: 1000,
        waiting: 0,
        p99: Some(Duration::from_millis(30)),
        cpu: Duration::from_millis(20),
        run_queue: Duration::from_millis(100),
        throttled: Duration::ZERO,
    };
    let mut reasons = Vec::new();
    for step in 1..100 {
        let decisions = dimensioner.step(INTERVAL * step, &[(Arc::clone(&name), measured)]);
        reasons.extend(decisions.into_iter().map(|decision| decision.reason));
    }
    assert!(reasons.contains(&Reason::RunQueue), "{reasons:?}");
    let share = dimensioner.share("a").unwrap();
    assert!((0.2..1.2).contains(&share), "{share}");
}

#[test]
fn shares_stay_within_budget_and_bounds_whatever_is_measured() {
    for seed in 1..=200 {
        let mut random = Random(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15));
        let budget = 0.2 + 4.0 * random.uniform();
        let mut dimensioner = Dimensioner::new(budget);
        let mut bounds_of: BTreeMap<Arc<str>, Bounds> = BTreeMap::new();
        let mut applied: BTreeMap<Arc<str>, f64> = BTreeMap::new();
        for step in 1..200 {
            let name: Arc<str> = format!("i{}", (random.uniform() * 8.0) as u32).into();
            match (random.uniform() * 10.0) as u32 {
                0 => {
                    dimensioner.remove(&name);
                    bounds_of.remove(&name);
                    applied.remove(&name);
                }
                1 => {
                    let min_share = 0.3 * random.uniform();
                    let max_share = min_share + 2.0 * random.uniform();
                    let weight = 1 + (random.uniform() * 9.0) as u32;
                    let bounds = Bounds { weight, min_share, max_share, p99_target: TARGET };
                    if dimensioner.define(&name, bounds).is_ok() {
                        bounds_of.insert(Arc::clone(&name), bounds);
                        applied.entry(name).or_insert(0.0);
                    }
                }
                _ => {}
            }
            let measured: Vec<_> = bounds_of
                .keys()
                .filter(|_| !random.0.is_multiple_of(5))
                .map(|name| (Arc::clone(name), arbitrary(&mut Random(random.0 ^ name.len() as u64 ^ step))))
                .collect();
            random.uniform();
            for decision in dimensioner.step(INTERVAL * u32::try_from(step).unwrap(), &measured) {
                assert_eq!(applied[&decision.name], decision.old_share);
                applied.insert(Arc::clone(&decision.name), decision.new_share);
                let sum: f64 = applied.values().sum();
                assert!(sum <= budget + 1e-6, "seed {seed}: {sum} of {budget} while decisions are applied");
            }
            for (name, bounds) in &bounds_of {
                let share = dimensioner.share(name).unwrap();
                assert!(share.is_finite(), "seed {seed}");
                assert!((bounds.min_share - 1e-6..=bounds.max_share + 1e-6).contains(&share), "seed {seed}: {share}");
                assert!((applied[name] - share).abs() <= EPSILON, "seed {seed}");
            }
        }
    }
}

fn arbitrary(random: &mut Random) -> Measurement {
    let mut number = |most: f64| (most * random.uniform().powi(4)) as u64;
    let interval = Duration::from_millis(number(2000.0));
    let (events, arrived, delivered) = (number(1e6), number(1e9), number(1e9));
    let (waiting, p99_us, cpu, run_queue) = (number(1e9), number(1e9), number(1e11), number(1e12));
    Measurement {
        interval,
        events,
        arrived,
        delivered,
        waiting,
        p99: (!p99_us.is_multiple_of(3)).then(|| Duration::from_micros(p99_us)),
        cpu: Duration::from_nanos(cpu),
        run_queue: Duration::from_nanos(run_queue),
        throttled: Duration::from_nanos(number(1e9)),
    }
}

#[test]
fn minima_beyond_the_budget_are_refused() {
    let mut dimensioner = Dimensioner::new(1.0);
    let names: [Arc<str>; 2] = ["a".into(), "b".into()];
    let bounds = Bounds { min_share: 0.7, ..BOUNDS };
    dimensioner.define(&names[0], bounds).unwrap();
    let refused = dimensioner.define(&names[1], bounds).unwrap_err();
    assert!(refused.to_string().contains("0.300"), "{refused}");
    assert_eq!(dimensioner.share("b"), None);
    // a change of its own counts without what it has
    dimensioner.define(&names[0], Bounds { min_share: 1.0, ..BOUNDS }).unwrap();
    dimensioner.remove("a");
    dimensioner.define(&names[1], bounds).unwrap();
}
