//! The function on a host of four CPUs.

use ferric::e2ap::CauseRicRequest;
use per::PrintableString;

use super::*;
use crate::testing::{self, ExclusiveSource, FIRST, GUEST, Recorder, millis, periodic_subscription};
use e2sm::cpu::{HostCpu, Waits};

/// What was in force before controls: nothing, on CPUs 2 and 3.
struct BaseStation {
    policy: Policy,
    cpus: Vec<CpuNumber>,
    threads: usize,
    refuses: bool,
    /// Changes are made elsewhere, and have a result after so many questions.
    questions: Option<u32>,
    /// What is being made.
    started: Option<(Policy, Vec<CpuNumber>, u32)>,
}

impl BaseStation {
    fn change(&mut self, policy: Policy, cpus: Vec<CpuNumber>) -> Progress {
        assert_eq!(self.started, None, "one change at a time");
        match self.questions {
            Some(questions) => self.started = Some((policy, cpus, questions)),
            None => (self.policy, self.cpus) = (policy, cpus),
        }
        if self.questions.is_some() { Progress::Started } else { Progress::Done }
    }
}

impl Default for BaseStation {
    fn default() -> Self {
        let cpus = cpus(&[2, 3]);
        BaseStation { policy: Policy::None, cpus, threads: 1, refuses: false, questions: None, started: None }
    }
}

fn cpus(numbers: &[u16]) -> Vec<CpuNumber> {
    numbers.iter().copied().map(CpuNumber).collect()
}

impl CpuSource for BaseStation {
    fn measured_us(&self) -> u64 {
        1_000_000
    }

    fn host(&self) -> Host<'static> {
        let cpu = |number| HostCpu { number: CpuNumber(number), busy_us: 250_000, idle_us: 750_000 };
        Host { cpus: (0..4).map(cpu).collect(), ..Host::default() }
    }

    fn unit(&self) -> Unit<'static> {
        let name = PrintableString::literal("nr-softmodem");
        Unit { name, policy: self.policy, cpus: self.cpus.clone().into(), ..Unit::default() }
    }

    fn threads(&self, out: &mut Vec<Thread<'static>>) {
        out.extend((0..self.threads).map(|tid| Thread {
            name: PrintableString::literal("ru_thread"),
            tid: tid as u32,
            waits: Waits::from_counts([90, 5, 3, 1, 1]),
            preempted: 7,
            subframes: Some(1000),
            deadline_misses: None,
        }));
    }

    fn apply(&mut self, policy: Policy, cpus: &[CpuNumber]) -> Result<Progress, Refused> {
        if self.refuses && self.questions.is_none() {
            return Err(Refused::new(Refusal::NotPermitted, "cannot set …: it takes CAP_SYS_NICE"));
        }
        Ok(self.change(policy, cpus.to_vec()))
    }

    fn withdraw(&mut self) -> Result<Progress, Refused> {
        if self.refuses && self.questions.is_none() {
            return Err(Refused::new(Refusal::Failed, "not now"));
        }
        let BaseStation { policy, cpus, .. } = BaseStation::default();
        Ok(self.change(policy, cpus))
    }

    fn result(&mut self) -> Option<Result<(), Refused>> {
        let (policy, cpus, left) = self.started.take().expect("a change was started");
        if left > 0 {
            self.started = Some((policy, cpus, left - 1));
            return None;
        }
        if self.refuses {
            return Some(Err(Refused::new(Refusal::NotRunning, "it has ended")));
        }
        (self.policy, self.cpus) = (policy, cpus);
        Some(Ok(()))
    }
}

/// What a control has led to.
type Outcome = Result<ControlOutcome<'static>, (Cause, ControlOutcome<'static>)>;

struct Bench {
    function: CpuFunction<ExclusiveSource<BaseStation>>,
    source: ExclusiveSource<BaseStation>,
    views: Views,
    recorder: Recorder,
    wire: Wire,
}

impl Bench {
    fn speaking(wire: Wire) -> Self {
        let source = ExclusiveSource::new(BaseStation::default());
        let periodic = PeriodicConfig { wire, ..CpuConfig::default().periodic };
        let function = CpuFunction::new(source.clone(), CpuConfig { periodic });
        Bench { function, source, views: Views::with_first(FIRST), recorder: Recorder::default(), wire }
    }

    fn new() -> Self {
        Bench::speaking(Wire::Per)
    }

