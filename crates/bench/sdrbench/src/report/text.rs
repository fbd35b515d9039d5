//! The report as a text for the terminal.

use std::fmt;

use super::Report;
use crate::statistics::Estimate;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = &self.target;
        writeln!(f, "{}: {} ({}, {})", self.scenario.name, target.url, target.southbound, target.northbound)?;
        writeln!(
            f,
            "{:>7} {:>7} {:>5} {:>10} {:>10} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
            "agents",
            "period",
            "cores",
            "offered/s",
            "arrived/s",
            "lost",
            "setup ms",
            "p50 us",
            "p99 us",
            "p99.9 us",
            "max us",
            "CPU us",
            "MiB"
        )?;
        for step in &self.steps {
            let number =
                |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
            writeln!(
                f,
                "{:>7} {:>7} {:>5} {:>10.0} {:>10.0} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}{}",
                step.agents,
                step.period_ms,
                step.cores.map_or("-".to_owned(), |cores| cores.to_string()),
                step.offered_per_s.mean,
                step.achieved_per_s.mean,
                step.lost,
                number(step.setup_ms.mean, 2),
                number(step.indication_us.p50, 0),
                number(step.indication_us.p99, 0),
                number(step.indication_us.p999, 0),
                number(step.indication_us.max, 0),
                number(step.cpu_us_per_message.map(|estimate: Estimate| estimate.mean), 2),
                number(step.rss_bytes.map(|rss| rss as f64 / f64::from(1 << 20)), 1),
                if step.valid { "" } else { "  invalid" }
            )?;
        }
        for step in &self.steps {
            if let Some(rest) = &step.rest {
                let us = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
                writeln!(
                    f,
                    "REST beside {} agents at {} ms: {:.0} requests/s, {:.0} answered/s, {} failed; p50 {}, p99 {}, max {} us",
                    step.agents,
                    step.period_ms,
                    rest.offered_per_s.mean,
                    rest.achieved_per_s.mean,
                    rest.failed,
                    us(rest.latency_us.p50),
                    us(rest.latency_us.p99),
                    us(rest.latency_us.max)
                )?;
                rest.failure.iter().try_for_each(|failure| writeln!(f, "  first failure: {failure}"))?;
            }
        }
        for step in &self.steps {
            for fault in &step.faults {
                let recovered = fault
                    .recovered_after_s
                    .map_or("not within the repetition".to_owned(), |s| format!("after {s:.2} s"));
                writeln!(f, "{} in repetition {}: recovered {recovered}", fault.kind, fault.repetition + 1)?;
            }
        }
        self.over_cores.iter().try_for_each(|cores| writeln!(f, "{cores}"))?;
        if let Some(knee) = &self.knee {
            match (knee.agents, knee.is_lower_bound) {
                (Some(agents), true) => writeln!(
                    f,
                    "knee: at least {agents} agents; {}",
                    match knee.doubtful() {
                        Some(load) => format!("with {} agents, not the controller was measured", load.agents),
                        None => "this is the highest load of the scenario".to_owned(),
                    }
                )?,
                (Some(agents), false) => writeln!(
                    f,
                    "knee: {agents} agents, {:.0} reports/s, within {} ms",
                    knee.reports_per_s.unwrap_or(0.0),
                    self.scenario.limit_ms
                )?,
                (None, _) => writeln!(f, "knee: below the lowest load of the scenario")?,
            }
        }
        let generator = &self.generator;
        writeln!(
            f,
            "generator: {:.0} % of a core, xApp {:.0} %, late by {:.0} us at the 99th percentile, {:.1} kB an agent",
            100.0 * generator.cpu_share,
            100.0 * generator.applications_cpu_share,
            generator.lateness_p99_us,
            generator.rss_bytes_per_agent / 1e3
        )?;
        match self.valid {
            true => writeln!(f, "valid: yes"),
            false => self.why_invalid.iter().try_for_each(|why| writeln!(f, "not valid: {why}")),
        }
    }
}
