//! One repetition: a window in which everything that is planned counts.

use std::time::Duration;

use crate::generator::{Window, WindowCounts};
use crate::northbound::{Order, Received};
use crate::report::{FaultReport, Second};
use crate::rest_clients::{RestClients, RestCounts};
use crate::scenario::{Fault, FaultKind};
use crate::statistics::add;
use crate::target::Sample;

use super::Campaign;
use super::faults::Breakage;

/// The time for orders to reach all threads before the window.
const LEAD_NS: u64 = 50_000_000;
/// The time in which the last reports of a window arrive; what arrives later is lost.
const DRAIN: Duration = Duration::from_millis(900);
const SECOND_NS: u64 = 1_000_000_000;

/// What was measured in a repetition.
pub(super) struct Repetition {
    pub window: Window,
    pub sent: WindowCounts,
    /// Of each application.
    pub received: Vec<Received>,
    /// Of all REST clients.
    pub rest: Option<RestCounts>,
    pub before: Option<Sample>,
    pub after: Option<Sample>,
    pub seconds: Vec<Second>,
    pub faults: Vec<FaultReport>,
}

impl Repetition {
    /// Reports that did not arrive, over all applications.
    pub fn lost(&self) -> u64 {
        self.received.iter().map(|received| self.sent.offered.saturating_sub(received.reports)).sum()
    }

    /// Reports per second, of each application.
    pub fn achieved_per_s(&self) -> f64 {
        let reports: u64 = self.received.iter().map(|received| received.reports).sum();
        reports as f64 / self.received.len().max(1) as f64 / self.window.seconds()
    }

    /// The 99th percentile of the latency, over all applications.
    pub fn p99_us(&self) -> Option<f64> {
        let mut all = bench::latency_histogram();
        self.received.iter().for_each(|received| add(&mut all, &received.latency));
        (!all.is_empty()).then(|| all.value_at_quantile(0.99) as f64 / 1e3)
    }

    /// The controller's processor time.
    pub fn cpu_ns(&self) -> Option<u64> {
        Some(self.after.as_ref()?.cpu_ns.saturating_sub(self.before.as_ref()?.cpu_ns))
    }
}

impl Campaign<'_> {
    /// Measures a repetition; `None` if the run was stopped meanwhile.
    pub fn repetition(&mut self, number: usize) -> anyhow::Result<Option<Repetition>> {
        // whole seconds, as the applications count them
        let from_ns = (self.clock.now_ns() + LEAD_NS).div_ceil(SECOND_NS) * SECOND_NS;
        let window = Window { from_ns, until_ns: from_ns + (self.scenario.duration_s * 1e9) as u64 };
        self.generator.count(window)?;
        self.applications.order(|| Order::Count(window))?;
        self.rest.as_ref().map(|clients| clients.count(window)).transpose()?;
        if self.scenario.probes_per_s > 0.0 {
            self.generator.probe(window, (1e9 / self.scenario.probes_per_s) as u64)?;
        }
        let mut breakages = Vec::new();
        for fault in self.scenario.faults.clone() {
            breakages.push(self.plan_fault(fault, window)?);
        }
        self.sleep_until(window.from_ns);
        let before = self.target.sample()?;
        let mut samples = vec![(window.from_ns, before.clone())];
        let mut next_ns = window.from_ns;
        while next_ns < window.until_ns && !self.is_stopped() {
            next_ns = (next_ns + SECOND_NS).min(window.until_ns);
            self.watch_until(next_ns, &mut breakages)?;
            samples.push((self.clock.now_ns(), self.target.sample()?));
        }
        if self.is_stopped() {
            return Ok(None);
        }
        let after = samples.last().and_then(|(_, sample)| sample.clone());
        let sent = self.generator.collect()?;
        self.sleep(DRAIN);
        let received = match self.confirms {
            true => vec![self.confirmed(&sent)?],
            false => self.applications.collect()?,
        };
        let rest = self.rest.as_ref().map(RestClients::collect).transpose()?;
        let seconds = course(&samples, &received);
        let faults = breakages.iter().map(|breakage| breakage.report(number, self.scenario.limit_ms, &seconds, window));
        let faults = faults.collect();
        Ok(Some(Repetition { window, sent, received, rest, before, after, seconds, faults }))
    }

    /// What the controller has read of the window. Reports that were dropped before they were sent have an answer behind them, too.
    fn confirmed(&self, sent: &WindowCounts) -> anyhow::Result<Received> {
        let mut confirmed = self.generator.confirmed()?;
        confirmed.reports = confirmed.reports.saturating_sub(sent.dropped);
        Ok(confirmed)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Acquire)
    }

    fn sleep_until(&self, at_ns: u64) {
        self.sleep(Duration::from_nanos(at_ns.saturating_sub(self.clock.now_ns())));
    }

    /// Waits, and carries out the faults that are due meanwhile.
    fn watch_until(&mut self, at_ns: u64, breakages: &mut [Breakage]) -> anyhow::Result<()> {
        loop {
            let now_ns = self.clock.now_ns();
            for breakage in &mut *breakages {
                if breakage.is_due(now_ns) {
                    self.break_now(breakage)?;
                }
                breakage.watch(now_ns, self.ready());
            }
            if now_ns >= at_ns || self.is_stopped() {
                return Ok(());
            }
            let pause_ns = if breakages.is_empty() { at_ns - now_ns } else { 5_000_000 };
            self.sleep(Duration::from_nanos(pause_ns.min(at_ns - now_ns)));
        }
    }

    fn plan_fault(&mut self, fault: Fault, window: Window) -> anyhow::Result<Breakage> {
        let at_ns = window.from_ns + (fault.at_s * 1e9) as u64;
        if fault.kind == FaultKind::ReconnectStorm {
            self.generator.storm(at_ns, f64::from(fault.count) / 100.0)?;
        }
        Ok(Breakage::new(fault, at_ns))
    }
}

/// The course of a repetition: what the first application received, beside the accounts of the controller.
fn course(samples: &[(u64, Option<Sample>)], received: &[Received]) -> Vec<Second> {
    let mut course = Vec::new();
    let seconds = received.first().map_or(&[][..], |received| &received.seconds);
    for two in samples.windows(2) {
        let [(from_ns, before), (until_ns, after)] = two else { continue };
        let at_s = *until_ns as f64 / 1e9;
        // the application closes its seconds by the same clock
        let nearest = seconds.iter().min_by(|one, other| (one.at_s - at_s).abs().total_cmp(&(other.at_s - at_s).abs()));
        let of_applications = nearest.copied().unwrap_or_default();
        let cpu_ns = before.as_ref().zip(after.as_ref()).map(|(b, a)| a.cpu_ns.saturating_sub(b.cpu_ns));
        course.push(Second {
            at_s,
            reports: of_applications.reports,
            p50_us: of_applications.p50_us,
            p99_us: of_applications.p99_us,
            max_us: of_applications.max_us,
            cpu_share: cpu_ns.map(|ns| ns as f64 / until_ns.saturating_sub(*from_ns).max(1) as f64),
            rss_bytes: after.as_ref().map(|sample| sample.rss_bytes),
        });
    }
    course
}