    fn control(&mut self, at_ms: u64, controller: ControllerId, message: &ControlMessage<'_>) -> Outcome {
        let (mut header, mut octets) = (Vec::new(), Vec::new());
        ControlHeader::default().encode(self.wire, &mut header).unwrap();
        message.encode(self.wire, &mut octets).unwrap();
        self.octets(at_ms, controller, header, octets)
    }

    fn octets(&mut self, at_ms: u64, controller: ControllerId, header: Vec<u8>, message: Vec<u8>) -> Outcome {
        let request = testing::control(header, message);
        let mut context = FunctionContext::new(&mut self.views, &mut self.recorder);
        // a control that is answered later has no outcome yet
        let read = |outcome: Option<Vec<u8>>| match outcome {
            Some(outcome) => ControlOutcome::decode_owned(&outcome, self.wire).unwrap(),
            None => ControlOutcome {
                refusal: None,
                diagnostic: PrintableString::literal("later"),
                policy: Policy::None,
                cpus: Vec::new().into(),
            },
        };
        match self.function.control(millis(at_ms), controller, &request, &mut context) {
            Ok(outcome) => Ok(read(outcome)),
            Err(failure) => Err((failure.cause, read(failure.outcome))),
        }
    }

    /// Calls the function when it wants to be called, until a time. Returns the number of calls.
    fn run_until(&mut self, until_ms: u64) -> usize {
        let mut calls = 0;
        while let Some(at) = self.function.next_report().filter(|at| *at <= millis(until_ms)) {
            self.recorder.at_ms = at.as_nanos() / 1_000_000;
            let mut context = FunctionContext::new(&mut self.views, &mut self.recorder);
            self.function.report(at, &mut context);
            calls += 1;
            assert!(calls < 1000, "time does not advance");
        }
        calls
    }

    /// The outcome of the control that was answered later, and when.
    fn answered(&mut self) -> Option<(u64, Outcome)> {
        let (at_ms, controller, id, result) = self.recorder.answers.pop()?;
        assert_eq!(
            (controller, id, self.recorder.answers.len()),
            (FIRST, testing::control(vec![], vec![]).request_id, 0)
        );
        let read = |outcome: Option<Vec<u8>>| ControlOutcome::decode_owned(&outcome.unwrap(), self.wire).unwrap();
        Some((at_ms, result.map(read).map_err(|failure| (failure.cause, read(failure.outcome)))))
    }

    fn in_force(&self) -> (Policy, Vec<CpuNumber>) {
        let source = self.source.lock();
        (source.policy, source.cpus.clone())
    }
}

fn setting(policy: Option<Policy>, choice: Option<CpuChoice<'static>>) -> ControlMessage<'static> {
    ControlMessage::Apply(Setting { policy, cpus: choice, valid_s: None })
}

fn list(numbers: &[u16]) -> Option<CpuChoice<'static>> {
    Some(CpuChoice::List(cpus(numbers).into()))
}

#[test]
fn reports_have_host_unit_and_threads_in_both_encodings() {
    for wire in [Wire::Per, Wire::Flat] {
        let mut bench = Bench::speaking(wire);
        let request = periodic_subscription(FIRST, 500, wire);
        bench.function.subscribe(millis(0), FIRST, &request, &bench.views).unwrap();
        assert_eq!(bench.run_until(1100), 2);
        let sent: Vec<_> = bench.recorder.sent.iter().map(|sent| (sent.at_ms, sent.controller, sent.action)).collect();
        assert_eq!(sent, [(500, FIRST, 7), (1000, FIRST, 7)]);
        let state = IndicationMessage::decode_owned(&bench.recorder.sent[1].message, wire).unwrap();
        assert_eq!((state.measured_us, state.host.cpus.len(), state.threads.len()), (1_000_000, 4, 1));
        assert_eq!((state.unit, state.threads[0].preempted), (bench.source.lock().unit(), 7));
        let header = IndicationHeader::decode(&bench.recorder.sent[1].header, wire).unwrap();
        assert!(header.timestamp_us > 1_700_000_000_000_000);
    }
}

#[test]
fn threads_beyond_the_bound_are_left_out() {
    let mut bench = Bench::new();
    bench.source.lock().threads = 5000;
    let request = periodic_subscription(FIRST, 100, Wire::Per);
    bench.function.subscribe(millis(0), FIRST, &request, &bench.views).unwrap();
    bench.run_until(100);
    let state = IndicationMessage::decode_owned(&bench.recorder.sent[0].message, Wire::Per).unwrap();
    assert_eq!(state.threads.len(), e2sm::cpu::MAX_THREADS);
}

