//! Measurements (E2SM-KPM) of a base station whose parts another RIC has: of UEs that meet conditions, and of UEs that move.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ap::f1ap::{F1SetupRequest, NrCarrier, NrMode, ServedCell, TransmissionBandwidth};
use e2sm::Arena;
use e2sm::common::{
    AmfUeNgapId, Cgi, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, NrCgi, PlmnIdentity, RntiValue, True, UeId, UeIdGnb,
    UeIdGnbDu,
};
use e2sm::kpm::dictionary;
use e2sm::kpm::{
    Detection, IndicationMessage, IndicationMessageFormats, MatchingCondItem, MatchingCondItemChoice,
    MatchingUeCondPerSubItem, MeasurementLabel, MeasurementRecordItem, MeasurementRequest, OIDS, RanFunctionDefinition,
    ReportRequest, Scope, TestCondExpression, TestCondInfo, TestCondType, TestCondValue, Value,
};
use e2sm::rrc::{Event, Notification};
use ferric::agent::{AgentLoop, AgentLoopConfig, NodeConfig, RanFunction, Ue};
use ferric::e2ap::{
    Cause, CauseRicRequest, E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId,
    E2NodeComponentInterfaceF1, E2NodeComponentInterfaceType, GlobalE2NodeId, GnbDuId, GnbId,
};
use ferric::link::Address;
use ids::{FiveGsTac, NrPci};
use per::{Bits, List, Octets};
use ran::scenario::CellScenario;
use ran::{RanConfig, Scenario};
use ran_functions::kpm::{KpmConfig, KpmFunction, KpmSource, MeasuredObject, SupportedMeasurement};
use ran_functions::rrc::{RrcConfig, RrcFunction, RrcSource};
use system_tests::raw_xapp::RawXapp;
use system_tests::{TestRan, TestRic, eventually};
use virtualization::topology::Topology;

const PLMN: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);

/// A controller of base stations, and a RIC that has the parts of this one.
fn rics(gnb: &str) -> (TestRic, TestRic) {
    let controller = TestRic::start();
    let text = format!("ric = \"{}\"\n[[base_station]]\ngnb = \"{gnb}\"\n", controller.e2);
    let owner = TestRic::with(|config| config.topology = Some(Topology::parse(&text).unwrap()));
    (controller, owner)
}

/// Subscribes to a record of 20 ms in each report.
fn subscribe(xapp: &mut RawXapp, names: &[&str], scope: Scope<'_>) -> Result<Detection, Cause> {
    let detection = Detection::from_ran_function(&xapp.oid, xapp.revision.0, &xapp.definition).unwrap();
    let arena = Arena::new();
    let definition =
        RanFunctionDefinition::decode_in(&xapp.definition, detection.revision, detection.wire, &arena).unwrap();
    let measurements: Vec<_> = names.iter().map(|name| MeasurementRequest::named(name)).collect();
    let request =
        ReportRequest { measurements: &measurements, granularity_period_ms: 20, reporting_period_ms: 20, scope };
    let plan = request.plan(&definition, detection.revision).unwrap();
    let (mut trigger, mut action) = (Vec::new(), Vec::new());
    plan.trigger.encode_in(detection.revision, detection.wire, &mut trigger).unwrap();
    plan.action.encode_in(detection.revision, detection.wire, &mut action).unwrap();
    xapp.subscribe(trigger, action).map(|()| detection)
}

fn number(value: &MeasurementRecordItem<'_>) -> Option<f64> {
    match value {
        MeasurementRecordItem::Integer(value) => Some(f64::from(*value)),
        MeasurementRecordItem::Real(value) => Some(value.value()),
        _ => None,
    }
}

