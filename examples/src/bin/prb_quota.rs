//! An xApp that sets the PRB quota of a network slice, and observes the effect.
//!
//! `cargo run -p ferric-examples --bin prb_quota -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran` running

use ferric::xapp::{Error, Quota, Ric};

/// The network slice, and the share of the cell's downlink PRBs that it uses.
const SLICE: &str = "1";
const SHARE: &str = "RRU.PrbTotDl";

/// Passes a line for each report and answer to `print`, until it returns `false`. The quota is set after the first reports.
pub fn run(
    ric: &str,
    period_ms: u32,
    (min_percent, max_percent): (u8, u8),
    mut print: impl FnMut(String) -> bool,
) -> Result<(), Error> {
    let ric = Ric::options().address(ric).connect()?;
    let mut reports = 0;
    for record in ric.kpm([SHARE]).slice(SLICE).every(period_ms)? {
        let Some(share) = record?.number(SHARE) else { continue };
        let mut is_wanted = print(format!("the slice uses {share} %"));
        reports += 1;
        if reports == 5 {
            ric.quota(SLICE, Quota { min_percent, max_percent, ..Quota::default() })?;
            is_wanted &= print(format!("the slice gets {min_percent} to {max_percent} %"));
        }
        if !is_wanted {
            break;
        }
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into());
    run(&ric, 1000, (5, 20), |line| {
        println!("{line}");
        true
    })
}
