//! `irtt` and `iperf3` instead of the model's call and greedy flow.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use ran::Namespaces;
use serde_json::Value;

use super::super::testbed::{Mode, Program, address_of_ue, core};
use super::{CALL_PORT, GREEDY_PORT};

/// The additional length of the greedy flow, which must outlast a late measurement.
const LONGER_S: f64 = 10.0;

/// The programs at the ends of the call.
pub struct Programs {
    began: Duration,
    client: Program,
    _server: Program,
}

impl Programs {
    /// Starts a call from the core to the UE, which echoes it.
    pub fn start(namespaces: &Namespaces, seconds: f64) -> anyhow::Result<Self> {
        let ue = address_of_ue(0);
        let server = Program::serve(&namespaces.ues[0], &format!("irtt server -b {ue}:{CALL_PORT}"), "starting")?;
        let began = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let client = format!("irtt client -i 20ms -l 172 -d {seconds:.1}s -Q -o - {ue}:{CALL_PORT}");
        let client = Program::start(core(namespaces), &client)?;
        Ok(Programs { began, client, _server: server })
    }

    /// Starts the greedy flow, for `seconds` and [`LONGER_S`].
    pub fn greedy(namespaces: &Namespaces, seconds: f64) -> anyhow::Result<Greedy> {
        let server = format!("iperf3 -s -1 -p {GREEDY_PORT} --forceflush");
        let server = Program::serve(&namespaces.ues[0], &server, "listening")?;
        let seconds = seconds.ceil() + LONGER_S;
        let client = format!("iperf3 -c {} -p {GREEDY_PORT} -C cubic -t {seconds}", address_of_ue(0));
        Ok(Greedy { client: Program::start(core(namespaces), &client)?, _server: server })
    }

    /// Waits for the end of the call. Returns the time of each packet's return, in seconds after the start, and its round trip in
    /// milliseconds.
    pub fn round_trips(self, mode: Mode<'_>) -> anyhow::Result<Vec<(f64, f64)>> {
        let report: Value = serde_json::from_str(&self.client.output(mode)?).context("irtt's report")?;
        round_trips(&report, self.began.as_nanos() as f64).context("irtt's report has no round trips")
    }
}

/// The programs at the ends of the greedy flow.
pub struct Greedy {
    client: Program,
    _server: Program,
}

impl Greedy {
    /// Ends the flow, which must have run until now.
    pub fn end(mut self) -> anyhow::Result<()> {
        ensure!(self.client.is_running()?, "iperf3 ended too early: no greedy flow");
        Ok(())
    }
}

/// The round trips in a report of irtt, without lost packets.
fn round_trips(report: &Value, began_ns: f64) -> Option<Vec<(f64, f64)>> {
    let all = report["round_trips"].as_array()?;
    let of = |trip: &Value| {
        let back_ns = trip["timestamps"]["client"]["receive"]["wall"].as_f64()?;
        Some(((back_ns - began_ns) * 1e-9, trip["delay"]["rtt"].as_f64()? * 1e-6))
    };
    Some(all.iter().filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn report_of_irtt_is_parsed() {
        let report = json!({ "round_trips": [
            { "lost": "false", "timestamps": { "client": { "receive": { "wall": 2_500_000_000_u64 } } },
              "delay": { "rtt": 12_500_000 } },
            { "lost": "true_down", "timestamps": { "client": {} }, "delay": {} },
        ] });
        assert_eq!(round_trips(&report, 2e9), Some(vec![(0.5, 12.5)]));
        assert_eq!(round_trips(&json!({}), 0.0), None);
    }
}
