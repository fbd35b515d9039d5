//! `ferric xapp rc` with the parts of a split gNB, each of which offers its own controls and knows UEs by its own ids.

mod program;

use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use e2sm::common::{
    AmfUeNgapId, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, RanFunctionName,
    RicFormatType, RicStyleName, RicStyleType, UeId, UeIdGnb, UeIdGnbCuUp, UeIdGnbDu,
};
use e2sm::{Arena, kpm, rc};
use ferric::StopHandle;
use ferric::agent::{
    Admission, AgentLoop, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views,
};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{
    Cause, GlobalE2NodeId, GnbCuUpId, GnbDuId, GnbId, PlmnIdentity, RanFunctionId, RanFunctionRevision, RicActionId,
};
use per::{Bits, IntoOwned, List, Memo, PrintableString, Single};
use program::{Outcome, Program, run};

const NETWORK: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);

fn vector(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../vectors/rc/v01.03-{name}.hex"));
    let text = std::fs::read_to_string(path).unwrap();
    let digits = text.trim().as_bytes();
    digits.chunks(2).map(|two| u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// The controls that nodes have received: the node, the header and the message.
type Received = Arc<Mutex<Vec<(String, Vec<u8>, Vec<u8>)>>>;

/// E2SM-RC with some definition. It acknowledges every control.
struct RcFunction {
    node: String,
    definition: Vec<u8>,
    received: Received,
}

impl RanFunction for RcFunction {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(3)
    }

    fn definition(&self) -> Function {
        let definition = self.definition.clone();
        Function { id: self.id(), revision: RanFunctionRevision(1), oid: rc::OID.to_owned(), definition }
    }

    fn subscribe(&mut self, _: Time, _: ControllerId, _: &SubscriptionRequest, _: &Views) -> Result<Admission, Cause> {
        panic!("there is no subscription to RC")
    }

    fn unsubscribe(&mut self, _: RequestKey) {}

    fn control(
        &mut self,
        _: Time,
        _: ControllerId,
        request: &ControlRequest,
        _: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let control = (self.node.clone(), request.header.clone(), request.message.clone());
        self.received.lock().unwrap().push(control);
        Ok(None)
    }
}

/// E2SM-KPM with reports of every UE, as far as it names UEs.
struct UeReports {
    ues: Vec<UeId<'static>>,
    subscriptions: Vec<(RequestKey, RicActionId, Time)>,
}

impl UeReports {
    fn message(&self) -> Vec<u8> {
        let name = kpm::MeasurementTypeName(PrintableString::literal("DRB.UEThpDl"));
        let labels = [kpm::LabelInfoItem { meas_label: kpm::MeasurementLabel::NO_LABEL }];
        let report = |ue: &UeId<'static>| kpm::UeMeasurementReportItem {
            ue_id: ue.clone(),
            meas_report: kpm::IndicationMessageFormat1 {
                meas_data: List::from(vec![kpm::MeasurementDataItem {
                    meas_record: List::from(vec![kpm::MeasurementRecordItem::Integer(1)]),
                    incomplete_flag: None,
                }]),
                meas_info_list: Some(Memo::from(List::from(vec![kpm::MeasurementInfoItem {
                    meas_type: kpm::MeasurementType::MeasName(name.clone()),
                    label_info_list: kpm::LabelInfoList(List::from(labels.to_vec())),
                    match_cond_report_list: None,
                }]))),
                granul_period: None,
            },
        };
        let formats = kpm::IndicationMessageFormats::Format3(kpm::IndicationMessageFormat3 {
            ue_meas_report_list: self.ues.iter().map(report).collect(),
        });
        let mut octets = Vec::new();
        kpm::IndicationMessage { formats }.encode(kpm::Revision::V3_00, &mut octets).unwrap();
        octets
    }
}

impl RanFunction for UeReports {
    fn id(&self) -> RanFunctionId {
        RanFunctionId(2)
    }

