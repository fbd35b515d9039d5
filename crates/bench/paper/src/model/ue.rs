//! Channel reports and discontinuous reception of UEs.

use super::run::{Length, Run};
use super::{Definition, Outcome};
use crate::statistics::mean;

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "cqi-delay",
        what: "time by which the CQI that the scheduler has is behind the SINR, with a period of 40 ms and a delay of 20 ms: the shift of \
               the largest correlation",
        unit: "ms",
        source: "TS 38.214 5.2.1.4: a periodic report is half a period old on average, beside its delay; the channel changes every 5 ms",
        tolerance: 2.0,
        run: cqi_delay,
    },
    Definition {
        name: "drx-awake-idle",
        what: "share of the time that a UE without data is awake, with a long DRX cycle of 160 ms and an on-duration of 10 ms",
        unit: "%",
        source: "TS 38.321 5.7: the on-duration over the cycle",
        tolerance: 0.1,
        run: |length| awake(length, "", 100.0 * 10.0 / 160.0),
    },
    Definition {
        name: "drx-awake-traffic",
        what: "the same with a downlink packet every 640 ms and an inactivity timer of 100 ms: three on-durations, and a fourth whose \
               packet starts the timer",
        unit: "%",
        source: "TS 38.321 5.7",
        tolerance: 0.5,
        // the packet waits for the on-duration, whose first slot carries it
        run: |length| awake(length, PACKETS, 100.0 * (3.0 * 10.0 + 100.5) / 640.0),
    },
];

/// The interval of updates of the channel.
const STEP_S: f64 = 0.005;

fn cqi_delay(length: Length) -> anyhow::Result<Outcome> {
    const UES: u64 = 20;
    const PERIOD_MS: f64 = 40.0;
    const DELAY_MS: f64 = 20.0;
    // the channel changes little within a period
    let mut run = Run::new(&format!(
        "[[cell]]\ncqi_period_ms = {PERIOD_MS}\ncqi_delay_ms = {DELAY_MS}\n[[ue]]\ncount = {UES}\nx_m = 420\ny_m = 0\n\
         motion = \"straight\"\nspeed_m_per_s = 0.4\n"
    ))?;
    run.advance(1.0);
    let steps = (length.of(60.0) / STEP_S) as usize;
    let mut samples = vec![(Vec::new(), Vec::new()); UES as usize];
    for _ in 0..steps {
        run.advance(STEP_S);
        for (ue, (sinr_db, cqi)) in (0..).zip(&mut samples) {
            let link = run.ue(ue)?.downlink();
            sinr_db.push(link.sinr_db());
            cqi.push(f64::from(link.cqi()));
        }
    }
    // the CQI of a UE that is always above or below the table does not change
    let varies = |(_, cqi): &&(Vec<f64>, Vec<f64>)| cqi.iter().any(|value| *value != cqi[0]);
    let delays_ms: Vec<f64> =
        samples.iter().filter(varies).map(|(sinr_db, cqi)| lag_steps(sinr_db, cqi) * STEP_S * 1e3).collect();
    anyhow::ensure!(delays_ms.len() >= UES as usize / 2, "the CQI of {} UEs changes", delays_ms.len());
    // seen at the updates, the age of a report is 0, 5, ... 35 ms
    Ok(Outcome { expected: DELAY_MS + (PERIOD_MS - STEP_S * 1e3) / 2.0, measured: mean(&delays_ms) })
}

/// The shift of the largest correlation of `late` with `early`, with a parabola through its neighbours.
fn lag_steps(early: &[f64], late: &[f64]) -> f64 {
    const MOST: usize = 40;
    let correlations: Vec<f64> = (0..MOST).map(|lag| correlation(&early[..early.len() - lag], &late[lag..])).collect();
    let best = (1..MOST - 1).max_by(|a, b| correlations[*a].total_cmp(&correlations[*b])).unwrap_or(0);
    let [before, at, after] = [best - 1, best, best + 1].map(|lag| correlations[lag]);
    best as f64 + 0.5 * (before - after) / (before - 2.0 * at + after)
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut product, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        product += a * b;
        square_a += a * a;
        square_b += b * b;
    }
    product / (square_a * square_b).sqrt()
}

/// A packet in 640 ms.
const PACKETS: &str = "[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 2500\npacket_octets = 200\n";

/// The share of the time awake of UEs with a fixed MCS, whose blocks are never lost.
fn awake(length: Length, flow: &str, expected: f64) -> anyhow::Result<Outcome> {
    // neither arrives during an on-duration: packets come 100 ms and more before one
    const OFFSETS_MS: [u32; 4] = [20, 50, 80, 110];
    let mut shares = Vec::new();
    for offset_ms in OFFSETS_MS {
        let text = format!(
            "[[cell]]\n[cell.drx]\nlong_cycle_ms = 160\nstart_offset_ms = {offset_ms}\non_duration_ms = 10\ninactivity_ms = 100\n\
             [[ue]]\nmcs = 20\n{flow}"
        );
        let mut run = Run::new(&text)?;
        run.advance(6.4);
        let before = run.counts(0)?.awake.as_secs_f64();
        let seconds = 6.4 * (length.of(64.0) / 6.4).round();
        run.advance(seconds);
        shares.push(100.0 * (run.counts(0)?.awake.as_secs_f64() - before) / seconds);
    }
    Ok(Outcome { expected, measured: mean(&shares) })
}
