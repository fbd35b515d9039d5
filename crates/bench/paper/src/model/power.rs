//! Power consumption and sleep of cells.

use super::measurements::value;
use super::run::{Length, Run};
use super::{Definition, Outcome};

/// Relative powers of category 1 (TR 38.864 table 5.1-3): deep sleep, and micro sleep, downlink and uplink of sets 1 and 2.
const DEEP: f64 = 1.0;
const SET_1: [f64; 3] = [55.0, 280.0, 110.0];
const SET_2: [f64; 3] = [50.0, 200.0, 90.0];
/// The load-independent part of the dynamic downlink power.
const INDEPENDENT: f64 = 0.4;

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "power-full-load",
        what: "PEE.AvgPower of a saturated FDD cell of 800 W at full load: all symbols and resource blocks in use",
        unit: "W",
        source: "TR 38.864 5.1 and table 5.1-3, active DL",
        tolerance: 1.0,
        run: |length| Ok(Outcome { expected: 800.0, measured: saturated_w(FDD, length)? }),
    },
    Definition {
        name: "power-tdd",
        what: "the same of a TDD cell of 280 W, DDDDDDDSUU: 7 slots and 6 symbols of 10 slots transmit, the others are in micro sleep",
        unit: "W",
        source: "TR 38.864 5.1: the power of a slot is that of its symbols",
        tolerance: 0.5,
        run: |length| {
            let [micro, downlink, _] = SET_1;
            let expected = micro + (downlink - micro) * (7.0 * 14.0 + 6.0) / 140.0;
            Ok(Outcome { expected, measured: saturated_w(TDD, length)? })
        },
    },
    Definition {
        name: "power-uplink",
        what: "mean power of an FDD cell of 200 W that only receives, in all symbols, but for those of its own signals",
        unit: "W",
        source: "TR 38.864 5.1 and table 5.1-3, active UL",
        tolerance: 1.0,
        run: uplink,
    },
    Definition {
        name: "power-idle",
        what: "PEE.AvgPower of a cell of 280 W without UEs: micro sleep, but for 84 symbols of 20 ms with SS/PBCH blocks, SIB1 and \
               signals for tracking",
        unit: "W",
        source: "TR 38.864 5.1 and table 5.1-3; TS 38.213 4.1, TS 38.214 5.1.6.1.1",
        tolerance: 0.1,
        run: |length| {
            let [micro, downlink, _] = SET_1;
            // of 560 symbols, of 106 PRBs: 8 SS/PBCH blocks with 960 + 1728 resource elements, 12 of each PRB for tracking
            let (symbols, elements) = (84.0, 8.0 * 2688.0 + 12.0 * 106.0);
            let used = elements / (symbols * 12.0 * 106.0);
            let of_symbol = (downlink - micro) * (INDEPENDENT + (1.0 - INDEPENDENT) * used);
            let expected = micro + symbols / 560.0 * of_symbol;
            Ok(Outcome { expected, measured: value(TDD, "PEE.AvgPower", None, length.of(10.0))? })
        },
    },
    Definition {
        name: "power-muted",
        what: "mean power of the saturated FDD cell of 200 W with 8 of 32 transceivers",
        unit: "W",
        source: "TR 38.864 5.1: the dynamic part is proportional to the active transceivers",
        tolerance: 0.5,
        run: |length| {
            let [micro, downlink, _] = SET_2;
            let mut run = Run::new(&format!("{FDD_200}{UE}"))?;
            run.mute(8);
            run.advance(1.0);
            Ok(Outcome { expected: micro + (downlink - micro) / 4.0, measured: run.mean_w(length.of(5.0)) })
        },
    },
    Definition {
        name: "power-muted-sinr",
        what: "fall of the SINR of data with a quarter of the transceivers: a quarter of the power and of the array gain",
        unit: "dB",
        source: "array gain of N transmitters: 10 log10(N), beside their power",
        tolerance: 0.01,
        run: |_| {
            let mut run = Run::new(&format!("{FDD_200}[[ue]]\nsinr_db = 30\n"))?;
            run.advance(0.1);
            let before_db = run.ue(0)?.downlink().sinr_db();
            run.mute(8);
            run.advance(0.1);
            Ok(Outcome { expected: 12.041, measured: before_db - run.ue(0)?.downlink().sinr_db() })
        },
    },
    Definition {
        name: "power-deep-sleep",
        what: "PEE.AvgPower of a cell of 280 W that saves energy",
        unit: "W",
        source: "TR 38.864 table 5.1-3, deep sleep",
        tolerance: 0.001,
        run: |length| {
            let text = format!("{TDD}[[at]]\ntime_s = 0.1\ndo = \"sleep\"\ncell = 0\n");
            Ok(Outcome { expected: DEEP, measured: value(&text, "PEE.AvgPower", None, length.of(10.0))? })
        },
    },
    Definition {
        name: "power-transition-energy",
        what: "energy of falling into deep sleep and waking up, beyond that of sleep, for a unit of 1 W",
        unit: "W ms",
        source: "TR 38.864 table 5.1-5, category 1",
        tolerance: 1.0,
        run: transition_energy,
    },
    Definition {
        name: "power-wake-time",
        what: "time from the end of energy saving until the cell transmits, category 2: half of the total transition time",
        unit: "ms",
        source: "TR 38.864 table 5.1-4: 10 s for both transitions",
        tolerance: 5.0,
        run: wake_time,
    },
];

