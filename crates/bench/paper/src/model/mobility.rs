//! Handovers.

use std::collections::BTreeSet;

use super::run::{Length, Run};
use super::{Definition, Outcome};
use crate::statistics::mean;

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "a3-time-to-trigger",
        what: "time from the entering condition of event A3 to the handover, with a time to trigger of 320 ms, unfiltered: a change is \
               measured half a period of 40 ms later on average",
        unit: "ms",
        source: "TS 38.331 5.5.4.1 and 5.5.4.4",
        tolerance: 20.0,
        run: |length| Ok(Outcome { expected: 340.0, measured: mean(&crossings(length, 320)?.triggered_ms) }),
    },
    Definition {
        name: "a3-no-time-to-trigger",
        what: "the same with a time to trigger of 40 ms",
        unit: "ms",
        source: "TS 38.331 5.5.4.1 and 5.5.4.4",
        tolerance: 20.0,
        run: |length| Ok(Outcome { expected: 60.0, measured: mean(&crossings(length, 40)?.triggered_ms) }),
    },
    Definition {
        name: "handover-interruption",
        what: "time for which a UE is in no cell during a handover, with an interruption time of 50 ms",
        unit: "ms",
        source: "scenario; TS 38.133 6.1.1 calls it the interruption time",
        tolerance: 10.0,
        run: |length| Ok(Outcome { expected: 50.0, measured: mean(&crossings(length, 160)?.interrupted_ms) }),
    },
    Definition {
        name: "ping-pong-rate",
        what: "handovers that are ping-pongs, counted by the network, and by observation of the cells of the UEs: a return to the last \
               cell after a stay of less than 1 s",
        unit: "% of handovers",
        source: "TR 36.839 5.2.2: a time of stay below the minimum of 1 s, from arrival to arrival, over successful handovers",
        tolerance: 0.5,
        run: ping_pongs,
    },
];

/// Handovers and ping-pongs, by observation from outside: a UE that returns to its last cell after a stay of less than the minimum
/// time of stay, from arrival to arrival.
fn ping_pongs(length: Length) -> anyhow::Result<Outcome> {
    const UES: usize = 60;
    const TIME_OF_STAY_S: f64 = 1.0;
    // no hysteresis and a short time to trigger, at the borders of three cells; no link fails, since a re-establishment is no handover
    let mut text =
        "seed = 5\n[link_failure]\nenabled = false\n[handover]\na3_offset_db = 0.5\ntime_to_trigger_ms = 40\n[measurement]\nfilter_coefficient = 0\n\
                    [[cell]]\ncount = 3\napart_m = 300\n"
            .to_owned();
    for number in 0..UES {
        let x_m = 100 + 400 * number / UES;
        text += &format!(
            "[[ue]]\nx_m = {x_m}\ny_m = {}\nmotion = \"random-waypoint\"\nspeed_m_per_s = 20\n",
            number % 7 * 20
        );
    }
    let mut run = Run::new(&text)?;
    // the cell, when the UE came, and the cell before
    let mut stays: Vec<Option<(usize, f64, Option<usize>)>> = vec![None; UES];
    let (mut handovers, mut returns) = (0.0, 0.0);
    for step in 1..(length.of(200.0) / STEP_S) as u32 {
        run.advance(STEP_S);
        let now_s = f64::from(step) * STEP_S;
        for cell in 0..run.network().cells() {
            for (_, ue) in run.cell(cell).ues() {
                let Some(stay) = stays.get_mut(ue.number() as usize) else { continue };
                let Some((last, since_s, before)) = *stay else {
                    *stay = Some((cell, now_s, None));
                    continue;
                };
                if last != cell {
                    handovers += 1.0;
                    // the steps are those of the network: a stay of 1 s is not shorter
                    returns +=
                        f64::from(u8::from(before == Some(cell) && now_s - since_s < TIME_OF_STAY_S - STEP_S / 2.0));
                    *stay = Some((cell, now_s, Some(last)));
                }
            }
        }
    }
    let (mut completed, mut counted) = (0, 0);
    for cell in 0..run.network().cells() {
        let counts = run.network().mobility_counts(cell);
        completed += counts.executions_succeeded;
        counted += counts.ping_pongs;
    }
    anyhow::ensure!(counted > 20, "{counted} ping-pongs among {completed} handovers are too few");
    Ok(Outcome { expected: 100.0 * returns / handovers, measured: 100.0 * counted as f64 / completed as f64 })
}

/// The offset of event A3 in the scenario.
const OFFSET_DB: f64 = 3.0;
const HYSTERESIS_DB: f64 = 1.0;
/// The steps in which UEs are observed: the epochs of the network.
const STEP_S: f64 = 0.01;

#[derive(Default)]
struct Crossings {
    /// The time from the entering condition of the later target, without interruption, to the end in the source cell.
    triggered_ms: Vec<f64>,
    interrupted_ms: Vec<f64>,
}

/// What is known of a UE on its way.
#[derive(Clone, Copy)]
struct Trip {
    cell: Option<usize>,
    /// Since when the other cell has been better by more than offset and hysteresis.
    since_s: Option<f64>,
    left_s: f64,
}

/// UEs go from one cell to another and back.
fn crossings(length: Length, time_to_trigger_ms: u32) -> anyhow::Result<Crossings> {
    const UES: usize = 30;
    let mut text = format!(
        "[handover]\na3_offset_db = {OFFSET_DB:.1}\nhysteresis_db = {HYSTERESIS_DB:.1}\ntime_to_trigger_ms = {time_to_trigger_ms}\n\
         interruption_ms = 50\n[measurement]\nfilter_coefficient = 0\n[[cell]]\ncount = 2\napart_m = 500\n"
    );
    // at different times within the periods of the measurements
    for number in 0..UES {
        let (x_m, speed_m_per_s) = (100 + number, 15.0 + 0.37 * number as f64);
        text += &format!(
            "[[ue]]\nx_m = {x_m}\ny_m = 0\nmotion = \"straight\"\nspeed_m_per_s = {speed_m_per_s:.2}\nheading_deg = 90\n"
        );
    }
    let mut run = Run::new(&text)?;
    let mut trips = [Trip { cell: Some(0), since_s: None, left_s: 0.0 }; UES];
    let mut crossings = Crossings::default();
    run.advance(STEP_S);
    for step in 1..(length.of(100.0) / STEP_S) as u32 {
        let now_s = f64::from(step) * STEP_S;
        let mut present = BTreeSet::new();
        for cell in 0..2 {
            for (_, ue) in run.cell(cell).ues() {
                let number = ue.number() as usize;
                let (Some(geometry), Some(trip)) = (ue.channel().geometry(), trips.get_mut(number)) else { continue };
                present.insert(number);
                if trip.cell.is_none() {
                    crossings.interrupted_ms.push((now_s - trip.left_s) * 1e3);
                    *trip = Trip { cell: Some(cell), since_s: None, ..*trip };
                }
                let is_better = geometry.rsrp_dbm(1 - cell) - geometry.rsrp_dbm(cell) > OFFSET_DB + HYSTERESIS_DB;
                trip.since_s = if is_better { trip.since_s.or(Some(now_s)) } else { None };
            }
        }
        for (number, trip) in trips.iter_mut().enumerate() {
            if !present.contains(&number) && trip.cell.take().is_some() {
                trip.left_s = now_s;
                crossings.triggered_ms.extend(trip.since_s.map(|since_s| (now_s - since_s) * 1e3));
            }
        }
        run.advance(STEP_S);
    }
    Ok(crossings)
}
