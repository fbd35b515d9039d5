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

use super::testbed::{LEAD_S, NODE, PLMN, Report, Rest, Testbed, Throughput, Watch, cell, require};

pub(super) use isolation::fig13a;
pub(super) use lending::fig13b;

/// Seconds of the model in one.
const SPEED: f64 = 5.0;
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
    Scenario { cells: vec![cell()], ues, speed: SPEED, ..Scenario::default() }
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

/// What is done at some moment, in seconds after the measurement's beginning.
type Act<'a> = (f64, &'a dyn Fn(&Rest) -> anyhow::Result<()>);

/// What happens at some moment.
enum Event<'a> {
    Act(&'a dyn Fn(&Rest) -> anyhow::Result<()>),
    /// In live mode.
    Send(live::Sending),
}

/// Runs a scenario over E2 until so many seconds after the measurement's beginning; in live mode with `iperf3` for its flows.
fn measure(mut scenario: Scenario, is_live: bool, acts: &[Act<'_>], end_s: f64) -> anyhow::Result<Throughput> {
    let mut events: Vec<(f64, Event<'_>)> = acts.iter().map(|(at_s, act)| (*at_s, Event::Act(*act))).collect();
    if is_live {
        require(&["iperf3"])?;
        scenario.speed = 1.0;
        events.extend(live::take_flows(&mut scenario, end_s).into_iter().map(|(at_s, flow)| (at_s, Event::Send(flow))));
    }
    events.sort_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s));
    let speed = scenario.speed;
    let testbed = Testbed::start(scenario, is_live, |_| ())?;
    let rest = testbed.rest();
    let mut watch = Watch::new(testbed.xapp(), &[e2sm::mac::MODEL], speed)?;
    let mut throughput = Throughput::default();
    let mut until = |watch: &mut Watch, seconds: f64| {
        watch.until(LEAD_S + seconds, |now_s, report| {
            if let Report::Mac(report) = report {
                throughput.tell(now_s, report);
            }
            Ok(())
        })
    };
    until(&mut watch, -LEAD_S / 2.0)?;
    rest.await_slices()?;
    let mut programs = Vec::new();
    for (seconds, event) in events {
        until(&mut watch, seconds)?;
        match (event, testbed.namespaces()) {
            (Event::Act(act), _) => act(&rest)?,
            (Event::Send(sending), Some(namespaces)) => programs.extend(sending.start(namespaces)?),
            (Event::Send(_), None) => unreachable!("programs run in live mode only"),
        }
    }
    // by then a report has told of the end
    until(&mut watch, end_s + 0.1 * speed)?;
    drop(programs);
    testbed.end()?;
    Ok(throughput)
}
