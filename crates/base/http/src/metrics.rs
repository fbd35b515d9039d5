//! Metrics for Prometheus: counters, gauges and histograms, and their text form (text exposition format 0.0.4).
//!
//! Names follow Prometheus' conventions: a prefix of the program, the unit last, `_total` at the end of counters. The number of
//! series is bounded: a metric with labels has at most [`MAX_SERIES`] combinations; further ones are counted together, with each
//! label's value `other`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most combinations of labels of a metric.
pub const MAX_SERIES: usize = 512;
/// The longest value of a label, in octets; longer ones are cut.
const MAX_LABEL_OCTETS: usize = 128;
/// The media type of the text form.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The upper bounds of a histogram of durations, in seconds: 100 µs to 10 s.
pub const DURATIONS_S: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The metrics of a service. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Mutex<BTreeMap<&'static str, Metric>>>);

#[derive(Debug)]
struct Metric {
    help: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    series: BTreeMap<Vec<String>, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug)]
enum Value {
    Number(f64),
    Histogram { bounds: &'static [f64], counts: Vec<u64>, sum: f64 },
}

/// A metric of a registry.
#[derive(Clone, Debug)]
pub struct Handle {
    registry: Registry,
    name: &'static str,
}

/// A number that only grows.
#[derive(Clone, Debug)]
pub struct Counter(Handle);

/// A number that rises and falls.
#[derive(Clone, Debug)]
pub struct Gauge(Handle);

/// A distribution.
#[derive(Clone, Debug)]
pub struct Histogram(Handle, &'static [f64]);

impl Registry {
    fn metrics(&self) -> MutexGuard<'_, BTreeMap<&'static str, Metric>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, name: &'static str, help: &'static str, kind: Kind, labels: &'static [&'static str]) -> Handle {
        assert!(is_name(name) && labels.iter().all(|label| is_name(label)), "{name} is not a name of a metric");
        assert_eq!(name.ends_with("_total"), kind == Kind::Counter, "{name}: counters, and only they, end with _total");
        let mut metrics = self.metrics();
        let known = metrics.entry(name).or_insert(Metric { help, kind, labels, series: BTreeMap::new() });
        assert!(known.kind == kind && known.labels == labels, "{name} is registered twice, with different meanings");
        drop(metrics);
        Handle { registry: self.clone(), name }
    }

    /// Adds a counter, or returns the one with this name. Without labels it is shown from now on, with 0.
    ///
    /// # Panics
    /// If the name is malformed or does not end with `_total`, or is in use with another meaning; as with the others below.
    pub fn counter(&self, name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Counter {
        let counter = Counter(self.add(name, help, Kind::Counter, labels));
        if labels.is_empty() {
            counter.add(&[], 0.0);
        }
        counter
    }

    /// Adds a gauge, or returns the one with this name.
    ///
    /// # Panics
    /// As [`Registry::counter`].
    pub fn gauge(&self, name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Gauge {
        Gauge(self.add(name, help, Kind::Gauge, labels))
    }

    /// Adds a histogram with upper bounds that rise, or returns the one with this name.
    ///
    /// # Panics
    /// As [`Registry::counter`].
    pub fn histogram(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        bounds: &'static [f64],
    ) -> Histogram {
        Histogram(self.add(name, help, Kind::Histogram, labels), bounds)
    }

    /// Returns the text form of all metrics, in the order of their names.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, metric) in &*self.metrics() {
            if !metric.series.is_empty() {
                metric.write(name, &mut text);
            }
        }
        text
    }
}

impl Handle {
    fn update(&self, labels: &[&str], create: impl FnOnce() -> Value, update: impl FnOnce(&mut Value)) {
        let mut metrics = self.registry.metrics();
        let Some(metric) = metrics.get_mut(self.name) else { return };
        assert_eq!(labels.len(), metric.labels.len(), "{}: other labels than registered", self.name);
        let mut key: Vec<String> = labels.iter().map(|label| cut(label).to_owned()).collect();
        if metric.series.len() >= MAX_SERIES && !metric.series.contains_key(&key) {
            key = vec!["other".to_owned(); labels.len()];
        }
        update(metric.series.entry(key).or_insert_with(create));
    }

    fn set(&self, labels: &[&str], update: impl FnOnce(&mut f64)) {
        self.update(
            labels,
            || Value::Number(0.0),
            |value| match value {
                Value::Number(number) => update(number),
                Value::Histogram { .. } => {}
            },
        );
    }
}

impl Counter {
    /// Adds an amount to the series with these values of the labels.
    pub fn add(&self, labels: &[&str], amount: f64) {
        self.0.set(labels, |number| *number += amount.max(0.0));
    }

    /// Sets the counter to what another counter has: for numbers that are counted elsewhere.
    pub fn set_total(&self, labels: &[&str], total: f64) {
        self.0.set(labels, |number| *number = number.max(total));
    }
}

impl Gauge {
    /// Sets the series with these values of the labels.
    pub fn set(&self, labels: &[&str], value: f64) {
        self.0.set(labels, |number| *number = value);
    }

    /// Removes all series: those that exist now are set afterwards.
    pub fn clear(&self) {
        if let Some(metric) = self.0.registry.metrics().get_mut(self.0.name) {
            metric.series.clear();
        }
    }
}

