//! `iperf3` instead of a scenario's flows.

use ran::{Namespaces, Scenario};

use super::super::testbed::{LEAD_S, Program, address_of_ue, core};
use super::OFFERED_BPS;

/// Flows without a start time start so long before the measurement.
const BEFORE_S: f64 = 1.5;
/// The time from a UE's arrival to the start of its flow.
const ARRIVED_S: f64 = 0.1;

/// A flow to a UE.
pub struct LiveFlow {
    ue: usize,
    port: u16,
    seconds: f64,
}

/// Takes the flows out of a scenario; returns them with their start times in seconds after the start of the measurement.
pub fn take_flows(scenario: &mut Scenario, end_s: f64) -> Vec<(f64, LiveFlow)> {
    let mut all = Vec::new();
    for (number, ue) in scenario.ues.iter_mut().enumerate() {
        let arrives_s = ue.arrives.as_secs_f64() - LEAD_S + ARRIVED_S;
        for flow in ue.flows.drain(..) {
            let begin_s = (flow.specification.start.as_secs_f64() - LEAD_S).max(arrives_s).max(-BEFORE_S);
            // `Time::NEVER` is later than the end
            let stop_s = (flow.specification.stop.as_secs_f64() - LEAD_S).min(end_s + 1.0);
            all.push((begin_s, LiveFlow { ue: number, port: flow.ports.1, seconds: stop_s - begin_s }));
        }
    }
    all
}

impl LiveFlow {
    /// Starts the programs at both ends.
    pub fn start(&self, namespaces: &Namespaces) -> anyhow::Result<RunningFlow> {
        let LiveFlow { ue, port, seconds } = self;
        let server = format!("iperf3 -s -1 -p {port} --forceflush");
        let server = Program::serve(&namespaces.ues[*ue], &server, "listening")?;
        let address = address_of_ue(*ue);
        let megabits = OFFERED_BPS / 1_000_000;
        let command = format!("iperf3 -c {address} -p {port} -u -b {megabits}M -l 1300 -t {}", seconds.ceil());
        Ok(RunningFlow { client: Program::start(core(namespaces), &command)?, _server: server })
    }

    /// The octets sent in the first `seconds` of the flow.
    pub fn octets_until(&self, seconds: f64) -> f64 {
        OFFERED_BPS as f64 / 8.0 * seconds.min(self.seconds)
    }
}

/// The running programs of a flow.
pub struct RunningFlow {
    client: Program,
    _server: Program,
}

impl RunningFlow {
    /// Ends the flow.
    ///
    /// # Errors
    /// If a program has failed.
    pub fn end(mut self) -> anyhow::Result<()> {
        self.client.is_running().map(drop)
    }
}
