//! A queueing model of a controller, and its parameters from measured steps. docs/sdrbench.md derives it.
//!
//! Reports arrive at a rate; each needs a service time, and each busy period a wake-up, so that batches cost less. `servers` event loops
//! share them. The waiting time is that of the M/G/c queue in the approximation of Allen and Cunneen, with an exponential tail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::Report;
use crate::statistics::Estimate;

/// The share of the limit and of the capacity up to which steps are used: nearer to the knee, a few disturbances decide.
const BELOW_KNEE: f64 = 0.9;

/// Loads whose rates differ by less are one: a step, and the same number of agents in the search for the knee.
const SAME_LOAD: f64 = 1.01;

/// The parameters of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Event loops, each on a core.
    pub servers: usize,
    /// Processor time without any report, as a share of a core.
    pub idle_share: f64,
    /// Processor time of a report within a busy period, in microseconds.
    pub service_us: f64,
    /// Processor time of a wake-up, in microseconds.
    pub wakeup_us: f64,
    /// The 99th percentile of the latency without any waiting.
    pub base_p99_us: f64,
    /// The scale of the waiting time: the service time times (1 + its squared coefficient of variation) / 2 of an ideal processor, and more
    /// if the processor has other work.
    pub waiting_us: f64,
}

/// A load of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Reports per second.
    pub reports_per_s: f64,
    /// Processor time as a share of a core.
    pub cpu_share: f64,
    /// The 99th percentile of the latency.
    pub p99_us: f64,
}

/// The result of an estimation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// The parameters.
    pub model: Model,
    /// The predicted knee in reports per second.
    pub knee_per_s: f64,
    /// The measured knee, if it was searched and found.
    pub measured_knee_per_s: Option<f64>,
    /// Predicted and measured values.
    pub loads: Vec<Prediction>,
}

/// A load, as predicted and as measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Reports per second.
    pub reports_per_s: f64,
    /// Whether the load was held back from the estimation.
    pub is_held_back: bool,
    /// Processor time as a share of a core, predicted.
    pub cpu_share: f64,
    /// Measured.
    pub measured_cpu_share: f64,
    /// 99th percentile of the latency, predicted; `None` beyond the capacity.
    pub p99_us: Option<f64>,
    /// Measured.
    pub measured_p99_us: f64,
}

/// Why there is no estimation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitError {
    /// There are too few different valid loads below the knee; three are needed.
    TooFewSteps(usize),
    /// The processor time of the controller is unknown.
    NoProcessorTime,
    /// The processor time does not grow with the load.
    NoService,
}

impl std::fmt::Display for FitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FitError::TooFewSteps(count) => write!(
                f,
                "{count} valid steps with different loads are below the knee; the model needs three: use a scenario with more numbers of agents"
            ),
            FitError::NoProcessorTime => {
                f.write_str("the report has no processor time of the controller: measure it on its host, or give its process with --pid")
            }
            FitError::NoService => f.write_str("the processor time of the controller does not grow with the load: use higher loads"),
        }
    }
}

impl std::error::Error for FitError {}

impl Model {
    /// Processor time at a load, as a share of a core; more than [`Model::servers`] beyond the capacity.
    ///
    /// Of `rate` reports per second, those that find the controller idle wake it up: `rate * (1 - utilisation)` for each server. So
    /// `share = idle + rate * service + rate * wakeup * (1 - share / servers)`, which is solved for the share.
    #[must_use]
    pub fn cpu_share(&self, reports_per_s: f64) -> f64 {
        let (service_s, wakeup_s) = (self.service_us / 1e6, self.wakeup_us / 1e6);
        let servers = self.servers as f64;
        let share =
            (self.idle_share + reports_per_s * (service_s + wakeup_s)) / (1.0 + reports_per_s * wakeup_s / servers);
        if share < servers { share } else { self.idle_share + reports_per_s * service_s }
    }

    /// The capacity in reports per second: there are no pauses, hence no wake-ups.
    #[must_use]
    pub fn capacity_per_s(&self) -> f64 {
        (self.servers as f64 - self.idle_share) / (self.service_us / 1e6)
    }

