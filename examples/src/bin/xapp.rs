//! An xApp that prints KPIs of every UE of every node.
//!
//! `cargo run -p ferric-examples --bin xapp`, with `ferric ric` and `ferric ran` running

use ferric::xapp::{Error, Ric};

fn main() -> Result<(), Error> {
    let ric = Ric::connect()?;
    for record in ric.kpm(["DRB.UEThpDl", "CQI"]).every(1000)? {
        println!("{}", record?);
    }
    Ok(())
}
