//! Congestion control and active queue management.

use radio::tc::QueueId;
use radio::traffic::{Direction as FlowDirection, TcpState};

use super::run::{Length, Run};
use super::{Definition, Outcome};
use crate::statistics::mean;

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "cubic-window",
        what: "CUBIC's window half a period K after a loss, over the window W that it returns to; 0.85 W after a loss below the last one",
        unit: "times",
        source: "RFC 9438 4.2 and 4.7: 0.4 (t - K)^3 + W",
        tolerance: 0.005,
        run: |_| cubic_window(),
    },
    Definition {
        name: "cubic-curve",
        what: "root mean square of the difference between CUBIC's window and that function over whole periods",
        unit: "%",
        source: "RFC 9438 4.2 and 4.7",
        tolerance: 0.5,
        run: |_| cubic_curve(),
    },
    Definition {
        name: "cubic-fills",
        what: "use of the cell by a greedy CUBIC flow with a buffer above the bandwidth-delay product",
        unit: "% of the capacity",
        source: "FlexRIC paper, 6.1.1: CUBIC fills the buffer before the bottleneck",
        tolerance: 2.0,
        run: |length| Ok(Outcome { expected: 100.0, measured: greedy(length, "cubic")?.used_percent }),
    },
    Definition {
        name: "bbr-rate",
        what: "rate that BBR has estimated, as a multiple of the goodput of the cell",
        unit: "times",
        source: "Cardwell, Cheng, Gunn, Yeganeh and Jacobson (2016)",
        tolerance: 0.1,
        run: |length| {
            let greedy = greedy(length, "bbr")?;
            Ok(Outcome { expected: 1.0, measured: greedy.estimated_mbps / greedy.goodput_mbps })
        },
    },
    Definition {
        name: "bbr-queue",
        what: "median round trip of BBR over the shortest, with a deep buffer: at most two bandwidth-delay products are in flight",
        unit: "times",
        source: "Cardwell, Cheng, Gunn, Yeganeh and Jacobson (2016): cwnd gain of 2",
        tolerance: 0.5,
        run: |length| Ok(Outcome { expected: 1.5, measured: greedy(length, "bbr")?.median_over_least }),
    },
    Definition {
        name: "codel-delay",
        what: "mean queueing delay of 8 CUBIC flows in a queue with CoDel, target 5 ms, before a pacer; the FIFO's is above 100 ms",
        unit: "ms",
        source: "RFC 8289 4.2: the standing delay is held near the target",
        tolerance: 4.0,
        run: codel,
    },
];

/// A window that is large enough for the cubic function, not the part that is friendly to Reno: long paths.
const LONG_PATH: &str = "[[cell]]\n[cell.rlc]\nbuffer_octets = 1_000_000\n[[ue]]\nmcs = 20\n[[ue.flow]]\nkind = \"greedy\"\n\
                         one_way_delay_ms = 100\nreceive_window_octets = 60_000_000\n";

fn state(run: &Run) -> anyhow::Result<TcpState> {
    run.ue(0)?.flows()[0].tcp(FlowDirection::Down).ok_or_else(|| anyhow::anyhow!("the flow is not TCP"))
}

/// The time between two looks at the window.
const STEP_S: f64 = 0.02;
/// The reduction after a loss, and the scale of the function.
const BETA: f64 = 0.7;
const SCALE: f64 = 0.4;

/// A period of congestion avoidance between two losses.
struct Period {
    /// The window before the loss, and the one to which the function returns.
    before: f64,
    plateau: f64,
    /// The windows from the end of the recovery on, one for each step.
    windows: Vec<f64>,
}

impl Period {
    /// The time until the function returns to its plateau.
    fn to_plateau_s(&self) -> f64 {
        ((self.plateau - BETA * self.before) / SCALE).cbrt()
    }

    fn expected(&self, at_s: f64) -> f64 {
        SCALE * (at_s - self.to_plateau_s()).powi(3) + self.plateau
    }

    /// The windows with their times after the recovery.
    fn windows(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.windows.iter().enumerate().map(|(step, window)| (step as f64 * STEP_S, *window))
    }
}