#[test]
fn short_periods_and_other_controllers_are_refused() {
    let mut bench = Bench::new();
    for (controller, period_ms, admitted) in [(FIRST, 99, false), (GUEST, 100, false), (FIRST, 100, true)] {
        let request = periodic_subscription(controller, period_ms, Wire::Per);
        let admission = bench.function.subscribe(millis(0), controller, &request, &bench.views);
        assert_eq!(admission.is_ok(), admitted, "{controller:?} every {period_ms} ms: {admission:?}");
    }
    let (cause, outcome) = bench.control(0, GUEST, &setting(Some(Policy::Shield), None)).unwrap_err();
    assert_eq!((cause, outcome.refusal), (CONTROL_FAILED, Some(Refusal::NotPermitted)));
    assert_eq!(bench.in_force(), (Policy::None, cpus(&[2, 3])));
}

#[test]
fn policy_and_cpus_are_set_together_or_one_by_one() {
    let mut bench = Bench::new();
    for (message, policy, expected) in [
        (setting(Some(Policy::Shield), None), Policy::Shield, vec![2, 3]),
        (setting(None, Some(CpuChoice::Count(3))), Policy::Shield, vec![1, 2, 3]),
        (setting(Some(Policy::IaTa), list(&[3, 0, 3])), Policy::IaTa, vec![0, 3]),
        // affinity takes nothing from other tasks
        (setting(Some(Policy::Wa), Some(CpuChoice::Count(4))), Policy::Wa, vec![0, 1, 2, 3]),
    ] {
        let outcome = bench.control(0, FIRST, &message).unwrap();
        assert_eq!(bench.in_force(), (policy, cpus(&expected)), "{message}");
        assert_eq!((outcome.policy, outcome.cpus.to_vec(), outcome.refusal), (policy, cpus(&expected), None));
    }
    bench.control(0, FIRST, &ControlMessage::Withdraw).unwrap();
    assert_eq!(bench.in_force(), (Policy::None, cpus(&[2, 3])));
}

#[test]
fn control_that_leaves_no_cpu_is_refused_with_its_reason() {
    let mut bench = Bench::new();
    for (message, refusal, text) in [
        (setting(None, None), Refusal::NothingToSet, "neither the policy nor the CPUs are set"),
        (
            setting(Some(Policy::Shield), Some(CpuChoice::Count(4))),
            Refusal::NoCpuLeft,
            "policy shield on all CPUs (0,1,2,3) would leave other tasks none",
        ),
        (setting(None, list(&[2, 9])), Refusal::UnknownCpu, "CPU 9 is not online; the host has 0,1,2,3"),
        (setting(None, Some(CpuChoice::Count(5))), Refusal::UnknownCpu, "5 CPUs are requested, 4 are online"),
    ] {
        let (cause, outcome) = bench.control(0, FIRST, &message).unwrap_err();
        assert_eq!(cause, CONTROL_MESSAGE_INVALID);
        assert_eq!((outcome.refusal, &*outcome.diagnostic), (Some(refusal), text));
        assert_eq!((outcome.policy, outcome.cpus.to_vec()), (Policy::None, cpus(&[2, 3])), "what is in force");
    }
    // none was configured, and none is set
    bench.source.lock().cpus.clear();
    let (_, outcome) = bench.control(0, FIRST, &setting(Some(Policy::Wa), None)).unwrap_err();
    assert_eq!(outcome.refusal, Some(Refusal::NoCpuLeft));
}

