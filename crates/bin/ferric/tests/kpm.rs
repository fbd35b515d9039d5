//! `ferric xapp kpm` with base stations that differ from ours: revisions, time stamps, missing values.

mod program;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use e2ap::{Cause, CauseRicRequest, GlobalE2NodeId, GnbId, RanFunctionId, RanFunctionRevision, Version};
use e2sm::common::{RanFunctionName, RicFormatType, RicStyleName, RicStyleType};
use e2sm::kpm::{
    IndicationHeader, IndicationHeaderFormat1, IndicationHeaderFormats, IndicationMessage, IndicationMessageFormat1,
    IndicationMessageFormats, MeasurementDataItem, MeasurementInfoActionItem, MeasurementRecordItem,
    MeasurementTypeName, OID_V1, OID_V2, RanFunctionDefinition, Revision, RicReportStyleItem, TimeStamp,
    TimestampFormat,
};
use ferric::StopHandle;
use ferric::agent::{
    Admission, AgentLoopConfig, ControllerId, FunctionContext, NodeConfig, RanFunction, RequestKey, SendAgentLoop,
    Views,
};
use ferric::e2::{Function, SubscriptionRequest, Time};
use per::{List, PrintableString};
use program::{Outcome, Program};

/// What a base station registers and sends.
struct Kpm {
    oid: &'static str,
    definition: Vec<u8>,
    /// A header and a message; called for each report.
    report: Box<dyn FnMut() -> (Vec<u8>, Vec<u8>) + Send>,
    /// The action definitions of each subscription.
    requested: Sender<Vec<Vec<u8>>>,
    /// The most actions of a subscription; more are refused as a whole.
    most_actions: usize,
    subscription: Option<(RequestKey, e2ap::RicActionId, Time)>,
}

const PERIOD: Duration = Duration::from_millis(100);

impl RanFunction for Kpm {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(2)
    }

    fn definition(&self) -> Function {
        Function {
            id: self.id(),
            revision: RanFunctionRevision(1),
            oid: self.oid.to_owned(),
            definition: self.definition.clone(),
        }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let definitions = request.actions.iter().map(|action| action.definition.clone().unwrap()).collect();
        self.requested.send(definitions).unwrap();
        if request.actions.len() > self.most_actions {
            return Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported));
        }
        let key = RequestKey { controller, id: request.request_id };
        self.subscription = Some((key, request.actions[0].id, now + PERIOD));
        let admitted = request.actions.iter().map(|action| action.id).collect();
        Ok(Admission { admitted, not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, _: RequestKey) {
        self.subscription = None;
    }

    fn next_report(&self) -> Option<Time> {
        self.subscription.map(|(_, _, due)| due)
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let Some((key, action, due)) = &mut self.subscription else { return };
        let (header, message) = (self.report)();
        context.report(*key, *action, &header, &message).unwrap();
        *due = now + PERIOD;
    }
}

/// A RIC and a base station. E2AP v01.00 does not carry the object identifier.
struct Setup {
    ric: Program,
    xapp: String,
    stop: StopHandle,
    agent: JoinHandle<()>,
    requested: std::sync::mpsc::Receiver<Vec<Vec<u8>>>,
}

impl Setup {
    fn new(
        version: Version,
        oid: &'static str,
        definition: Vec<u8>,
        most_actions: usize,
        report: impl FnMut() -> (Vec<u8>, Vec<u8>) + Send + 'static,
    ) -> Setup {
        let mut ric = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
        let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
        let (sender, requested) = channel();
        let report = Box::new(report);
        let kpm = Kpm { oid, definition, report, requested: sender, most_actions, subscription: None };
        let functions: Vec<Box<dyn RanFunction + Send>> = vec![Box::new(kpm)];
        let mut agents = SendAgentLoop::new_send(AgentLoopConfig::default()).unwrap();
        let id = GlobalE2NodeId::gnb(e2ap::PlmnIdentity::from_codes(1, 1, 2), GnbId::new(0xe00, 22));
        let node = agents.add_node(NodeConfig { version: Some(version), ..NodeConfig::new(id) }, functions);
        agents.add_controller(node, e2.parse().unwrap());
        let stop = agents.stop_handle();
        let agent = std::thread::spawn(move || agents.run().unwrap());
        Setup { ric, xapp, stop, agent, requested }
    }