/// The complete periods of a greedy flow.
fn periods() -> anyhow::Result<Vec<Period>> {
    let mut run = Run::new(LONG_PATH)?;
    let (mut periods, mut last): (Vec<Period>, Option<TcpState>) = (Vec::new(), None);
    for _ in 0..(120.0 / STEP_S) as u32 {
        run.advance(STEP_S);
        let Ok(now) = state(&run) else { continue };
        if let Some(last) = last
            && now.reductions > last.reductions
        {
            let before = last.window_segments as f64;
            // a loss below the last plateau makes room for other flows
            let has_shrunk = periods.last().is_some_and(|period| before < period.plateau);
            let plateau = if has_shrunk { before * (1.0 + BETA) / 2.0 } else { before };
            periods.push(Period { before, plateau, windows: Vec::new() });
        }
        if let Some(period) = periods.last_mut() {
            period.windows.push(now.window_segments as f64);
        }
        last = Some(now);
    }
    // the last one has no end, and short ones are those of slow start
    periods.pop();
    periods.retain(|period| period.windows.len() as f64 * STEP_S > 5.0);
    for period in &mut periods {
        // the recovery ends with the smallest window
        let least = period.windows.iter().copied().fold(f64::INFINITY, f64::min);
        let end = period.windows.iter().rposition(|window| *window <= least).unwrap_or(0);
        period.windows.drain(..end);
    }
    anyhow::ensure!(!periods.is_empty(), "the flow had no loss");
    Ok(periods)
}

fn cubic_window() -> anyhow::Result<Outcome> {
    let (mut expected, mut measured) = (Vec::new(), Vec::new());
    for period in periods()? {
        let half_s = period.to_plateau_s() / 2.0;
        let Some((at_s, window)) = period.windows().find(|(at_s, _)| *at_s >= half_s) else { continue };
        expected.push(period.expected(at_s) / period.plateau);
        measured.push(window / period.plateau);
    }
    Ok(Outcome { expected: mean(&expected), measured: mean(&measured) })
}

fn cubic_curve() -> anyhow::Result<Outcome> {
    let periods = periods()?;
    let differences = periods.iter().flat_map(|period| {
        period.windows().map(|(at_s, window)| (100.0 * (window / period.expected(at_s) - 1.0)).powi(2))
    });
    Ok(Outcome { expected: 0.0, measured: mean(&differences.collect::<Vec<_>>()).sqrt() })
}

struct Greedy {
    used_percent: f64,
    goodput_mbps: f64,
    estimated_mbps: f64,
    median_over_least: f64,
}

fn greedy(length: Length, control: &str) -> anyhow::Result<Greedy> {
    let mut run = Run::new(&format!(
        "[[cell]]\n[cell.rlc]\nbuffer_octets = 3_000_000\n[[ue]]\nmcs = 20\n[[ue.flow]]\nkind = \"greedy\"\n\
         congestion_control = \"{control}\"\none_way_delay_ms = 20\n"
    ))?;
    run.advance(5.0);
    let (blocks, octets) = (run.counts(0)?.dl.block_octets, received_octets(&run)?);
    let seconds = length.of(50.0);
    let (mut rates, mut round_trips) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        run.advance(seconds / 50.0);
        let state = state(&run)?;
        rates.push(state.delivery_rate_bps / 1e6);
        round_trips.extend(state.smoothed_rtt_ms);
    }
    let carried_mbps = (run.counts(0)?.dl.block_octets - blocks) as f64 * 8.0 / 1e6 / seconds;
    let rtt = &run.ue(0)?.flows()[0].counts().rtt;
    Ok(Greedy {
        used_percent: 100.0 * carried_mbps / run.capacity_mbps(20),
        goodput_mbps: (received_octets(&run)? - octets) as f64 * 8.0 / 1e6 / seconds,
        estimated_mbps: bench::median(rates),
        median_over_least: bench::median(round_trips) / rtt.min_ms().unwrap_or(f64::NAN),
    })
}

fn received_octets(run: &Run) -> anyhow::Result<u64> {
    Ok(run.ue(0)?.flows()[0].counts().downlink.received_octets)
}

fn codel(length: Length) -> anyhow::Result<Outcome> {
    let flow = "[[ue.flow]]\nkind = \"greedy\"\none_way_delay_ms = 20\n".repeat(8);
    let mut run = Run::new(&format!(
        "[[cell]]\n[cell.traffic_control]\npacer = \"5g-bdp\"\n[[cell.traffic_control.queue]]\nid = 0\ndiscipline = \"codel\"\n\
         target_ms = 5\ninterval_ms = 100\n[[ue]]\nmcs = 20\n{flow}"
    ))?;
    run.advance(10.0);
    let mut delays_ms = Vec::new();
    for _ in 0..(length.of(50.0) / 0.05) as u32 {
        run.advance(0.05);
        let now = run.cell(0).now();
        let counts = run.ue(0)?.bearers()[0].tc().counts(QueueId(0));
        delays_ms.extend(counts.map(|counts| counts.sojourn.mean(now).as_secs_f64() * 1e3));
    }
    Ok(Outcome { expected: 5.0, measured: mean(&delays_ms) })
}