#[test]
fn refusal_of_the_host_and_octets_that_are_no_control_are_answered() {
    let mut bench = Bench::new();
    bench.source.lock().refuses = true;
    let (cause, outcome) = bench.control(0, FIRST, &setting(Some(Policy::Ta), None)).unwrap_err();
    assert_eq!(cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    assert_eq!(&*outcome.diagnostic, "cannot set ?: it takes CAP_SYS_NICE");
    for (header, message) in [(vec![], vec![]), (vec![0, 0], vec![]), (vec![0, 0], vec![0xff; 40])] {
        let (cause, outcome) = bench.octets(0, FIRST, header, message).unwrap_err();
        assert_eq!((cause, outcome.refusal), (TRANSFER_SYNTAX_ERROR, None));
        assert!(!outcome.diagnostic.is_empty());
    }
}

#[test]
fn setting_is_withdrawn_when_its_time_is_over() {
    let mut bench = Bench::new();
    let for_2_s =
        |policy| ControlMessage::Apply(Setting { policy: Some(policy), valid_s: Some(2), ..Setting::default() });
    bench.control(0, FIRST, &for_2_s(Policy::Shield)).unwrap();
    // another control extends it
    bench.control(1500, FIRST, &for_2_s(Policy::Shield)).unwrap();
    bench.run_until(3400);
    assert_eq!(bench.in_force().0, Policy::Shield);
    // the first attempt fails
    bench.source.lock().refuses = true;
    bench.run_until(3600);
    bench.source.lock().refuses = false;
    assert_eq!(bench.in_force().0, Policy::Shield);
    bench.run_until(4600);
    assert_eq!(bench.in_force(), (Policy::None, cpus(&[2, 3])));
    assert_eq!(bench.function.next_report(), None);
    // without a time it stays
    bench.control(5000, FIRST, &setting(Some(Policy::Ta), None)).unwrap();
    assert_eq!(bench.function.next_report(), None);
}

#[test]
fn setting_is_withdrawn_with_its_controller() {
    let mut bench = Bench::new();
    bench.control(0, FIRST, &setting(Some(Policy::Shield), None)).unwrap();
    bench.function.controller_removed(GUEST);
    assert_eq!(bench.in_force().0, Policy::Shield);
    bench.function.controller_removed(FIRST);
    assert_eq!(bench.in_force(), (Policy::None, cpus(&[2, 3])));
}

#[test]
fn control_is_answered_when_its_change_is_made() {
    let mut bench = Bench::new();
    bench.recorder.can_defer = true;
    bench.source.lock().questions = Some(2);
    let outcome = bench.control(0, FIRST, &setting(Some(Policy::Shield), None)).unwrap();
    assert_eq!(&*outcome.diagnostic, "later");
    // one change at a time
    for message in [setting(Some(Policy::Ta), None), ControlMessage::Withdraw] {
        let (cause, outcome) = bench.control(5, FIRST, &message).unwrap_err();
        assert_eq!((cause, outcome.refusal, outcome.policy), (RESOURCE_LIMIT, Some(Refusal::Busy), Policy::None));
    }
    bench.run_until(29);
    assert_eq!((bench.in_force().0, bench.answered()), (Policy::None, None));
    bench.run_until(30);
    let (at_ms, outcome) = bench.answered().unwrap();
    assert_eq!((at_ms, outcome.unwrap().policy, bench.in_force().0), (30, Policy::Shield, Policy::Shield));
    assert_eq!(bench.function.next_report(), None);
    // a refusal that comes later changes nothing
    bench.source.lock().refuses = true;
    bench.control(100, FIRST, &setting(Some(Policy::Ta), None)).unwrap();
    bench.run_until(200);
    let (cause, outcome) = bench.answered().unwrap().1.unwrap_err();
    assert_eq!((cause, outcome.refusal, outcome.policy), (CONTROL_FAILED, Some(Refusal::NotRunning), Policy::Shield));
    assert_eq!(&*outcome.diagnostic, "it has ended");
}

#[test]
fn change_that_takes_time_is_withdrawn_when_its_time_is_over_and_with_its_controller() {
    let mut bench = Bench::new();
    bench.recorder.can_defer = true;
    bench.source.lock().questions = Some(1);
    let message = ControlMessage::Apply(Setting { policy: Some(Policy::Wa), valid_s: Some(1), ..Setting::default() });
    bench.control(0, FIRST, &message).unwrap();
    bench.run_until(999);
    assert_eq!((bench.in_force().0, bench.answered().is_some()), (Policy::Wa, true));
    // the first attempt fails
    bench.source.lock().refuses = true;
    bench.run_until(1100);
    bench.source.lock().refuses = false;
    assert_eq!(bench.in_force().0, Policy::Wa);
    bench.run_until(2100);
    assert_eq!((bench.in_force().0, bench.function.next_report()), (Policy::None, None));
    assert_eq!(bench.answered(), None);
    // the controller is removed while its change is being made
    bench.control(3000, FIRST, &setting(Some(Policy::Ia), None)).unwrap();
    bench.function.controller_removed(FIRST);
    bench.run_until(4000);
    assert_eq!((bench.in_force().0, bench.function.next_report()), (Policy::None, None));
    // and while it is in force
    bench.control(5000, FIRST, &setting(Some(Policy::Ia), None)).unwrap();
    bench.run_until(5500);
    assert_eq!(bench.in_force().0, Policy::Ia);
    bench.function.controller_removed(FIRST);
    bench.run_until(6000);
    assert_eq!((bench.in_force().0, bench.function.next_report()), (Policy::None, None));
}
