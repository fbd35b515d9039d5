//! Figure 13 in virtual time without E2: the controls are applied to the cell.

use std::time::Duration;

use radio::mac::Reservation;
use radio::phy::Direction;
use radio::{Cell, Slicing};
use ran::{LiveCounts, Scenario};

use super::super::FigureReport;
use super::super::testbed::Punctuality;
use super::{LEAD_S, Throughput, isolation, lending};

/// The time between two reports.
const STEP: Duration = Duration::from_millis(50);

/// A change of the cell, and its time in seconds after the start of the measurement.
type Act<'a> = (f64, &'a dyn Fn(&mut Cell));

fn measure(scenario: &Scenario, acts: &[Act<'_>], end_s: f64) -> Throughput {
    let mut network = scenario.network().unwrap();
    let (mut throughput, mut acts) = (Throughput::default(), acts.iter().peekable());
    while network.cell(0).now().as_secs_f64() <= LEAD_S + end_s {
        let now = network.cell(0).now() + STEP;
        network.advance(now);
        let now_s = now.as_secs_f64();
        for (place, _) in network.cell(0).ues() {
            let counts = network.cell(0).counts(place).unwrap();
            throughput.add(now_s, place as u32, counts.dl_rlc.sent_octets);
        }
        while let Some((_, act)) = acts.next_if(|(at_s, _)| LEAD_S + at_s <= now_s) {
            act(network.cell_mut(0));
        }
    }
    throughput
}

/// Deploys two slices; the first UE is in the first, the others in the second.
fn slice(cell: &mut Cell, shares: [f64; 2], is_shared: bool) {
    let reservations = shares.map(Reservation::Capacity).to_vec();
    cell.set_slicing(Direction::Downlink, Slicing::Nvs { reservations, is_shared }, &["PF", "PF"], "");
    for place in 0..cell.ue_indices() {
        cell.set_slice(place, Direction::Downlink, Some(u32::from(place > 0)));
    }
}

fn number(report: &FigureReport, row: usize, column: &str) -> f64 {
    report.summary.as_ref().unwrap().value(row, column).unwrap_or_else(|| panic!("no {column} in {report}"))
}

#[test]
fn slice_keeps_its_share() {
    let phase_s = 2.0;
    let run = |acts: &[Act<'_>]| {
        let throughput = measure(&isolation::scenario_of(phase_s), acts, 5.0 * phase_s);
        isolation::report(&isolation::Isolation { throughput, phase_s })
    };
    let half = |cell: &mut Cell| slice(cell, [0.5, 0.5], true);
    let two_thirds = |cell: &mut Cell| slice(cell, [0.66, 0.34], true);
    let report = run(&[(2.0 * phase_s, &half), (3.0 * phase_s, &two_thirds), (4.0 * phase_s, &two_thirds)]);
    assert_eq!(report.holds, Some(true), "{report}");
    assert!((number(&report, 1, "ue_1_share_percent") - 100.0 / 3.0).abs() < 1.0, "{report}");
    assert!((55.0..65.0).contains(&(number(&report, 0, "ue_1_mbps") * 2.0)), "{report}");
    // without slices
    assert_eq!(run(&[(2.0 * phase_s, &half)]).holds, Some(false));
    assert_eq!(run(&[]).holds, Some(false));
}

#[test]
fn idle_resources_are_shared_or_unused() {
    let phase_s = 2.0;
    let run = |is_shared: bool| {
        let deploy = |cell: &mut Cell| slice(cell, [0.66, 0.34], is_shared);
        let throughput = measure(&lending::scenario_of(phase_s), &[(-1.0, &deploy)], 3.0 * phase_s);
        lending::Run { throughput, phase_s }
    };
    let (without, with) = (run(false), run(true));
    let mut report = lending::report([&without, &with]);
    assert_eq!(report.holds, Some(true), "{report}");
    assert!(number(&report, 2, "black_mbps") < 2.0, "{report}");
    assert_eq!(lending::report([&without, &without]).holds, Some(false));
    assert_eq!(lending::report([&with, &with]).holds, Some(false));
    // a slow machine leaves the claim undecided
    report.judge(Punctuality::of(&LiveCounts { slots: 100, late_slots: 5, ..LiveCounts::default() }));
    assert_eq!(report.holds, Some(true), "{report}");
    report.judge(Punctuality::of(&LiveCounts { slots: 100, late_slots: 6, ..LiveCounts::default() }));
    let text = report.to_string();
    assert!(text.contains("undecided") && text.contains("TOO SLOW: 6.0 % of the slots"), "{text}");
    assert!(text.contains("(the machine was too slow)"), "{text}");
}
