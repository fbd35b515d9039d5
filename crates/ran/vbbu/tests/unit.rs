//! A unit on this host: its work, its deadlines, and what misses cost.

use std::time::Duration;

use vbbu::{Channel, Config, Counts, Role, Split, Unit};

/// A unit whose only NACKs are those of missed subframes, and that a slow test machine can process.
fn config() -> Config {
    Config { channel: Channel::Mcs(20), full_load_us: 100.0, reads_per_subframe: 4, ..Config::default() }
}

/// Steps until so many deadlines have been checked since the warm-up.
fn run_until(unit: &mut Unit, subframes: u64) -> Counts {
    while unit.counts().subframes < subframes {
        unit.step().unwrap();
    }
    unit.counts()
}

#[test]
fn unit_runs_with_the_threads_of_the_paper() {
    let mut unit = Unit::start(config()).unwrap();
    let counts = run_until(&mut unit, 2000);
    let status = unit.status();
    let mut roles: Vec<Role> = status.threads.iter().map(|thread| thread.role).collect();
    roles.sort_unstable();
    assert_eq!(roles, Role::ALL);
    for thread in &status.threads {
        let comm = std::fs::read_to_string(format!("/proc/self/task/{}/comm", thread.tid)).unwrap();
        assert_eq!(comm.trim(), thread.role.name());
        let is_real_time = thread.role.fifo_priority().is_some();
        assert!(!thread.is_fifo || is_real_time, "{thread:?}");
        assert!(!thread.cpus().is_empty(), "{thread:?}");
    }
    assert_eq!(counts.subframes, 2000);
    assert!(counts.transmissions > 0 && counts.core_received > 0 && counts.s1_answers > 0, "{counts:?}");
    assert!(counts.misses < 2000 && counts.nacks == counts.nacks_of_misses, "{counts:?}");
    let calibration = unit.calibration();
    assert!(calibration.fft_ns > 100.0 && calibration.decoder_ns > 100.0, "{calibration:?}");
    drop(unit);
    for thread in status.threads {
        assert!(!std::path::Path::new(&format!("/proc/self/task/{}", thread.tid)).exists(), "{thread:?}");
    }
}

#[test]
fn missed_subframes_cost_throughput() {
    // both cells are saturated: what a retransmission takes is missing elsewhere
    let saturated = Config { downlink_mbps: 40.0, uplink_mbps: 0.0, ..config() };
    let mut unit = Unit::start(saturated).unwrap();
    let before = run_until(&mut unit, 1000);
    // half of the time
    for turn in 0..25 {
        unit.hold_real_time(Duration::from_millis(20));
        run_until(&mut unit, 1000 + 40 * (turn + 1));
    }
    let during = unit.counts().since(before);
    assert!(during.misses >= before.misses + 300, "{before:?} {during:?}");
    assert!(during.nacks_of_misses >= during.misses / 2, "{during:?}");
    assert!(during.given_up > 0, "{during:?}");
    assert!(during.dl_mbps() < 0.8 * before.dl_mbps(), "{} {}", during.dl_mbps(), before.dl_mbps());
}

#[test]
fn samples_and_packets_cross_the_splits() {
    for split in [Split::Samples, Split::F1] {
        let mut unit = Unit::start(Config { split, ..config() }).unwrap();
        let counts = run_until(&mut unit, 500);
        assert!(counts.dl_octets > 0 && counts.core_received > 0, "{split:?} {counts:?}");
        assert!(counts.misses < 500, "{split:?} {counts:?}");
    }
}

#[test]
fn values_out_of_range_are_refused() {
    for (config, field) in [
        (Config { ues: 0, ..config() }, "ues"),
        (Config { downlink_mbps: f64::NAN, ..config() }, "downlink_mbps"),
        (Config { full_load_us: 0.0, ..config() }, "full_load_us"),
        (Config { reads_per_subframe: 17, ..config() }, "reads_per_subframe"),
        (Config { unit: 64, ..config() }, "unit"),
        (Config { channel: Channel::Mcs(29), ..config() }, "channel: MCS"),
        (Config { bandwidth_mhz: 7.0, ..config() }, "the emulated cell"),
    ] {
        let error = Unit::start(config).map(drop).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}
