//! Policies of `ferric cpu` that are held for a measurement.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cpu::{Change, Controller, Cpus, Host, Knob, Plan, Policy, Profile, Request, Selection, Watchdog, plan};

/// A policy with its knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its name in tables.
    pub name: &'static str,
    policy: Policy,
    has_workqueue: bool,
}

impl Choice {
    pub const NONE: Choice = Choice::of("none", Policy::None);
    pub const WA: Choice = Choice::of("WA", Policy::Wa);
    pub const TA: Choice = Choice::of("TA", Policy::Ta);
    pub const IA: Choice = Choice::of("IA", Policy::Ia);
    pub const IA_WA: Choice = Choice::of("IA-WA", Policy::IaWa);
    pub const IA_TA: Choice = Choice::of("IA-TA", Policy::IaTa);
    pub const SHIELD: Choice = Choice::of("Shielding", Policy::Shield);
    pub const SHIELD_WORKQUEUE: Choice = Choice { has_workqueue: true, ..Choice::SHIELD };

    const fn of(name: &'static str, policy: Policy) -> Choice {
        Choice { name, policy, has_workqueue: false }
    }

    fn has_ia(self) -> bool {
        !matches!(self.policy, Policy::None | Policy::Wa | Policy::Ta)
    }
}

/// A policy in force; what was before is restored when this is dropped.
pub struct Held {
    controller: Option<(Controller, Watchdog)>,
    folder: PathBuf,
}

/// The base station's CPUs: as in the paper the upper half of eight, and of any number that leaves two; else all, so that threads
/// can be apart. A shield takes the upper half of two as well.
fn base_station_cpus(choice: Choice, host: &Host) -> Option<Cpus> {
    let is_upper_half = host.online.len() >= 4 || choice.policy == Policy::Shield;
    (!is_upper_half).then(|| host.online.clone())
}

fn request(choice: Choice, tids: &[u32], host: &Host) -> anyhow::Result<Request> {
    let mut profile = Profile::built_in("vbbu").context("the profile vbbu is built in")?;
    profile.cpus = base_station_cpus(choice, host);
    // the devices of the unit and of the flood
    profile.interrupts = vec!["vbbu*".into()];
    if choice.has_ia() {
        profile.knobs.push(Knob::Rps);
    }
    if choice.has_workqueue {
        profile.knobs.push(Knob::Workqueue);
    }
    let selection = Selection { names: Vec::new(), pids: tids.to_vec() };
    Ok(Request { policy: choice.policy, selection, profile, scope: PathBuf::new() })
}

/// The journal's folder, that of `ferric cpu`: one process manages a host at a time.
fn state_folder() -> PathBuf {
    std::env::var_os("FERRIC_CPU_STATE").map_or_else(|| "/run/ferric-cpu".into(), PathBuf::from)
}

impl Held {
    /// Applies a policy to the threads of a unit. `watchdog` is the program `ferric-cpu`, which restores the host if this process is
    /// killed.
    pub fn apply(choice: Choice, tids: &[u32], watchdog: &Path) -> anyhow::Result<Held> {
        let folder = state_folder();
        if choice == Choice::NONE {
            return Ok(Held { controller: None, folder });
        }
        let host = Host::read()?;
        let Plan { changes, .. } = plan(&request(choice, tids, &host)?, &host)?;
        Held::make(choice.name, &changes, folder, watchdog)
    }

    /// Gives each group of threads its CPUs: wide affinity of several units.
    pub fn apply_wide(groups: &[(Vec<u32>, Cpus)], watchdog: &Path) -> anyhow::Result<Held> {
        let host = Host::read()?;
        let mut changes = Vec::new();
        for (tids, cpus) in groups {
            let mut request = request(Choice::WA, tids, &host)?;
            request.profile.cpus = Some(cpus.clone());
            changes.extend(plan(&request, &host)?.changes);
        }
        Held::make(Choice::IA_WA.name, &changes, state_folder(), watchdog)
    }

    fn make(name: &str, changes: &[Change], folder: PathBuf, watchdog: &Path) -> anyhow::Result<Held> {
        let (mut controller, _) = Controller::open(&folder)?;
        let head = controller.begin(name, false)?;
        let state = folder.to_str().context("the name of the temporary folder is not UTF-8")?;
        let watchdog = Watchdog::start(watchdog, &["--state", state, "watchdog", &head.id])?;
        let made = controller.make(changes).and_then(|_| controller.complete());
        let held = Held { controller: Some((controller, watchdog)), folder };
        made.with_context(|| format!("cannot apply the policy {name}"))?;
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some((mut controller, watchdog)) = self.controller.take() else { return };
        match controller.restore() {
            Ok(_) => {
                drop(controller);
                drop(watchdog);
            }
            Err(error) => {
                eprintln!(
                    "ferric paper: cannot restore what a policy has changed: {error}; `ferric cpu --state {} undo` tries again",
                    self.folder.display()
                );
            }
        }
    }
}
