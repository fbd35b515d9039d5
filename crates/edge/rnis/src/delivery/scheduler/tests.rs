//! The scheduler in virtual time.

use super::*;
use crate::delivery::{BreakerState, Notification};

const MS: Duration = Duration::from_millis(1);

/// A scheduler with its time.
struct Run {
    scheduler: Scheduler,
    now: Instant,
    sent: u64,
}

impl Run {
    fn new(config: DeliveryConfig) -> Self {
        Run { scheduler: Scheduler::new(DeliveryConfig { seed: 7, ..config }), now: Instant::now(), sent: 0 }
    }

    fn subscribe(&mut self, key: u64, host: u16, tenant: &str) {
        let url = format!("http://127.0.0.1:{host}/");
        let target = Target::callback(&url, "}").unwrap().of_tenant(tenant);
        self.scheduler.insert(Key(key), target, self.now);
    }

    /// Sends the next numbered notification.
    fn send(&mut self, keys: &[u64]) {
        self.sent += 1;
        let body = format!("{{\"n\":{}", self.sent);
        let notification =
            Notification { body: body.into(), received_ns: 0, acknowledgement: None, is_redelivered: false };
        let keys: Vec<Key> = keys.iter().copied().map(Key).collect();
        self.scheduler.send(&keys, notification, self.now);
    }

    fn next(&mut self) -> Option<Job> {
        self.scheduler.next(self.now)
    }

    fn finish(&mut self, job: Job, result: Result<(), DeliveryError>) {
        self.scheduler.finish(job, result, self.now);
    }

    fn fail(&mut self, job: Job) {
        self.finish(job, Err(DeliveryError::Status(500)));
    }

    /// Advances to the next timer.
    fn wait(&mut self) {
        self.now = self.scheduler.next_timer().expect("a timer is set");
    }

    fn state(&self, key: u64) -> DeliveryState {
        self.scheduler.state(Key(key)).unwrap()
    }
}

fn number(job: &Job) -> u64 {
    job.waiting.notification.body[5..].parse().unwrap()
}

#[test]
fn subscription_sends_one_at_a_time_in_order() {
    let mut run = Run::new(DeliveryConfig::default());
    run.subscribe(1, 80, "");
    (0..5).for_each(|_| run.send(&[1]));
    for expected in 1..=5 {
        let job = run.next().unwrap();
        assert!(run.next().is_none(), "one is in flight");
        assert_eq!(number(&job), expected);
        run.now += MS;
        run.finish(job, Ok(()));
    }
    assert!(run.next().is_none());
    let state = run.state(1);
    assert_eq!((state.delivered, state.waiting, state.waiting_octets, state.failures), (5, 0, 0, 0));
    assert!((4600..=5400).contains(&state.max_us), "{state:?}");
}

#[test]
fn failed_notification_is_repeated_before_the_next_and_is_marked() {
    let mut run = Run::new(DeliveryConfig::default());
    run.subscribe(1, 80, "");
    run.send(&[1]);
    run.send(&[1]);
    let job = run.next().unwrap();
    assert!(!job.is_repeated);
    run.fail(job);
    assert!(run.next().is_none(), "it pauses");
    run.wait();
    let job = run.next().unwrap();
    assert_eq!((number(&job), job.is_repeated), (1, true));
    run.finish(job, Ok(()));
    let job = run.next().unwrap();
    assert_eq!((number(&job), job.is_repeated), (2, false));
    assert_eq!(run.state(1).last_error.as_deref(), Some("answered with status 500"));
}

#[test]
fn refused_notification_is_dropped_and_the_next_follows() {
    let mut run = Run::new(DeliveryConfig::default());
    run.subscribe(1, 80, "");
    run.send(&[1]);
    run.send(&[1]);
    let job = run.next().unwrap();
    run.finish(job, Err(DeliveryError::Status(404)));
    run.wait();
    assert_eq!(number(&run.next().unwrap()), 2);
    let state = run.state(1);
    assert_eq!((state.dropped, state.failures, state.waiting), (1, 1, 1));
}