    fn kpm(&self, arguments: &[&str]) -> Program {
        let period = PERIOD.as_millis().to_string();
        let own = ["xapp", "kpm", "--ric", &self.xapp, "--period-ms", &period];
        program::start(&[&own[..], arguments].concat())
    }

    /// The log of the RIC.
    fn end(self) -> Outcome {
        self.stop.stop();
        self.agent.join().unwrap();
        self.ric.stop()
    }
}

/// A definition of v03.00 with one style.
fn definition(style: i64, format: i64, names: &'static [&'static str]) -> Vec<u8> {
    let item = |name: &&'static str| MeasurementInfoActionItem {
        meas_name: MeasurementTypeName(PrintableString::literal(name)),
        meas_id: None,
        bin_range_def: None,
    };
    let style = RicReportStyleItem {
        ric_report_style_type: RicStyleType(style),
        ric_report_style_name: RicStyleName(PrintableString::literal("E2 Node Measurement")),
        ric_action_format_type: RicFormatType(format),
        meas_info_action_list: names.iter().map(item).collect(),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(1),
    };
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: PrintableString::literal("ORAN-E2SM-KPM"),
            e2sm_oid: PrintableString::literal(OID_V2),
            description: PrintableString::literal("KPM"),
            instance: None,
        },
        ric_event_trigger_style_list: None,
        ric_report_style_list: Some(List::from(vec![style])),
    };
    let mut bytes = Vec::new();
    definition.encode(Revision::V3_00, &mut bytes).unwrap();
    bytes
}

fn header(stamp: TimeStamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    let format1 = IndicationHeaderFormat1 {
        collet_start_time: stamp,
        file_format_version: None,
        sender_name: None,
        sender_type: None,
        vendor_name: None,
    };
    let header = IndicationHeader { formats: IndicationHeaderFormats::Format1(format1) };
    header.encode(Revision::V3_00, &mut bytes).unwrap();
    bytes
}

/// A message without names.
fn message(values: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let record = MeasurementDataItem {
        meas_record: values.iter().map(|value| MeasurementRecordItem::Integer(*value)).collect(),
        incomplete_flag: None,
    };
    let format1 =
        IndicationMessageFormat1 { meas_data: List::from(vec![record]), meas_info_list: None, granul_period: None };
    let message = IndicationMessage { formats: IndicationMessageFormats::Format1(format1) };
    message.encode(Revision::V3_00, &mut bytes).unwrap();
    bytes
}

