//! What disturbs a measurement in real time: stalls of the host, and other programs.

use std::fs;
use std::time::Instant;

use cpu::latency::Latency;

use super::Unit;

/// Other programs may use so much of a CPU, and the host may stall for so much of the time.
const MOST_BUSY_PERCENT: f64 = 30.0;
const MOST_STALLED_PERCENT: f64 = 5.0;
/// `USER_HZ`: the unit of times in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// Counts from its start.
pub struct Disturbance {
    begun: Instant,
    others: f64,
    stalls: Latency,
}

impl Disturbance {
    pub fn start(unit: &Unit) -> Disturbance {
        let selection = cpu::Selection { names: vec![], pids: vec![unit.pid().parse().unwrap()] };
        let stalls = Latency::start(selection, None).unwrap().0;
        Disturbance { begun: Instant::now(), others: others(unit), stalls }
    }

    /// What has disturbed the host since the start; `None` if it was quiet.
    pub fn reason(&mut self, unit: &Unit) -> Option<String> {
        let elapsed = self.begun.elapsed().as_secs_f64();
        let busy = 100.0 * (others(unit) - self.others) / TICKS_PER_SECOND / elapsed;
        let stalled = self.stalls.report().unwrap().stalls.total_us / 1e4 / elapsed;
        let is_quiet = busy <= MOST_BUSY_PERCENT && stalled <= MOST_STALLED_PERCENT;
        (!is_quiet).then(|| {
            format!("other programs used {busy:.0} % of a CPU, and the host stalled for {stalled:.0} % of the time")
        })
    }
}

/// The time that tasks have run which are neither the base station's nor this test's, in ticks. Interrupts are nobody's.
fn others(unit: &Unit) -> f64 {
    let ticks = |words: Vec<String>| words.iter().map(|word| word.parse::<f64>().unwrap()).sum::<f64>();
    let stat = fs::read_to_string("/proc/stat").unwrap();
    // user, nice, system
    let all = stat.split_ascii_whitespace().skip(1).take(3).map(str::to_owned).collect();
    // utime, stime, and those of children that have ended: fields 14 to 17, of which the second may contain spaces
    let of_process = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let rest = &stat[stat.rfind(')').unwrap() + 1..];
        ticks(rest.split_ascii_whitespace().skip(11).take(4).map(str::to_owned).collect())
    };
    ticks(all) - of_process("self") - of_process(&unit.pid())
}
