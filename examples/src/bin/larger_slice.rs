//! An xApp that moves a UE to a larger slice when its throughput falls to less than half of what it had.
//!
//! `cargo run -p ferric-examples --bin larger_slice`, with `ferric ric` and `ferric ran` running

use std::collections::HashMap;

use ferric::xapp::{Error, Ric, SliceShare};

fn main() -> Result<(), Error> {
    let ric = Ric::connect()?;
    ric.slices().set([SliceShare::new(1, 20.0), SliceShare::new(2, 80.0)])?;
    let mut best: HashMap<_, f64> = HashMap::new();
    for record in ric.kpm(["DRB.UEThpDl"]).every(500)? {
        let record = record?;
        let (Some(ue), Some(kbps)) = (&record.ue, record.number("DRB.UEThpDl")) else { continue };
        let before = *best.entry(ue.clone()).and_modify(|best| *best = best.max(kbps)).or_insert(kbps);
        if kbps < before / 2.0 {
            let moved = ric.ue(ue)?.slice(2)?;
            println!("{}: {ue} has {kbps:.0} of {before:.0} kbit/s and moves to slice 2", moved.node);
            best.remove(ue);
        }
    }
    Ok(())
}