/// For each measurement of a report, its value, and the UEs that have met its conditions.
fn groups(xapp: &mut RawXapp, detection: &Detection) -> Vec<(Option<f64>, Vec<UeId<'static>>)> {
    let octets = xapp.next_report();
    let arena = Arena::new();
    let message = IndicationMessage::decode_in(&octets, detection.revision, detection.wire, &arena).unwrap();
    let IndicationMessageFormats::Format2(format) = message.formats else { panic!("{message:?}") };
    let values = format.meas_data[0].meas_record.iter().map(number);
    let ues = format.meas_cond_ueid_list.iter().map(|item| {
        let ues = item.matching_ueid_list.iter().flatten();
        ues.map(|item| per::IntoOwned::into_owned(item.ue_id.clone())).collect()
    });
    values.zip(ues).collect()
}

/// A received power above this one.
fn power_above(dbm: i64) -> TestCondInfo<'static> {
    TestCondInfo {
        test_type: TestCondType::Rsrp(True),
        test_expr: Some(TestCondExpression::GreaterThan),
        test_value: Some(TestCondValue::ValueInt(dbm)),
    }
}

/// UEs with a received power above this one.
fn above(dbm: i64) -> MatchingCondItem<'static> {
    MatchingCondItem { choice: MatchingCondItemChoice::TestCondInfo(power_above(dbm)), logical_or: None }
}

/// Throughput at the DU and volume at the CU-UP, each of the UEs that meet a condition there.
#[test]
fn ues_that_meet_conditions_are_measured_by_all_parts() {
    let (controller, owner) = rics("gnb-00101-e00");
    let cells = vec![CellScenario { is_split: true, ..CellScenario::default() }];
    let scenario = Scenario { cells, ..Scenario::with_mixed_traffic(1, 2, 1) };
    let _ran = TestRan::start(&owner.e2, RanConfig { scenario, ..RanConfig::default() });
    controller.await_slices("gnb-00101-e00");
    let names = ["DRB.UEThpDl", "DRB.PdcpSduVolumeUL"];
    let mut xapp = RawXapp::connect(&controller, &OIDS);
    let all = [above(-200)];
    let detection = subscribe(&mut xapp, &names, Scope::Group(&all)).unwrap();
    eventually("values of two UEs by DU and CU-UP", || {
        let groups = groups(&mut xapp, &detection);
        let ues = |ues: &[UeId<'_>]| ues.len() == 2 && ues.iter().all(|ue_id| matches!(ue_id, UeId::Gnb(_)));
        groups.len() == 2 && groups.iter().all(|(value, of)| value.is_some() && ues(of))
    });
    let mut xapp = RawXapp::connect(&controller, &OIDS);
    let detection = subscribe(&mut xapp, &names, Scope::Group(&[above(200)])).unwrap();
    let none = groups(&mut xapp, &detection);
    assert!(none.iter().all(|(value, ues)| value.unwrap_or(0.0) == 0.0 && ues.is_empty()), "{none:?}");
}

const VOLUME: &str = "DRB.RlcSduTransmittedVolumeDL";
const LATENCY: &str = "DRB.RlcSduDelayDl";
/// The cells of two DUs.
const CELLS: [NrCgi; 2] = [NrCgi::new(PLMN, 0x77_0001), NrCgi::new(PLMN, 0x77_0002)];

/// The UEs of a CU-CP and two DUs.
#[derive(Default)]
struct Radio {
    /// The place of the DU of each UE.
    du_of: BTreeMap<u64, usize>,
    news: Vec<(Ue, Notification<'static>)>,
}

impl Radio {
    fn notification(&self, ue: Ue, event: Event) -> Notification<'static> {
        let du = self.du_of[&ue.0];
        Notification {
            event,
            ue_id: at_cu(ue.0),
            // another one in each cell
            rnti: RntiValue((100 * (du as u64 + 1) + ue.0) as u16),
            cell: Cgi::NrCgi(CELLS[du]),
            plmn: PLMN,
            s_nssais: Vec::new().into(),
            addresses: None,
        }
    }

    fn attach(&mut self, ue: u64, du: usize) {
        self.du_of.insert(ue, du);
        let notification = self.notification(Ue(ue), Event::Attached);
        self.news.push((Ue(ue), notification));
    }

    fn hand_over(&mut self, ue: u64, to: usize) {
        let from = self.du_of.insert(ue, to).unwrap();
        let notification = self.notification(Ue(ue), Event::HandedOver(Cgi::NrCgi(CELLS[from])));
        self.news.push((Ue(ue), notification));
    }
}

fn at_cu(number: u64) -> UeId<'static> {
    let of_du = GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number as u32) };
    let guami = Guami {
        plmn_identity: PLMN,
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    };
    UeId::Gnb(
        UeIdGnb {
            amf_ue_ngap_id: AmfUeNgapId(number as i64),
            guami,
            gnb_cu_ue_f1ap_id_list: Some(List::from(vec![of_du])),
            gnb_cu_cp_ue_e1ap_id_list: None,
            ran_ueid: None,
            m_ng_ran_ue_xnap_id: None,
            global_gnb_id: None,
            global_ng_ran_node_id: None,
            cell_rnti: None,
        }
        .into(),
    )
}

