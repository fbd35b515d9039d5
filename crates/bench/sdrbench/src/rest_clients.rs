//! REST clients of the controller: requests at planned times, an open load.
//!
//! The time of each request is fixed before it is sent, and its delay is counted from there. A client has one connection: a request that
//! waits for the answer to the one before is late, and that is the controller's delay. How late a client was without waiting for an answer
//! is the generator's lateness.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};
use bench::latency_histogram;
use hdrhistogram::Histogram;
use radio::Random;
use rest::client::{Client, ClientConfig};

use crate::clock::Clock;
use crate::generator::Window;
use crate::statistics::{add, count};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Characters of a refusal that are kept.
const MAX_DETAIL: usize = 200;
/// How long a client may need to answer an order, which waits for a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// The load of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct RestLoad {
    /// Clients, each with a connection.
    pub clients: u32,
    /// Requests per second of each.
    pub requests_per_s: f64,
    /// When they come.
    pub arrivals: Arrivals,
    /// The resources that are read, in turn.
    pub paths: Vec<String>,
}

/// The times of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// A Poisson process of each client.
    #[default]
    Poisson,
    /// The same time between two requests of a client, which begins at a random phase.
    Fixed,
}

/// What became of the requests of a window.
#[derive(Clone, Debug)]
pub struct RestCounts {
    /// Requests that were planned: those that were answered, and those that have failed.
    pub requests: u64,
    /// Requests that were answered with success (2xx).
    pub answered: u64,
    /// Requests with another answer or none, and those that were not sent, since an answer before was too late.
    pub failed: u64,
    /// The first failure.
    pub failure: Option<String>,
    /// From the planned time of a request to its answer with success, in nanoseconds. Of a request that was not sent: until it was given up.
    pub latency: Histogram<u64>,
    /// How late requests were sent that had no answer to wait for, in nanoseconds.
    pub lateness: Histogram<u64>,
}

impl Default for RestCounts {
    fn default() -> Self {
        RestCounts {
            requests: 0,
            answered: 0,
            failed: 0,
            failure: None,
            latency: latency_histogram(),
            lateness: latency_histogram(),
        }
    }
}

impl RestCounts {
    /// Adds the counts of another client.
    pub fn add(&mut self, other: &RestCounts) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.failed += other.failed;
        self.failure = self.failure.take().or_else(|| other.failure.clone());
        add(&mut self.latency, &other.latency);
        add(&mut self.lateness, &other.lateness);
    }
}

/// The requests of a client: when they are planned, and what became of them. It has no clock and no connection.
struct Plan {
    random: Random,
    load: RestLoad,
    /// The planned time of the next request.
    next_ns: u64,
    /// The number of requests sent.
    sent: usize,
    /// When the last answer came.
    free_ns: u64,
    window: Option<Window>,
    counts: RestCounts,
}

impl Plan {
    fn new(load: RestLoad, random: Random, now_ns: u64) -> Self {
        let counts = RestCounts::default();
        let mut plan = Plan { random, load, next_ns: now_ns, sent: 0, free_ns: now_ns, window: None, counts };
        match plan.load.arrivals {
            Arrivals::Poisson => plan.advance(),
            Arrivals::Fixed => plan.next_ns += (plan.random.uniform() * 1e9 / plan.load.requests_per_s) as u64,
        }
        plan
    }

    fn advance(&mut self) {
        let mean_s = 1.0 / self.load.requests_per_s;
        let pause_s = match self.load.arrivals {
            Arrivals::Poisson => self.random.exponential(mean_s),
            Arrivals::Fixed => mean_s,
        };
        self.next_ns += (pause_s * 1e9) as u64;
    }

    /// What is requested next.
    fn path(&self) -> &str {
        &self.load.paths[self.sent % self.load.paths.len()]
    }

    /// The request that was planned next was sent at one time, and answered or given up at another.
    fn done(&mut self, sent_ns: u64, done_ns: u64, outcome: Result<(), String>) {
        let due_ns = self.next_ns;
        self.advance();
        self.sent += 1;
        let ready_ns = due_ns.max(self.free_ns);
        self.free_ns = done_ns;
        if !self.window.is_some_and(|window| window.contains(due_ns)) {
            return;
        }
        let counts = &mut self.counts;
        counts.requests += 1;
        count(&mut counts.lateness, sent_ns.saturating_sub(ready_ns));
        match outcome {
            Ok(()) => {
                counts.answered += 1;
                count(&mut counts.latency, done_ns.saturating_sub(due_ns));
            }
            Err(reason) => {
                counts.failed += 1;
                counts.failure.get_or_insert(reason);
            }
        }
    }

