//! One call, over E2.

use std::time::Duration;

use bench::{latency_histogram, median};
use e2sm::{mac, rlc, tc};
use ferric::e2::Time;
use hdrhistogram::Histogram;
use traffic::record::{BearerRecord, RlcRecord, TcRecord};
use traffic::{FlowGuard, GuardConfig};

use super::super::testbed::{LEAD_S, Mode, Punctuality, Report, Rest, Testbed, Watch, require};
use super::live::{Greedy, Programs};
use super::{CALL_PORT, GREEDY_S, Seen, scenario};

/// How long packets of the call may wait before the xApp acts.
pub const LIMIT: Duration = Duration::from_millis(20);

/// Between two moments of which it is kept how long packets wait.
const LEAST_APART_S: f64 = 0.09;
/// So long after the call.
const AFTER_S: f64 = 0.5;

/// How long packets wait, at some moment after the call's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Sojourn {
    pub at_s: f64,
    pub rlc_ms: f64,
    /// In TC's first queue, and in the call's where it has one.
    pub tc_ms: [Option<f64>; 2],
}

/// What was measured of a call.
#[derive(Debug, Default)]
pub struct Call {
    pub sojourns: Vec<Sojourn>,
    /// What the xApp did, with the moment.
    pub done: Vec<(f64, String)>,
    /// Moments, and resource blocks that were used until then.
    pub prbs: Vec<(f64, f64)>,
    pub seen: Seen,
    /// In live mode.
    pub punctuality: Option<Punctuality>,
    pub seconds: f64,
}

impl Call {
    /// Whether the greedy flow runs then.
    fn is_loaded(&self, at_s: f64) -> bool {
        (GREEDY_S..self.seconds).contains(&at_s)
    }

    /// The round trips while the greedy flow runs, or before it, in nanoseconds.
    pub fn round_trips_ns(&self, loaded: bool) -> Histogram<u64> {
        let is_counted = |at_s: f64| if loaded { self.is_loaded(at_s) } else { at_s < GREEDY_S };
        let mut histogram = latency_histogram();
        for (_, ms) in self.seen.round_trips.iter().filter(|(at_s, _)| is_counted(*at_s)) {
            histogram += (ms * 1e6) as u64;
        }
        histogram
    }

    /// The middle one of what a packet waits, in milliseconds, while the greedy flow runs.
    pub fn median_ms(&self, of: impl Fn(&Sojourn) -> Option<f64>) -> f64 {
        median(self.sojourns.iter().filter(|sojourn| self.is_loaded(sojourn.at_s)).filter_map(of).collect())
    }

    /// The part of the downlink's resource blocks that were used while the greedy flow ran, in per cent.
    pub fn used_percent(&self) -> f64 {
        // its first second, in which it fills the cell, is left out
        let mut loaded = self.prbs.iter().filter(|(at_s, _)| self.is_loaded(*at_s - 1.0) && *at_s < self.seconds);
        let (Some((from_s, from)), Some((to_s, to))) = (loaded.next(), loaded.next_back()) else { return f64::NAN };
        100.0 * (to - from) / (to_s - from_s) / self.seen.prbs_per_s
    }
}

