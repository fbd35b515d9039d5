//! Implicit conflicts: a KPI that the emulated RAN measures becomes worse after a control of another xApp. The RAN advances in steps,
//! and windows and holds are in its time, so the numbers are the same on every host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use conflicts::{ConflictConfig, ConflictRules};
use ferric::e2::Time;
use ferric::e2ap::{Cause, CauseRicRequest};
use ferric::xapp::{Error, KpmStream, Quota, Ric};
use ran::scenario::ScenarioFolders;
use ran::{Ran, RanConfig, Scenario};
use serde_json::{Value, json};
use system_tests::{TestRic, eventually};

/// A step, and the period of reports: a quarter of the window in the rules below.
const STEP: Duration = Duration::from_millis(200);
/// The steps of a window.
const WINDOW: usize = 4;
/// The steps of a hold.
const HOLD: usize = 10;

/// Two UEs, each in a network slice of its own, that take all that they get.
const TWO_SLICES: &str = "
seed = 1
[[cell]]
[[ue]]
sst = 1
mcs = 20
[[ue.flow]]
kind = \"cbr\"
rate_bps = 100_000_000
packet_octets = 1400
[[ue]]
sst = 2
mcs = 20
[[ue.flow]]
kind = \"cbr\"
rate_bps = 100_000_000
packet_octets = 1400
";

/// A UE with a packet each 25 ms, before which it sleeps until the next cycle of 10 ms.
const ONE_UE: &str = "
seed = 1
[[cell]]
[cell.drx]
long_cycle_ms = 10
on_duration_ms = 1
inactivity_ms = 1
[[ue]]
mcs = 20
[[ue.flow]]
kind = \"cbr\"
rate_bps = 64_000
packet_octets = 200
";

/// A KPI of the xApp `guard`, and what it is of.
#[derive(Clone, Copy)]
struct Kpi {
    name: &'static str,
    slice: Option<&'static str>,
    better: &'static str,
}

const THROUGHPUT: Kpi = Kpi { name: "DRB.UEThpDl", slice: Some("1"), better: "higher" };
const DELAY: Kpi = Kpi { name: "DRB.RlcSduDelayDl", slice: None, better: "lower" };

impl Kpi {
    /// Rules that protect it, with the priority of the other xApp; that of `guard` is 5.
    fn rules(&self, policy: &str, other: i32, parameters: &str) -> String {
        let slice = self.slice.map(|slice| format!("s_nssai = \"{slice}\"\n")).unwrap_or_default();
        format!(
            "[[xapp]]\nname = \"guard\"\npriority = 5\n[[xapp]]\nname = \"other\"\npriority = {other}\n\
             [[kpi]]\nname = \"{}\"\npolicy = \"{policy}\"\nprotects = \"guard\"\nbetter = \"{}\"\nparameters = [{parameters}]\n{slice}\
             degradation_percent = 20\nwindow_ms = 800\nhold_ms = 2000\n",
            self.name, self.better
        )
    }
}

/// A RIC with rules, an emulated RAN that stands between steps, and two xApps.
struct World {
    ric: TestRic,
    ran: Ran,
    /// The time of windows and holds, in nanoseconds.
    time: Arc<AtomicU64>,
    guard: Ric,
    other: Ric,
    /// The KPI, as `guard` receives it.
    records: KpmStream,
    kpi: Kpi,
    /// One for each step.
    values: Vec<f64>,
}

/// Does what waits for answers of the RAN, which is served meanwhile.
fn serve<T: Send>(ran: &mut Ran, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let worker = scope.spawn(work);
        while !worker.is_finished() {
            ran.poll(Some(Duration::from_millis(1))).unwrap();
        }
        worker.join().unwrap()
    })
}

