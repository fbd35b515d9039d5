//! Who ran while threads waited: a table of culprits, and what removes each class.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use cpu::Profile;
use cpu::blame::{Blame, Class, Culprit};
use program::outln;
use serde_json::json;

use crate::latency::seconds;
use crate::target::TargetArgs;

const POLL_PERIOD: Duration = Duration::from_millis(100);
/// So many culprits are printed.
const MAX_LINES: usize = 20;

/// Who is watched.
#[derive(Clone, Debug, Args)]
pub struct BlameArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The length of the measurement, from 0.1 to 86400
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    seconds: f64,
    /// Blame nobody for so many us or fewer
    #[arg(long, value_name = "US", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    over_us: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Measures.
pub fn run(args: &BlameArgs) -> anyhow::Result<()> {
    let stop = program::signals::flag_on_signal()?;
    let mut blame = Blame::start(args.target.selection(&Profile::default())?, args.over_us)?;
    tracing::info!("watching for {} s", args.seconds);
    let end = Instant::now() + Duration::from_secs_f64(args.seconds);
    while !stop.load(Ordering::Acquire) && Instant::now() < end {
        sleep(POLL_PERIOD.min(end.saturating_duration_since(Instant::now())));
        blame.poll()?;
    }
    let seconds = blame.seconds();
    let culprits = blame.report()?;
    let mut classes: BTreeMap<Class, f64> = BTreeMap::new();
    culprits.iter().for_each(|culprit| *classes.entry(culprit.class).or_default() += culprit.total_us);
    let total: f64 = classes.values().sum();
    if args.json {
        let class = |(class, us): (&Class, &f64)| {
            let (knob, cost) = class.knob();
            json!({"class": class.name(), "total_us": us, "share": us / total.max(f64::MIN_POSITIVE), "knob": knob, "cost": cost})
        };
        let culprit = |culprit: &Culprit| {
            json!({
                "victim": culprit.victim, "victim_tid": culprit.victim_tid, "class": culprit.class.name(), "name": culprit.name,
                "number": culprit.number, "count": culprit.count, "total_us": culprit.total_us, "longest_us": culprit.longest_us,
            })
        };
        let culprits: Vec<_> = culprits.iter().map(culprit).collect();
        outln!(
            "{}",
            json!({"classes": classes.iter().map(class).collect::<Vec<_>>(), "culprits": culprits, "seconds": seconds})
        );
        return Ok(());
    }
    show(&culprits);
    if culprits.is_empty() {
        outln!("nobody: no wait was longer than {} us in {seconds:.1} s", args.over_us);
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (class, us) in classes {
        let (knob, cost) = class.knob();
        outln!("{:3.0} % {class}: {knob}; cost: {cost}", 100.0 * us / total);
    }
    Ok(())
}

/// Prints culprits, those of one name together: the one for the longest time first.
fn show(culprits: &[Culprit]) {
    struct Line<'c> {
        count: u64,
        total_us: f64,
        worst: &'c Culprit,
    }
    let mut lines: BTreeMap<(Class, &str), Line<'_>> = BTreeMap::new();
    for culprit in culprits {
        let key = (culprit.class, &*culprit.name);
        let line = lines.entry(key).or_insert(Line { count: 0, total_us: 0.0, worst: culprit });
        line.count += culprit.count;
        line.total_us += culprit.total_us;
        if culprit.longest_us > line.worst.longest_us {
            line.worst = culprit;
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|a, b| b.1.total_us.total_cmp(&a.1.total_us));
    outln!("{:13} {:16} {:>8} {:>10} {:>10}  longest for", "class", "culprit", "times", "total us", "longest us");
    for ((class, name), Line { count, total_us, worst }) in lines.iter().take(MAX_LINES) {
        let (name, victim) = (program::escaped(name).to_string(), program::escaped(&worst.victim));
        outln!("{:13} {name:16} {count:>8} {total_us:>10.0} {:>10.0}  {victim}", class.name(), worst.longest_us);
    }
}
