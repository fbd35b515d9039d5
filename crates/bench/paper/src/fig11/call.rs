//! A call in the emulated RAN, over E2.

use std::time::Duration;

use bench::median;
use e2sm::{mac, rlc, tc};
use ferric::e2::Time;
use traffic::record::{BearerRecord, RlcRecord, TcRecord};
use traffic::{FlowGuard, GuardConfig};

use super::super::testbed::{LEAD_S, Mode, Punctuality, Report, Rest, Testbed, Watch, require};
use super::live::{Greedy, Programs};
use super::{CALL_PORT, CallSetting, EndMeasurements, GREEDY_S, scenario};

/// The sojourn time of the call's packets above which the xApp acts.
pub const LIMIT: Duration = Duration::from_millis(20);

/// The least time between two recorded sojourn times.
const LEAST_APART_S: f64 = 0.09;
/// The time after the call in which the last reports arrive.
const AFTER_S: f64 = 0.5;

/// The sojourn times of packets at some time after the start of the call.
#[derive(Clone, Copy, Debug)]
pub struct Sojourn {
    pub at_s: f64,
    pub rlc_ms: f64,
    /// In the first queue of TC, and in that of the call, if there is one.
    pub tc_ms: [Option<f64>; 2],
}

/// The measurements of a call.
#[derive(Debug, Default)]
pub struct Call {
    pub sojourns: Vec<Sojourn>,
    /// The xApp's actions and their times.
    pub actions: Vec<(f64, String)>,
    /// Times, and the resource blocks used until then.
    pub prbs: Vec<(f64, f64)>,
    pub ends: EndMeasurements,
    /// The timing of live mode.
    pub punctuality: Option<Punctuality>,
    pub seconds: f64,
}

impl Call {
    /// Whether the greedy flow runs at that time.
    fn is_loaded(&self, at_s: f64) -> bool {
        (GREEDY_S..self.seconds).contains(&at_s)
    }

    /// The times and round trips in milliseconds while the greedy flow runs, or before it.
    pub fn round_trips(&self, loaded: bool) -> Vec<(f64, f64)> {
        let is_counted = |at_s: f64| if loaded { self.is_loaded(at_s) } else { at_s < GREEDY_S };
        self.ends.round_trips.iter().copied().filter(|(at_s, _)| is_counted(*at_s)).collect()
    }

    /// The median of a sojourn time while the greedy flow runs.
    pub fn median_ms(&self, of: impl Fn(&Sojourn) -> Option<f64>) -> f64 {
        median(self.sojourns.iter().filter(|sojourn| self.is_loaded(sojourn.at_s)).filter_map(of).collect())
    }

    /// A quantile of a sojourn time while the greedy flow runs, from a second after the xApp's last action on.
    pub fn quantile_ms(&self, quantile: f64, of: impl Fn(&Sojourn) -> Option<f64>) -> f64 {
        let from_s = self.actions.last().map_or(GREEDY_S, |(at_s, _)| *at_s) + 1.0;
        let settled = self.sojourns.iter().filter(|sojourn| self.is_loaded(sojourn.at_s) && sojourn.at_s >= from_s);
        let mut all: Vec<f64> = settled.filter_map(of).collect();
        all.sort_by(f64::total_cmp);
        let place = ((all.len() as f64 * quantile) as usize).min(all.len().saturating_sub(1));
        all.get(place).copied().unwrap_or(f64::NAN)
    }

    /// The used downlink resource blocks while the greedy flow runs, in percent.
    pub fn used_percent(&self) -> f64 {
        // without its first second, in which it fills the cell
        let mut loaded = self.prbs.iter().filter(|(at_s, _)| self.is_loaded(*at_s - 1.0) && *at_s < self.seconds);
        let (Some((from_s, from)), Some((to_s, to))) = (loaded.next(), loaded.next_back()) else { return f64::NAN };
        100.0 * (to - from) / (to_s - from_s) / self.ends.prbs_per_s
    }
}

/// Runs a call; in live mode with real programs at both ends.
pub fn call(setting: &CallSetting, mode: Mode<'_>) -> anyhow::Result<Call> {
    let CallSetting { seconds, is_controlled, .. } = *setting;
    let mut scenario = scenario(setting);
    if mode.is_live() {
        require(&["irtt", "iperf3"])?;
        scenario.ues.iter_mut().for_each(|ue| ue.flows.clear());
    }
    let testbed = Testbed::start(scenario, mode, EndMeasurements::of)?;
    let rest = testbed.rest()?;
    let mut watch = testbed.watch(&[mac::MODEL, rlc::MODEL, tc::MODEL], mode)?;
    let mut recorder = Recorder { call: Call { seconds, ..Call::default() }, ..Recorder::default() };
    let mut actor = is_controlled.then(|| Actor::new(&rest));
    let mut until = |watch: &mut Watch<'_>, end_s: f64| {
        watch.until(LEAD_S + end_s, |now_s, report| recorder.take(now_s - LEAD_S, report, actor.as_mut()))
    };
    until(&mut watch, 0.0)?;
    let programs = testbed.namespaces().map(|namespaces| Programs::start(namespaces, seconds)).transpose()?;
    until(&mut watch, GREEDY_S)?;
    let greedy = testbed.namespaces().map(|namespaces| Programs::greedy(namespaces, seconds - GREEDY_S)).transpose()?;
    // until the last reports and packets have arrived
    until(&mut watch, seconds + AFTER_S)?;
    greedy.map(Greedy::end).transpose()?;
    let round_trips = programs.map(|programs| programs.round_trips(mode)).transpose()?;
    let mut call = recorder.call;
    (call.ends, call.punctuality) = testbed.end()?;
    if let Some(round_trips) = round_trips {
        call.ends.round_trips = round_trips;
    }
    Ok(call)
}

/// Records the reports.
#[derive(Default)]
struct Recorder {
    call: Call,
    tc_ms: [Option<f64>; 2],
    last_prbs: Option<u32>,
    prbs: f64,
}

impl Recorder {
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
                let of = |at: usize| report.queues.get(at).map(|entry| entry.queue.last_sojourn_us as f64 / 1e3);
                self.tc_ms = [of(0), of(1)];
                if let Some(actor) = &mut actor {
                    actor.guard.handle_tc(time(at_s), &TcRecord::from(report));
                }
            }
        }
        if let Some(actor) = actor {
            self.call.actions.extend(actor.act(time(at_s))?.into_iter().map(|news| (at_s, news)));
        }
        Ok(())
    }
}

/// The xApp's time at some time after the start of the call.
fn time(at_s: f64) -> Time {
    Time::from_nanos(((LEAD_S + at_s) * 1e9) as u64)
}

/// The xApp: sends the guard's controls over REST.
struct Actor<'a> {
    guard: FlowGuard,
    rest: &'a Rest,
}

impl<'a> Actor<'a> {
    fn new(rest: &'a Rest) -> Self {
        let flow = tc::FiveTuple { destination_port: Some(CALL_PORT), protocol: Some(17), ..tc::FiveTuple::default() };
        Actor { guard: FlowGuard::new(GuardConfig::new(flow, LIMIT)), rest }
    }

    /// Executes the guard's controls; returns its events.
    fn act(&mut self, now: Time) -> anyhow::Result<Vec<String>> {
        while let Some(control) = self.guard.poll_control() {
            let answer = self.rest.control(&control);
            self.guard.handle_answer(now, answer);
        }
        let mut events = Vec::new();
        while let Some(event) = self.guard.poll_event() {
            anyhow::ensure!(!event.is_failure(), "the xApp: {event}");
            events.push(event.to_string());
        }
        Ok(events)
    }
}
