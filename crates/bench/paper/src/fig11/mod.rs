//! Figure 11: the delays of a call beside a greedy flow, without traffic control and with the xApp's three actions.

mod call;
mod figures;
mod live;
#[cfg(test)]
mod tests;

use std::f64::consts::TAU;

use radio::phy::{Trace, TraceEnd};
use radio::traffic::{CongestionControl, FlowSpecification, Kind, Tcp};
use radio::{Network, Subscription, Time};
use ran::Scenario;
use ran::scenario::{ChannelScenario, FlowScenario, UeScenario};

use super::testbed::{LEAD_S, PLMN, cell};

pub(super) use figures::{fig11a, fig11b, fig11c};

/// The start of the greedy flow after that of the call.
const GREEDY_S: f64 = 5.0;
/// The modulation and coding scheme of the UE.
const MCS: u8 = 20;
/// The UE's ports of both flows.
const CALL_PORT: u16 = 5060;
const GREEDY_PORT: u16 = 5001;
/// The interval of the call's packets.
const INTERVAL_S: f64 = 0.02;
/// The most round trips of a part of the call.
const MAX_ROUND_TRIPS: usize = 500;

/// The start times of a call's parts: one per second until the greedy flow starts, then one per five seconds.
fn parts(call_s: f64) -> impl Iterator<Item = f64> {
    let begin = |part: u32| f64::from(part).min(GREEDY_S) + 5.0 * (f64::from(part) - GREEDY_S).max(0.0);
    (0..).map(begin).take_while(move |begin_s| *begin_s < call_s)
}

/// The phase of a part's packets in their interval. The clocks of a call differ from that of the cell; without phases, each
/// packet would wait for the same slot of a frame. The golden ratio spreads few parts over the interval as evenly as many.
fn phase_s(part: usize) -> f64 {
    (part as f64 * 0.618_033_988_749_895).fract() * INTERVAL_S
}

/// The RLC buffer on which verdicts rest: the default of scenarios. The paper states none.
const RLC_BUFFER_OCTETS: u32 = 1_000_000;

/// The setting of a call.
#[derive(Clone, Copy, Debug)]
struct CallSetting {
    seconds: f64,
    /// Whether the xApp acts.
    is_controlled: bool,
    rlc_buffer_octets: u32,
    /// Whether the channel varies; otherwise the MCS is fixed and nothing is lost.
    is_varying: bool,
}

impl CallSetting {
    fn new(seconds: f64, is_controlled: bool) -> Self {
        CallSetting { seconds, is_controlled, rlc_buffer_octets: RLC_BUFFER_OCTETS, is_varying: false }
    }
}

/// A channel whose SINR goes up and down by 12 dB within 8 s, with faster changes of 4 dB: from QPSK to 64QAM.
fn varying_channel() -> ChannelScenario {
    const STEP_MS: u32 = 50;
    const PERIOD_MS: u32 = 104_000;
    let line = |step: u32| {
        let at_s = f64::from(step * STEP_MS) / 1e3;
        let sinr_db = 13.0 + 6.0 * (at_s * TAU / 8.0).sin() + 2.0 * (at_s * TAU / 1.3).sin();
        format!("{},{sinr_db:.2}\n", step * STEP_MS)
    };
    let text: String = (0..PERIOD_MS / STEP_MS).map(line).collect();
    match Trace::parse(&text, TraceEnd::Loop) {
        Ok(trace) => ChannelScenario::Trace(trace),
        Err(error) => panic!("the varying channel: {error}"),
    }
}

/// One UE with a call and, as its last flow, a greedy flow from [`GREEDY_S`] on.
fn scenario(setting: &CallSetting) -> Scenario {
    let call_s = setting.seconds;
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
        // a packet that returns after the end of its part is not measured
        flow(Kind::Voip { echoed: true }, from_s + phase_s(part), to_s, CALL_PORT)
    });
    let ue = UeScenario {
        cell: 0,
        subscription: Subscription { mcc, mnc, sst: 1, five_qi: 9, ..Subscription::default() },
        max_carriers: 1,
        channel: if setting.is_varying { varying_channel() } else { ChannelScenario::Mcs(MCS) },
        flows: parts.chain([flow(Kind::Greedy(cubic), GREEDY_S, call_s, GREEDY_PORT)]).collect(),
        arrives: Time::START,
        leaves: None,
    };
    let mut cell = cell();
    cell.radio.rlc.buffer_octets = setting.rlc_buffer_octets;
    Scenario { cells: vec![cell], ues: vec![ue], ..Scenario::default() }
}

/// The measurements at the ends of the call, as those of `irtt`, and of the cell.
#[derive(Clone, Debug, Default)]
struct EndMeasurements {
    /// The return time of each packet, in seconds after the start of the call, and its round trip in milliseconds.
    round_trips: Vec<(f64, f64)>,
    /// Downlink resource blocks per second.
    prbs_per_s: f64,
}

impl EndMeasurements {
    fn of(network: &Network) -> EndMeasurements {
        let cell = network.cell(0);
        let usage = cell.usage(radio::phy::Direction::Downlink);
        let prbs = cell.full_prbs(radio::phy::Direction::Downlink, usage.elements);
        let prbs_per_s = prbs as f64 / cell.now().as_secs_f64();
        let flows = cell.ue(0).map_or(&[][..], |ue| ue.flows());
        let parts = flows.split_last().map_or(&[][..], |(_, parts)| parts);
        let of = |(at, nanos): &(Time, u64)| (at.as_secs_f64() - LEAD_S, *nanos as f64 / 1e6);
        let round_trips = parts.iter().flat_map(|part| part.counts().rtt_samples.as_slice()).map(of).collect();
        EndMeasurements { round_trips, prbs_per_s }
    }
}
