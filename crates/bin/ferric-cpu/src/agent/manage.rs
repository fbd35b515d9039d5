//! The manager of a base station that is an E2 node by itself: it measures the threads and holds policies, as the agent does, for the
//! process at the other end of its standard input and output.

use std::io::{self, stdin, stdout};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use cpu::Policy;
use e2sm::cpu::{ControlMessage, CpuChoice, Setting};
use ferric::e2::Time;
use ran_functions::cpu::exchange::{Answer, Request};
use ran_functions::cpu::{CpuSource, Refused};

use super::unit::{ManagedUnit, Wanted};
use crate::policy::{self, Options};

/// The time between two reports.
const REPORT_PERIOD: Duration = Duration::from_millis(100);
/// For so long a request for reports holds.
const REPORTS_LAST: Duration = Duration::from_secs(2);
/// Requests that wait. The base station sends one at a time of each kind.
const MAX_WAITING: usize = 8;

/// The base station.
#[derive(Clone, Debug, Args)]
pub struct ManageArgs {
    #[command(flatten)]
    options: Options,
}

/// Serves the base station until it closes the pipe, and restores everything then.
pub fn run(state: &Path, args: &ManageArgs) -> anyhow::Result<()> {
    let configured = Wanted { policy: policy::Held::Fixed(Policy::None), request: args.options.request(Policy::Wa)? };
    let requests = requests()?;
    let mut unit = ManagedUnit::start(state, configured, None)?;
    let served = serve(&mut unit, &requests);
    // also after a failure
    let released = unit.release();
    served?;
    released?;
    Ok(())
}

/// The requests, read on a thread.
fn requests() -> anyhow::Result<Receiver<io::Result<Request>>> {
    let (sender, requests) = sync_channel(MAX_WAITING);
    let read = move || {
        let mut pipe = stdin().lock();
        while let Some(request) = Request::read(&mut pipe).transpose() {
            let is_over = request.is_err();
            if sender.send(request).is_err() || is_over {
                return;
            }
        }
    };
    thread::Builder::new().name("requests".into()).spawn(read).context("cannot start a thread")?;
    Ok(requests)
}

fn serve(unit: &mut ManagedUnit, requests: &Receiver<io::Result<Request>>) -> anyhow::Result<()> {
    let mut pipe = stdout().lock();
    report(unit, &mut pipe)?;
    let (mut next_step, mut next_report, mut reports_until) = (Instant::now(), Instant::now(), Instant::now());
    loop {
        match requests.recv_timeout(next_step.saturating_duration_since(Instant::now())) {
            Ok(Ok(Request::Report)) => reports_until = Instant::now() + REPORTS_LAST,
            Ok(Ok(Request::Control(message))) => {
                let outcome = Answer::Outcome(control(unit, &message));
                report(unit, &mut pipe)?;
                outcome.write(&mut pipe)?;
            }
            Ok(Err(error)) => return Err(error).context("cannot read what the base station requests"),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        let now = Instant::now();
        if now >= next_step {
            next_step = now + unit.step()?;
        }
        if now < reports_until && now >= next_report {
            next_report = now + REPORT_PERIOD;
            report(unit, &mut pipe)?;
        }
    }
}

fn report(unit: &mut ManagedUnit, pipe: &mut impl io::Write) -> io::Result<()> {
    unit.advance(Time::default());
    Answer::report(unit).write(pipe)
}

/// Applies or withdraws. The base station's RAN function has checked the CPUs, and states both the policy and the CPUs.
fn control(unit: &mut ManagedUnit, message: &ControlMessage<'_>) -> Result<(), Refused> {
    let ControlMessage::Apply(Setting { policy, cpus, .. }) = message else { return unit.withdraw().map(drop) };
    let cpus = match cpus {
        Some(CpuChoice::List(list)) => list.to_vec(),
        _ => unit.unit().cpus.to_vec(),
    };
    unit.apply(policy.unwrap_or(unit.unit().policy), &cpus).map(drop)
}