/// Reads a vector of this project.
fn vector(name: &str) -> Vec<u8> {
    let path = format!("{}/../../../vectors/kpm/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let digits = text.trim();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The summary, which is in the log because standard output is JSON.
fn summary(outcome: &Outcome) -> &str {
    outcome.stderr.lines().rfind(|line| line.contains("indications=")).unwrap_or_default()
}

const CELL: &[&str] = &["RRU.PrbTotDl", "RRU.PrbTotUl"];

/// The latency in a summary line: a number or `-`.
fn latency(outcome: &Outcome) -> &str {
    let line = summary(outcome);
    line.split_whitespace().find_map(|field| field.strip_prefix("p50_us=")).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn microseconds_since_1970_are_recognised_and_give_a_latency() {
    let report = || (header(TimestampFormat::UnixMicros.long(SystemTime::now())), message(&[1, 2]));
    let setup = Setup::new(Version::V2_03, OID_V2, definition(1, 1, CELL), 1, report);
    let mut kpm = setup.kpm(&["--json"]);
    kpm.logs("time stamps: microseconds since 1970");
    (0..3).for_each(|_| drop(kpm.line("{")));
    let outcome = kpm.stop();
    let us: u64 = latency(&outcome).parse().unwrap_or_else(|_| panic!("{}", summary(&outcome)));
    assert!(us > 0, "{}", summary(&outcome));
    assert_eq!(outcome.stderr.matches("time stamps: ").count(), 1, "once for a node: {}", outcome.stderr);
    setup.end();
}

#[test]
fn unknown_latency_is_not_zero() {
    // the counter of a base station that has no clock
    let ticks = Arc::new(Mutex::new(0_u64));
    let report = move || {
        let mut ticks = ticks.lock().unwrap();
        *ticks += 1;
        (header(TimeStamp::Long(ticks.to_be_bytes())), message(&[1, 2]))
    };
    let setup = Setup::new(Version::V2_03, OID_V2, definition(1, 1, CELL), 1, report);
    let mut kpm = setup.kpm(&["--json"]);
    kpm.logs("the latency is unknown");
    (0..3).for_each(|_| drop(kpm.line("{")));
    let outcome = kpm.stop();
    assert!(summary(&outcome).ends_with("p50_us=- p99_us=-"), "{}", summary(&outcome));
    assert_eq!(outcome.stderr.matches("the latency is unknown").count(), 1, "{}", outcome.stderr);
    setup.end();
}

#[test]
fn values_of_a_short_record_have_no_names() {
    let mut reports = 0;
    let report = move || {
        reports += 1;
        let values = if reports < 4 { &[7][..] } else { &[7, 8] };
        (header(TimestampFormat::Ntp.long(SystemTime::now())), message(values))
    };
    let setup = Setup::new(Version::V2_03, OID_V2, definition(1, 1, CELL), 1, report);
    let mut kpm = setup.kpm(&["--json"]);
    let values = |kpm: &mut Program| {
        let report: serde_json::Value = serde_json::from_str(&format!("{{{}", kpm.line("{"))).unwrap();
        report["values"]["cell"].clone()
    };
    for _ in 0..3 {
        assert_eq!(values(&mut kpm), serde_json::json!({ "?1": 7.0 }));
    }
    assert_eq!(values(&mut kpm), serde_json::json!({ "RRU.PrbTotDl": 7.0, "RRU.PrbTotUl": 8.0 }));
    let outcome = kpm.stop();
    assert_eq!(outcome.stderr.matches("leaves out or adds values").count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("reported=1 expected=2"), "{}", outcome.stderr);
    setup.end();
}

#[test]
fn cu_cp_is_asked_for_what_it_offers() {
    let report = || (header(TimestampFormat::Ntp.long(SystemTime::now())), message(&[3]));
    let setup = Setup::new(Version::V2_03, OID_V2, definition(1, 1, &["RRC.ConnMean"]), 1, report);
    let mut kpm = setup.kpm(&["--json"]);
    assert!(kpm.line("{").contains("\"RRC.ConnMean\":3.0"));
    kpm.stop();
    let refused = setup.kpm(&["--measurement", "DRB.UEThpDl", "--seconds", "2"]).end();
    refused.complains(
        1,
        &["DRB.UEThpDl of each UE or of the cell", "E2 Node Measurement", "RRC.ConnMean", "--measurement"],
    );
    setup.end();
}

/// As O-RAN SC's kpm_sim: E2AP v01.00 without OID, an empty short name, one action, and the messages of v01.02.
#[test]
fn simulator_of_v1_gets_one_action_and_is_read() {
    let mut reports = 0;
    let report = move || {
        reports += 1;
        let names = ["v01.02-message-style1", "v01.02-message-du-ue", "v01.02-message-cuup-ue"];
        (vector("v01.02-header-1"), vector(names[reports % names.len()]))
    };
    let setup = Setup::new(Version::V1_00, OID_V1, vector("v01.00-definition-unnamed"), 1, report);
    let mut kpm = setup.kpm(&["--json"]);
    let mut seen = String::new();
    while !["c-rnti-17921", "\"RRU.PrbAvailDl\":273.0", "pDCPBytesDL"].iter().all(|piece| seen.contains(piece)) {
        seen += &kpm.line("{");
    }
    let outcome = kpm.stop();
    assert!(summary(&outcome).ends_with("p50_us=- p99_us=-"), "{}", summary(&outcome));
    assert_eq!(setup.requested.recv().unwrap().len(), 1);
    let mut kpm = setup.kpm(&["--json", "--kpm", "1.00", "--style", "5"]);
    kpm.line("{");
    kpm.stop();
    let action = e2sm::kpm::v1::ActionDefinition::decode(&setup.requested.recv().unwrap()[0]).unwrap();
    assert_eq!(action.ric_style_type, RicStyleType(5));
    let ric = setup.end();
    for piece in ["up: KPM v1.00", "subscribed: KPM v1.00, one action"] {
        assert!(ric.stderr.contains(piece), "{piece} in: {}", ric.stderr);
    }
    assert!(!ric.stderr.contains("cannot decode"), "{}", ric.stderr);
}

/// As ONOS's RAN simulator.
#[test]
fn v2_00_is_subscribed_cell_by_cell() {
    let report = || (vector("v02.00-header-1"), vector("v02.00-message-format1-1"));
    let setup = Setup::new(Version::V2_03, OID_V2, vector("v02.00-definition-1"), 16, report);
    let mut kpm = setup.kpm(&["--json"]);
    let line = kpm.line("{");
    assert!(line.contains("\"cell a1\"") && line.contains("\"RRC.Conn.Avg\":"), "{line}");
    kpm.logs("E2SM-KPM v02.00");
    kpm.stop();
    assert_eq!(setup.requested.recv().unwrap().len(), 3, "an action for each cell");
    let ric = setup.end();
    for piece in ["up: KPM v2.00", "subscribed: KPM v2.00, 3 actions"] {
        assert!(ric.stderr.contains(piece), "{piece} in: {}", ric.stderr);
    }
}

#[test]
fn emulated_node_of_v2_00_is_read() {
    let mut ric = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
    let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
    let ran = program::start(&["ran", "--ric", &e2, "--ues", "4", "--kpm", "2.00"]);
    let mut kpm = program::start(&["xapp", "kpm", "--ric", &xapp, "--period-ms", "100", "--json"]);
    let line = kpm.line("{");
    assert!(line.contains("\"cell ") && line.contains("\"RRU.PrbTotDl\":"), "{line}");
    let outcome = kpm.stop();
    assert!(summary(&outcome).ends_with("p50_us=- p99_us=-"), "whole seconds: {}", summary(&outcome));
    ran.stop();
    ric.stop();
}

/// A revision that the user gives holds for a node without object identifier, whatever it calls its function.
#[test]
fn given_revision_holds_without_object_identifier() {
    let unnamed = vector("v01.00-definition-unnamed");
    let text = b"KPM monitor";
    let at = unnamed.windows(text.len()).position(|window| window == text).unwrap();
    let mut definition = unnamed;
    definition[at..at + text.len()].copy_from_slice(b"any monitor");
    let report = || (vector("v01.02-header-1"), vector("v01.02-message-style3"));
    let setup = Setup::new(Version::V1_00, OID_V1, definition, 1, report);
    setup.kpm(&["--seconds", "2"]).end().complains(1, &["no node accepted a subscription"]);
    let mut kpm = setup.kpm(&["--kpm", "1.00", "--json"]);
    assert!(kpm.line("{").contains("\"numberOfActive-UEs\":12.0"));
    kpm.stop();
    setup.end();
}

/// Control characters in names could forge lines of the log and write to terminals.
#[test]
fn names_with_control_characters_are_refused() {
    let mut definition = definition(1, 1, &["AAAA.BBBB"]);
    let at = definition.windows(4).position(|window| window == b"AAAA").unwrap();
    definition[at..at + 4].copy_from_slice(b"\x1b[2J");
    let report = || (header(TimestampFormat::Ntp.long(SystemTime::now())), message(&[1]));
    let setup = Setup::new(Version::V2_03, OID_V2, definition, 1, report);
    let kpm = setup.kpm(&["--seconds", "2"]).end();
    kpm.complains(1, &["a character outside the string's alphabet"]);
    let ric = setup.end();
    assert!(ric.stderr.contains("a character outside the string's alphabet"), "{}", ric.stderr);
    for text in [&kpm.stderr, &kpm.stdout, &ric.stderr] {
        assert!(!text.contains("\x1b[2J"), "{text:?}");
    }
}