type SharedRadio = Arc<Mutex<Radio>>;

struct CuCp(SharedRadio);

impl CuCp {
    fn radio(&self) -> MutexGuard<'_, Radio> {
        self.0.lock().unwrap()
    }
}

impl RrcSource for CuCp {
    fn ues(&self, out: &mut Vec<Ue>) {
        out.extend(self.radio().du_of.keys().map(|ue| Ue(*ue)));
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        self.radio().notification(ue, Event::Present)
    }

    fn has_events(&self) -> bool {
        !self.radio().news.is_empty()
    }

    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.append(&mut self.radio().news);
    }
}

/// The CU-CP knows the received power of UEs, the DUs do not.
impl KpmSource for CuCp {
    type Snapshot = ();

    fn cell(&self) -> Cgi {
        Cgi::NrCgi(CELLS[0])
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        static ONLY: [SupportedMeasurement; 1] = [SupportedMeasurement {
            name: Cow::Borrowed("RRC.ConnMean"),
            id: None,
            scope: dictionary::Scope::CellAndUe,
        }];
        &ONLY
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        RrcSource::ues(self, out);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        at_cu(ue.0)
    }

    fn take_snapshot(&self, (): &mut ()) {}

    fn value(&self, (): &(), _: MeasuredObject<'_>, _: usize, _: &MeasurementLabel) -> Value {
        Value::Integer(1)
    }

    fn test_condition_types(&self) -> &[TestCondType] {
        &[TestCondType::Rsrp(True)]
    }

    fn test_condition_value(&self, ue: Ue, _: TestCondType) -> Option<f64> {
        Some(if ue.0 == 1 { -80.0 } else { -110.0 })
    }
}

struct Du {
    at: usize,
    radio: SharedRadio,
}

impl KpmSource for Du {
    type Snapshot = ();

    fn cell(&self) -> Cgi {
        Cgi::NrCgi(CELLS[self.at])
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        const fn of_ues(name: &'static str) -> SupportedMeasurement {
            SupportedMeasurement { name: Cow::Borrowed(name), id: None, scope: dictionary::Scope::CellAndUe }
        }
        static ALL: [SupportedMeasurement; 2] = [of_ues(VOLUME), of_ues(LATENCY)];
        &ALL
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        let radio = self.radio.lock().unwrap();
        out.extend(radio.du_of.iter().filter(|(_, du)| **du == self.at).map(|(ue, _)| Ue(*ue)));
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue.0 as u32), ran_ueid: None, cell_rnti: None })
    }

    fn take_snapshot(&self, (): &mut ()) {}

    /// 1 of each UE at the first DU, 100 at the second.
    fn value(&self, (): &(), object: MeasuredObject<'_>, _: usize, _: &MeasurementLabel) -> Value {
        let ues = if let MeasuredObject::Ues(ues) = object { ues.len() } else { 0 };
        Value::Integer([1, 100][self.at] * ues as u32)
    }
}

