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

/// Seconds of the model in one.
const SPEED: f64 = 10.0;
/// The greedy flow begins so long after the call.
const GREEDY_S: f64 = 5.0;
/// Modulation and coding of the UE.
const MCS: u8 = 20;
/// The UE's ports of both flows.
const CALL_PORT: u16 = 5060;
const GREEDY_PORT: u16 = 5001;
/// Round trips of a call of an hour and more.
const MAX_ROUND_TRIPS: usize = 200_000;

/// One UE with a call of so many seconds, and with a greedy flow from [`GREEDY_S`] on.
fn scenario(call_s: f64) -> Scenario {
    let (mcc, mnc) = PLMN;
    let at = |seconds: f64| Time::from_secs_f64(LEAD_S + seconds);
    let flow = |kind: Kind, start: Time, port: u16| FlowScenario {
        specification: FlowSpecification {
            start,
            stop: at(call_s),
            rtt_samples: MAX_ROUND_TRIPS,
            ..FlowSpecification::new(kind)
        },
        ports: (port, port),
    };
    let cubic = Tcp { control: CongestionControl::default(), ..Tcp::default() };
    let ue = UeScenario {
        cell: 0,
        subscription: Subscription { mcc, mnc, sst: 1, five_qi: 9, ..Subscription::default() },
        channel: ChannelScenario::Mcs(MCS),
        flows: vec![
            flow(Kind::Voip { echoed: true }, at(0.0), CALL_PORT),
            flow(Kind::Greedy(cubic), at(GREEDY_S), GREEDY_PORT),
        ],
        arrives: Time::START,
        leaves: None,
    };
    Scenario { cells: vec![cell()], ues: vec![ue], speed: SPEED, ..Scenario::default() }
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
        let Some(call) = cell.ue(0).and_then(|ue| ue.flows().first()) else {
            return Seen { prbs_per_s, ..Seen::default() };
        };
        let of = |(at, nanos): &(Time, u64)| (at.as_secs_f64() - LEAD_S, *nanos as f64 / 1e6);
        let round_trips = call.counts().rtt_samples.as_slice().iter().map(of).collect();
        Seen { round_trips, prbs_per_s }
    }
}
