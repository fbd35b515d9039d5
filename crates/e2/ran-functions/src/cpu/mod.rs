//! CPU: periodic reports of the CPUs and threads of a software base station, and their control.
//!
//! A base station, or a program beside it, implements [`CpuSource`]; [`CpuFunction`] implements the RAN function. The two may be
//! different processes: [`exchange`].
//!
//! * A control is checked against the host: its CPUs must be online, and a policy that keeps other tasks off the unit's CPUs must
//!   leave them one. It takes effect as a whole or not at all. The outcome states what is in force, and the reason of a refusal.
//! * What controls have set is withdrawn when its time is over ([`Setting::valid_s`]), when the controller that has set it is removed,
//!   and by a control. The loss of a connection is no removal: a controller that may be lost states a time.
//! * A source may make a change on another thread or in another process ([`Progress::Started`]). The control is answered when the change
//!   is made; until then further controls are refused.
//! * The CPUs serve every UE, so only the controller that sees every UE may read and change them.

pub mod exchange;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::{Duration, SystemTime};

use e2sm::cpu::{
    ControlHeader, ControlMessage, ControlOutcome, CpuChoice, CpuNumber, Host, IndicationHeader, IndicationMessage,
    MAX_DIAGNOSTIC, MODEL, Policy, Refusal, Setting, Thread, Unit, printable,
};
use e2sm::{Error, Wire};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId, RicRequestId};
use tracing::{debug, info, warn};

use crate::cause::{
    ACTION_NOT_SUPPORTED, CONTROL_FAILED, CONTROL_MESSAGE_INVALID, RESOURCE_LIMIT, TRANSFER_SYNTAX_ERROR,
};
use crate::periodic::{PeriodicActions, PeriodicConfig};
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;

/// Why requests of other controllers are refused.
const ONLY_FIRST: &str = "the CPUs are for the controller that sees every UE";
/// A withdrawal that fails is tried again after this time.
const RETRY: Duration = Duration::from_secs(1);
/// How often a source is asked for the result of a change that it has started.
const RESULT_PERIOD: Duration = Duration::from_millis(10);

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is made.
    Done,
    /// It is being made elsewhere: [`CpuSource::result`] has its result.
    Started,
}

/// Why a source refuses. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason.
    pub refusal: Refusal,
    /// The reason as a text, which the controller receives.
    pub text: String,
}

impl Refused {
    /// A refusal with its text.
    #[must_use]
    pub fn new(refusal: Refusal, text: impl Into<String>) -> Self {
        Refused { refusal, text: text.into() }
    }

    fn cause(&self) -> Cause {
        match self.refusal {
            Refusal::NothingToSet | Refusal::NoCpuLeft | Refusal::UnknownCpu => CONTROL_MESSAGE_INVALID,
            Refusal::Busy => RESOURCE_LIMIT,
            Refusal::NotRunning | Refusal::Unsupported | Refusal::NotPermitted | Refusal::Failed => CONTROL_FAILED,
        }
    }
}

/// What a base station implements to support the CPU service model.
pub trait CpuSource {
    /// The time over which waits were counted, in microseconds. It starts again with the counts.
    fn measured_us(&self) -> u64;

    /// The host.
    fn host(&self) -> Host<'static>;

    /// The base-band unit, with the policy and the CPUs that are in force.
    fn unit(&self) -> Unit<'static>;

