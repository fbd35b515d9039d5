//! Schedulers and slices.

use radio::Random;
use radio::mac::{Candidate, Grant, Reservation, ue_scheduler};
use radio::phy::Direction;

use super::measurements::value;
use super::run::{Length, Run, first_percent};
use super::{Definition, Outcome};
use crate::statistics::fairness;

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "pf-gain",
        what: "rate of 8 UEs with Rayleigh fading, proportional fair over round robin",
        unit: "times",
        source: "Rényi (1953): the maximum of K exponential variables of mean 1 has the mean 1 + 1/2 + ... + 1/K",
        tolerance: 0.08,
        run: |_| Ok(pf_gain()),
    },
    Definition {
        name: "pf-shares",
        what: "fairness of the PRBs of 4 backlogged UEs at 0, 8, 16 and 24 dB, proportional fair (Jain's index)",
        unit: "1",
        source: "Kelly (1997): proportional fairness gives constant channels equal shares",
        tolerance: 0.01,
        run: |length| shares(length, "PF"),
    },
    Definition {
        name: "rr-shares",
        what: "the same with round robin",
        unit: "1",
        source: "Jain, Chiu and Hawe (1984)",
        tolerance: 0.01,
        run: |length| shares(length, "RR"),
    },
    Definition {
        name: "nvs-capacity",
        what: "largest deviation of a slice's share of the PRBs, for shares of 1 to 99 %, both slices backlogged, FDD",
        unit: "points",
        source: "Kokku, Mahindra, Zhang and Rangarajan (2012); FlexRIC paper, appendix B",
        tolerance: 0.1,
        run: nvs_capacity,
    },
    Definition {
        name: "nvs-rate-bad-channel",
        what: "PRBs of a slice of 20 over 61 Mbit/s whose UE has MCS 5, beside a capacity slice of 67 %",
        unit: "%",
        source: "FlexRIC paper, appendix B: the reference rate bounds the share to 20/61",
        tolerance: 0.5,
        run: |length| rate_slice(length, 5, shares_by_mcs, 2000.0 / 61.0),
    },
    Definition {
        name: "nvs-rate-good-channel",
        what: "rate of that slice with MCS 20, at which the cell carries the reference rate",
        unit: "Mbit/s",
        source: "Kokku, Mahindra, Zhang and Rangarajan (2012)",
        tolerance: 0.5,
        run: |length| rate_slice(length, 20, |run, seconds| run.rate_mbps(seconds, 0, Direction::Downlink), 20.0),
    },
    Definition {
        name: "nvs-idle",
        what: "PRBs of a slice of 66 % while the other is idle, with sharing",
        unit: "% of the cell",
        source: "Kokku, Mahindra, Zhang and Rangarajan (2012): the scheduler is work-conserving",
        tolerance: 0.5,
        run: |length| idle_slice(length, true, 100.0),
    },
    Definition {
        name: "nvs-partition",
        what: "the same without sharing",
        unit: "% of the cell",
        source: "FlexRIC paper, 6.1.2",
        tolerance: 0.5,
        run: |length| idle_slice(length, false, 66.0),
    },
    Definition {
        name: "nvs-return",
        what: "PRBs of a slice of 50 % in the 100 ms after the other returns from 2 s of idleness",
        unit: "%",
        source: "Kokku, Mahindra, Zhang and Rangarajan (2012): isolation of backlogged slices",
        tolerance: 10.0,
        run: |_| nvs_return(),
    },
];

const BACKLOGGED: &str = "[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 200_000_000\npacket_octets = 1400\n";
const FDD: &str = "bandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\n";

/// The closed form holds for rates that are proportional to exponential gains, drawn anew in each slot.
fn pf_gain() -> Outcome {
    const UES: usize = 8;
    const SLOTS: u32 = 200_000;
    /// The weight of a slot in the averages.
    const AVERAGE: f32 = 0.001;
    let expected = (1..=UES).map(|k| 1.0 / k as f64).sum();
    let served = |name: &str| {
        let mut random = Random::new(7, 0);
        let Some(mut scheduler) = ue_scheduler(name) else { return f64::NAN };
        let (mut averages, mut sum, mut grants) = ([1e4_f32; UES], 0.0, Vec::<Grant>::new());
        for _ in 0..SLOTS {
            let rates: [f64; UES] = std::array::from_fn(|_| random.exponential(1e5));
            let mut candidates: Vec<_> = (0..UES)
                .map(|ue| Candidate {
                    ue: ue as u32,
                    slice: 0,
                    prbs: 100,
                    least_prbs: 1,
                    is_retransmission: false,
                    rate_octets: rates[ue] as u32,
                    average_octets: averages[ue],
                    preference: 1.0,
                })
                .collect();
            grants.clear();
            scheduler.schedule(100, &mut candidates, &mut grants);
            averages.iter_mut().for_each(|average| *average *= 1.0 - AVERAGE);
            for grant in &grants {
                let octets = rates[grant.ue as usize] * f64::from(grant.prbs) / 100.0;
                averages[grant.ue as usize] += AVERAGE * octets as f32;
                sum += octets;
            }
        }
        sum
    };
    Outcome { expected, measured: served("PF") / served("RR") }
}

