//! The reports of several generators that loaded one controller together.

use anyhow::bail;

use super::{Report, RestReport, StepReport, TenantsReport};
use crate::statistics::{Counts, Estimate, Percentiles, add};

impl Report {
    /// Merges another report into this one: agents and rates are added, histograms exactly, and the percentiles are those of the sum. The
    /// controller's processor time is that of one of them, since both saw all of it.
    ///
    /// # Errors
    /// If the reports are of different controllers, or of different steps.
    pub fn merge(&mut self, other: &Report) -> anyhow::Result<()> {
        if self.target.url != other.target.url {
            bail!("the reports are of {} and of {}", self.target.url, other.target.url);
        }
        let key = |step: &StepReport| (step.period_ms, step.cores);
        if self.steps.len() != other.steps.len() || self.steps.iter().zip(&other.steps).any(|(a, b)| key(a) != key(b)) {
            bail!("the reports have different steps: generators that load a controller together run one scenario");
        }
        for (step, other) in self.steps.iter_mut().zip(&other.steps) {
            step.merge(other);
        }
        // the search and the model are of one generator's load
        (self.knee, self.model) = (None, None);
        self.complete &= other.complete;
        self.summarize();
        Ok(())
    }
}

/// The sum of two independent estimates.
fn sum(one: Estimate, other: Estimate) -> Estimate {
    let ci95 = one.ci95.zip(other.ci95).map(|(one, other)| one.hypot(other));
    Estimate { mean: one.mean + other.mean, ci95 }
}

impl RestReport {
    /// The sum of two reports, with the percentiles of both.
    fn merged(self, other: &RestReport, latency_us: Percentiles) -> RestReport {
        RestReport {
            offered_per_s: sum(self.offered_per_s, other.offered_per_s),
            achieved_per_s: sum(self.achieved_per_s, other.achieved_per_s),
            requests: self.requests + other.requests,
            failed: self.failed + other.failed,
            failure: self.failure.or_else(|| other.failure.clone()),
            latency_us,
            latency_p99_us: latency_us.p99.map(|mean| Estimate { mean, ci95: None }),
            lateness_p99_us: self.lateness_p99_us.max(other.lateness_p99_us),
        }
    }
}

impl StepReport {
    fn merge(&mut self, other: &StepReport) {
        let reports = |step: &StepReport| step.achieved_per_s.mean;
        let (ours, theirs) = (reports(self), reports(other));
        let offered = self.offered_per_s.mean + other.offered_per_s.mean;
        let octets = self.octets * self.offered_per_s.mean + other.octets * other.offered_per_s.mean;
        self.octets = if offered > 0.0 { octets / offered } else { 0.0 };
        self.agents += other.agents;
        self.agents_up += other.agents_up;
        self.valid &= other.valid;
        self.why_invalid.extend(other.why_invalid.iter().cloned());
        self.offered_per_s = sum(self.offered_per_s, other.offered_per_s);
        self.achieved_per_s = sum(self.achieved_per_s, other.achieved_per_s);
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.failed_requests += other.failed_requests;
        self.connections_lost += other.connections_lost;
        self.setups_refused += other.setups_refused;
        self.faults_of_controller += other.faults_of_controller;
        self.fairness = self.fairness.zip(other.fairness).map(|(one, other)| one.min(other));
        // each generator divided all of the processor time by its own reports
        let scale = if ours + theirs > 0.0 { ours / (ours + theirs) } else { 1.0 };
        self.cpu_us_per_message = self
            .cpu_us_per_message
            .map(|cpu| Estimate { mean: cpu.mean * scale, ci95: cpu.ci95.map(|ci95| ci95 * scale) });
        let (histograms, others) = (&mut self.histograms, &other.histograms);
        for (ours, theirs) in [
            (&mut histograms.indication_ns, &others.indication_ns),
            (&mut histograms.setup_ns, &others.setup_ns),
            (&mut histograms.control_ns, &others.control_ns),
            (&mut histograms.subscription_ns, &others.subscription_ns),
            (&mut histograms.lateness_ns, &others.lateness_ns),
            (&mut histograms.rest_ns, &others.rest_ns),
        ] {
            let mut both = ours.histogram();
            add(&mut both, &theirs.histogram());
            *ours = Counts::from(&both);
        }
        let of = |counts: &Counts, unit_ns: f64| Percentiles::of(&counts.histogram(), unit_ns);
        self.indication_us = of(&histograms.indication_ns, 1e3);
        self.setup_ms = of(&histograms.setup_ns, 1e6);
        self.control_us = of(&histograms.control_ns, 1e3);
        self.subscription_us = of(&histograms.subscription_ns, 1e3);
        let rest_us = of(&histograms.rest_ns, 1e3);
        self.rest = match (self.rest.take(), &other.rest) {
            (Some(one), Some(other)) => Some(one.merged(other, rest_us)),
            (one, other) => one.or_else(|| other.clone()),
        };
        // the number of a tenant is that of its application at its generator
        self.tenants = match (self.tenants, other.tenants) {
            (Some(one), Some(other)) => Some(TenantsReport {
                count: one.count + other.count,
                fairness: one.fairness.min(other.fairness),
                slowest_us: one.slowest_us.max(other.slowest_us),
            }),
            (one, other) => one.or(other),
        };
        // the repetitions of two generators are not the same moments
        self.indication_p99_us = self.indication_us.p99.map(|mean| Estimate { mean, ci95: None });
        self.generator.cpu_share = self.generator.cpu_share.max(other.generator.cpu_share);
        self.generator.applications_cpu_share =
            self.generator.applications_cpu_share.max(other.generator.applications_cpu_share);
        self.generator.lateness_p99_us = of(&histograms.lateness_ns, 1e3).p99.unwrap_or(0.0);
        self.generator.lateness_max_us = self.generator.lateness_max_us.max(other.generator.lateness_max_us);
        self.faults.extend(other.faults.iter().cloned());
    }
}
