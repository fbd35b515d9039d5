//! Policies: planned, applied, held, shown, undone.

use std::io::stdin;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use cpu::follow::Follower;
use cpu::{Change, Controller, Cpus, Host, Knob, Plan, Policy, Profile, Request, Watchdog, dynamic, journal, threads};
use program::outln;
use serde_json::json;

use crate::target::TargetArgs;

/// How often new threads are looked for.
const FOLLOW_PERIOD: Duration = Duration::from_millis(100);

/// A policy and whom it serves.
#[derive(Clone, Debug, Args)]
pub struct PolicyArgs {
    /// none, wa (wide affinity), ta (thread affinity), ia (interrupt affinity), ia-wa, ia-ta, shield, isolcpus
    policy: Policy,
    #[command(flatten)]
    options: Options,
}

/// A policy that is held by this process.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// dynamic (measures, and moves only what hurts), or none, wa (wide affinity), ta (thread affinity), ia (interrupt affinity), ia-wa,
    /// ia-ta, shield, isolcpus
    #[arg(long)]
    policy: Held,
    /// With the policy `dynamic`: print the log of decisions as JSON, an object a line
    #[arg(long)]
    json: bool,
    /// End after so many seconds [default: at Ctrl-C]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    #[command(flatten)]
    options: Options,
}

/// A policy that can be held.
#[derive(Clone, Copy, Debug)]
enum Held {
    Fixed(Policy),
    Dynamic,
}

impl std::str::FromStr for Held {
    type Err = String;

    fn from_str(text: &str) -> Result<Held, String> {
        match text {
            "dynamic" => Ok(Held::Dynamic),
            _ => text.parse().map(Held::Fixed).map_err(|error: String| format!("{error}, dynamic")),
        }
    }
}

#[derive(Clone, Debug, Args)]
struct Options {
    #[command(flatten)]
    target: TargetArgs,
    /// oai, srsran, vbbu, generic, or the file of a profile of your own [default: by the name of the process]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// The base station's CPUs, such as 4-7 [default: the upper half]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<Cpus>,
    /// The CPUs of interrupts and packets [default: the last one of the base station's; another one if it has only one]
    #[arg(long, value_name = "CPUS")]
    irq_cpus: Option<Cpus>,
    /// The name of an interrupt or a network device; `*` stands for any characters [default: all network devices]
    #[arg(long, value_name = "NAME")]
    irq: Vec<String>,
    /// What is set besides: workqueue, rps, xps, rt-throttling, smt, governor; separated by commas
    #[arg(long, value_name = "KNOBS", value_delimiter = ',')]
    with: Vec<Knob>,
    /// The control group whose tasks a shield keeps off the base station's CPUs [default: all tasks of the host]
    #[arg(long, value_name = "GROUP")]
    scope: Option<PathBuf>,
}

impl Options {
    fn request(&self, policy: Policy) -> anyhow::Result<Request> {
        let mut profile = match &self.profile {
            Some(name) => match Profile::built_in(name) {
                Some(profile) => profile,
                None => Profile::read(Path::new(name))
                    .with_context(|| format!("`{name}` is none of {}", cpu::profile::BUILT_IN.join(", ")))?,
            },
            None => Profile::of_process(&self.process_name()),
        };
        profile.cpus = self.cpus.clone().or(profile.cpus);
        profile.irq_cpus = self.irq_cpus.clone().or(profile.irq_cpus);
        if !self.irq.is_empty() {
            profile.interrupts.clone_from(&self.irq);
        }
        profile.knobs.extend(&self.with);
        profile.knobs.sort_unstable();
        profile.knobs.dedup();
        let needs_nobody = matches!(policy, Policy::None | Policy::Ia);
        let selection = match self.target.selection(&profile) {
            Err(_) if needs_nobody => cpu::Selection::default(),
            selection => selection?,
        };
        Ok(Request { policy, selection, profile, scope: self.scope.clone().unwrap_or_default() })
    }

    /// The name of the selected process: as it is given, or that of the number.
    fn process_name(&self) -> String {
        let of_number = || {
            let pid = *self.target.pid.first()?;
            Some(threads::Thread::read(pid, pid).ok()??.name)
        };
        self.target.name.first().cloned().or_else(of_number).unwrap_or_default()
    }
}

