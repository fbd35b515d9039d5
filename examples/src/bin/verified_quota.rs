//! An xApp that limits a network slice and verifies the effect by measurements: an acknowledgement is not yet an effect.
//!
//! `cargo run -p ferric-examples --bin verified_quota -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran` running

use std::time::{Duration, Instant};

use ferric::xapp::{Error, Quota, Ric};

/// The network slice, and the share of the cell's downlink PRBs that it uses.
const SLICE: &str = "1";
const SHARE: &str = "RRU.PrbTotDl";
/// The time for the effect to show.
const WITHIN: Duration = Duration::from_secs(10);

/// Limits the slice after its first report. Passes a line for each step to `print`.
///
/// # Errors
/// [`Error::Unverified`] if no report shows the effect in time; a refusal by a node.
pub fn run(ric: &str, period_ms: u32, max_percent: u8, mut print: impl FnMut(String)) -> Result<(), Error> {
    let ric = Ric::options().address(ric).name("verified-quota").connect()?;
    for record in ric.kpm([SHARE]).slice(SLICE).every(period_ms)? {
        let Some(share) = record?.number(SHARE) else { continue };
        print(format!("the slice uses {share:.0} %"));
        break;
    }
    print(format!("at most {max_percent} % are requested"));
    let begun = Instant::now();
    let answers = ric.verified(WITHIN).quota(SLICE, Quota { max_percent, ..Quota::default() })?;
    let after_ms = begun.elapsed().as_millis();
    answers.into_iter().for_each(|answer| print(format!("{}: confirmed after {after_ms} ms", answer.node)));
    Ok(())
}

fn main() -> Result<(), Error> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into());
    run(&ric, 500, 20, |line| println!("{line}"))
}