    fn definition(&self) -> Function {
        let definition = kpm::RanFunctionDefinition {
            ran_function_name: RanFunctionName {
                short_name: PrintableString::literal("ORAN-E2SM-KPM"),
                e2sm_oid: PrintableString::literal(kpm::OIDS[2]),
                description: PrintableString::literal("KPM monitor"),
                instance: None,
            },
            ric_event_trigger_style_list: None,
            ric_report_style_list: Some(List::from(vec![kpm::RicReportStyleItem {
                ric_report_style_type: RicStyleType(4),
                ric_report_style_name: RicStyleName(PrintableString::literal("Common condition-based, UE-level")),
                ric_action_format_type: RicFormatType(4),
                meas_info_action_list: List::from(vec![kpm::MeasurementInfoActionItem {
                    meas_name: kpm::MeasurementTypeName(PrintableString::literal("DRB.UEThpDl")),
                    meas_id: None,
                    bin_range_def: None,
                }]),
                ric_indication_header_format_type: RicFormatType(1),
                ric_indication_message_format_type: RicFormatType(3),
            }])),
        };
        let mut octets = Vec::new();
        definition.encode(kpm::Revision::V3_00, &mut octets).unwrap();
        Function { id: self.id(), revision: RanFunctionRevision(1), oid: kpm::OIDS[2].to_owned(), definition: octets }
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _: &Views,
    ) -> Result<Admission, Cause> {
        let key = RequestKey { controller, id: request.request_id };
        let actions: Vec<_> = request.actions.iter().map(|action| action.id).collect();
        self.subscriptions.extend(actions.iter().map(|action| (key, *action, now + Duration::from_millis(10))));
        Ok(Admission { admitted: actions, not_admitted: Vec::new() })
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.subscriptions.retain(|(other, ..)| *other != key);
    }

    fn next_report(&self) -> Option<Time> {
        self.subscriptions.iter().map(|(.., due)| *due).min()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let message = self.message();
        for (key, action, due) in self.subscriptions.iter_mut().filter(|(.., due)| *due <= now) {
            let _ = reports.report(*key, *action, &[], &message); // fails for a subscription that has just ended
            *due = now + Duration::from_millis(100);
        }
    }
}

fn gnb(du: Option<i64>, cu_up: Option<i64>) -> GlobalE2NodeId {
    let GlobalE2NodeId::Gnb(mut id) = GlobalE2NodeId::gnb(NETWORK, GnbId::new(0xf00, 22)) else { panic!("a gNB") };
    (id.gnb_du_id, id.gnb_cu_up_id) = (du.map(GnbDuId), cu_up.map(GnbCuUpId));
    GlobalE2NodeId::Gnb(id)
}

fn du_ue(id: u32) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid: None, cell_rnti: None })
}

/// A UE of an AMF 2:1:0, as a CU-CP knows it.
fn cu_ue(amf: i64, f1ap: u32, e1ap: u32) -> UeId<'static> {
    let guami = Guami {
        plmn_identity: NETWORK,
        amf_region_id: Bits::new(2, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(0, 6),
    };
    UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(amf),
        guami,
        gnb_cu_ue_f1ap_id_list: Some(List::from(vec![GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(f1ap) }])),
        gnb_cu_cp_ue_e1ap_id_list: Some(List::from(vec![GnbCuCpUeE1apIdItem {
            gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(e1ap),
        }])),
        ran_ueid: None,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }))
}

fn cu_up_ue(id: u32) -> UeId<'static> {
    UeId::GnbCuUp(UeIdGnbCuUp { gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(id), ran_ueid: None })
}

struct Ran {
    received: Received,
    xapp: String,
    ric: Option<Program>,
    stop: StopHandle,
    thread: Option<JoinHandle<()>>,
}