    /// Appends the threads of the unit; none while it is not running. Beyond 4096 they are not reported.
    fn threads(&self, out: &mut Vec<Thread<'static>>);

    /// Sets the policy and the CPUs of the unit. The CPUs are online, in ascending order and at least one; a policy that keeps
    /// other tasks off them leaves these at least one.
    ///
    /// # Errors
    /// The reason. Then nothing has changed.
    fn apply(&mut self, policy: Policy, cpus: &[CpuNumber]) -> Result<Progress, Refused>;

    /// Restores the policy and the CPUs that were in force before the first [`CpuSource::apply`].
    ///
    /// # Errors
    /// The reason. The function tries again.
    fn withdraw(&mut self) -> Result<Progress, Refused>;

    /// The result of a change that was [started](Progress::Started); `None` while it is being made. Until then the function starts no
    /// other change. A source that makes changes at once is never asked.
    fn result(&mut self) -> Option<Result<(), Refused>> {
        Some(Ok(()))
    }

    /// Brings the counts up to date with `now`. A source whose counts change by themselves does nothing.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }
}

/// Configuration of [`CpuFunction`].
#[derive(Clone, Debug)]
pub struct CpuConfig {
    /// RAN function ID, encoding and reports. Default: PER, periods of 100 ms and more.
    pub periodic: PeriodicConfig,
}

impl Default for CpuConfig {
    fn default() -> Self {
        CpuConfig { periodic: PeriodicConfig { wire: Wire::Per, min_period_ms: 100, ..PeriodicConfig::default() } }
    }
}

/// The RAN function of the CPU service model, for all controllers of its node.
pub struct CpuFunction<H: SharedSource<Source: CpuSource>> {
    source: H,
    config: PeriodicConfig,
    wall_clock: WallClock,
    actions: PeriodicActions,
    held: Option<Held>,
    pending: Option<Pending>,
}

/// What controls have set.
#[derive(Clone, Copy, Debug)]
struct Held {
    by: ControllerId,
    until: Option<Time>,
}

/// A change of the source.
#[derive(Clone, Debug)]
enum Change {
    /// A control sets something.
    Apply(Held),
    /// A control withdraws what was set.
    Withdraw,
    /// What was set is withdrawn without a control, with the reason.
    WithdrawByItself(&'static str),
}

/// A change that the source has started.
#[derive(Clone, Debug)]
struct Pending {
    change: Change,
    /// The control that awaits its result, and its text.
    control: Option<(ControllerId, RicRequestId, String)>,
    /// When the source is asked for the result next.
    due: Time,
}

impl<H: SharedSource<Source: CpuSource>> CpuFunction<H> {
    /// Creates a function without subscriptions.
    ///
    /// # Panics
    /// If the service model does not have the configured encoding.
    #[must_use]
    pub fn new(source: H, config: CpuConfig) -> Self {
        let CpuConfig { periodic: config } = config;
        config.function(&MODEL);
        let (wall_clock, actions) = (WallClock::system(), PeriodicActions::default());
        CpuFunction { source, config, wall_clock, actions, held: None, pending: None }
    }

    /// Replaces the system clock as the source of the time of day in reports.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// The number of reports that were skipped because the agent was polled late.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.actions.skipped_reports()
    }

    /// The outcome, with what is in force.
    fn outcome(&self, refused: Option<(Option<Refusal>, &str)>) -> Option<Vec<u8>> {
        let Unit { policy, cpus, .. } = self.source.read().unit();
        let (refusal, text) = refused.unwrap_or((None, ""));
        let outcome = ControlOutcome { refusal, diagnostic: printable(text, MAX_DIAGNOSTIC), policy, cpus };
        let mut out = Vec::new();
        outcome.encode(self.config.wire, &mut out).ok()?;
        Some(out)
    }

    fn refuse(&self, controller: ControllerId, cause: Cause, refusal: Option<Refusal>, text: &str) -> ControlFailure {
        info!(controller = controller.0, %cause, "control of CPUs refused: {text}");
        ControlFailure { cause, outcome: self.outcome(Some((refusal, text))) }
    }

    /// Applies what a control sets; what it does not set stays.
    fn apply(&mut self, now: Time, setting: &Setting<'_>) -> Result<Progress, Refused> {
        let mut source = self.source.write();
        source.advance(now);
        if setting.policy.is_none() && setting.cpus.is_none() {
            return Err(Refused::new(Refusal::NothingToSet, "neither the policy nor the CPUs are set"));
        }
        let unit = source.unit();
        let policy = setting.policy.unwrap_or(unit.policy);
        let cpus = choose(&source.host(), policy, setting.cpus.as_ref(), &unit.cpus)?;
        source.apply(policy, &cpus)
    }

    /// Withdraws what controls have set, without a control; tries again later if that fails.
    fn withdraw_by_itself(&mut self, now: Time, why: &'static str) {
        let change = Change::WithdrawByItself(why);
        let withdrawn = self.source.write().withdraw();
        match withdrawn {
            Ok(Progress::Started) => self.pending = Some(Pending { change, control: None, due: now + RESULT_PERIOD }),
            Ok(Progress::Done) => self.conclude(now, &change, &Ok(())),
            Err(refused) => self.conclude(now, &change, &Err(refused)),
        }
    }

