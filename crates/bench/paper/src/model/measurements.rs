//! KPM measurements, as base stations report them.

use radio::Time;
use radio::phy::Direction;
use ran::Measured;

use super::run::{Length, Run, scenario};
use super::{Definition, Outcome};

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "kpm-prbs-slice",
        what: "RRU.PrbUsedDl of the UE of a slice with 70 % of the cell, of that of both UEs: TDD with a special slot",
        unit: "%",
        source: "TS 28.552 5.1.1.2, FlexRIC paper, appendix B: a share is measured as it is configured",
        tolerance: 1.0,
        run: prbs_of_slice,
    },
    Definition {
        name: "kpm-throughput-bursts",
        what: "DRB.UEThpDl of bursts that need one slot of 1 ms and a little of the next: the block of the first over the time until \
               its acknowledgement, a HARQ round trip of 8 slots",
        unit: "Mbit/s",
        source: "TS 28.552 5.1.1.3.1: without the slot in which the buffer is emptied, until the acknowledgement of the piece before",
        tolerance: 0.2,
        run: bursts,
    },
    Definition {
        name: "kpm-throughput-saturated",
        what: "DRB.UEThpDl of a UE whose buffer is never empty: its rate in RLC",
        unit: "Mbit/s",
        source: "TS 28.552 5.1.1.3.1",
        tolerance: 1.0,
        run: saturated,
    },
    Definition {
        name: "kpm-volume",
        what: "DRB.PdcpSduVolumeDL of a flow of 2 Mbit/s over the measured time",
        unit: "Mbit/s",
        source: "TS 28.552 5.1.2.1.1.1",
        tolerance: 0.02,
        run: volume,
    },
    Definition {
        name: "kpm-delay",
        what: "DRB.RlcSduDelayDl of a UE whose RLC buffer of 500 kB is full: the buffer over the rate",
        unit: "ms",
        source: "TS 28.552 5.1.3.3.3, Little (1961)",
        tolerance: 3.0,
        run: delay,
    },
];

/// The value of a measurement of the first node, or of one of its UEs, over `seconds` after the first second.
pub(super) fn value(text: &str, name: &str, of_ue: Option<usize>, seconds: f64) -> anyhow::Result<f64> {
    let mut measured = Measured::new(scenario(text)?)?;
    measured.advance(Time::from_secs_f64(1.0));
    measured.advance(Time::from_secs_f64(1.0 + seconds));
    measured.value(0, name, of_ue).ok_or_else(|| anyhow::anyhow!("{name} has no value"))
}

fn prbs_of_slice(length: Length) -> anyhow::Result<Outcome> {
    let slice = |id: u8, percent: u8| {
        format!("[[cell.slice]]\nid = {id}\ndirection = \"down\"\nsst = {id}\ncapacity_percent = {percent}\n")
    };
    let flow = "[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 200_000_000\npacket_octets = 1400\n";
    let ue = |sst: u8| format!("[[ue]]\nsst = {sst}\nmcs = 20\n{flow}");
    let text = format!("[[cell]]\n{}{}{}{}", slice(1, 70), slice(2, 30), ue(1), ue(2));
    let of = |ue: usize| value(&text, "RRU.PrbUsedDl", Some(ue), length.of(20.0));
    let (first, second) = (of(0)?, of(1)?);
    Ok(Outcome { expected: 70.0, measured: 100.0 * first / (first + second) })
}

const FDD: &str = "[[cell]]\nbandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\n";

fn bursts(length: Length) -> anyhow::Result<Outcome> {
    // a packet is a little larger than the largest block
    let block = Run::new(FDD)?.cell(0).blocks(Direction::Downlink).octets(28, 106, 14);
    let packet_octets = f64::from(block) * 1.01;
    let rate_bps = packet_octets * 8.0 * 20.0;
    let text = format!(
        "{FDD}[[ue]]\nmcs = 28\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = {rate_bps:.0}\npacket_octets = {packet_octets:.0}\n"
    );
    let kbit_per_s = value(&text, "DRB.UEThpDl", Some(0), length.of(20.0))?;
    // one block in the 8 ms until its acknowledgement
    Ok(Outcome { expected: f64::from(block) * 8.0 / 8.0 / 1e3, measured: kbit_per_s / 1e3 })
}

fn saturated(length: Length) -> anyhow::Result<Outcome> {
    let text =
        format!("{FDD}[[ue]]\nmcs = 20\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 200_000_000\npacket_octets = 1400\n");
    let kbit_per_s = value(&text, "DRB.UEThpDl", Some(0), length.of(20.0))?;
    let block = Run::new(FDD)?.cell(0).blocks(Direction::Downlink).octets(20, 106, 14);
    // a packet of 1404 octets has a header of 6, and each block cuts one, whose rest has a header of 8
    let data = (f64::from(block) - 8.0) * 1404.0 / 1410.0;
    Ok(Outcome { expected: data * 8.0 / 1e3, measured: kbit_per_s / 1e3 })
}

fn volume(length: Length) -> anyhow::Result<Outcome> {
    let text =
        format!("{FDD}[[ue]]\nmcs = 20\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 2_000_000\npacket_octets = 1000\n");
    let seconds = length.of(20.0);
    Ok(Outcome { expected: 2.0, measured: value(&text, "DRB.PdcpSduVolumeDL", None, seconds)? / seconds / 1e3 })
}

fn delay(length: Length) -> anyhow::Result<Outcome> {
    let text = format!(
        "{FDD}[cell.rlc]\nbuffer_octets = 500_000\n[[ue]]\nmcs = 20\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 200_000_000\n\
         packet_octets = 1400\n"
    );
    let seconds = length.of(20.0);
    let kbit = value(&text, "DRB.UEThpDl", Some(0), seconds)?;
    // tenths of a millisecond; on average half a packet does not fit
    let measured = value(&text, "DRB.RlcSduDelayDl", None, seconds)? / 10.0;
    Ok(Outcome { expected: (500_000.0 - 700.0) * 8.0 / kbit, measured })
}