/// Prints a plan.
pub fn plan(args: &PolicyArgs) -> anyhow::Result<()> {
    let request = args.options.request(args.policy)?;
    let plan = cpu::plan(&request, &Host::read()?)?;
    outln!(
        "# policy {}, profile {}: base station on CPUs {}, interrupts on {}",
        args.policy,
        request.profile.name,
        plan.cpus,
        plan.irq_cpus
    );
    plan.changes.iter().for_each(|change| outln!("{}", change.command()));
    plan.boot_line.iter().for_each(|line| outln!("# boot line: {line}"));
    plan.notes.iter().for_each(|note| outln!("# {note}"));
    Ok(())
}

/// Opens the controller, and says what it has restored.
fn open(state: &Path) -> anyhow::Result<Controller> {
    let (controller, notes) = Controller::open(state)?;
    notes.iter().for_each(|note| tracing::warn!("{note}"));
    Ok(controller)
}

/// Begins a session, with a watchdog.
fn begin_session(state: &Path, controller: &mut Controller, policy: &str, stays: bool) -> anyhow::Result<Watchdog> {
    let head = controller.begin(policy, stays)?;
    let program = std::env::current_exe().context("cannot find this program, which the watchdog runs")?;
    let state = state.to_str().context("the name of the folder --state is not UTF-8")?;
    Ok(Watchdog::start(&program, &["--state", state, "watchdog", &head.id])?)
}

/// Applies a plan, with a watchdog. After a failure everything is restored.
fn begin(
    state: &Path,
    controller: &mut Controller,
    policy: Policy,
    stays: bool,
    plan: &Plan,
) -> anyhow::Result<Watchdog> {
    if policy == Policy::Isolcpus && !plan.notes.iter().all(|note| !note.contains("not isolated")) {
        anyhow::bail!("{}: {}", plan.notes.join("; "), plan.boot_line.as_deref().unwrap_or_default());
    }
    let watchdog = begin_session(state, controller, &policy.to_string(), stays)?;
    match controller.make(&plan.changes).and_then(|notes| controller.complete().map(|()| notes)) {
        Ok(notes) => plan.notes.iter().chain(&notes).for_each(|note| tracing::warn!("{note}")),
        Err(error) => {
            let restored = controller.restore();
            drop(watchdog);
            let error = anyhow::Error::from(error).context("nothing is changed");
            return Err(match restored {
                Ok(_) => error,
                Err(second) => {
                    error.context(format!("cannot restore what was before: {second}; `ferric cpu undo` tries again"))
                }
            });
        }
    }
    Ok(watchdog)
}

/// Applies a policy that stays.
pub fn apply(state: &Path, args: &PolicyArgs) -> anyhow::Result<()> {
    let mut controller = open(state)?;
    let request = args.options.request(args.policy)?;
    let plan = cpu::plan(&request, &Host::read()?)?;
    let watchdog = begin(state, &mut controller, args.policy, true, &plan)?;
    drop(controller);
    drop(watchdog);
    outln!("applied {} with {} changes: `ferric cpu undo` restores what was before", args.policy, plan.changes.len());
    Ok(())
}

/// Holds a policy.
pub fn run(state: &Path, args: &RunArgs) -> anyhow::Result<()> {
    let stop = program::signals::flag_on_signal()?;
    let mut controller = open(state)?;
    let Held::Fixed(policy) = args.policy else { return run_dynamic(state, &mut controller, &stop, args) };
    anyhow::ensure!(!args.json, "--json is for the policy `dynamic`, which has a log of decisions");
    let request = args.options.request(policy)?;
    let plan = cpu::plan(&request, &Host::read()?)?;
    let mut follower = Follower::new(request, &plan);
    let watchdog = begin(state, &mut controller, policy, false, &plan)?;
    outln!("holding {policy} with {} changes; Ctrl-C restores what was before", plan.changes.len());
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut failure = None;
    while failure.is_none() && !stop.load(Ordering::Acquire) && end.is_none_or(|end| Instant::now() < end) {
        failure = follower.step(&mut controller).err();
        // a name may come again, a number does not
        if args.options.target.name.is_empty() && !args.options.target.pid.is_empty() && follower.has_ended() {
            outln!("the base station has ended");
            break;
        }
        sleep(FOLLOW_PERIOD);
    }
    let restored = controller.restore();
    drop(controller);
    drop(watchdog);
    restored?.iter().for_each(|note| tracing::warn!("{note}"));
    outln!("restored");
    failure.map_or(Ok(()), |error| Err(error.into()))
}

