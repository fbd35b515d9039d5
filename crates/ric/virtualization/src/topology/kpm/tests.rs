//! Tests of the division of actions among parts, and of the merging of their reports.

use std::collections::BTreeSet;

use ap::f1ap::{F1SetupRequest, NrCarrier, NrMode, ServedCell, TransmissionBandwidth};
use e2sm::Arena;
use e2sm::common::{
    AmfUeNgapId, Cgi, GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, NrCgi,
    RanFunctionName, RicFormatType, RicStyleName, RicStyleType, UeId, UeIdGnb, UeIdGnbCuUp, UeIdGnbDu,
};
use e2sm::kpm::{
    ActionDefinition, ActionDefinitionFormats, EveryUe, GranularityPeriod, IndicationMessage, IndicationMessageFormat1,
    IndicationMessageFormat3, IndicationMessageFormats, LabelInfoItem, MeasurementDataItem, MeasurementInfoActionItem,
    MeasurementLabel, MeasurementRecordItem, MeasurementRequest, MeasurementTypeId, MeasurementTypeName, OID_V3,
    RanFunctionDefinition, ReportRequest, Revision, RicReportStyleItem, Scope, StartEndInd, UeMeasurementReportItem,
};
use ferric::e2::topology::{Part, RanDatabase, UeName, UeRef};
use ferric::e2::{Action, Components, NodeId, RanFunction, Time};
use ferric::e2ap::{
    Cause, CauseProtocol, CauseRicRequest, E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration,
    E2NodeComponentId, E2NodeComponentInterfaceF1, E2NodeComponentInterfaceType, GlobalE2NodeId, GnbCuUpId, GnbDuId,
    GnbId, RanFunctionId, RanFunctionRevision, RicActionId, RicActionType,
};
use ids::{FiveGsTac, NrPci};
use per::{Bits, List, Octets, PrintableString, Single};

use super::super::offers::{Ranked, ranked};
use super::super::periods::{Collector, Pending};
use super::merge::{PartReport, read, ue_id_of_cu, value_count, write};
use super::offer::KpmParts;
use super::plan::{Context, Split, split};
use crate::testing::A;

mod groups;

const CU: NodeId = NodeId(1);
const CU_UP: NodeId = NodeId(2);
const DUS: [NodeId; 2] = [NodeId(3), NodeId(4)];
const REVISION: Revision = Revision::V3_00;
const UNAVAILABLE: Cause = Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable);

