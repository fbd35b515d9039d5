//! Peak rates, transport block sizes, link adaptation and HARQ.

use radio::phy::{Direction, McsTable};

use super::run::{Length, Run};
use super::{Definition, Outcome};
use crate::statistics::mean;

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "peak-nr-15khz",
        what: "rate of a saturated cell: 20 MHz, 15 kHz, FDD, 1 layer, 64QAM",
        unit: "Mbit/s",
        source: "TS 38.306 4.1.2",
        tolerance: 1.5,
        run: |length| {
            let cell = "bandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\n";
            peak(length, cell, &Peak { layers: 1.0, order: 6.0, prbs: 106.0, numerology: 0, share: 1.0 })
        },
    },
    Definition {
        name: "peak-nr-30khz",
        what: "rate of a saturated cell: 100 MHz, 30 kHz, TDD DDDDDDDUUU, 4 layers, 256QAM",
        unit: "Mbit/s",
        source: "TS 38.306 4.1.2, times the downlink's share of the slots",
        tolerance: 25.0,
        run: |length| {
            let cell = "bandwidth_mhz = 100\nscs_khz = 30\ntdd = \"DDDDDDDUUU\"\ndownlink_layers = 4\n\
                        downlink_mcs_table = \"256qam\"\n";
            peak(length, cell, &Peak { layers: 4.0, order: 8.0, prbs: 273.0, numerology: 1, share: 0.7 })
        },
    },
    Definition {
        name: "peak-nr-60khz",
        what: "rate of a saturated cell: 40 MHz, 60 kHz, FDD, 2 layers, 256QAM",
        unit: "Mbit/s",
        source: "TS 38.306 4.1.2",
        tolerance: 6.0,
        run: |length| {
            let cell = "bandwidth_mhz = 40\nscs_khz = 60\nduplex = \"fdd\"\ndownlink_layers = 2\n\
                        downlink_mcs_table = \"256qam\"\n";
            peak(length, cell, &Peak { layers: 2.0, order: 8.0, prbs: 51.0, numerology: 2, share: 1.0 })
        },
    },
    Definition {
        name: "peak-lte",
        what: "rate of a saturated cell: LTE, 20 MHz, FDD, 2 layers, 64QAM: two blocks of 75376 bits a millisecond",
        unit: "Mbit/s",
        source: "TS 36.213 table 7.1.7.2.1-1, TS 36.306 table 4.1-1 (category 4: 150752 bits)",
        tolerance: 0.1,
        run: |length| {
            let text = saturated("rat = \"lte\"\nbandwidth_mhz = 20\ndownlink_layers = 2\n", "sinr_db = 50");
            Ok(Outcome { expected: 150.752, measured: settled_mbps(&text, length.of(0.5))? })
        },
    },
    Definition {
        name: "block-size-largest",
        what: "largest transport block of NR: 273 PRBs, 156 resource elements each, 4 layers, MCS 27 of 256QAM",
        unit: "bit",
        source: "TS 38.214 5.1.3.2",
        tolerance: 0.0,
        run: |_| {
            let run = Run::new(
                "[[cell]]\nbandwidth_mhz = 100\ndownlink_layers = 4\ndownlink_mcs_table = \"256qam\"\ncontrol_symbols = 0\n\
                 additional_dmrs = 0\n",
            )?;
            let octets = run.cell(0).blocks(Direction::Downlink).octets(27, 273, 14);
            Ok(Outcome { expected: 1_277_992.0, measured: f64::from(octets) * 8.0 })
        },
    },
    Definition {
        name: "block-sizes",
        what: "transport blocks above 3824 bits that differ from the formula, over all MCSs and numbers of PRBs",
        unit: "blocks",
        source: "TS 38.214 5.1.3.2 step 4",
        tolerance: 0.0,
        run: |_| block_sizes(),
    },
    Definition {
        name: "cqi-mcs",
        what: "largest distance between the MCS and the one of the reported CQI's efficiency, without outer loop",
        unit: "MCS indices",
        source: "TS 38.214 tables 5.1.3.1-1 and 5.2.2.1-2",
        tolerance: 0.0,
        run: |_| cqi_mcs(),
    },
    Definition {
        name: "bler-target-10",
        what: "first transmissions lost, with the default target",
        unit: "%",
        source: "TS 38.214 5.2.2.1: transport block error probability 0.1",
        tolerance: 0.5,
        run: |length| bler(length, 10.0, 30.0),
    },
    Definition {
        name: "bler-target-1",
        what: "first transmissions lost, with a target of 1 %",
        unit: "%",
        source: "outer loop of Sampath, Kumar and Holtzman (1997)",
        tolerance: 0.1,
        run: |length| bler(length, 1.0, 100.0),
    },
    Definition {
        name: "harq-residual",
        what: "blocks lost after two combined transmissions, 10 % of the first being lost; 1 % without combining",
        unit: "%",
        source: "Chase (1985): two equal transmissions gain 3 dB",
        tolerance: 0.2,
        run: |length| {
            let cell = "[cell.harq]\ntransmissions = 2\n";
            let mut run = Run::new(&saturated(cell, "sinr_db = 14.3"))?;
            run.advance(length.of(30.0));
            let counts = run.counts(0)?.dl;
            Ok(Outcome { expected: 0.0, measured: 100.0 * counts.lost_blocks as f64 / counts.blocks as f64 })
        },
    },
    Definition {
        name: "harq-delay",
        what: "additional delay of a packet per retransmission, with a round trip of 8 slots of 1 ms",
        unit: "ms",
        source: "TS 38.321 5.3.2: a retransmission follows a HARQ round trip later",
        tolerance: 0.5,
        run: harq_delay,
    },
    Definition {
        name: "rank-cell-edge",
        what: "rate of 4 layers as a multiple of that of 1, at -5 dB",
        unit: "times",
        source: "Telatar (1999): at low SINR the capacity of a channel does not grow with its layers",
        tolerance: 0.5,
        run: |length| rank(length, -5.0, 1.0),
    },
    Definition {
        name: "rank-near-site",
        what: "rate of 4 layers as a multiple of that of 1, at 40 dB",
        unit: "times",
        source: "TS 38.306 4.1.2: the peak rate is proportional to the layers",
        tolerance: 0.2,
        run: |length| rank(length, 40.0, 4.0),
    },
];