    fn begin(&mut self, window: Window) {
        (self.window, self.counts) = (Some(window), RestCounts::default());
    }

    /// Takes the counts of the window. What was planned in it and is not sent yet has failed.
    fn end(&mut self, now_ns: u64) -> RestCounts {
        let Some(window) = self.window.take() else { return RestCounts::default() };
        while self.next_ns < window.until_ns.min(now_ns) {
            if window.contains(self.next_ns) {
                self.counts.requests += 1;
                self.counts.failed += 1;
                self.counts
                    .failure
                    .get_or_insert_with(|| "not sent: answers to requests before came too late".to_owned());
                count(&mut self.counts.latency, now_ns - self.next_ns);
            }
            self.advance();
        }
        std::mem::take(&mut self.counts)
    }
}

/// An order to a client.
enum Order {
    /// Count what is planned in the window.
    Count(Window),
    /// Send the counts.
    Collect(Sender<RestCounts>),
}

/// Running clients, each on a thread of its own; they end when this is dropped.
pub struct RestClients {
    orders: Vec<Sender<Order>>,
    threads: Vec<JoinHandle<()>>,
}

impl RestClients {
    /// Starts clients, which send requests from now on.
    ///
    /// # Errors
    /// If a file of the credentials cannot be used, or the system refuses a thread.
    pub fn start(load: &RestLoad, config: &ClientConfig, clock: Clock, seed: u64) -> anyhow::Result<Self> {
        let config = ClientConfig { timeout: TIMEOUT, ..config.clone() };
        let mut clients = RestClients { orders: Vec::new(), threads: Vec::new() };
        for number in 0..load.clients {
            let client = Client::new(&config)?;
            let (orders, received) = mpsc::channel();
            // streams apart from those of applications and of the generator's threads
            let random = Random::new(seed, 3000 + u64::from(number));
            let plan = Plan::new(load.clone(), random, clock.now_ns());
            let thread = std::thread::Builder::new().name(format!("rest-{number}"));
            let thread = thread.spawn(move || run(plan, &client, clock, &received)).context("cannot start a thread")?;
            clients.orders.push(orders);
            clients.threads.push(thread);
        }
        Ok(clients)
    }

    /// Counts what is planned in the window.
    ///
    /// # Errors
    /// If a client has ended.
    pub fn count(&self, window: Window) -> anyhow::Result<()> {
        self.orders.iter().try_for_each(|orders| orders.send(Order::Count(window)).map_err(|_| ended()))
    }

    /// The counts of all clients. Waits for requests that were sent.
    ///
    /// # Errors
    /// If a client has ended or is stuck.
    pub fn collect(&self) -> anyhow::Result<RestCounts> {
        let mut replies = Vec::new();
        for orders in &self.orders {
            let (reply, received) = mpsc::channel();
            orders.send(Order::Collect(reply)).map_err(|_| ended())?;
            replies.push(received);
        }
        let mut all = RestCounts::default();
        for received in replies {
            all.add(&received.recv_timeout(PATIENCE).map_err(|_| ended())?);
        }
        Ok(all)
    }
}

fn ended() -> anyhow::Error {
    anyhow!("a REST client of the benchmark does not answer or has ended")
}

impl Drop for RestClients {
    fn drop(&mut self) {
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // it returns nothing
            let _ = thread.join();
        }
    }
}