/// Has the call of so many seconds, with the xApp or without; in live mode with real programs at both ends.
pub fn call(seconds: f64, is_controlled: bool, mode: Mode<'_>) -> anyhow::Result<Call> {
    let mut scenario = scenario(seconds);
    if mode.is_live() {
        require(&["irtt", "iperf3"])?;
        scenario.ues.iter_mut().for_each(|ue| ue.flows.clear());
    }
    let testbed = Testbed::start(scenario, mode, Seen::of)?;
    let rest = testbed.rest()?;
    let mut watch = testbed.watch(&[mac::MODEL, rlc::MODEL, tc::MODEL], mode)?;
    let mut desk = Desk { call: Call { seconds, ..Call::default() }, ..Desk::default() };
    let mut actor = is_controlled.then(|| Actor::new(&rest));
    let mut until = |watch: &mut Watch<'_>, end_s: f64| {
        watch.until(LEAD_S + end_s, |now_s, report| desk.take(now_s - LEAD_S, report, actor.as_mut()))
    };
    until(&mut watch, 0.0)?;
    let programs = testbed.namespaces().map(|namespaces| Programs::start(namespaces, seconds)).transpose()?;
    until(&mut watch, GREEDY_S)?;
    let greedy = testbed.namespaces().map(|namespaces| Programs::greedy(namespaces, seconds - GREEDY_S)).transpose()?;
    // by then a report has told of the end, and what is under way is back
    until(&mut watch, seconds + AFTER_S)?;
    greedy.map(Greedy::end).transpose()?;
    let round_trips = programs.map(|programs| programs.round_trips(mode)).transpose()?;
    let mut call = desk.call;
    (call.seen, call.punctuality) = testbed.end()?;
    if let Some(round_trips) = round_trips {
        call.seen.round_trips = round_trips;
    }
    Ok(call)
}

/// Takes down what is told.
#[derive(Default)]
struct Desk {
    call: Call,
    tc_ms: [Option<f64>; 2],
    last_prbs: Option<u32>,
    prbs: f64,
}

impl Desk {
    fn take(&mut self, at_s: f64, report: Report<'_>, mut actor: Option<&mut Actor<'_>>) -> anyhow::Result<()> {
        match report {
            Report::Mac(report) => {
                let Some(ue) = report.ues.first() else { return Ok(()) };
                let last = self.last_prbs.replace(ue.dl_aggr_prbs).unwrap_or(ue.dl_aggr_prbs);
                self.prbs += f64::from(ue.dl_aggr_prbs.wrapping_sub(last));
                self.call.prbs.push((at_s, self.prbs));
            }
            Report::Rlc(report) => {
                let record = RlcRecord::from(report);
                let rlc_us = record.bearers.first().map_or(0, BearerRecord::sojourn_us);
                let next_s = self.call.sojourns.last().map_or(0.0, |last| last.at_s + LEAST_APART_S);
                if (next_s..self.call.seconds).contains(&at_s) {
                    let rlc_ms = f64::from(rlc_us) / 1e3;
                    self.call.sojourns.push(Sojourn { at_s, rlc_ms, tc_ms: self.tc_ms });
                }
                if let Some(actor) = &mut actor {
                    actor.guard.handle_rlc(&record);
                }
            }
            Report::Tc(report) => {
                let of = |at: usize| report.lanes.get(at).map(|lane| lane.queue.last_sojourn_us as f64 / 1e3);
                self.tc_ms = [of(0), of(1)];
                if let Some(actor) = &mut actor {
                    actor.guard.handle_tc(time(at_s), &TcRecord::from(report));
                }
            }
        }
        if let Some(actor) = actor {
            self.call.done.extend(actor.act(time(at_s))?.into_iter().map(|news| (at_s, news)));
        }
        Ok(())
    }
}

/// The xApp's time, at some moment after the call's beginning.
fn time(at_s: f64) -> Time {
    Time::from_nanos(((LEAD_S + at_s) * 1e9) as u64)
}

/// The xApp: what the guard wants done goes by REST.
struct Actor<'a> {
    guard: FlowGuard,
    rest: &'a Rest,
}

impl<'a> Actor<'a> {
    fn new(rest: &'a Rest) -> Self {
        let flow = tc::FiveTuple { destination_port: Some(CALL_PORT), protocol: Some(17), ..tc::FiveTuple::default() };
        Actor { guard: FlowGuard::new(GuardConfig::new(flow, LIMIT)), rest }
    }

    /// Has done what is to be done; what happened.
    fn act(&mut self, now: Time) -> anyhow::Result<Vec<String>> {
        while let Some(control) = self.guard.poll_control() {
            let answer = self.rest.control(&control);
            self.guard.handle_answer(now, answer);
        }
        let mut happened = Vec::new();
        while let Some(news) = self.guard.poll_news() {
            anyhow::ensure!(!news.is_failure(), "the xApp: {news}");
            happened.push(news.to_string());
        }
        Ok(happened)
    }
}