impl World {
    /// Starts it, and advances the RAN by so many steps that a window lies before the next control.
    fn start(scenario: &str, kpi: Kpi, rules: &str) -> World {
        let time = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&time);
        let clock = Arc::new(move || Time::from_nanos(clock.load(Ordering::Relaxed)));
        let rules = ConflictRules::parse(rules).unwrap();
        let ric = TestRic::with(|config| {
            config.conflicts = Some(ConflictConfig { rules, audit: None, clock: Some(clock) });
        });
        let scenario = Scenario::from_toml(scenario, &ScenarioFolders::with_traces(".".as_ref())).unwrap();
        let rics = vec![ric.e2.clone().into()];
        let mut ran = Ran::new(RanConfig { rics, scenario, is_stepped: true, ..RanConfig::default() }).unwrap();
        eventually("the base station is connected", || {
            ran.poll(Some(Duration::from_millis(10))).unwrap();
            ran.up() == 1
        });
        let connect = |name: &str| Ric::options().address(ric.xapp.to_string()).name(name).connect().unwrap();
        let (guard, other, records) = serve(&mut ran, || {
            let (guard, other) = (connect("guard"), connect("other"));
            // the RIC has subscribed to the KPI before, so its report of a period precedes this one
            let request = guard.kpm([kpi.name]);
            let request = kpi.slice.map_or(request.clone(), |slice| request.slice(slice));
            let records = request.every(STEP.as_millis() as u32).unwrap();
            (guard, other, records)
        });
        let mut world = World { ric, ran, time, guard, other, records, kpi, values: Vec::new() };
        world.step(WINDOW + 2);
        world
    }

    /// Advances the RAN. The reports of each step have been processed when the next one begins.
    fn step(&mut self, steps: usize) {
        for _ in 0..steps {
            self.time.fetch_add(STEP.as_nanos() as u64, Ordering::Relaxed);
            self.ran.step(STEP).unwrap();
            let (records, name) = (&mut self.records, self.kpi.name);
            let record = serve(&mut self.ran, || records.next_record().unwrap().unwrap());
            self.values.push(record.number(name).unwrap());
        }
    }

    /// A control of an xApp. Returns the cause of a refusal.
    fn control<T: Send>(&mut self, control: impl FnOnce(&Ric) -> Result<T, Error> + Send) -> Result<(), Cause> {
        let other = &self.other;
        match serve(&mut self.ran, || control(other).map(drop)) {
            Err(Error::Refused { cause, .. }) => Err(cause),
            Ok(()) => Ok(()),
            Err(error) => panic!("{error}"),
        }
    }

    fn decisions(&self) -> Vec<Value> {
        self.ric.rest.get("/v1/conflicts/decisions")["decisions"].as_array().unwrap().clone()
    }

    /// Advances the RAN by the window after a control, whose degradation is found at its end. Returns the decision, and checks that it
    /// has the numbers that `guard` has received.
    fn degradation(&mut self) -> Value {
        self.step(WINDOW - 1);
        assert_eq!(self.decisions(), [json!(null); 0], "the window is not over");
        self.step(1);
        let mut decisions = self.decisions();
        assert_eq!(decisions.len(), 1, "{decisions:?}; {:?}", self.values);
        let decision = decisions.remove(0);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (before, after) = self.values.split_at(self.values.len() - WINDOW);
        // the report at the time of the control, and those of a window before it
        let before = &before[before.len() - WINDOW - 1..];
        let (before, after) = (mean(before), mean(after));
        let text = format!("{} was {before:.3} before and {after:.3} after it", self.kpi.name);
        let conflict = &decision["conflict"];
        assert!(conflict["reason"].as_str().unwrap().starts_with(&text), "{text}: {decision}");
        let change = if self.kpi.better == "higher" { after < 0.8 * before } else { after > 1.2 * before };
        assert!(change, "{:?}", self.values);
        assert_eq!((&conflict["kind"], &conflict["with"]), (&json!("implicit"), &json!("guard")), "{decision}");
        assert_eq!(decision["xapp"], "other");
        decision
    }
}