/// A scenario with one UE that is sent more than the cell carries. `cell` are the lines of the cell, `ue` those of the UE.
pub(super) fn saturated(cell: &str, ue: &str) -> String {
    format!(
        "[[cell]]\n{cell}[[ue]]\n{ue}\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 4_000_000_000\npacket_octets = 9000\n"
    )
}

/// The rate of transport blocks of the only UE, after the first tenth of a second.
fn settled_mbps(text: &str, seconds: f64) -> anyhow::Result<f64> {
    let mut run = Run::new(text)?;
    run.advance(0.1);
    run.rate_mbps(seconds, 0, Direction::Downlink)
}

struct Peak {
    layers: f64,
    order: f64,
    prbs: f64,
    numerology: i32,
    /// The downlink's share of the slots.
    share: f64,
}

/// The largest code rate, and the overhead of a downlink below 6 GHz.
const MAX_RATE: f64 = 948.0 / 1024.0;
const OVERHEAD: f64 = 0.14;

/// Compares with the formula of TS 38.306. One symbol of control and one of reference signals are its overhead of 0.14.
fn peak(length: Length, cell: &str, peak: &Peak) -> anyhow::Result<Outcome> {
    let Peak { layers, order, prbs, numerology, share } = *peak;
    let symbols_per_s = 14e3 * 2_f64.powi(numerology);
    let expected = layers * order * MAX_RATE * prbs * 12.0 * symbols_per_s * (1.0 - OVERHEAD) * share / 1e6;
    let text = saturated(&format!("{cell}control_symbols = 1\nadditional_dmrs = 0\n"), "sinr_db = 50");
    Ok(Outcome { expected, measured: settled_mbps(&text, length.of(0.5))? })
}

/// The formula for blocks above 3824 bits, in floating point; `None` for smaller ones.
fn block_bits(rate: f64, order: f64, layers: f64, resource_elements: f64) -> Option<f64> {
    let info = resource_elements * rate * order * layers;
    if info <= 3824.0 {
        return None;
    }
    let step = 2_f64.powf((info - 24.0).log2().floor() - 5.0);
    let info = 3840_f64.max(step * ((info - 24.0) / step).round());
    let blocks = match rate {
        low if low <= 0.25 => ((info + 24.0) / 3816.0).ceil(),
        _ if info > 8424.0 => ((info + 24.0) / 8424.0).ceil(),
        _ => 1.0,
    };
    Some(8.0 * blocks * ((info + 24.0) / (8.0 * blocks)).ceil() - 24.0)
}