    /// Notes the result of a change.
    fn conclude(&mut self, now: Time, change: &Change, result: &Result<(), Refused>) {
        match (change, result) {
            (Change::Apply(held), Ok(())) => self.held = Some(*held),
            (Change::Withdraw, Ok(())) => self.held = None,
            (Change::Apply(_) | Change::Withdraw, Err(_)) => {}
            (Change::WithdrawByItself(why), Ok(())) => {
                info!("{why}: what controls had set for the CPUs is withdrawn");
                self.held = None;
            }
            (Change::WithdrawByItself(why), Err(Refused { text, .. })) => {
                warn!("{why}: cannot withdraw what controls had set for the CPUs: {text}; trying again in 1 s");
                if let Some(held) = &mut self.held {
                    held.until = Some(now + RETRY);
                }
            }
        }
    }

    /// The answer to a control.
    fn answer(
        &self,
        controller: ControllerId,
        control: &str,
        result: Result<(), Refused>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        match result {
            Ok(()) => {
                info!(controller = controller.0, "CPUs: {control}");
                Ok(self.outcome(None))
            }
            Err(refused) => Err(self.refuse(controller, refused.cause(), Some(refused.refusal), &refused.text)),
        }
    }

    /// Answers the control whose change is made.
    fn finish(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.due <= now) else { return };
        pending.due = now + RESULT_PERIOD;
        let result = self.source.write().result();
        let Some(result) = result else { return };
        let Some(Pending { change, control, .. }) = self.pending.take() else { return };
        self.conclude(now, &change, &result);
        if let Some((controller, id, control)) = control {
            let answer = self.answer(controller, &control, result);
            // fails only for a controller that is gone
            let _ = context.answer_control(controller, id, answer);
        }
    }
}

/// The CPUs of the unit after a control: those that it lists, or so many of the last ones that are online.
fn choose(
    host: &Host<'_>,
    policy: Policy,
    choice: Option<&CpuChoice<'_>>,
    current: &[CpuNumber],
) -> Result<Vec<CpuNumber>, Refused> {
    let online: Vec<CpuNumber> = host.cpus.iter().map(|cpu| cpu.number).collect();
    let mut cpus: Vec<CpuNumber> = match choice {
        None => current.to_vec(),
        Some(CpuChoice::Count(count)) => {
            let count = usize::from(*count);
            if count > online.len() {
                let text = format!("{count} CPUs are requested, {} are online", online.len());
                return Err(Refused::new(Refusal::UnknownCpu, text));
            }
            online[online.len() - count..].to_vec()
        }
        Some(CpuChoice::List(list)) => list.to_vec(),
    };
    cpus.sort_unstable();
    cpus.dedup();
    if let Some(unknown) = cpus.iter().find(|cpu| !online.contains(cpu)) {
        let text = format!("CPU {} is not online; the host has {}", unknown.0, numbers(&online));
        return Err(Refused::new(Refusal::UnknownCpu, text));
    }
    if cpus.is_empty() {
        return Err(Refused::new(Refusal::NoCpuLeft, "the unit would have no CPU: set its CPUs"));
    }
    if matches!(policy, Policy::Shield | Policy::Isolcpus) && cpus.len() == online.len() {
        let text = format!("policy {policy} on all CPUs ({}) would leave other tasks none", numbers(&online));
        return Err(Refused::new(Refusal::NoCpuLeft, text));
    }
    Ok(cpus)
}

/// `0,1,4`
fn numbers(cpus: &[CpuNumber]) -> String {
    cpus.iter().map(|cpu| cpu.0.to_string()).collect::<Vec<_>>().join(",")
}

impl<H: SharedSource<Source: CpuSource>> RanFunction for CpuFunction<H> {
    fn id(&self) -> RanFunctionId {
        self.config.function_id(&MODEL)
    }

