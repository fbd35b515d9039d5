//! Path loss, shadowing, noise, interference and uplink power.

use super::run::{Length, Run};
use super::{Definition, Outcome};
use crate::statistics::{deviation, mean};

pub(super) const CHECKS: &[Definition] = &[
    Definition {
        name: "path-loss-50m",
        what: "median RSRP at 50 m: 46 dBm over 106 PRBs, 8 dB of antenna gain, UMa without line of sight, 25 m and 1.5 m, 3.6 GHz",
        unit: "dBm",
        source: "TR 38.901 table 7.4.1-1",
        tolerance: 0.6,
        run: |_| rsrp(50.0),
    },
    Definition {
        name: "path-loss-200m",
        what: "the same at 200 m",
        unit: "dBm",
        source: "TR 38.901 table 7.4.1-1",
        tolerance: 0.6,
        run: |_| rsrp(200.0),
    },
    Definition {
        name: "path-loss-450m",
        what: "the same at 450 m",
        unit: "dBm",
        source: "TR 38.901 table 7.4.1-1",
        tolerance: 0.6,
        run: |_| rsrp(450.0),
    },
    Definition {
        name: "shadowing",
        what: "standard deviation of the shadowing, UMa without line of sight",
        unit: "dB",
        source: "TR 38.901 table 7.4.1-1",
        tolerance: 0.4,
        run: |_| Ok(Outcome { expected: 6.0, measured: deviation(&rsrps_dbm(200.0)?) }),
    },
    Definition {
        name: "thermal-noise",
        what: "noise per subcarrier of 30 kHz in a cell without neighbours, RSRP minus SINR: noise figure of 7 dB and the site's noise rise",
        unit: "dBm",
        source: "thermal noise at 290 K, kT: -174 dBm/Hz",
        tolerance: 0.3,
        run: noise,
    },
    Definition {
        name: "interference-full",
        what: "fall of the SINR at the cell edge while the neighbour uses all PRBs, compared with an idle neighbour",
        unit: "dB",
        source: "(N + I) / N with the received powers of both cells",
        tolerance: 0.7,
        run: |length| interference(length, 2, &[0, 1], ""),
    },
    Definition {
        name: "interference-locked",
        what: "the same while that neighbour is locked: none, but for the signals that an idle cell always sends",
        unit: "dB",
        source: "TS 28.541 4.3.5, ITU-T X.731: a locked cell serves no UE",
        tolerance: 0.7,
        run: |length| {
            let outcome = interference(length, 2, &[0, 1], "[[at]]\ntime_s = 0\ndo = \"lock\"\ncell = 1\n")?;
            Ok(Outcome { expected: 0.0, ..outcome })
        },
    },
    Definition {
        name: "interference-8-cells",
        what: "the same among eight busy cells in a row, compared with eight idle ones",
        unit: "dB",
        source: "(N + I) / N with the received powers of all cells",
        tolerance: 0.7,
        run: |length| interference(length, 8, &[0, 1, 2, 3, 4, 5, 6, 7], ""),
    },
    Definition {
        name: "interference-uplink",
        what: "fall of the uplink SINR while a UE at the edge of the neighbour cell transmits with all of its power all the time",
        unit: "dB",
        source: "(N + I) / N with the path gain from that UE, 23 dBm and a noise figure of 5 dB (TR 36.942 5)",
        tolerance: 0.5,
        run: uplink_interference,
    },
    Definition {
        name: "uplink-power",
        what: "fall of the SINR, by the bits per resource element, when the grants of a power-limited UE grow from few PRBs to many",
        unit: "dB",
        source: "TS 38.213 7.1.1: the power is that of all PRBs together, 10 log10(M)",
        tolerance: 1.0,
        run: uplink_power,
    },
];

/// The seeds and places over which shadowing is averaged.
const SEEDS: u32 = 200;
const PLACES: u32 = 8;

/// The received powers on a circle around the site.
fn rsrps_dbm(distance_m: f64) -> anyhow::Result<Vec<f64>> {
    let mut all = Vec::new();
    for seed in 1..=SEEDS {
        let mut text = format!("seed = {seed}\n[[cell]]\n");
        for place in 0..PLACES {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(place) / f64::from(PLACES)).sin_cos();
            text += &format!("[[ue]]\nx_m = {:.3}\ny_m = {:.3}\n", distance_m * sin, distance_m * cos);
        }
        let mut run = Run::new(&text)?;
        run.advance(0.02);
        for ue in 0..PLACES {
            all.push(run.ue(ue.into())?.channel().rsrp_dbm());
        }
    }
    Ok(all)
}

