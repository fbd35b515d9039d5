//! Figure 13: the isolation of slices, and the sharing of unused resources.
//!
//! UEs are sent more than the cell carries, all at the same MCS. Slices are deployed over REST, as with curl in the paper;
//! rules by S-NSSAI associate UEs with them, also those that arrive later. An xApp reads the throughput from MAC's statistics.
//! In live mode UEs are network namespaces, and `iperf3` sends to them.

mod isolation;
mod lending;
mod live;
#[cfg(test)]
mod tests;

use radio::traffic::{FlowSpecification, Kind};
use radio::{Subscription, Time};
use ran::Scenario;
use ran::scenario::{ChannelScenario, FlowScenario, UeScenario};
use serde_json::json;

use super::testbed::{LEAD_S, Mode, NODE, PLMN, Punctuality, Report, Rest, Testbed, Throughput, cell, require};

pub(super) use isolation::fig13a;
pub(super) use lending::fig13b;

/// Seconds of a phase per second of a point.
const PHASE: f64 = 5.0;
/// The rate sent to each UE: more than the cell carries.
const OFFERED_BPS: u64 = 65_000_000;
/// The modulation and coding scheme of all UEs.
const MCS: u8 = 20;
/// The tolerance of a share in percentage points.
const TOLERANCE_POINTS: f64 = 2.0;

/// The model's time at `seconds` after the start of the measurement.
fn at(seconds: f64) -> Time {
    Time::from_secs_f64(LEAD_S + seconds)
}

/// A UE of service `slice`, counted from 1, that receives data in each interval of `sent`.
fn ue(slice: u8, arrives: Time, sent: &[(Time, Time)]) -> UeScenario {
    let (mcc, mnc) = PLMN;
    let flow = |(start, stop): &(Time, Time), port: u16| {
        let kind = Kind::ConstantBitRate { rate_bps: OFFERED_BPS, packet_octets: 1400 };
        FlowScenario {
            specification: FlowSpecification { start: *start, stop: *stop, ..FlowSpecification::new(kind) },
            ports: (5001, port),
        }
    };
    UeScenario {
        cell: 0,
        subscription: Subscription { mcc, mnc, sst: 1, sd: Some([0, 0, slice]), five_qi: 9, ..Subscription::default() },
        max_carriers: 1,
        channel: ChannelScenario::Mcs(MCS),
        flows: sent.iter().zip(5001..).map(|(times, port)| flow(times, port)).collect(),
        arrives,
        leaves: None,
    }
}

fn scenario(ues: Vec<UeScenario>) -> Scenario {
    Scenario { cells: vec![cell()], ues, ..Scenario::default() }
}

/// Deploys two NVS slices with these shares, with or without sharing of unused resources.
fn deploy(rest: &Rest, percent: [u8; 2], sharing: bool) -> anyhow::Result<()> {
    let slices = [1, 2].map(|id| json!({ "id": id, "ue_scheduler": "PF", "share_percent": percent[id - 1] }));
    let body = json!({ "algorithm": "NVS", "sharing": sharing, "slices": slices });
    rest.order("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), &body)
}

/// Associates each service with the slice of its number, also for UEs that arrive later.
fn associate(rest: &Rest) -> anyhow::Result<()> {
    [1, 2].into_iter().try_for_each(|slice| {
        let rule = json!({ "s_nssai": { "sst": 1, "sd": format!("{slice:06x}") }, "dl": slice });
        rest.order("POST", &format!("/v1/nodes/{NODE}/associations"), &rule)
    })
}

/// A change during the measurement.
enum Event {
    /// Deploys two slices.
    Deploy { percent: [u8; 2], sharing: bool },
    /// Associates UEs with the slices of their services.
    Associate,
    /// Starts a program, in live mode.
    Send(live::LiveFlow),
}

/// Records the throughput, and waits until arriving UEs are in their slices.
struct Recorder<'a> {
    rest: &'a Rest,
    throughput: Throughput,
    /// The UEs in the cell, and those of them in their slices.
    ues: usize,
    settled: usize,
    is_associated: bool,
}

impl Recorder<'_> {
    fn take(&mut self, now_s: f64, report: &Report<'_>) -> anyhow::Result<()> {
        if let Report::Mac(report) = report {
            self.throughput.add_report(now_s, report);
            self.ues = report.ues.len();
            self.settle()?;
        }
        Ok(())
    }

    /// Waits until a new UE is in its slice; the model does not advance meanwhile, unless it is live.
    fn settle(&mut self) -> anyhow::Result<()> {
        if self.is_associated && self.ues > self.settled {
            self.rest.await_members(self.ues)?;
            self.settled = self.ues;
        }
        Ok(())
    }

    fn associate(&mut self) -> anyhow::Result<()> {
        associate(self.rest)?;
        self.is_associated = true;
        self.settle()
    }
}

/// The result of a measurement.
struct Measured {
    throughput: Throughput,
    /// The timing of live mode.
    punctuality: Option<Punctuality>,
}

/// Runs a scenario over E2 until `end_s` after the start of the measurement; in live mode with `iperf3` for its flows.
fn measure(
    mut scenario: Scenario,
    mode: Mode<'_>,
    mut events: Vec<(f64, Event)>,
    end_s: f64,
) -> anyhow::Result<Measured> {
    let mut planned_octets = 0.0;
    if mode.is_live() {
        require(&["iperf3"])?;
        let flows = live::take_flows(&mut scenario, end_s);
        planned_octets = flows.iter().map(|(begin_s, flow)| flow.octets_until(end_s - begin_s)).sum();
        events.extend(flows.into_iter().map(|(at_s, flow)| (at_s, Event::Send(flow))));
    }
    events.sort_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s));
    let testbed = Testbed::start(scenario, mode, |_| ())?;
    let rest = testbed.rest()?;
    let mut watch = testbed.watch(&[e2sm::mac::MODEL], mode)?;
    let mut recorder =
        Recorder { rest: &rest, throughput: Throughput::default(), is_associated: false, settled: 0, ues: 0 };
    watch.until(LEAD_S / 2.0, |now_s, report| recorder.take(now_s, &report))?;
    rest.await_slices()?;
    let mut programs = Vec::new();
    for (seconds, event) in events {
        watch.until(LEAD_S + seconds, |now_s, report| recorder.take(now_s, &report))?;
        match (event, testbed.namespaces()) {
            (Event::Deploy { percent, sharing }, _) => deploy(&rest, percent, sharing)?,
            (Event::Associate, _) => recorder.associate()?,
            (Event::Send(flow), Some(namespaces)) => programs.push(flow.start(namespaces)?),
            (Event::Send(_), None) => unreachable!("programs run in live mode only"),
        }
    }
    // until the last report has arrived
    watch.until(LEAD_S + end_s + 0.1, |now_s, report| recorder.take(now_s, &report))?;
    programs.into_iter().try_for_each(live::RunningFlow::end)?;
    let throughput = recorder.throughput;
    let ((), punctuality) = testbed.end()?;
    Ok(Measured {
        throughput,
        punctuality: punctuality.map(|punctuality| punctuality.with_planned_octets(planned_octets)),
    })
}