/// A KPM function whose styles have the numbers 11 to 15, with measurements of the node, and of UEs.
fn function(of_node: &[&'static str], of_ues: &[(&'static str, Option<u32>)]) -> RanFunction {
    let style = |format: i64, names: &[(&'static str, Option<u32>)]| RicReportStyleItem {
        ric_report_style_type: RicStyleType(10 + format),
        ric_report_style_name: RicStyleName(PrintableString::literal("x")),
        ric_action_format_type: RicFormatType(format),
        meas_info_action_list: names
            .iter()
            .map(|(name, id)| MeasurementInfoActionItem {
                meas_name: MeasurementTypeName(PrintableString::literal(name)),
                meas_id: id.map(MeasurementTypeId),
                bin_range_def: None,
            })
            .collect(),
        ric_indication_header_format_type: RicFormatType(1),
        ric_indication_message_format_type: RicFormatType(if format < 3 { 1 } else { format - 1 }),
    };
    let of_node: Vec<_> = of_node.iter().map(|name| (*name, None)).collect();
    let styles: Vec<_> = (1..=5).map(|format| style(format, if format == 1 { &of_node } else { of_ues })).collect();
    let name = || PrintableString::literal("x");
    let definition = RanFunctionDefinition {
        ran_function_name: RanFunctionName {
            short_name: name(),
            e2sm_oid: PrintableString::literal(OID_V3),
            description: name(),
            instance: None,
        },
        ric_event_trigger_style_list: None,
        ric_report_style_list: Some(
            styles.into_iter().filter(|style| !style.meas_info_action_list.is_empty()).collect(),
        ),
    };
    let mut octets = Vec::new();
    definition.encode(REVISION, &mut octets).unwrap();
    RanFunction {
        id: RanFunctionId(2),
        revision: RanFunctionRevision(3),
        oid: OID_V3.into(),
        definition: octets.into(),
    }
}

/// CU-CP, CU-UP and two DUs. `Both` is measured by CU-UP and DUs.
fn functions() -> [(Part, NodeId, RanFunction); 4] {
    let du = || function(&["Prb"], &[("Thp", Some(1)), ("Both", None)]);
    [
        (Part::Control, CU, function(&["Conn"], &[("Rsrp", Some(1))])),
        (Part::Du(1), DUS[0], du()),
        (Part::Du(2), DUS[1], du()),
        (Part::CuUp(1), CU_UP, function(&["Vol"], &[("Vol", Some(2)), ("Both", None)])),
    ]
}

/// The first `count` of them.
fn parts_of(functions: &[(Part, NodeId, RanFunction)], shares_cu: bool) -> KpmParts {
    let mut parts = KpmParts::default();
    update(&mut parts, functions, shares_cu);
    parts
}

fn update(parts: &mut KpmParts, functions: &[(Part, NodeId, RanFunction)], shares_cu: bool) {
    parts.update(functions.iter().map(|(part, node, function)| (*part, *node, function)), shares_cu).unwrap();
}

/// The UE ID of the CU-CP.
fn at_cu(number: u32) -> UeId<'static> {
    UeId::Gnb(Single::from(UeIdGnb {
        amf_ue_ngap_id: AmfUeNgapId(100 + i64::from(number)),
        guami: Guami {
            plmn_identity: A,
            amf_region_id: Bits::new(1, 8),
            amf_set_id: Bits::new(1, 10),
            amf_pointer: Bits::new(1, 6),
        },
        gnb_cu_ue_f1ap_id_list: Some(List::from(vec![GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number) }])),
        gnb_cu_cp_ue_e1ap_id_list: Some(List::from(vec![GnbCuCpUeE1apIdItem {
            gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(50 + number),
        }])),
        ran_ueid: None,
        m_ng_ran_ue_xnap_id: None,
        global_gnb_id: None,
        global_ng_ran_node_id: None,
        cell_rnti: None,
    }))
}

fn at_du(number: u32) -> UeId<'static> {
    UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number), ran_ueid: None, cell_rnti: None })
}

fn at_cu_up(number: u32) -> UeId<'static> {
    UeId::GnbCuUp(UeIdGnbCuUp { gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(50 + number), ran_ueid: None })
}

/// The CU-CP has reported UEs 1 to 3, the first DU UE 1, and the second one UE 2.
fn ran() -> RanDatabase {
    let mut ran = RanDatabase::new(10);
    for (node, du, cu_up) in
        [(CU, None, None), (DUS[0], Some(1), None), (DUS[1], Some(2), None), (CU_UP, None, Some(1))]
    {
        let mut id = GlobalE2NodeId::gnb(A, GnbId::new(1, 22));
        if let GlobalE2NodeId::Gnb(gnb) = &mut id {
            (gnb.gnb_du_id, gnb.gnb_cu_up_id) = (du.map(GnbDuId), cu_up.map(GnbCuUpId));
        }
        ran.update_node(node, id, &Components::default());
    }
    for number in 1..=3 {
        ran.learn_ue_id(Time::default(), CU, &at_cu(number));
    }
    ran.learn_ue_id(Time::default(), DUS[0], &at_du(1));
    ran.learn_ue_id(Time::default(), DUS[1], &at_du(2));
    ran
}

/// The cells of the DUs.
const CELLS: [NrCgi; 2] = [NrCgi::new(A, 1), NrCgi::new(A, 2)];