/// A CU-CP and two DUs on a thread of their own.
struct SplitStation {
    radio: SharedRadio,
    ends: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl SplitStation {
    fn start(ric: &Address) -> SplitStation {
        let (radio, ends) = (SharedRadio::default(), Arc::new(AtomicBool::new(false)));
        let (of_parts, is_end, ric) = (Arc::clone(&radio), Arc::clone(&ends), ric.clone());
        let thread = std::thread::spawn(move || run(&ric, &of_parts, &is_end));
        SplitStation { radio, ends, thread: Some(thread) }
    }

    fn radio(&self) -> MutexGuard<'_, Radio> {
        self.radio.lock().unwrap()
    }
}

impl Drop for SplitStation {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the base station panicked");
    }
}

fn run(ric: &Address, radio: &SharedRadio, ends: &AtomicBool) {
    let mut agents = AgentLoop::new(AgentLoopConfig::default()).unwrap();
    let mut add = |du: Option<usize>, functions: Vec<Box<dyn RanFunction>>| {
        let GlobalE2NodeId::Gnb(mut id) = GlobalE2NodeId::gnb(PLMN, GnbId::new(0x77, 22)) else { panic!("a gNB") };
        id.gnb_du_id = du.map(|at| GnbDuId(at as i64 + 1));
        let components = du.map(f1).into_iter().collect();
        let config = NodeConfig { components, ..NodeConfig::new(GlobalE2NodeId::Gnb(id)) };
        let node = agents.add_node(config, functions);
        agents.add_controller(node, ric.clone().into());
        node
    };
    let source = || Rc::new(RefCell::new(CuCp(Arc::clone(radio))));
    let rrc = Box::new(RrcFunction::new(source(), RrcConfig::default()));
    let cu = add(None, vec![rrc, Box::new(KpmFunction::new(source(), KpmConfig::default()))]);
    for at in [0, 1] {
        let source = Rc::new(RefCell::new(Du { at, radio: Arc::clone(radio) }));
        add(Some(at), vec![Box::new(KpmFunction::new(source, KpmConfig::default()))]);
    }
    while !ends.load(Ordering::Relaxed) {
        agents.wake(cu);
        agents.poll(Some(Duration::from_millis(2))).unwrap();
    }
}

/// The F1 interface of a DU, with its cell.
fn f1(at: usize) -> E2NodeComponentConfigAdditionItem<'static> {
    let gnb_du_id = GnbDuId(at as i64 + 1);
    let bandwidth = TransmissionBandwidth::new(30, 106).unwrap();
    let mode = NrMode::Tdd(NrCarrier { nr_arfcn: 640_000, bands: &[78], bandwidth });
    let (nr_pci, tac) = (NrPci(at as u16), FiveGsTac([0, 0, 1]));
    let cell = ServedCell { nr_cgi: CELLS[at], nr_pci, tac, served_plmns: &[PLMN], mode };
    let request = F1SetupRequest { transaction_id: 0, gnb_du_id, gnb_du_name: "du", served_cells: &[cell] };
    E2NodeComponentConfigAdditionItem {
        interface_type: E2NodeComponentInterfaceType::F1,
        id: E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id }),
        configuration: E2NodeComponentConfiguration {
            request_part: Octets::from(request.encode().unwrap()),
            response_part: Octets::default(),
        },
    }
}

/// A base station of a CU-CP and two DUs, each with one of its UEs, that its controller knows.
fn two_dus() -> (TestRic, TestRic, SplitStation) {
    let (controller, owner) = rics("gnb-00101-77");
    let station = SplitStation::start(&owner.e2);
    station.radio().attach(1, 0);
    station.radio().attach(2, 1);
    owner.rest.eventually("/v1/nodes", |nodes| nodes["nodes"].as_array().is_some_and(|nodes| nodes.len() == 3));
    let has_kpm = |node: &serde_json::Value| {
        let functions = node["functions"].as_array();
        functions.is_some_and(|all| all.iter().any(|of| of["oid"].as_str().is_some_and(|oid| OIDS.contains(&oid))))
    };
    controller.rest.eventually("/v1/nodes/gnb-00101-77", has_kpm);
    (controller, owner, station)
}