impl Ran {
    /// Starts a RIC with nodes: their ids, RC definitions and the UEs that they report.
    fn start(nodes: Vec<(GlobalE2NodeId, Vec<u8>, Vec<UeId<'static>>)>) -> Ran {
        let mut ric = program::start(&["ric", "--e2", "tcp://127.0.0.1:0", "--xapp", "tcp://127.0.0.1:0"]);
        let (e2, xapp) = (ric.line("e2="), ric.line("xapp="));
        let received = Received::default();
        let labels: Vec<_> = nodes.iter().map(|(id, ..)| id.label().to_string()).collect();
        let (sender, started) = mpsc::channel();
        let of_nodes = Arc::clone(&received);
        let thread = std::thread::spawn(move || {
            let mut agents = AgentLoop::new(Default::default()).unwrap();
            for (id, definition, ues) in nodes {
                let rc = RcFunction { node: id.to_string(), definition, received: Arc::clone(&of_nodes) };
                let mut functions: Vec<Box<dyn RanFunction>> = vec![Box::new(rc)];
                if !ues.is_empty() {
                    functions.push(Box::new(UeReports { ues, subscriptions: Vec::new() }));
                }
                agents.add(id, e2.parse().unwrap(), functions);
            }
            sender.send(agents.stop_handle()).unwrap();
            agents.run().unwrap();
        });
        let (stop, thread) = (started.recv().unwrap(), Some(thread));
        labels.iter().for_each(|label| ric.logs(&format!("{label} up: ")));
        Ran { received, xapp, ric: Some(ric), stop, thread }
    }

    /// Runs `ferric xapp rc`. It would wait for ten minutes.
    fn rc(&self, arguments: &[&str]) -> Outcome {
        run(&[&["xapp", "rc"], arguments, &["--ric", &self.xapp, "--seconds", "600"]].concat())
    }

    /// What the nodes have received since the last call.
    fn received(&self) -> Vec<(String, Vec<u8>, Vec<u8>)> {
        std::mem::take(&mut self.received.lock().unwrap())
    }
}

impl Drop for Ran {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        if let Some(ric) = self.ric.take() {
            ric.stop();
        }
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking());
    }
}

/// A definition without controls, as that of a CU-UP.
fn without_controls() -> Vec<u8> {
    let mut definition =
        rc::RanFunctionDefinition::decode_owned(&vector("definition-flat-quota"), rc::Revision::V1_03).unwrap();
    definition.control = None;
    let mut octets = Vec::new();
    definition.encode(rc::Revision::V1_03, &mut octets).unwrap();
    octets
}

const AMF_UE: i64 = 1;

/// A gNB of srsRAN's shape: the DU reports F1AP ids, the CU-UP E1AP ids, and the CU-CP all.
fn split_gnb() -> Ran {
    Ran::start(vec![
        (gnb(Some(5), None), vector("definition-flat-quota"), vec![du_ue(4), du_ue(3)]),
        (gnb(None, None), vector("definition-flat-handover"), vec![cu_ue(7, 9, 8), cu_ue(AMF_UE, 3, 5)]),
        (gnb(None, Some(6)), without_controls(), vec![cu_up_ue(5)]),
    ])
}

fn ue_of(header: &[u8]) -> UeId<'static> {
    let arena = Arena::new();
    let header = rc::ControlHeader::decode(header, rc::Revision::V1_03, &arena).unwrap();
    let rc::ControlHeaderFormats::Format1(header) = header.formats.into_owned() else { panic!("a UE") };
    header.ue_id
}

fn lines(outcome: &Outcome) -> Vec<&str> {
    let mut lines: Vec<_> = outcome.stdout.lines().collect();
    lines.sort_unstable();
    lines
}

const QUOTA: [&str; 11] =
    ["slice-quota", "--sst", "1", "--sd", "000001", "--min", "10", "--max", "30", "--dedicated", "5"];

#[test]
fn quota_goes_only_to_the_node_that_offers_it() {
    let ran = split_gnb();
    let outcome = ran.rc(&QUOTA);
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    assert_eq!(
        lines(&outcome),
        [
            "node=gnb-00101-f00 left out: the node does not offer control style 2",
            "node=gnb-00101-f00-cu-up-6 left out: the node offers no controls by E2SM-RC",
            "node=gnb-00101-f00-du-5 done",
        ],
        "{outcome:?}"
    );
    let [(node, header, message)] = &ran.received()[..] else { panic!("one control") };
    assert_eq!((&**node, message), ("gnb-00101-f00-du-5", &vector("control_message-quota")));
    // a DU may require a UE that it knows
    assert!([du_ue(3), du_ue(4)].contains(&ue_of(header)));

    let outcome = ran.rc(&[&QUOTA[..], &["--f1ap-id", "77"]].concat());
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    assert_eq!(ue_of(&ran.received()[0].1), du_ue(77));
    // the ratios have defaults
    let outcome = ran.rc(&["slice-quota", "--sst", "1", "--f1ap-id", "1"]);
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    let control = ran.received();
    let control = rc::Control::decode(&control[0].1, &control[0].2, rc::Revision::V1_03).unwrap();
    let rc::ControlActions::One(rc::ControlAction::SlicePrbQuota(quota)) = control.actions else { panic!("a quota") };
    let [policy] = &quota.policies[..] else { panic!("one policy") };
    assert_eq!((policy.min_percent, policy.max_percent, policy.dedicated_percent), (Some(0), Some(100), Some(0)));
}

