//! Faults that a scenario causes, and the time until the controller has recovered.

use std::thread;
use std::time::Duration;

use ferric::link::{Class, Link, StreamId};
use radio::Random;

use crate::generator::Window;
use crate::northbound::Order;
use crate::report::{FaultReport, Second};
use crate::scenario::{Fault, FaultKind};

use super::Campaign;

/// A fault of a repetition.
pub(super) struct Breakage {
    fault: Fault,
    at_ns: u64,
    is_done: bool,
    /// The agents that were ready before.
    ready_before: u64,
    /// Whether some were not ready afterwards.
    was_hurt: bool,
    /// When all were ready again.
    ready_ns: Option<u64>,
}

impl Breakage {
    pub fn new(fault: Fault, at_ns: u64) -> Self {
        Breakage { fault, at_ns, is_done: false, ready_before: 0, was_hurt: false, ready_ns: None }
    }

    pub fn is_due(&self, now_ns: u64) -> bool {
        !self.is_done && now_ns >= self.at_ns
    }

    /// Notes how many agents are ready.
    pub fn watch(&mut self, now_ns: u64, ready: u64) {
        if now_ns < self.at_ns {
            self.ready_before = ready;
        } else if ready < self.ready_before {
            (self.was_hurt, self.ready_ns) = (true, None);
        } else if self.was_hurt && self.ready_ns.is_none() {
            self.ready_ns = Some(now_ns);
        }
    }

    /// The time until the agents were ready and a whole second of reports was within the limit.
    pub fn report(&self, repetition: usize, limit_ms: f64, seconds: &[Second], window: Window) -> FaultReport {
        let at_s = self.at_ns as f64 / 1e9;
        let ready_s = match (self.was_hurt, self.ready_ns) {
            (true, None) => f64::INFINITY,
            (true, Some(ready_ns)) => ready_ns as f64 / 1e9,
            (false, _) => at_s,
        };
        // the last second beyond the limit before the first one within it
        let after = seconds.iter().filter(|second| second.at_s > at_s);
        let mut recovered_s = Some(ready_s.max(at_s)).filter(|at_s| at_s.is_finite());
        for second in after {
            if second.p99_us > limit_ms * 1e3 {
                recovered_s = None;
            } else if second.at_s - 1.0 >= at_s || recovered_s.is_none() {
                if recovered_s.is_none() && ready_s.is_finite() {
                    recovered_s = Some((second.at_s - 1.0).max(ready_s));
                }
                if recovered_s.is_some() {
                    break;
                }
            }
        }
        FaultReport {
            kind: self.fault.kind.name().to_owned(),
            repetition,
            at_s: (self.at_ns - window.from_ns) as f64 / 1e9,
            recovered_after_s: recovered_s.map(|recovered_s| (recovered_s - at_s).max(0.0)),
        }
    }
}

impl Campaign<'_> {
    /// Carries a fault out.
    pub fn break_now(&mut self, breakage: &mut Breakage) -> anyhow::Result<()> {
        breakage.is_done = true;
        let Fault { kind, duration_s, count, .. } = breakage.fault;
        let duration = Duration::from_secs_f64(duration_s);
        match kind {
            // the generator has it in its schedule
            FaultKind::ReconnectStorm => Ok(()),
            FaultKind::SlowReader => self.applications.order(|| Order::Sleep(duration)),
            FaultKind::DuplicateNode => self.generator.duplicate(self.scenario.first, self.clock.now_ns()),
            FaultKind::Malformed | FaultKind::HalfOpen => {
                let (address, config, seed) = (self.address.clone(), self.link.clone(), self.scenario.seed);
                thread::Builder::new().name("faults".to_owned()).spawn(move || {
                    let mut random = Random::new(seed, 2000);
                    // a controller that refuses these connections is right
                    let links: Vec<_> = (0..count).filter_map(|_| Link::connect(&address, &config).ok()).collect();
                    if kind == FaultKind::HalfOpen {
                        return thread::sleep(duration);
                    }
                    for mut link in links {
                        let octets: Vec<u8> = (0..40).map(|_| random.next_u64() as u8).collect();
                        let _ = link.send(StreamId(0), &[&octets], Class::Keep);
                        let _ = link.flush();
                        thread::sleep(duration / count.max(1));
                    }
                })?;
                Ok(())
            }
        }
    }
}
