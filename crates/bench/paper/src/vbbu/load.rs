//! What shares the host with the unit: the scenarios of the paper's section 3.3.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use super::background::Background;

/// Workers of `stress-ng`, with the paper's arguments (section 4.1.1): `--mq 0` is one for each CPU.
const STRESS: [&str; 12] =
    ["-d", "1", "--hdd-bytes", "200M", "-m", "1", "--vm-bytes", "1G", "--iomix", "1", "--iomix-bytes", "100M"];
const STRESS_PER_CPU: [&str; 2] = ["--mq", "0"];

/// A scenario of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// The unit alone.
    Idle,
    /// Processes on the same CPUs.
    User,
    /// A flood of small packets that the kernel receives.
    Kernel,
}

impl Scenario {
    pub fn name(self) -> &'static str {
        match self {
            Scenario::Idle => "Idle",
            Scenario::User => "User",
            Scenario::Kernel => "Kernel",
        }
    }

    /// Starts what it consists of.
    pub fn start(self) -> anyhow::Result<Load> {
        Ok(match self {
            Scenario::Idle => Load::None,
            Scenario::User => Load::Stress(Stress::start()?),
            Scenario::Kernel => Load::Flood(Background::start(&["flood"])?),
        })
    }
}

/// The load of a scenario, which ends when this is dropped.
pub enum Load {
    None,
    Stress(Stress),
    Flood(Background),
}

impl Load {
    /// The packets that the receiver of a flood has received until now.
    pub fn packets(&self) -> Option<u64> {
        match self {
            Load::Flood(flood) => Some(flood.count()),
            _ => None,
        }
    }

    /// The process group of its own processes.
    pub fn group(&self) -> Option<u32> {
        match self {
            Load::None => None,
            Load::Stress(stress) => Some(stress.child.id()),
            Load::Flood(flood) => Some(flood.group()),
        }
    }
}

/// Where `stress-ng` is.
pub fn stress_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("stress-ng")).find(|program| program.is_file())
}

/// The reason why User cannot be measured.
pub const WITHOUT_STRESS: &str =
    "NOT TESTED: `stress-ng` is not installed; scripts/stress-ng installs Debian's package";

/// `stress-ng` in a folder of its own.
pub struct Stress {
    child: Child,
    folder: PathBuf,
}

impl Stress {
    fn start() -> anyhow::Result<Stress> {
        let program = stress_program().context(WITHOUT_STRESS)?;
        let folder = std::env::temp_dir().join(format!("ferric-stress-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let spawned = Command::new(program)
            .args(STRESS)
            .args(STRESS_PER_CPU)
            .args(["--temp-path", path_text(&folder)?, "--timeout", "90s", "--quiet"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match spawned {
            Ok(child) => Ok(Stress { child, folder }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(error).context("cannot run stress-ng")
            }
        }
    }
}

fn path_text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the name of the temporary folder is not UTF-8")
}

/// Ends a process with all that it has started.
pub fn end_group(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // an ordinary end first: stress-ng removes its files, a policy restores the host
        for (signal, patience) in [(Signal::TERM, Duration::from_secs(30)), (Signal::KILL, Duration::from_secs(5))] {
            let _ = kill_process_group(pid, signal);
            let begun = Instant::now();
            while begun.elapsed() < patience {
                if !matches!(child.try_wait(), Ok(None)) {
                    return;
                }
                sleep(Duration::from_millis(10));
            }
        }
    }
    let _ = child.wait();
}

impl Drop for Stress {
    fn drop(&mut self) {
        end_group(&mut self.child);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Checks that scenarios can be measured here.
pub fn check_rights() -> anyhow::Result<()> {
    ensure!(
        netns::check_host().is_ok(),
        "the experiments of paper 004 need root: namespaces, BPF and real-time priorities"
    );
    Ok(())
}
