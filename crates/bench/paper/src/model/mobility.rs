//! Handovers.

use std::collections::BTreeSet;

use super::run::{Length, Run, mean};
use super::{Definition, Outcome};

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
];

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
