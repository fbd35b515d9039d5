//! The processor time of an agent's report at 1 kHz with three statistics models, by stage.
//!
//! The stages are measured within the agent's event loop. The rest of the process's time, by the kernel's account, is sending
//! and waking up.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::meter::{LEAST_REPORTS, Meter};
use crate::part::{Agents, AgentsCount, Controller, ControllerCount, Encoding, Load, Part, ask};
use crate::{AgentRow, Effort};

const UES: [u16; 6] = [1, 2, 4, 8, 16, 32];
const LOAD: Load = Load::Statistics;
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn measure(effort: Effort) -> anyhow::Result<Vec<AgentRow>> {
    let mut rows = Vec::new();
    for encoding in Encoding::ALL {
        for ues in UES {
            rows.push(row(ues, encoding, effort.seconds / 2.0)?);
        }
    }
    Ok(rows)
}

fn row(ues: u16, encoding: Encoding, seconds: f64) -> anyhow::Result<AgentRow> {
    let mut controller = Part::Controller(Controller { encoding, period_ms: 1, decodes: false }).start()?;
    let ric = controller.value("e2")?.to_owned();
    let mut agents = Part::Agents(Agents { ric, nodes: 1, ues, load: LOAD, encoding, stages: true }).start()?;
    let deadline = Instant::now() + PATIENCE;
    while ask::<ControllerCount>(&mut controller)?.subscribed < LOAD.statistics() {
        if Instant::now() > deadline {
            bail!("no subscription to the agent");
        }
        thread::sleep(Duration::from_millis(10));
    }
    let meter = Meter { controllers: &[*controller], agents: *agents, seconds, least_reports: LEAST_REPORTS };
    let sample = meter.measure_one(|| {
        let ControllerCount { reports, octets, .. } = ask(&mut controller)?;
        Ok((reports, octets))
    })?;
    let stages = ask::<AgentsCount>(&mut agents)?.stages_ns.context("the agent has measured no reports")?;
    let [gather_us, model_us, e2ap_us] = stages.map(|ns| ns / 1e3);
    let cpu_us = sample.agents_cpu_percent / 100.0 * 1e6 / sample.reports_per_s;
    Ok(AgentRow {
        ues,
        encoding: encoding.codec().name(),
        message_bytes: (sample.mbit_per_s * 1e6 / 8.0 / sample.reports_per_s).round(),
        reports_per_s: sample.reports_per_s,
        cpu_us,
        gather_us,
        model_us,
        e2ap_us,
        send_us: cpu_us - gather_us - model_us - e2ap_us,
    })
}