fn block_sizes() -> anyhow::Result<Outcome> {
    let mut differ = 0;
    for (name, table) in [("64qam", McsTable::Qam64), ("256qam", McsTable::Qam256)] {
        for layers in [1, 2] {
            let run = Run::new(&format!("[[cell]]\ndownlink_mcs_table = \"{name}\"\ndownlink_layers = {layers}\n"))?;
            let blocks = run.cell(0).blocks(Direction::Downlink);
            for (mcs, modulation) in (0..).zip(table.modulations()) {
                for prbs in 1..=blocks.prbs() {
                    // two symbols of control, two of reference signals
                    let resource_elements = f64::from(prbs) * 120.0;
                    let (rate, order) = (modulation.code_rate(), f64::from(modulation.order));
                    let expected = block_bits(rate, order, f64::from(layers), resource_elements);
                    let is_other = |bits: f64| f64::from(blocks.octets(mcs, prbs, 14)) * 8.0 != bits;
                    differ += u32::from(expected.is_some_and(is_other));
                }
            }
        }
    }
    Ok(Outcome { expected: 0.0, measured: differ.into() })
}

/// The highest MCS of table 5.1.3.1-1 whose efficiency does not exceed that of each CQI of table 5.2.2.1-2.
const MCS_OF_CQI: [u8; 16] = [0, 0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28];

fn cqi_mcs() -> anyhow::Result<Outcome> {
    let mut text = String::from("[[cell]]\n[cell.outer_loop]\nenabled = false\n");
    for half_db in -12..=52 {
        text += &format!("[[ue]]\nsinr_db = {:.1}\n", f64::from(half_db) / 2.0);
    }
    let mut run = Run::new(&text)?;
    run.advance(0.1);
    let distance = |(_, ue): (usize, &radio::Ue)| {
        let link = ue.downlink();
        link.mcs().abs_diff(MCS_OF_CQI[usize::from(link.cqi().min(15))])
    };
    Ok(Outcome { expected: 0.0, measured: run.cell(0).ues().map(distance).max().unwrap_or(u8::MAX).into() })
}

fn bler(length: Length, target_percent: f64, seconds: f64) -> anyhow::Result<Outcome> {
    let lost_percent = |sinr_db: f64| {
        let cell = format!("[cell.outer_loop]\ntarget_bler_percent = {target_percent:.1}\n");
        let mut run = Run::new(&saturated(&cell, &format!("sinr_db = {sinr_db:.1}")))?;
        // until the outer loop has settled
        run.advance(2.0);
        let before = run.counts(0)?.dl;
        run.advance(length.of(seconds));
        let after = run.counts(0)?.dl;
        let (first, blocks) = (after.rounds[0] - before.rounds[0], after.blocks - before.blocks);
        anyhow::Ok(100.0 * (1.0 - first as f64 / blocks as f64))
    };
    let measured = [3.2, 9.7, 16.1].into_iter().map(lost_percent).collect::<Result<Vec<_>, _>>()?;
    Ok(Outcome { expected: target_percent, measured: mean(&measured) })
}

fn harq_delay(length: Length) -> anyhow::Result<Outcome> {
    let run = |channel: &str| {
        let text = format!(
            "[[cell]]\nbandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\n[cell.harq]\nround_trip_slots = 8\n[[ue]]\n{channel}\n\
             [[ue.flow]]\nkind = \"poisson\"\nrate_bps = 40_000\npacket_octets = 1000\n"
        );
        let mut run = Run::new(&text)?;
        run.advance(length.of(4000.0));
        let counts = run.counts(0)?.dl;
        let again: u64 = (0..).zip(counts.rounds).map(|(again, blocks)| again * blocks).sum();
        let delay_ms = run.ue(0)?.flows()[0].counts().downlink.delay.mean_ms().unwrap_or(f64::NAN);
        anyhow::Ok((delay_ms, again as f64 / counts.blocks as f64))
    };
    let ((without_ms, _), (with_ms, again)) = (run("mcs = 20")?, run("sinr_db = 14.3")?);
    Ok(Outcome { expected: 8.0, measured: (with_ms - without_ms) / again })
}

fn rank(length: Length, sinr_db: f64, expected: f64) -> anyhow::Result<Outcome> {
    let mbps = |layers: u8| {
        let text = saturated(&format!("downlink_layers = {layers}\n"), &format!("sinr_db = {sinr_db:.1}"));
        let mut run = Run::new(&text)?;
        run.advance(1.0);
        run.rate_mbps(length.of(5.0), 0, Direction::Downlink)
    };
    Ok(Outcome { expected, measured: mbps(4)? / mbps(1)? })
}
