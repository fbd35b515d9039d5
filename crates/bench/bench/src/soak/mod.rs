//! The soak: a long run of a RIC and an emulated RAN while faults are injected.
//!
//! ```text
//! well-behaved nodes ----+                 +--- well-behaved xApp: every report, once, in order
//! faults: broken nodes --+--- ferric ric --+--- faults: broken, slow, greedy xApps
//! ferric ran --- proxy --+
//!                that cuts and corrupts
//! ```
//!
//! All reports of the well-behaved nodes must arrive, none twice; the memory and the descriptors of both processes must not grow;
//! both must run until the end.

mod faults;
mod gauge;
mod proxy;
mod well_behaved_peers;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::Serialize;

use crate::process::{Process, RicProcess};
use faults::Faults;
use gauge::Gauge;
use proxy::Proxy;
use well_behaved_peers::WellBehavedPeers;

pub use gauge::Trend;

/// The parameters of a soak.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// The duration of the faults while memory is measured. Before it, faults are injected as long, at most for two minutes, so
    /// that tables have grown to their size.
    pub span: Duration,
    /// The seed of the faults. Their times also depend on the machine.
    pub seed: u64,
}

/// The result of a soak.
#[derive(Clone, Debug, Serialize)]
pub struct SoakReport {
    /// Minutes of faults.
    pub minutes: f64,
    /// Reports of the well-behaved nodes.
    pub indications: u64,
    /// Reports that did not arrive.
    pub lost: u64,
    /// Reports that arrived twice.
    pub doubled: u64,
    /// Faults, by kind.
    pub faults: Vec<(&'static str, u64)>,
    /// Connections of the emulated RAN that were cut.
    pub cuts: u64,
    /// Reconnections of the emulated RAN.
    pub returns: u64,
    /// The RIC's process.
    pub ric: Trend,
    /// The RAN's process.
    pub ran: Trend,
}

impl SoakReport {
    /// Whether all conditions hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.indications > 0 && self.lost == 0 && self.doubled == 0 && self.ric.holds() && self.ran.holds()
    }
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: u64 = self.faults.iter().map(|(_, count)| count).sum();
        writeln!(f, "soak of {:.1} minutes: {}", self.minutes, if self.holds() { "passed" } else { "FAILED" })?;
        writeln!(
            f,
            "  well-behaved nodes: {} indications, {} lost, {} duplicated",
            self.indications, self.lost, self.doubled
        )?;
        writeln!(f, "  RIC: {}", self.ric)?;
        writeln!(f, "  RAN: {}; {} connections cut, {} reconnections", self.ran, self.cuts, self.returns)?;
        write!(f, "  {faults} faults:")?;
        self.faults.iter().try_for_each(|(name, count)| write!(f, " {name} {count},"))
    }
}

/// The longest time in which tables grow to their size under faults: subscriptions stay suspended for a minute, their ids rest
/// after it, and the heap settles. Memory is measured after it.
const WARM_UP: Duration = Duration::from_secs(120);
/// The shortest one.
const LEAST_WARM_UP: Duration = Duration::from_secs(5);
/// The time after which nothing is left of a fault: request ids are free again, associations have timed out.
const COOL_DOWN: Duration = Duration::from_secs(15);

/// Runs the soak.
///
/// # Errors
/// If a process cannot be started, or has ended by itself.
pub fn soak(ferric: &Path, soak: Soak) -> anyhow::Result<SoakReport> {
    let RicProcess { process: mut ric, e2, xapp, .. } = RicProcess::start(ferric, &[])?;
    let e2 = e2.address;
    let proxy = Proxy::start(&e2, soak.seed)?;
    let options = ["--log", "error", "ran", "--nodes", "2", "--ric", &proxy.address().to_string()];
    let mut ran = Process::start(ferric, &options, 0)?;
    let peers = WellBehavedPeers::start(&e2, &xapp)?;
    let faults = Faults::new(&e2, &xapp, soak.seed);

    let warm_up = warm_up(soak.span);
    let stop = AtomicBool::new(false);
    let (mut of_ric, mut of_ran) = (Gauge::default(), Gauge::default());
    let run = thread::scope(|scope| {
        faults.start(scope, &stop);
        let run = (|| {
            let began = Instant::now();
            while began.elapsed() < warm_up + soak.span {
                thread::sleep(Duration::from_secs(1));
                if !ric.is_alive()? || !ran.is_alive()? {
                    bail!("a process ended by itself after {:?}", began.elapsed());
                }
                peers.check()?;
                if began.elapsed() > warm_up {
                    of_ric.sample(&ric)?;
                    of_ran.sample(&ran)?;
                }
            }
            Ok(())
        })();
        stop.store(true, Ordering::Release);
        run
    });
    run?;
    let (cuts, returns) = proxy.end();
    thread::sleep(COOL_DOWN.min(soak.span));
    of_ric.end(&ric)?;
    of_ran.end(&ran)?;
    let (sent, received, doubled) = peers.end()?;
    Ok(SoakReport {
        minutes: soak.span.as_secs_f64() / 60.0,
        indications: sent,
        lost: sent.saturating_sub(received),
        doubled,
        faults: faults.counts(),
        cuts,
        returns,
        ric: of_ric.trend(),
        ran: of_ran.trend(),
    })
}

/// The warm-up of a soak: as long as the soak itself, within bounds. A short one says less about memory.
fn warm_up(span: Duration) -> Duration {
    span.clamp(LEAST_WARM_UP, WARM_UP)
}

/// Pseudo-random numbers (xorshift64*), reproducible from the seed.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`, which is above 0.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn octets(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 32) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_tables_to_their_size_is_not_measured() {
        // most of the growth of a run with seed 1 was in its first two minutes
        assert_eq!(warm_up(Duration::from_secs(180)), Duration::from_secs(120));
        assert_eq!(warm_up(Duration::from_secs(30)), Duration::from_secs(30));
        assert_eq!(warm_up(Duration::from_secs(1)), Duration::from_secs(5));
        let rss_kib = |second: u64| 9000 + 40 * second.min(120);
        let of = |from: u64| gauge::trend_of((from..from + 180).map(rss_kib));
        assert!(!of(5).holds(), "a warm-up of 5 s counts the growth");
        assert!(of(warm_up(Duration::from_secs(180)).as_secs()).holds());
    }
}
