//! Which threads are meant.

use clap::Args;
use cpu::{Profile, Selection};

/// The base station's threads.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// The name of a process (all of its threads) or of a thread, as `ps -eLo comm` prints it; `*` stands for any characters
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// The number of a process (all of its threads) or of a thread
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
}

impl TargetArgs {
    /// The selection; without a name or a number that of the profile.
    ///
    /// # Errors
    /// If nothing is selected.
    pub fn selection(&self, profile: &Profile) -> anyhow::Result<Selection> {
        let mut names = self.name.clone();
        if names.is_empty() && self.pid.is_empty() {
            names.clone_from(&profile.processes);
        }
        anyhow::ensure!(
            !(names.is_empty() && self.pid.is_empty()),
            "no process is given: add --name NAME, --pid PID or --profile PROFILE"
        );
        Ok(Selection { names, pids: self.pid.clone() })
    }
}