    /// The 99th percentile of the latency; `None` beyond the capacity.
    #[must_use]
    pub fn p99_us(&self, reports_per_s: f64) -> Option<f64> {
        let utilisation = self.cpu_share(reports_per_s) / self.servers as f64;
        (utilisation < 1.0).then(|| self.base_p99_us + self.waiting_us * waiting(self.servers, utilisation))
    }

    /// The highest load within a limit of the 99th percentile, in reports per second.
    #[must_use]
    pub fn knee_per_s(&self, limit_us: f64) -> f64 {
        let is_within = |rate: f64| self.p99_us(rate).is_some_and(|p99_us| p99_us < limit_us);
        let (mut low, mut high) = (0.0, self.capacity_per_s());
        // the percentile grows with the load: 60 halvings are more exact than a number
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if is_within(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Estimates the parameters by least squares: first those of the processor time, then those of the latency.
    ///
    /// # Errors
    /// If there are too few loads, or the processor time does not grow.
    pub fn estimate(servers: usize, observations: &[Observation]) -> Result<Model, FitError> {
        if observations.len() < 3 {
            return Err(FitError::TooFewSteps(observations.len()));
        }
        // share = idle + rate * service + rate * (1 - share / servers) * wakeup; errors count relative to the share
        let rows = observations.iter().map(|of| {
            let (rate, weight) = (of.reports_per_s, 1.0 / of.cpu_share.max(1e-4));
            let pauses = (1.0 - of.cpu_share / servers as f64).max(0.0);
            ([1.0, rate / 1e6, rate * pauses / 1e6].map(|x| x * weight), of.cpu_share * weight)
        });
        let [idle_share, service_us, wakeup_us] = non_negative(&rows.collect::<Vec<_>>());
        if service_us + wakeup_us <= 0.0 {
            return Err(FitError::NoService);
        }
        // without a difference between both, reports are served one by one
        let (service_us, wakeup_us) = if service_us > 0.0 { (service_us, wakeup_us) } else { (wakeup_us, 0.0) };
        let rows = observations.iter().map(|of| {
            let utilisation = (of.cpu_share / servers as f64).min(0.999);
            let weight = 1.0 / of.p99_us.max(1.0);
            ([weight, waiting(servers, utilisation) * weight, 0.0], of.p99_us * weight)
        });
        let [base_p99_us, waiting_us, _] = non_negative(&rows.collect::<Vec<_>>());
        Ok(Model { servers, idle_share, service_us, wakeup_us, base_p99_us, waiting_us })
    }
}

/// The 99th percentile of the waiting time, in units of the scale: the time that 1 % of the arrivals exceed, if the tail is exponential with
/// the rate of an M/M/c queue, and begins at the probability of waiting.
fn waiting(servers: usize, utilisation: f64) -> f64 {
    let probability = erlang_c(servers, utilisation);
    // the scale is the mean service time if that is exponential, and half of it if it is constant
    (100.0 * probability).ln().max(0.0) / (servers as f64 * (1.0 - utilisation))
}

/// The probability of waiting in an M/M/c queue (Erlang C).
fn erlang_c(servers: usize, utilisation: f64) -> f64 {
    let offered = utilisation * servers as f64;
    // Erlang B by its recursion, from which Erlang C follows
    let blocking = (1..=servers).fold(1.0, |b, n| offered * b / (n as f64 + offered * b));
    blocking / (1.0 - utilisation * (1.0 - blocking))
}

type Row = ([f64; 3], f64);

/// Least squares with coefficients that are not negative: the best of all subsets of the columns.
fn non_negative(rows: &[Row]) -> [f64; 3] {
    let error = |x: &[f64; 3]| -> f64 {
        rows.iter().map(|(a, b)| (a.iter().zip(x).map(|(a, x)| a * x).sum::<f64>() - b).powi(2)).sum()
    };
    let candidates = (1..8_u8).filter_map(|subset| {
        let columns: Vec<usize> = (0..3).filter(|column| subset & 1 << column != 0).collect();
        let solved = solve(rows, &columns)?;
        let mut x = [0.0; 3];
        columns.iter().zip(solved).for_each(|(column, value)| x[*column] = value);
        x.iter().all(|value| *value >= 0.0).then_some(x)
    });
    candidates.min_by(|one, other| error(one).total_cmp(&error(other))).unwrap_or_default()
}

/// Solves the normal equations for some columns by Gaussian elimination; `None` if they are dependent.
fn solve(rows: &[Row], columns: &[usize]) -> Option<Vec<f64>> {
    let size = columns.len();
    let mut matrix = vec![vec![0.0; size + 1]; size];
    for (a, b) in rows {
        for (i, &row) in columns.iter().enumerate() {
            for (j, &column) in columns.iter().enumerate() {
                matrix[i][j] += a[row] * a[column];
            }
            matrix[i][size] += a[row] * b;
        }
    }
    for pivot in 0..size {
        let best = (pivot..size).max_by(|i, j| matrix[*i][pivot].abs().total_cmp(&matrix[*j][pivot].abs()))?;
        matrix.swap(pivot, best);
        let diagonal = matrix[pivot][pivot];
        if diagonal.abs() < 1e-12 {
            return None;
        }
        let eliminated = matrix[pivot].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(row, _)| *row != pivot) {
            let factor = row[pivot] / diagonal;
            row.iter_mut().zip(&eliminated).skip(pivot).for_each(|(cell, of_pivot)| *cell -= factor * of_pivot);
        }
    }
    Some((0..size).map(|row| matrix[row][size] / matrix[row][row]).collect())
}

/// The observation of a load; `None` if its processor time or latency is unknown.
fn observation(reports_per_s: f64, cpu_share: Option<f64>, p99_us: Option<f64>) -> Option<Observation> {
    Some(Observation { reports_per_s, cpu_share: cpu_share?, p99_us: p99_us? })
}

/// The observations of all valid loads with most cores: of steps, and of the search for the knee. By their rates, each once.
fn observations(report: &Report) -> Result<Vec<Observation>, FitError> {
    let mean = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.mean);
    let cores = report.steps.iter().filter_map(|step| step.cores).max();
    let steps = report.steps.iter().filter(|step| step.cores == cores && step.valid);
    let steps = steps.map(|s| observation(s.achieved_per_s.mean, mean(s.cpu_share), mean(s.indication_p99_us)));
    let tried = report.knee.iter().filter(|knee| knee.cores == cores).flat_map(|knee| &knee.tried);
    let tried = tried.filter(|load| load.why_invalid.is_empty());
    let tried = tried.map(|load| observation(load.achieved_per_s, load.cpu_share, load.p99_us));
    let measured: Vec<_> = steps.chain(tried).collect();
    let mut all: Vec<Observation> = measured.iter().flatten().copied().collect();
    if all.is_empty() && !measured.is_empty() {
        return Err(FitError::NoProcessorTime);
    }
    all.sort_by(|one, other| one.reports_per_s.total_cmp(&other.reports_per_s));
    all.dedup_by(|next, kept| next.reports_per_s <= kept.reports_per_s * SAME_LOAD);
    Ok(all)
}

