//! `iperf3` in the place of a scenario's flows.

use ran::{Namespaces, Scenario};

use super::super::testbed::{LEAD_S, Program, address_of_ue, core};
use super::OFFERED_BPS;

/// What was sent from the beginning on is sent so long before the measurement.
const BEFORE_S: f64 = 1.5;
/// From a UE's arrival until something is sent to it.
const ARRIVED_S: f64 = 0.1;

/// What is sent to a UE for a while.
pub struct Sending {
    ue: usize,
    port: u16,
    seconds: f64,
}

/// Takes the flows out of a scenario; what is to be sent instead, and when, in seconds after the measurement's beginning.
pub fn take_flows(scenario: &mut Scenario, end_s: f64) -> Vec<(f64, Sending)> {
    let mut all = Vec::new();
    for (number, ue) in scenario.ues.iter_mut().enumerate() {
        let arrives_s = ue.arrives.as_secs_f64() - LEAD_S + ARRIVED_S;
        for flow in ue.flows.drain(..) {
            let begin_s = (flow.specification.start.as_secs_f64() - LEAD_S).max(arrives_s).max(-BEFORE_S);
            // never is later than the end
            let stop_s = (flow.specification.stop.as_secs_f64() - LEAD_S).min(end_s + 1.0);
            all.push((begin_s, Sending { ue: number, port: flow.ports.1, seconds: stop_s - begin_s }));
        }
    }
    all
}

impl Sending {
    /// Starts both ends.
    pub fn start(&self, namespaces: &Namespaces) -> anyhow::Result<Sender> {
        let Sending { ue, port, seconds } = self;
        let server = format!("iperf3 -s -1 -p {port} --forceflush");
        let server = Program::serve(&namespaces.ues[*ue], &server, "listening")?;
        let address = address_of_ue(*ue);
        let megabits = OFFERED_BPS / 1_000_000;
        let command = format!("iperf3 -c {address} -p {port} -u -b {megabits}M -l 1300 -t {}", seconds.ceil());
        Ok(Sender { client: Program::start(core(namespaces), &command)?, _server: server })
    }

    /// What is sent in its first seconds.
    pub fn octets_until(&self, seconds: f64) -> f64 {
        OFFERED_BPS as f64 / 8.0 * seconds.min(self.seconds)
    }
}

/// Both ends, once they are started.
pub struct Sender {
    client: Program,
    _server: Program,
}

impl Sender {
    /// Ends what has not ended by itself.
    ///
    /// # Errors
    /// It has failed.
    pub fn end(mut self) -> anyhow::Result<()> {
        self.client.is_running().map(drop)
    }
}
