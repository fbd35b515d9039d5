//! An environment in steps: an agent searches the PRB quota of a slice at which its UEs reach a throughput.
//!
//! `cargo run -p ferric-ran --features all --release --example steps`

use std::error::Error;
use std::time::Duration;

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use e2sm::rc::{self, Control, ControlAction, SlicePrbQuota};
use ran::{RanConfig, Scenario, Stepped};

const SCENARIO: &str = "
    [[cell]]
    [[ue]]
    sinr_db = 15
    sst = 2
    [[ue.flow]]
    kind = \"greedy\"
    [[ue]]
    count = 3
    sinr_db = 18
    [[ue.flow]]
    kind = \"greedy\"
";

/// The throughput that the slice is to reach, in kbit/s.
const GOAL_KBPS: f64 = 12_000.0;
const STEP: Duration = Duration::from_millis(500);

/// The environment: the action is the highest quota of slice 2 in percent, the observation its throughput.
struct Environment(Stepped);

impl Environment {
    fn reset(&mut self, seed: u64) -> Result<f64, Box<dyn Error>> {
        self.0.reset(seed)?;
        self.step(100)
    }

    fn step(&mut self, percent: u8) -> Result<f64, Box<dyn Error>> {
        let offered = self.0.functions(0).into_iter().find_map(|function| {
            let detected = rc::Detection::from_ran_function(&function.oid, function.revision.0, &function.definition);
            detected.ok().map(|detected| (function.id, detected.revision))
        });
        let (function, revision) = offered.ok_or("the node does not offer RC")?;
        let slice = SNssai { sst: Sst([2]), sd: None };
        let quota = SlicePrbQuota::of_slice(PlmnIdentity::from_codes(1, 1, 2), slice, 0, percent);
        let (header, message) = Control::of_cell(ControlAction::SlicePrbQuota(quota)).encode(revision)?;
        self.0.control(0, function, header, message).map_err(|failure| failure.cause.to_string())?;
        self.0.step(STEP);
        Ok(self.0.measure(0, Some(0), "DRB.UEThpDl").unwrap_or(0.0))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folders = ran::scenario::ScenarioFolders::with_traces(std::path::Path::new("."));
    let scenario = Scenario::from_toml(SCENARIO, &folders)?;
    let mut environment = Environment(Stepped::new(RanConfig { scenario, ..RanConfig::default() })?);
    for episode in 1..=2 {
        environment.reset(episode)?;
        // bisection stands for an agent
        let (mut low, mut high) = (0, 100);
        while high - low > 1 {
            let percent = (low + high) / 2;
            // the first step after a change still contains the old queue
            environment.step(percent)?;
            let kbps = environment.step(percent)?;
            println!("episode {episode}, {}: at most {percent} %: {kbps:.0} kbit/s", environment.0.now());
            if kbps < GOAL_KBPS { low = percent } else { high = percent }
        }
        println!("episode {episode}: {GOAL_KBPS} kbit/s need {high} % of the PRBs");
    }
    Ok(())
}
