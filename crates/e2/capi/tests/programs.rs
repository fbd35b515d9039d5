//! C programs with the library: the base station of the manual, and what may be done wrong; also under valgrind and with the
//! sanitizers of the C compiler.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use e2sm::kpm::{
    EveryUe, IndicationMessage, MeasurementRequest, MeasurementType, RanFunctionDefinition, ReportRequest, Revision,
    Scope,
};
use ferric::e2::{Action, SubscriptionSpec};
use ferric::e2ap::{Cause, CauseRicRequest, Codec, RanFunctionId, RicActionId, RicActionType};
use ferric::link::Address;
use ferric::server::{Server, ServerConfig};
use ferric::xapp::{Error, Qos, Quota, Xapp, XappEvent};
use ferric::{Endpoint, StopHandle};
use testkit::c_program::{CProgram, is_installed, library_folder};

const PATIENCE: Duration = Duration::from_secs(120);
const KPM: RanFunctionId = RanFunctionId(2);
const OWN: RanFunctionId = RanFunctionId(99);

/// Compiles a program of this crate, with the static library.
fn compile(compiler: &str, source: &str, name: &str, options: &[&str]) -> PathBuf {
    compile_with("libferric_capi.a", compiler, source, name, options)
}

/// The same with one of the libraries.
fn compile_with(library: &str, compiler: &str, source: &str, name: &str, options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (source, include, library) = (folder.join(source), folder.join("include"), library_folder().join(library));
    let program = CProgram { source: &source, include: &include, library: &library, compiler, options };
    program.compile(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
}

/// A RIC with free ports.
struct Ric {
    e2: Address,
    xapp: Address,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Ric {
    fn start() -> Ric {
        let any = || Address::Tcp { host: "127.0.0.1".into(), port: 0 };
        let e2 = vec![Endpoint::new(any(), Codec::Per)];
        let config = ServerConfig { e2, xapp: Some(any()), ..ServerConfig::default() };
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let mut server = Server::bind(config).unwrap();
            let addresses = (server.e2_addresses().next().unwrap().clone(), server.xapp_address().unwrap().clone());
            sender.send((addresses, server.stop_handle())).unwrap();
            server.run().unwrap();
        });
        let ((e2, xapp), stop) = receiver.recv().unwrap();
        Ric { e2, xapp, stop, thread: Some(thread) }
    }
}

