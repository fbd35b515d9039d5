//! An xApp that trades a slice against cores: while the host of a base station runs hot, it lowers the share of a best-effort slice, and
//! gives it back when the host is cool again.
//!
//! `cargo run -p ferric-examples --bin cpu_slices -- tcp://127.0.0.1:36423 gnb-00101-e00`, with `ferric ric`, `ferric ran` and
//! `ferric cpu agent --node gnb-00101-e00-du-4095` running; or `… enb-00101-e00`, with `ferric ric` and
//! `ferric vbbu --e2 tcp://127.0.0.1:36421 --cpu`; docs/cpu-loop.md has all of it
//!
//! A third argument `misses` judges by missed deadlines alone: on a virtual machine whose timers are late, waits are long at all times.
//!
//! The host reports how long the base station's threads wait for a CPU and how many deadlines they miss (the CPU model of ferric). It may
//! be the base station itself that reports, or an agent beside it, whose node is a part of the same base station.

use std::time::Duration;

use ferric::xapp::{CpuReport, Error, Ric, SliceShare};

/// The slice whose share is lowered, that of all others, and their shares while the host is cool, in percent.
const BEST_EFFORT: (u32, f32) = (1, 60.0);
const OTHERS: (u32, f32) = (0, 40.0);
/// The share of best effort is never below this.
const LEAST_PERCENT: f32 = 10.0;
/// A period is hot if more than this share of its waits is late (16 us and more), or more of its subframes miss their deadline; cool if
/// fewer than the other share is late, and no more subframes miss it.
const HOT_PERCENT: f64 = 10.0;
const COOL_PERCENT: f64 = 5.0;
const MISSED_PERCENT: f64 = 1.0;
/// So many hot periods in a row lower the share to a half, so many cool ones give back a step.
const HOT_PERIODS: u32 = 2;
const COOL_PERIODS: u32 = 4;
const STEP_PERCENT: f32 = 20.0;
/// The time for an effect to show.
const WITHIN: Duration = Duration::from_secs(10);

/// The hysteresis: what is between hot and cool, and what does not last, changes nothing.
#[derive(Debug)]
pub struct Hysteresis {
    share: f32,
    hot: u32,
    cool: u32,
}

impl Default for Hysteresis {
    fn default() -> Self {
        Hysteresis { share: BEST_EFFORT.1, hot: 0, cool: 0 }
    }
}

impl Hysteresis {
    /// Takes a period's shares of late waits and of missed deadlines. Returns the share of best effort, if it changes.
    pub fn observe(&mut self, late_percent: f64, missed_percent: f64) -> Option<f32> {
        let is_hot = late_percent > HOT_PERCENT || missed_percent > MISSED_PERCENT;
        let is_cool = late_percent < COOL_PERCENT && !is_hot;
        self.hot = if is_hot { self.hot + 1 } else { 0 };
        self.cool = if is_cool { self.cool + 1 } else { 0 };
        let before = self.share;
        if self.hot >= HOT_PERIODS {
            (self.hot, self.share) = (0, (self.share / 2.0).max(LEAST_PERCENT));
        } else if self.cool >= COOL_PERIODS {
            (self.cool, self.share) = (0, (self.share + STEP_PERCENT).min(BEST_EFFORT.1));
        }
        (self.share != before).then_some(self.share)
    }
}

/// Both slices; what best effort loses the others get.
fn slices(best_effort_percent: f32) -> [SliceShare; 2] {
    let slice = |id, label: &str, percent| SliceShare { label: label.to_owned(), ..SliceShare::new(id, percent) };
    let rest = BEST_EFFORT.1 + OTHERS.1 - best_effort_percent;
    [slice(BEST_EFFORT.0, "best effort", best_effort_percent), slice(OTHERS.0, "others", rest)]
}

/// Whether a report is of the base station itself, or of a part of it.
fn is_of(report: &CpuReport, station: &str) -> bool {
    report.node.strip_prefix(station).is_some_and(|part| part.is_empty() || part.starts_with('-'))
}

/// What makes a period hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Late waits, and missed deadlines.
    WaitsAndMisses,
    /// Missed deadlines alone.
    Misses,
}

/// Passes a line for each step to `print`, until it returns `false`.
///
/// # Errors
/// If the session with the RIC ends, or the base station refuses the slices.
pub fn run(
    ric: &str,
    station: &str,
    period_ms: u32,
    judged: Judged,
    mut print: impl FnMut(String) -> bool,
) -> Result<(), Error> {
    let ric = Ric::options().address(ric).name("cpu-slices").connect()?.verified(WITHIN);
    let mut hysteresis = Hysteresis::default();
    ric.node(station)?.slices().set(slices(hysteresis.share))?;
    let mut wanted = print(format!("{station}: best effort has {} %", hysteresis.share));
    let reports = loop {
        match ric.cpu().every(period_ms) {
            // the agent of the host comes later
            Err(Error::NotOffered { .. }) if wanted => std::thread::sleep(Duration::from_millis(500)),
            reports => break reports?,
        }
    };
    for report in reports {
        let report = report?;
        if !wanted {
            break;
        }
        if !is_of(&report, station) {
            continue;
        }
        let (late, missed) = (report.late_percent(), report.deadline_miss_percent());
        let counted = if judged == Judged::Misses { 0.0 } else { late };
        let Some(share) = hysteresis.observe(counted, missed) else { continue };
        ric.node(station)?.slices().set(slices(share))?;
        wanted = print(format!("{}: {late:.1} % late, {missed:.1} % missed: best effort has {share} %", report.node));
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let ric = arguments.next().unwrap_or("tcp://127.0.0.1:36423".into());
    let station = arguments.next().unwrap_or("gnb-00101-e00".into());
    let judged = if arguments.next().as_deref() == Some("misses") { Judged::Misses } else { Judged::WaitsAndMisses };
    run(&ric, &station, 500, judged, |line| {
        println!("{line}");
        true
    })
}
