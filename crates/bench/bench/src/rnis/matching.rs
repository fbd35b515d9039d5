//! An event among few and many subscriptions.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, ensure};
use rnis::{Cell, Change, Criteria, Event, HandoverStatus, Key, Matcher, Topic, UeIds};
use serde::Serialize;

/// Events of a batch.
const EVENTS: u32 = 2000;
/// Batches of each, which alternate.
const BATCHES: usize = 25;

/// The time in which the subscriptions of an event are found: medians.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Matching {
    /// Ten of 100.
    pub ns_of_100: f64,
    /// Ten of 100,000.
    pub ns_of_100000: f64,
    /// The second divided by the first.
    pub ratio: f64,
}

/// Measures the matcher.
pub fn measure() -> anyhow::Result<Matching> {
    let plmn = "00101".parse().ok().context("a PLMN")?;
    // ten subscriptions a cell
    let matcher = |subscriptions: u64| {
        let mut matcher = Matcher::default();
        for number in 0..subscriptions {
            let cells = vec![Cell::nr(plmn, number / 10)];
            matcher.insert(Key(number), Criteria { cells, ..Criteria::all(Topic::CellChange) });
        }
        matcher
    };
    let matchers = [matcher(100), matcher(100_000)];
    let event = |number: u32| {
        let change = Change::CellChange { targets: Vec::new(), status: HandoverStatus::Completed };
        Event { received_ns: 0, cell: Cell::nr(plmn, u64::from(number % 10)), ue: UeIds::default(), change }
    };
    let events: Vec<Event> = (0..EVENTS).map(event).collect();
    let mut found = Vec::new();
    let mut times_ns = [Vec::new(), Vec::new()];
    for _ in 0..BATCHES {
        for (matcher, times_ns) in matchers.iter().zip(&mut times_ns) {
            let begun = Instant::now();
            for event in &events {
                matcher.find(black_box(event), &mut found);
                ensure!(found.len() == 10, "an event meets {} subscriptions", found.len());
            }
            times_ns.push(begun.elapsed().as_nanos() as f64 / f64::from(EVENTS));
        }
    }
    let [ns_of_100, ns_of_100000] = times_ns.map(crate::median);
    Ok(Matching { ns_of_100, ns_of_100000, ratio: ns_of_100000 / ns_of_100 })
}