#[test]
fn breaker_opens_and_a_probe_closes_it() {
    let mut run = Run::new(DeliveryConfig { max_attempts: 100, ..DeliveryConfig::default() });
    run.subscribe(1, 80, "");
    run.send(&[1]);
    for _ in 0..5 {
        assert_eq!(run.state(1).breaker, BreakerState::Closed);
        let job = run.next().unwrap();
        run.fail(job);
        if run.state(1).breaker == BreakerState::Closed {
            run.wait();
        }
    }
    assert_eq!(run.state(1).breaker, BreakerState::Open);
    assert_eq!(run.scheduler.totals().open_breakers, 1);
    let opened = run.now;
    run.wait();
    assert!(run.now - opened >= 500 * MS, "an open breaker waits for half a second at least");
    let probe = run.next().unwrap();
    assert_eq!(run.state(1).breaker, BreakerState::HalfOpen);
    run.finish(probe, Ok(()));
    assert_eq!(run.state(1).breaker, BreakerState::Closed);
    assert_eq!(run.scheduler.totals().open_breakers, 0);
}

#[test]
fn unreachable_server_costs_no_notification_and_a_failing_one_costs_it_after_its_attempts() {
    let mut run = Run::new(DeliveryConfig { max_attempts: 3, ..DeliveryConfig::default() });
    run.subscribe(1, 80, "");
    run.send(&[1]);
    for _ in 0..20 {
        let job = run.next().unwrap();
        run.finish(job, Err(DeliveryError::Connect("refused".into())));
        run.wait();
    }
    for _ in 0..3 {
        assert_eq!(run.state(1).dropped, 0);
        let job = run.next().unwrap();
        run.fail(job);
        run.wait();
    }
    assert!(run.next().is_none());
    assert_eq!((run.state(1).dropped, run.state(1).waiting), (1, 0));
}

#[test]
fn full_queue_drops_its_oldest_and_counts_them() {
    let mut run = Run::new(DeliveryConfig { max_waiting: 3, ..DeliveryConfig::default() });
    run.subscribe(1, 80, "");
    run.send(&[1]);
    let first = run.next().unwrap();
    (0..5).for_each(|_| run.send(&[1]));
    assert_eq!((run.state(1).dropped, run.state(1).waiting), (2, 4));
    run.finish(first, Ok(()));
    let order: Vec<u64> = std::iter::from_fn(|| {
        let job = run.next()?;
        let number = number(&job);
        run.finish(job, Ok(()));
        Some(number)
    })
    .collect();
    assert_eq!(order, [4, 5, 6]);
}

#[test]
fn memory_is_shared_and_bounded() {
    let config = DeliveryConfig { max_total_octets: 20_000, ..DeliveryConfig::default() };
    let mut run = Run::new(config);
    let keys: Vec<u64> = (0..10).collect();
    keys.iter().for_each(|key| run.subscribe(*key, 80, ""));
    for _ in 0..1000 {
        run.send(&keys);
    }
    let totals = run.scheduler.totals();
    assert!(totals.waiting_octets <= 20_000, "{totals:?}");
    assert_eq!(totals.dropped as usize + totals.waiting, 10_000);
    assert!(keys.iter().all(|key| run.state(*key).waiting > 0), "each has something");
    keys.iter().for_each(|key| run.scheduler.remove(Key(*key), run.now));
    let totals = run.scheduler.totals();
    assert_eq!((totals.waiting, totals.waiting_octets, totals.subscriptions), (0, 0, 0));
}

