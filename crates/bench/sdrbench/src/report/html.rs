//! The report as one page with its plots: without scripts, and without anything from a network.

use std::fmt::Write;

use plot::{Panel, Plot, Series, X};

use super::{Report, StepReport};
use crate::statistics::Counts;

/// Light and dark, as the reader's system has it. The plots are black on white; in the dark their lightness is inverted and their hues kept.
const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem;background:#fff;color:#1b1b1b}\
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}\
th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid #ccc;white-space:nowrap}\
th:first-child,td:first-child{text-align:left}\
figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}figcaption{font-weight:600}\
.valid{color:#116329}.invalid{color:#b3261e}pre{overflow-x:auto;background:#f4f4f4;padding:.8rem}\
@media(prefers-color-scheme:dark){body{background:#000;color:#e6e6e6}th,td{border-color:#444}pre{background:#1a1a1a}\
figure svg{filter:invert(1) hue-rotate(180deg)}.valid{color:#6fdd8b}.invalid{color:#ff8a80}}";

impl Report {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::new();
        // a String takes everything
        let _ = self.write_html(&mut out);
        out
    }

    fn write_html(&self, out: &mut String) -> std::fmt::Result {
        let title = format!("SDRBench: {} on {}", self.scenario.name, self.target.url);
        writeln!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><link rel=\"icon\" href=\"data:,\"><title>{0}</title><style>{STYLE}</style></head>\n<body><h1>{0}</h1>",
            escaped(&title)
        )?;
        match (self.valid, self.complete) {
            (true, true) => writeln!(out, "<p class=\"valid\">The run is valid and complete.</p>")?,
            (true, false) => {
                writeln!(out, "<p class=\"invalid\">The run was interrupted; what was measured is valid.</p>")?
            }
            (false, _) => {
                writeln!(out, "<p class=\"invalid\">The run is not valid:</p><ul>")?;
                self.why_invalid.iter().try_for_each(|why| writeln!(out, "<li>{}</li>", escaped(why)))?;
                writeln!(out, "</ul>")?;
            }
        }
        self.write_facts(out)?;
        self.write_steps(out)?;
        for (caption, panels) in self.plots() {
            let svg = Plot { title: caption.clone(), panels }.svg();
            writeln!(out, "<figure><figcaption>{}</figcaption>\n{svg}</figure>", escaped(&caption))?;
        }
        self.over_cores.iter().try_for_each(|cores| writeln!(out, "<p>{}.</p>", escaped(&cores.to_string())))?;
        self.write_knee(out)?;
        self.write_requests(out)?;
        self.write_faults(out)?;
        if let Some(fit) = &self.model {
            writeln!(out, "<h2>Queueing model</h2><pre>{}</pre>", escaped(&fit.to_string()))?;
        }
        writeln!(out, "<h2>Scenario</h2><pre>{}</pre></body></html>", escaped(&self.scenario.text))
    }

    fn write_facts(&self, out: &mut String) -> std::fmt::Result {
        let (target, host, generator) = (&self.target, &self.host, &self.generator);
        let load = host.load_average.map_or(String::new(), |load| format!(", load average {load:.2} before the run"));
        let facts = [
            ("controller", format!("{} ({})", target.url, target.program.as_deref().unwrap_or("elsewhere"))),
            ("agents", target.southbound.clone()),
            ("applications", target.northbound.clone()),
            ("REST clients", target.rest.clone().unwrap_or("none".to_owned())),
            ("host", format!("{}, {} cores, Linux {}{load}", host.cpu, host.cores, host.kernel)),
            (
                "generator",
                format!(
                    "{:.0} % of a core, xApp {:.0} %; late by {:.0} µs at the 99th percentile and {:.0} µs at most",
                    100.0 * generator.cpu_share,
                    100.0 * generator.applications_cpu_share,
                    generator.lateness_p99_us,
                    generator.lateness_max_us
                ),
            ),
        ];
        writeln!(out, "<table>")?;
        for (name, text) in facts {
            writeln!(out, "<tr><td>{name}</td><td style=\"text-align:left\">{}</td></tr>", escaped(&text))?;
        }
        writeln!(out, "</table>")
    }

    fn write_steps(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "<h2>Steps</h2><table><tr><th>load</th><th>offered/s</th><th>arrived/s</th><th>lost</th><th>setup, mean ms</th>\
             <th>p50 µs</th><th>p99 µs</th><th>p99.9 µs</th><th>max µs</th><th>CPU µs/report</th><th>CPU %</th><th>MiB</th>\
             <th>fairness</th></tr>"
        )?;
        for step in &self.steps {
            let cells = [
                Some(step.offered_per_s.mean),
                Some(step.achieved_per_s.mean),
                Some(step.lost as f64),
                step.setup_ms.mean,
                step.indication_us.p50,
                step.indication_us.p99,
                step.indication_us.p999,
                step.indication_us.max,
                step.cpu_us_per_message.map(|cpu| cpu.mean),
                step.cpu_share.map(|share| 100.0 * share.mean),
                step.rss_bytes.map(|rss| rss as f64 / f64::from(1 << 20)),
                step.fairness,
            ];
            write!(out, "<tr><td>{}</td>", escaped(&label(step)))?;
            cells.iter().try_for_each(|cell| write!(out, "<td>{}</td>", cell.map_or("–".to_owned(), plot::number)))?;
            writeln!(out, "</tr>")?;
        }
        writeln!(out, "</table>")
    }

    /// Subscriptions, slice requests and REST requests, where there were any.
    fn write_requests(&self, out: &mut String) -> std::fmt::Result {
        let mut rows = Vec::new();
        for step in &self.steps {
            rows.push((label(step), "subscription", step.subscription_us, None, None));
            rows.push((
                label(step),
                "slice request",
                step.control_us,
                None,
                step.tenants.map(|tenants| tenants.fairness),
            ));
            if let Some(rest) = &step.rest {
                rows.push((label(step), "REST request", rest.latency_us, Some(rest), None));
            }
        }
        rows.retain(|(_, _, delay, rest, _)| delay.count > 0 || rest.is_some());
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "<h2>Requests of applications</h2><table><tr><th>load</th><th>request</th><th>answers</th><th>planned/s</th><th>failed</th>\
             <th>p50 µs</th><th>p99 µs</th><th>p99.9 µs</th><th>max µs</th><th>fairness of tenants</th></tr>"
        )?;
        let cell = |value: Option<f64>| value.map_or("–".to_owned(), plot::number);
        for (load, kind, delay, rest, fairness) in rows {
            // delays of REST include those of requests that were never sent
            let answers = rest.map_or(delay.count, |rest| rest.requests - rest.failed);
            write!(out, "<tr><td>{}</td><td>{kind}</td><td>{answers}</td>", escaped(&load))?;
            let (planned, failed) = (rest.map(|rest| rest.offered_per_s.mean), rest.map(|rest| rest.failed as f64));
            for value in [planned, failed, delay.p50, delay.p99, delay.p999, delay.max, fairness] {
                write!(out, "<td>{}</td>", cell(value))?;
            }
            writeln!(out, "</tr>")?;
        }
        writeln!(out, "</table>")?;
        let failures = self.steps.iter().filter_map(|step| Some((label(step), step.rest.as_ref()?.failure.as_ref()?)));
        for (load, failure) in failures {
            writeln!(out, "<p>{}: the first REST failure was: {}</p>", escaped(&load), escaped(failure))?;
        }
        let failed: u64 = self.steps.iter().map(|step| step.failed_requests).sum();
        match failed {
            0 => Ok(()),
            failed => writeln!(out, "<p class=\"invalid\">{failed} requests of xApps have failed.</p>"),
        }
    }

    fn write_knee(&self, out: &mut String) -> std::fmt::Result {
        let Some(knee) = &self.knee else { return Ok(()) };
        let found = match (knee.agents, knee.is_lower_bound) {
            (None, _) => "The lowest load is beyond the limit.".to_owned(),
            (Some(agents), true) => format!("At least {agents} agents are within the limit."),
            (Some(agents), false) => format!("{agents} agents are within the limit."),
        };
        writeln!(
            out,
            "<h2>Knee</h2><p>{found}</p><table><tr><th>agents</th><th>arrived/s</th><th>p99 µs</th><th>lost</th><th>within the limit</th>\
             <th>valid</th></tr>"
        )?;
        let yes = |is: bool| if is { "yes" } else { "no" };
        for load in &knee.tried {
            writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                load.agents,
                plot::number(load.achieved_per_s),
                load.p99_us.map_or("–".to_owned(), plot::number),
                load.lost,
                yes(load.is_within),
                yes(load.why_invalid.is_empty())
            )?;
        }
        writeln!(out, "</table>")
    }

    fn write_faults(&self, out: &mut String) -> std::fmt::Result {
        let faults: Vec<_> = self.steps.iter().flat_map(|step| &step.faults).collect();
        if faults.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "<h2>Faults</h2><table><tr><th>fault</th><th>repetition</th><th>at s</th><th>recovered after s</th></tr>"
        )?;
        for fault in faults {
            writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escaped(&fault.kind),
                fault.repetition + 1,
                plot::number(fault.at_s),
                fault.recovered_after_s.map_or("not within the repetition".to_owned(), plot::number)
            )?;
        }
        writeln!(out, "</table>")
    }

    /// The plots with their captions.
    fn plots(&self) -> Vec<(String, Vec<Panel>)> {
        let mut plots = Vec::new();
        if self.steps.len() > 1 {
            plots.push((
                "Over the load: processor time, latency and setup delay of the controller".to_owned(),
                vec![
                    self.over_load("CPU, % of a core", |step| Some(100.0 * step.cpu_share?.mean)),
                    self.over_load("p99 of latency, ms", |step| Some(step.indication_us.p99? / 1e3)),
                    self.over_load("mean setup delay, ms", |step| step.setup_ms.mean),
                ],
            ));
            plots.push((
                "Over the load: memory, and reports that arrived".to_owned(),
                vec![
                    self.over_load("memory, MiB", |step| Some(step.rss_bytes? as f64 / f64::from(1 << 20))),
                    self.over_load("arrived, reports/s", |step| Some(step.achieved_per_s.mean)),
                ],
            ));
        }
        let with_rest: Vec<_> = self.steps.iter().filter(|step| !step.histograms.rest_ns.0.is_empty()).collect();
        if !with_rest.is_empty() {
            let series = with_rest.iter().map(|step| distribution(label(step), &step.histograms.rest_ns)).take(8);
            plots.push((
                "Delay of REST requests, from the planned time to the answer: share within that time, up to the 99.9th percentile".to_owned(),
                vec![Panel {
                    x: X::Numbers("delay, ms".into()),
                    y_label: "share of requests".into(),
                    series: series.collect(),
                    marks: Vec::new(),
                }],
            ));
        }
        let cdf = self.steps.iter().filter(|step| !step.histograms.indication_ns.0.is_empty());
        let series = cdf.map(|step| distribution(label(step), &step.histograms.indication_ns)).take(8).collect();
        plots.push((
            "Latency of reports, from the planned time to the application: share within that time, up to the 99.9th percentile".to_owned(),
            vec![Panel { x: X::Numbers("latency, ms".into()), y_label: "share of reports".into(), series, marks: Vec::new() }],
        ));
        plots.push((
            "The course".to_owned(),
            vec![
                self.over_time("reports/s", |second| Some(second.reports as f64)),
                self.over_time("p99 of latency, ms", |second| Some(second.p99_us / 1e3)),
                self.over_time("memory, MiB", |second| Some(second.rss_bytes? as f64 / f64::from(1 << 20))),
            ],
        ));
        if let Some(fit) = &self.model {
            let of = |name: &str, value: &dyn Fn(&crate::model::Prediction) -> Option<f64>| {
                Series::new(name, fit.loads.iter().filter_map(|l| Some((l.reports_per_s, value(l)?))).collect())
            };
            let panel = |y_label: &str, series| Panel {
                x: X::Numbers("reports/s".into()),
                y_label: y_label.into(),
                series,
                marks: Vec::new(),
            };
            plots.push((
                "Queueing model: predicted against measured".to_owned(),
                vec![
                    panel(
                        "CPU, % of a core",
                        vec![
                            of("predicted", &|l| Some(100.0 * l.cpu_share)),
                            of("measured", &|l| Some(100.0 * l.measured_cpu_share)),
                        ],
                    ),
                    panel(
                        "p99 of latency, ms",
                        vec![
                            of("predicted", &|l| Some(l.p99_us? / 1e3)),
                            of("measured", &|l| Some(l.measured_p99_us / 1e3)),
                        ],
                    ),
                ],
            ));
        }
        plots
    }

    /// A value over the number of agents, or over the rate if there is one number; a line for each number of cores.
    fn over_load(&self, y_label: &str, value: impl Fn(&StepReport) -> Option<f64>) -> Panel {
        let has_one_number = self.steps.windows(2).all(|two| two[0].agents == two[1].agents);
        let x = |step: &StepReport| if has_one_number { step.offered_per_s.mean } else { f64::from(step.agents) };
        let mut series: Vec<Series> = Vec::new();
        for step in &self.steps {
            let name = match step.cores {
                Some(cores) => format!("{cores} cores"),
                None => "controller".to_owned(),
            };
            let Some(y) = value(step) else { continue };
            match series.iter_mut().find(|series| series.name == name) {
                Some(series) => series.points.push((x(step), y)),
                None => series.push(Series::new(name, vec![(x(step), y)])),
            }
        }
        series.iter_mut().for_each(|series| series.points.sort_by(|one, other| one.0.total_cmp(&other.0)));
        let x_label = if has_one_number { "reports/s" } else { "agents" };
        Panel { x: X::Numbers(x_label.into()), y_label: y_label.into(), series, marks: Vec::new() }
    }

    fn over_time(&self, y_label: &str, value: impl Fn(&super::Second) -> Option<f64>) -> Panel {
        let begin = self.steps.first().and_then(|step| step.series.first()).map_or(0.0, |second| second.at_s);
        let series = self.steps.iter().take(8).map(|step| {
            let points = step.series.iter().filter_map(|second| Some((second.at_s - begin, value(second)?)));
            Series::new(label(step), points.collect())
        });
        Panel { x: X::Numbers("time, s".into()), y_label: y_label.into(), series: series.collect(), marks: Vec::new() }
    }
}

fn label(step: &StepReport) -> String {
    let cores = step.cores.map(|cores| format!(", {cores} cores")).unwrap_or_default();
    format!("{} at {} ms{cores}", step.agents, step.period_ms)
}

/// The distribution function of stored counts, up to the 99.9th percentile.
fn distribution(name: String, counts: &Counts) -> Series {
    let all: u64 = counts.0.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    let points = counts.0.iter().map(|(ns, count)| {
        below += count;
        (*ns as f64 / 1e6, below as f64 / all as f64)
    });
    let points: Vec<_> = points.take_while(|(_, share)| *share <= 0.999).collect();
    // a page of some hundred points is as good as one of ten thousand
    let every = (points.len() / 300).max(1);
    Series::new(name, points.into_iter().step_by(every).collect())
}

/// A text within HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