impl Fit {
    /// Estimates the model of a report's controller. Of the loads below the knee, every third one is held back and only predicted.
    ///
    /// # Errors
    /// If the report has too little for it.
    pub fn of(report: &Report) -> Result<Fit, FitError> {
        let limit_us = report.scenario.limit_ms * 1e3;
        let all = observations(report)?;
        // an event loop uses one core, whatever the host has
        let servers = 1;
        let is_below =
            |of: &Observation| of.p99_us < BELOW_KNEE * limit_us && of.cpu_share < BELOW_KNEE * servers as f64;
        let below: Vec<Observation> = all.iter().copied().filter(is_below).collect();
        // the lowest and the highest are used: predictions are inside, and the knee beyond
        let is_held_back = |at: usize| below.len() > 4 && at % 3 == 1 && at + 1 < below.len();
        let used: Vec<Observation> =
            below.iter().enumerate().filter(|(at, _)| !is_held_back(*at)).map(|(_, of)| *of).collect();
        let model = Model::estimate(servers, &used)?;
        let loads = all.iter().map(|of| Prediction {
            reports_per_s: of.reports_per_s,
            is_held_back: !used.contains(of),
            cpu_share: model.cpu_share(of.reports_per_s),
            measured_cpu_share: of.cpu_share,
            p99_us: model.p99_us(of.reports_per_s),
            measured_p99_us: of.p99_us,
        });
        Ok(Fit {
            model,
            knee_per_s: model.knee_per_s(limit_us),
            measured_knee_per_s: report
                .knee
                .as_ref()
                .filter(|knee| !knee.is_lower_bound)
                .and_then(|knee| knee.reports_per_s),
            loads: loads.collect(),
        })
    }
}