/// Guarantees a share to slice 2; the KPI is that of slice 1.
fn guarantee(percent: u8) -> impl FnOnce(&Ric) -> Result<Vec<ferric::xapp::Answer>, Error> + Send {
    move |ric| ric.quota("2", Quota { min_percent: percent, ..Quota::default() })
}

const REFUSED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);

/// A larger share of another slice takes the throughput of the protected one.
fn throughput(policy: &str, other: i32) -> World {
    World::start(TWO_SLICES, THROUGHPUT, &THROUGHPUT.rules(policy, other, "\"rc/2/6\""))
}

#[test]
fn weaker_xapp_is_refused_the_parameter_that_has_lowered_a_throughput() {
    let mut world = throughput("priority", 1);
    assert_eq!(world.control(guarantee(80)), Ok(()));
    let decision = world.degradation();
    assert_eq!((&decision["decision"], &decision["conflict"]["policy"]), (&json!("refused"), &json!("priority")));
    assert!(decision["settings"].to_string().contains("rc/2/6/"), "{decision}");
    assert_eq!(world.control(guarantee(90)), Err(REFUSED));
    // another parameter, and the xApp that is protected
    eventually("the UEs are known", || {
        world.step(1);
        world.other.ues().unwrap().len() == 2
    });
    let ue = world.other.ues().unwrap()[0].reference().to_string();
    assert_eq!(world.control(|ric| ric.ue(&*ue).unwrap().drx(20)), Ok(()));
    let guard = world.guard.clone();
    assert_eq!(world.control(|_| guarantee(40)(&guard)), Ok(()));
    world.step(HOLD);
    assert_eq!(world.control(guarantee(50)), Ok(()), "the time is over");
}

#[test]
fn stronger_xapp_lowers_a_throughput_and_is_noted_only() {
    let mut world = throughput("priority", 9);
    assert_eq!(world.control(guarantee(80)), Ok(()));
    let decision = world.degradation();
    assert_eq!(decision["decision"], "sent");
    let reason = decision["conflict"]["reason"].as_str().unwrap();
    assert!(reason.ends_with("its priority is not below that of guard"), "{reason}");
    assert_eq!(world.control(guarantee(90)), Ok(()));
}

#[test]
fn cooldown_also_refuses_an_xapp_of_higher_priority() {
    let mut world = throughput("cooldown", 9);
    assert_eq!(world.control(guarantee(80)), Ok(()));
    let decision = world.degradation();
    assert_eq!((&decision["decision"], &decision["conflict"]["policy"]), (&json!("refused"), &json!("cooldown")));
    assert_eq!(world.control(guarantee(90)), Err(REFUSED));
    world.step(HOLD);
    assert_eq!(world.control(guarantee(80)), Ok(()), "the time is over");
}

#[test]
fn control_without_effect_on_the_kpi_is_no_conflict() {
    let mut world = throughput("cooldown", 1);
    // what it has without a quota
    assert_eq!(world.control(guarantee(50)), Ok(()));
    world.step(2 * WINDOW);
    assert_eq!(world.decisions(), [json!(null); 0], "{:?}", world.values);
    assert_eq!(world.control(guarantee(80)), Ok(()));
    world.degradation();
}

#[test]
fn longer_drx_cycle_lengthens_a_delay() {
    let mut world = World::start(ONE_UE, DELAY, &DELAY.rules("cooldown", 1, ""));
    eventually("the UE is known", || {
        world.step(1);
        world.other.ues().unwrap().len() == 1
    });
    let ue = world.other.ues().unwrap()[0].reference().to_string();
    let drx = |ric: &Ric| ric.ue(&*ue).unwrap().drx(160);
    assert_eq!(world.control(drx), Ok(()));
    let decision = world.degradation();
    assert!(decision["settings"].to_string().contains("rc/2/1"), "{decision}");
    assert_eq!(world.control(drx), Err(REFUSED));
}
