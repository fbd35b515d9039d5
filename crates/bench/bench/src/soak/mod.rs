//! The soak: a RIC and an emulated RAN that run for long while everything that can go wrong around them does.
//!
//! ```text
//! witness nodes ---------+                 +--- witness xApp: every report, once, in order
//! faults: broken nodes --+--- ferric ric --+--- faults: broken, slow, greedy xApps
//! ferric ran --- proxy --+
//!                that cuts and corrupts
//! ```
//!
//! What must hold: the witnesses' reports all arrive, none twice; the memory and the descriptors of both processes do not
//! grow; both are alive at the end.

mod faults;
mod gauge;
mod proxy;
mod witness;

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
use witness::Witness;

pub use gauge::Trend;

/// How long, and from which seed faults are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// How long faults go on.
    pub span: Duration,
    /// Draws the faults. Their times depend on the machine, too.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct SoakReport {
    /// Minutes of faults.
    pub minutes: f64,
    /// Reports of the witnesses.
    pub indications: u64,
    /// Those that did not arrive.
    pub lost: u64,
    /// Those that arrived again.
    pub doubled: u64,
    /// Faults, by kind.
    pub faults: Vec<(&'static str, u64)>,
    /// Times that the emulated RAN was cut off.
    pub cuts: u64,
    /// Times that it was taken again.
    pub returns: u64,
    /// The RIC's process.
    pub ric: Trend,
    /// The RAN's process.
    pub ran: Trend,
}

impl SoakReport {
    /// Whether everything held.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.indications > 0 && self.lost == 0 && self.doubled == 0 && self.ric.holds() && self.ran.holds()
    }
}

impl fmt::Display for SoakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: u64 = self.faults.iter().map(|(_, count)| count).sum();
        writeln!(f, "soak of {:.1} minutes: {}", self.minutes, if self.holds() { "all holds" } else { "FAILED" })?;
        writeln!(f, "  witnesses: {} indications, {} lost, {} doubled", self.indications, self.lost, self.doubled)?;
        writeln!(f, "  RIC: {}", self.ric)?;
        writeln!(f, "  RAN: {}; cut off {} times, {} times back", self.ran, self.cuts, self.returns)?;
        write!(f, "  {faults} faults:")?;
        self.faults.iter().try_for_each(|(name, count)| write!(f, " {name} {count},"))
    }
}

/// What grows in the first seconds is no leak.
const WARM_UP: Duration = Duration::from_secs(5);
/// Request ids rest, associations time out: all that a fault leaves behind is gone after this.
const COOL_DOWN: Duration = Duration::from_secs(15);

/// Runs the soak.
///
/// # Errors
/// Where a process cannot be started, or has ended by itself.
pub fn soak(ferric: &Path, soak: Soak) -> anyhow::Result<SoakReport> {
    let RicProcess { process: mut ric, e2, xapp } = RicProcess::start(ferric, &[])?;
    let e2 = e2.address;
    let proxy = Proxy::start(&e2, soak.seed)?;
    let options = ["--log", "error", "ran", "--nodes", "2", "--ric", &proxy.address().to_string()];
    let mut ran = Process::start(ferric, &options, 0)?;
    let witness = Witness::start(&e2, &xapp)?;
    let faults = Faults::new(&e2, &xapp, soak.seed);

    let stop = AtomicBool::new(false);
    let (mut of_ric, mut of_ran) = (Gauge::default(), Gauge::default());
    let run = thread::scope(|scope| {
        faults.start(scope, &stop);
        let run = (|| {
            let began = Instant::now();
            while began.elapsed() < WARM_UP + soak.span {
                thread::sleep(Duration::from_secs(1));
                if !ric.is_alive()? || !ran.is_alive()? {
                    bail!("a process has ended by itself after {:?}", began.elapsed());
                }
                witness.check()?;
                if began.elapsed() > WARM_UP {
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
    let (sent, received, doubled) = witness.end()?;
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

/// Numbers that look like chance, the same for the same seed.
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
