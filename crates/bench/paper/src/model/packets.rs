//! Delays, overheads and rates of packets.

use radio::phy::Direction;

use super::phy::saturated;
use super::run::{Length, Run};
use super::{Definition, Outcome};
use crate::statistics::mean;

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "downlink-delay",
        what: "mean delay of rare packets, FDD with slots of 1 ms: 5 ms in the core, half a slot until the next, 2 slots of decoding",
        unit: "ms",
        source: "hand calculation from the scenario",
        tolerance: 0.1,
        run: |length| delay(length, "down", 7.5),
    },
    Definition {
        name: "uplink-delay",
        what: "the same in the uplink: half a scheduling request period of 20 slots, 1 slot for the request, 4 from the grant to its use, \
               2 of decoding, 5 ms in the core",
        unit: "ms",
        source: "hand calculation; TS 38.321 5.4.4",
        tolerance: 0.3,
        run: |length| delay(length, "up", 10.0 + 1.0 + 4.0 + 2.0 + 5.0),
    },
    Definition {
        name: "drx-delay",
        what: "mean delay of rare packets to a sleeping UE, on-duration 10 ms in a cycle of 160 ms: 150^2 / 2 / 160 ms more",
        unit: "ms",
        source: "TS 38.321 5.7: a UE listens in the on-duration",
        tolerance: 4.0,
        run: |length| {
            let text = format!(
                "[[cell]]\n{FDD}[cell.drx]\nlong_cycle_ms = 160\non_duration_ms = 10\ninactivity_ms = 1\n[cell.harq]\n\
                 decoding_slots = 2\n[[ue]]\nmcs = 15\n[[ue.flow]]\nkind = \"poisson\"\nrate_bps = 300\npacket_octets = 40\n"
            );
            let mut run = Run::new(&text)?;
            run.advance(length.of(10_000.0));
            let delay = &run.ue(0)?.flows()[0].counts().downlink.delay;
            Ok(Outcome { expected: 7.5 + 150.0 * 150.0 / 2.0 / 160.0, measured: delay.mean_ms().unwrap_or(f64::NAN) })
        },
    },
    Definition {
        name: "rlc-overhead",
        what: "headers of PDCP, SDAP, RLC and MAC in full transport blocks with packets of 1400 octets",
        unit: "%",
        source: "TS 38.323 6.2.2, TS 37.324 6.2.2, TS 38.322 6.2.2.4, TS 38.321 6.1.2: 4 + 6 octets each, 8 more per segment",
        tolerance: 0.1,
        run: overhead,
    },
    Definition {
        name: "rlc-buffer",
        what: "delay of a packet in a full RLC buffer of 500 kB: the buffer over the rate",
        unit: "ms",
        source: "Little (1961)",
        tolerance: 3.0,
        run: buffer,
    },
    Definition {
        name: "voip-rate",
        what: "rate of a G.711 call: 160 octets of voice, RTP, UDP and IPv4 each 20 ms",
        unit: "kbit/s",
        source: "ITU-T G.711, RFC 3550 5.1, RFC 768, RFC 791",
        tolerance: 0.2,
        run: |length| {
            let mut run = Run::new("[[cell]]\n[[ue]]\nsinr_db = 20\n[[ue.flow]]\nkind = \"voip\"\n")?;
            let seconds = length.of(50.0);
            run.advance(seconds);
            let octets = run.ue(0)?.flows()[0].counts().downlink.received_octets;
            Ok(Outcome { expected: 80.0, measured: octets as f64 * 8.0 / seconds / 1e3 })
        },
    },
    Definition {
        name: "poisson-arrivals",
        what: "variance over mean of the number of UEs that arrive within 10 s, 30 a minute",
        unit: "1",
        source: "Poisson process: 1",
        tolerance: 0.25,
        run: |_| arrivals(),
    },
];

const FDD: &str = "bandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\n";

fn delay(length: Length, direction: &str, expected: f64) -> anyhow::Result<Outcome> {
    let text = format!(
        "[[cell]]\n{FDD}sr_period_slots = 20\ngrant_slots = 4\n[cell.harq]\ndecoding_slots = 2\n[[ue]]\nmcs = 15\n[[ue.flow]]\n\
         kind = \"poisson\"\ndirection = \"{direction}\"\nrate_bps = 1_000\npacket_octets = 40\none_way_delay_ms = 5\n"
    );
    let mut run = Run::new(&text)?;
    run.advance(length.of(2000.0));
    let counts = run.ue(0)?.flows()[0].counts();
    let of = if direction == "up" { &counts.uplink } else { &counts.downlink };
    Ok(Outcome { expected, measured: of.delay.mean_ms().unwrap_or(f64::NAN) })
}

fn overhead(length: Length) -> anyhow::Result<Outcome> {
    let text = saturated(FDD, "mcs = 20").replace("packet_octets = 9000", "packet_octets = 1400");
    let mut run = Run::new(&text)?;
    run.advance(1.0);
    let read = |run: &Run| {
        let counts = run.counts(0)?;
        anyhow::Ok((counts.dl.blocks, counts.dl.block_octets, run.ue(0)?.flows()[0].counts().downlink.received_octets))
    };
    let before = read(&run)?;
    run.advance(length.of(20.0));
    let after = read(&run)?;
    let (blocks, octets) = ((after.0 - before.0) as f64, (after.1 - before.1) as f64);
    let packets = (after.2 - before.2) as f64;
    // a packet of 1404 octets has a header of 6; each block cuts one, whose rest has a header of 8
    let in_block = octets / blocks;
    let cuts_per_packet = 1410.0 / (in_block - 8.0);
    let expected = 100.0 * (1.0 - 1400.0 / (1410.0 + 8.0 * cuts_per_packet));
    Ok(Outcome { expected, measured: 100.0 * (1.0 - packets / octets) })
}

fn buffer(length: Length) -> anyhow::Result<Outcome> {
    let text = saturated("[cell.rlc]\nbuffer_octets = 500_000\n", "mcs = 20").replace("4_000_000_000", "200_000_000");
    let mut run = Run::new(&text.replace("packet_octets = 9000", "packet_octets = 1400"))?;
    run.advance(1.0);
    let rate_mbps = run.rate_mbps(length.of(10.0), 0, Direction::Downlink)?;
    let counts = run.counts(0)?.dl_rlc;
    let before = (counts.sojourn_ns, counts.sent_packets);
    run.advance(length.of(10.0));
    let counts = run.counts(0)?.dl_rlc;
    let measured = (counts.sojourn_ns - before.0) as f64 / (counts.sent_packets - before.1) as f64 / 1e6;
    // on average half a packet does not fit
    Ok(Outcome { expected: (500_000.0 - 700.0) * 8.0 / (rate_mbps * 1e3), measured })
}

fn arrivals() -> anyhow::Result<Outcome> {
    let mut counts = Vec::new();
    for seed in 1..=20 {
        let text = format!(
            "seed = {seed}\n[[cell]]\n[[ue]]\ncount = 200\nsinr_db = 10\narrivals_per_min = 30\nmean_stay_s = 1e6\n"
        );
        let mut run = Run::new(&text)?;
        let mut last = 0;
        for _ in 0..20 {
            run.advance(10.0);
            let present = run.cell(0).ues().count();
            counts.push((present - last) as f64);
            last = present;
        }
    }
    let mean = mean(&counts);
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64;
    Ok(Outcome { expected: 1.0, measured: variance / mean })
}