/// Cells with a relative power of 1 of 1 W, and the same with four times as much.
const TDD: &str = "[[cell]]\n[cell.power]\nfull_load_w = 280\n";
const FDD_200: &str = "[[cell]]\nbandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\nuplink_control_prbs = 0\n[cell.power]\nfull_load_w = 200\n";
const FDD: &str = "[[cell]]\nbandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\n[cell.power]\nfull_load_w = 800\n";
const UE: &str = "[[ue]]\nmcs = 20\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 400_000_000\npacket_octets = 1400\n";

/// The mean power of a saturated cell.
fn saturated_w(cell: &str, length: Length) -> anyhow::Result<f64> {
    value(&format!("{cell}{UE}"), "PEE.AvgPower", None, length.of(10.0))
}

fn uplink(length: Length) -> anyhow::Result<Outcome> {
    let [micro, downlink, uplink] = SET_2;
    let mut run = Run::new(&format!("{FDD_200}{UE}direction = \"up\"\n"))?;
    run.advance(1.0);
    let measured = run.mean_w(length.of(5.0));
    // of the 280 symbols of 20 ms, at 3.6 GHz: as in a TDD cell
    let (symbols, elements) = (84.0, 8.0 * 2688.0 + 12.0 * 106.0);
    let used = elements / (symbols * 12.0 * 106.0);
    let sent = symbols / 280.0;
    let transmission = (downlink - micro) * (INDEPENDENT + (1.0 - INDEPENDENT) * used);
    Ok(Outcome { expected: micro + sent * transmission + (1.0 - sent) * (uplink - micro), measured })
}

fn transition_energy(length: Length) -> anyhow::Result<Outcome> {
    let mut run = Run::new(TDD)?;
    run.advance(1.0);
    run.save_energy(true);
    let before_j = run.cell(0).energy_j();
    let seconds = length.of(5.0);
    run.advance(seconds);
    run.save_energy(false);
    // 25 ms until it is on
    run.advance(0.025);
    let spent_ws = run.cell(0).energy_j() - before_j;
    Ok(Outcome { expected: 1000.0, measured: (spent_ws - DEEP * (seconds + 0.025)) * 1e3 })
}

fn wake_time(_: Length) -> anyhow::Result<Outcome> {
    let mut run = Run::new("[[cell]]\n[cell.power]\ncategory = 2\n")?;
    run.save_energy(true);
    run.advance(6.0);
    run.save_energy(false);
    let from = run.cell(0).now();
    while !run.cell(0).is_on_air() && run.cell(0).now().since(from).as_secs_f64() < 20.0 {
        run.advance(0.001);
    }
    Ok(Outcome { expected: 5000.0, measured: run.cell(0).now().since(from).as_secs_f64() * 1e3 })
}