/// Holds the dynamic policy.
fn run_dynamic(state: &Path, controller: &mut Controller, stop: &AtomicBool, args: &RunArgs) -> anyhow::Result<()> {
    // what the policy is made of is decided later
    let request = args.options.request(Policy::IaWa)?;
    let watchdog = begin_session(state, controller, "dynamic", false)?;
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let held = dynamic::run(controller, &request, dynamic::Settings::default(), stop, end, &mut |entry| {
        if args.json {
            outln!("{}", entry.json());
        } else {
            outln!("{entry}");
        }
    });
    drop(watchdog);
    held.map_err(Into::into)
}

/// How the state is printed.
#[derive(Clone, Copy, Debug, Args)]
pub struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what is applied.
pub fn status(state: &Path, args: &StatusArgs) -> anyhow::Result<()> {
    let record = journal::peek(state)?;
    let Some(record) = record else {
        outln!("{}", if args.json { "{\"policy\":null,\"changes\":[]}" } else { "no policy is applied" });
        return Ok(());
    };
    let head = &record.head;
    let word = |in_force| match in_force {
        Some(true) => "in force",
        Some(false) => "changed by another since",
        None => "ended",
    };
    let steps = record.steps.iter().map(|step| (step, record.of_step(step.number)));
    let steps: Vec<_> = steps.map(|(step, changes)| (step, changes.len())).collect();
    // a thread has several changes where it was renamed: the last one counts
    let counts =
        |index: usize, change: &Change| !record.changes[index + 1..].iter().any(|(later, _)| later.is_of_same(change));
    let last = record.changes.iter().enumerate().filter(|(index, (change, _))| counts(*index, change));
    let states: Vec<_> = last.map(|(_, (change, _))| (change.command(), word(change.is_in_force()))).collect();
    if args.json {
        let changes: Vec<_> =
            states.iter().map(|(command, state)| json!({"command": command, "state": state})).collect();
        outln!(
            "{}",
            json!({
                "policy": head.policy, "pid": head.pid, "started_s": head.started_s, "stays": head.stays,
                "complete": record.is_complete, "changes": changes,
                "steps": steps.iter().map(|(step, changes)| json!({
                    "number": step.number, "what": step.what, "why": step.why, "taken_s": step.taken_s, "changes": changes,
                })).collect::<Vec<_>>(),
            })
        );
        return Ok(());
    }
    let how = if head.stays { "applied" } else { "held" };
    let unfinished = if record.is_complete { "" } else { ", not completely" };
    outln!("policy {}, {how} by process {}{unfinished}", head.policy, head.pid);
    for (step, changes) in steps {
        let what = program::escaped(&step.what);
        outln!("step {}: {what} ({changes} changes), since {}", step.number, program::escaped(&step.why));
    }
    states.iter().for_each(|(command, state)| outln!("{state:24} {command}"));
    Ok(())
}

/// Restores what was before.
pub fn undo(state: &Path) -> anyhow::Result<()> {
    match cpu::undo(state)? {
        None => outln!("no policy is applied"),
        Some((head, notes)) => {
            notes.iter().for_each(|note| tracing::warn!("{note}"));
            outln!("restored what {} had changed", head.policy);
        }
    }
    Ok(())
}

/// The watchdog.
pub fn watchdog(state: &Path, session: &str) -> anyhow::Result<()> {
    if cpu::controller::watch(state, session, &mut stdin().lock())? {
        tracing::warn!("the process that held the policy was killed: what it has changed is restored");
    }
    Ok(())
}
