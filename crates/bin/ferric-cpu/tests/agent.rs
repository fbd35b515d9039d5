//! `ferric cpu agent` against a real RIC, driven by an xApp: reports of a base station that the test starts, controls with their
//! effect read back from `/proc`, refusals, and the host as it was before at the end.

mod support;

use std::thread::JoinHandle;
use std::time::Duration;

use cpu::Cpus;
use e2sm::cpu::{CpuChoice, CpuNumber, Policy};
use ferric::StopHandle;
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{CpuReport, Error, Feed, Node, Ric};
use rustix::process::{Pid, Signal, kill_process};
use support::{State, Unit, assert_same, lock, snapshot};
use testkit::eventually;
use testkit::program::Program;

const PATIENCE: Duration = Duration::from_secs(30);
const NODE: &str = "gnb-00101-e00-du-4095";

#[test]
#[ignore = "a base station, which the tests start"]
fn unit() {
    support::be_a_unit();
}

/// A RIC on free ports.
struct RunningRic {
    e2: Address,
    xapp: Address,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl RunningRic {
    fn start() -> RunningRic {
        let any = || Address::Tcp { host: "127.0.0.1".into(), port: 0 };
        let config = ServerConfig { e2: vec![any().into()], xapp: Some(any()), ..ServerConfig::default() };
        let mut server = Server::bind(config).unwrap();
        let (e2, xapp) = (server.e2_addresses().next().unwrap().clone(), server.xapp_address().unwrap().clone());
        let stop = server.stop_handle();
        RunningRic { e2, xapp, stop, thread: Some(std::thread::spawn(move || server.run().unwrap())) }
    }
}

impl Drop for RunningRic {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_some_and(|ended| ended.is_ok()) || std::thread::panicking());
    }
}

/// A base station, its agent, and an xApp's handle of the agent's node.
struct Scene {
    unit: Unit,
    agent: Option<Program>,
    node: Node,
    reports: Feed<CpuReport>,
    state: State,
    _ric: RunningRic,
    last: usize,
}

impl Scene {
    fn start(name: &str, more: &[&str]) -> Scene {
        let (unit, state, ric) = (Unit::start(&["ru_thread", "TASK_UDP"]), State::new(name, None), RunningRic::start());
        let last = cpu::Host::read().unwrap().online.iter().next_back().unwrap();
        let (address, pid, cpus) = (ric.e2.to_string(), unit.pid(), last.to_string());
        let own = ["agent", "--ric", &address, "--pid", &pid, "--profile", "vbbu", "--cpus", &cpus];
        let arguments = [&own, more].concat();
        let mut agent = state.start(&arguments);
        agent.line(&format!("{NODE}: CPUs of"));
        let xapp = Ric::options().address(ric.xapp.to_string()).connect().unwrap();
        let node = xapp.deadline(PATIENCE).node(NODE).unwrap();
        let reports = node.cpu().every(100).unwrap();
        Scene { unit, agent: Some(agent), node, reports, state, _ric: ric, last }
    }

    /// The next report for which something holds.
    #[track_caller]
    fn report(&mut self, what: &str, holds: impl Fn(&CpuReport) -> bool) -> CpuReport {
        let until = std::time::Instant::now() + PATIENCE;
        loop {
            let report = self.reports.next_within(PATIENCE).unwrap().expect("the session lasts");
            if holds(&report) {
                return report;
            }
            assert!(std::time::Instant::now() < until, "no report has {what}: {report:?}");
        }
    }

    /// Whether all of the unit's threads may use these CPUs.
    fn is_on(&self, cpus: &str) -> bool {
        self.unit.cpus().values().all(|of_thread| of_thread == cpus)
    }

    fn stop(&mut self) -> testkit::program::Outcome {
        support::stop(self.agent.take().unwrap())
    }
}

/// The text of a refusal.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Refused { text: Some(text), .. }) => text,
        other => panic!("not refused with a reason: {other:?}"),
    }
}