/// The same, with a cell of each DU.
fn ran_with_cells() -> RanDatabase {
    let mut ran = ran();
    for (at, cell) in CELLS.into_iter().enumerate() {
        let du = GnbDuId(at as i64 + 1);
        let bandwidth = TransmissionBandwidth::new(30, 106).unwrap();
        let mode = NrMode::Tdd(NrCarrier { nr_arfcn: 640_000, bands: &[78], bandwidth });
        let cell = ServedCell { nr_cgi: cell, nr_pci: NrPci(1), tac: FiveGsTac([0, 0, 1]), served_plmns: &[A], mode };
        let setup = F1SetupRequest { transaction_id: 0, gnb_du_id: du, gnb_du_name: "du", served_cells: &[cell] };
        let f1 = E2NodeComponentConfigAdditionItem {
            interface_type: E2NodeComponentInterfaceType::F1,
            id: E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: du }),
            configuration: E2NodeComponentConfiguration {
                request_part: setup.encode().unwrap().into(),
                response_part: Octets::default(),
            },
        };
        let id = ran.station_of(DUS[at]).and_then(|station| station.global_id_of(DUS[at])).unwrap();
        ran.update_node(DUS[at], id, &Components { listed: vec![f1], ..Components::default() });
    }
    ran
}

/// Has the CU-CP report that a UE is in a cell.
fn move_ue(ran: &mut RanDatabase, number: u32, cell: NrCgi) {
    let mut names = UeName::all_of(&at_cu(number));
    let rnti = 70 + number as u16;
    names.push(UeName::Rnti { rnti, cell: Some(cell.nr_cell_identity.value) });
    ran.learn_ue(Time::default(), CU, &names);
}

/// An action for these measurements, by the definition that is offered.
fn action(parts: &KpmParts, names: &[&str], scope: Scope<'_>, granularity_ms: u32) -> Action {
    let (_, _, _, definition) = parts.merged().unwrap();
    let arena = Arena::new();
    let definition = RanFunctionDefinition::decode(definition, REVISION, &arena).unwrap();
    let measurements: Vec<_> = names.iter().map(|name| MeasurementRequest::named(name)).collect();
    let request = ReportRequest {
        measurements: &measurements,
        granularity_period_ms: granularity_ms,
        reporting_period_ms: 100,
        scope,
    };
    let plan = request.plan(&definition, REVISION).unwrap();
    let mut octets = Vec::new();
    plan.action.encode(REVISION, &mut octets).unwrap();
    Action { id: RicActionId(1), kind: RicActionType::Report, definition: Some(octets), subsequent: None }
}

fn divide(parts: &KpmParts, action: &Action) -> Result<Split, Cause> {
    split_of(parts, action, &Context { ran: &ran(), cu: CU, cells: None, owns: &|_| true, unable: &BTreeSet::new() })
}

fn split_of(parts: &KpmParts, action: &Action, context: &Context<'_>) -> Result<Split, Cause> {
    split(parts, action, 100, context)
}

/// What each part is asked for: its style, its measurements, and its UEs.
fn asked(split: &Split) -> Vec<(Part, i64, Vec<String>, Vec<UeId<'static>>)> {
    let of_part = |part: &super::plan::PartAction| {
        let definition = ActionDefinition::decode_owned(&part.definition, REVISION).unwrap();
        let ues = match definition.formats {
            ActionDefinitionFormats::Format2(format) => vec![format.ue_id],
            ActionDefinitionFormats::Format5(format) => {
                format.matching_ueid_list.iter().map(|item| item.ue_id.clone()).collect()
            }
            _ => Vec::new(),
        };
        (part.part.1, definition.ric_style_type.0, part.names.clone(), ues)
    };
    split.parts.iter().map(of_part).collect()
}

