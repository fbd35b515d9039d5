//! Figure 11: a call beside a greedy flow; what its packets wait for, without traffic control and with the xApp's three
//! actions.

mod call;
mod figures;
mod live;
#[cfg(test)]
mod tests;

use radio::traffic::{CongestionControl, FlowSpecification, Kind, Tcp};
use radio::{Network, Subscription, Time};
use ran::Scenario;
use ran::scenario::{ChannelScenario, FlowScenario, UeScenario};

use super::testbed::{LEAD_S, PLMN, cell};

pub(super) use figures::{fig11a, fig11b, fig11c};

/// The greedy flow begins so long after the call.
const GREEDY_S: f64 = 5.0;
/// Modulation and coding of the UE.
const MCS: u8 = 20;
/// The UE's ports of both flows.
const CALL_PORT: u16 = 5060;
const GREEDY_PORT: u16 = 5001;
/// A packet of the call follows after so long.
const INTERVAL_S: f64 = 0.02;
/// Of a part of the call.
const MAX_ROUND_TRIPS: usize = 500;

/// When the parts of a call begin: one a second until the greedy flow begins, then one for each five.
fn parts(call_s: f64) -> impl Iterator<Item = f64> {
    let begin = |part: u32| f64::from(part).min(GREEDY_S) + 5.0 * (f64::from(part) - GREEDY_S).max(0.0);
    (0..).map(begin).take_while(move |begin_s| *begin_s < call_s)
}

/// How much later in their interval packets of a part are sent. A call's ends do not keep the cell's time; but if theirs did
/// not differ from it at all, each packet would wait for the same slot of a frame, all the call long. By the golden ratio, a
/// few parts are spread over the interval as well as many.
fn phase_s(part: usize) -> f64 {
    (part as f64 * 0.618_033_988_749_895).fract() * INTERVAL_S
}

/// One UE with a call of so many seconds, and with a greedy flow from [`GREEDY_S`] on: that is the last of its flows.
fn scenario(call_s: f64) -> Scenario {
    let (mcc, mnc) = PLMN;
    let at = |seconds: f64| Time::from_secs_f64(LEAD_S + seconds);
    let flow = |kind: Kind, from_s: f64, to_s: f64, port: u16| FlowScenario {
        specification: FlowSpecification {
            start: at(from_s),
            stop: at(to_s),
            rtt_samples: MAX_ROUND_TRIPS,
            ..FlowSpecification::new(kind)
        },
        ports: (port, port),
    };
    let cubic = Tcp { control: CongestionControl::default(), ..Tcp::default() };
    let ends = parts(call_s).skip(1).chain([call_s]);
    let parts = parts(call_s).zip(ends).enumerate().map(|(part, (from_s, to_s))| {
        // what is not back when a part ends is not measured
        flow(Kind::Voip { echoed: true }, from_s + phase_s(part), to_s, CALL_PORT)
    });
    let ue = UeScenario {
        cell: 0,
        subscription: Subscription { mcc, mnc, sst: 1, five_qi: 9, ..Subscription::default() },
        channel: ChannelScenario::Mcs(MCS),
        flows: parts.chain([flow(Kind::Greedy(cubic), GREEDY_S, call_s, GREEDY_PORT)]).collect(),
        arrives: Time::START,
        leaves: None,
    };
    Scenario { cells: vec![cell()], ues: vec![ue], ..Scenario::default() }
}

/// What the two ends of the call have measured, as `irtt` does, and what the cell had.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// When each packet was back, in seconds after the call's beginning, and after how many milliseconds.
    round_trips: Vec<(f64, f64)>,
    /// Resource blocks of the downlink in a second.
    prbs_per_s: f64,
}

impl Seen {
    fn of(network: &Network) -> Seen {
        let cell = network.cell(0);
        let usage = cell.usage(radio::phy::Direction::Downlink);
        let prbs_per_s = usage.prbs as f64 / cell.now().as_secs_f64();
        let flows = cell.ue(0).map_or(&[][..], |ue| ue.flows());
        let parts = flows.split_last().map_or(&[][..], |(_, parts)| parts);
        let of = |(at, nanos): &(Time, u64)| (at.as_secs_f64() - LEAD_S, *nanos as f64 / 1e6);
        let round_trips = parts.iter().flat_map(|part| part.counts().rtt_samples.as_slice()).map(of).collect();
        Seen { round_trips, prbs_per_s }
    }
}
