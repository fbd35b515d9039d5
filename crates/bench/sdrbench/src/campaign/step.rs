//! One step: agents connect, are subscribed to, and report for some repetitions.

use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::northbound::{Order, Progress};
use crate::report::{
    FaultReport, GeneratorInfo, Histograms, KneeReport, KneeTry, RestReport, Second, StepReport, TenantsReport,
};
use crate::rest_clients::RestCounts;
use crate::scenario::{Knee, Step};
use crate::statistics::{Counts, Estimate, Percentiles, add, fairness, slope};
use crate::target::Target;

use super::repetition::Repetition;
use super::{Campaign, PATIENCE};

/// The share of a core beyond which a thread of the generator is the bottleneck.
const BUSY: f64 = 0.95;
/// How often the state is looked at.
const LOOK: Duration = Duration::from_millis(20);

impl Campaign<'_> {
    /// Measures a step; `None` if the run was stopped before its first repetition was over.
    pub fn step(&mut self, step: Step) -> anyhow::Result<Option<StepReport>> {
        let Step { cores, agents, period_ms } = step;
        if let Some(cores) = cores {
            self.target.use_cores(cores)?;
        }
        let label = format!(
            "{agents} agents at {period_ms} ms{}",
            cores.map(|cores| format!(", {cores} cores")).unwrap_or_default()
        );
        self.say(&format!("{label}: connecting"));
        let before = Totals::of(self);
        self.connect(agents)?;
        self.steps += 1;
        self.applications.order(|| Order::Subscribe { period_ms, agents })?;
        let agents_up = self.await_agents(agents)?;
        self.say(&format!("{label}: {agents_up} agents report; warming up"));
        self.sleep(Duration::from_secs_f64(self.scenario.warm_up_s));
        let mut repetitions = Vec::new();
        for number in 0..self.scenario.repetitions {
            if self.stop.load(Acquire) {
                break;
            }
            self.say(&format!("{label}: repetition {} of {}", number + 1, self.scenario.repetitions));
            if let Some(repetition) = self.repetition(number)? {
                repetitions.push(repetition);
            }
        }
        if repetitions.is_empty() {
            return Ok(None);
        }
        let after = Totals::of(self);
        Ok(Some(self.evaluate(step, agents_up, &repetitions, before, after)))
    }

    pub(super) fn say(&mut self, line: &str) {
        let left_s = self.end.saturating_duration_since(Instant::now()).as_secs_f64();
        self.observer.progress(line, left_s);
    }

    /// Sleeps unless the run is stopped.
    pub(super) fn sleep(&self, length: Duration) {
        let end = Instant::now() + length;
        while Instant::now() < end && !self.stop.load(Acquire) {
            thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Has as many agents as the step needs connect, or others close their connections.
    fn connect(&mut self, agents: u32) -> anyhow::Result<()> {
        let first = self.scenario.first;
        if agents < self.connected {
            self.generator.keep(first - 1 + agents)?;
        } else {
            let begin_ns = self.clock.now_ns() + 10_000_000;
            let pause_ns = 1e9 / self.scenario.setups_per_s;
            let due_ns = |at: u32| begin_ns + (f64::from(at) * pause_ns) as u64;
            self.generator.connect((self.connected..agents).map(|n| (first + n, due_ns(n - self.connected))))?;
        }
        self.connected = agents;
        Ok(())
    }

    /// Waits until all agents are set up and each application is subscribed to all of them. Returns how many are.
    fn await_agents(&mut self, agents: u32) -> anyhow::Result<u64> {
        let planned = Duration::from_secs_f64(f64::from(agents) / self.scenario.setups_per_s);
        let deadline = Instant::now() + planned + PATIENCE;
        loop {
            if let Some(error) = self.applications.failure() {
                return Err(error.context("an application of the benchmark"));
            }
            let up = self.ready();
            if up >= u64::from(agents) || Instant::now() > deadline || self.stop.load(Acquire) {
                return Ok(up);
            }
            thread::sleep(LOOK);
        }
    }

    /// Agents that are set up and, if there are applications, subscribed to by all of them.
    pub(super) fn ready(&self) -> u64 {
        let subscribed = match self.confirms {
            // by the controller itself
            true => Some(self.generator.subscribed()),
            false => self.applications.progress().map(|progress| self.subscribed(progress)).min(),
        };
        self.generator.up().min(subscribed.unwrap_or(u64::MAX))
    }

    /// The subscriptions of an application to the agents of this step.
    fn subscribed(&self, progress: &Progress) -> u64 {
        match progress.steps.load(Acquire) < self.steps {
            true => 0,
            false => progress.subscribed.load(Relaxed),
        }
    }

    fn evaluate(
        &self,
        step: Step,
        agents_up: u64,
        repetitions: &[Repetition],
        before: Totals,
        after: Totals,
    ) -> StepReport {
        let Step { agents, period_ms, cores } = step;
        let estimate = |of: &dyn Fn(&Repetition) -> Option<f64>| {
            Estimate::of(&repetitions.iter().filter_map(of).collect::<Vec<_>>())
        };
        let [mut latency, mut controls, mut subscriptions, mut setups, mut lateness] =
            [(); 5].map(|()| bench::latency_histogram());
        let (mut lost, mut duplicated, mut reordered, mut failed, mut offered, mut octets) = (0, 0, 0, 0, 0, 0);
        let mut series: Vec<Second> = Vec::new();
        let mut faults: Vec<FaultReport> = Vec::new();
        let mut tenants: std::collections::HashMap<u32, (u64, u64)> = std::collections::HashMap::new();
        let mut shares: std::collections::HashMap<(usize, u32), u64> = std::collections::HashMap::new();
        for repetition in repetitions {
            add(&mut lateness, &repetition.sent.lateness);
            add(&mut setups, &repetition.sent.setups);
            for (at, received) in repetition.received.iter().enumerate() {
                add(&mut latency, &received.latency);
                add(&mut controls, &received.controls);
                add(&mut subscriptions, &received.subscriptions);
                duplicated += received.duplicates;
                reordered += received.reordered;
                failed += received.failed;
                for (tenant, (answers, sum_ns)) in &received.by_tenant {
                    let (all_answers, all_ns) = tenants.entry(*tenant).or_default();
                    (*all_answers, *all_ns) = (*all_answers + answers, *all_ns + sum_ns);
                }
                for (subscription, count) in &received.by_subscription {
                    *shares.entry((at, *subscription)).or_default() += count;
                }
            }
            lost += repetition.lost();
            offered += repetition.sent.offered;
            octets += repetition.sent.octets;
            series.extend(&repetition.seconds);
            faults.extend(repetition.faults.iter().cloned());
        }
        let last = repetitions.last().and_then(|repetition| repetition.after.as_ref());
        let rss: Vec<(f64, f64)> =
            series.iter().filter_map(|second| Some((second.at_s, second.rss_bytes? as f64))).collect();
        let p99_us = |ns: &hdrhistogram::Histogram<u64>| ns.value_at_quantile(0.99) as f64 / 1e3;
        let own_rss = Target { processes: vec![std::process::id()] }.sample().ok().flatten();
        let applications = repetitions.iter().flat_map(|repetition| &repetition.received);
        let generator = GeneratorInfo {
            cpu_share: repetitions.iter().map(|repetition| repetition.sent.cpu_share).fold(0.0, f64::max),
            applications_cpu_share: applications.map(|received| received.cpu_share).fold(0.0, f64::max),
            lateness_p99_us: p99_us(&lateness),
            lateness_max_us: lateness.max() as f64 / 1e3,
            rss_bytes_per_agent: own_rss.map_or(0.0, |sample| sample.rss_bytes as f64) / f64::from(agents.max(1)),
        };
        let mut why_invalid = Vec::new();
        if generator.cpu_share > BUSY {
            let percent = 100.0 * generator.cpu_share;
            why_invalid.push(format!(
                "the generator was the bottleneck: a thread used {percent:.0} % of a core; use --threads"
            ));
        }
        if generator.applications_cpu_share > BUSY {
            let percent = 100.0 * generator.applications_cpu_share;
            why_invalid.push(format!(
                "an xApp of the benchmark was the bottleneck: it used {percent:.0} % of a core; use `read_pause_us` in [applications]"
            ));
        }
        if generator.lateness_p99_us > 1e3 * self.scenario.max_lateness_ms {
            why_invalid.push(format!(
                "the generator was late: 99th percentile {:.1} ms, {} ms are allowed (`max_lateness_ms`); the host is too busy",
                generator.lateness_p99_us / 1e3,
                self.scenario.max_lateness_ms
            ));
        }
        let (rest, rest_latency) = rest_report(repetitions).unzip();
        if let Some(RestReport { lateness_p99_us, .. }) = rest
            && lateness_p99_us > 1e3 * self.scenario.max_lateness_ms
        {
            why_invalid.push(format!(
                "REST clients were late by themselves: 99th percentile {:.1} ms, {} ms are allowed (`max_lateness_ms`); the host is too busy",
                lateness_p99_us / 1e3,
                self.scenario.max_lateness_ms
            ));
        }
        let requested_ns = self.generator.totals.period_ns.load(Relaxed);
        if self.confirms {
            if agents_up > 0 && requested_ns != u64::from(period_ms) * 1_000_000 {
                let requested_ms = requested_ns as f64 / 1e6;
                why_invalid.push(format!(
                    "the controller requested a report each {requested_ms} ms instead of {period_ms} ms: change its period or `period_ms`"
                ));
            }
        } else if self.applications.is_empty() {
            why_invalid
                .push("no application subscribed: give the controller's address for xApps with --xapp".to_owned());
        }
        if agents_up < u64::from(agents) {
            let refusal = self.applications.progress().find_map(Progress::refusal);
            let refusal = refusal.map(|reason| format!("; the first refused subscription: {reason}"));
            why_invalid.push(format!(
                "{agents_up} of {agents} agents were set up and subscribed to when the step began{}",
                refusal.unwrap_or_default()
            ));
        } else if offered == 0 && (self.confirms || !self.applications.is_empty()) {
            why_invalid.push("no report was planned: the repetitions are shorter than the period".to_owned());
        }
        let threads = threads(repetitions);
        StepReport {
            agents,
            period_ms,
            cores,
            agents_up,
            valid: why_invalid.is_empty(),
            why_invalid,
            offered_per_s: estimate(&|r| Some(r.sent.offered as f64 / r.window.seconds())).unwrap_or_default(),
            achieved_per_s: estimate(&|r| Some(r.achieved_per_s())).unwrap_or_default(),
            octets: if offered > 0 { octets as f64 / offered as f64 } else { 0.0 },
            lost,
            duplicated,
            reordered,
            fairness: fairness(shares.values().map(|count| *count as f64)),
            setup_ms: Percentiles::of(&setups, 1e6),
            indication_us: Percentiles::of(&latency, 1e3),
            indication_p99_us: estimate(&|r| r.p99_us()),
            control_us: Percentiles::of(&controls, 1e3),
            subscription_us: Percentiles::of(&subscriptions, 1e3),
            failed_requests: failed,
            tenants: TenantsReport::of(&tenants),
            rest,
            cpu_us_per_message: estimate(&|r| {
                let reports: u64 = r.received.iter().map(|received| received.reports).sum();
                (reports > 0).then_some(r.cpu_ns()? as f64 / 1e3 / reports as f64)
            }),
            cpu_share: estimate(&|r| Some(r.cpu_ns()? as f64 / 1e9 / r.window.seconds())),
            cpu_user_share: user_share(repetitions),
            threads,
            rss_bytes: last.map(|sample| sample.rss_bytes),
            rss_slope_bytes_per_s: (!rss.is_empty()).then(|| slope(&rss)),
            switches_per_s: estimate(&|r| {
                let (before, after) = (r.before.as_ref()?, r.after.as_ref()?);
                Some(after.switches.saturating_sub(before.switches) as f64 / r.window.seconds())
            })
            .map(|estimate| estimate.mean),
            generator,
            connections_lost: after.lost - before.lost,
            setups_refused: after.refused - before.refused,
            faults_of_controller: after.faults - before.faults,
            faults,
            series,
            histograms: Histograms {
                indication_ns: Counts::from(&latency),
                setup_ns: Counts::from(&setups),
                control_ns: Counts::from(&controls),
                subscription_ns: Counts::from(&subscriptions),
                lateness_ns: Counts::from(&lateness),
                rest_ns: rest_latency.unwrap_or_default(),
            },
        }
    }

    /// Searches the highest load within the limit; `None` if the run was stopped.
    pub fn knee(&mut self, knee: &Knee) -> anyhow::Result<Option<KneeReport>> {
        let period_ms = self.scenario.periods_ms.first().copied().unwrap_or(100);
        let limit_us = self.scenario.limit_ms * 1e3;
        let mut tried = Vec::new();
        let cores = self.scenario.cores.last().copied();
        let mut is_within = |campaign: &mut Self, agents: u32| -> anyhow::Result<Option<bool>> {
            let Some(measured) = campaign.step(Step { cores, agents, period_ms })? else { return Ok(None) };
            let p99_us = measured.indication_p99_us.map(|estimate| estimate.mean);
            let is_within = measured.agents_up >= u64::from(agents) && is_within_limit(measured.lost, p99_us, limit_us);
            tried.push(KneeTry {
                agents,
                achieved_per_s: measured.achieved_per_s.mean,
                p99_us,
                lost: measured.lost,
                cpu_share: measured.cpu_share.map(|share| share.mean),
                is_within,
                why_invalid: measured.why_invalid,
            });
            Ok(Some(is_within))
        };
        let result = bisect(knee, |agents| is_within(self, agents))?;
        let Some((agents, is_lower_bound)) = result else { return Ok(None) };
        let reports_per_s = agents.map(|agents| f64::from(agents) * 1000.0 / f64::from(period_ms));
        let mut found = KneeReport { cores, agents, reports_per_s, is_lower_bound, tried };
        found.is_lower_bound |= found.doubtful().is_some();
        Ok(Some(found))
    }
}

/// Whether nothing is lost, and the 99th percentile is below the limit.
fn is_within_limit(lost: u64, p99_us: Option<f64>, limit_us: f64) -> bool {
    lost == 0 && p99_us.is_some_and(|p99_us| p99_us < limit_us)
}

/// The highest load within the limit, and whether it is the highest of all; the load is `None` if the lowest one is beyond the limit.
/// `None` in place of both if the run was stopped.
fn bisect(
    knee: &Knee,
    mut is_within: impl FnMut(u32) -> anyhow::Result<Option<bool>>,
) -> anyhow::Result<Option<(Option<u32>, bool)>> {
    match is_within(knee.from)? {
        None => return Ok(None),
        Some(false) => return Ok(Some((None, false))),
        Some(true) => {}
    }
    match is_within(knee.until)? {
        None => return Ok(None),
        Some(true) => return Ok(Some((Some(knee.until), true))),
        Some(false) => {}
    }
    let (mut low, mut high) = (knee.from, knee.until);
    while high - low > 1 && f64::from(high - low) > f64::from(low) * knee.tolerance_percent / 100.0 {
        let middle = low + (high - low) / 2;
        match is_within(middle)? {
            None => return Ok(None),
            Some(true) => low = middle,
            Some(false) => high = middle,
        }
    }
    Ok(Some((Some(low), false)))
}

/// The counters of the generator that only grow.
#[derive(Clone, Copy)]
pub(super) struct Totals {
    lost: u64,
    refused: u64,
    faults: u64,
}

impl Totals {
    fn of(campaign: &Campaign<'_>) -> Self {
        let totals = &campaign.generator.totals;
        let [lost, refused, faults] = [&totals.lost, &totals.refused, &totals.faults].map(|count| count.load(Relaxed));
        Totals { lost, refused, faults }
    }
}

/// What became of the requests of REST clients, and the counts of their delays.
fn rest_report(repetitions: &[Repetition]) -> Option<(RestReport, Counts)> {
    let counted: Vec<(&RestCounts, f64)> =
        repetitions.iter().filter_map(|r| Some((r.rest.as_ref()?, r.window.seconds()))).collect();
    let mut all = RestCounts::default();
    counted.iter().for_each(|(counts, _)| all.add(counts));
    let rate = |of: &dyn Fn(&RestCounts) -> u64| {
        let rates: Vec<f64> = counted.iter().map(|(counts, seconds)| of(counts) as f64 / seconds).collect();
        Estimate::of(&rates)
    };
    let p99_us =
        |counts: &RestCounts| (!counts.latency.is_empty()).then(|| counts.latency.value_at_quantile(0.99) as f64 / 1e3);
    let report = RestReport {
        offered_per_s: rate(&|counts| counts.requests)?,
        achieved_per_s: rate(&|counts| counts.answered)?,
        requests: all.requests,
        failed: all.failed,
        failure: all.failure,
        latency_us: Percentiles::of(&all.latency, 1e3),
        latency_p99_us: Estimate::of(&counted.iter().filter_map(|(counts, _)| p99_us(counts)).collect::<Vec<_>>()),
        lateness_p99_us: all.lateness.value_at_quantile(0.99) as f64 / 1e3,
    };
    Some((report, Counts::from(&all.latency)))
}

/// The part of the controller's processor time in user mode.
fn user_share(repetitions: &[Repetition]) -> Option<f64> {
    let (mut user, mut all) = (0, 0);
    for repetition in repetitions {
        let (before, after) = (repetition.before.as_ref()?, repetition.after.as_ref()?);
        let of_user = after.user_ticks.saturating_sub(before.user_ticks);
        user += of_user;
        all += of_user + after.system_ticks.saturating_sub(before.system_ticks);
    }
    (all > 0).then(|| user as f64 / all as f64)
}

/// The controller's threads that used most processor time.
fn threads(repetitions: &[Repetition]) -> Vec<(String, f64)> {
    let (Some(first), Some(last)) = (repetitions.first(), repetitions.last()) else { return Vec::new() };
    let (Some(before), Some(after)) = (&first.before, &last.after) else { return Vec::new() };
    let seconds = last.window.until_ns.saturating_sub(first.window.from_ns) as f64 / 1e9;
    let used = after.threads.iter().map(|(name, cpu_ns)| {
        let since = cpu_ns.saturating_sub(before.threads.get(name).copied().unwrap_or(0));
        (name.clone(), since as f64 / 1e9 / seconds)
    });
    let mut used: Vec<_> = used.filter(|(_, share)| *share > 0.001).collect();
    used.sort_by(|one, other| other.1.total_cmp(&one.1));
    used.truncate(8);
    used
}

#[cfg(test)]
mod tests {
    use radio::Random;

    use super::*;
    use crate::generator::Window;
    use crate::northbound::Received;

    /// The service of a report at the M/D/1 server, in nanoseconds.
    const SERVICE_NS: u64 = 50_000;
    /// Reports of an agent, per second.
    const REPORTS_PER_S: f64 = 100.0;
    const SECOND_NS: u64 = 1_000_000_000;

    /// A repetition in virtual time: reports of agents arrive as a Poisson process, and each is read after a service of constant length.
    /// Returns what was lost, and the 99th percentile in microseconds.
    fn md1(agents: u32, seed: u64) -> (u64, f64) {
        let window = Window { from_ns: SECOND_NS, until_ns: 6 * SECOND_NS };
        let (mut random, mut received) = (Random::new(seed, 0), Received::default());
        received.begin(window);
        let (mut due_ns, mut free_ns, mut offered) = (0, 0, 0);
        loop {
            due_ns += (random.exponential(1e9 / (f64::from(agents) * REPORTS_PER_S))) as u64;
            if due_ns >= window.until_ns {
                break;
            }
            free_ns = free_ns.max(due_ns) + SERVICE_NS;
            offered += u64::from(window.contains(due_ns));
            // what arrives after the time for the last reports is lost, as in a run
            if free_ns < window.until_ns + 900_000_000 {
                received.report(1, None, due_ns, free_ns);
            }
        }
        (offered - received.reports, received.latency.value_at_quantile(0.99) as f64 / 1e3)
    }

    /// The utilisation at which 1 % of the waiting times at an M/D/1 server exceed so many services (Crommelin, 1932).
    fn utilisation_with_p99(services: f64) -> f64 {
        let within = |u: f64| -> f64 {
            let terms = (0..=services as u32).map(|k| {
                let x = u * (services - f64::from(k));
                let factors: f64 = (1..=k).map(|i| -x / f64::from(i)).product();
                x.exp() * factors
            });
            (1.0 - u) * terms.sum::<f64>()
        };
        let (mut low, mut high) = (0.1, 0.99);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if within(middle) > 0.99 { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn knee_of_a_server_with_constant_service_is_found_within_five_percent() {
        // waiting and service of 1 ms together
        let exact = utilisation_with_p99(19.0) * 1e9 / SERVICE_NS as f64 / REPORTS_PER_S;
        assert!((150.0..195.0).contains(&exact), "{exact} agents, of 200 at the capacity");
        let knee = Knee { from: 20, until: 240, tolerance_percent: 1.0 };
        let mut tried = 0;
        let found = bisect(&knee, |agents| {
            tried += 1;
            let repetitions = [1, 2].map(|seed| md1(agents, seed));
            let p99_us = Estimate::of(&repetitions.map(|(_, p99_us)| p99_us)).map(|estimate| estimate.mean);
            Ok(Some(is_within_limit(repetitions.iter().map(|(lost, _)| lost).sum(), p99_us, 1000.0)))
        });
        let (Some(agents), is_lower_bound) = found.unwrap().unwrap() else {
            panic!("the lowest load is within the limit")
        };
        assert!(!is_lower_bound && tried < 12);
        assert!((f64::from(agents) / exact - 1.0).abs() < 0.05, "{agents} and {exact}");
        // beyond the capacity, the server falls behind further than the time for the last reports
        let (lost, _) = md1(260, 1);
        assert!(lost > 0);
        assert!(!is_within_limit(lost, Some(1.0), 1000.0));
    }

    #[test]
    fn bisection_finds_the_highest_load_within_the_limit() {
        let knee = Knee { from: 10, until: 1000, tolerance_percent: 1.0 };
        let found = |limit: u32| bisect(&knee, |agents| Ok(Some(agents <= limit))).unwrap().unwrap();
        for limit in [10, 11, 137, 500, 998] {
            let (agents, is_lower_bound) = found(limit);
            let agents = agents.unwrap();
            assert!(agents <= limit && f64::from(limit - agents) <= f64::from(limit) * 0.011, "{limit}: {agents}");
            assert!(!is_lower_bound);
        }
        assert_eq!(found(5), (None, false));
        assert_eq!(found(1000), (Some(1000), true));
        let mut tried = 0_u32;
        let count = |agents| {
            tried += 1;
            Ok(Some(agents <= 505))
        };
        bisect(&knee, count).unwrap();
        assert!(tried.abs_diff(knee.expected_tries()) <= 1, "{tried} loads");
        assert_eq!(bisect(&knee, |_| Ok(None)).unwrap(), None);
    }
}