fn rsrp(distance_m: f64) -> anyhow::Result<Outcome> {
    let transmitted_dbm = 46.0 + 8.0 - 10.0 * (12.0 * 106.0_f64).log10();
    let line_m = distance_m.hypot(25.0 - 1.5);
    let loss_db = 13.54 + 39.08 * line_m.log10() + 20.0 * 3.6_f64.log10();
    Ok(Outcome { expected: transmitted_dbm - loss_db, measured: mean(&rsrps_dbm(distance_m)?) })
}

/// The mean SINR in dB that each UE has reported.
fn reported_db(run: &Run, ue: u64) -> anyhow::Result<f64> {
    let counts = run.counts(ue)?.dl;
    Ok(counts.sinr_db / counts.reports as f64)
}

/// Fading of four branches lowers the mean of the SINR in dB: 10 / ln 10 times digamma(4) - ln 4.
const FADING_DB: f64 = -0.565;

fn noise(length: Length) -> anyhow::Result<Outcome> {
    const UES: u64 = 40;
    let mut run = Run::new(&format!("[[cell]]\n[[ue]]\ncount = {UES}\nx_m = 200\ny_m = 0\n"))?;
    run.advance(length.of(20.0));
    let of = |ue| Ok(run.ue(ue)?.channel().rsrp_dbm() - reported_db(&run, ue)? + FADING_DB);
    let noise_dbm = (0..UES).map(of).collect::<anyhow::Result<Vec<f64>>>()?;
    let site = run.ue(0)?.channel().geometry().map(|geometry| geometry.sites()[geometry.serving()].clone());
    let rise_db = site.map_or(f64::NAN, |site| site.noise_rise_db);
    Ok(Outcome { expected: -174.0 + 10.0 * 30e3_f64.log10() + 7.0 + rise_db, measured: mean(&noise_dbm) })
}

/// The fall of the mean SINR of UEs at the edge of cell 0 when `busy` cells are saturated.
fn interference(length: Length, cells: usize, busy: &[usize], more: &str) -> anyhow::Result<Outcome> {
    const UES: u64 = 20;
    let run = |busy: &[usize]| {
        let mut text = format!("[[cell]]\ncount = {cells}\napart_m = 500\n[[ue]]\ncount = {UES}\nx_m = 240\ny_m = 0\n");
        for cell in busy.iter().filter(|cell| **cell > 0) {
            text += &format!(
                "[[ue]]\ncell = {cell}\nmcs = 10\n[[ue.flow]]\nkind = \"cbr\"\nrate_bps = 200_000_000\npacket_octets = 9000\n"
            );
        }
        text += more;
        let mut run = Run::new(&text)?;
        run.advance(length.of(10.0));
        anyhow::Ok(run)
    };
    let (idle, full) = (run(&[])?, run(busy)?);
    let milliwatts = |dbm: f64| 10_f64.powf(dbm / 10.0);
    let (mut expected, mut measured) = (Vec::new(), Vec::new());
    for ue in 0..UES {
        let there = full.ue(ue)?;
        let Some(geometry) = there.channel().geometry() else { anyhow::bail!("UE {ue} has no position") };
        anyhow::ensure!(geometry.sites().len() == cells, "a UE receives {} of {cells} cells", geometry.sites().len());
        // what disturbs the UE while all neighbours are idle
        let quiet_mw = milliwatts(geometry.rsrp_dbm(geometry.serving()) - reported_db(&idle, ue)? + FADING_DB);
        let others = (0..geometry.sites().len()).filter(|site| *site != geometry.serving());
        let interference_mw: f64 = others.map(|site| milliwatts(geometry.rsrp_dbm(site))).sum();
        expected.push(10.0 * (1.0 + interference_mw / quiet_mw).log10());
        measured.push(reported_db(&idle, ue)? - reported_db(&full, ue)?);
    }
    Ok(Outcome { expected: mean(&expected), measured: mean(&measured) })
}