#[test]
fn handover_has_every_id_that_the_parts_of_the_gnb_report() {
    let ran = split_gnb();
    let cell = ["--cell", "00019b010"];
    for ue in ["f1ap:3", "amf:1", "e1ap:5"] {
        let outcome = ran.rc(&[&["handover", "--ue", ue][..], &cell].concat());
        assert_eq!(outcome.code(), Some(0), "{outcome:?}");
        assert!(lines(&outcome).contains(&"node=gnb-00101-f00 done"), "{outcome:?}");
        let [(_, header, message)] = &ran.received()[..] else { panic!("one control") };
        assert_eq!(ue_of(header), cu_ue(AMF_UE, 3, 5), "{ue}");
        assert_eq!((header, message), (&vector("control_header-handover"), &vector("control_message-handover")));
    }
}

#[test]
fn ids_that_no_node_reports_are_given_by_hand() {
    let silent = vec![(gnb(None, None), vector("definition-flat-handover"), Vec::new())];
    let ran = Ran::start(silent);
    let given =
        ["handover", "--ue", "amf:1", "--amf", "2:1:0", "--cell", "00019b010", "--f1ap-id", "3", "--e1ap-id", "5"];
    assert_eq!(ran.rc(&given).code(), Some(0));
    let [(_, header, message)] = &ran.received()[..] else { panic!("one control") };
    assert_eq!((header, message), (&vector("control_header-handover"), &vector("control_message-handover")));

    let outcome = ran.rc(&["handover", "--ue", "f1ap:3", "--cell", "00019b010"]);
    outcome.complains(1, &["no node was sent the control", "control style 3 action 1 (Handover Control)"]);
    assert!(
        outcome.stdout.contains("left out: the AMF-UE-NGAP-ID of the UE is unknown: give --ue amf:N"),
        "{outcome:?}"
    );
    assert_eq!(ran.received(), []);
}

#[test]
fn control_that_no_node_offers_ends_at_once() {
    let ran = split_gnb();
    let outcome = ran.rc(&["qos", "--ue", "f1ap:3", "--priority", "5"]);
    outcome.complains(1, &["no node was sent the control, control style 1 action 1 (DRB QoS Configuration)"]);
    assert_eq!(outcome.stdout.lines().filter(|line| line.contains(" left out: ")).count(), 3, "{outcome:?}");
    let outcome = ran.rc(&[&QUOTA[..], &["--node", "gnb-00101-f00"]].concat());
    outcome.complains(1, &["no node was sent the control"]);
    assert_eq!(lines(&outcome), ["node=gnb-00101-f00 left out: the node does not offer control style 2"]);
    assert_eq!(ran.received(), []);
}

#[test]
fn control_that_a_node_does_not_describe_is_sent_with_a_warning() {
    let ran = Ran::start(vec![(gnb(None, None), vector("definition-without-contents"), Vec::new())]);
    let outcome = ran.rc(&["drx", "--ue", "amf:1", "--cycle-ms", "40"]);
    assert_eq!(outcome.code(), Some(0), "{outcome:?}");
    let warning = "the node does not list the parameters of control style 2 action 1";
    assert!(outcome.stderr.contains(warning), "{outcome:?}");
    assert_eq!(ran.received().len(), 1);
}

#[test]
fn contradictory_arguments_are_refused() {
    let cases: [(&[&str], &str); 3] = [
        (&["slice-quota", "--sst", "1", "--min", "10", "--dedicated", "11"], "--dedicated 11 is above --min 10"),
        (
            &[
                "drx",
                "--ue",
                "amf:1",
                "--cycle-ms",
                "40",
                "--f1ap-id",
                "1",
                "--f1ap-id",
                "2",
                "--f1ap-id",
                "3",
                "--f1ap-id",
                "4",
                "--f1ap-id",
                "5",
            ],
            "a UE has up to four gNB-CU-UE-F1AP-IDs, not 5",
        ),
        (&["handover", "--ue", "amf:1", "--cell", "1", "--f1ap-id", "x"], "--f1ap-id"),
    ];
    for (arguments, why) in cases {
        let outcome = run(&[&["xapp", "rc"], arguments].concat());
        assert!(!outcome.status.success() && outcome.stderr.contains(why), "{outcome:?}");
    }
}