    fn definition(&self) -> Function {
        self.config.function(&MODEL)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        views: &Views,
    ) -> Result<Admission, Cause> {
        if !views.sees_all(controller) {
            debug!(controller = controller.0, "subscription to the state of CPUs refused: {ONLY_FIRST}");
            return Err(ACTION_NOT_SUPPORTED);
        }
        self.actions.subscribe(now, controller, request, &self.config)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.unsubscribe(key);
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        if !context.views().sees_all(controller) {
            return Err(self.refuse(controller, CONTROL_FAILED, Some(Refusal::NotPermitted), ONLY_FIRST));
        }
        let wire = self.config.wire;
        let message = ControlHeader::decode(&request.header, wire)
            .and_then(|_| ControlMessage::decode_owned(&request.message, wire))
            .map_err(|error| self.refuse(controller, TRANSFER_SYNTAX_ERROR, None, &error.to_string()))?;
        if self.pending.is_some() {
            let text = "another control is in progress; try again when it is answered";
            return Err(self.refuse(controller, RESOURCE_LIMIT, Some(Refusal::Busy), text));
        }
        let (change, progress) = match &message {
            ControlMessage::Apply(setting) => {
                let until = setting.valid_s.map(|seconds| now + Duration::from_secs(seconds.into()));
                (Change::Apply(Held { by: controller, until }), self.apply(now, setting))
            }
            ControlMessage::Withdraw => {
                let progress = self.source.write().withdraw();
                (Change::Withdraw, progress)
            }
        };
        let text = message.to_string();
        let result = match progress {
            Ok(Progress::Started) => {
                let id = request.request_id;
                self.pending =
                    Some(Pending { change, control: Some((controller, id, text)), due: now + RESULT_PERIOD });
                return match context.defer_control() {
                    true => Ok(None),
                    false => Err(ControlFailure::from(CONTROL_FAILED)),
                };
            }
            Ok(Progress::Done) => Ok(()),
            Err(refused) => Err(refused),
        };
        self.conclude(now, &change, &result);
        self.answer(controller, &text, result)
    }

    fn next_report(&self) -> Option<Time> {
        // while a change is being made, no other one begins
        let due = match &self.pending {
            Some(pending) => Some(pending.due),
            None => self.held.and_then(|held| held.until),
        };
        self.actions.next_due().into_iter().chain(due).min()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        self.finish(now, context);
        if self.pending.is_none() && self.held.and_then(|held| held.until).is_some_and(|until| until <= now) {
            self.withdraw_by_itself(now, "the time of a control is over");
        }
        if self.actions.next_due().is_none_or(|due| due > now) {
            return;
        }
        let CpuFunction { source, config, wall_clock, actions, .. } = self;
        wall_clock.update(now);
        let mut source = source.write();
        source.advance(now);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        if let Err(error) = encode(&*source, wall_clock.unix_us(now), config.wire, &mut header, &mut message) {
            warn!(%error, "cannot encode a report of CPUs: a value of the source is out of range");
        }
        actions.report_due(now, &MODEL, |key, action| {
            // another controller may have become the one that sees every UE since the subscription
            if !message.is_empty() && context.views().sees_all(key.controller) {
                // fails only for a subscription that has ended, which the pending `unsubscribe` removes
                let _ = context.report(key, action, &header, &message);
            }
        });
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        // the loop's time is not known here: what is due then is due at once
        let at_once = Some(Time::default());
        if let Some(Pending { change: Change::Apply(held), .. }) = &mut self.pending
            && held.by == controller
        {
            held.until = at_once;
        }
        if let Some(held) = self.held.as_mut().filter(|held| held.by == controller) {
            held.until = at_once;
            if self.pending.is_none() {
                self.withdraw_by_itself(Time::default(), "the controller was removed");
            }
        }
    }
}

fn encode<S: CpuSource>(
    source: &S,
    timestamp_us: i64,
    wire: Wire,
    header: &mut Vec<u8>,
    message: &mut Vec<u8>,
) -> Result<(), Error> {
    IndicationHeader { timestamp_us }.encode(wire, header)?;
    state(source).encode(wire, message)
}

/// What a source reports now, with at most 4096 threads.
pub fn state<S: CpuSource>(source: &S) -> IndicationMessage<'static> {
    let mut threads = Vec::new();
    source.threads(&mut threads);
    threads.truncate(e2sm::cpu::MAX_THREADS);
    IndicationMessage {
        measured_us: source.measured_us(),
        host: source.host(),
        unit: source.unit(),
        threads: threads.into(),
    }
}

impl<H: SharedSource<Source: CpuSource>> fmt::Debug for CpuFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuFunction")
            .field("config", &self.config)
            .field("actions", &self.actions)
            .field("held", &self.held)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}