impl Histogram {
    /// Counts a value in the series with these values of the labels.
    pub fn observe(&self, labels: &[&str], observed: f64) {
        let create = || Value::Histogram { bounds: self.1, counts: vec![0; self.1.len() + 1], sum: 0.0 };
        self.0.update(labels, create, |value| {
            if let Value::Histogram { bounds, counts, sum } = value {
                let at = bounds.partition_point(|bound| *bound < observed);
                counts[at] += 1;
                *sum += observed;
            }
        });
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&self, labels: &[&str], duration: Duration) {
        self.observe(labels, duration.as_secs_f64());
    }
}

impl Metric {
    fn write(&self, name: &str, text: &mut String) {
        let kind = match self.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let help = self.help.replace('\\', "\\\\").replace('\n', "\\n");
        // a string has room
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (values, value) in &self.series {
            let labels = |text: &mut String, more: Option<&str>| write_labels(text, self.labels, values, more);
            match value {
                Value::Number(number) => {
                    text.push_str(name);
                    labels(text, None);
                    let _ = writeln!(text, " {number}");
                }
                Value::Histogram { bounds, counts, sum } => {
                    let mut count = 0;
                    for (at, of_bucket) in counts.iter().enumerate() {
                        count += of_bucket;
                        let bound = bounds.get(at).map_or_else(|| "+Inf".to_owned(), f64::to_string);
                        let _ = write!(text, "{name}_bucket");
                        labels(text, Some(&bound));
                        let _ = writeln!(text, " {count}");
                    }
                    let _ = write!(text, "{name}_sum");
                    labels(text, None);
                    let _ = write!(text, " {sum}\n{name}_count");
                    labels(text, None);
                    let _ = writeln!(text, " {count}");
                }
            }
        }
    }
}

fn write_labels(text: &mut String, names: &[&str], values: &[String], bound: Option<&str>) {
    let pairs = names.iter().copied().zip(values.iter().map(String::as_str)).chain(bound.map(|bound| ("le", bound)));
    let mut opening = '{';
    for (name, value) in pairs {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(text, "{opening}{name}=\"{value}\"");
        opening = ',';
    }
    if opening == ',' {
        text.push('}');
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |octet: u8| octet.is_ascii_lowercase() || octet == b'_';
    name.bytes().next().is_some_and(is_letter) && name.bytes().all(|octet| is_letter(octet) || octet.is_ascii_digit())
}

fn cut(label: &str) -> &str {
    let mut end = label.len().min(MAX_LABEL_OCTETS);
    while !label.is_char_boundary(end) {
        end -= 1;
    }
    &label[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_has_help_type_labels_and_buckets() {
        let registry = Registry::default();
        let requests = registry.counter("x_requests_total", "Requests,\nall of them.", &["route", "status"]);
        requests.add(&["/a\"\\\n", "200"], 1.0);
        requests.add(&["/a\"\\\n", "200"], 2.0);
        registry.gauge("x_nodes", "Nodes.", &[]).set(&[], 2.5);
        let durations = registry.histogram("x_seconds", "Durations.", &[], &[0.1, 1.0]);
        [0.05, 0.1, 0.5, 7.0].into_iter().for_each(|seconds| durations.observe(&[], seconds));
        registry.counter("x_empty_total", "Nothing yet.", &[]);
        registry.counter("x_unseen_total", "No series yet.", &["a"]);
        let expected = "# HELP x_empty_total Nothing yet.\n# TYPE x_empty_total counter\nx_empty_total 0\n\
                        # HELP x_nodes Nodes.\n# TYPE x_nodes gauge\nx_nodes 2.5\n\
                        # HELP x_requests_total Requests,\\nall of them.\n# TYPE x_requests_total counter\n\
                        x_requests_total{route=\"/a\\\"\\\\\\n\",status=\"200\"} 3\n\
                        # HELP x_seconds Durations.\n# TYPE x_seconds histogram\n\
                        x_seconds_bucket{le=\"0.1\"} 2\nx_seconds_bucket{le=\"1\"} 3\nx_seconds_bucket{le=\"+Inf\"} 4\n\
                        x_seconds_sum 7.65\nx_seconds_count 4\n";
        assert_eq!(registry.text(), expected);
    }

    #[test]
    fn series_are_bounded_and_long_labels_are_cut() {
        let registry = Registry::default();
        let counter = registry.counter("x_total", "X.", &["of"]);
        (0..2 * MAX_SERIES).for_each(|number| counter.add(&[&number.to_string()], 1.0));
        let text = registry.text();
        assert!(text.contains(&format!("x_total{{of=\"other\"}} {MAX_SERIES}\n")));
        assert_eq!(text.lines().count(), MAX_SERIES + 3);
        let counter = registry.counter("y_total", "Y.", &["of"]);
        counter.add(&[&"ä".repeat(100)], 1.0);
        assert!(registry.text().contains(&format!("y_total{{of=\"{}\"}} 1\n", "ä".repeat(64))));
    }

    #[test]
    fn counter_never_falls_and_a_gauge_is_cleared() {
        let registry = Registry::default();
        let counter = registry.counter("x_total", "X.", &[]);
        counter.set_total(&[], 5.0);
        counter.set_total(&[], 4.0);
        counter.add(&[], -3.0);
        let gauge = registry.gauge("x_nodes", "X.", &["node"]);
        gauge.set(&["a"], 1.0);
        assert!(registry.text().contains("x_total 5\n") && registry.text().contains("x_nodes{node=\"a\"} 1\n"));
        gauge.clear();
        assert!(!registry.text().contains("x_nodes"));
    }

    #[test]
    #[should_panic(expected = "counters, and only they, end with _total")]
    fn name_of_a_counter_ends_with_total() {
        Registry::default().counter("x_requests", "X.", &[]);
    }
}