#[test]
fn xapp_reads_waits_sets_policies_and_withdraws_them() {
    let Some(_lock) = lock() else { return };
    let mut scene = Scene::start("agent", &[]);
    let last = scene.last.to_string();
    scene.unit.tell(&format!("tick {last}"));
    let report = scene.report("the periodic thread", |report| {
        let is_it = |thread: &&e2sm::cpu::Thread<'_>| &*thread.name == "victim" && thread.subframes > Some(0);
        report.threads.iter().any(|thread| is_it(&thread) && thread.waits.total() > 0)
    });
    let host = cpu::Host::read().unwrap();
    assert_eq!(report.host.cpus.iter().map(|cpu| usize::from(cpu.number.0)).collect::<Cpus>(), host.online);
    assert_eq!((report.unit.policy, report.unit.changes, !report.threads.is_empty()), (Policy::None, 0, true));
    assert!(report.period > Duration::ZERO && report.host.cpus.iter().all(|cpu| cpu.utilisation_percent() <= 100.0));

    let before = snapshot(&[&scene.unit]);
    let cpu = scene.node.cpu();
    cpu.set_policy(Policy::Wa).unwrap();
    assert!(scene.is_on(&last), "{:?}", scene.unit.cpus());
    let report = scene.report("the policy", |report| report.unit.policy == Policy::Wa);
    assert_eq!(report.unit.cpus.iter().map(|cpu| usize::from(cpu.0)).collect::<Vec<_>>(), [scene.last]);
    assert!(report.unit.changes > 0);
    // all CPUs are too many for a shield, and what is refused changes nothing
    let all = u16::try_from(host.online.len()).unwrap();
    cpu.set_count(all).unwrap();
    assert!(scene.is_on(&host.online.to_string()));
    let text = refusal(cpu.set_policy(Policy::Shield));
    assert!(text.contains("would leave other tasks none"), "{text}");
    for (result, expected) in [
        (cpu.set_count(all + 1), "are online"),
        (cpu.set_cpus([1023]), "CPU 1023 is not online"),
        (cpu.set_policy(Policy::Isolcpus), "would leave other tasks none"),
        (cpu.apply(None, None), "neither the policy nor the CPUs"),
    ] {
        let text = refusal(result);
        assert!(text.contains(expected), "{text}");
    }
    assert!(
        matches!(cpu.set_cpus([]), Err(Error::Invalid { .. }))
            && matches!(cpu.set_count(0), Err(Error::Invalid { .. }))
    );
    assert!(scene.is_on(&host.online.to_string()));
    cpu.withdraw().unwrap();
    assert_same(&snapshot(&[&scene.unit]), &before);
    scene.report("no policy", |report| report.unit.policy == Policy::None);
    // nothing is moved by it until the base station waits too long
    cpu.apply(Some(Policy::Dynamic), Some(CpuChoice::List(vec![CpuNumber(scene.last as u16)].into()))).unwrap();
    scene.report("the dynamic policy", |report| report.unit.policy == Policy::Dynamic);
    cpu.withdraw().unwrap();
    assert_same(&snapshot(&[&scene.unit]), &before);

    // a setting that nobody renews
    cpu.valid_for(Duration::from_secs(5)).set_policy(Policy::Wa).unwrap();
    assert!(scene.is_on(&last));
    eventually("the setting to be withdrawn", || !scene.is_on(&last));
    assert_same(&snapshot(&[&scene.unit]), &before);

    // everything is restored at the end
    cpu.set_policy(Policy::Ta).unwrap();
    assert!(scene.is_on(&last));
    let outcome = scene.stop();
    assert_eq!((outcome.code(), outcome.stdout.ends_with("restored")), (Some(0), true), "{}", outcome.stdout);
    assert_same(&snapshot(&[&scene.unit]), &before);
}

#[test]
fn configured_policy_is_in_force_again_after_a_withdrawal_and_undone_after_a_kill() {
    let Some(_lock) = lock() else { return };
    let before = |unit: &Unit| unit.cpus().into_values().next().unwrap();
    let mut scene = Scene::start("agent-configured", &["--policy", "wa", "--flat"]);
    let last = scene.last.to_string();
    let all = cpu::Host::read().unwrap().online.to_string();
    scene.report("the configured policy", |report| report.unit.policy == Policy::Wa);
    assert!(scene.is_on(&last));
    scene.node.cpu().set_policy(Policy::None).unwrap();
    scene.report("no policy", |report| report.unit.policy == Policy::None);
    assert!(scene.is_on(&all), "{}", before(&scene.unit));
    scene.node.cpu().withdraw().unwrap();
    assert!(scene.is_on(&last));
    let agent = scene.agent.take().unwrap();
    kill_process(Pid::from_raw(agent.id().cast_signed()).unwrap(), Signal::KILL).unwrap();
    drop(agent);
    eventually("the watchdog to restore", || scene.is_on(&all));
}

#[test]
fn policy_of_another_process_is_reported_and_not_replaced() {
    let Some(_lock) = lock() else { return };
    let mut scene = Scene::start("agent-other", &[]);
    let last = scene.last.to_string();
    scene.state.succeeds(&["apply", "wa", "--pid", &scene.unit.pid(), "--cpus", &last]);
    let report = scene.report("the policy of the other process", |report| report.unit.policy == Policy::Wa);
    assert!(report.unit.changes > 0);
    let text = refusal(scene.node.cpu().set_policy(Policy::Ta));
    assert!(text.contains("policy wa is applied already"), "{text}");
    scene.state.succeeds(&["undo"]);
    scene.node.cpu().set_policy(Policy::Wa).unwrap();
    // and the other way round
    let pid = format!("process {} manages", scene.agent.as_ref().unwrap().id());
    scene.state.run(&["apply", "ta", "--pid", &scene.unit.pid()]).complains(1, &[&pid]);
    scene.node.cpu().withdraw().unwrap();

    // the base station ends, and is waited for
    scene.unit = Unit::start(&[]);
    scene.report("no threads", |report| report.threads.is_empty());
    let outcome = scene.node.cpu().set_policy(Policy::Wa);
    let text = refusal(outcome);
    assert!(text.contains("no thread has the number"), "{text}");
}
