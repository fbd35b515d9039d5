//! An xApp that limits the share of a slice in each cell by E2SM-CCC, and prints the policies of the cells whenever they change.
//!
//! `cargo run -p ferric-examples --bin cell_configuration -- tcp://127.0.0.1:36423`, with `ferric ric` and `ferric ran`
//! running

use std::time::Duration;

use e2sm::ccc::{RanConfigurationStructure, ResourceType, RrmPolicyMember, RrmPolicyRatio};
use e2sm::common::{SNssai, Sst};
use ferric::xapp::{Error, Event, Ric};

const POLICY: &str = "O-RRMPolicyRatio";
/// The wait for a report before nodes that have come are configured.
const PATIENCE: Duration = Duration::from_millis(100);

/// The policy that limits a slice to this share of the downlink PRBs.
fn bound(sst: u8, max_percent: u8) -> RanConfigurationStructure {
    let member = RrmPolicyMember { plmn_id: None, snssai: Some(SNssai { sst: Sst([sst]), sd: None }) };
    RanConfigurationStructure::RrmPolicyRatio(RrmPolicyRatio {
        resource_type: Some(ResourceType::PrbDl),
        rrm_policy_member_list: Some(vec![member]),
        rrm_policy_max_ratio: Some(max_percent),
        ..RrmPolicyRatio::default()
    })
}

/// Passes a line for each node that is configured and each report to `print`, until it returns `false`.
pub fn run(ric: &str, sst: u8, max_percent: u8, mut print: impl FnMut(String) -> bool) -> Result<(), Error> {
    let ric = Ric::options().address(ric).name("slice-bound").connect()?;
    let (mut events, mut reports) = (ric.events()?, ric.configuration([POLICY])?);
    let mut wanted = true;
    while wanted {
        while let Some(event) = events.try_next()? {
            let Event::NodeUp(node) = event else { continue };
            match ric.node(&node)?.configure([bound(sst, max_percent)]) {
                Ok(_) => wanted &= print(format!("set: {node}")),
                Err(error) => eprintln!("{error}"),
            }
        }
        if let Some(report) = reports.next_within(PATIENCE)? {
            wanted &= print(format!("now: {} {}: {:?}", report.node, report.cell, report.structures));
        }
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let ric = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:36423".into());
    run(&ric, 1, 30, |line| {
        println!("{line}");
        true
    })
}