impl Drop for Ric {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

/// A running program, ended when dropped.
struct Program(Child);

impl Program {
    fn start(program: &mut Command) -> Program {
        Program(program.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// The same for a program that also prints.
    fn end_with_output(mut self) -> (bool, String) {
        let mut output = self.0.stdout.take().unwrap();
        let (succeeded, mut log) = self.end();
        output.read_to_string(&mut log).unwrap();
        (succeeded, log)
    }

    /// Asks it to end. Returns whether it ended with success, and what it wrote.
    fn end(mut self) -> (bool, String) {
        let _ = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status();
        let lines = BufReader::new(self.0.stderr.take().unwrap()).lines();
        let text: Vec<String> = lines.map_while(Result::ok).collect();
        (self.0.wait().unwrap().success(), text.join("\n"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn throughput_of_every_ue(definition: &[u8]) -> SubscriptionSpec {
    let offered = RanFunctionDefinition::decode_owned(definition, Revision::V3_00).unwrap();
    let names = [MeasurementRequest::named("DRB.UEThpDl"), MeasurementRequest::named("DRB.RlcSduDelayDl")];
    let request = ReportRequest {
        measurements: &names,
        granularity_period_ms: 500,
        reporting_period_ms: 500,
        scope: Scope::EveryUe(EveryUe::AnySignal),
    };
    let plan = request.plan(&offered, Revision::V3_00).unwrap();
    let (mut event_trigger, mut definition) = (Vec::new(), Vec::new());
    plan.trigger.encode(Revision::V3_00, &mut event_trigger).unwrap();
    plan.action.encode(Revision::V3_00, &mut definition).unwrap();
    report_of(RicActionId(0), event_trigger, Some(definition))
}

fn report_of(id: RicActionId, event_trigger: Vec<u8>, definition: Option<Vec<u8>>) -> SubscriptionSpec {
    let action = Action { id, kind: RicActionType::Report, definition, subsequent: None };
    SubscriptionSpec { event_trigger, actions: vec![action] }
}

/// What the base station of the manual has reported.
#[derive(Debug, Default)]
struct Reports {
    /// UE, measurement and value of the last report by KPM.
    rows: Vec<(String, String, f64)>,
    /// The slots of the reports of its own function.
    slots: Vec<u32>,
}

/// Reads reports of the base station until `enough`.
fn read_reports(ric: &Ric, enough: impl Fn(&Reports) -> bool) -> Reports {
    let mut reports = Reports::default();
    let mut xapp = Xapp::connect(&ric.xapp, "reader", Default::default()).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !enough(&reports) {
        assert!(Instant::now() < deadline, "{reports:?}");
        let wait = Some(Duration::from_millis(100));
        xapp.poll(wait, |event, ric| match event {
            XappEvent::NodeUp(node) => {
                let kpm = node.functions.iter().find(|function| function.id == KPM).unwrap();
                let _ = ric.subscribe(node.id, KPM, throughput_of_every_ue(&kpm.definition));
                let _ = ric.subscribe(node.id, OWN, report_of(RicActionId(1), Vec::new(), None));
            }
            XappEvent::Indication(indication) => {
                let indication = indication.peek().unwrap();
                if let Ok(slot) = <[u8; 4]>::try_from(indication.message) {
                    reports.slots.push(u32::from_be_bytes(slot));
                    return;
                }
                let message = IndicationMessage::decode_owned(indication.message, Revision::V3_00).unwrap();
                reports.rows.clear();
                for row in message.rows(None) {
                    let Some(MeasurementType::MeasName(name)) = row.measurement else { continue };
                    let (Some(ue), Some(value)) = (row.ue, row.value.number()) else { continue };
                    reports.rows.push((e2sm::ue_name(ue), name.to_string(), value));
                }
            }
            _ => {}
        })
        .unwrap();
    }
    reports
}

#[test]
fn base_station_in_c_reports_its_counters() {
    let gnb = compile("cc", "examples/gnb.c", "gnb", &["-std=c11", "-D_GNU_SOURCE"]);
    let ric = Ric::start();
    let running = Program::start(Command::new(gnb).arg(ric.e2.to_string()));
    // a first period may begin before the slots do
    let reports = read_reports(&ric, |reports| {
        reports.slots.len() >= 20 && reports.rows.len() == 4 && reports.rows.iter().all(|row| row.2 > 0.0)
    });
    // octets per slot of 1 ms: 1,250 and 2,500; a loaded host shifts slots from one period to the next
    for (ue, kbps) in [("amf:7", 10_000.0), ("amf:8", 20_000.0)] {
        let value = |name: &str| reports.rows.iter().find(|row| row.0 == ue && row.1 == name).unwrap().2;
        assert!((0.5..2.0).contains(&(value("DRB.UEThpDl") / kbps)), "{reports:?}");
        assert_eq!(value("DRB.RlcSduDelayDl"), 25.0, "2.5 ms in 0.1 ms");
    }
    assert!(reports.slots.windows(2).all(|slots| slots[1] == slots[0] + 10), "{reports:?}");
    let (succeeded, log) = running.end();
    assert!(succeeded && log.contains("gNB 00101-c0 up"), "{log}");
}

#[test]
fn misuse_is_answered() {
    for (compiler, language, name) in [("gcc", "c", "misuse-c"), ("g++", "c++", "misuse-cpp")] {
        let misuse = compile(compiler, "tests/misuse.c", name, &["-x", language]);
        let ended = Command::new(misuse).output().unwrap();
        assert!(ended.status.success(), "{compiler}: {}", String::from_utf8_lossy(&ended.stdout));
    }
}

#[test]
fn misuse_by_xapps_is_answered() {
    let ric = Ric::start();
    let setups = [
        ("gcc", "c", "misuse-xapp-c", "libferric_capi.a", ""),
        ("g++", "c++", "misuse-xapp-cpp", "libferric_capi.so", ""),
        ("gcc", "c", "misuse-xapp-asan", "libferric_capi.a", "-fsanitize=address,undefined"),
    ];
    for (compiler, language, name, library, option) in setups {
        let options: Vec<&str> = ["-x", language, option].into_iter().filter(|option| !option.is_empty()).collect();
        let misuse = compile_with(library, compiler, "tests/misuse_xapp.c", name, &options);
        let mut misuse = Command::new(misuse);
        let ended = misuse.arg(ric.xapp.to_string()).env("LD_LIBRARY_PATH", library_folder()).output().unwrap();
        let (printed, complaints) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "{name}: {} {printed} {complaints}", ended.status);
    }
}

#[test]
fn valgrind_finds_no_error() {
    if !is_installed("valgrind") {
        return;
    }
    let gnb = compile("cc", "examples/gnb.c", "gnb-valgrind", &["-std=c11", "-D_GNU_SOURCE"]);
    let ric = Ric::start();
    let mut valgrind = Command::new("valgrind");
    // the slot thread leaves the agent its turns
    valgrind.args([
        "--quiet",
        "--fair-sched=yes",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
    ]);
    let running = Program::start(valgrind.arg(gnb).arg(ric.e2.to_string()));
    read_reports(&ric, |reports| reports.slots.len() >= 20 && reports.rows.len() == 4);
    let (succeeded, log) = running.end();
    assert!(succeeded, "{log}");
}

#[test]
fn sanitizers_find_no_error() {
    // the sanitizer of threads does not see the atomic operations of the library: it leaves out what the library calls, which it
    // recognizes as a shared object
    let sanitizers =
        [("address,undefined", "gnb-asan", "libferric_capi.a"), ("thread", "gnb-tsan", "libferric_capi.so")];
    for (sanitizer, name, library) in sanitizers {
        let option = format!("-fsanitize={sanitizer}");
        let gnb = compile_with(library, "gcc", "examples/gnb.c", name, &["-std=c11", "-D_GNU_SOURCE", &option]);
        let ric = Ric::start();
        let mut gnb = Command::new(gnb);
        gnb.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1").env("LD_LIBRARY_PATH", library_folder());
        let running = Program::start(gnb.arg(ric.e2.to_string()));
        read_reports(&ric, |reports| reports.slots.len() >= 20 && reports.rows.len() == 4);
        let (succeeded, log) = running.end();
        assert!(succeeded && !log.contains("Sanitizer"), "{sanitizer}: {log}");
    }
}

/// What an xApp can do with the base station whose UEs are controlled; the program prints what is left of it.
fn controls_are_executed(gnb: &Path, mode: Option<&str>) {
    let ric = Ric::start();
    let mut command = Command::new(gnb);
    command.env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1").env("LD_LIBRARY_PATH", library_folder());
    let running = Program::start(command.arg(ric.e2.to_string()).args(mode).stdout(Stdio::piped()));
    let xapp = ferric::xapp::Ric::options().address(ric.xapp.to_string()).connect().unwrap().deadline(PATIENCE);
    let (ue, other) = (xapp.ue("amf:7").unwrap(), xapp.ue("amf:8").unwrap());
    assert_eq!(ue.drx(320).unwrap().node, "gnb-00101-c0");
    // 12.5 octets times 100 in each slot of 1 ms are 10 Mbit/s of each UE
    let rate = |kbps: f64| {
        let mut records = xapp.kpm(["DRB.UEThpDl"]).ue("amf:7").every(200).unwrap();
        let mut rates = std::iter::from_fn(|| records.next_within(PATIENCE).unwrap());
        rates.any(|record| record.number("DRB.UEThpDl").is_some_and(|rate| (0.5..1.5).contains(&(rate / kbps))))
    };
    assert!(rate(10_000.0));
    let quota = Quota { max_percent: 20, ..Quota::default() };
    xapp.quota("1", quota).unwrap();
    assert!(rate(2_000.0));
    let error = ue.handover("00000c003").unwrap_err();
    let Error::Refused { cause, text: Some(text), .. } = &error else { panic!("{error:?}") };
    assert_eq!(*cause, Cause::RicRequest(CauseRicRequest::ControlFailedToExecute));
    assert!(text.contains("no such neighbour cell"), "{text}");
    other.handover("00000c002").unwrap();
    let error = ue.qos(Qos { priority: Some(1), ..Qos::default() }).unwrap_err();
    assert_eq!(error.code(), "not-offered", "{error}");
    let (succeeded, printed) = running.end_with_output();
    let is_clean = succeeded && !printed.contains("Sanitizer");
    assert!(is_clean && printed.contains("DRX 320 0 ms, quota 20 %"), "{printed}");
}

#[test]
fn controls_are_executed_by_the_slot_thread_or_the_agent() {
    let gnb = compile("cc", "examples/gnb_controls.c", "gnb-controls", &["-std=c11", "-D_GNU_SOURCE"]);
    controls_are_executed(&gnb, None);
    controls_are_executed(&gnb, Some("agent"));
}

#[test]
fn controls_are_clean_with_sanitizers() {
    let sanitizers = [("address,undefined", "libferric_capi.a"), ("thread", "libferric_capi.so")];
    for (sanitizer, library) in sanitizers {
        let option = format!("-fsanitize={sanitizer}");
        let name = format!("gnb-controls-{}", &sanitizer[..6]);
        let options = ["-std=c11", "-D_GNU_SOURCE", &option];
        let gnb = compile_with(library, "gcc", "examples/gnb_controls.c", &name, &options);
        controls_are_executed(&gnb, None);
    }
}

/// A control that no thread takes is refused when its time is over, and is not executed afterwards.
#[test]
fn control_without_an_answer_is_refused_in_time() {
    let gnb = compile("cc", "tests/idle_gnb.c", "gnb-idle", &["-std=c11", "-D_GNU_SOURCE"]);
    let ric = Ric::start();
    let running = Program::start(Command::new(gnb).arg(ric.e2.to_string()));
    let xapp = ferric::xapp::Ric::options().address(ric.xapp.to_string()).connect().unwrap().deadline(PATIENCE);
    let error = xapp.ue("amf:7").unwrap().drx(320).unwrap_err();
    assert_eq!(error.cause(), Some(Cause::RicRequest(CauseRicRequest::ControlTimerExpired)), "{error}");
    assert!(error.to_string().contains("has not answered in 1000 ms"), "{error}");
    let (succeeded, log) = running.end();
    assert!(succeeded, "{log}");
}