fn shares(length: Length, scheduler: &str) -> anyhow::Result<Outcome> {
    let mut text = format!(
        "[[cell]]\n{FDD}[[cell.slice]]\nid = 1\ndirection = \"down\"\ncapacity_percent = 100\nsst = 1\n\
         ue_scheduler = \"{scheduler}\"\n"
    );
    for sinr_db in [0, 8, 16, 24] {
        text += &format!("[[ue]]\nsinr_db = {sinr_db}\n{BACKLOGGED}");
    }
    let prbs = |ue| value(&text, "RRU.PrbUsedDl", Some(ue), length.of(20.0));
    let prbs = (0..4).map(prbs).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Outcome { expected: 1.0, measured: fairness(&prbs) })
}

/// The share of the PRBs of a UE with MCS 5 beside one with MCS 20, from what they receive.
fn shares_by_mcs(run: &mut Run, seconds: f64) -> anyhow::Result<f64> {
    let octets = run.octets_during(seconds, 2)?;
    let prbs: Vec<f64> = octets.iter().zip([5, 20]).map(|(octets, mcs)| octets / run.capacity_mbps(mcs)).collect();
    Ok(first_percent(&prbs))
}

/// A share, and the rest of the cell.
fn capacities(share: f64) -> [Reservation; 2] {
    [Reservation::Capacity(share), Reservation::Capacity(1.0 - share)]
}

/// A cell with two slices, each with a backlogged UE of these MCSs. `cell` are lines of the cell.
fn sliced(cell: &str, mcs: [u8; 2], reservations: [Reservation; 2], is_shared: bool) -> anyhow::Result<Run> {
    let of_ue = |mcs: u8| format!("[[ue]]\nmcs = {mcs}\n{BACKLOGGED}");
    of_text(&format!("[[cell]]\n{cell}{}{}", of_ue(mcs[0]), of_ue(mcs[1])), reservations, is_shared)
}

fn of_text(text: &str, reservations: [Reservation; 2], is_shared: bool) -> anyhow::Result<Run> {
    let mut run = Run::new(text)?;
    // the UEs have to be in the cell
    run.advance(0.02);
    run.slice(&reservations, is_shared, "PF");
    Ok(run)
}

fn nvs_capacity(length: Length) -> anyhow::Result<Outcome> {
    let deviation = |percent: u8| {
        let mut run = sliced(FDD, [20, 20], capacities(f64::from(percent) / 100.0), true)?;
        run.advance(2.0);
        // of equal MCSs
        let share = first_percent(&run.octets_during(length.of(50.0), 2)?);
        anyhow::Ok((share - f64::from(percent)).abs())
    };
    let shares = [1, 2, 5, 10, 25, 34, 50, 66, 75, 90, 95, 99];
    let deviations = shares.into_iter().map(deviation).collect::<Result<Vec<_>, _>>()?;
    Ok(Outcome { expected: 0.0, measured: deviations.into_iter().fold(0.0, f64::max) })
}

fn rate_slice(
    length: Length,
    mcs: u8,
    measure: impl FnOnce(&mut Run, f64) -> anyhow::Result<f64>,
    expected: f64,
) -> anyhow::Result<Outcome> {
    let rate = Reservation::Rate { reserved_bps: 20e6, reference_bps: 61e6 };
    let mut run = sliced("", [mcs, 20], [rate, Reservation::Capacity(0.67)], true)?;
    run.advance(2.0);
    Ok(Outcome { expected, measured: measure(&mut run, length.of(20.0))? })
}

fn idle_slice(length: Length, is_shared: bool, expected: f64) -> anyhow::Result<Outcome> {
    // the second UE has no flow
    let text = format!("[[cell]]\n{FDD}[[ue]]\nmcs = 20\n{BACKLOGGED}[[ue]]\nmcs = 20\n");
    let mut run = of_text(&text, capacities(0.66), is_shared)?;
    run.advance(2.0);
    let carried_mbps = run.rate_mbps(length.of(20.0), 0, Direction::Downlink)?;
    Ok(Outcome { expected, measured: 100.0 * carried_mbps / run.capacity_mbps(20) })
}

fn nvs_return() -> anyhow::Result<Outcome> {
    let text = format!("[[cell]]\n{FDD}[[ue]]\nmcs = 20\n{BACKLOGGED}[[ue]]\nmcs = 20\n{BACKLOGGED}start_s = 3\n");
    let mut run = of_text(&text, capacities(0.5), true)?;
    run.advance(2.98);
    Ok(Outcome { expected: 50.0, measured: first_percent(&run.octets_during(0.1, 2)?) })
}