impl std::fmt::Display for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Model { servers, idle_share, service_us, wakeup_us, base_p99_us, waiting_us } = self.model;
        writeln!(f, "{servers} server(s); idle {:.1} % of a core", 100.0 * idle_share)?;
        writeln!(f, "a report costs {service_us:.2} us, a wake-up {wakeup_us:.2} us")?;
        writeln!(f, "p99 without waiting {base_p99_us:.0} us; scale of waiting {waiting_us:.2} us")?;
        writeln!(f, "{:>10} {:>9} {:>9} {:>12} {:>12}", "reports/s", "CPU %", "measured", "p99 us", "measured")?;
        for load in &self.loads {
            writeln!(
                f,
                "{:>10.0} {:>9.1} {:>9.1} {:>12} {:>12.0}{}",
                load.reports_per_s,
                100.0 * load.cpu_share,
                100.0 * load.measured_cpu_share,
                load.p99_us.map_or("beyond".to_owned(), |p99_us| format!("{p99_us:.0}")),
                load.measured_p99_us,
                if load.is_held_back { "  held back" } else { "" }
            )?;
        }
        write!(f, "predicted knee: {:.0} reports/s", self.knee_per_s)?;
        match self.measured_knee_per_s {
            Some(measured) => {
                writeln!(f, "; measured {measured:.0} ({:+.0} %)", 100.0 * (self.knee_per_s / measured - 1.0))
            }
            None => writeln!(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use radio::Random;

    const KNOWN: Model =
        Model { servers: 1, idle_share: 0.02, service_us: 8.0, wakeup_us: 5.0, base_p99_us: 150.0, waiting_us: 60.0 };

    fn observed(model: &Model, shares: &[f64]) -> Vec<Observation> {
        let of = |share: &f64| {
            let reports_per_s = share * model.capacity_per_s();
            let (cpu_share, p99_us) = (model.cpu_share(reports_per_s), model.p99_us(reports_per_s).unwrap());
            Observation { reports_per_s, cpu_share, p99_us }
        };
        shares.iter().map(of).collect()
    }

    #[test]
    fn estimation_recovers_known_parameters() {
        let model = Model::estimate(1, &observed(&KNOWN, &[0.05, 0.1, 0.2, 0.4, 0.6])).unwrap();
        let near = |found: f64, known: f64| (found / known - 1.0).abs() < 1e-6;
        assert!(near(model.service_us, 8.0) && near(model.wakeup_us, 5.0) && near(model.idle_share, 0.02), "{model:?}");
        assert!(near(model.base_p99_us, 150.0) && near(model.waiting_us, 60.0), "{model:?}");
        assert!(near(model.knee_per_s(10_000.0), KNOWN.knee_per_s(10_000.0)));
        let two = observed(&KNOWN, &[0.1, 0.2]);
        assert_eq!(Model::estimate(1, &two), Err(FitError::TooFewSteps(2)));
    }

    #[test]
    fn wake_ups_vanish_at_the_capacity() {
        let capacity = KNOWN.capacity_per_s();
        assert!((capacity - 0.98 / 8e-6).abs() < 1e-3);
        assert!((KNOWN.cpu_share(capacity) - 1.0).abs() < 1e-9);
        assert!((KNOWN.cpu_share(100.0) - 0.02 - 100.0 * 13e-6).abs() < 5e-5, "almost a wake-up for each report");
        assert_eq!(KNOWN.p99_us(1.01 * capacity), None);
        let knee = KNOWN.knee_per_s(10_000.0);
        assert!(knee < capacity && KNOWN.p99_us(knee).unwrap() < 10_000.0);
    }

    #[test]
    fn waiting_is_that_of_erlang() {
        // M/M/1: the probability of waiting is the utilisation
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
        // M/M/2 at 1 Erlang: 1/3
        assert!((erlang_c(2, 0.5) - 1.0 / 3.0).abs() < 1e-12);
    }

    /// The 99th percentile of the time in an M/D/1 queue with a service of 1 (Lindley's recursion).
    fn md1_p99(utilisation: f64, seed: u64) -> f64 {
        let mut random = Random::new(seed, 0);
        let mut times = bench::latency_histogram();
        let mut waiting = 0.0_f64;
        for _ in 0..400_000 {
            crate::statistics::count(&mut times, ((waiting + 1.0) * 1e6) as u64);
            waiting = (waiting + 1.0 - random.exponential(1.0 / utilisation)).max(0.0);
        }
        times.value_at_quantile(0.99) as f64 / 1e6
    }

    /// An event loop that sleeps when it has nothing to do: utilisation and 99th percentile in microseconds at a Poisson load.
    fn event_loop(reports_per_s: f64, service_us: f64, wakeup_us: f64, seed: u64) -> Observation {
        let mut random = Random::new(seed, 0);
        let mut delays = bench::latency_histogram();
        let (mut now_us, mut free_us, mut busy_us) = (0.0, 0.0_f64, 0.0);
        for _ in 0..400_000 {
            now_us += random.exponential(1e6 / reports_per_s);
            let work_us = if free_us <= now_us { wakeup_us + service_us } else { service_us };
            busy_us += work_us;
            free_us = free_us.max(now_us) + work_us;
            crate::statistics::count(&mut delays, ((free_us - now_us) * 1e3) as u64);
        }
        let p99_us = delays.value_at_quantile(0.99) as f64 / 1e3;
        Observation { reports_per_s, cpu_share: busy_us / now_us, p99_us }
    }

    #[test]
    fn parameters_of_a_simulated_event_loop_are_recovered() {
        let rates = [5e3, 15e3, 30e3, 50e3, 70e3, 90e3];
        let seeds = rates.iter().zip(1..);
        let observations: Vec<_> = seeds.map(|(rate, seed)| event_loop(*rate, 8.0, 5.0, seed)).collect();
        let model = Model::estimate(1, &observations).unwrap();
        assert!((model.service_us / 8.0 - 1.0).abs() < 0.05, "{model:?}");
        assert!((model.wakeup_us / 5.0 - 1.0).abs() < 0.1, "{model:?}");
        assert!(model.idle_share < 0.01, "{model:?}");
        // a load that was not observed
        let other = event_loop(60e3, 8.0, 5.0, 99);
        assert!((model.cpu_share(60e3) / other.cpu_share - 1.0).abs() < 0.02, "{model:?} and {other:?}");
        assert!((model.p99_us(60e3).unwrap() / other.p99_us - 1.0).abs() < 0.3, "{model:?} and {other:?}");
    }

    #[test]
    fn knee_of_a_server_with_constant_service_is_predicted_from_lower_loads() {
        // service 100 us, so that the utilisation is the rate times 100 us
        let observations: Vec<Observation> = [0.1, 0.2, 0.3, 0.45, 0.6, 0.7]
            .iter()
            .map(|&share: &f64| Observation {
                reports_per_s: share * 1e4,
                cpu_share: share,
                p99_us: 100.0 * md1_p99(share, 7),
            })
            .collect();
        let model = Model::estimate(1, &observations).unwrap();
        assert!((model.service_us + model.wakeup_us - 100.0).abs() < 1.0, "{model:?}");
        for share in [0.25, 0.5, 0.65] {
            let (predicted, measured) = (model.p99_us(share * 1e4).unwrap(), 100.0 * md1_p99(share, 8));
            assert!((predicted / measured - 1.0).abs() < 0.3, "{share}: {predicted} and {measured}");
        }
        // the load at which the simulated server reaches 2 ms
        let (mut low, mut high) = (0.7, 0.99);
        for _ in 0..12 {
            let middle = (low + high) / 2.0;
            if 100.0 * md1_p99(middle, 9) < 2000.0 { low = middle } else { high = middle }
        }
        let predicted = model.knee_per_s(2000.0) / 1e4;
        assert!((predicted / low - 1.0).abs() < 0.15, "{predicted} and {low}");
    }
}
