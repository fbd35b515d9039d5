//! The report as CSV: the steps, and the course.

use std::fmt::Write;

use super::Report;

impl Report {
    /// Files by name: `steps.csv` and `series.csv`.
    #[must_use]
    pub fn csv(&self) -> [(&'static str, String); 2] {
        [("steps.csv", self.steps_csv()), ("series.csv", self.series_csv())]
    }

    fn steps_csv(&self) -> String {
        let mut out = String::from(
            "agents,period_ms,cores,valid,offered_per_s,achieved_per_s,achieved_ci95,octets,lost,duplicated,reordered,fairness,\
             setup_p50_ms,setup_p99_ms,indication_p50_us,indication_p99_us,indication_p99_ci95,indication_p999_us,indication_max_us,\
             control_p50_us,control_p99_us,rest_requests,rest_failed,rest_p50_us,rest_p99_us,rest_p999_us,\
             cpu_us_per_message,cpu_us_ci95,cpu_share,rss_bytes,rss_slope_bytes_per_s,switches_per_s,\
             generator_cpu_share,applications_cpu_share,generator_lateness_p99_us\n",
        );
        for step in &self.steps {
            let mut cells = vec![step.agents.to_string(), step.period_ms.to_string()];
            cells.push(step.cores.map(|cores| cores.to_string()).unwrap_or_default());
            cells.push(step.valid.to_string());
            let (setup, latency, control) = (step.setup_ms, step.indication_us, step.control_us);
            let rest = step.rest.as_ref();
            let (p99, cpu) = (step.indication_p99_us, step.cpu_us_per_message);
            let numbers = [
                Some(step.offered_per_s.mean),
                Some(step.achieved_per_s.mean),
                step.achieved_per_s.ci95,
                Some(step.octets),
                Some(step.lost as f64),
                Some(step.duplicated as f64),
                Some(step.reordered as f64),
                step.fairness,
                setup.p50,
                setup.p99,
                latency.p50,
                p99.map(|p99| p99.mean),
                p99.and_then(|p99| p99.ci95),
                latency.p999,
                latency.max,
                control.p50,
                control.p99,
                rest.map(|rest| rest.requests as f64),
                rest.map(|rest| rest.failed as f64),
                rest.and_then(|rest| rest.latency_us.p50),
                rest.and_then(|rest| rest.latency_us.p99),
                rest.and_then(|rest| rest.latency_us.p999),
                cpu.map(|cpu| cpu.mean),
                cpu.and_then(|cpu| cpu.ci95),
                step.cpu_share.map(|share| share.mean),
                step.rss_bytes.map(|rss| rss as f64),
                step.rss_slope_bytes_per_s,
                step.switches_per_s,
                Some(step.generator.cpu_share),
                Some(step.generator.applications_cpu_share),
                Some(step.generator.lateness_p99_us),
            ];
            cells.extend(numbers.map(cell));
            out += &cells.join(",");
            out.push('\n');
        }
        out
    }

    fn series_csv(&self) -> String {
        let mut out = String::from("agents,period_ms,cores,at_s,reports,p50_us,p99_us,max_us,cpu_share,rss_bytes\n");
        for step in &self.steps {
            let cores = step.cores.map(|cores| cores.to_string()).unwrap_or_default();
            for second in &step.series {
                let numbers = [
                    Some(second.at_s),
                    Some(second.reports as f64),
                    Some(second.p50_us),
                    Some(second.p99_us),
                    Some(second.max_us),
                    second.cpu_share,
                    second.rss_bytes.map(|rss| rss as f64),
                ];
                // a String takes everything
                let _ = writeln!(out, "{},{},{cores},{}", step.agents, step.period_ms, numbers.map(cell).join(","));
            }
        }
        out
    }
}

/// A number with as many digits as it needs; nothing if it is unknown.
fn cell(value: Option<f64>) -> String {
    value.map(|value| ((value * 1e4).round() / 1e4).to_string()).unwrap_or_default()
}