#[test]
fn acknowledgement_is_sent_when_the_last_target_has_its_notification_or_lost_it() {
    struct Guard(Arc<std::sync::atomic::AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let is_sent = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let acknowledgement = Some(crate::Acknowledgement::new(Guard(Arc::clone(&is_sent))));
    let is_sent = || is_sent.load(std::sync::atomic::Ordering::Relaxed);
    let mut run = Run::new(DeliveryConfig::default());
    (1..=3).for_each(|key| run.subscribe(key, 80, ""));
    let notification = Notification { body: "{".into(), received_ns: 0, acknowledgement, is_redelivered: true };
    run.scheduler.send(&[Key(1), Key(2), Key(3)], notification, run.now);
    let (first, second) = (run.next().unwrap(), run.next().unwrap());
    assert!(first.is_repeated, "the broker has delivered it before");
    run.finish(first, Ok(()));
    run.finish(second, Err(DeliveryError::Status(410)));
    assert!(!is_sent(), "one waits");
    run.scheduler.remove(Key(3), run.now);
    assert!(is_sent());
}

#[test]
fn server_gets_no_more_requests_than_its_connections() {
    let mut run = Run::new(DeliveryConfig { max_host_connections: 2, ..DeliveryConfig::default() });
    (1..=4).for_each(|key| run.subscribe(key, 80, ""));
    run.subscribe(5, 81, "");
    run.send(&[1, 2, 3, 4, 5]);
    let jobs: Vec<Job> = std::iter::from_fn(|| run.next()).collect();
    assert_eq!(jobs.iter().map(|job| job.key.0).collect::<Vec<_>>(), [1, 2, 5]);
    for (job, next) in jobs.into_iter().take(2).zip([3, 4]) {
        run.finish(job, Ok(()));
        assert_eq!(run.next().unwrap().key.0, next);
    }
}

#[test]
fn place_at_a_server_passes_on_when_its_subscription_is_removed_or_waits_for_its_tenant() {
    let mut run = Run::new(DeliveryConfig { max_host_connections: 1, ..DeliveryConfig::default() });
    run.scheduler.set_share("b".into(), TenantShare { weight: 1, quota_per_s: Some(1) }, run.now);
    run.subscribe(1, 80, "a");
    run.subscribe(2, 80, "a");
    run.subscribe(3, 80, "b");
    run.subscribe(4, 80, "a");
    run.subscribe(5, 81, "b");
    // uses the quota of tenant b
    run.send(&[5]);
    let of_quota = run.next().unwrap();
    run.finish(of_quota, Ok(()));
    run.send(&[1, 2, 3, 4]);
    let first = run.next().unwrap();
    assert!(run.next().is_none());
    run.finish(first, Ok(()));
    run.scheduler.remove(Key(2), run.now);
    assert_eq!(run.next().unwrap().key.0, 4, "neither the removed nor the one of tenant b blocks it");
}

#[test]
fn tenants_share_by_weight() {
    let mut run = Run::new(DeliveryConfig::default());
    run.scheduler.set_share("heavy".into(), TenantShare { weight: 3, quota_per_s: None }, run.now);
    // the light tenant has ten times the subscriptions
    (0..10).for_each(|key| run.subscribe(key, 80 + key as u16, "heavy"));
    (10..110).for_each(|key| run.subscribe(key, 80 + key as u16, "light"));
    let keys: Vec<u64> = (0..110).collect();
    (0..100).for_each(|_| run.send(&keys));
    let mut heavy = 0;
    for _ in 0..400 {
        let job = run.next().unwrap();
        heavy += u32::from(job.key.0 < 10);
        run.finish(job, Ok(()));
    }
    assert!((290..=310).contains(&heavy), "{heavy} of 400");
}

#[test]
fn quota_limits_a_tenant_and_no_other() {
    let mut run = Run::new(DeliveryConfig::default());
    run.scheduler.set_share("limited".into(), TenantShare { weight: 1, quota_per_s: Some(10) }, run.now);
    (0..4).for_each(|key| run.subscribe(key, 80, "limited"));
    run.subscribe(9, 81, "other");
    let (mut limited, mut other) = (0, 0);
    let end = run.now + Duration::from_secs(2);
    while run.now < end {
        run.send(&[0, 1, 2, 3, 9]);
        while let Some(job) = run.next() {
            *(if job.key.0 == 9 { &mut other } else { &mut limited }) += 1;
            run.finish(job, Ok(()));
        }
        run.now += MS;
    }
    // a burst of ten, and ten per second
    assert!((29..=31).contains(&limited), "{limited}");
    assert_eq!(other, 2000);
    run.scheduler.set_share("limited".into(), TenantShare::default(), run.now);
    assert!(run.next().is_some(), "a larger quota counts at once");
}

#[test]
fn tenant_leaves_requests_to_others() {
    let config = DeliveryConfig { max_in_flight: 16, ..DeliveryConfig::default() };
    let mut run = Run::new(config);
    (0..100).for_each(|key| run.subscribe(key, 80 + key as u16, "hanging"));
    run.subscribe(100, 200, "other");
    run.send(&(0..100).collect::<Vec<_>>());
    let hanging: Vec<Job> = std::iter::from_fn(|| run.next()).collect();
    assert_eq!(hanging.len(), 8, "half of all");
    run.send(&[100]);
    assert_eq!(run.next().unwrap().key.0, 100);
    hanging.into_iter().for_each(|job| run.fail(job));
    assert!(run.next().is_some(), "its others follow");
}

#[test]
fn target_of_a_failing_subscription_can_be_changed() {
    let mut run = Run::new(DeliveryConfig::default());
    run.subscribe(1, 80, "");
    run.send(&[1]);
    let job = run.next().unwrap();
    run.fail(job);
    run.subscribe(1, 81, "");
    let job = run.next().expect("the new target is tried at once");
    assert_eq!(job.target.endpoint().unwrap().port, 81);
    // changed while in flight
    run.subscribe(1, 82, "");
    assert!(run.next().is_none());
    run.fail(job);
    let job = run.next().unwrap();
    assert_eq!((job.target.endpoint().unwrap().port, number(&job)), (82, 1));
    run.scheduler.remove(Key(1), run.now);
    run.finish(job, Ok(()));
    assert!(run.scheduler.hosts.is_empty() && run.scheduler.tenants.is_empty(), "nothing remains");
}

#[test]
fn websocket_gets_what_waited_until_it_was_opened() {
    let mut run = Run::new(DeliveryConfig::default());
    run.scheduler.insert(Key(1), Target::websocket("}"), run.now);
    run.subscribe(2, 80, "");
    run.send(&[1]);
    assert!(run.next().is_none());
    assert!(run.scheduler.set_connected(Key(1), true) && !run.scheduler.set_connected(Key(2), true));
    let job = run.next().unwrap();
    run.scheduler.set_connected(Key(1), false);
    run.finish(job, Err(DeliveryError::Closed));
    run.wait();
    assert!(run.next().is_none());
    run.scheduler.set_connected(Key(1), true);
    assert!(run.next().unwrap().is_repeated);
}

/// Random subscriptions, failures and changes: nothing is lost or sent twice without its mark, the order holds, and in the end
/// nothing remains in use.
#[test]
fn random_runs_hold_order_and_counts() {
    for seed in 1..=200u64 {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        let config = DeliveryConfig {
            max_waiting: 100_000,
            max_waiting_octets: usize::MAX,
            max_total_octets: usize::MAX,
            max_host_connections: 2,
            max_in_flight: 5,
            max_attempts: u32::MAX,
            ..DeliveryConfig::default()
        };
        let mut run = Run::new(config);
        let quota = TenantShare { weight: 2, quota_per_s: Some(50) };
        run.scheduler.set_share("0".into(), quota, run.now);
        (0..8).for_each(|key| run.subscribe(key, 80 + (key % 3) as u16, &(key % 2).to_string()));
        let mut expected = [0u64; 8];
        let mut last = [0u64; 8];
        let mut flying: Vec<Job> = Vec::new();
        let end = run.now + Duration::from_secs(3600);
        for step in 0.. {
            if step < 200 {
                let keys: Vec<u64> = (0..8).filter(|_| below(3) == 0).collect();
                keys.iter().for_each(|key| expected[*key as usize] += 1);
                run.send(&keys);
            }
            while let Some(job) = run.next() {
                let last = &mut last[job.key.0 as usize];
                assert!(number(&job) > *last || job.is_repeated && number(&job) == *last, "seed {seed}");
                *last = number(&job);
                flying.push(job);
            }
            if !flying.is_empty() && below(3) > 0 {
                let job = flying.swap_remove(below(flying.len() as u64) as usize);
                let result = if step < 200 && below(4) == 0 { Err(DeliveryError::TimedOut) } else { Ok(()) };
                run.finish(job, result);
            } else if flying.is_empty() && step >= 200 {
                match run.scheduler.next_timer() {
                    Some(when) => run.now = run.now.max(when),
                    None => break,
                }
            } else {
                run.now += MS;
            }
            assert!(run.now < end, "seed {seed}: it does not end");
        }
        (0..8).for_each(|key| assert_eq!(run.state(key).delivered, expected[key as usize], "seed {seed} key {key}"));
        let totals = run.scheduler.totals();
        assert_eq!((totals.waiting, totals.waiting_octets, totals.in_flight, totals.open_breakers), (0, 0, 0, 0));
    }
}