/// The fall of the mean uplink SINR of UEs of cell 0 when a UE of cell 1 has data in every uplink slot.
fn uplink_interference(length: Length) -> anyhow::Result<Outcome> {
    const UES: u64 = 20;
    const POWER_DBM: f64 = 23.0;
    const NOISE_FIGURE_DB: f64 = 5.0;
    let run = |flow: &str| {
        let text = format!(
            "[[cell]]\ncount = 2\napart_m = 500\nfading = \"none\"\n[[ue]]\ncell = 1\nx_m = 270\ny_m = 0\n{flow}[[ue]]\ncount = {UES}\n\
             x_m = 150\ny_m = 0\n"
        );
        let mut run = Run::new(&text)?;
        run.advance(1.0);
        let mut sinr_db = vec![0.0; UES as usize];
        let steps = length.of(500.0) as u32;
        for _ in 0..steps {
            run.advance(0.01);
            for (ue, sum) in (1..).zip(&mut sinr_db) {
                *sum += run.ue(ue)?.uplink().sinr_db() / f64::from(steps);
            }
        }
        anyhow::Ok((run, sinr_db))
    };
    let (idle, quiet_db) = run("")?;
    let (_, busy_db) =
        run("[[ue.flow]]\nkind = \"cbr\"\ndirection = \"up\"\nrate_bps = 200_000_000\npacket_octets = 9000\n")?;
    let Some(geometry) = idle.ue(0)?.channel().geometry() else { anyhow::bail!("the UE has no position") };
    let disturbed = &geometry.sites()[0];
    let gain_db = geometry.rsrp_dbm(0) - (disturbed.power_dbm - 10.0 * (12.0 * f64::from(disturbed.prbs)).log10());
    // spread over the resource elements of the carrier
    let interference_dbm = POWER_DBM - 10.0 * (12.0 * f64::from(disturbed.prbs)).log10() + gain_db;
    let noise_dbm = -174.0 + 10.0 * f64::from(idle.cell(0).grid().subcarrier_hz()).log10() + NOISE_FIGURE_DB;
    let expected = 10.0 * (1.0 + 10_f64.powf((interference_dbm - noise_dbm) / 10.0)).log10();
    Ok(Outcome { expected, measured: mean(&quiet_db) - mean(&busy_db) })
}

/// The SINR in dB that carries `bits` per resource element: Shannon's bound and a gap that grows by 0.2 dB a bit.
fn needed_db(bits: f64) -> f64 {
    10.0 * (bits.exp2() - 1.0).log10() + 0.2 * bits
}

fn uplink_power(length: Length) -> anyhow::Result<Outcome> {
    // the power suffices for one or two PRBs there
    let run = |seed: u32, rate_bps: u64| {
        let text = format!(
            "seed = {seed}\n[[cell]]\nbandwidth_mhz = 20\nscs_khz = 15\nduplex = \"fdd\"\n[[ue]]\nx_m = 480\ny_m = 0\n[[ue.flow]]\n\
             kind = \"cbr\"\ndirection = \"up\"\nrate_bps = {rate_bps}\npacket_octets = 200\n"
        );
        let mut run = Run::new(&text)?;
        run.advance(1.0);
        let (mut prbs, mut bits) = (Vec::new(), Vec::new());
        for _ in 0..(length.of(50.0) / 0.01) as u32 {
            run.advance(0.01);
            let link = run.counts(0)?.ul;
            let of_block = f64::from(link.last_prbs);
            if of_block > 0.0 {
                prbs.push(of_block);
                // 12 symbols of 12 subcarriers for data
                bits.push(f64::from(link.last_octets) * 8.0 / (of_block * 144.0));
            }
        }
        anyhow::Ok((mean(&prbs), needed_db(mean(&bits))))
    };
    let (mut expected, mut measured) = (Vec::new(), Vec::new());
    for seed in 1..=5 {
        let ((few, narrow_db), (many, wide_db)) = (run(seed, 100_000)?, run(seed, 20_000_000)?);
        expected.push(10.0 * (many / few).log10());
        measured.push(narrow_db - wide_db);
    }
    Ok(Outcome { expected: mean(&expected), measured: mean(&measured) })
}