#[test]
fn definition_offers_the_measurements_of_all_parts() {
    let mut parts = parts_of(&functions(), false);
    let octets = parts.merged().unwrap().3.to_vec();
    let definition = RanFunctionDefinition::decode_owned(&octets, REVISION).unwrap();
    let styles = definition.ric_report_style_list.unwrap();
    let formats: Vec<_> = styles.iter().map(|style| style.ric_action_format_type.0).collect();
    assert_eq!(formats, [1, 2, 3, 4, 5]);
    let names = |at: usize| -> Vec<_> {
        let items = styles[at].meas_info_action_list.iter();
        items.map(|item| (item.meas_name.as_str().to_owned(), item.meas_id.map(|id| id.0))).collect()
    };
    assert_eq!(names(0).iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), ["Conn", "Vol", "Prb"]);
    let of_ues = [("Rsrp", Some(1)), ("Vol", Some(2)), ("Both", None), ("Thp", None)];
    assert_eq!(names(3), of_ues.map(|(name, id)| (name.to_owned(), id)), "1 is a number of the CU-CP");
    // a lost part stays in the definition
    update(&mut parts, &functions()[..2], false);
    assert_eq!(parts.merged().unwrap().3, octets);
    // what the CU-UP of several base stations counts as a whole is that of all
    let shared = parts_of(&functions(), true);
    assert!(shared.offering("Vol", true).is_empty() && !shared.offering("Vol", false).is_empty());
}

#[test]
fn measurement_of_several_kinds_of_parts_is_that_of_the_cu() {
    let parts = parts_of(&functions(), false);
    assert_eq!(parts.offering("Both", false), [ranked(Part::CuUp(1))]);
    assert_eq!(parts.offering("Thp", false), [ranked(Part::Du(1)), ranked(Part::Du(2))]);
}

#[test]
fn action_is_divided_by_measurement() {
    let parts = parts_of(&functions(), false);
    let every = Scope::EveryUe(EveryUe::default());
    let asked_for = asked(&divide(&parts, &action(&parts, &["Thp", "Rsrp", "Both"], every, 50)).unwrap());
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        asked_for,
        [
            (Part::Control, 14, names(&["Rsrp"]), vec![]),
            (Part::CuUp(1), 14, names(&["Both"]), vec![]),
            (Part::Du(1), 14, names(&["Thp"]), vec![]),
            (Part::Du(2), 14, names(&["Thp"]), vec![]),
        ]
    );
    // each part is asked for its own UEs, by its own names: one UE by style 2
    let ues = [at_cu(1), at_cu(2), at_cu(3)];
    let asked_for = asked(&divide(&parts, &action(&parts, &["Thp", "Vol"], Scope::Ues(&ues), 100)).unwrap());
    assert_eq!(
        asked_for,
        [
            (Part::CuUp(1), 15, names(&["Vol"]), vec![at_cu_up(1), at_cu_up(2), at_cu_up(3)]),
            (Part::Du(1), 12, names(&["Thp"]), vec![at_du(1)]),
            (Part::Du(2), 12, names(&["Thp"]), vec![at_du(2)]),
        ]
    );
}

#[test]
fn listed_ue_is_asked_of_the_du_with_its_cell() {
    let parts = parts_of(&functions(), false);
    let action = action(&parts, &["Thp"], Scope::Ues(&[at_cu(1), at_cu(2)]), 100);
    let mut ran = ran_with_cells();
    let divided = |ran: &RanDatabase| {
        let split =
            split_of(&parts, &action, &Context { ran, cu: CU, cells: None, owns: &|_| true, unable: &BTreeSet::new() })
                .unwrap();
        let places = split.ues.values().copied().collect::<Vec<_>>();
        (places, asked(&split).into_iter().map(|(part, _, _, ues)| (part, ues)).collect::<Vec<_>>())
    };
    // where DUs have reported them
    let each = vec![(Part::Du(1), vec![at_du(1)]), (Part::Du(2), vec![at_du(2)])];
    assert_eq!(divided(&ran), (vec![None, None], each.clone()));
    move_ue(&mut ran, 1, CELLS[0]);
    assert_eq!(divided(&ran), (vec![Some(DUS[0]), None], each));
    // the first DU has it no more, though it has reported it
    move_ue(&mut ran, 1, CELLS[1]);
    let all = vec![(Part::Du(2), vec![at_du(1), at_du(2)])];
    assert_eq!(divided(&ran), (vec![Some(DUS[1]), None], all));
}

