//! One call, over E2.

use std::time::{Duration, Instant};

use e2sm::{mac, rlc, tc};
use ferric::e2::Time;
use ric::traffic::record::{BearerRecord, RlcRecord, TcRecord};
use ric::traffic::{FlowGuard, GuardConfig};

use super::super::median;
use super::super::testbed::{LEAD_S, Report, Rest, Testbed, Watch};
use super::{CALL_PORT, GREEDY_S, SPEED, Seen, scenario};

/// How long packets of the call may wait before the xApp acts.
pub const LIMIT: Duration = Duration::from_millis(20);

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
    pub seconds: f64,
}

impl Call {
    /// Whether the greedy flow runs then: it has the call's first round trip behind it.
    fn is_loaded(&self, at_s: f64) -> bool {
        (GREEDY_S..self.seconds).contains(&at_s)
    }

    /// Round trips while the greedy flow runs, or before it, in milliseconds.
    pub fn round_trips_ms(&self, loaded: bool) -> Vec<f64> {
        let is_meant = |at_s: f64| if loaded { self.is_loaded(at_s) } else { at_s < GREEDY_S };
        self.seen.round_trips.iter().filter(|(at_s, _)| is_meant(*at_s)).map(|(_, ms)| *ms).collect()
    }

    /// The middle one of what a packet waits, in milliseconds, while the greedy flow runs.
    pub fn median_ms(&self, of: impl Fn(&Sojourn) -> Option<f64>) -> f64 {
        median(self.sojourns.iter().filter(|sojourn| self.is_loaded(sojourn.at_s)).filter_map(of).collect())
    }

    /// The part of the downlink's resource blocks that were used while the greedy flow ran, in per cent.
    pub fn used_percent(&self) -> f64 {
        // until it has filled the cell for the first time
        let mut loaded = self.prbs.iter().filter(|(at_s, _)| self.is_loaded(*at_s - 1.0) && *at_s < self.seconds);
        let (Some((from_s, from)), Some((to_s, to))) = (loaded.next(), loaded.next_back()) else { return f64::NAN };
        100.0 * (to - from) / (to_s - from_s) / self.seen.prbs_per_s
    }
}

/// Has the call of so many seconds, with the xApp or without.
pub fn call(seconds: f64, is_controlled: bool) -> anyhow::Result<Call> {
    let testbed = Testbed::start(scenario(seconds), Seen::of)?;
    let rest = testbed.rest();
    let mut watch = Watch::new(testbed.xapp(), &[mac::MODEL, rlc::MODEL, tc::MODEL], SPEED)?;
    let mut call = Call { seconds, ..Call::default() };
    let mut actor = is_controlled.then(|| Actor::new(&rest));
    let (mut tc_ms, mut last_prbs, mut prbs) = ([None; 2], None, 0.0);
    watch.until(LEAD_S + seconds + 0.1 * SPEED, |now_s, report| {
        let at_s = now_s - LEAD_S;
        match report {
            Report::Mac(report) => {
                let Some(ue) = report.ues.first() else { return Ok(()) };
                let last = last_prbs.replace(ue.dl_aggr_prbs).unwrap_or(ue.dl_aggr_prbs);
                prbs += f64::from(ue.dl_aggr_prbs.wrapping_sub(last));
                call.prbs.push((at_s, prbs));
            }
            Report::Rlc(report) => {
                let record = RlcRecord::from(report);
                let rlc_us = record.bearers.first().map_or(0, BearerRecord::sojourn_us);
                if (0.0..seconds).contains(&at_s) {
                    call.sojourns.push(Sojourn { at_s, rlc_ms: f64::from(rlc_us) / 1e3, tc_ms });
                }
                if let Some(actor) = &mut actor {
                    actor.guard.handle_rlc(&record);
                }
            }
            Report::Tc(report) => {
                let of = |at: usize| report.lanes.get(at).map(|lane| lane.queue.last_sojourn_us as f64 / 1e3);
                tc_ms = [of(0), of(1)];
                if let Some(actor) = &mut actor {
                    actor.guard.handle_tc(actor.now(), &TcRecord::from(report));
                }
            }
        }
        if let Some(actor) = &mut actor {
            call.done.extend(actor.act()?.into_iter().map(|news| (at_s, news)));
        }
        Ok(())
    })?;
    call.seen = testbed.end()?;
    Ok(call)
}

/// The xApp: what the guard wants done goes by REST.
struct Actor<'a> {
    guard: FlowGuard,
    rest: &'a Rest,
    begun: Instant,
}

impl<'a> Actor<'a> {
    fn new(rest: &'a Rest) -> Self {
        let flow = tc::FiveTuple { destination_port: Some(CALL_PORT), protocol: Some(17), ..tc::FiveTuple::default() };
        Actor { guard: FlowGuard::new(GuardConfig::new(flow, LIMIT)), rest, begun: Instant::now() }
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Has done what is to be done; what happened.
    fn act(&mut self) -> anyhow::Result<Vec<String>> {
        while let Some(control) = self.guard.poll_control() {
            let answer = self.rest.control(&control)?;
            self.guard.handle_answer(self.now(), answer);
        }
        let mut happened = Vec::new();
        while let Some(news) = self.guard.poll_news() {
            anyhow::ensure!(!news.is_failure(), "the xApp: {news}");
            happened.push(news.to_string());
        }
        Ok(happened)
    }
}
