//! Figure 13: a slice's share of the cell is kept whatever others do, and what it does not need is lent or lost.
//!
//! UEs receive more than the cell carries, all at the same MCS. Slices are deployed by REST, as the paper has it with curl;
//! by rules on S-NSSAI UEs come into them, also those that arrive later. MAC's statistics, which an xApp reads, tell the
//! throughput. In live mode UEs are network namespaces, and `iperf3` sends to them.

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

/// Seconds of a phase, where the context says one.
const PHASE: f64 = 5.0;
/// Sent to each UE: all that the cell carries.
const OFFERED_BPS: u64 = 65_000_000;
/// Modulation and coding of all UEs.
const MCS: u8 = 20;
/// How far from what it should be a share may be, in points of a per cent.
const TOLERANCE_POINTS: f64 = 2.0;

/// When something begins, in seconds after the measurement's beginning, in the model.
fn at(seconds: f64) -> Time {
    Time::from_secs_f64(LEAD_S + seconds)
}

/// A UE of the `slice`th service, counted from 1, to which so much is sent from each first to each second moment.
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
        channel: ChannelScenario::Mcs(MCS),
        flows: sent.iter().zip(5001..).map(|(times, port)| flow(times, port)).collect(),
        arrives,
        leaves: None,
    }
}

fn scenario(ues: Vec<UeScenario>) -> Scenario {
    Scenario { cells: vec![cell()], ues, ..Scenario::default() }
}

/// Two NVS slices with these shares, where the algorithm may lend what is unused or not.
fn deploy(rest: &Rest, percent: [u8; 2], sharing: bool) -> anyhow::Result<()> {
    let slices = [1, 2].map(|id| json!({ "id": id, "ue_scheduler": "PF", "share_percent": percent[id - 1] }));
    let body = json!({ "algorithm": "NVS", "sharing": sharing, "slices": slices });
    rest.order("PUT", &format!("/v1/nodes/{NODE}/slices/dl"), &body)
}

/// Each service has the slice of its number from now on, also of UEs that will come.
fn associate(rest: &Rest) -> anyhow::Result<()> {
    [1, 2].into_iter().try_for_each(|slice| {
        let rule = json!({ "s_nssai": { "sst": 1, "sd": format!("{slice:06x}") }, "dl": slice });
        rest.order("POST", &format!("/v1/nodes/{NODE}/associations"), &rule)
    })
}

/// What happens at some moment.
enum Event {
    /// Two slices with these shares are set.
    Deploy { percent: [u8; 2], sharing: bool },
    /// From now on UEs come into the slices of their services.
    Associate,
    /// In live mode.
    Send(live::Sending),
}

/// Takes down what is told, and sees that UEs are where they belong.
struct Desk<'a> {
    rest: &'a Rest,
    throughput: Throughput,
    /// UEs that are there, and those of them that are in their slices.
    ues: usize,
    settled: usize,
    is_associated: bool,
}

impl Desk<'_> {
    fn take(&mut self, now_s: f64, report: &Report<'_>) -> anyhow::Result<()> {
        if let Report::Mac(report) = report {
            self.throughput.tell(now_s, report);
            self.ues = report.ues.len();
            self.settle()?;
        }
        Ok(())
    }

    /// A UE that comes is in its slice before anything else happens: where the model goes on in steps, it waits for that.
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

/// What was measured.
struct Measured {
    throughput: Throughput,
    /// In live mode.
    punctuality: Option<Punctuality>,
}

/// Runs a scenario over E2 until so many seconds after the measurement's beginning; in live mode with `iperf3` for its flows.
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
    let mut desk = Desk { rest: &rest, throughput: Throughput::default(), is_associated: false, settled: 0, ues: 0 };
    watch.until(LEAD_S / 2.0, |now_s, report| desk.take(now_s, &report))?;
    rest.await_slices()?;
    let mut programs = Vec::new();
    for (seconds, event) in events {
        watch.until(LEAD_S + seconds, |now_s, report| desk.take(now_s, &report))?;
        match (event, testbed.namespaces()) {
            (Event::Deploy { percent, sharing }, _) => deploy(&rest, percent, sharing)?,
            (Event::Associate, _) => desk.associate()?,
            (Event::Send(sending), Some(namespaces)) => programs.push(sending.start(namespaces)?),
            (Event::Send(_), None) => unreachable!("programs run in live mode only"),
        }
    }
    // by then a report has told of the end
    watch.until(LEAD_S + end_s + 0.1, |now_s, report| desk.take(now_s, &report))?;
    programs.into_iter().try_for_each(live::Sender::end)?;
    let throughput = desk.throughput;
    let ((), punctuality) = testbed.end()?;
    Ok(Measured { throughput, punctuality: punctuality.map(|punctuality| punctuality.having_sent(planned_octets)) })
}