#[test]
fn action_that_no_part_can_serve_is_refused() {
    let parts = parts_of(&functions(), false);
    let every = || Scope::EveryUe(EveryUe::default());
    let refused = |action: &Action| divide(&parts, action).unwrap_err();
    let of_unknown = action(&parts, &["Thp"], Scope::Ues(&[at_cu(9)]), 100);
    assert_eq!(refused(&of_unknown), UNAVAILABLE, "the UE is unknown");
    assert_eq!(
        refused(&action(&parts, &["Prb"], Scope::Node, 100)),
        UNAVAILABLE,
        "two DUs measure it, and no cell is named"
    );
    assert_eq!(
        refused(&action(&parts, &["Thp"], every(), 30)),
        Cause::Protocol(CauseProtocol::SemanticError),
        "the period is no multiple of 30 ms"
    );
    let malformed = Action { definition: Some(vec![0xff; 3]), ..action(&parts, &["Thp"], every(), 100) };
    assert_eq!(refused(&malformed), Cause::Protocol(CauseProtocol::TransferSyntaxError));
    // a measurement that no part has, and one whose parts are lost
    let of_du = action(&parts, &["Thp"], every(), 100);
    assert_eq!(divide(&parts_of(&functions()[..1], false), &of_du).unwrap_err(), UNAVAILABLE);
    let mut without_du = parts_of(&functions(), false);
    update(&mut without_du, &[functions()[0].clone(), functions()[3].clone()], false);
    assert_eq!(divide(&without_du, &of_du).unwrap_err(), UNAVAILABLE);
    let of_both = action(&parts, &["Thp", "Vol"], every(), 100);
    assert_eq!(divide(&without_du, &of_both).unwrap().parts.len(), 3, "the DUs are asked when they are back");
}

#[test]
fn ue_of_another_base_station_does_not_exist() {
    let parts = parts_of(&functions(), true);
    let asked = action(&parts, &["Thp"], Scope::Ues(&[at_cu(1)]), 100);
    let ran = ran();
    let of = |owns: &dyn Fn(&UeId<'_>) -> bool| {
        split(
            &parts,
            &asked,
            100,
            &Context { ran: &ran, cu: CU, cells: Some(Vec::new()), owns, unable: &BTreeSet::new() },
        )
        .map(drop)
    };
    assert_eq!(of(&|_| false), Err(UNAVAILABLE));
    assert_eq!(of(&|ue_id| *ue_id == at_cu(1)), Ok(()));
}

#[test]
fn measurement_of_a_shared_cu_is_that_of_a_cell_of_the_base_station() {
    let parts = parts_of(&functions(), true);
    let cells = [NrCgi::new(A, 1), NrCgi::new(A, 2)];
    let cell_of = |own: &[NrCgi], cell: Option<NrCgi>| {
        let scope = cell.map_or(Scope::Node, |cell| Scope::Cell(Cgi::NrCgi(cell)));
        let action = action(&parts, &["Conn"], scope, 100);
        let context =
            Context { ran: &ran(), cu: CU, cells: Some(own.to_vec()), owns: &|_| true, unable: &BTreeSet::new() };
        let divided = split(&parts, &action, 100, &context)?;
        let definition = ActionDefinition::decode_owned(&divided.parts[0].definition, REVISION).unwrap();
        let ActionDefinitionFormats::Format1(format) = definition.formats else { panic!("{definition:?}") };
        Ok(format.cell_global_id)
    };
    assert_eq!(cell_of(&cells[..1], None), Ok(Some(Cgi::NrCgi(cells[0]))));
    assert_eq!(cell_of(&cells, Some(cells[1])), Ok(Some(Cgi::NrCgi(cells[1]))));
    assert_eq!(cell_of(&cells, None), Err(UNAVAILABLE), "of two cells");
    assert_eq!(cell_of(&cells[..1], Some(cells[1])), Err(UNAVAILABLE), "the cell of another base station");
}

type Values = Vec<MeasurementRecordItem<'static>>;

fn integers(values: &[u32]) -> Values {
    values.iter().map(|value| MeasurementRecordItem::Integer(*value)).collect()
}

fn report(records: &[Values]) -> IndicationMessageFormat1<'static> {
    IndicationMessageFormat1 {
        meas_data: records
            .iter()
            .map(|values| MeasurementDataItem { meas_record: values.clone().into(), incomplete_flag: None })
            .collect(),
        meas_info_list: None,
        granul_period: Some(GranularityPeriod(100)),
    }
}