/// Sends the requests of a client until the orders end.
fn run(mut plan: Plan, client: &Client, clock: Clock, orders: &Receiver<Order>) {
    loop {
        let wait = Duration::from_nanos(plan.next_ns.saturating_sub(clock.now_ns()));
        match orders.recv_timeout(wait) {
            Ok(Order::Count(window)) => plan.begin(window),
            Ok(Order::Collect(reply)) => {
                // nobody waits any more if the run was stopped
                let _ = reply.send(plan.end(clock.now_ns()));
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let sent_ns = clock.now_ns();
                let outcome = match client.request("GET", plan.path(), None) {
                    Ok(response) if response.is_success() => Ok(()),
                    Ok(response) => {
                        let detail = response.detail().unwrap_or_default().chars().take(MAX_DETAIL).collect::<String>();
                        let detail = if detail.is_empty() { detail } else { format!(", {detail}") };
                        Err(format!("GET {}: status {}{detail}", plan.path(), response.status))
                    }
                    Err(error) => Err(format!("GET {}: {error}", plan.path())),
                };
                plan.done(sent_ns, clock.now_ns(), outcome);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    fn plan(requests_per_s: f64, arrivals: Arrivals) -> Plan {
        let paths = vec!["/a".to_owned(), "/b".to_owned()];
        Plan::new(RestLoad { clients: 1, requests_per_s, arrivals, paths }, Random::new(5, 0), 0)
    }

    /// Sends all requests until a time, in virtual time: each takes `service` of its time of sending. Returns the planned times.
    fn serve(plan: &mut Plan, until_ns: u64, service: impl Fn(u64) -> u64) -> Vec<u64> {
        let (mut now_ns, mut planned) = (0, Vec::new());
        while plan.next_ns < until_ns && now_ns < until_ns {
            planned.push(plan.next_ns);
            now_ns = now_ns.max(plan.next_ns);
            let sent_ns = now_ns;
            now_ns += service(now_ns);
            plan.done(sent_ns, now_ns, Ok(()));
        }
        planned
    }

    #[test]
    fn arrivals_have_the_rate_of_the_scenario() {
        for (arrivals, spread) in [(Arrivals::Poisson, 1.0), (Arrivals::Fixed, 0.0)] {
            let planned = serve(&mut plan(100.0, arrivals), 1000 * SECOND, |_| 0);
            assert!((planned.len() as f64 / 100_000.0 - 1.0).abs() < 0.01, "{arrivals:?}: {}", planned.len());
            let pauses: Vec<f64> = planned.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
            let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
            let variance = pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / pauses.len() as f64;
            assert!((variance.sqrt() / mean - spread).abs() < 0.02, "{arrivals:?}: {}", variance.sqrt() / mean);
        }
    }

    #[test]
    fn stall_counts_for_every_request_that_was_planned_meanwhile() {
        let mut plan = plan(100.0, Arrivals::Fixed);
        plan.begin(Window { from_ns: 0, until_ns: 10 * SECOND });
        // the controller answers in 1 ms, but between the second 5 and 6 nothing
        let planned = serve(&mut plan, 10 * SECOND, |at| {
            if (5 * SECOND..=6 * SECOND).contains(&at) { 6 * SECOND - at + MS } else { MS }
        });
        let counts = plan.end(10 * SECOND);
        assert_eq!((counts.requests, counts.answered, counts.failed), (planned.len() as u64, planned.len() as u64, 0));
        // 100 requests were planned meanwhile; those behind them waited, too
        let slow = counts.latency.len() - counts.latency.count_between(0, 100 * MS);
        assert!((90..=112).contains(&slow), "{slow}");
        assert!((950 * MS..=1003 * MS).contains(&counts.latency.max()), "{}", counts.latency.max());
        assert_eq!(counts.lateness.max(), 0, "the client was never late by itself");
    }

    #[test]
    fn requests_that_are_not_sent_have_failed() {
        let mut plan = plan(10.0, Arrivals::Fixed);
        plan.begin(Window { from_ns: 0, until_ns: 10 * SECOND });
        // one request, whose answer comes at the end
        plan.done(plan.next_ns, 9 * SECOND, Ok(()));
        let counts = plan.end(10 * SECOND);
        assert_eq!((counts.requests, counts.answered, counts.failed), (100, 1, 99));
        assert!(counts.failure.unwrap().starts_with("not sent"));
        assert_eq!(counts.latency.len(), 100);
        assert!(counts.latency.max() > 9 * SECOND - 200 * MS);
        assert!(plan.next_ns >= 10 * SECOND, "they do not count again");
    }

    #[test]
    fn failures_and_lateness_of_the_client_are_counted() {
        let mut plan = plan(10.0, Arrivals::Poisson);
        plan.begin(Window { from_ns: 0, until_ns: u64::MAX });
        assert_eq!(plan.path(), "/a");
        let due_ns = plan.next_ns;
        plan.done(due_ns + 3 * MS, due_ns + 4 * MS, Err("GET /a: status 503".to_owned()));
        assert_eq!(plan.path(), "/b");
        let due_ns = plan.next_ns;
        plan.done(due_ns, due_ns + MS, Ok(()));
        let counts = plan.end(0);
        assert_eq!((counts.requests, counts.answered, counts.failed), (2, 1, 1));
        assert_eq!(counts.failure.as_deref(), Some("GET /a: status 503"));
        assert!(counts.lateness.max().abs_diff(3 * MS) < 10_000, "{}", counts.lateness.max());
        assert!(counts.latency.max().abs_diff(MS) < 10_000);
    }
}