/// The value of each UE in the next report.
fn of_ues(xapp: &mut RawXapp, detection: &Detection) -> BTreeMap<i64, Option<f64>> {
    let octets = xapp.next_report();
    let arena = Arena::new();
    let message = IndicationMessage::decode_in(&octets, detection.revision, detection.wire, &arena).unwrap();
    let IndicationMessageFormats::Format3(format) = message.formats else { panic!("{message:?}") };
    let row = |item: &e2sm::kpm::UeMeasurementReportItem<'_>| {
        let UeId::Gnb(ue_id) = &item.ue_id else { panic!("{:?}", item.ue_id) };
        (ue_id.amf_ue_ngap_id.0, number(&item.meas_report.meas_data[0].meas_record[0]))
    };
    format.ue_meas_report_list.iter().map(row).collect()
}

#[test]
fn listed_ue_that_moves_to_another_du_is_measured_there() {
    let (controller, _owner, station) = two_dus();
    let mut xapp = RawXapp::connect(&controller, &OIDS);
    let mut subscribed = None;
    eventually("the UEs have names", || {
        subscribed = subscribe(&mut xapp, &[VOLUME], Scope::Ues(&[at_cu(1), at_cu(2)])).ok();
        subscribed.is_some()
    });
    let detection = subscribed.unwrap();
    let mut await_values = |what: &str, values: [f64; 2]| {
        let expected: BTreeMap<i64, Option<f64>> = [1, 2].into_iter().zip(values.map(Some)).collect();
        eventually(what, || of_ues(&mut xapp, &detection) == expected);
    };
    await_values("the UEs are at different DUs", [1.0, 100.0]);
    station.radio().hand_over(1, 1);
    await_values("both are at the second one", [100.0, 100.0]);
    station.radio().hand_over(1, 0);
    station.radio().hand_over(2, 0);
    await_values("both are at the first one", [1.0, 1.0]);
}

#[test]
fn ues_that_meet_conditions_are_those_of_all_dus() {
    let (controller, _owner, _station) = two_dus();
    let mut xapp = RawXapp::connect(&controller, &OIDS);
    let all =
        [MatchingCondItem { choice: MatchingCondItemChoice::MeasLabel(MeasurementLabel::NO_LABEL), logical_or: None }];
    let detection = subscribe(&mut xapp, &[VOLUME], Scope::Group(&all)).unwrap();
    eventually("the sum of both DUs", || groups(&mut xapp, &detection) == [(Some(101.0), vec![at_cu(1), at_cu(2)])]);
    // a mean of two means is not that of the UEs
    let refused = subscribe(&mut xapp, &[LATENCY], Scope::Group(&all)).unwrap_err();
    assert_eq!(refused, Cause::RicRequest(CauseRicRequest::ActionNotSupported));
}

/// The volume at the DUs of the UEs whose received power the CU-CP knows.
#[test]
fn conditions_that_dus_refuse_are_checked_by_the_cu_cp() {
    let (controller, _owner, station) = two_dus();
    station.radio().attach(3, 1);
    let mut xapp = RawXapp::connect(&controller, &OIDS);
    let detection = subscribe(&mut xapp, &[VOLUME], Scope::Group(&[above(-100)])).unwrap();
    eventually("the value of the UE with this power", || {
        groups(&mut xapp, &detection) == [(Some(1.0), vec![at_cu(1)])]
    });
    let mut xapp = RawXapp::connect(&controller, &OIDS);
    let weak = TestCondInfo { test_expr: Some(TestCondExpression::LessThan), ..power_above(-100) };
    let weak = [MatchingUeCondPerSubItem { test_cond_info: weak, logical_or: None }];
    let detection = subscribe(&mut xapp, &[VOLUME], Scope::MatchingUes(&weak)).unwrap();
    let expected: BTreeMap<i64, Option<f64>> = [(2, Some(100.0)), (3, Some(100.0))].into();
    eventually("the values of the UEs below it", || of_ues(&mut xapp, &detection) == expected);
}