fn encoded(formats: IndicationMessageFormats<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    IndicationMessage { formats }.encode(REVISION, &mut octets).unwrap();
    octets
}

/// The report of a part on several UEs, each with one record.
fn of_ues(rows: &[(UeId<'static>, Values)]) -> Vec<u8> {
    let items = rows.iter().map(|(ue_id, values)| UeMeasurementReportItem {
        ue_id: ue_id.clone(),
        meas_report: report(std::slice::from_ref(values)),
    });
    encoded(IndicationMessageFormats::Format3(IndicationMessageFormat3 { ue_meas_report_list: items.collect() }))
}

fn read_of(split: &Split, part: Part, message: &[u8]) -> Result<PartReport, e2sm::Error> {
    let ran = ran();
    let translate = |ue_id: &UeId<'_>| -> Option<(UeRef, UeId<'static>)> {
        let names = UeName::all_of(ue_id);
        let ue = names.iter().find_map(|name| ran.find_ue(CU, name))?;
        Some((ue.id(), ue_id_of_cu(&ran, CU, ue)?))
    };
    let detection = e2sm::kpm::Detection::configured(REVISION);
    read(split, split.part(ranked(part)).unwrap(), &detection, message, &Arena::new(), translate)
}

/// The UEs and values of a merged report.
fn merged(pending: Pending<PartReport>, split: &Split) -> (Vec<u8>, Vec<(UeId<'static>, Values)>) {
    let mut message = Vec::new();
    let detection = e2sm::kpm::Detection::configured(REVISION);
    let header = write(pending, split, &detection, &mut message).unwrap().unwrap();
    let message = IndicationMessage::decode_owned(&message, REVISION).unwrap();
    let IndicationMessageFormats::Format3(format) = message.formats else { panic!("{message:?}") };
    let row = |item: &UeMeasurementReportItem<'static>| {
        (item.ue_id.clone(), item.meas_report.meas_data[0].meas_record.iter().cloned().collect())
    };
    (header, format.ue_meas_report_list.iter().map(row).collect())
}

/// An action for a measurement of the DUs, one of the CU-UP, and another one of the DUs.
fn of_every_ue() -> Split {
    let functions = [
        (Part::Control, CU, function(&[], &[("Rsrp", None)])),
        (Part::Du(1), DUS[0], function(&[], &[("Thp", None), ("Cqi", None)])),
        (Part::CuUp(1), CU_UP, function(&[], &[("Vol", None)])),
    ];
    let parts = parts_of(&functions, false);
    divide(&parts, &action(&parts, &["Thp", "Vol", "Cqi"], Scope::EveryUe(EveryUe::default()), 100)).unwrap()
}

/// The parts that an action is divided among.
fn parts_in(split: &Split) -> impl Iterator<Item = Ranked> + Clone {
    split.parts.iter().map(|part| part.part)
}

const NONE: MeasurementRecordItem<'static> = MeasurementRecordItem::NoValue;

#[test]
fn reports_of_parts_are_merged_by_ue() {
    let split = of_every_ue();
    let (du, cu_up) = (ranked(Part::Du(1)), ranked(Part::CuUp(1)));
    let mut collector = Collector::default();
    let of_du = of_ues(&[(at_du(2), integers(&[20, 22])), (at_du(1), integers(&[10, 12]))]);
    let of_du = read_of(&split, Part::Du(1), &of_du).unwrap();
    assert!(collector.add(parts_in(&split), du, b"du", of_du.clone()).is_none());
    assert!(collector.take_complete(parts_in(&split), |_| true).is_none(), "the CU-UP has not reported");
    let of_cu_up = of_ues(&[(at_cu_up(1), integers(&[11])), (at_cu_up(3), integers(&[31]))]);
    let of_cu_up = read_of(&split, Part::CuUp(1), &of_cu_up).unwrap();
    assert!(collector.add(parts_in(&split), cu_up, b"up", of_cu_up).is_none());
    let (header, rows) = merged(collector.take_complete(parts_in(&split), |_| true).unwrap(), &split);
    assert_eq!(header, b"up");
    let [of_3] = [vec![NONE, MeasurementRecordItem::Integer(31), NONE]];
    let of_2 = vec![MeasurementRecordItem::Integer(20), NONE, MeasurementRecordItem::Integer(22)];
    assert_eq!(rows, [(at_cu(1), integers(&[10, 11, 12])), (at_cu(3), of_3), (at_cu(2), of_2)]);
    // the CU-UP is silent for a period: that one ends with the next report of the DU, and the next one is not delayed
    assert!(collector.add(parts_in(&split), du, b"1", of_du.clone()).is_none());
    assert!(collector.take_complete(parts_in(&split), |_| true).is_none());
    let late = collector.add(parts_in(&split), du, b"2", of_du.clone()).expect("the first period");
    assert_eq!(merged(late, &split).0, b"1");
    assert_eq!(merged(collector.take_complete(parts_in(&split), |_| true).unwrap(), &split).0, b"2");
    // a part that is lost is not waited for
    let mut collector = Collector::default();
    collector.add(parts_in(&split), du, b"1", of_du);
    let (_, rows) = merged(collector.take_complete(parts_in(&split), |part| part == du).unwrap(), &split);
    assert_eq!(rows[1], (at_cu(1), vec![MeasurementRecordItem::Integer(10), NONE, MeasurementRecordItem::Integer(12)]));
}

#[test]
fn report_that_does_not_fit_has_no_values() {
    let split = of_every_ue();
    let read = |message: &[u8]| read_of(&split, Part::Du(1), message);
    assert!(read(&[0xff, 3]).is_err());
    // a record with another number of values than measurements
    let lying = read(&of_ues(&[(at_du(1), integers(&[1, 2, 3])), (at_du(2), integers(&[4]))])).unwrap();
    assert_eq!((lying.mismatches, lying.left_out, lying.rows.len()), (2, 0, 2));
    let mut collector = Collector::default();
    collector.add(parts_in(&split), ranked(Part::Du(1)), b"", lying);
    let (_, rows) = merged(collector.take_complete(parts_in(&split), |_| false).unwrap(), &split);
    assert!(rows.iter().all(|(_, values)| *values == [NONE, NONE, NONE]), "{rows:?}");
    // a UE that is repeated, and one that the CU-CP does not know
    let rows = [(at_du(1), integers(&[1, 2])), (at_du(1), integers(&[3, 4])), (at_du(9), integers(&[5, 6]))];
    let repeated = read(&of_ues(&rows)).unwrap();
    assert_eq!((repeated.mismatches, repeated.left_out, repeated.rows.len()), (0, 2, 1));
    // the format of another style
    let other = read(&encoded(IndicationMessageFormats::Format1(report(&[integers(&[1, 2])])))).unwrap();
    assert_eq!((other.mismatches, other.rows), (1, Vec::new()));
    // more records than periods
    let items =
        vec![UeMeasurementReportItem { ue_id: at_du(1), meas_report: report(&[integers(&[1, 2]), integers(&[3, 4])]) }];
    let long = IndicationMessageFormats::Format3(IndicationMessageFormat3 { ue_meas_report_list: items.into() });
    assert_eq!(read(&encoded(long)).unwrap().rows[0].records.len(), 1);
}

#[test]
fn ranges_of_bins_have_a_value_for_each() {
    let bin = |x, y, start_end_ind| LabelInfoItem {
        meas_label: MeasurementLabel {
            dist_bin_x: Some(x),
            dist_bin_y: y,
            start_end_ind,
            ..MeasurementLabel::default()
        },
    };
    let (start, end) = (Some(StartEndInd::Start), Some(StartEndInd::End));
    assert_eq!(value_count(&[bin(1, None, None), bin(2, None, None)]), 2);
    assert_eq!(value_count(&[bin(1, Some(1), start), bin(10, Some(3), end), bin(7, None, None)]), 31);
    assert_eq!(value_count(&[bin(9, None, start), bin(1, None, end)]), 1, "the last before the first");
    assert_eq!(value_count(&[]), 1);
}
